import Store

/// Visits of one site, one after the other, with everything that happens to a store on the way.
struct Stocking {
    private let folder: StoreFolder
    private let stock: Stock

    init(_ folder: StoreFolder, site: String) {
        self.folder = folder
        stock = Stock(site: site)
    }

    func run(visits: Int) throws(StoreError) {
        let writer = try StoreWriter(folder)
        StoreFaults.say("o")
        for number in 0..<visits {
            try makeVisit(writer)
            try dropOldVisits(writer)
            if number % 2 == 1 { try collect(writer) }
        }
    }

    private func makeVisit(_ writer: StoreWriter) throws(StoreError) {
        let visit = try writer.begin(site: stock.site, start: [stock.href(0)], now: 1)
        StoreFaults.say("b")
        for first in stride(from: 0, to: Stock.pageCount, by: Stock.batchSize) {
            let pages = first..<first + Stock.batchSize
            var responses: [NewResponse] = []
            for page in pages { responses.append(try stock.response(page, visit: visit.id, in: folder)) }
            StoreFaults.say("f")
            try writer.add(responses, links: pages.map(stock.links), to: visit)
            StoreFaults.say("a")
        }
        try writer.end(visit, .publish(now: 2))
        StoreFaults.say("p")
    }

    private func dropOldVisits(_ writer: StoreWriter) throws(StoreError) {
        guard let site = try StoreReader(folder).sites().first(where: { $0.name == stock.site }) else {
            return
        }
        for visit in site.visits.dropLast(2) {
            try writer.drop(visit: visit.id, of: site)
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
