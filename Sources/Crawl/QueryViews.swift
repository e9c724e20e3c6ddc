internal import Web

/// Recognises queries that only show stored content in another way: sorted, filtered or in another format.
///
/// A page can only be a view of another page: its parent, which has the same URL without some of the parameters.
/// The pages with parents that have the same path and the same names of parameters are a group. A group is first
/// unknown: its pages wait until nothing else is left to fetch, and then some of them are fetched as samples. When
/// nothing is left to fetch again, it is judged. If no sample has text, assets or links of its own, the group is a
/// view, and its other pages are left out. Otherwise it is content, and its pages are fetched in growing portions.
/// Groups with few parameters are sampled first. A group all of whose parameters make views by themselves is left out
/// without samples.
struct QueryViews: Sendable {
    /// The decision about a new page.
    enum Decision: Sendable, Equatable {
        case fetch, wait, leaveOut
    }

    /// The pages that need not wait any longer.
    struct Release: Sendable {
        var fetched: [UInt32] = []
        var leftOut: [UInt32] = []
    }

    private enum Standing {
        case unknown, content, view
    }

    private struct Group: Sendable {
        let names: [String]
        var standing = Standing.unknown
        var waiting: [UInt32] = []
        /// The released pages.
        var released: [UInt32] = []
        /// The numbers of fetched pages with and without content of their own.
        var good = 0
        var bad = 0
        /// Whether an earlier run recognised the group as a view.
        var isKnown = false

        /// Whether so many pages have content that the others need not wait.
        var isProved: Bool { good >= 16 && good >= bad }

        /// How many samples are wanted, when the first ones are about to be released.
        var sampleCount: Int { min(8, 3 + waiting.count / 10) }

        /// Judges the group when all released pages have been fetched.
        mutating func judge() {
            switch standing {
            case .unknown where good > 0: standing = .content
            case .unknown where !released.isEmpty: standing = bad > 0 || isKnown ? .view : .content
            case .content where bad >= 24 && bad > 12 * good: standing = .view
            case .unknown, .content, .view: break
            }
        }

        /// Releases waiting pages from the beginning, the middle and the end.
        mutating func release(_ count: Int, to release: inout Release) {
            let count = min(count, waiting.count)
            guard count > 0 else { return }
            let last = waiting.count - 1
            let places = count > last ? Array(0...last) : (0..<count).map { $0 * last / max(1, count - 1) }
            take(places, to: &release)
        }

        /// Releases the waiting pages at these places, which are in order.
        mutating func take(_ places: [Int], to release: inout Release) {
            let taken = places.map { waiting[$0] }
            release.fetched += taken
            released += taken
            for place in places.reversed() { waiting.remove(at: place) }
        }
    }

    /// The pages with one path.
    private struct Path: Sendable {
        let origin: String
        let name: String
        /// The first entry with this path and a query.
        let first: UInt32
        var groups: [String: Group] = [:]
        /// Hashes of the texts on the fetched pages.
        var pieces: Set<UInt32> = []
        var isInLine = false
    }

    /// The evidence about a set of names of parameters, from all paths of an origin.
    private struct Evidence: Sendable {
        var good = 0
        var bad = 0
        var paths: Set<Int> = []

        var isOfView: Bool { good == 0 && bad >= 6 && paths.count >= 4 }
    }

    private var paths: [Path] = []
    private var places: [String: Int] = [:]
    private var evidence: [String: Evidence] = [:]
    /// The number of fetched pages without content of their own, by origin.
    private var badCounts: [String: Int] = [:]
    /// The paths with waiting pages.
    private var line: [Int] = []
    private var pieceCount = 0
    /// The number of releases.
    private var round = 0
    /// The released pages of groups that are not content.
    private var samples: Set<UInt32> = []
    /// The views that an earlier run recognised, with the URLs of their fetched pages.
    private let known: [String: Set<String>]

