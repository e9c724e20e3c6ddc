internal import Glibc
package import Web

/// A proxy to go through, of HTTP or SOCKS.
package struct Proxy: Sendable, Equatable {
    /// As libcurl takes it: with the user and the password.
    let text: String

    private static let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

    /// Reads `scheme://user:password@host:port`, of which only the host is needed; HTTP is meant where no
    /// scheme stands. With `socks5h` and `socks4a` the proxy looks names up. Nil when it names no proxy.
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

// MARK: - ProxyRules

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

    /// Reads the variables that every tool of this kind reads. `HTTP_PROXY` is not among them: to a program
    /// that a web server starts, it is a client's header field.
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

// MARK: - DirectHosts

/// The hosts that no proxy is asked for.
package struct DirectHosts: Sendable {
    private var isEverything = false
    /// With all that end in a dot and them.
    private var names: [String] = []
    private var blocks: [(address: IPAddress, length: Int)] = []

    /// What `$no_proxy` names, separated by commas or spaces (hosts, domains, addresses, blocks of addresses,
    /// or a star alone), and this machine: a proxy would look for it in itself.
    package init(given: String?) {
        isEverything = given == "*"
        for entry in ["localhost", "127.0.0.0/8", "::1"] { add(entry[...]) }
        for entry in (given ?? "").split(whereSeparator: { $0 == "," || $0 == " " }) { add(entry) }
    }

    private mutating func add(_ entry: Substring) {
        let parts = entry.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        if let address = IPAddress(String(parts[0])) {
            let most = address.bitWidth
            guard let length = parts.count == 1 ? most : Int(parts[1]), (0...most).contains(length) else {
                return
            }
            blocks.append((address, length))
        } else {
            let name = Self.trimmed(entry.lowercased())
            if !name.isEmpty { names.append(name) }
        }
    }

    /// - Parameter host: as a URL has it.
    package func contains(_ host: String) -> Bool {
        if isEverything { return true }
        if let address = IPAddress(host) {
            return blocks.contains { address.isInside($0.address, length: $0.length) }
        }
        let host = Self.trimmed(host)
        return names.contains { host == $0 || host.hasSuffix("." + $0) }
    }

    /// Without dots at the ends: `.example.com` means what `example.com` means.
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

    /// Whether the first bits are the same; never between the families.
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

/// Where a host is, whatever the name service says.
package struct HostAddress: Sendable, Equatable {
    package let host: String
    package let port: Int
    package let addresses: [IPAddress]

    package init(host: String, port: Int, addresses: [IPAddress]) {
        self.host = host
        self.port = port
        self.addresses = addresses
    }

    /// Reads `host:port:address`, with more addresses behind commas; those of IPv6 stand in brackets or not,
    /// and a star stands for every host. Nil for anything else.
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

    /// As Chromium takes it, which has one address for a name.
    var browserRule: String {
        let address = addresses.first?.description ?? "~NOTFOUND"
        return "MAP \(host):\(port) " + (address.contains(":") ? "[\(address)]" : address)
    }

    /// As libcurl takes it.
    var text: String { "\(host):\(port):" + addresses.map(\.description).joined(separator: ",") }
}
