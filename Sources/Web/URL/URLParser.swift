/// The basic URL parser of the standard, section 4.4.
///
/// The standard describes a state machine that reads one character at a time. Here, each of its states is a function
/// that reads a whole component; the comments name the states. The states read the components in the order of the
/// serialization, so each function appends its component to `output`, records its end in `layout`, and calls the
/// function of the next state.
///
/// The input must be trimmed, well-formed UTF-8 without tabs and newlines. Functions that return a `Bool` return false
/// where the standard returns failure.
struct URLParser {
    var output: [UInt8] = []
    var layout = WebURL.Layout()
    let queryEncoding: TextEncoding

    init(queryEncoding: TextEncoding, capacity: Int) {
        self.queryEncoding = queryEncoding
        output.reserveCapacity(capacity)
    }

    /// The scheme states: parses a URL, or a reference if it has no scheme.
    mutating func parse(_ input: Span<UInt8>, base: WebURL?) -> Bool {
        guard let colon = Self.schemeColon(in: input) else {
            return parseReference(input, base: base)
        }
        let rest = colon + 1
        let kind = WebURL.SchemeKind(input.extracting(..<colon))
        if kind == .file {
            return parseFile(input, from: rest, base: base?.layout.kind == .file ? base : nil)
        }
        // The special relative or authority state: `https:a` is relative to a base with the same scheme.
        if kind != .other, let base, base.layout.kind == kind {
            return parseRelative(input, from: rest, base: base)
        }
        layout.kind = kind
        for index in 0...colon { output.append(input[index].lowercasedASCII) }
        layout.schemeEnd = UInt32(colon)
        if kind != .other {
            return parseAuthority(input, from: firstNonSlash(input, from: rest))
        }
        if input.starts(with: "//", at: rest) {
            return parseAuthority(input, from: rest + 2)
        }
        layout.setAuthority(at: outputOffset)
        if input.starts(with: "/", at: rest) {
            startPath()
            parsePath(input, from: rest + 1)
        } else {
            parseOpaquePath(input, from: rest)
        }
        insertPathMarker()
        return true
    }

    /// The scheme start and scheme states. Returns the offset of the colon after the scheme; nil if there is
    /// no scheme.
    static func schemeColon(in input: Span<UInt8>) -> Int? {
        guard !input.isEmpty, input[0].isASCIIAlpha else { return nil }
        for index in 1..<input.count {
            switch input[index] {
            case UInt8(ascii: ":"): return index
            case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): break
            case let byte where byte.isASCIIAlphanumeric: break
            default: return nil
            }
        }
        return nil
    }

    /// The no scheme state: parses a relative reference.
    private mutating func parseReference(_ input: Span<UInt8>, base: WebURL?) -> Bool {
        guard let base else { return false }
        if base.hasOpaquePath {
            guard input.starts(with: "#", at: 0) else { return false }
            copy(base, through: .query)
            parseFragment(input, from: 0)
            return true
        }
        if base.layout.kind == .file {
            return parseFile(input, from: 0, base: base)
        }
        return parseRelative(input, from: 0, base: base)
    }

    /// The relative state and the relative slash state.
    private mutating func parseRelative(_ input: Span<UInt8>, from start: Int, base: WebURL) -> Bool {
        layout.kind = base.layout.kind
        if isSlash(input, at: start) {
            if isSlash(input, at: start + 1) {
                copyScheme(base)
                return parseAuthority(
                    input, from: layout.isSpecial ? firstNonSlash(input, from: start) : start + 2)
            }
            copy(base, through: .authority)
            parsePath(input, from: start + 1)
        } else {
            parseRelativePath(input, from: start, base: base, keepsFolder: true)
        }
        insertPathMarker()
        return true
    }

    /// Parses a reference that does not begin with a slash: it is empty, a query, a fragment, or a path. A
    /// path replaces the last segment of the base's path or, without `keepsFolder`, the whole path.
    private mutating func parseRelativePath(
        _ input: Span<UInt8>, from start: Int, base: WebURL, keepsFolder: Bool
    ) {
        guard start < input.count else {
            copy(base, through: .query)
            return
        }
        switch input[start] {
        case UInt8(ascii: "?"):
            copy(base, through: .path)
            parseQuery(input, from: start)
        case UInt8(ascii: "#"):
            copy(base, through: .query)
            parseFragment(input, from: start)
        default:
            copy(base, through: keepsFolder ? .path : .authority)
            shortenPath()
            parsePath(input, from: start)
        }
    }
}

