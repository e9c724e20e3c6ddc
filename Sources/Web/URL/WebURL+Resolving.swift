/// A fast path for the common case: a reference against an http base, or an absolute http URL, without
/// anything to encode, decode or remove. The result is the beginning of the base followed by the end of the
/// reference.
///
/// All other inputs are left to `URLParser`, so a case that is missing here only costs time.
extension WebURL {
    /// Resolves an input that needs no encoding; nil for inputs that `URLParser` must parse.
    init?(plain input: Span<UInt8>, base: WebURL?) {
        if let layout = Layout(plainAbsolute: input) {
            self.init(href: String(base: "", 0, input, from: 0), layout: layout)
            return
        }
        guard let base, base.isHTTP else { return nil }
        self.init(plainReference: input, base: base)
    }

    /// Resolves a reference by appending it, from `start` on, to the first `baseByteCount` bytes of the base.
    private init?(plainReference input: Span<UInt8>, base: WebURL) {
        var layout = base.layout
        guard !input.isEmpty else { return nil }
        var start = 0
        let baseByteCount: Int
        switch input[0] {
        case UInt8(ascii: "#"):
            baseByteCount = Int(layout.queryEnd)
            guard SerializedTail(fragmentOf: input, from: 0) != nil else { return nil }
            self.init(href: String(base: base.href, baseByteCount, input, from: 0), layout: layout)
            return
        case UInt8(ascii: "?"):
            baseByteCount = Int(layout.pathEnd)
        case UInt8(ascii: "/"):
            // A second slash or a backslash begins an authority.
            guard input.count > 1, input[1] != UInt8(ascii: "/"), input[1] != UInt8(ascii: "\\") else {
                return nil
            }
            baseByteCount = Int(layout.pathStart) + 1
            start = 1
        default:
            guard URLParser.schemeColon(in: input) == nil else { return nil }
            baseByteCount = base.folderEnd(climbingBy: input, from: &start)
        }
        guard let tail = SerializedTail(input, from: start) else { return nil }
        layout.pathEnd = UInt32(baseByteCount + tail.pathEnd - start)
        layout.queryEnd = UInt32(baseByteCount + tail.queryEnd - start)
        self.init(href: String(base: base.href, baseByteCount, input, from: start), layout: layout)
    }

    /// Resolves the `./` and `../` at `start` against the folder of this URL, and moves `start` past them.
    /// Returns the offset one past the slash that ends the resulting folder.
    private func folderEnd(climbingBy input: Span<UInt8>, from start: inout Int) -> Int {
        let bytes = href.utf8.span
        let root = Int(layout.pathStart)
        var end = Int(layout.pathEnd)
        while bytes[end - 1] != UInt8(ascii: "/") { end -= 1 }
        while start < input.count, input[start] == UInt8(ascii: ".") {
            if input.starts(with: "../", at: start) {
                start += 3
                guard end - 1 > root else { continue }
                end -= 1
                while bytes[end - 1] != UInt8(ascii: "/") { end -= 1 }
            } else if input.starts(with: "./", at: start) {
                start += 2
            } else {
                break
            }
        }
        return end
    }
}

extension WebURL.Layout {
    /// The layout of an http URL that is already serialized.
    fileprivate init?(plainAbsolute input: Span<UInt8>) {
        let hostStart: Int
        if input.starts(with: "https://") {
            kind = .https
            hostStart = 8
        } else if input.starts(with: "http://") {
            kind = .http
            hostStart = 7
        } else {
            return nil
        }
        guard let hostEnd = Self.plainHostEnd(input, from: hostStart) else { return nil }
        var end = hostEnd
        if end < input.count, input[end] == UInt8(ascii: ":") {
            end += 1
            while end < input.count, input[end].isASCIIDigit { end += 1 }
            // Rejects default ports, leading zeros and ports that may be too large.
            guard (hostEnd + 4...hostEnd + 5).contains(end), input[hostEnd + 1] != UInt8(ascii: "0"),
                end - hostEnd == 5 || kind == .http || !input.starts(with: ":443", at: hostEnd)
            else { return nil }
        }
        guard end < input.count, input[end] == UInt8(ascii: "/") else { return nil }
        guard let tail = SerializedTail(input, from: end + 1) else { return nil }
        schemeEnd = UInt32(hostStart - 3)
        setAuthority(at: UInt32(hostStart))
        self.hostEnd = UInt32(hostEnd)
        authorityEnd = UInt32(end)
        pathStart = UInt32(end)
        pathEnd = UInt32(tail.pathEnd)
        queryEnd = UInt32(tail.queryEnd)
    }

