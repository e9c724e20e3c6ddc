/// A URL under which to look for what is not held under the one that was asked for.
package struct LookupCandidate: Sendable, Hashable {
    /// In what a candidate differs from what was asked for. An answer that was found by one says so.
    package struct Change: OptionSet, Sendable, Hashable, CustomStringConvertible {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// http for https, or https for http.
        package static let scheme = Change(rawValue: 1)
        /// With or without the slash at the path's end. Counts only when a stored redirect leads from one to the other.
        package static let slash = Change(rawValue: 2)
        /// Without parameters that say nothing of what is asked for: those that keep caches from answering, and those
        /// that name a session or a campaign.
        package static let busters = Change(rawValue: 4)
        /// Without the query.
        package static let query = Change(rawValue: 8)
        /// Without the query, which the page reads by itself: a static page that searches.
        package static let search = Change(rawValue: 16)

        package var description: String {
            var words: [String] = []
            if contains(.scheme) { words.append("scheme") }
            if contains(.slash) { words.append("slash") }
            if contains(.busters) { words.append("cache-busters") }
            if contains(.query) { words.append("query") }
            if contains(.search) { words.append("search") }
            return words.isEmpty ? "exact" : words.joined(separator: "+")
        }
    }

    package let url: WebURL
    package let change: Change

    /// What all versions of an URL have in common, and in what it differs from what was asked for: without the parameters that
    /// say nothing of what is asked for, or without the query where a rule says so. Nil where nothing says that there are any.
    package static func common(
        of asked: WebURL, busters: CacheBusters = .known, dropsQuery: Bool = false
    ) -> (url: WebURL, change: Change)? {
        let url = asked.withoutFragment
        if dropsQuery { return url.replacingQuery(nil).map { ($0, .query) } }
        return busters.stripped(url).map { ($0, .busters) }
    }

    /// All candidates, in the order in which to try them: the URL itself, then each change alone and by the other scheme.
    /// The query is dropped only when a rule of the user allows it for this URL.
    package static func all(
        for asked: WebURL, busters: CacheBusters = .known, dropsQuery: Bool = false
    ) -> [LookupCandidate] {
        let url = asked.withoutFragment
        var found: [LookupCandidate] = []
        func add(_ candidate: WebURL?, _ change: Change) {
            guard let candidate, !found.contains(where: { $0.url == candidate }) else { return }
            found.append(LookupCandidate(url: candidate, change: change))
        }
        func addBoth(_ candidate: WebURL?, _ change: Change) {
            add(candidate, change)
            add(candidate?.otherScheme, change.union(.scheme))
        }
        addBoth(url, [])
        addBoth(url.otherSlash, .slash)
        let unbusted = busters.stripped(url)
        addBoth(unbusted, .busters)
        // A crawl keeps pages under the URL without their sessions, and whatever else it has.
        if url.isHTTP {
            addBoth(SessionParameters.stripped(url), .busters)
            addBoth(unbusted.flatMap(SessionParameters.stripped), .busters)
        }
        if dropsQuery, url.query != nil { addBoth(url.replacingQuery(nil), .query) }
        return found
    }
}
