package import Database
internal import Web

/// A pin, which protects content from eviction.
package struct Pin: Sendable, Hashable {
    package let kind: PinKind
    package let value: String

    package init(_ kind: PinKind, _ value: String) {
        self.kind = kind
        self.value = value
    }
}

/// A set of pins, for looking up sites and URLs.
struct PinSet {
    private var urls: Set<String> = []
    private var patterns: [URLGlob] = []
    private var sites: Set<String> = []

    init(_ pins: [Pin]) {
        for pin in pins {
            switch pin.kind {
            case .url: urls.insert(WebURL(pin.value)?.withoutFragment.href ?? pin.value)
            case .pattern: if let glob = URLGlob(pin.value) { patterns.append(glob) }
            case .site: sites.insert(pin.value)
            }
        }
    }

    var isEmpty: Bool { urls.isEmpty && patterns.isEmpty && sites.isEmpty }

    func contains(site: String) -> Bool { sites.contains(site) }

    func contains(url href: String) -> Bool {
        if urls.contains(href) { return true }
        guard !patterns.isEmpty, let url = WebURL(href) else { return false }
        return patterns.contains { $0.matches(url) }
    }
}

extension StoreReader {
    /// Returns all pins, sorted by kind and value.
    package func pins() throws(StoreError) -> [Pin] {
        var pins: [Pin] = []
        try eachRow("SELECT kind, value FROM pin ORDER BY kind, value") { row in
            if let kind = PinKind(rawValue: row.text(0)) { pins.append(Pin(kind, row.text(1))) }
        }
        return pins
    }
}

extension StoreWriter {
    /// Adds a pin. An existing one stays unchanged.
    package func add(_ pin: Pin, now: Int64) throws(StoreError) {
        try run(
            "INSERT OR IGNORE INTO pin (kind, value, added) VALUES (?, ?, ?)", .text(pin.kind.rawValue),
            .text(pin.value), .integer(now))
        try writeStateToJournal()
    }

    /// Removes a pin. Returns false if there was no such pin.
    package func remove(_ pin: Pin) throws(StoreError) -> Bool {
        var exists = false
        try transaction { () throws(StoreError) in
            try eachRow(
                "SELECT 1 FROM pin WHERE kind = ? AND value = ?", .text(pin.kind.rawValue), .text(pin.value)
            ) { _ in exists = true }
            try run(
                "DELETE FROM pin WHERE kind = ? AND value = ?", .text(pin.kind.rawValue), .text(pin.value))
        }
        if exists { try writeStateToJournal() }
        return exists
    }
}

/// The number and size of the URLs that pins protect.
package struct PinCover: Sendable, Equatable {
    package var urlCount = 0
    /// The size of the bodies in bytes, each counted once.
    package var byteCount: Int64 = 0

    package init(urlCount: Int = 0, byteCount: Int64 = 0) {
        self.urlCount = urlCount
        self.byteCount = byteCount
    }
}

extension StoreReader {
    /// Returns the number of URLs that have stored responses.
    package func storedURLCount() throws(StoreError) -> Int {
        try prepare("SELECT count(DISTINCT url) FROM response").first { Int($0.integer(0)) } ?? 0
    }

    /// Returns the number and size of the stored URLs that each group of pins protects: those that it names,
    /// and recursively everything that they need.
    ///
    /// Reads every stored response, unless no group has a pin.
    package func covers(of groups: [[Pin]]) throws(StoreError) -> [PinCover] {
        guard groups.contains(where: { !$0.isEmpty }) else {
            return groups.map { _ in PinCover() }
        }
        let sets = groups.map(PinSet.init)
        var stored: Set<Int64> = []
        var covered = [Set<Int64>](repeating: [], count: groups.count)
        try eachRow(
            """
            SELECT DISTINCT url.id, url.href, site.name FROM response
            JOIN url ON url.id = response.url
            JOIN snapshot ON snapshot.id = response.snapshot
            JOIN site ON site.id = snapshot.site
            """
        ) { row in
            stored.insert(row.integer(0))
            for (index, pins) in sets.enumerated()
            where pins.contains(site: row.text(2)) || pins.contains(url: row.text(1)) {
                covered[index].insert(row.integer(0))
            }
        }
        for index in covered.indices {
            try addAssets(to: &covered[index])
            covered[index].formIntersection(stored)
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
            for index in covered.indices where covered[index].contains(row.integer(0)) {
                if counted[index].insert(row.integer(1)).inserted { sizes[index] += row.integer(2) }
            }
        }
        return sizes
    }
}
