import Fetch
import TestOrigin
import Testing
import Web

@Suite struct RateTests {
    /// That it is not slower than it says either, a benchmark shows.
    @Test(arguments: [(1, 400_000), (8, 50_000), (400, 500)])
    func `all transfers together keep the rate`(count: Int, size: Int) throws {
        let origin = try TestOrigin()
        let body = [UInt8](repeating: 1, count: size)
        origin.otherwise { _ in .file(body, type: "image/png") }
        let fetching = try Fetching { $0.bytesPerSecond = 1_000_000 }
        var requests: [FetchRequest] = []
        for number in 0..<count {
            requests.append(try Fetching.request(origin.url("/\(number)")) { $0.number = UInt32(number) })
        }
        let clock = ContinuousClock()
        let start = clock.now
        let results = try Fetching.results(of: requests, in: try fetching.loop())
        let elapsed = clock.now - start
        for result in results.values { #expect(try result.response().body.byteCount == size) }
        let wire = results.values.reduce(0) { $0 + $1.wireByteCount }
        // What the last gulp took is not waited for any more: one buffer of each transfer that runs.
        let owed = Double(wire - min(count, 8) * 64_000) / 1_000_000
        #expect(elapsed >= .seconds(owed * 0.9))
    }

    @Test func `who is held back is not given up for it`() throws {
        let origin = try TestOrigin()
        origin.on("/", .file([UInt8](repeating: 1, count: 60_000), type: "image/png"))
        let fetching = try Fetching { options in
            options.bytesPerSecond = 100_000
            options.stallTimeout = .milliseconds(50)
            options.speedWindow = .milliseconds(50)
            options.minBytesPerSecond = 1_000_000
        }
        #expect(try fetching.response(origin.url("/")).body.byteCount == 60_000)
    }
}
