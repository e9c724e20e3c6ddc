internal import Digest
internal import Web

/// What a Weex app is told before it opens a page: which bundles there are and what their MD5 is.
enum WeexManifest {
    /// `{"md5", "version", "pages": [{"page", "h5", "js", "md5"}]}`: the outer digest names the configuration and is
    /// no digest of a bundle.
    static func read(_ root: Node) throws(ManifestError) -> Manifest {
        var manifest = Manifest(.weex)
        manifest.version = try root["version"]?.version()
        var list = BundleList()
        for page in try root.required("pages", "an array").elements() {
            let url = try page.required("js", "the URL of a bundle")
            let reference = try url.string()
            // An empty address means that the copy in the app is to be used; there is nothing to fetch or to compare.
            guard !reference.isEmpty else {
                manifest.note("\(page.key) has no URL: the copy inside the app is used")
                continue
            }
            let digest = try page.required("md5", "the MD5 of the bundle").digest(.md5)
            try url.add(Bundle(reference: reference, digests: [digest]), to: &list)
        }
        manifest.bundles = list.bundles
        return manifest
    }

    /// `{"url", "md5"}`, plain or inside of the envelope that servers like to put around an answer.
    static func readAnswer(_ root: Node) throws(ManifestError) -> Manifest {
        guard root.value.members != nil else { throw root.expected("an object") }
        let answer = envelopes.lazy.compactMap { root[$0] }.first { $0.value.members != nil } ?? root
        if let path = answer["jsPath"], answer["md5"] == nil {
            throw path.refuse(
                "expected a URL with its MD5, found an answer of eros: its file is named after two versions, "
                    + "and says nothing of what is in it")
        }
        var manifest = Manifest(.weexBundle)
        manifest.version = try answer["version"]?.version()
        guard let url = urlKeys.lazy.compactMap({ answer[$0] }).first else {
            throw answer.refuse("expected the bundle's \"url\" and \"md5\", found no \"url\"")
        }
        let reference = try url.string()
        guard !reference.isEmpty else {
            manifest.note("there is no URL: the copy inside the app is used")
            return manifest
        }
        let digest = try answer.required("md5", "the MD5 of the bundle").digest(.md5)
        var list = BundleList()
        try url.add(Bundle(reference: reference, digests: [digest]), to: &list)
        manifest.bundles = list.bundles
        return manifest
    }

    static func isAnswer(_ value: JSONValue) -> Bool {
        ([value] + envelopes.compactMap { value[$0] }).contains { answer in
            answer["md5"]?.string != nil && urlKeys.contains { answer[$0]?.string != nil }
        }
    }

    private static let envelopes = ["data", "result"]
    private static let urlKeys = ["url", "js", "jsUrl", "bundleUrl"]
}
