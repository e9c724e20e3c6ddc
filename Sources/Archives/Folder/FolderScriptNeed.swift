internal import Markup
internal import Store
internal import Web

/// Decides whether the pages of an exported site need the script of ``FolderScript``. It reads the stored pages and
/// scripts until one of them shows that.
struct FolderScriptNeed {
    let files: ExportedFiles
    let isForZIM: Bool

    /// Whether scripts of the site load URLs that begin at the root of the site, or fetch files, which
    /// browsers do not allow. The pages then need the script of `FolderScript`.
    func isNeeded() throws(ArchiveError) -> Bool {
        try files.anyBody([.javaScript, .html]) { (url, body) throws(ArchiveError) in
            guard let table = try files.table(of: body) else { return false }
            if try requestsUnnamedURL(url, body, table) { return true }
            let hasImpliedRootPath = table.implied.contains {
                !$0.flags.contains(.isGuess) && $0.reference.hasPrefix("/")
            }
            if hasImpliedRootPath { return true }
            let scriptLinks = table.occurrences.filter { occurrence in
                switch occurrence.kind.fileLoading {
                case .byScript, .asModule, .asWorker: true
                case .direct, .never: occurrence.flags.contains(.isGuess)
                }
            }
            guard !scriptLinks.isEmpty, let bytes = try files.bytes(of: body) else { return false }
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
        guard let assets = try files.renderedAssets(of: url, body), !assets.isEmpty,
            let bytes = try files.bytes(of: body)
        else {
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
            if let target = WebURL(href), try files.hasFile(for: target) { return true }
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
            guard !isForZIM, case .file(let name) = try files.destination(of: target) else { return false }
            return occurrence.kind == .module ? true : try files.isSelfContained(target, name)
        }
        let isRootPath = occurrence.flags.contains(.isGuess) && reference.first == UInt8(ascii: "/")
        let isFetched = !isForZIM && (occurrence.kind == .data || target.path.hasSuffix(".json"))
        guard isRootPath || isFetched, case .file(let name) = try files.destination(of: target) else {
            return false
        }
        return occurrence.kind == .data || !name.hasSuffix(".html") && !name.hasSuffix(".htm")
    }

    /// Whether scripts of the site route by the URL of the page.
    func hasRouter() throws(ArchiveError) -> Bool {
        try files.anyBody([.javaScript]) { (_, body) throws(ArchiveError) in
            try files.bytes(of: body).map { LocationReads.isRouter($0.span) } ?? false
        }
    }
}
