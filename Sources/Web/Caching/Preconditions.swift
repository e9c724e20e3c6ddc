/// The conditions of a request (RFC 9110, section 13) and their evaluation.
package struct Preconditions: Sendable, Equatable {
    /// The result of the evaluation.
    package enum Result: Sendable, Equatable {
        case proceed
        /// Respond with status 304.
        case notModified
        /// Respond with status 412.
        case failed
    }

    /// The kind of server that evaluates the conditions.
    package enum Role: Sendable, Equatable {
        /// An origin server, or a store that replaces one.
        case origin
        /// A cache, which leaves `If-Match` and `If-Unmodified-Since` to the origin (RFC 9111, section
        /// 4.3.2).
        case cache
    }

    private let ifMatch: EntityTagCondition?
    private let ifNoneMatch: EntityTagCondition?
    private let ifModifiedSince: String?
    private let ifUnmodifiedSince: String?
    private let ifRange: String?

    package init(_ request: HTTPFields) {
        // A fast path: most requests have no conditions.
        guard
            request.list.contains(where: {
                $0.name.utf8.starts(with: "if-".utf8, by: { $0.lowercasedASCII == $1 })
            })
        else {
            (ifMatch, ifNoneMatch, ifModifiedSince, ifUnmodifiedSince, ifRange) = (nil, nil, nil, nil, nil)
            return
        }
        ifMatch = request.joinedValues("If-Match").map { EntityTagCondition($0) }
        ifNoneMatch = request.joinedValues("If-None-Match").map { EntityTagCondition($0) }
        ifModifiedSince = request["If-Modified-Since"]
        ifUnmodifiedSince = request["If-Unmodified-Since"]
        ifRange = request["If-Range"]
    }

    /// Whether there are no conditions, apart from `If-Range`.
    package var isEmpty: Bool {
        ifMatch == nil && ifNoneMatch == nil && ifModifiedSince == nil && ifUnmodifiedSince == nil
    }

    /// Evaluates the conditions in the order of section 13.2.2, against a response that has a 2xx status
    /// without them.
    package func evaluate(
        _ current: Validator, method: CacheRequest.Method = .get, as role: Role = .origin
    ) -> Result {
        if role == .origin {
            if let ifMatch {
                guard Self.includesStrongly(ifMatch, current) else { return .failed }
            } else if let ifUnmodifiedSince, isModified(current, since: ifUnmodifiedSince) {
                return .failed
            }
        }
        let isRead = method.isRead
        if let ifNoneMatch {
            guard Self.includesWeakly(ifNoneMatch, current) else { return .proceed }
            return isRead ? .notModified : .failed
        }
        if isRead, let ifModifiedSince, let modified = current.lastModified,
            let since = HTTPDate(ifModifiedSince)
        {
            switch role {
            // Equality, not order: after a rollback the page has changed, although its date is older.
            case .origin: if Validator.isSameDate(ifModifiedSince, modified) { return .notModified }
            // Section 13.1.3 compares dates by order, and a cache must do so on behalf of the origin.
            case .cache: if let modified = HTTPDate(modified), modified <= since { return .notModified }
            }
        }
        return .proceed
    }

    /// Whether the response may be partial: there is no `If-Range`, or it identifies the current version by a
    /// strong entity tag or by a date that is a strong validator (section 13.1.5).
    ///
    /// - Parameter date: the `Date` of the response; nil if unknown, so that a date in `If-Range` is not enough.
    package func allowsRange(of current: Validator, date: HTTPDate?) -> Bool {
        guard let ifRange else { return true }
        if let wanted = HTTPDate(ifRange), !ifRange.utf8.contains(0x22) {
            // A resource can change twice within a second, so the date is a strong validator only if it is
            // before the date of the response (section 8.8.2.2).
            return current.lastModified.flatMap { HTTPDate($0) } == wanted
                && date.map { wanted < $0 } ?? false
        }
        guard let wanted = EntityTag(ifRange), let tag = current.entityTag else { return false }
        return wanted.matchesStrongly(tag)
    }

    private static func includesStrongly(_ condition: EntityTagCondition, _ current: Validator) -> Bool {
        condition == .any || current.entityTag.map { condition.includesStrongly($0) } ?? false
    }

    private static func includesWeakly(_ condition: EntityTagCondition, _ current: Validator) -> Bool {
        condition == .any || current.entityTag.map { condition.includesWeakly($0) } ?? false
    }

    /// Whether the response was modified after a date. False if either date is missing or malformed, which
    /// disables the condition (section 13.1.4).
    private func isModified(_ current: Validator, since text: String) -> Bool {
        guard let date = HTTPDate(text), let modified = current.lastModified.flatMap({ HTTPDate($0) }) else {
            return false
        }
        return modified > date
    }
}

// MARK: - Validator

/// The validators of a version of a representation: its entity tag and the date of its last modification.
package struct Validator: Sendable, Equatable {
    package let entityTag: EntityTag?
    /// The field as it was received, to be sent back unchanged.
    package let lastModified: String?

    package init(_ fields: HTTPFields) {
        entityTag = fields.entityTag
        lastModified = fields["Last-Modified"].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The header fields that ask the server whether this version is still current (RFC 9111, section 4.3.1).
    /// The date is for servers without entity tags; other servers ignore it.
    package var conditions: HTTPFields {
        var fields = HTTPFields()
        if let entityTag { fields.append("If-None-Match", entityTag.text) }
        if let lastModified { fields.append("If-Modified-Since", lastModified) }
        return fields
    }

    /// Whether a 304 with this validator confirms the stored response. It does not if it names another
    /// version (RFC 9111, section 4.3.4). A 304 without validators confirms the version in the request.
    /// Dates are compared for equality, because a file that was rolled back has an older date. Entity tags are compared
    /// weakly: servers that compress responses on the fly may mark only those tags
    /// as weak, and a 304 is not compressed.
    package func confirms(_ stored: Validator) -> Bool {
        if let entityTag {
            guard let storedTag = stored.entityTag else { return false }
            return entityTag.matchesWeakly(storedTag)
        }
        guard let lastModified, let storedDate = stored.lastModified else { return true }
        return Self.isSameDate(lastModified, storedDate)
    }

    /// Whether two dates are equal, even if written in different forms. Malformed dates are compared as text.
    static func isSameDate(_ left: String, _ right: String) -> Bool {
        if left == right { return true }
        guard let left = HTTPDate(left), let right = HTTPDate(right) else { return false }
        return left == right
    }
}

/// The stored responses that an unsafe request invalidates (RFC 9111, section 4.4).
package enum Invalidation {
    /// The URLs whose stored responses must be validated before they are used again: that of the request, and
    /// those in `Location` and `Content-Location` if they have the same origin, so that one origin cannot
    /// invalidate the responses of another. Empty after an error or for a safe method.
    package static func targets(of request: CacheRequest, status: Int, fields: HTTPFields) -> [WebURL] {
        guard request.method.isUnsafe, (200...399).contains(status) else { return [] }
        var targets = [request.url.withoutFragment]
        for name in ["Location", "Content-Location"] {
            guard let url = fields[name].flatMap({ WebURL($0, base: request.url) })?.withoutFragment,
                url.origin != "null", url.origin == request.url.origin, !targets.contains(url)
            else { continue }
            targets.append(url)
        }
        return targets
    }
}
