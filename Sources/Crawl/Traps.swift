package import Web

/// Detects endless URL spaces: calendars, session IDs, nested folders, combinations of parameters.
///
/// The number of URLs of one pattern does not make a trap, only repeated or empty content of its pages does.
/// First, further pages of the pattern are slowed: they are fetched after all others. If they go on like
/// that, the pattern is stopped: none is fetched any more. A slowed pattern becomes normal again if its pages
/// have new content; a stopped one stays so.
struct Traps: Sendable {
    /// The decision about the pages of a pattern.
    enum Verdict: Sendable, Equatable {
        case fine
        case slowed(TrapReason)
        case stopped(TrapReason)
    }

    private var patterns = PatternTable()
    private var contents = SeenContents()
    /// The texts of pages without their links.
    private var skeletons = SeenContents()
    /// The slowed and stopped patterns, by the key of their `URLShape`.
    private var flagged: [UInt64: Verdict] = [:]
    /// Whether `flagged` has or had a pattern of rare shapes.
    private var hasRare = false

    /// The maximum number of flagged patterns; more are not flagged.
    private static let maxFlagged = 1024
    /// The number of pages of similar size with numbers in their URLs from which on their text is compared.
    private static let pagesToLook = 64
    private static let pagesOfParameters = 500

    /// The minimum number of pages for a verdict, and the minimum share of them that must be alike.
    private static func threshold(_ kind: TrapReason.Kind) -> (
        slow: Int, slowShare: Double, stop: Int, stopShare: Double
    ) {
        switch kind {
        case .repetition: (32, 0.6, 96, 0.9)
        case .calendar: (24, 0.8, 96, 0.9)
        case .depth: (8, 0.5, 24, 0.7)
        case .parameters: (pagesOfParameters, 0, .max, 1)
        case .keys: (32, 0.6, 96, 0.9)
        case .words: (24, 0.8, 192, 0.9)
        }
    }

    /// Whether to compute a fingerprint of the page's text, which takes time: only if its URL looks like that
    /// of a trap.
    func wantsWords(of url: WebURL) -> Bool {
        let shape = URLShape(url)
        guard shape.traits.isDisjoint(with: [.dates, .loops, .keys, .manyParameters]) else { return true }
        if isRare(shape) { return shape.key >> 32 % Self.rarePagesForSample == 0 }
        guard shape.traits.contains(.numbers), let record = patterns.record(shape.key) else { return false }
        return record.pages >= Self.pagesToLook && record.isUniform
    }

    /// The number of pages below which a shape is rare. Of the rare shapes, one in `rarePagesForSample` is
    /// examined.
    private static let rarePages = 3
    private static let rarePagesForSample: UInt64 = 16

    /// The common key of all rare shapes of an origin.
    private static func rareKey(_ url: WebURL) -> UInt64 { Mixing.mix("*\(url.origin)".utf8) }

    private func isRare(_ shape: URLShape) -> Bool {
        shape.traits.isEmpty && patterns.record(shape.key).map { $0.pages < Self.rarePages } ?? true
    }

    /// Whether no pattern is slowed or stopped.
    var isQuiet: Bool { flagged.isEmpty }

    /// The verdict on a URL. Checked when the URL is discovered and again before it is fetched.
    func verdict(on url: WebURL) -> Verdict {
        if flagged.isEmpty { return .fine }
        let shape = URLShape(url)
        if let verdict = flagged[shape.key] { return verdict }
        guard hasRare, isRare(shape) else { return .fine }
        return flagged[Self.rareKey(url)] ?? .fine
    }

    /// Whether a page with the same content was recently fetched.
    func hasSeen(_ print: ContentPrint) -> Bool { contents.contains(print.digest) }

    /// Adds a fetched page, and returns the verdict on further pages of its pattern.
    ///
    /// - Parameters:
    ///   - newPages: the pages to which this one was the first to link.
    ///   - bringsMore: whether the page was the first to need an asset.
    @discardableResult
    mutating func didFetch(
        _ url: WebURL, _ print: ContentPrint, newPages: some Sequence<WebURL>, bringsMore: Bool = false
    ) -> Verdict {
        let shape = URLShape(url)
        // Empty: the page has no text of its own, and needs no new asset.
        let isEmpty = print.skeleton.map { skeletons.insert($0) && !bringsMore } ?? false
        if print.skeleton != nil, isRare(shape) { addRarePage(url, shape, print, isEmpty, newPages) }
        var (links, toItself) = (0, 0)
        // Only for these kinds do the links matter, and computing their shapes is expensive.
        if !shape.traits.isDisjoint(with: [.dates, .manyParameters, .keys]) {
            for page in newPages {
                links += 1
                let target = URLShape(page)
                // The days of a calendar belong to it like its months.
                let isDay =
                    shape.traits.contains(.dates) && target.traits.contains(.dates) && target.endsInDate
                if target.key == shape.key || isDay { toItself += 1 }
            }
        }
        let isRepeated = contents.insert(print.digest)
        // Product pages may differ in little more than the names. Therefore only dates and loops are judged
        // by similarity.
        let nearness = !shape.traits.isDisjoint(with: [.dates, .loops])
        let record = patterns.update(shape.key) { record in
            record.add(
                print, isRepeated: isRepeated, nearness: nearness,
                isEmpty: isEmpty && !shape.traits.isDisjoint(with: [.dates, .loops, .keys]), newLinks: links,
                toItself: toItself)
        }
        guard let record else { return .fine }
        if case .stopped(let reason)? = flagged[shape.key] { return .stopped(reason) }
        let verdict = judge(record, shape)
        if verdict == .fine {
            flagged[shape.key] = nil
        } else if flagged.count < Self.maxFlagged || flagged[shape.key] != nil {
            flagged[shape.key] = verdict
        }
        return verdict
    }

