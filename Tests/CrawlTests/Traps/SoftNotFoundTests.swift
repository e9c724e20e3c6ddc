import Testing
import Web

@testable import Crawl

@Suite struct SoftNotFoundTests {
    private func url(_ text: String) throws -> WebURL { try #require(WebURL(text)) }

    private static func page(_ text: String, status: Int = 200) -> SoftNotFound.Answer {
        let frame = (0..<80).map { "frame\($0)" }.joined(separator: " ")
        let body = Array("<h1>\(text)</h1><p>\(frame)".utf8)
        return SoftNotFound.Answer(status: status, target: nil, content: ContentPrint(text: body.span))
    }

    private static let article = page((0..<80).map { "story\($0)" }.joined(separator: " "))
    private static let start = page((0..<80).map { "welcome\($0)" }.joined(separator: " "))

    @Test func `the probe is a URL that cannot exist, and is the same for the same seed`() throws {
        let page = try url("http://a.test/docs/page.html?x#y")
        let probe = try #require(SoftNotFound.probe(beside: page, seed: 1))
        #expect(probe.href.hasPrefix("http://a.test/docs/"))
        #expect(probe.href.hasSuffix(".html"))
        #expect(probe.path.utf8.count == "/docs/".utf8.count + 24 + ".html".utf8.count)
        #expect(SoftNotFound.probe(beside: page, seed: 1) == probe)
        #expect(SoftNotFound.probe(beside: page, seed: 2) != probe)
        #expect(SoftNotFound.probe(beside: try url("http://a.test/"), seed: 1)?.path.utf8.count == 25)
    }

    @Test(arguments: [404, 410, 403, 500])
    func `a host that answers the probe with 404 has no soft 404s`(status: Int) {
        var host = SoftNotFound()
        #expect(host.judgement(of: Self.article) == .unknown)
        #expect(!host.isKnown)
        host.didProbe(Self.page("not found", status: status), start: Self.start)
        #expect(host.isKnown)
        #expect(host.judgement(of: Self.page("not found")) == .found)
    }

    @Test func `a page like the response to the probe is a soft 404`() {
        var host = SoftNotFound()
        host.didProbe(Self.page("the page /abcdef was not found"), start: Self.start)
        #expect(host.judgement(of: Self.page("the page /other was not found")) == .notFound)
        #expect(host.judgement(of: Self.article) == .found)
        #expect(host.judgement(of: Self.start) == .found)
    }

    @Test
    func
        `a short soft 404 is recognised whatever URL it contains, and a short page with other words is not one`()
        throws
    {
        func short(_ words: String, _ target: String) -> SoftNotFound.Answer {
            let text = (0..<60).map { "\(words)\($0)" }.joined(separator: " ")
            let body = Array("<title>Page not found</title><p>\(text) nothing at \(target)".utf8)
            return SoftNotFound.Answer(status: 200, target: nil, content: ContentPrint(text: body.span))
        }
        for seed in 0..<500 as Range<UInt64> {
            let probe = try #require(SoftNotFound.probe(beside: try url("http://a.test/bad"), seed: seed))
            var host = SoftNotFound()
            host.didProbe(short("sorry", probe.path), start: Self.start)
            for target in ["/bad", "/worse", "/a/much/longer/address/of/many/words"] {
                #expect(
                    host.judgement(of: short("sorry", target), saysSo: true) == .notFound, "\(seed) \(target)"
                )
            }
            #expect(host.judgement(of: short("novel", "/bad"), saysSo: true) == .found, "\(seed)")
        }
    }

    @Test func `a redirect to the target of the probe is a soft 404`() throws {
        var host = SoftNotFound()
        let home = try url("http://a.test/")
        host.didProbe(SoftNotFound.Answer(status: 302, target: home, content: nil), start: Self.start)
        #expect(host.judgement(of: SoftNotFound.Answer(status: 302, target: home, content: nil)) == .notFound)
        let other = try url("http://a.test/other")
        #expect(host.judgement(of: SoftNotFound.Answer(status: 301, target: other, content: nil)) == .found)
        #expect(host.judgement(of: Self.article) == .found)
    }

    @Test func `a single-page app that returns one page for all URLs has no soft 404s`() {
        var host = SoftNotFound()
        host.didProbe(Self.start, start: Self.start)
        #expect(host.judgement(of: Self.start) == .found)
    }
}
