internal import Digest
internal import Markup
internal import Store
internal import System
internal import Web

/// Writes a site as files that a browser can open without a server. A link to a stored page or asset becomes
/// a relative path to its file, and every other link becomes the absolute URL of the origin. Text is changed
/// further only where files on a disk, or the readers of ZIM files, need it.
///
/// The work has three steps:
///
/// 1. `init` reads the rows of the snapshot and gives each URL a file name (``FolderNames``), because links can refer to
///    files that are written later. It also finds out whether the site's scripts build URLs or load what browsers do not
///    load from files. If so, `script` is set, and pages get a script that redirects these requests (``FolderScript``).
/// 2. `write(_:)` is called for each response and writes its file, with rewritten links. It collects which modules and
///    data the scripts load.
/// 3. `finish()` writes the twins of these modules and files, and the files that describe the folder.
///
/// For a ZIM file (`isForZIM`), the files are read by Kiwix and openZIM's tools instead of a browser, with limitations
/// of their own.
final class FolderWriter: ArchiveWriter {
    private let reader: StoreReader
    private let site: Site
    /// The ID of the snapshot; nil for the live snapshot.
    private let snapshot: Int64?
    private let tree: any FileTree
    /// The first page.
    let start: WebURL
    private let scanner = LinkScanner()
    private var names: FolderNames
    /// The destinations of links by URL, as a cache that is emptied when it is full.
    private var destinations: [String: LinkDestination] = [:]
    /// The sum of the written files.
    private var tally = TreeTally()
    /// The names of the written files.
    private var written: Set<String> = []
    /// Assets and frames that pages need and that are not stored, each with a page that needs it.
    private(set) var missing: [String: String] = [:]
    /// URLs that scripts are known to fetch, by the names of their files.
    private var fetchedFiles: [String: WebURL] = [:]
    /// The URLs of pages and scripts that load content which browsers do not load from files.
    private(set) var urlsNeedingServer: [String] = []
    /// The same URLs, for quick look-up.
    private var knownNeedingServer: Set<String> = []
    /// The modules of the site, for pages that are opened as files.
    var modules = FolderModules()
    /// The scripts that files of pages and scripts load, by the names of the files.
    var scriptsByFile: [String: [String]] = [:]
    /// The modules and workers that classic scripts load, by the names of their files.
    var importsByScript: [String: [String]] = [:]
    /// Whether scripts load nothing else, as a cache by the names of their files.
    var selfContainedScripts: [String: Bool] = [:]
    /// The modules that the module whose twin is being written imports; nil while no twin is written.
    var currentImports: FolderModules.Imports?
    /// The content of the page `START-HERE.html`.
    var startHere: StartHere
    /// The URLs that the site starts with.
    let startURLs: [WebURL]
    /// The pages, by the names of their files.
    var pages: [String: String] = [:]
    /// The URL of the last response that was written to a file.
    private var lastURL = ""
    /// The script at the beginning of pages, for sites whose scripts build URLs. Nil if no script does.
    var script: FolderScript?
    /// Whether scripts route by the URL of the page. Their reads of `location` then receive the original URL.
    private var routesByLocation = false
    /// The number of pages by the language that they declare.
    private(set) var languages: [String: Int] = [:]
    /// The list of files with their URLs, for importing the folder.
    private let fileList: BodySpool
    private let temporary: ScratchFolder
    private let isExported: (VisibleResponse) -> Bool
    /// Returns a response with the content that is exported, which is the frozen copy of some pages.
    private let content: (StoredResponse) throws(StoreError) -> StoredResponse
    /// Whether the files become a ZIM file, which is read without a network. Missing assets then become
    /// empty, and only the site's own files are written.
    let isForZIM: Bool

    /// The target of a link in the exported folder.
    enum LinkDestination {
        /// The name of the file.
        case file(String)
        /// No file has the content of the URL.
        case missing
    }

    /// The cache `destinations` is emptied at this size.
    private static let maxCachedDestinations = 100_000
    /// The maximum sizes of `missing` and `urlsNeedingServer`. Further URLs are not reported.
    private static let maxMissing = 100_000
    /// The maximum size of `fetchedFiles`. Scripts that fetch further files need a server.
    private static let maxFetchedFiles = 10_000
    /// Longer chains of redirects are treated as missing.
    private static let maxRedirects = 10
    static let missingList = "~missing.txt"
    /// The name that replaces `crossorigin` in pages opened from files. It has the same length.
    private static let disabledCORSAttribute: StaticString = "data-origin"

