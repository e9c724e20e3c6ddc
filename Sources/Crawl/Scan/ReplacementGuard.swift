internal import Bundles
internal import Store
internal import Synchronization
internal import Web

/// The check whether new responses may replace stored ones, for one run. The crawl's thread and the scan
/// threads use it; the check itself is protected by a mutex.
final class ReplacementGuard: Sendable {
    private let check: Mutex<ReplacementCheck>

    /// - Parameters:
    ///   - doubts: The doubts that the previous run left open.
    ///   - keepsPrivate: Whether stored responses that were fetched with credentials are kept, because this
    ///     run has none.
    init(doubts: [String], keepsPrivate: Bool) {
        check = Mutex(ReplacementCheck(.run, doubts: doubts, keepsPrivate: keepsPrivate))
    }

    func judge(
        _ url: WebURL, stored: ResponseSummary?, new: ResponseSummary, comparison: BodyComparison? = nil
    ) -> ReplacementCheck.Verdict {
        let now = Crawl.secondsSinceEpoch()
        return check.withLock {
            $0.judge(url, stored: stored, new: new, comparison: comparison, now: now)
        }
    }

    /// Notes that the server confirmed the stored response.
    func confirm(_ url: WebURL) {
        let now = Crawl.secondsSinceEpoch()
        check.withLock { $0.confirm(url, now: now) }
    }

    func finish() -> [ReplacementCheck.Restored] {
        let now = Crawl.secondsSinceEpoch()
        return check.withLock { $0.finish(now: now) }
    }

    /// The open doubts, to be stored for the next run of the site.
    var doubts: [String] {
        let now = Crawl.secondsSinceEpoch()
        return check.withLock { $0.doubtTexts(now: now) }
    }
}

extension Crawl {
    /// Judges a response without a body that may replace a stored page: a redirect, or a 404 or 410. Returns
    /// why it must not; nil if it may.
    func refuseReplacement(
        _ number: UInt32, _ url: WebURL, _ response: FetchedHead, over stored: StoredResponse?
    ) throws(CrawlError) -> Failure? {
        // The session watch judges redirects of pages that were fetched with a login.
        guard let replacements, let stored, required[url] == nil,
            response.status >= 400 || !frontier.needsSession(number)
        else { return nil }
        let new = ResponseSummary(
            url, status: response.status, fields: response.fields, digest: 0, byteCount: 0)
        let verdict = replacements.judge(url, stored: stored.replacementSummary, new: new)
        try restore(verdict.restored)
        return verdict.rejected.map(Failure.rejected)
    }

    /// A status and its header fields.
    typealias FetchedHead = (status: Int, fields: HTTPFields)

    /// Stores the earlier copies again, since their replacements were not real content of the site.
    ///
    /// - Parameter isEnding: no more requests are made, so that links are not followed.
    func restore(_ restored: [ReplacementCheck.Restored], isEnding: Bool = false) throws(CrawlError) {
        for restored in restored {
            guard let url = WebURL(restored.href), let number = frontier.number(of: url) else { continue }
            rejectedReasons[number] = restored.reason
            // The worker has not stored it yet.
            if beingScanned.contains(number) { continue }
            try restore(number, url, isEnding: isEnding)
        }
    }

    /// Adds the stored response of an earlier snapshot to this one, in place of the rejected response.
    func restore(_ number: UInt32, _ url: WebURL, isEnding: Bool) throws(CrawlError) {
        redirects[number] = nil
        let stored = try storing { () throws(StoreError) in try cacheLookup?.earlierResponse(for: url) }
        guard let stored else { return }
        frontier.noteKept(number)
        try store(response(number, stored, fields: stored.fields, fetched: stored.fetched))
        guard !isEnding, stored.body != nil else { return }
        try followLinks(of: number, stored, mayLeaveOut: false)
    }
}
