/// What is known of one occurrence beside its kind. Stored: a bit never changes its meaning.
package struct LinkFlags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// The reference has a scheme, or starts with two slashes: it names an origin by itself.
    package static let namesOrigin = LinkFlags(rawValue: 1)
    /// It probably is a link: a string in a script, a `data-` attribute that some library reads.
    package static let isGuess = LinkFlags(rawValue: 2)
    /// It is only a fragment, so it stays in the document unless there is a `<base>`.
    package static let isFragment = LinkFlags(rawValue: 4)
    /// It stands in a conditional comment that only old browsers read.
    package static let isConditional = LinkFlags(rawValue: 8)
    /// It is relative to the `codebase` of the same element, which is an occurrence of its own beside it.
    package static let hasCodebase = LinkFlags(rawValue: 16)
    /// The document's `<base>` does not apply to it.
    package static let ignoresBase = LinkFlags(rawValue: 32)
    /// It is loaded by a script once it is near the screen (`data-src` and its like).
    package static let isLazy = LinkFlags(rawValue: 64)
    /// Its `rel` says that the page does not stand for it: `nofollow`, `ugc`, `sponsored`.
    package static let isNofollow = LinkFlags(rawValue: 128)
    /// Its element says `crossorigin`, or it is for a property whose pictures other origins have to allow. What is asked for
    /// by CORS without that, ``LinkKind/isCORS(_:)`` knows.
    package static let isCORS = LinkFlags(rawValue: 256)

    /// All of them.
    static let largest: UInt16 = 511
}
