internal import Markup
internal import Web

/// The `integrity` attributes of a page's scripts, style sheets and preloads. If a URL has several, its body
/// must satisfy all of them, each by a browser's rules: the strongest algorithm counts, and a malformed
/// digest matches no body.
enum PageIntegrities {
    static func read(_ source: ManifestText) throws(ManifestError) -> Manifest {
        let (base, found) = IntegrityScanner().scan(source.bytes.span)
        var manifest = Manifest(.html)
        manifest.base = base
        var indices: [String: Int] = [:]
        for attribute in found {
            let reference = String(decoding: attribute.reference, as: UTF8.self)
            guard !reference.isEmpty, reference.utf8.count <= ManifestLimits.maxReferenceBytes else {
                continue
            }
            guard indices.count < ManifestLimits.maxBundles else {
                throw source.error(at: 0, "more than \(ManifestLimits.maxBundles) bundles")
            }
            let index = indices[reference, default: manifest.bundles.count]
            if index == manifest.bundles.count {
                indices[reference] = index
                manifest.bundles.append(Bundle(reference: reference, claims: []))
            }
            let claim = Claim(Integrity(String(decoding: attribute.integrity, as: UTF8.self)))
            if !manifest.bundles[index].claims.contains(claim) {
                manifest.bundles[index].claims.append(claim)
            }
        }
        // An empty check would be clean.
        guard !manifest.bundles.isEmpty else {
            throw source.error(
                at: 0,
                "expected a manifest, or a page whose scripts or links have an integrity attribute; found another page"
            )
        }
        return manifest
    }

    static func isRecognised(_ bytes: [UInt8]) -> Bool {
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        return bytes[start...].first { $0 > 0x20 } == 0x3C
    }

    /// Whether a manifest of this name is probably not a page. A server that lacks the manifest may answer
    /// with a page.
    static func isUnlikelyName(_ file: String) -> Bool {
        let path = file.utf8.prefix { $0 != 0x3F && $0 != 0x23 }
        guard let name = path.split(separator: 0x2F).last, let dot = name.lastIndex(of: 0x2E) else {
            return false
        }
        let ending = String(decoding: name[name.index(after: dot)...].map(\.lowercasedASCII), as: UTF8.self)
        return [
            "json", "js", "mjs", "manifest", "webmanifest", "txt", "md5", "sha1", "sha256", "sha384",
            "sha512",
        ]
        .contains(ending)
    }
}

/// An import map. URLs in `integrity` have a digest; URLs that are only mapped must exist.
enum ImportMap {
    static func read(_ root: ManifestNode) throws(ManifestError) -> Manifest {
        guard root.value.members != nil else { throw root.typeError(expected: "an object") }
        var list = BundleList()
        for (url, integrity) in try root["integrity"]?.members() ?? [] {
            try integrity.add(
                Bundle(reference: url, claims: try integrity.lenientIntegrityClaims()), to: &list)
        }
        var maps = [root["imports"]].compactMap(\.self)
        for (_, scope) in try root["scopes"]?.members() ?? [] { maps.append(scope) }
        for map in maps {
            for (_, target) in try map.members() where !target.value.isNull {
                let reference = try target.string()
                guard isURL(reference) else { continue }
                try target.add(Bundle(reference: reference, claims: []), to: &list)
            }
        }
        return Manifest(.importMap, bundles: list.bundles)
    }

    /// Whether a target is a URL. Browsers ignore other targets, and one that ends with a slash stands for
    /// many URLs.
    private static func isURL(_ text: String) -> Bool {
        guard text.utf8.last != 0x2F else { return false }
        return ["/", "./", "../"].contains { text.hasPrefix($0) } || WebURL(text)?.isHTTP == true
    }
}
