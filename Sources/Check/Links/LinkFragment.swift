internal import Glibc
internal import Markup
internal import Reports
internal import Web

/// The fragment of a link: the name of an element, followed by the directives of a text fragment if there are any, as in
/// `installation:~:text=on%20Debian`.
struct LinkFragment {
    /// The part that names an element.
    let name: String
    /// The texts of the directives, still percent-encoded: `prefix-,start,end,-suffix`.
    let directives: [String]

    init(_ fragment: String) {
        guard let mark = fragment.firstRange(of: ":~:") else {
            (name, directives) = (fragment, [])
            return
        }
        name = String(fragment[..<mark.lowerBound])
        directives = fragment[mark.upperBound...].split(separator: "&").compactMap {
            $0.hasPrefix("text=") ? String($0.dropFirst("text=".count)) : nil
        }
    }

    /// Whether the fragment is the route of an application, such as `#/settings` or `#!page`, which scripts interpret.
    var isRoute: Bool { name.hasPrefix("/") || name.hasPrefix("!") }

    /// The ends of a range of lines, such as `100-102` of rustdoc and `L10-L20` of GitHub; nil for any other fragment. Scripts
    /// interpret these, while the elements of the lines have ids of their own.
    var rangeEnds: (first: String, last: String)? {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let first = parts.first, let last = parts.last,
            first.utf8.last?.isASCIIDigit == true, last.utf8.last?.isASCIIDigit == true
        else { return nil }
        return (String(first), String(last))
    }

    /// Whether the fragment chooses a part of an image: a view of an SVG document, or a media fragment such as `xywh=0,0,9,9`.
    func isViewOfImage(at path: String) -> Bool {
        path.lowercased().hasSuffix(".svg") && (name.hasPrefix("svgView(") || name.contains("="))
    }

    /// The reason why a link with this fragment is faulty.
    ///
    /// - Parameter hasName: whether the document has the element. Then the text of the directives is missing.
    func missingText(in document: String, hasName: Bool = false) -> String {
        if !directives.isEmpty, hasName || name.isEmpty { return "\(document) does not contain the text" }
        let decoded = String(decoding: [UInt8](percentDecoding: name.utf8.span), as: UTF8.self)
        return "\(document) has no element with the id \"\(decoded)\""
    }

    /// Whether a document contains the text of at least one directive (URL Fragment Text Directives, WICG). Case and white
    /// space make no difference.
    ///
    /// - Parameter text: The text of the document (`searchableText`).
    func isTextFound(in text: [UInt8]) -> Bool {
        directives.contains { directive in
            // A prefix ends with a hyphen, and a suffix begins with one.
            var start = 0
            for part in directive.split(separator: ",") {
                let bare =
                    part.hasSuffix("-") ? part.dropLast() : part.hasPrefix("-") ? part.dropFirst() : part
                let decoded = String(decoding: [UInt8](percentDecoding: Array(bare.utf8).span), as: UTF8.self)
                guard let end = Self.offset(after: Self.normalized(decoded), in: text, from: start) else {
                    return false
                }
                start = end
            }
            return true
        }
    }

    /// The text of a document in the form in which it is searched: in lower case, with single spaces.
    static func searchableText(of document: LinkDocument, _ body: Span<UInt8>) -> [UInt8] {
        let text = DocumentText(html: body, charset: document.type?.charset)
        return normalized(String(decoding: text.body + [0x20] + text.aside, as: UTF8.self))
    }

    private static func normalized(_ text: String) -> [UInt8] {
        Array(text.lowercased().split { $0.isWhitespace }.joined(separator: " ").utf8)
    }

    /// The offset after the first occurrence of a part; nil if there is none.
    private static func offset(after part: [UInt8], in text: [UInt8], from start: Int) -> Int? {
        guard let first = part.first else { return start }
        return text.withUnsafeBytes { text in
            part.withUnsafeBytes { part in
                guard let base = text.baseAddress, let wanted = part.baseAddress else { return nil }
                var index = start
                while index + part.count <= text.count {
                    guard let found = memchr(base + index, Int32(first), text.count - part.count - index + 1)
                    else { return nil }
                    if memcmp(found, wanted, part.count) == 0 {
                        return UnsafeRawPointer(found) - base + part.count
                    }
                    index = UnsafeRawPointer(found) - base + 1
                }
                return nil
            }
        }
    }
}

/// Judges links with schemes other than http and https.
enum OtherScheme {
    /// Schemes whose links are fine without a check. Others may be mistyped, or name files of one machine.
    private static let uncheckedSchemes: Set<String> = [
        "about", "blob", "data", "facetime", "ftp", "ftps", "geo", "git", "irc", "ircs", "javascript",
        "magnet", "matrix",
        "news", "sftp", "sip", "skype", "sms", "ssh", "tel", "tg", "urn", "view-source", "webcal", "whatsapp",
        "ws", "wss", "xmpp",
    ]

    /// The verdict on a link. Checks the syntax of the addresses in `mailto:` links; other schemes cannot be checked.
    static func judge(_ url: WebURL) -> (verdict: LinkCheckReport.Verdict, detail: String)? {
        guard url.scheme == "mailto" else {
            return uncheckedSchemes.contains(url.scheme)
                ? (.verified, "") : (.notChecked, "links with the scheme \(url.scheme): are not checked")
        }
        // RFC 6068: without an address, the query names the recipients.
        if url.path.isEmpty, url.query != nil { return (.verified, "") }
        // A comma in an address is percent-encoded.
        let addresses = url.path.split(separator: ",", omittingEmptySubsequences: false).map { part in
            let text = String(decoding: [UInt8](percentDecoding: part.utf8.span), as: UTF8.self)
            return String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        }
        let faulty = addresses.first { !isAddress(withoutDisplayName($0)) }
        return faulty.map { (.dead, "\"\($0)\" is not an e-mail address") } ?? (.verified, "")
    }

    /// The address in a text such as `Anna <anna@example.com>`, which RFC 6068 does not allow but mail programs accept.
    private static func withoutDisplayName(_ text: String) -> String {
        guard text.hasSuffix(">"), let start = text.lastIndex(of: "<") else { return text }
        return String(text[text.index(after: start)...].dropLast())
    }

    /// Whether a text has the form of an address (RFC 5322, section 3.4.1): a local part, which may be quoted, `@`, and a host
    /// name or an address in brackets.
    private static func isAddress(_ text: String) -> Bool {
        guard let at = text.lastIndex(of: "@") else { return false }
        let (local, host) = (text[..<at], text[text.index(after: at)...])
        guard !local.isEmpty, local.utf8.count <= 64 else { return false }
        if !(local.count > 2 && local.hasPrefix("\"") && local.hasSuffix("\"")) {
            let isDotAtom = local.unicodeScalars.allSatisfy {
                $0.value > 0x20 && !"()<>[]:;@\\\"".unicodeScalars.contains($0)
            }
            guard isDotAtom, !local.hasPrefix("."), !local.hasSuffix(".") else { return false }
        }
        if host.hasPrefix("["), host.hasSuffix("]") { return host.count > 2 }
        // A text with more than a host, such as a port or a path, is no address.
        guard let url = WebURL("http://\(host)"), url.port == nil, url.target == "/", !host.contains("/"),
            !host.contains(":")
        else { return false }
        let labels = url.host.split(separator: ".", omittingEmptySubsequences: false)
        return labels.count > 1 && !labels.contains("") || url.host == "localhost"
    }
}
