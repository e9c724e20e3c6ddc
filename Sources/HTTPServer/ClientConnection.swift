internal import CLinux
internal import Glibc
internal import Markup
internal import System
internal import TLS
internal import Web

/// The connection of one client, with the bytes that are not yet a complete request and the unsent rest of
/// its answers.
///
/// Only the thread of its event loop uses it. The states of a connection:
///
/// - idle or reading a head: `upload`, `pendingRequest` and `takeover` are nil;
/// - reading a body: `upload` is set;
/// - waiting for a reply from another thread, or streaming one: `pendingRequest` is set;
/// - leaving the event loop as soon as the queue is sent: `takeover` is set;
/// - closing: `isClosing` is set. The queued answers are sent, then the connection lingers until the client
///   closes it too.
///
/// At most one of `upload`, `pendingRequest` and `takeover` is set. While one of the last two is, or while the
/// client does not receive its answers (`isBlocked`), no further request is parsed, so that answers to
/// pipelined requests keep their order. Streams set `stream` in addition to `pendingRequest`.
final class ClientConnection {
    let descriptor: Int32
    /// Distinguishes this connection from an earlier one with the same descriptor.
    let generation: UInt32
    /// Received bytes that are not processed yet, such as the start of an incomplete head.
    var received: [UInt8] = []
    /// Whether the client has sent any bytes.
    var hasSent = false
    /// The number of bytes at the start of `received` that are known not to contain a complete head.
    var scannedCount = 0
    /// The request whose body is incomplete.
    var upload: Upload?
    /// The request whose reply was deferred. Its bytes are gone; this has the data that the reply still needs.
    var pendingRequest: PendingRequest?
    /// Tells other threads that the client has disconnected, so that they can stop working for it.
    let disconnectFlag = DisconnectFlag()
    /// The host of the client's CONNECT request, on a proxy. All later requests are for that host.
    var tunnel: Tunnel?
    /// The TLS session, if the client uses TLS.
    private(set) var session: TLSSession?
    /// Receives the connection as soon as the queue is sent.
    var takeover: Takeover?
    private var isDetached = false
    /// The stream of the current response. `pendingRequest` stays set until the stream ends.
    var stream: ReplyStream?
    /// Whether the connection ends with the stream.
    var closesAfterStream = false
    /// Whether the stream was cut off: the connection is closed after the queue is sent.
    var isTruncated = false
    /// Whether the connection ends after its answers are sent.
    var isClosing = false
    /// The epoll events that are registered for the descriptor.
    var interest: UInt32 = 0
    var timer: ConnectionTimer
    private(set) var queue = SendQueue()
    /// Whether sending must wait, for room in the socket or for the other clients' turn.
    private(set) var isBlocked = false
    private var discardedCount = 0

    /// A request whose body is being received.
    struct Upload {
        let head: RequestHead
        /// The bytes of the head, as received.
        let bytes: [UInt8]
        var reader: BodyReader
        var body: [UInt8] = []
        let share: UploadMemory.Share
    }

    /// The properties of a request that its answer depends on.
    struct PendingRequest {
        let head: RequestHead
        let method: String
        /// The request's header fields; nil if it has no condition and no range.
        let fields: HTTPFields?

        init(_ request: Request) {
            head = request.head
            method = request.method
            fields = request.head.isConditional ? request.fields : nil
        }
    }

    init(_ descriptor: Int32, generation: UInt32, now: Int64) {
        self.descriptor = descriptor
        self.generation = generation
        timer = ConnectionTimer(now: now)
    }

    deinit {
        disconnectFlag.set()
        if !isDetached { close(descriptor) }
    }

    /// The value that identifies this connection in events.
    var token: UInt64 { UInt64(generation) << 32 | UInt64(UInt32(bitPattern: descriptor)) }

    /// Whether this side has ended the connection, and only waits for the client to end it too.
    var isLingering: Bool { timer.phase == .lingering }

    /// Starts TLS in the client's tunnel.
    func secure(_ tunnel: Tunnel) throws(TLSError) {
        session = try tunnel.security.session(on: descriptor, for: tunnel.host)
    }

