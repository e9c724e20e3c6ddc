internal import Crawl
internal import Fetch
internal import Markup
internal import Reports
internal import Store
internal import System
internal import Web

/// A walk over everything that a site's pages need, by stored links. Use it on the thread of its reader.
///
/// The walk is a graph search. Each URL is a node (`OfflineNode`); each link, needed asset and redirect is an edge. Example:
/// the start page `/` needs `/app.css` and links to `/docs/`. The walk reaches `/`, then the asset `/app.css`, then the page
/// `/docs/`. A node whose response is not stored gets the state `missing`, and the report names the path to it.
///
/// The walk applies the same rules as a crawl (scope, skipped URLs, robots.txt, cache rules, links that end a session), but
/// takes URLs in its own order. A `Frontier` over the store would find the same URLs, but takes longer, and because it
/// alternates between hosts and kinds of pages, its path to a page is not always a shortest one.
///
/// A node is enqueued in the state `waiting` and gets another state when it is visited. It returns to `waiting` if a later
/// link makes it more important: as an asset instead of a page, as a link instead of a guess, or as fewer links from the
/// start. Each of these changes happens at most once per node, or reduces its depth, so that the walk ends.
struct OfflineWalk {
    private let reader: StoreReader
    private var scope: Scope
    private let obeysRobots: Bool
    private let directivePolicy: DirectivePolicy
    private let leftOut: LeftOut?
    /// Hosts that had no address when the site was fetched.
    private let unknownHosts: Set<String>
    private let failures: StoredFailures
    private let rules: CacheRules
    private var robots: [String: RobotsRules] = [:]
    private(set) var nodes: [OfflineNode] = []
    /// The index of a node by the store's number of its URL; -1 if there is no node. Stored links contain these numbers, so
    /// that most links are followed without a look at the text of their URL.
    private var nodeOfURLNumber: [Int32] = []
    private var nodeOfHref: [String: Int] = [:]
    /// The indices of assets to follow. They are taken before the next page: then the first path to every page is a
    /// shortest one.
    private var queuedAssets: [Int] = []
    private var queuedPages: [Int] = []
    private var nextPageIndex = 0
    /// Each body once, even if several URLs have it.
    private(set) var bodies: [StoredBody] = []
    /// The IDs of the bodies of imported responses. Their bytes are always compared with the digest.
    private(set) var importedBodies: Set<Int64> = []
    private var ownSnapshots: Set<Int64> = []
    /// Whether an asset was not fetched because of a limit or the settings.
    private(set) var lacksAssets = false
    private var indexOfBody: [Int64: Int] = [:]

    /// The maximum number of nodes. The walk stops above it.
    private let limit: Int
    var exceedsLimit: Bool { nodes.count > limit }

    /// The maximum length of a chain of redirects. A longer one counts as a loop.
    private static let maxRedirects = 20

    /// - Parameters:
    ///   - unknownHosts: the hosts without an address.
    ///   - failures: the URLs that could not be loaded, with the reasons.
    init(
        _ reader: StoreReader, _ scope: Scope, _ settings: SitePlan, unknownHosts: Set<String>,
        failures: StoredFailures, limit: Int = .max
    ) {
        self.reader = reader
        self.limit = limit
        self.scope = scope
        obeysRobots = settings.obeysRobots
        directivePolicy = settings.directivePolicy
        leftOut = settings.leftOut
        self.unknownHosts = unknownHosts
        self.failures = failures
        // Rules were parsed when they were stored. A prefetch also ignores one that cannot be parsed now.
        rules = CacheRules(settings.rules.compactMap { try? CacheRules.Rule($0) })
    }

