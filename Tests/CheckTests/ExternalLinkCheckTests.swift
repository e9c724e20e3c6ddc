import Fetch
import Reports
import Testing
import Web

@testable import Check

@Suite struct ExternalLinkCheckTests {
    /// The end of a request.
    enum Ending: Sendable {
        case status(Int, HTTPFields = HTTPFields())
        case page(String, status: Int = 200, isCut: Bool = false, type: String = "text/html")
        case failure(FetchFailure.Kind, String = "why")

        static func redirect(_ location: String, _ status: Int = 302) -> Ending {
            .status(status, ["Location": location])
        }
    }

    private static let page = "https://a.test/page"

    private typealias Run = (log: [String], result: ExternalLinks.Result?)

    private func run(_ endings: [Ending], zone: NetworkZone = .thisMachine) throws -> Run {
        try run(Self.page, endings, zone: zone)
    }

    /// Runs a check on the ends of its requests. Returns the requests with the steps between them, and the result.
    private func run(_ url: String, _ endings: [Ending], zone: NetworkZone = .thisMachine) throws -> Run {
        let url = try #require(WebURL(url))
        var check = ExternalLinkCheck(url, fragments: url.fragment.map { [$0] } ?? [], nearestZone: zone)
        var log: [String] = []
        for ending in endings {
            log.append("\(check.method.rawValue) \(check.url.href)")
            let step: ExternalLinkCheck.Step
            switch ending {
            case .status(let status, let fields):
                step = check.didReceive(
                    .init(status: status, fields: fields), now: HTTPDate(secondsSinceEpoch: 0))
            case .page(let text, let status, let isCut, let type):
                let response = ExternalLinkCheck.Response(
                    status: status, fields: ["Content-Type": type], body: Array(text.utf8), isCut: isCut)
                step = check.didReceive(response, now: HTTPDate(secondsSinceEpoch: 0))
            case .failure(let kind, let why): step = check.didFail(FetchFailure(kind, why))
            }
            switch step {
            case .request: break
            case .requestAfter(let time): log.append("wait \(time.components.seconds)")
            case .retry: log.append("retry")
            case .done: return (log, check.result(forFragment: url.fragment))
            }
        }
        #expect(check.result(forFragment: url.fragment) == nil)
        return (log, nil)
    }

    @Test(
        arguments: [
            (200, .verified, ""), (204, .verified, ""), (206, .verified, ""), (300, .verified, ""),
            (304, .failed, "the server answered 304"), (301, .dead, "its redirect has no valid target"),
            (404, .dead, "the server answered 404"), (410, .dead, "the server answered 410"),
            (401, .blocked, "could not tell: the server answered 401"),
            (403, .blocked, "could not tell: the server answered 403"),
            (407, .blocked, "could not tell: the server answered 407"),
            (429, .blocked, "could not tell: the server answered 429"),
            (451, .blocked, "could not tell: the server answered 451"),
            (999, .blocked, "could not tell: the server answered 999"),
            (400, .failed, "the server answered 400"), (418, .failed, "the server answered 418"),
            (500, .failed, "the server answered 500"), (503, .failed, "the server answered 503"),
        ] as [(Int, LinkCheckReport.Verdict, String)])
    func `a status that the server keeps answering decides`(
        status: Int, verdict: LinkCheckReport.Verdict, detail: String
    ) throws {
        let result = try run([.status(status), .status(status), .status(status)]).result
        #expect(result == .init(verdict: verdict, detail: detail))
    }

    @Test func `a HEAD that is refused is repeated as GET`() throws {
        for ending in [
            Ending.status(405), .status(404), .status(500), .failure(.broken), .failure(.invalidResponse),
        ] {
            let (log, result) = try run([ending, .status(200)])
            #expect(log == ["HEAD \(Self.page)", "GET \(Self.page)"])
            #expect(result?.verdict == .verified)
        }
    }

