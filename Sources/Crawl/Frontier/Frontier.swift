internal import Fetch
internal import Markup
internal import Store
internal import Web

/// Everything that a crawl has discovered, and what it does next. A pure value: what happened and the time go
/// in, what to do comes out.
///
/// `apply` takes what happened, `next` says what to ask for; both may be called again at once. What the
/// frontier knows stands in a `FrontierCore`, which has several files: only this one can reach it, and so
/// nobody else changes it. It is lent and never copied: its lists are a hundred, each to be retained.
struct Frontier: ~Copyable, Sendable {
    private var core: FrontierCore

    init(scope: Scope, options: Options = Options()) {
        core = FrontierCore(scope: scope, options: options)
    }

    /// What to ask for now; nil when every host is busy, enough runs, or nothing is left.
    mutating func next(now: Duration) -> Task? { core.next(now: now) }

    /// Takes what happened, and gives what is to be done about it at once, in this order. All links of a page
    /// come as one event.
    ///
    /// - Parameter now: An earlier time than one before counts as that one.
    @discardableResult
    mutating func apply(_ event: Event, now: Duration) -> [Action] {
        core.now = max(core.now, now)
        let actions = take(event)
        guard !core.lost.isEmpty else { return actions }
        defer { core.lost = [] }
        return actions + core.lost.map(Action.lost)
    }

    private mutating func take(_ event: Event) -> [Action] {
        switch event {
        case .start(let url, let nearestZone): core.start(url, nearestZone: nearestZone)
        case .guide(let url, let nearestZone): core.startGuide(url, nearestZone: nearestZone)
        case .asset(let url, let isStart, let nearestZone):
            core.startAsset(url, isStart: isStart, nearestZone: nearestZone)
        case .miss(let url, let isPage, let nearestZone, let origin):
            core.startGuess(url, isPage: isPage, nearestZone: nearestZone, origin: origin)
        case .received(let byteCount): core.received(byteCount)
        case .connected(let number, let zone, let multiplexes):
            core.records[Int(number)].zone = zone
            if let multiplexes { core.fitPace(for: number, multiplexes: multiplexes) }
        case .succeeded(let number, let latency): core.succeeded(number, after: latency)
        case .recalled(let number): core.recalled(number)
        case .redirected(let number, let redirection): return core.redirected(number, redirection)
        case .failed(let number, let failure, let latency, let retryAfter, let hadBegun):
            core.failed(number, failure, after: latency, retryAfter: retryAfter, hadBegun: hadBegun)
        case .endless(let number, let failure): core.hasNoEnd(number, failure)
        case .unstored(let number, let rule):
            core.recalled(number)
            core.drop(number, for: .unstored(rule))
        case .held(let number, let format, let isSoftNotFound):
            if isSoftNotFound { core.knowAsMissing(number) }
            core.note(format, of: number)
        case .knownAsSender(let number): core.renders.isSender(number)
        case .openedInSession(let number): core.openedInSession(number)
        case .askedByOrigin(let number): core.becomeCORS(number)
        case .scanning(let number): core.scanning.insert(number)
        case .scanned(let result, let wasHeld): return core.scanned(result, wasHeld: wasHeld)
        case .linked(let number, let known, let new, let isLeftOut, let isNofollow, let reasons, let isNews):
            let numbers = core.linked(number, known: known, new: new)
            if isLeftOut {
                core.leaveOut(number)
            } else if core.renders.isOn {
                let needs = known.lazy.filter { $0.role == .asset }.map(\.number) + numbers
                core.noteForRendering(
                    number, reasons, needs: needs, isNofollow: isNofollow, isRecalled: !isNews)
            }
            return numbers.isEmpty ? [] : [.number(numbers)]
        case .robots(let host, let answer): return core.robotsAnswered(host: host, answer)
        case .probed(let host, let answer): core.probed(host: host, answer)
        case .witnessed(let host, let asksForLogin): core.witnessed(host: host, asksForLogin: asksForLogin)
        case .arrived(let arrival): core.arrived(arrival)
        case .granted(let origins): core.take(hosts: origins)
        case .lent(let origin): core.let(go: origin)
        case .moved(let from, let to): core.follow(from, to)
        case .pagesGranted(let count): core.grant(pages: count)
        case .pagesEnded: core.loseHeldPages()
        case .othersReceived(let byteCount): core.others(byteCount)
        case .known(let number, let outcome): core.know(number, outcome)
        case .counted(let number): core.uncount(number)
        case .wasAway(let time): core.wasAway(time)
        case .patienceEnded: return core.loseSilentHosts()
        case .settled: return core.settle()
        case .needed(let url, let page, let isPage, let isCORS):
            core.need(url, by: page, isPage: isPage, isCORS: isCORS)
        case .rendered(let number, let rendered): return core.rendered(number, rendered)
        case .unrenderable: core.renders.end()
        case .ended: return core.settleRedirects()
        }
        return []
    }
}

