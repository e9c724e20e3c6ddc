package import Web

/// A sample of a site's pages, from which the size of the site is estimated.
///
/// It contains a few pages of each URL pattern first, then pages chosen at random, alternating between pages
/// that list others (by their names) and the rest. The sample ends when pages have linked to nothing new for
/// a while, or at the maximum number of pages.
package struct PlanSample: Sendable {
    /// A sampled page.
    package struct Page: Sendable {
        package var url: WebURL
        package var byteCount: Int
        package var latency: Duration
        /// The number of assets that no page before it needed.
        package var newAssets: Int
        package var newAssetByteCount: Int
        /// Pages in scope that no page before it links to.
        package var newPages: [WebURL]
        /// All pages in scope that it links to, without duplicates.
        package var links: [WebURL]

        package init(
            url: WebURL, byteCount: Int, latency: Duration, newAssets: Int = 0,
            newAssetByteCount: Int = 0,
            newPages: [WebURL] = [], links: [WebURL]? = nil
        ) {
            self.url = url
            self.byteCount = byteCount
            self.latency = latency
            self.newAssets = newAssets
            self.newAssetByteCount = newAssetByteCount
            self.newPages = newPages
            self.links = links ?? newPages
        }
    }

    /// Why a page was chosen.
    enum Choice: Sendable {
        /// One of the first pages of its pattern.
        case pattern
        /// A random choice from the pages that list others, or from the rest.
        case list, chance
    }

    /// The maximum number of sampled pages.
    package let mostPages: Int
    /// The maximum number of pages that are chosen because of their pattern, per pattern.
    package let mostOfPattern: Int
    package private(set) var pages: [Page] = []
    /// For each sampled page whose links belong to the site: why it was chosen, and to how many new pages it
    /// links.
    private(set) var news: [(choice: Choice, count: Int)] = []
    /// How many pages of the sample link to each page.
    private(set) var linkers: [WebURL: Int] = [:]
    private let seed: UInt64
    private var candidates: [Candidate] = []
    /// The number of candidates that were examined for new patterns.
    private var head = 0
    private var choice = Choice.pattern
    /// Whether the links of the page that was chosen last belong to the site.
    private var leadsOn = true
    /// The number of pages without new links since the last one with new links.
    private var quietCount = 0
    /// The number of sampled pages by shape.
    private var sampled: [UInt64: Int] = [:]
    /// The number of sampled pages by folder, because on many sites each page has a name of its own.
    private var sampledOfFolder: [String: Int] = [:]

    /// A page that was offered to the sample.
    private struct Candidate {
        let url: WebURL
        /// A pseudo-random number. The candidate with the lowest one is next.
        let turn: UInt64
        let isList: Bool
        /// Whether its links belong to the site. False for pages at the depth limit.
        let leadsOn: Bool
        var isTaken = false
    }

    /// The share of `mostPages` that is chosen by patterns.
    private static let patternShare = 0.4
    /// The sample ends after this many pages without new links, or after the smaller number if only the first
    /// page had new links.
    private static let enough = 24
    private static let enoughBehindFirst = 12

    /// - Parameter seed: Determines the random choice.
    package init(mostPages: Int = 120, mostOfPattern: Int = 6, seed: UInt64 = 0) {
        self.mostPages = mostPages
        self.mostOfPattern = mostOfPattern
        self.seed = seed
    }

    /// Whether the sample has the maximum number of pages.
    package var isFull: Bool { pages.count >= mostPages }

    /// Adds a page of the site to the candidates. The caller offers each page once.
    ///
    /// - Parameter leadsOn: Whether the pages that it links to belong to the site. False at the depth limit.
    package mutating func offer(_ url: WebURL, leadsOn: Bool = true) {
        let turn = Mixing.mix(Mixing.mix(url.href.utf8) ^ seed)
        candidates.append(Candidate(url: url, turn: turn, isList: Self.listsOthers(url), leadsOn: leadsOn))
    }

    /// Returns the next page to fetch; nil when the sample is complete.
    package mutating func next() -> WebURL? {
        guard !isFull else { return nil }
        while head < candidates.count, Double(pages.count) < Double(mostPages) * Self.patternShare {
            defer { head += 1 }
            if !candidates[head].isTaken, isNews(candidates[head].url) { return take(head, .pattern) }
        }
        guard !isSettled else { return nil }
        let wanted: Choice = choice == .list ? .chance : .list
        let place =
            first { $0.leadsOn && $0.isList == (wanted == .list) } ?? first(where: \.leadsOn)
            ?? first { _ in true }
        return place.flatMap { take($0, candidates[$0].isList ? .list : .chance) }
    }

    /// The number of waiting candidates whose links belong to the site: those that list others, and the rest.
    var waiting: (lists: Int, others: Int) {
        let waiting = candidates.filter { !$0.isTaken && $0.leadsOn }
        let lists = waiting.count(where: \.isList)
        return (lists, waiting.count - lists)
    }

    /// Whether only the first page had new links.
    var isKnownByFirst: Bool { news.dropFirst().allSatisfy { $0.count == 0 } }

    private var isSettled: Bool {
        let wanted = isKnownByFirst ? Self.enoughBehindFirst : Self.enough
        if news.count > wanted, news.suffix(wanted).allSatisfy({ $0.count == 0 }) { return true }
        return quietCount > wanted && !candidates.contains { !$0.isTaken && $0.leadsOn }
    }

    private mutating func take(_ place: Int, _ choice: Choice) -> WebURL {
        candidates[place].isTaken = true
        leadsOn = candidates[place].leadsOn
        self.choice = choice
        return candidates[place].url
    }

    private func first(where isWanted: (Candidate) -> Bool) -> Int? {
        var found: Int?
        for place in candidates.indices where !candidates[place].isTaken && isWanted(candidates[place]) {
            if found.map({ candidates[place].turn < candidates[$0].turn }) ?? true { found = place }
        }
        return found
    }

    private func isNews(_ url: WebURL) -> Bool {
        let shape = URLShape(url)
        return sampled[shape.key, default: 0] < mostOfPattern
            && sampledOfFolder[PatternName(shape).text(folders: .max), default: 0] < mostOfPattern
    }

    /// Adds a fetched page to the sample.
    package mutating func fetched(_ page: Page) {
        let shape = URLShape(page.url)
        sampled[shape.key, default: 0] += 1
        sampledOfFolder[PatternName(shape).text(folders: .max), default: 0] += 1
        if leadsOn { news.append((choice, page.newPages.count)) }
        quietCount = page.newPages.isEmpty ? quietCount + 1 : 0
        for url in page.links { linkers[url, default: 0] += 1 }
        pages.append(page)
    }

    // MARK: - Lists

    private static let words = [
        "index", "contents", "toc", "sitemap", "menu", "list", "overview", "summary", "archive", "catalog",
    ]

    /// Whether a page probably lists others: it is a folder, or its name says so.
    static func listsOthers(_ url: WebURL) -> Bool {
        let path = url.path.lowercased()
        guard let last = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).last,
            !last.isEmpty
        else { return true }
        let stem = String(Substring(last.prefix { $0 != UInt8(ascii: ".") }))
        return stem == "all" || words.contains { stem.utf8.contains($0.utf8) }
    }
}

