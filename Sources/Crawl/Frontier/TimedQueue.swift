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
