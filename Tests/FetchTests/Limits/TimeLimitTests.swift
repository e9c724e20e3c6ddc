import Fetch
import TestOrigin
import Testing
import Web

/// Servers that keep a client waiting, each in its own way.
@Suite struct TimeLimitTests {
    private func failure(_ url: String, _ change: (inout FetchOptions) -> Void) throws -> FetchFailure {
        let failure = try Fetching(change).failure(url)
        #expect(failure.kind == .timeout)
        #expect(failure.mayPass)
        return failure
    }

    @Test func `a silent server is given up`() throws {
        let origin = try TestOrigin()
        origin.on("/", .page("late").delayed(.seconds(60)))
        let failure = try failure(origin.url("/")) { $0.stallTimeout = .milliseconds(100) }
        #expect(failure.detail == "nothing came for 0.1 s")
    }

    @Test func `a body that stops is given up`() throws {
        let origin = try TestOrigin()
        origin.on("/", OriginAnswer.page("12345678").dripping(4, every: .seconds(60)))
        let failure = try failure(origin.url("/")) { $0.stallTimeout = .milliseconds(100) }
        #expect(failure.detail == "nothing came for 0.1 s")
    }

    @Test func `a body that drips for ever is given up`() throws {
        let origin = try TestOrigin()
        origin.on("/", OriginAnswer.page(String(repeating: "a", count: 10_000)).dripping(1, every: .milliseconds(5)))
        let failure = try failure(origin.url("/")) { options in
            options.minBytesPerSecond = 10_000
            options.speedWindow = .milliseconds(200)
        }
        #expect(failure.detail == "under 10000 bytes a second for 0.2 s")
    }

    @Test func `a header that drips for ever is given up`() throws {
        let origin = try RawOrigin { client in
            _ = client.send("HTTP/1.1 200 OK\r\n")
            while client.send("X-A: 1\r\n"), client.pause(.milliseconds(5)) {}
            return true
        }
        let failure = try failure(origin.url("/")) { $0.headerTimeout = .milliseconds(200) }
        #expect(failure.detail == "the header was not whole after 0.2 s")
    }

    @Test func `a line of the header without an end is given up`() throws {
        let origin = try RawOrigin { client in
            _ = client.send("HTTP/1.1 200 OK\r\nX-A: ")
            while client.send("a"), client.pause(.milliseconds(5)) {}
            return true
        }
        // libcurl shows a line when it is whole: until then nothing has come.
        let failure = try failure(origin.url("/")) { $0.stallTimeout = .milliseconds(200) }
        #expect(failure.detail == "nothing came for 0.2 s")
    }

    @Test func `a transfer may have so long and no longer`() throws {
        let origin = try TestOrigin()
        origin.on("/", OriginAnswer.page(String(repeating: "a", count: 100_000)).dripping(100, every: .milliseconds(5)))
        let failure = try failure(origin.url("/")) { options in
            options.totalTimeout = .milliseconds(200)
            options.minBytesPerSecond = 1
        }
        #expect(failure.detail == "not done after 0.2 s")
    }

    @Test func `a connection that is never made is given up`() throws {
        // It takes the connection and never shakes hands.
        let origin = try RawOrigin { _ in true }
        let url = "https://127.0.0.1:\(origin.port)/"
        let failure = try failure(url) { $0.connectTimeout = .milliseconds(200) }
        #expect(failure.detail == "no connection within 0.2 s")
    }

    @Test func `those who wait for the same connection share its fate`() throws {
        let origin = try RawOrigin { _ in true }
        let requests = try (0..<12).map { number in
            try Fetching.request("https://127.0.0.1:\(origin.port)/\(number)") { $0.number = UInt32(number) }
        }
        let clock = ContinuousClock()
        let start = clock.now
        let loop = try Fetching { $0.connectTimeout = .milliseconds(500) }.loop()
        for result in try Fetching.results(of: requests, in: loop).values {
            #expect(try result.failure().kind == .timeout)
        }
        // One after the other would be six seconds.
        #expect(clock.now - start < .seconds(5))
    }

    @Test func `what is given up leaves the others alone`() throws {
        let origin = try TestOrigin()
        origin.on("/slow", .page("late").delayed(.seconds(60)))
        origin.otherwise { .page($0.target) }
        let loop = try Fetching { $0.stallTimeout = .milliseconds(100) }.loop()
        var requests: [FetchRequest] = []
        for number in 0..<20 {
            requests.append(
                try Fetching.request(origin.url(number % 5 == 0 ? "/slow" : "/\(number)")) {
                    $0.number = UInt32(number)
                })
        }
        let results = try Fetching.results(of: requests, in: loop)
        for (number, result) in results {
            if number % 5 == 0 {
                #expect(try result.failure().kind == .timeout)
            } else {
                #expect(try result.response().text() == "/\(number)")
            }
        }
    }
}
