/// The properties of a stored response that a cache needs: its status, header fields and freshness, not its
/// body.
package struct CacheEntry: Sendable, Equatable {
    package var status: Int
    package var fields: HTTPFields
    package var freshness: Freshness
    /// Whether an unsafe request or a HEAD showed that the response may be outdated (RFC 9111, sections 4.3.5
    /// and 4.4).
    package var isInvalidated: Bool
    /// Whether only a part of the body is stored. `CachePolicy` treats such an entry as missing.
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

    /// Creates an entry from the stored status, header fields and times. Computes the freshness from them.
    ///
    /// - Parameter forced: the lifetime that a rule of the user sets; nil if the header fields decide.
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

    /// Returns the entry of the whole response, for when the last part of its body has been received (RFC 9111,
    /// section 3.4).
    package func completing(byteCount: Int) -> CacheEntry {
        var whole = self
        whole.status = 200
        whole.isPart = false
        whole.fields.remove("Content-Range")
        whole.fields.set("Content-Length", String(byteCount))
        return whole
    }

    /// The validators in the header fields, for conditional requests.
    package var validator: Validator { Validator(fields) }

    /// Whether a 304 confirms this response, and not another version of it (RFC 9111, section 4.3.4).
    package func isConfirmed(by answer: OriginResponse) -> Bool {
        Validator(answer.fields).confirms(validator)
    }

    /// Returns the header fields to store after a 304.
    package func fields(updatedBy answer: OriginResponse, in profile: CacheProfile) -> HTTPFields {
        fields.updating(with: answer.fields, in: profile).storable(in: profile)
    }

    /// Returns the state of the response if it is served now: fresh or stale. An invalidated response is stale.
    package func hit(at now: HTTPDate) -> CacheHit {
        freshness.isFresh(at: now) && !isInvalidated ? .fresh : .stale
    }

    /// Returns the header fields to serve: the stored ones with the current age (RFC 9111, section 4).
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

        /// Whether the method is GET or HEAD, so that a stored response to GET may answer the request.
        package var isRead: Bool { self == .get || self == .head }

        /// Whether the request may change resources, so that it invalidates stored responses (RFC 9111, section 4.4).
        var isUnsafe: Bool { self == .post || self == .unsafe }
    }

    package let method: Method
    package let url: WebURL
    package let fields: HTTPFields
    package let directives: CacheDirectives
    /// Whether the response is a recorded API call: its key in the store includes the method and the body of the
    /// request. Such a response may be stored for any method.
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

    private static let conditionalFields: FieldNames = [
        "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
    ]
    private static let rangeFields: FieldNames = ["range", "if-range"]

    /// Returns the header fields of the request to the origin server: those of the client's request and the
    /// additional ones. Leaves out the fields of the connection. Also leaves out the client's range and conditions
    /// if the method is GET or HEAD, because Larder applies them to the response.
    ///
    /// - Parameters:
    ///   - additional: the header fields of the `CacheAction`. They replace those of the client.
    ///   - keepingRange: whether to request only the client's range.
    ///   - keepingConditions: whether the origin server evaluates the client's conditions.
    package func upstreamFields(
        _ additional: HTTPFields, keepingRange: Bool = false, keepingConditions: Bool = false
    ) -> HTTPFields {
        var result = fields.withoutConnectionFields
        if method.isRead {
            if !keepingConditions { result = result.removing(Self.conditionalFields) }
            if !keepingRange { result = result.removing(Self.rangeFields) }
        }
        for field in additional.list { result.set(field.name, field.value) }
        return result
    }
}

// MARK: - CacheChanges

/// Determines how a response of the origin server changes the stored response to the same request.
struct CacheChanges {
    let request: CacheRequest
    let profile: CacheProfile
    let rules: CacheRules

    /// Returns the change after a response to HEAD, which updates or invalidates the entry (RFC 9111, section
    /// 4.3.5).
    func change(of entry: CacheEntry, byHead answer: OriginResponse) -> CacheConclusion.Change {
        var outdated = entry
        outdated.isInvalidated = true
        switch answer.status {
        case 200 where entry.status == 200:
            let hasSameTag = answer.fields.entityTag.map { $0 == entry.fields.entityTag } ?? true
            let hasSameDate =
                answer.fields["Last-Modified"].map { $0 == entry.fields["Last-Modified"] } ?? true
            let hasSameLength = answer.fields.contentLength.map { $0 == entry.fields.contentLength } ?? true
            guard hasSameTag, hasSameDate, hasSameLength else { return .update(outdated) }
            return change(updatingTo: refreshing(entry, by: answer))
        case 404, 410: return .update(outdated)
        default: return .none
        }
    }

    /// Returns the change after a complete or partial response (RFC 9111, sections 3 and 3.4).
    ///
    /// - Parameter entry: the stored response; nil if there is none.
    func change(storing answer: OriginResponse, over entry: CacheEntry?) -> CacheConclusion.Change {
        if let entry, CacheStatus.isTemporary(answer.status), !CacheStatus.isTemporary(entry.status) {
            return .none
        }
        if answer.status == 206, let entry {
            // A part of the same version (RFC 9111, section 3.4).
            if let tag = answer.fields.entityTag, let storedTag = entry.fields.entityTag,
                tag.matchesStrongly(storedTag)
            {
                let updated = refreshing(entry, by: answer)
                return entry.isPart ? .extend(updated) : .update(updated)
            }
            // A part of another version replaces stored parts, but not a complete body.
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

    /// Returns the entry with the header fields and times of a 304, a response to HEAD or a part. It is no longer
    /// invalidated.
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

    /// Returns the change that stores an entry with updated header fields, or none if these forbid storing, as the
    /// fields of a 304 can.
    func change(updatingTo entry: CacheEntry) -> CacheConclusion.Change {
        // The method was accepted when the response was stored. A recorded request may have any method.
        let recorded = CacheRequest(url: request.url, fields: request.fields, isRecorded: true)
        let storability = Storability.judge(
            recorded, status: entry.status, fields: entry.fields, profile: profile,
            forced: rules.storage(for: request.url, entry.fields.contentType))
        return storability.isStorable ? .update(entry) : .none
    }
}
