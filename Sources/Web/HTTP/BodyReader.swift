/// How the end of a message's body is found (RFC 9112 §6.3).
package enum BodyFraming: Equatable, Sendable {
    case none
    case length(Int)
    case chunked
}

/// Takes the body of a message out of the bytes behind its head. A pure value: it is given bytes as they
/// come.
///
/// Chunks are read by RFC 9112 §7.1, strictly: what ends a line is CRLF and nothing else, since servers have
/// been talked into reading one request as two by ends that others did not see.
package struct BodyReader: Sendable {
    package enum Progress: Equatable {
        /// Everything is taken, and more is needed.
        case incomplete
        case complete
        /// The status that refuses it; the connection cannot go on.
        case refused(Int)
    }

    private enum Step: Sendable {
        /// So many bytes of a body, or of a chunk when there are more to come.
        case data(Int)
        case sizeStart, size, extensionStart, `extension`, sizeEnd
        case dataReturn, dataEnd
        case lineStart, name, value, lineEnd, lastEnd
        case done
    }

    private var step: Step
    private let isChunked: Bool
    private var chunkByteCount = 0
    private var digitCount = 0
    private var aroundByteCount = 0
    private var bodyLimit: Int
    private let aroundLimit: Int

    /// - Parameters:
    ///   - bodyLimit: how long what it appends to may become.
    ///   - aroundLimit: how much may stand around the data of chunks.
    package init(_ body: BodyFraming, bodyLimit: Int, aroundLimit: Int) {
        switch body {
        case .none: (step, isChunked) = (.done, false)
        case .length(let count): (step, isChunked) = (.data(count), false)
        case .chunked: (step, isChunked) = (.sizeStart, true)
        }
        self.bodyLimit = bodyLimit
        self.aroundLimit = aroundLimit
    }

    /// Appends what is of the body, and moves the position behind what was taken: not beyond the end of the
    /// request.
    package mutating func read(
        _ bytes: UnsafeBufferPointer<UInt8>, from position: inout Int, into body: inout [UInt8]
    ) -> Progress {
        while true {
            switch step {
            case .done: return .complete
            case .data(let left):
                let count = min(left, bytes.count - position)
                body.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[position..<position + count]))
                position += count
                step = count < left ? .data(left - count) : isChunked ? .dataReturn : .done
                if count < left { return .incomplete }
            default:
                guard position < bytes.count else { return .incomplete }
                let status = take(bytes[position], bodyByteCount: body.count)
                position += 1
                if let status { return .refused(status) }
            }
        }
    }

    /// Takes the chunk for which it refused the body as too long after all.
    ///
    /// - Returns: what it has read of that chunk's size.
    package mutating func takeLonger(upTo limit: Int) -> [UInt8] {
        bodyLimit = limit
        step = .size
        let digits = String(chunkByteCount, radix: 16)
        return Array((String(repeating: "0", count: max(0, digitCount - digits.count)) + digits).utf8)
    }

    /// One byte around the data. The status that refuses it; nil when it is fine.
    private mutating func take(_ byte: UInt8, bodyByteCount: Int) -> Int? {
        switch step {
        case .data, .done: return nil
        case .sizeStart, .size: return takeSize(byte, bodyByteCount)
        case .extensionStart:
            guard byte != semicolon else { return move(to: .extension) }
            return isBlank(byte) ? count() : 400
        case .extension:
            return byte == cr ? move(to: .sizeEnd) : isText(byte) ? count() : 400
        case .sizeEnd:
            guard byte == lf else { return 400 }
            return move(to: chunkByteCount > 0 ? .data(chunkByteCount) : .lineStart)
        case .dataReturn: return byte == cr ? move(to: .dataEnd) : 400
        case .dataEnd:
            (chunkByteCount, digitCount) = (0, 0)
            return byte == lf ? move(to: .sizeStart) : 400
        case .lineStart:
            if byte == cr { return move(to: .lastEnd) }
            return HTTPGrammar.isToken(byte) ? move(to: .name) ?? count() : 400
        case .name:
            if byte == colon { return move(to: .value) }
            return HTTPGrammar.isToken(byte) ? count() : 400
        case .value:
            return byte == cr ? move(to: .lineEnd) : isText(byte) ? count() : 400
        case .lineEnd: return byte == lf ? move(to: .lineStart) : 400
        case .lastEnd: return byte == lf ? move(to: .done) : 400
        }
    }

    private mutating func takeSize(_ byte: UInt8, _ bodyByteCount: Int) -> Int? {
        if let digit = byte.hexDigitValue {
            // Zeros in front are digits, too, and could go on for ever.
            digitCount += 1
            guard digitCount <= 16 else { return 400 }
            // Below the limit so far, and far from what an `Int` can hold.
            chunkByteCount = chunkByteCount * 16 + Int(digit)
            guard bodyByteCount + chunkByteCount <= bodyLimit else { return 413 }
            return move(to: .size)
        }
        guard case .size = step else { return 400 }
        if byte == cr { return move(to: .sizeEnd) }
        if byte == semicolon { return move(to: .extension) }
        return isBlank(byte) ? move(to: .extensionStart) : 400
    }

    private mutating func move(to next: Step) -> Int? {
        step = next
        return nil
    }

    private mutating func count() -> Int? {
        aroundByteCount += 1
        return aroundByteCount > aroundLimit ? 431 : nil
    }

    private func isText(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7f || byte == 0x09 }
    private func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private var cr: UInt8 { 0x0d }
    private var lf: UInt8 { 0x0a }
    private var colon: UInt8 { 0x3a }
    private var semicolon: UInt8 { 0x3b }
}
