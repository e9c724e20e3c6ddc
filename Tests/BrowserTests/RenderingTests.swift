import Browser
import Glibc
import Synchronization
import System
import TestOrigin
import Testing
import Web

/// The browser that all tests share. It ends with the test process.
enum SharedBrowser {
    static let isInstalled = BrowserProgram.findInstalled() != nil

    private static let started: Result<Browser, BrowserError> = {
        do throws(BrowserError) {
            let browser = try start()
            atexit { if case .success(let browser) = SharedBrowser.started { browser.close() } }
            return .success(browser)
        } catch {
            return .failure(error)
        }
    }()

    static func get() throws(BrowserError) -> Browser { try started.get() }

    static func start(_ change: (inout BrowserOptions) -> Void = { _ in }) throws(BrowserError) -> Browser {
        guard let executable = BrowserProgram.findInstalled() else {
            throw BrowserError(doing: "starting a browser", why: "none is installed")
        }
        var options = BrowserOptions(executable: executable)
        change(&options)
        return try Browser(options)
    }

    /// Renders a page with a short quiet time and long limits, so that a page on a loaded machine does not count as
    /// hanging.
    static func render(
        _ url: String, _ change: (inout PageVisit) -> Void = { _ in }
    ) throws -> PageOutcome {
        var visit = PageVisit(url: url)
        visit.quiet = .milliseconds(200)
        visit.scroll = 0
        visit.stall = .seconds(60)
        visit.limit = .seconds(120)
        change(&visit)
        return try get().render(visit)
    }
}

@Suite(.enabled(if: SharedBrowser.isInstalled, "no browser is installed"))
struct RenderingTests {
    /// Serves a page and files.
    private func site(_ html: String, _ files: [String: OriginAnswer] = [:]) throws -> TestOrigin {
        let origin = try TestOrigin()
        origin.on("/", .page("<!DOCTYPE html><title>Site</title>" + html))
        for (target, answer) in files { origin.on(target, answer) }
        return origin
    }

    private func script(_ text: String) -> OriginAnswer { .file(text, type: "text/javascript") }

    private func targets(_ outcome: PageOutcome, of origin: TestOrigin) -> Set<String> {
        Set(
            outcome.requests.map {
                $0.url.hasPrefix(origin.base) ? String($0.url.dropFirst(origin.base.count)) : $0.url
            }
        )
        .subtracting(["/favicon.ico"])
    }

    private func count(_ kind: PageNotice.Kind, of outcome: PageOutcome) -> Int {
        outcome.notices.first { $0.kind == kind }?.count ?? 0
    }

    // MARK: - Reading

