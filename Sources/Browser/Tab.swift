internal import Web

/// One page in one tab, as a value: what the browser says and the time go in, commands come out, and in the
/// end the outcome.
///
/// A tab goes through `starting`: a context, a tab in it, its set-up, and the navigation. Then it takes one
/// step after another: it waits until the page is quiet (`settling`), asks something of it (`asking`), and so
/// on. In the end the context is given back (`closing`).
struct Tab: Sendable {
    enum Action: Sendable {
        /// With a number where the tab waits for the reply.
        case send(Command, number: Int?)
        /// The browser's own events about this context, and those of this session, are this tab's.
        case ownContext(String)
        case ownSession(String)
        case disownSession(String)
        case finish(PageOutcome)
        /// The browser itself does not answer.
        case giveUp(String)
    }

    private enum Purpose: Sendable {
        case context, target, setUp, navigation
        case world, step, picture, paper, probe
        case cookies, disposal
    }

    private struct Awaited: Sendable {
        let purpose: Purpose
        let deadline: Duration
    }

    private enum Stage: Equatable, Sendable {
        case starting
        /// Nothing may be asked for since then, for so long.
        case settling(quiet: Duration, since: Duration)
        case asking
        case closing
        case over
    }

    /// How long it takes at most for a reply, on a machine that has much else to do.
    enum Patience {
        static let browser = Duration.seconds(15)
        static let picture = Duration.seconds(5)
        /// For all of a page, or a page on paper.
        static let paper = Duration.seconds(60)
        /// For a page whose scripts were just stopped.
        static let probe = Duration.seconds(5)
        /// A page that has said nothing for so long is asked whether it can.
        static let silence = Duration.seconds(2)
        static let disposal = Duration.seconds(2)
        /// How often a person's cookies are read: when he closes the browser, nobody can be asked any more.
        static let cookies = Duration.seconds(1)
        /// What a further view of a document may take beside.
        static let route = Duration.seconds(1)
    }

    /// So many dialogs, or windows, are no accident.
    static let nuisanceLimit = 30
    private static let errorLimit = 1000

    let visit: PageVisit
    private var actions: [Action] = []
    private var stage = Stage.starting
    private var awaited: [Int: Awaited] = [:]
    private var lastNumber = 0

    // Names that the browser gave.
    private var context: String?
    private var target: String?
    private var session: String?
    /// The page's own and those of its frames and workers.
    private var sessions: Set<String> = []
    /// The world in which we look at the document that is shown.
    private var world: Int?

    private let start: Duration
    private var limit: Duration?
    private var lastActivity: Duration
    private var lastWord: Duration
    /// The document that the tab shows, and those that have loaded.
    private var loader: String?
    private var loaded: Set<String> = []
    private var hasCommitted = false
    private var hasDownloaded = false

    private var tour: PageTour
    private var attempts = 0
    /// Time is up, or scripts were stopped: what is there is taken, and nothing waited for.
    private var isHurried = false
    private var isCurtailed = false

    /// When a person's cookies were asked for.
    private var cookieTime: Duration?

    private var record = RequestRecord()
    private var notices = NoticeRecord()
    private var outcome: PageOutcome

    /// - Parameter now: since whenever; the same clock as in all other calls.
    init(_ visit: PageVisit, now: Duration) {
        self.visit = visit
        start = now
        lastActivity = now
        lastWord = now
        outcome = PageOutcome(ending: .complete, address: visit.url)
        tour = PageTour(visit)

        if visit.staysOpen {
            ask(Command("Target.getBrowserContexts"), .context, until: now + Patience.browser)
            return
        }
        var parameters: JSONMembers = ["disposeOnDetach": true]
        if let proxy = visit.proxy {
            parameters = parameters + ["proxyServer": proxy, "proxyBypassList": "<-loopback>"]
        }
        ask(Command("Target.createBrowserContext", nil, parameters), .context, until: now + Patience.browser)
    }

    mutating func takeActions() -> [Action] {
        defer { actions = [] }
        return actions
    }

