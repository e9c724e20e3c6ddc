internal import Web

/// webpack's `stats.json`: names and sizes. Its `contenthash` is not of the file alone, so it proves nothing; with
/// webpack-subresource-integrity there is an `integrity`.
enum WebpackStats {
    static func read(_ root: Node) throws(ManifestError) -> Manifest {
        var manifest = Manifest(.webpackStats)
        guard root.value.members != nil else { throw root.expected("an object") }
        guard root["assets"] != nil || root["children"] != nil else {
            throw root.refuse("expected \"assets\", found none: write the statistics with their assets")
        }
        manifest.version = try root["hash"]?.version()
        var list = BundleList()
        // Of several configurations each is a child, and may have children of its own.
        var waiting = [root]
        while let compilation = waiting.popLast() {
            try addAssets(of: compilation, to: &list)
            waiting += try compilation["children"]?.elements().reversed() ?? []
        }
        manifest.bundles = list.bundles
        return manifest
    }

    private static func addAssets(of compilation: Node, to list: inout BundleList) throws(ManifestError) {
        let written = try compilation["publicPath"]?.version() ?? ""
        let publicPath = written == "auto" ? "" : written
        for asset in try compilation["assets"]?.elements() ?? [] {
            let name = try asset.required("name", "the name of a file")
            let text = try name.text()
            var claims = try asset["integrity"]?.foreignIntegrity() ?? []
            if let size = asset["size"] { claims.append(Claim(byteCount: try size.count(of: "bytes"))) }
            let bundle = Bundle(
                reference: publicPath + reference(to: text), claims: claims, isRequired: !text.isSourceMap)
            try name.add(bundle, to: &list)
        }
    }

    /// A name may have a query, which is none of the file's.
    private static func reference(to name: String) -> String {
        let query = name.firstIndex(of: "?") ?? name.endIndex
        return PathReference.reference(to: String(name[..<query])) + name[query...]
    }
}
