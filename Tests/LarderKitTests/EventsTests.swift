import LarderKit
import Synchronization
import TestOrigin
import Testing

@Suite struct EventsTests {
    private let folder: TemporaryFolder
    private let origin: TestOrigin
    private let larder: Larder

    init() throws {
        folder = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: folder.file("store"))
        origin.on("/", .page("<title>Home</title>"))
    }

    @Test func `the events of a prefetch are its progress and then its report`() async throws {
        origin.hold("/")
        let sites = Mutex<Set<String>>([])
        var options = PrefetchOptions()
        options.progress = { progress in sites.withLock { _ = $0.insert(progress.site) } }
        var (progressSites, reports): (Set<String>, [PrefetchReport]) = ([], [])
        for try await event in larder.prefetchEvents([origin.url("/")], options: options) {
            #expect(reports.isEmpty)
            switch event {
            case .progress(let progress):
                progressSites.insert(progress.site)
                origin.release("/")
            case .finished(let report): reports.append(report)
            }
        }
        #expect(progressSites == [origin.url("/")])
        #expect(sites.withLock { $0 } == progressSites)
        #expect(reports.map(\.pages) == [1])
    }

    @Test func `the events of an update end with a result for each site`() async throws {
        _ = try await larder.prefetch([origin.url("/")])
        var updates: [Larder.SiteUpdate] = []
        for try await case .finished(let results) in larder.updateEvents() { updates += results }
        #expect(updates.map(\.site) == [origin.url("/")])
        #expect(try updates.map { try $0.result.get().missing.count } == [0])
    }

    @Test func `the events of a preload end with its report`() async throws {
        origin.on("/a.js", .file("a", type: "text/javascript"))
        let manifest = try folder.write(
            "{\"bundles\": [{\"url\": \"/a.js\", \"md5\": \"0cc175b9c0f1b6a831c399e269772661\"}]}",
            to: "site.json")
        var options = PreloadOptions()
        options.base = origin.url("/")
        var outcomes: [PreloadReport.Outcome] = []
        for try await case .finished(let report) in larder.preloadEvents(manifest, options: options) {
            outcomes.append(report.outcome)
        }
        #expect(outcomes == [.changed])
    }

    @Test func `the sequence throws the error of the call`() async {
        let error = await #expect(throws: LarderError.self) {
            for try await _ in larder.prefetchEvents(["ftp://example.com/"]) {}
        }
        #expect(error?.kind == .input)
    }

    @Test func `a prefetch stops when the loop over its events ends`() async throws {
        stall("/")
        for try await _ in larder.prefetchEvents([origin.url("/")]) where origin.requests(to: "/").count > 0 {
            break
        }
        #expect(origin.waitUntilClosed("/"))
    }

    @Test func `a prefetch stops when the task of the loop is cancelled`() async throws {
        stall("/")
        let events = larder.prefetchEvents([origin.url("/")])
        let task = Task { for try await _ in events {} }
        #expect(origin.waitForRequests(1, to: "/"))
        task.cancel()
        try await task.value
        #expect(origin.waitUntilClosed("/"))
    }

    /// Answers so slowly that the response is incomplete when the test ends. Unlike a held response, that shows the origin
    /// that its client has closed the connection.
    private func stall(_ target: String) {
        origin.on(target) { _ in
            .page(String(repeating: " ", count: 100_000)).dripping(1, every: .milliseconds(10))
        }
    }
}
