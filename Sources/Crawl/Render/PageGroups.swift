internal import Web

/// The parts of a page's URL that show what kind of page it is.
struct PageName: Sendable {
    /// The host and the folders, with numbers and dates replaced by their kinds.
    let folders: [String]
    /// The type of file by its extension: `html` for pages, otherwise the extension itself.
    let kind: String
    /// The letters at the beginning of the file name, such as `struct` in `struct.Vec.html`.
    let word: String
    /// Whether the name says that the page lists other pages.
    let isList: Bool
    /// Whether the name says that the page lists all other pages, such as `genindex.html`.
    let isFullList: Bool
    /// Whether the body may link to pages. False for images, archives, source code and the like.
    let mayLink: Bool

    init(_ url: WebURL) {
        let shape = URLShape(url).text
        let isQuery = shape.utf8.contains(UInt8(ascii: "?"))
        let path = shape.utf8.prefix { $0 != UInt8(ascii: "?") }
        folders = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropLast()
            .map { String(Substring($0)) }
        let whole = url.path.utf8
        let slash = whole.lastIndex(of: UInt8(ascii: "/"))
        let file = whole[(slash.map { whole.index(after: $0) } ?? whole.startIndex)...]
        let stem = String(Substring(file.prefix { $0 != UInt8(ascii: ".") })).lowercased()
        let type = Self.type(of: file)
        mayLink = !Self.deadEnds.contains(type)
        kind = (Self.pageTypes.contains(type) ? "html" : type) + (isQuery ? "?" : "")
        word = String(Substring(file.prefix { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 }))
            .lowercased()
        isFullList = mayLink && Self.fullLists.contains(stem)
        isList =
            isFullList
            || mayLink
                && (file.isEmpty || Self.lists.contains(stem)
                    || Self.listWords.contains { stem.utf8.contains($0.utf8) })
    }

    private static func type(of file: Substring.UTF8View) -> String {
        guard let dot = file.lastIndex(of: UInt8(ascii: ".")) else { return "" }
        let type = file[file.index(after: dot)...]
        return type.count <= 5 ? String(Substring(type)).lowercased() : ""
    }

    private static let pageTypes: Set<String> = [
        "", "html", "htm", "xhtml", "shtml", "php", "asp", "aspx", "jsp",
    ]
    /// Extensions of files that do not link to pages.
    private static let deadEnds = Set(
        """
        txt md rst pdf ps eps epub djvu zip gz tgz bz2 xz zst 7z rar tar jar war whl deb rpm exe msi dmg iso apk bin \
        img dll so c h cc cpp cxx hpp hh hxx inc ipp cs java py pyi ipynb rb rs go js mjs ts css json yaml yml toml ini \
        cfg csv tsv xls xlsx doc docx odt ods odp ppt pptx svg png jpg jpeg gif webp avif ico bmp tif tiff mp3 mp4 ogg \
        ogv oga webm wav flac mov avi mkv woff woff2 ttf otf eot wasm sql sh bat ps1 pl pm lua nim dot gv tex sty bib \
        patch diff log asc sig map
        """.split(separator: " ").map(String.init))
    private static let listWords = [
        "index", "contents", "toc", "sitemap", "menu", "list", "overview", "summary", "archive", "catalog",
    ]
    private static let lists: Set<String> = ["search", "functions", "annotated", "classes", "files"]
    private static let fullLists: Set<String> = [
        "all", "allclasses", "allclasses-index", "index-all", "genindex-all", "genindex", "contents",
        "sitemap",
        "toc", "full_index", "symbol_index", "bookindex", "theindex",
    ]
}

/// Groups of pages whose URLs are alike: the same folder, the same type of file, and the same first word of
/// the name.
///
/// The largest group is divided by the next folder until there are enough groups. Folders with few pages stay
/// together. Later pages are assigned to the groups of the earlier ones.
struct PageGroups: Sendable {
    /// A folder, with the pages of one kind in it and in the folders below it. Other nodes are named by their indices in
    /// `nodes`.
    private struct Node {
        /// The host and the folders, each with a slash, such as `example.com/std/`. Empty for a root.
        var pattern: String
        /// The number of components in `pattern`.
        var depth: Int
        /// `PageName.kind` of the pages.
        let kind: String
        /// The nodes of large folders in this one, by their names; nil if the node was not divided.
        var folders: [String: Int]?
        /// If the node was divided, the nodes of the pages in its other folders, and of the pages in no further folder.
        var others = 0, own = 0
        /// Whether it cannot be divided.
        var isFinal = false
        /// First words that many of its pages share.
        var words: Set<String> = []
    }

    /// The properties that the pages of one group have in common.
    private struct Key: Hashable {
        let node: Int
        let word: String?
        let isList: Bool
    }

