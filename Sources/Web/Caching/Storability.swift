/// Whether a response may be stored (RFC 9111, section 3), and if not, why not.
package enum Storability: Sendable, Equatable {
    case storable(StoragePolicy)
    case refused(Refusal)

    package enum Refusal: String, Sendable, CaseIterable {
        /// Only answers to GET are, those to POST that say how long they are good and that they are what a
        /// GET would get, and those to recorded requests.
        case method
        /// Interim, or one that has nothing of its own to say: 304, 412, 416.
        case status
        /// `must-understand`, and we do not.
        case notUnderstood = "not-understood"
        case requestNoStore = "request-no-store"
        case noStore = "no-store"
        case isPrivate = "private"
        /// The request was someone's, and the server does not say that the answer is everyone's (section
        /// 3.5).
        case authorization
        /// Part of a body, where parts are not kept, or several at once.
        case part
        /// The status code asks for a word of permission, and there is none.
        case notStated = "not-stated"
        case rule
        /// The user's inspection found that it is not what it claims to be.
        case inspection
    }

    package var isStorable: Bool {
        switch self {
        case .storable: true
        case .refused: false
        }
    }

    /// Judges a response by its head. A storage policy that a rule of the user forces outweighs the wishes of
    /// server and client, but makes nobody's answer another's, and stores nothing that could not be used.
    package static func judge(
        _ request: CacheRequest, status: Int, fields: HTTPFields, profile: CacheProfile,
        forced: StoragePolicy? = nil
    ) -> Storability {
        if forced == .notAllowed { return .refused(.rule) }
        // What only says that a condition or a range was not met is no answer for others (RFC 9110, section
        // 13.1).
        guard (200...599).contains(status), ![304, 412, 416].contains(status) else {
            return .refused(.status)
        }
        guard status != 206 || (profile.storesParts && isOnePart(fields)) else { return .refused(.part) }
        let directives = CacheDirectives.effective(of: fields, for: profile).directives
        guard suits(request, fields, directives, profile) else { return .refused(.method) }
        if profile.kind == .shared {
            if directives.isPrivate == .everything { return .refused(.isPrivate) }
            if request.fields.contains("Authorization"), !isEveryones(directives) {
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
            // Whoever understands it is to overlook the `no-store` that is meant for the others (section
            // 5.2.2.3).
            guard CacheStatus.isUnderstood(status) else { return .notUnderstood }
        } else if directives.noStore {
            return .noStore
        }
        let isStated =
            directives.isPublic || directives.isPrivate == .everything || directives.maxAge != nil
            || (profile.kind == .shared && directives.sharedMaxAge != nil) || fields.contains("Expires")
        return isStated || CacheStatus.isCacheableByDefault(status) ? nil : .notStated
    }

    /// RFC 9110, section 9.3.3, for POST; what HEAD brings has no body to keep.
    private static func suits(
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

    /// RFC 9111, section 3.5.
    private static func isEveryones(_ directives: CacheDirectives) -> Bool {
        directives.isPublic || directives.mustRevalidate || directives.sharedMaxAge != nil
    }
}

extension HTTPFields {
    /// Those that speak of one connection, or of the proxy next to us (RFC 9110, section 7.6.1; RFC 9111,
    /// section 3.1).
    private static let connectionFields: FieldNames = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
        "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    /// Without the fields that end with the connection, those that `Connection` names included.
    package var withoutConnectionFields: HTTPFields { removing(namesOfConnection) }

    /// What `Connection` names is added where there is such a field: `close` and `keep-alive` name none, as a
    /// rule.
    private var namesOfConnection: FieldNames {
        // Nearly every message has no such field, or this one.
        guard let value = combined("Connection"), !HTTPGrammar.matches(value, "keep-alive") else {
            return Self.connectionFields
        }
        return Self.connectionFields.adding(listed("Connection").filter(contains))
    }

    /// What may be stored of a response's fields: no field of the connection, and none that `no-cache` or, in
    /// a shared cache, `private` lists (RFC 9111, sections 3.1, 5.2.2.4 and 5.2.2.7).
    package func storable(in profile: CacheProfile) -> HTTPFields {
        var names = namesOfConnection
        let directives = CacheDirectives.effective(of: self, for: profile).directives
        if case .fields(let listed)? = directives.noCache { names = names.adding(listed) }
        if profile.kind == .shared, case .fields(let listed)? = directives.isPrivate {
            names = names.adding(listed)
        }
        return removing(names)
    }

    /// Those that describe the body as it is stored, which a head without that body must not change (RFC
    /// 9111, section 3.2): its length, its coding, the part of the whole that it is, and the digests of its
    /// bytes.
    private static let bodyFields: FieldNames = [
        "content-length", "content-encoding", "content-range", "content-digest", "content-md5", "digest",
    ]

    /// Stored fields, brought up to date by those of a 304 or of a HEAD's answer: each field that came
    /// replaces the stored ones of its name, the others stay.
    package func updated(by newer: HTTPFields, in profile: CacheProfile) -> HTTPFields {
        var changes = newer.storable(in: profile).removing(Self.bodyFields)
        // What is held may be another body than the one that the strong tag is for.
        if let own = entityTag, own.isWeak, let tag = newer.entityTag, !tag.isWeak, tag.matchesWeakly(own) {
            changes.remove("ETag")
        }
        var rest = changes.list
        var updated: [Field] = []
        updated.reserveCapacity(list.count + rest.count)
        // In the order in which they stood. An age belongs to the message that it came with.
        for held in list where !HTTPGrammar.matches(held.name, "Age") {
            let new = rest.filter { HTTPGrammar.matches($0.name, held.name) }
            if !new.isEmpty {
                updated += new
                rest.removeAll { HTTPGrammar.matches($0.name, held.name) }
            } else if !changes.list.contains(where: { HTTPGrammar.matches($0.name, held.name) }) {
                updated.append(held)
            }
        }
        return HTTPFields(updated + rest)
    }

    /// The names that a field lists, in lower case.
    private func listed(_ name: String) -> [String] { elements(name).map { HTTPGrammar.lowercased($0.utf8) } }

    package func removing(_ names: FieldNames) -> HTTPFields {
        guard list.contains(where: { names.contains($0.name) }) else { return self }
        return HTTPFields(list.filter { !names.contains($0.name) })
    }
}

/// Where a response may be kept. The names are those of NSURLCache.StoragePolicy.
package enum StoragePolicy: String, Sendable, CaseIterable {
    case allowed
    /// Gone when the program ends.
    case memoryOnly = "memory-only"
    case notAllowed = "not-allowed"
}

// MARK: - CacheStatus

/// What caches need to know of status codes.
package enum CacheStatus {
    /// RFC 9110, section 15.1: those whose responses may be kept without any word about it.
    package static func isCacheableByDefault(_ status: Int) -> Bool {
        switch status {
        case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// Whether we know what the code demands of caches, which `must-understand` asks.
    package static func isUnderstood(_ status: Int) -> Bool {
        switch status {
        case 200...206, 300...303, 305, 307, 308, 400...417, 421...426, 428, 429, 431, 451, 500...506, 511:
            true
        default: false
        }
    }

    /// Whether the server, or something on the way, was not able to answer (RFC 5861, section 4).
    package static func isServerFailure(_ status: Int) -> Bool {
        switch status {
        case 500, 502, 503, 504: true
        default: false
        }
    }

    /// Whether the code speaks of the moment and not of the resource, so that what was stored before is worth
    /// more.
    package static func isPassing(_ status: Int) -> Bool {
        switch status {
        case 408, 425, 429, 500...599: true
        default: false
        }
    }
}
