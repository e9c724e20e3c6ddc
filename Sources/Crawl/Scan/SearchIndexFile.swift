internal import Web

/// A reader of the search indexes that documentation tools generate: files that list the pages of a site.
///
/// Knows the indexes of Sphinx, MkDocs, rustdoc and Doxygen, and JSON arrays of objects that have a URL, as
/// lunr, Hugo and Docusaurus plug-ins write them.
///
/// A sample reads them (`PlanRun`), because one request then shows hundreds of pages. For example, a Sphinx page at
/// `/docs/api/a.html` loads the script `/docs/_static/doctools.js`. `files(of:)` returns `/docs/searchindex.js`, in which
/// `listing(in:)` finds `docnames: ["api/a", "index"]`: the pages `/docs/api/a.html` and `/docs/index.html`.
///
/// The files are untrusted: numbers, depths and lengths are limited, and anything malformed lists no pages.
enum SearchIndexFile {
    /// The pages that an index lists, and further files of the same index.
    struct Listing: Equatable {
        /// The URLs of the pages, without duplicates.
        var pages: [WebURL] = []
        /// The URLs of further files of the index.
        var files: [WebURL] = []
    }

    /// The maximum number of pages of a listing. Further ones are ignored.
    private static let maxPages = 200_000
    /// The maximum number of further files of a Doxygen index. Further ones are ignored.
    private static let maxFiles = 1000
    /// The maximum length of an attribute's value in bytes. Longer ones are ignored.
    private static let maxAttributeBytes = 200
    /// The maximum depth of nested objects that are searched for an array of pages.
    private static let maxDepth = 3

    // MARK: - Locations of indexes

    /// The URLs of the indexes that a page uses.
    ///
    /// - Parameters:
    ///   - links: the URLs of the page's assets.
    ///   - body: the page.
    static func files(of url: WebURL, links: [WebURL], body: [UInt8]) -> [WebURL] {
        var files: [WebURL] = []
        for link in links {
            let path = link.path
            for (scriptPath, file) in indexLocations where path.hasSuffix(scriptPath) {
                if let file = WebURL(file, base: link), !files.contains(file) { files.append(file) }
            }
            if path.hasSuffix(".js"),
                path.utf8.reversed().drop(while: { $0 != slash }).starts(with: reversedMaterialFolder)
            {
                if let file = WebURL("../../search/search_index.json", base: link), !files.contains(file) {
                    files.append(file)
                }
            }
        }
        // rustdoc names the index in attributes of the page, not by a script.
        if let root = attribute("data-root-path", of: body),
            let suffix = attribute("data-resource-suffix", of: body),
            let file = WebURL(root + "search-index" + suffix + ".js", base: url)
        {
            files.append(file)
        }
        return files
    }

    private static let slash = UInt8(ascii: "/")
    /// The folder of the scripts of Material for MkDocs, reversed.
    private static let reversedMaterialFolder = Array("/assets/javascripts/".utf8.reversed())

    /// The ends of the paths of scripts, and where the index is relative to them.
    private static let indexLocations = [
        ("/_static/doctools.js", "../searchindex.js"), ("/navtreedata.js", "navtreedata.js"),
        ("/search/main.js", "search_index.json"), ("/search_index.json", "search_index.json"),
        ("/searchindex.js", "searchindex.js"), ("/search-index.json", "search-index.json"),
    ]

    /// The value of the first attribute with this name, if it is short. rustdoc writes it at the beginning or at
    /// the end.
    private static func attribute(_ name: String, of body: [UInt8]) -> String? {
        guard let start = position(of: name + "=\"", in: body[...]) else { return nil }
        let value = body[start...].prefix(maxAttributeBytes).prefix { $0 != UInt8(ascii: "\"") }
        return value.count < maxAttributeBytes ? String(decoding: value, as: UTF8.self) : nil
    }

    /// The position after the first occurrence of a text.
    private static func position(of text: String, in bytes: ArraySlice<UInt8>) -> Int? {
        let text = Array(text.utf8)
        guard let first = text.first else { return nil }
        var rest = bytes
        while let start = rest.firstIndex(of: first) {
            if rest[start...].starts(with: text) { return start + text.count }
            rest = rest[(start + 1)...]
        }
        return nil
    }