    /// The end of a host that consists of lower-case letters, digits, hyphens and dots; nil if it may be an
    /// IPv4 address.
    private static func plainHostEnd(_ input: Span<UInt8>, from start: Int) -> Int? {
        var index = start
        var labelStart = start
        while index < input.count {
            let byte = input[index]
            if byte == UInt8(ascii: ".") {
                labelStart = index + 1
            } else if !(byte.isASCIIDigit || byte &- 0x61 < 26 || byte == UInt8(ascii: "-")) {
                break
            }
            index += 1
        }
        // The last label of an IPv4 address begins with a digit.
        guard labelStart < index, !input[labelStart].isASCIIDigit else { return nil }
        return index
    }
}

/// The ends of the path and the query in an input whose rest is already serialized.
private struct SerializedTail {
    private(set) var pathEnd: Int
    private(set) var queryEnd: Int

    /// Returns nil if the rest contains a byte to encode, a dot segment or a byte outside ASCII.
    init?(_ input: Span<UInt8>, from start: Int) {
        let stops = ByteSet.serializedPathStops
        var index = start
        var segmentStart = start
        scan: while index < input.count {
            let byte = input[index]
            guard byte < 0x80 else { return nil }
            if stops.contains(byte) {
                switch byte {
                case UInt8(ascii: "/"):
                    guard !Self.isDots(input, segmentStart..<index) else { return nil }
                    segmentStart = index + 1
                case UInt8(ascii: "?"), UInt8(ascii: "#"):
                    break scan
                case UInt8(ascii: "%"):
                    // `%2e` is a dot.
                    guard !input.starts(with: "%2", at: index) else { return nil }
                default:
                    return nil
                }
            }
            index += 1
        }
        guard !Self.isDots(input, segmentStart..<index) else { return nil }
        pathEnd = index
        if index < input.count, input[index] == UInt8(ascii: "?") {
            guard let end = Self.end(of: input, from: index + 1, stops: .specialQuery) else { return nil }
            index = end
        }
        queryEnd = index
        guard index < input.count else { return }
        guard input[index] == UInt8(ascii: "#"),
            Self.end(of: input, from: index + 1, stops: .fragment) == input.count
        else { return nil }
    }

    /// The same for a reference that is only a fragment.
    init?(fragmentOf input: Span<UInt8>, from start: Int) {
        guard Self.end(of: input, from: start + 1, stops: .fragment) == input.count else { return nil }
        pathEnd = start
        queryEnd = start
    }

    private static func isDots(_ input: Span<UInt8>, _ segment: Range<Int>) -> Bool {
        guard segment.count == 1 || segment.count == 2 else { return false }
        return input[segment.lowerBound] == UInt8(ascii: ".")
            && input[segment.upperBound - 1] == UInt8(ascii: ".")
    }

    /// The offset of the first byte in `stops`, or the end of the input; nil if there is a byte outside ASCII
    /// before it.
    private static func end(of input: Span<UInt8>, from start: Int, stops: ByteSet) -> Int? {
        var index = start
        while index < input.count, !stops.contains(input[index]) {
            guard input[index] < 0x80 else { return nil }
            index += 1
        }
        return index
    }
}

extension ByteSet {
    fileprivate static let serializedPathStops = path.union("/\\%")
}

extension String {
    /// Joins the first `baseByteCount` bytes of `base` and the bytes of `input` from `start` on. All must be ASCII.
    fileprivate init(base: String, _ baseByteCount: Int, _ input: Span<UInt8>, from start: Int) {
        let beginning = base.utf8.span.extracting(..<baseByteCount)
        let end = input.extracting(start...)
        self.init(unsafeUninitializedCapacity: baseByteCount + end.count) { buffer in
            beginning.withUnsafeBufferPointer { _ = buffer.update(fromContentsOf: $0) }
            end.withUnsafeBufferPointer { _ = buffer[baseByteCount...].update(fromContentsOf: $0) }
            return baseByteCount + end.count
        }
    }
}
