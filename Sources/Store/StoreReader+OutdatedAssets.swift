internal import Database

extension StoreReader {
    /// Returns the outdated assets of the live snapshot of each site, or of one site, by the id of the site.
    func outdatedAssets(ofSite site: Int64? = nil) throws(StoreError) -> [Int64: Set<Int64>] {
        var live: [Int64: Int64] = [:]
        try eachRow(
            """
            SELECT id, coalesce(overlay, published) FROM site
            WHERE published IS NOT NULL AND (CAST(?1 AS BIGINT) IS NULL OR id = ?1)
            """, .optional(site)
        ) { live[$0.integer(0)] = $0.integer(1) }
        var outdated: [Int64: Set<Int64>] = [:]
        for (site, snapshot) in live {
            let assets = try outdatedAssets(ofSite: site, asOf: snapshot)
            if !assets.isEmpty { outdated[site] = assets }
        }
        return outdated
    }

    /// Returns the ids of the URLs of assets that no page of a snapshot needs any more: an earlier snapshot stored them, this
    /// one did not receive them, and all documents that linked to them are gone or have changed. Listings and exports leave
    /// them out. The server still sends them, because a script may request what no link names.
    ///
    /// An asset without a known link is not outdated. If pages of the site were rendered, their scripts may have requested
    /// it; it is then outdated only if the documents that linked to it are gone.
    ///
    /// - Parameters:
    ///   - site: The id of the site.
    ///   - snapshot: The id of a snapshot of the site, or of an overlay on it.
    func outdatedAssets(ofSite site: Int64, asOf snapshot: Int64) throws(StoreError) -> Set<Int64> {
        let (siteID, snapshotID) = (SQLValue.integer(site), SQLValue.integer(snapshot))
        let base = "coalesce((SELECT base FROM snapshot WHERE id = ?2), ?2)"
        var candidates: Set<Int64> = []
        try eachRow(
            """
            SELECT response.url FROM snapshot CROSS JOIN response ON response.snapshot = snapshot.id
            WHERE snapshot.site = ?1 AND snapshot.id < \(base) AND response.confirmed < \(base)
                AND response.role = 1 AND response.request = '' AND response.status < 400
                AND NOT EXISTS (
                    SELECT 1 FROM response AS own WHERE own.url = response.url AND own.request = ''
                        AND (own.snapshot = ?2 OR \(Schema.isPart(of: base, "own"))))
            """, siteID, snapshotID
        ) { candidates.insert($0.integer(0)) }
        return try AssetNeeds.findOutdated(
            among: candidates, ofSite: site, asOf: snapshot, hasLinkSums: backEnd.hasLinkSums,
            prepare: prepare)
    }
}

extension StoreWriter {
    /// Returns the ids of the URLs of assets that are outdated in all snapshots after the one that is about to be removed,
    /// and that no other snapshot has.
    ///
    /// - Parameters:
    ///   - site: The id of the site.
    ///   - snapshot: The id of the snapshot.
    ///   - heir: The id of the later snapshot that takes over responses of the removed one.
    func outdatedAssets(
        ofSite site: Int64, onlyIn snapshot: Int64, heir: Int64
    ) throws(StoreError) -> Set<Int64> {
        var candidates: Set<Int64> = []
        try eachRow(
            """
            SELECT DISTINCT response.url FROM response
            WHERE response.snapshot = ?2 AND response.confirmed < ?3
                AND response.role = 1 AND response.request = '' AND response.status < 400
                AND NOT EXISTS (
                    SELECT 1 FROM response AS other JOIN snapshot ON snapshot.id = other.snapshot
                    WHERE other.url = response.url AND (other.request <> '' OR other.snapshot <> ?2)
                        AND snapshot.site = ?1)
            """, .integer(site), .integer(snapshot), .integer(heir)
        ) { candidates.insert($0.integer(0)) }
        return try AssetNeeds.findOutdated(
            among: candidates, ofSite: site, asOf: heir, andLater: true, hasLinkSums: backEnd.hasLinkSums,
            prepare: prepare)
    }
}

