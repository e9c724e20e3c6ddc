/// The path, opaque path, query and fragment states.
extension URLParser {
    mutating func beginPath() {
        layout.pathStart = mark
        endPath()
    }

    mutating func endPath() {
        layout.pathEnd = mark
        layout.queryEnd = mark
    }

    /// The path start state. Only where the scheme is not special may the path be empty.
    mutating func parsePathAfterAuthority(_ input: Span<UInt8>, from start: Int) {
        if isSlash(input, at: start) {
            parsePath(input, from: start + 1)
        } else if layout.isSpecial {
            parsePath(input, from: start)
        } else {
            parseQueryAndFragment(input, from: start)
        }
    }

    /// Appends the segments that begin at `start`, which is one past a slash, to what the path has already.
    mutating func parsePath(_ input: Span<UInt8>, from start: Int) {
        let encoded = ByteSet.path
        var segmentStart = start
        while true {
            let end = nextDelimiter(in: input, from: segmentStart)
            let isLast = !isSlash(input, at: end)
            append(segment: input.extracting(segmentStart..<end), isLast: isLast, encoded)
            guard !isLast else {
                parseQueryAndFragment(input, from: end)
                return
            }
            segmentStart = end + 1
        }
    }

    private mutating func append(segment: Span<UInt8>, isLast: Bool, _ encoded: ByteSet) {
        switch Self.dotCount(of: segment) {
        case 2:
            shortenPath()
            if isLast { output.append(UInt8(ascii: "/")) }
        case 1:
            if isLast { output.append(UInt8(ascii: "/")) }
        default:
            let isDrive = layout.kind == .file && mark == layout.pathStart && WindowsDrive.matches(segment)
            output.append(UInt8(ascii: "/"))
            output.append(percentEncoding: segment, encoded)
            if isDrive { output[output.count - 1] = UInt8(ascii: ":") }
        }
    }

    /// 1 for `.`, 2 for `..`, where each dot may be written `%2e`; 0 for all other segments.
    private static func dotCount(of segment: Span<UInt8>) -> Int {
        guard segment.count <= 6 else { return 0 }
        var count = 0
        var index = 0
        while index < segment.count {
            if segment[index] == UInt8(ascii: ".") {
                index += 1
            } else if segment.starts(with: "%2", at: index), index + 2 < segment.count,
                segment[index + 2] | 0x20 == UInt8(ascii: "e")
            {
                index += 3
            } else {
                return 0
            }
            count += 1
        }
        return count <= 2 ? count : 0
    }

    /// Drops the last segment, but not a drive letter that stands alone.
    mutating func shortenPath() {
        guard layout.kind != .file || !isDriveAlone else { return }
        let start = Int(layout.pathStart)
        var slash = output.count - 1
        while slash >= start, output[slash] != UInt8(ascii: "/") { slash -= 1 }
        guard slash >= start else { return }
        output.removeLast(output.count - slash)
    }

    private var isDriveAlone: Bool {
        let path = output.span.extracting(Int(layout.pathStart)...)
        return path.count == 3 && WindowsDrive.matches(path.extracting(1...))
    }

    /// Appends the drive letter that the path of `base` begins with, if it does.
    mutating func keepDrive(of base: WebURL) {
        let path = base.href.utf8.span.extracting(Int(base.layout.pathStart)..<Int(base.layout.pathEnd))
        guard path.count >= 3, path[1].isASCIIAlpha, path[2] == UInt8(ascii: ":") else { return }
        guard path.count == 3 || path[3] == UInt8(ascii: "/") else { return }
        output.append(path.extracting(..<3))
    }

    mutating func parseOpaquePath(_ input: Span<UInt8>, from start: Int) {
        beginPath()
        var end = start
        while end < input.count, input[end] != UInt8(ascii: "?"), input[end] != UInt8(ascii: "#") { end += 1 }
        var path = input.extracting(start..<end)
        // A space before a query or a fragment would be lost when these are taken away.
        let endsInSpace = end < input.count && !path.isEmpty && path[path.count - 1] == UInt8(ascii: " ")
        if endsInSpace { path = path.extracting(..<(path.count - 1)) }
        output.append(percentEncoding: path, .c0Control)
        if endsInSpace { output.append(percentEncoded: UInt8(ascii: " ")) }
        parseQueryAndFragment(input, from: end)
    }

    /// What begins with a path of its own and no host would read as an authority: `/.` keeps them apart.
    mutating func insertPathMarker() {
        let start = Int(layout.pathStart)
        guard !layout.hasAuthority, output.span.starts(with: "//", at: start) else { return }
        output.insert(contentsOf: "/.".utf8, at: start)
        layout.movePath(by: 2)
    }

    // MARK: Query and fragment

    private mutating func parseQueryAndFragment(_ input: Span<UInt8>, from start: Int) {
        endPath()
        if input.starts(with: "?", at: start) {
            parseQuery(input, from: start)
        } else {
            parseFragment(input, from: start)
        }
    }

    /// `start` is that of the question mark.
    mutating func parseQuery(_ input: Span<UInt8>, from start: Int) {
        endPath()
        var end = start + 1
        while end < input.count, input[end] != UInt8(ascii: "#") { end += 1 }
        let query = input.extracting((start + 1)..<end)
        let encoded = layout.isSpecial ? ByteSet.specialQuery : .query
        output.append(UInt8(ascii: "?"))
        switch layout.kind {
        case .http, .https, .ftp, .file:
            append(query: query, encoded)
        case .ws, .wss, .other:
            output.append(percentEncoding: query, encoded)
        }
        layout.queryEnd = mark
        parseFragment(input, from: end)
    }

    /// In the document's character set.
    private mutating func append(query: Span<UInt8>, _ encoded: ByteSet) {
        if queryEncoding.outputEncoding == .utf8 || queryEncoding.isASCIICompatible && query.isASCII {
            output.append(percentEncoding: query, encoded)
        } else {
            let bytes = queryEncoding.encode(query, unencodable: .percentEncodedReference)
            output.append(percentEncoding: bytes.span, encoded)
        }
    }

    /// `start` is that of the number sign, or the input's end.
    mutating func parseFragment(_ input: Span<UInt8>, from start: Int) {
        guard start < input.count else { return }
        output.append(UInt8(ascii: "#"))
        output.append(percentEncoding: input.extracting((start + 1)...), .fragment)
    }
}
