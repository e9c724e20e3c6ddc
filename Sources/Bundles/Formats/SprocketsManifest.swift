internal import Digest
internal import Web

/// Sprockets' manifest. It lies beside its files; those of earlier releases stay listed and are optional.
enum SprocketsManifest {
    static func read(_ root: Node) throws(ManifestError) -> Manifest {
        var current: Set<String> = []
        var list = BundleList()
        for (_, file) in try root["assets"]?.members() ?? [] { current.insert(try file.text()) }
        let hasCurrent = !current.isEmpty
        for (path, file) in try root.required("files", "an object").members() {
            var claims: [Claim] = []
            if let digest = file["digest"], !digest.value.isNull { claims.append(try claim(digest)) }
            claims += try file["integrity"]?.foreignIntegrity() ?? []
            if let size = file["size"] { claims.append(Claim(byteCount: try size.count(of: "bytes"))) }
            let bundle = Bundle(
                reference: PathReference.reference(to: path), claims: claims,
                isRequired: current.remove(path) != nil || !hasCurrent)
            try file.add(bundle, to: &list)
        }
        for path in current.sorted() {
            throw root.refuse("\"assets\" names \(Node.short(path)), which \"files\" does not have")
        }
        return Manifest(.sprockets, bundles: list.bundles)
    }

    /// Which algorithm it is stands nowhere but in its length: MD5 up to Sprockets 2, SHA-256 since.
    private static func claim(_ node: Node) throws(ManifestError) -> Claim {
        let text = try node.string()
        let algorithm = DigestAlgorithm.allCases.first { $0.byteCount * 2 == text.utf8.count }
        return Claim(.digest(try node.digest(algorithm ?? .sha256)), source: "digest")
    }
}
