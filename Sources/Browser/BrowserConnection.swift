internal import Glibc
internal import System
internal import Web

/// The socket to a browser, over which commands, replies and events of the DevTools protocol are sent. Each message
/// is a JSON text with a trailing NUL.
///
/// No method blocks. The owner polls `process.descriptor` for ``events``, then calls ``receive(_:)`` and
/// ``flush()``. After either has thrown, the connection cannot be used any more. Messages are opaque here:
/// `Command` writes and `Message` parses them.
///
/// Not thread-safe: use it from one thread.
final class BrowserConnection {
    let process: BrowserProcess
    /// The received beginning of an incomplete message.
    private var received: [UInt8] = []
    /// The number of bytes at the start of `received` that need not be searched for a NUL again.
    private var searchedCount = 0
    /// The queued messages. The first `sentCount` bytes have already been sent; they are removed with the rest, when
    /// all have been sent.
    private var outgoing: [UInt8] = []
    private var sentCount = 0
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)

    init(_ process: BrowserProcess) {
        self.process = process
    }

    deinit { buffer.deallocate() }

    /// The events for which to poll the socket, as for `poll`(2).
    var events: Int16 { Int16(POLLIN) | (outgoing.isEmpty ? 0 : Int16(POLLOUT)) }

    /// Queues a message, which must include the trailing NUL. ``flush()`` sends it.
    func send(_ bytes: [UInt8]) {
        outgoing += bytes
    }

    /// Sends as many queued bytes as the socket accepts. Throws if the browser has ended, or if it has stopped
    /// reading: at least `maxUnsentBytes` are still queued.
    func flush() throws(BrowserError) {
        while sentCount < outgoing.count {
            let count = outgoing.withUnsafeBytes {
                let rest = UnsafeRawBufferPointer(rebasing: $0[sentCount...])
                return Glibc.send(
                    process.descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0 && errno == EINTR { continue }
            if count < 0 && errno == EAGAIN { break }
            guard count > 0 else { throw endedError() }
            sentCount += count
        }
        if sentCount == outgoing.count {
            outgoing.removeAll(keepingCapacity: outgoing.capacity < 1 << 20)
            sentCount = 0
        }
        guard outgoing.count - sentCount < Self.maxUnsentBytes else {
            throw BrowserError(doing: "sending commands to the browser", why: "it accepts no more")
        }
    }

    /// Calls `handle` with each message that is now complete, without its NUL. Reads at most 4 MB per call (16 times
    /// the buffer), so that the caller's event loop can do other work.
    ///
    /// Throws if the browser has ended, or if a message is longer than `Message.maxBytes`.
    func receive(_ handle: (ArraySlice<UInt8>) -> Void) throws(BrowserError) {
        for _ in 0..<16 {
            let count = read(process.descriptor, buffer.baseAddress, buffer.count)
            if count < 0 && errno == EINTR { continue }
            if count < 0 && errno == EAGAIN { break }
            guard count > 0 else { throw endedError() }
            received += UnsafeRawBufferPointer(rebasing: buffer[..<count])
            if count < buffer.count { break }
        }
        var start = 0
        while let end = firstNUL(from: max(start, searchedCount)) {
            handle(received[start..<end])
            start = end + 1
        }
        received.removeFirst(start)
        searchedCount = received.count
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
        let log = process.lastLogLines
        return BrowserError(
            doing: "driving the browser", why: log.isEmpty ? "it ended" : "it ended: \(log)")
    }

    /// The maximum size of the queued messages. A browser that lets more pile up counts as hung.
    private static let maxUnsentBytes = 256 << 20
}
