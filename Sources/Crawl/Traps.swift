package import Web

/// Detects endless URL spaces: calendars, session IDs, nested folders, combinations of parameters.
///
/// The pages whose URLs have the same `URLShape` are a pattern. A pattern has one of three states:
///
/// - fine: its pages are fetched in order.
/// - slowed: pages that are discovered from now on are fetched after all others. The pattern becomes fine again if they
///   have new content.
/// - stopped: none of its pages is fetched any more, until the end of the run.
///
/// A pattern with many pages is a trap only if their content is repeated or empty. The exception are combinations of
/// parameters whose pages link to little else: their number alone slows them.
///
/// For example, each month of an endless calendar links to the next one. After 24 pages like
/// `a.test/cal/{year}/{month}`, of which 80 % are empty or like the page before, the pattern is slowed. After 96 pages
/// of which 90 % are so, it is stopped.
///
/// Three kinds of evidence count against a page: another page had the same content (repeated); its text without links
/// was seen before, and it needs no new asset (empty); for dates and loops, its text is nearly that of the page before.
/// Repeated and similar pages are called alike.
///
/// A site may also make up words (`/tag/zebra`, `/tag/yacht`), so that each page has a shape of its own. Shapes with
/// fewer than `minPagesOfFrequentShape` pages are called rare, and share one record per origin.
///
/// The frontier owns this value, and requests a verdict when it discovers a page and again before it fetches it. The
/// detection of soft 404s uses `hasSeen` too.
struct Traps: Sendable {
    /// The state of a pattern.
    enum Verdict: Sendable, Equatable {
        case fine
        case slowed(TrapReason)
        case stopped(TrapReason)
    }

    private var patterns = PatternTable()
    /// The digests of the contents of fetched pages.
    private var contents = SeenContents()
    /// The hashes of the texts of fetched pages without links (`ContentPrint.skeleton`).
    private var skeletons = SeenContents()
    /// The slowed and stopped patterns, by the key of their `URLShape`.
    private var flagged: [UInt64: Verdict] = [:]
    /// Whether the rare shapes of an origin have ever been flagged. If not, `verdict` does not check whether a shape is
    /// rare, which saves time.
    private var hasFlaggedRareShapes = false

    /// The maximum number of flagged patterns. Further ones stay fine.
    private static let maxFlagged = 1024
    /// From this number of pages on, the words are compared if the URLs contain numbers and the pages have nearly the
    /// same size.
    private static let minPagesToCompareText = 64
    /// From this number of pages on, combinations of parameters may be a trap.
    private static let minPagesOfParameterTrap = 500

    /// The numbers of pages from which on a pattern is slowed or stopped, and the minimum shares of alike or empty
    /// pages.
    ///
    /// Nested folders of the same name are hardly ever content, so few pages are enough. Combinations of parameters are
    /// only slowed, never stopped, because their pages differ (see `kind(of:_:)`).
    private static func thresholds(of kind: TrapReason.Kind) -> (
        slow: Int, slowShare: Double, stop: Int, stopShare: Double
    ) {
        switch kind {
        case .repetition: (32, 0.6, 96, 0.9)
        case .calendar: (24, 0.8, 96, 0.9)
        case .depth: (8, 0.5, 24, 0.7)
        case .parameters: (minPagesOfParameterTrap, 0, .max, 1)
        case .keys: (32, 0.6, 96, 0.9)
        case .words: (24, 0.8, 192, 0.9)
        }
    }

    /// Whether the scan of the page should compute a fingerprint of its words, which takes time. Without it, its
    /// `ContentPrint` has only a digest and a size, so that only repeated content is detected.
    func wantsWords(of url: WebURL) -> Bool {
        let shape = URLShape(url)
        guard shape.traits.isDisjoint(with: [.dates, .loops, .keys, .manyParameters]) else { return true }
        // The key is a hash, so this chooses the same shapes in each run.
        if isRare(shape) { return shape.key >> 32 % Self.rareShapesPerSample == 0 }
        guard shape.traits.contains(.numbers), let record = patterns.record(shape.key) else { return false }
        return record.pages >= Self.minPagesToCompareText && record.hasUniformSize
    }

    /// The number of pages below which a shape is rare.
    private static let minPagesOfFrequentShape = 3
    /// The inverse of the fraction of rare shapes whose pages get a fingerprint of their words.
    private static let rareShapesPerSample: UInt64 = 16

    /// The common key of all rare shapes of an origin.
    private static func rareKey(_ url: WebURL) -> UInt64 { Mixing.mix("*\(url.origin)".utf8) }

    /// Whether the shape has no traits, and fewer than `minPagesOfFrequentShape` pages so far.
    private func isRare(_ shape: URLShape) -> Bool {
        shape.traits.isEmpty
            && patterns.record(shape.key).map { $0.pages < Self.minPagesOfFrequentShape } ?? true
    }

    /// Whether no pattern is slowed or stopped.
    var isQuiet: Bool { flagged.isEmpty }

