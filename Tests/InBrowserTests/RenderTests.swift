import LarderKit
import TestOrigin
import Testing
import Web

/// Sites whose assets are known only when their scripts run: prefetched with a browser, and then shown with their origin
/// gone.
@Suite(.enabled(if: Chromium.isInstalled, "chromium is not installed"), .serialized)
struct RenderTests {
    /// A site that represents a kind of sites.
    struct Kind: Sendable, CustomTestStringConvertible {
        let name: String
        /// The paths of its pages. The first one is the start page.
        var pages = ["/"]
        /// The selectors of the elements to click on each page, in this order.
        var clicks: [String] = []
        var files: [String: String] = [:]
        /// The file with which all other URLs below a prefix are answered.
        var fallback: (prefix: String, file: String)?
        /// The responses to POST requests by path and body.
        var posts: [String: [String: String]] = [:]

        var testDescription: String { name }

        fileprivate func serve(_ origin: TestOrigin) {
            for (path, text) in files {
                let type =
                    path.hasSuffix(".js")
                    ? "text/javascript"
                    : path.hasSuffix(".json")
                        ? "application/json" : path.hasSuffix(".svg") ? "image/svg+xml" : "text/html"
                origin.on(path, .file(text, type: type))
            }
            for (path, answers) in posts {
                origin.on(path) { request in
                    answers[String(decoding: request.body, as: UTF8.self)].map {
                        .file($0, type: "application/json")
                    }
                        ?? .failure(400)
                }
            }
            if let fallback, let shell = files[fallback.file] {
                origin.otherwise {
                    $0.target.hasPrefix(fallback.prefix) ? .file(shell, type: "text/html") : nil
                }
            }
        }
    }

    private static func page(_ script: String, _ body: String = "<div id=app></div>") -> String {
        "<!DOCTYPE html><meta charset=utf-8><title>t</title><body>\(body)<script>\(script)</script>"
    }

    private static func picture(_ colour: String) -> String {
        "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='40'><rect width='40' height='40' fill='\(colour)'/></svg>"
    }

