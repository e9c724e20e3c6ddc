internal import Web

/// Derives the URLs of files from their names in a mirror or in a site's own folder. This reverses the way in
/// which mirroring tools make names from URLs. It uses only the names.
struct FolderAddresses {
    /// The way in which file names were made from URLs.
    enum Manner {
        /// The names are those of the site's own files.
        case own
        /// A query follows `?`, and percent escapes are those of the URL.
        case unix
        /// Characters that Windows does not allow are escaped, and a query follows `@` (wget).
        case windows
        /// The names are like `windows`, but `?` is escaped too (wget2).
        case escaped
    }

    let manner: Manner

    /// - Parameters:
    ///   - names: The names of all files.
    ///   - folder: The name of the enclosing folder if it stands for the host of the files.
    init(names: some Sequence<String>, in folder: String? = nil) {
        var (isUnix, hasEscaped, hasAt) = (folder?.contains(":") ?? false, false, false)
        for name in names {
            let file = Self.split(name).file
            isUnix = isUnix || file.utf8.contains { Self.notOnWindows.contains($0) }
            hasEscaped = hasEscaped || file.range(of: "%3F") != nil
            hasAt = hasAt || Self.at(in: file) != nil
        }
        let isOfWget = folder?.contains("+") ?? false
        let hasQueries = isUnix || hasEscaped || hasAt
        guard hasQueries || folder != nil else {
            manner = .own
            return
        }
        manner = isUnix ? .unix : hasEscaped && !isOfWget ? .escaped : .windows
    }

    private static let notOnWindows = Array("?:*|<>\"\\".utf8)

    // MARK: - Hosts

    /// Parses a folder name as a host and port: `example.com`, `example.com:8080` (wget), `example.com+8080`
    /// (wget for Windows) or `example.com_8080` (HTTrack). Returns nil if it is not a host.
    static func host(_ name: String) -> (host: String, port: Int?)? {
        var (host, port) = (name, Int?.none)
        if let mark = name.lastIndex(where: { $0 == ":" || $0 == "+" || $0 == "_" }), name.last != "]" {
            let digits = name[name.index(after: mark)...]
            if (1...5).contains(digits.utf8.count), let number = Int(digits), (1...65_535).contains(number) {
                (host, port) = (String(name[..<mark]), number)
            }
        }
        guard host == "localhost" || host.hasPrefix("[") || host.contains("."),
            let url = WebURL("http://\(host)/"), url.path == "/", url.query == nil, url.port == nil,
            !url.hasCredentials, url.host == host.lowercased() || !host.utf8.allSatisfy({ $0 < 0x80 })
        else { return nil }
        // Names such as `node.js` and `index.html` are not hosts.
        let last = host.split(separator: ".").last.map { $0.lowercased() } ?? ""
        guard !FileTypes.isSuffix(last), host.first != ".", host.last != "." else { return nil }
        return (url.host, port)
    }

    // MARK: - Paths

    /// Returns the path and query for a file name: `a/page?q=1.html` becomes `/a/page?q=1`.
    ///
    /// - Parameter keepsIndex: Whether `index.html` stays in the path instead of standing for its folder.
    func target(of name: String, keepsIndex: Bool = false) -> String {
        var (folder, file) = Self.split(name)
        var query: Substring?
        if let mark = mark(in: file) {
            query = Self.withoutAddedSuffix(file[mark.upperBound...])
            file = file[..<mark.lowerBound]
        } else {
            file = Self.withoutSuffixOfProgram(file)
        }
        if file == "index.html", !keepsIndex { file = "" }
        return target(folder, file, query)
    }

    /// Returns the path and query for a file name if no part of it was added by a tool. Returns nil if that
    /// gives the same URL. Links in other files show which of the two is right.
    func spelledOut(_ name: String) -> String? {
        let (folder, file) = Self.split(name)
        guard let mark = mark(in: file) else { return nil }
        let target = target(folder, file[..<mark.lowerBound], file[mark.upperBound...])
        return target == self.target(of: name) ? nil : target
    }

