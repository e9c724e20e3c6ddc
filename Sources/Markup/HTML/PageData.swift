internal import Web

/// A `<script>` with data from which another script of the page computes URLs.
enum PageData {
    /// `__NEXT_DATA__`, which determines the URL of the page's data. Next.js loads that data when the user
    /// navigates to the page from another one.
    case next
    /// `__config` of Material for MkDocs, which names the search worker and implies its index and, with
    /// instant navigation, the list of pages.
    case material

    /// Recognizes the data by the bytes of the tag, since `id` is not an attribute that the skimmer records.
    init?(tag: Bytes) {
        if tag.firstIndex(of: "__next_data__") != nil {
            self = .next
        } else if tag.firstIndex(of: "__config") != nil {
            self = .material
        } else {
            return nil
        }
    }

    func links(of data: Bytes, in document: Bytes) -> [ImpliedLink] {
        switch self {
        case .next: Self.nextLinks(data, document)
        case .material: Self.materialLinks(data)
        }
    }

    private static func materialLinks(_ data: Bytes) -> [ImpliedLink] {
        let config: JSONValue
        do throws(JSONError) {
            let limits = JSONLimits(depth: 16, byteCount: 1 << 16, valueCount: 4096)
            config = try JSONValue.parse(Span(_unsafeElements: data), limits: limits)
        } catch {
            // The data belongs to some other generator.
            return []
        }
        guard let base = config["base"]?.string, let worker = config["search"]?.string,
            worker.hasSuffix(".js"), base.utf8.count + worker.utf8.count <= LoaderNote.maxBytes
        else { return [] }
        let folder = base.hasSuffix("/") ? base : base + "/"
        let isInstant = config["features"]?.array?.contains { $0.string == "navigation.instant" } ?? false
        return [
            ImpliedLink(worker, .worker), ImpliedLink(folder + "search/search_index.json", .data, .isGuess),
        ] + (isInstant ? [ImpliedLink(folder + "sitemap.xml", .data, .isGuess)] : [])
    }

    /// Returns the URL of the page's data. Only pages with `gsp` or `gssp` have such a file.
    private static func nextLinks(_ data: Bytes, _ document: Bytes) -> [ImpliedLink] {
        let key: StaticString = "\"buildId\":\""
        guard let build = end(ofLast: key, in: data),
            let end = data[build...].firstIndex(of: UInt8(ascii: "\""))
        else {
            return []
        }
        let rest = data.part(end..<data.count)
        let flags: [StaticString] = ["\"gsp\":true", "\"gssp\":true"]
        let name = data.part(build..<end)
        guard flags.contains(where: { rest.firstIndex(of: $0) != nil }), !name.isEmpty, name.count <= 128,
            // With locales, the URL depends on the locale in the page's path.
            rest.firstIndex(of: "\"locale\":") == nil,
            name.allSatisfy({
                $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
            })
        else { return [] }
        let text = String(decoding: name, as: UTF8.self)
        return [
            ImpliedLink("\(rootPath(of: document))#/_next/data/\(text)*.json", .data, .isGuess, from: .path)
        ]
    }