    var isOver: Bool { stage == .over }

    // MARK: - What goes in

    mutating func take(_ reply: Reply, to number: Int, now: Duration) {
        guard let awaited = awaited.removeValue(forKey: number) else { return }
        lastWord = now
        switch awaited.purpose {
        case .context: takeContext(reply, now)
        case .target:
            if case .refusal(let why) = reply { end(.failed("no tab was opened: \(why)"), now) }
        case .setUp: navigate(now)
        case .navigation: takeNavigation(reply, now)
        case .world:
            world = reply["executionContextId"]?.int
            if world == nil { retry(now) } else { perform(now) }
        case .step: takeStep(reply, now)
        case .picture:
            outcome.picture = reply["data"]?.string.flatMap(Base64.decode)
            print(now)
        case .paper:
            outcome.paper = reply["data"]?.string.flatMap(Base64.decode)
            finishStep(now)
        case .probe:
            if isCurtailed { perform(now) }
        case .cookies: takeCookies(reply, now)
        case .disposal: giveOutcome(now)
        }
        go(now)
    }

    mutating func take(_ event: Event, now: Duration) {
        guard stage != .closing, stage != .over else { return }
        lastWord = now
        if event.method.hasPrefix("Network.") {
            if record.take(event) { lastActivity = now }
            if record.requests.count > PageOutcome.requestLimit, !isCurtailed {
                let text = "more than \(PageOutcome.requestLimit) requests"
                notices.note(.tooManyRequests, text)
                curtail(.outOfTime, now)
            }
        } else {
            takeOther(event, now)
        }
        go(now)
    }

    /// When the tab is to be asked again, if nothing happens until then.
    var deadline: Duration? {
        if stage == .over { return nil }
        var times = awaited.values.map(\.deadline)
        if stage != .closing, !isHurried, let limit { times.append(limit) }
        if let quietTime { times.append(quietTime) }
        if let probeTime { times.append(probeTime) }
        if let nextCookieTime { times.append(nextCookieTime) }
        return times.min()
    }

    mutating func tick(now: Duration) {
        for (number, awaited) in awaited.sorted(by: { $0.key < $1.key }) where awaited.deadline <= now {
            guard self.awaited.removeValue(forKey: number) != nil else { continue }
            overdue(awaited.purpose, now)
        }
        if let limit, limit <= now, !isHurried { hurry(now) }
        if let probeTime, probeTime <= now, let session {
            ask(Command("Runtime.evaluate", session, ["expression": "0"]), .probe, until: now + visit.stall)
        }
        if let nextCookieTime, nextCookieTime <= now { askForCookies(now) }
        go(now)
    }

    /// The browser is no more, or is not wanted any more.
    mutating func abandon(_ why: String, now: Duration) {
        guard stage != .over else { return }
        // A person closes all of it.
        let isClosed = visit.staysOpen && hasCommitted
        if stage != .closing, !isClosed { outcome.ending = .failed(why) }
        giveOutcome(now)
    }

    // MARK: - The start

    private mutating func takeContext(_ reply: Reply, _ now: Duration) {
        let name = visit.staysOpen ? "defaultBrowserContextId" : "browserContextId"
        guard let context = reply[name]?.string else {
            if case .refusal(let why) = reply { return end(.failed("no tab was opened: \(why)"), now) }
            return end(.failed("no tab was opened"), now)
        }
        self.context = context
        actions.append(.ownContext(context))
        let here: JSONMembers = ["browserContextId": context]
        if !visit.staysOpen {
            post("Browser.setDownloadBehavior", nil, here + ["behavior": "deny", "eventsEnabled": true])
            // Whatever is not granted here is refused.
            post("Browser.grantPermissions", nil, here + ["permissions": [String]()])
        }
        let size = visit.viewports.first ?? Viewport(width: 1280, height: 900)
        let place: JSONMembers = ["url": "about:blank", "width": size.width, "height": size.height]
        ask(Command("Target.createTarget", nil, here + place), .target, until: now + Patience.browser)
    }

