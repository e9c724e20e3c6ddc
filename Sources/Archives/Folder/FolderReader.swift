internal import Markup
internal import Store
internal import System
internal import Web

/// Reads a folder of files as an archive. Each file becomes a response for its original URL, and links that
/// were rewritten to files become links to URLs again. ``FolderMap`` determines the URLs of the files.
///
/// Some file names may stand for several URLs: wget writes `page?q=a%2Fb` and `page?q=a/b` to the same name. The reader
/// uses links to decide, in this order:
///
/// 1. Entries whose URL is certain are returned. Links in them that refer to an ambiguous entry are recorded in
///    `confirmed` (the assumed URL is right) or `linkedURLs` (the link has another spelling).
/// 2. Ambiguous entries are returned, with the URL that links use.
/// 3. Links to URLs that no file is named after, `unmatchedURLs`, get a response from the most similar file, as a web
///    server might answer them.
final class FolderReader: ArchiveReader {
    private let source: any FileSource
    private let map: FolderMap
    private let storage: BodyStorage
    private let limits: ArchiveLimits
    private let scanner = LinkScanner()
    /// The faults of the map that are not returned yet.
    private var faults: ArraySlice<ArchiveFault>
    /// The number of files for a tool's own use that are not counted yet. Each is returned as `.other`.
    private var remainingToolFiles: Int
    /// The indexes of the entries still to be read. Ambiguous entries come last.
    private var pendingEntries: ArraySlice<Int>
    /// The ambiguous entries by ``comparisonText(of:)`` and by the file name.
    private var (ambiguousByURL, ambiguousByName): ([String: Int], [String: Int]) = ([:], [:])
    /// Ambiguous entries whose assumed URL is the target of a link.
    private var confirmed: Set<Int> = []
    /// Other URLs of ambiguous entries that are targets of links.
    private var linkedURLs: [Int: WebURL] = [:]
    /// Entries that were returned with a URL from `linkedURLs`.
    private var reassigned: Set<Int> = []
    /// URLs of the folder's origins that are targets of links and that no file is named after.
    private var unmatchedURLs: Set<String> = []
    /// The URLs in `unmatchedURLs` that are still to be looked up; nil until all entries are read.
    private var pendingURLs: ArraySlice<String>?
    /// Entries by their percent-decoded URLs.
    private var entriesByDecodedURL: [String: Int] = [:]

    /// The number of bytes that may still be read. It limits how often a large file is read for different
    /// URLs, which a list or links with many spellings of a URL could cause.
    private var remainingBytes: Int64

    /// The maximum size of `unmatchedURLs`. Further URLs are not looked up.
    private static let maxUnmatchedURLs = 200_000
    /// Files may be read this many times on average. Beyond that, further URLs of files are refused.
    private static let maxReadsPerByte: Int64 = 4
    /// The number of bytes that may be read in addition, so that small folders are never refused.
    private static let minReadBudgetBytes: Int64 = 64 << 20

    init(
        _ source: any FileSource, base: WebURL?, isPage: Bool = false, _ storage: BodyStorage,
        _ limits: ArchiveLimits
    ) throws(ArchiveError) {
        (self.source, self.storage, self.limits) = (source, storage, limits)
        guard !source.files.isEmpty || !source.faults.isEmpty else {
            throw ArchiveError(.input, "\(source.name) contains no files; name another folder or file")
        }
        map = try FolderMap(source, base: base, isPage: isPage, limits)
        faults = map.faults[...]
        remainingToolFiles = map.toolFileCount
        remainingBytes = Self.readBudget(of: source.files, limits)
        var (certain, last): ([Int], [Int]) = ([], [])
        for (index, entry) in map.entries.enumerated() {
            guard let name = entry.ambiguousName, entry.url.href != map.start else {
                certain.append(index)
                continue
            }
            last.append(index)
            ambiguousByURL[Self.comparisonText(of: entry.url)] = index
            ambiguousByName[name] = index
        }
        pendingEntries = (certain + last)[...]
    }

