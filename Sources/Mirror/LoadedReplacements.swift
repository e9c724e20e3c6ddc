internal import Digest
internal import Markup
internal import Store
internal import Web

/// The replacement check of a server or proxy, with the stored responses that it may have to restore. It
/// belongs to the thread that stores.
///
/// A captive portal answers requests with pages of its own. Some of them are recognised only after others: for example, when
/// several URLs get the same body. By then the first ones have replaced stored pages. Each replaced response is therefore
/// remembered for an hour; if the check finds that its replacement was wrong, `LoadedResponseHandler` stores it again.
struct LoadedReplacements {
    private var check = ReplacementCheck(.serving)
    /// Responses that were replaced, by URL, with the time of the replacement.
    private var replaced: [String: (response: StoredResponse, time: Int64)] = [:]

    /// The maximum number of entries. Above it, older entries are dropped and cannot be restored.
    private static let maxReplaced = 4096
    /// The time for which a replaced response can be restored.
    private static let secondsToRestore: Int64 = 3600

    /// Records that the origin confirmed the stored response.
    mutating func confirm(_ url: WebURL, now: Int64) { check.confirm(url.withoutFragment, now: now) }

    /// Judges whether a new response may replace the stored one, and remembers the stored one if it may.
    ///
    /// - Parameters:
    ///   - sha256: of the new body.
    ///   - load: reads a stored body.
    mutating func judge(
        _ response: LoadedResponse, _ status: Int, _ loaded: LoadedBody, _ sha256: Digest, at url: WebURL,
        over previous: StoredResponse?, now: HTTPDate,
        load: (StoredBody) throws(StoreError) -> [UInt8]?
    ) throws(StoreError) -> ReplacementCheck.Verdict {
        let stored = previous?.replacementSummary
        let (bytes, title) = (loaded.bytes, loaded.reading.table.title)
        // A body with a content coding cannot be compared with the stored, decoded one.
        let isComparable = !response.isCoded && bytes.count == loaded.byteCount
        let new = ResponseSummary(
            url, status: status, fields: response.fields,
            digest: loaded.byteCount == 0 ? 0 : NewBody.fingerprint(of: sha256), byteCount: loaded.byteCount,
            title: title, ending: response.isCoded ? .declared : response.ending,
            asksForLogin: ResponseSummary.asksForLogin(bytes, titled: title))
        var comparison: BodyComparison?
        if isComparable, let stored, let body = previous?.body,
            ReplacementCheck.needsComparison(new, with: stored)
        {
            let before = try load(body) ?? []
            comparison = BodyComparison(stored: before.span, new: bytes.span)
        }
        let seconds = now.secondsSinceEpoch
        let verdict = check.judge(url, stored: stored, new: new, comparison: comparison, now: seconds)
        if verdict.rejected == nil, let previous, stored != nil { note(previous, seconds) }
        return verdict
    }

    /// Removes and returns the response that was replaced at the URL.
    mutating func takeReplaced(_ href: String) -> StoredResponse? {
        replaced.removeValue(forKey: href)?.response
    }

    /// Remembers a response that is being replaced.
    private mutating func note(_ previous: StoredResponse, _ now: Int64) {
        if replaced.count >= Self.maxReplaced {
            replaced = replaced.filter { now - $0.value.time < Self.secondsToRestore }
            if replaced.count >= Self.maxReplaced { replaced = [:] }
        }
        // The first of several in an hour is the one that was right.
        if let known = replaced[previous.href], now - known.time < Self.secondsToRestore { return }
        replaced[previous.href] = (previous, now)
    }
}