    private mutating func takeAttached(_ event: Event, _ now: Duration) {
        guard let name = event["sessionId"]?.string, let info = event["targetInfo"],
            let target = info["targetId"]?.string
        else { return }
        let type = info["type"]?.string ?? ""
        if event.session == nil, type == "page" {
            guard self.target == nil else {
                post("Runtime.runIfWaitingForDebugger", name)
                // A login may need a second window.
                if visit.staysOpen { return }
                // A window that the page opened, and that has asked for nothing. As long as it waits, so may
                // the page.
                post("Target.closeTarget", nil, ["targetId": target])
                return
            }
            self.target = target
            session = name
            own(name)
            setUp(name, now)
        } else if type != "browser_ui" {
            // Windows bring pages of the browser's own along, which wait for us, and cost most while they do.
            own(name)
            for command in SessionSetUp.child(name, type, for: visit) { post(command) }
            // It is fetched before there is anybody to tell of it, and runs only when it was found.
            if type == "service_worker" { record.add(workerScript: info["url"]?.string ?? "") }
        }
    }

    private mutating func own(_ session: String) {
        sessions.insert(session)
        actions.append(.ownSession(session))
    }

    private mutating func setUp(_ session: String, _ now: Duration) {
        for command in SessionSetUp.page(session, for: visit) { post(command) }
        ask(
            Command("Runtime.runIfWaitingForDebugger", session), .setUp, until: now + Patience.browser)
    }

    private mutating func navigate(_ now: Duration) {
        limit = now + visit.limit
        ask(
            Command("Page.navigate", session, ["url": visit.url]), .navigation,
            until: now + visit.limit + Patience.browser)
    }

    private mutating func takeNavigation(_ reply: Reply, _ now: Duration) {
        if case .refusal(let why) = reply { return end(.failed(why), now) }
        if reply["isDownload"]?.bool == true || hasDownloaded { return end(.download, now) }
        if let why = reply["errorText"]?.string { return end(.failed(why), now) }
        hasCommitted = true
        if loader == nil { loader = reply["loaderId"]?.string }
        wait(visit.quiet, now)
    }

    // MARK: - What happens

    private mutating func takeOther(_ event: Event, _ now: Duration) {
        let isOwn = event.session == session
        switch event.method {
        case "Target.attachedToTarget":
            takeAttached(event, now)
        case "Target.detachedFromTarget":
            guard let name = event["sessionId"]?.string, sessions.remove(name) != nil else { return }
            actions.append(.disownSession(name))
            record.forget(session: name)
            if name == session { end(visit.staysOpen ? .complete : .failed("its tab was closed"), now) }
        case "Page.frameNavigated":
            takeNavigated(event, now)
        case "Page.navigatedWithinDocument":
            guard event["frameId"]?.string == target, let url = event["url"]?.string else { return }
            outcome.address = url
        case "Page.lifecycleEvent":
            guard event["name"]?.string == "load", let loader = event["loaderId"]?.string else { return }
            loaded.insert(loader)
            if loader == self.loader { lastActivity = now }
        case "Page.frameRequestedNavigation":
            // What was opened leads away; the page stays.
            guard tour.step == .unfold, event["frameId"]?.string == target else { return }
            post("Page.stopLoading", session)
        case "Page.javascriptDialogOpening":
            takeDialog(event, now)
        case "Page.windowOpen":
            let url = event["url"]?.string ?? ""
            tour.add([url], to: &outcome)
            nuisance(.window, url, now)
        case "Browser.downloadWillBegin":
            // Only the page's own document has the target's name.
            if event["frameId"]?.string == target { takeDownload(now) }
            notices.note(.download, event["url"]?.string ?? "")
        case "Runtime.executionContextsCleared":
            if isOwn { world = nil }
        case "Runtime.exceptionThrown":
            let details = event["exceptionDetails"]
            let text = details?["exception"]?["description"]?.string ?? details?["text"]?.string
            if notices.note(.scriptError, text ?? "an exception") == Self.errorLimit {
                for session in sessions { post("Runtime.disable", session) }
            }
        case "Runtime.bindingCalled":
            guard event["name"]?.string == PageScripts.binding else { return }
            notices.note(.permission, event["payload"]?.string ?? "")
        case "Inspector.targetCrashed":
            notices.note(.crash, isOwn ? "the page" : "a frame or a worker")
            if isOwn { end(.crashed, now) }
        default:
            return
        }
    }

