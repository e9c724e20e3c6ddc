internal import CLinux
internal import Glibc
internal import Markup
internal import Store
internal import TLS
internal import Web

/// One client: what it sent that is not yet a request, and what it has not yet taken of its answers.
final class ClientConnection {
    let descriptor: Int32
    /// Tells this connection from an earlier one with the same descriptor.
    let generation: UInt32
    /// The start of a request whose head has not come whole, or what cannot be looked at yet.
    var received: [UInt8] = []
    /// Something has come of it.
    var hasSent = false
    /// How much of `received` holds no whole head.
    var searchedCount = 0
    /// The request whose body has not come whole.
    var upload: Upload?
    /// What must be known of a request whose reply comes later.
    var awaited: Awaited?
    /// By which whoever makes that reply knows that nobody waits for it any more.
    let departure = Departure()
    /// What it had itself connected to, when it asked a proxy for that.
    var tunnel: Tunnel?
    /// What it says comes by way of TLS.
    private(set) var session: TLSSession?
    /// Who takes it over as soon as what was queued is sent.
    var takeover: Takeover?
    private var isHandedOver = false
    /// What it gets while it comes; its request is awaited until that ends.
    var stream: ReplyStream?
    /// It ends with the stream.
    var endsWithStream = false
    /// What it was to get was cut off: it is dropped when it has what there is.
    var isCut = false
    /// Ends when its answers are sent.
    var isClosing = false
    /// What the event queue tells of it.
    var interest: UInt32 = 0
    var patience: Patience
    private(set) var queue = SendQueue()
    /// Waits for the socket to take more.
    private(set) var isBlocked = false
    private var discardedCount = 0

    struct Upload {
        let head: RequestHead
        /// The bytes of the head, as it came.
        let bytes: [UInt8]
        var reader: BodyReader
        var body: [UInt8] = []
        let share: UploadRoom.Share
    }

    struct Awaited {
        let head: RequestHead
        let method: String
        /// Nil when there is no condition among them.
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
        patience = Patience(now: now)
    }

    deinit {
        departure.happen()
        if !isHandedOver { close(descriptor) }
    }

    /// What events bear.
    var token: UInt64 { UInt64(generation) << 32 | UInt64(UInt32(bitPattern: descriptor)) }

    /// Was told the end, and is listened to until it ends too.
    var isLingering: Bool { patience.waiting == .end }

    /// The client begins to speak TLS, in its tunnel.
    func secure(_ tunnel: Tunnel) throws(TLSError) {
        session = try tunnel.security.session(on: descriptor, for: tunnel.host)
    }

    /// The client speaks TLS from the start, to the address that it has reached.
    func secure(_ security: TLSServer) throws(TLSError) {
        session = try security.session(on: descriptor, for: Self.ownHost(descriptor))
    }

    /// The near end of a socket, as URLs have it.
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

    func waitForRoom() { isBlocked = true }

    /// Lets go of its socket, which somebody else closes.
    func handOver() -> HandedOver {
        isHandedOver = true
        return HandedOver(descriptor: descriptor, session: session, received: received)
    }

    /// Neither a request nor an answer is under way.
    var isIdle: Bool { queue.isEmpty && received.isEmpty && upload == nil && awaited == nil }

    /// Its TLS has begun, and nothing can be said in it yet.
    var isShakingHands: Bool { session.map { !$0.hasShakenHands } ?? false }

    /// What it is to be given time for.
    var waiting: Patience.Waiting {
        if isBlocked { return .taking }
        if awaited != nil { return .answer }
        if upload != nil { return .body }
        if isShakingHands { return .head }
        return received.isEmpty ? .request : .head
    }

    /// Sends an answer that stands in memory, as it is; what the socket does not take at once goes into the
    /// queue.
    func sendAtOnce(_ answer: Answer, now: Int64) {
        var sent = 0
        if queue.isEmpty, session == nil {
            let count = answer.bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            // What went wrong is found out again by the queue.
            sent = max(0, count)
        }
        if sent < answer.bytes.count { queue.append(answer.bytes, sent..<answer.bytes.count) }
    }

    /// False when the body is in a file that is gone: nothing is put in the queue then.
    func append(_ outgoing: Outgoing) -> Bool {
        let answer = outgoing.answer
        var file: OpenFile?
        if let body = answer.file, outgoing.pieces?.isEmpty != true {
            file = OpenFile(body)
            if file == nil { return false }
        }
        let head = outgoing.head ?? answer.bytes
        guard let pieces = outgoing.pieces else {
            if outgoing.head != nil {
                queue.append(head, head.indices)
                queue.append(answer.bytes, answer.headCount..<answer.bytes.count)
            } else {
                // In one piece, as it is.
                queue.append(answer.bytes, answer.bytes.indices)
            }
            if let file { queue.append(file, 0..<answer.bodyByteCount) }
            return true
        }
        queue.append(head, 0..<(outgoing.head == nil ? answer.headCount : head.count))
        for piece in pieces {
            switch piece {
            case .bytes(let bytes): queue.append(bytes, bytes.indices)
            case .body(let range):
                if let file {
                    queue.append(file, range)
                } else {
                    let start = range.lowerBound + answer.headCount
                    queue.append(answer.bytes, start..<start + range.count)
                }
            }
        }
        return true
    }

