import Glibc
import LarderKit
import System
import TestOrigin
import Testing
import Web

/// A single-page site as Docusaurus builds them: its scripts load from absolute paths, and a router shows the content
/// that belongs to the URL. It is exported as files and as a ZIM, and works there.
@Suite(.enabled(if: Chromium.isInstalled, "chromium is not installed"), .serialized)
struct FolderScriptTests {
    private static let runtime = """
        (() => { var m = {}, r = {}; r.p = "/"; r.u = e => "assets/js/" + ({7: "page", 8: "tab"}[e] || e) + "." + {7: "aa11", 8: "bb22"}[e] + ".js";
        r.m = m; r.e = e => new Promise((done, fail) => { var s = document.createElement("script"); s.src = r.p + r.u(e);
          s.onload = () => done(self.chunks[e]); s.onerror = fail; document.head.appendChild(s); });
        self.load = e => r.e(e); })();
        """

    private static let main = """
        const show = () => {
          const { pathname } = window.location, say = (text) => document.querySelector("#route").textContent = text;
          if (pathname === "/") say("home"); else if (pathname === "/docs/") say("docs");
          else if (pathname === "/app/only") say("client"); else say("Page Not Found");
        };
        addEventListener("popstate", show);
        self.load(7).then((text) => { document.querySelector("#late").textContent = text; show(); });
        document.querySelector("#tab").onclick = () => self.load(8).then((text) => document.querySelector("#tab").textContent = text);
        document.querySelector("#client").onclick = () => { history.pushState({ a: 1 }, "", "/app/only"); show(); };
        for (const link of document.querySelectorAll("[data-to]")) link.onclick = (event) => {
          event.preventDefault(); history.pushState(null, "", link.dataset.to); show();
        };
        fetch("/data.json").then((r) => r.json()).then((d) => document.querySelector("#data").textContent = d.told);
        const x = new XMLHttpRequest(); x.open("GET", "/data.json?v=2"); x.responseType = "json"; x.setRequestHeader("Accept", "x/y");
        x.onload = () => document.querySelector("#xhr").textContent = x.response.told; x.send();
        document.querySelector("#markup").innerHTML = '<img src="/img/dot.png">';
        """

    private static func page(_ title: String) -> String {
        """
        <!doctype html><html lang=en><head><title>\(title)</title><link rel=stylesheet crossorigin href=/s.css>
        <script defer src=/assets/js/runtime.js></script><script defer src=/assets/js/main.js></script></head><body>
        <p id=route>static</p><p id=late></p><p id=data></p><p id=xhr></p><button id=tab>tab</button><button id=client>client</button>
        <a href=/docs/ data-to=/docs/>docs</a><div id=markup></div></body></html>
        """
    }

    /// Prefetches the site, and stops its origin.
    private static func prefetch(into folder: TemporaryFolder) async throws -> (Larder, String) {
        let origin = try TestOrigin()
        defer { origin.stop() }
        origin.on("/", .page(page("Home")))
        origin.on("/docs/", .page(page("Docs")))
        origin.on("/s.css", .file("#route { color: rgb(9, 99, 9) }", type: "text/css"))
        origin.on("/img/dot.png", .file(ChromiumTests.pixel, type: "image/png"))
        for (name, text) in [
            ("runtime", runtime), ("main", main), ("page.aa11", "(self.chunks ??= {})[7] = 'late'"),
            ("tab.bb22", "(self.chunks ??= {})[8] = 'opened'"),
        ] {
            origin.on("/assets/js/\(name).js", .file(text, type: "text/javascript"))
        }
        origin.on("/data.json", .file("{\"told\": \"t\u{F6}ld\"}", type: "application/json"))
        origin.on("/data.json?v=2", .file("{\"told\": \"asked\"}", type: "application/json"))
        let larder = Larder(at: folder.file("store"))
        #expect(try await larder.prefetch([origin.url("/"), origin.url("/img/dot.png")]).isPublished)
        return (larder, origin.url("/"))
    }

    /// Waits until an expression has this value. Expressions fail while the page is being replaced.
    private func expect(_ visit: ChromiumVisit, _ expression: String, is word: String) {
        let deadline = ContinuousClock.now + .seconds(120)
        var last = "nothing"
        repeat {
            do throws(ChromiumError) {
                last = try visit.evaluate(expression)?.string ?? "nothing"
                if last == word { return }
            } catch {
                last = "\(error)"
            }
            usleep(20_000)
        } while ContinuousClock.now < deadline
        Issue.record("\(expression) is \(last) in place of \(word)")
    }

    /// Waits until an element has this text.
    private func expect(_ visit: ChromiumVisit, to name: String, say word: String) {
        expect(visit, "document.querySelector('#\(name)')?.textContent", is: word)
    }

