internal import Markup
internal import Store
internal import System
internal import Web

/// Reads a folder of files as an archive. Each file becomes a response for its original URL, and links that
/// were rewritten to files become links to URLs again.
///
/// Some file names may stand for several URLs. These entries are read last, when links in the other files
/// have shown which URL is right.
final class FolderReader: ArchiveReader {
    private let source: any FileSource
    private let map: FolderMap
    private let keeping: BodyKeeping
    private let limits: ArchiveLimits
    private let scanner = LinkScanner()
    private var faults: ArraySlice<ArchiveFault>
    private var own: Int
    /// The indexes of the entries still to be read. Entries with uncertain URLs come last.
    private var order: ArraySlice<Int>
    /// The uncertain entries by the normalized URL and by the file name.
    private var (uncertain, names): ([String: Int], [String: Int]) = ([:], [:])
    /// Entries whose assumed URL is the target of a link.
    private var confirmed: Set<Int> = []
    /// Other URLs of uncertain entries that are targets of links.
    private var told: [Int: WebURL] = [:]
    /// Entries that were returned with a URL from `told`.
    private var moved: Set<Int> = []
    /// URLs of the folder's origins that are targets of links and that no file is named after.
    private var wanted: Set<String> = []
    /// The URLs in `wanted` that are still to be looked up; nil until all entries are read.
    private var others: ArraySlice<String>?
    /// Entries by their percent-decoded URLs.
    private var loose: [String: Int] = [:]

    /// The number of bytes that may still be read. It limits how often a large file is read for different
    /// URLs, which a list or links with many spellings of a URL could cause.
    private var left: Int64

    private static let mostWanted = 200_000
    private static let mostReadings: Int64 = 4
    private static let leastRead: Int64 = 64 << 20

    init(
        _ source: any FileSource, base: WebURL?, isPage: Bool = false, _ keeping: BodyKeeping,
        _ limits: ArchiveLimits
    ) throws(ArchiveError) {
        (self.source, self.keeping, self.limits) = (source, keeping, limits)
        guard !source.files.isEmpty || !source.faults.isEmpty else {
            throw ArchiveError(.input, "\(source.name) contains no files; name another folder or file")
        }
        map = try FolderMap(source, base: base, isPage: isPage, limits)
        faults = map.faults[...]
        own = map.ownCount
        left = Self.readings(of: source.files, limits)
        var (certain, last): ([Int], [Int]) = ([], [])
        for (number, entry) in map.entries.enumerated() {
            guard let name = entry.uncertain, entry.url.href != map.start else {
                certain.append(number)
                continue
            }
            last.append(number)
            uncertain[Self.said(by: entry.url)] = number
            names[name] = number
        }
        order = (certain + last)[...]
    }

    /// Returns the uncertain entry that the URL may belong to.
    ///
    /// - Parameter isAsItCame: Whether no tool has rewritten the reference, so that the file name may derive
    ///   from it.
    private func uncertain(_ url: WebURL, isAsItCame: Bool) -> Int? {
        guard !uncertain.isEmpty else { return nil }
        return uncertain[Self.said(by: url)] ?? (isAsItCame ? names[Self.loose(url)] : nil)
    }

    /// Whether the reference may be the original one. A rewritten reference is relative and has no unescaped
    /// question mark.
    private static func isAsItCame(_ reference: Span<UInt8>, _ entry: FolderMap.Entry) -> Bool {
        guard entry.isConverted, reference.count > 0, reference[0] != UInt8(ascii: "/") else { return true }
        for place in 0..<reference.count where reference[place] == UInt8(ascii: "?") { return true }
        return false
    }

