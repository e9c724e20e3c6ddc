internal import Digest
package import Web

/// Larder's own format, described by manifests/larder.schema.json. Unknown keys are errors.
enum LarderManifest {
    static let keys = [
        "$schema", "site", "version", "created", "expires", "base", "start", "scope", "depth", "include",
        "exclude", "nofollow", "noindex", "headers", "policy", "rules", "bundles", "key", "signature",
    ]
    private static let bundleKeys =
        ["url"] + DigestAlgorithm.allCases.map(\.rawValue) + ["integrity", "size", "version", "required"]

    static func read(_ root: ManifestNode) throws(ManifestError) -> Manifest {
        guard root.value.members != nil else { throw root.typeError(expected: "an object") }
        try root.allowOnly(keys)
        guard root["bundles"] != nil || root["start"] != nil else {
            throw root.error("expected \"bundles\" or \"start\", found neither")
        }
        var manifest = Manifest(.larder)
        _ = try root["$schema"]?.string()
        manifest.site = try root["site"]?.text()
        manifest.version = try root["version"]?.text()
        manifest.created = try root["created"]?.time()
        manifest.expires = try root["expires"]?.time()
        manifest.base = try root["base"]?.text()
        manifest.start = try texts(root["start"])
        manifest.settings = try settings(root)
        manifest.bundles = try bundles(root["bundles"])
        manifest.key = try key(root["key"])
        manifest.signature = try ManifestSignature(root)
        return manifest
    }

    private static func key(_ node: ManifestNode?) throws(ManifestError) -> MinisignPublicKey? {
        guard let node else { return nil }
        if node.value.array != nil {
            throw node.error("expected one key, found a list: a manifest names only the key that signs it")
        }
        let text = try node.text()
        let key: MinisignPublicKey
        do throws(MinisignError) {
            key = try MinisignPublicKey(text)
        } catch {
            throw node.error(error.description)
        }
        // Not the contents of a file, which have a comment too.
        guard key.text == text else { throw node.error("expected only the line that begins with RW") }
        return key
    }

    private static func settings(_ root: ManifestNode) throws(ManifestError) -> Manifest.PrefetchSettings {
        var settings = Manifest.PrefetchSettings()
        settings.extent = try root["scope"]?.choice(SiteExtent.self)
        settings.depth = try root["depth"]?.count(of: "links")
        settings.include = try texts(root["include"])
        settings.exclude = try texts(root["exclude"])
        settings.nofollow = try root["nofollow"]?.choice(NofollowPolicy.self)
        settings.noindex = try root["noindex"]?.choice(RobotsPolicy.self)
        settings.headers = try texts(root["headers"], check: header)
        settings.policy = try root["policy"]?.choice(CachePolicy.self)
        settings.rules = try texts(root["rules"], check: rule)
        return settings
    }

    private static func bundles(_ list: ManifestNode?) throws(ManifestError) -> [Bundle] {
        guard let list else { return [] }
        var bundles = BundleList()
        for item in try nonEmpty(list) {
            try item.allowOnly(bundleKeys)
            let url = try item.requiredMember("url", "a URL")
            if let refusal = bundles.add(try bundle(item, reference: try url.text())) {
                throw url.error(refusal.detail)
            }
        }
        return bundles.bundles
    }

    /// Reads one bundle, which must have a digest: a bundle that nothing verifies is probably a mistake of the author.
    private static func bundle(_ item: ManifestNode, reference: String) throws(ManifestError) -> Bundle {
        var bundle = Bundle(reference: reference, claims: [])
        for algorithm in DigestAlgorithm.allCases {
            guard let written = item[algorithm.rawValue] else { continue }
            bundle.claims.append(Claim(try written.digest(algorithm)))
        }
        if let written = item["integrity"] {
            bundle.claims.append(Claim(try written.integrity()))
        }
        guard !bundle.claims.isEmpty else {
            throw item.error("expected a digest (md5, sha256, sha384, sha512 or integrity), found none")
        }
        if let size = item["size"] {
            bundle.claims.append(Claim(byteCount: try size.count(of: "bytes")))
        }
        bundle.version = try item["version"]?.text()
        bundle.isRequired = try item["required"]?.bool() ?? true
        return bundle
    }

