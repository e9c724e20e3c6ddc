/// The authority, host and port states.
extension URLParser {
    /// Reads credentials, host and port, and all that follows them.
    mutating func parseAuthority(_ input: Span<UInt8>, from start: Int) -> Bool {
        output.append(UInt8(ascii: "/"))
        output.append(UInt8(ascii: "/"))
        layout.setAuthority(at: mark)
        let end = nextDelimiter(in: input, from: start)
        var hostStart = start
        if let at = Self.last(UInt8(ascii: "@"), in: input, start..<end) {
            hostStart = at + 1
            guard hostStart < end else { return false }
            appendCredentials(input.extracting(start..<at))
        }
        layout.hostStart = mark

        let portColon = Self.portColon(in: input, hostStart..<end)
        let host = input.extracting(hostStart..<(portColon ?? end))
        if host.isEmpty {
            guard !layout.isSpecial, portColon == nil else { return false }
        } else {
            guard HostParser.append(host, isSpecial: layout.isSpecial, to: &output) else { return false }
        }
        layout.hostEnd = mark
        if let portColon {
            guard appendPort(input.extracting((portColon + 1)..<end)) else { return false }
        }
        layout.authorityEnd = mark
        beginPath()
        parsePathAfterAuthority(input, from: end)
        return true
    }

    /// Where a host or a segment ends: at a slash, a question mark, a number sign, or the input's end.
    func nextDelimiter(in input: Span<UInt8>, from start: Int) -> Int {
        var index = start
        while index < input.count {
            let byte = input[index]
            if byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { break }
            if byte == UInt8(ascii: "\\"), layout.isSpecial { break }
            index += 1
        }
        return index
    }

    private mutating func appendCredentials(_ userinfo: Span<UInt8>) {
        var colon = 0
        while colon < userinfo.count, userinfo[colon] != UInt8(ascii: ":") { colon += 1 }
        output.append(percentEncoding: userinfo.extracting(..<colon), .userinfo)
        layout.usernameEnd = mark
        if colon + 1 < userinfo.count {
            output.append(UInt8(ascii: ":"))
            output.append(percentEncoding: userinfo.extracting((colon + 1)...), .userinfo)
        }
        layout.passwordEnd = mark
        if layout.passwordEnd > layout.usernameStart {
            output.append(UInt8(ascii: "@"))
        }
    }

    /// False when it is no number or none that fits 16 bits. The scheme's default is left out.
    private mutating func appendPort(_ digits: Span<UInt8>) -> Bool {
        guard !digits.isEmpty else { return true }
        var port = 0
        for index in digits.indices {
            guard digits[index].isASCIIDigit else { return false }
            port = port * 10 + Int(digits[index] - UInt8(ascii: "0"))
            guard port <= Int(UInt16.max) else { return false }
        }
        if port != layout.kind.defaultPort {
            output.append(UInt8(ascii: ":"))
            output += String(port).utf8
        }
        return true
    }

    private static func last(_ byte: UInt8, in input: Span<UInt8>, _ range: Range<Int>) -> Int? {
        var index = range.upperBound
        while index > range.lowerBound {
            index -= 1
            if input[index] == byte { return index }
        }
        return nil
    }

    /// The first colon outside an IPv6 address's brackets.
    private static func portColon(in input: Span<UInt8>, _ range: Range<Int>) -> Int? {
        var isInBrackets = false
        for index in range {
            switch input[index] {
            case UInt8(ascii: "["): isInBrackets = true
            case UInt8(ascii: "]"): isInBrackets = false
            case UInt8(ascii: ":") where !isInBrackets: return index
            default: break
            }
        }
        return nil
    }
}
