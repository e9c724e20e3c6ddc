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
    mutating func verdict(now: Duration, byteCount: Int, headerIsComplete: Bool, _ limits: Limits) -> FetchFailure? {
        if byteCount != self.byteCount {
            self.byteCount = byteCount
            lastByte = now
        }
        if now - lastByte >= limits.stall {
            return FetchFailure(.timeout, "nothing came for \(limits.stall.seconds)")
        }
        if !headerIsComplete, now - sent >= limits.header {
            return FetchFailure(.timeout, "the header was not whole after \(limits.header.seconds)")
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
            .timeout, "under \(limits.bytesPerSecond) bytes a second for \(limits.window.seconds)")
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
