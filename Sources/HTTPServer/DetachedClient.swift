internal import CLinux
internal import Glibc
internal import System
internal import TLS

/// Sends to and receives from a client that left its event loop, with or without TLS. It belongs to the thread
/// that serves the client, which must close the socket. The functions work like the system calls of the same
/// name on a non-blocking socket.
package final class DetachedClient {
    package let descriptor: Int32
    private let session: TLSSession?
    private let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 65_536)

    package init(_ client: DetachedConnection) {
        descriptor = client.descriptor
        session = client.session
    }

    deinit { buffer.deallocate() }

    package func send(_ bytes: UnsafeRawBufferPointer) -> Int {
        session?.write(bytes)
            ?? Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    }

    package func receive(into target: UnsafeMutableRawBufferPointer) -> Int {
        guard let session else { return recv(descriptor, target.baseAddress, target.count, 0) }
        while true {
            switch session.read(into: target.assumingMemoryBound(to: UInt8.self)) {
            case .bytes(let count): return count
            case .ended: return 0
            case .needsInput:
                let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
                guard count > 0 else { return count }
                session.receive(UnsafeBufferPointer(rebasing: buffer[..<count]))
            }
        }
    }

    /// Sends a response, and ends this side of the connection. Blocks until the socket has accepted all bytes, until
    /// the connection fails, or until the client has received nothing for `stallTimeoutMilliseconds`.
    package func sendAll(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            var sentCount = 0
            while sentCount < bytes.count {
                let count = send(UnsafeRawBufferPointer(rebasing: bytes[sentCount...]))
                guard count < 0 else {
                    sentCount += count
                    continue
                }
                guard errno == EAGAIN || errno == EINTR, waitUntilWritable() else { break }
            }
        }
        end()
    }

    /// Returns false if the socket could not be written for `stallTimeoutMilliseconds`.
    private func waitUntilWritable() -> Bool {
        let start = SystemClock.milliseconds()
        while true {
            let left = ServerLimits.standard.stallTimeoutMilliseconds - (SystemClock.milliseconds() - start)
            guard left > 0 else { return false }
            var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            let ready = poll(&waiting, 1, Int32(left))
            if ready > 0 { return true }
            guard ready < 0, errno == EINTR else { return false }
        }
    }

    /// Ends the sending side of the connection.
    package func end() {
        session?.end()
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Discards received bytes until the client ends the connection, within the limits for lingering. Closing
    /// at once would reset a client that is still sending, which could lose the answer.
    package func discardInput() {
        let limits = ServerLimits.standard
        let start = SystemClock.milliseconds()
        var discardedCount = 0
        while discardedCount < limits.maxLingerBytes {
            let left = limits.lingerTimeoutMilliseconds - (SystemClock.milliseconds() - start)
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard left > 0, poll(&waiting, 1, Int32(left)) > 0 else { return }
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            guard count > 0 || count < 0 && errno == EINTR else { return }
            discardedCount += max(0, count)
        }
    }
}
