import Reports
import Store
import Testing
import Web

@testable import Mirror
@testable import Portal

@Suite struct LinkCheckSectionTests {
    private let shelf: PortalShelf
    private static let site = PortalShelf.site

    init() throws {
        shelf = try PortalShelf([
            .init(href: Self.site, title: "Recipes", pages: [Self.site + "jam"]),
            .init(href: Self.site + "jam", title: "Jam"),
        ])
    }

    private func summary(_ findings: [LinkCheckSummary.Finding], snapshot: Int64) -> LinkCheckSummary {
        var counts: [LinkVerdict: Int] = [.verified: 1200]
        for finding in findings { counts[finding.verdict, default: 0] += 1 }
        return LinkCheckSummary(
            at: PortalShelf.now - 7200, snapshot: snapshot, documentCount: 2,
            linkCount: 1200 + findings.count,
            counts: counts, findings: findings)
    }

    private func finding(
        _ target: String, _ verdict: LinkVerdict, _ detail: String, places: Int = 1
    ) -> LinkCheckSummary.Finding {
        .init(target: target, verdict, detail, page: Self.site + "jam", line: 7, placeCount: places)
    }

    private func record(_ summary: LinkCheckSummary, hidesPrivate: Bool = false) throws {
        try ActivityDatabase(shelf.folder).recordLinkCheck(
            LinkCheckRecord(at: summary.at, snapshot: summary.snapshot, summary: summary.text),
            ofSite: Self.site, hidesPrivate: hidesPrivate, among: [Self.site])
    }

    private var snapshot: Int64 {
        get throws { try #require(try shelf.reader().sites().first?.published) }
    }

    @Test func `a site whose links were not checked says so`() throws {
        #expect(
            try shelf.get("/-/sites/1").body.contains("The links of this site have not been checked yet."))
        #expect(try shelf.get("/-/sites/1?format=json").json()["linkCheck"]?.isNull == true)
        #expect(try shelf.get("/-/sites/1", in: .chinese).body.contains("尚未检查此站点的链接。"))
    }

    @Test func `the last check is shown with its counts and its findings by cause`() throws {
        try record(
            summary(
                [
                    finding("https://far.test/", .blocked, "could not tell: the server answered 403"),
                    finding(Self.site + "<gone>", .dead, "the server answered 404", places: 4),
                    finding("mailto:x", .dead, "\"x\" is not an e-mail address"),
                ], snapshot: snapshot))
        let body = try shelf.get("/-/sites/1").body
        #expect(body.contains("1,203 links on 2 pages and other documents of snapshot 1, checked "))
        #expect(body.contains("<dt>Verified</dt><dd>1,200</dd>"))
        #expect(body.contains("<dt>Dead</dt><dd>2</dd>"))
        #expect(body.contains("<details open=\"\"><summary>Dead: 2</summary>"))
        #expect(body.contains("<details><summary>Could not tell: the server refuses programs: 1</summary>"))
        #expect(body.contains("the server answered 404"))
        #expect(body.contains(", line 7 and 3 others"))
        #expect(!body.contains("<gone>"))
        #expect(!body.contains("href=\"mailto:"))
        #expect(!body.contains("No broken links."))
        let value = try shelf.get("/-/sites/1?format=json").json()
        let json = try #require(value["linkCheck"])
        #expect(json["snapshot"]?.int == 1)
        #expect(json["links"]?.int == 1203)
        #expect(json["counts"]?["dead"]?.int == 2)
        #expect(json["findings"]?.array?.compactMap { $0["verdict"]?.string } == ["dead", "dead", "blocked"])
        let chinese = try shelf.get("/-/sites/1", in: .chinese).body
        #expect(chinese.contains("已失效：2") && chinese.contains("，第 7 行"))
    }

    @Test func `a check without broken links says so, also when its snapshot is not live any more`() throws {
        try record(summary([], snapshot: snapshot))
        #expect(try shelf.get("/-/sites/1").body.contains("No broken links."))
        #expect(try !shelf.get("/-/sites/1").body.contains("This snapshot is not live any more."))
        try shelf.snapshot([.init(href: Self.site, title: "New")])
        #expect(try shelf.get("/-/sites/1").body.contains("This snapshot is not live any more."))
    }

    @Test func `records of another site's snapshot, and damaged ones, are not shown`() throws {
        try record(summary([], snapshot: 99))
        #expect(try shelf.get("/-/sites/1").body.contains("have not been checked yet"))
        for text in ["", "x", "[]", "{\"documents\": \"2\", \"links\": 1}"] {
            try ActivityDatabase(shelf.folder).recordLinkCheck(
                LinkCheckRecord(at: 1, snapshot: snapshot, summary: text), ofSite: Self.site,
                hidesPrivate: false,
                among: [Self.site])
            #expect(try shelf.get("/-/sites/1").body.contains("have not been checked yet"))
        }
    }

    @Test func `a visitor who may not see private responses sees only checks without them`() throws {
        let secret = Self.site + "secret"
        let hidden = try StoreReader(shelf.folder, hidesPrivate: true)
        let site = try #require(try hidden.sites().first)
        try record(summary([finding(secret, .dead, "x")], snapshot: snapshot))
        #expect(try hidden.lastLinkCheck(of: site) == nil)
        #expect(try shelf.reader().lastLinkCheck(of: site) != nil)
        let onHidden = LinkCheckSummary.Finding(
            target: secret, .dead, "x", page: Self.site + "private", line: 1, placeCount: 1)
        try record(summary([onHidden, finding("/open", .dead, "x")], snapshot: snapshot), hidesPrivate: true)
        #expect(try hidden.lastLinkCheck(of: site)?.findings.map(\.target) == ["/open"])
    }

    @Test func `records of sites that were removed are removed`() throws {
        let database = try ActivityDatabase(shelf.folder)
        let record = LinkCheckRecord(at: 1, snapshot: 1, summary: "{}")
        #expect(try database.linkCheck(ofSite: "a", hidesPrivate: false) == nil)
        try database.recordLinkCheck(record, ofSite: "a", hidesPrivate: false, among: ["a", "b"])
        try database.recordLinkCheck(record, ofSite: "b", hidesPrivate: false, among: ["a", "b"])
        #expect(try database.linkCheck(ofSite: "a", hidesPrivate: false) == record)
        let newer = LinkCheckRecord(at: 2, snapshot: 2, summary: "{\"x\": 1}")
        try database.recordLinkCheck(newer, ofSite: "b", hidesPrivate: false, among: ["b"])
        #expect(try database.linkCheck(ofSite: "a", hidesPrivate: false) == nil)
        #expect(try database.linkCheck(ofSite: "b", hidesPrivate: false) == newer)
        #expect(try database.linkCheck(ofSite: "b", hidesPrivate: true) == nil)
    }

    @Test func `only the worst findings are stored, and long texts are cut`() throws {
        let long = String(repeating: "é", count: 5000)
        let many =
            (0..<300).map { finding("/\($0)", .redirected, "moved") } + [finding("/\(long)", .dead, long)]
        let summary = summary(many, snapshot: 1)
        #expect(summary.findings.count == LinkCheckSummary.maxFindings)
        #expect(summary.findings.first?.verdict == .dead)
        #expect(summary.text.utf8.count < 20_000)
        #expect(summary.counts[.redirected] == 300)
        let read = LinkCheckSummary(LinkCheckRecord(at: summary.at, snapshot: 1, summary: summary.text))
        #expect(read == summary)
    }
}
