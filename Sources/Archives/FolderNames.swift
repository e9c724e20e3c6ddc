internal import Digest
internal import Web

/// Maps URLs to file names that are valid on every file system (FAT, NTFS, with or without case), that have
/// the suffix of their media type, and that need no escapes in links.
///
/// Add all URLs before you ask for names, because the name of a URL depends on collisions with others.
struct FolderNames: Sendable {
    private let start: WebURL
    /// Whether URLs with different queries never share a file.
    private let tellsQueriesApart: Bool
    /// The URL that has a path, by the hash of the path in lower case.
    private var taken: [UInt64: Owner] = [:]
    /// The hashes of all URLs.
    private var added: Set<UInt64> = []
    /// The contents of the URLs whose paths collide, by the hashes of the URLs.
    private var contents: [UInt64: UInt64] = [:]
    /// The hashes of the paths of files that several URLs share.
    private var shared: Set<UInt64> = []
    private var folders: Set<UInt64> = []

    /// The URL that gets a path if several collide: the start page, else the plainest URL, and a redirect only
    /// if nothing else does.
    private struct Owner: Comparable {
        /// The hash of the URL.
        let address: UInt64
        let rank: UInt64
        /// The hash of the path and the body; nil for a redirect.
        let content: UInt64?

        static func < (one: Owner, other: Owner) -> Bool {
            (one.rank, one.address) < (other.rank, other.address)
        }
    }

    /// The folder for files of other origins. No name of a site's own file begins like this.
    static let others = "~web"
    /// The start page of every export.
    static let index = "index.html"
    /// The name, in lower case, that no file of the site gets.
    private static let reserved = StartHere.name.lowercased()
    private static let longestSegment = 60
    /// The maximum length of a path. Windows allows 260 characters including the folder of the export.
    private static let longestPath = 160

    /// - Parameter tellsQueriesApart: Whether scripts of the site can read the query of a page.
    init(start: WebURL, tellsQueriesApart: Bool = false) {
        (self.start, self.tellsQueriesApart) = (start, tellsQueriesApart)
    }

    /// Two URLs of one path share a file if they have the same body, as `/` and `/index.html` usually do.
    ///
    /// - Parameters:
    ///   - type: The media type without parameters.
    ///   - body: The digest of the body; nil if it is not known.
    mutating func add(_ url: WebURL, _ type: String?, body: [UInt8]? = nil, isRedirect: Bool = false) {
        let own = candidate(url, type)
        let path = own.lowercased()
        let name = Self.hash(path)
        let query = tellsQueriesApart ? url.query ?? "" : ""
        let content = isRedirect ? nil : body.map { Self.hash("\(own)\n\(query)\n\(Hex.encode($0))") }
        let owner = Owner(
            address: Self.hash(url.href), rank: rank(url, isRedirect: isRedirect), content: content)
        if let other = taken[name], other.address != owner.address {
            if let content = other.content { contents[other.address] = content }
            if let content { contents[owner.address] = content }
            if let content, content == other.content { shared.insert(name) }
            taken[name] = min(other, owner)
        } else {
            taken[name] = owner
        }
        added.insert(owner.address)
        var end = path.utf8.startIndex
        while let slash = path.utf8[end...].firstIndex(of: UInt8(ascii: "/")) {
            folders.insert(Self.hash(String(path[..<slash])))
            end = path.utf8.index(after: slash)
        }
    }

    /// Whether this URL was added.
    func has(_ url: WebURL) -> Bool { added.contains(Self.hash(url.href)) }

    /// Returns the path of the file in the exported folder, with slashes.
    func name(of url: WebURL, _ type: String?) -> String {
        let path = candidate(url, type)
        return hasPath(path, url) ? path : Self.inserting("~" + Self.digest(url.href), in: path)
    }

    /// Whether the file of the URL has the path that follows from the URL alone, because no other one has it.
    func hasPlainName(_ url: WebURL, _ type: String?) -> Bool { hasPath(candidate(url, type), url) }

