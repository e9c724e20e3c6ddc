package import Database
internal import Digest
internal import Glibc

/// The findings of `StoreReader.inspect`, which `StoreWriter.repair` uses.
package struct StoreFindings: Sendable, Equatable {
    package var bodiesChecked = 0
    package var bytesChecked: Int64 = 0
    package var damagedBodies: [DamagedBody] = []
    /// The number of bodies that no response has. They are harmless.
    package var orphanBodyCount = 0
    /// The names of body files, packs and external objects that no row of the database refers to. They are
    /// harmless.
    package var orphanFiles: [String] = []
    /// Faults that SQLite reports, and differences between rows and the journal. Empty if the database is
    /// sound.
    package var databaseFaults: [String] = []
    /// The URLs whose link table (`content.links`) or link lists (a row of `link`) do not match their checksum.
    /// Until a repair, their bodies are scanned whenever their links are needed.
    package var hrefsWithDamagedLinks: [String] = []
    /// The IDs of the bodies whose link table is damaged.
    var bodiesWithDamagedLinkTable: [Int64] = []
    /// The rows of `link` whose link lists are damaged.
    var damagedLinkLists: [LinkListKey] = []
    /// Descriptions of rows that are missing from the journal. They could not be restored if the database were
    /// lost.
    package var journalFaults: [String] = []
    /// Whether the database is damaged and can be rebuilt from the journal. `repair` would keep the damaged
    /// rows.
    package var isRebuildNeeded = false

    /// Whether everything in the store is intact and could be restored from the journal.
    package var isSound: Bool {
        damagedBodies.isEmpty && databaseFaults.isEmpty && hrefsWithDamagedLinks.isEmpty
            && journalFaults.isEmpty
    }

    package init() {}
}

/// The key of a row of `link`, which has the link lists of a URL with a body.
struct LinkListKey: Sendable, Equatable {
    let url: Int64
    let body: Int64
}

/// A body that is missing or does not match its digest.
package struct DamagedBody: Sendable, Equatable {
    package let id: Int64
    /// The digest that the body should have, in hexadecimal; empty if the stored one has the wrong length.
    package let sha256: String
    /// The description of the fault.
    package let fault: String
    /// The URLs whose responses have the body.
    package let hrefs: [String]
}

extension StoreReader {
    /// Reads every body and compares it with its digest, every link table with its checksum, and the rows
    /// with the journal. Takes as long as reading the whole store.
    ///
    /// - Parameters:
    ///   - isLinkTableSound: returns whether an encoded link table is empty or matches its checksum. The store does
    ///     not know the encoding.
    ///   - progress: receives the findings so far, after every 256 bodies.
    package func inspect(
        isLinkTableSound: ([UInt8]) -> Bool = { _ in true }, progress: (StoreFindings) -> Void = { _ in }
    ) throws(StoreError) -> StoreFindings {
        var findings = StoreFindings()
        findings.databaseFaults = try databaseFaults()
        try compareWithJournal(&findings)
        var bodies: [StoredBody] = []
        try eachRow("SELECT \(StoredBody.columns) FROM body ORDER BY id") { row in
            if let body = StoredBody(row, from: 0) { bodies.append(body) }
        }
        var knownDigests: Set<String> = []
        for body in bodies {
            let digest = Digest(.sha256, bytes: body.sha256)
            if let digest { knownDigests.insert(digest.hex) }
            if let fault = try fault(of: body, expecting: digest) {
                findings.damagedBodies.append(
                    DamagedBody(
                        id: body.id, sha256: digest?.hex ?? "", fault: fault,
                        hrefs: try hrefs(ofBody: body)))
            }
            if try !isLinkTableSound(links(of: body)) {
                findings.hrefsWithDamagedLinks += try hrefs(ofBody: body)
                findings.bodiesWithDamagedLinkTable.append(body.id)
            }
            findings.bodiesChecked += 1
            findings.bytesChecked += Int64(body.byteCount)
            if findings.bodiesChecked.isMultiple(of: 256) { progress(findings) }
        }
        try checkLinkLists(&findings)
        findings.orphanBodyCount = Int(try orphanBodyCount())
        var packs: Set<Int64> = []
        if backEnd.hasPacks { try eachRow("SELECT number FROM pack") { packs.insert($0.integer(0)) } }
        findings.orphanFiles =
            folder.bodyFileNames.filter { !knownDigests.contains($0) }.sorted()
            + folder.packList.filter { !packs.contains($0.number) }.map(\.name)
            + (try self.bodies.external?.unreferencedNames() ?? [])
        return findings
    }

    private func checkLinkLists(_ findings: inout StoreFindings) throws(StoreError) {
        guard backEnd.hasLinkSums else { return }
        var hrefs = Set(findings.hrefsWithDamagedLinks)
        try eachRow(
            "SELECT pages, assets, guesses, sum, url, body, href FROM link JOIN url ON url.id = link.url"
        ) { row in
            guard !LinkLists.areSound(row) else { return }
            findings.damagedLinkLists.append(LinkListKey(url: row.integer(4), body: row.integer(5)))
            if hrefs.insert(row.text(6)).inserted { findings.hrefsWithDamagedLinks.append(row.text(6)) }
        }
    }

