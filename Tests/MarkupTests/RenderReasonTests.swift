import Markup
import Testing

@Suite struct RenderReasonTests {
    private static let text = "<p>" + String(repeating: "Words of a page. ", count: 20)

    @Test(
        "A script that requests an unknown URL gives a render reason",
        arguments: [
            (#"fetch("/api/"+id)"#, .composedURL), ("fetch(`/api/${id}.json`)", .composedURL),
            (#"fetch(base+"/a.json")"#, .composedURL), (#"import("./"+a+".js")"#, .composedURL),
            ("import(`./${a}.js`)", .composedURL), (#"new Worker("/w/"+a)"#, .composedURL),
            (#"$.getJSON("/a?b="+c)"#, .composedURL), (#"x.open("GET","/a/"+b)"#, .composedURL),
            ("fetch(config.url)", .indirectFetch), ("window.fetch(api('x'))", .indirectFetch),
            ("fetch(urls[0])", .indirectFetch),
            ("import(a)", .uninterpretedLoader), ("require.config(a)", .uninterpretedLoader),
            ("require.config({baseUrl:a()})", .uninterpretedLoader),
            ("require([a?b:c])", .uninterpretedLoader), ("r.u=e=>f(e)+'.js';r.e(12)", .uninterpretedLoader),
            // Requests that the scanner reads, and expressions that are seldom URLs.
            (#"fetch("/a.json")"#, []), ("function get(url){return fetch(url)}", []), ("fetch(a,{b:1})", []),
            ("cache.fetch(a.b)", []), ("x.import(a)", []), (#"f("/a/"+b)"#, []), ("f(`/a/${b}`)", []),
            ("import('./a.js')", []),
            (#"fetch("/a",{method:"POST",body:b.c})"#, []), (#"x.open("POST","/a/"+b)"#, []),
            ("a=`${b}`", []),
            (#"require(["a"])"#, []), (#"require.config({baseUrl:"/a"})"#, []), ("r.u=e=>f(e);x()", []),
            ("r.u=e=>e+'.js';r.e(12)", []),
            ("jQuery.ajax=function(s){x.open(s.type,s.url,s.async)}", []), ("import a from './a.js'", []),
        ] as [(String, RenderReasons)])
    func scripts(_ script: String, _ reasons: RenderReasons) {
        let scan = Scan(script, .javaScript)
        #expect(scan.faults == [])
        #expect(scan.table.renderReasons.strong == reasons)
        let page = Scan(Self.text + "<script>" + script + "</script>")
        let ofPage: RenderReasons =
            script.contains("fetch(url)") || script.contains("fetch(a,") ? .indirectFetch : reasons
        #expect(page.table.renderReasons.strong == ofPage)
        #expect(page.faults == [])
    }

    @Test(
        "A script that can send requests gives a weak render reason",
        arguments: [
            ("new XMLHttpRequest()", true), ("jQuery.ajax({url:a})", true), ("s.src=a", true),
            ("s.src = '/a.js'", true),
            ("new WebSocket(a)", true), ("new EventSource('/e')", true), ("fetch('/a.json')", true),
            ("$.getScript('/a.js')", true), ("a.src==b", false), ("var src = 1", false), ("var a = 1", false),
            ("ajax(a)", false), ("element.append('fetch')", false),
        ])
    func senders(_ script: String, _ sends: Bool) {
        #expect(Scan(script, .javaScript).table.renderReasons.contains(.sendsRequests) == sends)
        #expect(Scan("<script>\(script)</script>").table.renderReasons.contains(.sendsRequests) == sends)
    }

    @Test(
        "Markup or a style that a script composes with an unknown URL gives a render reason",
        arguments: [
            (#"h += "'><img src='images/logos/" + s.src + "'>""#, true),
            (#"h += "'><img src='images/logos/"; h += s.src; h += "'>";"#, true), (#"h = "src"; f()"#, false),
            (#"f('<img src="'+a+'">')"#, true),
            (#"f("<iframe src=\"" + a)"#, true), ("f('<img src='+a+'>')", true),
            ("f('<img src=pics/'+a)", true),
            ("f(`<img src=\"${a}\">`)", true), ("f(`${b}<video poster='/p/${a}`)", true),
            (#"e.style.background = "url(" + a + ")""#, true), (#"f("background:url('/p/"+a)"#, true),
            (#"f("<img src='a.png' alt='" + a)"#, false), (#"f("<img src='a.png'>" + a)"#, false),
            (#"f("<a href='" + a)"#, false), ("f(`<p class=\"${a}\">`)", false), (#"f("src " + a)"#, false),
            (#"f("url" + a)"#, false), (#"f("" + a)"#, false), (#"f("src=", a)"#, false),
            ("f(`${a}`)", false),
        ])
    func composedSources(_ script: String, _ isComposed: Bool) {
        let inFile = Scan(script, .javaScript)
        #expect(inFile.table.renderReasons == (isComposed ? .sendsRequests : []))
        #expect(inFile.faults == [])
        let page = Scan(Self.text + "<script>" + script + "</script>")
        #expect(page.table.renderReasons == (isComposed ? .composedURL : []))
        #expect(page.faults == [])
    }

    @Test(
        "A document with scripts and little text gives a render reason",
        arguments: [
            (#"<!doctype html><title>App</title><div id=root></div><script src=a.js></script>"#, true),
            ("<div id=app>Loading</div><script>a()</script><noscript>\(text)</noscript>", true),
            (
                "<style>\(text)</style><script>\(text)</script><template>\(text)</template><!-- \(text) -->",
                true
            ),
            ("<script src=a.js></script>\(text)", false), ("<div id=root></div>", false), ("<p>Short", false),
            ("<p>Short<script type=application/json>{}</script>", false), ("<p onclick=a()>Short", false),
            (
                "<meta http-equiv=refresh content='0;url=a.html'><script>location.replace('a.html')</script>",
                false
            ),
            ("<script src=a.js", false), ("<script src=a.js></script><!-- ", true),
            ("<script>a</script><style", true),
        ])
    func documents(_ page: String, _ isHardlyAny: Bool) {
        let scan = Scan(page)
        #expect(scan.faults == [])
        #expect(scan.table.renderReasons.contains(.littleText) == isHardlyAny)
    }
}
