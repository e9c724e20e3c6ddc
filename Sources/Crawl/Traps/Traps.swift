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
    /// What pages said beside their links.
    private var skeletons = SeenContents()
    /// What is slowed or stopped, by the key of its shape.
    private var flagged: [UInt64: Verdict] = [:]
    /// Among them are those of words.
    private var hasRare = false

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
        case .keys: (32, 0.6, 96, 0.9)
        case .words: (24, 0.8, 192, 0.9)
        }
    }

    /// Whether a page's content is to be told by its words, which takes a while: only where its URL looks like a trap.
    func wantsWords(of url: WebURL) -> Bool {
        let shape = URLShape(url)
        guard shape.traits.isDisjoint(with: [.dates, .loops, .keys, .manyParameters]) else { return true }
        if isRare(shape) { return shape.key >> 32 % Self.rarePagesForSample == 0 }
        guard shape.traits.contains(.numbers), let record = patterns.record(shape.key) else { return false }
        return record.pages >= Self.pagesToLook && record.isUniform
    }

    /// A shape that hardly any page has. Of such pages one in so many is looked at.
    private static let rarePages = 3
    private static let rarePagesForSample: UInt64 = 16

    /// One shape for all those of a host that hardly come twice.
    private static func rareKey(_ url: WebURL) -> UInt64 { Mixing.mix("*\(url.origin)".utf8) }

    private func isRare(_ shape: URLShape) -> Bool {
        shape.traits.isEmpty && patterns.record(shape.key).map { $0.pages < Self.rarePages } ?? true
    }

    /// Nothing is slowed or stopped.
    var isQuiet: Bool { flagged.isEmpty }

    /// Asked when an URL is heard of, and again when its turn comes.
    func verdict(on url: WebURL) -> Verdict {
        if flagged.isEmpty { return .fine }
        let shape = URLShape(url)
        if let verdict = flagged[shape.key] { return verdict }
        guard hasRare, isRare(shape) else { return .fine }
        return flagged[Self.rareKey(url)] ?? .fine
    }

    /// Whether a page with the same content was told of lately.
    func hasSeen(_ print: ContentPrint) -> Bool { contents.contains(print.digest) }

    /// Tells of a page that was fetched, and of the pages that it was the first to link to. The verdict is on further
    /// ones like it.
    @discardableResult
    mutating func fetched(
        _ url: WebURL, _ print: ContentPrint, newPages: some Sequence<WebURL>, bringsMore: Bool = false
    ) -> Verdict {
        let shape = URLShape(url)
        // What says nothing, and needs nothing new.
        let isEmpty = print.skeleton.map { skeletons.insert($0) && !bringsMore } ?? false
        if print.skeleton != nil, isRare(shape) { lookAtRare(url, shape, print, isEmpty, newPages) }
        var (links, toItself) = (0, 0)
        // Where pages lead to tells only of these; for others it costs more than all the rest.
        if !shape.traits.isDisjoint(with: [.dates, .manyParameters, .keys]) {
            for page in newPages {
                links += 1
                let target = URLShape(page)
                // A calendar's days are of it as its months are.
                let isDay = shape.traits.contains(.dates) && target.traits.contains(.dates) && target.endsInDate
                if target.key == shape.key || isDay { toItself += 1 }
            }
        }
        let isRepeated = contents.insert(print.digest)
        // Products differ by little more than their names, and are no trap: only dates and loops are judged by
        // likeness.
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
        } else if flagged.count < Self.mostFlagged || flagged[shape.key] != nil {
            flagged[shape.key] = verdict
        }
        return verdict
    }

    private mutating func lookAtRare(
        _ url: WebURL, _ shape: URLShape, _ print: ContentPrint, _ isEmpty: Bool, _ newPages: some Sequence<WebURL>
    ) {
        var (links, toItself) = (0, 0)
        for page in newPages {
            links += 1
            if isRare(URLShape(page)) { toItself += 1 }
        }
        let key = Self.rareKey(url)
        let record = patterns.update(key) { record in
            record.add(print, isRepeated: false, nearness: false, isEmpty: isEmpty, newLinks: links, toItself: toItself)
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
        // That a page says little tells only of what leads to more of the same.
        let isWorse = kind != .repetition && kind != .parameters && record.emptyShare > record.alikeShare
        let (share, alike) = isWorse ? (record.emptyShare, record.empty) : (record.alikeShare, record.alike)
        let reason = TrapReason(kind: kind, pattern: shape.text, pages: record.pages, alike: alike)
        if record.pages >= threshold.stop, share >= threshold.stopShare { return .stopped(reason) }
        if record.pages >= threshold.slow, share >= threshold.slowShare { return .slowed(reason) }
        return .fine
    }

    /// What kind of trap the pattern would be.
    private static func kind(of record: PatternRecord, _ traits: URLShape.Traits) -> TrapReason.Kind? {
        if traits.contains(.loops) { return .depth }
        if traits.contains(.dates), record.leadsToItself { return .calendar }
        if traits.contains(.keys), record.leadsToItself, record.newLinks >= record.pages { return .keys }
        let isFruitless = traits.contains(.manyParameters) && record.leadsToItself && record.newLinks >= record.pages
        if isFruitless, record.pages >= pagesOfParameters, record.alikeShare < 0.6 { return .parameters }
        return .repetition
    }
}
