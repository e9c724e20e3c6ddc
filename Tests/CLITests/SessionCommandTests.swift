import Synchronization
import TestOrigin
import Testing
import Web

/// Tests the report of a session that ends during a prefetch.
@Suite struct SessionCommandTests {
    @Test func `a lost session is in the text, the JSON and the exit status`() throws {
        let (home, origin) = (try TemporaryFolder(), try TestOrigin())
        // Requesting all pages would take 20 s.
        origin.on("/", .page((1...2000).map { "<a href=/members/\($0)>\($0)</a>" }.joined()))
        origin.on("/login", .page("<title>Sign in</title><form method=post><input type=password></form>"))
        let asked = Mutex(0)
        for page in 1...2000 {
            origin.on("/members/\(page)") { request in
                let count = asked.withLock { asked in
                    asked += 1
                    return asked
                }
                guard request["Authorization"] != nil else { return .failure(401) }
                return count <= 10
                    ? .page("member \(page)") : .redirect(to: "/login").delayed(.milliseconds(20))
            }
        }
        let words = ["prefetch", origin.url("/"), "--user", "me:secret", "--per-host", "2"]
        let told = try Command(words, home: home).wait()
        #expect(told.status == 1, "\(told)")
        #expect(told.errors.contains("the session with \(origin.base) ended during the run"), "\(told)")
        #expect(told.output.contains("no further requests to \(origin.base): the session ended"), "\(told)")
        // Further members' pages are requested until the login page has been scanned and one member's page has been
        // requested again: about twenty on an idle machine.
        #expect(asked.withLock { $0 } < 1000)
        let again = try Command(words + ["--json"], home: home).wait()
        let json = try JSONValue.parse(again.output.utf8.span)
        #expect(json["lostSessions"]?.array?.first?["origin"]?.string == origin.base)
        #expect(json["lostSessions"]?.array?.first?["login"]?.string == origin.url("/login"))
        let first = try Command(["cat", origin.url("/members/1")], home: home).wait()
        #expect(
            first.output == "member 1",
            """
            \(first)
            first run: \(told)
            second run: \(again)
            \(origin.requests.map(\.target).filter { $0 == "/login" || $0.hasSuffix("/1") })
            """)
    }
}
