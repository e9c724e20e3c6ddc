internal import System
internal import Web

/// Checks the time limits of a transfer whose request was sent. It has no clock: the caller passes the time.
struct TransferTimer {
    /// The time limits of a transfer.
    struct Limits: Sendable {
        /// The maximum time without a single byte. A longer silence is a timeout.
        var stall: Duration
        /// The maximum time until the header is complete.
        var header: Duration
        /// The maximum time until the response is complete; nil for no limit.
        var total: Duration?
        /// The minimum average rate over each `window`.
        var bytesPerSecond: Int
        var window: Duration

        /// The interval between two checks.
        var checkInterval: Duration {
            min(.seconds(1), max(.milliseconds(5), min(stall, header, window, total ?? window) / 8))
        }
    }

    /// When the request was sent.
    let sent: Duration
    private var byteCount: Int
    private var lastProgress: Duration
    private var window: (start: Duration, byteCount: Int)

    /// - Parameter byteCount: the bytes that were sent and received so far.
    init(now: Duration, byteCount: Int) {
        sent = now
        self.byteCount = byteCount
        lastProgress = now
        window = (now, byteCount)
    }

    /// The failure if a limit is exceeded; nil otherwise. Call it about every `Limits.checkInterval`.
    ///
    /// - Parameter byteCount: the bytes that were sent and received so far.
    mutating func limitFailure(now: Duration, byteCount: Int, headerIsComplete: Bool, _ limits: Limits)
        -> FetchFailure?
    {
        if byteCount != self.byteCount {
            self.byteCount = byteCount
            lastProgress = now
        }
        if now - lastProgress >= limits.stall {
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

    /// Restarts the stall and rate limits. Call it while Larder itself pauses the transfer, which is not the
    /// server's fault.
    mutating func restartAfterPause(now: Duration, byteCount: Int) {
        self.byteCount = byteCount
        lastProgress = now
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

// MARK: - UnboundedBody

/// The kind of a body without a declared length, which decides when it counts as endless.
enum UnboundedBody: Sendable {
    /// Audio or video. A file of this kind usually has a declared length, so one without is likely to be a
    /// live stream.
    case media
    case other

    /// The limits beyond which a body counts as endless.
    struct Limits: Sendable {
        /// The time after which audio or video counts as endless if its average rate is below `minMediaRate`, in
        /// bytes per second.
        var mediaTime: Duration
        var minMediaRate = 64 * 1024
        /// The same for other bodies and `minOtherRate`, in bytes per second.
        var otherTime: Duration
        var minOtherRate = 16 * 1024
        /// The maximum time at any rate.
        var maxTime: Duration
    }

    /// Nil if the length is declared. Throws `.endless` for types that are live streams by definition.
    init?(_ fields: HTTPFields, length: Int?) throws(FetchFailure) {
        guard length == nil else { return nil }
        let type = fields.contentType?.essence ?? ""
        let isOnAir = fields.list.contains { $0.name.lowercased().hasPrefix("icy-") }
        if isOnAir || type == "text/event-stream" || type == "multipart/x-mixed-replace" {
            throw FetchFailure(.endless, "a live stream of \(type)")
        }
        self = type.hasPrefix("audio/") || type.hasPrefix("video/") ? .media : .other
    }

    /// The failure if a body counts as endless after `byteCount` bytes in `time`; nil otherwise. While Larder
    /// throttles the transfers, the rate tells nothing and only the maximum time applies.
    func failure(_ byteCount: Int, in time: Duration, isThrottled: Bool, _ limits: Limits) -> FetchFailure? {
        let (least, rate) =
            switch self {
            case .media: (limits.mediaTime, limits.minMediaRate)
            case .other: (limits.otherTime, limits.minOtherRate)
            }
        let trickles =
            time >= least && !isThrottled && Double(byteCount) < Double(rate) * (time / .seconds(1))
        guard trickles || time >= limits.maxTime else { return nil }
        return FetchFailure(
            .endless, "no declared length, and \(byteCount) bytes were received in \(time.wholeSeconds)")
    }
}

/// The rate limit that all transfers of a loop share. A transfer takes the bytes that libcurl has read only
/// while the gate is open, and pauses otherwise. Only the loop's thread uses it.
final class RateGate {
    private let age = Stopwatch()
    private var bucket: RateBucket

    init(bytesPerSecond: Int) {
        bucket = RateBucket(bytesPerSecond: bytesPerSecond, now: .zero)
    }

    /// The time until more bytes may be taken; zero if they may be taken now.
    var wait: Duration { bucket.wait(now: age.elapsed) }

    var isOpen: Bool { wait == .zero }

    func change(bytesPerSecond: Int) { bucket.change(bytesPerSecond: bytesPerSecond, now: age.elapsed) }

    func take(_ byteCount: Int) { bucket.take(byteCount, now: age.elapsed) }
}

// MARK: - RateBucket

/// A token bucket of bytes that may be received. Bytes that were already on the way may overdraw it. The
/// transfers then wait until it is filled again, so that the long-term rate is exact.
struct RateBucket {
    private var bytesPerSecond: Double
    private var level: Double = 0
    private var lastFill: Duration

    /// The capacity, as seconds at the full rate. After a pause, the bytes of this time may arrive at once; the
    /// rest of the pause is not made up for.
    private static let maxBurstSeconds = 0.25

    init(bytesPerSecond: Int, now: Duration) {
        self.bytesPerSecond = Double(max(1, bytesPerSecond))
        lastFill = now
    }

    /// The time until more bytes may be received; zero if they may be received now.
    mutating func wait(now: Duration) -> Duration {
        fill(now)
        return level >= 0 ? .zero : .seconds(-level / bytesPerSecond)
    }

    /// Changes the rate from `now` on.
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
            bytesPerSecond * Self.maxBurstSeconds, level + bytesPerSecond * ((now - lastFill) / .seconds(1)))
        lastFill = now
    }
}
