internal import Bundles
public import Check
internal import Digest
internal import Markup
public import Reports
internal import Rollouts
internal import Store
internal import System
internal import Web

/// How a release is published, or how the last one of a channel is changed. Values that are nil leave things as they are.
public struct PublishOptions: Sendable {
    /// The name of the app. Nil for the only app of the store; for the first release, the name of the folder.
    public var app: String?
    /// The channel whose devices get the release.
    public var channel = "production"
    /// The versions of the native code that can run the release. Expo's protocol needs one; other devices may name none.
    public var runtimeVersions: [String] = []
    /// The share of devices that get it, such as `10%`.
    public var share: String?
    /// How the share grows, such as `10%/1d`.
    public var ramp: String?
    /// The share of failures that halts it, such as `3%`; `never` if failures do not halt it. By default, a new release for a
    /// share of the devices is halted at 3%, and one for all devices is not.
    public var haltAt: String?
    /// The devices that get it whatever the share.
    public var allowedDevices: [String] = []
    /// The key that signs the manifest of the release; nil if it is not signed.
    public var key: ManifestKey?
    /// Receives the progress of `publish`: after each file, on the thread that publishes, which waits for the call to return.
    public var progress: (@Sendable (Phase, WorkProgress) -> Void)?

    /// The steps of publishing a folder, in their settings. Each takes all files.
    public enum Phase: String, Sendable, CaseIterable {
        /// The files are read and hashed.
        case reading
        /// The files are compressed into a zip file, except those of an export of Expo.
        case packing
        /// The files are stored, unless the store has the release already.
        case storing
        /// The stored files are compared with those that were read.
        case verifying
    }

    /// Creates the default options.
    public init() {}
}

/// A change of the last release of a channel.
public enum ReleaseChange: String, Sendable, CaseIterable {
    /// Changes the share, the ramp, the halt rule and the allowed devices.
    case update
    /// Announces it to no further device.
    case halt
    /// Announces it again after a halt. Earlier reports no longer count.
    case resume
    /// Halts it, and announces the release before it as a new update.
    case rollBack
}

/// A release that was published, or a channel that was changed.
public struct PublishReport: Sendable, Equatable {
    /// The ID of the release: equal files, signed by the same key, have the same one. Nil if the app runs the code that it was
    /// built with.
    public let release: String?
    /// Whether the channel has changed. It has not if the release was its last one already.
    public let isChanged: Bool
    /// The number of files of the release; nil for a change.
    public let files: Int?
    /// The size of the files; nil for a change.
    public let byteCount: Int64?
    /// The key that signed the manifest; nil if it is not signed.
    public let signer: ManifestPublicKey?
    /// The channel after the change.
    public let channel: ChannelReport

    /// The report as JSON.
    public var json: String {
        let members: JSONMembers = [
            "release": release, "changed": isChanged, "files": IfAny(files), "bytes": IfAny(byteCount),
            "signer": IfAny(signer?.text),
            "channel": channel,
        ]
        return members.text()
    }
}

extension Larder {
    /// The minimum number of devices that must have reported before failures halt a release, so that a single failure stops
    /// nothing.
    public static let minReportsToHalt = 50
    /// The share of failures that halts a new release for a share of the devices, unless the options name another one.
    public static let usualHaltShare = "3%"

    /// Stores a folder as a release of an app, verifies it, and announces it to the devices of a channel. Until the last step
    /// nothing changes for any device; if the call throws, devices keep getting the release before.
    ///
    /// A folder that `npx expo export` wrote becomes an update for each of its platforms. Any other folder becomes one for all
    /// platforms. If the release is the last one of the channel already, nothing changes.
    ///
    /// ```swift
    /// var options = PublishOptions()
    /// options.share = "10%"
    /// let report = try await larder.publish("dist", options: options)
    /// ```
    ///
    /// - Throws: `LarderError` of kind `.input` for wrong options and for a folder that cannot be published as a whole, `.machine`
    ///   if the store fails.
    public func publish(
        _ folder: String, options: PublishOptions = PublishOptions()
    ) async throws(LarderError) -> PublishReport {
        let settings = try PublishSettings(options)
        let interruption = Interruption()
        let store = self.folder
        return try await Self.runOnThread("larder-publish", onCancel: interruption.request) {
            () throws(LarderError) in
            let app = try Self.app(options.app, publishing: folder, in: store)
            let release = try ReleaseFolder(folder, app, options, interruption)
            // A collection waits for writers, so that it does not remove the release before it is announced.
            let writer = try mapStoreError { () throws(StoreError) in try StoreWriter(store) }
            defer { withExtendedLifetime(writer) {} }
            try release.store(by: writer, options, interruption)
            return try Self.announce(release, of: app, settings, signer: options.key?.publicKey, in: store)
        }
    }

