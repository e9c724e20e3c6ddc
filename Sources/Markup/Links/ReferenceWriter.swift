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

    /// Appends `reference`, escaped for `context`, to `output`.
    mutating func write(_ reference: String, _ context: LinkContext, into output: inout [UInt8]) {
        text.removeAll(keepingCapacity: true)
        text.append(contentsOf: reference.utf8)
        if !isUTF8 { each { Self.percent($0, $0 >= 0x80, into: &$1) } }
        inside(context.inner)
        for _ in 0..<context.levels { markup(context.isUnquoted, context.isXML) }
        output.append(contentsOf: text)
    }

    private mutating func inside(_ inner: LinkContext.Inner) {
        switch inner {
        case .plain: break
        case .cssString: each { CSSText.escape($0, isURL: false, into: &$1) }
        case .cssURL: each { CSSText.escape($0, isURL: true, into: &$1) }
        case .scriptString, .scriptTemplate: each { ScriptText.escape($0, into: &$1) }
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

    private mutating func markup(_ isUnquoted: Bool, _ isXML: Bool) {
        each { byte, output in
            switch byte {
            case UInt8(ascii: "&"): output.append(contentsOf: "&amp;".utf8)
            case UInt8(ascii: "<"): output.append(contentsOf: "&lt;".utf8)
            case UInt8(ascii: ">"): output.append(contentsOf: "&gt;".utf8)
            case UInt8(ascii: "\""): output.append(contentsOf: "&quot;".utf8)
            case UInt8(ascii: "'"): output.append(contentsOf: "&#39;".utf8)
            case 0x09, 0x0A, 0x0D, 0x0C, 0x20, UInt8(ascii: "="), UInt8(ascii: "`"):
                if isUnquoted || byte == 0x0D {
                    output.append(contentsOf: "&#\(byte);".utf8)
                } else {
                    output.append(byte)
                }
            default: output.append(byte)
            }
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
