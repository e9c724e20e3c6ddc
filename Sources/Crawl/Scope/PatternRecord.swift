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
