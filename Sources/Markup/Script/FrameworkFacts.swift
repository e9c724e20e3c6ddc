internal import Web

/// The facts that a script contains about the framework that built the site, collected during the scan. They
/// determine URLs of files that no script contains.
struct FrameworkFacts {
    /// Nuxt: the build's identifier, the folder of its files, and the root of the site.
    private var buildID: String?
    private var assetsFolder: String?
    private var root: String?
    /// SvelteKit: the folder of the build, relative to the document, and whether the page was delivered with
    /// data from its server.
    private var svelteFolder: String?
    private var hasServerData = false
    /// VitePress: the hashes of the pages' scripts, and the root of the site.
    private var hashes: [(page: String, hash: String)] = []
    private var vitePressRoot: String?
    private var links: [ImpliedLink] = []

    private static let maxMapBytes = 4 << 20
    private static let maxPages = 65_536

    /// - Parameter isInline: Whether the script is inline.
    func links(isInline: Bool) -> [ImpliedLink] {
        var links = links
        if let buildID, let assetsFolder {
            let root = root ?? "/"
            let folder = Self.join(root, assetsFolder)
            links.append(ImpliedLink(Self.join(folder, "builds/meta/\(buildID).json"), .data, .isGuess))
            links.append(ImpliedLink(Self.join(folder, "builds/latest.json"), .data, .isGuess))
        }
        if isInline, let svelteFolder {
            links.append(ImpliedLink(svelteFolder + "version.json", .data, .isGuess))
            if hasServerData { links.append(ImpliedLink("*/__data.json", .data, .isGuess, from: .path)) }
        }
        for (page, hash) in hashes {
            let file = "assets/\(page).\(hash).js"
            if let vitePressRoot {
                links.append(ImpliedLink(Self.join(vitePressRoot, file), .module))
            } else {
                links.append(ImpliedLink(file, .module, from: .build))
            }
        }
        return links
    }

    private static func join(_ folder: String, _ file: String) -> String {
        let name = file.hasPrefix("/") ? String(file.dropFirst()) : file
        return folder.hasSuffix("/") ? folder + name : folder + "/" + name
    }

    /// Records the value of a key in an object.
    mutating func set(_ key: Property, _ value: String) {
        switch key {
        case .buildID: buildID = buildID ?? value
        case .assetsFolder: assetsFolder = value
        case .root: root = root ?? value
        case .nuxtFolder: links.append(ImpliedLink(Self.join(value, "manifest.js"), .script, .isGuess))
        case .data: hasServerData = true
        }
    }

    /// A key of an object that a framework writes.
    enum Property {
        case buildID, assetsFolder, root, data
        /// The folder of a site that Nuxt 2 generated.
        case nuxtFolder
    }

    /// Handles `import("./_app/immutable/entry/start.1a2b.js")`.
    mutating func addImport(_ address: String) {
        guard svelteFolder == nil, let start = address.firstIndex(of: "_app/immutable/") else { return }
        svelteFolder = address[..<start] + "_app/"
    }

    /// Handles `__VP_HASH_MAP__=JSON.parse("…")`.
    mutating func hashMap(_ text: [UInt8]) {
        guard let members = Self.members(text) else { return }
        for member in members where hashes.count < Self.maxPages {
            guard let hash = member.value.string, hash.utf8.count < 64, member.key.utf8.count < 512 else {
                continue
            }
            hashes.append((member.key, hash))
        }
    }

    /// Handles `__VP_SITE_DATA__=JSON.parse("…")`.
    mutating func siteData(_ text: [UInt8]) {
        vitePressRoot = Self.members(text)?.first { $0.key == "base" }?.value.string ?? vitePressRoot
    }

