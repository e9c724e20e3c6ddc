internal import Crawl
internal import Fetch
internal import Markup
internal import Reports
internal import Web

/// Decides how one URL of another site is requested, and which verdict the responses give the links to it. It has no clock and makes
/// no requests.
///
/// The driver sends the request that `url`, `method`, `maxBytes` and `nearestZone` describe, reports its end to `didReceive` or
/// `didFail`, and does what these return, until that is `.done`. All links to the URL share the requests; they differ only in
/// their fragments.
struct ExternalLinkCheck: Sendable {
    typealias Result = ExternalLinks.Result

    enum Method: String, Sendable {
        case head = "HEAD"
        case get = "GET"
    }

    /// The next step of a check.
    enum Step: Sendable, Equatable {
        /// Send the next request.
        case request
        /// Send the next request after this time, which the server named.
        case requestAfter(Duration)
        /// Send the next request after a pause, and on a new connection, since the old one may lead to a server that fails.
        case retry
        case done
    }

    /// A response to a request of the check.
    struct Response: Sendable {
        var status: Int
        var fields: HTTPFields
        var body: [UInt8] = []
        /// Whether the body was cut off at `maxBytes`.
        var isCut = false
        /// The network zone that the response came from.
        var zone = NetworkZone.publicNetwork
    }

    /// The URL of the next request, without a fragment.
    private(set) var url: WebURL
    private(set) var method: Method
    /// The nearest network zone that the next request may connect to.
    private(set) var nearestZone: NetworkZone
    /// The zone that all requests may connect to, wherever their URLs are from.
    private let allowedZone: NetworkZone
    /// The fragments that have to be looked up in the page.
    private let fragments: [String]
    /// The error statuses that count as success.
    private let accepted: AcceptedStatuses
    /// The results for fragments that are missing, or may be.
    private var fragmentFaults: [String: Result] = [:]
    /// The result for the URL without a fragment; nil before `.done`.
    private var result: Result?

    private var visited: Set<String>
    /// Whether a redirect replaced the fragment of the link by its own.
    private var hasOwnFragment = false
    /// Whether all redirects so far were permanent.
    private var isPermanent = true
    /// The end of the permanent redirects at the beginning of the chain; nil if there are none.
    private var permanentEnd: WebURL?
    /// Whether a redirect set a cookie, which the check does not send.
    private var setsCookie = false
    private var hasRetried = false
    /// Whether the last request got a response. A result without one may be due to the network of this machine.
    private(set) var hasResponded = false
    /// The number of times that the check has waited because of `Retry-After`.
    private var waitCount = 0

    /// The maximum size of a page that is searched for fragments, in bytes. In a longer one, only the beginning is searched.
    static let maxPageBytes = 1024 * 1024
    /// The maximum size of a body that only shows whether the URL works, or why it does not.
    static let maxOtherBytes = 16 * 1024
    /// The maximum number of redirects. A longer chain counts as a loop.
    static let maxRedirects = 20
    /// The maximum time from `Retry-After` that the check waits. A server that asks for more counts as one that refuses.
    static let maxWait: Duration = .seconds(60)
    static let maxWaits = 2

    /// - Parameters:
    ///   - url: The URL; its fragment is ignored.
    ///   - fragments: The fragments of the links to the URL.
    ///   - nearestZone: The nearest network zone that a request for the URL may connect to.
    ///   - allowedZone: The same for the targets of redirects, unless the response with the redirect is from a nearer zone.
    ///   - accepted: The error statuses that count as success.
    init(
        _ url: WebURL, fragments: [String] = [], nearestZone: NetworkZone,
        allowedZone: NetworkZone = .publicNetwork, accepting accepted: AcceptedStatuses = AcceptedStatuses()
    ) {
        self.accepted = accepted
        self.url = url.withoutFragment
        self.nearestZone = nearestZone
        self.allowedZone = allowedZone
        self.fragments = fragments.filter(Self.isInPage)
        method = self.fragments.isEmpty ? .head : .get
        visited = [url.withoutFragment.href]
    }

    /// Whether a fragment names a part of a page, as opposed to its beginning or to a route that only scripts interpret.
    private static func isInPage(_ fragment: String) -> Bool {
        let parts = LinkFragment(fragment)
        return !parts.isRoute && (!parts.directives.isEmpty || !PageAnchors().contains(parts.name))
    }

    /// The number of bytes of the next response's body that are needed; nil for a request without a body.
    var maxBytes: Int? {
        switch method {
        case .head: nil
        case .get: fragments.isEmpty ? Self.maxOtherBytes : Self.maxPageBytes
        }
    }