    /// Changes the last release of a channel.
    ///
    /// - Throws: `LarderError` of kind `.input` for wrong options, and if nothing was published to the channel.
    public func change(
        _ change: ReleaseChange, options: PublishOptions = PublishOptions()
    ) async throws(LarderError) -> PublishReport {
        let settings = try PublishSettings(options)
        let store = folder
        return try await Self.runOnThread("larder-publish") { () throws(LarderError) in
            let app = try Self.app(options.app, publishing: nil, in: store)
            return try Self.apply(change, to: app, settings, in: store)
        }
    }

    /// Removes a channel. Its devices get no more updates, and keep the release that they run. The next collection removes the releases that
    /// no other channel has.
    ///
    /// - Returns: The name of the app.
    /// - Throws: `LarderError` of kind `.input` if there is no such channel.
    @discardableResult
    public func removeChannel(_ channel: String, ofApp app: String? = nil) async throws(LarderError) -> String
    {
        let store = folder
        return try await Self.runOnThread("larder-publish") { () throws(LarderError) in
            let app = try Self.app(app, publishing: nil, in: store)
            let key = ChannelDatabase.Key(app: app.text, channel: channel)
            let isRemoved = try mapStoreError { () throws(StoreError) in
                try Self.openChannels(in: store)?.remove(key) ?? false
            }
            guard isRemoved else { throw Self.noChannel(channel, of: app) }
            return app.text
        }
    }

    /// The channels of all apps, in the order of their names.
    public func channels() async throws(LarderError) -> [ChannelReport] {
        let store = folder
        return try await Self.runOnThread("larder-publish") { () throws(LarderError) in
            guard store.exists else { return [] }
            return try mapStoreError { () throws(StoreError) in
                try ChannelReports(store).all(at: Self.now)
            }
        }
    }

    /// The updates that a device gets from each channel, with the reasons: first the channels about which the device has reported.
    ///
    /// - Parameter device: the ID that the app sends.
    /// - Throws: `LarderError` of kind `.input` for an empty ID or one of more than 256 bytes.
    public func updates(ofDevice device: String) async throws(LarderError) -> [DeviceUpdateReport] {
        try PublishSettings.validate(device: device)
        let store = folder
        return try await Self.runOnThread("larder-publish") { () throws(LarderError) in
            guard store.exists else { return [] }
            return try mapStoreError { () throws(StoreError) in
                try ChannelReports(store).updates(ofDevice: device, at: Self.now)
            }
        }
    }

    private static var now: HTTPDate { HTTPDate(secondsSinceEpoch: SystemClock.secondsSinceEpoch()) }

    /// The app that is meant.
    ///
    /// - Parameter publishing: the folder of a release; nil for a change.
    private static func app(
        _ name: String?, publishing: String?, in store: StoreFolder
    ) throws(LarderError) -> AppName {
        if let name {
            guard let app = AppName(name) else {
                throw LarderError(
                    .input,
                    "the name of an app must have 1 to 40 lower-case letters, digits and hyphens, such as shop, not \"\(name)\""
                )
            }
            return app
        }
        let known = try mapStoreError { () throws(StoreError) -> Set<String> in
            guard store.exists, let database = try ChannelDatabase.openIfExists(store) else { return [] }
            return Set(try database.channels().map(\.key.app))
        }
        if known.count > 1 {
            throw LarderError(
                .input,
                "the store has several apps (\(known.sorted().joined(separator: ", "))); name one",
                remedy: .appName)
        }
        if let only = known.first.flatMap({ AppName($0) }) { return only }
        guard let publishing else {
            throw LarderError(.input, "nothing was published yet; publish a folder with: larder publish DIR")
        }
        // A build's output folder is usually named dist or the like; the project's folder says more.
        let parts = Folder.resolved(publishing).split(separator: "/").map(String.init)
        let outputs = ["dist", "build", "www", "public", "out", "output", "release"]
        guard let folder = parts.last(where: { !outputs.contains($0.lowercased()) }),
            let app = AppName(folder: folder)
        else {
            throw LarderError(
                .input,
                "the name of the folder \(publishing) has no letters for the name of the app; name it",
                remedy: .appName)
        }
        return app
    }

