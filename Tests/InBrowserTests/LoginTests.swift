import Browser
import Glibc
import LarderKit
import System
import TestOrigin
import Testing
import Web

/// Tests logins in a browser without a window. Each one ends at its time limit.
@Suite(.enabled(if: Chromium.executable != nil, "no browser is installed"))
struct LoginTests {
    private let folder: TemporaryFolder
    private let larder: Larder
    private let origin: TestOrigin

    init() throws {
        folder = try TemporaryFolder("login")
        larder = Larder(at: folder.file("store"))
        origin = try TestOrigin()
        origin.on("/") { request in
            request["Cookie"]?.contains("session=") == true
                ? .page("<title>Inside</title><a href=/next>next")
                : .page("<title>Outside</title><a href=/login>in")
        }
        origin.on("/next", .page("<p>next"))
        origin.on(
            "/login",
            .page("<title>Sign in</title>")
                .adding("Set-Cookie", "session=secret; HttpOnly").adding(
                    "Set-Cookie", "kept=long; Max-Age=600"))
    }

    /// Signs in as a user who waits for the page. If a busy machine has not shown it in time, the login is repeated with a longer limit.
    private func signIn(for limits: [Int] = [4, 30, 120]) async throws -> LoginReport {
        var options = LoginOptions()
        options.browser = Chromium.executable
        options.isHidden = true
        for limit in limits.dropLast() {
            options.limit = .seconds(limit)
            if let report = try? await larder.login(origin.url("/login"), options: options) { return report }
        }
        options.limit = .seconds(limits.last ?? 0)
        return try await larder.login(origin.url("/login"), options: options)
    }

    @Test func `cookies of a login are sent with later requests, and only their owner can read the file`()
        async throws
    {
        let report = try await signIn()
        #expect(report.site == "127.0.0.1")
        #expect(report.cookies == 2)
        #expect(larder.logins().logins == [report])
        var status = stat()
        #expect(stat(folder.file("store/logins/127.0.0.1.cookies"), &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)

        let prefetch = try await larder.prefetch([origin.url("/")])
        #expect(prefetch.isComplete)
        #expect(
            origin.requests.last(where: { $0.target == "/next" })?["Cookie"]?.contains("session=secret")
                == true)
        let shown = try await larder.describe(origin.url("/"))
        #expect(shown.responses.first?.isPrivate == true)

        #expect(try larder.forgetLogin("127.0.0.1").cookies == 2)
        #expect(larder.logins().logins == [])
        #expect(!WholeFile.exists(folder.file("store/logins/127.0.0.1.cookies")))
        _ = try await larder.update([])
        #expect(origin.requests.last(where: { $0.target == "/" })?["Cookie"] == nil)
    }

    @Test func `the browser of a second login sends the persistent cookies of the first`() async throws {
        _ = try await signIn()
        _ = try await signIn()
        let sent = origin.requests.filter { $0.target == "/login" }.map { $0["Cookie"] ?? "" }
        #expect(sent.first == "")
        #expect(sent.last?.contains("kept=long") == true)
    }

    @Test func `a login that sets no cookie is an error, and nothing is stored`() async throws {
        origin.on("/login", .page("<p>nothing"))
        await #expect(throws: LarderError.self) {
            try await signIn(for: [4])
        }
        #expect(larder.logins().logins == [])
    }
}