    static let kinds: [Kind] = [
        Kind(
            name: "a router that uses the history API", pages: ["/shop/", "/shop/item/1", "/shop/item/2"],
            clicks: ["a"],
            files: [
                "/shop/": page(
                    """
                    const app = document.getElementById('app'), place = ['', 'api'].join('/');
                    async function show() {
                      const id = location.pathname.split('/')[3];
                      if (id) {
                        const item = await (await fetch(`${place}/item-${id}.json`)).json();
                        app.innerHTML = `<h1>${item.name}</h1><img src="${place}/${id}.svg"><a href="/shop/">all</a>`;
                      } else {
                        const list = await (await fetch(place + '/list.json')).json();
                        app.innerHTML = '<h1>All</h1>' + list.map(n => `<a href="/shop/item/${n}">item ${n}</a>`).join('<br>');
                      }
                      for (const link of app.querySelectorAll('a'))
                        link.onclick = event => { event.preventDefault(); history.pushState({}, '', link.href); show() };
                    }
                    show()
                    """),
                "/api/list.json": "[1, 2]", "/api/item-1.json": "{\"name\": \"Jam\"}",
                "/api/item-2.json": "{\"name\": \"Bread\"}", "/api/1.svg": picture("red"),
                "/api/2.svg": picture("green"),
            ], fallback: ("/shop/", "/shop/")),
        Kind(
            name: "a router that uses the fragment", clicks: ["a", "a + a"],
            files: [
                "/": page(
                    """
                    async function show() {
                      const name = location.hash.slice(2) || 'home';
                      const text = await (await fetch(['', 'data', name].join('/') + '.json')).json();
                      app.innerHTML = `<h1>${text}</h1><a href="#/one">one</a><a href="#/two">two</a>`;
                    }
                    onhashchange = show; show()
                    """),
                "/data/home.json": "\"Home\"", "/data/one.json": "\"One\"", "/data/two.json": "\"Two\"",
            ]),
        Kind(
            name: "a list that grows when it is scrolled",
            files: [
                "/": page(
                    """
                    let page = 0, busy = false;
                    async function more() {
                      if (busy || page == 4 || scrollY + innerHeight < document.body.scrollHeight - 50) return;
                      busy = true;
                      const rows = await (await fetch('/rows-' + ++page + '.json')).json();
                      app.insertAdjacentHTML('beforeend', rows.map(r => `<p style="height:30vh">${r}</p>`).join(''));
                      busy = false; more();
                    }
                    onscroll = more; more()
                    """),
                "/rows-1.json": "[\"a\", \"b\", \"c\", \"d\"]",
                "/rows-2.json": "[\"e\", \"f\", \"g\", \"h\"]",
                "/rows-3.json": "[\"i\", \"j\", \"k\", \"l\"]", "/rows-4.json": "[\"m\", \"n\"]",
            ]),
        Kind(
            name: "data loaded by POST",
            files: [
                "/": page(
                    """
                    const ask = query => fetch('/graphql', {method: 'POST', headers: {'Content-Type': 'application/json'},
                      body: JSON.stringify({query})}).then(r => r.json());
                    Promise.all([ask('{a}'), ask('{b}')]).then(all => { app.textContent = all.map(x => x.data).join(' and ') })
                    """)
            ],
            posts: [
                "/graphql": [
                    "{\"query\":\"{a}\"}": "{\"data\": \"first\"}",
                    "{\"query\":\"{b}\"}": "{\"data\": \"second\"}",
                ]
            ]),
        Kind(
            name: "components with shadow roots", pages: ["/", "/pages/one.html"],
            files: [
                "/": page(
                    """
                    customElements.define('x-card', class extends HTMLElement {
                      async connectedCallback() {
                        const root = this.attachShadow({mode: 'open'}), name = this.getAttribute('name');
                        root.innerHTML = await (await fetch(['/parts', name + '.html'].join('/'))).text();
                      }
                    })
                    """, "<x-card name=one></x-card>"),
                "/parts/one.html": "<p>In the shadow</p><img src=/parts/p.svg><a href=/pages/one.html>on</a>",
                "/parts/p.svg": picture("blue"),
                "/pages/one.html": "<!DOCTYPE html><title>one</title><p>Page one</p>",
            ]),
        Kind(
            name: "a worker that loads data",
            files: [
                "/": page(
                    """
                    const worker = new Worker('/worker.js');
                    worker.onmessage = event => { app.textContent = event.data };
                    worker.postMessage(['/in', 'worker.json'].join('-'))
                    """),
                "/worker.js": "onmessage = async e => postMessage((await (await fetch(e.data)).json()).text)",
                "/in-worker.json": "{\"text\": \"From the worker\"}",
            ]),
        Kind(
            name: "a service worker that answers requests",
            files: [
                "/": page(
                    """
                    async function show() {
                      app.textContent = (await (await fetch('/virtual/' + ['a', 'b'].join('')))
                        .json()).text;
                    }
                    navigator.serviceWorker.register('/sw.js').then(() => navigator.serviceWorker.ready).then(() => {
                      if (navigator.serviceWorker.controller) show();
                      else navigator.serviceWorker.oncontrollerchange = show;
                    })
                    """),
                "/sw.js": """
                oninstall = () => skipWaiting();
                onactivate = event => event.waitUntil(clients.claim());
                onfetch = event => {
                  const path = new URL(event.request.url).pathname;
                  if (path.startsWith('/virtual/')) event.respondWith(fetch('/real-' + path.slice(9) + '.json'));
                }
                """,
                "/real-ab.json": "{\"text\": \"By way of the worker\"}",
            ]),
    ]

    private func larder(_ folder: TemporaryFolder) -> Larder { Larder(at: folder.path) }

    private static func origin(showing script: String) throws -> TestOrigin {
        let origin = try TestOrigin()
        origin.on("/", .page(page(script)))
        return origin
    }