    private mutating func takeNavigated(_ event: Event, _ now: Duration) {
        guard event.session == session, let frame = event["frame"], frame["parentId"] == nil,
            let url = frame["url"]?.string
        else { return }
        world = nil
        guard url != "about:blank" || visit.url == "about:blank" else { return }
        loader = frame["loaderId"]?.string
        lastActivity = now
        // A failed one shows a page of the browser's own.
        if !url.hasPrefix("chrome-error:") {
            outcome.address = url + (frame["urlFragment"]?.string ?? "")
        }
        tour.leave()
    }

    /// What was to take the page's place is a file: the document that is there stays, and is as whole as it will be.
    private mutating func takeDownload(_ now: Duration) {
        hasDownloaded = true
        guard hasCommitted, let loader else { return }
        loaded.insert(loader)
        lastActivity = now
    }

    private mutating func takeDialog(_ event: Event, _ now: Duration) {
        guard let session = event.session, !visit.staysOpen else { return }
        let type = event["type"]?.string ?? ""
        // A page may be left. To what it asks, the answer is no.
        let isAccepted = type == "alert" || type == "beforeunload"
        post("Page.handleJavaScriptDialog", session, ["accept": isAccepted])
        nuisance(.dialog, "\(type): \(event["message"]?.string ?? "")", now)
    }

    private mutating func nuisance(_ kind: PageNotice.Kind, _ text: String, _ now: Duration) {
        let count = notices.note(kind, text)
        if count == Self.nuisanceLimit { curtail(.outOfTime, now) }
        // It cannot be stopped: between two dialogs it listens to nobody.
        if count >= 3 * Self.nuisanceLimit, !visit.staysOpen { end(outcome.ending, now) }
    }

    // MARK: - Waiting

    private mutating func wait(_ quiet: Duration, _ now: Duration) {
        stage = .settling(quiet: quiet, since: now)
    }

    /// Long enough for what a small change of the page asks for to have been asked for.
    private var moment: Duration { min(visit.quiet, .milliseconds(150)) }

    private var hasLoaded: Bool { loader.map { loaded.contains($0) } ?? false }

    /// When the page is quiet, if nothing happens until then; nil while it loads.
    private var quietTime: Duration? {
        guard case .settling(let quiet, let since) = stage else { return nil }
        if isHurried { return since }
        guard hasLoaded, !visit.staysOpen else { return nil }
        return max(since, lastActivity) + (record.isQuiet ? quiet : max(quiet, visit.patience))
    }

    /// When a page that ought to do something is asked whether it can.
    private var probeTime: Duration? {
        guard case .settling = stage, !isHurried, hasCommitted, session != nil, awaited.isEmpty,
            !visit.staysOpen
        else { return nil }
        return lastWord + min(Patience.silence, visit.stall)
    }

    /// Goes on with what is next, where the page is quiet.
    private mutating func go(_ now: Duration) {
        while let quietTime, quietTime <= now {
            stage = .asking
            // A probe that is still on its way has nothing to tell any more.
            awaited.removeAll()
            perform(now)
        }
    }

    private mutating func overdue(_ purpose: Purpose, _ now: Duration) {
        switch purpose {
        case .context, .target: actions.append(.giveUp("it does not open a tab"))
        case .setUp: end(.failed("its tab did not start"), now)
        case .navigation: end(.outOfTime, now)
        case .world, .step, .picture, .paper, .probe:
            if isCurtailed { end(outcome.ending, now) } else { curtail(.hung, now) }
        case .cookies: if stage == .closing { dispose(now) }
        case .disposal: giveOutcome(now)
        }
    }

