internal import HTTPServer
internal import Reports
internal import Rollouts
internal import Store
internal import System
internal import Web

/// The channels and releases of apps, as one thread reads them.
///
/// A channel is parsed once for each version. Its version is read from the database before each use in a local store, and
/// at most four times a second in PostgreSQL, where each read is a round trip to the server. A halt by a report that this
/// server has recorded is seen at once in both (`UpdateService.changes`).
final class UpdateDesk {
    private let service: UpdateService
    private let openReader: () throws(StoreError) -> StoreReader
    /// Nil until the database is needed, and after an error.
    private var database: ChannelDatabase?
    private var nextOpening: Int64 = .min
    /// Why the database could not be opened or used the last time; nil if it could.
    private var failure: StoreError?
    private var apps: [String: App] = [:]
    private var answers = AnswerCache()

    /// The channels of one app.
    private struct App {
        var channels: [String: Known] = [:]
        /// The IDs of all releases in the channels.
        let releases: Set<String>
        /// When the versions were read: milliseconds of the service's clock, and its number of changes.
        var checked: (at: Int64, changes: Int)
    }

    private struct Known {
        let version: Int64
        let channel: Channel
    }

    /// The time between attempts to open the database while there is none, in milliseconds.
    private static let openingInterval: Int64 = 1000

    /// - Parameter openReader: returns the thread's reader of the store.
    init(_ service: UpdateService, openReader: @escaping () throws(StoreError) -> StoreReader) {
        (self.service, self.openReader) = (service, openReader)
    }

    var reader: StoreReader {
        get throws(StoreError) { try openReader() }
    }

    /// The database; nil if nothing was published yet.
    private func openDatabase() throws(StoreError) -> ChannelDatabase? {
        if let database { return database }
        let now = service.milliseconds()
        guard now >= nextOpening else { return nil }
        nextOpening = now + Self.openingInterval
        database = try ChannelDatabase.openIfExists(service.folder, failingFast: true)
        failure = nil
        return database
    }

    /// Runs `body` with the database, which is opened again after an error.
    func withDatabase<Result>(
        _ body: (ChannelDatabase) throws(StoreError) -> Result
    ) throws(StoreError) -> Result? {
        if let failure, service.milliseconds() < nextOpening { throw failure }
        do throws(StoreError) {
            guard let database = try openDatabase() else { return nil }
            return try body(database)
        } catch {
            (database, failure) = (nil, error)
            // Later, so that requests do not wait for an unreachable server each.
            nextOpening = service.milliseconds() + Self.openingInterval
            throw error
        }
    }

    /// Returns the channels and releases of an app, from memory if they are current; nil if the app is unknown.
    private func loadApp(_ app: AppName) throws(StoreError) -> App? {
        let (now, changes) = (service.milliseconds(), service.changes)
        let before = apps[app.text]
        if let before, before.checked.changes == changes,
            now - before.checked.at < service.revalidationInterval
        {
            return before
        }
        var channels: [String: Known] = [:]
        let rows = try withDatabase { (database) throws(StoreError) in
            var rows: [ChannelDatabase.Row] = []
            for (name, version) in try database.versions(ofApp: app.text) {
                if let known = before?.channels[name], known.version == version {
                    channels[name] = known
                } else if let row = try database.channel(ChannelDatabase.Key(app: app.text, channel: name)) {
                    rows.append(row)
                }
            }
            return rows
        }
        for row in rows ?? [] {
            channels[row.key.channel] = Known(
                version: row.version, channel: try Channel(row, in: service.folder))
            if before != nil { service.forgetRecorded() }
        }
        guard !channels.isEmpty else {
            // Unknown names are not remembered, since any client can make up names.
            apps[app.text] = nil
            return nil
        }
        if var before, before.channels.mapValues(\.version) == channels.mapValues(\.version) {
            before.checked = (now, changes)
            apps[app.text] = before
            return before
        }
        let releases = channels.values.flatMap { $0.channel.rollouts.compactMap(\.releaseID) }
        let known = App(channels: channels, releases: Set(releases), checked: (now, changes))
        apps[app.text] = known
        return known
    }

    /// A channel of an app; nil if there is none.
    func channel(_ name: String, of app: AppName) throws(StoreError) -> Channel? {
        try loadApp(app)?.channels[name]?.channel
    }

    /// The version of a channel, which changes with its state; nil if there is no such channel.
    func version(ofChannel name: String, of app: AppName) throws(StoreError) -> Int64? {
        try loadApp(app)?.channels[name]?.version
    }

    /// Whether a channel of the app announces a release, or announced it before.
    func hasRelease(_ release: String, of app: AppName) throws(StoreError) -> Bool {
        try loadApp(app)?.releases.contains(release) ?? false
    }

    /// The channel that an inquiry is about; nil if there is none.
    func channel(
        _ selection: UpdateInquiry.ChannelSelection, of app: AppName
    ) throws(StoreError) -> Channel? {
        switch selection {
        case .named(let name): try channel(name, of: app)
        case .having(let updates):
            try channels(of: app).first { $0.rollouts.contains { updates.contains($0.id) } }
        }
    }