    /// Announces a stored release.
    private static func announce(
        _ release: ReleaseFolder, of app: AppName, _ settings: PublishSettings, signer: ManifestPublicKey?,
        in store: StoreFolder
    ) throws(LarderError) -> PublishReport {
        var isChanged = true
        let report = try changeChannel(app, settings.channel, in: store) { channel, now in
            isChanged = true
            let current = channel?.last ?? []
            if !current.isEmpty, current.allSatisfy({ $0.releaseID == release.id && $0.halt == nil }),
                current.first?.runtimeVersions == release.releases.first?.runtimeVersions.sorted()
            {
                guard let channel, !settings.changesRelease else {
                    return .failure(
                        LarderError(
                            .input,
                            "this release (\(release.id)) is already the last one of \(app.text) in the channel \(settings.channel); leave out the folder and change who gets it",
                            remedy: .changeRelease(app: app.text, channel: settings.channel)))
                }
                isChanged = false
                return .success(ChangedChannel(channel: channel))
            }
            var changed = channel ?? Channel(settings.channel)
            let number = changed.nextCommandNumber
            for one in release.releases {
                changed.publish(.release(one), commandNumber: number, at: now)
            }
            changed.updateLast { settings.apply(to: &$0, isNew: true, at: now) }
            return .success(ChangedChannel(channel: changed))
        }
        return PublishReport(
            release: release.id, isChanged: isChanged, files: release.files.count,
            byteCount: release.byteCount, signer: signer, channel: report)
    }

    /// Carries out a change of the last release.
    private static func apply(
        _ change: ReleaseChange, to app: AppName, _ settings: PublishSettings, in store: StoreFolder
    ) throws(LarderError) -> PublishReport {
        let report = try changeChannel(app, settings.channel, in: store) { channel, now in
            guard var channel, !channel.last.isEmpty else {
                return .failure(noChannel(settings.channel, of: app))
            }
            var reset: [String] = []
            switch change {
            case .update:
                guard channel.last.contains(where: { $0.halt == nil }) else {
                    return .failure(
                        LarderError(
                            .input,
                            "the last release in \(settings.channel) of \(app.text) is halted; announce it again",
                            remedy: .resumeRelease(app: app.text, channel: settings.channel)))
                }
                channel.updateLast { settings.apply(to: &$0, isNew: false, at: now) }
            case .halt: channel.updateLast { $0.stop() }
            case .resume:
                reset = channel.last.map(\.id)
                channel.updateLast {
                    $0.resume()
                    settings.apply(to: &$0, isNew: false, at: now)
                }
            case .rollBack:
                guard channel.last.contains(where: { $0.releaseID != nil }) else {
                    return .failure(
                        LarderError(
                            .input,
                            "the devices of \(settings.channel) already run the code that the app was built with; there is nothing to roll back to"
                        ))
                }
                channel.rollBackLast(at: now)
            }
            return .success(ChangedChannel(channel: channel, resetUpdates: reset))
        }
        return PublishReport(
            release: report.updates.first?.release, isChanged: true, files: nil, byteCount: nil, signer: nil,
            channel: report)
    }

    private static func noChannel(_ name: String, of app: AppName) -> LarderError {
        LarderError(
            .input,
            "nothing was published to the channel \(name) of \(app.text); see the channels",
            remedy: .channels)
    }

    /// A channel after a change, and the updates whose reports are forgotten.
    private struct ChangedChannel {
        var channel: Channel
        var resetUpdates: [String] = []
    }

    /// Changes a channel in one transaction, and returns it.
    private static func changeChannel(
        _ app: AppName, _ name: String, in store: StoreFolder,
        _ change: (Channel?, HTTPDate) -> Result<ChangedChannel, LarderError>
    ) throws(LarderError) -> ChannelReport {
        let key = ChannelDatabase.Key(app: app.text, channel: name)
        var failure: LarderError?
        let report = try mapStoreError { () throws(StoreError) -> ChannelReport? in
            guard let database = try openChannels(in: store) else { return nil }
            let now = Self.now
            var result: Channel?
            try database.change(key) { state in
                (failure, result) = (nil, nil)
                let channel = state.flatMap { Channel(storedText: $0) }
                if state != nil, channel == nil {
                    failure = LarderError(
                        .machine,
                        "the stored channel \(name) of \(app.text) is damaged, or a later version of Larder wrote it; use that version"
                    )
                    return nil
                }
                switch change(channel, now) {
                case .success(var changed):
                    guard let text = changed.channel.shrunkText() else {
                        failure = LarderError(
                            .input,
                            "the last two releases in \(name) of \(app.text) have too many files or too long file names, and nothing was changed; publish fewer files"
                        )
                        return nil
                    }
                    result = changed.channel
                    return ChannelDatabase.Change(
                        text, resetUpdates: changed.resetUpdates,
                        openUpdates: changed.channel.rollouts.suffix(ChannelDatabase.maxOpenUpdates).map(\.id)
                    )
                case .failure(let error):
                    failure = error
                    return nil
                }
            }
            guard let result else { return nil }
            return ChannelReport(app.text, result, try database.outcomes(), at: now)
        }
        if let failure { throw failure }
        guard let report else {
            throw LarderError(.input, "nothing was published yet; publish a folder with: larder publish DIR")
        }
        return report
    }

