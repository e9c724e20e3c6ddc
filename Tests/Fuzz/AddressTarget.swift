internal import Web

/// The URL parser. Each line of the input is a reference, resolved against the URL of the line before.
struct AddressTarget: Target {
    let name = "url"
    let suffixes = [".urls"]
    let pieces = [
        ":", "/", "//", "\\", "?", "#", "@", "[", "]", "%", "%2e", "%2F", "..", ".", "|", "&", "\t", " ",
        "\n", "http:",
        "https://", "file:///C|/", "ws://", "foo:", "data:", "blob:", "0x7f.1", "1.2.3.4", "[::1]",
        "[1::2.3.4.5]",
        ":80",
        ":443", ":65536", "xn--", "xn--bcher-kva", "ü", "ß", "\u{200D}", "\u{3002}", "\u{AD}", "\u{FF0E}",
        "☕", "é",
    ]

    func fault(_ input: [UInt8]) -> String? {
        var base: WebURL?
        for line in input.split(separator: UInt8(ascii: "\n")).map(Array.init) {
            for encoding in [TextEncoding.utf8, .shiftJIS, .utf16le] {
                guard let url = WebURL(utf8: line.span, base: base, queryEncoding: encoding) else { continue }
                if let fault = fault(of: url) { return fault }
            }
            if let fault = fastPathFault(line, base) { return fault }
            base = WebURL(utf8: line.span, base: base) ?? base
        }
        return nil
    }

    /// A serialized URL must parse to the same URL.
    private func fault(of url: WebURL) -> String? {
        guard url.href.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F || $0 == 0x20 && url.hasOpaquePath }) else {
            return "a byte: \(url)"
        }
        for url in [url, url.withoutFragment, url.withoutCredentials] {
            guard let again = WebURL(url.href) else { return "a URL that is none: \(url)" }
            guard parts(again) == parts(url) else {
                return "another URL: \(parts(url)) became \(parts(again))"
            }
        }
        return nil
    }

    /// The fast path of the parser must give the same result as the general one. A tab, which the standard removes, prevents
    /// the fast path.
    private func fastPathFault(_ line: [UInt8], _ base: WebURL?) -> String? {
        let line = line.filter { $0 > 0x20 }
        guard line.count > 1, line[0] < 0x80 else { return nil }
        var withTab = line
        withTab.insert(0x09, at: 1)
        let fast = WebURL(utf8: line.span, base: base)
        let general = WebURL(utf8: withTab.span, base: base)
        guard fast.map(parts) == general.map(parts) else {
            return "the short way: \(fast?.href ?? "nothing") instead of \(general?.href ?? "nothing")"
        }
        return nil
    }

    private func parts(_ url: WebURL) -> [String?] {
        [
            url.href, url.scheme, url.username, url.password, url.host, url.port.map { "\($0)" }, url.path,
            url.query,
            url.fragment, url.origin,
        ]
    }
}
