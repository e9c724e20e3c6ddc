internal import Fetch
internal import Store
internal import Web

extension CrawlReport {
    mutating func add(_ result: FetchResult) {
        requests += 1
        wireByteCount += result.wireByteCount
        var tally = hosts[result.url.host] ?? HostTally()
        tally.requests += 1
        tally.byteCount += result.wireByteCount
        switch result.outcome {
        case .failure: tally.failures += 1
        case .response(let response): if response.status >= 500 || response.status == 429 { tally.failures += 1 }
        }
        if let exchange = result.exchange {
            tally.version = exchange.version?.rawValue ?? tally.version
            isInsecure = isInsecure || exchange.security == .unverified
        }
        hosts[result.url.host] = tally
    }

    /// Counts what the frontier knows at the end.
    mutating func tell(_ frontier: Frontier, _ keptFromBefore: Set<UInt32>, isInterrupted: Bool) {
        var isAnyStartHeld = false
        self.isInterrupted = isInterrupted
        limit = frontier.limit
        traps = frontier.traps.stopped
        lostSessions = frontier.lostSessions
        for number in 0..<UInt32(frontier.records.count) {
            let record = frontier.records[Int(number)]
            switch frontier.state(number) {
            case .done:
                isAnyStartHeld = isAnyStartHeld || record.flags.contains(.isStart)
                switch record.role {
                case .page where record.flags.contains(.isSoftNotFound):
                    missing.append(missing(number, .softNotFound, frontier, isKeptFromBefore: false))
                case .page: pages += 1
                case .requisite: requisites += 1
                case .guide: break
                }
            case .redirected:
                redirects += 1
            case .failed(.fetch(let failure)) where failure.kind == .refused && frontier.isMiss(number):
                skipped.append(skipped(number, .refused(failure.detail), frontier))
            case .failed(let failure) where frontier.isMiss(number) && !failure.isAnswer:
                unansweredMisses.insert(frontier.chain(to: number).first?.href ?? "")
                missing.append(missing(number, failure, frontier, isKeptFromBefore: keptFromBefore.contains(number)))
            case .failed(let failure) where failure.isOfSession && record.redirects > 0:
                // What leads there is told.
                break
            case .failed where record.flags.contains(.isGuess):
                wrongGuesses += 1
            case .failed(let failure):
                missing.append(
                    missing(number, failure, frontier, isKeptFromBefore: keptFromBefore.contains(number)))
            case .skipped(let reason):
                skipped.append(skipped(number, reason, frontier))
            case .queued, .running, .waiting:
                if let limit = frontier.limit {
                    skipped.append(skipped(number, .limit(limit), frontier))
                } else {
                    self.isInterrupted = true
                }
            }
        }
        // A limit that kept nothing out did not end anything.
        if !skipped.contains(where: \.reason.isOfLimit) { limit = nil }
        // A visit of which not even the start was reached says nothing about the site.
        isPublished = !self.isInterrupted && isAnyStartHeld
    }

    private func skipped(_ number: UInt32, _ reason: SkipReason, _ frontier: Frontier) -> Skipped {
        Skipped(
            url: frontier.url(number), reason: reason, referrer: frontier.referrer(of: number),
            isRequisite: frontier.role(of: number) == .requisite && !frontier.entry(number).isGuess)
    }

    private func missing(
        _ number: UInt32, _ failure: Failure, _ frontier: Frontier, isKeptFromBefore: Bool
    ) -> Missing {
        Missing(
            url: frontier.url(number), isRequisite: frontier.role(of: number) == .requisite, failure: failure,
            chain: frontier.chain(to: number).dropLast(), isKeptFromBefore: isKeptFromBefore)
    }

    /// What came and was not what it has to be, by URL.
    var refused: [String: String] {
        var refused: [String: String] = [:]
        for missing in missing {
            if case .altered(let detail) = missing.failure { refused[missing.url.href] = detail }
        }
        return refused
    }

    func ending(now: Int64) -> VisitEnding {
        if isPublished {
            switch limit {
            // So many pages are what is wanted of the site; the others are what one run may cost.
            case .pages, nil: return .publish(now: now)
            case .byteCount, .time: return .publishSoFar
            }
        }
        return isInterrupted ? .keepOpen : .forget
    }
}
