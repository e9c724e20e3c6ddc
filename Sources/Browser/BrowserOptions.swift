internal import Glibc
internal import System

/// What the browser would not do.
package struct BrowserError: Error, Sendable, CustomStringConvertible {
    package let doing: String
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

package enum BrowserProgram {
    /// Where a Chromium or Chrome is: what the environment's LARDER_CHROMIUM says, which may be empty for
    /// none, else the first that is installed.
    package static func find(forWindow: Bool = false) -> String? {
        if let named = getenv("LARDER_CHROMIUM").map({ String(cString: $0) }) {
            return named.isEmpty ? nil : named
        }
        return installed(forWindow: forWindow)
    }

    /// The first known name on the PATH and in /usr/bin, whatever the environment says.
    ///
    /// Without a window a headless shell comes first, where one is installed: for each context the whole
    /// browser makes a window with all its menus, and renders half as many pages in the same time.
    package static func installed(forWindow: Bool = false) -> String? {
        let path = getenv("PATH").map { String(cString: $0) } ?? ""
        let folders = path.split(separator: ":").map(String.init) + ["/usr/bin"]
        for name in forWindow ? whole : shells + whole {
            for folder in folders where access("\(folder)/\(name)", X_OK) == 0 { return "\(folder)/\(name)" }
        }
        return nil
    }

    private static let shells = [
        "chrome-headless-shell", "chromium-headless-shell", "headless-shell", "headless_shell",
    ]
    private static let whole = [
        "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
    ]
}

/// How a browser is started.
///
/// Unless it is told otherwise, it asks nothing of the network but through each page's own proxy: names do
/// not resolve, the proxy of whatever has none of its own refuses, and what a browser does by itself is off.
package struct BrowserOptions: Sendable {
    package var executable: String
    /// Base64 of the SHA-256 of public keys whose certificates are trusted, whatever they say.
    package var keyDigests: [String] = []
    /// False opens a window that a person uses, for a login.
    package var isHeadless = true
    package var reach = Reach.loopback
    /// A folder that stays; nil for one that is removed at the end.
    package var profile: String?
    /// Where the temporary folder is made; nil where TMPDIR says.
    package var scratch: String?
    /// Without the tab's own limits on what a script may hold, one page takes all that the machine has.
    package var scriptMegabytes = 512
    /// For measurements: the last of two that contradict each other counts.
    package var furtherArguments: [String] = []

    package enum Reach: Sendable {
        /// Pages without a proxy of their own reach this machine alone.
        case loopback
        /// All servers, as a person's own browser does.
        ///
        /// - Parameters:
        ///   - proxy: `http://`, `socks5://`...; nil for what the environment says.
        ///   - hosts: where names lead: `MAP example.com:443 127.0.0.1:8443`.
        ///   - isInsecure: any certificate will do.
        case network(proxy: String?, hosts: [String], isInsecure: Bool)

        var arguments: [String] {
            switch self {
            case .loopback:
                // Nothing but loopback has an address, and nobody listens at the port "discard". A page
                // without a proxy of its own thus reaches loopback, which the default rules except.
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

    func arguments(profile: String, isSandboxed: Bool) -> [String] {
        var arguments = Self.always
        arguments.append("--user-data-dir=\(profile)")
        arguments.append("--disable-features=" + Self.unwanted.joined(separator: ","))
        arguments.append("--js-flags=--max-old-space-size=\(scriptMegabytes)")
        arguments += reach.arguments
        if isHeadless { arguments += Self.headless }
        if !isSandboxed { arguments.append("--no-sandbox") }
        if !keyDigests.isEmpty {
            let digests = keyDigests.joined(separator: ",")
            arguments.append("--ignore-certificate-errors-spki-list=\(digests)")
        }
        if !Self.hasSharedMemory { arguments.append("--disable-dev-shm-usage") }
        return arguments + furtherArguments
    }

    /// Pages share pictures of themselves by it; containers often have 64 MB, with which they crash.
    private static var hasSharedMemory: Bool {
        var status = statvfs()
        guard statvfs("/dev/shm", &status) == 0, access("/dev/shm", W_OK) == 0 else { return false }
        return UInt64(status.f_bavail) * UInt64(status.f_frsize) >= 1 << 30
    }

    private static let always = [
        "--remote-debugging-pipe", "--no-startup-window", "--disable-quic",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        // Whatever a fresh browser would do of itself.
        "--no-first-run", "--no-default-browser-check", "--no-service-autorun", "--no-pings",
        "--disable-background-networking", "--disable-component-update", "--disable-default-apps",
        "--disable-extensions", "--disable-component-extensions-with-background-pages", "--disable-sync",
        "--disable-domain-reliability", "--disable-breakpad", "--disable-crash-reporter",
        "--disable-client-side-phishing-detection", "--disable-field-trial-config",
        "--disable-search-engine-choice-screen", "--disable-print-preview", "--metrics-recording-only",
        "--password-store=basic", "--use-mock-keychain",
        // Only the message that a start fails with is read.
        "--log-level=2",
        // Tabs side by side are all in front.
        "--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows",
        "--disable-renderer-backgrounding", "--disable-back-forward-cache", "--disable-hang-monitor",
        "--disable-blink-features=AutomationControlled", "--lang=en-US",
    ]

    /// The same picture every time.
    private static let headless = [
        "--headless=new", "--block-new-web-contents", "--hide-scrollbars", "--mute-audio", "--disable-gpu",
        "--enable-unsafe-swiftshader",
        "--force-color-profile=srgb", "--font-render-hinting=none", "--force-device-scale-factor=1",
    ]

    /// Only the last flag of this kind counts, so they are one.
    private static let unwanted = [
        // A page may ask our proxy and test servers, which stand on loopback.
        "LocalNetworkAccessChecks", "LocalNetworkAccessChecksWebSockets", "LocalNetworkAccessChecksWebRTC",
        // A service worker's requests go past whoever watches the page.
        "ServiceWorkerAutoPreload",
        // What it asks of the network by itself.
        "DnsOverHttps", "AsyncDns", "MediaRouter", "DialMediaRouteProvider", "OptimizationHints", "Translate",
        "AutofillServerCommunication", "CertificateTransparencyComponentUpdater",
        "InterestFeedContentSuggestions", "HttpsUpgrades", "HttpsFirstBalancedModeAutoEnable",
        // A page that is opened before anybody asks for it is another tab; see the preferences too.
        "Prerender2",
        // Processes that are kept ready for what nobody opens.
        "SpareRendererForSitePerProcess", "PreloadTopChromeWebUI", "WebUIOmniboxPopup",
        "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup",
        "AcceptCHFrame", "PaintHolding", "GlobalMediaControls",
    ]

    /// Of a new profile. A page's context is a private window, which would keep cookies from frames of other
    /// sites (`cookie_controls_mode`); a file that the browser can show is a file all the same; pages are not
    /// loaded ahead of a click.
    package static let preferences = """
        {"profile":{"cookie_controls_mode":0,"default_content_setting_values":{"notifications":2}},\
        "plugins":{"always_open_pdf_externally":true},"net":{"network_prediction_options":2},\
        "webrtc":{"ip_handling_policy":"disable_non_proxied_udp"},"translate":{"enabled":false},\
        "credentials_enable_service":false,"alternate_error_pages":{"enabled":false},\
        "search":{"suggest_enabled":false},"safebrowsing":{"enabled":false}}
        """
    static let localState = #"{"dns_over_https":{"mode":"off"},"background_mode":{"enabled":false}}"#
}
