public import Store
package import Web

/// The update schedules of sites.
public struct ScheduleReport: Sendable, Equatable {
    public let sites: [Site]

    /// The schedule of a site.
    public struct Site: Sendable, Equatable {
        public let name: String
        /// The schedule; nil if the site has none.
        public let schedule: UpdateSchedule?
        /// The time of the next update, in seconds since 1970; 0 if it is due now, nil if the site has no schedule.
        public let next: Int64?
        /// The number of consecutive scheduled updates that did not finish.
        public let failures: Int
    }

    /// The report as JSON.
    public var json: String { members.text() }

    /// The sites that are due, the longest overdue first.
    package func due(at now: Int64) -> [Site] {
        sites.filter { site in site.next.map { $0 <= now } ?? false }
            .sorted { ($0.next ?? 0, $0.name) < ($1.next ?? 0, $1.name) }
    }

    /// - Parameter sites: sites with and without a schedule.
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
        [
            "name": name, "schedule": schedule?.text, "next": Wording.date(due: next),
            "due": IfAny(next == 0 ? true : nil), "failures": failures,
        ]
    }
}
