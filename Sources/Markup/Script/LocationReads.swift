internal import Web

/// The expressions in a script that read the location of its page: through a property `location` of a named
/// object, such as `window.location` or a minified name, or as `location` alone if the script does not use
/// that name for anything else.
///
/// A server that shows a page under another URL can give the page's routers its original URL: `x.location`
/// becomes `x[x.larder$||"location"]`. Only the window and the document have the property `larder$`, which
/// the page's first script sets, so other objects behave as before. All other bytes and the line numbers stay
/// unchanged.
package enum LocationReads {
    /// The property that a rewritten script reads from windows and documents. Its value is the name of the
    /// property with the original URL.
    package static let name = "larder$"

    /// Whether a script changes the URL that the browser shows (`pushState`) and therefore depends on the URL
    /// of its page.
    package static func isRouter(_ script: Span<UInt8>) -> Bool {
        script.withUnsafeBufferPointer { $0.firstIndex(of: "pushstate") != nil }
    }

    /// Returns the replacements in a script, in ascending order.
    package static func changes(in script: Span<UInt8>) -> [Patch.Change] {
        script.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress, bytes.firstIndex(of: "location") != nil else { return [] }
            var lexer = ScriptLexer(bytes, base: base)
            var changes: [Patch.Change] = []
            // Nil as soon as the script may use the name for something else.
            var bare: [Patch.Change]? = []
            while true {
                let token = lexer.next()
                if token.kind == .end {
                    return (changes + (bare ?? [])).sorted { $0.range.lowerBound < $1.range.lowerBound }
                }
                guard token.kind == .name, token.range.count == 8,
                    lexer.isName("location", at: token.range.lowerBound)
                else { continue }
                guard lexer.isProperty(0) else {
                    switch use(bytes, lexer, token.range) {
                    case .read: bare?.append(Patch.Change(token.range, Array(globalReplacement.utf8)))
                    case .mention: break
                    case .other: bare = nil
                    }
                    continue
                }
                guard let owner = owner(lexer) else { continue }
                let dot = lexer.tokenStart(before: 1)
                let text = "[\(String(decoding: bytes.part(owner), as: UTF8.self)).\(name)||\"location\"]"
                changes.append(Patch.Change(dot..<token.range.upperBound, Array(text.utf8)))
            }
        }
    }

    /// The use of a `location` that is not a property.
    private enum Use {
        /// Reads a property of the page's location.
        case read
        /// Is a key or a private name, or only tests whether the location exists.
        case mention
        /// May be a declaration, an assignment or an argument.
        case other
    }

    /// The replacement for `location` alone. It starts with a name, since after a line end a bracket would
    /// continue the statement before it.
    private static let globalReplacement = "self[self.\(name)||'location']"

    private static func use(
        _ bytes: UnsafeBufferPointer<UInt8>, _ lexer: borrowing ScriptLexer, _ range: Range<Int>
    ) -> Use {
        let next = bytes[range.upperBound...].firstIndex { $0 > 0x20 }
        let isTypeofOperand = lexer.isName("typeof", before: 1)
        if range.lowerBound > 0, bytes[range.lowerBound - 1] == UInt8(ascii: "#") { return .mention }
        guard let next else { return isTypeofOperand ? .mention : .other }
        switch bytes[next] {
        case UInt8(ascii: ":"): return .mention
        case UInt8(ascii: "."), UInt8(ascii: "["): return isTypeofOperand ? .mention : .read
        default: return isTypeofOperand ? .mention : .other
        }
    }

    /// Returns the script without the replacements.
    package static func removingChanges(_ script: [UInt8]) -> [UInt8] {
        removingPropertyChanges(
            script.replacingAll(Array(globalReplacement.utf8), with: Array("location".utf8)))
    }

    private static func removingPropertyChanges(_ script: [UInt8]) -> [UInt8] {
        let mark = Array(".\(name)||\"location\"]".utf8)
        var text: [UInt8] = []
        var position = 0
        while let found = script.firstOffset(of: mark, in: position..<script.count) {
            let start = script[position..<found].lastIndex(of: UInt8(ascii: "["))
            guard let start else { break }
            text += script[position..<start] + Array(".location".utf8)
            position = found + mark.count
        }
        return position == 0 ? script : text + script[position...]
    }

    /// Names before a dot that are not replaced: keywords, and other windows, which may belong to another
    /// origin and then do not allow access to properties of their own.
    private static let excludedOwners: [StaticString] = [
        "this", "super", "top", "parent", "opener", "meta", "import", "new",
    ]
    private static let maxNameBytes = 64

    /// Returns the range of the object before the dot, if it is a simple name.
    private static func owner(_ lexer: ScriptLexer) -> Range<Int>? {
        let (dot, start) = (lexer.tokenStart(before: 1), lexer.tokenStart(before: 2))
        guard start >= 0, dot - start <= maxNameBytes, !lexer.isProperty(2) else { return nil }
        let owner = start..<dot
        let isName = owner.allSatisfy { lexer.alphabet.name[Int(lexer.bytes[$0])] }
        guard isName, !lexer.bytes[start].isDigit, start == 0 || lexer.bytes[start - 1] != UInt8(ascii: "#"),
            !excludedOwners.contains(where: { lexer.isName($0, at: start) })
        else { return nil }
        return owner
    }
}
