internal import Markup

extension RenderScheduler {
    /// A page, with assets that it needs or waits for.
    typealias PageWithAssets = (page: UInt32, assets: [UInt32])

    /// The results of rendering pages of one host.
    struct HostResults {
        /// The number of patterns whose pages have any reason of their own.
        var patternsWithReasons = 0
        /// The sets of script files that its pages have.
        var fileSets: Set<UInt64> = []
        /// The sets of script files and inline scripts that its pages have.
        var scriptSets: Set<UInt64> = []
        /// The sets of scripts of pages for which rendering found something.
        var fruitfulSets: Set<UInt64> = []
        /// The number of rendered pages that were the first of their pattern or kind.
        var firstLooks = 0
        /// Whether rendering has found something.
        var isFruitful = false
        /// The number of pages for which rendering found nothing.
        var fruitlessCount = 0
        var runningCount = 0

        /// Whether one more page would exceed the number of pages for which rendering may find nothing.
        var isGivenUp: Bool {
            fruitlessCount + runningCount >= RenderScheduler.fewPagesOfHost(patterns: patternsWithReasons)
        }
    }

    /// Whether a page has changed since an earlier snapshot.
    enum Freshness: Sendable {
        case new
        /// The page has not changed. Rendering it would give the result of the earlier snapshot again, unless an
        /// asset has changed.
        case unchanged
    }

    /// A group of pages with similar URLs.
    struct Pattern: Sendable {
        let text: String
        /// The host, as an index into `RenderScheduler.hosts`.
        let host: Int
        /// Whether this is a view: a group of pages that have the same last path component in several
        /// folders, such as `/runs/…/log`. Pages with another name may be different.
        var isView = false
        /// The first page of each name, with its folder. A pattern with too many names gets no views for the
        /// rest.
        var firstPages: [String: (page: UInt32, folder: Substring)] = [:]
        /// The views by name, as indices into `RenderScheduler.patterns`.
        var views: [String: Int] = [:]
        /// The reasons found in pages of this pattern.
        var ownReasons: RenderReasons = []
        /// The reasons found in assets of its pages.
        var sharedReasons: RenderReasons = []
        /// The sets of script files and inline scripts that its pages have.
        var scriptSets: Set<UInt64> = []
        /// The assets of its pages, as far as they may be scripts.
        var assets: Set<UInt32> = []
        /// Whether an asset of its pages differs from that in an earlier snapshot.
        var hasChangedAsset = false
        /// Unchanged pages, with their assets.
        var unchangedPages: [PageWithAssets] = []
        /// Whether `settle` has found a reason to render its pages.
        var isReleased = false
        private var newQueues = PageQueues()
        private var unchangedQueues = PageQueues()

        /// The number of pages that were added.
        var pageCount = 0
        var renderedCount = 0
        var foundAssetCount = 0
        var foundPageCount = 0
        /// The number of pages that did not become idle in time.
        var unfinishedCount = 0
        /// The number of pages for which rendering found something.
        var fruitfulCount = 0
        /// The number of pages in a row that did not become idle and for which rendering found nothing.
        var restlessCount = 0
        /// Whether rendering found something in the last snapshot.
        var wasFruitful = false
        /// Whether an earlier snapshot rendered pages of this pattern in the same way.
        var wasRenderedBefore = false

        init(text: String, host: Int) {
            (self.text, self.host) = (text, host)
        }

        subscript(freshness: Freshness) -> PageQueues {
            get { freshness == .new ? newQueues : unchangedQueues }
            _modify {
                if freshness == .new { yield &newQueues } else { yield &unchangedQueues }
            }
        }

        var reasons: RenderReasons { ownReasons.union(sharedReasons) }

        /// Whether this or an earlier snapshot has rendered pages of it.
        var wasEverRendered: Bool { renderedCount > 0 || wasRenderedBefore }

        var isFruitful: Bool { fruitfulCount > 0 }

        /// The number of pages that were rendered or are being rendered.
        var startedCount: Int { renderedCount + newQueues.runningCount + unchangedQueues.runningCount }

        /// Whether the next page is the first one of the pattern, or the first of its kind by its script files.
        private var isFirstByFiles: Bool {
            startedCount == 0 || !newQueues.firstOfKind.isEmpty || !unchangedQueues.firstOfKind.isEmpty
        }

