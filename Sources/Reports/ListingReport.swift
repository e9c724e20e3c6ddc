public import Store
public import Web

/// The URLs to list.
public struct ListOptions: Sendable {
    /// The name, URL or host of a site; nil for all sites.
    public var site: String?
    /// The snapshot of the site; nil for the live one.
    public var snapshot: SnapshotName?
    /// The media type; nil for all.
    public var type: TypeFilter?
    /// The HTTP status; nil for all.
    public var status: Int?

    /// Creates options that list everything.
    public init() {}

    func wants(_ url: ListedURL) -> Bool {
        (status.map { $0 == url.status } ?? true) && (type.map { $0.matches(url.type) } ?? true)
    }
}

/// The totals of a listing.
public struct ListReport: Sendable, Equatable {
    /// The number of URLs.
    public private(set) var urls = 0
    /// The sum of the sizes of their bodies. A body that two URLs share counts twice.
    public private(set) var byteCount: Int64 = 0
    /// Whether the caller ended the listing.
    public private(set) var isCut = false

    /// Passes the URLs of the live snapshots to a function, in order.
    ///
    /// - Parameter take: returns false to end the listing.
    package init(
        _ options: ListOptions, _ reader: StoreReader, take: (ListedURL) -> Bool
    ) throws(StoreError) {
        let site = try options.site.map { (name) throws(StoreError) in
            try SiteName.site(name, in: reader.sites(), acceptsOrigin: true)
        }
        var report = ListReport()
        func add(_ url: ListedURL) -> Bool {
            guard options.wants(url) else { return true }
            report.urls += 1
            report.byteCount += Int64(url.byteCount ?? 0)
            report.isCut = !take(url)
            return !report.isCut
        }
        if let site, let snapshot = options.snapshot {
            let id = try site.snapshot(snapshot).id
            let snapshots = Dictionary(uniqueKeysWithValues: site.snapshots.map { ($0.id, $0) })
            try reader.eachVisibleResponse(ofSite: site.id, asOf: id) { row in
                guard row.response.request == .get, row.response.variant.isEmpty else { return true }
                let own = snapshots[row.response.snapshot]
                return add(
                    ListedURL(
                        row.response, of: own?.name ?? snapshot,
                        fetched: CopyAge(of: row.response, in: own).fetched))
            }
        } else {
            try reader.eachListedResponse(site: site?.id) { add(ListedURL($0)) }
        }
        self = report
    }

    private init() {}

    /// The report as JSON.
    public var json: String { members.text() }
}

/// A URL of a live snapshot.
public struct ListedURL: Sendable, Equatable {
    /// The URL.
    public let url: String
    /// The HTTP status of the response.
    public let status: Int
    /// The media type without parameters; nil if the server sent none.
    public let type: String?
    /// The size of the body; nil for a response without one, such as a redirect.
    public let byteCount: Int?
    /// The SHA-256 of the body in hexadecimal; nil for a response without one.
    public let sha256: String?
    /// Whether it is an asset; else it is a page.
    public let isAsset: Bool
    /// The snapshot in which the response was stored.
    public let snapshot: SnapshotName
    /// When it was fetched: when the run of its snapshot began. Its own time if a server or proxy
    /// loaded it, or an archive contained it.
    public let fetched: Timestamp

    /// Whether the site says that the URL does not exist: 404 or 410, without a page that an application shows there.
    public var isMissing: Bool { (status == 404 || status == 410) && byteCount == nil }

    init(_ response: StoredResponse, of snapshot: SnapshotName, fetched: Int64) {
        self.init(
            response.href, status: response.status, type: response.type, role: response.role,
            body: response.body, of: snapshot, fetched: fetched)
    }

    package init(_ entry: VisibleEntry) {
        self.init(
            entry.href, status: entry.status, type: entry.type, role: entry.role, body: entry.body,
            of: entry.snapshot, fetched: entry.fetched)
    }

    private init(
        _ url: String, status: Int, type: String?, role: UInt8, body: StoredBody?, of snapshot: SnapshotName,
        fetched: Int64
    ) {
        self.url = url
        self.status = status
        self.type = type
        byteCount = body?.byteCount
        sha256 = body.map { Hex.encode($0.sha256) }
        isAsset = role != 0
        self.snapshot = snapshot
        self.fetched = Timestamp(secondsSinceEpoch: fetched)
    }

    /// The URL as JSON, on one line.
    public var json: String { members.text(.compact) }
}

extension ListReport: JSONObject {
    package var members: JSONMembers { ["urls": urls, "bytes": byteCount, "cut": isCut] }
}

extension ListedURL: JSONObject {
    package var members: JSONMembers {
        [
            "url": url, "status": status, "role": isAsset ? "asset" : "page", "type": type,
            "bytes": byteCount, "sha256": sha256, "snapshot": snapshot.number,
            "overlay": IfAny(snapshot.isOverlay ? true : nil), "fetched": Wording.date(fetched),
        ]
    }
}

/// A filter for media types: `text/html`, `image/*`, or a short name such as `js`.
public struct TypeFilter: Sendable {
    private let patterns: [MediaTypePattern]

    /// Parses a media type, whose subtype may be a star, or a short name. Nil if the text is neither.
    public init?(_ text: String) {
        let wanted = Self.shortNames.first { $0.name == text.lowercased() }?.types ?? [text]
        patterns = wanted.compactMap { MediaTypePattern($0) }
        guard patterns.count == wanted.count else { return nil }
    }

    /// The short names in alphabetical order.
    public static var names: [String] { shortNames.map(\.name) }

    package func matches(_ type: String?) -> Bool {
        let mediaType = type.flatMap { MediaType($0) }
        return patterns.contains { $0.matches(mediaType) }
    }

    /// The media types of each short name, including obsolete ones.
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
