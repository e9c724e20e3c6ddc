import Browser
import Crawl
import Digest
import Glibc
import Store
import System
import TestOrigin
import Testing
import Web

@testable import LarderKit

/// Tests the rehearsal, which opens pages with scripts from the store alone, at the end of a prefetch and in a check.
@Suite(.enabled(if: Chromium.executable != nil, "no browser is installed"), .serialized)
struct RehearsalTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        origin.on(
            "/words.json",
            .file(#"{"text":"Nine words that a script of the page has loaded"}"#, type: "application/json"))
        origin.on("/favicon.ico", .failure(404))
    }

    private func larder(_ words: [String], browser: String? = Chromium.executable) throws
        -> ChildProcess.Ending
    {
        try start(words, browser: browser).wait()
    }

    private func start(_ words: [String], browser: String? = Chromium.executable) throws -> ChildProcess {
        mkdir(home.file("tmp"), 0o700)
        return try ChildProcess(
            ChildProcess.built("larder"), words,
            environment: [
                "HOME": home.path, "PATH": "/usr/bin:/bin", "TMPDIR": home.file("tmp"),
                "LARDER_PROGRESS": "none", "LARDER_CHROMIUM": browser ?? "",
            ])
    }

    /// A page that shows the text that `url`, a JavaScript expression, loads.
    private func page(loading url: String) -> OriginAnswer {
        .page(
            """
            <!DOCTYPE html><title>t</title><p id=words>
            <script>fetch(\(url)).then(r => r.json()).then(d => words.textContent = d.text)</script>
            """)
    }

    /// Distinguishes the mirror from the site: the names of mirrored hosts end in `localhost`.
    private static let isMirror = "location.hostname.endsWith('localhost')"

    @Test("A site whose pages show the same offline as online passes --require rehearsed")
    func equalPages() throws {
        origin.on("/", page(loading: "['', 'words.json'].join('/')"))
        let prefetch = try larder(["prefetch", origin.url("/")])
        #expect(prefetch.output.contains("1 page with scripts opened: same offline as online"))
        origin.stop()
        let check = try larder(["check", origin.url("/"), "--require", "rehearsed"])
        #expect(check.status == 0, "\(check)")
        #expect(check.output.contains("\n1 page with scripts opened: same offline as online\n"), "\(check)")
        #expect(check.output.hasSuffix("are stored and undamaged\n"), "\(check)")
        let json = try larder(["check", origin.url("/"), "--json"]).output
        let rehearsal = try #require(try JSONValue.parse(Array(json.utf8).span)["rehearsal"])
        #expect(rehearsal["level"]?.string == "rehearsed")
        #expect(rehearsal["kinds"]?.array?.first?["result"]?.string == "equal")
    }

    @Test("A request that contains the width of another window and another browser is stored, too")
    func otherDevice() throws {
        origin.on(
            "/",
            page(
                loading:
                    "'/w' + innerWidth + (navigator.userAgent.includes('Headless') ? '-own' : '-other') + '.json'"
            ))
        origin.otherwise { request in
            request.target.hasPrefix("/w")
                ? .file(#"{"text":"Words for windows of all sizes and browsers"}"#, type: "application/json")
                : .failure(404)
        }
        let prefetch = try larder(["prefetch", origin.url("/")])
        #expect(prefetch.output.contains("1 page with scripts opened: same offline as online"))
        let loaded = origin.requests.map(\.target).filter { $0.hasPrefix("/w") }
        #expect(loaded == ["/w1280-own.json", "/w1366-other.json"])
    }

    /// A page that is blank when it is mirrored.
    private static let livePage = OriginAnswer.page(
        """
        <!DOCTYPE html><title>t</title><style id=look></style><div id=host></div><input id=field><p id=words></p>
        <canvas id=drawing width=20 height=20 onclick="go()"></canvas>
        <script>
        fetch(['', 'words.json'].join('/'));
        if (!\(isMirror)) {
          words.textContent = 'Words that only the live site shows';
          look.sheet.insertRule('#words { color: green }');
          host.attachShadow({ mode: 'open' }).innerHTML = '<b onclick=go()>In a shadow tree</b>';
          field.value = 'typed';
          drawing.getContext('2d').fillRect(0, 0, 20, 20);
        }
        </script>
        """)

    /// A script that loads the modules that a page names in one request, and keeps copies of them in `localStorage`.
    private static let moduleLoader = """
        const kept = JSON.parse(localStorage.getItem('modules')) ?? {};
        const define = (name, source) => { kept[name] = source; show(name); };
        const show = (name) => document.body.append(Object.assign(document.createElement('p'), { textContent: `Module ${name} runs` }));
        addEventListener('DOMContentLoaded', () => {
          const names = document.documentElement.dataset.modules.split(' ');
          names.filter((name) => name in kept).forEach(show);
          const missing = names.filter((name) => !(name in kept));
          if (missing.length) document.head.append(
            Object.assign(document.createElement('script'), { src: '/load?modules=' + missing.join('.') }));
          setTimeout(() => localStorage.setItem('modules', JSON.stringify(kept)), 1000);
        });
        """

    /// The response with the modules of a request of `moduleLoader`.
    private static func modules(_ target: String) -> String {
        let names = target.split(separator: "=").last?.split(separator: ".") ?? []
        return names.map { name in
            let lines = (1...60).map { number in
                "// Line \(number) of the module with the name \(name), which is long enough to be recognised."
            }
            return "define('\(name)', `\(lines.joined(separator: "\n"))`);"
        }.joined(separator: "\n")
    }

    @Test("A page shows all modules, although its scripts kept copies of some when another page was shown")
    func scriptCopies() throws {
        func page(_ modules: String) -> OriginAnswer {
            .page(
                """
                <!DOCTYPE html><html data-modules="\(modules)"><title>t</title><script src=/loader.js></script>
                <body><a href=/one>One</a> <a href=/two>Two</a>
                """)
        }
        origin.on("/", page("start"))
        origin.on("/one", page("first second"))
        origin.on("/two", page("second third"))
        origin.on("/loader.js", .file(Self.moduleLoader, type: "text/javascript"))
        origin.otherwise { request in
            guard request.target.hasPrefix("/load?") else { return .failure(404) }
            return .file(Self.modules(request.target), type: "text/javascript")
        }
        let prefetch = try larder(["prefetch", origin.url("/"), "--render", "always"])
        #expect(prefetch.status == 0, "\(prefetch)")
        origin.stop()
        let server = try Server(home)
        defer { server.stop() }
        let visit = try Chromium().open(try server.address(of: origin, "/one"))
        let isKept =
            "new Promise((done) => { const wait = () => localStorage.modules ? done(true) : setTimeout(wait, 50); wait() })"
        #expect(try visit.evaluate(isKept)?.bool == true)
        try visit.navigate(to: try server.address(of: origin, "/two"))
        func expectAllModules() throws {
            let text = try visit.text()
            #expect(text.contains("Module second runs") && text.contains("Module third runs"), "\(text)")
        }
        try expectAllModules()
        // The same in files.
        let export = try larder(["export", origin.url("/"), home.file("out/")])
        #expect(export.status == 0, "\(export)")
        try visit.navigate(to: "file://" + home.file("out/one.html"))
        #expect(try visit.evaluate(isKept)?.bool == true)
        try visit.navigate(to: "file://" + home.file("out/two.html"))
        try expectAllModules()
    }

    @Test("A page that is blank offline is served as a frozen copy without scripts")
    func frozenCopy() throws {
        origin.on("/", Self.livePage)
        let prefetch = try larder(["prefetch", origin.url("/")])
        #expect(
            prefetch.output.contains(
                "served as frozen copies, without scripts: 1 page, such as \(origin.url("/"))"))
        origin.stop()
        let check = try larder(["check", origin.url("/"), "--require", "rehearsed"])
        #expect(check.status == 0, "\(check)")
        let server = try Server(home)
        defer { server.stop() }
        let page = try server.page(of: origin)
        let expected = [
            "Words that only the live site shows", "#words { color: green; }",
            #"<template shadowrootmode="open"><b>In a shadow tree</b></template>"#, #"value="typed""#,
            #"<img id="drawing" width="20" height="20" src="data:image/png;base64,"#,
            #"larder-scripts">Open it with scripts</a>"#,
        ]
        for part in expected { #expect(page.contains(part), "\(part)") }
        #expect(!page.contains("<script>\nif"))
        #expect(try server.page(of: origin, "/?larder-scripts").contains("if (!location.hostname"))
    }

    /// The start of a page that loads for ever on the live site, where it shows these words. In the mirror, `then` runs.
    private static func restlessPage(inMirror then: String) -> OriginAnswer {
        .page(
            """
            <!DOCTYPE html><title>t</title><p id=words></p><script>
            if (\(isMirror)) { \(then) } else {
              words.textContent = 'Words that the live site shows while it loads';
              // Requests for the same URL would count as a poll, which keeps no page loading.
              let part = 0;
              setInterval(() => fetch('/more/' + part++), 50);
            }
            </script>
            """)
    }

    @Test("A page that never ends loading and is blank offline is served as it was when its time was over")
    func restlessPage() throws {
        origin.on("/", Self.restlessPage(inMirror: ""))
        let prefetch = try larder(["prefetch", origin.url("/"), "--render-time", "8s"])
        #expect(prefetch.output.contains("served as frozen copies, without scripts: 1 page"), "\(prefetch)")
        origin.stop()
        let server = try Server(home)
        defer { server.stop() }
        #expect(try server.page(of: origin).contains("Words that the live site shows while it loads"))
    }

    @Test("A page that shows more offline than when its time was over is equal")
    func grownPage() throws {
        let words =
            "words.textContent = 'Words that the live site shows while it loads and the rest of the text'"
        origin.on("/", Self.restlessPage(inMirror: words))
        _ = try larder(["prefetch", origin.url("/"), "--render-time", "8s"])
        origin.stop()
        let check = try larder(["check", origin.url("/")])
        #expect(check.output.contains("1 page with scripts opened: same offline as online"), "\(check)")
    }

    /// `larder serve` on a free port.
    private struct Server {
        private let process: ChildProcess
        private let port: Int

        init(_ home: TemporaryFolder) throws {
            process = try ChildProcess(
                ChildProcess.built("larder"), ["serve", "--port", "0"],
                environment: ["HOME": home.path, "PATH": "/usr/bin:/bin"])
            let line = process.read(until: "/ (Ctrl-C")
            port = try #require(
                line.split(separator: "http://localhost:").last?.split(separator: "/").first.flatMap {
                    Int($0)
                })
        }

        func address(of origin: TestOrigin, _ target: String) throws -> String {
            let address = try #require(WebURL(origin.url(target)))
            return "http://port-\(address.port ?? 0).127-0-0-1.localhost:\(port)\(target)"
        }

        func page(of origin: TestOrigin, _ target: String = "/") throws -> String {
            let address = try #require(WebURL(origin.url("/")))
            let client = try RawClient(port: port)
            return try client.get(
                target, host: "port-\(address.port ?? 0).127-0-0-1.localhost:\(port)",
                fields: [("Sec-Fetch-Dest", "document"), ("Sec-Fetch-Site", "none")]
            ).text
        }

        func stop() {
            process.signal(SIGINT)
            _ = process.wait()
        }
    }

    @Test("A page that is blank offline fails the check, although everything that it links to is stored")
    func blankPage() throws {
        origin.on("/", Self.livePage)
        let prefetch = try larder(["prefetch", origin.url("/"), "--freeze", "never"])
        #expect(prefetch.output.contains("differs offline: \(origin.url("/")): a browser shows other text"))
        origin.stop()
        let check = try larder(["check", origin.url("/")])
        #expect(check.status == 1)
        #expect(
            check.output.contains(
                "mismatch \(origin.url("/")): a browser shows other text than at the prefetch"))
        let read = try larder(["check", origin.url("/"), "--require", "read"])
        #expect(read.status == 0)
        #expect(read.output.contains("no page was opened, because of --require read"))
    }

    @Test("Without a browser, the check reports the pages that it could not compare")
    func withoutBrowser() throws {
        origin.on("/", page(loading: "['', 'words.json'].join('/')"))
        #expect(try larder(["prefetch", origin.url("/")], browser: nil).status == 0)
        let check = try larder(["check", origin.url("/")], browser: nil)
        #expect(check.status == 0)
        #expect(
            check.output.contains(
                "not compared with the live site: 1 page with scripts, \(origin.url("/")): no browser was found"
            ))
        #expect(check.output.contains("; some kinds of pages with scripts were not compared"))
        let strict = try larder(["check", origin.url("/"), "--require", "rehearsed"], browser: nil)
        #expect(strict.status == 2)
        #expect(strict.errors.contains("cannot find a Chromium or Chrome"))
        // With a browser, the check knows that the prefetch rendered no page.
        let unseen = try larder(["check", origin.url("/"), "--require", "rehearsed"])
        #expect(unseen.status == 1)
    }

    @Test("URLs that pages request only offline are fetched before the prefetch ends")
    func offlineRequests() throws {
        origin.on(
            "/other.json",
            .file(#"{"text":"Nine words that a script of the page has loaded"}"#, type: "application/json"))
        origin.on(
            "/",
            page(
                loading:
                    "['', \(Self.isMirror) ? 'other' : 'words', 'json'].join('/').replace('/json', '.json')"))
        let prefetch = try larder(["prefetch", origin.url("/")])
        #expect(prefetch.status == 0)
        #expect(origin.requests.count { $0.target == "/other.json" } == 1)
        #expect(
            origin.requests.count { $0.target == "/words.json" } == 1, "what is stored is not requested again"
        )
        #expect(prefetch.output.contains("1 page with scripts opened: same offline as online"))
        let snapshots = try JSONValue.parse(Array(larder(["snapshots", "--json"]).output.utf8).span)
        #expect(
            snapshots["sites"]?.array?.first?["snapshots"]?.array?.map { $0["number"]?.int } == [1],
            "a rollback leads to the state before the prefetch")
        origin.stop()
        #expect(try larder(["check", origin.url("/"), "--require", "rehearsed"]).status == 0)
    }

    @Test("An interrupted rehearsal is reported in text, JSON and exit status, and the snapshot stays")
    func interruption() throws {
        origin.hold("/other.json")
        origin.on(
            "/",
            page(
                loading:
                    "['', \(Self.isMirror) ? 'other' : 'words', 'json'].join('/').replace('/json', '.json')"))
        /// Interrupts a prefetch when the rehearsal fetches what the page requests only offline.
        func interrupted(_ options: String...) throws -> ChildProcess.Ending {
            origin.forgetRequests()
            let store = home.file("store\(options.count)")
            let process = try start(["prefetch", origin.url("/"), "--store", store] + options)
            let hasReachedRehearsal = origin.waitForRequests(1, to: "/other.json")
            process.signal(SIGINT)
            let ending = process.wait()
            try #require(hasReachedRehearsal, "\(ending)")
            return ending
        }
        let run = try interrupted()
        #expect(run.status == 130)
        let page = origin.url("/")
        let line =
            "not compared with the live site: 1 page with scripts, \(page): the rehearsal was interrupted"
        #expect(run.output.contains(line) && run.output.contains("Not rehearsed: interrupted; "), "\(run)")
        let json = try interrupted("--json")
        #expect(json.status == 130)
        let report = try JSONValue.parse(Array(json.output.utf8).span)
        #expect(report["live"]?.bool == true && report["interrupted"]?.bool == false)
        let rehearsal = try #require(report["rehearsal"])
        #expect(rehearsal["level"]?.string == "read" && rehearsal["interrupted"]?.bool == true)
        #expect(rehearsal["kinds"]?.array?.first?["result"]?.string == "unknown")
        // The time of the rehearsal is part of the total.
        let part = try #require(report["rehearsalSeconds"]?.double)
        let total = try #require(report["seconds"]?.double)
        #expect(0 < part && part < total)
        origin.release("/other.json")
    }

    @Test("A URL that failed during the prefetch is not fetched again, and fails in the same way offline")
    func failedURL() throws {
        origin.on("/words.json", .failure(501))
        origin.on("/", page(loading: "['', 'words.json'].join('/')"))
        let prefetch = try larder(["prefetch", origin.url("/")])
        #expect(prefetch.status == 1)
        #expect(prefetch.output.contains("\(origin.url("/words.json")): the server answered 501"))
        #expect(prefetch.output.contains("1 page with scripts opened: same offline as online"))
        #expect(origin.requests.count { $0.target == "/words.json" } == 1)
    }

    @Test("A request to a host without an address is broken, as online, and no difference")
    func unknownHost() throws {
        let request = "fetch(['http:', '', 'gone.invalid', 'a.json'].join('/')).catch(() => 0)"
        origin.on("/", .page("<!DOCTYPE html><p>Five words of the page</p><script>\(request)</script>"))
        _ = try larder(["prefetch", origin.url("/")])
        // A machine without a name server cannot tell whether the name exists.
        let larder = Larder(at: home.file(".local/share/larder"))
        let site = try #require(try StoreReader(larder.folder).sites().first)
        var plan = SitePlan(text: site.settings)
        for number in plan.missing.indices { plan.missing[number].unknownHosts = ["gone.invalid"] }
        try StoreWriter(larder.folder).storeSettings(plan.text, ofSite: site.name)
        var options = OfflineCheckOptions()
        options.browserCheck = .init()
        options.browserCheck?.browser = Chromium.executable
        let findings = try OfflinePageCheck(larder, site: site.name, options).findings(Interruption())
        #expect(findings.items.map { WebURL($0.name)?.host } == ["gone.invalid"])
        #expect(findings.items.first?.verdict == .broken)
        #expect(findings.missing.isEmpty)
        #expect(findings.rehearsal.level == .rehearsed)
    }

    @Test(
        "A response to a similar request is named if the page differs or was not compared",
        arguments: [true, false])
    func similarAnswer(isOfView: Bool) throws {
        let load =
            "fetch(['', 'words.json?from='].join('/') + Date.now()).then(r => r.json()).then(d => d.text)"
        let show = "const other = \(Self.isMirror) ? 'quite other words in the mirror than online: ' : ''"
        let script =
            isOfView
            ? "onhashchange = () => \(load)" : "\(show); \(load).then(t => words.textContent = other || t)"
        origin.on(
            "/", .page("<!DOCTYPE html><p id=words>Words</p><a href='#/view'>v</a><script>\(script)</script>")
        )
        _ = try larder(["prefetch", origin.url("/"), "--freeze", "never"])
        origin.stop()
        let check = try larder(["check", origin.url("/")])
        let url = origin.url("/words.json?from=")
        if isOfView {
            #expect(check.status == 0, "\(check)")
            let note = "of views or controls answered with the stored response to a similar request"
            #expect(check.output.contains("\(note), which was not compared: \(url)"), "\(check)")
        } else {
            #expect(check.status == 1, "\(check)")
            let reason = "; it got the stored response to a similar request for \(url)"
            #expect(check.output.contains(reason), "\(check)")
        }
    }

    @Test("A page that was equal is not opened again after the site got more responses")
    func equalPageIsOpenedOnce() throws {
        let words = "['', 'words.json'].join('/')"
        origin.on("/", .page("<!DOCTYPE html><a href=/a>a</a><a href=/b>b</a>"))
        origin.on("/a", page(loading: words))
        // Only the second page requests another file offline, so its text differs.
        origin.on("/b", .page("<!DOCTYPE html><p id=words><script src=/b.js></script>"))
        origin.on(
            "/b.js",
            .file(
                """
                fetch(['', \(Self.isMirror) ? 'other' : 'words', 'json'].join('/').replace('/json', '.json'))
                  .then(r => r.json()).then(d => words.textContent = 'B: ' + d.text)
                """, type: "text/javascript"))
        origin.on("/other.json", .file(#"{"text":"Other words"}"#, type: "application/json"))
        let browser = try #require(Chromium.executable)
        let prefetch = try larder(["prefetch", origin.url("/"), "--render", "always", "--freeze", "never"])
        #expect(prefetch.status == 0, "\(prefetch)")
        var options = OfflineCheckOptions()
        options.browserCheck = .init()
        options.browserCheck?.browser = browser
        let check = try OfflinePageCheck(
            Larder(at: home.file(".local/share/larder")), site: origin.url("/"), options)
        let first = try check.findings(Interruption())
        let equal = first.opened.filter(\.isEqual)
        #expect(equal.map(\.page.url.path).sorted() == ["/", "/a"])
        let second = try check.findings(Interruption(), after: first.opened)
        let times = { (opened: [OfflinePageCheck.OpenedPage]) in
            Dictionary(uniqueKeysWithValues: opened.map { ($0.page.url.path, $0.outcome.elapsed) })
        }
        #expect(times(first.opened)["/a"] == times(second.opened)["/a"])
        #expect(times(first.opened)["/b"] != times(second.opened)["/b"])
        #expect(second.rehearsal == first.rehearsal)
        #expect(second.items == first.items)
    }

    @Test("A view behind a tab may load its data by POST in a fresh page, and the tab itself sends none")
    func viewsOfTabs() throws {
        origin.on(
            "/",
            .page(
                """
                <!DOCTYPE html><title>t</title><p>Words of the page.<p id=words></p>
                <button role=tab onclick="location.hash = 'tables'; fetch('/change', { method: 'POST' })">Tables</button>
                <script>
                const show = () => {
                  if (location.hash !== '#tables') return;
                  fetch(['', 'query'].join('/'), { method: 'POST', body: 'tables' }).then(r => r.json())
                    .then(d => words.textContent = d.text);
                };
                addEventListener('hashchange', show);
                show();
                </script>
                """))
        origin.otherwise { request in
            guard request.method == "POST", request.target == "/query" else { return .failure(404) }
            return .file(#"{"text":"Rows"}"#, type: "application/json")
        }
        let prefetch = try larder(["prefetch", origin.url("/"), "--render", "always"])
        #expect(prefetch.status == 0, "\(prefetch)")
        let posts = origin.requests.filter { $0.method == "POST" }.map(\.target)
        #expect(posts == ["/query"])
        origin.stop()
        let check = try larder(["check", origin.url("/"), "--require", "rehearsed"])
        #expect(check.status == 0, "\(check)")
    }

    @Test("A view behind a tab is missing if its data could not be loaded")
    func refusedView() throws {
        origin.on(
            "/",
            .page(
                """
                <!DOCTYPE html><title>t</title><p>Words of the page.
                <button role=tab onclick="location.hash = 'tables'">Tables</button>
                <script>
                const show = () => {
                  if (location.hash !== '#tables') return;
                  const time = \(Self.isMirror) ? 'later' : 'now';
                  fetch(['', 'query'].join('/'), { method: 'POST', body: time });
                };
                addEventListener('hashchange', show);
                show();
                </script>
                """))
        origin.otherwise { request in
            guard request.method == "POST" else { return .failure(404) }
            return .file("{}", type: "application/json")
        }
        let prefetch = try larder(["prefetch", origin.url("/"), "--render", "always"])
        #expect(prefetch.status == 0, "\(prefetch)")
        origin.stop()
        let check = try larder(["check", origin.url("/")])
        #expect(check.status == 1, "\(check)")
        #expect(check.output.contains("/query"))
    }

    @Test(
        "A cookie banner is answered online and offline, and its report to the server is not missing")
    func cookieBanner() throws {
        origin.otherwise { request in
            request.method == "POST" ? .file("{}", type: "application/json") : .failure(404)
        }
        origin.on(
            "/",
            .page(
                """
                <!DOCTYPE html><title>t</title><p id=words></p>
                <div id=banner style="position: fixed; bottom: 0"><p>We use cookies to measure the use of this site.</p>
                <button onclick="banner.remove()">Accept all</button><button id=no>Reject all</button></div>
                <script>
                no.onclick = () => {
                  banner.remove();
                  fetch(['', 'choice'].join('/'), { method: 'POST', body: String(Math.random()) });
                };
                fetch(['', 'words.json'].join('/')).then(r => r.json()).then(d => words.textContent = d.text);
                </script>
                """))
        let prefetch = try larder(["prefetch", origin.url("/"), "--freeze", "always"])
        #expect(
            prefetch.output.contains("1 cookie banner answered (--consent)"),
            "\(prefetch)")
        #expect(origin.requests.count { $0.method == "POST" } == 1)
        origin.stop()
        let check = try larder(["check", origin.url("/"), "--require", "rehearsed"])
        #expect(check.status == 0, "\(check)")
        let server = try Server(home)
        defer { server.stop() }
        let copy = try server.page(of: origin)
        #expect(copy.contains("Nine words") && !copy.contains("We use cookies"))
    }

    @Test("Live data is reported, and is not missing")
    func liveData() throws {
        origin.otherwise { _ in .file("data: 1\n\n", type: "text/event-stream") }
        origin.on(
            "/",
            .page(
                """
                <!DOCTYPE html><title>t</title><p>Words of the page that are there in any case.</p>
                <script>new EventSource(['', 'events', Date.now()].join('/'))</script>
                """))
        #expect(try larder(["prefetch", origin.url("/")]).status == 0)
        origin.stop()
        let check = try larder(["check", origin.url("/"), "--require", "rehearsed"])
        #expect(check.status == 0, "\(check)")
        #expect(check.output.contains("1 page using live data"))
    }

    @Test("The events of a stream are replayed to a page that shows less without them")
    func replayedEvents() throws {
        origin.on(
            "/events",
            .file(
                "retry: 600000\ndata: Nine words that a server has sent as an event\n\n",
                type: "text/event-stream"))
        origin.on(
            "/",
            .page(
                """
                <!DOCTYPE html><title>t</title><p id=words></p>
                <script>new EventSource('/events').onmessage = ({ data }) => words.textContent = data</script>
                """))
        try expectReplay(of: origin.url("/"), showing: "Nine words that a server") { origin.stop() }
        let server = try Server(home)
        defer { server.stop() }
        #expect(try server.page(of: origin).contains("has sent as an event"))
        #expect(try !server.page(of: origin, "/?larder-scripts").contains("has sent as an event"))
    }

    @Test("The messages of a WebSocket are replayed to a page that shows less without them")
    func replayedMessages() throws {
        var live: RawOrigin? = try RawOrigin { client in
            if client.firstHead.hasPrefix("GET /live ") {
                // The connection stays open until the page is closed.
                return client.send(Self.acceptance(of: client.firstHead)) && client.send(Self.frame)
                    && client.nextHead() == nil
            }
            guard client.firstHead.hasPrefix("GET / ") else {
                return client.send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            }
            let page = """
                <!DOCTYPE html><title>t</title><p id=words></p><script>
                const socket = new WebSocket('ws://' + location.host + '/live');
                socket.onmessage = ({ data }) => words.textContent = data;
                </script>
                """
            return client.send(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: \(page.utf8.count)\r\nConnection: close\r\n\r\n\(page)"
            )
        }
        let url = try #require(live?.url("/"))
        try expectReplay(of: url, showing: Self.message) { live = nil }
    }

    private static let message = "Nine words that a server has sent to the page"
    /// The message as an unmasked text frame (RFC 6455, section 5.2).
    private static let frame = [0x81, UInt8(message.utf8.count)] + Array(message.utf8)

    /// The response that accepts a WebSocket (RFC 6455, section 4.2.2).
    private static func acceptance(of head: String) -> String {
        let field =
            head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("sec-websocket-key:") } ?? ""
        let key = field.dropFirst("sec-websocket-key:".count).trimmingPrefix(" ")
        let bytes = Array("\(key)258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)
        let digest = DigestStream.digest(.sha1, of: bytes.span)
        let accept = Base64.encode(digest.bytes.span)
        return
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: \(accept)\r\n\r\n"
    }

    /// Prefetches a site, ends its server with `stop`, and expects that its start page is the same with replayed messages.
    private func expectReplay(of url: String, showing words: String, stop: () -> Void) throws {
        let prefetch = try larder(["prefetch", url])
        #expect(
            prefetch.output.contains(
                "served with the live messages of their first seconds replayed: 1 page, such as \(url)"),
            "\(prefetch)")
        stop()
        let check = try larder(["check", url, "--require", "rehearsed"])
        #expect(check.status == 0, "\(check)")
        let json = try larder(["check", url, "--json"]).output
        let kind = try JSONValue.parse(Array(json.utf8).span)["rehearsal"]?["kinds"]?.array?.first
        #expect(kind?["result"]?.string == "replayed" && kind?["replayed"]?.int == 1, "\(json)")
        // Exports have no live messages, and contain the frozen copy.
        let file = home.file("page.html")
        #expect(try larder(["export", url, file]).status == 0)
        #expect(try String(decoding: WholeFile.read(file, atMost: 1 << 20), as: UTF8.self).contains(words))
    }
}