// MARK: - Copying from the base

extension URLParser {
    /// The last component to copy from the base.
    enum BaseComponent { case authority, path, query }

    private func isSlash(_ input: Span<UInt8>, at index: Int) -> Bool {
        guard index < input.count else { return false }
        return input[index] == UInt8(ascii: "/") || input[index] == UInt8(ascii: "\\") && layout.isSpecial
    }

    private func firstNonSlash(_ input: Span<UInt8>, from start: Int) -> Int {
        var index = start
        while isSlash(input, at: index) { index += 1 }
        return index
    }

    /// The offset of the next byte in the output.
    var outputOffset: UInt32 { UInt32(output.count) }

    private mutating func copyScheme(_ base: WebURL) {
        layout.schemeEnd = base.layout.schemeEnd
        output.append(base.href.utf8.span.extracting(...Int(layout.schemeEnd)))
    }

    /// Copies all components up to the end of `part`. Leaves out the `/.` that may precede a path without a host (see
    /// `insertPathMarker`).
    mutating func copy(_ base: WebURL, through part: BaseComponent) {
        let source = base.href.utf8.span
        layout = base.layout
        output.append(source.extracting(..<Int(layout.authorityEnd)))
        startPath()
        switch part {
        case .authority:
            break
        case .path:
            output.append(source.extracting(Int(base.layout.pathStart)..<Int(base.layout.pathEnd)))
            endPath()
        case .query:
            output.append(source.extracting(Int(base.layout.pathStart)..<Int(base.layout.queryEnd)))
            layout.queryEnd = outputOffset
            layout.pathEnd = outputOffset - (base.layout.queryEnd - base.layout.pathEnd)
        }
    }
}

/// The authority, host and port states.
extension URLParser {
    /// Parses credentials, host and port, and all components after them.
    private mutating func parseAuthority(_ input: Span<UInt8>, from start: Int) -> Bool {
        output.append(UInt8(ascii: "/"))
        output.append(UInt8(ascii: "/"))
        layout.setAuthority(at: outputOffset)
        let end = nextDelimiter(in: input, from: start)
        var hostStart = start
        if let at = Self.last(UInt8(ascii: "@"), in: input, start..<end) {
            hostStart = at + 1
            guard hostStart < end else { return false }
            appendCredentials(input.extracting(start..<at))
        }
        layout.hostStart = outputOffset

        let portColon = Self.portColon(in: input, hostStart..<end)
        let host = input.extracting(hostStart..<(portColon ?? end))
        if host.isEmpty {
            guard !layout.isSpecial, portColon == nil else { return false }
        } else {
            guard HostParser.appendHost(host, isSpecial: layout.isSpecial, to: &output) else { return false }
        }
        layout.hostEnd = outputOffset
        if let portColon {
            guard appendPort(input.extracting((portColon + 1)..<end)) else { return false }
        }
        layout.authorityEnd = outputOffset
        startPath()
        parsePathAfterAuthority(input, from: end)
        return true
    }

    /// The end of a host or segment: the offset of a slash, question outputOffset or number sign, or the end of the
    /// input.
    private func nextDelimiter(in input: Span<UInt8>, from start: Int) -> Int {
        var index = start
        while index < input.count {
            let byte = input[index]
            if byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { break }
            if byte == UInt8(ascii: "\\"), layout.isSpecial { break }
            index += 1
        }
        return index
    }

    /// Appends the user name and password, followed by an `@` if either is not empty.
    private mutating func appendCredentials(_ userinfo: Span<UInt8>) {
        var colon = 0
        while colon < userinfo.count, userinfo[colon] != UInt8(ascii: ":") { colon += 1 }
        output.appendPercentEncoded(userinfo.extracting(..<colon), .userinfo)
        layout.usernameEnd = outputOffset
        if colon + 1 < userinfo.count {
            output.append(UInt8(ascii: ":"))
            output.appendPercentEncoded(userinfo.extracting((colon + 1)...), .userinfo)
        }
        layout.passwordEnd = outputOffset
        if layout.passwordEnd > layout.usernameStart {
            output.append(UInt8(ascii: "@"))
        }
    }

