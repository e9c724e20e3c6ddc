internal import Synchronization
package import Web

/// The receiver of a response while it is loaded. Only the thread that loads the response calls it.
package protocol LoadStream: AnyObject, Sendable {
    /// Receives the head.
    ///
    /// - Parameter byteCount: The length of the body, if known.
    /// - Returns: Whether the body is to be passed to `take` as it arrives. If not, the loader collects it and
    ///   reports the complete response.
    func begin(status: Int, fields: HTTPFields, byteCount: Int?) -> Bool
    /// Whether more bytes can be received now. If not, the wake handler is called when they can.
    var hasRoom: Bool { get }
    /// Whether the client has disconnected, so that the response is not needed any more.
    var isGone: Bool { get }
    /// Receives bytes of the body, whether there is room or not.
    func take(_ bytes: UnsafeRawBufferPointer)
    /// Receives the end of the body. If `isWhole` is false, the response was truncated.
    func end(isWhole: Bool)
    /// Sets the function that wakes the loader when `hasRoom` becomes true or the client disconnects.
    func setWakeHandler(_ wakeHandler: @escaping @Sendable () -> Void)
}

/// A reply that is sent to the client while it is loaded, for long responses and those of unknown length.
///
/// The loader fills it on its thread. The bytes travel through the mailbox of the client's event loop, which
/// reports how many it has removed from the mailbox (`didDequeue`) and how many wait for the socket
/// (`setQueuedBytes`). When the two together exceed `maxUnsentBytes`, `hasRoom` becomes false and the loader
/// pauses; when they have fallen to half of that, it is woken. So a slow client slows down the origin instead
/// of filling the memory.
///
/// The state is protected by a mutex; handlers are called without holding it.
package final class ReplyStream: LoadStream {
    /// Decides whether a response is streamed, and returns its head; nil if it is not.
    package typealias Decision =
        @Sendable (_ status: Int, _ fields: HTTPFields, _ byteCount: Int?) -> [UInt8]?

    private struct State {
        /// The number of bytes in the mailbox.
        var mailboxBytes = 0
        /// The number of bytes that left the mailbox but were not accepted by the socket.
        var queuedBytes = 0
        var status = 0
        /// The number of body bytes so far.
        var byteCount = 0
        var isGone = false
        /// Whether the loader was told that there is no room, and must be woken.
        var wasFull = false
        /// Whether the body is complete. The end of a short reply waits until the response is stored.
        var isWhole = false
        var wakeHandler: (@Sendable () -> Void)?
        var beginHandler: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    private let slot: ReplySlot
    private let decide: Decision
    /// Whether the client understands chunks. A body of unknown length ends with its last chunk, or for HTTP/1.0
    /// with the connection.
    private let acceptsChunks: Bool
    private let isChunkedFlag = Atomic(false)
    private let hasBegunFlag = Atomic(false)

    /// The maximum number of bytes between the loader and the socket. Above it, the loader pauses.
    private static let maxUnsentBytes = 1024 * 1024
    /// Shorter responses are not faster when streamed.
    package static let minStreamedBytes = 256 * 1024

    package init(_ slot: ReplySlot, acceptsChunks: Bool, decide: @escaping Decision) {
        self.slot = slot
        self.acceptsChunks = acceptsChunks
        self.decide = decide
    }

    /// Whether the head was sent. After that, no other reply is possible.
    package var hasBegun: Bool { hasBegunFlag.load(ordering: .acquiring) }

    /// The status and the number of body bytes sent so far; nil before the head.
    package var sent: (status: Int, byteCount: Int)? {
        hasBegun ? state.withLock { ($0.status, $0.byteCount) } : nil
    }

    // MARK: - The loader

    package func begin(status: Int, fields: HTTPFields, byteCount: Int?) -> Bool {
        guard var head = decide(status, fields, byteCount), slot.claim() else { return false }
        let isChunked = byteCount == nil && acceptsChunks
        isChunkedFlag.store(isChunked, ordering: .releasing)
        let beginHandler = state.withLock { state in
            state.status = status
            return state.beginHandler.take()
        }
        hasBegunFlag.store(true, ordering: .releasing)
        if let byteCount {
            head += "Content-Length: \(byteCount)\r\n".utf8
        } else {
            head += (isChunked ? "Transfer-Encoding: chunked\r\n" : "Connection: close\r\n").utf8
        }
        slot.put(.start(self, head, closes: byteCount == nil && !isChunked))
        beginHandler?()
        return true
    }

    /// Sets a function that is called as soon as the head is sent. Call it before the request is sent.
    package func onBegin(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.beginHandler = body } }

    package var hasRoom: Bool {
        state.withLock { state in
            let hasRoom =
                state.isGone || slot.isClientGone
                || state.mailboxBytes + state.queuedBytes < Self.maxUnsentBytes
            state.wasFull = !hasRoom
            return hasRoom
        }
    }

    package var isGone: Bool { slot.isClientGone || state.withLock(\.isGone) }

    package func take(_ bytes: UnsafeRawBufferPointer) {
        guard !bytes.isEmpty else { return }
        state.withLock { state in
            state.mailboxBytes += bytes.count
            state.byteCount += bytes.count
        }
        var piece: [UInt8] = []
        if isChunkedFlag.load(ordering: .acquiring) {
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
        let waitsForStore = state.withLock { state in
            state.isWhole = isWhole
            return isWhole && state.byteCount < Self.minStreamedBytes
        }
        if !waitsForStore { putEnd(isWhole: isWhole) }
    }

    /// Sends the end of a short reply, which waits until the response is stored: a client that requests the URL
    /// again after it received the end must not cause another load. The end of longer replies is not delayed,
    /// because storing them takes long. Call it for responses that are not stored too.
    package func didStoreResponse() {
        let waitsForStore = state.withLock { $0.isWhole && $0.byteCount < Self.minStreamedBytes }
        if waitsForStore { putEnd(isWhole: true) }
    }

    /// Sends the end of the body. A truncated one has no last chunk, so that the client notices.
    private func putEnd(isWhole: Bool) {
        let last = isChunkedFlag.load(ordering: .acquiring) && isWhole ? Array("0\r\n\r\n".utf8) : []
        slot.put(.end(last, isWhole: isWhole))
    }

    package func setWakeHandler(_ wakeHandler: @escaping @Sendable () -> Void) {
        state.withLock { $0.wakeHandler = wakeHandler }
    }

    // MARK: - The event loop

    /// Reports bytes that were taken out of the mailbox.
    func didDequeue(_ byteCount: Int) { state.withLock { $0.mailboxBytes -= byteCount } }

    /// Sets the number of bytes that wait for the socket.
    func setQueuedBytes(_ byteCount: Int) {
        let wakeHandler = state.withLock { state -> (@Sendable () -> Void)? in
            state.queuedBytes = byteCount
            guard state.wasFull, state.mailboxBytes + byteCount < Self.maxUnsentBytes / 2 else { return nil }
            state.wasFull = false
            return state.wakeHandler
        }
        wakeHandler?()
    }

    /// Records that the client has disconnected.
    func didDisconnect() {
        let wakeHandler = state.withLock { state in
            state.isGone = true
            return state.wakeHandler
        }
        wakeHandler?()
    }
}
