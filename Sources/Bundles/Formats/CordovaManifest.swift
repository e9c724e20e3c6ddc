internal import Digest
internal import Web

/// Cordova hot code push.
enum CordovaManifest {
    /// `chcp.manifest` lists files of the folder in which it lies; `chcp.json` says where that is.
    static func read(_ root: Node) throws(ManifestError) -> Manifest {
        var manifest = Manifest(.cordova)
        guard root.value.array != nil else {
            guard root.value.members != nil else { throw root.expected("an array of files, or chcp.json's object") }
            manifest.base = try root.required("content_url", "the URL of the files").text().asFolder
            manifest.version = try root["release"]?.version()
            manifest.continuation = "chcp.manifest"
            return manifest
        }
        var list = BundleList()
        for item in try root.elements() {
            let file = try item.required("file", "the path of a file")
            let digest = try item.required("hash", "the MD5 of the file").digest(.md5)
            let reference = PathReference.reference(to: try file.text())
            try file.add(Bundle(reference: reference, digests: [digest]), to: &list)
        }
        manifest.bundles = list.bundles
        return manifest
    }
}

extension String {
    /// With a slash at its end, for tools that put one between an address and what follows it.
    var asFolder: String { utf8.last == 0x2F ? self : self + "/" }
}
