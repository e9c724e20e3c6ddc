import Markup
import Testing

/// Scripts made to be slow or to break something. The properties of ``Scan`` hold for each of them.
@Suite struct HostileScriptTests {
    static let pieces = [
        "(", ")", "{", "}", "[", "/", "\"", "'", "`", "${", "`${", "\\", "/*", "*/", "//", "<!--", "\n-->", "\u{2028}",
        "=/[", "=/(",
        "a.p+", "a.p+/[", "a.p+(", "a.p+\"x\"+", "a.p=", "a.u=e=>", "a.u=e=>{1:\"x\",", "a.u=e=>a+",
        "a.u=function(e){if(",
        "import(\"./a\",", "import(\"./a\"),[\"a\",", "fetch(\"/a\",{method:", "{url:\"a\",",
        "{url:\"a\",revision:1},\"b\",",
        "new URL(\"a\",import.meta.", "importScripts(\"a\",", "import\"./a\"with{type:", "a=\"/b.js\";", "1e", ".",
        "#!",
        "//# sourceMappingURL=",
        "\u{E9}", "\\u{", "return/", "x++/", "}/",
    ]

    @Test("The cost is linear in the script", .timeLimit(.minutes(1)), arguments: pieces)
    func linear(_ piece: String) {
        let count = 60_000 / piece.utf8.count
        #expect(Scan(String(repeating: piece, count: count), .javaScript).faults == [])
        #expect(Scan("#!" + String(repeating: piece, count: count), .javaScript).faults == [])
        #expect(Scan("a=`" + String(repeating: piece, count: count) + "\n", .javaScript).faults == [])
    }

    @Test("No change to a script breaks what holds for all", .timeLimit(.minutes(1)), arguments: 0..<20)
    func mutations(_ seed: Int) {
        var dice = MutationTests.Dice(state: UInt64(seed))
        let scanner = LinkScanner()
        for text in Self.scripts {
            var body = Array(text.utf8)
            for _ in 0..<40 {
                for _ in 0...dice.roll(4) {
                    let piece = Array(Self.pieces[dice.roll(Self.pieces.count)].utf8)
                    let place = dice.roll(body.count + 1)
                    switch dice.roll(3) {
                    case 0: body.insert(contentsOf: piece, at: place)
                    case 1: body.removeSubrange(place..<min(body.count, place + dice.roll(8)))
                    default: if place < body.count { body[place] = UInt8(dice.roll(256)) }
                    }
                }
                #expect(Scan(body, .javaScript, scanner: scanner).faults == [], "\(body)")
            }
        }
    }

    static let scripts = [
        #"import a,{b}from"./a.js"with{type:"json"};export*from'../b.js';const c=()=>import(`./c.js`),d=/["'/]\//g;"#,
        #"new Worker(new URL("./w.js",import.meta.url),{type:"module"});importScripts("a.js","b.js");fetch("/a",{method:"GET"})"#,
        #"r.u=e=>179===e?"a.js":"js/"+({1:"one"}[e]||e)+"."+{1:"ab",2:"cd"}[e]+".js";r.p="/";r.miniCssF=e=>`${e}.css`;r.e(1e3)"#,
        #"const __vite__mapDeps=(i,m=__vite__mapDeps,d=(m.f||(m.f=["assets/a.js","./b.css"])))=>i;p([{url:"a",revision:null},"b"])"#,
        "`a${b?`c${{d:`e`}.d}`:/f/.test(\"g\")}h`/i/\"import('./j.js')\"\n//# sourceMappingURL=k.js.map",
    ]
}
