internal import Digest
internal import Web

/// Maps of file names to URLs, written by webpack-assets-manifest, webpack-manifest-plugin and
/// create-react-app.
enum AssetMap {
    /// Reads the format of webpack-assets-manifest and webpack-manifest-plugin:
    /// `{"app.js": "app-3f2a9c81.js", "b.js": {"src", "integrity"}, "entrypoints": {…}}`
    static func read(_ root: ManifestNode) throws(ManifestError) -> Manifest {
        var list = BundleList()
        for (name, node) in try root.members() {
            if name == "entrypoints", node["src"] == nil, node.value.members != nil {
                for (_, entry) in try node.members() { try addEntry(entry["assets"] ?? entry, to: &list) }
            } else {
                try add(node, to: &list)
            }
        }
        return Manifest(.webpackAssets, bundles: list.bundles)
    }

    /// Reads the format of create-react-app: `{"files": {"main.js": "/static/js/main.3f2a9c81.js"}, "entrypoints":
    /// ["static/js/main.3f2a9c81.js"]}`. The entry points are not added: they are among the files, but here without
    /// the public path, which the manifest does not contain elsewhere.
    static func readCRA(_ root: ManifestNode) throws(ManifestError) -> Manifest {
        var list = BundleList()
        for (_, node) in try root.requiredMember("files", "an object").members() { try add(node, to: &list) }
        // Only validated, so that a malformed manifest is an error.
        for entry in try root["entrypoints"]?.elements() ?? [] { _ = try entry.text() }
        return Manifest(.cra, bundles: list.bundles)
    }

    /// Whether the members of a JSON object look like those of `read(_:)`: each is a file name with a point, or an
    /// object with `src`.
    static func isRecognised(_ members: [JSONValue.Member]) -> Bool {
        let files = members.filter { $0.key != "entrypoints" }
        return !files.isEmpty
            && files.allSatisfy { file in
                if file.value["src"]?.string != nil { return true }
                return file.value.string?.utf8.contains(UInt8(ascii: ".")) ?? false
            }
    }

    private static func add(_ node: ManifestNode, to list: inout BundleList) throws(ManifestError) {
        let url: ManifestNode
        var claims: [Claim] = []
        if node.value.members != nil {
            url = try node.requiredMember("src", "a URL")
            claims = try node["integrity"]?.lenientIntegrityClaims() ?? []
        } else {
            url = node
        }
        let reference = try url.text()
        try url.add(
            Bundle(reference: reference, claims: claims, isRequired: !reference.isSourceMap), to: &list)
    }

    /// `{"js": ["main.js"], "css": […]}`; in older versions only a list.
    private static func addEntry(_ entry: ManifestNode, to list: inout BundleList) throws(ManifestError) {
        guard entry.value.array == nil else {
            for file in try entry.elements() { try add(file, to: &list) }
            return
        }
        for (_, files) in try entry.members() {
            for file in try files.elements() { try add(file, to: &list) }
        }
    }
}

extension String {
    /// Whether the URL is one of a source map. Pages do not need source maps, and servers often do not
    /// publish them.
    var isSourceMap: Bool { utf8.prefix { $0 != 0x3F && $0 != 0x23 }.suffix(4).elementsEqual(".map".utf8) }
}

// MARK: - SprocketsManifest

/// Sprockets' manifest. It is in the folder of its files. Files of earlier releases stay listed and are
/// optional.
enum SprocketsManifest {
    static func read(_ root: ManifestNode) throws(ManifestError) -> Manifest {
        var current: Set<String> = []
        var list = BundleList()
        for (_, file) in try root["assets"]?.members() ?? [] { current.insert(try file.text()) }
        let hasCurrent = !current.isEmpty
        for (path, file) in try root.requiredMember("files", "an object").members() {
            var claims: [Claim] = []
            if let digest = file["digest"], !digest.value.isNull { claims.append(try claim(digest)) }
            claims += try file["integrity"]?.lenientIntegrityClaims() ?? []
            if let size = file["size"] { claims.append(Claim(byteCount: try size.count(of: "bytes"))) }
            let bundle = Bundle(
                reference: PathReference.reference(to: path), claims: claims,
                isRequired: current.remove(path) != nil || !hasCurrent)
            try file.add(bundle, to: &list)
        }
        if let path = current.min() {
            throw root.error("\"assets\" lists \(ManifestNode.abbreviate(path)), which is not in \"files\"")
        }
        return Manifest(.sprockets, bundles: list.bundles)
    }

    /// Returns the digest of a file. The manifest does not name the algorithm, so the length decides: MD5 up to
    /// Sprockets 2, SHA-256 since.
    private static func claim(_ node: ManifestNode) throws(ManifestError) -> Claim {
        let text = try node.string()
        let algorithm = DigestAlgorithm.allCases.first { $0.byteCount * 2 == text.utf8.count }
        return Claim(.digest(try node.digest(algorithm ?? .sha256)), source: "digest")
    }
}

// MARK: - WebpackStats

