internal import Store
internal import Web

/// What pages of other origins may do with an answer. It goes with the answer, which all of them share.
struct Sharing: Equatable, Sendable {
    enum Access: Equatable, Sendable {
        case nobody
        /// Without credentials.
        case everybody
        /// As the server named it. `others`: it names whoever asks, so that what it would say to them is not
        /// known.
        case origin(String, credentials: Bool, others: Bool)
    }

    enum Subject: Equatable, Sendable {
        /// The larder's own pages.
        case own
        /// What every page may load: the shim, and how origins are named.
        case everybodys
        /// What stands in the bar of a mirrored page: in a frame, or in a window of its own.
        case bar
        /// A copy of what is at an URL, or what is said in its place.
        case copy(WebURL)
    }

    let subject: Subject
    private(set) var access = Access.nobody
    /// It was fetched with somebody's credentials.
    private(set) var isPrivate = false
    /// Its `Cross-Origin-Resource-Policy`.
    private var embedding: String?
    private var isData = false

    static let own = Sharing(subject: .own)
    static let everybodys = Sharing(subject: .everybodys)
    static let bar = Sharing(subject: .bar)

    private init(subject: Subject) { self.subject = subject }

    /// What is said where nothing is held.
    init(missing url: WebURL) { subject = .copy(url) }

    /// Of what is held.
    init(_ url: WebURL, _ fields: HTTPFields, _ flags: ResponseFlags, isPage: Bool) {
        subject = .copy(url)
        (embedding, isData) = Self.embedding(fields)
        isPrivate = flags.contains(.isPrivate)
        let isOpen = !isPrivate && flags.isDisjoint(with: [.fromPrivateNetwork, .fromThisMachine, .wasNear])
        // A page is never asked for so that another site's scripts may read it.
        let isUnknown = isOpen && !isPage && !flags.contains(.askedByOrigin)
        access = Self.access(fields, isPrivate: isPrivate, isOpen: isOpen, isUnknown: isUnknown)
    }

    /// Of what a server has just answered to somebody.
    init(loaded fields: HTTPFields, _ url: WebURL, withCredentials: Bool) {
        subject = .copy(url)
        (embedding, isData) = Self.embedding(fields)
        isPrivate = withCredentials
        access = Self.access(fields, isPrivate: withCredentials, isOpen: false, isUnknown: false)
    }

    private static func embedding(_ fields: HTTPFields) -> (policy: String?, isData: Bool) {
        let type = fields.contentType?.essence ?? ""
        let isData = ["html", "xml", "json"].contains { type.hasSuffix("/" + $0) || type.hasSuffix("+" + $0) }
        return (fields["Cross-Origin-Resource-Policy"], isData)
    }

    private static func access(_ fields: HTTPFields, isPrivate: Bool, isOpen: Bool, isUnknown: Bool) -> Access
    {
        let named = fields.all("Access-Control-Allow-Origin")
        // Of several browsers take none.
        guard named.count <= 1 else { return .nobody }
        guard let origin = named.first else { return isUnknown ? .everybody : .nobody }
        // What one person was shown is not what everybody would have got.
        if origin == "*" { return isPrivate ? .nobody : .everybody }
        let credentials = fields["Access-Control-Allow-Credentials"] == "true"
        let varies = fields.elements("Vary").contains { HTTPGrammar.matches($0, "Origin") }
        return .origin(origin, credentials: credentials, others: varies && !credentials && isOpen)
    }

    /// Whether another origin's page gets other fields.
    func varies(in layout: OriginLayout) -> Bool {
        switch access {
        case .nobody: false
        case .everybody: layout.root == nil
        case .origin: true
        }
    }

    // MARK: - Verdicts

    enum Verdict: Equatable {
        /// With the field lines that let the page read it.
        case given([UInt8])
        case refused
        /// It is not for other machines.
        case withheld
    }

