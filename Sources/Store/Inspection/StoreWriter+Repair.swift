internal import Glibc

extension StoreWriter {
    /// Takes damaged bodies out of service: what had them is missing, and fetched at the next prefetch. Their bytes go to
    /// `quarantine` for whoever wants to look. Removes what nothing refers to.
    package func repair(_ findings: StoreFindings) throws(StoreError) {
        try alone(doing: "repair") { () throws(StoreError) in
            for body in findings.damaged { try quarantine(body) }
            try execute("PRAGMA synchronous = FULL", doing: "repair")
            try transaction { () throws(StoreError) in
                if !findings.databaseFaults.isEmpty { try removeDanglingRows() }
                for body in findings.damaged { try takeOutOfService(body) }
                try removeOrphanRows()
            }
            try execute("PRAGMA synchronous = NORMAL", doing: "repair")
            try removeOrphanFiles()
            _ = try thinPacks(wasteAllowed: .infinity)
            try renewJournal()
        }
    }

    /// By its digest too: since the inspection its number may have become another's.
    private func takeOutOfService(_ body: DamagedBody) throws(StoreError) {
        try run(
            """
            DELETE FROM response WHERE body = (
                SELECT id FROM body
                WHERE id = ?1 AND (lower(hex(sha256)) = ?2 OR ?2 = '' AND length(sha256) != 32))
            """, .integer(body.id), .text(body.sha256))
    }

    /// What was damaged inside the database went with its pages.
    private func quarantine(_ body: DamagedBody) throws(StoreError) {
        guard !body.sha256.isEmpty else { return }
        let target = folder.quarantine + "/" + body.sha256
        if let bytes = try packedBytes(of: body) {
            try folder.createQuarantine()
            let copy = try BodyFiles.write(bytes, in: folder)
            guard rename(copy, target) == 0 else { throw StoreError(errno, doing: "move a body to", path: target) }
            return
        }
        var isFile = false
        try eachRow(
            "SELECT 1 FROM content JOIN body ON body.id = content.body WHERE body = ? AND bytes IS NULL AND pack IS NULL",
            .integer(body.id)
        ) { _ in isFile = true }
        let file = folder.bodyFile(sha256: body.sha256)
        guard isFile, access(file, F_OK) == 0 else { return }
        try folder.createQuarantine()
        guard rename(file, target) == 0 else { throw StoreError(errno, doing: "move a body to", path: target) }
    }

    /// What is left in its pack of a body that is in one.
    private func packedBytes(of body: DamagedBody) throws(StoreError) -> [UInt8]? {
        let piece = try prepare("SELECT pack, start, size FROM body WHERE id = ? AND pack IS NOT NULL")
            .first(.integer(body.id)) { (pack: $0.integer(0), start: $0.integer(1), size: Int($0.integer(2))) }
        guard let piece else { return nil }
        return try Pack(piece.pack, in: folder).read(from: piece.start, byteCount: piece.size)
    }
}