extension PlanSample {
    /// The way in which the whole site would be fetched.
    package struct Manner: Sendable {
        /// The number of concurrent requests to a host.
        package var connections: Int
        /// The delay between requests that robots.txt asks for; zero for none.
        package var distance: Duration

        package init(connections: Int, distance: Duration = .zero) {
            self.connections = connections
            self.distance = distance
        }
    }

    /// Estimates the whole site from the pages fetched so far. `traps` are passed on to the estimate.
    package func estimate(_ manner: Manner, traps: [TrapReason] = []) -> PlanEstimate {
        let tally = PatternTally(pages)
        let counts = tally.bounds(undiscovered(tally))
        var groups: [PlanEstimate.Group] = []
        for (row, bounds) in zip(tally.rows, counts) {
            groups.append(
                PlanEstimate.Group(
                    pattern: row.pattern, sampled: row.sampled, pages: bounds,
                    byteCount: byteCount(of: bounds, sizes: row.sizes)))
        }
        groups.sort { ($0.pages.low, $1.pattern) > ($1.pages.low, $0.pattern) }
        let all = groups.map(\.pages).reduce(PlanEstimate.Bounds(low: 0, high: 0), +)
        let assets = further(all, \.newAssets)
        let bytes = groups.map(\.byteCount).reduce(further(all, \.newAssetByteCount), +)
        return PlanEstimate(
            groups: groups, pages: all, byteCount: bytes,
            seconds: seconds(all + assets, pages: all, manner),
            traps: traps, isSampleTooSmall: !tally.hasEndlessRow && isTooSmall)
    }

