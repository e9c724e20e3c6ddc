internal import Fetch

/// Hosts that never answer are not waited for when all else is done.
extension Frontier {
    /// When nobody waits any longer; nil while something else is under way or due, and where everybody has answered.
    var endOfPatience: Duration? {
        guard let patience = options.patience, silentHostCount > 0, !isStopped else { return nil }
        // Whoever has just answered is likely to answer again: looking at all hosts can wait.
        guard now - lastAnswer >= Self.quietTime else { return lastAnswer + Self.quietTime }
        var (last, running) = (Duration.zero, 0)
        for host in hosts.indices where hosts[host].runningCount > 0 || hosts[host].queuedCount > 0 {
            guard isSilent(host) else { return nil }
            last = max(last, hosts[host].firstStart ?? now)
            running += hosts[host].runningCount
        }
        // Else somebody is asked about itself, who has answered before.
        guard running == runningCount, isNobodyInDoubt,
            !retries.contains(where: { !isSilent(Int(records[Int($0)].host)) })
        else { return nil }
        return last + patience
    }

    private static let quietTime: Duration = .milliseconds(250)

    /// What was asked of silent hosts, and what waits for them, failed. Gives all of it.
    mutating func loseSilentHosts() -> [UInt32] {
        let time = options.patience.map { "\($0 / .seconds(1)) s" } ?? ""
        let failure = FetchFailure(.timeout, "nothing was answered, and for \(time) (--patience) all else was done")
        var lost: [UInt32] = []
        for number in records.indices where isOpen(records[number].state) && isSilent(Int(records[number].host)) {
            if records[number].state == .queued { changeQueued(of: Int(records[number].host), by: -1) }
            lost.append(UInt32(number))
            fail(UInt32(number), .fetch(failure))
        }
        return lost
    }

    private func isOpen(_ state: Record.State) -> Bool {
        switch state {
        case .queued, .running, .waiting: true
        case .skipped, .done, .redirected, .failed: false
        }
    }

    private func isSilent(_ host: Int) -> Bool { !hosts[host].hasAnswered && !hosts[host].isOwn }

    mutating func noteStart(of host: Int) {
        guard hosts[host].firstStart == nil else { return }
        hosts[host].firstStart = now
        silentHostCount += 1
    }

    mutating func noteAnswer(of host: Int) {
        lastAnswer = now
        guard !hosts[host].hasAnswered else { return }
        hosts[host].hasAnswered = true
        if hosts[host].firstStart != nil { silentHostCount -= 1 }
    }
}