    private func target(_ folder: Substring, _ file: Substring, _ query: Substring?) -> String {
        var target: [UInt8] = [UInt8(ascii: "/")]
        append(folder, to: &target, isQuery: false)
        append(file, to: &target, isQuery: false)
        if let query {
            target.append(UInt8(ascii: "?"))
            append(query, to: &target, isQuery: true)
        }
        return String(decoding: target, as: UTF8.self)
    }

    private static func split(_ name: String) -> (folder: Substring, file: Substring) {
        guard let slash = name.utf8.lastIndex(of: UInt8(ascii: "/")) else { return ("", name[...]) }
        return (name[...slash], name[name.utf8.index(after: slash)...])
    }

    /// Returns the range of the separator between path and query.
    private func mark(in file: Substring) -> Range<Substring.Index>? {
        switch manner {
        case .own: nil
        case .unix: file.range(of: "?") ?? file.range(of: "%3F")
        case .windows: Self.at(in: file)
        case .escaped: file.range(of: "%3F")
        }
    }

    /// Returns the range of `@` as a separator: before an equals sign or after the suffix of a page or
    /// script. Image names contain it too, as in `icon@2x.png`.
    private static func at(in file: Substring) -> Range<Substring.Index>? {
        guard let mark = file.range(of: "@") else { return nil }
        let isBehindSuffix = ([".html", ".htm", ".css", ".js"] + programs).contains {
            file[..<mark.lowerBound].hasSuffix($0)
        }
        return isBehindSuffix || file[mark.upperBound...].utf8.contains(UInt8(ascii: "=")) ? mark : nil
    }

    /// Removes the suffix of the media type, which `--adjust-extension` adds to names.
    private static func withoutAddedSuffix(_ query: Substring) -> Substring {
        for suffix in [".html", ".css"] where query.hasSuffix(suffix) { return query.dropLast(suffix.count) }
        return query
    }

    private static let programs = [".php", ".asp", ".aspx", ".jsp", ".cgi", ".cfm", ".do", ".pl", ".py"]

    private static func withoutSuffixOfProgram(_ file: Substring) -> Substring {
        guard file.hasSuffix(".html") else { return file }
        let bare = file.dropLast(5)
        return programs.contains { bare.hasSuffix($0) } ? bare : file
    }

    /// Appends a part of a file name with the escapes that a URL needs.
    private func append(_ text: Substring, to target: inout [UInt8], isQuery: Bool) {
        let bytes = Array(text.utf8)
        var at = 0
        while at < bytes.count {
            let byte = bytes[at]
            let escaped =
                at + 2 < bytes.count
                ? Hex.decode(String(decoding: bytes[at + 1...at + 2], as: UTF8.self))?.first : nil
            if byte == UInt8(ascii: "%"), let escaped, manner != .own || escaped >= 0x80 {
                if isForNames(escaped, isQuery) {
                    target.append(escaped)
                } else {
                    target += bytes[at...at + 2]
                }
                at += 3
                continue
            }
            if byte <= 0x20 || byte >= 0x7F || Self.special.contains(byte) {
                target += Array("%".utf8) + Array(Hex.encode([byte]).uppercased().utf8)
            } else {
                target.append(byte)
            }
            at += 1
        }
    }

    /// Whether a byte is escaped only because file names cannot contain it, so that the URL has it unescaped:
    /// slashes and question marks in queries, and characters that Windows does not allow.
    private func isForNames(_ byte: UInt8, _ isQuery: Bool) -> Bool {
        if isQuery, byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") { return true }
        guard manner == .windows || manner == .escaped else { return false }
        return byte == UInt8(ascii: ":") || byte == UInt8(ascii: "*") || byte == UInt8(ascii: "|")
    }

    private static let special = Array("\"#%<>?\\^`{}".utf8)
}
