internal import Web

/// Vite's `manifest.json`: chunks by name, each with what it imports. Those that an entry reaches are required; what is
/// left over is listed, and optional.
struct ViteManifest {
    private let source: SourceText
    private let chunks: [(name: String, node: Node)]
    private let places: [String: Int]

    init(_ root: Node) throws(ManifestError) {
        source = root.source
        chunks = try root.members()
        places = Dictionary(uniqueKeysWithValues: chunks.enumerated().map { ($1.name, $0) })
    }

    func manifest() throws(ManifestError) -> Manifest {
        let reached = try reached()
        var list = BundleList()
        for (place, chunk) in chunks.enumerated() {
            let isRequired = reached.contains(place)
            let file = try chunk.node.required("file", "the path of a file")
            let integrity = try chunk.node["integrity"]?.foreignIntegrity() ?? []
            try add(file, integrity, isRequired, to: &list)
            for key in ["css", "assets"] {
                for path in try chunk.node[key]?.elements() ?? [] { try add(path, [], isRequired, to: &list) }
            }
        }
        var manifest = Manifest(.vite, bundles: list.bundles)
        // Paths are relative to the folder that was built into, and the manifest lies in one of its own there.
        let folder = source.folderOfFile
        if folder == ".vite" || folder.hasSuffix("/.vite") { manifest.base = "../" }
        return manifest
    }

    private func add(
        _ path: Node, _ claims: [Claim], _ isRequired: Bool, to list: inout BundleList
    ) throws(ManifestError) {
        let text = try path.text()
        let bundle = Bundle(
            reference: PathReference.reference(to: text), claims: claims,
            isRequired: isRequired && !text.isSourceMap)
        try path.add(bundle, to: &list)
    }

    /// Everything, where there is no entry to begin at.
    private func reached() throws(ManifestError) -> Set<Int> {
        let imports = try imports()
        var waiting: [Int] = []
        for (place, chunk) in chunks.enumerated() {
            if try chunk.node["isEntry"]?.bool() ?? false { waiting.append(place) }
        }
        var reached = Set(waiting.isEmpty ? Array(chunks.indices) : waiting)
        while let place = waiting.popLast() {
            for target in imports[place] where reached.insert(target).inserted { waiting.append(target) }
        }
        return reached
    }

    /// By the places of the chunks.
    private func imports() throws(ManifestError) -> [[Int]] {
        var imports = [[Int]](repeating: [], count: chunks.count)
        for (place, chunk) in chunks.enumerated() {
            for key in ["imports", "dynamicImports"] {
                for name in try chunk.node[key]?.elements() ?? [] {
                    let text = try name.string()
                    guard let target = places[text] else {
                        throw name.refuse("expected the name of another chunk, found \"\(Node.short(text))\"")
                    }
                    imports[place].append(target)
                }
            }
        }
        return imports
    }
}
