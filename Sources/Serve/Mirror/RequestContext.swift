internal import Store
internal import Web

/// Who sent a request to the mirror, and what for, as far as a browser tells.
///
/// Browsers send `Origin` with changes and with what scripts read, otherwise `Sec-Fetch-Site` and `Referer`.
/// A page cannot forge any of these beyond its own origin, and each mirrored origin has a name of its own.
/// Beside a site at the root of a server that listens for other machines, all origins share one name: there
/// the seal in the address proves which page sent the request (``PageSeals``).
///
/// A request without any of these comes from a program, which could ask the network itself.
struct RequestContext: Equatable, Sendable {
    let requester: Requester
    /// The page has an opaque origin: a sandboxed frame, or one made of data.
    let hasOpaqueOrigin: Bool
    /// What the response is for.
    let use: FetchUse

    init(requester: Requester, hasOpaqueOrigin: Bool, use: FetchUse) {
        self.requester = requester
        self.hasOpaqueOrigin = hasOpaqueOrigin
        self.use = use
    }

    /// - Parameters:
    ///   - authority: The host and port that the request names.
    ///   - layout: As this client sees the mirror.
    init(_ fields: HTTPFields, authority: String, layout: OriginLayout) {
        let use = FetchUse(fields)
        let origin = fields["Origin"]
        var hasOpaqueOrigin = false
        let kind: Requester.Kind
        let sealed = layout.sealedPage.origins
        if !sealed.isEmpty {
            // A foreign page may have learnt the address, but its browser says where it is.
            var isForeign = [origin, fields["Referer"]].contains { evidence in
                evidence.map { $0 != "null" && !layout.isOwnOrigin($0, authority) } ?? false
            }
            var origins = sealed
            if let root = layout.root?.origins {
                if origins == root {
                    // The root's own pages have the origin that they request; only documents beside it have none.
                    isForeign =
                        isForeign || origin == "null"
                        || ["cross-site", "same-site"].contains(fields["Sec-Fetch-Site"])
                } else if Self.isOfRoot(fields, authority, layout) {
                    // One of the root's scripts may have learnt the seal of another page.
                    origins = root
                }
            }
            kind = isForeign ? .foreignPage : use.makesDocument ? .unknownPage : .page(origins)
        } else {
            hasOpaqueOrigin = origin == "null"
            kind = Self.kind(fields, origin: hasOpaqueOrigin ? nil : origin, authority, layout)
        }
        self.init(
            requester: Requester(
                kind,
                mayHavePrivate: !layout.withholdsPrivate && !Self.isUnproven(fields, layout)
                    && !Self.isSealUnproven(fields, layout)),
            hasOpaqueOrigin: hasOpaqueOrigin, use: use)
    }

    /// Whether a browser on another machine says nothing of the page that needs the response. To plain http
    /// browsers send `Referer` alone, which a foreign page can leave out. The mirror's own pages send it.
    private static func isUnproven(_ fields: HTTPFields, _ layout: OriginLayout) -> Bool {
        layout.isExposed && isSilent(fields) && !fields.isNavigation
    }

    /// Whether a browser asks, and tells nothing of the page that has it ask.
    static func isSilent(_ fields: HTTPFields) -> Bool {
        fields["User-Agent"]?.hasPrefix("Mozilla/") ?? false
            && !["Sec-Fetch-Site", "Origin", "Referer"].contains { fields.contains($0) }
    }

    /// Whether nothing but a seal says which page asks for what is beside the root. To plain http a browser does
    /// not say what a request is for: a script of the root reads what the root's page may embed, and can request
    /// a document, be redirected to the document's own seal, and go on with that.
    private static func isSealUnproven(_ fields: HTTPFields, _ layout: OriginLayout) -> Bool {
        !layout.sealedPage.origins.isEmpty && !fields.contains("Sec-Fetch-Site")
    }