    // MARK: - Entries of indexes

    /// Reads an index, whose format follows from its name.
    ///
    /// - Parameter namesFiles: whether URLs of the site end in `.html`. A Sphinx index lists names without an ending.
    static func listing(in body: [UInt8], at url: WebURL, namesFiles: Bool) -> Listing {
        let path = url.path
        if path.hasSuffix("/searchindex.js") { return sphinx(body, url, namesFiles) }
        if path.hasSuffix("/navtreedata.js") { return doxygenFiles(body, url) }
        if path.utf8.split(separator: slash).last?.starts(with: "navtreeindex".utf8) == true {
            return doxygenPages(body, url)
        }
        if path.hasSuffix(".js") { return rustdoc(body, url) }
        guard let value = try? JSONValue.parse(body.span) else { return Listing() }
        // MkDocs writes URLs relative to the root of the site.
        let root = path.hasSuffix("/search/search_index.json") ? WebURL("..", base: url) : url
        var listing = Listing()
        collectPages(value, root ?? url, &listing, depth: 0)
        return unique(listing)
    }

    /// The names of members that contain the URL of a page.
    private static let urlKeys = [
        "location", "url", "href", "permalink", "uri", "path", "loc", "relpermalink",
    ]

    /// Takes the URL of each object of an array, at most three levels deep.
    private static func collectPages(_ value: JSONValue, _ base: WebURL, _ listing: inout Listing, depth: Int)
    {
        if let elements = value.array {
            for element in elements where listing.pages.count < maxPages {
                guard let members = element.members else { continue }
                let member = members.first { urlKeys.contains($0.key) && $0.value.string != nil }
                if let text = member?.value.string, let url = WebURL(text, base: base) {
                    listing.pages.append(url)
                }
            }
        } else if let members = value.members, depth < maxDepth {
            for member in members { collectPages(member.value, base, &listing, depth: depth + 1) }
        }
    }

    /// The listing without duplicates and URLs that are not fetched.
    private static func unique(_ listing: Listing) -> Listing {
        var seen: Set<WebURL> = []
        var result = listing
        result.pages = listing.pages.map(\.key).filter { $0.isHTTP && seen.insert($0).inserted }
        return result
    }

    /// `Search.setIndex({docnames:["about","library/index"],…})`
    private static func sphinx(_ body: [UInt8], _ url: WebURL, _ namesFiles: Bool) -> Listing {
        guard let names = strings(after: "docnames", in: body) else { return Listing() }
        var listing = Listing()
        for name in names.prefix(maxPages) {
            let isFolder = name == "index" || name.hasSuffix("/index")
            let file = namesFiles ? name + ".html" : isFolder ? String(name.dropLast(5)) : name + "/"
            if let page = WebURL("./" + file, base: url) { listing.pages.append(page) }
        }
        return unique(listing)
    }

    /// `var NAVTREEINDEX = ["a.html","b.html"];` has one entry for each further file.
    private static func doxygenFiles(_ body: [UInt8], _ url: WebURL) -> Listing {
        let count = strings(after: "NAVTREEINDEX", in: body)?.count ?? 0
        return Listing(
            files: (0..<min(count, maxFiles)).compactMap { WebURL("navtreeindex\($0).js", base: url) })
    }

    /// `var NAVTREEINDEX0 = {"a.html":[1], "a.html#x":[1,0]};`
    private static func doxygenPages(_ body: [UInt8], _ url: WebURL) -> Listing {
        guard let start = body.firstIndex(of: UInt8(ascii: "{")),
            let end = body.lastIndex(of: UInt8(ascii: "}")),
            start < end, let value = try? JSONValue.parse(Array(body[start...end]).span)
        else { return Listing() }
        return unique(Listing(pages: (value.members ?? []).compactMap { WebURL($0.key, base: url) }))
    }

