internal import Web

/// The original URL and time of a page that a browser or a mirroring tool saved, as the page itself states them.
struct SavedPage: Equatable {
    var url: String
    /// Seconds since 1970; nil if the page does not contain the time.
    var date: Int64?

    /// The number of bytes at the beginning of a page that are searched.
    static let window = 4096

    /// Returns the possible names of the folder with the assets of a saved page.
    static func folders(of file: String) -> [String] {
        guard let stem = stem(of: file) else { return [] }
        return folders.map { stem + $0 }
    }

    /// The suffixes of folders with assets, as browsers write them in several languages.
    private static let folders = ["_files", ".files", "_Dateien", "_fichiers", "_archivos"]

    /// Whether the name is that of a folder with the assets of a saved page.
    static func isFolder(_ name: Substring) -> Bool { folders.contains { name.hasSuffix($0) } }

    /// Returns the name of an HTML file without its suffix. Returns nil for other files.
    private static func stem(of file: String) -> Substring? {
        let name = file.lowercased()
        return [".html", ".htm", ".xhtml"].first(where: name.hasSuffix).map { file.dropLast($0.count) }
    }

    /// Whether the file name has a suffix of HTML pages.
    static func isPage(_ file: String) -> Bool { stem(of: file) != nil }

    /// Reads the comments that browsers (`saved from url`), SingleFile and HTTrack write at the beginning of
    /// a page. Returns nil if there is none.
    init?(_ beginning: [UInt8]) {
        let text = String(decoding: beginning.prefix(Self.window), as: UTF8.self)
        var rest = text[...]
        while let start = rest.range(of: "<!--") {
            rest = rest[start.upperBound...]
            guard let end = rest.range(of: "-->") else { return nil }
            if let page = Self(comment: rest[..<end.lowerBound]) {
                self = page
                return
            }
            rest = rest[end.upperBound...]
        }
        return nil
    }

    /// Reads the URL that a page names in `rel=canonical` or `og:url`. Firefox does not write the URL from
    /// which it saved a page.
    init?(naming beginning: [UInt8]) {
        let text = String(decoding: beginning.prefix(Self.namingWindow), as: UTF8.self)
        var rest = text[...]
        while let start = rest.range(of: "<") {
            rest = rest[start.upperBound...]
            let tag = rest.prefix { $0 != ">" && $0 != "<" }
            let isNaming =
                tag.hasPrefix("link ") && Self.value(of: "rel", in: tag)?.lowercased() == "canonical"
                || tag.hasPrefix("meta ") && Self.value(of: "property", in: tag) == "og:url"
            let address = Self.value(of: tag.hasPrefix("link ") ? "href" : "content", in: tag)
            if isNaming, let address, let page = Self(address: address, date: nil) {
                self = page
                return
            }
        }
        return nil
    }

    /// The number of bytes that are searched for the page's own URL, because the head can be long.
    static let namingWindow = 64 << 10

    /// Returns the value of an attribute as Firefox writes it: in double quotes, with few character
    /// references.
    private static func value(of name: String, in tag: Substring) -> Substring? {
        guard let start = tag.range(of: " \(name)=\"") else { return nil }
        let value = tag[start.upperBound...].prefix { $0 != "\"" }
        return value.replacing("&amp;", with: "&")[...]
    }

    /// Parses the text of a comment. Returns nil if it does not state a URL.
    private init?(comment: Substring) {
        let comment = comment.trimmed
        if comment.hasPrefix("saved from url=("), let end = comment.firstIndex(of: ")") {
            // The length of the URL comes first, but tools count it differently. A comment must not contain
            // two dashes, so Chromium escapes every second one.
            let address = comment[comment.index(after: end)...].split(
                separator: "-%2D", omittingEmptySubsequences: false)
            self.init(address: address.joined(separator: "--")[...], date: nil)
        } else if comment.hasPrefix("Page saved with SingleFile") {
            var (url, date): (Substring?, Int64?) = (nil, nil)
            for line in comment.split(whereSeparator: \.isNewline).map(\.trimmed) {
                if line.hasPrefix("url:") { url = line.dropFirst(4) }
                if line.hasPrefix("saved date:") { date = Self.date(line.dropFirst(11)) }
            }
            guard let url else { return nil }
            self.init(address: url, date: date)
        } else if comment.hasPrefix("Mirrored from "),
            let end = comment.range(of: " by HTTrack Website Copier")
        {
            let date = comment.lastIndex(of: "]").flatMap {
                Self.date(comment[comment.index(after: $0)...].dropFirst())
            }
            let address = comment[..<end.lowerBound].dropFirst(14)
            // HTTrack omits the scheme for http.
            self.init(address: address.range(of: "://") == nil ? "http://\(address)" : address, date: date)
        } else {
            return nil
        }
    }

    private init?(address: Substring, date: Int64?) {
        guard let url = WebURL(String(address.trimmed)), url.isHTTP else { return nil }
        self.init(url: url.key.href, date: date)
    }

    init(url: String, date: Int64?) {
        (self.url, self.date) = (url, date)
    }

    /// Parses a time as browsers and tools write it.
    private static func date(_ text: Substring) -> Int64? {
        // Browsers append the name of the time zone in parentheses.
        HTTPDate(String(text.prefix { $0 != "(" }.trimmed)).map(\.secondsSinceEpoch)
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        var text = self
        while let first = text.first, first.isWhitespace { text.removeFirst() }
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return text
    }