    @Test(
        arguments: [
            (
                [.failure(.unknownHost), .failure(.unknownHost)], ["HEAD", "retry", "HEAD"], .dead,
                "host not found"
            ),
            (
                [.failure(.unreachable), .failure(.unreachable)], ["HEAD", "retry", "HEAD"], .dead,
                "cannot connect (why)"
            ),
            ([.failure(.unreachable), .status(200)], ["HEAD", "retry", "HEAD"], .verified, ""),
            (
                [.failure(.unreachable, "connection refused"), .failure(.unreachable, "connection refused")],
                ["HEAD", "retry", "HEAD"], .dead, "cannot connect (connection refused)"
            ),
            // The network of this machine may be down.
            (
                [.failure(.unreachable), .failure(.unreachable, "network is unreachable")],
                ["HEAD", "retry", "HEAD"], .failed, "could not tell: cannot connect (network is unreachable)"
            ),
            (
                [.failure(.timeout), .failure(.timeout)], ["HEAD", "retry", "GET"], .timedOut,
                "timed out (why)"
            ),
            ([.failure(.timeout), .status(200)], ["HEAD", "retry", "GET"], .verified, ""),
            ([.failure(.insecure)], ["HEAD"], .failed, "TLS failed (why)"),
            (
                [.failure(.broken), .failure(.broken), .failure(.broken)], ["HEAD", "GET", "retry", "GET"],
                .failed,
                "connection broke (why)"
            ),
            (
                [.failure(.invalidResponse), .failure(.invalidResponse)], ["HEAD", "GET"], .failed,
                "not HTTP (why)"
            ),
            ([.failure(.endless), .failure(.endless)], ["HEAD", "GET"], .failed, "endless response (why)"),
            ([.status(500), .status(500), .status(200)], ["HEAD", "GET", "retry", "GET"], .verified, ""),
            (
                [.status(502), .status(502), .status(503)], ["HEAD", "GET", "retry", "GET"], .failed,
                "the server answered 503"
            ),
        ] as [([Ending], [String], LinkCheckReport.Verdict, String)])
    func `a failure that may pass is retried once`(
        endings: [Ending], expected: [String], verdict: LinkCheckReport.Verdict, detail: String
    ) throws {
        let (log, result) = try run(endings)
        #expect(log == expected.map { $0 == "retry" ? $0 : "\($0) \(Self.page)" })
        #expect(result == .init(verdict: verdict, detail: detail))
    }

    @Test(
        arguments: [
            ([.status(429, ["Retry-After": "7"]), .status(200)], ["HEAD", "wait 7", "GET"], .verified),
            ([.status(503, ["Retry-After": "60"]), .status(404)], ["HEAD", "wait 60", "GET"], .dead),
            (
                [.status(429, ["Retry-After": "Thu, 01 Jan 1970 00:00:09 GMT"]), .status(200)],
                ["HEAD", "wait 9", "GET"],
                .verified
            ),
            (
                [
                    .status(429, ["Retry-After": "1"]), .status(429, ["Retry-After": "2"]),
                    .status(429, ["Retry-After": "3"]),
                ], ["HEAD", "wait 1", "GET", "wait 2", "GET"], .blocked
            ),
            ([.status(429, ["Retry-After": "61"])], ["HEAD"], .blocked),
            ([.status(503, ["Retry-After": "61"])], ["HEAD"], .failed),
            ([.status(429, ["Retry-After": "soon"]), .status(429)], ["HEAD", "GET"], .blocked),
        ] as [([Ending], [String], LinkCheckReport.Verdict)])
    func `a short Retry-After is waited for, at most twice`(
        endings: [Ending], expected: [String], verdict: LinkCheckReport.Verdict
    ) throws {
        let (log, result) = try run(endings)
        #expect(log == expected.map { $0.hasPrefix("wait") ? $0 : "\($0) \(Self.page)" })
        #expect(result?.verdict == verdict)
    }

    // MARK: - Redirects

