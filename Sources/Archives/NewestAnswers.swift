internal import Store

/// Determines which imported responses replace others: of responses with the same key, the newest one counts.
/// It remembers a million keys; responses beyond that are treated as unique.
struct NewestAnswers {
    /// A key that is equal for responses that replace each other.
    struct Key: Hashable {
        private let hash: Int

        init(_ href: String, _ request: RequestKey, _ variant: String) {
            var hasher = Hasher()
            hasher.combine(href)
            hasher.combine(request)
            hasher.combine(variant)
            hash = hasher.finalize()
        }
    }

    /// The counted properties of a response.
    struct Answer: Equatable {
        let byteCount: Int
        let isPage: Bool
        /// Whether the response has the body of another one.
        let isRevisit: Bool
    }

    private struct Newest {
        var fetched: Int64
        /// The counted response; nil until it is stored.
        var answer: Answer?
    }

    private var newest: [Key: Newest] = [:]
    private let most: Int

    init(most: Int = 1_000_000) { self.most = most }

    /// Whether no earlier call for this key had a newer time.
    mutating func admits(_ key: Key, fetched: Int64) -> Bool {
        if let before = newest[key] {
            guard before.fetched <= fetched else { return false }
            newest[key]?.fetched = fetched
        } else if newest.count < most {
            newest[key] = Newest(fetched: fetched)
        }
        return true
    }

    /// Records an admitted response as stored. Returns the response that it replaces.
    mutating func put(_ answer: Answer, _ key: Key) -> Answer? {
        let before = newest[key]?.answer
        newest[key]?.answer = answer
        return before
    }
}

extension ImportReport {
    mutating func count(_ answer: NewestAnswers.Answer, by change: Int) {
        responses += change
        byteCount += Int64(answer.byteCount * change)
        if answer.isPage { pages += change }
        if answer.isRevisit { revisits += change }
    }
}
