internal import Digest
internal import Markup
internal import Store
internal import System
internal import Web

/// The modules of exported pages, and the page that says what the copy is.
extension FolderWriter {
    /// Whether the body is a classic script that imports modules. Browsers do not let scripts from files
    /// import by a relative path.
    static func callsModules(_ source: [UInt8], _ table: LinkTable) -> Bool {
        let isCalling = table.occurrences.contains { $0.kind == .module && !$0.flags.contains(.isGuess) }
        return isCalling && !ModuleReads.isModule(source.span)
    }

    /// Returns the text for a link to a module where it differs from that for other links: in the twin of a
    /// module, and in a script element of a page.
    func module(
        _ occurrence: LinkOccurrence, _ reference: Span<UInt8>, in source: [UInt8], _ url: WebURL,
        _ base: WebURL, _ table: LinkTable, _ name: String, _ format: BodyFormat
    ) throws(ArchiveError) -> String? {
        guard !isClosed, script != nil,
            occurrence.kind == .worker || !occurrence.flags.contains(.isGuess),
            occurrence.kind == .module
                || needs != nil
                    && (occurrence.kind == .worker || FolderModules.isImported(occurrence.range, in: source)),
            let target = WebURL(utf8: reference, base: base, queryEncoding: table.encoding), target.isHTTP,
            case .file(let file) = try place(of: target)
        else { return nil }
        if needs != nil {
            if occurrence.kind == .worker {
                guard try isAlone(target, file) else { return nil }
                modules.add(file, target.key)
                needs?.add(file, isLater: true)
                return nil
            }
            modules.add(file, target.key)
            needs?.add(file, isLater: FolderModules.isCalled(occurrence.range, in: source))
            return FolderModules.specifier + file
        }
        guard isLed(table, format, url), occurrence.context.levels == 1,
            let tag = TagAround(around: occurrence.range, in: source, isWhole: true), tag.element == "script"
        else { return nil }
        return FolderModules.source(of: file, from: name)
    }

    /// Returns the files of the modules that a page loads, and sees to their twins.
    func addModules(
        of source: [UInt8], _ table: LinkTable, _ url: WebURL, _ base: WebURL
    ) throws(ArchiveError) -> [String] {
        guard !isClosed else { return [] }
        modules.addPrefixes(table, base: base)
        var names: [String] = []
        for occurrence in table.occurrences
        where [.module, .worker, .script].contains(occurrence.kind) && !occurrence.flags.contains(.isGuess) {
            let reference = table.reference(occurrence, in: source.span)
            guard let target = WebURL(utf8: reference.span, base: base, queryEncoding: table.encoding),
                target.isHTTP, case .file(let file) = try place(of: target)
            else { continue }
            if occurrence.kind == .script {
                for other in try imports(of: target, file) where !names.contains(other) {
                    names.append(other)
                }
            } else if occurrence.kind == .module ? true : try isAlone(target, file) {
                modules.add(file, target.key)
                if !names.contains(file) { names.append(file) }
            }
        }
        // Modules that the page names without a link are brought when they are imported.
        for link in table.implied where link.kind == .module {
            if let target = WebURL(link.reference, base: base), case .file(let file) = try place(of: target) {
                modules.add(file, target.key)
            }
        }
        return names
    }

    /// Returns the modules and workers that a classic script loads, and sees to their twins.
    private func imports(of target: WebURL, _ file: String) throws(ArchiveError) -> [String] {
        if let known = imports[file] { return known }
        var names: [String] = []
        if let (final, held) = try shown(at: target), let body = held.body,
            BodyFormat(form: body.form) == .javaScript, body.byteCount <= BodyReading.byteLimit,
            let table = try table(of: body),
            table.occurrences.contains(where: { [.module, .worker].contains($0.kind) }),
            let bytes = try bytes(of: body)
        {
            var found = try targets(of: bytes, table, final, [.module])
            for worker in try targets(of: bytes, table, final, [.worker])
            where try isAlone(worker.url, worker.file) { found.append(worker) }
            for (file, url) in found {
                modules.add(file, url.key)
                if !names.contains(file) { names.append(file) }
            }
        }
        imports[file] = names
        return names
    }

    // MARK: - Workers

    /// Text in scripts that load something when they run.
    private static let loading = ["import", "fetch", "XMLHttpRequest", "WebSocket", "EventSource"]

    /// Whether the target is a script that loads nothing else. Browsers run it as a worker from a `blob:` URL,
    /// in which no other URL of the site works.
    func isAlone(_ target: WebURL, _ file: String) throws(ArchiveError) -> Bool {
        if let known = alone[file] { return known }
        var isAlone = false
        if let held = try shown(at: target)?.held, let body = held.body,
            BodyFormat(form: body.form) == .javaScript, body.byteCount <= FolderModules.largest,
            let bytes = try bytes(of: body)
        {
            isAlone = !Self.loading.contains { bytes.firstRange(of: Array($0.utf8)) != nil }
        }
        alone[file] = isAlone
        return isAlone
    }

    /// Whether a worker of the body does not run from a file. Service workers never do, but pages work without
    /// them.
    func hasWantingWorker(
        _ bytes: [UInt8], _ table: LinkTable, _ url: WebURL, isBrought: Bool
    ) throws(ArchiveError) -> Bool {
        let source = table.source(of: bytes.span) ?? bytes
        let base = table.base.flatMap { WebURL($0, base: url) } ?? url
        for occurrence in table.occurrences
        where occurrence.kind == .worker && !FolderModules.isRegistered(occurrence.range, in: source) {
            let reference = table.reference(occurrence, in: source.span)
            guard let target = WebURL(utf8: reference.span, base: base),
                case .file(let file) = try place(of: target)
            else {
                // A guess may be no worker.
                if occurrence.flags.contains(.isGuess) { continue }
                return true
            }
            guard isBrought, try isAlone(target, file) else { return true }
        }
        // The script does not say relative to which page. The names of service workers are among these too.
        return table.notes.contains { $0.kind == .address && $0.link == .worker }
            && source.firstRange(of: Array("Worker(".utf8)) != nil
    }

