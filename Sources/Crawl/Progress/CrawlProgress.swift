/// How far a crawl is.
package struct CrawlProgress: Sendable, Equatable {
    package var elapsed: Duration = .zero
    /// Nothing is asked for any more: what came is being stored.
    package var isEnding = false
    package var done = 0
    /// Of them, what pages need.
    package var doneRequisites = 0
    package var failed = 0
    package var queuedPages = 0
    package var queuedRequisites = 0
    package var known = 0
    package var running = 0
    /// Pages that wait for what robots.txt says.
    package var atGate = 0
    /// What failed, and is to be tried again.
    package var toRetry = 0
    package var scanning = 0
    package var requests = 0
    package var confirmed = 0
    package var savedByteCount = 0
    package var byteCount = 0
    /// Those that something is asked of, or is to be; the busiest first, and not all of very many.
    package var hosts: [Host] = []
    package var hostCount = 0

    package struct Host: Sendable, Equatable {
        package var name: String
        package var running = 0
        package var queued = 0
        /// How many requests it gets at once.
        package var limit = 0
        package var requests = 0
        /// For how long nothing is asked of it; nil while something may be.
        package var pause: Duration?
    }
}

/// What came of one request.
package struct CrawlAnswer: Sendable, Equatable {
    package enum Kind: String, Sendable, Equatable {
        case page, requisite, guide
        /// A robots.txt.
        case robots
        /// Something that no server can have, to hear how it says so.
        case probe
    }

    package var url: String
    package var kind: Kind
    /// Nil when there was no answer.
    package var status: Int?
    /// Why there was none.
    package var failure: String?
    /// What came over the network.
    package var byteCount: Int
    package var elapsed: Duration
}
