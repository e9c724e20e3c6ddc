internal import Bundles
package import Store
package import Web

/// A request that a server is to be asked about.
struct LoadJob: Sendable {
    let policy: CachePolicy
    let method: String
    let request: CacheRequest
    let rules: CacheRules
    /// Under which the answer is kept.
    let key: RequestKey
    let body: [UInt8]
    /// What is held for the request, and as the policies see it.
    let held: StoredResponse?
    let shelved: ShelvedCopy?
    let entry: CacheEntry?
    /// What the action adds to the request: conditions, as a rule.
    var additional: HTTPFields
    /// Whether the server is asked by the client's own range, and by its own conditions.
    var keepsRange: Bool
    var keepsConditions: Bool
    let layout: OriginLayout
    /// Hashes the secrets of the request for the store.
    let secrets: SecretHasher
    let shim: Shim?
    let verifier: BodyVerifier
    /// The nearest network zone that the request may connect to.
    let nearestZone: NetworkZone
    /// No other site's page asks: what is known of the user there may be told.
    let isNear: Bool
    /// What a manifest in force requires of what comes.
    let required: Bundle?
    /// For what the server can do, whatever the URL.
    let asksWholeServer: Bool
    /// Told what the server says before its answer.
    var interim: (@Sendable (_ status: Int, _ fields: HTTPFields) -> Void)?
    /// Gets the answer while it comes, where that is possible.
    var stream: ReplyStream?
    /// What had been changed at its URL when its server was asked; nil where nobody counts.
    var stage: ChangedURLs.Stage?
    /// Told why what its client has could not be kept after all.
    var isLost: (@Sendable (_ why: String) -> Void)?

    /// Whether the client sent the server a header field that may be a secret.
    var hasCredentials: Bool { RequestSecrets.areIn(sentFields) }

    /// What of the client's fields is meant for the server: a password for this proxy is not.
    private var sentFields: HTTPFields { request.fields.withoutConnectionFields }

    /// Whether the rest is asked for of a body of which parts are held.
    var isCompletion: Bool { additional.contains("Range") }

    var wasConditional: Bool {
        additional.contains("If-None-Match") || additional.contains("If-Modified-Since")
    }

    /// The request to the origin. It contains none of the mirror's own addresses, which
    /// ``RequestContext/restoreOriginalHeaders(in:to:page:layout:)`` replaced.
    ///
    /// - Parameter upstreamFields: those of the job.
    func upstream(_ upstreamFields: HTTPFields) -> LoadRequest {
        var fields = upstreamFields
        let codings = layout.isTransparent ? fields["Accept-Encoding"] ?? "" : nil
        if layout.isTransparent { fields = ProxyHop.forwarded(fields, method: method) }
        fields = fields.removing(Self.ownFields)
        if !layout.isTransparent { fields.removePortalCookies() }
        // A part of what is coded could not be decoded.
        if fields.contains("Range") { fields.set("Accept-Encoding", "identity") }
        // Where all origins share one name, they share the browser's cookies, which are those of the site at
        // the root.
        if layout.isBesideRoot(request.url) {
            fields.remove("Cookie")
            fields.remove("Authorization")
        }
        return LoadRequest(
            method: method, url: request.url, fields: fields, body: body, nearestZone: nearestZone,
            isAnonymous: !isNear, asksWholeServer: asksWholeServer, codings: codings, interim: interim,
            stream: stream)
    }

    /// As they go to a server, but for what is the larder's own.
    var upstreamFields: HTTPFields {
        request.upstreamFields(additional, keepingRange: keepsRange, keepingConditions: keepsConditions)
    }

    private static let ownFields: FieldNames = [
        "host", "larder-policy", "accept-encoding", "content-length", "expect",
    ]

    /// Those who ask for the same get the same answer. Nil for what may do something each time that it is
    /// asked.
    ///
    /// - Parameter upstreamFields: those of the job.
    func flightKey(_ upstreamFields: HTTPFields) -> String? {
        guard request.method.isAnsweredByStored, body.isEmpty else { return nil }
        var key = ""
        key.reserveCapacity(256)
        key += policy.rawValue
        for word in [method, request.url.href, layout.authority ?? "", layout.folder] {
            key += " "
            key += word
        }
        key += isNear ? " near " : " "
        key += String(nearestZone.rawValue)
        key += " "
        key += String(stage?.number ?? 0)
        key += "\n"
        upstreamFields.appendBlock(to: &key)
        return key
    }

    /// The same, of which the whole is asked for, whatever is held.
    var unconditional: LoadJob {
        var job = self
        job.additional = [:]
        (job.keepsRange, job.keepsConditions) = (false, false)
        job.stream = nil
        return job
    }
}

