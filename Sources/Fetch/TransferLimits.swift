internal import System
internal import Web

/// Checks the time limits of one transfer: a silent, slow or late server fails it with a timeout.
///
/// It is created when the request has been sent, and then asked regularly (`limitFailure`). It has no clock: the
/// caller passes the time, as a duration since any fixed moment.
struct TransferTimer {
    /// The time limits of a transfer.
    struct Limits: Sendable {
        /// The maximum time without a single byte in either direction.
        var stall: Duration
        /// The maximum time from the request until the response's header is complete.
        var header: Duration
        /// The maximum time from the request until the response is complete; nil for no limit.
        var total: Duration?
        /// The minimum average rate, which is measured over consecutive periods of `rateWindow`. Some servers send
        /// just enough bytes to avoid the `stall` limit.
        var minBytesPerSecond: Int
        var rateWindow: Duration

        /// The interval between two checks: an eighth of the shortest limit, so that a failure is at most that much
        /// late, but between 5 ms and 1 s.
        var checkInterval: Duration {
            min(.seconds(1), max(.milliseconds(5), min(stall, header, rateWindow, total ?? rateWindow) / 8))
        }
    }

    /// The time when the request was sent.
    let sent: Duration
    private var byteCount: Int
    private var lastProgress: Duration
    /// The start of the current rate window, and the byte count at that time.
    private var rateWindow: (start: Duration, byteCount: Int)

    /// - Parameters:
    ///   - now: the time when the request was sent.
    ///   - byteCount: the number of bytes that were sent and received so far.
    init(now: Duration, byteCount: Int) {
        sent = now
        self.byteCount = byteCount
        lastProgress = now
        rateWindow = (now, byteCount)
    }

    /// Returns the failure if a limit is exceeded; nil otherwise. Call it about every `Limits.checkInterval`.
    ///
    /// - Parameter byteCount: the number of bytes that were sent and received so far.
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
        let windowTime = now - rateWindow.start
        guard windowTime >= limits.rateWindow else { return nil }
        let windowByteCount = byteCount - rateWindow.byteCount
        rateWindow = (now, byteCount)
        guard Double(windowByteCount) < Double(limits.minBytesPerSecond) * (windowTime / .seconds(1)) else {
            return nil
        }
        return FetchFailure(
            .timeout, "under \(limits.minBytesPerSecond) bytes per second for \(limits.rateWindow.seconds)")
    }

    /// Restarts the stall and rate limits. Call it before `limitFailure` if Larder itself has paused the transfer
    /// since the last check, which is not the server's fault. The limits for the header and the whole response continue.
    mutating func restartAfterPause(now: Duration, byteCount: Int) {
        self.byteCount = byteCount
        lastProgress = now
        rateWindow = (now, byteCount)
    }
}

extension Duration {
    var milliseconds: Int {
        Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000)
    }

    /// The whole seconds with their unit, such as `30 s`.
    var wholeSeconds: String { "\(components.seconds) s" }

    /// The seconds to the millisecond with their unit, such as `30 s`, `1.5 s` or `0.05 s`.
    var seconds: String {
        let whole = milliseconds / 1000
        guard milliseconds % 1000 != 0 else { return "\(whole) s" }
        var digits = String(String(1000 + milliseconds % 1000).dropFirst())
        while digits.hasSuffix("0") { digits.removeLast() }
        return "\(whole).\(digits) s"
    }
}

// MARK: - UnboundedBody

/// The kind of a body without a declared length, which decides when the body counts as endless.
///
/// Live streams never end, and a crawl must not wait for them. A body counts as endless if it arrives slowly for some
/// time, as live streams do, or arrives for a very long time at any rate.
enum UnboundedBody: Sendable {
    /// Audio or video. A file of this kind usually has a declared length, so one without is likely to be a
    /// live stream.
    case media
    case other

    /// The limits beyond which a body counts as endless.
    struct Limits: Sendable {
        /// The time after which audio or video counts as endless if its average rate since the request is below
        /// `minMediaBytesPerSecond`. The default is above
        /// 320 kbit/s, the highest rate of MP3 radio: a live stream arrives no faster than it is played.
        var slowMediaTime: Duration
        var minMediaBytesPerSecond = 64 * 1024
        /// The time after which another body counts as endless if its average rate since the request is below
        /// `minOtherBytesPerSecond`.
        var slowOtherTime: Duration
        var minOtherBytesPerSecond = 16 * 1024
        /// The maximum time at any rate.
        var maxTime: Duration
    }

