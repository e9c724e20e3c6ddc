import TestOrigin
import Testing
import Web

@testable import Fetch

/// Files of cookies in the forms that tools write.
@Suite struct CookieFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func lines(_ text: String) throws -> [String] {
        try CookieFile(path: try folder.write(text, to: "cookies")).cookies.map(\.line)
    }

    @Test(arguments: [
        // Python's MozillaCookieJar writes no expiry time for a session cookie, and no name for one without value.
        (".a.test\tTRUE\t/\tFALSE\t\tid\t1", ".a.test\tTRUE\t/\tFALSE\t0\tid\t1"),
        ("a.test\tFALSE\t/\tFALSE\t\t\tbare", "a.test\tFALSE\t/\tFALSE\t0\tbare\t"),
        ("#HttpOnly_a.test\tFALSE\t/\tTRUE\t0\tid\t1\r", "#HttpOnly_a.test\tFALSE\t/\tTRUE\t0\tid\t1"),
        ("a.test\tFALSE\t/\tFALSE\t1893456000.5\tid\ta\tb", "a.test\tFALSE\t/\tFALSE\t1893456000\tid\ta\tb"),
        ("a.test\tFALSE\t/\tFALSE\t253402300799\tid\t1", "a.test\tFALSE\t/\tFALSE\t253402300799\tid\t1"),
        ("a.test\tFALSE\t/\tFALSE\t1e30\tid\t1", "a.test\tFALSE\t/\tFALSE\t253402300799\tid\t1"),
        ("a.test\tFALSE\t/\tFALSE\t1893456000123\tid\t1", "a.test\tFALSE\t/\tFALSE\t1893456000\tid\t1"),
        ("a.test\tFALSE\t/\tFALSE\t-1\tid\t1", "a.test\tFALSE\t/\tFALSE\t0\tid\t1"),
    ])
    func `a line of Netscape's format is read`(line: String, expected: String) throws {
        #expect(try lines("# Netscape HTTP Cookie File\n\n\(line)\n") == [expected])
    }

    @Test func `the list of a browser extension is read`() throws {
        let text = """
            [{"domain": ".a.test", "expirationDate": 1893456000.25, "hostOnly": false, "httpOnly": true, "name": "id",
              "path": "/", "sameSite": "lax", "secure": true, "session": false, "storeId": "0", "value": "1"},
             {"domain": "a.test", "hostOnly": true, "httpOnly": false, "name": "s", "path": "/b", "secure": false,
              "session": true, "value": ""}]
            """
        let expected = [
            "#HttpOnly_.a.test\tTRUE\t/\tTRUE\t1893456000\tid\t1", "a.test\tFALSE\t/b\tFALSE\t0\ts\t",
        ]
        #expect(try lines(text) == expected)
    }

    @Test func `the storage state of Playwright is read`() throws {
        let text = """
            {"cookies": [{"name": "id", "value": "1", "domain": "a.test", "path": "/", "expires": -1, "httpOnly": false,
              "secure": false, "sameSite": "Lax"}], "origins": []}
            """
        #expect(try lines(text) == ["a.test\tFALSE\t/\tFALSE\t0\tid\t1"])
    }

    @Test(arguments: [
        ("{\"origins\": []}", "no list of cookies"), ("[{\"name\": \"a\"}]", "cookie 1 needs"),
        ("[", "expected"),
        ("<html>", ":1: not a cookie"), ("a.test\tFALSE\t/\tFALSE\tsoon\ta\t1", ":1: not a cookie"),
        ("[{\"name\": \"a\", \"value\": \"1\\n2\", \"domain\": \"a.test\"}]", "cookie 1 needs"),
    ])
    func `a file in an unknown format is refused with the reason`(text: String, reason: String) throws {
        let failure = #expect(throws: FetchFailure.self) { try lines(text) }
        #expect(failure?.detail.contains(reason) == true, "\(failure?.detail ?? "")")
    }

    @Test func `cookies are counted for the hosts of a site`() throws {
        let path = try folder.write(
            """
            .a.test\tTRUE\t/\tFALSE\t0\tone\t1
            www.a.test\tFALSE\t/\tFALSE\t4000000000\ttwo\t1
            www.a.test\tFALSE\t/\tFALSE\t1000\tthree\t1
            b.test\tFALSE\t/\tFALSE\t0\tfour\t1
            """, to: "cookies")
        let start = try #require(WebURL("http://www.a.test/"))
        let counts = try CookieCounts(files: [path], start: [start], now: 2000)
        #expect((counts.total, counts.valid, counts.expired) == (4, 2, 1))
    }
}
