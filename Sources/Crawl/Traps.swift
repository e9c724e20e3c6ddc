package import Web

/// Detects endless URL spaces: calendars, session IDs, nested folders, combinations of parameters.
///
/// The number of URLs of one pattern does not make a trap, only repeated or empty content of its pages does.
/// A pattern (`URLShape`) has one of three states:
///
/// - fine: its pages are fetched in order.
/// - slowed: its pages are fetched after all others. It becomes fine again if they have new content.
/// - stopped: none of its pages is fetched any more. It stays so until the end of the run.
///
/// For example, each month of an endless calendar links to the next one. After 24 pages like `a.test/cal/{year}/{month}`
/// of which 80 % are empty or like the page before, the pattern is slowed; after 96 of which 90 % are, it is stopped.
///
/// Three kinds of evidence count against a page: another page had the same content (repeated), its text without links was
/// seen before and it needs no new asset (empty), or, for dates and loops, its text is nearly that of the page before.
///
/// A site may also make up words (`/tag/zebra`, `/tag/yacht`), so that each page has a shape of its own. Shapes with fewer
/// than `minPagesOfFrequentShape` pages are called rare, and share one record per origin.
///
/// A value: the frontier owns it, and asks for a verdict when a URL is discovered and again before it is fetched.
struct Traps: Sendable {
    /// The decision about the pages of a pattern.
    enum Verdict: Sendable, Equatable {
        case fine
        case slowed(TrapReason)
        case stopped(TrapReason)
    }

    private var patterns = PatternTable()
    /// The contents of fetched pages, by their digests.
    private var contents = SeenContents()
    /// The texts of fetched pages without their links.
    private var skeletons = SeenContents()
    /// The slowed and stopped patterns, by the key of their `URLShape`.
    private var flagged: [UInt64: Verdict] = [:]
    /// Whether `flagged` has or had the key of an origin's rare shapes. Without one, verdicts need no lookup of the record.
    private var hasRare = false

    /// The maximum number of flagged patterns; more are not flagged.
    private static let maxFlagged = 1024
    /// The number of pages of similar size, with numbers in their URLs, from which on their text is compared.
    private static let minPagesToCompareText = 64
    /// The number of pages from which on combinations of parameters may be a trap.
    private static let minPagesOfParameters = 500

    /// From how many pages on a pattern is slowed or stopped, and which share of them must be alike.
    ///
    /// Nested folders of the same name are hardly ever content, so few pages are enough. Combinations of parameters are
    /// only slowed, never stopped, because their pages differ (see `kind(of:_:)`).
    private static func threshold(_ kind: TrapReason.Kind) -> (
        slow: Int, slowShare: Double, stop: Int, stopShare: Double
    ) {
        switch kind {
        case .repetition: (32, 0.6, 96, 0.9)
        case .calendar: (24, 0.8, 96, 0.9)
        case .depth: (8, 0.5, 24, 0.7)
        case .parameters: (minPagesOfParameters, 0, .max, 1)
        case .keys: (32, 0.6, 96, 0.9)
        case .words: (24, 0.8, 192, 0.9)
        }
    }

    /// Whether to compute a fingerprint of the page's text, which takes time: only if its URL looks like that
    /// of a trap. Otherwise `ContentPrint` has only a digest and a size.
    func wantsWords(of url: WebURL) -> Bool {
        let shape = URLShape(url)
        guard shape.traits.isDisjoint(with: [.dates, .loops, .keys, .manyParameters]) else { return true }
        // The key is a hash, so this chooses one of `rarePagesForSample` shapes, the same ones in each run.
        if isRare(shape) { return shape.key >> 32 % Self.rarePagesForSample == 0 }
        guard shape.traits.contains(.numbers), let record = patterns.record(shape.key) else { return false }
        return record.pages >= Self.minPagesToCompareText && record.isUniform
    }

    /// The number of pages below which a shape is rare.
    private static let minPagesOfFrequentShape = 3
    /// The divisor of the sample: one of this number of rare shapes is examined.
    private static let rarePagesForSample: UInt64 = 16

    /// The common key of all rare shapes of an origin.
    private static func rareKey(_ url: WebURL) -> UInt64 { Mixing.mix("*\(url.origin)".utf8) }

