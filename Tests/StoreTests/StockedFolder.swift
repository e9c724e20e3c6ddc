import Database
import Glibc
import TestOrigin
import Testing
import Web

@testable import Store
@testable import StoreFaults

/// A store in a temporary folder, or on the test PostgreSQL server, with functions to fill, read and damage it.
struct StockedFolder: Sendable {
    let scratch: TemporaryFolder
    let folder: StoreFolder
    /// The location of the store, as for `--store`.
    let place: String

    /// - Parameters:
    ///   - name: the name of the store's folder in the temporary folder.
    ///   - compresses: whether writers compress bodies.
    init(_ name: String = "store", compresses: Bool = false) throws {
        scratch = try TemporaryFolder()
        place = try TestStore.place(scratch.file(name))
        var folder = StoreFolder(place)
        folder.compresses = compresses
        self.folder = folder
    }

    /// An HTML response with this text; without a body if it is nil.
    func response(
        _ href: String, _ text: String? = "text", status: Int = 200,
        fields: String = "Content-Type: text/html\r\n",
        fetched: Int64 = 1
    ) throws -> NewResponse {
        try response(
            href, bytes: text.map { Array($0.utf8) }, status: status, fields: fields, fetched: fetched)
    }

    func response(
        _ href: String, bytes: [UInt8]?, status: Int = 200, fields: String = "", fetched: Int64 = 1
    ) throws -> NewResponse {
        NewResponse(
            href: href, referrer: nil, status: status, role: 0, fields: fields, fetched: fetched,
            body: try bytes.map {
                .new(try NewBody(.bytes($0), form: "html;utf-8", links: [1, 2], in: folder))
            }
                ?? .none)
    }

    /// Stores a snapshot with these responses, and returns its id. The snapshot is published unless `ending` says otherwise.
    @discardableResult
    func snapshot(
        _ responses: @autoclosure () throws -> [NewResponse], links: [NewLinks] = [], site: String = "s",
        now: Int64 = 1, ending: SnapshotEnding = .publish(now: 2)
    ) throws -> Int64 {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: site, start: [site], now: now)
        // Created only now, because opening a writer removes body files without a row.
        try writer.add(responses(), links: links, to: snapshot)
        try writer.end(snapshot, ending)
        return snapshot.id
    }

    func reader() throws -> StoreReader { try StoreReader(folder) }

    func site(_ name: String = "s") throws -> Site? { try reader().sites().first { $0.name == name } }

    func inspect() throws -> StoreFindings { try reader().inspect() }

    /// The text of the response that readers get for a URL; nil without a body.
    func text(_ href: String) throws -> String? {
        let reader = try reader()
        guard let body = try reader.response(for: href)?.body else { return nil }
        return try reader.content(of: body).map { String(decoding: try $0.load(), as: UTF8.self) }
    }

    /// The first column of each row, as a user of `sqlite3` or `psql` would see it.
    func column(_ sql: String) throws -> [String] { try Self.column(sql, in: connection()) }

    static func column(_ sql: String, in database: String) throws -> [String] {
        try column(sql, in: Connection(database, access: .readWrite))
    }

    private func connection() throws(StoreError) -> Connection {
        try folder.server == nil
            ? Connection(folder.database, access: .readWrite) : folder.connect(.readWrite)
    }

    private static func column(_ sql: String, in connection: Connection) throws -> [String] {
        var texts: [String] = []
        let query = connection.isPostgreSQL ? "SELECT CAST(a AS text) FROM (\(sql)) AS few(a)" : sql
        try connection.prepare(query).each { texts.append($0.text(0)) }
        return texts
    }

    /// Changes the database directly, without checks of foreign keys.
    func execute(_ sql: String) throws {
        let connection = try connection()
        guard connection.isPostgreSQL else {
            return try connection.execute("PRAGMA foreign_keys = OFF;" + sql)
        }
        try connection.execute(sql.replacing("x'", with: "'\\x"))
    }
}

extension NewLinks {
    /// Links between URLs. A URL gets the number of its place in `numbering`, which stands for the numbers of one run.
    init(
        from source: String, pages: [String] = [], assets: [String] = [], guesses: [String] = [],
        numbering: inout [String]
    ) {
        func target(_ href: String) -> Target {
            if let place = numbering.firstIndex(of: href) { return Target(href: href, number: UInt32(place)) }
            numbering.append(href)
            return Target(href: href, number: UInt32(numbering.count - 1))
        }
        self.init(from: target(source))
        self.pages = pages.map(target)
        self.assets = assets.map(target)
        self.guesses = guesses.map(target)
    }
}

extension HTTPFields {
    static func vary(_ names: String) -> String { "Vary: \(names)\r\n" }
}

/// The SplitMix64 generator, which returns the same numbers for the same seed on all machines.
struct TestRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

extension StockedFolder {
    /// Expects that the store passes an inspection, and that each complete snapshot of the site has all its pages
    /// unchanged.
    func expectWhole(_ stock: Stock, _ note: Comment) throws {
        let findings = try inspect()
        #expect(findings.isSound, "\(note): \(findings)")
        let reader = try reader()
        guard let site = try reader.sites().first(where: { $0.name == stock.site }) else { return }
        for snapshot in site.snapshots where snapshot.finished != nil {
            var pages: [String: StoredResponse] = [:]
            try reader.eachResponse(ofSnapshot: snapshot.id) { pages[$0.href] = $0 }
            #expect(pages.count == Stock.pageCount, note)
            for page in 0..<Stock.pageCount {
                let response = try #require(pages[stock.href(page)], note)
                let content = try #require(try response.body.flatMap(reader.content), note)
                #expect(try content.load() == stock.body(page, snapshot: snapshot.id), note)
                #expect(try reader.storedLinks(of: response)?.assets == [stock.href(0)], note)
            }
        }
        if let published = site.published {
            #expect(site.snapshots.contains { $0.id == published && $0.finished != nil }, note)
            #expect(try reader.response(for: stock.href(1), ofSnapshot: published) != nil, note)
            #expect(
                try reader.response(for: stock.href(1))
                    == reader.response(for: stock.href(1), ofSnapshot: published), note)
        }
    }
}

/// A process of `StoreFaults`, which writes to a store until the test kills it. It prints a letter after each step.
typealias Child = ChildProcess

extension ChildProcess {
    init(_ words: String...) throws(TestError) {
        try self.init(Self.built("StoreFaults"), words)
    }

    /// Reads the output up to the `times`th occurrence of this letter; less if the process ends before.
    func read(until letter: Character, times: Int = 1) -> String {
        var (text, seen) = ("", 0)
        while seen < times, let next = read(1).first {
            text.append(next)
            if next == letter { seen += 1 }
        }
        return text
    }

    /// Waits until the process has stopped itself or has ended.
    func waitUntilStopped() {
        var info = siginfo_t()
        while waitid(P_PID, id_t(process), &info, WSTOPPED | WEXITED | WNOWAIT) != 0, errno == EINTR {}
    }
}

extension Trait where Self == ConditionTrait {
    /// Disables a test of the files of a store if stores are on PostgreSQL.
    static var requiresFolderStore: Self { .disabled(if: TestStore.isPostgreSQL, "it is about files") }
}

extension [UInt8] {
    /// `count` bytes that repeat `part`. Much faster than computing each byte, which counts for megabytes.
    init(repeating part: [UInt8], toCount count: Int) {
        var bytes = part
        while bytes.count < count { bytes += bytes }
        self = Array(bytes.prefix(count))
    }
}
