import Web

/// One page in one tab: what it asked for, and what it looks like. Its tab is closed with it.
///
/// A browser shows one visit at a time: opening the next one ends the record of the one before.
final class ChromiumVisit {
    /// How long a page asks for nothing when it has come to rest.
    static let quiet = Duration.milliseconds(300)

    /// In the order in which they were made; redirects are requests of their own.
    private(set) var requests: [ChromiumRequest] = []
    /// Uncaught exceptions and what was written by `console.error`, as text.
    private(set) var scriptErrors: [String] = []

    private let lease: ChromiumLease
    private var connection: ChromiumConnection { lease.connection }
    private let context: String?
    private let target: String
    private let session: String
    /// The page's own session and those of its frames and workers in other processes.
    private var sessions: Set<String>
    /// Where the latest request of an identifier stands; a frame's request may end in another session than it
    /// began in.
    private var places: [String: Int] = [:]
    /// Statuses of requests whose bodies are still on their way.
    private var answered: [Int: Int] = [:]
    /// The document that made each request, by the number of its load.
    private var loaders: [Int: String] = [:]
    /// Pending requests of pages that the tab has left. Chromium does not report the end of all of them.
    private var abandoned: Set<Int> = []
    private var loaded: Set<String> = []
    private var awaitedLoad: String?
    private var lastActivity = ContinuousClock.now
    private var setUpError: ChromiumError?

    init(_ lease: ChromiumLease, context: String?, target: String, session: String) {
        self.lease = lease
        self.context = context
        self.target = target
        self.session = session
        sessions = [session]
        lease.connection.onEvent = { [weak self] method, parameters, session in
            guard let self, let session, self.sessions.contains(session) else { return }
            self.take(method, parameters)
        }
    }

    deinit {
        // Nobody is left to hear of a failure, and the tab ends with the browser at the latest.
        if let context {
            _ = try? connection.post("Target.disposeBrowserContext") {
                $0.member("browserContextId", context)
            }
        } else {
            _ = try? connection.post("Target.closeTarget") { $0.member("targetId", target) }
        }
    }

    func prepare(_ viewport: Chromium.Viewport, prefersDark: Bool) throws(ChromiumError) {
        try enable(session)
        try connection.call("Page.enable", session: session)
        try connection.call("Page.setLifecycleEventsEnabled", session: session) { $0.member("enabled", true) }
        try set(viewport, prefersDark: prefersDark)
    }

    /// Shows the page in another window, or to who prefers other colours.
    func show(in viewport: Chromium.Viewport, prefersDark: Bool) throws(ChromiumError) {
        try set(viewport, prefersDark: prefersDark)
        // It comes with the next picture, of which no script is told where none may run.
        let deadline = ContinuousClock.now + .seconds(120)
        while try evaluate("innerWidth")?.int != viewport.width {
            guard ContinuousClock.now < deadline else {
                throw ChromiumError("making the window \(viewport.width) wide", "it stays as it was")
            }
        }
    }

    private func set(_ viewport: Chromium.Viewport, prefersDark: Bool) throws(ChromiumError) {
        try connection.call("Emulation.setDeviceMetricsOverride", session: session) {
            $0.member("width", viewport.width)
            $0.member("height", viewport.height)
            $0.member("deviceScaleFactor", 1)
            $0.member("mobile", false)
        }
        try connection.call("Emulation.setEmulatedMedia", session: session) {
            $0.member("features") {
                $0.array {
                    $0.object {
                        $0.member("name", "prefers-color-scheme")
                        $0.member("value", prefersDark ? "dark" : "light")
                    }
                    $0.object {
                        $0.member("name", "prefers-reduced-motion")
                        $0.member("value", "reduce")
                    }
                }
            }
        }
    }

    /// Has no script of a page run from its next load on.
    func disableScripts() throws(ChromiumError) {
        try connection.call("Emulation.setScriptExecutionDisabled", session: session) {
            $0.member("value", true)
        }
    }

