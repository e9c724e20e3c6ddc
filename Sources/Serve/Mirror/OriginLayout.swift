internal import Web

/// Where the larder shows what: every origin under its own name below `localhost`.
struct OriginLayout: Sendable {
    let port: UInt16

    /// The larder's address of an http or https URL; nil for other schemes, which stay as they are.
    func address(of url: WebURL) -> String? {
        guard let name = OriginNames.name(of: url) else { return nil }
        let fragment = url.fragment.map { "#\($0)" } ?? ""
        return "http://\(name):\(port)\(url.target)\(fragment)"
    }

    var portal: String { "http://localhost:\(port)/" }

    /// Pages may do whatever they did, as long as it stays inside the larder.
    var contentSecurityPolicy: String {
        let inside = "http://localhost:\(port) http://*.localhost:\(port) data: blob:"
        return "default-src \(inside) 'unsafe-inline' 'unsafe-eval'; form-action \(inside)"
    }
}
