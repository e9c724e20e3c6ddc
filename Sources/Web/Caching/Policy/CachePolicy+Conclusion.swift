extension CachePolicy {
    /// Concludes what the server's answer, or its silence, means for a request that was sent because of `action(for:)`.
    ///
    /// `entry` is what is stored for the request, and `wasConditional` says whether it was asked about by its conditions.
    /// A failure never takes the place of a good copy.
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
                return CacheConclusion(.received, entry.map { changes.change(of: $0, byHead: answer) } ?? .none)
            }
            let invalidated = Invalidation.targets(of: request, status: answer.status, fields: answer.fields)
            return CacheConclusion(.received, changes.storing(answer, over: entry), invalidated: invalidated)
        }
    }

    /// A 304 to our conditions (RFC 9111, section 4.3.4).
    private func confirmation(
        of entry: CacheEntry, by answer: CacheAnswer, _ changes: CacheChanges
    ) -> CacheConclusion {
        guard Validator(answer.fields).confirms(entry.validator) else { return CacheConclusion(.loadAgain) }
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
    private static func maySubstituteByProtocol(_ entry: CacheEntry, _ request: CacheRequest, _ now: HTTPDate) -> Bool {
        let freshness = entry.freshness
        guard request.method.isAnsweredByStored, request.directives.noCache == nil, !entry.isInvalidated,
            !freshness.needsValidation
        else { return false }
        let staleness = freshness.staleness(at: now)
        if staleness < 0 { return true }
        if freshness.staleUse == .forbidden { return false }
        if let window = request.directives.staleIfError, staleness <= window, freshness.staleUse == .permitted {
            return true
        }
        if let window = freshness.staleIfError { return staleness <= window }
        return freshness.staleUse == .permitted
    }
}
