internal import Digest
internal import Portal
package import Rollouts
internal import Store
internal import Synchronization
internal import System
internal import Web

/// The options of an update server.
package struct UpdateSettings: Sendable {
    /// How clients of Expo Updates are answered. The filters of manifests are the server's own.
    package var expo = ExpoUpdateSettings()
    /// The origin in URLs, such as `https://updates.example.com`, if devices reach the server through a proxy. Nil for the
    /// one that a request names.
    package var origin: String?
    /// The monotonic time in milliseconds, by which channels are read again, clients are limited and devices wait.
    package var milliseconds: @Sendable () -> Int64 = { SystemClock.milliseconds() }

    package init() {}
}

/// The state of an update server that all its threads share. Any thread may use it.
final class UpdateService: Sendable {
    let folder: StoreFolder
    let settings: UpdateSettings
    let counts = UpdateCounts()
    /// The manifests of releases, as they were published. At most 16 MiB.
    let manifests = ReleaseCache<[UInt8]>(maxSize: 16 << 20)
    /// The lists of files. At most 100,000 files.
    let contents = ReleaseCache<ReleaseContents>(maxSize: 100_000)
    /// The time by which shares grow.
    let now: @Sendable () -> HTTPDate
    private let limiter = Mutex(UpdateRateLimiter())
    private let changeCount = Atomic(0)
    /// Reports that are stored, so that most repeated ones need no query.
    private let recorded = Mutex<Set<ChannelDatabase.Report>>([])

    /// Beyond this number, all recorded reports are looked up again.
    private static let maxRecorded = 100_000

    /// The time in milliseconds for which a channel is used without reading its version. A round trip to PostgreSQL takes as
    /// long as answering several requests, and other servers may halt a release at most one second later than here.
    var revalidationInterval: Int64 { folder.server == nil ? 0 : 250 }

    init(_ folder: StoreFolder, _ settings: UpdateSettings, now: @escaping @Sendable () -> HTTPDate) {
        (self.folder, self.settings, self.now) = (folder, settings, now)
    }

    func milliseconds() -> Int64 { settings.milliseconds() }

    /// The number of changes of channels by this server. All threads read the channels again after each.
    var changes: Int { changeCount.load(ordering: .acquiring) }

    func didChangeChannel() { changeCount.add(1, ordering: .acquiringAndReleasing) }

    /// The seconds that a client has to wait; nil if its request is allowed.
    func wait(_ cost: UpdateRateLimiter.Cost, of client: LoginClient) -> Int? {
        limiter.withLock { $0.take(cost, from: client, now: milliseconds()) }
    }

    func isRecorded(_ report: ChannelDatabase.Report) -> Bool { recorded.withLock { $0.contains(report) } }

    func didRecord(_ report: ChannelDatabase.Report) {
        recorded.withLock { recorded in
            if recorded.count >= Self.maxRecorded { recorded.removeAll() }
            recorded.insert(report)
        }
    }

    /// Looks all reports up again, because a channel has changed: a release that is announced again after a halt counts
    /// its devices anew.
    func forgetRecorded() { recorded.withLock { $0.removeAll() } }
}

/// Values that are derived from releases. A release never changes. Any thread may use it.
final class ReleaseCache<Value: Sendable>: Sendable {
    private struct Key: Hashable {
        let app: String
        let release: String
    }

    private struct Contents {
        var values: [Key: (value: Value, size: Int)] = [:]
        var size = 0
    }

    private let contents = Mutex(Contents())
    private let maxSize: Int

    /// - Parameter maxSize: the sum of sizes beyond which all values are made again.
    init(maxSize: Int) { self.maxSize = maxSize }

    subscript(app: String, release: String) -> Value? {
        contents.withLock { $0.values[Key(app: app, release: release)]?.value }
    }

    func add(_ value: Value, size: Int, _ app: String, _ release: String) {
        contents.withLock { contents in
            if contents.size + size > maxSize { contents = Contents() }
            let replaced = contents.values.updateValue((value, size), forKey: Key(app: app, release: release))
            contents.size += size - (replaced?.size ?? 0)
        }
    }
}

/// The counters of an update server, for the metrics. Any thread may use it.
final class UpdateCounts: Sendable {
    private struct Key: Hashable {
        let service: String
        let outcome: UpdateAnswer.Outcome
    }

    private struct Contents {
        var requests: [Key: Int] = [:]
        var fileBytes = 0
        var savedBytes = 0
        var newReports = 0
        var droppedReports = 0
    }

    private let contents = Mutex(Contents())

    /// - Parameter service: a service that exists, so that the number of counters is bounded.
    func record(_ service: String, _ outcome: UpdateAnswer.Outcome) {
        contents.withLock { $0.requests[Key(service: service, outcome: outcome), default: 0] += 1 }
    }

    func addFile(byteCount: Int, savedByteCount: Int) {
        contents.withLock {
            $0.fileBytes += byteCount
            $0.savedBytes += savedByteCount
        }
    }

    func addReports(_ count: Int) { contents.withLock { $0.newReports += count } }

    /// The figures so far, in the order of the services and outcomes.
    var figures: UpdateFigures {
        contents.withLock { contents in
            var figures = UpdateFigures()
            figures.requests = contents.requests.map { ($0.key.service, $0.key.outcome.rawValue, $0.value) }
                .sorted { ($0.service, $0.outcome) < ($1.service, $1.outcome) }
            (figures.fileBytes, figures.savedBytes) = (contents.fileBytes, contents.savedBytes)
            (figures.newReports, figures.droppedReports) = (contents.newReports, contents.droppedReports)
            return figures
        }
    }

    func addDroppedReports(_ count: Int) { contents.withLock { $0.droppedReports += count } }
}
