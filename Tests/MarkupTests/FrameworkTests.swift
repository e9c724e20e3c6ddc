import Markup
import Testing

/// Files whose URLs a framework computes from data in pages and scripts.
@Suite struct FrameworkTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var path: String
        var body: String
        var links: [String]
        var testDescription: String { path + ": " + body }

        init(_ path: String, _ body: String, _ links: String...) {
            self.path = path
            self.body = body
            self.links = links
        }
    }

    private static func next(_ data: String, _ source: String = "/_next/static/chunks/main-1.js") -> String {
        #"<script src="\#(source)"></script><script id="__NEXT_DATA__" type="application/json">\#(data)</script>"#
    }

    @Test(
        arguments: [
            Case(
                "/", next(#"{"props":{},"page":"/","buildId":"b-1","gsp":true}"#),
                "/_next/data/b-1/index.json ?"),
            Case(
                "/a/b",
                next(
                    #"{"props":{"x":"\"buildId\":\"no\""},"page":"/a/[c]","buildId":"b_1","nextExport":true,"gssp":true}"#
                ), "/_next/data/b_1/a/b.json ?"),
            Case(
                "/docs/a/", next(#"{"buildId":"b","gsp":true}"#, "/docs/_next/static/a.js"),
                "/docs/_next/data/b/a.json ?"),
            Case(
                "/docs/", next(#"{"buildId":"b","gsp":true}"#, "/docs/_next/static/a.js"),
                "/docs/_next/data/b/index.json ?"),
            Case(
                "/a", next(#"{"buildId":"b","gsp":true}"#, "https://cdn.test/_next/static/a.js"),
                "/_next/data/b/a.json ?"),
            Case("/a", next(#"{"page":"/a","buildId":"b","autoExport":true}"#)),
            Case("/a", next(#"{"buildId":"b","gsp":true,"locale":"en"}"#)),
            Case("/a", next(#"{"buildId":"../b","gsp":true}"#)), Case("/a", next(#"{"buildId":"b"#)),
            Case("/a", #"<script type="application/json">{"buildId":"b","gsp":true}</script>"#),
            // The app router of Next.js.
            Case(
                "/a",
                #"<script src="/_next/static/chunks/main-app-1.js"></script><script>self.__next_f.push([1,"2:I[7,[\"177\",\"static/chunks/177-ab.js\",\"931\",\"static/chunks/app/%5Bid%5D/page-1.js\"],\"x\"]\n3:[\"static/css/a.css\",\"static/../b.js\",\"static/x\"]"])</script>"#,
                "/_next/static/chunks/177-ab.js ?", "/_next/static/chunks/app/%5Bid%5D/page-1.js ?",
                "/_next/static/css/a.css ?"),
            Case(
                "/docs/a",
                #"<link href="https://cdn.test/d/_next/static/css/1.css"><script>self.__next_f.push([1,"[\"static/chunks/2.js\"]"])</script>"#,
                "https://cdn.test/d/_next/static/chunks/2.js ?"),
            Case("/a", #"<script>self.__next_f.push([1,"no files"])</script>"#),
            Case("/a", #"<script>self.__next_f.push([1,"\"static/"#),
            // Material for MkDocs.
            Case(
                "/a/",
                #"<script id="__config" type="application/json">{"base": "..", "features": [], "search": "../assets/w/search.1.min.js"}</script>"#,
                "../assets/w/search.1.min.js", "../search/search_index.json ?"),
            Case(
                "/a/",
                #"<script id=__config type="application/json">{"base": "..", "features": ["navigation.tabs", "navigation.instant"], "search": "../s.js"}</script>"#,
                "../s.js", "../search/search_index.json ?", "../sitemap.xml ?"),
            Case("/a/", #"<script id=__config type="application/json">{"base": "..", "search":</script>"#),
            Case("/a/", #"<script id=__config type="application/json">{"base": 1, "search": "a"}</script>"#),
            // Nuxt.
            Case(
                "/a",
                #"<script>window.__NUXT__={};window.__NUXT__.config={public:{},app:{baseURL:"/",buildId:"12-ab",buildAssetsDir:"/_nuxt/",cdnURL:""}}</script>"#,
                "/_nuxt/builds/meta/12-ab.json ?", "/_nuxt/builds/latest.json ?"),
            Case(
                "/a",
                #"<script>window.__NUXT__.config={app:{baseURL:"/docs/",buildAssetsDir:"_n",buildId:"1"}}</script>"#,
                "/docs/_n/builds/meta/1.json ?", "/docs/_n/builds/latest.json ?"),
            Case(
                "/a",
                #"<script>window.__NUXT__={staticAssetsBase:"\u002F_nuxt\u002Fstatic\u002F12",serverRendered:true}</script>"#,
                "/_nuxt/static/12/manifest.js ?"),
            Case("/a", #"<script>x={buildId:"1",baseURL:"/"}</script>"#),
            // SvelteKit.
            Case(
                "/a/",
                #"<script>{__sveltekit_1={base:""};Promise.all([import("../_app/immutable/entry/start.1.js"),import("../_app/immutable/entry/app.2.js")]).then(([k,a])=>{k.start(a,e,{node_ids:[0,2],data:[null,{type:"data",data:{}}]})})}</script>"#,
                "../_app/version.json ?", "/a/__data.json ?"),
            Case(
                "/",
                #"<script>import("./_app/immutable/entry/start.1.js");d=[{"type":"data","data":1}]</script>"#,
                "./_app/version.json ?", "/__data.json ?"),
            Case(
                "/a.html",
                #"<script>import("./_app/immutable/start-1.js");d=[null,{"type":"data"}]</script>"#,
                "./_app/version.json ?", "/a.html__data.json ?"),
            Case(
                "/a", #"<script>import("./_app/immutable/start-1.js");d=[null,null]</script>"#,
                "./_app/version.json ?"),
            Case("/a", #"<script>d=[null,{"type":"data"}]</script>"#),
            // VitePress.
            Case(
                "/docs/a",
                #"<script>window.__VP_HASH_MAP__=JSON.parse("{\"a.md\":\"12ab\",\"g_b.md\":\"34\"}");window.__VP_SITE_DATA__=JSON.parse("{\"base\":\"/docs/\",\"x\":1}");</script>"#,
                "/docs/assets/a.md.12ab.js", "/docs/assets/g_b.md.34.js"),
            Case(
                "/a",
                #"<script>window.__VP_HASH_MAP__=JSON.parse("{\"a.md\":");x.__VP_HASH_MAP__=JSON.parse(y)</script>"#
            ),
        ])
    func `a page implies its data and the files of its build`(_ example: Case) {
        let scan = Scan(example.body)
        #expect(scan.faults == [])
        #expect(Self.implied(scan, at: example.path) == example.links)
    }

    @Test(
        arguments: [
            Case(
                "/docs/assets/chunks/metadata.1.js",
                #"window.__VP_HASH_MAP__=JSON.parse("{\"a.md\":\"12\"}")"#,
                "../../assets/a.md.12.js"),
            Case(
                "/_nuxt/static/1/state.js", #"window.__NUXT__={staticAssetsBase:"/_nuxt/static/1"}"#,
                "/_nuxt/static/1/manifest.js ?"),
            Case(
                "/sw.js",
                "const CACHE='v1';const URLS = [\n'/', './a.css', \"b.js\", `c.png`];self.addEventListener('install',e=>e.waitUntil(caches.open(CACHE).then(c=>c.addAll(URLS))))",
                "/", "./a.css", "b.js", "c.png"),
            Case("/sw.js", "var a=[{url:'x.js'},{'url':'y.css'}];precacheAndRoute(a)", "x.js", "y.css"),
            Case("/sw.js", "c.addAll(URLS);URLS=['a.js'];NOURLS=['b.js'];URLS2=['c.js']"),
            Case(
                "/w.js", "importScripts('lunr.js');var i='search_index.json';x.open('GET',p);fetch('b.json')",
                "b.json ?"),
            Case("/w.js", "r.g.importScripts&&1;fetch('b.json')"),
        ])
    func `a script implies other files of its build`(_ example: Case) {
        let scan = Scan(example.body, .javaScript)
        #expect(scan.faults == [])
        #expect(Self.implied(scan, at: example.path) == example.links)
    }

    @Test(
        arguments: [
            (
                #"{"componentChunkName":"component---a","path":"/","staticQueryHashes":["12","34",5],"result":{}}"#,
                ["../sq/d/12.json", "../sq/d/34.json"], []
            ),
            (
                #"{"configVersion":1,"index":"/index.html","assetGroups":[{"name":"app","urls":["/a.js","/b.css","/i.html"]},{"urls":["/c.woff2"]}]}"#,
                [], ["script /a.js", "style /b.css", "page /i.html", "font /c.woff2"]
            ),
        ] as [(String, [String], [String])])
    func `a JSON description of a build implies or lists its files`(
        _ body: String, _ implied: [String], _ links: [String]
    ) {
        let scan = Scan(body, .json)
        #expect(scan.faults == [])
        #expect(
            Self.implied(scan, at: "/page-data/index/page-data.json").map {
                $0.replacing("../../page-data", with: "..")
            } == implied)
        #expect(scan.found.map { "\($0.kind.name) \($0.reference)" } == links)
    }

    @Test(
        arguments: [
            (
                #"<script type="systemjs-module" src="a.js"></script><script type=module-shim src=b.js></script>"#,
                ["module a.js", "module b.js"]
            ),
            (#"<script type="systemjs-importmap">{"imports":{"x":"./x.js"}}</script>"#, ["module ./x.js"]),
            (
                #"<script type="importmap-shim">{"imports":{"x":"/x.js","y/":"/y/"}}</script>"#,
                ["module /x.js", "name /y/"]
            ),
            (
                #"<script>System.register(["./a.js"],function(e,t){return{execute:function(){t.import("./b.js");System.import("./c.js")}}})</script>"#,
                ["script ./a.js", "module ./b.js", "module ./c.js"]
            ),
            (
                #"<script>Object.assign({"./a.md":()=>import("./a-1.js"),"./b.md":()=>p(()=>import("./b-2.js"),[])})</script>"#,
                ["module ./a-1.js", "module ./b-2.js"]
            ),
        ])
    func `modules of SystemJS and of other loaders are found`(_ page: String, _ links: [String]) {
        let scan = Scan(page)
        #expect(scan.faults == [])
        #expect(scan.found.map { "\($0.kind.name) \($0.reference)" } == links)
    }

    private static func implied(_ scan: Scan, at path: String) -> [String] {
        scan.table.implied.map { $0.reference(fromBodyAt: path) + ($0.flags.contains(.isGuess) ? " ?" : "") }
    }
}