    /// Returns the ambiguous entry that the URL may belong to.
    ///
    /// - Parameter isOriginalReference: Whether no tool has rewritten the reference, so that the file name may derive
    ///   from it.
    private func ambiguousEntry(for url: WebURL, isOriginalReference: Bool) -> Int? {
        guard !ambiguousByURL.isEmpty else { return nil }
        return ambiguousByURL[Self.comparisonText(of: url)]
            ?? (isOriginalReference ? ambiguousByName[Self.percentDecoded(url)] : nil)
    }

    /// Whether the reference may be the original one. A rewritten reference is relative and has no unescaped
    /// question mark.
    private static func isOriginalReference(_ reference: Span<UInt8>, _ entry: FolderMap.Entry) -> Bool {
        guard entry.isConverted, reference.count > 0, reference[0] != UInt8(ascii: "/") else { return true }
        for index in 0..<reference.count where reference[index] == UInt8(ascii: "?") { return true }
        return false
    }

    /// Returns a text that is equal for URLs that may have the same file name. It ignores differences in
    /// percent escapes, except for slashes in paths and percent signs that escape nothing.
    private static func comparisonText(of url: WebURL) -> String {
        func decoded(_ text: String, isPath: Bool = false) -> String {
            let parts = text.split(separator: "%", omittingEmptySubsequences: false)
            let marked = parts.dropFirst().map { part -> Substring in
                let escape = part.prefix(2).lowercased()
                if isPath, escape == "2f" { return "00" + part.dropFirst(2) }
                return Hex.decode(escape)?.count == 1 ? part : "01" + part
            }
            let text = ([parts.first ?? ""] + marked).joined(separator: "%")
            return FileName.text([UInt8](percentDecoding: Array(text.utf8).span))
        }
        return url.origin + decoded(url.path, isPath: true) + "\0" + decoded(url.query ?? "")
    }

    /// Returns the maximum number of bytes to read. A file that several names link to counts again, up to the
    /// allowance.
    private static func readBudget(of files: [SourceFile], _ limits: ArchiveLimits) -> Int64 {
        var (budget, linked, seen): (Int64, Int64, Set<Int>) = (minReadBudgetBytes, 0, [])
        for file in files {
            if seen.insert(file.number).inserted {
                budget += maxReadsPerByte * file.byteCount
            } else if linked < Int64(limits.expansionAllowanceBytes) {
                linked += file.byteCount
            }
        }
        return budget + min(linked, Int64(limits.expansionAllowanceBytes))
    }

    var start: String? { map.start }

    func next() throws(ArchiveError) -> ArchivedItem? {
        if let fault = faults.popFirst() { return .fault(fault) }
        if remainingToolFiles > 0 {
            remainingToolFiles -= 1
            return .other
        }
        if let index = pendingEntries.popFirst() {
            let entry = map.entries[index]
            guard let url = linkedURLs[index], !confirmed.contains(index) else {
                return try response(entry, at: entry.url)
            }
            reassigned.insert(index)
            return try response(entry, at: url)
        }
        if pendingURLs == nil {
            for (index, entry) in map.entries.enumerated() {
                entriesByDecodedURL[Self.percentDecoded(entry.url)] = index
            }
            // Larder's list contains the URLs of all exported responses.
            pendingURLs = map.isWrittenByLarder ? [] : unmatchedURLs.sorted()[...]
        }
        while let href = pendingURLs?.popFirst() {
            if let url = WebURL(href), let response = try responseFromSimilarFile(at: url) { return response }
        }
        return nil
    }

    // MARK: - Responses

