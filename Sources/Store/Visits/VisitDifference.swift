/// What changed of a site from one visit to another, as a reader of each would see it.
package struct VisitDifference: Sendable, Equatable {
    package var added: [String] = []
    /// The body is another one.
    package var changed: [String] = []
    /// The origin says that it is gone.
    package var gone: [String] = []
    /// What was at one address is, byte for byte, at another that is new.
    package var moved: [Move] = []

    package struct Move: Sendable, Equatable {
        package var from: String
        package var to: String

        package init(from: String, to: String) {
            self.from = from
            self.to = to
        }
    }

    package var isEmpty: Bool { added.isEmpty && changed.isEmpty && gone.isEmpty && moved.isEmpty }

    package init() {}

    /// What a visit shows at an address.
    struct Shown: Equatable {
        let status: Int
        let body: Int64?

        var isThere: Bool { status < 400 }
    }

    /// Compares what two visits show. Everything comes out in the order of the addresses.
    init(from old: [String: Shown], to new: [String: Shown]) {
        var arrivals: [Int64: [String]] = [:]
        for (href, shown) in new where shown.isThere && !(old[href]?.isThere ?? false) {
            if let body = shown.body { arrivals[body, default: []].append(href) }
        }
        for body in arrivals.keys { arrivals[body]?.sort(by: >) }
        var arrived: Set<String> = []
        for (href, shown) in old.sorted(by: { $0.key < $1.key }) where shown.isThere {
            guard let now = new[href], now.isThere else {
                guard let body = shown.body, let target = arrivals[body]?.popLast() else {
                    gone.append(href)
                    continue
                }
                moved.append(Move(from: href, to: target))
                arrived.insert(target)
                continue
            }
            if now != shown { changed.append(href) }
        }
        added = new.filter { href, shown in
            shown.isThere && !(old[href]?.isThere ?? false) && !arrived.contains(href)
        }.keys.sorted()
    }
}
