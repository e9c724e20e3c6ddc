/// How long a stored response may be used as it stands, and what may be done with it afterwards (RFC 9111,
/// section 4.2).
///
/// It is worked out once, when a response is stored; asking it later costs a few additions. Times are whole
/// seconds, at most 2^31.
package struct Freshness: Sendable, Equatable {
    /// What set the lifetime.
    package enum Source: Sendable, Equatable {
        case targetedField, sharedMaxAge, maxAge, expires, heuristic, rule
        /// Nothing did, and it is 0.
        case nothing
    }

    /// What the server forbids once the lifetime is over.
    package enum StaleUse: Sendable, Equatable {
        case permitted
        /// Only `stale-while-revalidate` and `stale-if-error` lift it: a shared cache and `s-maxage`.
        case onlyAsStated
        case forbidden
    }

    package let lifetime: Int
    package let source: Source
    /// How old the response was when it arrived.
    package let initialAge: Int
    package let responseTime: HTTPDate
    /// Whether each use needs the server's consent: `no-cache` for everything.
    package let needsValidation: Bool
    package let isImmutable: Bool
    package let staleUse: StaleUse
    package let staleWhileRevalidate: Int?
    package let staleIfError: Int?

    /// Works it out from a response's head, the moments at which it was asked for and came, and what a rule
    /// of the user says of its lifetime.
    package init(
        status: Int, fields: HTTPFields, requestTime: HTTPDate, responseTime: HTTPDate, profile: CacheProfile,
        forced: ForcedLifetime? = nil
    ) {
        let (directives, isTargeted) = CacheDirectives.effective(of: fields, for: profile)
        let date = fields.date("Date", now: responseTime) ?? responseTime
        var (lifetime, source) = Self.lifetime(
            status, fields, date, responseTime, directives, isTargeted: isTargeted, profile)
        var needsValidation = directives.noCache == .everything
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

    /// How old the response is. A clock that was set back makes nothing younger than it came.
    package func age(at now: HTTPDate) -> Int {
        initialAge + Self.seconds(from: responseTime, to: now)
    }

    /// How long the lifetime has been over, 0 or more; negative while it lasts. At the very end it is over.
    package func staleness(at now: HTTPDate) -> Int { age(at: now) - lifetime }

    package func isFresh(at now: HTTPDate) -> Bool { staleness(at: now) < 0 }

    /// RFC 9111, section 4.2.4: what prohibits a stale answer.
    private static func staleUse(_ directives: CacheDirectives, _ profile: CacheProfile) -> StaleUse {
        if directives.mustRevalidate { return .forbidden }
        guard profile.kind == .shared else { return .permitted }
        if directives.proxyRevalidate { return .forbidden }
        return directives.sharedMaxAge == nil ? .permitted : .onlyAsStated
    }

    /// RFC 9111, section 4.2.3.
    private static func initialAge(
        _ fields: HTTPFields, _ date: HTTPDate, requestTime: HTTPDate, responseTime: HTTPDate
    ) -> Int {
        let apparent = seconds(from: date, to: responseTime)
        let corrected = (fields.age ?? 0) + seconds(from: requestTime, to: responseTime)
        return min(max(apparent, corrected), 1 << 31)
    }

    /// The time between two moments, 0 when they come in the other order.
    static func seconds(from start: HTTPDate, to end: HTTPDate) -> Int {
        // Both lie within the years 1 to 9999, so the difference cannot overflow.
        Int(min(max(0, end.secondsSinceEpoch - start.secondsSinceEpoch), 1 << 31))
    }
}

extension Freshness {
    /// RFC 9111, section 4.2.1: the first of these that there is.
    static func lifetime(
        _ status: Int, _ fields: HTTPFields, _ date: HTTPDate, _ responseTime: HTTPDate,
        _ directives: CacheDirectives,
        isTargeted: Bool, _ profile: CacheProfile
    ) -> (Int, Source) {
        if profile.kind == .shared, let seconds = directives.sharedMaxAge {
            return (seconds, isTargeted ? .targetedField : .sharedMaxAge)
        }
        if let seconds = directives.maxAge { return (seconds, isTargeted ? .targetedField : .maxAge) }
        // Several lines make a list, which is no date: what is in dispute is over.
        if !isTargeted, let text = fields.combined("Expires") {
            let end = HTTPDate(strict: text, now: responseTime)
            return (end.map { seconds(from: date, to: $0) } ?? 0, .expires)
        }
        guard directives.isPublic || CacheStatus.isCacheableByDefault(status) else { return (0, .nothing) }
        return heuristicLifetime(fields, date, responseTime, profile).map { ($0, .heuristic) } ?? (
            0, .nothing
        )
    }

    /// RFC 9111, section 4.2.2: what has not changed for long will not change soon.
    private static func heuristicLifetime(
        _ fields: HTTPFields, _ date: HTTPDate, _ responseTime: HTTPDate, _ profile: CacheProfile
    ) -> Int? {
        guard let modified = fields.date("Last-Modified", now: responseTime), modified < date else {
            return nil
        }
        // At most 2^31 seconds by a percentage that is ours: no overflow.
        return min(
            seconds(from: modified, to: date) * profile.heuristicPercentage / 100, profile.heuristicLimit)
    }
}

/// A lifetime that the user's rule sets.
package enum ForcedLifetime: Sendable, Hashable {
    /// In seconds, where the server says nothing or less, or wants to be asked each time.
    case atLeast(Int)
    /// In seconds, whatever the server says.
    case exactly(Int)
}

// MARK: - CacheProfile

/// What kind of cache decides: whom it serves, which fields speak to it, and how far it guesses.
package struct CacheProfile: Sendable, Equatable {
    /// RFC 9111's two kinds.
    package enum Kind: Sendable, Equatable {
        /// One person's, like a browser's.
        case `private`
        /// Many people's, like a reverse proxy's.
        case shared
    }

    package var kind: Kind
    /// The fields that speak to this cache in place of `Cache-Control` and `Expires`, the most specific first
    /// (RFC 9213).
    package var targetedFields: [String] = []
    /// How many hundredths of the time since the last modification a response without a lifetime is taken as
    /// fresh.
    package var heuristicPercentage = 10
    /// The longest lifetime that is guessed, in seconds.
    package var heuristicLimit = 86_400
    /// Whether parts of a body are kept, to be completed later.
    package var storesParts = false

    package init(kind: Kind) { self.kind = kind }

    package static let `private` = CacheProfile(kind: .private)

    package static let shared = CacheProfile(kind: .shared)

    /// A reverse proxy, to which `CDN-Cache-Control` speaks.
    package static let reverseProxy: CacheProfile = {
        var profile = CacheProfile(kind: .shared)
        profile.targetedFields = ["CDN-Cache-Control"]
        return profile
    }()
}