    private func compareWithJournal(_ findings: inout StoreFindings) throws(StoreError) {
        // Reading a damaged database may fail anywhere, so its rows are not compared. It is rebuilt from the
        // journal: rebuilding only the indexes would keep damaged rows. If only stored counts are wrong, a repair
        // counts again.
        guard findings.databaseFaults.isEmpty else {
            let isDamaged = findings.databaseFaults.contains { !$0.hasPrefix("stored counts") }
            findings.isRebuildNeeded = isDamaged && !folder.journalFiles.isEmpty
            return
        }
        let check = try checkJournal()
        findings.isRebuildNeeded = check.isDatabaseDamaged
        if check.isDatabaseDamaged {
            let count = check.conflictCount + check.missingCount
            let examples =
                check.conflictingHrefs.isEmpty
                ? "" : ", including " + check.conflictingHrefs.joined(separator: ", ")
            findings.databaseFaults.append("rows that differ from the journal: \(count)\(examples)")
        } else if check.missingCount > 0 {
            findings.journalFaults.append("missing responses and bodies: \(check.missingCount)")
        }
        if check.isStateMissing {
            findings.journalFaults.append("it does not list the current snapshots")
        }
    }

    /// Reads a body and returns a description of its fault, or nil if it is intact.
    ///
    /// - Parameter digest: the SHA-256 of the body's row; nil if that has the wrong length.
    func fault(of body: StoredBody, expecting digest: Digest?) throws(StoreError) -> String? {
        guard let digest else { return "its digest has the wrong length" }
        guard let content = try bodies.contentOfAnyLength(of: body, bypassesLocalCopy: true) else {
            return "its bytes are gone"
        }
        let measured: (sha256: Digest, byteCount: Int)
        do throws(StoreError) {
            measured = try content.measure()
        } catch {
            return error.detail
        }
        if measured.byteCount != body.byteCount {
            return "\(measured.byteCount) bytes instead of \(body.byteCount)"
        }
        return measured.sha256 == digest ? nil : "its bytes have changed"
    }

    /// Returns the URLs whose responses have the body, sorted.
    func hrefs(ofBody body: StoredBody) throws(StoreError) -> [String] {
        var hrefs: [String] = []
        try eachRow(
            """
            SELECT href FROM url WHERE id IN (SELECT url FROM response WHERE body = ?) ORDER BY href
            """, .integer(body.id)
        ) { hrefs.append($0.text(0)) }
        return hrefs
    }

    /// Returns the body with this ID; nil if there is none.
    func body(withID id: Int64) throws(StoreError) -> StoredBody? {
        try prepare("SELECT \(StoredBody.columns) FROM body WHERE id = ?").first(.integer(id)) {
            StoredBody($0, from: 0)
        }
    }

    private func orphanBodyCount() throws(StoreError) -> Int64 {
        var count: Int64 = 0
        try eachRow(
            "SELECT count(*) FROM body WHERE id NOT IN (SELECT body FROM response WHERE body IS NOT NULL)"
        ) {
            count = $0.integer(0)
        }
        return count
    }
}

extension StoreWriter {
    /// Removes damaged bodies, unreferenced rows and unreferenced files. Without their responses, the URLs of
    /// damaged bodies are missing, so that the next prefetch fetches them. The damaged bytes are moved to the
    /// folder `quarantine` for analysis. Does not rebuild the database (`isRebuildNeeded`).
    package func repair(_ findings: StoreFindings) throws(StoreError) {
        try withExclusiveAccess(doing: "repair") { () throws(StoreError) in
            for body in findings.damagedBodies { try moveToQuarantine(body) }
            try executeInSQLite("PRAGMA synchronous = FULL", doing: "repair")
            try transaction { () throws(StoreError) in
                if !findings.databaseFaults.isEmpty { try removeDanglingRows() }
                for body in findings.damagedBodies { try removeResponses(of: body) }
                // The caller runs `relink` afterwards, which fills empty link tables.
                for body in findings.bodiesWithDamagedLinkTable {
                    try run("UPDATE content SET links = x'' WHERE body = ?", .integer(body))
                }
                // Without link lists, the body is scanned when its links are needed.
                for row in findings.damagedLinkLists {
                    try run(
                        "DELETE FROM link WHERE url = ? AND body = ?", .integer(row.url), .integer(row.body))
                }
                try deleteCounts()
                try removeOrphanRows()
            }
            try executeInSQLite("PRAGMA synchronous = NORMAL", doing: "repair")
            try removeOrphanFiles()
            try bodies.external?.removeUnreferenced()
            // However much of a pack is unused, its bodies are not moved to a new one.
            _ = try thinPacks(wasteAllowed: .infinity)
            try updateStoredCounts()
            do throws(StoreError) {
                try rewriteJournal()
            } catch  where error.reason == .full && findings.journalFaults.isEmpty {
                // The disk is full. The old journal can stay: it has all rows, although also some that were
                // removed.
                isJournalStale = true
            }
        }
    }

