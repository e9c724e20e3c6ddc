internal import Fetch
internal import Markup
internal import Store
internal import Web

/// Answers come in.
extension FrontierCore {
    /// A host that takes many requests on one connection bears more of them at once.
    mutating func fitPace(for number: UInt32, multiplexes: Bool) {
        let host = Int(records[Int(number)].host)
        guard multiplexes else { return hosts[host].pace.narrow(to: options.connectionsPerHost) }
        let most = min(options.connectionsPerHost * Self.streamsForConnection, Self.mostStreams)
        hosts[host].pace.widen(to: max(options.connectionsPerHost, most))
    }

    /// One stream is so much cheaper than one connection.
    private static let streamsForConnection = 6
    /// What servers announce as a rule.
    private static let mostStreams = 100

    /// It came, and is not what it claims to be.
    private mutating func refused(_ number: UInt32, _ failure: Failure) {
        doneCount -= 1
        if records[Int(number)].role == .asset { doneAssetCount -= 1 }
        fail(number, failure)
    }

    /// It was read. Gives what the store is told of its links, and what becomes of redirects that led there.
    mutating func scanned(_ result: ScanResult, wasHeld: Bool) -> [Action] {
        let number = result.number
        scanning.remove(number)
        if let refusal = result.refusal {
            refused(number, refusal)
            return []
        }
        var actions: [Action] = []
        switch result.login {
        case .inPlace?:
            let place = urls.href(number)
            refuseLogin(number, at: place, wasHeld: wasHeld)
            settleRedirects(to: number, login: place, &actions)
            return actions
        case .byItself?: logins.insert(number)
        case nil: if !result.asksForPassword { openedInSession(number) }
        }
        settleRedirects(to: number, login: result.login.map { _ in urls.href(number) }, &actions)
        note(result.format, of: number)
        if let rule = result.storageBan {
            drop(number, for: .unstored(rule))
            return actions
        }
        guard options.followsLinks else { return actions }
        let known = UInt32(records.count)
        var result = result
        let loaded = result.isLeftOut ? (own: [], others: []) : loaded(result)
        // Of most pages there are none, and their links are not copied.
        if !loaded.own.isEmpty { result.links += loaded.own }
        guard let links = found(result) else {
            leaveOut(number)
            return actions
        }
        loaders.keep(links, of: number)
        if renders.isOn {
            noteForRendering(
                number, result.renderReasons, needs: (links.assets + links.guesses).map(\.number),
                isNofollow: result.isNofollow,
                isRecalled: result.isRecalled || result.format?.mattersToScripts != true)
        }
        // The words of a shell come when it is rendered: until then all such pages are one.
        let isShell = result.renderReasons.contains(.hardlyAnyText)
        if let print = result.print, !(isShell && renders.mayRender(url(number))) {
            read(number, print, newFrom: known, saysNotFound: result.saysNotFound, isShell: isShell)
        }
        actions.append(.record(links))
        actions += loaded.others.compactMap { found($0).map(Action.record) }
        return actions
    }

    /// Nobody will say any more where modules are, and which scripts cannot be read. Gives what the store is
    /// told of the modules' links.
    mutating func settle() -> [Action] {
        let actions = loaders.settle().compactMap { found($0).map(Action.record) }
        renders.settle { [records] number in
            let record = records[Int(number)]
            return switch record.role {
            case .page: .init(pages: record.state == .skipped ? 0 : 1)
            case .asset: .init(assets: record.state == .done || record.state == .redirected ? 1 : 0)
            case .guide: .init()
            }
        }
        return actions
    }

    /// What was discovered from a number on is what the page was the first to link to.
    mutating func read(
        _ number: UInt32, _ print: ContentPrint, newFrom first: UInt32, saysNotFound: Bool,
        isShell: Bool = false
    ) {
        // That they are alike says nothing of what scripts make of them.
        if !isShell { doubt(number, print, saysNotFound: saysNotFound) }
        let new = (first..<UInt32(records.count)).lazy
        // What leads away from the site is no part of a place without an end.
        let pages = new.filter { [records] in
            records[Int($0)].role == .page && records[Int($0)].state != .skipped
        }
        .map { [urls] in urls.url($0) ?? .blank }
        let bringsMore = new.contains { [records] in records[Int($0)].role == .asset }
        traps.fetched(url(number), print, newPages: pages, bringsMore: bringsMore)
    }

    /// It was answered with what it is.
    mutating func succeeded(_ number: UInt32, after latency: Duration? = nil) {
        answered(number, after: latency)
        finish(number, .done)
    }