    /// Walks from the start URLs and bundles, then from the remaining pages of the live snapshot.
    ///
    /// - Parameters:
    ///   - start: the start URLs; empty for a site that consists of its bundles.
    ///   - bundles: the bundles of the site's manifest.
    mutating func run(
        _ site: Site, start: [String], bundles: [(href: String, isRequired: Bool)],
        _ interruption: Interruption
    ) throws(StoreError) {
        ownSnapshots = Set(site.snapshots.map(\.id))
        for start in start { discover(start, from: -1, depth: 0, isStart: true) }
        for bundle in bundles {
            discover(bundle.href, from: -1, depth: 0, isAsset: true, isGuess: !bundle.isRequired)
        }
        try visitQueued(interruption)
        guard let published = site.published, !exceedsLimit else { return }
        // One more than the limit is read, so that it ends the walk.
        let pages = try reader.pages(ofSnapshot: published, atMost: limit == .max ? .max : limit + 1)
        let others = Set(pages.filter { nodeOfHref[$0] == nil })
        var orphans: [String] = []
        for other in others.sorted() {
            let referrer = try reader.versions(of: other).first(where: \.isVisible)?.referrer
            if isOrphan(foundOn: referrer, others) {
                orphans.append(other)
            } else {
                discover(other, from: -1, depth: depthWithoutLinks(isNamedByDocument: referrer != nil))
            }
        }
        try visitQueued(interruption)
        for orphan in orphans where nodeOfHref[orphan] == nil {
            let number = discover(orphan, from: -1, depth: depthWithoutLinks(isNamedByDocument: false))
            nodes[number].isOrphan = true
        }
        try visitQueued(interruption)
    }

    /// Whether a page was found by a link of another page, although the walk did not find it. Then a run that was continued
    /// with other settings had stored it, and the last one did not reach it.
    private func isOrphan(foundOn referrer: String?, _ others: Set<String>) -> Bool {
        guard let referrer else { return false }
        return nodeOfHref[referrer] != nil || others.contains(referrer)
    }

    /// The depth that the crawl gave to a page which no page links to. A page that a sitemap names is one link away from the
    /// start. Any other one, such as a URL that a reader had requested, has the maximum depth, so that the pages that it
    /// links to do not belong to the site.
    private func depthWithoutLinks(isNamedByDocument: Bool) -> Int {
        guard let maxDepth = scope.maxDepth else { return 0 }
        return isNamedByDocument ? min(1, maxDepth) : maxDepth
    }

    /// Takes queued nodes until none is left, the limit is exceeded or the walk is interrupted.
    private mutating func visitQueued(_ interruption: Interruption) throws(StoreError) {
        while !interruption.isRequested, !exceedsLimit {
            if let number = queuedAssets.popLast() {
                try visit(number)
            } else if nextPageIndex < queuedPages.count {
                nextPageIndex += 1
                try visit(queuedPages[nextPageIndex - 1])
            } else {
                return
            }
        }
    }

    /// Adds a node for a URL, or updates the existing one. Returns its index.
    ///
    /// - Parameters:
    ///   - parent: the index of the node that links to it; -1 if there is none.
    ///   - depth: the number of links from the start.
    ///   - isGuess: whether the link is only a string in a script. It is no fault if the URL is not stored.
    @discardableResult
    private mutating func discover(
        _ href: String, from parent: Int, depth: Int, isAsset: Bool = false, isGuess: Bool = false,
        isStart: Bool = false
    ) -> Int {
        if let known = nodeOfHref[href] {
            discoverAgain(known, from: parent, depth: depth, isAsset: isAsset, isGuess: isGuess)
            return known
        }
        nodes.append(
            OfflineNode(
                href: href, parent: parent, depth: depth, isAsset: isAsset, isGuess: isGuess,
                isStart: isStart, isOnlyInWebManifest: isOnlyInWebManifest(from: parent, isAsset: isAsset)))
        let number = nodes.count - 1
        nodeOfHref[href] = number
        enqueue(number)
        return number
    }

