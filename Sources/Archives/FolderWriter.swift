internal import Digest
internal import Markup
internal import Store
internal import System
internal import Web

/// Writes a site as files that a browser can open without a server. A link to a stored page or asset becomes
/// a relative path to its file, and every other link becomes the absolute URL of the origin. Text is changed
/// further only where files on a disk, or the readers of ZIM files, need it.
final class FolderWriter: ArchiveWriter {
    private let reader: StoreReader
    private let site: Site
    private let snapshot: Int64?
    private let tree: any FileTree
    let start: WebURL
    private let scanner = LinkScanner()
    private var names: FolderNames
    /// A cache of the places that links refer to, emptied when it is full.
    private var places: [String: Place] = [:]
    private var tally = TreeTally()
    private var written: Set<String> = []
    /// Assets and frames that pages need and that are not stored, each with a page that needs it.
    private(set) var missing: [String: String] = [:]
    /// URLs that scripts are known to fetch, by the names of their files.
    private var asked: [String: WebURL] = [:]
    /// The URLs of pages and scripts that load content which browsers do not load from files.
    private(set) var wantServer: [String] = []
    private var wanting: Set<String> = []
    /// The modules of the site, for pages that are opened as files.
    var modules = FolderModules()
    /// The scripts that files of pages and scripts load, by the names of the files.
    var uses: [String: [String]] = [:]
    /// The modules and workers that classic scripts load, by the names of their files.
    var imports: [String: [String]] = [:]
    /// The scripts that are known to load nothing or something, by the names of their files.
    var alone: [String: Bool] = [:]
    /// The modules that the module whose twin is being written imports; nil while no twin is written.
    var needs: FolderModules.Needs?
    /// The content of the page `START-HERE.html`.
    var startHere: StartHere
    /// The URLs that the site starts with.
    let starts: [WebURL]
    /// The pages, by the names of their files.
    var pages: [String: String] = [:]
    /// The URL of the last file.
    private var last = ""
    /// The script at the beginning of pages, for sites whose scripts build URLs. Nil if no script does.
    var script: FolderScript?
    /// Whether scripts route by the URL of the page. Their reads of `location` then receive the original URL.
    private var hasRouter = false
    /// The number of pages by the language that they declare.
    private(set) var languages: [String: Int] = [:]
    /// The list of files with their URLs, for importing the folder.
    private let list: BodySpool
    private let temporary: ScratchFolder
    private let isExported: (ShownRow) -> Bool
    /// Returns a response with the content that is exported, which is the frozen copy of some pages.
    private let content: (StoredResponse) throws(StoreError) -> StoredResponse
    /// Whether the files become a ZIM file, which is read without a network. Missing assets then become
    /// empty, and only the site's own files are written.
    let isClosed: Bool

    enum Place {
        case file(String)
        case missing
    }

    private static let mostPlaces = 100_000
    private static let mostMissing = 100_000
    private static let mostAsked = 10_000
    private static let mostRedirects = 10
    static let missingList = "~missing.txt"
    /// The name that replaces `crossorigin` in pages opened from files. It has the same length.
    private static let withoutLeave: StaticString = "data-origin"

    /// Reads all URLs of the snapshot once, to give each a file name of its own.
    init(
        _ tree: any FileTree, _ reader: StoreReader, _ site: Site, asOf snapshot: Int64?, _ info: ArchiveInfo,
        start: WebURL? = nil,
        isClosed: Bool = false,
        content: @escaping (StoredResponse) throws(StoreError) -> StoredResponse,
        isExported: @escaping (ShownRow) -> Bool
    ) throws(ArchiveError) {
        let page = start
        guard let start = start ?? WebURL(site.start.first ?? site.name), start.isHTTP else {
            throw ArchiveError(
                .input, "\(site.name) has no start URL: export it as WARC, WACZ or HAR")
        }
        (self.tree, self.reader, self.site, self.snapshot, self.start) = (tree, reader, site, snapshot, start)
        (self.isExported, self.isClosed, self.content) = (isExported, isClosed, content)
        starts = page.map { [$0.key] } ?? site.start.compactMap { WebURL($0)?.key }
        startHere = StartHere(site: page?.href ?? site.name, date: info.date, software: info.software)
        temporary = try ArchiveError.wrapping { () throws(SystemError) in
            try ScratchFolder(named: "larder-export")
        }
        list = BodySpool(.inFiles(folder: temporary.path))
        names = FolderNames(start: start)
        try addNames()
        if try isLed() {
            // With the script, pages know their URLs, and may show something else for another query.
            names = FolderNames(start: start, tellsQueriesApart: true)
            try addNames()
            places = [:]
            alone = [:]
            script = FolderScript(start: start)
            hasRouter = try hasScript { LocationReads.isRouter($0.span) }
        }
        try note(FolderList.head(site: site.name, start: start.key.href))
    }

