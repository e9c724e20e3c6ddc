import Fetch
import Store
import Synchronization
import System
import TestOrigin
import Testing
import Web

@testable import Crawl

/// Pages that are rendered during a crawl, which sends their requests.
@Suite struct RenderingCrawlTests {
    private let bench: CrawlBench
    private let browser = ScriptedBrowser()
    /// A page with little text, whose script /app.js composes the URL of a request.
    private static let shell =
        "<!DOCTYPE html><title>s</title><div id=app></div><script src=/app.js></script>"

    init() throws {
        bench = try CrawlBench()
        bench.origin.on("/app.js", .file("fetch(['a','b'].join('/'))", type: "text/javascript"))
    }

    private func crawl(
        _ mode: RenderMode = .auto, _ interruption: Interruption = Interruption(),
        _ configure: (inout CrawlPlan) -> Void = { _ in }
    ) throws -> CrawlReport {
        try bench.crawl(interruption) { plan in
            plan.rendering = RenderPlan(mode: mode, tabs: 2) { [browser] channel in
                browser.channel.withLock { $0 = channel }
                return browser
            }
            configure(&plan)
        }
    }

    private func links(of target: String) throws -> StoredLinks {
        let response = try #require(try bench.stored(target))
        return try #require(try StoreReader(bench.folder).storedLinks(of: response))
    }

    @Test func `a request of a rendered page is fetched once, stored, and recorded as a link of the page`()
        throws
    {
        bench.origin.on("/", .page(Self.shell))
        bench.origin.on("/data.json", .file("{\"a\":1}", type: "application/json"))
        browser.addRequests("/", ["/data.json", "/data.json", "/app.js"])
        let report = try crawl()
        #expect(browser.answers == ["/app.js: stored", "/data.json: stored", "/data.json: stored"])
        #expect(bench.count("/data.json") == 1)
        #expect(bench.count("/app.js") == 1)
        #expect(try bench.text("/data.json") == "{\"a\":1}")
        #expect(try links(of: "/").assets.map(\.path) == ["/app.js", "/data.json"])
        #expect(report.rendering.patterns.map(\.foundAssets) == [1])
        #expect(report.isPublished)
        #expect(browser.isClosed)
    }

    @Test("With a page limit, other queries of a page wait for the pages that rendering finds")
    func variantsWait() throws {
        bench.origin.on(
            "/", .page("<script src=/app.js></script><div id=app></div><a href=/?a>1</a><a href=/?b>2</a>"))
        for target in ["/?a", "/?b", "/new"] { bench.origin.on(target, .page("text of \(target)")) }
        browser.setLinks("/", to: ["/new"])
        #expect(try crawl { $0.limits.pages = 2 }.pages == 2)
        #expect(bench.count("/new") == 1 && bench.count("/?a") == 0)
        #expect(try crawl { $0.limits.pages = 4 }.pages == 4)
        #expect(bench.count("/?a") == 1 && bench.count("/?b") == 1)
    }

    private static func words(_ number: Int) -> String {
        (0..<20).map { "word\(number * 100 + $0)" }.joined(separator: " ")
    }

    @Test func `links by which pages are shared do not count as found, and only a few are fetched`() throws {
        let numbers = 1...40
        bench.origin.on("/", .page(numbers.map { "<a href=/a/\($0)>\($0)</a>" }.joined()))
        for number in numbers {
            let page = "<script src=/app.js></script>\(Self.words(number))"
            bench.origin.on("/a/\(number)", .page(page))
            bench.origin.on("/a/\(number)?q=", .page(page))
            browser.setLinks("/a/\(number)", to: ["/a/\(number)?q="])
        }
        let report = try crawl()
        #expect((1...16).contains(report.rendering.rendered))
        let shared = bench.origin.requests.map(\.target).filter { $0.hasSuffix("?q=") }
        #expect((1...16).contains(shared.count), "\(shared)")
        #expect(report.isPublished)
    }

