import Store
import TestOrigin
import Testing
import Web

@testable import HTTPServer
@testable import Mirror
@testable import Portal

/// Responses of a server to other machines: none if it listens only on loopback, and otherwise without any trace of
/// responses that were fetched with credentials.
@Suite struct OtherMachineTests {
    private let store: StockedStore

    init() throws {
        store = try StockedStore([
            .init(
                href: "https://example.test/", text: "front <a href=/private>private</a>",
                extra: "ETag: 1\r\n"),
            .init(href: "https://example.test/private", text: "account 4711", flags: .isPrivate),
        ])
    }

    private func withServer(
        isPublic: Bool, _ change: (inout MirrorOptions) -> Void = { _ in },
        _ use: (_ client: RawClient, _ port: UInt16) throws -> Void
    ) throws {
        var options = MirrorOptions()
        if isPublic {
            options.address = ListenAddress("*") ?? .loopback
            options.root = WebURL("https://example.test/")
        }
        change(&options)
        let server = try MirrorServer(
            store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000, secondsBetweenChecks: 0,
            options: options)
        defer { server.stop() }
        try use(RawClient(port: Int(server.port)), server.port)
    }

    // MARK: - Proxies

    @Test(arguments: [
        "Via: 1.1 proxy", "Forwarded: for=192.0.2.1", "X-Forwarded-For: 192.0.2.1",
        "x-forwarded-host: a.test",
        "X-Forwarded-Proto: https", "X-Forwarded: yes", "X-Real-IP: 192.0.2.1",
    ])
    func `a server on loopback refuses a request that a proxy forwarded`(line: String) throws {
        let parts = line.split(separator: ":", maxSplits: 1).map { $0.drop { $0 == " " } }
        let field = (String(parts[0]), String(parts[1]))
        try withServer(isPublic: false) {
            $0.work = { _, _ in (.done, []) }
        } _: { (client, port) throws in
            for (host, target) in [
                ("localhost", "/"), ("localhost", "/-/sites/1/titles"), ("example-test.localhost", "/"),
                ("example-test.localhost", "/private"), ("example-test.localhost", "/none"),
            ] {
                let own = try client.get(target, host: "\(host):\(port)")
                #expect(own.status != 403, "\(host) \(target)")
                for method in ["GET", "POST", "OPTIONS"] {
                    try client.send(
                        "\(method) \(target) HTTP/1.1\r\nHost: \(host):\(port)\r\nContent-Length: 0\r\n\(field.0): \(field.1)\r\n\r\n"
                    )
                    let answer = try client.response()
                    #expect(answer.status == 403, "\(method) \(host) \(target)")
                    #expect(answer.text.contains("This request was forwarded by a proxy"))
                }
            }
        }
        #expect(PortalGuard(.init()).access(of: visitor(field), now: 0) == .denied)
        #expect(PortalGuard(.init()).refusal(of: visitor(field), token: "x", now: 0) == .refusedPassword)
    }

    private func visitor(_ field: (String, String)) -> PortalVisitor {
        var fields = HTTPFields()
        fields.append(field.0, field.1)
        return PortalVisitor(fields, authority: "localhost:8080", port: 8080)
    }

    @Test(
        arguments: [
            ("127.0.0.1", .thisMachine), ("127.8.8.8", .thisMachine), ("::1", .thisMachine),
            ("10.0.0.1", .privateNetwork), ("172.31.0.1", .privateNetwork), ("192.168.1.1", .privateNetwork),
            ("100.64.0.1", .privateNetwork), ("169.254.1.1", .privateNetwork), ("fd00::1", .privateNetwork),
            ("fe80::1", .privateNetwork), ("172.32.0.1", .publicNetwork), ("100.128.0.1", .publicNetwork),
            ("8.8.8.8", .publicNetwork), ("192.0.2.1", .publicNetwork), ("2001:db8::1", .publicNetwork),
        ] as [(String, NetworkZone)])
    func `the address of a client determines its network zone`(address: String, zone: NetworkZone) throws {
        #expect(try #require(LoginClient(address)).zone == zone)
    }

    // MARK: - Private responses

