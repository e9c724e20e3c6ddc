import Fetch
import Search
import Store
import System
import TestOrigin
import Testing

@testable import HTTPServer
@testable import Mirror
@testable import Portal

/// The queue of searches. Each search waits until the test allows it to continue.
@Suite struct PortalSearchQueueTests {
    private let store: StockedStore
    /// The targets of searches that have begun, and whether these may continue.
    private let began = Monitor<[String]>([])
    private let mayContinue = Monitor(false)

    init() throws {
        store = try StockedStore([
            .init(href: "https://example.test/", text: "<title>Plum jam</title>plums"),
            .init(href: "https://example.test/pear", text: "<title>Pear jam</title>pears"),
        ])
        #expect(try IndexRun(store.folder, Interruption()).run().texts == 2)
    }

    private func server() throws -> MirrorServer {
        var options = MirrorOptions()
        let (began, mayContinue) = (began, mayContinue)
        options.willSearch = { target in
            began.change { $0.append(target) }
            _ = mayContinue.wait(atMost: .hangGuard) { $0 ? true : nil }
        }
        // One thread serves all clients, so that a search on it would block them.
        return try MirrorServer(
            store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000, options: options)
    }

    /// Sends a request without waiting for the response.
    private func send(_ target: String, _ server: MirrorServer) throws -> RawClient {
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
        let searching = try send("/-/search?q=plum&format=json", server)
        try waitForSearches(1)
        let other = try RawClient(port: Int(server.port))
        let host = "localhost:\(server.port)"
        #expect(try other.get("/", host: host).status == 200)
        #expect(try other.get("/", host: "example-test.localhost:\(server.port)").text.contains("plums"))
        #expect(try other.get("/-/search", host: host).status == 200)
        mayContinue.change { $0 = true }
        let answer = try searching.response()
        #expect(answer.status == 200)
        #expect(answer.text.contains("Plum jam"))
        #expect(answer["Cache-Control"] == "no-store")
        // The connection is still usable.
        #expect(try searching.get("/-/sites/1/search?q=pear", host: host).text.contains("Pear jam"))
    }

    /// A queue without a server, which records the outcome of each search: a status, or "made" if the search was executed,
    /// which fails because there is no store.
    private final class RecordedSearches: Sendable {
        let queue: PortalSearchQueue
        private let outcomes = Monitor<[Int: String]>([:])

        init(_ willSearch: @escaping @Sendable (String) -> Void) {
            queue = PortalSearchQueue(willSearch: willSearch) { () throws(StoreError) in
                throw StoreError(.failed, doing: "open", path: "nowhere", detail: "there is none")
            }
        }

        func add(_ number: Int, _ words: String, sender: String? = nil) -> Bool {
            var question = PortalSearchQueue.SearchRequest("/-/search?q=\(words)", PortalVisitor())
            question.sender = sender
            return queue.add(question) { [outcomes] found in
                let text =
                    switch found {
                    case .success(let answer): "\(answer.status)"
                    case .failure: "made"
                    }
                outcomes.change { $0[number] = text }
            }
        }

        func outcome(_ number: Int) -> String? { outcomes.wait(atMost: .hangGuard) { $0[number] } }
        var count: Int { outcomes.change { $0.count } }
    }

    private func recordedSearches() -> RecordedSearches {
        let (began, mayContinue) = (began, mayContinue)
        return RecordedSearches { target in
            began.change { $0.append(target) }
            _ = mayContinue.wait(atMost: .hangGuard) { $0 ? true : nil }
        }
    }

    @Test func `a new search of a sender supersedes its earlier ones, which get a 409`() throws {
        let searches = recordedSearches()
        #expect(searches.add(0, "p", sender: "1") && searches.add(1, "x"))
        try waitForSearches(2)
        #expect(searches.add(2, "pl", sender: "1") && searches.add(3, "pear", sender: "2"))
        #expect(searches.add(4, "plu", sender: "1") && searches.add(5, "x"))
        // A waiting search is answered at once when it is superseded.
        #expect(searches.outcome(2) == "409" && searches.count == 1)
        mayContinue.change { $0 = true }
        #expect(searches.outcome(0) == "409")
        for number in [1, 3, 4, 5] { #expect(searches.outcome(number) == "made") }
        searches.queue.close()
        #expect(!searches.add(6, "late"))
    }

    @Test func `a search is refused if too many are waiting`() throws {
        let searches = recordedSearches()
        for number in 0..<2 { #expect(searches.add(number, "x")) }
        try waitForSearches(2)
        for number in 2..<66 { #expect(searches.add(number, "x")) }
        #expect(!searches.add(66, "x"))
        mayContinue.change { $0 = true }
        for number in 0..<66 { #expect(searches.outcome(number) == "made") }
        #expect(searches.add(67, "x"))
        #expect(searches.outcome(67) == "made")
        searches.queue.close()
    }

    @Test func `a search requested by a foreign page is refused`() throws {
        let server = try server()
        defer { server.stop() }
        mayContinue.change { $0 = true }
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
        let client = try send("/-/search?q=plum", server)
        try waitForSearches(1)
        mayContinue.change { $0 = true }
        server.stop()
        server.stop()
        _ = client
    }
}