    /// Enqueues a node again if a new link changes its importance: it is needed as an asset, is no longer a
    /// guess, is fewer links away from the start, or is not only linked from a web app manifest.
    private mutating func discoverAgain(
        _ number: Int, from parent: Int, depth: Int, isAsset: Bool, isGuess: Bool
    ) {
        let node = nodes[number]
        let isFoundElsewhere =
            node.isOnlyInWebManifest && !isOnlyInWebManifest(from: parent, isAsset: isAsset)
        let isMoreImportant = isAsset && !node.isAsset || !isGuess && node.isGuess || depth < node.depth
        guard isMoreImportant || isFoundElsewhere else { return }
        if isFoundElsewhere { nodes[number].isOnlyInWebManifest = false }
        nodes[number].isAsset = node.isAsset || isAsset
        nodes[number].isGuess = node.isGuess && isGuess
        nodes[number].depth = min(node.depth, depth)
        switch node.state {
        case .ignored, .leftOut:
            nodes[number].state = .waiting
            enqueue(number)
        case .redirects(let target):
            discoverAgain(target, from: parent, depth: depth, isAsset: isAsset, isGuess: isGuess)
        case .stored where isFoundElsewhere:
            // Its links are then also found outside the manifest.
            nodes[number].state = .waiting
            enqueue(number)
        case .waiting, .stored, .broken, .missing, .unscanned: break
        }
    }

    /// Whether a link from the node can only be reached through a web app manifest: by its start URL, which
    /// only applies to users who install the app.
    private func isOnlyInWebManifest(from parent: Int, isAsset: Bool) -> Bool {
        parent >= 0 && (nodes[parent].isOnlyInWebManifest || nodes[parent].isWebManifest && !isAsset)
    }

    private mutating func enqueue(_ number: Int) {
        if nodes[number].isAsset { queuedAssets.append(number) } else { queuedPages.append(number) }
    }

    /// Looks up the response of a waiting node, and sets its state.
    private mutating func visit(_ number: Int) throws(StoreError) {
        let node = nodes[number]
        guard node.state == .waiting else { return }
        guard let url = WebURL(node.href), verdict(on: url, node).isFollowed else {
            if node.isAsset, !node.isGuess { lacksAssets = true }
            nodes[number].state = try stateOfPageBeside(node) ?? .ignored
            return
        }
        guard let response = try reader.lookUp(url)?.response else {
            nodes[number].state = node.isGuess ? .ignored : try stateOfMissingURL(url, node)
            return
        }
        // A response imported for another site does not prove that this site is complete.
        guard !response.isImported || ownSnapshots.contains(response.snapshot) else {
            nodes[number].state =
                node.isGuess
                ? .ignored : .missing(.other("it is only in an archive that was imported for another site"))
            return
        }
        if response.status == 404 || response.status == 410, !response.hasPageStatus || response.isImported {
            nodes[number].state =
                node.isGuess ? .ignored : .broken("the server answered \(response.status)")
        } else if response.flags.contains(.isSoftNotFound) {
            nodes[number].state = .broken("the page says \"not found\"")
        } else if let body = response.body {
            try visitBody(number, url, response, body)
        } else if response.isRedirect {
            follow(number, response, from: url)
        } else {
            nodes[number].state = .missing(.answered(status: response.status))
        }
    }

    /// The state of a history or form that the scope leaves out; nil for other URLs outside the scope.
    private func stateOfPageBeside(_ node: OfflineNode) throws(StoreError) -> OfflineNodeState? {
        guard !node.isAsset, !node.isGuess, let url = WebURL(node.href),
            case .skipped(let reason) = verdict(on: url, node), case .sidePage = reason,
            try reader.lookUp(url)?.response == nil
        else { return nil }
        return .leftOut(reason.name)
    }

