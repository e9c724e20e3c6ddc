import Store
import TestOrigin
import Testing
import Web

@testable import Mirror

/// Earlier snapshots, which a server serves under their own host names without a roll-back.
@Suite struct EarlierSnapshotTests {
    private let store: StockedStore
    private let server: MirrorServer
    private let client: RawClient

    init() throws {
        let open = "Access-Control-Allow-Origin: *\r\n"
        store = try StockedStore([
            .init(
                href: "https://example.test/",
                text: "<a href=/two>2</a><script src=https://cdn.test/a.js></script>first"),
            .init(href: "https://example.test/gone", text: "still there", type: "text/plain"),
            .init(href: "https://cdn.test/a.js", text: "first()", type: "text/javascript", extra: open),
        ])
        try store.publish([
            .init(href: "https://example.test/", text: "second"),
            .init(href: "https://example.test/new", text: "new", type: "text/plain"),
            .init(href: "https://example.test/gone", status: 404),
            .init(href: "https://example.test/lost", status: 404),
            .init(href: "https://cdn.test/a.js", text: "second()", type: "text/javascript", extra: open),
        ])
        server = try MirrorServer(store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000)
        client = try RawClient(port: Int(server.port))
    }

    private func get(_ target: String, _ name: String, _ fields: [(String, String)] = []) throws
        -> RawResponse
    {
        try client.get(target, host: "\(name):\(server.port)", fields: fields)
    }

    @Test(arguments: [
        ("@1/https://example.test/two?a=b", "http://past-1-example-test.localhost:PORT/two?a=b"),
        ("@2/https://www.cdn.test:81/", "http://port-81.www.past-2-cdn-test.localhost:PORT/"),
        ("@1970-01-01/https://example.test/", "http://past-2-example-test.localhost:PORT/"),
        ("@2026-11-20/https://cdn.test/a.js", "http://past-2-cdn-test.localhost:PORT/a.js"),
        ("@3/https://example.test/", nil), ("@1969-12-30/https://example.test/", nil),
        ("@x/https://example.test/", nil),
        ("@2026-11-20/https://nowhere.test/", nil), ("@1/ftp://example.test/", nil), ("@bad-date/", nil),
        ("@", nil), ("@1", nil), ("@%3Cscript%3E/https://example.test/", nil),
    ])
    func `a URL after a snapshot's number or date redirects to its copy in that snapshot`(
        target: String, expected: String?
    ) throws {
        defer { server.stop() }
        let answer = try get("/" + target, "localhost")
        #expect(answer.status == (expected == nil ? 404 : 302))
        #expect(answer["Location"] == expected?.replacing("PORT", with: "\(server.port)"))
        // An error is shown on a page of the portal.
        #expect(expected != nil || answer.text.contains("role=\"alert\"") && answer.text.contains("<h1>"))
    }

    @Test(arguments: [
        ("https://example.test/", "past-2"), ("https://example.test/gone", "past-2"),
        ("https://example.test/docs/", "past-3"), ("https://example.test/docs/never", "past-3"),
        ("https://example.test/never", "past-2"),
    ])
    func `among sites on one host, the number counts the snapshots of the site that has the URL`(
        href: String, name: String
    ) throws {
        try store.publish(
            [.init(href: "https://example.test/docs/", text: "docs")], site: "https://example.test/docs/")
        try store.publish(
            [.init(href: "https://example.test/docs/", text: "docs again")],
            site: "https://example.test/docs/")
        defer { server.stop() }
        let isInDocs = name == "past-3"
        let answer = try get("/@\(isInDocs ? 1 : 2)/\(href)", "localhost")
        #expect(answer["Location"]?.hasPrefix("http://\(name)-example-test.localhost:") == true)
    }