    /// Whether a browser says that a page of the root sent the request. Documents beside the root have an
    /// opaque origin, and neither they nor their style sheets send a referrer.
    private static func isOfRoot(_ fields: HTTPFields, _ authority: String, _ layout: OriginLayout) -> Bool {
        fields["Sec-Fetch-Site"] == "same-origin"
            || ["Origin", "Referer"].contains { name in
                fields[name].map { layout.isOwnOrigin($0, authority) } ?? false
            }
    }

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
        case "same-origin": return referrer ?? layout.page(atAuthority: authority)
        case nil where fields["Origin"] == nil: return referrer ?? .user
        case _: return referrer ?? .foreignPage
        }
    }

    var kind: Requester.Kind { requester.kind }

    /// A foreign page has the response shown in a window.
    var isForeignWindow: Bool { kind == .foreignPage && use.isWindow }

    /// The origins of a page of the mirror.
    var origins: [String] { requester.origins }

    /// Whether the requester may cause a request to the origin, and have a miss recorded. A foreign page may
    /// not, unless a person followed a link from it and sees where that leads.
    var mayCauseRequests: Bool { kind != .foreignPage || use.isFollowedLink }

    /// Whether the requester is a page of the URL's own site, or no page at all.
    func isSameSite(as url: WebURL, _ names: OriginNames) -> Bool {
        requester.isSameSite(as: url, names.isSameSite)
    }
}

/// What a browser needs a response for, by its `Sec-Fetch` headers.
struct FetchUse: Equatable, Sendable {
    /// Empty where the client does not say.
    let destination: String
    let mode: String
    /// A person followed a link or typed an address, and sees the result in a window.
    let isFollowedLink: Bool
    private let takesPages: Bool

    init(_ fields: HTTPFields) {
        destination = fields["Sec-Fetch-Dest"] ?? ""
        mode = fields["Sec-Fetch-Mode"] ?? ""
        takesPages = fields["Accept"]?.utf8.contains("text/html".utf8) ?? false
        isFollowedLink = fields["Sec-Fetch-User"] == "?1" && destination == "document"
    }

    /// A whole page, in a window of its own.
    var isWindow: Bool { destination == "document" }

    /// A page in a window or a frame, out of the requester's reach.
    var isDocument: Bool { ["document", "iframe", "frame", "fencedframe"].contains(destination) }

    /// The response becomes a document of its own, not a part of the requester's.
    var makesDocument: Bool {
        isDocument || ["object", "embed"].contains(destination) || destination == "" && takesPages
    }

    /// A script gets the bytes, or CORS must permit what the browser makes of them.
    var isRead: Bool { destination == "empty" || mode == "cors" }

    var isWorker: Bool { ["worker", "sharedworker", "serviceworker"].contains(destination) }

    var access: ResponseUse {
        guard isWindow else { return isDocument ? .frame : .part }
        return isFollowedLink ? .window : .openedWindow
    }
}

// MARK: - What the origin is told

extension RequestContext {
    /// Rewrites the headers that a mirrored page sent to what the page would have sent on the web.
    ///
    /// - Parameter page: The original URL of the page that `Referer` names, if it is stored.
    func restoreOriginalHeaders(
        in fields: inout HTTPFields, to target: WebURL, page: WebURL?, layout: OriginLayout
    ) {
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

    /// By `strict-origin-when-cross-origin`, the policy of browsers for pages that name none.
    private static func referrer(_ origin: String, _ page: WebURL?, to target: WebURL) -> String? {
        if target.origin == origin { return page?.key.href ?? origin + "/" }
        return origin.hasPrefix("https:") && target.scheme == "http" ? nil : origin + "/"
    }
}

extension OriginNames {
    /// The value of `Sec-Fetch-Site`. A mirror's name stands for http and https, so schemes make no
    /// difference.
    func relation(of page: WebURL, to target: WebURL) -> String {
        if page.host == target.host, page.port == target.port { return "same-origin" }
        return isSameSite(page.host, target.host) ? "same-site" : "cross-site"
    }
}

extension HTTPFields {
    /// Whether a person will read the response: a browser says what the response is for, other programs which
    /// types they accept.
    var isNavigation: Bool {
        if let destination = self["Sec-Fetch-Dest"] {
            return ["document", "iframe", "frame", "fencedframe"].contains(destination)
        }
        return self["Accept"]?.utf8.contains("text/html".utf8) ?? false
    }
}
