internal import Web

extension Frontier {
    /// One origin, and what waits for it.
    struct Host: Sendable {
        var pace: HostPace
        /// Nil where nobody asks for a robots.txt.
        var gate: RobotsGate?
        private var requisites = WorkQueue()
        private var pages = WorkQueue()
        private var slowPages = WorkQueue()
        /// Pages that wait for what robots.txt says.
        var atGate: [UInt32] = []
        /// How many entries are queued; one that became a requisite stands in both queues and counts once.
        var queuedCount = 0

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

        /// What a page needs goes first, so that a crawl that is stopped leaves whole pages.
        mutating func popFirst(withPages: Bool) -> UInt32? {
            requisites.popFirst() ?? (withPages ? pages.popFirst() ?? slowPages.popFirst() : nil)
        }
    }
}
