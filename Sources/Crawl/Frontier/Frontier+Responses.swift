internal import Fetch
internal import Markup
internal import Store
internal import Web

/// Handling of responses.
extension Frontier {
    /// Adjusts the maximum number of parallel requests to the host, which is higher if one connection carries
    /// many.
    mutating func fitPace(for number: UInt32, multiplexes: Bool) {
        let host = Int(records[Int(number)].host)
        guard multiplexes else { return hosts[host].pace.lowerMaxLimit(to: options.connectionsPerHost) }
        let streams = min(options.connectionsPerHost * Self.streamsPerConnection, Self.maxStreams)
        hosts[host].pace.raiseMaxLimit(to: max(options.connectionsPerHost, streams))
    }

    /// The number of streams that replace a connection. Streams are cheaper, so more of them are allowed.
    private static let streamsPerConnection = 6
    /// The usual maximum of concurrent streams that servers announce.
    private static let maxStreams = 100

    /// Fails an entry that is already `done`, because the scan rejected the response.
    mutating func rejectDone(_ number: UInt32, _ failure: Failure) {
        doneCount -= 1
        if records[Int(number)].role == .asset { doneAssetCount -= 1 }
        fail(number, failure)
    }

    /// Handles a scanned body. Returns its links for the store, and the decisions about redirects that waited
    /// for it.
    mutating func didScan(_ result: ScanResult, wasStored: Bool) -> [Action] {
        let number = result.number
        records[Int(number)].flags.remove(.isBeingScanned)
        if let refusal = result.refusal {
            rejectDone(number, refusal)
            if case .challenged = refusal { noteChallenge(number, refusal) }
            return []
        }
        if records[Int(number)].role == .page, !result.isReused {
            hosts[Int(records[Int(number)].host)].challengesInARow = 0
        }
        var actions: [Action] = []
        switch result.login {
        case .inPlaceOfPage?:
            let place = urls.href(number)
            refuseLogin(number, at: place, wasStored: wasStored)
            settleRedirects(to: number, login: place, &actions)
            return actions
        case .atLoginURL?: records[Int(number)].flags.insert(.isLoginPage)
        case nil: if !result.asksForPassword { didOpenInSession(number) }
        }
        settleRedirects(to: number, login: result.login.map { _ in urls.href(number) }, &actions)
        noteFormat(result.format, of: number)
        if let rule = result.storageBan {
            drop(number, for: .unstored(rule))
            return actions
        }
        templates.noteAnswer(number, isPage: result.format == .html)
        if let places = result.listPlaces { series.noteAnswer(number, places) }
        return actions + addInOrder(.scanned(result)) + useTemplates(for: number)
            + continueList(after: number)
    }

    /// Adds the links of a scanned body. Returns them for the store.
    mutating func addScan(_ result: ScanResult) -> [Action] {
        guard options.followsLinks else { return [] }
        let number = result.number
        var actions: [Action] = []
        let known = UInt32(records.count)
        var result = result
        let loaded = result.isLeftOut ? (own: [], others: []) : readLoaderNotes(of: result)
        // Most pages have no such links, so that their array is not copied.
        if !loaded.own.isEmpty { result.links += loaded.own }
        guard let links = addLinks(from: result) else {
            if options.requestsLinks { leaveOut(number) }
            return actions
        }
        loaders.keepLinks(links, of: number)
        // Supplied responses are stored as they are: they are compared neither with each other nor with error pages.
        guard options.requestsLinks else {
            return [.storeLinks(links)]
                + loaded.others.compactMap { addModuleLinks($0).map(Action.storeLinks) }
        }
        if renderScheduler.isOn {
            noteForRendering(
                number, result.renderReasons, assets: (links.assets + links.guesses).map(\.number),
                scripts: result.scripts, inlineScripts: result.inlineScripts, isNofollow: result.isNofollow,
                isUnchanged: result.isReused || result.format?.affectsScripts != true)
        }
        // Text of a page that is filled in by scripts is compared after rendering: before, all such pages
        // look the same.
        let isShell = result.renderReasons.contains(.littleText)
        noteView(number, result, newFrom: known)
        if let print = result.print, !(isShell && renderScheduler.mayRender(url(number))) {
            compareText(
                of: number, print, newFrom: known, saysNotFound: result.saysNotFound, isShell: isShell)
        }
        actions.append(.storeLinks(links))
        actions += loaded.others.compactMap { addModuleLinks($0).map(Action.storeLinks) }
        return actions
    }

