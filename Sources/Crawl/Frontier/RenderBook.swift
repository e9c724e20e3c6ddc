internal import Markup
package import Web

/// Which pages are rendered in a browser, to find the requests of their scripts.
public enum RenderMode: String, Sendable, CaseIterable {
    /// One page for each set of scripts that can send requests, a few of each URL pattern whose scripts could
    /// not be analysed, and more while rendering finds new URLs.
    case auto
    /// Every page.
    case always
    /// No page.
    case never
}

/// The decisions about which pages of a crawl are rendered.
///
/// Pages are grouped into patterns of similar URLs. In automatic mode, if scripts can send requests, one page
/// for each set of scripts is rendered; if a scan could not analyse the scripts of a pattern, a few of its
/// pages; and more of them, and of other patterns with the same scripts, while rendering finds URLs that no
/// scan had found. Large patterns come first.
///
/// A page is added with `addPage` after its scan, and its assets with `addPart`. In automatic mode, rendering
/// starts when `settle` is called, after all requests and scans have ended: it decides which patterns have a
/// reason to be rendered. The exceptions are early pages, at most one per pattern, for which the time is used
/// while requests still run, and patterns for which rendering has already found something. `next` and
/// `nextEarly` count a page as running until `rendered` is called. A page that had to leave before all its
/// requests were answered is rendered once more. `end` stops rendering for good.
package struct RenderBook: Sendable {
    /// The number of URLs that rendering one page found.
    struct Found: Sendable {
        /// Assets that the page requested and no scan had found.
        var assets = 0
        /// Pages that it links to and no scan had found.
        var pages = 0

        var isNothing: Bool { assets == 0 && pages == 0 }
    }

    /// A group of pages with similar URLs.
    struct Pattern: Sendable {
        let text: String
        fileprivate let host: Int
        /// Whether this is a view: a group of pages that have the same last path component in several
        /// folders, such as `/runs/…/log`. Pages with another name may be different.
        fileprivate var isView = false
        /// The first page of each name, with its folder. A pattern with too many names gets no views for the
        /// rest.
        fileprivate var names: [String: (page: UInt32, folder: Substring)] = [:]
        /// The views by name, as indices into `patterns`.
        fileprivate var views: [String: Int] = [:]
        /// The reasons found in pages of this pattern, and those found in their assets.
        fileprivate var ownReasons: RenderReasons = []
        fileprivate var sharedReasons: RenderReasons = []
        var reasons: RenderReasons { ownReasons.union(sharedReasons) }
        /// The number of pages that were added.
        var pageCount = 0
        var renderedCount = 0
        var assets = 0
        var pages = 0
        /// The number of pages that did not become idle in time.
        var unfinished = 0
        /// Whether rendering found something in the last snapshot.
        fileprivate(set) var isKnown = false
        /// Whether an earlier snapshot rendered pages of this pattern in the same way.
        fileprivate(set) var wasLookedAt = false
        /// Whether an asset that its pages need differs from that in an earlier snapshot.
        fileprivate var hasNews = false
        /// Whether this or an earlier snapshot has rendered pages of it.
        var isLookedAt: Bool { renderedCount > 0 || wasLookedAt }
        /// Pages that have not changed since an earlier snapshot, with their assets.
        fileprivate var recalled: [(page: UInt32, needs: [UInt32])] = []
        /// Whether `settle` has found a reason to render its pages.
        fileprivate var isReleased = false
        fileprivate var bringingCount = 0
        /// The new and the unchanged pages, in this order. What rendering would find in the latter was found
        /// by the earlier snapshot, unless an asset has changed.
        fileprivate var lines = [Line(), Line()]
        /// The assets of its pages, as far as they may be scripts.
        fileprivate var needs: Set<UInt32> = []

        /// The maximum number of pages in a row for which rendering finds nothing. After that, no further
        /// page is rendered.
        fileprivate var patience: Int {
            (isView ? RenderBook.fewPagesOfView : RenderBook.fewPages) + min(bringingCount, 7)
        }

        /// Whether one of its due pages is the first of its kind.
        fileprivate var hasFirstLook: Bool { !lines[0].firsts.isEmpty || !lines[1].firsts.isEmpty }

        /// The sets of scripts that its pages have.
        fileprivate var scriptSets: Set<UInt64> = []

        /// The number of pages that were rendered or are being rendered.
        fileprivate var startedCount: Int { renderedCount + lines[0].runningCount + lines[1].runningCount }

        /// The order in which patterns are rendered: those with a page that is the first of its kind, then those
        /// for which rendering has found something, then those with strong reasons, then by their pages.
        fileprivate func comes(before other: Pattern) -> Bool {
            func rank(_ pattern: Pattern) -> (Int, Int, Int, Int) {
                (
                    pattern.hasFirstLook || pattern.startedCount == 0 ? 0 : 1,
                    pattern.isWorthIt || pattern.isKnown ? 0 : 1,
                    pattern.reasons.strong.isEmpty ? 1 : 0, -pattern.pageCount
                )
            }
            return rank(self) < rank(other)
        }

        /// The new or the unchanged pages of a pattern.
        fileprivate struct Line {
            /// The first page with scripts, and the first page with each set of scripts that is new on the host.
            var firsts = Queue()
            /// Pages that have strong reasons of their own, pages that only have scripts, and other pages, of
            /// which only an asset may have a reason.
            var own = Queue()
            var scripted = Queue()
            var others = Queue()
            var runningCount = 0
            /// The number of pages since the last one for which rendering found something.
            var quietCount = 0

            var isEmpty: Bool { firsts.isEmpty && own.isEmpty && scripted.isEmpty && others.isEmpty }
            /// Whether it never had a page.
            var isUnused: Bool {
                [firsts, own, scripted, others].allSatisfy(\.pages.isEmpty)
            }

            mutating func popFirst() -> UInt32? {
                firsts.popFirst() ?? own.popFirst() ?? scripted.popFirst() ?? others.popFirst()
            }
        }
        /// Whether rendering has found something.
        var isWorthIt: Bool { bringingCount > 0 }
        /// Whether no further page is rendered because rendering the last ones found nothing.
        fileprivate var isGivenUp: Bool {
            lines.allSatisfy { $0.quietCount >= patience || $0.isUnused }
        }
        /// The number of pages in a row that did not become idle and for which rendering found nothing.
        fileprivate var restlessCount = 0
    }

    /// A first-in, first-out queue of pages.
    fileprivate struct Queue {
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

    /// The pages that are rendered before all requests have ended: the first page of each pattern that has
    /// reasons of its own. This shortens the time for rendering at the end of the crawl.
    private struct Early {
        /// Pages that wait for the assets that they need.
        var waiting: [(page: UInt32, needs: [UInt32])] = []
        /// The early pages that have started.
        var pages: Set<UInt32> = []
        /// URLs that an early page was the first to request or link to, with the page. They do not count if a
        /// scan finds them later.
        var found: [UInt32: UInt32] = [:]
        /// Pages to be rendered again after `settle`.
        var again: [(page: UInt32, needs: [UInt32])] = []
    }

    /// The results of rendering pages of one host.
    private struct Host {
        /// The number of patterns whose pages have any reason of their own.
        var kinds = 0
        /// The sets of scripts that its pages have, and those of pages for which rendering found something.
        var scriptSets: Set<UInt64> = []
        var bringingSets: Set<UInt64> = []
        /// The number of rendered pages that were the first of their kind.
        var firstLooks = 0
        var hasBrought = false
        var quietCount = 0
        var runningCount = 0
    }

    let mode: RenderMode
    /// The maximum number of pages that are rendered at the same time.
    let tabs: Int
    private(set) var patterns: [Pattern] = []
    private var places: [String: Int] = [:]
    /// The folders with a pattern of their own, by the pattern that they would share otherwise.
    private var namedFolders: [String: Set<Substring>] = [:]
    private var hosts: [Host] = []
    private var hostPlaces: [String: Int] = [:]
    /// The pattern of each page as an index into `patterns`, and its line there: 0 for new, 1 for unchanged
    /// pages.
    private var patternOf: [UInt32: (place: Int, line: Int)] = [:]
    /// The sets of scripts of pages.
    private var scriptsOf: [UInt32: UInt64] = [:]
    /// The reasons found in scripts and other assets.
    private var reasons: [UInt32: RenderReasons] = [:]
    /// The assets that scripts need.
    private var needs: [UInt32: [UInt32]] = [:]
    /// Whether `reasons`, `needs`, `new` or the needs of a pattern have changed since `spreadReasons` ran.
    private var isNews = false
    /// Assets that are new, or differ from those in an earlier snapshot.
    private var new: Set<UInt32> = []
    /// Whether pages or assets were added since the last call of `settle`.
    private(set) var isUnsettled = false
    /// False if no pattern can have a page that is due. There are many patterns, and the crawl asks on each
    /// turn.
    private var mayBeDue = false
    /// Pages to be rendered once more when the assets for which they waited are available.
    private var again: [(page: UInt32, needs: [UInt32])] = []
    /// Unchanged pages that are rendered regardless of the results for other pages: an asset that few pages
    /// need has changed, or they sent a request whose response may have changed.
    private var owed: [UInt32] = []
    private var wereOwed: Set<UInt32> = []
    private var hasSettled = false
    private var wereAgain: Set<UInt32> = []
    private var early = Early()
    private(set) var runningCount = 0
    /// Whether some page will most likely be rendered: a page or one of its scripts gives a reason, and no earlier
    /// snapshot knew it.
    private(set) var expectsPages = false
    /// Whether rendering has ended because there is no browser.
    private(set) var isOver = false
    /// Patterns for which rendering found something in the last snapshot, and those rendered by earlier
    /// snapshots.
    private let known: Set<String>
    private let lookedAt: Set<String>
    /// The URLs of pages that are rendered although automatic mode would not choose them.
    private let always: Set<String>
    /// Pages that sent a request (other than GET) when an earlier snapshot rendered them.
    private var senders: Set<UInt32> = []

    /// The number of pages of a pattern that are rendered before it is given up because rendering found
    /// nothing.
    package static let fewPages = 3
    /// The maximum number of pages of a host that are rendered because they are the first of their kind.
    static let mostFirstLooks = 40
    private static let mostScriptSets = 1024
    /// The same for a view. There are many views, and the reason that their pattern has may not apply to
    /// them.
    static let fewPagesOfView = 2
    private static let mostViews = 16
    private static let mostNames = 512
    /// The number of pages of a host for which rendering finds nothing before all its patterns are given up.
    /// It is higher for hosts with many patterns, since those differ.
    static func fewPagesOfHost(kinds: Int) -> Int { max(12, min(kinds / 2, 60)) }
    private static let mostPatterns = 4096
    /// The maximum number of pages below one folder that each have a pattern of their own because their URLs
    /// end in a slash. `/shop/` and `/contact/` differ; a thousand articles do not.
    static let mostNamedFolders = 12
    /// The maximum number of assets recorded for each pattern, and for each script.
    private static let mostNeeds = 4096
    private static let mostNeedsOfScript = 64
    private static let mostScripts = 65_536

    init(
        mode: RenderMode = .never, tabs: Int = 1, known: [String] = [], lookedAt: [String] = [],
        always: Set<String> = []
    ) {
        self.always = always
        self.mode = mode
        self.tabs = max(1, tabs)
        self.known = Set(known)
        self.lookedAt = Set(lookedAt)
    }

    var isOn: Bool { mode != .never && !isOver }

    // MARK: - Adding pages and assets

    /// Adds a page after its scan.
    ///
    /// - Parameters:
    ///   - scripts: a hash of the names of its scripts, which is the same for pages of one kind; 0 if it is not
    ///     known.
    ///   - isRecalled: whether the page has not changed since an earlier snapshot.
    mutating func addPage(
        _ number: UInt32, _ url: WebURL, _ reasons: RenderReasons, needs: [UInt32], scripts: UInt64 = 0,
        isRecalled: Bool = false
    ) {
        guard isOn, patternOf[number] == nil else { return }
        if mode == .always || !isRecalled && !reasons.strong.isEmpty { expectsPages = true }
        let line = isRecalled ? 1 : 0
        let place = view(of: url, number, in: place(of: url))
        patternOf[number] = (place, line)
        isUnsettled = true
        if mode == .always || patterns[place].isReleased || patterns[place].isWorthIt { mayBeDue = true }
        patterns[place].pageCount += 1
        if mode == .auto, always.contains(url.key.href) { owe(number) }
        if isRecalled, mode == .auto, patterns[place].wasLookedAt {
            if senders.contains(number) {
                owe(number)
            } else if patterns[place].isKnown {
                patterns[place].recalled.append((number, needs))
            }
        }
        let known = patterns[place].ownReasons
        let isNewKind = isFirst(scripts, onHost: patterns[place].host)
        if scripts != 0 {
            patterns[place].scriptSets.insert(scripts)
            scriptsOf[number] = scripts
        }
        if reasons.strong.isEmpty, isNewKind || scripts == 0 && known.isEmpty && !reasons.isEmpty {
            patterns[place].lines[line].firsts.append(number)
        } else if reasons.isEmpty {
            patterns[place].lines[line].others.append(number)
        } else if reasons.strong.isEmpty {
            patterns[place].lines[line].scripted.append(number)
        } else {
            if mode == .auto, !isRecalled, known.strong.isEmpty, !patterns[place].isReleased {
                early.waiting.append((number, needs))
            }
            patterns[place].lines[line].own.append(number)
        }
        if known.isEmpty, !reasons.isEmpty { hosts[patterns[place].host].kinds += 1 }
        patterns[place].ownReasons.formUnion(reasons)
        for need in needs where patterns[place].needs.count < Self.mostNeeds {
            if patterns[place].needs.insert(need).inserted { isNews = true }
        }
    }

    /// Whether no page of the host has had this set of scripts before.
    private mutating func isFirst(_ scripts: UInt64, onHost host: Int) -> Bool {
        scripts != 0 && hosts[host].scriptSets.count < Self.mostScriptSets
            && hosts[host].scriptSets.insert(scripts).inserted
    }

    /// Notes that the page sent a request when an earlier snapshot rendered it. Must be called before
    /// `addPage`.
    mutating func isSender(_ page: UInt32) {
        if isOn { senders.insert(page) }
    }

    /// Adds an asset after its scan.
    ///
    /// - Parameter isRecalled: whether it has not changed since an earlier snapshot, or cannot affect
    ///   scripts.
    mutating func addPart(
        _ number: UInt32, _ reasons: RenderReasons, needs: [UInt32], isRecalled: Bool = false
    ) {
        guard isOn else { return }
        if !isRecalled, !reasons.isEmpty, !patterns.isEmpty { expectsPages = true }
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

    /// Whether the page's text may change because pages of its pattern may be rendered.
    func mayRender(_ url: WebURL) -> Bool {
        guard isOn else { return false }
        return places[text(of: url)].map { !patterns[$0].isGivenUp } ?? true
    }

    /// Whether pages of this pattern rarely become idle, so that they get less time.
    func isRestless(_ number: UInt32) -> Bool {
        patternOf[number].map { patterns[$0.place].restlessCount >= Self.fewPages } ?? false
    }

    /// Whether the page is among the first ones of its pattern that are rendered.
    func isAmongFirst(_ number: UInt32) -> Bool {
        patternOf[number].map { patterns[$0.place].startedCount <= Self.fewPages } ?? true
    }

    private mutating func place(of url: WebURL) -> Int {
        let text = places.count < Self.mostPatterns ? newText(of: url) : url.host
        if let known = places[text] { return known }
        let host = hostPlaces[url.host] ?? hosts.count
        if host == hosts.count {
            hostPlaces[url.host] = host
            hosts.append(Host())
        }
        places[text] = add(Pattern(text: text, host: host))
        return patterns.count - 1
    }

    /// The text of the pattern that the page belongs to, or would belong to.
    private func text(of url: WebURL) -> String {
        let shared = Self.pattern(of: url)
        guard let folder = Self.lastFolder(of: url) else { return shared }
        let names = namedFolders[shared] ?? []
        let isNamed = names.count < Self.mostNamedFolders || names.contains(folder)
        return isNamed ? Self.pattern(of: url, isNamed: true) : shared
    }

    private mutating func newText(of url: WebURL) -> String {
        let text = text(of: url)
        if let folder = Self.lastFolder(of: url), case let shared = Self.pattern(of: url), text != shared {
            namedFolders[shared, default: []].insert(folder)
        }
        return text
    }

    private mutating func add(_ new: Pattern) -> Int {
        var pattern = new
        pattern.isKnown = known.contains(pattern.text)
        pattern.wasLookedAt = lookedAt.contains(pattern.text)
        patterns.append(pattern)
        return patterns.count - 1
    }

    /// Returns the pattern to which the page counts: the view of its name, once pages of that name are in
    /// several folders, and else the pattern itself.
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

    /// Moves a page that was not rendered yet to its view.
    private mutating func move(_ page: UInt32, from place: Int, to view: Int) {
        guard let line = patternOf[page]?.line else { return }
        if patterns[place].lines[line].own.remove(page) {
            patterns[view].lines[line].own.append(page)
        } else if patterns[place].lines[line].firsts.remove(page) {
            patterns[view].lines[line].firsts.append(page)
        } else if patterns[place].lines[line].scripted.remove(page) {
            patterns[view].lines[line].scripted.append(page)
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

    /// The pattern of a URL: its host, the first two folders and the file extension, such as
    /// `example.com/docs/guide/*.html`, or `example.com/docs/guide/*/` for a URL that ends in a slash. Numbers
    /// are replaced, since they are names of objects and not of folders: `example.com/runs/…/*`.
    package static func pattern(of url: WebURL) -> String { pattern(of: url, isNamed: false) }

    /// - Parameter isNamed: whether the last path component is included as it is.
    private static func pattern(of url: WebURL, isNamed: Bool) -> String {
        var names = url.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        var last = names.popLast() ?? ""
        var slash = ""
        if last.isEmpty, let folder = names.popLast() { (last, slash) = (folder, "/") }
        let dot = slash.isEmpty ? last.lastIndex(of: ".") : nil
        let ending = dot.map { last[$0...] } ?? ""
        var text = url.host + (url.port.map { ":\($0)" } ?? "")
        for name in names.prefix(2) { text += isNumber(name) ? "/…" : "/\(name)" }
        if names.count > 2, !text.hasSuffix("/…") { text += "/…" }
        text += "/" + (isNamed ? last : last.isEmpty ? "" : "*\(ending.count <= 6 ? ending : "")") + slash
        if let query = url.query, !query.isEmpty {
            // A query item without a name may be any value.
            let keys = Set(
                query.split(separator: "&").map { $0.contains("=") ? $0.prefix { $0 != "=" } : "*" }
            )
            .sorted()
            text += "?" + keys.prefix(4).joined(separator: "&") + (keys.count > 4 ? "&…" : "")
        }
        return text
    }

    /// The last folder of a URL that ends in a slash, unless it is a number; nil for other URLs.
    private static func lastFolder(of url: WebURL) -> Substring? {
        guard url.path.hasSuffix("/"),
            let folder = url.path.split(separator: "/", omittingEmptySubsequences: true).last,
            !isNumber(folder)
        else { return nil }
        return folder
    }

    /// Whether the path component is a decimal number, or a long hexadecimal one such as an identifier.
    private static func isNumber(_ name: Substring) -> Bool {
        let name = name.utf8
        if name.allSatisfy(\.isASCIIDigit) { return !name.isEmpty }
        let dash = UInt8(ascii: "-")
        return name.count >= 16 && name.contains(where: \.isASCIIDigit)
            && name.allSatisfy { $0 == dash || $0.isASCIIDigit || 0x61...0x66 ~= $0 | 0x20 }
    }

    // MARK: - Choosing the next page

    /// Returns the next page to render and counts it as running; nil if none is due or the maximum is
    /// running.
    ///
    /// - Parameter isThere: whether an asset for which a page waited was fetched, or will not be waited for.
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

    /// Returns the next page to render while requests are still running, and counts it as running.
    ///
    /// - Parameter isThere: whether an asset that a page needs was fetched, or will not be waited for.
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

    /// Notes that an early page was the first to find the entry.
    mutating func isFound(_ number: UInt32, byEarly page: UInt32) { early.found[number] = page }

    /// Notes that a scan has found the entry.
    mutating func isScanned(_ number: UInt32) {
        if !early.found.isEmpty { early.found[number] = nil }
    }

    /// Counts the URLs that only early pages have found, and schedules those pages that must be rendered
    /// again.
    ///
    /// - Parameter value: the count for one entry.
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

    /// Whether no page is running or due.
    var isIdle: Bool {
        runningCount == 0
            && (!isOn || again.isEmpty && (owed.isEmpty || !hasSettled) && (!mayBeDue || due == nil))
    }

    /// Whether there are pages that might still be rendered.
    var isCut: Bool { isOn && (isUnsettled || !isIdle) }

    /// Decides which patterns have a reason to be rendered. To be called when all requests and scans have
    /// ended: the requests of a rendered page are then answered at once.
    ///
    /// - Parameter value: the count for an entry that an early page found.
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
            case let isFirstLook = patterns[place].hasFirstLook || patterns[place].startedCount == 0,
            let page = patterns[place].lines[line].popFirst()
        {
            if isFirstLook { hosts[patterns[place].host].firstLooks += 1 }
            if !wereOwed.contains(page) { return page }
        }
        mayBeDue = false
        return nil
    }

    private mutating func owe(_ page: UInt32) {
        if wereOwed.insert(page).inserted { owed.append(page) }
    }

    /// Schedules the unchanged pages of a pattern for which a few pages need an asset that has changed. If
    /// many need it, a few of them are rendered like new pages.
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
            let places = patterns.indices.lazy.filter { mayStart($0, line) }
            guard mode == .auto else {
                if let place = places.first { return (place, line) }
                continue
            }
            if let place = places.min(by: { patterns[$0].comes(before: patterns[$1]) }) {
                return (place, line)
            }
        }
        return nil
    }

    private func mayStart(_ place: Int, _ line: Int) -> Bool {
        let pattern = patterns[place]
        let pages = pattern.lines[line]
        if mode == .always { return !pages.isEmpty }
        // The earlier snapshot knows the result for unchanged pages.
        if line == 1, pattern.wasLookedAt, !pattern.hasNews { return false }
        guard pattern.isReleased || pattern.isWorthIt else { return false }
        let host = hosts[pattern.host]
        let isFirstLook =
            pattern.startedCount == 0
            && (!pages.own.isEmpty
                || !pattern.scriptSets.isDisjoint(with: host.bringingSets) && !pages.isEmpty)
        if !pages.firsts.isEmpty || isFirstLook, host.firstLooks < Self.mostFirstLooks { return true }
        let isOfAll = pattern.isKnown || !pattern.sharedReasons.strong.isEmpty
        guard
            !pages.own.isEmpty
                || (isOfAll || pattern.isWorthIt && !pattern.sharedReasons.isEmpty) && !pages.isEmpty
                || pattern.isWorthIt && !(pages.firsts.isEmpty && pages.scripted.isEmpty)
        else { return false }
        // Rendering may find nothing for any of the running pages.
        return pages.quietCount + pages.runningCount < pattern.patience
            && (host.hasBrought || pattern.isKnown
                || host.quietCount + host.runningCount < Self.fewPagesOfHost(kinds: host.kinds))
    }

    /// Applies the reasons of an asset to all patterns whose pages need it, also by way of other scripts.
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

    // MARK: - Results

    /// Handles a rendered page.
    ///
    /// - Parameter needs: entries that the page requested and that were not fetched when its time was over.
    ///   The first time, the page is then scheduled to be rendered again.
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
            if let scripts = scriptsOf[number] { hosts[host].bringingSets.insert(scripts) }
            patterns[place].lines[line].quietCount = 0
            patterns[place].bringingCount += 1
        }
    }

    /// Whether the page is scheduled to be rendered again.
    func isOwedAnotherLook(_ page: UInt32) -> Bool {
        isOn && (again.contains { $0.page == page } || early.again.contains { $0.page == page })
    }

    /// Stops rendering for the rest of the crawl.
    mutating func end() {
        isOver = true
    }
}
