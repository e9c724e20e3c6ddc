/// How a reference is written where it stands, which is how a replacement must be escaped.
///
/// Outside are the levels of markup that a reader undoes first (one for an attribute, one more for each `srcdoc` around
/// it), inside is the small language of the value itself. Stored: the bits never change their meaning, and the three highest
/// stay free for ``LinkFlags``.
package struct LinkContext: RawRepresentable, Hashable, Sendable {
    /// The small language inside the markup.
    package enum Inner: UInt8, CaseIterable, Sendable {
        /// The reference as it is.
        case plain = 0
        /// Inside the quotes of a CSS string.
        case cssString = 1
        /// Inside `url(` and `)` without quotes.
        case cssURL = 2
        /// Inside the quotes of a script's string.
        case scriptString = 3
        /// Inside a script's template without substitutions.
        case scriptTemplate = 4
        /// Inside the quotes of a JSON string.
        case json = 5
        /// A candidate of a `srcset`.
        case srcset = 6
        /// One of several, separated by white space.
        case spaceList = 7
        /// One of several, separated by commas.
        case commaList = 8
        /// The address of a refresh.
        case refresh = 9
        /// A whole line or the rest of one: a playlist, a plain sitemap, a source map comment.
        case line = 10
        /// The value of an attribute in markup that is the inside of a script's string.
        case scriptMarkup = 11
    }

    package let rawValue: UInt16

    /// The deepest nesting of `srcdoc` that is scanned.
    package static let maximalLevels = 5

    package init?(rawValue: UInt16) {
        guard Inner(rawValue: UInt8(truncatingIfNeeded: rawValue)) != nil, rawValue >> 8 & 7 <= Self.maximalLevels,
            rawValue >> 13 == 0
        else { return nil }
        self.rawValue = rawValue
    }

    /// - Parameters:
    ///   - levels: how often character references are to be undone; at most ``maximalLevels``.
    ///   - isUnquoted: an attribute's value without quotes, at any level.
    ///   - isXML: the references are those of XML.
    package init(levels: Int, isUnquoted: Bool = false, isXML: Bool = false, _ inner: Inner) {
        precondition((0...Self.maximalLevels).contains(levels))
        let outer = UInt16(levels) | (isUnquoted ? 8 : 0) | (isXML ? 16 : 0)
        rawValue = outer << 8 | UInt16(inner.rawValue)
    }

    package static let plain = LinkContext(levels: 0, .plain)
    package static let attribute = LinkContext(levels: 1, .plain)

    package var levels: Int { Int(rawValue >> 8 & 7) }
    package var isUnquoted: Bool { rawValue >> 11 & 1 != 0 }
    package var isXML: Bool { rawValue >> 12 & 1 != 0 }
    package var inner: Inner { Inner(rawValue: UInt8(truncatingIfNeeded: rawValue)) ?? .plain }

    /// The same place in the markup with another small language inside.
    package func with(_ inner: Inner) -> LinkContext {
        LinkContext(levels: levels, isUnquoted: isUnquoted, isXML: isXML, inner)
    }
}
