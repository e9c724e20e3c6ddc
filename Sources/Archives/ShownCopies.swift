internal import Digest
internal import Markup
internal import Store
internal import Web

/// Finds the responses of a snapshot, for exports that assemble a page from its assets. It belongs
/// to one thread.
final class ShownCopies {
    /// A body, and the address that has it in the end.
    struct Copy {
        let url: WebURL
        let response: StoredResponse
        let body: StoredBody

        var format: BodyFormat { BodyFormat(form: body.form) ?? .opaque }
        /// As its server said.
        var type: MediaType? { HTTPFields(block: response.fields.utf8.span).contentType }
    }

    private let reader: StoreReader
    /// Nil for what readers see now.
    private let snapshot: Int64?
    private let plan: ExportPlan
    private let scanner = LinkScanner()
    /// Addresses whose bodies are not what came.
    private(set) var damaged: Set<String> = []
    /// What was fetched with credentials, and may not go out.
    private(set) var leftOutPrivate: Set<String> = []
    private(set) var leftOutByPattern: Set<String> = []

    private static let mostRedirects = 10

    init(_ plan: ExportPlan, _ reader: StoreReader) {
        let site = plan.site
        self.reader = reader
        snapshot = plan.snapshot ?? (site.published == nil ? site.overlay ?? site.snapshots.last?.id : nil)
        self.plan = plan
    }

    /// What stands at an address, be it by way of redirects; nil where nothing is held.
    func copy(at url: WebURL) throws(ArchiveError) -> Copy? {
        guard let last = try way(to: url).last, let body = last.body, (200..<300).contains(last.status),
            last.flags.isDisjoint(with: [.isCoded, .isPart]), let end = WebURL(last.href)
        else { return nil }
        return Copy(url: end, response: last, body: body)
    }

    /// The redirects to it, and what stands at their end.
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
        return found
    }

    /// Nil where the bytes are not those that came.
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

    /// The bytes of what stands at an address.
    func bytes(at url: WebURL) throws(ArchiveError) -> [UInt8]? {
        try copy(at: url).flatMap { (copy) throws(ArchiveError) in try bytes(of: copy) }
    }

    /// Nil where nobody looks into it.
    func table(of copy: Copy) throws(ArchiveError) -> LinkTable? {
        guard copy.body.byteCount <= BodyReading.byteLimit else { return nil }
        return try ArchiveError.storing { () throws(StoreError) in
            try scanner.table(stored: try reader.links(of: copy.body), form: copy.body.form) {
                () throws(StoreError) in
                try reader.content(of: copy.body)?.load()
            }
        }
    }

    /// What a body needs, by the links that the store keeps: with what it asked for when a browser showed it.
    /// Where it keeps none the body is looked into.
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