    private static func openChannels(in store: StoreFolder) throws(StoreError) -> ChannelDatabase? {
        store.exists ? try ChannelDatabase(store) : nil
    }
}

/// The parsed options of a publication.
struct PublishSettings: Sendable {
    let channel: String
    private let share: Share?
    private let ramp: Rollout.Ramp?
    /// Nil if the options leave the rule as it is.
    private let halting: Halting?
    private let allowedDevices: [String]

    private enum Halting {
        case never
        case at(Share)
    }

    /// The maximum number of allowed devices of one release.
    private static let maxAllowedDevices = 1000

    /// - Throws: `LarderError` of kind `.input` for a value that cannot be read.
    init(_ options: PublishOptions) throws(LarderError) {
        guard AppName.isName(options.channel) else {
            throw LarderError(
                .input,
                "the name of a channel must have 1 to 40 lower-case letters, digits and hyphens, such as production, not \"\(options.channel)\""
            )
        }
        channel = options.channel
        share = try Self.share(options.share, "the share of devices")
        if options.haltAt == "never" {
            halting = .never
        } else if let share = try Self.share(options.haltAt, "the share of failures") {
            guard share > .none else {
                throw LarderError(.input, "the share of failures that halts a release must be more than 0%")
            }
            halting = .at(share)
        } else {
            halting = nil
        }
        if let text = options.ramp {
            guard let parsed = Rollout.Ramp(text) else {
                throw LarderError(
                    .input,
                    "the ramp must be a step of at least 0.1% and an interval in m, h or d, such as 10%/1d, not \"\(text)\""
                )
            }
            ramp = parsed
        } else {
            ramp = nil
        }
        allowedDevices = options.allowedDevices
        guard allowedDevices.count <= Self.maxAllowedDevices else {
            throw LarderError(
                .input,
                "a release has at most \(Self.maxAllowedDevices) allowed devices; give a channel of its own to so many"
            )
        }
        for device in allowedDevices { try Self.validate(device: device) }
        guard options.runtimeVersions.allSatisfy({ (1...100).contains($0.utf8.count) }) else {
            throw LarderError(.input, "a runtime version must have 1 to 100 bytes")
        }
    }

    /// - Throws: `LarderError` of kind `.input` for the ID of a device that no update server accepts.
    static func validate(device: String) throws(LarderError) {
        guard (1...DeviceUpdateReport.maxDeviceBytes).contains(device.utf8.count) else {
            throw LarderError(
                .input, "the ID of a device must have 1 to 256 bytes; give the one that the app sends")
        }
    }

    private static func share(_ text: String?, _ what: String) throws(LarderError) -> Share? {
        guard let text else { return nil }
        guard let share = Share(text) else {
            throw LarderError(
                .input, "\(what) must be a percentage from 0% to 100%, such as 10% or 0.5%, not \"\(text)\"")
        }
        return share
    }

    /// Whether the options say more than which release to announce.
    var changesRelease: Bool {
        share != nil || ramp != nil || halting != nil || !allowedDevices.isEmpty
    }

    /// Applies the options to a roll-out.
    ///
    /// - Parameter isNew: whether it has just been published, so that missing options have their defaults.
    func apply(to rollout: inout Rollout, isNew: Bool, at now: HTTPDate) {
        let current = rollout.share(at: now)
        if let share {
            rollout.share = share
            rollout.ramp = []
        } else if isNew, let ramp {
            rollout.share = ramp.step
        }
        if let ramp {
            if share == nil, !isNew { rollout.share = current }
            rollout.ramp = ramp.steps(from: rollout.share, at: now)
        }
        switch halting {
        case .never?: rollout.haltRule = nil
        case .at(let share)?: rollout.haltRule = Self.haltRule(share)
        case nil:
            // A release that a share of the devices tries must not reach the others if it fails there.
            if isNew, rollout.share < .all {
                rollout.haltRule = Share(Larder.usualHaltShare).map(Self.haltRule)
            }
        }
        for device in allowedDevices where rollout.allowedDevices.count < Self.maxAllowedDevices {
            rollout.allowedDevices.insert(device)
        }
    }

    private static func haltRule(_ share: Share) -> Rollout.HaltRule {
        Rollout.HaltRule(share: share, minReports: Larder.minReportsToHalt)
    }
}
