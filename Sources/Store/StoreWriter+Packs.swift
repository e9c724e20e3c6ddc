internal import CLinux
internal import Codings
internal import Database
internal import Digest
internal import Glibc
internal import System

/// Reclaims the unused space in packs. The caller must be the only writer and have no transaction open.
extension StoreWriter {
    /// A body in a pack.
    private struct Piece {
        let body: Int64
        let start: Int64
        let byteCount: Int64
        let isFrame: Bool

        var end: Int64 { start + byteCount }
    }

    /// Removes packs without bodies, and punches holes into the others where no body is. File systems return
    /// space in whole blocks, or not at all. If a pack wastes more than `wasteAllowed` of the size of its
    /// bodies, these are moved to a new pack. If the store compresses, packs and files with uncompressed text
    /// are compressed too.
    ///
    /// Returns an error if the disk has no space for this, or if readers do not finish.
    func thinPacks(wasteAllowed: Double) throws(StoreError) -> StoreError? {
        if isPostgreSQL { return nil }
        guard try waitForReaders() else {
            return StoreError(
                .busy, doing: "shrink", path: folder.packs, detail: "another process is reading from it",
                advice: "run larder gc again when it has finished")
        }
        try removeUnusedPacks()
        var wasteful: [(Pack, [Piece])] = []
        let piecesByPack = try pieces()
        for pack in folder.packList {
            // Packs that were cut short, or have impossible rows, are left to an inspection.
            guard let pieces = piecesByPack[pack.number] ?? [], let size = pack.byteCount,
                pieces.last?.end ?? 0 <= size
            else { continue }
            let live = pieces.reduce(0) { $0 + $1.byteCount }
            guard live < size else { continue }
            try punchHoles(in: pack, around: pieces)
            let allowed = wasteAllowed * (Double(live) + Self.block)
            if Double(pack.byteCountOnDisk - live) > allowed { wasteful.append((pack, pieces)) }
        }
        if folder.compresses {
            let moving = Set(wasteful.map(\.0.number))
            wasteful += try packsToCompress(piecesByPack).filter { !moving.contains($0.0.number) }
        }
        do throws(StoreError) {
            for (pack, pieces) in wasteful { try moveBodies(pieces, out: pack) }
            if folder.compresses { try compressFiles() }
        } catch  where error.reason == .full {
            return error
        }
        if !wasteful.isEmpty, try waitForReaders() { try removeUnusedPacks() }
        return nil
    }

    /// Returns the packs in which more than a sixteenth is uncompressed text.
    private func packsToCompress(_ piecesByPack: [Int64: [Piece]?]) throws(StoreError) -> [(Pack, [Piece])] {
        var found: [(Pack, [Piece])] = []
        try eachRow(
            """
            SELECT pack FROM body WHERE pack IS NOT NULL GROUP BY pack
            HAVING sum(iif(frame IS NULL AND size >= ? AND \(StoredBody.isText), size, 0)) * 16
                > sum(coalesce(frame, size))
            """, .integer(Int64(Limits.minCompressedBodyBytes))
        ) { row in
            guard let pieces = piecesByPack[row.integer(0)] ?? nil else { return }
            found.append((Pack(row.integer(0), in: folder), pieces))
        }
        return found
    }

    /// Moves large texts from files of their own to a pack, compressed. Removes the files.
    private func compressFiles() throws(StoreError) {
        var bodies: [(id: Int64, sha256: [UInt8], byteCount: Int)] = []
        try eachRow(
            """
            SELECT body.id, sha256, size FROM body JOIN content ON content.body = body.id
            WHERE content.bytes IS NULL AND pack IS NULL AND size <= ? AND \(StoredBody.isText)
            """, .integer(Int64(Limits.maxCompressedTextBytes))
        ) { bodies.append(($0.integer(0), $0.blob(1), Int($0.integer(2)))) }
        guard !bodies.isEmpty else { return }
        var isChanged = false
        try fill { (writer) throws(StoreError) in
            var places: [(body: Int64, place: PackLocation)] = []
            for body in bodies {
                guard let digest = Digest(.sha256, bytes: body.sha256) else { continue }
                let file = BodyContent.file(path: folder.bodyFile(sha256: digest.hex))
                guard file.byteCount == body.byteCount, let frame = ZstdFrame.compress(try file.load()),
                    frame.count <= Limits.maxPackedBodyBytes
                else { continue }
                places.append((body.id, try writer.append(frame, isFrame: true)))
            }
            isChanged = !places.isEmpty
            return places
        }
        guard isChanged else { return }
        // Servers check the store once a second and may still use the files until then.
        sleep(2)
        try removeOrphanFiles()
    }

    /// The fixed part of the allowed waste, for packs with hardly any content.
    private static let block = 16_384.0

    /// Removes packs without bodies. No reader may use places that it looked up before.
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

    /// Returns the bodies in each pack, in order of their places; nil for a pack with impossible rows.
    private func pieces() throws(StoreError) -> [Int64: [Piece]?] {
        var pieces: [Int64: [Piece]] = [:]
        var impossible: Set<Int64> = []
        try eachRow(
            "SELECT pack, id, start, coalesce(frame, size), frame IS NOT NULL FROM body WHERE pack IS NOT NULL"
        ) { row in
            let piece = Piece(
                body: row.integer(1), start: row.integer(2), byteCount: row.integer(3),
                isFrame: row.integer(4) != 0)
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
            // Some file systems do not support holes.
            guard code == 0 else { return }
        }
    }

    /// Moves bodies to a new pack, and compresses those that are not compressed yet. Rows are only changed
    /// after the bytes were synced. If the pack cannot be read completely, nothing changes.
    private func moveBodies(_ pieces: [Piece], out pack: Pack) throws(StoreError) {
        try fill { (writer) throws(StoreError) in
            var places: [(body: Int64, place: PackLocation)] = []
            for piece in pieces {
                let byteCount = Int(piece.byteCount)
                guard let bytes = try pack.read(from: piece.start, byteCount: byteCount),
                    bytes.count == byteCount
                else { return [] }
                let isLeft = piece.isFrame || !folder.compresses || byteCount < Limits.minCompressedBodyBytes
                let frame = isLeft ? nil : ZstdFrame.compress(bytes)
                let place = try writer.append(frame ?? bytes, isFrame: piece.isFrame || frame != nil)
                places.append((piece.body, place))
            }
            return places
        }
    }

    /// Creates a pack, and stores the places that `places` returns in the rows of the bodies. If there are
    /// none, or if it throws, the pack is removed.
    private func fill(
        _ places: (PackWriter) throws(StoreError) -> [(body: Int64, place: PackLocation)]
    ) throws(StoreError) {
        let writer = try PackWriter(newIn: folder)
        do throws(StoreError) {
            let places = try places(writer)
            guard !places.isEmpty else {
                unlink(writer.pack.path)
                return
            }
            try writer.sync()
            isJournalStale = true
            try transaction { () throws(StoreError) in
                try run(
                    "INSERT INTO pack (number, size) VALUES (?, ?)", .integer(writer.pack.number),
                    .integer(writer.end))
                let move = try prepare("UPDATE body SET pack = ?, start = ?, frame = ? WHERE id = ?")
                for (body, place) in places {
                    try move.run(
                        .integer(place.pack), .integer(place.start), .optional(place.frame), .integer(body))
                }
            }
        } catch {
            unlink(writer.pack.path)
            throw error
        }
    }
}
