internal import Web

/// The sequence of steps that examine a loaded page, as a value: the results of steps go in, and instructions
/// for the tab come out.
///
/// The first element of `steps` is the current step. Results can add steps: one scroll for each opened tab,
/// and one view for each fragment that a link names.
struct PageSteps: Sendable {
    /// One action in the page, each a script that ``expression(of:)`` returns.
    enum Step: Equatable, Sendable {
        /// One of ``PageVisit/scripts``, by its index. It runs in the page's own world.
        case script(Int)
        case scroll, scrollBack
        case look
        /// Answers a banner that asks for consent; the second step is for the list of purposes that it opened.
        case consent, consentToPurposes
        /// Gives the focus to the search field, types a word, and leaves the field.
        case focusSearch, typeSearch, leaveSearch
        /// Opens collapsed parts and presses buttons.
        case unfold
        /// Chooses a value of a list, a slider or a box.
        case choose
        case dark
        case viewport(Int)
        /// Shows another view of the same document, by its fragment.
        case route(String)
        /// Shows the first view again, by its fragment.
        case firstView(String)
        /// Reads only the links of the page.
        case lookAgain
        /// Reads the large entries of `localStorage`.
        case readStorage
    }

    /// How the tab continues after a step.
    enum Next: Equatable, Sendable {
        /// Takes the step that is now first, after a pause.
        case again
        /// Takes the step that is now first, when the page has been quiet for its whole quiet time.
        case againWhenQuiet
        /// Goes to the next step, immediately or after a pause.
        case onward(isAtOnce: Bool)
        /// Goes to the next step when the page has been quiet for its whole quiet time.
        case onwardWhenQuiet
        /// Takes a picture or prints a PDF, and then goes to the next step.
        case picture, pdf
    }

    private let visit: PageVisit
    private var steps: [Step]
    private(set) var hasLooked = false

    /// Whether the last scroll moved the page, and scrolling continues.
    private var isScrolling = false
    private var screens: Int
    private var scrolled = 0
    private var idleScrolls = 0
    private var height = 0
    private var unfolded = 0
    private var tabs = 0
    private var choices = 0
    /// The identities of the document's other views, whether or not they are shown.
    private var routes: Set<String> = []
    private var plannedRoutes = 0
    private var shownRoutes = 0
    /// The views that need nothing new, of which only some are shown.
    private var repeatedViews = RepeatedViews()
    /// The fragment of the view that is shown and has not been looked at.
    private var shownView: String?
    /// The number of different requests when the last view was looked at. Later ones count for the next view, because some
    /// views send their requests late.
    private var countedRequests = 0
    /// The fragments of views that links named after controls had been used. They need a fresh document.
    private(set) var laterRoutes: [String] = []
    /// The fragments of views that the controls of the last step showed.
    private var newControlRoutes: [String] = []
    /// The number of views that controls showed completely.
    private var completeRouteCount = 0
    /// The button of a banner that was pressed last, until the banner is gone.
    private var pressedButton: String?
    private var consentTries = 0
    private var hasActed = false
    private var seen: Set<String> = []
    /// The identities of the documents and views that the page links to.
    private var linkedViews: Set<String> = []

    /// The maximum number of answers to banners. Then banners stay.
    private static let maxConsentTries = 4
    /// The maximum number of rounds in which parts are opened: opened parts may contain further collapsed ones.
    private static let maxUnfoldRounds = 3
    /// The maximum number of these rounds as long as pressing buttons such as "load more" causes requests.
    private static let maxMoreRounds = 10
    /// The maximum number of values to choose in the page.
    private static let maxChoices = 40
    /// The maximum number of tabs of the page to open.
    private static let maxTabs = 40
    /// The maximum number of screens to scroll in the content of a tab.
    private static let maxScreensPerTab = 5
    /// The maximum number of views from controls that are shown in a fresh document.
    private static let maxControlRoutes = 16