    private func hasPath(_ path: String, _ url: WebURL) -> Bool {
        let key = Self.hash(path.lowercased())
        guard !folders.contains(key), path.lowercased() != Self.reserved else { return false }
        guard let owner = taken[key] else { return true }
        let address = Self.hash(url.href)
        if owner.address == address { return true }
        guard let content = contents[address] else { return false }
        return content == owner.content
    }

    /// Whether several URLs have this file.
    func isShared(_ path: String) -> Bool { shared.contains(Self.hash(path.lowercased())) }

    private func rank(_ url: WebURL, isRedirect: Bool) -> UInt64 {
        let kind: UInt64 = isRedirect ? 2 : url.key == start.key ? 0 : 1
        let capitals = url.path.utf8.count { (0x41...0x5A).contains($0) }
        return kind << 48 | UInt64(min(url.href.utf8.count, 0xFFFF)) << 16 | UInt64(min(capitals, 0xFFFF))
    }

    /// Returns the relative path from the file `name` to the file `target`.
    static func reference(from name: String, to target: String) -> String {
        let (from, to) = (name.split(separator: "/").dropLast(), target.split(separator: "/"))
        let shared = zip(from, to.dropLast()).prefix { $0 == $1 }.count
        return String(repeating: "../", count: from.count - shared) + to[shared...].joined(separator: "/")
    }

    // MARK: - Single URLs

    private func candidate(_ url: WebURL, _ type: String?) -> String {
        var segments = url.path.split(separator: "/", omittingEmptySubsequences: true).map {
            Self.segment($0)
        }
        // Every export has its own files of these names, so folders of these names are renamed.
        if segments.count > 1 || url.path.hasSuffix("/"), let first = segments.first,
            [Self.index, Self.reserved].contains(first.lowercased()), url.origin == start.origin
        {
            segments[0] = Self.inserting("~" + Self.digest(first), in: first)
        }
        var file = url.path.hasSuffix("/") || segments.isEmpty ? "index" : segments.removeLast()
        file = Self.suffixed(file, type)
        // A path with two slashes in a row is a different URL. Queries are told apart where they collide.
        if url.path.contains("//") { file = Self.inserting("~" + Self.digest(url.path), in: file) }
        let origin = url.origin == start.origin ? [] : [Self.others, host(url)]
        let path = (origin + segments + [file]).joined(separator: "/")
        guard path.utf8.count > Self.longestPath else { return path }
        return (origin + ["~long", Self.inserting(Self.digest(url.href), in: Self.suffixed("x~", type))])
            .joined(
                separator: "/")
    }

    /// Returns the folder name of a host. A host may be called `..` or `nul`, be too long or end with a dot.
    private func host(_ url: WebURL) -> String {
        let name = String(
            decoding: url.host.utf8.map { Self.isPlain($0) ? $0 : UInt8(ascii: "-") }, as: UTF8.self)
        let port = url.port.map { "_\($0)" } ?? ""
        let whole = (url.scheme == start.scheme ? "" : url.scheme + "_") + name + port
        return Self.segment(whole[...])
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
            || byte == UInt8(ascii: "_")
    }

    /// Returns the segment if it is a valid name, else its valid characters with a digest of the whole
    /// segment.
    private static func segment(_ text: Substring) -> String {
        let bytes = Array(text.utf8)
        let first = bytes.first ?? UInt8(ascii: ".")
        let isFine =
            bytes.allSatisfy(isPlain) && first != UInt8(ascii: ".") && bytes.last != UInt8(ascii: ".")
            && bytes.count <= longestSegment && !isReserved(text)
        if isFine { return String(text) }
        // The suffix is kept, because it shows the type.
        var (stem, suffix) = split(String(text))
        if !suffix.utf8.allSatisfy({ isPlain($0) }) { (stem, suffix) = (String(text), "") }
        var plain = stem.utf8.prefix(longestSegment / 2).map { isPlain($0) ? $0 : UInt8(ascii: "-") }
        while plain.first == UInt8(ascii: ".") || plain.first == UInt8(ascii: "-") { plain.removeFirst() }
        while plain.last == UInt8(ascii: ".") { plain.removeLast() }
        // Windows ignores everything after the first dot: `nul.tar~1234.gz` is a device too.
        if isReserved(text) || isReserved(Substring(decoding: plain, as: UTF8.self)) {
            plain = plain.map { $0 == UInt8(ascii: ".") ? UInt8(ascii: "-") : $0 }
        }
        return String(decoding: plain, as: UTF8.self) + "~" + digest(String(text)) + suffix
    }

