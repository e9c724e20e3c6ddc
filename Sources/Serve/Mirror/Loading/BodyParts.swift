internal import Web

/// The parts of a body that are held, with their bytes.
struct BodyParts: Sendable {
    let held: HeldParts
    /// One for each of `held.ranges`, in their order.
    private let pieces: [Piece]

    private struct Piece: Sendable {
        let range: Range<Int>
        let bytes: [UInt8]
    }

    /// What a 206 brings; nil when it does not say which part it is.
    init?(partial fields: HTTPFields, bytes: [UInt8]) {
        guard let held = HeldParts(partial: fields, byteCount: bytes.count) else { return nil }
        self.init(held: held, pieces: held.ranges.map { Piece(range: $0, bytes: bytes) })
    }

    private init(held: HeldParts, pieces: [Piece]) {
        self.held = held
        self.pieces = pieces
    }

    var byteCount: Int { pieces.reduce(0) { $0 + $1.bytes.count } }

    /// The whole, once there is nothing missing.
    var whole: [UInt8]? {
        guard held.isComplete else { return nil }
        return pieces.first?.bytes ?? []
    }

    /// Both together; nil when they may be of different versions.
    func combined(with newer: BodyParts) -> BodyParts? {
        guard let held = held.combined(with: newer.held) else { return nil }
        let all = pieces + newer.pieces
        let joined = held.ranges.map { range in
            var bytes = [UInt8](repeating: 0, count: range.count)
            for piece in all where range.overlaps(piece.range) {
                let start = piece.range.lowerBound - range.lowerBound
                bytes.replaceSubrange(start..<start + piece.range.count, with: piece.bytes)
            }
            return Piece(range: range, bytes: bytes)
        }
        return BodyParts(held: held, pieces: joined)
    }

    /// What a request for one part gets, if all of it is held.
    func part(_ wanted: ByteRanges) -> (range: ContentRange, bytes: [UInt8])? {
        guard let total = held.total, held.holds(wanted) else { return nil }
        let ranges = wanted.resolved(in: total)
        guard ranges.count == 1, let range = ranges.first,
            let piece = pieces.first(where: {
                $0.range.lowerBound <= range.lowerBound && range.upperBound <= $0.range.upperBound
            })
        else { return nil }
        let start = range.lowerBound - piece.range.lowerBound
        return (ContentRange(range: range, total: total), Array(piece.bytes[start..<start + range.count]))
    }
}