    init(_ visit: PageVisit) {
        self.visit = visit
        screens = visit.scroll
        steps = visit.consent == .leave ? [] : [.consent]
        steps += visit.scripts.indices.map { .script($0) }
        if visit.scroll > 0 { steps.append(.scroll) }
        guard visit.laterRoutes.isEmpty else {
            // The start URL has the first fragment.
            plannedRoutes = visit.laterRoutes.count
            routes = Set(visit.laterRoutes.map(RepeatedViews.identity))
            shownRoutes = 1
            steps.append(.lookAgain)
            for fragment in visit.laterRoutes.dropFirst() { steps += [.route(fragment), .lookAgain] }
            return
        }
        // Some banners appear late.
        if visit.consent != .leave { steps.append(.consent) }
        steps.append(.look)
        // The search comes last, because its results may replace the content. Opened parts may contain more lists, and
        // hide others.
        if visit.acting == .all { steps += [.choose, .unfold, .choose] }
        if visit.acting != .never { steps += [.focusSearch, .typeSearch, .leaveSearch] }
        if visit.seesDark { steps.append(.dark) }
        steps += visit.viewports.indices.dropFirst().map { .viewport($0) }
        if steps.last != .look { steps.append(.lookAgain) }
        if visit.wantsStorage { steps.append(.readStorage) }
    }

    /// The current or next step; nil at the end.
    var step: Step? { steps.first }

    /// Whether controls of the page are being used, or were used just now.
    var isActing: Bool {
        step?.usesControls ?? false || tabs > 0 && steps.contains(.unfold)
    }

    /// Whether the next scroll may follow this step quickly, because no content is expected between them.
    func scrollsQuickly(after step: Step) -> Bool {
        step == .scroll && (isScrolling || tabs > 0)
    }

    /// The number of additional views (fragments and tabs) that were or will be shown.
    var viewCount: Int { plannedRoutes + tabs }

    /// The number of views that fragments name and that were not shown.
    var unshownCount: Int {
        routes.count - shownRoutes - laterRoutes.count - completeRouteCount - repeatedCount
    }

    /// The number of views that were passed over, because many views like them needed nothing new.
    var repeatedCount: Int { repeatedViews.skippedCount }

    /// The script of a step.
    func expression(of step: Step) -> String {
        switch step {
        case .script(let number): visit.scripts[number]
        case .scroll: PageScripts.scroll
        case .scrollBack: PageScripts.scrollBack
        case .look: PageScripts.look(for: visit, linksOnly: false)
        case .consent: ConsentBanner.answer(visit.consent, isSecondRound: false)
        case .consentToPurposes: ConsentBanner.answer(visit.consent, isSecondRound: true)
        case .lookAgain: PageScripts.look(for: visit, linksOnly: true)
        case .focusSearch: PageActions.focusSearch(for: visit)
        case .typeSearch: PageActions.typeSearch
        case .leaveSearch: PageActions.leaveSearch(for: visit)
        case .unfold: PageActions.unfold(for: visit)
        case .choose: PageChoices.choose(for: visit)
        case .readStorage: PageScripts.readStorage
        case .dark, .viewport: PageScripts.settle
        case .route(let fragment), .firstView(let fragment): PageScripts.go(to: fragment)
        }
    }

    /// Removes the current step, and the steps of views after it that need not be shown.
    mutating func finishStep() {
        if !steps.isEmpty { steps.removeFirst() }
        while !visit.isDeep, case .route(let fragment)? = steps.first, repeatedViews.skips(fragment) {
            steps.removeFirst()
            if steps.first == .lookAgain { steps.removeFirst() }
        }
    }

    /// Drops all steps except one look at the current page.
    mutating func keepOnlyLook() { steps = [.look] }

    /// Handles a new document. After the look the tour ends, because its results belong to the old document.
    mutating func didNavigate() {
        if hasLooked { steps.removeAll() }
    }

