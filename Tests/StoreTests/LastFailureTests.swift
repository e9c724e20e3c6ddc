import Testing

@testable import Store

@Suite struct LastFailureTests {
    private static func site(_ name: String, _ settings: String) -> Site {
        Site(
            id: 1, name: name, start: [name],
            snapshots: [Snapshot(id: 7, number: 2, started: 10, finished: 20, responseCount: 1)],
            published: 7, settings: settings)
    }

    private static let failures = #""failures":{"snapshot":2,"reasons":{"the server answered 503":["/a"]}}"#

    @Test func `a failure has the site, the reason and the time of the run that tried`() {
        let sites = [Self.site("other", ""), Self.site("s", "{\(Self.failures)}")]
        #expect(
            LastFailure(of: "/a", in: sites)
                == LastFailure(site: "s", reason: "the server answered 503", at: 20))
        #expect(LastFailure(of: "/b", in: sites) == nil)
    }

    @Test func `an update that changed nothing has tried again`() {
        let settings = #"{\#(Self.failures),"confirmed":[{"snapshot":2,"date":90}]}"#
        #expect(LastFailure(of: "/a", in: [Self.site("s", settings)])?.at == 90)
    }

    @Test func `failures of a snapshot that is not live do not count`() {
        let settings = Self.failures.replacing("\"snapshot\":2", with: "\"snapshot\":1")
        #expect(LastFailure(of: "/a", in: [Self.site("s", "{\(settings)}")]) == nil)
    }
}
