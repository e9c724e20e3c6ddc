internal import CLinux
internal import Glibc

/// A listening TCP socket, which is non-blocking.
package final class ListeningSocket: Sendable {
    package let descriptor: Int32
    package let port: UInt16

    /// Binds a socket and starts to listen.
    ///
    /// - Parameters:
    ///   - isShared: Whether other sockets may use the port too, if they also set this. The kernel then
    ///     distributes the clients among them.
    ///   - listens: False only to check whether the port is free. If such a socket listened, closing it would
    ///     disconnect clients.
    package init(
        _ host: ListenAddress.Host, port: UInt16, isShared: Bool, listens: Bool = true
    ) throws(ServerError) {
        let family =
            switch host {
            case .ipv4: AF_INET
            case .ipv6: AF_INET6
            }
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, type, 0)
        guard descriptor >= 0 else { throw ServerError(listening: port, on: host, errno) }
        self.descriptor = descriptor
        var on: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        // The port can be reused while earlier connections on it are in TIME_WAIT.
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, size)
        if isShared { setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, size) }
        // Without this, the IPv6 socket could also take the IPv4 port, which has its own socket.
        if family == AF_INET6 { setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &on, size) }
        guard let bound = Self.bind(descriptor, host, port), !listens || listen(descriptor, 1024) == 0 else {
            let error = ServerError(listening: port, on: host, errno)
            close(descriptor)
            throw error
        }
        self.port = bound
    }

    deinit {
        close(descriptor)
    }

    /// Lets other sockets use the port too, if they were made with `isShared`.
    func share() throws(ServerError) {
        var on: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        guard setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, size) == 0 else {
            throw ServerError("share port \(port) among threads", errno)
        }
    }

    /// Opens a socket for each host of the address. With port 0, the kernel chooses a port for the first one, and
    /// the others use the same port.
    package static func open(
        on address: ListenAddress, port: UInt16, isShared: Bool, listens: Bool = true
    ) throws(ServerError) -> [ListeningSocket] {
        var sockets: [ListeningSocket] = []
        for host in address.hosts {
            do throws(ServerError) {
                sockets.append(
                    try ListeningSocket(
                        host, port: sockets.first?.port ?? port, isShared: isShared, listens: listens))
            } catch {
                // A machine without IPv6 is served on IPv4 only. It is an error if another server has the
                // port: browsers try the IPv6 address of localhost first.
                guard !sockets.isEmpty, error.code == EAFNOSUPPORT || error.code == EADDRNOTAVAIL else {
                    throw error
                }
            }
        }
        return sockets
    }

    /// Binds the socket, and returns the port; with port 0, the kernel chooses it. Nil if that fails; `errno`
    /// has the reason.
    private static func bind(_ descriptor: Int32, _ host: ListenAddress.Host, _ port: UInt16) -> UInt16? {
        // The address is numeric. Only an IPv6 zone is looked up.
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var result: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host.text, String(port), &hints, &result) == 0, let entry = result?.pointee,
            let address = entry.ai_addr
        else {
            errno = EADDRNOTAVAIL
            return nil
        }
        defer { freeaddrinfo(result) }
        var size = entry.ai_addrlen
        guard Glibc.bind(descriptor, address, size) == 0, getsockname(descriptor, address, &size) == 0 else {
            return nil
        }
        switch host {
        case .ipv4:
            return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                UInt16(bigEndian: $0.pointee.sin_port)
            }
        case .ipv6:
            return address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                UInt16(bigEndian: $0.pointee.sin6_port)
            }
        }
    }
}

/// The address or addresses on which a server listens.
package struct ListenAddress: Sendable, Equatable, CustomStringConvertible {
    /// Both loopback addresses, which only this machine can reach.
    package static let loopback = ListenAddress(hosts: [.ipv4("127.0.0.1"), .ipv6("::1")], text: "localhost")

    package let description: String
    package let hosts: [Host]

    /// A numeric IP address.
    package enum Host: Sendable, Equatable {
        case ipv4(String)
        case ipv6(String)

        package var text: String {
            switch self {
            case .ipv4(let text), .ipv6(let text): text
            }
        }
    }

    /// Parses `192.0.2.1`, `2001:db8::1`, the same in brackets, `localhost` for both loopback addresses, and
    /// `*` for every address of the machine. Nil for anything else: names are not looked up.
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

    /// Whether only this machine can reach the address.
    package var isLoopback: Bool {
        hosts.allSatisfy { host in
            switch host {
            case .ipv4(let text): text.hasPrefix("127.")
            case .ipv6(let text): text == "::1"
            }
        }
    }

    /// The names at which browsers on this machine reach the server, as written in URLs.
    package var loopbackNames: [String] {
        let hosts = hosts.map(\.text)
        return ["localhost"] + (isEverywhere || hosts.contains("127.0.0.1") ? ["127.0.0.1"] : [])
            + (isEverywhere || hosts.contains("::1") ? ["[::1]"] : [])
    }

    /// Whether the server listens on every address of the machine, including later ones.
    var isEverywhere: Bool {
        hosts.contains { $0.text == "0.0.0.0" || $0.text == "::" }
    }

    /// The addresses at which other machines reach the server, as written in URLs. If it listens everywhere,
    /// these are the machine's current addresses.
    package var reachableHosts: [String] {
        guard isEverywhere else { return hosts.map(Self.formatForURL) }
        let families = hosts.map { host in
            switch host {
            case .ipv4: AF_INET
            case .ipv6: AF_INET6
            }
        }
        return MachineAddresses.current(families).map(Self.formatForURL)
    }

    /// Returns the host as it is written in URLs.
    private static func formatForURL(_ host: Host) -> String {
        switch host {
        case .ipv4(let text): text
        // Zones (RFC 6874) are kept, although no browser understands them in a URL.
        case .ipv6(let text): "[\(text)]"
        }
    }
}

/// The network addresses of this machine.
enum MachineAddresses {
    /// The addresses of interfaces that are up, without loopback and link-local addresses. Browsers do not
    /// support URLs with the latter.
    static func current(_ families: [Int32]) -> [ListenAddress.Host] {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return [] }
        defer { freeifaddrs(list) }
        var hosts: [ListenAddress.Host] = []
        var next = list
        while let entry = next?.pointee {
            next = entry.ifa_next
            guard let address = entry.ifa_addr, families.contains(Int32(address.pointee.sa_family)),
                let host = parseHost(address), !hosts.contains(host), isRoutable(host)
            else { continue }
            hosts.append(host)
        }
        return hosts
    }

    /// Converts a socket address to text.
    private static func parseHost(_ address: UnsafeMutablePointer<sockaddr>) -> ListenAddress.Host? {
        let isIPv4 = Int32(address.pointee.sa_family) == AF_INET
        let size = isIPv4 ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size
        var name = [CChar](repeating: 0, count: 64)
        guard
            getnameinfo(address, socklen_t(size), &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST) == 0
        else { return nil }
        let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return isIPv4 ? .ipv4(text) : .ipv6(text)
    }

    /// Whether other machines can use the address: it is neither loopback nor link-local.
    private static func isRoutable(_ host: ListenAddress.Host) -> Bool {
        switch host {
        case .ipv4(let text): !text.hasPrefix("127.") && !text.hasPrefix("169.254.")
        case .ipv6(let text): text != "::1" && !text.hasPrefix("fe80:")
        }
    }
}