    private func channels(of app: AppName) throws(StoreError) -> [Channel] {
        try loadApp(app)?.channels.values.map(\.channel) ?? []
    }

    /// Returns the answer for a key, which is the same for all requests with this key. If it is not in memory, `make` makes it.
    func answer(
        for key: [String], _ make: () throws(StoreError) -> UpdateAnswer
    ) throws(StoreError) -> UpdateAnswer {
        if let known = answers[key] { return known }
        let made = try make()
        if made.outcome != .failed { answers.add(made, for: key) }
        return made
    }

    /// The stored file of a release; nil if the store does not have it.
    func file(_ url: String) throws(StoreError) -> StoredResponse? {
        let response = try reader.response(for: url)
        return response?.status == 200 && response?.body != nil ? response : nil
    }

    /// The bytes of a stored file; nil if it is damaged.
    func bytes(of file: StoredResponse) throws(StoreError) -> [UInt8]? {
        guard let body = file.body, let content = try reader.content(of: body), try body.isIntact(content)
        else { return nil }
        return try content.load()
    }

    /// The manifest of a release as it was published, with its signature; nil if the store does not have it.
    func manifest(ofRelease release: String, of app: AppName) throws(StoreError) -> [UInt8]? {
        if let known = service.manifests[app.text, release] { return known }
        guard let file = try file(app.manifest(ofRelease: release)), let bytes = try bytes(of: file) else {
            return nil
        }
        service.manifests.add(bytes, size: bytes.count, app.text, release)
        return bytes
    }

    /// The files of a release; nil if the store does not have it, or its manifest is damaged.
    func contents(ofRelease release: String, of app: AppName) throws(StoreError) -> ReleaseContents? {
        if let known = service.contents[app.text, release] { return known }
        guard let bytes = try manifest(ofRelease: release, of: app),
            let contents = ReleaseContents(manifest: bytes)
        else { return nil }
        service.contents.add(contents, size: contents.files.count, app.text, release)
        return contents
    }

    // MARK: - Reports

    /// The reports of an inquiry that count: of devices with an ID, and about the newest updates of a channel.
    ///
    /// - Parameter channel: the channel that the inquiry is about.
    func reports(
        of inquiry: UpdateInquiry, in channel: Channel, of app: AppName
    ) throws(StoreError) -> [ChannelDatabase.Report] {
        guard let device = inquiry.device, !inquiry.installed.isEmpty || !inquiry.failed.isEmpty else {
            return []
        }
        let channels =
            switch inquiry.channel {
            case .named: [channel]
            case .having: try channels(of: app)
            }
        let installed = Set(inquiry.installed).subtracting(inquiry.failed)
        let outcomes = inquiry.failed.map { (id: $0, hasFailed: true) } + installed.map { ($0, false) }
        let open = outcomes.compactMap { id, hasFailed in
            channels.first {
                $0.rollouts.suffix(ChannelDatabase.maxOpenUpdates).contains { $0.id == id }
            }.map { (channel: $0.name, id: id, hasFailed: hasFailed) }
        }
        guard !open.isEmpty else { return [] }
        let hash = ChannelDatabase.hash(ofDevice: device)
        return open.map { report in
            ChannelDatabase.Report(
                ChannelDatabase.Key(app: app.text, channel: report.channel), rollout: report.id,
                device: hash, hasFailed: report.hasFailed)
        }
    }

    /// The reports that do not repeat earlier ones.
    func newReports(among reports: [ChannelDatabase.Report]) throws(StoreError) -> [ChannelDatabase.Report] {
        guard !reports.isEmpty else { return [] }
        return try withDatabase { (database) throws(StoreError) in
            var new: [ChannelDatabase.Report] = []
            for report in reports where !service.isRecorded(report) {
                if try database.isKnown(report) { service.didRecord(report) } else { new.append(report) }
            }
            return new
        } ?? []
    }
}

/// Answers that many requests get. Clients choose a part of the keys, such as the host.
struct AnswerCache {
    private var answers: [[String]: UpdateAnswer] = [:]
    private(set) var byteCount = 0

    /// Beyond this number, all answers are made again.
    private static let maxAnswers = 500
    /// The maximum size of all answers. A manifest of Expo may have megabytes, and each thread has its own cache.
    static let maxBytes = 16 << 20

    var count: Int { answers.count }

    subscript(key: [String]) -> UpdateAnswer? { answers[key] }

    /// Adds an answer, unless it is too large.
    mutating func add(_ answer: UpdateAnswer, for key: [String]) {
        let size = answer.answer.bodyByteCount + key.reduce(0) { $0 + $1.utf8.count }
        guard size <= Self.maxBytes else { return }
        if answers.count >= Self.maxAnswers || byteCount + size > Self.maxBytes {
            (answers, byteCount) = ([:], 0)
        }
        if answers.updateValue(answer, forKey: key) == nil { byteCount += size }
    }
}
