internal import Web

/// Where the larder shows what: every origin under its own name below `localhost`, or one chosen site at the root of
/// whatever name the larder is asked by, and the others below `/-/web/`.
struct OriginLayout: Sendable {
    let port: UInt16
    /// The origin at the root; nil where each has its own name.
    let root: RootOrigin?
    /// How the client calls the larder, where addresses begin with that: with a site at the root, and in what is written for
    /// one client. Without it they are paths.
    var authority: String?
    /// What every answer carries, page or not: a worker, for one, lives by the policy of its own script's answer.
    let commonFields: [(name: String, value: String)]

    /// - Parameter allowsNetwork: pages may ask the network for what the larder did not lead to itself.
    init(port: UInt16, root: RootOrigin? = nil, allowsNetwork: Bool = false) {
        self.port = port
        self.root = root
        // Whatever was done at the origin may be done here, as long as it stays inside the larder.
        let names = root == nil ? "http://localhost:\(port) http://*.localhost:\(port)" : "'self'"
        let inside = "\(names) data: blob:"
        let policy = "default-src \(inside) 'unsafe-inline' 'unsafe-eval'; form-action \(inside)"
        let fields: [(name: String, value: String)] = [
            // Names are looked up before anything is asked of them, which a policy does not govern.
            ("X-DNS-Prefetch-Control", "off"),
            // Because of `crossOriginFields`.
            ("Vary", "Origin"),
        ]
        commonFields = allowsNetwork ? fields : [("Content-Security-Policy", policy)] + fields
    }

    /// The larder's address of an http or https URL; nil for other schemes, which stay as they are.
    func address(of url: WebURL) -> String? {
        guard let name = OriginNames.name(of: url) else { return nil }
        let fragment = url.fragment.map { "#\($0)" } ?? ""
        guard let root else { return "http://\(name):\(port)\(url.target)\(fragment)" }
        return (authority.map { "http://\($0)" } ?? "") + root.path(of: url) + fragment
    }

    /// As one client is to see it.
    func seen(from authority: String) -> OriginLayout {
        guard root != nil else { return self }
        var layout = self
        layout.authority = authority
        return layout
    }

    /// Whether relative references in a body from there lead where they should by themselves.
    func keepsPaths(of url: WebURL) -> Bool {
        root?.isRoot(url) ?? true
    }

    var portal: String { root == nil ? "http://localhost:\(port)/" : "/-/" }

    /// Lets a script of one of the larder's origins read what another one answered, as field lines.
    ///
    /// What the network's server had said names the network's origins. Here each of them could have been copied without
    /// asking, so each may read the others; pages from elsewhere may not.
    func crossOriginFields(for origin: String) -> [UInt8] {
        guard isOurs(origin) else { return [] }
        let lines = "Access-Control-Allow-Origin: \(origin)\r\nAccess-Control-Allow-Credentials: true\r\n"
        return Array(lines.utf8)
    }

    /// With a site at the root there is but one origin, which needs no permission.
    func isOurs(_ origin: String) -> Bool {
        guard root == nil, let url = WebURL(origin) else { return false }
        return url.origin == origin && url.scheme == "http" && url.effectivePort == Int(port)
            && (url.host == "localhost" || url.host.hasSuffix(".localhost"))
    }
}
