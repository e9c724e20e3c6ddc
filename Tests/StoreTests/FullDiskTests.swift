import Glibc
import TestOrigin
import Testing

@testable import Store

/// Stores on a full disk: committed content is not lost, the error contains advice, and the run can be continued.
@Suite(.enabled(if: Tmpfs.isPossible, "only root can mount a tmpfs"))
struct FullDiskTests {
    private let disk: Tmpfs
    private let folder: StoreFolder

    init() throws {
        disk = try Tmpfs(byteCount: 2_000_000)
        folder = StoreFolder(disk.path + "/store")
    }

    private func response(_ number: Int, byteCount: Int) throws(StoreError) -> NewResponse {
        let bytes = Array("\(number) ".utf8) + [UInt8](repeating: 0x2e, count: byteCount)
        return NewResponse(
            href: "/\(number)", referrer: nil, status: 200, role: 0, fields: "", fetched: 1,
            body: .new(
                try NewBody(.bytes(Array(bytes.prefix(byteCount))), form: "opaque", links: [], in: folder)))
    }

    private func expectWhole(_ count: Int, byteCount: Int) throws {
        #expect(try StoreReader(folder).inspect().isSound)
        let reader = try StoreReader(folder)
        #expect(try reader.summary().responses == count)
        for number in 0..<count {
            let body = try #require(try reader.response(for: "/\(number)")?.body)
            #expect(try reader.content(of: body)?.byteCount == byteCount)
        }
    }

    /// Adds one response per transaction until the disk is full. Returns the number of committed responses and the error.
    private func fill(
        _ writer: StoreWriter, _ snapshot: OpenSnapshot, from first: Int, byteCount: Int
    ) -> (count: Int, error: StoreError?) {
        for number in first..<first + 1000 {
            do throws(StoreError) {
                try writer.add([response(number, byteCount: byteCount)], to: snapshot)
            } catch {
                return (number, error)
            }
        }
        return (first + 1000, nil)
    }

    @Test(
        "the same run continues once there is space again",
        arguments: [50, 20_000, 300_000, Limits.maxPackedBodyBytes + 1])
    func continues(byteCount: Int) throws {
        // `fill` adds at most 1,000 bodies, which must fill the disk.
        if byteCount < 1000 { try disk.resize(byteCount: 900_000) }
        if byteCount > Limits.maxPackedBodyBytes { try disk.resize(byteCount: 5_000_000) }
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        let (count, error) = fill(writer, snapshot, from: 0, byteCount: byteCount)
        #expect(error?.reason == .full, "\(String(describing: error))")
        #expect(error?.description.contains("free some space, then run the same command again") == true)
        #expect(count > 2)
        try expectWhole(count, byteCount: byteCount)
        // A second attempt fails in the same way.
        #expect(fill(writer, snapshot, from: count, byteCount: byteCount).error?.reason == .full)

        try disk.resize(byteCount: 40_000_000)
        for number in count..<count + 20 {
            try writer.add([response(number, byteCount: byteCount)], to: snapshot)
        }
        try writer.end(snapshot, .publish(now: 2))
        try expectWhole(count + 20, byteCount: byteCount)
        #expect(try StoreReader(folder).inspect().orphanFiles.isEmpty)
        #expect(try StoreReader(folder).sites().first?.published == snapshot.id)
    }

