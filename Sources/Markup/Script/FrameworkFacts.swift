internal import Web

/// Facts that one script contains about the framework that built the site: Nuxt, SvelteKit, VitePress or Next.js. The
/// scanner collects them. They imply links to files whose URLs the framework's code composes in the browser, so that no
/// script contains these URLs in one piece.
struct FrameworkFacts {
    /// The ID of the Nuxt build.
    private var nuxtBuildID: String?
    /// The folder of the Nuxt build, relative to `nuxtRoot`.
    private var nuxtAssetsFolder: String?
    /// The root of the Nuxt site; `/` if the script does not contain it.
    private var nuxtRoot: String?
    /// The folder of the SvelteKit build, relative to the page.
    private var svelteKitFolder: String?
    /// Whether a SvelteKit page contains data that its server loaded.
    private var hasSvelteKitData = false
    /// The pages of a VitePress site, each with the hash in the name of its script.
    private var vitePressPages: [(page: String, hash: String)] = []
    private var vitePressRoot: String?
    /// The links that are implied by one fact alone.
    private var links: [ImpliedLink] = []

    /// The maximum size of a list of pages. A larger one is ignored.
    private static let maxListBytes = 4 << 20
    /// The maximum number of pages. Further pages of VitePress are ignored; a longer list of Next.js is ignored as a whole.
    private static let maxPages = 65_536

    /// Returns the implied links, at the end of the scan.
    ///
    /// - Parameter isInline: Whether the script is inline, so that its URLs are relative to the page. Only then the links of
    ///   SvelteKit are returned.
    func links(isInline: Bool) -> [ImpliedLink] {
        var links = links
        if let nuxtBuildID, let nuxtAssetsFolder {
            let folder = Self.join(nuxtRoot ?? "/", nuxtAssetsFolder)
            links.append(ImpliedLink(Self.join(folder, "builds/meta/\(nuxtBuildID).json"), .data, .isGuess))
            links.append(ImpliedLink(Self.join(folder, "builds/latest.json"), .data, .isGuess))
        }
        if isInline, let svelteKitFolder {
            links.append(ImpliedLink(svelteKitFolder + "version.json", .data, .isGuess))
            // The path of the page replaces the asterisk.
            if hasSvelteKitData { links.append(ImpliedLink("*/__data.json", .data, .isGuess, from: .path)) }
        }
        for (page, hash) in vitePressPages {
            let file = "assets/\(page).\(hash).js"
            if let vitePressRoot {
                links.append(ImpliedLink(Self.join(vitePressRoot, file), .module))
            } else {
                links.append(ImpliedLink(file, .module, from: .build))
            }
        }
        return links
    }

    /// Joins a folder and a name with exactly one slash between them.
    private static func join(_ folder: String, _ file: String) -> String {
        let name = file.hasPrefix("/") ? String(file.dropFirst()) : file
        return folder.hasSuffix("/") ? folder + name : folder + "/" + name
    }

    /// Records a property of an object.
    mutating func set(_ property: Property, _ value: String) {
        switch property {
        case .nuxtBuildID: nuxtBuildID = nuxtBuildID ?? value
        case .nuxtAssetsFolder: nuxtAssetsFolder = value
        case .nuxtRoot: nuxtRoot = nuxtRoot ?? value
        case .nuxtStaticFolder: links.append(ImpliedLink(Self.join(value, "manifest.js"), .script, .isGuess))
        case .svelteKitData: hasSvelteKitData = true
        }
    }

    /// A property of an object that a framework writes into scripts.
    enum Property {
        /// `buildId: "…"`
        case nuxtBuildID
        /// `buildAssetsDir: "/_nuxt/"`
        case nuxtAssetsFolder
        /// `baseURL: "/"`
        case nuxtRoot
        /// `staticAssetsBase: "/_nuxt/static/12"`, the folder with the data of a site that Nuxt 2 generated.
        case nuxtStaticFolder
        /// `type: "data"` in the list of a SvelteKit page's data.
        case svelteKitData
    }

    /// Handles `import("./_app/immutable/entry/start.1a2b.js")`.
    mutating func addSvelteKitImport(_ address: String) {
        guard svelteKitFolder == nil, let start = address.firstIndex(of: "_app/immutable/") else { return }
        svelteKitFolder = address[..<start] + "_app/"
    }

    /// Handles the JSON in `__VP_HASH_MAP__=JSON.parse("{\"a.md\":\"12ab\"}")`.
    mutating func addVitePressPages(_ json: [UInt8]) {
        guard let members = Self.members(of: json) else { return }
        for member in members where vitePressPages.count < Self.maxPages {
            guard let hash = member.value.string, hash.utf8.count < 64, member.key.utf8.count < 512 else {
                continue
            }
            vitePressPages.append((member.key, hash))
        }
    }

