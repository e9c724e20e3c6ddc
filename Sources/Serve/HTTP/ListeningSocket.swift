internal import CLinux
internal import Glibc

/// A socket that waits for clients on loopback.
final class ListeningSocket: Sendable {
    enum Loopback: Sendable {
        case ipv4
        case ipv6
    }

    let descriptor: Int32
    let port: UInt16

    /// Several may share a port when all of them say so; the kernel then spreads the clients over them.
    init(_ loopback: Loopback, port: UInt16, isShared: Bool) throws(ServerError) {
        let family = loopback == .ipv4 ? AF_INET : AF_INET6
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, type, 0)
        guard descriptor >= 0 else { throw ServerError("open a socket", errno) }
        self.descriptor = descriptor
        var on: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        // A port whose last connections still linger may be taken at once.
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, size)
        if isShared { setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, size) }
        let bound =
            switch loopback {
            case .ipv4: Self.bindIPv4(descriptor, port)
            case .ipv6: Self.bindIPv6(descriptor, port)
            }
        guard let bound else {
            let error = ServerError(listening: port, errno)
            close(descriptor)
            throw error
        }
        self.port = bound
        guard listen(descriptor, 1024) == 0 else { throw ServerError(listening: port, errno) }
    }

    deinit {
        close(descriptor)
    }

    /// One on each loopback address. Port 0 lets the kernel choose, and the same port is then asked for on the other.
    static func pair(port: UInt16, isShared: Bool) throws(ServerError) -> [ListeningSocket] {
        let ipv4 = try ListeningSocket(.ipv4, port: port, isShared: isShared)
        do throws(ServerError) {
            return [ipv4, try ListeningSocket(.ipv6, port: ipv4.port, isShared: isShared)]
        } catch {
            // A machine without IPv6 is served on IPv4 alone. Another server on the port is no such case: browsers ask
            // the IPv6 address of localhost first.
            guard error.code == EAFNOSUPPORT || error.code == EADDRNOTAVAIL else { throw error }
            return [ipv4]
        }
    }

    /// The port, which the kernel chose when 0 was asked for.
    private static func bindIPv4(_ descriptor: Int32, _ port: UInt16) -> UInt16? {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return bind(descriptor, &address).map { UInt16(bigEndian: $0.sin_port) }
    }

    private static func bindIPv6(_ descriptor: Int32, _ port: UInt16) -> UInt16? {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        address.sin6_addr = in6addr_loopback
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &on, socklen_t(MemoryLayout<Int32>.size))
        return bind(descriptor, &address).map { UInt16(bigEndian: $0.sin6_port) }
    }

    private static func bind<Address>(_ descriptor: Int32, _ address: inout Address) -> Address? {
        var size = socklen_t(MemoryLayout<Address>.size)
        return withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                guard Glibc.bind(descriptor, generic, size) == 0, getsockname(descriptor, generic, &size) == 0 else {
                    return nil
                }
                return pointer.pointee
            }
        }
    }
}