    /// Resolves module names for which no loader configuration was found, and decides which pages are
    /// rendered. If none are, queues the variants that waited. Returns the links of the modules for the store.
    mutating func settle() -> [Action] {
        let actions = loaders.settle().compactMap { addModuleLinks($0).map(Action.storeLinks) }
        renderScheduler.settle { [records, views, urls] number in
            let record = records[Int(number)]
            let isParked = record.state == .waiting && record.flags.contains(.isParked)
            if isParked || views.isSample(number), urls.url(number).map({ !views.hasContent($0) }) ?? true {
                return nil
            }
            return switch record.role {
            case .page: .init(pages: record.state == .skipped ? 0 : 1)
            case .asset: .init(assets: record.state == .done || record.state == .redirected ? 1 : 0)
            case .guide: .init()
            }
        }
        if renderScheduler.isIdle || limits.isStopped {
            skipSidePages()
            decideBranches()
            releaseVariants()
            releaseViews()
        }
        return actions
    }

    /// Compares the text of a page with that of others. `first` is the number of the first entry that this
    /// page discovered.
    mutating func compareText(
        of number: UInt32, _ print: ContentPrint, newFrom first: UInt32, saysNotFound: Bool,
        isShell: Bool = false
    ) {
        // Pages that are filled in by scripts are alike before the scripts run, which does not make them
        // suspect.
        if !isShell { checkSoftNotFound(number, print, saysNotFound: saysNotFound) }
        let new = (first..<UInt32(records.count)).lazy
        // Links out of the site do not make an endless URL space.
        let pages = new.filter { [records] in
            records[Int($0)].role == .page && records[Int($0)].state != .skipped
        }
        .map { [urls] in urls.url($0) ?? .blank }
        let hasNewAssets = new.contains { [records] in records[Int($0)].role == .asset }
        if !views.isSample(number) {
            traps.didFetch(url(number), print, newPages: pages, hasNewAssets: hasNewAssets)
        }
    }

    /// Reports to `QueryViews` whether a page with a query, or a page with links to itself with queries, has text,
    /// links or assets of its own.
    private mutating func noteView(_ number: UInt32, _ result: ScanResult, newFrom first: UInt32) {
        guard records[Int(number)].role == .page else { return }
        let hasQuery = urls.hasQuery(number)
        if !hasQuery, let digest = result.bodyDigest { views.addBody(digest, of: number) }
        guard result.pieces != nil || hasQuery else { return }
        let new = first..<UInt32(records.count)
        let folder = urls.url(number)
        let leadsOn = new.contains { [records, views, urls] new in
            let record = records[Int(new)]
            if record.role == .asset { return !record.flags.contains(.isGuess) }
            guard record.state != .skipped, let url = urls.url(new) else { return false }
            if let folder, views.isBelow(url, new, folder: folder) { return true }
            return views.isContent(url, isWaiting: record.flags.contains(.isParked), since: first)
        }
        let isCopy = result.bodyDigest.flatMap { digest in
            urls.numberWithoutQuery(of: number).map { views.isCopy(digest, of: $0) }
        }
        views.didFetch(
            number, url(number), pieces: result.pieces, leadsOn: leadsOn, isCopy: isCopy ?? false)
    }

    /// Handles a successful response.
    mutating func didSucceed(_ number: UInt32, after latency: Duration? = nil) {
        endWithResponse(number, after: latency)
        let record = records[Int(number)]
        hosts[Int(record.host)].errors.didSucceed(number, attempt: Int(record.attempts))
        finish(number, .done)
    }

    /// Handles a response that was cut off because it had no end.
    mutating func skipEndless(_ number: UInt32, _ failure: FetchFailure) {
        endWithResponse(number, after: nil)
        skip(number, .endless(failure.description))
    }

    /// Handles a response that was taken from the store, without a request.
    mutating func didReuse(_ number: UInt32) {
        endWithoutRequest(number)
        finish(number, .done)
    }

    /// Ends a redirect: with a failure, or else as `redirected`.
    private mutating func endRedirect(
        _ number: UInt32, after latency: Duration?, isReused: Bool, failure: Failure?
    ) {
        if isReused { endWithoutRequest(number) } else { endWithResponse(number, after: latency) }
        if let failure { fail(number, failure) } else { finish(number, .redirected) }
    }