    /// Starts TLS for a client that connected to this server itself. The session is for the local address of
    /// the socket.
    func secure(_ security: TLSServer) throws(TLSError) {
        session = try security.session(on: descriptor, for: Self.ownHost(descriptor))
    }

    /// The local address of a socket, as written in URLs.
    private static func ownHost(_ socket: Int32) -> String {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        var name = [CChar](repeating: 0, count: 64)
        let isKnown = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                getsockname(socket, address, &size) == 0
                    && getnameinfo(
                        address, size, &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST) == 0
            }
        }
        guard isKnown else { return "localhost" }
        let text = String(
            decoding: name.prefix { $0 != 0 && $0 != CChar(0x25) }.map { UInt8(bitPattern: $0) },
            as: UTF8.self)
        return text.utf8.contains(UInt8(ascii: ":")) ? "[\(text)]" : text
    }

    /// Makes the event loop wait until the socket is writable.
    func markBlocked() { isBlocked = true }

    /// Releases the socket and the unprocessed bytes to another thread, which must close the socket.
    func detach() -> DetachedConnection {
        isDetached = true
        return DetachedConnection(descriptor: descriptor, session: session, received: received)
    }

    /// Whether no request and no answer is in progress.
    var isIdle: Bool { queue.isEmpty && received.isEmpty && upload == nil && pendingRequest == nil }

    /// Whether a TLS handshake has begun and is not complete.
    var isShakingHands: Bool { session.map { !$0.isHandshakeComplete } ?? false }

    /// The event that the connection waits for, by its state. It selects the time limit.
    var phase: ConnectionPhase {
        if isBlocked { return .sending }
        if pendingRequest != nil { return .reply }
        if upload != nil { return .body }
        if isShakingHands { return .head }
        return received.isEmpty ? .idle : .head
    }

    /// Sends an answer that is completely in memory, without changes. The part that the socket does not
    /// accept at once is queued.
    func sendImmediately(_ answer: Answer, now: Int64) {
        var sent = 0
        if queue.isEmpty, session == nil {
            let count = answer.bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            // An error counts as 0 bytes: sending the queue reports it again.
            sent = max(0, count)
        }
        if sent < answer.bytes.count { queue.append(answer.bytes, sent..<answer.bytes.count) }
    }

    /// Queues an answer. Returns false, and queues nothing, if the file of the body cannot be used.
    func queueAnswer(_ outgoing: OutgoingResponse) -> Bool {
        let answer = outgoing.answer
        var file: OpenFile?
        if let body = answer.file, outgoing.pieces?.isEmpty != true {
            file = OpenFile(body)
            if file == nil { return false }
        }
        // Without pieces, the body is the answer's own: in memory behind its head, or in its file.
        let head = outgoing.head ?? answer.bytes
        guard let pieces = outgoing.pieces else {
            if outgoing.head != nil {
                queue.append(head, head.indices)
                queue.append(answer.bytes, answer.headByteCount..<answer.bytes.count)
            } else {
                // One item, so that one call sends all of it.
                queue.append(answer.bytes, answer.bytes.indices)
            }
            if let file { queue.append(file, 0..<answer.bodyByteCount) }
            return true
        }
        queue.append(head, 0..<(outgoing.head == nil ? answer.headByteCount : head.count))
        for piece in pieces {
            switch piece {
            case .bytes(let bytes): queue.append(bytes, bytes.indices)
            case .body(let range):
                if let file {
                    queue.append(file, range)
                } else {
                    let start = range.lowerBound + answer.headByteCount
                    queue.append(answer.bytes, start..<start + range.count)
                }
            }
        }
        return true
    }

    /// Queues bytes as they are: an interim response, or a part of a stream.
    func queueBytes(_ bytes: [UInt8]) { queue.append(bytes, bytes.indices) }

    /// Sends queued bytes until the socket blocks or the turn is over. Returns false if the connection is
    /// unusable.
    func flush(now: Int64, _ limits: ServerLimits) -> Bool {
        let (progress, count) = queue.send(
            to: descriptor, session, maxFileBytes: limits.maxFileBytesPerTurn)
        isBlocked = progress == .blocked || progress == .paused
        if isBlocked { timer.enter(.sending, now: now) }
        timer.addProgress(byteCount: count, now: now)
        stream?.setQueuedBytes(queue.byteCount)
        return progress != .broken
    }

    /// Ends the sending side. Closing at once would reset a client that is still sending, which could lose
    /// the last answer. Returns false if the connection is unusable.
    func linger(now: Int64) -> Bool {
        timer.enter(.lingering, now: now)
        (received, upload) = ([], nil)
        session?.end()
        return shutdown(descriptor, Int32(SHUT_WR)) == 0
    }

    /// Reads and discards the bytes that a lingering client sends. Returns false if it has closed the connection or
    /// sent more than `ServerLimits.maxLingerBytes`.
    func discardInput(using buffer: UnsafeMutableBufferPointer<UInt8>, _ limits: ServerLimits) -> Bool {
        let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
        guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
        discardedCount += count
        return discardedCount <= limits.maxLingerBytes
    }
}

