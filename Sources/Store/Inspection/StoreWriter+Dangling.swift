extension StoreWriter {
    /// Removes rows that name others which are not there, and makes the indexes anew: what a damaged disk leaves. What went
    /// with them is missing, and fetched at the next prefetch. The caller is alone, in a transaction.
    func removeDanglingRows() throws(StoreError) {
        try execute(
            """
            REINDEX;
            DELETE FROM response WHERE url NOT IN (SELECT id FROM url) OR body NOT IN (SELECT id FROM body)
                OR visit NOT IN (SELECT visit.id FROM visit JOIN site ON site.id = visit.site);
            UPDATE response SET referrer = NULL WHERE referrer NOT IN (SELECT id FROM url);
            UPDATE site SET published =
                (SELECT max(visit.id) FROM visit WHERE visit.site = site.id AND visit.finished IS NOT NULL)
                WHERE published NOT IN (SELECT visit.id FROM visit JOIN site ON site.id = visit.site);
            UPDATE site SET overlay = NULL
                WHERE overlay NOT IN (SELECT visit.id FROM visit JOIN site ON site.id = visit.site);
            DELETE FROM visit WHERE site NOT IN (SELECT id FROM site);
            DELETE FROM link WHERE url NOT IN (SELECT id FROM url) OR body NOT IN (SELECT id FROM body);
            DELETE FROM content WHERE body NOT IN (SELECT id FROM body);
            """, doing: "repair")
    }
}
