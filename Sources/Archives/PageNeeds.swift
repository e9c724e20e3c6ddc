internal import Store
internal import Web

/// The assets of an exported page: which were included, and which were not.
struct PageNeeds {
    /// The URLs of the included bodies.
    private(set) var parts: Set<String> = []
    private(set) var byteCount: Int64 = 0
    /// The URLs that are not stored, each with a page or asset that needs it.
    private(set) var missing: [String: String] = [:]
    /// The URLs that are stored but were left out because of their size, with the size in bytes.
    var tooLarge: [String: Int] = [:]

    private static let most = 10_000

    mutating func add(_ copy: ShownCopies.Copy) {
        if parts.insert(copy.url.href).inserted { byteCount += Int64(copy.body.byteCount) }
    }

    mutating func miss(_ target: WebURL, neededBy page: WebURL) {
        guard missing.count < Self.most else { return }
        missing[target.key.href] = missing[target.key.href] ?? page.href
    }
}

extension ShownCopies {
    /// Returns the URLs of a page, its assets and their assets, including redirects. The page's own URL comes
    /// first.
    func needs(of page: WebURL, atMost limit: Int) throws(ArchiveError) -> (
        addresses: [WebURL], missing: PageNeeds
    ) {
        var (addresses, needs): ([WebURL], PageNeeds) = ([page.key], PageNeeds())
        var known: Set<String> = [page.key.href]
        var next = 0
        while next < addresses.count {
            let way = try way(to: addresses[next])
            next += 1
            for step in way.dropFirst() {
                guard let url = WebURL(step.href), known.insert(step.href).inserted else { continue }
                addresses.append(url)
            }
            guard let copy = try copy(at: addresses[next - 1]) else { continue }
            for target in try assets(of: copy)
            where !known.contains(target.key.href) && addresses.count < limit {
                known.insert(target.key.href)
                if try self.copy(at: target) == nil { needs.miss(target, neededBy: copy.url) }
                addresses.append(target.key)
            }
        }
        return (addresses, needs)
    }

    /// Adds the URLs of a page's assets, their assets and the redirects between them.
    func addNeeds(of page: WebURL, to known: inout Set<String>) throws(ArchiveError) {
        var waiting = [page.key]
        while let url = waiting.popLast() {
            for step in try way(to: url).dropFirst() { known.insert(step.href) }
            guard let copy = try copy(at: url) else { continue }
            for target in try assets(of: copy) where known.insert(target.key.href).inserted {
                waiting.append(target.key)
            }
        }
    }
}
