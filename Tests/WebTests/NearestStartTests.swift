import Testing
import Web

@Suite struct NearestStartTests {
    private static let starts = [
        "https://a.test/library/json.html", "https://a.test/library/", "https://a.test/",
        "https://a.test/about",
    ]

    @Test(arguments: [
        ("https://a.test/library/zip.html", "https://a.test/library/"),
        // A misspelt name of a page that is a site of its own.
        ("https://a.test/library/jsno.html", "https://a.test/library/"),
        ("https://a.test/library/json.html", "https://a.test/library/json.html"),
        ("https://a.test/search?q=a/b", "https://a.test/"), ("https://a.test/abc", "https://a.test/"),
    ])
    func `the nearest start URL is that of the folder, and not that of a page in it`(
        href: String, start: String
    ) {
        #expect(NearestStart.index(of: Self.starts, for: href).map { Self.starts[$0] } == start)
        #expect(
            NearestStart.index(of: Self.starts.reversed(), for: href)
                == Self.starts.reversed().firstIndex(of: start))
    }

    @Test func `without start URLs there is none`() {
        #expect(NearestStart.index(of: [], for: "https://a.test/") == nil)
    }
}
