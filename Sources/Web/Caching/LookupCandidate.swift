/// A URL under which to look for what is not held under the one that was asked for.
package struct LookupCandidate: Sendable, Hashable {
    /// In what a candidate differs from what was asked for. An answer that was found by one says so.
    package struct Change: OptionSet, Sendable, Hashable, CustomStringConvertible {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// http for https, or https for http.
        package static let scheme = Change(rawValue: 1)
        /// With or without the slash at the path's end. Counts only when a stored redirect leads from one to
        /// the other.
        package static let slash = Change(rawValue: 2)
        /// Without parameters that say nothing of what is asked for: those that keep caches from answering,
        /// and those that name a session or a campaign.
        package static let busters = Change(rawValue: 4)
        /// Without the query.
        package static let query = Change(rawValue: 8)
        /// Without the query, which the page reads by itself: a static page that searches.
        package static let search = Change(rawValue: 16)
        /// With the parameters of the query in another order.
        package static let order = Change(rawValue: 32)
        /// What was sent names other moments: it was sent at another time.
        package static let time = Change(rawValue: 64)

        package var description: String {
            var words: [String] = []
            if contains(.scheme) { words.append("scheme") }
            if contains(.slash) { words.append("slash") }
            if contains(.busters) { words.append("cache-busters") }
            if contains(.query) { words.append("query") }
            if contains(.search) { words.append("search") }
            if contains(.order) { words.append("order") }
            if contains(.time) { words.append("time") }
            return words.isEmpty ? "exact" : words.joined(separator: "+")
        }
    }

    package let url: WebURL
    package let change: Change

    /// What all versions of an URL have in common, and in what it differs from what was asked for: without
    /// the parameters that say nothing of what is asked for, or without the query where a rule says so. Nil
    /// where nothing says that there are any.
    package static func common(
        of asked: WebURL, busters: CacheBusters = .known, dropsQuery: Bool = false, ignoresOrder: Bool = false
    ) -> (url: WebURL, change: Change)? {
        let url = asked.withoutFragment
        if dropsQuery { return url.replacingQuery(nil).map { ($0, .query) } }
        let stripped = busters.stripped(url)
        guard ignoresOrder, let sorted = (stripped ?? url).withSortedQuery else {
            return stripped.map { ($0, .busters) }
        }
        return (sorted, stripped == nil ? .order : [.busters, .order])
    }

    /// All candidates, in the order in which to try them: the URL itself, then each change alone and by the
    /// other scheme. The query is dropped only when a rule of the user allows it for this URL.
    ///
    /// - Parameter isStrict: a program asks, to which another scheme or session is another thing.
    package static func all(
        for asked: WebURL, busters: CacheBusters = .known, dropsQuery: Bool = false, isStrict: Bool = false
    ) -> [LookupCandidate] {
        let url = asked.withoutFragment
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
        let unbusted = busters.stripped(url)
        addBoth(unbusted, .busters)
        // A crawl keeps pages under the URL without their sessions, and whatever else it has.
        if url.isHTTP, !isStrict {
            addBoth(SessionParameters.stripped(url), .busters)
            addBoth(unbusted.flatMap(SessionParameters.stripped), .busters)
        }
        if dropsQuery, url.query != nil { addBoth(url.replacingQuery(nil), .query) }
        return found
    }
}

// MARK: - CacheBusters