    private func addNames() throws(ArchiveError) {
        var failure: StoreError?
        try ArchiveError.storing { () throws(StoreError) in
            try reader.eachShown(ofSite: site.id, asOf: snapshot) { row in
                let isLeading = row.response.isRedirect && row.response.role == 0
                guard Self.isFile(row.response) || isLeading, isExported(row),
                    let url = WebURL(row.response.href)
                else { return true }
                do throws(StoreError) {
                    let body = try content(row.response).body?.sha256
                    names.add(
                        url, isLeading ? "text/html" : row.response.type, body: body, isRedirect: isLeading)
                } catch {
                    failure = error
                }
                return failure == nil
            }
            if let failure { throw failure }
        }
    }

    private func note(_ text: String) throws(ArchiveError) {
        try Array(text.utf8).withBytes { (bytes) throws(ArchiveError) in try list.take(bytes) }
    }

    private func note(_ url: WebURL, _ response: ArchivedResponse, file: String?) throws(ArchiveError) {
        let line = FolderList.Line(
            url: url.key.href, file: file, status: response.status, fields: response.fields,
            fetched: response.fetched)
        try note(FolderList.text(of: line))
    }

    /// Whether the response becomes a file by itself.
    private static func isFile(_ response: StoredResponse) -> Bool {
        response.request == .get && (200..<300).contains(response.status) && response.body != nil
            && response.flags.isDisjoint(with: [.isCoded, .isPart])
    }

    func write(_ response: ArchivedResponse) throws(ArchiveError) -> Bool {
        guard response.request == .get, let url = WebURL(response.url) else { return false }
        guard let held = try held(url.href) else { return false }
        if held.isRedirect {
            let file = try writeRedirect(url, held)
            if case .file(let target) = try place(of: url) {
                script?.add(url, file: target, isPage: held.role == 0)
            }
            try note(url, response, file: file)
            return file != nil
        }
        if held.body == nil { try note(url, response, file: nil) }
        // Of several variants, only the one that the store serves is written.
        guard Self.isFile(held), let body = held.body, let content = response.body?.content,
            body.sha256 == response.body?.sha256.bytes, case .file(let name) = try place(of: url)
        else { return false }
        let isNew = written.insert(name).inserted
        guard isNew || names.isShared(name) && url.href != last else { return false }
        last = url.href
        try note(url, response, file: name)
        script?.add(url, file: name, isPage: held.role == 0)
        if held.role == 0 { startHere.pages += 1 }
        guard isNew else { return true }
        if held.role == 0, !isClosed { pages[name] = url.href }
        let type = HTTPFields(block: held.fields.utf8.span).contentType
        let changed = try self.changed(content, body, type, url, name)
        try add(name) { (put) throws(ArchiveError) in try changed.eachArchived(put) }
        if !isClosed, held.role == 1, FolderScript.isData(type, byteCount: body.byteCount) {
            try addTwin(of: name, type?.essence == "text/html" ? content : changed, type)
        }
        return true
    }

    /// Returns the content with its links rewritten to files.
    private func changed(
        _ content: BodyContent, _ body: StoredBody, _ type: MediaType?, _ url: WebURL, _ name: String
    ) throws(ArchiveError) -> BodyContent {
        guard body.byteCount <= BodyReading.byteLimit, let table = try table(of: body) else { return content }
        let format = BodyFormat(form: body.form) ?? .opaque
        if try wantsServer(content, table, format, url) { noteWanting(url) }
        // A module that nothing names is imported by a computed name.
        if script != nil, !isClosed, format == .javaScript {
            let bytes = try ArchiveError.storing { () throws(StoreError) in try content.load() }
            if ModuleReads.isModule(bytes.span) { modules.add(name, url) }
        }
        guard
            isChanged(table, format) || isRecoded(table, format) || EncodingMark.isWanted(type, table, format)
        else { return content }
        let bytes = try ArchiveError.storing { () throws(StoreError) in try content.load() }
        if !isClosed, !table.occurrences.isEmpty, format == .html || format == .javaScript {
            uses[name] = try scripts(of: bytes, table, url, name)
        }
        return .bytes(try patched(bytes, table, url, name, type, format))
    }

