internal import Web

/// Notices where a site goes on for ever without saying anything new: calendars, session IDs, folders in folders,
/// combinations of parameters.
///
/// A pattern of URLs alone is no trap, however many pages it has: only its pages' contents make it one, when they
/// repeat each other. First such pages are slowed, which is to say asked for after all others; when they go on like
/// that, they are stopped, for good.
struct Traps: Sendable {
    enum Verdict: Sendable, Equatable {
        case fine
        case slowed(TrapReason)
        case stopped(TrapReason)
    }

    private var patterns = PatternTable()
    private var contents = SeenContents()
    /// What is slowed or stopped, by the key of its shape.
    private var flagged: [UInt64: Verdict] = [:]

    private static let mostFlagged = 1024
    /// From so many pages of numbers of the same size on, it is worth to look at their words.
    private static let pagesToLook = 64
    private static let pagesOfParameters = 500

    /// How many pages it takes, and what share of them has to be alike.
    private static func threshold(_ kind: TrapReason.Kind) -> (
        slow: Int, slowShare: Double, stop: Int, stopShare: Double
    ) {
        switch kind {
        case .repetition: (32, 0.6, 96, 0.9)
        case .calendar: (24, 0.8, 96, 0.9)
        case .depth: (8, 0.5, 24, 0.7)
        case .parameters: (pagesOfParameters, 0, .max, 1)
        }
    }

    /// Whether a page's content is to be told by its words, which takes a while: only where its URL looks like a trap.
    func wantsWords(of url: WebURL) -> Bool {
        let shape = URLShape(url)
        guard shape.traits.isDisjoint(with: [.dates, .loops, .keys, .manyParameters]) else { return true }
        guard shape.traits.contains(.numbers), let record = patterns.record(shape.key) else { return false }
        return record.pages >= Self.pagesToLook && record.isUniform
    }

    /// Nothing is slowed or stopped.
    var isQuiet: Bool { flagged.isEmpty }

    /// Asked when an URL is heard of, and again when its turn comes.
    func verdict(on url: WebURL) -> Verdict {
        flagged.isEmpty ? .fine : flagged[URLShape(url).key] ?? .fine
    }

    /// Whether a page with the same content was told of lately.
    func hasSeen(_ print: ContentPrint) -> Bool { contents.contains(print.digest) }

    /// Tells of a page that was fetched, and of the pages that it was the first to link to. The verdict is on further
    /// ones like it.
    @discardableResult
    mutating func fetched(_ url: WebURL, _ print: ContentPrint, newPages: some Sequence<WebURL>) -> Verdict {
        let shape = URLShape(url)
        var (links, toItself) = (0, 0)
        // Where pages lead to tells only of these; for others it costs more than all the rest.
        if !shape.traits.isDisjoint(with: [.dates, .manyParameters]) {
            for page in newPages {
                links += 1
                if URLShape(page).key == shape.key { toItself += 1 }
            }
        }
        let isRepeated = contents.insert(print.digest)
        // Products differ by little more than their names, and are no trap: only dates and loops are judged by
        // likeness.
        let nearness = !shape.traits.isDisjoint(with: [.dates, .loops])
        let record = patterns.update(shape.key) { record in
            record.add(print, isRepeated: isRepeated, nearness: nearness, newLinks: links, toItself: toItself)
        }
        guard let record else { return .fine }
        if case .stopped(let reason)? = flagged[shape.key] { return .stopped(reason) }
        let verdict = judge(record, shape)
        if verdict == .fine {
            flagged[shape.key] = nil
        } else if flagged.count < Self.mostFlagged || flagged[shape.key] != nil {
            flagged[shape.key] = verdict
        }
        return verdict
    }

    /// What was stopped, to be told in a report.
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
        let reason = TrapReason(kind: kind, pattern: shape.text, pages: record.pages, alike: record.alike)
        if record.pages >= threshold.stop, record.alikeShare >= threshold.stopShare { return .stopped(reason) }
        if record.pages >= threshold.slow, record.alikeShare >= threshold.slowShare { return .slowed(reason) }
        return .fine
    }

    /// What kind of trap the pattern would be.
    private static func kind(of record: PatternRecord, _ traits: URLShape.Traits) -> TrapReason.Kind? {
        if traits.contains(.loops) { return .depth }
        if traits.contains(.dates), record.leadsToItself { return .calendar }
        let isFruitless = traits.contains(.manyParameters) && record.leadsToItself && record.newLinks >= record.pages
        if isFruitless, record.pages >= pagesOfParameters, record.alikeShare < 0.6 { return .parameters }
        return .repetition
    }
}
