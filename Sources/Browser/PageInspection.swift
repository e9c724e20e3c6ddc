internal import Web

/// Loads and examines one page in one tab, as a value: replies, events and the time go in, and ``Tab/Action``
/// values come out.
///
/// The stages, each entered from the one before it:
///
/// - `starting`: creates a browser context and a tab, sets the tab up, and navigates.
/// - `settling`: waits until the page is quiet. It then tests whether the page's scripts are busy.
/// - `asking`: waits for the reply to a command, usually to a step of ``PageSteps``. The reply leads back to
///   `settling` for the next step, or to `closing` after the last one.
/// - `closing`: reads the cookies, if wanted, and disposes of the context.
/// - `over`: the outcome has been reported.
///
/// Every page ends: each awaited reply has a deadline, and the page as a whole has a time limit. At the limit
/// (`isOutOfTime`) the page is read once more as it is. A page that blocks, or sends too many requests or
/// dialogs, has its scripts stopped (`haveScriptsStopped`) and is then read once more, if it replies.
struct PageInspection: Sendable {
    /// The purpose of a command whose reply is awaited.
    private enum Purpose: Sendable {
        case context, target, setUp, navigation
        case world, busyTest, step, picture, pdf, probe
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

    /// The number of script errors after which the page reports no more of them.
    private static let maxScriptErrors = 1000
    /// The maximum number of frames. Events of further ones are not attributed to the page.
    private static let maxFrames = 20_000

    let visit: PageVisit
    private var commands = CommandQueue<Purpose>()
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
    private var activity: PageActivity
    /// Whether the navigation to the page has committed, so that there is a document to read.
    private var hasCommitted = false
    /// Whether the navigation turned into a download.
    private var hasDownloaded = false

    private var steps: PageSteps
    private var attempts = 0
    /// The last step that the page took.
    private var lastStep: PageSteps.Step?
    /// When the page was last asked to take a step or to answer a test.
    private var stepTime = Duration.zero
    /// The number of requests when that step began.
    private var requestCountOfStep = 0
    /// Whether the time is up or the scripts were stopped. The page is then read once more, without waiting.
    private var isOutOfTime = false
    /// Whether the scripts of the page were stopped.
    private var haveScriptsStopped = false

    /// The quiet time before the last `busyTest`, to be repeated if the page is busy.
    private var quietBefore = Duration.zero
    /// How often the next step was postponed because the page was busy.
    private var busyCount = 0

    /// Whether controls of the page have been used.
    private var hasActed = false
    /// Whether the page has been asked to take a step.
    private var hasBegunSteps = false

    /// Whether the page sent a request some time after it was scrolled, so that later scrolls must wait longer.
    private var requestsAfterScroll = false

    private var record = RequestRecord()
    private var sockets = SocketRecorder()
    private var notices = NoticeRecord()
    private var outcome: PageOutcome

    /// - Parameter now: the time on any monotonic clock; all other calls must use the same one.
    init(_ visit: PageVisit, now: Duration) {
        self.visit = visit
        start = now
        activity = PageActivity(now: now)
        outcome = PageOutcome(ending: .complete, address: visit.url)
        steps = PageSteps(visit)

        var parameters: JSONMembers = ["disposeOnDetach": true]
        if let proxy = visit.proxy {
            parameters = parameters + ["proxyServer": proxy, "proxyBypassList": "<-loopback>"]
        }
        request(
            Command("Target.createBrowserContext", nil, parameters), .context,
            until: now + Tab.Timeouts.browser)
    }

    mutating func takeActions() -> [Tab.Action] { commands.takeActions() }

    var isOver: Bool { stage == .over }

    // MARK: - Input