    private var nodes: [Node] = []
    /// The nodes of all pages of a kind, which may be divided.
    private var roots: [String: Int] = [:]
    /// The number of each group: its index in `patterns` and `mayLink`.
    private var numbers: [Key: Int] = [:]
    /// The pattern of each group, such as `example.com/std/**/struct*`.
    private(set) var patterns: [String] = []
    /// Whether the pages of each group may link to other pages.
    private(set) var mayLink: [Bool] = []

    /// The number of nodes with pages from which on no node is divided.
    private static let maxNodes = 24
    /// A folder gets a node of its own if it has this share of all pages, and at least `minCount` of them.
    private static let (minShare, minCount) = (0.03, 6)
    /// A first word makes groups of its own if a node has this share of all pages with it, and at least `minCountOfWord`.
    private static let (minShareOfWord, minCountOfWord) = (0.04, 8)

    /// Divides the folders of these pages. It makes no groups yet: `number(of:)` makes them.
    init(_ names: [PageName] = []) {
        var members: [[Int]] = []
        for (index, name) in names.enumerated() {
            let root = self.root(name.kind)
            while members.count < nodes.count { members.append([]) }
            members[root].append(index)
        }
        let minCount = max(Self.minCount, Int((Double(names.count) * Self.minShare).rounded(.up)))
        while members.count(where: { !$0.isEmpty }) < Self.maxNodes {
            let candidates = nodes.indices.filter {
                !nodes[$0].isFinal && nodes[$0].folders == nil && members[$0].count >= 2 * minCount
            }
            guard let largest = candidates.max(by: { members[$0].count < members[$1].count }) else { break }
            divide(largest, names, &members, minCount)
        }
        let minOfWord = max(
            Self.minCountOfWord, Int((Double(names.count) * Self.minShareOfWord).rounded(.up)))
        for node in nodes.indices where nodes[node].kind == "html" {
            var counts: [String: Int] = [:]
            for index in members[node] { counts[names[index].word, default: 0] += 1 }
            for (word, count) in counts where count >= minOfWord && count < members[node].count {
                nodes[node].words.insert(word)
            }
        }
    }

    /// Returns the root of the pages of a kind. Adds it if there is none.
    private mutating func root(_ kind: String) -> Int {
        if let root = roots[kind] { return root }
        nodes.append(Node(pattern: "", depth: 0, kind: kind))
        roots[kind] = nodes.count - 1
        return nodes.count - 1
    }

    /// Divides a node by the next folder of its pages, or marks it as final if no folder has `minCount` pages.
    ///
    /// - Parameter members: the indices in `names` of each node's pages.
    private mutating func divide(
        _ node: Int, _ names: [PageName], _ members: inout [[Int]], _ minCount: Int
    ) {
        let depth = nodes[node].depth
        var parts: [String: [Int]] = [:]
        var own: [Int] = []
        for index in members[node] {
            if names[index].folders.count > depth {
                parts[names[index].folders[depth], default: []].append(index)
            } else {
                own.append(index)
            }
        }
        let large = parts.filter { $0.value.count >= minCount }.sorted { $0.key < $1.key }
        guard !large.isEmpty else {
            nodes[node].isFinal = true
            return
        }
        func append(_ child: Node, _ indices: [Int]) -> Int {
            nodes.append(child)
            members.append(indices)
            return nodes.count - 1
        }
        let (pattern, kind) = (nodes[node].pattern, nodes[node].kind)
        var folders: [String: Int] = [:]
        for (folder, indices) in large {
            folders[folder] = append(
                Node(pattern: pattern + folder + "/", depth: depth + 1, kind: kind), indices)
        }
        let small = parts.filter { $0.value.count < minCount }.sorted { $0.key < $1.key }.flatMap(\.value)
        nodes[node].others = append(
            Node(pattern: pattern + "**/", depth: depth, kind: kind, isFinal: true), small)
        nodes[node].own = append(Node(pattern: pattern, depth: depth, kind: kind, isFinal: true), own)
        nodes[node].folders = folders
        members[node] = []
    }

    /// Returns the number of the group of a page. Adds the group if the page is its first one.
    mutating func number(of name: PageName) -> Int {
        var node = root(name.kind)
        while let folders = nodes[node].folders {
            let depth = nodes[node].depth
            node =
                depth < name.folders.count
                ? folders[name.folders[depth]] ?? nodes[node].others : nodes[node].own
        }
        let word = !name.isList && nodes[node].words.contains(name.word) ? name.word : nil
        let key = Key(node: node, word: word, isList: name.isList)
        if let number = numbers[key] { return number }
        numbers[key] = patterns.count
        let start = nodes[node].pattern.isEmpty ? "**/" : nodes[node].pattern
        let kind = nodes[node].kind
        let hasQuery = kind.hasSuffix("?")
        let type = hasQuery ? String(kind.dropLast()) : kind
        patterns.append(
            start + (word ?? "") + "*" + (type == "html" ? "" : ".\(type)") + (hasQuery ? "?*" : "")
                + (name.isList ? " (pages that list others)" : ""))
        mayLink.append(name.mayLink)
        return patterns.count - 1
    }
}
