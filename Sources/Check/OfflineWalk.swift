internal import Crawl
internal import Digest
internal import Fetch
internal import Markup
internal import Reports
internal import Store
internal import System
internal import Web

/// Everything that a site's pages need, by the links that the store keeps. It belongs to the thread of its
/// reader.
///
/// It goes by the decisions of a crawl: `Scope`, `LeftOut`, `RobotsRules`, `CacheRules`, `SessionEnd`. Its
/// order is its own. A `Frontier` with the store as its source finds the same, and takes longer for it; and
/// since hosts and kinds of pages take turns in it, the way that it finds to a page is not always a shortest
/// one.
struct OfflineWalk {
    private let reader: StoreReader
    private var scope: Scope
    private let obeysRobots: Bool
    private let manners: PageManners
    private let leftOut: LeftOut?
    private let rules: CacheRules
    private var robots: [String: RobotsRules] = [:]
    private(set) var nodes: [OfflineNode] = []
    /// By the store's numbers of URLs; -1 where none is known.
    private var nodeOfNumber: [Int32] = []
    private var nodeOfHref: [String: Int] = [:]
    /// What is needed comes before the next page: then every page is found by a shortest way.
    private var needed: [Int] = []
    private var pages: [Int] = []
    private var nextPage = 0
    /// Each once, however many URLs have it.
    private(set) var bodies: [StoredBody] = []
    /// The bodies of imported responses, by number. Their bytes are always compared with the digest.
    private(set) var importedBodies: Set<Int64> = []
    private var ownSnapshots: Set<Int64> = []
    private var placeOfBody: [Int64: Int] = [:]

    /// The walk ends when it came to more addresses.
    private let limit: Int
    var isCut: Bool { nodes.count > limit }

    private static let mostRedirects = 20

    init(_ reader: StoreReader, _ scope: Scope, _ settings: SitePlan, limit: Int = .max) {
        self.reader = reader
        self.limit = limit
        self.scope = scope
        obeysRobots = settings.obeysRobots
        manners = settings.manners
        leftOut = settings.leftOut
        // They were read when they were stored; one that cannot be read now says nothing to a prefetch
        // either.
        rules = CacheRules(settings.rules.compactMap { try? CacheRules.Rule($0) })
    }

    /// - Parameters:
    ///   - start: where the site starts; nowhere for one that is its bundles.
    ///   - bundles: what its manifest lists.
    mutating func run(
        _ site: Site, start: [String], bundles: [(href: String, isRequired: Bool)],
        _ interruption: Interruption
    ) throws(StoreError) {
        ownSnapshots = Set(site.snapshots.map(\.id))
        for start in start { discover(start, from: -1, depth: 0, isStart: true) }
        for bundle in bundles {
            discover(bundle.href, from: -1, depth: 0, isAsset: true, isGuess: !bundle.isRequired)
        }
        try goOn(interruption)
        guard let published = site.published, !isCut else { return }
        // Pages that a sitemap named, and no other page. More of them than the limit cut the walk.
        let others = try reader.pages(ofSnapshot: published, atMost: limit == .max ? .max : limit + 1)
        for other in others.sorted() where nodeOfHref[other] == nil { discover(other, from: -1, depth: 0) }
        try goOn(interruption)
    }