    @Test(arguments: [CachePolicy.offline, .preferCache, .protocol, .auto])
    func `another machine gets the same for a private response as for a missing one`(policy: CachePolicy)
        throws
    {
        try withServer(isPublic: true) {
            $0.policy = policy
            $0.load = { _, done in done(.failure("it is silent")) }
        } _: { (client, port) throws in
            let host = "localhost:\(port)"
            // After this request, the mirror treats the origin as silent.
            _ = try client.get("/other", host: host)
            for fields in [
                [], [("Accept", "text/html")],
                [("Sec-Fetch-Dest", "image"), ("Sec-Fetch-Site", "same-origin")],
                [("If-None-Match", "1")], [("Cache-Control", "only-if-cached")],
                [("Referer", "http://\(host)/private"), ("Accept", "text/html")],
            ] {
                let pair = try ["/private", "/missing"].map { path in
                    let answer = try client.get(path, host: host, fields: fields)
                    let lines = answer.fields.filter { !["Server-Timing", "Date"].contains($0.name) }
                        .map { "\($0.name): \($0.value)" }.filter { !$0.hasPrefix("Content-Length") }
                    let text = answer.text.replacing("/private", with: "/PATH").replacing(
                        "/missing", with: "/PATH")
                    return ["\(answer.status)", text] + lines
                }
                #expect(pair[0][0] != "403" && !pair[0][1].contains("4711"), "\(pair[0])")
                // The stored start page links to /private, which the miss page may show.
                #expect(pair[0][0] == pair[1][0] && Array(pair[0][2...]) == Array(pair[1][2...]), "\(fields)")
                if !fields.contains(where: { $0.0 == "Accept" }) { #expect(pair[0][1] == pair[1][1]) }
            }
        }
    }

    @Test func `a response loaded without credentials does not replace a private response`()
        throws
    {
        let now = HTTPDate(secondsSinceEpoch: 1_900_000_000)
        try withServer(isPublic: true) {
            $0.policy = .protocol
            $0.load = { _, done in
                done(
                    .response(
                        LoadedResponse(
                            status: 200,
                            fields: ["Content-Type": "text/plain", "Cache-Control": "max-age=60"],
                            body: .bytes(Array("log in".utf8)), requestTime: now, responseTime: now)))
            }
        } _: { (client, port) throws in
            for path in ["/private", "/other"] {
                #expect(try client.get(path, host: "localhost:\(port)").text == "log in")
            }
        }
        let reader = try StoreReader(store.folder)
        #expect(try reader.response(for: "https://example.test/private")?.flags.contains(.isPrivate) == true)
        #expect(try reader.response(for: "https://example.test/other") != nil)
    }

    // MARK: - Archives

    private static let archive: [StockedStore.Entry] = [
        .init(href: "https://example.test/start", text: "evil start", flags: .isImported),
        .init(href: "https://example.test/", text: "evil front", flags: .isImported),
        .init(href: "https://phish.test/", text: "evil login", flags: .isImported),
        .init(href: "https://cdn.test/lib.js", text: "evil()", type: "text/javascript", flags: .isImported),
    ]

    private static let fetched: [StockedStore.Entry] = [
        .init(href: "https://example.test/", text: "<script src=https://cdn.test/lib.js></script>"),
        .init(href: "https://cdn.test/lib.js", text: "good()", type: "text/javascript"),
    ]

    /// `isFirst`: whether the archive is imported before the site is fetched. `isSameSite`: whether it is imported into the
    /// same site.
    @Test(arguments: [(true, true), (true, false), (false, false)])
    func `an archive with the start URL of a served site adds no response to it`(
        isFirst: Bool, isSameSite: Bool
    ) throws {
        let store = try StockedStore([.init(href: "https://unrelated.test/", text: "")])
        let site = isSameSite ? "https://example.test/" : "https://example.test/start"
        if isFirst { try store.publish(Self.archive, site: site) }
        try store.publish(Self.fetched, site: "https://example.test/")
        if !isFirst { try store.publish(Self.archive, site: site) }
        let texts = try publishedTexts(of: store)
        #expect(texts.values.allSatisfy { !$0.contains("evil") }, "\(texts)")
        #expect(texts["https/cdn.test/lib.js"] == "good()")
    }

    @Test func `a site that was imported alone is served to other machines if the user names it`() throws {
        let store = try StockedStore([])
        try store.publish(Self.archive, site: "https://example.test/")
        let texts = try publishedTexts(of: store)
        #expect(texts["https/cdn.test/lib.js"] == "evil()" && texts["/"] == "evil front", "\(texts)")
    }

    /// The texts that other machines get of the archive's URLs.
    private func publishedTexts(of store: StockedStore) throws -> [String: String] {
        var options = MirrorOptions()
        options.address = ListenAddress("*") ?? .loopback
        options.root = WebURL("https://example.test/")
        let server = try MirrorServer(
            store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000, options: options)
        defer { server.stop() }
        let client = try RawClient(port: Int(server.port))
        let otherOrigin = server.address(of: "https://cdn.test/").flatMap { WebURL($0) }
        let folder = (otherOrigin?.target ?? "").replacing("https/cdn.test/", with: "")
        var texts: [String: String] = [:]
        for path in ["/", "/start", "https/phish.test/", "https/cdn.test/lib.js"] {
            let target = path.hasPrefix("/") ? path : folder + path
            texts[path] = try client.get(target, host: "localhost:\(server.port)").text
        }
        return texts
    }
}
