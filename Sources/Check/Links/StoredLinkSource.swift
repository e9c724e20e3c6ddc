internal import Crawl
internal import Markup
internal import Reports
internal import Store
internal import System
internal import Web

/// The pages of a stored site.
struct StoredLinkSource: LinkSource {
    let documents: [LinkDocument]
    let zone: NetworkZone
    let notes: [String] = []
    private let targets: [String: LocalTarget]
    private let origin: String?
    private let failures: StoredFailures
    private let folder: StoreFolder
    private let snapshot: Int64
    private let hidesPrivate: Bool

    /// - Parameter accepted: the error statuses that count as success.
    /// - Throws: `LarderError` of kind `.input` if the site has no complete snapshot.
    init(
        _ site: Site, _ reader: StoreReader, accepting accepted: AcceptedStatuses = AcceptedStatuses(),
        hidesPrivate: Bool = false
    ) throws(LarderError) {
        guard let snapshot = site.published else {
            throw LarderError(
                .input, "\(site.name) has no complete snapshot; run: larder update \(site.name)")
        }
        var documents: [LinkDocument] = []
        var targets: [String: LocalTarget] = [:]
        // The bodies of pages in folders, by their URLs.
        var bodies: [String: [UInt8]] = [:]
        func add(_ response: StoredResponse) {
            guard response.request == .get, let url = WebURL(response.href) else { return }
            let fields = HTTPFields(block: response.fields.utf8.span)
            if let redirect = Redirect(response.status, fields, from: url) {
                targets[response.href] = .redirects(
                    to: redirect.url, isPermanent: response.status == 301 || response.status == 308)
                return
            }
            guard response.status < 300 else {
                targets[response.href] =
                    accepted.contains(response.status)
                    ? .exists(document: nil) : Self.target(ofStatus: response.status)
                return
            }
            let format = response.body.flatMap { BodyFormat(form: $0.form) }
            let document = LinkDocument(
                name: response.href, url: url, type: fields.contentType,
                unknownCoding: LinkDocument.unknownCoding(in: fields))
            let isDocument =
                format.map {
                    $0.isDocument || $0 == .css || $0 == .webManifest || $0 == .feed || $0 == .sitemap
                } ?? false
            if isDocument { documents.append(document) }
            if isDocument, url.path.hasSuffix("/") || url.path.hasSuffix("/" + SiteFolder.index) {
                bodies[response.href] = response.body?.sha256
            }
            let hasFragments = format?.isDocument == true && !LinkDocument.isDownload(document.type)
            targets[response.href] = .exists(document: hasFragments ? document : nil)
        }
        try mapStoreError { () throws(StoreError) in
            // A preload stores only the bundles that changed. The others are in earlier snapshots.
            if SitePlan(text: site.settings).manifest?.isAlone == true {
                try reader.eachVisibleResponse(ofSite: site.id, asOf: snapshot) { visible in
                    add(visible.response)
                    return true
                }
            } else {
                try reader.eachResponse(ofSnapshot: snapshot, read: add)
            }
        }
        Self.mergeIndexPages(&documents, &targets, bodies)
        self.documents = documents.sorted { $0.name < $1.name }
        zone = try mapStoreError { () throws(StoreError) in
            try WebURL(site.name).flatMap { url throws(StoreError) in
                try reader.mostPublicZone(ofOrigin: url.origin)
            }
                ?? .publicNetwork
        }
        (self.targets, self.snapshot, self.hidesPrivate) = (targets, snapshot, hidesPrivate)
        origin = WebURL(site.name)?.origin
        failures = StoredFailures(of: site)
        folder = reader.folder
    }

    /// Counts a page with two names, `/x/` and `/x/index.html`, as one document.
    private static func mergeIndexPages(
        _ documents: inout [LinkDocument], _ targets: inout [String: LocalTarget],
        _ bodies: [String: [UInt8]]
    ) {
        documents.removeAll { document in
            guard let body = bodies[document.name], document.name.hasSuffix("/" + SiteFolder.index) else {
                return false
            }
            let folder = String(document.name.dropLast(SiteFolder.index.utf8.count))
            guard bodies[folder] == body, let page = targets[folder] else { return false }
            targets[document.name] = page
            return true
        }
    }

    private static func target(ofStatus status: Int) -> LocalTarget {
        let detail = "the server answered \(status)"
        switch status {
        case 404, 410: return .faulty(.dead, detail)
        // Another request may be answered otherwise.
        default: return .unknown
        }
    }

    func makeReader() throws(LarderError) -> any LinkBodyReader {
        StoredBodyReader(
            reader: try mapStoreError { () throws(StoreError) in
                try StoreReader(folder, hidesPrivate: hidesPrivate)
            }, snapshot: snapshot)
    }

    func lookUp(_ url: WebURL) -> LocalTarget {
        let href = url.key.href
        if let known = targets[href] { return known }
        // The crawl does not store the redirect that closes a loop.
        if failures.reason(for: href) == Failure.redirects.description {
            return .redirectsInLoop
        }
        return url.origin == origin ? .unstored : .unknown
    }
}

/// Reads the bodies of a snapshot.
private struct StoredBodyReader: LinkBodyReader {
    let reader: StoreReader
    let snapshot: Int64

    func body(of document: LinkDocument) throws(LarderError) -> [UInt8]? {
        try mapStoreError { () throws(StoreError) in
            guard let body = try reader.response(for: document.url.href, ofSnapshot: snapshot)?.body else {
                return nil
            }
            return try reader.content(of: body)?.load()
        }
    }
}
