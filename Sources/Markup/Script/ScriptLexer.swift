/// Splits a script into tokens, distinguishes division from regular expressions, and remembers the last eight
/// tokens.
///
/// The lexer never moves back, so its time is linear in the length of any input. Each byte of a punctuator is
/// a token of its own (`=>` is `=` and `>`), which is enough for finding links. The bytes are borrowed.
///
/// A `/` is ambiguous in JavaScript: `a / b / c` has two divisions, and `return /b/` a regular expression. The token
/// before it decides, and after `)` and `}` the token before the matching bracket: `if (a) /b/` has a regular
/// expression, `(a) / b` a division. Hence `openings` and `lastClosed`.
struct ScriptLexer {
    let bytes: UnsafePointer<UInt8>
    let count: Int
    let alphabet = ScriptAlphabet.shared
    var index = 0
    /// The kind of the last token.
    private(set) var last = ScriptToken.Kind.end
    /// No regular expression starts before this offset, since a search for its end already reached this line end
    /// without finding it. Without this, a line with many slashes would take quadratic time.
    var regexLimit = 0
    /// The open `(`, `{` and `${`, from the outermost to the innermost.
    private(set) var openings: [Opening] = []
    /// The opening that the last closing token matched.
    private(set) var lastClosed = Opening(.brace, before: -1)
    /// The start offsets of the last eight tokens, as a ring buffer.
    private var starts = InlineArray<8, Int>(repeating: -1)
    private var tokens = 0

    /// An open parenthesis, brace or substitution.
    struct Opening {
        enum Bracket: Int { case parenthesis, brace, substitution }

        private let packed: Int

        init(_ bracket: Bracket, before: Int) {
            packed = before << 2 | bracket.rawValue
        }

        var bracket: Bracket { Bracket(rawValue: packed & 3) ?? .brace }
        /// The start offset of the token before it; negative at the start of the script.
        var before: Int { packed >> 2 }
    }

    init(_ bytes: Bytes, base: UnsafePointer<UInt8>) {
        self.bytes = base
        count = bytes.count
        index = hashbangEnd()
    }

    /// Returns a lexer for looking ahead from an offset where an operand is expected. This lexer does not
    /// move.
    func ahead(from start: Int) -> ScriptLexer {
        var lexer = ScriptLexer(self)
        lexer.index = start
        return lexer
    }

    private init(_ other: ScriptLexer) {
        bytes = other.bytes
        count = other.count
        regexLimit = other.regexLimit
    }

