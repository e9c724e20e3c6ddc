internal import Fetch
internal import Web

/// Answers come in.
extension Frontier {
    /// From where its answer came, which says where its links may lead.
    mutating func came(_ number: UInt32, from reach: Reach) {
        records[Int(number)].reach = reach
    }

    /// Its host takes many requests on one connection: more of them at once cost it less.
    mutating func multiplexes(_ number: UInt32) {
        let host = Int(records[Int(number)].host)
        hosts[host].pace.widen(to: options.connectionsPerHost * Self.streamsForConnection)
    }

    /// One stream is so much cheaper than one connection.
    private static let streamsForConnection = 4

    /// It came, and is not what it claims to be.
    mutating func refused(_ number: UInt32, _ failure: Failure) {
        doneCount -= 1
        if records[Int(number)].role == .requisite { doneRequisiteCount -= 1 }
        fail(number, failure)
    }

    /// A page was read; what was heard of from a number on is what it was the first to link to.
    mutating func read(_ number: UInt32, _ print: ContentPrint, newFrom first: UInt32, saysNotFound: Bool = false) {
        doubt(number, print, saysNotFound: saysNotFound)
        let new = (first..<UInt32(records.count)).lazy
        // What leads away from the site is no part of a place without an end.
        let pages = new.filter { [records] in records[Int($0)].role == .page && records[Int($0)].state != .skipped }
            .map { [urls] in urls.url($0) ?? .blank }
        let bringsMore = new.contains { [records] in records[Int($0)].role == .requisite }
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
    mutating func ended(_ number: UInt32, after latency: Duration?, isRecalled: Bool, failure: Failure?) {
        if isRecalled { recalledWithoutEnd(number) } else { answered(number, after: latency) }
        if let failure { fail(number, failure) } else { finish(number, .redirected) }
    }

    private mutating func finish(_ number: UInt32, _ state: Record.State) {
        _ = forget(unstripped: number)
        records[Int(number)].state = state
        doneCount += 1
        if records[Int(number)].role == .requisite { doneRequisiteCount += 1 }
    }

    private mutating func recalledWithoutEnd(_ number: UInt32) {
        runningCount -= 1
        let host = Int(records[Int(number)].host)
        hosts[host].pace.recalled()
        place(host)
    }

    mutating func answered(_ number: UInt32, after latency: Duration?) {
        runningCount -= 1
        let host = Int(records[Int(number)].host)
        hosts[host].faults.answered(Kinship.folder(of: url(number)))
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
        hadBegun: Bool = false, now: Duration
    ) {
        self.now = now
        let record = records[Int(number)]
        let host = Int(record.host)
        if hadBegun || failure.isStatus { noteAnswer(of: host) }
        if failure.isObjection {
            runningCount -= 1
            let isHosts = hosts[host].faults.objected(number, Kinship.folder(of: url(number)), failure)
            hosts[host].pace.objected(after: latency, retryAfter: retryAfter, counts: isHosts && !hadBegun, now: now)
            place(host)
        } else if failure.isRefusal || failure.isOfConnection {
            runningCount -= 1
            hosts[host].pace.recalled()
            place(host)
        } else {
            answered(number, after: latency)
        }
        if case .fetch(let reason) = failure, reason.kind == .unknownHost { return notFound(number, failure, host) }
        // While it was asked for, somebody led there who may lead further.
        if failure.isRefusal, record.mayReach > .publicNetwork, record.attempts == 1 { return enqueue(number) }
        let jitter = RetryPlan.jitter(of: number, attempt: Int(record.attempts))
        let decision = options.retryPlan.decision(
            afterAttempt: Int(record.attempts), of: failure, retryAfter: retryAfter, jitter: jitter)
        guard case .again(let delay) = decision, !hosts[host].pace.isHopeless else {
            fail(number, failure)
            if hosts[host].pace.isHopeless { giveUp(host, failure) }
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
        giveUp(host, failure)
    }

    private static let lookupPause: Duration = .seconds(2)

    /// Nothing else is left to do: the names that were not found are looked up at once, instead of being waited for.
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
        if records[Int(number)].flags.contains(.isGuess) { wrongGuessCount += 1 }
        guard let url = forget(unstripped: number), case .status = failure else { return }
        // Perhaps what looked like the name of a session was more than that.
        let record = records[Int(number)]
        let referrer = record.referrer == Record.nobody ? nil : record.referrer
        hear(of: url, role: record.role, from: referrer, redirects: 0, flags: record.flags.intersection(.isGuess))
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

    /// What waits for a host that has not answered for minutes fails as the last of its requests did, and what waits for one
    /// that knows the user no longer is not asked for.
    mutating func giveUp(_ host: Int, _ failure: Failure) {
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
            if case .sessionEnded = failure {
                fail(number, failure)
            } else {
                let wasAsked = records[Int(number)].attempts > 0 || failure.isOfConnection
                fail(number, wasAsked ? failure : .unasked(failure))
            }
        }
    }
}
