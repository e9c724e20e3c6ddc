import LarderKit
import TestOrigin
import Testing
import Web

/// Tests the portal on small and large screens, in light and dark colours, with a keyboard and for screen readers.
@Suite(.enabled(if: Chromium.isInstalled, "chromium is not installed"), .serialized)
struct PortalTests {
    private let origin: TestOrigin
    private let larder: Larder
    private let scratch: TemporaryFolder

    private static let bad =
        "&quot;&gt;&lt;script&gt;window.isOpen=1&lt;/script&gt; &lt;img src=x onerror=isOpen=1&gt;"

    init() async throws {
        origin = try TestOrigin()
        let links = (0..<40).map {
            "<a href=\"/recipes/\($0)?kind=\(String(repeating: "long-", count: 12))\">\($0)</a>"
        }
        origin.on(
            "/",
            .page(
                """
                <!DOCTYPE html><title>Start \(Self.bad)</title><script src="/app.js"></script>\(links.joined())
                <img src="/lost.png"><a href="/gone">gone</a><a href="/long">long</a><a href="/moved">moved</a><a href="/'><script>window.isOpen=1</script>">odd</a>
                """))
        origin.on("/app.js", .file("window.hasRun = true", type: "text/javascript"))
        let filling = String(repeating: "<p>Nothing is in here.</p>", count: 200)
        origin.on(
            "/long",
            .page(
                "<!DOCTYPE html><title>Long</title>\(filling)<p>The <b>lighthouse</b> lamp, at dusk.</p>\(filling)"
            ))
        origin.on("/moved", .redirect(to: "/long"))
        origin.otherwise { request in
            request.target.hasPrefix("/recipes/")
                ? .page("<!DOCTYPE html><title>\(Self.bad) \(request.target)</title><a href=/>back</a>")
                : .failure(404)
        }
        scratch = try TemporaryFolder()
        larder = Larder(at: scratch.path)
        _ = try await larder.prefetch([origin.url("/")])
        _ = try await larder.prefetch([origin.url("/")])
        origin.forgetRequests()
    }

    private var targets: [String] {
        [
            "", "-/sites/1", "-/sites/1/pages?under=\(origin.url("/recipes/"))", "-/sites/1/missing",
            "-/sites/1/missing?kind=pages", "-/sites/1/changes", "-/sites/1/pictures",
            "-/sites/1/search?q=%3Cscript",
            "-/search?q=long",
            "-/scripts", "-/page?url=\(origin.url("/"))", "-/page?url=\(origin.url("/none"))", "nothing",
            "-/jobs", "-/room", "-/sites/1/titles", "-/sites/1/settings", "-/sites/1/export",
            "-/import",
        ]
    }

    private static let views = [
        (width: 360, isDark: true), (390, false), (390, true), (1280, true), (1280, false),
    ]

    /// Shows the page in all window sizes and colour schemes, and expects in each that it fits and is accessible.
    static func expectAccessible(_ visit: ChromiumVisit, _ target: String) throws {
        func expectNoFaults(_ faults: String, _ comment: Comment) throws {
            #expect(try visit.evaluate(faults)?.array?.compactMap(\.string) == [], comment)
        }
        for (width, isDark) in views {
            try visit.show(in: .init(width: width, height: 800), prefersDark: isDark)
            let overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            #expect(try visit.evaluate(overflow)?.int == 0, "\(target) is wider than \(width)")
            try expectNoFaults(poorContrast, "\(target), \(width) wide, dark: \(isDark)")
        }
        // Opens the folded details.
        for (width, isDark) in views {
            try visit.show(in: .init(width: width, height: 800), prefersDark: isDark)
            try expectNoFaults(structuralFaults, "\(target), \(width) wide")
        }
    }