    @Test func `a queue reports a full disk, and the next run continues the snapshot`() throws {
        #expect(try fillByQueue()?.reason == .full)
        let committed = try StoreReader(folder).summary().responses
        try expectWhole(committed, byteCount: 30_000)
        #expect(try StoreReader(folder).sites().first?.published == nil)

        try disk.resize(byteCount: 40_000_000)
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 2)
        #expect(snapshot.isContinued)
        try writer.add([response(committed, byteCount: 30_000)], to: snapshot)
        try writer.end(snapshot, .publish(now: 3))
        try expectWhole(committed + 1, byteCount: 30_000)
    }

    private func fillByQueue() throws(StoreError) -> StoreError? {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        let queue = try WriteQueue(writer, snapshot: snapshot)
        do throws(StoreError) {
            for number in 0..<1000 { try queue.add(response(number, byteCount: 30_000)) }
        } catch {
            // `finish` throws the same error again.
        }
        do throws(StoreError) {
            try queue.finish(.publish(now: 2))
        } catch {
            return error
        }
        return nil
    }

    @Test(arguments: [16_384, 60_000, 200_000])
    func `a store that did not fit on the disk can be created later`(byteCount: Int) throws {
        try disk.resize(byteCount: byteCount)
        let error = #expect(throws: StoreError.self) { try StoreWriter(folder) }
        #expect(error?.reason == .full, "\(String(describing: error))")
        try disk.resize(byteCount: 2_000_000)
        _ = try StoreWriter(folder)
        #expect(try StoreReader(folder).inspect().isSound)
    }

    @Test func `a collection on a full disk damages nothing, and needs little space`() throws {
        try disk.resize(byteCount: 20_000_000)
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        let (count, error) = fill(writer, snapshot, from: 0, byteCount: 100_000)
        #expect(error?.reason == .full)
        try writer.end(snapshot, .keepOpen)
        let result = try writer.collect(CollectionOptions(limit: 5_000_000, allowsIncomplete: true))
        #expect(result.byteCountAfter <= 5_000_000)
        #expect(try StoreReader(folder).inspect().isSound)
        #expect(try StoreReader(folder).summary().responses <= count - result.evictedURLs)
    }

    private enum Removal: CaseIterable {
        case collection, site, repair
    }

    /// The reserve of the store contains the space that a removal needs.
    @Test(arguments: Removal.allCases)
    private func `content can be removed from a disk without a byte left`(removal: Removal) throws {
        try disk.resize(byteCount: 40_000_000)
        do {
            let writer = try StoreWriter(folder)
            let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
            for first in stride(from: 0, to: 1500, by: 100) {
                try writer.add((first..<first + 100).map { try response($0, byteCount: 5000) }, to: snapshot)
            }
            try writer.end(snapshot, .publish(now: 2))
        }
        #expect(access(folder.reserve, F_OK) == 0)
        let whole = folder.byteCount
        try disk.fill()
        folder.releaseReserve()
        switch removal {
        case .collection:
            let result = try StoreWriter(folder).collect(
                CollectionOptions(limit: whole / 2, allowsIncomplete: true))
            #expect(result.byteCountAfter <= whole / 2, "\(result)")
            #expect(try StoreReader(folder).summary().responses == 1500 - result.evictedURLs)
        case .site:
            let site = try #require(try StoreReader(folder).sites().first)
            try StoreWriter(folder).remove(site)
            #expect(try StoreReader(folder).sites().isEmpty)
            #expect(try StoreWriter(folder).collect(CollectionOptions()).byteCountAfter < whole / 4)
        case .repair:
            try StoreWriter(folder).repair(StoreReader(folder).inspect())
        }
        #expect(try StoreReader(folder).inspect().isSound)
    }

    /// An eviction usually copies the remaining half to a new database, for which this disk has no space.
    @Test func `without space for a copy of the database, rows are deleted in place`() throws {
        try disk.resize(byteCount: 40_000_000)
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        for first in stride(from: 0, to: 3000, by: 100) {
            try writer.add((first..<first + 100).map { try response($0, byteCount: 1000) }, to: snapshot)
        }
        try writer.end(snapshot, .publish(now: 2))
        _ = try writer.tryTruncateLog()
        let whole = folder.byteCount
        try disk.resize(byteCount: Int(whole) + 3_200_000)
        let result = try writer.collect(CollectionOptions(limit: whole / 2, allowsIncomplete: true))
        #expect(result.evictedURLs > 1000)
        #expect(try StoreReader(folder).inspect().isSound)
        #expect(try StoreReader(folder).summary().responses == 3000 - result.evictedURLs)
        try disk.resize(byteCount: 40_000_000)
        let rest = try writer.collect(CollectionOptions(limit: whole / 2, allowsIncomplete: true))
        #expect(rest.shrinkFailure == nil && rest.byteCountAfter <= whole / 2)
        #expect(try StoreReader(folder).inspect().isSound)
    }
}
