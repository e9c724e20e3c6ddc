internal import Glibc

extension StoreWriter {
    /// Takes damaged bodies out of service: what had them is missing, and fetched at the next prefetch. Their bytes go to
    /// `quarantine` for whoever wants to look. Removes what nothing refers to.
    package func repair(_ findings: StoreFindings) throws(StoreError) {
        try alone(doing: "repair") { () throws(StoreError) in
            for body in findings.damaged { try quarantine(body) }
            try transaction { () throws(StoreError) in
                if !findings.databaseFaults.isEmpty { try removeDanglingRows() }
                for body in findings.damaged { try takeOutOfService(body) }
                try removeOrphanRows()
            }
            try removeOrphanFiles()
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

    /// Only files can be kept aside: what was damaged inside the database went with its pages.
    private func quarantine(_ body: DamagedBody) throws(StoreError) {
        var isFile = false
        try eachRow("SELECT 1 FROM content WHERE body = ? AND bytes IS NULL", .integer(body.id)) { _ in isFile = true }
        let file = folder.bodyFile(sha256: body.sha256)
        guard isFile, !body.sha256.isEmpty, access(file, F_OK) == 0 else { return }
        try folder.createQuarantine()
        let target = folder.quarantine + "/" + body.sha256
        guard rename(file, target) == 0 else { throw StoreError(errno, doing: "move a body to", path: target) }
    }
}
