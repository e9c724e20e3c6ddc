import Glibc

/// A loopback address to bind or connect to.
package enum Loopback: Sendable {
    case ipv4, ipv6

    /// The host, as written in a URL.
    package var host: String {
        switch self {
        case .ipv4: "127.0.0.1"
        case .ipv6: "[::1]"
        }
    }
}

/// A stream socket, closed when it is released.
///
/// One thread may send and receive while another one calls `shutDown`.
final class Socket: Sendable {
    let descriptor: Int32

    init(adopting descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit { Glibc.close(descriptor) }

    private convenience init(_ loopback: Loopback) throws(TestError) {
        let family = loopback == .ipv4 ? AF_INET : AF_INET6
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw TestError("opening a socket on \(loopback.host)") }
        self.init(adopting: descriptor)
    }

    /// A socket that listens on a port chosen by the system.
    ///
    /// The port stays reserved until the socket is closed, also after `shutDown`. This is because the socket
    /// binds to an explicit port: a port that the system chose on bind is released by `shutDown`.
    static func listening(on loopback: Loopback) throws(TestError) -> (socket: Socket, port: Int) {
        let first = try Socket(loopback)
        try first.bind(to: loopback, port: 0)
        let port = try first.port(on: loopback)
        let listener = try Socket(loopback)
        try listener.bind(to: loopback, port: port)
        guard listen(listener.descriptor, 512) == 0 else { throw TestError("listening on \(loopback.host)") }
        withExtendedLifetime(first) {}
        return (listener, Int(port))
    }

    /// A socket that is bound to a port but does not listen.
    ///
    /// - Parameter port: the port; nil lets the system choose one.
    static func bound(on loopback: Loopback, port: Int? = nil) throws(TestError) -> (
        socket: Socket, port: Int
    ) {
        let socket = try Socket(loopback)
        try socket.bind(to: loopback, port: UInt16(port ?? 0))
        return (socket, Int(try socket.port(on: loopback)))
    }

    /// Binds with `SO_REUSEADDR`: several sockets may be bound to a port as long as none of them listens.
    private func bind(to loopback: Loopback, port: UInt16) throws(TestError) {
        set(SOL_SOCKET, SO_REUSEADDR, Int32(1))
        let bound = Self.withAddress(loopback, port: port) { Glibc.bind(descriptor, $0, $1) }
        guard bound == 0 else { throw TestError("binding to \(loopback.host):\(port)") }
    }

    private func port(on loopback: Loopback) throws(TestError) -> UInt16 {
        var storage = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let named = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard named == 0 else { throw TestError("asking for the port on \(loopback.host)") }
        // The port is at the same offset in the addresses of both families.
        return UInt16(bigEndian: storage.sin6_port)
    }

    static func connected(to loopback: Loopback, port: Int) throws(TestError) -> Socket {
        guard let port = UInt16(exactly: port) else {
            throw TestError("connecting to port \(port)", "no such port")
        }
        let client = try Socket(loopback)
        let status = withAddress(loopback, port: port) { connect(client.descriptor, $0, $1) }
        guard status == 0 else { throw TestError("connecting to \(loopback.host):\(port)") }
        client.set(Int32(IPPROTO_TCP), TCP_NODELAY, Int32(1))
        return client
    }

