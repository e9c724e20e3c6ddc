/// A policy for combining stored responses and the network. The names are the same in the library, the
/// command and the portal. Most have a counterpart in `NSURLRequest.CachePolicy`.
public enum CachePolicy: String, Sendable, CaseIterable {
    /// RFC 9111: fresh responses are served, stale ones validated, missing ones loaded.
    case `protocol`
    /// Stored responses are served, whatever their age. Only missing ones are loaded.
    case preferCache = "prefer-cache"
    /// Stored responses are served, whatever their age. A request for a missing one is recorded as a miss. Makes no requests.
    case offline
    /// Every response is loaded, and stored.
    case reload
    /// Every response is loaded, past all caches on the way, and stored.
    case reloadEndToEnd = "reload-end-to-end"
    /// Every stored response is validated with the server.
    case revalidate
    /// Stored responses are served at once, and refreshed in the background.
    case refreshBehind = "refresh-behind"
    /// `protocol` while the server answers, `offline` while it does not.
    case auto
}

/// The state of a stored response when it was served.
package enum CacheHit: String, Sendable, Equatable {
    case fresh, stale
    /// The server has just confirmed it.
    case validated
}

/// The action that a policy chooses for a request.
package enum CacheAction: Sendable, Equatable {
    /// Serve the stored response.
    case serve(CacheHit)
    /// Serve the stored response, and send a request in the background with these header fields, which
    /// contain conditions if the response has a validator.
    case serveAndRefresh(CacheHit, with: HTTPFields)
    /// Validate the stored response with these conditions.
    case validate(with: HTTPFields)
    /// Load the response with these additional header fields.
    case load(adding: HTTPFields)
    /// Answer 504: the response is not stored and may not be loaded.
    case miss
}

/// The properties of policies that other code depends on. A new policy does not compile before it is added here.
extension CachePolicy {
    /// Whether the policy may send requests.
    package var allowsNetwork: Bool {
        switch self {
        case .offline: false
        case .protocol, .preferCache, .reload, .reloadEndToEnd, .revalidate, .refreshBehind, .auto: true
        }
    }

    /// Whether stored responses are used whatever their age and without validation. Only then may the response of a
    /// similar URL stand in for a missing one.
    package var acceptsAnyAge: Bool {
        switch self {
        case .offline, .preferCache: true
        case .protocol, .reload, .reloadEndToEnd, .revalidate, .refreshBehind, .auto: false
        }
    }

    /// Whether a fresh stored response is served without any request, not even in the background.
    package var servesFreshWithoutRequest: Bool {
        switch self {
        case .protocol, .preferCache, .offline, .auto: true
        case .reload, .reloadEndToEnd, .revalidate, .refreshBehind: false
        }
    }

    /// Whether a stored response may answer a request other than GET and HEAD. See `actionForOther`.
    package var usesRecordedResponses: Bool {
        switch self {
        case .preferCache, .offline, .refreshBehind, .auto: true
        case .protocol, .reload, .reloadEndToEnd, .revalidate: false
        }
    }

    /// Whether the client's own conditions and ranges are sent to the origin. If not, whole responses are loaded, so that
    /// they can be stored.
    package var forwardsConditions: Bool {
        switch self {
        case .protocol: true
        case .preferCache, .offline, .reload, .reloadEndToEnd, .revalidate, .refreshBehind, .auto: false
        }
    }

    /// Whether every response is loaded anew, without use of the stored one.
    package var reloadsEverything: Bool {
        switch self {
        case .reload, .reloadEndToEnd: true
        case .protocol, .preferCache, .offline, .revalidate, .refreshBehind, .auto: false
        }
    }
}

extension CachePolicy {
    /// Decides how to handle a request, given the stored response that it selects.
    ///
    /// A part of a body counts as missing. A caller that knows the requested range, and finds that the part
    /// covers it, clears `isPart` to say so. A request that must not use the network (`only-if-cached`) never
    /// does.
    ///
    /// - Parameter isOriginSilent: whether the origin did not answer a moment ago, so that `auto` and `refresh-behind` send it nothing.
    package func action(
        for request: CacheRequest, entry: CacheEntry?, isOriginSilent: Bool = false, now: HTTPDate
    ) -> CacheAction {
        let entry = entry.flatMap { $0.isPart ? nil : $0 }
        let action =
            request.method.isRead
            ? actionForRead(request, entry, isOriginSilent, now) : actionForOther(entry, isOriginSilent, now)
        guard request.directives.onlyIfCached else { return action }
        switch action {
        case .serve, .miss: return action
        case .serveAndRefresh(let hit, _): return .serve(hit)
        case .validate, .load: return .miss
        }
    }

