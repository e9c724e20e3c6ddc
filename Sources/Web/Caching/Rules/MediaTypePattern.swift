/// Which media types a rule is for: `text/css`, `image/*`, `*/*`.
package struct MediaTypePattern: Sendable, Hashable {
    package let text: String
    /// Nil for any.
    private let type: String?
    private let subtype: String?

    /// Nil when the text is no media type, nor one with a star in a part's place.
    package init?(_ text: String) {
        let parts = HTTPGrammar.lowercased(text.utf8).utf8.split(separator: 0x2F, omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ HTTPGrammar.isToken($0) }) else { return nil }
        let (type, subtype) = (HTTPGrammar.text(parts[0]), HTTPGrammar.text(parts[1]))
        guard type != "*" || subtype == "*" else { return nil }
        self.text = text
        self.type = type == "*" ? nil : type
        self.subtype = subtype == "*" ? nil : subtype
    }

    /// A response without a type is matched by `*/*` alone.
    package func matches(_ mediaType: MediaType?) -> Bool {
        guard let mediaType else { return type == nil }
        return (type ?? String(mediaType.type)) == mediaType.type
            && (subtype ?? String(mediaType.subtype)) == mediaType.subtype
    }
}
