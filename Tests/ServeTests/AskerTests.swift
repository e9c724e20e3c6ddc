import Store
import TestOrigin
import Testing
import Web

@testable import Serve

@Suite struct AskerTests {
    /// To hosts of plain http a browser does not say whose page asks.
    @Test(
        arguments: [
            (["User-Agent": "curl/8"], "person"), ([:], "person"),
            (["User-Agent": "Mozilla/5.0 X", "Upgrade-Insecure-Requests": "1"], "person"),
            (["User-Agent": "Mozilla/5.0 X", "Accept": "image/avif,*/*"], "outside"),
            (["User-Agent": "Mozilla/5.0 X"], "outside"),
            (
                ["User-Agent": "Mozilla/5.0 X", "Upgrade-Insecure-Requests": "1", "Origin": "null"],
                "outside"
            ), (["Origin": "null"], "outside"),
            (["User-Agent": "Mozilla/5.0 X", "Referer": "http://a.test/x"], "a"),
            (["User-Agent": "Mozilla/5.0 X", "Sec-Fetch-Site": "none"], "person"),
        ] as [(HTTPFields, String)])
    func `who asks a proxy is told by what browsers say, and do not say`(fields: HTTPFields, kind: String) {
        let asker = Asker(ofProxy: fields, asking: WebURL("http://b.test/"))
        let told: String =
            switch asker.kind {
            case .person: "person"
            case .page(let origins): origins == ["http://a.test"] ? "a" : "\(origins)"
            case .portal, .led: "?"
            case .outside: "outside"
            }
        #expect(told == kind)
    }

    @Test(
        arguments: [
            ([:], "person"),
            (["Sec-Fetch-Site": "same-origin"], "b"),
            (["Sec-Fetch-Site": "none", "Sec-Fetch-User": "?1"], "person"),
            (["Sec-Fetch-Site": "cross-site"], "outside"),
            (["Sec-Fetch-Site": "same-site"], "outside"),
            (["Sec-Fetch-Site": "whatever"], "outside"),
            (["Sec-Fetch-Site": "cross-site", "Referer": "http://a-test.localhost:8080/"], "a"),
            (["Sec-Fetch-Site": "cross-site", "Referer": "https://a-test.localhost:8080/"], "outside"),
            (["Sec-Fetch-Site": "cross-site", "Referer": "http://a-test.localhost:9090/"], "outside"),
            (["Sec-Fetch-Site": "cross-site", "Referer": "http://a.test.localhost:8080/"], "outside"),
            (["Sec-Fetch-Site": "cross-site", "Referer": "https://evil.test/"], "outside"),
            (["Sec-Fetch-Site": "same-site", "Referer": "http://localhost:3000/"], "outside"),
            (["Origin": "http://a-test.localhost:8080"], "a"),
            (["Origin": "http://b-test.localhost:8080"], "b"),
            (["Origin": "http://localhost:8080"], "portal"),
            (["Origin": "null"], "outside"),
            (
                [
                    "Origin": "null", "Sec-Fetch-Site": "cross-site",
                    "Referer": "http://a-test.localhost:8080/",
                ], "a"
            ),
            (["Origin": "http://a-test.localhost:8080/"], "outside"),
            (["Origin": "https://evil.test", "Sec-Fetch-Site": "same-origin"], "outside"),
            (["Origin": "https://evil.test", "Referer": "http://a-test.localhost:8080/"], "outside"),
            (["Referer": "http://localhost:8080/-/x"], "portal"),
            (["Referer": "https://evil.test/"], "outside"),
            (["Referer": "nonsense"], "outside"),
        ] as [(HTTPFields, String)])
    func `who asks is told by what browsers say`(fields: HTTPFields, kind: String) {
        let asker = Asker(fields, authority: "b-test.localhost:8080", layout: OriginLayout(port: 8080))
        let known: [String: Asker.Kind] = [
            "person": .person, "outside": .outside, "portal": .portal,
            "a": .page(["https://a.test", "http://a.test"]), "b": .page(["https://b.test", "http://b.test"]),
        ]
        #expect(asker.kind == known[kind])
    }