    private mutating func finish(_ number: UInt32, _ state: EntryRecord.RecordState) {
        _ = takeUnstripped(number)
        records[Int(number)].state = state
        records[Int(number)].flags.remove(.isStoredAsPage)
        doneCount += 1
        if records[Int(number)].role == .asset { doneAssetCount += 1 }
        if records[Int(number)].flags.contains(.isGuess) {
            hosts[Int(records[Int(number)].host)].guesses.right += 1
        }
    }

    mutating func endWithoutRequest(_ number: UInt32) {
        runningCount -= 1
        let host = Int(records[Int(number)].host)
        hosts[host].pace.didReuse()
        reschedule(host)
    }

    private mutating func endWithResponse(_ number: UInt32, after latency: Duration?) {
        runningCount -= 1
        let host = Int(records[Int(number)].host)
        hosts[host].faults.didRespond(in: urls.folderHash(number))
        hosts[host].deferralCount = 0
        patience.didRespond(&hosts[host], now: now)
        if hosts[host].nextLookup != nil {
            hosts[host].nextLookup = nil
            hostsToLookUpAgain.remove(host)
        }
        hosts[host].pace.didRespond(after: latency, now: now)
        reschedule(host)
    }

    /// Handles a failed request: reports it to the host's pace, and then retries the entry later, or fails it. If
    /// the failure shows that the whole host is down, all its entries fail with it.
    ///
    /// - Parameter hadBegun: whether part of a response was received, which shows that the host is up.
    mutating func didFail(
        _ number: UInt32, _ failure: Failure, after latency: Duration? = nil, retryAfter: Duration? = nil,
        hadBegun: Bool = false
    ) {
        let record = records[Int(number)]
        let host = Int(record.host)
        // The entry was given up while its request was running (`failSilentHosts`).
        if record.state == .failed { return endWithoutRequest(number) }
        if hadBegun || failure.errorStatus != nil { patience.didRespond(&hosts[host], now: now) }
        // A longer pause than a run waits is a deferral: no further request is sent for the URL, or to the
        // host.
        let longWait = retryAfter.flatMap { $0 > HostPace.maxPause ? $0 : nil }
        if failure.shouldSlowDownHost {
            runningCount -= 1
            let hadResponses = hosts[host].faults.hasResponses
            let isHostAtFault = hosts[host].faults.didObject(number, in: urls.folderHash(number), failure)
            hosts[host].pace.didObject(
                after: latency, retryAfter: longWait == nil ? retryAfter : nil,
                isHostAtFault: isHostAtFault && !hadBegun,
                now: now)
            if let longWait, case .status(let status) = failure {
                let deferral = Failure.deferred(status: status, seconds: longWait.components.seconds)
                if isHostAtFault { hosts[host].deferralCount += 1 }
                reschedule(host)
                fail(number, deferral)
                // A single URL may have a limit of its own. Two in a row, or the first response of all,
                // concern the host.
                if isHostAtFault, !hadResponses || hosts[host].deferralCount > 1 { stop(host, deferral) }
                return
            }
            reschedule(host)
        } else if failure.isBlocked || failure.isConnectionFailure {
            runningCount -= 1
            hosts[host].pace.didEnd()
            reschedule(host)
        } else {
            let isFirst = !hosts[host].faults.hasResponses
            endWithResponse(number, after: latency)
            if case .challenged = failure {
                fail(number, failure)
                return noteChallenge(number, failure, isFirst: isFirst)
            }
        }
        if case .fetch(let reason) = failure, reason.kind == .unknownHost {
            return handleUnknownHost(number, failure, host)
        }
        // While the request was running, a link from a nearer zone was found, which allows the request.
        if failure.isBlocked, record.nearestZone > .publicNetwork, record.attempts == 1 {
            return enqueue(number)
        }
        let isServerError = ServerErrors.contains(failure)
        if isServerError {
            hosts[host].errors.didFail(number, failure, attempt: Int(record.attempts))
            if hosts[host].errors.areRetriesVain { endRetriesAfterErrors(of: host) }
            expediteRobots(of: host)
        }
        let jitter = RetryPlan.jitter(of: number, attempt: Int(record.attempts))
        let decision = options.retryPlan.decision(
            afterAttempt: Int(record.attempts), of: failure, retryAfter: retryAfter, jitter: jitter)
        // A host with a start URL that cannot be reached gets as many rounds of attempts as its start URL,
        // even if other entries are queued. For other hosts, the attempts of each entry count.
        let isUnreached =
            failure.isConnectionFailure || failure.isNoResponse && !hadBegun && !hosts[host].hasResponded
        let isInVain =
            isUnreached && hosts[host].isStartHost && !hosts[host].hasResponded
            && hosts[host].countUnreachableRound(at: now) >= options.retryPlan.maxAttempts
        guard case .again(let delay) = decision,
            !isServerError || retryAfter != nil || !hosts[host].errors.areRetriesVain,
            !hosts[host].pace.isHopeless, !hosts[host].isLost, !isInVain
        else {
            fail(number, failure)
            if isUnreached { hosts[host].unreachableFailure = failure }
            if hosts[host].pace.isHopeless || hosts[host].isLost { giveUp(host, failure) }
            if isUnreached { expediteRobots(of: host) }
            return
        }
        records[Int(number)].state = .waiting
        retries.add(number, at: now + delay)
        if isServerError, retryAfter == nil { hosts[host].errors.wait(number, failure) }
    }

