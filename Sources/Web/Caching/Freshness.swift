/// The freshness lifetime and age of a stored response, and its permitted uses after the lifetime (RFC 9111,
/// section 4.2).
///
/// It is computed once, when the response is stored or read. All times are in whole seconds, at most 2^31.
package struct Freshness: Sendable, Equatable {
    /// The source of the lifetime.
    package enum Source: Sendable, Equatable {
        case targetedField, sharedMaxAge, maxAge, expires, heuristic, rule
        /// No source; the lifetime is 0.
        case unspecified
    }

    /// Whether a stale response may be used.
    enum StaleUse: Sendable, Equatable {
        case permitted
        /// Only `stale-while-revalidate` and `stale-if-error` permit it: the rule for `s-maxage` in a shared
        /// cache.
        case onlyWithDirective
        case forbidden
    }

    package let lifetime: Int
    package let source: Source
    /// The age of the response when it was received.
    let initialAge: Int
    package let responseTime: HTTPDate
    /// Whether the response must be validated before each use, as by `no-cache` without field names.
    let needsValidation: Bool
    let isImmutable: Bool
    let staleUse: StaleUse
    let staleWhileRevalidate: Int?
    let staleIfError: Int?

    /// Computes the freshness from the head of a response, the times of the request and the response, and the
    /// lifetime that a rule of the user sets.
    package init(
        status: Int, fields: HTTPFields, requestTime: HTTPDate, responseTime: HTTPDate, profile: CacheProfile,
        forced: ForcedLifetime? = nil
    ) {
        let (directives, isTargeted) = CacheDirectives.effective(of: fields, for: profile)
        let date = fields.date("Date", now: responseTime) ?? responseTime
        var (lifetime, source) = Self.lifetime(
            status, fields, date, responseTime, directives, isTargeted: isTargeted, profile)
        var needsValidation = directives.noCache == .wholeResponse
        switch forced {
        case .atLeast(let seconds)? where needsValidation || lifetime < seconds, .exactly(let seconds)?:
            (lifetime, source, needsValidation) = (min(max(0, seconds), 1 << 31), .rule, false)
        case .atLeast?, nil: break
        }
        self.lifetime = lifetime
        self.source = source
        self.needsValidation = needsValidation
        staleUse = needsValidation ? .forbidden : Self.staleUse(directives, profile)
        initialAge = Self.initialAge(fields, date, requestTime: requestTime, responseTime: responseTime)
        self.responseTime = responseTime
        isImmutable = directives.isImmutable
        staleWhileRevalidate = directives.staleWhileRevalidate
        staleIfError = directives.staleIfError
    }

    /// The age of the response. It is at least `initialAge`, even if the clock was set back.
    package func age(at now: HTTPDate) -> Int {
        initialAge + Self.seconds(from: responseTime, to: now)
    }

    /// The time since the end of the lifetime; negative before it.
    package func staleness(at now: HTTPDate) -> Int { age(at: now) - lifetime }

    package func isFresh(at now: HTTPDate) -> Bool { staleness(at: now) < 0 }

    /// Whether the directives prohibit using the stale response (RFC 9111, section 4.2.4).
    private static func staleUse(_ directives: CacheDirectives, _ profile: CacheProfile) -> StaleUse {
        if directives.mustRevalidate { return .forbidden }
        guard profile.kind == .shared else { return .permitted }
        if directives.proxyRevalidate { return .forbidden }
        return directives.sharedMaxAge == nil ? .permitted : .onlyWithDirective
    }

    /// The corrected initial age (RFC 9111, section 4.2.3).
    private static func initialAge(
        _ fields: HTTPFields, _ date: HTTPDate, requestTime: HTTPDate, responseTime: HTTPDate
    ) -> Int {
        let apparent = seconds(from: date, to: responseTime)
        let corrected = (fields.age ?? 0) + seconds(from: requestTime, to: responseTime)
        return min(max(apparent, corrected), 1 << 31)
    }

    /// The seconds between two times, at most 2^31; 0 if the second one is earlier.
    static func seconds(from start: HTTPDate, to end: HTTPDate) -> Int {
        // Cannot overflow: both are in the years 1 to 9999.
        Int(min(max(0, end.secondsSinceEpoch - start.secondsSinceEpoch), 1 << 31))
    }
}

