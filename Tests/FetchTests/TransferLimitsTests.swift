import Synchronization
import TestOrigin
import Testing
import Web

@testable import Fetch

@Suite struct TransferWatchTests {
    private let limits = TransferWatch.Limits(
        stall: .seconds(30), header: .seconds(130), total: .seconds(300), bytesPerSecond: 64,
        window: .seconds(60))

    /// At each second the count of bytes so far; when it is given up, and why.
    @Test(
        arguments: [
            ([(0, 0), (29, 0), (30, 0)], 30, "nothing was received for 30 s"),
            ([(0, 0), (29, 1), (58, 1), (59, 1)], 59, "nothing was received for 30 s"),
            ([(0, 0), (20, 20), (40, 40), (59, 59), (60, 60)], 60, "under 64 bytes per second for 60 s"),
            (
                [(0, 0), (20, 5000), (60, 5001), (85, 5002), (110, 5003), (120, 5004)], 120,
                "under 64 bytes per second for 60 s"
            ),
            (
                [(0, 0), (20, 5000), (40, 9000), (60, 9999), (80, 20_000), (100, 30_000), (130, 31_000)], 130,
                "the headers were not complete after 130 s"
            ),
        ] as [([(Int, Int)], Int, String)])
    func `what gets nowhere is given up`(steps: [(Int, Int)], end: Int, detail: String) {
        var watch = TransferWatch(now: .zero, byteCount: 0)
        for (second, byteCount) in steps {
            let verdict = watch.verdict(
                now: .seconds(second), byteCount: byteCount, headerIsComplete: false, limits)
            #expect(verdict == (second == end ? FetchFailure(.timeout, detail) : nil), "at \(second) s")
        }
    }

    @Test func `what goes on steadily ends at the total alone`() {
        var watch = TransferWatch(now: .seconds(7), byteCount: 0)
        for second in 8..<307 {
            let now = Duration.seconds(second)
            #expect(watch.verdict(now: now, byteCount: second * 64, headerIsComplete: true, limits) == nil)
        }
        let verdict = watch.verdict(now: .seconds(307), byteCount: 99_999, headerIsComplete: true, limits)
        #expect(verdict?.detail == "not done after 300 s")
        var endless = limits
        endless.total = nil
        #expect(watch.verdict(now: .seconds(308), byteCount: 199_999, headerIsComplete: true, endless) == nil)
    }

    @Test func `time in which larder held back does not count`() {
        var watch = TransferWatch(now: .zero, byteCount: 0)
        for second in stride(from: 10, through: 290, by: 10) {
            watch.wasHeldBack(now: .seconds(second), byteCount: 1)
        }
        #expect(watch.verdict(now: .seconds(299), byteCount: 1, headerIsComplete: true, limits) == nil)
    }

    @Test(arguments: [(30_000, "30 s"), (1500, "1.5 s"), (50, "0.05 s"), (0, "0 s"), (1001, "1.001 s")])
    func `a time is told in seconds`(milliseconds: Int, text: String) {
        #expect(Duration.milliseconds(milliseconds).seconds == text)
    }
}

/// Bodies that never end, each in its own way.
@Suite struct OpenStreamTests {
    private let origin: TestOrigin

    init() throws { origin = try TestOrigin() }

    @Test(arguments: [
        "text/event-stream", "multipart/x-mixed-replace; boundary=x", "Text/Event-Stream;charset=utf-8",
    ])
    func `what is on the air by its type is not waited for`(type: String) throws {
        origin.on("/", OriginAnswer.endless("data: 1\n\n", type: type))
        let failure = try Fetching().failure(origin.url("/"))
        #expect(failure.kind == .endless)
        #expect(!failure.mayPass)
    }

