internal import Database
internal import Web

extension StoreWriter {
    /// Ends a snapshot that would look the same to readers as the live one, in the open transaction: the live
    /// snapshot takes over its responses, which may have newer headers, and the snapshot is deleted.
    ///
    /// - Returns: The number of the live snapshot; nil if the snapshots differ, so that nothing was done.
    func mergeIfUnchanged(_ snapshot: OpenSnapshot) throws(StoreError) -> Int64? {
        // Nothing is merged if there is an overlay, since its responses take precedence over the live snapshot, or if
        // a later snapshot was rejected or rolled back.
        let live = try prepare(
            """
            SELECT live.id, live.number FROM site JOIN snapshot AS live ON live.id = site.published
            WHERE site.id = ?1 AND site.overlay IS NULL AND live.finished > 0 AND live.base IS NULL AND live.archive IS NULL
                AND live.id = (SELECT max(id) FROM snapshot WHERE site = ?1 AND id < ?2)
            """
        ).first(.integer(snapshot.site), .integer(snapshot.id)) { ($0.integer(0), $0.integer(1)) }
        guard let (id, number) = live, snapshot.id > id, try !hasChanges(snapshot.id, since: id) else {
            return nil
        }
        let hasSameKey = """
            response.url = own.url AND response.request = own.request AND response.variant = own.variant
            """
        try run(
            """
            DELETE FROM response WHERE snapshot = ?1
                AND EXISTS (SELECT 1 FROM response AS own WHERE own.snapshot = ?2 AND \(hasSameKey))
            """, .integer(id), .integer(snapshot.id))
        try run("UPDATE response SET snapshot = ?1 WHERE snapshot = ?2", .integer(id), .integer(snapshot.id))
        let moved = changedRowCount
        // The snapshot is deleted, and the next one of the site has its number.
        try releaseNumber(of: snapshot)
        try run("DELETE FROM snapshot WHERE id = ?", .integer(snapshot.id))
        try deleteCount(of: snapshot.id)
        try deleteCount(of: id)
        try recountConfirmed()
        if moved > 0, backEnd.hasJournal { try writeResponsesToJournal(where: "response.snapshot = \(id)") }
        return number
    }

    /// Whether the snapshot has a response of its own that readers can tell from the one of the live snapshot, or lacks a
    /// response of it. Screenshots and other results of rendering do not count, and neither does whether the site was asked
    /// for a URL that does not exist: a crawl tries only some of the URLs that scripts may mean.
    private func hasChanges(_ snapshot: Int64, since live: Int64) throws(StoreError) -> Bool {
        var hasChanges = false
        let flags = ResponseFlags([.isPrivate, .isPart, .isSoftNotFound]).rawValue
        let rows = try prepare(
            """
            SELECT new.fields, old.fields FROM response AS new
            LEFT JOIN response AS old ON old.url = new.url AND old.request = new.request AND old.variant = new.variant
                AND old.snapshot <= ?2 AND \(Schema.isPart(of: "?2", "old"))
                AND old.status = new.status AND old.flags & \(flags) = new.flags & \(flags)
                AND coalesce(old.body, 0) = coalesce(new.body, 0)
            WHERE new.snapshot = ?1 AND new.request NOT IN \(RequestKey.renderedInSQL) AND new.request <> '\(RequestKey.errorAnswer.text)'
                AND (new.status NOT IN (404, 410) OR EXISTS (
                    SELECT 1 FROM response AS earlier WHERE earlier.url = new.url AND earlier.request = new.request
                        AND earlier.snapshot <= ?2 AND \(Schema.isPart(of: "?2", "earlier"))))
            """)
        _ = try rows.first(.integer(snapshot), .integer(live)) { row -> Bool? in
            let isSame = !row.isNull(1) && HTTPFields.rendersTheSame(row.text(0), row.text(1))
            hasChanges = !isSame
            return isSame ? nil : true
        }
        if hasChanges { return true }
        return try prepare(
            """
            SELECT 1 FROM \(Schema.rows(ofSnapshot: "?2")) AS old
            WHERE old.confirmed < ?1 AND old.request NOT IN \(RequestKey.renderedInSQL) AND old.request <> '\(RequestKey.errorAnswer.text)'
                AND old.status NOT IN (404, 410) AND NOT EXISTS (
                SELECT 1 FROM response AS new WHERE new.snapshot = ?1 AND new.url = old.url
                    AND new.request = old.request AND new.variant = old.variant)
            """
        ).first(.integer(snapshot), .integer(live)) { _ in true } ?? false
    }
}

extension HTTPFields {
    /// Whether two header blocks agree in all headers that affect how a page looks and which URLs it loads.
    static func rendersTheSame(_ block: String, _ other: String) -> Bool {
        if block == other { return true }
        func renderingFields(of block: String) -> [String: [String]] {
            var values: [String: [String]] = [:]
            for field in HTTPFields(block: block.utf8.span).list
            where renderingFieldNames.contains(field.name) {
                values[field.name.lowercased(), default: []].append(withoutNonces(field.value))
            }
            return values
        }
        return renderingFields(of: block) == renderingFields(of: other)
    }

    /// A policy without the nonces of `Content-Security-Policy`, which differ in each response.
    private static func withoutNonces(_ policy: String) -> String {
        policy.split(separator: " ").filter { !$0.hasPrefix("'nonce-") }.joined(separator: " ")
    }

    private static let renderingFieldNames: FieldNames = [
        "access-control-allow-credentials", "access-control-allow-origin", "content-disposition",
        "content-language", "content-location", "content-security-policy", "content-type",
        "cross-origin-embedder-policy", "cross-origin-opener-policy", "cross-origin-resource-policy",
        "document-policy", "link", "location", "permissions-policy", "referrer-policy", "refresh",
        "service-worker-allowed", "sourcemap", "speculation-rules", "x-content-type-options",
        "x-frame-options", "x-robots-tag", "x-sourcemap", "x-ua-compatible",
    ]
}
