internal import Browser
internal import Check
internal import Fetch
internal import Glibc
internal import Reports
internal import Store
internal import Synchronization
internal import System
internal import Web

/// How a browser is opened for a person who signs in.
public struct LoginOptions: Sendable {
    /// A Chromium or Chrome; nil for the first that is found.
    public var browser: String?
    /// How the browser gets at servers: the proxy, addresses of names, and whether any certificate will do.
    public var network = NetworkOptions()
    /// The longest that the window stays open.
    public var limit = Duration.seconds(3600)
    /// Called, once, when the window is there.
    public var onWindow: (@Sendable () -> Void)?
    /// Without a window, for tests: nobody closes it, and the limit ends it.
    package var isHidden = false

    public init() {}
}

extension Larder {
    /// Opens a browser's window at an address for a person to sign in, and keeps the cookies of that site
    /// with the larder: every prefetch and update of it sends them, and keeps what they become.
    ///
    /// The browser has a profile of the larder's own, which stays: who is signed in there is so the next time
    /// too. It returns when the window is closed, or the task cancelled.
    ///
    /// - Throws: `LarderError` of kind `.input` where there is no browser, or nothing to show it on.
    public func login(
        _ address: String, options: LoginOptions = LoginOptions()
    ) async throws(LarderError) -> LoginReport {
        let url = try WebURL.start(address)
        guard !url.host.isEmpty else {
            throw LarderError(
                .input, "\(address) names no host to sign in to; write it like https://example.com/")
        }
        let folder = folder
        let window = Window()
        return try await Self.onThread("larder-login", onCancel: window.close) { () throws(LarderError) in
            let outcome = try Self.show(url, in: folder, options, window)
            let site = StoreFolder.loginName(of: url)
            let cookies = outcome.cookies.filter { $0.isOf(site) }
            guard !cookies.isEmpty else {
                if case .failed(let why) = outcome.ending {
                    throw LarderError(.machine, "\(url.href) was not shown: \(why)")
                }
                throw LarderError(
                    .input, "\(site) set no cookie, so that nobody is signed in there; nothing was changed")
            }
            do throws(StoreError) {
                try folder.keepLogin(of: site, cookies.compactMap(\.line))
            } catch {
                throw LarderError(error)
            }
            guard let kept = folder.login(of: site) else {
                throw LarderError(.machine, "\(site): its cookies are gone from the larder")
            }
            return LoginReport(kept)
        }
    }

    private static func show(
        _ url: WebURL, in folder: StoreFolder, _ options: LoginOptions,
        _ window: Window
    ) throws(LarderError) -> PageOutcome {
        let displays: [String] = ["DISPLAY", "WAYLAND_DISPLAY"].compactMap { (name: String) in
            getenv(name).map { String(cString: $0) }
        }
        guard options.isHidden || displays.contains(where: { !$0.isEmpty })
        else {
            throw LarderError(
                .input,
                "there is no display to open a browser on; sign in where there is one, or prefetch with a file of cookies"
            )
        }
        var browserOptions = BrowserOptions(
            executable: try BrowserProgram.needed(options.browser, forWindow: !options.isHidden))
        browserOptions.isHeadless = options.isHidden
        let hosts: [String]
        do throws(NetworkMistake) { hosts = try options.network.browserHostRules() } catch {
            throw LarderError(error)
        }
        browserOptions.reach = .network(
            proxy: options.network.proxy, hosts: hosts, isInsecure: options.network.isInsecure)
        var visit = PageVisit(url: url.href)
        visit.staysOpen = true
        visit.limit = options.limit
        let browser: Browser
        do throws(StoreError) { browserOptions.profile = try folder.makeLoginProfile() } catch {
            throw LarderError(error)
        }
        do throws(BrowserError) {
            browser = try Browser(browserOptions)
        } catch {
            throw LarderError(.machine, "\(error.description); name another", remedy: .browser)
        }
        let outcome = Monitor<PageOutcome?>(nil)
        window.opened(browser)
        options.onWindow?()
        browser.open(visit) { result in outcome.change { $0 = result } }
        defer { browser.close() }
        return outcome.wait { $0 }
    }

    /// The sites to which the larder is signed in.
    public func logins() -> LoginsReport { LoginsReport(logins: folder.logins.map(LoginReport.init)) }

    /// Forgets the cookies of a site, and the browser's profile with the last of them.
    ///
    /// - Throws: `LarderError` of kind `.input` when there are none.
    public func forgetLogin(_ address: String) throws(LarderError) -> LoginReport {
        let url = try WebURL.start(address.contains("://") ? address : "https://" + address)
        let site = StoreFolder.loginName(of: url)
        guard let known = folder.login(of: site) else {
            throw LarderError(
                .input, "the larder is not signed in to \(site); see where it is with: larder login")
        }
        do throws(StoreError) { try folder.forgetLogin(of: site) } catch { throw LarderError(error) }
        return LoginReport(known)
    }
}

/// A browser that may be closed before it is open.
private final class Window: Sendable {
    private let state = Mutex<(browser: Browser?, isClosed: Bool)>((nil, false))

    func opened(_ browser: Browser) {
        let isClosed = state.withLock { state in
            state.browser = browser
            return state.isClosed
        }
        if isClosed { browser.close() }
    }

    func close() {
        let browser = state.withLock { state in
            state.isClosed = true
            return state.browser
        }
        browser?.close()
    }
}

/// A site to which the larder is signed in.
public struct LoginReport: Sendable, Equatable {
    /// The registrable domain.
    public let site: String
    /// How many cookies there are.
    public let cookies: Int
    /// When they were last kept: `2026-11-20T08:00:00Z`.
    public let kept: String

    init(_ login: StoreFolder.Login) {
        site = login.site
        cookies = login.cookieCount
        kept = Wording.date(login.kept)
    }
}

extension LoginReport: JSONObject {
    package var members: JSONMembers { ["site": site, "cookies": cookies, "kept": kept] }
    public var json: String { members.text() }
}

/// The sites to which the larder is signed in.
public struct LoginsReport: Sendable, Equatable {
    public let logins: [LoginReport]
}

extension LoginsReport: JSONObject {
    package var members: JSONMembers { ["logins": logins] }
    public var json: String { members.text() }
}

extension BrowserCookie {
    func isOf(_ site: String) -> Bool {
        let host = domain.hasPrefix(".") ? String(domain.dropFirst()) : domain
        return host == site || host.hasSuffix("." + site)
    }

    /// In Netscape's format; nil where that cannot say it.
    var line: String? {
        let parts = [
            (isHTTPOnly ? "#HttpOnly_" : "") + domain, domain.hasPrefix(".") ? "TRUE" : "FALSE", path,
            isSecure ? "TRUE" : "FALSE", String(expires ?? 0), name, value,
        ]
        let isPlain = parts.allSatisfy { part in part.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
        return isPlain ? parts.joined(separator: "\t") : nil
    }
}
