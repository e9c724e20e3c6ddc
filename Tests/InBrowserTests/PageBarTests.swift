import LarderKit
import TestOrigin
import Testing
import Web

/// Tests the bar on mirrored pages in a browser.
@Suite(.enabled(if: Chromium.isInstalled, "chromium is not installed"), .serialized)
struct PageBarTests {
    private let origin: TestOrigin
    private let larder: Larder
    private let scratch: TemporaryFolder

    init() async throws {
        origin = try TestOrigin()
        // A page that has its own security policy, hides whatever it can, and replaces functions of the DOM.
        var page = OriginAnswer.page(
            """
            <!DOCTYPE html><title>Jam</title>
            <meta http-equiv="Content-Security-Policy" content="default-src 'self' 'unsafe-inline'; frame-src 'none'">
            <style>* { display: none !important; transform: translateX(-9999px) !important; color: red }
              html, body, p { display: block !important; transform: none !important } html { height: 100% }</style>
            <script>
              var seen = []
              Element.prototype.attachShadow = () => { throw 1 }
              Element.prototype.append = () => { throw 1 }
              document.createElement = () => { throw 1 }
              Reflect.apply = () => { throw 1 }
              new MutationObserver(l => l.forEach(r => r.addedNodes.forEach(n => seen.push(n)))).observe(
                document, { childList: true, subtree: true })
              addEventListener("keydown", e => seen.push(e.key), true)
            </script><body><p>jam</p></body>
            """)
        page.fields += [
            ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"),
            ("Cross-Origin-Embedder-Policy", "require-corp"),
        ]
        origin.on("/", page)
        origin.otherwise { _ in .failure(404) }
        scratch = try TemporaryFolder()
        larder = Larder(at: scratch.file("larder"))
        var options = PrefetchOptions()
        options.browser = ""
        for number in 1...2 {
            // Changes the page, because an unchanged site gets no second snapshot.
            origin.on(
                "/plain", .page("<!DOCTYPE html><title>Plain</title><p>plain \(number) <a href=/>jam</a>"))
            _ = try await larder.prefetch([origin.url("/"), origin.url("/plain")], options: options)
        }
    }

    private static let facts = """
        JSON.stringify([document.body.outerHTML, document.body.getBoundingClientRect(), document.title, frames.length,
          document.querySelectorAll("iframe, script[data-larder]").length, getComputedStyle(document.querySelector("p")).color])
        """