extension Frontier {
    /// What happens to a crawl.
    enum Event: Sendable {
        /// A start URL of the site.
        ///
        /// - Parameter nearestZone: in this and the next three events, the nearest network zone that a request
        ///   for the URL may connect to. There is no default: whoever names a URL says in whose name.
        case start(WebURL, nearestZone: NetworkZone)
        /// A sitemap that the user named.
        case guide(WebURL, nearestZone: NetworkZone)
        /// It is needed, whoever says so.
        case asset(WebURL, isStart: Bool, nearestZone: NetworkZone)
        /// Somebody looked for it, who may lead so far, and asked for it by CORS where an origin is named; if
        /// there is no such thing, nothing is missing.
        case miss(WebURL, isPage: Bool, nearestZone: NetworkZone, origin: String? = nil)

        /// So much came over the network.
        case received(byteCount: Int)
        /// Whether its host takes many requests on one connection, and from where its answer came, which says
        /// where its links may lead.
        case connected(UInt32, from: NetworkZone, multiplexes: Bool? = nil)
        /// It was answered with what it is.
        case succeeded(UInt32, after: Duration? = nil)
        /// An earlier snapshot has it: its host was not asked.
        case recalled(UInt32)
        /// Its answer leads elsewhere. Gives `keep` or `discard`, or neither as long as nobody knows whether
        /// a login is there.
        case redirected(UInt32, Redirection)
        /// - Parameter hadBegun: an answer came, and broke off: the host is there.
        case failed(
            UInt32, Failure, after: Duration? = nil, retryAfter: Duration? = nil, hadBegun: Bool = false)
        /// It was cut: there is no whole of it that could be held.
        case endless(UInt32, FetchFailure)
        /// A rule of the user's says that it is not stored, and so it was not asked for.
        case unstored(UInt32, rule: String)

        /// What an earlier snapshot has of it is as good as what would come.
        case held(UInt32, format: BodyFormat?, isSoftNotFound: Bool)
        /// An earlier snapshot showed the page, which sent something.
        case knownAsSender(UInt32)
        /// A page is as it was in a snapshot before, and so asks for no login.
        case openedInSession(UInt32)
        /// Something asks for it by CORS.
        case askedByOrigin(UInt32)
        /// It is looked into whether it is a login.
        case scanning(UInt32)
        /// It was read, with all that it links to. Gives `record`, and what becomes of redirects that led
        /// there.
        ///
        /// - Parameter wasHeld: should it be a login, an earlier snapshot has a page in its place.
        case scanned(ScanResult, wasHeld: Bool = false)
        /// The links of what is held, those that have a number first. Gives the `number` of each new one.
        ///
        /// - Parameters:
        ///   - isLeftOut: it asks not to be kept.
        ///   - isNews: no earlier snapshot has it, but an earlier run of this one.
        case linked(
            UInt32, known: [KnownLink], new: [FoundLink], isLeftOut: Bool, isNofollow: Bool = false,
            renderReasons: RenderReasons = [], isNews: Bool = false)

        /// What came of asking for the robots.txt of a host. Gives where to ask instead, where that was a
        /// redirect.
        case robots(host: Int, RobotsAnswer)
        /// What the host answered to what it cannot have; nil when it did not answer.
        case probed(host: Int, SoftNotFound.Answer?)
        /// The page that was asked for once more answered; nil when that says nothing.
        case witnessed(host: Int, asksForLogin: Bool?)

        /// Another worker found it for a host of this one.
        case arrived(Arrival)
        /// From here on this worker alone asks these hosts.
        case granted([String])
        /// From here on another one does: nothing more is asked of it.
        case lent(String)
        /// Another worker's start leads elsewhere.
        case moved(from: WebURL, to: WebURL)
        /// So many pages more may be asked for, of those that the snapshot may.
        case pagesGranted(Int)
        /// No more pages will be.
        case pagesEnded
        /// So much came to others, in all.
        case othersReceived(byteCount: Int)
        /// A worker found out already what it is.
        case known(UInt32, KnownOutcome)
        /// It was counted when it came.
        case counted(UInt32)

