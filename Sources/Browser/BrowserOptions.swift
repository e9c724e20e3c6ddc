internal import Glibc
internal import System

/// An error of the browser. The description is `doing: why`.
package struct BrowserError: Error, Sendable, CustomStringConvertible {
    /// The action that failed, such as "opening https://example.com/".
    package let doing: String
    /// The reason, such as the end of the browser's log.
    package let why: String

    package init(doing: String, why: String) {
        self.doing = doing
        self.why = why
    }

    init(_ error: SystemError, doing: String) {
        self.init(doing: doing, why: error.description)
    }

    package var description: String { "\(doing): \(why)" }
}

/// Finds the executable of an installed Chromium or Chrome.
package enum BrowserProgram {
    /// Returns the value of the environment variable LARDER_CHROMIUM; if it is not set, the result of
    /// ``findInstalled(forWindow:)``. Nil if there is no browser, or if the variable is empty, which means: use no
    /// browser. The named file may be missing.
    ///
    /// - Parameter forWindow: whether the browser must be able to open a window.
    package static func find(forWindow: Bool = false) -> String? {
        if let named = getenv("LARDER_CHROMIUM").map({ String(cString: $0) }) {
            return named.isEmpty ? nil : named
        }
        return findInstalled(forWindow: forWindow)
    }

    /// Returns the first browser on the PATH or in /usr/bin, by its known names. Ignores LARDER_CHROMIUM.
    ///
    /// Without a window, an installed headless shell is preferred. The full browser creates a window with all
    /// its menus for each context, and renders half as many pages in the same time.
    ///
    /// - Parameter forWindow: whether the browser must be able to open a window.
    package static func findInstalled(forWindow: Bool = false) -> String? {
        let path = getenv("PATH").map { String(cString: $0) } ?? ""
        let folders = path.split(separator: ":").map(String.init) + ["/usr/bin"]
        for name in forWindow ? browserNames : headlessShellNames + browserNames {
            for folder in folders where access("\(folder)/\(name)", X_OK) == 0 { return "\(folder)/\(name)" }
        }
        return nil
    }

    private static let headlessShellNames = [
        "chrome-headless-shell", "chromium-headless-shell", "headless-shell", "headless_shell",
    ]
    private static let browserNames = [
        "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
    ]
}

