internal import CLinux
internal import Glibc

/// One client: what it sent that is not yet a request, and what it has not yet taken of its answers.
final class ClientConnection {
    let descriptor: Int32
    /// Tells this connection from an earlier one with the same descriptor.
    let generation: UInt32
    /// The head of a request that has not come whole.
    var received: [UInt8] = []
    /// How much of a request's body is still to be thrown away.
    var bodyToSkip = 0
    var lastActive: Int64
    /// Waits for the socket to take more.
    var isBlocked = false
    /// Ends when its answers are sent.
    var isClosing = false
    /// Was told the end, and is listened to until it ends too.
    private(set) var isLingering = false
    private var discardedCount = 0
    private var waiting: [Sending] = []

    private struct Sending {
        let bytes: [UInt8]
        var offset = 0
        let end: Int
        var file: OpenFile?
        /// The next in the line is of the same answer.
        var isContinued = false
    }

    /// A file on its way out; closed with the last reference.
    private final class OpenFile {
        let descriptor: Int32
        var offset: off_t = 0
        let end: off_t

        init?(_ body: Answer.FileBody) {
            descriptor = open(body.path, O_RDONLY | O_CLOEXEC)
            end = off_t(body.byteCount)
            guard descriptor >= 0 else { return nil }
        }

        deinit { close(descriptor) }
    }

    init(_ descriptor: Int32, generation: UInt32, now: Int64) {
        self.descriptor = descriptor
        self.generation = generation
        lastActive = now
    }

    deinit {
        close(descriptor)
    }

    var hasUnsent: Bool { !waiting.isEmpty }

    /// Sends what the socket takes, and keeps the rest. False when the connection is of no more use.
    func send(_ reply: Reply, withBody: Bool) -> Bool {
        let answer = reply.answer
        let isFirst = waiting.isEmpty
        var sending = Sending(bytes: answer.bytes, end: withBody ? answer.bytes.count : answer.headCount)
        if withBody, let file = answer.file {
            // A body that has vanished since its head was made cannot be replaced by another answer any more.
            guard let opened = OpenFile(file) else { return false }
            sending.file = opened
        }
        let own = isClosing ? reply.ownFields + "Connection: close\r\n".utf8 : reply.ownFields
        if !own.isEmpty {
            // Before the empty line that ends the head.
            sending.offset = answer.headCount - 2
            waiting.append(Sending(bytes: answer.bytes, end: sending.offset, isContinued: true))
            waiting.append(Sending(bytes: own, end: own.count, isContinued: true))
        }
        waiting.append(sending)
        return !isFirst || flush()
    }

    /// Sends what waits. False when the connection is of no more use.
    func flush() -> Bool {
        isBlocked = false
        while !waiting.isEmpty {
            switch waiting[0].offset < waiting[0].end ? sendBytes() : sendFile() {
            case .done: waiting.removeFirst()
            case .some: break
            case .blocked:
                isBlocked = true
                return true
            case .broken: return false
            }
        }
        return true
    }

    /// Tells the client that no more comes. Closing at once would be a reset to one that is still sending, and might
    /// cost it the last answer. False when the connection is of no more use.
    func linger() -> Bool {
        isLingering = true
        received = []
        return shutdown(descriptor, Int32(SHUT_WR)) == 0
    }

    /// Throws away what a lingering client sends. False when it has ended, or sent more than is bearable.
    func discard(by buffer: UnsafeMutableBufferPointer<UInt8>) -> Bool {
        let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
        guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
        discardedCount += count
        return discardedCount <= ServerLimits.lingerByteCount
    }

    private enum Progress {
        case done
        case some
        case blocked
        case broken
    }

    private func sendBytes() -> Progress {
        let sending = waiting[0]
        let isMore = sending.isContinued || sending.file != nil
        let flags = Int32(MSG_NOSIGNAL) | (isMore ? Int32(MSG_MORE) : 0)
        let count = sending.bytes.withUnsafeBytes { bytes in
            Glibc.send(descriptor, bytes.baseAddress?.advanced(by: sending.offset), sending.end - sending.offset, flags)
        }
        guard count >= 0 else { return Self.progress(errno) }
        waiting[0].offset += count
        return waiting[0].offset == sending.end && sending.file == nil ? .done : .some
    }

    private func sendFile() -> Progress {
        guard let file = waiting[0].file, file.offset < file.end else { return .done }
        let count = sendfile(descriptor, file.descriptor, &file.offset, Int(min(file.end - file.offset, 1 << 20)))
        guard count != 0 else { return .broken }
        guard count > 0 else { return Self.progress(errno) }
        return file.offset == file.end ? .done : .some
    }

    private static func progress(_ code: Int32) -> Progress {
        switch code {
        case EAGAIN: .blocked
        case EINTR: .some
        default: .broken
        }
    }
}
