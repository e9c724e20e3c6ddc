package import Digest
package import Web

/// What one answer for a URL told of the generation that it is of.
package struct Sighting: Sendable, Equatable {
    package var entityTag: EntityTag?
    package var lastModified: HTTPDate?
    /// Of the decoded body, where it is known.
    package var digest: Digest?

    package init(entityTag: EntityTag? = nil, lastModified: HTTPDate? = nil, digest: Digest? = nil) {
        self.entityTag = entityTag
        self.lastModified = lastModified
        self.digest = digest
    }

    package init(_ fields: HTTPFields, digest: Digest? = nil) {
        self.init(entityTag: fields.entityTag, lastModified: fields.date("Last-Modified"), digest: digest)
    }

    /// Whether another answer for the same URL is of another generation.
    ///
    /// Digests decide where both are known. Else tags must differ and dates must not agree: servers behind one balancer
    /// make different tags of one file. Without tags, dates alone decide.
    package func skew(with later: Sighting) -> Skew? {
        if let digest, let other = later.digest, digest.algorithm == other.algorithm {
            guard digest != other else { return nil }
            return Skew.generation(by: digest.algorithm.label, first: digest.hex, second: other.hex)
        }
        let haveSameDate = lastModified != nil && lastModified == later.lastModified
        if let entityTag, let other = later.entityTag {
            guard Self.stem(entityTag) != Self.stem(other), !haveSameDate else { return nil }
            return Skew.generation(by: "ETag", first: entityTag.text, second: other.text)
        }
        guard let lastModified, let other = later.lastModified, !haveSameDate else { return nil }
        return Skew.generation(by: "Last-Modified", first: "\(lastModified)", second: "\(other)")
    }

    /// A tag without what servers add to it for a content coding: `"abc-gzip"`, `"abc--br"`, `"abc;zstd"`, `W/`.
    private static func stem(_ tag: EntityTag) -> [UInt8] {
        var bytes = Array(tag.text.utf8.dropFirst(tag.isWeak ? 2 : 0).filter { $0 != 0x22 })
        for coding in ["gzip", "br", "deflate", "zstd", "df"] where bytes.count > coding.utf8.count {
            let rest = bytes.dropLast(coding.utf8.count)
            guard bytes.suffix(coding.utf8.count).elementsEqual(coding.utf8), let mark = rest.last else { continue }
            guard mark == 0x2D || mark == 0x3B || mark == 0x3A else { continue }
            bytes = Array(rest)
            while let last = bytes.last, last == 0x2D || last == 0x3B || last == 0x3A { bytes.removeLast() }
        }
        return bytes
    }
}
