import Digest
import Glibc
import Store
import Synchronization
import System
import TestOrigin
import Testing
import Web

@testable import HTTPServer
@testable import Mirror
@testable import Origins
@testable import Portal

@Suite struct PortalGuardTests {
    private static let hash = PasswordHash("correct horse")

    private func visitor(
        origin: String? = nil, site: String? = nil, session: String? = nil
    ) -> PortalVisitor {
        var visitor = PortalVisitor()
        visitor.authority = "localhost:8080"
        (visitor.origin, visitor.fetchSite, visitor.session) = (origin, site, session)
        return visitor
    }

    /// The token that the visitor's pages contain; nil if the visitor may not give commands.
    private func pageToken(_ accessGuard: PortalGuard, _ visitor: PortalVisitor, now: Int64 = 0) -> String? {
        if case .full(let token) = accessGuard.access(of: visitor, now: now) { token } else { nil }
    }

    @Test func `on loopback a visitor with the token may give commands`() throws {
        let accessGuard = PortalGuard(.init())
        let token = try #require(pageToken(accessGuard, visitor()))
        #expect(token.utf8.count == 64)
        #expect(accessGuard.refusal(of: visitor(), token: token, now: 0) == nil)
        #expect(accessGuard.refusal(of: visitor(), token: nil, now: 0) == .refusedToken)
        #expect(accessGuard.refusal(of: visitor(), token: String(token.dropLast()), now: 0) == .refusedToken)
        let other = try #require(pageToken(PortalGuard(.init()), visitor()))
        #expect(accessGuard.refusal(of: visitor(), token: other, now: 0) == .refusedToken)
    }

    @Test(
        arguments: [
            ("http://localhost:8080", "same-origin", true), (nil, "same-origin", true),
            ("http://localhost:8080", nil, true), (nil, nil, true),
            ("http://example-test.localhost:8080", "same-site", false), (nil, "same-site", false),
            ("http://example-test.localhost:8080", nil, false), ("null", "cross-site", false),
            ("null", nil, false), ("http://localhost:9090", "same-site", false),
            ("http://127.0.0.1:8080", nil, false), (nil, "cross-site", false), (nil, "none", false),
            ("http://localhost:8080", "cross-site", false),
        ] as [(String?, String?, Bool)])
    func `a command from another origin is refused`(
        origin: String?, site: String?, isTaken: Bool
    ) throws {
        let accessGuard = PortalGuard(.init())
        let token = try #require(pageToken(accessGuard, visitor()))
        let refusal = accessGuard.refusal(of: visitor(origin: origin, site: site), token: token, now: 0)
        #expect(refusal == (isTaken ? nil : .refusedOrigin))
    }

    @Test(
        arguments: [
            (false, nil, nil, .localUser), (true, "127.0.0.1", nil, .localUser),
            (true, "::1", nil, .localUser),
            (true, "192.0.2.1", nil, .remoteUser), (true, "10.0.0.2", nil, .remoteUser),
            (true, nil, nil, .remoteUser), (true, "127.0.0.1", "X-Forwarded-For", .remoteUser),
            (false, nil, "Via", .remoteUser), (false, nil, "Forwarded", .remoteUser),
        ] as [(Bool, String?, String?, Principal)])
    func `only a direct client on this machine counts as the local user`(
        isExposed: Bool, client: String?, field: String?, expected: Principal
    ) {
        var fields = HTTPFields()
        if let field { fields.append(field, "192.0.2.1") }
        let visitor = PortalVisitor(
            fields, authority: "localhost:8080", port: 8080, client: client.flatMap { LoginClient($0) })
        #expect(PortalGuard(.init(isExposed: isExposed)).principal(of: visitor) == expected)
    }

    @Test func `a read-only server gives no token`() {
        let accessGuard = PortalGuard(.init(isReadOnly: true))
        #expect(accessGuard.access(of: visitor(), now: 0) == .readOnly(.refusedReadOnly))
        #expect(accessGuard.refusal(of: visitor(), token: "x", now: 0) == .refusedReadOnly)
    }

    @Test func `an exposed server shows and changes nothing before the login`() throws {
        let open = PortalGuard(.init(isExposed: true))
        #expect(open.access(of: visitor(), now: 0) == .denied)
        #expect(open.refusal(of: visitor(), token: nil, now: 0) == .refusedPassword)
        #expect(open.logIn("") == .impossible)

        let hash = try #require(Self.hash)
        let accessGuard = PortalGuard(.init(isExposed: true, password: { hash }))
        #expect(accessGuard.access(of: visitor(), now: 0) == .loginRequired)
        #expect(accessGuard.access(of: visitor(session: "guessed"), now: 0) == .loginRequired)
        #expect(accessGuard.logIn("wrong horse", clock: { 0 }) == .wrong)
        guard case .success(let session) = accessGuard.logIn("correct horse", clock: { 0 }) else {
            Issue.record("the password was not taken")
            return
        }
        let known = visitor(session: session)
        let token = try #require(pageToken(accessGuard, known))
        #expect(accessGuard.refusal(of: known, token: token, now: 0) == nil)
        #expect(accessGuard.refusal(of: visitor(), token: token, now: 0) == .refusedLogin)
        #expect(accessGuard.access(of: known, now: PortalSessions.lifetime + 1) == .loginRequired)
        accessGuard.logOut(session)
        #expect(accessGuard.access(of: known, now: 0) == .loginRequired)
    }

