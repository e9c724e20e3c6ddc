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
        /// The publisher stopped the roll-out.
        case publisher
    }

    /// A later time at which the share of devices grows.
    package struct Step: Sendable, Hashable {
        package let time: HTTPDate
        package let share: Share

        package init(at time: HTTPDate, share: Share) { (self.time, self.share) = (time, share) }
    }

    /// The share of failed devices that halts a roll-out.
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
    /// The time of publication. Each roll-out of a channel has a later one than the roll-out before, because clients compare
    /// them.
    package let date: HTTPDate
    package let content: Content
    /// The number of the publish command that announced the roll-out, counted in the channel. One command announces a release
    /// for each platform, and the roll-outs with its number are changed together.
    package let order: Int
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

    /// The share of devices that get the update at a time.
    package func share(at now: HTTPDate) -> Share {
        ramp.filter { $0.time <= now }.map(\.share).reduce(share, max)
    }

    /// The runtime version of a release for all versions, and of a device that does not know its version.
    package static let anyVersion = ""

    /// Whether the device has the platform and one of the runtime versions of the roll-out.
    package func fits(_ device: Device) -> Bool {
        platform == device.platform
            && runtimeVersions.contains { $0 == device.runtimeVersion || $0 == Self.anyVersion }
    }

    /// Whether the device is in the current share, is allowed by name, or runs the update already. False for a halted
    /// roll-out. The caller checks ``fits(_:)``, and chooses the newest roll-out that fits.
    package func includes(_ device: Device, at now: HTTPDate) -> Bool {
        guard halt == nil else { return false }
        // A share that was reduced takes the update away from no device.
        if device.currentUpdate == id { return true }
        let share = share(at: now)
        // A device without an ID cannot be assigned to a share.
        guard let deviceID = device.id else { return share == .all }
        return allowedDevices.contains(deviceID) || share.contains(device: deviceID, of: id)
    }

    /// Records that a device runs the update or failed to, and halts the roll-out if too many failed.
    package mutating func record(_ outcome: OutcomeTally.Outcome, of device: String) {
        outcomes.record(outcome, of: device)
        stop(ifFailed: outcomes.failureCount, of: outcomes.count)
    }

    /// Halts the roll-out if too many devices failed. For a driver that counts the reports itself.
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
        // A rule with a share of 0 % halts after the first failure, and not without one.
        return rule.share.isReached(by: failed, of: count) && failed > 0
    }

    /// Halts the roll-out because the publisher wants it.
    package mutating func stop() {
        if halt == nil { halt = .publisher }
    }

    /// Announces the roll-out again after a halt. Earlier reports no longer count, since they would halt it at once.
    package mutating func resume() {
        (halt, outcomes) = (nil, OutcomeTally())
    }
}

extension Rollout {
    /// The ID of the announced release; nil for the code that the app was built with.
    package var releaseID: String? {
        if case .release(let release) = content { release.id } else { nil }
    }

    /// The platform of the release.
    package var platform: Release.Platform {
        switch content {
        case .release(let release): release.platform
        case .embedded(let platform, _): platform
        }
    }

    /// The runtime versions of the release, in alphabetical order.
    package var runtimeVersions: [String] {
        switch content {
        case .release(let release): release.runtimeVersions.sorted()
        case .embedded(_, let version): [version]
        }
    }
}