    @Test(
        arguments: [
            ([.redirect("/b"), .status(200)], .verified, ""),
            ([.redirect("/b", 307), .redirect("/c", 301), .status(200)], .verified, ""),
            ([.redirect("/b", 301), .status(200)], .redirected, "moved permanently to https://a.test/b"),
            (
                [.redirect("/page/", 308), .status(200)], .redirected,
                "moved permanently to https://a.test/page/"
            ),
            (
                [.redirect("/b", 301), .redirect("https://c.test/", 308), .redirect("/de/"), .status(200)],
                .redirected,
                "moved permanently to https://c.test/"
            ),
            ([.redirect("/b", 301), .status(404), .status(404)], .dead, "the server answered 404"),
            ([.redirect("/page")], .dead, "it redirects in a loop"),
            ([.redirect("/b"), .redirect("/page")], .dead, "it redirects in a loop"),
            ([.redirect("http://[")], .dead, "its redirect has no valid target"),
            ([.redirect("app:open")], .failed, "could not tell: it redirects to app:open"),
            (
                [.redirect("https://sso.a.test/?to=page")], .blocked,
                "could not tell: it redirects to a login page"
            ),
            ([.redirect("/user/login")], .blocked, "could not tell: it redirects to a login page"),
            (
                [.status(302, ["Location": "/page", "Set-Cookie": "a=b"])], .blocked,
                "could not tell: it redirects in a loop unless the client accepts cookies"
            ),
        ] as [([Ending], LinkCheckReport.Verdict, String)])
    func `redirects are followed`(
        endings: [Ending], verdict: LinkCheckReport.Verdict, detail: String
    ) throws {
        #expect(try run(endings).result == .init(verdict: verdict, detail: detail))
    }

