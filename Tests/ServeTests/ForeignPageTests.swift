import TestOrigin
import Testing
import Web

@testable import Serve

@Suite struct ForeignPageTests {
    private static let ours = "http://a.test.localhost:8080"

    @Test(
        arguments: [
            ([:], false),
            (["Sec-Fetch-Site": "same-origin"], false),
            (["Sec-Fetch-Site": "none", "Sec-Fetch-User": "?1"], false),
            (["Sec-Fetch-Site": "cross-site"], true),
            (["Sec-Fetch-Site": "same-site"], true),
            (["Sec-Fetch-Site": "whatever"], true),
            (["Sec-Fetch-Site": "cross-site", "Referer": "http://a.test.localhost:8080/"], false),
            (["Sec-Fetch-Site": "cross-site", "Referer": "https://a.test.localhost:8080/"], true),
            (["Sec-Fetch-Site": "cross-site", "Referer": "http://a.test.localhost:9090/"], true),
            (["Sec-Fetch-Site": "cross-site", "Referer": "https://evil.test/"], true),
            (["Sec-Fetch-Site": "same-site", "Referer": "http://localhost:3000/"], true),
            (["Sec-Fetch-Site": "cross-site", "Sec-Fetch-User": "?1", "Sec-Fetch-Dest": "document"], false),
            (["Sec-Fetch-Site": "cross-site", "Sec-Fetch-User": "?1", "Sec-Fetch-Dest": "iframe"], true),
            (["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document"], true),
            (["Origin": ours], false),
            (["Origin": "http://b.test.localhost:8080"], false),
            (["Origin": "null"], true),
            (["Origin": "https://evil.test", "Sec-Fetch-Site": "same-origin"], true),
            (["Referer": "http://localhost:8080/-/x"], false),
            (["Referer": "https://evil.test/"], true),
            (["Referer": "nonsense"], true),
        ] as [(HTTPFields, Bool)])
    func `a page from elsewhere is told by what browsers say`(fields: HTTPFields, isForeign: Bool) {
        let layout = OriginLayout(port: 8080)
        #expect(ForeignPage.asks(fields, authority: "b.test.localhost:8080", layout: layout) == isForeign)
    }

    @Test func `with a site at the root only the name that it is asked by is ours`() throws {
        let layout = OriginLayout(port: 8080, root: WebURL("https://a.test/").flatMap(RootOrigin.init))
        func asks(_ origin: String) -> Bool {
            ForeignPage.asks(["Origin": origin], authority: "192.0.2.1:8080", layout: layout)
        }
        #expect(!asks("http://192.0.2.1:8080"))
        #expect(asks("http://b.localhost:8080"))
        #expect(asks("http://192.0.2.1"))
    }
}
