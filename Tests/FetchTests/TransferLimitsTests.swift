import Synchronization
import TestOrigin
import Testing
import Web

@testable import Fetch

@Suite struct TransferWatchTests {
    private let limits = TransferTimer.Limits(
        stall: .seconds(30), header: .seconds(130), total: .seconds(300), minBytesPerSecond: 64,
        rateWindow: .seconds(60))

    /// The bytes received so far at each second, the second of the timeout, and its reason.
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
    func `a transfer without enough progress is a timeout`(steps: [(Int, Int)], end: Int, detail: String) {
        var watch = TransferTimer(now: .zero, byteCount: 0)
        for (second, byteCount) in steps {
            let limitFailure = watch.limitFailure(
                now: .seconds(second), byteCount: byteCount, headerIsComplete: false, limits)
            #expect(limitFailure == (second == end ? FetchFailure(.timeout, detail) : nil), "at \(second) s")
        }
    }

    @Test func `a steady transfer ends only at the total time limit`() {
        var watch = TransferTimer(now: .seconds(7), byteCount: 0)
        for second in 8..<307 {
            let now = Duration.seconds(second)
            #expect(
                watch.limitFailure(now: now, byteCount: second * 64, headerIsComplete: true, limits) == nil)
        }
        let limitFailure = watch.limitFailure(
            now: .seconds(307), byteCount: 99_999, headerIsComplete: true, limits)
        #expect(limitFailure?.detail == "not done after 300 s")
        var endless = limits
        endless.total = nil
        #expect(
            watch.limitFailure(now: .seconds(308), byteCount: 199_999, headerIsComplete: true, endless) == nil
        )
    }

    @Test func `time in which Larder paused the transfer does not count`() {
        var watch = TransferTimer(now: .zero, byteCount: 0)
        for second in stride(from: 10, through: 290, by: 10) {
            watch.restartAfterPause(now: .seconds(second), byteCount: 1)
        }
        #expect(watch.limitFailure(now: .seconds(299), byteCount: 1, headerIsComplete: true, limits) == nil)
    }

    /// A stream whose client reads only when the test says so.
    private final class Client: BodyStream {
        let isReading = Mutex(false)
        func begin(status: Int, fields: HTTPFields, isCoded: Bool, byteCount: Int?) -> Bool { true }
        var hasRoom: Bool { isReading.withLock { $0 } }
        var isGone: Bool { false }
        func take(_ bytes: UnsafeRawBufferPointer) {}
        func end(isWhole: Bool) {}
    }

    @Test func `a pause that begins and ends between two checks does not count`() throws {
        let fetching = try TestFetcher()
        let transfer = try Transfer(TransferSetup(fetching.options, nil))
        let client = Client()
        try transfer.start(TestFetcher.request("http://127.0.0.1:9/") { $0.stream = client })
        (transfer.isSent, transfer.isStreamed, transfer.hasKnownEnd) = (true, true, true)
        #expect(transfer.limitFailure(now: .zero, limits) == nil)
        #expect(!transfer.takeOrPause())
        client.isReading.withLock { $0 = true }
        // libcurl refuses to resume a handle that it does not run.
        try? transfer.resume()
        #expect(transfer.pauseNumber == nil)
        #expect(transfer.limitFailure(now: .seconds(100), limits) == nil)
        #expect(transfer.limitFailure(now: .seconds(129), limits) == nil)
        #expect(transfer.limitFailure(now: .seconds(130), limits)?.kind == .timeout)
    }

    @Test(arguments: [(30_000, "30 s"), (1500, "1.5 s"), (50, "0.05 s"), (0, "0 s"), (1001, "1.001 s")])
    func `a duration is formatted in seconds`(milliseconds: Int, text: String) {
        #expect(Duration.milliseconds(milliseconds).seconds == text)
    }
}

/// Bodies that never end, of different kinds.
@Suite struct OpenStreamTests {
    private let origin: TestOrigin

    init() throws { origin = try TestOrigin() }

    @Test(arguments: [
        "text/event-stream", "multipart/x-mixed-replace; boundary=x", "Text/Event-Stream;charset=utf-8",
    ])
    func `live stream types fail as endless at once`(type: String) throws {
        origin.on("/", OriginAnswer.endless("data: 1\n\n", type: type))
        let failure = try TestFetcher().failure(origin.url("/"))
        #expect(failure.kind == .endless)
        #expect(!failure.canRetry)
    }

