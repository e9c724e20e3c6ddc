/// A URL under which to look for a stored response if there is none under the requested URL.
///
/// For example, a page requests `/app.js?_=1764000001`. The store has `/app.js?_=1764000000` from the crawl. Both have
/// the candidate `/app.js`, since the parameter `_` only bypasses caches.
package struct LookupCandidate: Sendable, Hashable {
    /// The differences between a candidate and the requested URL. A response that is found by a candidate
    /// reports them.
    package struct Change: OptionSet, Sendable, Hashable, CustomStringConvertible {
        package let rawValue: UInt16

        package init(rawValue: UInt16) { self.rawValue = rawValue }

        /// `http` for `https`, or the reverse.
        package static let scheme = Change(rawValue: 1)
        /// With or without a slash at the end of the path. Counts only if a stored redirect connects the two
        /// URLs.
        package static let slash = Change(rawValue: 2)
        /// Without parameters that do not affect the response: cache busters, and parameters that identify a
        /// session or a campaign.
        package static let busters = Change(rawValue: 4)
        /// Without the query.
        package static let query = Change(rawValue: 8)
        /// Without the query, which does not affect the response: only a script of the page reads it, as in a
        /// static page with a search.
        package static let search = Change(rawValue: 16)
        /// With the parameters of the query in another order.
        package static let order = Change(rawValue: 32)
        /// With other points in time in the request body: the same request, sent at another time.
        package static let time = Change(rawValue: 64)
        /// Another page of the folder, where the server sends the same page for every URL: the shell of an
        /// application, whose scripts read the URL.
        package static let shell = Change(rawValue: 128)
        /// With another callback (``JSONPCallback``).
        package static let callback = Change(rawValue: 256)
        /// With another device in the query (``RequestedDevice``).
        package static let device = Change(rawValue: 512)
        /// The page itself, in place of another form of it that a script asked for (`HTTPFields.requestedForm`).
        package static let form = Change(rawValue: 1024)

        package var description: String {
            var words: [String] = []
            if contains(.scheme) { words.append("scheme") }
            if contains(.slash) { words.append("slash") }
            if contains(.busters) { words.append("cache-busters") }
            if contains(.query) { words.append("query") }
            if contains(.search) { words.append("search") }
            if contains(.order) { words.append("order") }
            if contains(.time) { words.append("time") }
            if contains(.shell) { words.append("shell") }
            if contains(.callback) { words.append("callback") }
            if contains(.device) { words.append("device") }
            if contains(.form) { words.append("form") }
            return words.isEmpty ? "exact" : words.joined(separator: "+")
        }
    }

    package let url: WebURL
    package let change: Change

    /// The URL that all versions of a URL have in common, and its differences from `requested`.
    ///
    /// The common URL lacks the parameters that do not affect the response. It lacks the whole query if `dropsQuery` is
    /// set, and its parameters are sorted if `ignoresOrder` is set. Nil if the URL is its own common URL.
    package static func common(
        of requested: WebURL, busters: CacheBusters = .known, dropsQuery: Bool = false,
        ignoresOrder: Bool = false
    ) -> (url: WebURL, change: Change)? {
        let url = requested.withoutFragment
        if dropsQuery { return url.replacingQuery(nil).map { ($0, .query) } }
        let reduced = busters.removing(from: url)
        guard ignoresOrder, let sorted = (reduced ?? url).withSortedQuery else {
            return reduced.map { ($0, .busters) }
        }
        return (sorted, reduced == nil ? .order : [.busters, .order])
    }

    /// Returns all candidates in the order in which to try them: the URL itself, then each single change,
    /// each of them followed by the same with the other scheme. The query is dropped only if a rule of the
    /// user allows it for this URL.
    ///
    /// - Parameter isStrict: whether a program sent the request, for which another scheme or session is a
    ///   different resource.
    package static func all(
        for requested: WebURL, busters: CacheBusters = .known, dropsQuery: Bool = false,
        isStrict: Bool = false
    ) -> [LookupCandidate] {
        let url = requested.withoutFragment
        var found: [LookupCandidate] = []
        func add(_ candidate: WebURL?, _ change: Change) {
            guard let candidate, !found.contains(where: { $0.url == candidate }) else { return }
            found.append(LookupCandidate(url: candidate, change: change))
        }
        func addBoth(_ candidate: WebURL?, _ change: Change) {
            add(candidate, change)
            if !isStrict { add(candidate?.otherScheme, change.union(.scheme)) }
        }
        addBoth(url, [])
        if !isStrict {
            addBoth(url.otherSlash, .slash)
            addBoth(url.otherEmptyQuery, .query)
        }
        let withoutBusters = busters.removing(from: url)
        addBoth(withoutBusters, .busters)
        // A crawl stores a page under its URL without session parameters.
        if url.isHTTP, !isStrict {
            addBoth(SessionParameters.removing(from: url), .busters)
            addBoth(withoutBusters.flatMap(SessionParameters.removing), .busters)
        }
        if dropsQuery, url.query != nil { addBoth(url.replacingQuery(nil), .query) }
        return found
    }
}