    /// Handles `self.__SSG_MANIFEST=new Set(["\u002Fa"])`, the list of pages with data of their own. Ignores
    /// names with a parameter, which represent many pages.
    mutating func readNextPageList(_ script: Bytes) {
        guard script.count <= Self.maxMapBytes, script.starts(with: "self.__ssg_manifest=new set(", at: 0),
            let start = script.firstIndex(of: UInt8(ascii: "[")),
            let end = script.lastIndex(of: UInt8(ascii: "]")), start < end
        else { return }
        let limits = JSONLimits(depth: 2, byteCount: Self.maxMapBytes, valueCount: Self.maxPages)
        let pages: [JSONValue]?
        do throws(JSONError) {
            pages = try JSONValue.parse(Span(_unsafeElements: script.part(start..<end + 1)), limits: limits)
                .array
        } catch {
            // It is not a list of Next.js, or other code follows it.
            return
        }
        for page in pages ?? [] {
            guard let path = page.string, path.hasPrefix("/"), !path.hasPrefix("//"), !path.contains("["),
                !path.contains(".."), path.utf8.count <= LoaderNote.maxBytes
            else { continue }
            links.append(ImpliedLink(path, .data, .isGuess, from: .page))
        }
    }

    private static func members(_ text: [UInt8]) -> [JSONValue.Member]? {
        let limits = JSONLimits(depth: 64, byteCount: maxMapBytes, valueCount: 2 * maxPages)
        do throws(JSONError) {
            return try JSONValue.parse(text.span, limits: limits).members
        } catch {
            // It is not a map of these frameworks.
            return nil
        }
    }
}

extension String {
    /// Returns the index of the first occurrence of `part`.
    fileprivate func firstIndex(of part: StaticString) -> String.Index? {
        let bytes = Array(utf8)
        let offset = bytes.withUnsafeBufferPointer { $0.firstIndex(of: part) }
        return offset.map { utf8.index(startIndex, offsetBy: $0) }
    }
}

extension ScriptScanner {
    /// Handles a string that is the value of the key at an offset.
    mutating func handleFrameworkProperty(_ literal: ScriptLiteral, _ key: Int) {
        let isQuoted = lexer.bytes[key] == UInt8(ascii: "\"") || lexer.bytes[key] == UInt8(ascii: "'")
        guard key + 1 < lexer.count, literal.range.count <= 256 else { return }
        let property: FrameworkFacts.Property
        // Bundles have thousands of such keys, so most are rejected by their first letter.
        switch lexer.bytes[isQuoted ? key + 1 : key] {
        case UInt8(ascii: "b"):
            if isInline, isKey("buildId", at: key) {
                property = .buildID
            } else if isKey("buildAssetsDir", at: key) {
                property = .assetsFolder
            } else if isInline, isKey("baseURL", at: key) {
                property = .root
            } else {
                return
            }
        case UInt8(ascii: "s"):
            guard isKey("staticAssetsBase", at: key) else { return }
            property = .nuxtFolder
        case UInt8(ascii: "t"):
            guard isInline, isKey("type", at: key), text.bytes.part(literal.range).equals("data"),
                lexer.firstByte(before: 3) == UInt8(ascii: "{"),
                [UInt8(ascii: "["), UInt8(ascii: ",")].contains(lexer.firstByte(before: 4))
            else { return }
            property = .data
        default: return
        }
        framework.set(property, value(of: literal))
    }

    /// Handles `JSON.parse("…")`.
    mutating func handleJSONParse(_ literal: ScriptLiteral) {
        guard lexer.firstByte(before: 5) == UInt8(ascii: "=") else { return }
        let isMap = lexer.isName("__VP_HASH_MAP__", before: 6)
        guard isMap || lexer.isName("__VP_SITE_DATA__", before: 6) else { return }
        var text: [UInt8] = []
        ScriptText.unescape(self.text.bytes.part(literal.range), into: &text)
        if isMap { framework.hashMap(text) } else { framework.siteData(text) }
    }

    /// Whether a string may end with the file name of Angular's service worker.
    func mayBeAngularWorker(_ range: Range<Int>) -> Bool {
        range.count >= 14 && range.count < 256 && lexer.bytes[range.upperBound - 1] == UInt8(ascii: "s")
            && lexer.bytes[range.upperBound - 4] == UInt8(ascii: "r")
    }

    /// Handles `register("ngsw-worker.js")`, for any name of the function. The worker reads the list of its
    /// files.
    mutating func handleAngularWorker(_ literal: ScriptLiteral) {
        let name = text.bytes.part(literal.range)
        guard name.starts(with: "ngsw-worker.js", at: name.count - 14) else { return }
        let path = value(of: literal)
        modules.addURL(path, .worker)
        modules.addURL(String(path.dropLast(14)) + "ngsw.json", .data)
    }
}
