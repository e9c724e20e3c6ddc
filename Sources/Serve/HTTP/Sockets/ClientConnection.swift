internal import CLinux
internal import Glibc
internal import Web

/// One client: what it sent that is not yet a request, and what it has not yet taken of its answers.
final class ClientConnection {
    let descriptor: Int32
    /// Tells this connection from an earlier one with the same descriptor.
    let generation: UInt32
    /// The start of a request whose head has not come whole, or what cannot be looked at yet.
    var received: [UInt8] = []
    /// How much of `received` holds no whole head.
    var searchedCount = 0
    /// The request whose body has not come whole.
    var upload: Upload?
    /// What must be known of a request whose reply comes later.
    var awaited: Awaited?
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
        close(descriptor)
    }

    /// What events bear.
    var token: UInt64 { UInt64(generation) << 32 | UInt64(UInt32(bitPattern: descriptor)) }

    /// Was told the end, and is listened to until it ends too.
    var isLingering: Bool { patience.waiting == .end }

    /// Neither a request nor an answer is under way.
    var isIdle: Bool { queue.isEmpty && received.isEmpty && upload == nil && awaited == nil }

    /// What it is to be given time for.
    var waiting: Patience.Waiting {
        if isBlocked { return .taking }
        if awaited != nil { return .answer }
        if upload != nil { return .body }
        return received.isEmpty ? .request : .head
    }

    /// Sends an answer that stands in memory, as it is; what the socket does not take at once goes into the queue.
    func sendAtOnce(_ answer: Answer, now: Int64) {
        var sent = 0
        if queue.isEmpty {
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
        let (progress, count) = queue.send(to: descriptor, fileByteLimit: limits.turnByteCount)
        isBlocked = progress == .blocked || progress == .paused
        if isBlocked { patience.wait(for: .taking, now: now) }
        patience.progressed(by: count, now: now)
        return progress != .broken
    }

    /// Tells the client that no more comes. Closing at once would be a reset to one that is still sending, and might
    /// cost it the last answer. False when the connection is of no more use.
    func linger(now: Int64) -> Bool {
        patience.wait(for: .end, now: now)
        (received, upload) = ([], nil)
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