    /// It was cut: there is no whole of it that could be held.
    mutating func hasNoEnd(_ number: UInt32, _ failure: FetchFailure) {
        answered(number, after: nil)
        skip(number, .endless(failure.description))
    }

    /// An earlier run has it: its host was not asked.
    mutating func recalled(_ number: UInt32) {
        recalledWithoutEnd(number)
        finish(number, .done)
    }

    /// Its answer was a redirect, which leads somewhere or fails.
    private mutating func ended(
        _ number: UInt32, after latency: Duration?, isRecalled: Bool, failure: Failure?
    ) {
        if isRecalled { recalledWithoutEnd(number) } else { answered(number, after: latency) }
        if let failure { fail(number, failure) } else { finish(number, .redirected) }
    }

    private mutating func finish(_ number: UInt32, _ state: Record.State) {
        _ = forget(unstripped: number)
        records[Int(number)].state = state
        doneCount += 1
        if records[Int(number)].role == .asset { doneAssetCount += 1 }
        if records[Int(number)].flags.contains(.isGuess) {
            hosts[Int(records[Int(number)].host)].guesses.right += 1
        }
    }

    mutating func recalledWithoutEnd(_ number: UInt32) {
        runningCount -= 1
        let host = Int(records[Int(number)].host)
        hosts[host].pace.recalled()
        place(host)
    }

    private mutating func answered(_ number: UInt32, after latency: Duration?) {
        runningCount -= 1
        let host = Int(records[Int(number)].host)
        hosts[host].faults.answered(urls.folder(number))
        hosts[host].longWaits = 0
        noteAnswer(of: host)
        if hosts[host].nextLookup != nil {
            hosts[host].nextLookup = nil
            lostHosts.remove(host)
        }
        hosts[host].pace.answered(after: latency, now: now)
        place(host)
    }

    /// - Parameter hadBegun: an answer came, and broke off: the host is there.
    mutating func failed(
        _ number: UInt32, _ failure: Failure, after latency: Duration? = nil, retryAfter: Duration? = nil,
        hadBegun: Bool = false
    ) {
        let record = records[Int(number)]
        let host = Int(record.host)
        // Nobody waits for it any more.
        if record.state == .failed { return recalledWithoutEnd(number) }
        if hadBegun || failure.isStatus { noteAnswer(of: host) }
        // A pause that is longer than a run waits is no pause: the URL, or the host, is not asked again.
        let longWait = retryAfter.flatMap { $0 > HostPace.longestPause ? $0 : nil }
        if failure.isObjection {
            runningCount -= 1
            let hadAnswers = hosts[host].faults.hasAnswers
            let isHosts = hosts[host].faults.objected(number, urls.folder(number), failure)
            hosts[host].pace.objected(
                after: latency, retryAfter: longWait == nil ? retryAfter : nil, counts: isHosts && !hadBegun,
                now: now)
            if let longWait, case .status(let status) = failure {
                let deferral = Failure.deferred(status: status, seconds: longWait.components.seconds)
                if isHosts { hosts[host].longWaits += 1 }
                place(host)
                fail(number, deferral)
                // One URL may be limited alone; two in a row, or the first ones of all, speak for the host.
                if isHosts, !hadAnswers || hosts[host].longWaits > 1, hosts[host].deferral == nil {
                    hosts[host].deferral = deferral
                    giveUp(host, deferral)
                }
                return
            }
            place(host)
        } else if failure.isRefusal || failure.isOfConnection {
            runningCount -= 1
            hosts[host].pace.ended()
            place(host)
        } else {
            answered(number, after: latency)
        }
        if case .fetch(let reason) = failure, reason.kind == .unknownHost {
            return notFound(number, failure, host)
        }
        // While it was asked for, somebody led there who may lead further.
        if failure.isRefusal, record.nearestZone > .publicNetwork, record.attempts == 1 {
            return enqueue(number)
        }
        let jitter = RetryPlan.jitter(of: number, attempt: Int(record.attempts))
        let decision = options.retryPlan.decision(
            afterAttempt: Int(record.attempts), of: failure, retryAfter: retryAfter, jitter: jitter)
        // Where nothing begins to come, a start's host is tried as often as its start is, whatever else waits for it:
        // others are waited for while there is something to do.
        let isUnreached = failure.isOfConnection || failure.isSilence && !hadBegun && !hosts[host].hasAnswered
        let isInVain =
            isUnreached && hosts[host].isOwn && !hosts[host].hasAnswered
            && hosts[host].isInVain(at: now) >= options.retryPlan.attempts
        guard case .again(let delay) = decision, !hosts[host].pace.isHopeless, !hosts[host].isLost, !isInVain
        else {
            fail(number, failure)
            if isUnreached { hosts[host].unreached = failure }
            if hosts[host].pace.isHopeless || hosts[host].isLost { giveUp(host, failure) }
            if isUnreached { hurryGate(of: host) }
            return
        }
        records[Int(number)].state = .waiting
        retries.add(number, at: now + delay)
    }

