internal import Web

/// Derives the URLs of files from their names in a mirror or in a site's own folder. This reverses the way in
/// which mirroring tools make names from URLs. It uses only the names.
///
/// For example, `page?q=1` is mirrored as `page?q=1` by wget on Unix, as `page@q=1` by wget for Windows, and as
/// `page%3Fq=1` by wget2. The names of all files together show which scheme a tool has used.
struct FileURLMapper {
    /// The way in which file names were made from URLs.
    enum NamingScheme {
        /// The names are those of the site's own files.
        case own
        /// A query follows `?`, and percent escapes are those of the URL.
        case unix
        /// Characters that Windows does not allow are escaped, and a query follows `@` (wget).
        case windows
        /// The names are like `windows`, but `?` is escaped too (wget2).
        case escaped
    }

    let namingScheme: NamingScheme

    /// - Parameters:
    ///   - names: The names of all files.
    ///   - folder: The name of the enclosing folder if it stands for the host of the files.
    init(names: some Sequence<String>, in folder: String? = nil) {
        var (isUnix, hasEscaped, hasAt) = (folder?.contains(":") ?? false, false, false)
        for name in names {
            let file = Self.split(name).file
            isUnix = isUnix || file.utf8.contains { Self.charactersInvalidOnWindows.contains($0) }
            hasEscaped = hasEscaped || file.range(of: "%3F") != nil
            hasAt = hasAt || Self.atSignSeparator(in: file) != nil
        }
        let isFromWget = folder?.contains("+") ?? false
        let hasQueries = isUnix || hasEscaped || hasAt
        guard hasQueries || folder != nil else {
            namingScheme = .own
            return
        }
        namingScheme = isUnix ? .unix : hasEscaped && !isFromWget ? .escaped : .windows
    }

    private static let charactersInvalidOnWindows = Array("?:*|<>\"\\".utf8)

    // MARK: - Hosts

    /// Parses a folder name as a host and port: `example.com`, `example.com:8080` (wget), `example.com+8080`
    /// (wget for Windows) or `example.com_8080` (HTTrack). Returns nil if it is not a host.
    static func host(_ name: String) -> (host: String, port: Int?)? {
        var (host, port) = (name, Int?.none)
        if let separator = name.lastIndex(where: { $0 == ":" || $0 == "+" || $0 == "_" }), name.last != "]" {
            let digits = name[name.index(after: separator)...]
            if (1...5).contains(digits.utf8.count), let number = Int(digits), (1...65_535).contains(number) {
                (host, port) = (String(name[..<separator]), number)
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
        if let separator = querySeparator(in: file) {
            query = Self.withoutAddedSuffix(file[separator.upperBound...])
            file = file[..<separator.lowerBound]
        } else {
            file = Self.withoutHTMLSuffix(file)
        }
        if file == "index.html", !keepsIndex { file = "" }
        return target(folder, file, query)
    }

    /// Returns the path and query for a file name if no part of it was added by a tool. Returns nil if that
    /// gives the same URL. Links in other files show which of the two is right.
    func literalTarget(of name: String) -> String? {
        let (folder, file) = Self.split(name)
        guard let separator = querySeparator(in: file) else { return nil }
        let target = target(folder, file[..<separator.lowerBound], file[separator.upperBound...])
        return target == self.target(of: name) ? nil : target
    }

    /// Returns the path and query for the parts of a name.
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

    /// Splits a name into its folder, with the slash at the end, and its last part.
    private static func split(_ name: String) -> (folder: Substring, file: Substring) {
        guard let slash = name.utf8.lastIndex(of: UInt8(ascii: "/")) else { return ("", name[...]) }
        return (name[...slash], name[name.utf8.index(after: slash)...])
    }

    /// Returns the range of the separator between path and query.
    private func querySeparator(in file: Substring) -> Range<Substring.Index>? {
        switch namingScheme {
        case .own: nil
        case .unix: file.range(of: "?") ?? file.range(of: "%3F")
        case .windows: Self.atSignSeparator(in: file)
        case .escaped: file.range(of: "%3F")
        }
    }

    /// Returns the range of `@` as a separator: before an equals sign or after the suffix of a page or
    /// script. Image names contain it too, as in `icon@2x.png`.
    private static func atSignSeparator(in file: Substring) -> Range<Substring.Index>? {
        guard let separator = file.range(of: "@") else { return nil }
        let followsSuffix = ([".html", ".htm", ".css", ".js"] + scriptSuffixes).contains {
            file[..<separator.lowerBound].hasSuffix($0)
        }
        return followsSuffix || file[separator.upperBound...].utf8.contains(UInt8(ascii: "="))
            ? separator : nil
    }

    /// Removes the suffix of the media type, which `--adjust-extension` adds to names.
    private static func withoutAddedSuffix(_ query: Substring) -> Substring {
        for suffix in [".html", ".css"] where query.hasSuffix(suffix) { return query.dropLast(suffix.count) }
        return query
    }

    /// Suffixes of server-side scripts, whose URLs do not end in `.html`.
    private static let scriptSuffixes = [
        ".php", ".asp", ".aspx", ".jsp", ".cgi", ".cfm", ".do", ".pl", ".py",
    ]

    /// Removes the suffix that `--adjust-extension` adds to a page of a server-side script, as in `page.php.html`.
    private static func withoutHTMLSuffix(_ file: Substring) -> Substring {
        guard file.hasSuffix(".html") else { return file }
        let bare = file.dropLast(5)
        return scriptSuffixes.contains { bare.hasSuffix($0) } ? bare : file
    }

    /// Appends a part of a file name with the escapes that a URL needs.
    private func append(_ text: Substring, to target: inout [UInt8], isQuery: Bool) {
        let bytes = Array(text.utf8)
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            let escaped =
                index + 2 < bytes.count
                ? Hex.decode(String(decoding: bytes[index + 1...index + 2], as: UTF8.self))?.first : nil
            if byte == UInt8(ascii: "%"), let escaped, namingScheme != .own || escaped >= 0x80 {
                if isEscapedOnlyForFileSystem(escaped, isQuery) {
                    target.append(escaped)
                } else {
                    target += bytes[index...index + 2]
                }
                index += 3
                continue
            }
            if byte <= 0x20 || byte >= 0x7F || Self.escapedCharacters.contains(byte) {
                target += Array("%".utf8) + Array(Hex.encode([byte]).uppercased().utf8)
            } else {
                target.append(byte)
            }
            index += 1
        }
    }

    /// Whether a byte is escaped only because file names cannot contain it, so that the URL has it unescaped:
    /// slashes and question marks in queries, and characters that Windows does not allow.
    private func isEscapedOnlyForFileSystem(_ byte: UInt8, _ isQuery: Bool) -> Bool {
        if isQuery, byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") { return true }
        guard namingScheme == .windows || namingScheme == .escaped else { return false }
        return byte == UInt8(ascii: ":") || byte == UInt8(ascii: "*") || byte == UInt8(ascii: "|")
    }

    /// Characters that are escaped in URLs. In file names they stand for themselves.
    private static let escapedCharacters = Array("\"#%<>?\\^`{}".utf8)
}
