internal import Digest
internal import Glibc

extension StoreReader {
    /// Reads every body and compares it with its digest. Takes as long as reading the whole store.
    ///
    /// `progress` is told the counts now and then.
    package func inspect(progress: (StoreFindings) -> Void = { _ in }) throws(StoreError) -> StoreFindings {
        var findings = StoreFindings()
        try eachRow("PRAGMA integrity_check") { row in
            if row.text(0) != "ok" { findings.databaseFaults.append(row.text(0)) }
        }
        try eachRow("SELECT \"table\", parent, count(*) FROM pragma_foreign_key_check GROUP BY 1, 2") { row in
            findings.databaseFaults.append(
                "rows of \(row.text(0)) that name rows of \(row.text(1)) which are not there: \(row.integer(2))")
        }
        var bodies: [StoredBody] = []
        try eachRow("SELECT \(StoredBody.columns) FROM body ORDER BY id") { row in
            if let body = StoredBody(row, from: 0) { bodies.append(body) }
        }
        var known: Set<String> = []
        for body in bodies {
            let digest = Digest(.sha256, bytes: body.sha256)
            if let digest { known.insert(digest.hex) }
            if let fault = try fault(of: body, digest) {
                findings.damaged.append(
                    DamagedBody(
                        id: body.id, sha256: digest?.hex ?? "", fault: fault, addresses: try addresses(of: body)))
            }
            findings.bodiesChecked += 1
            findings.bytesChecked += Int64(body.byteCount)
            if findings.bodiesChecked.isMultiple(of: 256) { progress(findings) }
        }
        findings.orphanBodies = Int(try orphanBodyCount())
        var packs: Set<Int64> = []
        try eachRow("SELECT number FROM pack") { packs.insert($0.integer(0)) }
        findings.orphanFiles =
            folder.bodyFileNames.filter { !known.contains($0) }.sorted()
            + folder.packList.filter { !packs.contains($0.number) }.map(\.name)
        return findings
    }

    /// Nil for a body that is what it should be.
    private func fault(of body: StoredBody, _ digest: Digest?) throws(StoreError) -> String? {
        guard let digest else { return "its digest has another length" }
        guard let content = try found(body) else { return "its bytes are gone" }
        let measured: (sha256: Digest, byteCount: Int)
        do throws(StoreError) {
            measured = try content.measure()
        } catch {
            return error.detail
        }
        if measured.byteCount != body.byteCount { return "\(measured.byteCount) bytes instead of \(body.byteCount)" }
        return measured.sha256 == digest ? nil : "its bytes have changed"
    }

    private func addresses(of body: StoredBody) throws(StoreError) -> [String] {
        var addresses: [String] = []
        try eachRow(
            """
            SELECT DISTINCT url.href FROM response JOIN url ON url.id = response.url
            WHERE response.body = ? ORDER BY url.href
            """, .integer(body.id)
        ) { addresses.append($0.text(0)) }
        return addresses
    }

    private func orphanBodyCount() throws(StoreError) -> Int64 {
        var count: Int64 = 0
        try eachRow("SELECT count(*) FROM body WHERE id NOT IN (SELECT body FROM response WHERE body IS NOT NULL)") {
            count = $0.integer(0)
        }
        return count
    }
}
