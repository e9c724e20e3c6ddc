package import Rollouts
package import Store
public import Web

/// A channel of an app, such as `production`: its updates, and what devices report about them.
public struct ChannelReport: Sendable, Equatable {
    /// The name of the app.
    public let app: String
    /// The name of the channel.
    public let channel: String
    /// The updates, the newest first.
    public let updates: [Update]

    /// An update that devices get: a release, or the order to run the code that the app was built with.
    public struct Update: Sendable, Equatable {
        /// The present state of an update.
        public enum State: String, Sendable, CaseIterable {
            /// All devices get it.
            case live
            /// A share of the devices gets it.
            case partial
            /// No device gets it, because the publisher or failures stopped it.
            case halted
            /// A newer update for all devices replaces it.
            case replaced
        }

        /// The ID of the update that clients see.
        public let id: String
        /// The ID of the release; nil for the code that the app was built with.
        public let release: String?
        /// `ios`, `android`, or `any`.
        public let platform: String
        /// The versions of the native code that can run it.
        public let runtimeVersions: [String]
        /// When it was published.
        public let published: Timestamp
        /// The present state.
        public let state: State
        /// The share of devices that get it now, such as `10%`.
        public let share: String
        /// The time and share of the next step of a ramp; nil if the share stays.
        public let next: Step?
        /// The number of devices that get it whatever the share.
        public let allowedDevices: Int
        /// The share of failures that halts it; nil if failures do not.
        public let haltsAt: String?
        /// The devices that installed it.
        public let installed: Int
        /// The devices on which it failed.
        public let failed: Int
        /// Why it was halted: `publisher` or `failures`; nil if it was not.
        public let haltedBy: String?
    }

    /// A later time at which more devices get an update.
    public struct Step: Sendable, Equatable {
        /// The time at which it began.
        public let time: Timestamp
        /// The share, such as `20%`.
        public let share: String
    }

    /// The updates that devices may get now, and newer ones that were halted: without those that are replaced, and those that
    /// were halted before.
    public var currentUpdates: [Update] {
        var current: [Update] = []
        for update in updates where update.state != .replaced {
            let isOutdated =
                update.state == .halted
                && current.contains { $0.state == .live && $0.platform == update.platform }
            if !isOutdated { current.append(update) }
        }
        return current
    }

    /// The report as JSON.
    public var json: String { members.text() }

    /// The reports of several channels as JSON.
    public static func json(of channels: [ChannelReport]) -> String {
        let members: JSONMembers = ["channels": channels]
        return members.text()
    }

    package init(
        _ app: String, _ channel: Channel, _ outcomes: [String: ChannelDatabase.Outcome], at now: HTTPDate
    ) {
        self.app = app
        self.channel = channel.name
        let rollouts = channel.rollouts
        updates = rollouts.indices.reversed().map { index in
            let rollout = rollouts[index]
            let share = rollout.share(at: now)
            // It is replaced for each of its versions.
            let isReplaced = rollout.runtimeVersions.allSatisfy { version in
                rollouts[(index + 1)...].contains {
                    $0.fits(Device(id: nil, platform: rollout.platform, runtimeVersion: version))
                        && $0.halt == nil && $0.share(at: now) == .all
                }
            }
            let outcome = outcomes[rollout.id] ?? ChannelDatabase.Outcome()
            let step = rollout.ramp.filter { $0.time > now && $0.share > share }.min { $0.time < $1.time }
            let haltedBy: String? =
                switch rollout.halt {
                case nil: nil
                case .publisher?: "publisher"
                case .failures?: "failures"
                }
            return Update(
                id: rollout.id, release: rollout.releaseID, platform: rollout.platform.rawValue,
                runtimeVersions: rollout.runtimeVersions.filter { !$0.isEmpty },
                published: Timestamp(secondsSinceEpoch: rollout.date.secondsSinceEpoch),
                state: rollout.halt != nil
                    ? .halted : isReplaced ? .replaced : share == .all ? .live : .partial,
                share: share.description,
                next: rollout.halt != nil || isReplaced
                    ? nil
                    : step.map {
                        Step(
                            time: Timestamp(secondsSinceEpoch: $0.time.secondsSinceEpoch),
                            share: $0.share.description)
                    },
                allowedDevices: rollout.allowedDevices.count,
                haltsAt: rollout.haltRule?.share.description, installed: outcome.succeeded,
                failed: outcome.failed, haltedBy: haltedBy)
        }
    }

}