    /// Reads the file of an entry as the response for a URL, with restored links. Returns a fault if the file cannot be
    /// read.
    private func response(_ entry: FolderMap.Entry, at url: WebURL) throws(ArchiveError) -> ArchivedItem {
        var response = ArchivedResponse(
            url: url.href, status: entry.status, fields: entry.fields ?? HTTPFields(), body: nil,
            fetched: max(0, HTTPDate(secondsSinceEpoch: entry.fetched).secondsSinceEpoch))
        guard remainingBytes >= 0 else {
            return .fault(
                ArchiveFault("its file has too many URLs", url: url.href, at: place(of: entry)))
        }
        let spool = BodySpool(storage)
        var beginning: [UInt8] = []
        // A body that may have links is loaded as a whole. Other bodies are streamed.
        var whole: [UInt8]? = []
        let reason = try read(entry) { (piece) throws(ArchiveError) in
            if beginning.count < SavedPage.window {
                beginning += piece.prefix(SavedPage.window - beginning.count)
            }
            if whole != nil, spool.byteCount == 0 {
                whole?.append(contentsOf: piece)
            } else {
                try spool.append(piece)
            }
            if let bytes = whole, bytes.count > BodyReading.maxBytes {
                whole = nil
                try bytes.withBytes { (bytes) throws(ArchiveError) in try spool.append(bytes) }
            }
            remainingBytes -= Int64(piece.count)
            return true
        }
        if let reason { return .fault(ArchiveFault(reason, url: url.href, at: place(of: entry))) }
        if case .none = entry.content { return .response(response) }
        // Larder's list contains all response headers.
        if !map.isWrittenByLarder, response.fields["Content-Type"] == nil {
            response.fields.append(
                "Content-Type", FileTypes.type(of: url, file: entry.name, beginning: beginning))
        }
        if var bytes = whole {
            if !BodyFormat.isOpaque(response.fields.contentType) {
                restoreLinks(in: &bytes, of: url, entry, &response.fields)
                response.hasRestoredLinks = entry.isConverted
            }
            try bytes.withBytes { (bytes) throws(ArchiveError) in try spool.append(bytes) }
        }
        response.body = try spool.finish()
        return .response(response)
    }

    /// Returns the name of the file that has the entry's content, for messages.
    private func place(of entry: FolderMap.Entry) -> String {
        switch entry.content {
        case .file(let file): source.place(of: file)
        case .cached, .none: "\(source.name), \(HTTrackCache.name)"
        }
    }

    /// Passes the content of an entry to `take`. Returns the reason if the content could not be read
    /// completely.
    private func read(
        _ entry: FolderMap.Entry, _ take: (UnsafeRawBufferPointer) throws(ArchiveError) -> Bool
    ) throws(ArchiveError) -> String? {
        switch entry.content {
        case .none: return nil
        case .file(let file): return try source.read(file, take)
        case .cached(let packed):
            guard let input = try map.cache?.input(of: packed), let content = packed.content else {
                return "it is not in the cache"
            }
            var count = 0
            _ = try input.take(.max) { (piece) throws(ArchiveError) in
                count += piece.count
                guard !limits.isExceeded(count, outOf: Int64(content.count)) else { return false }
                return try take(piece)
            }
            return input.damage
                ?? (Int64(count) == packed.byteCount ? nil : "the cache contains only a part of it")
        }
    }

    // MARK: - Links

