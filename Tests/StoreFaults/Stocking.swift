import Store

/// Prefetches a site several times, with all steps of a writer. Each step prints its letter when it is done: `o` store
/// opened, `b` snapshot begun, `f` bodies written, `a` responses added, `p` published, `d` snapshot dropped, `c`
/// collected.
struct Stocking {
    private let folder: StoreFolder
    private let stock: Stock

    init(_ folder: StoreFolder, site: String) {
        self.folder = folder
        stock = Stock(site: site)
    }

    func run(snapshots: Int) throws(StoreError) {
        let writer = try StoreWriter(folder)
        StoreFaults.report("o")
        for number in 0..<snapshots {
            try makeSnapshot(writer)
            try dropOldSnapshots(writer)
            if number % 2 == 1 { try collect(writer) }
        }
    }

    private func makeSnapshot(_ writer: StoreWriter) throws(StoreError) {
        let snapshot = try writer.begin(site: stock.site, start: [stock.href(0)], now: 1)
        StoreFaults.report("b")
        for first in stride(from: 0, to: Stock.pageCount, by: Stock.batchSize) {
            let pages = first..<first + Stock.batchSize
            var responses: [NewResponse] = []
            for page in pages {
                responses.append(try stock.response(page, snapshot: snapshot.id, in: folder))
            }
            StoreFaults.report("f")
            try writer.add(responses, links: pages.map(stock.links), to: snapshot)
            StoreFaults.report("a")
        }
        try writer.end(snapshot, .publish(now: 2))
        StoreFaults.report("p")
    }

    private func dropOldSnapshots(_ writer: StoreWriter) throws(StoreError) {
        guard let site = try StoreReader(folder).sites().first(where: { $0.name == stock.site }) else {
            return
        }
        for snapshot in site.snapshots.dropLast(2) {
            try writer.drop(snapshot: snapshot.id, of: site)
            StoreFaults.report("d")
        }
    }

    /// Collects, unless another process writes to the store.
    private func collect(_ writer: StoreWriter) throws(StoreError) {
        do throws(StoreError) {
            _ = try writer.collect(CollectionOptions())
        } catch  where error.reason == .busy {
            return
        }
        StoreFaults.report("c")
    }
}
