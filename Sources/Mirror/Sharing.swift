internal import HTTPServer
internal import Origins
internal import Store
internal import Web

// The rules of ``Sharing``: how they are derived from responses, and how they apply to one requester.
//
// The mirror applies the CORS and CORP rules that a browser applies on the web, in two steps:
//
// 1. When an answer is made, the headers of the response give its `Sharing`: who may read it (CORS), and who may embed
//    it (CORP). The answer and its `Sharing` are cached together and serve all requesters.
// 2. For each request, `verdict` first decides whether this requester may have the response at all (`access`, in
//    Store), and then which CORS headers the browser needs to see.
//
// For example, a font of `https://cdn.test` has `Access-Control-Allow-Origin: https://a.test`. The mirrored page of
// a.test, at `http://a-test.localhost:8080`, gets its own mirror origin in that header, and the mirrored page of
// another site gets the font without the header, so that its browser refuses it, as on the web.
//
// Usually each origin has a host name of its own, so that the browser enforces the rules. If all origins share one host
// name (a site at the root, for other machines), the browser cannot tell them apart, and `verdictBesideRoot` enforces
// the rules here.
extension Sharing {
    /// Rules for the statement that a URL has no stored response.
    init(missing url: WebURL) {
        self.init(subject: .response(url))
        isMissing = true
    }

    /// Rules for a stored response.
    init(_ url: WebURL, _ fields: HTTPFields, _ flags: ResponseFlags, isPage: Bool) {
        self.init(subject: .response(url))
        (embedding, isData) = Self.embedding(fields)
        isPrivate = flags.contains(.isPrivate)
        // Whether every client on the public network would have got the same response.
        let isOpen =
            !isPrivate
            && flags.isDisjoint(with: [.fromPrivateNetwork, .fromThisMachine, .claimedNonPublicZone])
        // A crawl requests pages without `Origin`, so that their server never says whether other sites may
        // read them.
        let isUnknown = isOpen && !isPage && !flags.contains(.hadOriginHeader)
        readers = Self.readers(fields, isPrivate: isPrivate, isOpen: isOpen, isUnknown: isUnknown)
        isForOneRequester = isPrivate || Self.forbidsStoring(fields)
    }

    /// Rules for a response that a server has just sent to one requester.
    ///
    /// - Parameters:
    ///   - withCredentials: Whether the request was sent with the credentials of another requester.
    ///   - isPersonal: Whether it was sent with the credentials of the requester who gets the response.
    init(loaded fields: HTTPFields, _ url: WebURL, withCredentials: Bool, isPersonal: Bool = false) {
        self.init(subject: .response(url))
        (embedding, isData) = Self.embedding(fields)
        isPrivate = withCredentials
        self.isPersonal = isPersonal
        readers = Self.readers(fields, isPrivate: withCredentials, isOpen: false, isUnknown: false)
        isForOneRequester = withCredentials || isPersonal || Self.forbidsStoring(fields)
    }

    /// Whether the origin forbids caches to store the response (RFC 9111 5.2.2.5).
    private static func forbidsStoring(_ fields: HTTPFields) -> Bool {
        fields.elements("Cache-Control").contains { HTTPGrammar.matches($0, "no-store") }
    }

    /// Whether pages load such responses with CORS although their servers permit it only to requests with an
    /// `Origin`: fonts, and scripts and style sheets, which any page may run or apply anyway.
    private static func isPagePart(_ fields: HTTPFields) -> Bool {
        guard let type = fields.contentType else { return false }
        return type.isJavaScript || type.essence == "text/css"
            || ["font/", "application/font-", "application/x-font-"].contains { type.essence.hasPrefix($0) }
            || type.essence == "application/vnd.ms-fontobject"
    }

    /// The `Cross-Origin-Resource-Policy` of the response, and whether its media type is HTML, XML or JSON. Browsers
    /// never let another site's page run or apply such data (Opaque Response Blocking).
    private static func embedding(_ fields: HTTPFields) -> (policy: String?, isData: Bool) {
        let type = fields.contentType?.essence ?? ""
        let isData = ["html", "xml", "json"].contains { type.hasSuffix("/" + $0) || type.hasSuffix("+" + $0) }
        return (fields["Cross-Origin-Resource-Policy"], isData)
    }

    /// The origins that may read the response, by its CORS headers.
    ///
    /// - Parameters:
    ///   - isOpen: Whether every client on the public network would have got the same response.
    ///   - isUnknown: Whether the request had no `Origin`, so that the server had no reason to send CORS headers.
    private static func readers(
        _ fields: HTTPFields, isPrivate: Bool, isOpen: Bool, isUnknown: Bool
    ) -> Readers {
        let named = fields.all("Access-Control-Allow-Origin")
        // Browsers accept none if there are several.
        guard named.count <= 1 else { return .none }
        guard let origin = named.first else {
            return isUnknown && isPagePart(fields) ? .mirroredPages : .none
        }
        // The response to one user's credentials is not the one for everybody.
        if origin == "*" { return isPrivate ? .none : .all }
        let credentials = fields["Access-Control-Allow-Credentials"] == "true"
        let varies = fields.elements("Vary").contains { HTTPGrammar.matches($0, "Origin") }
        // A server that answers `Vary: Origin` repeats the origin of each request: without credentials, it would have
        // allowed other origins too.
        return .origin(origin, credentials: credentials, others: varies && !credentials && isOpen)
    }

    /// Whether pages of other origins get other headers.
    func varies(in layout: OriginLayout) -> Bool {
        switch readers {
        case .none: false
        case .all: !layout.sharesOrigin
        case .mirroredPages, .origin: true
        }
    }

    // MARK: - Verdicts

