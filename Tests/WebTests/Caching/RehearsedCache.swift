@testable import Web

/// A minimal cache that uses the types in `Web/Caching`. It does the work of a driver without sockets and disks.
struct RehearsedCache {
    /// The source of a response.
    enum Source: Equatable { case hit, stale, refreshing, validated, network, timeout }

    struct Outcome {
        var source: Source
        var status: Int
        var fields: HTTPFields
        /// The request that was sent to the origin before the reply, if any.
        var sent: HTTPFields?
    }

    private struct Row {
        var key: VaryKey?
        var entry: CacheEntry
    }

    let policy: CachePolicy
    let profile: CacheProfile
    var rules = CacheRules()
    private var rows: [WebURL: [Row]] = [:]

    init(policy: CachePolicy = .protocol, profile: CacheProfile = .reverseProxy) {
        self.policy = policy
        self.profile = profile
    }

    /// Replies to a request. `origin` is the response that the origin would send; nil if it is unreachable.
    mutating func answer(
        _ request: CacheRequest, at now: HTTPDate, origin: (Int, HTTPFields)?
    ) -> Outcome {
        let key = request.url.withoutFragment
        let place = rows[key]?.lastIndex { $0.key?.matches(request.fields, .unkeyed) ?? false }
        let entry = place.flatMap { rows[key]?[$0].entry }
        switch policy.action(for: request, entry: entry, now: now) {
        case .miss: return Outcome(source: .timeout, status: 504, fields: [:])
        case .serve(let hit): return serve(entry, hit == .fresh ? .hit : .stale, request, now)
        case .serveAndRefresh(_, let fields):
            let served = serve(entry, .refreshing, request, now)
            _ = requestOrigin(request, entry, fields, origin, now)
            return served
        case .validate(let fields), .load(let fields):
            return requestOrigin(request, entry, fields, origin, now)
        }
    }

    private mutating func requestOrigin(
        _ request: CacheRequest, _ entry: CacheEntry?, _ fields: HTTPFields, _ origin: (Int, HTTPFields)?,
        _ now: HTTPDate
    ) -> Outcome {
        let sent = request.upstreamFields(fields)
        let isConditional = fields.contains("If-None-Match") || fields.contains("If-Modified-Since")
        let outcome = origin.map {
            CacheOutcome.answered(
                OriginResponse(status: $0.0, fields: $0.1, requestTime: now, responseTime: now))
        }
        let conclusion = policy.conclusion(
            of: outcome ?? .unreachable, for: request, entry: entry, wasConditional: isConditional,
            profile: profile,
            rules: rules, now: now)
        switch conclusion.change {
        case .none: break
        case .store(let new, _): store(new, for: request)
        case .update(let new), .extend(let new): store(new, for: request)
        }
        for url in conclusion.invalidated {
            for index in rows[url, default: []].indices { rows[url]?[index].entry.isInvalidated = true }
        }
        switch conclusion.reply {
        case .received:
            return Outcome(source: .network, status: origin?.0 ?? 0, fields: origin?.1 ?? [:], sent: sent)
        case .gatewayTimeout: return Outcome(source: .timeout, status: 504, fields: [:], sent: sent)
        case .loadAgain: return requestOrigin(request, entry, [:], origin.map { (200, $0.1) }, now)
        case .stored(let new, let hit):
            var served = serve(
                new, hit == .validated ? .validated : hit == .fresh ? .hit : .stale, request, now)
            served.sent = sent
            return served
        }
    }

    private func serve(_ entry: CacheEntry?, _ source: Source, _ request: CacheRequest, _ now: HTTPDate)
        -> Outcome
    {
        guard let entry else { return Outcome(source: .timeout, status: 0, fields: [:]) }
        let (status, fields) = entry.servedHead(to: request, at: now, as: .cache)
        return Outcome(source: source, status: status, fields: fields)
    }

    private mutating func store(_ entry: CacheEntry, for request: CacheRequest) {
        let url = request.url.withoutFragment
        let key = VaryKey(response: entry.fields, request: request.fields, secrets: .unkeyed)
        rows[url, default: []].removeAll { $0.key?.matches(request.fields, .unkeyed) ?? false }
        rows[url, default: []].append(Row(key: key, entry: entry))
    }
}

extension CacheEntry {
    /// The head of the response to a request. The request's conditions may make it a 304 or a 412, which have no body.
    func servedHead(
        to request: CacheRequest, at now: HTTPDate, as role: Preconditions.Role
    ) -> (status: Int, fields: HTTPFields) {
        let conditions = Preconditions(request.fields)
        // Conditions apply only if the response would be a success (RFC 9110, section 13.2.1).
        guard !conditions.isEmpty, (200...299).contains(status) else {
            return (status, servedFields(at: now))
        }
        switch conditions.evaluate(validator, method: request.method, as: role) {
        case .proceed: return (status, servedFields(at: now))
        case .notModified: return (304, servedFields(at: now).removing(Self.bodyFields))
        case .failed: return (412, [:])
        }
    }

    /// The fields that describe a body, which a 304 does not have (RFC 9110, section 15.4.5).
    private static let bodyFields: FieldNames = [
        "content-digest", "content-encoding", "content-language", "content-length", "content-md5",
        "content-range",
        "content-type",
    ]
}