    /// Reads all URLs of the snapshot, to give each a file name.
    ///
    /// - Parameters:
    ///   - start: The only page to export, with its assets; nil for the whole site.
    ///   - isExported: Whether a response goes into the folder.
    init(
        _ tree: any FileTree, _ reader: StoreReader, _ site: Site, asOf snapshot: Int64?, _ info: ArchiveInfo,
        start: WebURL? = nil,
        isForZIM: Bool = false,
        content: @escaping (StoredResponse) throws(StoreError) -> StoredResponse,
        isExported: @escaping (VisibleResponse) -> Bool
    ) throws(ArchiveError) {
        let page = start
        guard let start = start ?? WebURL(site.start.first ?? site.name), start.isHTTP else {
            throw ArchiveError(
                .input, "\(site.name) has no start URL: export it as WARC, WACZ or HAR")
        }
        (self.tree, self.reader, self.site, self.snapshot, self.start) = (tree, reader, site, snapshot, start)
        (self.isExported, self.isForZIM, self.content) = (isExported, isForZIM, content)
        startURLs = page.map { [$0.key] } ?? site.start.compactMap { WebURL($0)?.key }
        startHere = StartHere(site: page?.href ?? site.name, date: info.date, software: info.software)
        temporary = try ArchiveError.wrapping { () throws(SystemError) in
            try ScratchFolder(named: "larder-export")
        }
        fileList = BodySpool(.inFiles(folder: temporary.path))
        names = FolderNames(start: start)
        try addAllNames()
        if try needsScript() {
            // With the script, pages know their URLs, and may show something else for another query. So each query
            // gets a file of its own.
            names = FolderNames(start: start, distinguishesQueries: true)
            try addAllNames()
            destinations = [:]
            selfContainedScripts = [:]
            script = FolderScript(start: start)
            routesByLocation = try anyScript { LocationReads.isRouter($0.span) }
        }
        try appendToList(FolderList.header(site: site.name, start: start.key.href))
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
                    let body = try content(row.response).body?.sha256
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

    private func appendToList(_ text: String) throws(ArchiveError) {
        try Array(text.utf8).withBytes { (bytes) throws(ArchiveError) in try fileList.append(bytes) }
    }

    /// Adds a response to the list of files.
    ///
    /// - Parameter file: The name of its file; nil if it has none.
    private func list(_ url: WebURL, _ response: ArchivedResponse, file: String?) throws(ArchiveError) {
        let line = FolderList.Line(
            url: url.key.href, file: file, status: response.status, fields: response.fields,
            fetched: response.fetched)
        try appendToList(FolderList.encode(line))
    }

    /// Whether the response becomes a file by itself.
    private static func isFile(_ response: StoredResponse) -> Bool {
        response.request == .get && (200..<300).contains(response.status) && response.body != nil
            && response.flags.isDisjoint(with: [.isCoded, .isPart])
    }

    func write(_ response: ArchivedResponse) throws(ArchiveError) -> Bool {
        guard response.request == .get, let url = WebURL(response.url) else { return false }
        guard let stored = try storedResponse(for: url.href) else { return false }
        if stored.isRedirect {
            let file = try writeRedirect(url, stored)
            if case .file(let target) = try destination(of: url) {
                script?.add(url, file: target, isPage: stored.role == 0)
            }
            try list(url, response, file: file)
            return file != nil
        }
        if stored.body == nil { try list(url, response, file: nil) }
        // Of several variants, only the one that the store serves is written.
        guard Self.isFile(stored), let body = stored.body, let content = response.body?.content,
            body.sha256 == response.body?.sha256.bytes, case .file(let name) = try destination(of: url)
        else { return false }
        let isNew = written.insert(name).inserted
        // Several URLs may share a file, but each URL counts once.
        guard isNew || names.isShared(name) && url.href != lastURL else { return false }
        lastURL = url.href
        try list(url, response, file: name)
        script?.add(url, file: name, isPage: stored.role == 0)
        if stored.role == 0 { startHere.pages += 1 }
        guard isNew else { return true }
        if stored.role == 0, !isForZIM { pages[name] = url.href }
        let type = HTTPFields(block: stored.fields.utf8.span).contentType
        let rewritten = try rewrittenContent(content, body, type, url, name)
        try addFile(name) { (write) throws(ArchiveError) in try rewritten.writePieces(write) }
        if !isForZIM, stored.role == 1, FolderScript.isLikelyFetched(type, byteCount: body.byteCount) {
            try addTwin(of: name, type?.essence == "text/html" ? content : rewritten, type)
        }
        return true
    }

    /// Returns the content with its links rewritten to files.
    private func rewrittenContent(
        _ content: BodyContent, _ body: StoredBody, _ type: MediaType?, _ url: WebURL, _ name: String
    ) throws(ArchiveError) -> BodyContent {
        guard body.byteCount <= BodyReading.maxBytes, let table = try table(of: body) else { return content }
        let format = BodyFormat(form: body.form) ?? .opaque
        if try needsServer(content, table, format, url) { recordServerNeed(of: url) }
        // Any module may be imported by a name that a script computes, so each one gets a twin.
        if script != nil, !isForZIM, format == .javaScript {
            let bytes = try ArchiveError.storing { () throws(StoreError) in try content.load() }
            if ModuleReads.isModule(bytes.span) { modules.add(name, url) }
        }
        guard
            needsRewriting(table, format) || mustConvertToUTF8(table, format)
                || EncodingDeclaration.isNeeded(type, table, format)
        else { return content }
        let bytes = try ArchiveError.storing { () throws(StoreError) in try content.load() }
        if !isForZIM, !table.occurrences.isEmpty, format == .html || format == .javaScript {
            scriptsByFile[name] = try scripts(of: bytes, table, url, name)
        }
        return .bytes(try rewriteLinks(bytes, table, url, name, type, format))
    }

    /// Records that the page or script at the URL loads content that browsers do not load from files.
    private func recordServerNeed(of url: WebURL) {
        guard urlsNeedingServer.count < Self.maxMissing, knownNeedingServer.insert(url.href).inserted
        else { return }
        urlsNeedingServer.append(url.href)
    }

    /// Adds a twin: a script that contains the body, for scripts that would fetch the file. Pages are stored
    /// in it unchanged, because the inserted script rewrites the links when a page is put into another one.
    private func addTwin(
        of name: String, _ content: BodyContent, _ type: MediaType?
    ) throws(ArchiveError) {
        guard script?.hasTwin(name) == false else { return }
        let bytes = try ArchiveError.storing { () throws(StoreError) in try content.load() }
        guard let twin = script?.twin(of: name, bytes, type) else { return }
        try addFile(twin.name, text: twin.text)
    }

    /// Adds twins for all URLs that scripts are known to fetch, whatever their type.
    private func addFetchedTwins() throws(ArchiveError) {
        for (name, url) in fetchedFiles.sorted(by: { $0.key < $1.key }) {
            guard let (finalURL, stored) = try resolvedResponse(at: url), let body = stored.body,
                let content = try ArchiveError.storing({ () throws(StoreError) in
                    try reader.content(of: body)
                })
            else { continue }
            let type = HTTPFields(block: stored.fields.utf8.span).contentType
            let isPage = type?.essence == "text/html"
            try addTwin(
                of: name, isPage ? content : rewrittenContent(content, body, type, finalURL, name), type)
        }
    }

    /// Returns the response of the snapshot for the URL, if it belongs to this site.
    private func storedResponse(for href: String) throws(ArchiveError) -> StoredResponse? {
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
        return try ArchiveError.storing { () throws(StoreError) in try content(response) }
    }

    /// Returns the links of a body. Returns nil if they cannot be read.
    func table(of body: StoredBody) throws(ArchiveError) -> LinkTable? {
        try ArchiveError.storing { () throws(StoreError) in
            try scanner.table(stored: try reader.links(of: body), form: body.form) { () throws(StoreError) in
                try reader.content(of: body)?.load()
            }
        }
    }

    /// Whether the body uses 3D models or workers that browsers do not load from files, or modules and workers
    /// without having the script that loads them.
    private func needsServer(
        _ content: BodyContent, _ table: LinkTable, _ format: BodyFormat, _ url: WebURL
    ) throws(ArchiveError) -> Bool {
        let hasModuleLoader = script != nil && format == .javaScript || hasInsertedScript(table, format, url)
        let known = table.occurrences.filter { !$0.flags.contains(.isGuess) }
        if known.contains(where: { $0.kind == .model || $0.kind == .module && !hasModuleLoader }) {
            return true
        }
        guard
            table.occurrences.contains(where: { $0.kind == .worker })
                || table.notes.contains(where: { $0.kind == .address && $0.link == .worker })
        else { return false }
        let bytes = try ArchiveError.storing { () throws(StoreError) in try content.load() }
        return try hasUnsupportedWorker(bytes, table, url, hasModuleLoader: hasModuleLoader)
    }

    /// Whether the page gets the script of ``FolderScript``.
    func hasInsertedScript(_ table: LinkTable, _ format: BodyFormat, _ url: WebURL) -> Bool {
        scriptOffset(table, format, url) != nil
    }

    /// Returns the offset at which a page gets the script of ``FolderScript``. Returns nil for parts of pages, which
    /// scripts insert into other pages.
    private func scriptOffset(_ table: LinkTable, _ format: BodyFormat, _ url: WebURL) -> Int? {
        guard script != nil, url.origin == start.origin, format == .html else { return nil }
        // A part of a page has no document type either, but no modules.
        let canLackDoctype = !isForZIM && table.occurrences.contains { $0.kind == .module }
        return table.marks.first { $0.kind == .start || canLackDoctype && $0.kind == .startOfFragment }?
            .offset
    }

    /// Whether the text of the body may change.
    private func needsRewriting(_ table: LinkTable, _ format: BodyFormat) -> Bool {
        !table.occurrences.isEmpty || !table.marks.isEmpty || table.isTranscoded
            || format == .html || routesByLocation && format == .javaScript
    }

    // MARK: - URLs that scripts build

    /// Whether scripts of the site load URLs that begin at the root of the site, or fetch files, which
    /// browsers do not allow. The pages then need the script of `FolderScript`.
    private func needsScript() throws(ArchiveError) -> Bool {
        try anyBody([.javaScript, .html]) { (url, body) throws(ArchiveError) in
            guard let table = try table(of: body) else { return false }
            if try requestsUnnamedURL(url, body, table) { return true }
            let hasImpliedRootPath = table.implied.contains {
                !$0.flags.contains(.isGuess) && $0.reference.hasPrefix("/")
            }
            if hasImpliedRootPath { return true }
            let scriptLinks = table.occurrences.filter {
                [.data, .module, .worker].contains($0.kind) || $0.flags.contains(.isGuess)
            }
            guard !scriptLinks.isEmpty, let bytes = try bytes(of: body) else { return false }
            let source = table.source(of: bytes.span) ?? bytes
            let base = table.base.flatMap { WebURL($0, base: url) } ?? url
            for occurrence in scriptLinks {
                let reference = table.reference(occurrence, in: source.span)
                if try linkNeedsScript(reference, occurrence, base) { return true }
            }
            return false
        }
    }

    /// Whether a browser that rendered the page requested a stored URL that the page does not name.
    private func requestsUnnamedURL(
        _ url: WebURL, _ body: StoredBody, _ table: LinkTable
    ) throws(ArchiveError) -> Bool {
        guard body.form.hasPrefix("html") else { return false }
        let links = try ArchiveError.storing { () throws(StoreError) -> StoredLinks? in
            guard try reader.response(for: url.href, request: .renderedText) != nil,
                let page = try reader.response(for: url.href), page.body?.id == body.id
            else { return nil }
            return try reader.storedLinks(of: page)
        }
        guard let assets = links?.assets, !assets.isEmpty, let bytes = try bytes(of: body) else {
            return false
        }
        let source = table.source(of: bytes.span) ?? bytes
        let base = table.base.flatMap { WebURL($0, base: url) } ?? url
        var named = Set(
            table.occurrences.compactMap {
                let reference = table.reference($0, in: source.span)
                return WebURL(utf8: reference.span, base: base, queryEncoding: table.encoding)?.key.href
            })
        named.formUnion(table.implied.compactMap { WebURL($0.reference, base: base)?.key.href })
        for href in assets where !named.contains(href) {
            guard let target = WebURL(href), case .file = try destination(of: target) else { continue }
            return true
        }
        return false
    }

    /// Whether a link in a script works only with the script of `FolderScript`: it refers to a stored file, which
    /// browsers would not find or not load.
    private func linkNeedsScript(
        _ reference: [UInt8], _ occurrence: LinkOccurrence, _ base: WebURL
    ) throws(ArchiveError) -> Bool {
        guard reference.first.map({ $0 != UInt8(ascii: "#") }) ?? false,
            let target = WebURL(utf8: reference.span, base: base), target.isHTTP
        else { return false }
        if occurrence.kind == .worker || occurrence.kind == .module && !occurrence.flags.contains(.isGuess) {
            guard !isForZIM, case .file(let name) = try destination(of: target) else { return false }
            return occurrence.kind == .module ? true : try isSelfContained(target, name)
        }
        let isRootPath = occurrence.flags.contains(.isGuess) && reference.first == UInt8(ascii: "/")
        let isFetched = !isForZIM && (occurrence.kind == .data || target.path.hasSuffix(".json"))
        guard isRootPath || isFetched, case .file(let name) = try destination(of: target) else {
            return false
        }
        return occurrence.kind == .data || !name.hasSuffix(".html") && !name.hasSuffix(".htm")
    }

    /// Whether one of the exported scripts satisfies the condition.
    private func anyScript(_ condition: ([UInt8]) -> Bool) throws(ArchiveError) -> Bool {
        try anyBody([.javaScript]) { (_, body) throws(ArchiveError) in
            try bytes(of: body).map(condition) ?? false
        }
    }

    func bytes(of body: StoredBody) throws(ArchiveError) -> [UInt8]? {
        try ArchiveError.storing { () throws(StoreError) in try reader.content(of: body)?.load() }
    }

    /// Whether one of the exported bodies of these formats satisfies the condition.
    private func anyBody(
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

    // MARK: - Links

    /// Returns the text of a body with links to files, and with the other changes that browsers or ZIM tools need.
    ///
    /// - Parameter name: The name of the file.
    func rewriteLinks(
        _ bytes: [UInt8], _ table: LinkTable, _ url: WebURL, _ name: String, _ type: MediaType?,
        _ format: BodyFormat
    ) throws(ArchiveError) -> [UInt8] {
        let source = table.source(of: bytes.span) ?? bytes
        let base = table.base.flatMap { WebURL($0, base: url) } ?? url
        var failure: ArchiveError?
        var changes = try Patch.Change.neutralizingPolicies(table) { (mark) throws(ArchiveError) in
            try table.hasBrokenIntegrity(mark, in: source, base: base) { (url) throws(ArchiveError) in
                guard let response = try resolvedResponse(at: url)?.response, let body = response.body else {
                    return nil
                }
                return try self.bytes(of: body).map { CheckedBody($0, of: response) }
            }
        }
        if isForZIM {
            changes += try zimChanges(source, table, url, base)
        } else {
            changes += try corsChanges(source, table, url, base)
        }
        if !isForZIM, EncodingDeclaration.isNeeded(type, table, format) {
            changes += EncodingDeclaration.changes(in: source, type, table, format)
        }
        if routesByLocation, format == .javaScript { changes += LocationReads.changes(in: source.span) }
        if currentImports != nil
            || script != nil && !isForZIM && format == .javaScript && Self.callsModules(source, table)
        {
            changes += ModuleReads.changes(in: source.span, named: name)
        }
        if let offset = scriptOffset(table, format, url) {
            let moduleFiles = try addModules(of: source, table, url, base)
            let importMapChanges = isForZIM ? [] : Self.importMapChanges(in: source, table)
            let tag = FolderScript.tag(
                in: name, of: url, base: base, modules: moduleFiles, hasMap: !importMapChanges.isEmpty)
            changes.append(Patch.Change(offset..<offset, tag))
            changes += importMapChanges + (isForZIM ? [] : try preloadChanges(in: source, table, base))
        }
        let utf8Declaration = isForZIM && format == .html ? Self.declaringUTF8(source) : []
        changes += utf8Declaration
        if isForZIM, format == .html, let language = ZIMMetadata.language(of: source) {
            languages[language, default: 0] += 1
        }
        changes.sort { $0.range.lowerBound < $1.range.lowerBound }
        let patch = Patch(source.span, table, changes: changes) { occurrence, reference in
            guard failure == nil else { return nil }
            do throws(ArchiveError) {
                let text = try replacement(occurrence, reference, url, base, table, name)
                return try moduleReplacement(
                    occurrence, reference, in: source, url, base, table, name, format) ?? text
            } catch {
                failure = error
                return nil
            }
        }
        if let failure { throw failure }
        var text = patch.apply(to: source)
        let isConverted = mustConvertToUTF8(table, format)
        if isConverted { text = table.encoding.decode(text.span) }
        if isForZIM, format == .html { ZIMCheckFixes.hideLinksInScriptsAndComments(in: &text) }
        // The response headers that named the encoding are missing from a file, so a byte order mark replaces
        // them.
        let isUTF8 = table.isTranscoded || table.encoding == .utf8 || isConverted
        let hasByteOrderMark = text.starts(with: [0xEF, 0xBB, 0xBF])
        let needsByteOrderMark =
            isUTF8 && !hasByteOrderMark && utf8Declaration.isEmpty && (format == .html || isConverted)
            && text.contains { $0 >= 0x80 }
        return needsByteOrderMark ? [0xEF, 0xBB, 0xBF] + text : text
    }

    /// Renames the attribute `crossorigin` of links to files, because browsers do not load files with CORS.
    private func corsChanges(
        _ source: [UInt8], _ table: LinkTable, _ url: WebURL, _ base: WebURL
    ) throws(ArchiveError) -> [Patch.Change] {
        var changes: [Patch.Change] = []
        for occurrence in table.occurrences where occurrence.flags.contains(.isCORS) {
            guard occurrence.context.levels == 1,
                let tag = EnclosingTag(
                    around: occurrence.range, in: source, mustBeWholeValue: occurrence.context.inner == .plain
                ),
                let attribute = tag.attributes.first(where: { $0.name == "crossorigin" }),
                changes.last?.range.lowerBound != attribute.nameStart,
                let target = WebURL(
                    utf8: table.reference(occurrence, in: source.span).span, base: base,
                    queryEncoding: table.encoding),
                target.isHTTP, case .file = try destination(of: target)
            else { continue }
            changes.append(Patch.Change(at: attribute.nameStart, Self.disabledCORSAttribute))
        }
        return changes
    }

    /// Reverses ``corsChanges(_:_:_:_:)``, for an import.
    static func restoringCORS(_ source: [UInt8], _ table: LinkTable) -> [Patch.Change] {
        var changes: [Patch.Change] = []
        for occurrence in table.occurrences where occurrence.context.levels == 1 {
            guard
                let tag = EnclosingTag(
                    around: occurrence.range, in: source, mustBeWholeValue: occurrence.context.inner == .plain
                ),
                !tag.attributes.contains(where: { $0.name == "crossorigin" }),
                let attribute = tag.attributes.first(where: { $0.name == "\(disabledCORSAttribute)" }),
                changes.last?.range.lowerBound != attribute.nameStart
            else { continue }
            changes.append(Patch.Change(at: attribute.nameStart, "crossorigin"))
        }
        return changes
    }

    /// Whether the text must be converted to UTF-8. Kiwix reads all text as UTF-8, and inserts UTF-8 into
    /// pages.
    private func mustConvertToUTF8(_ table: LinkTable, _ format: BodyFormat) -> Bool {
        isForZIM && !table.isTranscoded && table.encoding != .utf8 && format != .opaque
    }

    /// Declares UTF-8 in a `meta` element in front of the page's own declaration. It replaces a byte order
    /// mark, because openZIM's indexer finds no title behind one.
    private static func declaringUTF8(_ source: [UInt8]) -> [Patch.Change] {
        // Text in ISO-2022-JP is ASCII with escape sequences.
        guard source.contains(where: { $0 >= 0x80 || $0 == 0x1B }),
            let place = BodyFormat.html.headOffset(in: source.span)
        else { return [] }
        let hasByteOrderMark = source.starts(with: [0xEF, 0xBB, 0xBF])
        return (hasByteOrderMark ? [Patch.Change(0..<3, [])] : [])
            + [Patch.Change(place..<place, Array("<meta charset=\"utf-8\">".utf8))]
    }

    /// Disables refreshes that are delayed, or whose target is missing or the page itself. A ZIM writer would
    /// treat the page as a redirect and drop its text. Also applies the other changes that ZIM tools need.
    private func zimChanges(
        _ source: [UInt8], _ table: LinkTable, _ url: WebURL, _ base: WebURL
    ) throws(ArchiveError) -> [Patch.Change] {
        var changes: [Patch.Change] = []
        for occurrence in table.occurrences where occurrence.kind == .refresh {
            guard let tag = EnclosingTag(around: occurrence.range, in: source, mustBeWholeValue: false),
                let pragma = tag.attributes.first(where: { $0.name == "http-equiv" })?.valueRange,
                let content = tag.value(of: "content", in: source)
            else { continue }
            let reference = table.reference(occurrence, in: source.span)
            if let target = WebURL(utf8: reference.span, base: base), target.isHTTP, target.key != url.key,
                case .file = try destination(of: target), content.drop(while: { $0 == " " }).hasPrefix("0")
            {
                changes += Self.removingRefreshQuotes(occurrence.range, in: source, tag)
                continue
            }
            changes.append(Patch.Change(pragma, Array("ignored".utf8)))
        }
        let trimming = Self.trimmingLinks(source, table).filter { change in
            !changes.contains { $0.range.overlaps(change.range) }
        }
        return changes + trimming + Self.fillingEmptyLinks(source)
    }

    /// Removes the quotes in `0; url='next.html'`, because zimwriterfs takes them for a part of the file
    /// name.
    private static func removingRefreshQuotes(_ link: Range<Int>, in source: [UInt8], _ tag: EnclosingTag)
        -> [Patch.Change]
    {
        guard let value = tag.attribute(at: link.lowerBound)?.valueRange, value.lowerBound < link.lowerBound,
            let mark = source[value.lowerBound..<link.lowerBound].last(where: { $0 > 0x20 }),
            [0x22, 0x27].contains(mark),
            let open = source[value.lowerBound..<link.lowerBound].lastIndex(of: mark)
        else { return [] }
        // Browsers ignore everything after the closing quote.
        return [open..<link.lowerBound, link.upperBound..<value.upperBound].filter { !$0.isEmpty }
            .map { Patch.Change($0, []) }
    }

    /// Removes white space around links, because `zimcheck` takes it for a part of the link.
    private static func trimmingLinks(_ source: [UInt8], _ table: LinkTable) -> [Patch.Change] {
        var changes: [Patch.Change] = []
        for occurrence in table.occurrences where occurrence.context.levels == 1 {
            let link = occurrence.range
            guard let open = source[..<link.lowerBound].lastIndex(where: { $0 > 0x20 }),
                let close = source[link.upperBound...].firstIndex(where: { $0 > 0x20 }),
                source[open] == source[close], [0x22, 0x27].contains(source[open])
            else { continue }
            for space in [open + 1..<link.lowerBound, link.upperBound..<close] where !space.isEmpty {
                changes.append(Patch.Change(space, []))
            }
        }
        return changes
    }

    /// Replaces empty links to the page itself by `#`, because `zimcheck` reports them as errors.
    private static func fillingEmptyLinks(_ source: [UInt8]) -> [Patch.Change] {
        let empty = Array("href=\"\"".utf8)
        var changes: [Patch.Change] = []
        var isInTag = false
        for (offset, byte) in source.enumerated() {
            if byte == UInt8(ascii: "<") || byte == UInt8(ascii: ">") { isInTag = byte == UInt8(ascii: "<") }
            guard isInTag, byte | 0x20 == UInt8(ascii: "h"), offset > 0, source[offset - 1] <= 0x20,
                source[offset...].starts(with: empty)
            else { continue }
            let valueStart = offset + empty.count - 1
            changes.append(Patch.Change(valueStart..<valueStart, [UInt8(ascii: "#")]))
        }
        return changes
    }

    /// Returns the text that replaces a link, or nil if the link stays as it is. Records missing assets, and URLs that
    /// scripts will fetch.
    private func replacement(
        _ occurrence: LinkOccurrence, _ reference: Span<UInt8>, _ url: WebURL, _ base: WebURL,
        _ table: LinkTable,
        _ name: String
    ) throws(ArchiveError) -> String? {
        if occurrence.kind == .base { return isForZIM ? "#" : "./" }
        let flags = occurrence.flags
        // A guess may not be a URL, and changing it could break the script.
        guard !flags.contains(.isGuess), !flags.contains(.hasCodebase), occurrence.kind != .name else {
            if flags.contains(.isGuess), let target = WebURL(utf8: reference, base: base), target.isHTTP,
                occurrence.kind == .data || target.path.hasSuffix(".json")
            {
                try recordFetchedFile(target, by: url)
            }
            return nil
        }
        let target = WebURL(
            utf8: reference, base: flags.contains(.ignoresBase) ? url : base, queryEncoding: table.encoding)
        guard let target, target.isHTTP else { return nil }
        if flags.contains(.isFragment), table.base == nil { return nil }
        if occurrence.kind == .data { try recordFetchedFile(target, by: url) }
        let fragment = target.fragment.map { "#" + $0 } ?? ""
        switch try destination(of: target) {
        case .file(let file):
            let path = FolderNames.reference(from: name, to: file) + fragment
            // Without a dot at the beginning it would be a bare specifier, which does not resolve.
            return occurrence.kind == .module && !path.hasPrefix(".") ? "./" + path : path
        case .missing:
            let isNeeded = occurrence.role == .asset || occurrence.kind == .frame
            if isNeeded, missing.count < Self.maxMissing, try !isEmpty(target) {
                missing[target.key.href] = missing[target.key.href] ?? url.href
            }
            return isForZIM && isNeeded ? DataURL.empty : target.href
        }
    }

    /// Records a URL that a script of the page or script `url` will fetch.
    private func recordFetchedFile(_ target: WebURL, by url: WebURL) throws(ArchiveError) {
        guard !isForZIM, case .file(let name) = try destination(of: target),
            let (_, stored) = try resolvedResponse(at: target)
        else { return }
        let canHaveTwin = stored.body.map { $0.byteCount <= FolderScript.maxTwinBytes } ?? false
        guard script != nil, canHaveTwin, fetchedFiles.count < Self.maxFetchedFiles else {
            return recordServerNeed(of: url)
        }
        fetchedFiles[name] = target.key
    }

    /// Whether the target is stored but was left out because its body is empty.
    private func isEmpty(_ target: WebURL) throws(ArchiveError) -> Bool {
        guard isForZIM else { return false }
        let stored = try ArchiveError.storing { () throws(StoreError) in
            try reader.response(for: target.key.href)
        }
        return stored?.body?.byteCount == 0
    }

    /// Returns the file for a URL, after redirects.
    func destination(of target: WebURL) throws(ArchiveError) -> LinkDestination {
        let href = target.key.href
        if let known = destinations[href] { return known }
        let resolved = try resolvedResponse(at: target)
        let destination =
            resolved.map { LinkDestination.file(names.name(of: $0.url, $0.response.type)) } ?? .missing
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

    // MARK: - Writing files

    /// Writes a file.
    ///
    /// - Parameter writeContent: Passes the content in pieces to its argument.
    private func addFile(
        _ name: String,
        _ writeContent: ((UnsafeRawBufferPointer) throws(ArchiveError) -> Void) throws(ArchiveError) -> Void
    ) throws(ArchiveError) {
        try tree.begin(name)
        var digest = DigestStream(.sha256)
        try writeContent { (bytes) throws(ArchiveError) in
            digest.update(Span(_unsafeElements: bytes.assumingMemoryBound(to: UInt8.self)))
            try tree.write(bytes)
        }
        try tree.end()
        tally.add(name, digest.finish())
    }

    func addFile(_ name: String, text: String) throws(ArchiveError) {
        try addFile(name) { (write) throws(ArchiveError) in try Array(text.utf8).withBytes(write) }
    }

    /// Writes a page that redirects to the target page. Returns its file name, or nil if the target is not a
    /// page or another file has that name.
    private func writeRedirect(_ url: WebURL, _ stored: StoredResponse) throws(ArchiveError) -> String? {
        guard stored.role == 0, case .file(let target) = try destination(of: url),
            target.hasSuffix(".html") || target.hasSuffix(".htm")
        else { return nil }
        // Links refer to the target itself. This page only helps people who type its name.
        guard names.hasPreferredPath(url, "text/html") else { return nil }
        let name = names.name(of: url, "text/html")
        guard name != target, written.insert(name).inserted else { return nil }
        try addFile(name, text: Self.redirectPage(to: FolderNames.reference(from: name, to: target)))
        return name
    }

    private static func redirectPage(to reference: String) -> String {
        """
        <!doctype html><meta charset="utf-8"><title>Moved</title><meta http-equiv="refresh" content="0; url=\(reference)">
        <a href="\(reference)">Moved</a>

        """
    }

    func finish() throws(ArchiveError) -> [ArchiveFile] {
        // GitHub Pages leaves out names that begin with an underscore unless this file exists.
        if !isForZIM { try addFile(".nojekyll", text: "") }
        if case .file(let file) = try destination(of: start), file != FolderNames.index,
            written.insert(FolderNames.index).inserted
        {
            try addFile(FolderNames.index, text: Self.redirectPage(to: file))
        }
        if !missing.isEmpty, !isForZIM {
            let lines = missing.sorted { $0.key < $1.key }.map { "\($0.key)  needed by \($0.value)\n" }
            try addFile(Self.missingList, text: lines.joined())
        }
        if !isForZIM {
            try addModuleTwins()
            try addFile(StartHere.name, text: try startPage())
        }
        try addFetchedTwins()
        if let script { try addFile(FolderScript.name, text: script.text) }
        let body = try fileList.finish()
        guard !isForZIM else { return try tree.finish() }
        try addFile(FolderList.name) { (write) throws(ArchiveError) in try body.content?.writePieces(write) }
        return try tree.finish()
    }

    /// Whether the files on the disk are those that were written.
    func verify() throws(ArchiveError) -> Bool {
        var readTally = TreeTally()
        try tree.eachFile { readTally.add($0, $1) }
        return readTally == tally
    }
}

/// A digest of the names and contents of files: their number and the sum of their digests. It does not depend on the
/// order of the files.
private struct TreeTally: Equatable {
    private var count = 0
    private var sum: UInt64 = 0

    mutating func add(_ name: String, _ content: Digest) {
        count += 1
        let digest = DigestStream.digest(.sha256, of: Array("\(name)\n\(content.hex)".utf8).span)
        sum = sum &+ digest.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
