internal import Digest
package import Store
package import Web

/// The mapping from original URLs to mirror addresses. There are four layouts:
///
/// - One name per origin (`root` is nil): every origin has a name of its own below `localhost`, see ``OriginNames``.
///   `https://a.test/x` is `http://a-test.localhost:8080/x`.
/// - A site at the root, for this machine only: the site is at `http://localhost:8080/x`, and all other origins keep
///   their names.
/// - A site at the root, for other machines (`sharesOrigin`): other machines cannot resolve names below `localhost`,
///   so the site is at the server's own address, and all other origins are below ``RootOrigin/prefix`` on the same
///   host: `http://192.0.2.1:8080/-/web/SEAL/https/cdn.test/x`. To a browser, all of them are one origin; seals
///   (``PageSeals``), sandboxing and headers separate them.
/// - A proxy (`isTransparent`): every URL is its own address.
///
/// A layout is a value. The server has one; `forClient` adapts it to each request.
package struct OriginLayout: Sendable {
    /// The part that is equal for all clients. It is a reference, because layouts are copied several times for each
    /// request.
    private let shared: SharedValues
    package let port: UInt16
    /// The scheme that clients use: https where the server speaks TLS.
    package var scheme: String { shared.scheme }
    /// The origin at the root, if one was chosen.
    package var root: RootOrigin? { shared.root }
    /// The host and port that the client used, where addresses depend on them. Nil for a layout that belongs
    /// to no client.
    package var authority: String?
    /// Below the prefix of a root: the page whose document this is, or which sent the request.
    package private(set) var sealedPage = PageSeals.SealedPage.none
    /// The earlier snapshot whose names the client uses; nil for the live responses.
    package private(set) var snapshot: Int64?
    /// The seals of pages on a server with a root that other machines can reach.
    package var seals: PageSeals { shared.seals }
    package var names: OriginNames { shared.names }
    /// The header fields of every response of the mirror.
    package var commonFields: [(name: String, value: String)] {
        hasBar ? shared.barFields : shared.plainFields
    }
    /// The sources of a content security policy that match the portal and all pages that it links to. The portal redirects
    /// some of its forms to mirrored pages, and browsers apply `form-action` to the redirect, too.
    package var portalFormSources: String { shared.portalFormSources }
    /// Whether the answer is for a window, and a document has the portal's bar.
    package var hasBar = false
    /// Whether other machines can reach the server. The portal then requires its password.
    package let isExposed: Bool
    /// Whether responses that were fetched with credentials are never served.
    package let withholdsPrivate: Bool
    /// Whether this is a proxy that several people use.
    package var isShared: Bool { isTransparent && isExposed }
    /// Whether the store is read as if it had no responses that were fetched with credentials.
    package var hidesPrivate: Bool { withholdsPrivate || isShared }
    /// Whether the site at the root and the other origins have one name, so that a browser treats them as one
    /// origin. The server then separates them by seals and headers.
    package var sharesOrigin: Bool { shared.root != nil && isExposed }

    /// The name of the portal on this machine. No site was ever served there, so no browser has a service
    /// worker or a stored response of one for it.
    package static let portalName = "larder.localhost"
    /// The address of the frame in the bar of a page. Every page may show it.
    package static let barFrame = "/-/bar/frame"

    /// Whether pages may request other URLs directly from the network.
    package let allowsNetwork: Bool
    /// Whether this is a proxy: every URL is its own address, and nothing is rewritten.
    package let isTransparent: Bool

    /// The values that all layouts of a server share.
    private final class SharedValues: Sendable {
        let scheme: String
        let root: RootOrigin?
        let seals: PageSeals
        let names: OriginNames
        let loopbackNames: [String]
        let portalFormSources: String
        /// Headers of every response, page or not: a worker, for example, lives by the policy of its script.
        let plainFields: [(name: String, value: String)]
        /// Headers of pages that have the portal's bar.
        let barFields: [(name: String, value: String)]

        init(
            scheme: String, root: RootOrigin?, seals: PageSeals, names: OriginNames, loopbackNames: [String],
            portalFormSources: String, plainFields: [(name: String, value: String)],
            barFields: [(name: String, value: String)]
        ) {
            self.scheme = scheme
            self.root = root
            self.seals = seals
            self.names = names
            self.loopbackNames = loopbackNames
            self.portalFormSources = portalFormSources
            self.plainFields = plainFields
            self.barFields = barFields
        }
    }

    package init(
        port: UInt16, root: RootOrigin? = nil, allowsNetwork: Bool = false, isExposed: Bool = false,
        showsPrivate: Bool = false, isTransparent: Bool = false, isSecure: Bool = false,
        names: OriginNames = .system,
        seals: PageSeals = PageSeals(), loopbackNames: [String] = Self.allLoopbackNames
    ) {
        self.isTransparent = isTransparent
        let scheme = isSecure ? "https" : "http"
        self.port = port
        self.allowsNetwork = allowsNetwork
        self.isExposed = isExposed
        withholdsPrivate = isExposed && !showsPrivate && !isTransparent
        // Pages may do everything that they could do on the web, within the mirror.
        let hosts =
            switch (root, isExposed) {
            case (nil, _): "\(scheme)://*.localhost:\(port)"
            case (_?, true): "'self'"
            case (_?, false): "'self' \(scheme)://localhost:\(port) \(scheme)://*.localhost:\(port)"
            }
        let inside = "\(hosts) data: blob:"
        let policy = "default-src \(inside) 'unsafe-inline' 'unsafe-eval'; form-action \(inside)"
        let fields: [(name: String, value: String)] = [
            // A content security policy does not restrict DNS lookups before a request.
            ("X-DNS-Prefetch-Control", "off"),
            // A page that sets `document.domain` would become one origin with its host's other ports.
            ("Origin-Agent-Cluster", "?1"),
        ]
        let frames =
            "\(policy); frame-src \(inside) \(scheme)://\(Self.portalName):\(port)\(Self.barFrame)"
        let plainFields =
            isTransparent
            ? [] : allowsNetwork ? fields : [("Content-Security-Policy", policy)] + fields
        shared = SharedValues(
            scheme: scheme, root: root, seals: seals, names: names, loopbackNames: loopbackNames,
            // On other machines, names below localhost refer to themselves.
            portalFormSources: isExposed ? "'self'" : root == nil ? "'self' \(hosts)" : hosts,
            plainFields: plainFields,
            barFields: isTransparent || allowsNetwork
                ? plainFields : [("Content-Security-Policy", frames)] + fields)
    }

    /// The header fields of responses for a URL. A document that shares the root's host gets an opaque origin, and a
    /// referrer policy that keeps its address secret, because the address contains its seal.
    package func fields(of url: WebURL) -> [(name: String, value: String)] {
        guard sharesRootHost(url) else { return commonFields }
        // `Origin-Agent-Cluster` has no effect on an opaque origin.
        return commonFields.filter { $0.name != "Origin-Agent-Cluster" } + [
            ("Content-Security-Policy", Self.sandbox), ("Referrer-Policy", "no-referrer"),
        ]
    }

    /// The content security policy that gives a document an opaque origin: without `allow-same-origin`, its scripts
    /// cannot read the data of the origin whose host it shares.
    package static let sandbox = """
        sandbox allow-scripts allow-forms allow-modals allow-popups allow-popups-to-escape-sandbox allow-downloads \
        allow-pointer-lock allow-orientation-lock allow-presentation allow-top-navigation-by-user-activation
        """

    /// Whether the URL belongs to another origin than the root, but is served on the root's host.
    package func sharesRootHost(_ url: WebURL) -> Bool {
        guard sharesOrigin, let root else { return false }
        return !root.isRoot(url)
    }

    /// Whether the URL belongs to the site that the server shows to other machines.
    package func isPublished(_ url: WebURL) -> Bool {
        guard sharesOrigin, let root else { return false }
        return root.isRoot(url)
    }

    // MARK: - Addresses

    /// The mirror's address of an http or https URL. Nil for other schemes, whose URLs are not rewritten.
    package func address(of url: WebURL) -> String? {
        if isTransparent { return url.href }
        guard let name = name(of: url) else { return nil }
        let fragment = url.fragment.map { "#\($0)" } ?? ""
        guard sharesOrigin, let root else {
            return "\(scheme)://\(name):\(port)\(url.target)\(fragment)"
        }
        return clientOrigin + root.path(of: url, below: folder) + fragment
    }

    /// The scheme, host and port that the client used; empty for a layout that belongs to no client.
    private var clientOrigin: String { authority.map { "\(scheme)://\($0)" } ?? "" }

    /// The host name under which an origin is served to the client, without the port.
    package func name(of url: WebURL) -> String? {
        if sharesOrigin { return names.name(of: url) }
        if snapshot == nil, root?.isRoot(url) ?? false { return rootName }
        return names.name(of: url, in: snapshot)
    }

    /// The name of the site at the root on this machine: a page that was opened by its address keeps it.
    private var rootName: String {
        guard let host = authority.flatMap({ WebURL("\(scheme)://\($0)/")?.host }),
            shared.loopbackNames.contains(host)
        else { return "localhost" }
        return host
    }

    static let allLoopbackNames = ["localhost", "127.0.0.1", "[::1]"]

    /// The names of this machine at which the server, and no other program, has the port.
    package func isLoopback(_ name: String) -> Bool { shared.loopbackNames.contains(name) }

    /// The mirror address of an http or https URL in a snapshot. Nil for other schemes, and if origins have
    /// no names.
    package func address(of url: WebURL, in snapshot: Int64) -> String? {
        guard !sharesOrigin else { return nil }
        var layout = self
        layout.snapshot = snapshot
        return layout.address(of: url)
    }

    /// The folder below which the client's page finds other origins beside a site at the root. It contains
    /// the page's seal.
    package var folder: String {
        if case .page(let origins) = sealedPage, let url = WebURL(origins[0] + "/") {
            return seals.folder(of: url)
        }
        guard let root, let url = WebURL(root.origins[0] + "/") else { return RootOrigin.prefix }
        return seals.folder(of: url)
    }

    /// Returns the layout for one request.
    ///
    /// - Parameters:
    ///   - authority: The host and port of the request.
    ///   - target: The target of the request. If it contains a seal, addresses for the page are below that seal.
    package func forClient(_ authority: String, target: String = "/") -> OriginLayout {
        if isTransparent { return self }
        var layout = self
        if root != nil { layout.authority = authority }
        if sharesOrigin {
            layout.sealedPage = seals.sealedPage(of: target)
        } else {
            layout.snapshot = WebURL("http://\(authority)/").flatMap {
                OriginNames.snapshot(in: $0.host)?.number
            }
        }
        return layout
    }

    /// The address of a document with the seal of its own origin. A link to the document has the seal of the linking
    /// page, which must not become the address of another origin's document. Nil if the address needs no other
    /// seal.
    package func addressWithOwnSeal(of url: WebURL) -> String? {
        guard sharesRootHost(url), let root else { return nil }
        if case .page(let origins) = sealedPage, origins.contains(url.origin) { return nil }
        return clientOrigin + root.path(of: url, below: seals.folder(of: url))
    }

    /// Whether relative links in a body of the URL resolve correctly without rewriting.
    package func keepsRelativeLinks(of url: WebURL) -> Bool { !sharesRootHost(url) }

    /// The address of the portal; nil if it has none.
    package var portal: String? {
        guard isExposed else { return "\(scheme)://\(Self.portalName):\(port)/" }
        return root == nil ? "\(scheme)://localhost:\(port)/" : nil
    }

    /// The address that error messages tell users to open.
    package var home: String { portal ?? "\(scheme)://localhost:\(port)/" }

    /// Whether the portal answers at the name. At the plain names of this machine it answers programs, and
    /// redirects browsers to its own name (``LarderNames/redirectsToPortal(_:)``).
    package func isPortal(_ name: String) -> Bool {
        guard root != nil else { return name == Self.portalName || isLoopback(name) }
        return name == Self.portalName && !isExposed
    }

    /// Whether the name is the one of a site at the root, on this machine.
    package func isLocalRoot(_ name: String) -> Bool {
        root != nil && !isExposed && isLoopback(name)
    }

    // MARK: - Origins

    /// The mirror's origin of an original one.
    package func localOrigin(of url: WebURL) -> String? {
        if sharesOrigin { return names.name(of: url).map { "\(scheme)://\($0):\(port)" } }
        return name(of: url).map { "\(scheme)://\($0):\(port)" }
    }

    /// Translates a source expression of a URL's content security policy: keywords stay, hosts get the mirror's names.
    /// Returns nil for a source that has no counterpart.
    package func localSource(_ source: String, of url: WebURL) -> String? {
        if source == "*" { return source }
        // A page that shares the root's name has no origin of its own.
        if source.hasPrefix("'") { return keepsRelativeLinks(of: url) ? source : nil }
        let everyName = "\(scheme)://*.localhost:\(port)"
        if source == "https:" || source == "http:" {
            if sharesOrigin { return "'self'" }
            return root == nil ? everyName : "\(everyName) \(scheme)://\(rootName):\(port)"
        }
        guard !source.hasSuffix(":") else { return nil }
        let rootSource = root.flatMap { root in
            root.isNamed(by: source) ? sharesOrigin ? "'self'" : "\(scheme)://\(rootName):\(port)" : nil
        }
        if sharesOrigin { return rootSource }
        let host = source.utf8.contains("://".utf8) ? source : "https://" + source
        guard host.utf8.contains(UInt8(ascii: "*")) else {
            return rootSource ?? WebURL(host).flatMap(localOrigin)
        }
        // A pattern such as `*.example.com`.
        let below = host.drop { $0 != "*" }
        guard below.hasPrefix("*."), let url = WebURL("https://\(below.dropFirst(2))"), url.port == nil,
            let name = names.name(of: url, in: snapshot)
        else { return rootSource }
        let hosts = "\(scheme)://*.\(name):\(port)"
        return rootSource.map { "\(hosts) \($0)" } ?? hosts
    }

    // MARK: - From addresses to pages

    /// The page at a mirror address, as the sender of a request.
    ///
    /// - Parameter authority: The host and port that the request names.
    package func page(at local: WebURL, _ authority: String) -> Requester.Kind {
        guard local.scheme == scheme, local.effectivePort == Int(port) || sharesOrigin else {
            return .foreignPage
        }
        // On this machine, the portal's pages are at its own name. A page at a plain name may be from an
        // earlier site at the root, or from its service worker.
        if local.effectivePort == Int(port), isPortal(local.host), isExposed || local.host == Self.portalName
        {
            return .portal
        }
        if sharesOrigin { return pageWithSeal(at: local, authority) }
        if isLocalRoot(local.host) {
            // To a page of an earlier snapshot, a page of the live one is foreign.
            return snapshot == nil ? root.map { .page($0.origins) } ?? .foreignPage : .foreignPage
        }
        return pageWithName(at: local)
    }

    /// Whether a URL or an origin is the one that the client uses for this server.
    package func isOwnOrigin(_ text: String, _ authority: String) -> Bool {
        guard let url = WebURL(text) else { return false }
        return url.origin == WebURL("\(scheme)://\(authority)/")?.origin
    }

    /// The page that sent a request to its own origin, which the request names by this host and port.
    package func pageOfOrigin(at authority: String) -> Requester.Kind {
        WebURL("\(scheme)://\(authority)/").map { page(at: $0, authority) } ?? .foreignPage
    }

    /// The page at an address below the prefix. A page's script can pretend to be at any path of its origin,
    /// so only a seal proves which page it is.
    private func pageWithSeal(at local: WebURL, _ authority: String) -> Requester.Kind {
        guard let root, local.origin == WebURL("\(scheme)://\(authority)/")?.origin else {
            return .foreignPage
        }
        switch seals.sealedPage(of: local.target) {
        case .page(let origins): return .page(origins)
        case .unknown: return .foreignPage
        case .none: return local.target.hasPrefix("/-/") ? .foreignPage : .page(root.origins)
        }
    }

    /// The page at an address whose host name encodes its origins and its snapshot.
    private func pageWithName(at local: WebURL) -> Requester.Kind {
        // To a page of one snapshot, a page of another one is foreign.
        guard OriginNames.snapshot(in: local.host)?.number == snapshot,
            case .origins(let origins) = names.decode(local.host)
        else { return .foreignPage }
        return .page(origins)
    }

    /// The `Origin` value to send to a server for a page that is not part of the mirror, or may not be. Such a page
    /// knows the site at the root by the mirror's name.
    ///
    /// - Parameter isUnknownPage: Whether the request may come from a page of the root.
    package func originalOrigin(_ origin: String, isUnknownPage: Bool) -> String {
        guard sharesOrigin, let root else { return "null" }
        guard isUnknownPage else { return origin }
        return origin == authority.flatMap { WebURL("\(scheme)://\($0)/")?.origin } ? root.origins[0] : "null"
    }
}

