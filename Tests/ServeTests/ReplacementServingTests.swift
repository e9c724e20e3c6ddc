import Store
import Synchronization
import TestOrigin
import Testing
import Web

@testable import Mirror

/// A mirror whose network sends other content in place of the site's. Offline, the mirror must serve the stored pages.
@Suite struct ReplacementServingTests {
    private let store: StockedStore
    private let servers = MirrorLoadingTests.ScriptedServers()

    private static let pages = ["/", "/1", "/2", "/3", "/4"]
    private static let assets = ["/a.png", "/s.js", "/s.css"]
    private static let targets = pages + assets

    private static func type(_ target: String) -> String {
        target.hasSuffix(".png")
            ? "image/png"
            : target.hasSuffix(".js")
                ? "text/javascript" : target.hasSuffix(".css") ? "text/css" : "text/html"
    }

    init() throws {
        store = try StockedStore(
            Self.targets.map { target in
                .init(
                    href: "http://example.test\(target)", text: "stored \(target)", type: Self.type(target),
                    extra: "ETag: \"\(target)\"\r\n",
                    title: Self.pages.contains(target) ? "Page \(target)" : nil)
            })
    }

    private typealias Get = (String) throws -> RawResponse

    private func serving(
        _ policy: CachePolicy, notice: @escaping @Sendable (String) -> Void = { _ in },
        _ use: (_ get: Get) throws -> Void
    ) throws {
        var options = MirrorOptions()
        options.notice = notice
        options.root = WebURL("http://example.test/")
        options.policy = policy
        options.load = { [servers] in servers.load($0, $1) }
        let server = try MirrorServer(
            store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000, secondsBetweenChecks: 0,
            options: options)
        defer { server.stop() }
        let client = try RawClient(port: Int(server.port))
        try use { try client.get($0, host: "localhost:\(server.port)") }
    }

    private func expectStored(_ comment: Comment) throws {
        try serving(.offline) { (get: Get) throws -> Void in
            for target in Self.targets {
                let answer = try get(target)
                #expect(answer.status == 200, comment)
                #expect(answer.text.contains("stored \(target)"), comment)
            }
        }
    }

    /// A response that the network sends to all requests.
    struct Replacement: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let status: Int
        let fields: HTTPFields
        let text: String
    }

    private static let html: HTTPFields = [
        "Content-Type": "text/html; charset=utf-8", "Cache-Control": "max-age=600",
    ]
    private static let portal = "<title>Hotel WiFi</title><form method=post><button>Accept</button></form>"

    static let replacements: [Replacement] = [
        Replacement(testDescription: "one page for everything", status: 200, fields: html, text: portal),
        Replacement(testDescription: "nothing, with 200", status: 200, fields: html, text: ""),
        Replacement(testDescription: "404 for everything", status: 404, fields: html, text: "not found"),
        Replacement(testDescription: "410 for everything", status: 410, fields: html, text: ""),
        Replacement(
            testDescription: "a redirect to a login elsewhere", status: 302,
            fields: ["Location": "http://login.test/", "Cache-Control": "max-age=600"], text: ""),
        Replacement(testDescription: "511 for everything", status: 511, fields: html, text: portal),
        Replacement(testDescription: "403 for everything", status: 403, fields: html, text: "forbidden"),
        Replacement(
            testDescription: "a challenge for everything", status: 200, fields: html,
            text: "<title>Just a moment...</title>"),
    ]

    @Test(arguments: replacements, [CachePolicy.auto, .protocol, .revalidate, .reload, .refreshBehind])
    func `the response of a captive portal is served while online, and the stored page offline`(
        replacement: Replacement, policy: CachePolicy
    )
        throws
    {
        for target in Self.targets {
            servers.respond(target, replacement.status, replacement.fields, replacement.text)
        }
        try serving(policy) { (get: Get) throws -> Void in
            for target in Self.targets {
                let answer = try get(target)
                if policy != .refreshBehind, replacement.status < 500 {
                    #expect(answer.status == replacement.status, "\(target)")
                }
            }
            guard policy == .auto else { return }
            // The origin does not respond any more, while the mirror is still running.
            for target in Self.targets { servers.fallSilent(target) }
            for target in Self.targets {
                #expect(try get(target).text.contains("stored \(target)"), "\(target)")
            }
        }
        try expectStored("\(replacement.testDescription)")
    }

    @Test func `the first suspicious response of a host is reported once`() throws {
        for target in Self.targets { servers.respond(target, 200, Self.html, Self.portal) }
        let notices = Mutex<[String]>([])
        let keep: @Sendable (String) -> Void = { notice in notices.withLock { $0.append(notice) } }
        try serving(.auto, notice: keep) { get in
            for target in Self.targets { _ = try get(target) }
        }
        let reported = notices.withLock { $0 }
        #expect(reported.count == 1)
        #expect(reported.first?.hasPrefix("http://example.test/") == true)
        #expect(reported.first?.hasSuffix("; the stored copy is kept") == true)
    }

    @Test func `a captive portal's page that contains the requested URL is not stored`() throws {
        for target in Self.pages {
            servers.respond(target, 200, Self.html, "<title>Hotel WiFi</title><form action=/?to=\(target)>")
        }
        try serving(.auto) { (get: Get) throws -> Void in for target in Self.pages { _ = try get(target) } }
        try expectStored("")
    }

    @Test func `changed pages of the real site are stored`() throws {
        for target in Self.pages {
            servers.respond(target, 200, Self.html, "<title>T \(target)</title>newer")
        }
        try serving(.auto) { (get: Get) throws -> Void in for target in Self.pages { _ = try get(target) } }
        try serving(.offline) { (get: Get) throws -> Void in
            for target in Self.pages { #expect(try get(target).text.contains("newer")) }
        }
    }

    @Test func `a 404 is stored only after another response showed that the server is the site's`() throws {
        servers.respond("/1", 404, Self.html, "gone")
        servers.respond("/2", 304, ["ETag": "\"/2\""])
        try serving(.auto) { (get: Get) throws -> Void in
            #expect(try get("/1").status == 404)
            #expect(try get("/2").text.contains("stored /2"))
        }
        try expectStored("the first 404 is not trusted")
        try serving(.auto) { (get: Get) throws -> Void in
            #expect(try get("/1").status == 404)
            #expect(try get("/2").text.contains("stored /2"))
            #expect(try get("/1").status == 404)
        }
        try serving(.offline) { (get: Get) throws -> Void in #expect(try get("/1").status == 404) }
    }
}
