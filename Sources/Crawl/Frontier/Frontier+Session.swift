internal import Web

/// Watches the pages of one host for the end of the session that opened them.
///
/// That a page asks for a login says little: a part of the site may never have been open. That one which came asks for it
/// now says that the session has ended. Pages of an earlier visit are such, and of this one those that came are asked for
/// once more, one at a time: a page like the one that asks first.
struct SessionWatch: Sendable {
    /// Where a login was shown when the session had ended.
    private(set) var end: String?
    /// Pages that came and asked for nothing, the last of each kin.
    private var opened: [UInt64: UInt32] = [:]
    private var kins: [UInt64] = []
    private var nextKin = 0
    /// Pages that asked for a login.
    private var logins = 0
    private var nextDoubt = 1
    /// Of them, those that an earlier visit has.
    private var heldLogins = 0
    private var place = ""
    private var isAsking = false
    private var witness: UInt32?

    private static let mostKins = 1024
    private static let heldLoginsForEnd = 3

    mutating func came(_ number: UInt32, kin: UInt64) {
        guard opened[kin] != nil || kins.count < Self.mostKins else { return }
        if opened.updateValue(number, forKey: kin) == nil { kins.append(kin) }
    }

    /// True when a page that came is to be asked for again: so often as the number of logins doubles.
    mutating func askedForLogin(kin: UInt64, at place: String, wasHeld: Bool) -> Bool {
        guard end == nil else { return false }
        if wasHeld { heldLogins += 1 }
        if heldLogins >= Self.heldLoginsForEnd {
            end = place
            return false
        }
        logins += 1
        guard logins >= nextDoubt, !isAsking, !kins.isEmpty else { return false }
        nextDoubt = logins * 2
        if let alike = opened[kin] {
            witness = alike
        } else {
            witness = opened[kins[nextKin % kins.count]]
            nextKin += 1
        }
        self.place = place
        isAsking = witness != nil
        return isAsking
    }

    mutating func takeWitness() -> UInt32? {
        defer { witness = nil }
        return witness
    }

    /// - Parameter asksForLogin: nil when no answer came that would tell.
    mutating func witnessed(asksForLogin: Bool?) {
        isAsking = false
        if asksForLogin == true { end = place }
    }
}

/// What pages say to whoever is known to their server.
extension Frontier {
    /// Whether a login in its place is none of its answers. What leads from a start is looked at as a whole.
    func opensBySession(_ number: UInt32) -> Bool {
        options.hasSession && records[Int(number)].role == .page && !records[Int(number)].flags.contains(.isStart)
    }

    /// Whether a redirect led there.
    func wasLedTo(_ number: UInt32) -> Bool { records[Int(number)].redirects > 0 }

    func target(of number: UInt32) -> UInt32? {
        let target = records[Int(number)].target
        return target == Record.nobody ? nil : target
    }

    /// Where its redirect leads, as long as it is not known what is there.
    func openTarget(of number: UInt32) -> UInt32? {
        guard let target = target(of: number) else { return nil }
        switch records[Int(target)].state {
        case .queued, .running, .waiting, .redirected: return target
        case .done, .failed, .skipped: return nil
        }
    }

    /// A page came, and asks for no login.
    mutating func cameInSession(_ number: UInt32) {
        guard opensBySession(number) else { return }
        hosts[Int(records[Int(number)].host)].session.came(number, kin: urls.kin(number))
    }

    /// A login came in place of a page that was asked for by itself, or what leads to one.
    mutating func askedForLogin(_ number: UInt32, at place: String, wasHeld: Bool) {
        let host = Int(records[Int(number)].host)
        refused(number, .login(place))
        if hosts[host].session.askedForLogin(kin: urls.kin(number), at: place, wasHeld: wasHeld) {
            witnesses.append(UInt32(host))
        }
        endSession(of: host)
    }

    /// The page that was asked for once more answered; nil when that says nothing.
    mutating func witnessed(host: Int, asksForLogin: Bool?, now: Duration) {
        self.now = now
        runningCount -= 1
        hosts[host].session.witnessed(asksForLogin: asksForLogin)
        endSession(of: host)
    }

    /// It is a login that pages lead to as well.
    mutating func isLogin(_ number: UInt32) { logins.insert(number) }

    /// The login that a page leads to, where that is known, or is on a host that is not asked.
    func knownLogin(_ number: UInt32, from source: UInt32) -> String? {
        guard opensBySession(source) else { return nil }
        let target = url(number)
        switch state(number) {
        case .failed(.login(let place)), .failed(.sessionEnded(let place)): return place
        case .skipped where LoginWords.areSaid(by: target) && !LoginWords.areSaid(by: url(source)): return target.href
        default: return logins.contains(number) ? target.href : nil
        }
    }

    /// In the order of their names.
    var lostSessions: [CrawlReport.LostSession] {
        hostNumbers.sorted { $0.key < $1.key }.compactMap { origin, host in
            hosts[host].session.end.map { CrawlReport.LostSession(origin: origin, login: $0) }
        }
    }

    private mutating func endSession(of host: Int) {
        guard let place = hosts[host].session.end, !hosts[host].isClosed else { return }
        hosts[host].isClosed = true
        giveUp(host, .sessionEnded(place))
    }
}
