import Glibc
import System
import TestOrigin
import Testing

@testable import Store

@Suite(.requiresFolderStore) struct JournalTests {
    private static let count = 3000

    private static func stock(_ folder: StoreFolder) throws -> Int64 {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        let responses = try (0..<count).map { number in
            let bytes = Array("\(number) ".utf8) + [UInt8](repeating: 0x61, count: 900)
            return NewResponse(
                href: "/\(number)", referrer: number > 0 ? "/\(number - 1)" : nil, status: 200, role: 0,
                fields: "A: b",
                fetched: 1, body: .new(try NewBody(.bytes(bytes), form: "html;utf-8", links: [], in: folder)))
        }
        try writer.add(responses, to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
        try writer.rewriteJournal()
        return snapshot.id
    }

    @Test(arguments: [false, true])
    func `a journal of several megabytes, rewritten at once, has all rows of the database`(isSmall: Bool)
        throws
    {
        let scratch = try TemporaryFolder()
        var folder = StoreFolder(scratch.path)
        folder.compresses = isSmall
        let snapshot = try Self.stock(folder)
        #expect(folder.journalFiles.count == 1)
        #expect(isSmall == (folder.journalByteCount < 1_000_000))
        for name in scratch.names() where name.hasPrefix("larder.db") { unlink(scratch.file(name)) }
        let rebuilt = try StoreRebuild.run(folder)
        #expect(rebuilt == StoreRebuild(addresses: Self.count, bodies: Self.count, lostBodies: 0))
        let reader = try StoreReader(folder)
        for number in [0, 1, Self.count - 1] {
            let response = try #require(try reader.response(for: "/\(number)"))
            #expect(response.snapshot == snapshot && response.fields == "A: b")
            let body = try #require(response.body)
            let text = String(decoding: try reader.content(of: body)?.load() ?? [], as: UTF8.self)
            #expect(text.hasPrefix("\(number) aaa"))
        }
    }

    @Test
    func
        `a drop that is killed before the journal is written anew damages nothing, and the next run writes it`()
        throws
    {
        let store = try StockedFolder()
        try store.snapshot([store.response("a"), store.response("b")])
        try store.snapshot([store.response("a", "other")], now: 3, ending: .publish(now: 4))
        let site = try #require(try store.site())
        do {
            // The steps that `drop(snapshot:of:)` has done when it is killed before the journal is rewritten.
            let writer = try StoreWriter(store.folder)
            writer.isJournalStale = true
            try writer.dropRows(ofSnapshot: site.snapshots[0].id, of: site)
        }
        #expect(try store.inspect().isSound)
        #expect(try store.text("b") == "text")

        _ = try StoreWriter(store.folder)
        #expect(!store.folder.isJournalStale)
        #expect(try store.inspect().isSound)
        #expect(try store.reader().checkJournal().hasLines)
    }

    /// Each commit is one compressed line. Damage of it loses only the lines of that commit.
    @Test func `a compressed journal has all lines except damaged ones`() throws {
        let store = try StockedFolder(compresses: true)
        for name in 0..<3 {
            // A new writer each time, which appends to the file of the previous one.
            let writer = try StoreWriter(store.folder)
            let snapshot = try writer.begin(site: "s\(name)", start: ["s"], now: 1)
            for part in 0..<2 {
                try writer.add(
                    (0..<20).map { try store.response("/\(name)/\(part)/\($0)", "\(name) \(part) \($0)") },
                    to: snapshot)
            }
            try writer.end(snapshot, .publish(now: 2))
        }
        func hrefs() throws -> Set<String> {
            var found: Set<String> = []
            for path in store.folder.journalFiles {
                try Journal.eachLine(of: path) { json in
                    if case .response(let line) = JournalLine(json) { found.insert(line.href) }
                }
            }
            return found
        }
        #expect(try hrefs().count == 120)
        let path = try #require(store.folder.journalFiles.first)
        var bytes = try BodyContent.file(path: path).load()
        let packed = try #require(
            bytes.indices.first { bytes[$0...].starts(with: #"{"zstd":"#.utf8) })
        bytes[packed + 40] ^= 1
        let file = try File(path, O_WRONLY | O_TRUNC)
        try file.write(bytes)
        #expect(try hrefs().count == 100)
    }

    /// A growing journal is written from new responses, and a rewritten one from rows.
    @Test func `a rewritten journal has the same content as the one that grew`() throws {
        let store = try StockedFolder()
        let writer = try StoreWriter(store.folder)
        let odd = "q\"b\\t\tn\nr\r\u{1}\u{1f}\u{7f} ü€😀"
        var rich = try store.response(
            "/\(odd)", bytes: Array(odd.utf8), status: -7, fields: odd, fetched: .max)
        rich.type = odd
        rich.referrer = "/\(odd)?"
        rich.role = 1
        var responses = [rich, try store.response("/gone", nil, status: 404, fields: "")]
        for count in 0..<6 {
            responses.append(try store.response("/\(count)", bytes: Array(0..<UInt8(count))))
        }
        responses.append(try store.response("/packed", bytes: [UInt8](repeating: 7, count: 5000)))
        responses.append(
            try store.response("/file", bytes: [UInt8](repeating: 7, count: Limits.maxPackedBodyBytes + 1)))
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        try writer.add(responses, to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
        func lines() throws -> Set<String> {
            let bytes = try store.folder.journalFiles.flatMap { try BodyContent.file(path: $0).load() }
            let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
            return Set(lines.filter { !$0.contains("\"time\":") })
        }
        let before = try lines()
        #expect(before.count == 10 + 9)
        try writer.rewriteJournal()
        #expect(try lines() == before)
        var count = 0
        for path in store.folder.journalFiles {
            try Journal.eachLine(of: path) { json in if JournalLine(json) != nil { count += 1 } }
        }
        #expect(count == before.count + 1)
    }

    /// With 5,000 rows the first write fails before the end; with one row only the write at the end fails.
    @Test(arguments: [5000, 1]) func `a failed write of the journal is reported`(count: Int) throws {
        let scratch = try TemporaryFolder()
        let journal = try Journal(StoreFolder(scratch.path), at: "/dev/full")
        for _ in 1...count {
            journal.append(
                JournalLine.Body(
                    sha256: "00", form: "f", byteCount: 600, bytes: [UInt8](repeating: 0x61, count: 600)))
        }
        #expect(throws: StoreError.self) { try journal.flush() }
    }
}