    /// The result for a link with this fragment; nil before `.done`.
    func result(forFragment fragment: String?) -> Result? {
        guard let result else { return nil }
        switch result.verdict {
        case .verified, .redirected: return fragment.flatMap { fragmentFaults[$0] } ?? result
        case .ignored, .notChecked, .mixedContent, .blocked, .failed, .timedOut, .fragmentMissing, .dead:
            return result
        }
    }
}

// MARK: - Responses

extension ExternalLinkCheck {
    /// Takes the response to the request.
    mutating func didReceive(_ response: Response, now: HTTPDate) -> Step {
        let status = response.status
        hasResponded = true
        if status >= 400, accepted.contains(status) { return didSucceed(response) }
        if let challenge = challenge(in: response) {
            return end(.blocked, "could not tell: the server sent \(challenge)")
        }
        switch status {
        // A 300 offers a choice between other URLs, so that there is something at this one.
        case 200...300: return didSucceed(response)
        case 301, 302, 303, 307, 308: return follow(response)
        case ..<400: return end(.failed, Self.answer(status))
        default: break
        }
        if status == 429 || status == 503, let wait = RetryAfter(response.fields)?.delay(now: now) {
            guard wait <= Self.maxWait, waitCount < Self.maxWaits else { return end(byStatus: status) }
            waitCount += 1
            method = .get
            return .requestAfter(wait)
        }
        if method == .head {
            // Many servers answer HEAD with errors although GET works.
            method = .get
            return .request
        }
        if status >= 500, status < 600, let retry = retry() { return retry }
        return end(byStatus: status)
    }

    /// Ends the check because checks of the origin have waited too often.
    mutating func stopWaiting() {
        end(.blocked, "could not tell: the server asks to wait again and again")
    }

    /// Ends the check with the verdict on a status of at least 400.
    private mutating func end(byStatus status: Int) -> Step {
        switch status {
        case 404, 410: end(.dead, Self.answer(status))
        // 999 is what LinkedIn answers to programs.
        case 401, 403, 407, 429, 451, 999: end(.blocked, "could not tell: \(Self.answer(status))")
        default: end(.failed, Self.answer(status))
        }
    }

    private static func answer(_ status: Int) -> String { "the server answered \(status)" }

    /// The bot challenge that was sent in place of the page; nil if there is none.
    private func challenge(in response: Response) -> BotChallenge? {
        if let announced = BotChallenge(status: response.status, fields: response.fields) { return announced }
        guard method == .get, response.fields.contentType?.isHTML ?? false else { return nil }
        switch response.status {
        // A missing page is missing, whatever its error page looks like.
        case 300..<400, 404, 410: return nil
        // The beginning of a long page has few words and links, as a challenge has.
        case 200..<300 where response.isCut: return nil
        default: return BotChallenge(status: response.status, body: response.body.span)
        }
    }

    private mutating func didSucceed(_ response: Response) -> Step {
        if !hasOwnFragment { findFragments(in: response) }
        if let permanentEnd {
            return end(.redirected, "moved permanently to \(permanentEnd.withoutCredentials.href)")
        }
        return end(.verified, "")
    }

    private mutating func follow(_ response: Response) -> Step {
        guard let location = response.fields["Location"], let target = WebURL(location, base: url) else {
            return end(.dead, "its redirect has no valid target")
        }
        guard target.isHTTP else {
            return end(.failed, "could not tell: it redirects to \(target.withoutCredentials.href)")
        }
        let next = target.key
        if LoginPageSigns.isLoginURL(next), !LoginPageSigns.isLoginURL(url) {
            return end(.blocked, "could not tell: it redirects to a login page")
        }
        setsCookie = setsCookie || response.fields.contains("Set-Cookie")
        guard visited.insert(next.href).inserted, visited.count <= Self.maxRedirects + 1 else {
            // Some sites redirect until the client sends the cookie that they set. A check of links has no cookies.
            return setsCookie
                ? end(.blocked, "could not tell: it redirects in a loop unless the client accepts cookies")
                : end(.dead, "it redirects in a loop")
        }
        isPermanent = isPermanent && (response.status == 301 || response.status == 308)
        if isPermanent { permanentEnd = target }
        // Fetch standard, "HTTP-redirect fetch": the fragment of the location replaces that of the request.
        hasOwnFragment = hasOwnFragment || target.fragment != nil
        url = next
        // The user's document has the first URL. The server chose this one, so it may be no nearer than the server's own
        // zone.
        nearestZone = max(allowedZone, response.zone)
        return .request
    }

