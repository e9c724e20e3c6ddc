import Check
import Testing
import Web

@Suite struct TUFUpdaterTests {
    @Test(arguments: [
        ("https://a.test", "https://a.test/"), ("https://a.test/m/", "https://a.test/m/"),
        ("https://a.test/m", "https://a.test/m/"), ("https://a.test/m?a=b", "https://a.test/m/"),
        ("https://a.test/m/?a=b", "https://a.test/m/"), ("https://a.test/m?a=b/", "https://a.test/m/"),
        ("https://a.test/m?", "https://a.test/m/"), ("https://a.test/m#a?b", "https://a.test/m/"),
        ("https://a.test/m/?a#b", "https://a.test/m/"),
    ])
    func `metadata is below the path of the repository's URL, whatever its query`(
        _ text: String, _ folder: String
    )
        throws
    {
        let url = try #require(WebURL(text)).folder
        #expect(url.href == folder)
        #expect(WebURL("./timestamp.json", base: url)?.href == folder + "timestamp.json")
    }
}
