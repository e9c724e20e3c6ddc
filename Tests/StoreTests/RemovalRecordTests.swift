import TestOrigin
import Testing

@testable import Store

@Suite struct RemovalRecordTests {
    private let scratch: TemporaryFolder
    private let folder: StoreFolder
    private let writer: StoreWriter

    init() throws {
        scratch = try TemporaryFolder()
        folder = StoreFolder(try TestStore.place(scratch.path))
        writer = try StoreWriter(folder)
        for (number, site) in [(1, "a"), (2, "b"), (3, "a"), (4, "a")] {
            // The first page never changes; the second one differs in each snapshot.
            try add(["/\(site)/same": "same", "/\(site)/new": "\(number)"], site: site)
        }
    }

    private func add(_ pages: [String: String], site: String) throws {
        let snapshot = try writer.begin(site: site, start: [site], now: 1)
        let responses = try pages.map { href, text in
            NewResponse(
                href: href, referrer: nil, status: 200, role: 0, fields: "", fetched: 1,
                body: .new(try NewBody(.bytes(Array(text.utf8)), form: "html;utf-8", links: [], in: folder)))
        }
        try writer.add(responses, to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
    }

    @Test(.requiresFolderStore, arguments: Step.allCases)
    private func
        `a removal and its reversal leave no write-ahead log, which would count as a part of the store`(
            step: Step
        ) throws
    {
        // A server keeps its readers open.
        let reader = try StoreReader(folder)
        _ = try reader.sites()
        func logByteCount() -> Int64 { StoreFolder.byteCount(of: folder.database + "-wal") }
        try remove(step)
        #expect(logByteCount() == 0)
        _ = try #require(try writer.undoRemoval())
        #expect(logByteCount() == 0)
        withExtendedLifetime(reader) {}
    }

    private func site(_ name: String) throws -> Site? {
        try StoreReader(folder).sites().first { $0.name == name }
    }

    /// The stored responses of all snapshots, as their readers see them.
    private func content() throws -> [String] {
        let reader = try StoreReader(folder)
        var lines: [String] = []
        for site in try reader.sites() {
            lines.append("\(site.name) \(site.start) live \(site.published ?? 0) \(site.settings)")
            for snapshot in site.snapshots {
                lines.append("  \(snapshot)")
                for page in ["same", "new"] {
                    let response = try reader.asOf(snapshot.id) { () throws(StoreError) in
                        try reader.response(for: "/\(site.name)/\(page)")
                    }
                    let text = try response?.body.flatMap { try reader.content(of: $0)?.load() }
                    lines.append(
                        "    \(page) \(String(decoding: text ?? [], as: UTF8.self)) \(response?.snapshot ?? 0)"
                    )
                }
            }
        }
        let pins = try reader.pins().map { "pin \($0)" }
        return lines + pins
    }

    /// The removed content.
    private enum Step: CaseIterable {
        case site, firstSnapshot, secondSnapshot, twoSnapshots, bothSites, url, pattern
    }

    private func remove(_ step: Step) throws {
        let (a, b) = (try #require(try site("a")), try #require(try site("b")))
        switch step {
        case .site: try writer.remove(a)
        case .firstSnapshot: try writer.drop(snapshot: a.snapshots[0].id, of: a)
        case .secondSnapshot: try writer.drop(snapshot: a.snapshots[1].id, of: a)
        case .twoSnapshots:
            try writer.drop(snapshot: a.snapshots[0].id, of: a)
            try writer.drop(
                snapshot: a.snapshots[1].id, of: try #require(try site("a")), joinsLastRemoval: true)
        case .bothSites:
            try writer.remove(a)
            try writer.remove(b, joinsLastRemoval: true)
        case .url: #expect(try writer.remove(urlsNamed: "/a/new") { $0 == "/a/new" } == 1)
        case .pattern: #expect(try writer.remove(urlsNamed: "/*/same") { $0.hasSuffix("same") } == 2)
        }
    }

    @Test(arguments: Step.allCases)
    private func `undoing a removal restores what readers saw before`(step: Step) throws {
        _ = try writer.add(Pin(.site, "a"), now: 1)
        let before = try content()
        try remove(step)
        #expect(try content() != before)
        #expect(try writer.undoRemoval() != nil)
        #expect(try content() == before)
        #expect(try writer.undoRemoval() == nil)
        #expect(try StoreReader(folder).inspect().isSound)
    }

    @Test(arguments: Step.allCases)
    private func `a collection makes a removal final`(step: Step) throws {
        try remove(step)
        let after = try content()
        _ = try writer.collect(CollectionOptions())
        #expect(try writer.undoRemoval() == nil)
        #expect(try content() == after)
    }

    @Test func `only the last removal is undone`() throws {
        try remove(.site)
        let between = try content()
        try writer.remove(try #require(try site("b")))
        #expect(try writer.undoRemoval()?.items.map(\.name) == ["b"])
        #expect(try content() == between)
        #expect(try writer.undoRemoval() == nil)
    }

    @Test func `an undo fails if the site was prefetched again, and another site may have its id`() throws {
        try remove(.bothSites)
        try add(["/c": "c"], site: "c")
        try add(["/a/new": "5"], site: "a")
        let error = #expect(throws: StoreError.self) { try writer.undoRemoval() }
        #expect(error?.description.contains("prefetched again") == true)
        try writer.remove(try #require(try site("a")))
        #expect(try writer.undoRemoval()?.items.map(\.name) == ["a"])
        #expect(try StoreReader(folder).sites().map(\.name).sorted() == ["a", "c"])
    }
}
