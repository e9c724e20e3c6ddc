internal import Web

extension Frontier {
    /// Its answer was a redirect; no target means that it does not say where. True when the redirect leads somewhere:
    /// one that does not is a failure, and takes no good copy's place.
    ///
    /// - Parameter setsCookie: whoever is asked again, after a way that leads back, may answer otherwise.
    mutating func redirected(
        _ number: UInt32, to target: WebURL?, after latency: Duration? = nil, isRecalled: Bool = false,
        setsCookie: Bool = false, wasHeld: Bool = false
    ) -> Bool {
        let record = records[Int(number)]
        guard let target else {
            ended(number, after: latency, isRecalled: isRecalled, failure: .nowhere)
            return false
        }
        if setsCookie { cookieSetters[number, default: 0] += 1 }
        let leadsBack = leadsBack(target, to: number)
        if leadsBack, let first = urls.find(target), isWorthAskingAgain(number, from: first) {
            askAgain(number, from: first, after: latency)
            return first != number
        }
        guard record.redirects < Self.mostRedirects, !leadsBack else {
            ended(number, after: latency, isRecalled: isRecalled, failure: .redirects)
            return false
        }
        ended(number, after: latency, isRecalled: isRecalled, failure: nil)
        let next = hear(
            of: target, role: record.role, from: number, redirects: record.redirects + 1,
            flags: record.flags.intersection([.isStart, .isGuess, .isCORS]))
        records[Int(number)].target = next
        if let place = knownLogin(next, from: number) {
            askedForLogin(number, at: place, wasHeld: wasHeld)
            return false
        }
        // What a start leads to is as good as a start, wherever it is.
        if record.flags.contains(.isStart), target.isHTTP { takeAlong(next, from: url(number)) }
        return true
    }

    /// Whether somebody on the way round set a cookie, and has not done so too often.
    private func isWorthAskingAgain(_ number: UInt32, from first: UInt32) -> Bool {
        guard !cookieSetters.isEmpty else { return false }
        var (next, isNew) = (first, false)
        for _ in 0...Self.mostRedirects {
            if let count = cookieSetters[next] {
                guard count <= Self.mostCookieRounds else { return false }
                isNew = true
            }
            if next == number { return isNew }
            next = records[Int(next)].target
            guard next != Record.nobody else { return false }
        }
        return false
    }

    /// The way leads round to `first`, which is asked for once more.
    private mutating func askAgain(_ number: UInt32, from first: UInt32, after latency: Duration?) {
        if first == number {
            answered(number, after: latency)
        } else {
            ended(number, after: latency, isRecalled: false, failure: nil)
            records[Int(number)].target = first
            records[Int(first)].target = Record.nobody
            doneCount -= 1
            if records[Int(first)].role == .requisite { doneRequisiteCount -= 1 }
        }
        enqueue(first)
    }

    /// Whether following the redirects that are known comes to the entry again, or to no end.
    private func leadsBack(_ target: WebURL, to number: UInt32) -> Bool {
        guard var next = urls.find(target) else { return false }
        var hops: UInt8 = 0
        while next != Record.nobody {
            if next == number || hops > Self.mostRedirects { return true }
            hops += 1
            next = records[Int(next)].target
        }
        return false
    }

    /// The start leads to another host: the site is there, and pages there that were skipped are of the site after all.
    private mutating func takeAlong(_ number: UInt32, from moved: WebURL) {
        records[Int(number)].flags.insert(.isStart)
        hosts[Int(records[Int(number)].host)].isOwn = true
        guard scope.startMoved(from: moved, to: url(number)) else { return }
        for skipped in 0..<UInt32(records.count) where records[Int(skipped)].state == .skipped {
            switch state(skipped) {
            case .skipped(.otherHost), .skipped(.otherFolder), .skipped(.otherDomain): admit(skipped, url(skipped))
            default: break
            }
        }
    }
}
