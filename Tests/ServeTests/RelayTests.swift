import Glibc
import TestOrigin
import Testing
import Web

@testable import HTTPServer
@testable import Mirror

/// Relays between two pairs of connected sockets.
@Suite struct RelayTests {
    /// The socket of a relay, and its other end, which the test uses.
    private struct Pair {
        let own: Int32
        let other: Int32

        init() throws(TestError) {
            var ends: [Int32] = [0, 0]
            let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
            guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw TestError("making sockets") }
            (own, other) = (ends[0], ends[1])
            _ = fcntl(own, F_SETFL, O_NONBLOCK)
        }

        /// Sends the text to the relay as all that this side has to say.
        func finish(with text: String) {
            var text = text
            text.withUTF8 { _ = send(other, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            shutdown(other, Int32(SHUT_WR))
        }
    }

    private final class Channel: ByteChannel {
        let descriptor: Int32

        init(_ descriptor: Int32) { self.descriptor = descriptor }

        deinit { close(descriptor) }

        func send(_ bytes: UnsafeRawBufferPointer) -> Int {
            Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        }

        func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
            recv(descriptor, buffer.baseAddress, buffer.count, 0)
        }
    }

    private func outcome(_ client: Pair, _ host: Pair, _ opening: Relay.Opening) async throws -> Relay.Outcome
    {
        let url = try #require(WebURL("http://a.test/"))
        let descriptor = host.own
        return await withCheckedContinuation { continuation in
            Relay.start(
                DetachedConnection(descriptor: client.own, session: nil, received: []), to: url,
                nearestZone: .thisMachine, by: { _, _ in Channel(descriptor) }, opening: opening
            ) { continuation.resume(returning: $0) }
        }
    }

    @Test func `a tunnel whose client disconnects at once has transferred 0 bytes`() async throws {
        let (client, host) = (try Pair(), try Pair())
        close(client.other)
        defer { close(host.other) }
        #expect(try await outcome(client, host, .tunnel).byteCount == 0)
    }

    /// The responses of the host, and the status of the final one.
    @Test(
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200),
            ("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 404),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 201 Created\r\n\r\n",
                201
            ),
            ("HTTP/1.1 100 Continue\r\n\r\n", nil),
        ] as [(String, Int?)])
    func `the status of an upload is that of the final response, not of an interim one`(
        responses: String, status: Int?
    ) async throws {
        let (client, host) = (try Pair(), try Pair())
        defer {
            close(client.other)
            close(host.other)
        }
        client.finish(with: "x")
        host.finish(with: responses)
        let reader = BodyReader(.length(1), maxBodyBytes: 1, maxOverheadBytes: 0)
        let opening = Relay.Opening.upload(
            head: Array("PUT / HTTP/1.1\r\n\r\n".utf8), method: "PUT", LongUpload(reader: reader))
        let outcome = try await outcome(client, host, opening)
        #expect(outcome.status == status)
        #expect(outcome.byteCount > 0)
    }

    @Test(arguments: ["7fffffffffffffff", "8000000000000000", "ffffffffffffffff"])
    func `a chunk of a host that is larger than any number ends the upload`(size: String) async throws {
        let (client, host) = (try Pair(), try Pair())
        defer {
            close(client.other)
            close(host.other)
        }
        client.finish(with: "x")
        host.finish(with: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(size)\r\nabc")
        let reader = BodyReader(.length(1), maxBodyBytes: 1, maxOverheadBytes: 0)
        let opening = Relay.Opening.upload(
            head: Array("PUT / HTTP/1.1\r\n\r\n".utf8), method: "PUT", LongUpload(reader: reader))
        #expect(try await outcome(client, host, opening).status == 200)
    }
}
