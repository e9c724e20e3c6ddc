/// First in, first out, without moving what is left.
struct WorkQueue: Sendable {
    private var numbers: [UInt32] = []
    private var head = 0

    private static let mostBehind = 1024

    var isEmpty: Bool { head == numbers.count }

    var count: Int { numbers.count - head }

    var first: UInt32? { isEmpty ? nil : numbers[head] }

    mutating func append(_ number: UInt32) {
        numbers.append(number)
    }

    var last: UInt32? { isEmpty ? nil : numbers.last }

    mutating func popLast() -> UInt32? { isEmpty ? nil : numbers.removeLast() }

    mutating func popFirst() -> UInt32? {
        guard head < numbers.count else { return nil }
        let number = numbers[head]
        head += 1
        if head == numbers.count {
            numbers.removeAll(keepingCapacity: numbers.count <= Self.mostBehind)
            head = 0
        } else if head > Self.mostBehind, head * 2 > numbers.count {
            numbers.removeFirst(head)
            head = 0
        }
        return number
    }
}

/// Numbers with the times at which they are due, the earliest first: a heap.
struct TimedQueue: Sendable {
    private var entries: [(time: Duration, number: UInt32)] = []

    var isEmpty: Bool { entries.isEmpty }

    var count: Int { entries.count }

    func contains(where isWanted: (UInt32) -> Bool) -> Bool { entries.contains { isWanted($0.number) } }

    /// When the first one is due.
    var next: Duration? { entries.first?.time }

    mutating func add(_ number: UInt32, at time: Duration) {
        var place = entries.count
        entries.append((time, number))
        while place > 0, case let parent = (place - 1) / 2, time < entries[parent].time {
            entries.swapAt(place, parent)
            place = parent
        }
    }

    /// Nil when nothing is due yet.
    mutating func popDue(now: Duration) -> UInt32? {
        guard let first = entries.first, first.time <= now else { return nil }
        entries.swapAt(0, entries.count - 1)
        entries.removeLast()
        sink(0)
        return first.number
    }

    /// Costs as much as there are entries.
    mutating func removeAll(where isUnwanted: (UInt32) -> Bool) {
        entries.removeAll { isUnwanted($0.number) }
        for place in stride(from: entries.count / 2 - 1, through: 0, by: -1) { sink(place) }
    }

    private mutating func sink(_ start: Int) {
        var place = start
        while case let left = place * 2 + 1, left < entries.count {
            let right = left + 1
            let least = right < entries.count && entries[right].time < entries[left].time ? right : left
            guard entries[least].time < entries[place].time else { return }
            entries.swapAt(place, least)
            place = least
        }
    }
}

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