        /// Nobody listened for so long: what hosts answered meanwhile was not heard.
        case wasAway(Duration)
        /// Hosts that have never answered are not waited for any longer. Gives what is `lost` by that, and what
        /// is under way to be abandoned.
        case patienceEnded
        /// Nothing runs, and nothing is being read: what is still open will not be told by what comes.
        case settled
        /// A page that a browser shows asks for it.
        case needed(WebURL, by: UInt32, isPage: Bool, isCORS: Bool)
        /// A browser has shown the page. Gives `record`.
        case rendered(UInt32, Rendered)
        /// There is no browser.
        case unrenderable

        /// Nothing more comes. Says what becomes of redirects that led to nothing that came.
        case ended
    }

    /// What is to be done at once.
    enum Action: Sendable {
        case ask(Task)
        /// The redirect that was its answer is stored.
        case keep(UInt32)
        /// It is not.
        case discard(UInt32)
        /// The store is told who links to what.
        case record(NewLinks)
        /// By these the new links of what is held are known, in their order.
        case number([UInt32])
        /// It was not had. What an earlier snapshot has of it stays.
        case lost(UInt32)
        /// Nobody waits for their answers any more. They come all the same, as failures.
        case abandon(Set<UInt32>, FetchFailure)
    }

    /// A request.
    enum Task: Sendable, Equatable {
        case fetch(UInt32)
        /// The robots.txt of a host, or where it was redirected to.
        case robots(host: Int, WebURL, NetworkZone)
        /// An URL that the host cannot have.
        case probe(host: Int, WebURL, NetworkZone)
        /// A page that came, once more.
        case witness(host: Int, WebURL, NetworkZone)
        /// A page that came is shown in a browser.
        case render(UInt32)
    }

    /// What a browser made of a page.
    struct Rendered: Sendable {
        /// Where the document leads, as its scripts left it.
        var links: [WebURL] = []
        /// What it asked for.
        var asked: Set<UInt32> = []
        /// Of its words, as its scripts left them; nil where nobody knows them.
        var print: ContentPrint?
        /// It came to rest.
        var isWhole = true
        /// What it asked for and had not come by the end of its time.
        var waitsFor: [UInt32] = []
    }

    struct Redirection: Sendable {
        /// Nil when it does not say where.
        var target: WebURL?
        var latency: Duration?
        /// An earlier snapshot has it: its host was not asked.
        var isRecalled = false
        /// Whoever is asked again, after a way that leads back, may answer otherwise.
        var setsCookie = false
        /// An earlier snapshot has a page in its place.
        var wasHeld = false
    }

    /// A link to what has a number.
    struct KnownLink: Sendable {
        var number: UInt32
        var role: Role
        var isGuess: Bool
    }

    enum RobotsAnswer: Sendable {
        /// - Parameters:
        ///   - location: where a redirect leads; nil when it does not say.
        ///   - from: the network zone that the response came from, which limits its redirect.
        case answered(status: Int, location: WebURL? = nil, body: [UInt8] = [], from: NetworkZone)
        case failed(FetchFailure)
    }

    /// What a crawl does and how gently.
    struct Options: Sendable {
        var connectionsPerHost = 16
        /// Whoever drives it says how gently hosts are asked: everything that is due is handed out.
        var isUnpaced = false
        var retryPlan = RetryPlan()
        var limits = CrawlLimits()
        var obeysRobots = true
        /// The name by which robots.txt speaks to us; nil asks for no robots.txt at all.
        var productToken: String?
        /// Origins whose robots.txt could not be had a moment ago.
        var doubted: Set<String> = []
        /// The user is logged in somewhere, and wants to stay so.
        var hasSession = false
        /// What was read is looked through for what it leads to.
        var followsLinks = true
        /// Told the numbers of links, which come as such from then on. It changes no decision.
        var memory: LinkMemory?
        /// Strings of scripts that may be links are tried.
        var followsGuesses = true
        /// How long hosts that have never answered are waited for when all else is done; nil for as long as
        /// it takes.
        var patience: Duration?
        /// Hosts are asked by whoever has a lease of them.
        var isShared = false
        /// Which pages are rendered, to begin with.
        var rendering = RenderBook()
    }