/// The parameters of a query that only keep caches from answering: they change from one request to the next,
/// and the answer does not.
package struct CacheBusters: Sendable, Hashable {
    /// In lower case.
    package var names: Set<String>
    /// Whether a parameter that is nothing but a number, as in `app.js?1699999999`, is one.
    package var includesBareNumbers: Bool
    /// Those that count only where their value is the reading of a clock, or drawn by lot, and that bare
    /// numbers do likewise: `v=1.2` may be another thing than `v=1.3`.
    package var readings: Set<String> = []

    package init(names: Set<String>, includesBareNumbers: Bool = true) {
        self.names = names
        self.includesBareNumbers = includesBareNumbers
    }

    /// Those in common use.
    package static let known = CacheBusters(names: [
        "_", "__", "_dc", "_t", "_ts", "_v", "bust", "buster", "cachebust", "cachebuster", "cache_bust",
        "cache_buster",
        "cache-buster", "cb", "dc", "no-cache", "no_cache", "nocache", "rand", "random", "rnd", "t",
        "timestamp", "ts", "v", "ver",
    ])

    /// To a program, what differs in nothing but a moment is the same.
    package static let strict: CacheBusters = {
        var busters = CacheBusters(names: [], includesBareNumbers: false)
        busters.readings = known.names
        return busters
    }()

    /// The URL without such parameters, the others untouched and in their order; nil when it has none.
    package func stripped(_ url: WebURL) -> WebURL? {
        guard let query = url.query, !query.isEmpty else { return nil }
        let parameters = query.utf8.split(separator: 0x26, omittingEmptySubsequences: false)
        let kept = parameters.filter { !isBuster($0) }
        guard kept.count < parameters.count else { return nil }
        return url.replacingQuery(
            kept.isEmpty ? nil : HTTPGrammar.text(Array(kept.joined(separator: [0x26]))))
    }

    private func isBuster(_ parameter: Substring.UTF8View) -> Bool {
        let name = parameter.prefix { $0 != 0x3D }
        if includesBareNumbers, !name.isEmpty, name.count == parameter.count, name.allSatisfy(\.isASCIIDigit)
        {
            return true
        }
        let lowercased = HTTPGrammar.lowercased(name)
        if names.contains(lowercased) { return true }
        guard !readings.isEmpty else { return false }
        return name.count == parameter.count
            ? Self.isReading(name)
            : readings.contains(lowercased) && Self.isReading(parameter.dropFirst(name.count + 1))
    }

    /// Seconds since 1970 or finer, or a fraction as `Math.random()` gives it.
    private static func isReading(_ value: Substring.UTF8View) -> Bool {
        let digits = value.starts(with: "0.".utf8) ? value.dropFirst(2) : value
        return (digits.count == value.count ? 10...19 : 8...20).contains(digits.count)
            && digits.allSatisfy(\.isASCIIDigit)
    }
}

// MARK: - SessionParameters

