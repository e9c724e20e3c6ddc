import Glibc
import TestOrigin
import Testing

/// Pages that never finish, or that try to make a browser act for the user.
@Suite(.enabled(if: Chromium.executable != nil, "no browser is installed"), .serialized)
struct HostilePageTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        origin.on("/favicon.ico", .failure(404))
    }

    /// Prefetches the site with rendering and a short time per page.
    private func prefetch() throws -> ChildProcess.Ending {
        mkdir(home.file("tmp"), 0o700)
        return try ChildProcess(
            ChildProcess.built("larder"),
            ["prefetch", origin.url("/"), "--render", "always", "--render-time", "5"],
            environment: [
                "HOME": home.path, "PATH": "/usr/bin:/bin", "TMPDIR": home.file("tmp"),
                "LARDER_PROGRESS": "none", "LARDER_CHROMIUM": Chromium.executable ?? "",
            ]
        ).wait()
    }

    private static func page(_ script: String) -> OriginAnswer {
        .page(
            "<!DOCTYPE html><title>t</title><p>Words of the page.<div id=d></div><script>\(script)</script>")
    }

    /// A button with a harmless name that runs a script.
    private static func button(_ script: String) -> OriginAnswer {
        page(
            """
            const b = document.createElement('button');
            b.textContent = 'Show details';
            b.onclick = () => { \(script) };
            d.append(b);
            """)
    }

    /// The number of requests whose path has this beginning.
    private func count(_ beginning: String) -> Int {
        origin.requests.count { $0.target.hasPrefix(beginning) }
    }

    @Test("Endless loops and timers end when the time of the page is over")
    func endlessScripts() throws {
        origin.on("/", .page("<title>t</title><a href=/loop>l</a> <a href=/poll>p</a>"))
        origin.on("/loop", Self.button("for (;;) {}"))
        origin.on("/poll", Self.page("let n = 0; setInterval(() => fetch('/value?' + n++), 20)"))
        origin.otherwise { _ in .file("1", type: "text/plain") }
        let ending = try prefetch()
        #expect(ending.status == 0, "\(ending)")
        #expect(count("/value") <= 3000)
        #expect(ending.output.contains("3 pages rendered"))
    }

    @Test("A page that opens 1000 sockets gets at most eight")
    func socketLimit() throws {
        origin.on(
            "/",
            Self.page(
                """
                for (let n = 0; n < 1000; n++) new WebSocket(location.href.replace('http', 'ws') + 'socket?' + n);
                """))
        #expect(try prefetch().status == 0)
        #expect(count("/socket") <= 8)
    }

    @Test("Controls send no POST, submit no form, and confirm no dialog")
    func controlsChangeNothing() throws {
        let links = (1...6).map { "<a href=/\($0)>\($0)</a>" }.joined()
        origin.on("/", .page("<title>t</title>\(links)"))
        origin.on("/1", Self.button("fetch('/change', { method: 'POST', body: '1' })"))
        origin.on("/2", Self.button("navigator.sendBeacon('/change', '1')"))
        origin.on(
            "/3", Self.button("d.innerHTML = '<form method=post action=/change>'; d.firstChild.submit()"))
        origin.on("/4", Self.button("if (confirm('Delete?')) fetch(['', 'change?confirmed'].join('/'))"))
        origin.on(
            "/5", Self.button("location = ['', 'change?gone'].join('/'); setInterval(() => alert(1), 1)"))
        origin.on(
            "/6",
            Self.button(
                """
                d.innerHTML = '<iframe name=f></iframe><form target=f method=post action=/change>';
                d.lastChild.submit()
                """))
        let ending = try prefetch()
        #expect(ending.status == 0, "\(ending)")
        #expect(origin.requests.allSatisfy { $0.method == "GET" })
        #expect(count("/change?confirmed") == 0)
    }
}
