package import Web

/// The announcement of a release to the devices of a channel, or of a roll-back to the code that the app was built with.
package struct Rollout: Sendable, Equatable {
    package enum Content: Sendable, Equatable {
        case release(Release)
        /// Devices with this platform and runtime version must run the code that they were built with.
        case embedded(Release.Platform, runtimeVersion: String)
    }

    /// The reason why a roll-out is no longer announced.
    package enum Halt: Sendable, Equatable {
        /// Too many devices reported a failure.
        case failures(failed: Int, of: Int)
        /// The publisher halted the roll-out or rolled it back.
        case publisher
    }

    /// A share of devices that applies from a later time on.
    package struct Step: Sendable, Hashable {
        package let time: HTTPDate
        package let share: Share

        package init(at time: HTTPDate, share: Share) { (self.time, self.share) = (time, share) }
    }

    /// The condition under which failures halt a roll-out.
    package struct HaltRule: Sendable, Hashable {
        /// The minimum share of failed devices among those that have reported.
        package var share: Share
        /// The minimum number of devices that have reported. Below it, no share of failures halts the roll-out, so that a
        /// single early failure does not.
        package var minReports: Int

        package init(share: Share, minReports: Int) { (self.share, self.minReports) = (share, minReports) }
    }

    /// The ID of the update that clients see; unique among all roll-outs. One that announces an earlier release again, such
    /// as a roll-back, has a new ID, because clients do not return to an update that they have replaced.
    package let id: String
    /// The time of publication. Each roll-out of a channel has a later one than the roll-out before, because clients compare
    /// them.
    package let date: HTTPDate
    package let content: Content
    /// The number of the publish or roll-back command that made the roll-out, counted in the channel. One command can make
    /// several roll-outs, such as one for each platform, and those of the last command are changed together
    /// (`Channel.updateLast`).
    package let commandNumber: Int
    /// The share of devices that get the update at first.
    package var share: Share
    /// Later shares. One that is smaller than an earlier one has no effect: a device that has the update keeps it.
    package var ramp: [Step] = []
    /// The devices that get the update whatever the share.
    package var allowedDevices: Set<String> = []
    /// Nil if failures do not halt the roll-out.
    package var haltRule: HaltRule?
    /// Nil while the roll-out is announced.
    package private(set) var halt: Halt?

    package init(
        id: String, date: HTTPDate, content: Content, share: Share = .all, commandNumber: Int = 0
    ) {
        (self.id, self.date, self.content) = (id, date, content)
        (self.share, self.commandNumber) = (share, commandNumber)
    }

    /// Restores a stored state.
    init(
        id: String, date: HTTPDate, content: Content, share: Share, commandNumber: Int, halt: Halt?
    ) {
        self.init(id: id, date: date, content: content, share: share, commandNumber: commandNumber)
        self.halt = halt
    }

    /// The share of devices that get the update at a time.
    package func share(at now: HTTPDate) -> Share {
        ramp.filter { $0.time <= now }.map(\.share).reduce(share, max)
    }

    /// The runtime version of a release that is for devices of all versions.
    package static let anyVersion = ""

    /// Whether the device has the platform and one of the runtime versions of the roll-out.
    package func fits(_ device: Device) -> Bool {
        platform == device.platform
            && runtimeVersions.contains { $0 == device.runtimeVersion || $0 == Self.anyVersion }
    }

    /// Whether the device is in the current share, is allowed by name, or runs the update already. False for a halted
    /// roll-out. The caller checks ``fits(_:)``, and chooses the newest roll-out that fits.
    package func includes(_ device: Device, at now: HTTPDate) -> Bool {
        membership(of: device, at: now).isIncluded
    }

    /// The reason why a device gets the update, or does not.
    package enum Membership: String, Sendable, CaseIterable {
        /// The update is for all devices.
        case all
        /// The device is in the share of devices that get it.
        case share
        /// The device is one of `allowedDevices`.
        case allowed
        /// The device runs it already.
        case kept
        /// The update is halted. The device runs it, and clients do not return to an older one.
        case keptAfterHalt
        /// The device is not in the share of devices that get it.
        case outside
        /// The device has no ID, and the update is for a share of the devices.
        case noID
        /// The update is halted.
        case halted

        /// Whether the device gets the update.
        package var isIncluded: Bool {
            switch self {
            case .all, .share, .allowed, .kept: true
            case .keptAfterHalt, .outside, .noID, .halted: false
            }
        }
    }

    /// Decides whether a device gets the update. The caller checks ``fits(_:)``.
    package func membership(of device: Device, at now: HTTPDate) -> Membership {
        guard halt == nil else { return device.currentUpdate == id ? .keptAfterHalt : .halted }
        // A share that was reduced takes the update away from no device.
        if device.currentUpdate == id { return .kept }
        let share = share(at: now)
        if share == .all { return .all }
        // A device without an ID cannot be assigned to a share.
        guard let deviceID = device.id else { return .noID }
        if allowedDevices.contains(deviceID) { return .allowed }
        return share.contains(device: deviceID, of: id) ? .share : .outside
    }

    /// Halts the roll-out if too many devices failed. The update server counts the reports of devices in its database
    /// (`ChannelDatabase`).
    ///
    /// - Parameters:
    ///   - failed: the number of devices that failed.
    ///   - count: the number of devices that reported.
    package mutating func stop(ifFailed failed: Int, of count: Int) {
        if shouldHalt(ifFailed: failed, of: count) { halt = .failures(failed: failed, of: count) }
    }

    /// Whether the roll-out is announced, and these failures reach its halt rule.
    package func shouldHalt(ifFailed failed: Int, of count: Int) -> Bool {
        guard halt == nil, let rule = haltRule, count >= rule.minReports else { return false }
        // With a share of 0 %, a single failure is enough, but not none.
        return rule.share.isReached(by: failed, of: count) && failed > 0
    }

    /// Halts the roll-out because the publisher halts it or rolls it back.
    package mutating func stop() {
        if halt == nil { halt = .publisher }
    }

    /// Announces the roll-out again after a halt. The caller must delete the earlier reports from the database
    /// (`ChannelDatabase.Change.resetUpdates`), since with them the next failure would halt it again.
    package mutating func resume() { halt = nil }
}

extension Rollout {
    /// The ID of the announced release; nil for the code that the app was built with.
    package var releaseID: String? {
        if case .release(let release) = content { release.id } else { nil }
    }

    /// The platform of the devices that the roll-out is for.
    package var platform: Release.Platform {
        switch content {
        case .release(let release): release.platform
        case .embedded(let platform, _): platform
        }
    }

    /// The runtime versions that the roll-out is for, in alphabetical order.
    package var runtimeVersions: [String] {
        switch content {
        case .release(let release): release.runtimeVersions.sorted()
        case .embedded(_, let version): [version]
        }
    }
}
