internal import Web

/// Where the larder shows what: every origin under its own name below `localhost`.
struct OriginLayout: Sendable {
    let port: UInt16
    /// What every answer carries, page or not: a worker, for one, lives by the policy of its own script's answer.
    let commonFields: [(name: String, value: String)]

    init(port: UInt16) {
        self.port = port
        // Whatever was done at the origin may be done here, as long as it stays inside the larder.
        let inside = "http://localhost:\(port) http://*.localhost:\(port) data: blob:"
        let policy = "default-src \(inside) 'unsafe-inline' 'unsafe-eval'; form-action \(inside)"
        commonFields = [
            ("Content-Security-Policy", policy),
            // Names are looked up before anything is asked of them, which a policy does not govern.
            ("X-DNS-Prefetch-Control", "off"),
            // Because of `crossOriginFields`.
            ("Vary", "Origin"),
        ]
    }

    /// The larder's address of an http or https URL; nil for other schemes, which stay as they are.
    func address(of url: WebURL) -> String? {
        guard let name = OriginNames.name(of: url) else { return nil }
        let fragment = url.fragment.map { "#\($0)" } ?? ""
        return "http://\(name):\(port)\(url.target)\(fragment)"
    }

    var portal: String { "http://localhost:\(port)/" }

    /// Lets a script of one of the larder's origins read what another one answered, as field lines.
    ///
    /// What the network's server had said names the network's origins. Here each of them could have been copied without
    /// asking, so each may read the others; pages from elsewhere may not.
    func crossOriginFields(for origin: String) -> [UInt8] {
        guard let url = WebURL(origin), url.origin == origin, url.scheme == "http", url.effectivePort == Int(port),
            url.host == "localhost" || url.host.hasSuffix(".localhost")
        else { return [] }
        let lines = "Access-Control-Allow-Origin: \(origin)\r\nAccess-Control-Allow-Credentials: true\r\n"
        return Array(lines.utf8)
    }
}
