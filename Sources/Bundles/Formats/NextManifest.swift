internal import Web

/// The manifests of Next.js. Only `subresource-integrity-manifest.json`, which Next.js writes with `experimental.sri`,
/// has digests. Paths are relative to the folder `.next`, which is published as `/_next/`.
enum NextManifest {
    static func read(_ root: ManifestNode) throws(ManifestError) -> Manifest {
        if root["pages"] != nil { return try readBuild(root) }
        guard root["files"] == nil || root["files"]?.value.string != nil else {
            throw root.error(
                "expected files with digests, found required-server-files.json, which lists files of the server "
                    + "and has no digests: \(advice)")
        }
        var list = BundleList()
        for (path, integrity) in try root.members() {
            let claim = Claim(try integrity.integrity())
            try integrity.add(
                Bundle(reference: PathReference.reference(to: path), claims: [claim]), to: &list)
        }
        guard !list.bundles.isEmpty else {
            throw root.error("expected files with their integrity, found none")
        }
        return Manifest(.next, bundles: list.bundles)
    }

    /// `build-manifest.json` and `app-build-manifest.json`: the files of each page, without digests.
    private static func readBuild(_ root: ManifestNode) throws(ManifestError) -> Manifest {
        var list = BundleList()
        for key in ["polyfillFiles", "rootMainFiles", "lowPriorityFiles"] {
            for path in try root[key]?.elements() ?? [] { try add(path, to: &list) }
        }
        for (_, files) in try root.requiredMember("pages", "the files of the pages").members() {
            for path in try files.elements() { try add(path, to: &list) }
        }
        guard !list.bundles.isEmpty else { throw root.error("expected files of pages, found none") }
        var manifest = Manifest(.next, bundles: list.bundles)
        manifest.note(
            "this manifest of Next.js has no digests, so that only the existence of files is checked: \(advice)"
        )
        return manifest
    }

    private static func add(_ path: ManifestNode, to list: inout BundleList) throws(ManifestError) {
        try path.add(Bundle(reference: PathReference.reference(to: try path.text()), claims: []), to: &list)
    }

    private static let advice = "build with experimental.sri, or use: larder manifest FOLDER"

    static func isRecognised(_ value: JSONValue) -> Bool {
        guard let members = value.members, !members.isEmpty else { return false }
        if let pages = value["pages"]?.members {
            return !pages.isEmpty
                && pages.allSatisfy { $0.value.array?.allSatisfy { $0.string != nil } ?? false }
        }
        let isServerList = value["config"]?.members != nil && value["files"]?.array != nil
        if isServerList, value["appDir"] != nil || value["relativeAppDir"] != nil { return true }
        return members.allSatisfy { member in
            guard let text = member.value.string else { return false }
            return ["sha256-", "sha384-", "sha512-"].contains { text.hasPrefix($0) }
        }
    }
}
