internal import Web

/// Recognises queries that only show stored content in another way: sorted, filtered or in another format.
///
/// A page can only be a view of another page: its parent, which has the same URL without some of the parameters.
/// The pages with parents that have the same path and the same names of parameters are a group. A group is first
/// unknown: its pages wait until nothing else is left to fetch, and then some of them are fetched as samples. When
/// nothing is left to fetch again, it is judged. If no sample has text, assets or links of its own, the group is a
/// view, and its other pages are left out. Otherwise it is content, and its pages are fetched in growing portions.
/// A page is compared only with pages of its kind (`?action=view`, `?action=list`): that a list contains the titles of its
/// pages does not make these views of it. Groups with few parameters are sampled first. If each parameter of a group
/// makes a view by itself, the group is left out without samples. Pages of gitweb are not compared: their queries name the
/// content (`RepositoryPage`).
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
        var released: Set<UInt32> = []
        /// The number of fetched pages with content of their own.
        var contentCount = 0
        /// The number of fetched pages that only repeat other pages.
        var repeatCount = 0
        /// The number of fetched pages that were the first of their kind, and could not be compared.
        var uncomparedCount = 0
        /// How many pages must repeat others before the group is judged as a view.
        var minRepeats = QueryViews.minRepeats
        /// Whether an earlier run recognised the group as a view.
        var isKnownView = false

        /// Whether so many pages have content that the others need not wait.
        var isClearlyContent: Bool { contentCount >= 16 && contentCount >= repeatCount }

        /// Whether the fetched pages only repeat others, as far as is known.
        var onlyRepeats: Bool {
            standing == .view
                || standing == .unknown && contentCount == 0 && repeatCount > 0 && waiting.isEmpty
        }

        /// How many samples are wanted, when the first ones are about to be released.
        var sampleCount: Int { min(8, 3 + waiting.count / 10) }

        /// How many pages of a group with content are released at a time.
        var portion: Int { isClearlyContent ? .max : max(8, 4 * contentCount) }

        /// Judges the group when all released pages have been fetched.
        mutating func judge() {
            switch standing {
            case .unknown where contentCount > 0: standing = .content
            case .unknown where repeatCount >= minRepeats || isKnownView && !released.isEmpty:
                standing = .view
            case .unknown where released.count > uncomparedCount && repeatCount == 0: standing = .content
            case .content where repeatCount >= 24 && repeatCount > 12 * contentCount: standing = .view
            case .unknown, .content, .view: break
            }
        }

        /// Lets a view that was judged by few pages be judged again, because of a page with a new path in its query. The first
        /// pages may all have been copies of one file.
        mutating func reopen() {
            guard standing == .view, contentCount == 0, repeatCount < QueryViews.maxRepeatsToReopen else {
                return
            }
            standing = .unknown
            minRepeats = repeatCount + QueryViews.minRepeats
        }

        /// Sorts the waiting pages before samples are taken, so that these do not depend on the order of responses.
        mutating func sortWaiting(_ href: (UInt32) -> String) {
            guard standing == .unknown, waiting.count > 1 else { return }
            waiting = waiting.map { (href: href($0), number: $0) }.sorted { $0.href < $1.href }.map(\.number)
        }

        /// Removes and returns waiting pages from the beginning, the middle and the end.
        mutating func take(_ count: Int) -> [UInt32] {
            let count = min(count, waiting.count)
            guard count > 0 else { return [] }
            let last = waiting.count - 1
            return take(
                at: count > last ? Array(0...last) : (0..<count).map { $0 * last / max(1, count - 1) })
        }

        /// Removes and returns the waiting pages at these places, which are in order.
        mutating func take(at places: [Int]) -> [UInt32] {
            let taken = places.map { waiting[$0] }
            released.formUnion(taken)
            for place in places.reversed() { waiting.remove(at: place) }
            return taken
        }
    }

    /// The pages with one path.
    private struct Path: Sendable {
        let origin: String
        let name: String
        /// The first entry with this path and a query.
        let first: UInt32
        var groups: [String: Group] = [:]
        /// Hashes of the texts on the fetched pages, by the kind of page (`kind(of:)`).
        var pieces: [String: Set<UInt32>] = [:]
        /// Parts of the texts of pages of a kind, by what the other parameters name (`identity(of:)`).
        var sketches: [String: [Sketch]] = [:]
        var isQueued = false
    }

    /// A part of the pieces of a page, by which pages of two kinds are compared.
    private struct Sketch: Sendable {
        let kind: String
        let pieces: Set<UInt32>

        /// Whether this page has nearly all of the text of another one, and not much more.
        func repeats(_ other: Set<UInt32>) -> Bool {
            other.count >= 4 && 2 * other.count >= pieces.count
                && 10 * other.subtracting(pieces).count <= other.count
        }
    }

    /// The evidence about a set of names of parameters, from all paths of an origin.
    private struct Evidence: Sendable {
        var contentCount = 0
        var repeatCount = 0
        /// The paths of the pages that only repeat others.
        var paths: Set<Int> = []
        /// Hashes of the texts that were new on some path, such as a line with the age of a version.
        var pieces: Set<UInt32> = []

        /// Whether the parameter only shows pages in another way: most pages with it repeat others. A few may have content
        /// of their own, such as the first one with a new line of text.
        var isOfView: Bool { repeatCount >= 6 + 12 * contentCount && paths.count >= 4 }
        /// Whether so many pages have content that all paths may be sampled at once.
        var isOfContent: Bool { contentCount > 0 && 4 * contentCount >= repeatCount }
    }

    private var paths: [Path] = []
    /// The index in `paths` of each path, by its name.
    private var indices: [String: Int] = [:]
    private var evidence: [String: Evidence] = [:]
    /// The number of fetched pages that only repeat others, by origin.
    private var repeatCounts: [String: Int] = [:]
    /// The paths with waiting pages.
    private var queue: [Int] = []
    private var pieceCount = 0
    /// Digests of the bodies of fetched pages without a query.
    private var bodies: [UInt32: UInt64] = [:]
    /// The values of parameters that are paths, such as `f=src/a.py`, with the name and the path of the URL.
    private var pathValues: Set<UInt64> = []
    /// The entries that were the first with such a value.
    private var pathEntries: Set<UInt32> = []
    /// The number of releases.
    private var round = 0
    /// The released pages of groups that are not content.
    private var samples: Set<UInt32> = []
    /// The views that an earlier run recognised (`views`), and all of their fetched pages.
    private let knownViews: Set<String>
    private let knownSamples: Set<String>

    /// The minimum numbers of new words and of new numbers in a page with content of its own.
    private static let wordsOfContent = 6
    private static let numbersOfContent = 12
    /// One or two pages may be exceptions, such as folders with few files.
    private static let minRepeats = 3
    /// The number of pages that repeat others from which a view is not judged again.
    private static let maxRepeatsToReopen = 8
    /// The maximum number of kinds of pages whose texts are stored for the same other parameters.
    private static let maxSketches = 4
    /// How many samples of groups with the same names are taken at a time. Six on four paths are evidence.
    private static let samplesOfNames = 8
    private static let pathLimit = 50_000
    private static let groupLimit = 1000
    private static let pieceLimit = 2_000_000
    private static let viewLimit = 5000
    private static let bodyLimit = 500_000

    init(known: [String: [String]] = [:]) {
        knownViews = Set(known.keys)
        knownSamples = Set(known.values.joined())
    }

    /// Whether pages wait for a release.
    var isWaiting: Bool { !queue.isEmpty }

    /// Whether the page is a sample of a group that may be a view.
    func isSample(_ number: UInt32) -> Bool { samples.contains(number) }

    /// Whether a page with a query has content of its own, as fetched pages of its group show, or those with the same names
    /// of parameters on other paths.
    func hasContent(_ url: WebURL) -> Bool {
        guard let query = url.query, let index = indices[Self.name(ofPath: url)] else { return true }
        let key = Self.key(Self.names(query))
        guard let group = paths[index].groups[key] else { return true }
        return group.contentCount > 0 || group.standing == .content
            || evidence[paths[index].origin + "?" + key]?.isOfContent ?? false
    }

    /// Whether a page is known that has the same path and a query.
    func hasQueries(of url: WebURL) -> Bool { indices[Self.name(ofPath: url)] != nil }

    /// Decides about a new page.
    ///
    /// - Parameter hasParent: whether the site has a page of which this one may be a view (`parents(of:)`).
    mutating func admit(_ number: UInt32, _ url: WebURL, hasParent: Bool) -> Decision {
        guard let query = url.query, let index = index(of: url, number, isNew: true) else { return .fetch }
        notePathValues(of: query, at: index, number)
        guard hasParent else { return .fetch }
        let names = Self.names(query)
        guard !names.isEmpty else { return .fetch }
        let key = Self.key(names)
        var group = paths[index].groups.removeValue(forKey: key)
        if group == nil {
            guard paths[index].groups.count < Self.groupLimit else { return .leaveOut }
            group = Group(names: names, isKnownView: isKnownView(key, of: paths[index]))
        }
        defer { paths[index].groups[key] = group }
        if group?.released.contains(number) ?? false { return .fetch }
        if pathEntries.contains(number) { group?.reopen() }
        switch group?.standing {
        case .view: return .leaveOut
        case .content where group?.isClearlyContent ?? false: return .fetch
        case .content, .unknown, nil: break
        }
        group?.waiting.append(number)
        if !paths[index].isQueued {
            paths[index].isQueued = true
            queue.append(index)
        }
        return .wait
    }

    /// Adds the body of a fetched page without a query. Links to it with a query may be found after it, when its texts are
    /// no longer known.
    mutating func addBody(_ digest: UInt64, of number: UInt32) {
        if bodies.count < Self.bodyLimit { bodies[number] = digest }
    }

    /// Whether a body is the same as that of a fetched page without a query.
    func isCopy(_ digest: UInt64, of number: UInt32) -> Bool { bodies[number] == digest }

    /// Adds a fetched page.
    ///
    /// - Parameters:
    ///   - pieces: the hashes of its texts; nil if they are not known.
    ///   - leadsOn: whether it was the first to link to content or to need an asset.
    ///   - isCopy: whether its body is the same as that of the page without the query.
    mutating func didFetch(
        _ number: UInt32, _ url: WebURL, pieces: TextPieces?, leadsOn: Bool, isCopy: Bool = false
    ) {
        guard let index = index(of: url, number, isNew: false) else { return }
        let kind = Self.kind(of: url)
        let isFirst = paths[index].pieces[kind]?.isEmpty ?? true
        let repeatsOther = pieces.map { addSketch($0, url, kind, to: index) } ?? false
        var newWords = add(pieces?.words ?? [], kind, to: index)
        var newNumbers = add(pieces?.numbers ?? [], kind, to: index)
        let key = Self.key(url.query.map(Self.names) ?? [])
        guard paths[index].groups[key]?.released.contains(number) ?? false else { return }
        let ofOrigin = paths[index].origin + "?" + key
        // A view adds the same line to every path.
        newWords.removeAll { !(evidence[ofOrigin, default: Evidence()].pieces.insert($0).inserted) }
        newNumbers.removeAll { !(evidence[ofOrigin, default: Evidence()].pieces.insert($0).inserted) }
        pieceCount += newWords.count + newNumbers.count
        // Pages of one kind are more alike than others.
        let minWords = kind.isEmpty ? Self.wordsOfContent : Self.wordsOfContent / 2
        let isNew = newWords.count >= minWords || newNumbers.count >= Self.numbersOfContent
        if !isCopy, leadsOn || !isFirst && isNew && !repeatsOther {
            paths[index].groups[key]?.contentCount += 1
            evidence[ofOrigin, default: Evidence()].contentCount += 1
        } else if isCopy || pieces != nil, isCopy || !isFirst || repeatsOther, pieceCount < Self.pieceLimit {
            paths[index].groups[key]?.repeatCount += 1
            repeatCounts[paths[index].origin, default: 0] += 1
            evidence[ofOrigin, default: Evidence()].repeatCount += 1
            evidence[ofOrigin]?.paths.insert(index)
        } else if pieces != nil, isFirst {
            paths[index].groups[key]?.uncomparedCount += 1
        }
    }

    /// Adds pieces of text to those of a kind of page, and returns the new ones.
    private mutating func add(_ pieces: [UInt32], _ kind: String, to index: Int) -> [UInt32] {
        var known = paths[index].pieces.removeValue(forKey: kind) ?? []
        let others = kind.isEmpty ? nil : paths[index].pieces[""]
        let new = pieces.prefix(max(0, Self.pieceLimit - pieceCount)).filter {
            known.insert($0).inserted && !(others?.contains($0) ?? false)
        }
        paths[index].pieces[kind] = known
        pieceCount += new.count
        return new
    }

    /// Adds a part of the text of a page of some kind. Returns whether it repeats a page of another kind with the same
    /// other parameters, such as `?action=print&id=1` that of `?action=view&id=1`.
    private mutating func addSketch(
        _ pieces: TextPieces, _ url: WebURL, _ kind: String, to index: Int
    ) -> Bool {
        guard let identity = url.query.map(Self.identity), !identity.isEmpty, pieceCount < Self.pieceLimit
        else { return false }
        let others = paths[index].sketches[identity] ?? []
        guard !kind.isEmpty || !others.isEmpty else { return false }
        let sketch = Set((pieces.words + pieces.numbers).filter { $0 % 4 == 0 })
        let repeatsOther = others.contains { $0.kind != kind && $0.repeats(sketch) }
        if !kind.isEmpty, others.count < Self.maxSketches, !others.contains(where: { $0.kind == kind }) {
            paths[index].sketches[identity, default: []].append(Sketch(kind: kind, pieces: sketch))
            pieceCount += sketch.count
        }
        return repeatsOther
    }

    // MARK: - Folders

    /// Notes the values of parameters that are paths.
    private mutating func notePathValues(of query: String, at index: Int, _ number: UInt32) {
        guard pathValues.count < Self.pieceLimit else { return }
        for item in query.queryItems where Self.valueOfPath(item) != nil {
            let value = Mixing.mix(UInt64(index)) ^ Mixing.mix(item.utf8)
            if pathValues.insert(value).inserted { pathEntries.insert(number) }
        }
    }

    /// Whether a new page is below another one, as `?f=src/a.py` is below `?f=src`. A folder with few files has little text
    /// of its own, and is content all the same.
    func isBelow(_ url: WebURL, _ number: UInt32, folder: WebURL) -> Bool {
        guard pathEntries.contains(number), let query = url.query, url.path == folder.path else {
            return false
        }
        let folders = folder.query?.queryItems ?? []
        return query.queryItems.contains { item in
            guard Self.valueOfPath(item) != nil else { return false }
            return folders.contains { folder in
                guard folder.last != "=", folder.contains("="), item.utf8.count > folder.utf8.count,
                    item.utf8.starts(with: folder.utf8)
                else { return false }
                return Self.startsWithSeparator(item.utf8.dropFirst(folder.utf8.count))
                    || folder.utf8.last == UInt8(ascii: "/")
            }
        }
    }

    /// The value of a parameter if it is a path of several names.
    private static func valueOfPath(_ item: Substring) -> Substring? {
        let value = item.drop { $0 != "=" }.dropFirst()
        var rest = value.utf8
        while !rest.isEmpty {
            if startsWithSeparator(rest) { return value }
            rest = rest.dropFirst()
        }
        return nil
    }

    /// Whether text begins with a slash, as it is or encoded.
    private static func startsWithSeparator(_ text: Substring.UTF8View) -> Bool {
        text.first == UInt8(ascii: "/") || text.starts(with: "%2F".utf8) || text.starts(with: "%2f".utf8)
    }

    // MARK: - Releases

    /// Decides about the waiting pages, when nothing else is left to fetch. Of two calls in a row, at least one decides
    /// about a page.
    ///
    /// - Parameters:
    ///   - pageCount: the number of pages that were requested.
    ///   - href: returns the URL of an entry.
    mutating func release(pageCount: Int, _ href: (UInt32) -> String) -> Release {
        round += 1
        var release = Release()
        // In an order that has nothing to do with the paths, so that the samples do not come only from the first of them, and
        // that does not depend on the order of responses either.
        let queued = queue.map { (order: Mixing.mix(paths[$0].name.utf8), index: $0) }
            .sorted { $0.order < $1.order }.map(\.index)
        queue = []
        // The number of samples of this round, by origin, and by origin and names of parameters.
        var sampled: [String: Int] = [:]
        for index in queued {
            for key in paths[index].groups.keys {
                paths[index].groups[key]?.judge()
                paths[index].groups[key]?.sortWaiting(href)
            }
            let keys = paths[index].groups.filter { !$0.value.waiting.isEmpty }.sorted {
                ($0.value.names.count, $0.key) < ($1.value.names.count, $1.key)
            }.map(\.key)
            // Groups with more parameters wait until those with fewer have been judged.
            var nameCountOfSamples: Int?
            for key in keys {
                guard var group = paths[index].groups[key] else { continue }
                if group.standing == .unknown, !group.isKnownView,
                    isViewByItsNames(group.names, in: paths[index])
                {
                    group.standing = .view
                }
                if group.standing == .unknown, group.isKnownView {
                    takeKnownSamples(of: &group, key, origin: paths[index].origin, href, &release)
                }
                switch group.standing {
                case .view:
                    release.leftOut += group.waiting
                    group.waiting = []
                case .content:
                    samples.subtract(group.released)
                    release.fetched += group.take(group.portion)
                case .unknown where group.isKnownView:
                    break
                case .unknown where nameCountOfSamples ?? group.names.count == group.names.count:
                    let taken = takeSamples(
                        of: &group, key, origin: paths[index].origin, pageCount: pageCount, &sampled)
                    release.fetched += taken
                    if !taken.isEmpty { nameCountOfSamples = group.names.count }
                case .unknown:
                    break
                }
                paths[index].groups[key] = group
            }
            paths[index].isQueued = paths[index].groups.values.contains { !$0.waiting.isEmpty }
            if paths[index].isQueued { queue.append(index) }
        }
        return release
    }

    /// Takes the samples of an earlier run. A known view without any here is still one, unless its samples on other
    /// paths, which the first round fetches, have content now.
    private mutating func takeKnownSamples(
        of group: inout Group, _ key: String, origin: String, _ href: (UInt32) -> String,
        _ release: inout Release
    ) {
        let taken = group.take(
            at: group.waiting.indices.filter { knownSamples.contains(href(group.waiting[$0])) })
        samples.formUnion(taken)
        release.fetched += taken
        guard taken.isEmpty, round > 1 else { return }
        if evidence[origin + "?" + key]?.isOfContent ?? false {
            group.isKnownView = false
        } else {
            group.standing = .view
        }
    }

    /// Takes the first samples of a group: only one if the site has many views already. Groups with the same names on many
    /// paths, such as a link to the last post of each topic, wait for the samples of the first ones, unless these names
    /// have led to content.
    private mutating func takeSamples(
        of group: inout Group, _ key: String, origin: String, pageCount: Int, _ sampled: inout [String: Int]
    ) -> [UInt32] {
        let repeats = repeatCounts[origin, default: 0]
        let limit = 24 + pageCount / 10
        guard repeats >= limit || repeats + sampled[origin, default: 0] < limit else { return [] }
        let ofNames = origin + "?" + key
        guard evidence[ofNames]?.isOfContent ?? false || sampled[ofNames, default: 0] < Self.samplesOfNames
        else { return [] }
        if repeats >= limit { group.minRepeats = min(group.minRepeats, group.repeatCount + 1) }
        let taken = group.take(repeats >= limit ? 1 : group.sampleCount)
        samples.formUnion(taken)
        sampled[origin, default: 0] += taken.count
        sampled[ofNames, default: 0] += taken.count
        return taken
    }

    /// Whether a group that was not sampled is a view: on other paths it is, or each of its parameters makes one.
    private func isViewByItsNames(_ names: [String], in path: Path) -> Bool {
        func isView(_ key: String) -> Bool {
            path.groups[key]?.onlyRepeats ?? false || evidence[path.origin + "?" + key]?.isOfView ?? false
        }
        return isView(Self.key(names)) || names.count > 1 && names.allSatisfy(isView)
    }

    /// Whether a new entry leads to content: no entry before `first` has its path, or its group is content.
    func isContent(_ url: WebURL, isWaiting: Bool, since first: UInt32) -> Bool {
        guard let query = url.query, let index = indices[Self.name(ofPath: url)] else { return !isWaiting }
        if RepositoryPage(url)?.isContent ?? false { return !isWaiting }
        if paths[index].groups[Self.key(Self.names(query))]?.standing == .content { return true }
        return !isWaiting && paths[index].first >= first
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
                let fetched = group.released.sorted().map(href)
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
        guard !names.isEmpty, !(RepositoryPage(url)?.isContent ?? false) else { return false }
        let path = name(ofPath: url)
        func samples(_ key: String) -> [String]? { views[path + "?" + key] ?? views[url.origin + "?" + key] }
        if let samples = samples(key(names)) ?? views[more] { return !samples.contains(url.href) }
        return names.count > 1 && names.allSatisfy { samples($0) != nil }
    }

    private func isKnownView(_ key: String, of path: Path) -> Bool {
        [path.name + "?" + key, path.origin + "?" + key, Self.more].contains(where: knownViews.contains)
    }

    // MARK: - Names

    private mutating func index(of url: WebURL, _ number: UInt32, isNew: Bool) -> Int? {
        let name = Self.name(ofPath: url)
        if let index = indices[name] { return index }
        guard isNew, paths.count < Self.pathLimit else { return nil }
        indices[name] = paths.count
        paths.append(Path(origin: url.origin, name: name, first: number))
        return paths.count - 1
    }

    private static func name(ofPath url: WebURL) -> String { url.origin + url.path }

    private static func key(_ names: [String]) -> String { names.joined(separator: "&") }

    /// The names of the parameters in alphabetical order, without those that number the pages of a list. A name with
    /// digits and no value, such as `123-title`, is `#`. The parameter that selects the kind of page has its value:
    /// `action=view`.
    static func names(_ query: String) -> [String] {
        var names: Set<String> = []
        for item in query.queryItems where !isOfList(item) {
            let name = item.prefix { $0 != "=" }
            let isIdentifier = name.count == item.count && name.utf8.contains(where: \.isASCIIDigit)
            if selectsKind(name, item.dropFirst(name.count + 1)) {
                names.insert(String(item))
            } else if !name.isEmpty {
                names.insert(isIdentifier ? "#" : String(name))
            }
        }
        return names.sorted()
    }

    /// The parameters that select the kind of page; empty if there are none.
    private static func kind(of url: WebURL) -> String {
        (url.query ?? "").queryItems.filter { item in
            let name = item.prefix { $0 != "=" }
            return selectsKind(name, item.dropFirst(name.count + 1))
        }.sorted().joined(separator: "&")
    }

    /// The parameters of a query that do not select the kind of page, in alphabetical order.
    private static func identity(of query: String) -> String {
        query.queryItems.filter { item in
            let name = item.prefix { $0 != "=" }
            return !selectsKind(name, item.dropFirst(name.count + 1))
        }.sorted().joined(separator: "&")
    }

    /// Whether a parameter selects the kind of page, as in applications with one script: `?action=view&id=17`. The pages of
    /// each kind are judged by themselves.
    private static func selectsKind(_ name: Substring, _ value: Substring) -> Bool {
        kindNames.contains(name.lowercased()) && (1...maxKindBytes).contains(value.utf8.count)
            && value.utf8.allSatisfy { $0.isASCIIAlpha || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "/") }
    }

    private static let kindNames: Set<String> = [
        "a", "act", "action", "cmd", "controller", "do", "func", "function", "mod", "module", "op", "option",
        "route", "task",
    ]
    /// Longer values are texts.
    private static let maxKindBytes = 32

    /// The URLs of which a page with this query may be a view, as references: those without one of the parameters, or
    /// with only the first ones. The number of a page in a list is no reason to be a view.
    static func parents(of query: String) -> [String] {
        let items = query.queryItems
        guard (2...8).contains(items.count) else { return [] }
        var parents: [[Substring]] = []
        for place in items.indices where !isOfList(items[place]) {
            let others = Array(items[..<place] + items[(place + 1)...])
            parents += [others, others.filter { !isOfList($0) }]
        }
        // The first parameters often name the page, and the others the view of it.
        for count in 1..<items.count { parents.append(Array(items[..<count])) }
        let own = items.filter { !isOfList($0) }
        let separator = query.contains("&") ? "&" : ";"
        let references = parents.filter { !$0.isEmpty && $0 != own }.map {
            "?" + $0.joined(separator: separator)
        }
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
