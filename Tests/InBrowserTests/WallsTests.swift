import Glibc
import LarderKit
import TestOrigin
import Testing
import Web

/// Tests site isolation: a mirror forbids what the web forbids one site to do to another, and allows what the web allows.
@Suite(.enabled(if: Chromium.isInstalled, "chromium is not installed"))
struct WallsTests {
    /// The settings that `LARDER_WALLS` names. Then all attempts are made in each of them, and a table of the attempts is printed
    /// with the time that each took. `scripts/soak walls` names all settings.
    private static let named = getenv("LARDER_WALLS").map { String(cString: $0) }
    private static var settings: [Attempt.Setting] {
        named?.split(separator: ",").compactMap { Attempt.Setting(rawValue: String($0)) }
            ?? Attempt.Setting.allCases
    }

    /// The number of shares. Most of the time an attempt waits for requests that must not happen. Each share has its own
    /// origins, mirror and browser, so that the shares can wait at the same time.
    private static let shareCount = named == nil ? 2 : 4

    /// The attempts of one share in one setting. If no settings are named, each attempt is made in two or three of the seven,
    /// since all of them take ten minutes.
    private static func attempts(_ setting: Attempt.Setting, share: Int) -> [Attempt] {
        let place = Attempt.Setting.allCases.firstIndex(of: setting) ?? 0
        let made = Attempt.all.enumerated().filter { named != nil || ($0.offset + place) % 3 == 0 }.map(
            \.element)
        return made.enumerated().filter { $0.offset % shareCount == share }.map(\.element)
    }

    @Test(arguments: settings, 0..<shareCount)
    func `an attempt ends in a mirror as it does on the web`(setting: Attempt.Setting, share: Int)
        async throws
    {
        let trial = try await Trial(setting, Self.attempts(setting, share: share))
        let rows = try trial.rows()
        let failed = rows.count { !$0.isAsExpected }
        if Self.named != nil { print(Self.table(rows, setting)) }
        #expect(failed == 0, "\(Self.table(rows, setting))")
    }

