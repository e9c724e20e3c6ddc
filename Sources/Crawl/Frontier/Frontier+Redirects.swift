internal import Web

extension Frontier {
    /// Its answer was a redirect; no target means that it does not say where. True when the redirect leads somewhere:
    /// one that does not is a failure, and takes no good copy's place.
    mutating func redirected(
        _ number: UInt32, to target: WebURL?, after latency: Duration? = nil, isRecalled: Bool = false
    ) -> Bool {
        let record = records[Int(number)]
        guard let target else {
            ended(number, after: latency, isRecalled: isRecalled, failure: .nowhere)
            return false
        }
        guard record.redirects < Self.mostRedirects, !leadsBack(target, to: number) else {
            ended(number, after: latency, isRecalled: isRecalled, failure: .redirects)
            return false
        }
        ended(number, after: latency, isRecalled: isRecalled, failure: nil)
        let next = hear(
            of: target, role: record.role, from: number, redirects: record.redirects + 1,
            flags: record.flags.intersection([.isStart, .isGuess, .isCORS]))
        records[Int(number)].target = next
        // What a start leads to is as good as a start, wherever it is.
        if record.flags.contains(.isStart), target.isHTTP { takeAlong(next, from: url(number)) }
        return true
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
        guard scope.startMoved(from: moved, to: url(number)) else { return }
        for skipped in 0..<UInt32(records.count) where records[Int(skipped)].state == .skipped {
            switch state(skipped) {
            case .skipped(.otherHost), .skipped(.otherFolder), .skipped(.otherDomain): admit(skipped, url(skipped))
            default: break
            }
        }
    }
}