    @Test(
        arguments: [
            (["Sec-Fetch-Site": "cross-site", "Sec-Fetch-User": "?1", "Sec-Fetch-Dest": "document"], true),
            (["Sec-Fetch-Site": "cross-site", "Sec-Fetch-User": "?1", "Sec-Fetch-Dest": "iframe"], false),
            (["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document"], false),
            (["Sec-Fetch-Site": "none"], true),
            (["Sec-Fetch-Site": "cross-site", "Referer": "http://a-test.localhost:8080/"], true),
        ] as [(HTTPFields, Bool)])
    func `a page from elsewhere has nobody asked, unless a person followed its link`(
        fields: HTTPFields, mayHaveAsked: Bool
    ) {
        let asker = Asker(fields, authority: "b-test.localhost:8080", layout: OriginLayout(port: 8080))
        #expect(asker.mayHaveAsked == mayHaveAsked)
    }

    @Test(
        arguments: [
            (["Origin": "http://192.0.2.1:8080"], ["https://a.test", "http://a.test"]),
            (["Origin": "http://b.localhost:8080"], []),
            (["Origin": "http://192.0.2.1"], []),
            (["Sec-Fetch-Site": "same-origin"], ["https://a.test", "http://a.test"]),
            (
                ["Origin": "null", "Referer": "http://192.0.2.1:8080/-/web/https/b.test/x"],
                ["https://b.test", "http://b.test"]
            ),
            (["Origin": "null", "Referer": "http://192.0.2.1:8080/-/web/nonsense"], []),
            (["Origin": "null"], []),
        ] as [(HTTPFields, [String])])
    func `beside a site at the root a page is known by its path`(fields: HTTPFields, origins: [String]) throws
    {
        let layout = OriginLayout(port: 8080, root: WebURL("https://a.test/").flatMap(RootOrigin.init))
        #expect(Asker(fields, authority: "192.0.2.1:8080", layout: layout).origins == origins)
    }

    @Test(
        arguments: [
            // A page of the other site, its own, a neighbour, a sandboxed one, nobody's, and one from
            // elsewhere.
            (
                [
                    "Origin": "http://a-test.localhost:8080", "Referer": "http://a-test.localhost:8080/p",
                    "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors",
                ],
                [
                    "Origin": "https://a.test", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors",
                    "Referer": "https://a.test/",
                ]
            ),
            (
                ["Referer": "http://b-test.localhost:8080/p", "Sec-Fetch-Site": "same-origin"],
                ["Sec-Fetch-Site": "same-origin", "Referer": "https://b.test/"]
            ),
            (
                ["Referer": "http://www.b-test.localhost:8080/p", "Sec-Fetch-Site": "same-site"],
                ["Sec-Fetch-Site": "same-site", "Referer": "https://www.b.test/"]
            ),
            (
                [
                    "Origin": "null", "Referer": "http://a-test.localhost:8080/p",
                    "Sec-Fetch-Site": "cross-site",
                ],
                ["Origin": "null", "Sec-Fetch-Site": "cross-site", "Referer": "https://a.test/"]
            ),
            (["Sec-Fetch-Site": "none"], ["Sec-Fetch-Site": "none"]),
            (["X": "y"], ["X": "y"]),
            (
                [
                    "Origin": "https://evil.test", "Referer": "https://evil.test/x",
                    "Sec-Fetch-Site": "cross-site",
                ],
                ["Origin": "null", "Sec-Fetch-Site": "cross-site"]
            ),
        ] as [(HTTPFields, HTTPFields)])
    func `a server is told what the page would have said on the web`(sent: HTTPFields, told: HTTPFields)
        throws
    {
        let layout = OriginLayout(port: 8080)
        let asker = Asker(sent, authority: "b-test.localhost:8080", layout: layout)
        var fields = sent
        asker.lead(&fields, to: try #require(WebURL("https://b.test/x")), page: nil, layout: layout)
        #expect(
            Set(fields.list.map { "\($0.name): \($0.value)" })
                == Set(told.list.map { "\($0.name): \($0.value)" }))
    }
}
