/// The host parser of the standard, section 3.5.
enum HostParser {
    /// Appends the serialized host: an IP address or a domain, or any text for schemes that are not special. Returns
    /// false if the standard defines a failure.
    static func appendHost(_ host: Span<UInt8>, isSpecial: Bool, to output: inout [UInt8]) -> Bool {
        if host[0] == UInt8(ascii: "[") {
            guard host[host.count - 1] == UInt8(ascii: "]"),
                let address = IPv6Address(host.extracting(1..<(host.count - 1)))
            else { return false }
            output.append(UInt8(ascii: "["))
            address.append(to: &output)
            output.append(UInt8(ascii: "]"))
            return true
        }
        guard isSpecial else { return appendOpaque(host, to: &output) }
        let start = output.count
        guard appendDomain(host, to: &output) else { return false }

        switch DomainKind(of: output.span.extracting(start...)) {
        case .name:
            return true
        case .address(let address):
            output.removeSubrange(start...)
            address.append(to: &output)
            return true
        case .invalid:
            return false
        }
    }

    /// The result of parsing a domain in its ASCII form: a name, an IPv4 address or a failure.
    private enum DomainKind {
        case name
        case address(IPv4Address)
        case invalid

        init(of domain: Span<UInt8>) {
            let forbidden = ByteSet.forbiddenDomain
            if domain.isEmpty || domain.indices.contains(where: { forbidden.contains(domain[$0]) }) {
                self = .invalid
            } else if IPv4Address.endsInNumber(domain) {
                self = IPv4Address(domain).map { .address($0) } ?? .invalid
            } else {
                self = .name
            }
        }
    }

    /// Appends the host of a URL whose scheme is not special.
    private static func appendOpaque(_ host: Span<UInt8>, to output: inout [UInt8]) -> Bool {
        let forbidden = ByteSet.forbiddenHost
        guard host.indices.allSatisfy({ !forbidden.contains(host[$0]) }) else { return false }
        output.appendPercentEncoded(host, .c0Control)
        return true
    }

    /// Appends the ASCII form of a domain. A domain that is already ASCII is only put in lower case; its
    /// Punycode is not validated.
    private static func appendDomain(_ host: Span<UInt8>, to output: inout [UInt8]) -> Bool {
        if host.indices.contains(where: { host[$0] == UInt8(ascii: "%") }) {
            return appendDecodedDomain([UInt8](percentDecoding: host).span, to: &output)
        }
        return appendDecodedDomain(host, to: &output)
    }

    private static func appendDecodedDomain(_ domain: Span<UInt8>, to output: inout [UInt8]) -> Bool {
        if domain.indices.contains(where: { domain[$0] >= 0x80 }) {
            return IDNA.shared.append(asciiFormOf: domain, to: &output)
        }
        for index in domain.indices { output.append(domain[index].lowercasedASCII) }
        return true
    }
}

// MARK: - IPv4Address

/// An IPv4 address, parsed as leniently as in browsers: one to four numbers in octal, decimal or hexadecimal.
struct IPv4Address {
    private var value: UInt32

    /// Whether the last label of a domain is a number, so that the domain must be a valid IPv4 address (the "ends in a
    /// number checker" of the standard).
    static func endsInNumber(_ domain: Span<UInt8>) -> Bool {
        var end = domain.count
        if end > 0, domain[end - 1] == UInt8(ascii: ".") { end -= 1 }
        var start = end
        while start > 0, domain[start - 1] != UInt8(ascii: ".") { start -= 1 }
        let last = domain.extracting(start..<end)
        guard !last.isEmpty, last[0].isASCIIDigit else { return false }
        return last.indices.allSatisfy { last[$0].isASCIIDigit } || number(last) != nil
    }

    init?(_ text: Span<UInt8>) {
        var end = text.count
        if end > 0, text[end - 1] == UInt8(ascii: ".") { end -= 1 }
        var value: UInt64 = 0
        var partCount = 0
        var start = 0
        while true {
            var dot = start
            while dot < end, text[dot] != UInt8(ascii: ".") { dot += 1 }
            guard let part = Self.number(text.extracting(start..<dot)) else { return nil }
            partCount += 1
            guard partCount <= 4 else { return nil }
            if dot == end {
                // The last number fills all remaining bytes.
                let bits = UInt64(8 * (5 - partCount))
                guard part >> bits == 0 else { return nil }
                self.value = UInt32(value << bits | part)
                return
            }
            guard part <= 255 else { return nil }
            value = value << 8 | part
            start = dot + 1
        }
    }

    func append(to output: inout [UInt8]) {
        for shift in stride(from: 24, through: 0, by: -8) {
            output += String(value >> UInt32(shift) & 0xFF).utf8
            if shift > 0 { output.append(UInt8(ascii: ".")) }
        }
    }

