internal import Web

/// Decodes a reference as written: first the encoding, then character references, then the escapes of the
/// inner syntax.
struct ReferenceReader {
    var encoding: TextEncoding
    private var text: [UInt8] = []
    private var spare: [UInt8] = []

    init(encoding: TextEncoding) {
        self.encoding = encoding
    }

    /// Calls `body` with the decoded reference in UTF-8, which is valid only during the call. Most references need no
    /// decoding.
    mutating func withReference<Result>(
        _ written: Bytes, _ context: LinkContext, _ body: (Bytes) throws -> Result
    ) rethrows -> Result {
        if Self.isPlain(written) { return try body(written) }
        if written.allSatisfy({ $0 < 0x80 }) {
            text.removeAll(keepingCapacity: true)
            text.append(contentsOf: written)
        } else {
            text = encoding.decode(Span(_unsafeElements: written))
        }
        for _ in 0..<context.levels {
            transform { bytes, output in
                guard CharacterReferences.mayBeIn(bytes) else { return false }
                CharacterReferences.decode(bytes, into: &output)
                return true
            }
        }
        switch context.inner {
        case .plain, .srcset, .spaceList, .commaList, .refresh, .line:
            break
        case .cssString, .cssURL:
            transform { bytes, output in
                guard bytes.contains(where: { $0 == UInt8(ascii: "\\") || $0 == 0 }) else { return false }
                CSSText.unescape(bytes, isURL: context.inner == .cssURL, into: &output)
                return true
            }
        case .scriptString, .scriptTemplate, .scriptMarkup, .json:
            transform { bytes, output in
                guard bytes.contains(UInt8(ascii: "\\")) else { return false }
                ScriptText.unescape(bytes, into: &output)
                return true
            }
            guard context.inner == .scriptMarkup else { break }
            transform { bytes, output in
                guard CharacterReferences.mayBeIn(bytes) else { return false }
                CharacterReferences.decode(bytes, into: &output)
                return true
            }
        }
        return try text.withUnsafeBufferPointer(body)
    }

    /// Whether a reference is ASCII without characters that are special in any of the syntaxes: `&`, `\`, NUL
    /// and carriage return.
    private static func isPlain(_ written: Bytes) -> Bool {
        var marks: UInt8 = 0
        for byte in written {
            marks |= byte & 0x80
            marks |=
                byte == UInt8(ascii: "&") || byte == UInt8(ascii: "\\") || byte == 0 || byte == 0x0D ? 1 : 0
        }
        return marks == 0
    }

    /// Replaces `text` by the output of `body`, unless `body` returns false because nothing changes.
    private mutating func transform(_ body: (Bytes, inout [UInt8]) -> Bool) {
        spare.removeAll(keepingCapacity: true)
        let isChanged = text.withUnsafeBufferPointer { body($0, &spare) }
        if isChanged { swap(&text, &spare) }
    }
}

/// Escapes a reference so that a reader of its context gets exactly the same reference.
struct ReferenceWriter {
    private let isUTF8: Bool
    private var text: [UInt8] = []
    private var spare: [UInt8] = []

    /// `encoding` is that of the body. If it is not UTF-8, non-ASCII characters are percent-encoded. They
    /// occur only in references that are not serialized URLs.
    init(encoding: TextEncoding) {
        isUTF8 = encoding == .utf8
    }

    /// Appends `reference`, escaped for `context`, to `output`. `previous` is the byte before the reference
    /// in the body.
    mutating func write(
        _ reference: String, _ context: LinkContext, after previous: UInt8, into output: inout [UInt8]
    ) {
        // `&quot` is valid without a semicolon, but the next byte must not continue its name.
        let followsName = context.levels > 0 && (previous.isLetter || previous.isDigit)
        var reference = reference
        if !followsName, reference.withUTF8({ Self.append($0, ifPlain: &output) }) { return }
        text.removeAll(keepingCapacity: true)
        text.append(contentsOf: reference.utf8)
        if !isUTF8 { forEachByte { Self.percent($0, $0 >= 0x80, into: &$1) } }
        escapeInner(context.inner)
        for _ in 0..<context.levels { escapeMarkup(isUnquoted: context.isUnquoted, followsName: followsName) }
        output.append(contentsOf: text)
    }

