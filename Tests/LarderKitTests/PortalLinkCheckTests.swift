import Check
import Fetch
import Reports
import Store
import TestOrigin
import Testing
import Web

@testable import LarderKit
@testable import Portal

/// The check of a site's links as a job of the portal.
@Suite struct PortalLinkCheckTests {
    private let origin: TestOrigin
    private let other: TestOrigin
    private let scratch: TemporaryFolder
    private let larder: Larder

    init() async throws {
        origin = try TestOrigin()
        other = try TestOrigin()
        scratch = try TemporaryFolder()
        larder = Larder(at: scratch.file("store"))
        other.on("/", .page("other"))
        origin.on("/", .page("<a href=/gone>x</a><a href=\(Self.elsewhere(other))>y</a>"))
        origin.on("/gone", .failure(404))
        _ = try await larder.prefetch([origin.url("/")])
        other.forgetRequests()
    }

    /// The URL of another host, which is not a part of the site.
    private static func elsewhere(_ origin: TestOrigin) -> String {
        origin.url("/").replacing("127.0.0.1", with: "localhost")
    }

    private func check(by principal: Principal) -> (end: JobEnd, outcome: [Phrase]) {
        PortalCommandRunner(larder: larder, network: NetworkOptions()).run(
            .checkLinks(site: origin.url("/")), JobRun(1, by: principal) { _ in })
    }

    @Test func `a job checks the links of a site, and the page of the site shows the result`() throws {
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        func page() throws -> String {
            try RawClient(port: Int(service.port)).get(
                "/-/sites/1", host: "larder.localhost:\(service.port)"
            ).text
        }
        let before = try page()
        #expect(before.contains("action=\"/-/do/links\""))
        #expect(before.contains("have not been checked yet"))
        let (end, outcome) = check(by: .localUser)
        #expect(end == .withProblems)
        #expect(
            outcome.map { $0.text(in: .english) } == [
                "Broken links: 1 of 2.", "dead: \(origin.url("/gone")), the server answered 404",
            ])
        #expect(outcome.first?.text(in: .chinese) == "2 个链接中有 1 个已失效。")
        #expect(other.requests(to: "/").count == 1)
        let after = try page()
        #expect(after.contains("<dt>Dead</dt><dd>1</dd>"))
        #expect(after.contains("/gone"))
    }

    @Test func `a site without broken links is clean`() async throws {
        origin.on("/", .page("<a href=/#top>x</a>"))
        _ = try await larder.update([origin.url("/")])
        let (end, outcome) = check(by: .localUser)
        #expect(end == .done)
        #expect(outcome.map { $0.text(in: .english) } == ["No broken links found. Links checked: 1."])
    }

    @Test func `a check by another machine makes no requests to addresses of this machine`() throws {
        let (end, _) = check(by: .remoteUser)
        #expect(end == .withProblems)
        #expect(other.requests.isEmpty)
    }
}
