internal import Browser
internal import Glibc
internal import System
internal import TestOrigin

/// Measures how many pages per second a browser renders:
///
///     swift run BrowserBenchmark PAGES TABS [QUIET-MS [PROGRAM [FLAG...]]]
///
/// The pages are small. Each has a style sheet and a script, which sends two requests and adds 30 links.
@main
enum Rendering {
    static func main() {
        let words = CommandLine.arguments.dropFirst()
        let numbers =
            words.prefix(3).compactMap { Int($0) } + Array([60, 4, 300].dropFirst(min(words.count, 3)))
        let (pageCount, tabCount, quiet) = (numbers[0], numbers[1], numbers[2])
        do {
            let origin = try TestOrigin()
            serve(origin)
            let program = words.dropFirst(3).first ?? BrowserProgram.find() ?? "chromium"
            var options = BrowserOptions(executable: program)
            options.extraArguments = Array(words.dropFirst(4))
            let start = Stopwatch()
            let browser = try Browser(options)
            print("started after \(start.elapsed), sandboxed: \(browser.isSandboxed)")
            for round in 1...2 {
                let work = Work(browser, origin, pageCount: pageCount, quiet: .milliseconds(quiet))
                let age = Stopwatch()
                let outcomes = work.run(tabCount)
                let seconds = age.elapsed / .seconds(1)
                let good = outcomes.filter { $0.ending == .complete && $0.links.count == 30 }.count
                let waits = outcomes.map { $0.elapsed / .milliseconds(1) }.sorted()
                print(
                    "round \(round): \(good) of \(pageCount) pages, \(Double(pageCount) / seconds) per second;",
                    "median \(waits[waits.count / 2]) ms, slowest \(waits[waits.count - 1]) ms")
            }
            let end = Stopwatch()
            browser.close()
            var usage = rusage()
            getrusage(RUSAGE_CHILDREN.rawValue, &usage)
            let times = [usage.ru_utime, usage.ru_stime].map { Double($0.tv_sec) + Double($0.tv_usec) / 1e6 }
            print("closed after \(end.elapsed); \(times[0] + times[1]) s of CPU time")
        } catch {
            print(error)
        }
    }

    private static func serve(_ origin: TestOrigin) {
        origin.otherwise { request in
            switch request.path {
            case "/style.css": return .file("body { font: 16px sans-serif }", type: "text/css")
            case "/app.js":
                return .file(
                    """
                    for (const part of ['a', 'b'])
                      fetch('/data/' + part + location.search).then((r) => r.text()).then((text) => {
                        const p = document.createElement('p'); p.textContent = text;
                        document.body.append(p); });
                    for (let i = 0; i < 30; i++) { const a = document.createElement('a');
                      a.href = '/page?' + i; a.textContent = 'page ' + i; document.body.append(a); }
                    """, type: "text/javascript")
            case "/page":
                return .page(
                    "<!DOCTYPE html><link rel=stylesheet href=/style.css><h1>Page</h1>"
                        + "<script src=/app.js></script>")
            case "/favicon.ico": return .failure(404)
            default: return .file("data", type: "text/plain")
            }
        }
    }
}

/// Opens `pageCount` pages, several at the same time.
private final class Work: Sendable {
    private struct State: Sendable {
        var next = 0
        var outcomes: [PageOutcome] = []
    }

    private let browser: Browser
    private let base: String
    private let pageCount: Int
    private let quiet: Duration
    private let state = Monitor(State())

    init(_ browser: Browser, _ origin: TestOrigin, pageCount: Int, quiet: Duration) {
        self.browser = browser
        base = origin.base
        self.pageCount = pageCount
        self.quiet = quiet
    }

    func run(_ tabCount: Int) -> [PageOutcome] {
        for _ in 0..<tabCount { open() }
        return state.wait { [pageCount] in $0.outcomes.count == pageCount ? $0.outcomes : nil }
    }

    private func open() {
        let number = state.change { state in
            state.next += 1
            return state.next
        }
        guard number <= pageCount else { return }
        var visit = PageVisit(url: "\(base)/page?\(number)")
        visit.quiet = quiet
        browser.open(visit) { outcome in
            self.state.change { $0.outcomes.append(outcome) }
            self.open()
        }
    }
}
