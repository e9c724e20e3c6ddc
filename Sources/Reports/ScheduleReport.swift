public import Store
package import Web

/// The update schedules of sites.
public struct ScheduleReport: Sendable, Equatable {
    /// The sites, with and without a schedule.
    public let sites: [Site]
    /// The runner of the updates that are due; nil if there is none.
    public let runner: ScheduleRunner?

    /// The schedule of a site.
    public struct Site: Sendable, Equatable {
        /// The name of the site.
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
    package init(
        _ sites: [Store.Site], _ attempts: [String: UpdateAttempt], runner: ScheduleRunner? = nil
    ) {
        self.runner = runner
        self.sites = sites.map { site in
            let attempt = attempts[site.name]
            return Site(
                name: site.name, schedule: site.schedule, next: site.nextUpdate(after: attempt),
                failures: site.schedule == nil ? 0 : site.failedUpdateCount(attempt))
        }
    }
}

extension ScheduleReport: JSONObject {
    package var members: JSONMembers { ["sites": sites, "runner": runner] }
}

/// The server or timer that runs the scheduled updates of a store when they are due.
public enum ScheduleRunner: Sendable, Equatable {
    /// A server of this machine, which is given by the URL of its portal.
    case server(address: String, processID: Int32)
    /// A systemd timer of the user, which is given by its unit.
    case timer(String)
}

extension ScheduleRunner: JSONObject {
    package var members: JSONMembers {
        switch self {
        case .server(let address, let processID):
            ["kind": "server", "address": address, "pid": Int(processID)]
        case .timer(let unit): ["kind": "timer", "unit": unit]
        }
    }
}

extension ScheduleRunner: CustomStringConvertible {
    public var description: String {
        switch self {
        case .server(let address, let processID): "the server at \(address) (pid \(processID))"
        case .timer(let unit): "the systemd timer \(unit)"
        }
    }
}

extension ScheduleReport.Site: JSONObject {
    package var members: JSONMembers {
        [
            "name": name, "schedule": schedule?.text, "next": Wording.date(due: next),
            "due": IfAny(next == 0 ? true : nil), "failures": failures,
        ]
    }
}
