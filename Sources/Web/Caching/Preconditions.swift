/// The conditions that a client puts on its request, and what comes of them (RFC 9110, section 13).
package struct Preconditions: Sendable, Equatable {
    package enum Result: Sendable, Equatable {
        case proceed
        /// 304
        case notModified
        /// 412
        case failed
    }

    /// Who answers.
    package enum Role: Sendable, Equatable {
        /// A server, or a larder in a server's stead.
        case origin
        /// A cache on the way, which leaves `If-Match` and `If-Unmodified-Since` to the origin (RFC 9111,
        /// section 4.3.2).
        case cache
    }

    private let ifMatch: EntityTagCondition?
    private let ifNoneMatch: EntityTagCondition?
    private let ifModifiedSince: String?
    private let ifUnmodifiedSince: String?
    private let ifRange: String?

    package init(_ request: HTTPFields) {
        // Most requests have none: one look at each name, then, costs less than a search for each condition.
        guard
            request.list.contains(where: {
                $0.name.utf8.starts(with: "if-".utf8, by: { $0.lowercasedASCII == $1 })
            })
        else {
            (ifMatch, ifNoneMatch, ifModifiedSince, ifUnmodifiedSince, ifRange) = (nil, nil, nil, nil, nil)
            return
        }
        ifMatch = request.combined("If-Match").map { EntityTagCondition($0) }
        ifNoneMatch = request.combined("If-None-Match").map { EntityTagCondition($0) }
        ifModifiedSince = request["If-Modified-Since"]
        ifUnmodifiedSince = request["If-Unmodified-Since"]
        ifRange = request["If-Range"]
    }

    /// Whether there is none, `If-Range` aside.
    package var isEmpty: Bool {
        ifMatch == nil && ifNoneMatch == nil && ifModifiedSince == nil && ifUnmodifiedSince == nil
    }

    /// Evaluates them in the order of section 13.2.2 against a response that would have a 2xx status without
    /// them.
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
        let isRead = method.isAnsweredByStored
        if let ifNoneMatch {
            guard Self.includesWeakly(ifNoneMatch, current) else { return .proceed }
            return isRead ? .notModified : .failed
        }
        if isRead, let ifModifiedSince, let modified = current.lastModified,
            let since = HTTPDate(ifModifiedSince)
        {
            switch role {
            // A page that was rolled back has changed, although it got older.
            case .origin: if Validator.isSameDate(ifModifiedSince, modified) { return .notModified }
            // Whoever speaks for an origin goes by the order that section 13.1.3 asks for.
            case .cache: if let modified = HTTPDate(modified), modified <= since { return .notModified }
            }
        }
        return .proceed
    }

    /// Whether a range may be answered with a part: without `If-Range` always, else when it names just this
    /// version, by a strong entity tag or by a date that is as good as one (section 13.1.5).
    package func allowsRange(of current: Validator, date: HTTPDate?) -> Bool {
        guard let ifRange else { return true }
        if let wanted = HTTPDate(ifRange), !ifRange.utf8.contains(0x22) {
            // A second in which the file could have changed twice does not tell its versions apart (section
            // 8.8.2.2).
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

    /// A date that is none makes the field as if it were not there, and so does a response without one
    /// (section 13.1.4).
    private func isModified(_ current: Validator, since text: String) -> Bool {
        guard let date = HTTPDate(text), let modified = current.lastModified.flatMap({ HTTPDate($0) }) else {
            return false
        }
        return modified > date
    }
}

// MARK: - Validator

/// What tells one version of a representation from another: its entity tag, and the date of its last
/// modification.
///
/// Dates are compared for equality, never by order: a file that was rolled back has changed, although it got
/// older.
package struct Validator: Sendable, Equatable {
    package let entityTag: EntityTag?
    /// As it was sent, to be sent back byte by byte.
    package let lastModified: String?

    package init(_ fields: HTTPFields) {
        entityTag = fields.entityTag
        lastModified = fields["Last-Modified"].flatMap { $0.isEmpty ? nil : $0 }
    }

    package var isEmpty: Bool { entityTag == nil && lastModified == nil }

    /// The fields that ask whether this version is still the current one (RFC 9111, section 4.3.1). The date
    /// goes along for servers that do not know entity tags; those that do will not look at it.
    package var conditions: HTTPFields {
        var fields = HTTPFields()
        if let entityTag { fields.append("If-None-Match", entityTag.text) }
        if let lastModified { fields.append("If-Modified-Since", lastModified) }
        return fields
    }

    /// Whether a 304 with this validator may confirm the stored response that it is asked of: one that names
    /// another version must not (RFC 9111, section 4.3.4). One that names none speaks of the only one that we
    /// asked for. A tag may be weak for one and strong for the other: servers that make bodies small on the way mark
    /// those alone as weak, and a 304 has none.
    package func confirms(_ stored: Validator) -> Bool {
        if let entityTag {
            guard let storedTag = stored.entityTag else { return false }
            return entityTag.matchesWeakly(storedTag)
        }
        guard let lastModified, let storedDate = stored.lastModified else { return true }
        return Self.isSameDate(lastModified, storedDate)
    }

    /// Whether both name the same version: by their entity tags where both have one, else by their dates.
    /// False when they have nothing in common to compare.
    package func isSameVersion(as other: Validator) -> Bool {
        if let entityTag, let otherTag = other.entityTag { return entityTag.matchesWeakly(otherTag) }
        guard let lastModified, let otherDate = other.lastModified else { return false }
        return Self.isSameDate(lastModified, otherDate)
    }

    /// Dates in different forms can be the same, and what is no date is still equal to itself.
    static func isSameDate(_ left: String, _ right: String) -> Bool {
        if left == right { return true }
        guard let left = HTTPDate(left), let right = HTTPDate(right) else { return false }
        return left == right
    }
}

/// What an answer to an unsafe request makes doubtful (RFC 9111, section 4.4).
package enum Invalidation {
    /// The URLs whose stored responses must be asked about before they are used again: that of the request,
    /// and those that `Location` and `Content-Location` name on the same origin, so that nobody can empty
    /// another's cache. None after an error, or when the method changes nothing.
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
