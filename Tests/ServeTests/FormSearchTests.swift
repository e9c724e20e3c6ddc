import Fetch
import Search
import Store
import System
import TestOrigin
import Testing

@testable import Mirror
@testable import Portal

/// URLs to which the search forms of stored pages lead. The pages for them show results of Larder's search.
@Suite struct FormSearchTests {
    private let store: StockedStore
    private let server: MirrorServer
    private let client: RawClient

    init() throws {
        store = try StockedStore([
            .init(
                href: "https://example.test/",
                text: """
                    <title>Jams</title><form action="/find?old=1"><input name="topic"></form>
                    <form action="https://search.test/all"><input name="q"></form>
                    <form method="post" action="/buy"><input name="q"></form>
                    """),
            .init(
                href: "https://example.test/search", text: "<title>Search</title>Type a word", title: "Search"
            ),
            .init(
                href: "https://example.test/plum", text: "<title>Plum jam</title>Cook old plums",
                title: "Plum jam"),
        ])
        try store.publish([
            .init(href: "https://example.test/", text: "<title>Jams</title>All jams", title: "Jams"),
            .init(
                href: "https://example.test/plum",
                text: "<title>Plum &lt;i&gt; &amp; jam</title>Cook fresh plums",
                title: "Plum <i> & jam"),
            .init(
                href: "https://example.test/search", text: "<title>Search</title>Type a word", title: "Search"
            ),
            .init(
                href: "https://example.test/start",
                text: """
                    <title>Start</title><form action="/find?old=1"><input name="topic"></form>
                    <form action="https://search.test/all"><input name="q"></form>
                    <form method="post" action="/buy"><input name="q"></form>
                    """, title: "Start"),
        ])
        try store.publish(
            [.init(href: "https://other.test/", text: "<title>Other plums</title>Plums elsewhere")],
            site: "https://other.test/")
        // A page of the same host that was stored alone, and stands before the site in the alphabet.
        try store.publish(
            [.init(href: "https://example.test/about", text: "<title>About</title>Nothing")],
            site: "https://example.test/about")
        _ = try IndexRun(store.folder, Interruption()).run()
        server = try MirrorServer(store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000)
        client = try RawClient(port: Int(server.port))
    }

    private func get(
        _ target: String, from page: String? = nil, host: String = "example-test.localhost",
        destination: String = "document", language: String = "en"
    ) throws -> RawResponse {
        var fields = [("Sec-Fetch-Dest", destination), ("Accept-Language", language)]
        if let page { fields.append(("Referer", "http://example-test.localhost:\(server.port)\(page)")) }
        return try client.get(target, host: "\(host):\(server.port)", fields: fields)
    }

    private static let lead = "These are results of Larder’s search of the stored pages, not of the site."

    @Test(
        "The page for the URL of a search form shows the stored pages of the site with the words",
        arguments: [
            // A stored page or a form has the path, and the parameter has a usual name.
            ("/search?q=plums", nil, "example-test.localhost"),
            ("/search?page=2&query=plums", nil, "example-test.localhost"),
            ("/?s=plums", nil, "example-test.localhost"),
            // A form of the requesting page leads to the path.
            ("/find?topic=plums", "/start", "example-test.localhost"),
            ("/find?lang=&topic=plums", "/start", "example-test.localhost"),
            ("/all?q=plums", "/start", "search-test.localhost"),
        ] as [(String, String?, String)])
    func results(target: String, page: String?, host: String) throws {
        defer { server.stop() }
        for _ in 0..<2 {
            let answer = try get(target, from: page, host: host)
            #expect(answer.status == 504 && answer["Larder"] == "miss")
            #expect(answer["Cache-Control"] == "no-store")
            #expect(answer.text.contains(Self.lead), "\(answer.text)")
            #expect(answer.text.contains("href=\"http://example-test.localhost:\(server.port)/plum#:~:text="))
            #expect(
                answer.text.contains("Plum &lt;i&gt; &amp; jam") && answer.text.contains("<mark>plums</mark>")
            )
            #expect(!answer.text.contains("Other plums") && !answer.text.contains("<i>"))
        }
    }

    @Test(
        "Other URLs that are not stored have no results",
        arguments: [
            // No page or form has the path, or the form is sent with POST.
            ("/elsewhere?q=plums", "/start", "document"), ("/buy?q=plums", "/start", "document"),
            // The parameter is unusual, and the form has another path, or there are several parameters.
            ("/search?topic=plums", "/start", "document"), ("/find?topic=plums&a=b", "/start", "document"),
            ("/find?topic=plums", nil, "document"), ("/find?topic=plums", "/plum", "document"),
            ("/search?q=", nil, "document"), ("/search", "/start", "document"),
            // Only windows show results.
            ("/search?q=plums", "/start", "iframe"), ("/search?q=plums", "/start", "empty"),
        ] as [(String, String?, String)])
    func noResults(target: String, page: String?, destination: String) throws {
        defer { server.stop() }
        let text = try get(target, from: page, destination: destination).text
        #expect(!text.contains(Self.lead) && !text.contains("Larder searched"), "\(text)")
    }

    @Test func `words without a stored page are reported in the language of the request, and are escaped`()
        throws
    {
        defer { server.stop() }
        let nothing = try get("/search?q=%3Cscript%3Equince", language: "de")
        #expect(nothing.status == 504)
        #expect(nothing.text.contains("keine mit diesen Wörtern gefunden"), "\(nothing.text)")
        #expect(!nothing.text.contains("<script>"))
        let found = try get("/search?q=%3Cscript%3E+plums", language: "de")
        #expect(found.text.contains("Gespeicherte Seiten mit „&lt;script&gt; plums“"), "\(found.text)")
        #expect(!found.text.contains("<script>"))
    }

    @Test func `an earlier snapshot shows results of its own`() throws {
        defer { server.stop() }
        let answer = try get("/search?q=plums", host: "past-1-example-test.localhost")
        #expect(answer.status == 504)
        #expect(answer.text.contains("Cook old <mark>plums</mark>"), "\(answer.text)")
        #expect(answer.text.contains("href=\"http://past-1-example-test.localhost:\(server.port)/plum#"))
        #expect(!answer.text.contains("fresh"))
    }

    @Test func `a search does not delay pages for other clients`() throws {
        let (began, mayContinue) = (Monitor(false), Monitor(false))
        var options = MirrorOptions()
        options.willSearch = { _ in
            began.change { $0 = true }
            _ = mayContinue.wait(atMost: .hangGuard) { $0 ? true : nil }
        }
        server.stop()
        let server = try MirrorServer(
            store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000, options: options)
        defer { server.stop() }
        let host = "example-test.localhost:\(server.port)"
        let searching = try RawClient(port: Int(server.port))
        try searching.send(
            "GET /search?q=plums HTTP/1.1\r\nHost: \(host)\r\nSec-Fetch-Dest: document\r\n\r\n")
        try #require(began.wait(atMost: .hangGuard) { $0 ? true : nil } == true)
        #expect(try RawClient(port: Int(server.port)).get("/plum", host: host).text.contains("fresh"))
        mayContinue.change { $0 = true }
        let answer = try searching.response()
        #expect(answer.status == 504 && answer.text.contains(Self.lead))
    }
}
