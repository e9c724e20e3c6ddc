internal import Markup
internal import Store
internal import Web

/// Collects the links of a body in the form in which a crawl stores them.
struct ArchivedLinks {
    private var pages: Set<String> = []
    private var assets: Set<String> = []
    private var guesses: Set<String> = []
    private var references: [(reference: [UInt8], occurrence: LinkOccurrence)] = []

    /// The maximum number of links of a body. Further links are ignored.
    private static let most = 100_000

    mutating func add(_ occurrence: LinkOccurrence, _ reference: Span<UInt8>) {
        guard occurrence.role != .other, !occurrence.flags.contains(.isFragment), references.count < Self.most
        else {
            return
        }
        references.append((reference.withUnsafeBufferPointer { Array($0) }, occurrence))
    }

    mutating func resolve(at url: WebURL, _ table: LinkTable) -> NewLinks {
        let base = table.base.flatMap { WebURL($0, base: url) } ?? url
        for (reference, occurrence) in references {
            let target = WebURL(
                utf8: reference.span, base: occurrence.flags.contains(.ignoresBase) ? url : base,
                queryEncoding: table.encoding)
            add(target, occurrence.kind, occurrence.flags)
        }
        for link in table.implied {
            add(WebURL(link.reference(fromBodyAt: url.path), base: base), link.kind, link.flags)
        }
        var links = NewLinks(from: .init(href: url.href))
        links.pages = pages.map { .init(href: $0) }
        links.assets = assets.map { .init(href: $0) }
        links.guesses = guesses.map { .init(href: $0) }
        return links
    }

    private mutating func add(_ target: WebURL?, _ kind: LinkKind, _ flags: LinkFlags) {
        guard let target, target.isHTTP, kind.role != .other else { return }
        if flags.contains(.isGuess) {
            guesses.insert(target.key.href)
        } else if kind.role == .page, kind != .frame {
            pages.insert(target.key.href)
        } else {
            assets.insert(target.key.href)
        }
    }
}