    /// Processes the result of a step.
    ///
    /// - Parameters:
    ///   - requestCount: the number of different requests that the page has sent.
    ///   - isOutOfTime: no more views are added.
    mutating func take(
        _ value: JSONValue?, of step: Step, into outcome: inout PageOutcome, requestCount: Int,
        isOutOfTime: Bool
    ) -> Next {
        if step.usesControls {
            hasActed = true
            let used = value?["used"]?.array?.compactMap(\.string) ?? []
            visit.usedControls?.add(used, for: visit.controlGroup, on: visit.url)
        }
        switch step {
        case .script:
            return .onward(isAtOnce: false)
        case .consent, .consentToPurposes:
            return takeConsent(value, step, &outcome)
        case .scroll:
            return takeScroll(value)
        case .look:
            takeLook(value, &outcome, isOutOfTime)
            outcome.text = value?["text"]?.string
            outcome.isTextPartial = isOutOfTime
            outcome.document = value?["document"]?.string
            outcome.frozen = value?["frozen"]?.string
            hasLooked = true
            countedRequests = requestCount
            return visit.wantsPicture ? .picture : visit.wantsPDF ? .pdf : .onward(isAtOnce: true)
        case .lookAgain:
            let linkCount = linkedViews.count
            takeLook(value, &outcome, isOutOfTime)
            if let view = shownView {
                shownView = nil
                let hasNews = requestCount > countedRequests || linkedViews.count > linkCount
                // The current step stays first until it is finished.
                for fragment in repeatedViews.didShow(view, hasNews: hasNews).reversed() {
                    steps.insert(contentsOf: [.route(fragment), .lookAgain], at: 1)
                }
            }
            countedRequests = requestCount
            return .onward(isAtOnce: true)
        case .focusSearch:
            guard value?["isFound"]?.bool ?? false else {
                steps.removeAll { $0 == .typeSearch || $0 == .leaveSearch }
                return .onward(isAtOnce: true)
            }
            return .onward(isAtOnce: false)
        case .typeSearch:
            return .onwardWhenQuiet
        case .leaveSearch:
            takeLook(value, &outcome, isOutOfTime)
            return .onward(isAtOnce: true)
        case .unfold:
            if !isOutOfTime { addControlRoutes(value?["views"]?.array?.compactMap(\.string) ?? []) }
            takeLook(value, &outcome, isOutOfTime)
            let count = value?["count"]?.int ?? 0
            // Tabs are opened one at a time, because the next tab may hide the content of the last.
            if value?["isTab"]?.bool ?? false, tabs < Self.maxTabs {
                tabs += 1
                (screens, scrolled, idleScrolls, height) = (min(visit.scroll, Self.maxScreensPerTab), 0, 0, 0)
                if screens > 0 { steps.insert(.scroll, at: 0) }
                return .again
            }
            unfolded += 1
            // The opened parts may contain more collapsed parts.
            if count > 0, unfolded < Self.maxUnfoldRounds { return .again }
            // A list gets longer with each press of its button.
            if value?["hasMore"]?.bool ?? false, unfolded < Self.maxMoreRounds { return .againWhenQuiet }
            return .onward(isAtOnce: count == 0)
        case .choose:
            if !isOutOfTime { addControlRoutes(value?["views"]?.array?.compactMap(\.string) ?? []) }
            takeLook(value, &outcome, isOutOfTime)
            guard value?["count"]?.int ?? 0 > 0 else { return .onward(isAtOnce: true) }
            choices += 1
            return choices < Self.maxChoices ? .again : .onward(isAtOnce: false)
        case .route(let fragment):
            shownRoutes += 1
            shownView = fragment
            return .onward(isAtOnce: false)
        case .scrollBack:
            return .onward(isAtOnce: tabs > 0)
        case .readStorage:
            for entry in value?["entries"]?.array ?? [] {
                guard let key = entry["key"]?.string, let value = entry["value"]?.string else { continue }
                outcome.storage[key] = value
            }
            return .onward(isAtOnce: true)
        case .dark, .viewport, .firstView:
            return .onward(isAtOnce: false)
        }
    }

    /// Handles an answer to a banner. The banner counts as answered when it is gone; until then, it is answered again,
    /// because its scripts may not have been ready.
    private mutating func takeConsent(_ value: JSONValue?, _ step: Step, _ outcome: inout PageOutcome) -> Next
    {
        guard value?["isFound"]?.bool ?? false else {
            outcome.consent = pressedButton ?? outcome.consent
            pressedButton = nil
            return .onward(isAtOnce: true)
        }
        consentTries += 1
        guard consentTries <= Self.maxConsentTries else { return .onward(isAtOnce: true) }
        let isOpening = step == .consent && value?["isOpening"]?.bool ?? false
        steps[0] = isOpening ? .consentToPurposes : .consent
        if !isOpening { pressedButton = value?["button"]?.string ?? "" }
        return .againWhenQuiet
    }