    /// The half width of the interval around a mean size, in standard errors.
    private static let errorsInDoubt = 3.0

    /// The size of this many pages, from the mean of the known sizes and its standard error. With fewer than
    /// three sizes, the bounds are half and twice the mean.
    private func byteCount(of count: PlanEstimate.Bounds, sizes: [Int]) -> PlanEstimate.Bounds {
        let known = sizes.isEmpty ? pages.map(\.byteCount) : sizes
        guard !known.isEmpty else { return PlanEstimate.Bounds(low: 0, high: count.high == 0 ? 0 : nil) }
        let mean = Double(known.reduce(0, +)) / Double(known.count)
        var (low, high) = (mean / 2, mean * 2)
        if sizes.count > 2 {
            let squares = known.reduce(0.0) { $0 + (Double($1) - mean) * (Double($1) - mean) }
            let error =
                Self.errorsInDoubt * (squares / Double(known.count - 1) / Double(known.count)).squareRoot()
            (low, high) = (
                max(Double(known.min() ?? 0), mean - error), min(Double(known.max() ?? 0), mean + error)
            )
        }
        let sampled = sizes.reduce(0, +)
        return PlanEstimate.Bounds(
            low: sampled + Int(low * Double(max(0, count.low - sizes.count))),
            high: count.high.map { sampled + Int(high * Double(max(0, $0 - sizes.count))) })
    }

    /// The number or size of the assets: what the sample needed, and for each further page the average of the
    /// second half of the sample.
    private func further(_ count: PlanEstimate.Bounds, _ amount: KeyPath<Page, Int>) -> PlanEstimate.Bounds {
        let known = pages.reduce(0) { $0 + $1[keyPath: amount] }
        let late = pages.suffix(max(1, pages.count / 2))
        let each = Double(late.reduce(0) { $0 + $1[keyPath: amount] }) / Double(max(1, late.count))
        return PlanEstimate.Bounds(
            low: known, high: count.high.map { known + Int(each * Double(max(0, $0 - pages.count))) })
    }

    /// The duration of this many requests. The lower bound assumes that all connections are busy, the upper
    /// one that a quarter of them are.
    private func seconds(
        _ requests: PlanEstimate.Bounds, pages count: PlanEstimate.Bounds, _ manner: Manner
    ) -> PlanEstimate.Bounds {
        let latency = pages.reduce(Duration.zero) { $0 + $1.latency } / max(1, pages.count)
        func time(_ requests: Int, _ connections: Int) -> Int {
            let each = manner.distance > .zero ? max(latency, manner.distance) : latency / max(1, connections)
            return Int((each / .seconds(1) * Double(requests)).rounded(.up))
        }
        return PlanEstimate.Bounds(
            low: time(requests.low, manner.connections),
            high: requests.high.map { time($0, manner.connections / 4) })
    }
}

extension PlanSample {
    /// The maximum number of pages that no sampled page links to, which is exceeded on one site in ten. Nil
    /// if there is no bound.
    ///
    /// The result is the lower of two bounds. First, waiting candidates link to as many new pages as the
    /// random choices did, plus an allowance for their variance. Second, the number of pages to which one or
    /// two sampled pages link suggests how many have no such link (Chao's estimator for samples without
    /// replacement). With these factors, the interval was right for 68 of 70 plans of nine real manuals.
    func undiscovered(_ tally: PatternTally) -> Int? {
        let waiting = waiting
        if tally.hasEndlessRow || isTooSmall { return nil }
        guard waiting.lists + waiting.others > 0, !isKnownByFirst || news.count <= 6 else { return 0 }
        let rate =
            Double(waiting.lists) * highestNews(.list) + Double(waiting.others) * highestNews(.chance)
        return Int(min(rate * Self.rateFactor, rarelyLinked * Self.rarityFactor).rounded(.up))
    }

