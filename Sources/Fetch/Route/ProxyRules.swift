internal import Glibc
package import Web

/// Which proxy a URL is fetched through.
package struct ProxyRules: Sendable {
    /// For URLs of http and of https.
    package var http: Proxy?
    package var https: Proxy?
    /// Who is asked without one.
    package var direct: DirectHosts

    package init(http: Proxy? = nil, https: Proxy? = nil, direct: DirectHosts = DirectHosts(given: nil)) {
        self.http = http
        self.https = https
        self.direct = direct
    }

    /// What the environment of this process says.
    package static var ofEnvironment: ProxyRules {
        ProxyRules { name in getenv(name).map { String(cString: $0) } }
    }

    /// Reads the variables that every tool of this kind reads. `HTTP_PROXY` is not among them: to a program that a web
    /// server starts, it is a client's header field.
    package init(environment: (String) -> String?) {
        func first(_ names: String...) -> Proxy? {
            names.lazy.compactMap(environment).first { !$0.isEmpty }.flatMap { Proxy($0) }
        }
        http = first("http_proxy", "all_proxy", "ALL_PROXY")
        https = first("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
        direct = DirectHosts(given: environment("no_proxy") ?? environment("NO_PROXY"))
    }

    package var isEmpty: Bool { http == nil && https == nil }

    /// Nil when it is asked directly.
    package func proxy(for url: WebURL) -> Proxy? {
        guard let proxy = url.scheme == "https" ? https : http, !direct.contains(url.host) else { return nil }
        return proxy
    }
}
