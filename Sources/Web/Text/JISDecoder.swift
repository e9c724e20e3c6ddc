/// A decoder for EUC-JP and ISO-2022-JP. Both encode JIS X 0208, with the rows that NEC added, as row and
/// cell. These pairs are converted to Shift_JIS first, in which glibc has the characters of the standard; in
/// its EUC-JP, it does not.
struct JISDecoder: ~Copyable {
    private var output: [UInt8] = []
    private var shiftJIS: [UInt8] = []
    private var decoder = MultiByteDecoder(.shiftJIS, isWhole: true)
    private var supplement: TextConverter?

    static func decodeEUC(_ bytes: Span<UInt8>) -> [UInt8] {
        var decoder = JISDecoder(capacity: bytes.count * 3 / 2)
        decoder.readEUC(bytes)
        return decoder.finish()
    }

    static func decodeISO2022(_ bytes: Span<UInt8>) -> [UInt8] {
        var decoder = JISDecoder(capacity: bytes.count)
        decoder.readISO2022(bytes)
        return decoder.finish()
    }

    private init(capacity: Int) {
        output.reserveCapacity(capacity)
    }

    private consuming func finish() -> [UInt8] {
        flush()
        return output
    }

    /// Converts the pending Shift_JIS to UTF-8, so that `output` has everything that was read.
    private mutating func flush() {
        var pending: [UInt8] = []
        swap(&pending, &shiftJIS)
        decoder.decode(pending.span, into: &output)
        pending.removeAll(keepingCapacity: true)
        shiftJIS = pending
    }

    private mutating func appendScalar(_ scalar: UInt32) {
        flush()
        output.append(utf8: scalar)
    }

    private mutating func appendMalformed() { appendScalar(0xFFFD) }

    private mutating func appendHalfwidthKatakana(_ byte: UInt8) { shiftJIS.append(byte | 0x80) }

    /// Appends a character of JIS X 0208. `row` and `cell` start at 0x21.
    private mutating func appendPair(_ row: UInt8, _ cell: UInt8) {
        let (row, cell) = (row - 0x21, cell - 0x21)
        let lead = row / 2 + (row < 62 ? 0x81 : 0xC1)
        if row % 2 == 1 {
            shiftJIS += [lead, cell + 0x9F]
        } else {
            shiftJIS += [lead, cell + (cell < 63 ? 0x40 : 0x41)]
        }
    }
}

extension JISDecoder {
    /// The rows and cells of JIS X 0208 with the highest bit set.
    private static let pairBytes: ClosedRange<UInt8> = 0xA1...0xFE

    private mutating func readEUC(_ bytes: Span<UInt8>) {
        var index = 0
        while index < bytes.count {
            let lead = bytes[index]
            let next = index + 1 < bytes.count ? bytes[index + 1] : 0
            switch lead {
            case ..<0x80:
                shiftJIS.append(lead)
                index += 1
            case 0x8E where (0xA1...0xDF).contains(next):
                appendHalfwidthKatakana(next)
                index += 2
            case 0x8F where Self.pairBytes.contains(next):
                index += 2 + readSupplement(next, index + 2 < bytes.count ? bytes[index + 2] : 0)
            case Self.pairBytes where Self.pairBytes.contains(next):
                appendPair(lead & 0x7F, next & 0x7F)
                index += 2
            case 0x8E, 0x8F, Self.pairBytes:
                appendMalformed()
                index += next < 0x80 ? 1 : 2
            default:
                appendMalformed()
                index += 1
            }
        }
    }

    /// Reads a character of JIS X 0212, which follows 0x8F. Returns the number of bytes after the first two
    /// that it consumed.
    private mutating func readSupplement(_ row: UInt8, _ cell: UInt8) -> Int {
        guard Self.pairBytes.contains(cell) else {
            appendMalformed()
            return cell < 0x80 ? 0 : 1
        }
        if supplement == nil { supplement = TextConverter(to: "UTF-32BE", from: "EUC-JP-MS") }
        let scalar = supplement?.scalar(of: [0x8F, row, cell]) ?? 0xFFFD
        // glibc has private-use characters where the standard has none.
        appendScalar((0xE000...0xF8FF).contains(scalar) ? 0xFFFD : scalar)
        return 1
    }
}

extension JISDecoder {
    private mutating func readISO2022(_ bytes: Span<UInt8>) {
        // The rows and cells of JIS X 0208.
        let pairBytes: ClosedRange<UInt8> = 0x21...0x7E
        var mode = ISO2022JP.Mode.ascii
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if let next = ISO2022JP.Mode(escapedIn: bytes, at: index) {
                mode = next
                index += ISO2022JP.escapeByteCount
                continue
            }
            index += 1
            switch mode {
            case .ascii where ISO2022JP.isPlain(byte):
                shiftJIS.append(byte)
            case .roman where byte == 0x5C:
                appendScalar(0xA5)
            case .roman where byte == 0x7E:
                appendScalar(0x203E)
            case .roman where ISO2022JP.isPlain(byte):
                shiftJIS.append(byte)
            case .katakana where (0x21...0x5F).contains(byte):
                appendHalfwidthKatakana(byte)
            case .doubleByte where byte == 0x0A:
                shiftJIS.append(byte)
            case .doubleByte where pairBytes.contains(byte):
                guard index < bytes.count, bytes[index] != ISO2022JP.escape else {
                    appendMalformed()
                    continue
                }
                if pairBytes.contains(bytes[index]) {
                    appendPair(byte, bytes[index])
                } else {
                    appendMalformed()
                }
                index += 1
            default:
                appendMalformed()
            }
        }
    }
}
