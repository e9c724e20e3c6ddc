internal import Digest
package import Web

/// The updates of an app that devices of one channel get, such as `production`.
///
/// A device gets the newest roll-out that fits its platform and runtime version, includes it and is not halted. If a newer one is
/// only for a share of the devices, the others get the one before.
package struct Channel: Sendable, Equatable {
    package let name: String
    /// The roll-outs, the oldest first.
    package private(set) var rollouts: [Rollout] = []

    /// The maximum number of roll-outs. The oldest ones are removed beyond it.
    private static let maxRollouts = 200

    package init(_ name: String) { self.name = name }

    /// Restores a stored state.
    init(_ name: String, _ rollouts: [Rollout]) { (self.name, self.rollouts) = (name, rollouts) }

    /// The update for a device.
    package enum Decision: Sendable, Equatable {
        /// A release. It is not new if the device runs it, or a later one that is not announced any more: clients do not return to
        /// an older update.
        case release(Release, Rollout, isNew: Bool)
        /// The code that the app was built with, since the roll-out.
        case embedded(Rollout)
        /// No update fits the device.
        case none
    }

    /// Decides which update a device gets.
    package func decision(for device: Device, at now: HTTPDate) -> Decision {
        guard let rollout = rollouts.last(where: { $0.fits(device) && $0.includes(device, at: now) }) else {
            return .none
        }
        switch rollout.content {
        case .release(let release):
            let current = device.currentUpdate.flatMap { id in rollouts.last { $0.id == id } }
            return .release(release, rollout, isNew: current.map { $0.date < rollout.date } ?? true)
        case .embedded: return .embedded(rollout)
        }
    }

    /// The updates that fit a device, the newest first, each with the reason why the device gets it or does not. The last one is
    /// the update that the device gets or keeps; if there is none, all updates that fit are listed.
    package func candidates(
        for device: Device, at now: HTTPDate
    ) -> [(rollout: Rollout, membership: Rollout.Membership)] {
        var candidates: [(rollout: Rollout, membership: Rollout.Membership)] = []
        for rollout in rollouts.reversed() where rollout.fits(device) {
            let membership = rollout.membership(of: device, at: now)
            candidates.append((rollout, membership))
            if membership.isIncluded || membership == .keptAfterHalt { break }
        }
        return candidates
    }

    /// Adds a roll-out and returns it. Its time is after that of the one before, because clients compare them.
    ///
    /// - Parameter commandNumber: the number of the publish or roll-back command; a new one by default
    ///   (`nextCommandNumber`).
    @discardableResult package mutating func publish(
        _ content: Rollout.Content, share: Share = .all, commandNumber: Int? = nil, at now: HTTPDate
    ) -> Rollout {
        let date = rollouts.last.map { max(now, $0.date.adding(seconds: 1)) } ?? now
        let rollout = Rollout(
            id: id(of: content, date), date: date, content: content, share: share,
            commandNumber: commandNumber ?? nextCommandNumber)
        rollouts.append(rollout)
        if rollouts.count > Self.maxRollouts { rollouts.removeFirst() }
        return rollout
    }

    /// The number of the next publish or roll-back command.
    package var nextCommandNumber: Int { (rollouts.last?.commandNumber ?? 0) + 1 }

    /// The roll-outs of the last command: one for each platform of the release, also if they are halted.
    package var last: [Rollout] {
        guard let number = rollouts.last?.commandNumber else { return [] }
        return Array(rollouts[(rollouts.lastIndex { $0.commandNumber != number }.map { $0 + 1 } ?? 0)...])
    }

    /// Rolls back the roll-outs of the last command, and returns the new ones, which belong to a new command.
    @discardableResult package mutating func rollBackLast(at now: HTTPDate) -> [Rollout] {
        let number = nextCommandNumber
        for rollout in last { rollBack(rollout.id, commandNumber: number, at: now) }
        return rollouts.last?.commandNumber == number ? last : []
    }

    /// Halts a roll-out, and announces the update before it to its devices again: the release as a new update, or the code that the app
    /// was built with. Returns the new roll-out; nil if there is no such roll-out.
    ///
    /// Halting alone would leave the update on the devices that have it, since clients do not return to an older one.
    @discardableResult package mutating func rollBack(
        _ id: String, commandNumber: Int? = nil, at now: HTTPDate
    ) -> Rollout? {
        guard let index = rollouts.firstIndex(where: { $0.id == id }) else { return nil }
        let platform = rollouts[index].platform
        var versions = Set(rollouts[index].runtimeVersions)
        let isForAll = versions.contains(Rollout.anyVersion)
        // Devices of one version may have had an update for that version only.
        if isForAll {
            for earlier in rollouts[..<index] where earlier.platform == platform {
                versions.formUnion(earlier.runtimeVersions)
            }
        }
        rollouts[index].stop()
        let number = commandNumber ?? nextCommandNumber
        var last: Rollout?
        var published: Set<Release> = []
        // In alphabetical order, so that the update for all versions is first, and those for single ones replace it.
        for version in versions.sorted() {
            let device = Device(id: nil, platform: platform, runtimeVersion: version)
            let before = rollouts[..<index].indices.last {
                rollouts[$0].fits(device) && rollouts[$0].includes(device, at: now)
                    && !isTakenBack($0, before: index)
            }.map { rollouts[$0] }
            // The first one is already for all versions.
            if before == nil, isForAll, version != Rollout.anyVersion { continue }
            let content = before?.content ?? .embedded(platform, runtimeVersion: version)
            // One release may be for several versions.
            if case .release(let release) = content, !published.insert(release).inserted { continue }
            last = publish(content, commandNumber: number, at: now)
        }
        return last
    }

    /// Whether a later announcement of the same content was halted. A roll-back announces earlier releases again, so that the
    /// first announcement of a release that was rolled back may still be there.
    private func isTakenBack(_ place: Int, before last: Int) -> Bool {
        rollouts[(place + 1)...last].contains { $0.halt != nil && $0.content == rollouts[place].content }
    }

    /// Removes the oldest roll-out. Returns false if only those of the last two commands are left, since a roll-back needs both.
    mutating func removeOldest() -> Bool {
        guard Set(rollouts.map(\.commandNumber)).count > 2 else { return false }
        rollouts.removeFirst()
        return true
    }

    /// Changes the roll-outs of the last command.
    package mutating func updateLast(_ change: (inout Rollout) -> Void) {
        for rollout in last { update(rollout.id, change) }
    }

    /// Changes a roll-out. Does nothing if there is none with this ID.
    package mutating func update(_ id: String, _ change: (inout Rollout) -> Void) {
        guard let index = rollouts.firstIndex(where: { $0.id == id }) else { return }
        change(&rollouts[index])
    }

    /// A UUID, as clients expect, from the channel, the roll-out before, the time and the content. The URL of the content begins
    /// with the name of the app: two apps may publish the same files at the same time, and the reports about both are separate.
    private func id(of content: Rollout.Content, _ date: HTTPDate) -> String {
        var text = "\(name)\n\(rollouts.last?.id ?? "")\n\(date.secondsSinceEpoch)\n"
        switch content {
        case .release(let release):
            text += "\(release.launch.url)\n"
            text +=
                "\(release.platform.rawValue)\n\(release.runtimeVersions.sorted().joined(separator: "\n"))\n"
            text += ([release.launch] + release.assets).map(\.sha256.hex).joined(separator: "\n")
        case .embedded(let platform, let runtimeVersion):
            text += "embedded\n\(platform.rawValue)\n\(runtimeVersion)"
        }
        return UpdateID.text(from: DigestStream.digest(.sha256, of: Array(text.utf8).span).bytes)
    }
}

/// The IDs of updates: UUIDs in lower case.
enum UpdateID {
    /// Formats the first 16 bytes as a UUID of version 8 (RFC 9562), which leaves the other bits to us.
    static func text(from digest: [UInt8]) -> String {
        var bytes = Array(digest.prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        let hex = Array(Hex.encode(bytes).utf8)
        let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map {
            String(decoding: hex[$0], as: UTF8.self)
        }
        return parts.joined(separator: "-")
    }
}
