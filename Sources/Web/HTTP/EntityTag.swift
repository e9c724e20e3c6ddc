/// The name of one version of a representation (RFC 9110, section 8.8.3).
package struct EntityTag: Sendable, Hashable, CustomStringConvertible {
    package let isWeak: Bool
    /// As it was sent, to be sent back byte by byte: `"abc"`, `W/"abc"`, and from servers that forget the
    /// quotes `abc`.
    package let text: String

    package var description: String { text }

    /// Between the quotes.
    private var opaque: Substring.UTF8View {
        let tag = text.utf8.dropFirst(isWeak ? 2 : 0)
        return tag.first == 0x22 ? tag.dropFirst().dropLast() : tag
    }

    /// Nil when nothing is there, or a quote has no partner, or a byte stands there that no tag may hold.
    package init?(_ text: String) {
        var scanner = FieldScanner(Array(HTTPGrammar.trimmed(Array(text.utf8))))
        guard let tag = scanner.entityTag(), scanner.isAtEnd else { return nil }
        self = tag
    }

    fileprivate init(isWeak: Bool, text: String) {
        self.isWeak = isWeak
        self.text = text
    }

    /// Whether both are strong and the same: the bodies are equal byte by byte. Needed to combine ranges.
    package func matchesStrongly(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && opaque.elementsEqual(other.opaque)
    }

    /// Whether one may stand for the other: what `If-None-Match` asks.
    package func matchesWeakly(_ other: EntityTag) -> Bool { opaque.elementsEqual(other.opaque) }
}

extension FieldScanner {
    /// Reads one tag, in quotes or, leniently, up to a comma or a space.
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

/// What `If-Match` and `If-None-Match` list.
package enum EntityTagCondition: Sendable, Equatable {
    /// `*`, which any version meets.
    case any
    case tags([EntityTag])

    /// Reads the list; elements that are no tag are left out.
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

    package func includesWeakly(_ tag: EntityTag) -> Bool {
        switch self {
        case .any: true
        case .tags(let tags): tags.contains { $0.matchesWeakly(tag) }
        }
    }

    package func includesStrongly(_ tag: EntityTag) -> Bool {
        switch self {
        case .any: true
        case .tags(let tags): tags.contains { $0.matchesStrongly(tag) }
        }
    }
}
