import Web

/// One page in one tab: its requests, its text and its appearance. The tab is closed when this object is freed.
///
/// A browser process records the requests of one tab only: opening the next one ends the record of the one before.
final class ChromiumVisit {
    /// The time without requests after which a page counts as finished.
    static let quiet = Duration.milliseconds(300)

    /// All requests in the order in which they were made. A redirect adds a request.
    private(set) var requests: [ChromiumRequest] = []
    /// The texts of uncaught exceptions and of `console.error`.
    private(set) var scriptErrors: [String] = []

    private let lease: ChromiumLease
    private var connection: ChromiumConnection { lease.connection }
    private let context: String?
    private let target: String
    private let session: String
    /// The sessions of the page and of its frames and workers in other processes.
    private var sessions: Set<String>
    /// The index of the latest request for each request ID. Another session may report the end of a frame's request than
    /// reported its start.
    private var places: [String: Int] = [:]
    /// The statuses of requests whose bodies are still being received, by index.
    private var answered: [Int: Int] = [:]
    /// The loader ID of the document that made each request, by index.
    private var loaders: [Int: String] = [:]
    /// The indices of pending requests of pages that the tab has left. Chromium does not report the end of all of them.
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
        // A failure is ignored, because the tab is closed with the browser at the latest.
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

    /// Shows the page with another viewport and colour scheme.
    func show(in viewport: Chromium.Viewport, prefersDark: Bool) throws(ChromiumError) {
        try set(viewport, prefersDark: prefersDark)
        // The size changes with the next frame. Polls, because a page whose scripts are disabled gets no event.
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

    /// Disables scripts from the next page load on.
    func disableScripts() throws(ChromiumError) {
        try connection.call("Emulation.setScriptExecutionDisabled", session: session) {
            $0.member("value", true)
        }
    }

    /// Makes the browser believe that the machine has no network. Further requests of the page fail.
    func goOffline() throws(ChromiumError) {
        try connection.call("Network.emulateNetworkConditions", session: session) {
            $0.member("offline", true)
            for name in ["latency", "downloadThroughput", "uploadThroughput"] { $0.member(name, -1) }
        }
    }

    /// Navigates the same tab to another URL. Its requests are added to the record.
    func navigate(
        to url: String, within limit: Duration = .seconds(120), quiet: Duration? = ChromiumVisit.quiet
    ) throws(ChromiumError) {
        let answer = try connection.call("Page.navigate", session: session) { $0.member("url", url) }
        // A refused connection is recorded as a failed request; an invalid URL is not.
        if let why = answer["errorText"]?.string, requests.isEmpty {
            throw ChromiumError("opening \(url)", why)
        }
        awaitedLoad = answer["errorText"] == nil ? answer["loaderId"]?.string : nil
        try settle(within: limit, quiet: quiet)
    }

    /// Waits until the page has loaded and then made no requests for the time `quiet`. Returns false if this did not
    /// happen within the limit.
    @discardableResult
    func settle(
        within limit: Duration = .seconds(120), quiet: Duration? = ChromiumVisit.quiet
    ) throws(ChromiumError) -> Bool {
        let deadline = ContinuousClock.now + limit
        // The requests that a click causes start a moment after it.
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

    // MARK: - Requests

    /// The requests without a response, with an error, or with a status of at least 400, except the request for an
    /// undeclared icon.
    var failures: [ChromiumRequest] { requests.filter(\.isFailure) }

    /// The requests to other machines. The browser cannot reach these.
    var escapes: [ChromiumRequest] { requests.filter { !$0.isLocal } }

    func requests(ofType type: String) -> [ChromiumRequest] { requests.filter { $0.type == type } }

    // MARK: - Content

    /// Returns the value of an expression. If it is a promise, waits for its result. Undefined becomes null.
    ///
    /// - Parameter asUser: Whether the script runs as if the user had just clicked, which allows it to open windows.
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

    /// Returns the visible text of the page.
    func text() throws(ChromiumError) -> String {
        try evaluate("document.body.innerText")?.string ?? ""
    }

    /// Returns the URL that the tab shows.
    func address() throws(ChromiumError) -> String {
        try evaluate("location.href")?.string ?? ""
    }

    /// Returns a PNG of the viewport.
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

    /// Returns the page as the browser saves it, as MHTML.
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

    /// Turns on the events of a session, and of the frames and workers that it starts.
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
            // If a page redirects before it has loaded, its load event never arrives.
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
            // data: and blob: URLs are not requested from a server.
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
            // Chromium reports a module with the status 404 as aborted; the status is more precise.
            if let status = answered[place], status >= 400 {
                requests[place].outcome = .status(status)
            } else {
                requests[place].outcome = .failed(parameters?["errorText"]?.string ?? "failed")
            }
        }
    }
}
