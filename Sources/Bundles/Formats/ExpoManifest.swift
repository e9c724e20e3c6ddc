internal import Digest
internal import Web

/// The manifest of Expo Updates, version 0 and 1: the assets of an update with their SHA-256 in base64url.
enum ExpoManifest {
    static func read(_ root: ManifestNode) throws(ManifestError) -> Manifest {
        let launch = try root.requiredMember("launchAsset", "the asset with the code of the app")
        var list = BundleList()
        try add(launch, to: &list)
        for asset in try root["assets"]?.elements() ?? [] { try add(asset, to: &list) }
        var manifest = Manifest(.expo, bundles: list.bundles)
        manifest.created = try root["createdAt"]?.time()
        manifest.updateID = try root["id"]?.string()
        manifest.runtimeVersion = try root["runtimeVersion"]?.string()
        return manifest
    }

    /// Reads a `multipart/mixed` response, whose part `manifest` is the manifest.
    static func read(multipart source: ManifestText) throws(ManifestError) -> Manifest {
        let parts = try ExpoParts(source)
        if let directive = parts["directive"] {
            let node = try source.json(in: directive.body)
            let type = try node.requiredMember("type", "the type of the directive")
            throw type.error(
                "expected a manifest, found the directive \(ManifestNode.abbreviate(try type.string())): the server offers "
                    + "no update to check")
        }
        guard let part = parts["manifest"] else {
            throw source.error(at: 0, "expected a part with the name \"manifest\", found none")
        }
        return try read(try source.json(in: part.body))
    }

    private static func add(_ asset: ManifestNode, to list: inout BundleList) throws(ManifestError) {
        let url = try asset.requiredMember("url", "the URL of an asset")
        let claims = try asset["hash"].map { (hash) throws(ManifestError) -> [Claim] in
            // Before version 0 of the protocol was final, servers wrote hexadecimal digits.
            if let digest = Digest(.sha256, hex: try hash.string()) { return [Claim(digest)] }
            return [Claim(try hash.base64Digest(.sha256))]
        }
        try url.add(Bundle(reference: try url.text(), claims: claims ?? []), to: &list)
    }

    static func isRecognised(_ value: JSONValue) -> Bool {
        value["launchAsset"]?.members != nil && value["assets"].map { $0.array != nil } ?? true
    }
}
