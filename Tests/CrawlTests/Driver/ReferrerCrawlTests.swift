import TestOrigin
import Testing
import Web

@testable import Crawl

/// The `Referer` header of requests to hosts that refuse requests without it.
@Suite struct ReferrerCrawlTests {
    private let bench: CrawlBench

    init() throws { bench = try CrawlBench() }

    /// The `Referer` headers of all requests to a target.
    private func referrers(_ target: String) -> [String?] {
        bench.origin.requests(to: target).map { $0["Referer"] }
    }

    @Test("A file for pages of its site alone is requested again with Referer, and later ones only so")
    func guardedFiles() throws {
        let origin = bench.origin
        origin.on("/", .page("<link rel=stylesheet href=/s.css>"))
        for (target, answer) in [
            ("/s.css", OriginAnswer.file("p { background: url(1.png) }", type: "text/css")),
            ("/1.png", .file([1], type: "image/png")),
        ] {
            origin.on(target) { $0["Referer"] == nil ? .failure(403) : answer }
        }
        #expect(try bench.crawl().misses == [])
        #expect(referrers("/") == [nil])
        #expect(referrers("/s.css") == [nil, origin.url("/")])
        #expect(referrers("/1.png") == [origin.url("/s.css")])
    }

    @Test("A file that is refused with Referer as well is requested twice at most")
    func refusals() throws {
        let origin = bench.origin
        let targets = (1...9).map { "/\($0).png" }
        origin.on("/", .page(targets.map { "<img src=\($0)>" }.joined()))
        for target in targets { origin.on(target, .failure(403)) }
        #expect(try bench.crawl().misses.count == targets.count)
        #expect(targets.allSatisfy { (1...2).contains(referrers($0).count) })
        #expect(targets.contains { referrers($0) == [nil, origin.url("/")] })
    }

    @Test("A host is asked again with Referer until that was refused three times, or has been answered")
    func hosts() throws {
        let url = try #require(WebURL("http://a.test/"))
        let other = try #require(WebURL("http://b.test/"))
        var hosts = ReferrerHosts()
        func isAskedAgain(_ entry: UInt32, _ url: WebURL, after status: Int, hadReferrer: Bool) -> Bool {
            hosts.didRespond(entry, url, status: status, hadReferrer: hadReferrer)
        }
        for entry in 0..<UInt32(ReferrerHosts.maxRefusals) {
            #expect(isAskedAgain(entry, url, after: 403, hadReferrer: false))
            #expect(!isAskedAgain(entry, url, after: 403, hadReferrer: true))
        }
        #expect(!isAskedAgain(8, url, after: 403, hadReferrer: false))
        #expect(!hosts.needReferrer(url))
        #expect(!isAskedAgain(9, other, after: 404, hadReferrer: false))
        #expect(isAskedAgain(9, other, after: 403, hadReferrer: false))
        #expect(!isAskedAgain(9, other, after: 403, hadReferrer: false))
        #expect(!isAskedAgain(9, other, after: 200, hadReferrer: true))
        #expect(hosts.needReferrer(other))
    }
}
