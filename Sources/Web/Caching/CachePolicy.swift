/// How stored responses and the network share the work. The names are the same in the library, the command
/// and the portal; most have a counterpart in NSURLRequest.CachePolicy.
public enum CachePolicy: String, Sendable, CaseIterable {
    /// RFC 9111: what is fresh is served, what is stale is validated, what is missing is loaded.
    case `protocol`
    /// What is stored is served, however old; only what is missing is loaded.
    case preferCache = "prefer-cache"
    /// What is stored is served, however old; what is missing is a miss. Never asks the network.
    case offline
    /// Always loaded, and stored.
    case reload
    /// Always loaded, past the caches on the way too.
    case reloadEndToEnd = "reload-end-to-end"
    /// The server is always asked whether what is stored still holds.
    case revalidate
    /// What is stored is served at once and refreshed behind.
    case refreshBehind = "refresh-behind"
    /// `protocol` while the origin answers, `offline` when it does not.
    case auto
}

/// What is known of the way to the origin.
package enum Reachability: Sendable, Equatable {
    case reachable, unreachable, unknown
}

/// How good a stored response was when it was served.
package enum CacheHit: String, Sendable, Equatable {
    case fresh, stale
    /// The server has just confirmed it.
    case validated
}

/// What to do about a request.
package enum CacheAction: Sendable, Equatable {
    /// Answer with what is stored.
    case serve(CacheHit)
    /// Answer with what is stored and ask the server behind, with these fields; conditions among them, if it
    /// has a validator.
    case serveAndRefresh(CacheHit, with: HTTPFields)
    /// Ask the server, with these conditions, whether what is stored still holds.
    case validate(with: HTTPFields)
    /// Load it from the server, with these fields added.
    case load(adding: HTTPFields)
    /// It is not there and may not be loaded: 504.
    case miss
}

extension CachePolicy {
    /// Decides what to do about a request, given the stored response that it selects.
    ///
    /// A part of a body counts as missing, unless the caller, who knows the range that is asked for, found
    /// that it is enough and says so by clearing `isPart`. A request that must not use the network
    /// (`only-if-cached`) never does.
    package func action(
        for request: CacheRequest, entry: CacheEntry?, reachability: Reachability = .unknown, now: HTTPDate
    ) -> CacheAction {
        let entry = entry.flatMap { $0.isPart ? nil : $0 }
        let action =
            request.method.isAnsweredByStored
            ? actionForRead(request, entry, reachability, now) : actionForOther(entry, reachability, now)
        guard request.directives.onlyIfCached else { return action }
        switch action {
        case .serve, .miss: return action
        case .serveAndRefresh(let hit, _): return .serve(hit)
        case .validate, .load: return .miss
        }
    }

    private func actionForRead(
        _ request: CacheRequest, _ entry: CacheEntry?, _ reachability: Reachability, _ now: HTTPDate
    ) -> CacheAction {
        switch self {
        case .reload: return .load(adding: [:])
        case .reloadEndToEnd: return .load(adding: Self.pastAllCaches)
        case .protocol, .preferCache, .offline, .revalidate, .refreshBehind, .auto: break
        }
        guard let entry else {
            return isOffline(reachability) ? .miss : .load(adding: [:])
        }
        let hit = entry.hit(at: now)
        switch self {
        case .offline, .preferCache: return .serve(hit)
        case .auto where reachability == .unreachable: return .serve(hit)
        case .protocol, .auto: return Self.actionByProtocol(request, entry, now)
        case .revalidate: return Self.revalidation(of: entry, "max-age=0")
        case .refreshBehind:
            // Not even a person's reload asks about what cannot change (RFC 8246).
            let isSettled = hit == .fresh && entry.freshness.isImmutable
            if isSettled || reachability == .unreachable { return .serve(hit) }
            return .serveAndRefresh(hit, with: entry.validator.conditions)
        case .reload, .reloadEndToEnd: return .load(adding: [:])
        }
    }

    /// For what changes something, or is not answered by what a GET got: a stored answer is the one that was
    /// recorded for just this request. It is never asked for behind, since asking may do it again.
    private func actionForOther(_ entry: CacheEntry?, _ reachability: Reachability, _ now: HTTPDate)
        -> CacheAction
    {
        let recorded = entry.map { CacheAction.serve($0.hit(at: now)) }
        switch self {
        case .protocol, .reload, .revalidate: return .load(adding: [:])
        case .reloadEndToEnd: return .load(adding: Self.pastAllCaches)
        case .preferCache, .refreshBehind: return recorded ?? .load(adding: [:])
        case .offline: return recorded ?? .miss
        case .auto: return reachability == .unreachable ? recorded ?? .miss : .load(adding: [:])
        }
    }