    /// Rewrites links in the body to URLs, and records further URLs that are targets of links. Adds the
    /// character set to the headers if the file does not declare its own.
    private func restoreLinks(
        in bytes: inout [UInt8], of url: WebURL, _ entry: FolderMap.Entry, _ fields: inout HTTPFields
    ) {
        let format = BodyFormat(mediaType: fields.contentType, url: url, body: bytes.span)
        if map.isWrittenByLarder {
            bytes = EncodingDeclaration.removingDeclaration(
                from: FolderScript.removingInsertedParts(from: bytes, format), fields.contentType, format)
        }
        addCharset(bytes, &fields)
        let reading = scanner.read(bytes.span, of: url, as: fields.contentType)
        let table = reading.table
        guard !table.occurrences.isEmpty else { return }
        let base = table.base.flatMap { WebURL($0, base: url) } ?? url
        let file = entry.name.flatMap {
            WebURL(Self.folderOrigin + FileURLMapper(names: []).target(of: $0, keepsIndex: true))
        }
        let fileBase = table.base.flatMap { WebURL($0, base: file) } ?? file
        let source = table.source(of: bytes.span) ?? bytes
        let changes =
            map.isWrittenByLarder && format == .html ? FolderWriter.restoringCORS(source, table) : []
        var isChanged = !changes.isEmpty
        let patch = Patch(source.span, table, changes: changes) { occurrence, reference in
            let flags = occurrence.flags
            guard occurrence.kind != .base, !flags.contains(.isFragment), !flags.contains(.hasCodebase) else {
                return nil
            }
            let target = WebURL(
                utf8: reference, base: flags.contains(.ignoresBase) ? url : base,
                queryEncoding: table.encoding)
            // First as a URL: the entry with that URL, or an ambiguous entry that may have it.
            let known = target.flatMap { map.index(at: $0.key.href) }
            let isKnown = known.map { !reassigned.contains($0) } ?? false
            if let known, !ambiguousByURL.isEmpty { confirmed.insert(known) }
            if !isKnown, !flags.contains(.isGuess), let target,
                let index = ambiguousEntry(
                    for: target, isOriginalReference: Self.isOriginalReference(reference, entry))
            {
                linkedURLs[index] = linkedURLs[index] ?? target.key
            } else if entry.isConverted, map.linksPreferFiles || !isKnown, !flags.contains(.isGuess),
                var resolved = fileTarget(
                    reference, flags.contains(.ignoresBase) ? file : fileBase, table.encoding)
            {
                // Then as a path of a file, which the link is rewritten from to the URL of the file.
                if let index = map.index(at: resolved.url.href), !ambiguousByURL.isEmpty {
                    confirmed.insert(index)
                    if reassigned.contains(index), let url = linkedURLs[index] { resolved.url = url }
                }
                let fragment = resolved.fragment.map { "#" + $0 } ?? ""
                let isSameOrigin = resolved.url.origin == url.origin && table.base == nil
                let text = (isSameOrigin ? resolved.url.target : resolved.url.href) + fragment
                // A web server answers the link of a site's own page to `index.html`, so that the bytes need not change.
                let isOwnLink = entry.hasOwnName && target?.key.href == resolved.url.href + "index.html"
                if !isOwnLink, target?.href != resolved.url.href + fragment {
                    isChanged = true
                    return text
                }
            }
            if let target, !isKnown { recordUnmatched(target) }
            return nil
        }
        guard isChanged else { return }
        bytes = patch.apply(to: source)
        if table.isTranscoded, let type = fields.contentType {
            fields.set("Content-Type", "\(type.essence); charset=utf-8")
        }
    }

    /// A placeholder origin for the folder, used only to resolve file names. No response contains it.
    private static let folderOrigin = "http://folder.invalid"

    /// Returns the URL of the file that a reference in a file of the folder refers to. Tools write the bytes
    /// of file names into pages of any encoding. They also write unescaped backslashes (wget) and number
    /// signs (wget2). So if the reference is not the name of a file, it is tried again with these bytes escaped.
    ///
    /// - Parameter base: The URL of the file with the reference, below `folderOrigin`.
    private func fileTarget(
        _ reference: Span<UInt8>, _ base: WebURL?, _ encoding: TextEncoding
    ) -> (url: WebURL, fragment: String?)? {
        if let target = exactFileTarget(reference, base) { return target }
        var name: [UInt8] = []
        for byte in encoding.encode(reference) {
            let isUnescaped = byte < 0x80 && byte != UInt8(ascii: "\\") && byte != UInt8(ascii: "#")
            name += isUnescaped ? [byte] : Array("%\(Hex.encode([byte]))".utf8)
        }
        return name.count == reference.count ? nil : exactFileTarget(name.span, base)
    }