    @Test func `more pages are rendered if the links to them with a query turn out to be content`() throws {
        let numbers = 1...40
        bench.origin.on("/", .page(numbers.map { "<a href=/a/\($0)>\($0)</a>" }.joined()))
        for number in numbers {
            let page = "<script src=/app.js></script>\(Self.words(number))"
            bench.origin.on("/a/\(number)", .page(page))
            let second = "<a href=/b/\(number)>b</a> \(Self.words(number + 50))"
            bench.origin.on("/a/\(number)?part=two", .page(second))
            bench.origin.on("/b/\(number)", .page("b \(Self.words(number + 100))"))
            browser.setLinks("/a/\(number)", to: ["/a/\(number)?part=two"])
        }
        _ = try crawl()
        #expect(numbers.allSatisfy { bench.count("/a/\($0)?part=two") == 1 })
    }

    @Test("A page that waits for rendering is fetched when a rendered page requests it")
    func neededVariant() throws {
        bench.origin.on("/", .page("<script src=/app.js></script><div id=app></div><a href=/?a>1</a>"))
        bench.origin.on("/?a", .page("text"))
        browser.addRequests("/", ["/?a"])
        #expect(try crawl { $0.limits.pages = 5 }.isPublished)
        // `answers` contains only the path of a URL, without its query.
        #expect(browser.answers == ["/: stored"])
        #expect(bench.count("/?a") == 1)
    }

    @Test func `an unchanged page is not rendered again until one of its assets changes`()
        throws
    {
        bench.origin.on("/", .page(Self.shell).validated(entityTag: "\"1\""))
        bench.origin.on(
            "/app.js",
            .file("fetch(['a','b'].join('/'))", type: "text/javascript").validated(entityTag: "\"1\""))
        bench.origin.on("/data.json", .file("[1]", type: "application/json").validated(entityTag: "\"1\""))
        browser.addRequests("/", ["/data.json"])
        var seen = try crawl().rendering
        #expect(seen.rendered == 1)
        func again() throws -> RenderReport {
            try crawl(.auto) { plan in
                plan.sitePlan.renderedPatterns = seen.renderedPatternTexts
                plan.sitePlan.rendered = seen.fruitfulPatterns ?? []
            }.rendering
        }
        seen = try again()
        #expect(seen.rendered == 0)
        #expect(bench.origin.requests.last?["If-None-Match"] == "\"1\"")
        bench.origin.on("/data.json", .file("[1, 2]", type: "application/json").validated(entityTag: "\"2\""))
        seen = try again()
        #expect(seen.rendered == 1)
        #expect(seen.renderedPatternTexts.count == 1)
    }

    @Test func `pages are rendered although a host that they request never responds`() throws {
        let silent = try TestOrigin()
        silent.hold("/ad.js")
        silent.on("/ad.js", .file("1", type: "text/javascript"))
        defer { silent.release("/ad.js") }
        let ad = "<script src=\(silent.url("/ad.js"))></script>"
        bench.origin.on("/", .page(Self.shell + ad + "<a href=/two/>2</a><a href=/three/>3</a>"))
        for page in ["/two/", "/three/"] { bench.origin.on(page, .page(Self.shell + ad)) }
        for page in ["/", "/two/", "/three/"] {
            browser.addRequests(page, ["\(page)data.json", silent.url("/ad.js")])
            bench.origin.on("\(page)data.json", .file("{}", type: "application/json"))
        }
        // On a busy machine, the site itself may not respond within a short patience.
        let report = try CrawlBench.retrying(from: .milliseconds(400)) { patience, isLast in
            browser.clearRecord()
            let empty = try CrawlBench(emptied: bench)
            let report = try crawl {
                $0.folder = empty.folder
                $0.fetch.spoolFolder = empty.folder.incoming
                $0.patience = patience
                $0.allowedZone = .thisMachine
            }
            let isTooSlow = report.missing.contains { $0.url.hasPrefix(bench.origin.base + "/") }
            return isTooSlow && !isLast ? nil : report
        }
        #expect(browser.renderedPaths.sorted() == ["/", "/three/", "/two/"])
        #expect(report.rendering.patterns.map(\.foundAssets) == [1, 1, 1])
        #expect(report.missing.map(\.url) == [silent.url("/ad.js")])
        #expect(report.missing.first?.remedy == .patience)
        #expect(report.isPublished && !report.isInterrupted)
    }

