import Testing

@testable import Markup

@Suite struct ModuleReadTests {
    @Test(arguments: [
        ("import(x)", "larder$import(\"a.js\",x)"),
        ("import ( /* c */ x, y)", "larder$import(\"a.js\", /* c */ x, y)"),
        ("f(import(import('b')))", "f(larder$import(\"a.js\",larder$import(\"a.js\",'b')))"),
        ("`${import(x)}`", "`${larder$import(\"a.js\",x)}`"),
        ("new URL('b', import.meta.url)", "new URL('b', larder$meta(\"a.js\"))"),
        ("import . meta . url + 1", "larder$meta(\"a.js\") + 1"),
        ("import 'b'; import {c} from 'd'; export * from 'e'", nil), ("x.import(y); '\\import(x)'", nil),
        ("class A { import(x) { return 1 } }", nil), ("import.meta.env; import.meta.urls", nil),
        ("// import(x)\n/import(x)/", nil), ("import", nil), ("import(", "larder$import(\"a.js\","),
    ])
    func `import.meta.url and import() are replaced`(script: String, changed: String?) {
        let bytes = Array(script.utf8)
        let changes = ModuleReads.changes(in: bytes.span, named: "a.js")
        let text = Patch(changes, of: bytes.count).apply(to: bytes)
        #expect(String(decoding: text, as: UTF8.self) == changed ?? script)
        guard !text.contains("meta".utf8) else { return }
        let plain = String(decoding: ModuleReads.removingChanges(text), as: UTF8.self)
        #expect(plain.filter { $0 != " " } == script.filter { $0 != " " })
    }

    @Test(arguments: [
        ("import 'a'", true), ("export {}", true), ("import('a')", false), ("import.meta", false),
        ("function f() { export }", false), ("x.export", false), ("", false),
    ])
    func `a script with import and export statements is a module`(script: String, isModule: Bool) {
        #expect(ModuleReads.isModule(Array(script.utf8).span) == isModule)
    }
}
