import Store
import TestOrigin
import Testing
import Web

@testable import HTTPServer
@testable import Mirror
@testable import Origins

@Suite struct RequestContextTests {
    @Test("A navigation that a service worker repeats counts as a document for a window")
    func navigationByServiceWorker() {
        let passed: HTTPFields = [
            "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "empty",
        ]
        #expect(FetchUse(passed).isWindow && FetchUse(passed).makesDocument && !FetchUse(passed).isRead)
        #expect(passed.isNavigation && passed.expectedTypeOfSubresource == nil)
        let script: HTTPFields = [
            "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty",
        ]
        #expect(!FetchUse(script).isWindow && FetchUse(script).isRead && !script.isNavigation)
    }

    /// Browsers do not send Fetch Metadata to hosts with plain http.
    @Test(
        arguments: [
            (["User-Agent": "curl/8"], "user"), ([:], "user"),
            (["User-Agent": "Mozilla/5.0 X", "Upgrade-Insecure-Requests": "1"], "user"),
            (["User-Agent": "Mozilla/5.0 X", "Accept": "image/avif,*/*"], "foreign page"),
            (["User-Agent": "Mozilla/5.0 X"], "foreign page"),
            (
                ["User-Agent": "Mozilla/5.0 X", "Upgrade-Insecure-Requests": "1", "Origin": "null"],
                "foreign page"
            ), (["Origin": "null"], "foreign page"),
            (["User-Agent": "Mozilla/5.0 X", "Referer": "http://a.test/x"], "a"),
            (["User-Agent": "Mozilla/5.0 X", "Sec-Fetch-Site": "none"], "user"),
        ] as [(HTTPFields, String)])
    func `a proxy recognises the requester by the headers that browsers send`(
        fields: HTTPFields, kind: String
    ) {
        let context = RequestContext(
            ofProxy: fields, requesting: WebURL("http://b.test/"), isShared: false)
        let kindText: String =
            switch context.kind {
            case .user: "user"
            case .page(let origins): origins == ["http://a.test"] ? "a" : "\(origins)"
            case .portal, .unknownPage, .export: "?"
            case .foreignPage: "foreign page"
            }
        #expect(kindText == kind)
    }

    @Test(
        arguments: [
            ([:], "user"),
            (["Sec-Fetch-Site": "same-origin"], "b"),
            (["Sec-Fetch-Site": "none", "Sec-Fetch-User": "?1"], "user"),
            (["Sec-Fetch-Site": "cross-site"], "foreign page"),
            (["Sec-Fetch-Site": "same-site"], "foreign page"),
            (["Sec-Fetch-Site": "whatever"], "foreign page"),
            (["Sec-Fetch-Site": "cross-site", "Referer": "http://a-test.localhost:8080/"], "a"),
            (["Sec-Fetch-Site": "cross-site", "Referer": "https://a-test.localhost:8080/"], "foreign page"),
            (["Sec-Fetch-Site": "cross-site", "Referer": "http://a-test.localhost:9090/"], "foreign page"),
            (["Sec-Fetch-Site": "cross-site", "Referer": "http://a.test.localhost:8080/"], "foreign page"),
            (["Sec-Fetch-Site": "cross-site", "Referer": "https://evil.test/"], "foreign page"),
            (["Sec-Fetch-Site": "same-site", "Referer": "http://localhost:3000/"], "foreign page"),
            (["Origin": "http://a-test.localhost:8080"], "a"),
            (["Origin": "http://b-test.localhost:8080"], "b"),
            (["Origin": "http://larder.localhost:8080"], "portal"),
            // The page may be of an earlier site at the root, or its service worker.
            (["Origin": "http://localhost:8080"], "foreign page"),
            (["Origin": "http://127.0.0.1:8080"], "foreign page"),
            (["Origin": "null"], "foreign page"),
            (
                [
                    "Origin": "null", "Sec-Fetch-Site": "cross-site",
                    "Referer": "http://a-test.localhost:8080/",
                ], "a"
            ),
            (["Origin": "http://a-test.localhost:8080/"], "foreign page"),
            (["Origin": "https://evil.test", "Sec-Fetch-Site": "same-origin"], "foreign page"),
            (["Origin": "https://evil.test", "Referer": "http://a-test.localhost:8080/"], "foreign page"),
            (["Referer": "http://larder.localhost:8080/-/x"], "portal"),
            (["Referer": "http://localhost:8080/-/x"], "foreign page"),
            (["Referer": "https://evil.test/"], "foreign page"),
            (["Referer": "nonsense"], "foreign page"),
        ] as [(HTTPFields, String)])
    func `the mirror recognises the requester by the headers that browsers send`(
        fields: HTTPFields, kind: String
    ) {
        let context = RequestContext(
            fields, authority: "b-test.localhost:8080", layout: OriginLayout(port: 8080))
        let known: [String: Requester.Kind] = [
            "user": .user, "foreign page": .foreignPage, "portal": .portal,
            "a": .page(["https://a.test", "http://a.test"]), "b": .page(["https://b.test", "http://b.test"]),
        ]
        #expect(context.kind == known[kind])
    }

