internal import Fetch
internal import Web

extension Frontier {
    /// Pages wait for the robots.txt of the host, or soon will.
    mutating func approachGate(of host: Int) {
        guard !hosts[host].isGateDue, let time = hosts[host].gate?.nextFetch else { return }
        hosts[host].isGateDue = true
        gates.add(UInt32(host), at: time)
    }

    /// What came of asking for a host's robots.txt; a result is where to ask instead, which the caller does at once.
    mutating func robotsAnswered(
        host: Int, status: Int, location: WebURL?, body: Span<UInt8>, now: Duration
    ) -> WebURL? {
        self.now = now
        noteAnswer(of: host)
        let target = hosts[host].gate?.answered(status: status, location: location, body: body, now: now)
        if target == nil { passGate(of: host) }
        return target
    }

    mutating func robotsFailed(host: Int, _ failure: FetchFailure, now: Duration) {
        self.now = now
        hosts[host].gate?.failed(
            failure.description, mayPass: failure.mayPass || failure.kind == .unknownHost, now: now)
        passGate(of: host)
    }

    /// Those who wait at a gate go on, or away, once it is known what robots.txt says.
    private mutating func passGate(of host: Int) {
        runningCount -= 1
        hosts[host].isAskingGate = false
        if hosts[host].gate?.nextFetch != nil {
            // Who comes later asks again; for nobody it is not asked for.
            if !hosts[host].atGate.isEmpty { approachGate(of: host) }
            return
        }
        if let delay = hosts[host].gate?.crawlDelay { hosts[host].pace.keep(distance: delay.kept) }
        let waiting = hosts[host].atGate
        hosts[host].atGate = []
        for number in waiting where records[Int(number)].state == .waiting { admit(number, url(number)) }
        for sitemap in hosts[host].gate?.sitemaps ?? [] { startGuide(sitemap, mayReach: hosts[host].mayReach) }
    }
}