    /// Uses the site: expects that its scripts have run, and follows its links.
    private func useSite(at visit: ChromiumVisit) throws {
        for (name, word) in [("route", "home"), ("late", "late"), ("data", "t\u{F6}ld"), ("xhr", "asked")] {
            expect(visit, to: name, say: word)
        }
        #expect(try visit.evaluate("getComputedStyle(route).color")?.string == "rgb(9, 99, 9)")
        #expect(try visit.evaluate("document.querySelector('#markup img').naturalWidth > 0")?.bool == true)
        _ = try visit.evaluate("tab.click()")
        expect(visit, to: "tab", say: "opened")
        _ = try visit.evaluate("client.click()")
        expect(visit, to: "route", say: "client")
        #expect(try visit.evaluate("history.state.a")?.int == 1)
        _ = try visit.evaluate("history.back()")
        expect(visit, to: "route", say: "home")
        _ = try visit.evaluate("document.querySelector('[data-to]').click()")
        expect(visit, to: "route", say: "docs")
        expect(visit, "document.title", is: "Docs")
    }

    @Test func `a site with root-relative URLs works as exported files`() async throws {
        let folder = try TemporaryFolder()
        let (larder, start) = try await Self.prefetch(into: folder)
        let report = try await larder.export(start, to: folder.file("out/"))
        #expect(report.urlsNeedingServer.isEmpty)
        try useSite(at: Chromium().open("file://" + folder.file("out/index.html")))
    }

    /// Chunks as Vite builds them: modules that import each other, some of them dynamically.
    private static let modules: [(path: String, text: String, type: String)] = [
        (
            "/assets/index.js",
            """
            import { put as t } from "./vendor.js";
            export const name = "quince";
            document.addEventListener("DOMContentLoaded", () => t("ready", "ready"));
            const image = new Image(); image.onload = () => t("image", "image " + image.naturalWidth);
            image.src = new URL("/img/dot.png", import.meta.url).href;
            import("./about.js").then((m) => t("late", m.default()));
            const chunk = "other"; import(`./${chunk}.js`).then((m) => t("computed", m.default));
            fetch("/data.json").then((r) => r.json()).then((d) => t("data", d.told));
            new Worker(new URL("./worker.js", import.meta.url), { type: "module" }).onmessage = (e) => t("worker", e.data);
            """, "text/javascript"
        ),
        (
            "/assets/vendor.js",
            """
            import { name as n } from "./index.js";
            export function put(id, text) { const p = document.createElement("p"); p.id = id; p.textContent = text; document.body.append(p); }
            setTimeout(() => put("cycle", "cycle " + n), 0);
            """, "text/javascript"
        ),
        (
            "/assets/about.js", "import { name } from './index.js'; export default () => 'late ' + name",
            "text/javascript"
        ),
        ("/assets/worker.js", "postMessage('worked')", "text/javascript"),
        ("/assets/other.js", "export default 'other'", "text/javascript"),
        (
            "/map/main.js",
            "import { word } from 'lib'; import x from 'parts/x.js'; import d from '/data.json' with { type: 'json' }; out.textContent = word + x + d.told",
            "text/javascript"
        ),
        ("/map/lib.js", "export const word = 'lib '", "text/javascript"),
        ("/map/parts/x.js", "export default 'part '", "text/javascript"),
        (
            "/map/classic.js", "import('./late.js').then((m) => (old.textContent = m.default))",
            "text/javascript"
        ),
        ("/map/late.js", "export default 'classic'", "text/javascript"),
        ("/data.json", "{\"told\": \"jam\"}", "application/json"),
        ("/s.css", "#app { color: rgb(9, 99, 9) }", "text/css"),
    ]

