import Markup
import TestOrigin
import Testing
import Web

@Suite struct ScriptScannerTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var script: String
        var links: [String]
        var testDescription: String { script }

        init(_ script: String, _ links: String...) {
            self.script = script
            self.links = links
        }
    }

    /// Each link as `kind reference`, with a `?` after a guess.
    private static func links(_ scan: Scan) -> [String] {
        scan.found.map { "\($0.kind.name) \($0.reference)\($0.flags.contains(.isGuess) ? " ?" : "")" }
    }

    @Test(
        "Imports, workers and URLs relative to the script are found",
        arguments: [
            Case(#"import "./a.js""#, "module ./a.js"), Case(#"import a from'./a.js';"#, "module ./a.js"),
            Case(#"import*as a from"../a.js""#, "module ../a.js"),
            Case(#"import {a as b} from "/a.js""#, "module /a.js"),
            Case(#"import a, {b} from "https://x/a.js""#, "module https://x/a.js"),
            Case(#"import a from "//x/a.js""#, "module //x/a.js"), Case(#"import a from "react""#),
            Case(##"import "node:fs"; import "data:,"; import "#a""##),
            Case(#"export*from"./a.js""#, "module ./a.js"),
            Case(#"export {a} from "./a.js""#, "module ./a.js"),
            Case(#"export * as a from './a.js'"#, "module ./a.js"),
            Case(#"import a from "./a.json" with { type: "json" }"#, "data ./a.json"),
            Case(#"import a from "./a.css" assert{type:"css"};"#, "style ./a.css"),
            Case(#"import/**/a/**/from/**/"./a.js""#, "module ./a.js"),
            Case("import a from // './no.js'\n'./a.js'", "module ./a.js"),
            Case(#"import("./a.js")"#, "module ./a.js"),
            Case(#"import(/* webpackChunkName: "x" */ './a.js')"#, "module ./a.js"),
            Case("import(`./a.js`)", "module ./a.js"),
            Case("import(`./${b}.js`)"), Case(#"import("./" + a)"#),
            Case(#"import("./a.json",{with:{type:"json"}})"#, "data ./a.json"),
            Case(#"...import("./a.js")"#, "module ./a.js"), Case(#"a.import("./a.js")"#),
            Case(#"a?.import("./a.js")"#),
            Case(#"Array.from("./a.js"); a.from = "./b.js"; x = {from: "./c.js"}"#),
            Case(#"import("\x2e/a.js")"#, "module ./a.js"),
            Case(#"new URL("a.png", import.meta.url)"#, "image a.png"),
            Case(#"new URL(`./a.woff2`,import . meta . url).href"#, "font ./a.woff2"),
            Case(#"new URL("a.png", location)"#),
            Case(#"new URL("./", import.meta.url)"#, "data ./ ?"), Case(#"new URL("a.png")"#),
            Case(#"new Worker(new URL("./w.js", import.meta.url), {type: "module"})"#, "worker ./w.js"),
            Case(#"new SharedWorker(new URL("w.js", import.meta.url))"#, "worker w.js"),
            Case(#"new Worker("w.js")"#),
            Case(#"new Worker("/w.js")"#, "worker /w.js ?"),
            Case(#"new self.Worker("https://x/w.js")"#, "worker https://x/w.js"),
            Case(#"navigator.serviceWorker.register("/sw.js")"#, "worker /sw.js ?"),
            Case(#"a.register("/sw.js")"#),
            Case(
                #"importScripts("a.js","/b.js",c("d.js"),'e.js'); f("x","g.js")"#, "script a.js",
                "script /b.js",
                "script e.js"),
            Case(#"fetch("/a.json")"#, "data /a.json ?"),
            Case(#"fetch("a.json"); fetch(a + "/b"); b.fetch("/c"); self.fetch("/d")"#, "data /d ?"),
            Case(#"fetch("/a", {method: "POST"})"#), Case(#"fetch("/a", {method: 'GET'})"#, "data /a ?"),
            Case(#"x.open("GET","https://x/a.json")"#, "data https://x/a.json ?"),
            Case(#"x.open("POST","/a")"#),
            Case(#"x.open('get', '/a', true)"#, "data /a ?"),
            Case(#"window.open("/x.bin")"#, "page /x.bin"),
            Case(#"self.open('https://x/a.pdf', "_blank")"#, "page https://x/a.pdf"),
            Case(#"window.open("x.bin"); open("/a"); b.open("/c"); window.open("/" + d)"#),
            Case(#"document.write('<a href="/a?b=1&amp;c=2">x</a>')"#, "page /a?b=1&c=2"),
            Case(#"document.writeln("<script src=\"//x/a.js\"><\/script>")"#, "script //x/a.js ?"),
            Case(
                #"a || document.write("<img src='/a.png'><a href=b>" + c + '<a href="/d">')"#,
                "image /a.png ?",
                "page /d"),
            Case(
                #"document.write('<a href="' + a + '"><img src="a.png"><a href="/b'); x.write('<a href="/c">')"#
            ),
            Case(
                #"document.write("<form method=post action=/a><button formaction=/b>")"#, "submission /a",
                "submission /b"),
            Case(#"CSS.paintWorklet.addModule("/a.js")"#, "worker /a.js ?"),
            Case(#"import.meta.resolve("./a.js")"#, "module ./a.js ?"),
            Case(
                #"[{url:"a.js",revision:null},{'revision':'1','url':'b.css'},{url:"c"}]"#, "script a.js",
                "style b.css"),
            Case(
                ##"a="/i/a-1.svg";b=[`/b.woff2`,"/c"];c={d:"/d.js?v=1"};e="/e.png"+f;g+"/h.png";i=="/j.js";k("/l.js")"##,
                "image /i/a-1.svg ?", "font /b.woff2 ?", "script /d.js?v=1 ?"),
            Case(#"a="/m/a.glb";b="/m/a.usdz?v=1""#, "model /m/a.glb ?", "model /m/a.usdz?v=1 ?"),
            // Relative to the document, whose URL is unknown in a script file.
            Case(#"[{url:"gallery/a.jpg"}];load(gl,"bb.png");x=`c/d.mp3`+e"#),
            Case(##"a="//x/b.js";b="/a b.js";c="/x.html";return"/r.css""##, "style /r.css ?"),
            Case(
                ##"self.__WB_MANIFEST=["a.js",{"url":"b.js","revision":null,"integrity":"x"},"c.css"]"##,
                "script a.js",
                "script b.js", "style c.css"),
            Case(
                ##"caches.open(a).then(b=>b.addAll(["/","/a.css"])),System.register(["./a.js","b"],f),System.import("./c.js")"##,
                "data /", "style /a.css", "script ./a.js", "module ./c.js"),
            Case(##"m.f||(m.f=["./a.js","./b.css"])"##, "module ./a.js", "style ./b.css"),
            Case(
                ##"a="app.wasm";b=c("x.wasm");locateFile("y.wasm");d==".wasm";e+"z.wasm""##,
                "data app.wasm ?",
                "data y.wasm ?"),
            Case(
                ##"new URL("a.png",document.currentScript&&document.currentScript.src||document.baseURI)"##,
                "image a.png ?"),
            Case(
                ##"new URL("a.wasm",self.location.href);new URL("b.png",location);new URL("/c.png",document.baseURI)"##,
                "data a.wasm ?", "image /c.png ?"),
            Case("//# sourceMappingURL=a.js.map", "source map a.js.map"),
            Case("//@ sourceMappingURL=a.map\n", "source map a.map"),
            Case("/*# sourceMappingURL=a.map */", "source map a.map"), Case("// sourceMappingURL=a.map"),
        ])
    func external(_ example: Case) {
        let scan = Scan(example.script, .javaScript)
        #expect(Self.links(scan) == example.links)
        #expect(scan.faults == [])
    }

    @Test(
        "URLs that an inline script loads are relative to the page",
        arguments: [
            Case(#"new Worker("w.js")"#, "worker w.js"), Case(#"fetch("a.json")"#, "data a.json ?"),
            Case(#"navigator.serviceWorker.register('sw.js')"#, "worker sw.js"),
            Case(#"new URL("a.png",location)"#, "image a.png ?"),
            Case(#"import "./a.js""#, "module ./a.js"),
            Case(#"x.open("GET", "a.json")"#, "data a.json ?"),
            Case(
                #"[{url:"gallery/a.jpg"}];load(gl,"bb.png");new Request(`cc.mp3`);z="x.png"+e;e+"y.png";f("y z.png")"#,
                "image gallery/a.jpg ?", "image bb.png ?", "media cc.mp3 ?"),
            Case(#"<!-- import "./no.js""# + "\nimport './a.js'\n -->", "module ./a.js"),
        ])
    func inline(_ example: Case) {
        let scan = Scan("<p><script type=module>\(example.script)</script>")
        #expect(Self.links(scan) == example.links)
        #expect(scan.faults == [])
    }

    @Test(
        "Strings, templates, comments and regular expressions are distinguished",
        arguments: [
            #"a = b / c; d = "x"; "#, #"a = /"/; "#, #"a = /[/"]/; "#, #"a = /\/"/; "#,
            #"if (a) /"/.test(b); "#,
            #"(a) / 2; '"'; "#,
            #"a[0] / 2 / '"'.length; "#, #"return /"/; "#, #"a.return / 2; '"'; "#, #"x++ / 2; '"'; "#,
            #"{} /"/.test(a); "#,
            #"a = {} / 2; '"'; "#, #"() => {} /"/; "#, #"function f() {} /"/.test(a); "#, "`\"`; ",
            "`${`\"`}\"`; ",
            "`${{a: `}`}}\"`; ",
            "`\\`\"`; ", "`$\"`; ", "`${a}/\"`/2; '\"'; ", "// \"\n", "/* \" */ ", "/* * / \" **/ ",
            "<!-- \"\n",
            "\n--> \"\n", #"'\'"'; "#,
            "'\\\n\"'; ", "'\\\r\n\"'; ", "#!/usr/bin/node \"\n", "a = 1 / 2; '\"'; ",
            "a = 1.5e-3 / 2; '\"'; ",
            "a = 1./2; '\"'; ",
            #"a = b ? /"/ : c; "#, #"a, /"/g; "#, #"!/"/.test(a); "#, #"a => /"/; "#, #"typeof /"/; "#,
            #"case /"/: "#,
            #"do /"/.test(a); while (b); "#,
            #"class A { #a = /"/; } "#, "a\u{2028}= /\"/; ", "caf\u{E9} / 2; '\"'; ", #"\u0061b / 2; '"'; "#,
            "'unclosed\n", "/unclosed\n",
            "a = /[unclosed\n", "\u{FEFF}#! \"\n", "a = b\n/2/1; '\"'; ", "while (a) /\"/.test(b); ",
            "a.if(b) / 2; '\"'; ", "`a${b}c${d}\"`; ", ")}]; ",
        ])
    func tokens(_ start: String) {
        let scan = Scan(start + #"import("./a.js"); "import('./no.js')""#, .javaScript)
        #expect(scan.references == ["./a.js"])
        #expect(scan.faults == [])
    }
}

/// Precache lists in the format of Workbox.
@Suite struct PrecacheConformanceTests {
    @Test(
        "Each entry of a precache list is found",
        .enabled(if: ConformanceData.isThere, "the conformance data is not there (LARDER_CONFORMANCE)"))
    func lists() {
        let examples = ConformanceData.cases("bundles/workbox-precache-examples.json", "examples")
        #expect(!examples.isEmpty)
        for example in examples {
            let scan = Scan(example["text"]?.string ?? "", .javaScript)
            #expect(scan.references == example["expect_urls"]?.array?.compactMap(\.string))
            #expect(scan.found.allSatisfy { $0.kind.role == .asset || $0.kind == .page })
        }
    }
}

/// Scripts that try to slow down or break the scanner. The checks of ``Scan`` must pass for each of them.
@Suite struct HostileScriptTests {
    static let pieces = [
        "(", ")", "{", "}", "[", "/", "\"", "'", "`", "${", "`${", "\\", "/*", "*/", "//", "<!--", "\n-->",
        "\u{2028}",
        "=/[", "=/(",
        "a.p+", "a.p+/[", "a.p+(", "a.p+\"x\"+", "a.p=", "a.u=e=>", "a.u=e=>{1:\"x\",", "a.u=e=>a+",
        "a.u=function(e){if(",
        "import(\"./a\",", "import(\"./a\"),[\"a\",", "fetch(\"/a\",{method:", "{url:\"a\",",
        "{url:\"a\",revision:1},\"b\",",
        "new URL(\"a\",import.meta.", "importScripts(\"a\",", "import\"./a\"with{type:", "a=\"/b.js\";", "1e",
        ".",
        "#!",
        "//# sourceMappingURL=",
        "\u{E9}", "\\u{", "return/", "x++/", "}/",
        "require([", "require.config({", "require({a:[", "var require={paths:", "define([", "define(\"a\",[",
        "define(a(",
        "addAll(U);", "U=[", "U/*", "addAll(U);U=[U,", "fetch(`${", "fetch(a.", "import(a", "base_url+\"/a\"",
        "!",
        "JSON.parse(\"", "__VP_HASH_MAP__=JSON.parse(\"{\");", "require([a+", "require([`${a}",
        "t.import(\"a\"",
    ]

    @Test("Scanning a script takes linear time", arguments: pieces)
    func linear(_ piece: String) {
        for (start, end) in [("", ""), ("#!", ""), ("a=`", "\n")] {
            let isLinear = Cost.isLinear(upTo: 60_000) { size in
                let text = String(repeating: piece, count: size / piece.utf8.count)
                #expect(Scan(start + text + end, .javaScript).faults == [])
            }
            #expect(isLinear, "\(start)\(piece)")
        }
    }

    @Test("The invariants hold for randomly changed scripts", arguments: 0..<20)
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
        #"require.config({baseUrl:"/a",paths:{b:["c","d"]},packages:[{name:"e",main:"./f"}],map:{"*":{g:"h"}}});require(["b!i",j+"k"])"#,
        #"define("a/b",["./c",`d`],f);define(function(require){require("e")});const U=["/f",'g'];c.addAll(U);fetch(`/h/${i}`)"#,
        "`a${b?`c${{d:`e`}.d}`:/f/.test(\"g\")}h`/i/\"import('./j.js')\"\n//# sourceMappingURL=k.js.map",
    ]
}
