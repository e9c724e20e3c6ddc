internal import Store
internal import Web

/// What became of what a page needs.
struct PageNeeds {
    /// Bodies that are there, each once.
    private(set) var parts: Set<String> = []
    private(set) var byteCount: Int64 = 0
    /// What is not held, and who needs it.
    private(set) var missing: [String: String] = [:]
    /// What is held, and had no room: how much it would take.
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
    /// The addresses that a page and what it needs need, redirects on the way too, the page's own first.
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

    /// Adds what a page needs, what that needs, and where redirects lead.
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