    private mutating func takeScroll(_ value: JSONValue?) -> Next {
        let hasMoved = value?["hasMoved"]?.bool ?? false
        let height = value?["height"]?.int ?? 0
        // At the end of the page, more content may take a moment to load.
        let isEnd = !hasMoved && height <= self.height
        idleScrolls = isEnd ? idleScrolls + 1 : 0
        self.height = height
        isScrolling = hasMoved
        if hasMoved { scrolled += 1 }
        // The mouse was moved too, for which some pages wait.
        if scrolled == 0, !hasMoved { return .onward(isAtOnce: false) }
        if scrolled >= screens || idleScrolls > 1 {
            steps[0] = .scrollBack
            isScrolling = false
        }
        return .again
    }

    private mutating func takeLook(_ look: JSONValue?, _ outcome: inout PageOutcome, _ isOutOfTime: Bool) {
        guard let look else { return }
        if let address = look["address"]?.string { outcome.address = address }
        if let title = look["title"]?.string { outcome.title = title }
        let links = look["links"]?.array?.compactMap(\.string) ?? []
        add(links, to: &outcome)
        let document = outcome.address.prefix { $0 != "#" }
        for link in links where linkedViews.count < PageOutcome.maxLinks {
            linkedViews.insert(RepeatedViews.identity(ofLink: link, in: document))
        }
        guard !isOutOfTime else { return }
        for link in links { addRoute(link, of: outcome.address) }
    }

    /// Adds a step for another view of the same document, if the link names one by its fragment, as
    /// client-side routers do. Each view is shown once.
    private mutating func addRoute(_ link: String, of address: String) {
        guard let mark = link.firstIndex(of: "#") else { return }
        let fragment = String(link[mark...])
        guard fragment.hasPrefix("#/") || fragment.hasPrefix("#!"),
            address.prefix(while: { $0 != "#" }) == link[..<mark], address != link,
            routes.insert(RepeatedViews.identity(of: fragment)).inserted,
            plannedRoutes < visit.maxViews
        else { return }
        plannedRoutes += 1
        if hasActed {
            laterRoutes.append(fragment)
        } else {
            let fragmentOfPage = address.firstIndex(of: "#").map { String(address[$0...]) } ?? ""
            planRoute(fragment, from: fragmentOfPage)
        }
    }

    /// Adds the steps that show a view. Controls are used afterwards, and in the first view.
    private mutating func planRoute(_ fragment: String, from first: String) {
        guard let acting = steps.dropFirst().firstIndex(where: \.usesControls) else {
            steps += [.route(fragment), .lookAgain]
            return
        }
        if case .firstView = steps[acting - 1] {
            steps.insert(contentsOf: [.route(fragment), .lookAgain], at: acting - 1)
        } else {
            steps.insert(contentsOf: [.route(fragment), .lookAgain, .firstView(first)], at: acting)
        }
    }

    /// Notes the fragments of views that controls showed.
    private mutating func addControlRoutes(_ fragments: [String]) {
        for fragment in fragments
        where newControlRoutes.count < Self.maxControlRoutes
            && routes.insert(RepeatedViews.identity(of: fragment)).inserted
        {
            newControlRoutes.append(fragment)
        }
    }

    /// Decides about the views that controls showed in the last step: they are complete, unless the controls would have
    /// sent something that could change data.
    mutating func settleControlRoutes(hasRefused: Bool) {
        let wanted =
            hasRefused ? newControlRoutes.prefix(max(0, Self.maxControlRoutes - laterRoutes.count)) : []
        laterRoutes += wanted
        completeRouteCount += newControlRoutes.count - wanted.count
        newControlRoutes = []
    }

    mutating func add(_ links: [String], to outcome: inout PageOutcome) {
        for link in links where outcome.links.count < PageOutcome.maxLinks {
            guard link.hasPrefix("http://") || link.hasPrefix("https://"), seen.insert(link).inserted else {
                continue
            }
            outcome.links.append(link)
        }
    }
}

extension PageSteps.Step {
    /// Whether the step uses controls of the page.
    var usesControls: Bool {
        switch self {
        case .focusSearch, .typeSearch, .leaveSearch, .unfold, .choose: true
        default: false
        }
    }
}
