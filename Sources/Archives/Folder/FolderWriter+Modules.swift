internal import Digest
internal import Markup
internal import Store
internal import System
internal import Web

/// The modules of exported pages, and the page that explains the folder to people.
extension FolderWriter {
    /// Whether the body is a classic script that imports modules. Browsers do not let scripts from files
    /// import by a relative path.
    static func callsModules(_ source: [UInt8], _ table: LinkTable) -> Bool {
        let isCalling = table.occurrences.contains { $0.kind == .module && !$0.flags.contains(.isGuess) }
        return isCalling && !ModuleReads.isModule(source.span)
    }

    /// Returns the text for a link to a module where it differs from that for other links: in the twin of a
    /// module, and in a script element of a page. While a twin is written, also records its imports in
    /// `currentImports`.
    func moduleReplacement(
        _ occurrence: LinkOccurrence, _ reference: Span<UInt8>, in source: [UInt8], _ url: WebURL,
        _ base: WebURL, _ table: LinkTable, _ name: String, _ format: BodyFormat
    ) throws(ArchiveError) -> String? {
        guard !isForZIM, script != nil,
            occurrence.kind == .worker || !occurrence.flags.contains(.isGuess),
            occurrence.kind == .module
                || currentImports != nil
                    && (occurrence.kind == .worker
                        || FolderModules.isImportSpecifier(occurrence.range, in: source)),
            let target = WebURL(utf8: reference, base: base, queryEncoding: table.encoding), target.isHTTP,
            case .file(let file) = try files.destination(of: target)
        else { return nil }
        // In a twin, imports use names that the import map resolves.
        if currentImports != nil {
            if occurrence.kind == .worker {
                guard try files.isSelfContained(target, file) else { return nil }
                modules.add(file, target.key)
                currentImports?.add(file, isOnDemand: true)
                return nil
            }
            modules.add(file, target.key)
            currentImports?.add(
                file, isOnDemand: FolderModules.isDynamicImport(occurrence.range, in: source))
            return FolderModules.specifierPrefix + file
        }
        // In a page, a script element of a module gets a URL that imports the module by such a name.
        guard hasInsertedScript(table, format, url), occurrence.context.levels == 1,
            let tag = EnclosingTag(around: occurrence.range, in: source, mustBeWholeValue: true),
            tag.element == "script"
        else { return nil }
        return FolderModules.scriptSource(of: file, from: name)
    }

    /// Returns the files of the modules that a page loads, and records them so that they get twins.
    func addModules(
        of source: [UInt8], _ table: LinkTable, _ base: WebURL
    ) throws(ArchiveError) -> [String] {
        guard !isForZIM else { return [] }
        modules.addPrefixes(table, base: base)
        var names: [String] = []
        for occurrence in table.occurrences
        where [.module, .worker, .script].contains(occurrence.kind) && !occurrence.flags.contains(.isGuess) {
            let reference = table.reference(occurrence, in: source.span)
            guard let target = WebURL(utf8: reference.span, base: base, queryEncoding: table.encoding),
                target.isHTTP, case .file(let file) = try files.destination(of: target)
            else { continue }
            if occurrence.kind == .script {
                for other in try modulesLoaded(by: target, file) where !names.contains(other) {
                    names.append(other)
                }
            } else if occurrence.kind == .module ? true : try files.isSelfContained(target, file) {
                modules.add(file, target.key)
                if !names.contains(file) { names.append(file) }
            }
        }
        // The twins of modules that the page names without a link are loaded when the modules are imported.
        for link in table.implied where link.kind == .module {
            if let target = WebURL(link.reference, base: base),
                case .file(let file) = try files.destination(of: target)
            {
                modules.add(file, target.key)
            }
        }
        return names
    }

    /// Returns the modules and workers that a classic script loads, and records them so that they get twins.
    private func modulesLoaded(by target: WebURL, _ file: String) throws(ArchiveError) -> [String] {
        if let known = importsByScript[file] { return known }
        var names: [String] = []
        if let (finalURL, stored) = try files.resolvedResponse(at: target), let body = stored.body,
            BodyFormat(form: body.form) == .javaScript, body.byteCount <= BodyReading.maxBytes,
            let table = try files.table(of: body),
            table.occurrences.contains(where: { [.module, .worker].contains($0.kind) }),
            let bytes = try files.bytes(of: body)
        {
            var loaded = try targets(of: bytes, table, finalURL, [.module])
            for worker in try targets(of: bytes, table, finalURL, [.worker])
            where try files.isSelfContained(worker.url, worker.file) { loaded.append(worker) }
            for (file, url) in loaded {
                modules.add(file, url.key)
                if !names.contains(file) { names.append(file) }
            }
        }
        importsByScript[file] = names
        return names
    }

    // MARK: - Workers