    private func exactFileTarget(
        _ reference: Span<UInt8>, _ base: WebURL?
    ) -> (url: WebURL, fragment: String?)? {
        guard let base, let target = WebURL(utf8: reference, base: base), target.origin == Self.folderOrigin,
            reference.count > 0, reference[0] != UInt8(ascii: "/")
        else { return nil }
        func decoded(_ text: String) -> String {
            FileName.text([UInt8](percentDecoding: Array(text.utf8).span))
        }
        let path = decoded(String(target.path.dropFirst()))
        // A query may be a part of the file name, as wget writes it.
        let names = [target.query.map { "\(path)?\(decoded($0))" }, path].compactMap { $0 }
        for name in names {
            if let entry = map.entry(named: name) { return (entry.url, target.fragment) }
        }
        return nil
    }

    /// Records the target of a link if it belongs to an origin of the folder.
    private func recordUnmatched(_ target: WebURL) {
        guard unmatchedURLs.count < Self.maxUnmatchedURLs, target.isHTTP, map.origins.contains(target.origin)
        else { return }
        unmatchedURLs.insert(target.key.href)
    }

    /// Adds UTF-8 as the character set to the headers of a page or text file that is UTF-8 and does not declare an
    /// encoding. Web servers usually send it, but the folder has no headers.
    private func addCharset(_ bytes: [UInt8], _ fields: inout HTTPFields) {
        guard let type = fields.contentType, type.charset == nil,
            ["text/html", "text/plain"].contains(type.essence),
            bytes.contains(where: { $0 >= 0x80 }), String(validating: bytes, as: UTF8.self) != nil
        else { return }
        let head = String(decoding: bytes.prefix(SavedPage.window), as: UTF8.self).lowercased()
        if head[...].range(of: "charset") == nil {
            fields.set("Content-Type", "\(type.essence); charset=utf-8")
        }
    }

    // MARK: - Further URLs of files

    /// Returns the response for a URL that no file is named after, as a web server might find it: the index
    /// page of a folder, a redirect to a folder, a page without its suffix, or a name with other escapes.
    /// Browsers do not rewrite links of some kinds when they save a page, so that only the file name shows
    /// the target.
    private func responseFromSimilarFile(at url: WebURL) throws(ArchiveError) -> ArchivedItem? {
        if let index = map.index(at: url.href) ?? ambiguousEntry(for: url, isOriginalReference: true) {
            let wasReturned = reassigned.contains(index) && linkedURLs[index] == url
            return wasReturned ? nil : try response(map.entries[index], at: url)
        }
        let (path, query) = (url.path, url.query.map { "?" + $0 } ?? "")
        if let folder = map.entry(at: "\(url.origin)\(path)/"), query.isEmpty {
            var redirect = ArchivedResponse(
                url: url.href, status: 301, fields: HTTPFields(), body: nil, fetched: max(0, folder.fetched))
            redirect.fields.append("Location", folder.url.target)
            return .response(redirect)
        }
        let hrefs = [
            path.hasSuffix("/index.html") ? "\(url.origin)\(path.dropLast(10))" : nil,
            path.hasSuffix("/") ? "\(url.origin)\(path)index.html" : nil, "\(url.origin)\(path).html\(query)",
        ]
        for case let href? in hrefs {
            if let entry = map.entry(at: href) { return try response(entry, at: url) }
        }
        let similar =
            entriesByDecodedURL[Self.percentDecoded(url)].map { map.entries[$0] } ?? map.asset(named: url)
        return try similar.map { (entry) throws(ArchiveError) in try response(entry, at: url) }
    }

    /// Returns a text that is equal for URLs that differ only in percent escapes.
    static func percentDecoded(_ url: WebURL) -> String {
        FileName.text([UInt8](percentDecoding: Array(url.href.utf8).span))
    }
}
