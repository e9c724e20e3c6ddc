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
    private var waiting: [Sending] = []

    private struct Sending {
        let answer: Answer
        var offset = 0
        let end: Int
        var file: OpenFile?
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
    func send(_ answer: Answer, withBody: Bool) -> Bool {
        var sending = Sending(answer: answer, end: withBody ? answer.bytes.count : answer.headCount)
        if withBody, let file = answer.file {
            // A body that has vanished since its head was made cannot be replaced by another answer any more.
            guard let opened = OpenFile(file) else { return false }
            sending.file = opened
        }
        waiting.append(sending)
        return waiting.count > 1 || flush()
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

    private enum Progress {
        case done
        case some
        case blocked
        case broken
    }

    private func sendBytes() -> Progress {
        let sending = waiting[0]
        let flags = Int32(MSG_NOSIGNAL) | (sending.file == nil ? 0 : Int32(MSG_MORE))
        let count = sending.answer.bytes.withUnsafeBytes { bytes in
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
