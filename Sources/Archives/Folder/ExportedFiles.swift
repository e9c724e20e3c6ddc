internal import Digest
internal import Markup
internal import Store
internal import Web

/// The files of an exported folder: the URLs that become files, their names, and the stored responses with their
/// contents.
///
/// The names are chosen from all rows of the snapshot before the first file is written, because links can refer to
/// files that are written later.
final class ExportedFiles {
    private let reader: StoreReader
    private let site: Site
    /// The ID of the snapshot; nil for the live snapshot, or for the overlay or the last snapshot if none is live.
    private let snapshot: Int64?
    private let start: WebURL
    private var names: FolderNames
    private let scanner = LinkScanner()
    private let isExported: (VisibleResponse) -> Bool
    /// Returns a response with the content that is exported, which is the frozen copy of some pages.
    private let exportedForm: (StoredResponse) throws(StoreError) -> StoredResponse
    /// The destinations of links by URL, as a cache that is emptied when it is full.
    private var destinations: [String: Destination] = [:]
    /// Whether scripts load nothing else (`isSelfContained`), by the names of their files, as a cache.
    private var selfContainedScripts: [String: Bool] = [:]

    /// The target of a link in the exported folder.
    enum Destination {
        /// The name of the file.
        case file(String)
        /// No file has the content of the URL.
        case missing
    }

    /// The cache `destinations` is emptied at this size.
    private static let maxCachedDestinations = 100_000
    /// Longer chains of redirects are treated as missing.
    private static let maxRedirects = 10

    /// Reads all URLs of the snapshot, to give each a file name.
    ///
    /// - Parameters:
    ///   - start: the URL of the start page. The files of its origin are not in a folder of their own.
    ///   - content: returns a response with the content that is exported.
    ///   - isExported: whether the export includes a response.
    init(
        _ reader: StoreReader, _ site: Site, asOf snapshot: Int64?, start: WebURL,
        content: @escaping (StoredResponse) throws(StoreError) -> StoredResponse,
        isExported: @escaping (VisibleResponse) -> Bool
    ) throws(ArchiveError) {
        (self.reader, self.site, self.snapshot, self.start) = (reader, site, snapshot, start)
        (self.isExported, exportedForm) = (isExported, content)
        names = FolderNames(start: start)
        try addAllNames()
    }

    /// Chooses all names again, so that URLs which differ only in their queries get different files.
    func renameByQuery() throws(ArchiveError) {
        names = FolderNames(start: start, distinguishesQueries: true)
        destinations = [:]
        selfContainedScripts = [:]
        try addAllNames()
    }

    /// Adds all URLs that become files to `names`.
    private func addAllNames() throws(ArchiveError) {
        var failure: StoreError?
        try ArchiveError.storing { () throws(StoreError) in
            try reader.eachVisibleResponse(ofSite: site.id, asOf: snapshot) { row in
                let isPageRedirect = row.response.isRedirect && row.response.role == 0
                guard Self.isFile(row.response) || isPageRedirect, isExported(row),
                    let url = WebURL(row.response.href)
                else { return true }
                do throws(StoreError) {
                    let body = try exportedForm(row.response).body?.sha256
                    names.add(
                        url, isPageRedirect ? "text/html" : row.response.type, body: body,
                        isRedirect: isPageRedirect)
                } catch {
                    failure = error
                }
                return failure == nil
            }
            if let failure { throw failure }
        }
    }

    /// Whether the response becomes a file by itself.
    static func isFile(_ response: StoredResponse) -> Bool {
        response.request == .get && (200..<300).contains(response.status) && response.body != nil
            && response.flags.isDisjoint(with: [.isCoded, .isPart])
    }

    // MARK: - Names

    /// The name of the file for a URL with this media type.
    func name(of url: WebURL, _ type: String?) -> String { names.name(of: url, type) }

    /// Whether the file of the URL has its preferred name, which no other URL has taken.
    func hasPreferredPath(_ url: WebURL, _ type: String?) -> Bool { names.hasPreferredPath(url, type) }

    /// Whether several URLs with the same content share the file.
    func isShared(_ name: String) -> Bool { names.isShared(name) }

    /// Whether the URL, or the one that it redirects to, becomes a file.
    func hasFile(for target: WebURL) throws(ArchiveError) -> Bool {
        if case .file = try destination(of: target) { true } else { false }
    }

    /// Returns the file for a URL, after redirects.
    func destination(of target: WebURL) throws(ArchiveError) -> Destination {
        let href = target.key.href
        if let known = destinations[href] { return known }
        let resolved = try resolvedResponse(at: target)
        let destination =
            resolved.map { Destination.file(names.name(of: $0.url, $0.response.type)) } ?? .missing
        if destinations.count >= Self.maxCachedDestinations { destinations.removeAll(keepingCapacity: true) }
        destinations[href] = destination
        return destination
    }

