internal import Digest
internal import Web

/// Where the larder shows what: every origin under its own name below `localhost`, or one chosen site at the
/// root of whatever name the larder is asked by, and the others below `/-/web/`.
struct OriginLayout: Sendable {
    /// What all clients see alike. Layouts are copied several times for each request, and share it.
    private let common: Common
    let port: UInt16
    /// By which clients ask: http, or https where the server speaks TLS.
    var scheme: String { common.scheme }
    /// The origin at the root; nil where each has its own name.
    var root: RootOrigin? { common.root }
    /// How the client calls the larder, where addresses begin with that: with a site at the root, and in what
    /// is written for one client. Without it they are paths.
    var authority: String?
    /// Beside a site at the root: whose document is shown, or asks.
    private(set) var page = PageSeals.Reading.none
    /// The earlier visit in which the client is; nil for what is held now.
    private(set) var visit: Int64?
    private var seals: PageSeals { common.seals }
    var names: OriginNames { common.names }
    var commonFields: [(name: String, value: String)] {
        bar == .here ? common.barFields : common.plainFields
    }
    var bar = PageBar.Presence.off
    /// Other machines come here: the larder's own pages are not for them.
    let isExposed: Bool
    /// What was fetched with credentials is not for other machines.
    let withholdsPrivate: Bool
    /// A proxy that several people use.
    var isShared: Bool { isTransparent && isExposed }

    /// The name of the larder's own pages where a site has the root.
    static let portalName = "larder.localhost"

    /// Pages may ask the network for what the larder did not lead to itself.
    let allowsNetwork: Bool
    /// Every URL is shown as itself, to those who ask a proxy for it: nothing is led anywhere, and nothing
    /// added.
    let isTransparent: Bool

    private final class Common: Sendable {
        let scheme: String
        let root: RootOrigin?
        let seals: PageSeals
        let names: OriginNames
        /// What every answer carries, page or not: a worker, for one, lives by the policy of its own script's
        /// answer.
        let plainFields: [(name: String, value: String)]
        /// The same where the page has a bar.
        let barFields: [(name: String, value: String)]

        init(
            scheme: String, root: RootOrigin?, seals: PageSeals, names: OriginNames,
            plainFields: [(name: String, value: String)], barFields: [(name: String, value: String)]
        ) {
            self.scheme = scheme
            self.root = root
            self.seals = seals
            self.names = names
            self.plainFields = plainFields
            self.barFields = barFields
        }
    }

    init(
        port: UInt16, root: RootOrigin? = nil, allowsNetwork: Bool = false, isExposed: Bool = false,
        showsPrivate: Bool = false, isTransparent: Bool = false, isSecure: Bool = false,
        names: OriginNames = .system,
        seals: PageSeals = PageSeals()
    ) {
        self.isTransparent = isTransparent
        let scheme = isSecure ? "https" : "http"
        self.port = port
        self.allowsNetwork = allowsNetwork
        self.isExposed = isExposed
        withholdsPrivate = isExposed && !showsPrivate && !isTransparent
        // Whatever was done at the origin may be done here, as long as it stays among the mirrors.
        let inside = (root == nil ? "\(scheme)://*.localhost:\(port)" : "'self'") + " data: blob:"
        let policy =
            "default-src \(inside) 'unsafe-inline' 'unsafe-eval'; form-action \(inside); webrtc 'block'"
        let fields: [(name: String, value: String)] = [
            // Names are looked up before anything is asked of them, which a policy does not govern.
            ("X-DNS-Prefetch-Control", "off")
        ]
        let name = root == nil ? "localhost" : Self.portalName
        let frames = "\(policy); frame-src \(inside) \(scheme)://\(name):\(port)\(PortalLinks.barFrame)"
        let plainFields =
            isTransparent
            ? [] : allowsNetwork ? fields : [("Content-Security-Policy", policy)] + fields
        common = Common(
            scheme: scheme, root: root, seals: seals, names: names, plainFields: plainFields,
            barFields: isTransparent || allowsNetwork
                ? plainFields : [("Content-Security-Policy", frames)] + fields)
    }

    /// What the answers of an URL carry. Beside a site at the root, which has the same origin to a browser,
    /// documents get one of their own each.
    func fields(of url: WebURL) -> [(name: String, value: String)] {
        guard let root, !root.isRoot(url) else { return commonFields }
        return commonFields + [("Content-Security-Policy", Self.sandbox)]
    }

    static let sandbox = """
        sandbox allow-scripts allow-forms allow-modals allow-popups allow-popups-to-escape-sandbox allow-downloads \
        allow-pointer-lock allow-orientation-lock allow-presentation allow-top-navigation-by-user-activation
        """

    /// The larder's address of an http or https URL; nil for other schemes, which stay as they are.
    func address(of url: WebURL) -> String? {
        if isTransparent { return url.href }
        guard let name = name(of: url) else { return nil }
        let fragment = url.fragment.map { "#\($0)" } ?? ""
        guard let root else { return "\(scheme)://\(name):\(port)\(url.target)\(fragment)" }
        return (authority.map { "\(scheme)://\($0)" } ?? "") + root.path(of: url, below: folder) + fragment
    }