    /// Whether the sample is too small for an upper bound: most of the known lists were not sampled, and
    /// lists still have many new links. One of them may link to more pages than all known ones: in a manual
    /// of 30,000 pages, one of 600 modules links to half of them.
    var isTooSmall: Bool {
        let lists = waiting.lists
        return lists > Self.fewLists && lists > news.count(where: { $0.choice == .list })
            && highestNews(.list) >= Self.muchNews
    }

    private static let fewLists = 24
    private static let muchNews = 1.5
    private static let rateFactor = 1.3
    private static let rarityFactor = 4.0
    /// The allowance for the variance, in standard errors.
    private static let doubt = 1.5
    /// The number of new links that is assumed if no page of the kind was sampled.
    private static let unknownNews = 3.0

    /// The upper bound of the average number of new links of a page. Uses only the second half of a larger
    /// sample, because the first pages link to everything in the navigation of the site.
    private func highestNews(_ choice: Choice) -> Double {
        var counts = news.filter { $0.choice == choice }.map { Double($0.count) }
        guard !counts.isEmpty else { return Self.unknownNews }
        if counts.count > 16 { counts.removeFirst(counts.count / 2) }
        let count = Double(counts.count)
        let mean = counts.reduce(0, +) / count
        let squares = counts.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
        return mean + Self.doubt * (squares / max(1, count - 1) / count).squareRoot() + 1.5 / count
    }

    private var rarelyLinked: Double {
        let once = Double(linkers.values.count { $0 == 1 })
        let twice = Double(linkers.values.count { $0 == 2 })
        let known = Double(pages.count + waiting.lists + waiting.others)
        return once * once / (2 * max(twice, 0.5))
            * (1 - Double(pages.count) / max(known, Double(pages.count) + 1))
    }
}

/// An estimate of a prefetch, in ranges.
public struct PlanEstimate: Sendable, Equatable {
    /// A range from the certain to the possible value; `high` is nil if the sample gives no upper bound.
    public struct Bounds: Sendable, Equatable {
        public package(set) var low: Int
        public package(set) var high: Int?

        static func + (left: Bounds, right: Bounds) -> Bounds {
            Bounds(
                low: left.low + right.low, high: left.high.flatMap { high in right.high.map { high + $0 } })
        }
    }

    /// Pages with URLs of the same pattern.
    public struct Group: Sendable, Equatable {
        /// The pattern, such as `example.com/blog/{year}/{month}/*.html`.
        public let pattern: String
        /// The number of its pages in the sample.
        public let sampled: Int
        /// The estimated number of pages.
        public let pages: Bounds
        /// The estimated size of the pages, without assets.
        public let byteCount: Bounds
    }

    /// The groups of pages, the largest first.
    public let groups: [Group]
    /// The estimated number of all pages.
    public let pages: Bounds
    /// The estimated size of pages and assets.
    public let byteCount: Bounds
    /// The estimated duration of a prefetch, in seconds.
    public let seconds: Bounds
    package let traps: [TrapReason]
    /// Whether the sample is too small for an upper bound: too many pages that list other pages were not
    /// sampled.
    public let isSampleTooSmall: Bool
}

extension PlanEstimate.Group: JSONObject {
    package var members: JSONMembers {
        ["pattern": pattern, "sampled": sampled, "pages": pages, "bytes": byteCount]
    }
}

extension PlanEstimate.Bounds: JSONObject {
    package var members: JSONMembers { ["low": low, "high": high] }
}

/// The known pages of a sample by pattern.
struct PatternTally {
    struct Row {
        let pattern: String
        var known = 0
        var sizes: [Int] = []
        /// Whether each of its sampled pages led to a new one of its own.
        var continues: [Bool] = []

        var sampled: Int { sizes.count }

