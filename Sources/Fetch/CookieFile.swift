internal import System
package import Web

/// A file of cookies in one of the forms that tools write: Netscape's format (curl, Wget, yt-dlp, Python's
/// `MozillaCookieJar`), the JSON of browser extensions and of Puppeteer (a list of cookies), or the storage state of
/// Playwright (an object with a list of cookies).
struct CookieFile: Sendable {
    /// A cookie of a file.
    struct Cookie: Sendable, Equatable {
        let domain: String
        let includesSubdomains: Bool
        let path: String
        let isSecure: Bool
        let isHTTPOnly: Bool
        /// In seconds since 1970; 0 for a session cookie.
        let expires: Int64
        let name: String
        let value: String

        /// The cookie as a line of Netscape's format.
        var line: String {
            let columns = [
                domain, includesSubdomains ? "TRUE" : "FALSE", path, isSecure ? "TRUE" : "FALSE",
                String(expires), name,
                value,
            ]
            return (isHTTPOnly ? "#HttpOnly_" : "") + columns.joined(separator: "\t")
        }

        /// Whether the cookie is sent to the host of a URL.
        func isFor(_ url: WebURL) -> Bool {
            let domain = String(domain.trimmingPrefix(".")).lowercased()
            return url.host == domain || includesSubdomains && url.host.hasSuffix("." + domain)
        }
    }

    let cookies: [Cookie]

    /// The maximum size of a file. Reading a larger one fails.
    private static let maxFileBytes = 16 * 1024 * 1024

    /// Reads a file. Throws if it has none of the forms; the message names the first invalid line.
    init(path: String) throws(FetchFailure) {
        let bytes = try FetchFailure.wrapping { () throws(SystemError) in
            try WholeFile.read(path, atMost: Self.maxFileBytes)
        }
        let first = bytes.first { ![0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF].contains($0) }
        if first == UInt8(ascii: "[") || first == UInt8(ascii: "{") {
            cookies = try Self.parse(json: bytes, path)
            return
        }
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = bytes.starts(with: mark) ? bytes.dropFirst(mark.count) : bytes[...]
        var cookies: [Cookie] = []
        for (number, line) in text.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            if let cookie = try Self.parse(line: line, "\(path):\(number + 1)") { cookies.append(cookie) }
        }
        self.cookies = cookies
    }

    /// Reads a line of Netscape's format; nil if it is empty or a comment.
    ///
    /// - Parameter place: the file and the line, for the message of an error.
    private static func parse(line: ArraySlice<UInt8>, _ place: String) throws(FetchFailure) -> Cookie? {
        var line = line.last == 0x0D ? line.dropLast() : line
        let mark = "#HttpOnly_".utf8
        let isHTTPOnly = line.starts(with: mark)
        if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) || line.first == UInt8(ascii: "#") && !isHTTPOnly {
            return nil
        }
        if isHTTPOnly { line = line.dropFirst(mark.count) }
        let columns = line.split(separator: 0x09, maxSplits: 6, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        // A value may be missing, and is then empty.
        guard columns.count >= 6, !line.contains(0), let expires = Self.expirySeconds(columns[4]) else {
            throw FetchFailure(.machine, "\(place): not a cookie in Netscape's format")
        }
        var (name, value) = (columns[5], columns.count > 6 ? columns[6] : "")
        // Python writes a cookie without a value as a value without a name.
        if name.isEmpty { (name, value) = (value, "") }
        return Cookie(
            domain: columns[0], includesSubdomains: columns[1].uppercased() == "TRUE", path: columns[2],
            isSecure: columns[3].uppercased() == "TRUE", isHTTPOnly: isHTTPOnly, expires: expires, name: name,
            value: value)
    }

    /// The seconds of an expiry time: a number, possibly with a fraction, or empty for a session cookie. Nil for
    /// anything else.
    private static func expirySeconds(_ text: String) -> Int64? {
        if text.isEmpty { return 0 }
        return Double(text).flatMap { expirySeconds($0) }
    }

    private static func expirySeconds(_ number: Double) -> Int64? {
        guard number.isFinite else { return nil }
        if number <= 0 { return 0 }
        // Some tools write milliseconds or microseconds. The last second of the year 9999, which many servers
        // send, is below 1e12.
        let seconds = number >= 1e15 ? number / 1e6 : number >= 1e12 ? number / 1e3 : number
        return Int64(min(seconds, 253_402_300_799))
    }

    private static func parse(json bytes: [UInt8], _ path: String) throws(FetchFailure) -> [Cookie] {
        let json: JSONValue
        do throws(JSONError) { json = try JSONValue.parse(bytes.span) } catch {
            throw FetchFailure(.machine, "\(path): \(error)")
        }
        guard let list = json.array ?? json["cookies"]?.array else {
            throw FetchFailure(
                .machine, "\(path): no list of cookies, as browser extensions and Playwright write it")
        }
        return try list.enumerated().map { (number, json) throws(FetchFailure) in
            guard let cookie = Self.cookie(of: json) else {
                throw FetchFailure(
                    .machine, "\(path): cookie \(number + 1) needs a name, a value and a domain")
            }
            return cookie
        }
    }

    /// The cookie in a member of a JSON list; nil if it has no name, value or domain.
    private static func cookie(of json: JSONValue) -> Cookie? {
        guard let name = text("name", of: json), let value = text("value", of: json) else { return nil }
        guard let domain = domain(of: json), !domain.isEmpty else { return nil }
        var includesSubdomains = domain.hasPrefix(".")
        if let isHostOnly = json["hostOnly"]?.bool { includesSubdomains = !isHostOnly }
        return Cookie(
            domain: domain, includesSubdomains: includesSubdomains, path: text("path", of: json) ?? "/",
            isSecure: json["secure"]?.bool == true, isHTTPOnly: json["httpOnly"]?.bool == true,
            expires: expiry(of: json), name: name, value: value)
    }

    private static func domain(of json: JSONValue) -> String? {
        if let domain = text("domain", of: json) { return domain }
        guard let url = text("url", of: json) else { return nil }
        return WebURL(url)?.host
    }

    private static func expiry(of json: JSONValue) -> Int64 {
        if json["session"]?.bool == true { return 0 }
        guard let number = json["expirationDate"]?.double ?? json["expires"]?.double else { return 0 }
        return expirySeconds(number) ?? 0
    }

    /// A member that is a text without control characters, which would end a line or a column.
    private static func text(_ key: String, of json: JSONValue) -> String? {
        guard let text = json[key]?.string, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            return nil
        }
        return text
    }
}

/// The number of cookies in the user's files, and of those that are for a site.
package struct CookieCounts: Sendable, Equatable {
    /// The number of all cookies.
    package var total = 0
    /// The number of those that are for the hosts of the start URLs and still valid.
    package var valid = 0
    /// The number of those that are for these hosts and have expired.
    package var expired = 0

    /// - Throws: `FetchFailure` if a file cannot be read.
    package init(files: [String], start: [WebURL], now: Int64) throws(FetchFailure) {
        for path in files {
            for cookie in try CookieFile(path: path).cookies {
                total += 1
                guard start.contains(where: { cookie.isFor($0) }) else { continue }
                if cookie.expires == 0 || cookie.expires > now { valid += 1 } else { expired += 1 }
            }
        }
    }
}
