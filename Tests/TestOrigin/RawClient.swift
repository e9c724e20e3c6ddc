import Glibc

/// An HTTP client that sends arbitrary bytes and returns the raw response.
///
///     let client = try RawClient(port: origin.port)
///     try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
///     let response = try client.response()
package final class RawClient: Sendable {
    private let socket: Socket
    private let pending = Monitor<[UInt8]>([])

    package init(port: Int, on loopback: Loopback = .ipv4) throws(TestError) {
        socket = try Socket.connected(to: loopback, port: port)
    }

    package func send(_ text: String) throws(TestError) {
        try send(Array(text.utf8))
    }

    package func send(_ bytes: [UInt8]) throws(TestError) {
        guard socket.send(bytes[...]) else { throw TestError("sending \(bytes.count) bytes") }
    }

    /// Shuts down sending. Responses can still be read.
    package func closeWriting() { socket.shutDown(Int(SHUT_WR)) }

    /// Makes closing the connection reset it.
    package func resetOnClose() { socket.resetOnClose() }

    /// Sends a request without a body, and reads its response.
    package func get(
        _ target: String, method: String = "GET", host: String = "localhost", fields: [(String, String)] = [],
        within limit: Duration = .seconds(120)
    ) throws(TestError) -> RawResponse {
        var head = "\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\n"
        for (name, value) in fields { head += "\(name): \(value)\r\n" }
        try send(head + "\r\n")
        return try response(toHead: method == "HEAD", within: limit)
    }

    /// Reads one response. The body ends by its length, its last chunk or the end of the connection.
    package func response(toHead: Bool = false, within limit: Duration = .seconds(120)) throws(TestError)
        -> RawResponse
    {
        let deadline = ContinuousClock.now + limit
        var bytes = takePending()
        var end = endOfHead(bytes)
        while end == nil {
            guard try more(&bytes, deadline, "reading a head") else {
                throw TestError("reading a head", "the connection ended after \(bytes.count) bytes")
            }
            end = endOfHead(bytes)
        }
        guard let end, var response = RawResponse(head: bytes[..<end.head]) else {
            throw TestError(
                "reading a head", "this is none: \(String(decoding: bytes.prefix(200), as: UTF8.self))")
        }
        bytes.removeFirst(end.next)
        if toHead || response.status == 204 || response.status == 304 || response.status < 200 {
            // No body follows.
        } else if response["Transfer-Encoding"]?.lowercased() == "chunked" {
            response.body = try chunks(&bytes, deadline)
        } else if let length = response["Content-Length"].flatMap({ Int($0) }) {
            while bytes.count < length {
                guard try more(&bytes, deadline, "reading a body") else {
                    throw TestError(
                        "reading a body", "the connection ended \(length - bytes.count) bytes too early")
                }
            }
            response.body = Array(bytes.prefix(length))
            bytes.removeFirst(length)
        } else {
            while try more(&bytes, deadline, "reading a body") {}
            response.body = bytes
            bytes = []
        }
        pending.withLock { $0 = bytes }
        return response
    }

    /// Reads up to the end of the connection.
    package func readToEnd(within limit: Duration = .seconds(120)) throws(TestError) -> [UInt8] {
        let deadline = ContinuousClock.now + limit
        var bytes = takePending()
        while try more(&bytes, deadline, "reading to the end") {}
        return bytes
    }

    /// Reads at least `count` bytes; fewer if the connection ends before.
    package func read(_ count: Int, within limit: Duration = .seconds(120)) throws(TestError) -> [UInt8] {
        let deadline = ContinuousClock.now + limit
        var bytes = takePending()
        while bytes.count < count, try more(&bytes, deadline, "reading") {}
        return bytes
    }

    private func takePending() -> [UInt8] {
        pending.withLock { pending in
            defer { pending = [] }
            return pending
        }
    }

    /// Receives more bytes. Returns false at the end of the connection. Throws if none arrive in time.
    private func more(
        _ bytes: inout [UInt8], _ deadline: ContinuousClock.Instant, _ doing: String
    ) throws(TestError) -> Bool {
        switch socket.receive(into: &bytes, within: deadline - .now) {
        case .bytes: return true
        case .end: return false
        case .failed(let code): throw TestError(doing, errno: code)
        case .late:
            // The caller may try to read the head again.
            pending.withLock { $0 = bytes }
            throw TestError(doing, "nothing more came in time, after \(bytes.count) bytes")
        }
    }

    private func chunks(_ bytes: inout [UInt8], _ deadline: ContinuousClock.Instant) throws(TestError)
        -> [UInt8]
    {
        var body: [UInt8] = []
        func line() throws(TestError) -> String {
            while true {
                if let end = bytes.firstIndex(of: 0x0a) {
                    let line = trimmed(bytes[..<end].filter { $0 != 0x0d }[...])
                    bytes.removeFirst(end + 1)
                    return line
                }
                guard try more(&bytes, deadline, "reading a chunk's size") else {
                    throw TestError("reading a chunk's size", "the connection ended")
                }
            }
        }
        while true {
            let size = try line()
            guard let count = Int(size.prefix { $0 != ";" }, radix: 16), count >= 0 else {
                throw TestError("reading a chunk's size", "'\(size)' is none")
            }
            if count == 0 {
                while try !line().isEmpty {}
                return body
            }
            while bytes.count < count + 2 {
                guard try more(&bytes, deadline, "reading a chunk") else {
                    throw TestError("reading a chunk", "the connection ended")
                }
            }
            body += bytes.prefix(count)
            bytes.removeFirst(count + 2)
        }
    }
}