    /// The minimum numbers of new words and of new numbers in a page with content of its own.
    private static let wordsOfContent = 6
    private static let numbersOfContent = 12
    private static let pathLimit = 50_000
    private static let groupLimit = 1000
    private static let pieceLimit = 2_000_000
    private static let viewLimit = 5000

    init(known: [String: [String]] = [:]) {
        self.known = known.mapValues(Set.init)
    }

    /// Whether pages wait for a release.
    var isWaiting: Bool { !line.isEmpty }

    /// Whether the page is a sample of a group that may be a view.
    func isSample(_ number: UInt32) -> Bool { samples.contains(number) }

    /// Decides about a new page.
    ///
    /// - Parameter hasParent: whether the site has a page of which this one may be a view (`parents(of:)`).
    mutating func admit(_ number: UInt32, _ url: WebURL, hasParent: Bool) -> Decision {
        guard let query = url.query, let place = place(of: url, number, isNew: true), hasParent else {
            return .fetch
        }
        let names = Self.names(query)
        guard !names.isEmpty else { return .fetch }
        let key = Self.key(names)
        if paths[place].groups[key] == nil {
            guard paths[place].groups.count < Self.groupLimit else { return .leaveOut }
            paths[place].groups[key] = Group(names: names, isKnown: isKnown(paths[place], key))
        }
        switch paths[place].groups[key]?.standing {
        case .content where paths[place].groups[key]?.isProved ?? false: return .fetch
        case .view: return .leaveOut
        case .content, .unknown, nil: break
        }
        paths[place].groups[key]?.waiting.append(number)
        if !paths[place].isInLine {
            paths[place].isInLine = true
            line.append(place)
        }
        return .wait
    }

    /// Adds a fetched page.
    ///
    /// - Parameters:
    ///   - pieces: the hashes of its texts; nil if they are not known.
    ///   - leadsOn: whether it was the first to link to content or to need an asset.
    mutating func fetched(_ number: UInt32, _ url: WebURL, pieces: TextPieces?, leadsOn: Bool) {
        guard let place = place(of: url, number, isNew: false) else { return }
        let isFirst = paths[place].pieces.isEmpty
        let newWords = add(pieces?.words ?? [], to: place)
        let newNumbers = add(pieces?.numbers ?? [], to: place)
        let key = Self.key(url.query.map(Self.names) ?? [])
        guard let group = paths[place].groups[key], group.released.contains(number) else { return }
        let whole = paths[place].origin + "?" + key
        let isNew = newWords >= Self.wordsOfContent || newNumbers >= Self.numbersOfContent
        if leadsOn || !isFirst && isNew {
            paths[place].groups[key]?.good += 1
            evidence[whole, default: Evidence()].good += 1
        } else if pieces != nil, !isFirst, pieceCount < Self.pieceLimit {
            paths[place].groups[key]?.bad += 1
            badCounts[paths[place].origin, default: 0] += 1
            evidence[whole, default: Evidence()].bad += 1
            evidence[whole]?.paths.insert(place)
        }
    }

    private mutating func add(_ pieces: [UInt32], to place: Int) -> Int {
        var count = 0
        for piece in pieces where pieceCount + count < Self.pieceLimit {
            if paths[place].pieces.insert(piece).inserted { count += 1 }
        }
        pieceCount += count
        return count
    }

