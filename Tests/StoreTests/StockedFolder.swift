import Database
import Glibc
import TestOrigin
import Testing
import Web

@testable import Store
@testable import StoreFaults

/// A store in a temporary folder, and what tests do to it.
struct StockedFolder: Sendable {
    let scratch: TemporaryFolder
    let folder: StoreFolder
    /// What stands behind `--store`.
    let place: String

    /// - Parameters:
    ///   - name: of the store's folder in the temporary one.
    ///   - compresses: what comes is made small.
    init(_ name: String = "store", compresses: Bool = false) throws {
        scratch = try TemporaryFolder()
        place = try TestStore.place(scratch.file(name))
        var folder = StoreFolder(place)
        folder.compresses = compresses
        self.folder = folder
    }

    /// An answer with a text, or with none; its type is that of a page.
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

    /// A snapshot with these answers, complete unless said otherwise. Gives its number.
    @discardableResult
    func snapshot(
        _ responses: @autoclosure () throws -> [NewResponse], links: [NewLinks] = [], site: String = "s",
        now: Int64 = 1, ending: SnapshotEnding = .publish(now: 2)
    ) throws -> Int64 {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: site, start: [site], now: now)
        // Made only now: a writer that opens the store clears away large bodies that are nobody's.
        try writer.add(responses(), links: links, to: snapshot)
        try writer.end(snapshot, ending)
        return snapshot.id
    }

    func reader() throws -> StoreReader { try StoreReader(folder) }

    func site(_ name: String = "s") throws -> Site? { try reader().sites().first { $0.name == name } }

    func inspect() throws -> StoreFindings { try reader().inspect() }

    /// The text that is shown for a URL; nil where there is none.
    func text(_ href: String) throws -> String? {
        let reader = try reader()
        guard let body = try reader.response(for: href)?.body else { return nil }
        return try reader.content(of: body).map { String(decoding: try $0.load(), as: UTF8.self) }
    }

    /// What a person with `sqlite3` or `psql` gets: the first column of each row.
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
        let wanted = connection.isPostgreSQL ? "SELECT CAST(a AS text) FROM (\(sql)) AS few(a)" : sql
        try connection.prepare(wanted).each { texts.append($0.text(0)) }
        return texts
    }

    /// Changes the database behind the store's back. References are not looked at.
    func execute(_ sql: String) throws {
        let connection = try connection()
        guard connection.isPostgreSQL else {
            return try connection.execute("PRAGMA foreign_keys = OFF;" + sql)
        }
        try connection.execute(sql.replacing("x'", with: "'\\x"))
    }
}

extension NewLinks {
    /// Links by address. The numbers are made up from the addresses' order here, as a new run makes up its
    /// own.
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

/// SplitMix64: the same numbers everywhere for the same seed.
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
    /// The store is sound, and every snapshot of the site that is complete has all its pages, as they were
    /// written.
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

/// `StoreFaults`, a process that writes to a store and may be killed at it. It prints a letter for each thing
/// that it did.
typealias Child = ChildProcess

extension ChildProcess {
    init(_ words: String...) throws(TestError) {
        try self.init(Self.built("StoreFaults"), words)
    }

    /// What it printed up to this letter for the time of that number; less when it ended before.
    func read(until letter: Character, times: Int = 1) -> String {
        var (text, seen) = ("", 0)
        while seen < times, let next = read(1).first {
            text.append(next)
            if next == letter { seen += 1 }
        }
        return text
    }

    /// Waits until it has stopped itself, or is gone.
    func waitUntilStopped() {
        var info = siginfo_t()
        while waitid(P_PID, id_t(process), &info, WSTOPPED | WEXITED | WNOWAIT) != 0, errno == EINTR {}
    }
}

extension Trait where Self == ConditionTrait {
    /// About what is in a folder, and not in a PostgreSQL.
    static var ofFiles: Self { .disabled(if: TestStore.isPostgreSQL, "it is about files") }
}

extension [UInt8] {
    /// So many bytes: these, again and again. Megabytes that a test makes one by one are most of its time.
    init(repeating part: [UInt8], toCount count: Int) {
        var bytes = part
        while bytes.count < count { bytes += bytes }
        self = Array(bytes.prefix(count))
    }
}