    /// Returns the files that a body's links of these kinds lead to.
    private func targets(
        of bytes: [UInt8], _ table: LinkTable, _ url: WebURL, _ kinds: [LinkKind]
    ) throws(ArchiveError) -> [(file: String, url: WebURL)] {
        let source = table.source(of: bytes.span) ?? bytes
        let base = table.base.flatMap { WebURL($0, base: url) } ?? url
        var targets: [(file: String, url: WebURL)] = []
        for occurrence in table.occurrences
        where kinds.contains(occurrence.kind)
            && (occurrence.kind == .worker || !occurrence.flags.contains(.isGuess))
        {
            let reference = table.reference(occurrence, in: source.span)
            if let target = WebURL(utf8: reference.span, base: base, queryEncoding: table.encoding),
                target.isHTTP, case .file(let file) = try place(of: target)
            {
                targets.append((file, target))
            }
        }
        return targets
    }

    /// Returns the files of the scripts that a page or script loads.
    func scripts(
        of bytes: [UInt8], _ table: LinkTable, _ url: WebURL, _ name: String
    ) throws(ArchiveError) -> [String] {
        var names: [String] = []
        for (file, _) in try targets(of: bytes, table, url, [.module, .script])
        where file != name && !names.contains(file) { names.append(file) }
        return names
    }

    /// Returns the changes around the page's own import maps.
    static func maps(in source: [UInt8], _ table: LinkTable) -> [Patch.Change] {
        var changes: [Patch.Change] = []
        for occurrence in table.occurrences
        where occurrence.kind == .module && occurrence.context.inner == .json {
            guard !changes.contains(where: { $0.range.lowerBound >= occurrence.range.lowerBound }) else {
                continue
            }
            changes += FolderModules.changes(mapAround: occurrence.range, in: source)
        }
        return changes
    }

    /// Returns the changes of links that load modules in advance.
    func preloads(
        in source: [UInt8], _ table: LinkTable, _ base: WebURL
    ) throws(ArchiveError) -> [Patch.Change] {
        var changes: [Patch.Change] = []
        for occurrence in table.occurrences
        where occurrence.kind == .module && occurrence.context.levels == 1 {
            let reference = table.reference(occurrence, in: source.span)
            guard let tag = TagAround(around: occurrence.range, in: source, isWhole: true),
                tag.element == "link",
                let target = WebURL(utf8: reference.span, base: base, queryEncoding: table.encoding),
                target.isHTTP, case .file = try place(of: target),
                let change = FolderModules.withoutPreload(tag, in: source)
            else { continue }
            changes.append(change)
        }
        return changes
    }

    /// Writes the twins of all modules that pages and other modules import.
    func addModuleTwins() throws(ArchiveError) {
        while let (name, url) = modules.takeNext() {
            guard let (final, held) = try shown(at: url), let body = held.body,
                body.byteCount <= FolderModules.largest, let bytes = try bytes(of: body)
            else { continue }
            let type = HTTPFields(block: held.fields.utf8.span).contentType
            let format = BodyFormat(form: body.form) ?? .opaque
            needs = FolderModules.Needs()
            defer { needs = nil }
            var text = bytes
            if format == .javaScript || format == .css, body.byteCount <= BodyReading.byteLimit,
                let table = try table(of: body)
            {
                text = try patched(bytes, table, final, name, type, format)
                for target in modules.targets(ofSpecifiersIn: table) {
                    guard case .file(let file) = try place(of: target) else { continue }
                    modules.add(file, target.key)
                    needs?.add(file, isLater: false)
                }
            }
            let essence =
                format == .javaScript ? "text/javascript" : type?.essence ?? DataURL.type(of: format)
            let twin = FolderModules.text(of: name, text, essence, needs ?? FolderModules.Needs())
            try add(FolderModules.twin(of: name), twin)
        }
    }

    // MARK: - The page for people

    /// Returns the pages that show less as files: those that load what browsers do not load from files, by
    /// themselves or by their scripts.
    private func pagesWantingServer() throws(ArchiveError) -> [StartHere.Page] {
        var wanting: Set<String> = []
        for href in wantServer {
            if let url = WebURL(href), case .file(let name) = try place(of: url) { wanting.insert(name) }
        }
        guard !wanting.isEmpty else { return [] }
        var users: [String: [String]] = [:]
        for (name, files) in uses { for file in files { users[file, default: []].append(name) } }
        var waiting = Array(wanting)
        while let name = waiting.popLast() {
            for user in users[name] ?? [] where wanting.insert(user).inserted { waiting.append(user) }
        }
        return wanting.compactMap { name in
            pages[name].map { StartHere.Page(name: $0, file: name) }
        }.sorted { $0.name < $1.name }
    }

    func startPage() throws(ArchiveError) -> String {
        var page = startHere
        for url in starts {
            guard case .file(let file) = try place(of: url), let held = try shown(at: url)?.held else {
                continue
            }
            page.starts.append(StartHere.Page(name: held.body?.title ?? url.href, file: file))
        }
        if page.starts.isEmpty,
            let (file, href) = pages.min(by: { ($0.key.count, $0.key) < ($1.key.count, $1.key) })
        {
            page.starts = [StartHere.Page(name: href, file: file)]
        }
        page.wanting = try pagesWantingServer()
        page.missing = missing.isEmpty ? nil : Self.missingList
        return page.text
    }
}