    /// Fails the entries of a host that wait for a retry after an error, because such retries have not helped.
    private mutating func endRetriesAfterErrors(of host: Int) {
        let waiting = hosts[host].errors.takeWaiting().filter { records[Int($0.key)].state == .waiting }
        guard !waiting.isEmpty else { return }
        retries.removeAll { waiting[$0] != nil }
        for (number, failure) in waiting.sorted(by: { $0.key < $1.key }) {
            fail(number, failure)
            failedWithHost.append(number)
        }
    }

    /// Notes a bot challenge in place of an entry. Some hosts protect single URLs, such as those of logins. If the
    /// challenge comes before any page, in place of a start page, or a second time without a page between, the
    /// host protects all of them, and gets no more requests.
    private mutating func noteChallenge(_ number: UInt32, _ failure: Failure, isFirst: Bool = false) {
        let host = Int(records[Int(number)].host)
        let isStart = records[Int(number)].flags.contains(.isStart)
        guard !records[Int(number)].flags.contains(.isGuess) else { return }
        hosts[host].challengesInARow += 1
        if isFirst || isStart || hosts[host].challengesInARow > 1 { stop(host, failure) }
    }

    /// Sends the host no more requests in this run.
    private mutating func stop(_ host: Int, _ reason: Failure) {
        guard hosts[host].reasonToStop == nil else { return }
        hosts[host].reasonToStop = reason
        giveUp(host, reason)
    }

    /// Handles a failed name lookup. A name is looked up at most twice, the second time for all entries that
    /// wait for it.
    private mutating func handleUnknownHost(_ number: UInt32, _ failure: Failure, _ host: Int) {
        guard let nextLookup = hosts[host].nextLookup else {
            hosts[host].nextLookup = now + Self.lookupPause
            hosts[host].pace.pause(until: now + Self.lookupPause)
            hostsToLookUpAgain.insert(host)
            records[Int(number)].state = .waiting
            retries.add(number, at: now + Self.lookupPause)
            return
        }
        if now < nextLookup {
            // The request was already running.
            records[Int(number)].state = .waiting
            return retries.add(number, at: nextLookup)
        }
        fail(number, failure)
        hosts[host].unreachableFailure = failure
        giveUp(host, failure)
        expediteRobots(of: host)
    }

    private static let lookupPause: Duration = .seconds(2)

    /// Whether the entry waits for the second lookup of its host's name.
    func awaitsLookup(_ number: UInt32) -> Bool {
        hosts[Int(records[Int(number)].host)].nextLookup.map { now < $0 } ?? false
    }

    /// Looks up the names that were not found before again, without waiting, if nothing else is left to do.
    mutating func retryLookupsNow() {
        let waitsForOthers = hosts.indices.contains {
            !hostsToLookUpAgain.contains($0) && hosts[$0].queuedCount > 0
        }
        guard !waitsForOthers, robotsQueue.isEmpty, hasNoPendingChecks,
            !retries.contains(where: { !hostsToLookUpAgain.contains(Int(records[Int($0)].host)) })
        else { return }
        var waiting: [UInt32] = []
        retries.removeAll { number in
            waiting.append(number)
            return true
        }
        for host in hostsToLookUpAgain {
            hosts[host].nextLookup = now
            hosts[host].pace.endPause()
            hosts[host].schedule = .idle
            reschedule(host)
        }
        hostsToLookUpAgain.removeAll()
        for number in waiting where records[Int(number)].state == .waiting { enqueue(number) }
    }