    @Test func `nor is a radio that says so`() throws {
        origin.on("/", OriginAnswer.endless("mp3", type: "audio/mpeg").adding("icy-metaint", "16000"))
        #expect(
            try Fetching().failure(origin.url("/")).description
                == "no end in sight (a live stream of audio/mpeg)")
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
            options.stallTimeout = .seconds(60)
        }
        #expect(try fetching.failure(origin.url("/")).kind == .endless)
        #expect(fetching.scratch.names().isEmpty)
    }

    @Test func `what comes fast without a length is cut after a long time`() throws {
        origin.on("/", OriginAnswer.endless(String(repeating: "a", count: 10_000)))
        let fetching = try Fetching { options in
            options.openTimeout = .milliseconds(200)
            options.stallTimeout = .seconds(60)
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
    func `how long is too long`(
        bytes: Int, seconds: Int, isThrottled: Bool, isSoundCut: Bool, isOtherCut: Bool
    ) {
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

    /// Counts what it gets.
    private final class Listener: BodyStream {
        let counts = Mutex<(byteCount: Int, isWhole: Bool?)>((0, nil))
        func begin(status: Int, fields: HTTPFields, isCoded: Bool, byteCount: Int?) -> Bool { true }
        var hasRoom: Bool { true }
        var isGone: Bool { false }
        func take(_ bytes: UnsafeRawBufferPointer) { counts.withLock { $0.byteCount += bytes.count } }
        func end(isWhole: Bool) { counts.withLock { $0.isWhole = isWhole } }
    }

    @Test(arguments: [true, false])
    func `who gets a body as it comes gets all of one that there is no room for`(hasLength: Bool) throws {
        let answer = OriginAnswer.file([UInt8](repeating: 7, count: 30_000_000), type: "video/mp4")
        origin.on("/", hasLength ? answer : answer.untilClose())
        let fetching = try Fetching { $0.room = { _ in 5_000_000 } }
        let listener = Listener()
        let result = try fetching.result(of: Fetching.request(origin.url("/")) { $0.stream = listener })
        #expect(try result.failure().kind == .noRoom)
        #expect(result.isPassedOn)
        #expect(listener.counts.withLock { $0.byteCount == 30_000_000 && $0.isWhole == true })
        #expect(fetching.scratch.names().isEmpty)
    }
}

@Suite struct RateBucketTests {
    @Test func `debt is waited for exactly`() {
        var bucket = RateBucket(bytesPerSecond: 1000, now: .zero)
        #expect(bucket.wait(now: .zero) == .zero)
        bucket.take(500, now: .zero)
        #expect(bucket.wait(now: .zero) == .milliseconds(500))
        #expect(bucket.wait(now: .milliseconds(400)) == .milliseconds(100))
        bucket.take(100, now: .milliseconds(400))
        #expect(bucket.wait(now: .milliseconds(600)) == .zero)
    }

    @Test func `a quiet line may catch up with a quarter of a second only`() {
        var bucket = RateBucket(bytesPerSecond: 1000, now: .zero)
        bucket.take(250, now: .seconds(100))
        #expect(bucket.wait(now: .seconds(100)) == .zero)
        bucket.take(1, now: .seconds(100))
        #expect(bucket.wait(now: .seconds(100)) == .milliseconds(1))
    }

    /// Whatever comes at once when it is let come, over a minute the rate is kept.
    @Test(arguments: [100, 5000, 64_000, 1_000_000])
    func `the rate is kept in the long run`(gulp: Int) {
        var bucket = RateBucket(bytesPerSecond: 50_000, now: .zero)
        var now = Duration.zero
        var total = 0
        while now < .seconds(600) {
            let wait = bucket.wait(now: now)
            if wait == .zero {
                bucket.take(gulp, now: now)
                total += gulp
            }
            now += max(wait, .milliseconds(1))
        }
        let most = 50_000 * 600 + 12_500 + gulp
        #expect(total <= most)
        #expect(gulp < 5000 || total >= 50_000 * 600 * 95 / 100)
    }
}

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
        try Fetching.withLimits(from: .milliseconds(50)) { limit in
            let fetching = try Fetching { options in
                options.bytesPerSecond = 100_000
                options.stallTimeout = limit
                options.speedWindow = limit
                options.minBytesPerSecond = 1_000_000
            }
            let result = try fetching.result(origin.url("/"))
            if case .failure(let failure) = result.outcome, failure.kind == .timeout { return [0] }
            #expect(try result.response().body.byteCount == 60_000)
            return []
        }
    }
}
