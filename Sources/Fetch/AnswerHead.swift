package import Web

/// What the head of an answer says of itself and of its body. A pure value: bytes in, what they say out.
package struct AnswerHead: Equatable {
    package enum Parsing: Equatable {
        case incomplete
        /// Two readers might take it in two ways.
        case odd
        case head(AnswerHead)
    }

    package private(set) var status: Int
    /// Nil for one that ends with the connection.
    package private(set) var body: BodyFraming?
    /// The connection is not kept.
    package private(set) var isLast = false
    package private(set) var setsCookie = false
    /// Where the tag of the version stands that it is about.
    package private(set) var entityTag: Range<Int>?
    /// Where the body begins.
    package private(set) var end: Int

    package var isInterim: Bool { status < 200 }

    /// Too much is asked of the host, or it cannot answer now, whatever it was asked.
    package var isObjection: Bool { status == 429 || status >= 500 }

    /// Reads the head at the start of `bytes` by RFC 9112, strictly.
    package static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> Parsing {
        let version: StaticString = "HTTP/1.1 "
        for index in 0..<min(bytes.count, version.utf8CodeUnitCount)
        where bytes[index] != version.utf8Start[index] { return .odd }
        var head = AnswerHead(status: 0, body: nil, end: 0)
        var (length, isChunked): (Int?, Bool) = (nil, false)
        var start = 0
        while true {
            guard let feed = bytes[start...].firstIndex(of: 0x0A) else { return .incomplete }
            guard feed > start, bytes[feed - 1] == 0x0D else { return .odd }
            let line = UnsafeBufferPointer(rebasing: bytes[start..<feed - 1])
            guard !line.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) else { return .odd }
            if line.isEmpty {
                head.end = feed + 1
                return head.isFramed(length, isChunked: isChunked) ? .head(head) : .odd
            }
            if start == 0 {
                guard let status = Self.status(line) else { return .odd }
                head.status = status
            } else {
                // A byte at a time: what is generic is slow across rooms.
                guard let colon = line.firstIndex(of: 0x3A), colon > 0,
                    line[..<colon].allSatisfy({ HTTPGrammar.isToken($0) })
                else { return .odd }
                switch colon {
                case 14 where matches(line[..<colon], "content-length"):
                    guard length == nil, let count = number(value(line, colon)) else { return .odd }
                    length = count
                case 17 where matches(line[..<colon], "transfer-encoding"):
                    guard !isChunked, matches(value(line, colon), "chunked") else { return .odd }
                    isChunked = true
                case 4 where matches(line[..<colon], "etag"):
                    let tag = value(line, colon)
                    head.entityTag = start + tag.startIndex..<start + tag.endIndex
                case 10 where matches(line[..<colon], "set-cookie"): head.setsCookie = true
                case 10 where matches(line[..<colon], "connection"):
                    if !matches(value(line, colon), "keep-alive") { head.isLast = true }
                default: break
                }
            }
            start = feed + 1
        }
    }

    /// Whether one can tell where its body ends (RFC 9112 §6.3).
    private mutating func isFramed(_ length: Int?, isChunked: Bool) -> Bool {
        guard !isChunked || length == nil && status >= 200 && status != 204 else { return false }
        if status < 200 || status == 204 || status == 304 {
            body = BodyFraming.none
        } else if isChunked {
            body = .chunked
        } else {
            body = length.map { .length($0) }
        }
        if body == nil { isLast = true }
        return true
    }

    /// Behind `HTTP/1.1 `, with a reason or without.
    private static func status(_ line: UnsafeBufferPointer<UInt8>) -> Int? {
        guard line.count >= 12, line.count == 12 || line[12] == 0x20, let status = number(line[9..<12]),
            (100...599).contains(status), status != 101
        else { return nil }
        return status
    }

    /// Without spaces and tabs at its ends.
    private static func value(
        _ line: UnsafeBufferPointer<UInt8>, _ colon: Int
    ) -> Slice<UnsafeBufferPointer<UInt8>> {
        var (start, end) = (colon + 1, line.count)
        while start < end, line[start] == 0x20 || line[start] == 0x09 { start += 1 }
        while end > start, line[end - 1] == 0x20 || line[end - 1] == 0x09 { end -= 1 }
        return line[start..<end]
    }

    private static func number(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> Int? {
        guard (1...18).contains(digits.count) else { return nil }
        var number = 0
        for digit in digits {
            guard digit.isASCIIDigit else { return nil }
            number = number * 10 + Int(digit - 0x30)
        }
        return number
    }

    /// - Parameter text: in lower case.
    private static func matches(_ bytes: Slice<UnsafeBufferPointer<UInt8>>, _ text: StaticString) -> Bool {
        guard bytes.count == text.utf8CodeUnitCount else { return false }
        for (offset, byte) in bytes.enumerated() where byte.lowercasedASCII != text.utf8Start[offset] {
            return false
        }
        return true
    }
}