    /// Returns nil if the length is declared. Throws `.endless` for types that are live streams by definition, and for
    /// responses with `icy-` headers, which SHOUTcast and Icecast radio servers send.
    init?(_ fields: HTTPFields, length: Int?) throws(FetchFailure) {
        guard length == nil else { return nil }
        let type = fields.contentType?.essence ?? ""
        let isInternetRadio = fields.list.contains { $0.name.lowercased().hasPrefix("icy-") }
        if isInternetRadio || type == "text/event-stream" || type == "multipart/x-mixed-replace" {
            throw FetchFailure(.endless, "a live stream of \(type)")
        }
        self = type.hasPrefix("audio/") || type.hasPrefix("video/") ? .media : .other
    }

    /// Returns the failure if a body counts as endless; nil otherwise.
    ///
    /// - Parameters:
    ///   - byteCount: the number of bytes so far.
    ///   - time: the time since the request was sent.
    ///   - isThrottled: whether Larder limits the rate of its transfers. Only the maximum time applies then, since a
    ///     low rate may be due to Larder.
    func failure(_ byteCount: Int, in time: Duration, isThrottled: Bool, _ limits: Limits) -> FetchFailure? {
        let (slowTime, minBytesPerSecond) =
            switch self {
            case .media: (limits.slowMediaTime, limits.minMediaBytesPerSecond)
            case .other: (limits.slowOtherTime, limits.minOtherBytesPerSecond)
            }
        let isTooSlow =
            time >= slowTime && !isThrottled
            && Double(byteCount) < Double(minBytesPerSecond) * (time / .seconds(1))
        guard isTooSlow || time >= limits.maxTime else { return nil }
        return FetchFailure(
            .endless, "no declared length, and \(byteCount) bytes were received in \(time.wholeSeconds)")
    }
}

/// The rate limit that all transfers of a `FetchLoop` share: a `RateBucket` with a clock.
///
/// While the gate is open, a transfer accepts the bytes that libcurl has read, and reports them with `take`. While it
/// is closed, the transfer is paused for `timeUntilOpen`. Not thread-safe: only the loop's thread uses it.
final class RateGate {
    private let clock = Stopwatch()
    private var bucket: RateBucket

    init(bytesPerSecond: Int) {
        bucket = RateBucket(bytesPerSecond: bytesPerSecond, now: .zero)
    }

    /// The time until more bytes may be accepted; zero if they may be accepted now.
    var timeUntilOpen: Duration { bucket.timeUntilAvailable(now: clock.elapsed) }

    var isOpen: Bool { timeUntilOpen == .zero }

    func change(bytesPerSecond: Int) { bucket.change(bytesPerSecond: bytesPerSecond, now: clock.elapsed) }

    /// Counts bytes that were accepted.
    func take(_ byteCount: Int) { bucket.take(byteCount, now: clock.elapsed) }
}

// MARK: - RateBucket

/// A token bucket: it fills at the permitted rate, and each received byte takes one token.
///
/// The level may become negative, because libcurl passes on bytes in blocks that cannot be divided. The transfers then
/// wait until the level is zero again, so that the long-term rate is exact. The caller passes the time, as a duration
/// since any fixed moment.
struct RateBucket {
    private var bytesPerSecond: Double
    /// The number of bytes that may be received at once; negative if more were received.
    private var level: Double = 0
    private var lastFill: Duration

    /// The capacity of the bucket, as seconds at the full rate. It limits the burst of bytes after a time without
    /// transfers.
    private static let maxBurstSeconds = 0.25

    init(bytesPerSecond: Int, now: Duration) {
        self.bytesPerSecond = Double(max(1, bytesPerSecond))
        lastFill = now
    }

    /// Returns the time until more bytes may be received; zero if they may be received now.
    mutating func timeUntilAvailable(now: Duration) -> Duration {
        fill(now)
        return level >= 0 ? .zero : .seconds(-level / bytesPerSecond)
    }

    /// Changes the rate from `now` on.
    mutating func change(bytesPerSecond: Int, now: Duration) {
        fill(now)
        self.bytesPerSecond = Double(max(1, bytesPerSecond))
    }

    /// Counts bytes that were received.
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