    /// - Parameter origin: the `Origin` of the request, as it is to be answered.
    func verdict(for asker: Asker, origin: String?, in layout: OriginLayout) -> Verdict {
        switch subject {
        case .everybodys:
            return .given(origin == nil ? [] : Self.lines("*"))
        case .bar: return asker.use.isDocument ? .given([]) : .refused
        case .own:
            // Nothing of it can be probed; whoever goes there sees it.
            switch asker.kind {
            case .person, .portal: return .given([])
            case .page, .led, .outside: return asker.use.isWindow ? .given([]) : .refused
            }
        case .copy where isPrivate && layout.withholdsPrivate: return .withheld
        case .copy(let url):
            guard let root = layout.root else { return verdict(on: url, for: asker, origin, layout) }
            guard root.isRoot(url) else { return verdictBesideRoot(on: url, for: asker, origin, layout) }
            // What documents beside it ask for has no origin that a browser could compare.
            if asker.kind == .outside, !asker.use.isRead, !isEmbeddable(by: asker, url, layout) {
                return .refused
            }
            return .given(rootLines(for: asker, origin))
        }
    }

    private func verdict(
        on url: WebURL, for asker: Asker, _ origin: String?, _ layout: OriginLayout
    ) -> Verdict {
        switch asker.kind {
        case .person, .portal: return .given([])
        case .led: return isPrivate && !asker.use.isDocument ? .refused : .given([])
        case .outside: return asker.use.isWindow ? .given([]) : .refused
        case .page:
            if isPrivate, !asker.use.isDocument, !asker.isNear(url, layout.names) { return .refused }
            return .given(lines(for: asker, origin))
        }
    }

    /// The page that asks has the root's origin, or an opaque one: what browsers cannot tell apart there is
    /// told apart here.
    private func verdictBesideRoot(
        on url: WebURL, for asker: Asker, _ origin: String?, _ layout: OriginLayout
    ) -> Verdict {
        if asker.use.isWorker { return .refused }
        guard case .page(let origins) = asker.kind else {
            return verdict(on: url, for: asker, origin, layout)
        }
        if origins.contains(url.origin) {
            return .given(origin.map { Self.lines($0, credentials: true) } ?? [])
        }
        guard case .given = verdict(on: url, for: asker, origin, layout) else { return .refused }
        guard asker.use.isRead else { return isEmbeddable(by: asker, url, layout) ? .given([]) : .refused }
        let isAllowed =
            switch access {
            case .nobody: false
            case .everybody: true
            case .origin(let named, _, let others): others || origins.contains(named)
            }
        return isAllowed ? .given(lines(for: asker, origin)) : .refused
    }

    /// By the policy that the server has for pictures, scripts and the like; and data is neither script nor
    /// style.
    private func isEmbeddable(by asker: Asker, _ url: WebURL, _ layout: OriginLayout) -> Bool {
        if asker.use.makesDocument || asker.origins.contains(url.origin) { return true }
        if isData, ["script", "style"].contains(asker.use.destination) { return false }
        return switch embedding {
        case "same-origin": false
        case "same-site": asker.isNear(url, layout.names)
        default: true
        }
    }

    /// The root is what it is a mirror of: it says to everybody what that said.
    private func rootLines(for asker: Asker, _ origin: String?) -> [UInt8] {
        if access == .everybody { return Self.lines("*") }
        if let origin, case .origin(let named, let credentials, _) = access, named == origin {
            return Self.lines(origin, credentials: credentials)
        }
        return lines(for: asker, origin)
    }

    private func lines(for asker: Asker, _ origin: String?) -> [UInt8] {
        guard let origin else { return [] }
        switch access {
        case .nobody: return []
        case .everybody: return Self.lines("*")
        case .origin(let named, let credentials, let others):
            if !asker.isOpaque, asker.origins.contains(named) {
                return Self.lines(origin, credentials: credentials)
            }
            return others ? Self.lines("*") : []
        }
    }

    static func lines(_ origin: String, credentials: Bool = false) -> [UInt8] {
        let text = "Access-Control-Allow-Origin: \(origin)\r\n"
        return Array((credentials ? text + "Access-Control-Allow-Credentials: true\r\n" : text).utf8)
    }
}
