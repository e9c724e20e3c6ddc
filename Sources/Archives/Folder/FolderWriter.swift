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
/// 1. `init` gives each URL a file name (``ExportedFiles``). It also finds out whether the site's scripts build URLs, or
///    load content that browsers do not load from files (``FolderScriptNeed``). If so, `script` is set, and pages get a
///    script that redirects these requests (``FolderScript``).
/// 2. `write(_:)` is called for each response and writes its file, with rewritten links. It collects which modules and
///    data the scripts load.
/// 3. `finish()` writes the twins of these modules and files, and the files that describe the folder.
///
/// For a ZIM file (`isForZIM`), the files are read by Kiwix and openZIM's tools instead of a browser, with limitations
/// of their own.
final class FolderWriter: ArchiveWriter {
    private let tree: TalliedTree
    /// The files that responses become, with their contents.
    let files: ExportedFiles
    /// The first page.
    let start: WebURL
    /// The names of the written files.
    private var written: Set<String> = []
    /// Assets and frames that pages need and that are not stored, each with a page that needs it.
    private(set) var missing: [String: String] = [:]
    /// URLs that the site lacks because they could not be fetched. The list of missing URLs contains them, too.
    var failed: [ExportReport.FailedURL] = []
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
    /// Whether the files become a ZIM file, which is read without a network. Missing assets then become
    /// empty, and only the site's own files are written.
    let isForZIM: Bool

    /// The maximum sizes of `missing` and `urlsNeedingServer`. Further URLs are not reported.
    private static let maxMissing = 100_000
    /// The maximum size of `fetchedFiles`. Scripts that fetch further files need a server.
    private static let maxFetchedFiles = 10_000
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
        (self.tree, self.start, self.isForZIM) = (TalliedTree(tree), start, isForZIM)
        startURLs = page.map { [$0.key] } ?? site.start.compactMap { WebURL($0)?.key }
        startHere = StartHere(site: page?.href ?? site.name, date: info.date, software: info.software)
        temporary = try ArchiveError.wrapping { () throws(SystemError) in
            try ScratchFolder(named: "larder-export")
        }
        fileList = BodySpool(.inFiles(folder: temporary.path))
        files = try ExportedFiles(
            reader, site, asOf: snapshot, start: start, content: content, isExported: isExported)
        let need = FolderScriptNeed(files: files, isForZIM: isForZIM)
        let scriptCopyKeys = Set(
            ScriptCopies.all(inSettings: try? JSONValue.parse(site.settings.utf8.span))
                .filter { $0.origin == start.origin }.flatMap(\.keys))
        if try scriptCopyKeys.isEmpty ? need.isNeeded() : true {
            // With the script, pages know their URLs, and may show something else for another query. So each query
            // gets a file of its own.
            try files.renameByQuery()
            script = FolderScript(start: start, scriptCopyKeys: scriptCopyKeys.sorted())
            routesByLocation = try need.hasRouter()
        }
        try appendToList(FolderList.header(site: site.name, start: start.key.href))
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

    func write(_ response: ArchivedResponse) throws(ArchiveError) -> Bool {
        guard response.request == .get, let url = WebURL(response.url) else { return false }
        guard let stored = try files.storedResponse(for: url.href) else { return false }
        if stored.isRedirect {
            let file = try writeRedirect(url, stored)
            if case .file(let target) = try files.destination(of: url) {
                script?.add(url, file: target, isPage: stored.role == 0)
            }
            try list(url, response, file: file)
            return file != nil
        }
        if stored.body == nil { try list(url, response, file: nil) }
        // Of several variants, only the one that the store serves is written.
        guard ExportedFiles.isFile(stored), let body = stored.body, let content = response.body?.content,
            body.sha256 == response.body?.sha256.bytes, case .file(let name) = try files.destination(of: url)
        else { return false }
        let isNew = written.insert(name).inserted
        // Several URLs may share a file, but each URL counts once.
        guard isNew || files.isShared(name) && url.href != lastURL else { return false }
        lastURL = url.href
        try list(url, response, file: name)
        script?.add(url, file: name, isPage: stored.role == 0)
        if stored.role == 0 { startHere.pages += 1 }
        guard isNew else { return true }
        if stored.role == 0, !isForZIM { pages[name] = url.href }
        let type = HTTPFields(block: stored.fields.utf8.span).contentType
        let rewritten = try rewrittenContent(content, body, type, url, name)
        try tree.add(name) { (write) throws(ArchiveError) in try rewritten.writePieces(write) }
        if !isForZIM, stored.role == 1, FolderScript.isLikelyFetched(type, byteCount: body.byteCount) {
            try addTwin(of: name, type?.essence == "text/html" ? content : rewritten, type)
        }
        return true
    }

