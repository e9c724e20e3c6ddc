import Markup
import Testing
import Web

/// The URLs that the loaders of a page request, by the notes of all its bodies.
@Suite struct LoaderEnvironmentTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var page: String
        /// The scripts of the page with their URLs, in their order in the page.
        var scripts: [(place: String, text: String)]
        var links: [String]
        var testDescription: String { page + scripts.map { "\n" + $0.place + ": " + $0.text }.joined() }

        init(_ page: String, _ scripts: [(String, String)] = [], _ links: String...) {
            self.page = page
            self.scripts = scripts.map { (place: $0.0, text: $0.1) }
            self.links = links
        }
    }

    /// The links of all bodies, those of a page at `https://a.test/d/p.html` first.
    private static func links(_ example: Case) throws -> [String] {
        let document = try #require(WebURL("https://a.test/d/p.html"))
        let page = Scan(example.page)
        #expect(page.faults == [])
        var environment = LoaderEnvironment(document: document)
        var bodies = [(url: document, notes: page.table.notes)]
        for script in example.scripts {
            let format: BodyFormat = script.place.hasSuffix(".json") ? .json : .javaScript
            let scan = Scan(Array(script.text.utf8), format)
            #expect(scan.faults == [])
            bodies.append((try #require(WebURL(script.place, base: document)), scan.table.notes))
        }
        for body in bodies { environment.apply(body.notes) }
        return bodies.flatMap { environment.links(of: $0.notes, in: $0.url) }.map {
            let text =
                $0.url.href.hasPrefix("https://a.test/") ? String($0.url.href.dropFirst(14)) : $0.url.href
            return "\($0.kind.name) \(text)\($0.isGuess ? " ?" : "")"
        }
    }

    private static func inline(_ script: String) -> String { "<p>a<script>\(script)</script>" }

    @Test(
        "Module names are resolved by the configuration of RequireJS",
        arguments: [
            // The places of a configuration.
            Case(
                inline(#"require.config({baseUrl:"/js"});require(["a","b/c"])"#), [], "script /js/a.js ?",
                "script /js/b/c.js ?"),
            Case(
                inline(#"requirejs.config({baseUrl:'lib/'});requirejs(['a'],function(a){})"#), [],
                "script /d/lib/a.js ?"),
            Case(inline(#"var require = {baseUrl: "../js", deps: ["app"]}"#), [], "script /js/app.js ?"),
            Case(inline(#"require({baseUrl:"/js"},["a"]);window.require(["b"])"#), [], "script /js/b.js ?"),
            Case(#"<script data-main="js/main" src="js/require.js"></script>"#, [], "script /d/js/main.js"),
            Case(
                #"<script data-main="/js/main.js" src="r.js"></script>"#,
                [("/js/main.js", #"require(["a"])"#)],
                "script /js/main.js", "script /js/a.js ?"),
            Case(
                #"<script data-main=js/main src=r.js></script>"#,
                [
                    (
                        "js/main.js",
                        #"require.config({paths:{jquery:"vendor/jquery-3.min"}});require(["jquery","./u"])"#
                    )
                ],
                "script /d/js/main.js", "script /d/js/vendor/jquery-3.min.js ?", "script /d/js/u.js ?"),
            Case(
                #"<script src=config.js></script><script src=app.js></script>"#,
                [
                    ("app.js", #"require(["m/x"])"#),
                    ("config.js", #"require.config({baseUrl:"/s/",paths:{"m":"mod"}})"#),
                ],
                "script /s/mod/x.js ?"),
            Case(
                #"<script src="/lib/require.min.js"></script>"#, [("app.js", #"require(["a"])"#)],
                "script /d/a.js ?"),
            // The contents of a configuration.
            Case(
                inline(
                    #"require.config({baseUrl:"/j",packages:["p",{name:"q",location:"x/q",main:"./index.js"}]});require(["p","q","q/r"])"#
                ),
                [], "script /j/p/main.js ?", "script /j/x/q/index.js ?", "script /j/x/q/r.js ?"),
            Case(
                inline(#"require.config({baseUrl:"/j",bundles:{all:["a","b"]}});require(["b"])"#), [],
                "script /j/all.js ?"),
            Case(
                inline(#"require.config({baseUrl:"/j",map:{"*":{"old":"new/x"}}});require(["old","old/a"])"#),
                [],
                "script /j/new/x.js ?", "script /j/new/x/a.js ?"),
            Case(
                inline(#"require.config({baseUrl:"/j",urlArgs:"v=1"});require(["a","/b.js"])"#), [],
                "script /j/a.js?v=1 ?", "script /b.js?v=1 ?"),
            Case(
                inline(#"require.config({baseUrl:"/j",shim:{b:{deps:["q"],exports:"B"},c:["r"]}})"#), [],
                "script /j/q.js ?", "script /j/r.js ?"),
            Case(
                inline(
                    #"require.config({paths:{a:["//cdn.test/a","b"],c:"https://x.test/c.min"}});require(["a","c"])"#
                ),
                [], "script https://cdn.test/a.js ?", "script https://x.test/c.min.js ?"),
            Case(
                inline(
                    #"require.config({/* x */baseUrl:`/j`,waitSeconds:30,onError:function(e){return {a:1}},paths:{a:"b"}});require(["a"])"#
                ), [], "script /j/b.js ?"),
            // Names that are URLs.
            Case(
                inline(#"require(["/a.js","https://x.test/b","c.js","d?e"])"#), [], "script /a.js ?",
                "script https://x.test/b ?", "script /d/c.js ?", "script /d/d?e ?"),
            Case(inline(#"require(["require","exports","module","empty:","a"])"#), [], "script /d/a.js ?"),
            // Plugins.
            Case(
                inline(
                    #"require.config({baseUrl:"/j"});require(["text!t/a.html","json!b.json","css!c","css!d.css","image!e.png"])"#
                ),
                [], "script /j/text.js ?", "page /j/t/a.html ?", "script /j/json.js ?", "data /j/b.json ?",
                "script /j/css.js ?", "style /j/c.css ?", "style /j/d.css ?", "script /j/image.js ?",
                "image /j/e.png ?"
            ),
            Case(
                inline(
                    #"require.config({baseUrl:"/j",paths:{text:"lib/text",t:"tmpl"}});require(["text!t/a.mustache!strip","i18n!nls/x"])"#
                ),
                [], "script /j/lib/text.js ?", "data /j/tmpl/a.mustache ?", "script /j/i18n.js ?",
                "script /j/nls/x.js ?"),
            Case(
                inline(
                    #"require.config({baseUrl:"/j"});require(["domReady!","async!https://x.test/m?k=1","my!a.svg","my!words"])"#
                ),
                [], "script /j/domReady.js ?", "script /j/async.js ?", "script https://x.test/m?k=1 ?",
                "script /j/my.js ?", "image /j/a.svg ?"),
            // Modules.
            Case(
                #"<script data-main=/j/m src=r.js></script>"#,
                [
                    ("/j/m.js", #"define(["require","./a","b","../c"],function(){require(["d"])})"#),
                    ("/j/x/a.js", #"define(["./b"],f)"#),
                    ("/j/s.js", #"define(function(require,exports){var a=require("./q"),b=require('r')})"#),
                    ("/j/t.js", #"define((require)=>{require("u")});c.require("v")"#),
                ], "script /j/m.js", "script /j/a.js ?", "script /j/b.js ?", "script /c.js ?",
                "script /j/d.js ?",
                "script /j/x/b.js ?", "script /j/q.js ?", "script /j/r.js ?", "script /j/u.js ?"),
            Case(
                #"<script data-main=/j/m src=r.js></script>"#,
                [("/j/m.js", #"define("a/b",["./c","d"],f);define("a/c",[],f);define("m",["a/b","e"],f)"#)],
                "script /j/m.js", "script /j/d.js ?", "script /j/e.js ?"),
            Case(
                inline(#"require.config({baseUrl:"/j"});a=require.toUrl("x/a.css")"#), [],
                "style /j/x/a.css ?"),
            // Old versions of MkDocs, whose pages set the URL of the root.
            Case(
                #"<script>var base_url = '..';</script><script data-main="../mkdocs/js/search.js" src="../mkdocs/js/require.js"></script>"#,
                [
                    (
                        "/mkdocs/js/search.js",
                        "require([\n base_url + '/mkdocs/js/mustache.min.js',\n'text!search-results-template.mustache',\n 'text!../search_index.json',\n], function (M, t, d) {\n"
                    )
                ], "script /mkdocs/js/search.js", "script /mkdocs/js/mustache.min.js ?",
                "script /mkdocs/js/text.js ?",
                "data /mkdocs/js/search-results-template.mustache ?", "data /mkdocs/search_index.json ?"),
            Case(
                #"<script>var base_url = '.';</script><script src="./search/require.js"></script>"#,
                [
                    (
                        "/d/search/search.js",
                        "require.config({\n baseUrl: base_url + \"/search/\"\n});\nrequire(['mustache.min','text!search_index.json'])"
                    )
                ],
                "script /d/search/mustache.min.js ?", "script /d/search/text.js ?",
                "data /d/search/search_index.json ?"
            ),
            // A library that is a module only if the page has a loader.
            Case(
                "<p>a<script src=lib.js></script>",
                [
                    (
                        "lib.js",
                        #"typeof define=="function"&&define.amd?define(["jquery","exports"],f):f(jQuery)"#
                    )
                ]),
            Case(
                "<p>a<script src=require.js></script>",
                [
                    (
                        "lib.js",
                        #"typeof define=="function"&&define.amd?define(["jquery","exports"],f):f(jQuery)"#
                    )
                ],
                "script /d/jquery.js ?"),
            Case(
                "<p>a",
                [("b.js", #"var a=require("./a"),b=require(["x"].join(c));d.require(["y"]);e.define(["z"])"#)]
            ),
            Case(
                inline(#"require([a,b+"c",d?"e":"f","g"]);require.config({baseUrl:h()});require.config(i)"#),
                [],
                "script /d/g.js ?"),
        ])
    func amd(_ example: Case) throws {
        #expect(try Self.links(example) == example.links)
    }

    @Test(
        "Module names are resolved by the configuration of SystemJS",
        arguments: [
            Case(
                inline(
                    #"System.config({paths:{"npm:":"node_modules/"},map:{app:"app","@a/core":"npm:@a/core/b/core.umd.js",rx:"npm:rx"},packages:{app:{main:"./main.js",defaultExtension:"js"},rx:{defaultExtension:"js"}}});System.import("app").catch(e)"#
                ), [("/d/app/main.js", #"System.register(["@a/core","rx/Observable","none"],function(){})"#)],
                "script /d/app/main.js ?", "script /d/node_modules/@a/core/b/core.umd.js ?",
                "script /d/node_modules/rx/Observable.js ?", "script /d/none.js ?"),
            Case(
                inline(
                    #"SystemJS.config({baseURL:"/js",map:{x:"lib/x.min.js",y:{"a":"b"}},paths:{"p/*":"q/r/*.js","z":"z2"}});SystemJS.import("x");System.import("p/s");System.import("z/t")"#
                ), [], "script /js/lib/x.min.js ?", "script /js/q/r/s.js ?", "script /js/z2/t.js ?"),
            Case(
                "<p>a<script src=config.js></script><script>System.import('main')</script>",
                [("config.js", #"System.config({baseURL:"/b",bundles:{"all.js":["main"]}})"#)],
                "script /b/all.js ?"),
            Case(inline(#"a.System.config({baseURL:"/b"});System.config(x);System.import("main")"#)),
        ])
    func system(_ example: Case) throws {
        let links = try Self.links(example)
        #expect(links == example.links)
    }

    @Test(
        "Specifiers are resolved by the prefixes of an import map",
        arguments: [
            Case(
                #"<script type=importmap>{"imports":{"lib/":"/l/","lib/x/":"/y/","one":"/one.js"}}</script>"#,
                [
                    (
                        "a.js",
                        #"import"lib/a.js";import b from 'lib/x/b.js';import("lib/c.js");import "one";import"no/d.js""#
                    )
                ],
                "module /l/a.js ?", "module /y/b.js ?", "module /l/c.js ?"),
            Case(
                #"<script type=importmap-shim>{"imports":{"l/":"./m/"}}</script><script type=module-shim>import "l/a.js"</script>"#,
                [], "module /d/m/a.js ?"),
            Case(
                #"<script type="systemjs-importmap">{"imports":{"@a/":"https://x.test/a/"}}</script>"#,
                [("b.js", #"System.register(["@a/c.js"],function(){})"#)]),
            Case(
                "<p>a", [("m.json", #"{"imports":{"l/":"/l/"}}"#), ("a.js", #"import "l/a.js""#)],
                "module /l/a.js ?"),
            Case("<p>a", [("a.js", #"import "l/a.js";import "react";a.import("b/c")"#)]),
        ])
    func importMaps(_ example: Case) throws {
        #expect(try Self.links(example) == example.links)
    }

    @Test(
        "URLs that an external script loads are relative to the page",
        arguments: [
            Case(
                "<p>a", [("/s/a.js", #"fetch("a.json");new Worker("w.js");$.getJSON('./b.json',f)"#)],
                "data /d/a.json ?", "worker /d/w.js ?", "data /d/b.json ?"),
            Case(
                "<p>a",
                [
                    (
                        "/s/a.js",
                        #"x.open("GET","c.json");audioWorklet.addModule("p.js");navigator.serviceWorker.register("sw.js")"#
                    )
                ], "data /d/c.json ?", "worker /d/p.js ?", "worker /d/sw.js ?"),
            Case(
                "<p>a",
                [
                    (
                        "/s/a.js",
                        ##"fetch("a b");fetch("{x}");fetch("word");fetch("#a");fetch("<a>");x.open("POST","a");fetch("b",{method:"PUT"})"##
                    )
                ]),
            Case(
                "<script>var base_url = '../..'</script>",
                [
                    (
                        "/s/a.js",
                        #"new Worker(joinUrl(base_url, "search/worker.js"));fetch(base_url+"/a.json");join(base_url,"word")"#
                    )
                ],
                "worker /search/worker.js ?", "data /a.json ?"),
            Case("<p>a", [("/s/a.js", #"fetch(base_url+"/a.json")"#)]),
            Case(
                "<p>a", [("/s/a.js", #"i(["a"],Xe("ngsw-worker.js",{enabled:!0}))"#)],
                "worker /d/ngsw-worker.js ?",
                "data /d/ngsw.json ?"),
        ])
    func documentRelative(_ example: Case) throws {
        #expect(try Self.links(example) == example.links)
    }

    @Test("Applying the same settings again reports no change")
    func news() throws {
        let url = try #require(WebURL("https://a.test/"))
        var environment = LoaderEnvironment(document: url)
        let notes = [
            LoaderNote(.base, "/j"), LoaderNote(.path, "b", name: "a"), LoaderNote(.definition, "c"),
        ]
        #expect(!environment.isConfigured)
        let first = environment.apply(notes)
        #expect(first && environment.isConfigured && environment.hasLoader)
        let again = environment.apply(notes)
        let changed = environment.apply([LoaderNote(.path, "x", name: "a")])
        let request = environment.apply([LoaderNote(.request, "a")])
        #expect(!again && changed && !request)
    }
}
