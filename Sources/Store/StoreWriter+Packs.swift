internal import CLinux
internal import Glibc
internal import System

/// The room that bodies leave in packs when they go. The caller is alone, outside of a transaction.
extension StoreWriter {
    private struct Piece {
        let body: Int64
        let start: Int64
        let byteCount: Int64

        var end: Int64 { start + byteCount }
    }

    /// Removes the packs that no body is in any more, and gives back the room between the bodies in the
    /// others. What such a pack still wastes because file systems give room back by the block, or not at all,
    /// goes by moving its bodies to another pack where it is more than `wasteAllowed` of them. Gives the
    /// reason when there is no room to do so, or when somebody reads all the time.
    func thinPacks(wasteAllowed: Double) throws(StoreError) -> StoreError? {
        guard try waitForReaders() else {
            return StoreError(
                .busy, doing: "shrink", path: folder.packs, detail: "somebody is reading from it",
                advice: "collect again when nobody does")
        }
        try removeUnusedPacks()
        var wasteful: [(Pack, [Piece])] = []
        let piecesByPack = try pieces()
        for pack in folder.packList {
            // One that was cut short, or of which nonsense is said, is an inspection's to judge.
            guard let pieces = piecesByPack[pack.number] ?? [], let size = pack.byteCount,
                pieces.last?.end ?? 0 <= size
            else { continue }
            let live = pieces.reduce(0) { $0 + $1.byteCount }
            guard live < size else { continue }
            try punchHoles(in: pack, around: pieces)
            let allowed = wasteAllowed * (Double(live) + Self.block)
            if Double(pack.byteCountOnDisk - live) > allowed { wasteful.append((pack, pieces)) }
        }
        do throws(StoreError) {
            for (pack, pieces) in wasteful { try moveBodies(pieces, out: pack) }
        } catch  where error.reason == .full {
            return error
        }
        if !wasteful.isEmpty, try waitForReaders() { try removeUnusedPacks() }
        return nil
    }

    /// For a pack with next to nothing in it.
    private static let block = 16_384.0

    /// Nobody reads from where bodies were before.
    private func removeUnusedPacks() throws(StoreError) {
        var used: Set<Int64> = []
        try eachRow("SELECT DISTINCT pack FROM body WHERE pack IS NOT NULL") { used.insert($0.integer(0)) }
        var known: Set<Int64> = []
        try eachRow("SELECT number FROM pack") { known.insert($0.integer(0)) }
        let unused = known.subtracting(used)
        if !unused.isEmpty {
            try transaction { () throws(StoreError) in
                for number in unused { try run("DELETE FROM pack WHERE number = ?", .integer(number)) }
            }
        }
        let files = folder.packList.filter { !used.contains($0.number) }
        for pack in files where unlink(pack.path) != 0 && errno != ENOENT {
            throw StoreError(errno, doing: "remove", path: pack.path)
        }
    }

    /// What is in each pack, in its order; nil for a pack of which the database says what cannot be.
    private func pieces() throws(StoreError) -> [Int64: [Piece]?] {
        var pieces: [Int64: [Piece]] = [:]
        var impossible: Set<Int64> = []
        try eachRow("SELECT pack, id, start, size FROM body WHERE pack IS NOT NULL") { row in
            let piece = Piece(body: row.integer(1), start: row.integer(2), byteCount: row.integer(3))
            if Pack.canHold(piece.start, piece.byteCount) {
                pieces[row.integer(0), default: []].append(piece)
            } else {
                impossible.insert(row.integer(0))
            }
        }
        var sorted: [Int64: [Piece]?] = pieces.mapValues { $0.sorted { $0.start < $1.start } }
        for pack in impossible { sorted.updateValue(nil, forKey: pack) }
        return sorted
    }

    private func punchHoles(in pack: Pack, around pieces: [Piece]) throws(StoreError) {
        var holes: [Range<Int64>] = []
        var end: Int64 = 0
        for piece in pieces {
            if piece.start > end { holes.append(end..<piece.start) }
            end = max(end, piece.end)
        }
        if let size = pack.byteCount, size > end { holes.append(end..<size) }
        let file = try StoreError.wrapping { () throws(SystemError) in try File(pack.path, O_WRONLY) }
        for hole in holes {
            let (start, byteCount) = (off_t(hole.lowerBound), off_t(hole.upperBound - hole.lowerBound))
            let code = larder_punch_hole(file.descriptor, start, byteCount)
            // Not every file system can.
            guard code == 0 else { return }
        }
    }

    /// The rows name the new places only once the bytes are there. A pack that cannot be read wholly stays as
    /// it is.
    private func moveBodies(_ pieces: [Piece], out pack: Pack) throws(StoreError) {
        let writer = try PackWriter(newIn: folder)
        do throws(StoreError) {
            var places: [(body: Int64, place: PackPlace)] = []
            for piece in pieces {
                let byteCount = Int(piece.byteCount)
                guard let bytes = try pack.read(from: piece.start, byteCount: byteCount),
                    bytes.count == byteCount
                else {
                    unlink(writer.pack.path)
                    return
                }
                places.append((piece.body, try writer.append(bytes)))
            }
            try writer.settle()
            try transaction { () throws(StoreError) in
                try run(
                    "INSERT INTO pack (number, size) VALUES (?, ?)", .integer(writer.pack.number),
                    .integer(writer.end))
                let move = try prepare("UPDATE body SET pack = ?, start = ? WHERE id = ?")
                for (body, place) in places {
                    try move.run(.integer(place.pack), .integer(place.start), .integer(body))
                }
            }
        } catch {
            unlink(writer.pack.path)
            throw error
        }
    }
}
