import Glibc
import Synchronization
import System
import TestOrigin
import Testing

@testable import Store

/// Packs, files that contain many bodies: which writer appends to which pack, what a killed run leaves, and which bodies
/// damage loses.
@Suite(.requiresFolderStore) struct PackTests {
    private let store: StockedFolder

    init() throws {
        store = try StockedFolder()
    }

    private static func bytes(_ seed: UInt8, count: Int = 5000) -> [UInt8] {
        Array(repeating: (0..<256).map { UInt8(truncatingIfNeeded: $0 &* 7) ^ seed }, toCount: count)
    }

    private func page(_ href: String, _ seed: UInt8) throws -> NewResponse {
        try store.response(href, bytes: Self.bytes(seed))
    }

    private func content(_ href: String) throws -> [UInt8]? {
        let reader = try store.reader()
        return try reader.response(for: href)?.body.flatMap { try reader.content(of: $0) }?.load()
    }

    private var packs: [String] { store.scratch.names(in: "store/packs").sorted() }

    private func pack() throws -> (path: String, bytes: [UInt8]) {
        let name = "store/packs/" + (try #require(packs.first))
        return (name, try BodyContent.file(path: store.scratch.file(name)).load())
    }

    @Test func `one pack receives the bodies of successive snapshots`() throws {
        for snapshot in 1...3 as ClosedRange<UInt8> {
            try store.snapshot([page("/\(snapshot)", snapshot), page("/same", 9)])
        }
        #expect(packs.count == 1)
        #expect(try pack().bytes == [1, 9, 2, 3].flatMap { Self.bytes($0) })
        #expect(try content("/2") == Self.bytes(2))
        #expect(
            try store.column("SELECT DISTINCT place FROM larder_body") == [
                "packs/\(try #require(packs.first))"
            ])
    }

    @Test func `two concurrent writers append to two packs, and the next writer to one of them`() throws {
        let writers = try ["a", "b"].map { site in
            let writer = try StoreWriter(store.folder)
            return (writer, try writer.begin(site: site, start: [site], now: 1))
        }
        for (number, (writer, snapshot)) in writers.enumerated() {
            try writer.add([page("/\(number)", UInt8(number))], to: snapshot)
        }
        for (number, (writer, snapshot)) in writers.enumerated() {
            try writer.add([page("/more\(number)", UInt8(10 + number))], to: snapshot)
            try writer.end(snapshot, .publish(now: 2))
        }
        #expect(packs.count == 2)
        #expect(try content("/more1") == Self.bytes(11))
        #expect(try store.inspect().isSound)
    }

    @Test func `bytes that a killed run appended without committing are overwritten`() throws {
        try store.snapshot([page("/1", 1)])
        let (path, bytes) = try pack()
        try store.scratch.write(bytes + Self.bytes(66, count: 100_000), to: path)
        #expect(try store.inspect().isSound)
        try store.snapshot([page("/2", 2)])
        #expect(packs.count == 1)
        #expect(try pack().bytes == Self.bytes(1) + Self.bytes(2))
        #expect(try content("/1") == Self.bytes(1))
    }

    @Test func `a pack without committed bytes is used by the next writer`() throws {
        try store.snapshot([store.response("/", "tiny")])
        mkdir(store.folder.packs, 0o755)
        try store.scratch.write(Self.bytes(66), to: "store/packs/00000000000000ff")
        try store.scratch.write("no pack", to: "store/packs/readme")
        #expect(try store.inspect().orphanFiles == ["00000000000000ff"])
        try store.snapshot([page("/1", 1)])
        #expect(packs == ["00000000000000ff", "readme"])
        #expect(try pack().bytes == Self.bytes(1))
    }

    @Test func `a roll-back leaves neither rows nor bytes`() throws {
        try store.snapshot([page("/1", 1)])
        let writer = try StoreWriter(store.folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 3)
        try writer.put([page("/2", 2)], links: [], to: snapshot)
        var lost = try page("/3", 3)
        lost.body = .new(
            try NewBody(
                .file(path: store.scratch.write("gone", to: "gone")), form: "opaque", links: [],
                in: store.folder))
        store.scratch.remove("gone")
        try writer.put([lost], links: [], to: snapshot)
        #expect(throws: StoreError.self) { try writer.commit() }
        #expect(try pack().bytes == Self.bytes(1))
        try writer.add([page("/4", 4)], to: snapshot)
        try writer.end(snapshot, .publish(now: 4))
        #expect(try pack().bytes == Self.bytes(1) + Self.bytes(4))
        #expect(try content("/2") == nil)
        #expect(try content("/4") == Self.bytes(4))
        #expect(try store.inspect().isSound)
    }

