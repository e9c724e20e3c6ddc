/// EUC-JP and ISO-2022-JP. Both write JIS X 0208 as row and cell, with the rows that NEC added; glibc has other
/// characters there in its EUC-JP, but the standard's in its Shift_JIS, so that is what the pairs become on the way.
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

    private mutating func flush() {
        var pending: [UInt8] = []
        swap(&pending, &shiftJIS)
        decoder.decode(pending.span, into: &output)
        pending.removeAll(keepingCapacity: true)
        shiftJIS = pending
    }

    private mutating func append(scalar: UInt32) {
        flush()
        output.append(utf8: scalar)
    }

    private mutating func appendMalformed() { append(scalar: 0xFFFD) }

    private mutating func appendHalfwidthKatakana(_ byte: UInt8) { shiftJIS.append(byte | 0x80) }

    /// `row` and `cell` count from 0x21.
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

// MARK: - EUC-JP

extension JISDecoder {
    private static let highPart: ClosedRange<UInt8> = 0xA1...0xFE

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
            case 0x8F where Self.highPart.contains(next):
                index += 2 + readSupplement(next, index + 2 < bytes.count ? bytes[index + 2] : 0)
            case Self.highPart where Self.highPart.contains(next):
                appendPair(lead & 0x7F, next & 0x7F)
                index += 2
            case 0x8E, 0x8F, Self.highPart:
                appendMalformed()
                index += next < 0x80 ? 1 : 2
            default:
                appendMalformed()
                index += 1
            }
        }
    }

    /// JIS X 0212, behind 0x8F. Gives how many of the bytes behind the first two it took.
    private mutating func readSupplement(_ row: UInt8, _ cell: UInt8) -> Int {
        guard Self.highPart.contains(cell) else {
            appendMalformed()
            return cell < 0x80 ? 0 : 1
        }
        if supplement == nil { supplement = TextConverter(to: "UTF-32BE", from: "EUC-JP-MS") }
        let scalar = supplement?.scalar(of: [0x8F, row, cell]) ?? 0xFFFD
        // Where the standard has none, glibc has private ones.
        append(scalar: (0xE000...0xF8FF).contains(scalar) ? 0xFFFD : scalar)
        return 1
    }
}

// MARK: - ISO-2022-JP

extension JISDecoder {
    private mutating func readISO2022(_ bytes: Span<UInt8>) {
        let part: ClosedRange<UInt8> = 0x21...0x7E
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
                append(scalar: 0xA5)
            case .roman where byte == 0x7E:
                append(scalar: 0x203E)
            case .roman where ISO2022JP.isPlain(byte):
                shiftJIS.append(byte)
            case .katakana where (0x21...0x5F).contains(byte):
                appendHalfwidthKatakana(byte)
            case .doubleByte where byte == 0x0A:
                shiftJIS.append(byte)
            case .doubleByte where part.contains(byte):
                guard index < bytes.count, bytes[index] != ISO2022JP.escape else {
                    appendMalformed()
                    continue
                }
                if part.contains(bytes[index]) {
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