    /// Returns the state of a URL that is not stored. A missing asset is always an error; a page may have
    /// been skipped on purpose.
    private mutating func stateOfMissingURL(_ url: WebURL, _ node: OfflineNode) throws(StoreError)
        -> OfflineNodeState
    {
        if node.isOnlyInWebManifest { return .leftOut("only the manifest of a web app links to it") }
        if let status = try reader.errorAnswer(for: url)?.status, status < 500, status != 403 {
            return .broken("the server answered \(status)")
        }
        if let reason = failures.reason(for: node.href) { return .missing(.other(reason)) }
        if unknownHosts.contains(url.host) { return .broken("its host has no address") }
        if node.isAsset, let reason = leftOut?.reason(forAsset: url) {
            lacksAssets = true
            return .leftOut(reason)
        }
        if !node.isAsset, !node.isStart {
            if let rule = try robotsRule(against: url) {
                return .leftOut("disallowed by robots.txt: \(rule)")
            }
            if let reason = leftOut?.reason(for: url) { return .leftOut(reason) }
            if let rule = rules.storageBan(for: url, nil) {
                return .leftOut(SkipReason.unstored(rule.text).name)
            }
            if node.parent >= 0, nodes[node.parent].isFromSession {
                if LogoutLinks.contain(url) { return .leftOut(SkipReason.sessionEnd.name) }
                if ActionLink.isActionURL(url), !scope.allowsAction(url) {
                    return .leftOut(SkipReason.action.name)
                }
            }
            if try isNofollowed(url) { return .leftOut("its link is marked as nofollow") }
            if node.parent >= 0, nodes[node.parent].isOrphan {
                return .leftOut("only pages that the last run did not reach link to it")
            }
        }
        return directivePolicy.noindex == .obey && !node.isAsset
            ? .missing(.other("it is not stored, perhaps because it is marked as noindex"))
            : .missing(.notStored)
    }

    private func verdict(on url: WebURL, _ node: OfflineNode) -> ScopeVerdict {
        if node.isStart { return scope.verdict(on: url, as: .start) }
        return scope.verdict(on: url, as: node.isAsset ? .asset : .page(depth: node.depth))
    }

    /// Sets the state of a node whose body is stored, and follows the links of that body.
    private mutating func visitBody(
        _ number: Int, _ url: WebURL, _ response: StoredResponse, _ body: StoredBody
    ) throws(StoreError) {
        nodes[number].isFromSession = response.flags.contains(.isPrivate)
        guard !response.flags.contains(.isPart) else {
            nodes[number].state = .missing(.part)
            return
        }
        let place = indexOfBody[body.id] ?? bodies.count
        if place == bodies.count {
            bodies.append(body)
            indexOfBody[body.id] = place
        }
        if response.isImported { importedBodies.insert(body.id) }
        let isUnread =
            body.byteCount > BodyReading.maxBytes
            && BodyFormat.linksToAssets(HTTPFields(block: response.fields.utf8.span).contentType)
        guard !isUnread, let links = try reader.linkIDs(of: response) else {
            nodes[number].state = .unscanned(place)
            return
        }
        nodes[number].state = .stored(place)
        // Web app manifests may be served as JSON. No other JSON links to pages.
        nodes[number].isWebManifest = ["webManifest;", "json;"].contains(where: body.form.hasPrefix)
        let depth = nodes[number].depth
        for link in links.assets { try discoverLink(link, from: number, depth: depth, isAsset: true) }
        for link in links.guesses {
            try discoverLink(link, from: number, depth: depth, isAsset: true, isGuess: true)
        }
        // The crawl did not follow these links either.
        guard directivePolicy.nofollow == .follow || !response.flags.contains(.saysNofollow) else { return }
        // Nor those of views that an earlier run had stored.
        guard nodes[number].isAsset || nodes[number].isStart || leftOut?.isView(url) != true else { return }
        for link in links.pages { try discoverLink(link, from: number, depth: depth + 1) }
    }

