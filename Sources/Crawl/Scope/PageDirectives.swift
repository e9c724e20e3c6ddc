package import Web

/// How the crawl treats the directives of pages for crawlers.
///
/// - `nofollow` is meant for search engines: it keeps them from judging a page by its links, or from fetching pages
///   that would cost them much. A person who reads the site follows such links. So do crawls, unless the user
///   wants otherwise.
/// - `noindex` is meant for search engines, so it counts only if the user asks for it. The page is then
///   scanned for links but not stored. Start pages are always stored, because the user named them.
/// - Assets of pages are not affected.
package struct DirectivePolicy: Sendable, Equatable {
    package var nofollow = NofollowPolicy.follow
    package var noindex = RobotsPolicy.ignore

    package init(nofollow: NofollowPolicy = .follow, noindex: RobotsPolicy = .ignore) {
        self.nofollow = nofollow
        self.noindex = noindex
    }

    /// Whether a link to a page is not followed.
    func skipsLink(isMarked: Bool, on page: PageDirectives) -> Bool {
        switch nofollow {
        case .follow: false
        case .pages: page.contains(.nofollow)
        case .obey: page.contains(.nofollow) || isMarked
        }
    }
}

/// The directives of a page for crawlers, from its response headers or its head.
struct PageDirectives: OptionSet, Sendable, Hashable {
    let rawValue: UInt8

    init(rawValue: UInt8) { self.rawValue = rawValue }

    static let noindex = PageDirectives(rawValue: 1)
    static let nofollow = PageDirectives(rawValue: 2)

    /// Parses the content of `<meta name=robots>`, or of one with the crawler's name: words that are
    /// separated by commas or spaces.
    init(metaContent: Span<UInt8>) {
        self = []
        metaContent.withUnsafeBufferPointer { bytes in
            for word in bytes.prefix(Self.maxFieldBytes).split(whereSeparator: Self.isSeparator) {
                insert(word: word)
            }
        }
    }

    /// Combines the directives of the response headers and of the page's head.
    init(_ fields: HTTPFields, metaContent: String?, productToken: String) {
        self = fields["X-Robots-Tag"] == nil ? [] : PageDirectives(fields, productToken: productToken)
        if let metaContent { formUnion(PageDirectives(metaContent: metaContent.utf8.span)) }
    }

    /// Parses the `X-Robots-Tag` fields for all crawlers and for the one with this product token.
    /// `X-Robots-Tag: noindex, otherbot: nofollow` forbids only `otherbot` to follow links.
    init(_ fields: HTTPFields, productToken: String) {
        self = []
        let token = Array(productToken.utf8.map(\.lowercasedASCII))
        for value in fields.all("X-Robots-Tag") {
            var isForUs = true
            for element in value.utf8.prefix(Self.maxFieldBytes).split(separator: UInt8(ascii: ",")) {
                var rest = element
                if let (agent, directives) = Self.address(of: element) {
                    isForUs = agent == token
                    rest = directives
                }
                guard isForUs else { continue }
                for word in rest.split(whereSeparator: Self.isSeparator) { insert(word: word) }
            }
        }
    }

    /// The maximum number of bytes of a field or meta element that are parsed.
    private static let maxFieldBytes = 8192

    /// Directives that have a value after a colon, so that they are not taken for names of crawlers.
    private static let valued: Set<String> = [
        "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview",
    ]

    /// Returns the crawler's name in lower case with which an element begins, and the rest of the element;
    /// nil if the element begins without a name.
    private static func address(
        of element: Substring.UTF8View.SubSequence
    ) -> (agent: [UInt8], directives: Substring.UTF8View.SubSequence)? {
        guard let colon = element.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let words = element[..<colon].split(whereSeparator: isSeparator)
        guard words.count == 1, let name = words.first?.map(\.lowercasedASCII),
            !valued.contains(String(decoding: name, as: UTF8.self))
        else { return nil }
        return (name, element[colon...].dropFirst())
    }

    private static func isSeparator(_ byte: UInt8) -> Bool {
        byte <= 0x20 || byte == UInt8(ascii: ",") || byte == UInt8(ascii: ";")
    }

    private mutating func insert(word: some Collection<UInt8>) {
        switch String(decoding: word.prefix(16).map(\.lowercasedASCII), as: UTF8.self) {
        case "noindex": insert(.noindex)
        case "nofollow": insert(.nofollow)
        case "none": formUnion([.noindex, .nofollow])
        default: break
        }
    }
}
