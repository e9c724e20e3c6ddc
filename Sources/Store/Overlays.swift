package import Database
internal import Web

extension StoreWriter {
    /// Adds a response that a server or proxy loaded to the overlay of a site: the site whose stored response it
    /// replaces, else the site that starts on its host, else a new site.
    ///
    /// - Throws: `StoreError` with the reason `.busy` if the site is being prefetched for the first time.
    package func addToOverlay(
        _ response: NewResponse, replacing stored: StoredResponse?, origin: String, host: String, now: Int64
    ) throws(StoreError) {
        try putIntoOverlay(response, replacing: stored, origin: origin, host: host, now: now)
        try commit()
    }

    /// Does the same as `addToOverlay`, but leaves the transaction open until `commit`. If it throws, the changes of that
    /// transaction are lost.
    ///
    /// - Parameter name: the name of the site in place of the one that `addToOverlay` would choose.
    package func putIntoOverlay(
        _ response: NewResponse, replacing stored: StoredResponse?, origin: String, host: String,
        site name: String? = nil, now: Int64
    ) throws(StoreError) {
        var response = response
        response.flags.subtract(.provenanceFlags)
        // If only the headers are new, an imported body stays an import.
        if case .stored = response.body, let stored, stored.isImported {
            response.flags.formUnion(stored.flags.intersection(.provenanceFlags))
        } else {
            response.flags.insert(name == nil ? .isLoaded : .isRecorded)
        }
        let key = OverlayKey(snapshot: stored?.snapshot, host: host)
        if let overlay = overlays[key] { return try put([response], links: [], to: overlay) }
        let known = try inOpenTransaction { () throws(StoreError) -> OpenSnapshot? in
            let site = if let name { try site(named: name) } else { try site(of: stored, host: host) }
            return try site.map { (site) throws(StoreError) in
                try overlay(of: site, replacing: stored, now: now)
            }
        }
        if let overlay = known {
            if !overlay.isContinued { try appendStateInOpenTransaction() }
            overlays[key] = overlay
            return try put([response], links: [], to: overlay)
        }
        try commit()
        let start = origin + "/"
        let snapshot = try begin(site: name ?? start, start: name == nil ? [start] : [], now: now)
        do throws(StoreError) {
            try add([response], to: snapshot)
            try end(snapshot, .publish(now: now))
        } catch {
            // The first error explains the failure.
            _ = try? end(snapshot, .forget)
            throw error
        }
    }

    /// Returns the site of the stored response, or else the one that starts on the host.
    private func site(of stored: StoredResponse?, host: String) throws(StoreError) -> Int64? {
        if let stored {
            let own = try prepare("SELECT site FROM snapshot WHERE id = ?").first(.integer(stored.snapshot)) {
                $0.integer(0)
            }
            if let own { return own }
        }
        return try siteStarting(onHost: host)
    }

    /// Returns the site with this name. Nil if it does not exist or has no live snapshot yet.
    private func site(named name: String) throws(StoreError) -> Int64? {
        try prepare("SELECT id FROM site WHERE name = ? AND published IS NOT NULL").first(.text(name)) {
            $0.integer(0)
        }
    }

    /// Returns the site with a start URL on the host, among several the one with the newest live snapshot.
    private func siteStarting(onHost host: String) throws(StoreError) -> Int64? {
        var found: Int64?
        try eachRow("SELECT id, start FROM site WHERE published IS NOT NULL ORDER BY published") { row in
            let starts = row.text(1).utf8.split(separator: UInt8(ascii: "\n")).compactMap { String($0) }
            if starts.contains(where: { WebURL($0)?.host == host }) { found = row.integer(0) }
        }
        return found
    }

    /// The overlay of the live snapshot, which is created if necessary. A first snapshot that is served while it
    /// is being made needs none.
    private func overlay(of site: Int64, replacing stored: StoredResponse?, now: Int64) throws(StoreError)
        -> OpenSnapshot
    {
        let row = try prepare(
            """
            SELECT site.published, site.overlay, snapshot.finished FROM site
            LEFT JOIN snapshot ON snapshot.id = site.published WHERE site.id = ?
            """
        ).first(.integer(site)) { ($0.optionalInteger(0), $0.optionalInteger(1), $0.optionalInteger(2)) }
        let (published, overlay, finished) = row ?? (nil, nil, nil)
        if let overlay { return try openSnapshot(site: site, id: overlay, isContinued: true) }
        guard let base = published ?? stored?.snapshot, finished == nil else {
            let added = try prepare(
                """
                INSERT INTO snapshot (site, started, finished, base, number)
                    VALUES (?1, ?2, ?2, ?3, coalesce((SELECT number FROM snapshot WHERE id = ?3), 0))
                """
            ).insert(.integer(site), .integer(now), .optional(published))
            let id = added ?? 0
            try run("UPDATE site SET overlay = ? WHERE id = ?", .integer(id), .integer(site))
            return try openSnapshot(site: site, id: id, isContinued: false)
        }
        return try openSnapshot(site: site, id: base, isContinued: true)
    }
}
