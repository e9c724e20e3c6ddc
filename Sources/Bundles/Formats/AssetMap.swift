internal import Web

/// Maps of file names to URLs, as webpack-assets-manifest, webpack-manifest-plugin and create-react-app write them.
enum AssetMap {
    /// `{"app.js": "app-3f2a9c81.js", "b.js": {"src", "integrity"}, "entrypoints": {…}}`
    static func read(_ root: Node) throws(ManifestError) -> Manifest {
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

    /// `{"files": {"main.js": "/static/js/main.3f2a9c81.js"}, "entrypoints": ["static/js/main.3f2a9c81.js"]}`: the
    /// entry points are among the files, without the public path, which stands nowhere.
    static func readCRA(_ root: Node) throws(ManifestError) -> Manifest {
        var list = BundleList()
        for (_, node) in try root.required("files", "an object").members() { try add(node, to: &list) }
        for entry in try root["entrypoints"]?.elements() ?? [] { _ = try entry.text() }
        return Manifest(.cra, bundles: list.bundles)
    }

    static func isRecognised(_ members: [JSONValue.Member]) -> Bool {
        let files = members.filter { $0.key != "entrypoints" }
        return !files.isEmpty
            && files.allSatisfy { file in
                if file.value["src"]?.string != nil { return true }
                return file.value.string?.utf8.contains(0x2E) ?? false
            }
    }

    private static func add(_ node: Node, to list: inout BundleList) throws(ManifestError) {
        let url: Node
        var claims: [Claim] = []
        if node.value.members != nil {
            url = try node.required("src", "a URL")
            claims = try node["integrity"]?.foreignIntegrity() ?? []
        } else {
            url = node
        }
        let reference = try url.text()
        try url.add(
            Bundle(reference: reference, claims: claims, isRequired: !reference.isSourceMap), to: &list)
    }

    /// `{"js": ["main.js"], "css": […]}`, and in older versions the list alone.
    private static func addEntry(_ entry: Node, to list: inout BundleList) throws(ManifestError) {
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
    /// Nothing on a page needs one, and many are kept from the public.
    var isSourceMap: Bool { utf8.prefix { $0 != 0x3F && $0 != 0x23 }.suffix(4).elementsEqual(".map".utf8) }
}
