internal import Web

/// Recognises queries that only show stored content in another way: sorted, filtered or in another format.
///
/// The pages with the same path and the same names of parameters are a group. A group is first unknown: its pages
/// wait until nothing else is left to fetch, and then a few of them are fetched as samples. If the samples have no
/// text, no asset and no link of their own, the group is a view, and its other pages are left out. Otherwise it is
/// content, and its pages are fetched in growing portions, as long as they bring something new. Groups with few
/// parameters are sampled first, because a parameter that makes a view makes one in combinations too.
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
        /// The number of names of parameters.
        let nameCount: Int
        var waiting: [UInt32] = []
        /// The number of pages that were released.
        var released = 0
        /// The numbers of fetched pages with and without content of their own.
        var good = 0
        var bad = 0
        /// The first fetched pages.
        var samples: [UInt32] = []
        /// Whether the pages are left out without samples, because the site has enough views.
        var isLeftOut = false

        var standing: Standing {
            if isLeftOut { return .view }
            if bad >= QueryViews.pagesForDoubt, bad > 3 * good { return .view }
            if good > 0 { return .content }
            guard released >= QueryViews.sampleCount else { return .unknown }
            return bad > 0 ? .view : .content
        }

        /// Releases the first waiting pages.
        mutating func release(_ count: Int, to release: inout Release) {
            let first = waiting.prefix(max(0, count))
            release.fetched += first
            released += first.count
            waiting.removeFirst(first.count)
        }

        /// Whether so many pages have content that the others need not wait.
        var isProved: Bool { good >= 16 && good >= 4 * bad }
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

        var hasViews: Bool { groups.values.contains { $0.standing == .view } }
    }

    /// The evidence about the name of a parameter, from all paths of an origin.
    private struct Name: Sendable {
        var good = 0
        var bad = 0
        var paths: Set<Int> = []

        var isView: Bool { good == 0 && bad >= 6 && paths.count >= 4 }
    }

    private var paths: [Path] = []
    private var places: [String: Int] = [:]
    private var names: [String: Name] = [:]
    /// The number of fetched pages without content of their own, by origin.
    private var badCounts: [String: Int] = [:]
    /// The paths with waiting pages.
    private var line: [Int] = []
    private var pieceCount = 0
    /// The views that an earlier run recognised, with the URLs of their fetched pages.
    private let known: [String: Set<String>]

    private static let sampleCount = 3
    private static let sampleLimit = 256
    private static let pagesForDoubt = 8
    private static let pathLimit = 50_000
    private static let groupLimit = 1000
    private static let pieceLimit = 2_000_000
    private static let viewLimit = 1000

    init(known: [String: [String]] = [:]) {
        self.known = known.mapValues(Set.init)
        for sample in Set(known.values.joined()) {
            if let url = WebURL(sample) { badCounts[url.origin, default: 0] += 1 }
        }
    }

    /// Whether pages wait for a release.
    var isWaiting: Bool { !line.isEmpty }

    /// Decides about a new page.
    ///
    /// - Parameter isBaseKnown: whether the page without its query is one of the site.
    mutating func admit(_ number: UInt32, _ url: WebURL, isBaseKnown: Bool) -> Decision {
        guard let query = url.query, let place = place(of: url, number, isNew: true) else { return .fetch }
        let names = Self.names(query)
        guard !names.isEmpty else { return .fetch }
        let key = names.joined(separator: "&")
        if let samples = samples(of: url, names) { return samples.contains(url.href) ? .fetch : .leaveOut }
        if paths[place].first == number, !isBaseKnown { return .fetch }
        if standing(place, names) == .view { return .leaveOut }
        guard paths[place].groups[key] != nil || paths[place].groups.count < Self.groupLimit else {
            return paths[place].hasViews ? .leaveOut : .fetch
        }
        if paths[place].groups[key]?.isProved ?? false { return .fetch }
        paths[place].groups[key, default: Group(nameCount: names.count)].waiting.append(number)
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
    ///   - isData: whether it has a format for programs.
    ///   - leadsOn: whether it was the first to link to a page with another path, or to need an asset.
    mutating func fetched(_ number: UInt32, _ url: WebURL, pieces: [UInt32]?, isData: Bool, leadsOn: Bool) {
        guard let place = place(of: url, number, isNew: false) else { return }
        let isFirst = paths[place].pieces.isEmpty
        var newCount = 0
        for piece in pieces ?? [] where pieceCount < Self.pieceLimit {
            if paths[place].pieces.insert(piece).inserted { newCount += 1 }
        }
        pieceCount += newCount
        let names = url.query.map(Self.names) ?? []
        let key = names.joined(separator: "&")
        guard paths[place].groups[key] != nil else { return }
        if paths[place].groups[key]?.samples.count ?? 0 < Self.sampleLimit {
            paths[place].groups[key]?.samples.append(number)
        }
        let isNew = newCount >= 12 && newCount * 100 >= 8 * (pieces?.count ?? 0)
        if leadsOn || !isFirst && isNew {
            paths[place].groups[key]?.good += 1
            if names.count == 1 { self.names[paths[place].origin + "?" + key, default: Name()].good += 1 }
        } else if isData || pieces != nil && !isFirst && pieceCount < Self.pieceLimit {
            paths[place].groups[key]?.bad += 1
            badCounts[paths[place].origin, default: 0] += 1
            guard names.count == 1 else { return }
            self.names[paths[place].origin + "?" + key, default: Name()].bad += 1
            self.names[paths[place].origin + "?" + key]?.paths.insert(place)
        }
    }

    /// Decides about the waiting pages, when nothing else is left to fetch. At least one page is released if any waits.
    ///
    /// - Parameter pageCount: the number of pages that were requested.
    mutating func release(pageCount: Int) -> Release {
        var release = Release()
        let places = line
        line = []
        // The samples of this round, which may turn out to be views.
        var sampled: [String: Int] = [:]
        for place in places {
            let origin = paths[place].origin
            let keys = paths[place].groups.filter { !$0.value.waiting.isEmpty }.sorted {
                ($0.value.nameCount, $0.value.waiting[0]) < ($1.value.nameCount, $1.value.waiting[0])
            }.map(\.key)
            var nameCountOfSamples: Int?
            for key in keys {
                guard var group = paths[place].groups[key] else { continue }
                let names = key.split(separator: "&").map(String.init)
                switch standing(place, names) {
                case .view:
                    release.leftOut += group.waiting
                    group.waiting = []
                case .content:
                    let count = group.isProved ? .max : max(8, 4 * group.good)
                    group.release(count, to: &release)
                case .unknown:
                    guard nameCountOfSamples == nil || nameCountOfSamples == group.nameCount else { continue }
                    let views = badCounts[origin, default: 0]
                    let limit = Self.viewCount(among: pageCount)
                    if views >= limit, paths[place].hasViews {
                        group.isLeftOut = true
                        release.leftOut += group.waiting
                        group.waiting = []
                    } else if views >= limit
                        ? nameCountOfSamples == nil : views + sampled[origin, default: 0] < limit
                    {
                        nameCountOfSamples = group.nameCount
                        let before = release.fetched.count
                        group.release(views >= limit ? 1 : Self.sampleCount - group.released, to: &release)
                        sampled[origin, default: 0] += release.fetched.count - before
                    }
                }
                paths[place].groups[key] = group
            }
            paths[place].isInLine = paths[place].groups.values.contains { !$0.waiting.isEmpty }
            if paths[place].isInLine { line.append(place) }
        }
        return release
    }

    /// The number of views that are fetched of a site with so many pages, before groups are left out without samples.
    private static func viewCount(among pages: Int) -> Int { 24 + pages / 10 }

    /// Whether no entry before `first` has the path of this URL.
    func isNewPath(_ url: WebURL, since first: UInt32) -> Bool {
        guard url.query != nil, let place = places[Self.name(ofPath: url)] else { return true }
        return paths[place].first >= first
    }

    /// The recognised views, with the URLs of their fetched pages.
    ///
    /// - Parameter href: returns the URL of an entry.
    func views(_ href: (UInt32) -> String) -> [String: [String]] {
        var views = known.mapValues { $0.sorted() }
        for (key, name) in names where name.isView && views.count < Self.viewLimit { views[key] = [] }
        for path in paths {
            for (key, group) in path.groups {
                let fetched = group.samples.map(href)
                views[path.origin + "?" + key]?.append(contentsOf: fetched)
                if group.standing == .view, views.count < Self.viewLimit {
                    views[path.name + "?" + key] = fetched
                }
            }
        }
        return views
    }

    /// Whether a page is one of these views, and none of their fetched pages.
    static func contain(_ url: WebURL, _ views: [String: [String]]) -> Bool {
        guard !views.isEmpty, let query = url.query else { return false }
        return viewKeys(of: url, names(query)).contains { key in
            views[key].map { !$0.contains(url.href) } ?? false
        }
    }

    private func samples(of url: WebURL, _ names: [String]) -> Set<String>? {
        guard !known.isEmpty else { return nil }
        return Self.viewKeys(of: url, names).lazy.compactMap { known[$0] }.first
    }

    /// The views to which a page may belong.
    private static func viewKeys(of url: WebURL, _ names: [String]) -> [String] {
        let path = name(ofPath: url)
        return [path + "?" + names.joined(separator: "&")]
            + names.flatMap { [path + "?" + $0, url.origin + "?" + $0] }
    }

    private func standing(_ place: Int, _ names: [String]) -> Standing {
        let path = paths[place]
        for name in names {
            if path.groups[name]?.standing == .view { return .view }
            if self.names[path.origin + "?" + name]?.isView ?? false { return .view }
        }
        return path.groups[names.joined(separator: "&")]?.standing ?? .unknown
    }

    private mutating func place(of url: WebURL, _ number: UInt32, isNew: Bool) -> Int? {
        let name = Self.name(ofPath: url)
        if let place = places[name] { return place }
        guard isNew, paths.count < Self.pathLimit else { return nil }
        places[name] = paths.count
        paths.append(Path(origin: url.origin, name: name, first: number))
        return paths.count - 1
    }

    private static func name(ofPath url: WebURL) -> String { url.origin + url.path }

    /// The names of the parameters in alphabetical order, without those that number the pages of a list.
    static func names(_ query: String) -> [String] {
        var names: Set<String> = []
        for item in query.split(separator: "&") {
            let name = item.prefix { $0 != "=" }
            let value = item.dropFirst(name.count + 1)
            let isNumber = !value.isEmpty && value.utf8.allSatisfy(\.isASCIIDigit)
            if cursorNames.contains(name.lowercased()) || isNumber && pageNames.contains(name.lowercased()) {
                continue
            }
            if !name.isEmpty { names.insert(String(name)) }
        }
        return names.sorted()
    }

    private static let cursorNames: Set<String> = [
        "_next", "cursor", "after", "before", "next", "page_token", "pagetoken", "continue",
    ]
    private static let pageNames: Set<String> = [
        "page", "p", "pg", "paged", "pagenum", "page_num", "pageno", "offset", "start", "skip", "from",
        "cpage",
    ]
}