    private func options(_ mode: RenderMode = .auto) -> PrefetchOptions {
        var options = PrefetchOptions()
        options.browser = Chromium.executable
        var settings = RenderSettings()
        settings.mode = mode
        options.plan.render = settings
        return options
    }

    /// Returns the text of the page, at first and after each click.
    private func visibleTexts(_ url: String, _ clicks: [String], _ browser: Chromium) throws -> [String] {
        let visit = try browser.open(url)
        var texts = [try visit.text()]
        for click in clicks {
            _ = try visit.evaluate("document.querySelector(\"\(click)\")?.click()")
            try visit.settle()
            texts.append(try visit.text())
        }
        #expect(visit.escapes.isEmpty)
        texts.append(visit.failures.map { "failed: \($0.url)" }.joined(separator: " "))
        return texts
    }

    @Test(arguments: kinds)
    func `pages and clicks of a rendered site show the same text after the origin is gone`(kind: Kind)
        async throws
    {
        let origin = try TestOrigin()
        kind.serve(origin)
        let folder = try TemporaryFolder()
        let larder = larder(folder)
        let browser = try Chromium()
        let before = try kind.pages.map { try visibleTexts(origin.url($0), kind.clicks, browser) }
        origin.forgetRequests()
        let report = try await larder.prefetch([origin.url(kind.pages[0])], options: options())
        #expect(report.isPublished)
        #expect(report.missing.isEmpty, "\(report.missing)")
        #expect(report.rendering.rendered > 0)
        let targets = origin.requests.map {
            "\($0.method) \($0.target) \(String(decoding: $0.body, as: UTF8.self))"
        }
        #expect(targets.count == Set(targets).count, "a URL was fetched twice: \(targets.sorted())")
        origin.stop()
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        for (page, before) in zip(kind.pages, before) {
            let address = try #require(service.address(of: origin.url(page)))
            #expect(try visibleTexts(address, kind.clicks, browser) == before, "\(page)")
        }
    }