    private mutating func addRarePage(
        _ url: WebURL, _ shape: URLShape, _ print: ContentPrint, _ isEmpty: Bool,
        _ newPages: some Sequence<WebURL>
    ) {
        var (links, toItself) = (0, 0)
        for page in newPages {
            links += 1
            if isRare(URLShape(page)) { toItself += 1 }
        }
        let key = Self.rareKey(url)
        let record = patterns.update(key) { record in
            record.add(
                print, isRepeated: false, nearness: false, isEmpty: isEmpty, newLinks: links,
                toItself: toItself)
        }
        guard let record else { return }
        if case .stopped? = flagged[key] { return }
        let (slow, slowShare, stop, stopShare) = Self.threshold(.words)
        let reason = TrapReason(
            kind: .words, pattern: url.host + "/…", pages: record.pages, alike: record.empty)
        if !record.leadsToItself || record.newLinks < record.pages {
            flagged[key] = nil
        } else if record.pages >= stop, record.emptyShare >= stopShare {
            flagged[key] = .stopped(reason)
        } else if record.pages >= slow, record.emptyShare >= slowShare {
            flagged[key] = .slowed(reason)
        } else {
            flagged[key] = nil
        }
        hasRare = hasRare || flagged[key] != nil
    }

    /// The stopped patterns, sorted for a report.
    var stopped: [TrapReason] {
        flagged.values.compactMap { verdict in
            switch verdict {
            case .stopped(let reason): reason
            case .slowed, .fine: nil
            }
        }.sorted { $0.pattern < $1.pattern }
    }

    private func judge(_ record: PatternRecord, _ shape: URLShape) -> Verdict {
        guard let kind = Self.kind(of: record, shape.traits) else { return .fine }
        let threshold = Self.threshold(kind)
        // Little content shows a trap only if the pages link to more of the same kind.
        let isWorse = kind != .repetition && kind != .parameters && record.emptyShare > record.alikeShare
        let (share, alike) = isWorse ? (record.emptyShare, record.empty) : (record.alikeShare, record.alike)
        let reason = TrapReason(kind: kind, pattern: shape.text, pages: record.pages, alike: alike)
        if record.pages >= threshold.stop, share >= threshold.stopShare { return .stopped(reason) }
        if record.pages >= threshold.slow, share >= threshold.slowShare { return .slowed(reason) }
        return .fine
    }

    /// The kind of trap that the pattern may be.
    private static func kind(of record: PatternRecord, _ traits: URLShape.Traits) -> TrapReason.Kind? {
        if traits.contains(.loops) { return .depth }
        if traits.contains(.dates), record.leadsToItself { return .calendar }
        if traits.contains(.keys), record.leadsToItself, record.newLinks >= record.pages { return .keys }
        let isFruitless =
            traits.contains(.manyParameters) && record.leadsToItself && record.newLinks >= record.pages
        if isFruitless, record.pages >= pagesOfParameters, record.alikeShare < 0.6 { return .parameters }
        return .repetition
    }
}

/// The reason why pages of a pattern are fetched later or not at all.
package struct TrapReason: Sendable, Hashable, CustomStringConvertible {
    /// The kinds of traps.
    package enum Kind: UInt8, Sendable, CaseIterable {
        /// Different URLs with the same content.
        case repetition
        /// Endless dates without content.
        case calendar
        /// Folders nested in folders of the same names.
        case depth
        /// Endless combinations of parameters.
        case parameters
        /// Endless keys whose pages have no content of their own.
        case keys
        /// Endless words whose pages have no content.
        case words
    }

    package var kind: Kind
    /// See `URLShape`.
    package var pattern: String
    /// The number of examined pages, and how many of them are like others.
    package var pages: Int
    package var alike: Int

    /// The pattern that the page at this URL belongs to.
    package static func pattern(of url: WebURL) -> String { URLShape(url).text }

    package var description: String {
        switch kind {
        case .repetition: "a trap: \(alike) of \(pages) pages like \(pattern) repeat others"
        case .calendar: "an endless calendar: \(alike) of \(pages) pages like \(pattern) are alike"
        case .depth: "endless folders: \(alike) of \(pages) pages like \(pattern) are alike"
        case .keys: "endless keys: \(alike) of \(pages) pages like \(pattern) have no content of their own"
        case .words:
            "endless words: \(alike) of \(pages) examined pages in \(pattern) have no content"
        case .parameters: "endless parameters: \(pages) pages like \(pattern) link to little else"
        }
    }
}

