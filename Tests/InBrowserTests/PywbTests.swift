import Glibc
import LarderKit
import System
import TestOrigin
import Testing

/// pywb (from PyPI) as the proxy of a browser: it shows an exported WACZ after the origin has gone.
@Suite(
    .enabled(if: Chromium.isInstalled, "chromium is not installed"),
    .enabled(
        if: ExternalProgram.find("wayback") != nil && ExternalProgram.find("wb-manager") != nil,
        "pywb is not installed"))
struct PywbTests {
    /// Serves pages with URLs, encodings and redirects that an archive must keep.
    private static func servePages(_ origin: TestOrigin) {
        func draw(_ colour: String) -> String {
            "<svg xmlns='http://www.w3.org/2000/svg' width='60' height='20'>"
                + "<rect width='60' height='20' fill='\(colour)'/></svg>"
        }
        origin.on(
            "/",
            .page(
                "<!doctype html><meta charset=utf-8><title>Straße</title><link rel=stylesheet href='/s.css?v=1&amp;w=%20'>"
                    + "<h1>Straße — ☃</h1><p id=late></p><img src=/a%20b.svg><img src=/moved.svg><img src=/same.svg>"
                    + "<iframe src=/frame.html></iframe><a href=/two>2</a><script src=/app.js></script>"))
        origin.on("/two", .page("<!doctype html><title>Two</title><img src=/same.svg><p>Two <a href=/>1</a>"))
        origin.on("/frame.html", .page("<!doctype html><p style='color: teal'>Frame"))
        origin.on("/s.css?v=1&w=%20", .file("h1 { background: url(bg.svg); color: navy }", type: "text/css"))
        origin.on(
            "/app.js",
            .file(
                "fetch('/data.json?x=1').then(r => r.json()).then(d => late.textContent = d.told)",
                type: "text/javascript"))
        origin.on("/data.json?x=1", .file("{\"told\": \"told: caf\u{E9}\"}", type: "application/json"))
        origin.on("/moved.svg", .redirect(to: "/bg.svg"))
        for (path, colour) in [("/a%20b.svg", "tomato"), ("/bg.svg", "gold"), ("/same.svg", "gold")] {
            origin.on(path, .file(draw(colour), type: "image/svg+xml"))
        }
    }

    /// Runs pywb's `wb-manager`.
    private func runManager(_ words: String, in folder: String) throws {
        let tool = try #require(ExternalProgram.find("wb-manager"))
        let ending = try ChildProcess("/bin/sh", ["-c", "cd '\(folder)' && exec '\(tool)' \(words)"]).wait()
        #expect(ending.status == 0, "\(words): \(ending)")
    }

    @Test func `pywb shows the pages of an exported WACZ as their origin did`() async throws {
        let origin = try TestOrigin()
        Self.servePages(origin)
        let home = try TemporaryFolder()
        let larder = Larder(at: home.file("store"))
        let pages = ["/", "/two"].map { origin.url($0) }
        let browser = try Chromium()
        let before = try pages.map { try Look($0, in: browser) }
        #expect(before[0].text.contains("told: caf\u{E9}"))
        #expect(try await larder.prefetch([pages[0]]).isPublished)
        // Drawn before the origin's port becomes free: pywb would answer requests for its own address itself.
        let port = try FreePort.draw()
        origin.stop()
        _ = try await larder.export(pages[0], to: home.file("site.wacz"))

        try runManager("init site", in: home.path)
        try runManager("add --unpack-wacz site site.wacz", in: home.path)
        try home.write(
            "proxy:\n  coll: site\n  enable_banner: false\n  enable_wombat: false\n  enable_content_rewrite: false\n",
            to: "config.yaml")
        let server = try ChildProcess(
            try #require(ExternalProgram.find("wayback")),
            ["-d", home.path, "-b", "127.0.0.1", "-p", "\(port)"],
            output: .file(home.file("log")), errors: .file(home.file("log")))
        defer {
            server.signal(SIGKILL)
            _ = server.wait()
        }
        // pywb does not report when it is ready.
        let deadline = ContinuousClock.now + .seconds(120)
        while (try? RawClient(port: port)) == nil {
            try #require(!server.hasEnded && ContinuousClock.now < deadline, "wayback does not listen")
            usleep(20_000)
        }
        let replay = try Chromium(proxy: (UInt16(port), ""))
        for (page, before) in zip(pages, before) {
            let after = try Look(page, in: replay)
            #expect(after.text == before.text && after.title == before.title, "\(page)")
            #expect(after.failures.subtracting(before.failures).isEmpty, "\(after.failures)")
            let isSamePicture = after.picture == before.picture
            #expect(isSamePicture, "\(page)")
        }
    }
}