    private func noteWanting(_ url: WebURL) {
        guard wantServer.count < Self.mostMissing, wanting.insert(url.href).inserted else { return }
        wantServer.append(url.href)
    }

    /// Adds a twin: a script that contains the body, for scripts that would fetch the file. Pages are stored
    /// in it unchanged, because the inserted script rewrites the links when a page is put into another one.
    private func addTwin(
        of name: String, _ content: BodyContent, _ type: MediaType?
    ) throws(ArchiveError) {
        guard script?.hasTwin(name) == false else { return }
        let bytes = try ArchiveError.storing { () throws(StoreError) in try content.load() }
        guard let twin = script?.twin(of: name, bytes, type) else { return }
        try add(twin.name, twin.text)
    }

    /// Adds twins for all URLs that scripts are known to fetch, whatever their type.
    private func addAskedTwins() throws(ArchiveError) {
        for (name, url) in asked.sorted(by: { $0.key < $1.key }) {
            guard let (final, held) = try shown(at: url), let body = held.body,
                let content = try ArchiveError.storing({ () throws(StoreError) in
                    try reader.content(of: body)
                })
            else { continue }
            let type = HTTPFields(block: held.fields.utf8.span).contentType
            let isPage = type?.essence == "text/html"
            try addTwin(of: name, isPage ? content : changed(content, body, type, final, name), type)
        }
    }

    /// Returns the response of the snapshot for the URL, if it belongs to this site.
    private func held(_ href: String) throws(ArchiveError) -> StoredResponse? {
        let isNow = snapshot == nil && site.published != nil
        let found = try ArchiveError.storing { () throws(StoreError) in
            if isNow { return try reader.response(for: href) }
            let snapshot = snapshot ?? site.overlay ?? site.snapshots.last?.id ?? 0
            return try reader.asOf(snapshot) { () throws(StoreError) in try reader.response(for: href) }
        }
        guard let found else { return nil }
        // Other sites may have stored the URL too, and this site may share their response.
        let isOurs =
            site.snapshots.contains { $0.id == found.snapshot }
            || isNow && WebURL(href).map { names.has($0) } ?? false
        guard isOurs else { return nil }
        guard isExported(ShownRow(response: found, referrer: nil)) else { return nil }
        return try ArchiveError.storing { () throws(StoreError) in try content(found) }
    }

    func table(of body: StoredBody) throws(ArchiveError) -> LinkTable? {
        try ArchiveError.storing { () throws(StoreError) in
            try scanner.table(stored: try reader.links(of: body), form: body.form) { () throws(StoreError) in
                try reader.content(of: body)?.load()
            }
        }
    }

    /// Whether the body uses models or workers that browsers do not load from files, or modules and workers
    /// without having the script that brings them.
    private func wantsServer(
        _ content: BodyContent, _ table: LinkTable, _ format: BodyFormat, _ url: WebURL
    ) throws(ArchiveError) -> Bool {
        let isBrought = script != nil && format == .javaScript || isLed(table, format, url)
        let known = table.occurrences.filter { !$0.flags.contains(.isGuess) }
        if known.contains(where: { $0.kind == .model || $0.kind == .module && !isBrought }) { return true }
        guard
            table.occurrences.contains(where: { $0.kind == .worker })
                || table.notes.contains(where: { $0.kind == .address && $0.link == .worker })
        else { return false }
        let bytes = try ArchiveError.storing { () throws(StoreError) in try content.load() }
        return try hasWantingWorker(bytes, table, url, isBrought: isBrought)
    }

    /// Whether the page gets the script of ``FolderScript``.
    func isLed(_ table: LinkTable, _ format: BodyFormat, _ url: WebURL) -> Bool {
        scriptPlace(table, format, url) != nil
    }

