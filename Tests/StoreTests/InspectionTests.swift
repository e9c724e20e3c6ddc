import Glibc
import Store
import TestOrigin
import Testing

@Suite struct InspectionTests {
    private let scratch: TemporaryFolder
    private let folder: StoreFolder
    private static let large = [UInt8](repeating: 7, count: Limits.maxPackedBodyBytes + 1)

    init() throws {
        scratch = try TemporaryFolder()
        folder = StoreFolder(try TestStore.place(scratch.path))
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        let bodies: [(String, [UInt8])] = [
            ("/small", [1, 2, 3]), ("/large", Self.large), ("/same", Self.large),
        ]
        try writer.add(
            bodies.map { href, bytes in
                NewResponse(
                    href: href, referrer: nil, status: 200, role: 0, fields: "", fetched: 1,
                    body: .new(try NewBody(.bytes(bytes), form: "opaque", links: [], in: folder)))
            }, to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
    }

    private func inspect() throws -> StoreFindings { try StoreReader(folder).inspect() }

    private func hasResponse(for href: String) throws -> Bool {
        try StoreReader(folder).response(for: href) != nil
    }

    private var bodyFile: String { scratch.names(in: "bodies").first ?? "" }

    @Test func `an intact store passes an inspection`() throws {
        let findings = try inspect()
        #expect(findings.isSound)
        #expect(findings.bodiesChecked == 2)
        #expect(findings.bytesChecked == Int64(3 + Self.large.count))
        #expect(findings.orphanFiles.isEmpty)
        #expect(findings.orphanBodyCount == 0)
    }

    enum Damage: CaseIterable {
        case flippedBit
        case truncated
        case removed
    }

    @Test(.requiresFolderStore, arguments: Damage.allCases)
    func `only the damaged body is reported, and readers no longer see it`(damage: Damage) throws {
        let name = "bodies/" + bodyFile
        switch damage {
        case .flippedBit:
            var bytes = Self.large
            bytes[5000] ^= 1
            try scratch.write(bytes, to: name)
        case .truncated: try scratch.write(Array(Self.large.dropLast()), to: name)
        case .removed: scratch.remove(name)
        }
        let findings = try inspect()
        #expect(findings.damagedBodies.map(\.hrefs) == [["/large", "/same"]])
        #expect(!findings.isSound)

        try StoreWriter(folder).repair(findings)
        #expect(try inspect().isSound)
        #expect(try !hasResponse(for: "/large"))
        #expect(try !hasResponse(for: "/same"))
        #expect(try hasResponse(for: "/small"))
        #expect(scratch.names(in: "quarantine").count == (damage == .removed ? 0 : 1))
    }

    /// Otherwise a page would be served with an older version of its style sheet.
    @Test(.requiresFolderStore) func `an older response does not replace a damaged one`() throws {
        let store = try StockedFolder()
        let (page, style, picture) = ("http://a.test/", "http://a.test/a.css", "http://a.test/new.png")
        func noise(_ seed: UInt64) -> [UInt8] {
            var random = TestRandom(seed: seed)
            return (0..<3000).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        }
        try store.snapshot([
            store.response(page, "one"), store.response(style, bytes: noise(1)),
            store.response(picture, bytes: nil, status: 404),
        ])
        let second = try store.snapshot([
            store.response(page, "two"), store.response(style, bytes: noise(2)),
            store.response(picture, bytes: noise(3)),
        ])
        // There are two packs if another process still had the first one open when the second snapshot was stored.
        for name in store.scratch.names(in: "store/packs") {
            var bytes = try BodyContent.file(path: store.scratch.file("store/packs/" + name)).load()
            // The body of the first snapshot is the first in its pack, and is not damaged.
            for offset in (bytes.starts(with: noise(1)) ? 3000 : 0)..<bytes.count { bytes[offset] ^= 1 }
            try store.scratch.write(bytes, to: "store/packs/" + name)
        }
        let findings = try store.inspect()
        #expect(findings.damagedBodies.count == 2)
        try StoreWriter(store.folder).repair(findings)
        for href in [style, picture] {
            #expect(try store.reader().response(for: href) == nil)
            #expect(try store.reader().response(for: href, ofSnapshot: second) == nil)
            #expect(try store.reader().previewResponse(for: href, ifPublished: second) == nil)
        }
        #expect(try store.text(page) == "two")
        #expect(try store.inspect().isSound)
        // Earlier snapshots keep their responses, and the next snapshot gets new ones.
        let site = try #require(try store.site())
        try StoreWriter(store.folder).publish(snapshot: second - 1, of: site)
        #expect(try store.reader().response(for: style)?.status == 200)
        try StoreWriter(store.folder).publish(snapshot: second, of: site)
        try store.snapshot([store.response(style, bytes: noise(4))])
        #expect(try store.reader().response(for: style)?.status == 200)
    }

    @Test func `unreferenced files and bodies are found and removed`() throws {
        try scratch.write("stray", to: "bodies/stray")
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 3)
        try writer.add(
            [
                NewResponse(
                    href: "/more", referrer: nil, status: 200, role: 0, fields: "", fetched: 1,
                    body: .new(try NewBody(.bytes([9]), form: "opaque", links: [], in: folder)))
            ], to: snapshot)
        try writer.end(snapshot, .forget)
        let findings = try inspect()
        #expect(findings.isSound)
        #expect(findings.orphanFiles == ["stray"])
        #expect(findings.orphanBodyCount == 1)
        try writer.repair(findings)
        let after = try inspect()
        #expect(after.orphanFiles.isEmpty)
        #expect(after.orphanBodyCount == 0)
        #expect(after.bodiesChecked == 2)
        #expect(try hasResponse(for: "/large"))
    }

    @Test(.requiresFolderStore) func `a damaged database is reported, and not used`() throws {
        let size = 4096 * 4
        let file = open(folder.database, O_RDWR)
        let noise = [UInt8](repeating: 0x5a, count: size)
        _ = lseek(file, off_t(size), SEEK_SET)
        _ = write(file, noise, noise.count)
        close(file)
        scratch.remove("larder.db-wal")
        scratch.remove("larder.db-shm")
        var isReported = false
        do {
            isReported = try !inspect().isSound
        } catch let error as StoreError {
            isReported = error.reason == .unusable
        }
        #expect(isReported)
    }
}
