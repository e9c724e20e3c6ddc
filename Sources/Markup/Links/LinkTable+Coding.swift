internal import Web

// The stored form: version, flags, encoding, base, title and what is said to robots; then each different (kind, context,
// flags) once, the flags beyond the eighth in the bits that a context leaves free; then for each occurrence the gap from the one before, the length, and the number of its (kind, context, flags), as
// variable-length integers; then, if there are any, the implied links. About four bytes a link.
extension LinkTable {
    /// The version of the stored form, and of what the scanners look for: 2 has what scripts write and open. A body whose
    /// table is of another one is scanned anew by whoever needs its links.
    package static let version: UInt8 = 2

    /// Places in a body stay below this.
    private static let placeLimit = 1 << 40
    /// How many bits of its word a context uses.
    private static let contextBits: UInt16 = 13

    private struct Shape: Hashable {
        var kind: LinkKind
        var context: LinkContext
        var flags: LinkFlags
    }

    /// The table as bytes for a store.
    package func encoded() -> [UInt8] {
        let marks: UInt8 = (isTranscoded ? 1 : 0) | (base == nil ? 0 : 2) | (title == nil ? 0 : 4)
        var output: [UInt8] = [Self.version, marks | (implied.isEmpty ? 0 : 8) | (robots == nil ? 0 : 16)]
        output.append(encoding.rawValue)
        for text in [base, title, robots] {
            guard let text else { continue }
            Self.append(text.utf8.count, to: &output)
            output.append(contentsOf: text.utf8)
        }
        var shapes: [Shape] = []
        var numbers: [Shape: Int] = [:]
        var body: [UInt8] = []
        body.reserveCapacity(occurrences.count * 5)
        var end = 0
        for occurrence in occurrences {
            let shape = Shape(kind: occurrence.kind, context: occurrence.context, flags: occurrence.flags)
            let number: Int
            if let known = numbers[shape] {
                number = known
            } else {
                number = shapes.count
                numbers[shape] = number
                shapes.append(shape)
            }
            Self.append(occurrence.range.lowerBound - end, to: &body)
            Self.append(occurrence.range.count, to: &body)
            Self.append(number, to: &body)
            end = occurrence.range.upperBound
        }
        Self.append(shapes.count, to: &output)
        for shape in shapes {
            output.append(shape.kind.rawValue)
            let word = shape.context.rawValue | ((shape.flags.rawValue >> 8) << Self.contextBits)
            output.append(UInt8(truncatingIfNeeded: word))
            output.append(UInt8(truncatingIfNeeded: word >> 8))
            output.append(UInt8(truncatingIfNeeded: shape.flags.rawValue))
        }
        Self.append(occurrences.count, to: &output)
        output.append(contentsOf: body)
        if implied.isEmpty { return output }
        Self.append(implied.count, to: &output)
        for link in implied {
            // Those beyond the eighth speak of elements and properties, of which a link without a place has none.
            let flags = UInt8(truncatingIfNeeded: link.flags.rawValue)
            output.append(contentsOf: [link.kind.rawValue, flags, link.base.rawValue])
            Self.append(link.reference.utf8.count, to: &output)
            output.append(contentsOf: link.reference.utf8)
        }
        return output
    }

    private static func append(_ number: Int, to output: inout [UInt8]) {
        var rest = UInt(number)
        while rest >= 0x80 {
            output.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        output.append(UInt8(rest))
    }

    /// Reads what ``encoded()`` made. Whatever the bytes are, the table that comes out is sound: places ascend, none is
    /// empty and no two overlap.
    package init(decoding bytes: Span<UInt8>) throws(MarkupError) {
        self = try bytes.withUnsafeBufferPointer { (bytes) throws(MarkupError) in try LinkTable(bytes) }
    }

    private init(_ bytes: Bytes) throws(MarkupError) {
        var input = Input(bytes: bytes)
        let version = try input.byte()
        guard version == Self.version else { throw .otherVersion(version) }
        let marks = try input.byte()
        guard marks < 32, let encoding = TextEncoding(rawValue: try input.byte()) else { throw input.damage }
        self.init(encoding: encoding, isTranscoded: marks & 1 != 0)
        if marks & 2 != 0 { base = try input.text() }
        if marks & 4 != 0 { title = try input.text() }
        if marks & 16 != 0 { robots = try input.text() }
        var shapes: [Shape] = []
        for _ in 0..<(try input.count(bytesEach: 4)) {
            let kind = LinkKind(rawValue: try input.byte())
            let word = UInt16(try input.byte()) | UInt16(try input.byte()) << 8
            let context = LinkContext(rawValue: word & ((1 << Self.contextBits) - 1))
            let flags = LinkFlags(rawValue: UInt16(try input.byte()) | ((word >> Self.contextBits) << 8))
            guard let kind, let context, flags.rawValue <= LinkFlags.largest else { throw input.damage }
            shapes.append(Shape(kind: kind, context: context, flags: flags))
        }
        let count = try input.count(bytesEach: 3)
        occurrences.reserveCapacity(count)
        var end = 0
        for _ in 0..<count {
            let start = end + (try input.number())
            let length = try input.number()
            let shape = try input.number()
            end = start + length
            guard length > 0, end < Self.placeLimit, shape < shapes.count else { throw input.damage }
            occurrences.append(
                LinkOccurrence(
                    range: start..<end, kind: shapes[shape].kind, context: shapes[shape].context,
                    flags: shapes[shape].flags))
        }
        if marks & 8 != 0 { implied = try input.implied() }
        guard input.isAtEnd else { throw input.damage }
    }

    private struct Input {
        let bytes: Bytes
        private var index = 0

        init(bytes: Bytes) {
            self.bytes = bytes
        }

        var isAtEnd: Bool { index == bytes.count }
        var damage: MarkupError { .damaged(offset: index) }

        mutating func byte() throws(MarkupError) -> UInt8 {
            guard index < bytes.count else { throw damage }
            index += 1
            return bytes[index - 1]
        }

        /// At most ``placeLimit``, so that sums of a few cannot overflow.
        mutating func number() throws(MarkupError) -> Int {
            var value = 0
            for shift in stride(from: 0, through: 35, by: 7) {
                let next = try byte()
                value |= Int(next & 0x7F) << shift
                if next < 0x80 { return value }
            }
            throw damage
        }

        /// How many of something follow: never more than there are bytes for.
        mutating func count(bytesEach: Int) throws(MarkupError) -> Int {
            let count = try number()
            guard count <= (bytes.count - index) / bytesEach else { throw damage }
            return count
        }

        mutating func implied() throws(MarkupError) -> [ImpliedLink] {
            var links: [ImpliedLink] = []
            for _ in 0..<(try count(bytesEach: 4)) {
                let kind = LinkKind(rawValue: try byte())
                let flags = LinkFlags(rawValue: UInt16(try byte()))
                let base = ImpliedLink.Base(rawValue: try byte())
                guard let kind, let base else { throw damage }
                links.append(ImpliedLink(try text(), kind, flags, from: base))
            }
            return links
        }

        mutating func text() throws(MarkupError) -> String {
            let length = try count(bytesEach: 1)
            let part = bytes.part(index..<index + length)
            guard let text = String(validating: part, as: UTF8.self) else { throw damage }
            index += length
            return text
        }
    }
}