    @Test func `a redirect of a login page is followed`() throws {
        #expect(
            try run("https://a.test/login", [.redirect("/login/", 301), .status(200)]).result?.verdict
                == .redirected)
    }

    @Test func `a redirect from http to https is permanent if the server says so`() throws {
        let result = try run("http://a.test/", [.redirect("https://a.test/", 301), .status(200)]).result
        #expect(result == .init(verdict: .redirected, detail: "moved permanently to https://a.test/"))
    }

    @Test func `the longest chain of redirects that is followed has 20`() throws {
        let chain = (1...20).map { Ending.redirect("/\($0)") }
        #expect(try run(chain + [.status(200)]).result?.verdict == .verified)
        let longer = try run(chain + [.redirect("/21")])
        #expect(longer.result == .init(verdict: .dead, detail: "it redirects in a loop"))
    }

    @Test(
        arguments: [
            (.thisMachine, .publicNetwork, .publicNetwork), (.thisMachine, .privateNetwork, .privateNetwork),
            (.publicNetwork, .publicNetwork, .privateNetwork),
            (.privateNetwork, .thisMachine, .privateNetwork),
        ] as [(NetworkZone, NetworkZone, NetworkZone)])
    func `a redirect may lead to the zone of its server, or to that of the options`(
        start: NetworkZone, server: NetworkZone, allowed: NetworkZone
    ) throws {
        let url = try #require(WebURL(Self.page))
        var check = ExternalLinkCheck(url, nearestZone: start, allowedZone: allowed)
        #expect(check.nearestZone == start)
        let response = ExternalLinkCheck.Response(status: 302, fields: ["Location": "/b"], zone: server)
        #expect(check.didReceive(response, now: HTTPDate(secondsSinceEpoch: 0)) == .request)
        #expect(check.nearestZone == max(server, allowed))
    }

    @Test(
        arguments: [
            (.publicNetwork, [.failure(.refused)], .notChecked, "a private address"),
            (.thisMachine, [.failure(.refused)], .failed, "why"),
            (
                .thisMachine, [.redirect("http://10.0.0.1/"), .failure(.refused)], .notChecked,
                "it redirects to a private address"
            ),
        ] as [(NetworkZone, [Ending], LinkCheckReport.Verdict, String)])
    func `links to private addresses are not checked`(
        zone: NetworkZone, endings: [Ending], verdict: LinkCheckReport.Verdict, detail: String
    ) throws {
        #expect(try run(endings, zone: zone).result == .init(verdict: verdict, detail: detail))
    }

    // MARK: - Pages

    private static let challenge = "<title>Just a moment...</title><script>window._cf_chl_opt = {}</script>"

    @Test(
        arguments: [
            ([.status(403, ["cf-mitigated": "challenge"])], .blocked),
            ([.status(405), .page(challenge, status: 503)], .blocked),
            ([.status(405), .page(challenge)], .blocked),
            // The beginning of a long page proves nothing.
            ([.status(405), .page(challenge, isCut: true)], .verified),
            ([.status(404), .page(challenge, status: 404)], .dead),
        ] as [([Ending], LinkCheckReport.Verdict)])
    func `a bot challenge tells nothing about the page`(endings: [Ending], verdict: LinkCheckReport.Verdict)
        throws
    {
        let result = try run(endings).result
        #expect(result?.verdict == verdict)
        if verdict == .blocked {
            #expect(result?.detail == "could not tell: the server sent a bot challenge (Cloudflare)")
        }
    }

    private static let missing = "https://a.test/page has no element with the id \"x\""
    private static let byScript = "could not tell: the page runs scripts, which may add the fragment"

    @Test(
        arguments: [
            ("x", .page("<p id=x>"), .verified, ""), ("x", .page("<a name=x>"), .verified, ""),
            ("%C3%BC", .page("<p id=ü>", type: "text/html; charset=utf-8"), .verified, ""),
            ("x", .page("<p id=user-content-x>"), .verified, ""),
            ("x", .page("<p id=y>"), .fragmentMissing, missing),
            ("x", .page("<p id=y><script>1</script>"), .failed, byScript),
            (
                "x", .page("<p id=y>", isCut: true), .failed,
                "could not tell: the page is too long to search all of it for the fragment"
            ),
            ("x", .page("<p id=x>", isCut: true), .verified, ""),
            ("page=3", .page("%PDF-1.7", type: "application/pdf"), .verified, ""),
            (
                "x", .page("<svg xmlns='http://www.w3.org/2000/svg'/>", type: "image/svg+xml"),
                .fragmentMissing, missing
            ),
            (":~:text=blue%20whale", .page("<p>The Blue  whale"), .verified, ""),
            (
                ":~:text=whale", .page("<p>A fish"), .fragmentMissing,
                "https://a.test/page does not contain the text"
            ),
            ("x", .status(404), .dead, "the server answered 404"),
        ] as [(String, Ending, LinkCheckReport.Verdict, String)])
    func `a fragment is looked up in the page`(
        fragment: String, ending: Ending, verdict: LinkCheckReport.Verdict, detail: String
    ) throws {
        let (log, result) = try run("\(Self.page)#\(fragment)", [ending])
        #expect(log == ["GET \(Self.page)"])
        #expect(result == .init(verdict: verdict, detail: detail))
    }

    @Test(arguments: ["", "top", "TOP", "/route", "!route"])
    func `a fragment that names no part of a page needs no body`(fragment: String) throws {
        let (log, result) = try run("\(Self.page)#\(fragment)", [.status(200)])
        #expect(log == ["HEAD \(Self.page)"])
        #expect(result?.verdict == .verified)
    }

    @Test func `a missing fragment counts more than a permanent redirect`() throws {
        let moved = Ending.redirect("/b", 301)
        #expect(try run("\(Self.page)#x", [moved, .page("<p id=y>")]).result?.verdict == .fragmentMissing)
        #expect(try run("\(Self.page)#x", [moved, .page("<p id=x>")]).result?.verdict == .redirected)
    }

    @Test func `the fragment of a redirect replaces that of the link`() throws {
        #expect(
            try run("\(Self.page)#x", [.redirect("/b#y"), .page("<p id=y>")]).result?.verdict == .verified)
    }

    @Test func `links with different fragments share one request`() throws {
        let url = try #require(WebURL(Self.page))
        var check = ExternalLinkCheck(url, fragments: ["x", "y"], nearestZone: .publicNetwork)
        let response = ExternalLinkCheck.Response(
            status: 200, fields: ["Content-Type": "text/html"], body: Array("<p id=y>".utf8))
        #expect(check.result(forFragment: "y") == nil)
        #expect(check.didReceive(response, now: HTTPDate(secondsSinceEpoch: 0)) == .done)
        #expect(check.result(forFragment: "x")?.verdict == .fragmentMissing)
        #expect(check.result(forFragment: "y")?.verdict == .verified)
        #expect(check.result(forFragment: nil)?.verdict == .verified)
    }

    @Test(arguments: [
        (403, LinkCheckReport.Verdict.verified), (404, .dead), (999, .verified), (500, .failed),
    ])
    func `accepted statuses count as success`(status: Int, verdict: LinkCheckReport.Verdict) throws {
        let url = try #require(WebURL(Self.page))
        let accepted = try #require(AcceptedStatuses("403,999"))
        var check = ExternalLinkCheck(url, nearestZone: .publicNetwork, accepting: accepted)
        for _ in 0..<3 where check.result(forFragment: nil) == nil {
            _ = check.didReceive(
                .init(status: status, fields: HTTPFields()), now: HTTPDate(secondsSinceEpoch: 0))
        }
        #expect(check.result(forFragment: nil)?.verdict == verdict)
    }

    @Test(arguments: [
        ("application/octet-stream", "identity", LinkCheckReport.Verdict.verified),
        ("text/html", "utf-8", .failed),
        ("text/html", "x-lzma", .failed), ("text/html", "gzip", .fragmentMissing),
        ("text/html", "gzip, x-lzma", .failed),
        ("text/html", "identity", .fragmentMissing), ("text/html", "X-GZIP", .fragmentMissing),
    ])
    func `a fragment is not missing in a download, or in a body that cannot be decoded`(
        type: String, coding: String, verdict: LinkCheckReport.Verdict
    ) throws {
        let url = try #require(WebURL(Self.page))
        var check = ExternalLinkCheck(url, fragments: ["x", "y"], nearestZone: .publicNetwork)
        let response = ExternalLinkCheck.Response(
            status: 200, fields: ["Content-Type": type, "Content-Encoding": coding],
            body: Array("<!doctype html><p id=y>".utf8))
        #expect(check.didReceive(response, now: HTTPDate(secondsSinceEpoch: 0)) == .done)
        #expect(check.result(forFragment: "x")?.verdict == verdict)
        #expect(check.result(forFragment: "y")?.verdict == .verified)
    }

    @Test func `only the beginning of a body is requested`() throws {
        let url = try #require(WebURL(Self.page))
        var check = ExternalLinkCheck(url, nearestZone: .publicNetwork)
        #expect(check.maxBytes == nil)
        _ = check.didFail(FetchFailure(.broken, ""))
        #expect(check.maxBytes == ExternalLinkCheck.maxOtherBytes)
        let withFragment = ExternalLinkCheck(url, fragments: ["x"], nearestZone: .publicNetwork)
        #expect(withFragment.maxBytes == ExternalLinkCheck.maxPageBytes)
    }

    @Test func `robots.txt of the target of a redirect applies, too`() throws {
        let url = try #require(WebURL(Self.page))
        var check = ExternalLinkCheck(url, nearestZone: .publicNetwork)
        var own = check
        own.didDisallow()
        #expect(
            own.result(forFragment: nil) == .init(verdict: .blocked, detail: "robots.txt does not allow it"))
        _ = check.didReceive(
            .init(status: 302, fields: ["Location": "/b"]), now: HTTPDate(secondsSinceEpoch: 0))
        check.didDisallow()
        #expect(
            check.result(forFragment: nil)?.detail
                == "robots.txt does not allow https://a.test/b, to which it redirects")
    }
}
