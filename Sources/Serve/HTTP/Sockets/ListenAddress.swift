internal import CLinux
internal import Glibc

/// Where a server waits for clients.
package struct ListenAddress: Sendable, Equatable, CustomStringConvertible {
    /// Both loopback addresses, which only this machine reaches.
    package static let loopback = ListenAddress(hosts: [.ipv4("127.0.0.1"), .ipv6("::1")], text: "localhost")

    package let description: String
    let hosts: [Host]

    enum Host: Sendable, Equatable {
        case ipv4(String)
        case ipv6(String)

        var text: String {
            switch self {
            case .ipv4(let text), .ipv6(let text): text
            }
        }
    }

    /// Reads `192.0.2.1`, `2001:db8::1`, the same in brackets, `localhost` for both loopback addresses, and `*` for every
    /// address that the machine has. Nil for anything else: names are not looked up.
    package init?(_ text: String) {
        switch text {
        case "localhost": self = .loopback
        case "*": self.init(hosts: [.ipv4("0.0.0.0"), .ipv6("::")], text: text)
        default:
            let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
            let bare = isBracketed ? String(text.dropFirst().dropLast()) : text
            var ipv4 = in_addr()
            var ipv6 = in6_addr()
            if !isBracketed, inet_pton(AF_INET, bare, &ipv4) == 1 {
                self.init(hosts: [.ipv4(bare)], text: bare)
            } else if inet_pton(AF_INET6, String(bare.prefix { $0 != "%" }), &ipv6) == 1 {
                self.init(hosts: [.ipv6(bare)], text: bare)
            } else {
                return nil
            }
        }
    }

    private init(hosts: [Host], text: String) {
        self.hosts = hosts
        description = text
    }

    /// Nobody but this machine reaches it.
    package var isLoopback: Bool {
        hosts.allSatisfy { host in
            switch host {
            case .ipv4(let text): text.hasPrefix("127.")
            case .ipv6(let text): text == "::1"
            }
        }
    }

    /// Every address of the machine, those that it gets later included.
    package var isEverywhere: Bool {
        hosts.contains { $0.text == "0.0.0.0" || $0.text == "::" }
    }

    /// The addresses by which others reach it, as they stand in a URL: its own, or those that the machine has now.
    package var reachable: [String] {
        guard isEverywhere else { return hosts.map(Self.inURL) }
        let families = hosts.map { host in
            switch host {
            case .ipv4: AF_INET
            case .ipv6: AF_INET6
            }
        }
        return MachineAddresses.current(families).map(Self.inURL)
    }

    private static func inURL(_ host: Host) -> String {
        switch host {
        case .ipv4(let text): text
        // RFC 6874's zones are understood by no browser.
        case .ipv6(let text): "[\(text)]"
        }
    }
}
