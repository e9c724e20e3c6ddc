internal import Digest
package import Web

extension Manifest {
    /// The manifest in our own form, ending with a line feed. The keys are in the order of the schema and the bundles
    /// in that of their references, so that the same bundles are always the same text. What our form cannot say is left
    /// out: notes, weak evidence, and what is said of the bytes as they were sent.
    package var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { object in
            object.memberIfPresent("site", site)
            object.memberIfPresent("version", version)
            object.memberIfPresent("base", base)
            object.memberUnlessEmpty("start", start)
            object.memberIfPresent("scope", wishes.extent?.rawValue)
            object.memberIfPresent("depth", wishes.depth)
            object.memberUnlessEmpty("include", wishes.include)
            object.memberUnlessEmpty("exclude", wishes.exclude)
            object.memberIfPresent("nofollow", wishes.nofollow?.rawValue)
            object.memberIfPresent("noindex", wishes.noindex?.rawValue)
            object.memberUnlessEmpty("headers", wishes.headers)
            object.memberIfPresent("policy", wishes.policy?.rawValue)
            object.memberUnlessEmpty("rules", wishes.rules)
            object.memberUnlessEmpty("bundles", sortedBundles)
        }
        return writer.text + "\n"
    }

    private var sortedBundles: [Bundle] {
        // By bytes: the order of a String depends on the Unicode version.
        bundles.sorted { $0.reference.utf8.lexicographicallyPrecedes($1.reference.utf8) }
    }
}

extension Bundle: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("url", reference)
            for digest in digests.sorted(by: { $0.algorithm.byteCount < $1.algorithm.byteCount }) {
                object.member(digest.algorithm.rawValue, digest.hex)
            }
            for claim in claims where claim.isProof {
                if case .integrity(let integrity) = claim.content { object.member("integrity", integrity.text) }
            }
            object.memberIfPresent("size", byteCount)
            object.memberIfPresent("version", version)
            if !isRequired { object.member("required", false) }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func memberUnlessEmpty<Element: JSONWritable>(_ key: String, _ list: [Element]) {
        if !list.isEmpty { member(key, list) }
    }
}
