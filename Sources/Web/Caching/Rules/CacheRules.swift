/// What the user wants otherwise than servers say, for some URLs and media types.
package struct CacheRules: Sendable {
    package struct Rule: Sendable, Hashable {
        /// Nil for any.
        package var pattern: URLGlob?
        package var mediaType: MediaTypePattern?
        package var lifetime: ForcedLifetime?
        package var storage: StoragePolicy?
        package var policy: CachePolicy?
        /// Whether a URL that is not held may be answered by the same without its query.
        package var dropsQuery: Bool?

        package init(pattern: URLGlob? = nil, mediaType: MediaTypePattern? = nil) {
            self.pattern = pattern
            self.mediaType = mediaType
        }

        func matches(_ url: WebURL, _ type: MediaType?) -> Bool {
            (pattern?.matches(url) ?? true) && (mediaType?.matches(type) ?? true)
        }
    }

    /// For each question the first rule that matches and answers it counts.
    package var rules: [Rule]
    package var inspection: ResponseInspection

    package init(_ rules: [Rule] = [], inspection: ResponseInspection = .acceptingAll) {
        self.rules = rules
        self.inspection = inspection
    }

    package func lifetime(for url: WebURL, _ type: MediaType?) -> ForcedLifetime? { first(\.lifetime, url, type) }

    package func storage(for url: WebURL, _ type: MediaType?) -> StoragePolicy? { first(\.storage, url, type) }

    /// The policy for a request. Until a response is known, by which to know the type, rules for a type do not count.
    package func policy(for url: WebURL, _ type: MediaType? = nil) -> CachePolicy? { first(\.policy, url, type) }

    package func dropsQuery(of url: WebURL) -> Bool { first(\.dropsQuery, url, nil) ?? false }

    private func first<Value>(_ answer: KeyPath<Rule, Value?>, _ url: WebURL, _ type: MediaType?) -> Value? {
        for rule in rules {
            if let value = rule[keyPath: answer], rule.matches(url, type) { return value }
        }
        return nil
    }
}

extension CacheRules.Rule {
    /// Why a rule could not be read.
    package enum Mistake: Error, Sendable, Equatable {
        case empty
        case pattern(String)
        case setting(String)
        /// It has a pattern, and nothing that it is for.
        case nothingSet
    }

    /// Reads a rule as a person writes it: a pattern of URLs, and behind it, with spaces between, what is wanted.
    ///
    ///     https://api.example.com/** type=application/json max-age=600 memory-only
    ///     /search no-query policy=prefer-cache
    ///
    /// `type=` names a media type, `max-age=` the least lifetime and `max-age=!` the exact one in seconds, `allowed`,
    /// `memory-only` and `not-allowed` the storage, `policy=` one of the eight policies; `no-query` lets an answer
    /// without the query stand in.
    package init(_ text: String) throws(Mistake) {
        var words = text.utf8.split { HTTPGrammar.isAnySpace($0) }.map { HTTPGrammar.text($0) }[...]
        guard let first = words.popFirst() else { throw .empty }
        guard let pattern = URLGlob(first) else { throw .pattern(first) }
        self.init(pattern: pattern)
        for word in words {
            guard set(word) else { throw .setting(word) }
        }
        guard lifetime != nil || storage != nil || policy != nil || dropsQuery != nil else { throw .nothingSet }
    }

    private mutating func set(_ word: String) -> Bool {
        let parts = word.utf8.split(separator: 0x3D, maxSplits: 1, omittingEmptySubsequences: false)
            .map { HTTPGrammar.text($0) }
        switch (parts[0], parts.count == 2 ? parts[1] : nil) {
        case ("type", let value?):
            mediaType = MediaTypePattern(value)
            return mediaType != nil
        case ("max-age", let value?):
            let isExact = value.utf8.first == 0x21
            guard let seconds = HTTPGrammar.cappedInteger(value.utf8.dropFirst(isExact ? 1 : 0)) else { return false }
            lifetime = isExact ? .exactly(seconds) : .atLeast(seconds)
            return true
        case ("policy", let value?):
            policy = CachePolicy(rawValue: value)
            return policy != nil
        case ("no-query", nil):
            dropsQuery = true
            return true
        case (_, nil):
            storage = StoragePolicy(rawValue: word)
            return storage != nil
        default: return false
        }
    }
}