    /// Returns the next token.
    mutating func next() -> ScriptToken {
        while index < count {
            let start = index
            let byte = bytes[index]
            switch byte {
            case 0...0x20:
                index &+= 1
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "$"),
                UInt8(ascii: "_"):
                index = skip(alphabet.name, from: index &+ 1)
                if index < count, bytes[index] == UInt8(ascii: "\\") || bytes[index] >= 0x80 {
                    index = unusualNameEnd(from: index)
                }
                return token(.name, start, start..<index)
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                return string(byte)
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                return number()
            case UInt8(ascii: "."):
                if index &+ 1 < count, bytes[index &+ 1].isDigit { return number() }
                return punctuator()
            case UInt8(ascii: "/"):
                if let token = slash() { return token }
            case UInt8(ascii: "`"):
                index &+= 1
                return template(start, isContinued: false)
            case UInt8(ascii: "("):
                openings.append(Opening(.parenthesis, before: tokenStart(before: 0)))
                return punctuator()
            case UInt8(ascii: "{"):
                openings.append(Opening(.brace, before: tokenStart(before: 0)))
                return punctuator()
            case UInt8(ascii: ")"):
                if let opening = openings.last, opening.bracket == .parenthesis {
                    lastClosed = opening
                    openings.removeLast()
                }
                return punctuator()
            case UInt8(ascii: "}"):
                if closeBrace() == .substitution {
                    index &+= 1
                    return template(start, isContinued: true)
                }
                return punctuator()
            case UInt8(ascii: "<"), UInt8(ascii: "-"):
                guard isMarkupComment(at: index) else { return punctuator() }
                index = lineEnd(from: index)
            case UInt8(ascii: "\\"), 0x80...:
                let space = spaceLength(at: index)
                if space > 0 {
                    index &+= space
                } else {
                    index = unusualNameEnd(from: index)
                    if index == start { index &+= 1 }
                    return token(.name, start, start..<index)
                }
            default:
                return punctuator()
            }
        }
        return ScriptToken(kind: .end, range: count..<count)
    }

    @inline(__always)
    mutating func token(_ kind: ScriptToken.Kind, _ start: Int, _ range: Range<Int>) -> ScriptToken {
        starts[tokens & 7] = start
        tokens &+= 1
        last = kind
        return ScriptToken(kind: kind, range: range)
    }

    @inline(__always)
    private mutating func punctuator() -> ScriptToken {
        let start = index
        index &+= 1
        return token(.punctuator, start, start..<index)
    }

    /// Records that a substitution of a template opens.
    mutating func openSubstitution() {
        openings.append(Opening(.substitution, before: tokenStart(before: 0)))
    }

    /// Closes the innermost brace and the unclosed parentheses inside it.
    private mutating func closeBrace() -> Opening.Bracket? {
        while let opening = openings.popLast() {
            if opening.bracket == .parenthesis { continue }
            lastClosed = opening
            return opening.bracket
        }
        return nil
    }

    // MARK: Preceding tokens

    /// Returns the start offset of the token `distance` tokens before the last one (0 is the last one, 7 the
    /// maximum), or a negative number if there is none. In `new Worker("a.js"`, the token before distance 2 is `Worker`.
    @inline(__always)
    func tokenStart(before distance: Int) -> Int {
        tokens > distance ? starts[(tokens &- 1 &- distance) & 7] : -1
    }

    /// Returns the first byte of that token, or 0 if there is none.
    @inline(__always)
    func firstByte(before distance: Int) -> UInt8 {
        let start = tokenStart(before: distance)
        return start < 0 ? 0 : bytes[start]
    }

    /// Whether that token is the given name.
    func isName(_ name: StaticString, before distance: Int) -> Bool {
        isName(name, at: tokenStart(before: distance))
    }

    /// Whether the given name, and not only a prefix of a longer one, is at an offset.
    func isName(_ name: StaticString, at start: Int) -> Bool {
        let end = start + name.utf8CodeUnitCount
        guard start >= 0, end <= count else { return false }
        for offset in 0..<name.utf8CodeUnitCount where bytes[start + offset] != name.utf8Start[offset] {
            return false
        }
        return end == count
            || !(alphabet.name[Int(bytes[end])] || bytes[end] == UInt8(ascii: "\\") || bytes[end] >= 0x80)
    }

    /// Whether that token is a property name after a dot.
    func isProperty(_ distance: Int) -> Bool {
        let dot = tokenStart(before: distance + 1)
        guard dot >= 0, bytes[dot] == UInt8(ascii: "."), tokenStart(before: distance) >= 0 else {
            return false
        }
        // The last of three dots is a spread operator.
        return dot == 0 || bytes[dot - 1] != UInt8(ascii: ".")
    }

    // MARK: Division or regular expression

    /// Keywords that an operand follows.
    private static let operators: [StaticString] = [
        "return", "typeof", "case", "in", "instanceof", "delete", "void", "new", "throw", "yield", "await",
        "extends",
        "default",
    ]
    /// Keywords that a statement or a block follows.
    private static let openers: [StaticString] = ["else", "do", "try", "finally"]
    /// Keywords that a condition in parentheses follows, and a statement after that.
    private static let controls: [StaticString] = ["if", "while", "for", "with"]

    /// Whether a `/` after the last token starts a regular expression.
    var isOperandExpected: Bool {
        let start = tokenStart(before: 0)
        guard start >= 0 else { return true }
        switch last {
        case .name: return !isProperty(0) && (isWord(start, Self.operators) || isWord(start, Self.openers))
        case .string, .badString, .template, .templateEnd, .number, .regex: return false
        case .templatePart, .sourceMap, .end: return true
        case .punctuator: break
        }
        switch bytes[start] {
        case UInt8(ascii: "]"): return false
        case UInt8(ascii: ")"):
            return isWord(lastClosed.before, Self.controls) && !isDot(before: lastClosed.before)
        case UInt8(ascii: "}"): return isBlock(openedAfter: lastClosed.before)
        case UInt8(ascii: "+"), UInt8(ascii: "-"): return start == 0 || bytes[start - 1] != bytes[start]
        default: return true
        }
    }

    /// Whether one of the words is at an offset.
    private func isWord(_ start: Int, _ words: [StaticString]) -> Bool {
        words.contains { isName($0, at: start) }
    }

    private func isDot(before start: Int) -> Bool {
        start > 0 && bytes[start - 1] == UInt8(ascii: ".")
    }

    /// Returns whether a brace after the token at `start` opens a block rather than an object literal.
    private func isBlock(openedAfter start: Int) -> Bool {
        guard start >= 0 else { return true }
        let byte = bytes[start]
        switch byte {
        case UInt8(ascii: ")"), UInt8(ascii: ";"), UInt8(ascii: "{"), UInt8(ascii: "}"): return true
        case UInt8(ascii: ">"): return start > 0 && bytes[start - 1] == UInt8(ascii: "=")
        default:
            let isName = alphabet.name[Int(byte)] || byte == UInt8(ascii: "\\") || byte >= 0x80
            return isName && (isDot(before: start) || !isWord(start, Self.operators))
        }
    }
}

