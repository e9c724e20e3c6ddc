import Store
import TestOrigin
import Testing
import Web

@testable import HTTPServer
@testable import Mirror
@testable import Portal

@Suite struct PageBarTests {
    private let store: StockedStore
    private let server: MirrorServer

    private static let page =
        "<!doctype html><html><head><title>T</title><script>1</script></head><body><p>Text</body></html>"

    init() throws {
        store = try StockedStore([
            .init(href: "https://example.test/", text: Self.page),
            .init(href: "https://example.test/plain", text: "<!doctype html><title>P</title><p>plain</p>"),
            .init(
                href: "https://example.test/large",
                text: "<!doctype html><title>L</title><p>" + String(repeating: "large ", count: 400_000)),
            .init(href: "https://example.test/w.js", text: "postMessage(1)", type: "text/javascript"),
        ])
        try store.publish([
            .init(href: "https://example.test/", text: Self.page.replacing("Text", with: "Newer"))
        ])
        server = try Self.server(store)
    }

    private static func server(
        _ store: StockedStore, hasBar: Bool? = nil, root: String? = nil
    ) throws -> MirrorServer {
        var options = MirrorOptions()
        options.work = { _, _ in (.done, []) }
        options.hasBar = hasBar
        options.root = root.flatMap { WebURL($0) }
        return try MirrorServer(
            store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000, options: options)
    }

    private static let window = [("Sec-Fetch-Dest", "document"), ("Sec-Fetch-Site", "none")]

    private static func fields(_ use: String) -> [(String, String)] {
        use.isEmpty ? [] : [("Sec-Fetch-Dest", use), ("Sec-Fetch-Site", "same-origin")]
    }

    private func get(
        _ target: String, _ fields: [(String, String)] = [], from server: MirrorServer,
        host: String = "example-test.localhost"
    ) throws -> RawResponse {
        try RawClient(port: Int(server.port)).get(
            target, host: "\(host):\(server.port)", fields: fields)
    }

    /// Turns the bar on or off with the form of the portal.
    private func setBar(_ isOn: Bool, _ server: MirrorServer) throws {
        let page = try get("/-/bar", from: server, host: "localhost").text
        let start = "name=\"token\" value=\""
        let token = try #require(page.split(separator: start).dropFirst().first?.prefix { $0 != "\"" })
        let form = "token=\(token)&on=\(isOn ? 1 : 0)&back=/-/bar"
        let client = try RawClient(port: Int(server.port))
        try client.send(
            "POST /-/do/bar HTTP/1.1\r\nHost: localhost:\(server.port)\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: \(form.utf8.count)\r\n\r\n\(form)"
        )
        #expect(try client.response().status == 303)
    }

    @Test func `the page bar is off by default, and appears only in windows`() throws {
        defer { server.stop() }
        let before = try get("/", Self.window, from: server)
        #expect(before.text.contains("Newer") && !before.text.contains("larder-bar"))
        #expect(
            try get("/-/bar/frame?url=https://example.test/", from: server, host: "localhost").status == 404)

