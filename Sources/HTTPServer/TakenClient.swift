internal import CLinux
internal import Glibc
internal import System
internal import TLS

/// A client that is served by a thread of its own, with or without TLS. It belongs to that thread, which
/// closes the socket.
package final class TakenClient {
    package let descriptor: Int32
    private let session: TLSSession?
    private let piece = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 65_536)

    package init(_ client: HandedOver) {
        descriptor = client.descriptor
        session = client.session
    }

    deinit { piece.deallocate() }

    package func send(_ bytes: UnsafeRawBufferPointer) -> Int {
        session?.write(bytes)
            ?? Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    }

    package func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let session else { return recv(descriptor, buffer.baseAddress, buffer.count, 0) }
        while true {
            switch session.read(into: buffer.assumingMemoryBound(to: UInt8.self)) {
            case .bytes(let count): return count
            case .ended: return 0
            case .nothing:
                let count = recv(descriptor, piece.baseAddress, piece.count, 0)
                guard count > 0 else { return count }
                session.take(UnsafeBufferPointer(rebasing: piece[..<count]))
            }
        }
    }

    package func sendAll(_ bytes: [UInt8]) {
        _ = bytes.withUnsafeBytes(send)
        end()
    }

    package func end() {
        session?.end()
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Discards received bytes until the client ends the connection, within the limits for lingering. Closing
    /// at once would reset a client that is still sending, which could lose the answer.
    package func throwAway() {
        let limits = ServerLimits.standard
        let start = SystemClock.milliseconds()
        var thrown = 0
        while thrown < limits.lingerByteCount {
            let left = limits.lingerTime - (SystemClock.milliseconds() - start)
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard left > 0, poll(&waiting, 1, Int32(left)) > 0 else { return }
            let count = recv(descriptor, piece.baseAddress, piece.count, 0)
            guard count > 0 || count < 0 && errno == EINTR else { return }
            thrown += max(0, count)
        }
    }
}
