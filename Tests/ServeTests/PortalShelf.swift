import Reports
import Store
import TestOrigin
import Web

@testable import HTTPServer
@testable import Mirror
@testable import Origins
@testable import Portal

/// A store with entries that a test chooses, and a portal without a server that answers requests for its pages.
struct PortalShelf {
    struct Entry {
        var href: String
        var title: String?
        var text: String? = "text"
        /// The body in place of `text`.
        var bytes: [UInt8]?
        var request = RequestKey.get
        var status = 200
        var role: UInt8 = 0
        var type = "text/html"
        var form = "html;utf-8"
        var fields = ""
        var pages: [String] = []
        var assets: [String] = []
        /// The page that requested the URL.
        var referrer: String?
    }

    static let site = "https://example.test/"
    /// The current time of the portal, a minute after all responses were fetched.
    static let now: Int64 = 1_800_000_060

    let scratch: TemporaryFolder
    let folder: StoreFolder

    init(_ entries: [Entry] = []) throws {
        scratch = try TemporaryFolder()
        folder = StoreFolder(scratch.file("store"))
        let writer = try StoreWriter(folder)
        withExtendedLifetime(writer) {}
        if !entries.isEmpty { try snapshot(entries) }
    }

    /// Adds a snapshot, and returns its id. Its responses were fetched when it began.
    @discardableResult
    func snapshot(
        _ entries: [Entry], site: String = site, isComplete: Bool = true, started: Int64 = now - 60,
        ending: SnapshotEnding? = nil, settings: String? = nil
    ) throws -> Int64 {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: site, start: [site], now: started)
        var numbers: [String: UInt32] = [:]
        func target(_ href: String) -> NewLinks.Target {
            if let number = numbers[href] { return NewLinks.Target(href: nil, number: number) }
            let number = UInt32(numbers.count + 1)
            numbers[href] = number
            return NewLinks.Target(href: href, number: number)
        }
        var links: [NewLinks] = []
        for entry in entries where !entry.pages.isEmpty || !entry.assets.isEmpty {
            var list = NewLinks(from: target(entry.href))
            list.pages = entry.pages.map(target)
            list.assets = entry.assets.map(target)
            links.append(list)
        }
        try writer.add(entries.map { try response($0, fetched: started) }, links: links, to: snapshot)
        try writer.end(snapshot, ending ?? (isComplete ? .publish(now: Self.now) : .keepOpen))
        if let settings { try writer.storeSettings(settings, ofSite: site) }
        return snapshot.id
    }

    private func response(_ entry: Entry, fetched: Int64) throws -> NewResponse {
        let body: NewResponse.Body =
            try (entry.bytes ?? entry.text.map { Array($0.utf8) }).map {
                .new(try NewBody(.bytes($0), form: entry.form, title: entry.title, links: [], in: folder))
            } ?? .none
        var response = NewResponse(
            href: entry.href, referrer: entry.referrer, status: entry.status, role: entry.role,
            fields: entry.fields,
            fetched: fetched, body: body)
        response.type = entry.type
        response.request = entry.request
        return response
    }

    func reader() throws -> StoreReader { try StoreReader(folder) }

    struct Page {
        let status: Int
        let head: String
        let body: String

        /// The values of all header fields with this name.
        func fields(_ name: String) -> [String] {
            head.split(separator: "\r\n").filter { $0.hasPrefix("\(name): ") }.map {
                String($0.dropFirst(name.count + 2))
            }
        }

        func json() throws -> JSONValue { try JSONValue.parse(body.utf8.span) }
    }

    func get(
        _ target: String, accept: String? = nil, verdicts: ScriptsPage.VerdictLookup? = nil,
        in language: PortalLanguage = .english, fetchSite: String? = nil,
        updates: UpdateFigures? = nil, services: PortalServices? = nil, needs: SiteNeeds? = nil,
        isExcluded: URLExclusion? = nil
    ) throws -> Page {
        let metrics = updates.map { updates in
            ServerMetrics(
                totals: ServingTotals(), memoryByteCount: { 0 }, generation: { 0 }, isReadable: { true },
                rejectedCount: { 0 }, updates: { updates })
        }
        let portal = Portal(
            layout: OriginLayout(port: 8080), verdicts: verdicts,
            walk: { _, _, _ in needs }, isExcluded: isExcluded, services: services, serverMetrics: metrics,
            now: { Self.now })
        var visitor = PortalVisitor()
        visitor.accept = accept
        visitor.language = language
        visitor.fetchSite = fetchSite
        let answer = try portal.answer(target, for: visitor, reader: reader())
        return Page(
            status: answer.status,
            head: String(decoding: answer.bytes[..<answer.headByteCount], as: UTF8.self),
            body: String(decoding: answer.bytes[answer.headByteCount...], as: UTF8.self))
    }
}