/// Statistics of the pages of one pattern.
struct PatternRecord: Sendable {
    let key: UInt64
    private(set) var pages = 0
    /// The number of pages with the content of another page, or nearly that of the page before.
    private(set) var alike = 0
    /// The recent share of such pages, from 0 to 1.
    private(set) var alikeShare = 0.0
    /// The number of pages without content of their own, and the recent share of them.
    private(set) var empty = 0
    private(set) var emptyShare = 0.0
    /// The number of pages to which these were the first to link, and how many of them have the same shape.
    private(set) var newLinks = 0
    private(set) var newLinksToItself = 0
    private var last: ContentPrint?
    private var meanSize = 0.0
    private var sizeDeviation = 0.0

    /// The approximate number of pages in the recent shares.
    private static let memory = 32.0

    init(key: UInt64) {
        self.key = key
    }

    /// Whether all pages have nearly the same size.
    var isUniform: Bool { pages > 8 && sizeDeviation < meanSize * 0.02 }

    /// Whether at least 95 % of the new links lead to pages of the same shape.
    var leadsToItself: Bool { newLinks > 0 && newLinksToItself * 20 >= newLinks * 19 }

    /// Adds a page.
    ///
    /// - Parameters:
    ///   - isRepeated: whether any page had the same content before.
    ///   - nearness: whether the page also counts as alike if its content is nearly that of the page before.
    ///   - isEmpty: whether the page has no content of its own.
    mutating func add(
        _ print: ContentPrint, isRepeated: Bool, nearness: Bool, isEmpty: Bool = false, newLinks: Int,
        toItself: Int
    ) {
        let isNear = nearness && (last?.isAlike(print, differingBits: 3, differingSize: 0.02) ?? false)
        let isOfSize = nearness && print.words == nil && print.skeleton == nil && isOfUsualSize(print)
        let isAlike = isRepeated || isNear || isOfSize
        pages += 1
        if isAlike { alike += 1 }
        if isEmpty { empty += 1 }
        alikeShare += ((isAlike ? 1 : 0) - alikeShare) / min(Double(pages), Self.memory)
        emptyShare += ((isEmpty ? 1 : 0) - emptyShare) / min(Double(pages), Self.memory)
        let step = 1 / min(Double(pages), Self.memory)
        let distance = Double(print.byteCount) - meanSize
        meanSize += distance * step
        sizeDeviation += (abs(distance) - sizeDeviation) * (pages == 1 ? 0 : step)
        self.newLinks += newLinks
        newLinksToItself += toItself
        last = print
    }

    /// Whether the size is close to the average, for pages without a fingerprint of the text.
    private func isOfUsualSize(_ print: ContentPrint) -> Bool {
        pages > 0 && abs(Double(print.byteCount) - meanSize) <= meanSize * 0.005 + 16
    }
}

/// The records of the most frequent patterns, in bounded memory: a set-associative table with four places for
/// each remainder of the key. If all four are taken, a new pattern reduces the credit of the weakest one, and
/// replaces it at zero. So a frequent pattern stays among thousands that occur once.
struct PatternTable: Sendable {
    /// A record, with the credit that protects it from being replaced.
    private struct Place {
        var record: PatternRecord
        var credit: Int
    }

    private var places: [Place?] = []

    private static let ways = 4
    private static let sets = 1024

    /// Updates the record of a pattern, which is a new one if it had none. Returns nil if all places are
    /// taken by more frequent patterns.
    mutating func update(_ key: UInt64, _ change: (inout PatternRecord) -> Void) -> PatternRecord? {
        if places.isEmpty { places = [Place?](repeating: nil, count: Self.ways * Self.sets) }
        let first = Int(key % UInt64(Self.sets)) * Self.ways
        let candidates = first..<first + Self.ways
        let known = candidates.first { places[$0]?.record.key == key }
        guard let index = known ?? freePlace(among: candidates) else { return nil }
        var place = places[index] ?? Place(record: PatternRecord(key: key), credit: 0)
        place.credit += 1
        change(&place.record)
        places[index] = place
        return place.record
    }

    func record(_ key: UInt64) -> PatternRecord? {
        guard !places.isEmpty else { return nil }
        let first = Int(key % UInt64(Self.sets)) * Self.ways
        return places[first..<first + Self.ways].lazy.compactMap { $0?.record }.first { $0.key == key }
    }

    private mutating func freePlace(among candidates: Range<Int>) -> Int? {
        if let empty = candidates.first(where: { places[$0] == nil }) { return empty }
        guard let weakest = candidates.min(by: { credit($0) < credit($1) }) else { return nil }
        places[weakest]?.credit -= 1
        guard credit(weakest) <= 0 else { return nil }
        places[weakest] = nil
        return weakest
    }

    private func credit(_ index: Int) -> Int { places[index]?.credit ?? 0 }
}
