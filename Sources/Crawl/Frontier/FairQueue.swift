/// What waits, by kin: first in, first out, until one kin has had many turns; then those that had fewer go first, so that
/// ever new pages of one kind never keep the others waiting.
struct FairQueue: Sendable {
    private struct Group: Sendable {
        var numbers = WorkQueue()
        /// When each came in.
        var turns = WorkQueue()
        var started = 0

        /// It rises each time that as many again had their turn.
        var level: Int { Int.bitWidth - (started / FairQueue.turnsInOrder).leadingZeroBitCount }
    }

    /// The first one is of those whose kin is small: thousands of kins with a page each are no more than one with thousands.
    private var groups = [Group()]
    private var places: [UInt64: Int] = [:]
    /// How many of a kin came that has no group yet.
    private var small: [UInt64: Int] = [:]
    private var clock: UInt32 = 0
    private(set) var count = 0

    private static let mostGroups = 64
    private static let mostSmall = 4096
    private static let leastOfGroup = 16
    private static let turnsInOrder = 64

    mutating func append(_ number: UInt32, kin: UInt64) {
        let place = place(of: kin)
        groups[place].numbers.append(number)
        groups[place].turns.append(clock)
        clock &+= 1
        count += 1
    }

    var first: UInt32? { count == 0 ? nil : groups[next].numbers.first }

    mutating func popFirst() -> UInt32? {
        guard count > 0 else { return nil }
        let place = next
        count -= 1
        groups[place].started += 1
        _ = groups[place].turns.popFirst()
        return groups[place].numbers.popFirst()
    }

    var last: UInt32? { groups.last { !$0.numbers.isEmpty }?.numbers.last }

    mutating func popLast() -> UInt32? {
        guard let place = groups.lastIndex(where: { !$0.numbers.isEmpty }) else { return nil }
        count -= 1
        _ = groups[place].turns.popLast()
        return groups[place].numbers.popLast()
    }

    private var next: Int {
        if groups.count == 1 { return 0 }
        var best = 0
        var (bestLevel, bestTurn) = (Int.max, UInt32.max)
        for place in groups.indices {
            guard let turn = groups[place].turns.first else { continue }
            let level = groups[place].level
            if level < bestLevel || level == bestLevel && turn < bestTurn {
                (best, bestLevel, bestTurn) = (place, level, turn)
            }
        }
        return best
    }

    private mutating func place(of kin: UInt64) -> Int {
        if let place = places[kin] { return place }
        guard groups.count < Self.mostGroups else { return 0 }
        if small.count >= Self.mostSmall { small.removeAll(keepingCapacity: true) }
        let known = small[kin, default: 0] + 1
        guard known >= Self.leastOfGroup else {
            small[kin] = known
            return 0
        }
        small[kin] = nil
        groups.append(Group())
        places[kin] = groups.count - 1
        return groups.count - 1
    }
}
