/// A stored response as a cache looks at it: its head and its times, not its body.
package struct CacheEntry: Sendable, Equatable {
    package var status: Int
    package var fields: HTTPFields
    package var freshness: Freshness
    /// Whether an unsafe request, or a HEAD, showed that it may no longer hold (RFC 9111, sections 4.3.5 and
    /// 4.4).
    package var isInvalidated: Bool
    /// Whether only part of the body is held.
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

    /// An entry as a store gives it back: its head and its times, from which the freshness is worked out
    /// again.
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

    /// Whether a 304 is about this version (RFC 9111, section 4.3.4).
    package func isConfirmed(by answer: CacheAnswer) -> Bool {
        Validator(answer.fields).confirms(validator)
    }

    /// The fields that it has from a 304 or a HEAD's answer on.
    package func fields(updatedBy answer: CacheAnswer, in profile: CacheProfile) -> HTTPFields {
        fields.updated(by: answer.fields, in: profile).storable(in: profile)
    }

    /// How good it is now.
    package func hit(at now: HTTPDate) -> CacheHit {
        freshness.isFresh(at: now) && !isInvalidated ? .fresh : .stale
    }

    /// The fields to answer with: as stored, with the age that the response has reached (RFC 9111, section
    /// 4).
    package func servedFields(at now: HTTPDate) -> HTTPFields {
        var result = fields
        result.set("Age", String(freshness.age(at: now)))
        return result
    }
}

// MARK: - CacheRequest

/// A request as a cache looks at it.
package struct CacheRequest: Sendable {
    /// What a method means to a cache (RFC 9110, section 9.2).
    package enum Method: Sendable, Equatable {
        case get, head, post
        /// Any other that changes nothing.
        case safe
        /// Any other, those that we do not know included.
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

        /// Whether an answer to GET that is stored may answer it.
        package var isAnsweredByStored: Bool { self == .get || self == .head }

        package var isUnsafe: Bool { self == .post || self == .unsafe }
    }

    package let method: Method
    package let url: WebURL
    package let fields: HTTPFields
    package let directives: CacheDirectives
    /// Whether the caller keeps its answer under a key of its own, which tells it from others of the same
    /// URL: a recorded API call. Then its method does not stand against storing.
    package let isRecorded: Bool

    package init(
        method: String = "GET", url: WebURL, fields: HTTPFields = HTTPFields(), isRecorded: Bool = false
    ) {
        self.method = Method(method)
        self.url = url
        self.fields = fields
        let saysAnything = fields.contains("Cache-Control") || fields.contains("Pragma")
        directives = saysAnything ? CacheDirectives(fields) : CacheDirectives()
        self.isRecorded = isRecorded
    }

    private static let conditions: FieldNames = [
        "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
    ]
    private static let parts: FieldNames = ["range", "if-range"]

    /// What goes to the server in the request's stead: without the fields of the connection and, for GET and
    /// HEAD, without the client's conditions and range, which are evaluated against what comes; with the
    /// fields that the action asks for.
    ///
    /// - Parameters:
    ///   - keepingRange: asks for the client's part alone, by its condition.
    ///   - keepingConditions: has the server tell whether what the client holds is still so.
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

/// Works out what a server's answer to a request changes in the store.
struct CacheChanges {
    let request: CacheRequest
    let profile: CacheProfile
    let rules: CacheRules

    /// RFC 9111, section 4.3.5: a HEAD brings what is stored up to date, or shows that it is out of date.
    func change(of entry: CacheEntry, byHead answer: CacheAnswer) -> CacheConclusion.Change {
        var outdated = entry
        outdated.isInvalidated = true
        switch answer.status {
        case 200 where entry.status == 200:
            let tags = answer.fields.entityTag.map { $0 == entry.fields.entityTag } ?? true
            let dates = answer.fields["Last-Modified"].map { $0 == entry.fields["Last-Modified"] } ?? true
            let lengths = answer.fields.contentLength.map { $0 == entry.fields.contentLength } ?? true
            guard tags, dates, lengths else { return .update(outdated) }
            return updating(refreshed(entry, by: answer))
        case 404, 410: return .update(outdated)
        default: return .none
        }
    }

    /// A whole answer, or a part (RFC 9111, sections 3 and 3.4).
    func storing(_ answer: CacheAnswer, over entry: CacheEntry?) -> CacheConclusion.Change {
        if let entry, CacheStatus.isPassing(answer.status), !CacheStatus.isPassing(entry.status) {
            return .none
        }
        if answer.status == 206, let entry {
            // Of another version, a part is worth less than a whole and more than other parts (RFC 9111,
            // section 3.4).
            if let tag = answer.fields.entityTag, let held = entry.fields.entityTag, tag.matchesStrongly(held)
            {
                let updated = refreshed(entry, by: answer)
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

    /// The entry with the head that a 304, a HEAD or a part brought, and its times.
    func refreshed(_ entry: CacheEntry, by answer: CacheAnswer) -> CacheEntry {
        var result = self.entry(entry.status, entry.fields.updated(by: answer.fields, in: profile), answer)
        result.isPart = entry.isPart
        return result
    }

    private func entry(_ status: Int, _ fields: HTTPFields, _ answer: CacheAnswer) -> CacheEntry {
        let freshness = Freshness(
            status: status, fields: fields, requestTime: answer.requestTime,
            responseTime: answer.responseTime,
            profile: profile, forced: rules.lifetime(for: request.url, fields.contentType))
        return CacheEntry(
            status: status, fields: fields.storable(in: profile), freshness: freshness, isPart: status == 206)
    }

    /// The stored head becomes this one, if it may still be stored: a 304 can say that it may not.
    func updating(_ entry: CacheEntry) -> CacheConclusion.Change {
        // Whatever asked, HEAD or a recorded POST, what is stored was let in before.
        let plain = CacheRequest(url: request.url, fields: request.fields, isRecorded: true)
        let storability = Storability.judge(
            plain, status: entry.status, fields: entry.fields, profile: profile,
            forced: rules.storage(for: request.url, entry.fields.contentType))
        return storability.isStorable ? .update(entry) : .none
    }
}
