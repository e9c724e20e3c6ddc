internal import Web

/// Detection of login pages in place of pages.
extension Frontier {
    /// Whether a login page at this URL means a lost session. Start URLs and their redirects are exempt.
    func needsSession(_ number: UInt32) -> Bool {
        options.hasSession && records[Int(number)].role == .page
            && !records[Int(number)].flags.contains(.isStart)
    }

    /// The target of a redirect.
    func target(of number: UInt32) -> UInt32? {
        let target = records[Int(number)].target
        return target == EntryRecord.noEntry ? nil : target
    }

    /// The target of an entry's redirect, if it is not known yet whether that is a login page.
    func openTarget(of number: UInt32) -> UInt32? {
        guard let target = target(of: number) else { return nil }
        let record = records[Int(target)]
        switch record.state {
        case .queued, .running, .waiting, .redirected: return target
        case .done, .failed, .skipped, .elsewhere:
            return record.flags.contains(.isBeingScanned) ? target : nil
        }
    }

    /// Decides on redirects to a page that was scanned: they are stored, unless it is a login page.
    mutating func settleRedirects(to number: UInt32, login: String?, _ actions: inout [Action]) {
        guard !openRedirects.isEmpty, let redirects = openRedirects.removeValue(forKey: number) else {
            return
        }
        for redirect in redirects {
            if let login {
                refuseLogin(redirect.number, at: login, wasStored: redirect.wasStored)
                actions.append(.discardRedirect(redirect.number))
            } else {
                actions.append(.storeRedirect(redirect.number))
            }
            settleRedirects(to: redirect.number, login: login, &actions)
        }
    }

    /// Decides on the remaining redirects at the end. They are stored, unless their target failed because the
    /// session had ended.
    mutating func settleRemainingRedirects() -> [Action] {
        var actions: [Action] = []
        // Discarding one redirect may require the same for those that lead to it.
        while let (target, failure) = firstLostTarget {
            for redirect in openRedirects.removeValue(forKey: target) ?? [] {
                rejectDone(redirect.number, failure)
                actions.append(.discardRedirect(redirect.number))
            }
        }
        for redirects in openRedirects.values { actions += redirects.map { .storeRedirect($0.number) } }
        openRedirects.removeAll()
        return actions
    }

    private var firstLostTarget: (UInt32, Failure)? {
        for number in openRedirects.keys {
            if case .failed(let failure) = state(number), failure.isOfSession { return (number, failure) }
        }
        return nil
    }

    /// Notes that a page is not a login page.
    mutating func didOpenInSession(_ number: UInt32) {
        guard needsSession(number) else { return }
        hosts[Int(records[Int(number)].host)].session.didOpen(number, urlKind: urls.urlKind(number))
    }

    /// Fails a page in place of which a login page, or a redirect to one, was received.
    mutating func refuseLogin(_ number: UInt32, at place: String, wasStored: Bool) {
        let host = Int(records[Int(number)].host)
        rejectDone(number, .login(place))
        if hosts[host].session.didAskForLogin(urlKind: urls.urlKind(number), at: place, wasStored: wasStored)
        {
            sessionCheckQueue.append(UInt32(host))
        }
        endSession(of: host)
    }

    /// Handles the response to the witness; nil if it does not tell.
    mutating func didCheckSession(host: Int, asksForLogin: Bool?) {
        runningCount -= 1
        hosts[host].session.didCheckSession(asksForLogin: asksForLogin)
        endSession(of: host)
    }

    /// The URL of the login page that a redirect leads to, if it is known to be one. A skipped target counts
    /// if only its URL, and not that of the source, looks like that of a login page.
    func knownLogin(_ number: UInt32, from source: UInt32) -> String? {
        guard needsSession(source) else { return nil }
        let target = url(number)
        switch state(number) {
        case .failed(.login(let place)), .failed(.sessionEnded(let place)): return place
        case .skipped where LoginPageSigns.isLoginURL(target) && !LoginPageSigns.isLoginURL(url(source)):
            return target.href
        default: return records[Int(number)].flags.contains(.isLoginPage) ? target.href : nil
        }
    }

    /// The origins whose session ended, sorted by name.
    var lostSessions: [CrawlReport.LostSession] {
        hostNumbers.sorted { $0.key < $1.key }.compactMap { origin, host in
            hosts[host].session.end.map { CrawlReport.LostSession(origin: origin, login: $0) }
        }
    }

    private mutating func endSession(of host: Int) {
        guard let place = hosts[host].session.end, !hosts[host].hasSessionEnded else { return }
        hosts[host].hasSessionEnded = true
        giveUp(host, .sessionEnded(place))
    }
}
