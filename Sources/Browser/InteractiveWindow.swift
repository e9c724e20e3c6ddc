internal import Web

/// A browser window in which the user acts, for example to log in. It is a value, driven like ``PageInspection``.
///
/// Dialogs, downloads and windows are left to the person. The window is `starting` until its navigation has
/// succeeded, then `open`, until the person closes it or the time limit passes. In `closing`, the cookies of
/// the browser's own profile are read once more; in `over`, the outcome was reported.
struct InteractiveWindow: Sendable {
    /// The purpose of a command whose reply is awaited.
    private enum Purpose: Sendable { case context, target, setUp, navigation, cookies }

    /// The stages, described above.
    private enum Stage: Sendable { case starting, open, closing, over }

    private let visit: PageVisit
    private var commands = CommandQueue<Purpose>()
    private var stage = Stage.starting
    private let start: Duration
    private var limit: Duration?

    // Identifiers that the browser assigned.
    private var context: String?
    private var target: String?
    private var session: String?
    private var sessions: Set<String> = []

    /// When the cookies were last requested.
    private var cookieTime: Duration?
    private var outcome: PageOutcome

    init(_ visit: PageVisit, now: Duration) {
        self.visit = visit
        start = now
        outcome = PageOutcome(ending: .complete, address: visit.url)
        commands.request(Command("Target.getBrowserContexts"), .context, until: now + Tab.Timeouts.browser)
    }

    mutating func takeActions() -> [Tab.Action] { commands.takeActions() }

    var isOver: Bool { stage == .over }

    mutating func didReceive(_ reply: Reply, to number: Int, now: Duration) {
        guard let purpose = commands.take(number) else { return }
        switch purpose {
        case .context: didCreateContext(reply, now)
        case .target: if case .refusal = reply { end(.failed(reply.tabError), now) }
        case .setUp:
            limit = now + visit.limit
            commands.request(
                Command("Page.navigate", session, ["url": visit.url]), .navigation,
                until: now + visit.limit + Tab.Timeouts.browser)
        case .navigation: didReplyToNavigation(reply, now)
        case .cookies:
            if let cookies = reply["cookies"]?.array {
                outcome.cookies = cookies.compactMap(BrowserCookie.init)
            }
            if stage == .closing { finish(now) }
        }
    }

    mutating func didReceive(_ event: Event, now: Duration) {
        guard stage != .closing, stage != .over else { return }
        switch event.method {
        case "Target.attachedToTarget": didAttachTarget(event, now)
        case "Target.detachedFromTarget":
            guard let name = event["sessionId"]?.string, sessions.remove(name) != nil else { return }
            commands.enqueue(.disownSession(name))
            if name == session { end(.complete, now) }
        case "Page.frameNavigated":
            guard event.session == session, let frame = event["frame"], frame["parentId"] == nil,
                let url = frame["url"]?.string, url != "about:blank", !url.hasPrefix("chrome-error:")
            else { return }
            outcome.address = url + (frame["urlFragment"]?.string ?? "")
        case "Page.navigatedWithinDocument":
            guard event["frameId"]?.string == target, let url = event["url"]?.string else { return }
            outcome.address = url
        case "Inspector.targetCrashed":
            if event.session == session { end(.crashed, now) }
        default: return
        }
    }

    var deadline: Duration? {
        if stage == .over { return nil }
        return [commands.deadline, stage == .closing ? nil : limit, nextCookieTime].lazy.compactMap { $0 }
            .min()
    }

    mutating func tick(now: Duration) {
        while let purpose = commands.takeOverdue(now) {
            switch purpose {
            case .context, .target: commands.enqueue(.giveUp("it does not open a tab"))
            case .setUp: end(.failed("its tab did not start"), now)
            case .navigation: end(.outOfTime, now)
            case .cookies: if stage == .closing { finish(now) }
            }
        }
        if let limit, limit <= now { end(.outOfTime, now) }
        if let nextCookieTime, nextCookieTime <= now { askForCookies(now) }
    }

    /// Ends because the browser has ended or is being closed. This is a normal end once the page is open,
    /// because closing the last window ends the browser.
    mutating func browserDidEnd(_ why: String, now: Duration) {
        if stage == .over { return }
        if stage == .starting { outcome.ending = .failed(why) }
        finish(now)
    }

    private mutating func didCreateContext(_ reply: Reply, _ now: Duration) {
        guard let context = reply["defaultBrowserContextId"]?.string else {
            return end(.failed(reply.tabError), now)
        }
        self.context = context
        commands.enqueue(.ownContext(context))
        commands.request(
            TargetSetup.target(in: context, for: visit), .target, until: now + Tab.Timeouts.browser)
    }

    private mutating func didAttachTarget(_ event: Event, _ now: Duration) {
        guard let name = event["sessionId"]?.string, let info = event["targetInfo"],
            let target = info["targetId"]?.string
        else { return }
        let type = info["type"]?.string ?? ""
        if event.session == nil, type == "page" {
            // A login may need a second window.
            guard self.target == nil else {
                return commands.send(Command("Runtime.runIfWaitingForDebugger", name))
            }
            (self.target, session) = (target, name)
            addOwn(name)
            for command in TargetSetup.page(name, for: visit) { commands.send(command) }
            commands.request(
                Command("Runtime.runIfWaitingForDebugger", name), .setUp, until: now + Tab.Timeouts.browser)
        } else if type != "browser_ui" {
            addOwn(name)
            for command in TargetSetup.child(name, type, for: visit) { commands.send(command) }
        }
    }

    private mutating func addOwn(_ session: String) {
        sessions.insert(session)
        commands.enqueue(.ownSession(session))
    }

    private mutating func didReplyToNavigation(_ reply: Reply, _ now: Duration) {
        if case .refusal(let why) = reply { return end(.failed(why), now) }
        if reply["isDownload"]?.bool == true { return end(.download, now) }
        if let why = reply["errorText"]?.string { return end(.failed(why), now) }
        if stage == .starting { stage = .open }
    }

    private var nextCookieTime: Duration? {
        guard stage == .open, !commands.isAwaiting({ $0 == .cookies }) else { return nil }
        return cookieTime.map { $0 + Tab.Timeouts.cookies } ?? .zero
    }

    private mutating func askForCookies(_ now: Duration) {
        cookieTime = now
        let command = Command("Storage.getCookies", nil, ["browserContextId": IfAny(context)])
        commands.request(command, .cookies, until: now + Tab.Timeouts.disposal)
    }

    private mutating func end(_ ending: PageOutcome.Ending, _ now: Duration) {
        guard stage != .closing, stage != .over else { return }
        outcome.ending = ending
        stage = .closing
        commands.forgetAwaited()
        guard context != nil else { return finish(now) }
        askForCookies(now)
    }

    private mutating func finish(_ now: Duration) {
        stage = .over
        commands.forgetAwaited()
        outcome.elapsed = now - start
        commands.enqueue(.finish(outcome))
    }
}
