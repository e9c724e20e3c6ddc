package import Web

/// The announcement of a release to the devices of a channel, or of a roll-back to the code that the app was built with.
package struct Rollout: Sendable, Equatable {
    package enum Content: Sendable, Equatable {
        case release(Release)
        /// Devices with this platform and runtime version must run the code that they were built with.
        case embedded(Release.Platform, runtimeVersion: String)
    }

    /// Why it is not announced any more.
    package enum Halt: Sendable, Equatable {
        /// Too many devices reported a failure.
        case failures(failed: Int, of: Int)
        /// The publisher stopped it.
        case publisher
    }

    /// A later time at which more devices get it.
    package struct Step: Sendable, Hashable {
        package let time: HTTPDate
        package let share: Share

        package init(at time: HTTPDate, share: Share) { (self.time, self.share) = (time, share) }
    }

    /// When failures stop it.
    package struct HaltRule: Sendable, Hashable {
        /// The minimum share of failed devices among those that have reported.
        package var share: Share
        /// The minimum number of devices that must have reported before that, so that a single failure stops nothing.
        package var minReports: Int

        package init(share: Share, minReports: Int) { (self.share, self.minReports) = (share, minReports) }
    }

    /// The ID of the update that clients see. It is unique among all roll-outs, also of the same release, because a client that
    /// has run an update does not return to an older one.
    package let id: String
    /// When it was published. Each one of a channel is newer than the one before.
    package let date: HTTPDate
    package let content: Content
    /// The number of the publisher's order that announced it. One order announces the release for each platform, and its roll-outs
    /// are changed together.
    package let order: Int
    /// The share of devices that get it at first.
    package var share: Share
    /// Later shares. One that is smaller than an earlier one has no effect: a device that has the update keeps it.
    package var ramp: [Step] = []
    /// The devices that get it whatever the share.
    package var allowedDevices: Set<String> = []
    /// Nil if failures do not stop it.
    package var haltRule: HaltRule?
    /// Nil while it is announced.
    package private(set) var halt: Halt?
    /// The reports of devices.
    package private(set) var outcomes = OutcomeTally()

    package init(id: String, date: HTTPDate, content: Content, share: Share = .all, order: Int = 0) {
        (self.id, self.date, self.content, self.share, self.order) = (id, date, content, share, order)
    }

    /// Restores a stored state.
    init(
        id: String, date: HTTPDate, content: Content, share: Share, order: Int, halt: Halt?,
        outcomes: OutcomeTally
    ) {
        self.init(id: id, date: date, content: content, share: share, order: order)
        (self.halt, self.outcomes) = (halt, outcomes)
    }

    /// The share of devices that get it at a time.
    package func share(at now: HTTPDate) -> Share {
        ramp.filter { $0.time <= now }.map(\.share).reduce(share, max)
    }

    /// The runtime version of releases for all versions. Devices that do not know theirs give it, too.
    package static let anyVersion = ""

    /// Whether the app of a device can run it.
    package func fits(_ device: Device) -> Bool {
        platform == device.platform
            && runtimeVersions.contains { $0 == device.runtimeVersion || $0 == Self.anyVersion }
    }

    /// Whether a device gets it, if it fits and no newer one does.
    package func includes(_ device: Device, at now: HTTPDate) -> Bool {
        guard halt == nil else { return false }
        // The share may have been reduced since. What runs already is not taken away by that.
        if device.currentUpdate == id { return true }
        let share = share(at: now)
        guard let id = device.id else { return share == .all }
        return allowedDevices.contains(id) || share.contains(device: id, of: self.id)
    }

    /// Records that a device runs the update or failed to, and stops it if too many failed.
    package mutating func record(_ outcome: OutcomeTally.Outcome, of device: String) {
        outcomes.record(outcome, of: device)
        stop(ifFailed: outcomes.failureCount, of: outcomes.count)
    }

    /// Stops it if too many devices failed. For a driver that counts the reports itself.
    ///
    /// - Parameters:
    ///   - failed: the number of devices that failed.
    ///   - count: the number of devices that reported.
    package mutating func stop(ifFailed failed: Int, of count: Int) {
        if canStop(ifFailed: failed, of: count) { halt = .failures(failed: failed, of: count) }
    }

    /// Whether it is not halted yet, and too many devices failed.
    package func canStop(ifFailed failed: Int, of count: Int) -> Bool {
        guard halt == nil, let rule = haltRule, count >= rule.minReports else { return false }
        return rule.share.isReached(by: failed, of: count) && failed > 0
    }

    /// Stops it by the publisher's order.
    package mutating func stop() {
        if halt == nil { halt = .publisher }
    }

    /// Announces it again after a halt. Earlier reports no longer count, since they would stop it at once.
    package mutating func resume() {
        (halt, outcomes) = (nil, OutcomeTally())
    }
}