    mutating func didReceive(_ reply: Reply, to number: Int, now: Duration) {
        guard let purpose = commands.take(number) else { return }
        activity.didReceiveMessage(now: now)
        switch purpose {
        case .context: didCreateContext(reply, now)
        case .target:
            if case .refusal = reply { end(.failed(reply.tabError), now) }
        case .setUp: navigate(now)
        case .navigation: didReplyToNavigation(reply, now)
        case .world:
            world = reply["executionContextId"]?.int
            if world == nil { retry(now) } else { perform(now) }
        case .busyTest: didReplyToBusyTest(now)
        case .step: didRunStep(reply, now)
        case .picture:
            outcome.picture = reply["data"]?.string.flatMap(Base64.decode)
            print(now)
        case .pdf:
            outcome.pdf = reply["data"]?.string.flatMap(Base64.decode)
            finishStep(now)
        case .probe:
            if haveScriptsStopped { perform(now) }
        case .cookies: didReadCookies(reply, now)
        case .disposal: finish(now)
        }
        advance(now)
    }

    mutating func didReceive(_ event: Event, now: Duration) {
        guard stage != .closing, stage != .over else { return }
        activity.didReceiveMessage(now: now)
        if event.method.hasPrefix("Network.") {
            let count = record.requests.count
            if event.method == "Network.webSocketCreated" {
                notices.note(.webSocket, event["url"]?.string ?? "")
                activity.didOpenSocket(now: now)
            }
            if event.method.hasPrefix("Network.webSocket") {
                activity.didUseSocket(countingFor: visit.patience, now: now)
            }
            if event.method == "Network.eventSourceMessageReceived" {
                activity.didReceiveStreamEvent(countingFor: visit.patience, now: now)
            }
            // A replay reaches only the window of the page, and not its workers and the frames of other sites.
            if visit.wantsSockets, event.session == session { sockets.take(event, now: now) }
            if record.take(event) { activity.didAct(now: now) }
            if record.requests.count > count { didSendRequest(now) }
            let limit = PageOutcome.maxRequests + PageOutcome.maxRequestsPerView * steps.viewCount
            if record.requests.count > limit, !haveScriptsStopped {
                let text = "more than \(limit) requests"
                notices.note(.tooManyRequests, text)
                stopScripts(.outOfTime, now)
            }
        } else {
            handleEvent(event, now)
        }
        advance(now)
    }

    /// When `tick` must be called if nothing happens before.
    var deadline: Duration? {
        if stage == .over { return nil }
        var times = [commands.deadline, quietTime, probeTime, stallTime]
        if stage != .closing, !isOutOfTime { times.append(limit) }
        return times.lazy.compactMap { $0 }.min()
    }

    mutating func tick(now: Duration) {
        while let purpose = commands.takeOverdue(now) { didTimeOut(purpose, now) }
        if let limit, limit <= now, !isOutOfTime { readOnceMore(now) }
        if let probeTime, probeTime <= now, let session {
            request(
                Command("Runtime.evaluate", session, ["expression": "0"]), .probe, until: now + visit.stall)
        }
        if let stallTime, stallTime <= now { readOnceMore(now) }
        advance(now)
    }

    /// Finishes with a failure, because the browser has ended or is being closed.
    mutating func browserDidEnd(_ why: String, now: Duration) {
        guard stage != .over else { return }
        if stage != .closing { outcome.ending = .failed(why) }
        finish(now)
    }

    // MARK: - The start

    private mutating func didCreateContext(_ reply: Reply, _ now: Duration) {
        guard let context = reply["browserContextId"]?.string else {
            return end(.failed(reply.tabError), now)
        }
        self.context = context
        commands.enqueue(.ownContext(context))
        let here: JSONMembers = ["browserContextId": context]
        send("Browser.setDownloadBehavior", nil, here + ["behavior": "deny", "eventsEnabled": true])
        // The browser denies all permissions that are not listed.
        send("Browser.grantPermissions", nil, here + ["permissions": [String]()])
        request(TargetSetup.target(in: context, for: visit), .target, until: now + Tab.Timeouts.browser)
    }