    private func isOffline(_ reachability: Reachability) -> Bool {
        self == .offline || (self == .auto && reachability == .unreachable)
    }

    /// RFC 9111, section 4, and the request's directives of section 5.2.1.
    private static func actionByProtocol(_ request: CacheRequest, _ entry: CacheEntry, _ now: HTTPDate)
        -> CacheAction
    {
        let freshness = entry.freshness
        let wishes = request.directives
        if wishes.noCache != nil || freshness.needsValidation || entry.isInvalidated {
            return revalidation(of: entry)
        }
        let age = freshness.age(at: now)
        let staleness = freshness.staleness(at: now)
        let isYoungEnough = wishes.maxAge.map { age <= $0 } ?? true
        if staleness < 0 {
            let lastsLongEnough = wishes.minFresh.map { -staleness >= $0 } ?? true
            // A reload sends `max-age=0`; what cannot change need not be asked about for that (RFC 8246,
            // section 2).
            if lastsLongEnough, isYoungEnough || freshness.isImmutable { return .serve(.fresh) }
            return revalidation(of: entry)
        }
        guard isYoungEnough, wishes.minFresh == nil else { return revalidation(of: entry) }
        if freshness.staleUse == .permitted, accepts(wishes.maxStale, staleness) { return .serve(.stale) }
        if freshness.staleUse != .forbidden, let window = freshness.staleWhileRevalidate, staleness <= window
        {
            return .serveAndRefresh(.stale, with: entry.validator.conditions)
        }
        return revalidation(of: entry)
    }

    private static func accepts(_ limit: CacheDirectives.Staleness?, _ staleness: Int) -> Bool {
        switch limit {
        case .any?: true
        case .seconds(let seconds)?: staleness <= seconds
        case nil: false
        }
    }

    /// Asks by conditions, or loads what has nothing to ask by.
    private static func revalidation(of entry: CacheEntry, _ cacheControl: String? = nil) -> CacheAction {
        var fields = entry.validator.conditions
        let isConditional = !fields.isEmpty
        if let cacheControl { fields.append("Cache-Control", cacheControl) }
        return isConditional ? .validate(with: fields) : .load(adding: fields)
    }

    private static let pastAllCaches: HTTPFields = ["Cache-Control": "no-cache", "Pragma": "no-cache"]
}

extension CachePolicy {
    /// Concludes what the server's answer, or its silence, means for a request that was sent because of
    /// `action(for:)`.
    ///
    /// `entry` is what is stored for the request, and `wasConditional` says whether it was asked about by its
    /// conditions. A failure never takes the place of a good copy.
    package func conclusion(
        of outcome: CacheOutcome, for request: CacheRequest, entry: CacheEntry?, wasConditional: Bool,
        profile: CacheProfile, rules: CacheRules = CacheRules(), now: HTTPDate
    ) -> CacheConclusion {
        let changes = CacheChanges(request: request, profile: profile, rules: rules)
        let mayReply = entry.map { maySubstitute($0, for: outcome, request, now) } ?? false
        switch outcome {
        case .unreachable:
            guard let entry, mayReply else { return CacheConclusion(.gatewayTimeout) }
            return CacheConclusion(.stored(entry, entry.hit(at: now)))
        case .answered(let answer):
            if answer.status == 304 {
                if wasConditional, let entry { return confirmation(of: entry, by: answer, changes) }
                let wasAskedByClient = !Preconditions(request.fields).isEmpty
                guard !wasAskedByClient, let entry, mayReply else { return CacheConclusion(.received) }
                return CacheConclusion(.stored(entry, entry.hit(at: now)))
            }
            if CacheStatus.isServerFailure(answer.status), let entry, mayReply {
                return CacheConclusion(.stored(entry, entry.hit(at: now)))
            }
            if request.method == .head {
                return CacheConclusion(
                    .received, entry.map { changes.change(of: $0, byHead: answer) } ?? .none)
            }
            let invalidated = Invalidation.targets(of: request, status: answer.status, fields: answer.fields)
            return CacheConclusion(.received, changes.storing(answer, over: entry), invalidated: invalidated)
        }
    }

    /// A 304 to our conditions (RFC 9111, section 4.3.4).
    private func confirmation(
        of entry: CacheEntry, by answer: CacheAnswer, _ changes: CacheChanges
    ) -> CacheConclusion {
        guard entry.isConfirmed(by: answer) else { return CacheConclusion(.loadAgain) }
        let updated = changes.refreshed(entry, by: answer)
        return CacheConclusion(.stored(updated, .validated), changes.updating(updated))
    }