    /// Returns the response that becomes a file for the URL, after redirects, with its own URL.
    func resolvedResponse(at target: WebURL) throws(ArchiveError) -> (url: WebURL, response: StoredResponse)?
    {
        var next = target.key
        for _ in 0...Self.maxRedirects {
            guard let stored = try storedResponse(for: next.href) else { return nil }
            if Self.isFile(stored) { return (next, stored) }
            let location = HTTPFields(block: stored.fields.utf8.span)["Location"]
            guard stored.isRedirect, let target = location.flatMap({ WebURL($0, base: next)?.key }) else {
                return nil
            }
            next = target
        }
        return nil
    }

    // MARK: - Stored responses

    /// Returns the response of the snapshot for the URL, if it belongs to this site.
    func storedResponse(for href: String) throws(ArchiveError) -> StoredResponse? {
        let isLive = snapshot == nil && site.published != nil
        let response = try ArchiveError.storing { () throws(StoreError) in
            if isLive { return try reader.response(for: href) }
            let snapshot = snapshot ?? site.overlay ?? site.snapshots.last?.id ?? 0
            return try reader.asOf(snapshot) { () throws(StoreError) in try reader.response(for: href) }
        }
        guard let response else { return nil }
        // Other sites may have stored the URL too, and this site may share their response.
        let belongsToSite =
            site.snapshots.contains { $0.id == response.snapshot }
            || isLive && WebURL(href).map { names.has($0) } ?? false
        guard belongsToSite else { return nil }
        guard isExported(VisibleResponse(response: response, referrer: nil)) else { return nil }
        return try ArchiveError.storing { () throws(StoreError) in try exportedForm(response) }
    }

    /// Whether the URL is stored with an empty body. A ZIM file leaves it out.
    func isEmpty(_ target: WebURL) throws(ArchiveError) -> Bool {
        let stored = try ArchiveError.storing { () throws(StoreError) in
            try reader.response(for: target.key.href)
        }
        return stored?.body?.byteCount == 0
    }

    // MARK: - Contents

    /// Returns the content of a body. Returns nil if it has none.
    func content(of body: StoredBody) throws(ArchiveError) -> BodyContent? {
        try ArchiveError.storing { () throws(StoreError) in try reader.content(of: body) }
    }

    /// Returns the links of a body. Returns nil if they cannot be read.
    func table(of body: StoredBody) throws(ArchiveError) -> LinkTable? {
        try ArchiveError.storing { () throws(StoreError) in
            try scanner.table(stored: try reader.links(of: body), form: body.form) { () throws(StoreError) in
                try reader.content(of: body)?.load()
            }
        }
    }

    /// Returns the URLs of the assets that a browser requested when it rendered the page. Returns nil if no browser
    /// rendered the page, or if the URL has another body.
    func renderedAssets(of url: WebURL, _ body: StoredBody) throws(ArchiveError) -> [String]? {
        try ArchiveError.storing { () throws(StoreError) in
            guard try reader.response(for: url.href, request: .renderedText) != nil,
                let page = try reader.response(for: url.href), page.body?.id == body.id
            else { return nil }
            return try reader.storedLinks(of: page)?.assets
        }
    }

    /// Returns the bytes of a body. Returns nil if it has none.
    func bytes(of body: StoredBody) throws(ArchiveError) -> [UInt8]? {
        try ArchiveError.storing { () throws(StoreError) in try reader.content(of: body)?.load() }
    }

    /// Whether one of the exported bodies of these formats satisfies the condition.
    func anyBody(
        _ formats: [BodyFormat], _ condition: (WebURL, StoredBody) throws(ArchiveError) -> Bool
    ) throws(ArchiveError) -> Bool {
        var (isFound, failure) = (false, ArchiveError?.none)
        try ArchiveError.storing { () throws(StoreError) in
            try reader.eachVisibleResponse(ofSite: site.id, asOf: snapshot) { row in
                guard Self.isFile(row.response), let body = row.response.body,
                    body.byteCount <= BodyReading.maxBytes, let format = BodyFormat(form: body.form),
                    formats.contains(format), isExported(row), let url = WebURL(row.response.href)
                else { return true }
                do throws(ArchiveError) {
                    isFound = try condition(url, body)
                } catch {
                    failure = error
                }
                return !isFound && failure == nil
            }
        }
        if let failure { throw failure }
        return isFound
    }

    /// Names in scripts by which they load something.
    private static let requestNames = ["import", "fetch", "XMLHttpRequest", "WebSocket", "EventSource"]

    /// Whether the target is a script that loads nothing else. Only such a script works as a worker in the folder: it runs from
    /// a `blob:` URL, where no other URL of the site works.
    ///
    /// - Parameter file: the name of its file.
    func isSelfContained(_ target: WebURL, _ file: String) throws(ArchiveError) -> Bool {
        if let known = selfContainedScripts[file] { return known }
        var isSelfContained = false
        if let stored = try resolvedResponse(at: target)?.response, let body = stored.body,
            BodyFormat(form: body.form) == .javaScript, body.byteCount <= FolderModules.maxModuleBytes,
            let bytes = try bytes(of: body)
        {
            isSelfContained = !Self.requestNames.contains { bytes.firstRange(of: Array($0.utf8)) != nil }
        }
        selfContainedScripts[file] = isSelfContained
        return isSelfContained
    }
}
