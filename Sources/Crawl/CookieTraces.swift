internal import Web

/// Recognises pages that list earlier requests of the crawl itself, such as a trail of visited pages. With the
/// cookies that a server set during the crawl they have more words than without them.
///
/// Until that is known of a kind of pages (`PagePattern`), a page that was requested with cookies is requested once more
/// without them. If the second response is nearly the same and has fewer words, it is stored, and further pages of the kind
/// are requested without cookies. If more than two fifths are missing, the kind needs its cookies.
struct CookieTraces {
    /// The state of a kind of pages. A kind begins as `undecided`; once it is decided, it stays so.
    private enum Kind {
        /// The number of comparisons that proved nothing.
        case undecided(comparisons: Int)
        case withCookies
        case withoutCookies
    }

    /// A host that has set cookies.
    private struct Host {
        var secondRequests = 0
        /// The number of comparisons without a list of earlier requests.
        var comparisonsWithoutTrace = 0
        var hasTrace = false
    }

    private var kinds: [String: Kind] = [:]
    private var hosts: [String: Host] = [:]
    /// Hosts on which scripts set cookies, such as the answer to a banner. Requests to them always have cookies.
    private var scriptHosts: Set<String> = []
    /// The pages that were requested with cookies and not compared yet.
    private var sentWithCookies: Set<UInt32> = []

    /// A kind that never differs is decided after this number of comparisons.
    private static let comparisonLimit = 3
    /// The maximum number of second requests to a host.
    private static let requestLimit = 32
    /// A host whose pages never differ, of whatever kind, is not compared further after this number of comparisons.
    private static let hostComparisonLimit = 8
    /// A response with a smaller share of the words is not the same page.
    private static let minShare = 0.6
    /// The maximum distance of the fingerprints of two responses for the same page, of 64 bits.
    private static let differingBits = 16

    /// Notes that a host has set a cookie.
    mutating func noteCookie(of url: WebURL) {
        if hosts[url.host] == nil { hosts[url.host] = Host() }
    }

    /// Notes that scripts of a page have set cookies.
    mutating func noteScriptCookies(of url: WebURL) { scriptHosts.insert(url.host) }

    /// Notes that a page will be requested. Returns whether the request has to go without cookies.
    mutating func noteRequest(_ number: UInt32, _ url: WebURL) -> Bool {
        guard hosts[url.host] != nil, !scriptHosts.contains(url.host) else { return false }
        if case .withoutCookies? = kinds[PagePattern.text(of: url)] { return true }
        sentWithCookies.insert(number)
        return false
    }

    /// Whether the page that has just responded has to be requested once more, without cookies. Counts that request.
    mutating func takeComparison(_ number: UInt32, _ url: WebURL) -> Bool {
        guard sentWithCookies.remove(number) != nil, let host = hosts[url.host],
            host.secondRequests < Self.requestLimit,
            host.hasTrace || host.comparisonsWithoutTrace < Self.hostComparisonLimit
        else { return false }
        // A request may have been under way when its kind was decided.
        if case .withCookies? = kinds[PagePattern.text(of: url)] { return false }
        hosts[url.host]?.secondRequests += 1
        return true
    }

    /// Notes that a page was refused without cookies, so that its kind needs them.
    mutating func noteRefusal(of url: WebURL) { kinds[PagePattern.text(of: url)] = .withCookies }

    /// Compares the two responses for a page. Returns whether the one without cookies has to be stored.
    mutating func compare(_ url: WebURL, with: ContentPrint, without: ContentPrint) -> Bool {
        let pattern = PagePattern.text(of: url)
        guard case .undecided(let comparisons) = kinds[pattern, default: .undecided(comparisons: 0)] else {
            if case .withoutCookies? = kinds[pattern] { return Self.lacksTrace(without, with) }
            return false
        }
        if Self.lacksTrace(without, with) {
            kinds[pattern] = .withoutCookies
            hosts[url.host]?.hasTrace = true
            return true
        }
        hosts[url.host]?.comparisonsWithoutTrace += 1
        let isPoorer = Double(without.wordCount) < Double(with.wordCount) * Self.minShare
        kinds[pattern] =
            isPoorer || comparisons + 1 >= Self.comparisonLimit
            ? .withCookies : .undecided(comparisons: comparisons + 1)
        return false
    }

    /// Whether the response without cookies is the same page with a few words fewer.
    private static func lacksTrace(_ without: ContentPrint, _ with: ContentPrint) -> Bool {
        guard let words = without.words, let others = with.words, without.wordCount < with.wordCount else {
            return false
        }
        return Double(without.wordCount) >= Double(with.wordCount) * minShare
            && words.distance(to: others) <= differingBits
    }
}
