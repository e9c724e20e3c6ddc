internal import CLinux
internal import Glibc

/// A socket that waits for clients.
final class ListeningSocket: Sendable {
    let descriptor: Int32
    let port: UInt16

    /// Several may share a port when all of them say so; the kernel then spreads the clients over them.
    init(_ host: ListenAddress.Host, port: UInt16, isShared: Bool) throws(ServerError) {
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
        // A port whose last connections still linger may be taken at once.
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, size)
        if isShared { setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, size) }
        // IPv4 has a socket of its own.
        if family == AF_INET6 { setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &on, size) }
        guard let bound = Self.bind(descriptor, host, port), listen(descriptor, 1024) == 0 else {
            let error = ServerError(listening: port, on: host, errno)
            close(descriptor)
            throw error
        }
        self.port = bound
    }

    deinit {
        close(descriptor)
    }

    /// One on each host. Port 0 lets the kernel choose, and the same port is then asked for on the others.
    static func all(
        on address: ListenAddress, port: UInt16, isShared: Bool
    ) throws(ServerError) -> [ListeningSocket] {
        var sockets: [ListeningSocket] = []
        for host in address.hosts {
            do throws(ServerError) {
                sockets.append(try ListeningSocket(host, port: sockets.first?.port ?? port, isShared: isShared))
            } catch {
                // A machine without IPv6 is served on IPv4 alone. Another server on the port is no such case: browsers
                // ask the IPv6 address of localhost first.
                guard !sockets.isEmpty, error.code == EAFNOSUPPORT || error.code == EADDRNOTAVAIL else { throw error }
            }
        }
        return sockets
    }

    /// The port, which the kernel chose when 0 was asked for.
    private static func bind(_ descriptor: Int32, _ host: ListenAddress.Host, _ port: UInt16) -> UInt16? {
        // What stands in a `ListenAddress` is a number, whose zone alone is looked up.
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host.text, String(port), &hints, &found) == 0, let entry = found?.pointee,
            let address = entry.ai_addr
        else {
            errno = EADDRNOTAVAIL
            return nil
        }
        defer { freeaddrinfo(found) }
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
