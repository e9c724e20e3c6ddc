internal import Web

/// The steps by which a page that has come to rest is looked at, one after another, as a value: what the page
/// answered goes in, and how its tab goes on comes out.
struct PageTour: Sendable {
    enum Step: Equatable, Sendable {
        /// One of the visit's own, in the page's world.
        case script(Int)
        case scroll, scrollBack
        case look
        case unfold
        case dark
        case viewport(Int)
        /// The fragment that shows another view of the same document.
        case route(String)
        case lookAgain
    }

    /// How a tab goes on.
    enum Next: Equatable, Sendable {
        /// With the step that is first now, after a moment.
        case again
        /// With the step behind it, at once or after a moment.
        case onward(isAtOnce: Bool)
        /// The same, but a picture is taken before, or it is put on paper.
        case picture, paper
    }

    private let visit: PageVisit
    private var steps: [Step]
    private(set) var hasLooked = false

    /// The last screen was not the last one.
    private(set) var isScrolling = false
    private var screens: Int
    private var scrolled = 0
    private var idleScrolls = 0
    private var height = 0
    private var unfolded = 0
    private var tabs = 0
    /// The views that fragments name, whether or not they are shown.
    private var routes: Set<String> = []
    private var plannedRoutes = 0
    private var shownRoutes = 0
    private var seen: Set<String> = []

    private static let unfoldLimit = 3
    private static let tabLimit = 40
    private static let screensOfTab = 5

    init(_ visit: PageVisit) {
        self.visit = visit
        screens = visit.scroll
        steps = visit.scripts.indices.map { .script($0) }
        if visit.scroll > 0 { steps.append(.scroll) }
        steps.append(.look)
        if visit.isDeep { steps.append(.unfold) }
        if visit.seesDark { steps.append(.dark) }
        steps += visit.viewports.indices.dropFirst().map { .viewport($0) }
        if steps.last != .look { steps.append(.lookAgain) }
    }

    /// The step that is taken, or comes next; nil at the end.
    var step: Step? { steps.first }

    /// What is folded is being opened, or was just before.
    var isUnfolding: Bool { step == .unfold || tabs > 0 && steps.contains(.unfold) }

    /// Further views of the document that are shown, or will be.
    var viewCount: Int { plannedRoutes + tabs }

    /// Those that fragments name and that were not shown.
    var unshownCount: Int { routes.count - shownRoutes }

    /// What runs in the page for a step, in the world of our own.
    func expression(of step: Step) -> String {
        switch step {
        case .script(let number): visit.scripts[number]
        case .scroll: PageScripts.scroll
        case .scrollBack: PageScripts.scrollBack
        case .look: PageScripts.look(for: visit, linksOnly: false)
        case .lookAgain: PageScripts.look(for: visit, linksOnly: true)
        case .unfold: PageScripts.unfold(for: visit)
        case .dark, .viewport: PageScripts.settle
        case .route(let fragment): PageScripts.go(to: fragment)
        }
    }

    /// Goes over to the next step.
    mutating func finishStep() {
        if !steps.isEmpty { steps.removeFirst() }
    }

    /// Leaves nothing but a look at what is there.
    mutating func cut() { steps = [.look] }

    /// Another document is there: what was seen belongs to the one before.
    mutating func leave() {
        if hasLooked { steps.removeAll() }
    }

    /// Takes what the page answered to the step.
    ///
    /// - Parameter isHurried: no further step is added.
    mutating func take(
        _ value: JSONValue?, of step: Step, into outcome: inout PageOutcome, isHurried: Bool
    ) -> Next {
        switch step {
        case .script:
            return .onward(isAtOnce: false)
        case .scroll:
            return takeScroll(value)
        case .look:
            takeLook(value, &outcome, isHurried)
            outcome.text = value?["text"]?.string
            outcome.document = value?["document"]?.string
            hasLooked = true
            return visit.wantsPicture ? .picture : visit.wantsPaper ? .paper : .onward(isAtOnce: true)
        case .lookAgain:
            takeLook(value, &outcome, isHurried)
            return .onward(isAtOnce: true)
        case .unfold:
            takeLook(value, &outcome, isHurried)
            let count = value?["count"]?.int ?? 0
            // Of tabs there is one at a time, as each may go away with what it shows when the next one comes.
            if value?["isTab"]?.bool ?? false, tabs < Self.tabLimit {
                tabs += 1
                (screens, scrolled, idleScrolls, height) = (min(visit.scroll, Self.screensOfTab), 0, 0, 0)
                if screens > 0 { steps.insert(.scroll, at: 0) }
                return .again
            }
            unfolded += 1
            // What was opened may hold more of the kind.
            if count > 0, unfolded < Self.unfoldLimit { return .again }
            return .onward(isAtOnce: count == 0)
        case .route:
            shownRoutes += 1
            return .onward(isAtOnce: false)
        case .dark, .viewport, .scrollBack:
            return .onward(isAtOnce: false)
        }
    }

    private mutating func takeScroll(_ value: JSONValue?) -> Next {
        let hasMoved = value?["hasMoved"]?.bool ?? false
        let height = value?["height"]?.int ?? 0
        // At the end, what is loaded there may take a moment to show.
        let isEnd = !hasMoved && height <= self.height
        idleScrolls = isEnd ? idleScrolls + 1 : 0
        self.height = height
        isScrolling = hasMoved
        if hasMoved { scrolled += 1 }
        if scrolled == 0, !hasMoved { return .onward(isAtOnce: true) }
        if scrolled >= screens || idleScrolls > 1 {
            steps[0] = .scrollBack
            isScrolling = false
        }
        return .again
    }

    private mutating func takeLook(_ look: JSONValue?, _ outcome: inout PageOutcome, _ isHurried: Bool) {
        guard let look else { return }
        if let address = look["address"]?.string { outcome.address = address }
        if let title = look["title"]?.string { outcome.title = title }
        let links = look["links"]?.array?.compactMap(\.string) ?? []
        add(links, to: &outcome)
        guard !isHurried else { return }
        for link in links { addRoute(link, of: outcome.address) }
    }

    /// Routers by the fragment show what looks like pages, and is one document: each of its views is shown
    /// once.
    private mutating func addRoute(_ link: String, of address: String) {
        guard let mark = link.firstIndex(of: "#") else { return }
        let fragment = String(link[mark...])
        guard fragment.hasPrefix("#/") || fragment.hasPrefix("#!"),
            address.prefix(while: { $0 != "#" }) == link[..<mark], address != link,
            routes.insert(fragment).inserted, plannedRoutes < visit.routes
        else { return }
        plannedRoutes += 1
        steps += [.route(fragment), .lookAgain]
    }

    mutating func add(_ links: [String], to outcome: inout PageOutcome) {
        for link in links where outcome.links.count < PageOutcome.linkLimit {
            guard link.hasPrefix("http://") || link.hasPrefix("https://"), seen.insert(link).inserted else {
                continue
            }
            outcome.links.append(link)
        }
    }
}