    /// The verdict on the pattern of a page, or on the rare shapes of its origin if its shape is one.
    func verdict(on url: WebURL) -> Verdict {
        if flagged.isEmpty { return .fine }
        let shape = URLShape(url)
        if let verdict = flagged[shape.key] { return verdict }
        guard hasFlaggedRareShapes, isRare(shape) else { return .fine }
        return flagged[Self.rareKey(url)] ?? .fine
    }

    /// Whether a page with the same content was recently fetched.
    func hasSeen(_ print: ContentPrint) -> Bool { contents.contains(print.digest) }

    /// Adds a fetched page, and returns the verdict on further pages of its pattern.
    ///
    /// - Parameters:
    ///   - newPages: the pages in the scope of the crawl to which this one was the first to link.
    ///   - hasNewAssets: whether the page was the first to need an asset.
    @discardableResult
    mutating func didFetch(
        _ url: WebURL, _ print: ContentPrint, newPages: some Sequence<WebURL>, hasNewAssets: Bool = false
    ) -> Verdict {
        let shape = URLShape(url)
        let isEmpty = print.skeleton.map { skeletons.checkAndInsert($0) && !hasNewAssets } ?? false
        if print.skeleton != nil, isRare(shape) { addRarePage(url, shape, print, isEmpty, newPages) }
        var (newLinks, newLinksToSamePattern) = (0, 0)
        // `kind(of:_:)` uses the links only for these traits, and computing their shapes is expensive.
        if !shape.traits.isDisjoint(with: [.dates, .manyParameters, .keys]) {
            for page in newPages {
                newLinks += 1
                let target = URLShape(page)
                // Links from a page of months to pages of days stay in the calendar, although the shapes differ.
                let isDay =
                    shape.traits.contains(.dates) && target.traits.contains(.dates) && target.endsInDate
                if target.key == shape.key || isDay { newLinksToSamePattern += 1 }
            }
        }
        let isRepeated = contents.checkAndInsert(print.digest)
        // Product pages may differ in little more than the names. Therefore only dates and loops are judged
        // by similarity.
        let comparesWithPrevious = !shape.traits.isDisjoint(with: [.dates, .loops])
        let record = patterns.update(shape.key) { record in
            record.add(
                print, isRepeated: isRepeated, comparesWithPrevious: comparesWithPrevious,
                isEmpty: isEmpty && !shape.traits.isDisjoint(with: [.dates, .loops, .keys]),
                newLinks: newLinks,
                newLinksToSamePattern: newLinksToSamePattern)
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

    /// Adds a page of a rare shape to the record of its origin's rare shapes. Flags them all if most of these pages are
    /// empty and link to hardly anything but further rare shapes.
    private mutating func addRarePage(
        _ url: WebURL, _ shape: URLShape, _ print: ContentPrint, _ isEmpty: Bool,
        _ newPages: some Sequence<WebURL>
    ) {
        var (newLinks, newLinksToSamePattern) = (0, 0)
        for page in newPages {
            newLinks += 1
            if isRare(URLShape(page)) { newLinksToSamePattern += 1 }
        }
        let key = Self.rareKey(url)
        let record = patterns.update(key) { record in
            record.add(
                print, isRepeated: false, comparesWithPrevious: false, isEmpty: isEmpty, newLinks: newLinks,
                newLinksToSamePattern: newLinksToSamePattern)
        }
        guard let record else { return }
        if case .stopped? = flagged[key] { return }
        let (slow, slowShare, stop, stopShare) = Self.thresholds(of: .words)
        let reason = TrapReason(
            kind: .words, pattern: url.host + "/…", pages: record.pages, alike: record.empty)
        if !record.linksMostlyToSamePattern || record.newLinks < record.pages {
            flagged[key] = nil
        } else if record.pages >= stop, record.emptyShare >= stopShare {
            flagged[key] = .stopped(reason)
        } else if record.pages >= slow, record.emptyShare >= slowShare {
            flagged[key] = .slowed(reason)
        } else {
            flagged[key] = nil
        }
        hasFlaggedRareShapes = hasFlaggedRareShapes || flagged[key] != nil
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
        let kind = Self.kind(of: record, shape.traits)
        let thresholds = Self.thresholds(of: kind)
        // Empty pages show a trap only if they link to more pages of the same pattern, or are in a loop.
        let countsEmptyPages =
            kind != .repetition && kind != .parameters && record.emptyShare > record.alikeShare
        let (share, alike) =
            countsEmptyPages ? (record.emptyShare, record.empty) : (record.alikeShare, record.alike)
        let reason = TrapReason(kind: kind, pattern: shape.text, pages: record.pages, alike: alike)
        if record.pages >= thresholds.stop, share >= thresholds.stopShare { return .stopped(reason) }
        if record.pages >= thresholds.slow, share >= thresholds.slowShare { return .slowed(reason) }
        return .fine
    }

    /// The kind of trap that the pattern is if its pages are alike or empty. It decides on the thresholds.
    private static func kind(of record: PatternRecord, _ traits: URLShape.Traits) -> TrapReason.Kind {
        if traits.contains(.loops) { return .depth }
        if traits.contains(.dates), record.linksMostlyToSamePattern { return .calendar }
        if traits.contains(.keys), record.linksMostlyToSamePattern, record.newLinks >= record.pages {
            return .keys
        }
        let isEndless =
            traits.contains(.manyParameters) && record.linksMostlyToSamePattern
            && record.newLinks >= record.pages
        // With more alike pages, `.repetition` slows the pattern too, and can also stop it.
        if isEndless, record.pages >= minPagesOfParameterTrap, record.alikeShare < 0.6 { return .parameters }
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
        /// Endless keys in the URLs, such as session IDs, whose pages have no content of their own.
        case keys
        /// Endless words whose pages have no content.
        case words
    }

    package var kind: Kind
    /// The text of the `URLShape`; for `.words`, the host.
    package var pattern: String
    /// The number of examined pages.
    package var pages: Int
    /// The number of alike pages, or of empty ones if these were decisive.
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

/// Statistics of the fetched pages of one pattern, or of the rare shapes of one origin.
struct PatternRecord: Sendable {
    /// The key of the `URLShape`, or the common one of rare shapes.
    let key: UInt64
    private(set) var pages = 0
    /// The number of pages with the content of another page, or nearly that of the page before.
    private(set) var alike = 0
    /// The recent share of such pages, from 0 to 1: an exponential moving average, so that new content after many alike
    /// pages counts soon.
    private(set) var alikeShare = 0.0
    /// The number of pages without content of their own.
    private(set) var empty = 0
    /// The recent share of such pages, computed like `alikeShare`.
    private(set) var emptyShare = 0.0
    /// The number of pages to which these were the first to link.
    private(set) var newLinks = 0
    /// The number of those that belong to the same pattern.
    private(set) var newLinksToSamePattern = 0
    /// The page that was added last.
    private var last: ContentPrint?
    /// The moving average of the size in bytes.
    private var meanSize = 0.0
    /// The moving average of the distance of the size from `meanSize`.
    private var sizeDeviation = 0.0

    /// The approximate number of pages in the moving averages.
    private static let windowPages = 32.0

    init(key: UInt64) {
        self.key = key
    }

    /// Whether the pages have nearly the same size: on average, they deviate by less than 2 %.
    var hasUniformSize: Bool { pages > 8 && sizeDeviation < meanSize * 0.02 }

    /// Whether at least 95 % of the new links are to pages of the same pattern.
    var linksMostlyToSamePattern: Bool { newLinks > 0 && newLinksToSamePattern * 20 >= newLinks * 19 }

    /// Adds a page.
    ///
    /// - Parameters:
    ///   - isRepeated: whether any page had the same content before.
    ///   - comparesWithPrevious: whether the page also counts as alike if its words are nearly those of the page before
    ///     or, without a fingerprint of the words, if its size is close to the average.
    ///   - isEmpty: whether the page has no content of its own.
    ///   - newLinks: the number of pages to which it was the first to link.
    ///   - newLinksToSamePattern: the number of those that belong to the same pattern.
    mutating func add(
        _ print: ContentPrint, isRepeated: Bool, comparesWithPrevious: Bool, isEmpty: Bool = false,
        newLinks: Int, newLinksToSamePattern: Int
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
        self.newLinksToSamePattern += newLinksToSamePattern
        last = print
    }

    /// Whether the size is close to the average.
    private func isOfUsualSize(_ print: ContentPrint) -> Bool {
        pages > 0 && abs(Double(print.byteCount) - meanSize) <= meanSize * 0.005 + 16
    }
}

/// The records of the most frequent patterns, in bounded memory: a set-associative table with four slots for
/// each remainder of the key. Each page adds one to the credit of its pattern. If all four slots are taken, a new
/// pattern reduces the lowest credit, and takes that slot if the credit is then zero. So a frequent pattern stays among
/// thousands that occur once.
///
/// For example, a calendar with 50 pages has a credit of 50. Patterns of its set that occur once replace each other in
/// the other three slots.
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

    /// Changes the record of a pattern, after creating it if there is none. Returns the record, or nil if all slots are
    /// taken by more frequent patterns.
    mutating func update(_ key: UInt64, _ change: (inout PatternRecord) -> Void) -> PatternRecord? {
        if slots.isEmpty { slots = [Slot?](repeating: nil, count: Self.ways * Self.sets) }
        let first = Int(key % UInt64(Self.sets)) * Self.ways
        let candidates = first..<first + Self.ways
        let known = candidates.first { slots[$0]?.record.key == key }
        guard let index = known ?? claimSlot(among: candidates) else { return nil }
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

    /// Returns an empty slot. If there is none, reduces the lowest credit, and empties that slot if the credit is then
    /// zero. Returns nil if it is not.
    private mutating func claimSlot(among candidates: Range<Int>) -> Int? {
        if let empty = candidates.first(where: { slots[$0] == nil }) { return empty }
        guard let weakest = candidates.min(by: { credit($0) < credit($1) }) else { return nil }
        slots[weakest]?.credit -= 1
        guard credit(weakest) <= 0 else { return nil }
        slots[weakest] = nil
        return weakest
    }

    private func credit(_ index: Int) -> Int { slots[index]?.credit ?? 0 }
}