extension AssetNeeds {
    /// Returns which of the candidates are outdated in a snapshot.
    ///
    /// - Parameters:
    ///   - andLater: Whether they must be outdated in all later snapshots of the site, too.
    ///   - hasLinkSums: Whether the store has checksums of link lists. PostgreSQL has none.
    ///   - prepare: Prepares a statement of the store.
    fileprivate static func findOutdated(
        among candidates: Set<Int64>, ofSite siteID: Int64, asOf snapshotID: Int64, andLater: Bool = false,
        hasLinkSums: Bool, prepare: (String) throws(StoreError) -> Statement
    ) throws(StoreError) -> Set<Int64> {
        guard !candidates.isEmpty else { return [] }
        let (site, snapshot) = (SQLValue.integer(siteID), SQLValue.integer(snapshotID))
        func eachRow(_ sql: String, _ values: SQLValue..., read: (Row) -> Void) throws(StoreError) {
            try prepare(sql).each(values, read: read)
        }
        var graph = AssetNeeds(candidates)
        try eachRow(
            """
            SELECT response.url, response.body, response.status, response.snapshot
            FROM snapshot CROSS JOIN response ON response.snapshot = snapshot.id
            WHERE snapshot.site = ?1 AND response.request = '' AND \(Schema.isVisible(asOf: "?2"))
            ORDER BY response.url, response.snapshot DESC
            """, site, snapshot
        ) { row in
            graph.addVersion(
                of: row.integer(0), body: row.integer(2) < 400 ? row.optionalInteger(1) : nil,
                inSnapshot: row.integer(3))
        }
        if andLater {
            try eachRow(
                """
                SELECT response.url, response.body FROM snapshot CROSS JOIN response ON response.snapshot = snapshot.id
                WHERE snapshot.site = ?1 AND snapshot.id > ?2 AND response.request = '' AND response.status < 400
                    AND response.body IS NOT NULL
                """, site, snapshot
            ) { graph.addLaterVersion(of: $0.integer(0), body: $0.integer(1)) }
        }
        let wasRendered = try prepare(
            """
            SELECT 1 FROM snapshot CROSS JOIN response ON response.snapshot = snapshot.id
            WHERE snapshot.site = ?1 AND response.role = 2 AND response.request IN \(RequestKey.renderedInSQL) LIMIT 1
            """
        ).first(site) { _ in true }
        var isDamaged = false
        try eachRow(
            """
            SELECT link.url, link.body, link.pages, link.assets, link.guesses, \(hasLinkSums ? "link.sum" : "NULL")
            FROM snapshot CROSS JOIN response ON response.snapshot = snapshot.id
            CROSS JOIN link ON link.url = response.url AND link.body = response.body
            WHERE snapshot.site = ?1 AND response.request = ''
            """, site
        ) { row in
            let links = StoredLinkIDs(row, from: 2)
            if links == nil { isDamaged = true }
            graph.addLinks(
                of: row.integer(0), body: row.integer(1), links?.all ?? [], evenIfChanged: wasRendered == true
            )
        }
        // A damaged list may have named any of them.
        return isDamaged ? [] : graph.outdated
    }
}

/// Decides which assets are still needed from the links of all documents of a site, as ids of their URLs.
private struct AssetNeeds {
    /// The assets that may be outdated.
    private let candidates: Set<Int64>
    /// The bodies of the newest responses for each URL, and their snapshot. Empty if the URL is gone.
    private var current: [Int64: (bodies: Set<Int64>, snapshot: Int64)] = [:]
    /// The candidates that each URL links to.
    private var links: [Int64: Set<Int64>] = [:]
    /// The candidates that some document links or linked to.
    private var linked: Set<Int64> = []

    init(_ candidates: Set<Int64>) { self.candidates = candidates }

    /// Adds a response of a URL, the newest first.
    mutating func addVersion(of url: Int64, body: Int64?, inSnapshot snapshot: Int64) {
        let newest = current[url]?.snapshot ?? snapshot
        guard newest == snapshot else { return }
        current[url, default: ([], snapshot)].bodies.formUnion(body.map { [$0] } ?? [])
    }

    /// Adds the body of a response in a later snapshot, whose links count as well.
    mutating func addLaterVersion(of url: Int64, body: Int64) {
        current[url, default: ([], .max)].bodies.insert(body)
    }

    /// Adds the links of a body.
    ///
    /// - Parameter evenIfChanged: Whether links of earlier bodies count as long as the URL is not gone.
    mutating func addLinks(of url: Int64, body: Int64, _ targets: [Int64], evenIfChanged: Bool) {
        let targets = candidates.intersection(targets)
        guard !targets.isEmpty else { return }
        linked.formUnion(targets)
        let bodies = current[url]?.bodies ?? []
        guard bodies.contains(body) || evenIfChanged && !bodies.isEmpty else { return }
        links[url, default: []].formUnion(targets)
    }

    /// The candidates that neither a page nor another needed asset needs.
    var outdated: Set<Int64> {
        var needed = candidates.subtracting(linked)
        var open = Array(needed)
        for (url, targets) in links where !candidates.contains(url) {
            open += targets.subtracting(needed)
            needed.formUnion(targets)
        }
        while let url = open.popLast() {
            let targets = (links[url] ?? []).subtracting(needed)
            needed.formUnion(targets)
            open += targets
        }
        return candidates.subtracting(needed)
    }
}