/// The unsent answers of a client, in order.
///
/// Items refer to shared arrays and files, so that queueing an answer copies nothing. Only small pieces are
/// copied to a common buffer, because each item costs a system call. Files are sent with `sendfile`, except
/// where bytes must pass through this process: patched files and TLS.
struct SendQueue {
    /// The state of the queue after sending.
    enum Progress: Equatable {
        /// The queue is empty.
        case done
        /// The socket accepts no more bytes for now.
        case blocked
        /// The limit for one turn is reached; the other clients come next.
        case paused
        /// The connection, or a file that it was sending, is unusable.
        case broken
    }

    /// A range of bytes of an array or of a file.
    private struct Item {
        var bytes: [UInt8]
        var range: Range<Int>
        /// The file that the range is in; nil if it is in `bytes`.
        var file: OpenFile?
        /// Whether this queue made the array itself, so that bytes can be appended to it without copying it.
        var isOwn = false
    }

    private var items: [Item] = []

    /// Longer bytes become an item of their own; up to this size, copying costs less than another item.
    private static let maxCopiedBytes = 4096
    /// The maximum size of an item that was joined from small ones. Beyond it, another item begins.
    private static let maxJoinedBytes = 64 * 1024
    /// The maximum part of a patched or encrypted file that is read into memory at once.
    private static let maxBytesPerPart = 96 * 1024

    var isEmpty: Bool { items.isEmpty }
    var itemCount: Int { items.count }
    var byteCount: Int { items.reduce(0) { $0 + $1.range.count } }

    mutating func append(_ bytes: [UInt8], _ range: Range<Int>) {
        guard !range.isEmpty else { return }
        guard let last = items.indices.last, range.count <= Self.maxCopiedBytes else {
            items.append(Item(bytes: bytes, range: range))
            return
        }
        if items[last].isOwn, items[last].range.upperBound + range.count <= Self.maxJoinedBytes {
            items[last].bytes += bytes[range]
            items[last].range = items[last].range.lowerBound..<items[last].bytes.count
        } else {
            items.append(Item(bytes: Array(bytes[range]), range: 0..<range.count, isOwn: true))
        }
    }

    mutating func append(_ file: OpenFile, _ range: Range<Int>) {
        guard !range.isEmpty else { return }
        items.append(Item(bytes: [], range: range, file: file))
    }

