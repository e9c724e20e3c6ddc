internal import Digest
internal import Web

/// Maps URLs to file names that are valid on every file system (FAT, NTFS, with or without case), that have
/// the suffix of their media type, and that need no escapes in links.
///
/// Each URL has a preferred path, which follows from the URL and its media type alone: `/docs/` of an HTML page becomes
/// `docs/index.html`. If the preferred paths of several URLs collide, one URL gets the path (its owner), URLs with the
/// same body share the file, and the others get a digest of the URL: `docs/index~5f36b2ea290e.html`.
///
/// Add all URLs before you ask for names, because the name of a URL depends on collisions with others. To keep the
/// memory for a million URLs small, only hashes of paths and URLs are stored.
struct FolderNames: Sendable {
    private let start: WebURL
    /// Whether URLs with different queries never share a file.
    private let distinguishesQueries: Bool
    /// The URL that has a path, by the hash of the path in lower case.
    private var ownersByPath: [UInt64: PathOwner] = [:]
    /// The hashes of all URLs.
    private var addedURLs: Set<UInt64> = []
    /// The contents of the URLs whose paths collide, by the hashes of the URLs.
    private var contentsOfCollidingURLs: [UInt64: UInt64] = [:]
    /// The hashes of the paths of files that several URLs share.
    private var sharedPaths: Set<UInt64> = []
    /// The hashes of the paths of folders, which no file can have.
    private var folderPaths: Set<UInt64> = []

    /// The URL that gets a path if several collide: the start page, else the plainest URL, and a redirect only
    /// if nothing else does.
    private struct PathOwner: Comparable {
        let urlHash: UInt64
        /// The lowest rank of the colliding URLs wins.
        let rank: UInt64
        /// The hash of the path and the body; nil for a redirect.
        let content: UInt64?

        static func < (one: PathOwner, other: PathOwner) -> Bool {
            (one.rank, one.urlHash) < (other.rank, other.urlHash)
        }
    }

    /// The folder for files of other origins. No name of a site's own file begins like this.
    static let otherOriginsFolder = "~web"
    /// The start page of every export.
    static let index = "index.html"
    /// The name, in lower case, that no file of the site gets.
    private static let reserved = StartHere.name.lowercased()
    /// The maximum length of a part of a path. A longer part is shortened and gets a digest.
    private static let maxSegmentBytes = 60
    /// The maximum length of a path. Windows allows 260 characters including the folder of the export. A longer path
    /// is replaced by a digest in the folder `~long`.
    private static let maxPathBytes = 160

    /// - Parameter distinguishesQueries: Whether scripts of the site can read the query of a page.
    init(start: WebURL, distinguishesQueries: Bool = false) {
        (self.start, self.distinguishesQueries) = (start, distinguishesQueries)
    }

    /// Adds a URL that becomes a file. Two URLs with the same preferred path share a file if they have the same body,
    /// as `/` and `/index.html` usually do.
    ///
    /// - Parameters:
    ///   - type: The media type without parameters.
    ///   - body: The digest of the body; nil if it is not known.
    mutating func add(_ url: WebURL, _ type: String?, body: [UInt8]? = nil, isRedirect: Bool = false) {
        let preferred = preferredPath(url, type)
        let path = preferred.lowercased()
        let pathHash = Self.hash(path)
        let query = distinguishesQueries ? url.query ?? "" : ""
        let content = isRedirect ? nil : body.map { Self.hash("\(preferred)\n\(query)\n\(Hex.encode($0))") }
        let owner = PathOwner(
            urlHash: Self.hash(url.href), rank: rank(url, isRedirect: isRedirect), content: content)
        if let other = ownersByPath[pathHash], other.urlHash != owner.urlHash {
            if let content = other.content { contentsOfCollidingURLs[other.urlHash] = content }
            if let content { contentsOfCollidingURLs[owner.urlHash] = content }
            if let content, content == other.content { sharedPaths.insert(pathHash) }
            ownersByPath[pathHash] = min(other, owner)
        } else {
            ownersByPath[pathHash] = owner
        }
        addedURLs.insert(owner.urlHash)
        var end = path.utf8.startIndex
        while let slash = path.utf8[end...].firstIndex(of: UInt8(ascii: "/")) {
            folderPaths.insert(Self.hash(String(path[..<slash])))
            end = path.utf8.index(after: slash)
        }
    }

