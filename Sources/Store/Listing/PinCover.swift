/// How much pins keep from being evicted.
package struct PinCover: Sendable, Equatable {
    package var urlCount = 0
    /// The bodies' bytes, each counted once.
    package var byteCount: Int64 = 0

    package init(urlCount: Int = 0, byteCount: Int64 = 0) {
        self.urlCount = urlCount
        self.byteCount = byteCount
    }
}

extension StoreReader {
    /// What each group of pins covers of all that is held: what it names, with everything that this needs, and what that
    /// needs in turn.
    package func covers(of groups: [[Pin]]) throws(StoreError) -> [PinCover] {
        let sets = groups.map(PinSet.init)
        var held: Set<Int64> = []
        var covered = [Set<Int64>](repeating: [], count: groups.count)
        try eachRow(
            """
            SELECT DISTINCT url.id, url.href, site.name FROM response
            JOIN url ON url.id = response.url
            JOIN visit ON visit.id = response.visit
            JOIN site ON site.id = visit.site
            """
        ) { row in
            held.insert(row.integer(0))
            for (place, pins) in sets.enumerated()
            where pins.holds(site: row.text(2)) || pins.holds(address: row.text(1)) {
                covered[place].insert(row.integer(0))
            }
        }
        for place in covered.indices {
            try addNeeds(to: &covered[place])
            covered[place].formIntersection(held)
        }
        let sizes = try byteCounts(of: covered)
        return zip(covered, sizes).map { PinCover(urlCount: $0.count, byteCount: $1) }
    }

    private func byteCounts(of covered: [Set<Int64>]) throws(StoreError) -> [Int64] {
        var sizes = [Int64](repeating: 0, count: covered.count)
        var counted = [Set<Int64>](repeating: [], count: covered.count)
        try eachRow(
            "SELECT response.url, body.id, body.size FROM response JOIN body ON body.id = response.body"
        ) { row in
            for place in covered.indices where covered[place].contains(row.integer(0)) {
                if counted[place].insert(row.integer(1)).inserted { sizes[place] += row.integer(2) }
            }
        }
        return sizes
    }
}
