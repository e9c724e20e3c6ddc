import Glibc

/// One direction of iconv.
struct TextConverter: ~Copyable {
    enum Stop {
        case end
        /// The bytes at the place reached are no character.
        case malformed
        /// The input ends within a character.
        case incomplete
    }

    private let handle: iconv_t

    /// nil when this system has no such conversion.
    init?(to target: String, from source: String) {
        // iconv_open tells failure by (iconv_t)-1.
        guard let handle = iconv_open(target, source), handle != iconv_t(bitPattern: -1) else { return nil }
        self.handle = handle
    }

    deinit { iconv_close(handle) }

    /// Converts from `position` on until the end or a stop, and moves `position` to there.
    mutating func convert(_ input: Span<UInt8>, from position: inout Int, to output: inout [UInt8]) -> Stop {
        while true {
            let room = min(max(2 * (input.count - position), 32), 1 << 16)
            var stop = Stop.end
            var isFull = false
            let chunk = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
                input.withUnsafeBytes { bytes in
                    var source = UnsafeMutablePointer(
                        mutating: bytes.baseAddress?.assumingMemoryBound(to: CChar.self))?.advanced(by: position)
                    var sourceLeft = bytes.count - position
                    buffer.withMemoryRebound(to: CChar.self) { target in
                        var next = target.baseAddress
                        var targetLeft = target.count
                        if iconv(handle, &source, &sourceLeft, &next, &targetLeft) == -1 {
                            switch errno {
                            case E2BIG: isFull = true
                            case EINVAL: stop = .incomplete
                            default: stop = .malformed
                            }
                        }
                        if !isFull, iconv(handle, nil, nil, &next, &targetLeft) == -1 { isFull = errno == E2BIG }
                        count = target.count - targetLeft
                    }
                    position = bytes.count - sourceLeft
                }
            }
            output += chunk
            if !isFull { return stop }
        }
    }

    /// The one scalar that `bytes` stand for, when the target is UTF-32BE.
    mutating func scalar(of bytes: [UInt8]) -> UInt32? {
        var position = 0
        var units: [UInt8] = []
        guard convert(bytes.span, from: &position, to: &units) == .end, units.count == 4 else { return nil }
        return units.reduce(0) { $0 << 8 | UInt32($1) }
    }
}