    /// The decision about one requester.
    enum Verdict: Equatable {
        /// Granted, with the header lines that let the page read it.
        case given([UInt8])
        /// Refused because of site isolation. The page does not learn whether a response is stored.
        case refused
        /// Refused, since the response was fetched with credentials and must not go to this requester.
        case withheld
    }

    /// The subject in the terms of the store's access rules.
    private func resource(in layout: OriginLayout) -> ProtectedResource {
        switch subject {
        case .portal: .portal
        case .portalBar: .portalBar
        case .common: .common
        case .response(let url):
            // A foreign page must not learn whether a URL has a private response or none.
            .response(url, isPrivate: isPrivate, isPublished: layout.isPublished(url) && !isMissing)
        }
    }

    /// Decides whether a requester gets the response, and with which additional header lines.
    ///
    /// - Parameter origin: The `Origin` of the request, as the answer has to repeat it.
    func verdict(for context: RequestContext, origin: String?, in layout: OriginLayout) -> Verdict {
        let granted = access(
            to: resource(in: layout), by: context.requester, for: context.use.access,
            isSameSite: layout.names.isSameSite)
        switch granted {
        case .refused: return .refused
        case .withheld: return .withheld
        case .granted: break
        }
        let verdict = grantedVerdict(for: context, origin, layout)
        // A page that opened a window sees which kind of answer it got, unless all kinds cut it off.
        guard case .given(let lines) = verdict, context.isForeignWindow, !layout.sharesOrigin else {
            return verdict
        }
        return .given(lines + Self.ownGroup)
    }

    /// Puts the window into a browsing context group of its own, so that its opener loses access to it.
    private static let ownGroup = Array("Cross-Origin-Opener-Policy: same-origin\r\n".utf8)

    /// The header lines for a requester who may have the response, or a refusal where a browser would block it.
    private func grantedVerdict(
        for context: RequestContext, _ origin: String?, _ layout: OriginLayout
    ) -> Verdict {
        switch subject {
        case .portal, .portalBar: return .given([])
        case .common: return .given(origin == nil ? [] : Self.lines("*"))
        case .response(let url) where layout.sharesRootHost(url):
            return verdictBesideRoot(on: url, for: context, origin, layout)
        // The site that other machines are shown: pages anywhere may embed it, as on the web.
        case .response(let url) where layout.isPublished(url):
            if context.kind == .foreignPage, !context.use.isRead, !isEmbeddable(by: context, url, layout) {
                return .refused
            }
            return .given(publishedLines(for: context, origin))
        case .response:
            // Only mirrored pages are bound to CORS; the user and the portal read every response.
            guard case .page = context.kind else { return .given([]) }
            return .given(lines(for: context, origin))
        }
    }

    /// Decides about a response that shares the host of the root. The server itself enforces the rules between origins,
    /// because a browser cannot: to the browser, pages of this host have the root's origin or an opaque one.
    private func verdictBesideRoot(
        on url: WebURL, for context: RequestContext, _ origin: String?, _ layout: OriginLayout
    ) -> Verdict {
        if context.use.isWorker { return .refused }
        guard case .page(let origins) = context.kind else { return .given([]) }
        if origins.contains(url.origin) {
            return .given(origin.map { Self.lines($0, credentials: true) } ?? [])
        }
        // For a browser, the root's page and its embedded content have one origin, so scripts of the page can read it.
        let isReadable =
            context.use.isRead || (isPrivate || isPersonal) && origins == layout.root?.origins
        guard isReadable else {
            return isEmbeddable(by: context, url, layout) ? .given([]) : .refused
        }
        let isAllowed =
            switch readers {
            case .none: false
            case .all, .mirroredPages: true
            case .origin(let named, _, let others): others || origins.contains(named)
            }
        return isAllowed ? .given(lines(for: context, origin)) : .refused
    }

    /// Whether the page may embed the response, by the origin's `Cross-Origin-Resource-Policy`. Data is
    /// neither a script nor a style sheet.
    private func isEmbeddable(by context: RequestContext, _ url: WebURL, _ layout: OriginLayout) -> Bool {
        if context.use.makesDocument || context.origins.contains(url.origin) { return true }
        if isData, ["script", "style"].contains(context.use.destination) { return false }
        return switch embedding {
        case "same-origin": false
        case "same-site": context.isSameSite(as: url, layout.names)
        default: true
        }
    }

    /// CORS header lines of the site at the root, which are for all requesters.
    private func publishedLines(for context: RequestContext, _ origin: String?) -> [UInt8] {
        if readers == .all { return Self.lines("*") }
        if let origin, case .origin(let named, let credentials, _) = readers, named == origin {
            return Self.lines(origin, credentials: credentials)
        }
        return lines(for: context, origin)
    }

    /// CORS header lines for a mirrored page; empty if the page may not read the response or needs no permission.
    private func lines(for context: RequestContext, _ origin: String?) -> [UInt8] {
        guard let origin else { return [] }
        switch readers {
        case .none: return []
        case .all: return Self.lines("*")
        case .mirroredPages:
            if case .page = context.kind { return Self.lines("*") }
            return []
        case .origin(let named, let credentials, let others):
            if !context.hasOpaqueOrigin, context.origins.contains(named) {
                return Self.lines(origin, credentials: credentials)
            }
            return others ? Self.lines("*") : []
        }
    }

    /// The header lines that allow one origin, or `*`, to read a response.
    static func lines(_ origin: String, credentials: Bool = false) -> [UInt8] {
        let text = "Access-Control-Allow-Origin: \(origin)\r\n"
        return Array((credentials ? text + "Access-Control-Allow-Credentials: true\r\n" : text).utf8)
    }
}
