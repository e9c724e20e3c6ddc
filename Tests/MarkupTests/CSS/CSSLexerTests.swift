import TestOrigin
import Testing
import Web

@testable import Markup

@Suite struct CSSLexerTests {
    struct Case: Sendable, CustomStringConvertible {
        var css: String
        var tokens: [String]
        var description: String { css.debugDescription }
    }

    /// The strings, urls and their bad forms in a list of component values, in order.
    private static func tokens(_ value: JSONValue) -> [String] {
        guard let list = value.array else { return [] }
        if let name = list.first?.string, list.count == 2, let text = list[1].string {
            switch (name, text) {
            case ("string", _), ("url", _): return ["\(name) \(text)"]
            case ("error", "bad-string"), ("error", "bad-url"): return [text]
            default: return []
            }
        }
        return list.flatMap(tokens)
    }

    static let cases: [Case] = [
        "component_value_list", "one_component_value", "declaration_list", "rule_list", "stylesheet",
    ]
    .flatMap { name -> [Case] in
        guard ConformanceData.isThere, let list = try? ConformanceData.json("css/\(name).json").array else { return [] }
        return stride(from: 0, to: list.count - 1, by: 2).map {
            Case(css: list[$0].string ?? "", tokens: tokens(list[$0 + 1]))
        }
    }

    /// Cases that are not met, with the reason.
    static let exceptions: [String: String] = [:]

    @Test("Strings and urls are cut as the standard does", .enabled(if: ConformanceData.isThere), arguments: cases)
    func conformance(_ test: Case) {
        let found = Array(test.css.utf8).withUnsafeBufferPointer { Self.read($0) }
        #expect((found == test.tokens) == (Self.exceptions[test.css] == nil), "\(found) \(test.tokens)")
    }

    private static func read(_ bytes: Bytes) -> [String] {
        var lexer = CSSLexer(bytes)
        var found: [String] = []
        func text(_ range: Range<Int>, isURL: Bool = false) -> String {
            var output: [UInt8] = []
            CSSText.unescape(bytes.part(range), isURL: isURL, into: &output)
            return String(decoding: output, as: UTF8.self)
        }
        while let token = lexer.next() {
            switch token {
            case .string(let range): found.append("string \(text(range))")
            case .url(let range): found.append("url \(text(range, isURL: true))")
            case .badString: found.append("bad-string")
            case .badURL: found.append("bad-url")
            case .function, .atKeyword, .open, .close, .semicolon, .comment: break
            }
        }
        return found
    }
}