        let uses = ["", "iframe", "empty", "script", "object"]
        var without: [String: RawResponse] = [:]
        for use in uses { without[use] = try get("/", Self.fields(use), from: server) }
        try setBar(true, server)
        let page = try get("/", Self.window, from: server)
        #expect(page.text.contains("larder-bar"))
        #expect(
            page.text.contains(
                "data-larder=\"http://larder.localhost:\(server.port)/-/bar/frame?url=https://example.test/\""
            ))
        #expect(page["ETag"] != before["ETag"])
        // Prepared answers are never those of the other kind.
        for use in uses + uses {
            let other = try get("/", Self.fields(use), from: server)
            #expect(other.body == without[use]?.body && other["ETag"] != page["ETag"], "\(use)")
            #expect(try get("/", Self.window, from: server).body == page.body)
        }
        #expect(try get("/w.js", Self.window, from: server).text == "postMessage(1)")

        try setBar(false, server)
        let after = try get("/", Self.window, from: server)
        #expect(after.body == before.body)
        for name in ["ETag", "Content-Security-Policy", "Cache-Control", "Content-Type"] {
            #expect(after[name] == before[name])
        }
    }

    @Test func `the bar is inserted before the scripts, and the rest of the page is unchanged`() throws {
        defer { server.stop() }
        let before = try get("/", Self.window, from: server).text
        try setBar(true, server)
        let page = try get("/", Self.window, from: server).text
        let start = try #require(page.firstRange(of: "<script data-larder="))
        let end = try #require(page[start.lowerBound...].firstRange(of: "</script>"))
        #expect(page[..<start.lowerBound] + page[end.upperBound...] == before)
    }

    @Test(arguments: ["/plain", "/large"])
    func `a page without scripts gets the bar at its end`(target: String) throws {
        defer { server.stop() }
        let before = try get(target, Self.window, from: server).text
        try setBar(true, server)
        let page = try get(target, Self.window, from: server).text
        #expect(page.hasPrefix(before + "<script data-larder=") && page.hasSuffix("</script>"))
        #expect(try get(target, from: server).text == before)
        try setBar(false, server)
        #expect(try get(target, Self.window, from: server).text == before)
    }

    @Test func `the bar's frame shows the date of the page, and contains no commands`() throws {
        let server = try Self.server(store, hasBar: true)
        defer { server.stop() }
        let frame = try get("/-/bar/frame?url=https://example.test/", from: server, host: "localhost")
        #expect(frame.status == 200)
        let text = frame.text
        #expect(
            text.contains("<strong>Fetched</strong> <time") && !text.contains("the latest was fetched")
                && text.contains("href=\"/-/page?url=https://example.test/\""))
        #expect(text.contains("<a href=\"https://example.test/\" rel=\"noreferrer external\""))
        #expect(text.contains(" ago</time>") && text.contains(" UTC\">"))
        #expect(text.contains("www.past-1-example-test") || text.contains("past-1-example-test.localhost"))
        #expect(!text.contains("token") && !text.contains("method=") && !text.contains("<script"))
        let policy = try #require(frame["Content-Security-Policy"])
        #expect(policy.contains("default-src 'none'") && !policy.contains("script-src"))
        #expect(
            policy.contains(
                "frame-ancestors http://*.localhost:\(server.port) http://localhost:\(server.port)"))
        // A policy has no syntax for them, and a browser would report an error of each page.
        #expect(!policy.contains("[::1]"))
        // A link in the frame opens a page without `Sec-Fetch-User`. Only the referrer shows that it is the portal's.
        #expect(frame["Referrer-Policy"] == "origin")
        var fields = [("Sec-Fetch-Dest", "document"), ("Sec-Fetch-Site", "cross-site")]
        for host in ["example-test.localhost", "past-1-example-test.localhost"] {
            #expect(try get("/", fields, from: server, host: host).status == 403)
        }
        fields.append(("Referer", "http://larder.localhost:\(server.port)/"))
        for host in ["example-test.localhost", "past-1-example-test.localhost"] {
            #expect(try get("/", fields, from: server, host: host).status == 200)
        }
        let past = try get(
            "/-/bar/frame?url=https://example.test/&snapshot=1", from: server, host: "localhost")
        #expect(past.text.contains(">Later<") && past.text.contains("Earlier copy, fetched"))
        #expect(
            past.text.contains(
                "; the latest was fetched <a href=\"http://example-test.localhost:\(server.port)/\">"))
        for target in ["/-/bar/frame", "/-/bar/frame?url=ftp://x", "/-/bar/frame?url=nope"] {
            #expect(try get(target, from: server, host: "localhost").status == 404)
        }
    }

    @Test func `the bar says when the page was fetched, and when it was last checked`() throws {
        let plain = "<!doctype html><title>P</title><p>plain</p>"
        try store.publish(
            [.init(href: "https://example.test/plain", text: plain, fetched: 90)], now: 90)
        let server = try Self.server(store, hasBar: true)
        defer { server.stop() }
        func frame(_ query: String) throws -> String {
            try get("/-/bar/frame?url=https://example.test/\(query)", from: server, host: "localhost").text
        }
        #expect(!(try frame("").contains(", checked ")))
        let page = try frame("plain")
        #expect(page.contains("<strong>Fetched</strong> <time datetime=\"1970-01-01T00:00:01Z\""), "\(page)")
        #expect(page.contains(", checked <time datetime=\"1970-01-01T00:01:30Z\""), "\(page)")
        // Snapshot 1 was complete before the check.
        #expect(!(try frame("plain&snapshot=1").contains(", checked ")))
    }

    @Test func `the bar links to a comparison if another version of the page differs`() throws {
        let plain = "<!doctype html><title>P</title><p>plain</p>"
        try store.publish([
            .init(href: "https://example.test/", text: Self.page.replacing("Text", with: "Newest")),
            .init(href: "https://example.test/plain", text: plain),
            .init(href: "https://example.test/new", text: plain),
        ])
        let server = try Self.server(store, hasBar: true)
        defer { server.stop() }
        func comparison(_ query: String) throws -> String? {
            let frame = try get(
                "/-/bar/frame?url=https://example.test/\(query)", from: server, host: "localhost")
            #expect(frame.status == 200)
            let link = frame.text.split(separator: "href=\"").first { $0.contains(">Compare<") }
            return link.map { String($0.prefix { $0 != "\"" }).replacing("&amp;", with: "&") }
        }
        let start = "/-/sites/1/compare?url=https://example.test/"
        #expect(try comparison("") == start + "&from=2&to=3")
        #expect(try comparison("&snapshot=2") == start + "&from=1&to=2")
        // The first version has none before it.
        let first = try #require(try comparison("&snapshot=1"))
        #expect(first == start + "&from=1&to=3")
        let page = try get(first, from: server, host: "localhost").text
        #expect(page.contains("<del>") && page.contains("Newest"), "\(page)")
        for query in ["plain", "plain&snapshot=1", "new", "never"] {
            #expect(try comparison(query) == nil, "\(query)")
        }
    }

    @Test func `the bar has the language that the user chose in the portal, also after a restart`() throws {
        let first = try Self.server(store, hasBar: true)
        func frame(_ server: MirrorServer) throws -> String {
            // The frame is on another site than the page, so that browsers send it no cookie.
            try get(
                "/-/bar/frame?url=https://example.test/", [("Accept-Language", "zh")], from: server,
                host: "larder.localhost"
            ).text
        }
        func choose(_ language: String, _ site: String) throws {
            let fields = [("Sec-Fetch-Site", site), ("Sec-Fetch-Dest", "document")]
            _ = try get("/-/language?to=\(language)&back=/", fields, from: first, host: "larder.localhost")
        }
        #expect(try frame(first).contains("lang=\"zh-Hans\""))
        try choose("de", "same-origin")
        try choose("en", "cross-site")
        #expect(try frame(first).contains("lang=\"de\""))
        let label = "data-label=\"\(Sentence.barName.text(in: .german))\""
        #expect(try get("/", Self.window, from: first).text.contains(label))
        first.stop()
        let second = try Self.server(store, hasBar: true)
        defer { second.stop() }
        #expect(try frame(second).contains("lang=\"de\""))
    }

    @Test(arguments: [("empty", false), ("script", false), ("image", false), ("iframe", true)])
    func `the bar is served to frames only, and other origins cannot read it`(use: String, isServed: Bool)
        throws
    {
        let server = try Self.server(store, hasBar: true)
        defer { server.stop() }
        let fields = [
            ("Sec-Fetch-Dest", use), ("Sec-Fetch-Site", "cross-site"),
            ("Referer", "http://example-test.localhost:\(server.port)/"),
        ]
        let bar = try get(
            "/-/bar/frame?url=https://example.test/", fields, from: server, host: "larder.localhost")
        #expect(bar.status == (isServed ? 200 : 403))
        #expect(bar["Access-Control-Allow-Origin"] == nil)
        #expect(try get("/", fields, from: server, host: "larder.localhost").status == 403)
    }

    @Test func `the link in the bar switches it off for good, and only the bar can use it`() throws {
        let server = try Self.server(store, hasBar: true)
        let frame = try get(
            "/-/bar/frame?url=https://example.test/&snapshot=1", from: server, host: "localhost")
        let link = "/-/bar/off?url=https://example.test/&snapshot=1"
        #expect(frame.text.contains("href=\"\(link.replacing("&", with: "&amp;"))\""))
        func follow(_ site: String?) throws -> RawResponse {
            try get(
                link, [("Sec-Fetch-Dest", "document")] + (site.map { [("Sec-Fetch-Site", $0)] } ?? []),
                from: server, host: "larder.localhost")
        }
        for site in ["cross-site", "same-site", "none", nil] {
            #expect(try follow(site)["Location"] == nil)
            #expect(try get("/", Self.window, from: server).text.contains("larder-bar"))
        }
        let answer = try follow("same-origin")
        // The page behind the link says how the bar is switched on again, and links back to the mirrored page.
        let target = "/-/bar?url=https://example.test/&snapshot=1"
        #expect(answer["Location"] == target)
        let after = try get(target, from: server, host: "localhost").text
        #expect(after.contains("Turn page bar on") && after.contains("To turn it on again"))
        #expect(after.contains("href=\"http://past-1-example-test.localhost:\(server.port)/\""))
        #expect(try !get("/", Self.window, from: server).text.contains("larder-bar"))
        server.stop()

        for (hasBar, isShown) in [(true, false), (nil, false), (false, false)] as [(Bool?, Bool)] {
            let next = try Self.server(store, hasBar: hasBar)
            #expect(try get("/", Self.window, from: next).text.contains("larder-bar") == isShown)
            next.stop()
        }
        try store.folder.storePortalBar(true)
        for (hasBar, isShown) in [(true, true), (nil, true), (false, false)] as [(Bool?, Bool)] {
            let next = try Self.server(store, hasBar: hasBar)
            #expect(try get("/", Self.window, from: next).text.contains("larder-bar") == isShown)
            next.stop()
        }
    }

    @Test func `with a site at the root, the bar comes from the portal's own name`() throws {
        let server = try Self.server(store, hasBar: true, root: "https://example.test/")
        defer { server.stop() }
        // The first response makes the browser clear data of an earlier site.
        #expect(try get("/", Self.window, from: server, host: "localhost").status == 307)
        let page = try get("/", Self.window, from: server, host: "localhost")
        #expect(page.text.contains("data-larder=\"http://larder.localhost:\(server.port)/-/bar/frame?url="))
        #expect(
            page["Content-Security-Policy"]?.contains(
                "http://*.localhost:\(server.port) data: blob: http://larder.localhost:\(server.port)/-/bar/frame"
            )
                == true)
    }
}