    @Test func `an earlier snapshot serves the responses of its time, and its links stay in it`() throws {
        defer { server.stop() }
        let page = try get("/", "past-1-example-test.localhost")
        #expect(page.status == 200)
        #expect(page.text.hasSuffix("first"))
        #expect(page.text.contains("src=http://past-1-cdn-test.localhost:\(server.port)/a.js"))
        #expect(try get("/", "example-test.localhost").text == "second")
        #expect(try get("/a.js", "past-1-cdn-test.localhost").text == "first()")
        #expect(try get("/a.js", "cdn-test.localhost").text == "second()")
        #expect(try get("/gone", "past-1-example-test.localhost").text == "still there")
        #expect(try get("/gone", "past-2-example-test.localhost").status == 404)
        #expect(try get("/new", "past-2-example-test.localhost").text == "new")
        let missing = try get("/new", "past-1-example-test.localhost", [("Accept", "text/html")])
        #expect(missing.status == 504)
        #expect(missing.text.contains("This earlier snapshot does not contain this URL."))
        #expect(missing.text.contains("href=\"http://example-test.localhost:\(server.port)/new\""))
        #expect(try get("/", "past-9-example-test.localhost").status == 404)
        // The name endpoint, which the shim uses, returns a name of the same snapshot.
        let name = try get("/-/larder/name/https://www.cdn.test", "past-1-example-test.localhost")
        #expect(name.text == "www.past-1-cdn-test.localhost")
    }

    @Test(arguments: [
        ("/new", true), ("/new?utm_source=feed", true), ("/nowhere", false), ("/lost", false),
    ])
    func `a page about a miss in an earlier snapshot links to the live one only if that has the URL`(
        target: String, isLinked: Bool
    ) throws {
        defer { server.stop() }
        let missing = try get(target, "past-1-example-test.localhost", [("Accept", "text/html")])
        #expect(missing.status == 504)
        #expect(missing.text.contains("Open it in the live snapshot") == isLinked)
        #expect(
            missing.text.contains("href=\"http://example-test.localhost:\(server.port)\(target)\"")
                == isLinked)
    }

    @Test func `a miss in an earlier snapshot is not recorded`() throws {
        _ = try get("/nowhere", "past-1-example-test.localhost")
        server.stop()
        #expect(try ActivityDatabase(store.folder).misses().isEmpty)
    }

    /// The host of a page, the host that it requests, and the status of the response.
    @Test(arguments: [
        ("past-1-example-test", "past-1-cdn-test", 200), ("past-1-example-test", "cdn-test", 403),
        ("example-test", "past-1-cdn-test", 403), ("past-2-example-test", "past-1-cdn-test", 403),
        ("past-1-example-test", "example-test", 403), ("example-test", "cdn-test", 200),
    ])
    func `a page of one snapshot cannot load or read another snapshot`(
        page: String, target host: String, status: Int
    ) throws {
        defer { server.stop() }
        let origin = "http://\(page).localhost:\(server.port)"
        let target = host.hasSuffix("cdn-test") ? "/a.js" : "/"
        let read: [(String, String)] = [
            ("Origin", origin), ("Referer", origin + "/"), ("Sec-Fetch-Site", "cross-site"),
            ("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty"),
        ]
        let answer = try get(target, host + ".localhost", read)
        #expect(answer.status == status)
        #expect((answer["Access-Control-Allow-Origin"] != nil) == (status == 200))
        let shown: [(String, String)] = [
            ("Referer", origin + "/"), ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors"),
            ("Sec-Fetch-Dest", "script"),
        ]
        #expect(try get(target, host + ".localhost", shown).status == status)
        let window: [(String, String)] = [
            ("Referer", origin + "/"), ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"),
            ("Sec-Fetch-Dest", "document"), ("Sec-Fetch-User", "?1"),
        ]
        #expect(try get(target, host + ".localhost", window).status == 200)
    }

    @Test func `the history of a URL links to its copy in each snapshot`() throws {
        defer { server.stop() }
        let page = try get("/-/page?url=https://example.test/", "localhost").text
        #expect(
            page.contains("<a href=\"http://past-1-example-test.localhost:\(server.port)/\">Snapshot 1</a>"))
        #expect(page.contains("<a href=\"http://example-test.localhost:\(server.port)/\">Snapshot 2</a>"))
    }

    @Test func `the portal links to each snapshot`() throws {
        defer { server.stop() }
        let page = try get("/-/sites/1", "localhost").text
        #expect(
            page.contains("<a href=\"http://past-1-example-test.localhost:\(server.port)/\">snapshot 1</a>"))
        #expect(page.contains("<a href=\"http://example-test.localhost:\(server.port)/\">snapshot 2</a>"))
        let site = try JSONValue.parse(try get("/-/sites/1?format=json", "localhost").text.utf8.span)
        #expect(
            site["snapshots"]?.array?.map { $0["mirror"]?.string } == [
                "http://past-1-example-test.localhost:\(server.port)/",
                "http://example-test.localhost:\(server.port)/",
            ])
    }
}
