/// Reads `GET /path HTTP/1.1`.
struct RequestLine {
    private let bytes: UnsafeBufferPointer<UInt8>

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    /// A head without its fields, or what refuses the line.
    func read(_ line: Range<Int>) -> RequestHead.Parsing {
        guard let first = line.first(where: { bytes[$0] == space }),
            let last = line.last(where: { bytes[$0] == space }), first > line.lowerBound, first < last,
            (line.lowerBound..<first).allSatisfy({ HeadBytes.isToken(bytes[$0]) })
        else { return .refused(400) }
        let method = line.lowerBound..<first
        var target = first + 1..<last
        guard !target.isEmpty, target.allSatisfy({ bytes[$0] > space && bytes[$0] < 0x7f }) else {
            return .refused(400)
        }
        let isOld: Bool
        switch version(last + 1..<line.upperBound) {
        case .known(let minor): isOld = minor == 0
        case .unknown: return .refused(505)
        case .malformed: return .refused(400)
        }
        var host = 0..<0
        if bytes[target.lowerBound] != slash {
            if HeadBytes.matches(bytes, method, "connect") { return .refused(501) }
            // RFC 9112 §3.2.4: the server as a whole, which only OPTIONS can ask about.
            let isServer = target.count == 1 && bytes[target.lowerBound] == 0x2a
            if !(isServer && HeadBytes.matches(bytes, method, "options")) {
                guard let authority = authority(of: target) else { return .refused(400) }
                host = authority
                target = authority.upperBound..<target.upperBound
            }
        }
        return .head(
            RequestHead(
                method: kind(of: method), methodName: method, target: target, host: host, fields: 0..<0, isOld: isOld,
                isKeptAlive: !isOld, body: .none, end: 0))
    }

    private enum Version {
        case known(minor: UInt8)
        /// Another major one.
        case unknown
        case malformed
    }

    /// RFC 9110 §2.5: a later minor version is understood by who knows an earlier one.
    private func version(_ range: Range<Int>) -> Version {
        let (major, minor) = (range.lowerBound + 5, range.lowerBound + 7)
        // The name is the one thing in the line that has a case (RFC 9112 §2.3), which nobody insists on.
        guard range.count == 8, HeadBytes.matches(bytes, range.prefix(5), "http/"), bytes[major + 1] == 0x2e,
            HeadBytes.isDigit(bytes[major]), HeadBytes.isDigit(bytes[minor])
        else { return .malformed }
        return bytes[major] == 0x31 ? .known(minor: bytes[minor] - 0x30) : .unknown
    }

    /// The host of an absolute target, which RFC 9112 §3.2.2 puts above `Host`.
    private func authority(of target: Range<Int>) -> Range<Int>? {
        let scheme = "http://".utf8.count
        let start = target.lowerBound + scheme
        guard target.count > scheme, HeadBytes.matches(bytes, target.lowerBound..<start, "http://"),
            case let end = (start..<target.upperBound).first(where: { bytes[$0] == slash }) ?? target.upperBound,
            end > start, HeadBytes.isAuthority(bytes, start..<end)
        else { return nil }
        return start..<end
    }

    /// A method is its name, case and all (RFC 9110 §9.1).
    private func kind(of range: Range<Int>) -> RequestHead.Method {
        switch range.count {
        case 3 where isExactly(range, "GET"): .get
        case 4 where isExactly(range, "HEAD"): .head
        default: .other
        }
    }

    private func isExactly(_ range: Range<Int>, _ text: StaticString) -> Bool {
        range.enumerated().allSatisfy { offset, index in bytes[index] == text.utf8Start[offset] }
    }

    private var space: UInt8 { 0x20 }
    private var slash: UInt8 { 0x2f }
}
