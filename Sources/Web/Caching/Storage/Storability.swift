/// Whether a response may be stored (RFC 9111, section 3), and if not, why not.
package enum Storability: Sendable, Equatable {
    case storable(StoragePolicy)
    case refused(Refusal)

    package enum Refusal: String, Sendable, CaseIterable {
        /// Only answers to GET are, those to POST that say how long they are good and that they are what a GET would get,
        /// and those to recorded requests.
        case method
        /// Interim, or one that has nothing of its own to say: 304, 412, 416.
        case status
        /// `must-understand`, and we do not.
        case notUnderstood = "not-understood"
        case requestNoStore = "request-no-store"
        case noStore = "no-store"
        case isPrivate = "private"
        /// The request was someone's, and the server does not say that the answer is everyone's (section 3.5).
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

    /// Judges a response by its head. A storage policy that a rule of the user forces outweighs the wishes of server and
    /// client, but makes nobody's answer another's, and stores nothing that could not be used.
    package static func judge(
        _ request: CacheRequest, status: Int, fields: HTTPFields, profile: CacheProfile,
        forced: StoragePolicy? = nil
    ) -> Storability {
        if forced == .notAllowed { return .refused(.rule) }
        // What only says that a condition or a range was not met is no answer for others (RFC 9110, section 13.1).
        guard (200...599).contains(status), ![304, 412, 416].contains(status) else { return .refused(.status) }
        guard status != 206 || (profile.storesParts && isOnePart(fields)) else { return .refused(.part) }
        let directives = CacheDirectives.effective(of: fields, for: profile).directives
        guard suits(request, fields, directives, profile) else { return .refused(.method) }
        if profile.kind == .shared {
            if directives.isPrivate == .everything { return .refused(.isPrivate) }
            if request.fields.contains("Authorization"), !isEveryones(directives) { return .refused(.authorization) }
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
            // Whoever understands it is to overlook the `no-store` that is meant for the others (section 5.2.2.3).
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
