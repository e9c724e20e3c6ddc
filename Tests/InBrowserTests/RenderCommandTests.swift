import Glibc
import TestOrigin
import Testing
import Web

/// Tests that the command's options about rendering have the described effect on pages.
@Suite(.enabled(if: Chromium.executable != nil, "no browser is installed"), .serialized)
struct RenderCommandTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        origin.otherwise { .file($0.target, type: "text/plain") }
    }

    /// Starts the command with a folder for its temporary files and those of its browser.
    private func start(_ words: [String]) throws -> ChildProcess {
        mkdir(home.file("tmp"), 0o700)
        return try ChildProcess(
            ChildProcess.built("larder"), words,
            environment: [
                "HOME": home.path, "PATH": "/usr/bin:/bin", "TMPDIR": home.file("tmp"),
                "LARDER_PROGRESS": "none",
                "LARDER_CHROMIUM": Chromium.executable ?? "",
            ])
    }

    private func prefetch(_ options: String..., pages: [String] = ["/"]) throws -> ChildProcess.Ending {
        try start(["prefetch"] + pages.map(origin.url) + ["--render", "always"] + options).wait()
    }

    private func page(_ script: String, _ body: String = "") {
        origin.on("/", .page("<!DOCTYPE html><title>t</title>\(body)<script>\(script)</script>"))
    }

    /// The requested paths with this beginning, sorted.
    private func requested(_ prefix: String) -> [String] {
        origin.requests.map(\.target).filter { $0.hasPrefix(prefix) }.sorted()
    }

    @Test func `a page is rendered in each viewport, in the order of the option`() throws {
        page(
            """
            const tell = () => fetch(['', 'seen', innerWidth, innerHeight, devicePixelRatio].join('/'));
            onresize = tell; tell()
            """, "<meta name=viewport content='width=device-width'>")
        #expect(try prefetch("--viewport", "1000x700,390x844@3").status == 0)
        #expect(requested("/seen/").first == "/seen/1000/700/1")
        #expect(requested("/seen/").last == "/seen/390/844/3")
    }

    @Test(arguments: [(["--render-dark"], ["/dark"]), ([], [])])
    func `the dark colour scheme is rendered only with --render-dark`(options: [String], expected: [String])
        throws
    {
        page(
            "matchMedia('(prefers-color-scheme: dark)').onchange = e => { if (e.matches) fetch(['', 'dark'].join('/')) }"
        )
        #expect(try start(["prefetch", origin.url("/"), "--render", "always"] + options).wait().status == 0)
        #expect(requested("/dark") == expected)
    }

    @Test(
        "Folded details are opened, unless the option --act forbids it",
        arguments: [
            (["--render-deep"], ["/opened"]), ([], ["/opened"]), (["--act", "search"], []),
            (["--act", "never"], []),
        ])
    func foldedDetails(options: [String], expected: [String]) throws {
        page(
            "document.querySelector('details').ontoggle = () => fetch(['', 'opened'].join('/'))",
            "<details><summary>more</summary>text</details>")
        #expect(try start(["prefetch", origin.url("/"), "--render", "always"] + options).wait().status == 0)
        #expect(requested("/opened") == expected)
    }

    @Test("Search fields and buttons load data, and requests that could change something are not sent")
    func controlsLoadData() throws {
        page(
            """
            search.onfocus = () => fetch(['', 'index', 'json'].join('/'));
            photo.onclick = () => fetch(['', 'photo', 'json'].join('/'));
            more.onclick = () => fetch(['', 'more', 'json'].join('/'));
            run.onclick = () => fetch(['', 'changed'].join('/'), { method: 'POST', body: 'x' });
            """,
            "<input type=search id=search><p style='cursor: pointer'><img id=photo width=9 height=9></p><button id=more>Show more</button><button id=run>Run</button>"
        )
        let ending = try start(["prefetch", origin.url("/")]).wait()
        #expect(ending.status == 0)
        #expect(requested("/index/") == ["/index/json"])
        #expect(requested("/more/") == ["/more/json"])
        #expect(requested("/photo/") == ["/photo/json"])
        #expect(requested("/changed") == [])
        #expect(
            ending.output.contains(
                "1 request by buttons not sent, because they might change something on the server"))
        origin.stop()
        let check = try start(["check", "--offline", "--render", origin.url("/")]).wait()
        #expect(check.status == 0, "\(check.output)")
    }

    @Test("URLs that a control requests on two pages are fetched for all similar pages")
    func controlsOfSimilarPages() throws {
        let script = """
            <script>
            more.onclick = () => fetch(['', 'reviews', location.pathname.split('/')[2] + '.json'].join('/'))
              .then(r => r.text()).then(t => words.textContent = t)
            </script>
            """
        for number in 1...20 {
            origin.on(
                "/products/\(number)",
                .page(
                    "<title>\(number)</title><p id=words>Product \(number)</p><button id=more>Reviews</button>\(script)"
                ))
            origin.on(
                "/reviews/\(number).json", .file("{\"text\": \"Review \(number)\"}", type: "application/json")
            )
        }
        origin.on("/", .page((1...20).map { "<a href=/products/\($0)>\($0)</a>" }.joined()))
        #expect(try start(["prefetch", origin.url("/")]).wait().status == 0)
        #expect(requested("/reviews/").count == 20, "\(requested("/reviews/"))")
        #expect(try start(["update"]).wait().output.contains("nothing has changed"))
    }

    @Test("A covered control is pressed, and a removed one is skipped")
    func coveredControl() throws {
        page(
            """
            first.onclick = () => second.remove();
            label.onclick = () => fetch(['', 'pressed', 'json'].join('/'));
            """,
            """
            <button id=first>Show details</button><button id=second>More details</button>
            <div role=button style="display: inline-block; padding: 9px"><i></i><span id=label>Weather</span></div>
            <div style="position: fixed; inset: 0"></div>
            """)
        #expect(try start(["prefetch", origin.url("/")]).wait().status == 0)
        #expect(requested("/pressed/") == ["/pressed/json"])
    }

    /// A tab's content is removed when the next tab is opened, and so are requests that the content would have made
    /// later.
    @Test func `tabs are opened one after the other, and each may finish its requests`() throws {
        page(
            """
            let shown;
            for (const tab of document.querySelectorAll('[role=tab]')) tab.onclick = async () => {
              const name = shown = tab.textContent;
              for (const e of document.querySelectorAll('[role=tab]')) e.ariaSelected = String(e === tab);
              location.hash = name;
              panel.innerHTML = `<a href="/of/${name}">of ${name}</a>`;
              await fetch('/list/' + name);
              if (shown === name) fetch(['', 'tab', name].join('/'));
            }
            """,
            "abc".map { "<div role=tab aria-selected=\($0 == "a")>\($0)</div>" }.joined()
                + "<div role=tab aria-selected=false aria-disabled=true>d</div><p id=panel>")
        #expect(try prefetch("--render-deep").status == 0)
        #expect(requested("/tab/") == ["/tab/a", "/tab/b", "/tab/c"])
        #expect(requested("/of/") == ["/of/a", "/of/b", "/of/c"])
    }

    /// Libraries add their listeners to an element inside the control or around it, or for the first events of a press.
    @Test(arguments: [
        ("inner.onclick = tell", "<div role=tab><i><b id=inner>a</b></i></div>"),
        ("outer.onmousedown = e => { if (e.button === 0) tell() }", "<button id=outer role=tab>a</button>"),
        ("outer.onpointerdown = tell", "<button id=outer aria-haspopup=menu>a</button>"),
        ("outer.onclick = tell", "<div style='height:3000px'></div><button id=outer role=tab>a</button>"),
        (
            "host.attachShadow({mode: 'open'}).innerHTML = '<b role=tab><i>a</i></b>';"
                + "host.shadowRoot.querySelector('i').onclick = tell", "<p id=host></p>"
        ),
    ])
    func `a control is pressed with the same events as by a user`(script: String, body: String) throws {
        page("const tell = () => fetch(['', 'pressed'].join('/')); \(script)", body)
        #expect(try prefetch("--render-deep").status == 0)
        #expect(requested("/pressed") == ["/pressed"])
    }

    @Test func `a menu is closed after its links were collected, so that the next one opens`() throws {
        page(
            """
            for (const name of ['a', 'b']) document.getElementById(name).onclick = () => {
              if (menu.innerHTML) return;
              menu.innerHTML = `<a href="/of/${name}">of ${name}</a>`;
            };
            onkeydown = e => { if (e.key === 'Escape') menu.innerHTML = '' }
            """,
            "<button id=a aria-haspopup=menu>a</button><button id=b aria-haspopup=true>b</button><p id=menu></p>"
        )
        #expect(try prefetch("--render-deep").status == 0)
        #expect(requested("/of/") == ["/of/a", "/of/b"])
    }

    /// The inner tabs are removed when the next outer tab is opened, and content far down is loaded when it comes into
    /// view.
    @Test func `tabs inside the panel of a tab are opened, and the panel is scrolled`() throws {
        page(
            """
            const show = (name, box, inner) => {
              box.innerHTML = `<h1>${name}</h1><div role=tablist>${inner.map(n => `<b role=tab>${n}</b>`).join('')}</div>`
                + `<p class=box></p><div style="height:2000px"></div><i>end</i>`;
              const watch = new IntersectionObserver(all => {
                if (all.some(e => e.isIntersecting)) fetch(['', 'end', name].join('/'));
              });
              watch.observe(box.querySelector('i'));
              box.querySelectorAll('b').forEach(tab => { tab.onclick = () => {
                const panel = tab.parentNode.nextSibling;
                fetch(['', 'tab', name, tab.textContent].join('/'));
                show(name + tab.textContent, panel, []);
              } });
            };
            document.querySelectorAll('#top b').forEach(tab => {
              tab.onclick = () => show(tab.textContent, panel, ['x', 'y']);
            });
            """, "<div id=top role=tablist><b role=tab>a</b><b role=tab>b</b></div><div id=panel></div>")
        #expect(try prefetch("--render-deep").status == 0)
        #expect(requested("/tab/") == ["/tab/a/x", "/tab/a/y", "/tab/b/x", "/tab/b/y"])
        #expect(Set(requested("/end/")).isSuperset(of: ["/end/a", "/end/b"]))
    }

    @Test("Controls that the prefetch used are used again when the check opens the pages offline")
    func controlsOffline() throws {
        page(
            "document.querySelector('b').onclick = () => fetch('/late/' + document.body.dataset.word)",
            "<b role=tab>a</b>")
        #expect(try prefetch("--render-deep").status == 0)
        let check = ["check", "--offline", origin.url("/"), "--render"]
        #expect(try start(check).wait().status == 0)
        // Offline, the control of this page requests another URL, which the prefetch notices and fetches.
        origin.on(
            "/",
            .page(
                "<!DOCTYPE html><title>t</title><b role=tab>a</b><script>document.querySelector('b').onclick = () => "
                    + "{ if (location.host.endsWith('.localhost:' + location.port)) fetch(['', 'lost'].join('/')) }</script>"
            ))
        #expect(try prefetch("--render-deep").status == 0)
        #expect(requested("/lost") == ["/lost"])
        #expect(try start(check).wait().status == 0)
    }

    @Test func `the check compares pages in the viewport in which they were rendered`() throws {
        page(
            "document.body.textContent = `${innerWidth} wide`",
            "<meta name=viewport content='width=device-width'>")
        #expect(try prefetch("--viewport", "700x600,390x844", "--render-pictures").status == 0)
        let ending = try start(["check", "--offline", origin.url("/"), "--render"]).wait()
        #expect(ending.status == 0 && !ending.output.contains("shows"), "\(ending)")
        #expect(ending.output.contains("compared the text of 1 and the screenshot of 1"), "\(ending)")
    }

    @Test(arguments: [("0", 1), ("2", 3)])
    func `an endless list is scrolled by the number of screens in --render-scroll`(
        screens: String, count: Int
    ) throws {
        page(
            """
            let row = 0;
            const more = () => {
              fetch(['', 'row', ++row].join('/'));
              document.body.insertAdjacentHTML('beforeend', '<div style="height:100vh">row</div>');
            };
            const end = document.createElement('i');
            document.body.style.margin = 0; more(); let last = 0;
            onscroll = () => { if (Math.round(scrollY / innerHeight) > last) { last++; more(); } }
            """, "<div style='height:300vh'></div>")
        #expect(try prefetch("--render-scroll", screens).status == 0)
        #expect(requested("/row/").count == count)
    }

    @Test func `scripts of --render-script run in the pages that their pattern matches`() throws {
        origin.on("/", .page("<!DOCTYPE html><p>start<a href=/shop/1>1</a>"))
        origin.on("/shop/1", .page("<!DOCTYPE html><p>shop"))
        let all = try home.write("fetch('/all' + location.pathname)", to: "all.js")
        let shop = try home.write("fetch('/shop-only' + location.pathname)", to: "shop.js")
        #expect(try prefetch("--render-script", all, "--render-script", "/shop/**=\(shop)").status == 0)
        #expect(requested("/all") == ["/all/", "/all/shop/1"])
        #expect(requested("/shop-only") == ["/shop-only/shop/1"])
    }

    @Test func `with --render-tabs 1, pages are rendered one after the other`() throws {
        origin.on(
            "/", .page("<!DOCTYPE html><p>start" + (1...4).map { "<a href=/p/\($0)>\($0)</a>" }.joined()))
        for number in 1...4 {
            origin.on(
                "/p/\(number)",
                .page(
                    """
                    <!DOCTYPE html><p>\(number)<script>
                    // Not a template for other pages: `of1` is not the name of a page.
                    const tell = word => fetch(['', word, 'of\(number)'].join('/'));
                    tell('begin'); setTimeout(() => tell('end'), 300)</script>
                    """))
        }
        #expect(try prefetch("--render-tabs", "1").status == 0)
        let words = origin.requests.map(\.target).filter { $0.hasPrefix("/begin") || $0.hasPrefix("/end") }
        #expect(words.map { $0.split(separator: "/")[0] } == (1...4).flatMap { _ in ["begin", "end"] })
    }

    @Test(arguments: [SIGHUP, SIGINT, SIGTERM])
    func `a signal ends the command, and no browser process or temporary file is left`(signal: Int32) throws {
        page("(async () => { for (let n = 0;; n++) { await fetch(['', 'again', n].join('/')) } })()")
        let child = try start(["prefetch", origin.url("/"), "--render", "always", "--render-time", "60"])
        #expect(origin.waitForRequests(1, to: "/again/3"))
        child.signal(signal)
        #expect(child.wait().status == 130)
        #expect(home.names(in: "tmp").isEmpty)
        // The processes have been killed, but a loaded machine may need time to end them.
        let end = ContinuousClock.now + .seconds(120)
        while !processes(naming: home.path).isEmpty, ContinuousClock.now < end { usleep(5000) }
        #expect(processes(naming: home.path).isEmpty)
    }

    /// Returns the command lines of the processes that have the folder among their arguments.
    private func processes(naming path: String) -> [String] {
        guard let folder = opendir("/proc") else { return [] }
        defer { closedir(folder) }
        var found: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard Int(name) != nil, let file = fopen("/proc/\(name)/cmdline", "r") else { continue }
            defer { fclose(file) }
            var bytes = [UInt8](repeating: 0, count: 65_536)
            let count = fread(&bytes, 1, bytes.count, file)
            let line = String(decoding: bytes[..<count], as: UTF8.self)
            if line.contains(path) { found.append(line) }
        }
        return found
    }
}
