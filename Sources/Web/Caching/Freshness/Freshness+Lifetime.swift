extension Freshness {
    /// RFC 9111, section 4.2.1: the first of these that there is.
    static func lifetime(
        _ status: Int, _ fields: HTTPFields, _ date: HTTPDate, _ responseTime: HTTPDate, _ directives: CacheDirectives,
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
        return heuristicLifetime(fields, date, responseTime, profile).map { ($0, .heuristic) } ?? (0, .nothing)
    }

    /// RFC 9111, section 4.2.2: what has not changed for long will not change soon.
    private static func heuristicLifetime(
        _ fields: HTTPFields, _ date: HTTPDate, _ responseTime: HTTPDate, _ profile: CacheProfile
    ) -> Int? {
        guard let modified = fields.date("Last-Modified", now: responseTime), modified < date else { return nil }
        // At most 2^31 seconds by a percentage that is ours: no overflow.
        return min(seconds(from: modified, to: date) * profile.heuristicPercentage / 100, profile.heuristicLimit)
    }
}

/// A lifetime that the user's rule sets.
package enum ForcedLifetime: Sendable, Hashable {
    /// In seconds, where the server says nothing or less, or wants to be asked each time.
    case atLeast(Int)
    /// In seconds, whatever the server says.
    case exactly(Int)
}
