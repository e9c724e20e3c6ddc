import Fetch
import Search
import Store
import System
import TestOrigin
import Testing

@testable import HTTPServer
@testable import Mirror
@testable import Portal

/// Searches that take long: one is held up until the test lets it go.
@Suite struct PortalSearchQueueTests {
    private let store: StockedStore
    /// Targets of searches that have begun, and whether they may go on.
    private let began = Monitor<[String]>([])
    private let mayGoOn = Monitor(false)

    init() throws {
        store = try StockedStore([
            .init(href: "https://example.test/", text: "<title>Plum jam</title>plums"),
            .init(href: "https://example.test/pear", text: "<title>Pear jam</title>pears"),
        ])
        #expect(try IndexRun(store.folder, Interruption()).run().texts == 2)
    }

    private func server() throws -> MirrorServer {
        var options = MirrorOptions()
        let (began, mayGoOn) = (began, mayGoOn)
        options.willSearch = { target in
            began.change { $0.append(target) }
            _ = mayGoOn.wait(atMost: .hangGuard) { $0 ? true : nil }
        }
        // One thread has all clients.
        return try MirrorServer(
            store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000, options: options)
    }

    /// Asks, and does not wait for the answer.
    private func ask(_ target: String, _ server: MirrorServer) throws -> RawClient {
        let client = try RawClient(port: Int(server.port))
        try client.send("GET \(target) HTTP/1.1\r\nHost: localhost:\(server.port)\r\n\r\n")
        return client
    }

    private func waitForSearches(_ count: Int) throws {
        try #require(began.wait(atMost: .hangGuard) { $0.count >= count ? true : nil } == true)
    }

    @Test func `a slow search does not delay pages for other clients, and is answered at the end`() throws {
        let server = try server()
        defer { server.stop() }
        let searching = try ask("/-/search?q=plum&format=json", server)
        try waitForSearches(1)
        let other = try RawClient(port: Int(server.port))
        let host = "localhost:\(server.port)"
        #expect(try other.get("/", host: host).status == 200)
        #expect(try other.get("/", host: "example-test.localhost:\(server.port)").text.contains("plums"))
        #expect(try other.get("/-/search", host: host).status == 200)
        mayGoOn.change { $0 = true }
        let answer = try searching.response()
        #expect(answer.status == 200)
        #expect(answer.text.contains("Plum jam"))
        #expect(answer["Cache-Control"] == "no-store")
        // The connection goes on.
        #expect(try searching.get("/-/sites/1/search?q=pear", host: host).text.contains("Pear jam"))
    }

    /// Without a server: every search that is made fails, and says so.
    private final class Answers: Sendable {
        let searches: PortalSearchQueue
        private let given = Monitor<[Int: String]>([:])

        init(_ willSearch: @escaping @Sendable (String) -> Void) {
            searches = PortalSearchQueue(willSearch: willSearch) { () throws(StoreError) in
                throw StoreError(.failed, doing: "open", path: "nowhere", detail: "there is none")
            }
        }

        func ask(_ number: Int, _ words: String, asker: String? = nil) -> Bool {
            var question = PortalSearchQueue.SearchRequest("/-/search?q=\(words)", PortalVisitor())
            question.sender = asker
            return searches.add(question) { [given] found in
                let text =
                    switch found {
                    case .success(let answer): "\(answer.status)"
                    case .failure: "made"
                    }
                given.change { $0[number] = text }
            }
        }

        func answer(_ number: Int) -> String? { given.wait(atMost: .hangGuard) { $0[number] } }
        var count: Int { given.change { $0.count } }
    }

    private func answers() -> Answers {
        let (began, mayGoOn) = (began, mayGoOn)
        return Answers { target in
            began.change { $0.append(target) }
            _ = mayGoOn.wait(atMost: .hangGuard) { $0 ? true : nil }
        }
    }

    @Test func `of the searches of one sender only the last is answered, and earlier ones get a 409`() throws
    {
        let answers = answers()
        #expect(answers.ask(0, "p", asker: "1") && answers.ask(1, "x"))
        try waitForSearches(2)
        #expect(answers.ask(2, "pl", asker: "1") && answers.ask(3, "pear", asker: "2"))
        #expect(answers.ask(4, "plu", asker: "1") && answers.ask(5, "x"))
        // What waits is let go of at once.
        #expect(answers.answer(2) == "409" && answers.count == 1)
        mayGoOn.change { $0 = true }
        #expect(answers.answer(0) == "409")
        for number in [1, 3, 4, 5] { #expect(answers.answer(number) == "made") }
        answers.searches.close()
        #expect(!answers.ask(6, "late"))
    }

    @Test func `a search is refused if too many are waiting`() throws {
        let answers = answers()
        for number in 0..<2 { #expect(answers.ask(number, "x")) }
        try waitForSearches(2)
        for number in 2..<66 { #expect(answers.ask(number, "x")) }
        #expect(!answers.ask(66, "x"))
        mayGoOn.change { $0 = true }
        for number in 0..<66 { #expect(answers.answer(number) == "made") }
        #expect(answers.ask(67, "x"))
        #expect(answers.answer(67) == "made")
        answers.searches.close()
    }

    @Test func `a search requested by a foreign page is refused`() throws {
        let server = try server()
        defer { server.stop() }
        mayGoOn.change { $0 = true }
        let refused = try RawClient(port: Int(server.port)).get(
            "/-/search?q=plum&format=json", host: "localhost:\(server.port)",
            fields: [
                ("Origin", "http://example-test.localhost:\(server.port)"), ("Sec-Fetch-Site", "cross-site"),
                ("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty"),
            ])
        #expect(refused.status == 403)
        #expect(began.change { $0 }.isEmpty)
    }

    @Test func `a stopping server does not wait for searches`() throws {
        let server = try server()
        let client = try ask("/-/search?q=plum", server)
        try waitForSearches(1)
        mayGoOn.change { $0 = true }
        server.stop()
        server.stop()
        _ = client
    }
}