    @Test("A browser is started only for pages whose scripts can send requests", arguments: [true, false])
    func onlyPagesWithScripts(sends: Bool) throws {
        bench.origin.on(
            "/", .page("<p>\(String(repeating: "words ", count: 100))<script src=/plain.js></script>"))
        bench.origin.on(
            "/plain.js", .file(sends ? "new XMLHttpRequest()" : "var a = 1", type: "text/javascript"))
        let report = try crawl()
        #expect(browser.channel.withLock { $0 == nil } == !sends)
        #expect(report.rendering.rendered == (sends ? 1 : 0))
    }

    @Test func `links of a rendered page are followed and rendered`() throws {
        bench.origin.on("/", .page(Self.shell))
        for number in 1...12 { bench.origin.on("/item/\(number)", .page(Self.shell)) }
        for number in 1...12 {
            bench.origin.on("/item-\(number).json", .file("{}", type: "application/json"))
        }
        browser.setLinks("/", to: (1...12).map { "/item/\($0)" } + ["http://elsewhere.test/"])
        for number in 1...12 { browser.addRequests("/item/\(number)", ["/item-\(number).json"]) }
        for number in 1...12 { browser.setText("/item/\(number)", "the words of item \(number)") }
        let report = try crawl()
        #expect(browser.renderedPaths.count == 13)
        #expect(report.pages == 13)
        #expect(report.missing.isEmpty)
        #expect(report.traps.isEmpty)
        #expect(try links(of: "/").pages.count == 13)
        #expect(report.rendering.patterns.map(\.foundPages) == [12, 0])
        #expect(report.rendering.patterns.map(\.foundAssets) == [0, 12])
    }

    @Test func `a few pages are rendered if rendering finds nothing`() throws {
        let links = (1...12).map { "<a href=/p/\($0)>p</a>" }.joined()
        bench.origin.on("/", .page(String(repeating: "words ", count: 100) + links))
        for number in 1...12 { bench.origin.on("/p/\(number)", .page(Self.shell)) }
        let report = try crawl()
        #expect(browser.renderedPaths.count == 3)
        #expect(report.rendering.patterns.map(\.pattern) == ["\(bench.origin.base.dropFirst(7))/p/*"])
        #expect(report.rendering.patterns.map(\.pages) == [12])
    }

    @Test func `a POST is forwarded, and its response is stored by the request body`() throws {
        bench.origin.on("/", .page(Self.shell))
        bench.origin.on("/graphql") { .file("got \($0.body.count)", type: "application/json") }
        browser.addRequests(
            "/", ["/graphql"], method: "POST", fields: [("Content-Type", "text/plain")], body: "query")
        let report = try crawl()
        #expect(browser.answers == ["/graphql: 200 got 5"])
        let key = RequestKey(method: "POST", body: Array("query".utf8).span, type: MediaType("text/plain"))
        let stored = try StoreReader(bench.folder).response(for: bench.origin.url("/graphql"), request: key)
        #expect(stored?.body?.byteCount == 5)
        #expect(report.rendering.recorded == 1)
    }

    @Test func `all pages whose POST requests get new responses are rendered`() throws {
        bench.origin.on("/", .page((1...12).map { "<a href=/p/\($0)>p</a>" }.joined()))
        bench.origin.on("/data") { .file(String(decoding: $0.body, as: UTF8.self), type: "application/json") }
        bench.origin.on("/log", .file("{\"ok\":1}", type: "application/json"))
        for number in 1...12 {
            bench.origin.on("/p/\(number)", .page(Self.shell))
            browser.addRequests("/p/\(number)", ["/data"], method: "POST", body: "[\(number)]")
        }
        #expect(try crawl().rendering.recorded == 12)
        // Answers that say nothing about the page do not count.
        for number in 1...12 {
            bench.origin.on("/q/\(number)", .page(Self.shell))
            browser.addRequests("/q/\(number)", ["/log"], method: "POST", body: "[\(number)]")
        }
        bench.origin.on("/", .page((1...12).map { "<a href=/q/\($0)>q</a>" }.joined()))
        #expect(try crawl().rendering.recorded < 12)
    }

