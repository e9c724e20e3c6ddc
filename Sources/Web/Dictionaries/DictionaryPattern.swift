/// The `match` value of `Use-As-Dictionary`: a URL pattern (https://urlpattern.spec.whatwg.org) without regular
/// expressions.
///
/// Supported are the wildcard `*`, named segments such as `:version`, groups without a modifier, escapes, a search
/// part, and the literal origin of the dictionary in front. A pattern with anything else is not used: its response then
/// becomes no dictionary, and requests get whole bodies. Matching takes linear time.
package struct DictionaryPattern: Sendable {
    /// The pattern as the server wrote it. The longest of several matching patterns is preferred.
    package let text: String
    private let path: GlobAutomaton
    private let query: QueryTest

    private enum QueryTest {
        /// URLPattern: without a search part, the pattern matches every query.
        case any
        case empty
        case glob(GlobAutomaton)
    }

    private static let maxBytes = 1024

    /// - Parameter base: the URL of the dictionary, by which a relative pattern is resolved.
    package init?(_ text: String, base: WebURL) {
        guard text.utf8.count <= Self.maxBytes, base.isHTTP else { return nil }
        self.text = text
        guard let rest = Self.withoutOrigin(Array(text.utf8)[...], base.origin) else { return nil }
        var folder: [UInt8] = []
        if rest.isEmpty || rest.first == UInt8(ascii: "?") {
            folder = Array(base.path.utf8)
        } else if rest.first != UInt8(ascii: "/") {
            folder = Array(base.path.utf8)
            folder.removeLast(folder.count - (folder.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0))
        }
        // The stars of a glob cannot be escaped.
        guard !folder.contains(UInt8(ascii: "*")), var parser = PatternParser(rest, isPath: true),
            let path = GlobAutomaton(folder + parser.glob)
        else { return nil }
        self.path = path
        guard let search = parser.takeSearch() else {
            query = .any
            return
        }
        guard !search.isEmpty else {
            query = .empty
            return
        }
        guard let glob = PatternParser(search, isPath: false).flatMap({ GlobAutomaton($0.glob) }) else {
            return nil
        }
        query = .glob(glob)
    }

    /// Returns a pattern without the literal origin in front of it; nil if it names another origin.
    private static func withoutOrigin(_ text: ArraySlice<UInt8>, _ origin: String) -> ArraySlice<UInt8>? {
        guard text.starts(with: origin.utf8) else {
            let namesOrigin = ["//", "http:", "https:"].contains { text.starts(with: $0.utf8) }
            return namesOrigin ? nil : text
        }
        let rest = text.dropFirst(origin.utf8.count)
        return switch rest.first {
        case UInt8(ascii: "/"): rest
        case nil, UInt8(ascii: "?"): [UInt8(ascii: "/")] + rest
        default: nil
        }
    }

    /// Whether the pattern matches the path and query of a URL. The caller compares the origins.
    package func matches(_ url: WebURL) -> Bool {
        guard path.matches(url.path.utf8) else { return false }
        return switch query {
        case .any: true
        case .empty: (url.query ?? "").isEmpty
        case .glob(let glob): glob.matches((url.query ?? "").utf8)
        }
    }

    /// The text of a pattern that matches the path, in which the stars are wildcards, with every query.
    package static func escaping(_ path: String) -> String {
        var text: [UInt8] = []
        for byte in path.utf8 {
            if "+?:{}()\\".utf8.contains(byte) { text.append(UInt8(ascii: "\\")) }
            text.append(byte)
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// Translates a part of a URL pattern into a glob, in which `**` matches anything and `?*` a part of a segment.
private struct PatternParser {
    private(set) var glob: [UInt8] = []
    private var search: ArraySlice<UInt8>?

    /// Returns nil for a pattern that is invalid or not supported.
    init?(_ text: ArraySlice<UInt8>, isPath: Bool) {
        var rest = text
        var isInGroup = false
        /// Whether a modifier may follow, as after a wildcard, a name or a group.
        var isAfterPart = false
        while let byte = rest.popFirst() {
            let wasAfterPart = isAfterPart
            isAfterPart = false
            switch byte {
            case UInt8(ascii: "*"):
                // A star after a name or a group is a modifier; two stars are a wildcard.
                guard !wasAfterPart || glob.last == UInt8(ascii: "*") else { return nil }
                glob += "**".utf8
                isAfterPart = true
            case UInt8(ascii: ":"):
                guard isPath, let first = rest.first, Self.isNameByte(first), !first.isASCIIDigit else {
                    return nil
                }
                rest = rest.drop(while: Self.isNameByte)
                guard rest.first != UInt8(ascii: "*") else { return nil }
                glob += "?*".utf8
                isAfterPart = true
            case UInt8(ascii: "{"):
                guard !isInGroup else { return nil }
                isInGroup = true
            case UInt8(ascii: "}"):
                guard isInGroup, rest.first != UInt8(ascii: "*") else { return nil }
                isInGroup = false
                isAfterPart = true
            case UInt8(ascii: "?") where isPath && !wasAfterPart && !isInGroup:
                search = rest
                return
            case UInt8(ascii: "\\"):
                // An escaped question mark begins the search part, too.
                if isPath, !isInGroup, rest.first == UInt8(ascii: "?") {
                    search = rest.dropFirst()
                    return
                }
                guard let literal = rest.popFirst(), literal != UInt8(ascii: "*"),
                    literal != UInt8(ascii: "?")
                else { return nil }
                glob.append(literal)
            case UInt8(ascii: "?"), UInt8(ascii: "+"), UInt8(ascii: "("), UInt8(ascii: ")"),
                UInt8(ascii: "#"):
                return nil
            default: glob.append(byte)
            }
        }
        if isInGroup { return nil }
    }

    /// The part after the question mark; nil if there is none.
    mutating func takeSearch() -> ArraySlice<UInt8>? { search.take() }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$")
    }
}
