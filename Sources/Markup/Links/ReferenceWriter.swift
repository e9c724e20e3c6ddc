internal import Web

/// Writes a reference so that a reader of its context gets just that reference.
struct ReferenceWriter {
    private let isUTF8: Bool
    private var text: [UInt8] = []
    private var spare: [UInt8] = []

    /// `encoding` is that of the body. A reference has characters outside of ASCII only when it is no serialised URL;
    /// they are percent-encoded where the body is not UTF-8.
    init(encoding: TextEncoding) {
        isUTF8 = encoding == .utf8
    }

    /// Appends `reference`, escaped for `context`, to `output`. `previous` is the byte in front of the place.
    mutating func write(
        _ reference: String, _ context: LinkContext, after previous: UInt8, into output: inout [UInt8]
    ) {
        // `&quot` needs no semicolon, but what is behind it must not go on with the name.
        let followsName = context.levels > 0 && (previous.isLetter || previous.isDigit)
        var reference = reference
        if !followsName, reference.withUTF8({ Self.append($0, ifPlain: &output) }) { return }
        text.removeAll(keepingCapacity: true)
        text.append(contentsOf: reference.utf8)
        if !isUTF8 { each { Self.percent($0, $0 >= 0x80, into: &$1) } }
        inside(context.inner)
        for _ in 0..<context.levels { markup(isUnquoted: context.isUnquoted, followsName: followsName) }
        output.append(contentsOf: text)
    }

    /// Appends what every context writes as it is, as most addresses are; false when it is not such.
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

    private mutating func inside(_ inner: LinkContext.Inner) {
        switch inner {
        case .plain: break
        case .cssString: each { CSSText.escape($0, isURL: false, into: &$1) }
        case .cssURL: each { CSSText.escape($0, isURL: true, into: &$1) }
        case .scriptString, .scriptTemplate: each { ScriptText.escape($0, into: &$1) }
        case .scriptMarkup:
            markup(isUnquoted: true, followsName: false)
            each { ScriptText.escape($0, into: &$1) }
        case .json: each { ScriptText.escapeJSON($0, into: &$1) }
        case .srcset: commas()
        case .spaceList: each { Self.percent($0, $0.isSpace, into: &$1) }
        case .commaList: each { Self.percent($0, $0.isSpace || $0 == UInt8(ascii: ","), into: &$1) }
        case .refresh: each { Self.percent($0, $0.isSpace || $0 == 0x22 || $0 == 0x27, into: &$1) }
        case .line: each { Self.percent($0, $0.isSpace, into: &$1) }
        }
    }

    /// A candidate ends at white space, and loses the commas at its ends.
    private mutating func commas() {
        var lower = 0
        var upper = text.count
        let comma = UInt8(ascii: ",")
        while lower < upper, text[lower] == comma { lower += 1 }
        while upper > lower, text[upper - 1] == comma { upper -= 1 }
        var index = 0
        each { byte, output in
            Self.percent(byte, byte.isSpace || (byte == comma && !(lower..<upper).contains(index)), into: &output)
            index += 1
        }
    }

    private mutating func markup(isUnquoted: Bool, followsName: Bool) {
        var isFirst = followsName
        each { byte, output in
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
                let wouldGoOn = byte.isLetter || byte.isDigit || byte == UInt8(ascii: ";")
                Self.append(byte, asNumber: isFirst && wouldGoOn, to: &output)
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

    private mutating func each(_ body: (UInt8, inout [UInt8]) -> Void) {
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