    /// Under which an origin is shown where the client is.
    func name(of url: WebURL) -> String? { names.name(of: url, in: root == nil ? visit : nil) }

    /// The larder's address of an http or https URL as of a visit. Nil for other schemes, and where origins
    /// have no names.
    func address(of url: WebURL, in visit: Int64) -> String? {
        guard root == nil else { return nil }
        var layout = self
        layout.visit = visit
        return layout.address(of: url)
    }

    /// Below which others are shown beside a site at the root.
    var folder: String {
        guard case .page(let origins) = page, let url = WebURL(origins[0] + "/") else {
            return RootOrigin.prefix
        }
        return seals.folder(of: url)
    }

    /// As one client is to see it.
    ///
    /// - Parameter target: what it asks for.
    func seen(from authority: String, at target: String = "/") -> OriginLayout {
        if isTransparent { return self }
        var layout = self
        guard root != nil else {
            layout.visit = WebURL("http://\(authority)/").flatMap { OriginNames.visit(in: $0.host)?.number }
            return layout
        }
        layout.authority = authority
        layout.page = seals.reading(target)
        return layout
    }

    /// Where a document stands beside a site at the root, when that is not where it is asked for.
    func sealed(_ url: WebURL) -> String? {
        guard let root, !root.isRoot(url) else { return nil }
        if case .page(let origins) = page, origins.contains(url.origin) { return nil }
        return (authority.map { "\(scheme)://\($0)" } ?? "")
            + root.path(of: url, below: seals.folder(of: url))
    }

    /// Whether relative references in a body from there lead where they should by themselves.
    func keepsPaths(of url: WebURL) -> Bool {
        root?.isRoot(url) ?? true
    }

    /// Where the larder's own pages are; nil where they are shown to nobody.
    var portal: String? {
        guard root != nil else { return "\(scheme)://localhost:\(port)/" }
        return isExposed ? nil : "\(scheme)://\(Self.portalName):\(port)/"
    }

    /// Where to look.
    var home: String { portal ?? "\(scheme)://localhost:\(port)/" }

    func isPortal(_ name: String) -> Bool {
        guard root != nil else { return name == "localhost" || name == "127.0.0.1" || name == "[::1]" }
        return name == Self.portalName && !isExposed
    }

    /// The larder's origin of an original one.
    func localOrigin(of url: WebURL) -> String? { name(of: url).map { "\(scheme)://\($0):\(port)" } }

    /// What a source of an URL's policy is here: keywords and schemes as they are, a host's name as the
    /// larder has it. Nil for what it cannot have.
    func localSource(_ source: String, of url: WebURL) -> String? {
        // Beside a site at the root no page has an origin but the root's.
        if source == "*" { return source }
        if source.hasPrefix("'") { return keepsPaths(of: url) ? source : nil }
        if source == "https:" || source == "http:" {
            return root == nil ? "\(scheme)://*.localhost:\(port)" : "'self'"
        }
        guard !source.hasSuffix(":") else { return nil }
        if let root { return root.isNamed(by: source) ? "'self'" : nil }
        let host = source.utf8.contains("://".utf8) ? source : "https://" + source
        guard host.utf8.contains(UInt8(ascii: "*")) else {
            return WebURL(host).flatMap(localOrigin)
        }
        // Hosts below one: the star stays where it stood.
        let below = host.drop { $0 != "*" }
        guard below.hasPrefix("*."), let url = WebURL("https://\(below.dropFirst(2))"), url.port == nil,
            let name = name(of: url)
        else { return nil }
        return "\(scheme)://*.\(name):\(port)"
    }

    // MARK: - Whose page is where

    /// - Parameter authority: by which the larder is asked.
    func page(at local: WebURL, _ authority: String) -> Asker.Kind {
        guard local.scheme == scheme else { return .outside }
        if local.effectivePort == Int(port), isPortal(local.host) { return .portal }
        guard let root else { return page(named: local) }
        guard local.origin == WebURL("\(scheme)://\(authority)/")?.origin else { return .outside }
        let origins = root.addresses(of: local.target).compactMap { WebURL($0)?.origin }
        return origins.isEmpty ? .outside : .page(origins)
    }

    func page(atAuthority authority: String) -> Asker.Kind {
        WebURL("\(scheme)://\(authority)/").map { page(at: $0, authority) } ?? .outside
    }

    /// What is said upstream of an origin that is none of a mirrored page. A page that is not mirrored knows
    /// the site at the root by the larder's name for it.
    ///
    /// - Parameter isLed: the root's own page may have led there.
    func originalOrigin(_ origin: String, isLed: Bool) -> String {
        guard let root else { return "null" }
        guard isLed else { return origin }
        return origin == authority.flatMap { WebURL("\(scheme)://\($0)/")?.origin } ? root.origins[0] : "null"
    }