    @Test(
        arguments: [
            (["Sec-Fetch-Site": "cross-site", "Sec-Fetch-User": "?1", "Sec-Fetch-Dest": "document"], true),
            (["Sec-Fetch-Site": "cross-site", "Sec-Fetch-User": "?1", "Sec-Fetch-Dest": "iframe"], false),
            (["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document"], false),
            (["Sec-Fetch-Site": "none"], true),
            (["Sec-Fetch-Site": "cross-site", "Referer": "http://a-test.localhost:8080/"], true),
        ] as [(HTTPFields, Bool)])
    func `a foreign page causes no request to an origin, unless the user followed its link`(
        fields: HTTPFields, mayCauseRequests: Bool
    ) {
        let context = RequestContext(
            fields, authority: "b-test.localhost:8080", layout: OriginLayout(port: 8080))
        #expect(context.canCauseRequests == mayCauseRequests)
    }

    @Test(
        arguments: [
            (["Origin": "http://192.0.2.1:8080"], ["https://a.test", "http://a.test"]),
            (["Origin": "http://b.localhost:8080"], []),
            (["Origin": "http://192.0.2.1"], []),
            (["Sec-Fetch-Site": "same-origin"], ["https://a.test", "http://a.test"]),
            // A script can pretend to be at any path of its origin: a path without a seal proves nothing.
            (["Origin": "null", "Referer": "http://192.0.2.1:8080/-/web/https/b.test/x"], []),
            (["Referer": "http://192.0.2.1:8080/-/web/https/b.test/x", "Sec-Fetch-Site": "same-origin"], []),
            (["Referer": "http://192.0.2.1:8080/-/as/0.https.b.test/https/b.test/x"], []),
            (["Referer": "http://192.0.2.1:8080/-/web/0.https.b.test/https/b.test/x"], []),
            (["Origin": "null"], []),
        ] as [(HTTPFields, [String])])
    func `if all origins share one name, only a seal proves that a page is not the root's`(
        fields: HTTPFields, origins: [String]
    ) throws {
        let layout = OriginLayout(
            port: 8080, root: WebURL("https://a.test/").flatMap(RootOrigin.init), isExposed: true)
        #expect(RequestContext(fields, authority: "192.0.2.1:8080", layout: layout).origins == origins)
    }

