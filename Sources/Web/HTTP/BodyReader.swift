/// The method that delimits a message's body (RFC 9112, section 6.3).
package enum BodyFraming: Equatable, Sendable {
    case none
    case length(Int)
    case chunked
}

/// A parser that takes the body of a message from the bytes after its head. It does no I/O: the caller passes
/// bytes as they arrive.
///
/// Chunks are parsed strictly by RFC 9112, section 7.1: only CRLF ends a line. Two parsers that disagree on
/// line ends can be made to see one request as two (request smuggling).
///
/// A body of known length goes from `data` to `done`. A chunked body goes through these states:
///
///     sizeStart → size → extensionStart → extension → sizeEnd → data → dataReturn → dataEnd     for each chunk
///     lineStart → name → value → lineEnd                                        for each trailer field
///     lineStart → lastEnd → done                                                at the end
///
/// The extension states are skipped if a chunk has no extension. The last chunk has size 0 and leads to `lineStart`.
/// After `refused`, the only valid call is `continueReading(upTo:)`.
package struct BodyReader: Sendable {
    /// The result of a call to `read`.
    package enum Progress: Equatable {
        /// All bytes are consumed, and more are needed.
        case incomplete
        case complete
        /// The status to refuse the message with. The connection cannot be used further.
        case refused(Int)
    }

    /// The state: the part of the message to which the next byte belongs.
    private enum State: Sendable {
        /// The number of remaining bytes of the body, or of the chunk if the body is chunked.
        case data(Int)
        case sizeStart, size, extensionStart, `extension`, sizeEnd
        case dataReturn, dataEnd
        case lineStart, name, value, lineEnd, lastEnd
        case done
    }

    private var state: State
    private let isChunked: Bool
    /// The size of the current chunk.
    private var chunkByteCount = 0
    /// The number of digits of the current chunk's size so far.
    private var digitCount = 0
    /// The number of bytes in chunk extensions and trailers so far.
    private var overheadBytes = 0
    private var maxBodyBytes: Int
    private let maxOverheadBytes: Int

    /// - Parameters:
    ///   - maxBodyBytes: the maximum length in bytes of the buffer that a chunked body is appended to. A
    ///     declared length is not checked here.
    ///   - maxOverheadBytes: the maximum number of bytes in chunk extensions and trailers.
    package init(_ body: BodyFraming, maxBodyBytes: Int, maxOverheadBytes: Int) {
        switch body {
        case .none: (state, isChunked) = (.done, false)
        case .length(let count): (state, isChunked) = (.data(count), false)
        case .chunked: (state, isChunked) = (.sizeStart, true)
        }
        self.maxBodyBytes = maxBodyBytes
        self.maxOverheadBytes = maxOverheadBytes
    }

    /// Appends the bytes of the body to a buffer, and moves the position past all consumed bytes. Never
    /// consumes bytes after the end of the message.
    package mutating func read(
        _ bytes: UnsafeBufferPointer<UInt8>, from position: inout Int, into body: inout [UInt8]
    ) -> Progress {
        while true {
            switch state {
            case .done: return .complete
            case .data(let left):
                let count = min(left, bytes.count - position)
                body.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[position..<position + count]))
                position += count
                state = count < left ? .data(left - count) : isChunked ? .dataReturn : .done
                if count < left { return .incomplete }
            default:
                guard position < bytes.count else { return .incomplete }
                let status = readFramingByte(bytes[position], bodyByteCount: body.count)
                position += 1
                if let status { return .refused(status) }
            }
        }
    }

    /// Continues with a higher limit in the chunk for which `read` returned `.refused(413)`.
    ///
    /// - Returns: the hexadecimal digits of the chunk's size that were read so far.
    package mutating func continueReading(upTo limit: Int) -> [UInt8] {
        maxBodyBytes = limit
        state = .size
        let digits = String(chunkByteCount, radix: 16)
        return Array((String(repeating: "0", count: max(0, digitCount - digits.count)) + digits).utf8)
    }

    /// Consumes a byte that is not chunk data. Returns the status to refuse the message with; nil to
    /// continue.
    private mutating func readFramingByte(_ byte: UInt8, bodyByteCount: Int) -> Int? {
        switch state {
        case .data, .done: return nil
        case .sizeStart, .size: return readSizeByte(byte, bodyByteCount)
        case .extensionStart:
            guard byte != semicolon else { return move(to: .extension) }
            return isBlank(byte) ? countOverheadByte() : 400
        case .extension:
            return byte == cr ? move(to: .sizeEnd) : isText(byte) ? countOverheadByte() : 400
        case .sizeEnd:
            guard byte == lf else { return 400 }
            return move(to: chunkByteCount > 0 ? .data(chunkByteCount) : .lineStart)
        case .dataReturn: return byte == cr ? move(to: .dataEnd) : 400
        case .dataEnd:
            (chunkByteCount, digitCount) = (0, 0)
            return byte == lf ? move(to: .sizeStart) : 400
        case .lineStart:
            if byte == cr { return move(to: .lastEnd) }
            return HTTPGrammar.isToken(byte) ? move(to: .name) ?? countOverheadByte() : 400
        case .name:
            if byte == colon { return move(to: .value) }
            return HTTPGrammar.isToken(byte) ? countOverheadByte() : 400
        case .value:
            return byte == cr ? move(to: .lineEnd) : isText(byte) ? countOverheadByte() : 400
        case .lineEnd: return byte == lf ? move(to: .lineStart) : 400
        case .lastEnd: return byte == lf ? move(to: .done) : 400
        }
    }

    private mutating func readSizeByte(_ byte: UInt8, _ bodyByteCount: Int) -> Int? {
        if let digit = byte.hexDigitValue {
            // Counts leading zeros too, since there is no other limit on their number.
            digitCount += 1
            guard digitCount <= 16 else { return 400 }
            // Cannot overflow: the previous value was within the limit.
            chunkByteCount = chunkByteCount * 16 + Int(digit)
            guard bodyByteCount + chunkByteCount <= maxBodyBytes else { return 413 }
            return move(to: .size)
        }
        guard case .size = state else { return 400 }
        if byte == cr { return move(to: .sizeEnd) }
        if byte == semicolon { return move(to: .extension) }
        return isBlank(byte) ? move(to: .extensionStart) : 400
    }

    /// Returns nil, so that callers can return the result of this function.
    private mutating func move(to next: State) -> Int? {
        state = next
        return nil
    }

    /// Counts a byte of a chunk extension or trailer. Returns 431 (Request Header Fields Too Large) beyond the limit.
    private mutating func countOverheadByte() -> Int? {
        overheadBytes += 1
        return overheadBytes > maxOverheadBytes ? 431 : nil
    }

    private func isText(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7f || byte == 0x09 }
    private func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private var cr: UInt8 { 0x0d }
    private var lf: UInt8 { 0x0a }
    private var colon: UInt8 { 0x3a }
    private var semicolon: UInt8 { 0x3b }
}
