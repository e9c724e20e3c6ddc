internal import Glibc
internal import Web

/// A sample of a site's pages, from which the size of the site is estimated. A pure value: the caller makes
/// the requests that `next` returns and reports their results.
///
/// It has three stages. *Exploring* fetches the pages that probably link to the most others. *Sampling* fetches
/// pages of each kind, more of kinds whose pages differ much. These pages are a random sample, from which the
/// number of undiscovered pages is estimated. *Weighing* requests the sizes of assets.
struct PlanSample: Sendable {
    /// A request of the sample.
    enum Request: Sendable, Equatable {
        /// The page, with its links.
        case page(WebURL)
        /// The size of a file that has no links to pages. It counts as a page, because pages link to it.
        case file(WebURL)
        /// The size of an asset.
        case asset(WebURL)
    }

    /// A fetched page.
    struct Page: Sendable {
        var url: WebURL
        var byteCount: Int
        var latency = Duration.zero
        /// The pages of the site that it links to, without duplicates.
        var links: [WebURL] = []
        /// The assets that it needs, without duplicates.
        var assets: [WebURL] = []
        /// Whether it has hardly any text before its scripts run. They may link to further pages.
        var isShell = false
    }

    enum Stage: Sendable {
        case exploring, sampling, weighing
    }

    /// A page of the site that was discovered.
    struct Known: Sendable {
        let url: WebURL
        let name: PageName
        /// A pseudo-random number. Of similar pages, the one with the lowest number is next.
        let turn: UInt64
        /// Whether the caller can request it.
        var isOffered = false
        /// Whether its links belong to the site. False for pages at the depth limit.
        var leadsOn = true
        var isTaken = false
        var group = 0
        /// Whether it may link to pages that belong to the site.
        var mayLink: Bool { leadsOn && name.mayLink }
    }

    /// The result of a request for a page.
    struct Outcome: Sendable {
        let page: Int
        let stage: Stage
        /// Whether the URL is a page. False if it is missing or redirects elsewhere.
        let isPage: Bool
        /// Nil if the server did not say it.
        let byteCount: Int?
        /// Whether it has hardly any text before its scripts run.
        var isShell = false
        var links: [Int] = []
        /// The links to pages that were not known before.
        var new: [Int] = []
        /// The number of assets that no page before it needed.
        var newAssets = 0
        var latency: Duration?
    }

    /// An asset that a fetched page needs.
    struct Asset: Sendable {
        let url: WebURL
        let kind: String
        let turn: UInt64
        var isTaken = false
        var byteCount: Int?
    }

    /// The maximum number of requests, including those for robots.txt, sitemaps and search indexes.
    let maxRequests: Int
    private(set) var known: [Known] = []
    private(set) var outcomes: [Outcome] = []
    private(set) var assets: [Asset] = []
    private(set) var groups = PageGroups()
    private(set) var stage = Stage.exploring
    /// The number of pages that were known when sampling began.
    private(set) var knownAtStart = 0
    /// The number of pages that sitemaps and search indexes list.
    private(set) var listedCount = 0
    /// The login page that the server sent in place of the site.
    var loginPage: InterceptionPage?
    private var numbers: [WebURL: Int] = [:]
    private var assetNumbers: [WebURL: Int] = [:]
    private let seed: UInt64
    /// The number of known pages when the groups were made.
    private var groupedCount = 0

    /// The share of the requests that explore.
    private static let exploringShare = 0.35
    /// The share of the requests that is reserved for the sizes of assets.
    private static let weighingShare = 1.0 / 6

    /// - Parameter seed: chooses the random pages.
    init(maxRequests: Int = 200, seed: UInt64 = 0) {
        self.maxRequests = maxRequests
        self.seed = seed
    }

    // MARK: - Events

    /// Adds a page that the caller can request.
    ///
    /// - Parameters:
    ///   - leadsOn: Whether the pages that it links to belong to the site. False at the depth limit.
    ///   - isListed: Whether a sitemap or a search index lists the page.
    mutating func offer(_ url: WebURL, leadsOn: Bool = true, isListed: Bool = false) {
        let page = discover(url).page
        if isListed, !known[page].isOffered { listedCount += 1 }
        known[page].isOffered = true
        known[page].leadsOn = leadsOn
    }

    /// A requested page was fetched.
    mutating func didFetch(_ page: Page) {
        let number = discover(page.url).page
        known[number].isTaken = true
        var outcome = Outcome(page: number, stage: stage, isPage: true, byteCount: page.byteCount)
        outcome.latency = page.latency
        outcome.isShell = page.isShell
        for link in page.links {
            let (target, isNew) = discover(link)
            guard target != number else { continue }
            outcome.links.append(target)
            if isNew { outcome.new.append(target) }
        }
        for url in page.assets where assetNumbers[url] == nil {
            assetNumbers[url] = assets.count
            assets.append(Asset(url: url, kind: PageName(url).kind, turn: turn(of: url)))
            outcome.newAssets += 1
        }
        outcomes.append(outcome)
    }