        /// Whether the pattern seems to have no end: each page links to the next one only, so that the number
        /// of known pages grows as fast as they are fetched.
        var isEndless: Bool {
            sampled >= 6 && continues.suffix(6).allSatisfy { $0 } && known - sampled <= sampled
        }
    }

    private(set) var rows: [Row] = []

    /// The maximum number of patterns. With more, the patterns get fewer folders.
    private static let mostRows = 24
    private static let deepest = 6

    init(_ pages: [PlanSample.Page]) {
        let names = pages.map { PatternName(URLShape($0.url)) }
        let newNames = pages.map { page in page.newPages.map { PatternName(URLShape($0)) } }
        for folders in stride(from: Self.deepest, through: 0, by: -1) {
            tally(pages, names, newNames, folders: folders)
            if rows.count <= Self.mostRows { return }
        }
    }

    private mutating func tally(
        _ pages: [PlanSample.Page], _ names: [PatternName], _ newNames: [[PatternName]], folders: Int
    ) {
        rows = []
        var numbers: [String: Int] = [:]
        let linked = Set(pages.flatMap(\.newPages))
        for (name, page) in zip(names, pages) {
            let row = number(name.text(folders: folders), &numbers)
            rows[row].sizes.append(page.byteCount)
            if !linked.contains(page.url) { rows[row].known += 1 }
        }
        for (index, name) in names.enumerated() {
            let row = number(name.text(folders: folders), &numbers)
            var continues = false
            for new in newNames[index] {
                let child = number(new.text(folders: folders), &numbers)
                rows[child].known += 1
                if child == row { continues = true }
            }
            rows[row].continues.append(continues)
        }
    }

    private mutating func number(_ pattern: String, _ numbers: inout [String: Int]) -> Int {
        if let known = numbers[pattern] { return known }
        rows.append(Row(pattern: pattern))
        numbers[pattern] = rows.count - 1
        return rows.count - 1
    }

    var hasEndlessRow: Bool { rows.contains(where: \.isEndless) }

    /// The number of pages of each pattern. The lower bounds are the known pages; undiscovered pages are
    /// distributed in proportion.
    ///
    /// - Parameter undiscovered: Nil if there is no upper bound.
    func bounds(_ undiscovered: Int?) -> [PlanEstimate.Bounds] {
        let known = rows.reduce(0) { $0 + $1.known }
        guard let undiscovered, known > 0 else {
            return rows.map { PlanEstimate.Bounds(low: $0.known, high: undiscovered == nil ? nil : $0.known) }
        }
        var rest = undiscovered
        var bounds = rows.map { row in
            let share = Int(Double(undiscovered) * Double(row.known) / Double(known))
            rest -= share
            return PlanEstimate.Bounds(low: row.known, high: row.known + share)
        }
        // The remainder from rounding goes to the largest pattern.
        let largest = rows.indices.max { rows[$0].known < rows[$1].known }
        if let largest { bounds[largest].high = bounds[largest].high.map { $0 + rest } }
        return bounds
    }
}

/// The name of a group of pages: the shape of their URLs without the part that is different for each page.
struct PatternName: Sendable {
    private let host: String
    private let folders: [Substring]
    /// The last part of the path, as `*` or `*.html` if it is a word, with the query.
    private let file: String

    init(_ shape: URLShape) {
        let bytes = shape.text.utf8
        let path = shape.text[..<(bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.endIndex)]
        let query = shape.text[path.endIndex...]
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        host = parts.first.map(String.init) ?? ""
        folders = Array(parts.dropFirst().dropLast())
        file = Self.general(parts.count > 1 ? parts[parts.count - 1] : "") + query
    }

    private static func general(_ name: Substring) -> String {
        if name.isEmpty || name.utf8.contains(UInt8(ascii: "{")) { return String(name) }
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), name[dot...].utf8.count <= 6 else {
            return "*"
        }
        return "*" + name[dot...]
    }

    /// The name with this many folders. Deeper ones are replaced with `**`.
    func text(folders count: Int) -> String {
        var text = host
        for folder in folders.prefix(count) { text += "/" + folder }
        return text + (folders.count > count ? "/**/" : "/") + file
    }
}
