import Fetch
import TestOrigin
import Testing
import Web

/// A server that makes one mistake after another, with many requests over few connections.
@Suite struct FaultTests {
    private static let body = [UInt8](repeating: 0x61, count: 20_000)

    private static func answer(_ number: Int) -> OriginAnswer {
        let file = OriginAnswer.file(body, type: "text/plain")
        return switch number % 16 {
        case 1: .hangUp
        case 2: .reset
        case 3: .garbage("nonsense\r\n\r\n")
        case 4: file.truncated(after: 5000)
        case 5: file.reset(after: 5000)
        case 6: file.claiming(length: 30_000).closing()
        case 7: file.brokenChunk(after: 9000)
        case 8: .failure(503)
        case 9: file.adding("Content-Encoding", "gzip")
        case 10: file.delayed(.seconds(3600))
        case 11: OriginAnswer(status: 204)
        case 12: file.closing()
        case 13: file.chunked(1000)
        case 14: file.untilClose()
        case 15: .garbage("HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n")
        default: file
        }
    }

    @Test(arguments: [nil, 4_000_000])
    func `every request to a faulty server has one result, and complete responses stay complete`(rate: Int?)
        throws
    {
        let origin = try TestOrigin()
        origin.otherwise { Self.answer(Int($0.target.dropFirst()) ?? 0) }
        try TestFetcher.withLimits(from: .milliseconds(500)) { limit in
            try sendRequests(origin, limit: limit, rate: rate)
        }
    }

    /// Sends all requests. Returns the numbers of those that reached the time limit although they had no fault.
    private func sendRequests(_ origin: TestOrigin, limit: Duration, rate: Int?) throws -> [UInt32] {
        let fetching = try TestFetcher { options in
            options.maxConnectionsPerHost = 8
            options.stallTimeout = limit
            options.bytesPerSecond = rate
        }
        let loop = try fetching.loop()
        var counts: [UInt32: Int] = [:]
        var ended: [UInt32] = []
        var next = 0
        while counts.count < 480 {
            while next < 480, loop.runningCount < 24 {
                let number = UInt32(next)
                loop.start(try TestFetcher.request(origin.url("/\(next)")) { $0.number = number })
                next += 1
            }
            for result in try loop.turn(waitingAtMost: .seconds(20)) {
                counts[result.number, default: 0] += 1
                let number = Int(result.number)
                switch result.outcome {
                case .response(let response):
                    #expect([0, 8, 11, 12, 13, 14].contains(number % 16), "\(number)")
                    if response.status == 200 { #expect(response.body.byteCount == Self.body.count) }
                case .failure(let failure) where failure.kind == .timeout && number % 16 != 10:
                    ended.append(result.number)
                case .failure(let failure):
                    #expect([1, 2, 3, 4, 5, 6, 7, 9, 10, 15].contains(number % 16), "\(number): \(failure)")
                }
            }
        }
        #expect(counts.values.allSatisfy { $0 == 1 })
        #expect(loop.runningCount == 0)
        #expect(fetching.scratch.names().isEmpty)
        return ended
    }
}
