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