    /// A name is looked up twice at most, whatever waits for it; the second time for all of that at once.
    private mutating func notFound(_ number: UInt32, _ failure: Failure, _ host: Int) {
        guard let nextLookup = hosts[host].nextLookup else {
            hosts[host].nextLookup = now + Self.lookupPause
            hosts[host].pace.pause(until: now + Self.lookupPause)
            lostHosts.insert(host)
            records[Int(number)].state = .waiting
            retries.add(number, at: now + Self.lookupPause)
            return
        }
        if now < nextLookup {
            // It was on its way already.
            records[Int(number)].state = .waiting
            return retries.add(number, at: nextLookup)
        }
        fail(number, failure)
        hosts[host].unreached = failure
        giveUp(host, failure)
        hurryGate(of: host)
    }

    private static let lookupPause: Duration = .seconds(2)

    /// Nothing else is left to do: the names that were not found are looked up at once, instead of being
    /// waited for.
    mutating func lookUpLostNow() {
        let waitsForOthers = hosts.indices.contains { !lostHosts.contains($0) && hosts[$0].queuedCount > 0 }
        guard !waitsForOthers, gates.isEmpty, isNobodyInDoubt,
            !retries.contains(where: { !lostHosts.contains(Int(records[Int($0)].host)) })
        else { return }
        var waiting: [UInt32] = []
        retries.removeAll { number in
            waiting.append(number)
            return true
        }
        for host in lostHosts {
            hosts[host].nextLookup = now
            hosts[host].pace.endPause()
            hosts[host].place = .aside
            place(host)
        }
        lostHosts.removeAll()
        for number in waiting where records[Int(number)].state == .waiting { enqueue(number) }
    }

    mutating func fail(_ number: UInt32, _ failure: Failure) {
        records[Int(number)].state = .failed
        failures[number] = failure
        if !failure.isRefusal { sharing?.outcomes.append(number) }
        if records[Int(number)].flags.contains(.isGuess) {
            wrongGuessCount += 1
            hosts[Int(records[Int(number)].host)].guesses.wrong += 1
        }
        guard let url = forget(unstripped: number), case .status = failure else { return }
        // Perhaps what looked like the name of a session was more than that.
        let record = records[Int(number)]
        let referrer = record.referrer == Record.nobody ? nil : record.referrer
        discover(
            url, role: record.role, from: referrer, redirects: 0, flags: record.flags.intersection(.isGuess),
            nearestZone: record.nearestZone)
        records[Int(number)].flags.insert(.isGuess)
    }

    /// It was refused to somebody; another one leads there who may lead further.
    mutating func admitAgain(ifRefused number: UInt32) {
        guard failures[number]?.isRefusal == true else { return }
        failures[number] = nil
        if records[Int(number)].flags.contains(.isGuess) { wrongGuessCount -= 1 }
        records[Int(number)].state = .waiting
        admit(number, url(number))
    }

    private mutating func forget(unstripped number: UInt32) -> WebURL? {
        unstripped.isEmpty ? nil : unstripped.removeValue(forKey: number)
    }

    /// What waits for a host that has not answered for minutes fails as the last of its requests did, and
    /// what waits for one that knows the user no longer is not asked for.
    private mutating func giveUp(_ host: Int, _ failure: Failure) {
        var lost: [UInt32] = []
        retries.removeAll { number in
            let isLost = Int(records[Int(number)].host) == host
            if isLost { lost.append(number) }
            return isLost
        }
        while let number = hosts[host].popFirst() {
            guard records[Int(number)].state == .queued else { continue }
            changeQueued(of: host, by: -1)
            // What stands in two queues is lost once.
            records[Int(number)].state = .waiting
            lost.append(number)
        }
        for number in lost {
            _ = forget(unstripped: number)
            let isOfHost = failure.saysOfHost || failure.isOfConnection
            let wasAsked = records[Int(number)].attempts > 0
            fail(number, isOfHost || wasAsked ? failure : .unasked(failure))
        }
        self.lost += lost
    }
}