    /// Returns the first range of the text in this one.
    func range(of text: String) -> Range<Index>? {
        let (bytes, pattern) = (utf8, Array(text.utf8))
        guard let first = pattern.first else { return nil }
        var searchStart = bytes.startIndex
        while let index = bytes[searchStart...].firstIndex(of: first) {
            if bytes[index...].starts(with: pattern) {
                return index..<bytes.index(index, offsetBy: pattern.count)
            }
            searchStart = bytes.index(after: index)
        }
        return nil
    }
}

// MARK: - In folders

extension FolderMap {
    /// Adds every page that states its URL, with the assets beside it. Returns false if there is no such
    /// page.
    mutating func readSavedPages(
        _ namedFiles: [NamedFile], _ source: any FileSource
    ) throws(ArchiveError) -> Bool {
        var remainingPages = Self.maxSavedPages
        let assetFiles = Self.assetFiles(namedFiles)
        for (file, name) in namedFiles
        where SavedPage.isPage(name) && indexByName[name] == nil && remainingPages > 0 {
            remainingPages -= 1
            if let page = try savedPage((file, name), assetFiles, source) {
                try addSavedPage((file, name), assetFiles, page, source)
            }
        }
        guard !entries.isEmpty else { return false }
        for (file, name) in namedFiles where indexByName[name] == nil {
            addFault("no page says what its URL is", file, source)
        }
        return true
    }

    /// The maximum number of pages that are searched for their URL. Further pages are refused.
    private static let maxSavedPages = 10_000

    /// Returns the URL and time that a page states. A page without them that has a folder of assets uses the
    /// URL that it names as its own, with a doubtful fault.
    ///
    /// - Parameter hasBase: Whether the user named the URL, so that a page that states none needs no other one.
    mutating func savedPage(
        _ page: NamedFile, _ assetFiles: [Substring: [NamedFile]], _ source: any FileSource,
        hasBase: Bool = false
    ) throws(ArchiveError) -> SavedPage? {
        if let saved = SavedPage(try source.beginning(of: page.file, SavedPage.window)) { return saved }
        guard !hasBase, Self.folders(of: page.name).contains(where: { assetFiles[$0[...]] != nil }),
            let namedPage = SavedPage(naming: try source.beginning(of: page.file, SavedPage.namingWindow))
        else { return nil }
        let reason = "nothing says where it was saved from: the URL that it names as its own is used"
        faults.append(ArchiveFault(reason, url: namedPage.url, at: source.place(of: page.file), .doubtful))
        return namedPage
    }

    /// Returns the possible paths of the folder with the assets of a page.
    private static func folders(of page: String) -> [String] {
        let slash = page.lastIndex(of: "/").map { page.index(after: $0) } ?? page.startIndex
        return SavedPage.folders(of: String(page[slash...])).map { page[..<slash] + $0 + "/" }
    }

    /// Returns the files in folders of saved pages, by the outermost of these folders.
    static func assetFiles(_ namedFiles: [NamedFile]) -> [Substring: [NamedFile]] {
        var assetFiles: [Substring: [NamedFile]] = [:]
        for (file, name) in namedFiles {
            var start = name.startIndex
            while let slash = name[start...].firstIndex(of: "/") {
                if SavedPage.isFolder(name[start..<slash]) {
                    assetFiles[name[...slash], default: []].append((file, name))
                    break
                }
                start = name.index(after: slash)
            }
        }
        return assetFiles
    }

    /// Adds a page and the assets beside it. The URL of an asset is the link into the folder, resolved
    /// against the URL of the page. Saved pages in frames state their own URLs.
    mutating func addSavedPage(
        _ page: NamedFile, _ assetFiles: [Substring: [NamedFile]], _ saved: SavedPage,
        _ source: any FileSource
    ) throws(ArchiveError) {
        guard let url = WebURL(saved.url) else { return }
        let (pageName, fetched) = (page.name, saved.date ?? page.file.modified)
        start = start ?? url.href
        add(
            Entry(
                url: url.key, content: .file(page.file), fetched: fetched, isConverted: true, name: pageName))
        let slash = pageName.lastIndex(of: "/").map { pageName.index(after: $0) } ?? pageName.startIndex
        let folders = Self.folders(of: pageName)
        let mapper = FileURLMapper(names: [])
        for (file, name) in folders.flatMap({ assetFiles[$0[...]] ?? [] }) where indexByName[name] == nil {
            let reference = mapper.target(of: String(name[slash...]), keepsIndex: true).dropFirst()
            guard let target = WebURL("./" + reference, base: url) else { continue }
            var entry = Entry(
                url: target.key, content: .file(file), fetched: fetched, isConverted: true, name: name)
            if SavedPage.isPage(name),
                let statedURL = SavedPage(try source.beginning(of: file, SavedPage.window)).flatMap({
                    WebURL($0.url)
                })
            {
                (entry.url, entry.alternativeURL) = (statedURL.key, target.key)
            }
            add(entry)
            recordOriginalName(ofAsset: name)
        }
    }

    /// Records the original name of an asset. Browsers distinguish equal names by numbers: `a.png` and
    /// `a(1).png`.
    private mutating func recordOriginalName(ofAsset name: String) {
        guard let index = indexByName[name], let last = name.split(separator: "/").last else { return }
        var originalName = String(last)
        if let open = last.lastIndex(of: "("), let close = last[open...].firstIndex(of: ")"),
            Int(last[last.index(after: open)..<close]) != nil
        {
            originalName = String(last[..<open] + last[last.index(after: close)...])
        }
        assetsByOriginalName[originalName] = .some(assetsByOriginalName[originalName] == nil ? index : nil)
    }
}
