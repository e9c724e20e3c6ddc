import Testing
import Web

@Suite("WebURL")
struct WebURLTests {
    @Test(
        "an input has the expected serialization",
        arguments: [
            ("https://example.com", "https://example.com/"),
            (
                "  HTTP://User:Pa%20ss@EXAMPLE.com:80/a b?c d#e f \n",
                "http://User:Pa%20ss@example.com/a%20b?c%20d#e%20f"
            ),
            ("http://a@b:c@d/", "http://a%40b:c@d/"),
            ("https://@example.com:443", "https://example.com/"),
            ("https://ex\tam\nple.com/\ra", "https://example.com/a"),
            ("http:\\\\example.com\\a\\..\\b", "http://example.com/b"),
            ("http:example.com", "http://example.com/"),
            ("http://example.com/a/./b/%2e%2E/c/..", "http://example.com/a/"),
            ("http://example.com/%2e./%2e", "http://example.com/"),
            ("http://0x7f.1/", "http://127.0.0.1/"),
            ("http://017700000001", "http://127.0.0.1/"),
            ("http://4294967295./", "http://255.255.255.255/"),
            ("http://[2001:DB8:0:0:1:0:0:1]:8080/", "http://[2001:db8::1:0:0:1]:8080/"),
            ("http://[::ffff:1.2.3.4]/", "http://[::ffff:102:304]/"),
            ("http://[1:0:3:4:5:6:7:8]/", "http://[1:0:3:4:5:6:7:8]/"),
            ("http://B%C3%BCcher.de/", "http://xn--bcher-kva.de/"),
            ("http://☕.us/", "http://xn--53h.us/"),
            ("http://fuß.de/", "http://xn--fu-hia.de/"),
            ("http://xn--a.example/", "http://xn--a.example/"),
            ("file:C|/a", "file:///C:/a"),
            ("file://localhost/a", "file:///a"),
            ("file:///C:/../../a", "file:///C:/a"),
            ("mailto:a@example.com?subject=a b", "mailto:a@example.com?subject=a%20b"),
            ("data:text/plain,a b  #c", "data:text/plain,a b %20#c"),
            ("foo:/.//bar", "foo:/.//bar"),
            ("foo://HOST:80?q", "foo://HOST:80?q"),
            ("http://example.com/\u{0}é?é'#é`", "http://example.com/%00%C3%A9?%C3%A9%27#%C3%A9%60"),
        ])
    func serialisation(input: String, href: String) {
        let url = WebURL(input)
        #expect(url?.href == href)
        #expect(WebURL(href) == url)
    }

    @Test(
        "an invalid input is rejected",
        arguments: [
            "", "a", "//a/b", "http://", "http:///", "https://a b/", "https://a<b", "http://a:65536/",
            "http://a:b/",
            "http://@/", "http://a@", "http://a@:80", "http://:80", "http://256.256.256.256/",
            "http://1.2.3.4.5/",
            "http://0x100000000/",
            "http://[::1", "http://[1::2::3]/", "http://[12345::]/", "http://[::1.2.3]/",
            "http://[::1.2.3.04]/",
            "http://[1:2:3:4:5:6:7:8:9]/", "http://a%00b/", "http://%zz/", "http://%FF/", "http://\u{AD}/",
            "foo://a b/",
            "http://a\u{5D0}/", "http://xn--\u{E9}/",
        ])
    func failure(input: String) {
        #expect(WebURL(input) == nil)
    }

    @Test(
        "a reference resolves against a base",
        arguments: [
            ("", "http://h/a/b?q#f", "http://h/a/b?q"),
            ("#x", "http://h/a/b?q#f", "http://h/a/b?q#x"),
            ("?x", "http://h/a/b?q#f", "http://h/a/b?x"),
            ("c", "http://h/a/b?q#f", "http://h/a/c"),
            ("c?x#y", "http://h/a/b?q#f", "http://h/a/c?x#y"),
            (".", "http://h/a/b", "http://h/a/"),
            ("..", "http://h/a/b/c", "http://h/a/"),
            ("../../../c", "http://h/a/b/c", "http://h/c"),
            (".././../c/", "http://h/a/b/c", "http://h/c/"),
            ("./x/../y", "http://h/a/b/c", "http://h/a/b/y"),
            ("x/%2E%2e/y", "http://h/a/b/c", "http://h/a/b/y"),
            ("..a/.b", "http://h/a/b", "http://h/a/..a/.b"),
            ("/c", "http://u:p@h:81/a/b", "http://u:p@h:81/c"),
            ("//g/c", "https://u:p@h:81/a/b", "https://g/c"),
            ("\\\\g\\c", "https://h/a/b", "https://g/c"),
            ("http:c", "http://h/a/b", "http://h/a/c"),
            ("https:c", "http://h/a/b", "https://c/"),
            ("a:b", "http://h/a/b", "a:b"),
            ("./a:b", "http://h/a/b", "http://h/a/a:b"),
            ("1:b", "http://h/a/b", "http://h/a/1:b"),
            ("#x", "data:text/html,y", "data:text/html,y#x"),
            ("c", "file:///C:/a/b", "file:///C:/a/c"),
            ("/c", "file:///C:/a/b", "file:///C:/c"),
            ("D:/c", "file:///C:/a/b", "d:/c"),
            ("D|/c", "file:///C:/a/b", "file:///D:/c"),
            ("..", "foo://h", "foo://h/"),
            ("x", "foo:/a/b", "foo:/a/x"),
            ("..//x", "foo:/a/b", "foo:/.//x"),
        ])
    func resolution(reference: String, base: String, href: String) {
        #expect(WebURL(reference, base: WebURL(base))?.href == href)
    }

