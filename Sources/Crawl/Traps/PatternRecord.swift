/// What the pages of one shape were like so far.
struct PatternRecord: Sendable {
    let key: UInt64
    private(set) var pages = 0
    /// Those that repeat what another page said, or say nearly the same as the one before.
    private(set) var alike = 0
    /// The share of those lately, from 0 to 1.
    private(set) var alikeShare = 0.0
    /// The same of those that say nothing of their own.
    private(set) var empty = 0
    private(set) var emptyShare = 0.0
    /// Pages that these were the first to link to, and how many of them have the same shape.
    private(set) var newLinks = 0
    private(set) var newLinksToItself = 0
    private var last: ContentPrint?
    private var meanSize = 0.0
    private var sizeDeviation = 0.0

    /// About so many pages count for the share.
    private static let memory = 32.0

    init(key: UInt64) {
        self.key = key
    }

    /// All of its pages have nearly the same size.
    var isUniform: Bool { pages > 8 && sizeDeviation < meanSize * 0.02 }

    var leadsToItself: Bool { newLinks > 0 && newLinksToItself * 20 >= newLinks * 19 }

    /// Tells of a page. `isRepeated` says that the same content was seen before, anywhere; `nearness` that it also
    /// counts as alike when it nearly is what the page before was; `isEmpty` that it says nothing of its own.
    mutating func add(
        _ print: ContentPrint, isRepeated: Bool, nearness: Bool, isEmpty: Bool = false, newLinks: Int, toItself: Int
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

    /// Where nobody looked at the words, the size has to tell.
    private func isOfUsualSize(_ print: ContentPrint) -> Bool {
        pages > 0 && abs(Double(print.byteCount) - meanSize) <= meanSize * 0.005 + 16
    }
}