    /// The offset of the script in a page that gets it.
    private func scriptPlace(_ table: LinkTable, _ format: BodyFormat, _ url: WebURL) -> Int? {
        guard script != nil, url.origin == start.origin, format == .html else { return nil }
        // A part of a page has no document type either, but no modules.
        let mayLackType = !isClosed && table.occurrences.contains { $0.kind == .module }
        return table.marks.first { $0.kind == .start || mayLackType && $0.kind == .startIfShown }?.place
    }

    private func isChanged(_ table: LinkTable, _ format: BodyFormat) -> Bool {
        !table.occurrences.isEmpty || !table.marks.isEmpty || table.isTranscoded
            || format == .html || hasRouter && format == .javaScript
    }

    // MARK: - What scripts put together

    /// Whether scripts of the site load URLs that begin at the root of the site, or fetch files, which
    /// browsers do not allow. The pages then need the script of `FolderScript`.
    private func isLed() throws(ArchiveError) -> Bool {
        try hasBody([.javaScript, .html]) { (url, body) throws(ArchiveError) in
            guard let table = try table(of: body) else { return false }
            if try isLedByWhatWasShown(url, body, table) { return true }
            let isRooted = table.implied.contains {
                !$0.flags.contains(.isGuess) && $0.reference.hasPrefix("/")
            }
            if isRooted { return true }
            let asked = table.occurrences.filter {
                [.data, .module, .worker].contains($0.kind) || $0.flags.contains(.isGuess)
            }
            guard !asked.isEmpty, let bytes = try bytes(of: body) else { return false }
            let source = table.source(of: bytes.span) ?? bytes
            let base = table.base.flatMap { WebURL($0, base: url) } ?? url
            for occurrence in asked {
                let reference = table.reference(occurrence, in: source.span)
                if try isLed(reference, occurrence, base) { return true }
            }
            return false
        }
    }

