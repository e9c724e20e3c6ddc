internal import Synchronization
internal import Web

/// Counts and reports the responses that did not replace stored ones because they look like those of a
/// captive portal or a broken server. Any thread may use it.
final class RejectedResponses: Sendable {
    private struct State {
        var count: UInt64 = 0
        /// The time of the last report by host.
        var reported: [String: Int64] = [:]
    }

    private let state = Mutex(State())
    private let notice: @Sendable (String) -> Void

    /// A captive portal answers every request, so that each host is reported only once in this time.
    private static let secondsBetweenReports: Int64 = 3600
    /// The maximum number of remembered hosts. Beyond it, all are forgotten, and may be reported again.
    private static let maxHosts = 1024

    init(_ notice: @escaping @Sendable (String) -> Void) { self.notice = notice }

    /// The number of rejected responses since the start.
    var count: UInt64 { state.withLock(\.count) }

    /// Reports at most one response per host and hour.
    func note(_ reason: ReplacementCheck.Reason, at url: WebURL, now: Int64) {
        let isReported = state.withLock { state in
            state.count += 1
            let last = state.reported[url.host]
            if let last, now - last < Self.secondsBetweenReports { return false }
            if state.reported.count >= Self.maxHosts { state.reported = [:] }
            state.reported[url.host] = now
            return true
        }
        guard isReported else { return }
        notice("\(url.withoutFragment.href): \(reason.text); the stored copy is kept")
    }
}