    /// The array of strings that follows a key or a variable, within the next eight bytes (`: [`, ` = [`).
    ///
    /// These files are JavaScript, not JSON, so only the array is parsed: up to the `]` that is not within a string.
    private static func strings(after key: String, in body: [UInt8]) -> [String]? {
        guard let position = position(of: key, in: body[...]),
            let start = body[position...].prefix(8).firstIndex(of: UInt8(ascii: "["))
        else { return nil }
        var isQuoted = false
        var isEscaped = false
        for index in start..<body.count {
            switch body[index] {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\"): isEscaped = true
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: "]") where !isQuoted:
                let value = try? JSONValue.parse(Array(body[start...index]).span)
                return value?.array?.compactMap(\.string)
            default: break
            }
        }
        return nil
    }

    // MARK: - rustdoc

    /// The kinds of items that have a page, by their number. The others are parts of these.
    private static let itemKinds = [
        0: "mod", 3: "struct", 4: "enum", 5: "fn", 6: "type", 7: "static", 8: "trait", 14: "macro",
        15: "primitive", 17: "constant", 19: "union", 21: "keyword", 23: "attr", 24: "derive",
        25: "traitalias",
    ]

    /// `var searchIndex = JSON.parse('{"std":{"t":[0,3],"n":["std","Vec"],"q":["std",""]}}')`. `t` are the
    /// kinds, as numbers or letters; `n` the names; `q` the modules, where an empty one repeats the last. Newer
    /// versions list only the indexLocations where the module changes, and crates as pairs.
    private static func rustdoc(_ body: [UInt8], _ url: WebURL) -> Listing {
        guard let open = position(of: "JSON.parse('", in: body.prefix(4096)),
            let value = try? JSONValue.parse(string(body[open...]).span)
        else { return Listing() }
        var crates: [(String, JSONValue)] = (value.members ?? []).map { ($0.key, $0.value) }
        for pair in value.array ?? [] {
            if let name = pair[0]?.string, let crate = pair[1] { crates.append((name, crate)) }
        }
        var listing = Listing()
        for (name, crate) in crates { collectItems(crate: crate, name, url, &listing) }
        return unique(listing)
    }

    /// Adds the pages of a crate's items and modules.
    private static func collectItems(
        crate: JSONValue, _ crateName: String, _ url: WebURL, _ listing: inout Listing
    ) {
        let kinds: [Int]
        if let letters = crate["t"]?.string {
            kinds = letters.utf8.map { Int($0) - Int(UInt8(ascii: "A")) }
        } else {
            kinds = (crate["t"]?.array ?? []).map { $0.int ?? -1 }
        }
        let names = (crate["n"]?.array ?? []).map { $0.string ?? "" }
        var modules: [Int: String] = [:]
        for (index, element) in (crate["q"]?.array ?? []).enumerated() {
            if let module = element.string {
                if !module.isEmpty { modules[index] = module }
            } else if let start = element[0]?.int, let module = element[1]?.string {
                modules[start] = module
            }
        }
        var module = crateName
        for (index, kind) in kinds.enumerated() where index < names.count && listing.pages.count < maxPages {
            module = modules[index] ?? module
            guard let word = itemKinds[kind], !names[index].isEmpty else { continue }
            let folder = path(of: module)
            let page = kind == 0 ? names[index] + "/index.html" : "\(word).\(names[index]).html"
            let target = index == 0 && kind == 0 ? "\(names[index])/index.html" : folder + "/" + page
            if let page = WebURL("./" + target, base: url) { listing.pages.append(page) }
        }
    }

    /// `std::vec` as `std/vec`.
    private static func path(of module: String) -> String {
        String(
            decoding: Array(module.utf8.split(separator: UInt8(ascii: ":")).joined(separator: [slash])),
            as: UTF8.self)
    }

    /// The value of a JavaScript string in single quotes, as far as its escapes are those of rustdoc.
    private static func string(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var isEscaped = false
        for byte in text {
            if isEscaped {
                if byte != UInt8(ascii: "\n") { result.append(byte) }
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "'") {
                break
            } else {
                result.append(byte)
            }
        }
        return result
    }
}