    /// Whether what is stored may answer when the server cannot.
    private func maySubstitute(
        _ entry: CacheEntry, for outcome: CacheOutcome, _ request: CacheRequest, _ now: HTTPDate
    ) -> Bool {
        // An old failure is no better than a new one.
        if entry.isPart || (outcome != .unreachable && CacheStatus.isPassing(entry.status)) { return false }
        switch self {
        case .offline: return true
        case .preferCache, .refreshBehind: return request.method.isAnsweredByStored
        case .reload, .reloadEndToEnd, .revalidate: return false
        case .protocol: return Self.maySubstituteByProtocol(entry, request, now)
        case .auto: return Self.isSilence(outcome) || Self.maySubstituteByProtocol(entry, request, now)
        }
    }

    /// Whether the origin did not answer: someone on the way did, or nobody.
    private static func isSilence(_ outcome: CacheOutcome) -> Bool {
        switch outcome {
        case .unreachable: true
        case .answered(let answer): [502, 503, 504].contains(answer.status)
        }
    }

    /// RFC 9111, sections 4.2.4 and 4.3.3, and RFC 5861, section 4.
    private static func maySubstituteByProtocol(_ entry: CacheEntry, _ request: CacheRequest, _ now: HTTPDate)
        -> Bool
    {
        let freshness = entry.freshness
        guard request.method.isAnsweredByStored, request.directives.noCache == nil, !entry.isInvalidated,
            !freshness.needsValidation
        else { return false }
        let staleness = freshness.staleness(at: now)
        if staleness < 0 { return true }
        if freshness.staleUse == .forbidden { return false }
        if let window = request.directives.staleIfError, staleness <= window, freshness.staleUse == .permitted
        {
            return true
        }
        if let window = freshness.staleIfError { return staleness <= window }
        return freshness.staleUse == .permitted
    }
}

/// The head of what a server answered.
package struct CacheAnswer: Sendable, Equatable {
    package let status: Int
    /// With a `Date` in any case: a response that came without one is dated by its arrival (RFC 9110, section
    /// 6.6.1).
    package let fields: HTTPFields
    package let requestTime: HTTPDate
    package let responseTime: HTTPDate

    package init(status: Int, fields: HTTPFields, requestTime: HTTPDate, responseTime: HTTPDate) {
        self.status = status
        var dated = fields
        if !fields.contains("Date") { dated.append("Date", responseTime.text) }
        self.fields = dated
        self.requestTime = requestTime
        self.responseTime = responseTime
    }
}

/// What came of asking a server.
package enum CacheOutcome: Sendable, Equatable {
    case answered(CacheAnswer)
    /// Nothing whole came: no route, no connection, a time limit, a broken message.
    case unreachable
}

// MARK: - CacheConclusion

/// What to answer the client and what to change in the store, now that the server has been asked.
package struct CacheConclusion: Sendable, Equatable {
    package enum Reply: Sendable, Equatable {
        /// What the server answered.
        case received
        /// The body that is stored, with this head.
        case stored(CacheEntry, CacheHit)
        /// The server confirmed a version that is not the stored one: load it again without conditions.
        case loadAgain
        /// 504
        case gatewayTimeout
    }

    package enum Change: Sendable, Equatable {
        case none
        /// The answer takes the place of what is stored, with these fields. The user's inspection may still
        /// refuse its body.
        case store(CacheEntry, StoragePolicy)
        /// The stored body gets this head.
        case update(CacheEntry)
        /// The part that came joins the parts that are stored, which get this head (`HeldParts`,
        /// `CacheEntry.completed`).
        case extend(CacheEntry)

        /// What is stored must be validated before it is used again: it may be out of date already.
        package mutating func invalidate() {
            switch self {
            case .none: break
            case .store(var entry, let policy):
                entry.isInvalidated = true
                self = .store(entry, policy)
            case .update(var entry):
                entry.isInvalidated = true
                self = .update(entry)
            case .extend(var entry):
                entry.isInvalidated = true
                self = .extend(entry)
            }
        }
    }

    package var reply: Reply
    package var change: Change
    /// URLs whose stored responses, in all their variants, must be validated before they are used again.
    package var invalidated: [WebURL]

    init(_ reply: Reply, _ change: Change = .none, invalidated: [WebURL] = []) {
        self.reply = reply
        self.change = change
        self.invalidated = invalidated
    }
}