    /// Appends the port unless it is the scheme's default. Returns false if it is not a number of 16 bits.
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

    /// The offset of the first colon outside the brackets of an IPv6 address.
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

/// The file, file slash and file host states: file URLs need no host and may begin with a Windows drive
/// letter.
extension URLParser {
    /// Parses the rest of a file URL. The base must be a file URL.
    private mutating func parseFile(_ input: Span<UInt8>, from start: Int, base: WebURL?) -> Bool {
        layout.kind = .file
        guard isSlash(input, at: start) else {
            if let base {
                let keepsFolder = !WindowsDrive.begins(input, at: start)
                parseRelativePath(input, from: start, base: base, keepsFolder: keepsFolder)
            } else {
                writeFileAuthority()
                parsePath(input, from: start)
            }
            return true
        }
        if isSlash(input, at: start + 1) {
            return parseFileHost(input, from: start + 2)
        }
        guard let base else {
            writeFileAuthority()
            parsePath(input, from: start + 1)
            return true
        }
        copy(base, through: .authority)
        if !WindowsDrive.begins(input, at: start + 1) {
            copyDriveLetter(of: base)
        }
        parsePath(input, from: start + 1)
        return true
    }

    /// The file host state. `localhost` becomes an empty host.
    private mutating func parseFileHost(_ input: Span<UInt8>, from start: Int) -> Bool {
        writeFileAuthority()
        let end = nextDelimiter(in: input, from: start)
        // `file://C:/` is a drive, not a host `C`.
        if WindowsDrive.matches(input.extracting(start..<end)) {
            parsePath(input, from: start)
            return true
        }
        if start < end {
            guard HostParser.appendHost(input.extracting(start..<end), isSpecial: true, to: &output) else {
                return false
            }
            if output[Int(layout.hostStart)...].elementsEqual("localhost".utf8) {
                output.removeLast("localhost".utf8.count)
            }
            layout.hostEnd = outputOffset
            layout.authorityEnd = outputOffset
            startPath()
        }
        parsePathAfterAuthority(input, from: end)
        return true
    }

    private mutating func writeFileAuthority() {
        output += "file://".utf8
        layout.schemeEnd = 4
        layout.setAuthority(at: outputOffset)
        startPath()
    }
}

/// The drive letters of Windows: a letter and a colon or, in old paths, a bar.
enum WindowsDrive {
    static func matches(_ segment: Span<UInt8>) -> Bool {
        segment.count == 2 && begins(segment, at: 0)
    }

    /// Whether the segment at `start` is a drive letter.
    static func begins(_ input: Span<UInt8>, at start: Int) -> Bool {
        guard start + 2 <= input.count, input[start].isASCIIAlpha else { return false }
        guard input[start + 1] == UInt8(ascii: ":") || input[start + 1] == UInt8(ascii: "|") else {
            return false
        }
        guard start + 2 < input.count else { return true }
        switch input[start + 2] {
        case UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: "?"), UInt8(ascii: "#"): return true
        default: return false
        }
    }
}

/// The path, opaque path, query and fragment states.
extension URLParser {
    private mutating func startPath() {
        layout.pathStart = outputOffset
        endPath()
    }

    private mutating func endPath() {
        layout.pathEnd = outputOffset
        layout.queryEnd = outputOffset
    }

    /// The path start state. The path may be empty only if the scheme is not special.
    private mutating func parsePathAfterAuthority(_ input: Span<UInt8>, from start: Int) {
        if isSlash(input, at: start) {
            parsePath(input, from: start + 1)
        } else if layout.isSpecial {
            parsePath(input, from: start)
        } else {
            parseQueryAndFragment(input, from: start)
        }
    }