    @Test func `a failed request that only a browser finds is missing, and the next prefetch fetches it`()
        async throws
    {
        let origin = try Self.origin(
            showing:
                "for (const n of ['one', 'two']) { const i = new Image(); i.src = ['/pics', n].join('/') + '.svg'; app.append(i) }"
        )
        origin.on("/pics/one.svg", .failure(500))
        origin.on("/pics/two.svg", .failure(404))
        let larder = larder(try TemporaryFolder())
        let first = try await larder.prefetch([origin.url("/")], options: options())
        let missingURLs = Set(["one", "two"].map { origin.url("/pics/\($0).svg") })
        #expect(Set(first.missing.map(\.url)) == missingURLs)
        let check = try await larder.checkOffline(origin.url("/"))
        #expect(
            missingURLs.isSubset(of: check.items.filter { $0.verdict != .verified }.map(\.name)),
            "\(check.items)"
        )
        for name in ["one", "two"] {
            origin.on("/pics/\(name).svg", .file(Self.picture("red"), type: "image/svg+xml"))
        }
        let second = try await larder.update()[0]
        #expect(second.missing.isEmpty && second.assets == 2, "\(second.missing)")
        // The server sends complete responses, and there is no browser: the links are known from the earlier run.
        #expect(try await larder.update()[0].assets == 2)
        #expect(try await larder.checkOffline(origin.url("/")).items.allSatisfy { $0.verdict == .verified })
    }

    @Test func `the check notes that pages opened a web socket, also after a run without rendering`()
        async throws
    {
        let origin = try Self.origin(
            showing: "new WebSocket('ws://' + location.host + '/live'); app.append('words')")
        let larder = larder(try TemporaryFolder())
        _ = try await larder.prefetch([origin.url("/")], options: options(.always))
        let notes = try await larder.checkOffline(origin.url("/")).notes
        #expect(notes.count == 1 && notes[0].hasPrefix("pages opened 1 web socket when"), "\(notes)")
        // A run without rendering keeps this information.
        _ = try await larder.prefetch([origin.url("/")], options: options(.never))
        #expect(try await larder.checkOffline(origin.url("/")).notes == notes)
    }

    /// Opens the page twice, because both loads must compose the same URL.
    @Test
    func `URLs made from the time and random numbers are the same offline in a site with a fixed clock`()
        async throws
    {
        let origin = try TestOrigin()
        origin.on(
            "/",
            .page(
                Self.page(
                    """
                    const sign = [Math.floor(Date.now() / 3600000), String(new Date()).slice(0, 17),
                      Math.random(), crypto.randomUUID(), crypto.getRandomValues(new Uint32Array(1))[0]];
                    const isReal = new Date(2020, 1, 2) instanceof Date && new Date(0).getTime() === 0
                      && Date.length === 7 && typeof Date() === 'string' && Math.random() !== Math.random();
                    fetch(['', 'made', ...sign.map(encodeURIComponent)].join('/'))
                      .then(r => r.text()).then(text => { app.textContent = text + ' ' + isReal })
                    """)))
        origin.otherwise { $0.target.hasPrefix("/made/") ? .file("made", type: "text/plain") : nil }
        let folder = try TemporaryFolder()
        let larder = larder(folder)
        var options = options(.always)
        options.plan.render?.steadySince = 1_800_000_000
        let report = try await larder.prefetch([origin.url("/")], options: options)
        #expect(report.isPublished)
        #expect(origin.requests.count { $0.target.hasPrefix("/made/") } == 1)
        // A prefetch without rendering keeps the responses to requests of scripts.
        options.browser = nil
        options.plan.render?.mode = .never
        #expect(try await larder.prefetch([origin.url("/")], options: options).isPublished)
        origin.stop()
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let browser = try Chromium()
        let address = try #require(service.address(of: origin.url("/")))
        for _ in 1...2 {
            let seen = try visibleTexts(address, [], browser)
            #expect(seen == ["made true", ""])
        }
    }

    @Test func `a POST whose body contains the time is answered offline at any time`() async throws {
        let origin = try TestOrigin()
        origin.on(
            "/",
            .page(
                Self.page(
                    """
                    const ask = hours => fetch('/runs', {method: 'POST', headers: {'Content-Type': 'application/json'},
                      body: JSON.stringify({createdAfter: Date.now() - hours * 3600000, createdBefore: Date.now(),
                        at: new Date().toISOString()})}).then(r => r.text());
                    Promise.all([1, 24].map(ask)).then(all => { app.textContent = all.join(' and ') })
                    """)))
        origin.on("/runs") { request in
            let sent = try? JSONValue.parse(request.body.span)
            guard let start = sent?["createdAfter"]?.int, let end = sent?["createdBefore"]?.int
            else { return .failure(400) }
            return .file("\((end - start) / 3_600_000) hours", type: "text/plain")
        }
        let larder = larder(try TemporaryFolder())
        let report = try await larder.prefetch([origin.url("/")], options: options())
        #expect(report.isPublished && report.rendering.recorded == 2)
        origin.stop()
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let address = try #require(service.address(of: origin.url("/")))
        #expect(try visibleTexts(address, [], Chromium()) == ["1 hours and 24 hours", ""])
    }

    @Test func `a fetch whose query contains the time is answered offline at any time, and a page is not`()
        async throws
    {
        let origin = try TestOrigin()
        origin.on(
            "/",
            .page(
                Self.page(
                    """
                    const ask = hours => fetch(`/runs?from=${Date.now() - hours * 3600000}&to=${Date.now()}`
                      + `&at=${encodeURIComponent(new Date().toISOString())}`).then(r => r.text());
                    Promise.all([1, 24].map(ask)).then(all => { app.textContent = all.join(' and ') })
                    """)))
        origin.on("/runs") { request in
            let numbers = request.target.split { !$0.isNumber }.compactMap { Int($0) }
            guard numbers.count > 2 else { return .failure(400) }
            return .page("\((numbers[1] - numbers[0]) / 3_600_000) hours")
        }
        let larder = larder(try TemporaryFolder())
        #expect(try await larder.prefetch([origin.url("/")], options: options()).isPublished)
        origin.stop()
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let address = try #require(service.address(of: origin.url("/")))
        #expect(try visibleTexts(address, [], Chromium()) == ["1 hours and 24 hours", ""])
        let requested = try #require(origin.requests.map(\.target).first { $0.hasPrefix("/runs") })
        let start = try #require(requested.split { !$0.isNumber }.first.flatMap { Int($0) })
        let moved = requested.dropFirst().replacing("\(start)", with: "\(start + 1)")
        let visit = try Chromium().open(address + moved)
        #expect(try !visit.text().contains("hours"))
    }

    @Test func `workers of a site with a fixed clock have the same time and random numbers`() async throws {
        let origin = try TestOrigin()
        origin.on(
            "/",
            .page(
                Self.page(
                    """
                    new Worker('/worker.js').onmessage = event => { app.textContent = event.data }
                    """)))
        origin.on(
            "/worker.js",
            .file(
                """
                'use strict';
                const sign = [Date.now(), Math.random(), (function () { return this === undefined })()];
                fetch(['', 'made', ...sign].join('/')).then(r => r.text()).then(text => postMessage(text))
                """, type: "text/javascript"))
        origin.otherwise { request in
            guard request.target.hasPrefix("/made/") else { return nil }
            return .file(request.target.hasSuffix("/true") ? "made" : "sloppy", type: "text/plain")
        }
        let larder = larder(try TemporaryFolder())
        var options = options(.always)
        options.plan.render?.steadySince = 1_800_000_000
        #expect(try await larder.prefetch([origin.url("/")], options: options).isPublished)
        #expect(origin.requests.count { $0.target.hasPrefix("/made/") } == 1)
        origin.stop()
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let address = try #require(service.address(of: origin.url("/")))
        for _ in 1...2 { #expect(try visibleTexts(address, [], Chromium()) == ["made", ""]) }
    }

    /// The cookies apply to requests that the page itself makes and to later requests of the crawl, but not beyond their
    /// path. They do not replace cookies of the server.
    @Test func `cookies that scripts set are sent with requests to their path`() async throws {
        let origin = try TestOrigin()
        func answer(_ text: String) -> OriginAnswer {
            .page(Self.page("document.cookie", "<a href=/next/page>next</a>\(text)<p id=app>"))
        }
        origin.on(
            "/",
            .page(
                Self.page(
                    """
                    document.cookie = 'script=yes; path=/';
                    document.cookie = 'deep=1; path=/next';
                    fetch(['', 'data.json'].join('/')).then(r => r.text()).then(text => {
                      app.innerHTML = text + '<a href="/next/page">next</a>';
                    })
                    """)
            ).adding("Set-Cookie", "server=1; Path=/"))
        origin.on("/data.json") { request in
            request["Cookie"]?.contains("script=yes") == true
                ? .file("\"here\"", type: "application/json") : .failure(403)
        }
        origin.on("/next/page", .page("<p>next<a href=/last>last</a>"))
        origin.on("/last", .page("<p>last"))
        let folder = try TemporaryFolder()
        let report = try await larder(folder).prefetch([origin.url("/")], options: options(.always))
        #expect(report.missing.isEmpty, "\(report.missing)")
        func sent(_ target: String) -> Set<String> {
            let words = origin.requests.last { $0.target == target }?["Cookie"]?.split(separator: ";") ?? []
            return Set(words.map { String($0.drop { $0 == " " }) })
        }
        #expect(sent("/data.json") == ["server=1", "script=yes"])
        #expect(sent("/next/page") == ["server=1", "script=yes", "deep=1"])
        #expect(sent("/last") == ["server=1", "script=yes"])
        #expect(!folder.names().contains("logins"))
    }

    /// One origin whose responses are requested by pages of another: one that allows each requesting origin, one without
    /// CORS headers, and one that allows none.
    @Test
    func `a response that CORS lets one origin read is refused to others, and the refusal is not a miss`()
        async throws
    {
        let (origin, other) = (try TestOrigin(), try TestOrigin())
        let place = "http://localhost:\(other.port)"
        origin.on(
            "/",
            .page(
                Self.page(
                    """
                    const ask = path => fetch('\(place)/' + path).then(r => r.text()).catch(() => 'refused');
                    Promise.all(['echo', 'silent', 'never'].map(ask)).then(all => { app.textContent = all.join(' ') })
                    """,
                    "<p id=app></p>"
                        + ["echo", "silent", "never"].map { "<img src=\(place)/\($0) alt=''>" }.joined())))
        for name in ["echo", "silent", "never"] {
            other.on("/\(name)") { request in
                let answer = OriginAnswer.file(name, type: "text/plain")
                guard let origin = request["Origin"], name != "never" else {
                    return name == "echo" ? answer.adding("Vary", "Origin") : answer
                }
                let open = answer.adding("Access-Control-Allow-Origin", origin)
                return name == "echo" ? open.adding("Vary", "Origin") : open
            }
        }
        let larder = larder(try TemporaryFolder())
        var options = options(.always)
        options.plan.render?.takesPictures = true
        let report = try await larder.prefetch([origin.url("/")], options: options)
        #expect(report.isPublished)
        var check = OfflineCheckOptions()
        check.browserCheck = OfflineCheckOptions.BrowserCheck()
        check.browserCheck?.browser = Chromium.executable
        origin.stop()
        other.stop()
        let service = try larder.serve(port: 0)
        let address = try #require(service.address(of: origin.url("/")))
        #expect(try visibleTexts(address, [], Chromium())[0] == "echo silent refused")
        service.stop()
        let found = try await larder.checkOffline(origin.base, options: check)
        #expect(found.items.filter { $0.verdict != .verified }.map(\.name) == [])
        #expect(
            found.notes.last == "1 address not readable by pages of other origins, as online: \(place)/never")
    }

    @Test func `the check reports excluded requests as not fetched, and stays clean`() async throws {
        let origin = try TestOrigin()
        let script =
            "for (const path of [['', 'ads', 'now.js'].join('/'), '/storednot', 'https://ads.test/x?y']) fetch(path).catch(() => 0)"
        origin.on("/", .page(Self.page(script)))
        origin.on("/storednot", .file("x", type: "text/plain"))
        let larder = larder(try TemporaryFolder())
        var options = options(.always)
        options.plan.scope.exclude = ["/ads/**", "ads.test/**"]
        options.plan.rules = ["/storednot not-allowed"]
        _ = try await larder.prefetch([origin.url("/")], options: options)
        var check = OfflineCheckOptions()
        check.browserCheck = OfflineCheckOptions.BrowserCheck()
        check.browserCheck?.browser = Chromium.executable
        let report = try await larder.checkOffline(origin.base, options: check)
        let unverified = report.items.filter { $0.verdict != .verified }
        #expect(
            unverified.map(\.name).sorted() == [
                origin.url("/ads/now.js"), origin.url("/storednot"), "https://ads.test/x?y",
            ])
        #expect(unverified.allSatisfy { $0.verdict == .notFetched }, "\(unverified.map(\.finding))")
        #expect(report.isClean)
    }

    @Test func `an equal POST is sent once per prefetch, and not again under the policy prefer-cache`()
        async throws
    {
        let origin = try TestOrigin()
        let form = """
            const form = new FormData(); form.append('a', '1');
            fetch('/send', {method: 'POST', body: form}).then(r => r.text()).then(text => { app.textContent = text })
            """
        origin.on("/", .page(Self.page(form, "<a href=/two>two</a><p id=app>")))
        origin.on("/two", .page(Self.page(form)))
        origin.on("/send", .file("sent", type: "text/plain"))
        let larder = larder(try TemporaryFolder())
        var options = options(.always)
        options.renderTabs = 1
        func count() -> Int { origin.requests(to: "/send").count }
        #expect(try await larder.prefetch([origin.url("/")], options: options).rendering.recorded == 1)
        #expect(count() == 1)
        options.policy = .preferCache
        _ = try await larder.prefetch([origin.url("/")], options: options)
        #expect(count() == 1)
        options.policy = .revalidate
        _ = try await larder.prefetch([origin.url("/")], options: options)
        #expect(count() == 2)
    }

    /// The first prefetch finds URLs that need a cookie, a header or a page of the scripts in the order of its links. A
    /// later prefetch knows all of them from the beginning.
    @Test(arguments: [RenderMode.auto, .always, .never])
    func `a later prefetch sends the cookies and headers with which scripts requested a URL`(mode: RenderMode)
        async throws
    {
        let origin = try TestOrigin()
        origin.on(
            "/",
            .page(
                Self.page(
                    """
                    document.cookie = 'door=open; path=/';
                    const ask = (name, options) => fetch(['', name].join('/'), options).then(r => r.text());
                    Promise.all([ask('cookie.json'), ask('field.json', {headers: {'X-Own': 'yes'}})])
                      .then(all => { app.innerHTML = all.join(' ') + '<a href="/behind/">on</a>' })
                    """)
            ).validated(entityTag: "\"1\""))
        func answer(
            _ target: String, _ answer: OriginAnswer, if isOpen: @escaping @Sendable (OriginRequest) -> Bool
        ) {
            origin.on(target) { isOpen($0) ? answer : .failure(403) }
        }
        let hasCookie: @Sendable (OriginRequest) -> Bool = { $0["Cookie"] == "door=open" }
        answer("/cookie.json", .file("1", type: "application/json"), if: hasCookie)
        answer("/field.json", .file("2", type: "application/json")) { $0["X-Own"] == "yes" }
        answer("/behind/", .page("<p>behind"), if: hasCookie)
        let larder = larder(try TemporaryFolder())
        #expect(try await larder.prefetch([origin.url("/")], options: options()).missing.isEmpty)
        for _ in 1...2 {
            origin.forgetRequests()
            let report = try await larder.prefetch([origin.url("/")], options: options(mode))
            #expect(report.missing.isEmpty, "\(report.missing)")
            for target in ["/cookie.json", "/field.json", "/behind/"] {
                #expect(origin.requests(to: target).count == 1, "\(target)")
            }
        }
    }

    @Test func `the check compares the text and screenshot of each page with those of the prefetch`()
        async throws
    {
        let origin = try TestOrigin()
        func page(_ colour: String) -> OriginAnswer {
            .page(
                Self.page(
                    "app.textContent = 'here'; document.body.style.background = \(colour)",
                    "<a href=/b>b</a><a href=/c>c</a><p id=app>"
                ))
        }
        origin.on("/", page("'teal'"))
        origin.on(
            "/c",
            .page(
                Self.page(
                    "app.textContent = location.hostname.endsWith('.localhost') ? 'At  home' : 'Out'",
                    "<p>Both</p><p id=app></p><p>Both</p>")))
        origin.on("/b", page("location.hostname.endsWith('.localhost') ? 'gold' : 'teal'"))
        let larder = larder(try TemporaryFolder())
        var options = options(.always)
        options.plan.render?.takesPictures = true
        options.plan.render?.freezing = .never
        _ = try await larder.prefetch([origin.url("/")], options: options)
        var check = OfflineCheckOptions()
        check.browserCheck = OfflineCheckOptions.BrowserCheck()
        check.browserCheck?.browser = Chromium.executable
        let report = try await larder.checkOffline(origin.base, options: check)
        let unverified = report.items.filter { $0.verdict != .verified }
        #expect(unverified.map(\.name) == [origin.url("/b"), origin.url("/c")])
        #expect(
            unverified.map(\.finding.detail) == [
                "a browser shows another picture than at the prefetch",
                "a browser shows other text than at the prefetch: \"At home\" instead of \"Out\"",
            ])
    }
}
