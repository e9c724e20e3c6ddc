import Fetch
import Glibc
import TestOrigin
import Testing
import Web

@Suite struct CookieTests {
    private let origin: TestOrigin
    private let folder: TemporaryFolder

    init() throws {
        origin = try TestOrigin()
        folder = try TemporaryFolder()
        origin.on("/set") { _ in
            OriginAnswer.page("set").adding("Set-Cookie", "kept=1; Max-Age=1000; Path=/; HttpOnly")
                .adding("Set-Cookie", "session=2; Path=/")
                .adding("Set-Cookie", "foreign=3; Domain=other.test")
                .adding("Set-Cookie", "secure=4; Secure; Path=/")
        }
        origin.otherwise { .page($0["Cookie"] ?? "none") }
    }

    private func fetching(_ cookies: CookieOptions?) throws -> TestFetcher {
        try TestFetcher { options in
            options.cookies = cookies
            // Hosts have names, because libcurl sends Secure cookies over http to loopback addresses.
            options.hostAddresses = [try #require(HostAddress("*:\(origin.port):127.0.0.1"))]
        }
    }

    private func url(_ target: String, host: String = "a.test") -> String {
        "http://\(host):\(origin.port)\(target)"
    }

    private func sent(_ text: String) -> Set<String> {
        Set(text.split(separator: ";").map { String($0.drop { $0 == " " }) })
    }

    @Test func `cookies are not stored without cookie options`() throws {
        let fetching = try fetching(nil)
        let loop = try fetching.loop()
        _ = try fetching.response(url("/set"), in: loop)
        #expect(try fetching.response(url("/"), in: loop).text() == "none")
    }

    @Test func `cookies of a host are sent back to that host only`() throws {
        let fetching = try fetching(CookieOptions())
        let loop = try fetching.loop()
        _ = try fetching.response(url("/set"), in: loop)
        let requests = try (0..<8).map { number in
            try TestFetcher.request(url("/\(number)")) { $0.number = UInt32(number) }
        }
        for result in try TestFetcher.results(of: requests, in: loop).values {
            #expect(sent(try result.response().text()) == ["kept=1", "session=2"])
        }
        #expect(try fetching.response(url("/", host: "b.test"), in: loop).text() == "none")
    }

    @Test(arguments: [false, true])
    func `saved cookies can be read only by the owner and are loaded again`(withSession: Bool) throws {
        var options = CookieOptions(save: folder.file("jar"))
        options.savesSessionCookies = withSession
        try folder.write("old", to: "jar")
        let fetching = try fetching(options)
        let loop = try fetching.loop()
        _ = try fetching.response(url("/set"), in: loop)
        try loop.saveCookies()
        var status = stat()
        #expect(stat(folder.file("jar"), &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(folder.names() == ["jar"])
        let again = try self.fetching(CookieOptions(load: [folder.file("jar")]))
        #expect(
            sent(try again.response(url("/")).text()) == (withSession ? ["kept=1", "session=2"] : ["kept=1"]))
    }