/// What comes of it.
extension LoadJob {
    func conclusion(of outcome: LoadOutcome, _ profile: CacheProfile, _ now: HTTPDate) -> CacheConclusion {
        let answered: CacheOutcome =
            switch outcome {
            case .failure, .passedOn: .unreachable
            case .response(let response):
                .answered(
                    CacheAnswer(
                        status: response.status, fields: response.fields, requestTime: response.requestTime,
                        responseTime: response.responseTime))
            }
        var conclusion = policy.conclusion(
            of: answered, for: request, entry: entry, wasConditional: wasConditional, profile: profile,
            rules: rules, now: now)
        // RFC 9111 §4.4: the answer may be from before the change.
        if request.method.isAnsweredByStored, stage?.isPast == true { conclusion.change.invalidate() }
        return conclusion
    }

    /// What was said to somebody's own changes is for nobody else at the root, where everybody asks by one
    /// name; what is shown to nobody there takes the place of nothing that is.
    func mayKeep(_ fields: HTTPFields) -> Bool {
        if isHeldForUser { return false }
        if layout.withholdsPrivate, isCredentialed(fields) { return false }
        return key == .get || !layout.sharesOrigin || !hasCredentials
    }

    /// Whether the stored response was fetched with the user's credentials, and the request goes without them: its
    /// answer is for everybody, and must not replace the user's.
    var isHeldForUser: Bool {
        !isNear && (held?.flags.contains(.isPrivate) ?? shelved?.isPrivate ?? false)
    }

    /// Whether what is held leads where the answer does.
    func leads(where response: LoadedResponse) -> Bool {
        guard let held, let place = response.fields["Location"] else { return false }
        return HTTPFields(block: held.fields.utf8.span)["Location"] == place
    }

    /// Whether it is what it claims to be, and what the user wants to be kept.
    func accepts(_ response: LoadedResponse, _ bytes: [UInt8], byteCount: Int? = nil) -> Bool {
        // Only the user's rules look into the body.
        let isRead = !rules.refusesNothing
        let subject = ResponseInspection.Subject(
            url: request.url, status: response.status, fields: response.fields,
            beginning: isRead ? Array(bytes.prefix(4096)) : [])
        guard ResponseInspection.refusingStandIns.accepts(subject) else { return false }
        return !isRead || rules.refusal(of: subject, byteCount: byteCount ?? bytes.count) == nil
    }

    func shelved(_ entry: CacheEntry, _ body: ShelvedCopy.Body, _ flags: ResponseFlags) -> ShelvedCopy {
        ShelvedCopy(
            href: request.url.withoutFragment.href, request: key, variant: variant(of: entry), entry: entry,
            body: body, isPrivate: isPrivate(entry.fields), flags: flags)
    }

    func variant(of entry: CacheEntry) -> String {
        VaryKey(decoded: entry.fields, request: request.fields, secrets: secrets)?.text ?? VaryKey.never
    }

    /// Whether the response belongs to the client whose credentials its request carried. It does not if its
    /// server gives the same to everybody, or gave it to another site's page to show.
    ///
    /// - Parameter hasCredentials: the loader sent credentials of its own, such as its cookies.
    func isPrivate(_ fields: HTTPFields, hasCredentials: Bool = false) -> Bool {
        isCredentialed(fields, hasCredentials: hasCredentials)
            && (isNear || fields.contains("Access-Control-Allow-Origin"))
    }

    private func isCredentialed(_ fields: HTTPFields, hasCredentials: Bool = false) -> Bool {
        if RequestSecrets.makePrivate(fields, to: sentFields) { return true }
        return hasCredentials
            && !fields.elements("Cache-Control").contains { HTTPGrammar.matches($0, "public") }
    }
}

extension HTTPFields {
    /// Cookies belong to a name, whatever the port: those of a portal on this machine are for no mirrored server.
    fileprivate mutating func removePortalCookies() {
        guard contains("Cookie") else { return }
        let cookies = all("Cookie").joined(separator: "; ").split(separator: ";").map {
            $0.drop { $0 == " " }
        }
        let kept = cookies.filter { !PortalGuard.isSession(cookie: $0.prefix { $0 != "=" }) }
        guard kept.count < cookies.count else { return }
        remove("Cookie")
        if !kept.isEmpty { append("Cookie", kept.joined(separator: "; ")) }
    }

    /// The cookies that a server sets, as lines, for the one whose request it answered.
    var cookieLines: [UInt8] {
        HTTPGrammar.bytes(of: all("Set-Cookie").map { "Set-Cookie: \($0)\r\n" }.joined())
    }
}

