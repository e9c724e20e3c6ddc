import Store
import Testing

@testable import Serve

@Suite struct PortalValuesTests {
    @Test(arguments: [
        ("/a?q=x+y%20z", "/a", "x y z"), ("/a", "/a", nil), ("/a?", "/a", nil), ("/a?q", "/a", nil),
        ("/a?q=", "/a", nil),
        ("/a?q=1&q=2", "/a", "1"), ("/?q=%", "/", "%"), ("/?q=%4", "/", "%4"), ("/?q=%zz", "/", "%zz"),
        ("/?q=%FF", "/", "\u{FFFD}"), ("/?q=a=b", "/", "a=b"), ("/?%71=x", "/", "x"), ("/?x&&q=1", "/", "1"),
        ("", "", nil),
    ])
    func `a form's fields are read`(target: String, path: String, words: String?) {
        let request = PortalRequest(target: target)
        #expect(request.path == path)
        #expect(request["q"] == words)
    }

    @Test func `fields have an end, and so have their number`() {
        let long = PortalRequest(target: "/?q=" + String(repeating: "%41", count: 100_000))
        #expect(long["q"]?.count == PortalRequest.longestField)
        let many = PortalRequest(target: "/?" + String(repeating: "a=1&", count: 1000) + "q=1")
        #expect(many["q"] == nil)
    }

    @Test(arguments: [
        "plain", "a b", "a&b=c", "50%", "ä☕", "'\"<>", "https://e.test/?a=b&c#d", "+", "\u{0}",
    ])
    func `what a link carries is what the request says`(words: String) {
        let links = PortalLinks()
        #expect(PortalRequest(target: links.search(words, in: nil))["q"] == words)
        #expect(PortalRequest(target: links.details(words))["url"] == words)
        #expect(PortalRequest(target: links.folder(words, of: 1, after: words))["after"] == words)
    }

    @Test(arguments: [
        (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1049, "1.0 kB"), (99_949, "99.9 kB"), (99_950, "100 kB"),
        (999_499, "999 kB"), (999_500, "1.0 MB"), (55_000_000, "55.0 MB"), (Int64.max, "9223372 TB"),
    ])
    func `sizes are short`(bytes: Int64, words: String) {
        #expect(Wording.bytes(bytes) == words)
    }

    @Test(arguments: [
        (-5, "in the future"), (0, "just now"), (59, "just now"), (60, "1 minute ago"), (119, "1 minute ago"),
        (120, "2 minutes ago"), (7199, "119 minutes ago"), (7200, "2 hours ago"), (172_800, "2 days ago"),
        (1_209_600, "2 weeks ago"), (5_184_000, "2 months ago"), (63_072_000, "2 years ago"),
    ])
    func `ages are in words`(seconds: Int64, words: String) {
        #expect(Wording.age(seconds) == words)
    }

    @Test(arguments: [
        (0, "1 Jan 1970, 00:00 UTC"), (1_800_000_000, "15 Jan 2027, 08:00 UTC"), (Int64.min, "1 Jan 0001, 00:00 UTC"),
    ])
    func `moments name the day`(seconds: Int64, words: String) {
        #expect(Wording.moment(seconds) == words)
    }

    @Test(arguments: [("abc", 3, "abc"), ("abcd", 3, "abc…"), ("aéé", 3, "aé…"), ("aéé", 2, "a…"), ("", 0, "")])
    func `a cut falls between characters`(text: String, byteCount: Int, cut: String) {
        #expect(Wording.cut(text, to: byteCount).unicodeScalars.allSatisfy { $0 != "\u{FFFD}" })
        if text != "aéé" || byteCount == 2 { #expect(Wording.cut(text, to: byteCount) == cut) }
    }

    @Test(arguments: [
        ("https://a.test/b/c", "https://a.test/", "https://a.test/b/"), ("https://a.test/b", "https://a.test/", nil),
        ("https://a.test/?x=/b/", "https://a.test/", nil), ("https://a.test/b", "", "https://a.test/"),
        ("https://a.test/b/", "https://a.test/b/", nil), ("https://a.test//c", "https://a.test/", "https://a.test//"),
        ("odd", "", nil), ("", "longer", nil),
    ])
    func `a folder is a prefix and one more part`(href: String, prefix: String, folder: String?) {
        #expect(FolderWalk.folder(of: href, below: prefix) == folder)
    }

    @Test(arguments: ["t.1.2", "a.https://a.test/?x", "a.", "t.0.0"])
    func `a search's place is read as it was written`(text: String) {
        #expect(SearchPlace(text: text)?.text == text)
    }

    @Test(arguments: ["", "t", "t.", "t.1", "t.1.2.3", "t.-1.2", "t.9223372036854775807.1", "x.1.2", "t.a.b"])
    func `what is no place is none`(text: String) {
        #expect(SearchPlace(text: text) == nil)
    }
}
