/// The names in the inline scripts of a document, by which documents from the same template are recognised.
///
/// One script often has other data on each page. So literals do not count, nor do names before a colon, which are mostly
/// keys of data, and names with a digit, which are often generated for one page. The order and the number of uses do not
/// count either, because a page may have a script for each of its items.
///
/// Lists of modules are an exception. In a MediaWiki, for example, pages differ only in the list of the modules that their
/// scripts load. The elements of such a list (`ModuleList`) count as names.
struct InlineScriptNames {
    private var hashes: Set<UInt64> = []

    /// The maximum number of different names. Further ones are ignored.
    private static let maxCount = 8192
    /// Values that are data like strings and numbers.
    private static let literals: [StaticString] = ["true", "false", "null", "undefined"]

    /// A hash of all names; 0 for none. It is the same in all processes, because it is stored.
    var hash: UInt32 {
        let sum = hashes.reduce(0, &+)
        return UInt32(truncatingIfNeeded: sum ^ sum >> 32)
    }

    /// Adds the names of a script.
    mutating func add(_ script: Bytes) {
        guard let base = script.baseAddress else { return }
        var lexer = ScriptLexer(script, base: base)
        var list = ModuleList()
        while true {
            let token = lexer.next()
            if token.kind == .end { return }
            for module in list.modules(endingWith: token, of: script) { add(name: module) }
            guard token.kind == .name, hashes.count < Self.maxCount else { continue }
            let next = lexer.skipTrivia(from: lexer.index)
            if next < script.count, script[next] == UInt8(ascii: ":") { continue }
            add(name: script.part(token.range))
        }
    }

    private mutating func add(name: Bytes) {
        if Self.literals.contains(where: { name.equals($0) }) { return }
        // FNV-1a
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in name {
            if byte.isDigit { return }
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
        }
        hashes.insert(hash)
    }
}

/// Recognises a list of module names that is assigned to a name, such as `modules = ["site", "page.ready"]`.
///
/// All elements are strings that could be names of modules, and at least one has several parts, separated by dots or
/// slashes.
private struct ModuleList {
    private enum Position { case outside, afterName, afterEquals, inside }

    private var position = Position.outside
    /// The elements so far.
    private var elements: [Bytes] = []

    /// Processes the next token of a script. Returns the elements of the list that ends with it; empty if none does.
    mutating func modules(endingWith token: ScriptToken, of script: Bytes) -> [Bytes] {
        let text = script.part(token.range)
        switch (position, token.kind) {
        case (.afterName, .punctuator) where text.equals("="): position = .afterEquals
        case (.afterEquals, .punctuator) where text.equals("["):
            (position, elements) = (.inside, [])
        case (.inside, .string) where Self.isName(text): elements.append(text)
        case (.inside, .punctuator) where text.equals(","): break
        case (.inside, .punctuator) where text.equals("]"):
            position = .outside
            return elements.contains(where: Self.hasParts) ? elements : []
        default: position = token.kind == .name ? .afterName : .outside
        }
        return []
    }

    private static func isName(_ text: Bytes) -> Bool {
        guard let first = text.first, first.isLetter else { return false }
        return text.allSatisfy { $0.isLetter || $0.isDigit || isSeparator($0) || [0x2d, 0x5f].contains($0) }
    }

    private static func hasParts(_ name: Bytes) -> Bool { name.contains(where: isSeparator) }

    private static func isSeparator(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ".") || byte == UInt8(ascii: "/")
    }
}