    /// Goes to another address in the same tab; the record of requests goes on.
    func navigate(
        to url: String, within limit: Duration = .seconds(120), quiet: Duration? = ChromiumVisit.quiet
    ) throws(ChromiumError) {
        let answer = try connection.call("Page.navigate", session: session) { $0.member("url", url) }
        // A refused connection, say, stands in the record as a failed request; an address that is none does
        // not.
        if let why = answer["errorText"]?.string, requests.isEmpty {
            throw ChromiumError("opening \(url)", why)
        }
        awaitedLoad = answer["errorText"] == nil ? answer["loaderId"]?.string : nil
        try settle(within: limit, quiet: quiet)
    }

    /// Waits until the page has loaded and has asked for nothing for a while, where `quiet` says how long;
    /// false when it did not come to that.
    @discardableResult
    func settle(
        within limit: Duration = .seconds(120), quiet: Duration? = ChromiumVisit.quiet
    ) throws(ChromiumError) -> Bool {
        let deadline = ContinuousClock.now + limit
        // What a click starts comes a moment after it.
        lastActivity = .now
        while ContinuousClock.now < deadline {
            if let setUpError { throw setUpError }
            let hasLoaded = awaitedLoad.map { loaded.contains($0) } ?? true
            let isBusy = !hasLoaded || quiet != nil && isWaiting
            let wait = isBusy ? deadline - .now : lastActivity + (quiet ?? .zero) - .now
            if wait <= .zero { return true }
            try connection.receive(within: wait)
        }
        return false
    }

    private var isWaiting: Bool {
        requests.enumerated().contains { $1.outcome == .pending && !abandoned.contains($0) }
    }

    // MARK: - What it asked for

    /// Requests without an answer, with a failure, or with a status of 400 and more; but for the icon that no
    /// page named.
    var failures: [ChromiumRequest] { requests.filter(\.isFailure) }

    /// Requests to anything but loopback. None of them got through.
    var escapes: [ChromiumRequest] { requests.filter { !$0.isLocal } }

    func requests(ofType type: String) -> [ChromiumRequest] { requests.filter { $0.type == type } }

    // MARK: - What it is

    /// The value of an expression, awaited when it is a promise; undefined is null.
    ///
    /// - Parameter asUser: as if a person had just clicked, which is what opens windows.
    func evaluate(
        _ expression: String, within limit: Duration = .seconds(120), asUser: Bool = false
    ) throws(ChromiumError) -> JSONValue? {
        let answer = try connection.call("Runtime.evaluate", session: session, within: limit) {
            $0.member("expression", expression)
            $0.member("awaitPromise", true)
            $0.member("returnByValue", true)
            $0.member("userGesture", asUser)
        }
        if let exception = answer["exceptionDetails"] {
            let why = exception["exception"]?["description"]?.string ?? exception["text"]?.string
            throw ChromiumError("evaluating \(expression)", why ?? "it threw")
        }
        return answer["result"]?["value"]
    }

    /// The text of the page as a person reads it.
    func text() throws(ChromiumError) -> String {
        try evaluate("document.body.innerText")?.string ?? ""
    }

    /// The address that the tab shows.
    func address() throws(ChromiumError) -> String {
        try evaluate("location.href")?.string ?? ""
    }

    /// What the viewport shows, as a PNG.
    func screenshot() throws(ChromiumError) -> [UInt8] {
        _ = try evaluate("document.fonts.ready.then(() => true)")
        let answer = try connection.call("Page.captureScreenshot", session: session) {
            $0.member("format", "png")
        }
        guard let data = answer["data"]?.string, let picture = Base64.decode(data) else {
            throw ChromiumError("taking a picture", "the answer holds none")
        }
        return picture
    }