    /// A requested page or file is missing, or redirects to another URL.
    mutating func didMiss(_ url: WebURL) {
        guard let page = numbers[url] else { return }
        known[page].isTaken = true
        outcomes.append(Outcome(page: page, stage: stage, isPage: false, byteCount: nil))
    }

    /// The size of a file or an asset, or nil if the server did not say it.
    mutating func didWeigh(_ request: Request, byteCount: Int?) {
        switch request {
        case .page(let url), .file(let url):
            guard let page = numbers[url] else { return }
            outcomes.append(Outcome(page: page, stage: stage, isPage: true, byteCount: byteCount))
        case .asset(let url):
            if let asset = assetNumbers[url] { assets[asset].byteCount = byteCount }
        }
    }

    private mutating func discover(_ url: WebURL) -> (page: Int, isNew: Bool) {
        if let page = numbers[url] { return (page, false) }
        numbers[url] = known.count
        var page = Known(url: url, name: PageName(url), turn: turn(of: url))
        page.group = groups.number(of: page.name)
        known.append(page)
        return (known.count - 1, true)
    }

    private func turn(of url: WebURL) -> UInt64 { Mixing.mix(Mixing.mix(url.href.utf8) ^ seed) }

    // MARK: - Choosing

    /// Returns the next request; nil when the sample is complete.
    ///
    /// - Parameter spent: the number of requests that were made.
    mutating func next(spent: Int) -> Request? {
        groupAgain(ifGrownBy: 1.1)
        if stage == .exploring {
            if Double(spent) < Double(maxRequests) * Self.exploringShare, !hasNothingToExplore,
                let page = pageToExplore
            {
                return take(page)
            }
            endExploring()
        }
        if stage == .sampling {
            let reserved = min(assets.count, Int(Double(maxRequests) * Self.weighingShare))
            if spent < maxRequests - reserved, !isSettled, let page = pageToSample { return take(page) }
            stage = .weighing
        }
        guard spent < maxRequests, let asset = assetToWeigh else { return nil }
        assets[asset].isTaken = true
        return .asset(assets[asset].url)
    }

    mutating func endExploring() {
        stage = .sampling
        knownAtStart = known.count
    }

    private mutating func take(_ page: Int) -> Request {
        known[page].isTaken = true
        return known[page].name.mayLink ? .page(known[page].url) : .file(known[page].url)
    }

    mutating func groupAgain(ifGrownBy factor: Double) {
        guard Double(known.count) >= Double(groupedCount) * factor, known.count > groupedCount else { return }
        groupedCount = known.count
        groups = PageGroups(known.map(\.name))
        for page in known.indices { known[page].group = groups.number(of: known[page].name) }
    }

    /// Whether only the first page had new links, so that all pages are known.
    var isKnownByFirst: Bool {
        outcomes.drop { !$0.isPage }.dropFirst().allSatisfy(\.new.isEmpty)
    }

    /// Whether the first page links to all pages. Further pages show their sizes, and belong to the random sample.
    private var hasNothingToExplore: Bool { outcomes.count > Self.fewOutcomes && isKnownByFirst }

    private static let fewOutcomes = 6
    private static let quietOutcomes = 12
    private static let preciseError = 0.04

    /// Whether further pages would hardly change the estimate.
    private var isSettled: Bool {
        guard outcomes.count > Self.quietOutcomes, isKnownByFirst, outcomes.dropFirst().allSatisfy(\.isPage)
        else { return false }
        let sizes = outcomes.dropFirst().compactMap(\.byteCount).map(Double.init)
        let (mean, deviation) = Self.spread(sizes)
        return deviation <= Self.preciseError * mean * Double(max(1, sizes.count)).squareRoot()
    }

    static func spread(_ values: [Double]) -> (mean: Double, deviation: Double) {
        guard !values.isEmpty else { return (0, 0) }
        let mean = values.reduce(0, +) / Double(values.count)
        let squares = values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
        return (mean, (squares / Double(max(1, values.count - 1))).squareRoot())
    }

    /// The assumed number of new links of a page of an unknown kind, if its name says that it lists others, if
    /// it says that it lists all others, or neither.
    private static let (newsOfList, newsOfFullList, newsOfOther) = (20.0, 100.0, 3.0)
    /// Only the latest pages of a group count, because the first ones have the most new links.
    private static let latestOutcomes = 8
    /// Exploring ends when no kind of page had more new links per page.
    private static let minNews = 1.0