    @Test(
        arguments: [
            "start = -1", "start = 9223372036854775807", "start = 1099511627776", "size = 1099511627776",
            "size = -5",
            "pack = -3", "pack = 0",
        ])
    func `an impossible location is damage, and a collection leaves the pack alone`(change: String) throws {
        try store.snapshot([page("/1", 1), page("/2", 2)])
        try store.execute("UPDATE body SET \(change) WHERE id = 1")
        #expect(try content("/1") == nil)
        #expect(try content("/2") == Self.bytes(2))
        #expect(try !store.inspect().isSound)
        _ = try StoreWriter(store.folder).collect(CollectionOptions())
        #expect(try content("/2") == Self.bytes(2))
        try StoreWriter(store.folder).repair(store.inspect())
        try store.snapshot([page("/1", 1), page("/2", 2)])
        #expect(try content("/1") == Self.bytes(1))
        #expect(try store.inspect().isSound)
    }

    enum Damage: CaseIterable {
        case cutShort, gone, emptied, changed
    }

    @Test(arguments: Damage.allCases)
    func `a damaged pack loses only the damaged bodies, and the next prefetch restores them`(
        damage: Damage
    ) throws {
        try store.snapshot([page("/1", 1), page("/2", 2), store.response("/tiny", "tiny")])
        var (path, bytes) = try pack()
        switch damage {
        case .cutShort: try store.scratch.write(Array(bytes.dropLast()), to: path)
        case .gone: store.scratch.remove(path)
        case .emptied: try store.scratch.write([], to: path)
        case .changed:
            bytes[7000] ^= 1
            try store.scratch.write(bytes, to: path)
        }
        let isSecondOnly = damage == .cutShort || damage == .changed
        let findings = try store.inspect()
        #expect(findings.damagedBodies.map(\.hrefs) == (isSecondOnly ? [["/2"]] : [["/1"], ["/2"]]))
        if damage == .changed {
            try StoreWriter(store.folder).repair(findings)
            let kept = store.scratch.names(in: "store/quarantine")
            #expect(kept == findings.damagedBodies.map(\.sha256))
            let aside = try BodyContent.file(path: store.scratch.file("store/quarantine/\(kept[0])")).load()
            #expect(aside == Array(bytes[5000...]))
        } else {
            #expect(try content("/2") == nil)
            #expect(try (content("/1") != nil) == isSecondOnly)
        }
        try store.snapshot([page("/1", 1), page("/2", 2)])
        #expect(try content("/1") == Self.bytes(1))
        #expect(try content("/2") == Self.bytes(2))
        #expect(try content("/tiny") == Array("tiny".utf8))
        #expect(try store.inspect().isSound)
    }
}

/// Packs with bodies that zstd compresses well, each in a frame of its own.
@Suite(.requiresFolderStore) struct FrameTests {
    private let store: StockedFolder

    init() throws {
        store = try StockedFolder(compresses: true)
    }

    private static func text(_ number: Int, byteCount: Int = 40_000) -> [UInt8] {
        let line = Array("<p>paragraph \(number) of a page that says the same again and again</p>\n".utf8)
        return (0..<byteCount).map { line[$0 % line.count] }
    }

    private func content(_ href: String) throws -> BodyContent? {
        let reader = try store.reader()
        return try reader.response(for: href)?.body.flatMap { try reader.content(of: $0) }
    }

    private var packed: Int64 { store.folder.packList.reduce(0) { $0 + ($1.byteCount ?? 0) } }

    private func snapshot(_ hrefs: [String], byteCount: Int = 40_000) throws {
        try store.snapshot(
            hrefs.enumerated().map {
                try store.response($1, bytes: Self.text($0, byteCount: byteCount))
            })
    }