    private mutating func goOn(_ interruption: Interruption) throws(StoreError) {
        while !interruption.isRequested, !isCut {
            if let number = needed.popLast() {
                try visit(number)
            } else if nextPage < pages.count {
                nextPage += 1
                try visit(pages[nextPage - 1])
            } else {
                return
            }
        }
    }

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
                isStart: isStart, isOfManifest: isOfManifest(from: parent, isAsset: isAsset)))
        let number = nodes.count - 1
        nodeOfHref[href] = number
        enqueue(number)
        return number
    }

    /// What was left out may be wanted after all: a page needs it, it is no guess, or it is nearer than it
    /// was.
    private mutating func discoverAgain(
        _ number: Int, from parent: Int, depth: Int, isAsset: Bool, isGuess: Bool
    ) {
        let node = nodes[number]
        let isFound = node.isOfManifest && !isOfManifest(from: parent, isAsset: isAsset)
        let isNews = isAsset && !node.isAsset || !isGuess && node.isGuess || depth < node.depth
        guard isNews || isFound else { return }
        if isFound { nodes[number].isOfManifest = false }
        nodes[number].isAsset = node.isAsset || isAsset
        nodes[number].isGuess = node.isGuess && isGuess
        nodes[number].depth = min(node.depth, depth)
        switch node.state {
        case .ignored, .leftOut:
            nodes[number].state = .waiting
            enqueue(number)
        case .redirects(let target):
            discoverAgain(target, from: parent, depth: depth, isAsset: isAsset, isGuess: isGuess)
        case .held where isFound:
            // So is what it leads to.
            nodes[number].state = .waiting
            enqueue(number)
        case .waiting, .held, .gone, .missing, .unlisted: break
        }
    }

    /// Whether what the node leads to is there for those alone who install the app: its manifest says where it
    /// starts, and no page leads there.
    private func isOfManifest(from parent: Int, isAsset: Bool) -> Bool {
        parent >= 0 && (nodes[parent].isOfManifest || nodes[parent].isManifest && !isAsset)
    }

    private mutating func enqueue(_ number: Int) {
        if nodes[number].isAsset { needed.append(number) } else { pages.append(number) }
    }

    private mutating func visit(_ number: Int) throws(StoreError) {
        let node = nodes[number]
        guard node.state == .waiting else { return }
        guard let url = WebURL(node.href), verdict(on: url, node).isFollowed else {
            nodes[number].state = .ignored
            return
        }
        guard let response = try reader.find(url)?.response else {
            nodes[number].state = node.isGuess ? .ignored : try absence(of: url, node)
            return
        }
        // An archive says what another site has, and not what this one needs.
        guard !response.isImported || ownSnapshots.contains(response.snapshot) else {
            nodes[number].state =
                node.isGuess
                ? .ignored : .missing(.other("it is only in an archive that was imported for another site"))
            return
        }
        if response.status == 404 || response.status == 410 {
            nodes[number].state = node.isGuess ? .ignored : .gone(status: response.status)
        } else if let body = response.body {
            try visit(number, response, body)
        } else if response.isRedirect {
            follow(number, response, from: url)
        } else {
            nodes[number].state = .missing(.answered(status: response.status))
        }
    }

    /// What a page needs is missed whatever kept it out; of pages the user may have wanted to do without
    /// some.
    private mutating func absence(of url: WebURL, _ node: OfflineNode) throws(StoreError) -> OfflineNode.State
    {
        if node.isOfManifest { return .leftOut("only the manifest of a web app links to it") }
        if !node.isAsset, !node.isStart {
            if let rule = try robotsRule(against: url) {
                return .leftOut("disallowed by robots.txt: \(rule)")
            }
            if let reason = leftOut?.reason(for: url) { return .leftOut(reason) }
            if let rule = rules.storageBan(for: url, nil) {
                return .leftOut(SkipReason.unstored(rule.text).name)
            }
            if node.parent >= 0, nodes[node.parent].isOfSession, SessionEnd.isAt(url) {
                return .leftOut(SkipReason.sessionEnd.name)
            }
            if try isNofollowed(url) { return .leftOut("its link is marked as nofollow") }
        }
        return manners.noindex == .obey && !node.isAsset
            ? .missing(.other("it is not stored, perhaps because it is marked as noindex"))
            : .missing(.notStored)
    }

    private func verdict(on url: WebURL, _ node: OfflineNode) -> ScopeVerdict {
        if node.isStart { return scope.verdict(on: url, as: .start) }
        return scope.verdict(on: url, as: node.isAsset ? .asset : .page(depth: node.depth))
    }

    private mutating func visit(
        _ number: Int, _ response: StoredResponse, _ body: StoredBody
    ) throws(StoreError) {
        nodes[number].isOfSession = response.flags.contains(.isPrivate)
        guard !response.flags.contains(.isPart) else {
            nodes[number].state = .missing(.part)
            return
        }
        let place = placeOfBody[body.id] ?? bodies.count
        if place == bodies.count {
            bodies.append(body)
            placeOfBody[body.id] = place
        }
        if response.isImported { importedBodies.insert(body.id) }
        let isUnread =
            body.byteCount > BodyReading.byteLimit
            && BodyFormat.needsAreIn(HTTPFields(block: response.fields.utf8.span).contentType)
        guard !isUnread, let links = try reader.linkNumbers(of: response) else {
            nodes[number].state = .unlisted(place)
            return
        }
        nodes[number].state = .held(place)
        // It may be called JSON, of which nothing else leads to pages.
        nodes[number].isManifest = ["webManifest;", "json;"].contains(where: body.form.hasPrefix)
        let depth = nodes[number].depth
        for link in links.assets { try discover(link, from: number, depth: depth, isAsset: true) }
        for link in links.guesses {
            try discover(link, from: number, depth: depth, isAsset: true, isGuess: true)
        }
        // Those were not followed from here.
        guard manners.nofollow == .ignore || !response.flags.contains(.saysNofollow) else { return }
        for link in links.pages { try discover(link, from: number, depth: depth + 1) }
    }

    private mutating func discover(
        _ link: Int64, from parent: Int, depth: Int, isAsset: Bool = false, isGuess: Bool = false
    ) throws(StoreError) {
        let place = Int(link)
        if place < nodeOfNumber.count, nodeOfNumber[place] >= 0 {
            return discoverAgain(
                Int(nodeOfNumber[place]), from: parent, depth: depth, isAsset: isAsset,
                isGuess: isGuess)
        }
        guard let href = try reader.address(of: link) else { return }
        if place >= nodeOfNumber.count {
            nodeOfNumber.append(contentsOf: repeatElement(-1, count: place + 1 - nodeOfNumber.count))
        }
        nodeOfNumber[place] = Int32(
            truncatingIfNeeded: discover(
                href, from: parent, depth: depth, isAsset: isAsset, isGuess: isGuess))
    }

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
        guard !leadsBack(next, to: number) else {
            nodes[number].state = .missing(.other("its redirects form a loop"))
            return
        }
        nodes[number].state = .redirects(to: next)
        // What a start leads to is as good as a start, and brings along what was out of reach.
        guard node.isStart, !nodes[next].isStart else { return }
        nodes[next].isStart = true
        if nodes[next].state == .ignored { wake(next) }
        guard scope.startMoved(from: url, to: target) else { return }
        for other in nodes.indices where nodes[other].state == .ignored { wake(other) }
    }

    private mutating func wake(_ number: Int) {
        nodes[number].state = .waiting
        enqueue(number)
    }

    private func leadsBack(_ first: Int, to number: Int) -> Bool {
        var next = first
        for _ in 0...Self.mostRedirects {
            if next == number { return true }
            guard case .redirects(let target) = nodes[next].state else { return false }
            next = target
        }
        return true
    }

    /// Whether everybody who links to the page asks for it not to be followed.
    private func isNofollowed(_ page: WebURL) throws(StoreError) -> Bool {
        guard manners.nofollow == .links else { return false }
        var marks = LinkMarks(reader, manners: manners)
        return try marks.keepsFromFollowing(page, linkedFrom: try reader.referrers(of: page.href))
    }

    /// The rule of robots.txt, as it is held, that keeps the page from being asked for; nil when none does.
    private mutating func robotsRule(against page: WebURL) throws(StoreError) -> String? {
        guard obeysRobots else { return nil }
        if let known = robots[page.origin] { return known.refusal(of: page.target) }
        var rules = RobotsRules.allowsAll
        if let url = WebURL("/robots.txt", base: page), let body = try reader.body(at: url),
            let content = try reader.content(of: body)
        {
            let bytes = try content.beginning(RobotsGate.maxBytes)
            rules = RobotsFile(bytes.span).rules(for: Product.token)
        }
        robots[page.origin] = rules
        return rules.refusal(of: page.target)
    }
}

