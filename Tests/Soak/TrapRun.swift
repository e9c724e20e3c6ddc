import Store
import Synchronization
import TestOrigin

/// A crawl of a misbehaving origin with a large catalogue, a forum, events, a list with facets, and traps. All real pages
/// must be stored, and the crawl of each trap must end.
struct TrapRun {
    let products: Int
    let seed: Int

    func run() throws -> Bool {
        let site = MixedSite(products: products, topics: products / 20)
        let faults = Faults(seed: UInt64(seed)) { site.answer(to: $0) ?? .failure(404) }
        let origin = try TestOrigin()
        let requestCounts = Mutex<[MixedSite.Part: Int]>([:])
        origin.otherwise { [weak origin] request in
            if let part = MixedSite.part(of: request.target) {
                let count = requestCounts.withLock { requestCounts in
                    requestCounts[part, default: 0] += 1
                    return requestCounts[part] ?? 0
                }
                // The recorded requests are not needed, and would fill the memory.
                if count.isMultiple(of: 1000) { origin?.forgetRequests() }
            }
            return faults.answer(to: request.target)
        }
        let scratch = try TemporaryFolder("larder-soak")
        let ending = try CrawlChild(folder: scratch.path, url: origin.url("/")).wait()
        let image = try StoreImage(StoreFolder(scratch.path), base: origin.base)
        var storedCounts: [MixedSite.Part: Int] = [:]
        for (target, row) in image.rows where row.hasPrefix("200") {
            if let part = MixedSite.part(of: target) { storedCounts[part, default: 0] += 1 }
        }
        Soak.say("\(ending.lines.last ?? "nothing"); faults: \(faults.counts)")
        var isWell = ending.isWell
        for part in MixedSite.Part.allCases {
            let count = storedCounts[part, default: 0]
            let all = part.isReal ? "of \(site.count(of: part))" : "of a trap"
            Soak.say(
                "\(part.rawValue): \(count) \(all), \(requestCounts.withLock { $0[part, default: 0] }) requests"
            )
            isWell = isWell && (part.isReal ? count == site.count(of: part) : count < Self.maxTrapPages)
        }
        return isWell
    }

    private static let maxTrapPages = 30_000
}
