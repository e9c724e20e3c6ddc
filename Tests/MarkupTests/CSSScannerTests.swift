import TestOrigin
import Testing
import Web

@testable import Markup

@Suite struct CSSScannerTests {
    @Test(
        "URLs are found as in CSS Syntax",
        arguments: [
            ("a{b:url(x)}", ["x"]), ("a{b:url( x\n)}", ["x"]), ("a{b:url('x')}", ["x"]),
            ("a{b:URL( \"x\" )}", ["x"]),
            ("a{b:\\75 rl(x)}", ["x"]), ("a{b:u\\r\\l(x)}", ["x"]), ("a{b:url(x\\)y)}", ["x)y"]),
            ("a{b:url(x\\\ny)}", []),
            ("a{b:url(x y) url(z)}", ["z"]), ("a{b:url(x\"y) url(z)}", ["z"]),
            ("a{b:url('x\n') c:url(z)}", []),
            ("a{b:url('x\\\ny')}", ["xy"]), ("a{b:url('\\26 x')}", ["&x"]), ("a{b:url(x", ["x"]),
            ("a{b:url('x", ["x"]),
            ("a{b:#url(x) 1url(x) -1url(x) @url(x) xurl(x)}", []), ("/* url(x) */ a{b:url(y)}", ["y"]),
            ("a{b:'url(x)'}", []), ("a{b:url(a/**/b)}", ["a/**/b"]), ("@import 'x';", ["x"]),
            ("@import url(x) screen;", ["x"]),
            ("@IMPORT/**/ \"x\" layer(a) supports(b: c) print;", ["x"]),
            ("@import url('x');@import 'y'", ["x", "y"]),
            ("@\\69mport 'x';", ["x"]), ("@import screen 'x'; a{b:'y'}", []),
            ("@namespace url(x); @namespace a 'y';", []),
            ("@document url(http://x), url-prefix('y'){a{b:url(z)}}", ["z"]),
            ("@charset 'x'; a{b:url(y)}", ["y"]),
            ("a{b:image-set('x' 1x type('y'), url(z) 2x)}", ["x", "z"]),
            ("a{b:-webkit-image-set(url(x) 1x)}", ["x"]),
            ("a{b:src('x') image('y')}", ["x", "y"]), ("a{--c:url(x)}", ["x"]),
            ("a{b:url()} c{d:url('')}", []),
            ("a{filter:progid:DXImageTransform.Microsoft.AlphaImageLoader(src='x',sizingMethod='y')}", ["x"]),
            ("a{behavior:url(x)}", ["x"]), ("a{} /*# sourceMappingURL=x.map */", ["x.map"]),
            ("<!-- a{b:url(x)} -->", ["x"]),
            ("a{b:url(data:,x) url(#y)}", ["#y"]), ("a\\{b:url(x)", ["x"]), ("a{b:\"\\\"url(x)\"}", []),
            ("\\", []),
            // An unclosed url() that contains another import.
            ("@import url('x' y;@import 'z';", ["x", "z"]), ("src(@import 'x'", []),
            ("a{b:url('x' 'y')}", ["x"]),
            ("a{b:url(x\\\0)}", ["x\u{FFFD}"]), ("a{b:url('x\\\n", ["x"]),
        ] as [(String, [String])])
    func addresses(_ css: String, _ references: [String]) {
        let scan = Scan(css, .css)
        #expect(scan.references == references)
        #expect(scan.faults == [])
    }

    @Test(
        arguments: [
            ("a{mask:url(x)}", ["x"]), ("a{b:c;mask-image : url('x'),url(y)}", ["x", "y"]),
            ("a{-webkit-mask-box-image:url(x)}", ["x"]), ("a{/* b */ /**/clip-path:url(x#y)}", ["x#y"]),
            ("a{FILTER:blur(1px) url(x)}", ["x"]), ("a{shape-outside:url(x)}b{c:url(y)}", ["x"]),
            ("@media x{a{backdrop-filter:url(x)}}", ["x"]), ("a{m\\61sk:image-set('x' 1x)}", ["x"]),
            ("a{--mask:url(x)}", []), ("a{background:url(x)}", []), ("mask:url(x)", ["x"]), ("mask", []),
            ("a{filter:progid:DXImageTransform.Microsoft.AlphaImageLoader(src='x')}", []),
            ("a{mask:b}c{d:url(x)}", []), ("a{mask:b;d:url(x)}", []), ("url(;mask:'x'", []),
            ("a{mask:url(", []),
            ("@import url(x);", []), ("a{b:c}d{mask:linear-gradient(e,f) , url( x )}", ["x"]),
        ] as [(String, [String])])
    func `images in clip paths, masks and filters are requested in CORS mode`(
        css: String, references: [String]
    ) {
        let scan = Scan(css, .css)
        #expect(scan.faults == [])
        #expect(scan.found.filter { $0.flags.contains(.isCORS) }.map(\.reference) == references)
    }

    @Test("The at-rule determines the kind of a URL")
    func kinds() {
        let scan = Scan(
            "@import 'a';@font-face{src:url(b)}a{c:url(d)}@media x{@font-face{src:local(e),url('f')}}", .css)
        #expect(scan.found.map(\.kind) == [.style, .font, .image, .font])
    }
}

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
        guard ConformanceData.isThere, let list = try? ConformanceData.json("css/\(name).json").array else {
            return []
        }
        return stride(from: 0, to: list.count - 1, by: 2).map {
            Case(css: list[$0].string ?? "", tokens: tokens(list[$0 + 1]))
        }
    }

    /// Cases from which Larder deviates, with the reason.
    static let exceptions: [String: String] = [:]

    @Test(
        "Strings and url() tokens are those of the standard",
        .enabled(if: ConformanceData.isThere, "the conformance data is not there (LARDER_CONFORMANCE)"),
        arguments: cases)
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