    @Test(arguments: [(390, true), (1280, false)])
    func `the bar is visible above the page, and changes nothing that the page can see`(
        width: Int, isDark: Bool
    ) throws {
        var options = ServeOptions()
        let plain = try larder.serve(port: 0, options: options)
        let browser = try Chromium(viewport: .init(width: width, height: 800), prefersDark: isDark)
        let without = try browser.open(try #require(plain.address(of: origin.url("/"))))
        let before = try without.evaluate(Self.facts)?.string
        #expect(try without.evaluate("document.querySelector('larder-bar')")?.isNull != false)
        plain.stop()

        options.hasBar = true
        let service = try larder.serve(port: 0, options: options)
        defer { service.stop() }
        let visit = try browser.open(try #require(service.address(of: origin.url("/"))))
        #expect(try visit.evaluate(Self.facts)?.string == before)
        let frame = visit.requests.first { $0.url.contains("/-/bar/frame?") }
        #expect(frame != nil, "\(visit.requests.map(\.url))")
        #expect(visit.failures.isEmpty && visit.escapes.isEmpty, "\(visit.failures)")
        let box = try visit.evaluate(
            """
            (() => {
              const bar = document.querySelector("larder-bar"), at = (x, y) => document.elementFromPoint(x, y)
              return [bar.shadowRoot === null, at(1, innerHeight - 43) === bar, at(document.documentElement.clientWidth - 1, innerHeight - 1) === bar,
                at(innerWidth / 2, innerHeight - 45) !== bar,
                document.elementFromPoint(innerWidth / 2, innerHeight - 10) === bar,
                getComputedStyle(bar).display === "block", document.documentElement.children.length === 3]
            })()
            """)?.array?.compactMap(\.bool)
        #expect(box == [true, true, true, true, true, true, true], "\(String(describing: box))")
        // The page's scripts can read nothing of the bar's content.
        let leaks = try visit.evaluate(
            "seen.some(n => n.querySelector && (n.querySelector('iframe') || n.shadowRoot)) || frames.length > 0"
        )
        #expect(leaks?.bool == false)
    }

    @Test func `a page without scripts has the bar too, and its document is unchanged`() throws {
        var options = ServeOptions()
        options.hasBar = true
        let service = try larder.serve(port: 0, options: options)
        defer { service.stop() }
        let visit = try Chromium().open(try #require(service.address(of: origin.url("/plain"))))
        #expect(visit.requests.contains { $0.url.contains("/-/bar/frame?") })
        #expect(try visit.evaluate("document.querySelector('larder-bar').offsetHeight")?.int == 44)
        #expect(
            try visit.evaluate("document.body.innerHTML")?.string?.hasSuffix("jam</a></p>") == true)
    }

    @Test(arguments: [
        "p { line-height: 30px }", "html, body { height: 100% } p { line-height: 30px }",
        "html { padding-bottom: 20px } p { line-height: 30px }",
        "p { line-height: 30px; float: left; width: 100% }", "html { display: flex; flex-direction: column }",
    ])
    func `the last line of a page can be scrolled above the bar`(style: String) async throws {
        let lines = (1...60).map { "<p id=l\($0)>line \($0)" }.joined()
        origin.on("/long", .page("<!DOCTYPE html><title>Long</title><style>\(style)</style>\(lines)"))
        var prefetch = PrefetchOptions()
        prefetch.browser = ""
        _ = try await larder.prefetch([origin.url("/long")], options: prefetch)
        var options = ServeOptions()
        options.hasBar = true
        let service = try larder.serve(port: 0, options: options)
        defer { service.stop() }
        let browser = try Chromium(viewport: .init(width: 390, height: 600), prefersDark: false)
        let visit = try browser.open(try #require(service.address(of: origin.url("/long"))))
        // The height is the same however often the page is scrolled to its end.
        let facts = try visit.evaluate(
            """
            (async () => {
              const heights = []
              for (let i = 0; i < 4; i++) {
                scrollTo(0, 1e6)
                await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))
                heights.push(document.scrollingElement.scrollHeight)
              }
              const end = document.querySelector("#l60").getBoundingClientRect().bottom
              return [end > 0, end <= innerHeight - 44, end >= innerHeight - 150, new Set(heights.slice(1)).size === 1]
            })()
            """)?.array?.compactMap(\.bool)
        #expect(facts == [true, true, true, true], "\(String(describing: facts))")
    }

    @Test(arguments: [(390, true), (390, false), (1280, true), (1280, false)])
    func `the bar is accessible, and its link to the earlier snapshot works`(width: Int, isDark: Bool) throws
    {
        var options = ServeOptions()
        options.hasBar = true
        let service = try larder.serve(port: 0, options: options)
        defer { service.stop() }
        let browser = try Chromium(viewport: .init(width: width, height: 44), prefersDark: isDark)
        let visit = try browser.open(service.address + "-/bar/frame?url=\(origin.url("/"))")
        #expect(try visit.evaluate(PortalTests.poorContrast)?.array?.compactMap(\.string) == [])
        #expect(
            try visit.evaluate("document.documentElement.scrollWidth <= innerWidth")?.bool == true)
        #expect(
            try visit.evaluate(
                """
                [...document.querySelectorAll("a, input")].filter(e => e.checkVisibility())
                  .every(e => e.innerText || e.getAttribute("aria-label") || e.textContent)
                """)?.bool == true)
        #expect(try visit.evaluate("document.documentElement.lang")?.string == "en")
        _ = try visit.evaluate("[...document.links].find(a => a.rel === 'prev').click()", asUser: true)
        try visit.settle()
        #expect(try visit.text().contains("jam"))
        #expect(try visit.address().contains("past-1-"))
    }
}