/// The origin of the site at the root.
package struct RootOrigin: Sendable, Equatable {
    /// The origin with http and with https, unless it has an explicit port.
    package let origins: [String]

    /// The folder of all other origins on a server that listens for other machines. The page's seal follows.
    package static let prefix = "/-/web/"

    /// Nil for a URL that is neither http nor https.
    package init?(_ url: WebURL) {
        guard url.isHTTP, !url.host.isEmpty else { return nil }
        let other = url.scheme == "https" ? "http" : "https"
        origins = url.port == nil ? [url.origin, "\(other)://\(url.host)"] : [url.origin]
    }

    package func isRoot(_ url: WebURL) -> Bool { origins.contains(url.origin) }

    /// The path and query of a URL's address. `/.` is put before a path that begins with two slashes, which a browser
    /// would read as a host.
    ///
    /// - Parameter folder: The sealed folder of other origins.
    package func path(of url: WebURL, below folder: String) -> String {
        if isRoot(url) { return url.target.hasPrefix("//") ? "/." + url.target : url.target }
        let host = url.port.map { "\(url.host):\($0)" } ?? url.host
        return "\(folder)\(url.scheme)/\(host)\(url.target)"
    }

    /// Whether a source of a content security policy names the root's origin.
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

    /// The original URLs that a target may mean, the most likely first. Empty for the portal's own pages, and
    /// for addresses with a seal that this server did not make.
    package func addresses(of target: String, _ seals: PageSeals) -> [String] {
        guard target.hasPrefix("/-/") else { return origins.map { $0 + target } }
        guard case .page = seals.sealedPage(of: target) else { return [] }
        let parts = target.utf8.dropFirst(Self.prefix.utf8.count)
            .split(separator: UInt8(ascii: "/"), maxSplits: 3, omittingEmptySubsequences: false)
            .dropFirst().map { String(Substring($0)) }
        guard parts.count == 3, ["http", "https"].contains(parts[0]),
            let url = WebURL("\(parts[0])://\(parts[1])/\(parts[2])"), !url.hasCredentials
        else { return [] }
        let other = parts[0] == "https" ? "http" : "https"
        return url.port == nil ? [url.href, "\(other)://\(parts[1])/\(parts[2])"] : [url.href]
    }
}

