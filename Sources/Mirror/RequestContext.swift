internal import HTTPServer
internal import Origins
internal import Store
internal import Web

/// The sender of a request to the mirror, and its purpose, as far as the browser reports them.
///
/// Browsers send `Origin` with changes and with what scripts read, otherwise `Sec-Fetch-Site` and `Referer`.
/// A page cannot forge any of these beyond its own origin, and each mirrored origin has a name of its own.
/// Beside a site at the root of a server that listens for other machines, all origins share one name: there
/// the seal in the address proves which page sent the request (``PageSeals``).
///
/// A request without any of these comes from a program, which could also request the URL from the network.
///
/// Examples, for a request to `http://b-test.localhost:8080`, the mirror of b.test:
///
/// | headers | requester |
/// | --- | --- |
/// | none of the three | the user, by a program such as curl |
/// | `Sec-Fetch-Site: none` | the user, by the address bar or a bookmark |
/// | `Sec-Fetch-Site: same-origin` | a page of b.test |
/// | `Referer: http://a-test.localhost:8080/` | a page of a.test |
/// | `Origin: http://larder.localhost:8080` | the portal |
/// | `Origin: https://evil.test`, or `Sec-Fetch-Site: cross-site` alone | a foreign page |
///
/// `Origin` decides if it is present, whatever the other headers are.
struct RequestContext: Equatable, Sendable {
    let requester: Requester
    /// Whether the page has an opaque origin, such as a sandboxed frame or a `data:` document.
    let hasOpaqueOrigin: Bool
    /// The purpose of the response.
    let use: FetchUse

    init(requester: Requester, hasOpaqueOrigin: Bool, use: FetchUse) {
        self.requester = requester
        self.hasOpaqueOrigin = hasOpaqueOrigin
        self.use = use
    }

    /// - Parameters:
    ///   - authority: The host and port that the request names.
    ///   - layout: As this client sees the mirror.
    ///   - isExpected: Whether a person has just been redirected to the URL.
    init(_ fields: HTTPFields, authority: String, layout: OriginLayout, isExpected: Bool = false) {
        let use = FetchUse(fields, isExpected: isExpected)
        let origin = fields["Origin"]
        // Documents beside the root always have an opaque origin, so that `Origin: null` says nothing new there.
        var hasOpaqueOrigin = false
        let kind: Requester.Kind
        if !layout.sealedPage.origins.isEmpty {
            kind = Self.kindBesideRoot(fields, use, authority, layout)
        } else {
            hasOpaqueOrigin = origin == "null"
            kind = Self.kind(fields, origin: hasOpaqueOrigin ? nil : origin, authority, layout)
        }
        self.init(
            requester: Requester(
                kind,
                canReceivePrivate: !layout.withholdsPrivate && Self.isProven(fields, layout)),
            hasOpaqueOrigin: hasOpaqueOrigin, use: use)
    }

    /// Whether the request shows well enough who sent it to get private responses on a server that other
    /// machines reach.
    ///
    /// Over plain http, browsers send neither the page's site nor the purpose of a request. They send
    /// `Referer`, which a foreign page can suppress. A script of the root can request a document as a window
    /// would, learn the document's seal from the redirect, and request everything of that origin by it.
    private static func isProven(_ fields: HTTPFields, _ layout: OriginLayout) -> Bool {
        guard layout.sealedPage.origins.isEmpty else { return fields.contains("Sec-Fetch-Site") }
        return !layout.isExposed || !isSilent(fields) || fields.isNavigation
    }

    /// Whether a browser sent the request without naming the page that caused it.
    static func isSilent(_ fields: HTTPFields) -> Bool {
        fields["User-Agent"]?.hasPrefix("Mozilla/") ?? false
            && !["Sec-Fetch-Site", "Origin", "Referer"].contains { fields.contains($0) }
    }

    /// The sender of a request for an address with a seal.
    private static func kindBesideRoot(
        _ fields: HTTPFields, _ use: FetchUse, _ authority: String, _ layout: OriginLayout
    ) -> Requester.Kind {
        let named = [fields["Origin"], fields["Referer"]].compactMap(\.self).filter { $0 != "null" }
        // A foreign page may have learnt the address, but its browser names that page.
        guard named.allSatisfy({ layout.isOwnOrigin($0, authority) }) else { return .foreignPage }
        let site = fields["Sec-Fetch-Site"]
        let isOfRoot = layout.sealedPage.origins == layout.root?.origins
        // The root's pages have the origin that they request; documents beside the root have an opaque one.
        if isOfRoot, fields["Origin"] == "null" || site == "cross-site" || site == "same-site" {
            return .foreignPage
        }
        if use.makesDocument { return .unknownPage }
        // Documents beside the root send no referrer. A script of the root may have learnt another page's
        // seal.
        if !isOfRoot, site == "same-origin" || !named.isEmpty {
            return layout.root.map { .page($0.origins) } ?? .foreignPage
        }
        return .page(layout.sealedPage.origins)
    }

    /// The sender of a request to a host name that stands for one origin. `Origin` is evaluated first, since pages
    /// cannot suppress it; then `Sec-Fetch-Site`; then `Referer`, which pages can suppress.
    ///
    /// - Parameter origin: The `Origin` header, unless it is `null`.
    private static func kind(
        _ fields: HTTPFields, origin: String?, _ authority: String, _ layout: OriginLayout
    ) -> Requester.Kind {
        if let origin {
            guard let url = WebURL(origin), url.origin == origin else { return .foreignPage }
            return layout.page(at: url, authority)
        }
        let referrer = fields["Referer"].map {
            WebURL($0).map { layout.page(at: $0, authority) } ?? .foreignPage
        }
        switch fields["Sec-Fetch-Site"] {
        case "none": return .user
        case "same-origin": return referrer ?? layout.pageOfOrigin(at: authority)
        // Browsers send no `Sec-Fetch-Site` to hosts of plain http other than localhost. Without any evidence it is a
        // program of the user.
        case nil where fields["Origin"] == nil: return referrer ?? .user
        // A cross-site or same-site request. A page that hides its referrer counts as foreign.
        case _: return referrer ?? .foreignPage
        }
    }

