internal import CCurl
internal import System
internal import Web

/// The cookies of a loop, where they are wanted.
final class CookieJar {
    /// To put cookies in and take them out; it makes no transfers.
    private let handle: UnsafeMutableRawPointer
    /// It must outlive the handle.
    private let share: Share
    private let options: CookieOptions
    /// Nobody has put anything in.
    var isEmpty: Bool
    /// What pages' scripts set. All else is the servers' and the user's.
    private var scripted: Set<CookieName> = []

    private static let mostBytes = 16 * 1024 * 1024
    private static let mostOfScripts = 2_000

    /// Reads the files that there are; a line in one of them that is no cookie is an error, for something
    /// else was meant.
    init(_ options: CookieOptions, share: Share) throws(FetchFailure) {
        self.options = options
        self.share = share
        isEmpty = options.load.isEmpty
        guard let handle = curl_easy_init() else { throw FetchFailure(.machine, "out of memory") }
        self.handle = handle
        try larder_curl_set_pointer(handle, CURLOPT_SHARE, share.pointer).check()
        for path in options.load { try load(path) }
    }

    deinit { curl_easy_cleanup(handle) }

    private func load(_ path: String) throws(FetchFailure) {
        let bytes = try FetchFailure.wrapping { () throws(SystemError) in
            try WholeFile.read(path, atMost: Self.mostBytes)
        }
        for (number, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            guard let cookie = try Self.cookie(line, "\(path):\(number + 1)"), isWanted(cookie) else {
                continue
            }
            try larder_curl_set_text(handle, CURLOPT_COOKIELIST, cookie).check()
        }
    }

    /// Nil for an empty line or a remark.
    private static func cookie(_ line: ArraySlice<UInt8>, _ place: String) throws(FetchFailure) -> String? {
        let line = line.last == 0x0D ? line.dropLast() : line
        let isMarked = line.starts(with: "#HttpOnly_".utf8)
        if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) || line.first == UInt8(ascii: "#") && !isMarked {
            return nil
        }
        // A value may be missing, and is then empty.
        guard line.count(where: { $0 == 0x09 }) >= 5, !line.contains(0) else {
            throw FetchFailure(.machine, "\(place): not a cookie in Netscape's format")
        }
        return String(decoding: line, as: UTF8.self)
    }

    private func isWanted(_ line: String) -> Bool {
        guard let site = options.site else { return true }
        let domain = line.prefix { $0 != "\t" }.trimmingPrefix("#HttpOnly_").trimmingPrefix(".")
        return domain == site || domain.hasSuffix("." + site)
    }

    /// In the format of Netscape's file.
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

    // MARK: - What scripts set

    /// Takes in what scripts of a page set. What a server set, only a server changes.
    func keep(ofScripts cookies: [String]) throws(FetchFailure) {
        guard !cookies.isEmpty else { return }
        let others = Set(try lines().compactMap(CookieName.init)).subtracting(scripted)
        for line in cookies {
            guard let name = CookieName(line), !others.contains(name),
                scripted.contains(name) || scripted.count < Self.mostOfScripts
            else { continue }
            // What libcurl takes for none, it leaves out.
            try larder_curl_set_text(handle, CURLOPT_COOKIELIST, line).check()
            scripted.insert(name)
            isEmpty = false
        }
    }

    /// Those of a page's scripts that go along with a request, beside what the jar has for it: `a=1; b=2`.
    func further(_ cookies: [PageCookie], for url: WebURL) throws(FetchFailure) -> String {
        guard !cookies.isEmpty else { return "" }
        let known = Set(try lines().compactMap(CookieName.init).filter { $0.isSent(to: url) }.map(\.name))
        return cookies.filter { !known.contains($0.name) }.map(\.text).joined(separator: "; ")
    }

    func save() throws(FetchFailure) {
        guard let path = options.save else { return }
        let lines = try lines().filter { line in
            // The fifth column is when it ends; 0 stands for the end of the session.
            let isOfSession =
                line.split(separator: "\t", omittingEmptySubsequences: false).dropFirst(4).first == "0"
            return (!isOfSession || options.savesSessionCookies) && isWanted(line)
        }
        let text = "# Netscape HTTP Cookie File\n\n" + lines.sorted().map { $0 + "\n" }.joined()
        try FetchFailure.wrapping { () throws(SystemError) in try WholeFile.replace(path, with: text) }
    }
}

/// What tells cookies of a jar apart.
private struct CookieName: Hashable {
    let domain: String
    let isForHostsBelow: Bool
    let path: String
    let isSecure: Bool
    let name: String

    /// Of a line of Netscape's file.
    init?(_ line: String) {
        let columns = line.split(separator: "\t", omittingEmptySubsequences: false)
        guard columns.count >= 6 else { return nil }
        domain = columns[0].trimmingPrefix("#HttpOnly_").trimmingPrefix(".").lowercased()
        isForHostsBelow = columns[1] == "TRUE"
        path = String(columns[2])
        isSecure = columns[3] == "TRUE"
        name = String(columns[5])
    }

    /// RFC 6265, sections 5.1.3 and 5.1.4.
    func isSent(to url: WebURL) -> Bool {
        guard !isSecure || url.scheme == "https",
            url.host == domain || isForHostsBelow && url.host.hasSuffix("." + domain)
        else { return false }
        return url.path == path || url.path.hasPrefix(path.hasSuffix("/") ? path : path + "/")
    }

    static func == (a: CookieName, b: CookieName) -> Bool {
        (a.domain, a.path, a.name) == (b.domain, b.path, b.name)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(domain)
        hasher.combine(path)
        hasher.combine(name)
    }
}

/// Where cookies come from and go to. A loop without these takes none and sends none.
package struct CookieOptions: Sendable {
    /// In the format of Netscape's file.
    package var load: [String]
    /// Replaced by `FetchLoop.saveCookies`.
    package var save: String?
    /// Cookies without a date end with the run, unless they are saved too.
    package var savesSessionCookies = false
    /// The only registrable domain whose cookies are loaded and saved; nil for all.
    package var site: String?

    /// They are those of a snapshot that nobody gave any to: they last as long as the loop, and tell servers
    /// nothing of who asks.
    package var areNobodys = false

    package init(load: [String] = [], save: String? = nil) {
        self.load = load
        self.save = save
    }
}
