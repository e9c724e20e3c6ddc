/// The identifier of one version of a representation (RFC 9110, section 8.8.3).
package struct EntityTag: Sendable, Hashable, CustomStringConvertible {
    package let isWeak: Bool
    /// The tag as it was received, to be sent back unchanged: `"abc"`, `W/"abc"`, or `abc` from servers that
    /// omit the quotes.
    package let text: String

    package var description: String { text }

    /// The characters between the quotes.
    private var opaque: Substring.UTF8View {
        let tag = text.utf8.dropFirst(isWeak ? 2 : 0)
        return tag.first == 0x22 ? tag.dropFirst().dropLast() : tag
    }

    /// Returns nil if the text is empty, a quote is not closed, or a byte is not allowed in a tag.
    package init?(_ text: String) {
        var scanner = FieldScanner(Array(HTTPGrammar.trimmed(Array(text.utf8))))
        guard let tag = scanner.entityTag(), scanner.isAtEnd else { return nil }
        self = tag
    }

    fileprivate init(isWeak: Bool, text: String) {
        self.isWeak = isWeak
        self.text = text
    }

    /// Whether both tags are strong and equal, so that the bodies have the same bytes. Required to combine
    /// ranges.
    package func matchesStrongly(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && opaque.elementsEqual(other.opaque)
    }

    /// Whether the tags are equal, weak or strong: the comparison for `If-None-Match`.
    func matchesWeakly(_ other: EntityTag) -> Bool { opaque.elementsEqual(other.opaque) }
}

extension FieldScanner {
    /// Reads one tag: a quoted one or, leniently, the characters up to a comma or a space.
    mutating func entityTag() -> EntityTag? {
        let start = position
        let isWeak = next == 0x57 && following == 0x2F
        if isWeak { advance(2) }
        if consume(0x22) {
            skip { $0 == 0x21 || ($0 >= 0x23 && $0 != 0x7F) || $0 == 0x20 }
            guard consume(0x22) else { return nil }
        } else {
            guard !take(while: { $0 > 0x20 && $0 != 0x2C && $0 != 0x22 && $0 != 0x7F }).isEmpty else {
                return nil
            }
        }
        return EntityTag(isWeak: isWeak, text: HTTPGrammar.text(bytes[start..<position]))
    }
}

/// The list in `If-Match` or `If-None-Match`.
package enum EntityTagCondition: Sendable, Equatable {
    /// `*`, which matches any version.
    case any
    case tags([EntityTag])

    /// Parses the list. Ignores elements that are not tags.
    package init(_ text: String) {
        var scanner = FieldScanner(text)
        var tags: [EntityTag] = []
        while true {
            scanner.skipSpaceAndCommas()
            if scanner.isAtEnd { break }
            if let tag = scanner.entityTag() {
                tags.append(tag)
            }
            scanner.skip { $0 != 0x2C }
        }
        self = tags.count == 1 && tags[0].text == "*" ? .any : .tags(tags)
    }

    func includesWeakly(_ tag: EntityTag) -> Bool {
        switch self {
        case .any: true
        case .tags(let tags): tags.contains { $0.matchesWeakly(tag) }
        }
    }

    func includesStrongly(_ tag: EntityTag) -> Bool {
        switch self {
        case .any: true
        case .tags(let tags): tags.contains { $0.matchesStrongly(tag) }
        }
    }
}