    @Test func `a page that loads itself again with a cookie of its script is requested again`() throws {
        let stub = Self.shell
        bench.origin.on("/") { request in
            let isKnown = request["Cookie"]?.contains("seen=1") == true
            return .page(isKnown ? "<h1>Content</h1><a href=/next>next</a>" : stub)
        }
        bench.origin.on("/next", .page("next"))
        browser.onRender("/") { [browser] page in
            var request = PageRequest(
                url: page.address, fields: HTTPFields([.init(name: "Sec-Fetch-Dest", value: "document")]))
            request.reloadsWithCookies = true
            request.cookies = [PageCookie(setBy: "seen=1")]
            let isAnswered = Monitor(false)
            browser.channel.withLock { $0 }?.send(request, of: page.number) { _ in
                isAnswered.change { $0 = true }
            }
            _ = isAnswered.wait { $0 ? true : nil }
            var rendered = RenderedPage(ending: .complete)
            rendered.cookies = ["127.0.0.1\tFALSE\t/\tFALSE\t0\tseen\t1"]
            return rendered
        }
        let report = try crawl()
        #expect(try bench.text("/")?.contains("Content") == true)
        #expect(bench.count("/next") == 1)
        #expect(bench.origin.requests(to: "/").count == 3)
        #expect(browser.renderedPaths.prefix(2) == ["/", "/"])
        #expect(report.pages == 2 && report.isPublished)
    }

    @Test func `a page can send many requests, and a request with too large a body is reported`() throws {
        bench.origin.on("/", .page(Self.shell))
        bench.origin.otherwise { _ in .file("[]", type: "application/json") }
        browser.addRequests("/", (1...300).map { "/view/\($0)" }, method: "POST", body: "query")
        browser.addRequests("/", ["/much"], method: "POST", body: String(repeating: "a", count: 4 << 20 | 1))
        let report = try crawl()
        #expect(report.rendering.recorded == 300)
        #expect(browser.answers.filter { !$0.hasSuffix(": 200 []") } == ["/much: refused"])
        #expect(report.rendering.notices == ["not-sent": 1])
    }

    @Test func `the same POST in parallel is sent once, and answers all pages`() throws {
        bench.origin.on("/", .page(Self.shell))
        bench.origin.on("/graphql") { .file("got \($0.body.count)", type: "application/json") }
        bench.origin.hold("/graphql")
        let origin = bench.origin
        let received = Monitor<[String]>([])
        browser.onRender("/") { [browser] page in
            let sent = [("query", "a"), ("query", "a"), ("other one", "a"), ("query", "a"), ("query", "b")]
            for (body, field) in sent {
                let fields = HTTPFields([.init(name: "X-Own", value: field)])
                let request = PageRequest(
                    url: page.url(origin.url("/graphql")), method: "POST", fields: fields,
                    body: Array(body.utf8))
                browser.channel.withLock { $0 }?.send(request, of: page.number) { answer in
                    guard case .response(_, _, let body) = answer else { return }
                    received.change { $0.append(String(decoding: body, as: UTF8.self)) }
                }
            }
            // A DELETE is refused at once. Its answer arrives after the other requests have reached the crawl.
            let last = PageRequest(url: page.url(origin.url("/graphql")), method: "DELETE")
            browser.channel.withLock { $0 }?.send(last, of: page.number) { _ in
                Thread.detach { origin.release("/graphql") }
            }
            _ = received.wait { $0.count == sent.count ? true : nil }
            return RenderedPage(ending: .complete)
        }
        let report = try crawl()
        #expect(received.wait { Optional($0) }.sorted() == ["got 5", "got 5", "got 5", "got 5", "got 9"])
        #expect(bench.count("/graphql") == 3)
        #expect(report.rendering.recorded == 3)
    }

