internal import CCurl
internal import System
internal import Web

/// The cookies of a loop. libcurl stores them in the share handle of its transfers. Only the loop's thread uses
/// the jar.
///
/// Cookies come from three sources: the user's files, servers, and scripts of rendered pages. libcurl itself
/// handles those of servers. Cookies of scripts never replace the others, since a page could otherwise take
/// over the user's session.
final class CookieJar {
    /// A handle that adds and lists cookies, and makes no transfers.
    private let handle: UnsafeMutableRawPointer
    /// The share must outlive the handle.
    private let share: CurlShare
    private let options: CookieOptions
    /// The cookies that scripts of pages set. All others come from servers or from the user's files.
    private var scriptCookies: Set<CookieIdentity> = []

    /// The maximum number of cookies of scripts. Further ones are ignored.
    private static let maxScriptCookies = 2_000

    /// Loads the cookie files. Throws if one of them cannot be read.
    init(_ options: CookieOptions, share: CurlShare) throws(FetchFailure) {
        self.options = options
        self.share = share
        guard let handle = curl_easy_init() else { throw FetchFailure(.machine, "out of memory") }
        self.handle = handle
        try larder_curl_set_pointer(handle, CURLOPT_SHARE, share.pointer).check()
        for path in options.load { try load(path) }
    }

    deinit { curl_easy_cleanup(handle) }

    private func load(_ path: String) throws(FetchFailure) {
        for cookie in try CookieFile(path: path).cookies where isInScope(cookie.line) {
            try larder_curl_set_text(handle, CURLOPT_COOKIELIST, cookie.line).check()
        }
    }

    /// Whether the cookie belongs to the site that the options are limited to.
    private func isInScope(_ line: String) -> Bool {
        guard let site = options.site else { return true }
        let domain = line.prefix { $0 != "\t" }.trimmingPrefix("#HttpOnly_").trimmingPrefix(".")
        return domain == site || domain.hasSuffix("." + site)
    }

    /// The cookies as lines of a Netscape cookie file.
    private func lines() throws(FetchFailure) -> [String] {
        var list: UnsafeMutablePointer<curl_slist>?
        try larder_curl_get_list(handle, CURLINFO_COOKIELIST, &list).check()
        defer { curl_slist_free_all(list) }
        var lines: [String] = []
        var next = list
        while let item = next {
            lines.append(String(cString: item.pointee.data))
            next = item.pointee.next
        }
        return lines
    }

    // MARK: - Cookies of scripts

    /// Adds cookies that scripts of a page set. They never replace a cookie of a server or of the user.
    func addCookies(fromScripts cookies: [String]) throws(FetchFailure) {
        guard !cookies.isEmpty else { return }
        let others = Set(try lines().compactMap(CookieIdentity.init)).subtracting(scriptCookies)
        for line in cookies {
            guard let name = CookieIdentity(line), !others.contains(name),
                scriptCookies.contains(name) || scriptCookies.count < Self.maxScriptCookies
            else { continue }
            // libcurl ignores a line that it does not recognize as a cookie.
            try larder_curl_set_text(handle, CURLOPT_COOKIELIST, line).check()
            scriptCookies.insert(name)
        }
    }

    /// The additional `Cookie` value for cookies of a page's scripts, such as `a=1; b=2`: those whose names
    /// the jar does not already send to the URL.
    func additionalCookies(_ cookies: [PageCookie], for url: WebURL) throws(FetchFailure) -> String {
        guard !cookies.isEmpty else { return "" }
        let known = Set(try lines().compactMap(CookieIdentity.init).filter { $0.isSent(to: url) }.map(\.name))
        return cookies.filter { !known.contains($0.name) }.map(\.text).joined(separator: "; ")
    }

    /// Writes the cookies to the file that the options name.
    func save() throws(FetchFailure) {
        guard let path = options.save else { return }
        let lines = try lines().filter { line in
            // The fifth column is the expiry time, which is 0 for a session cookie.
            let isOfSession =
                line.split(separator: "\t", omittingEmptySubsequences: false).dropFirst(4).first == "0"
            return (!isOfSession || options.savesSessionCookies) && isInScope(line)
        }
        let text = "# Netscape HTTP Cookie File\n\n" + lines.sorted().map { $0 + "\n" }.joined()
        try FetchFailure.wrapping { () throws(SystemError) in try WholeFile.replace(path, with: text) }
    }
}

/// A cookie of the jar. Two are equal if they have the same domain, path and name (RFC 6265, section 5.3); the other properties
/// decide to which URLs it is sent.
private struct CookieIdentity: Hashable {
    let domain: String
    let includesSubdomains: Bool
    let path: String
    let isSecure: Bool
    let name: String

    /// Parses a line of a Netscape cookie file.
    init?(_ line: String) {
        let columns = line.split(separator: "\t", omittingEmptySubsequences: false)
        guard columns.count >= 6 else { return nil }
        domain = columns[0].trimmingPrefix("#HttpOnly_").trimmingPrefix(".").lowercased()
        includesSubdomains = columns[1] == "TRUE"
        path = String(columns[2])
        isSecure = columns[3] == "TRUE"
        name = String(columns[5])
    }

    /// Whether the cookie is sent to the URL (RFC 6265, sections 5.1.3 and 5.1.4).
    func isSent(to url: WebURL) -> Bool {
        guard !isSecure || url.scheme == "https",
            url.host == domain || includesSubdomains && url.host.hasSuffix("." + domain)
        else { return false }
        return url.path == path || url.path.hasPrefix(path.hasSuffix("/") ? path : path + "/")
    }

    static func == (a: CookieIdentity, b: CookieIdentity) -> Bool {
        (a.domain, a.path, a.name) == (b.domain, b.path, b.name)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(domain)
        hasher.combine(path)
        hasher.combine(name)
    }
}

/// The files that cookies are loaded from and saved to. A loop without these options neither stores nor sends
/// cookies.
package struct CookieOptions: Sendable {
    /// The paths of cookie files (``CookieFile``).
    package var load: [String]
    /// The path of the file that `FetchLoop.saveCookies` replaces; nil to save none.
    package var save: String?
    /// Whether to save session cookies, too, which have no expiry time.
    package var savesSessionCookies = false
    /// The only registrable domain whose cookies are loaded and saved; nil for all.
    package var site: String?

    /// Whether these are the cookies of a snapshot and not of the user. They last as long as the loop, and do
    /// not identify the user.
    package var belongToSnapshot = false

    package init(load: [String] = [], save: String? = nil) {
        self.load = load
        self.save = save
    }
}
