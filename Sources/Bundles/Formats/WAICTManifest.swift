internal import Digest
internal import Web

/// The integrity manifest of WAICT (Web Application Integrity, Consistency and Transparency), as Firefox reads it and
/// as the draft of April 2026 describes it: `{"hashes": {"/app.js": "base64 of SHA-256"}}`.
///
/// Firefox uses standard base64, the draft base64url without padding; both are read. Keys are URLs relative to the root
/// of the origin. A line with a proof of transparency may follow the JSON; Larder does not verify it.
enum WAICTManifest {
    static func read(_ source: ManifestText) throws(ManifestError) -> Manifest {
        guard let end = proofStart(in: source.bytes) else { return try read(try source.json()) }
        return try read(try source.json(in: 0..<end))
    }

    static func read(_ root: ManifestNode) throws(ManifestError) -> Manifest {
        guard root.value.members != nil else { throw root.typeError(expected: "an object") }
        if let optOut = root["emergency_opt_out"], try optOut.bool() {
            throw optOut.error(
                "the manifest withdraws the site from WAICT, so that browsers verify nothing: there is nothing to "
                    + "check; name another manifest")
        }
        var list = BundleList()
        // The draft says that the last of repeated keys counts. Equal ones are allowed, different ones are errors: one
        // reader may see another digest than the other.
        for (url, node) in try root["hashes"]?.members(allowsRepetition: true) ?? [] {
            guard !url.isEmpty else { throw node.error("expected a URL as key, found an empty string") }
            let digest = try node.base64Digest(.sha256)
            let isAbsolute = url.utf8.first == 0x2F || WebURL(url) != nil
            try node.add(Bundle(reference: isAbsolute ? url : "/" + url, digests: [digest]), to: &list)
        }
        var manifest = Manifest(.waict, bundles: list.bundles)
        for key in ["any_hashes", "wildcard_hashes", "wasm_hashes", "fallback_hashes"] {
            let hashes = try root[key]?.elements() ?? []
            for hash in hashes { _ = try hash.base64Digest(.sha256) }
            if !hashes.isEmpty {
                manifest.note("\(key) has digests without URLs, which are not checked: \(hashes.count)")
            }
        }
        // An empty check would be clean.
        guard !list.bundles.isEmpty else {
            throw (root["hashes"] ?? root).error("expected \"hashes\" with digests by URL, found none")
        }
        return manifest
    }

    /// Whether `hashes` maps text to SHA-256, or other members are those of this format.
    static func isRecognised(_ value: JSONValue) -> Bool {
        let hasOther = otherKeys.contains { value[$0] != nil }
        guard let hashes = value["hashes"] else { return hasOther && value["any_hashes"]?.array != nil }
        guard let members = hashes.members else { return false }
        return members.allSatisfy { $0.value.string != nil }
            && (hasOther
                || members.contains { $0.value.string.flatMap { Digest(.sha256, base64: $0) } != nil })
    }

    private static let otherKeys = [
        "bt-server", "any_hashes", "wildcard_hashes", "wasm_hashes", "fallback_hashes", "resource_delimiter",
        "transparency_proof", "emergency_opt_out", "integrity-policy",
    ]

    /// The start of the line with the proof after the JSON: at least one base64 digit, and a line break. Nil if there
    /// is none.
    static func proofStart(in bytes: [UInt8]) -> Int? {
        guard bytes.last == 0x0A else { return nil }
        let line = bytes.dropLast().reversed().prefix { $0 != 0x0A }
        guard !line.isEmpty, line.count < bytes.count - 1, line.allSatisfy(isProofByte) else { return nil }
        let end = bytes.count - 1 - line.count
        return bytes[..<end].last { $0 > 0x20 } == 0x7D ? end : nil
    }

    private static func isProofByte(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || "+/-_=".utf8.contains(byte)
    }
}