    /// The page as the browser saves it: MHTML.
    func snapshot() throws(ChromiumError) -> String {
        let answer = try connection.call("Page.captureSnapshot", session: session) {
            $0.member("format", "mhtml")
        }
        guard let data = answer["data"]?.string else {
            throw ChromiumError("saving the page", "the answer holds none")
        }
        return data
    }

    // MARK: - Events

    /// Has a session tell of its requests, and those of the frames and workers below it.
    private func enable(_ session: String) throws(ChromiumError) {
        try connection.post("Network.enable", session: session)
        try connection.post("Runtime.enable", session: session)
        try connection.post("Target.setAutoAttach", session: session) {
            $0.member("autoAttach", true)
            $0.member("waitForDebuggerOnStart", true)
            $0.member("flatten", true)
        }
    }

    private func take(_ method: String, _ parameters: JSONValue?) {
        switch method {
        case "Target.attachedToTarget":
            guard let child = parameters?["sessionId"]?.string else { return }
            sessions.insert(child)
            do throws(ChromiumError) {
                try enable(child)
                try connection.post("Runtime.runIfWaitingForDebugger", session: child)
            } catch {
                setUpError = error
            }
        case "Page.frameNavigated":
            guard let frame = parameters?["frame"], frame["parentId"] == nil,
                let loader = frame["loaderId"]?.string
            else { return }
            abandoned.formUnion(loaders.filter { $0.value != loader }.keys)
            // A page may lead on before it has loaded, and then never does.
            if awaitedLoad != nil { awaitedLoad = loader }
        case "Page.lifecycleEvent":
            guard parameters?["name"]?.string == "load", let loader = parameters?["loaderId"]?.string else {
                return
            }
            loaded.insert(loader)
        case "Runtime.exceptionThrown":
            let details = parameters?["exceptionDetails"]
            let text = details?["exception"]?["description"]?.string ?? details?["text"]?.string
            scriptErrors.append(text ?? "an exception")
        case "Runtime.consoleAPICalled":
            guard parameters?["type"]?.string == "error" else { return }
            let words = parameters?["args"]?.array?.map {
                $0["value"]?.string ?? $0["description"]?.string ?? ""
            }
            scriptErrors.append(words?.joined(separator: " ") ?? "")
        case "Network.requestWillBeSent", "Network.responseReceived", "Network.loadingFinished",
            "Network.loadingFailed":
            lastActivity = .now
            takeNetwork(method, parameters)
        default:
            return
        }
    }

    private func takeNetwork(_ method: String, _ parameters: JSONValue?) {
        guard let key = parameters?["requestId"]?.string else { return }
        switch method {
        case "Network.requestWillBeSent":
            guard let request = parameters?["request"], let url = request["url"]?.string else { return }
            if let place = places[key], let status = parameters?["redirectResponse"]?["status"]?.int {
                requests[place].outcome = .status(status)
            }
            // data: and blob: are no requests to anybody.
            guard ["http:", "https:", "ws:", "wss:", "ftp:", "file:"].contains(where: url.hasPrefix) else {
                return
            }
            places[key] = requests.count
            // Requests of workers belong to no document.
            if let loader = parameters?["loaderId"]?.string, !loader.isEmpty {
                loaders[requests.count] = loader
            }
            requests.append(
                ChromiumRequest(
                    url: url, method: request["method"]?.string ?? "",
                    type: parameters?["type"]?.string ?? "Other"))
        case "Network.responseReceived":
            guard let place = places[key], let status = parameters?["response"]?["status"]?.int else {
                return
            }
            answered[place] = status
        case "Network.loadingFinished":
            guard let place = places[key] else { return }
            requests[place].outcome = .status(answered[place] ?? 200)
        default:
            guard let place = places[key] else { return }
            // A module that is answered by 404 ends as aborted; the status says more.
            if let status = answered[place], status >= 400 {
                requests[place].outcome = .status(status)
            } else {
                requests[place].outcome = .failed(parameters?["errorText"]?.string ?? "failed")
            }
        }
    }
}
