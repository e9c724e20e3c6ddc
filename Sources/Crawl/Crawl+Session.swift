internal import Bundles
internal import Fetch
internal import Store
internal import Web

/// What came where a server knows the user, and may cease to.
extension Crawl {
    /// A redirect of a page leads to something of which nobody has seen yet whether it is a login: until then it is not kept.
    func keepRedirect(
        _ number: UInt32, _ url: WebURL, _ response: FetchedResponse, of result: FetchResult
    ) throws(CrawlError) {
        let head = head(number, url, response, of: result)
        guard frontier.opensBySession(number), let target = openTarget(of: number) else { return try keep(head) }
        openRedirects[target, default: []].append((number, head))
    }

    private func openTarget(of number: UInt32) -> UInt32? {
        frontier.openTarget(of: number) ?? frontier.target(of: number).flatMap { inScan.contains($0) ? $0 : nil }
    }

    /// It was seen what a page is that redirects lead to: they are kept, unless it is a login.
    func close(_ number: UInt32, login: String? = nil) throws(CrawlError) {
        guard !openRedirects.isEmpty, let redirects = openRedirects.removeValue(forKey: number) else { return }
        for (number, head) in redirects {
            if let login { try loginCame(number, at: login) } else { try keep(head) }
            try close(number, login: login)
        }
    }

    /// What leads to nothing that came is kept as it is, but for what leads to where nothing was asked, since the session had
    /// ended.
    func closeAll() throws(CrawlError) {
        while let (target, failure) = openRedirects.keys.lazy.compactMap({ self.sessionFailure(of: $0) }).first {
            for (number, _) in openRedirects.removeValue(forKey: target) ?? [] { frontier.refused(number, failure) }
        }
        for (_, redirects) in openRedirects {
            for (_, head) in redirects { try keep(head) }
        }
        openRedirects.removeAll()
    }

    private func sessionFailure(of number: UInt32) -> (UInt32, Failure)? {
        guard case .failed(let failure) = frontier.state(number), failure.isOfSession else { return nil }
        return (number, failure)
    }

    /// A login came in place of a page, or the page leads to one. What an earlier visit has of it stays.
    func loginCame(_ number: UInt32, at place: String) throws(CrawlError) {
        frontier.askedForLogin(number, at: place, wasHeld: try isHeldFromBefore(number))
    }

    func isHeldFromBefore(_ number: UInt32) throws(CrawlError) -> Bool {
        guard frontier.opensBySession(number), let recall else { return false }
        return try storing { () throws(StoreError) in try recall.holds(frontier.url(number)) }
    }

    /// What the host says to a page that came before is not kept: it tells whether the session goes on.
    func witnessFetched(_ result: FetchResult) throws(CrawlError) {
        result.partial?.discard()
        let host = Int(result.number & ~Self.witnessBit)
        switch result.outcome {
        case .failure(let failure) where failure.kind == .machine:
            throw .fetch(failure)
        case .failure:
            frontier.witnessed(host: host, asksForLogin: nil, now: now)
        case .response(let response):
            let body = try storing { () throws(StoreError) in try response.body.beginning(Self.longestWitness) }
            response.body.discard()
            let asksForLogin: Bool? =
                switch response.status {
                case 301, 302, 303, 307, 308, 401, 403: true
                case 200..<300: LoginWords.isAsked(in: body.span)
                default: nil
                }
            frontier.witnessed(host: host, asksForLogin: asksForLogin, now: now)
        }
    }

    private static let longestWitness = 256 * 1024
}