    /// Time is up: what is there is taken.
    private mutating func hurry(_ now: Duration) {
        guard stage != .closing, stage != .over else { return }
        isHurried = true
        outcome.ending = .outOfTime
        awaited.removeAll()
        guard hasCommitted, !tour.hasLooked else { return end(.outOfTime, now) }
        tour.cut()
        stage = .asking
        attempts = 0
        perform(now)
    }

    /// Stops the page's scripts, takes what is there if it answers then, and ends.
    private mutating func curtail(_ ending: PageOutcome.Ending, _ now: Duration) {
        guard !isCurtailed, stage != .closing, stage != .over, !visit.staysOpen else { return }
        isCurtailed = true
        isHurried = true
        outcome.ending = ending
        awaited.removeAll()
        post("Page.stopLoading", session)
        post("Emulation.setScriptExecutionDisabled", session, ["value": true])
        post("Runtime.terminateExecution", session)
        // Whoever has to be stopped says too much.
        post("Network.disable", session)
        post("Runtime.disable", session)
        guard !tour.hasLooked else { return end(ending, now) }
        tour.cut()
        stage = .asking
        attempts = 0
        world = nil
        ask(
            Command("Runtime.evaluate", session, ["expression": "0"]), .probe,
            until: now + max(visit.stall, Patience.probe))
    }

    // MARK: - Steps

    private mutating func perform(_ now: Duration) {
        guard let step = tour.step else { return end(outcome.ending, now) }
        if case .script = step { return evaluate(step, inWorld: false, now) }
        guard world != nil else {
            let frame: JSONMembers = ["frameId": target ?? "", "worldName": "larder"]
            return ask(
                Command("Page.createIsolatedWorld", session, frame), .world, until: now + visit.stall)
        }
        if let session, step == .dark { post(SessionSetUp.colours("dark", session)) }
        if let session, case .viewport(let number) = step {
            for command in SessionSetUp.show(visit.viewports[number], session) { post(command) }
        }
        evaluate(step, inWorld: true, now)
    }

    private mutating func evaluate(_ step: PageTour.Step, inWorld: Bool, _ now: Duration) {
        // Fonts may take their time.
        let further = step == .look && (visit.wantsPicture || visit.wantsPaper) ? Patience.picture : .zero
        var parameters: JSONMembers = [
            "expression": tour.expression(of: step), "awaitPromise": true, "returnByValue": true,
        ]
        if inWorld, let world { parameters = parameters + ["contextId": world] }
        ask(Command("Runtime.evaluate", session, parameters), .step, until: now + visit.stall + further)
    }

    private mutating func takeStep(_ reply: Reply, _ now: Duration) {
        guard let step = tour.step else { return end(outcome.ending, now) }
        if case .script = step {
            if let details = reply["exceptionDetails"] {
                let text = details["exception"]?["description"]?.string ?? details["text"]?.string
                notices.note(.scriptError, text ?? "an exception")
            }
            return finishStep(now, quiet: visit.quiet)
        }
        guard let value = reply["result"], reply["exceptionDetails"] == nil else { return retry(now) }
        let routeCount = tour.routeCount
        let next = tour.take(value["value"], of: step, into: &outcome, isHurried: isHurried)
        limit = limit.map { $0 + Patience.route * (tour.routeCount - routeCount) }
        switch next {
        case .again: wait(moment, now)
        case .onward(let isAtOnce): finishStep(now, quiet: isAtOnce ? nil : moment)
        case .picture: takePicture(of: value["value"], now)
        case .paper: print(now)
        }
    }