    @discardableResult
    private mutating func end(_ verdict: LinkCheckReport.Verdict, _ detail: String) -> Step {
        result = Result(verdict: verdict, detail: detail)
        return .done
    }

    /// Returns `.retry` the first time, and then nil.
    private mutating func retry() -> Step? {
        guard !hasRetried else { return nil }
        hasRetried = true
        return .retry
    }
}

// MARK: - Fragments

extension ExternalLinkCheck {
    /// Looks up all fragments in the page. Documents in other formats, such as PDF, define fragments of their own, so that any
    /// fragment may be correct.
    private mutating func findFragments(in response: Response) {
        guard !fragments.isEmpty else { return }
        let type = response.fields.contentType
        guard !LinkDocument.isDownload(type) else { return }
        let unknownCoding = LinkDocument.unknownCoding(in: response.fields)
        let format = BodyFormat(mediaType: type, url: url, body: response.body.span)
        guard format.isHTML || format == .svg else { return }
        let anchors = PageAnchors(of: response.body.span, as: format, charset: type?.charset)
        let document = LinkDocument(name: url.href, url: url, type: type)
        let hasDirectives = fragments.contains { !LinkFragment($0).directives.isEmpty }
        let text = hasDirectives ? LinkFragment.searchableText(of: document, response.body.span) : []
        for fragment in fragments {
            let parts = LinkFragment(fragment)
            // GitHub adds a prefix to the ids of documents that it shows, and a script that finds the element without it.
            let isNamed = anchors.contains(parts.name) || anchors.contains("user-content-" + parts.name)
            if isNamed, parts.directives.isEmpty || parts.isTextFound(in: text) {
                continue
            }
            fragmentFaults[fragment] =
                if let unknownCoding {
                    Result(verdict: .failed, detail: LinkDocument.unknownCodingText(unknownCoding))
                } else if response.isCut {
                    Result(
                        verdict: .failed,
                        detail: "could not tell: the page is too long to search all of it for the fragment")
                } else if anchors.hasScripts {
                    Result(
                        verdict: .failed,
                        detail: "could not tell: the page runs scripts, which may add the fragment")
                } else {
                    Result(verdict: .fragmentMissing, detail: parts.missingText(in: url.href))
                }
        }
    }
}

// MARK: - Failures

extension ExternalLinkCheck {
    /// Takes the failure of the request.
    mutating func didFail(_ failure: FetchFailure) -> Step {
        hasResponded = false
        switch failure.kind {
        case .unknownHost, .unreachable:
            return retry() ?? giveUp(failure)
        case .timeout:
            // Some servers never answer HEAD.
            method = .get
            return retry() ?? giveUp(failure)
        case .broken, .invalidResponse, .tooLarge, .endless, .mismatch:
            if method == .head {
                method = .get
                return .request
            }
            return (failure.canRetry ? retry() : nil) ?? giveUp(failure)
        case .insecure, .refused, .diskFull, .interrupted, .machine:
            return giveUp(failure)
        }
    }

    /// Ends the check because of a failure, without another attempt.
    @discardableResult
    mutating func giveUp(_ failure: FetchFailure) -> Step {
        hasResponded = false
        switch failure.kind {
        case .unknownHost: return end(.dead, FetchFailure.Kind.unknownHost.rawValue)
        // Nothing is behind a port that refuses connections. Without a route, this machine may be the one at fault.
        case .unreachable where failure.hasNoRoute: return end(.failed, "could not tell: \(failure)")
        case .unreachable: return end(.dead, failure.description)
        case .timeout: return end(.timedOut, failure.description)
        // The network guard lets requests from this zone connect everywhere, so that it did not refuse this one.
        case .refused where nearestZone == .thisMachine: return end(.failed, failure.description)
        case .refused:
            return end(
                .notChecked, visited.count > 1 ? "it redirects to a private address" : "a private address")
        case .insecure, .broken, .invalidResponse, .tooLarge, .endless, .diskFull, .mismatch, .interrupted,
            .machine:
            return end(.failed, failure.description)
        }
    }

    /// Ends the check because the robots.txt of the next URL's origin does not allow the request.
    mutating func didDisallow() {
        _ = end(
            .blocked,
            visited.count > 1
                ? "robots.txt does not allow \(url.href), to which it redirects"
                : "robots.txt does not allow it")
    }
}
