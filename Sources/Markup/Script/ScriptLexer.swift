/// Cuts a script into tokens, tells division from regular expressions, and remembers the last few tokens.
///
/// It never goes back: time is linear in the length whatever the bytes are. Punctuators come byte by byte
/// (`=>` is `=` and `>`), which is enough for finding links. The bytes are borrowed.
struct ScriptLexer {
    let bytes: UnsafePointer<UInt8>
    let count: Int
    let alphabet = ScriptAlphabet.shared
    var index = 0
    /// The kind of the last token.
    private(set) var last = ScriptToken.Kind.end
    /// No regular expression starts before this place: its line has no end for one.
    var expressionLimit = 0
    /// What is open: `(`, `{` and `${`, each with the token in front of it.
    private(set) var openings: [Opening] = []
    /// What the last closing mark closed.
    private(set) var closed = Opening(mark: .brace, before: -1)
    /// Where the last eight tokens start.
    private var starts = InlineArray<8, Int>(repeating: -1)
    private var tokens = 0

    struct Opening {
        enum Mark: Int { case parenthesis, brace, substitution }

        private let packed: Int

        init(mark: Mark, before: Int) {
            packed = before << 2 | mark.rawValue
        }

        var mark: Mark { Mark(rawValue: packed & 3) ?? .brace }
        /// Where the token in front of it starts; negative at the start of the script.
        var before: Int { packed >> 2 }
    }

    init(_ bytes: Bytes, base: UnsafePointer<UInt8>) {
        self.bytes = base
        count = bytes.count
        index = hashbangEnd()
    }

    /// A lexer that looks ahead from behind a place where an operand is expected, and leaves this one where
    /// it is.
    func ahead(from start: Int) -> ScriptLexer {
        var lexer = ScriptLexer(self)
        lexer.index = start
        return lexer
    }

    private init(_ other: ScriptLexer) {
        bytes = other.bytes
        count = other.count
        expressionLimit = other.expressionLimit
    }

    /// The next token.
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
                    index = oddNameEnd(from: index)
                }
                return token(.name, start, start..<index)
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                return string(byte)
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                return number()
            case UInt8(ascii: "."):
                if index &+ 1 < count, bytes[index &+ 1].isDigit { return number() }
                return mark()
            case UInt8(ascii: "/"):
                if let token = slash() { return token }
            case UInt8(ascii: "`"):
                index &+= 1
                return template(start, isContinued: false)
            case UInt8(ascii: "("):
                openings.append(Opening(mark: .parenthesis, before: before(0)))
                return mark()
            case UInt8(ascii: "{"):
                openings.append(Opening(mark: .brace, before: before(0)))
                return mark()
            case UInt8(ascii: ")"):
                if let opening = openings.last, opening.mark == .parenthesis {
                    closed = opening
                    openings.removeLast()
                }
                return mark()
            case UInt8(ascii: "}"):
                if closeBrace() == .substitution {
                    index &+= 1
                    return template(start, isContinued: true)
                }
                return mark()
            case UInt8(ascii: "<"), UInt8(ascii: "-"):
                guard isMarkupComment(at: index) else { return mark() }
                index = lineEnd(from: index)
            case UInt8(ascii: "\\"), 0x80...:
                let space = spaceLength(at: index)
                if space > 0 {
                    index &+= space
                } else {
                    index = oddNameEnd(from: index)
                    if index == start { index &+= 1 }
                    return token(.name, start, start..<index)
                }
            default:
                return mark()
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
    private mutating func mark() -> ScriptToken {
        let start = index
        index &+= 1
        return token(.mark, start, start..<index)
    }

    /// Opens a substitution of a template.
    mutating func openSubstitution() {
        openings.append(Opening(mark: .substitution, before: before(0)))
    }

    /// Closes the innermost brace, and the parentheses that were left open inside it.
    private mutating func closeBrace() -> Opening.Mark? {
        while let opening = openings.popLast() {
            if opening.mark == .parenthesis { continue }
            closed = opening
            return opening.mark
        }
        return nil
    }

    // MARK: What was before

    /// Where the token starts that is so many tokens in front of the last one (at most seven); negative if
    /// there is none.
    @inline(__always)
    func before(_ distance: Int) -> Int {
        tokens > distance ? starts[(tokens &- 1 &- distance) & 7] : -1
    }

    /// The first byte of that token; 0 if there is none.
    @inline(__always)
    func mark(before distance: Int) -> UInt8 {
        let start = before(distance)
        return start < 0 ? 0 : bytes[start]
    }

    /// Whether that token is this name.
    func name(before distance: Int, is name: StaticString) -> Bool {
        self.name(at: before(distance), is: name)
    }

    /// Whether this name stands at that place, as a whole.
    func name(at start: Int, is name: StaticString) -> Bool {
        let end = start + name.utf8CodeUnitCount
        guard start >= 0, end <= count else { return false }
        for offset in 0..<name.utf8CodeUnitCount where bytes[start + offset] != name.utf8Start[offset] {
            return false
        }
        return end == count
            || !(alphabet.name[Int(bytes[end])] || bytes[end] == UInt8(ascii: "\\") || bytes[end] >= 0x80)
    }

    /// Whether the token so far in front is read as a property of what stands before it.
    func isProperty(_ distance: Int) -> Bool {
        let dot = before(distance + 1)
        guard dot >= 0, bytes[dot] == UInt8(ascii: "."), before(distance) >= 0 else { return false }
        // Three dots spread what comes, a number may end with one.
        return dot == 0 || bytes[dot - 1] != UInt8(ascii: ".")
    }

    // MARK: Division or regular expression

    /// Words behind which an operand stands.
    private static let operators: [StaticString] = [
        "return", "typeof", "case", "in", "instanceof", "delete", "void", "new", "throw", "yield", "await",
        "extends",
        "default",
    ]
    /// Words behind which a statement or a block stands.
    private static let openers: [StaticString] = ["else", "do", "try", "finally"]
    private static let controls: [StaticString] = ["if", "while", "for", "with"]

    /// Whether a `/` behind the last token starts a regular expression.
    var isOperandExpected: Bool {
        let start = before(0)
        guard start >= 0 else { return true }
        switch last {
        case .name: return !isProperty(0) && (isWord(start, Self.operators) || isWord(start, Self.openers))
        case .string, .badString, .template, .templateEnd, .number, .expression: return false
        case .templatePart, .sourceMap, .end: return true
        case .mark: break
        }
        switch bytes[start] {
        case UInt8(ascii: "]"): return false
        case UInt8(ascii: ")"):
            return isWord(closed.before, Self.controls) && !isDot(inFrontOf: closed.before)
        case UInt8(ascii: "}"): return isBlock(openedBehind: closed.before)
        case UInt8(ascii: "+"), UInt8(ascii: "-"): return start == 0 || bytes[start - 1] != bytes[start]
        default: return true
        }
    }

    private func isWord(_ start: Int, _ words: [StaticString]) -> Bool {
        words.contains { name(at: start, is: $0) }
    }

    private func isDot(inFrontOf start: Int) -> Bool {
        start > 0 && bytes[start - 1] == UInt8(ascii: ".")
    }

    /// Whether a brace behind the token at `start` opens statements rather than an object.
    private func isBlock(openedBehind start: Int) -> Bool {
        guard start >= 0 else { return true }
        let byte = bytes[start]
        switch byte {
        case UInt8(ascii: ")"), UInt8(ascii: ";"), UInt8(ascii: "{"), UInt8(ascii: "}"): return true
        case UInt8(ascii: ">"): return start > 0 && bytes[start - 1] == UInt8(ascii: "=")
        default:
            let isName = alphabet.name[Int(byte)] || byte == UInt8(ascii: "\\") || byte >= 0x80
            return isName && (isDot(inFrontOf: start) || !isWord(start, Self.operators))
        }
    }
}