    /// A connection to a Unix socket.
    static func connected(to path: String) throws(TestError) -> Socket {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw TestError("opening a socket for \(path)") }
        let client = Socket(adopting: descriptor)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let status = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0 else { throw TestError("connecting to \(path)") }
        return client
    }

    /// Sets whether the kernel drops all packets that arrive for this socket. Returns false if it may not.
    @discardableResult
    func swallow(_ swallows: Bool) -> Bool {
        guard swallows else { return set(SOL_SOCKET, SO_DETACH_FILTER, Int32(0)) }
        // A filter of one instruction: BPF_RET with length 0, which drops the packet.
        var instruction: UInt64 = 0x06
        return withUnsafeMutablePointer(to: &instruction) {
            set(SOL_SOCKET, SO_ATTACH_FILTER, (count: UInt64(1), UnsafeMutableRawPointer($0)))
        }
    }

    /// Waits for the next connection; nil after the listener was shut down.
    func accepted() -> Socket? {
        while true {
            let connection = CloseOnExec.accept(descriptor, nil, nil, Int32(SOCK_CLOEXEC.rawValue))
            if connection >= 0 {
                let socket = Socket(adopting: connection)
                socket.set(Int32(IPPROTO_TCP), TCP_NODELAY, Int32(1))
                return socket
            }
            if errno != EINTR && errno != ECONNABORTED { return nil }
        }
    }

    /// Sends all of `bytes`. Returns false if the peer has closed the connection.
    func send(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.withUnsafeBytes { buffer in
            var sent = 0
            while sent < buffer.count {
                let count = Glibc.send(
                    descriptor, buffer.baseAddress?.advanced(by: sent), buffer.count - sent,
                    Int32(MSG_NOSIGNAL))
                if count < 0 && errno == EINTR { continue }
                if count < 0 { return false }
                sent += count
            }
            return true
        }
    }

    /// The result of receiving.
    enum Received {
        case bytes(Int)
        case end
        case failed(Int32)
        /// No bytes arrived within the limit.
        case late
    }

    /// Appends received bytes to `buffer`. Waits for at most `limit`; without a limit if nil.
    func receive(into buffer: inout [UInt8], upTo most: Int = 65_536, within limit: Duration? = nil)
        -> Received
    {
        if let limit {
            let deadline = ContinuousClock.now + limit
            var ready: Int32 = -1
            while ready < 0 {
                var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                let parts = max(deadline - .now, .zero).components
                let milliseconds =
                    parts.seconds * 1000 + (parts.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
                ready = poll(&waiting, 1, Int32(clamping: milliseconds))
                if ready < 0 && errno != EINTR { return .failed(errno) }
            }
            if ready == 0 { return .late }
        }
        var code: Int32 = 0
        let received = [UInt8](unsafeUninitializedCapacity: most) { space, count in
            var result: Int
            repeat {
                result = recv(descriptor, space.baseAddress, most, 0)
            } while result < 0 && errno == EINTR
            if result < 0 { code = errno }
            count = max(result, 0)
        }
        buffer += received
        if code != 0 { return .failed(code) }
        return received.isEmpty ? .end : .bytes(received.count)
    }

    /// Shuts down both directions (by default), which wakes threads that are blocked on this socket.
    func shutDown(_ how: Int = Int(SHUT_RDWR)) {
        _ = Glibc.shutdown(descriptor, Int32(how))
    }

    /// Makes closing this socket reset the connection.
    func resetOnClose() {
        set(SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
    }

    @discardableResult
    private func set<Value>(_ level: Int32, _ option: Int32, _ value: Value) -> Bool {
        withUnsafePointer(to: value) {
            setsockopt(descriptor, level, option, $0, socklen_t(MemoryLayout<Value>.size)) == 0
        }
    }

    private static func withAddress(
        _ loopback: Loopback, port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        func rebound<Address>(_ address: Address) -> Int32 {
            withUnsafePointer(to: address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<Address>.size))
                }
            }
        }
        switch loopback {
        case .ipv4:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
            return rebound(address)
        case .ipv6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = in6addr_loopback
            return rebound(address)
        }
    }
}

/// Reserves unused ports for the programs that a test starts.
///
/// A socket of this process stays bound to each port until the process ends, so that the kernel does not
/// assign it to another server or client. That socket does not listen: connections are refused, and a program
/// that sets `SO_REUSEADDR`, as servers do, may listen on the port.
package enum FreePort {
    private static let reserved = Monitor<[Socket]>([])
    private static let hasIPv6 = (try? Socket.bound(on: .ipv6)) != nil

    package static func draw() throws(TestError) -> Int {
        for _ in 0..<200 {
            let (socket, port) = try Socket.bound(on: .ipv4)
            // A server on `localhost` listens on both addresses.
            let other = try? Socket.bound(on: .ipv6, port: port)
            if hasIPv6, other == nil { continue }
            reserved.withLock { $0 += [socket] + (other.map { [$0.socket] } ?? []) }
            return port
        }
        throw TestError("reserving a port", errno: EADDRINUSE)
    }
}

/// `pipe2` and `accept4`, which Glibc declares only with `_GNU_SOURCE`.
///
/// They create descriptors that are close-on-exec from the start. Otherwise, a program that another thread
/// starts before the flag is set would inherit the descriptor and keep the pipe or connection open.
enum CloseOnExec {
    typealias Pipe = @convention(c) (UnsafeMutablePointer<Int32>?, Int32) -> Int32
    typealias Accept =
        @convention(c) (Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?, Int32) ->
        Int32

    static let pipe = unsafeBitCast(dlsym(nil, "pipe2"), to: Pipe.self)
    static let accept = unsafeBitCast(dlsym(nil, "accept4"), to: Accept.self)
}
