package import Web

/// Why pages of a pattern are asked for later, or no longer.
package struct TrapReason: Sendable, Hashable, CustomStringConvertible {
    package enum Kind: UInt8, Sendable, CaseIterable {
        /// Different URLs, the same content.
        case repetition
        /// Dates without an end, and nothing happens on them.
        case calendar
        /// Folders in folders of the same names.
        case depth
        /// Ever new combinations of parameters.
        case parameters
        /// Ever new keys, and nothing is said behind them.
        case keys
        /// Ever new words, each a page that says nothing.
        case words
    }

    package var kind: Kind
    /// See `URLShape`.
    package var pattern: String
    /// How many of its pages were looked at, and how many of them were as others had been.
    package var pages: Int
    package var alike: Int

    /// What the pages of a trap have in common, of this one.
    package static func pattern(of url: WebURL) -> String { URLShape(url).text }

    package var description: String {
        switch kind {
        case .repetition: "a trap: \(alike) of \(pages) pages like \(pattern) repeat others"
        case .calendar: "a calendar without an end: \(alike) of \(pages) pages like \(pattern) are alike"
        case .depth: "folders without an end: \(alike) of \(pages) pages like \(pattern) are alike"
        case .keys: "keys without an end: \(alike) of \(pages) pages like \(pattern) say nothing of their own"
        case .words: "words without an end: \(alike) of \(pages) pages that were looked at in \(pattern) say nothing"
        case .parameters: "parameters without an end: \(pages) pages like \(pattern) lead to little else"
        }
    }
}
