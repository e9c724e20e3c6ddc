import Testing

@testable import Web

@Suite struct ReplacementCheckTests {
    /// A response to check: its URL and time, the stored response and the new one.
    struct Step: Sendable {
        var path: String
        var time: Int64 = 0
        /// The stored body; nil if nothing is stored.
        var stored: String? = "a page of its own"
        var storedFields: HTTPFields = ["Content-Type": "text/html", "Content-Length": "17"]
        var storedTitle: String?
        var new: String
        var status = 200
        var fields: HTTPFields = ["Content-Type": "text/html"]
        var title: String?
        var ending = ResponseSummary.Ending.declared
        var asksForPassword = false
        var expected: ReplacementCheck.Reason?
        /// Paths whose stored responses are restored.
        var restored: [String] = []
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var origin = "http://example.test"
        let steps: [Step]

        init(_ description: String, origin: String = "http://example.test", _ steps: [Step]) {
            testDescription = description
            self.origin = origin
            self.steps = steps
        }
    }

    @Test(arguments: [true, false])
    func `a response without credentials does not replace one fetched with them`(isPrivate: Bool) throws {
        let url = try #require(WebURL("http://example.test/"))
        let html: HTTPFields = ["Content-Type": "text/html"]
        let stored = ResponseSummary(
            url, status: 200, fields: html, digest: 1, byteCount: 10, isPrivate: isPrivate)
        let new = ResponseSummary(url, status: 200, fields: html, digest: 2, byteCount: 11)
        for purpose in [ReplacementCheck.Purpose.run, .serving] {
            var check = ReplacementCheck(purpose, keepsPrivate: true)
            let verdict = check.judge(url, stored: stored, new: new, now: 0)
            #expect(verdict.rejected == (isPrivate ? .withoutCredentials : nil))
            var own = ReplacementCheck(purpose)
            #expect(own.judge(url, stored: stored, new: new, now: 0).rejected == nil)
        }
    }

    private static func judged(
        _ url: WebURL, _ status: Int, _ fields: HTTPFields, _ body: String, _ title: String?,
        _ ending: ResponseSummary.Ending = .declared, _ asksForPassword: Bool = false
    ) -> ResponseSummary {
        let digest = body.utf8.reduce(UInt64(5381)) { ($0 &* 33) ^ UInt64($1) }
        return ResponseSummary(
            url, status: status, fields: fields, digest: body.isEmpty ? 0 : digest,
            byteCount: body.utf8.count,
            title: title, ending: ending, asksForLogin: asksForPassword)
    }