/// The options with which a browser is started.
///
/// By default, only the proxy of each page reaches the network: host names do not resolve, pages without a
/// proxy get one that refuses connections, and the browser's own background requests are off.
package struct BrowserOptions: Sendable {
    package var executable: String
    /// The Base64 SHA-256 digests of public keys, such as that of Larder's certificate authority. The browser trusts
    /// every certificate chain that contains one of these keys.
    package var keyDigests: [String] = []
    /// False if the browser opens a window, in which a person logs in to a site.
    package var isHeadless = true
    package var networkAccess = NetworkAccess.loopback
    /// The path of a permanent profile folder; nil for a temporary one, which is removed when the browser ends.
    package var profile: String?
    /// The parent of the browser's temporary folder; nil for TMPDIR.
    package var scratch: String?
    /// The maximum size of the JavaScript heap of each page's process, in megabytes. A page that needs more crashes.
    /// Without this limit, one page could use all memory of the machine.
    var maxScriptMegabytes = 512
    /// The increment of the browser's niceness, as for `nice`(1). A higher one gives it less processor time.
    package var niceness: Int32 = 0
    /// Additional arguments, for benchmarks. They come last, so that they override others of the same name.
    package var extraArguments: [String] = []

    /// The servers that a page without its own proxy can reach. Pages with one send all requests to it.
    package enum NetworkAccess: Sendable {
        /// Only this machine.
        case loopback
        /// All servers, as in a person's own browser.
        ///
        /// - Parameters:
        ///   - proxy: such as `http://…` or `socks5://…`; nil for the proxy of the environment.
        ///   - hosts: rules for the addresses of hosts, such as `MAP example.com:443 127.0.0.1:8443`.
        ///   - isInsecure: whether to accept any certificate.
        case network(proxy: String?, hosts: [String], isInsecure: Bool)

        fileprivate var arguments: [String] {
            switch self {
            case .loopback:
                // Only loopback names resolve, and nothing listens on port 9 ("discard"). By default,
                // Chromium does not use a proxy for loopback, so pages without their own proxy can reach it.
                return [
                    "--host-resolver-rules=MAP * ~NOTFOUND"
                        + " , EXCLUDE localhost, EXCLUDE *.localhost, EXCLUDE 127.0.0.1, EXCLUDE [::1]",
                    "--proxy-server=http://127.0.0.1:9",
                ]
            case .network(let proxy, let hosts, let isInsecure):
                return (proxy.map { ["--proxy-server=\($0)"] } ?? [])
                    + (hosts.isEmpty ? [] : ["--host-resolver-rules=" + hosts.joined(separator: ", ")])
                    + (isInsecure ? ["--ignore-certificate-errors"] : [])
            }
        }
    }

    package init(executable: String) {
        self.executable = executable
    }

    /// Returns the command line arguments.
    ///
    /// - Parameters:
    ///   - profile: the path of the profile folder, also if it is a temporary one.
    ///   - isSandboxed: false where the system does not allow Chromium's sandbox, such as in many containers.
    func arguments(profile: String, isSandboxed: Bool) -> [String] {
        var arguments = Self.commonArguments
        arguments.append("--user-data-dir=\(profile)")
        arguments.append("--disable-features=" + Self.disabledFeatures.joined(separator: ","))
        arguments.append("--js-flags=--max-old-space-size=\(maxScriptMegabytes)")
        arguments += networkAccess.arguments
        if isHeadless { arguments += Self.headlessArguments }
        if !isSandboxed { arguments.append("--no-sandbox") }
        if !keyDigests.isEmpty {
            let digests = keyDigests.joined(separator: ",")
            arguments.append("--ignore-certificate-errors-spki-list=\(digests)")
        }
        if !Self.hasEnoughSharedMemory { arguments.append("--disable-dev-shm-usage") }
        return arguments + extraArguments
    }

    /// Whether /dev/shm is writable and has 1 GB left for the pages' images. Containers often have only 64 MB, with
    /// which pages crash; the browser then uses files in its temporary folder.
    private static var hasEnoughSharedMemory: Bool {
        var status = statvfs()
        guard statvfs("/dev/shm", &status) == 0, access("/dev/shm", W_OK) == 0 else { return false }
        return UInt64(status.f_bavail) * UInt64(status.f_frsize) >= 1 << 30
    }

    private static let commonArguments = [
        "--remote-debugging-pipe", "--no-startup-window", "--disable-quic",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        // Background activity of a new browser.
        "--no-first-run", "--no-default-browser-check", "--no-service-autorun", "--no-pings",
        "--disable-background-networking", "--disable-component-update", "--disable-default-apps",
        "--disable-extensions", "--disable-component-extensions-with-background-pages", "--disable-sync",
        "--disable-domain-reliability", "--disable-breakpad", "--disable-crash-reporter",
        "--disable-client-side-phishing-detection", "--disable-field-trial-config",
        "--disable-search-engine-choice-screen", "--disable-print-preview", "--metrics-recording-only",
        "--password-store=basic", "--use-mock-keychain",
        // Errors only: the log is read only for the message of a browser that failed or ended.
        "--log-level=2",
        // Treat all tabs as visible, although they run side by side.
        "--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows",
        "--disable-renderer-backgrounding", "--disable-back-forward-cache", "--disable-hang-monitor",
        "--disable-blink-features=AutomationControlled", "--lang=en-US",
    ]

    /// Arguments for headless mode and reproducible pictures.
    private static let headlessArguments = [
        "--headless=new", "--block-new-web-contents", "--hide-scrollbars", "--mute-audio", "--disable-gpu",
        "--enable-unsafe-swiftshader",
        "--force-color-profile=srgb", "--font-render-hinting=none", "--force-device-scale-factor=1",
    ]

    /// Features for one `--disable-features` argument, because the last one replaces those before it.
    private static let disabledFeatures = [
        // Pages may send requests to our proxy and test servers, which are on loopback.
        "LocalNetworkAccessChecks", "LocalNetworkAccessChecksWebSockets", "LocalNetworkAccessChecksWebRTC",
        // With this feature, requests of a service worker are not reported to the page's session.
        "ServiceWorkerAutoPreload",
        // Network requests of the browser itself.
        "DnsOverHttps", "AsyncDns", "MediaRouter", "DialMediaRouteProvider", "OptimizationHints", "Translate",
        "AutofillServerCommunication", "CertificateTransparencyComponentUpdater",
        "InterestFeedContentSuggestions", "HttpsUpgrades", "HttpsFirstBalancedModeAutoEnable",
        // A prerendered page would be another tab. See also `preferences`.
        "Prerender2",
        // Processes that the browser starts in advance.
        "SpareRendererForSitePerProcess", "PreloadTopChromeWebUI", "WebUIOmniboxPopup",
        "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup",
        // AcceptCHFrame may restart a navigation, and PaintHolding shows the previous page until the new one paints.
        // The last one is a control of the browser's window.
        "AcceptCHFrame", "PaintHolding", "GlobalMediaControls",
    ]

    /// The preferences of a new profile, for its file `Default/Preferences`.
    ///
    /// - `cookie_controls_mode` 0 allows third-party cookies. Each page has a browser context, which is like a private
    ///   window and would block them.
    /// - PDF files are downloaded, not shown.
    /// - `network_prediction_options` 2 turns off preloading of pages.
    package static let preferences = """
        {"profile":{"cookie_controls_mode":0,"default_content_setting_values":{"notifications":2}},\
        "plugins":{"always_open_pdf_externally":true},"net":{"network_prediction_options":2},\
        "webrtc":{"ip_handling_policy":"disable_non_proxied_udp"},"translate":{"enabled":false},\
        "credentials_enable_service":false,"alternate_error_pages":{"enabled":false},\
        "search":{"suggest_enabled":false},"safebrowsing":{"enabled":false}}
        """
    /// The settings of a new profile folder that apply to all its profiles, for its file `Local State`.
    static let localState = #"{"dns_over_https":{"mode":"off"},"background_mode":{"enabled":false}}"#
}
