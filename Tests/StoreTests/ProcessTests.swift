import Glibc
import TestOrigin
import Testing

@testable import Store
@testable import StoreFaults

/// Several processes that use one store.
@Suite struct ProcessTests {
    private let store: StockedFolder

    init() throws { store = try StockedFolder() }

    @Test func `a reader sees one snapshot or the next, never parts of both, while another process writes`()
        throws
    {
        let stock = Stock(site: "s")
        #expect(try Child("stock", store.place, stock.site, "1").wait().status == 0)
        // The child stops itself after each snapshot until the reader has seen it. Between snapshots it writes while the
        // reader reads.
        let child = try Child("stock", store.place, stock.site, "12", "@p")
        let reader = try store.reader()
        var snapshots: Set<Int64> = []
        var isRunning = true
        while isRunning {
            let letter = child.read(1)
            isRunning = !letter.isEmpty
            if letter == "p" { child.waitUntilStopped() }
            defer { if letter == "p" { child.signal(SIGCONT) } }
            try reader.inReadTransaction { () throws(StoreError) in
                var shown: [StoredResponse] = []
                for page in 0..<Stock.pageCount {
                    guard let response = try reader.response(for: stock.href(page)), let body = response.body
                    else {
                        Issue.record("\(page) has no response")
                        return
                    }
                    shown.append(response)
                    // A large body is in a file, which the writer may remove once no later snapshot uses it.
                    if case .bytes(let bytes) = try reader.content(of: body) {
                        #expect(bytes == stock.body(page, snapshot: response.snapshot))
                    }
                }
                // Each snapshot replaces some pages and leaves the others unchanged.
                let newest = shown.map(\.snapshot).max() ?? 0
                for (page, response) in shown.enumerated() {
                    #expect(
                        stock.body(page, snapshot: response.snapshot) == stock.body(page, snapshot: newest))
                }
                snapshots.insert(newest)
            }
        }
        #expect(child.wait().errors == "")
        #expect(snapshots.count >= 12)
        try store.expectWhole(stock, "afterwards")
    }

    @Test func `a second prefetch of a site is refused while the first one runs`() throws {
        let writer = try StoreWriter(store.folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        let second = try Child("stock", store.place, "s", "1").wait()
        #expect(second.status == 1)
        #expect(second.errors.contains("cannot prefetch s: another prefetch of this site is running"))
        #expect(second.errors.contains("wait for the other process to end"))
        try writer.end(snapshot, .forget)
        #expect(try Child("stock", store.place, "s", "1").wait().status == 0)
        try store.expectWhole(Stock(site: "s"), "the second alone")
    }

    @Test
    func `a site is free after its writer ends, even if a child process inherited its files`()
        throws
    {
        var copies: [Int32] = []
        try withLockedSite { copies = Self.descriptors(of: store.folder.locks).map { dup($0) } }
        #expect(!copies.isEmpty)
        let next = try StoreWriter(store.folder)
        #expect(try next.begin(site: "s", start: ["s"], now: 1).isContinued)
        #expect(throws: StoreError.self) { try StoreWriter(store.folder).collect(CollectionOptions()) }
        for copy in copies { close(copy) }
        #expect(throws: StoreError.self) { try StoreWriter(store.folder).collect(CollectionOptions()) }
    }

    /// Calls `body` while a writer has the site locked.
    private func withLockedSite(_ body: () -> Void) throws(StoreError) {
        let writer = try StoreWriter(store.folder)
        _ = try writer.begin(site: "s", start: ["s"], now: 1)
        body()
    }

    private static func descriptors(of path: String) -> [Int32] {
        (0..<1024 as Range<Int32>).filter { descriptor in
            var target = [CChar](repeating: 0, count: 4096)
            let count = readlink("/proc/self/fd/\(descriptor)", &target, target.count - 1)
            return count > 0
                && String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) == path
        }
    }

    @Test func `prefetches of several sites at once all finish`() throws {
        let sites = ["one", "two", "three"]
        let children = try sites.map { try Child("stock", store.place, $0, "6") }
        for child in children {
            let ending = child.wait()
            #expect(ending.status == 0)
            #expect(ending.errors == "")
        }
        for site in sites {
            try store.expectWhole(Stock(site: site), "\(site)")
            #expect(try store.site(site)?.snapshots.count == 2)
        }
        #expect(try store.reader().sites().count == 3)
    }

    @Test func `many processes can create a store at the same time`() throws {
        for _ in 0..<5 {
            let store = try StockedFolder()
            let children = try (0..<4).map { _ in try Child("open", store.place) }
            for child in children { #expect(child.wait().errors == "") }
            #expect(try store.inspect().isSound)
        }
    }

    /// The user of the child process may read the folder, but not write to it.
    @Test(.requiresFolderStore, arguments: [1, 2])
    func `a user with read access can open a store, or gets advice`(
        version: Int
    )
        throws
    {
        if version == 1 {
            try EarlierStore.makeVersion1(in: store.folder)
        } else {
            try store.snapshot([store.response("/")])
        }
        chmod(store.scratch.path, 0o755)
        // The owner allows others to read the files.
        for file in [store.folder.database, store.folder.locks] { chmod(file, 0o644) }
        chmod(store.folder.path, 0o555)
        defer { chmod(store.folder.path, 0o755) }
        let ending = try Child("read", store.place).wait()
        if version == 1 {
            #expect(ending.status == 1)
            #expect(
                ending.errors.contains(
                    "cannot migrate \(store.folder.path): an earlier version of Larder created it"))
            #expect(ending.errors.contains("run larder status on it once as a user who can write to it"))
            chmod(store.folder.path, 0o755)
            #expect(try store.column("PRAGMA user_version") == ["1"])
        } else {
            #expect(ending.errors == "")
            #expect(ending.status == 0)
        }
    }
}