    /// Decides about the waiting pages, when nothing else is left to fetch. Of two calls in a row, at least one decides
    /// about a page.
    ///
    /// - Parameters:
    ///   - pageCount: the number of pages that were requested.
    ///   - href: returns the URL of an entry.
    mutating func release(pageCount: Int, _ href: (UInt32) -> String) -> Release {
        round += 1
        var release = Release()
        // In no order, so that the samples do not come only from the first paths.
        let places = line.sorted { Mixing.mix(UInt64($0)) < Mixing.mix(UInt64($1)) }
        line = []
        // The samples of this round, which may turn out to be views.
        var sampled: [String: Int] = [:]
        for place in places {
            for key in paths[place].groups.keys { paths[place].groups[key]?.judge() }
            let origin = paths[place].origin
            let keys = paths[place].groups.filter { !$0.value.waiting.isEmpty }.sorted {
                ($0.value.names.count, $0.value.waiting[0]) < ($1.value.names.count, $1.value.waiting[0])
            }.map(\.key)
            var nameCountOfSamples: Int?
            for key in keys {
                guard var group = paths[place].groups[key] else { continue }
                if group.standing == .unknown, group.isKnown {
                    let chosen = group.waiting.indices.filter { isKnownSample(href(group.waiting[$0])) }
                    samples.formUnion(chosen.map { group.waiting[$0] })
                    group.take(chosen, to: &release)
                    if chosen.isEmpty, round > 1 {
                        // The samples on other paths have been fetched again, and may have content now.
                        if evidence[origin + "?" + key]?.good ?? 0 > 0 {
                            group.isKnown = false
                        } else {
                            group.standing = .view
                        }
                    }
                } else if group.standing == .unknown, isViewByItsNames(place, group.names) {
                    group.standing = .view
                }
                switch group.standing {
                case .view:
                    release.leftOut += group.waiting
                    group.waiting = []
                case .content:
                    samples.subtract(group.released)
                    group.release(group.isProved ? .max : max(8, 4 * group.good), to: &release)
                case .unknown where group.isKnown:
                    break
                case .unknown:
                    guard nameCountOfSamples == nil || nameCountOfSamples == group.names.count else { break }
                    let views = badCounts[origin, default: 0]
                    let limit = Self.viewCount(among: pageCount)
                    guard views >= limit || views + sampled[origin, default: 0] < limit else { break }
                    nameCountOfSamples = group.names.count
                    let before = group.released.count
                    group.release(views >= limit ? 1 : group.sampleCount, to: &release)
                    samples.formUnion(group.released[before...])
                    sampled[origin, default: 0] += group.released.count - before
                }
                paths[place].groups[key] = group
            }
            paths[place].isInLine = paths[place].groups.values.contains { !$0.waiting.isEmpty }
            if paths[place].isInLine { line.append(place) }
        }
        return release
    }

    /// The number of views that are fetched of a site with so many pages, before each further group gets one sample.
    private static func viewCount(among pages: Int) -> Int { 24 + pages / 10 }

    /// Whether a group that was not sampled is a view: on other paths it is, or each of its parameters makes one.
    private func isViewByItsNames(_ place: Int, _ names: [String]) -> Bool {
        let path = paths[place]
        func isView(_ key: String) -> Bool {
            path.groups[key]?.standing == .view || evidence[path.origin + "?" + key]?.isOfView ?? false
        }
        return isView(Self.key(names)) || names.count > 1 && names.allSatisfy(isView)
    }

    /// Whether a new entry leads to content: no entry before `first` has its path, or its group is content.
    func isContent(_ number: UInt32, _ url: WebURL, isWaiting: Bool, since first: UInt32) -> Bool {
        guard let query = url.query, let place = places[Self.name(ofPath: url)] else { return !isWaiting }
        if paths[place].groups[Self.key(Self.names(query))]?.standing == .content { return true }
        return !isWaiting && paths[place].first >= first
    }

    // MARK: - Known views

    /// The recognised views, with the URLs of their fetched pages.
    ///
    /// - Parameter href: returns the URL of an entry.
    func views(_ href: (UInt32) -> String) -> [String: [String]] {
        var views: [String: [String]] = [:]
        for (key, evidence) in evidence where evidence.isOfView { views[key] = [] }
        for path in paths {
            for (key, group) in path.groups
            where group.standing == .view || views[path.origin + "?" + key] != nil {
                let fetched = group.released.map(href)
                if views[path.origin + "?" + key] != nil {
                    views[path.origin + "?" + key]?.append(contentsOf: fetched)
                } else if views.count < Self.viewLimit {
                    views[path.name + "?" + key] = fetched
                } else {
                    views[Self.more, default: []].append(contentsOf: fetched)
                }
            }
        }
        return views
    }

