/// The requests of a link check that wait for their hosts. Hosts take turns, and each gets few requests at once, with pauses
/// between them, so that a slow host does not hold up others. Times are those of the driver's clock.
///
/// Each operation takes logarithmic time, since a check may have links to tens of thousands of hosts.
struct LinkRequestQueue: Sendable {
    private struct Host: Sendable {
        var waiting: ArraySlice<UInt32> = []
        var runningCount = 0
        /// The time between the starts of two requests.
        var interval: Duration
        /// The earliest time for the next request.
        var next: Duration = .zero
        /// Whether the host is in `turns` or `pausing`.
        var isQueued = false

        /// Whether a request waits, and the number of running ones allows another.
        var isReady: Bool { !waiting.isEmpty && runningCount < LinkRequestQueue.maxPerHost }
    }

    private var hosts: [Host] = []
    private var indexes: [String: Int] = [:]
    /// The indexes of hosts that may start a request, in the order of their turns.
    private var turns: ArraySlice<Int> = []
    /// The hosts that may start a request later.
    private var pausing = PauseHeap()
    private(set) var runningCount = 0

    /// The maximum number of requests that run at once, and of those to one host.
    static let maxRunning = 32
    static let maxPerHost = 2

    /// Adds a request to the end of its host's requests.
    ///
    /// - Parameter interval: The time between the starts of two requests to the host. The longest one that was given counts.
    mutating func add(_ number: UInt32, to name: String, interval: Duration) {
        setInterval(interval, of: name)
        let index = index(of: name)
        hosts[index].waiting.append(number)
        takeTurn(index)
    }

    /// Sets the time between the starts of two requests to a host, unless it is longer already.
    mutating func setInterval(_ interval: Duration, of name: String) {
        let index = index(of: name)
        hosts[index].interval = max(hosts[index].interval, interval)
    }

    /// Starts no request to the host before this time.
    mutating func pause(_ name: String, until time: Duration) {
        let index = index(of: name)
        hosts[index].next = max(hosts[index].next, time)
    }

    /// The next request that may start now, which then counts as running; nil if there is none.
    mutating func next(now: Duration) -> UInt32? {
        guard runningCount < Self.maxRunning else { return nil }
        while let host = pausing.removeFirst(notAfter: now) {
            hosts[host].isQueued = false
            takeTurn(host)
        }
        while let index = turns.popFirst() {
            hosts[index].isQueued = false
            // A pause may have begun since the host took its turn.
            guard hosts[index].next <= now else {
                waitForPause(index)
                continue
            }
            guard hosts[index].isReady, let number = hosts[index].waiting.popFirst() else { continue }
            hosts[index].runningCount += 1
            runningCount += 1
            hosts[index].next = now + hosts[index].interval
            takeTurn(index)
            return number
        }
        return nil
    }

    /// The time from which `next(now:)` may return a request; nil if a running request has to end first, or none waits.
    var nextStart: Duration? {
        guard runningCount < Self.maxRunning else { return nil }
        let first = turns.first.map { hosts[$0].next }
        return [first, pausing.first].compactMap { $0 }.min()
    }

    /// Notes that a request to the host has ended.
    mutating func didEnd(at name: String) {
        let index = index(of: name)
        hosts[index].runningCount -= 1
        runningCount -= 1
        takeTurn(index)
    }

    private mutating func takeTurn(_ index: Int) {
        guard hosts[index].isReady, !hosts[index].isQueued else { return }
        hosts[index].isQueued = true
        turns.append(index)
    }

    private mutating func waitForPause(_ index: Int) {
        guard hosts[index].isReady else { return }
        hosts[index].isQueued = true
        pausing.insert(index, until: hosts[index].next)
    }

    private mutating func index(of name: String) -> Int {
        if let index = indexes[name] { return index }
        hosts.append(Host(interval: .zero))
        indexes[name] = hosts.count - 1
        return hosts.count - 1
    }
}

/// Hosts by the ends of their pauses; of two with the same end, the one that was inserted first. A binary heap.
private struct PauseHeap: Sendable {
    private struct Entry: Sendable {
        let end: Duration
        /// The number of earlier insertions.
        let order: Int
        let host: Int

        func isBefore(_ other: Entry) -> Bool { (end, order) < (other.end, other.order) }
    }

    private var entries: [Entry] = []
    private var insertionCount = 0

    /// The earliest end of a pause.
    var first: Duration? { entries.first?.end }

    mutating func insert(_ host: Int, until end: Duration) {
        entries.append(Entry(end: end, order: insertionCount, host: host))
        insertionCount += 1
        var index = entries.count - 1
        while index > 0, entries[index].isBefore(entries[(index - 1) / 2]) {
            entries.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    /// Removes the host whose pause ends first; nil if no pause has ended.
    mutating func removeFirst(notAfter now: Duration) -> Int? {
        guard let first = entries.first, first.end <= now else { return nil }
        entries.swapAt(0, entries.count - 1)
        entries.removeLast()
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < entries.count && entries[child].isBefore(entries[least]) {
                least = child
            }
            guard least != index else { return first.host }
            entries.swapAt(index, least)
            index = least
        }
    }
}
