internal import Digest
internal import Markup
internal import Store
internal import Web

/// A page or asset of a snapshot: its stored body, and its URL after redirects.
struct ExportedResource {
    let url: WebURL
    let response: StoredResponse
    let body: StoredBody

    var format: BodyFormat { BodyFormat(form: body.form) ?? .opaque }
    /// The media type from the response headers.
    var type: MediaType? { HTTPFields(block: response.fields.utf8.span).contentType }
}

/// Looks up pages and assets of a snapshot for exports that assemble a page from its assets. It returns only
/// responses that the plan lets into the archive, and records the others in `leftOutPrivate` and `leftOutByPattern`.
/// An instance is used by one thread.
final class ResourceLookup {
    private let reader: StoreReader
    /// The ID of the snapshot; nil for the live snapshot.
    private let snapshot: Int64?
    private let plan: ExportPlan
    private let scanner = LinkScanner()
    /// The URLs whose stored bodies are damaged.
    private(set) var damaged: Set<String> = []
    /// The URLs of pages for which their frozen copies were returned.
    private(set) var frozenPages: Set<String> = []
    /// The URLs that were left out because they were fetched with credentials.
    private(set) var leftOutPrivate: Set<String> = []
    /// The URLs that were left out because the patterns of the plan exclude them.
    private(set) var leftOutByPattern: Set<String> = []

    /// Longer chains of redirects are treated as misses.
    private static let maxRedirects = 10

    init(_ plan: ExportPlan, _ reader: StoreReader) {
        let site = plan.site
        self.reader = reader
        snapshot = plan.snapshot ?? (site.published == nil ? site.overlay ?? site.snapshots.last?.id : nil)
        self.plan = plan
    }

    /// Returns the page or asset for a URL, after redirects. Returns nil if it is not stored, was left out, or is not
    /// a complete successful response.
    func resource(at url: WebURL) throws(ArchiveError) -> ExportedResource? {
        guard let last = try redirectChain(from: url).last, let body = last.body,
            (200..<300).contains(last.status), last.flags.isDisjoint(with: [.isCoded, .isPart]),
            let finalURL = WebURL(last.href)
        else { return nil }
        return ExportedResource(url: finalURL, response: last, body: body)
    }

    /// Returns the redirects from a URL and the response at their end.
    func redirectChain(from url: WebURL) throws(ArchiveError) -> [StoredResponse] {
        var chain: [StoredResponse] = []
        var next = url.key
        while chain.count <= Self.maxRedirects, let response = try response(for: next) {
            chain.append(response)
            let location = HTTPFields(block: response.fields.utf8.span)["Location"]
            guard response.isRedirect, let target = location.flatMap({ WebURL($0, base: next)?.key }) else {
                break
            }
            next = target
        }
        return chain
    }

    /// Returns the response for a URL as it is exported, without following redirects. Returns nil if it is not stored
    /// or the plan leaves it out.
    private func response(for url: WebURL) throws(ArchiveError) -> StoredResponse? {
        let found = try ArchiveError.storing { () throws(StoreError) in
            guard let snapshot else { return try reader.response(for: url.href) }
            return try reader.asOf(snapshot) { () throws(StoreError) in try reader.response(for: url.href) }
        }
        guard let found else { return nil }
        guard plan.canContain(url, isPrivate: found.flags.contains(.isPrivate)) else {
            leftOutPrivate.insert(url.href)
            return nil
        }
        guard plan.isWanted(url) else {
            leftOutByPattern.insert(url.href)
            return nil
        }
        let exported = try ArchiveError.storing { () throws(StoreError) in
            try plan.responseToExport(found, reader)
        }
        if exported.body != found.body { frozenPages.insert(url.href) }
        return exported
    }

    /// Returns the bytes of the body. Returns nil and records the URL in `damaged` if they do not match its digest.
    func bytes(of resource: ExportedResource) throws(ArchiveError) -> [UInt8]? {
        let bytes = try ArchiveError.storing { () throws(StoreError) in
            try reader.content(of: resource.body)?.load()
        }
        guard let bytes, DigestStream.digest(.sha256, of: bytes.span).bytes == resource.body.sha256 else {
            damaged.insert(resource.url.href)
            return nil
        }
        return bytes
    }

    /// Returns the stored body for a URL, after redirects, for a comparison with an `integrity` attribute.
    func checkedBody(at url: WebURL) throws(ArchiveError) -> CheckedBody? {
        try resource(at: url).flatMap { (resource) throws(ArchiveError) in
            try bytes(of: resource).map { CheckedBody($0, of: resource.response) }
        }
    }

    /// Returns the links of a body. Returns nil if the body is too large to be scanned.
    func table(of resource: ExportedResource) throws(ArchiveError) -> LinkTable? {
        guard resource.body.byteCount <= BodyReading.maxBytes else { return nil }
        return try ArchiveError.storing { () throws(StoreError) in
            try scanner.table(stored: try reader.links(of: resource.body), form: resource.body.form) {
                () throws(StoreError) in
                try reader.content(of: resource.body)?.load()
            }
        }
    }

    /// Returns the assets of a body by the stored links, which include requests that were made when a browser
    /// rendered the page. Scans the body if no links are stored.
    func assets(of resource: ExportedResource) throws(ArchiveError) -> [WebURL] {
        let links = try ArchiveError.storing { () throws(StoreError) in
            try reader.storedLinks(of: resource.response)
        }
        if let links { return (links.assets + links.guesses).compactMap { WebURL($0) } }
        guard let table = try table(of: resource), !table.occurrences.isEmpty,
            let bytes = try bytes(of: resource)
        else { return [] }
        let source = table.source(of: bytes.span) ?? bytes
        let base = table.base.flatMap { WebURL($0, base: resource.url) } ?? resource.url
        return table.occurrences.compactMap { occurrence in
            guard occurrence.kind.isPartOfPage else { return nil }
            let reference = table.reference(occurrence, in: source.span)
            let url = WebURL(utf8: reference.span, base: base, queryEncoding: table.encoding)
            return url.flatMap { $0.isHTTP ? $0 : nil }
        }
    }
}
