import Glibc
import Synchronization

/// A conversion from one encoding to another by iconv.
struct TextConverter: ~Copyable {
    /// The reason why a conversion stopped.
    enum Stop {
        case end
        /// The bytes at the current position are not a valid character.
        case malformed
        /// The input ends in the middle of a character.
        case incomplete
    }

    private let handle: iconv_t

    /// Returns nil if the system lacks this conversion.
    init?(to target: String, from source: String) {
        // iconv_open returns (iconv_t)-1 for errors.
        guard let handle = iconv_open(target, source), handle != iconv_t(bitPattern: -1) else { return nil }
        self.handle = handle
    }

    deinit { iconv_close(handle) }

    /// Converts from `position` to the end or to an error, and moves `position` there.
    mutating func convert(_ input: Span<UInt8>, from position: inout Int, to output: inout [UInt8]) -> Stop {
        while true {
            let room = min(max(2 * (input.count - position), 32), 1 << 16)
            var stop = Stop.end
            var isFull = false
            let chunk = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
                input.withUnsafeBytes { bytes in
                    var source = UnsafeMutablePointer(
                        mutating: bytes.baseAddress?.assumingMemoryBound(to: CChar.self))?.advanced(
                            by: position)
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
                        if !isFull, iconv(handle, nil, nil, &next, &targetLeft) == -1 {
                            isFull = errno == E2BIG
                        }
                        count = target.count - targetLeft
                    }
                    position = bytes.count - sourceLeft
                }
            }
            output += chunk
            if !isFull { return stop }
        }
    }

    /// The scalar that `bytes` encode; nil if they are not exactly one. The target must be UTF-32BE.
    mutating func scalar(of bytes: [UInt8]) -> UInt32? {
        var position = 0
        var units: [UInt8] = []
        guard convert(bytes.span, from: &position, to: &units) == .end, units.count == 4 else { return nil }
        return units.reduce(0) { $0 << 8 | UInt32($1) }
    }
}

/// The scalars of the bytes from 0x80 on in a single-byte encoding.
///
/// The table is read from iconv byte by byte: for whole texts, glibc composes Hebrew and Vietnamese
/// characters, which the standard does not. Entries in which glibc differs from the standard are corrected.
struct SingleByteTable: Sendable {
    private var scalars: [UInt32]

    static func of(_ encoding: TextEncoding) -> SingleByteTable {
        tables.withLock { tables in
            if let table = tables[encoding] { return table }
            let table = SingleByteTable(encoding)
            tables[encoding] = table
            return table
        }
    }

    private static let tables = Mutex<[TextEncoding: SingleByteTable]>([:])
    private static let unassigned: UInt32 = 0xFFFD

    private init(_ encoding: TextEncoding) {
        if encoding == .userDefined {
            scalars = (0..<128).map { 0xF780 + $0 }
            return
        }
        var converter = encoding.iconvName.flatMap { TextConverter(to: "UTF-32BE", from: $0) }
        scalars = (UInt8(0x80)...0xFF).map { byte in
            if let scalar = converter?.scalar(of: [byte]) { return scalar }
            // The standard's windows encodings map the unassigned bytes of the C1 range to themselves.
            return byte < 0xA0 ? UInt32(byte) : Self.unassigned
        }
        for (byte, scalar) in encoding.iconvDifferences { scalars[Int(byte) - 0x80] = scalar }
    }

    func decode(_ bytes: Span<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count + bytes.count / 2)
        for index in bytes.indices {
            let byte = bytes[index]
            if byte < 0x80 {
                output.append(byte)
            } else {
                output.append(utf8: scalars[Int(byte) - 0x80])
            }
        }
        return output
    }

    /// Appends the byte of a scalar outside ASCII. Returns false if it has none.
    func append(_ scalar: Unicode.Scalar, to output: inout [UInt8]) -> Bool {
        guard scalar.value != Self.unassigned, let index = scalars.firstIndex(of: scalar.value) else {
            return false
        }
        output.append(UInt8(0x80 + index))
        return true
    }
}

extension TextEncoding {
    /// The bytes that glibc maps to another character than the standard.
    fileprivate var iconvDifferences: [(byte: UInt8, scalar: UInt32)] {
        switch self {
        case .koi8u: [(0xAE, 0x045E), (0xBE, 0x040E)]
        case .windows1255: [(0xCA, 0x05BA)]
        case .macintosh: [(0xC6, 0x2206), (0xF0, 0xF8FF)]
        case .macCyrillic: [(0xFF, 0x20AC)]
        default: []
        }
    }
}
