/// Chooses what goes when a store is larger than allowed: what was not served for the longest time, and of
/// what was never served since it was fetched, what was fetched first. Of equals the one that was found last
/// goes first, so that the beginnings of sites stay.
///
/// There may be millions of them: all is in few arrays.
struct EvictionPlan {
    /// One URL with all that is held under it.
    struct Holding {
        let url: Int64
        /// When it was last served or, later, fetched.
        var lastUse: Int64
        var isPinned: Bool
        /// What it takes beside its bodies.
        var byteCount: Int
        /// Behind the last of its bodies in `uses`, where those of the one before it end first.
        fileprivate var usesEnd: UInt32 = 0

        init(url: Int64, lastUse: Int64, isPinned: Bool, byteCount: Int) {
            self.url = url
            self.lastUse = lastUse
            self.isPinned = isPinned
            self.byteCount = byteCount
        }
    }

    private var holdings: [Holding] = []
    /// Places in `bodies`, holding by holding, each once.
    private var uses: [UInt32] = []
    /// In the order of their numbers.
    private var bodies: [(number: Int64, byteCount: Int)] = []

    /// - Precondition: One with a larger number than those before, and all before the first holding.
    mutating func add(body number: Int64, byteCount: Int) {
        precondition(number > bodies.last?.number ?? .min && holdings.isEmpty)
        bodies.append((number, byteCount))
    }

    /// The next holding to be added has this body.
    mutating func addUse(of number: Int64) {
        var places = 0..<bodies.count
        while places.count > 1 {
            let middle = places.lowerBound + places.count / 2
            places =
                bodies[middle].number <= number
                ? middle..<places.upperBound : places.lowerBound..<middle
        }
        guard let place = places.first, bodies[place].number == number,
            !uses[Int(holdings.last?.usesEnd ?? 0)...].contains(UInt32(place))
        else { return }
        uses.append(UInt32(place))
    }

    mutating func add(_ holding: Holding) {
        var holding = holding
        holding.usesEnd = UInt32(uses.count)
        holdings.append(holding)
    }

    private func uses(of place: Int) -> ArraySlice<UInt32> {
        uses[(place == 0 ? 0 : Int(holdings[place - 1].usesEnd))..<Int(holdings[place].usesEnd)]
    }

    /// What all holdings together take, each body counted once.
    var byteCount: Int64 {
        holdings.reduce(0) { $0 + Int64($1.byteCount) } + bodies.reduce(0) { $0 + Int64($1.byteCount) }
    }

    /// The URLs without which at least so many bytes are free; every one that is not pinned when that is not
    /// enough. A body counts only when the last URL that has it goes.
    func urls(toFree wanted: Int64) -> [Int64] {
        var references = [UInt32](repeating: 0, count: bodies.count)
        for place in uses { references[Int(place)] += 1 }
        var chosen: [Int64] = []
        var free: Int64 = 0
        let order = holdings.indices.filter { !holdings[$0].isPinned }.sorted {
            let (one, other) = (holdings[$0], holdings[$1])
            return one.lastUse != other.lastUse ? one.lastUse < other.lastUse : one.url > other.url
        }
        for place in order {
            guard free < wanted else { break }
            chosen.append(holdings[place].url)
            free += Int64(holdings[place].byteCount)
            for body in uses(of: place) {
                references[Int(body)] -= 1
                if references[Int(body)] == 0 { free += Int64(bodies[Int(body)].byteCount) }
            }
        }
        return chosen
    }
}
