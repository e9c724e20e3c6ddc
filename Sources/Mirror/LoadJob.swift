internal import Bundles
package import HTTPServer
internal import Origins
internal import Portal
package import Store
package import Web

/// A request that is to be sent to an origin, with all that is needed to judge and store the response.
///
/// A job is a value: it outlives the client's request, whose thread does not wait, and is used on the threads of the
/// loader. `CacheExchange` makes it, `upstream` is the request for the origin, and the decisions about the response are in
/// the second extension.
struct LoadJob: Sendable {
    let policy: CachePolicy
    let method: String
    let request: CacheRequest
    let rules: CacheRules
    /// The key under which the response is stored.
    let key: RequestKey
    let body: [UInt8]
    /// The stored response for the request: as stored on disk, as stored in memory, and as the policies see
    /// it.
    let stored: StoredResponse?
    let memoryResponse: MemoryResponse?
    let entry: CacheEntry?
    /// The header fields that the cache policy adds to the request, usually conditions.
    var additional: HTTPFields
    /// Whether the request keeps the client's own range (`keepsRange`) and conditions (`keepsConditions`).
    var keepsRange: Bool
    var keepsConditions: Bool
    let layout: OriginLayout
    /// Hashes the secrets of the request for the store.
    let secrets: SecretHasher
    let shim: Shim?
    let verifier: BodyVerifier
    /// The nearest network zone that the request may connect to.
    let nearestZone: NetworkZone
    /// Whether the request may carry the user's credentials, because it was not sent by another site's page.
    let canSendCredentials: Bool
    /// The bundle whose digests an active manifest requires of the response.
    let required: Bundle?
    /// Whether the request is for the server as a whole (`*`) and not for a URL.
    let isServerWide: Bool
    /// Receives the interim responses of the server.
    var interim: (@Sendable (_ status: Int, _ fields: HTTPFields) -> Void)?
    /// Receives the response while it arrives, if it can be streamed.
    var stream: ReplyStream?
    /// The state of the changes at the URL when the origin was asked; nil if they are not tracked.
    var changeStamp: ChangedURLs.RequestStamp?
    /// Called with the reason if a response that the client already received could not be stored.
    var isLost: (@Sendable (_ why: String) -> Void)?

    /// Whether the client sent the server a header field that may be a secret.
    var hasCredentials: Bool { RequestSecrets.canOccur(in: sentFields) }

    /// The client's fields without those for this connection, such as a password for this proxy.
    private var sentFields: HTTPFields { request.fields.withoutConnectionFields }

    /// Whether the request is for the missing rest of a partly stored body.
    var isCompletion: Bool { additional.contains("Range") }

    /// Whether the request had a condition of Larder, so that a 304 confirms the stored response.
    var wasConditional: Bool {
        additional.contains("If-None-Match") || additional.contains("If-Modified-Since")
    }

    /// The request to the origin. It contains none of the mirror's own addresses, which
    /// ``RequestContext/restoreOriginalHeaders(in:to:page:layout:)`` replaced.
    ///
    /// - Parameter upstreamFields: The job's `upstreamFields`.
    func upstream(_ upstreamFields: HTTPFields) -> LoadRequest {
        var fields = upstreamFields
        let codings = layout.isTransparent ? fields["Accept-Encoding"] ?? "" : nil
        if layout.isTransparent { fields = ProxyHop.forwardedFields(fields, method: method) }
        fields = fields.removing(Self.mirrorFields)
        if !layout.isTransparent { fields.removePortalCookies() }
        // A part of an encoded body could not be decoded.
        if fields.contains("Range") { fields.set("Accept-Encoding", "identity") }
        // Where all origins share one name, they share the browser's cookies, which are those of the site at
        // the root.
        if layout.sharesRootHost(request.url) {
            fields.remove("Cookie")
            fields.remove("Authorization")
        }
        return LoadRequest(
            method: method, url: request.url, fields: fields, body: body, nearestZone: nearestZone,
            isAnonymous: !canSendCredentials, isServerWide: isServerWide, codings: codings, interim: interim,
            stream: stream)
    }

    /// The header fields for the origin, before Larder's own fields are removed.
    var upstreamFields: HTTPFields {
        request.upstreamFields(additional, keepingRange: keepsRange, keepingConditions: keepsConditions)
    }