    /// Whether a person goes there or a page needs it. A page that something also needs becomes an asset.
    enum Role: UInt8, Sendable {
        case page = 0
        case asset = 1
        /// It lists pages, and nobody goes there: robots.txt, a sitemap.
        case guide = 2
    }

    enum State: Sendable, Equatable {
        case skipped(SkipReason)
        case queued
        case running
        /// Not queued yet: just discovered, before a gate, or failed and to be tried again.
        case waiting
        case done
        /// Its answer led elsewhere.
        case redirected
        case failed(Failure)
        /// Whoever has its host is told of it.
        case elsewhere
    }

    /// What is known of one URL.
    struct Entry: Sendable {
        let number: UInt32
        /// Who asked for it first; nil for a start URL.
        let referrer: UInt32?
        /// A start URL, or where one was redirected to.
        let isStart: Bool
        let role: Role
        /// Nobody is sure that it is a link; if it fails, nothing is missing.
        let isGuess: Bool
        /// It says that there is nothing, with a status that says the contrary.
        let isSoftNotFound: Bool
        /// A redirect led there.
        let isRedirectTarget: Bool
        let state: State
        let attempts: Int
        /// How many links away from a start it is.
        let depth: Int
    }

    /// Over all hosts: a page may need things from thousands of them, and a process has only so many sockets.
    static let mostRunning = 128
    static let mostRedirects: UInt8 = 20
}

/// How far it is.
extension Frontier {
    /// Nothing runs and nothing will.
    var isDone: Bool { core.isDone }

    /// It is to be told when nothing runs and nothing is being read: there are names of modules that wait for
    /// somebody who says where they are, or pages that a browser may find more of.
    var waitsToSettle: Bool { core.loaders.hasOpenNames || core.renders.isOn && core.renders.isUnsettled }

    /// The patterns of pages, and what came of rendering them.
    var rendering: RenderBook { core.renders }

    /// The time is up: what runs is not waited for, and for not much longer where something else has stopped
    /// the crawl.
    var isOutOfTime: Bool { core.isOutOfTime }

    /// When something that waits is due, be it a retry, a host that is given a pause, a robots.txt or the
    /// end; nil when nothing waits.
    var nextDue: Duration? { core.nextDue }

    /// Whether nobody is waited for any longer. That something is due may only mean that it is time to look
    /// again.
    func isOutOfPatience(now: Duration) -> Bool { core.endOfPatience(at: now).map { $0 <= now } ?? false }

    /// The limit that ended the crawl, or kept pages out.
    var limit: CrawlLimits.Reached? { core.limit }

    /// Places without an end.
    var traps: [TrapReason] { core.traps.stopped }

    /// In the order of their names.
    var lostSessions: [CrawlReport.LostSession] { core.lostSessions }
    /// Origins whose robots.txt could not be had.
    var doubted: Set<String> { core.doubted }

    /// The longest distance between requests that a robots.txt asks for, as far as it is kept.
    var crawlDelay: Duration? { core.hosts.lazy.compactMap { $0.gate?.crawlDelay?.kept }.max() }

    /// Costs as much as there are hosts, and nothing for what is known of them.
    func progress(now: Duration) -> CrawlProgress { core.progress(now: now) }
}

/// What it knows of an URL.
extension Frontier {
    /// How many have a number.
    var count: Int { core.records.count }

    func url(_ number: UInt32) -> WebURL { core.url(number) }

    /// Why nobody is asked for what a page needs there; nil when it may be asked for.
    func refusal(ofAsset url: WebURL) -> SkipReason? {
        if case .skipped(let reason) = core.scope.verdict(on: url, as: .asset) { reason } else { nil }
    }

    /// Nil for what nobody has led to.
    func number(of url: WebURL) -> UInt32? { core.urls.find(url.key) }

    func text(_ number: UInt32) -> String { core.urls.href(number) }

    func state(_ number: UInt32) -> State { core.state(number) }

    func entry(_ number: UInt32) -> Entry { core.entry(number) }

    /// In the order in which they were discovered.
    var entries: some RandomAccessCollection<Entry> {
        core.records.indices.lazy.map { [core] in core.entry(UInt32($0)) }
    }

    /// What was not had, and why.
    var failures: [UInt32: Failure] { core.failures }

    func role(of number: UInt32) -> Role { core.records[Int(number)].role }

    /// Nil for a start URL.
    func referrer(of number: UInt32) -> WebURL? {
        let referrer = core.records[Int(number)].referrer
        return referrer == FrontierCore.Record.nobody ? nil : url(referrer)
    }

