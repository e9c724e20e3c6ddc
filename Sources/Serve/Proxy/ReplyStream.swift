internal import Store
internal import Synchronization
package import Web

/// Somebody who gets a server's answer while it comes. The loop that loads it calls, from one thread.
package protocol LoadStream: AnyObject, Sendable {
    /// The head is there.
    ///
    /// - Parameter byteCount: of the body, where that is known.
    /// - Returns: whether the body is wanted as it comes; else all of it is given in the end.
    func begin(status: Int, fields: HTTPFields, byteCount: Int?) -> Bool
    /// Whether more can be taken now. When it cannot, whoever loads is woken as soon as it can.
    var hasRoom: Bool { get }
    /// Nobody waits for it any more.
    var isGone: Bool { get }
    func take(_ bytes: UnsafeRawBufferPointer)
    /// No more comes; what is not whole was cut off.
    func end(isWhole: Bool)
    /// Says how to wake whoever loads.
    func wakes(_ wake: @escaping @Sendable () -> Void)
}

/// A reply that goes out while its server sends it: what is long, or has no end that anybody knows.
///
/// Whoever loads it fills it on its thread; the event loop that has the client takes the bytes out of its
/// mailbox and says how many it could not send yet.
final class ReplyStream: LoadStream {
    /// What decides whether an answer goes out as it comes, and how its head goes out then; nil for one that
    /// does not.
    typealias Decision = @Sendable (_ status: Int, _ fields: HTTPFields, _ byteCount: Int?) -> [UInt8]?

    private struct State {
        /// Put into the mailbox and not taken out, and taken out and not sent.
        var waiting = 0
        var queued = 0
        var status = 0
        var byteCount = 0
        var isGone = false
        var wasFull = false
        /// All has come; the end waits until it is kept.
        var isWhole = false
        var wake: (@Sendable () -> Void)?
        var begun: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    private let slot: ReplySlot
    private let decide: Decision
    /// Without a length, a body ends by its last chunk, or for HTTP/1.0 by the end of the connection.
    private let takesChunks: Bool
    private let chunks = Atomic(false)
    private let started = Atomic(false)

    private static let mostWaiting = 1024 * 1024
    /// Shorter ones come whole as fast.
    static let leastByteCount = 256 * 1024

    init(_ slot: ReplySlot, takesChunks: Bool, decide: @escaping Decision) {
        self.slot = slot
        self.takesChunks = takesChunks
        self.decide = decide
    }

    /// The head is on its way: no other reply counts any more.
    var hasBegun: Bool { started.load(ordering: .acquiring) }

    /// What went out so far; nil before it has begun.
    var figures: (status: Int, byteCount: Int)? {
        hasBegun ? state.withLock { ($0.status, $0.byteCount) } : nil
    }

    // MARK: - Whoever loads

    func begin(status: Int, fields: HTTPFields, byteCount: Int?) -> Bool {
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

    /// Calls the body as soon as the head is on its way; before the server is asked.
    func whenBegun(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.begun = body } }

    var hasRoom: Bool {
        state.withLock { state in
            let hasRoom = state.isGone || slot.hasLeft || state.waiting + state.queued < Self.mostWaiting
            state.wasFull = !hasRoom
            return hasRoom
        }
    }

    var isGone: Bool { slot.hasLeft || state.withLock(\.isGone) }

    func take(_ bytes: UnsafeRawBufferPointer) {
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

    func end(isWhole: Bool) {
        guard hasBegun else { return }
        let waits = state.withLock { state in
            state.isWhole = isWhole
            return isWhole && state.byteCount < Self.leastByteCount
        }
        if !waits { putEnd(isWhole: isWhole) }
    }

    /// What came is kept, if it is to be: who asks for it once more after its end is not to have it loaded
    /// again. Of what takes long to be kept nobody waits for that.
    func conclude() {
        let waits = state.withLock { $0.isWhole && $0.byteCount < Self.leastByteCount }
        if waits { putEnd(isWhole: true) }
    }

    private func putEnd(isWhole: Bool) {
        let last = chunks.load(ordering: .acquiring) && isWhole ? Array("0\r\n\r\n".utf8) : []
        slot.put(.end(last, isWhole: isWhole))
    }

    func wakes(_ wake: @escaping @Sendable () -> Void) { state.withLock { $0.wake = wake } }

    // MARK: - The event loop

    /// Some of it was taken out of the mailbox.
    func taken(_ byteCount: Int) { state.withLock { $0.waiting -= byteCount } }

    /// So much waits for the socket.
    func queued(_ byteCount: Int) {
        let wake = state.withLock { state -> (@Sendable () -> Void)? in
            state.queued = byteCount
            guard state.wasFull, state.waiting + byteCount < Self.mostWaiting / 2 else { return nil }
            state.wasFull = false
            return state.wake
        }
        wake?()
    }

    /// The client has gone.
    func leave() {
        let wake = state.withLock { state in
            state.isGone = true
            return state.wake
        }
        wake?()
    }
}
