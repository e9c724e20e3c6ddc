internal import Check
internal import Digest
internal import Reports
internal import Store
internal import Web

extension Larder {
    /// Hands over every URL that the larder shows, in order, and takes the same memory for ten of them as for a million.
    ///
    /// - Parameter take: called on a thread of the listing's; false ends it.
    /// - Throws: `LarderError` of kind `.input` when there is no such site, `.machine` when there is no larder, or it cannot
    ///   be read.
    @discardableResult
    public func list(
        _ options: ListOptions = ListOptions(), take: @escaping @Sendable (ListedURL) -> Bool
    ) async throws(LarderError) -> ListReport {
        return try await reading("larder-list") { (reader) throws(StoreError) in
            let site = try options.site.map { (name) throws(StoreError) in
                try SiteName.site(name, in: reader.sites()).id
            }
            var report = ListReport()
            try reader.eachListed(site: site) { row in
                let url = ListedURL(row)
                guard options.wants(url) else { return true }
                report.urls += 1
                report.byteCount += Int64(url.byteCount ?? 0)
                report.isCut = !take(url)
                return !report.isCut
            }
            return report
        }
    }
}

/// What to list.
public struct ListOptions: Sendable {
    /// A site by its name, its address or its host; nil for all that is held.
    public var site: String?
    public var type: TypeFilter?
    public var status: Int?

    public init() {}

    func wants(_ url: ListedURL) -> Bool {
        (status.map { $0 == url.status } ?? true) && (type.map { $0.matches(url.type) } ?? true)
    }
}

/// What a listing came to.
public struct ListReport: Sendable, Equatable {
    public internal(set) var urls = 0
    /// The sum of what each URL has; what two URLs share counts twice.
    public internal(set) var byteCount: Int64 = 0
    /// Whoever took the URLs wanted no more.
    public internal(set) var isCut = false

    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { object in
            object.member("urls", urls)
            object.member("bytes", byteCount)
            object.member("cut", isCut)
        }
        return writer.text
    }
}

/// What the larder shows for an URL, in short.
public struct ListedURL: Sendable, Equatable {
    public let url: String
    public let status: Int
    /// Without parameters; nil where the server gave none.
    public let type: String?
    /// Nil for what has no body, such as a redirect.
    public let byteCount: Int?
    public let sha256: String?
    /// A page needs it to look and work as it did; else it is a page.
    public let isRequisite: Bool
    public let visit: Int64
    /// Seconds since 1970.
    public let fetched: Int64

    init(_ row: ListedResponse) {
        url = row.href
        status = row.status
        type = row.type
        byteCount = row.byteCount
        sha256 = row.sha256.flatMap { Digest(.sha256, bytes: $0)?.hex }
        isRequisite = row.role != 0
        visit = row.visit
        fetched = row.fetched
    }

    /// For programs, on one line.
    public var json: String {
        var writer = JSONWriter(.compact)
        writer.object { object in
            object.member("url", url)
            object.member("status", status)
            object.member("role", isRequisite ? "requisite" : "page")
            object.member("type", type)
            object.member("bytes", byteCount)
            object.member("sha256", sha256)
            object.member("visit", visit)
            object.member("fetched", fetched)
        }
        return writer.text
    }
}