/// A token of a script, as far as finding links needs it told apart.
struct ScriptToken {
    enum Kind: UInt8 {
        case name
        /// The range is that of the inside of the quotes.
        case string
        /// A string that its line ended.
        case badString
        /// A template without substitutions; the range is that of the inside of the backticks.
        case template
        /// The part of a template up to a substitution.
        case templatePart
        /// The last part of a template with substitutions.
        case templateEnd
        case number
        case expression
        /// One byte of a punctuator.
        case mark
        /// A comment that names a source map; the range is that of the name.
        case sourceMap
        case end
    }

    var kind: Kind
    var range: Range<Int>
}

/// A string of a script, or a template without substitutions.
struct ScriptLiteral {
    /// What is between the quotes.
    var range: Range<Int>
    var isTemplate: Bool

    init(_ token: ScriptToken) {
        range = token.range
        isTemplate = token.kind == .template
    }
}

/// What the bytes of a script can be, as tables for the hot loops.
///
/// Made once, never changed and never freed, which is what makes sharing its pointers sound.
struct ScriptAlphabet: @unchecked Sendable {
    static let shared = ScriptAlphabet()

    /// Goes on with a name: letters, digits, `$`, `_`. Escapes and what is not ASCII are looked at one by
    /// one.
    let name: UnsafePointer<Bool>
    /// Goes on with a string: anything but quotes, backslashes and line ends.
    let string: UnsafePointer<Bool>
    /// Goes on with a template: anything but a backtick, a backslash and `$`.
    let template: UnsafePointer<Bool>
    /// Goes on with a regular expression: anything but `/`, brackets, backslashes, line ends, and the first
    /// byte of U+2028.
    let expression: UnsafePointer<Bool>
    /// Goes on with a line: anything but a line end, and the first byte of U+2028.
    let line: UnsafePointer<Bool>

    private init() {
        name = Self.table { $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "$") || $0 == UInt8(ascii: "_") }
        string = Self.table { !"\"'\\\n\r".utf8.contains($0) }
        template = Self.table { !"`\\$".utf8.contains($0) }
        expression = Self.table { !"/[]\\\n\r".utf8.contains($0) && $0 != 0xE2 }
        line = Self.table { !"\n\r".utf8.contains($0) && $0 != 0xE2 }
    }

    private static func table(_ isIn: (UInt8) -> Bool) -> UnsafePointer<Bool> {
        let table = UnsafeMutablePointer<Bool>.allocate(capacity: 256)
        for byte in 0...255 { (table + byte).initialize(to: isIn(UInt8(byte))) }
        return UnsafePointer(table)
    }
}
