import Testing
import Web

@testable import HTTPServer
@testable import Mirror
@testable import Portal

/// What was changed while something was on its way, and what passed and could not be kept after all.
@Suite struct ArrivalTests {
    private func url(_ path: String) throws -> WebURL { try #require(WebURL("http://jam.test" + path)) }

    @Test func `what was asked for before a change there is past, and nothing else`() throws {
        let changes = ChangedURLs()
        let (before, elsewhere) = (changes.stage(at: try url("/a#part")), changes.stage(at: try url("/b")))
        #expect(!before.isPast)
        changes.note([try url("/a")])
        #expect(before.isPast)
        #expect(!elsewhere.isPast)
        let after = changes.stage(at: try url("/a"))
        #expect(!after.isPast)
        // Who asks now does not share what was asked for then.
        #expect(after.number != before.number)
        changes.note([])
        #expect(!after.isPast)
    }

    @Test func `where more was changed than is remembered, all that was asked for before is past`() throws {
        let changes = ChangedURLs()
        let before = changes.stage(at: try url("/a"))
        for number in 0...10_001 { changes.note([try url("/\(number)")]) }
        #expect(before.isPast)
        #expect(!changes.stage(at: try url("/a")).isPast)
    }

    @Test func `what could not be kept after all is counted as lost, and not as kept`() {
        let log = PassLog()
        let reply = Reply(answer: .text(200, "jam\n"), source: .network, isStored: true)
        log.note("GET", "http://jam.test/", reply, since: .now)
        #expect(log.counts.kept == 1)
        log.noteLoss("the disk is full", of: "http://jam.test/")
        #expect(log.counts.kept == 0)
        #expect(log.counts.lost == 1)
        #expect(log.counts.reasonNotStored == "http://jam.test/: the disk is full")
        log.note(
            "GET", "http://jam.test/", Reply(answer: .text(500, ""), failure: "it is damaged"), since: .now)
        #expect(log.counts.kept == 0)
        #expect(log.counts.lost == 2)
    }
}
