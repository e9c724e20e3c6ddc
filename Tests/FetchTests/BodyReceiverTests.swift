import Fetch
import System
import TestOrigin
import Testing
import Web

@Suite struct BodyReceiverTests {
    private let origin: TestOrigin
    private let scratch: TemporaryFolder

    init() throws {
        origin = try TestOrigin()
        scratch = try TemporaryFolder()
    }

    private final class Pieces: BodyReceiver {
        var statuses: [UInt32: [Int]] = [:]
        var bodies: [UInt32: [UInt8]] = [:]

        func begin(_ number: UInt32, status: Int, fields: HTTPFields) -> Bool {
            statuses[number, default: []].append(status)
            return status == 200
        }

        var most = Int.max

        func take(_ number: UInt32, _ bytes: Span<UInt8>) -> Bool {
            bytes.withUnsafeBufferPointer { bodies[number, default: []].append(contentsOf: $0) }
            return bodies[number, default: []].count < most
        }
    }

    private func receive(
        _ targets: [String], keepsCoding: Bool = false, most: Int = .max,
        _ change: (inout FetchOptions) -> Void = { _ in }
    ) throws -> (Pieces, [Int: Result<FetchedResponse, FetchFailure>]) {
        var options = FetchOptions(userAgent: "larder-test", spoolFolder: scratch.path)
        options.proxies = ProxyRules()
        change(&options)
        let pieces = Pieces()
        pieces.most = most
        var outcomes: [Int: Result<FetchedResponse, FetchFailure>] = [:]
        var next = targets.enumerated().makeIterator()
        try FetchBatch.run(
            options: options, running: 2, receiver: pieces, interruption: Interruption(),
            next: {
                guard let (number, target) = next.next(), let url = WebURL(origin.url(target)) else {
                    return nil
                }
                var request = FetchRequest(
                    number: UInt32(number), url: url, nearestZone: .thisMachine)
                request.keepsCoding = keepsCoding
                return request
            },
            each: { outcomes[$0] = $1 })
        return (pieces, outcomes)
    }

    /// "hello", by `gzip -n`.
    private static let gzip: [UInt8] = [
        0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0, 0x03, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0, 0x86, 0xA6, 0x10,
        0x36, 0x05,
        0, 0, 0,
    ]

    @Test func `the receiver gets the bodies as they arrive, and the responses have empty bodies`() throws {
        let body = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 * 7) }
        origin.on("/large", .file(body, type: "image/png"))
        origin.on("/empty", .file([], type: "text/plain"))
        origin.on("/old", .redirect(to: "/large"))
        let (pieces, outcomes) = try receive(["/large", "/empty", "/old", "/missing"])
        #expect(pieces.bodies == [0: body, 2: body])
        #expect(pieces.statuses == [0: [200], 1: [200], 2: [302, 200], 3: [404]])
        #expect(try outcomes[0]?.get().body.byteCount == 0)
        #expect(try outcomes[2]?.get().fields["Content-Type"] == "image/png")
        guard case .failure? = outcomes[3] else { throw FetchFailure(.broken, "it was found") }
        #expect(scratch.names().isEmpty)
    }

    @Test func `the receiver gets a body decoded unless the request keeps its coding`() throws {
        origin.on("/", .file(Self.gzip, type: "text/plain").adding("Content-Encoding", "gzip"))
        #expect(try receive(["/"]).0.bodies[0] == Array("hello".utf8))
        #expect(try receive(["/"], keepsCoding: true).0.bodies[0] == Self.gzip)
        // With the same Accept-Encoding, so that the server sends the same body.
        #expect(Set(origin.requests.map { $0["Accept-Encoding"] ?? "" }).count == 1)
    }

    @Test func `a body over the size limit fails whether or not the receiver wants it`() throws {
        origin.on("/", .file([UInt8](repeating: 1, count: 100_000), type: "text/plain").chunked())
        let (_, outcomes) = try receive(["/"]) { $0.maxBodyBytes = 50_000 }
        guard case .failure(let failure)? = outcomes[0] else { throw FetchFailure(.broken, "it was taken") }
        #expect(failure.kind == .tooLarge)
    }

    @Test func `a transfer ends when the receiver wants no more bytes`() throws {
        origin.on("/", .endless("more"))
        let (pieces, outcomes) = try receive(["/"], most: 100_000)
        guard case .failure(let failure)? = outcomes[0] else { throw FetchFailure(.broken, "it was taken") }
        #expect(failure.kind == .tooLarge)
        #expect((100_000..<200_000).contains(pieces.bodies[0]?.count ?? 0))
    }

    @Test func `a request that cannot be started has an outcome`() throws {
        var options = FetchOptions(userAgent: "larder-test", spoolFolder: scratch.path)
        options.maxURLBytes = 10
        var outcomes = 0
        let url = try #require(WebURL(origin.url("/a/long/path")))
        try FetchBatch.run([url], nearestZone: .thisMachine, options: options, interruption: Interruption()) {
            _, _ in outcomes += 1
        }
        #expect(outcomes == 1)
    }
}