    @Test func `every page of the portal fits the screen, is accessible, and loads only its own assets`()
        throws
    {
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let browser = try Chromium(viewport: .init(width: 360, height: 800), prefersDark: true)
        for target in targets {
            let visit = try browser.open(service.address + target, quiet: nil)
            try Self.expectAccessible(visit, target)
            try visit.settle()
            #expect(visit.escapes.isEmpty, "\(target)")
            #expect(visit.scriptErrors.isEmpty, "\(target): \(visit.scriptErrors)")
            // A page about a missing resource has the status 404 itself.
            #expect(visit.failures.allSatisfy { $0.type == "Document" }, "\(target): \(visit.failures)")
            // The search page loads results during typing, and the home page registers the offline worker.
            let types: Set = ["Document", "Stylesheet", "Image", "Manifest", "Other"]
            let allowed = target.isEmpty || target.contains("search?") ? types.union(["Script"]) : types
            #expect(Set(visit.requests.map(\.type)).isSubset(of: allowed), "\(target)")
            #expect(try visit.evaluate("typeof window.isOpen")?.string == "undefined")
        }
        #expect(origin.requests.isEmpty)
    }

    @Test func `a search finds a page, whose details link to its mirrored copy`() throws {
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let visit = try Chromium().open(service.address)
        _ = try visit.evaluate(
            "document.querySelector('#q').value = 'recipes/7?'; document.querySelector('form.find button').click()"
        )
        // Results also appear during typing. On a busy machine, the navigation after the click starts later than `settle`
        // waits.
        while try visit.evaluate("location.search")?.string?.contains("q=") != true { try visit.settle() }
        try visit.settle()
        #expect(try visit.text().contains("1 result."))
        let copy = "http://port-\(origin.port).127-0-0-1.localhost:\(service.port)/recipes/7?"
        #expect(
            try visit.evaluate("document.querySelector('.list a.name').href")?.string?.hasPrefix(copy) == true
        )
        _ = try visit.evaluate("document.querySelector('.list a.url').click()")
        // On a busy machine, the page may still be loading when nothing was requested for some time.
        let hasLoaded = "location.pathname === '/-/page' && document.readyState === 'complete'"
        while try visit.evaluate(hasLoaded)?.bool != true { try visit.settle() }
        #expect(
            try visit.evaluate("document.querySelector('h1').innerText")?.string?.contains("onerror") == true)
        _ = try visit.evaluate("document.querySelector('.orders .button').click()")
        try visit.settle()
        #expect(try visit.address().hasPrefix(copy))
        #expect(visit.escapes.isEmpty)
        #expect(origin.requests.isEmpty)
    }

    @Test(arguments: ["", "/moved"])
    func `a result opens at the words that were found, also after a redirect`(path: String) throws {
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let visit = try Chromium().open(service.address + "-/search?q=lighthouse+lamp")
        _ = try visit.evaluate(
            """
            const result = document.querySelector('.list a.name')
            if ('\(path)') result.pathname = '\(path)'
            result.click()
            """, asUser: true)
        // On a busy machine, the navigation after the click starts later than `settle` waits.
        while try visit.address().contains("larder.localhost") { try visit.settle() }
        #expect(try visit.evaluate("location.pathname")?.string == "/long")
        let position = try visit.evaluate(
            """
            new Promise(resolve => scrollY > 0 ? resolve() : addEventListener('scroll', resolve, { once: true }))
              .then(() => document.querySelector('b').getBoundingClientRect())
              .then(box => box.top > 0 && box.bottom < innerHeight)
            """)
        #expect(position?.bool == true)
    }

    @Test(arguments: [false, true])
    func `the form for an original URL opens the stored page, also at the root`(isAtRoot: Bool) throws {
        var options = ServeOptions()
        options.root = isAtRoot ? origin.url("/") : nil
        let service = try larder.serve(port: 0, options: options)
        defer { service.stop() }
        let host = isAtRoot ? "localhost" : "port-\(origin.port).127-0-0-1.localhost"
        let visit = try Chromium().open("http://larder.localhost:\(service.port)/")
        _ = try visit.evaluate(
            """
            addEventListener('securitypolicyviolation', event => { window.blocked = event.blockedURI })
            document.querySelector('#open').value = '\(origin.url("/"))'
            document.querySelector('#open').form.querySelector('button').click()
            """)
        // On a busy machine, the navigation after the click starts later than `settle` waits.
        while try visit.address().contains("larder.localhost"),
            try visit.evaluate("window.blocked")?.string == nil
        {
            try visit.settle()
        }
        #expect(try visit.address() == "http://\(host):\(service.port)/")
        // The address is known before the page has loaded.
        let load =
            "new Promise(done => document.readyState === 'complete' ? done() : addEventListener('load', () => done()))"
        _ = try visit.evaluate(load)
        #expect(try visit.text().contains("gone"))
        #expect(visit.escapes.isEmpty)
    }

    @Test func `the key of the search field can be turned off, and does nothing in other fields`() throws {
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let visit = try Chromium().open(service.address + "-/search")
        /// Presses the key on an element. Returns the name of the element that has the focus then.
        func press(on selector: String) throws -> String? {
            try visit.evaluate(
                """
                (() => {
                  const element = document.querySelector('\(selector)')
                  document.activeElement.blur()
                  if (element !== document.body) element.focus()
                  element.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true, cancelable: true }))
                  return document.activeElement.name || document.activeElement.nodeName
                })()
                """)?.string
        }
        #expect(try press(on: "body") == "q")
        #expect(try press(on: "select[name=type]") == "type")
        _ = try visit.evaluate("document.querySelector('#slash').click()")
        #expect(try press(on: "body") == "BODY")
        try visit.navigate(to: service.address + "-/search")
        #expect(try press(on: "body") == "BODY")
        _ = try visit.evaluate("document.querySelector('#slash').click()")
        #expect(try press(on: "body") == "q")
    }

    /// Finds texts whose contrast to their background is under 4.5 (WCAG 2.2, 1.4.3).
    static let poorContrast = """
        (() => {
          const numbers = text => (text.match(/[\\d.]+/g) || []).map(Number)
          const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
            .map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
            .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0)
          const behind = element => {
            for (let e = element; e; e = e.parentElement) {
              const colour = numbers(getComputedStyle(e).backgroundColor)
              if (colour.length === 3 || colour[3] === 1) return colour
            }
            return [255, 255, 255]
          }
          const poor = []
          for (const element of document.body.querySelectorAll('*')) {
            if (![...element.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue
            const [a, b] = [light(numbers(getComputedStyle(element).color)), light(behind(element))]
            const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05)
            if (ratio < 4.5) poor.push(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`)
          }
          return poor
        })()
        """

    /// Finds faults for users of a keyboard or a screen reader.
    static let structuralFaults = """
        (() => {
          const faults = []
          const all = selector => [...document.querySelectorAll(selector)]
          for (const [selector, count] of [['body > header', 1], ['main', 1], ['body > footer', 1], ['h1', 1]])
            if (all(selector).length !== count) faults.push(`${selector}: ${all(selector).length}`)
          if (!document.documentElement.lang || !document.title) faults.push('no language or title')
          let level = 1
          for (const heading of all('h1, h2, h3, h4')) {
            const next = Number(heading.tagName[1])
            if (next > level + 1) faults.push(`${heading.tagName} after a heading of level ${level}`)
            level = next
          }
          const names = all('nav').map(n => n.getAttribute('aria-label'))
          if (names.includes(null) || new Set(names).size !== names.length) faults.push('navigations without names')
          for (const more of all('details')) more.open = true
          for (const field of all('input:not([type=hidden]), select, textarea')) if (!field.labels.length) faults.push(`no label: ${field.name}`)
          for (const cell of all('th')) if (!cell.scope) faults.push(`no scope: ${cell.innerText}`)
          for (const image of all('img')) if (!image.hasAttribute('alt')) faults.push('a picture without words')
          if (new Set(all('[id]').map(e => e.id)).size !== all('[id]').length) faults.push('an id twice')
          if (all('[tabindex]').some(e => e.tabIndex > 0)) faults.push('an order of its own')
          const stops = all(
            'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]')
          const skip = stops[0]
          if (skip.getAttribute('href').split('#')[1] !== document.querySelector('main').id) faults.push('no skip link')
          for (const stop of stops) {
            stop.focus()
            const style = getComputedStyle(stop), box = stop.getBoundingClientRect()
            if (document.activeElement !== stop) faults.push(`not to be reached: ${stop.outerHTML}`)
            if (style.outlineStyle === 'none' || box.right <= 0) faults.push(`focus is not seen: ${stop.outerHTML}`)
            const name = stop.innerText?.trim() || stop.labels?.length || stop.getAttribute('aria-labelledby')
              || stop.getAttribute('aria-label')
            if (!name) faults.push(`no name: ${stop.outerHTML}`)
          }
          return faults
        })()
        """
}
