public import Store
package import Web

/// Which sites are updated by themselves, and when.
public struct ScheduleReport: Sendable, Equatable {
    public let sites: [Site]

    public struct Site: Sendable, Equatable {
        public let name: String
        /// Nil for a site that is not updated by itself.
        public let schedule: UpdateSchedule?
        /// When it is due, in seconds since 1970; 0 for at once.
        public let next: Int64?
        /// How many updates in a row did not come to their end.
        public let failures: Int
    }

    /// The report for programs.
    public var json: String { members.text() }

    /// Those that are due, the longest first.
    package func due(at now: Int64) -> [Site] {
        sites.filter { site in site.next.map { $0 <= now } ?? false }
            .sorted { ($0.next ?? 0, $0.name) < ($1.next ?? 0, $1.name) }
    }

    /// - Parameter sites: whether they have a schedule or not.
    package init(_ sites: [Store.Site], _ attempts: [String: UpdateAttempt]) {
        self.sites = sites.map { site in
            let attempt = attempts[site.name]
            return Site(
                name: site.name, schedule: site.schedule, next: site.nextUpdate(after: attempt),
                failures: site.schedule == nil ? 0 : site.failures(attempt))
        }
    }
}

extension ScheduleReport: JSONObject {
    package var members: JSONMembers { ["sites": sites] }
}

extension ScheduleReport.Site: JSONObject {
    package var members: JSONMembers {
        ["name": name, "schedule": schedule?.text, "next": next, "failures": failures]
    }
}
