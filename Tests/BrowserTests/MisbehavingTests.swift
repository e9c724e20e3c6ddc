import Browser
import Glibc
import System
import TestOrigin
import Testing

/// Pages that misbehave, one after another in a few tabs: each ends, its actions are reported, and the browser can render
/// the next one. This runs it as a soak test:
///
///     LARDER_PAGES=1000 scripts/test --filter MisbehavingTests
@Suite(.enabled(if: SharedBrowser.isInstalled, "no browser is installed"), .serialized)
struct MisbehavingTests {
    private static let pages = getenv("LARDER_PAGES").flatMap { Int(String(cString: $0)) } ?? kinds.count
    private static let tabs = 3
    /// The time limit of one page.
    private static let limit = Duration.seconds(4)

    /// A page, and the notice that is expected for it unless it ends normally.
    private static let kinds: [(script: String, notice: PageNotice.Kind?)] = [
        ("for (;;) {}", nil),
        ("onload = () => { for (;;) {} }", nil),
        ("const again = () => Promise.resolve().then(again); again()", nil),
        ("while (true) alert('again')", .dialog),
        ("setInterval(() => confirm('sure?'), 1)", .dialog),
        ("for (let i = 0; i < 10000; i++) fetch('/' + i)", .tooManyRequests),
        ("const all = []; for (;;) all.push(new Array(1e6).fill(all.length + 0.5))", .crash),
        ("for (let i = 0; i < 1000; i++) window.open('/popup' + i)", .window),
        ("setInterval(() => location.reload(), 1)", nil),
        ("location.href = '/next?' + Math.random()", nil),
        ("let n = 0; setInterval(() => history.pushState({}, '', '/' + n++), 1)", nil),
        ("for (let i = 0; i < 300; i++) new Worker('data:text/javascript,for(;;){}')", nil),
        (
            "const f = () => { document.body.append(document.createElement('iframe')); setTimeout(f, 0) }; f()",
            nil
        ),
        ("setInterval(() => { document.body.innerHTML += '<p>more'.repeat(1000) }, 0)", nil),
        ("const f = () => f(); setInterval(f, 0)", .scriptError),
        (
            "onbeforeunload = (e) => { e.preventDefault(); return 'stay' }; for (let i = 0; i < 9; i++) print()",
            nil
        ),
        (
            "for (let i = 0; i < 50; i++) { const a = document.createElement('a'); a.href = '/file'; a.download = ''; a.click() }",
            nil
        ),
        ("document.write('<script>document.write(1)<' + '/script>'.repeat(1e5))", nil),
    ]

    @Test func `every misbehaving page ends with an outcome that names the problem`() throws {
        let origin = try TestOrigin()
        for (number, kind) in Self.kinds.enumerated() {
            let page =
                "<!DOCTYPE html><title>\(number)</title><body><a href=/x>x</a><script>\(kind.script)</script>"
            origin.on("/page/\(number)", .page(page))
            origin.on("/next", .page(page))
        }
        origin.otherwise { _ in .file("x", type: "application/octet-stream") }
        let browser = try SharedBrowser.start()
        defer { browser.close() }
        let state = Monitor<(running: Int, outcomes: [Int: PageOutcome])>((0, [:]))
        for number in 0..<Self.pages {
            _ = state.wait { state -> Bool? in
                guard state.running < Self.tabs else { return nil }
                state.running += 1
                return true
            }
            var visit = PageVisit(url: origin.url("/page/\(number % Self.kinds.count)"))
            (visit.limit, visit.stall, visit.quiet) = (Self.limit, .seconds(2), .milliseconds(200))
            browser.open(visit) { outcome in
                state.change { state in
                    state.running -= 1
                    state.outcomes[number] = outcome
                }
            }
        }
        let outcomes = state.wait { $0.outcomes.count == Self.pages ? $0.outcomes : nil }
        /// Opens a page again, alone and with long limits. On a loaded machine, short limits may end before the page has
        /// done anything, or even before its tab is open.
        func renderWithLongLimits(_ number: Int) -> PageOutcome {
            var visit = PageVisit(url: origin.url("/page/\(number % Self.kinds.count)"))
            (visit.limit, visit.stall) = (.seconds(120), .seconds(60))
            return browser.render(visit)
        }
        for (number, outcome) in outcomes.sorted(by: { $0.key < $1.key }) {
            let kind = Self.kinds[number % Self.kinds.count]
            // A page that navigates away at once may be gone when its tab is read.
            if case .failed = outcome.ending, kind.notice == nil, !kind.script.hasPrefix("location") {
                if case .failed(let why) = renderWithLongLimits(number).ending {
                    Issue.record("\(kind.script): \(why)")
                }
            }
            if let notice = kind.notice {
                func hasNotice(of outcome: PageOutcome) -> Bool {
                    outcome.notices.contains { $0.kind == notice } || outcome.ending == .hung
                }
                guard !hasNotice(of: outcome) else { continue }
                let second = renderWithLongLimits(number)
                #expect(hasNotice(of: second), "\(kind.script): \(second.ending), \(second.notices)")
            }
        }
        let fine = try TestOrigin()
        fine.on("/", .page("<title>fine</title>"))
        let last = browser.render(PageVisit(url: fine.url("/")))
        #expect(last.ending == .complete && last.title == "fine")
    }
}
