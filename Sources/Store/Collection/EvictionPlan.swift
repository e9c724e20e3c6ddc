/// Chooses what goes when a store is larger than allowed: what was not served for the longest time, and of what was never
/// served since it was fetched, what was fetched first. Of equals the one that was found last goes first, so that the
/// beginnings of sites stay.
struct EvictionPlan {
    /// One URL with all that is held under it.
    struct Holding {
        let url: Int64
        /// When it was last served or, later, fetched.
        var lastUse: Int64
        var isPinned: Bool
        /// What it takes beside its bodies.
        var byteCount: Int
        var bodies: Set<Int64>
    }

    private let holdings: [Holding]
    private let sizes: [Int64: Int]

    init(_ holdings: [Holding], sizes: [Int64: Int]) {
        self.holdings = holdings
        self.sizes = sizes
    }

    /// What all holdings together take, each body counted once.
    var byteCount: Int64 {
        holdings.reduce(0) { $0 + Int64($1.byteCount) } + sizes.values.reduce(0) { $0 + Int64($1) }
    }

    /// The URLs without which at least so many bytes are free; every one that is not pinned when that is not enough. A body
    /// counts only when the last URL that has it goes.
    func urls(toFree wanted: Int64) -> [Int64] {
        var references: [Int64: Int] = [:]
        for holding in holdings {
            for body in holding.bodies { references[body, default: 0] += 1 }
        }
        var chosen: [Int64] = []
        var free: Int64 = 0
        let order = holdings.filter { !$0.isPinned }.sorted {
            $0.lastUse != $1.lastUse ? $0.lastUse < $1.lastUse : $0.url > $1.url
        }
        for holding in order {
            guard free < wanted else { break }
            chosen.append(holding.url)
            free += Int64(holding.byteCount)
            for body in holding.bodies {
                references[body, default: 1] -= 1
                if references[body] == 0 { free += Int64(sizes[body] ?? 0) }
            }
        }
        return chosen
    }
}