    private mutating func didAttachTarget(_ event: Event, _ now: Duration) {
        guard let name = event["sessionId"]?.string, let info = event["targetInfo"],
            let target = info["targetId"]?.string
        else { return }
        let type = info["type"]?.string ?? ""
        // The target of a document has the same identifier as its frame.
        if !type.hasSuffix("worker") { addOwn(frame: target) }
        if event.session == nil, type == "page" {
            guard self.target == nil else {
                send("Runtime.runIfWaitingForDebugger", name)
                // A window that the page opened. It has sent no requests, because it waits for us. The page
                // may wait for it, so it must run before it is closed.
                send("Target.closeTarget", nil, ["targetId": target])
                return
            }
            self.target = target
            session = name
            addOwn(name)
            setUp(name, now)
        } else if type != "browser_ui" {
            // Windows come with internal pages of the browser. They wait for us and use the most CPU time
            // while they do.
            addOwn(name)
            for command in TargetSetup.child(name, type, for: visit) { send(command) }
            // The script was fetched before we could receive events about it, and it runs only if the fetch
            // succeeded.
            if type == "service_worker" { record.add(workerScript: info["url"]?.string ?? "") }
        }
    }

    private mutating func addOwn(_ session: String) {
        sessions.insert(session)
        commands.enqueue(.ownSession(session))
    }

    func owns(frame: String) -> Bool { frames.contains(frame) }

    private mutating func addOwn(frame: String) {
        // Limits memory, in case the page adds frames without end.
        if frames.count < Self.maxFrames { frames.insert(frame) }
    }

    private mutating func setUp(_ session: String, _ now: Duration) {
        for command in TargetSetup.page(session, for: visit) { send(command) }
        request(
            Command("Runtime.runIfWaitingForDebugger", session), .setUp, until: now + Tab.Timeouts.browser)
    }

    private mutating func navigate(_ now: Duration) {
        limit = now + visit.limit
        request(
            Command("Page.navigate", session, ["url": visit.url]), .navigation,
            until: now + visit.limit + Tab.Timeouts.browser)
    }

    /// Handles the reply to `Page.navigate`, which arrives when the navigation has committed or failed.
    private mutating func didReplyToNavigation(_ reply: Reply, _ now: Duration) {
        if case .refusal(let why) = reply { return end(.failed(why), now) }
        if reply["isDownload"]?.bool == true || hasDownloaded { return end(.download, now) }
        if let why = reply["errorText"]?.string { return end(.failed(why), now) }
        hasCommitted = true
        activity.didStartNavigation(to: reply["loaderId"]?.string)
        wait(visit.quiet, now)
    }

    // MARK: - Events

