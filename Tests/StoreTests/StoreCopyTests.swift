import Digest
import Glibc
import System
import TestOrigin
import Testing

@testable import Store

/// Copies of a store from one place to another.
@Suite(.enabled(if: TestPostgreSQL.isInstalled, "PostgreSQL is not installed (apt install postgresql)"))
struct StoreCopyTests {
    private let scratch: TemporaryFolder

    init() throws {
        scratch = try TemporaryFolder()
    }

    enum Direction: CaseIterable, Sendable {
        case toServer, fromServer, betweenFolders
    }

    private func folder(_ name: String, isPostgreSQL: Bool) throws -> StoreFolder {
        StoreFolder(
            isPostgreSQL ? try TestPostgreSQL.running.get().place(scratch.file(name)) : scratch.file(name))
    }

    private func places(_ direction: Direction) throws -> (from: StoreFolder, to: StoreFolder) {
        (
            try folder("from", isPostgreSQL: direction == .fromServer),
            try folder("to", isPostgreSQL: direction == .toServer)
        )
    }

    private static func large(_ number: Int) -> [UInt8] {
        let all = (0..<256).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number) }
        return Array(repeating: all, toCount: Limits.maxPackedBodyBytes * 3 + number)
    }

    private func page(_ href: String, _ bytes: [UInt8]?, in folder: StoreFolder) throws -> NewResponse {
        var page = NewResponse(
            href: href, referrer: "http://a/", status: bytes == nil ? 404 : 200, role: 0,
            fields: "Content-Type: text/html\r\nX-\u{e9}: \u{1F4A1}\r\n", fetched: 7,
            body: try bytes.map {
                .new(try NewBody(.bytes($0), form: "html;utf-8", title: "t", links: [1, 2, 3], in: folder))
            } ?? .none)
        page.variant = href.hasSuffix("7") ? "cookie: a=1" : ""
        return page
    }

    /// Stores two sites with three snapshots, bodies of all sizes, links, settings, pins, and records of all kinds in the
    /// activity database.
    private func stock(_ folder: StoreFolder, pages: Int = 40) throws {
        let writer = try StoreWriter(folder)
        for (site, snapshots) in [("http://a/", 2), ("http://b/", 1)] {
            for number in 1...snapshots {
                let snapshot = try writer.begin(site: site, start: [site], now: Int64(number))
                var responses = try (0..<pages).map {
                    try page("\(site)\($0)", Array("page \($0) of snapshot \(number)".utf8), in: folder)
                }
                responses.append(try page("\(site)empty", [], in: folder))
                responses.append(try page("\(site)gone", nil, in: folder))
                responses.append(try page("\(site)middle", Array(repeating: 9, count: 70_000), in: folder))
                responses.append(try page("\(site)large", Self.large(number), in: folder))
                var links = NewLinks(from: NewLinks.Target(href: "\(site)0"))
                links.pages = (0..<pages).map { NewLinks.Target(href: "\(site)\($0)") }
                links.assets = [NewLinks.Target(href: "http://c/never")]
                try writer.add(responses, links: [links], to: snapshot)
                try writer.storeSettings("{\"a\":1}", of: snapshot)
                try writer.end(snapshot, .publish(now: Int64(number) + 10))
            }
        }
        try writer.add(Pin(.site, "http://a/"), now: 3)
        // A removed snapshot, whose id must not be reused.
        let last = try writer.begin(site: "http://b/", start: ["http://b/"], now: 9)
        try writer.end(last, .forget)
        let notes = try ActivityDatabase(folder)
        try notes.recordMisses([Miss(href: "http://a/missed", isPage: true, count: 3, first: 1, last: 2)])
        try notes.recordServed([(1, 55)])
        try notes.recordReadings([Reading(url: 1, snapshot: 1, at: 54)])
        try notes.recordVerdicts([
            BundleVerdict(href: "http://a/x", sha256: [1], name: "verified", detail: nil, isGood: true)
        ])
        try notes.markDamaged([[1, 2, 3]])
    }

    /// All content that must be equal in a store and its copy.
    private struct Image: Equatable {
        var sites: [Site]
        var responses: [String]
        var links: [String]
        var pins: [Pin]
        var misses: [Miss]
        var served: [Int64: Int64]
        var readings: [Reading]
        var verdicts: [BundleVerdict]
        var damaged: Set<[UInt8]>

        init(_ folder: StoreFolder) throws {
            let reader = try StoreReader(folder)
            sites = try reader.sites()
            var found: [String] = []
            for snapshot in sites.flatMap(\.snapshots) {
                var all: [StoredResponse] = []
                try reader.eachResponse(ofSnapshot: snapshot.id) { all.append($0) }
                for response in all {
                    let content = try response.body.map { try reader.content(of: $0)?.measure().sha256.hex }
                    let links = try response.body.map { try reader.links(of: $0) }
                    found.append("\(response) \(String(describing: content)) \(String(describing: links))")
                }
            }
            responses = found.sorted()
            var lists: [String] = []
            try reader.eachRow("SELECT url, body, pages, assets, guesses FROM link") { row in
                lists.append("\(row.integer(0)) \(row.integer(1)) \((2..<5).map { row.text($0) })")
            }
            links = lists.sorted()
            pins = try reader.pins()
            let notes = try ActivityDatabase(folder)
            (misses, served) = (try notes.misses(), try notes.servedTimes())
            readings = try notes.lastReadings(atMost: 10)
            (verdicts, damaged) = (try notes.verdicts(of: "http://a/x"), try notes.damagedBodies())
        }
    }

    @Test(arguments: Direction.allCases)
    func `a copy has all rows with their ids, and can be written to like the original`(direction: Direction)
        throws
    {
        let (from, to) = try places(direction)
        try stock(from)
        let result = try StoreCopy.run(from: from, to: to, verify: true)
        #expect(result.isWhole && !result.isContinued && result.leftOutResponses == 0)
        #expect(result.copiedBodies == result.bodies && result.verifiedBodies == result.bodies)
        #expect(try Image(from) == Image(to))
        #expect(try StoreReader(to).inspect().isSound)
        #expect(try to.condition().isCopying == false)
        // New ids are larger than all earlier ones, as in the original.
        var next: [Int64] = []
        for folder in [from, to] {
            let writer = try StoreWriter(folder)
            let snapshot = try writer.begin(site: "http://n/", start: ["n"], now: 20)
            try writer.add([page("http://n/1", [1, 2], in: folder)], to: snapshot)
            try writer.end(snapshot, .publish(now: 21))
            next.append(snapshot.id)
            #expect(try StoreReader(folder).response(for: "http://n/1")?.snapshot == snapshot.id)
        }
        #expect(next[0] == next[1])
        #expect(try StoreReader(to).inspect().isSound)
    }

    /// Copies in a child process, and kills it before the copy is complete.
    private func copyAndKill(_ from: String, _ to: String) throws {
        let child = try Child("copy", from, to, "@b4")
        #expect(child.read(until: "b", times: 4).hasSuffix("bbbb"))
        child.signal(SIGKILL)
        #expect(child.wait().status == -SIGKILL)
    }

    @Test(arguments: Direction.allCases)
    func `an interrupted copy is continued, including later changes of the source`(direction: Direction)
        throws
    {
        let (from, to) = try places(direction)
        try stock(from, pages: 1500)
        let server = try TestPostgreSQL.running.get()
        func place(_ name: String, _ folder: StoreFolder) -> String {
            folder.server == nil ? folder.path : server.place(scratch.file(name))
        }
        try copyAndKill(place("from", from), place("to", to))
        // An incomplete copy can be neither read nor written to.
        for open in [{ _ = try StoreReader(to) }, { _ = try StoreWriter(to) }] as [() throws -> Void] {
            let error = #expect(throws: StoreError.self) { try open() }
            #expect(error?.reason == .busy && error?.description.contains("store copy") == true)
        }
        #expect(try to.condition().isCopying)
        // In the source, responses that are already copied are removed, and new ones are stored.
        let writer = try StoreWriter(from)
        #expect(try writer.remove(urlsNamed: "http://a/1*") { $0.hasPrefix("http://a/1") } > 0)
        _ = try writer.collect(CollectionOptions())
        let snapshot = try writer.begin(site: "http://a/", start: ["http://a/"], now: 30)
        try writer.add(
            (0..<50).map { try page("http://a/new/\($0)", Array("new \($0)".utf8), in: from) }, to: snapshot)
        try writer.end(snapshot, .publish(now: 31))
        // A copy of another store cannot be continued.
        let other = try folder("other", isPostgreSQL: false)
        try stock(other, pages: 1)
        #expect(throws: StoreError.self) { try StoreCopy.run(from: other, to: to) }
        let result = try StoreCopy.run(from: from, to: to, verify: true)
        #expect(result.isContinued && result.isWhole)
        #expect(result.copiedBodies < result.bodies)
        #expect(try Image(from) == Image(to))
        #expect(try StoreReader(to).inspect().isSound)
    }

    @Test func `a copy that lacks only its last step is finished without copying again`() throws {
        let (from, to) = try places(.toServer)
        try stock(from)
        _ = try StoreCopy.run(from: from, to: to)
        try to.connect(.readWrite).execute("DELETE FROM site")
        let mark = CopyMark(of: from)
        try mark.store(in: to, to.connect(.readWrite))
        let result = try StoreCopy.run(from: from, to: to)
        #expect(result.isContinued && result.copiedBodies == 0)
        #expect(try Image(from) == Image(to))
    }

    @Test(arguments: [Direction.toServer, .fromServer])
    func `a damaged body is reported and left out with its responses`(direction: Direction) throws {
        let (from, to) = try places(direction)
        try stock(from)
        let reader = try StoreReader(from)
        let body = try #require(try reader.response(for: "http://a/3")?.body)
        try from.connect(.readWrite).execute(
            "UPDATE content SET bytes = \(direction == .fromServer ? "'\\x00'" : "x'00'") WHERE body = \(body.id)"
        )
        let result = try StoreCopy.run(from: from, to: to, verify: true)
        #expect(!result.isWhole)
        #expect(result.damaged.map(\.hrefs) == [["http://a/3"]])
        #expect(result.leftOutResponses == 1)
        let copy = try StoreReader(to)
        // Readers get the response of an earlier snapshot.
        #expect(try copy.response(for: "http://a/3")?.snapshot == 1)
        #expect(try copy.inspect().isSound)
    }

    @Test(.disabled(if: TestStore.hasBodiesInFolder, "it is about rows"))
    func `a body that differs when read back is reported`() throws {
        let (from, to) = try places(.toServer)
        try stock(from)
        _ = try StoreCopy.run(from: from, to: to)
        try to.connect(.readWrite).execute(
            "UPDATE content SET bytes = '\\x00' WHERE body = (SELECT max(body) FROM content WHERE length(bytes) > 5)"
        )
        try CopyMark(of: from).store(in: to, to.connect(.readWrite))
        let result = try StoreCopy.run(from: from, to: to, verify: true)
        #expect(result.mismatched.count == 1 && !result.isWhole)
    }

    @Test(arguments: Direction.allCases, [false, true])
    func `compressed bodies are copied, and stay compressed where the destination compresses`(
        direction: Direction, compresses: Bool
    )
        throws
    {
        var (from, to) = try places(direction)
        (from.compresses, to.compresses) = (true, compresses)
        try stock(from)
        #expect(try StoreCopy.run(from: from, to: to, verify: true).mismatched.isEmpty)
        let reader = try StoreReader(to)
        #expect(try reader.inspect().isSound)
        for (href, bytes) in [
            ("http://a/large", Self.large(2)), ("http://b/middle", Array(repeating: 9, count: 70_000)),
        ] {
            let body = try #require(try reader.response(for: href)?.body)
            #expect(try reader.content(of: body)?.load() == bytes)
        }
        if to.server == nil, compresses { #expect(to.bodyFileNames.isEmpty && to.byteCount < 1_000_000) }
    }

    @Test
    func `existing frames are copied unchanged, and other bodies compressed if the destination compresses`()
        throws
    {
        var (from, to) = try places(.betweenFolders)
        var plain = try folder("plain", isPostgreSQL: false)
        from.compresses = true
        try stock(from)
        func frames(_ folder: StoreFolder) throws -> [String] {
            var found: [String] = []
            let reader = try StoreReader(folder)
            try reader.eachRow("SELECT \(StoredBody.columns) FROM body WHERE frame IS NOT NULL ORDER BY id") {
                row in
                if let body = StoredBody(row, from: 0), let frame = try? reader.bodies.frame(of: body) {
                    found.append("\(body.id) \(DigestStream.digest(.sha256, of: frame.span).hex)")
                }
            }
            return found
        }
        _ = try StoreCopy.run(from: from, to: to)
        let expected = try frames(from)
        #expect(expected.count >= 3)
        #expect(try frames(to) == expected)
        #expect(to.bodyFileNames.isEmpty)
        // Uncompressed bodies are compressed, whether they were in the database, a pack or a file.
        try stock(plain)
        #expect(try frames(plain).isEmpty)
        plain.compresses = true
        let made = StoreFolder(scratch.file("made"))
        to = made
        to.compresses = true
        _ = try StoreCopy.run(from: plain, to: to)
        #expect(try frames(to) == expected)
    }

    @Test func `a folder with other files, or inside of the source, is refused as the destination`() throws {
        let (from, to) = try places(.betweenFolders)
        try stock(from, pages: 1)
        mkdir(to.path, 0o755)
        try scratch.write("mine", to: "to/letter")
        for place in [to, StoreFolder(from.path + "/packs"), StoreFolder(from.path + "/new/one")] {
            let error = #expect(throws: StoreError.self) { try StoreCopy.run(from: from, to: place) }
            #expect(error?.reason == .request)
        }
        #expect(scratch.names(in: "to") == ["letter"])
    }

    @Test func `a copy needs a destination without a store, and not the source itself`() throws {
        let (from, to) = try places(.toServer)
        try stock(from, pages: 1)
        try stock(to, pages: 1)
        for place in [from, to] {
            let error = #expect(throws: StoreError.self) { try StoreCopy.run(from: from, to: place) }
            #expect(error?.reason == .request)
        }
        let none = try folder("none", isPostgreSQL: false)
        let error = #expect(throws: StoreError.self) {
            try StoreCopy.run(from: none, to: try folder("new", isPostgreSQL: false))
        }
        #expect(error?.reason == .missing)
    }
}
