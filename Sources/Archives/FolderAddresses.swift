internal import Web

/// Which address a file of a mirror or of a site's own folder had: the reverse of what tools make of
/// addresses. A value that knows names and nothing else.
struct FolderAddresses {
    /// How whoever wrote the names has made them of addresses.
    enum Manner {
        /// A site's own files have their names.
        case own
        /// Queries stand behind `?`, and escapes are escapes.
        case unix
        /// What Windows keeps out of names is escaped, and queries stand behind `@` (wget).
        case windows
        /// The same, with `?` escaped too (wget2).
        case escaped
    }

    let manner: Manner

    /// - Parameters:
    ///   - names: of all files.
    ///   - folder: the name of the folder around them that stands for their host; nil for none.
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

    /// `example.com`, `example.com:8080` (wget), `example.com+8080` (wget for Windows) or `example.com_8080`
    /// (HTTrack), as a host and its port; nil for what is no host.
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
        // `node.js` and `index.html` are folders, or files.
        let last = host.split(separator: ".").last.map { $0.lowercased() } ?? ""
        guard !FileTypes.isSuffix(last), host.first != ".", host.last != "." else { return nil }
        return (url.host, port)
    }

    // MARK: - Paths

    /// What stands behind the origin: `a/page?q=1.html` is `/a/page?q=1`.
    ///
    /// - Parameter keepsIndex: the page of a folder has the name of its file.
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

    /// The same with nothing taken for what a tool has added; nil where that makes no other address. Who has
    /// asked for it knows.
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

    /// What stands between a path and its query.
    private func mark(in file: Substring) -> Range<Substring.Index>? {
        switch manner {
        case .own: nil
        case .unix: file.range(of: "?") ?? file.range(of: "%3F")
        case .windows: Self.at(in: file)
        case .escaped: file.range(of: "%3F")
        }
    }

    /// In front of an equals sign or behind the suffix of a page: names of pictures have one too,
    /// `icon@2x.png`.
    private static func at(in file: Substring) -> Range<Substring.Index>? {
        guard let mark = file.range(of: "@") else { return nil }
        let isBehindSuffix = ([".html", ".htm", ".css", ".js"] + programs).contains {
            file[..<mark.lowerBound].hasSuffix($0)
        }
        return isBehindSuffix || file[mark.upperBound...].utf8.contains(UInt8(ascii: "=")) ? mark : nil
    }

    /// With `--adjust-extension` names end with what the media type wants.
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

    /// As it stands in an address.
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

    /// What is escaped as no name has it, and stands for itself in addresses: slashes in queries, and what
    /// Windows does not take.
    private func isForNames(_ byte: UInt8, _ isQuery: Bool) -> Bool {
        if isQuery, byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") { return true }
        guard manner == .windows || manner == .escaped else { return false }
        return byte == UInt8(ascii: ":") || byte == UInt8(ascii: "*") || byte == UInt8(ascii: "|")
    }

    private static let special = Array("\"#%<>?\\^`{}".utf8)
}
