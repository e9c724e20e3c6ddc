internal import Fetch
internal import Web

extension Frontier {
    /// Whether a person goes there or a page needs it. A page that something also needs becomes a requisite.
    enum Role: UInt8, Sendable {
        case page = 0
        case requisite = 1
        /// It tells of pages, and nobody goes there: robots.txt, a sitemap.
        case guide = 2
    }

    enum State: Sendable, Equatable {
        case skipped(SkipReason)
        case queued
        case running
        /// Not queued yet: just heard of, before a gate, or failed and to be tried again.
        case waiting
        case done
        /// Its answer led elsewhere.
        case redirected
        case failed(Failure)
    }

    /// What is known of one URL, to look at.
    struct Entry: Sendable {
        let url: WebURL
        /// Who asked for it first; nil for a start URL.
        let referrer: UInt32?
        /// A start URL, or where one was redirected to.
        let isStart: Bool
        let role: Role
        /// Nobody is sure that it is a link; if it fails, nothing is missing.
        let isGuess: Bool
        let state: State
        let attempts: Int
        /// How many links away from a start it is.
        let depth: Int
    }

    /// The same as it is kept: millions of them fit into memory.
    struct Record: Sendable {
        enum State: UInt8, Sendable {
            case skipped, queued, running, waiting, done, redirected, failed
        }

        struct Flags: OptionSet, Sendable {
            let rawValue: UInt8

            static let isStart = Flags(rawValue: 1)
            static let isGuess = Flags(rawValue: 2)
            /// The store knows its number.
            static let isTold = Flags(rawValue: 4)
            /// Pages like it lead nowhere new: it comes after all others.
            static let isSlow = Flags(rawValue: 8)
            /// It says that there is nothing, with a status that says the contrary.
            static let isSoftNotFound = Flags(rawValue: 16)
            /// What needs it asks for it by CORS.
            static let isCORS = Flags(rawValue: 32)
            /// What it needs is asked for in its name.
            static let isDocument = Flags(rawValue: 64)
        }

        static let nobody = UInt32.max

        let host: UInt32
        /// `nobody` for a start URL.
        var referrer: UInt32
        /// Where its own redirect leads; `nobody` for none.
        var target = nobody
        /// Why it was skipped: a place in the frontier's list of reasons.
        var reason: UInt16 = 0
        var depth: UInt16
        var flags: Flags
        var role: Role
        var state = State.waiting
        var attempts: UInt8 = 0
        /// From where its answer came, and from where those who link to it came.
        var reach = Reach.publicNetwork
        var mayReach: Reach
        /// Of what a page needs, how much of it leads there, one needed by the other; of a page, how many refreshes.
        var chain: UInt8 = 0
        /// How many redirects led here.
        let redirects: UInt8
    }
}

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
