extension CachePolicy {
    /// Decides what to do about a request, given the stored response that it selects.
    ///
    /// A part of a body counts as missing, unless the caller, who knows the range that is asked for, found that it is
    /// enough and says so by clearing `isPart`. A request that must not use the network (`only-if-cached`) never does.
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

    /// For what changes something, or is not answered by what a GET got: a stored answer is the one that was recorded for
    /// just this request. It is never asked for behind, since asking may do it again.
    private func actionForOther(_ entry: CacheEntry?, _ reachability: Reachability, _ now: HTTPDate) -> CacheAction {
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
    private static func actionByProtocol(_ request: CacheRequest, _ entry: CacheEntry, _ now: HTTPDate) -> CacheAction {
        let freshness = entry.freshness
        let wishes = request.directives
        if wishes.noCache != nil || freshness.needsValidation || entry.isInvalidated { return revalidation(of: entry) }
        let age = freshness.age(at: now)
        let staleness = freshness.staleness(at: now)
        let isYoungEnough = wishes.maxAge.map { age <= $0 } ?? true
        if staleness < 0 {
            let lastsLongEnough = wishes.minFresh.map { -staleness >= $0 } ?? true
            // A reload sends `max-age=0`; what cannot change need not be asked about for that (RFC 8246, section 2).
            if lastsLongEnough, isYoungEnough || freshness.isImmutable { return .serve(.fresh) }
            return revalidation(of: entry)
        }
        guard isYoungEnough, wishes.minFresh == nil else { return revalidation(of: entry) }
        if freshness.staleUse == .permitted, accepts(wishes.maxStale, staleness) { return .serve(.stale) }
        if freshness.staleUse != .forbidden, let window = freshness.staleWhileRevalidate, staleness <= window {
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