extension FrontierCore {
    /// A redirect of a page leads to something of which nobody has seen yet whether it is a login: until then
    /// it is neither kept nor discarded.
    mutating func redirected(_ number: UInt32, _ redirection: Frontier.Redirection) -> [Action] {
        guard follow(redirection, of: number) else { return [.discard(number)] }
        guard !redirection.isRecalled, opensBySession(number), let target = openTarget(of: number) else {
            return [.keep(number)]
        }
        openRedirects[target, default: []].append(OpenRedirect(number: number, wasHeld: redirection.wasHeld))
        return []
    }

    struct OpenRedirect: Sendable {
        let number: UInt32
        /// An earlier snapshot has a page in its place.
        let wasHeld: Bool
    }

    /// True when the redirect leads somewhere: one that does not is a failure, and takes no good copy's
    /// place.
    private mutating func follow(_ redirection: Frontier.Redirection, of number: UInt32) -> Bool {
        let (latency, isRecalled) = (redirection.latency, redirection.isRecalled)
        let record = records[Int(number)]
        guard let target = redirection.target else {
            ended(number, after: latency, isRecalled: isRecalled, failure: .nowhere)
            return false
        }
        if redirection.setsCookie { cookieSetters[number, default: 0] += 1 }
        let leadsBack = leadsBack(target, to: number)
        if leadsBack, let first = urls.find(target), isWorthAskingAgain(number, from: first) {
            askAgain(number, from: first, after: latency)
            return first != number
        }
        guard record.redirects < Frontier.mostRedirects, !leadsBack else {
            ended(number, after: latency, isRecalled: isRecalled, failure: .redirects)
            return false
        }
        ended(number, after: latency, isRecalled: isRecalled, failure: nil)
        let next = discover(
            target, role: record.role, from: number, redirects: record.redirects + 1,
            flags: record.flags.intersection([.isStart, .isGuess, .isCORS]),
            nearestZone: records[Int(number)].zone)
        records[Int(number)].target = next
        if let place = knownLogin(next, from: number) {
            refuseLogin(number, at: place, wasHeld: redirection.wasHeld)
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
        for _ in 0...Frontier.mostRedirects {
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
            if records[Int(first)].role == .asset { doneAssetCount -= 1 }
        }
        enqueue(first)
    }

    /// Whether following the redirects that are known comes to the entry again, or to no end.
    private func leadsBack(_ target: WebURL, to number: UInt32) -> Bool {
        guard var next = urls.find(target) else { return false }
        var hops: UInt8 = 0
        while next != Record.nobody {
            if next == number || hops > Frontier.mostRedirects { return true }
            hops += 1
            next = records[Int(next)].target
        }
        return false
    }

    /// The start leads to another host: the site is there, and pages there that were skipped are of the site
    /// after all.
    private mutating func takeAlong(_ number: UInt32, from moved: WebURL) {
        records[Int(number)].flags.insert(.isStart)
        hosts[Int(records[Int(number)].host)].isOwn = true
        let target = url(number)
        sharing?.moves.append((moved, target))
        move(from: moved, to: target)
    }

    /// Pages that lie there are of the site after all.
    mutating func move(from moved: WebURL, to target: WebURL) {
        guard scope.startMoved(from: moved, to: target) else { return }
        for skipped in 0..<UInt32(records.count) where records[Int(skipped)].state == .skipped {
            switch state(skipped) {
            case .skipped(.otherHost), .skipped(.otherFolder), .skipped(.otherDomain):
                admit(skipped, url(skipped))
            default: break
            }
        }
    }
}

/// What pages say to whoever is known to their server.
extension FrontierCore {
    /// Whether a login in its place is none of its answers. What leads from a start is looked at as a whole.
    func opensBySession(_ number: UInt32) -> Bool {
        options.hasSession && records[Int(number)].role == .page
            && !records[Int(number)].flags.contains(.isStart)
    }

    func target(of number: UInt32) -> UInt32? {
        let target = records[Int(number)].target
        return target == Record.nobody ? nil : target
    }

    /// Where its redirect leads, as long as it is not known what is there.
    private func openTarget(of number: UInt32) -> UInt32? {
        guard let target = target(of: number) else { return nil }
        switch records[Int(target)].state {
        case .queued, .running, .waiting, .redirected: return target
        case .done, .failed, .skipped, .elsewhere: return scanning.contains(target) ? target : nil
        }
    }

