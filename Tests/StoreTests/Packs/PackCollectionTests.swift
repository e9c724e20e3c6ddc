import Glibc
import Synchronization
import System
import TestOrigin
import Testing

@testable import Store

/// What bodies leave behind in packs when they go is given back to the disk, and nobody reads from where they were.
@Suite struct PackCollectionTests {
    private let store: StockedFolder

    init() throws {
        store = try StockedFolder()
    }

    private static func bytes(_ number: Int, count: Int) -> [UInt8] {
        let text = Array("page \(number) ".utf8)
        return (0..<count).map { text[$0 % text.count] }
    }

    /// A visit of two sites, whose bodies lie between each other; then the second site goes.
    private func stock(pages: Int, byteCount: Int) throws {
        let writer = try StoreWriter(store.folder)
        let visits = try ["kept", "gone"].map { try writer.begin(site: $0, start: [$0], now: 1) }
        for number in 0..<pages {
            for (place, visit) in visits.enumerated() {
                let bytes = Self.bytes(number * 2 + place, count: byteCount)
                try writer.add([store.response("/\(place)/\(number)", bytes: bytes)], to: visit)
            }
        }
        try writer.end(visits[0], .publish(now: 2))
        try writer.end(visits[1], .forget)
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

    // Large bodies leave whole blocks, which go where they are; of small ones a block holds both kinds, and they are moved.
    @Test(arguments: [(40, 100_000), (400, 2000)])
    func `the room of what went is given back, and what stayed is as it was`(pages: Int, byteCount: Int) throws {
        try stock(pages: pages, byteCount: byteCount)
        let packs = store.folder.packList
        let live = Int64(pages * byteCount)
        #expect(onDisk >= 2 * live)
        let result = try StoreWriter(store.folder).collect(limit: nil)
        #expect(result.removedBodies == pages && result.shrinkFailure == nil)
        #expect(onDisk <= live + live / 4 + 4096)
        #expect((store.folder.packList == packs) == (byteCount > 4096))
        try expectKept(pages: pages, byteCount: byteCount)
        // And appending goes on behind it.
        try store.visit([store.response("/more", bytes: Self.bytes(-1, count: 3000))], site: "more")
        #expect(store.folder.packList.count == 1)
        try expectKept(pages: pages, byteCount: byteCount)
        #expect(try StoreWriter(store.folder).collect(limit: nil).removedBodies == 0)
    }

    @Test func `a pack in which nothing is left goes`() throws {
        try store.visit([store.response("/1", bytes: Self.bytes(1, count: 9000))], ending: .forget)
        #expect(store.folder.packList.count == 1)
        _ = try StoreWriter(store.folder).collect(limit: nil)
        #expect(store.folder.packList.isEmpty)
        #expect(try store.column("SELECT number FROM pack").isEmpty)
    }

    @Test func `a limit is kept to, whatever the disk makes of the room between bodies`() throws {
        try stock(pages: 300, byteCount: 2500)
        for limit in [900_000, 700_000, 500_000] as [Int64] {
            let result = try StoreWriter(store.folder).collect(limit: limit)
            #expect(result.byteCountAfter <= limit && result.excess == nil, "\(result)")
            #expect(try store.inspect().isSound)
        }
    }

    @Test func `who reads meanwhile reads what was fetched, or that it is gone`() throws {
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
        for _ in 0..<rounds {
            // The second site comes and goes, and what stays is moved.
            try store.visit(
                (0..<60).map { try store.response("/1/\($0)", bytes: Self.bytes($0 * 2 + 1, count: 6000)) },
                site: "gone")
            let site = try #require(try store.site("gone"))
            try StoreWriter(store.folder).remove(site)
            _ = try StoreWriter(store.folder).collect(limit: nil)
        }
        isDone.store(true, ordering: .relaxed)
        for thread in threads { thread.join() }
        #expect(wrong.load(ordering: .relaxed) == 0)
        #expect(read.load(ordering: .relaxed) > 100)
        #expect(try store.inspect().isSound)
    }
}
