internal import CCurl
internal import System

/// The cookies of a loop, where they are wanted.
final class CookieJar {
    /// To put cookies in and take them out; it makes no transfers.
    private let handle: UnsafeMutableRawPointer
    /// It must outlive the handle.
    private let share: Share
    private let options: CookieOptions

    private static let mostBytes = 16 * 1024 * 1024

    /// Reads the files that there are; a line in one of them that is no cookie is an error, for something
    /// else was meant.
    init(_ options: CookieOptions, share: Share) throws(FetchFailure) {
        self.options = options
        self.share = share
        guard let handle = curl_easy_init() else { throw FetchFailure(.machine, "no memory is left") }
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
            guard let cookie = try Self.cookie(line, "\(path):\(number + 1)"), isWanted(cookie) else { continue }
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
            throw FetchFailure(.machine, "\(place): no cookie in the format of Netscape's file")
        }
        return String(decoding: line, as: UTF8.self)
    }

    private func isWanted(_ line: String) -> Bool {
        guard let site = options.site else { return true }
        let domain = line.prefix { $0 != "\t" }.trimmingPrefix("#HttpOnly_").trimmingPrefix(".")
        return domain == site || domain.hasSuffix("." + site)
    }

    func save() throws(FetchFailure) {
        guard let path = options.save else { return }
        var list: UnsafeMutablePointer<curl_slist>?
        try larder_curl_get_list(handle, CURLINFO_COOKIELIST, &list).check()
        defer { curl_slist_free_all(list) }
        var lines: [String] = []
        var next = list
        while let item = next {
            let line = String(cString: item.pointee.data)
            next = item.pointee.next
            // The fifth column is when it ends; 0 stands for the end of the session.
            let isOfSession =
                line.split(separator: "\t", omittingEmptySubsequences: false).dropFirst(4).first == "0"
            if !isOfSession || options.savesSessionCookies, isWanted(line) { lines.append(line) }
        }
        let text = "# Netscape HTTP Cookie File\n\n" + lines.sorted().map { $0 + "\n" }.joined()
        try FetchFailure.wrapping { () throws(SystemError) in try WholeFile.replace(path, with: text) }
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

    /// They are those of a visit that nobody gave any to: they last as long as the loop, and tell servers
    /// nothing of who asks.
    package var areNobodys = false

    package init(load: [String] = [], save: String? = nil) {
        self.load = load
        self.save = save
    }
}
