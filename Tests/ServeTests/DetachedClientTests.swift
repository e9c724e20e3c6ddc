import Glibc
import System
import Testing

@testable import HTTPServer

@Suite struct DetachedClientTests {
    @Test func `a response that is larger than the socket's buffer is sent whole`() throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        let (server, reader) = (ends[0], ends[1])
        defer {
            close(server)
            close(reader)
        }
        try #require(fcntl(server, F_SETFL, O_NONBLOCK) == 0)
        let response = (0..<4_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        let sending = try NamedThread.start("sender") {
            DetachedClient(DetachedConnection(descriptor: server, session: nil, received: [])).sendAll(
                response)
        }
        var received: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while case let count = recv(reader, &piece, piece.count, 0), count > 0 {
            received += piece[..<count]
        }
        sending.join()
        #expect(received.count == response.count)
        #expect(received == response)
    }
}