    @Test func `a response with icy fields fails as endless at once`() throws {
        origin.on("/", OriginAnswer.endless("mp3", type: "audio/mpeg").adding("icy-metaint", "16000"))
        #expect(
            try TestFetcher().failure(origin.url("/")).description
                == "endless response (a live stream of audio/mpeg)")
    }

    @Test func `live stream types with a declared length are fetched`() throws {
        for type in ["text/event-stream", "audio/mpeg"] {
            origin.on("/", .file("data: 1\n\n", type: type))
            #expect(try TestFetcher().response(origin.url("/")).body.byteCount == 9)
        }
    }

    @Test(arguments: ["audio/mpeg", "video/mp2t", "text/html"])
    func `a slow body without a declared length fails as endless`(type: String) throws {
        let piece = String(repeating: "a", count: 1000)
        origin.on("/", OriginAnswer.endless(piece, type: type).dripping(100, every: .milliseconds(10)))
        let fetching = try TestFetcher { options in
            options.slowMediaTimeout = .milliseconds(300)
            options.slowBodyTimeout = .milliseconds(300)
            options.stallTimeout = .seconds(60)
        }
        #expect(try fetching.failure(origin.url("/")).kind == .endless)
        #expect(fetching.scratch.names().isEmpty)
    }

    @Test func `a fast body without a declared length fails after the maximum time`() throws {
        origin.on("/", OriginAnswer.endless(String(repeating: "a", count: 10_000)))
        let fetching = try TestFetcher { options in
            options.unboundedBodyTimeout = .milliseconds(200)
            options.stallTimeout = .seconds(60)
        }
        #expect(try fetching.failure(origin.url("/")).kind == .endless)
        #expect(fetching.scratch.names().isEmpty)
    }

    private static let limits = UnboundedBody.Limits(
        slowMediaTime: .seconds(30), slowOtherTime: .seconds(120), maxTime: .seconds(900))

    /// Bytes, seconds, whether the transfer is throttled, and whether it fails as media and as another type.
    @Test(
        arguments: [
            (1_200_000, 29, false, false, false), (1_200_000, 30, false, true, false),
            // 320 kbit/s, the highest rate of MP3 radio.
            (40_000 * 60, 60, false, true, false), (10_000_000, 30, false, false, false),
            (1_000_000, 120, false, true, true), (2_400_000, 120, false, true, false),
            (1_000_000, 120, true, false, false), (2_000_000_000, 900, true, true, true),
        ] as [(Int, Int, Bool, Bool, Bool)])
    func `the limit for a body without a length depends on its type, rate and time`(
        bytes: Int, seconds: Int, isThrottled: Bool, isSoundCut: Bool, isOtherCut: Bool
    ) {
        for (stream, isCut) in [(UnboundedBody.media, isSoundCut), (.other, isOtherCut)] {
            let failure = stream.failure(bytes, in: .seconds(seconds), isThrottled: isThrottled, Self.limits)
            #expect((failure != nil) == isCut, "\(stream)")
        }
    }

    @Test(arguments: [true, false])
    func `a body that would fill the disk fails with the sizes`(hasLength: Bool) throws {
        let answer = OriginAnswer.file([UInt8](repeating: 7, count: 30_000_000), type: "video/mp4")
        origin.on("/", hasLength ? answer : answer.untilClose())
        let fetching = try TestFetcher { $0.freeSpace = { _ in 5_000_000 } }
        let failure = try fetching.failure(origin.url("/"))
        #expect(failure.kind == .diskFull)
        #expect(!failure.canRetry)
        #expect(fetching.scratch.names().isEmpty)
        let roomy = try TestFetcher { $0.freeSpace = { _ in 31_000_000 } }
        let response = try roomy.response(origin.url("/"))
        #expect(response.body.byteCount == 30_000_000)
        response.body.discard()
    }

    /// A stream that counts its bytes.
    private final class Listener: BodyStream {
        let counts = Mutex<(byteCount: Int, isWhole: Bool?)>((0, nil))
        func begin(status: Int, fields: HTTPFields, isCoded: Bool, byteCount: Int?) -> Bool { true }
        var hasRoom: Bool { true }
        var isGone: Bool { false }
        func take(_ bytes: UnsafeRawBufferPointer) { counts.withLock { $0.byteCount += bytes.count } }
        func end(isWhole: Bool) { counts.withLock { $0.isWhole = isWhole } }
    }

    @Test(arguments: [true, false])
    func `a stream gets the whole body even if the disk has no room for it`(hasLength: Bool) throws {
        let answer = OriginAnswer.file([UInt8](repeating: 7, count: 30_000_000), type: "video/mp4")
        origin.on("/", hasLength ? answer : answer.untilClose())
        let fetching = try TestFetcher { $0.freeSpace = { _ in 5_000_000 } }
        let listener = Listener()
        let result = try fetching.result(of: TestFetcher.request(origin.url("/")) { $0.stream = listener })
        #expect(try result.failure().kind == .diskFull)
        #expect(result.isStreamedOnly)
        #expect(listener.counts.withLock { $0.byteCount == 30_000_000 && $0.isWhole == true })
        #expect(fetching.scratch.names().isEmpty)
    }
}