    private func actionForRead(
        _ request: CacheRequest, _ entry: CacheEntry?, _ isOriginSilent: Bool, _ now: HTTPDate
    ) -> CacheAction {
        switch self {
        case .reload: return .load(adding: [:])
        case .reloadEndToEnd: return .load(adding: Self.pastAllCaches)
        case .protocol, .preferCache, .offline, .revalidate, .refreshBehind, .auto: break
        }
        guard let entry else {
            return isOffline(isOriginSilent) ? .miss : .load(adding: [:])
        }
        let hit = entry.hit(at: now)
        switch self {
        case .offline, .preferCache: return .serve(hit)
        case .auto where isOriginSilent: return .serve(hit)
        case .protocol, .auto: return Self.actionByProtocol(request, entry, now)
        case .revalidate: return Self.revalidation(of: entry, "max-age=0")
        case .refreshBehind:
            // RFC 8246: an immutable response is not even validated when a user reloads.
            let isCurrent = hit == .fresh && entry.freshness.isImmutable
            if isCurrent || isOriginSilent { return .serve(hit) }
            return .serveAndRefresh(hit, with: entry.validator.conditions)
        // Handled above.
        case .reload, .reloadEndToEnd: return .load(adding: [:])
        }
    }

    /// The action for methods other than GET and HEAD. The stored response was recorded for exactly this
    /// request. It is never refreshed in the background, since the request may have effects.
    private func actionForOther(_ entry: CacheEntry?, _ isOriginSilent: Bool, _ now: HTTPDate)
        -> CacheAction
    {
        let recorded = entry.map { CacheAction.serve($0.hit(at: now)) }
        switch self {
        case .protocol, .reload, .revalidate: return .load(adding: [:])
        case .reloadEndToEnd: return .load(adding: Self.pastAllCaches)
        case .preferCache, .refreshBehind: return recorded ?? .load(adding: [:])
        case .offline: return recorded ?? .miss
        case .auto: return isOriginSilent ? recorded ?? .miss : .load(adding: [:])
        }
    }

    /// Whether no request may be sent at present.
    private func isOffline(_ isOriginSilent: Bool) -> Bool {
        switch self {
        case .offline: true
        case .auto: isOriginSilent
        case .protocol, .preferCache, .reload, .reloadEndToEnd, .revalidate, .refreshBehind: false
        }
    }

    /// The action by RFC 9111, section 4, and by the request's directives (section 5.2.1).
    private static func actionByProtocol(_ request: CacheRequest, _ entry: CacheEntry, _ now: HTTPDate)
        -> CacheAction
    {
        let freshness = entry.freshness
        let directives = request.directives
        if directives.noCache != nil || freshness.needsValidation || entry.isInvalidated {
            return revalidation(of: entry)
        }
        let age = freshness.age(at: now)
        let staleness = freshness.staleness(at: now)
        let isYoungEnough = directives.maxAge.map { age <= $0 } ?? true
        if staleness < 0 {
            let lastsLongEnough = directives.minFresh.map { -staleness >= $0 } ?? true
            // A reload sends `max-age=0`. An immutable response need not be validated for that (RFC 8246,
            // section 2).
            if lastsLongEnough, isYoungEnough || freshness.isImmutable { return .serve(.fresh) }
            return revalidation(of: entry)
        }
        guard isYoungEnough, directives.minFresh == nil else { return revalidation(of: entry) }
        if freshness.staleUse == .permitted, accepts(directives.maxStale, staleness) { return .serve(.stale) }
        if freshness.staleUse != .forbidden, let window = freshness.staleWhileRevalidate, staleness <= window
        {
            return .serveAndRefresh(.stale, with: entry.validator.conditions)
        }
        return revalidation(of: entry)
    }

    /// Whether the request's `max-stale` accepts a response that has been stale for so many seconds.
    private static func accepts(_ maxStale: CacheDirectives.Staleness?, _ staleness: Int) -> Bool {
        switch maxStale {
        case .any?: true
        case .seconds(let seconds)?: staleness <= seconds
        case nil: false
        }
    }

    /// Validates a stored response, or loads it again if it has no validator.
    private static func revalidation(of entry: CacheEntry, _ cacheControl: String? = nil) -> CacheAction {
        var fields = entry.validator.conditions
        let isConditional = !fields.isEmpty
        if let cacheControl { fields.append("Cache-Control", cacheControl) }
        return isConditional ? .validate(with: fields) : .load(adding: fields)
    }

    private static let pastAllCaches: HTTPFields = ["Cache-Control": "no-cache", "Pragma": "no-cache"]
}