// MARK: - CacheBusters

/// The query parameters that only bypass caches: they change with each request and do not affect the
/// response.
package struct CacheBusters: Sendable, Hashable {
    /// The names of parameters that count whatever their value, in lower case.
    package var names: Set<String>
    /// Whether a parameter that is only a number or version counts, as in `app.js?1699999999` and `app.js?v1.0`.
    package var includesBareVersions: Bool
    /// Names of parameters that count only if their value is a time or a random number, since `v=1.2` and
    /// `v=1.3` may be different resources. If this is not empty, a parameter without a value counts under the
    /// same condition.
    package var timeOrRandomNames: Set<String> = []

    package init(names: Set<String>, includesBareVersions: Bool = true) {
        self.names = names
        self.includesBareVersions = includesBareVersions
    }

    /// The parameters in common use.
    package static let known = CacheBusters(names: [
        "_", "__", "_dc", "_t", "_ts", "_v", "bust", "buster", "cachebust", "cachebuster", "cache_bust",
        "cache_buster",
        "cache-buster", "cb", "dc", "no-cache", "no_cache", "nocache", "rand", "random", "rnd", "t",
        "timestamp", "ts", "v", "ver",
    ])

    /// The parameters for requests by programs: only those whose value is a time or a random number.
    package static let strict: CacheBusters = {
        var busters = CacheBusters(names: [], includesBareVersions: false)
        busters.timeOrRandomNames = known.names
        return busters
    }()

    /// The URL without such parameters, with the others unchanged and in their order; nil if it has none.
    package func removing(from url: WebURL) -> WebURL? {
        guard let query = url.query, !query.isEmpty else { return nil }
        let parameters = query.utf8.split(separator: 0x26, omittingEmptySubsequences: false)
        let kept = parameters.filter { !isCacheBuster($0) }
        guard kept.count < parameters.count else { return nil }
        return url.replacingQuery(
            kept.isEmpty ? nil : HTTPGrammar.text(Array(kept.joined(separator: [0x26]))))
    }

    private func isCacheBuster(_ parameter: Substring.UTF8View) -> Bool {
        let name = parameter.prefix { $0 != 0x3D }
        if includesBareVersions, name.count == parameter.count, Self.isVersion(name) { return true }
        let lowercased = HTTPGrammar.lowercased(name)
        if names.contains(lowercased) { return true }
        guard !timeOrRandomNames.isEmpty else { return false }
        return name.count == parameter.count
            ? Self.isTimeOrRandom(name)
            : timeOrRandomNames.contains(lowercased)
                && Self.isTimeOrRandom(parameter.dropFirst(name.count + 1))
    }

    /// Whether a text is a number, or numbers with dots between them; either may follow a `v`: `17`, `v2`, `1.0`,
    /// `v1.0.3`.
    private static func isVersion(_ text: Substring.UTF8View) -> Bool {
        let numbers = text.first.map { $0 | 0x20 } == UInt8(ascii: "v") ? text.dropFirst() : text
        return numbers.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy {
            !$0.isEmpty && $0.allSatisfy(\.isASCIIDigit)
        }
    }

    /// Whether a value is a time (seconds since 1970 or a finer unit) or a number as from `Math.random()`.
    private static func isTimeOrRandom(_ value: Substring.UTF8View) -> Bool {
        let digits = value.starts(with: "0.".utf8) ? value.dropFirst(2) : value
        return (digits.count == value.count ? 10...19 : 8...20).contains(digits.count)
            && digits.allSatisfy(\.isASCIIDigit)
    }
}