    @Test func `if all origins share one name, a sealed address proves its page`() throws {
        let layout = OriginLayout(
            port: 8080, root: WebURL("https://a.test/").flatMap(RootOrigin.init), isExposed: true)
        func origins(at folder: String) -> [String] {
            let seen = layout.forClient("192.0.2.1:8080", target: folder + "https/c.test/x")
            return RequestContext(["Sec-Fetch-Dest": "image"], authority: "192.0.2.1:8080", layout: seen)
                .origins
        }
        let root = layout.forClient("192.0.2.1:8080")
        #expect(origins(at: root.folder) == ["https://a.test", "http://a.test"])
        let b = try #require(
            WebURL("https://b.test/").flatMap { root.addressWithOwnSeal(of: $0) }.flatMap { WebURL($0) })
        let folder = String(b.target.dropLast("https/b.test/".utf8.count))
        #expect(origins(at: folder) == ["https://b.test", "http://b.test"])
        // The headers show that a foreign page uses the sealed path.
        for evidence in [("Origin", "https://evil.test"), ("Referer", "https://evil.test/x")] {
            var fields: HTTPFields = ["Sec-Fetch-Dest": "image"]
            fields.set(evidence.0, evidence.1)
            let seen = layout.forClient("192.0.2.1:8080", target: folder + "https/c.test/x")
            let context = RequestContext(fields, authority: "192.0.2.1:8080", layout: seen)
            #expect(context.kind == .foreignPage)
        }
        // Browsers mark requests of the root's pages as same-origin, whereas documents of other origins have an opaque one.
        for (name, value) in [
            ("Origin", "null"), ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Site", "same-site"),
        ] {
            var fields: HTTPFields = ["Sec-Fetch-Dest": "image"]
            fields.set(name, value)
            for (folder, isForeign) in [(root.folder, true), (folder, false)] {
                let seen = layout.forClient("192.0.2.1:8080", target: folder + "https/c.test/x")
                let context = RequestContext(fields, authority: "192.0.2.1:8080", layout: seen)
                #expect((context.kind == .foreignPage) == isForeign, "\(name): \(value)")
            }
        }
        // Documents of other origins send `Origin: null` and no referrer. With these headers, a script of the root uses
        // the seal.
        for (name, value) in [
            ("Origin", "http://192.0.2.1:8080"), ("Referer", "http://192.0.2.1:8080\(folder)https/b.test/x"),
            ("Sec-Fetch-Site", "same-origin"),
        ] {
            let seen = layout.forClient("192.0.2.1:8080", target: folder + "https/b.test/x")
            var fields: HTTPFields = [:]
            fields.set(name, value)
            let context = RequestContext(fields, authority: "192.0.2.1:8080", layout: seen)
            #expect(context.origins == ["https://a.test", "http://a.test"], "\(name): \(value)")
        }
        // The seal is for one origin only.
        #expect(origins(at: folder.replacing("b.test", with: "a.test")) == [])
        #expect(origins(at: folder.replacing("https.", with: "http.")) == [])
    }

    @Test(
        arguments: [
            (
                ["Origin": "http://localhost:8080"], "b-test.localhost:8080",
                ["https://a.test", "http://a.test"]
            ),
            (
                ["Origin": "http://127.0.0.1:8080"], "b-test.localhost:8080",
                ["https://a.test", "http://a.test"]
            ),
            (["Sec-Fetch-Site": "same-origin"], "localhost:8080", ["https://a.test", "http://a.test"]),
            (
                ["Sec-Fetch-Site": "cross-site", "Referer": "http://b-test.localhost:8080/"],
                "localhost:8080",
                ["https://b.test", "http://b.test"]
            ),
            // A script of the root that pretends to be a page of another site.
            (
                ["Sec-Fetch-Site": "same-origin", "Referer": "http://localhost:8080/-/web/https/b.test/x"],
                "localhost:8080", ["https://a.test", "http://a.test"]
            ),
            (["Origin": "http://localhost:3000"], "localhost:8080", []),
            (["Sec-Fetch-Site": "same-site", "Referer": "http://localhost:3000/"], "localhost:8080", []),
        ] as [(HTTPFields, String, [String])])
    func `on loopback a page of the site at the root is recognised by its host name`(
        fields: HTTPFields, authority: String, origins: [String]
    ) throws {
        let layout = OriginLayout(port: 8080, root: WebURL("https://a.test/").flatMap(RootOrigin.init))
            .forClient(authority)
        #expect(RequestContext(fields, authority: authority, layout: layout).origins == origins)
    }

    @Test(
        arguments: [
            // A page of another site, of the same origin, of the same site, a sandboxed page, no page, a program, and a
            // foreign page.
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
    func `an origin gets the headers that the page would have sent on the web`(
        sent: HTTPFields, kindText: HTTPFields
    )
        throws
    {
        let layout = OriginLayout(port: 8080)
        let context = RequestContext(sent, authority: "b-test.localhost:8080", layout: layout)
        var fields = sent
        context.restoreOriginalHeaders(
            in: &fields, to: try #require(WebURL("https://b.test/x")), page: nil, layout: layout)
        #expect(
            Set(fields.list.map { "\($0.name): \($0.value)" })
                == Set(kindText.list.map { "\($0.name): \($0.value)" }))
    }
}