    /// Parses a number in octal, decimal or hexadecimal, at most 2^40, which is too large for any address.
    private static func number(_ text: Span<UInt8>) -> UInt64? {
        guard !text.isEmpty else { return nil }
        var radix: UInt64 = 10
        var start = 0
        if text.count >= 2, text[0] == UInt8(ascii: "0") {
            let isHexadecimal = text[1] | 0x20 == UInt8(ascii: "x")
            radix = isHexadecimal ? 16 : 8
            start = isHexadecimal ? 2 : 1
        }
        var value: UInt64 = 0
        for index in start..<text.count {
            guard let digit = text[index].hexDigitValue, digit < radix else { return nil }
            value = min(value * radix + UInt64(digit), 1 << 40)
        }
        return value
    }
}

// MARK: - IPv6Address

/// An IPv6 address with eight pieces of 16 bits.
struct IPv6Address {
    private var pieces = InlineArray<8, UInt16>(repeating: 0)

    init?(_ text: Span<UInt8>) {
        var reader = Reader(pieces: pieces)
        guard reader.read(text) else { return nil }
        pieces = reader.pieces
    }

    /// Appends the address without brackets, in lower case, with the longest run of two or more zeros as
    /// `::`.
    func append(to output: inout [UInt8]) {
        let zeros = compressibleZeros
        var index = 0
        while index < 8 {
            if index == zeros.lowerBound, !zeros.isEmpty {
                output += (index == 0 ? "::" : ":").utf8
                index = zeros.upperBound
                continue
            }
            output += String(pieces[index], radix: 16).utf8
            if index < 7 { output.append(UInt8(ascii: ":")) }
            index += 1
        }
    }

    /// The first of the longest runs of zeros; empty if none has two pieces.
    private var compressibleZeros: Range<Int> {
        var longest = 0..<0
        var start = 0
        for index in 0...8 where index == 8 || pieces[index] != 0 {
            if index - start > max(longest.count, 1) { longest = start..<index }
            start = index + 1
        }
        return longest
    }
}

extension IPv6Address {
    /// The IPv6 parser of the standard, section 3.5.
    private struct Reader {
        var pieces: InlineArray<8, UInt16>
        private var pieceIndex = 0
        /// The index of the first piece after `::`; nil before that.
        private var compression: Int?
        private var position = 0

        init(pieces: InlineArray<8, UInt16>) { self.pieces = pieces }

        mutating func read(_ text: Span<UInt8>) -> Bool {
            if text.starts(with: ":", at: 0) {
                guard text.starts(with: "::", at: 0) else { return false }
                position = 2
                compression = 0
            }
            while position < text.count {
                guard pieceIndex < 8 else { return false }
                if text[position] == UInt8(ascii: ":") {
                    guard compression == nil else { return false }
                    position += 1
                    compression = pieceIndex
                    continue
                }
                let start = position
                let value = readHexadecimal(text)
                if text.starts(with: ".", at: position) {
                    position = start
                    guard readIPv4(text) else { return false }
                    break
                }
                guard position > start else { return false }
                if text.starts(with: ":", at: position) {
                    position += 1
                    guard position < text.count else { return false }
                } else if position < text.count {
                    return false
                }
                pieces[pieceIndex] = value
                pieceIndex += 1
            }
            return expand()
        }

        private mutating func readHexadecimal(_ text: Span<UInt8>) -> UInt16 {
            var value: UInt16 = 0
            let end = min(position + 4, text.count)
            while position < end, let digit = text[position].hexDigitValue {
                value = value << 4 | UInt16(digit)
                position += 1
            }
            return value
        }

        /// Reads four decimal numbers without leading zeros, which fill two pieces and end the address.
        private mutating func readIPv4(_ text: Span<UInt8>) -> Bool {
            guard pieceIndex <= 6 else { return false }
            for part in 0..<4 {
                if part > 0 {
                    guard text.starts(with: ".", at: position) else { return false }
                    position += 1
                }
                let start = position
                var value: UInt16 = 0
                while position < text.count, text[position].isASCIIDigit {
                    guard position == start || value > 0 else { return false }
                    value = value * 10 + UInt16(text[position] - UInt8(ascii: "0"))
                    guard value <= 255 else { return false }
                    position += 1
                }
                guard position > start else { return false }
                pieces[pieceIndex] = pieces[pieceIndex] << 8 | value
                if part % 2 == 1 { pieceIndex += 1 }
            }
            return position == text.count
        }

        /// Moves the pieces after `::` to the end. Returns false if there are not enough pieces.
        private mutating func expand() -> Bool {
            guard let compression else { return pieceIndex == 8 }
            var target = 7
            while pieceIndex > compression, target >= pieceIndex {
                pieceIndex -= 1
                pieces.swapAt(pieceIndex, target)
                target -= 1
            }
            return true
        }
    }
}
