internal import Web

/// Loads and examines one page in one tab, as a value: replies, events and the time go in, and ``Tab/Action``
/// values come out.
///
/// In `starting`, it creates a browser context and a tab, sets the tab up, and navigates. Then it takes the
/// steps of its ``PageTour``: in `settling` it waits until the page is quiet, in `asking` it waits for the
/// reply to a command. In `closing` it disposes of the context, and in `over` it has reported the outcome.
/// `closing` and `over` are never left for an earlier stage.
struct PageWalk: Sendable {
    /// The purpose of a command whose reply is awaited.
    private enum Purpose: Sendable {
        case context, target, setUp, navigation
        case world, calm, step, picture, paper, probe
        case cookies, disposal
    }

    /// The stages, described above.
    private enum Stage: Equatable, Sendable {
        case starting
        /// Waits until the page has been quiet for `quiet`, counted from `since` or from the last activity.
        case settling(quiet: Duration, since: Duration)
        case asking
        case closing
        case over
    }

    private static let errorLimit = 1000
    private static let frameLimit = 20_000

    let visit: PageVisit
    private var talk = TabTalk<Purpose>()
    private var stage = Stage.starting

    // Identifiers that the browser assigned.
    private var context: String?
    private var target: String?
    private var session: String?
    /// The sessions of the page, its frames and its workers.
    private var sessions: Set<String> = []
    /// The frames of the page and of the windows that it opened. Download events name only a frame.
    private var frames: Set<String> = []
    /// The execution context of our isolated world in the current document.
    private var world: Int?

    private let start: Duration
    private var limit: Duration?
    /// When something last happened that keeps the page from being quiet.
    private var lastActivity: Duration
    /// When the browser last sent a reply or an event.
    private var lastWord: Duration
    /// When the page last sent a request.
    private var lastRequest: Duration
    /// The current document of the tab.
    private var loader: String?
    /// The documents whose `load` event has fired.
    private var loaded: Set<String> = []
    private var hasCommitted = false
    private var hasDownloaded = false

    private var tour: PageTour
    private var attempts = 0
    /// The last step that the page took.
    private var lastStep: PageTour.Step?
    /// When the page was last asked to take a step or to answer a test.
    private var stepTime = Duration.zero
    /// The number of requests when that step began.
    private var requestCountOfStep = 0
    /// The time is up, or the scripts were stopped: only one more look at the page, without waiting.
    private var isHurried = false
    /// The scripts of the page were stopped.
    private var isCurtailed = false

    /// The quiet time that the page had to wait before it was tested with `calm`.
    private var quietBefore = Duration.zero
    /// How often the next step was postponed because the page was busy.
    private var busyCount = 0

    /// When the page opened its first socket.
    private var socketTime: Duration?
    /// Whether controls of the page have been used.
    private var hasActed = false

    /// The page sent a request some time after it was scrolled, so that later scrolls must wait longer.
    private var isSlowToAsk = false

    private var record = RequestRecord()
    private var notices = NoticeRecord()
    private var outcome: PageOutcome

    /// - Parameter now: the time on any monotonic clock; all other calls must use the same one.
    init(_ visit: PageVisit, now: Duration) {
        self.visit = visit
        start = now
        lastActivity = now
        lastWord = now
        lastRequest = now
        outcome = PageOutcome(ending: .complete, address: visit.url)
        tour = PageTour(visit)

        var parameters: JSONMembers = ["disposeOnDetach": true]
        if let proxy = visit.proxy {
            parameters = parameters + ["proxyServer": proxy, "proxyBypassList": "<-loopback>"]
        }
        ask(
            Command("Target.createBrowserContext", nil, parameters), .context,
            until: now + Tab.Patience.browser)
    }

    mutating func takeActions() -> [Tab.Action] { talk.takeActions() }

    var isOver: Bool { stage == .over }

    // MARK: - What goes in