/// Parts of URLs that name who asks, or where from, and not what is asked for: session IDs, marks of
/// campaigns.
package enum SessionParameters {
    /// In lower case.
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
    /// These mean something else as often: they count where the value looks like a key.
    private static let vagueNames: Set<String> = ["sid", "s", "session", "sess", "token"]
    private static let leastKey = 16

    /// The URL without such parts, which leads to the same page, the rest of it untouched; nil when it has
    /// none.
    package static func stripped(_ url: WebURL) -> WebURL? {
        // Most have none, and everything that is linked is asked about.
        guard mayHaveSome(url) else { return nil }
        let path = Array(url.path.utf8)
        guard url.query?.isEmpty == false || hasMarks(path) else { return nil }
        let query = url.query.map { Array($0.utf8) }
        let newPath = strippedPath(path)
        let newQuery = query.flatMap { strippedQuery($0[...]) }
        guard newPath != nil || newQuery != nil else { return nil }
        var target = newPath ?? path
        if let kept = newQuery ?? query, newQuery == nil || !kept.isEmpty {
            target += [UInt8(ascii: "?")] + kept
        }
        // What stands before the path and its query is kept as it is, credentials too; a fragment asks
        // nobody.
        let whole = Array(url.withoutFragment.href.utf8.dropLast(url.target.utf8.count)) + target
        return WebURL(utf8: whole.span)
    }

    private static func mayHaveSome(_ url: WebURL) -> Bool {
        var href = url.href
        return href.withUTF8 { bytes in
            bytes.contains { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: "(") }
        }
    }

    private static func hasMarks(_ path: [UInt8]) -> Bool {
        path.contains { $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: "(") }
    }

    /// Without `;jsessionid=…` behind a segment and without segments like `(S(…))`; nil when there are none.
    private static func strippedPath(_ path: [UInt8]) -> [UInt8]? {
        guard hasMarks(path) else { return nil }
        var kept: [ArraySlice<UInt8>] = []
        for segment in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            if isCookieless(segment) { continue }
            let parts = segment.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            let rest = parts.enumerated().filter { $0.offset == 0 || !isSession($0.element) }.map(\.element)
            kept.append(Array(rest.joined(separator: [UInt8(ascii: ";")]))[...])
        }
        let stripped = Array(kept.joined(separator: [UInt8(ascii: "/")]))
        return stripped == path ? nil : stripped
    }

    /// ASP.NET without cookies: `(S(lit3py55t21z5v55vlm25s55))`.
    private static func isCookieless(_ segment: ArraySlice<UInt8>) -> Bool {
        guard segment.count > leastKey, segment.starts(with: "(".utf8),
            segment.suffix(2).elementsEqual("))".utf8)
        else {
            return false
        }
        let inner = segment.dropFirst().dropLast(2)
        return inner.dropFirst().first == UInt8(ascii: "(")
            && inner.dropFirst(2).allSatisfy(\.isASCIIAlphanumeric)
    }

    /// Nil when nothing is to be left out.
    private static func strippedQuery(_ query: ArraySlice<UInt8>) -> [UInt8]? {
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
        return vagueNames.contains(text) && isKey(parameter.dropFirst(name.count + 1))
    }

    /// Long, with letters and digits, and nothing that a name or a sentence would have.
    private static func isKey(_ value: ArraySlice<UInt8>) -> Bool {
        value.count >= leastKey && value.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") }
            && value.contains(where: \.isASCIIDigit) && value.contains(where: \.isASCIIAlpha)
    }
}

extension WebURL {
    /// The same with another query, or none; without a fragment.
    package func replacingQuery(_ query: String?) -> WebURL? {
        WebURL(beforeTarget + path + (query.map { "?" + $0 } ?? ""))
    }

    /// The same with the parameters of its query in the order of their bytes; nil where there are fewer than
    /// two.
    fileprivate var withSortedQuery: WebURL? {
        let parameters = query?.utf8.split(separator: 0x26).map { Array($0) } ?? []
        guard parameters.count > 1 else { return nil }
        let sorted = parameters.sorted { $0.lexicographicallyPrecedes($1) }
        return replacingQuery(HTTPGrammar.text(Array(sorted.joined(separator: [0x26]))))
    }

    /// The same by http for https, and by https for http; nil where a port of its own ties it to its scheme.
    package var otherScheme: WebURL? {
        guard isHTTP, port == nil, let colon = href.utf8.firstIndex(of: 0x3A) else { return nil }
        return WebURL((scheme == "https" ? "http" : "https") + href[colon...])?.withoutFragment
    }

    /// The same with a slash at the path's end where it had none, and without where it had one. Nil for the
    /// root, which has no other form.
    var otherSlash: WebURL? {
        let path = self.path
        guard isHTTP, path.utf8.count > 1 else { return nil }
        let other = path.utf8.last == 0x2F ? HTTPGrammar.text(path.utf8.dropLast()) : path + "/"
        return WebURL(beforeTarget + other + (query.map { "?" + $0 } ?? ""))
    }

    /// The same with a question mark and nothing behind it, and without one. Nil where something stands there.
    fileprivate var otherEmptyQuery: WebURL? {
        guard isHTTP, query?.isEmpty ?? true else { return nil }
        return replacingQuery(query == nil ? "" : nil)
    }

    private var beforeTarget: String {
        HTTPGrammar.text(withoutFragment.href.utf8.dropLast(target.utf8.count))
    }
}
