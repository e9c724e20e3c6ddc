extension StoreWriter {
    /// Publishes another visit of the site, an older one as a rule: readers see it from here on, and nothing newer.
    ///
    /// The next prefetch is a newer visit again and is published when it is complete.
    package func publish(visit: Int64, of site: Site) throws(StoreError) {
        try holding(site) { () throws(StoreError) in
            guard try visits(of: site).contains(where: { $0.id == visit && $0.isFinished }) else {
                throw StoreError(
                    .unusable, doing: "roll back", path: site.name, detail: "it has no complete visit \(visit)",
                    advice: "see its visits with: larder visits")
            }
            try run("UPDATE site SET published = ?, overlay = NULL WHERE id = ?", .integer(visit), .integer(site.id))
        }
        try noteState()
    }

    /// From here on readers see the visit. It takes in what servers loaded meanwhile and it does not have itself.
    func show(_ visit: OpenVisit) throws(StoreError) {
        // What began before it lies below it now.
        let later = try prepare("SELECT overlay FROM site WHERE id = ?1 AND overlay > ?2")
            .first(.integer(visit.site), .integer(visit.id)) { $0.integer(0) }
        try run(
            "UPDATE site SET published = ?, overlay = NULL WHERE id = ?", .integer(visit.id), .integer(visit.site))
        guard let later else { return }
        try run("UPDATE OR IGNORE response SET visit = ? WHERE visit = ?", .integer(visit.id), .integer(later))
        try remove(visit: later)
    }

    private func remove(visit: Int64) throws(StoreError) {
        try run("UPDATE site SET overlay = NULL WHERE overlay = ?", .integer(visit))
        try run("DELETE FROM response WHERE visit = ?", .integer(visit))
        try run("DELETE FROM visit WHERE id = ?", .integer(visit))
    }

    /// Drops a visit. What the visits after it show stays: what they took from this one, the next of them has instead.
    package func drop(visit: Int64, of site: Site) throws(StoreError) {
        try dropRows(ofVisit: visit, of: site)
        try renewJournal()
    }

    func dropRows(ofVisit visit: Int64, of site: Site) throws(StoreError) {
        try holding(site) { () throws(StoreError) in
            let visits = try visits(of: site)
            guard let place = visits.firstIndex(where: { $0.id == visit }) else {
                throw StoreError(
                    .unusable, doing: "drop a visit of", path: site.name, detail: "it has no visit \(visit)",
                    advice: "see its visits with: larder visits")
            }
            guard !visits[place].isPublished else {
                throw StoreError(
                    .unusable, doing: "drop a visit of", path: site.name,
                    detail: "visit \(visit) is the one that is served",
                    advice: "publish another one first with: larder rollback")
            }
            // An unfinished visit may be gone on with, and shows nothing yet, as long as there is none behind it.
            // What lies over another visit shows nothing of this one.
            let later = visits[(place + 1)...].filter { !$0.isOverlay }
            if let next = later.first(where: { $0.isFinished || $0.id != later.last?.id }) {
                // What the next visit has of its own stays its own.
                try run("UPDATE OR IGNORE response SET visit = ? WHERE visit = ?", .integer(next.id), .integer(visit))
            }
            try remove(visit: visit)
        }
    }

    /// As they are now: who asks may have read the site before others changed it.
    private func visits(
        of site: Site
    ) throws(StoreError) -> [(id: Int64, isFinished: Bool, isPublished: Bool, isOverlay: Bool)] {
        var visits: [(id: Int64, isFinished: Bool, isPublished: Bool, isOverlay: Bool)] = []
        try eachRow(
            """
            SELECT visit.id, visit.finished IS NOT NULL, visit.id = site.published, visit.base IS NOT NULL FROM visit
            JOIN site ON site.id = visit.site
            WHERE site.id = ? ORDER BY visit.id
            """, .integer(site.id)
        ) { visits.append(($0.integer(0), $0.integer(1) != 0, $0.integer(2) != 0, $0.integer(3) != 0)) }
        return visits
    }

    /// How the site is prefetched and served from now on, as the caller writes and reads it.
    package func keep(settings: String, of visit: OpenVisit) throws(StoreError) {
        try run("UPDATE site SET settings = ? WHERE id = ?", .text(settings), .integer(visit.site))
        try noteState()
    }

    /// The same once the visit is over.
    package func keep(settings: String, ofSite name: String) throws(StoreError) {
        try run("UPDATE site SET settings = ? WHERE name = ?", .text(settings), .text(name))
        try noteState()
    }

    /// What the addresses answered in the visit says that there is nothing, whatever its status.
    func mark(softNotFound hrefs: [String], in visit: OpenVisit) throws(StoreError) {
        guard !hrefs.isEmpty else { return }
        try transaction { () throws(StoreError) in
            for href in hrefs {
                try run(
                    """
                    UPDATE response SET flags = flags | ? WHERE visit = ? AND url = (SELECT id FROM url WHERE href = ?)
                    """, .integer(Int64(ResponseFlags.isSoftNotFound.rawValue)), .integer(visit.id), .text(href))
            }
        }
    }

    /// What is held under the addresses must be asked about before policies that ask use it again.
    package func invalidate(_ hrefs: [String]) throws(StoreError) {
        try transaction { () throws(StoreError) in
            for href in hrefs {
                try run(
                    "UPDATE response SET flags = flags | ? WHERE url = (SELECT id FROM url WHERE href = ?)",
                    .integer(Int64(ResponseFlags.isInvalidated.rawValue)), .text(href))
            }
        }
    }

    /// One that is served as far as it came is from here on as complete as it will ever be.
    func finishServed(of site: Int64, now: Int64) throws(StoreError) {
        try run(
            """
            UPDATE visit SET finished = ?2
            WHERE finished IS NULL AND id = (SELECT published FROM site WHERE id = ?1)
            """, .integer(site), .integer(now))
    }

    func reopen(_ site: Int64, beyond pages: Int) throws(StoreError) {
        try run(
            """
            UPDATE visit SET finished = NULL
            WHERE id = (SELECT published FROM site WHERE id = ?1)
                AND id = (SELECT max(id) FROM visit WHERE site = ?1 AND base IS NULL)
                AND (SELECT count(*) FROM response WHERE visit = visit.id AND role = 0) >= ?2
            """, .integer(site), .integer(Int64(pages)))
    }

    func published(of site: Int64) throws(StoreError) -> Int64? {
        try prepare("SELECT published FROM site WHERE id = ?")
            .first(.integer(site)) { $0.optionalInteger(0) } ?? nil
    }

    func isServed(_ visit: OpenVisit) throws(StoreError) -> Bool { try published(of: visit.site) == visit.id }
}
