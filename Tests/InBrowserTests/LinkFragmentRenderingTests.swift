import Glibc
import LarderKit
import TestOrigin
import Testing

/// Fragments that scripts add to the pages of a folder, found by a browser.
@Suite(.enabled(if: Chromium.isInstalled, "chromium is not installed"), .serialized)
struct LinkFragmentRenderingTests {
    private let home: TemporaryFolder

    init() throws {
        home = try TemporaryFolder()
        for folder in ["dist", "dist/guide", "dist/js"] { mkdir(home.file(folder), 0o755) }
        try home.write("", to: "rules")
        try home.write(
            """
            <a href=guide/#made>a</a><a href=guide/index.html#absent>b</a><a href=plain.html#made>c</a>
            <a href=module.html#data>d</a>
            """, to: "dist/index.html")
        try home.write("<p>text</p><script src=../js/make.js></script>", to: "dist/guide/index.html")
        try home.write("<p>text</p>", to: "dist/plain.html")
        try home.write("<script type=module src=/js/module.mjs></script>", to: "dist/module.html")
        try home.write(
            "document.body.insertAdjacentHTML('beforeend', '<h2 id=made>Made</h2>')", to: "dist/js/make.js")
        try home.write(
            "document.body.innerHTML = `<p id=${(await (await fetch('/js/names.json')).json()).name}>`",
            to: "dist/js/module.mjs")
        try home.write("{\"name\": \"data\"}", to: "dist/js/names.json")
    }

    private func check(_ change: (inout LinkCheckOptions) -> Void = { _ in }) async throws -> LinkCheckReport
    {
        var options = LinkCheckOptions()
        options.checksExternal = false
        options.ignoreFile = home.file("rules")
        options.browser = Chromium.executable
        change(&options)
        return try await Larder(at: home.file("none")).checkLinks(
            .folder(home.file("dist")), options: options)
    }

    private func missing(_ report: LinkCheckReport) -> [String] {
        report.findings.filter { $0.verdict == .fragmentMissing }.map(\.target)
    }

    @Test func `fragments that scripts of a folder's pages add are found`() async throws {
        #expect(try await missing(check()) == ["/guide/index.html#absent", "/plain.html#made"])
    }

    @Test func `the base of the folder is the root of its server`() async throws {
        try home.write("<script type=module src=/app/js/module.mjs></script>", to: "dist/module.html")
        try home.write(
            "document.body.innerHTML = `<p id=${(await (await fetch('/app/js/names.json')).json()).name}>`",
            to: "dist/js/module.mjs")
        let report = try await check { $0.base = "https://example.com/app/" }
        #expect(
            missing(report) == [
                "https://example.com/app/guide/index.html#absent", "https://example.com/app/plain.html#made",
            ])
    }

    @Test func `without a browser, such fragments are missing`() async throws {
        let report = try await check { $0.usesBrowser = false }
        #expect(missing(report).count == 4)
    }

    /// The pages of a pull request may contain any script.
    @Test func `scripts of the pages reach no other server`() async throws {
        let origin = try TestOrigin()
        origin.on("/name", .file("made", type: "text/plain"))
        try home.write(
            """
            const made = (name) => document.body.insertAdjacentHTML('beforeend', `<h2 id=${name}>x</h2>`);
            fetch('\(origin.url("/name"))', { mode: 'no-cors' }).then(() => made('made'), () => made('failed'));
            new Image().src = '\(origin.url("/name"))?image';
            """, to: "dist/js/make.js")
        _ = try await check()
        #expect(origin.requests.isEmpty)
        #expect(origin.connectionCount == 0)
    }
}
