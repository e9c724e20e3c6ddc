internal import CLinux
internal import Codings
internal import Database
internal import Digest
internal import Glibc
internal import System

/// Reclaims the unused space in packs. The caller must be the only writer and have no transaction open.
extension StoreWriter {
    private struct PackedBody {
        let id: Int64
        let start: Int64
        let byteCount: Int64
        /// Whether the bytes are a zstd frame.
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
        guard backEnd.hasPacks else { return nil }
        guard try waitForReaders() else {
            return StoreError(
                .busy, doing: "shrink", path: folder.packs, detail: "another process is reading from it",
                advice: "run larder gc again when it has finished")
        }
        try removeUnusedPacks()
        var wasteful: [(Pack, [PackedBody])] = []
        let bodiesByPack = try packedBodies()
        for pack in folder.packList {
            // Packs that were cut short, or have impossible rows, are left to an inspection.
            guard let bodies = bodiesByPack[pack.number] ?? [], let size = pack.byteCount,
                bodies.last?.end ?? 0 <= size
            else { continue }
            let live = bodies.reduce(0) { $0 + $1.byteCount }
            guard live < size else { continue }
            try punchHoles(in: pack, around: bodies)
            let allowed = wasteAllowed * (Double(live) + Self.wasteBaseBytes)
            if Double(pack.byteCountOnDisk - live) > allowed { wasteful.append((pack, bodies)) }
        }
        if folder.compresses {
            let moving = Set(wasteful.map(\.0.number))
            wasteful += try packsToCompress(bodiesByPack).filter { !moving.contains($0.0.number) }
        }
        do throws(StoreError) {
            for (pack, bodies) in wasteful { try moveBodies(bodies, out: pack) }
            if folder.compresses { try compressFiles() }
        } catch  where error.reason == .full {
            return error
        }
        if !wasteful.isEmpty, try waitForReaders() { try removeUnusedPacks() }
        return nil
    }

    /// Returns the packs in which more than a sixteenth is uncompressed text.
    private func packsToCompress(_ bodiesByPack: [Int64: [PackedBody]?]) throws(StoreError) -> [(
        Pack, [PackedBody]
    )] {
        var found: [(Pack, [PackedBody])] = []
        try eachRow(
            """
            SELECT pack FROM body WHERE pack IS NOT NULL GROUP BY pack
            HAVING sum(iif(frame IS NULL AND size >= ? AND \(StoredBody.isText), size, 0)) * 16
                > sum(coalesce(frame, size))
            """, .integer(Int64(Limits.minCompressedBodyBytes))
        ) { row in
            guard let bodies = bodiesByPack[row.integer(0)] ?? nil else { return }
            found.append((Pack(row.integer(0), in: folder), bodies))
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
        try fillNewPack { (writer) throws(StoreError) in
            var locations: [(body: Int64, location: PackLocation)] = []
            for body in bodies {
                guard let digest = Digest(.sha256, bytes: body.sha256) else { continue }
                let file = BodyContent.file(path: folder.bodyFile(sha256: digest.hex))
                guard file.byteCount == body.byteCount, let frame = ZstdFrame.compress(try file.load()),
                    frame.count <= Limits.maxPackedBodyBytes
                else { continue }
                locations.append((body.id, try writer.append(frame, isFrame: true)))
            }
            isChanged = !locations.isEmpty
            return locations
        }
        guard isChanged else { return }
        // Servers may still use the paths of the files.
        waitForServers()
        try removeOrphanFiles()
    }

    /// Added to the size of the bodies before the allowed waste is computed, so that packs with hardly any content
    /// are not rewritten again and again.
    private static let wasteBaseBytes = 16_384.0

    /// Removes packs without bodies. The caller has made sure that no reader uses a location
    /// that it looked up before.
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

    /// Returns the bodies in each pack, in order of their offsets; nil for a pack with impossible rows.
    private func packedBodies() throws(StoreError) -> [Int64: [PackedBody]?] {
        var bodies: [Int64: [PackedBody]] = [:]
        var impossible: Set<Int64> = []
        try eachRow(
            "SELECT pack, id, start, coalesce(frame, size), frame IS NOT NULL FROM body WHERE pack IS NOT NULL"
        ) { row in
            let body = PackedBody(
                id: row.integer(1), start: row.integer(2), byteCount: row.integer(3),
                isFrame: row.integer(4) != 0)
            if Pack.canHold(body.start, body.byteCount) {
                bodies[row.integer(0), default: []].append(body)
            } else {
                impossible.insert(row.integer(0))
            }
        }
        var sorted: [Int64: [PackedBody]?] = bodies.mapValues { $0.sorted { $0.start < $1.start } }
        for pack in impossible { sorted.updateValue(nil, forKey: pack) }
        return sorted
    }

    /// Releases the space of a pack before, between and after the bodies. The size of the file stays the same, and
    /// so do the offsets.
    private func punchHoles(in pack: Pack, around bodies: [PackedBody]) throws(StoreError) {
        var holes: [Range<Int64>] = []
        var end: Int64 = 0
        for body in bodies {
            if body.start > end { holes.append(end..<body.start) }
            end = max(end, body.end)
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
    private func moveBodies(_ bodies: [PackedBody], out pack: Pack) throws(StoreError) {
        try fillNewPack { (writer) throws(StoreError) in
            var locations: [(body: Int64, location: PackLocation)] = []
            for body in bodies {
                let byteCount = Int(body.byteCount)
                guard let bytes = try pack.read(from: body.start, byteCount: byteCount),
                    bytes.count == byteCount
                else { return [] }
                let isUnchanged =
                    body.isFrame || !folder.compresses || byteCount < Limits.minCompressedBodyBytes
                let frame = isUnchanged ? nil : ZstdFrame.compress(bytes)
                let location = try writer.append(frame ?? bytes, isFrame: body.isFrame || frame != nil)
                locations.append((body.id, location))
            }
            return locations
        }
    }

    /// Creates a pack to which `append` appends bodies, and stores the locations that it returns in their rows. If
    /// there are none, or if it throws, the pack is removed.
    private func fillNewPack(
        _ append: (PackWriter) throws(StoreError) -> [(body: Int64, location: PackLocation)]
    ) throws(StoreError) {
        let writer = try PackWriter(newIn: folder)
        do throws(StoreError) {
            let locations = try append(writer)
            guard !locations.isEmpty else {
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
                for (body, location) in locations {
                    try move.run(
                        .integer(location.pack), .integer(location.start), .optional(location.frame),
                        .integer(body))
                }
            }
        } catch {
            unlink(writer.pack.path)
            throw error
        }
    }
}
