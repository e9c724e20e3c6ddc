/// The properties of a stored response that a cache needs: its status, header fields and freshness, not its
/// body.
package struct CacheEntry: Sendable, Equatable {
    package var status: Int
    package var fields: HTTPFields
    package var freshness: Freshness
    /// Whether an unsafe request or a HEAD showed that the response may be outdated (RFC 9111, sections 4.3.5
    /// and 4.4).
    package var isInvalidated: Bool
    /// Whether only part of the body is stored.
    package var isPart: Bool

    package init(
        status: Int, fields: HTTPFields, freshness: Freshness, isInvalidated: Bool = false,
        isPart: Bool = false
    ) {
        self.status = status
        self.fields = fields
        self.freshness = freshness
        self.isInvalidated = isInvalidated
        self.isPart = isPart
    }

    /// Creates an entry from the stored status, header fields and times. Computes the freshness again.
    package init(
        status: Int, fields: HTTPFields, requestTime: HTTPDate, responseTime: HTTPDate, profile: CacheProfile,
        forced: ForcedLifetime? = nil, isInvalidated: Bool = false, isPart: Bool = false
    ) {
        let freshness = Freshness(
            status: status, fields: fields, requestTime: requestTime, responseTime: responseTime,
            profile: profile,
            forced: forced)
        self.init(
            status: status, fields: fields, freshness: freshness, isInvalidated: isInvalidated, isPart: isPart
        )
    }

    /// The entry after the last part of its body was stored (RFC 9111, section 3.4).
    package func completing(byteCount: Int) -> CacheEntry {
        var whole = self
        whole.status = 200
        whole.isPart = false
        whole.fields.remove("Content-Range")
        whole.fields.set("Content-Length", String(byteCount))
        return whole
    }

    package var validator: Validator { Validator(fields) }

    /// Whether a 304 confirms this version of the response (RFC 9111, section 4.3.4).
    package func isConfirmed(by answer: OriginResponse) -> Bool {
        Validator(answer.fields).confirms(validator)
    }

    /// The fields to store after a 304 or a response to HEAD.
    package func fields(updatedBy answer: OriginResponse, in profile: CacheProfile) -> HTTPFields {
        fields.updating(with: answer.fields, in: profile).storable(in: profile)
    }

    /// Whether the response is fresh or stale.
    package func hit(at now: HTTPDate) -> CacheHit {
        freshness.isFresh(at: now) && !isInvalidated ? .fresh : .stale
    }

    /// The header fields to serve: the stored ones with the current age (RFC 9111, section 4).
    package func servedFields(at now: HTTPDate) -> HTTPFields {
        var result = fields
        result.set("Age", String(freshness.age(at: now)))
        return result
    }
}

// MARK: - CacheRequest

/// The properties of a request that a cache needs.
package struct CacheRequest: Sendable {
    /// The classes of methods that caches distinguish (RFC 9110, section 9.2).
    package enum Method: Sendable, Equatable {
        case get, head, post
        /// Any other safe method.
        case safe
        /// Any other method, including unknown ones.
        case unsafe

        package init(_ name: String) {
            switch name {
            case "GET": self = .get
            case "HEAD": self = .head
            case "POST": self = .post
            case "OPTIONS", "TRACE", "PROPFIND", "REPORT", "SEARCH", "QUERY": self = .safe
            default: self = .unsafe
            }
        }

        /// Whether a stored response to GET may answer the request.
        package var isAnsweredByStored: Bool { self == .get || self == .head }

        package var isUnsafe: Bool { self == .post || self == .unsafe }
    }

    package let method: Method
    package let url: WebURL
    package let fields: HTTPFields
    package let directives: CacheDirectives
    /// Whether the caller stores the response under a key that includes the request, as for a recorded API
    /// call. It may then be stored for any method.
    package let isRecorded: Bool

    package init(
        method: String = "GET", url: WebURL, fields: HTTPFields = HTTPFields(), isRecorded: Bool = false
    ) {
        self.method = Method(method)
        self.url = url
        self.fields = fields
        let hasDirectives = fields.contains("Cache-Control") || fields.contains("Pragma")
        directives = hasDirectives ? CacheDirectives(fields) : CacheDirectives()
        self.isRecorded = isRecorded
    }

    private static let conditions: FieldNames = [
        "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
    ]
    private static let parts: FieldNames = ["range", "if-range"]

    /// The header fields of the request to the server: those of the client with the additional ones of the
    /// action. Leaves out the fields of the connection and, for GET and HEAD, the client's conditions and
    /// range, which are applied to the response instead.
    ///
    /// - Parameters:
    ///   - keepingRange: whether to request only the client's range.
    ///   - keepingConditions: whether the server evaluates the client's conditions.
    package func upstreamFields(
        _ additional: HTTPFields, keepingRange: Bool = false, keepingConditions: Bool = false
    ) -> HTTPFields {
        var result = fields.withoutConnectionFields
        if method.isAnsweredByStored {
            if !keepingConditions { result = result.removing(Self.conditions) }
            if !keepingRange { result = result.removing(Self.parts) }
        }
        for field in additional.list { result.set(field.name, field.value) }
        return result
    }
}

