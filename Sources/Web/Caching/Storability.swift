/// Whether a response may be stored (RFC 9111, section 3), and if not, the reason.
enum Storability: Sendable, Equatable {
    case storable(StoragePolicy)
    case refused(Refusal)

    /// The reason not to store a response.
    enum Refusal: String, Sendable, CaseIterable {
        /// The method is not GET. A response to POST may be stored if it has a lifetime and its
        /// `Content-Location` is the URL of the request. Responses to recorded requests may always be stored.
        case method
        /// An interim status, or one that depends on the request's conditions or range: 304, 412, 416.
        case status
        /// `must-understand`, with a status that Larder does not know.
        case notUnderstood = "not-understood"
        case requestNoStore = "request-no-store"
        case noStore = "no-store"
        case isPrivate = "private"
        /// The request had credentials, and the server does not say that the response may be shared (section
        /// 3.5).
        case authorization
        /// A part of a body in a cache that does not store parts, or several parts at once.
        case part
        /// The status is not cacheable by default, and the response does not permit storing.
        case notStated = "not-stated"
        case rule
        /// The user's inspection rejected the response.
        case inspection
    }

    var isStorable: Bool {
        switch self {
        case .storable: true
        case .refused: false
        }
    }

    /// Decides by the head of a response. A storage policy that a rule of the user forces overrides the
    /// directives of server and client. It does not make private responses shared or store responses that
    /// cannot be used.
    static func judge(
        _ request: CacheRequest, status: Int, fields: HTTPFields, profile: CacheProfile,
        forced: StoragePolicy? = nil
    ) -> Storability {
        if forced == .notAllowed { return .refused(.rule) }
        // A response that only says that a condition or a range was not met cannot be reused (RFC 9110,
        // section 13.1).
        guard (200...599).contains(status), ![304, 412, 416].contains(status) else {
            return .refused(.status)
        }
        guard status != 206 || (profile.storesParts && isOnePart(fields)) else { return .refused(.part) }
        let directives = CacheDirectives.effective(of: fields, for: profile).directives
        guard isMethodStorable(request, fields, directives, profile) else { return .refused(.method) }
        if profile.kind == .shared {
            if directives.isPrivate == .wholeResponse { return .refused(.isPrivate) }
            if request.fields.contains("Authorization"), !allowsSharing(directives) {
                return .refused(.authorization)
            }
        }
        if let forced { return .storable(forced) }
        if let refusal = refusal(request, status, fields, directives, profile) { return .refused(refusal) }
        return .storable(.allowed)
    }

    private static func refusal(
        _ request: CacheRequest, _ status: Int, _ fields: HTTPFields, _ directives: CacheDirectives,
        _ profile: CacheProfile
    ) -> Refusal? {
        if request.directives.noStore { return .requestNoStore }
        if directives.mustUnderstand {
            // A cache that understands the status must ignore `no-store`, which is for the others (section
            // 5.2.2.3).
            guard CacheStatus.isUnderstood(status) else { return .notUnderstood }
        } else if directives.noStore {
            return .noStore
        }
        let isStated =
            directives.isPublic || directives.isPrivate == .wholeResponse || directives.maxAge != nil
            || (profile.kind == .shared && directives.sharedMaxAge != nil) || fields.contains("Expires")
        return isStated || CacheStatus.isCacheableByDefault(status) ? nil : .notStated
    }

    /// Whether responses to the request's method may be stored. For POST, see RFC 9110, section 9.3.3; a
    /// response to HEAD has no body to store.
    private static func isMethodStorable(
        _ request: CacheRequest, _ fields: HTTPFields, _ directives: CacheDirectives, _ profile: CacheProfile
    ) -> Bool {
        if request.isRecorded { return true }
        switch request.method {
        case .get: return true
        case .post:
            let isStated =
                directives.maxAge != nil || fields.contains("Expires")
                || (profile.kind == .shared && directives.sharedMaxAge != nil)
            let place = fields["Content-Location"].flatMap { WebURL($0, base: request.url) }
            return isStated && place?.withoutFragment == request.url.withoutFragment
        case .head, .safe, .unsafe: return false
        }
    }

    private static func isOnePart(_ fields: HTTPFields) -> Bool {
        fields["Content-Range"].flatMap { ContentRange($0) }?.range != nil
    }

    /// Whether a shared cache may store a response to a request with `Authorization` (RFC 9111, section 3.5).
    private static func allowsSharing(_ directives: CacheDirectives) -> Bool {
        directives.isPublic || directives.mustRevalidate || directives.sharedMaxAge != nil
    }
}