    /// Whether a worker of the body does not run from a file. Service workers never do, but pages work without
    /// them.
    func hasUnsupportedWorker(
        _ bytes: [UInt8], _ table: LinkTable, _ url: WebURL, hasModuleLoader: Bool
    ) throws(ArchiveError) -> Bool {
        let source = table.source(of: bytes.span) ?? bytes
        let base = table.base.flatMap { WebURL($0, base: url) } ?? url
        for occurrence in table.occurrences
        where occurrence.kind == .worker
            && !FolderModules.isServiceWorkerRegistration(occurrence.range, in: source)
        {
            let reference = table.reference(occurrence, in: source.span)
            guard let target = WebURL(utf8: reference.span, base: base),
                case .file(let file) = try files.destination(of: target)
            else {
                // A guess may be no worker.
                if occurrence.flags.contains(.isGuess) { continue }
                return true
            }
            guard hasModuleLoader, try files.isSelfContained(target, file) else { return true }
        }
        // The script names a worker by a URL that is relative to an unknown page. Service workers are named in the same
        // way, so the script must also call a constructor of workers.
        return table.notes.contains { $0.kind == .address && $0.link == .worker }
            && source.firstRange(of: Array("Worker(".utf8)) != nil
    }

    /// Returns the files that links of these kinds refer to in a body.
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
                target.isHTTP, case .file(let file) = try files.destination(of: target)
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
    static func importMapChanges(in source: [UInt8], _ table: LinkTable) -> [Patch.Change] {
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
    func preloadChanges(
        in source: [UInt8], _ table: LinkTable, _ base: WebURL
    ) throws(ArchiveError) -> [Patch.Change] {
        var changes: [Patch.Change] = []
        for occurrence in table.occurrences
        where occurrence.kind == .module && occurrence.context.levels == 1 {
            let reference = table.reference(occurrence, in: source.span)
            guard let tag = EnclosingTag(around: occurrence.range, in: source, mustBeWholeValue: true),
                tag.element == "link",
                let target = WebURL(utf8: reference.span, base: base, queryEncoding: table.encoding),
                target.isHTTP, case .file = try files.destination(of: target),
                let change = FolderModules.disablingPreload(tag, in: source)
            else { continue }
            changes.append(change)
        }
        return changes
    }

    /// Writes the twins of all modules that pages and other modules import.
    func addModuleTwins() throws(ArchiveError) {
        while let (name, url) = modules.takeNext() {
            guard let (finalURL, stored) = try files.resolvedResponse(at: url), let body = stored.body,
                body.byteCount <= FolderModules.maxModuleBytes, let bytes = try files.bytes(of: body)
            else { continue }
            let type = HTTPFields(block: stored.fields.utf8.span).contentType
            let format = BodyFormat(form: body.form) ?? .opaque
            currentImports = FolderModules.Imports()
            defer { currentImports = nil }
            var text = bytes
            if format == .javaScript || format == .css, body.byteCount <= BodyReading.maxBytes,
                let table = try files.table(of: body)
            {
                text = try rewriteLinks(bytes, table, finalURL, name, type, format)
                for target in modules.targets(ofSpecifiersIn: table) {
                    guard case .file(let file) = try files.destination(of: target) else { continue }
                    modules.add(file, target.key)
                    currentImports?.add(file, isOnDemand: false)
                }
            }
            let essence =
                format == .javaScript ? "text/javascript" : type?.essence ?? DataURL.type(of: format)
            let twin = FolderModules.twinText(
                of: name, text, essence, currentImports ?? FolderModules.Imports())
            try addFile(FolderModules.twin(of: name), text: twin)
        }
    }

    // MARK: - START-HERE.html

    /// Returns the pages that show less as files: those that load what browsers do not load from files, by
    /// themselves or by their scripts.
    private func pagesNeedingServer() throws(ArchiveError) -> [StartHere.Page] {
        var filesNeedingServer: Set<String> = []
        for href in urlsNeedingServer {
            if let url = WebURL(href), case .file(let name) = try files.destination(of: url) {
                filesNeedingServer.insert(name)
            }
        }
        guard !filesNeedingServer.isEmpty else { return [] }
        var filesByScript: [String: [String]] = [:]
        for (name, scripts) in scriptsByFile {
            for script in scripts { filesByScript[script, default: []].append(name) }
        }
        var pending = Array(filesNeedingServer)
        while let name = pending.popLast() {
            for file in filesByScript[name] ?? [] where filesNeedingServer.insert(file).inserted {
                pending.append(file)
            }
        }
        return filesNeedingServer.compactMap { name in
            pages[name].map { StartHere.Page(name: $0, file: name) }
        }.sorted { $0.name < $1.name }
    }

    /// Returns the text of `START-HERE.html`.
    func startPage() throws(ArchiveError) -> String {
        var page = startHere
        for url in startURLs {
            guard case .file(let file) = try files.destination(of: url),
                let stored = try files.resolvedResponse(at: url)?.response
            else {
                continue
            }
            page.startPages.append(StartHere.Page(name: stored.body?.title ?? url.href, file: file))
        }
        if page.startPages.isEmpty,
            let (file, href) = pages.min(by: { ($0.key.count, $0.key) < ($1.key.count, $1.key) })
        {
            page.startPages = [StartHere.Page(name: href, file: file)]
        }
        page.pagesNeedingServer = try pagesNeedingServer()
        page.missingList = hasMissingList ? Self.missingList : nil
        return page.text
    }
}
