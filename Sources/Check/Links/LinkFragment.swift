internal import Markup
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
    /// - Parameter hasName: whether the document has the element, so that it is the text of a directive that is missing.
    func missingText(in document: String, hasName: Bool = false) -> String {
        if !directives.isEmpty, hasName || name.isEmpty { return "\(document) does not contain the text" }
        let decoded = String(decoding: [UInt8](percentDecoding: name.utf8.span), as: UTF8.self)
        return "\(document) has no element with the id \"\(decoded)\""
    }

    /// Whether the document contains the text of at least one directive (URL Fragment Text Directives, WICG). Case and white
    /// space make no difference.
    func areTextsFound(in body: Span<UInt8>, _ document: LinkDocument) -> Bool {
        let text = DocumentText(html: body, charset: document.type?.charset)
        let haystack = Self.normalized(String(decoding: text.body + [0x20] + text.aside, as: UTF8.self))
        return directives.contains { directive in
            // A prefix ends with a hyphen, and a suffix begins with one.
            var rest = haystack[...]
            for part in directive.split(separator: ",") {
                let bare =
                    part.hasSuffix("-") ? part.dropLast() : part.hasPrefix("-") ? part.dropFirst() : part
                let decoded = String(decoding: [UInt8](percentDecoding: Array(bare.utf8).span), as: UTF8.self)
                guard let found = rest.firstRange(of: Self.normalized(decoded)) else { return false }
                rest = rest[found.upperBound...]
            }
            return true
        }
    }

    /// The text in lower case, with single spaces.
    private static func normalized(_ text: String) -> String {
        text.lowercased().split { $0.isWhitespace }.joined(separator: " ")
    }
}

/// Judges links with schemes other than http and https.
enum OtherScheme {
    /// The verdict on a link. Nothing can be checked about most schemes; of `mailto:`, the syntax of the addresses is.
    static func judge(_ url: WebURL) -> (verdict: LinkCheckReport.Verdict, detail: String)? {
        guard url.scheme == "mailto" else { return (.verified, "") }
        let text = String(decoding: [UInt8](percentDecoding: url.path.utf8.span), as: UTF8.self)
        // RFC 6068: without an address, the query names the recipients.
        if text.isEmpty, url.query != nil { return (.verified, "") }
        let faulty = text.split(separator: ",", omittingEmptySubsequences: false).first { !isAddress($0) }
        return faulty.map { (.dead, "\"\($0)\" is not an e-mail address") } ?? (.verified, "")
    }

    /// Whether a text has the form of an address: one `@` between a local part without spaces and a host name.
    private static func isAddress(_ text: Substring) -> Bool {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, let local = parts.first, let host = parts.last, !local.isEmpty,
            local.utf8.count <= 64
        else {
            return false
        }
        let isLocal = local.unicodeScalars.allSatisfy {
            $0.value > 0x20 && !"()<>[]:;\\\"".unicodeScalars.contains($0)
        }
        guard isLocal, !local.hasPrefix("."), !local.hasSuffix(".") else { return false }
        // A text with more than a host, such as a port or a path, is no address.
        guard let url = WebURL("http://\(host)"), url.port == nil, url.target == "/", !host.contains("/"),
            !host.contains(":")
        else { return false }
        return url.host.contains(".") || url.host == "localhost"
    }
}