// MARK: - SessionParameters

/// The parts of URLs that identify the client, the source of a visitor or the page to return to, instead of the
/// resource: session IDs, campaign parameters, and URLs of other pages.
package enum SessionParameters {
    /// Parameter names in lower case.
    private static let names: Set<String> = [
        "jsessionid", "phpsessid", "sessionid", "session_id", "sessid", "sess_id", "phpsession", "cfid",
        "cftoken",
        "oscsid", "zenid", "xtcsid", "osclsid",
        "fbclid", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "msclkid", "yclid", "twclid", "ttclid",
        "igshid",
        "li_fat_id",
        "mc_cid", "mc_eid", "_ga", "_gl", "_hsenc", "_hsmi", "mkt_tok", "vero_id", "oly_enc_id",
        "oly_anon_id",
    ]
    private static let prefixes = ["utm_", "aspsessionid", "hsa_", "pk_campaign", "pk_kwd", "mtm_"]
    /// Ambiguous names. They count only if the value looks like a session ID.
    private static let ambiguousNames: Set<String> = ["sid", "s", "session", "sess", "token"]
    /// Names of parameters with the page to return to. They count only if the value is a path or a URL. Links
    /// between pages that pass them on never end, since each contains the one before.
    private static let returnNames: Set<String> = [
        "_origin", "next", "return", "returnto", "return_to", "returnurl", "return_url", "redirect",
        "redirect_to", "redirecturl", "redirect_url", "back", "backurl", "back_url", "continue", "came_from",
        "referer", "referrer",
    ]
    /// Shorter values are not taken for session IDs.
    private static let minSessionIDBytes = 16

    /// The URL without such parts, which identifies the same page; nil if it has none. The rest is unchanged.
    package static func removing(from url: WebURL) -> WebURL? {
        // A fast path: this runs for every link, and few have such parts.
        guard mayContainAny(url) else { return nil }
        let path = Array(url.path.utf8)
        guard url.query?.isEmpty == false || hasPathMarkers(path) else { return nil }
        let query = url.query.map { Array($0.utf8) }
        let newPath = pathWithoutSessions(path)
        let newQuery = query.flatMap { queryWithoutSessions($0[...]) }
        guard newPath != nil || newQuery != nil else { return nil }
        var target = newPath ?? path
        if let kept = newQuery ?? query, newQuery == nil || !kept.isEmpty {
            target += [UInt8(ascii: "?")] + kept
        }
        // Keeps the part before the path unchanged, including credentials.
        let whole = Array(url.withoutFragment.href.utf8.dropLast(url.target.utf8.count)) + target
        return WebURL(utf8: whole.span)
    }

    private static func mayContainAny(_ url: WebURL) -> Bool {
        var href = url.href
        return href.withUTF8 { bytes in
            bytes.contains { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: "(") }
        }
    }

    private static func hasPathMarkers(_ path: [UInt8]) -> Bool {
        path.contains { $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: "(") }
    }

    /// The path without parameters such as `;jsessionid=…` and without segments such as `(S(…))`; nil if it
    /// has none.
    private static func pathWithoutSessions(_ path: [UInt8]) -> [UInt8]? {
        guard hasPathMarkers(path) else { return nil }
        var kept: [ArraySlice<UInt8>] = []
        for segment in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            if isASPNetSessionSegment(segment) { continue }
            let parts = segment.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            let rest = parts.enumerated().filter { $0.offset == 0 || !isSession($0.element) }.map(\.element)
            kept.append(Array(rest.joined(separator: [UInt8(ascii: ";")]))[...])
        }
        let reduced = Array(kept.joined(separator: [UInt8(ascii: "/")]))
        return reduced == path ? nil : reduced
    }

    /// Whether a segment is a session ID of ASP.NET without cookies: `(S(lit3py55t21z5v55vlm25s55))`.
    private static func isASPNetSessionSegment(_ segment: ArraySlice<UInt8>) -> Bool {
        guard segment.count > minSessionIDBytes, segment.starts(with: "(".utf8),
            segment.suffix(2).elementsEqual("))".utf8)
        else {
            return false
        }
        let inner = segment.dropFirst().dropLast(2)
        return inner.dropFirst().first == UInt8(ascii: "(")
            && inner.dropFirst(2).allSatisfy(\.isASCIIAlphanumeric)
    }

    /// The query without session parameters; nil if it has none.
    private static func queryWithoutSessions(_ query: ArraySlice<UInt8>) -> [UInt8]? {
        let parameters = query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
        let kept = parameters.filter { !isSession($0) }
        return kept.count < parameters.count ? Array(kept.joined(separator: [UInt8(ascii: "&")])) : nil
    }

    private static func isSession(_ parameter: ArraySlice<UInt8>) -> Bool {
        let name = parameter.prefix { $0 != UInt8(ascii: "=") }
        guard !name.isEmpty, name.count <= 64 else { return false }
        let text = HTTPGrammar.lowercased(name)
        if names.contains(text) || prefixes.contains(where: { text.utf8.starts(with: $0.utf8) }) {
            return true
        }
        let value = parameter.dropFirst(name.count + 1)
        return ambiguousNames.contains(text) && looksLikeSessionID(value)
            || returnNames.contains(text) && looksLikeURL(value)
    }

    /// Whether a value begins like a path or a URL.
    private static func looksLikeURL(_ value: ArraySlice<UInt8>) -> Bool {
        let start = HTTPGrammar.lowercased(value.prefix(12))
        return ["/", "%2f", "http:", "https:", "http%3a", "https%3a"].contains(where: start.hasPrefix)
    }

    /// Whether a value looks like a session ID: long, with both letters and digits, and no other characters
    /// than these and hyphens.
    private static func looksLikeSessionID(_ value: ArraySlice<UInt8>) -> Bool {
        value.count >= minSessionIDBytes
            && value.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") }
            && value.contains(where: \.isASCIIDigit) && value.contains(where: \.isASCIIAlpha)
    }
}

