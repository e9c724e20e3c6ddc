internal import Markup
internal import Store
internal import Web

/// The store as it was before an import. It decides which hosts belong to other sites, and which imported bodies equal
/// stored ones.
struct StoreBeforeImport {
    private let folder: StoreFolder
    private let target: ImportTarget
    /// Opened when it is first needed. It does not see the imported responses.
    private var reader: StoreReader?
    /// The other site that has pages on a host, or nil if none has, as a cache for ``owner(of:)``.
    private var ownerCache: [String: String?] = [:]
    private let scanner = LinkScanner()

    /// The maximum size of `ownerCache`. Further hosts are looked up in the store each time.
    private static let maxCachedOwners = 10_000

    init(_ folder: StoreFolder, _ target: ImportTarget) { (self.folder, self.target) = (folder, target) }

    private mutating func openedReader() throws(StoreError) -> StoreReader {
        if let reader { return reader }
        let opened = try StoreReader(folder)
        reader = opened
        return opened
    }

    /// Returns the other stored site that starts on the host or has pages there, or nil if there is none.
    mutating func owner(of url: WebURL) throws(ArchiveError) -> String? {
        if let site = target.otherSitesByHost[url.host] { return site }
        if let known = ownerCache[url.host] { return known }
        let owner =
            target.ownHosts.contains(url.host)
            ? nil
            : try ArchiveError.storing { () throws(StoreError) -> String? in
                try openedReader().site(withPagesOn: url.host, besides: target.name)
            }
        if ownerCache.count < Self.maxCachedOwners { ownerCache[url.host] = .some(owner) }
        return owner
    }

    /// Returns the stored body for the URL if it differs from the imported one only in how links are spelled.
    /// The page is then unchanged, and the stored spelling is the original one. Large bodies are not compared.
    mutating func equivalentBody(
        for response: ArchivedResponse, _ url: WebURL
    ) throws(StoreError) -> StoredBody? {
        guard response.hasRestoredLinks, case .bytes(let bytes)? = response.body?.content,
            bytes.count <= Limits.maxPackedBodyBytes
        else { return nil }
        let reader = try openedReader()
        guard let stored = try reader.response(for: url.href), stored.status == response.status,
            let body = stored.body, body.byteCount <= Limits.maxPackedBodyBytes,
            let storedBytes = try reader.content(of: body)?.load(), storedBytes != bytes,
            withNormalizedLinks(storedBytes, url, HTTPFields(block: stored.fields.utf8.span).contentType)
                == withNormalizedLinks(bytes, url, response.fields.contentType)
        else { return nil }
        return body
    }

    /// Returns the body with every link as an absolute URL, and without the attributes that an export
    /// overwrites.
    private func withNormalizedLinks(_ bytes: [UInt8], _ url: WebURL, _ type: MediaType?) -> [UInt8] {
        let table = scanner.read(bytes.span, of: url, as: type).table
        let base = table.base.flatMap { WebURL($0, base: url) } ?? url
        let source = table.source(of: bytes.span) ?? bytes
        let changes = Patch.Change.neutralizingPolicies(table, unless: { _ in false }).sorted {
            $0.range.lowerBound < $1.range.lowerBound
        }
        let patch = Patch(source.span, table, changes: changes) { occurrence, reference in
            let flags = occurrence.flags
            if occurrence.kind == .base { return "" }
            guard !flags.contains(.isGuess), !flags.contains(.hasCodebase), occurrence.kind != .name else {
                return nil
            }
            return WebURL(
                utf8: reference, base: flags.contains(.ignoresBase) ? url : base,
                queryEncoding: table.encoding)?.href
        }
        let text = patch.apply(to: source)
        return text.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(text.dropFirst(3)) : text
    }
}
