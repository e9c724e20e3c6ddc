import LarderKit
import TestOrigin
import Testing
import Web

/// URLs that a script composes at run time, where no scanner finds them.
@Suite(.enabled(if: Chromium.isInstalled, "chromium is not installed"), .serialized)
struct ShimTests {
    private static let withPixel = "img.onload = () => done(img.naturalWidth); img.onerror = () => done(0)"

    /// A script that loads an image in the given way, and returns the image's width, or 0 if it failed.
    private func picture(_ script: String) -> String {
        "new Promise(done => { const img = new Image(); \(Self.withPixel); \(script) })"
    }

    /// Opens a mirrored page whose scripts have the original URLs `cdn` of the other origin and `own` of its own origin.
    private func visit(
        options: ServeOptions = ServeOptions(), _ use: (ChromiumVisit, _ cdn: Int) throws -> Void
    ) async throws {
        let pair = try RewritingTests.Pair()
        pair.cdn.on(
            "/data.json", .file("[1]", type: "application/json").adding("Access-Control-Allow-Origin", "*"))
        pair.cdn.on("/late.js", .file("window.late = 1", type: "text/javascript"))
        pair.origin.on("/worker.js", .file("postMessage('worked')", type: "text/javascript"))
        pair.origin.on("/next", .page("<!DOCTYPE html><title>Next</title>here"))
        // Another page links to these files, so that they are stored while this page contains no URL of them.
        pair.origin.on(
            "/held",
            .page(
                """
                <img src="\(pair.cdn.url("/pixel.png"))"><script src="\(pair.cdn.url("/late.js"))"></script>
                <link rel=preload as=fetch href="\(pair.cdn.url("/data.json"))"><script>new Worker("/worker.js")</script>
                """))
        let page = """
            <!DOCTYPE html><html><head><title>T</title><a href=/held>held</a><a href=/next>next</a><p id=place></p>
            <script>
            const whole = port => ["http:", "", "127.0.0.1:" + port].join("/")
            const cdn = whole(\(pair.cdn.port)), own = whole(\(pair.origin.port))
            </script>
            """
        let port = pair.cdn.port
        try await pair.visit(page, options: options) { (visit: ChromiumVisit) throws -> Void in
            try use(visit, port)
        }
    }