    /// All of a page that is laid out wider than its window, as pages are that know nothing of phones, is made smaller.
    private mutating func takePicture(of look: JSONValue?, _ now: Duration) {
        var picture: JSONMembers = ["format": "png", "optimizeForSpeed": false]
        if visit.wantsWholePicture, let viewport = visit.viewports.first, let height = look?["height"]?.int,
            let width = look?["width"]?.int, (1...PageVisit.pictureHeight).contains(width)
        {
            let scale = Double(viewport.width) / Double(width)
            let most = Double(PageVisit.pictureHeight) / (viewport.scale * scale)
            let least = Double(viewport.height) / scale
            let clip: JSONMembers = [
                "x": 0, "y": 0, "width": width, "height": Int(min(max(Double(height), least), most)), "scale": scale,
            ]
            picture = picture + ["captureBeyondViewport": true, "clip": clip]
        }
        let command = Command("Page.captureScreenshot", session, picture)
        let patience = visit.wantsWholePicture ? Patience.paper : Patience.picture
        ask(command, .picture, until: now + visit.stall + patience)
    }

    /// With its colours, on paper as it asks for.
    private mutating func print(_ now: Duration) {
        guard visit.wantsPaper else { return finishStep(now) }
        let paper: JSONMembers = ["printBackground": true, "preferCSSPageSize": true]
        ask(Command("Page.printToPDF", session, paper), .paper, until: now + visit.stall + Patience.paper)
    }

    /// The document went away under a step: it is taken once more on the next one, if there is one soon.
    private mutating func retry(_ now: Duration) {
        attempts += 1
        world = nil
        if attempts > 2 || isCurtailed && attempts > 1 { return finishStep(now) }
        if isHurried { perform(now) } else { wait(moment, now) }
    }

    /// Goes on to the next step, at once or when the page has been quiet for so long.
    private mutating func finishStep(_ now: Duration, quiet: Duration? = nil) {
        tour.finishStep()
        attempts = 0
        guard let quiet, !isHurried, tour.step != nil else { return perform(now) }
        wait(quiet, now)
    }

    // MARK: - The end

    private mutating func end(_ ending: PageOutcome.Ending, _ now: Duration) {
        guard stage != .closing, stage != .over else { return }
        outcome.ending = ending
        stage = .closing
        awaited.removeAll()
        guard context != nil else { return giveOutcome(now) }
        if visit.staysOpen || visit.wantsCookies && hasCommitted { return askForCookies(now) }
        dispose(now)
    }

    private mutating func dispose(_ now: Duration) {
        guard let context, !visit.staysOpen else { return giveOutcome(now) }
        // No script is asked whether it may be left.
        let command = Command("Target.disposeBrowserContext", nil, ["browserContextId": context])
        ask(command, .disposal, until: now + Patience.disposal)
    }

    // MARK: - A person's cookies

    private var nextCookieTime: Duration? {
        guard visit.staysOpen, hasCommitted, stage != .closing, stage != .over,
            !awaited.values.contains(where: { $0.purpose == .cookies })
        else { return nil }
        return cookieTime.map { $0 + Patience.cookies } ?? .zero
    }

    private mutating func askForCookies(_ now: Duration) {
        cookieTime = now
        let command = Command("Storage.getCookies", nil, ["browserContextId": IfAny(context)])
        ask(command, .cookies, until: now + Patience.disposal)
    }

    private mutating func takeCookies(_ reply: Reply, _ now: Duration) {
        if let cookies = reply["cookies"]?.array { outcome.cookies = cookies.compactMap(BrowserCookie.init) }
        if stage == .closing { dispose(now) }
    }

    private mutating func giveOutcome(_ now: Duration) {
        stage = .over
        awaited.removeAll()
        outcome.requests = record.requests
        outcome.notices = notices.notices
        outcome.elapsed = now - start
        actions.append(.finish(outcome))
    }

    private mutating func ask(_ command: Command, _ purpose: Purpose, until deadline: Duration) {
        lastNumber += 1
        awaited[lastNumber] = Awaited(purpose: purpose, deadline: deadline)
        actions.append(.send(command, number: lastNumber))
    }

    private mutating func post(_ method: String, _ session: String? = nil, _ parameters: JSONMembers = [:]) {
        post(Command(method, session, parameters))
    }

    private mutating func post(_ command: Command) { actions.append(.send(command, number: nil)) }
}