    /// Removes the responses of a damaged body. The body is identified by ID and digest, because another body
    /// may have got its ID since the inspection. Where the removal would reveal an older or imported response
    /// for the same request, the response stays without a body and is marked as lost.
    private func removeResponses(of body: DamagedBody) throws(StoreError) {
        let hasBody = """
            body = (
                SELECT id FROM body
                WHERE id = ?1 AND (lower(hex(sha256)) = ?2 OR ?2 = '' AND length(sha256) != 32))
            """
        try run(
            """
            UPDATE response SET body = NULL, status = \(StoredResponse.lostStatus), type = NULL, fields = '',
                flags = flags | \(ResponseFlags.isLost.rawValue)
            WHERE \(hasBody) AND EXISTS (
                SELECT 1 FROM response AS older WHERE older.url = response.url AND older.request = response.request
                    AND (older.snapshot < response.snapshot
                        OR \(Provenance.isImported("older")) AND NOT \(Provenance.isImported("response"))))
            """, .integer(body.id), .text(body.sha256))
        try run("DELETE FROM response WHERE \(hasBody)", .integer(body.id), .text(body.sha256))
    }

    /// Moves the bytes of a damaged body from its file, or copies them from its pack or PostgreSQL, to the folder
    /// `quarantine`. Bodies inside an SQLite database are not saved.
    private func moveToQuarantine(_ body: DamagedBody) throws(StoreError) {
        guard !body.sha256.isEmpty else { return }
        let target = folder.quarantine + "/" + body.sha256
        if isPostgreSQL {
            let reader = try StoreReader(folder)
            guard let stored = try reader.body(withID: body.id),
                let content = try reader.bodies.contentOfAnyLength(of: stored, bypassesLocalCopy: true)
            else { return }
            try folder.createQuarantine()
            let copy = try BodyFiles.write(try content.load(), in: folder)
            guard rename(copy, target) == 0 else {
                throw StoreError(errno, doing: "move a body to", path: target)
            }
            return
        }
        if let bytes = try packedBytes(of: body) {
            try folder.createQuarantine()
            let copy = try BodyFiles.write(bytes, in: folder)
            guard rename(copy, target) == 0 else {
                throw StoreError(errno, doing: "move a body to", path: target)
            }
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
        guard rename(file, target) == 0 else {
            throw StoreError(errno, doing: "move a body to", path: target)
        }
    }

    /// Returns the bytes of a body in a pack without verifying them, or nil if it is not in a pack.
    private func packedBytes(of body: DamagedBody) throws(StoreError) -> [UInt8]? {
        let packed = try prepare(
            "SELECT pack, start, frame, size FROM body WHERE id = ? AND pack IS NOT NULL"
        )
        .first(.integer(body.id)) { (location: PackLocation($0, from: 0), byteCount: Int($0.integer(3))) }
        guard let packed else { return nil }
        return try packed.location?.read(packed.byteCount, in: folder)
    }
}

extension StoreWriter {
    /// Rebuilds the indexes of a damaged database, and removes rows that refer to missing rows. The next prefetch
    /// fetches the removed responses. The caller has exclusive access and an open transaction.
    private func removeDanglingRows() throws(StoreError) {
        try executeInSQLite("REINDEX", doing: "repair")
        try execute(
            """
            DELETE FROM response WHERE url NOT IN (SELECT id FROM url) OR body NOT IN (SELECT id FROM body)
                OR snapshot NOT IN (SELECT snapshot.id FROM snapshot JOIN site ON site.id = snapshot.site);
            UPDATE response SET referrer = NULL WHERE referrer NOT IN (SELECT id FROM url);
            UPDATE site SET published =
                coalesce(
                    (SELECT max(snapshot.id) FROM snapshot WHERE snapshot.site = site.id AND snapshot.finished >= 0),
                    (SELECT max(snapshot.id) FROM snapshot WHERE snapshot.site = site.id AND snapshot.finished IS NOT NULL))
                WHERE published NOT IN (SELECT snapshot.id FROM snapshot JOIN site ON site.id = snapshot.site);
            UPDATE site SET overlay = NULL
                WHERE overlay NOT IN (SELECT snapshot.id FROM snapshot JOIN site ON site.id = snapshot.site);
            DELETE FROM snapshot WHERE site NOT IN (SELECT id FROM site);
            DELETE FROM link WHERE url NOT IN (SELECT id FROM url) OR body NOT IN (SELECT id FROM body);
            DELETE FROM content WHERE body NOT IN (SELECT id FROM body);
            """, doing: "repair")
    }
}
