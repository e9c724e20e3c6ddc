import Testing

@testable import Crawl

@Suite struct PerRequestValuesTests {
    /// The times of the two responses.
    private static let before: Int64 = 1_732_800_000
    private static let after: Int64 = 1_732_886_400

    private func areOnlyDifference(_ stored: String, _ new: String) -> Bool {
        PerRequestValues.areOnlyDifference(
            between: .init(body: Array(stored.utf8), time: Self.before),
            and: .init(body: Array(new.utf8), time: Self.after))
    }

    private static let samePages: [(String, String)] = [
        // Rails, Django, Laravel, DokuWiki, Symfony, Moodle.
        (
            #"<meta name="csrf-token" content="q7XwPz/81+aaBBcc09==" />"#,
            #"<meta name="csrf-token" content="Zk0pQ1+mm/zzYYxx17==" />"#
        ),
        (
            #"<input type="hidden" name="csrfmiddlewaretoken" value="aB3dE5fG7hI9">"#,
            #"<input type="hidden" name="csrfmiddlewaretoken" value="zY8xW6vU4tS2">"#
        ),
        (
            #"<input value="eyJpdiI6Ik5" name="_token" type="hidden">"#,
            #"<input value="eyJpdiI6Imw0bb" name="_token" type="hidden">"#
        ),
        (
            #"<input type="hidden" name="sectok" value="0123456789abcdef0123456789abcdef" />"#,
            #"<input type="hidden" name="sectok" value="fedcba9876543210fedcba9876543210" />"#
        ),
        (
            #"<script>M.cfg = {"wwwroot":"https:\/\/a","sesskey":"Qw3rTy9uIo"};</script>"#,
            #"<script>M.cfg = {"wwwroot":"https:\/\/a","sesskey":"Zx8cVb2nMm"};</script>"#
        ),
        // The state of a form in ASP.NET.
        (
            #"<input type="hidden" name="__VIEWSTATE" id="__VIEWSTATE" value="/wEPDwUKMTY1NDU2MTA1Mg==" />"#,
            #"<input type="hidden" name="__VIEWSTATE" id="__VIEWSTATE" value="/wEPDwUKLTEwMzQ1Njc4OQ==" />"#
        ),
        // WordPress and content security policies.
        (
            #"<script>var api = {"root":"\/wp-json\/","nonce":"a1b2c3d4e5"};</script>"#,
            #"<script>var api = {"root":"\/wp-json\/","nonce":"f6a7b8c9d0"};</script>"#
        ),
        (
            #"<script nonce="r4nd0mR4nd0m">run()</script>"#,
            #"<script nonce="0th3r0th3r12">run()</script>"#
        ),
        ("<script nonce=r4nd0mR4nd0m>run()</script>", "<script nonce=0th3r0th3r12>run()</script>"),
        (
            "<input type=hidden name=csrf value=aB3dE5fG7hI9>",
            "<input type=hidden name=csrf value=zY8xW6vU4tS2>"
        ),
        (
            #"<script>window.csrf = 'Ab12Cd34Ef'</script>"#,
            #"<script>window.csrf = 'Gh56Ij78Kl'</script>"#
        ),
        // The time of the request: in a URL, in a script in milliseconds, in an attribute.
        (
            #"<img src="/lib/exe/taskrunner.php?id=start&amp;1732800000" width="2">"#,
            #"<img src="/lib/exe/taskrunner.php?id=start&amp;1732886402" width="2">"#
        ),
        (#"<img src="/beacon.gif?t=1732800001">"#, #"<img src="/beacon.gif?t=1732886400">"#),
        ("<script>var now = 1732799999123;</script>", "<script>var now = 1732886400456;</script>"),
        ("<p>made at 1732800000.123</p>", "<p>made at 1732886400.9</p>"),
        (#"<div data-rendered="1732799000">"#, #"<div data-rendered="1732886100">"#),
        // Comments of caches and frameworks.
        ("<!-- made in 0.123 seconds, 42 queries -->", "<!-- made in 1.5 seconds, 7 queries -->"),
        ("<!-- cached on 2026-11-27 10:00:01 -->", "<!-- cached on 2026-11-28 09:15:00 -->"),
    ]

    @Test("A page that differs only in per-request values is unchanged", arguments: samePages)
    func same(_ stored: String, _ new: String) {
        func page(_ part: String) -> String {
            "<html><body><p>1732800000 apples</p>\(part)<p>The end.</p></body></html>"
        }
        #expect(areOnlyDifference(page(stored), page(new)))
        #expect(!areOnlyDifference(page(stored), page(stored)), "equal bodies have no difference")
        #expect(
            !areOnlyDifference(page(stored), page(new).replacing("apples", with: "pears")),
            "another word beside it is a change")
    }

    private static let changedPages: [(String, String)] = [
        ("<p>Five apples</p>", "<p>Six apples</p>"),
        ("<p>Five apples</p>", "<p>Five apples</p><p>More</p>"),
        ("<p>Five apples</p>", "<p>Five</p>"),
        ("", "<p>Five</p>"),
        // Versions of assets: a digest, a number, or the time of deployment.
        (#"<script src="/app.3f9ac2d1.js">"#, #"<script src="/app.77e0b1f4.js">"#),
        (#"<script nonce="a" src="Ab12Cd34Ef.js">"#, #"<script nonce="a" src="Gh56Ij78Kl.js">"#),
        (#"<link href="/style.css?v=12345678">"#, #"<link href="/style.css?v=12345679">"#),
        (#"<link href="/style.css?v=1732799700">"#, #"<link href="/style.css?v=1732886100">"#),
        (#"<script src="/token/Ab12Cd34Ef56.js">"#, #"<script src="/token/Gh56Ij78Kl90.js">"#),
        (#"<img src="/a.png?token=Ab12Cd34Ef56">"#, #"<img src="/a.png?token=Gh56Ij78Kl90">"#),
        (#"<p title="the token=Ab12Cd34Ef56 of">"#, #"<p title="the token=Gh56Ij78Kl90 of">"#),
        // Times other than those of the requests.
        ("<p>Posted at 1700000000</p>", "<p>Posted at 1700000001</p>"),
        ("<p>Posted at 1732800000</p>", "<p>Posted at 1732800000000000</p>"),
        // Words about tokens.
        ("<p>The token = Ab12Cd34Ef</p>", "<p>The token = Gh56Ij78Kl</p>"),
        (#"<p title="tokens and money">"#, #"<p title="tokens and coins">"#),
        (#"<p class="token">Ab12Cd34Ef</p>"#, #"<p class="token">Gh56Ij78Kl</p>"#),
        ("<script>let version = 'Ab12Cd34Ef'</script>", "<script>let version = 'Gh56Ij78Kl'</script>"),
        // Words in a comment, which a script may read.
        ("<!-- state: open -->", "<!-- state: closed -->"),
        ("<!-- a --> 17", "<!-- a --> 18"),
    ]

    @Test("A page with another difference has changed", arguments: changedPages)
    func changed(_ stored: String, _ new: String) {
        #expect(!areOnlyDifference(stored, new))
        #expect(!areOnlyDifference("<p>a</p>\(stored)<p>b</p>", "<p>a</p>\(new)<p>b</p>"))
    }

    @Test("A page with more than 64 different per-request values has changed")
    func many() {
        func page(_ letter: String, _ count: Int) -> String {
            (0..<count).map { "<input name=csrf value=\(letter)b3dE5fG7hI9\($0)>" }.joined()
        }
        #expect(areOnlyDifference(page("a", 64), page("b", 64)))
        #expect(!areOnlyDifference(page("a", 65), page("b", 65)))
    }

    @Test("Bodies that are cut at any place are a change, and are compared in bounds")
    func cut() {
        let whole =
            #"<!-- 1.0 --><meta name="csrf-token" content="q7XwPz/81+aaBBcc09=="><script>nonce='a1b2c3d4e5'</script>"#
        let bytes = Array(whole.utf8)
        for end in 0..<bytes.count {
            #expect(!areOnlyDifference(whole, String(decoding: bytes[..<end], as: UTF8.self)))
            #expect(!areOnlyDifference(String(decoding: bytes[..<end], as: UTF8.self), whole))
        }
    }
}