        /// Whether the next page is the first one of the pattern, or the first of its kind.
        var isFirstLook: Bool {
            isFirstByFiles || !newQueues.firstWithInlineScripts.isEmpty
                || !unchangedQueues.firstWithInlineScripts.isEmpty
        }

        /// The maximum number of pages in a row for which rendering finds nothing. After that, no further
        /// page is rendered.
        var patience: Int {
            (isView ? RenderScheduler.fewPagesOfView : RenderScheduler.fewPages) + min(fruitfulCount, 7)
        }

        /// Whether no further page is rendered because rendering the last ones found nothing.
        var isGivenUp: Bool {
            [newQueues, unchangedQueues].allSatisfy { $0.fruitlessInARow >= patience || $0.isUnused }
        }

        /// The order in which patterns are rendered: those with a page that is the first of its kind, by its script files
        /// before those by its inline scripts, then those for which rendering has found something, then those with strong
        /// reasons, then by their pages.
        func comes(before other: Pattern) -> Bool {
            func rank(_ pattern: Pattern) -> (Int, Int, Int, Int) {
                (
                    pattern.isFirstByFiles ? 0 : pattern.isFirstLook ? 1 : 2,
                    pattern.isFruitful || pattern.wasFruitful ? 0 : 1,
                    pattern.reasons.strong.isEmpty ? 1 : 0, -pattern.pageCount
                )
            }
            return rank(self) < rank(other)
        }
    }

    /// The pages of a pattern that wait to be rendered, either the new or the unchanged ones.
    struct PageQueues: Sendable {
        /// The first page with each set of script files that is new on the host, and the first page without script files
        /// that has only weak reasons.
        var firstOfKind = PageQueue()
        /// The first page with each set of inline scripts that is new for its script files.
        var firstWithInlineScripts = PageQueue()
        /// Other pages that have strong reasons of their own.
        var withStrongReasons = PageQueue()
        /// Other pages that have weak reasons of their own.
        var withWeakReasons = PageQueue()
        /// Pages of which only an asset may have a reason.
        var others = PageQueue()
        var runningCount = 0
        /// The number of pages since the last one for which rendering found something.
        var fruitlessInARow = 0

        private static let all: [any WritableKeyPath<PageQueues, PageQueue> & Sendable] = [
            \.firstOfKind, \.firstWithInlineScripts, \.withStrongReasons, \.withWeakReasons, \.others,
        ]

        var isEmpty: Bool { Self.all.allSatisfy { self[keyPath: $0].isEmpty } }
        /// Whether it has no pages, neither waiting nor popped ones.
        var isUnused: Bool { Self.all.allSatisfy { self[keyPath: $0].pages.isEmpty } }

        mutating func popFirst() -> UInt32? {
            firstOfKind.popFirst() ?? firstWithInlineScripts.popFirst() ?? withStrongReasons.popFirst()
                ?? withWeakReasons.popFirst() ?? others.popFirst()
        }

        /// Removes a page. Returns false if it does not wait.
        mutating func remove(_ page: UInt32) -> Bool {
            for queue in Self.all where self[keyPath: queue].remove(page) { return true }
            return false
        }

        /// Moves a waiting page to the same queue of another pattern. Returns false if the page does not wait.
        mutating func move(_ page: UInt32, to other: inout PageQueues) -> Bool {
            for queue in Self.all where self[keyPath: queue].remove(page) {
                other[keyPath: queue].append(page)
                return true
            }
            return false
        }
    }

    /// A first-in, first-out queue of pages.
    struct PageQueue: Sendable {
        private(set) var pages: [UInt32] = []
        private var head = 0

        var isEmpty: Bool { head == pages.count }

        mutating func append(_ page: UInt32) { pages.append(page) }

        /// Removes a page. Returns false if it is not in the queue.
        mutating func remove(_ page: UInt32) -> Bool {
            guard let place = pages[head...].firstIndex(of: page) else { return false }
            pages.remove(at: place)
            return true
        }

        mutating func popFirst() -> UInt32? {
            guard head < pages.count else { return nil }
            defer { head += 1 }
            return pages[head]
        }
    }
}
