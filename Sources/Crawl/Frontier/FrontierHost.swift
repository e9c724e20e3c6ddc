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
        private var pages = WorkQueue()
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

        init(pace: HostPace, gate: RobotsGate?) {
            self.pace = pace
            self.gate = gate
        }

        mutating func append(_ number: UInt32, _ record: Record) {
            switch record.role {
            case .requisite: requisites.append(number)
            case .page where record.flags.contains(.isSlow): slowPages.append(number)
            case .page, .guide: pages.append(number)
            }
        }

        /// Of what is queued, what pages need.
        var queuedRequisiteCount: Int { min(requisites.count, queuedCount) }

        /// What a page needs goes first, so that a crawl that is stopped leaves whole pages.
        mutating func popFirst() -> UInt32? {
            requisites.popFirst() ?? pages.popFirst() ?? slowPages.popFirst()
        }
    }
}