    mutating func take(_ reply: Reply, to number: Int, now: Duration) {
        guard let purpose = talk.take(number) else { return }
        lastWord = now
        switch purpose {
        case .context: takeContext(reply, now)
        case .target:
            if case .refusal = reply { end(.failed(reply.lackOfTab), now) }
        case .setUp: navigate(now)
        case .navigation: takeNavigation(reply, now)
        case .world:
            world = reply["executionContextId"]?.int
            if world == nil { retry(now) } else { perform(now) }
        case .calm: takeCalm(now)
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
            let count = record.requests.count
            if event.method == "Network.webSocketCreated" {
                notices.note(.webSocket, event["url"]?.string ?? "")
                socketTime = socketTime ?? now
            }
            // Messages of a socket can fill the page but may never end, so only those of the first seconds count.
            if event.method.hasPrefix("Network.webSocket"), let socketTime,
                now - socketTime < visit.patience
            {
                lastActivity = now
            }
            if record.take(event) { lastActivity = now }
            if record.requests.count > count { noteRequest(now) }
            let most = PageOutcome.requestLimit + PageOutcome.requestLimitOfView * tour.viewCount
            if record.requests.count > most, !isCurtailed {
                let text = "more than \(most) requests"
                notices.note(.tooManyRequests, text)
                curtail(.outOfTime, now)
            }
        } else {
            takeOther(event, now)
        }
        go(now)
    }

    /// When `tick` must be called if nothing happens before.
    var deadline: Duration? {
        if stage == .over { return nil }
        var times = [talk.deadline, quietTime, probeTime, stallTime]
        if stage != .closing, !isHurried { times.append(limit) }
        return times.lazy.compactMap { $0 }.min()
    }

    mutating func tick(now: Duration) {
        while let purpose = talk.takeOverdue(now) { overdue(purpose, now) }
        if let limit, limit <= now, !isHurried { hurry(now) }
        if let probeTime, probeTime <= now, let session {
            ask(Command("Runtime.evaluate", session, ["expression": "0"]), .probe, until: now + visit.stall)
        }
        if let stallTime, stallTime <= now { hurry(now) }
        go(now)
    }

    /// Ends with a failure, because the browser has ended or is being closed.
    mutating func abandon(_ why: String, now: Duration) {
        guard stage != .over else { return }
        if stage != .closing { outcome.ending = .failed(why) }
        giveOutcome(now)
    }

    // MARK: - The start

    private mutating func takeContext(_ reply: Reply, _ now: Duration) {
        guard let context = reply["browserContextId"]?.string else {
            return end(.failed(reply.lackOfTab), now)
        }
        self.context = context
        talk.say(.ownContext(context))
        let here: JSONMembers = ["browserContextId": context]
        post("Browser.setDownloadBehavior", nil, here + ["behavior": "deny", "eventsEnabled": true])
        // The browser denies all permissions that are not listed.
        post("Browser.grantPermissions", nil, here + ["permissions": [String]()])
        ask(SessionSetUp.target(in: context, for: visit), .target, until: now + Tab.Patience.browser)
    }

    private mutating func takeAttached(_ event: Event, _ now: Duration) {
        guard let name = event["sessionId"]?.string, let info = event["targetInfo"],
            let target = info["targetId"]?.string
        else { return }
        let type = info["type"]?.string ?? ""
        // The target of a document has the same identifier as its frame.
        if !type.hasSuffix("worker") { own(frame: target) }
        if event.session == nil, type == "page" {
            guard self.target == nil else {
                post("Runtime.runIfWaitingForDebugger", name)
                // A window that the page opened. It has sent no requests, because it waits for us. The page
                // may wait for it, so it must run before it is closed.
                post("Target.closeTarget", nil, ["targetId": target])
                return
            }
            self.target = target
            session = name
            own(name)
            setUp(name, now)
        } else if type != "browser_ui" {
            // Windows come with internal pages of the browser. They wait for us and use the most CPU time
            // while they do.
            own(name)
            for command in SessionSetUp.child(name, type, for: visit) { post(command) }
            // The script was fetched before we could receive events about it, and it runs only if the fetch
            // succeeded.
            if type == "service_worker" { record.add(workerScript: info["url"]?.string ?? "") }
        }
    }