    /// A response cannot be read from the store until it is committed. A page that repeats the request before that
    /// receives the response of the first request.
    @Test func `the same POST before and after its response is stored is sent once`() throws {
        bench.origin.on("/", .page(Self.shell))
        bench.origin.on("/graphql") { .file("got \($0.body.count)", type: "application/json") }
        let origin = bench.origin
        let received = Monitor<[String]>([])
        browser.onRender("/") { [browser] page in
            for count in 1...20 {
                let request = PageRequest(
                    url: page.url(origin.url("/graphql")), method: "POST", body: Array("query".utf8))
                browser.channel.withLock { $0 }?.send(request, of: page.number) { answer in
                    let text =
                        switch answer {
                        case .response(_, _, let body): String(decoding: body, as: UTF8.self)
                        case .stored: "stored"
                        case .connect: "connected"
                        case .blocked(let why), .failed(let why): why
                        }
                    received.change { $0.append(text) }
                }
                _ = received.wait { $0.count == count ? true : nil }
            }
            return RenderedPage(ending: .complete)
        }
        let report = try crawl()
        #expect(Set(received.wait { Optional($0) }).isSubset(of: ["got 5", "stored"]))
        #expect(bench.count("/graphql") == 1)
        #expect(report.rendering.recorded == 1)
    }

    @Test(arguments: [("http://127.0.0.1", true), ("http://localhost", false)])
    func `a POST to another site is sent without cookies`(host: String, isKnown: Bool) throws {
        let place = "\(host):\(bench.origin.port)"
        bench.origin.on("/", .page(Self.shell + "<img src=\(place)/icon.png>"))
        bench.origin.on("/icon.png", .file("icon", type: "image/png").adding("Set-Cookie", "user=me; Path=/"))
        bench.origin.on("/act", .file("done", type: "text/plain"))
        browser.addRequests("/", ["\(place)/act"], method: "POST", body: "x")
        _ = try crawl()
        let request = try #require(bench.origin.requests(to: "/act").first)
        #expect(request["Cookie"] == (isKnown ? "user=me" : nil))
    }

    @Test(arguments: [
        ("GET", "/gone", "/gone: 404 "), ("PUT", "/data", "/data: refused"),
        ("DELETE", "/data", "/data: refused"),
        ("GET", "/private/x", "/private/x: refused"), ("POST", "/private/x", "/private/x: refused"),
        ("GET", "/moved", "/moved: stored"), ("GET", "/cut", "/cut: failed"),
    ])
    func `a page receives the outcome of each request`(method: String, target: String, answer: String)
        throws
    {
        bench.origin.on("/", .page(Self.shell))
        bench.origin.on("/gone", .failure(404))
        bench.origin.on("/moved", .redirect(to: "/app.js"))
        bench.origin.on("/cut", .raw([]))
        browser.addRequests("/", [target], method: method)
        _ = try crawl { plan in
            plan.sitePlan.scope.exclude = ["/private/**"]
            plan.limits.time = .seconds(20)
        }
        #expect(browser.answers == [answer])
        #expect(bench.count("/data") == 0)
        #expect(bench.count("/private/x") == 0)
    }

