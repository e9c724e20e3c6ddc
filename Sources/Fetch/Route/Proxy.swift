internal import Web

/// A proxy to go through, of HTTP or SOCKS.
package struct Proxy: Sendable, Equatable {
    /// As libcurl takes it: with the user and the password.
    let text: String

    private static let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

    /// Reads `scheme://user:password@host:port`, of which only the host is needed; HTTP is meant where no scheme
    /// stands. With `socks5h` and `socks4a` the proxy looks names up. Nil when it names no proxy.
    package init?(_ text: String) {
        let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        let scheme = parts.count == 2 ? parts[0].lowercased() : "http"
        // Not parsed by the proxy's own scheme: the standard keeps hosts of unknown schemes as they are.
        guard Self.schemes.contains(scheme), let place = parts.last, let url = WebURL("http://\(place)"),
            !url.host.isEmpty, url.path == "/", url.query == nil, url.fragment == nil
        else { return nil }
        self.text = "\(scheme)://\(place)"
    }
}

extension Proxy: Concealed {
    package var description: String { "a proxy" }
}
