internal import Web

/// Queries of the driver about the whole crawl.
extension Frontier {
    /// Whether the driver should send `settled` when nothing is running or being scanned: module names wait
    /// for a loader configuration, pages for the decision which of them to render, or variants until
    /// no page is left to render.
    var waitsToSettle: Bool {
        loaders.hasOpenNames || renderScheduler.isOn && renderScheduler.isUnsettled || hasWaitingVariants
            || views.isWaiting || branches.isWaiting
    }

    /// Whether the driver should stop without waiting for running requests: the time limit is reached, or the
    /// byte limit was reached some seconds ago.
    var isOutOfTime: Bool { limits.isOutOfTime(now: now) }

    /// Whether only hosts that have never responded are left, and the time to wait for them is over.
    /// `nextDue` may be earlier than that time.
    func isOutOfPatience(now: Duration) -> Bool { patienceEnd(at: now).map { $0 <= now } ?? false }

    /// The recognised views (`QueryViews`), which show stored content in another way, with the URLs of their fetched pages.
    var recognisedViews: [String: [String]] { views.views(urls.href) }

    /// The longest `Crawl-delay` of all hosts, as far as it is obeyed.
    var crawlDelay: Duration? { hosts.lazy.compactMap { $0.robots?.crawlDelay?.applied }.max() }

    /// Whether scans should compute the pieces of texts, by which views are recognised. They do this only for pages with
    /// queries in their own URL or in links to themselves.
    var wantsPieces: Bool { sharing == nil && !scope.includesViews }

    /// The reason why an asset at this URL would be skipped; nil if it may be requested.
    func refusal(ofAsset url: WebURL) -> SkipReason? {
        if case .skipped(let reason) = scope.verdict(on: url, as: .asset) { reason } else { nil }
    }
}

/// Queries of the driver about single entries.
extension Frontier {
    /// Notes that an earlier snapshot has a response for the entry, which stays in place. No event, because it decides
    /// nothing in the frontier: the report reads it.
    mutating func noteKept(_ number: UInt32) { records[Int(number)].flags.insert(.isKeptFromBefore) }

    /// The numbers of all entries, in the order of discovery.
    var numbers: Range<UInt32> { 0..<UInt32(records.count) }

    /// The number of a URL; nil if it was not discovered.
    func number(of url: WebURL) -> UInt32? { urls.find(url.key) }

    /// The URL as text, without the cost of parsing it.
    func href(_ number: UInt32) -> String { urls.href(number) }

    func origin(of number: UInt32) -> String { url(number).origin }

    func role(of number: UInt32) -> Role { records[Int(number)].role }

    /// The entry that first linked or redirected here; nil for a start URL.
    func referrerNumber(of number: UInt32) -> UInt32? {
        let referrer = records[Int(number)].referrer
        return referrer == EntryRecord.noEntry ? nil : referrer
    }

    /// The URL of the entry that first linked or redirected here; nil for a start URL.
    func referrer(of number: UInt32) -> WebURL? { referrerNumber(of: number).map { url($0) } }

    /// The same as `referrer(of:)` as text, without the cost of parsing it.
    func referrerText(of number: UInt32) -> String? { referrerNumber(of: number).map { urls.href($0) } }

    /// The nearest network zone that a request for the entry may connect to.
    func nearestZone(_ number: UInt32) -> NetworkZone { records[Int(number)].nearestZone }

    /// Whether the entry is requested with CORS.
    func isCORS(_ number: UInt32) -> Bool { records[Int(number)].flags.contains(.isCORS) }

    /// Whether a link to the page with a query is known.
    func hasKnownQueries(_ number: UInt32) -> Bool { views.hasQueries(of: url(number)) }

    /// The URLs from a start URL to the entry. The middle of a very long chain is left out.
    func chain(to number: UInt32) -> [WebURL] {
        var chain: [UInt32] = []
        var next = number
        while next != EntryRecord.noEntry {
            chain.append(next)
            next = records[Int(next)].referrer
        }
        if chain.count > Self.maxChainURLs { chain.removeSubrange(Self.maxChainURLs - 1..<chain.count - 1) }
        return chain.reversed().map { url($0) }
    }

    /// The maximum number of URLs of a chain in a report; the middle of a longer one is left out.
    private static let maxChainURLs = 32
}

/// Queries of workers that share a snapshot.
extension Frontier {
    /// Whether pages wait because the pages assigned to this worker are used up.
    var isStarved: Bool { sharing?.waitingPages.isEmpty == false }

    /// The number of assigned pages that this worker has not requested yet; nil without a page limit.
    var pagesLeft: Int? { sharing?.maxPages.map { max(0, $0 - limits.usage.pages) } }

    /// Up to `count` origins that have enough queued entries to be worth giving to another worker.
    func hostsToGiveAway(_ count: Int) -> [String] {
        count > 0 ? Array(originsWorthGivingAway.prefix(count)) : []
    }

    /// The outcome that saves other workers a request; nil unless the entry failed or was skipped.
    func outcome(of number: UInt32) -> KnownOutcome? {
        switch state(number) {
        case .failed(let failure): .failed(failure)
        case .skipped(let reason): .skipped(reason)
        case .queued, .running, .waiting, .done, .redirected, .elsewhere: nil
        }
    }

    /// Whether requests to the origin are running.
    func isBusy(_ origin: String) -> Bool { hostNumbers[origin].map { hosts[$0].runningCount > 0 } ?? false }

    /// The earliest time for the next request to the origin; nil if it is not limited.
    func nextStart(of origin: String) -> Duration? {
        hostNumbers[origin].flatMap { hosts[$0].pace.nextStart }
    }
}