    @Test(
        "a relative reference cannot be resolved against an opaque path",
        arguments: ["", "a", "/a", "//a", "?a"])
    func opaqueBase(reference: String) {
        #expect(WebURL(reference, base: WebURL("mailto:a@example.com")) == nil)
    }

    @Test("a URL has its components")
    func parts() throws {
        let url = try #require(WebURL("https://user:word@example.com:8443/a/b?q#f"))
        #expect(url.scheme == "https")
        #expect(url.isHTTP)
        #expect(url.username == "user")
        #expect(url.password == "word")
        #expect(url.hasCredentials)
        #expect(url.host == "example.com")
        #expect(url.port == 8443)
        #expect(url.effectivePort == 8443)
        #expect(url.path == "/a/b")
        #expect(url.query == "q")
        #expect(url.fragment == "f")
        #expect(url.target == "/a/b?q")
        #expect(url.origin == "https://example.com:8443")
        #expect(url.withoutFragment.href == "https://user:word@example.com:8443/a/b?q")
        #expect(url.withoutFragment.fragment == nil)

        let bare = url.withoutCredentials
        #expect(bare.href == "https://example.com:8443/a/b?q#f")
        #expect(!bare.hasCredentials)
        #expect([bare.host, bare.path, bare.query, bare.fragment] == ["example.com", "/a/b", "q", "f"])
        #expect(bare.port == 8443)
    }

    @Test("a missing component differs from an empty one")
    func emptyParts() throws {
        let full = try #require(WebURL("http://h/?#"))
        #expect(full.query == "")
        #expect(full.fragment == "")
        let none = try #require(WebURL("http://h/"))
        #expect(none.query == nil)
        #expect(none.fragment == nil)
        #expect(none.port == nil)
        #expect(none.effectivePort == 80)
        #expect(full.withoutFragment.href == "http://h/?")
        #expect(full != none)
    }

    @Test(
        "an origin is serialized, or opaque",
        arguments: [
            ("https://u@example.com:8443/", "https://example.com:8443"),
            ("https://example.com:443/", "https://example.com"),
            ("file:///a", "null"), ("data:,a", "null"),
            ("blob:https://example.com/1-2", "https://example.com"),
            ("blob:data:,a", "null"),
        ])
    func origin(input: String, origin: String) {
        #expect(WebURL(input)?.origin == origin)
    }

    @Test("the key of a URL has no fragment")
    func hashing() throws {
        let first = try #require(WebURL("http://H/a#x")).withoutFragment
        let second = try #require(WebURL("http://h/b/../a"))
        #expect(Set([first, second]).count == 1)
    }

    @Test("malformed UTF-8 is read as U+FFFD")
    func malformed() {
        let bytes = Array("http://h/a".utf8) + [0xFF, 0xE2, 0x82] + Array("?b".utf8)
        #expect(WebURL(utf8: bytes.span)?.href == "http://h/a%EF%BF%BD%EF%BF%BD?b")
    }

    @Test(
        "only the query is encoded in the document's character set",
        arguments: [
            (TextEncoding.windows1252, "http://h/é?é–ж#é", "http://h/%C3%A9?%E9%96%26%231078%3B#%C3%A9"),
            (.shiftJIS, "http://h/?日'", "http://h/?%93%FA%27"),
            (.utf16le, "http://h/?é", "http://h/?%C3%A9"),
            (.windows1252, "ws://h/?é", "ws://h/?%C3%A9"),
            (.windows1252, "foo://h/?é", "foo://h/?%C3%A9"),
            (.iso2022JP, "http://h/?日a", "http://h/?%1B$BF|%1B(Ba"),
        ] as [(TextEncoding, String, String)])
    func queryEncoding(encoding: TextEncoding, input: String, href: String) {
        #expect(WebURL(utf8: input.utf8.span, queryEncoding: encoding)?.href == href)
    }

    @Test("a domain that grows much in its ASCII form is still converted")
    func growth() {
        let host = WebURL("http://" + String(repeating: "\u{3316}", count: 100))?.host
        #expect(host?.hasPrefix("xn--") == true)
    }

    @Test("resolving many ../ takes linear time")
    func climbing() {
        let path = String(repeating: "a/", count: 200_000) + String(repeating: "../", count: 200_000)
        #expect(WebURL("http://h/ /" + path)?.href == "http://h/%20/")
        #expect(WebURL(path, base: WebURL("foo://h/"))?.href == "foo://h/")
    }

    @Test("an input over the size limit is rejected")
    func length() {
        let long = "http://h/" + String(repeating: "a", count: WebURL.maxBytes)
        #expect(WebURL(long) == nil)
        #expect(WebURL("http://" + String(repeating: "é", count: 100_000)) == nil)
        #expect(
            WebURL(String(repeating: "a/../", count: 100_000), base: WebURL("http://h/"))?.href == "http://h/"
        )
    }
}
