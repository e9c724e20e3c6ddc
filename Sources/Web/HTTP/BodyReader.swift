/// The method that delimits a message's body (RFC 9112, section 6.3).
package enum BodyFraming: Equatable, Sendable {
    case none
    /// The number of bytes, from `Content-Length`.
    case length(Int)
    /// `Transfer-Encoding: chunked`.
    case chunked
}

/// An incremental parser of the body of an HTTP/1.1 request or response: it decodes the body, and finds the end of the
/// message. It does no I/O: the caller passes the bytes after the head as they arrive.
///
/// Chunks are parsed strictly by RFC 9112, section 7.1: only CRLF ends a line. If two parsers disagree on line ends, an
/// attacker can make one of them see a request where the other sees data (request smuggling).
///
/// The state of a body of known length changes from `data` to `done`. A chunked body has these states:
///
///     sizeStart → size → beforeExtension → chunkExtension → sizeLF → data → dataCR → dataLF     for each chunk
///     trailerStart → trailerName → trailerValue → trailerLF                                     for each trailer field
///     trailerStart → finalLF → done                                                             at the end
///
/// The extension states are skipped if a chunk has no extension. The last chunk has size 0; its `sizeLF` is followed by
/// `trailerStart`. After `refused`, nothing more can be read, except that `continueRefusedChunk(maxBodyBytes:)` continues
/// after a 413.
package struct BodyReader: Sendable {
    /// The result of a call to `read`.
    package enum Progress: Equatable {
        /// All bytes are consumed, and more are needed.
        case incomplete
        case complete
        /// The message is invalid or too long; the value is the status of the response to it. The end of the message is
        /// unknown, so the connection cannot be used for another one.
        case refused(Int)
    }

    /// The part of the message to which the next byte belongs.
    private enum State: Sendable {
        /// The number of remaining bytes of the body, or of the chunk if the body is chunked.
        case data(Int)
        /// The first digit of a chunk's size, and all further ones.
        case sizeStart, size
        /// Spaces and tabs after the size.
        case beforeExtension
        case chunkExtension
        /// The LF of the line with the size.
        case sizeLF
        /// The line end after a chunk's data.
        case dataCR, dataLF
        /// The first byte of a trailer field, or the CR of the empty line that ends the message.
        case trailerStart
        case trailerName, trailerValue, trailerLF
        /// The LF of the empty line that ends the message.
        case finalLF
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
    ///   - maxBodyBytes: the maximum sum of a chunk's size and the length of the buffer that `read` appends to. A body
    ///     with a larger chunk is refused with 413 (Content Too Large).
    ///     The length of a body that is not chunked is not checked.
    ///   - maxOverheadBytes: the maximum number of bytes in chunk extensions and trailers. A body with more is refused
    ///     with 431.
    package init(_ framing: BodyFraming, maxBodyBytes: Int, maxOverheadBytes: Int) {
        switch framing {
        case .none: (state, isChunked) = (.done, false)
        case .length(let count): (state, isChunked) = (.data(count), false)
        case .chunked: (state, isChunked) = (.sizeStart, true)
        }
        self.maxBodyBytes = maxBodyBytes
        self.maxOverheadBytes = maxOverheadBytes
    }

    /// Appends the bytes of the body, without the chunk framing, to a buffer. Advances the position past all consumed
    /// bytes, which are never beyond the end of the message.
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
                state = count < left ? .data(left - count) : isChunked ? .dataCR : .done
                if count < left { return .incomplete }
            default:
                guard position < bytes.count else { return .incomplete }
                let status = readFramingByte(bytes[position], bodyByteCount: body.count)
                position += 1
                if let status { return .refused(status) }
            }
        }
    }

    /// Accepts the chunk for which `read` returned `.refused(413)`, with a higher limit. The next call of `read` continues
    /// after the last consumed digit of the chunk's size.
    ///
    /// - Returns: the digits of the chunk's size that were consumed, for a caller that forwards the body as received.
    package mutating func continueRefusedChunk(maxBodyBytes: Int) -> [UInt8] {
        self.maxBodyBytes = maxBodyBytes
        state = .size
        let digits = String(chunkByteCount, radix: 16)
        let leadingZeros = String(repeating: "0", count: max(0, digitCount - digits.count))
        return Array((leadingZeros + digits).utf8)
    }

    /// Consumes a byte that is not part of the body. Returns the status with which the message is refused; nil if the byte
    /// is valid.
    private mutating func readFramingByte(_ byte: UInt8, bodyByteCount: Int) -> Int? {
        switch state {
        case .data, .done: return nil
        case .sizeStart, .size: return readSizeByte(byte, bodyByteCount)
        case .beforeExtension:
            if byte == semicolon { return move(to: .chunkExtension) }
            return isSpaceOrTab(byte) ? countOverheadByte() : 400
        case .chunkExtension:
            return byte == cr ? move(to: .sizeLF) : isFieldByte(byte) ? countOverheadByte() : 400
        case .sizeLF:
            guard byte == lf else { return 400 }
            return move(to: chunkByteCount > 0 ? .data(chunkByteCount) : .trailerStart)
        case .dataCR: return byte == cr ? move(to: .dataLF) : 400
        case .dataLF:
            (chunkByteCount, digitCount) = (0, 0)
            return byte == lf ? move(to: .sizeStart) : 400
        case .trailerStart:
            if byte == cr { return move(to: .finalLF) }
            guard HTTPGrammar.isToken(byte) else { return 400 }
            state = .trailerName
            return countOverheadByte()
        case .trailerName:
            if byte == colon { return move(to: .trailerValue) }
            return HTTPGrammar.isToken(byte) ? countOverheadByte() : 400
        case .trailerValue:
            return byte == cr ? move(to: .trailerLF) : isFieldByte(byte) ? countOverheadByte() : 400
        case .trailerLF: return byte == lf ? move(to: .trailerStart) : 400
        case .finalLF: return byte == lf ? move(to: .done) : 400
        }
    }

    /// Consumes a digit of a chunk's size, or the byte after the last digit. Returns the same as `readFramingByte`.
    private mutating func readSizeByte(_ byte: UInt8, _ bodyByteCount: Int) -> Int? {
        if let digit = byte.hexDigitValue {
            // Leading zeros count too, since there is no other limit on their number.
            digitCount += 1
            guard digitCount <= 16 else { return 400 }
            guard chunkByteCount <= Int.max / 32 else { return 413 }
            chunkByteCount = chunkByteCount * 16 + Int(digit)
            guard chunkByteCount <= maxBodyBytes - bodyByteCount else { return 413 }
            return move(to: .size)
        }
        guard case .size = state else { return 400 }
        if byte == cr { return move(to: .sizeLF) }
        if byte == semicolon { return move(to: .chunkExtension) }
        return isSpaceOrTab(byte) ? move(to: .beforeExtension) : 400
    }

    /// Changes the state. Returns nil, so that `readFramingByte` can return the result of this function.
    private mutating func move(to next: State) -> Int? {
        state = next
        return nil
    }

    /// Counts a byte of a chunk extension or trailer. Returns 431 (Request Header Fields Too Large) beyond the limit.
    private mutating func countOverheadByte() -> Int? {
        overheadBytes += 1
        return overheadBytes > maxOverheadBytes ? 431 : nil
    }

    /// Whether a byte may be part of a field value or of a chunk extension: all bytes except control
    /// characters other than tab.
    private func isFieldByte(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7f || byte == 0x09 }
    private func isSpaceOrTab(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private var cr: UInt8 { 0x0d }
    private var lf: UInt8 { 0x0a }
    private var colon: UInt8 { 0x3a }
    private var semicolon: UInt8 { 0x3b }
}