    /// Whether a browser that rendered the page requested a stored URL that the page does not name.
    private func isLedByWhatWasShown(
        _ url: WebURL, _ body: StoredBody, _ table: LinkTable
    ) throws(ArchiveError) -> Bool {
        guard body.form.hasPrefix("html") else { return false }
        let links = try ArchiveError.storing { () throws(StoreError) -> StoredLinks? in
            guard try reader.response(for: url.href, request: .shown) != nil,
                let page = try reader.response(for: url.href), page.body?.id == body.id
            else { return nil }
            return try reader.storedLinks(of: page)
        }
        guard let asked = links?.assets, !asked.isEmpty, let bytes = try bytes(of: body) else {
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
        for href in asked where !named.contains(href) {
            guard let target = WebURL(href), case .file = try place(of: target) else { continue }
            return true
        }
        return false
    }

    private func isLed(
        _ reference: [UInt8], _ occurrence: LinkOccurrence, _ base: WebURL
    ) throws(ArchiveError) -> Bool {
        guard reference.first.map({ $0 != UInt8(ascii: "#") }) ?? false,
            let target = WebURL(utf8: reference.span, base: base), target.isHTTP
        else { return false }
        if occurrence.kind == .worker || occurrence.kind == .module && !occurrence.flags.contains(.isGuess) {
            guard !isClosed, case .file(let name) = try place(of: target) else { return false }
            return occurrence.kind == .module ? true : try isAlone(target, name)
        }
        let isRooted = occurrence.flags.contains(.isGuess) && reference.first == UInt8(ascii: "/")
        let isFetched = !isClosed && (occurrence.kind == .data || target.path.hasSuffix(".json"))
        guard isRooted || isFetched, case .file(let name) = try place(of: target) else { return false }
        return occurrence.kind == .data || !name.hasSuffix(".html") && !name.hasSuffix(".htm")
    }

    private func hasScript(_ isOne: ([UInt8]) -> Bool) throws(ArchiveError) -> Bool {
        try hasBody([.javaScript]) { (_, body) throws(ArchiveError) in
            try bytes(of: body).map(isOne) ?? false
        }
    }

    func bytes(of body: StoredBody) throws(ArchiveError) -> [UInt8]? {
        try ArchiveError.storing { () throws(StoreError) in try reader.content(of: body)?.load() }
    }

    /// Whether one of the exported bodies of these formats satisfies the condition.
    private func hasBody(
        _ formats: [BodyFormat], _ isOne: (WebURL, StoredBody) throws(ArchiveError) -> Bool
    ) throws(ArchiveError) -> Bool {
        var (has, failure) = (false, ArchiveError?.none)
        try ArchiveError.storing { () throws(StoreError) in
            try reader.eachShown(ofSite: site.id, asOf: snapshot) { row in
                guard Self.isFile(row.response), let body = row.response.body,
                    body.byteCount <= BodyReading.byteLimit, let format = BodyFormat(form: body.form),
                    formats.contains(format), isExported(row), let url = WebURL(row.response.href)
                else { return true }
                do throws(ArchiveError) {
                    has = try isOne(url, body)
                } catch {
                    failure = error
                }
                return !has && failure == nil
            }
        }
        if let failure { throw failure }
        return has
    }

    // MARK: - Links

    func patched(
        _ bytes: [UInt8], _ table: LinkTable, _ url: WebURL, _ name: String, _ type: MediaType?,
        _ format: BodyFormat
    ) throws(ArchiveError) -> [UInt8] {
        let source = table.source(of: bytes.span) ?? bytes
        let base = table.base.flatMap { WebURL($0, base: url) } ?? url
        var failure: ArchiveError?
        var changes = try Patch.Change.freeing(table) { (mark) throws(ArchiveError) in
            try table.isBroken(mark, in: source, base: base) { (url) throws(ArchiveError) in
                guard let body = try shown(at: url)?.held.body else { return nil }
                return try self.bytes(of: body)
            }
        }
        if isClosed {
            changes += try calming(source, table, url, base)
        } else {
            changes += try allowing(source, table, url, base)
        }
        if !isClosed, EncodingMark.isWanted(type, table, format) {
            changes += EncodingMark.changes(in: source, type, table, format)
        }
        if hasRouter, format == .javaScript { changes += LocationReads.changes(in: source.span) }
        if needs != nil
            || script != nil && !isClosed && format == .javaScript && Self.callsModules(source, table)
        {
            changes += ModuleReads.changes(in: source.span, named: name)
        }
        if let place = scriptPlace(table, format, url) {
            let entries = try addModules(of: source, table, url, base)
            let maps = isClosed ? [] : Self.maps(in: source, table)
            let tag = FolderScript.tag(
                in: name, of: url, base: base, modules: entries, hasMap: !maps.isEmpty)
            changes.append(Patch.Change(place..<place, tag))
            changes += maps + (isClosed ? [] : try preloads(in: source, table, base))
        }
        let said = isClosed && format == .html ? Self.sayingUTF8(source) : []
        changes += said
        if isClosed, format == .html, let language = ZIMMetadata.language(of: source) {
            languages[language, default: 0] += 1
        }
        changes.sort { $0.range.lowerBound < $1.range.lowerBound }
        let patch = Patch(source.span, table, changes: changes) { occurrence, reference in
            guard failure == nil else { return nil }
            do throws(ArchiveError) {
                let text = try replacement(occurrence, reference, url, base, table, name)
                return try module(occurrence, reference, in: source, url, base, table, name, format) ?? text
            } catch {
                failure = error
                return nil
            }
        }
        if let failure { throw failure }
        var text = patch.applied(to: source)
        let isRecoded = isRecoded(table, format)
        if isRecoded { text = table.encoding.decode(text.span) }
        if isClosed, format == .html { ZIMText.hideWrittenLinks(in: &text) }
        // The response headers that named the encoding are missing from a file, so a byte order mark replaces
        // them.
        let isUTF8 = table.isTranscoded || table.encoding == .utf8 || isRecoded
        let isMarked = text.starts(with: [0xEF, 0xBB, 0xBF])
        let needsMark =
            isUTF8 && !isMarked && said.isEmpty && (format == .html || isRecoded)
            && text.contains { $0 >= 0x80 }
        return needsMark ? [0xEF, 0xBB, 0xBF] + text : text
    }

    /// Renames the attribute `crossorigin` of links to files, because browsers do not load files with CORS.
    private func allowing(
        _ source: [UInt8], _ table: LinkTable, _ url: WebURL, _ base: WebURL
    ) throws(ArchiveError) -> [Patch.Change] {
        var changes: [Patch.Change] = []
        for occurrence in table.occurrences where occurrence.flags.contains(.isCORS) {
            guard occurrence.context.levels == 1,
                let tag = TagAround(
                    around: occurrence.range, in: source, isWhole: occurrence.context.inner == .plain),
                let attribute = tag.attributes.first(where: { $0.name == "crossorigin" }),
                changes.last?.range.lowerBound != attribute.nameStart,
                let target = WebURL(
                    utf8: table.reference(occurrence, in: source.span).span, base: base,
                    queryEncoding: table.encoding),
                target.isHTTP, case .file = try place(of: target)
            else { continue }
            changes.append(Patch.Change(at: attribute.nameStart, Self.withoutLeave))
        }
        return changes
    }

    /// Undoes ``allowing``, for an import.
    static func asking(_ source: [UInt8], _ table: LinkTable) -> [Patch.Change] {
        var changes: [Patch.Change] = []
        for occurrence in table.occurrences where occurrence.context.levels == 1 {
            guard
                let tag = TagAround(
                    around: occurrence.range, in: source, isWhole: occurrence.context.inner == .plain),
                !tag.attributes.contains(where: { $0.name == "crossorigin" }),
                let attribute = tag.attributes.first(where: { $0.name == "\(withoutLeave)" }),
                changes.last?.range.lowerBound != attribute.nameStart
            else { continue }
            changes.append(Patch.Change(at: attribute.nameStart, "crossorigin"))
        }
        return changes
    }

    /// Whether the text must be converted to UTF-8. Kiwix reads all text as UTF-8, and inserts UTF-8 into
    /// pages.
    private func isRecoded(_ table: LinkTable, _ format: BodyFormat) -> Bool {
        isClosed && !table.isTranscoded && table.encoding != .utf8 && format != .opaque
    }

    /// Declares UTF-8 in a `meta` element in front of the page's own declaration. It replaces a byte order
    /// mark, because openZIM's indexer finds no title behind one.
    private static func sayingUTF8(_ source: [UInt8]) -> [Patch.Change] {
        // Text in ISO-2022-JP is ASCII with escape sequences.
        guard source.contains(where: { $0 >= 0x80 || $0 == 0x1B }),
            let place = BodyFormat.html.headPlace(in: source.span)
        else { return [] }
        let isMarked = source.starts(with: [0xEF, 0xBB, 0xBF])
        return (isMarked ? [Patch.Change(0..<3, [])] : [])
            + [Patch.Change(place..<place, Array("<meta charset=\"utf-8\">".utf8))]
    }

    /// Disables refreshes that are delayed, or whose target is missing or the page itself. A ZIM writer would
    /// treat the page as a redirect and drop its text. Also applies the other changes that ZIM tools need.
    private func calming(
        _ source: [UInt8], _ table: LinkTable, _ url: WebURL, _ base: WebURL
    ) throws(ArchiveError) -> [Patch.Change] {
        var changes: [Patch.Change] = []
        for occurrence in table.occurrences where occurrence.kind == .refresh {
            guard let tag = TagAround(around: occurrence.range, in: source, isWhole: false),
                let pragma = tag.attributes.first(where: { $0.name == "http-equiv" })?.value,
                let content = tag.value(of: "content", in: source)
            else { continue }
            let reference = table.reference(occurrence, in: source.span)
            if let target = WebURL(utf8: reference.span, base: base), target.isHTTP, target.key != url.key,
                case .file = try place(of: target), content.drop(while: { $0 == " " }).hasPrefix("0")
            {
                changes += Self.unquoting(occurrence.range, in: source, tag)
                continue
            }
            changes.append(Patch.Change(pragma, Array("ignored".utf8)))
        }
        let trimming = Self.trimming(source, table).filter { change in
            !changes.contains { $0.range.overlaps(change.range) }
        }
        return changes + trimming + Self.filling(source)
    }

    /// Removes the quotes in `0; url='next.html'`, because zimwriterfs takes them for a part of the file
    /// name.
    private static func unquoting(_ link: Range<Int>, in source: [UInt8], _ tag: TagAround) -> [Patch.Change]
    {
        guard let value = tag.attribute(at: link.lowerBound)?.value, value.lowerBound < link.lowerBound,
            let mark = source[value.lowerBound..<link.lowerBound].last(where: { $0 > 0x20 }),
            [0x22, 0x27].contains(mark),
            let open = source[value.lowerBound..<link.lowerBound].lastIndex(of: mark)
        else { return [] }
        // Browsers ignore everything after the closing quote.
        return [open..<link.lowerBound, link.upperBound..<value.upperBound].filter { !$0.isEmpty }
            .map { Patch.Change($0, []) }
    }

    /// Removes white space around links, because openZIM's check takes it for a part of the link.
    private static func trimming(_ source: [UInt8], _ table: LinkTable) -> [Patch.Change] {
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

    /// Replaces empty links to the page itself by `#`, because openZIM's check reports them as errors.
    private static func filling(_ source: [UInt8]) -> [Patch.Change] {
        let empty = Array("href=\"\"".utf8)
        var changes: [Patch.Change] = []
        var isInTag = false
        for (place, byte) in source.enumerated() {
            if byte == UInt8(ascii: "<") || byte == UInt8(ascii: ">") { isInTag = byte == UInt8(ascii: "<") }
            guard isInTag, byte | 0x20 == UInt8(ascii: "h"), place > 0, source[place - 1] <= 0x20,
                source[place...].starts(with: empty)
            else { continue }
            let behind = place + empty.count - 1
            changes.append(Patch.Change(behind..<behind, [UInt8(ascii: "#")]))
        }
        return changes
    }

    private func replacement(
        _ occurrence: LinkOccurrence, _ reference: Span<UInt8>, _ url: WebURL, _ base: WebURL,
        _ table: LinkTable,
        _ name: String
    ) throws(ArchiveError) -> String? {
        if occurrence.kind == .base { return isClosed ? "#" : "./" }
        let flags = occurrence.flags
        // A guess may not be a URL, and changing it could break the script.
        guard !flags.contains(.isGuess), !flags.contains(.hasCodebase), occurrence.kind != .name else {
            if flags.contains(.isGuess), let target = WebURL(utf8: reference, base: base), target.isHTTP,
                occurrence.kind == .data || target.path.hasSuffix(".json")
            {
                try noteData(target, url)
            }
            return nil
        }
        let target = WebURL(
            utf8: reference, base: flags.contains(.ignoresBase) ? url : base, queryEncoding: table.encoding)
        guard let target, target.isHTTP else { return nil }
        if flags.contains(.isFragment), table.base == nil { return nil }
        if occurrence.kind == .data { try noteData(target, url) }
        let fragment = target.fragment.map { "#" + $0 } ?? ""
        switch try place(of: target) {
        case .file(let file):
            let path = FolderNames.reference(from: name, to: file) + fragment
            // Without a dot at the beginning it would be a bare specifier, which does not resolve.
            return occurrence.kind == .module && !path.hasPrefix(".") ? "./" + path : path
        case .missing:
            let isNeeded = occurrence.role == .asset || occurrence.kind == .frame
            if isNeeded, missing.count < Self.mostMissing, try !isEmpty(target) {
                missing[target.key.href] = missing[target.key.href] ?? url.href
            }
            return isClosed && isNeeded ? DataURL.empty : target.href
        }
    }

    /// Records a URL that a script of the page or script `url` will fetch.
    private func noteData(_ target: WebURL, _ url: WebURL) throws(ArchiveError) {
        guard !isClosed, case .file(let name) = try place(of: target), let (_, held) = try shown(at: target)
        else { return }
        let isSmall = held.body.map { $0.byteCount <= FolderScript.largestTwin } ?? false
        guard script != nil, isSmall, asked.count < Self.mostAsked else { return noteWanting(url) }
        asked[name] = target.key
    }

    /// Whether the target is stored but was left out because its body is empty.
    private func isEmpty(_ target: WebURL) throws(ArchiveError) -> Bool {
        guard isClosed else { return false }
        let held = try ArchiveError.storing { () throws(StoreError) in
            try reader.response(for: target.key.href)
        }
        return held?.body?.byteCount == 0
    }

    /// Returns the file for a URL, after redirects.
    func place(of target: WebURL) throws(ArchiveError) -> Place {
        let href = target.key.href
        if let known = places[href] { return known }
        let found = try shown(at: target)
        let place = found.map { Place.file(names.name(of: $0.url, $0.held.type)) } ?? .missing
        if places.count >= Self.mostPlaces { places.removeAll(keepingCapacity: true) }
        places[href] = place
        return place
    }

    /// Returns the response that becomes a file for the URL, after redirects, with its own URL.
    func shown(at target: WebURL) throws(ArchiveError) -> (url: WebURL, held: StoredResponse)? {
        var next = target.key
        for _ in 0...Self.mostRedirects {
            guard let held = try held(next.href) else { return nil }
            if Self.isFile(held) { return (next, held) }
            let location = HTTPFields(block: held.fields.utf8.span)["Location"]
            guard held.isRedirect, let further = location.flatMap({ WebURL($0, base: next)?.key }) else {
                return nil
            }
            next = further
        }
        return nil
    }

    // MARK: - Writing files

    private func add(
        _ name: String,
        _ write: ((UnsafeRawBufferPointer) throws(ArchiveError) -> Void) throws(ArchiveError) -> Void
    ) throws(ArchiveError) {
        try tree.begin(name)
        var digest = DigestStream(.sha256)
        try write { (bytes) throws(ArchiveError) in
            digest.update(Span(_unsafeElements: bytes.assumingMemoryBound(to: UInt8.self)))
            try tree.put(bytes)
        }
        try tree.end()
        tally.add(name, digest.finish())
    }

    func add(_ name: String, _ text: String) throws(ArchiveError) {
        try add(name) { (put) throws(ArchiveError) in try Array(text.utf8).withBytes(put) }
    }

    /// Writes a page that redirects to the target page. Returns its file name, or nil if the target is not a
    /// page or another file has that name.
    private func writeRedirect(_ url: WebURL, _ held: StoredResponse) throws(ArchiveError) -> String? {
        guard held.role == 0, case .file(let target) = try place(of: url),
            target.hasSuffix(".html") || target.hasSuffix(".htm")
        else { return nil }
        // Links lead to the target itself: the page only helps who types its name.
        guard names.hasPlainName(url, "text/html") else { return nil }
        let name = names.name(of: url, "text/html")
        guard name != target, written.insert(name).inserted else { return nil }
        try add(name, Self.leading(to: FolderNames.reference(from: name, to: target)))
        return name
    }

    private static func leading(to reference: String) -> String {
        """
        <!doctype html><meta charset="utf-8"><title>Moved</title><meta http-equiv="refresh" content="0; url=\(reference)">
        <a href="\(reference)">Moved</a>

        """
    }

    func finish() throws(ArchiveError) -> [ArchiveFile] {
        // GitHub Pages leaves out names that begin with an underscore unless this file exists.
        if !isClosed { try add(".nojekyll", "") }
        if case .file(let file) = try place(of: start), file != FolderNames.index,
            written.insert(FolderNames.index).inserted
        {
            try add(FolderNames.index, Self.leading(to: file))
        }
        if !missing.isEmpty, !isClosed {
            let lines = missing.sorted { $0.key < $1.key }.map { "\($0.key)  needed by \($0.value)\n" }
            try add(Self.missingList, lines.joined())
        }
        if !isClosed {
            try addModuleTwins()
            try add(StartHere.name, try startPage())
        }
        try addAskedTwins()
        if let script { try add(FolderScript.name, script.text) }
        let body = try list.finish()
        guard !isClosed else { return try tree.finish() }
        try add(FolderList.name) { (put) throws(ArchiveError) in try body.content?.eachArchived(put) }
        return try tree.finish()
    }

    /// Whether the files on the disk are those that were written.
    func verify() throws(ArchiveError) -> Bool {
        var found = TreeTally()
        try tree.eachFile { found.add($0, $1) }
        return found == tally
    }
}

/// A digest of the names and contents of files, in any order.
private struct TreeTally: Equatable {
    private var count = 0
    private var sum: UInt64 = 0

    mutating func add(_ name: String, _ content: Digest) {
        count += 1
        let digest = DigestStream.digest(.sha256, of: Array("\(name)\n\(content.hex)".utf8).span)
        sum = sum &+ digest.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