    /// Returns a text that is equal for URLs that may have the same file name. It ignores differences in
    /// percent escapes, except for slashes in paths and percent signs that escape nothing.
    private static func said(by url: WebURL) -> String {
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
    private static func readings(of files: [SourceFile], _ limits: ArchiveLimits) -> Int64 {
        var (own, linked, seen): (Int64, Int64, Set<Int>) = (leastRead, 0, [])
        for file in files {
            if seen.insert(file.number).inserted {
                own += mostReadings * file.byteCount
            } else if linked < Int64(limits.allowance) {
                linked += file.byteCount
            }
        }
        return own + min(linked, Int64(limits.allowance))
    }

    var start: String? { map.start }

    func next() throws(ArchiveError) -> ArchivedItem? {
        if let fault = faults.popFirst() { return .fault(fault) }
        if own > 0 {
            own -= 1
            return .other
        }
        if let number = order.popFirst() {
            let entry = map.entries[number]
            guard let url = told[number], !confirmed.contains(number) else {
                return try item(entry, at: entry.url)
            }
            moved.insert(number)
            return try item(entry, at: url)
        }
        if others == nil {
            for (number, entry) in map.entries.enumerated() { loose[Self.loose(entry.url)] = number }
            // Larder's list contains the URLs of all exported responses.
            others = map.isLarders ? [] : wanted.sorted()[...]
        }
        while let href = others?.popFirst() {
            if let url = WebURL(href), let item = try other(url) { return item }
        }
        return nil
    }

    // MARK: - Answers

    private func item(_ entry: FolderMap.Entry, at url: WebURL) throws(ArchiveError) -> ArchivedItem {
        var response = ArchivedResponse(
            url: url.href, status: entry.status, fields: entry.fields ?? HTTPFields(), body: nil,
            fetched: max(0, HTTPDate(secondsSinceEpoch: entry.fetched).secondsSinceEpoch))
        guard left >= 0 else {
            return .fault(
                ArchiveFault("its file has too many URLs", url: url.href, at: place(of: entry)))
        }
        let spool = BodySpool(keeping)
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
                try spool.take(piece)
            }
            if let bytes = whole, bytes.count > BodyReading.byteLimit {
                whole = nil
                try bytes.withBytes { (bytes) throws(ArchiveError) in try spool.take(bytes) }
            }
            left -= Int64(piece.count)
            return true
        }
        if let reason { return .fault(ArchiveFault(reason, url: url.href, at: place(of: entry))) }
        if case .none = entry.content { return .response(response) }
        // Larder's list contains all response headers.
        if !map.isLarders, response.fields["Content-Type"] == nil {
            response.fields.append(
                "Content-Type", FileTypes.type(of: url, file: entry.name, beginning: beginning))
        }
        if var bytes = whole {
            if !BodyFormat.isOpaque(response.fields.contentType) {
                read(&bytes, of: url, entry, &response.fields)
                response.isLedBack = entry.isConverted
            }
            try bytes.withBytes { (bytes) throws(ArchiveError) in try spool.take(bytes) }
        }
        response.body = try spool.finish()
        return .response(response)
    }

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
            guard let input = try map.cache?.input(packed), let content = packed.content else {
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
    private func read(
        _ bytes: inout [UInt8], of url: WebURL, _ entry: FolderMap.Entry, _ fields: inout HTTPFields
    ) {
        let format = BodyFormat(mediaType: fields.contentType, url: url, body: bytes.span)
        if map.isLarders {
            bytes = EncodingMark.undone(FolderScript.undone(bytes, format), fields.contentType, format)
        }
        sayCharset(bytes, &fields)
        let reading = scanner.read(bytes.span, of: url, as: fields.contentType)
        let table = reading.table
        guard !table.occurrences.isEmpty else { return }
        let base = table.base.flatMap { WebURL($0, base: url) } ?? url
        let file = entry.name.flatMap {
            WebURL(Self.folder + FolderAddresses(names: []).target(of: $0, keepsIndex: true))
        }
        let fileBase = table.base.flatMap { WebURL($0, base: file) } ?? file
        let source = table.source(of: bytes.span) ?? bytes
        let changes = map.isLarders && format == .html ? FolderWriter.asking(source, table) : []
        var isChanged = !changes.isEmpty
        let patch = Patch(source.span, table, changes: changes) { occurrence, reference in
            let flags = occurrence.flags
            guard occurrence.kind != .base, !flags.contains(.isFragment), !flags.contains(.hasCodebase) else {
                return nil
            }
            let target = WebURL(
                utf8: reference, base: flags.contains(.ignoresBase) ? url : base,
                queryEncoding: table.encoding)
            let known = target.flatMap { map.number(at: $0.key.href) }
            let isKnown = known.map { !moved.contains($0) } ?? false
            if let known, !uncertain.isEmpty { confirmed.insert(known) }
            if !isKnown, !flags.contains(.isGuess), let target,
                let number = uncertain(target, isAsItCame: Self.isAsItCame(reference, entry))
            {
                told[number] = told[number] ?? target.key
            } else if entry.isConverted, map.leadsByFiles || !isKnown, !flags.contains(.isGuess),
                var led = lead(reference, flags.contains(.ignoresBase) ? file : fileBase, table.encoding)
            {
                if let number = map.number(at: led.url.href), !uncertain.isEmpty {
                    confirmed.insert(number)
                    if moved.contains(number), let url = told[number] { led.url = url }
                }
                let end = led.fragment.map { "#" + $0 } ?? ""
                let text =
                    (led.url.origin == url.origin && table.base == nil ? led.url.target : led.url.href) + end
                if target?.href != led.url.href + end {
                    isChanged = true
                    return text
                }
            }
            if let target, !isKnown { want(target) }
            return nil
        }
        guard isChanged else { return }
        bytes = patch.applied(to: source)
        if table.isTranscoded, let type = fields.contentType {
            fields.set("Content-Type", "\(type.essence); charset=utf-8")
        }
    }

    /// A placeholder origin for the folder, used only to resolve file names. No response contains it.
    private static let folder = "http://folder.invalid"

    /// Returns the URL of the file that a reference leads to from a file in the folder. Tools write the bytes
    /// of file names into pages of any encoding. They also write unescaped backslashes (wget) and number
    /// signs (wget2).
    private func lead(
        _ reference: Span<UInt8>, _ base: WebURL?, _ encoding: TextEncoding
    ) -> (url: WebURL, fragment: String?)? {
        if let found = lead(reference, base) { return found }
        var name: [UInt8] = []
        for byte in encoding.encode(reference) {
            let isKept = byte < 0x80 && byte != UInt8(ascii: "\\") && byte != UInt8(ascii: "#")
            name += isKept ? [byte] : Array("%\(Hex.encode([byte]))".utf8)
        }
        return name.count == reference.count ? nil : lead(name.span, base)
    }

    private func lead(_ reference: Span<UInt8>, _ base: WebURL?) -> (url: WebURL, fragment: String?)? {
        guard let base, let target = WebURL(utf8: reference, base: base), target.origin == Self.folder,
            reference.count > 0, reference[0] != UInt8(ascii: "/")
        else { return nil }
        func decoded(_ text: String) -> String {
            FileName.text([UInt8](percentDecoding: Array(text.utf8).span))
        }
        let path = decoded(String(target.path.dropFirst()))
        let names = [target.query.map { "\(path)?\(decoded($0))" }, path].compactMap { $0 }
        for name in names {
            if let found = map.entry(named: name) { return (found.url, target.fragment) }
        }
        return nil
    }

    private func want(_ target: WebURL) {
        guard wanted.count < Self.mostWanted, target.isHTTP, map.origins.contains(target.origin) else {
            return
        }
        wanted.insert(target.key.href)
    }

    private func sayCharset(_ bytes: [UInt8], _ fields: inout HTTPFields) {
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
    private func other(_ url: WebURL) throws(ArchiveError) -> ArchivedItem? {
        if let number = map.number(at: url.href) ?? uncertain(url, isAsItCame: true) {
            let hasCome = moved.contains(number) && told[number] == url
            return hasCome ? nil : try item(map.entries[number], at: url)
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
            if let entry = map.entry(at: href) { return try item(entry, at: url) }
        }
        let like = loose[Self.loose(url)].map { map.entries[$0] } ?? map.entry(besidePages: url)
        return try like.map { (entry) throws(ArchiveError) in try item(entry, at: url) }
    }

    /// Returns a text that is equal for URLs that differ only in percent escapes.
    static func loose(_ url: WebURL) -> String {
        FileName.text([UInt8](percentDecoding: Array(url.href.utf8).span))
    }
}
