internal import Fetch
internal import Web

/// What it knows.
extension Frontier {
    /// A report shows no longer way than this.
    private static let longestChain = 32

    func url(_ number: UInt32) -> WebURL {
        // Only what was an URL came in.
        urls.url(number) ?? .blank
    }

    func state(_ number: UInt32) -> State {
        let record = records[Int(number)]
        return switch record.state {
        case .skipped: .skipped(reasons.reason(record.reason, of: number))
        case .queued: .queued
        case .running: .running
        case .waiting: .waiting
        case .done: .done
        case .redirected: .redirected
        case .failed: .failed(failures[number] ?? .nowhere)
        }
    }

    func entry(_ number: UInt32) -> Entry {
        let record = records[Int(number)]
        return Entry(
            url: url(number), referrer: record.referrer == Record.nobody ? nil : record.referrer,
            isStart: record.flags.contains(.isStart), role: record.role, isGuess: record.flags.contains(.isGuess),
            state: state(number), attempts: Int(record.attempts), depth: Int(record.depth))
    }

    func role(of number: UInt32) -> Role { records[Int(number)].role }

    /// Nil for a start URL.
    func referrer(of number: UInt32) -> WebURL? {
        let referrer = records[Int(number)].referrer
        return referrer == Record.nobody ? nil : url(referrer)
    }

    /// Whether no page of this crawl led there, or to what was redirected there: a server missed it.
    func isMiss(_ number: UInt32) -> Bool {
        var record = records[Int(number)]
        while record.redirects > 0, record.referrer != Record.nobody { record = records[Int(record.referrer)] }
        return record.referrer == Record.nobody && record.flags.contains(.isGuess)
    }

    /// Where those who link to it may lead.
    func mayReach(_ number: UInt32) -> Reach { records[Int(number)].mayReach }

    func reach(of number: UInt32) -> Reach { records[Int(number)].reach }

    /// True once: the first time that the store hears of it.
    mutating func tell(_ number: UInt32) -> Bool {
        records[Int(number)].flags.insert(.isTold).inserted
    }

    /// From a start URL to the entry; of a very long way its beginning and its end.
    func chain(to number: UInt32) -> [WebURL] {
        var chain: [UInt32] = []
        var next = number
        while next != Record.nobody {
            chain.append(next)
            next = records[Int(next)].referrer
        }
        if chain.count > Self.longestChain { chain.removeSubrange(Self.longestChain - 1..<chain.count - 1) }
        return chain.reversed().map { url($0) }
    }

    /// In the order in which they were heard of.
    var entries: some RandomAccessCollection<Entry> { records.indices.lazy.map { entry(UInt32($0)) } }
}
