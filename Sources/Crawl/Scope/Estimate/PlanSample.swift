package import Web

/// Some pages of a site, from which the rest is estimated: first a few of each pattern of URLs, then others as chance has it,
/// every second one of those that list others by their names. It ends when pages have led to nothing new for a while.
package struct PlanSample: Sendable {
    /// What was seen of a page.
    package struct Page: Sendable {
        package var url: WebURL
        package var byteCount: Int
        package var latency: Duration
        /// What it needs that no page before it needed.
        package var newRequisites: Int
        package var newRequisiteByteCount: Int
        /// Pages in scope that no page before it linked to.
        package var newPages: [WebURL]
        /// All pages in scope that it links to, each once.
        package var links: [WebURL]

        package init(
            url: WebURL, byteCount: Int, latency: Duration, newRequisites: Int = 0, newRequisiteByteCount: Int = 0,
            newPages: [WebURL] = [], links: [WebURL]? = nil
        ) {
            self.url = url
            self.byteCount = byteCount
            self.latency = latency
            self.newRequisites = newRequisites
            self.newRequisiteByteCount = newRequisiteByteCount
            self.newPages = newPages
            self.links = links ?? newPages
        }
    }

    /// Why a page was chosen.
    enum Choice: Sendable {
        case pattern
        /// By chance, of those that list others, and of all others.
        case list, chance
    }

    package let mostPages: Int
    package let mostOfPattern: Int
    package private(set) var pages: [Page] = []
    /// To how many pages each page led that was new, and why it was chosen.
    private(set) var news: [(choice: Choice, count: Int)] = []
    /// How many pages of the sample link to each.
    private(set) var linkers: [WebURL: Int] = [:]
    private let seed: UInt64
    private var heard: [Heard] = []
    /// Up to where what was heard of was looked through for patterns.
    private var head = 0
    private var choice = Choice.pattern
    /// How many of each shape were sampled.
    private var sampled: [UInt64: Int] = [:]
    /// Of each folder, since many sites have a name of its own for each page.
    private var sampledOfFolder: [String: Int] = [:]

    private struct Heard {
        let url: WebURL
        /// Of those that wait the one with the lowest number is next.
        let turn: UInt64
        let isList: Bool
        var isTaken = false
    }

    /// Of the pages, how many are chosen by their patterns.
    private static let patternShare = 0.4
    /// It is enough when so many pages led to nothing new, and fewer where nothing but the first page ever did.
    private static let enough = 24
    private static let enoughBehindFirst = 12

    /// - Parameter seed: other pages are chosen by another one.
    package init(mostPages: Int = 120, mostOfPattern: Int = 6, seed: UInt64 = 0) {
        self.mostPages = mostPages
        self.mostOfPattern = mostOfPattern
        self.seed = seed
    }

    /// The sample is large enough.
    package var isFull: Bool { pages.count >= mostPages }

    /// A page of the site, which is heard of once.
    package mutating func hear(of url: WebURL) {
        let turn = Mixing.mix(Mixing.mix(url.href.utf8) ^ seed)
        heard.append(Heard(url: url, turn: turn, isList: Self.listsOthers(url)))
    }

    /// What is to be looked at next; nil when that is enough.
    package mutating func next() -> WebURL? {
        guard !isFull else { return nil }
        while head < heard.count, Double(pages.count) < Double(mostPages) * Self.patternShare {
            defer { head += 1 }
            if !heard[head].isTaken, isNews(heard[head].url) { return take(head, .pattern) }
        }
        guard !isSettled else { return nil }
        let wanted: Choice = choice == .list ? .chance : .list
        let place = first { $0.isList == (wanted == .list) } ?? first { _ in true }
        return place.flatMap { take($0, heard[$0].isList ? .list : .chance) }
    }

    /// How many wait that list others, and how many others do.
    var waiting: (lists: Int, others: Int) {
        let waiting = heard.filter { !$0.isTaken }
        let lists = waiting.count(where: \.isList)
        return (lists, waiting.count - lists)
    }

    /// Nothing but the first page led to anything new.
    var isKnownByFirst: Bool { news.dropFirst().allSatisfy { $0.count == 0 } }

    private var isSettled: Bool {
        let wanted = isKnownByFirst ? Self.enoughBehindFirst : Self.enough
        return news.count > wanted && news.suffix(wanted).allSatisfy { $0.count == 0 }
    }

    private mutating func take(_ place: Int, _ choice: Choice) -> WebURL {
        heard[place].isTaken = true
        self.choice = choice
        return heard[place].url
    }

    private func first(where isWanted: (Heard) -> Bool) -> Int? {
        var found: Int?
        for place in heard.indices where !heard[place].isTaken && isWanted(heard[place]) {
            if found.map({ heard[place].turn < heard[$0].turn }) ?? true { found = place }
        }
        return found
    }

    private func isNews(_ url: WebURL) -> Bool {
        let shape = URLShape(url)
        return sampled[shape.key, default: 0] < mostOfPattern
            && sampledOfFolder[PatternName(shape).text(folders: .max), default: 0] < mostOfPattern
    }

    package mutating func fetched(_ page: Page) {
        let shape = URLShape(page.url)
        sampled[shape.key, default: 0] += 1
        sampledOfFolder[PatternName(shape).text(folders: .max), default: 0] += 1
        news.append((choice, page.newPages.count))
        for url in page.links { linkers[url, default: 0] += 1 }
        pages.append(page)
    }

    // MARK: - Lists

    private static let words = [
        "index", "contents", "toc", "sitemap", "menu", "list", "overview", "summary", "archive", "catalog",
    ]

    /// A folder, or a page whose name says that it lists others.
    static func listsOthers(_ url: WebURL) -> Bool {
        let path = url.path.lowercased()
        guard let last = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).last,
            !last.isEmpty
        else { return true }
        let stem = String(Substring(last.prefix { $0 != UInt8(ascii: ".") }))
        return stem == "all" || words.contains { stem.utf8.contains($0.utf8) }
    }
}
