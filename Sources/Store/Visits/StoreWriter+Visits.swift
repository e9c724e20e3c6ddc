extension StoreWriter {
    /// Publishes another visit of the site, an older one as a rule: readers see it from here on, and nothing newer.
    ///
    /// The next prefetch is a newer visit again and is published when it is complete.
    package func publish(visit: Int64, of site: Site) throws(StoreError) {
        guard site.visits.contains(where: { $0.id == visit && $0.finished != nil }) else {
            throw StoreError(
                .unusable, doing: "roll back", path: site.name, detail: "it has no complete visit \(visit)",
                advice: "see its visits with: larder visits")
        }
        try holding(site) { () throws(StoreError) in
            try run("UPDATE site SET published = ? WHERE id = ?", .integer(visit), .integer(site.id))
        }
    }

    /// Drops a visit. What the visits after it show stays: what they took from this one, the next of them has instead.
    package func drop(visit: Int64, of site: Site) throws(StoreError) {
        guard site.visits.contains(where: { $0.id == visit }) else {
            throw StoreError(
                .unusable, doing: "drop a visit of", path: site.name, detail: "it has no visit \(visit)",
                advice: "see its visits with: larder visits")
        }
        guard site.published != visit else {
            throw StoreError(
                .unusable, doing: "drop a visit of", path: site.name,
                detail: "visit \(visit) is the one that is served",
                advice: "publish another one first with: larder rollback")
        }
        try holding(site) { () throws(StoreError) in
            if let next = site.visits.first(where: { $0.id > visit && $0.finished != nil }) {
                // What the next visit has of its own stays its own.
                try run("UPDATE OR IGNORE response SET visit = ? WHERE visit = ?", .integer(next.id), .integer(visit))
            }
            try run("DELETE FROM response WHERE visit = ?", .integer(visit))
            try run("DELETE FROM visit WHERE id = ?", .integer(visit))
        }
    }

    /// How the site is prefetched and served from now on, as the caller writes and reads it.
    package func keep(settings: String, of visit: OpenVisit) throws(StoreError) {
        try run("UPDATE site SET settings = ? WHERE id = ?", .text(settings), .integer(visit.site))
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
}
