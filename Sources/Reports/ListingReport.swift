package import Store
package import Web

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
    public private(set) var urls = 0
    /// The sum of what each URL has; what two URLs share counts twice.
    public private(set) var byteCount: Int64 = 0
    /// Whoever took the URLs wanted no more.
    public private(set) var isCut = false

    /// Hands over every URL that the larder shows, in order.
    ///
    /// - Parameter take: false ends it.
    package init(
        _ options: ListOptions, _ reader: StoreReader, take: (ListedURL) -> Bool
    ) throws(StoreError) {
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
        self = report
    }

    private init() {}

    /// The report for programs.
    public var json: String { members.text() }
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
        sha256 = row.sha256.map { Hex.encode($0) }
        isRequisite = row.role != 0
        visit = row.visit
        fetched = row.fetched
    }

    package init(_ entry: HeldEntry) {
        url = entry.href
        status = entry.status
        type = entry.type
        byteCount = entry.body?.byteCount
        sha256 = entry.body.map { Hex.encode($0.sha256) }
        isRequisite = entry.role != 0
        visit = entry.visit
        fetched = entry.fetched
    }

    /// For programs, on one line.
    public var json: String { members.text(.compact) }
}

extension ListReport: JSONObject {
    package var members: JSONMembers { ["urls": urls, "bytes": byteCount, "cut": isCut] }
}

extension ListedURL: JSONObject {
    package var members: JSONMembers {
        [
            "url": url, "status": status, "role": isRequisite ? "requisite" : "page", "type": type,
            "bytes": byteCount, "sha256": sha256, "visit": visit, "fetched": fetched,
        ]
    }
}

/// Which media types are wanted: `text/html`, `image/*`, or a short name such as `js`.
public struct TypeFilter: Sendable {
    private let patterns: [MediaTypePattern]

    /// Nil when it is neither a media type, with or without a star for the subtype, nor a short name.
    public init?(_ text: String) {
        let wanted = Self.shortNames.first { $0.name == text.lowercased() }?.types ?? [text]
        patterns = wanted.compactMap { MediaTypePattern($0) }
        guard patterns.count == wanted.count else { return nil }
    }

    /// The short names, in order.
    public static var names: [String] { shortNames.map(\.name) }

    package func matches(_ type: String?) -> Bool {
        let mediaType = type.flatMap { MediaType($0) }
        return patterns.contains { $0.matches(mediaType) }
    }

    /// What servers say for each, old names included.
    private static let shortNames: [(name: String, types: [String])] = [
        ("audio", ["audio/*"]),
        ("css", ["text/css"]),
        (
            "font",
            [
                "font/*", "application/font-woff", "application/font-woff2", "application/font-sfnt",
                "application/x-font-ttf", "application/x-font-otf", "application/x-font-woff",
                "application/vnd.ms-fontobject",
            ]
        ),
        ("html", ["text/html", "application/xhtml+xml"]),
        ("image", ["image/*"]),
        (
            "js",
            [
                "text/javascript", "application/javascript", "application/x-javascript", "text/ecmascript",
                "application/ecmascript",
            ]
        ),
        ("json", ["application/json", "text/json", "application/ld+json", "application/manifest+json"]),
        ("video", ["video/*"]),
        ("xml", ["application/xml", "text/xml", "application/rss+xml", "application/atom+xml"]),
    ]
}
