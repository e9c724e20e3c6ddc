internal import Web

/// Which address a file of a mirror or of a site's own folder had: the reverse of what tools make of
/// addresses. A value that knows names and nothing else.
struct FolderAddresses {
    /// Tools write queries into names, and leave escapes as they were; a site's own files have their names.
    let hasQueries: Bool

    /// - Parameter names: of all files.
    init(names: some Sequence<String>) {
        hasQueries = names.contains { Self.query(of: Self.split($0).file) != nil }
    }

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
        if hasQueries, let mark = Self.query(of: file) {
            query = Self.withoutAddedSuffix(file[mark.upperBound...])
            file = file[..<mark.lowerBound]
        } else if hasQueries || Self.isOfProgram(file) {
            file = Self.withoutSuffixOfProgram(file)
        }
        if file == "index.html", !keepsIndex { file = "" }
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

    /// What stands between a path and its query: `?`, the same escaped (wget2), or `@` in front of an equals
    /// sign (wget for Windows), which names of pictures have too: `icon@2x.png`.
    private static func query(of file: Substring) -> Range<Substring.Index>? {
        if let mark = file.range(of: "?") ?? file.range(of: "%3F") { return mark }
        guard let mark = file.range(of: "@"), file[mark.upperBound...].utf8.contains(UInt8(ascii: "=")) else {
            return nil
        }
        return mark
    }

    /// With `--adjust-extension` names end with what the media type wants.
    private static func withoutAddedSuffix(_ query: Substring) -> Substring {
        for suffix in [".html", ".css"] where query.hasSuffix(suffix) { return query.dropLast(suffix.count) }
        return query
    }

    private static let programs = [".php", ".asp", ".aspx", ".jsp", ".cgi", ".cfm", ".do", ".pl", ".py"]

    private static func isOfProgram(_ file: Substring) -> Bool { withoutSuffixOfProgram(file) != file }

    private static func withoutSuffixOfProgram(_ file: Substring) -> Substring {
        guard file.hasSuffix(".html") else { return file }
        let bare = file.dropLast(5)
        return programs.contains { bare.hasSuffix($0) } ? bare : file
    }

    /// As it stands in an address. Slashes in queries cannot stand in names, and are escaped there.
    private func append(_ text: Substring, to target: inout [UInt8], isQuery: Bool) {
        let bytes = Array(text.utf8)
        var at = 0
        while at < bytes.count {
            let byte = bytes[at]
            let escaped =
                at + 2 < bytes.count
                ? Hex.decode(String(decoding: bytes[at + 1...at + 2], as: UTF8.self)) : nil
            if byte == UInt8(ascii: "%"), let escaped, hasQueries || bytes[at + 1] >= UInt8(ascii: "8") {
                if isQuery, escaped == [UInt8(ascii: "/")] {
                    target.append(UInt8(ascii: "/"))
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

    private static let special = Array("\"#%<>?\\^`{}".utf8)
}
