internal import Digest
internal import Web

/// `ngsw.json`, by which Angular's service worker knows its release: every file with its SHA-1, and rules for URLs that
/// have none.
enum AngularManifest {
    static func read(_ root: Node) throws(ManifestError) -> Manifest {
        var manifest = Manifest(.angular)
        manifest.version = try root["timestamp"]?.version()
        var list = BundleList()
        for (url, digest) in try root.required("hashTable", "an object").members() {
            try digest.add(Bundle(reference: url, digests: [try digest.digest(.sha1)]), to: &list)
        }
        for group in try root["assetGroups"]?.elements() ?? [] {
            // Those without a digest are of other origins, or come from URL rules that are no patterns.
            for url in try group["urls"]?.elements() ?? [] {
                try url.add(Bundle(reference: try url.text(), claims: []), to: &list)
            }
            for pattern in try group["patterns"]?.elements() ?? [] {
                manifest.note("\(pattern.key): what matches \(Node.short(try pattern.string())) has no digest")
            }
        }
        for group in try root["dataGroups"]?.elements() ?? [] {
            manifest.note("\(group.key): data is fetched at run time and has no digest")
        }
        if let index = try root["index"]?.text(), !list.contains(index) {
            manifest.note("the index \(Node.short(index)) is not among its files: deep links have no page")
        }
        manifest.bundles = list.bundles
        return manifest
    }
}
