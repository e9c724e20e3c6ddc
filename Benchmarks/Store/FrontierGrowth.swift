internal import Cluster
internal import Store

/// Measures the frontier that workers share through PostgreSQL as it grows: the time to add URLs, to lease hosts, and
/// to read the waiting URLs of these hosts.
struct FrontierGrowth {
    private let frontier: SharedFrontier
    private let folder: StoreFolder
    private let hosts: Int

    /// The number of URLs that a worker adds or reads with one statement.
    private static let batchSize = 5000
    private static let steps = 10
    private static let leases = 12

    init(_ folder: StoreFolder, hosts: Int = 20_000) throws(StoreError) {
        self.folder = folder
        self.hosts = hosts
        let writer = try StoreWriter(folder)
        frontier = try SharedFrontier(folder)
        try frontier.setUpTables()
        let snapshot = try writer.begin(site: "growth", start: ["growth"], now: 1)
        _ = try frontier.share(
            snapshot, named: "growth", maxPages: nil, maxBytes: nil, milliseconds: nil, starts: [])
        try writer.end(snapshot, .keepOpen)
    }

    func run(count: Int) throws(StoreError) {
        guard let snapshot = try frontier.sharedSnapshots().first?.snapshot else { return }
        let sender = try frontier.join(snapshot, named: "sender")
        var next = 0
        for step in 1...Self.steps {
            let began = Meter.cpuSeconds()
            var (inserts, again, leases, takes): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
            var taken = 0
            while next < count / Self.steps * step {
                let batch = batch(from: next)
                inserts.append(
                    try time { () throws(StoreError) in
                        _ = try frontier.addURLs(batch, by: sender, of: snapshot)
                    })
                next += Self.batchSize
            }
            let cpu = (Meter.cpuSeconds() - began) / Double(inserts.count)
            for place in 1...10 {
                // URLs that the table has already, from all parts of it.
                let batch = batch(from: next / 11 * place / Self.batchSize * Self.batchSize)
                again.append(
                    try time { () throws(StoreError) in
                        _ = try frontier.addURLs(batch, by: sender, of: snapshot)
                    })
            }
            for _ in 0..<Self.leases {
                let worker = try frontier.join(snapshot, named: "worker")
                leases.append(
                    try time { () throws(StoreError) in
                        _ = try frontier.leaseHosts(8, for: worker, of: snapshot)
                    })
                takes.append(
                    try time { () throws(StoreError) in
                        taken += try frontier.takeURLs(atMost: Self.batchSize, for: worker, of: snapshot)
                            .count
                    })
            }
            Meter.print(
                "frontier",
                [
                    ("urls", Double(next)), ("insert", Meter.median(inserts)), ("known", Meter.median(again)),
                    ("lease", Meter.median(leases)), ("take", Meter.median(takes)),
                    ("taken", Double(taken / Self.leases)), ("cpu", cpu),
                ])
        }
    }

    private func time(_ body: () throws(StoreError) -> Void) throws(StoreError) -> Double {
        try Meter.time { () throws(StoreError) in try body() } * 1000
    }

    /// Returns URLs of all hosts in turn, as the links of pages are spread over many hosts.
    private func batch(from first: Int) -> [SharedFrontier.DiscoveredURL] {
        (first..<first + Self.batchSize).map { number in
            let host = number &* 7919 % hosts
            let origin = "https://h\(host).example.org"
            return SharedFrontier.DiscoveredURL(
                origin: origin, href: "\(origin)/section-\(number % 97)/page-\(number).html",
                referrer: "https://h\((host + 1) % hosts).example.org/", facts: 0, identity: 0)
        }
    }
}
