internal import Store

/// Which answers of an import are there in the end: of those that replace each other, the newest. It remembers
/// a million of them; what comes beyond is taken for the only one.
struct NewestAnswers {
    /// Equal for answers that replace each other.
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

    /// What is counted of one.
    struct Answer: Equatable {
        let byteCount: Int
        let isPage: Bool
        /// It has the body of another one.
        let isRevisit: Bool
    }

    private struct Newest {
        var fetched: Int64
        /// Nil while it is on its way.
        var answer: Answer?
    }

    private var newest: [Key: Newest] = [:]
    private let most: Int

    init(most: Int = 1_000_000) { self.most = most }

    /// Whether none that came before it is newer.
    mutating func admits(_ key: Key, fetched: Int64) -> Bool {
        if let before = newest[key] {
            guard before.fetched <= fetched else { return false }
            newest[key]?.fetched = fetched
        } else if newest.count < most {
            newest[key] = Newest(fetched: fetched)
        }
        return true
    }

    /// Puts one that was admitted in its place. Gives what had that until now.
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