// MARK: - CacheChanges

/// Determines how a response of the origin to a request changes the store.
struct CacheChanges {
    let request: CacheRequest
    let profile: CacheProfile
    let rules: CacheRules

    /// Applies a response to HEAD, which updates or invalidates the stored response (RFC 9111, section
    /// 4.3.5).
    func change(of entry: CacheEntry, byHead answer: OriginResponse) -> CacheConclusion.Change {
        var outdated = entry
        outdated.isInvalidated = true
        switch answer.status {
        case 200 where entry.status == 200:
            let tags = answer.fields.entityTag.map { $0 == entry.fields.entityTag } ?? true
            let dates = answer.fields["Last-Modified"].map { $0 == entry.fields["Last-Modified"] } ?? true
            let lengths = answer.fields.contentLength.map { $0 == entry.fields.contentLength } ?? true
            guard tags, dates, lengths else { return .update(outdated) }
            return updating(refreshing(entry, by: answer))
        case 404, 410: return .update(outdated)
        default: return .none
        }
    }

    /// Applies a complete or partial response (RFC 9111, sections 3 and 3.4).
    func storing(_ answer: OriginResponse, over entry: CacheEntry?) -> CacheConclusion.Change {
        if let entry, CacheStatus.isTemporary(answer.status), !CacheStatus.isTemporary(entry.status) {
            return .none
        }
        if answer.status == 206, let entry {
            // A part of another version replaces stored parts, but not a complete body (RFC 9111, section
            // 3.4).
            if let tag = answer.fields.entityTag, let storedTag = entry.fields.entityTag,
                tag.matchesStrongly(storedTag)
            {
                let updated = refreshing(entry, by: answer)
                return entry.isPart ? .extend(updated) : .update(updated)
            }
            if !entry.isPart { return .none }
        }
        let storability = Storability.judge(
            request, status: answer.status, fields: answer.fields, profile: profile,
            forced: rules.storage(for: request.url, answer.fields.contentType))
        switch storability {
        case .refused: return .none
        case .storable(let policy): return .store(self.entry(answer.status, answer.fields, answer), policy)
        }
    }

    /// The entry with the header fields and times of a 304, a HEAD or a part.
    func refreshing(_ entry: CacheEntry, by answer: OriginResponse) -> CacheEntry {
        var result = self.entry(entry.status, entry.fields.updating(with: answer.fields, in: profile), answer)
        result.isPart = entry.isPart
        return result
    }

    private func entry(_ status: Int, _ fields: HTTPFields, _ answer: OriginResponse) -> CacheEntry {
        let freshness = Freshness(
            status: status, fields: fields, requestTime: answer.requestTime,
            responseTime: answer.responseTime,
            profile: profile, forced: rules.lifetime(for: request.url, fields.contentType))
        return CacheEntry(
            status: status, fields: fields.storable(in: profile), freshness: freshness, isPart: status == 206)
    }

    /// The change that stores an updated head. There is none if the head forbids storing, as the fields of a
    /// 304 can.
    func updating(_ entry: CacheEntry) -> CacheConclusion.Change {
        // Uses a request whose method is always allowed: the stored response was accepted before.
        let plain = CacheRequest(url: request.url, fields: request.fields, isRecorded: true)
        let storability = Storability.judge(
            plain, status: entry.status, fields: entry.fields, profile: profile,
            forced: rules.storage(for: request.url, entry.fields.contentType))
        return storability.isStorable ? .update(entry) : .none
    }
}
