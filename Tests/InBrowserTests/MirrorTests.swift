import LarderKit
import TestOrigin
import Testing
import Web

/// Larder's main promise: with the origin gone, a browser shows the same page and makes no network requests.
@Suite(.enabled(if: Chromium.isInstalled, "chromium is not installed"), .serialized)
struct MirrorTests {
    private static let pages = [
        "/", "/gallery.html", "/recipes/plum-jam.html", "/recipes/country-bread.html", "/jar.html?kind=honey",
    ]

    private static var demoSite: String {
        #filePath.split(separator: "/").dropLast(3).reduce(into: "") { $0 += "/" + $1 }
            + "/Sources/larder/Demo/Site"
    }

    @Test func `pages of the demo site look and work the same after the origin is gone`() async throws {
        try await Look.compare(Self.pages, ofSiteIn: Self.demoSite)
    }

    @Test func `a page with assets of two origins is served from the store without a request to either`()
        async throws
    {
        let cdn = try TestOrigin()
        let origin = try TestOrigin()
        origin.on(
            "/",
            .page(
                """
                <!DOCTYPE html><title>Two</title><link rel=stylesheet href="\(cdn.url("/style.css"))">
                <h1>Hello</h1><img src='\(cdn.url("/pixel.png"))' width=50 height=50><a href=/next>next</a>
                <script>document.cookie = "a=b"; new Image().src = "\(cdn.url("/leak.png"))"</script>
                """))
        origin.on("/next", .page("<!DOCTYPE html><title>Next</title>here"))
        cdn.on(
            "/style.css",
            .file("h1 { color: rgb(1, 2, 3); background: url(\(cdn.url("/pixel.png"))) }", type: "text/css"))
        cdn.on("/pixel.png", .file(ChromiumTests.pixel, type: "image/png"))
        let folder = try TemporaryFolder()
        let larder = Larder(at: folder.path)
        _ = try await larder.prefetch([origin.url("/")])
        origin.forgetRequests()
        cdn.forgetRequests()

        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let visit = try Chromium().open(try #require(service.address(of: origin.url("/"))))
        #expect(
            try visit.evaluate("getComputedStyle(document.querySelector('h1')).color")?.string
                == "rgb(1, 2, 3)")
        #expect(try visit.evaluate("document.images[0].naturalWidth")?.int == 1)
        _ = try visit.evaluate("document.querySelector('a').click()")
        try visit.settle()
        #expect(try visit.evaluate("document.title")?.string == "Next")
        // Both origins still run, and a script tried to reach one of them: the page's security policy blocked it.
        #expect(origin.requests.isEmpty)
        #expect(cdn.requests.isEmpty)
    }

    @Test
    func `links of an earlier snapshot stay in it, and it shares no cookies or storage with the live one`()
        async throws
    {
        let origin = try TestOrigin()
        func page(_ title: String) -> OriginAnswer {
            .page("<!DOCTYPE html><title>\(title)</title><a href=\"\(origin.url("/next"))\">next</a>")
        }
        origin.on("/", page("first"))
        origin.on("/next", page("first next"))
        let folder = try TemporaryFolder()
        let larder = Larder(at: folder.path)
        let first = try await larder.prefetch([origin.url("/")])
        origin.on("/", page("second"))
        origin.on("/next", page("second next"))
        _ = try await larder.prefetch([origin.url("/")])
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let visit = try Chromium().open(
            "http://localhost:\(service.port)/@\(first.snapshot)/\(origin.url("/"))")
        #expect(try visit.evaluate("document.title")?.string == "first")
        let site = "location.hostname.split('.').slice(-2).join('.')"
        _ = try visit.evaluate("document.cookie = `a=b; domain=${\(site)}`; localStorage.setItem('a', 'b')")
        _ = try visit.evaluate("document.querySelector('a').click()")
        try visit.settle()
        #expect(try visit.evaluate("document.title")?.string == "first next")
        #expect(try visit.evaluate("document.cookie + localStorage.getItem('a')")?.string == "a=bb")
        let now = try #require(service.address(of: origin.url("/")))
        let read = "fetch('\(now)').then((answer) => answer.text(), () => 'refused')"
        #expect(try visit.evaluate(read)?.string == "refused")
        try visit.navigate(to: now)
        #expect(try visit.evaluate("document.title")?.string == "second")
        #expect(try visit.evaluate("document.cookie + localStorage.getItem('a')")?.string == "null")
    }