    /// Sends as much as the socket accepts, and at most about `maxFileBytes` from files. Returns the number of
    /// bytes sent.
    mutating func send(
        to socket: Int32, _ session: TLSSession?, maxFileBytes: Int
    ) -> (Progress, byteCount: Int) {
        var (sent, sentOfFiles) = (0, 0)
        while let first = items.first {
            guard sentOfFiles < maxFileBytes else { return (.paused, sent) }
            if let file = first.file, let patch = file.patch {
                // Counts towards the limit, because patching takes time.
                let part = first.range.prefix(Self.maxBytesPerPart)
                guard let bytes = patch.part(part, read: file.read) else { return (.broken, sent) }
                sentOfFiles += part.count
                remove(part.count)
                items.insert(Item(bytes: bytes, range: bytes.indices), at: 0)
                continue
            }
            if let file = first.file, session != nil {
                // The kernel's sendfile cannot encrypt.
                let part = first.range.prefix(Self.maxBytesPerPart)
                guard let bytes = file.read(part) else { return (.broken, sent) }
                sentOfFiles += part.count
                remove(part.count)
                items.insert(Item(bytes: bytes, range: bytes.indices), at: 0)
                continue
            }
            let count =
                if let session {
                    first.bytes.withUnsafeBytes {
                        session.write(UnsafeRawBufferPointer(rebasing: $0[first.range]))
                    }
                } else {
                    first.file.map { sendFile($0, first.range, to: socket) } ?? sendBytes(to: socket)
                }
            if count < 0 {
                switch errno {
                case EINTR: continue
                case EAGAIN: return (.blocked, sent)
                default: return (.broken, sent)
                }
            }
            // The file has become shorter. The promised length cannot be sent, so the connection must end.
            guard count > 0 else { return (.broken, sent) }
            sent += count
            if first.file != nil { sentOfFiles += count }
            remove(count)
        }
        return (.done, sent)
    }

    private func sendFile(_ file: OpenFile, _ range: Range<Int>, to socket: Int32) -> Int {
        var offset = off_t(range.lowerBound)
        return sendfile(socket, file.descriptor, &offset, min(range.count, 1 << 20))
    }

    /// Sends the first two items in one call: usually a head and its body.
    private func sendBytes(to socket: Int32) -> Int {
        let first = items[0]
        let second = items.count > 1 && items[1].file == nil ? items[1] : nil
        let hasMore = items.count > (second == nil ? 1 : 2)
        let flags = Int32(MSG_NOSIGNAL) | (hasMore ? Int32(MSG_MORE) : 0)
        return first.bytes.withUnsafeBytes { bytes in
            let start = bytes.baseAddress?.advanced(by: first.range.lowerBound)
            guard let second else { return Glibc.send(socket, start, first.range.count, flags) }
            return second.bytes.withUnsafeBytes { more in
                larder_send_two(
                    socket, start, first.range.count, more.baseAddress?.advanced(by: second.range.lowerBound),
                    second.range.count, flags)
            }
        }
    }

    /// Removes sent bytes from the front of the queue.
    private mutating func remove(_ count: Int) {
        var count = count
        while count > 0, let first = items.first {
            if first.range.count > count {
                items[0].range = first.range.lowerBound + count..<first.range.upperBound
                return
            }
            count -= first.range.count
            items.removeFirst()
        }
    }
}

/// A file that is being sent. It is closed with the last reference.
final class OpenFile {
    let descriptor: Int32
    let patch: Patch?

    /// Opens the file. Nil if it does not exist, if its length is not the one in the answer's head, or if it
    /// has changed since it was hashed.
    init?(_ body: Answer.FileBody) {
        descriptor = open(body.path, O_RDONLY | O_CLOEXEC)
        patch = body.patch
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0,
            status.st_size == body.patch?.sourceByteCount ?? body.byteCount,
            body.stamp == nil || FileStamp(descriptor: descriptor) == body.stamp
        else {
            return nil
        }
    }

    /// Reads a range; nil if the file no longer has all of its bytes.
    func read(_ range: Range<Int>) -> [UInt8]? {
        var isWhole = true
        let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, filled in
            while filled < range.count {
                let start = buffer.baseAddress.map { $0 + filled }
                let got = pread(descriptor, start, range.count - filled, off_t(range.lowerBound + filled))
                if got < 0, errno == EINTR { continue }
                guard got > 0 else {
                    isWhole = false
                    return
                }
                filled += got
            }
        }
        return isWhole ? bytes : nil
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }
}
