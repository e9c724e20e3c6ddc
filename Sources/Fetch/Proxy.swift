internal import Glibc
package import Web

/// An HTTP or SOCKS proxy.
package struct Proxy: Sendable, Equatable {
    /// The proxy's URL in libcurl's form, with user and password.
    let text: String

    private static let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

    /// Parses `scheme://user:password@host:port`. Only the host is required, and the default scheme is http.
    /// With `socks5h` and `socks4a` the proxy looks up host names. Nil if the text is not a proxy.
    package init?(_ text: String) {
        let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        let scheme = parts.count == 2 ? parts[0].lowercased() : "http"
        // Parsed with the scheme http: the URL standard does not normalize hosts of unknown schemes such as
        // socks5.
        guard Self.schemes.contains(scheme), let place = parts.last, let url = WebURL("http://\(place)"),
            !url.host.isEmpty, url.path == "/", url.query == nil, url.fragment == nil
        else { return nil }
        self.text = "\(scheme)://\(place)"
    }
}

extension Proxy: Redacted {
    package var description: String { "a proxy" }
}

// MARK: - ProxyRules

/// The proxies of a fetch loop, and the rules that choose one of them for a URL.
package struct ProxyRules: Sendable {
    /// The proxy for http URLs.
    package var http: Proxy?
    /// The proxy for https URLs.
    package var https: Proxy?
    /// The hosts that are connected to directly.
    package var direct: DirectHosts

    package init(http: Proxy? = nil, https: Proxy? = nil, direct: DirectHosts = DirectHosts(given: nil)) {
        self.http = http
        self.https = https
        self.direct = direct
    }

    /// The rules from the environment variables of this process.
    static var ofEnvironment: ProxyRules {
        ProxyRules { name in getenv(name).map { String(cString: $0) } }
    }

    /// Reads the environment variables that are common for proxies, except for `HTTP_PROXY`: in a program
    /// that a web server starts, a client can set it with a header field.
    package init(environment: (String) -> String?) {
        func first(_ names: String...) -> Proxy? {
            names.lazy.compactMap(environment).first { !$0.isEmpty }.flatMap { Proxy($0) }
        }
        http = first("http_proxy", "all_proxy", "ALL_PROXY")
        https = first("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
        direct = DirectHosts(given: environment("no_proxy") ?? environment("NO_PROXY"))
    }

    package var isEmpty: Bool { http == nil && https == nil }

    /// The proxy for a URL; nil for a direct connection.
    package func proxy(for url: WebURL) -> Proxy? {
        guard let proxy = url.scheme == "https" ? https : http, !direct.contains(url.host) else { return nil }
        return proxy
    }
}

// MARK: - DirectHosts

/// The hosts that are connected to without a proxy.
package struct DirectHosts: Sendable {
    /// Whether the value of `no_proxy` is `*`, which means all hosts.
    private var includesAllHosts = false
    /// Host names, which also stand for their subdomains.
    private var names: [String] = []
    /// Blocks of addresses, with the length of their prefix in bits.
    private var blocks: [(address: IPAddress, length: Int)] = []

    /// Parses the value of `no_proxy`, and adds this machine, which a proxy would look for in itself. The
    /// value has hosts, domains, addresses and blocks of addresses, with commas or spaces between them, or is
    /// a single `*`.
    package init(given: String?) {
        includesAllHosts = given == "*"
        for entry in ["localhost", "127.0.0.0/8", "::1"] { add(entry[...]) }
        for entry in (given ?? "").split(whereSeparator: { $0 == "," || $0 == " " }) { add(entry) }
    }

    /// Adds an entry. An invalid block of addresses is ignored.
    private mutating func add(_ entry: Substring) {
        let parts = entry.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        if let address = IPAddress(String(parts[0])) {
            let bitWidth = address.bitWidth
            guard let length = parts.count == 1 ? bitWidth : Int(parts[1]), (0...bitWidth).contains(length)
            else {
                return
            }
            blocks.append((address, length))
        } else {
            let name = Self.trimmed(entry.lowercased())
            if !name.isEmpty { names.append(name) }
        }
    }

    /// - Parameter host: the host as written in a URL.
    package func contains(_ host: String) -> Bool {
        if includesAllHosts { return true }
        if let address = IPAddress(host) {
            return blocks.contains { address.isInside($0.address, length: $0.length) }
        }
        let host = Self.trimmed(host)
        return names.contains { host == $0 || host.hasSuffix("." + $0) }
    }

    /// The name without dots at either end: `.example.com` means the same as `example.com`.
    private static func trimmed(_ name: String) -> String {
        var name = name[...]
        while name.hasPrefix(".") { name = name.dropFirst() }
        while name.hasSuffix(".") { name = name.dropLast() }
        return String(name)
    }
}

extension IPAddress {
    var bitWidth: Int {
        switch self {
        case .v4: 32
        case .v6: 128
        }
    }

    /// Whether the first `length` bits are the same. False for addresses of different families.
    func isInside(_ block: IPAddress, length: Int) -> Bool {
        switch (self, block) {
        case (.v4(let own), .v4(let other)):
            length == 0 || (own ^ other) >> (32 - UInt32(length)) == 0
        case (.v6(let high, let low), .v6(let otherHigh, let otherLow)):
            if length <= 64 {
                length == 0 || (high ^ otherHigh) >> (64 - UInt64(length)) == 0
            } else {
                high == otherHigh && (low ^ otherLow) >> (128 - UInt64(length)) == 0
            }
        case (.v4, .v6), (.v6, .v4):
            false
        }
    }
}

// MARK: - HostAddress

/// The addresses to use for a host without a name lookup.
package struct HostAddress: Sendable, Equatable {
    package let host: String
    package let port: Int
    package let addresses: [IPAddress]

    package init(host: String, port: Int, addresses: [IPAddress]) {
        self.host = host
        self.port = port
        self.addresses = addresses
    }

    /// Parses `host:port:address`. More addresses may follow after commas, IPv6 addresses may have brackets,
    /// and `*` stands for every host. Nil for any other text.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, let port = Int(parts[1]), (1...65_535).contains(port)
        else {
            return nil
        }
        var addresses: [IPAddress] = []
        for part in parts[2].split(separator: ",", omittingEmptySubsequences: false) {
            guard let address = IPAddress(String(part)) else { return nil }
            addresses.append(address)
        }
        self.init(host: parts[0].lowercased(), port: port, addresses: addresses)
    }

    /// The rule for Chromium's `--host-resolver-rules`, which takes one address for a name.
    var browserRule: String {
        let address = addresses.first?.description ?? "~NOTFOUND"
        return "MAP \(host):\(port) " + (address.contains(":") ? "[\(address)]" : address)
    }

    /// The entry for libcurl's `CURLOPT_RESOLVE`.
    var text: String { "\(host):\(port):" + addresses.map(\.description).joined(separator: ",") }
}