    @Test func `an outcome has the title, text, document and requests of the page`() throws {
        let origin = try site(
            "<h1>Hello</h1><script src=a.js></script><img src=gone.png><p style=display:none>hidden</p>",
            ["/a.js": script("document.body.append('from a script'); history.pushState(0, '', '/there')")])
        let outcome = try SharedBrowser.render(origin.url("/")) {
            $0.wantsText = true
            $0.wantsDocument = true
        }
        #expect(outcome.ending == .complete)
        #expect(outcome.title == "Site")
        #expect(outcome.address == origin.url("/there"))
        #expect(outcome.text?.contains("from a script") == true)
        #expect(outcome.text?.contains("hidden") == false)
        #expect(outcome.document?.contains("from a script") == true)
        #expect(targets(outcome, of: origin) == ["/", "/a.js", "/gone.png"])
        #expect(
            outcome.requests.first
                == ObservedRequest(
                    url: origin.url("/"), method: "GET", type: "Document", status: 200))
        #expect(outcome.requests.first { $0.url.hasSuffix("gone.png") }?.status == 404)
        #expect(outcome.notices == [])
    }

    @Test func `links in shadow roots, same-origin frames and image maps are reported once`() throws {
        let origin = try site(
            """
            <a href=/one>1</a><a href=/one>again</a><a href=mailto:a@b.c>mail</a><a>none</a>
            <map name=m><area href=/two></map><svg><a href=/three><text>3</text></a></svg>
            <div id=host></div><iframe src=/frame></iframe><iframe srcdoc="<a href=/five>5</a>"></iframe>
            <form name=querySelectorAll><input name=title></form><img name=documentElement><img name=body>
            <script>
              const root = host.attachShadow({ mode: 'open' });
              root.innerHTML = '<div><a href=/four>4</a></div>';
              Array.prototype.push = Set.prototype.add = () => { throw new Error('broken') };
            </script>
            """,
            ["/frame": .page("<a href=/six>6</a>")])
        let outcome = try SharedBrowser.render(origin.url("/")) { $0.wantsText = true }
        #expect(outcome.links == ["/one", "/two", "/three", "/four", "/six", "/five"].map(origin.url))
        #expect(outcome.title == "Site")
        #expect(outcome.text?.contains("again") == true)
    }

    @Test func `the text of shadow trees is read, and that of Larder's notice is not`() throws {
        let origin = try site(
            """
            <p>outer</p><div id=host></div><larder-notice id=notice></larder-notice>
            <script>
              const root = host.attachShadow({ mode: 'open' });
              root.innerHTML = '<style>p { color: red }</style>between<p>inner</p><div id=deep></div>';
              root.getElementById('deep').attachShadow({ mode: 'open' }).innerHTML = '<b>innermost</b>';
              notice.attachShadow({ mode: 'open' }).innerHTML = '<p>notice</p>';
            </script>
            """)
        let outcome = try SharedBrowser.render(origin.url("/")) { $0.wantsText = true }
        let words = outcome.text?.split { $0.isWhitespace }
        #expect(words == ["outer", "between", "inner", "innermost"])
    }

    @Test func `links beyond the maximum are not reported`() throws {
        let origin = try site(
            """
            <p><script>
              for (let i = 0; i < 20000; i++) document.body.append(
                Object.assign(document.createElement('a'), { href: '/' + i }))
            </script>
            """)
        let outcome = try SharedBrowser.render(origin.url("/"))
        #expect(outcome.links.count == PageOutcome.maxLinks)
    }

    @Test func `requests of cross-origin frames and all kinds of workers are recorded`() throws {
        let origin = try TestOrigin()
        let base = "http://a.localhost:\(origin.port)"
        let other = "http://b.localhost:\(origin.port)"
        origin.on(
            "/",
            .page(
                """
                <!DOCTYPE html><iframe src=\(other)/frame></iframe><script>
                  new Worker('/worker.js'); new SharedWorker('/shared.js');
                  navigator.serviceWorker.register('/service.js').then(() => fetch('/registered'));
                </script>
                """))
        origin.on("/frame", .page("<!DOCTYPE html><img src=/in-frame>"))
        origin.on("/worker.js", script("fetch('/by-worker')"))
        origin.on("/shared.js", script("fetch('/by-shared')"))
        origin.on("/service.js", script("oninstall = (e) => e.waitUntil(fetch('/by-service'))"))
        let outcome = try SharedBrowser.render(base + "/")
        let expected =
            [other + "/frame", other + "/in-frame"]
            + [
                "/worker.js", "/by-worker", "/shared.js", "/by-shared", "/service.js", "/by-service",
                "/registered",
            ]
            .map { base + $0 }
        #expect(Set(expected).subtracting(outcome.requests.map(\.url)) == [])
        #expect(outcome.ending == .complete)
    }

    @Test func `text and picture are the same in two renderings`() throws {
        let origin = try site(
            """
            <style>@keyframes a { from { opacity: 0 } } h1 { animation: a 9s infinite }
              p { transition: color 5s }</style>
            <h1>Hello</h1><p>World</p><input autofocus value=x>
            <script>onload = () => { document.querySelector('p').style.color = 'red' }</script>
            """)
        func look() throws -> PageOutcome {
            try SharedBrowser.render(origin.url("/")) {
                $0.wantsText = true
                $0.wantsPicture = true
                $0.viewports = [Viewport(width: 400, height: 300)]
            }
        }
        let (first, second) = (try look(), try look())
        #expect(first.text == second.text)
        let picture = try #require(first.picture)
        // The header of a PNG has its width and height.
        #expect(Array(picture[16..<24]) == [0, 0, 1, 144, 0, 0, 1, 44])
        let isSame = picture == second.picture
        #expect(isSame)
    }

    // MARK: - Actions of Larder

    @Test func `lazy images and endless lists are loaded up to the scroll limit`() throws {
        let origin = try site(
            """
            <div id=list></div><div style=height:4000px></div><img loading=lazy src=/lazy.png>
            <div id=end style=height:10px></div>
            <script>
              let page = 0;
              new IntersectionObserver((entries) => {
                if (!entries.some((e) => e.isIntersecting) || page >= 50) return;
                fetch('/page/' + page++).then(() => {
                  const div = document.createElement('div');
                  div.style.height = '1500px';
                  end.before(div);
                });
              }).observe(end);
            </script>
            """)
        func asked(_ screens: Int) throws -> Set<String> {
            targets(try SharedBrowser.render(origin.url("/")) { $0.scroll = screens }, of: origin)
        }
        #expect(try asked(0) == ["/"])
        let some = try asked(8)
        #expect(some.isSuperset(of: ["/lazy.png", "/page/0"]))
        #expect(some.count < 10)
    }

    @Test func `a page with its own scroll box is scrolled in that box`() throws {
        let origin = try site(
            """
            <style>html, body { height: 100%; margin: 0; overflow: hidden }</style>
            <main style="height: 100%; overflow: auto"><div style=height:9000px></div>
            <img loading=lazy src=/lazy.png></main>
            """)
        let outcome = try SharedBrowser.render(origin.url("/")) { $0.scroll = 20 }
        #expect(targets(outcome, of: origin) == ["/", "/lazy.png"])
    }

    @Test(
        "A button that hides others is pressed once more, so that these are used too",
        arguments: [
            ("bar.hidden = !bar.hidden", ["/", "/pressed/0", "/pressed/1", "/models"]),
            // It shows as many others, so that it is not one that folds a part.
            ("bar.hidden = true; next.hidden = false", ["/", "/pressed/0", "/runs"]),
            // Its new name says that it changes something.
            ("bar.hidden = !bar.hidden; this.textContent = 'Delete'", ["/", "/pressed/0"]),
        ] as [(String, Set<String>)])
    func foldingButtons(action: String, expected: Set<String>) throws {
        let origin = try site(
            """
            <script>var presses = 0</script>
            <button type="button" onclick="\(action); fetch('/pressed/' + presses++)">Side bar</button>
            <div id="bar"><button type="button" onclick="fetch('/models')">Models</button></div>
            <div id="next" hidden><button type="button" onclick="fetch('/runs')">Runs</button></div>
            """)
        let outcome = try SharedBrowser.render(origin.url("/")) { $0.acting = .all }
        #expect(targets(outcome, of: origin) == expected)
    }

    @Test func `links with placeholders of templates are left out`() throws {
        let origin = try site(
            """
            <a href="{url}"></a><a href="/items/{id}"></a><a href="{{ url }}"></a><a href="/${a}"></a>
            <a href="/a?b={100}"></a><a href="/{3F2504E0-4F89-11D3-9A0C-0305E82C3301}"></a><a href="/c#{d}"></a>
            """)
        let outcome = try SharedBrowser.render(origin.url("/")) { $0.maxViews = 0 }
        let paths = outcome.links.map { $0.dropFirst(origin.base.count) }
        #expect(
            paths == ["/a?b={100}", "/%7B3F2504E0-4F89-11D3-9A0C-0305E82C3301%7D", "/c#{d}"])
    }

    @Test func `further viewports and dark colours cause their own requests`() throws {
        let origin = try site(
            """
            <img srcset="/small.png 400w, /large.png 2000w" sizes=100vw>
            <style>@media (prefers-color-scheme: dark) { body { background: url(/dark.png) } }</style>
            """)
        let outcome = try SharedBrowser.render(origin.url("/")) {
            $0.viewports = [Viewport(width: 390, height: 844), Viewport(width: 1280, height: 900, scale: 2)]
            $0.seesDark = true
        }
        #expect(targets(outcome, of: origin) == ["/", "/small.png", "/large.png", "/dark.png"])
    }

    @Test func `collapsed parts are opened without sending forms or leaving the page`() throws {
        let origin = try site(
            """
            <details><summary>More</summary><img loading=lazy src=/in-details.png></details>
            <button aria-expanded=false onclick="fetch('/by-menu')">Menu</button>
            <div role=tab onclick="fetch('/by-tab')">Tab</div>
            <a href=/away aria-expanded=false>Away</a>
            <button aria-expanded=false onclick="location = '/left'">Leave</button>
            <form action=/sent><button aria-expanded=false>Send</button></form>
            <audio src=/sound.mp3 preload=none></audio>
            """)
        let outcome = try SharedBrowser.render(origin.url("/")) {
            ($0.acting, $0.isDeep) = (.all, true)
        }
        let asked = targets(outcome, of: origin)
        #expect(asked.isSuperset(of: ["/", "/in-details.png", "/by-menu", "/by-tab", "/sound.mp3"]))
        #expect(asked.isDisjoint(with: ["/away", "/sent"]))
        #expect(outcome.address == origin.url("/"))
        // The page that a button would have opened is found too.
        #expect(outcome.links == [origin.url("/away"), origin.url("/left")])
        let shallow = try SharedBrowser.render(origin.url("/"))
        #expect(targets(shallow, of: origin) == ["/"])
    }

    @Test("Search fields and buttons are used, except those that change something")
    func controls() throws {
        let origin = try site(
            """
            <title>The Hydrangea garden</title><h1>Hydrangea</h1>
            <input type=search placeholder="Search" onfocus="fetch('/index.json')" oninput="fetch('/fragment-' + value)">
            <button onclick="fetch('/plain')">Show the map</button>
            <div role=button onclick="fetch('/page-' + (this.n = (this.n || 1) + 1))">Load more</div>
            <button onclick="fetch('/deleted')">Delete this page</button>
            <button onclick="fetch('/gelöscht')">Löschen</button>
            <button id=logoutButton onclick="fetch('/out')">✕</button>
            <button class="block" onclick="history.pushState({}, '', '/view'); fetch('/view.json')">Details</button>
            <button onclick="location = '/elsewhere'">Elsewhere</button>
            <form method=post action=/posted><button>Go</button></form>
            <button onclick="fetch('/changed', { method: 'POST', body: 'x' })">Run</button>
            """)
        // A press that gets no answer would be the third and last one.
        for number in 2...11 { origin.on("/page-\(number)", .page("more")) }
        let outcome = try SharedBrowser.render(origin.url("/")) { $0.acting = .all }
        let asked = targets(outcome, of: origin)
        let others = [
            "/", "/index.json", "/fragment-Hydrangea", "/fragment-", "/plain", "/view.json", "/changed",
        ]
        let expected = Set(others + (2...11).map { "/page-\($0)" })
        #expect(asked.subtracting(["/favicon.ico"]) == expected)
        #expect(outcome.requests.filter(\.isAfterAction).count == expected.count - 1)
        #expect(
            outcome.links.contains(origin.url("/view")) && outcome.links.contains(origin.url("/elsewhere")))
        #expect(outcome.address == origin.url("/"))
        let search = try SharedBrowser.render(origin.url("/")) { $0.acting = .search }
        #expect(targets(search, of: origin).isDisjoint(with: ["/plain", "/changed"]))
        #expect(targets(search, of: origin).contains("/fragment-Hydrangea"))
    }

    @Test("Each control is used once, also if the page draws all of them anew after each use")
    func redrawnControls() throws {
        let origin = try site(
            """
            <title>Valley</title><nav id=bar></nav><p id=view></p><script>
            const draw = () => {
              view.textContent = location.pathname;
              bar.replaceChildren(...['Details', 'Details', 'Map', 'Weather'].map((text, place) => {
                const button = document.createElement('button');
                button.textContent = text;
                button.onclick = () => { history.pushState({}, '', '/view-' + place); fetch('/data-' + place); draw() };
                return button;
              }));
            };
            addEventListener('popstate', draw);
            draw();
            </script>
            """)
        let outcome = try SharedBrowser.render(origin.url("/")) { $0.acting = .all }
        let asked = targets(outcome, of: origin)
        #expect(asked.isSuperset(of: (0..<4).map { "/data-\($0)" }), "\(asked)")
        #expect(outcome.requests.filter(\.isAfterAction).count == 4)
        #expect(Set(outcome.links).isSuperset(of: (0..<4).map { origin.url("/view-\($0)") }))
    }

    @Test("Links that scripts make buttons are used, and links to pages and to parts of the page are not")
    func linkButtons() throws {
        let origin = try site(
            """
            <a href="#" onclick="fetch('/by-hash')">Reviews</a>
            <a href="javascript:void(0)" onclick="fetch('/by-script')">Photos</a>
            <a href="javascript:fetch('/by-url')">Prices</a>
            <a href="#in" class=zoomIn onclick="fetch('/in-' + (this.n = (this.n || 0) + 1)); return false">+</a>
            <a style="cursor: pointer" onclick="fetch('/without-href')">Details</a>
            <span role=link tabindex=0 onclick="fetch('/by-role')">About</span>
            <a href="/page" role=link onclick="fetch('/page')">Page</a>
            <a href="#part" onclick="fetch('/part')">Part</a><a href="/page" onclick="fetch('/page')">Page</a>
            <a href="#" onclick="fetch('/deleted')">Delete</a><a href="#" onclick="fetch('/nameless')">✕</a>
            <a href="javascript:history.back()">Back</a><p id=part><a name=mark>Mark</a>
            """, [:])
        let outcome = try SharedBrowser.render(origin.url("/")) { $0.acting = .all }
        let asked = targets(outcome, of: origin)
        let expected: Set = [
            "/", "/by-hash", "/by-script", "/by-url", "/in-1", "/in-2", "/without-href",
            "/by-role",
        ]
        #expect(asked.isSuperset(of: expected))
        #expect(asked.isDisjoint(with: ["/part", "/page", "/deleted", "/nameless"]))
        #expect(outcome.address == origin.url("/"))
    }

    @Test func `a page that asks for the same again and again becomes quiet, and its controls are used`()
        throws
    {
        let origin = try site(
            """
            <button onclick="fetch('/by-button')">More rows</button>
            <script>setInterval(() => fetch('/tick?_=' + Date.now()), 50)</script>
            """)
        origin.otherwise { _ in .file("1", type: "text/plain") }
        let outcome = try SharedBrowser.render(origin.url("/")) { $0.acting = .all }
        #expect(outcome.ending == .complete)
        #expect(targets(outcome, of: origin).contains("/by-button"))
    }

    @Test func `a control is used once per group of pages, and a control of the site's frame once per site`()
        throws
    {
        let origin = try site("")
        origin.otherwise { request in
            guard request.target.hasPrefix("/page") else { return .file("1", type: "text/plain") }
            return .page(
                """
                <header><button id=menu onclick="fetch('/menu' + location.pathname)">Menu</button></header>
                <main><button id=rows onclick="fetch('/rows' + location.pathname)">Rows 12</button></main>
                """)
        }
        let used = UsedControls()
        func targets(_ page: String, of group: String) throws -> Set<String> {
            let outcome = try SharedBrowser.render(origin.url(page)) {
                $0.acting = .all
                $0.usedControls = used
                $0.controlGroup = group
            }
            return self.targets(outcome, of: origin).subtracting([page])
        }
        #expect(try targets("/page1", of: "a") == ["/menu/page1", "/rows/page1"])
        #expect(try targets("/page2", of: "a") == [])
        #expect(try targets("/page3", of: "b") == ["/rows/page3"])
    }

    @Test func `large entries that scripts store after the page is quiet are read`() throws {
        let origin = try site(
            """
            <script>localStorage.small = 'a preference'; setTimeout(() => { localStorage.large = 'x'.repeat(5000) }, 1500)</script>
            """)
        let outcome = try SharedBrowser.render(origin.url("/")) { $0.wantsStorage = true }
        #expect(outcome.storage == ["large": String(repeating: "x", count: 5000)])
    }

    @Test func `a request tells whether a script sent it`() throws {
        let origin = try site(
            """
            <script src=/element.js></script>
            <script>document.head.append(Object.assign(document.createElement('script'), { src: '/added.js' }))</script>
            """, ["/element.js": script(""), "/added.js": script("")])
        let outcome = try SharedBrowser.render(origin.url("/")) { $0.wantsText = true }
        let fromScripts = outcome.requests.filter(\.isFromScript).map(\.url)
        #expect(fromScripts == [origin.url("/added.js")])
    }

    @Test
    func `preludes run before the page's scripts, also in frames and workers, and scripts run after them`()
        throws
    {
        let origin = try site(
            "<iframe src=/frame></iframe><script>fetch('/page-' + mark); new Worker('/worker.js')</script>",
            [
                "/frame": .page("<script>fetch('/frame-' + mark)</script>"),
                "/worker.js": script("fetch('/worker-' + mark)"),
            ])
        let outcome = try SharedBrowser.render(origin.url("/")) {
            $0.preludes = ["globalThis.mark = 'first'"]
            $0.scripts = ["fetch('/script-' + mark + document.readyState)"]
            $0.wantsText = true
        }
        #expect(
            targets(outcome, of: origin) == [
                "/", "/frame", "/worker.js", "/page-first", "/frame-first", "/worker-first",
                "/script-firstcomplete",
            ])
    }

    @Test func `all requests of a page go to its own proxy, also those to loopback`() throws {
        let proxy = try TestOrigin()
        proxy.otherwise { request in
            request.target == "http://example.com/"
                ? .page("<img src=http://127.0.0.1:1234/a.png>") : .failure(404)
        }
        let outcome = try SharedBrowser.render("http://example.com/") { $0.proxy = proxy.base }
        #expect(outcome.ending == .complete)
        #expect(
            Set(proxy.requests.map(\.target)).isSuperset(of: [
                "http://example.com/", "http://127.0.0.1:1234/a.png",
            ]))
        let alone = try SharedBrowser.render("http://example.com/")
        guard case .failed(let why) = alone.ending else {
            Issue.record("\(alone.ending)")
            return
        }
        #expect(why.hasPrefix("net::ERR_"))
    }

    // MARK: - Actions of pages

    @Test func `a page that opens one dialog after another is stopped`() throws {
        let origin = try site("<a href=/x>x</a><script>while (true) alert('again')</script>")
        let outcome = try SharedBrowser.render(origin.url("/")) { $0.limit = .seconds(600) }
        #expect(outcome.ending == .outOfTime)
        #expect(count(.dialog, of: outcome) >= 30)
        #expect(outcome.notices.first?.text == "alert: again")
        // Much earlier than the time limit.
        #expect(outcome.elapsed < .seconds(300))
    }

    @Test(arguments: [
        "<script>while (true) {}</script>", "<script>setTimeout(() => { while (true) {} }, 0)</script>",
        "<script>onload = () => { for (;;) {} }</script>",
    ])
    func `an endless loop is stopped after seconds, and the rest of the page is read`(html: String) throws {
        let origin = try site("<a href=/x>x</a>" + html)
        func look() throws -> PageOutcome {
            try SharedBrowser.render(origin.url("/")) {
                ($0.stall, $0.limit) = (.seconds(1), .seconds(600))
            }
        }
        var outcome = try look()
        // If the machine pauses the browser for that long, the browser seems to hang before it has the page.
        for _ in 0..<5 where outcome.links.isEmpty { outcome = try look() }
        #expect(outcome.ending == .hung)
        #expect(outcome.links == [origin.url("/x")])
        // Much earlier than the time limit.
        #expect(outcome.elapsed < .seconds(300))
    }

    @Test func `windows that a page opens are closed and counted`() throws {
        let origin = try site(
            "<script>for (let i = 0; i < 3; i++) window.open('/popup' + i)</script>",
            ["/popup0": .page("<img src=/in-popup>")])
        let outcome = try SharedBrowser.render(origin.url("/")) {
            $0.scripts = ["document.body.append(String(Boolean(window.open('/by-script'))))"]
        }
        #expect(outcome.ending == .complete)
        #expect(count(.window, of: outcome) == 4)
        #expect(outcome.links.first == origin.url("/popup0"))
        #expect(targets(outcome, of: origin) == ["/"])
    }

    @Test func `a URL of a file ends as a download, and downloads of a page are denied`() throws {
        let file = OriginAnswer.file("data", type: "application/octet-stream")
        let origin = try site(
            "<a id=a href=/file download>file</a><script>onload = () => a.click()</script>", ["/file": file])
        let outcome = try SharedBrowser.render(origin.url("/"))
        #expect(outcome.ending == .complete)
        #expect(count(.download, of: outcome) == 1)
        let direct = try SharedBrowser.render(origin.url("/file"))
        #expect(direct.ending == .download)
        #expect(direct.requests.map(\.url) == [origin.url("/file")])
    }

    @Test func `a download is reported only for the page that started it, from any of its frames`() throws {
        // An endless body: the browser closes the connection as soon as it has reported and denied the download.
        let file = OriginAnswer.endless("data", type: "application/octet-stream")
        let other = try site(
            "<iframe src=/inner></iframe>", ["/inner": .page("<iframe src=/file-of-other></iframe>")])
        other.on("/file-of-other", file)
        // Each file has a URL of its own, because Chromium's cache may delay a second request for the same URL.
        let origin = try site(
            """
            <a id=a href=/file-of-click download>file</a><iframe src=/file-of-frame></iframe>
            <iframe src=http://b.localhost:\(other.port)/></iframe><iframe src=/frame></iframe>
            <script>onload = () => { fetch('/waiting'); a.click() }</script>
            """,
            [
                "/file-of-click": file, "/file-of-frame": file, "/file-of-script": file,
                "/frame": .page("<a id=a href=/file-of-script download>file</a><script>a.click()</script>"),
            ])
        let bystander = try site("<img src=/waiting>")
        func open(_ url: String, on waiting: TestOrigin) throws -> Monitor<PageOutcome?> {
            waiting.hold("/waiting")
            var visit = PageVisit(url: url)
            (visit.scroll, visit.patience, visit.limit) = (0, .seconds(120), .seconds(120))
            let outcome = Monitor<PageOutcome?>(nil)
            try SharedBrowser.get().open(visit) { result in outcome.change { $0 = result } }
            #expect(waiting.waitForRequests(1, to: "/waiting"))
            return outcome
        }
        let outcome = try open(bystander.url("/"), on: bystander)
        // The page waits for `/waiting` until all downloads are refused.
        let ofBeginner = try open("http://a.localhost:\(origin.port)/", on: origin)
        #expect(origin.waitUntilClosed("/file-of-click"))
        #expect(origin.waitUntilClosed("/file-of-frame"))
        #expect(origin.waitUntilClosed("/file-of-script"))
        #expect(other.waitUntilClosed("/file-of-other"))
        origin.release("/waiting")
        let beginner = ofBeginner.wait { $0 }
        bystander.release("/waiting")
        #expect(beginner.ending == .complete)
        #expect(count(.download, of: beginner) == 4, "\(beginner.notices)")
        let seen = outcome.wait { $0 }
        #expect(seen.ending == .complete)
        #expect(seen.notices == [])
    }

    @Test func `permissions that a page requests are denied and reported`() throws {
        let origin = try site(
            """
            <script>
              globalThis.answers = [
                Notification.requestPermission(),
                new Promise((done) => navigator.geolocation.getCurrentPosition(done, (e) => done(e.code))),
                navigator.mediaDevices.getUserMedia({ video: true }).catch((e) => e.name.slice(0, 3)),
              ];
            </script>
            """)
        let outcome = try SharedBrowser.render(origin.url("/")) {
            $0.scripts = ["Promise.all(answers).then((all) => { document.title = all.join() })"]
        }
        #expect(count(.permission, of: outcome) == 3)
        #expect(outcome.title == "denied,1,Not")
    }

    @Test func `a page with ten thousand requests is stopped`() throws {
        let origin = try site(
            "<a href=/x>x</a><script>for (let i = 0; i < 10000; i++) fetch('/' + i)</script>")
        // On a loaded machine, the script blocks the page for longer than the usual limits.
        let outcome = try SharedBrowser.render(origin.url("/")) { visit in
            (visit.stall, visit.limit) = (.seconds(60), .seconds(120))
        }
        #expect(outcome.ending == .outOfTime)
        #expect(count(.tooManyRequests, of: outcome) == 1)
        #expect(outcome.requests.count <= 20_000)
        // The links are known if the page responds in time after it has been stopped.
        #expect(outcome.links.isEmpty || outcome.links == [origin.url("/x")])
    }

    @Test func `a page that uses all memory crashes without affecting other pages`() throws {
        let origin = try site(
            "<script>const all = []; for (;;) all.push(new Array(1e6).fill(all.length + 0.5))</script>")
        let fine = try site("<p>fine</p>")
        let outcome = try SharedBrowser.render(origin.url("/"))
        #expect(outcome.ending == .crashed)
        #expect(count(.crash, of: outcome) == 1)
        #expect(try SharedBrowser.render(fine.url("/")).ending == .complete)
    }

    @Test func `a beforeunload handler does not keep a page open`() throws {
        let origin = try site(
            "<script>onbeforeunload = (e) => { e.preventDefault(); return 'stay' }</script>")
        let outcome = try SharedBrowser.render(origin.url("/"))
        #expect(outcome.ending == .complete)
    }

    @Test func `script errors are reported`() throws {
        let origin = try site("<script>throw new Error('first')</script><script>nothing.at.all</script>")
        let outcome = try SharedBrowser.render(origin.url("/"))
        #expect(count(.scriptError, of: outcome) == 2)
        #expect(outcome.notices.first?.text.contains("first") == true)
    }

    @Test func `a WebSocket is reported whether or not it connects`() throws {
        let origin = try site("<script>new WebSocket(location.href.replace('http', 'ws') + 'talk')</script>")
        let outcome = try SharedBrowser.render(origin.url("/"))
        #expect(count(.webSocket, of: outcome) == 1)
        #expect(outcome.notices.first?.text.hasSuffix("/talk") == true)
    }

    @Test func `missing responses delay a page up to its time limit or its patience`() throws {
        let origin = try site("<img src=/held><a href=/x>x</a>")
        origin.hold("/held")
        var outcome = try SharedBrowser.render(origin.url("/")) { $0.limit = .seconds(4) }
        // On a loaded machine, the page may not be loaded by then.
        for limit in [30, 120] where outcome.links.isEmpty {
            outcome = try SharedBrowser.render(origin.url("/")) { $0.limit = .seconds(limit) }
        }
        #expect(outcome.ending == .outOfTime)
        #expect(outcome.links == [origin.url("/x")])
        let polling = try site("<script>onload = () => fetch('/held')</script>")
        polling.hold("/held")
        let other = try SharedBrowser.render(polling.url("/")) { $0.patience = .milliseconds(500) }
        #expect(other.ending == .complete)
        #expect(other.requests.last { $0.url.hasSuffix("/held") }?.status == nil)
        origin.release("/held")
        polling.release("/held")
    }

    @Test func `an unreachable server, an empty response and a 404 have different outcomes`() throws {
        let outcome = try SharedBrowser.render("http://127.0.0.1:\(FreePort.draw())/")
        #expect(outcome.ending == .failed("net::ERR_CONNECTION_REFUSED"))
        let origin = try site(
            "", ["/none": OriginAnswer(status: 204), "/missing": .page("<p>not here", status: 404)])
        #expect(try SharedBrowser.render(origin.url("/none")).ending == .failed("net::ERR_ABORTED"))
        let missing = try SharedBrowser.render(origin.url("/missing"))
        #expect(missing.ending == .complete)
        #expect(missing.requests.first?.status == 404)
    }
}
