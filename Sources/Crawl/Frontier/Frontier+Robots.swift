internal import Web

extension Frontier {
    /// Pages wait for the robots.txt of the host, or soon will.
    mutating func approachGate(of host: Int) {
        guard hosts[host].gate?.nextFetch != nil, !gated.contains(host) else { return }
        gated.append(host)
    }

    /// What came of asking for a host's robots.txt; a result is where to ask instead, which the caller does at once.
    mutating func robotsAnswered(
        host: Int, status: Int, location: WebURL?, body: Span<UInt8>, now: Duration
    ) -> WebURL? {
        self.now = now
        let target = hosts[host].gate?.answered(status: status, location: location, body: body, now: now)
        if target == nil { passGate(of: host) }
        return target
    }

    mutating func robotsFailed(host: Int, _ trouble: String, now: Duration) {
        self.now = now
        hosts[host].gate?.failed(trouble, now: now)
        passGate(of: host)
    }

    /// Those who wait at a gate go on, or away, once it is known what robots.txt says.
    private mutating func passGate(of host: Int) {
        endedRobots()
        if hosts[host].gate?.nextFetch != nil { return }
        gated.removeAll { $0 == host }
        if let delay = hosts[host].gate?.crawlDelay { hosts[host].pace.keep(distance: delay.kept) }
        let waiting = hosts[host].atGate
        hosts[host].atGate = []
        for number in waiting where records[Int(number)].state == .waiting { admit(number, url(number)) }
        for sitemap in hosts[host].gate?.sitemaps ?? [] { startGuide(sitemap) }
    }
}
