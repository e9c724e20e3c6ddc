internal import CLinux
internal import Glibc
internal import Markup

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
    mutating func send(to socket: Int32, fileByteLimit: Int) -> (Progress, byteCount: Int) {
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
            let count = first.file.map { sendFile($0, first.range, to: socket) } ?? sendBytes(to: socket)
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