    private func page(named local: WebURL) -> Asker.Kind {
        // A page of another visit is as far away as one from elsewhere.
        guard local.effectivePort == Int(port), OriginNames.visit(in: local.host)?.number == visit,
            case .origins(let origins) = names.reading(local.host)
        else { return .outside }
        return .page(origins)
    }
}

/// The origin that is shown at the root, and where the others are shown beside it.
struct RootOrigin: Sendable, Equatable {
    /// By either scheme, unless it has a port of its own.
    let origins: [String]

    static let prefix = "/-/web/"

    /// Nil for what is no http or https URL.
    init?(_ url: WebURL) {
        guard url.isHTTP, !url.host.isEmpty else { return nil }
        let other = url.scheme == "https" ? "http" : "https"
        origins = url.port == nil ? [url.origin, "\(other)://\(url.host)"] : [url.origin]
    }

    func isRoot(_ url: WebURL) -> Bool { origins.contains(url.origin) }

    /// The path, with the query, under which a URL is shown. A path that begins with two slashes would be
    /// read as a host.
    ///
    /// - Parameter folder: below which others are shown.
    func path(of url: WebURL, below folder: String = Self.prefix) -> String {
        if isRoot(url) { return url.target.hasPrefix("//") ? "/." + url.target : url.target }
        let host = url.port.map { "\(url.host):\($0)" } ?? url.host
        return "\(folder)\(url.scheme)/\(host)\(url.target)"
    }

    /// Whether a source of a policy names the root's origin.
    func isNamed(by source: String) -> Bool {
        let isWhole = source.utf8.contains("://".utf8)
        guard let star = source.firstIndex(of: "*") else {
            return ["https", "http"].contains { scheme in
                WebURL(isWhole ? source : "\(scheme)://\(source)").map(isRoot) ?? false
            }
        }
        return origins.contains { origin in
            origin.hasPrefix(source[..<star]) && origin.hasSuffix(source[star...].dropFirst())
        }
    }

    /// The original URLs that a target may mean, the likelier first; empty for the larder's own pages.
    func addresses(of target: String) -> [String] {
        guard target.hasPrefix("/-/") else { return origins.map { $0 + target } }
        let isSealed = target.hasPrefix(PageSeals.prefix)
        let folder = isSealed ? PageSeals.prefix : Self.prefix
        let parts = target.utf8.dropFirst(folder.utf8.count)
            .split(
                separator: UInt8(ascii: "/"), maxSplits: isSealed ? 3 : 2, omittingEmptySubsequences: false
            )
            .dropFirst(isSealed ? 1 : 0).map { String(Substring($0)) }
        guard target.hasPrefix(folder), parts.count == 3, ["http", "https"].contains(parts[0]),
            let url = WebURL("\(parts[0])://\(parts[1])/\(parts[2])"), !url.hasCredentials
        else { return [] }
        let other = parts[0] == "https" ? "http" : "https"
        return url.port == nil ? [url.href, "\(other)://\(parts[1])/\(parts[2])"] : [url.href]
    }
}

/// Beside a site at the root, documents of other origins have none to a browser, which then says of no
/// request whose it is. So the larder shows each such document below a seal, which its own addresses carry
/// on: whatever is asked for below `/-/as/SEAL/` is asked for by a page of that origin, since nobody else
/// knows its seal.
struct PageSeals: Sendable {
    /// Whose page asks, by the path of a request.
    enum Reading: Equatable, Sendable {
        case none
        /// The origins that it stands for, the likelier first.
        case page([String])
        /// An earlier server gave it, or somebody made it up.
        case unknown
    }

    static let prefix = "/-/as/"

    private let secret: [UInt8]

    init() {
        var generator = SystemRandomNumberGenerator()
        secret = (0..<4).flatMap { _ in
            let word: UInt64 = generator.next()
            return (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) }
        }
    }

    /// Where a document of the URL's origin has its addresses.
    func folder(of url: WebURL) -> String {
        "\(Self.prefix)\(seal(of: url.origin)).\(url.scheme).\(url.origin.dropFirst(url.scheme.utf8.count + 3))/"
    }

    func reading(_ target: String) -> Reading {
        guard target.hasPrefix(Self.prefix) else { return .none }
        let parts = target.dropFirst(Self.prefix.utf8.count).prefix { $0 != "/" }
            .split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, ["http", "https"].contains(parts[1]),
            let url = WebURL("\(parts[1])://\(parts[2])/"), parts[0] == seal(of: url.origin)
        else { return .unknown }
        let other = url.scheme == "https" ? "http" : "https"
        return .page(url.port == nil ? [url.origin, "\(other)://\(url.host)"] : [url.origin])
    }

    private func seal(of origin: String) -> String {
        let bytes = secret + Array(origin.utf8)
        return String(DigestStream.digest(.sha256, of: bytes.span).hex.prefix(32))
    }
}
