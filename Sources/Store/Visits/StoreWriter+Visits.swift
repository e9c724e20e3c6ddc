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

    /// Drops a visit with its responses. What an address answered in an earlier visit shows again.
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
            try run("DELETE FROM response WHERE visit = ?", .integer(visit))
            try run("DELETE FROM visit WHERE id = ?", .integer(visit))
        }
    }
}