    /// It was seen what a page is that redirects lead to: they are kept, unless it is a login.
    private mutating func settleRedirects(to number: UInt32, login: String?, _ actions: inout [Action]) {
        guard !openRedirects.isEmpty, let redirects = openRedirects.removeValue(forKey: number) else {
            return
        }
        for redirect in redirects {
            if let login {
                refuseLogin(redirect.number, at: login, wasHeld: redirect.wasHeld)
                actions.append(.discard(redirect.number))
            } else {
                actions.append(.keep(redirect.number))
            }
            settleRedirects(to: redirect.number, login: login, &actions)
        }
    }

    /// What leads to nothing that came is kept as it is, but for what leads to where nothing was asked, since
    /// the session had ended.
    mutating func settleRedirects() -> [Action] {
        var actions: [Action] = []
        // That one is lost may have another lost that led to it.
        while let (target, failure) = firstLostTarget {
            for redirect in openRedirects.removeValue(forKey: target) ?? [] {
                refused(redirect.number, failure)
                actions.append(.discard(redirect.number))
            }
        }
        for redirects in openRedirects.values { actions += redirects.map { .keep($0.number) } }
        openRedirects.removeAll()
        return actions
    }

    private var firstLostTarget: (UInt32, Failure)? {
        for number in openRedirects.keys {
            if case .failed(let failure) = state(number), failure.isOfSession { return (number, failure) }
        }
        return nil
    }

    /// A page came, and asks for no login.
    mutating func openedInSession(_ number: UInt32) {
        guard opensBySession(number) else { return }
        hosts[Int(records[Int(number)].host)].session.opened(number, kin: urls.kin(number))
    }

    /// A login came in place of a page that was asked for by itself, or what leads to one.
    private mutating func refuseLogin(_ number: UInt32, at place: String, wasHeld: Bool) {
        let host = Int(records[Int(number)].host)
        refused(number, .login(place))
        if hosts[host].session.askedForLogin(kin: urls.kin(number), at: place, wasHeld: wasHeld) {
            witnesses.append(UInt32(host))
        }
        endSession(of: host)
    }

    /// The page that was asked for once more answered; nil when that says nothing.
    mutating func witnessed(host: Int, asksForLogin: Bool?) {
        runningCount -= 1
        hosts[host].session.witnessed(asksForLogin: asksForLogin)
        endSession(of: host)
    }

    /// The login that a page leads to, where that is known, or is on a host that is not asked.
    private func knownLogin(_ number: UInt32, from source: UInt32) -> String? {
        guard opensBySession(source) else { return nil }
        let target = url(number)
        switch state(number) {
        case .failed(.login(let place)), .failed(.sessionEnded(let place)): return place
        case .skipped where LoginWords.areSaid(by: target) && !LoginWords.areSaid(by: url(source)):
            return target.href
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

extension FrontierCore {
    /// A page of the host looks as if it were none: once for each host it is asked for what cannot be there.
    /// A start is never doubted.
    private mutating func doubt(_ number: UInt32, _ print: ContentPrint, saysNotFound: Bool) {
        let record = records[Int(number)]
        guard record.role == .page else { return }
        let host = Int(record.host)
        guard !record.flags.contains(.isStart) else { return hosts[host].softNotFound.noteStart(print) }
        let isRepeat = traps.hasSeen(print)
        guard saysNotFound || isRepeat || hosts[host].softNotFound.hasDoubts else { return }
        let isProbeDue = hosts[host].softNotFound.read(
            number, url(number), print, isRepeat: isRepeat, saysNotFound: saysNotFound)
        if isProbeDue {
            hosts[host].probeZone = record.zone
            probes.append(record.host)
        }
        judgeSuspects(of: host)
    }

    /// Whether the words of a page are to be looked at: the host's pages repeat each other, or it is a start,
    /// which is what others are compared with.
    func wantsWords(of number: UInt32) -> Bool {
        let record = records[Int(number)]
        return record.flags.contains(.isStart) || hosts[Int(record.host)].softNotFound.hasDoubts
            || traps.wantsWords(of: url(number))
    }

    /// What the host answered to what it cannot have; nil when it did not answer.
    mutating func probed(host: Int, _ answer: SoftNotFound.Answer?) {
        runningCount -= 1
        hosts[host].softNotFound.probed(answer)
        judgeSuspects(of: host)
    }

    private mutating func judgeSuspects(of host: Int) {
        for number in hosts[host].softNotFound.takeMissing() where records[Int(number)].state == .done {
            records[Int(number)].flags.insert(.isSoftNotFound)
            sharing?.softNotFound.append(number)
        }
    }
}