    /// Fields of the client that are not for the origin: they are about the connection to Larder, or are set anew.
    private static let mirrorFields: FieldNames = [
        "host", "larder-policy", "accept-encoding", "content-length", "expect",
        // A body in a coding with the client's dictionary could not be decoded here.
        "available-dictionary", "dictionary-id",
    ]

    /// A key that is equal for requests that can share one response. Nil for requests that may have an effect
    /// each time they are sent.
    ///
    /// - Parameter upstreamFields: The job's `upstreamFields`.
    func sharingKey(_ upstreamFields: HTTPFields) -> String? {
        guard request.method.isRead, body.isEmpty else { return nil }
        var key = ""
        key.reserveCapacity(256)
        key += policy.rawValue
        for word in [method, request.url.href, layout.authority ?? "", layout.folder] {
            key += " "
            key += word
        }
        key += canSendCredentials ? " near " : " "
        key += String(nearestZone.rawValue)
        key += " "
        key += String(changeStamp?.number ?? 0)
        key += "\n"
        upstreamFields.appendBlock(to: &key)
        return key
    }

    /// The same job, but requesting the whole response without conditions and without streaming.
    var unconditional: LoadJob {
        var job = self
        job.additional = [:]
        (job.keepsRange, job.keepsConditions) = (false, false)
        job.stream = nil
        return job
    }
}

/// Decisions about the response. They are pure: `LoadedResponseHandler` carries them out.
extension LoadJob {
    /// Decides by the policy and RFC 9111 whether the response is stored, and which response the client gets.
    func conclusion(of outcome: LoadOutcome, _ profile: CacheProfile, _ now: HTTPDate) -> CacheConclusion {
        let answered: CacheOutcome =
            switch outcome {
            case .failure, .passedOn: .unreachable
            case .response(let response):
                .answered(
                    OriginResponse(
                        status: response.status, fields: response.fields, requestTime: response.requestTime,
                        responseTime: response.responseTime))
            }
        var conclusion = policy.conclusion(
            of: answered, for: request, entry: entry, wasConditional: wasConditional, profile: profile,
            rules: rules, now: now)
        // RFC 9111 §4.4: the answer may be from before the change.
        if request.method.isRead, changeStamp?.isOutdated == true {
            conclusion.change.invalidate()
        }
        return conclusion
    }

    /// Whether the response may be stored. On a server that other machines reach, clients share stored
    /// responses: a private response that would not be served must not replace one that is, and the response
    /// to a request other than GET with credentials is for its own client only.
    func canStore(_ fields: HTTPFields) -> Bool {
        if isStoredForUser { return false }
        if layout.withholdsPrivate, isCredentialed(fields) { return false }
        return key == .get || !layout.sharesOrigin || !hasCredentials
    }

    /// Whether the stored response was fetched with the user's credentials, and the request is sent without
    /// them. Its response is for everybody, and must not replace the user's.
    var isStoredForUser: Bool {
        !canSendCredentials && (stored?.flags.contains(.isPrivate) ?? memoryResponse?.isPrivate ?? false)
    }

    /// Whether the stored response redirects to the same location as the new one.
    func redirectsLikeStored(_ response: LoadedResponse) -> Bool {
        guard let stored, let location = response.fields["Location"] else { return false }
        return HTTPFields(block: stored.fields.utf8.span)["Location"] == location
    }

    /// Whether the response may be stored: it is not a stand-in such as a login page, and the user's rules
    /// accept it.
    func accepts(_ response: LoadedResponse, _ bytes: [UInt8], byteCount: Int? = nil) -> Bool {
        // Only the user's rules look into the body.
        let isRead = !rules.acceptsEverything
        let subject = ResponseInspection.Subject(
            url: request.url, status: response.status, fields: response.fields,
            beginning: isRead ? Array(bytes.prefix(4096)) : [])
        guard ResponseInspection.rejectingHTMLStandIns.accepts(subject) else { return false }
        return !isRead || rules.rejection(of: subject, byteCount: byteCount ?? bytes.count) == nil
    }

    /// The response as it is stored in memory.
    func memoryResponse(_ entry: CacheEntry, _ body: MemoryResponse.Body, _ flags: ResponseFlags)
        -> MemoryResponse
    {
        MemoryResponse(
            href: request.url.withoutFragment.href, request: key, variant: variant(of: entry), entry: entry,
            body: body, isPrivate: isPrivate(entry.fields), flags: flags)
    }