    @Test func `header fields of a script are sent, those of the browser are not`() throws {
        bench.origin.on("/", .page(Self.shell))
        bench.origin.on("/data.json", .file("{}", type: "application/json"))
        browser.addRequests(
            "/", ["/data.json"],
            fields: [
                ("X-Requested-With", "XMLHttpRequest"), ("Authorization", "Bearer t"),
                ("Accept", "application/json"),
                ("Sec-Fetch-Dest", "empty"), ("User-Agent", "Browser"), ("Cookie", "a=b"),
                ("If-None-Match", "\"x\""),
                ("Range", "bytes=0-"),
            ])
        _ = try crawl()
        let request = try #require(bench.origin.requests(to: "/data.json").first)
        #expect(request["X-Requested-With"] == "XMLHttpRequest")
        #expect(request["Authorization"] == "Bearer t")
        #expect(request["Accept"] == "application/json")
        #expect(request["User-Agent"] == "larder-test")
        for name in ["Cookie", "If-None-Match", "Range", "Sec-Fetch-Dest"] { #expect(request[name] == nil) }
        // Other requesters do not get this response.
        let stored = try #require(try bench.stored("/data.json"))
        #expect(!stored.matches(HTTPFields(), .none))
    }

    @Test("A URL that the server refused to the crawl is requested once more as a page requests it")
    func refusedToCrawl() throws {
        bench.origin.on(
            "/", .page(Self.shell + "<script>fetch('/data.json'); fetch('/secret.json')</script>"))
        bench.origin.otherwise { request in
            guard request.target.hasSuffix(".json") else { return nil }
            return request.target == "/data.json" && request["Authorization"] != nil
                ? .file("{}", type: "application/json") : .failure(401)
        }
        browser.addRequests(
            "/", ["/data.json", "/secret.json"], fields: [("Authorization", "Bearer t")])
        let report = try crawl()
        #expect(browser.answers == ["/data.json: stored", "/secret.json: 401 "])
        #expect(bench.count("/secret.json") <= 2)
        #expect(report.missing.map(\.url) == [bench.origin.url("/secret.json")])
    }

    @Test("An answer with an error status is stored for the script that gets it, and replaces nothing")
    func errorAnswers() throws {
        bench.origin.on("/", .page(Self.shell + "<script>fetch('/known.json')</script>"))
        bench.origin.on("/known.json", .file("{}", type: "application/json"))
        for (target, status) in [("/me", 401), ("/lost", 404), ("/picture", 403)] {
            var answer = OriginAnswer.file("{\"e\":\(status)}", type: "application/json")
            answer.status = status
            bench.origin.on(target, answer)
        }
        let script = [("Sec-Fetch-Dest", "empty")]
        browser.addRequests("/", ["/me", "/lost", "/me"], fields: script)
        browser.addRequests("/", ["/picture"], fields: [("Sec-Fetch-Dest", "image")])
        let report = try crawl()
        #expect(browser.answers == ["/lost: stored", "/me: stored", "/me: stored", "/picture: 403 "])
        let reader = try StoreReader(bench.folder)
        func answer(_ target: String) throws -> String? {
            guard let url = WebURL(bench.origin.url(target)),
                let answer = try reader.errorAnswer(for: url), let body = answer.body,
                let bytes = try reader.content(of: body)?.load()
            else { return nil }
            return "\(answer.status) \(String(decoding: bytes, as: UTF8.self))"
        }
        #expect(try answer("/me") == "401 {\"e\":401}")
        #expect(try answer("/lost") == "404 {\"e\":404}")
        #expect(try answer("/picture") == nil)
        #expect(try bench.stored("/me") == nil)
        let broken = report.missing.filter(\.isBroken).map(\.address.path)
        #expect(broken.sorted() == ["/lost", "/me"])
        // A run that renders no page gets no such answer. That is no change.
        #expect(try bench.crawl().isUnchanged)
    }

    @Test("A page with 404 that its scripts fill is a page like others, unless it says that it is not found")
    func applicationsWithStatus404() throws {
        let routes = ["/route", "/none", "/lost", "/title"]
        bench.origin.on("/", .page("<p>Start" + routes.map { "<a href=\($0)>a</a>" }.joined()))
        bench.origin.on("/route", .page(Self.shell, status: 404))
        bench.origin.on("/none", .page(Self.shell + "<!-- none -->", status: 404))
        bench.origin.on("/lost", .page("<h1>Not found</h1>" + Self.shell, status: 404))
        bench.origin.on("/title", .page("<title>404</title><script src=/app.js></script>", status: 404))
        bench.origin.on("/data.json", .file("{}", type: "application/json"))
        browser.addRequests("/route", ["/data.json"])
        browser.setText("/route", "A route")
        browser.setText("/none", "Menu. Page not found")
        let report = try crawl()
        #expect(
            report.missing.filter(\.isBroken).map(\.address.path).sorted() == ["/lost", "/none", "/title"])
        #expect(report.pages == 2)
        #expect(browser.answers == ["/data.json: stored"])
        let route = try #require(try bench.stored("/route"))
        #expect(route.status == 404 && route.hasPageStatus)
        #expect(try links(of: "/route").assets.map(\.path) == ["/app.js", "/data.json"])
        #expect(try bench.stored("/lost")?.hasPageStatus == false)
        #expect(try bench.stored("/none")?.flags.contains(.isSoftNotFound) == true)
    }