    /// The kind of sender, as far as it can be proved.
    var kind: Requester.Kind { requester.kind }

    /// Whether a foreign page shows the response in a window.
    var isForeignWindow: Bool { kind == .foreignPage && use.isWindow }

    /// The origins of a page of the mirror.
    var origins: [String] { requester.origins }

    /// Whether the requester may cause a request to the origin, and have a miss recorded. A foreign page may
    /// not, unless a person followed a link from it and sees where that leads.
    var canCauseRequests: Bool { kind != .foreignPage || use.isFollowedLink }

    /// Whether the requester is a page of the URL's own site, or no page at all.
    func isSameSite(as url: WebURL, _ names: OriginNames) -> Bool {
        requester.isSameSite(as: url, names.isSameSite)
    }
}

/// The use that a browser has for a response, by its `Sec-Fetch` headers.
struct FetchUse: Equatable, Sendable {
    /// The value of `Sec-Fetch-Dest`; empty if the client does not send it.
    let destination: String
    /// The value of `Sec-Fetch-Mode`, such as `cors` or `navigate`; empty if the client does not send it.
    let mode: String
    /// Whether a person followed a link or typed an address, and sees the result in a window.
    let isFollowedLink: Bool
    /// Whether `Accept` names HTML, as in navigations. Decides for clients that send no `Sec-Fetch-Dest`.
    private let takesPages: Bool

    /// - Parameter isExpected: Whether a person has just been redirected to the URL.
    init(_ fields: HTTPFields, isExpected: Bool = false) {
        destination = fields.fetchDestination ?? ""
        mode = fields["Sec-Fetch-Mode"] ?? ""
        takesPages = fields["Accept"]?.utf8.contains("text/html".utf8) ?? false
        // `isExpected` is for service workers that repeat a navigation with `fetch`: it then has the destination `empty` and
        // no `Sec-Fetch-User`.
        isFollowedLink =
            destination == "document"
            && (fields["Sec-Fetch-User"] == "?1" || isExpected && fields["Sec-Fetch-Dest"] == "empty")
    }

    /// Whether the response is a whole page in a window of its own.
    var isWindow: Bool { destination == "document" }

    /// Whether the response is a page in a window or a frame, which the requester cannot read.
    var isDocument: Bool { ["document", "iframe", "frame", "fencedframe"].contains(destination) }

    /// Whether the response becomes a document of its own, not a part of the requester's document.
    var makesDocument: Bool {
        isDocument || ["object", "embed"].contains(destination) || destination == "" && takesPages
    }

    /// Whether a script gets the bytes, or CORS must permit the use.
    var isRead: Bool { destination == "empty" || mode == "cors" }

    /// Whether the response becomes the script of a worker.
    var isWorker: Bool { ["worker", "sharedworker", "serviceworker"].contains(destination) }

    /// The use in the terms of the store's access rules.
    var access: ResponseUse {
        guard isWindow else { return isDocument ? .frame : .part }
        return isFollowedLink ? .window : .openedWindow
    }
}

// MARK: - Headers for the origin

extension RequestContext {
    /// Rewrites the headers that a mirrored page sent to the headers that the page would have sent on the web.
    ///
    /// - Parameter page: The original URL of the page that `Referer` names, if it is stored.
    func restoreOriginalHeaders(
        in fields: inout HTTPFields, to target: WebURL, page: WebURL?, layout: OriginLayout
    ) {
        // Mirror addresses must never reach an origin, so headers that name pages are written anew.
        fields.remove("Referer")
        let relation: String
        switch kind {
        case .user, .portal, .export:
            if fields.contains("Origin") { fields.remove("Origin") }
            relation = "none"
        case .unknownPage, .foreignPage:
            if let origin = fields["Origin"] {
                fields.set(
                    "Origin", layout.originalOrigin(origin, isUnknownPage: kind == .unknownPage))
            }
            relation = "cross-site"
        case .page(let origins):
            let origin = page?.origin ?? origins[0]
            // Beside a site at the root, to a browser all requests come from the root's own pages.
            if fields.contains("Origin") || use.mode == "cors" && origin != target.origin {
                fields.set("Origin", hasOpaqueOrigin ? "null" : origin)
            }
            if let value = Self.referrer(origin, page, to: target) { fields.set("Referer", value) }
            relation = WebURL(origin).map { layout.names.relation(of: $0, to: target) } ?? "cross-site"
        }
        if fields.contains("Sec-Fetch-Site") { fields.set("Sec-Fetch-Site", relation) }
    }

    /// The referrer by `strict-origin-when-cross-origin`, the default policy of browsers.
    private static func referrer(_ origin: String, _ page: WebURL?, to target: WebURL) -> String? {
        if target.origin == origin { return page?.key.href ?? origin + "/" }
        return origin.hasPrefix("https:") && target.scheme == "http" ? nil : origin + "/"
    }
}

extension OriginNames {
    /// The value of `Sec-Fetch-Site`. A mirror's name stands for both http and https, so schemes make no
    /// difference.
    func relation(of page: WebURL, to target: WebURL) -> String {
        if page.host == target.host, page.port == target.port { return "same-origin" }
        return isSameSite(page.host, target.host) ? "same-site" : "cross-site"
    }
}
