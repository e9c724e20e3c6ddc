import Markup
import Testing

@Suite struct ImpliedLinkTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var script: String
        var path: String
        var links: [String]
        var testDescription: String { script }

        init(_ script: String, at path: String = "/app/static/js/main.js", _ links: String...) {
            self.script = script
            self.path = path
            self.links = links
        }
    }

    @Test(
        "The names of chunks are computed from the bundle's loader",
        arguments: [
            Case(#"r.p="/";r.u=e=>""+e+"."+{1:"ab",22:"cd"}[e]+".js""#, "/1.ab.js", "/22.cd.js"),
            Case(
                #"r.u=function(e){return"static/js/"+({1:"one"}[e]||e)+"."+{1:"ab",2:"cd"}[e]+".chunk.js"};r.p="/app/""#,
                "/app/static/js/2.cd.chunk.js", "/app/static/js/one.ab.chunk.js"),
            Case(
                #"r.u=e=>179===e?"static/main.js":7==e?"static/x.js":"static/"+(({1:"a"})[e]||e)+"-"+({1:"ab"})[e]+".js",r.p="/_next/""#,
                "/_next/static/a-ab.js", "/_next/static/main.js", "/_next/static/x.js"),
            Case(
                #"r.u=e=>{if(e===1)return"a.js";if("b"===e){return "b.js";}return""+{2:"c"}[e]+".js"};r.p="https://cdn/x/""#,
                "https://cdn/x/a.js", "https://cdn/x/b.js", "https://cdn/x/c.js"),
            Case(
                "/******/ __webpack_require__.u = (chunkId) => {\n// return url\nreturn \"\" + chunkId + \".\" + {\"a_js\":\"12\"}[chunkId] + \".js\";\n};\n__webpack_require__.p = \"/\";",
                "/a_js.12.js"),
            Case("r.p=`/`,r.u=e=>`js/${e}.${{1:`a`}[e]}.js`", "/js/1.a.js"),
            Case(
                #"r.p="/",r.u=e=>e+".bundle.js";Promise.all([r.e(1e3),r.e("x")])"#, "/1000.bundle.js ?",
                "/x.bundle.js ?"),
            Case(
                #"r.miniCssF=e=>"static/css/"+e+"."+{1:"ab",2:"31d6cfe0d16ae931b73c"}[e]+".css";r.p="/""#,
                "/static/css/1.ab.css"),
            Case(
                #"script.src=n.p+"static/js/"+({1:"name"}[e]||e)+"."+{1:"ab",2:"cd"}[e]+".chunk.js";n.p="""#,
                "../../static/js/2.cd.chunk.js ?", "../../static/js/name.ab.chunk.js ?"),
            Case(
                #"function u(e) { return __webpack_require__.p + "" + ({"a":"b"}[e]||e) + ".js" } __webpack_require__.p = "/w/";"#,
                "/w/b.js"),
            Case(#"e.exports=n.p+"static/media/logo.ab.png""#, "../../static/media/logo.ab.png ?"),
            Case(#"e.exports=n.p+"media/logo.ab.png""#, "media/logo.ab.png ?"),
            Case(
                #"e=e.replace(/#.*$/,"").replace(/\/[^\/]+$/,"/"),r.p=e,r.u=e=>e+"."+{1:"a"}[e]+".js""#,
                "1.a.js"),
            Case(#"e=e.replace(/\/[^\/]+$/,"/"),r.p=e+"../",r.u=e=>"js/"+{1:"a"}[e]+".js""#, "../js/a.js"),
            Case(#"r.p="{{ base }}/";r.u=e=>""+{1:"a"}[e]+".js""#, "a.js ?"),
            Case(#"x.u=e=>e.a+".js";x.p=1;a.p+b;a.p+=".js";a.p++;x.u==function(e){return "a.js"}"#),
            Case(#"x.u=e=>f(e)+".js";x.u=e=>"#), Case(#"x.u=e=>({1:"a"}[e]+".js""#),
            Case(
                #"const __vite__mapDeps=(i,m=__vite__mapDeps,d=(m.f||(m.f=["assets/a.js","assets/b.css"])))=>i.map(i=>d[i]);"#,
                at: "/app/assets/index.js", "../assets/a.js", "../assets/b.css"),
            Case(
                #"const __vite__fileDeps=["assets/a.js","assets/b.css"],__vite__mapDeps=i=>i.map(i=>__vite__fileDeps[i]);"#,
                at: "/app/assets/index.js", "../assets/a.js", "../assets/b.css"),
            Case(
                #"a(()=>import("./a.js"),["assets/x/a.js","assets/b.css"])"#, at: "/assets/x/index.js",
                "../../assets/x/a.js", "../../assets/b.css"),
            Case(
                #"a(()=>import("./a.js").then(b=>b.c),["assets/a.js"])"#, at: "/assets/index.js",
                "../assets/a.js"),
            Case(
                #"self.__BUILD_MANIFEST=function(s,c){return{"/":[s,"static/chunks/p.js"]}}("static/chunks/1-ab.js","static/css/c.css");"#,
                at: "/_next/static/x/_buildManifest.js", "../../static/chunks/p.js ?",
                "../../static/chunks/1-ab.js ?",
                "../../static/css/c.css ?"),
            Case(
                #"self.__SSG_MANIFEST=new Set(["\u002F","\u002Fdocs\u002Fa","\u002F[slug]","//x","\u002F..\u002Fb"]);self.__SSG_MANIFEST_CB&&self.__SSG_MANIFEST_CB()"#,
                at: "/d/_next/static/b-1/_ssgManifest.js", "/d/_next/data/b-1/index.json ?",
                "/d/_next/data/b-1/docs/a.json ?"),
            Case(
                #"self.__SSG_MANIFEST=new Set;self.__SSG_MANIFEST_CB()"#,
                at: "/_next/static/b/_ssgManifest.js"),
            Case(
                #"r.miniCssF=e=>"css/"+e+".ab.css";r.f.miniCss=(e,t)=>{n[e]?t.push(n[e]):0!==n[e]&&{547:1,1e3:1}[e]&&t.push(n[e]=1)};r.p="/""#,
                "/css/1000.ab.css", "/css/547.ab.css"),
            Case(
                "r.miniCssF=e=>e+'.css';r.f.miniCss = (chunkId, promises) => {\n var cssChunks = {\"a_b\":1,\"c\":1};\n};r.p='/'",
                "/a_b.css", "/c.css"),
            Case(
                #"define(["./workbox-12ab"],function(e){});define(["./other"],f)"#, at: "/sw.js",
                "./workbox-12ab.js"),
            Case(#"a(()=>import("./a.js"),["assets/other.js"])"#),
        ])
    func chunks(_ example: Case) {
        let scan = Scan(example.script, .javaScript)
        #expect(scan.faults == [])
        let links = scan.table.implied.map {
            $0.reference(fromBodyAt: example.path) + ($0.flags.contains(.isGuess) ? " ?" : "")
        }
        #expect(links == example.links)
    }

    /// A typical number for a build of medium size.
    private static let numbers = (1...300).map { $0 * 7 }

    @Test(
        "All chunks of a loader with a condition for each chunk are found",
        arguments: [
            (
                "x.u=e=>" + numbers.map { #"\#($0)===e?"js/\#($0).ab.js":"# }.joined() + #"void 0,x.p="/""#,
                "js/", ".ab.js"
            ),
            (
                "x.u=function(e){" + numbers.map { #"if(e===\#($0))return"\#($0).js";"# }.joined()
                    + #"return undefined};x.p="/""#, "", ".js"
            ),
        ])
    func choices(_ script: String, _ start: String, _ end: String) {
        let scan = Scan(script, .javaScript)
        #expect(scan.faults == [])
        #expect(
            scan.table.implied.map(\.reference) == Self.numbers.map { "/\(start)\($0)\(end)" }.sorted())
    }

    @Test(
        "Files in the folder of the script are found although the root is a variable",
        arguments: [
            Case(
                "const path_static = `${doc_url_root}_static/`;img.setAttribute('src', `${path_static}check.svg`)",
                at: "/docs/_static/copybutton.js", "../_static/check.svg ?"),
            Case(
                #"var s=DOCUMENTATION_OPTIONS.URL_ROOT + "_static/";a.innerHTML=`<b id="${id}"><img src="${s}a.svg" alt="${t}"></b>`"#,
                at: "/_static/js/copy.js", "../../_static/a.svg ?"),
            Case(
                #"$('<img>').attr('src', DOCUMENTATION_OPTIONS.URL_ROOT + '_static/up.png');x=`${o.URL_ROOT}_static/down.gif`"#,
                at: "/d/_static/websupport.js", "../_static/up.png ?", "../_static/down.gif ?"),
            Case(
                #"a={src:(()=>{return r||""})() + "/_next/static/media/list.ab.svg",height:20}"#,
                at: "/app/_next/static/chunks/1.js", "../../../_next/static/media/list.ab.svg ?"),
            Case(
                #"a=u+"_static/"+n+".png";b=u+"_static/x"+".png";c=`${u}_static/${n}.png`;d=`${u}_static/x${n}`"#,
                at: "/_static/a.js"),
            Case(#"x=u+"static/a.png";s="_static/";y=s+"_static/../a.png";z=t+"a.png""#, at: "/_static/a.js"),
        ])
    func filesOfBuilds(_ example: Case) { chunks(example) }

    @Test(
        "The second image of a toggle is implied",
        arguments: [
            (#"<img src="_static/minus.png" class="toggler" id="toggle-1">"#, ["_static/plus.png ?"]),
            (#"<img class='x-toggle' src='../a/plus.png?v=1'>"#, ["../a/minus.png?v=1 ?"]),
            (#"<img class=toggler src=minus.png><img class=toggler src=minus.png>"#, ["plus.png ?"]),
            (#"<img src="minus.png"><img class=toggler src="minus-1.png">"#, []),
        ])
    func folding(_ page: String, _ links: [String]) {
        let scan = Scan(page)
        #expect(scan.faults == [])
        #expect(scan.table.implied.map { $0.reference + ($0.flags.contains(.isGuess) ? " ?" : "") } == links)
    }

    @Test(
        "The output folder of a build is found by the first folder of the reference",
        arguments: [
            ("/a.js", "assets/b.js", "assets/b.js"), ("/assets/a.js", "assets/b.js", "../assets/b.js"),
            ("/assets/x/assets/a.js", "assets/b.js", "../assets/b.js"),
            ("/assets", "assets/b.js", "assets/b.js"),
            ("/assets/x/y/a.js?/assets/", "assets/b.js", "../../../assets/b.js"),
            ("/assets/a.js", "b.js", "b.js"),
            ("", "a/b.js", "a/b.js"), ("/", "/b.js", "/b.js"),
        ])
    func build(_ path: String, _ reference: String, _ resolved: String) {
        #expect(ImpliedLink(reference, .script, from: .build).reference(fromBodyAt: path) == resolved)
        #expect(ImpliedLink(reference, .script).reference(fromBodyAt: path) == reference)
    }
}