    @Test func `absolute URLs that scripts build are rewritten in every API that loads them`() async throws {
        try await visit { (visit: ChromiumVisit, cdn: Int) throws -> Void in
            func value(_ expression: String) throws -> JSONValue? {
                try visit.evaluate(expression)
            }
            let json = ".then(r => r.text())"
            #expect(try value("fetch(cdn + '/data.json')" + json)?.string == "[1]")
            #expect(try value("fetch(new URL(cdn + '/data.json'))" + json)?.string == "[1]")
            #expect(try value("fetch(new Request(cdn + '/data.json'))" + json)?.string == "[1]")
            let request = """
                new Promise(done => { const r = new XMLHttpRequest(); r.onload = () => done(r.responseText)
                r.onerror = () => done("failed"); r.open("GET", cdn + "/data.json"); r.send() })
                """
            #expect(try value(request)?.string == "[1]")
            #expect(try value(picture("img.src = cdn + '/pixel.png'"))?.int == 1)
            #expect(try value(picture("img.srcset = cdn + '/pixel.png 1x'"))?.int == 1)
            #expect(
                try value(picture("img.setAttribute('src', '//' + cdn.slice(7) + '/pixel.png')"))?.int == 1)
            let markup = """
                new Promise(done => { place.innerHTML = `<img src="${cdn}/pixel.png">`; const img = place.firstChild
                img.onload = () => done(img.naturalWidth) })
                """
            #expect(try value(markup)?.int == 1)
            for change in [
                "s.setProperty('background-image', url)", "s.backgroundImage = url",
                "s.cssText = 'background:' + url",
                "place.setAttribute('style', 'background:' + url)",
            ] {
                let style = """
                    new Promise(done => { const s = place.style, url = `url("${cdn}/pixel.png")`; s.cssText = ""; \(change)
                    setTimeout(() => done(getComputedStyle(place).backgroundImage), 0) })
                    """
                #expect(
                    try value(style)?.string?.contains("port-\(cdn).127-0-0-1.localhost") == true, "\(change)"
                )
            }
            for sheet in [
                "document.head.appendChild(document.createElement('style')).sheet.insertRule(rule)",
                "document.body.insertAdjacentHTML('beforeend', '<style>' + rule + '</style>')",
                "const s = new CSSStyleSheet(); s.replaceSync(rule); document.adoptedStyleSheets = [s]",
            ] {
                let style = """
                    new Promise(done => { const p = document.body.appendChild(document.createElement("b"))
                    const rule = `b { list-style-image: url(${cdn}/pixel.png) }`; \(sheet)
                    setTimeout(() => done(getComputedStyle(p).listStyleImage), 0) })
                    """
                #expect(
                    try value(style)?.string?.contains("port-\(cdn).127-0-0-1.localhost") == true, "\(sheet)")
            }
            let script = """
                new Promise(done => { const s = document.createElement("script"); s.integrity = "sha256-AAAA"
                s.src = cdn + "/late.js"; s.onload = () => done(window.late); s.onerror = () => done(0)
                document.head.append(s) })
                """
            #expect(try value(script)?.int == 1)
            let worker = "new Promise(done => new Worker(own + '/worker.js').onmessage = e => done(e.data))"
            #expect(try value(worker)?.string == "worked")
            #expect(try value("navigator.sendBeacon(cdn + '/told', 'x')")?.bool == true)
            #expect(
                try value("history.pushState(null, '', own + '/pushed'), location.pathname")?.string
                    == "/pushed")
        }
    }

    @Test func `a page believes that it is online, although the machine has no network`() async throws {
        try await visit { (visit: ChromiumVisit, cdn: Int) throws -> Void in
            _ = try visit.evaluate("addEventListener('offline', () => window.wasTold = true)")
            try visit.goOffline()
            let state = "[navigator.onLine, window.wasTold].join()"
            let later = "new Promise(done => setTimeout(() => done(\(state)), 0))"
            #expect(try visit.evaluate(later)?.string == "true,")
        }
    }

    @Test(
        "A link whose page a script shows is opened as a page if what the script requests is not stored",
        arguments: [
            // A part of the page, which only the server can make.
            (#"fetch(next, { headers: { "HX-Request": "true" } })"#, "Next"),
            (#"send(next, "X-Requested-With", "XMLHttpRequest")"#, "Next"),
            // Data of the page, after the script has changed the address.
            (#"history.pushState(null, "", "/next"); fetch(missing)"#, "Next"),
            // Data for something else.
            (#"fetch(missing)"#, "T"),
            // A form of a page that is not stored either.
            (#"history.pushState(null, "", "/nowhere"); fetch(missing)"#, "T"),
        ])
    func routedLinks(click: String, title: String) async throws {
        let pair = try RewritingTests.Pair()
        pair.origin.on("/next", .page("<!DOCTYPE html><title>Next</title>here"))
        let page = """
            <!DOCTYPE html><title>T</title><a href=/next id=go>next</a>
            <script>
            // A path in a script would make the page an asset.
            const missing = ["", "data", "next"].join("/"), next = ["", "next"].join("/")
            const send = (url, name, value) => new Promise((done) => {
              const request = new XMLHttpRequest(); request.open("GET", url); request.setRequestHeader(name, value)
              request.onloadend = done; request.send() })
            const show = async () => { \(click) }
            go.onclick = (event) => { event.preventDefault(); show() }
            </script>
            """
        try await pair.visit(page) { (visit: ChromiumVisit) throws -> Void in
            _ = try visit.evaluate("document.getElementById('go').click()")
            // A page that is opened replaces the one in which the title is read.
            let end = ContinuousClock.now + .seconds(title == "T" ? 0 : 120)
            while ContinuousClock.now < end, (try? visit.evaluate("document.title"))?.string != title {}
            try visit.settle()
            #expect(try visit.evaluate("document.title")?.string == title)
        }
    }

    @Test
    func `WebSocket and EventSource connections are refused, and a script's navigation goes to the mirror`()
        async throws
    {
        try await visit { (visit: ChromiumVisit, cdn: Int) throws -> Void in
            let socket = """
                new Promise(done => { try { const s = new WebSocket(cdn.replace("http", "ws") + "/socket")
                s.onerror = () => done("refused"); s.onopen = () => done("open") } catch (e) { done("refused") } })
                """
            #expect(try visit.evaluate(socket)?.string == "refused")
            let source =
                "new Promise(done => { new EventSource(cdn + '/data.json').onerror = () => done('refused') })"
            #expect(try visit.evaluate(source)?.string == "refused")
            _ = try visit.evaluate("location.href = own + '/next', 0")
            try visit.settle()
            #expect(try visit.evaluate("document.title")?.string == "Next")
        }
    }

    @Test func `without the shim, the content security policy blocks requests to absolute URLs`() async throws
    {
        var options = ServeOptions()
        options.hasShim = false
        try await visit(options: options) { (visit: ChromiumVisit, cdn: Int) throws -> Void in
            #expect(
                try visit.evaluate("fetch(cdn + '/data.json').catch(() => 'kept in')")?.string == "kept in")
            #expect(visit.requests.allSatisfy { !$0.isForShim })
        }
    }
}
