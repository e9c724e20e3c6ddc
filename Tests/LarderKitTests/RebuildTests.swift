import Database
import Digest
import Glibc
import System
import TestOrigin
import Testing

@testable import LarderKit
@testable import Store

/// A database that is damaged, truncated or missing is rebuilt from its rows, the journal and the bodies.
@Suite struct RebuildTests {
    private let scratch: TemporaryFolder
    private let origin: TestOrigin
    private static let pages = 120
    private static let pageSize = 16_384

    init() async throws {
        scratch = try TemporaryFolder()
        origin = try TestOrigin()
        let links = (1...Self.pages).map { "<a href=/p/\($0)>\($0)</a>" }.joined()
        origin.on("/", .page("<link rel=stylesheet href=/style.css>" + links))
        origin.on("/style.css", .file("a { background: url(/dot.png) }", type: "text/css"))
        origin.on("/dot.png", .file([UInt8](repeating: 9, count: 300), type: "image/png"))
        origin.on(
            "/large.bin", .file([UInt8](repeating: 5, count: 1_500_000), type: "application/octet-stream"))
        origin.on("/old", .redirect(to: "/p/1"))
        servePages("first")
        _ = try await larder.prefetch([origin.url("/")])
        let other = try await larder.prefetch([origin.url("/p/1")])
        #expect(other.isPublished)
        servePages("second")
        _ = try await larder.update([origin.url("/")])
        // Moves the log into the database, so that the tests damage all of the content.
        try Connection(folder.database, access: .readWrite).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    /// The store, which `apply` moves. A thread of the last update may still close its connection to the database, and SQLite
    /// then removes the log at the path of the database: the damaged one needs another path.
    private var folder: StoreFolder {
        let moved = scratch.file("moved")
        return StoreFolder(Folder.exists(moved) ? moved : scratch.file("store"))
    }

    private var larder: Larder { Larder(at: folder.path) }

    /// Serves pages whose texts contain this word.
    private func servePages(_ word: String) {
        for page in 1...Self.pages {
            // Some bodies are in the database itself, most are in a pack.
            let text = String(repeating: "\(word) \(page) ", count: page.isMultiple(of: 3) ? 20 : 400)
            origin.on(
                "/p/\(page)",
                .page("<title>Page \(page)</title><a href=/old>o</a><a href=/large.bin>l</a><p>\(text)"))
        }
    }

    enum Damage: String, CaseIterable, Sendable {
        case magicGone, headerGone, headerRandom, applicationGone, firstPageGone, indexPage, urlPage,
            responsePage,
            bodyPage, contentPage, schemaOverwritten, emptied, cutInTheFirstPage, cutBehindIt, cutInTheMiddle,
            cutAtTheEnd, zerosInTheMiddle, randomPages, allRandom, text, removed, withoutLog
    }

    private func bytes() throws -> [UInt8] { try BodyContent.file(path: folder.database).load() }

    /// The index of the first page of a table or index in the database file.
    private func rootPage(_ name: String) throws -> Int {
        var page = 0
        try Connection(folder.database, access: .readOnly)
            .prepare("SELECT rootpage FROM sqlite_schema WHERE name = '\(name)'").each {
                page = Int($0.integer(0))
            }
        return page - 1
    }

    /// Damages the database file, and moves the store.
    private func apply(_ damage: Damage) async throws {
        try await damageDatabase(damage)
        guard rename(scratch.file("store"), scratch.file("moved")) == 0 else {
            throw TestError("moving the store")
        }
    }

    private func damageDatabase(_ damage: Damage) async throws {
        var random = SeededRandom(state: UInt64(damage.rawValue.utf8.count))
        var bytes = try bytes()
        func overwrite(_ range: Range<Int>, isRandom: Bool = false) {
            for place in range.clamped(to: bytes.indices) {
                bytes[place] = isRandom ? UInt8.random(in: 0...255, using: &random) : 0
            }
        }
        func overwrite(page: Int) { overwrite(page * Self.pageSize..<(page + 1) * Self.pageSize) }
        switch damage {
        case .magicGone: overwrite(0..<16)
        case .headerGone: overwrite(0..<100)
        case .headerRandom: overwrite(16..<100, isRandom: true)
        case .applicationGone: overwrite(68..<72)
        case .firstPageGone: overwrite(page: 0)
        case .indexPage: overwrite(page: try rootPage("response_snapshot"))
        case .urlPage: overwrite(page: try rootPage("url"))
        case .responsePage: overwrite(page: try rootPage("response"))
        case .bodyPage: overwrite(page: try rootPage("body"))
        case .contentPage: overwrite(page: try rootPage("content"))
        case .schemaOverwritten: overwrite(100..<9000, isRandom: true)
        case .emptied: bytes = []
        case .cutInTheFirstPage: bytes = Array(bytes.prefix(5000))
        case .cutBehindIt: bytes = Array(bytes.prefix(Self.pageSize))
        case .cutInTheMiddle: bytes = Array(bytes.prefix(bytes.count / 2 + 77))
        case .cutAtTheEnd: bytes.removeLast(Self.pageSize)
        case .zerosInTheMiddle: overwrite(bytes.count / 2..<bytes.count / 2 + 4 * Self.pageSize)
        case .randomPages:
            for page in stride(from: 2, to: bytes.count / Self.pageSize, by: 3) {
                overwrite(page * Self.pageSize..<(page + 1) * Self.pageSize, isRandom: true)
            }
        case .allRandom: overwrite(bytes.indices, isRandom: true)
        case .text: bytes = Array("this is no database\n".utf8)
        case .removed:
            scratch.remove("store/larder.db")
            return
        case .withoutLog:
            // The last commits are only in the log, which is deleted below.
            let reader = try StoreReader(folder)
            #expect(try reader.hasResponses())
            origin.on("/", .page("<a href=/late>late</a><a href=/p/1>1</a>"))
            origin.on("/late", .page("late"))
            var options = PrefetchOptions()
            options.allowsShrinking = true
            _ = try await larder.update([origin.url("/")], options: options)
            bytes = try self.bytes()
            _ = consume reader
        }
        for suffix in ["-wal", "-shm"] { unlink(folder.database + suffix) }
        // A new file. If the old one were overwritten, and a thread of the last update still had it open, SQLite would share that
        // thread's index of the deleted log with later connections, and report an I/O error.
        try scratch.write(bytes, to: "damaged.db")
        guard rename(scratch.file("damaged.db"), folder.database) == 0 else {
            throw TestError("replacing the database")
        }
    }

    /// Returns the served URLs with the digests of their bodies.
    private func servedDigests() throws -> [String: String] {
        let reader = try StoreReader(folder)
        var digests: [String: String] = [:]
        for path in ["/", "/style.css", "/dot.png", "/large.bin", "/old"]
            + (1...Self.pages).map({ "/p/\($0)" })
        {
            guard let response = try reader.response(for: origin.url(path)) else { continue }
            let content = try response.body.flatMap(reader.content)
            digests[path] = "\(response.status) " + (try content?.measure().sha256.hex ?? "")
        }
        return digests
    }

    @Test(arguments: Damage.allCases)
    func `a rebuild from the journal restores everything`(damage: Damage) async throws {
        let before = try servedDigests()
        #expect(before.count == Self.pages + 5)
        try await apply(damage)
        let isOpenedAsWhole: Bool
        do throws(LarderError) {
            isOpenedAsWhole = try await larder.inspect().isSound
        } catch {
            isOpenedAsWhole = false
            #expect(error.remedy == .repair, "\(error)")
        }
        // A deleted log took whole snapshots with it, and the database does not show that they existed.
        #expect(isOpenedAsWhole == (damage == .withoutLog))
        let report = try await larder.inspect(repair: true)
        #expect(try await larder.inspect().isSound)
        let after = try servedDigests()
        print(
            "\(damage): \(after.count) of \(before.count) addresses, \(report.rebuilt?.addresses ?? 0) rebuilt"
        )
        if damage == .withoutLog {
            #expect(after.count == before.count)
        } else {
            #expect(after == before)
            // The links of the pages are restored too.
            #expect(try await larder.checkOffline(origin.url("/")).isClean)
            let report = try await larder.update([origin.url("/")])
            #expect(report.first?.isComplete == true && report.first?.confirmed == 0)
        }
    }

    /// Earlier versions of Larder wrote no journal.
    @Test(arguments: [(Damage.indexPage, 125), (.applicationGone, 125), (.contentPage, 60)])
    func `a rebuild without a journal restores the readable rows`(damage: Damage, least: Int) async throws {
        let before = try servedDigests()
        try await apply(damage)
        for path in folder.journalFiles { unlink(path) }
        let report = try await larder.inspect(repair: true)
        #expect(try await larder.inspect().isSound)
        let after = try servedDigests()
        let rebuilt = report.rebuilt?.addresses ?? 0
        print("\(damage), without a journal: \(after.count) of \(before.count), \(rebuilt) rebuilt")
        #expect(after.count >= least)
        #expect(after.allSatisfy { before[$0.key] == $0.value })
    }

    @Test(arguments: [Damage.emptied, .text, .removed, .responsePage])
    func `a rebuild without database and journal loses no bodies`(damage: Damage) async throws {
        try await apply(damage)
        for path in folder.journalFiles { unlink(path) }
        let packs = folder.packList.map(\.name)
        await #expect(throws: LarderError.self) { try await larder.inspect(repair: true) }
        if damage != .responsePage {
            await #expect(throws: LarderError.self) { try await larder.prefetch([origin.url("/")]) }
        }
        #expect(folder.packList.map(\.name) == packs && !packs.isEmpty)
    }

    @Test func `a damaged journal loses only its damaged lines`() async throws {
        let before = try servedDigests()
        try await apply(.removed)
        for path in folder.journalFiles {
            var bytes = try BodyContent.file(path: path).load()
            for place in bytes.count / 2..<bytes.count / 2 + 3000 { bytes[place] = 0 }
            try scratch.write(bytes, to: "moved/journal/" + String(path.suffix(16)))
        }
        let report = try await larder.inspect(repair: true)
        #expect(report.rebuilt != nil)
        #expect(try await larder.inspect().isSound)
        let after = try servedDigests()
        print("a damaged journal: \(after.count) of \(before.count)")
        #expect(after.count >= before.count - 12)
    }

    @Test func `a rebuild keeps removals, dropped snapshots and rollbacks`() async throws {
        _ = try await larder.remove(origin.url("/p/1"))
        _ = try await larder.rollBack(origin.url("/"))
        let snapshots = try await larder.snapshots(of: origin.url("/"))
        let before = try servedDigests()
        try await apply(.removed)
        _ = try await larder.inspect(repair: true)
        #expect(try servedDigests() == before)
        #expect(try await larder.snapshots(of: origin.url("/")) == snapshots)
        #expect(try StoreReader(folder).sites().map(\.name) == [origin.url("/")])
    }
}

/// SplitMix64: the same damage in every run.
private struct SeededRandom: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
