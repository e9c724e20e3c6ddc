import Fetch
import Store
import TestOrigin
import Testing
import Web

@testable import LarderKit
@testable import Portal

/// The results of jobs of the portal that store single URLs.
@Suite struct PortalFetchTests {
    private let origin: TestOrigin
    private let scratch: TemporaryFolder
    private let larder: Larder

    init() async throws {
        origin = try TestOrigin()
        scratch = try TemporaryFolder()
        larder = Larder(at: scratch.file("store"))
        origin.on("/", .page("front <a href=/two>2</a>"))
        origin.on("/two", .page("two"))
        var options = PrefetchOptions()
        options.browser = ""
        _ = try await larder.prefetch([origin.url("/")], options: options)
    }

    private func run(_ command: PortalCommand) -> (end: JobEnd, outcome: [Phrase]) {
        PortalCommandRunner(larder: larder, network: NetworkOptions()).run(
            command, JobRun(1, by: .localUser) { _ in })
    }

    @Test func `a fetched URL is reported as stored, and its site as complete`() {
        let (end, outcome) = run(.fetch(url: origin.url("/two")))
        #expect(end == .done)
        #expect(outcome.map(\.sentence) == [.fetchedStored, .siteCompleteNow])
        #expect(outcome.last?.parts == [origin.url("/")])
    }

    @Test(arguments: [503, 404])
    func `a fetch that got an error has failed, and says why`(status: Int) {
        origin.on("/radar", .failure(status))
        let (end, outcome) = run(.fetch(url: origin.url("/radar")))
        #expect(end == .failed)
        #expect(outcome == [Phrase(.urlFailed, origin.url("/radar"), "the server answered \(status)")])
    }

    @Test func `a page that another site has already is stored, and the result names that site`() {
        let form = SiteSettingsForm(
            readable: PortalRequest(path: "/", fields: [("what", "page"), ("render", "never")]))
        let (end, outcome) = run(.prefetch(address: origin.url("/two"), form))
        #expect(end == .done)
        #expect(outcome.last == Phrase(.pageAlsoStored, origin.url("/")))
    }
}