    /// Fails an entry. A URL whose session parameter was removed is tried again with the parameter.
    mutating func fail(_ number: UInt32, _ failure: Failure) {
        setFailure(failure, of: number)
        if !failure.isBlocked { sharing?.outcomes.append(number) }
        if records[Int(number)].flags.contains(.isGuess) {
            hosts[Int(records[Int(number)].host)].guesses.wrong += 1
        }
        guard let url = takeUnstripped(number), case .status = failure else { return }
        // The parameter that was removed may not have been a session ID, so that the original URL is tried.
        let record = records[Int(number)]
        let referrer = record.referrer == EntryRecord.noEntry ? nil : record.referrer
        discover(
            url, role: record.role, from: referrer, redirects: 0, flags: record.flags.intersection(.isGuess),
            nearestZone: record.nearestZone)
        if countsAsFailed(number) { failedCount -= 1 }
        records[Int(number)].flags.insert(.isGuess)
    }

    /// Sets the failure of an entry, or removes it from one that will be requested again, and keeps the count of failed
    /// entries.
    mutating func setFailure(_ failure: Failure?, of number: UInt32) {
        if countsAsFailed(number) { failedCount -= 1 }
        records[Int(number)].state = failure == nil ? .waiting : .failed
        if let failure { records[Int(number)].reason = failureReasons.insert(failure, for: number) }
        if countsAsFailed(number) { failedCount += 1 }
    }

    /// Whether an entry counts as failed. URLs that do not exist on the live site are broken, and guesses (strings in
    /// scripts that look like links) need not exist.
    func countsAsFailed(_ number: UInt32) -> Bool {
        guard let failure = failure(of: number), !records[Int(number)].flags.contains(.isGuess) else {
            return false
        }
        return !failure.isGone && failure != .softNotFound
    }

    /// Requests an entry again that the network guard blocked, because a link from a nearer zone was found.
    mutating func admitAgain(ifRefused number: UInt32) {
        guard failure(of: number)?.isBlocked == true else { return }
        setFailure(nil, of: number)
        admit(number, url(number))
    }

    private mutating func takeUnstripped(_ number: UInt32) -> WebURL? {
        guard !rareStates.isEmpty, let href = rareStates[number]?.unstripped else { return nil }
        rareStates[number]?.unstripped = nil
        if rareStates[number] == RareState() { rareStates[number] = nil }
        return WebURL(href)
    }

    /// Fails all entries that wait for a host that is not found or has failed for minutes, whose session has
    /// ended, or that defers requests.
    mutating func giveUp(_ host: Int, _ failure: Failure) {
        var lost: [UInt32] = []
        retries.removeAll { number in
            let isLost = Int(records[Int(number)].host) == host
            if isLost { lost.append(number) }
            return isLost
        }
        while let number = hosts[host].queue.popFirst() {
            guard records[Int(number)].state == .queued else { continue }
            changeQueued(of: host, by: -1)
            // An entry that is in two queues is reported once.
            records[Int(number)].state = .waiting
            lost.append(number)
        }
        for number in lost {
            _ = takeUnstripped(number)
            let wasRequested = records[Int(number)].attempts > 0
            fail(number, failure.concernsHost || wasRequested ? failure : .notRequested(failure))
        }
        self.failedWithHost += lost
    }
}

extension Frontier {
    /// Handles a redirect. If it is not known yet whether the target is a login page, neither `storeRedirect` nor
    /// `discardRedirect` is returned now. A redirect that has no usable target, leads in a circle or to a login
    /// page must not replace a stored response.
    mutating func didRedirect(_ number: UInt32, _ redirection: Frontier.Redirection) -> [Action] {
        let (latency, isReused) = (redirection.latency, redirection.isReused)
        guard let target = redirection.target else {
            endRedirect(number, after: latency, isReused: isReused, failure: .redirectWithoutTarget)
            return [.discardRedirect(number)]
        }
        if redirection.setsCookie { rareStates[number, default: RareState()].cookieCount += 1 }
        let leadsBack = leadsBack(target, to: number)
        if leadsBack, let first = urls.find(target), isWorthRequestingAgain(number, from: first) {
            requestAgain(number, from: first, after: latency)
            return first != number ? keepOrWait(number, redirection) : [.discardRedirect(number)]
        }
        guard records[Int(number)].redirects < Frontier.maxRedirects, !leadsBack else {
            endRedirect(number, after: latency, isReused: isReused, failure: .redirects)
            return [.discardRedirect(number)]
        }
        endRedirect(number, after: latency, isReused: isReused, failure: nil)
        return addInOrder(.redirected(number, redirection, to: target))
    }