    /// The page that probably has the most new links.
    private var pageToExplore: Int? {
        var news = [[Int]](repeating: [], count: groups.patterns.count)
        for outcome in outcomes { news[known[outcome.page].group].append(outcome.new.count) }
        struct Candidate {
            var page: Int
            /// Compared in this order; the lowest is first.
            var order: (Int, Int, UInt64)
        }
        var candidates: [Int: Candidate] = [:]
        var waiting = [Int](repeating: 0, count: groups.patterns.count)
        for (index, page) in known.enumerated() where page.isOffered && !page.isTaken && page.mayLink {
            waiting[page.group] += 1
            let rank = page.name.isFullList ? 0 : page.name.isList ? 1 : 2
            let order = (rank, rank < 2 ? page.name.folders.count : 0, page.turn)
            let key = page.group * 2 + (rank == 0 ? 1 : 0)
            if candidates[key].map({ order < $0.order }) ?? true {
                candidates[key] = Candidate(page: index, order: order)
            }
        }
        let rest = Int(Double(maxRequests) * Self.exploringShare) - outcomes.count
        var best: (page: Int, score: Double)?
        for (key, candidate) in candidates.sorted(by: { $0.key < $1.key }) {
            let group = key / 2
            let isFullList = key % 2 == 1
            // A large group of similar pages cannot be exhausted. The random sample is enough for it.
            if news[group].count >= Self.latestOutcomes, !isFullList, waiting[group] > 2 * rest { continue }
            let latest = news[group].suffix(Self.latestOutcomes)
            let assumed = candidate.order.0 < 2 ? Self.newsOfList : Self.newsOfOther
            var score = (Double(latest.reduce(0, +)) + assumed) / Double(latest.count + 1)
            if isFullList {
                score = max(score, Self.newsOfFullList) / (1 + 0.3 * Double(candidate.order.1 - 1))
            }
            if best.map({ score > $0.score }) ?? true { best = (candidate.page, score) }
        }
        return best.flatMap { $0.score >= Self.minNews ? $0.page : nil }
    }

    /// A random page of the group whose next page says most about the site: a large group, of which few pages
    /// were sampled, and whose pages differ in their new links or sizes.
    private var pageToSample: Int? {
        let count = groups.patterns.count
        var waiting = [Int](repeating: 0, count: count)
        for page in known where page.isOffered && !page.isTaken { waiting[page.group] += 1 }
        var news = [[Double]](repeating: [], count: count)
        var sizes = news
        for outcome in outcomes where outcome.stage == .sampling {
            news[known[outcome.page].group].append(Double(outcome.new.count))
            sizes[known[outcome.page].group].append(Double(outcome.byteCount ?? 0))
        }
        let mean = max(1, Self.spread(sizes.flatMap { $0 }).mean)
        var best: (group: Int, score: Double)?
        for group in 0..<count where waiting[group] > 0 {
            let latest = Array(news[group].suffix(12))
            let mayLink = groups.mayLink[group]
            var doubt: Double
            switch latest.count {
            case 0: doubt = mayLink ? 3 : 0.5
            case 1: doubt = mayLink ? 1.5 + latest[0] / 2 : 0.5
            default:
                let spread = Self.spread(latest)
                doubt = spread.deviation + 0.3 * spread.mean
            }
            let sizeDoubt = sizes[group].count > 1 ? Self.spread(sizes[group]).deviation / mean : 1
            doubt = min(doubt, 20) + 0.5 * min(sizeDoubt, 8) + 0.2
            let score = Double(waiting[group]) * doubt / pow(Double(news[group].count) + 0.7, 1.5)
            if best.map({ score > $0.score }) ?? true { best = (group, score) }
        }
        guard let group = best?.group else { return nil }
        return known.indices.lazy
            .filter { known[$0].group == group && known[$0].isOffered && !known[$0].isTaken }
            .min { known[$0].turn < known[$1].turn }
    }

    /// A random asset of a kind of which few sizes are known.
    private var assetToWeigh: Int? {
        var waiting: [String: Int] = [:]
        var weighed: [String: Int] = [:]
        for asset in assets {
            if asset.isTaken {
                weighed[asset.kind, default: 0] += 1
            } else {
                waiting[asset.kind, default: 0] += 1
            }
        }
        func score(_ kind: String) -> Double {
            pow(Double(waiting[kind] ?? 0), 0.6) / (Double(weighed[kind] ?? 0) + 0.5)
        }
        guard let kind = waiting.keys.max(by: { (score($0), $0) < (score($1), $1) }) else { return nil }
        return assets.indices.lazy.filter { !assets[$0].isTaken && assets[$0].kind == kind }
            .min { assets[$0].turn < assets[$1].turn }
    }
}
