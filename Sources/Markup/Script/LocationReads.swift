/// The places of a script that read where its page is, by a property `location` of something that has a name:
/// `window.location`, or what a minifier calls a window; or by `location` alone, where the script gives nothing
/// else that name.
///
/// Whoever shows a page elsewhere can give its routers the address that it had: `x.location` becomes
/// `x[x.larder$||"location"]`. That is the same for everything that has no property of that name, which the
/// page's first script gives to its window and its document alone. Other bytes stay, and so do lines.
package enum LocationReads {
    /// What windows and documents are asked for; its value is the name under which the address stands.
    package static let name = "larder$"

    /// Whether a script changes the address that the browser shows: then it goes by that.
    package static func isRouter(_ script: Span<UInt8>) -> Bool {
        script.withUnsafeBufferPointer { $0.firstIndex(of: "pushstate") != nil }
    }

    /// By their places.
    package static func changes(in script: Span<UInt8>) -> [Patch.Change] {
        script.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress, bytes.firstIndex(of: "location") != nil else { return [] }
            var lexer = ScriptLexer(bytes, base: base)
            var changes: [Patch.Change] = []
            // Nil once something else may have the name.
            var bare: [Patch.Change]? = []
            while true {
                let token = lexer.next()
                if token.kind == .end {
                    return (changes + (bare ?? [])).sorted { $0.range.lowerBound < $1.range.lowerBound }
                }
                guard token.kind == .name, token.range.count == 8,
                    lexer.name(at: token.range.lowerBound, is: "location")
                else { continue }
                guard lexer.isProperty(0) else {
                    switch use(bytes, lexer, token.range) {
                    case .read: bare?.append(Patch.Change(token.range, Array(window.utf8)))
                    case .mention: break
                    case .other: bare = nil
                    }
                    continue
                }
                guard let owner = owner(lexer) else { continue }
                let dot = lexer.before(1)
                let text = "[\(String(decoding: bytes.part(owner), as: UTF8.self)).\(name)||\"location\"]"
                changes.append(Patch.Change(dot..<token.range.upperBound, Array(text.utf8)))
            }
        }
    }

    private enum Use {
        /// Something of it is asked for, which it has everywhere.
        case read
        /// A key, or whether there is one.
        case mention
        /// It may be given to something, or handed on.
        case other
    }

    /// What stands for the name alone: it begins as that does, so that no line before it takes it for a call.
    private static let window = "self[self.\(name)||'location']"

    private static func use(
        _ bytes: UnsafeBufferPointer<UInt8>, _ lexer: borrowing ScriptLexer, _ range: Range<Int>
    ) -> Use {
        let next = bytes[range.upperBound...].firstIndex { $0 > 0x20 }
        let isAsked = lexer.name(before: 1, is: "typeof")
        if range.lowerBound > 0, bytes[range.lowerBound - 1] == UInt8(ascii: "#") { return .mention }
        guard let next else { return isAsked ? .mention : .other }
        switch bytes[next] {
        case UInt8(ascii: ":"): return .mention
        case UInt8(ascii: "."), UInt8(ascii: "["): return isAsked ? .mention : .read
        default: return isAsked ? .mention : .other
        }
    }

    /// Puts back what was there.
    package static func undone(_ script: [UInt8]) -> [UInt8] {
        undoneOwners(script.replacing(Array(window.utf8), with: Array("location".utf8)))
    }

    private static func undoneOwners(_ script: [UInt8]) -> [UInt8] {
        let mark = Array(".\(name)||\"location\"]".utf8)
        guard script.firstRange(of: mark) != nil else { return script }
        var text: [UInt8] = []
        var rest = script[...]
        while let found = rest.firstRange(of: mark) {
            let start = rest[..<found.lowerBound].lastIndex(of: UInt8(ascii: "["))
            guard let start else { break }
            text += rest[..<start] + Array(".location".utf8)
            rest = rest[found.upperBound...]
        }
        return text + rest
    }

    /// Windows of others may be asked for nothing but what everybody's may.
    private static let foreign: [StaticString] = [
        "this", "super", "top", "parent", "opener", "meta", "import", "new",
    ]
    private static let longest = 64

    /// What has the property, where it is a name alone.
    private static func owner(_ lexer: ScriptLexer) -> Range<Int>? {
        let (dot, start) = (lexer.before(1), lexer.before(2))
        guard start >= 0, dot - start <= longest, !lexer.isProperty(2) else { return nil }
        let owner = start..<dot
        let isName = owner.allSatisfy { lexer.alphabet.name[Int(lexer.bytes[$0])] }
        guard isName, !lexer.bytes[start].isDigit, start == 0 || lexer.bytes[start - 1] != UInt8(ascii: "#"),
            !foreign.contains(where: { lexer.name(at: start, is: $0) })
        else { return nil }
        return owner
    }
}