    /// Whether Windows takes the name for a device, regardless of its suffix.
    private static func isReserved(_ text: Substring) -> Bool {
        let stem = text.prefix { $0 != "." }.lowercased()
        if ["con", "prn", "aux", "nul"].contains(stem) { return true }
        return stem.utf8.count == 4 && (stem.hasPrefix("com") || stem.hasPrefix("lpt"))
            && stem.utf8.last?.isDigit ?? false
    }

    private static func split(_ name: String) -> (stem: String, suffix: String) {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > name.utf8.startIndex else {
            return (name, "")
        }
        let suffix = name[dot...]
        let isOne =
            (2...9).contains(suffix.utf8.count)
            && suffix.utf8.dropFirst().allSatisfy { $0.isLetter || $0.isDigit }
        return isOne ? (String(name[..<dot]), String(suffix)) : (name, "")
    }

    private static func inserting(_ text: String, in path: String) -> String {
        let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[...$0] } ?? ""
        let (stem, suffix) = split(String(path.dropFirst(folder.count)))
        return folder + stem + text + suffix
    }

    /// Adds the suffix of the media type if necessary. Servers and browsers determine the type of a file by
    /// its suffix.
    private static func suffixed(_ name: String, _ type: String?) -> String {
        let suffix = split(name).suffix.dropFirst().lowercased()
        guard let known = suffixes[type ?? ""], let first = known.first else { return name }
        return known.contains(suffix)
            || (type == "text/plain" && !suffix.isEmpty && !misleading.contains(suffix))
            ? name : "\(name).\(first)"
    }

    private static let misleading: Set<String> = ["html", "htm", "xhtml", "css", "js", "svg", "xml"]

    private static let suffixes: [String: [String]] = [
        "text/html": ["html", "htm"], "application/xhtml+xml": ["xhtml", "xht"], "text/css": ["css"],
        "text/javascript": ["js", "mjs", "cjs"], "application/javascript": ["js", "mjs", "cjs"],
        "application/x-javascript": ["js", "mjs"], "application/json": ["json", "map", "webmanifest"],
        "application/manifest+json": ["webmanifest", "json"], "image/svg+xml": ["svg"], "image/png": ["png"],
        "image/jpeg": ["jpg", "jpeg", "jfif"], "image/gif": ["gif"], "image/webp": ["webp"],
        "image/avif": ["avif"],
        "image/x-icon": ["ico"], "image/vnd.microsoft.icon": ["ico"], "font/woff": ["woff"],
        "font/woff2": ["woff2"],
        "font/ttf": ["ttf"], "font/otf": ["otf"], "video/mp4": ["mp4", "m4v"], "video/webm": ["webm"],
        "audio/mpeg": ["mp3"], "audio/ogg": ["ogg", "oga"], "application/pdf": ["pdf"],
        "application/wasm": ["wasm"],
        "application/xml": ["xml", "rss", "atom", "xsl"], "text/xml": ["xml", "rss", "atom", "xsl"],
        "application/rss+xml": ["xml", "rss"], "application/atom+xml": ["xml", "atom"], "text/plain": ["txt"],
    ]

    /// Returns 48 bits of a digest, which makes collisions very unlikely.
    private static func digest(_ text: String) -> String {
        Hex.encode(DigestStream.digest(.sha256, of: Array(text.utf8).span).bytes.prefix(6))
    }

    private static func hash(_ text: String) -> UInt64 {
        DigestStream.digest(.md5, of: Array(text.utf8).span).bytes.prefix(8).reduce(0) {
            $0 << 8 | UInt64($1)
        }
    }
}

extension UInt8 {
    fileprivate var isLetter: Bool { (0x61...0x7A).contains(self | 0x20) }
    fileprivate var isDigit: Bool { (0x30...0x39).contains(self) }
}
