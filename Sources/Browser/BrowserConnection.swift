internal import Glibc
internal import System
internal import Web

/// A connection to a browser that carries the messages of the DevTools protocol: JSON texts with a trailing
/// NUL. No method blocks.
///
/// Not thread-safe: use it from one thread.
final class BrowserConnection {
    let process: BrowserProcess
    private var received: [UInt8] = []
    /// The number of bytes at the start of `received` that contain no NUL.
    private var searched = 0
    private var unsent: [UInt8] = []
    private var sentCount = 0
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)

    init(_ process: BrowserProcess) {
        self.process = process
    }

    deinit { buffer.deallocate() }

    /// The events for which to poll the socket.
    var events: Int16 { Int16(POLLIN) | (unsent.isEmpty ? 0 : Int16(POLLOUT)) }

    /// Queues a message; ``flush()`` sends it.
    func send(_ bytes: [UInt8]) {
        unsent += bytes
    }

    /// Sends as much as the socket accepts. Throws if the browser has ended, or if more than `maxUnsentBytes`
    /// bytes are pending.
    func flush() throws(BrowserError) {
        while sentCount < unsent.count {
            let count = unsent.withUnsafeBytes {
                let rest = UnsafeRawBufferPointer(rebasing: $0[sentCount...])
                return Glibc.send(
                    process.descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0 && errno == EINTR { continue }
            if count < 0 && errno == EAGAIN { break }
            guard count > 0 else { throw endedError() }
            sentCount += count
        }
        if sentCount == unsent.count {
            unsent.removeAll(keepingCapacity: unsent.capacity < 1 << 20)
            sentCount = 0
        }
        guard unsent.count - sentCount < Self.maxUnsentBytes else {
            throw BrowserError(doing: "sending commands to the browser", why: "it accepts no more")
        }
    }

    /// Calls `take` with each complete message. Reads at most 4 MB per call, so that the loop can do other
    /// work. Throws if the browser has ended or a message is too long.
    func receive(_ take: (ArraySlice<UInt8>) -> Void) throws(BrowserError) {
        for _ in 0..<16 {
            let count = read(process.descriptor, buffer.baseAddress, buffer.count)
            if count < 0 && errno == EINTR { continue }
            if count < 0 && errno == EAGAIN { break }
            guard count > 0 else { throw endedError() }
            received += UnsafeRawBufferPointer(rebasing: buffer[..<count])
            if count < buffer.count { break }
        }
        var start = 0
        while let end = firstNUL(from: max(start, searched)) {
            take(received[start..<end])
            start = end + 1
            searched = start
        }
        received.removeFirst(start)
        searched = received.count
        guard received.count <= Message.maxBytes else {
            throw BrowserError(doing: "reading messages from the browser", why: "an endless message")
        }
    }

    private func firstNUL(from start: Int) -> Int? {
        received.withUnsafeBytes { bytes in
            guard start < bytes.count, let base = bytes.baseAddress else { return nil }
            return memchr(base + start, 0, bytes.count - start).map { UnsafeRawPointer($0) - base }
        }
    }

    /// The error for a browser that has ended, with the end of its log.
    private func endedError() -> BrowserError {
        let words = process.lastLogLines
        return BrowserError(
            doing: "driving the browser", why: words.isEmpty ? "it ended" : "it ended: \(words)")
    }

    /// The maximum size of the messages that the browser has not accepted. With more, it counts as hung.
    private static let maxUnsentBytes = 256 << 20
}