    @Test("Another form of a page that a script requests is stored beside the page")
    func otherForm() throws {
        bench.origin.on("/", .page(Self.shell))
        browser.onRender("/") { [browser] page in
            let fields = HTTPFields([
                .init(name: "Sec-Fetch-Dest", value: "empty"),
                .init(name: "Accept", value: "application/json"),
            ])
            var request = PageRequest(url: page.address, fields: fields)
            (request.needsOwnResponse, request.requestedForm) = (true, fields.requestedForm)
            let isAnswered = Monitor(false)
            browser.channel.withLock { $0 }?.send(request, of: page.number) { _ in
                isAnswered.change { $0 = true }
            }
            _ = isAnswered.wait { $0 ? true : nil }
            return RenderedPage(ending: .complete)
        }
        _ = try crawl()
        #expect(
            bench.origin.requests(to: "/").map { $0["Accept"]?.hasPrefix("application/json") } == [
                false, true,
            ])
        let reader = try StoreReader(bench.folder)
        let form = RequestKey(form: "accept: application/json")
        #expect(try reader.response(for: bench.origin.url("/"), request: #require(form))?.status == 200)
    }

    @Test func `a cross-origin request has the page's origin`() throws {
        bench.origin.on("/", .page(Self.shell))
        bench.origin.on("/font", .file("f", type: "font/woff2"))
        browser.addRequests("/", ["/font"], fields: [("Origin", "https://shop.test")])
        _ = try crawl()
        #expect(bench.origin.requests(to: "/font").first?["Origin"] == "https://shop.test")
    }

    @Test func `a missing favicon that only browsers request is not missing`() throws {
        bench.origin.on("/", .page(Self.shell))
        browser.addRequests("/", ["/favicon.ico"])
        let report = try crawl()
        #expect(report.missing.isEmpty)
    }

    @Test func `without a browser pages are stored unrendered, and the report says why`() throws {
        bench.origin.on("/", .page(Self.shell))
        let report = try bench.crawl { plan in
            plan.rendering = RenderPlan(mode: .auto, tabs: 2) { _ throws(RenderFailure) in
                throw RenderFailure("no display")
            }
        }
        #expect(report.rendering.failure == "no display")
        #expect(report.isPublished)
        #expect(report.pages == 1)
    }

    @Test func `a browser failure and a page that never becomes idle are reported`() throws {
        bench.origin.on("/", .page(Self.shell))
        browser.setEnding("/", .hung)
        let report = try crawl()
        #expect(report.rendering.unfinished.map(\.ending) == [.hung])
        #expect(report.isPublished)
    }

    @Test func `an interrupted crawl ends rendering`() throws {
        bench.origin.on("/", .page(Self.shell))
        let interruption = Interruption()
        browser.onRender("/") { _ in
            interruption.request()
            return nil
        }
        let report = try crawl(.auto, interruption)
        #expect(report.isInterrupted)
        #expect(browser.isClosed)
    }

    @Test func `a page that ran out of time is rendered again once its requests are answered`() throws {
        // The page links to a second one. With a single tab, the second page is rendered only after the crawl has
        // processed the end of the first one, so that the response to the first one certainly arrives later.
        let first = Self.shell + "<a href=/second>second</a>"
        bench.origin.on("/", .page(first))
        bench.origin.on("/second", .page(Self.shell))
        bench.origin.on("/slow.json", .file("{}", type: "application/json"))
        bench.origin.hold("/slow.json")
        let origin = bench.origin
        let count = Mutex(0)
        browser.onRender("/") { [browser] page in
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            browser.ask(page, PageRequest(url: page.url(origin.url("/slow.json"))))
            return RenderedPage(ending: isFirst ? .outOfTime : .complete)
        }
        browser.onRender("/second") { _ in
            origin.release("/slow.json")
            return RenderedPage(ending: .complete)
        }
        let report = try crawl { plan in plan.rendering?.tabs = 1 }
        #expect(count.withLock { $0 } == 2)
        #expect(report.rendering.unfinished.isEmpty)
        #expect(report.rendering.patterns.map(\.rendered) == [1, 1])
    }
}

extension String {
    fileprivate var path: String { WebURL(self)?.path ?? self }
}

/// A renderer that loads no pages. Each rendered path sends the requests, and returns the page, that the test has set
/// for it. It has threads of its own, as a browser has.
private final class ScriptedBrowser: PageRenderer {
    struct Page {
        let number: UInt32
        let address: WebURL

        func url(_ text: String) -> WebURL { WebURL(text) ?? address }
    }

