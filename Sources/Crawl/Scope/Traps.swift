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
        if print.skeleton != nil, isRare(shape) { addRarePage(url, print, isEmpty, newPages) }
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
        _ url: WebURL, _ print: ContentPrint, _ isEmpty: Bool,
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