    @Test func `cookies of scripts are sent and do not replace cookies of a server`() throws {
        let fetching = try fetching(CookieOptions())
        let loop = try fetching.loop()
        _ = try fetching.response(url("/set"), in: loop)
        func line(_ domain: String, _ path: String, _ name: String, _ value: String) -> String {
            [domain, domain.hasPrefix(".") ? "TRUE" : "FALSE", path, "FALSE", "0", name, value].joined(
                separator: "\t")
        }
        try loop.addCookies(fromScripts: [
            line("a.test", "/", "session", "stolen"), line("a.test", "/deep", "low", "5"),
            line(".a.test", "/", "wide", "6"),
            line("b.test", "/", "other", "7"), "nothing",
        ])
        #expect(sent(try fetching.response(url("/"), in: loop).text()) == ["kept=1", "session=2", "wide=6"])
        #expect(
            sent(try fetching.response(url("/deep/x"), in: loop).text()) == [
                "kept=1", "session=2", "low=5", "wide=6",
            ])
        #expect(sent(try fetching.response(url("/", host: "b.test"), in: loop).text()) == ["other=7"])
        try loop.addCookies(fromScripts: [line(".a.test", "/", "wide", "8")])
        #expect(sent(try fetching.response(url("/"), in: loop).text()).contains("wide=8"))
    }

    @Test func `a request's cookies are sent with this request only, in addition to the jar's`() throws {
        let fetching = try fetching(CookieOptions())
        let loop = try fetching.loop()
        _ = try fetching.response(url("/set"), in: loop)
        var fields = HTTPFields()
        fields.append("Cookie", "mine=1; session=old;  two = 2 ;; bare")
        let cookies = PageCookie.all(in: fields)
        func text(_ isAnonymous: Bool = false) throws -> String {
            var request = try TestFetcher.request(url("/")) { $0.cookies = cookies }
            request.isAnonymous = isAnonymous
            return try #require(try TestFetcher.results(of: [request], in: loop).values.first).response()
                .text()
        }
        #expect(sent(try text()) == ["kept=1", "session=2", "mine=1", "two = 2", "bare"])
        #expect(try text(true) == "none")
        #expect(sent(try fetching.response(url("/"), in: loop).text()) == ["kept=1", "session=2"])
    }

    @Test func `a cookie file of curl is loaded`() throws {
        let far = "4000000000"
        try folder.write(
            """
            # Netscape HTTP Cookie File
            # http://curl.haxx.se/rfc/cookie_spec.html

            a.test\tFALSE\t/\tFALSE\t\(far)\ta\t1
            #HttpOnly_a.test\tFALSE\t/\tFALSE\t0\tb\t2\r
            a.test\tFALSE\t/deep\tFALSE\t\(far)\tc\t3
            a.test\tFALSE\t/\tTRUE\t\(far)\td\t4
            a.test\tFALSE\t/\tFALSE\t1000\told\t5
            .other.test\tTRUE\t/\tFALSE\t\(far)\te\t6
            a.test\tFALSE\t/\tFALSE\t\(far)\tempty

            """, to: "jar")
        let fetching = try fetching(CookieOptions(load: [folder.file("jar")]))
        #expect(sent(try fetching.response(url("/")).text()) == ["a=1", "b=2", "empty="])
        #expect(sent(try fetching.response(url("/deep/x")).text()) == ["a=1", "b=2", "c=3", "empty="])
    }

    @Test func `an exchange records whether the request had cookies`() throws {
        let fetching = try fetching(CookieOptions())
        let loop = try fetching.loop()
        func usedCredentials(_ target: String, host: String = "a.test") throws -> Bool? {
            try fetching.result(url(target, host: host), in: loop).exchange?.usedCredentials
        }
        #expect(try usedCredentials("/set") == false)
        #expect(try usedCredentials("/a") == true)
        #expect(try usedCredentials("/a", host: "b.test") == false)
        #expect(try usedCredentials("/b") == true)
    }

    @Test func `a header that is sent in many writes is searched to its end or counts as having credentials`()
        throws
    {
        let fetching = try fetching(CookieOptions())
        let loop = try fetching.loop()
        _ = try fetching.response(url("/set"), in: loop)
        let request = try TestFetcher.request(url("/")) { request in
            for number in 0..<1000 {
                request.fields.append("X-\(number)", String(repeating: "x", count: 1000))
            }
        }
        #expect(try fetching.result(of: request, in: loop).exchange?.usedCredentials == true)
    }

    @Test func `an anonymous request sends no cookies and stores none`() throws {
        let fetching = try fetching(CookieOptions())
        let loop = try fetching.loop()
        func anonymous(_ target: String) throws -> FetchResult {
            try fetching.result(of: try TestFetcher.request(url(target)) { $0.isAnonymous = true }, in: loop)
        }
        _ = try anonymous("/set")
        #expect(try fetching.response(url("/"), in: loop).text() == "none")
        _ = try fetching.response(url("/set"), in: loop)
        for _ in 0..<2 {
            let result = try anonymous("/")
            #expect(try result.response().text() == "none")
            #expect(result.exchange?.usedCredentials == false)
            #expect(sent(try fetching.response(url("/"), in: loop).text()) == ["kept=1", "session=2"])
        }
    }

    @Test func `a file that is not a cookie file is refused with its name`() throws {
        let path = try folder.write("# Netscape HTTP Cookie File\n{\"SECRET\": 1}\n", to: "jar")
        let failure = #expect(throws: FetchFailure.self) { try fetching(CookieOptions(load: [path])).loop() }
        #expect(failure?.detail == "\(path):2: not a cookie in Netscape's format")
        #expect(throws: FetchFailure.self) {
            try fetching(CookieOptions(load: [folder.file("missing")])).loop()
        }
        #expect(throws: FetchFailure.self) {
            try fetching(CookieOptions(save: folder.file("no/such/folder"))).loop().saveCookies()
        }
    }
}
