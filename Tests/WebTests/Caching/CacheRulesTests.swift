import Testing

@testable import Web

struct CacheRulesTests {
    @Test func `for each setting, the first matching rule that contains it counts`() throws {
        let rules = CacheRules([
            try CacheRules.Rule("/api/** max-age=60"),
            try CacheRules.Rule("/** type=image/* max-age=600 memory-only"),
            try CacheRules.Rule("/api/** policy=prefer-cache max-age=5 no-query"),
            try CacheRules.Rule("/** not-allowed policy=revalidate"),
        ])
        let (api, page) = (webURL("https://example.com/api/x?y"), webURL("https://example.com/x?y"))
        let image = MediaType("image/png")
        #expect(rules.lifetime(for: api, image) == .atLeast(60))
        #expect(rules.storage(for: api, image) == .memoryOnly)
        #expect(rules.storage(for: api, nil) == .notAllowed)
        #expect(rules.policy(for: api) == .preferCache)
        #expect(rules.dropsQuery(of: api))
        #expect(rules.lifetime(for: page, image) == .atLeast(600))
        #expect(rules.lifetime(for: page, MediaType("text/html")) == nil)
        #expect(rules.policy(for: page, image) == .revalidate)
        #expect(!rules.dropsQuery(of: page))
        #expect(CacheRules().policy(for: page) == nil)
    }

    @Test(
        arguments: [
            ("", .empty), ("  ", .empty), ("/a", .nothingSet), ("/a type=text/css", .nothingSet),
            ("/a max-age=x", .setting("max-age=x")), ("/a max-age", .setting("max-age")),
            ("/a max-age=-1", .setting("max-age=-1")), ("/a policy=sometimes", .setting("policy=sometimes")),
            ("/a type=css max-age=1", .setting("type=css")), ("/a never", .setting("never")),
            ("/a no-query=1", .setting("no-query=1")), ("/a =", .setting("=")),
            ("/a status=200", .setting("status=200")), ("/a refuse status=9", .setting("status=9")),
            ("/a refuse larger-than=1X", .setting("larger-than=1X")), ("/a refuse text=", .setting("text=")),
            (String(repeating: "a", count: 2000), .pattern(String(repeating: "a", count: 2000))),
        ] as [(String, CacheRules.Rule.ParseError)])
    func `a malformed rule is rejected with the reason`(text: String, mistake: CacheRules.Rule.ParseError) {
        #expect(throws: mistake) { try CacheRules.Rule(text) }
    }

    @Test func `a rule can set the exact lifetime`() throws {
        #expect(try CacheRules.Rule("/a max-age=!0").lifetime == .exactly(0))
        #expect(try CacheRules.Rule("/a\tmax-age=99999999999").lifetime == .atLeast(1 << 31))
    }

    @Test(
        arguments: [
            ("image/*", "image/png", true), ("image/*", "text/png", false),
            ("text/css", "TEXT/CSS; charset=x", true),
            ("Text/Css", "text/css", true), ("text/css", "text/html", false), ("*/*", "a/b", true),
            ("*/*", nil, true),
            ("text/*", nil, false),
        ] as [(String, String?, Bool)])
    func `a pattern matches media types`(pattern: String, type: String?, isMatch: Bool) throws {
        #expect(try #require(MediaTypePattern(pattern)).matches(type.flatMap { MediaType($0) }) == isMatch)
    }

    @Test(arguments: ["", "text", "text/", "/css", "*/css", "a/b/c", "a b/c", "text/css; charset=x"])
    func `a malformed media type pattern is rejected`(text: String) {
        #expect(MediaTypePattern(text) == nil)
    }

    @Test(arguments: [
        ("/app.js", "\u{FEFF}\n <!DOCTYPE HTML><p>log in", false), ("/a.png", "<html>", false),
        ("/app.js", "<!-- a script -->", true), ("/app.js", "x='<html>'", true), ("/a.svg", "<html>", true),
        ("/page", "<!doctype html>", true), ("/a.js", "", true),
    ]) func `an HTML page under another file extension is rejected, whatever its media type`(
        path: String, text: String, isAccepted: Bool
    ) {
        let subject = ResponseInspection.Subject(
            url: webURL("https://example.com" + path), status: 200,
            fields: ["Content-Type": "text/javascript"],
            beginning: Array(text.utf8))
        #expect(ResponseInspection.rejectingHTMLStandIns.accepts(subject) == isAccepted)
    }

    @Test(
        arguments: [
            ("/app.js", "text/html", 200, false), ("/a/style.CSS", "text/html; charset=utf-8", 200, false),
            ("/app.js", "text/javascript", 200, true), ("/app.js", "text/html", 404, true),
            ("/page", "text/html", 200, true),
            ("/page.html", "text/html", 200, true), ("/a.js/page", "text/html", 200, true),
            ("/app.js", "", 200, true),
            ("/x.png?a=b.c", "application/xhtml+xml", 200, false),
        ]) func `an HTML page with status 200 in place of another type is rejected`(
            path: String, type: String, status: Int, isAccepted: Bool
        )
    {
        let subject = ResponseInspection.Subject(
            url: webURL("https://example.com" + path), status: status, fields: ["Content-Type": type])
        #expect(ResponseInspection.rejectingHTMLStandIns.accepts(subject) == isAccepted)
        #expect(ResponseInspection.acceptingAll.accepts(subject))
    }

    @Test func `a custom inspection receives the beginning of the body`() {
        let inspection = ResponseInspection { $0.beginning.starts(with: "Oops".utf8) }
        func accepts(_ body: String) -> Bool {
            inspection.accepts(
                .init(
                    url: webURL("https://example.com/"), status: 200, fields: [:], beginning: Array(body.utf8)
                ))
        }
        #expect(accepts("Welcome"))
        #expect(!accepts("Oops, something went wrong"))
        #expect(
            !CacheRules(inspection: inspection).inspection.accepts(
                .init(
                    url: webURL("https://example.com/"), status: 200, fields: [:],
                    beginning: Array("Oops".utf8))))
    }
}