    @Test func `compressed bodies use little space, and are read unchanged`() throws {
        try snapshot(["/0", "/1", "/2"])
        #expect(packed < 4000)
        for number in 0...2 { #expect(try content("/\(number)") == .bytes(Self.text(number))) }
        #expect(try store.column("SELECT DISTINCT size FROM larder_body") == ["40000"])
        #expect(try store.column("SELECT sum(room) FROM larder_body") == ["\(packed)"])
        #expect(try store.inspect().isSound)
    }

    @Test func `a large text is compressed into a pack, and an image is not`() throws {
        try snapshot(["/large"], byteCount: 3_000_000)
        #expect(try content("/large") == .bytes(Self.text(0, byteCount: 3_000_000)))
        #expect(store.folder.bodyFileNames.isEmpty)
        func picture() throws -> NewResponse {
            let bytes = [UInt8](repeating: 7, count: 2_000_000)
            let body = try NewBody(.bytes(bytes), form: "opaque;utf-8", links: [], in: store.folder)
            return NewResponse(
                href: "/picture", referrer: nil, status: 200, role: 1, fields: "", fetched: 1,
                body: .new(body))
        }
        try store.snapshot([picture()])
        #expect(store.folder.bodyFileNames.count == 1)
        #expect(try store.inspect().isSound)
    }

    @Test func `a body file that is compressed into a pack is removed`() throws {
        let path = store.scratch.file("store/incoming/large")
        try store.snapshot([store.response("/")])
        try store.scratch.write(Self.text(5, byteCount: 2_000_000), to: "store/incoming/large")
        let body = try NewBody(.file(path: path), form: "html;utf-8", links: [], in: store.folder)
        for href in ["/a", "/b"] {
            try store.snapshot(
                [
                    NewResponse(
                        href: href, referrer: nil, status: 200, role: 0, fields: "", fetched: 1,
                        body: .new(body))
                ])
            #expect(try content(href) == .bytes(Self.text(5, byteCount: 2_000_000)))
        }
        #expect(!store.scratch.names(in: "store/incoming").contains("large"))
        #expect(store.folder.bodyFileNames.isEmpty && packed < 4000)
    }

    /// The run that fetches the body again does not compress.
    @Test func `a large text stored compressed is not stored again uncompressed`() throws {
        let bytes = Self.text(0, byteCount: 3_000_000)
        try snapshot(["/large"], byteCount: 3_000_000)
        var plain = store.folder
        plain.compresses = false
        func fetchAgain(_ href: String) throws {
            let writer = try StoreWriter(plain)
            let snapshot = try writer.begin(site: "s", start: ["s"], now: 2)
            let body = try NewBody(.bytes(bytes), form: "html;utf-8", links: [], in: plain)
            let response = NewResponse(
                href: href, referrer: nil, status: 200, role: 0, fields: "", fetched: 2, body: .new(body))
            try writer.add([response], to: snapshot)
            try writer.end(snapshot, .publish(now: 3))
        }
        try fetchAgain("/large")
        try fetchAgain("/other")
        #expect(store.folder.bodyFileNames.isEmpty)
        #expect(store.scratch.names(in: "store/incoming").isEmpty)
        #expect(try content("/large") == .bytes(bytes))
        // A damaged frame is replaced by the uncompressed body.
        let name = "store/packs/" + (try #require(store.scratch.names(in: "store/packs").first))
        var stored = try BodyContent.file(path: store.scratch.file(name)).load()
        for place in 0..<12 { stored[place] ^= 0x55 }
        try store.scratch.write(stored, to: name)
        #expect(try content("/large") == nil)
        try fetchAgain("/large")
        #expect(store.folder.bodyFileNames.count == 1)
        #expect(try content("/large")?.load() == bytes)
        #expect(try store.inspect().isSound)
    }

    @Test func `a damaged frame is found, and restored by the next snapshot`() throws {
        try snapshot(["/0", "/1"])
        let name = "store/packs/" + (try #require(store.scratch.names(in: "store/packs").first))
        var bytes = try BodyContent.file(path: store.scratch.file(name)).load()
        for place in 0..<12 { bytes[place] ^= 0x55 }
        try store.scratch.write(bytes, to: name)
        #expect(try store.inspect().damagedBodies.map(\.hrefs) == [["/0"]])
        #expect(try content("/0") == nil && content("/1") != nil)
        try snapshot(["/0", "/1"])
        #expect(try content("/0") == .bytes(Self.text(0)))
        #expect(try store.inspect().isSound)
    }

    @Test func `bytes of the right size that are no frame are damage`() throws {
        for nonsense in ["-1", "0", "7", "1099511627776"] {
            try snapshot(["/0", "/1"])
            try store.execute(
                """
                UPDATE body SET frame = \(nonsense) WHERE id IN
                    (SELECT body FROM response JOIN url ON url.id = response.url WHERE href = '/0')
                """)
            #expect(try content("/0") == nil, "\(nonsense)")
            #expect(try content("/1") == .bytes(Self.text(1)))
            #expect(try store.inspect().damagedBodies.count == 1)
            try StoreWriter(store.folder).repair(store.inspect())
        }
    }

    @Test func `a rebuilt database has the compressed bodies`() throws {
        try snapshot(["/0", "/1"])
        store.scratch.remove("store/larder.db")
        for suffix in ["-wal", "-shm"] { store.scratch.remove("store/larder.db" + suffix) }
        #expect(try StoreRebuild.run(store.folder).lostBodies == 0)
        for number in 0...1 { #expect(try content("/\(number)") == .bytes(Self.text(number))) }
        #expect(try store.inspect().isSound)
    }

    @Test func `a collection compresses uncompressed bodies, and only once`() throws {
        let before = try StockedFolder()
        let (page, large) = (Self.text(1), Self.text(2, byteCount: 3_000_000))
        let picture = [UInt8](repeating: 7, count: 9000)
        try before.snapshot([
            before.response("/page", bytes: page), before.response("/large", bytes: large),
            before.response("/tiny", "tiny"), before.response("/picture", bytes: picture),
        ])
        _ = try StoreWriter(before.folder).collect(CollectionOptions())
        #expect(try before.column("SELECT count(*) FROM body WHERE frame IS NOT NULL") == ["0"])
        #expect(before.folder.bodyFileNames.count == 1)
        var folder = before.folder
        folder.compresses = true
        // The file stays until servers have noticed that the body is elsewhere.
        var filesOfWaits: [Int] = []
        func collect() throws -> CollectionResult {
            let writer = try StoreWriter(folder)
            writer.waitForServers = { filesOfWaits.append(folder.bodyFileNames.count) }
            return try writer.collect(CollectionOptions())
        }
        let result = try collect()
        #expect(filesOfWaits == [1])
        #expect(result.byteCountAfter < result.byteCountBefore - 3_000_000)
        #expect(try before.column("SELECT count(*) FROM body WHERE frame IS NOT NULL") == ["3"])
        #expect(folder.bodyFileNames.isEmpty)
        let reader = try before.reader()
        for (href, bytes) in [("/page", page), ("/large", large), ("/picture", picture)] {
            let body = try #require(try reader.response(for: href)?.body)
            #expect(try reader.content(of: body) == .bytes(bytes))
        }
        #expect(try before.inspect().isSound)
        let packs = folder.packList
        _ = try collect()
        #expect(folder.packList == packs)
        #expect(filesOfWaits == [1])
    }
}

/// Collections release the space of removed bodies in packs, and no reader gets bytes from there.
@Suite(.requiresFolderStore) struct PackCollectionTests {
    private let store: StockedFolder

    init() throws {
        store = try StockedFolder()
    }

    private static func bytes(_ number: Int, count: Int) -> [UInt8] {
        Array(repeating: Array("page \(number) ".utf8), toCount: count)
    }

    /// Stores two sites whose bodies alternate in a pack, and forgets the second site.
    private func stock(pages: Int, byteCount: Int) throws {
        let writer = try StoreWriter(store.folder)
        let snapshots = try ["kept", "gone"].map { try writer.begin(site: $0, start: [$0], now: 1) }
        for number in 0..<pages {
            for (place, snapshot) in snapshots.enumerated() {
                let bytes = Self.bytes(number * 2 + place, count: byteCount)
                try writer.add([store.response("/\(place)/\(number)", bytes: bytes)], to: snapshot)
            }
        }
        try writer.end(snapshots[0], .publish(now: 2))
        try writer.end(snapshots[1], .forget)
    }

    private func expectKept(pages: Int, byteCount: Int) throws {
        let reader = try store.reader()
        for number in 0..<pages {
            let body = try #require(try reader.response(for: "/0/\(number)")?.body)
            #expect(try reader.content(of: body) == .bytes(Self.bytes(number * 2, count: byteCount)))
        }
        #expect(try store.inspect().isSound)
    }

    private var onDisk: Int64 { store.folder.packList.reduce(0) { $0 + $1.byteCountOnDisk } }

    // Removed large bodies leave whole blocks, which become holes in the pack. Blocks of small bodies also contain
    // remaining ones, which are moved to a new pack.
    @Test(arguments: [(40, 100_000), (400, 2000)])
    func `a collection releases the space of removed bodies, and the others are unchanged`(
        pages: Int, byteCount: Int
    )
        throws
    {
        try stock(pages: pages, byteCount: byteCount)
        let packs = store.folder.packList
        let live = Int64(pages * byteCount)
        #expect(onDisk >= 2 * live)
        let result = try StoreWriter(store.folder).collect(CollectionOptions())
        #expect(result.removedBodies == pages && result.shrinkFailure == nil)
        #expect(onDisk <= live + live / 4 + 4096)
        #expect((store.folder.packList == packs) == (byteCount > 4096))
        try expectKept(pages: pages, byteCount: byteCount)
        // The next writer appends to the same pack.
        try store.snapshot([store.response("/more", bytes: Self.bytes(-1, count: 3000))], site: "more")
        #expect(store.folder.packList.count == 1)
        try expectKept(pages: pages, byteCount: byteCount)
        #expect(try StoreWriter(store.folder).collect(CollectionOptions()).removedBodies == 0)
    }

    @Test func `a pack without bodies is removed`() throws {
        try store.snapshot([store.response("/1", bytes: Self.bytes(1, count: 9000))], ending: .forget)
        #expect(store.folder.packList.count == 1)
        _ = try StoreWriter(store.folder).collect(CollectionOptions())
        #expect(store.folder.packList.isEmpty)
        #expect(try store.column("SELECT number FROM pack").isEmpty)
    }

    @Test func `a limit is respected, even if the file system supports no holes`() throws {
        try stock(pages: 300, byteCount: 2500)
        for limit in [900_000, 700_000, 500_000] as [Int64] {
            let result = try StoreWriter(store.folder).collect(
                CollectionOptions(limit: limit, allowsIncomplete: true))
            #expect(result.byteCountAfter <= limit && result.excess == nil, "\(result)")
            #expect(try store.inspect().isSound)
        }
    }

    @Test func `a concurrent reader gets the correct body, or none`() throws {
        let rounds = 12
        let isDone = Atomic(false)
        let wrong = Atomic(0)
        let read = Atomic(0)
        try stock(pages: 60, byteCount: 6000)
        let store = store
        let threads = try (0..<2).map { _ in
            try NamedThread.start("reader") {
                guard let reader = try? store.reader() else { return }
                while !isDone.load(ordering: .relaxed) {
                    for place in 0..<2 {
                        for number in stride(from: 0, to: 60, by: 3) {
                            guard let body = try? reader.response(for: "/\(place)/\(number)")?.body,
                                let content = try? reader.content(of: body)
                            else { continue }
                            read.add(1, ordering: .relaxed)
                            if content != .bytes(Self.bytes(number * 2 + place, count: 6000)) {
                                wrong.add(1, ordering: .relaxed)
                            }
                        }
                    }
                }
            }
        }
        let age = Stopwatch()
        var round = 0
        // Continues until the readers have read enough bodies.
        while round < rounds || read.load(ordering: .relaxed) <= 100 && age.elapsed < .seconds(300) {
            round += 1
            // The second site is stored and removed again, and the remaining bodies are moved.
            try store.snapshot(
                (0..<60).map { try store.response("/1/\($0)", bytes: Self.bytes($0 * 2 + 1, count: 6000)) },
                site: "gone")
            let site = try #require(try store.site("gone"))
            try StoreWriter(store.folder).remove(site)
            _ = try StoreWriter(store.folder).collect(CollectionOptions())
        }
        isDone.store(true, ordering: .relaxed)
        for thread in threads { thread.join() }
        #expect(wrong.load(ordering: .relaxed) == 0)
        #expect(read.load(ordering: .relaxed) > 100)
        #expect(try store.inspect().isSound)
    }
}
