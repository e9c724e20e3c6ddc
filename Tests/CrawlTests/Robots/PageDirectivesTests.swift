import Testing
import Web

@testable import Crawl

@Suite struct PageDirectivesTests {
    @Test(
        arguments: [
            ("", []), ("noindex", .noindex), ("NOFOLLOW", .nofollow), ("none", [.noindex, .nofollow]),
            ("noindex, nofollow", [.noindex, .nofollow]), ("noindex nofollow", [.noindex, .nofollow]),
            ("index,follow", []), ("all", []), ("follow,nofollow", .nofollow), (" , ;noindex;", .noindex),
            ("noindexing", []), ("noindex\u{0}nofollow", [.noindex, .nofollow]),
            ("max-snippet:-1, noindex", .noindex),
            ("\u{FF}noindex", []),
        ] as [(String, PageDirectives)])
    func `a meta element lists directives as words`(content: String, directives: PageDirectives) {
        #expect(PageDirectives(metaContent: Array(content.utf8).span) == directives)
    }

    @Test(
        arguments: [
            ([], []), (["noindex"], .noindex), (["noindex", "nofollow"], [.noindex, .nofollow]),
            (["otherbot: noindex"], []), (["Larder: noindex"], .noindex),
            (["larder:none"], [.noindex, .nofollow]),
            (["otherbot: noindex, nofollow"], []), (["otherbot: noindex, larder: nofollow"], .nofollow),
            (["noindex, otherbot: nofollow"], .noindex), (["otherbot: none", "nofollow"], .nofollow),
            (["unavailable_after: 25 Jun 2030 15:00:00 PST, noindex"], .noindex),
            (["unavailable_after: Tuesday, 25-Jun-30 15:00:00 GMT, nofollow"], .nofollow),
            (["max-snippet: 20, nofollow"], .nofollow), ([":", ",", ":noindex"], []),
        ] as [([String], PageDirectives)])
    func `a header field applies to all crawlers or to one`(values: [String], directives: PageDirectives) {
        let fields = HTTPFields(values.map { HTTPFields.Field(name: "x-robots-tag", value: $0) })
        #expect(PageDirectives(fields, productToken: "Larder") == directives)
    }
}
