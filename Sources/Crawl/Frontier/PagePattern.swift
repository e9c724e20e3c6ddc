package import Web

/// The patterns by which pages with similar URLs are grouped.
package enum PagePattern {
    /// The pattern of a URL: its host, the first two folders and the file extension, such as
    /// `example.com/docs/guide/*.html`, or `example.com/docs/guide/*/` for a URL that ends in a slash. Numbers
    /// are replaced, since they are names of objects and not of folders: `example.com/runs/…/*`.
    ///
    /// - Parameter isNamed: whether the last path component is included as it is.
    package static func text(of url: WebURL, isNamed: Bool = false) -> String {
        var names = url.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        var last = names.popLast() ?? ""
        var slash = ""
        if last.isEmpty, let folder = names.popLast() { (last, slash) = (folder, "/") }
        let dot = slash.isEmpty ? last.lastIndex(of: ".") : nil
        let ending = dot.map { last[$0...] } ?? ""
        var text = url.host + (url.port.map { ":\($0)" } ?? "")
        for name in names.prefix(2) { text += isNumber(name) ? "/…" : "/\(name)" }
        if names.count > 2, !text.hasSuffix("/…") { text += "/…" }
        text += "/" + (isNamed ? last : last.isEmpty ? "" : "*\(ending.count <= 6 ? ending : "")") + slash
        if let query = url.query, !query.isEmpty {
            // A query item without a name may be any value.
            let keys = Set(query.queryItems.map { $0.contains("=") ? $0.prefix { $0 != "=" } : "*" })
                .sorted()
            text += "?" + keys.prefix(4).joined(separator: "&") + (keys.count > 4 ? "&…" : "")
        }
        return text
    }

    /// The group of pages with the same controls: the pattern, with the last path component unless it has a
    /// digit. Unlike the patterns of views, it does not change while pages are found.
    static func controlGroup(of url: WebURL) -> String {
        let last = url.path.split(separator: "/", omittingEmptySubsequences: true).last ?? ""
        return text(of: url) + " " + (last.utf8.contains(where: \.isASCIIDigit) ? "" : last)
    }

    /// The last folder of a URL that ends in a slash, unless it is a number; nil for other URLs.
    static func lastFolder(of url: WebURL) -> Substring? {
        guard url.path.hasSuffix("/"),
            let folder = url.path.split(separator: "/", omittingEmptySubsequences: true).last,
            !isNumber(folder)
        else { return nil }
        return folder
    }

    /// Whether the last folder of a URL that ends in a slash is a number.
    static func endsInNumber(_ url: WebURL) -> Bool {
        url.path.split(separator: "/", omittingEmptySubsequences: true).last.map(isNumber) ?? false
    }

    /// Whether the path component is a decimal number, or a long hexadecimal one such as an identifier.
    private static func isNumber(_ name: Substring) -> Bool {
        let name = name.utf8
        if name.allSatisfy(\.isASCIIDigit) { return !name.isEmpty }
        let dash = UInt8(ascii: "-")
        return name.count >= 16 && name.contains(where: \.isASCIIDigit)
            && name.allSatisfy { $0 == dash || $0.isASCIIDigit || 0x61...0x66 ~= $0 | 0x20 }
    }
}

extension UInt8 {
    /// Whether the byte separates the items of a query: `&`, or `;`, which some servers use instead.
    var separatesQueryItems: Bool { self == UInt8(ascii: "&") || self == UInt8(ascii: ";") }
}

extension String {
    /// The items of this query that are not empty.
    var queryItems: [Substring] { utf8.split(whereSeparator: \.separatesQueryItems).map(Substring.init) }
}
