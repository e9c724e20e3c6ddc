import Reports
import Store
import Testing

@Suite struct SiteNameTests {
    private static let names = [
        "http://127.0.0.1:8801/shop/", "http://127.0.0.1:8802/", "https://example.com/docs/",
        "https://wiki.test/a/", "https://wiki.test/b/", "bundles",
    ]

    private static let namesOfSites: [(String, Int?)] = [
        ("http://127.0.0.1:8801/shop/", 0), ("127.0.0.1:8801/shop/", 0), ("127.0.0.1:8801", 0),
        ("127.0.0.1:8802", 1), ("example.com", 2), ("example.com:443", 2), ("bundles", 5),
        // Ambiguous names, and names without a site.
        ("127.0.0.1", nil), ("wiki.test", nil), ("wiki.test:443", nil), ("127.0.0.1:8803", nil),
        ("example.com:80", nil), ("http://127.0.0.1:8801/", nil), ("https://example.com/", nil),
    ]

    @Test(arguments: namesOfSites)
    func `a site is found by its name, URL, host, or host and port, if only one site matches`(
        text: String, place: Int?
    ) {
        #expect(SiteName.index(of: text, among: Self.names) == place)
    }

    @Test func `a host names the site at its root if further sites start on it`() {
        let names = ["http://news.test/", "http://news.test/a", "http://news.test/b/"]
        #expect(SiteName.index(of: "news.test", among: names) == 0)
        #expect(SiteName.index(of: "news.test:80", among: names) == 0)
        // Addresses without a scheme mean https, as in browsers.
        #expect(SiteName.index(of: "news.test", among: names + ["https://news.test/"]) == 3)
        #expect(SiteName.split("news.test@2", among: names).site == "news.test")
    }

    @Test(arguments: [
        (
            "wiki.test",
            "several sites start on this host; name one of them: https://wiki.test/a/, or https://wiki.test/b/"
        ),
        ("127.0.0.1:8802/page", "may be one of its pages; name the site: http://127.0.0.1:8802/"),
        ("plain.test/page", "may be one of its pages; name the site: http://plain.test/"),
        ("elsewhere.test", "it is not stored; the stored sites are: "),
        ("plian.test", "it is not stored; did you mean plain.test? the stored sites are: "),
    ])
    func `the error of an unknown site names the sites that may be meant`(text: String, message: String) {
        let names = Self.names + ["http://plain.test/"]
        #expect(SiteName.unknownSiteError(text, among: names).description.contains(message))
    }

    private static let origins: [(String, Int?)] = [
        ("http://127.0.0.1:8801/", 0), ("http://127.0.0.1:8801", 0), ("https://example.com/", 2),
        ("127.0.0.1:8801", 0), ("https://wiki.test/", nil), ("http://example.com/", nil),
        ("https://example.com/other/", nil),
    ]

    @Test(arguments: origins)
    func `a command that only reads also finds the only site on an origin by the URL of the origin`(
        text: String, place: Int?
    ) {
        #expect(SiteName.index(of: text, among: Self.names, acceptsOrigin: true) == place)
    }

    @Test(arguments: [
        (
            "127.0.0.1:8801",
            "needs the whole name of the site; to remove it: larder remove http://127.0.0.1:8801/shop/"
        ),
        (
            "https://wiki.test/",
            "to remove it: larder remove https://wiki.test/a/, or larder remove https://wiki.test/b/"
        ),
        ("elsewhere.test", "it is not stored; the stored sites are: "),
    ])
    func `the error of a removal says which name is needed`(text: String, message: String) {
        #expect(SiteName.notRemovableError(text, among: Self.names).description.contains(message))
    }
}
