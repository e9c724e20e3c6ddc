import TestOrigin
import Testing

/// Sites that set a cookie, and then show what the same visitor has requested before.
@Suite struct CookieTraceTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
    }

    private func larder(_ words: String...) throws -> Command.Ending {
        try Command(words, home: home).wait()
    }

    private static let words =
        "Tomatoes need warmth, light and water. Sow them in March on a window sill, and plant them out when the nights are no longer cold. "

    /// A page with links to all others, and a cookie with the trail of requested pages.
    private static func page(_ request: OriginRequest, shows: (String) -> String) -> OriginAnswer {
        let trail = request["cookie"].map { String($0.dropFirst("trail=".count)) } ?? ""
        let links = (1...20).map { "<a href=/page\($0)>page \($0)</a>" }.joined(separator: " ")
        let name = String(request.path.dropFirst())
        var answer = OriginAnswer.page(
            "<title>\(name)</title><p>\(words) \(name)</p>\(links)\(shows(trail))")
        answer.fields.append(("Set-Cookie", "trail=\(trail)-\(name.isEmpty ? "start" : name); Path=/"))
        return answer
    }

    @Test("A trail of the pages that the crawl has requested is not stored")
    func trail() throws {
        origin.otherwise { request in
            Self.page(request) { trail in
                "<p>Trace: \(trail.split(separator: "-").map { "<b>\($0)</b>" }.joined())</p>"
            }
        }
        #expect(try larder("prefetch", origin.url("/"), "--robots", "ignore").status == 0)
        for number in 1...20 {
            let stored = try larder("cat", origin.url("/page\(number)"))
            #expect(stored.output.contains("<p>Trace: </p>"), "\(stored.output)")
        }
        let twice = (1...20).filter { number in origin.requests.count { $0.path == "/page\(number)" } > 1 }
        #expect(twice.count <= 16, "only pages that were under way are requested twice")
        let update = try larder("update")
        #expect(update.output.contains("nothing has changed"), "\(update)")
    }

    @Test("One busy answer does not decide that pages need their cookies")
    func busy() throws {
        origin.otherwise { request in
            // The first comparison gets no page.
            if request.path == "/page1", request["cookie"] == nil { return OriginAnswer(status: 429) }
            return Self.page(request) { trail in "<p>Trace: \(trail)</p>" }
        }
        #expect(try larder("prefetch", origin.url("/"), "--robots", "ignore", "--per-host", "1").status == 0)
        #expect(origin.requests.contains { $0.path == "/page1" && $0["cookie"] == nil })
        for number in 2...20 {
            let stored = try larder("cat", origin.url("/page\(number)"))
            #expect(stored.output.contains("<p>Trace: </p>"), "\(stored.output)")
        }
    }

    @Test("A site with a Crawl-delay gets no second request for a page")
    func crawlDelay() throws {
        origin.on("/robots.txt", .file("User-agent: *\nCrawl-delay: 0.01\n", type: "text/plain"))
        origin.otherwise { request in Self.page(request) { trail in "<p>Trace: \(trail)</p>" } }
        #expect(try larder("prefetch", origin.url("/")).status == 0)
        for number in 1...20 {
            #expect(origin.requests.count { $0.path == "/page\(number)" } == 1, "page \(number)")
        }
    }

    @Test("Pages that need the cookie keep it")
    func needed() throws {
        origin.otherwise { request in
            guard request.path == "/" || request["cookie"] != nil else {
                return .page("Please allow cookies")
            }
            return Self.page(request) { _ in "" }
        }
        #expect(try larder("prefetch", origin.url("/"), "--robots", "ignore").status == 0)
        for number in 1...20 {
            #expect(try larder("cat", origin.url("/page\(number)")).output.contains("window sill"))
        }
    }

    @Test("Pages that do not depend on the cookie are requested twice only a few times")
    func indifferent() throws {
        origin.otherwise { request in Self.page(request) { _ in "" } }
        #expect(try larder("prefetch", origin.url("/"), "--robots", "ignore", "--per-host", "1").status == 0)
        let requests = origin.requests.count { $0.path.hasPrefix("/page") }
        #expect((21...24).contains(requests), "\(requests)")
    }

    @Test("Pages of many kinds that do not depend on the cookie are requested twice only a few times")
    func indifferentKinds() throws {
        let links = (1...20).map { "<a href=/kind\($0)/page/>kind \($0)</a>" }.joined(separator: " ")
        var start = OriginAnswer.page(links)
        start.fields.append(("Set-Cookie", "a=b; Path=/"))
        origin.on("/", start)
        origin.otherwise { request in Self.page(request) { _ in "" } }
        #expect(try larder("prefetch", origin.url("/"), "--robots", "ignore", "--per-host", "1").status == 0)
        let requests = origin.requests.count { $0.path.hasPrefix("/kind") }
        #expect((28...31).contains(requests), "\(requests)")
    }
}
