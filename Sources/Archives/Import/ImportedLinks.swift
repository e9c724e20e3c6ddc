internal import Markup
internal import Store
internal import Web

/// Collects the links of an imported body in the form in which a crawl stores them. Links are resolved at the end, when
/// the base URL of the document is known.
struct ImportedLinks {
    private var pages: Set<String> = []
    private var assets: Set<String> = []
    /// URLs that scripts may load. They are less certain than other links.
    private var guesses: Set<String> = []
    /// The links as they are written in the body, until `resolve` is called.
    private var references: [(reference: [UInt8], occurrence: LinkOccurrence)] = []

    /// The maximum number of links of a body. Further links are ignored.
    private static let maxLinks = 100_000

    mutating func add(_ occurrence: LinkOccurrence, _ reference: Span<UInt8>) {
        guard occurrence.role != .other, !occurrence.flags.contains(.isFragment),
            references.count < Self.maxLinks
        else { return }
        references.append((reference.withUnsafeBufferPointer { Array($0) }, occurrence))
    }

    /// Returns the links of the body at a URL, as pages, assets and guesses.
    mutating func resolve(at url: WebURL, _ table: LinkTable) -> NewLinks {
        let base = table.base.flatMap { WebURL($0, base: url) } ?? url
        for (reference, occurrence) in references {
            let target = WebURL(
                utf8: reference.span, base: occurrence.flags.contains(.ignoresBase) ? url : base,
                queryEncoding: table.encoding)
            addTarget(target, occurrence.kind, occurrence.flags)
        }
        for link in table.implied {
            addTarget(WebURL(link.reference(fromBodyAt: url.path), base: base), link.kind, link.flags)
        }
        var links = NewLinks(from: .init(href: url.href))
        links.pages = pages.map { .init(href: $0) }
        links.assets = assets.map { .init(href: $0) }
        links.guesses = guesses.map { .init(href: $0) }
        return links
    }

    private mutating func addTarget(_ target: WebURL?, _ kind: LinkKind, _ flags: LinkFlags) {
        guard let target, target.isHTTP, kind.role != .other else { return }
        if flags.contains(.isGuess) {
            guesses.insert(target.key.href)
        } else if kind.isPartOfPage {
            assets.insert(target.key.href)
        } else {
            pages.insert(target.key.href)
        }
    }
}