    @Test func `a site with JavaScript modules works as exported files`() async throws {
        let origin = try TestOrigin()
        defer { origin.stop() }
        let home = """
            <!doctype html><title>Home</title><script type="module" crossorigin src="/assets/index.js"></script>
            <link rel="modulepreload" crossorigin href="/assets/vendor.js"><link rel="stylesheet" crossorigin href="/s.css">
            <p id=app>static</p><a href=/map/>map</a><a href=/inline>inline</a>
            """
        let map = """
            <!doctype html><title>Map</title>
            <script type="importmap">{"imports": {"lib": "./lib.js", "parts/": "./parts/"}}</script>
            <p id=out></p><p id=old></p><script type=module src=main.js></script><script src=classic.js></script>
            """
        origin.on("/", .page(home))
        origin.on("/map/", .page(map))
        origin.on(
            "/inline",
            .page(
                "<!doctype html><p id=in></p><script type=module>import x from './map/parts/x.js'; document.querySelector('#in').textContent = x</script>"
            ))
        origin.on("/img/dot.png", .file(ChromiumTests.pixel, type: "image/png"))
        for (path, text, type) in Self.modules { origin.on(path, .file(text, type: type)) }
        let folder = try TemporaryFolder()
        let larder = Larder(at: folder.file("store"))
        let starts = [origin.url("/"), origin.url("/assets/other.js")]
        #expect(try await larder.prefetch(starts).isPublished)
        let report = try await larder.export(origin.url("/"), to: folder.file("out/"))
        #expect(report.urlsNeedingServer.isEmpty && report.missing.isEmpty)
        let browser = try Chromium()
        let visit = try browser.open("file://" + folder.file("out/index.html"))
        for (name, word) in [
            ("ready", "ready"), ("image", "image 1"), ("late", "late quince"), ("cycle", "cycle quince"),
            ("data", "jam"), ("computed", "other"), ("worker", "worked"),
        ] {
            expect(visit, to: name, say: word)
        }
        #expect(try visit.evaluate("getComputedStyle(app).color")?.string == "rgb(9, 99, 9)")
        let mapped = try browser.open("file://" + folder.file("out/map/index.html"))
        expect(mapped, to: "out", say: "lib part jam")
        expect(mapped, to: "old", say: "classic")
        expect(try browser.open("file://" + folder.file("out/inline.html")), to: "in", say: "part ")
    }

    /// Their URLs are not in any file: a script composes them from values that it reads in the page.
    @Test func `assets that only the browser found load from exported files`() async throws {
        let origin = try TestOrigin()
        defer { origin.stop() }
        let page = """
            <!doctype html><script id=config type="application/json">{"base": "/", "chunks": {"7": "abc123"}}</script>
            <p id=late>Loading</p><script src=/app.js></script>
            """
        let app = """
            const c = JSON.parse(document.getElementById("config").textContent), s = document.createElement("script");
            s.src = c.base + ["static", "7." + c.chunks[7] + ".js"].join("/");
            s.onload = () => fetch(c.base + ["api", "layout"].join("/")).then((r) => r.json())
              .then((j) => document.getElementById("late").textContent = told(j));
            document.head.append(s);
            """
        origin.on("/", .page(page))
        origin.on("/app.js", .file(app, type: "text/javascript"))
        origin.on("/static/7.abc123.js", .file("const told = (j) => j.words", type: "text/javascript"))
        origin.on("/api/layout", .file("{\"words\": \"plum\"}", type: "application/json"))
        let folder = try TemporaryFolder()
        let larder = Larder(at: folder.file("store"))
        var options = PrefetchOptions()
        options.plan.render = RenderSettings()
        options.plan.render?.mode = .always
        options.browser = Chromium.executable
        #expect(try await larder.prefetch([origin.url("/")], options: options).assets == 3)
        _ = try await larder.export(origin.url("/"), to: folder.file("out/"))
        expect(try Chromium().open("file://" + folder.file("out/index.html")), to: "late", say: "plum")
    }

    private static let hasKiwix =
        ExternalProgram.find("zimwriterfs") != nil && ExternalProgram.find("kiwix-serve") != nil

    @Test(.enabled(if: hasKiwix, "zim-tools and kiwix-tools are not installed"))
    func `a site with root-relative URLs works from an exported ZIM file`() async throws {
        let folder = try TemporaryFolder()
        let (larder, start) = try await Self.prefetch(into: folder)
        _ = try await larder.export(start, to: folder.file("out.zim"))
        let port = try FreePort.draw()
        let server = try ChildProcess(
            try #require(ExternalProgram.find("kiwix-serve")),
            ["-i", "127.0.0.1", "-p", "\(port)", folder.file("out.zim")],
            output: .file(folder.file("log")), errors: .file(folder.file("log")))
        defer {
            server.signal(SIGKILL)
            _ = server.wait()
        }
        // kiwix-serve does not report when it is ready.
        let deadline = ContinuousClock.now + .seconds(120)
        while (try? RawClient(port: port)) == nil {
            try #require(!server.hasEnded && ContinuousClock.now < deadline, "kiwix-serve does not listen")
            usleep(20_000)
        }
        // Earlier versions of kiwix-serve serve their books at the root.
        let browser = try Chromium()
        for path in ["/out/index.html", "/content/out/index.html"] {
            // On a version that redirects this path, evaluating the expression fails while the page is replaced.
            let visit = try browser.open("http://127.0.0.1:\(port)\(path)")
            guard (try? visit.evaluate("document.title"))??.string == "Home" else { continue }
            try useSite(at: visit)
            return
        }
        Issue.record("no book is shown")
    }
}
