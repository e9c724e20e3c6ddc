internal import Fetch

/// The end of waiting for hosts that never respond.
extension Frontier {
    /// The time when waiting for hosts that have never responded ends. Nil if other work is running or due,
    /// or if all hosts have responded.
    func patienceEnd(at time: Duration) -> Duration? {
        guard let patience = options.patience, silentHostCount > 0, !limits.isStopped,
            renderScheduler.runningCount == 0
        else { return nil }
        // A host that has just responded is likely to do so again, and looking at all hosts is expensive.
        guard time - lastResponse >= Self.quietTime else { return lastResponse + Self.quietTime }
        var (last, running) = (Duration.zero, 0)
        for host in hosts.indices
        where hosts[host].runningCount > 0 || hosts[host].queuedCount > 0
            || !hosts[host].awaitingRobots.isEmpty
        {
            guard isSilent(host) else { return nil }
            last = max(last, hosts[host].firstStart ?? time)
            running += hosts[host].runningCount
        }
        // The rest are requests about hosts that have responded before, such as probes.
        guard running == runningCount, hasNoPendingChecks,
            !retries.contains(where: { !isSilent(Int(records[Int($0)].host)) })
        else { return nil }
        return last + patience
    }

    private static let quietTime: Duration = .milliseconds(250)

    /// Extends the waiting time of hosts that have never responded by the time in which responses were not
    /// processed.
    mutating func extendPatience(by time: Duration) {
        for host in hosts.indices where !hosts[host].hasResponded {
            hosts[host].firstStart = hosts[host].firstStart.map { min($0 + time, now) }
        }
    }

    /// Fails the entries of hosts that have never responded, and returns the actions for that.
    mutating func failSilentHosts() -> [Frontier.Action] {
        let time = options.patience.map { "\($0 / .seconds(1)) s" } ?? ""
        let failure = FetchFailure(
            .timeout, "no response for \(time) after everything else was done")
        var lost: [UInt32] = []
        var underWay: Set<UInt32> = []
        for number in records.indices
        where isOpen(records[number].state) && isSilent(Int(records[number].host)) {
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

    private func isSilent(_ host: Int) -> Bool { !hosts[host].hasResponded && !hosts[host].isStartHost }

    mutating func noteRequestStart(of host: Int) {
        guard hosts[host].firstStart == nil else { return }
        hosts[host].firstStart = now
        silentHostCount += 1
    }

    mutating func noteResponse(of host: Int) {
        lastResponse = now
        guard !hosts[host].hasResponded else { return }
        hosts[host].hasResponded = true
        if hosts[host].firstStart != nil { silentHostCount -= 1 }
    }
}
