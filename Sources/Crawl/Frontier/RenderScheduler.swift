internal import Markup
internal import Web

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
package struct RenderScheduler: Sendable {
    /// The number of new URLs that rendering one page found.
    struct RenderYield: Sendable {
        /// Assets that the page requested and no scan had found.
        var assets = 0
        /// Pages that it links to and no scan had found.
        var pages = 0
        /// Responses to its POST requests that differ from all before.
        var responses = 0

        var isNothing: Bool { assets == 0 && pages == 0 && responses == 0 }
    }

    /// The pages that are rendered before all requests have ended: the first page of each pattern that has
    /// strong reasons of its own. This shortens the time for rendering at the end of the crawl.
    private struct Early {
        /// Pages that wait for the assets that they need.
        var waiting: [PageWithAssets] = []
        /// The early pages that have started.
        var pages: Set<UInt32> = []
        /// URLs that an early page was the first to request or link to, with the page. They do not count if a
        /// scan finds them later.
        var found: [UInt32: UInt32] = [:]
        /// Pages to be rendered again after `settle`.
        var retries: [PageWithAssets] = []
    }

    /// The pattern of a page, and which of its queues the page is in.
    private struct Membership {
        var pattern: Int
        let freshness: Freshness
    }

    let mode: RenderMode
    /// The maximum number of pages that are rendered at the same time.
    let tabs: Int
    private(set) var patterns: [Pattern] = []
    /// The patterns by their text, as indices into `patterns`.
    private var patternNumbers: [String: Int] = [:]
    /// The folders with a pattern of their own, by the pattern that they would share otherwise.
    private var namedFolders: [String: Set<Substring>] = [:]
    private var hosts: [HostResults] = []
    /// The hosts by name, as indices into `hosts`.
    private var hostNumbers: [String: Int] = [:]
    private var memberships: [UInt32: Membership] = [:]
    /// The set of scripts of each page.
    private var scriptSets: [UInt32: UInt64] = [:]
    /// The number of pages with each set of scripts that have started.
    private var startedCounts: [UInt64: Int] = [:]
    /// The reasons found in scripts and other assets.
    private var assetReasons = AssetReasons()
    /// Whether pages or assets were added since the last call of `settle`.
    private(set) var isUnsettled = false
    private var hasSettled = false
    /// False if no pattern can have a page that is due. There are many patterns, and the crawl asks on each
    /// turn.
    private var mayBeDue = false
    /// Pages to be rendered once more when the assets for which they waited are available.
    private var retries: [PageWithAssets] = []
    /// The counts of the first rendering, for pages that are or were in `retries`.
    private var foundBeforeRetry: [UInt32: RenderYield] = [:]
    /// Pages that are rendered regardless of the results for other pages. Most of them have not changed, but an
    /// asset that few pages need has, or they sent a request whose response may have changed.
    private var forced: [UInt32] = []
    private var wereForced: Set<UInt32> = []
    private var early = Early()
    /// Entries that may only show the page in another way that was the first to link to them, with that page. They count
    /// when they turn out to be content.
    private var undecided: [UInt32: UInt32] = [:]
    private(set) var runningCount = 0
    /// Whether some page will most likely be rendered: a page or one of its scripts gives a reason, and no earlier
    /// snapshot knew it.
    private(set) var expectsPages = false
    /// Whether rendering has ended because there is no browser.
    private(set) var isOver = false
    /// Patterns for which rendering found something in the last snapshot.
    private let fruitfulBefore: Set<String>
    /// Patterns that earlier snapshots rendered.
    private let renderedBefore: Set<String>
    /// The URLs of pages that are rendered although automatic mode would not choose them.
    private let always: Set<String>
    /// Pages that sent a request (other than GET) when an earlier snapshot rendered them.
    private var senders: Set<UInt32> = []

    /// The number of pages of a pattern that are rendered before it is given up because rendering found
    /// nothing.
    package static let fewPages = 3
    /// The same for a view. It is lower, because there are many views, and the reason that their pattern has may
    /// not apply to them.
    static let fewPagesOfView = 2
    /// The number of pages of a host for which rendering finds nothing before all its patterns are given up.
    /// It is higher for hosts with many patterns, since those differ.
    static func fewPagesOfHost(patterns: Int) -> Int { max(12, min(patterns / 2, 60)) }
    /// The maximum number of pages of a host that are rendered because they are the first of their kind.
    static let firstLookLimit = 40
    /// The maximum number of pages below one folder that each have a pattern of their own because their URLs
    /// end in a slash. `/shop/` and `/contact/` differ; a thousand articles do not.
    static let namedFolderLimit = 12
    private static let patternLimit = 4096
    private static let scriptSetLimit = 1024
    private static let viewLimit = 16
    private static let nameLimit = 512
    /// The maximum number of assets that are recorded for a pattern.
    private static let assetLimit = 4096

    /// - Parameters:
    ///   - known: patterns for which rendering found something in the last snapshot.
    ///   - renderedPatterns: patterns that earlier snapshots rendered.
    ///   - always: the URLs of pages that are rendered in any case.
    init(
        mode: RenderMode = .never, tabs: Int = 1, known: [String] = [], renderedPatterns: [String] = [],
        always: Set<String> = []
    ) {
        self.always = always
        self.mode = mode
        self.tabs = max(1, tabs)
        fruitfulBefore = Set(known)
        renderedBefore = Set(renderedPatterns)
    }

    var isOn: Bool { mode != .never && !isOver }

    // MARK: - Adding pages and assets

    /// Adds a page after its scan.
    ///
    /// - Parameters:
    ///   - assets: the assets that it needs.
    ///   - scripts: a hash of the names of its script files; 0 for none, or if it is not known.
    ///   - inlineScripts: a hash of the names in its inline scripts; 0 for none, or if it is not known.
    ///   - isUnchanged: whether the page has not changed since an earlier snapshot.
    mutating func addPage(
        _ number: UInt32, _ url: WebURL, _ reasons: RenderReasons, assets: [UInt32], scripts: UInt64 = 0,
        inlineScripts: UInt32 = 0, isUnchanged: Bool = false
    ) {
        guard isOn, memberships[number] == nil else { return }
        if mode == .always || !isUnchanged && !reasons.strong.isEmpty { expectsPages = true }
        let place = view(of: url, number, in: patternNumber(of: url))
        memberships[number] = Membership(pattern: place, freshness: isUnchanged ? .unchanged : .new)
        isUnsettled = true
        if mode == .always || patterns[place].isReleased || patterns[place].isFruitful { mayBeDue = true }
        patterns[place].pageCount += 1
        if mode.choosesPages { schedule(number, url, assets: assets, isUnchanged: isUnchanged, in: place) }
        enqueue(
            number, reasons, assets: assets, scripts: scripts, inlineScripts, isUnchanged: isUnchanged,
            in: place)
        if patterns[place].ownReasons.isEmpty, !reasons.isEmpty {
            hosts[patterns[place].host].patternsWithReasons += 1
        }
        patterns[place].ownReasons.formUnion(reasons)
        for asset in assets where patterns[place].assets.count < Self.assetLimit {
            if patterns[place].assets.insert(asset).inserted { assetReasons.mustSpread = true }
        }
    }

    /// Schedules a page that is rendered regardless of the results for other pages, or may be when an asset turns
    /// out to have changed.
    private mutating func schedule(
        _ number: UInt32, _ url: WebURL, assets: [UInt32], isUnchanged: Bool, in place: Int
    ) {
        if always.contains(url.key.href) { force(number) }
        guard isUnchanged, patterns[place].wasRenderedBefore else { return }
        if senders.contains(number) {
            force(number)
        } else if patterns[place].wasFruitful {
            patterns[place].unchangedPages.append((number, assets))
        }
    }

    /// Puts a page into one of the queues of its pattern.
    private mutating func enqueue(
        _ number: UInt32, _ reasons: RenderReasons, assets: [UInt32], scripts: UInt64,
        _ inlineScripts: UInt32, isUnchanged: Bool, in place: Int
    ) {
        let freshness = isUnchanged ? Freshness.unchanged : .new
        let reasonsBefore = patterns[place].ownReasons
        let newScripts = addScripts(scripts, inlineScripts, of: number, in: place)
        let isStrong = !reasons.strong.isEmpty
        let isFirstWithReasons = scripts == 0 && reasonsBefore.isEmpty && !reasons.isEmpty && !isStrong
        if isStrong, mode.choosesPages, !isUnchanged, reasonsBefore.strong.isEmpty,
            !patterns[place].isReleased
        {
            early.waiting.append((number, assets))
        }
        if newScripts.files || isFirstWithReasons {
            patterns[place][freshness].firstOfKind.append(number)
        } else if newScripts.inline {
            patterns[place][freshness].firstWithInlineScripts.append(number)
        } else if isStrong {
            patterns[place][freshness].withStrongReasons.append(number)
        } else if reasons.isEmpty {
            patterns[place][freshness].others.append(number)
        } else {
            patterns[place][freshness].withWeakReasons.append(number)
        }
    }

    /// Adds the scripts of a page. Returns whether no page of the host had these files before, or these files with these
    /// inline scripts.
    private mutating func addScripts(
        _ files: UInt64, _ inline: UInt32, of number: UInt32, in place: Int
    ) -> (files: Bool, inline: Bool) {
        guard files != 0 || inline != 0 else { return (false, false) }
        let scripts = files &+ UInt64(inline) << 32
        patterns[place].scriptSets.insert(scripts)
        scriptSets[number] = scripts
        func isNew(_ set: UInt64, in known: inout Set<UInt64>) -> Bool {
            known.count < Self.scriptSetLimit && known.insert(set).inserted
        }
        let host = patterns[place].host
        return (
            files != 0 && isNew(files, in: &hosts[host].fileSets),
            inline != 0 && isNew(scripts, in: &hosts[host].scriptSets)
        )
    }

    /// Notes that the page sent a request when an earlier snapshot rendered it. Must be called before
    /// `addPage`.
    mutating func noteSender(_ page: UInt32) {
        if isOn { senders.insert(page) }
    }

    /// Adds an asset after its scan.
    ///
    /// - Parameters:
    ///   - assets: the assets that it needs.
    ///   - isUnchanged: whether it has not changed since an earlier snapshot, or cannot affect scripts.
    mutating func addPart(
        _ number: UInt32, _ reasons: RenderReasons, assets: [UInt32], isUnchanged: Bool = false
    ) {
        guard isOn else { return }
        if !isUnchanged, !reasons.isEmpty, !patterns.isEmpty { expectsPages = true }
        let isChanged = !isUnchanged && !renderedBefore.isEmpty
        if assetReasons.add(number, reasons, assets: assets, isChanged: isChanged) { isUnsettled = true }
    }

    /// Whether the page's text may change because pages of its pattern may be rendered.
    func mayRender(_ url: WebURL) -> Bool {
        guard isOn else { return false }
        return patternNumbers[patternText(of: url)].map { !patterns[$0].isGivenUp } ?? true
    }

    /// Whether pages of this pattern rarely become idle, so that they get less time.
    func isRestless(_ number: UInt32) -> Bool {
        memberships[number].map { patterns[$0.pattern].restlessCount >= Self.fewPages } ?? false
    }

    /// The group of pages whose controls are the same, if the page is among the first ones of its pattern or with its
    /// scripts that are rendered; nil for further ones.
    func controlGroup(of number: UInt32, at url: WebURL) -> String? {
        let isAmongFirst =
            memberships[number].map { patterns[$0.pattern].startedCount <= Self.fewPages } ?? true
        let hasNewScripts = scriptSets[number].map { startedCounts[$0, default: 0] <= Self.fewPages } ?? false
        return isAmongFirst || hasNewScripts ? PagePattern.controlGroup(of: url) : nil
    }

    // MARK: - Patterns

    /// Returns the number of a page's pattern, which is new if there is none yet.
    private mutating func patternNumber(of url: WebURL) -> Int {
        let text = patternNumbers.count < Self.patternLimit ? patternText(of: url) : url.host
        if let folder = PagePattern.lastFolder(of: url), case let shared = PagePattern.text(of: url),
            text != shared, text != url.host
        {
            namedFolders[shared, default: []].insert(folder)
        }
        if let known = patternNumbers[text] { return known }
        let host = hostNumbers[url.host] ?? hosts.count
        if host == hosts.count {
            hostNumbers[url.host] = host
            hosts.append(HostResults())
        }
        let number = add(Pattern(text: text, host: host))
        patternNumbers[text] = number
        return number
    }

    /// The text of the pattern that the page belongs to, or would belong to.
    private func patternText(of url: WebURL) -> String {
        let shared = PagePattern.text(of: url)
        guard let folder = PagePattern.lastFolder(of: url) else { return shared }
        let names = namedFolders[shared] ?? []
        let isNamed = names.count < Self.namedFolderLimit || names.contains(folder)
        return isNamed ? PagePattern.text(of: url, isNamed: true) : shared
    }

    private mutating func add(_ pattern: Pattern) -> Int {
        var pattern = pattern
        pattern.wasFruitful = fruitfulBefore.contains(pattern.text)
        pattern.wasRenderedBefore = renderedBefore.contains(pattern.text)
        patterns.append(pattern)
        return patterns.count - 1
    }

    /// Returns the pattern to which the page counts: the view of its name, once pages of that name are in
    /// several folders, and else the pattern itself.
    private mutating func view(of url: WebURL, _ page: UInt32, in place: Int) -> Int {
        guard mode.choosesPages,
            let end = url.path.dropLast(url.path.hasSuffix("/") ? 1 : 0).lastIndex(of: "/")
        else { return place }
        let (name, folder) = (String(url.path[end...]), url.path[..<end])
        if let view = patterns[place].views[name] { return view }
        guard let first = patterns[place].firstPages[name] else {
            if patterns[place].firstPages.count < Self.nameLimit {
                patterns[place].firstPages[name] = (page, folder)
            }
            return place
        }
        guard first.folder != folder, patterns[place].views.count < Self.viewLimit,
            patterns.count < Self.patternLimit
        else { return place }
        var view = Pattern(text: PagePattern.text(of: url, isNamed: true), host: patterns[place].host)
        view.isView = true
        view.isReleased = patterns[place].isReleased
        view.ownReasons = patterns[place].ownReasons
        view.sharedReasons = patterns[place].sharedReasons
        view.assets = patterns[place].assets
        view.hasChangedAsset = patterns[place].hasChangedAsset
        let number = add(view)
        patterns[place].views[name] = number
        move(first.page, from: place, to: number)
        return number
    }

    /// Moves a page that was not rendered yet to its view.
    private mutating func move(_ page: UInt32, from place: Int, to view: Int) {
        guard let freshness = memberships[page]?.freshness else { return }
        var queues = patterns[view][freshness]
        guard patterns[place][freshness].move(page, to: &queues) else { return }
        patterns[view][freshness] = queues
        memberships[page]?.pattern = view
        patterns[place].pageCount -= 1
        patterns[view].pageCount += 1
        patterns[view].unchangedPages += patterns[place].unchangedPages.filter { $0.page == page }
        patterns[place].unchangedPages.removeAll { $0.page == page }
    }

    // MARK: - Choosing the next page

    /// Returns the next page to render and counts it as running; nil if none is due or the maximum is
    /// running.
    ///
    /// - Parameter isAvailable: whether an asset for which a page waited was fetched, or will not be waited for.
    mutating func next(_ isAvailable: (UInt32) -> Bool = { _ in true }) -> UInt32? {
        guard isOn, runningCount < tabs else { return nil }
        let page: UInt32
        if let place = retries.lastIndex(where: { $0.assets.allSatisfy(isAvailable) }) {
            page = retries.remove(at: place).page
        } else if hasSettled, let next = forced.popLast() {
            page = next
        } else if let next = nextDue() {
            page = next
        } else {
            return nil
        }
        countStart(of: page)
        return page
    }

    private mutating func countStart(of page: UInt32) {
        runningCount += 1
        if let scripts = scriptSets[page] { startedCounts[scripts, default: 0] += 1 }
        guard let membership = memberships[page] else { return }
        patterns[membership.pattern][membership.freshness].runningCount += 1
        hosts[patterns[membership.pattern].host].runningCount += 1
    }

    /// Returns the next page to render while requests are still running, and counts it as running.
    ///
    /// - Parameter isAvailable: whether an asset that a page needs was fetched, or will not be waited for.
    mutating func nextEarly(_ isAvailable: (UInt32) -> Bool) -> UInt32? {
        guard isOn, runningCount < tabs else { return nil }
        func isReady(_ assets: [UInt32]) -> Bool {
            assets.allSatisfy { isAvailable($0) && assetReasons.assets(of: $0).allSatisfy(isAvailable) }
        }
        guard let index = early.waiting.firstIndex(where: { isReady($0.assets) }) else { return nil }
        let page = early.waiting.remove(at: index).page
        // The page may have been rendered meanwhile, or will be in any case.
        guard let membership = memberships[page], !wereForced.contains(page),
            !hosts[patterns[membership.pattern].host].isGivenUp,
            patterns[membership.pattern][membership.freshness].remove(page)
        else { return nil }
        early.pages.insert(page)
        countStart(of: page)
        return page
    }

    var waitsForEarly: Bool { !early.waiting.isEmpty }

    func isEarly(_ page: UInt32) -> Bool { early.pages.contains(page) }

    /// Notes that an early page was the first to find the entry.
    mutating func noteFound(_ number: UInt32, byEarly page: UInt32) { early.found[number] = page }

    /// Notes an entry that may only show the page in another way that was the first to link to it.
    mutating func noteUndecided(_ number: UInt32, by page: UInt32) { undecided[number] = page }

    /// Notes that a scan has found the entry.
    mutating func noteScanned(_ number: UInt32) {
        if !early.found.isEmpty { early.found[number] = nil }
        if !undecided.isEmpty { undecided[number] = nil }
    }

    /// Counts the URLs that only early pages have found and those that were undecided, and schedules the early pages that
    /// must be rendered again.
    ///
    /// - Parameter value: the count for one entry; nil if it is undecided.
    private mutating func settleEarly(_ value: (UInt32) -> RenderYield?) {
        var foundByPage: [UInt32: RenderYield] = [:]
        let found = early.found.merging(undecided) { first, _ in first }
        undecided = [:]
        for (number, page) in found {
            if let yield = value(number) {
                guard !yield.isNothing else { continue }
                foundByPage[page, default: RenderYield()].assets += yield.assets
                foundByPage[page, default: RenderYield()].pages += yield.pages
            } else {
                undecided[number] = page
            }
        }
        for (page, found) in foundByPage {
            guard let membership = memberships[page] else { continue }
            let place = membership.pattern
            patterns[place].foundAssetCount += found.assets
            patterns[place].foundPageCount += found.pages
            patterns[place].fruitfulCount += 1
            patterns[place][membership.freshness].fruitlessInARow = 0
            let host = patterns[place].host
            hosts[host].isFruitful = true
            hosts[host].fruitlessCount = max(0, hosts[host].fruitlessCount - 1)
        }
        retries += early.retries
        early = Early()
    }

    /// Whether no page is running or due.
    var isIdle: Bool {
        runningCount == 0
            && (!isOn
                || retries.isEmpty && (forced.isEmpty || !hasSettled) && (!mayBeDue || findDue() == nil))
    }

    /// Whether there are pages that might still be rendered.
    var hasUnrenderedPages: Bool { isOn && (isUnsettled || !isIdle) }

    /// Decides which patterns have a reason to be rendered. To be called when all requests and scans have
    /// ended: the requests of a rendered page are then answered at once.
    ///
    /// - Parameter value: the count for an entry that an early page found, or that was undecided; nil if it still is.
    mutating func settle(_ value: (UInt32) -> RenderYield? = { _ in RenderYield() }) {
        (isUnsettled, mayBeDue, hasSettled) = (false, true, true)
        settleEarly(value)
        if assetReasons.mustSpread { assetReasons.spread(to: &patterns) }
        for place in patterns.indices where patterns[place].hasChangedAsset { forceChanged(place) }
        for place in patterns.indices where !patterns[place].reasons.isEmpty || patterns[place].wasFruitful {
            patterns[place].isReleased = true
        }
    }

    /// Removes and returns the next page that is due.
    private mutating func nextDue() -> UInt32? {
        while mayBeDue, let (place, freshness) = findDue() {
            let isFirstLook = patterns[place].isFirstLook
            guard let page = patterns[place][freshness].popFirst() else { break }
            if isFirstLook { hosts[patterns[place].host].firstLooks += 1 }
            if !wereForced.contains(page) { return page }
        }
        mayBeDue = false
        return nil
    }

    private mutating func force(_ page: UInt32) {
        if wereForced.insert(page).inserted { forced.append(page) }
    }

    /// Schedules the unchanged pages of a pattern for which a few pages need an asset that has changed. If
    /// many need it, a few of them are rendered like new pages.
    private mutating func forceChanged(_ place: Int) {
        var counts: [UInt32: Int] = [:]
        for (_, assets) in patterns[place].unchangedPages {
            for asset in assets where assetReasons.changed.contains(asset) { counts[asset, default: 0] += 1 }
        }
        for (page, assets) in patterns[place].unchangedPages
        where assets.contains(where: { counts[$0].map { $0 <= Self.fewPages } ?? false }) {
            force(page)
        }
    }

    /// Finds the pattern whose next page is due. Takes time in proportion to the number of patterns.
    private func findDue() -> (pattern: Int, freshness: Freshness)? {
        for freshness in [Freshness.new, .unchanged] {
            let places = patterns.indices.lazy.filter { mayStart($0, freshness) }
            let place =
                mode.choosesPages
                ? places.min { patterns[$0].comes(before: patterns[$1]) } : places.first
            if let place { return (place, freshness) }
        }
        return nil
    }

    private func mayStart(_ place: Int, _ freshness: Freshness) -> Bool {
        let pattern = patterns[place]
        let pages = pattern[freshness]
        if mode == .always { return !pages.isEmpty }
        // The earlier snapshot knows the result for unchanged pages.
        if freshness == .unchanged, pattern.wasRenderedBefore, !pattern.hasChangedAsset { return false }
        guard pattern.isReleased || pattern.isFruitful else { return false }
        let host = hosts[pattern.host]
        let isHopeful = host.isFruitful || pattern.wasFruitful || !host.isGivenUp
        if host.firstLooks < Self.firstLookLimit {
            if hasFirstLook(pattern, pages) { return true }
            if !pages.firstWithInlineScripts.isEmpty, isHopeful { return true }
        }
        // Rendering may find nothing for any of the running pages.
        return hasPageWithReason(pattern, pages)
            && pages.fruitlessInARow + pages.runningCount < pattern.patience
            && isHopeful
    }

    /// Whether the next page is the first of its kind, or the first of its pattern with a good reason: its own, or
    /// scripts with which another page was fruitful.
    private func hasFirstLook(_ pattern: Pattern, _ pages: PageQueues) -> Bool {
        if !pages.firstOfKind.isEmpty { return true }
        guard pattern.startedCount == 0 else { return false }
        return !pages.withStrongReasons.isEmpty
            || !pattern.scriptSets.isDisjoint(with: hosts[pattern.host].fruitfulSets) && !pages.isEmpty
    }

    private func hasPageWithReason(_ pattern: Pattern, _ pages: PageQueues) -> Bool {
        if !pages.withStrongReasons.isEmpty { return true }
        if !pattern.ownReasons.strong.isEmpty, !pages.firstWithInlineScripts.isEmpty { return true }
        // Reasons that apply to all pages of the pattern.
        if pattern.wasFruitful || !pattern.sharedReasons.strong.isEmpty
            || pattern.isFruitful && !pattern.sharedReasons.isEmpty
        {
            return !pages.isEmpty
        }
        return pattern.isFruitful
            && !(pages.firstOfKind.isEmpty && pages.firstWithInlineScripts.isEmpty
                && pages.withWeakReasons.isEmpty)
    }

    // MARK: - Results

    /// Handles a rendered page.
    ///
    /// - Parameter assets: entries that the page requested and that were not fetched when its time was over.
    ///   The first time, the page is then scheduled to be rendered again.
    mutating func didRender(
        _ number: UInt32, _ found: RenderYield, isWhole: Bool, missing assets: [UInt32] = []
    ) {
        runningCount -= 1
        mayBeDue = true
        guard let membership = memberships[number] else { return }
        let (place, host) = (membership.pattern, patterns[membership.pattern].host)
        patterns[place][membership.freshness].runningCount -= 1
        hosts[host].runningCount -= 1
        var found = found
        if let before = foundBeforeRetry[number] {
            // Pages are new only once; assets are counted again.
            found.pages += before.pages
        } else if !assets.isEmpty {
            foundBeforeRetry[number] = found
            if isEarly(number) {
                early.retries.append((number, assets))
            } else {
                retries.append((number, assets))
            }
            return
        }
        patterns[place].foundAssetCount += found.assets
        patterns[place].foundPageCount += found.pages
        patterns[place].renderedCount += 1
        if !isWhole { patterns[place].unfinishedCount += 1 }
        let isRestless = !isWhole && found.isNothing
        patterns[place].restlessCount = isRestless ? patterns[place].restlessCount + 1 : 0
        if found.isNothing {
            patterns[place][membership.freshness].fruitlessInARow += 1
            hosts[host].fruitlessCount += 1
        } else {
            hosts[host].isFruitful = true
            if let scripts = scriptSets[number] { hosts[host].fruitfulSets.insert(scripts) }
            patterns[place][membership.freshness].fruitlessInARow = 0
            patterns[place].fruitfulCount += 1
        }
    }

    /// Whether the page is scheduled to be rendered again.
    func isRetryScheduled(_ page: UInt32) -> Bool {
        isOn && (retries.contains { $0.page == page } || early.retries.contains { $0.page == page })
    }

    /// Stops rendering for the rest of the crawl.
    mutating func end() {
        isOver = true
    }
}