    /// Handles the JSON in `__VP_SITE_DATA__=JSON.parse("{\"base\":\"/docs/\"}")`.
    mutating func setVitePressRoot(_ json: [UInt8]) {
        vitePressRoot = Self.members(of: json)?.first { $0.key == "base" }?.value.string ?? vitePressRoot
    }

    /// Handles `self.__SSG_MANIFEST=new Set(["\u002Fa"])`, Next.js' list of pages with data of their own. It is the first
    /// statement of a script. Ignores paths with a parameter, such as `/[name]`, which stand for many pages.
    mutating func addNextJSPages(_ script: Bytes) {
        // The comparison ignores case, and expects its text in lower case.
        guard script.count <= Self.maxListBytes, script.starts(with: "self.__ssg_manifest=new set(", at: 0),
            let start = script.firstIndex(of: UInt8(ascii: "[")),
            let end = script.lastIndex(of: UInt8(ascii: "]")), start < end
        else { return }
        let limits = JSONLimits(depth: 2, byteCount: Self.maxListBytes, valueCount: Self.maxPages)
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

    /// Returns the members of a JSON object; nil if the text is no such object.
    private static func members(of text: [UInt8]) -> [JSONValue.Member]? {
        let limits = JSONLimits(depth: 64, byteCount: maxListBytes, valueCount: 2 * maxPages)
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
    /// Handles a string that is the value of a property.
    ///
    /// - Parameter key: The offset of the property's key.
    mutating func handleFrameworkProperty(_ literal: ScriptLiteral, keyOffset key: Int) {
        let isQuoted = lexer.bytes[key] == UInt8(ascii: "\"") || lexer.bytes[key] == UInt8(ascii: "'")
        guard key + 1 < lexer.count, literal.range.count <= 256 else { return }
        let property: FrameworkFacts.Property
        // Bundles have thousands of such keys, so most are rejected by their first letter.
        switch lexer.bytes[isQuoted ? key + 1 : key] {
        case UInt8(ascii: "b"):
            if isInline, isKey("buildId", at: key) {
                property = .nuxtBuildID
            } else if isKey("buildAssetsDir", at: key) {
                property = .nuxtAssetsFolder
            } else if isInline, isKey("baseURL", at: key) {
                property = .nuxtRoot
            } else {
                return
            }
        case UInt8(ascii: "s"):
            guard isKey("staticAssetsBase", at: key) else { return }
            property = .nuxtStaticFolder
        case UInt8(ascii: "t"):
            // `[{type: "data"` or `, {type: "data"`. The distances 1 and 2 are the colon and the key.
            guard isInline, isKey("type", at: key), text.bytes.part(literal.range).equals("data"),
                lexer.firstByte(before: 3) == UInt8(ascii: "{"),
                [UInt8(ascii: "["), UInt8(ascii: ",")].contains(lexer.firstByte(before: 4))
            else { return }
            property = .svelteKitData
        default: return
        }
        framework.set(property, value(of: literal))
    }

    /// Handles `JSON.parse("…")` if the result is assigned to a variable of VitePress.
    mutating func handleJSONParse(_ literal: ScriptLiteral) {
        // The tokens before the literal are, from the last one: `(`, `parse`, `.`, `JSON`, `=`, and the variable.
        guard lexer.firstByte(before: 5) == UInt8(ascii: "=") else { return }
        let isMap = lexer.isName("__VP_HASH_MAP__", before: 6)
        guard isMap || lexer.isName("__VP_SITE_DATA__", before: 6) else { return }
        var json: [UInt8] = []
        ScriptText.unescape(text.bytes.part(literal.range), into: &json)
        if isMap { framework.addVitePressPages(json) } else { framework.setVitePressRoot(json) }
    }

    /// Whether a string may end with `ngsw-worker.js`, the file name of Angular's service worker. Compares only two bytes,
    /// because every first argument is checked.
    func mayBeAngularWorker(_ range: Range<Int>) -> Bool {
        range.count >= 14 && range.count < 256 && lexer.bytes[range.upperBound - 1] == UInt8(ascii: "s")
            && lexer.bytes[range.upperBound - 4] == UInt8(ascii: "r")
    }

    /// Handles `register("ngsw-worker.js")`. The function may have any name, because bundlers rename it. The worker loads
    /// the list of its files, `ngsw.json`.
    mutating func handleAngularWorker(_ literal: ScriptLiteral) {
        let name = text.bytes.part(literal.range)
        guard name.starts(with: "ngsw-worker.js", at: name.count - 14) else { return }
        let path = value(of: literal)
        modules.addURL(path, .worker)
        modules.addURL(String(path.dropLast(14)) + "ngsw.json", .data)
    }
}