    private func run(_ example: Case, _ check: inout ReplacementCheck) throws {
        for (number, step) in example.steps.enumerated() {
            let url = try #require(WebURL(example.origin + step.path))
            let stored = step.stored.map { Self.judged(url, 200, step.storedFields, $0, step.storedTitle) }
            let new = Self.judged(
                url, step.status, step.fields, step.new, step.title, step.ending, step.asksForPassword)
            var comparison: BodyComparison?
            if let stored, let text = step.stored, ReplacementCheck.needsComparison(new, with: stored) {
                comparison = BodyComparison(stored: text.utf8.span, new: step.new.utf8.span)
            }
            let verdict = check.judge(
                url, stored: stored, new: new, comparison: comparison, now: 1_000_000 + step.time)
            #expect(verdict.rejected == step.expected, "step \(number)")
            #expect(
                verdict.restored.map { $0.href.dropFirst(example.origin.count) }.sorted()
                    == step.restored.map { $0[...] }, "step \(number)")
        }
    }

    private static let portal = "<title>Hotel WiFi</title><form method=post><button>Accept</button></form>"
    private static let image: HTTPFields = ["Content-Type": "image/png"]
    private static let long =
        "<html><body>" + (1...40).map { "<p>paragraph \($0)</p>" }.joined() + "</body></html>"
    private static let tagged: HTTPFields = [
        "Content-Type": "text/html", "Content-Length": "900", "ETag": "\"1\"",
    ]

    // MARK: - A server, a proxy, an app

    static let serving: [Case] = [
        Case("a page that changed replaces the stored one", [Step(path: "/a", new: "a newer page")]),
        Case("a new page is stored", [Step(path: "/a", stored: nil, new: "new")]),
        Case(
            "two different pages that become identical are not replaced",
            [
                Step(path: "/a", stored: "a", new: portal),
                Step(path: "/b", stored: "b", new: portal, expected: .identical, restored: ["/a"]),
                Step(path: "/c", stored: "c", new: portal, expected: .identical),
                Step(path: "/new", stored: nil, new: portal, expected: .identical),
            ]),
        Case(
            "pages with the same title and a similar length count as identical",
            [
                Step(path: "/a", stored: "a", storedTitle: "A", new: "portal for /a", title: "Hotel"),
                Step(
                    path: "/b", stored: "b", storedTitle: "B", new: "portal for /b", title: "Hotel",
                    expected: .identical, restored: ["/a"]),
            ]),
        Case(
            "pages with the title of the stored page do not count as identical",
            [
                Step(path: "/a", stored: "a", storedTitle: "S", new: "newer a", title: "S"),
                Step(path: "/b", stored: "b", storedTitle: "S", new: "newer b", title: "S"),
            ]),
        Case(
            "an application shell that is the same for all URLs may change",
            [
                Step(path: "/a", stored: "shell 1", new: "shell 2"),
                Step(path: "/b", stored: "shell 1", new: "shell 2"),
                Step(path: "/c", stored: "shell 1", new: "shell 2"),
            ]),
        Case(
            "an identical page after an hour is accepted",
            [
                Step(path: "/a", stored: "a", new: "moved"),
                Step(path: "/b", time: 3601, stored: "b", new: "moved"),
            ]),
        Case(
            "two identical responses to scripts are accepted",
            [
                Step(path: "/a", stored: "[1]", new: "[]", fields: ["Content-Type": "application/json"]),
                Step(path: "/b", stored: "[2]", new: "[]", fields: ["Content-Type": "application/json"]),
            ]),
        Case("an empty page is held back", [Step(path: "/a", new: "", expected: .empty)]),
        Case(
            "HTML in place of an image is rejected",
            [Step(path: "/a.png", storedFields: image, new: "<p>log in", expected: .otherType)]),
        Case(
            "a changed image is accepted",
            [Step(path: "/a.png", storedFields: image, new: "x", fields: image)]),
        Case("a page that is gone is held back", [Step(path: "/a", new: "no", status: 404, expected: .gone)]),
        Case(
            "HTML in place of an image is accepted if the origin is known to respond",
            [
                Step(path: "/a", new: "no", status: 404, expected: .gone),
                Step(path: "/b", time: 10, stored: "same", new: "same"),
                Step(path: "/a", time: 20, new: "no", status: 404),
            ]),
        Case(
            "the changed page itself does not prove the origin",
            [
                Step(path: "/a", new: "no", status: 404, expected: .gone),
                Step(path: "/b", time: 10, new: "another page"),
                Step(path: "/a", time: 20, new: "no", status: 404, expected: .gone),
            ]),
        Case(
            "a proof from hours ago does not count",
            [
                Step(path: "/a", new: "no", status: 404, expected: .gone),
                Step(path: "/b", time: 10, stored: "same", new: "same"),
                Step(path: "/a", time: 7200, new: "no", status: 404, expected: .gone),
            ]),
        Case(
            "a proof before later doubts does not count",
            [
                Step(path: "/a", new: "no", status: 404, expected: .gone),
                Step(path: "/b", time: 10, stored: "same", new: "same"),
                Step(path: "/c", time: 15, new: "", expected: .empty),
                Step(path: "/a", time: 20, new: "no", status: 404, expected: .gone),
            ]),
        Case(
            "over http, the same change an hour later is rejected",
            [
                Step(path: "/a", new: "no", status: 404, expected: .gone),
                Step(path: "/a", time: 3700, new: "no", status: 404, expected: .gone),
            ]),
        Case(
            "over https, the same change an hour later is accepted", origin: "https://example.test",
            [
                Step(path: "/a", new: "no", status: 404, expected: .gone),
                Step(path: "/a", time: 3599, new: "no", status: 404, expected: .gone),
                Step(path: "/a", time: 3600, new: "no", status: 404),
            ]),
        Case(
            "a redirect to another host is rejected, and one to www is accepted",
            [
                Step(
                    path: "/a", new: "", status: 302, fields: ["Location": "http://portal.test/"],
                    expected: .redirect),
                Step(path: "/b", new: "", status: 301, fields: ["Location": "http://www.example.test/b"]),
                Step(path: "/c", new: "", status: 302, fields: ["Location": "/d"]),
                Step(path: "/d", new: "", status: 302, fields: ["Location": "/login?to=d"], expected: .login),
            ]),
        Case(
            "a login page is rejected unless one was stored",
            [
                Step(path: "/a", new: portal, title: "Sign in", asksForPassword: true, expected: .login),
                Step(path: "/b", storedTitle: "Log in", new: "x", title: "Sign in", asksForPassword: true),
                Step(path: "/c", new: "how to", title: "Log in with curl"),
            ]),
        Case(
            "a bot challenge is rejected",
            [
                Step(path: "/a", new: "x", title: "Just a moment...", expected: .challenge),
                Step(
                    path: "/b", new: "y", fields: ["Content-Type": "text/html", "cf-mitigated": "challenge"],
                    expected: .challenge),
            ]),
        Case("an error is held back", [Step(path: "/a", new: "log in", status: 511, expected: .refused)]),
    ]

    @Test(arguments: serving)
    func `verdicts while serving`(example: Case) throws {
        var check = ReplacementCheck(.serving)
        try run(example, &check)
    }

    // MARK: - Bodies that are cut short

    private static let half = String(long.prefix(long.count / 2))

    static let cut: [Case] = [
        Case(
            "more bytes than the declared length",
            [Step(path: "/a", stored: long, new: "short", ending: .bytesBeyondLength, expected: .truncated)]),
        Case(
            "more bytes than the declared length, and a longer body than stored",
            [Step(path: "/a", stored: "short", new: long, ending: .bytesBeyondLength)]),
        Case(
            "no length, but the stored response had one",
            [
                Step(
                    path: "/a", stored: long, storedFields: tagged, new: half, ending: .connection,
                    expected: .truncated)
            ]),
        Case(
            "no length in both, and the new page has no end",
            [
                Step(
                    path: "/a", stored: long, storedFields: ["Content-Type": "text/html"], new: "x" + half,
                    ending: .connection, expected: .truncated)
            ]),
        Case(
            "no length in both, and the new page has its end",
            [
                Step(
                    path: "/a", stored: long, storedFields: ["Content-Type": "text/html"],
                    new: "<html>newer</html>", ending: .connection)
            ]),
        Case(
            "no length, but the stored response had one, and a shorter page with its end",
            [
                Step(
                    path: "/a", stored: long, storedFields: tagged, new: "<html>newer</html>",
                    ending: .connection)
            ]),
        Case(
            "the first half of the page",
            [Step(path: "/a", stored: long, new: half, expected: .truncated)]),
        Case(
            "the first half of an image",
            [
                Step(
                    path: "/a", stored: long, storedFields: image, new: half, fields: image,
                    expected: .truncated)
            ]),
        Case(
            "a text without its last lines",
            [
                Step(
                    path: "/a", stored: long, storedFields: ["Content-Type": "text/plain"], new: half,
                    fields: ["Content-Type": "text/plain"])
            ]),
        Case(
            "a text without its last lines, with the same entity tag",
            [
                Step(
                    path: "/a", stored: long, storedFields: ["Content-Type": "text/plain", "ETag": "\"1\""],
                    new: half, fields: ["Content-Type": "text/plain", "ETag": "\"1\""], expected: .truncated)
            ]),
        Case(
            "a shorter page that is not a prefix",
            [Step(path: "/a", stored: long, new: "<p>" + half.dropFirst(20))]),
    ]

    @Test(arguments: cut, [ReplacementCheck.Purpose.run, .serving])
    func `verdicts on truncated bodies`(example: Case, purpose: ReplacementCheck.Purpose) throws {
        var check = ReplacementCheck(purpose)
        try run(example, &check)
    }

    // MARK: - A run

    static let runs: [Case] = [
        Case(
            "three different pages that become identical",
            [
                Step(path: "/a", stored: "a", new: portal), Step(path: "/b", stored: "b", new: portal),
                Step(path: "/c", stored: "c", new: portal, expected: .identical, restored: ["/a", "/b"]),
            ]),
        Case(
            "two redirects to a login page",
            [
                Step(path: "/a", stored: "a", new: "1", title: "Sign in", asksForPassword: true),
                Step(
                    path: "/b", stored: "b", new: "2", title: "Sign in", asksForPassword: true,
                    expected: .login, restored: ["/a"]),
            ]),
        Case(
            "three redirects to the same URL on another host",
            [
                Step(path: "/a", stored: "a", new: "", status: 302, fields: ["Location": "http://p.test/?a"]),
                Step(path: "/b", stored: "b", new: "", status: 302, fields: ["Location": "http://p.test/?b"]),
                Step(
                    path: "/c", stored: "c", new: "", status: 302, fields: ["Location": "http://p.test/?c"],
                    expected: .redirect, restored: ["/a", "/b"]),
            ]),
        Case(
            "redirects of files to another host",
            (1...9).map {
                Step(
                    path: "/\($0)", stored: "\($0)", new: "", status: 302,
                    fields: ["Location": "//cdn.test/\($0)"])
            }),
        Case(
            "an empty page and an empty style sheet",
            [
                Step(path: "/a", new: "", expected: .empty),
                Step(
                    path: "/a.css", storedFields: ["Content-Type": "text/css"], new: "",
                    fields: ["Content-Type": "text/css"]),
            ]),
        Case(
            "three empty scripts",
            (1...3).map {
                Step(
                    path: "/\($0).js", storedFields: ["Content-Type": "text/javascript"], new: "",
                    fields: ["Content-Type": "text/javascript"], expected: $0 < 3 ? nil : .empty,
                    restored: $0 < 3 ? [] : ["/1.js", "/2.js"])
            }),
    ]

    @Test(arguments: runs)
    func `verdicts in a run`(example: Case) throws {
        var check = ReplacementCheck(.run)
        try run(example, &check)
        #expect(check.finish(now: 1_000_100) == [])
    }

    @Test(arguments: [(2, 0, false), (3, 3, true), (3, 4, false), (9, 1, true), (9, 90, false)])
    func `at the end of a run, missing pages are restored if they are at least three and half of all`(
        gone: Int, others: Int, isRestored: Bool
    ) throws {
        var check = ReplacementCheck(.run)
        try run(
            Case("", (0..<gone).map { Step(path: "/gone/\($0)", new: "", status: $0 % 2 == 0 ? 404 : 410) }),
            &check)
        try run(Case("", (0..<others).map { Step(path: "/\($0)", stored: "same", new: "same") }), &check)
        let restored = check.finish(now: 1_000_100)
        #expect(restored.count == (isRestored ? gone : 0))
        #expect(restored.allSatisfy { $0.reason == .gone })
        #expect(check.doubtTexts(now: 1_000_100).count == restored.count)
    }

    @Test(arguments: [(1800, false), (7200, true)])
    func `a change rejected in a run is accepted in a run an hour later if the origin responds`(
        pause: Int64, isAccepted: Bool
    ) throws {
        let gone = (0..<4).map { Step(path: "/\($0)", new: "", status: 404) }
        var first = ReplacementCheck(.run)
        try run(Case("", gone), &first)
        #expect(first.finish(now: 1_000_000).count == 4)
        let doubts = first.doubtTexts(now: 1_000_000)

        var portal = ReplacementCheck(.run, doubts: doubts)
        let later = gone.map { step in
            var step = step
            step.time = pause
            return step
        }
        try run(Case("", later), &portal)
        #expect(portal.finish(now: 1_000_000 + pause).count == 4)
        #expect(portal.doubtTexts(now: 1_000_000 + pause) == doubts)

        var second = ReplacementCheck(.run, doubts: doubts)
        let proof = Step(path: "/", time: pause, stored: "same", new: "same")
        try run(Case("", [proof] + later), &second)
        #expect(second.finish(now: 1_000_000 + pause).count == (isAccepted ? 0 : 4))
    }

    @Test func `malformed doubts are ignored`() {
        let check = ReplacementCheck(.run, doubts: ["", "x 1 gone", "1 1 unknown", "ff 12 gone"])
        #expect(check.doubtTexts(now: 100) == ["ff 12 gone"])
    }
}