    private mutating func own(_ session: String) {
        sessions.insert(session)
        talk.say(.ownSession(session))
    }

    func owns(frame: String) -> Bool { frames.contains(frame) }

    private mutating func own(frame: String) {
        // Limits memory, in case the page adds frames without end.
        if frames.count < Self.frameLimit { frames.insert(frame) }
    }

    private mutating func setUp(_ session: String, _ now: Duration) {
        for command in SessionSetUp.page(session, for: visit) { post(command) }
        ask(
            Command("Runtime.runIfWaitingForDebugger", session), .setUp, until: now + Tab.Patience.browser)
    }

    private mutating func navigate(_ now: Duration) {
        limit = now + visit.limit
        ask(
            Command("Page.navigate", session, ["url": visit.url]), .navigation,
            until: now + visit.limit + Tab.Patience.browser)
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
            talk.say(.disownSession(name))
            record.forget(session: name)
            if name == session { end(.failed("its tab was closed"), now) }
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
            // A control must not navigate away from the page. The URL is recorded as a link instead.
            guard tour.isActing, event["frameId"]?.string == target,
                !isWithinDocument(event["url"]?.string ?? "")
            else { return }
            post("Page.stopLoading", session)
        case "Page.javascriptDialogOpening":
            takeDialog(event, now)
        case "Page.windowOpen":
            let url = event["url"]?.string ?? ""
            tour.add([url], to: &outcome)
            nuisance(.window, url, now)
        case "Page.frameAttached":
            if let frame = event["frameId"]?.string { own(frame: frame) }
        case "Page.frameDetached":
            // On a swap, the frame continues in another process.
            if event["reason"]?.string != "swap", let frame = event["frameId"]?.string {
                frames.remove(frame)
            }
        case "Browser.downloadWillBegin":
            // Only the main frame has the identifier of the target.
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

    private func isWithinDocument(_ url: String) -> Bool {
        url.contains("#") && url.prefix { $0 != "#" } == outcome.address.prefix { $0 != "#" }
    }

    private mutating func takeNavigated(_ event: Event, _ now: Duration) {
        guard event.session == session, let frame = event["frame"], frame["parentId"] == nil,
            let url = frame["url"]?.string
        else { return }
        world = nil
        guard url != "about:blank" || visit.url == "about:blank" else { return }
        loader = frame["loaderId"]?.string
        lastActivity = now
        // A failed navigation shows an error page of the browser.
        if !url.hasPrefix("chrome-error:") {
            outcome.address = url + (frame["urlFragment"]?.string ?? "")
        }
        tour.leave()
    }

    /// Handles a navigation that turned into a download. The current document stays and loads no further.
    private mutating func takeDownload(_ now: Duration) {
        hasDownloaded = true
        guard hasCommitted, let loader else { return }
        loaded.insert(loader)
        lastActivity = now
    }

    private mutating func takeDialog(_ event: Event, _ now: Duration) {
        guard let session = event.session else { return }
        let type = event["type"]?.string ?? ""
        // Alerts are closed and the page may be left; all other dialogs are answered with "cancel".
        let isAccepted = type == "alert" || type == "beforeunload"
        post("Page.handleJavaScriptDialog", session, ["accept": isAccepted])
        nuisance(.dialog, "\(type): \(event["message"]?.string ?? "")", now)
    }

    private mutating func nuisance(_ kind: PageNotice.Kind, _ text: String, _ now: Duration) {
        let count = notices.note(kind, text)
        if count == Tab.nuisanceLimit { curtail(.outOfTime, now) }
        // A page that opens one dialog after another cannot be stopped: it handles no commands in between.
        if count >= 3 * Tab.nuisanceLimit { end(outcome.ending, now) }
    }

    // MARK: - Waiting

    private mutating func wait(_ quiet: Duration, _ now: Duration) {
        stage = .settling(quiet: quiet, since: now)
    }

    /// Long enough for the page to send the requests that a small change causes.
    private var moment: Duration { min(visit.quiet, .milliseconds(150)) }

    /// Long enough after a scroll during which the page sent no requests.
    private static let glance = Duration.milliseconds(40)

    private mutating func noteRequest(_ now: Duration) {
        lastRequest = now
        if lastStep == .scroll, case .settling = stage { isSlowToAsk = true }
    }

    /// How long to wait after a step, so that the page can send its requests.
    private func pause(after step: PageTour.Step) -> Duration {
        let isQuick = tour.scrollsQuickly(after: step) && !isSlowToAsk && lastRequest < stepTime
        return isQuick ? min(moment, Self.glance) : moment
    }

    private var hasLoaded: Bool { loader.map { loaded.contains($0) } ?? false }

    /// When the page will be quiet if nothing happens before; nil while it loads.
    private var quietTime: Duration? {
        guard case .settling(let quiet, let since) = stage else { return nil }
        if isHurried { return since }
        guard hasLoaded else { return nil }
        return max(since, lastActivity) + (record.isQuiet ? quiet : max(quiet, visit.patience))
    }

    /// When to stop waiting for slow requests of a page that has not loaded, provided that it has answered
    /// since its last activity and thus is not hung.
    private var stallTime: Duration? {
        guard case .settling = stage, !isHurried, hasCommitted, !hasLoaded, !record.isQuiet,
            lastWord > lastActivity
        else { return nil }
        return lastActivity + visit.patience
    }

    /// When to test whether a silent page still answers.
    private var probeTime: Duration? {
        guard case .settling = stage, !isHurried, hasCommitted, session != nil, !talk.isAwaiting else {
            return nil
        }
        return lastWord + min(Tab.Patience.silence, visit.stall)
    }

    /// Takes the next step if the page is quiet.
    private mutating func go(_ now: Duration) {
        while let quietTime, quietTime <= now, case .settling(let quiet, _) = stage {
            stage = .asking
            // The reply to a pending probe is no longer needed.
            talk.forgetAll()
            guard !isHurried, quiet > Self.glance, busyCount < Self.mostBusy else {
                perform(now)
                continue
            }
            (quietBefore, stepTime) = (quiet, now)
            let command = Command("Runtime.evaluate", session, ["expression": PageScripts.calm])
            ask(command, .calm, until: now + visit.stall)
        }
    }

    /// Handles the reply to `calm`. A late reply or activity meanwhile means that the page is busy
    /// and may send more requests; the step is then postponed, at most `mostBusy` times.
    private mutating func takeCalm(_ now: Duration) {
        let isBusy = now - stepTime > Self.promptly || lastActivity >= stepTime
        guard isBusy, !isHurried else { return perform(now) }
        busyCount += 1
        wait(quietBefore, now)
    }

    private static let promptly = Duration.milliseconds(100)
    private static let mostBusy = 4

    private mutating func overdue(_ purpose: Purpose, _ now: Duration) {
        switch purpose {
        case .context, .target: talk.say(.giveUp("it does not open a tab"))
        case .setUp: end(.failed("its tab did not start"), now)
        case .navigation: end(.outOfTime, now)
        case .world, .calm, .step, .picture, .paper, .probe:
            if isCurtailed { end(outcome.ending, now) } else { curtail(.hung, now) }
        case .cookies: dispose(now)
        case .disposal: giveOutcome(now)
        }
    }

    /// Stops waiting for the page: takes one last look, unless it was already taken, and ends as out of time.
    private mutating func hurry(_ now: Duration) {
        guard stage != .closing, stage != .over else { return }
        isHurried = true
        outcome.ending = .outOfTime
        talk.forgetAll()
        guard hasCommitted, !tour.hasLooked else { return end(.outOfTime, now) }
        tour.cut()
        stage = .asking
        attempts = 0
        perform(now)
    }

    /// Stops the scripts of the page, takes one last look if the page then answers, and ends.
    private mutating func curtail(_ ending: PageOutcome.Ending, _ now: Duration) {
        guard !isCurtailed, stage != .closing, stage != .over else { return }
        isCurtailed = true
        isHurried = true
        outcome.ending = ending
        talk.forgetAll()
        post("Page.stopLoading", session)
        post("Emulation.setScriptExecutionDisabled", session, ["value": true])
        post("Runtime.terminateExecution", session)
        // A page that has to be stopped also sends too many events.
        post("Network.disable", session)
        post("Runtime.disable", session)
        guard !tour.hasLooked else { return end(ending, now) }
        tour.cut()
        stage = .asking
        attempts = 0
        world = nil
        ask(Command("Runtime.evaluate", session, ["expression": "0"]), .probe, until: now + stall)
    }

    /// How long the page has to answer. After its scripts were stopped, it has longer: only a slow machine
    /// delays the reply then.
    private var stall: Duration { isCurtailed ? max(visit.stall, Tab.Patience.probe) : visit.stall }

    // MARK: - Steps

    private mutating func perform(_ now: Duration) {
        guard let step = tour.step else { return end(outcome.ending, now) }
        if case .script = step { return evaluate(step, inWorld: false, now) }
        if tour.isActing, !hasActed {
            hasActed = true
            record.areAfterActions = true
            talk.say(.act)
        }
        guard world != nil else {
            let frame: JSONMembers = ["frameId": target ?? "", "worldName": "larder"]
            return ask(
                Command("Page.createIsolatedWorld", session, frame), .world, until: now + stall)
        }
        if let session, step == .dark { post(SessionSetUp.colours("dark", session)) }
        if let session, case .viewport(let number) = step {
            for command in SessionSetUp.show(visit.viewports[number], session) { post(command) }
        }
        evaluate(step, inWorld: true, now)
    }

    private mutating func evaluate(_ step: PageTour.Step, inWorld: Bool, _ now: Duration) {
        settleControlRoutes()
        stepTime = now
        record.areOfConsent = step == .consent || step == .consentToPurposes
        // The look waits for fonts to load.
        let further = step == .look && (visit.wantsPicture || visit.wantsPaper) ? Tab.Patience.picture : .zero
        var parameters: JSONMembers = [
            "expression": tour.expression(of: step), "awaitPromise": true, "returnByValue": true,
        ]
        if inWorld, let world { parameters = parameters + ["contextId": world] }
        ask(Command("Runtime.evaluate", session, parameters), .step, until: now + stall + further)
    }

    /// Decides about the views that controls showed since the last step began.
    private mutating func settleControlRoutes() {
        let hasRefused = record.requests[requestCountOfStep...].contains { $0.isAfterAction && !$0.isSafe }
        tour.settleControlRoutes(hasRefused: hasRefused)
        requestCountOfStep = record.requests.count
    }

    private mutating func takeStep(_ reply: Reply, _ now: Duration) {
        guard let step = tour.step else { return end(outcome.ending, now) }
        lastStep = step
        if case .script = step {
            if let details = reply["exceptionDetails"] {
                let text = details["exception"]?["description"]?.string ?? details["text"]?.string
                notices.note(.scriptError, text ?? "an exception")
            }
            return finishStep(now, quiet: visit.quiet)
        }
        guard let value = reply["result"], reply["exceptionDetails"] == nil else { return retry(now) }
        let viewCount = tour.viewCount
        let next = tour.take(value["value"], of: step, into: &outcome, isHurried: isHurried)
        limit = limit.map { $0 + Tab.Patience.view * (tour.viewCount - viewCount) }
        switch next {
        case .again: wait(pause(after: step), now)
        case .againWhenQuiet: wait(visit.quiet, now)
        case .onward(let isAtOnce): finishStep(now, quiet: isAtOnce ? nil : moment)
        case .onwardWhenQuiet: finishStep(now, quiet: visit.quiet)
        case .picture: takePicture(of: value["value"], now)
        case .paper: print(now)
        }
    }

    /// Takes a picture of the viewport or of the whole page. A whole page that is wider than its window is
    /// scaled down to the window's width.
    private mutating func takePicture(of look: JSONValue?, _ now: Duration) {
        var picture: JSONMembers = ["format": "png", "optimizeForSpeed": false]
        if visit.wantsWholePicture, let viewport = visit.viewports.first, let height = look?["height"]?.int,
            let width = look?["width"]?.int, (1...PageVisit.pictureHeight).contains(width)
        {
            let scale = Double(viewport.width) / Double(width)
            let most = Double(PageVisit.pictureHeight) / (viewport.scale * scale)
            let least = Double(viewport.height) / scale
            let clip: JSONMembers = [
                "x": 0, "y": 0, "width": width, "height": Int(min(max(Double(height), least), most)),
                "scale": scale,
            ]
            picture = picture + ["captureBeyondViewport": true, "clip": clip]
        }
        let command = Command("Page.captureScreenshot", session, picture)
        let patience = visit.wantsWholePicture ? Tab.Patience.paper : Tab.Patience.picture
        ask(command, .picture, until: now + visit.stall + patience)
    }

    /// Prints the page to PDF, if wanted, with its background colours and its own paper size.
    private mutating func print(_ now: Duration) {
        guard visit.wantsPaper else { return finishStep(now) }
        let paper: JSONMembers = ["printBackground": true, "preferCSSPageSize": true]
        ask(Command("Page.printToPDF", session, paper), .paper, until: now + visit.stall + Tab.Patience.paper)
    }

    /// Repeats a step that failed because the document changed; gives the step up after two repetitions.
    private mutating func retry(_ now: Duration) {
        attempts += 1
        world = nil
        if attempts > 2 || isCurtailed && attempts > 1 { return finishStep(now) }
        if isHurried { perform(now) } else { wait(moment, now) }
    }

    /// Goes to the next step, at once or when the page has been quiet for the given time.
    private mutating func finishStep(_ now: Duration, quiet: Duration? = nil) {
        tour.finishStep()
        attempts = 0
        busyCount = 0
        guard let quiet, !isHurried, tour.step != nil else { return perform(now) }
        wait(quiet, now)
    }

    // MARK: - The end

    private mutating func end(_ ending: PageOutcome.Ending, _ now: Duration) {
        guard stage != .closing, stage != .over else { return }
        outcome.ending = ending
        stage = .closing
        talk.forgetAll()
        guard context != nil else { return giveOutcome(now) }
        guard visit.wantsCookies, hasCommitted else { return dispose(now) }
        let command = Command("Storage.getCookies", nil, ["browserContextId": IfAny(context)])
        ask(command, .cookies, until: now + Tab.Patience.disposal)
    }

    private mutating func dispose(_ now: Duration) {
        guard let context else { return giveOutcome(now) }
        // This closes the pages without running their `beforeunload` handlers.
        let command = Command("Target.disposeBrowserContext", nil, ["browserContextId": context])
        ask(command, .disposal, until: now + Tab.Patience.disposal)
    }

    private mutating func takeCookies(_ reply: Reply, _ now: Duration) {
        if let cookies = reply["cookies"]?.array { outcome.cookies = cookies.compactMap(BrowserCookie.init) }
        dispose(now)
    }

    private mutating func giveOutcome(_ now: Duration) {
        stage = .over
        talk.forgetAll()
        settleControlRoutes()
        outcome.requests = record.requests
        if outcome.consent != nil { notices.note(.consent, outcome.consent ?? "") }
        if hasCommitted { notices.note(.view, outcome.address, count: tour.unshownCount) }
        outcome.notices = notices.notices
        outcome.laterRoutes = tour.laterRoutes
        outcome.elapsed = now - start
        talk.say(.finish(outcome))
    }

    private mutating func ask(_ command: Command, _ purpose: Purpose, until deadline: Duration) {
        talk.ask(command, purpose, until: deadline)
    }

    private mutating func post(_ method: String, _ session: String? = nil, _ parameters: JSONMembers = [:]) {
        talk.post(Command(method, session, parameters))
    }

    private mutating func post(_ command: Command) { talk.post(command) }
}
