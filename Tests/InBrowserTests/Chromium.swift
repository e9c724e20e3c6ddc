import Browser
import Glibc
import Synchronization
import Web

/// A headless browser that can reach only loopback addresses.
///
///     let browser = try Chromium()
///     let page = try browser.open("http://example.com.localhost:8080/")
///     #expect(page.failures.isEmpty)
///     #expect(try page.text().contains("hello"))
///
/// Each opened page has a browser context of its own, so that pages share no cache, cookies or service workers. A browser
/// without its own host names, secure origins, proxy, authority or extension has no other state, and the next test uses
/// its process again.
final class Chromium {
    struct Viewport {
        var width = 1280
        var height = 800
    }

    /// The browser without windows if it is installed (it takes half the time), and otherwise the complete browser.
    static let executable = BrowserProgram.findInstalled()
    /// The complete browser, as users have it. Only this one can treat further origins as secure.
    fileprivate static let whole = BrowserProgram.findInstalled(forWindow: true)
    static var isInstalled: Bool { executable != nil }

    private let lease: ChromiumLease
    private var connection: ChromiumConnection { lease.connection }
    private let viewport: Viewport
    private let prefersDark: Bool

    /// - Parameters:
    ///   - names: A pattern of host names that resolve to loopback, such as `*.example`.
    ///   - secureOrigins: Origins that are treated as secure although they use http, for service workers and `Secure`
    ///     cookies.
    ///   - proxy: The port of a proxy for all requests, and the digest of the key of its certificate authority.
    ///   - keyDigest: The digest of the key of a certificate authority to trust.
    ///   - extensionFolder: The folder of an unpacked extension, which runs in pages of the first context.
    ///   - takesPictures: Whether screenshots are taken. Without them, each renderer draws on its main thread, and a small
    ///     page takes a fifth less processor time. With that, a screenshot may never end.
    init(
        viewport: Viewport = Viewport(), prefersDark: Bool = false, names: String? = nil,
        secureOrigins: [String] = [],
        proxy: (port: UInt16, keyDigest: String)? = nil, trusting keyDigest: String? = nil,
        extensionFolder: String? = nil, takesPictures: Bool = true
    ) throws(ChromiumError) {
        self.viewport = viewport
        self.prefersDark = prefersDark
        var arguments = [
            "--headless=new", "--remote-debugging-pipe", "--window-size=1280,800",
            // Names other than loopback do not resolve, and proxies from the environment are not used.
            "--host-resolver-rules=\(names.map { "MAP \($0) 127.0.0.1 , " } ?? "")MAP * ~NOTFOUND"
                + " , EXCLUDE localhost, EXCLUDE *.localhost, EXCLUDE 127.0.0.1, EXCLUDE [::1]",
            // Sites share processes, because processes take long to start. This does not change what a page is allowed to
            // do.
            "--disable-site-isolation-trials", "--renderer-process-limit=2",
            // Turns off what a new browser does by itself.
            "--no-first-run", "--no-default-browser-check", "--disable-background-networking",
            "--disable-component-update",
            "--disable-default-apps", "--disable-sync",
            "--disable-domain-reliability",
            "--disable-breakpad", "--disable-crash-reporter", "--metrics-recording-only",
            "--password-store=basic",
            "--disable-features=MediaRouter,OptimizationHints,Translate,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,"
                // Processes that Chromium starts in advance. The complete browser starts one for the lists below the
                // address bar of each window.
                + "SpareRendererForSitePerProcess,PreloadTopChromeWebUI,WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup"
                // Without this, extensions can only be loaded by hand.
                + (extensionFolder == nil ? "" : ",DisableLoadExtensionCommandLineSwitch"),
            extensionFolder.map { "--load-extension=\($0)" } ?? "--disable-extensions",
            // Screenshots of the same page are identical. Without the second line, they may lack images that are not decoded yet.
            "--hide-scrollbars", "--mute-audio", "--disable-gpu", "--force-color-profile=srgb",
            "--disable-checker-imaging",
            "--font-render-hinting=none",
            "--force-device-scale-factor=1", "--lang=en-US", "--disable-dev-shm-usage",
        ]
        if let proxy {
            arguments += [
                "--proxy-server=http://127.0.0.1:\(proxy.port)", "--proxy-bypass-list=<-loopback>",
                "--ignore-certificate-errors-spki-list=\(proxy.keyDigest)", "--disable-quic",
            ]
        } else {
            arguments.append("--no-proxy-server")
        }
        if let keyDigest { arguments.append("--ignore-certificate-errors-spki-list=\(keyDigest)") }
        if !secureOrigins.isEmpty {
            let origins = secureOrigins.joined(separator: ",")
            arguments.append("--unsafely-treat-insecure-origin-as-secure=\(origins)")
        }
        if !takesPictures { arguments.append("--disable-threaded-compositing") }
        if getuid() == 0 { arguments.append("--no-sandbox") }
        let isPlain =
            names == nil && secureOrigins.isEmpty && proxy == nil && keyDigest == nil
            && extensionFolder == nil
        lease = try ChromiumLease(
            secureOrigins.isEmpty && extensionFolder == nil ? Self.executable : Self.whole,
            arguments + ["about:blank"],
            isShared: isPlain)
    }