extension Freshness {
    /// The first lifetime that the response has, in the order of RFC 9111, section 4.2.1.
    static func lifetime(
        _ status: Int, _ fields: HTTPFields, _ date: HTTPDate, _ responseTime: HTTPDate,
        _ directives: CacheDirectives,
        isTargeted: Bool, _ profile: CacheProfile
    ) -> (Int, Source) {
        if profile.kind == .shared, let seconds = directives.sharedMaxAge {
            return (seconds, isTargeted ? .targetedField : .sharedMaxAge)
        }
        if let seconds = directives.maxAge { return (seconds, isTargeted ? .targetedField : .maxAge) }
        // Several fields make a list, which is not a valid date, so that the response counts as expired.
        if !isTargeted, let text = fields.joinedValues("Expires") {
            let end = HTTPDate(strict: text, now: responseTime)
            return (end.map { seconds(from: date, to: $0) } ?? 0, .expires)
        }
        guard directives.isPublic || CacheStatus.isCacheableByDefault(status) else {
            return (0, .unspecified)
        }
        return heuristicLifetime(fields, date, responseTime, profile).map { ($0, .heuristic) } ?? (
            0, .unspecified
        )
    }

    /// The lifetime by RFC 9111, section 4.2.2: a response that has not changed for a long time is likely to
    /// stay unchanged.
    private static func heuristicLifetime(
        _ fields: HTTPFields, _ date: HTTPDate, _ responseTime: HTTPDate, _ profile: CacheProfile
    ) -> Int? {
        guard let modified = fields.date("Last-Modified", now: responseTime), modified < date else {
            return nil
        }
        // Cannot overflow: at most 2^31 seconds, multiplied by a percentage that Larder sets.
        return min(
            seconds(from: modified, to: date) * profile.heuristicPercentage / 100,
            profile.maxHeuristicLifetime)
    }
}

/// A lifetime that a rule of the user sets.
package enum ForcedLifetime: Sendable, Hashable {
    /// The minimum in seconds. Applies if the server sets a shorter lifetime or none, or requires validation.
    case atLeast(Int)
    /// The lifetime in seconds, regardless of the server.
    case exactly(Int)
}

// MARK: - CacheProfile

/// The kind of a cache: who shares it, which header fields address it, and how it estimates lifetimes.
package struct CacheProfile: Sendable, Equatable {
    /// The two kinds of RFC 9111.
    package enum Kind: Sendable, Equatable {
        /// The cache of one user, such as a browser's.
        case `private`
        /// The cache of many users, such as a reverse proxy's.
        case shared
    }

    package var kind: Kind
    /// The fields that this cache uses in place of `Cache-Control` and `Expires`, the most specific one first
    /// (RFC 9213).
    var targetedFields: [String] = []
    /// The lifetime of a response without one, as a percentage of the time since its last modification.
    var heuristicPercentage = 10
    /// The maximum of an estimated lifetime, in seconds.
    var maxHeuristicLifetime = 86_400
    /// Whether the cache stores parts of bodies, to complete them later.
    package var storesParts = false

    package init(kind: Kind) { self.kind = kind }

    package static let `private` = CacheProfile(kind: .private)

    package static let shared = CacheProfile(kind: .shared)

    /// A reverse proxy, which `CDN-Cache-Control` addresses.
    package static let reverseProxy: CacheProfile = {
        var profile = CacheProfile(kind: .shared)
        profile.targetedFields = ["CDN-Cache-Control"]
        return profile
    }()
}
