internal import Check
internal import Crawl
internal import Mirror
internal import Reports
public import Store
internal import Web

/// Reports on stored and missing content.
extension Larder {
    /// The sites, snapshots and size of the store.
    ///
    /// - Throws: `LarderError` of kind `.machine` if there is no store at the path, or it cannot be read.
    public func status() async throws(LarderError) -> StatusReport {
        let (path, runner) = (folder.name, scheduleRunner)
        return try await readStore("larder-status") { (reader) throws(StoreError) in
            // The check is passed as a closure, because the module Reports does not import Check.
            try StatusReport(reader, path: path, runner: runner) { reader, site, limit throws(StoreError) in
                try OfflineCheck.needs(of: site, limit: limit, reader)
            }
        }
    }

    /// Passes every URL of the live snapshots to a function, in order. The memory use does not depend on their
    /// number.
    ///
    /// - Parameters:
    ///   - options: which URLs to list.
    ///   - take: called on a thread of the listing; returns false to end it.
    /// - Throws: `LarderError` of kind `.input` if there is no such site, `.machine` if there is no store, or it
    ///   cannot be read.
    @discardableResult
    public func list(
        _ options: ListOptions = ListOptions(), take: @escaping @Sendable (ListedURL) -> Bool
    ) async throws(LarderError) -> ListReport {
        try await readStore("larder-list") { (reader) throws(StoreError) in
            try ListReport(options, reader, take: take)
        }
    }

    /// Reports everything that the store knows about a URL: its stored responses in all snapshots, and its links in both
    /// directions.
    ///
    /// ```swift
    /// let report = try await larder.describe("https://example.com/app.js")
    /// for response in report.responses { print(response.snapshot, response.status, response.fetchDate) }
    /// ```
    ///
    /// The MD5 of a body is computed when it is first requested, and stored.
    ///
    /// If the URL is not stored, the report contains the reason, the stored URL that a server would serve in its place, and
    /// stored URLs in the same folder (`URLReport.Absence`).
    ///
    /// - Parameter port: the port of a server on this machine. The report contains the URL at which it serves the response.
    /// - Throws: `LarderError` of kind `.input` if the URL is not http or https, `.machine` if there is no store, or
    ///   it cannot be read.
    public func describe(_ url: String, servedOn port: UInt16 = 8080) async throws(LarderError) -> URLReport {
        let target = try await parseURL(url)
        return try await readStore("larder-show") { (reader) throws(StoreError) in
            try URLReport(of: target, servedAt: MirrorServer.address(of: target.href, at: port), reader)
        }
    }

    /// Parses a URL that a user typed. A single word is taken for the name of a site.
    ///
    /// - Throws: `LarderError` of kind `.input` if the text is not an http or https URL. For a single word, the error
    ///   lists the stored sites.
    func parseURL(_ text: String) async throws(LarderError) -> WebURL {
        do throws(URLInputError) { return try WebURL.parseUserInput(text) } catch {
            guard case .singleWord = error.kind, let report = try? await snapshots() else {
                throw LarderError(error)
            }
            throw LarderError(SiteName.unknownSiteError(text, among: report.sites.map(\.name)))
        }
    }

    /// Explains whether a prefetch would fetch a URL, by the rules of each stored site's last prefetch, and which
    /// pages link to it. Makes no network requests.
    ///
    /// - Throws: `LarderError` of kind `.input` if the URL is not http or https, `.machine` if there is no store, or
    ///   it cannot be read.
    public func explain(_ url: String) async throws(LarderError) -> ExplainReport {
        let target = try await parseURL(url)
        return try await readStore("larder-explain") { (reader) throws(StoreError) in
            try ExplainReport(of: target, reader)
        }
    }

    /// The URLs that clients of a server or proxy requested and that are not stored. The next prefetch of their site
    /// fetches them.
    ///
    /// A running server writes its misses to the store every two seconds and when it stops.
    ///
    /// - Throws: `LarderError` of kind `.machine` if there is no store, or it cannot be read.
    public func misses() async throws(LarderError) -> MissesReport {
        try await readStore("larder-misses") { (reader) throws(StoreError) in
            let (report, storedURLs) = try MissesReport.report(
                on: ActivityDatabase.misses(in: reader.folder), reader)
            // Misses of URLs that were stored since are deleted. A user without write permission gets the same report.
            if !storedURLs.isEmpty, reader.folder.isWritable {
                try ActivityDatabase.openIfExists(reader.folder)?.deleteMisses(at: storedURLs)
            }
            return report
        }
    }

    /// Removes all recorded misses, so that no prefetch fetches them.
    ///
    /// - Throws: `LarderError` of kind `.machine` if there is no store, or it cannot be written.
    public func forgetMisses() async throws(LarderError) {
        try await readStore("larder-misses") { (reader) throws(StoreError) in
            let activity = try ActivityDatabase.openIfExists(reader.folder)
            try activity?.deleteAllMisses()
        }
    }

    /// Passes the stored body of a URL to a function, in pieces, in constant memory.
    ///
    /// - Parameters:
    ///   - snapshot: nil for the live snapshot.
    ///   - site: the site that the snapshot belongs to; nil if only one site has the URL.
    ///   - take: called on a thread of the call; returns false to end it.
    /// - Returns: A report that says which response was read, or why there is no body.
    /// - Throws: `LarderError` of kind `.input` if the URL is not http or https, or there is no such snapshot,
    ///   `.machine` if there is no store, or it cannot be read.
    public func read(
        _ url: String, snapshot: SnapshotName? = nil, of site: String? = nil,
        take: @escaping @Sendable (Span<UInt8>) -> Bool
    ) async throws(LarderError) -> BodyReport {
        let target = try await parseURL(url)
        return try await readStore("larder-cat") { (reader) throws(StoreError) in
            try BodyReport(of: target, snapshot: snapshot, of: site, reader, take)
        }
    }
}