/// webpack's `stats.json`: names and sizes. Its `contenthash` is not used: it is computed from more than the bytes of
/// the file, so the file cannot be compared with it. With webpack-subresource-integrity, there is an `integrity`.
enum WebpackStats {
    static func read(_ root: ManifestNode) throws(ManifestError) -> Manifest {
        var manifest = Manifest(.webpackStats)
        guard root.value.members != nil else { throw root.typeError(expected: "an object") }
        guard root["assets"] != nil || root["children"] != nil else {
            throw root.error("expected \"assets\", found none: write the statistics with assets")
        }
        manifest.version = try root["hash"]?.optionalText()
        manifest.created = root["builtAt"]?.millisecondTime
        var list = BundleList()
        // With several configurations, each one is a child, which may have children of its own.
        var pending = [root]
        while let compilation = pending.popLast() {
            try addAssets(of: compilation, to: &list)
            pending += try compilation["children"]?.elements().reversed() ?? []
        }
        manifest.bundles = list.bundles
        return manifest
    }

    private static func addAssets(of compilation: ManifestNode, to list: inout BundleList)
        throws(ManifestError)
    {
        let configuredPath = try compilation["publicPath"]?.optionalText() ?? ""
        // With `auto`, scripts compute the path from their own URL at run time.
        let publicPath = configuredPath == "auto" ? "" : configuredPath
        for asset in try compilation["assets"]?.elements() ?? [] {
            let name = try asset.requiredMember("name", "the name of a file")
            let text = try name.text()
            var claims = try asset["integrity"]?.lenientIntegrityClaims() ?? []
            if let size = asset["size"] { claims.append(Claim(byteCount: try size.count(of: "bytes"))) }
            let bundle = Bundle(
                reference: publicPath + reference(to: text), claims: claims, isRequired: !text.isSourceMap)
            try name.add(bundle, to: &list)
        }
    }

    /// Returns the reference to an asset by its name. A query after the name, such as `main.js?v=1`, stays a query.
    private static func reference(to name: String) -> String {
        let query = name.firstIndex(of: "?") ?? name.endIndex
        return PathReference.reference(to: String(name[..<query])) + name[query...]
    }
}

// MARK: - ViteManifest

/// Vite's `manifest.json`: chunks by name, with their imports. Chunks that an entry reaches are required, all
/// others optional.
struct ViteManifest {
    private let source: ManifestText
    private let chunks: [(name: String, node: ManifestNode)]
    private let indices: [String: Int]

    init(_ root: ManifestNode) throws(ManifestError) {
        source = root.source
        chunks = try root.members()
        indices = Dictionary(uniqueKeysWithValues: chunks.enumerated().map { ($1.name, $0) })
    }

    func manifest() throws(ManifestError) -> Manifest {
        let reached = try reachableChunks()
        var list = BundleList()
        for (index, chunk) in chunks.enumerated() {
            let isRequired = reached.contains(index)
            let file = try chunk.node.requiredMember("file", "the path of a file")
            let integrity = try chunk.node["integrity"]?.lenientIntegrityClaims() ?? []
            try add(file, integrity, isRequired, to: &list)
            for key in ["css", "assets"] {
                for path in try chunk.node[key]?.elements() ?? [] { try add(path, [], isRequired, to: &list) }
            }
        }
        var manifest = Manifest(.vite, bundles: list.bundles)
        // Paths are relative to the output folder; the manifest is in a subfolder `.vite`.
        let folder = source.folderOfFile
        if folder == ".vite" || folder.hasSuffix("/.vite") { manifest.base = "../" }
        return manifest
    }

    private func add(
        _ path: ManifestNode, _ claims: [Claim], _ isRequired: Bool, to list: inout BundleList
    ) throws(ManifestError) {
        let text = try path.text()
        let bundle = Bundle(
            reference: PathReference.reference(to: text), claims: claims,
            isRequired: isRequired && !text.isSourceMap)
        try path.add(bundle, to: &list)
    }

    /// Returns the indices of the chunks that the entries reach; all chunks if there is no entry.
    private func reachableChunks() throws(ManifestError) -> Set<Int> {
        let imports = try imports()
        var pending: [Int] = []
        for (index, chunk) in chunks.enumerated() {
            if try chunk.node["isEntry"]?.bool() ?? false { pending.append(index) }
        }
        var reached = Set(pending.isEmpty ? Array(chunks.indices) : pending)
        while let index = pending.popLast() {
            for target in imports[index] where reached.insert(target).inserted { pending.append(target) }
        }
        return reached
    }

    /// Returns the indices of the chunks that each chunk imports.
    private func imports() throws(ManifestError) -> [[Int]] {
        var imports = [[Int]](repeating: [], count: chunks.count)
        for (index, chunk) in chunks.enumerated() {
            for key in ["imports", "dynamicImports"] {
                for name in try chunk.node[key]?.elements() ?? [] {
                    let text = try name.string()
                    guard let target = indices[text] else {
                        throw name.error(
                            "expected the name of another chunk, found \"\(ManifestNode.abbreviate(text))\"")
                    }
                    imports[index].append(target)
                }
            }
        }
        return imports
    }
}
