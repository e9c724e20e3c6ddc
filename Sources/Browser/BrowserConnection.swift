internal import Glibc
internal import System
internal import Web

/// The DevTools protocol over a browser's socket: JSON texts, each closed by a NUL. Nothing here waits.
///
/// It belongs to one thread.
final class BrowserConnection {
    let process: BrowserProcess
    private var received: [UInt8] = []
    /// How much of that holds no NUL.
    private var searched = 0
    private var unsent: [UInt8] = []
    private var sentCount = 0
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)

    init(_ process: BrowserProcess) {
        self.process = process
    }

    deinit { buffer.deallocate() }

    /// What the connection is to be polled for.
    var events: Int16 { Int16(POLLIN) | (unsent.isEmpty ? 0 : Int16(POLLOUT)) }

    func send(_ bytes: [UInt8]) {
        unsent += bytes
    }

    /// Sends what the browser takes now.
    func flush() throws(BrowserError) {
        while sentCount < unsent.count {
            let count = unsent.withUnsafeBytes {
                let rest = UnsafeRawBufferPointer(rebasing: $0[sentCount...])
                return Glibc.send(
                    process.descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0 && errno == EINTR { continue }
            if count < 0 && errno == EAGAIN { break }
            guard count > 0 else { throw ended() }
            sentCount += count
        }
        if sentCount == unsent.count {
            unsent.removeAll(keepingCapacity: unsent.capacity < 1 << 20)
            sentCount = 0
        }
        guard unsent.count - sentCount < Self.unsentLimit else {
            throw BrowserError(doing: "sending commands to the browser", why: "it accepts no more")
        }
    }

    /// Hands over the messages that have come, each once. At most a few megabytes at a time, so that others
    /// have their turn.
    func receive(_ take: (ArraySlice<UInt8>) -> Void) throws(BrowserError) {
        for _ in 0..<16 {
            let count = read(process.descriptor, buffer.baseAddress, buffer.count)
            if count < 0 && errno == EINTR { continue }
            if count < 0 && errno == EAGAIN { break }
            guard count > 0 else { throw ended() }
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
        guard received.count <= Message.limit else {
            throw BrowserError(doing: "reading messages from the browser", why: "an endless message")
        }
    }

    private func firstNUL(from start: Int) -> Int? {
        received.withUnsafeBytes { bytes in
            guard start < bytes.count, let base = bytes.baseAddress else { return nil }
            return memchr(base + start, 0, bytes.count - start).map { UnsafeRawPointer($0) - base }
        }
    }

    private func ended() -> BrowserError {
        let words = process.lastWords
        return BrowserError(
            doing: "driving the browser", why: words.isEmpty ? "it ended" : "it ended: \(words)")
    }

    private static let unsentLimit = 256 << 20
}