    private struct Script {
        var asks: [PageRequest] = []
        var page = RenderedPage(ending: .complete)
        var body: (@Sendable (Page) -> RenderedPage?)?
    }

    private struct State {
        var scripts: [String: Script] = [:]
        var requests: [String: [(target: String, method: String, fields: HTTPFields, body: [UInt8])]] = [:]
        var links: [String: [String]] = [:]
        var renderedPaths: [String] = []
        var answers: [String] = []
        var isClosed = false
    }

    let channel = Mutex<RenderChannel?>(nil)
    private let state = Mutex(State())

    var version: String? { "Scripted/1" }
    var renderedPaths: [String] { state.withLock { $0.renderedPaths } }
    var answers: [String] { state.withLock { $0.answers.sorted() } }
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Makes `page` send requests for these targets when it is rendered.
    func addRequests(
        _ page: String, _ targets: [String], method: String = "GET", fields: [(String, String)] = [],
        body: String = ""
    ) {
        let fields = HTTPFields(fields.map { .init(name: $0.0, value: $0.1) })
        state.withLock { state in
            state.requests[page, default: []] += targets.map { ($0, method, fields, Array(body.utf8)) }
        }
    }

    /// Clears the record of rendered pages and answers.
    func clearRecord() {
        state.withLock { ($0.renderedPaths, $0.answers, $0.isClosed) = ([], [], false) }
    }

    /// Sets the links that rendering finds in `page`.
    func setLinks(_ page: String, to targets: [String]) { state.withLock { $0.links[page] = targets } }

    func setText(_ page: String, _ text: String) {
        state.withLock { $0.scripts[page, default: Script()].page.text = text }
    }

    func setEnding(_ page: String, _ ending: RenderEnding) {
        state.withLock { $0.scripts[page, default: Script()].page.ending = ending }
    }

    /// Renders `page` by calling `body`. If that returns nil, rendering never ends.
    func onRender(_ page: String, _ body: @escaping @Sendable (Page) -> RenderedPage?) {
        state.withLock { $0.scripts[page, default: Script()].body = body }
    }

    func render(
        _ number: UInt32, at url: WebURL, isBrief: Bool, controlGroup: String?,
        done: @escaping @Sendable (RenderedPage) -> Void
    ) {
        let (script, requests, links) = state.withLock { state in
            state.renderedPaths.append(url.path)
            return (
                state.scripts[url.path] ?? Script(), state.requests[url.path] ?? [],
                state.links[url.path] ?? []
            )
        }
        Thread.detach { [self] in
            if let body = script.body {
                if let page = body(Page(number: number, address: url)) { done(page) }
                return
            }
            var page = script.page
            page.links = links.compactMap { WebURL($0, base: url) }
            let left = Mutex(requests.count)
            let ended = page
            guard !requests.isEmpty else { return done(ended) }
            for request in requests {
                guard let target = WebURL(request.target, base: url) else { continue }
                let pageRequest = PageRequest(
                    url: target, method: request.method, fields: request.fields, body: request.body)
                channel.withLock { $0 }?.send(pageRequest, of: number) { [self] answer in
                    note(target, answer)
                    let isLast = left.withLock { left in
                        left -= 1
                        return left == 0
                    }
                    if isLast { done(ended) }
                }
            }
        }
    }

    func ask(_ page: Page, _ request: PageRequest) {
        channel.withLock { $0 }?.send(request, of: page.number) { [self] in note(request.url, $0) }
    }

    private func note(_ url: WebURL, _ answer: PageRequestResult) {
        let text =
            switch answer {
            case .stored: "stored"
            case .connect: "connected"
            case .response(let status, _, let body): "\(status) \(String(decoding: body, as: UTF8.self))"
            case .blocked: "refused"
            case .failed: "failed"
            }
        state.withLock { $0.answers.append("\(url.path): \(text)") }
    }

    func close() { state.withLock { $0.isClosed = true } }
}

private enum Thread {
    /// Runs `body` on a new thread that is not joined.
    static func detach(_ body: @escaping @Sendable () -> Void) {
        do throws(SystemError) {
            _ = try NamedThread.start("test-browser", body: body)
        } catch {
            body()
        }
    }
}
