package import Web

/// Everything that is known of the links of one body: what a store keeps beside it.
package struct LinkTable: Hashable, Sendable {
    /// The document's own `<base href>`, read but not resolved.
    package var base: String?
    /// The encoding the body is written in.
    package var encoding: TextEncoding
    /// The body's encoding has no ASCII in it: the ranges count in ``TextEncoding/decode(_:)``'s form of the body.
    package var isTranscoded: Bool
    /// The document's title with its white space collapsed, at most 256 bytes.
    package var title: String?
    /// What the document's `<meta name=robots>` say, with commas between.
    package var robots: String?
    /// Ascending by place; no two share a byte.
    package var occurrences: [LinkOccurrence]
    /// Links that stand nowhere in one piece; none twice.
    package var implied: [ImpliedLink]

    package init(
        encoding: TextEncoding = .utf8, isTranscoded: Bool = false, base: String? = nil, title: String? = nil,
        robots: String? = nil, occurrences: [LinkOccurrence] = [], implied: [ImpliedLink] = []
    ) {
        self.encoding = encoding
        self.isTranscoded = isTranscoded
        self.base = base
        self.title = title
        self.robots = robots
        self.occurrences = occurrences
        self.implied = implied
    }

    /// The bytes that the ranges count in: the body itself, or its UTF-8 form.
    package func source(of body: Span<UInt8>) -> [UInt8]? {
        isTranscoded ? encoding.decode(body) : nil
    }

    /// The reference as a browser reads it, in UTF-8, before any URL parsing.
    ///
    /// `source` is the body, or its UTF-8 form when the table ``isTranscoded``. Empty when the range is not inside.
    package func reference(_ occurrence: LinkOccurrence, in source: Span<UInt8>) -> [UInt8] {
        guard occurrence.range.lowerBound >= 0, occurrence.range.upperBound <= source.count else { return [] }
        return source.withUnsafeBufferPointer { bytes in
            var reader = ReferenceReader(encoding: isTranscoded ? .utf8 : encoding)
            return reader.withReference(bytes.part(occurrence.range), occurrence.context) { Array($0) }
        }
    }
}
