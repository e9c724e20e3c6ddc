internal import Web

/// Who asks, as far as a browser tells: so that a page of the mirror is as far from every other as it was on
/// the web, and a page from elsewhere can have nothing loaded, noted or shown to it.
///
/// Browsers say `Origin` of changes and of what scripts read, else `Sec-Fetch-Site` and `Referer`. Whoever
/// says nothing is no browser of the last years, and could ask the network itself.
struct Asker: Equatable, Sendable {
    enum Kind: Equatable, Sendable {
        /// Somebody typed the address, or a program asks in its own name.
        case person
        /// A page of the mirror, by the origins that its name stands for, the likelier first. Never empty.
        case page([String])
        /// A page of the larder's own.
        case portal
        /// Beside a site at the root a document is shown, in a window or a frame, and nobody knows whose page
        /// led there.
        case led
        /// A page from elsewhere, or one that hides where it is.
        case outside
    }

    let kind: Kind
    /// Its origin is opaque: a sandboxed frame, or one made of data.
    let isOpaque: Bool
    /// What the answer is for.
    let use: FetchUse

    init(kind: Kind, isOpaque: Bool, use: FetchUse) {
        self.kind = kind
        self.isOpaque = isOpaque
        self.use = use
    }

    init(_ fields: HTTPFields, authority: String, layout: OriginLayout) {
        use = FetchUse(fields)
        let origin = fields["Origin"]
        if case .page(let origins) = layout.page {
            kind = use.makesDocument ? .led : .page(origins)
            isOpaque = false
            return
        }
        isOpaque = origin == "null"
        let referrer = fields["Referer"].map { WebURL($0).map { layout.page(at: $0, authority) } ?? .outside }
        if let origin, !isOpaque {
            kind =
                WebURL(origin).map { $0.origin == origin ? layout.page(at: $0, authority) : .outside }
                ?? .outside
            return
        }
        switch fields["Sec-Fetch-Site"] {
        case "none": kind = .person
        case "same-origin": kind = referrer ?? layout.page(atAuthority: authority)
        case nil where !isOpaque: kind = referrer ?? .person
        case _: kind = referrer ?? .outside
        }
    }

    /// The origins of a page of the mirror.
    var origins: [String] {
        if case .page(let origins) = kind { origins } else { [] }
    }

    /// Whether it may have a server asked, and what it misses noted: no page from elsewhere may, unless a
    /// person followed a link from it, and sees where that led.
    var mayHaveAsked: Bool { kind != .outside || use.isFollowedLink }

    /// Whether it is a page of the URL's own site, or no page at all.
    func isNear(_ url: WebURL, _ names: OriginNames) -> Bool {
        switch kind {
        case .person, .portal: true
        case .led, .outside: false
        case .page(let origins):
            origins.contains { origin in WebURL(origin).map { names.isSameSite($0.host, url.host) } ?? false }
        }
    }
}

/// What a browser asks for something for, by its `Sec-Fetch` fields.
struct FetchUse: Equatable, Sendable {
    /// Empty where the client does not say.
    let destination: String
    let mode: String
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

    /// A page in a window or a frame, where it is out of the asker's reach.
    var isDocument: Bool { ["document", "iframe", "frame", "fencedframe"].contains(destination) }

    /// What comes is no part of the asker's own document.
    var makesDocument: Bool {
        isDocument || ["object", "embed"].contains(destination) || destination == "" && takesPages
    }

    /// A script gets the bytes, or what is made of them has to be permitted.
    var isRead: Bool { destination == "empty" || mode == "cors" }

    var isWorker: Bool { ["worker", "sharedworker", "serviceworker"].contains(destination) }
}

// MARK: - What a server is told

extension Asker {
    /// Has fields that a page of the mirror sent say what they would have said on the web.
    ///
    /// - Parameter page: the original URL of the page as far as `Referer` tells, when it is held.
    func lead(_ fields: inout HTTPFields, to target: WebURL, page: WebURL?, layout: OriginLayout) {
        fields.remove("Referer")
        let relation: String
        switch kind {
        case .person, .portal:
            if fields.contains("Origin") { fields.remove("Origin") }
            relation = "none"
        case .led, .outside:
            if let origin = fields["Origin"] {
                fields.set("Origin", layout.originalOrigin(origin, isLed: kind == .led))
            }
            relation = "cross-site"
        case .page(let origins):
            let origin = page?.origin ?? origins[0]
            // Of what beside a site at the root has its origin, a browser does not say whose page asks for
            // it.
            if fields.contains("Origin") || use.mode == "cors" && origin != target.origin {
                fields.set("Origin", isOpaque ? "null" : origin)
            }
            if let value = Self.referrer(origin, page, to: target) { fields.set("Referer", value) }
            relation = WebURL(origin).map { layout.names.relation(of: $0, to: target) } ?? "cross-site"
        }
        if fields.contains("Sec-Fetch-Site") { fields.set("Sec-Fetch-Site", relation) }
    }

    /// By the policy that browsers have when a page names none.
    private static func referrer(_ origin: String, _ page: WebURL?, to target: WebURL) -> String? {
        if target.origin == origin { return page?.key.href ?? origin + "/" }
        return origin.hasPrefix("https:") && target.scheme == "http" ? nil : origin + "/"
    }
}

extension OriginNames {
    /// As `Sec-Fetch-Site` says it. Names stand for both schemes, so that these make no difference here.
    func relation(of page: WebURL, to target: WebURL) -> String {
        if page.host == target.host, page.port == target.port { return "same-origin" }
        return isSameSite(page.host, target.host) ? "same-site" : "cross-site"
    }
}

extension HTTPFields {
    /// Whether the answer is for a person to read: a browser says what it wants it for, others what they
    /// would take.
    var isNavigation: Bool {
        if let destination = self["Sec-Fetch-Dest"] {
            return ["document", "iframe", "frame", "fencedframe"].contains(destination)
        }
        return self["Accept"]?.utf8.contains("text/html".utf8) ?? false
    }
}