extension HTTPFields {
    /// The fields that concern only a connection or the next proxy (RFC 9110, section 7.6.1; RFC 9111,
    /// section 3.1).
    private static let connectionFields: FieldNames = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
        "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    /// The fields without those of the connection, including the ones that `Connection` lists.
    package var withoutConnectionFields: HTTPFields { removing(connectionFieldNames) }

    /// The names of the fields of the connection, including those in `Connection` that occur. Its usual
    /// values, `close` and `keep-alive`, are not names of fields.
    private var connectionFieldNames: FieldNames {
        // A fast path: nearly all messages have no such field, or this one.
        guard let value = joinedValues("Connection"), !HTTPGrammar.matches(value, "keep-alive") else {
            return Self.connectionFields
        }
        return Self.connectionFields.adding(namesListed(in: "Connection").filter(contains))
    }

    /// The fields that may be stored: without those of the connection, and without those that `no-cache` or,
    /// in a shared cache, `private` lists (RFC 9111, sections 3.1, 5.2.2.4 and 5.2.2.7).
    package func storable(in profile: CacheProfile) -> HTTPFields {
        var names = connectionFieldNames
        let directives = CacheDirectives.effective(of: self, for: profile).directives
        if case .fields(let listed)? = directives.noCache { names = names.adding(listed) }
        if profile.kind == .shared, case .fields(let listed)? = directives.isPrivate {
            names = names.adding(listed)
        }
        return removing(names)
    }

    /// The fields that describe the stored body, which a response without that body must not change (RFC
    /// 9111, section 3.2): its length, coding, range and digests.
    private static let bodyFields: FieldNames = [
        "content-length", "content-encoding", "content-range", "content-digest", "content-md5", "digest",
    ]

    /// The stored fields, updated by those of a 304 or of a response to HEAD: each new field replaces all
    /// stored ones of its name.
    package func updating(with newer: HTTPFields, in profile: CacheProfile) -> HTTPFields {
        var changes = newer.storable(in: profile).removing(Self.bodyFields)
        // The stored body may differ in its bytes from the one that the strong tag is for.
        if let own = entityTag, own.isWeak, let tag = newer.entityTag, !tag.isWeak, tag.matchesWeakly(own) {
            changes.remove("ETag")
        }
        var rest = changes.list
        var updated: [Field] = []
        updated.reserveCapacity(list.count + rest.count)
        // Keeps the order of the stored fields. Drops `Age`, which belongs to the message that contained it.
        for stored in list where !HTTPGrammar.matches(stored.name, "Age") {
            let new = rest.filter { HTTPGrammar.matches($0.name, stored.name) }
            if !new.isEmpty {
                updated += new
                rest.removeAll { HTTPGrammar.matches($0.name, stored.name) }
            } else if !changes.list.contains(where: { HTTPGrammar.matches($0.name, stored.name) }) {
                updated.append(stored)
            }
        }
        return HTTPFields(updated + rest)
    }

    /// The names in a field that is a list, in lower case.
    private func namesListed(in name: String) -> [String] {
        elements(name).map { HTTPGrammar.lowercased($0.utf8) }
    }

    package func removing(_ names: FieldNames) -> HTTPFields {
        guard list.contains(where: { names.contains($0.name) }) else { return self }
        return HTTPFields(list.filter { !names.contains($0.name) })
    }
}

/// The places where a response may be stored. The names are those of `NSURLCache.StoragePolicy`.
package enum StoragePolicy: String, Sendable, CaseIterable {
    case allowed
    /// In memory, until the program ends.
    case memoryOnly = "memory-only"
    case notAllowed = "not-allowed"
}

// MARK: - CacheStatus

/// Properties of status codes that matter to caches.
package enum CacheStatus {
    /// Whether responses with this status may be stored without explicit permission (RFC 9110, section 15.1).
    static func isCacheableByDefault(_ status: Int) -> Bool {
        switch status {
        case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// Whether Larder knows the caching rules of a status, as `must-understand` requires.
    static func isUnderstood(_ status: Int) -> Bool {
        switch status {
        case 200...206, 300...303, 305, 307, 308, 400...417, 421...426, 428, 429, 431, 451, 500...506, 511:
            true
        default: false
        }
    }

    /// Whether the server or an intermediary failed to respond (RFC 5861, section 4).
    package static func isServerFailure(_ status: Int) -> Bool {
        switch status {
        case 500, 502, 503, 504: true
        default: false
        }
    }

    /// Whether the status describes a temporary condition instead of the resource, so that it must not
    /// replace a stored response.
    package static func isTemporary(_ status: Int) -> Bool {
        switch status {
        case 408, 425, 429, 500...599: true
        default: false
        }
    }
}