    /// The values of this request's fields that the response varies by; `VaryKey.never` if it matches no other request.
    func variant(of entry: CacheEntry) -> String {
        VaryKey(decoded: entry.fields, request: request.fields, secrets: secrets)?.text ?? VaryKey.never
    }

    /// Whether the response belongs to the client whose credentials its request carried. It does not if the
    /// server declares it public, or if another site's page requested it and the response has no CORS header.
    ///
    /// - Parameter hasCredentials: the loader sent credentials of its own, such as its cookies.
    func isPrivate(_ fields: HTTPFields, hasCredentials: Bool = false) -> Bool {
        isCredentialed(fields, hasCredentials: hasCredentials)
            && (canSendCredentials || fields.contains("Access-Control-Allow-Origin"))
    }

    /// Whether the response may be personal because of the credentials that its request carried (RFC 9111 3.5).
    private func isCredentialed(_ fields: HTTPFields, hasCredentials: Bool = false) -> Bool {
        if RequestSecrets.isPrivate(fields, to: sentFields) { return true }
        return hasCredentials
            && !fields.elements("Cache-Control").contains { HTTPGrammar.matches($0, "public") }
    }
}

extension HTTPFields {
    /// Removes the portal's session cookies. Browsers send cookies to all ports of a host name, so that a
    /// mirrored origin's requests may contain them.
    fileprivate mutating func removePortalCookies() {
        guard contains("Cookie") else { return }
        let cookies = all("Cookie").joined(separator: "; ").split(separator: ";").map {
            $0.drop { $0 == " " }
        }
        let kept = cookies.filter { !PortalGuard.isPortal(cookie: $0.prefix { $0 != "=" }) }
        guard kept.count < cookies.count else { return }
        remove("Cookie")
        if !kept.isEmpty { append("Cookie", kept.joined(separator: "; ")) }
    }

    /// The `Set-Cookie` header lines for the client whose request was answered, each with its CRLF.
    var cookieLines: [UInt8] {
        HTTPGrammar.bytes(of: all("Set-Cookie").map { "Set-Cookie: \($0)\r\n" }.joined())
    }
}

/// A request to an origin on behalf of a client.
package struct LoadRequest: Sendable {
    package let method: String
    package let url: WebURL
    package let fields: HTTPFields
    package let body: [UInt8]
    /// The nearest network zone that the request may connect to.
    package let nearestZone: NetworkZone
    /// Whether none of the user's stored credentials are sent, because another site's page made the request.
    package let isAnonymous: Bool
    /// Whether the request target is `*` (RFC 9112 §3.2.4) in place of the URL.
    package var isServerWide = false
    /// The codings that the requester accepts (`Accept-Encoding`). Only these are requested, and an encoded
    /// body is not decoded. Nil to request all codings that Larder can decode.
    package var codings: String?
    /// Receives interim responses, such as 103 Early Hints; nil to ignore them.
    package var interim: (@Sendable (_ status: Int, _ fields: HTTPFields) -> Void)?
    /// Receives the response while it arrives; nil to get it as a whole.
    package var stream: (any LoadStream)?
}

/// A complete response from an origin, usually with its content coding decoded (see `isCoded`).
package struct LoadedResponse: Sendable {
    package let status: Int
    package let fields: HTTPFields
    /// The body. If it is a file, the receiver of the response owns the file.
    package let body: BodyContent
    package let requestTime: HTTPDate
    package let responseTime: HTTPDate
    /// The network zone that the response came from, and whether credentials were sent.
    package let flags: ResponseFlags
    /// How the end of the body was determined.
    package let ending: ResponseSummary.Ending

    /// Whether the body is still in its content coding.
    var isCoded: Bool { flags.contains(.isCoded) }

    package init(
        status: Int, fields: HTTPFields, body: BodyContent, requestTime: HTTPDate, responseTime: HTTPDate,
        flags: ResponseFlags = [], ending: ResponseSummary.Ending = .declared
    ) {
        self.flags = flags
        self.ending = ending
        self.status = status
        self.fields = fields
        self.body = body
        self.requestTime = requestTime
        self.responseTime = responseTime
    }
}

