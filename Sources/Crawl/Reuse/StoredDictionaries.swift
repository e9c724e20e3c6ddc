internal import Codings
internal import Digest
internal import Store
internal import Web

/// Finds the stored response that a request offers as a compression dictionary (RFC 9842). It belongs to the crawl's
/// thread.
///
/// Only responses of the site that is being fetched, of the same origin and without credentials are offered: a digest
/// tells a server which version the user has, like a cookie.
final class StoredDictionaries {
    /// A response that may be offered.
    private struct Candidate {
        let entry: DictionaryEntry
        let body: StoredBody
    }

    private let reader: StoreReader
    private let snapshot: Int64
    private var candidates: [String: [Candidate]] = [:]
    /// The dictionaries that were used last, since one may be for many requests.
    private var loaded: [CompressionDictionary] = []

    /// The maximum number of responses of an origin. The last fetched ones are used.
    private static let maxCandidates = 1000
    private static let maxLoaded = 4
    /// Smaller responses save less than the offer costs.
    private static let minBytes = 1024

    /// - Parameter snapshot: the open snapshot of the site.
    init(_ reader: StoreReader, snapshot: Int64) { (self.reader, self.snapshot) = (reader, snapshot) }

    /// The dictionary for a request, with the server's name for it; nil if there is none.
    func dictionary(for url: WebURL, now: HTTPDate) throws(StoreError) -> (CompressionDictionary, id: String)?
    {
        guard url.canUseDictionaries else { return nil }
        let candidates = try candidates(ofOrigin: url.origin)
        guard let best = DictionaryEntry.best(for: url, among: candidates.map(\.entry), now: now),
            let body = candidates.first(where: { $0.entry.sha256 == best.sha256 })?.body,
            let dictionary = try load(body)
        else { return nil }
        return (dictionary, best.rule.id)
    }

    private func candidates(ofOrigin origin: String) throws(StoreError) -> [Candidate] {
        if let known = candidates[origin] { return known }
        let stored = try reader.dictionaries(
            ofOrigin: origin, inSiteOfSnapshot: snapshot, atMost: Self.maxCandidates)
        let found = stored.compactMap { response -> Candidate? in
            let fields = HTTPFields(block: response.fields.utf8.span)
            guard let url = WebURL(response.href), let body = response.body,
                let rule = DictionaryRule(fields, of: url),
                (Self.minBytes...CompressionDictionary.maxBytes).contains(body.byteCount)
            else { return nil }
            let freshness = response.cacheEntry(profile: .private, rules: CacheRules()).freshness
            let entry = DictionaryEntry(
                url: url, rule: rule, sha256: body.sha256, fetched: response.fetched, freshness: freshness)
            return Candidate(entry: entry, body: body)
        }
        candidates[origin] = found
        return found
    }

    /// The bytes of a stored body; nil if they are missing or damaged.
    private func load(_ body: StoredBody) throws(StoreError) -> CompressionDictionary? {
        if let index = loaded.firstIndex(where: { $0.sha256 == body.sha256 }) { return loaded[index] }
        guard let bytes = try reader.content(of: body)?.load(),
            DigestStream.digest(.sha256, of: bytes.span).bytes == body.sha256,
            let dictionary = CompressionDictionary(bytes, sha256: body.sha256)
        else { return nil }
        if loaded.count >= Self.maxLoaded { loaded.removeFirst() }
        loaded.append(dictionary)
        return dictionary
    }
}