@Suite struct RateBucketTests {
    @Test func `the wait is exactly as long as the overdrawn bytes take`() {
        var bucket = RateBucket(bytesPerSecond: 1000, now: .zero)
        #expect(bucket.timeUntilAvailable(now: .zero) == .zero)
        bucket.take(500, now: .zero)
        #expect(bucket.timeUntilAvailable(now: .zero) == .milliseconds(500))
        #expect(bucket.timeUntilAvailable(now: .milliseconds(400)) == .milliseconds(100))
        bucket.take(100, now: .milliseconds(400))
        #expect(bucket.timeUntilAvailable(now: .milliseconds(600)) == .zero)
    }

    @Test func `after a pause, at most a quarter of a second's bytes arrive at once`() {
        var bucket = RateBucket(bytesPerSecond: 1000, now: .zero)
        bucket.take(250, now: .seconds(100))
        #expect(bucket.timeUntilAvailable(now: .seconds(100)) == .zero)
        bucket.take(1, now: .seconds(100))
        #expect(bucket.timeUntilAvailable(now: .seconds(100)) == .milliseconds(1))
    }

    /// However many bytes arrive at once, the rate over a minute is exact.
    @Test(arguments: [100, 5000, 64_000, 1_000_000])
    func `the average rate over a minute is the limit`(readSize: Int) {
        var bucket = RateBucket(bytesPerSecond: 50_000, now: .zero)
        var now = Duration.zero
        var total = 0
        while now < .seconds(600) {
            let wait = bucket.timeUntilAvailable(now: now)
            if wait == .zero {
                bucket.take(readSize, now: now)
                total += readSize
            }
            now += max(wait, .milliseconds(1))
        }
        let most = 50_000 * 600 + 12_500 + readSize
        #expect(total <= most)
        #expect(readSize < 5000 || total >= 50_000 * 600 * 95 / 100)
    }
}

@Suite struct RateTests {
    /// A benchmark shows that it is not slower than the limit either.
    @Test(arguments: [(1, 400_000), (8, 50_000), (400, 500)])
    func `all transfers together stay within the rate limit`(count: Int, size: Int) throws {
        let origin = try TestOrigin()
        let body = [UInt8](repeating: 1, count: size)
        origin.otherwise { _ in .file(body, type: "image/png") }
        let fetching = try TestFetcher { $0.bytesPerSecond = 1_000_000 }
        var requests: [FetchRequest] = []
        for number in 0..<count {
            requests.append(try TestFetcher.request(origin.url("/\(number)")) { $0.number = UInt32(number) })
        }
        let clock = ContinuousClock()
        let start = clock.now
        let results = try TestFetcher.results(of: requests, in: try fetching.loop())
        let elapsed = clock.now - start
        for result in results.values { #expect(try result.response().body.byteCount == size) }
        let wire = results.values.reduce(0) { $0 + $1.wireByteCount }
        // The limit does not delay the last reads, of one buffer for each running transfer.
        let owed = Double(wire - min(count, 8) * 64_000) / 1_000_000
        #expect(elapsed >= .seconds(owed * 0.9))
    }

    @Test func `a transfer that the rate limit pauses is not a timeout`() throws {
        let origin = try TestOrigin()
        origin.on("/", .file([UInt8](repeating: 1, count: 60_000), type: "image/png"))
        try TestFetcher.withLimits(from: .milliseconds(50)) { limit in
            let fetching = try TestFetcher { options in
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