extension WebURL {
    /// The URL with another query, or none, and without a fragment.
    package func replacingQuery(_ query: String?) -> WebURL? {
        WebURL(beforeTarget + path + (query.map { "?" + $0 } ?? ""))
    }

    /// The URL with its query parameters sorted by their bytes; nil if there are fewer than two.
    fileprivate var withSortedQuery: WebURL? {
        let parameters = query?.utf8.split(separator: 0x26).map { Array($0) } ?? []
        guard parameters.count > 1 else { return nil }
        let sorted = parameters.sorted { $0.lexicographicallyPrecedes($1) }
        return replacingQuery(HTTPGrammar.text(Array(sorted.joined(separator: [0x26]))))
    }

    /// The URL with `http` for `https` or the reverse; nil if it has an explicit port, which fits only one
    /// scheme.
    package var otherScheme: WebURL? {
        guard isHTTP, port == nil, let colon = href.utf8.firstIndex(of: 0x3A) else { return nil }
        return WebURL((scheme == "https" ? "http" : "https") + href[colon...])?.withoutFragment
    }

    /// The URL with a slash at the end of its path if it had none, or without it. Nil for the root path.
    var otherSlash: WebURL? {
        let path = self.path
        guard isHTTP, path.utf8.count > 1 else { return nil }
        let other = path.utf8.last == 0x2F ? HTTPGrammar.text(path.utf8.dropLast()) : path + "/"
        return WebURL(beforeTarget + other + (query.map { "?" + $0 } ?? ""))
    }

    /// The URL with an empty query if it had none, or without it. Nil if the query is not empty.
    fileprivate var otherEmptyQuery: WebURL? {
        guard isHTTP, query?.isEmpty ?? true else { return nil }
        return replacingQuery(query == nil ? "" : nil)
    }

    private var beforeTarget: String {
        HTTPGrammar.text(withoutFragment.href.utf8.dropLast(target.utf8.count))
    }
}
