internal import Web

/// The expressions in a script that depend on the URL of the script itself: `import.meta.url`, and calls of
/// `import()`.
///
/// A module that runs from another URL than its own gets the original one this way: `import.meta.url` becomes
/// `larder$meta("NAME")`, and `import(` becomes `larder$import("NAME",`.
package enum ModuleReads {
    /// Returns the replacements in a script, in ascending order.
    ///
    /// - Parameter name: The name that the two functions receive. It needs no escapes in a string.
    package static func changes(in script: Span<UInt8>, named name: String) -> [Patch.Change] {
        script.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress, bytes.firstIndex(of: "import") != nil else { return [] }
            var lexer = ScriptLexer(bytes, base: base)
            var changes: [Patch.Change] = []
            // Calls whose arguments are being read: the number of open brackets around each, and its change.
            var calls: [(depth: Int, change: Int)] = []
            var methodNames: Set<Int> = []
            while true {
                let token = lexer.next()
                if token.kind == .end { break }
                while let call = calls.last, lexer.openings.count <= call.depth {
                    calls.removeLast()
                    let next = lexer.skipTrivia(from: lexer.index)
                    // `import(name) { … }` is a method of that name.
                    if next < lexer.count, bytes[next] == UInt8(ascii: "{") {
                        methodNames.insert(call.change)
                    }
                }
                guard token.kind == .name, token.range.count == 6,
                    lexer.isName("import", at: token.range.lowerBound), !lexer.isProperty(0)
                else { continue }
                let next = lexer.skipTrivia(from: lexer.index)
                guard next < lexer.count else { continue }
                let start = token.range.lowerBound
                if bytes[next] == UInt8(ascii: "(") {
                    calls.append((lexer.openings.count, changes.count))
                    // The opening parenthesis is read next.
                    _ = lexer.next()
                    changes.append(
                        Patch.Change(start..<next + 1, Array("larder$import(\"\(name)\",".utf8)))
                } else if bytes[next] == UInt8(ascii: "."), let end = metaURL(lexer, after: next) {
                    changes.append(Patch.Change(start..<end, Array("larder$meta(\"\(name)\")".utf8)))
                }
            }
            return changes.enumerated().filter { !methodNames.contains($0.offset) }.map(\.element)
        }
    }

    /// Returns the script without the replacements of `import()`.
    package static func removingChanges(_ script: [UInt8]) -> [UInt8] {
        let mark = Array("larder$import(\"".utf8)
        var text: [UInt8] = []
        var position = 0
        while let found = script.firstOffset(of: mark, in: position..<script.count) {
            guard let end = script[(found + mark.count)...].firstIndex(of: UInt8(ascii: "\"")),
                script[end...].dropFirst().first == UInt8(ascii: ",")
            else { break }
            text += script[position..<found] + Array("import(".utf8)
            position = end + 2
        }
        return text + script[position...]
    }

    /// Whether a script has import or export statements, so that it runs only as a module.
    package static func isModule(_ script: Span<UInt8>) -> Bool {
        script.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return false }
            var lexer = ScriptLexer(bytes, base: base)
            while true {
                let token = lexer.next()
                if token.kind == .end { return false }
                guard token.kind == .name, token.range.count == 6, lexer.openings.isEmpty,
                    !lexer.isProperty(0)
                else { continue }
                if lexer.isName("export", at: token.range.lowerBound) { return true }
                guard lexer.isName("import", at: token.range.lowerBound) else { continue }
                let next = lexer.skipTrivia(from: lexer.index)
                if next < lexer.count, bytes[next] != UInt8(ascii: "("), bytes[next] != UInt8(ascii: ".") {
                    return true
                }
            }
        }
    }

    /// Returns the end of `import.meta.url` if this is what follows.
    private static func metaURL(_ lexer: borrowing ScriptLexer, after dot: Int) -> Int? {
        let meta = lexer.skipTrivia(from: dot + 1)
        guard lexer.isName("meta", at: meta) else { return nil }
        let next = lexer.skipTrivia(from: meta + 4)
        guard next < lexer.count, lexer.bytes[next] == UInt8(ascii: ".") else { return nil }
        let url = lexer.skipTrivia(from: next + 1)
        return lexer.isName("url", at: url) ? url + 3 : nil
    }
}
