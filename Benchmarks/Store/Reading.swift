internal import Store
internal import Web

/// Measures the queries of servers, `larder status` and `larder show`.
struct Reading {
    private let folder: StoreFolder
    private let rounds: Int

    init(_ folder: StoreFolder, rounds: Int) {
        self.folder = folder
        self.rounds = rounds
    }

    func run() throws(StoreError) {
        let first = try Meter.time { () throws(StoreError) in _ = try StoreReader(folder) }
        try measure("open", [("first", first)]) { () throws(StoreError) in _ = try StoreReader(folder) }
        let reader = try StoreReader(folder)
        let summary = try reader.summary()
        try measure("summary") { () throws(StoreError) in _ = try reader.summary() }
        try measure("sites") { () throws(StoreError) in _ = try reader.sites() }
        try lookUp(reader, count: summary.responses)
        let middle = Filling.href(summary.responses / 8)
        try measure("referrers") { () throws(StoreError) in _ = try reader.referrers(of: middle) }
        try measure("rows") { () throws(StoreError) in _ = try reader.versions(of: middle) }
    }

    private func measure(
        _ name: String, _ more: [(String, Double)] = [], _ body: () throws(StoreError) -> Void
    ) throws(StoreError) {
        var seconds: [Double] = []
        for _ in 0..<rounds { seconds.append(try Meter.time(body)) }
        Meter.print(name, [("median", Meter.median(seconds))] + more)
    }

    /// Looks up URLs that are spread over the store, twice: the second time, their rows are in the page cache.
    private func lookUp(_ reader: StoreReader, count: Int) throws(StoreError) {
        let numbers = (0..<20_000).map { $0 &* 7_919_777 % max(count, 1) }
        for pass in ["cold", "warm"] {
            var seconds: [Double] = []
            for number in numbers {
                let href = Filling.href(number)
                seconds.append(
                    try Meter.time { () throws(StoreError) in
                        guard try reader.response(for: href) != nil else {
                            preconditionFailure("\(href) is not there")
                        }
                    })
            }
            Meter.print(
                "lookup \(pass)", [("median", Meter.median(seconds)), ("p99", Meter.quantile(0.99, seconds))])
        }
        var contents: [Double] = []
        var misses: [Double] = []
        for number in numbers.prefix(5_000) {
            let href = Filling.href(number)
            let response = try reader.response(for: href)
            contents.append(
                try Meter.time { () throws(StoreError) in
                    if let body = response?.body {
                        _ = try reader.content(of: body)
                        _ = try reader.links(of: body)
                    }
                })
            guard let url = WebURL(href + "x?_=1") else { continue }
            misses.append(try Meter.time { () throws(StoreError) in _ = try reader.lookUp(url) })
        }
        Meter.print("content and links", [("median", Meter.median(contents))])
        Meter.print("lookup missing", [("median", Meter.median(misses))])
    }
}