    /// The key that stands for all further views.
    private static let more = "*"

    /// Whether a page is one of these views, and none of their fetched pages.
    static func contain(_ url: WebURL, _ views: [String: [String]]) -> Bool {
        guard !views.isEmpty, let query = url.query else { return false }
        let names = names(query)
        guard !names.isEmpty else { return false }
        let path = name(ofPath: url)
        func samples(_ key: String) -> [String]? { views[path + "?" + key] ?? views[url.origin + "?" + key] }
        if let samples = samples(key(names)) ?? views[more] { return !samples.contains(url.href) }
        return names.count > 1 && names.allSatisfy { samples($0) != nil }
    }

    private func isKnown(_ path: Path, _ key: String) -> Bool {
        known[path.name + "?" + key] != nil || known[path.origin + "?" + key] != nil
            || known[Self.more] != nil
    }

    private func isKnownSample(_ href: String) -> Bool { known.values.contains { $0.contains(href) } }

    // MARK: - Names

    private mutating func place(of url: WebURL, _ number: UInt32, isNew: Bool) -> Int? {
        let name = Self.name(ofPath: url)
        if let place = places[name] { return place }
        guard isNew, paths.count < Self.pathLimit else { return nil }
        places[name] = paths.count
        paths.append(Path(origin: url.origin, name: name, first: number))
        return paths.count - 1
    }

    private static func name(ofPath url: WebURL) -> String { url.origin + url.path }

    private static func key(_ names: [String]) -> String { names.joined(separator: "&") }

    /// The names of the parameters in alphabetical order, without those that number the pages of a list. A name with
    /// digits and no value, such as `123-title`, is `#`.
    static func names(_ query: String) -> [String] {
        var names: Set<String> = []
        for item in query.split(separator: "&") where !isOfList(item) {
            let name = item.prefix { $0 != "=" }
            let isIdentifier = name.count == item.count && name.utf8.contains(where: \.isASCIIDigit)
            if !name.isEmpty { names.insert(isIdentifier ? "#" : String(name)) }
        }
        return names.sorted()
    }

    /// The URLs of which a page with this query may be a view, as references: those without one of the parameters, or
    /// with only the first ones. The number of a page in a list is no reason to be a view.
    static func parents(of query: String) -> [String] {
        let items = query.split(separator: "&")
        guard (2...8).contains(items.count) else { return [] }
        var parents: [[Substring]] = []
        for place in items.indices where !isOfList(items[place]) {
            let others = Array(items[..<place] + items[(place + 1)...])
            parents += [others, others.filter { !isOfList($0) }]
        }
        // The first parameters often name the page, and the others the view of it.
        for count in 1..<items.count { parents.append(Array(items[..<count])) }
        let own = items.filter { !isOfList($0) }
        let references = parents.filter { !$0.isEmpty && $0 != own }.map { "?" + $0.joined(separator: "&") }
        return Array(Set(references)).sorted()
    }

    private static func isOfList(_ item: Substring) -> Bool {
        let name = item.prefix { $0 != "=" }
        let value = item.dropFirst(name.count + 1)
        let isNumber = !value.isEmpty && value.utf8.allSatisfy(\.isASCIIDigit)
        return cursorNames.contains(name.lowercased()) || isNumber && pageNames.contains(name.lowercased())
    }

    private static let cursorNames: Set<String> = [
        "_next", "cursor", "after", "before", "next", "page_token", "pagetoken", "continue",
    ]
    private static let pageNames: Set<String> = [
        "page", "p", "pg", "paged", "pagenum", "page_num", "pageno", "offset", "start", "skip", "from",
        "cpage",
    ]
}
