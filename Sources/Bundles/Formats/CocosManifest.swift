internal import Digest
internal import Web

/// Cocos' hot update: `project.manifest`, and `version.manifest`, which is the same without its assets.
enum CocosManifest {
    static func read(_ root: Node) throws(ManifestError) -> Manifest {
        var manifest = Manifest(.cocos)
        manifest.version = try root["version"]?.version()
        manifest.base = try root["packageUrl"]?.text().asFolder
        guard let assets = root["assets"] else {
            manifest.continuation = try root.required("remoteManifestUrl", "\"assets\" or a URL").text()
            return manifest
        }
        var list = BundleList()
        for (path, asset) in try assets.members() {
            let digest = try asset.required("md5", "the MD5 of the file").digest(.md5)
            // The digest of a compressed asset is that of the archive, which is what is loaded.
            let reference = PathReference.reference(to: try asset["path"]?.text() ?? path)
            let byteCount = try asset["size"].map { (size) throws(ManifestError) in try size.count(of: "bytes") }
            try asset.add(Bundle(reference: reference, digests: [digest], byteCount: byteCount), to: &list)
        }
        manifest.bundles = list.bundles
        return manifest
    }
}