    @Test func `changing the password ends all sessions`() throws {
        let password = Mutex(try #require(Self.hash))
        let accessGuard = PortalGuard(.init(isExposed: true, password: { password.withLock { $0 } }))
        guard case .success(let session) = accessGuard.logIn("correct horse", clock: { 0 }) else {
            Issue.record("the password was not taken")
            return
        }
        #expect(pageToken(accessGuard, visitor(session: session)) != nil)
        let other = try #require(PasswordHash("battery staple"))
        password.withLock { $0 = other }
        #expect(accessGuard.access(of: visitor(session: session), now: 0) == .loginRequired)
        password.withLock { $0 = Self.hash ?? other }
        #expect(accessGuard.access(of: visitor(session: session), now: 0) == .loginRequired)
    }

    @Test func `a visitor is parsed from the request fields`() {
        var fields = HTTPFields()
        fields.append("Cookie", "a=b; larder-9000=no; larder-8080=secret; c")
        fields.append("Accept-Language", "fr, zh-TW;q=0.8, en;q=0.5")
        let visitor = PortalVisitor(fields, authority: "localhost:8080", port: 8080)
        #expect(visitor.session == "secret")
        #expect(visitor.language == .chinese)
    }

    @Test(arguments: [("de", PortalLanguage.german), ("zh", .chinese), ("fr", .english), ("", .english)])
    func `the language that was chosen in the portal replaces the one that the browser prefers`(
        value: String, language: PortalLanguage
    ) {
        var fields = HTTPFields()
        fields.append("Cookie", "a=b; larder-language=\(value)")
        #expect(PortalVisitor(fields, authority: "localhost:8080", port: 8080).language == language)
        #expect(PortalGuard.isPortal(cookie: "larder-language") && PortalGuard.isPortal(cookie: "larder-80"))
        #expect(!PortalGuard.isPortal(cookie: "larder-x") && !PortalGuard.isPortal(cookie: "language"))
    }

    @Test(
        arguments: [
            (nil, PortalLanguage.english), ("", .english), ("zh", .chinese), ("zh-CN,zh;q=0.9", .chinese),
            ("en-US,en;q=0.9,zh;q=0.8", .english), ("fr,it", .english), ("zh;q=0,en", .english),
            ("en;q=0.3, zh;q=0.4", .chinese), ("zhx", .english),
            ("de-AT,de;q=0.9,en;q=0.8", .german), ("fr, de;q=0.5", .german),
            (String(repeating: "x,", count: 9000), .english),
        ] as [(String?, PortalLanguage)])
    func `the language is the one that the browser prefers`(text: String?, language: PortalLanguage) {
        #expect(PortalLanguage(accepting: text) == language)
    }

    @Test(arguments: [
        ("localhost:8080", RequestTarget.portal), ("192.0.2.7:8080", .portal), ("box:8080", .portal),
        ("box.local:8080", .refused), ("evil.test:8080", .refused), ("localhost:9090", .refused),
        ("example-test.localhost:8080", .refused),
    ])
    func `other machines reach the portal only under the server's own addresses`(
        authority: String, place: RequestTarget
    ) {
        let layout = OriginLayout(port: 8080, isExposed: true)
        let names = MirrorHostNames(layout: layout, others: ["box"], takesAddresses: true)
        #expect(names.resolve(authority: authority, target: "/") == place)
    }

    @Test func `a login starts a session, and a logout ends it`() throws {
        let hash = try #require(Self.hash)
        let shelf = try PortalShelf([.init(href: "https://example.test/", title: "Recipes")])
        let jobRunner = JobRunner { _, _ in (.done, []) }
        defer { jobRunner.close() }
        let accessGuard = PortalGuard(.init(isExposed: true, password: { hash }))
        let portal = Portal(
            layout: OriginLayout(port: 8080, isExposed: true),
            services: PortalServices(accessGuard: accessGuard, jobRunner: jobRunner),
            now: { PortalShelf.now })
        var owner = visitor(origin: "http://localhost:8080", site: "same-origin")
        func send(_ target: String, _ form: String) throws -> Answer {
            let mailbox = try ReplyMailbox()
            let later = DeferredReply(mailbox, token: 1, DisconnectFlag())
            let type = "application/x-www-form-urlencoded"
            if let answer = try portal.handleCommand(
                target, type: type, body: Array(form.utf8), from: owner, reader: shelf.reader(),
                slot: later.makeSlot)
            {
                return answer
            }
            while true {
                for (_, delivery) in mailbox.takeAll() {
                    if case .reply(let reply) = delivery { return reply.answer }
                }
                sched_yield()
            }
        }
        func text(_ answer: Answer) -> String { String(decoding: answer.bytes, as: UTF8.self) }
        func home() throws -> String { text(try portal.answer("/", for: owner, reader: shelf.reader())) }

        #expect(try !home().contains("Recipes"))
        #expect(try home().contains("type=\"password\""))
        let wrong = try send("/-/login", "password=wrong+horse")
        #expect(wrong.status == 403 && text(wrong).contains("Wrong password."))
        let right = try send("/-/login", "password=correct+horse")
        #expect(right.status == 303)
        let cookie = try #require(text(right).split(separator: "\r\n").first { $0.hasPrefix("Set-Cookie: ") })
        #expect(cookie.hasSuffix("; Path=/; HttpOnly; SameSite=Strict"))
        let start = "Set-Cookie: larder-8080="
        #expect(cookie.hasPrefix(start))
        owner.session = String(cookie.dropFirst(start.utf8.count).prefix { $0 != ";" })
        #expect(try home().contains("Recipes"))
        #expect(try send("/-/do/update", "").status == 403)
        // The portal uses the clock of the machine, so that the token must be created with the same time.
        let token = try #require(pageToken(accessGuard, owner, now: SystemClock.seconds()))
        #expect(try send("/-/do/update", "token=\(token)").status == 303)
        #expect(try send("/-/logout", "token=\(token)").status == 303)
        #expect(try !home().contains("Recipes"))
        owner.origin = "http://evil.test"
        #expect(try send("/-/login", "password=correct+horse").status == 403)
    }
}
