internal import Web

/// Derives the URLs of files from their names in a mirror or in a site's own folder. Mirroring tools make file names
/// from URLs; this type reverses that. It does not read the files.
///
/// For example, the URL `page?q=1` becomes the file `page?q=1` with wget on Unix, `page@q=1` with wget for Windows, and
/// `page%3Fq=1` with wget2. The names of all files together show which scheme a tool has used.
///
/// A *target* is the path and query of a URL, as in `WebURL.target`.
struct FileURLMapper {
    /// The way in which file names were made from URLs.
    enum NamingScheme {
        /// The names are those of the site's own files: no query, and `%` is a plain character.
        case own
        /// A query follows `?`, and percent escapes are those of the URL (wget on Unix).
        case unix
        /// A query follows `@`, and characters that Windows does not allow are escaped (wget for Windows).
        case windows
        /// A query follows `%3F`, and characters that Windows does not allow are escaped (wget2).
        case escaped
    }

    let namingScheme: NamingScheme

    /// Detects the naming scheme.
    ///
    /// - Parameters:
    ///   - names: The paths of all files relative to the folder.
    ///   - folder: The name of the enclosing folder if a tool named it after a host. Nil for a site's own folder.
    init(names: some Sequence<String>, in folder: String? = nil) {
        // Windows does not allow the colon before the port in `example.com:8080`, or these characters in file names.
        var (isUnix, hasEscapedQuery, hasAtQuery) = (folder?.contains(":") ?? false, false, false)
        for name in names {
            let file = Self.split(name).file
            isUnix = isUnix || file.utf8.contains { Self.charactersInvalidOnWindows.contains($0) }
            hasEscapedQuery = hasEscapedQuery || file.range(of: "%3F") != nil
            hasAtQuery = hasAtQuery || Self.atSignSeparator(in: file) != nil
        }
        guard isUnix || hasEscapedQuery || hasAtQuery || folder != nil else {
            namingScheme = .own
            return
        }
        // wget for Windows names folders `example.com+8080`. It writes queries with `@`, so `%3F` is an escape of the URL.
        let isFromWgetForWindows = folder?.contains("+") ?? false
        // Without any of these signs, no name has a query. Then `.windows` differs from `.unix` only in that it unescapes
        // `:`, `*` and `|`.
        namingScheme = isUnix ? .unix : hasEscapedQuery && !isFromWgetForWindows ? .escaped : .windows
    }

    private static let charactersInvalidOnWindows = Array("?:*|<>\"\\".utf8)

    // MARK: - Hosts

    /// Parses a folder name as a host and port: `example.com`, `example.com:8080` (wget), `example.com+8080`
    /// (wget for Windows) or `example.com_8080` (HTTrack). Returns nil if it is not a host.
    static func host(ofFolder name: String) -> (host: String, port: Int?)? {
        var (host, port) = (name, Int?.none)
        // The colons in an IPv6 address without a port, such as `[::1]`, are no separators.
        if let separator = name.lastIndex(where: { $0 == ":" || $0 == "+" || $0 == "_" }), name.last != "]" {
            let digits = name[name.index(after: separator)...]
            if (1...5).contains(digits.utf8.count), let number = Int(digits), (1...65_535).contains(number) {
                (host, port) = (String(name[..<separator]), number)
            }
        }
        // The name contains no other parts of a URL. Parsing may change the host only if it is international (IDNA).
        guard host == "localhost" || host.hasPrefix("[") || host.contains("."),
            let url = WebURL("http://\(host)/"), url.path == "/", url.query == nil, url.port == nil,
            !url.hasCredentials, url.host == host.lowercased() || !host.utf8.allSatisfy({ $0 < 0x80 })
        else { return nil }
        // Names such as `node.js` and `index.html` are not hosts.
        let suffix = host.split(separator: ".").last.map { $0.lowercased() } ?? ""
        guard !FileTypes.isSuffix(suffix), host.first != ".", host.last != "." else { return nil }
        return (url.host, port)
    }

    // MARK: - Targets