    /// Loads each resource from a page that is not mirrored, in the browser that has opened the mirror.
    @Test(arguments: [CachePolicy.offline, .auto])
    func `a foreign page can neither read a mirror nor learn what is stored`(policy: CachePolicy)
        async throws
    {
        let range = try WebRange()
        let visitor = try TestOrigin()
        visitor.on("/", .page("<!DOCTYPE html><title>visitor</title><body>"))
        let folder = try TemporaryFolder()
        let larder = Larder(at: folder.file("larder"))
        try await range.prefetch(into: larder, folder)
        try await larder.forgetMisses()
        var options = ServeOptions()
        options.policy = policy
        options.network = try range.network(folder, hasCookies: true)
        let service = try larder.serve(port: 0, options: options)
        defer { service.stop() }
        let browser = try Chromium(names: "*.example", takesPictures: false)
        // The user has a cookie of the bank's mirror.
        let login = try #require(service.address(of: range.url("bank/act/login")))
        let visit = try browser.open(login, quiet: nil)
        try visit.navigate(to: visitor.url("/"), quiet: nil)
        _ = try visit.evaluate("globalThis.prelude = ''; " + Trial.helpers + "; 0")
        range.forget()
        var leaks: [String] = []
        for (kind, script, place) in Self.probes {
            func outcome(_ address: String) throws -> String {
                try visit.evaluate("(async (url) => { \(script) })('\(address)')", within: .seconds(60))?
                    .string
                    ?? "nothing"
            }
            let stored = try outcome(#require(service.address(of: range.url(place))))
            let other = try outcome(#require(service.address(of: range.url(place + "-not"))))
            if stored != other { leaks.append("\(kind): \(stored) if it is stored, \(other) if it is not") }
            if ["loaded", "read"].contains(stored) { leaks.append("\(kind): \(stored)") }
        }
        for path in ["", "?format=json", "-/sites/1"] {
            for portal in [service.address, "http://larder.localhost:\(service.port)/"] {
                let read = "read('\(portal)\(path)', { credentials: 'include' })"
                let word = try visit.evaluate(read)?.string
                if word != "refused" { leaks.append("the portal's /\(path): \(word ?? "nothing")") }
            }
        }
        #expect(leaks.isEmpty, "\(leaks.joined(separator: "\n"))")
        #expect(range.arrivals(withConnections: false).isEmpty)
        service.stop()
        #expect(try await larder.misses().misses.map(\.url) == [])
    }

    /// The scripts with which a page tries to learn about a URL, and the URL that each one uses.
    private static let probes: [(kind: String, script: String, place: String)] = [
        ("a picture", "return loads('img', { src: url })", "cdn/pic.png"),
        ("a picture to be read", "return loads('img', { src: url, crossorigin: '' })", "cdn/open.png"),
        ("a script", "return loads('script', { src: url })", "cdn/lib.js"),
        ("a script to be read", "return loads('script', { src: url, crossorigin: '' })", "cdn/open.js"),
        ("a module", "return import(url).then(() => 'loaded', () => 'refused')", "cdn/module.js"),
        ("a style", "return loads('link', { rel: 'stylesheet', href: url })", "cdn/style.css"),
        (
            "a font", "return new FontFace('A', `url(${url})`).load().then(() => 'loaded', () => 'refused')",
            "cdn/any.woff2"
        ),
        ("a fetch", "return read(url)", "cdn/data.json"),
        ("a fetch with credentials", "return read(url, { credentials: 'include' })", "bank/act/account.json"),
        ("a fetch without asking", "return read(url, { mode: 'no-cors' })", "bank/act/account"),
        (
            "a fetch of what is loaded", "return read(url, { headers: { 'Larder-Policy': 'reload' } })",
            "cdn/data.json"
        ),
        ("a post", "return read(url, { method: 'POST', mode: 'no-cors', body: 'x' })", "bank/act/account"),
        ("an object", "return loads('object', { data: url, type: 'image/png' })", "cdn/pic.png"),
        (
            "a picture's time",
            "await loads('img', { src: url }); const e = performance.getEntriesByName(url)[0]; "
                + "return e ? `${e.encodedBodySize} ${e.responseStatus}` : 'hidden'", "cdn/pic.png"
        ),
        ("a frame's frames", "return String((await frame(url)).length)", "bank/frames"),
    ]

    /// Behind the proxy, the page's server is on the public network, whatever its address.
    @Test
    func `requests of a public page to this machine are never sent, neither by the browser nor by an update`()
        async throws
    {
        let range = try WebRange()
        let proxy = try SocksProxy(to: range.port)
        let folder = try TemporaryFolder()
        let larder = Larder(at: folder.file("larder"))
        var prefetch = PrefetchOptions()
        prefetch.network.proxy = "socks5h://127.0.0.1:\(proxy.port)"
        _ = try await larder.prefetch([range.url("evil/")], options: prefetch)
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let visit = try Chromium().open(
            try #require(service.address(of: range.url("evil/agent"))), quiet: nil)
        let near = range.near.url("/near")
        let mirrored = try #require(service.address(of: near))
        _ = try visit.evaluate("globalThis.prelude = ''; " + Trial.helpers + "; 0")
        for address in [near, mirrored] {
            _ = try visit.evaluate(
                """
                (async () => {
                  await loads("img", { src: "\(address)?image" })
                  await loads("script", { src: "\(address)?script" })
                  await read("\(address)?fetch"); await read("\(address)?fetched", { mode: "no-cors" })
                  await frame("\(address)?frame")
                  const hidden = make("iframe", { name: "hidden" })
                  make("form", { action: "\(address)", target: "hidden" }).submit()
                  await soon(hidden.outcome, "nothing", 200)
                  setTimeout(() => { location = "\(address)?location" })
                })()
                """)
            try visit.settle(within: .seconds(2))
            try visit.navigate(to: try #require(service.address(of: range.url("evil/agent"))), quiet: nil)
            _ = try visit.evaluate("globalThis.prelude = ''; " + Trial.helpers + "; 0")
        }
        service.stop()
        _ = try await larder.prefetch([range.url("evil/")], options: prefetch)
        _ = try await larder.prefetch(
            [range.url("cdn/")],
            options: { () throws -> PrefetchOptions in
                var options = PrefetchOptions()
                options.network = try range.network(folder, hasCookies: false)
                return options
            }())
        #expect(range.near.requests.isEmpty)
        #expect(proxy.destinations.filter { $0.hasSuffix(":\(range.near.port)") } == [])
    }

    private static func table(_ rows: [Trial.Row], _ setting: Attempt.Setting) -> Comment {
        var text =
            "\(setting.rawValue): \(rows.count) attempts, \(rows.count { !$0.isAsExpected }) not as expected\n"
        for row in rows {
            let mark = row.isAsExpected ? "  " : "✗ "
            text +=
                "\(mark)\(row.time.formatted) \(row.attempt.name) [\(row.attempt.page)]: \(row.word)\(row.isAsExpected ? "" : "; expected \(row.expectation)")\n"
            for arrival in row.arrivals { text += "       <- \(arrival)\n" }
        }
        return Comment(rawValue: text)
    }
}

/// Makes attempts in one setting, one after the other.
private final class Trial {
    /// An attempt with its result.
    struct Row {
        let attempt: Attempt
        let word: String
        let arrivals: [String]
        let isAsExpected: Bool
        let expectation: String
        let time: Duration
    }

    private let setting: Attempt.Setting
    private let attempts: [Attempt]
    private let range: WebRange
    private let folder: TemporaryFolder
    private let larder: Larder
    private let browser: Chromium
    private var service: (root: String?, service: MirrorService)?
    /// Expected arrivals of earlier attempts that had not arrived when these were over. On a loaded machine they arrive
    /// later.
    private var owed: [String] = []

    init(_ setting: Attempt.Setting, _ attempts: [Attempt]) async throws {
        self.setting = setting
        self.attempts = attempts.filter { setting != .web || !$0.manner.contains(.mirrorOnly) }
        range = try WebRange()
        folder = try TemporaryFolder()
        larder = Larder(at: folder.file("larder"))
        browser = try Chromium(
            names: "*.example", secureOrigins: setting == .web ? range.secureOrigins : [],
            takesPictures: false)
        // A shared server shows the snapshots of one site only, so all hosts are one site.
        if setting != .web { try await range.prefetch(into: larder, folder, asOneSite: setting.isShared) }
    }

    deinit { service?.service.stop() }

    /// Makes all attempts, and returns their rows in the order of the table. Attempts that need the same site at the root
    /// are made together: first those that can share a tab, then those that need a tab of their own.
    func rows() throws -> [Row] {
        var rows: [(number: Int, row: Row)] = []
        for group in Dictionary(grouping: attempts.enumerated(), by: { root(for: $0.element) }).values {
            var tab: (visit: ChromiumVisit, page: String?)?
            for (number, attempt) in group where !attempt.manner.contains(.alone) {
                let row = try rowWithRetries(attempt) { () throws -> ChromiumVisit in
                    guard let open = tab else { return try visit(attempt) }
                    if open.page != attempt.page { try show(attempt.page, in: open.visit) }
                    return open.visit
                }
                tab = row.visit.map { ($0, attempt.manner.contains(.leaves) ? nil : attempt.page) }
                rows.append((number, row.row))
            }
            for (number, attempt) in group where attempt.manner.contains(.alone) {
                rows.append(
                    (
                        number,
                        try rowWithRetries(attempt) { () throws -> ChromiumVisit in try visit(attempt) }.row
                    )
                )
            }
        }
        return rows.sorted { $0.number < $1.number }.map(\.row)
    }

    // MARK: - Addresses

    /// The host of the site at the root; nil if there is none in this setting.
    private func root(for attempt: Attempt) -> String? {
        let host = String(attempt.page.prefix { $0 != "/" })
        return switch setting {
        case .web, .offline, .auto: nil
        case .atRoot, .sharedRoot: host
        case .besideRoot, .besideSharedRoot: host.hasSuffix("bank") ? "evil" : "bank"
        }
    }

    /// Starts the server that the attempt needs, unless it is running.
    private func serve(for attempt: Attempt) throws {
        guard setting != .web else { return }
        let root = root(for: attempt)
        if let service, service.root == root { return }
        service?.service.stop()
        var options = ServeOptions()
        options.root = root.map { range.url($0 + "/") }
        options.policy = setting == .offline || setting.isShared ? .offline : .auto
        if setting.isShared { (options.address, options.showsPrivate) = ("*", true) }
        options.network = try range.network(folder, hasCookies: true)
        service = (root, try larder.serve(port: 0, options: options))
    }

    /// The address of a URL in this setting.
    private func address(_ url: String) throws -> String {
        guard let service else { return url }
        return try #require(service.service.address(of: url))
    }

    /// The addresses that scripts find in `at`.
    private func names() throws -> [(name: String, address: String)] {
        var names = try range.addresses.map { name, url in
            // A host that is not mirrored keeps its address.
            (name: name, address: name == "outside" ? url : String(try address(url + "/").dropLast()))
        }
        if let service {
            names.append(("portal", "http://larder.localhost:\(service.service.port)"))
        }
        return names
    }

    /// The path of the folder for other origins, which contains the seal of a page.
    private static let folder = #"/\/-\/web\/[^/]+\//"#

    /// The script that defines the addresses and helpers for attempts.
    private func prelude() throws -> String {
        var writer = JSONWriter(.compact)
        let names = try names() + range.constants
        writer.object { object in for (name, address) in names { object.member(name, address) } }
        // Replaces the seal by that of the page, below which it finds all other origins.
        return """
            globalThis.at = \(writer.text);
            globalThis.folder = (\(Self.folder).exec(location.pathname) ?? [])[0];
            if (folder) for (const name in at) at[name] = at[name].replace(\(Self.folder), folder);

            """ + Self.helpers
    }

    /// Returns the short form of an address in the table: the name of the host, and the path.
    private func place(of address: String) throws -> String {
        let address = Self.withoutSeal(address)
        let names = try names().map { (name: $0.name, address: Self.withoutSeal($0.address)) }
        let known = names.filter { address == $0.address || address.hasPrefix($0.address + "/") }
        guard let place = known.max(by: { $0.address.utf8.count < $1.address.utf8.count }) else {
            return address
        }
        return place.name + address.dropFirst(place.address.count).prefix { $0 != "?" && $0 != "#" }
    }

    private static func withoutSeal(_ address: String) -> String {
        guard let seal = address.firstRange(of: "/-/web/") else { return address }
        let end = address[seal.upperBound...].firstIndex(of: "/") ?? address.endIndex
        return String(address[..<seal.upperBound] + address[end...].dropFirst())
    }

    /// Opens the attempt's page in a new tab in which the user has logged in at the bank.
    private func visit(_ attempt: Attempt) throws -> ChromiumVisit {
        let login = try address(range.url("bank/act/login"))
        let visit = try browser.open(login, quiet: nil, hasOwnContext: !attempt.manner.contains(.connects))
        try show(attempt.page, in: visit)
        return visit
    }

    /// Navigates to a page, and runs the script with the addresses and helpers in it.
    private func show(_ page: String, in visit: ChromiumVisit) throws {
        try visit.navigate(to: try address(range.url(page)), quiet: nil)
        let prelude = try prelude()
        var writer = JSONWriter(.compact)
        writer.array { $0.value(prelude) }
        _ = try visit.evaluate("globalThis.prelude = \(writer.text)[0]; (0, eval)(prelude); 0")
    }

    // MARK: - One attempt

    /// Makes an attempt, and repeats it in a tab of its own if a page was loaded too slowly on a loaded machine: if the
    /// attempt got nothing, or if the web allows it. For a forbidden attempt, anything that it got counts the first time.
    private func rowWithRetries(
        _ attempt: Attempt, in open: () throws -> ChromiumVisit
    ) throws -> (row: Row, visit: ChromiumVisit?) {
        var last = try row(attempt, in: open)
        for _ in 0..<4 where !last.row.isAsExpected && (last.row.word == "nothing" || attempt.isAllowed) {
            last = try row(attempt) { () throws -> ChromiumVisit in try visit(attempt) }
        }
        return last
    }

    /// Makes an attempt once.
    ///
    /// - Parameter open: Opens the page that makes it.
    private func row(
        _ attempt: Attempt, in open: () throws -> ChromiumVisit
    ) throws -> (row: Row, visit: ChromiumVisit?) {
        let begin = ContinuousClock.now
        try serve(for: attempt)
        var visit: ChromiumVisit?
        var word: String
        do {
            let page = try open()
            visit = page
            range.forget()
            let start = try page.address()
            let script = "(async () => {\n\(attempt.script)\n})()"
            let value = try page.evaluate(
                script, within: .seconds(60), asUser: attempt.manner.contains(.asUser))
            word = value?.string ?? "nothing"
            if attempt.manner.contains(.leaves) { word = try place(of: end(of: page, from: start)) }
        } catch let error as ChromiumError {
            word = "\(error.why.prefix { $0 != "\n" })"
        }
        let expectation = attempt.expectation(in: setting)
        // Offline, only known gaps have arrivals. One that is late would be counted for the next attempt.
        let patience: Duration =
            switch setting {
            // On the web, all expected requests arrive, unless arrivals are ignored.
            case .web: expectation.ignoresArrivals ? .seconds(1) : .seconds(60)
            case .offline, .sharedRoot, .besideSharedRoot: .seconds(2)
            case .auto, .atRoot, .besideRoot: .milliseconds(150)
            }
        let arrivals = range.arrivals(
            expectation.arrivals.count, within: patience,
            withConnections: attempt.manner.contains(.connects)
        ).filter { !isLate($0, for: expectation) }
        owed += expectation.arrivals.filter { expected in
            !arrivals.contains { Attempt.Expectation.isWithin($0, expected) }
        }
        let row = Row(
            attempt: attempt, word: word, arrivals: arrivals,
            isAsExpected: expectation.isMet(by: word, arrivals), expectation: expectation.description,
            time: .now - begin)
        return (row, visit)
    }

    /// Whether an earlier attempt was expected to cause this arrival and had not when it was over.
    private func isLate(_ arrival: String, for expectation: Attempt.Expectation) -> Bool {
        func isMeant(_ other: String) -> Bool { Attempt.Expectation.isWithin(arrival, other) }
        guard !expectation.arrivals.contains(where: isMeant), let place = owed.firstIndex(where: isMeant)
        else {
            return false
        }
        owed.remove(at: place)
        return true
    }

    /// Returns the address at which a tab stays that is being navigated: two checks find the same one.
    private func end(of visit: ChromiumVisit, from start: String) throws(ChromiumError) -> String {
        let deadline = ContinuousClock.now + .seconds(2)
        var address = start
        while deadline > .now {
            try visit.settle(within: .seconds(1), quiet: nil)
            // A page that is just left does not answer.
            let look = try? visit.evaluate("new Promise((done) => setTimeout(done, 60, location.href))")
            guard let look = look?.string else { continue }
            if look == address, look != start { break }
            address = look
        }
        return address
    }

    static let helpers = #"""
        globalThis.nick = (url) => {
          const bare = (url) => url.replace(/\/-\/web\/[^/]+\//, "/-/web/")
          url = bare(url)
          const own = (base) => url === base || url.startsWith(base + "/")
          const [found] = Object.entries(at).map(([name, base]) => [name, bare(base)]).filter(([, base]) => own(base)).sort((a, b) => b[1].length - a[1].length)
          return found ? found[0] + url.slice(found[1].length).split(/[?#]/)[0] : url
        }
        globalThis.domain = (base) => new URL(base).hostname.split(".").slice(-2).join(".")
        globalThis.soon = (promise, otherwise = "nothing", limit = 2000) =>
          Promise.race([promise, new Promise((done) => setTimeout(done, limit, otherwise))])
        globalThis.make = (tag, attributes = {}, parent = document.body ?? document.documentElement) => {
          const element = document.createElementNS("http://www.w3.org/1999/xhtml", tag)
          element.outcome = new Promise((done) => {
            element.onload = () => done("loaded")
            element.onerror = () => done("refused")
          })
          for (const [name, value] of Object.entries(attributes))
            if (value !== undefined) element.setAttribute(name, value)
          parent.append(element)
          return element
        }
        globalThis.loads = (tag, attributes) => soon(make(tag, attributes).outcome)
        // What a page gets of another site's page, in whichever way.
        globalThis.steal = async (url, init) => {
          try {
            return (await (await fetch(url, init)).text()).includes("SECRET") ? "read" : "kept"
          } catch {
            return "kept"
          }
        }
        globalThis.read = async (url, init) => {
          try {
            const answer = await fetch(url, init)
            if (answer.type === "opaque") return "opaque"
            return (await answer.text()).includes("SECRET") ? "read" : "answered " + answer.status
          } catch {
            return "refused"
          }
        }
        globalThis.frame = async (src, attributes) => {
          const element = make("iframe", { src, ...attributes })
          await soon(element.outcome)
          return element.contentWindow
        }
        // What an agent in a window says to a piece of code.
        globalThis.ask = (window, code, limit) => soon(new Promise((done) => {
          const id = Math.random()
          addEventListener("message", (event) => event.data?.id === id && done(event.data.said))
          window.postMessage({ id, code: `globalThis.prelude = ${JSON.stringify(prelude)}; (0, eval)(prelude); ${code}` }, "*")
        }), "nothing", limit)
        globalThis.popup = async (url) => {
          const window = open(url)
          for (let turn = 0; turn < 20; turn++) if (await ask(window, "'ready'", 100) === "ready") break
          return window
        }
        globalThis.shows = async (url) => {
          const shown = new Promise((done) => addEventListener("message", (event) => event.data === "shown" && done("shown")))
          await frame(url)
          return soon(shown, "nothing", 100)
        }
        globalThis.agent = `addEventListener("message", async (event) => {
          let said
          try { said = String(await (0, eval)(event.data.code)) } catch (error) { said = "refused" }
          event.source.postMessage({ id: event.data.id, said }, "*")
        })`
        """#
}

extension Attempt.Setting {
    /// Whether all origins share one host name.
    var isShared: Bool { self == .sharedRoot || self == .besideSharedRoot }
}

extension Attempt {
    /// The accepted results of an attempt in one setting.
    struct Expectation: CustomStringConvertible {
        /// The accepted results; empty accepts any.
        let words: [String]
        let arrivals: [String]
        /// Whether fewer requests with fewer cookies and without a referrer may arrive.
        let isBound: Bool
        /// Whether arrivals are ignored.
        let ignoresArrivals: Bool
        let reason: String?

        func isMet(by word: String, _ seen: [String]) -> Bool {
            let isRefused =
                word.hasPrefix("SecurityError") && !Set(words).isDisjoint(with: ["refused", "apart"])
            guard words.isEmpty || words.contains(word) || isRefused else { return false }
            if ignoresArrivals { return true }
            guard !isBound else {
                return seen.allSatisfy { line in arrivals.contains { Self.isWithin(line, $0) } }
            }
            return seen == arrivals.sorted()
        }

        static func isWithin(_ seen: String, _ expected: String) -> Bool {
            func parts(_ line: String) -> (what: Substring, cookies: Set<Substring>) {
                let what = line.prefix { $0 != "{" }
                return (what, Set(line.dropFirst(what.count + 1).prefix { $0 != "}" }.split(separator: " ")))
            }
            let (seen, expected) = (parts(seen), parts(expected))
            return seen.what == expected.what && seen.cookies.isSubset(of: expected.cookies)
        }

        var description: String {
            let word = words.isEmpty ? "anything" : words.joined(separator: " or ")
            return ([word] + arrivals.map { "<- \($0)" } + (reason.map { ["as \($0)"] } ?? [])).joined(
                separator: "; ")
        }
    }

    /// The results of scripts that got nothing.
    private static let refusals = [
        "refused", "nothing", "no answer", "answered 403", "answered 504", "answered",
    ]

    /// Returns the accepted results, with the first exception that applies to the setting.
    func expectation(in setting: Setting) -> Expectation {
        let exception = exceptions.first { $0.settings.contains(setting) }
        var words = exception.map { $0.word.map { [$0] } ?? [] } ?? [word]
        // On a shared root, the server refuses requests in place of the browser. The cookies of the crawl may have made
        // responses private to their site, so allowed attempts may fail too.
        if setting.isShared, !words.isEmpty {
            words = isAllowed ? [] : words + Self.refusals
        }
        // Fewer cookies arrive: those with `SameSite=None` need TLS, which this mirror does not use.
        return Expectation(
            words: words, arrivals: exception?.arrivals ?? (setting == .offline ? [] : arrivals),
            isBound: setting != .web, ignoresArrivals: manner.contains(.mayArrive),
            reason: exception?.reason)
    }
}

extension Duration {
    var formatted: String { "\(components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000)" }
}
