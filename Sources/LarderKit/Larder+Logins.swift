internal import Browser
internal import Check
internal import Fetch
internal import Glibc
internal import Reports
internal import Store
internal import Synchronization
internal import System
internal import Web

/// Options of `Larder.login`.
public struct LoginOptions: Sendable {
    /// The path of a Chromium or Chrome; nil for the first one that is found.
    public var browser: String?
    /// The browser's proxy, host addresses and certificate checks. The other options do not apply to a login.
    public var network = NetworkOptions()
    /// The maximum time for the login. Then the window is closed, and the cookies that it has by then are stored.
    public var limit = Duration.seconds(3600)
    /// Called once, when the window is open, on the thread of the login.
    public var didOpenWindow: (@Sendable () -> Void)?
    /// For tests: whether the browser runs without a window, so that only the limit ends the login.
    package var isHidden = false

    /// Creates options for the first browser that is found.
    public init() {}
}

extension Larder {
    /// Opens a browser window in which the user signs in to a site, and stores the site's cookies. Every later prefetch
    /// and update of the site sends these cookies, and stores the changes that the site makes to them.
    ///
    /// ```swift
    /// let login = try await larder.login("https://example.com/")
    /// print("stored \(login.cookies) cookies of \(login.site)")
    /// ```
    ///
    /// Returns when the user closes the window, the time limit passes or the task is cancelled. The browser keeps its
    /// profile in the store, so that the user is still signed in when the window is opened again.
    ///
    /// - Parameter address: the URL to open. The cookies of its registrable domain are stored: for
    ///   `https://docs.example.com/` all cookies of `example.com` and its subdomains.
    /// - Throws: `LarderError` of kind `.input` if the address has no host, if there is no browser or no display, or
    ///   if the site set no cookie; `.machine` if the browser fails or the cookies cannot be stored.
    public func login(
        _ address: String, options: LoginOptions = LoginOptions()
    ) async throws(LarderError) -> LoginReport {
        let url = try WebURL.start(address)
        guard !url.host.isEmpty else {
            throw LarderError(
                .input, "\"\(address)\" has no host; write it like https://example.com/")
        }
        let folder = folder
        let window = LoginWindow()
        return try await Self.runOnThread("larder-login", onCancel: window.close) { () throws(LarderError) in
            let outcome = try Self.openBrowserWindow(url, in: folder, options, window)
            let site = StoreFolder.loginName(of: url)
            let cookies = outcome.cookies.filter { $0.belongs(to: site) }
            guard !cookies.isEmpty else {
                if case .failed(let why) = outcome.ending {
                    throw LarderError(.machine, "cannot open \(url.href) in the browser: \(why)")
                }
                throw LarderError(
                    .input,
                    "\(site) set no cookie, so there is no login to store; sign in before you close the window"
                )
            }
            do throws(StoreError) {
                try folder.storeLogin(of: site, cookies.compactMap(\.cookieFileLine))
            } catch {
                throw LarderError(error)
            }
            guard let login = folder.login(of: site) else {
                throw LarderError(.machine, "cannot read the stored cookies of \(site); sign in again")
            }
            return LoginReport(login)
        }
    }

    /// Opens the URL in a browser window. Blocks until the user has closed it, the time limit has passed or `window` was
    /// closed. Returns all cookies of the profile in the outcome.
    private static func openBrowserWindow(
        _ url: WebURL, in folder: StoreFolder, _ options: LoginOptions,
        _ window: LoginWindow
    ) throws(LarderError) -> PageOutcome {
        let displays: [String] = ["DISPLAY", "WAYLAND_DISPLAY"].compactMap { (name: String) in
            getenv(name).map { String(cString: $0) }
        }
        guard options.isHidden || displays.contains(where: { !$0.isEmpty })
        else {
            throw LarderError(
                .input,
                "cannot open a browser: there is no display; sign in on a desktop, or prefetch with a cookie file"
            )
        }
        var browserOptions = BrowserOptions(
            executable: try BrowserProgram.resolve(options.browser, forWindow: !options.isHidden))
        browserOptions.isHeadless = options.isHidden
        let hosts: [String]
        do throws(NetworkOptionError) { hosts = try options.network.browserHostRules() } catch {
            throw LarderError(error)
        }
        browserOptions.networkAccess = .network(
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
            throw LarderError(.machine, "\(error.description); name another one", remedy: .browser)
        }
        let outcome = Monitor<PageOutcome?>(nil)
        window.didOpen(browser)
        options.didOpenWindow?()
        browser.open(visit) { result in outcome.change { $0 = result } }
        defer { browser.close() }
        return outcome.wait { $0 }
    }

