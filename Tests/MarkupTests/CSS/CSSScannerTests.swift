import Markup
import Testing

@Suite struct CSSScannerTests {
    @Test(
        "Addresses are found as CSS Syntax cuts them",
        arguments: [
            ("a{b:url(x)}", ["x"]), ("a{b:url( x\n)}", ["x"]), ("a{b:url('x')}", ["x"]), ("a{b:URL( \"x\" )}", ["x"]),
            ("a{b:\\75 rl(x)}", ["x"]), ("a{b:u\\r\\l(x)}", ["x"]), ("a{b:url(x\\)y)}", ["x)y"]),
            ("a{b:url(x\\\ny)}", []),
            ("a{b:url(x y) url(z)}", ["z"]), ("a{b:url(x\"y) url(z)}", ["z"]), ("a{b:url('x\n') c:url(z)}", []),
            ("a{b:url('x\\\ny')}", ["xy"]), ("a{b:url('\\26 x')}", ["&x"]), ("a{b:url(x", ["x"]), ("a{b:url('x", ["x"]),
            ("a{b:#url(x) 1url(x) -1url(x) @url(x) xurl(x)}", []), ("/* url(x) */ a{b:url(y)}", ["y"]),
            ("a{b:'url(x)'}", []), ("a{b:url(a/**/b)}", ["a/**/b"]), ("@import 'x';", ["x"]),
            ("@import url(x) screen;", ["x"]),
            ("@IMPORT/**/ \"x\" layer(a) supports(b: c) print;", ["x"]), ("@import url('x');@import 'y'", ["x", "y"]),
            ("@\\69mport 'x';", ["x"]), ("@import screen 'x'; a{b:'y'}", []),
            ("@namespace url(x); @namespace a 'y';", []),
            ("@document url(http://x), url-prefix('y'){a{b:url(z)}}", ["z"]), ("@charset 'x'; a{b:url(y)}", ["y"]),
            ("a{b:image-set('x' 1x type('y'), url(z) 2x)}", ["x", "z"]), ("a{b:-webkit-image-set(url(x) 1x)}", ["x"]),
            ("a{b:src('x') image('y')}", ["x", "y"]), ("a{--c:url(x)}", ["x"]), ("a{b:url()} c{d:url('')}", []),
            ("a{filter:progid:DXImageTransform.Microsoft.AlphaImageLoader(src='x',sizingMethod='y')}", ["x"]),
            ("a{behavior:url(x)}", ["x"]), ("a{} /*# sourceMappingURL=x.map */", ["x.map"]),
            ("<!-- a{b:url(x)} -->", ["x"]),
            ("a{b:url(data:,x) url(#y)}", ["#y"]), ("a\\{b:url(x)", ["x"]), ("a{b:\"\\\"url(x)\"}", []), ("\\", []),
            // A url() that is not closed, with another import inside of it.
            ("@import url('x' y;@import 'z';", ["x", "z"]), ("src(@import 'x'", []), ("a{b:url('x' 'y')}", ["x"]),
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
            ("a{mask:b}c{d:url(x)}", []), ("a{mask:b;d:url(x)}", []), ("url(;mask:'x'", []), ("a{mask:url(", []),
            ("@import url(x);", []), ("a{b:c}d{mask:linear-gradient(e,f) , url( x )}", ["x"]),
        ] as [(String, [String])])
    func `what cuts or changes an element is asked for by CORS`(css: String, references: [String]) {
        let scan = Scan(css, .css)
        #expect(scan.faults == [])
        #expect(scan.found.filter { $0.flags.contains(.isCORS) }.map(\.reference) == references)
    }

    @Test("A rule says what its addresses are for")
    func kinds() {
        let scan = Scan(
            "@import 'a';@font-face{src:url(b)}a{c:url(d)}@media x{@font-face{src:local(e),url('f')}}", .css)
        #expect(scan.found.map(\.kind) == [.style, .font, .image, .font])
    }
}
