package import Web

/// What is made of what pages ask of crawlers.
///
/// - `nofollow` of a page, in its head or its `X-Robots-Tag`, is said to whoever follows links by machine,
///   and is kept as robots.txt is. `rel=nofollow`, `ugc` and `sponsored` of single links only say that a page
///   does not stand for where they lead, so that they count where that is asked for.
/// - `noindex` is said to search engines. A larder is none, so that it counts where it is asked for: then a
///   page is read for its links and not kept. A start is always kept: a person named it.
/// - What a page needs is never affected.
package struct PageManners: Sendable, Equatable {
    package var nofollow = NofollowPolicy.pages
    package var noindex = RobotsPolicy.ignore

    package init(nofollow: NofollowPolicy = .pages, noindex: RobotsPolicy = .ignore) {
        self.nofollow = nofollow
        self.noindex = noindex
    }

    /// Whether a link to a page is left alone.
    func leaves(linkMarked isMarked: Bool, on page: PageDirectives) -> Bool {
        switch nofollow {
        case .ignore: false
        case .pages: page.contains(.nofollow)
        case .links: page.contains(.nofollow) || isMarked
        }
    }
}

/// What a page asks of crawlers for itself, in a field of its response or an element of its head.
package struct PageDirectives: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let noindex = PageDirectives(rawValue: 1)
    package static let nofollow = PageDirectives(rawValue: 2)

    /// The content of `<meta name=robots>`, or of one named like the agent: words with commas or spaces
    /// between.
    package init(metaContent: Span<UInt8>) {
        self = []
        metaContent.withUnsafeBufferPointer { bytes in
            for word in bytes.prefix(Self.longestText).split(whereSeparator: Self.isSeparator) {
                insert(word: word)
            }
        }
    }

    /// What an answer says, in its fields and in its head.
    init(_ fields: HTTPFields, metaContent: String?, productToken: String) {
        self = fields["X-Robots-Tag"] == nil ? [] : PageDirectives(fields, productToken: productToken)
        if let metaContent { formUnion(PageDirectives(metaContent: metaContent.utf8.span)) }
    }

    /// The `X-Robots-Tag` fields, as far as they speak to all or to the agent with this product token:
    /// `X-Robots-Tag: noindex, otherbot: nofollow` forbids to follow to `otherbot` alone.
    package init(_ fields: HTTPFields, productToken: String) {
        self = []
        let token = Array(productToken.utf8.map(\.lowercasedASCII))
        for value in fields.all("X-Robots-Tag") {
            var isForUs = true
            for element in value.utf8.prefix(Self.longestText).split(separator: UInt8(ascii: ",")) {
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

    private static let longestText = 8192

    /// Directives with a value of their own, which are no names of agents.
    private static let valued: Set<String> = [
        "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview",
    ]

    /// The agent in lower case that an element begins with, and what is said to it; nil when it speaks to
    /// nobody new.
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
