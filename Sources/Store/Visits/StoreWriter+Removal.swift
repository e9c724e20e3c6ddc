extension StoreWriter {
    /// Removes a site with all its visits. What other sites hold too stays; the bodies go with the next collection.
    package func remove(_ site: Site) throws(StoreError) {
        try holding(site) { () throws(StoreError) in
            try run("UPDATE site SET published = NULL WHERE id = ?", .integer(site.id))
            try run("DELETE FROM response WHERE visit IN (SELECT id FROM visit WHERE site = ?)", .integer(site.id))
            try run("DELETE FROM visit WHERE site = ?", .integer(site.id))
            try run("DELETE FROM pin WHERE kind = 'site' AND value = ?", .text(site.name))
            try run("DELETE FROM site WHERE id = ?", .integer(site.id))
        }
    }
}
