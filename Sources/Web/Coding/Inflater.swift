/// Undoes one DEFLATE stream (RFC 1951). It lives inside the closure that lends the bytes.
struct Inflater {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let limit: Int
    private var place = 0
    private var bits: UInt64 = 0
    private var bitCount = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>, limit: Int) {
        self.bytes = bytes
        self.limit = limit
    }

    /// How many bytes the stream took, the last one perhaps in part.
    var consumed: Int { place - bitCount / 8 }

    /// False for what is damaged, cut short, or makes the output longer than the limit.
    mutating func run(into output: inout [UInt8]) -> Bool {
        let start = output.count
        var isLast = false
        while !isLast {
            guard let header = take(3) else { return false }
            isLast = header & 1 == 1
            let isSound =
                switch header >> 1 {
                case 0: copyStored(into: &output)
                case 1: expand(HuffmanCode.fixedLiterals, HuffmanCode.fixedDistances, start, into: &output)
                case 2: expandDynamic(start, into: &output)
                default: false
                }
            guard isSound else { return false }
        }
        return true
    }

    private mutating func copyStored(into output: inout [UInt8]) -> Bool {
        // A stored block begins at a byte.
        bits >>= UInt64(bitCount % 8)
        bitCount -= bitCount % 8
        guard let length = take(16), let check = take(16), length == ~check & 0xFFFF,
            output.count + length <= limit
        else { return false }
        for _ in 0..<length {
            guard let byte = take(8) else { return false }
            output.append(UInt8(truncatingIfNeeded: byte))
        }
        return true
    }

    private mutating func expandDynamic(_ start: Int, into output: inout [UInt8]) -> Bool {
        guard let literalCount = take(5), let distanceCount = take(5), let lengthCount = take(4) else { return false }
        var lengths = [UInt8](repeating: 0, count: 19)
        for number in 0..<(lengthCount + 4) {
            guard let length = take(3) else { return false }
            lengths[Self.lengthOrder[number]] = UInt8(length)
        }
        guard let lengthCode = HuffmanCode(lengths),
            let all = codeLengths(literalCount + 257 + distanceCount + 1, lengthCode),
            let literals = HuffmanCode(Array(all[..<(literalCount + 257)])),
            let distances = HuffmanCode(Array(all[(literalCount + 257)...]))
        else { return false }
        return expand(literals, distances, start, into: &output)
    }

    private mutating func codeLengths(_ count: Int, _ code: HuffmanCode) -> [UInt8]? {
        var lengths: [UInt8] = []
        while lengths.count < count {
            guard let symbol = next(code) else { return nil }
            switch symbol {
            case 0..<16:
                lengths.append(UInt8(symbol))
            case 16:
                guard let last = lengths.last, let more = take(2) else { return nil }
                lengths.append(contentsOf: repeatElement(last, count: more + 3))
            case 17:
                guard let more = take(3) else { return nil }
                lengths.append(contentsOf: repeatElement(0, count: more + 3))
            default:
                guard let more = take(7) else { return nil }
                lengths.append(contentsOf: repeatElement(0, count: more + 11))
            }
        }
        return lengths.count == count ? lengths : nil
    }

    private mutating func expand(
        _ literals: HuffmanCode, _ distances: HuffmanCode, _ start: Int, into output: inout [UInt8]
    ) -> Bool {
        while true {
            guard let symbol = next(literals) else { return false }
            if symbol < 256 {
                guard output.count < limit else { return false }
                output.append(UInt8(symbol))
                continue
            }
            if symbol == 256 { return true }
            guard symbol - 257 < Self.lengths.count, let more = take(Self.lengths[symbol - 257].extraBits),
                let far = next(distances), far < Self.distances.count, let further = take(Self.distances[far].extraBits)
            else { return false }
            let length = Self.lengths[symbol - 257].base + more
            let distance = Self.distances[far].base + further
            guard distance <= output.count - start, output.count + length <= limit else { return false }
            // What is copied may be part of what the copy makes.
            for _ in 0..<length { output.append(output[output.count - distance]) }
        }
    }

    /// The next symbol of a code; nil when the stream ends, or has bits that the code does not know.
    private mutating func next(_ code: HuffmanCode) -> Int? {
        fill()
        guard let (symbol, length) = code.symbol(atStartOf: UInt16(truncatingIfNeeded: bits)), length <= bitCount else {
            return nil
        }
        bits >>= UInt64(length)
        bitCount -= length
        return symbol
    }

    /// So many bits, at most 16.
    private mutating func take(_ count: Int) -> Int? {
        fill()
        guard count <= bitCount else { return nil }
        let value = Int(truncatingIfNeeded: bits & ((1 << UInt64(count)) - 1))
        bits >>= UInt64(count)
        bitCount -= count
        return value
    }

    private mutating func fill() {
        while bitCount <= 48, place < bytes.count {
            bits |= UInt64(bytes[place]) << UInt64(bitCount)
            bitCount += 8
            place += 1
        }
    }

    private static let lengthOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

    /// Lengths grow by steps whose size doubles after each four, distances after each two (section 3.2.5).
    private static let lengths: [(base: Int, extraBits: Int)] =
        (0..<28).map { number in
            let extraBits = number < 8 ? 0 : number / 4 - 1
            return (number < 8 ? number + 3 : (4 + number % 4) << extraBits + 3, extraBits)
        } + [(258, 0)]

    private static let distances: [(base: Int, extraBits: Int)] = (0..<30).map { number in
        let extraBits = number < 4 ? 0 : number / 2 - 1
        return (number < 4 ? number + 1 : (2 + number % 2) << extraBits + 1, extraBits)
    }
}

/// A code in which frequent symbols are short, given by the lengths of all (section 3.2.2). Codes are looked up by their
/// first 15 bits as they come out of the stream, the first one lowest.
struct HuffmanCode: Sendable {
    /// The symbol and, in the lowest four bits, the length; 0 where no code begins so.
    private var table: [UInt16]
    private let width: Int

    /// Nil when more codes are wanted than there is room for.
    init?(_ lengths: [UInt8]) {
        width = Int(lengths.max() ?? 0)
        var counts = [Int](repeating: 0, count: 16)
        for length in lengths where length > 0 { counts[Int(length)] += 1 }
        var code = 0
        var firsts = [Int](repeating: 0, count: 16)
        for length in 1..<16 {
            code = (code + counts[length - 1]) << 1
            firsts[length] = code
            guard code + counts[length] <= 1 << length else { return nil }
        }
        table = [UInt16](repeating: 0, count: 1 << width)
        for (symbol, length) in lengths.enumerated() where length > 0 {
            let length = Int(length)
            let first = Self.reversed(firsts[length], length)
            firsts[length] += 1
            for place in stride(from: first, to: table.count, by: 1 << length) {
                table[place] = UInt16(symbol << 4 | length)
            }
        }
    }

    func symbol(atStartOf bits: UInt16) -> (symbol: Int, length: Int)? {
        let found = table[Int(bits) & (1 << width - 1)]
        return found == 0 ? nil : (Int(found >> 4), Int(found & 15))
    }

    private static func reversed(_ code: Int, _ length: Int) -> Int {
        (0..<length).reduce(0) { $0 << 1 | code >> $1 & 1 }
    }

    private init(complete lengths: [UInt8]) {
        self = HuffmanCode(lengths) ?? HuffmanCode(none: ())
    }

    private init(none: Void) {
        table = [0]
        width = 0
    }

    static let fixedLiterals = HuffmanCode(
        complete: (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 })
    static let fixedDistances = HuffmanCode(complete: [UInt8](repeating: 5, count: 30))
}