/// The result of a request to an origin.
package enum LoadOutcome: Sendable {
    case response(LoadedResponse)
    /// No complete response was received, for the given reason.
    case failure(String)
    /// The request's stream received the whole response. The string says why it is not available here.
    case passedOn(String)
}

/// Sends a request to an origin without blocking the caller, and completes exactly once, on any thread.
package typealias Load = @Sendable (LoadRequest, @escaping @Sendable (LoadOutcome) -> Void) -> Void

/// A loader that belongs to one thread of a server.
package protocol ThreadLoader: SideWork {
    /// Sends a request without blocking, like `Load`.
    func load(_ request: LoadRequest, done: @escaping @Sendable (LoadOutcome) -> Void)
}

/// The CORS preflight that a browser would send before a page's request to another origin, if the two origins
/// did not share one name.
struct Preflight: Sendable {
    let request: LoadRequest
    private let method: String
    /// Names of the request's fields that need permission, in lowercase and sorted, as browsers send them.
    private let names: [String]
    /// The origin of the requesting page.
    private let origin: String

    /// Makes the preflight, or nil if a browser would not send one.
    ///
    /// - Parameter fields: The fields as they are sent to the origin.
    init?(
        _ method: String, _ fields: HTTPFields, to url: WebURL, context: RequestContext, layout: OriginLayout,
        nearestZone: NetworkZone
    ) {
        guard layout.sharesRootHost(url), !context.use.makesDocument,
            case .page(let origins) = context.kind, origins == layout.root?.origins
        else { return nil }
        names = fields.list.map { HTTPGrammar.lowercased($0.name.utf8) }.filter { name in
            !Self.isBrowsers(name) && !Self.isSafe(name, fields)
        }.sorted()
        guard !names.isEmpty || !["GET", "HEAD", "POST"].contains(method) else { return nil }
        self.method = method
        origin = fields["Origin"] ?? origins[0]
        var preflightFields: HTTPFields = [
            "Origin": origin, "Access-Control-Request-Method": method, "Sec-Fetch-Mode": "cors",
            "Sec-Fetch-Dest": "empty",
        ]
        if let site = fields["Sec-Fetch-Site"] { preflightFields.set("Sec-Fetch-Site", site) }
        for name in ["User-Agent", "Referer"] {
            if let value = fields[name] { preflightFields.set(name, value) }
        }
        if !names.isEmpty {
            preflightFields.set("Access-Control-Request-Headers", names.joined(separator: ","))
        }
        request = LoadRequest(
            method: "OPTIONS", url: url, fields: preflightFields, body: [], nearestZone: nearestZone,
            isAnonymous: true)
    }

    /// Whether the response allows the request without credentials (Fetch, section 4.8).
    func isPassed(by outcome: LoadOutcome) -> Bool {
        guard case .response(let response) = outcome, (200...299).contains(response.status) else {
            return false
        }
        let fields = response.fields
        let allowed = fields.all("Access-Control-Allow-Origin")
        guard allowed == ["*"] || allowed == [origin] else { return false }
        let methods = fields.elements("Access-Control-Allow-Methods").map { String($0) }
        let known = fields.elements("Access-Control-Allow-Headers").map { HTTPGrammar.lowercased($0.utf8) }
        return
            (["GET", "HEAD", "POST"].contains(method) || methods.contains(method) || methods.contains("*"))
            && names.allSatisfy { known.contains($0) || $0 != "authorization" && known.contains("*") }
    }

    /// Whether scripts may send the field to other origins without a preflight.
    private static func isSafe(_ name: String, _ fields: HTTPFields) -> Bool {
        switch name {
        case "accept", "accept-language", "content-language", "range", "last-event-id": true
        case "content-type":
            ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"]
                .contains(fields.contentType?.essence)
        default: false
        }
    }

    /// Whether browsers set the field themselves.
    private static func isBrowsers(_ name: String) -> Bool {
        name.hasPrefix("sec-") || name.hasPrefix("if-")
            || [
                "host", "origin", "referer", "user-agent", "connection", "cookie", "accept-encoding",
                "content-length",
                "cache-control", "pragma", "priority", "upgrade-insecure-requests", "dnt", "te",
                "transfer-encoding",
                "expect", "keep-alive", "save-data", "purpose",
            ].contains(name)
    }
}