    /// The elements of a list. An empty list is an error, because it probably means something else than a missing key.
    private static func nonEmpty(_ list: ManifestNode) throws(ManifestError) -> [ManifestNode] {
        let elements = try list.elements()
        guard !elements.isEmpty else {
            throw list.error("expected at least one element, found an empty list: leave the key out")
        }
        return elements
    }

    /// Reads a list of different strings.
    ///
    /// - Parameter check: throws if a string is invalid.
    private static func texts(
        _ list: ManifestNode?, check: (ManifestNode, String) throws(ManifestError) -> Void = { _, _ in }
    ) throws(ManifestError) -> [String] {
        guard let list else { return [] }
        var texts: [String] = []
        var seen: Set<String> = []
        for element in try nonEmpty(list) {
            let text = try element.text()
            guard seen.insert(text).inserted else {
                throw element.error("\"\(ManifestNode.abbreviate(text))\" is listed twice")
            }
            try check(element, text)
            texts.append(text)
        }
        return texts
    }

    /// Checks a header: `Name: value`, preceded by a host if it is for that host only.
    private static func header(_ node: ManifestNode, _ text: String) throws(ManifestError) {
        let isOneLine = !text.utf8.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }
        let textAfterHost = text.utf8.firstIndex(of: 0x20).map { String(text[$0...].dropFirst()) }
        let isField = [text, textAfterHost ?? ""].contains { HTTPFields(block: $0.utf8.span).list.count == 1 }
        guard isOneLine, isField else {
            throw node.error(
                "expected \"Name: value\" or \"example.com Name: value\", found \"\(ManifestNode.abbreviate(text))\""
            )
        }
    }

    private static func rule(_ node: ManifestNode, _ text: String) throws(ManifestError) {
        do throws(CacheRules.Rule.ParseError) {
            _ = try CacheRules.Rule(text)
        } catch {
            throw node.error(
                "expected a rule such as \"/api/** max-age=600\": \(ManifestNode.abbreviate(error.description))"
            )
        }
    }
}

extension Manifest {
    /// The manifest in Larder's own format, with a line feed at its end. Keys are in the order of the schema
    /// and bundles in that of their references, so that equal bundles give equal text. Leaves out facts that
    /// the format does not support: notes, weak evidence, and claims about the encoded body. Leaves out the signature, which
    /// is one of the source.
    package var json: String {
        let members: JSONMembers = [
            "site": IfAny(site), "version": IfAny(version), "created": IfAny(created?.iso8601),
            "expires": IfAny(expires?.iso8601), "base": IfAny(base), "start": IfAny(start),
            "scope": IfAny(settings.extent?.rawValue), "depth": IfAny(settings.depth),
            "include": IfAny(settings.include), "exclude": IfAny(settings.exclude),
            "nofollow": IfAny(settings.nofollow?.rawValue), "noindex": IfAny(settings.noindex?.rawValue),
            "headers": IfAny(settings.headers), "policy": IfAny(settings.policy?.rawValue),
            "rules": IfAny(settings.rules), "bundles": IfAny(sortedBundles),
            "key": IfAny(key?.text),
        ]
        return members.text() + "\n"
    }

    private var sortedBundles: [Bundle] {
        // Compares bytes, because the order of a String depends on the Unicode version.
        bundles.sorted { $0.reference.utf8.lexicographicallyPrecedes($1.reference.utf8) }
    }
}

extension Bundle: JSONObject {
    package var members: JSONMembers {
        var members: JSONMembers = ["url": reference]
        for digest in digests.sorted(by: { $0.algorithm.byteCount < $1.algorithm.byteCount }) {
            members = members + [digest.algorithm.rawValue: digest.hex]
        }
        for claim in claims where claim.isProof {
            if case .integrity(let integrity) = claim.content {
                members = members + ["integrity": integrity.text]
            }
        }
        return members + [
            "size": IfAny(byteCount), "version": IfAny(version), "required": IfAny(isRequired ? nil : false),
        ]
    }
}
