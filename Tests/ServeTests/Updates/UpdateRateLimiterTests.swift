import Portal
import Testing

@testable import Mirror

@Suite struct UpdateRateLimiterTests {
    private func client(_ number: Int) throws -> LoginClient {
        try #require(LoginClient("\(1 + number / 65_536).\(number / 256 % 256).\(number % 256).1"))
    }

    @Test func `a client may send 300 requests at once, and then 20 a second`() throws {
        var limiter = UpdateRateLimiter()
        let client = try client(1)
        for _ in 0..<300 { #expect(limiter.take(.request, from: client, now: 0) == nil) }
        #expect(limiter.take(.request, from: client, now: 0) == 1)
        var allowed = 0
        for millisecond in 1...10_000
        where limiter.take(.request, from: client, now: Int64(millisecond)) == nil {
            allowed += 1
        }
        #expect(allowed == 200)
    }

    @Test func `files take a tenth of a request`() throws {
        var limiter = UpdateRateLimiter()
        let client = try client(1)
        var files = 0
        while limiter.take(.file, from: client, now: 0) == nil { files += 1 }
        #expect(files == 3000)
    }

    @Test func `one client does not limit another`() throws {
        var limiter = UpdateRateLimiter()
        let (one, two) = (try client(1), try client(2))
        while limiter.take(.request, from: one, now: 0) == nil {}
        #expect(limiter.take(.request, from: two, now: 0) == nil)
    }

    @Test func `a client that was silent has no more than a full bucket`() throws {
        var limiter = UpdateRateLimiter()
        let client = try client(1)
        while limiter.take(.request, from: client, now: 0) == nil {}
        var allowed = 0
        while limiter.take(.request, from: client, now: 1 << 50) == nil { allowed += 1 }
        #expect(allowed == 300)
    }

    @Test func `the memory for clients is bounded, and further clients share a bucket`() throws {
        var limiter = UpdateRateLimiter()
        for number in 0..<UpdateRateLimiter.maxClients {
            #expect(limiter.take(.request, from: try client(number), now: 0) == nil)
        }
        var allowed = 0
        for number in 0..<1000
        where limiter.take(.request, from: try client(UpdateRateLimiter.maxClients + number), now: 1) == nil {
            allowed += 1
        }
        #expect(allowed == 300)
        #expect(limiter.clientCount == UpdateRateLimiter.maxClients)
        // After a while, the buckets of the first are full again.
        #expect(limiter.take(.request, from: try client(999_999), now: 60_000) == nil)
        #expect(limiter.clientCount == 1)
    }
}