extension RobotsRules {
    /// The text of the rule that refuses the target; nil when it may be asked for.
    fileprivate func refusal(of target: String) -> String? {
        allows(target) ? nil : "Disallow: \(decidingRule(for: target)?.text ?? "/")"
    }
}

extension OfflineWalk {
    /// What the walk found, in the order of the URLs.
    ///
    /// - Parameter faults: of the walk's bodies, in their order.
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

    /// Nil for what is not of the site.
    private func finding(on node: OfflineNode, _ faults: [OfflineFault?]) -> CheckReport.Finding? {
        func found(_ verdict: CheckReport.Verdict, _ detail: String? = nil) -> CheckReport.Finding {
            CheckReport.Finding(url: node.href, verdict: verdict, detail: detail)
        }
        switch node.state {
        case .waiting, .ignored: return nil
        case .held(let place): return faults[place].map { found($0.verdict, $0.detail) } ?? found(.verified)
        case .redirects: return found(.verified)
        case .gone(let status): return found(.gone, "the server answered \(status)")
        case .missing(let reason): return found(.missing, reason.text)
        case .leftOut(let reason): return found(.leftOut, reason)
        case .unlisted(let place):
            return faults[place].map { found($0.verdict, $0.detail) }
                ?? found(
                    .unverifiable,
                    bodies[place].byteCount > BodyReading.byteLimit
                        ? "it is stored, but too large to be scanned for what it needs"
                        : "it is stored, but what it needs was never recorded; prefetch it again")
        }
    }

