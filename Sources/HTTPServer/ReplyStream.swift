internal import Synchronization
package import Web

/// The receiver of a response while it is loaded. Called by the loading loop, from one thread.
package protocol LoadStream: AnyObject, Sendable {
    /// Called with the head.
    ///
    /// - Parameter byteCount: the length of the body, if known.
    /// - Returns: whether the body is wanted as it arrives; else it is delivered at the end.
    func begin(status: Int, fields: HTTPFields, byteCount: Int?) -> Bool
    /// Whether more bytes can be taken now. If not, the loader is woken when they can.
    var hasRoom: Bool { get }
    /// Whether the client has disconnected, so that the response is not needed any more.
    var isGone: Bool { get }
    func take(_ bytes: UnsafeRawBufferPointer)
    /// Called at the end. If `isWhole` is false, the response was cut off.
    func end(isWhole: Bool)
    /// Sets how to wake the loader.
    func wakes(_ wake: @escaping @Sendable () -> Void)
}

/// A reply that is sent to the client while it is loaded, for long responses and those of unknown length.
///
/// The loader fills it on its thread. The event loop of the client takes the bytes out of its mailbox and
/// reports how many it could not send yet.
package final class ReplyStream: LoadStream {
    /// Decides whether a response is streamed, and returns its head; nil if it is not.
    package typealias Decision =
        @Sendable (_ status: Int, _ fields: HTTPFields, _ byteCount: Int?) -> [UInt8]?

    private struct State {
        /// Bytes in the mailbox, and bytes that were taken out but not sent.
        var waiting = 0
        var queued = 0
        var status = 0
        var byteCount = 0
        var isGone = false
        var wasFull = false
        /// Whether the body is complete. The end of a short reply waits until the response is stored.
        var isWhole = false
        var wake: (@Sendable () -> Void)?
        var begun: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    private let slot: ReplySlot
    private let decide: Decision
    /// Without a length, a body ends with its last chunk, or for HTTP/1.0 with the connection.
    private let takesChunks: Bool
    private let chunks = Atomic(false)
    private let started = Atomic(false)

    private static let mostWaiting = 1024 * 1024
    /// Shorter responses are not faster when streamed.
    package static let leastByteCount = 256 * 1024

    package init(_ slot: ReplySlot, takesChunks: Bool, decide: @escaping Decision) {
        self.slot = slot
        self.takesChunks = takesChunks
        self.decide = decide
    }

    /// Whether the head was sent; no other reply can be sent any more.
    package var hasBegun: Bool { started.load(ordering: .acquiring) }

    /// The status and the number of body bytes sent so far; nil before the head.
    package var figures: (status: Int, byteCount: Int)? {
        hasBegun ? state.withLock { ($0.status, $0.byteCount) } : nil
    }

    // MARK: - The loader

    package func begin(status: Int, fields: HTTPFields, byteCount: Int?) -> Bool {
        guard var head = decide(status, fields, byteCount), slot.begin() else { return false }
        let isChunked = byteCount == nil && takesChunks
        chunks.store(isChunked, ordering: .releasing)
        let begun = state.withLock { state in
            state.status = status
            return state.begun.take()
        }
        started.store(true, ordering: .releasing)
        if let byteCount {
            head += "Content-Length: \(byteCount)\r\n".utf8
        } else {
            head += (isChunked ? "Transfer-Encoding: chunked\r\n" : "Connection: close\r\n").utf8
        }
        slot.put(.start(self, head, closes: byteCount == nil && !isChunked))
        begun?()
        return true
    }

    /// Calls the body as soon as the head is sent. Set before the request is sent.
    package func whenBegun(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.begun = body } }

    package var hasRoom: Bool {
        state.withLock { state in
            let hasRoom = state.isGone || slot.hasLeft || state.waiting + state.queued < Self.mostWaiting
            state.wasFull = !hasRoom
            return hasRoom
        }
    }

    package var isGone: Bool { slot.hasLeft || state.withLock(\.isGone) }

    package func take(_ bytes: UnsafeRawBufferPointer) {
        guard !bytes.isEmpty else { return }
        state.withLock { state in
            state.waiting += bytes.count
            state.byteCount += bytes.count
        }
        var piece: [UInt8] = []
        if chunks.load(ordering: .acquiring) {
            piece.reserveCapacity(bytes.count + 12)
            piece += "\(String(bytes.count, radix: 16))\r\n".utf8
            piece += bytes
            piece += [0x0d, 0x0a]
        } else {
            piece += bytes
        }
        slot.put(.part(piece, byteCount: bytes.count))
    }

    package func end(isWhole: Bool) {
        guard hasBegun else { return }
        let waits = state.withLock { state in
            state.isWhole = isWhole
            return isWhole && state.byteCount < Self.leastByteCount
        }
        if !waits { putEnd(isWhole: isWhole) }
    }

    /// Called when the response was stored, if it is to be. A client that requests the URL again after the
    /// end must not cause another load; for responses that take long to store, the end is not delayed.
    package func conclude() {
        let waits = state.withLock { $0.isWhole && $0.byteCount < Self.leastByteCount }
        if waits { putEnd(isWhole: true) }
    }

    private func putEnd(isWhole: Bool) {
        let last = chunks.load(ordering: .acquiring) && isWhole ? Array("0\r\n\r\n".utf8) : []
        slot.put(.end(last, isWhole: isWhole))
    }

    package func wakes(_ wake: @escaping @Sendable () -> Void) { state.withLock { $0.wake = wake } }

    // MARK: - The event loop

    /// Reports bytes that were taken out of the mailbox.
    package func taken(_ byteCount: Int) { state.withLock { $0.waiting -= byteCount } }

    /// Sets the number of bytes that wait for the socket.
    package func queued(_ byteCount: Int) {
        let wake = state.withLock { state -> (@Sendable () -> Void)? in
            state.queued = byteCount
            guard state.wasFull, state.waiting + byteCount < Self.mostWaiting / 2 else { return nil }
            state.wasFull = false
            return state.wake
        }
        wake?()
    }

    /// Records that the client has disconnected.
    package func leave() {
        let wake = state.withLock { state in
            state.isGone = true
            return state.wake
        }
        wake?()
    }
}