    @Test func `a cross-origin font, module and data file load if their origin allowed it by CORS`()
        async throws
    {
        let cdn = try TestOrigin()
        let origin = try TestOrigin()
        origin.on(
            "/",
            .page(
                """
                <!DOCTYPE html><title>Shared</title>
                <style>@font-face { font-family: Far; src: url(\(cdn.url("/fonts/stencil.woff2"))) } p { font-family: Far }</style>
                <p>text</p><link rel=preload as=fetch crossorigin href="\(cdn.url("/data.json"))">
                <script type=module src="\(cdn.url("/module.js"))"></script>
                """))
        cdn.serve(folder: Self.demoSite, adding: [("Access-Control-Allow-Origin", "*")])
        cdn.on(
            "/module.js",
            .file("window.hasRun = true", type: "text/javascript").adding(
                "Access-Control-Allow-Origin", origin.url("")))
        cdn.on(
            "/data.json", .file("[1]", type: "application/json").adding("Access-Control-Allow-Origin", "*"))
        let folder = try TemporaryFolder()
        let larder = Larder(at: folder.path)
        _ = try await larder.prefetch([origin.url("/")])

        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let visit = try Chromium().open(try #require(service.address(of: origin.url("/"))))
        #expect(
            try visit.evaluate("document.fonts.ready.then(() => [...document.fonts][0].status)")?.string
                == "loaded")
        #expect(try visit.evaluate("window.hasRun")?.bool == true)
        let data = "document.querySelector('link').href"
        let text = try visit.evaluate("fetch(\(data), { credentials: 'omit' }).then(r => r.text())")
        #expect(text?.string == "[1]")
        #expect(visit.failures.isEmpty)
        // CORS does not allow requests with credentials if every origin is allowed.
        let refused = "fetch(\(data), { credentials: 'include' }).then(r => r.text(), () => 'refused')"
        #expect(try visit.evaluate(refused)?.string == "refused")
    }

    @Test(arguments: [
        "new Worker('/worker.js')", "new SharedWorker('/worker.js')",
        "navigator.serviceWorker.register('/worker.js')",
    ])
    func `a worker of a mirrored page cannot reach the network`(start: String) async throws {
        let outside = try TestOrigin()
        let origin = try TestOrigin()
        origin.on(
            "/",
            .page(
                """
                <!DOCTYPE html><title>Worker</title><script>
                const channel = new BroadcastChannel("said")
                const said = new Promise(done => channel.onmessage = event => done(event.data))
                \(start)
                </script>
                """))
        // Composes the URL, so that no scanner finds it.
        let script = """
            const address = ["http:", "", "127.0.0.1:\(outside.port)", "leak"].join("/")
            fetch(address, { mode: "no-cors" }).then(() => "reached", () => "kept in")
                .then(text => new BroadcastChannel("said").postMessage(text))
            """
        origin.on("/worker.js", .file(script, type: "text/javascript"))
        let folder = try TemporaryFolder()
        let larder = Larder(at: folder.path)
        _ = try await larder.prefetch([origin.url("/")])

        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let address = try #require(service.address(of: origin.url("/")))
        // Requests of a worker may stay without a response, so the page may not finish before the limit.
        let visit = try Chromium().open(address, within: .seconds(5))
        #expect(try visit.evaluate("said")?.string == "kept in")
        #expect(outside.requests.isEmpty)
    }
}