    /// Whether the shape has no trait of a trap, and few pages so far.
    private func isRare(_ shape: URLShape) -> Bool {
        shape.traits.isEmpty
            && patterns.record(shape.key).map { $0.pages < Self.minPagesOfFrequentShape } ?? true
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
    ///   - hasNewAssets: whether the page was the first to need an asset.
    @discardableResult
    mutating func didFetch(
        _ url: WebURL, _ print: ContentPrint, newPages: some Sequence<WebURL>, hasNewAssets: Bool = false
    ) -> Verdict {
        let shape = URLShape(url)
        // The page has no text of its own, and needs no new asset.
        let isEmpty = print.skeleton.map { skeletons.insert($0) && !hasNewAssets } ?? false
        if print.skeleton != nil, isRare(shape) { addRarePage(url, shape, print, isEmpty, newPages) }
        var (links, toSamePattern) = (0, 0)
        // Only for these kinds do the links matter, and computing their shapes is expensive.
        if !shape.traits.isDisjoint(with: [.dates, .manyParameters, .keys]) {
            for page in newPages {
                links += 1
                let target = URLShape(page)
                // The days of a calendar belong to it like its months.
                let isDay =
                    shape.traits.contains(.dates) && target.traits.contains(.dates) && target.endsInDate
                if target.key == shape.key || isDay { toSamePattern += 1 }
            }
        }
        let isRepeated = contents.insert(print.digest)
        // Product pages may differ in little more than the names. Therefore only dates and loops are judged
        // by similarity.
        let comparesWithPrevious = !shape.traits.isDisjoint(with: [.dates, .loops])
        let record = patterns.update(shape.key) { record in
            record.add(
                print, isRepeated: isRepeated, comparesWithPrevious: comparesWithPrevious,
                isEmpty: isEmpty && !shape.traits.isDisjoint(with: [.dates, .loops, .keys]), newLinks: links,
                toSamePattern: toSamePattern)
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

    /// Adds a page of a rare shape to the record of its origin's rare shapes, and flags them all if most are empty and
    /// link to further rare shapes.
    private mutating func addRarePage(
        _ url: WebURL, _ shape: URLShape, _ print: ContentPrint, _ isEmpty: Bool,
        _ newPages: some Sequence<WebURL>
    ) {
        var (links, toSamePattern) = (0, 0)
        for page in newPages {
            links += 1
            if isRare(URLShape(page)) { toSamePattern += 1 }
        }
        let key = Self.rareKey(url)
        let record = patterns.update(key) { record in
            record.add(
                print, isRepeated: false, comparesWithPrevious: false, isEmpty: isEmpty, newLinks: links,
                toSamePattern: toSamePattern)
        }
        guard let record else { return }
        if case .stopped? = flagged[key] { return }
        let (slow, slowShare, stop, stopShare) = Self.threshold(.words)
        let reason = TrapReason(
            kind: .words, pattern: url.host + "/…", pages: record.pages, alike: record.empty)
        if !record.linksToSamePattern || record.newLinks < record.pages {
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

    /// The verdict on a pattern from its record.
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
        if traits.contains(.dates), record.linksToSamePattern { return .calendar }
        if traits.contains(.keys), record.linksToSamePattern, record.newLinks >= record.pages { return .keys }
        let isEndless =
            traits.contains(.manyParameters) && record.linksToSamePattern && record.newLinks >= record.pages
        if isEndless, record.pages >= minPagesOfParameters, record.alikeShare < 0.6 { return .parameters }
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
    /// The recent share of such pages, from 0 to 1: an exponential moving average, so that new content after many alike
    /// pages counts soon.
    private(set) var alikeShare = 0.0
    /// The number of pages without content of their own, and the recent share of them.
    private(set) var empty = 0
    private(set) var emptyShare = 0.0
    /// The number of pages to which these were the first to link, and how many of them have the same shape.
    private(set) var newLinks = 0
    private(set) var newLinksToSamePattern = 0
    /// The page that was added last.
    private var last: ContentPrint?
    /// The moving averages of the size in bytes, and of its distance from that average.
    private var meanSize = 0.0
    private var sizeDeviation = 0.0

    /// The approximate number of pages in the moving averages.
    private static let windowPages = 32.0

    init(key: UInt64) {
        self.key = key
    }

    /// Whether all pages have nearly the same size: they deviate from the average by less than 2 %.
    var isUniform: Bool { pages > 8 && sizeDeviation < meanSize * 0.02 }

    /// Whether at least 95 % of the new links are to pages of the same shape.
    var linksToSamePattern: Bool { newLinks > 0 && newLinksToSamePattern * 20 >= newLinks * 19 }

    /// Adds a page.
    ///
    /// - Parameters:
    ///   - isRepeated: whether any page had the same content before.
    ///   - comparesWithPrevious: whether the page also counts as alike if its content is nearly that of the page before.
    ///   - isEmpty: whether the page has no content of its own.
    mutating func add(
        _ print: ContentPrint, isRepeated: Bool, comparesWithPrevious: Bool, isEmpty: Bool = false,
        newLinks: Int,
        toSamePattern: Int
    ) {
        let isNear =
            comparesWithPrevious && (last?.isAlike(print, differingBits: 3, differingSize: 0.02) ?? false)
        let isOfSize =
            comparesWithPrevious && print.words == nil && print.skeleton == nil && isOfUsualSize(print)
        let isAlike = isRepeated || isNear || isOfSize
        pages += 1
        if isAlike { alike += 1 }
        if isEmpty { empty += 1 }
        alikeShare += ((isAlike ? 1 : 0) - alikeShare) / min(Double(pages), Self.windowPages)
        emptyShare += ((isEmpty ? 1 : 0) - emptyShare) / min(Double(pages), Self.windowPages)
        let step = 1 / min(Double(pages), Self.windowPages)
        let distance = Double(print.byteCount) - meanSize
        meanSize += distance * step
        sizeDeviation += (abs(distance) - sizeDeviation) * (pages == 1 ? 0 : step)
        self.newLinks += newLinks
        newLinksToSamePattern += toSamePattern
        last = print
    }

    /// Whether the size is close to the average, for pages without a fingerprint of the text.
    private func isOfUsualSize(_ print: ContentPrint) -> Bool {
        pages > 0 && abs(Double(print.byteCount) - meanSize) <= meanSize * 0.005 + 16
    }
}

/// The records of the most frequent patterns, in bounded memory: a set-associative table with four slots for
/// each remainder of the key. If all four are taken, a new pattern reduces the credit of the weakest one, and
/// replaces it at zero. So a frequent pattern stays among thousands that occur once.
///
/// For example, a calendar with 50 pages has a credit of 50. Patterns of its set that occur once replace each other in the
/// other three slots.
struct PatternTable: Sendable {
    /// A record, with the credit that protects it from being replaced.
    private struct Slot {
        var record: PatternRecord
        var credit: Int
    }

    private var slots: [Slot?] = []

    /// The number of slots of each set.
    private static let ways = 4
    /// The number of sets; a key belongs to the set of its remainder.
    private static let sets = 1024

    /// Updates the record of a pattern, which is a new one if it had none. Returns nil if all slots are
    /// taken by more frequent patterns.
    mutating func update(_ key: UInt64, _ change: (inout PatternRecord) -> Void) -> PatternRecord? {
        if slots.isEmpty { slots = [Slot?](repeating: nil, count: Self.ways * Self.sets) }
        let first = Int(key % UInt64(Self.sets)) * Self.ways
        let candidates = first..<first + Self.ways
        let known = candidates.first { slots[$0]?.record.key == key }
        guard let index = known ?? freeSlot(among: candidates) else { return nil }
        var slot = slots[index] ?? Slot(record: PatternRecord(key: key), credit: 0)
        slot.credit += 1
        change(&slot.record)
        slots[index] = slot
        return slot.record
    }

    /// The record of a pattern; nil if it has none.
    func record(_ key: UInt64) -> PatternRecord? {
        guard !slots.isEmpty else { return nil }
        let first = Int(key % UInt64(Self.sets)) * Self.ways
        return slots[first..<first + Self.ways].lazy.compactMap { $0?.record }.first { $0.key == key }
    }

    /// An empty slot, or the weakest one if its credit is used up.
    private mutating func freeSlot(among candidates: Range<Int>) -> Int? {
        if let empty = candidates.first(where: { slots[$0] == nil }) { return empty }
        guard let weakest = candidates.min(by: { credit($0) < credit($1) }) else { return nil }
        slots[weakest]?.credit -= 1
        guard credit(weakest) <= 0 else { return nil }
        slots[weakest] = nil
        return weakest
    }

    private func credit(_ index: Int) -> Int { slots[index]?.credit ?? 0 }
}
