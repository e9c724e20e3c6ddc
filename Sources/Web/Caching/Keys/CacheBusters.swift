/// The parameters of a query that only keep caches from answering: they change from one request to the next, and the
/// answer does not.
package struct CacheBusters: Sendable, Hashable {
    /// In lower case.
    package var names: Set<String>
    /// Whether a parameter that is nothing but a number, as in `app.js?1699999999`, is one.
    package var includesBareNumbers: Bool

    package init(names: Set<String>, includesBareNumbers: Bool = true) {
        self.names = names
        self.includesBareNumbers = includesBareNumbers
    }

    /// Those in common use.
    package static let known = CacheBusters(names: [
        "_", "__", "_dc", "_t", "_ts", "_v", "bust", "buster", "cachebust", "cachebuster", "cache_bust", "cache_buster",
        "cache-buster", "cb", "dc", "no-cache", "no_cache", "nocache", "rand", "random", "rnd", "t",
        "timestamp", "ts", "v", "ver",
    ])

    /// The URL without such parameters, the others untouched and in their order; nil when it has none.
    package func stripped(_ url: WebURL) -> WebURL? {
        guard let query = url.query, !query.isEmpty else { return nil }
        let parameters = query.utf8.split(separator: 0x26, omittingEmptySubsequences: false)
        let kept = parameters.filter { !isBuster($0) }
        guard kept.count < parameters.count else { return nil }
        return url.replacingQuery(kept.isEmpty ? nil : HTTPGrammar.text(Array(kept.joined(separator: [0x26]))))
    }

    private func isBuster(_ parameter: Substring.UTF8View) -> Bool {
        let name = parameter.prefix { $0 != 0x3D }
        if includesBareNumbers, !name.isEmpty, name.count == parameter.count, name.allSatisfy(\.isASCIIDigit) {
            return true
        }
        return names.contains(HTTPGrammar.lowercased(name))
    }
}