    private mutating func handleEvent(_ event: Event, _ now: Duration) {
        let isOwn = event.session == session
        switch event.method {
        case "Target.attachedToTarget":
            didAttachTarget(event, now)
        case "Target.detachedFromTarget":
            guard let name = event["sessionId"]?.string, sessions.remove(name) != nil else { return }
            commands.enqueue(.disownSession(name))
            record.forget(session: name)
            if name == session { end(.failed("its tab was closed"), now) }
        case "Page.frameNavigated":
            didNavigateMainFrame(event, now)
        case "Page.navigatedWithinDocument":
            guard event["frameId"]?.string == target, let url = event["url"]?.string else { return }
            outcome.address = url
        case "Page.lifecycleEvent":
            guard event["name"]?.string == "load", let document = event["loaderId"]?.string else { return }
            activity.didLoad(document, now: now)
        case "Page.frameRequestedNavigation":
            // A control must not navigate away from the page. The URL is recorded as a link instead.
            guard steps.isActing, event["frameId"]?.string == target,
                !isWithinDocument(event["url"]?.string ?? "")
            else { return }
            send("Page.stopLoading", session)
        case "Page.javascriptDialogOpening":
            didOpenDialog(event, now)
        case "Page.windowOpen":
            let url = event["url"]?.string ?? ""
            steps.add([url], to: &outcome)
            didCauseNuisance(.window, url, now)
        case "Page.frameAttached":
            if let frame = event["frameId"]?.string { addOwn(frame: frame) }
        case "Page.frameDetached":
            // On a swap, the frame continues in another process.
            if event["reason"]?.string != "swap", let frame = event["frameId"]?.string {
                frames.remove(frame)
            }
        case "Browser.downloadWillBegin":
            // Only the main frame has the identifier of the target.
            if event["frameId"]?.string == target { didStartDownload(now) }
            notices.note(.download, event["url"]?.string ?? "")
        case "Runtime.executionContextsCleared":
            if isOwn { world = nil }
        case "Runtime.exceptionThrown":
            let details = event["exceptionDetails"]
            let text = details?["exception"]?["description"]?.string ?? details?["text"]?.string
            if notices.note(.scriptError, text ?? "an exception") == Self.maxScriptErrors {
                for session in sessions { send("Runtime.disable", session) }
            }
        case "Runtime.bindingCalled":
            guard event["name"]?.string == PageScripts.permissionBinding else { return }
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

    private mutating func didNavigateMainFrame(_ event: Event, _ now: Duration) {
        guard event.session == session, let frame = event["frame"], frame["parentId"] == nil,
            let url = frame["url"]?.string
        else { return }
        world = nil
        guard url != "about:blank" || visit.url == "about:blank" else { return }
        activity.didNavigate(to: frame["loaderId"]?.string, now: now)
        if !steps.hasLooked { sockets = SocketRecorder() }
        // A failed navigation shows an error page of the browser.
        if !url.hasPrefix("chrome-error:") {
            outcome.address = url + (frame["urlFragment"]?.string ?? "")
        }
        steps.didNavigate()
    }

    /// Handles a navigation that turned into a download. The current document stays and loads no further.
    private mutating func didStartDownload(_ now: Duration) {
        hasDownloaded = true
        if hasCommitted { activity.didStopLoading(now: now) }
    }

    private mutating func didOpenDialog(_ event: Event, _ now: Duration) {
        guard let session = event.session else { return }
        let type = event["type"]?.string ?? ""
        // Alerts are closed and the page may be left; all other dialogs are answered with "cancel".
        let isAccepted = type == "alert" || type == "beforeunload"
        send("Page.handleJavaScriptDialog", session, ["accept": isAccepted])
        didCauseNuisance(.dialog, "\(type): \(event["message"]?.string ?? "")", now)
    }

    /// Counts a dialog or a window, and stops a page that opens too many of them.
    private mutating func didCauseNuisance(_ kind: PageNotice.Kind, _ text: String, _ now: Duration) {
        let count = notices.note(kind, text)
        if count == Tab.maxNuisances { stopScripts(.outOfTime, now) }
        // A page that opens one dialog after another cannot be stopped: it handles no commands in between.
        if count >= 3 * Tab.maxNuisances { end(outcome.ending, now) }
    }

    // MARK: - Waiting

    private mutating func wait(_ quiet: Duration, _ now: Duration) {
        stage = .settling(quiet: quiet, since: now)
    }

    /// The pause after a small change, in which the page sends the requests that the change causes.
    private var shortPause: Duration { min(visit.quiet, .milliseconds(150)) }

    /// The pause after a scroll that caused no requests.
    private static let minPause = Duration.milliseconds(40)

    private mutating func didSendRequest(_ now: Duration) {
        activity.didSendRequest(now: now)
        if lastStep == .scroll, case .settling = stage { requestsAfterScroll = true }
    }

    /// How long to wait after a step, so that the page can send its requests.
    private func pause(after step: PageSteps.Step) -> Duration {
        let isQuick =
            steps.scrollsQuickly(after: step) && !requestsAfterScroll && activity.lastRequest < stepTime
        return isQuick ? min(shortPause, Self.minPause) : shortPause
    }

    /// When the page will be quiet if nothing happens before; nil while it loads.
    private var quietTime: Duration? {
        guard case .settling(let quiet, let since) = stage else { return nil }
        if isOutOfTime { return since }
        guard activity.hasLoaded else { return nil }
        // A server that computes the content of a page may be silent meanwhile, with only a socket open.
        let waitsForSocket = activity.hasOpenedSocket && !hasBegunSteps
        return max(since, activity.lastActivity)
            + (record.isQuiet && !waitsForSocket ? quiet : max(quiet, visit.patience))
    }

    /// When to stop waiting for slow requests of a page that has not loaded, provided that it has answered
    /// since its last activity and thus is not hung.
    private var stallTime: Duration? {
        guard case .settling = stage, !isOutOfTime, hasCommitted, !activity.hasLoaded, !record.isQuiet,
            activity.lastMessage > activity.lastActivity
        else { return nil }
        return activity.lastActivity + visit.patience
    }

    /// When to test whether a silent page still answers.
    private var probeTime: Duration? {
        guard case .settling = stage, !isOutOfTime, hasCommitted, session != nil, !commands.isAwaiting else {
            return nil
        }
        return activity.lastMessage + min(Tab.Timeouts.silence, visit.stall)
    }

    /// Takes the next step if the page is quiet.
    private mutating func advance(_ now: Duration) {
        while let quietTime, quietTime <= now, case .settling(let quiet, _) = stage {
            stage = .asking
            // The reply to a pending probe is no longer needed.
            commands.forgetAwaited()
            guard !isOutOfTime, quiet > Self.minPause, busyCount < Self.maxBusyDelays else {
                perform(now)
                continue
            }
            (quietBefore, stepTime) = (quiet, now)
            let command = Command("Runtime.evaluate", session, ["expression": PageScripts.busyTest])
            request(command, .busyTest, until: now + visit.stall)
        }
    }

    /// Handles the reply to `busyTest`. A late reply or activity meanwhile means that the page is busy
    /// and may send more requests; the step is then postponed, at most `maxBusyDelays` times.
    private mutating func didReplyToBusyTest(_ now: Duration) {
        let isBusy = now - stepTime > Self.maxPromptDelay || activity.lastActivity >= stepTime
        guard isBusy, !isOutOfTime else { return perform(now) }
        busyCount += 1
        wait(quietBefore, now)
    }

    /// The delay of a reply to `busyTest` above which the page counts as busy.
    private static let maxPromptDelay = Duration.milliseconds(100)
    /// How often a step is postponed for a busy page. Then it is taken anyway.
    private static let maxBusyDelays = 4

    /// Handles a reply that did not arrive in time.
    private mutating func didTimeOut(_ purpose: Purpose, _ now: Duration) {
        switch purpose {
        case .context, .target: commands.enqueue(.giveUp("it does not open a tab"))
        case .setUp: end(.failed("its tab did not start"), now)
        case .navigation: end(.outOfTime, now)
        case .world, .busyTest, .step, .picture, .pdf, .probe:
            if haveScriptsStopped { end(outcome.ending, now) } else { stopScripts(.hung, now) }
        case .cookies: dispose(now)
        case .disposal: finish(now)
        }
    }

    /// Stops waiting for the page: takes one last look, unless it was already taken, and ends as out of time.
    private mutating func readOnceMore(_ now: Duration) {
        guard stage != .closing, stage != .over else { return }
        isOutOfTime = true
        outcome.ending = .outOfTime
        commands.forgetAwaited()
        guard hasCommitted, !steps.hasLooked else { return end(.outOfTime, now) }
        steps.keepOnlyLook()
        stage = .asking
        attempts = 0
        perform(now)
    }

    /// Stops the scripts of the page, takes one last look if the page then answers, and ends.
    private mutating func stopScripts(_ ending: PageOutcome.Ending, _ now: Duration) {
        guard !haveScriptsStopped, stage != .closing, stage != .over else { return }
        haveScriptsStopped = true
        isOutOfTime = true
        outcome.ending = ending
        commands.forgetAwaited()
        send("Page.stopLoading", session)
        send("Emulation.setScriptExecutionDisabled", session, ["value": true])
        send("Runtime.terminateExecution", session)
        // A page that has to be stopped also sends too many events.
        send("Network.disable", session)
        send("Runtime.disable", session)
        guard !steps.hasLooked else { return end(ending, now) }
        steps.keepOnlyLook()
        stage = .asking
        attempts = 0
        world = nil
        request(Command("Runtime.evaluate", session, ["expression": "0"]), .probe, until: now + stall)
    }

    /// The time that the page has to answer. After its scripts were stopped, it has longer: only a slow machine
    /// delays the reply then.
    private var stall: Duration { haveScriptsStopped ? max(visit.stall, Tab.Timeouts.probe) : visit.stall }

    // MARK: - Steps

    /// Starts the current step of the page; ends if there is none. Creates our isolated world first, if the
    /// document has none.
    private mutating func perform(_ now: Duration) {
        hasBegunSteps = true
        guard let step = steps.step else { return end(outcome.ending, now) }
        if case .script = step { return evaluate(step, inWorld: false, now) }
        if steps.isActing, !hasActed {
            hasActed = true
            record.areAfterActions = true
            commands.enqueue(.act)
        }
        guard world != nil else {
            let frame: JSONMembers = ["frameId": target ?? "", "worldName": "larder"]
            return request(
                Command("Page.createIsolatedWorld", session, frame), .world, until: now + stall)
        }
        if let session, step == .dark { send(TargetSetup.colours("dark", session)) }
        if let session, case .viewport(let number) = step {
            for command in TargetSetup.show(visit.viewports[number], session) { send(command) }
        }
        evaluate(step, inWorld: true, now)
    }

    private mutating func evaluate(_ step: PageSteps.Step, inWorld: Bool, _ now: Duration) {
        settleControlRoutes()
        stepTime = now
        record.areOfConsent = step == .consent || step == .consentToPurposes
        // The look waits for fonts to load.
        let further = step == .look && (visit.wantsPicture || visit.wantsPDF) ? Tab.Timeouts.picture : .zero
        var parameters: JSONMembers = [
            "expression": steps.expression(of: step), "awaitPromise": true, "returnByValue": true,
        ]
        if inWorld, let world { parameters = parameters + ["contextId": world] }
        request(Command("Runtime.evaluate", session, parameters), .step, until: now + stall + further)
    }

    /// Decides about the views that controls showed since the last step began.
    private mutating func settleControlRoutes() {
        let hasRefused = record.requests[requestCountOfStep...].contains { $0.isAfterAction && !$0.isSafe }
        steps.settleControlRoutes(hasRefused: hasRefused)
        requestCountOfStep = record.requests.count
    }

    private mutating func didRunStep(_ reply: Reply, _ now: Duration) {
        guard let step = steps.step else { return end(outcome.ending, now) }
        lastStep = step
        if case .script = step {
            if let details = reply["exceptionDetails"] {
                let text = details["exception"]?["description"]?.string ?? details["text"]?.string
                notices.note(.scriptError, text ?? "an exception")
            }
            return finishStep(now, quiet: visit.quiet)
        }
        guard let value = reply["result"], reply["exceptionDetails"] == nil else { return retry(now) }
        // Later messages are not in the text that was read.
        if step == .look {
            sockets.stop()
            record.areAfterText = true
        }
        let viewCount = steps.viewCount
        let next = steps.take(
            value["value"], of: step, into: &outcome, requestCount: record.differentCount,
            isOutOfTime: isOutOfTime)
        limit = limit.map { $0 + Tab.Timeouts.view * (steps.viewCount - viewCount) }
        switch next {
        case .again: wait(pause(after: step), now)
        case .againWhenQuiet: wait(visit.quiet, now)
        case .onward(let isAtOnce): finishStep(now, quiet: isAtOnce ? nil : shortPause)
        case .onwardWhenQuiet: finishStep(now, quiet: visit.quiet)
        case .picture: takePicture(of: value["value"], now)
        case .pdf: print(now)
        }
    }

    /// Takes a picture of the viewport or of the whole page. A whole page that is wider than its window is
    /// scaled down to the window's width.
    private mutating func takePicture(of look: JSONValue?, _ now: Duration) {
        var picture: JSONMembers = ["format": "png", "optimizeForSpeed": false]
        if visit.wantsWholePicture, let viewport = visit.viewports.first, let height = look?["height"]?.int,
            let width = look?["width"]?.int, (1...PageVisit.maxPictureHeight).contains(width)
        {
            let scale = Double(viewport.width) / Double(width)
            let maxHeight = Double(PageVisit.maxPictureHeight) / (viewport.scale * scale)
            let minHeight = Double(viewport.height) / scale
            let clip: JSONMembers = [
                "x": 0, "y": 0, "width": width, "height": Int(min(max(Double(height), minHeight), maxHeight)),
                "scale": scale,
            ]
            picture = picture + ["captureBeyondViewport": true, "clip": clip]
        }
        let command = Command("Page.captureScreenshot", session, picture)
        let patience = visit.wantsWholePicture ? Tab.Timeouts.wholePage : Tab.Timeouts.picture
        request(command, .picture, until: now + visit.stall + patience)
    }

    /// Prints the page to PDF, if wanted, with its background colours and its own paper size.
    private mutating func print(_ now: Duration) {
        guard visit.wantsPDF else { return finishStep(now) }
        let pdf: JSONMembers = ["printBackground": true, "preferCSSPageSize": true]
        request(
            Command("Page.printToPDF", session, pdf), .pdf, until: now + visit.stall + Tab.Timeouts.wholePage)
    }

    /// Repeats a step that failed because the document changed; gives the step up after two repetitions.
    private mutating func retry(_ now: Duration) {
        attempts += 1
        world = nil
        if attempts > 2 || haveScriptsStopped && attempts > 1 { return finishStep(now) }
        if isOutOfTime { perform(now) } else { wait(shortPause, now) }
    }

    /// Goes to the next step, at once or when the page has been quiet for the given time.
    private mutating func finishStep(_ now: Duration, quiet: Duration? = nil) {
        steps.finishStep()
        attempts = 0
        busyCount = 0
        guard let quiet, !isOutOfTime, steps.step != nil else { return perform(now) }
        wait(quiet, now)
    }

    // MARK: - The end

    /// Enters `closing`, with this ending. Does nothing if the page is already closing.
    private mutating func end(_ ending: PageOutcome.Ending, _ now: Duration) {
        guard stage != .closing, stage != .over else { return }
        outcome.ending = ending
        stage = .closing
        commands.forgetAwaited()
        guard context != nil else { return finish(now) }
        guard visit.wantsCookies, hasCommitted else { return dispose(now) }
        let command = Command("Storage.getCookies", nil, ["browserContextId": IfAny(context)])
        request(command, .cookies, until: now + Tab.Timeouts.disposal)
    }

    private mutating func dispose(_ now: Duration) {
        guard let context else { return finish(now) }
        // This closes the pages without running their `beforeunload` handlers.
        let command = Command("Target.disposeBrowserContext", nil, ["browserContextId": context])
        request(command, .disposal, until: now + Tab.Timeouts.disposal)
    }

    private mutating func didReadCookies(_ reply: Reply, _ now: Duration) {
        if let cookies = reply["cookies"]?.array { outcome.cookies = cookies.compactMap(BrowserCookie.init) }
        dispose(now)
    }

    /// Reports the outcome.
    private mutating func finish(_ now: Duration) {
        stage = .over
        commands.forgetAwaited()
        settleControlRoutes()
        outcome.requests = record.requests
        if !sockets.recording.isEmpty {
            outcome.sockets = sockets.recording
            notices.note(.messagesRecorded, outcome.address)
        }
        if sockets.recording.isTruncated { notices.note(.messagesTruncated, outcome.address) }
        if outcome.consent != nil { notices.note(.consent, outcome.consent ?? "") }
        if hasCommitted {
            notices.note(.view, outcome.address, count: steps.unshownCount)
            notices.note(.repeatedView, outcome.address, count: steps.repeatedCount)
        }
        outcome.notices = notices.notices
        outcome.laterRoutes = steps.laterRoutes
        outcome.elapsed = now - start
        commands.enqueue(.finish(outcome))
    }

    private mutating func request(_ command: Command, _ purpose: Purpose, until deadline: Duration) {
        commands.request(command, purpose, until: deadline)
    }

    private mutating func send(_ method: String, _ session: String? = nil, _ parameters: JSONMembers = [:]) {
        commands.send(Command(method, session, parameters))
    }

    private mutating func send(_ command: Command) { commands.send(command) }
}