    /// Returns the sites that have stored login cookies, sorted by name.
    public func logins() -> LoginsReport { LoginsReport(logins: folder.logins.map(LoginReport.init)) }

    /// Removes the login cookies of a site. The login browser's profile contains the cookies of all sites, so it is
    /// removed only with the last login.
    ///
    /// - Parameter address: a URL of the site, or its host.
    /// - Returns: The login that was removed.
    /// - Throws: `LarderError` of kind `.input` if the site has no stored login; `.machine` if its file cannot be removed.
    public func forgetLogin(_ address: String) throws(LarderError) -> LoginReport {
        let url = try WebURL.start(address.contains("://") ? address : "https://" + address)
        let site = StoreFolder.loginName(of: url)
        guard let known = folder.login(of: site) else {
            throw LarderError(
                .input, "no login to \(site) is stored; list logins with: larder login")
        }
        do throws(StoreError) { try folder.removeLogin(of: site) } catch { throw LarderError(error) }
        return LoginReport(known)
    }
}

/// The browser window of one login. A cancelled task closes it, also if the browser has not started yet: then it is
/// closed as soon as it has.
///
/// May be used from any thread; a mutex protects its state.
private final class LoginWindow: Sendable {
    private let state = Mutex<(browser: Browser?, isClosed: Bool)>((nil, false))

    func didOpen(_ browser: Browser) {
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

/// A stored login: the cookies that prefetches and updates of a site send.
public struct LoginReport: Sendable, Equatable {
    /// The site's registrable domain, such as `example.com`; its host if it has none.
    public let site: String
    /// The number of stored cookies.
    public let cookies: Int
    /// The time at which the cookies were last stored, such as `2026-11-20T08:00:00Z`.
    public let storedAt: String

    init(_ login: StoreFolder.Login) {
        site = login.site
        cookies = login.cookieCount
        storedAt = Wording.date(login.stored)
    }
}

extension LoginReport: JSONObject {
    /// The member for `storedAt` is named `kept`.
    package var members: JSONMembers { ["site": site, "cookies": cookies, "kept": storedAt] }
    public var json: String { members.text() }
}

/// The sites that have stored login cookies.
public struct LoginsReport: Sendable, Equatable {
    /// One login for each site, sorted by name.
    public let logins: [LoginReport]
}

extension LoginsReport: JSONObject {
    package var members: JSONMembers { ["logins": logins] }
    public var json: String { members.text() }
}

extension BrowserCookie {
    /// Whether the cookie was set for this domain or a host below it.
    func belongs(to site: String) -> Bool {
        let host = domain.hasPrefix(".") ? String(domain.dropFirst()) : domain
        return host == site || host.hasSuffix("." + site)
    }

    /// The cookie as a line of a Netscape cookie file, with the fields: domain, whether it includes subdomains, path,
    /// whether it is limited to https, expiry in seconds since 1970 (0 until the end of the session), name and value.
    /// Nil if a field contains a control character, which would break the line.
    var cookieFileLine: String? {
        let fields = [
            (isHTTPOnly ? "#HttpOnly_" : "") + domain, domain.hasPrefix(".") ? "TRUE" : "FALSE", path,
            isSecure ? "TRUE" : "FALSE", String(expires ?? 0), name, value,
        ]
        let isWritable = fields.allSatisfy { field in field.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
        return isWritable ? fields.joined(separator: "\t") : nil
    }
}