/// Reads the channels of a store again and again, with one connection, and parses only those that have changed: the state of a
/// channel may have 16 MiB.
///
/// It belongs to one thread.
package final class ChannelReports {
    private let folder: StoreFolder
    private let failsFast: Bool
    /// Nil until something was published, and after an error.
    private var database: ChannelDatabase?
    private var known: [ChannelDatabase.Key: (version: Int64, channel: Channel)] = [:]
    /// The number of times that a channel was parsed, for tests.
    private(set) var parseCount = 0

    /// - Parameter failingFast: whether to fail at once if a PostgreSQL server is unreachable, for threads that others wait for.
    package init(_ folder: StoreFolder, failingFast: Bool = false) {
        (self.folder, failsFast) = (folder, failingFast)
    }

    /// All channels of the store, in the order of their names.
    package func all(at now: HTTPDate) throws(StoreError) -> [ChannelReport] {
        do throws(StoreError) {
            guard let database = try openDatabase() else { return [] }
            return try reports(database, at: now)
        } catch {
            database = nil
            throw error
        }
    }

    /// The updates that a device gets from each channel: first the channels about which it has reported, then those in the order
    /// of their names.
    ///
    /// - Parameter device: the ID that the app sends.
    package func updates(
        ofDevice device: String, at now: HTTPDate
    ) throws(StoreError) -> [DeviceUpdateReport] {
        do throws(StoreError) {
            guard let database = try openDatabase() else { return [] }
            let hash = ChannelDatabase.hash(ofDevice: device)
            var reports: [DeviceUpdateReport] = []
            for (app, channel) in try channels(database) {
                let open = channel.rollouts.suffix(ChannelDatabase.maxOpenUpdates)
                let outcomes = try database.outcomes(ofDevice: hash, about: open.map(\.id))
                reports.append(
                    DeviceUpdateReport(app, channel, device: device, outcomes: outcomes, at: now))
            }
            return reports.filter(\.hasReports) + reports.filter { !$0.hasReports }
        } catch {
            database = nil
            throw error
        }
    }

    private func openDatabase() throws(StoreError) -> ChannelDatabase? {
        if let database { return database }
        database = try ChannelDatabase.openIfExists(folder, failingFast: failsFast)
        return database
    }

    private func reports(
        _ database: ChannelDatabase, at now: HTTPDate
    ) throws(StoreError) -> [ChannelReport] {
        let outcomes = try database.outcomes()
        return try channels(database).map { app, channel in ChannelReport(app, channel, outcomes, at: now) }
    }

    /// The channels with the names of their apps, in the order of the names.
    private func channels(
        _ database: ChannelDatabase
    ) throws(StoreError) -> [(app: String, channel: Channel)] {
        var current: [ChannelDatabase.Key: (version: Int64, channel: Channel)] = [:]
        var channels: [(app: String, channel: Channel)] = []
        for row in try database.channels() {
            let channel: Channel
            if let known = known[row.key], known.version == row.version {
                channel = known.channel
            } else {
                channel = try Channel(row, in: folder)
                parseCount += 1
            }
            current[row.key] = (row.version, channel)
            channels.append((row.key.app, channel))
        }
        known = current
        return channels
    }
}

extension Channel {
    /// Reads a stored channel. Throws if its text is damaged: half a channel could announce the wrong release.
    package init(_ row: ChannelDatabase.Row, in folder: StoreFolder) throws(StoreError) {
        guard let channel = Channel(storedText: row.state) else {
            throw StoreError(
                .unusable, doing: "read the channel \(row.key.channel) of \(row.key.app) in",
                path: folder.name, detail: "it is damaged, or a later version of Larder wrote it",
                advice: "use the version that wrote it, or publish the release to another channel")
        }
        self = channel
    }
}

extension ChannelReport: JSONObject {
    package var members: JSONMembers { ["app": app, "channel": channel, "updates": updates] }
}

extension ChannelReport.Update: JSONObject {
    package var members: JSONMembers {
        [
            "id": id, "release": release, "platform": platform, "runtimeVersions": runtimeVersions,
            "published": Wording.date(published), "state": state.rawValue, "share": share,
            "next": IfAny(next), "allowedDevices": allowedDevices, "haltsAt": IfAny(haltsAt),
            "installed": installed, "failed": failed, "haltedBy": IfAny(haltedBy),
        ]
    }
}

extension ChannelReport.Step: JSONObject {
    package var members: JSONMembers { ["time": Wording.date(time), "share": share] }
}
