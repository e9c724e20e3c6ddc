internal import Store

/// Determines which imported responses replace others: of responses with the same key, the newest one counts.
///
/// An archive may contain many versions of a URL, in any order. Call `isNewest` when a response is read, so that old
/// versions are skipped before their bodies are scanned, and `record` when it is stored.
struct NewestResponses {
    /// A key that is equal for responses that replace each other. Only a hash is kept, to save memory. If two keys
    /// have the same hash, which is very unlikely, one of two responses is lost.
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

    /// The properties of a stored response that the report counts.
    struct CountedResponse: Equatable {
        let byteCount: Int
        let isPage: Bool
        /// Whether the response has the body of another one.
        let isRevisit: Bool
    }

    private struct Newest {
        var fetched: Int64
        /// The stored response; nil until `record` is called.
        var response: CountedResponse?
    }

    private var newest: [Key: Newest] = [:]
    private let maxKeys: Int

    /// - Parameter maxKeys: The maximum number of keys in memory. Responses with other keys are all treated as the
    ///   newest.
    init(maxKeys: Int = 1_000_000) { self.maxKeys = maxKeys }

    /// Whether no earlier call for this key had a newer time. Remembers the time for later calls.
    mutating func isNewest(_ key: Key, fetched: Int64) -> Bool {
        if let earlier = newest[key] {
            guard earlier.fetched <= fetched else { return false }
            newest[key]?.fetched = fetched
        } else if newest.count < maxKeys {
            newest[key] = Newest(fetched: fetched)
        }
        return true
    }

    /// Records a response that was the newest one as stored. Returns the stored response that it replaces.
    mutating func record(_ response: CountedResponse, for key: Key) -> CountedResponse? {
        let replaced = newest[key]?.response
        newest[key]?.response = response
        return replaced
    }
}

extension ImportReport {
    /// Adds a stored response to the counts (`change` 1), or removes one that was replaced (`change` -1).
    mutating func count(_ response: NewestResponses.CountedResponse, by change: Int) {
        responses += change
        byteCount += Int64(response.byteCount * change)
        if response.isPage { pages += change }
        if response.isRevisit { revisits += change }
    }
}
