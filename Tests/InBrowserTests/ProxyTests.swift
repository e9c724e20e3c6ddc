import LarderKit
import System
import TestOrigin
import Testing

/// Larder as the proxy of a browser: it records a site of several https hosts, and shows it again without its servers.
@Suite(.enabled(if: Chromium.isInstalled)) struct ProxyTests {
    private let folder: TemporaryFolder
    private let origin: TestOrigin
    private let front: SecureFront

    init() throws {
        folder = try TemporaryFolder()
        origin = try TestOrigin()
        front = try SecureFront(origin, in: folder)
    }

    private func url(_ host: String, _ path: String) -> String { "https://\(host):\(front.port)\(path)" }

    /// Runs a proxy that stores everything, and a browser that uses it.
    private func withProxy(
        _ larder: Larder, _ policy: CachePolicy, _ use: (Chromium, MirrorService) throws -> Void
    ) throws {
        try withProxy(larder, policy, to: front.port, trusting: front.authority, use)
    }

    private func withProxy(
        _ larder: Larder, _ policy: CachePolicy, to front: Int, trusting authority: String,
        _ use: (Chromium, MirrorService) throws -> Void
    ) throws {
        var options = ServeOptions()
        options.policy = policy
        options.network.authorities = authority
        options.network.resolve = ["*:\(front):127.0.0.1"]
        var proxy = ProxyOptions()
        proxy.port = 0
        proxy.connectPorts = [front]
        proxy.storesEverything = true
        let service = try larder.proxy(proxy, serving: options)
        defer { service.stop() }
        let port = try #require(service.proxyPort)
        try use(Chromium(proxy: (port, try larder.authority().keyDigest)), service)
    }

    @Test func `a site that was browsed through the proxy looks the same after its servers are gone`() throws
    {
        let square =
            "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='40'><rect width='40' height='40' fill='COLOR'/></svg>"
        origin.on("/style.css", .file("body{background:#def} p{color:#123}", type: "text/css"))
        origin.on("/own.svg", .file(square.replacing("COLOR", with: "teal"), type: "image/svg+xml"))
        origin.on("/far.svg", .file(square.replacing("COLOR", with: "plum"), type: "image/svg+xml"))
        origin.on(
            "/data.json", .file("{\"jam\": 3}", type: "application/json").adding("Cache-Control", "no-store"))
        origin.on(
            "/open.json",
            .file("{\"plum\": 4}", type: "application/json").adding("Access-Control-Allow-Origin", "*"))
        origin.on("/post") { _ in .file("5", type: "text/plain") }
        origin.on(
            "/worker.js",
            .file(
                "onfetch = e => { if (e.request.url.endsWith('/made')) e.respondWith(new Response('6')) }; onactivate = e => e.waitUntil(clients.claim())",
                type: "text/javascript"))
        origin.on(
            "/app.js",
            .file(
                """
                const say = text => document.querySelector('p').append(' ' + text);
                say((await (await fetch('/data.json?_=' + Date.now())).json()).jam);
                say((await (await fetch('\(url("cdn.plum.test", "/open.json"))')).json()).plum);
                say(await (await fetch('/post', {method: 'POST', body: JSON.stringify({a: 1}),
                  headers: {'Content-Type': 'application/json'}})).text());
                await navigator.serviceWorker.register('/worker.js');
                await navigator.serviceWorker.ready;
                if (!navigator.serviceWorker.controller)
                  await new Promise(done => navigator.serviceWorker.oncontrollerchange = done);
                say(await (await fetch('/made')).text());
                document.title = 'done';
                """, type: "text/javascript"))
        origin.on(
            "/",
            .page(
                """
                <!doctype html><title>jam</title><link rel=stylesheet href=/style.css><p>counted:</p>
                <img src=/own.svg><img src="\(url("cdn.plum.test", "/far.svg"))">
                <iframe src="\(url("frame.test", "/frame"))"></iframe><script type=module src=/app.js></script>
                """))
        origin.on("/frame", .page("<p>from another site</p>"))
        let larder = Larder(at: folder.file("larder"))
        let page = url("www.jam.test", "/")
        var before: (text: String, picture: [UInt8])?
        func look(_ browser: Chromium) throws -> (text: String, picture: [UInt8]) {
            let visit = try browser.open(page)
            _ = try visit.evaluate(
                "new Promise(done => { const look = () => document.title === 'done' ? done(1) : setTimeout(look, 50); look() })"
            )
            #expect(visit.failures.filter { !$0.isIconGuess }.isEmpty, "\(visit.failures)")
            return (try visit.text(), try visit.screenshot())
        }
        try withProxy(larder, .protocol) { browser, _ in before = try look(browser) }
        #expect(before?.text.contains("counted: 3 4 5 6") == true, "\(before?.text ?? "")")
        front.stop()
        origin.stop()
        try withProxy(larder, .offline) { browser, service in
            let after = try look(browser)
            #expect(after.text == before?.text)
            let isSamePicture = after.picture == before?.picture
            #expect(isSamePicture)
            let missed = service.traffic?.missedURLs.filter {
                $0.contains(".test:") && !$0.hasSuffix("/favicon.ico")
            }
            #expect(missed == [])
        }
    }

    @Test(.enabled(if: TLSFront.isAvailable && hasFont, "nginx, openssl and fonts-dejavu-core are needed"))
    func `fonts loaded over HTTP 2 are served offline, and a web socket is a miss`() throws {
        let modern = try TLSFront()
        func url(_ path: String, scheme: String = "https") -> String {
            "\(scheme)://www.jam.test:\(modern.modern)\(path)"
        }
        let font = try WholeFile.read(Self.font, atMost: 10_000_000)
        modern.origin.on(
            "/font.ttf", .file(font, type: "font/ttf").adding("Access-Control-Allow-Origin", "*"))
        modern.origin.on("/socket", OriginAnswer(status: 404, text: "no socket"))
        modern.origin.on(
            "/",
            .page(
                """
                <!doctype html><title>jam</title>
                <style>@font-face { font-family: Jam; src: url(/font.ttf) } p { font: 40px Jam, serif }</style>
                <p>Strawberry</p><script type=module>
                await document.fonts.load('40px Jam');
                document.querySelector('p').append(document.fonts.check('40px Jam') ? ' set' : ' unset');
                await new Promise(done => new WebSocket('\(url("/socket", scheme: "wss"))').onclose = done);
                document.title = 'done';
                </script>
                """))
        func look(_ browser: Chromium) throws -> (text: String, picture: [UInt8]) {
            let visit = try browser.open(url("/"))
            _ = try visit.evaluate(
                "new Promise(done => { const look = () => document.title === 'done' ? done(1) : setTimeout(look, 50); look() })"
            )
            return (try visit.text(), try visit.screenshot())
        }
        let larder = Larder(at: folder.file("larder"))
        var before: (text: String, picture: [UInt8])?
        try withProxy(larder, .protocol, to: modern.modern, trusting: modern.authorities) { browser, _ in
            before = try look(browser)
        }
        #expect(before?.text == "Strawberry set")
        let asked = modern.origin.requests.filter { $0.target != "/socket" }
        #expect(Set(asked.map { $0["X-Protocol"] }) == ["HTTP/2.0"])
        let count = modern.origin.requests.count
        try withProxy(larder, .offline, to: modern.modern, trusting: modern.authorities) { browser, service in
            let after = try look(browser)
            #expect(after.text == before?.text)
            let isSamePicture = after.picture == before?.picture
            #expect(isSamePicture)
            #expect(service.traffic?.missedURLs.contains("UPGRADE \(url("/socket"))") == true)
        }
        #expect(modern.origin.requests.count == count)
    }

    private static let font = "/usr/share/fonts/truetype/dejavu/DejaVuSerif-Bold.ttf"
    private static let hasFont = WholeFile.exists(font)
}
