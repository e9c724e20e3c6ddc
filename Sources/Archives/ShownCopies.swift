internal import Digest
internal import Markup
internal import Store
internal import Web

/// Finds the responses of a snapshot for exports that assemble a page from its assets. An instance is used by
/// one thread.
final class ShownCopies {
    /// A stored body with its URL after redirects.
    struct Copy {
        let url: WebURL
        let response: StoredResponse
        let body: StoredBody

        var format: BodyFormat { BodyFormat(form: body.form) ?? .opaque }
        /// The media type from the response headers.
        var type: MediaType? { HTTPFields(block: response.fields.utf8.span).contentType }
    }

    private let reader: StoreReader
    /// The ID of the snapshot; nil for the live snapshot.
    private let snapshot: Int64?
    private let plan: ExportPlan
    private let scanner = LinkScanner()
    /// The URLs whose stored bodies are damaged.
    private(set) var damaged: Set<String> = []
    /// The URLs of pages for which their frozen copies were returned.
    private(set) var frozen: Set<String> = []
    /// The URLs that were left out because they were fetched with credentials.
    private(set) var leftOutPrivate: Set<String> = []
    private(set) var leftOutByPattern: Set<String> = []

    private static let mostRedirects = 10

    init(_ plan: ExportPlan, _ reader: StoreReader) {
        let site = plan.site
        self.reader = reader
        snapshot = plan.snapshot ?? (site.published == nil ? site.overlay ?? site.snapshots.last?.id : nil)
        self.plan = plan
    }

    /// Returns the stored body for a URL, after redirects. Returns nil for a miss.
    func copy(at url: WebURL) throws(ArchiveError) -> Copy? {
        guard let last = try way(to: url).last, let body = last.body, (200..<300).contains(last.status),
            last.flags.isDisjoint(with: [.isCoded, .isPart]), let end = WebURL(last.href)
        else { return nil }
        return Copy(url: end, response: last, body: body)
    }

    /// Returns the redirects from a URL and the response at their end.
    func way(to url: WebURL) throws(ArchiveError) -> [StoredResponse] {
        var way: [StoredResponse] = []
        var next = url.key
        while way.count <= Self.mostRedirects, let response = try held(next) {
            way.append(response)
            let location = HTTPFields(block: response.fields.utf8.span)["Location"]
            guard response.isRedirect, let further = location.flatMap({ WebURL($0, base: next)?.key }) else {
                break
            }
            next = further
        }
        return way
    }

    private func held(_ url: WebURL) throws(ArchiveError) -> StoredResponse? {
        let found = try ArchiveError.storing { () throws(StoreError) in
            guard let snapshot else { return try reader.response(for: url.href) }
            return try reader.asOf(snapshot) { () throws(StoreError) in try reader.response(for: url.href) }
        }
        guard let found else { return nil }
        guard plan.mayContain(url, isPrivate: found.flags.contains(.isPrivate)) else {
            leftOutPrivate.insert(url.href)
            return nil
        }
        guard plan.isWanted(url) else {
            leftOutByPattern.insert(url.href)
            return nil
        }
        let exported = try ArchiveError.storing { () throws(StoreError) in
            try plan.exported(found, reader)
        }
        if exported.body != found.body { frozen.insert(url.href) }
        return exported
    }

    /// Returns the bytes of a body. Returns nil if it is damaged.
    func bytes(of copy: Copy) throws(ArchiveError) -> [UInt8]? {
        let bytes = try ArchiveError.storing { () throws(StoreError) in
            try reader.content(of: copy.body)?.load()
        }
        guard let bytes, DigestStream.digest(.sha256, of: bytes.span).bytes == copy.body.sha256 else {
            damaged.insert(copy.url.href)
            return nil
        }
        return bytes
    }

    /// Returns the bytes of the stored body for a URL, after redirects.
    func bytes(at url: WebURL) throws(ArchiveError) -> [UInt8]? {
        try copy(at: url).flatMap { (copy) throws(ArchiveError) in try bytes(of: copy) }
    }

    /// Returns the links of a body. Returns nil if the body is too large to be scanned.
    func table(of copy: Copy) throws(ArchiveError) -> LinkTable? {
        guard copy.body.byteCount <= BodyReading.byteLimit else { return nil }
        return try ArchiveError.storing { () throws(StoreError) in
            try scanner.table(stored: try reader.links(of: copy.body), form: copy.body.form) {
                () throws(StoreError) in
                try reader.content(of: copy.body)?.load()
            }
        }
    }

    /// Returns the assets of a body by the stored links, which include requests that were made when a browser
    /// rendered the page. Scans the body if no links are stored.
    func assets(of copy: Copy) throws(ArchiveError) -> [WebURL] {
        let links = try ArchiveError.storing { () throws(StoreError) in
            try reader.storedLinks(of: copy.response)
        }
        if let links { return (links.assets + links.guesses).compactMap { WebURL($0) } }
        guard let table = try table(of: copy), !table.occurrences.isEmpty, let bytes = try bytes(of: copy)
        else {
            return []
        }
        let source = table.source(of: bytes.span) ?? bytes
        let base = table.base.flatMap { WebURL($0, base: copy.url) } ?? copy.url
        return table.occurrences.compactMap { occurrence in
            guard occurrence.role == .asset || occurrence.kind == .frame else { return nil }
            let reference = table.reference(occurrence, in: source.span)
            let url = WebURL(utf8: reference.span, base: base, queryEncoding: table.encoding)
            return url.flatMap { $0.isHTTP ? $0 : nil }
        }
    }
}
