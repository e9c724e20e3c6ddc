import TestOrigin
import Testing
import Web

@testable import LarderKit

/// Only the portal's own pages and a paired extension may change something through the portal.
@Suite struct PortalOriginTests {
    private let home: TemporaryFolder
    private let larder: Larder
    private let service: MirrorService
    private static let own = "chrome-extension://abcdefghijklmnopabcdefghijklmnop"
    private static let other = "chrome-extension://ponmlkjihgfedcbaponmlkjihgfedcba"

    init() throws {
        home = try TemporaryFolder()
        larder = Larder(at: home.file("larder"))
        var options = ServeOptions()
        (options.createsStore, options.updateCommand) = (true, "true")
        service = try larder.serve(port: 0, options: options)
    }

    /// Sends a POST request to the portal.
    private func send(
        _ target: String, _ body: String, origin: String?, fields: [String] = [],
        type: String = "application/x-www-form-urlencoded"
    ) throws -> RawResponse {
        let client = try RawClient(port: Int(service.port))
        let lines =
            [
                "POST \(target) HTTP/1.1", "Host: larder.localhost:\(service.port)", "Content-Type: \(type)",
                "Content-Length: \(body.utf8.count)",
            ] + (origin.map { ["Origin: \($0)"] } ?? []) + fields
        try client.send(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
        return try client.response()
    }

    private func page(_ target: String) throws -> String {
        try RawClient(port: Int(service.port)).get(target, host: "larder.localhost:\(service.port)").text
    }

    private func part(of page: String, from start: String, to end: Character) throws -> String {
        let rest = try #require(page.split(separator: start, maxSplits: 1).dropFirst().first, "\(page)")
        return String(rest.prefix { $0 != end })
    }

    private var token: String {
        get throws { try part(of: page("/-/save"), from: "name=\"token\" value=\"", to: "\"") }
    }

    /// Returns a code that the portal shows.
    private func code() throws -> String {
        let portal = "http://larder.localhost:\(service.port)"
        let answer = try send("/-/do/pair", "token=\(try token)", origin: portal)
        #expect(answer.status == 303)
        return try part(of: page("/-/save"), from: "Code: <code>", to: "<")
    }

    /// Pairs an extension, and returns its token.
    private func pair(_ origin: String = own) throws -> String {
        let answer = try send("/-/extension/pair", "code=\(try code())&name=Test", origin: origin)
        #expect(answer.status == 200, "\(answer.text)")
        return try part(of: answer.text, from: "\"token\":\"", to: "\"")
    }

    private static let boundary = "multipart/form-data; boundary=b"

    /// A form with an uploaded file.
    private static func file(_ text: String) -> String {
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"page.mhtml\"\r\n\r\n\(text)\r\n--b--\r\n"
    }

    private static let saved = """
        From: <Saved by Blink>\r
        Snapshot-Content-Location: http://bank.test/account\r
        Content-Type: multipart/related; type="text/html"; boundary="x"\r
        \r
        --x\r
        Content-Type: text/html\r
        Content-Location: http://bank.test/account\r
        \r
        <title>Account</title><img src="http://img.test/a.png">walrus\r
        --x\r
        Content-Type: image/png\r
        Content-Location: http://img.test/a.png\r
        \r
        png\r
        --x--\r

        """

    /// Saves a page as the extension does.
    private func save(_ token: String, origin: String?, text: String = saved, fields: [String] = []) throws
        -> RawResponse
    {
        try send(
            "/-/extension/save", Self.file(text), origin: origin,
            fields: ["Authorization: Bearer \(token)"] + fields, type: Self.boundary)
    }

    @Test(arguments: [
        "http://evil.test", "https://evil.test", "null", "http://localhost:1", "http://example-com.localhost",
        own, "file://", "chrome-extension://", "chrome-extension://a.b", "moz-extension://x/y",
    ])
    func `a page of another origin cannot change anything through the portal, whatever it knows`(
        origin: String
    ) throws {
        let token = try token
        let code = try code()
        let orders = [
            "prefetch", "update", "fetch", "check", "links", "pin", "unpin", "drop", "rollback", "remove",
            "forecast",
            "collect", "settings", "timer", "export", "import", "save", "bar", "pair", "unpair", "stop",
            "goon",
            "forget",
        ]
        for target in orders.map({ "/-/do/" + $0 }) + ["/-/login", "/-/logout"] {
            let answer = try send(
                target, "token=\(token)&url=http://a.test/&site=a&job=1&on=1", origin: origin)
            #expect(answer.status == 403, "\(target): \(answer.status)")
        }
        let upload = try send(
            "/-/do/import", Self.file("x"), origin: origin, type: Self.boundary)
        #expect(upload.status == 403)
        guard origin != Self.own else { return }
        for target in ["/-/extension/pair", "/-/extension/save"] {
            #expect(try send(target, "code=\(code)", origin: origin).status == 403, "\(target)")
        }
        // The failed attempts have not used up the code.
        #expect(try send("/-/extension/pair", "code=\(code)", origin: Self.own).status == 200)
        // Another origin cannot read the response.
        let answer = try send("/-/extension/pair", "code=x", origin: origin)
        #expect(answer["Access-Control-Allow-Origin"] == nil)
    }

    @Test func `an extension with a token saves a page`() async throws {
        let token = try pair()
        let wrong = String(token.reversed())
        #expect(try save(wrong, origin: Self.own).status == 401)
        #expect(try save(token, origin: Self.other).status == 401)
        #expect(try save(token, origin: nil).status == 415)
        #expect(try save(token, origin: "http://larder.localhost:\(service.port)").status == 415)
        let forwarded = try save(token, origin: Self.own, fields: ["X-Forwarded-For: 192.0.2.1"])
        #expect(forwarded.status == 403)
        #expect(try await larder.snapshots().sites.isEmpty)

        let answer = try save(token, origin: Self.own)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(
            answer.text.contains("\"url\":\"http://bank.test/account\",\"title\":\"Account\""),
            "\(answer.text)")
        #expect(answer["Access-Control-Allow-Origin"] == nil)
        #expect(try await larder.search("walrus").hits.map(\.url) == ["http://bank.test/account"])
        // A page that the user's logins may have affected is private; an asset of another site is not.
        #expect(try await larder.describe("http://bank.test/account").responses.map(\.isPrivate) == [true])
        #expect(try await larder.describe("http://img.test/a.png").responses.map(\.isPrivate) == [false])
        // A second save adds a snapshot to the same site.
        #expect(try save(token, origin: Self.own).status == 200)
        let sites = try await larder.snapshots().sites
        #expect(sites.map(\.name) == ["http://bank.test/account"] && sites.first?.snapshots.count == 2)
    }

    @Test func `saving the start page of a stored site does not replace the site`() async throws {
        let origin = try TestOrigin()
        defer { origin.stop() }
        origin.on("/", .page("<title>Home</title><a href=/a>a</a>"))
        origin.on("/a", .page("<title>A</title>"))
        var options = PrefetchOptions()
        options.browser = ""
        _ = try await larder.prefetch([origin.url("/")], options: options)
        let text = Self.saved.replacing("http://bank.test/account", with: origin.url("/"))
        #expect(try save(try pair(), origin: Self.own, text: text).status == 200)
        let sites = try await larder.snapshots().sites
        #expect(sites.map(\.name).sorted() == [origin.url("/"), origin.url("/") + " (saved)"])
        #expect(sites.first { $0.name == origin.url("/") }?.snapshots.count == 1)
    }

    @Test func `a page too long for memory is saved, and a page over the limit is rejected unread`()
        async throws
    {
        let token = try pair()
        let text = Self.saved.replacing("png\r", with: String(repeating: "x", count: 20 << 20) + "\r")
        let answer = try save(token, origin: Self.own, text: text)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(try save("wrong", origin: Self.own, text: text).status == 401)
        let client = try RawClient(port: Int(service.port))
        try client.send(
            """
            POST /-/extension/save HTTP/1.1\r
            Host: larder.localhost:\(service.port)\r
            Origin: \(Self.own)\r
            Authorization: Bearer \(token)\r
            Content-Type: \(Self.boundary)\r
            Content-Length: \(300 << 20)\r
            \r

            """)
        #expect(try client.response().status == 413)
        #expect(try await larder.snapshots().sites.first?.snapshots.count == 1)
    }

    @Test func `a file that is not a saved page is rejected with a reason`() async throws {
        let token = try pair()
        let answer = try save(token, origin: Self.own, text: "nonsense")
        #expect(answer.status == 500 && answer.text.contains("\"error\""), "\(answer.text)")
        let form = try send(
            "/-/extension/save", "a=b", origin: Self.own, fields: ["Authorization: Bearer \(token)"])
        #expect(form.status == 415)
        #expect(try await larder.snapshots().sites.isEmpty)
    }
}
