import TestOrigin
import Testing
import Web

@testable import Fetch

/// Bodies that never end, each in its own way.
@Suite struct OpenStreamTests {
    private let origin: TestOrigin

    init() throws { origin = try TestOrigin() }

    @Test(arguments: ["text/event-stream", "multipart/x-mixed-replace; boundary=x", "Text/Event-Stream;charset=utf-8"])
    func `what is on the air by its type is not waited for`(type: String) throws {
        origin.on("/", OriginAnswer.endless("data: 1\n\n", type: type))
        let failure = try Fetching().failure(origin.url("/"))
        #expect(failure.kind == .endless)
        #expect(!failure.mayPass)
    }

    @Test func `nor is a radio that says so`() throws {
        origin.on("/", OriginAnswer.endless("mp3", type: "audio/mpeg").adding("icy-metaint", "16000"))
        #expect(try Fetching().failure(origin.url("/")).description == "no end in sight (a live stream of audio/mpeg)")
    }

    @Test func `the same types are taken where they have a length`() throws {
        for type in ["text/event-stream", "audio/mpeg"] {
            origin.on("/", .file("data: 1\n\n", type: type))
            #expect(try Fetching().response(origin.url("/")).body.byteCount == 9)
        }
    }

    @Test(arguments: ["audio/mpeg", "video/mp2t", "text/html"])
    func `what trickles without a length is cut`(type: String) throws {
        let piece = String(repeating: "a", count: 1000)
        origin.on("/", OriginAnswer.endless(piece, type: type).dripping(100, every: .milliseconds(10)))
        let fetching = try Fetching { options in
            options.liveTimeout = .milliseconds(300)
            options.trickleTimeout = .milliseconds(300)
            options.stallTimeout = .seconds(5)
        }
        #expect(try fetching.failure(origin.url("/")).kind == .endless)
        #expect(fetching.scratch.names().isEmpty)
    }

    @Test func `what comes fast without a length is cut after a long time`() throws {
        origin.on("/", OriginAnswer.endless(String(repeating: "a", count: 10_000)))
        let fetching = try Fetching { options in
            options.openTimeout = .milliseconds(200)
            options.stallTimeout = .seconds(5)
        }
        #expect(try fetching.failure(origin.url("/")).kind == .endless)
        #expect(fetching.scratch.names().isEmpty)
    }

    private static let limits = OpenStream.Limits(
        mediaTime: .seconds(30), otherTime: .seconds(120), longest: .seconds(900))

    /// Bytes, seconds, whether it is throttled, and whether it is cut as sound and as anything else.
    @Test(
        arguments: [
            (1_200_000, 29, false, false, false), (1_200_000, 30, false, true, false),
            // 320 kbit/s, as the best of radios.
            (40_000 * 60, 60, false, true, false), (10_000_000, 30, false, false, false),
            (1_000_000, 120, false, true, true), (2_400_000, 120, false, true, false),
            (1_000_000, 120, true, false, false), (2_000_000_000, 900, true, true, true),
        ] as [(Int, Int, Bool, Bool, Bool)])
    func `how long is too long`(bytes: Int, seconds: Int, isThrottled: Bool, isSoundCut: Bool, isOtherCut: Bool) {
        for (stream, isCut) in [(OpenStream.media, isSoundCut), (.other, isOtherCut)] {
            let failure = stream.failure(bytes, in: .seconds(seconds), isThrottled: isThrottled, Self.limits)
            #expect((failure != nil) == isCut, "\(stream)")
        }
    }

    @Test(arguments: [true, false])
    func `a body that would fill the disk is left, and named`(hasLength: Bool) throws {
        let answer = OriginAnswer.file([UInt8](repeating: 7, count: 30_000_000), type: "video/mp4")
        origin.on("/", hasLength ? answer : answer.untilClose())
        let fetching = try Fetching { $0.room = { _ in 5_000_000 } }
        let failure = try fetching.failure(origin.url("/"))
        #expect(failure.kind == .noRoom)
        #expect(!failure.mayPass)
        #expect(fetching.scratch.names().isEmpty)
        let roomy = try Fetching { $0.room = { _ in 31_000_000 } }
        let response = try roomy.response(origin.url("/"))
        #expect(response.body.byteCount == 30_000_000)
        response.body.discard()
    }
}
