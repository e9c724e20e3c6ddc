internal import Fetch

/// Decides when to stop waiting for hosts that have never responded: once everything else is done, and each of them has
/// had a certain time since its first request.
struct Patience: Sendable {
    /// The time that each host has; nil to wait until its requests end.
    let time: Duration?
    /// The number of hosts that received requests and have never responded.
    private var silentHostCount = 0
    /// The time of the last response of any host.
    private var lastResponse: Duration = .zero

    /// The time after a response in which hosts are not checked. A host that has just responded is likely to do so again,
    /// and looking at all hosts is expensive.
    private static let quietTime: Duration = .milliseconds(250)

    init(_ time: Duration?) { self.time = time }

    mutating func didStartRequest(to host: inout Frontier.HostState, now: Duration) {
        guard host.firstStart == nil else { return }
        host.firstStart = now
        silentHostCount += 1
    }

    mutating func didRespond(_ host: inout Frontier.HostState, now: Duration) {
        lastResponse = now
        guard !host.hasResponded else { return }
        host.hasResponded = true
        if host.firstStart != nil { silentHostCount -= 1 }
    }

    /// The time when the waiting ends, or should be checked again. Nil if all hosts have responded, or if other work is
    /// running or due.
    ///
    /// - Parameters:
    ///   - runningCount: the number of running requests. Those that belong to no silent host, such as probes, are other
    ///     work.
    ///   - hasOtherWork: whether something else is due.
    func end(
        at now: Duration, of hosts: [Frontier.HostState], runningCount: Int,
        hasOtherWork: @autoclosure () -> Bool
    ) -> Duration? {
        guard let time, silentHostCount > 0 else { return nil }
        guard now - lastResponse >= Self.quietTime else { return lastResponse + Self.quietTime }
        var (last, running) = (Duration.zero, 0)
        // Indices, because a copy of a host would retain all its arrays.
        for host in hosts.indices
        where hosts[host].runningCount > 0 || hosts[host].queuedCount > 0
            || !hosts[host].awaitingRobots.isEmpty
        {
            guard hosts[host].isSilent else { return nil }
            last = max(last, hosts[host].firstStart ?? now)
            running += hosts[host].runningCount
        }
        guard running == runningCount, !hasOtherWork() else { return nil }
        return last + time
    }
}

extension Frontier.HostState {
    /// Whether the host has never responded, and no start URL is on it.
    var isSilent: Bool { !hasResponded && !isStartHost }
}

/// The end of waiting for hosts that never respond.
extension Frontier {
    /// The time when waiting for hosts that have never responded ends. Nil if other work is running or due,
    /// or if all hosts have responded.
    func patienceEnd(at time: Duration) -> Duration? {
        guard !limits.isStopped, renderScheduler.runningCount == 0 else { return nil }
        return patience.end(
            at: time, of: hosts, runningCount: runningCount,
            hasOtherWork: !hasNoPendingChecks
                || retries.contains { !hosts[Int(records[Int($0)].host)].isSilent })
    }

    /// Extends the waiting time of hosts that have never responded by the time in which responses were not
    /// processed.
    mutating func extendPatience(by time: Duration) {
        for host in hosts.indices where !hosts[host].hasResponded {
            hosts[host].firstStart = hosts[host].firstStart.map { min($0 + time, now) }
        }
    }

    /// Fails the entries of hosts that have never responded, and returns the actions for that.
    mutating func failSilentHosts() -> [Frontier.Action] {
        let time = patience.time.map { "\($0 / .seconds(1)) s" } ?? ""
        let failure = FetchFailure(
            .timeout, "no response for \(time) after everything else was done")
        var lost: [UInt32] = []
        var underWay: Set<UInt32> = []
        for number in records.indices
        where isOpen(records[number].state) && hosts[Int(records[number].host)].isSilent {
            switch records[number].state {
            case .queued: changeQueued(of: Int(records[number].host), by: -1)
            case .running: underWay.insert(UInt32(number))
            default: break
            }
            lost.append(UInt32(number))
            fail(UInt32(number), .hostSilent(failure))
        }
        retries.removeAll { [records] in records[Int($0)].state == .failed }
        return lost.map(Frontier.Action.failedWithHost)
            + (underWay.isEmpty ? [] : [.cancel(underWay, failure)])
    }

    private func isOpen(_ state: EntryRecord.RecordState) -> Bool {
        switch state {
        case .queued, .running, .waiting: true
        case .skipped, .done, .redirected, .failed, .elsewhere: false
        }
    }
}
