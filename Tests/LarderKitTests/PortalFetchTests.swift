import Check
import Fetch
import Store
import System
import TestOrigin
import Testing
import Web

@testable import LarderKit
@testable import Portal

/// The results of jobs of the portal that store single URLs, clean up, and export.
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

    @Test(
        arguments: [
            (.busy, .errorStoreBusy), (.full, .errorDiskFull), (.denied, .errorNoPermission),
            (.unusable, .errorStoreDamaged), (.unreachable, .errorStoreUnreachable),
            (.failed, .errorStoreFailed), (.request, nil), (.missing, nil),
        ] as [(StoreError.Reason, Sentence?)])
    func `a failed job names the cause in the language of the user`(
        reason: StoreError.Reason, cause: Sentence?
    ) {
        let error = LarderError(StoreError(reason, doing: "read", path: "/store", detail: "no"))
        #expect(PortalCommandRunner.cause(of: error) == cause)
        #expect(PortalCommandRunner.cause(of: error.addingClause("the site stays")) == cause)
        #expect(PortalCommandRunner.cause(of: LarderError(.input, "no URL")) == nil)
    }

    @Test func `a cleanup that cannot reach its limit removes no snapshot and names the attainable size`()
        async throws
    {
        origin.on("/two", .page(String(repeating: "other words ", count: 3000)))
        var options = PrefetchOptions()
        options.browser = ""
        _ = try await larder.update(options: options)
        for command in [PortalCommand.forecast(limit: "1 kB"), .collect(limit: "1 kB")] {
            let (end, outcome) = run(command)
            #expect(end == .done)
            #expect(outcome.map(\.sentence).contains(.limitUnreachable), "\(outcome)")
            #expect(outcome.map(\.sentence).contains(.limitAttainable))
        }
        #expect(try await larder.snapshots().sites[0].snapshots.count == 2)
    }

    @Test func `a fetched URL is reported as stored, and nothing is said of a site that was complete before`()
    {
        let (end, outcome) = run(.fetch(url: origin.url("/two")))
        #expect(end == .done)
        #expect(outcome.map(\.sentence) == [.fetchedStored])
    }

    @Test(arguments: [
        ([String](), Sentence.siteCompleteNow), (["/never"], .siteCompleteWithinLimitsNow),
    ])
    func `a fetched URL that was missing makes its site complete, within its limits if links are not fetched`(
        disallowed: [String], sentence: Sentence
    ) async throws {
        origin.on("/", .page("front <a href=/two>2</a> <a href=/down>down</a> <a href=/never>n</a>"))
        origin.on("/never", .page("never"))
        if !disallowed.isEmpty {
            origin.on(
                "/robots.txt", .file(Array("User-agent: *\nDisallow: /never\n".utf8), type: "text/plain"))
        }
        origin.on("/down", .failure(503, fields: [("Retry-After", "3600")]))
        #expect(run(.update(site: origin.url("/"))).end == .withProblems)
        origin.on("/down", .page("up again"))
        let (end, outcome) = run(.fetch(url: origin.url("/down")))
        #expect(end == .done)
        #expect(outcome.map(\.sentence) == [.fetchedStored, sentence])
        #expect(outcome.last?.parts == [origin.url("/")])
    }

    @Test
    func
        `a check counts URLs that the original site does not have, and does not call the site free of problems`()
        async throws
    {
        origin.on("/", .page("front <a href=/two>2</a> <img src=/none.png>"))
        #expect(run(.update(site: origin.url("/"))).end == .done)
        let (end, outcome) = run(.check(site: origin.url("/")))
        #expect(end == .done)
        let counts = try #require(try await larder.checkOffline(origin.url("/")).missingURLs)
        #expect(counts.broken == 1)
        #expect(outcome.first?.sentence == .checkCleanExcept)
        #expect(outcome.contains(Phrase(.endedBroken, "1")))
        #expect(outcome.contains(Phrase(.untranslated, origin.url("/none.png"))))
    }

    @Test func `an update names the first broken URLs in alphabetical order, and counts the others`() {
        let pictures = (1...7).reversed().map { "<img src=/none\($0).png>" }.joined()
        origin.on("/", .page("front <a href=/two>2</a> \(pictures)"))
        let (end, outcome) = run(.update(site: origin.url("/")))
        #expect(end == .done)
        let list = outcome.drop { $0.sentence != .endedBroken }
        let urls = (1...5).map { Phrase(.untranslated, origin.url("/none\($0).png")) }
        #expect(Array(list) == [Phrase(.endedBroken, "7")] + urls + [Phrase(.andMore, "2")])
    }

    @Test func `a fetched page is a page of its site, which the search finds at once`() async throws {
        origin.on("/alone", .page("<title>Alone</title>a solitary zebra"))
        #expect(run(.fetch(url: origin.url("/alone"))).end == .done)
        let row = try #require(try StoreReader(larder.folder).response(for: origin.url("/alone")))
        #expect(row.role == 0)
        // Its text is in the index already.
        #expect(try await larder.index(origin.url("/")).texts == 0)
        #expect(try await larder.search("zebra").hits.map(\.url) == [origin.url("/alone")])
        // A picture stays an asset, and so does what apps load.
        origin.on("/alone.png", .file([1, 2, 3], type: "image/png"))
        origin.on("/app", .page("app"))
        #expect(run(.fetch(url: origin.url("/alone.png"))).end == .done)
        _ = try await larder.load(origin.url("/app"), policy: .reload)
        for path in ["/alone.png", "/app"] {
            #expect(try StoreReader(larder.folder).response(for: origin.url(path))?.role == 1, "\(path)")
        }
    }

    @Test func `after a change of settings, the stored counts are those that the page of the site finds`()
        async throws
    {
        origin.on("/", .page("front <a href=/two>2</a> <a href=/down>down</a>"))
        origin.on("/down", .failure(503, fields: [("Retry-After", "3600")]))
        #expect(run(.update(site: origin.url("/"))).end == .withProblems)
        func counts() throws -> [Int?] {
            let reader = try StoreReader(larder.folder)
            let site = try reader.sites()[0]
            let needs = try OfflineCheck.needs(of: site, limit: 100, reader)
            return [MissingURLCounts(of: site)?.failed, needs?.counts.failed]
        }
        #expect(try counts() == [1, 1])
        let form = try SiteSettingsForm(
            PortalRequest(path: "/", fields: [("exclude", origin.url("/down"))]))
        let (end, outcome) = run(.changeSettings(site: origin.url("/"), form))
        #expect(end == .done && outcome == [Phrase(.settingsSaved)])
        #expect(try counts() == [0, 0])
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

    @Test func `an export says how many URLs are missing, with a list in the file`() async throws {
        origin.on("/", .page("front <a href=/two>2</a> <a href=/down>down</a> <img src=/none.png>"))
        origin.on("/down", .failure(503, fields: [("Retry-After", "3600")]))
        #expect(run(.update(site: origin.url("/"))).end == .withProblems)
        var options = ExportOptions()
        options.format = .folder
        let report = try await larder.export(origin.url("/"), to: scratch.file("out/"), options: options)
        #expect(report.failed.map(\.url) == [origin.url("/down")])
        #expect(report.missing.map(\.url) == [origin.url("/none.png")])
        #expect(report.missing.map(\.isBroken) == [true] && report.leftOutNotFound == 0)
        let list = String(
            decoding: try WholeFile.read(scratch.file("out/~missing.txt"), atMost: 9999), as: UTF8.self)
        #expect(list.hasPrefix("\(origin.url("/down"))  could not be fetched: the server answered 503"))
        #expect(list.hasSuffix("\n\(origin.url("/none.png"))  needed by \(origin.url("/"))\n"), "\(list)")
        let start = try WholeFile.read(scratch.file("out/START-HERE.html"), atMost: 9999)
        #expect(String(decoding: start, as: UTF8.self).contains("href=\"~missing.txt\""))
    }

    @Test func `a cleanup counts removed files, and does not mention them if there are none`() throws {
        let used = try StoreReader(larder.folder).bodyByteCount()
        #expect(try StoreReader(larder.folder).removedByteCount() == 0)
        let removal = run(.remove(site: origin.url("/")))
        #expect(removal.end == .done && removal.outcome.last == Phrase(.removedSpace))
        #expect(try StoreReader(larder.folder).removedByteCount() == used && used > 0)
        #expect(try StoreReader(larder.folder).canUndoRemoval())
        let (end, outcome) = run(.collect(limit: nil))
        #expect(end == .done)
        #expect(outcome.first?.sentence == .cleanedUp)
        #expect(outcome.contains(Phrase(.cleanedFiles, "2")), "\(outcome)")
        #expect(try StoreReader(larder.folder).removedByteCount() == 0)
        #expect(try !StoreReader(larder.folder).canUndoRemoval())
        let again = run(.collect(limit: nil)).outcome
        #expect(again.first?.sentence == .cleanedUp)
        #expect(!again.contains { $0.sentence == .cleanedFiles }, "\(again)")
    }
}
