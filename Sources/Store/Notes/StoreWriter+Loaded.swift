internal import Web

extension StoreWriter {
    /// Adds what was loaded while serving to what is shown, in an overlay: beside or in place of what was held for the
    /// request, else to the site that starts on its host, else to a site of its own.
    ///
    /// Fails with `.busy` where it would need a site that is just being prefetched for the first time.
    package func add(
        loaded response: NewResponse, over held: StoredResponse?, origin: String, host: String, now: Int64
    ) throws(StoreError) {
        if let site = try site(of: held, host: host) {
            let overlay = try overlay(of: site, over: held, now: now)
            if !overlay.isContinued { try noteState() }
            return try add([response], to: overlay)
        }
        let start = origin + "/"
        let visit = try begin(site: start, start: [start], now: now)
        do throws(StoreError) {
            try add([response], to: visit)
            try end(visit, .publish(now: now))
        } catch {
            // The first error is the one that tells.
            try? end(visit, .forget)
            throw error
        }
    }

    private func site(of held: StoredResponse?, host: String) throws(StoreError) -> Int64? {
        if let held {
            let own = try prepare("SELECT site FROM visit WHERE id = ?").first(.integer(held.visit)) { $0.integer(0) }
            if let own { return own }
        }
        return try site(onHost: host)
    }

    private func site(onHost host: String) throws(StoreError) -> Int64? {
        var found: Int64?
        try eachRow("SELECT id, start FROM site WHERE published IS NOT NULL ORDER BY published") { row in
            let starts = row.text(1).utf8.split(separator: UInt8(ascii: "\n")).compactMap { String($0) }
            if starts.contains(where: { WebURL($0)?.host == host }) { found = row.integer(0) }
        }
        return found
    }

    /// What lies over the published visit. One that is shown while it is still being made needs none.
    private func overlay(of site: Int64, over held: StoredResponse?, now: Int64) throws(StoreError) -> OpenVisit {
        try transaction { () throws(StoreError) in
            let shown = try prepare(
                """
                SELECT site.published, site.overlay, visit.finished FROM site
                LEFT JOIN visit ON visit.id = site.published WHERE site.id = ?
                """
            ).first(.integer(site)) { ($0.optionalInteger(0), $0.optionalInteger(1), $0.optionalInteger(2)) }
            let (published, overlay, finished) = shown ?? (nil, nil, nil)
            if let overlay { return OpenVisit(site: site, id: overlay, isContinued: true) }
            guard let base = published ?? held?.visit, finished == nil else {
                try run(
                    "INSERT INTO visit (site, started, finished, base) VALUES (?1, ?2, ?2, ?3)", .integer(site),
                    .integer(now), .optional(published))
                let id = lastInsertedRow
                try run("UPDATE site SET overlay = ? WHERE id = ?", .integer(id), .integer(site))
                return OpenVisit(site: site, id: id, isContinued: false)
            }
            return OpenVisit(site: site, id: base, isContinued: true)
        }
    }
}
