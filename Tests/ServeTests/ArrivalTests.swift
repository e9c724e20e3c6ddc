import Testing
import Web

@testable import HTTPServer
@testable import Mirror
@testable import Portal

/// URLs that change while a request is running, and responses that could not be stored after they were sent.
@Suite struct ArrivalTests {
    private func url(_ path: String) throws -> WebURL { try #require(WebURL("http://jam.test" + path)) }

    @Test func `a request sent before its URL changed counts as outdated`() throws {
        let changes = ChangedURLs()
        let (before, elsewhere) = (changes.stamp(at: try url("/a#part")), changes.stamp(at: try url("/b")))
        #expect(!before.isOutdated)
        changes.note([try url("/a")])
        #expect(before.isOutdated)
        #expect(!elsewhere.isOutdated)
        let after = changes.stamp(at: try url("/a"))
        #expect(!after.isOutdated)
        // A new request does not share the running request.
        #expect(after.number != before.number)
        changes.note([])
        #expect(!after.isOutdated)
    }

    @Test func `beyond the maximum of changed URLs, every earlier request counts as outdated`() throws {
        let changes = ChangedURLs()
        let before = changes.stamp(at: try url("/a"))
        for number in 0...10_001 { changes.note([try url("/\(number)")]) }
        #expect(before.isOutdated)
        #expect(!changes.stamp(at: try url("/a")).isOutdated)
    }

    @Test func `a response that could not be stored after its reply counts as lost`() {
        let log = ProxyLog()
        let reply = Reply(answer: .text(200, "jam\n"), source: .network, isStored: true)
        log.record("GET", "http://jam.test/", reply, since: .now)
        #expect(log.totals.storedCount == 1)
        log.recordStoreFailure("the disk is full", of: "http://jam.test/")
        #expect(log.totals.storedCount == 0)
        #expect(log.totals.notStoredCount == 1)
        #expect(log.totals.lastStoreFailure == "http://jam.test/: the disk is full")
        log.record(
            "GET", "http://jam.test/", Reply(answer: .text(500, ""), failure: "it is damaged"), since: .now)
        #expect(log.totals.storedCount == 0)
        #expect(log.totals.notStoredCount == 2)
    }
}
