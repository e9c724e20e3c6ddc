import Reports
import TestOrigin
import Testing
import Web

@testable import Store

@Suite struct StoreReportsTests {
    private let scratch: TemporaryFolder
    private let folder: StoreFolder

    init() throws {
        scratch = try TemporaryFolder()
        folder = StoreFolder(scratch.file("store"))
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "http://a.test/", start: ["http://a.test/"], now: 1)
        try writer.add(
            [
                response("http://a.test/", "page", "text/html"),
                response("http://a.test/b.css", "style", "text/css"),
                response("http://a.test/gone", nil, nil, status: 404),
            ], links: [], to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
    }

    private func response(
        _ href: String, _ text: String?, _ type: String?, status: Int = 200
    ) throws -> NewResponse {
        var response = NewResponse(
            href: href, referrer: nil, status: status, role: 0, fields: "", fetched: 1,
            body: try text.map { .new(try NewBody(.bytes(Array($0.utf8)), form: "", links: [], in: folder)) }
                ?? .none)
        response.type = type
        return response
    }

    // MARK: - Listing

    private func list(_ change: (inout ListOptions) -> Void = { _ in }) throws -> (
        urls: [String], report: ListReport
    ) {
        var (options, urls) = (ListOptions(), [String]())
        change(&options)
        let report = try ListReport(options, try StoreReader(folder)) {
            urls.append($0.url)
            return true
        }
        return (urls, report)
    }

    @Test func `a listing has every live URL in order, and their total size`() throws {
        let (urls, report) = try list()
        #expect(urls == ["http://a.test/", "http://a.test/b.css", "http://a.test/gone"])
        #expect((report.urls, report.byteCount, report.isCut) == (3, 9, false))
    }

    @Test func `a listing can be restricted by status, type and site`() throws {
        #expect(try list { $0.status = 404 }.urls == ["http://a.test/gone"])
        #expect(try list { $0.type = TypeFilter("css") }.urls == ["http://a.test/b.css"])
        #expect(try list { $0.site = "a.test" }.urls.count == 3)
        #expect(throws: StoreError.self) { try list { $0.site = "b.test" } }
    }

    @Test func `a listed URL with 404 is missing only if its body is not stored`() throws {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "http://c.test/", start: ["http://c.test/"], now: 3)
        try writer.add(
            [response("http://c.test/route", "page", "text/html", status: 404)], links: [], to: snapshot)
        try writer.end(snapshot, .publish(now: 4))
        var missing: [String] = []
        _ = try ListReport(ListOptions(), try StoreReader(folder)) { listed in
            if listed.isMissing { missing.append(listed.url) }
            return true
        }
        #expect(missing == ["http://a.test/gone"])
    }

    @Test func `a listing that is ended early is reported as incomplete`() throws {
        var count = 0
        let report = try ListReport(ListOptions(), try StoreReader(folder)) { _ in
            count += 1
            return count < 2
        }
        #expect((report.urls, report.isCut) == (2, true))
    }

    // MARK: - Missed requests

    @Test func `a missed URL that is stored by now is no longer missed, except for a POST`() throws {
        let notes = [
            Miss(href: "http://a.test/b.css", isPage: false, first: 1, last: 2),
            Miss(href: "http://a.test/", method: "POST", isPage: true, first: 1, last: 2),
            Miss(
                href: "http://a.test/other", referrer: "http://a.test/", isPage: true, count: 3, first: 4,
                last: 5),
            Miss(href: "no URL", isPage: false, first: 1, last: 1),
        ]
        let (missing, held) = try MissesReport.report(on: notes, try StoreReader(folder))
        #expect(held == ["http://a.test/b.css"])
        #expect(missing.misses.map(\.url) == ["http://a.test/", "http://a.test/other", "no URL"])
        #expect(missing.misses[0].method == "POST")
        #expect(missing.misses[1].count == 3)
        #expect(missing.misses[1].referrer == "http://a.test/")
        #expect(missing.json.contains("\"role\": \"page\""))
    }

    // MARK: - Schedules

    private static func site(_ name: String, every schedule: UpdateSchedule?, finished: Int64?) -> Site {
        let settings = schedule.map { UpdateSchedule.settings("", with: $0) } ?? ""
        return Site(
            id: 1, name: name, start: [name],
            snapshots: [
                Snapshot(id: 1, number: 1, started: finished ?? 0, finished: finished, responseCount: 1)
            ],
            published: nil,
            settings: settings)
    }

    @Test func `due sites are reported, the longest overdue first`() {
        let sites = [
            Self.site("daily", every: .daily, finished: 1_000_000),
            Self.site("never", every: nil, finished: 0),
            Self.site("hourly", every: .hourly, finished: 1_000_000),
            Self.site("first", every: .weekly, finished: nil),
        ]
        let report = ScheduleReport(sites, [:])
        #expect(report.due(at: 0).map(\.name) == ["first"])
        #expect(report.due(at: 1_000_000 + 2 * 3600).map(\.name) == ["first", "hourly"])
        #expect(report.due(at: 1_000_000 + 2 * 86_400).map(\.name) == ["first", "hourly", "daily"])
        #expect(report.sites.map(\.failures) == [0, 0, 0, 0])
    }

    @Test func `updates that failed are counted until one succeeds`() {
        let site = Self.site("hourly", every: .hourly, finished: 1_000_000)
        #expect(
            ScheduleReport([site], ["hourly": UpdateAttempt(at: 2_000_000, count: 3)]).sites[0].failures == 3)
        #expect(
            ScheduleReport([site], ["hourly": UpdateAttempt(at: 900_000, count: 3)]).sites[0].failures == 0)
    }
}