    /// A report shows no longer way than this.
    private static let longestChain = 32

    /// From a start to the page that led there first; of a very long way its beginning and its end.
    private func chain(to number: Int) -> [String] {
        var chain: [String] = []
        var next = nodes[number].parent
        while next >= 0 {
            chain.append(nodes[next].href)
            next = nodes[next].parent
        }
        if chain.count > Self.longestChain { chain.removeSubrange(Self.longestChain - 1..<chain.count - 1) }
        return chain.reversed()
    }
}

/// An URL that a walk came to.
struct OfflineNode {
    enum State: Equatable {
        /// Nobody has looked yet.
        case waiting
        /// By the place of its body among those of the walk.
        case held(Int)
        /// To the node with this number.
        case redirects(to: Int)
        /// The site itself says that there is no such thing.
        case gone(status: Int)
        case missing(SiteNeeds.Lack.Reason)
        /// It was not asked for; why.
        case leftOut(String)
        /// Held, and what it needs was never written down.
        case unlisted(Int)
        /// Not of the site, not wanted, or no link after all.
        case ignored
    }

    let href: String
    /// The node that led to it first; -1 for a start.
    let parent: Int
    /// How many links away from the start.
    var depth: Int
    var isAsset: Bool
    var isGuess: Bool
    var isStart = false
    /// Nothing but a web app's manifest leads there.
    var isOfManifest = false
    var isManifest = false
    /// It was fetched by somebody whom its server knows.
    var isOfSession = false
    var state = State.waiting
}

/// Whether held bodies are what they were when they came.
enum BodyProof {
    /// What is wrong with each body, in their order; nil for what is as it should be. Reads all of them, on
    /// all cores; quick, only their sizes, but for those of imported responses. Blocks.
    static func faults(
        of bodies: [StoredBody], imported: Set<Int64>, in folder: StoreFolder, isQuick: Bool,
        _ interruption: Interruption,
        progress: (@Sendable (WorkProgress) -> Void)? = nil
    ) throws(StoreError) -> [OfflineFault?] {
        // The largest come first, so that no thread is left alone with one in the end.
        let order = bodies.indices.sorted { bodies[$0].byteCount > bodies[$1].byteCount }
        let tally = WorkTally(.bodies, of: order.count, progress)
        let found: [OfflineFault??] = try WorkTeam.share(order.count, named: "larder-proof", interruption) {
            (next, give) throws(StoreError) in
            let reader = try StoreReader(folder)
            while let number = next() {
                let body = bodies[order[number]]
                let isQuick = isQuick && !imported.contains(body.id)
                give(number, try fault(of: body, in: reader, isQuick: isQuick))
                tally.add(byteCount: body.byteCount)
            }
        }
        var faults = [OfflineFault?](repeating: nil, count: bodies.count)
        for (place, fault) in zip(order, found) { faults[place] = fault ?? nil }
        return faults
    }

    static func fault(
        of body: StoredBody, in reader: StoreReader, isQuick: Bool
    ) throws(StoreError) -> OfflineFault? {
        guard let content = try reader.content(of: body) else {
            return OfflineFault(
                verdict: .missing, detail: "its bytes are gone or cut short; see: larder fsck")
        }
        if isQuick { return nil }
        var stream = DigestStream(.sha256)
        do throws(StoreError) {
            try content.eachPiece { stream.update($0) }
        } catch {
            return OfflineFault(verdict: .missing, detail: error.description)
        }
        guard stream.finish().bytes != body.sha256 else { return nil }
        return OfflineFault(
            verdict: .mismatch, detail: "its bytes have changed since they were stored; see: larder fsck")
    }
}

/// What is wrong with a held body.
struct OfflineFault: Sendable {
    let verdict: CheckReport.Verdict
    let detail: String
}