    /// Returns the content with its links rewritten to files.
    private func rewrittenContent(
        _ content: BodyContent, _ body: StoredBody, _ type: MediaType?, _ url: WebURL, _ name: String
    ) throws(ArchiveError) -> BodyContent {
        guard body.byteCount <= BodyReading.maxBytes, let table = try files.table(of: body) else {
            return content
        }
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
            guard let (finalURL, stored) = try files.resolvedResponse(at: url), let body = stored.body,
                let content = try files.content(of: body)
            else { continue }
            let type = HTTPFields(block: stored.fields.utf8.span).contentType
            let isPage = type?.essence == "text/html"
            try addTwin(
                of: name, isPage ? content : rewrittenContent(content, body, type, finalURL, name), type)
        }
    }

    /// Whether the body uses 3D models or workers that browsers do not load from files, or modules and workers
    /// without having the script that loads them.
    private func needsServer(
        _ content: BodyContent, _ table: LinkTable, _ format: BodyFormat, _ url: WebURL
    ) throws(ArchiveError) -> Bool {
        let hasModuleLoader = script != nil && format == .javaScript || hasInsertedScript(table, format, url)
        let known = table.occurrences.filter { !$0.flags.contains(.isGuess) }
        let isRefused = known.contains { occurrence in
            switch occurrence.kind.fileLoading {
            case .never: true
            case .asModule: !hasModuleLoader
            case .direct, .byScript, .asWorker: false
            }
        }
        if isRefused { return true }
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
            || format == .html || format.isPlaylist
            || routesByLocation && format == .javaScript
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
                guard let response = try files.resolvedResponse(at: url)?.response, let body = response.body
                else {
                    return nil
                }
                return try files.bytes(of: body).map { CheckedBody($0, of: response) }
            }
        }
        if isForZIM {
            changes += try ZIMPageFixes.changes(in: source, table, url, base) {
                (target) throws(ArchiveError) in
                try files.hasFile(for: target)
            }
        } else {
            changes += try corsChanges(source, table, base)
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
            let moduleFiles = try addModules(of: source, table, base)
            let importMapChanges = isForZIM ? [] : Self.importMapChanges(in: source, table)
            let tag = FolderScript.tag(
                in: name, of: url, base: base, modules: moduleFiles, hasMap: !importMapChanges.isEmpty)
            changes.append(Patch.Change(offset..<offset, tag))
            changes += importMapChanges + (isForZIM ? [] : try preloadChanges(in: source, table, base))
        }
        let utf8Declaration = isForZIM && format == .html ? ZIMPageFixes.declaringUTF8(source) : []
        changes += utf8Declaration
        if isForZIM, format == .html, let language = ZIMMetadata.language(of: source) {
            languages[language, default: 0] += 1
        }
        if let list = table.isTranscoded ? nil : RenditionList(source.span, format: format) {
            let unstored = try list.unstoredRanges { (reference) throws(ArchiveError) in
                guard let target = WebURL(reference, base: base),
                    case .file = try files.destination(of: target.key)
                else { return false }
                return true
            }
            changes += unstored.map { Patch.Change($0, []) }
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
        if isForZIM, format == .html { ZIMPageFixes.hideLinksInScriptsAndComments(in: &text) }
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
        _ source: [UInt8], _ table: LinkTable, _ base: WebURL
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
                target.isHTTP, case .file = try files.destination(of: target)
            else { continue }
            changes.append(Patch.Change(at: attribute.nameStart, Self.disabledCORSAttribute))
        }
        return changes
    }

    /// Reverses ``corsChanges(_:_:_:)``, for an import.
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

    /// Returns the text that replaces a link, or nil if the link stays as it is. Records missing assets, and URLs that
    /// scripts will fetch.
    private func replacement(
        _ occurrence: LinkOccurrence, _ reference: Span<UInt8>, _ url: WebURL, _ base: WebURL,
        _ table: LinkTable,
        _ name: String
    ) throws(ArchiveError) -> String? {
        if occurrence.kind == .base { return isForZIM ? "#" : "./" }
        let flags = occurrence.flags
        // A folder keeps its place beside the files that are relative to it.
        if occurrence.kind == .codebase, !flags.contains(.namesOrigin) { return nil }
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
        switch try files.destination(of: target) {
        case .file(let file):
            let path = FolderNames.reference(from: name, to: file) + fragment
            // Without a dot at the beginning it would be a bare specifier, which does not resolve.
            return occurrence.kind == .module && !path.hasPrefix(".") ? "./" + path : path
        case .missing:
            let isNeeded = occurrence.kind.isPartOfPage
            if isNeeded, missing.count < Self.maxMissing, try !(isForZIM ? files.isEmpty(target) : false) {
                missing[target.key.href] = missing[target.key.href] ?? url.href
            }
            return isForZIM && isNeeded ? DataURL.empty : target.href
        }
    }

    /// Records a URL that a script of the page or script `url` will fetch.
    private func recordFetchedFile(_ target: WebURL, by url: WebURL) throws(ArchiveError) {
        guard !isForZIM, case .file(let name) = try files.destination(of: target),
            let (_, stored) = try files.resolvedResponse(at: target)
        else { return }
        let canHaveTwin = stored.body.map { $0.byteCount <= FolderScript.maxTwinBytes } ?? false
        guard script != nil, canHaveTwin, fetchedFiles.count < Self.maxFetchedFiles else {
            return recordServerNeed(of: url)
        }
        fetchedFiles[name] = target.key
    }

    // MARK: - Writing files

    func addFile(_ name: String, text: String) throws(ArchiveError) {
        try tree.add(name) { (write) throws(ArchiveError) in try Array(text.utf8).withBytes(write) }
    }

    /// Writes a page that redirects to the target page. Returns its file name, or nil if the target is not a
    /// page or another file has that name.
    private func writeRedirect(_ url: WebURL, _ stored: StoredResponse) throws(ArchiveError) -> String? {
        guard stored.role == 0, case .file(let target) = try files.destination(of: url),
            target.hasSuffix(".html") || target.hasSuffix(".htm")
        else { return nil }
        // Links refer to the target itself. This page only helps people who type its name.
        guard files.hasPreferredPath(url, "text/html") else { return nil }
        let name = files.name(of: url, "text/html")
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

    /// Whether the folder has a list of missing URLs.
    var hasMissingList: Bool { !isForZIM && !(missing.isEmpty && failed.isEmpty) }

    /// The lines of the list of missing URLs: first those that could not be fetched, then the assets that are not stored.
    private var missingLines: [String] {
        let failedLines = failed.map { failure in
            let page = missing[failure.url].map { "; needed by \($0)" } ?? ""
            return "\(failure.url)  could not be fetched: \(failure.reason)\(page)\n"
        }
        let known = Set(failed.map(\.url))
        let assets = missing.filter { !known.contains($0.key) }.sorted { $0.key < $1.key }
        return failedLines + assets.map { "\($0.key)  needed by \($0.value)\n" }
    }

    func finish() throws(ArchiveError) -> [ArchiveFile] {
        // GitHub Pages leaves out names that begin with an underscore unless this file exists.
        if !isForZIM { try addFile(".nojekyll", text: "") }
        if case .file(let file) = try files.destination(of: start), file != FolderNames.index,
            written.insert(FolderNames.index).inserted
        {
            try addFile(FolderNames.index, text: Self.redirectPage(to: file))
        }
        if hasMissingList { try addFile(Self.missingList, text: missingLines.joined()) }
        if !isForZIM {
            try addModuleTwins()
            try addFile(StartHere.name, text: try startPage())
        }
        try addFetchedTwins()
        if let script { try addFile(FolderScript.name, text: script.text) }
        let body = try fileList.finish()
        guard !isForZIM else { return try tree.finish() }
        try tree.add(FolderList.name) { (write) throws(ArchiveError) in try body.content?.writePieces(write) }
        return try tree.finish()
    }

    /// Whether the files on the disk are those that were written.
    func verify() throws(ArchiveError) -> Bool { try tree.verify() }
}