/// What a server is to be asked in a client's stead.
package struct LoadRequest: Sendable {
    package let method: String
    package let url: WebURL
    package let fields: HTTPFields
    package let body: [UInt8]
    /// The nearest network zone that the request may connect to.
    package let nearestZone: NetworkZone
    /// Nothing that is kept of the user's goes along: another site's page asks.
    package let isAnonymous: Bool
    /// In the URL's place stands `*` (RFC 9112 §3.2.4).
    package var asksWholeServer = false
    /// The codings that whoever asks takes (`Accept-Encoding`): the server is asked for no others, and what
    /// it codes all the same stays as it is. Nil where the larder takes what it can undo.
    package var codings: String?
    /// To be told what comes before the answer, such as 103 Early Hints; nil where nobody wants to know.
    package var interim: (@Sendable (_ status: Int, _ fields: HTTPFields) -> Void)?
    /// To be given the answer while it comes; nil for those who take it whole.
    package var stream: (any LoadStream)?
}

/// A server's whole answer, without its content coding.
package struct LoadedResponse: Sendable {
    package let status: Int
    package let fields: HTTPFields
    /// A file belongs to whoever gets the response.
    package let body: BodyContent
    package let requestTime: HTTPDate
    package let responseTime: HTTPDate
    /// From where it came, and whether somebody's credentials were used.
    package let flags: ResponseFlags
    /// How the end of the body was told.
    package let ending: JudgedResponse.Ending

    /// The body is still in its content coding.
    var isCoded: Bool { flags.contains(.isCoded) }

    package init(
        status: Int, fields: HTTPFields, body: BodyContent, requestTime: HTTPDate, responseTime: HTTPDate,
        flags: ResponseFlags = [], ending: JudgedResponse.Ending = .declared
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

package enum LoadOutcome: Sendable {
    case response(LoadedResponse)
    /// Nothing whole came, and why.
    case failure(String)
    /// The request's stream got all of it, and why nothing of it is here.
    case passedOn(String)
}

/// Asks a server, without making the caller wait, and completes once, on whichever thread.
package typealias Load = @Sendable (LoadRequest, @escaping @Sendable (LoadOutcome) -> Void) -> Void

/// The same on the thread that it belongs to, which waits for other things, too: it calls `turn` when the
/// descriptor is readable, and when the patience is over.
package protocol OwnLoads: AnyObject {
    var descriptor: Int32 { get }
    var patience: Duration { get }
    func load(_ request: LoadRequest, done: @escaping @Sendable (LoadOutcome) -> Void)
    /// - Parameter isReadable: the descriptor is; else only what is due is done.
    func turn(isReadable: Bool)
    /// Ends what is under way.
    func stop()
}

/// The CORS preflight that a browser would send before a page's request to another origin, if the two origins
/// did not share one name.
struct Preflight: Sendable {
    let request: LoadRequest
    private let method: String
    private let names: [String]
    private let origin: String

    /// Nil where a browser would send none either.
    ///
    /// - Parameter fields: as they are sent to the server.
    init?(
        _ method: String, _ fields: HTTPFields, to url: WebURL, context: RequestContext, layout: OriginLayout,
        nearestZone: NetworkZone
    ) {
        guard layout.isBesideRoot(url), !context.use.makesDocument,
            case .page(let origins) = context.kind, origins == layout.root?.origins
        else { return nil }
        names = fields.list.map { HTTPGrammar.lowercased($0.name.utf8) }.filter { name in
            !Self.isBrowsers(name) && !Self.isSafe(name, fields)
        }.sorted()
        guard !names.isEmpty || !["GET", "HEAD", "POST"].contains(method) else { return nil }
        self.method = method
        origin = fields["Origin"] ?? origins[0]
        var asked: HTTPFields = [
            "Origin": origin, "Access-Control-Request-Method": method, "Sec-Fetch-Mode": "cors",
            "Sec-Fetch-Dest": "empty",
        ]
        if let site = fields["Sec-Fetch-Site"] { asked.set("Sec-Fetch-Site", site) }
        for name in ["User-Agent", "Referer"] {
            if let value = fields[name] { asked.set(name, value) }
        }
        if !names.isEmpty { asked.set("Access-Control-Request-Headers", names.joined(separator: ",")) }
        request = LoadRequest(
            method: "OPTIONS", url: url, fields: asked, body: [], nearestZone: nearestZone, isAnonymous: true)
    }

    /// Fetch, section 4.8: the request goes without credentials.
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

    /// A script may send it anywhere.
    private static func isSafe(_ name: String, _ fields: HTTPFields) -> Bool {
        switch name {
        case "accept", "accept-language", "content-language", "range", "last-event-id": true
        case "content-type":
            ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"]
                .contains(fields.contentType?.essence)
        default: false
        }
    }

    /// Browsers send it by themselves.
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
