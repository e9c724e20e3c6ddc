import Reports
import Testing
import Web

@testable import Check

@Suite struct LinkFragmentTests {
    @Test(
        arguments: [
            ("installation", "installation", []),
            ("", "", []),
            (":~:text=on%20Debian", "", ["on%20Debian"]),
            ("installation:~:text=on%20Debian", "installation", ["on%20Debian"]),
            (":~:text=a-,b,c,-d&text=e", "", ["a-,b,c,-d", "e"]),
            (":~:other=x&text=a", "", ["a"]),
            ("a:~:", "a", []),
            ("a:~b", "a:~b", []),
        ] as [(String, String, [String])])
    func `a fragment has a name and text directives`(text: String, name: String, directives: [String]) {
        let fragment = LinkFragment(text)
        #expect(fragment.name == name)
        #expect(fragment.directives == directives)
    }

    @Test(arguments: [
        ("/settings", true), ("!page", true), ("!/page", true), ("/", true), ("/a:~:text=b", true),
        ("", false), ("a/b", false), ("page!", false), (":~:text=/a", false),
    ])
    func `a fragment with a slash or exclamation mark first is a route`(text: String, isRoute: Bool) {
        #expect(LinkFragment(text).isRoute == isRoute)
    }

    @Test(
        arguments: [
            ("L10-L20", ["L10", "L20"]), ("100-102", ["100", "102"]), ("L10", nil), ("L10-", nil),
            ("-5", nil), ("step-1", nil),
            ("1-2-3", nil), ("a-b", nil),
        ] as [(String, [String]?)])
    func `a range of lines has two ends that are numbers`(text: String, ends: [String]?) {
        #expect(LinkFragment(text).rangeEnds.map { [$0.first, $0.last] } == ends)
    }

    @Test(arguments: [
        // Case and white space make no difference.
        ("text=Install%20the%20package", true), ("text=INSTALL%20THE%20package", true),
        ("text=on%20debian", true),
        ("text=getting%20started", true), ("text=%20on%20%20Debian%20", true), ("text=CAF%C3%89", true),
        ("text=Fedora", false), ("text=Install%20package", false), ("text=start()", false),
        // The start and the end of a range.
        ("text=Install,Debian", true), ("text=Debian,Install", false), ("text=Install,Fedora", false),
        // The text before and after.
        ("text=the-,package", true), ("text=package,-on%20Debian", true),
        ("text=the-,package,larder,-at", true),
        ("text=run-,package", false), ("text=package,-Install", false), ("text=Fedora-,package", false),
        // Commas and hyphens in texts are encoded.
        ("text=Debian%2C%20then", true), ("text=well%2Dknown", true),
        // One of several is enough.
        ("text=Fedora&text=Debian", true), ("text=Fedora&text=Arch", false),
    ])
    func `the text of a directive is looked up in the document`(directive: String, isFound: Bool) throws {
        let page = """
            <!doctype html><meta charset=utf-8><title>t</title><h1>Getting   Started</h1>
            <p>Install the <b>package</b> on
            Debian, then run larder at a well-known café.</p><script>start()</script>
            """
        let document = LinkDocument(name: "a.html", url: try #require(WebURL("https://a.test/a.html")))
        let text = LinkFragment.searchableText(of: document, Array(page.utf8).span)
        #expect(LinkFragment(":~:" + directive).isTextFound(in: text) == isFound)
    }

    @Test(arguments: [
        ("team", "a.html has no element with the id \"team\""),
        ("caf%C3%A9", "a.html has no element with the id \"café\""),
        (":~:text=team", "a.html does not contain the text"),
    ])
    func `the reason names the id or the text`(fragment: String, reason: String) {
        #expect(LinkFragment(fragment).missingText(in: "a.html") == reason)
    }
}

@Suite struct OtherSchemeTests {
    @Test(arguments: [
        "mailto:info@example.com", "mailto:first.last+tag@mail.example.co.uk", "mailto:o%27neil@example.com",
        "mailto:info@example.com?subject=Hello%20you&body=a@b@c", "mailto:a@example.com,b@example.org",
        "mailto:root@localhost", "mailto:jos%C3%A9@example.com", "mailto:a@xn--bcher-kva.example",
        "mailto:?to=info@example.com", "mailto:?subject=Look",
        "tel:+49-30-123456", "javascript:void(0)", "data:text/plain,a", "ftp://example.com/",
    ])
    func `a link of another scheme with valid syntax is verified`(text: String) throws {
        let url = try #require(WebURL(text))
        let result = try #require(OtherScheme.judge(url))
        #expect(result.verdict == .verified)
        #expect(result.detail == "")
    }

    @Test(arguments: [
        ("mailto:", ""), ("mailto:info", "info"), ("mailto:info@", "info@"),
        ("mailto:@example.com", "@example.com"),
        ("mailto:info@example", "info@example"), ("mailto:a@b@example.com", "a@b@example.com"),
        ("mailto:a%20b@example.com", "a b@example.com"), ("mailto:.a@example.com", ".a@example.com"),
        ("mailto:a.@example.com", "a.@example.com"), ("mailto:a@example.com,", ""),
        ("mailto:a@example.com,b", "b"),
        ("mailto:a@example.com;b@example.com", "a@example.com;b@example.com"),
        ("mailto:info@exam%20ple.com", "info@exam ple.com"),
        ("mailto:info@example.com:80", "info@example.com:80"),
        ("mailto:info@example.com/contact", "info@example.com/contact"),
        ("mailto:https://example.com/", "https://example.com/"),
    ])
    func `an invalid e-mail address is dead`(text: String, address: String) throws {
        let url = try #require(WebURL(text))
        let result = try #require(OtherScheme.judge(url))
        #expect(result.verdict == .dead)
        #expect(result.detail == "\"\(address)\" is not an e-mail address")
    }
}