    /// Whether this URL was added.
    func has(_ url: WebURL) -> Bool { addedURLs.contains(Self.hash(url.href)) }

    /// Returns the path of the file in the exported folder, with slashes.
    func name(of url: WebURL, _ type: String?) -> String {
        let path = preferredPath(url, type)
        return hasPath(path, url) ? path : Self.inserting("~" + Self.digest(url.href), in: path)
    }

    /// Whether the file of the URL has its preferred path, without a digest.
    func hasPreferredPath(_ url: WebURL, _ type: String?) -> Bool {
        hasPath(preferredPath(url, type), url)
    }

    /// Whether the URL owns the path, or shares the file of its owner.
    private func hasPath(_ path: String, _ url: WebURL) -> Bool {
        let pathHash = Self.hash(path.lowercased())
        guard !folderPaths.contains(pathHash), path.lowercased() != Self.reserved else { return false }
        guard let owner = ownersByPath[pathHash] else { return true }
        let urlHash = Self.hash(url.href)
        if owner.urlHash == urlHash { return true }
        guard let content = contentsOfCollidingURLs[urlHash] else { return false }
        return content == owner.content
    }

    /// Whether several URLs have this file.
    func isShared(_ path: String) -> Bool { sharedPaths.contains(Self.hash(path.lowercased())) }

    /// Returns the rank of a URL: the start page first, redirects last, then by the length of the URL and the number of
    /// its capital letters.
    private func rank(_ url: WebURL, isRedirect: Bool) -> UInt64 {
        let kind: UInt64 = isRedirect ? 2 : url.key == start.key ? 0 : 1
        let capitals = url.path.utf8.count { (0x41...0x5A).contains($0) }
        return kind << 48 | UInt64(min(url.href.utf8.count, 0xFFFF)) << 16 | UInt64(min(capitals, 0xFFFF))
    }

    /// Returns the relative path from the file `name` to the file `target`.
    static func reference(from name: String, to target: String) -> String {
        let (from, to) = (name.split(separator: "/").dropLast(), target.split(separator: "/"))
        let commonDepth = zip(from, to.dropLast()).prefix { $0 == $1 }.count
        return String(repeating: "../", count: from.count - commonDepth)
            + to[commonDepth...].joined(separator: "/")
    }

    // MARK: - Single URLs