extension CachePolicy {
    /// Decides how the server's response, or its absence, completes a request that was sent because of
    /// `action(for:)`.
    ///
    /// A failure never replaces a good stored response.
    ///
    /// - Parameters:
    ///   - entry: the stored response.
    ///   - wasConditional: whether the request contained the conditions of the stored response.
    package func conclusion(
        of outcome: CacheOutcome, for request: CacheRequest, entry: CacheEntry?, wasConditional: Bool,
        profile: CacheProfile, rules: CacheRules = CacheRules(), now: HTTPDate
    ) -> CacheConclusion {
        let changes = CacheChanges(request: request, profile: profile, rules: rules)
        let canSubstitute = entry.map { maySubstitute($0, for: outcome, request, now) } ?? false
        switch outcome {
        case .unreachable:
            guard let entry, canSubstitute else { return CacheConclusion(.gatewayTimeout) }
            return CacheConclusion(.stored(entry, entry.hit(at: now)))
        case .answered(let answer):
            if answer.status == 304 {
                if wasConditional, let entry { return confirmation(of: entry, by: answer, changes) }
                // A client with conditions of its own gets its 304. For another one, the 304 is a failure of the server.
                let hasClientConditions = !Preconditions(request.fields).isEmpty
                guard !hasClientConditions, let entry, canSubstitute else {
                    return CacheConclusion(.received)
                }
                return CacheConclusion(.stored(entry, entry.hit(at: now)))
            }
            if CacheStatus.isServerFailure(answer.status), let entry, canSubstitute {
                return CacheConclusion(.stored(entry, entry.hit(at: now)))
            }
            if request.method == .head {
                return CacheConclusion(
                    .received, entry.map { changes.change(of: $0, byHead: answer) } ?? .none)
            }
            let invalidated = Invalidation.targets(of: request, status: answer.status, fields: answer.fields)
            return CacheConclusion(
                .received, changes.change(storing: answer, over: entry), invalidated: invalidated)
        }
    }

    /// The conclusion for a 304 to our own conditions (RFC 9111, section 4.3.4).
    private func confirmation(
        of entry: CacheEntry, by answer: OriginResponse, _ changes: CacheChanges
    ) -> CacheConclusion {
        guard entry.isConfirmed(by: answer) else { return CacheConclusion(.loadAgain) }
        let updated = changes.refreshing(entry, by: answer)
        return CacheConclusion(.stored(updated, .validated), changes.change(updatingTo: updated))
    }

    /// Whether a stored response may be served because the request to the server failed.
    private func maySubstitute(
        _ entry: CacheEntry, for outcome: CacheOutcome, _ request: CacheRequest, _ now: HTTPDate
    ) -> Bool {
        // A stored failure is no better than a new one.
        if entry.isPart || (outcome != .unreachable && CacheStatus.isTemporary(entry.status)) { return false }
        switch self {
        case .offline: return true
        case .preferCache, .refreshBehind: return request.method.isRead
        case .reload, .reloadEndToEnd, .revalidate: return false
        case .protocol: return Self.maySubstituteByProtocol(entry, request, now)
        case .auto: return Self.isSilence(outcome) || Self.maySubstituteByProtocol(entry, request, now)
        }
    }

    /// Whether the origin did not answer: there was no response, or an intermediary sent one.
    private static func isSilence(_ outcome: CacheOutcome) -> Bool {
        switch outcome {
        case .unreachable: true
        case .answered(let answer): [502, 503, 504].contains(answer.status)
        }
    }

    /// The same by RFC 9111, sections 4.2.4 and 4.3.3, and RFC 5861, section 4.
    private static func maySubstituteByProtocol(_ entry: CacheEntry, _ request: CacheRequest, _ now: HTTPDate)
        -> Bool
    {
        let freshness = entry.freshness
        guard request.method.isRead, request.directives.noCache == nil, !entry.isInvalidated,
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

/// The status and header fields of a server's response.
package struct OriginResponse: Sendable, Equatable {
    package let status: Int
    /// The header fields, always with a `Date`: a response without one gets the time of its arrival (RFC
    /// 9110, section 6.6.1).
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

/// The result of a request to a server.
package enum CacheOutcome: Sendable, Equatable {
    case answered(OriginResponse)
    /// The server sent no complete response: no route, no connection, a timeout, a broken message.
    case unreachable
}

// MARK: - CacheConclusion

/// The reply to the client and the change of the store after a request to the server.
package struct CacheConclusion: Sendable, Equatable {
    /// The response to send to the client.
    package enum Reply: Sendable, Equatable {
        /// The response of the server.
        case received
        /// The stored body, with this head.
        case stored(CacheEntry, CacheHit)
        /// The server confirmed another version than the stored one: load it again without conditions.
        case loadAgain
        /// Status 504.
        case gatewayTimeout
    }

    /// The change to the stored response.
    package enum Change: Sendable, Equatable {
        case none
        /// The response replaces the stored one, with these header fields. The user's inspection may still
        /// reject its body.
        case store(CacheEntry, StoragePolicy)
        /// The stored body gets this head.
        case update(CacheEntry)
        /// The received part is added to the stored parts, which get this head (`StoredRanges`,
        /// `CacheEntry.completing`).
        case extend(CacheEntry)

        /// Marks the stored response as possibly outdated, so that it is validated before it is used again.
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