    func referrerNumber(of number: UInt32) -> UInt32? {
        let referrer = core.records[Int(number)].referrer
        return referrer == FrontierCore.Record.nobody ? nil : referrer
    }

    /// The same as text, which need not be read as an URL again.
    func referrerText(of number: UInt32) -> String? {
        let referrer = core.records[Int(number)].referrer
        return referrer == FrontierCore.Record.nobody ? nil : core.urls.href(referrer)
    }

    /// Where its redirect leads.
    func target(of number: UInt32) -> UInt32? { core.target(of: number) }

    /// The nearest network zone that a request for it may connect to.
    func nearestZone(_ number: UInt32) -> NetworkZone { core.records[Int(number)].nearestZone }

    /// The network zone that its response came from.
    func zone(of number: UInt32) -> NetworkZone { core.records[Int(number)].zone }

    /// Whether it is asked for by CORS.
    func isCORS(_ number: UInt32) -> Bool {
        core.records[Int(number)].flags.contains(.isCORS)
    }

    /// The origin that a request by CORS names; nil where it names none.
    func origin(askingFor number: UInt32) -> String? { core.origin(askingFor: number) }

    /// Whether a page goes if it asks not to be kept: a person asked for a start.
    func mayBeLeftOut(_ number: UInt32) -> Bool { core.mayBeLeftOut(number) }

    /// Whether the words of a page are to be looked at: the host's pages repeat each other, or it is a start,
    /// which is what others are compared with.
    func wantsWords(of number: UInt32) -> Bool { core.wantsWords(of: number) }

    /// Whether a login in its place is none of its answers. What leads from a start is looked at as a whole.
    func opensBySession(_ number: UInt32) -> Bool { core.opensBySession(number) }

    /// Whether no page of this crawl led there, or to what was redirected there: a server missed it.
    func isMiss(_ number: UInt32) -> Bool { core.isMiss(number) }

    /// From a start URL to the entry; of a very long way its beginning and its end.
    func chain(to number: UInt32) -> [WebURL] {
        var chain: [UInt32] = []
        var next = number
        while next != FrontierCore.Record.nobody {
            chain.append(next)
            next = core.records[Int(next)].referrer
        }
        if chain.count > Self.longestChain { chain.removeSubrange(Self.longestChain - 1..<chain.count - 1) }
        return chain.reversed().map { url($0) }
    }

    /// A report shows no longer way than this.
    private static let longestChain = 32
}

/// What one of several workers has for the others.
extension Frontier {
    /// What goes to other workers, each once.
    mutating func takeOutgoing() -> [ServerFrontier.Found] { core.takeOutgoing() }

    mutating func takeOutcomes() -> [UInt32] { core.takeOutcomes() }

    mutating func takeSoftNotFound() -> [UInt32] { core.takeSoftNotFound() }

    mutating func takeMoves() -> [(from: WebURL, to: WebURL)] { core.takeMoves() }

    /// Pages wait for what the snapshot may still ask for.
    var isStarved: Bool { core.sharing?.heldPages.isEmpty == false }

    /// How many pages may be asked for that have not been; nil where nobody counts.
    var pagesLeft: Int? { core.sharing?.pages.map { max(0, $0 - core.usage.pages) } }

    /// At how many origins something is under way or waits.
    var activeHostCount: Int { core.activeHostCount }

    /// Hosts of which enough is left for another worker, up to so many.
    func hostsToLend(_ count: Int) -> [String] { count > 0 ? Array(core.hostsToLend.prefix(count)) : [] }

    /// What came of it, for those who would ask again.
    func outcome(of number: UInt32) -> KnownOutcome? {
        switch core.state(number) {
        case .failed(let failure): .failed(failure)
        case .skipped(let reason): .skipped(reason)
        case .queued, .running, .waiting, .done, .redirected, .elsewhere: nil
        }
    }

    /// Whether something is under way at the origin.
    func isBusy(_ origin: String) -> Bool {
        core.hostNumbers[origin].map { core.hosts[$0].runningCount > 0 } ?? false
    }

    /// When the origin may next be asked.
    func nextStart(of origin: String) -> Duration? {
        core.hostNumbers[origin].flatMap { core.hosts[$0].pace.nextStart }
    }

    func origin(of number: UInt32) -> String { core.url(number).origin }

    /// Nothing more starts, whatever is left.
    var isStopped: Bool { core.isStopped }

    var running: Int { core.runningCount }
}