/// A token of a script, as far as finding links requires the distinction.
struct ScriptToken {
    /// The kind of a token, which also determines what its range covers.
    enum Kind: UInt8 {
        case name
        /// A string literal. The range excludes the quotes.
        case string
        /// A string literal without a closing quote on its line, or a template literal without a closing backtick.
        case badString
        /// A template literal without substitutions. The range excludes the backticks.
        case template
        /// The part of a template literal before a substitution.
        case templatePart
        /// The part of a template literal after its last substitution.
        case templateEnd
        case number
        case regex
        /// One byte of a punctuator.
        case punctuator
        /// A comment that names a source map. The range is that of the name.
        case sourceMap
        case end
    }

    var kind: Kind
    var range: Range<Int>
}

/// A string literal of a script, or a template literal without substitutions.
struct ScriptLiteral {
    /// The bytes between the quotes.
    var range: Range<Int>
    var isTemplate: Bool

    init(_ token: ScriptToken) {
        range = token.range
        isTemplate = token.kind == .template
    }
}

/// Classes of script bytes, as lookup tables for the hot loops.
///
/// The tables are allocated once and never changed or freed, so sharing their pointers across threads is
/// safe.
struct ScriptAlphabet: @unchecked Sendable {
    static let shared = ScriptAlphabet()

    /// The ASCII bytes that continue a name: letters, digits, `$` and `_`. Escapes and other bytes are
    /// checked one by one.
    let name: UnsafePointer<Bool>
    /// The bytes that continue a string literal: all but quotes, backslashes and line ends.
    let string: UnsafePointer<Bool>
    /// The bytes that continue a template literal: all but backticks, backslashes and `$`.
    let template: UnsafePointer<Bool>
    /// The bytes that continue a regular expression: all but `/`, brackets, backslashes, line ends, and the
    /// first byte of U+2028.
    let regex: UnsafePointer<Bool>
    /// The bytes that continue a line: all but line ends and the first byte of U+2028.
    let line: UnsafePointer<Bool>

    private init() {
        name = Self.table { $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "$") || $0 == UInt8(ascii: "_") }
        string = Self.table { !"\"'\\\n\r".utf8.contains($0) }
        template = Self.table { !"`\\$".utf8.contains($0) }
        regex = Self.table { !"/[]\\\n\r".utf8.contains($0) && $0 != 0xE2 }
        line = Self.table { !"\n\r".utf8.contains($0) && $0 != 0xE2 }
    }

    private static func table(_ isIn: (UInt8) -> Bool) -> UnsafePointer<Bool> {
        let table = UnsafeMutablePointer<Bool>.allocate(capacity: 256)
        for byte in 0...255 { (table + byte).initialize(to: isIn(UInt8(byte))) }
        return UnsafePointer(table)
    }
}
