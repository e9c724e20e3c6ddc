internal import Web

/// An import map. What `integrity` lists has a digest; what is only mapped has to be there.
enum ImportMap {
    static func read(_ root: Node) throws(ManifestError) -> Manifest {
        guard root.value.members != nil else { throw root.expected("an object") }
        var list = BundleList()
        for (url, integrity) in try root["integrity"]?.members() ?? [] {
            try integrity.add(
                Bundle(reference: url, claims: try integrity.foreignIntegrity()), to: &list)
        }
        var maps = [root["imports"]].compactMap(\.self)
        for (_, scope) in try root["scopes"]?.members() ?? [] { maps.append(scope) }
        for map in maps {
            for (_, target) in try map.members() where !target.value.isNull {
                let reference = try target.string()
                guard isURL(reference) else { continue }
                try target.add(Bundle(reference: reference, claims: []), to: &list)
            }
        }
        return Manifest(.importMap, bundles: list.bundles)
    }

    /// Browsers ignore other targets; one that ends with a slash stands for many.
    private static func isURL(_ text: String) -> Bool {
        guard text.utf8.last != 0x2F else { return false }
        return ["/", "./", "../"].contains { text.hasPrefix($0) } || WebURL(text)?.isHTTP == true
    }
}