    /// Returns the target for a file name, without the parts that tools add: `a/page?q=1.html` becomes `/a/page?q=1`.
    ///
    /// - Parameter keepsIndex: Whether `index.html` stays in the path instead of standing for its folder.
    func target(of name: String, keepsIndex: Bool = false) -> String {
        var (folder, file) = Self.split(name)
        var query: Substring?
        if let separator = querySeparator(in: file) {
            query = Self.withoutSuffixAfterQuery(file[separator.upperBound...])
            file = file[..<separator.lowerBound]
        } else {
            file = Self.withoutSuffixAfterScript(file)
        }
        if file == "index.html", !keepsIndex { file = "" }
        return makeTarget(folder, file, query)
    }

    /// Returns the target for a file name whose parts all come from the URL: `a/page?q=1.html` becomes
    /// `/a/page?q=1.html`. Returns nil if it is the same as `target(of:)`, or if the name has no query. The caller decides
    /// between the two by the links in other files.
    func literalTarget(of name: String) -> String? {
        let (folder, file) = Self.split(name)
        guard let separator = querySeparator(in: file) else { return nil }
        let target = makeTarget(folder, file[..<separator.lowerBound], file[separator.upperBound...])
        return target == self.target(of: name) ? nil : target
    }

    /// Joins the parts of a name to a target, with the escapes of a URL.
    private func makeTarget(_ folder: Substring, _ file: Substring, _ query: Substring?) -> String {
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
        // wget2 may escape only the question mark.
        case .unix: file.range(of: "?") ?? file.range(of: "%3F")
        case .windows: Self.atSignSeparator(in: file)
        case .escaped: file.range(of: "%3F")
        }
    }

    /// Returns the range of the first `@` if it separates path and query. That is so if an equals sign follows, as in
    /// `page@q=1`, or if the suffix of a page or script precedes it, as in `a.html@b`. An image may be named `icon@2x.png`.
    private static func atSignSeparator(in file: Substring) -> Range<Substring.Index>? {
        guard let separator = file.range(of: "@") else { return nil }
        let followsSuffix = ([".html", ".htm", ".css", ".js"] + scriptSuffixes).contains {
            file[..<separator.lowerBound].hasSuffix($0)
        }
        return followsSuffix || file[separator.upperBound...].utf8.contains(UInt8(ascii: "="))
            ? separator : nil
    }

    /// Removes the suffix that `--adjust-extension` adds to a name with a query, as in `page?q=1.html`.
    private static func withoutSuffixAfterQuery(_ query: Substring) -> Substring {
        for suffix in [".html", ".css"] where query.hasSuffix(suffix) { return query.dropLast(suffix.count) }
        return query
    }

    /// Suffixes of server-side scripts, whose URLs do not end in `.html`.
    private static let scriptSuffixes = [
        ".php", ".asp", ".aspx", ".jsp", ".cgi", ".cfm", ".do", ".pl", ".py",
    ]

    /// Removes the suffix that `--adjust-extension` adds to a page of a server-side script, as in `page.php.html`.
    private static func withoutSuffixAfterScript(_ file: Substring) -> Substring {
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
            // The byte that the next two digits stand for, in case this byte is a percent sign.
            let escaped =
                index + 2 < bytes.count
                ? Hex.decode(String(decoding: bytes[index + 1...index + 2], as: UTF8.self))?.first : nil
            // In a site's own names, only escapes of non-ASCII bytes are kept: `p%41.html` is a name with a percent sign.
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
                target.appendPercentEncoded(byte)
            } else {
                target.append(byte)
            }
            index += 1
        }
    }

    /// Whether a byte is escaped in the name only because file names cannot contain it, so that the URL has it
    /// unescaped. These are slashes and question marks in queries, and some characters that Windows does not allow.
    private func isEscapedOnlyForFileSystem(_ byte: UInt8, _ isQuery: Bool) -> Bool {
        if isQuery, byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") { return true }
        guard namingScheme == .windows || namingScheme == .escaped else { return false }
        return byte == UInt8(ascii: ":") || byte == UInt8(ascii: "*") || byte == UInt8(ascii: "|")
    }

    /// Characters that file names contain unescaped and URLs contain escaped.
    private static let escapedCharacters = Array("\"#%<>?\\^`{}".utf8)
}
