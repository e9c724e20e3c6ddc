import Testing
import Web

@testable import Serve

/// Everything that somebody else wrote, where it could do harm.
@Suite struct PortalEscapingTests {
    private static let bad = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&amp;\u{202E}\u{0}\u{1b}"
    private static let href = "https://example.test/a'b?%22%3E=\"<script>'&q=<b>"

    @Test(arguments: [
        "/", "/-/sites/1", "/-/sites/1/pages?under=https://example.test/", "/-/sites/1/missing",
        "/-/sites/1/missing?kind=pages", "/-/search?q=script", "/-/search?q=example", "/-/scripts",
        PortalLinks().details(href),
        "/-/search?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E", "/-/sites/1/pages?under=%22%3E%3Cscript%3E",
        "/-/page?url=https://example.test/%22%3E%3Cscript%3E", "/%22%3E%3Cscript%3E", "/\"><script>alert(1)</script>",
        "/-/sites/1/search?q='%22%3E&after=a.%22%3E%3Cscript%3E", "/-/sites/1/changes?from=%22%3E%3Cscript%3E",
    ])
    func `nothing of it becomes markup`(target: String) throws {
        let url = try #require(WebURL(Self.href))
        let shelf = try PortalShelf([
            .init(
                href: "https://example.test/", title: Self.bad, type: Self.bad, fields: "X\(Self.bad): \(Self.bad)\r\n",
                pages: [url.href, "https://x.test/\"><script>"], requisites: ["https://x.test/'\"><script>"]),
            .init(
                href: url.href, title: Self.bad, text: "1", role: 1, type: "text/javascript", form: "javaScript;utf-8"),
        ])
        let page = try shelf.get(target)
        for mark in [
            "<script", "<img src=x", "<b>", "onerror=alert(1)>", "\u{0}", "\u{1b}", "\u{202E}", "&amp;amp;amp;",
        ] {
            #expect(!page.body.contains(mark), "\(mark)")
        }
        // Quotes stand in markup of ours only: every tag is one that a strict reader takes.
        #expect(Self.isWellFormed(page.body))
        // JSON says the same without being markup.
        _ = try shelf.get(target + (target.contains("?") ? "&" : "?") + "format=json").json()
    }

    /// Tags as this writer writes them: names of letters, values between double quotes, nothing else.
    private static func isWellFormed(_ html: String) -> Bool {
        var rest = html.dropFirst("<!doctype html>".count)
        var open: [Substring] = []
        while let start = rest.firstIndex(of: "<") {
            rest = rest[start...].dropFirst()
            let isEnd = rest.first == "/"
            if isEnd { rest = rest.dropFirst() }
            let name = rest.prefix { $0.isLetter || $0.isNumber }
            guard !name.isEmpty else { return false }
            rest = rest.dropFirst(name.count)
            while rest.first == " " {
                rest = rest.dropFirst()
                let attribute = rest.prefix { $0.isLetter || $0 == "-" }
                rest = rest.dropFirst(attribute.count)
                guard !attribute.isEmpty, !attribute.hasPrefix("on"), rest.hasPrefix("=\""),
                    let end = rest.dropFirst(2).firstIndex(of: "\"")
                else { return false }
                rest = rest[end...].dropFirst()
            }
            guard rest.first == ">" else { return false }
            rest = rest.dropFirst()
            if ["meta", "link", "input", "img", "wbr"].contains(name) { continue }
            if isEnd {
                guard open.popLast() == name else { return false }
            } else {
                open.append(name)
            }
        }
        return open.isEmpty
    }

    @Test(arguments: [
        ("javascript:alert(1)", false), ("data:text/html,x", false), ("//evil.test/", false), ("", false),
        ("/-/search", true), ("https://example.test/", true), ("http://a.test/", true), ("file:///etc/passwd", false),
    ])
    func `only what leads to a page becomes a link`(address: String, isLink: Bool) {
        var html = HTMLWriter()
        html.link(address, text: "x")
        #expect(String(decoding: html.bytes, as: UTF8.self) == (isLink ? "<a href=\"\(address)\">x</a>" : "x"))
    }

    @Test(arguments: [
        ("a title", "a title"), ("Grüße, 日本語 👩‍👩‍👧", "Grüße, 日本語 👩‍👩‍👧"), ("\u{1B}]0;mine\u{07}", "\\u001b]0;mine\\u0007"),
        ("invoice\u{202E}fdp.exe", "invoice\\u202efdp.exe"), ("\u{2066}x\u{2069}\u{200F}", "\\u2066x\\u2069\\u200f"),
        ("\u{9B}31m\u{85}", "\\u009b31m\\u0085"), ("a\u{2028}b\r", "a\\u2028b\\u000d"),
    ])
    func `control characters of titles and header fields are shown, and do nothing`(text: String, shown: String) throws
    {
        let shelf = try PortalShelf([
            .init(href: "https://example.test/", title: text, fields: "X-A: \(text)\r\n")
        ])
        let details = PortalLinks().details("https://example.test/")
        for target in ["/", "/-/sites/1", details, "/-/sites/1/pages?under=https://example.test/"] {
            let body = try shelf.get(target).body
            #expect(body.contains(shown), "\(target)")
            #expect(shown == text || !body.contains(text), "\(target)")
        }
    }

    @Test(arguments: [
        ("https://a.test/b/c?d&e", "https://a.test/<wbr>b/<wbr>c?<wbr>d&amp;<wbr>e"), ("", ""), ("/", "/"),
        ("//", "//"), ("a//b", "a//b"), ("https://", "https://"), ("/a", "/a"), ("é/ü", "é/<wbr>ü"),
    ])
    func `an address may be broken behind its slashes`(address: String, expected: String) {
        var html = HTMLWriter()
        html.address(address)
        #expect(String(decoding: html.bytes, as: UTF8.self) == "<bdi>\(expected)</bdi>")
    }
}
