internal import Web

/// The parameters of a query by their names and values, and what they say about its page.
extension QueryViews {
    /// The names of the parameters in alphabetical order, without those that number the pages of a list. A name with
    /// digits and no value, such as `123-title`, is `#`. The parameter that selects the kind of page has its value:
    /// `action=view`.
    static func names(_ query: String) -> [String] {
        var names: Set<String> = []
        for item in query.queryItems where !isOfList(item) {
            let name = item.prefix { $0 != "=" }
            let isIdentifier = name.count == item.count && name.utf8.contains(where: \.isASCIIDigit)
            if selectsKind(name, item.dropFirst(name.count + 1)) {
                names.insert(String(item))
            } else if !name.isEmpty {
                names.insert(isIdentifier ? "#" : String(name))
            }
        }
        return names.sorted()
    }

    /// The parameters that select the kind of page; empty if there are none.
    static func kind(of url: WebURL) -> String {
        (url.query ?? "").queryItems.filter { item in
            let name = item.prefix { $0 != "=" }
            return selectsKind(name, item.dropFirst(name.count + 1))
        }.sorted().joined(separator: "&")
    }

    /// The parameters of a query that do not select the kind of page, in alphabetical order.
    static func identity(of query: String) -> String {
        query.queryItems.filter { item in
            let name = item.prefix { $0 != "=" }
            return !selectsKind(name, item.dropFirst(name.count + 1))
        }.sorted().joined(separator: "&")
    }

    /// Whether a parameter selects the kind of page, as in applications with one script: `?action=view&id=17`. The pages of
    /// each kind are judged by themselves.
    private static func selectsKind(_ name: Substring, _ value: Substring) -> Bool {
        kindNames.contains(name.lowercased()) && (1...maxKindBytes).contains(value.utf8.count)
            && value.utf8.allSatisfy { $0.isASCIIAlpha || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "/") }
    }

    private static let kindNames: Set<String> = [
        "a", "act", "action", "cmd", "controller", "do", "func", "function", "mod", "module", "op", "option",
        "route", "task",
    ]
    /// Queries with more parameters are not compared by parameter.
    private static let maxParameters = 8
    /// Longer values are texts.
    private static let maxKindBytes = 32

    /// The URLs of which a page with this query may be a view, as references: those without one of the parameters, or
    /// with only the first ones. The number of a page in a list is no reason to be a view.
    static func parents(of query: String) -> [String] {
        let items = query.queryItems
        guard (2...maxParameters).contains(items.count) else { return [] }
        var parents: [[Substring]] = []
        for place in items.indices where !isOfList(items[place]) {
            let others = Array(items[..<place] + items[(place + 1)...])
            parents += [others, others.filter { !isOfList($0) }]
        }
        // The first parameters often name the page, and the others the view of it.
        for count in 1..<items.count { parents.append(Array(items[..<count])) }
        let own = items.filter { !isOfList($0) }
        let separator = query.contains("&") ? "&" : ";"
        let references = parents.filter { !$0.isEmpty && $0 != own }.map {
            "?" + $0.joined(separator: separator)
        }
        return Array(Set(references)).sorted()
    }

    static func isOfList(_ item: Substring) -> Bool {
        let name = item.prefix { $0 != "=" }
        let value = item.dropFirst(name.count + 1)
        let isNumber = !value.isEmpty && value.utf8.allSatisfy(\.isASCIIDigit)
        return cursorNames.contains(name.lowercased()) || isNumber && pageNames.contains(name.lowercased())
    }

    private static let cursorNames: Set<String> = [
        "_next", "cursor", "after", "before", "next", "page_token", "pagetoken", "continue",
    ]
    private static let pageNames: Set<String> = [
        "page", "p", "pg", "paged", "pagenum", "page_num", "pageno", "offset", "start", "skip", "from",
        "cpage",
    ]

    /// Whether the value of a parameter is a path of several names.
    static func isPath(_ item: Substring) -> Bool {
        var rest = item.drop { $0 != "=" }.dropFirst().utf8
        while !rest.isEmpty {
            if startsWithSeparator(rest) { return true }
            rest = rest.dropFirst()
        }
        return false
    }

    /// Each parameter that does not number the pages of a list, with a hash of its name and of all other parameters. Pages
    /// that differ in one parameter have one of these hashes in common.
    static func rests(of query: String) -> [(name: String, rest: UInt64)] {
        let items = query.queryItems.sorted()
        guard items.count <= maxParameters else { return [] }
        return items.indices.filter { !isOfList(items[$0]) }.map { place in
            let name = items[place].prefix { $0 != "=" }
            let others = items[..<place] + items[(place + 1)...]
            return (String(name), Mixing.mix(([name] + others).joined(separator: "&").utf8))
        }
    }

    /// The query of a URL.
    static func query(of href: String) -> String { String(href.drop { $0 != "?" }.dropFirst()) }

    /// Whether text begins with a slash, as it is or encoded.
    static func startsWithSeparator(_ text: Substring.UTF8View) -> Bool {
        text.first == UInt8(ascii: "/") || text.starts(with: "%2F".utf8) || text.starts(with: "%2f".utf8)
    }

    /// Whether the pages of a group that differ in one parameter only are the same, by the hashes of the other parameters
    /// (`rests(of:)`).
    struct Difference: Sendable {
        var repeats: Set<UInt64> = []
        var others: Set<UInt64> = []

        /// Whether the parameter made no difference so far, in most cases.
        var mayBeIdle: Bool { repeats.count > 4 * others.count }
        /// Whether the parameter makes no difference.
        var isIdle: Bool { mayBeIdle && repeats.count >= QueryViews.minRepeats }
    }

    /// A part of the pieces of a page, by which pages of two kinds are compared.
    struct Sketch: Sendable {
        let kind: String
        let pieces: Set<UInt32>

        /// Whether this page has nearly all of the text of another one, and not much more.
        func repeats(_ other: Set<UInt32>) -> Bool {
            other.count >= 4 && 2 * other.count >= pieces.count
                && 10 * other.subtracting(pieces).count <= other.count
        }
    }
}