    /// Adds a node for a stored link, which is given by the store's number of its URL.
    private mutating func discoverLink(
        _ link: Int64, from parent: Int, depth: Int, isAsset: Bool = false, isGuess: Bool = false
    ) throws(StoreError) {
        let place = Int(link)
        if place < nodeOfURLNumber.count, nodeOfURLNumber[place] >= 0 {
            return discoverAgain(
                Int(nodeOfURLNumber[place]), from: parent, depth: depth, isAsset: isAsset,
                isGuess: isGuess)
        }
        guard let href = try reader.href(ofURL: link) else { return }
        if place >= nodeOfURLNumber.count {
            nodeOfURLNumber.append(contentsOf: repeatElement(-1, count: place + 1 - nodeOfURLNumber.count))
        }
        nodeOfURLNumber[place] = Int32(
            truncatingIfNeeded: discover(
                href, from: parent, depth: depth, isAsset: isAsset, isGuess: isGuess))
    }

    /// Sets the state of a node that redirects, and adds a node for the target.
    private mutating func follow(_ number: Int, _ response: StoredResponse, from url: WebURL) {
        let location = HTTPFields(block: response.fields.utf8.span)["Location"]
        guard let target = location.flatMap({ WebURL($0, base: url)?.key }) else {
            nodes[number].state = .missing(.other("its redirect has no usable target"))
            return
        }
        let node = nodes[number]
        let next = discover(
            target.href, from: number, depth: node.depth, isAsset: node.isAsset, isGuess: node.isGuess
        )
        guard !formsLoop(next, to: number) else {
            nodes[number].state = .missing(.other("its redirects form a loop"))
            return
        }
        nodes[number].state = .redirects(to: next)
        // A redirect target of a start URL counts as a start, and may bring other URLs into scope.
        guard node.isStart, !nodes[next].isStart else { return }
        nodes[next].isStart = true
        if nodes[next].state == .ignored { requeue(next) }
        guard scope.addStartRedirect(from: url, to: target) else { return }
        for other in nodes.indices where nodes[other].state == .ignored { requeue(other) }
    }

    /// Puts a visited node back into the queue.
    private mutating func requeue(_ number: Int) {
        nodes[number].state = .waiting
        enqueue(number)
    }

    /// Whether the redirects from a node lead to another one, or have no end.
    private func formsLoop(_ first: Int, to number: Int) -> Bool {
        var next = first
        for _ in 0...Self.maxRedirects {
            if next == number { return true }
            guard case .redirects(let target) = nodes[next].state else { return false }
            next = target
        }
        return true
    }

    /// Whether all links to the page are marked as nofollow.
    private func isNofollowed(_ page: WebURL) throws(StoreError) -> Bool {
        guard directivePolicy.nofollow == .obey else { return false }
        var marks = LinkMarks(reader, directivePolicy: directivePolicy)
        return try marks.keepsFromFollowing(page, linkedFrom: try reader.referrers(of: page.href))
    }

    /// Returns the rule of the stored robots.txt that disallows the page; nil if none does.
    private mutating func robotsRule(against page: WebURL) throws(StoreError) -> String? {
        guard obeysRobots else { return nil }
        if let known = robots[page.origin] { return known.refusal(of: page.target) }
        var rules = RobotsRules.allowsAll
        if let url = WebURL("/robots.txt", base: page), let body = try reader.body(at: url),
            let content = try reader.content(of: body)
        {
            let bytes = try content.beginning(OriginRobots.maxBytes)
            rules = RobotsFile(bytes.span).rules(for: Product.token)
        }
        robots[page.origin] = rules
        return rules.refusal(of: page.target)
    }
}

extension RobotsRules {
    /// Returns the text of the rule that disallows the target; nil if it is allowed.
    fileprivate func refusal(of target: String) -> String? {
        allows(target) ? nil : "Disallow: \(decidingRule(for: target)?.text ?? "/")"
    }
}