/// Seals prove which page sent a request where all origins share one name.
///
/// There, a browser does not report which origin's page sent a request. So each page finds other origins
/// below `/-/web/SEAL/`, a folder whose name only the server can compute: a request for an address in it
/// comes from a page of that origin.
package struct PageSeals: Sendable {
    /// The page that an address proves.
    package enum SealedPage: Equatable, Sendable {
        /// The address is not below the prefix.
        case none
        /// The origins of the page, the most likely first.
        case page([String])
        /// The address has no seal, or not one of this server.
        case unknown

        /// The origins of the page; empty if the address has no valid seal.
        package var origins: [String] { if case .page(let origins) = self { origins } else { [] } }
    }

    private let secret: [UInt8]

    /// Draws a random secret of 256 bits. Seals are valid until the server stops.
    package init() {
        var generator = SystemRandomNumberGenerator()
        secret = (0..<4).flatMap { _ in
            let word: UInt64 = generator.next()
            return (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) }
        }
    }

    /// The folder in which pages of the URL's origin find other origins.
    package func folder(of url: WebURL) -> String {
        let host = url.origin.dropFirst(url.scheme.utf8.count + 3)
        return "\(RootOrigin.prefix)\(seal(of: url.origin)).\(url.scheme).\(host)/"
    }

    /// Checks the seal in a request target.
    package func sealedPage(of target: String) -> SealedPage {
        guard target.hasPrefix(RootOrigin.prefix) else { return .none }
        let parts = target.dropFirst(RootOrigin.prefix.utf8.count).prefix { $0 != "/" }
            .split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, ["http", "https"].contains(parts[1]),
            let url = WebURL("\(parts[1])://\(parts[2])/"), parts[0] == seal(of: url.origin)
        else { return .unknown }
        let other = url.scheme == "https" ? "http" : "https"
        return .page(url.port == nil ? [url.origin, "\(other)://\(url.host)"] : [url.origin])
    }

    /// The first half of the SHA-256 hash of the secret and the origin. Without the secret, it cannot be computed.
    private func seal(of origin: String) -> String {
        let bytes = secret + Array(origin.utf8)
        return String(DigestStream.digest(.sha256, of: bytes.span).hex.prefix(32))
    }
}
