/// Chooses the URLs to evict from a store that is larger than allowed: the least recently used ones. A URL is
/// used when it is served or fetched. Of several with the same time, the one with the highest id is evicted
/// first, so that the first pages of sites stay.
///
/// Several URLs may have the same body. A body is freed with the last URL that has it, so the plan counts the
/// references to each body.
///
/// There may be millions of URLs, so everything is in a few arrays: `holdings` has the URLs, `uses` the bodies
/// of all of them one after the other, and each holding knows where its range in `uses` ends.
struct EvictionPlan {
    /// A URL with all its stored responses.
    struct Holding {
        let url: Int64
        /// The time when it was last served or fetched, whichever is later.
        var lastUse: Int64
        var isPinned: Bool
        /// The size of its rows, without its bodies.
        var byteCount: Int
        /// The end of its range in `uses`, which begins at the end of the previous holding's range.
        fileprivate var usesEnd: UInt32 = 0

        init(url: Int64, lastUse: Int64, isPinned: Bool, byteCount: Int) {
            self.url = url
            self.lastUse = lastUse
            self.isPinned = isPinned
            self.byteCount = byteCount
        }
    }

    private var holdings: [Holding] = []
    /// Indices in `bodies`, holding by holding, each once per holding.
    private var uses: [UInt32] = []
    /// The bodies, sorted by their ids.
    private var bodies: [(number: Int64, byteCount: Int)] = []
    /// For each body, the number of holdings when it was last used: the index of the last holding that has it. A holding can
    /// have a million bodies, so that searching for one in `uses` would take minutes.
    private var lastHoldings: [UInt32] = []

    /// - Precondition: The ids are ascending, and no holding was added yet.
    mutating func add(body number: Int64, byteCount: Int) {
        precondition(number > bodies.last?.number ?? .min && holdings.isEmpty)
        bodies.append((number, byteCount))
        lastHoldings.append(.max)
    }

    /// Records that the holding that is added next has this body.
    mutating func addUse(of number: Int64) {
        // Binary search for the id.
        var range = 0..<bodies.count
        while range.count > 1 {
            let middle = range.lowerBound + range.count / 2
            range =
                bodies[middle].number <= number
                ? middle..<range.upperBound : range.lowerBound..<middle
        }
        let holding = UInt32(holdings.count)
        guard let index = range.first, bodies[index].number == number, lastHoldings[index] != holding else {
            return
        }
        lastHoldings[index] = holding
        uses.append(UInt32(index))
    }

    mutating func add(_ holding: Holding) {
        var holding = holding
        holding.usesEnd = UInt32(uses.count)
        holdings.append(holding)
    }

    private func bodies(ofHoldingAt index: Int) -> ArraySlice<UInt32> {
        uses[(index == 0 ? 0 : Int(holdings[index - 1].usesEnd))..<Int(holdings[index].usesEnd)]
    }

    /// The size of all holdings, with each body counted once.
    var byteCount: Int64 {
        holdings.reduce(0) { $0 + Int64($1.byteCount) } + bodies.reduce(0) { $0 + Int64($1.byteCount) }
    }

    /// Returns the URLs to evict in order to free at least this many bytes; all URLs that are not pinned if
    /// that is not enough. A body is freed with the last URL that has it.
    func urls(toFree wanted: Int64) -> [Int64] {
        var references = [UInt32](repeating: 0, count: bodies.count)
        for body in uses { references[Int(body)] += 1 }
        var chosen: [Int64] = []
        var freed: Int64 = 0
        let order = holdings.indices.filter { !holdings[$0].isPinned }.sorted {
            let (one, other) = (holdings[$0], holdings[$1])
            return one.lastUse != other.lastUse ? one.lastUse < other.lastUse : one.url > other.url
        }
        for index in order {
            guard freed < wanted else { break }
            chosen.append(holdings[index].url)
            freed += Int64(holdings[index].byteCount)
            for body in bodies(ofHoldingAt: index) {
                references[Int(body)] -= 1
                if references[Int(body)] == 0 { freed += Int64(bodies[Int(body)].byteCount) }
            }
        }
        return chosen
    }
}