    /// Appends a reference that needs no escapes in any context, as is the case for most URLs. Returns false
    /// if it needs escapes.
    private static func append(_ reference: Bytes, ifPlain output: inout [UInt8]) -> Bool {
        // Letters, digits and !#%+-./:;?@_~
        let low: UInt64 = 1 << 33 | 1 << 35 | 1 << 37 | 1 << 43 | 0x7 << 45 | 0xFFF << 48 | 1 << 63
        let high: UInt64 = 0x3FF_FFFF << 1 | 0x3FF_FFFF << 33 | 1 << 0 | 1 << 31 | 1 << 62
        for byte in reference {
            guard byte < 0x80, (byte < 64 ? low : high) >> UInt64(byte & 63) & 1 != 0 else { return false }
        }
        output.append(contentsOf: reference)
        return true
    }

    /// Escapes the text for the syntax of the value itself.
    private mutating func escapeInner(_ inner: LinkContext.Inner) {
        switch inner {
        case .plain: break
        case .cssString: forEachByte { CSSText.escape($0, isURL: false, into: &$1) }
        case .cssURL: forEachByte { CSSText.escape($0, isURL: true, into: &$1) }
        case .scriptString, .scriptTemplate: forEachByte { ScriptText.escape($0, into: &$1) }
        case .scriptMarkup:
            escapeMarkup(isUnquoted: true, followsName: false)
            forEachByte { ScriptText.escape($0, into: &$1) }
        case .json: forEachByte { ScriptText.escapeJSON($0, into: &$1) }
        case .srcset: escapeSourceSetCandidate()
        case .spaceList: forEachByte { Self.percent($0, $0.isSpace, into: &$1) }
        case .commaList: forEachByte { Self.percent($0, $0.isSpace || $0 == UInt8(ascii: ","), into: &$1) }
        case .refresh: forEachByte { Self.percent($0, $0.isSpace || $0 == 0x22 || $0 == 0x27, into: &$1) }
        case .line: forEachByte { Self.percent($0, $0.isSpace, into: &$1) }
        }
    }

    /// Escapes a `srcset` candidate, which ends at white space and loses its leading and trailing commas.
    private mutating func escapeSourceSetCandidate() {
        var lower = 0
        var upper = text.count
        let comma = UInt8(ascii: ",")
        while lower < upper, text[lower] == comma { lower += 1 }
        while upper > lower, text[upper - 1] == comma { upper -= 1 }
        var index = 0
        forEachByte { byte, output in
            Self.percent(
                byte, byte.isSpace || (byte == comma && !(lower..<upper).contains(index)), into: &output)
            index += 1
        }
    }

    /// Escapes the text for one level of markup.
    ///
    /// - Parameter followsName: Whether a letter or digit precedes the reference, which could belong to the name of a
    ///   character reference.
    private mutating func escapeMarkup(isUnquoted: Bool, followsName: Bool) {
        var isFirst = followsName
        forEachByte { byte, output in
            defer { isFirst = false }
            switch byte {
            case UInt8(ascii: "&"): output.append(contentsOf: "&amp;".utf8)
            case UInt8(ascii: "<"): output.append(contentsOf: "&lt;".utf8)
            case UInt8(ascii: ">"): output.append(contentsOf: "&gt;".utf8)
            case UInt8(ascii: "\""): output.append(contentsOf: "&quot;".utf8)
            case UInt8(ascii: "'"): output.append(contentsOf: "&#39;".utf8)
            case 0x09, 0x0A, 0x0D, 0x0C, 0x20, UInt8(ascii: "="), UInt8(ascii: "`"):
                Self.append(byte, asNumber: isUnquoted || byte == 0x0D || isFirst, to: &output)
            default:
                let continuesName = byte.isLetter || byte.isDigit || byte == UInt8(ascii: ";")
                Self.append(byte, asNumber: isFirst && continuesName, to: &output)
            }
        }
    }

    private static func append(_ byte: UInt8, asNumber: Bool, to output: inout [UInt8]) {
        if asNumber {
            output.append(contentsOf: "&#\(byte);".utf8)
        } else {
            output.append(byte)
        }
    }

    private mutating func forEachByte(_ body: (UInt8, inout [UInt8]) -> Void) {
        spare.removeAll(keepingCapacity: true)
        for byte in text { body(byte, &spare) }
        swap(&text, &spare)
    }

    private static func percent(_ byte: UInt8, _ isEscaped: Bool, into output: inout [UInt8]) {
        guard isEscaped else {
            output.append(byte)
            return
        }
        let digits: StaticString = "0123456789ABCDEF"
        output.append(UInt8(ascii: "%"))
        output.append(digits.utf8Start[Int(byte >> 4)])
        output.append(digits.utf8Start[Int(byte & 15)])
    }
}

