extension ScriptScanner {
    /// A string that is the address of a file and nothing else, by no rule but its look:
    /// - `logo = "/assets/logo-1a2b.svg"`: the pictures that a module imports, when the bundler knows where the site will stand;
    /// - `"static/chunks/12-ab.js"`: the files of a build by Next.js or webpack, from its folder;
    /// - `"app.wasm"`: what a compiled program loads from beside its script.
    mutating func asset(_ literal: ScriptLiteral) {
        let address = text.bytes.part(literal.range)
        guard address.count > 5, address.count <= ChunkNames.maximalLength else { return }
        switch address[0] {
        case UInt8(ascii: "/"):
            guard address[1] != UInt8(ascii: "/"), let kind = fileKind(address) else { return }
            add(literal, kind, .isGuess)
        case UInt8(ascii: "s"):
            // Behind a question mark it is what the loader makes of a chunk.
            guard address.starts(with: "static/"), lexer.mark(before: 1) != UInt8(ascii: "?"),
                let kind = fileKind(address)
            else { return }
            imply(literal, kind, .isGuess)
        default:
            guard Self.isProgram(address), fileKind(address) != nil else { return }
            add(literal, .data, .isGuess)
        }
    }

    /// What is loaded as a file of that name is used for; nil when it is no plain name of a file, or not used as one.
    private func fileKind(_ address: Bytes) -> LinkKind? {
        guard let kind = Self.kind(ofFile: address), kind.role == .requisite, isValue,
            address.allSatisfy(Self.isPathByte)
        else { return nil }
        return kind
    }

    /// `….wasm`
    static func isProgram(_ address: Bytes) -> Bool {
        address.count > 5 && address.starts(with: ".wasm", at: address.count - 5)
    }

    /// Adds what the literal says as a file of the bundler's output.
    mutating func imply(_ literal: ScriptLiteral, _ kind: LinkKind, _ flags: LinkFlags = []) {
        guard implied.count < Self.maximalImplied else { return }
        var reference: [UInt8] = []
        ScriptText.unescape(text.bytes.part(literal.range), into: &reference)
        implied.append(ImpliedLink(String(decoding: reference, as: UTF8.self), kind, flags, from: .build))
    }

    static var maximalImplied: Int { 65_536 }

    /// Whether the literal is what is assigned, listed or returned, rather than an operand, or what another text is searched
    /// for.
    private var isValue: Bool {
        switch lexer.mark(before: 1) {
        case UInt8(ascii: "="):
            let mark = lexer.before(2)
            guard mark >= 0, mark + 1 == lexer.before(1) else { break }
            if [UInt8(ascii: "="), UInt8(ascii: "!"), UInt8(ascii: "+")].contains(lexer.bytes[mark]) { return false }
        case UInt8(ascii: ":"), UInt8(ascii: ","), UInt8(ascii: "["), UInt8(ascii: "?"), UInt8(ascii: "|"): break
        case UInt8(ascii: "("):
            // What a function is called with that stands there itself, or what finds a file beside the script.
            if lexer.mark(before: 2) != UInt8(ascii: "}"), !lexer.name(before: 2, is: "locateFile") { return false }
        case UInt8(ascii: "r"): if !lexer.name(before: 1, is: "return") { return false }
        default: return false
        }
        let next = lexer.trivia(from: lexer.index)
        guard next < lexer.count else { return true }
        switch lexer.bytes[next] {
        case UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "="), UInt8(ascii: "["): return false
        default: return true
        }
    }

    private static func isPathByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "~"),
            UInt8(ascii: "@"), UInt8(ascii: "%"), UInt8(ascii: "?"), UInt8(ascii: "&"), UInt8(ascii: "="),
            UInt8(ascii: "["),
            UInt8(ascii: "]"), UInt8(ascii: "("), UInt8(ascii: ")"), 0x80...:
            true
        default: byte.isLetter || byte.isDigit
        }
    }
}
