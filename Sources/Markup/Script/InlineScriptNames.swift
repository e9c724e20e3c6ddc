/// The names in the inline scripts of a document, by which documents from the same template are recognised.
///
/// One script often has other data on each page. So literals do not count, nor do names before a colon, which are mostly
/// keys of data, and names with a digit, which are often generated for one page. The order and the number of uses do not
/// count either, because a page may have a script for each of its items.
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
        while true {
            let token = lexer.next()
            if token.kind == .end { return }
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
