internal import Digest
package import Web

/// Larder's own format, described by manifests/larder.schema.json. Unknown keys are errors.
enum LarderManifest {
    static let keys = [
        "$schema", "site", "version", "base", "start", "scope", "depth", "include", "exclude", "nofollow",
        "noindex", "headers", "policy", "rules", "bundles",
    ]
    private static let bundleKeys =
        ["url"] + DigestAlgorithm.allCases.map(\.rawValue) + ["integrity", "size", "version", "required"]

    static func read(_ root: Node) throws(ManifestError) -> Manifest {
        guard root.value.members != nil else { throw root.expected("an object") }
        try root.allowOnly(keys)
        guard root["bundles"] != nil || root["start"] != nil else {
            throw root.refuse("expected \"bundles\" or \"start\", found neither")
        }
        var manifest = Manifest(.larder)
        _ = try root["$schema"]?.string()
        manifest.site = try root["site"]?.text()
        manifest.version = try root["version"]?.text()
        manifest.base = try root["base"]?.text()
        manifest.start = try texts(root["start"])
        manifest.wishes = try wishes(root)
        manifest.bundles = try bundles(root["bundles"])
        return manifest
    }

    private static func wishes(_ root: Node) throws(ManifestError) -> Manifest.Wishes {
        var wishes = Manifest.Wishes()
        wishes.extent = try root["scope"]?.choice(SiteExtent.self)
        wishes.depth = try root["depth"]?.count(of: "links")
        wishes.include = try texts(root["include"])
        wishes.exclude = try texts(root["exclude"])
        wishes.nofollow = try root["nofollow"]?.choice(NofollowPolicy.self)
        wishes.noindex = try root["noindex"]?.choice(RobotsPolicy.self)
        wishes.headers = try texts(root["headers"], check: header)
        wishes.policy = try root["policy"]?.choice(CachePolicy.self)
        wishes.rules = try texts(root["rules"], check: rule)
        return wishes
    }

    private static func bundles(_ list: Node?) throws(ManifestError) -> [Bundle] {
        guard let list else { return [] }
        var bundles = BundleList()
        for item in try nonEmpty(list) {
            try item.allowOnly(bundleKeys)
            let url = try item.required("url", "a URL")
            if let refusal = bundles.add(try bundle(item, reference: try url.text())) {
                throw url.refuse(refusal.detail)
            }
        }
        return bundles.bundles
    }

    private static func bundle(_ item: Node, reference: String) throws(ManifestError) -> Bundle {
        var bundle = Bundle(reference: reference, claims: [])
        for algorithm in DigestAlgorithm.allCases {
            guard let written = item[algorithm.rawValue] else { continue }
            bundle.claims.append(Claim(try written.digest(algorithm)))
        }
        if let written = item["integrity"] {
            bundle.claims.append(Claim(try written.integrity()))
        }
        guard !bundle.claims.isEmpty else {
            throw item.refuse("expected a digest (md5, sha256, sha384, sha512 or integrity), found none")
        }
        if let size = item["size"] {
            bundle.claims.append(Claim(byteCount: try size.count(of: "bytes")))
        }
        bundle.version = try item["version"]?.text()
        bundle.isRequired = try item["required"]?.bool() ?? true
        return bundle
    }

    private static func nonEmpty(_ list: Node) throws(ManifestError) -> [Node] {
        let elements = try list.elements()
        guard !elements.isEmpty else {
            throw list.refuse("expected at least one element, found an empty list: leave the key out")
        }
        return elements
    }

    private static func texts(
        _ list: Node?, check: (Node, String) throws(ManifestError) -> Void = { _, _ in }
    ) throws(ManifestError) -> [String] {
        guard let list else { return [] }
        var texts: [String] = []
        var seen: Set<String> = []
        for element in try nonEmpty(list) {
            let text = try element.text()
            guard seen.insert(text).inserted else {
                throw element.refuse("\"\(Node.short(text))\" is listed twice")
            }
            try check(element, text)
            texts.append(text)
        }
        return texts
    }

    /// Checks a header: `Name: value`, preceded by a host if it is for that host only.
    private static func header(_ node: Node, _ text: String) throws(ManifestError) {
        let isOneLine = !text.utf8.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }
        let behindHost = text.utf8.firstIndex(of: 0x20).map { String(text[$0...].dropFirst()) }
        let isField = [text, behindHost ?? ""].contains { HTTPFields(block: $0.utf8.span).list.count == 1 }
        guard isOneLine, isField else {
            throw node.refuse(
                "expected \"Name: value\" or \"example.com Name: value\", found \"\(Node.short(text))\"")
        }
    }

    private static func rule(_ node: Node, _ text: String) throws(ManifestError) {
        do throws(CacheRules.Rule.ParseError) {
            _ = try CacheRules.Rule(text)
        } catch {
            throw node.refuse(
                "expected a rule such as \"/api/** max-age=600\": \(Node.short(error.description))")
        }
    }
}

extension Manifest {
    /// The manifest in Larder's own format, with a line feed at its end. Keys are in the order of the schema
    /// and bundles in that of their references, so that equal bundles give equal text. Leaves out facts that
    /// the format does not support: notes, weak evidence, and claims about the encoded body.
    package var json: String {
        let members: JSONMembers = [
            "site": IfAny(site), "version": IfAny(version), "base": IfAny(base), "start": IfAny(start),
            "scope": IfAny(wishes.extent?.rawValue), "depth": IfAny(wishes.depth),
            "include": IfAny(wishes.include), "exclude": IfAny(wishes.exclude),
            "nofollow": IfAny(wishes.nofollow?.rawValue), "noindex": IfAny(wishes.noindex?.rawValue),
            "headers": IfAny(wishes.headers), "policy": IfAny(wishes.policy?.rawValue),
            "rules": IfAny(wishes.rules), "bundles": IfAny(sortedBundles),
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