    /// Opens a page in a new tab. Waits until it has loaded and then made no requests for some time, or until the limit.
    /// Requests without a response then count as failures.
    ///
    /// - Parameters:
    ///   - quiet: The required time without requests; nil waits only until the page has loaded.
    ///   - hasOwnContext: Whether the tab has a context of its own. False opens it in the browser's first context, which
    ///     is not a private window: Chromium's preconnections, for example, only work there.
    func open(
        _ url: String, within limit: Duration = .seconds(120), quiet: Duration? = ChromiumVisit.quiet,
        hasOwnContext: Bool = true
    ) throws(ChromiumError) -> ChromiumVisit {
        let context = hasOwnContext ? try newContext() : nil
        let target = try connection.call("Target.createTarget") {
            $0.member("url", "about:blank")
            $0.memberIfPresent("browserContextId", context)
            // The first window of a context already has the right size.
            if !hasOwnContext { $0.member("newWindow", true) }
            $0.member("width", viewport.width)
            $0.member("height", viewport.height)
        }
        guard let target = target["targetId"]?.string else {
            throw ChromiumError("making a tab", "it has no name")
        }
        let session = try connection.call("Target.attachToTarget") {
            $0.member("targetId", target)
            $0.member("flatten", true)
        }
        guard let session = session["sessionId"]?.string else {
            throw ChromiumError("attaching to a tab", "it has no name")
        }
        let visit = ChromiumVisit(lease, context: context, target: target, session: session)
        try visit.prepare(viewport, prefersDark: prefersDark)
        try visit.navigate(to: url, within: limit, quiet: quiet)
        return visit
    }

    /// Waits for the service worker of an extension, and evaluates an expression in it.
    func evaluateInExtension(_ expression: String) throws(ChromiumError) -> JSONValue? {
        // The worker starts when the extension is loaded, and may be suspended later.
        var worker: String?
        let end = ContinuousClock.now + .seconds(120)
        while worker == nil {
            guard ContinuousClock.now < end else {
                throw ChromiumError("waiting for an extension", "it has no worker")
            }
            let targets = try connection.call("Target.getTargets") { _ in }["targetInfos"]?.array ?? []
            worker =
                targets.first {
                    $0["type"]?.string == "service_worker"
                        && $0["url"]?.string?.hasPrefix("chrome-extension://") == true
                        && $0["url"]?.string?.hasSuffix("/background.js") == true
                }?["targetId"]?.string
            if worker == nil { try connection.receive(within: .milliseconds(200)) }
        }
        let session = try connection.call("Target.attachToTarget") {
            $0.member("targetId", worker ?? "")
            $0.member("flatten", true)
        }["sessionId"]?.string
        let answer = try connection.call("Runtime.evaluate", session: session) {
            $0.member("expression", expression)
            $0.member("awaitPromise", true)
            $0.member("returnByValue", true)
        }
        if let exception = answer["exceptionDetails"] {
            throw ChromiumError(
                "evaluating \(expression)", exception["exception"]?["description"]?.string ?? "it threw")
        }
        return answer["result"]?["value"]
    }

    private func newContext() throws(ChromiumError) -> String {
        let context = try connection.call("Target.createBrowserContext") {
            $0.member("disposeOnDetach", true)
        }
        guard let context = context["browserContextId"]?.string else {
            throw ChromiumError("making a browser context", "it has no name")
        }
        return context
    }
}

/// The use of a browser process by one test: by a `Chromium` and the pages that it opened.
final class ChromiumLease {
    let connection: ChromiumConnection
    private let arguments: [String]
    private let isShared: Bool

    /// A running browser process that no test uses.
    private struct Idle: @unchecked Sendable {
        let arguments: [String]
        // The connection has one owner at a time: the list, and then the test that takes it out of the list.
        let connection: ChromiumConnection
    }

    private static let idle = Mutex<[Idle]>([])
    /// Ends the idle browser processes when the test process exits.
    private static let ending: Void = { _ = atexit { ChromiumLease.idle.withLock { $0 = [] } } }()

    /// - Parameter isShared: Whether to take an idle process with the same arguments, and to return it for the next test.
    init(_ executable: String?, _ arguments: [String], isShared: Bool) throws(ChromiumError) {
        self.arguments = arguments
        self.isShared = isShared
        let taken = Self.idle.withLock { idle in
            idle.firstIndex { isShared && $0.arguments == arguments }.map { idle.remove(at: $0) }
        }
        if let taken, (try? taken.connection.call("Browser.getVersion", within: .seconds(60))) != nil {
            connection = taken.connection
            return
        }
        connection = ChromiumConnection(try Self.start(executable, arguments))
        try connection.call("Browser.getVersion")
    }

    private static func start(_ executable: String?, _ arguments: [String]) throws(ChromiumError)
        -> BrowserProcess
    {
        guard let executable else {
            throw ChromiumError("starting chromium", "it is not installed; scripts/test installs it")
        }
        do throws(BrowserError) {
            // A fresh context is a private window. By default, it would block the cookies of frames and requests of other
            // sites.
            let preferences = #"{"profile":{"cookie_controls_mode":0}}"#
            return try BrowserProcess(executable, preferences: preferences) {
                ["--user-data-dir=\($0)"] + arguments
            }
        } catch {
            throw ChromiumError(error.doing, error.why)
        }
    }

    deinit {
        guard isShared else { return }
        _ = Self.ending
        connection.onEvent = { _, _, _ in }
        let idle = Idle(arguments: arguments, connection: connection)
        Self.idle.withLock { $0.append(idle) }
    }
}
