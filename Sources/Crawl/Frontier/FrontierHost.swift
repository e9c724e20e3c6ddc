internal import Fetch
internal import Web

extension Frontier {
    /// One origin, and what waits for it.
    struct Host: Sendable {
        /// Where the frontier looks for it, so that what cannot start now costs nothing.
        enum Place: Sendable {
            /// Nothing is queued, or an answer has to come first.
            case aside
            /// In the line of those that may start something.
            case inLine
            /// Until a pause of it is over.
            case paused
        }

        var pace: HostPace
        /// Nil where nobody asks for a robots.txt.
        var gate: RobotsGate?
        var place = Place.aside
        private var requisites = WorkQueue()
        private var pages = FairQueue()
        private var guides = WorkQueue()
        private var isGuidesTurn = false
        private var slowPages = WorkQueue()
        /// Pages that wait for what robots.txt says.
        var atGate: [UInt32] = []
        /// It is known when its robots.txt is to be asked for.
        var isGateDue = false
        /// Where those who led here came from, at the nearest: no other may have robots.txt asked for.
        var mayReach = Reach.publicNetwork
        /// How many entries are queued; one that became a requisite stands in both queues and counts once.
        var queuedCount = 0
        var softNotFound = SoftNotFoundWatch()
        var faults = HostFaults()
        var session = SessionWatch()
        /// Nothing more is asked of it, since the session has ended.
        var isClosed = false
        /// When something was first asked of it, and whether it has ever answered.
        var firstStart: Duration?
        var hasAnswered = false
        /// Its name was not found: when it is looked up once more, for all that wait for it.
        var nextLookup: Duration?
        /// Whether it counts among the hosts of its domain; nil until something is to be asked of it.
        var isTooMany: Bool?

        init(pace: HostPace, gate: RobotsGate?) {
            self.pace = pace
            self.gate = gate
        }

        /// A start is there.
        var isOwn = false
        /// Its robots.txt is being asked for.
        var isAskingGate = false

        /// How much is under way.
        var runningCount: Int { pace.runningCount + (isAskingGate ? 1 : 0) }

        /// - Parameter kin: only asked for where it matters.
        mutating func append(_ number: UInt32, _ record: Record, kin: @autoclosure () -> UInt64) {
            switch record.role {
            case .requisite: requisites.append(number)
            case .page where record.flags.contains(.isSlow): slowPages.append(number)
            case .page: pages.append(number, kin: kin())
            case .guide: guides.append(number)
            }
        }

        /// Along with what pages need, before all other pages.
        mutating func appendAtOnce(_ number: UInt32) { requisites.append(number) }

        /// Of what is queued, what pages need.
        var queuedRequisiteCount: Int { min(requisites.count, queuedCount) }

        /// What a page needs goes first, so that a crawl that is stopped leaves whole pages.
        mutating func popFirst() -> UInt32? {
            requisites.popFirst() ?? popPage() ?? slowPages.popFirst()
        }

        /// Pages and the lists of them take turns.
        private mutating func popPage() -> UInt32? {
            isGuidesTurn.toggle()
            return isGuidesTurn ? guides.popFirst() ?? pages.popFirst() : pages.popFirst() ?? guides.popFirst()
        }

        /// The one that tells most of whose fault it is that others failed: what is no suspect, else what came last, for
        /// what fails often comes together, and what was not tried before.
        mutating func popTelling(isSuspect: (UInt32) -> Bool, isFresh: (UInt32) -> Bool) -> UInt32? {
            if let first = requisites.first, !isSuspect(first) { return requisites.popFirst() }
            if let first = pages.first, !isSuspect(first) { return pages.popFirst() }
            if let first = guides.first, !isSuspect(first) { return guides.popFirst() }
            if let first = slowPages.first, !isSuspect(first) { return slowPages.popFirst() }
            isGuidesTurn.toggle()
            if isGuidesTurn, let last = pages.last, isFresh(last) { return pages.popLast() }
            if let last = requisites.last, isFresh(last) { return requisites.popLast() }
            if let last = pages.last, isFresh(last) { return pages.popLast() }
            return popFirst()
        }
    }
}
