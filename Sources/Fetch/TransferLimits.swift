internal import System
internal import Web

/// Whether a transfer whose request was sent still gets anywhere. The time is told, never asked for.
struct TransferWatch {
    /// How long a server may take.
    struct Limits: Sendable {
        /// Without a single byte.
        var stall: Duration
        /// Until the header is whole.
        var header: Duration
        /// Until everything is there.
        var total: Duration?
        /// Less than this for a whole `window`, and nothing will come of it.
        var bytesPerSecond: Int
        var window: Duration

        /// How often it is worth looking.
        var tick: Duration {
            min(.seconds(1), max(.milliseconds(5), min(stall, header, window, total ?? window) / 8))
        }
    }

    let sent: Duration
    private var byteCount: Int
    private var lastByte: Duration
    private var window: (start: Duration, byteCount: Int)

    /// - Parameter byteCount: what was moved in either direction so far.
    init(now: Duration, byteCount: Int) {
        sent = now
        self.byteCount = byteCount
        lastByte = now
        window = (now, byteCount)
    }

    /// Nil while there is hope.
    mutating func verdict(now: Duration, byteCount: Int, headerIsComplete: Bool, _ limits: Limits)
        -> FetchFailure?
    {
        if byteCount != self.byteCount {
            self.byteCount = byteCount
            lastByte = now
        }
        if now - lastByte >= limits.stall {
            return FetchFailure(.timeout, "nothing was received for \(limits.stall.seconds)")
        }
        if !headerIsComplete, now - sent >= limits.header {
            return FetchFailure(.timeout, "the headers were not complete after \(limits.header.seconds)")
        }
        if let total = limits.total, now - sent >= total {
            return FetchFailure(.timeout, "not done after \(total.seconds)")
        }
        let span = now - window.start
        guard span >= limits.window else { return nil }
        let moved = byteCount - window.byteCount
        window = (now, byteCount)
        guard Double(moved) < Double(limits.bytesPerSecond) * (span / .seconds(1)) else { return nil }
        return FetchFailure(
            .timeout, "under \(limits.bytesPerSecond) bytes per second for \(limits.window.seconds)")
    }

    /// Larder itself kept the bytes back: for that nobody is to blame.
    mutating func wasHeldBack(now: Duration, byteCount: Int) {
        self.byteCount = byteCount
        lastByte = now
        window = (now, byteCount)
    }
}

extension Duration {
    var milliseconds: Int {
        Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000)
    }

    /// `30 s`
    var wholeSeconds: String { "\(components.seconds) s" }

    /// `30 s`, `1.5 s`, `0.05 s`
    var seconds: String {
        let whole = milliseconds / 1000
        guard milliseconds % 1000 != 0 else { return "\(whole) s" }
        var digits = String(String(1000 + milliseconds % 1000).dropFirst())
        while digits.hasSuffix("0") { digits.removeLast() }
        return "\(whole).\(digits) s"
    }
}

// MARK: - OpenStream

/// A body whose length nobody told, as far as that shows that it has no end.
enum OpenStream: Sendable {
    /// Sound or film: a file of it has a length.
    case media
    case other

    /// From when on one counts as endless.
    struct Limits: Sendable {
        /// How long sound or film may come as slowly as it is heard, in bytes a second.
        var mediaTime: Duration
        var mediaRate = 64 * 1024
        /// The same for what else trickles.
        var otherTime: Duration
        var otherRate = 16 * 1024
        /// However fast it comes.
        var longest: Duration
    }

    /// Nil where the length is told. Throws for what is on the air by its nature.
    init?(_ fields: HTTPFields, length: Int?) throws(FetchFailure) {
        guard length == nil else { return nil }
        let type = fields.contentType?.essence ?? ""
        let isOnAir = fields.list.contains { $0.name.lowercased().hasPrefix("icy-") }
        if isOnAir || type == "text/event-stream" || type == "multipart/x-mixed-replace" {
            throw FetchFailure(.endless, "a live stream of \(type)")
        }
        self = type.hasPrefix("audio/") || type.hasPrefix("video/") ? .media : .other
    }

    /// Why there is no use in waiting any longer for what so much came of in such a time.
    func failure(_ byteCount: Int, in time: Duration, isThrottled: Bool, _ limits: Limits) -> FetchFailure? {
        let (least, rate) =
            switch self {
            case .media: (limits.mediaTime, limits.mediaRate)
            case .other: (limits.otherTime, limits.otherRate)
            }
        let trickles =
            time >= least && !isThrottled && Double(byteCount) < Double(rate) * (time / .seconds(1))
        guard trickles || time >= limits.longest else { return nil }
        return FetchFailure(
            .endless, "no declared length, and \(byteCount) bytes were received in \(time.wholeSeconds)")
    }
}

/// The rate of a loop, as its transfers meet it: each asks before it takes what libcurl has read, and waits
/// while there is debt. Only the loop's thread uses it.
final class RateGate {
    private let age = Stopwatch()
    private var bucket: RateBucket

    init(bytesPerSecond: Int) {
        bucket = RateBucket(bytesPerSecond: bytesPerSecond, now: .zero)
    }

    /// How long nothing more may be taken; zero when something may.
    var wait: Duration { bucket.wait(now: age.elapsed) }

    var isOpen: Bool { wait == .zero }

    func change(bytesPerSecond: Int) { bucket.change(bytesPerSecond: bytesPerSecond, now: age.elapsed) }

    func take(_ byteCount: Int) { bucket.take(byteCount, now: age.elapsed) }
}

// MARK: - RateBucket

/// How many bytes may come: a bucket that fills at a rate. What was on its way already may overdraw it; the
/// debt is waited for, so that in the long run the rate is kept exactly.
struct RateBucket {
    private var bytesPerSecond: Double
    private var level: Double = 0
    private var filled: Duration

    /// What it holds at most: the part of a second that a quiet line may catch up with.
    private static let mostSeconds = 0.25

    init(bytesPerSecond: Int, now: Duration) {
        self.bytesPerSecond = Double(max(1, bytesPerSecond))
        filled = now
    }

    /// How long nothing more may come; zero when something may.
    mutating func wait(now: Duration) -> Duration {
        fill(now)
        return level >= 0 ? .zero : .seconds(-level / bytesPerSecond)
    }

    /// What came until now was at the rate before.
    mutating func change(bytesPerSecond: Int, now: Duration) {
        fill(now)
        self.bytesPerSecond = Double(max(1, bytesPerSecond))
    }

    mutating func take(_ byteCount: Int, now: Duration) {
        fill(now)
        level -= Double(byteCount)
    }

    private mutating func fill(_ now: Duration) {
        level = min(
            bytesPerSecond * Self.mostSeconds, level + bytesPerSecond * ((now - filled) / .seconds(1)))
        filled = now
    }
}
