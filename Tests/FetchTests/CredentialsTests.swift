import Fetch
import TestOrigin
import Testing
import Web

@Suite struct CredentialsTests {
    private let origin: TestOrigin
    private let other: TestOrigin

    init() throws {
        origin = try TestOrigin()
        other = try TestOrigin()
        for origin in [origin, other] { origin.otherwise { .page($0["Authorization"] ?? "nobody") } }
    }

    private func fetching(_ add: (inout Credentials, WebURL) throws -> Void) throws -> TestFetcher {
        try TestFetcher { try add(&$0.credentials, try #require(WebURL(origin.base))) }
    }

    @Test(
        arguments: [
            (.basic(user: "Aladdin", password: "open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
            (.basic(user: "ü", password: ""), "Basic w7w6"), (.bearer(token: "abc.def"), "Bearer abc.def"),
        ] as [(Credentials.Login, String)])
    func `a login is sent only to its own origin`(login: Credentials.Login, sent: String) throws {
        let fetching = try fetching { $0.add(login, for: $1) }
        let loop = try fetching.loop()
        #expect(try fetching.response(origin.url("/a"), in: loop).text() == sent)
        #expect(try fetching.response(other.url("/a"), in: loop).text() == "nobody")
        #expect(try fetching.response("http://localhost:\(origin.port)/", in: loop).text() == "nobody")
        #expect(try fetching.response(origin.url("/a"), in: loop).text() == sent)
    }

    @Test func `an Authorization field of the request overrides the login`() throws {
        let fetching = try fetching { $0.add(.bearer(token: "a"), for: $1) }
        let request = try TestFetcher.request(origin.url("/")) { $0.fields = ["authorization": "Own"] }
        #expect(try fetching.result(of: request).response().text() == "Own")
    }

    @Test(arguments: [true, false])
    func `a login is sent after a challenge`(isDigest: Bool) throws {
        origin.otherwise { request in
            guard let word = request["Authorization"] else {
                let challenge = #"Digest realm="larder", nonce="n0", qop="auth", algorithm=SHA-256"#
                return OriginAnswer.failure(401).adding("WWW-Authenticate", #"Basic realm="larder""#)
                    .adding("WWW-Authenticate", challenge)
            }
            return .page(word)
        }
        let fetching = try fetching { credentials, origin in
            credentials.add(
                isDigest ? .digest(user: "u", password: "word") : .digestOrBasic(user: "u", password: "word"),
                for: origin)
        }
        let loop = try fetching.loop()
        let text = try fetching.response(origin.url("/a"), in: loop).text()
        #expect(text.hasPrefix(#"Digest username="u""#) && text.contains("n0") && !text.contains("word"))
        #expect(origin.requests.map { $0["Authorization"] == nil } == [true, false])
        #expect(try fetching.response(other.url("/a"), in: loop).text() == "nobody")
        #expect(try fetching.response(origin.url("/b"), in: loop).status == 200)
    }

    @Test(
        arguments: [
            .basic(user: "u", password: "p"), .bearer(token: "t"), .digest(user: "u", password: "p"),
            .digestOrBasic(user: "u", password: "p"),
        ] as [Credentials.Login])
    func `an exchange records whether the request had a login`(login: Credentials.Login) throws {
        origin.on("/free", .page("free"))
        origin.otherwise { request in
            request["Authorization"].map { .page($0) }
                ?? OriginAnswer.failure(401).adding("WWW-Authenticate", #"Digest realm="larder", nonce="n""#)
        }
        let fetching = try fetching { $0.add(login, for: $1) }
        let loop = try fetching.loop()
        #expect(try fetching.result(other.url("/"), in: loop).exchange?.usedCredentials == false)
        // Before the first challenge a digest is not sent.
        let isSentAtOnce =
            switch login {
            case .basic, .bearer: true
            case .digest, .digestOrBasic: false
            }
        #expect(try fetching.result(origin.url("/free"), in: loop).exchange?.usedCredentials == isSentAtOnce)
        #expect(try fetching.result(origin.url("/"), in: loop).exchange?.usedCredentials == true)
        let anonymous = try fetching.result(
            of: try TestFetcher.request(origin.url("/")) { $0.isAnonymous = true }, in: loop)
        #expect(try anonymous.response().status == 401)
        #expect(anonymous.exchange?.usedCredentials == false)
    }

    @Test(arguments: [("X-Api-Key", true), ("DNT", false)])
    func `a header for every host counts as credentials unless it is harmless`(
        name: String, isSecret: Bool
    ) throws {
        origin.otherwise { .page($0[name] ?? "none") }
        let fetching = try TestFetcher { try $0.hostFields.add(name, "1") }
        let loop = try fetching.loop()
        let result = try fetching.result(origin.url("/"), in: loop)
        #expect(try result.response().text() == "1")
        #expect(result.exchange?.usedCredentials == isSecret)
    }

    @Test(arguments: [true, false])
    func `a field that a script adds counts as credentials if the user has a session`(hasLogin: Bool) throws {
        origin.otherwise { .page($0["X-Api-Key"] ?? "none") }
        let fetching = try fetching { if hasLogin { $0.add(.bearer(token: "a"), for: $1) } }
        let loop = try fetching.loop()
        for (name, isSecret) in [("X-Api-Key", hasLogin), ("X-Requested-With", false)] {
            let request = try TestFetcher.request(other.url("/")) { $0.fields = [name: "k"] }
            #expect(try fetching.result(of: request, in: loop).exchange?.usedCredentials == isSecret)
        }
    }

    @Test(arguments: ["Cookie", "authorization", "X-Api-Key", "Accept-Language"])
    func `a header for one host counts as credentials unless it is harmless`(name: String) throws {
        origin.otherwise { .page($0[name] ?? "none") }
        let isSecret = name != "Accept-Language"
        let isLogin = ["Cookie", "authorization"].contains(name)
        let fetching = try TestFetcher {
            try $0.hostFields.add(name, "own", host: "127.0.0.1:\(origin.port)")
        }
        let loop = try fetching.loop()
        let result = try fetching.result(
            of: try TestFetcher.request(origin.url("/")) { $0.fields = ["DNT": "1"] }, in: loop)
        #expect(try result.response().text() == "own")
        #expect(result.exchange?.usedCredentials == isSecret)
        #expect(result.sentFields["DNT"] == "1")
        #expect(result.sentFields[name] == (isLogin ? nil : "own"))
        let anonymous = try fetching.result(
            of: try TestFetcher.request(origin.url("/")) { request in
                request.isAnonymous = true
                if isLogin { request.fields = [name: "own"] }
            }, in: loop)
        #expect(try anonymous.response().text() == "none")
        #expect(anonymous.exchange?.usedCredentials == false)
    }

    @Test func `basic authentication is used if the server does not offer digest`() throws {
        origin.otherwise { request in
            request["Authorization"].map { .page($0) }
                ?? OriginAnswer.failure(401).adding("WWW-Authenticate", #"Basic realm="larder""#)
        }
        let fetching = try fetching { $0.add(.digestOrBasic(user: "u", password: "p"), for: $1) }
        #expect(try fetching.response(origin.url("/")).text() == "Basic dTpw")
    }

    @Test func `wrong credentials result in the server's 401 response`() throws {
        origin.otherwise { _ in
            OriginAnswer.failure(401).adding(
                "WWW-Authenticate", #"Digest realm="larder", nonce="n", qop="auth""#)
        }
        let fetching = try fetching { $0.add(.digest(user: "u", password: "p"), for: $1) }
        #expect(try fetching.response(origin.url("/")).status == 401)
        #expect(origin.requests.count == 2)
    }

    @Test func `credentials in a URL are sent only after they were added as a login`() throws {
        let address = "http://user:p%40ss@127.0.0.1:\(origin.port)/"
        let result = try TestFetcher().result(address)
        #expect(try result.response().text() == "nobody")
        #expect(result.url.href == origin.url("/"))
        let fetching = try fetching { $0.add(.basic(user: "user", password: "p@ss"), for: $1) }
        #expect(try fetching.response(address).text() == "Basic dXNlcjpwQHNz")
    }

    @Test func `printed values and dumps contain no secret`() throws {
        var options = FetchOptions(userAgent: "a", spoolFolder: "/")
        let url = try #require(WebURL("https://a.test/"))
        options.credentials.add(.basic(user: "SECRET", password: "SECRET"), for: url)
        options.credentials.add(
            Credentials.Certificate(certificate: "/SECRET", key: "/SECRET", passphrase: "SECRET"), for: url)
        options.credentials.addLogins(
            of: try #require(Netrc(Array("machine b.test login SECRET password SECRET".utf8))))
        try options.hostFields.add("X-Key", "SECRET", host: "a.test")
        options.proxies.http = Proxy("http://SECRET:SECRET@proxy.test:3128")
        var shown =
            "\(options) \(String(reflecting: options)) \(String(describing: options.credentials.login(for: url)))"
        shown += "\(String(describing: options.credentials.certificate(for: url)))"
        shown += "\(String(describing: options.proxies.http))"
        dump(options, to: &shown)
        #expect(!shown.contains("SECRET"))
        #expect(shown.contains("a proxy"))
    }
}

@Suite struct NetrcTests {
    @Test(arguments: [
        ("machine a.test login me password secret", ["a.test": "me:secret"]),
        (
            "machine A.test\n\tlogin me\n\tpassword secret\n\nmachine b.test password p login l\n",
            ["a.test": "me:secret", "b.test": "l:p"]
        ),
        (
            "machine a.test login me account x password secret machine a.test login you password other",
            ["a.test": "me:secret"]
        ),
        (#"machine a.test login "a b" password "q\"\\u""#, ["a.test": #"a b:q"\u"#]),
        (
            "# machine c.test login c password c\nmachine a.test login l password p # the end",
            ["a.test": "l:p"]
        ),
        ("default login anonymous password secret", [:]),
        ("machine a.test login l password p default login x password y", ["a.test": "l:p"]),
        ("machine a.test login l", [:]),
        ("machine a.test password p", ["a.test": ":p"]),
        ("macdef init\nmachine x.test login y\n\nmachine a.test login l password p", ["a.test": "l:p"]),
        ("", [:]),
    ])
    func `a netrc file is parsed`(text: String, logins: [String: String]) throws {
        let netrc = try #require(Netrc(Array(text.utf8)))
        #expect(netrc.logins.mapValues { "\($0.user):\($0.password)" } == logins)
    }

    @Test(arguments: [
        "machine", "machine a.test login", "me a.test", "machine a.test user me", "login a password",
    ])
    func `a netrc file with an unknown word is refused`(text: String) {
        #expect(Netrc(Array(text.utf8)) == nil)
    }

    @Test func `an error names the line of a netrc file without its contents`() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(
            "machine a.test login SECRET\npassword SECRET\nsecret SECRET\n", to: "netrc")
        let failure = #expect(throws: FetchFailure.self) { try Netrc(file: path) }
        #expect(failure?.detail == "\(path):3: not valid in a netrc file")
        #expect(throws: FetchFailure.self) { try Netrc(file: folder.file("missing")) }
    }

    @Test func `a host's login is sent on any of its ports, and to no other host`() throws {
        let origin = try TestOrigin()
        origin.otherwise { .page($0["Authorization"] ?? "nobody") }
        let fetching = try TestFetcher { options in
            options.credentials.addLogins(
                of: try #require(Netrc(Array("machine 127.0.0.1 login u password p".utf8))))
        }
        #expect(try fetching.response(origin.url("/")).text() == "Basic dTpw")
        #expect(try fetching.response("http://localhost:\(origin.port)/").text() == "nobody")
    }
}
