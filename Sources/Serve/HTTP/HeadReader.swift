/// Walks over a head line by line.
struct HeadReader {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    private var hostCount = 0
    private var lengthCount = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    mutating func read() -> RequestHead.Parsing {
        // Empty lines before a request are passed over, as RFC 9112 §2.2 asks.
        while position < bytes.count, bytes[position] == cr || bytes[position] == lf { position += 1 }
        guard let line = nextLine() else { return unfinished() }
        guard var head = requestLine(line) else { return .refused(400) }
        if head.target.count > ServerLimits.target { return .refused(414) }
        while true {
            guard let line = nextLine() else { return unfinished() }
            if line.isEmpty { break }
            if let status = field(line, into: &head) { return .refused(status) }
        }
        head.end = position
        guard position <= ServerLimits.head else { return .refused(431) }
        guard hostCount == 1 else { return .refused(400) }
        return .head(head)
    }

    private func unfinished() -> RequestHead.Parsing {
        bytes.count > ServerLimits.head ? .refused(431) : .incomplete
    }

    private mutating func nextLine() -> Range<Int>? {
        var end = position
        while end < bytes.count, bytes[end] != lf { end += 1 }
        guard end < bytes.count else { return nil }
        let start = position
        position = end + 1
        return start..<(end > start && bytes[end - 1] == cr ? end - 1 : end)
    }

    /// `GET /path HTTP/1.1`; nil when it is no such line.
    private mutating func requestLine(_ line: Range<Int>) -> RequestHead? {
        guard let first = line.first(where: { bytes[$0] == space }),
            let last = line.last(where: { bytes[$0] == space }), first < last
        else { return nil }
        let version = last + 1..<line.upperBound
        guard version.count == 8, matches(version.lowerBound..<version.lowerBound + 7, "http/1."),
            let minor = digit(version.upperBound - 1), minor <= 1
        else { return nil }
        guard first > line.lowerBound, (line.lowerBound..<first).allSatisfy({ isToken(bytes[$0]) }) else { return nil }
        var target = first + 1..<last
        guard !target.isEmpty, target.allSatisfy({ bytes[$0] > space && bytes[$0] < 0x7f }) else { return nil }
        var host = 0..<0
        if bytes[target.lowerBound] != slash {
            guard let authority = authority(of: target) else { return nil }
            host = authority
            target = authority.upperBound..<target.upperBound
        }
        return RequestHead(
            method: method(line.lowerBound..<first), target: target, host: host, isKeptAlive: minor == 1, bodyCount: 0,
            end: 0)
    }

    /// The host of an absolute target, which RFC 9112 §3.2.2 puts above `Host`.
    private func authority(of target: Range<Int>) -> Range<Int>? {
        let scheme = "http://".utf8.count
        let start = target.lowerBound + scheme
        guard target.count > scheme, matches(target.lowerBound..<start, "http://"),
            case let end = (start..<target.upperBound).first(where: { bytes[$0] == slash }) ?? target.upperBound,
            end > start, isAuthority(start..<end)
        else { return nil }
        return start..<end
    }

    /// `name`, `name:port` or `[address]:port`, and nothing that a URL would take for a user, a path or a query.
    private func isAuthority(_ range: Range<Int>) -> Bool {
        var rest = range
        if let first = rest.first, bytes[first] == 0x5b {
            guard let end = rest.first(where: { bytes[$0] == 0x5d }),
                (first + 1..<end).allSatisfy({ isHexDigit(bytes[$0]) || bytes[$0] == colon || bytes[$0] == 0x2e })
            else { return false }
            rest = end + 1..<rest.upperBound
        } else {
            rest = rest.drop { isNameByte(bytes[$0]) }
        }
        return rest.isEmpty || bytes[rest.lowerBound] == colon && rest.dropFirst().allSatisfy { digit($0) != nil }
    }

    private func method(_ range: Range<Int>) -> RequestHead.Method {
        if range.count == 3, bytes[range.lowerBound] == 0x47, bytes[range.lowerBound + 1] == 0x45 { return .get }
        return matches(range, "head") ? .head : .other
    }

    /// The status that refuses the field; nil when it is fine.
    private mutating func field(_ line: Range<Int>, into head: inout RequestHead) -> Int? {
        guard let separator = line.first(where: { bytes[$0] == colon }), separator > line.lowerBound,
            (line.lowerBound..<separator).allSatisfy({ isToken(bytes[$0]) })
        else { return 400 }
        let name = line.lowerBound..<separator
        var value = separator + 1..<line.upperBound
        while let first = value.first, isBlank(bytes[first]) { value = first + 1..<value.upperBound }
        while let last = value.last, isBlank(bytes[last]) { value = value.lowerBound..<last }
        guard value.allSatisfy({ bytes[$0] >= space || bytes[$0] == tab }) else { return 400 }
        switch name.count {
        case 4 where matches(name, "host"):
            guard isAuthority(value) else { return 400 }
            hostCount += 1
            if head.host.isEmpty { head.host = value }
        case 6 where matches(name, "accept"):
            head.accept = value
        case 6 where matches(name, "origin"):
            head.origin = value
        case 10 where matches(name, "connection"):
            if contains(value, "close") { head.isKeptAlive = false }
        case 13 where matches(name, "if-none-match"):
            head.ifNoneMatch = value
        case 14 where matches(name, "content-length"):
            lengthCount += 1
            guard lengthCount == 1, (1...12).contains(value.count) else { return 400 }
            var count = 0
            for index in value {
                guard let digit = digit(index) else { return 400 }
                count = count * 10 + digit
            }
            guard count <= ServerLimits.requestBody else { return 413 }
            head.bodyCount = count
        case 17 where matches(name, "transfer-encoding"):
            // Nothing here takes a body, so chunks are not worth the risk of reading them.
            return 411
        default: break
        }
        return nil
    }

    /// Compares without regard to ASCII case; `text` is in lower case.
    private func matches(_ range: Range<Int>, _ text: StaticString) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        for (offset, index) in range.enumerated() where lowercased(bytes[index]) != text.utf8Start[offset] {
            return false
        }
        return true
    }

    private func contains(_ range: Range<Int>, _ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard range.count >= count else { return false }
        return (range.lowerBound...range.upperBound - count).contains { matches($0..<$0 + count, text) }
    }

    private func digit(_ index: Int) -> Int? {
        (0x30...0x39).contains(bytes[index]) ? Int(bytes[index]) - 0x30 : nil
    }

    private func lowercased(_ byte: UInt8) -> UInt8 {
        (0x41...0x5a).contains(byte) ? byte | 0x20 : byte
    }

    private func isBlank(_ byte: UInt8) -> Bool { byte == space || byte == tab }

    /// RFC 9110 §5.6.2.
    private func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x21, 0x23...0x27, 0x2a, 0x2b, 0x2d, 0x2e, 0x5e...0x60, 0x7c, 0x7e:
            true
        default: false
        }
    }

    /// RFC 3986 §3.2.2: a registered name.
    private func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x21, 0x24...0x2e, 0x3b, 0x3d, 0x5f, 0x7e: true
        default: false
        }
    }

    private func isHexDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(lowercased(byte))
    }

    private var cr: UInt8 { 0x0d }
    private var lf: UInt8 { 0x0a }
    private var tab: UInt8 { 0x09 }
    private var space: UInt8 { 0x20 }
    private var slash: UInt8 { 0x2f }
    private var colon: UInt8 { 0x3a }
}
