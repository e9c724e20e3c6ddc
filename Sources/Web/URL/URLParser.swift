/// The basic URL parser of the standard, section 4.4. Its states read the components in the order in which they are
/// serialised, so each writes straight to the serialisation; what they read is trimmed, free of tabs and newlines,
/// and well-formed UTF-8.
struct URLParser {
    var output: [UInt8] = []
    var layout = WebURL.Layout()
    let queryEncoding: TextEncoding

    init(queryEncoding: TextEncoding, capacity: Int) {
        self.queryEncoding = queryEncoding
        output.reserveCapacity(capacity)
    }

    /// False when the standard calls it a failure.
    mutating func parse(_ input: Span<UInt8>, base: WebURL?) -> Bool {
        guard let colon = Self.schemeColon(in: input) else {
            return parseReference(input, base: base)
        }
        let rest = colon + 1
        let kind = WebURL.SchemeKind(input.extracting(..<colon))
        if kind == .file {
            return parseFile(input, from: rest, base: base?.layout.kind == .file ? base : nil)
        }
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
        layout.setAuthority(at: mark)
        if input.starts(with: "/", at: rest) {
            beginPath()
            parsePath(input, from: rest + 1)
        } else {
            parseOpaquePath(input, from: rest)
        }
        insertPathMarker()
        return true
    }

    /// The scheme start and scheme states.
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

    /// The no scheme state: what has no scheme is relative.
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
                return parseAuthority(input, from: layout.isSpecial ? firstNonSlash(input, from: start) : start + 2)
            }
            copy(base, through: .authority)
            parsePath(input, from: start + 1)
        } else {
            parseRelativePath(input, from: start, base: base, keepsFolder: true)
        }
        insertPathMarker()
        return true
    }

    /// What begins with no slash: nothing, a query, a fragment, or a path that takes the place of the base's last
    /// segment or, when it does not keep the folder, of its whole path.
    mutating func parseRelativePath(_ input: Span<UInt8>, from start: Int, base: WebURL, keepsFolder: Bool) {
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

// MARK: - What is taken over from the base

extension URLParser {
    enum Part { case authority, path, query }

    func isSlash(_ input: Span<UInt8>, at index: Int) -> Bool {
        guard index < input.count else { return false }
        return input[index] == UInt8(ascii: "/") || input[index] == UInt8(ascii: "\\") && layout.isSpecial
    }

    func firstNonSlash(_ input: Span<UInt8>, from start: Int) -> Int {
        var index = start
        while isSlash(input, at: index) { index += 1 }
        return index
    }

    /// Where the next byte goes.
    var mark: UInt32 { UInt32(output.count) }

    private mutating func copyScheme(_ base: WebURL) {
        layout.schemeEnd = base.layout.schemeEnd
        output.append(base.href.utf8.span.extracting(...Int(layout.schemeEnd)))
    }

    /// Takes over everything up to the end of one part; the marker before a path without a host is left behind.
    mutating func copy(_ base: WebURL, through part: Part) {
        let source = base.href.utf8.span
        layout = base.layout
        output.append(source.extracting(..<Int(layout.authorityEnd)))
        beginPath()
        switch part {
        case .authority:
            break
        case .path:
            output.append(source.extracting(Int(base.layout.pathStart)..<Int(base.layout.pathEnd)))
            endPath()
        case .query:
            output.append(source.extracting(Int(base.layout.pathStart)..<Int(base.layout.queryEnd)))
            layout.queryEnd = mark
            layout.pathEnd = mark - (base.layout.queryEnd - base.layout.pathEnd)
        }
    }
}