    /// Returns the path that follows from the URL and its media type alone.
    private func preferredPath(_ url: WebURL, _ type: String?) -> String {
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
        file = Self.withTypeSuffix(file, type)
        // A path with two slashes in a row is a different URL. Queries are distinguished only where they collide.
        if url.path.contains("//") { file = Self.inserting("~" + Self.digest(url.path), in: file) }
        let origin = url.origin == start.origin ? [] : [Self.otherOriginsFolder, host(url)]
        let path = (origin + segments + [file]).joined(separator: "/")
        guard path.utf8.count > Self.maxPathBytes else { return path }
        return
            (origin + ["~long", Self.inserting(Self.digest(url.href), in: Self.withTypeSuffix("x~", type))])
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

    /// Returns the name of the folder that encloses the files of a site in a zip file: the host and the path of the site's URL,
    /// as in `example.com-docs`.
    static func enclosingFolder(ofSite name: String) -> String {
        var text = name
        if let url = WebURL(name) {
            let host = url.host + (url.port.map { "_\($0)" } ?? "")
            text = ([host] + url.path.split(separator: "/").map(String.init)).joined(separator: "-")
        }
        let plain = text.utf8.map { isPlain($0) ? $0 : UInt8(ascii: "-") }
        // Commands would take a name that begins with a hyphen for an option.
        return segment(Substring(decoding: plain.drop { $0 == UInt8(ascii: "-") }, as: UTF8.self))
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
            && bytes.count <= maxSegmentBytes && !isReserved(text)
        if isFine { return String(text) }
        // The suffix is kept, because it shows the type.
        var (stem, suffix) = splitSuffix(String(text))
        if !suffix.utf8.allSatisfy({ isPlain($0) }) { (stem, suffix) = (String(text), "") }
        var plain = stem.utf8.prefix(maxSegmentBytes / 2).map { isPlain($0) ? $0 : UInt8(ascii: "-") }
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

    /// Splits a name into a stem and a suffix of up to 8 letters and digits after the last dot.
    private static func splitSuffix(_ name: String) -> (stem: String, suffix: String) {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > name.utf8.startIndex else {
            return (name, "")
        }
        let suffix = name[dot...]
        let isSuffix =
            (2...9).contains(suffix.utf8.count)
            && suffix.utf8.dropFirst().allSatisfy { $0.isLetter || $0.isDigit }
        return isSuffix ? (String(name[..<dot]), String(suffix)) : (name, "")
    }

    /// Returns the path with a text inserted before the suffix.
    private static func inserting(_ text: String, in path: String) -> String {
        let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[...$0] } ?? ""
        let (stem, suffix) = splitSuffix(String(path.dropFirst(folder.count)))
        return folder + stem + text + suffix
    }

    /// Adds the suffix of the media type if necessary. Servers and browsers determine the type of a file by
    /// its suffix.
    private static func withTypeSuffix(_ name: String, _ type: String?) -> String {
        let suffix = splitSuffix(name).suffix.dropFirst().lowercased()
        guard let known = suffixes[type ?? ""], let first = known.first else { return name }
        return known.contains(suffix)
            || (type == "text/plain" && !suffix.isEmpty && !misleading.contains(suffix))
            ? name : "\(name).\(first)"
    }

    /// Suffixes for which a browser would not show a file as text.
    private static let misleading: Set<String> = ["html", "htm", "xhtml", "css", "js", "svg", "xml"]

    /// The suffixes of media types. The first one is added to names without a suffix.
    private static let suffixes: [String: [String]] = [
        "text/html": ["html", "htm"], "application/xhtml+xml": ["xhtml", "xht"], "text/css": ["css"],
        "text/javascript": ["js", "mjs", "cjs"], "application/javascript": ["js", "mjs", "cjs"],
        "application/x-javascript": ["js", "mjs"], "application/json": ["json", "map", "webmanifest"],
        "application/manifest+json": ["webmanifest", "json"], "image/svg+xml": ["svg"], "image/png": ["png"],
        "image/jpeg": ["jpg", "jpeg", "jfif"], "image/gif": ["gif"], "image/webp": ["webp"],
        "image/avif": ["avif"],
        "image/x-icon": ["ico"], "image/vnd.microsoft.icon": ["ico"], "font/woff": ["woff"],
        "font/woff2": ["woff2"],
        "font/ttf": ["ttf"], "font/otf": ["otf"], "video/mp4": ["mp4", "m4v", "m4s", "cmfv"],
        "video/webm": ["webm"],
        "audio/mpeg": ["mp3"], "audio/ogg": ["ogg", "oga"], "application/pdf": ["pdf"],
        "application/wasm": ["wasm"],
        "application/xml": ["xml", "rss", "atom", "xsl"], "text/xml": ["xml", "rss", "atom", "xsl"],
        "application/rss+xml": ["xml", "rss"], "application/atom+xml": ["xml", "atom"], "text/plain": ["txt"],
    ]

    /// Returns 48 bits of a digest, which makes collisions very unlikely.
    private static func digest(_ text: String) -> String {
        Hex.encode(DigestStream.digest(.sha256, of: Array(text.utf8).span).bytes.prefix(6))
    }

    /// Returns a 64-bit hash that, unlike `Hasher`, is the same in every process.
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
