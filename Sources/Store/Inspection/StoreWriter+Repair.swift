internal import Glibc

extension StoreWriter {
    /// Takes damaged bodies out of service: what had them is missing, and fetched at the next prefetch. Their bytes go to
    /// `quarantine` for whoever wants to look. Removes what nothing refers to.
    package func repair(_ findings: StoreFindings) throws(StoreError) {
        try alone(doing: "repair") { () throws(StoreError) in
            for body in findings.damaged { try quarantine(body) }
            try transaction { () throws(StoreError) in
                for body in findings.damaged {
                    try run("DELETE FROM response WHERE body = ?", .integer(body.id))
                }
                try removeOrphanRows()
            }
            try removeOrphanFiles()
        }
    }

    /// Only files can be kept aside: what was damaged inside the database went with its pages.
    private func quarantine(_ body: DamagedBody) throws(StoreError) {
        let file = folder.bodyFile(sha256: body.sha256)
        guard !body.sha256.isEmpty, access(file, F_OK) == 0 else { return }
        try folder.createQuarantine()
        let target = folder.quarantine + "/" + body.sha256
        guard rename(file, target) == 0 else { throw StoreError(errno, doing: "move a body to", path: target) }
    }
}