/// The type of a reference, from its first characters and without parsing it as a URL.
enum ReferenceShape {
    case relative
    /// The reference has a scheme or starts with two slashes.
    case namesOrigin
    case fragment
    /// `data:`, `javascript:`, `about:` or `blob:`, which cannot be fetched.
    case inlined
    /// The reference contains only white space.
    case empty

    init(_ bytes: Bytes) {
        var index = 0
        while index < bytes.count, bytes[index] <= 0x20 { index += 1 }
        guard index < bytes.count else {
            self = .empty
            return
        }
        let first = bytes[index]
        if first == UInt8(ascii: "#") {
            self = .fragment
        } else if Self.isSlash(first) {
            // The URL parser ignores tabs and line ends everywhere.
            index += 1
            while index < bytes.count, bytes[index] <= 0x0D { index += 1 }
            self = index < bytes.count && Self.isSlash(bytes[index]) ? .namesOrigin : .relative
        } else if first.isLetter {
            self = Self.scheme(bytes, from: index)
        } else {
            self = .relative
        }
    }

    private static func isSlash(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\")
    }

    private static func scheme(_ bytes: Bytes, from start: Int) -> ReferenceShape {
        var index = start
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: ":") {
                for name: StaticString in ["data:", "javascript:", "about:", "blob:"]
                where bytes.starts(with: name, at: start) {
                    return .inlined
                }
                return .namesOrigin
            }
            let isSchemeByte =
                byte.isLetter || byte.isDigit || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
                || byte == UInt8(ascii: ".") || byte == 0x09 || byte == 0x0A || byte == 0x0D
            if !isSchemeByte { return .relative }
            index += 1
        }
        return .relative
    }
}

/// Recognises placeholders that a template engine or a script replaces by a URL, or by a part of one.
///
/// Generators of pages write braces that belong to a URL as `%7B` and `%7D`, so that plain ones show a placeholder: `{url}`,
/// `/items/{id}`, `{{ page.url }}`, `{% url "item" %}`, `${base}/a.png`, `%{path}`, `<%= url %>`. A GUID and JSON in braces are
/// values.
package enum TemplatePlaceholder {
    /// The maximum length of the name in a placeholder with single braces. Longer texts are values.
    private static let maxNameBytes = 64

    package static func isIn(_ reference: Span<UInt8>) -> Bool {
        reference.withUnsafeBufferPointer { isIn($0) }
    }

    static func isIn(_ reference: Bytes) -> Bool {
        for (index, byte) in reference.enumerated() {
            let next = index + 1 < reference.count ? reference[index + 1] : 0
            switch byte {
            case UInt8(ascii: "<") where next == UInt8(ascii: "%"): return true
            case UInt8(ascii: "{"):
                if next == UInt8(ascii: "{") || next == UInt8(ascii: "%") { return true }
                let rest = reference.part(index + 1..<reference.count)
                guard let end = rest.firstIndex(of: UInt8(ascii: "}")) else { continue }
                let previous = index > 0 ? reference[index - 1] : 0
                if end > 0, previous == UInt8(ascii: "$") || previous == UInt8(ascii: "%") { return true }
                if isName(rest.part(0..<end)) { return true }
            default: break
            }
        }
        return false
    }

    /// Whether a text in braces is a name: a word such as `searchTerms?` or `item.id`, a list of words, or a number of one or
    /// two digits. An operator of a URI template (RFC 6570) may precede it.
    private static func isName(_ text: Bytes) -> Bool {
        guard let first = text.first, text.count <= maxNameBytes else { return false }
        if first.isDigit { return text.count <= 2 && text.allSatisfy(\.isDigit) }
        let isOperator = "+./;?&".utf8.contains(first)
        let name = isOperator ? text.part(1..<text.count) : text
        guard let start = name.first, start.isLetter || start == UInt8(ascii: "_"), !isGUID(name) else {
            return false
        }
        return name.allSatisfy { $0.isLetter || $0.isDigit || "_.,-:?*+ ".utf8.contains($0) }
    }

    /// Whether a text has the form of a GUID: 32 hexadecimal digits, in five groups with hyphens between them or in one.
    private static func isGUID(_ text: Bytes) -> Bool {
        text.count(where: \.isHex) == 32 && text.allSatisfy { $0.isHex || $0 == UInt8(ascii: "-") }
    }
}