    /// Appends segments to the path. The first one begins at `start`, which is one past a slash.
    private mutating func parsePath(_ input: Span<UInt8>, from start: Int) {
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

    /// Appends a path segment, or resolves it if it is `.` or `..`.
    private mutating func append(segment: Span<UInt8>, isLast: Bool, _ encoded: ByteSet) {
        switch Self.dotCount(of: segment) {
        case 2:
            shortenPath()
            if isLast { output.append(UInt8(ascii: "/")) }
        case 1:
            if isLast { output.append(UInt8(ascii: "/")) }
        default:
            let isDrive =
                layout.kind == .file && outputOffset == layout.pathStart && WindowsDrive.matches(segment)
            output.append(UInt8(ascii: "/"))
            output.appendPercentEncoded(segment, encoded)
            if isDrive { output[output.count - 1] = UInt8(ascii: ":") }
        }
    }

    /// Returns 1 for `.`, 2 for `..` and 0 for other segments. Each dot may be written as `%2e`.
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

    /// Removes the last segment, but not a drive letter that is the only segment.
    private mutating func shortenPath() {
        guard layout.kind != .file || !isPathOnlyDriveLetter else { return }
        let start = Int(layout.pathStart)
        var slash = output.count - 1
        while slash >= start, output[slash] != UInt8(ascii: "/") { slash -= 1 }
        guard slash >= start else { return }
        output.removeLast(output.count - slash)
    }

    private var isPathOnlyDriveLetter: Bool {
        let path = output.span.extracting(Int(layout.pathStart)...)
        return path.count == 3 && WindowsDrive.matches(path.extracting(1...))
    }

    /// Appends the drive letter at the beginning of the base's path, if there is one.
    private mutating func copyDriveLetter(of base: WebURL) {
        let path = base.href.utf8.span.extracting(Int(base.layout.pathStart)..<Int(base.layout.pathEnd))
        guard path.count >= 3, path[1].isASCIIAlpha, path[2] == UInt8(ascii: ":") else { return }
        guard path.count == 3 || path[3] == UInt8(ascii: "/") else { return }
        output.append(path.extracting(..<3))
    }

    /// The opaque path state, for URLs such as `mailto:` and `data:`.
    private mutating func parseOpaquePath(_ input: Span<UInt8>, from start: Int) {
        startPath()
        var end = start
        while end < input.count, input[end] != UInt8(ascii: "?"), input[end] != UInt8(ascii: "#") { end += 1 }
        var path = input.extracting(start..<end)
        // Encodes a space before a query or fragment. It would be lost if these were removed from the URL.
        let endsInSpace = end < input.count && !path.isEmpty && path[path.count - 1] == UInt8(ascii: " ")
        if endsInSpace { path = path.extracting(..<(path.count - 1)) }
        output.appendPercentEncoded(path, .c0Control)
        if endsInSpace { output.appendPercentEncoded(UInt8(ascii: " ")) }
        parseQueryAndFragment(input, from: end)
    }

    /// Inserts `/.` before a path that begins with two slashes if there is no host, since it would be read as
    /// an authority.
    private mutating func insertPathMarker() {
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

    /// Parses a query. `start` is the offset of the question outputOffset.
    private mutating func parseQuery(_ input: Span<UInt8>, from start: Int) {
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
            output.appendPercentEncoded(query, encoded)
        }
        layout.queryEnd = outputOffset
        parseFragment(input, from: end)
    }

    /// Appends the query, encoded in the document's encoding.
    private mutating func append(query: Span<UInt8>, _ encoded: ByteSet) {
        if queryEncoding.outputEncoding == .utf8 || queryEncoding.isASCIICompatible && query.isASCII {
            output.appendPercentEncoded(query, encoded)
        } else {
            let bytes = queryEncoding.encode(query, unencodable: .percentEncodedReference)
            output.appendPercentEncoded(bytes.span, encoded)
        }
    }

    /// Parses a fragment. `start` is the offset of the number sign, or the end of the input.
    private mutating func parseFragment(_ input: Span<UInt8>, from start: Int) {
        guard start < input.count else { return }
        output.append(UInt8(ascii: "#"))
        output.appendPercentEncoded(input.extracting((start + 1)...), .fragment)
    }
}