    /// Keeps a redirect, or lets it wait until it is known whether its target is a login page.
    private mutating func keepOrWait(
        _ number: UInt32, _ redirection: Frontier.Redirection
    ) -> [Action] {
        guard !redirection.isReused, needsSession(number), let target = openTarget(of: number) else {
            return [.storeRedirect(number)]
        }
        openRedirects[target, default: []].append(
            OpenRedirect(number: number, wasStored: redirection.wasStored))
        return []
    }

    /// A redirect that waits for the decision whether its target is a login page.
    struct OpenRedirect: Sendable {
        let number: UInt32
        /// Whether an earlier snapshot has a page at this URL.
        let wasStored: Bool
    }

    /// Follows a redirect, whose entry has ended.
    mutating func followRedirect(
        _ redirection: Frontier.Redirection, of number: UInt32, to target: WebURL
    ) -> [Action] {
        // Others may have been followed while this one waited for its turn.
        guard !leadsBack(target, to: number) else {
            rejectDone(number, .redirects)
            return [.discardRedirect(number)]
        }
        let record = records[Int(number)]
        let next = discover(
            target, role: record.role, from: number, redirects: record.redirects + 1,
            flags: record.flags.intersection([.isStart, .isGuess, .isCORS]), nearestZone: record.zone)
        records[Int(number)].target = next
        // What becomes of the redirect depends on its target, which therefore must not wait.
        releaseParked(next)
        if let place = knownLogin(next, from: number) {
            refuseLogin(number, at: place, wasStored: redirection.wasStored)
            return [.discardRedirect(number)]
        }
        // The target of a start URL counts as a start URL, on whatever host it is.
        if record.flags.contains(.isStart), target.isHTTP { markAsStart(next, from: url(number)) }
        return keepOrWait(number, redirection)
    }

    /// Whether a response in the redirect loop has set a cookie, and none has done so too often.
    private func isWorthRequestingAgain(_ number: UInt32, from first: UInt32) -> Bool {
        var (next, isNew) = (first, false)
        for _ in 0...Frontier.maxRedirects {
            if let count = rareStates[next]?.cookieCount, count > 0 {
                guard count <= Self.maxCookieRounds else { return false }
                isNew = true
            }
            if next == number { return isNew }
            next = records[Int(next)].target
            guard next != EntryRecord.noEntry else { return false }
        }
        return false
    }

    /// Closes a redirect loop, and requests `first` once more.
    private mutating func requestAgain(_ number: UInt32, from first: UInt32, after latency: Duration?) {
        if first == number {
            endWithResponse(number, after: latency)
        } else {
            endRedirect(number, after: latency, isReused: false, failure: nil)
            records[Int(number)].target = first
            records[Int(first)].target = EntryRecord.noEntry
            doneCount -= 1
            if records[Int(first)].role == .asset { doneAssetCount -= 1 }
        }
        enqueue(first)
    }

    /// Whether the known redirects lead from the target to the entry, or in a circle.
    private func leadsBack(_ target: WebURL, to number: UInt32) -> Bool {
        guard var next = urls.find(target) else { return false }
        var hops: UInt8 = 0
        while next != EntryRecord.noEntry {
            if next == number || hops > Frontier.maxRedirects { return true }
            hops += 1
            next = records[Int(next)].target
        }
        return false
    }

    /// Makes the target of a start URL a start URL: the site is there, so that skipped pages there belong to
    /// the site.
    private mutating func markAsStart(_ number: UInt32, from moved: WebURL) {
        records[Int(number)].flags.insert(.isStart)
        hosts[Int(records[Int(number)].host)].isStartHost = true
        let target = url(number)
        sharing?.startRedirects.append((moved, target))
        extendScope(from: moved, to: target)
    }

    /// Extends the scope to the target of a start URL, and queues pages there that were skipped.
    mutating func extendScope(from moved: WebURL, to target: WebURL) {
        guard scope.addStartRedirect(from: moved, to: target) else { return }
        for skipped in numbers where records[Int(skipped)].state == .skipped {
            switch state(skipped) {
            case .skipped(.otherHost), .skipped(.otherFolder), .skipped(.otherDomain):
                admit(skipped, url(skipped))
            default: break
            }
        }
    }
}
