import Store

/// Snapshots of one site, one after the other, with everything that happens to a store on the way.
struct Stocking {
    private let folder: StoreFolder
    private let stock: Stock

    init(_ folder: StoreFolder, site: String) {
        self.folder = folder
        stock = Stock(site: site)
    }

    func run(snapshots: Int) throws(StoreError) {
        let writer = try StoreWriter(folder)
        StoreFaults.say("o")
        for number in 0..<snapshots {
            try makeSnapshot(writer)
            try dropOldSnapshots(writer)
            if number % 2 == 1 { try collect(writer) }
        }
    }

    private func makeSnapshot(_ writer: StoreWriter) throws(StoreError) {
        let snapshot = try writer.begin(site: stock.site, start: [stock.href(0)], now: 1)
        StoreFaults.say("b")
        for first in stride(from: 0, to: Stock.pageCount, by: Stock.batchSize) {
            let pages = first..<first + Stock.batchSize
            var responses: [NewResponse] = []
            for page in pages {
                responses.append(try stock.response(page, snapshot: snapshot.id, in: folder))
            }
            StoreFaults.say("f")
            try writer.add(responses, links: pages.map(stock.links), to: snapshot)
            StoreFaults.say("a")
        }
        try writer.end(snapshot, .publish(now: 2))
        StoreFaults.say("p")
    }

    private func dropOldSnapshots(_ writer: StoreWriter) throws(StoreError) {
        guard let site = try StoreReader(folder).sites().first(where: { $0.name == stock.site }) else {
            return
        }
        for snapshot in site.snapshots.dropLast(2) {
            try writer.drop(snapshot: snapshot.id, of: site)
            StoreFaults.say("d")
        }
    }

    /// Not while another process writes.
    private func collect(_ writer: StoreWriter) throws(StoreError) {
        do throws(StoreError) {
            _ = try writer.collect(CollectionOptions())
        } catch  where error.reason == .busy {
            return
        }
        StoreFaults.say("c")
    }
}
