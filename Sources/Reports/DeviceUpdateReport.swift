package import Rollouts
package import Web

/// The updates that one device gets from a channel, with the reasons.
///
/// It is computed from the ID of the device, as the update server decides, and from the reports of the device. A server stores
/// neither IDs nor the platforms and versions of devices.
public struct DeviceUpdateReport: Sendable, Equatable {
    /// The name of the app.
    public let app: String
    /// The name of the channel.
    public let channel: String
    /// One answer for each platform and runtime version that the device may have: those of the updates that it has reported
    /// about, or else those of all updates of the channel. At most ``maxAnswers``.
    public let answers: [Answer]

    /// The updates for one platform and runtime version.
    public struct Answer: Sendable, Equatable {
        /// `ios`, `android`, or `any`.
        public let platform: String
        /// The version of the native code; nil for an unknown one, and for one that no update names.
        public let runtimeVersion: String?
        /// The updates that fit, the newest first. The last one is the update that the device gets, if there is one.
        public let updates: [Update]
    }

    /// An update of the channel, as seen by the device.
    public struct Update: Sendable, Equatable {
        /// Why the device gets it, or does not.
        public enum Reason: String, Sendable, CaseIterable {
            /// All devices get the update.
            case all
            /// The device gets the update, because it is in the share of devices that do.
            case share
            /// The device gets the update, because it was allowed by its ID.
            case allowed
            /// The device gets the update, because it has reported that it runs it.
            case kept
            /// The update is halted. The device keeps it, because it has reported that it runs it.
            case keptAfterHalt
            /// The device does not get the update, because it is not in the share of devices that do.
            case outside
            /// No device gets the update, because it is halted.
            case halted

            /// Whether the device gets or keeps the update.
            public var isPositive: Bool {
                switch self {
                case .all, .share, .allowed, .kept, .keptAfterHalt: true
                case .outside, .halted: false
                }
            }
        }

        /// The ID of the update that clients see.
        public let id: String
        /// The ID of the release; nil for the code that the app was built with.
        public let release: String?
        /// The share of devices that get it now, such as `10%`.
        public let share: String
        /// Why the device gets it, or does not.
        public let reason: Reason
        /// Whether the device has reported that it failed (true) or runs or ran (false); nil if it has reported neither, or if
        /// the reports about the update are forgotten.
        public let hasFailed: Bool?
    }

    /// The maximum size of an ID. No device has a longer one (`Device`).
    package static let maxDeviceBytes = Device.maxIDBytes
    /// The maximum number of answers.
    public static let maxAnswers = 20

    /// Whether the device has reported about an update of the channel.
    public var hasReports: Bool { answers.contains { $0.updates.contains { $0.hasFailed != nil } } }

    /// The reports of several channels as JSON.
    public static func json(of devices: [DeviceUpdateReport]) -> String {
        let members: JSONMembers = ["channels": devices]
        return members.text()
    }

    /// - Parameter outcomes: the reports of the device: whether each failed, by the IDs of the updates.
    package init(
        _ app: String, _ channel: Channel, device: String, outcomes: [String: Bool], at now: HTTPDate
    ) {
        (self.app, self.channel) = (app, channel.name)
        let rollouts = channel.rollouts.reversed()
        let reported = rollouts.filter { outcomes[$0.id] != nil }
        var kinds: [Device] = []
        for rollout in reported.isEmpty ? Array(rollouts) : reported {
            for version in rollout.runtimeVersions {
                let kind = Device(id: device, platform: rollout.platform, runtimeVersion: version)
                if !kinds.contains(kind) { kinds.append(kind) }
            }
        }
        answers = kinds.prefix(Self.maxAnswers).map { kind in
            var kind = kind
            kind.currentUpdate = rollouts.first { outcomes[$0.id] == false && $0.fits(kind) }?.id
            let updates = channel.candidates(for: kind, at: now).map { rollout, membership in
                Update(
                    id: rollout.id, release: rollout.releaseID, share: rollout.share(at: now).description,
                    reason: Update.Reason(membership), hasFailed: outcomes[rollout.id])
            }
            return Answer(
                platform: kind.platform.rawValue,
                runtimeVersion: kind.runtimeVersion.isEmpty ? nil : kind.runtimeVersion, updates: updates)
        }
    }
}

extension DeviceUpdateReport.Update.Reason {
    fileprivate init(_ membership: Rollout.Membership) {
        self =
            switch membership {
            case .all: .all
            case .share: .share
            case .allowed: .allowed
            case .kept: .kept
            case .keptAfterHalt: .keptAfterHalt
            case .outside, .noID: .outside
            case .halted: .halted
            }
    }
}

extension DeviceUpdateReport: JSONObject {
    package var members: JSONMembers { ["app": app, "channel": channel, "answers": answers] }
}

extension DeviceUpdateReport.Answer: JSONObject {
    package var members: JSONMembers {
        ["platform": platform, "runtimeVersion": runtimeVersion, "updates": updates]
    }
}

extension DeviceUpdateReport.Update: JSONObject {
    package var members: JSONMembers {
        [
            "id": id, "release": release, "gets": reason.isPositive, "reason": reason.rawValue,
            "share": share, "reported": IfAny(hasFailed.map { $0 ? "failed" : "installed" }),
        ]
    }
}
