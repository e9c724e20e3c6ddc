internal import Markup
package import Web

/// Which pages are rendered in a browser, to find the requests of their scripts.
public enum RenderMode: String, Sendable, CaseIterable {
    /// A few pages of each URL pattern whose scripts could not be analysed, and more of them while rendering finds
    /// new URLs.
    case auto
    /// Every page.
    case always
    /// No page.
    case never
}

/// Which pages of a crawl are rendered: of each pattern of pages a few, where a scan saw something that it
/// could not read, and further ones as long as rendering brings what no scan found.
package struct RenderBook: Sendable {
    /// What a browser found of one page.
    struct Found: Sendable {
        /// What the page asked for and no scan had found.
        var assets = 0
        /// Pages that it leads to and no scan had found.
        var pages = 0

        var isNothing: Bool { assets == 0 && pages == 0 }
    }

    /// Pages whose addresses look alike.
    struct Pattern: Sendable {
        let text: String
        fileprivate let host: Int
        /// Its pages have one name, and stand in several folders: `/runs/…/log`. What a page of it is like, a
        /// page of another name does not tell.
        fileprivate var isView = false
        /// The first page of each name, in which folder; they are no views of a pattern with too many names.
        fileprivate var names: [String: (page: UInt32, folder: Substring)] = [:]
        fileprivate var views: [String: Int] = [:]
        /// Of the scans of its pages, which count for those alone, and of what its pages need.
        fileprivate var ownReasons: RenderReasons = []
        fileprivate var sharedReasons: RenderReasons = []
        var reasons: RenderReasons { ownReasons.union(sharedReasons) }
        /// Those that were seen.
        var pageCount = 0
        var renderedCount = 0
        var assets = 0
        var pages = 0
        /// Pages that did not come to rest.
        var unfinished = 0
        /// It brought something in the last snapshot.
        fileprivate(set) var isKnown = false
        /// An earlier snapshot has looked at pages of it, in the same way.
        fileprivate(set) var wasLookedAt = false
        /// Something that its pages need is another than in an earlier snapshot.
        fileprivate var hasNews = false
        /// What is as it was need not be looked at again.
        var isLookedAt: Bool { renderedCount > 0 || wasLookedAt }
        /// Of its pages that are as they were, what each needs.
        fileprivate var recalled: [(page: UInt32, needs: [UInt32])] = []
        /// Its first pages may be rendered.
        fileprivate var isReleased = false
        fileprivate var bringingCount = 0
        /// Pages that came, and those that are as an earlier snapshot has them: what is new of them was found
        /// then, unless it is new.
        fileprivate var lines = [Line(), Line()]
        /// What its pages need, as far as that may be scripts.
        fileprivate var needs: Set<UInt32> = []

        /// As many pages in a row may bring nothing before no further one is rendered.
        fileprivate var patience: Int {
            (isView ? RenderBook.fewPagesOfView : RenderBook.fewPages) + min(bringingCount, 7)
        }

        fileprivate struct Line {
            /// Pages that have a reason of their own, and those that only need what has one.
            var own = Queue()
            var others = Queue()
            var runningCount = 0
            /// How many pages have brought nothing since one did.
            var quietCount = 0
        }
        /// Rendering a page of it is known to bring something.
        var isWorthIt: Bool { bringingCount > 0 }
        /// So many pages have brought nothing that no further one is expected to.
        fileprivate var isGivenUp: Bool {
            lines.allSatisfy { $0.quietCount >= patience || $0.own.pages.isEmpty && $0.others.pages.isEmpty }
        }
        /// How many pages in a row did not come to rest, and brought nothing.
        fileprivate var restlessCount = 0
    }

    /// In the order in which they came.
    fileprivate struct Queue {
        private(set) var pages: [UInt32] = []
        private var head = 0

        var isEmpty: Bool { head == pages.count }

        mutating func append(_ page: UInt32) { pages.append(page) }

        /// False where it is not in line, or not any more.
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

    /// The first page of each pattern that has a reason of its own is shown while others still come: that
    /// takes a browser's time out of the end.
    private struct Early {
        /// Those that wait for what they need.
        var waiting: [(page: UInt32, needs: [UInt32])] = []
        var pages: Set<UInt32> = []
        /// What they were the first to find, by whom; a scan may find it still.
        var found: [UInt32: UInt32] = [:]
        /// Those that are to be shown once more, when everything has come.
        var again: [(page: UInt32, needs: [UInt32])] = []
    }

    /// What rendering pages of a host brought.
    private struct Host {
        /// Patterns with a reason of their own.
        var kinds = 0
        var hasBrought = false
        var quietCount = 0
        var runningCount = 0
    }

    let mode: RenderMode
    /// How many pages are shown at once.
    let tabs: Int
    private(set) var patterns: [Pattern] = []
    private var places: [String: Int] = [:]
    private var hosts: [Host] = []
    private var hostPlaces: [String: Int] = [:]
    /// The pattern of a page, and its line there.
    private var patternOf: [UInt32: (place: Int, line: Int)] = [:]
    /// Scripts and the like that a scan could not read through.
    private var reasons: [UInt32: RenderReasons] = [:]
    /// What scripts need.
    private var needs: [UInt32: [UInt32]] = [:]
    private var isNews = false
    /// What pages need and an earlier snapshot does not have, or has in another way.
    private var new: Set<UInt32> = []
    /// Something has come since it was last asked which patterns have a reason.
    private(set) var isUnsettled = false
    /// False where it is known that no pattern has a page that is due: patterns are many, and this is asked
    /// on each turn of a crawl.
    private var mayBeDue = false
    /// Pages that are shown once more when what they waited for is there.
    private var again: [(page: UInt32, needs: [UInt32])] = []
    /// Pages that are as they were, and are rendered whatever others brought: what they alone need is
    /// another, or they sent something, whose answer may be.
    private var owed: [UInt32] = []
    private var wereOwed: Set<UInt32> = []
    private var hasSettled = false
    private var wereAgain: Set<UInt32> = []
    private var early = Early()
    private(set) var runningCount = 0
    /// There is no browser, or no time left.
    private(set) var isOver = false
    /// Patterns that brought something in the last snapshot, and those that were looked at by earlier ones.
    private let known: Set<String>
    private let lookedAt: Set<String>
    /// Pages that sent something when they were rendered by an earlier snapshot.
    private var senders: Set<UInt32> = []

    /// The first pages of a pattern.
    static let fewPages = 3
    /// Of each view: what its pattern has a reason for, it may have none for.
    static let fewPagesOfView = 2
    private static let mostViews = 16
    private static let mostNames = 512
    /// Where so many pages of a host have brought nothing, no pattern of it is looked at any more. Of a collection of many
    /// things each is another one.
    static func fewPagesOfHost(kinds: Int) -> Int { max(12, min(kinds / 2, 60)) }
    private static let mostPatterns = 4096
    /// Of what pages of one pattern need, and of what scripts do.
    private static let mostNeeds = 4096
    private static let mostNeedsOfScript = 64
    private static let mostScripts = 65_536

    init(
        mode: RenderMode = .never, tabs: Int = 1, known: [String] = [], lookedAt: [String] = []
    ) {
        self.mode = mode
        self.tabs = max(1, tabs)
        self.known = Set(known)
        self.lookedAt = Set(lookedAt)
    }

    var isOn: Bool { mode != .never && !isOver }

    // MARK: - What is known of bodies

    /// A document came that a person may go to.
    ///
    /// - Parameter isRecalled: it is as an earlier snapshot has it.
    mutating func addPage(
        _ number: UInt32, _ url: WebURL, _ reasons: RenderReasons, needs: [UInt32], isRecalled: Bool = false
    ) {
        guard isOn, patternOf[number] == nil else { return }
        let line = isRecalled ? 1 : 0
        let place = view(of: url, number, in: place(of: url))
        patternOf[number] = (place, line)
        isUnsettled = true
        if mode == .always || patterns[place].isReleased || patterns[place].isWorthIt { mayBeDue = true }
        patterns[place].pageCount += 1
        if isRecalled, mode == .auto, patterns[place].wasLookedAt {
            if senders.contains(number) {
                owe(number)
            } else if patterns[place].isKnown {
                patterns[place].recalled.append((number, needs))
            }
        }
        if reasons.isEmpty {
            patterns[place].lines[line].others.append(number)
        } else {
            if mode == .auto, !isRecalled, patterns[place].ownReasons.isEmpty, !patterns[place].isReleased {
                early.waiting.append((number, needs))
            }
            patterns[place].lines[line].own.append(number)
            if patterns[place].ownReasons.isEmpty { hosts[patterns[place].host].kinds += 1 }
            patterns[place].ownReasons.formUnion(reasons)
        }
        for need in needs where patterns[place].needs.count < Self.mostNeeds {
            if patterns[place].needs.insert(need).inserted { isNews = true }
        }
    }

    /// An earlier snapshot saw the page send something. Told before the page is added.
    mutating func isSender(_ page: UInt32) {
        if isOn { senders.insert(page) }
    }

    /// What a page needs came.
    ///
    /// - Parameter isRecalled: it is as an earlier snapshot has it, or does not matter to scripts.
    mutating func addPart(
        _ number: UInt32, _ reasons: RenderReasons, needs: [UInt32], isRecalled: Bool = false
    ) {
        guard isOn else { return }
        if !isRecalled, !lookedAt.isEmpty, new.count < Self.mostScripts, new.insert(number).inserted {
            (isNews, isUnsettled) = (true, true)
        }
        if !reasons.isEmpty, self.reasons.count < Self.mostScripts {
            self.reasons[number] = reasons
            (isNews, isUnsettled) = (true, true)
        }
        if !needs.isEmpty, self.needs.count < Self.mostScripts {
            self.needs[number] = Array(needs.prefix(Self.mostNeedsOfScript))
            isNews = true
        }
    }

    /// Whether its words are still to come: a page of this pattern may be rendered.
    func mayRender(_ url: WebURL) -> Bool {
        guard isOn else { return false }
        return places[Self.pattern(of: url)].map { !patterns[$0].isGivenUp } ?? true
    }

    /// Whether the page is one of those that hardly ever come to rest: it gets less time.
    func isRestless(_ number: UInt32) -> Bool {
        patternOf[number].map { patterns[$0.place].restlessCount >= Self.fewPages } ?? false
    }

    private mutating func place(of url: WebURL) -> Int {
        let text = places.count < Self.mostPatterns ? Self.pattern(of: url) : url.host
        if let known = places[text] { return known }
        let host = hostPlaces[url.host] ?? hosts.count
        if host == hosts.count {
            hostPlaces[url.host] = host
            hosts.append(Host())
        }
        places[text] = add(Pattern(text: text, host: host))
        return patterns.count - 1
    }

    private mutating func add(_ new: Pattern) -> Int {
        var pattern = new
        pattern.isKnown = known.contains(pattern.text)
        pattern.wasLookedAt = lookedAt.contains(pattern.text)
        patterns.append(pattern)
        return patterns.count - 1
    }

    /// Where a page of the pattern counts: with those of its own name, once these stand in several folders.
    private mutating func view(of url: WebURL, _ page: UInt32, in place: Int) -> Int {
        guard mode == .auto, let end = url.path.dropLast(url.path.hasSuffix("/") ? 1 : 0).lastIndex(of: "/")
        else { return place }
        let (name, folder) = (String(url.path[end...]), url.path[..<end])
        if let view = patterns[place].views[name] { return view }
        guard let first = patterns[place].names[name] else {
            if patterns[place].names.count < Self.mostNames { patterns[place].names[name] = (page, folder) }
            return place
        }
        guard first.folder != folder, patterns[place].views.count < Self.mostViews,
            patterns.count < Self.mostPatterns
        else { return place }
        var view = Pattern(text: Self.pattern(of: url, isNamed: true), host: patterns[place].host)
        view.isView = true
        view.isReleased = patterns[place].isReleased
        view.ownReasons = patterns[place].ownReasons
        view.sharedReasons = patterns[place].sharedReasons
        view.needs = patterns[place].needs
        view.hasNews = patterns[place].hasNews
        let number = add(view)
        patterns[place].views[name] = number
        move(first.page, from: place, to: number)
        return number
    }

    /// A page that was not shown yet belongs to its view from then on.
    private mutating func move(_ page: UInt32, from place: Int, to view: Int) {
        guard let line = patternOf[page]?.line else { return }
        if patterns[place].lines[line].own.remove(page) {
            patterns[view].lines[line].own.append(page)
        } else if patterns[place].lines[line].others.remove(page) {
            patterns[view].lines[line].others.append(page)
        } else {
            return
        }
        patternOf[page] = (view, line)
        patterns[place].pageCount -= 1
        patterns[view].pageCount += 1
        patterns[view].recalled += patterns[place].recalled.filter { $0.page == page }
        patterns[place].recalled.removeAll { $0.page == page }
    }

    /// The folder, as far as its first two names tell it, with the kind of the file:
    /// `example.com/docs/guide/*.html`. Numbers are names of things, and no folders: `example.com/runs/…/*`.
    package static func pattern(of url: WebURL) -> String { pattern(of: url, isNamed: false) }

    /// - Parameter isNamed: with the last name as it is.
    private static func pattern(of url: WebURL, isNamed: Bool) -> String {
        var names = url.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        let last = names.popLast() ?? ""
        let folder = isNamed && last.isEmpty ? names.popLast() : nil
        let dot = last.lastIndex(of: ".")
        let ending = dot.map { last[$0...] } ?? ""
        var text = url.host + (url.port.map { ":\($0)" } ?? "")
        for name in names.prefix(2) { text += isNumber(name) ? "/…" : "/\(name)" }
        if names.count > 2, !text.hasSuffix("/…") { text += "/…" }
        if let folder { text += "/\(folder)" }
        text += "/" + (isNamed ? String(last) : last.isEmpty ? "" : "*\(ending.count <= 6 ? ending : "")")
        if let query = url.query, !query.isEmpty {
            // What has no name may be anything.
            let keys = Set(
                query.split(separator: "&").map { $0.contains("=") ? $0.prefix { $0 != "=" } : "*" }
            )
            .sorted()
            text += "?" + keys.prefix(4).joined(separator: "&") + (keys.count > 4 ? "&…" : "")
        }
        return text
    }

    /// Digits, or a long one of base 16, as they are given out.
    private static func isNumber(_ name: Substring) -> Bool {
        let name = name.utf8
        if name.allSatisfy(\.isASCIIDigit) { return !name.isEmpty }
        let dash = UInt8(ascii: "-")
        return name.count >= 16 && name.contains(where: \.isASCIIDigit)
            && name.allSatisfy { $0 == dash || $0.isASCIIDigit || 0x61...0x66 ~= $0 | 0x20 }
    }

    // MARK: - Which is next

    /// The next page to render.
    ///
    /// - Parameter isThere: whether something that a page waited for came, or never will.
    mutating func next(_ isThere: (UInt32) -> Bool = { _ in true }) -> UInt32? {
        guard isOn, runningCount < tabs else { return nil }
        let number: UInt32
        if let place = again.lastIndex(where: { $0.needs.allSatisfy(isThere) }) {
            number = again.remove(at: place).page
        } else if hasSettled, let page = owed.popLast() {
            number = page
        } else if let due = nextDue() {
            number = due
        } else {
            return nil
        }
        runningCount += 1
        if let (place, line) = patternOf[number] {
            patterns[place].lines[line].runningCount += 1
            hosts[patterns[place].host].runningCount += 1
        }
        return number
    }

    /// The next page that is shown before everything has come.
    ///
    /// - Parameter isThere: whether something that a page needs came, or never will.
    mutating func nextEarly(_ isThere: (UInt32) -> Bool) -> UInt32? {
        guard isOn, runningCount < tabs else { return nil }
        func isReady(_ needs: [UInt32]) -> Bool {
            needs.allSatisfy { isThere($0) && self.needs[$0]?.allSatisfy(isThere) ?? true }
        }
        guard let index = early.waiting.firstIndex(where: { isReady($0.needs) }) else { return nil }
        let page = early.waiting.remove(at: index).page
        guard let (place, line) = patternOf[page], case let host = patterns[place].host,
            hosts[host].quietCount + hosts[host].runningCount < Self.fewPagesOfHost(kinds: hosts[host].kinds),
            patterns[place].lines[line].own.popFirst() == page
        else { return nil }
        early.pages.insert(page)
        runningCount += 1
        patterns[place].lines[line].runningCount += 1
        hosts[host].runningCount += 1
        return page
    }

    var waitsForEarly: Bool { !early.waiting.isEmpty }

    func isEarly(_ page: UInt32) -> Bool { early.pages.contains(page) }

    /// A page that is shown early was the first to find it.
    mutating func isFound(_ number: UInt32, byEarly page: UInt32) { early.found[number] = page }

    /// A scan found it.
    mutating func isScanned(_ number: UInt32) {
        if !early.found.isEmpty { early.found[number] = nil }
    }

    /// Counts for early pages what no scan has found.
    ///
    /// - Parameter value: what it counts for.
    private mutating func settleEarly(_ value: (UInt32) -> Found) {
        var brought: [UInt32: Found] = [:]
        for (number, page) in early.found where !value(number).isNothing {
            brought[page, default: Found()].assets += value(number).assets
            brought[page, default: Found()].pages += value(number).pages
        }
        for (page, found) in brought {
            guard let (place, line) = patternOf[page] else { continue }
            patterns[place].assets += found.assets
            patterns[place].pages += found.pages
            patterns[place].bringingCount += 1
            patterns[place].lines[line].quietCount = 0
            let host = patterns[place].host
            hosts[host].hasBrought = true
            hosts[host].quietCount = max(0, hosts[host].quietCount - 1)
        }
        again += early.again
        early = Early()
    }

    /// No page is rendered, and none is due.
    var isIdle: Bool {
        runningCount == 0
            && (!isOn || again.isEmpty && (owed.isEmpty || !hasSettled) && (!mayBeDue || due == nil))
    }

    /// Pages that may be rendered were not.
    var isCut: Bool { isOn && (isUnsettled || !isIdle) }

    /// Everything else has come: a browser is answered at once now, and it is known which patterns have a
    /// reason.
    ///
    /// - Parameter value: what something that a page found counts for.
    mutating func settle(_ value: (UInt32) -> Found = { _ in Found() }) {
        (isUnsettled, mayBeDue, hasSettled) = (false, true, true)
        settleEarly(value)
        if isNews { spreadReasons() }
        for place in patterns.indices where patterns[place].hasNews { oweChanged(place) }
        for place in patterns.indices where !patterns[place].reasons.isEmpty || patterns[place].isKnown {
            patterns[place].isReleased = true
        }
    }

    private mutating func nextDue() -> UInt32? {
        while mayBeDue, let (place, line) = due,
            let page = patterns[place].lines[line].own.popFirst()
                ?? patterns[place].lines[line].others.popFirst()
        {
            if !wereOwed.contains(page) { return page }
        }
        mayBeDue = false
        return nil
    }

    private mutating func owe(_ page: UInt32) {
        if wereOwed.insert(page).inserted { owed.append(page) }
    }

    /// What many need and is another may matter to all of them: of those some are looked at, as of any. What
    /// few need matters to those.
    private mutating func oweChanged(_ place: Int) {
        var counts: [UInt32: Int] = [:]
        for (_, needs) in patterns[place].recalled {
            for need in needs where new.contains(need) { counts[need, default: 0] += 1 }
        }
        for (page, needs) in patterns[place].recalled
        where needs.contains(where: { counts[$0].map { $0 <= Self.fewPages } ?? false }) {
            owe(page)
        }
    }

    private var due: (place: Int, line: Int)? {
        for line in 0...1 {
            if let place = patterns.indices.first(where: { mayStart($0, line) }) { return (place, line) }
        }
        return nil
    }

    private func mayStart(_ place: Int, _ line: Int) -> Bool {
        let pattern = patterns[place]
        let pages = pattern.lines[line]
        if mode == .always { return !pages.own.isEmpty || !pages.others.isEmpty }
        // An earlier snapshot knows what comes of pages that are as it has them.
        if line == 1, pattern.wasLookedAt, !pattern.hasNews { return false }
        guard pattern.isReleased || pattern.isWorthIt,
            !pages.own.isEmpty || !pages.others.isEmpty && (pattern.isKnown || !pattern.sharedReasons.isEmpty)
        else { return false }
        let host = hosts[pattern.host]
        // Those that run may all bring nothing.
        return pages.quietCount + pages.runningCount < pattern.patience
            && (host.hasBrought || pattern.isKnown
                || host.quietCount + host.runningCount < Self.fewPagesOfHost(kinds: host.kinds))
    }

    /// What is said of a script counts for all pages that need it, be it by way of other scripts.
    private mutating func spreadReasons() {
        isNews = false
        guard !reasons.isEmpty || !new.isEmpty else { return }
        for place in patterns.indices {
            var (seen, rest) = (patterns[place].needs, Array(patterns[place].needs))
            while let number = rest.popLast() {
                if let reasons = reasons[number] { patterns[place].sharedReasons.formUnion(reasons) }
                if new.contains(number) { patterns[place].hasNews = true }
                for need in needs[number] ?? [] where seen.insert(need).inserted { rest.append(need) }
            }
        }
    }

    // MARK: - What came of it

    /// - Parameter needs: what it asked for and had not come when it was left: then it is shown once more.
    mutating func rendered(_ number: UInt32, _ found: Found, isWhole: Bool, waitsFor needs: [UInt32] = []) {
        runningCount -= 1
        mayBeDue = true
        guard let (place, line) = patternOf[number] else { return }
        let host = patterns[place].host
        patterns[place].lines[line].runningCount -= 1
        hosts[host].runningCount -= 1
        patterns[place].assets += found.assets
        patterns[place].pages += found.pages
        if !needs.isEmpty, wereAgain.insert(number).inserted {
            if isEarly(number) { early.again.append((number, needs)) } else { again.append((number, needs)) }
            return
        }
        patterns[place].renderedCount += 1
        if !isWhole { patterns[place].unfinished += 1 }
        let isRestless = !isWhole && found.isNothing
        patterns[place].restlessCount = isRestless ? patterns[place].restlessCount + 1 : 0
        if found.isNothing {
            patterns[place].lines[line].quietCount += 1
            hosts[host].quietCount += 1
        } else {
            hosts[host].hasBrought = true
            patterns[place].lines[line].quietCount = 0
            patterns[place].bringingCount += 1
        }
    }

    /// It is shown once more.
    func isOwedAnotherLook(_ page: UInt32) -> Bool {
        isOn && (again.contains { $0.page == page } || early.again.contains { $0.page == page })
    }

    mutating func end() {
        isOver = true
    }
}
