internal import Glibc

/// Walks over a head line by line.
struct HeadReader {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let limits: ServerLimits
    private var position = 0
    private var fieldCount = 0
    private var hostCount = 0
    private var lengthCount = 0
    private var codingCount = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>, _ limits: ServerLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    mutating func read() -> RequestHead.Parsing {
        // Empty lines before a request are passed over, as RFC 9112 §2.2 asks.
        while position < bytes.count, bytes[position] == cr || bytes[position] == lf { position += 1 }
        let start = position
        guard let line = nextLine() else {
            // No method that anybody knows is longer than 64 bytes with what else stands in the line.
            return bytes.count - start > limits.targetByteCount + 64 ? .refused(414) : unfinished()
        }
        var head: RequestHead
        switch RequestLine(bytes).read(line) {
        case .head(let read): head = read
        case .refused(let status): return .refused(status)
        case .incomplete: return .incomplete
        }
        if head.target.count > limits.targetByteCount { return .refused(414) }
        let firstField = position
        while true {
            guard let line = nextLine() else { return unfinished() }
            if line.isEmpty {
                head.fields = firstField..<line.lowerBound
                break
            }
            fieldCount += 1
            guard fieldCount <= limits.fieldCount else { return .refused(431) }
            if let status = field(line, into: &head) { return .refused(status) }
        }
        head.end = position
        return finished(head)
    }

    /// What can be told only when every field is known.
    private func finished(_ head: RequestHead) -> RequestHead.Parsing {
        guard position <= limits.headByteCount else { return .refused(431) }
        // HTTP/1.0 knows no `Host`; what it lacks, no browser leaves out.
        guard hostCount == 1 || hostCount == 0 && head.isOld else { return .refused(400) }
        if codingCount > 0 {
            // RFC 9112 §6.1 and §6.3: who sends both lengths, or chunks to HTTP/1.0, tries to have two readers disagree.
            guard codingCount == 1, lengthCount == 0, !head.isOld else { return .refused(400) }
        }
        return .head(head)
    }

    private func unfinished() -> RequestHead.Parsing {
        bytes.count > limits.headByteCount ? .refused(431) : .incomplete
    }

    private mutating func nextLine() -> Range<Int>? {
        guard position < bytes.count, let base = bytes.baseAddress,
            let found = memchr(base + position, Int32(lf), bytes.count - position)
        else { return nil }
        let end = UnsafeRawPointer(found) - UnsafeRawPointer(base)
        let start = position
        position = end + 1
        return start..<(end > start && bytes[end - 1] == cr ? end - 1 : end)
    }

    /// The status that refuses the field; nil when it is fine.
    private mutating func field(_ line: Range<Int>, into head: inout RequestHead) -> Int? {
        guard let separator = line.first(where: { bytes[$0] == colon }), separator > line.lowerBound,
            (line.lowerBound..<separator).allSatisfy({ HeadBytes.isToken(bytes[$0]) })
        else { return 400 }
        let name = line.lowerBound..<separator
        var value = separator + 1..<line.upperBound
        while let first = value.first, isBlank(bytes[first]) { value = first + 1..<value.upperBound }
        while let last = value.last, isBlank(bytes[last]) { value = value.lowerBound..<last }
        guard value.allSatisfy({ bytes[$0] >= 0x20 && bytes[$0] != 0x7f || bytes[$0] == tab }) else { return 400 }
        switch name.count {
        case 4 where matches(name, "host"):
            guard HeadBytes.isAuthority(bytes, value) else { return 400 }
            hostCount += 1
            if head.host.isEmpty { head.host = value }
        case 5 where matches(name, "range"): head.isConditional = true
        case 6 where matches(name, "accept"): head.accept = value
        case 6 where matches(name, "origin"): head.origin = value
        case 6 where matches(name, "expect"):
            guard matches(value, "100-continue") else { return 417 }
            // RFC 9110 §10.1.1: a client of HTTP/1.0 would take the interim answer for the answer.
            head.expectsContinue = !head.isOld
        case 8...19 where matches(name.prefix(3), "if-"):
            head.isConditional = true
            if matches(name, "if-none-match") { head.ifNoneMatch = value }
        case 10 where matches(name, "connection"):
            if lists(value, "close") {
                head.isKeptAlive = false
            } else if head.isOld, lists(value, "keep-alive") {
                head.isKeptAlive = true
            }
        case 14 where matches(name, "content-length"): return length(value, into: &head)
        case 14 where matches(name, "sec-fetch-site"): head.fetchSite = value
        case 17 where matches(name, "transfer-encoding"): return coding(value, into: &head)
        default: break
        }
        return nil
    }

    /// One number, once: a list of equal ones is allowed, and never needed.
    private mutating func length(_ value: Range<Int>, into head: inout RequestHead) -> Int? {
        lengthCount += 1
        guard lengthCount == 1, (1...18).contains(value.count) else { return 400 }
        var count = 0
        for index in value {
            guard (0x30...0x39).contains(bytes[index]) else { return 400 }
            count = count * 10 + Int(bytes[index] - 0x30)
        }
        guard count <= limits.bodyByteCount else { return 413 }
        if codingCount == 0 { head.body = count == 0 ? .none : .length(count) }
        return nil
    }

    /// RFC 9112 §6.1: chunks are what everybody must know, other codings nobody sends.
    private mutating func coding(_ value: Range<Int>, into head: inout RequestHead) -> Int? {
        codingCount += 1
        guard matches(value, "chunked") else {
            let last = value.suffix(7)
            return value.count > 7 && matches(last, "chunked") && !HeadBytes.isToken(bytes[last.lowerBound - 1])
                ? 501 : 400
        }
        head.body = .chunked
        return nil
    }

    private func matches(_ range: Range<Int>, _ text: StaticString) -> Bool {
        HeadBytes.matches(bytes, range, text)
    }

    /// Whether a list with commas has the member.
    private func lists(_ range: Range<Int>, _ text: StaticString) -> Bool {
        var rest = range
        while !rest.isEmpty {
            let end = rest.first { bytes[$0] == 0x2c } ?? rest.upperBound
            var member = rest.lowerBound..<end
            while let first = member.first, isBlank(bytes[first]) { member = first + 1..<end }
            while let last = member.last, isBlank(bytes[last]) { member = member.lowerBound..<last }
            if matches(member, text) { return true }
            rest = min(end + 1, rest.upperBound)..<rest.upperBound
        }
        return false
    }

    private func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == tab }

    private var cr: UInt8 { 0x0d }
    private var lf: UInt8 { 0x0a }
    private var tab: UInt8 { 0x09 }
    private var colon: UInt8 { 0x3a }
}
