internal import Digest
internal import Web

/// The configurations of Weex apps, which list bundles with their MD5.
enum WeexManifest {
    /// `{"md5", "version", "pages": [{"page", "h5", "js", "md5"}]}`. The outer digest identifies the
    /// configuration and is not the digest of a bundle.
    static func read(_ root: ManifestNode) throws(ManifestError) -> Manifest {
        var manifest = Manifest(.weex)
        manifest.version = try root["version"]?.optionalText()
        var list = BundleList()
        for page in try root.requiredMember("pages", "an array").elements() {
            let url = try page.requiredMember("js", "the URL of a bundle")
            let reference = try url.string()
            // With an empty URL, the app uses its built-in copy: there is nothing to fetch or compare.
            guard !reference.isEmpty else {
                manifest.note("\(page.key) has no URL: the copy inside the app is used")
                continue
            }
            let digest = try page.requiredMember("md5", "the MD5 of the bundle").digest(.md5)
            try url.add(Bundle(reference: reference, digests: [digest]), to: &list)
        }
        manifest.bundles = list.bundles
        return manifest
    }

    /// `{"url", "md5"}`, alone or in the envelope that servers often put around a response.
    static func readBundleResponse(_ root: ManifestNode) throws(ManifestError) -> Manifest {
        guard root.value.members != nil else { throw root.typeError(expected: "an object") }
        let answer = envelopes.lazy.compactMap { root[$0] }.first { $0.value.members != nil } ?? root
        if let path = answer["jsPath"], answer["md5"] == nil {
            throw path.error(
                "expected a URL with its MD5, found a response of eros, whose file is named after two versions "
                    + "and not after its content")
        }
        var manifest = Manifest(.weexBundle)
        manifest.version = try answer["version"]?.optionalText()
        guard let url = urlKeys.lazy.compactMap({ answer[$0] }).first else {
            throw answer.error("expected the bundle's \"url\" and \"md5\", found no \"url\"")
        }
        let reference = try url.string()
        guard !reference.isEmpty else {
            manifest.note("it has no URL: the copy inside the app is used")
            return manifest
        }
        let digest = try answer.requiredMember("md5", "the MD5 of the bundle").digest(.md5)
        var list = BundleList()
        try url.add(Bundle(reference: reference, digests: [digest]), to: &list)
        manifest.bundles = list.bundles
        return manifest
    }

    static func isBundleResponse(_ value: JSONValue) -> Bool {
        ([value] + envelopes.compactMap { value[$0] }).contains { answer in
            answer["md5"]?.string != nil && urlKeys.contains { answer[$0]?.string != nil }
        }
    }

    private static let envelopes = ["data", "result"]
    private static let urlKeys = ["url", "js", "jsUrl", "bundleUrl"]
}

/// Cordova hot code push.
enum CordovaManifest {
    /// The member of `chcp.json` with the digest of `chcp.manifest`. It is Larder's own; the plugin ignores members that it
    /// does not know.
    static let digestMember = "manifest_sha256"

    /// `chcp.manifest` lists the files of its folder; `chcp.json` contains the URL of that folder.
    static func read(_ root: ManifestNode) throws(ManifestError) -> Manifest {
        var manifest = Manifest(.cordova)
        guard root.value.array != nil else {
            guard root.value.members != nil else {
                throw root.typeError(expected: "an array of files, or chcp.json's object")
            }
            manifest.base = try root.requiredMember("content_url", "the URL of the files").text().asFolder
            manifest.version = try root["release"]?.optionalText()
            manifest.continuation = "chcp.manifest"
            manifest.continuationDigest = try root[digestMember]?.digest(.sha256)
            return manifest
        }
        var list = BundleList()
        for item in try root.elements() {
            let file = try item.requiredMember("file", "the path of a file")
            let digest = try item.requiredMember("hash", "the MD5 of the file").digest(.md5)
            let reference = PathReference.reference(to: try file.text())
            try file.add(Bundle(reference: reference, digests: [digest]), to: &list)
        }
        manifest.bundles = list.bundles
        return manifest
    }
}

extension String {
    /// The text with a slash at its end, for tools that insert one between a base and a path.
    var asFolder: String { utf8.last == 0x2F ? self : self + "/" }
}

/// Cocos' hot update: `project.manifest`, or `version.manifest`, which is the same without the assets.
enum CocosManifest {
    static func read(_ root: ManifestNode) throws(ManifestError) -> Manifest {
        var manifest = Manifest(.cocos)
        manifest.version = try root["version"]?.optionalText()
        manifest.base = try root["packageUrl"]?.text().asFolder
        guard let assets = root["assets"] else {
            manifest.continuation = try root.requiredMember("remoteManifestUrl", "\"assets\" or a URL").text()
            return manifest
        }
        var list = BundleList()
        for (path, asset) in try assets.members() {
            let digest = try asset.requiredMember("md5", "the MD5 of the file").digest(.md5)
            // The digest of a compressed asset is that of the archive, which is the file that is fetched.
            let reference = PathReference.reference(to: try asset["path"]?.text() ?? path)
            let byteCount = try asset["size"].map { (size) throws(ManifestError) in
                try size.count(of: "bytes")
            }
            try asset.add(Bundle(reference: reference, digests: [digest], byteCount: byteCount), to: &list)
        }
        manifest.bundles = list.bundles
        return manifest
    }
}

/// Angular's `ngsw.json`, which describes a release for the service worker: every file with its SHA-1, and
/// rules for URLs without a digest.
enum AngularManifest {
    static func read(_ root: ManifestNode) throws(ManifestError) -> Manifest {
        var manifest = Manifest(.angular)
        manifest.version = try root["timestamp"]?.optionalText()
        manifest.created = root["timestamp"]?.millisecondTime
        var list = BundleList()
        for (url, digest) in try root.requiredMember("hashTable", "an object").members() {
            try digest.add(Bundle(reference: url, digests: [try digest.digest(.sha1)]), to: &list)
        }
        for group in try root["assetGroups"]?.elements() ?? [] {
            // URLs without a digest are on other origins, or come from URL rules without wildcards.
            for url in try group["urls"]?.elements() ?? [] {
                try url.add(Bundle(reference: try url.text(), claims: []), to: &list)
            }
            for pattern in try group["patterns"]?.elements() ?? [] {
                manifest.note(
                    "\(pattern.key): files that match \(ManifestNode.abbreviate(try pattern.string())) have no digest"
                )
            }
        }
        for group in try root["dataGroups"]?.elements() ?? [] {
            manifest.note("\(group.key): data is fetched at run time and has no digest")
        }
        if let index = try root["index"]?.text(), !list.contains(index) {
            manifest.note(
                "the index \(ManifestNode.abbreviate(index)) is not among its files: deep links have no page")
        }
        manifest.bundles = list.bundles
        return manifest
    }
}