extension OfflineWalk {
    /// Returns the results of the walk, sorted by URL.
    ///
    /// - Parameter faults: the faults of `bodies`, in the same order.
    func items(_ faults: [OfflineFault?]) -> [CheckReport.Item] {
        var items: [CheckReport.Item] = []
        for (number, node) in nodes.enumerated() {
            guard let found = finding(on: node, faults) else { continue }
            items.append(
                CheckReport.Item(
                    name: node.href, line: nil, isRequired: !node.isGuess,
                    chain: found.verdict == .verified ? [] : chain(to: number),
                    findings: [found]))
        }
        return items.sorted { $0.name < $1.name }
    }

    /// Returns the finding for a node; nil if it is not part of the site.
    private func finding(on node: OfflineNode, _ faults: [OfflineFault?]) -> CheckReport.Finding? {
        func makeFinding(_ verdict: CheckReport.Verdict, _ detail: String? = nil) -> CheckReport.Finding {
            CheckReport.Finding(url: node.href, verdict: verdict, detail: detail)
        }
        switch node.state {
        case .waiting, .ignored: return nil
        case .stored(let place):
            return faults[place].map { makeFinding($0.verdict, $0.detail) } ?? makeFinding(.verified)
        case .redirects: return makeFinding(.verified)
        case .broken(let reason): return makeFinding(.broken, reason)
        case .missing(let reason): return makeFinding(.missing, reason.text)
        case .leftOut(let reason): return makeFinding(.notFetched, reason)
        case .unscanned(let place):
            // The files that a file of a release needs are in the same release, which is stored as a whole.
            if faults[place] == nil, AppURL(node.href) != nil { return makeFinding(.verified) }
            return faults[place].map { makeFinding($0.verdict, $0.detail) }
                ?? makeFinding(
                    .unverifiable,
                    bodies[place].byteCount > BodyReading.maxBytes
                        ? "it is stored, but too large to be scanned for what it needs"
                        : "it is stored, but what it needs was never recorded; prefetch it again")
        }
    }

    /// The maximum number of URLs in the chain of a report item.
    private static let maxChainURLs = 32

    /// Returns the path from a start URL to the page that first linked to the node. Of a very long path, only the start URL
    /// and the last pages are returned.
    private func chain(to number: Int) -> [String] {
        var chain: [String] = []
        var next = nodes[number].parent
        while next >= 0 {
            chain.append(nodes[next].href)
            next = nodes[next].parent
        }
        if chain.count > Self.maxChainURLs { chain.removeSubrange(Self.maxChainURLs - 1..<chain.count - 1) }
        return chain.reversed()
    }
}

/// The result of a walk for one URL.
///
/// A node starts in `waiting` and gets another state when it is visited. `OfflineWalk` puts it back to `waiting` if a
/// later link makes it more important, or brings it into scope.
enum OfflineNodeState: Equatable {
    /// Not visited yet.
    case waiting
    /// Stored; the index of its body in `OfflineWalk.bodies`.
    case stored(Int)
    /// Redirects to the node with this index.
    case redirects(to: Int)
    /// The URL does not exist on the live site; the reason.
    case broken(String)
    case missing(SiteNeeds.UnmetNeed.Reason)
    /// Not requested by the crawl, for this reason.
    case leftOut(String)
    /// Stored, but its links are unknown. The value is the index of its body.
    case unscanned(Int)
    /// Out of scope, or a guess that is not stored.
    case ignored
}

/// A URL that the walk has reached.
struct OfflineNode {
    let href: String
    /// The index of the node that first linked to this one; -1 for a start, a bundle or a page without a
    /// link.
    let parent: Int
    /// The number of links from the start.
    var depth: Int
    var isAsset: Bool
    var isGuess: Bool
    var isStart = false
    /// Whether it is a page that the last run did not reach (`OfflineWalk.isOrphan`).
    var isOrphan = false
    /// Whether only a web app manifest links to it.
    var isOnlyInWebManifest = false
    var isWebManifest = false
    /// Whether the response was fetched with credentials.
    var isFromSession = false
    var state = OfflineNodeState.waiting
}