    /// Returns the files in `self.__next_f.push([1,"…"])`. Next.js's app router streams their names into a
    /// page, and loads them when the user navigates.
    static func appRouterFiles(in script: Bytes, of document: Bytes) -> [ImpliedLink] {
        guard script.starts(with: "self.__next_f.push(", at: 0) else { return [] }
        var files: Set<String> = []
        var index = 0
        while let start = script.firstIndex(of: "\"static/", from: index), files.count < maxFiles {
            let end =
                script[(start + 1)...].firstIndex { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
                ?? script.count
            index = end
            let name = script.part((start + 1)..<end)
            let isPlain = name.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "?") }
            guard isPlain, name.count <= 512, name.firstIndex(of: "..") == nil else { continue }
            files.insert(String(decoding: name, as: UTF8.self))
        }
        guard !files.isEmpty else { return [] }
        let folder = urlPrefix(of: document) + "/_next/"
        return files.sorted().compactMap { file in
            if file.hasSuffix(".js") { return ImpliedLink(folder + file, .script, .isGuess) }
            return file.hasSuffix(".css") ? ImpliedLink(folder + file, .style, .isGuess) : nil
        }
    }

    /// Returns the paths of files in a script with JSON, such as the pictures of a gallery. Some of them may only
    /// look like paths.
    static func files(in json: Bytes) -> [ImpliedLink] {
        guard let first = json.first(where: { !$0.isSpace }), "{[".utf8.contains(first),
            let value = try? JSONValue.parse(
                Span(_unsafeElements: json),
                limits: JSONLimits(depth: 64, byteCount: 1 << 20, valueCount: 65_536))
        else { return [] }
        var files: [ImpliedLink] = []
        func find(in value: JSONValue) {
            guard files.count < maxGuesses else { return }
            switch value.content {
            case .string(let text): if let file = fileLink(text) { files.append(file) }
            case .array(let elements): for element in elements { find(in: element) }
            case .object(let members): for member in members { find(in: member.value) }
            case .null, .bool, .number: break
            }
        }
        find(in: value)
        return files
    }

    /// The link to a file of the same host, if the text is the path of one.
    private static func fileLink(_ text: String) -> ImpliedLink? {
        guard 5...512 ~= text.utf8.count, !text.hasPrefix("//"),
            ["/", "./", "../"].contains(where: text.hasPrefix), text.utf8.allSatisfy(isPlain)
        else { return nil }
        let kind = Array(text.utf8).withUnsafeBufferPointer { FileEndings.kind(ofFile: $0) }
        guard let kind, kind.role == .asset else { return nil }
        return ImpliedLink(text, kind, .isGuess)
    }

    /// Whether the byte is one of a path or a query. A backslash could lead to another host, and brackets and
    /// asterisks are parts of templates.
    private static func isPlain(_ byte: UInt8) -> Bool {
        0x21...0x7E ~= byte && !#"\{}<>*$"|^`"#.utf8.contains(byte)
    }

    private static let maxGuesses = 256
    private static let maxFiles = 1024

    /// Returns the part before `/_next/` in the page's first URL with `/_next/static/`, on any host.
    private static func urlPrefix(of document: Bytes) -> String {
        guard let offset = document.firstIndex(of: "/_next/static/") else { return "" }
        var start = offset
        while start > 0, offset - start < 256, document[start - 1] > 0x20,
            ![UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "="), UInt8(ascii: "(")].contains(
                document[start - 1])
        {
            start -= 1
        }
        let prefix = String(decoding: document.part(start..<offset), as: UTF8.self)
        let isAddress = prefix.hasPrefix("https://") || prefix.hasPrefix("http://") || prefix.hasPrefix("/")
        return isAddress && !prefix.contains("\\") ? prefix : ""
    }

    /// Returns the path before `/_next/` in the page's first URL that contains it.
    private static func rootPath(of document: Bytes) -> String {
        guard let offset = document.firstIndex(of: "/_next/") else { return "" }
        var start = offset
        while start > 0, offset - start < 256, document[start - 1] != UInt8(ascii: "\""),
            document[start - 1] != UInt8(ascii: "'"), document[start - 1] != UInt8(ascii: "=")
        {
            start -= 1
        }
        let root = document.part(start..<offset)
        // If the files are on another host, the data is still on the page's own.
        guard root.first == UInt8(ascii: "/"), ScriptURLForm(root) == .rooted,
            !root.contains(where: { $0 <= 0x20 || $0 == UInt8(ascii: "#") || $0 == UInt8(ascii: "*") })
        else { return "" }
        return String(decoding: root, as: UTF8.self)
    }

    /// Returns the offset after the last occurrence of a key.
    private static func end(ofLast key: StaticString, in data: Bytes) -> Int? {
        var index = data.count - key.utf8CodeUnitCount
        while index >= 0 {
            // The comparison is exact, so only quotes need a closer look.
            if data[index] == UInt8(ascii: "\""), data.starts(withExactly: key, at: index) {
                return index + key.utf8CodeUnitCount
            }
            index -= 1
        }
        return nil
    }
}

extension Bytes {
    /// Whether the text is at an offset, in exactly this case.
    fileprivate func starts(withExactly text: StaticString, at offset: Int) -> Bool {
        guard offset + text.utf8CodeUnitCount <= count else { return false }
        return (0..<text.utf8CodeUnitCount).allSatisfy { self[offset + $0] == text.utf8Start[$0] }
    }
}