    func append(_ interim: StaticString) { append(interim.withUTF8Buffer { Array($0) }) }

    func append(_ interim: [UInt8]) { queue.append(interim, interim.indices) }

    /// Sends what waits, as far as the socket takes it. False when the connection is of no more use.
    func flush(now: Int64, _ limits: ServerLimits) -> Bool {
        let (progress, count) = queue.send(
            to: descriptor, session, fileByteLimit: limits.turnByteCount)
        isBlocked = progress == .blocked || progress == .paused
        if isBlocked { patience.wait(for: .taking, now: now) }
        patience.progressed(by: count, now: now)
        stream?.queued(queue.byteCount)
        return progress != .broken
    }

    /// Tells the client that no more comes. Closing at once would be a reset to one that is still sending,
    /// and might cost it the last answer. False when the connection is of no more use.
    func linger(now: Int64) -> Bool {
        patience.wait(for: .end, now: now)
        (received, upload) = ([], nil)
        session?.end()
        return shutdown(descriptor, Int32(SHUT_WR)) == 0
    }

    /// Throws away what a lingering client sends. False when it has ended, or sent more than is bearable.
    func discard(by buffer: UnsafeMutableBufferPointer<UInt8>, _ limits: ServerLimits) -> Bool {
        let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
        guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
        discardedCount += count
        return discardedCount <= limits.lingerByteCount
    }
}

/// What a client has not yet taken, in its order.
struct SendQueue {
    enum Progress: Equatable {
        /// Nothing is left.
        case done
        /// The socket takes no more for now.
        case blocked
        /// Others shall have their turn.
        case paused
        case broken
    }

    private struct Item {
        var bytes: [UInt8]
        var range: Range<Int>
        /// What the range is of, when it is not the bytes.
        var file: OpenFile?
        /// Nobody else has the bytes, so more can be put behind them.
        var isOwn = false
    }

    private var items: [Item] = []

    /// Copying so much costs less than another entry in the queue.
    private static let copiedByteCount = 4096
    private static let joinedByteCount = 64 * 1024
    /// How much of what is put together of a file waits for one client.
    private static let patchedByteCount = 96 * 1024

    var isEmpty: Bool { items.isEmpty }
    var itemCount: Int { items.count }
    var byteCount: Int { items.reduce(0) { $0 + $1.range.count } }

    mutating func append(_ bytes: [UInt8], _ range: Range<Int>) {
        guard !range.isEmpty else { return }
        guard let last = items.indices.last, range.count <= Self.copiedByteCount else {
            items.append(Item(bytes: bytes, range: range))
            return
        }
        if items[last].isOwn, items[last].range.upperBound + range.count <= Self.joinedByteCount {
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

    /// Sends what the socket takes, and says how much that was.
    mutating func send(
        to socket: Int32, _ session: TLSSession?, fileByteLimit: Int
    ) -> (Progress, byteCount: Int) {
        var (sent, sentOfFiles) = (0, 0)
        while let first = items.first {
            guard sentOfFiles < fileByteLimit else { return (.paused, sent) }
            if let file = first.file, let patch = file.patch {
                // Counts as sent: putting it together takes its time.
                let part = first.range.prefix(Self.patchedByteCount)
                guard let bytes = patch.part(part, read: file.read) else { return (.broken, sent) }
                sentOfFiles += part.count
                remove(part.count)
                items.insert(Item(bytes: bytes, range: bytes.indices), at: 0)
                continue
            }
            if let file = first.file, session != nil {
                // What is to be enciphered cannot go by the kernel alone.
                let part = first.range.prefix(Self.patchedByteCount)
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
            // A file that became shorter has no end that could be sent.
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

    /// The first two in one call: a head and its body.
    private func sendBytes(to socket: Int32) -> Int {
        let first = items[0]
        let second = items.count > 1 && items[1].file == nil ? items[1] : nil
        let isMore = items.count > (second == nil ? 1 : 2)
        let flags = Int32(MSG_NOSIGNAL) | (isMore ? Int32(MSG_MORE) : 0)
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

/// A file on its way out; closed with the last reference.
final class OpenFile {
    let descriptor: Int32
    let patch: Patch?

    /// Nil when it is not there any more, is not as long as the head of its answer says, or has changed since
    /// it was hashed.
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

    /// Nil when the file does not have its bytes any more.
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
