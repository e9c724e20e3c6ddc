/// A stored response as a cache looks at it: its head and its times, not its body.
package struct CacheEntry: Sendable, Equatable {
    package var status: Int
    package var fields: HTTPFields
    package var freshness: Freshness
    /// Whether an unsafe request, or a HEAD, showed that it may no longer hold (RFC 9111, sections 4.3.5 and 4.4).
    package var isInvalidated: Bool
    /// Whether only part of the body is held.
    package var isPart: Bool

    package init(
        status: Int, fields: HTTPFields, freshness: Freshness, isInvalidated: Bool = false, isPart: Bool = false
    ) {
        self.status = status
        self.fields = fields
        self.freshness = freshness
        self.isInvalidated = isInvalidated
        self.isPart = isPart
    }

    /// An entry as a store gives it back: its head and its times, from which the freshness is worked out again.
    package init(
        status: Int, fields: HTTPFields, requestTime: HTTPDate, responseTime: HTTPDate, profile: CacheProfile,
        forced: ForcedLifetime? = nil, isInvalidated: Bool = false, isPart: Bool = false
    ) {
        let freshness = Freshness(
            status: status, fields: fields, requestTime: requestTime, responseTime: responseTime, profile: profile,
            forced: forced)
        self.init(
            status: status, fields: fields, freshness: freshness, isInvalidated: isInvalidated, isPart: isPart)
    }

    /// The head of a body whose last part has come (RFC 9111, section 3.4).
    package func completed(byteCount: Int) -> CacheEntry {
        var whole = self
        whole.status = 200
        whole.isPart = false
        whole.fields.remove("Content-Range")
        whole.fields.set("Content-Length", String(byteCount))
        return whole
    }

    package var validator: Validator { Validator(fields) }

    /// How good it is now.
    package func hit(at now: HTTPDate) -> CacheHit {
        freshness.isFresh(at: now) && !isInvalidated ? .fresh : .stale
    }

    /// The fields to answer with: as stored, with the age that the response has reached (RFC 9111, section 4).
    package func servedFields(at now: HTTPDate) -> HTTPFields {
        var result = fields
        result.set("Age", String(freshness.age(at: now)))
        return result
    }

    /// The head to answer a request with, whose conditions may make it a 304 or a 412, neither of which has a body.
    package func servedHead(
        to request: CacheRequest, at now: HTTPDate, as role: Preconditions.Role
    ) -> (status: Int, fields: HTTPFields) {
        let conditions = Preconditions(request.fields)
        // They count only where the answer would be a success (RFC 9110, section 13.2.1).
        guard !conditions.isEmpty, (200...299).contains(status) else { return (status, servedFields(at: now)) }
        switch conditions.evaluate(validator, method: request.method, as: role) {
        case .proceed: return (status, servedFields(at: now))
        case .notModified: return (304, servedFields(at: now).removing(Self.bodyFields))
        case .failed: return (412, [:])
        }
    }

    /// Those that describe a body, which a 304 does not have (RFC 9110, section 15.4.5).
    private static let bodyFields: Set<String> = [
        "content-digest", "content-encoding", "content-language", "content-length", "content-md5", "content-range",
        "content-type",
    ]
}
