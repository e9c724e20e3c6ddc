internal import Markup
internal import Web

/// References of a body that is shown below another path than it had.
struct MovedReferences {
    private let layout: OriginLayout
    private let table: LinkTable
    private let url: WebURL
    private let base: WebURL
    /// Where those addresses are that `url` and `base` stand for.
    private let localURL: WebURL?
    private let localBase: WebURL?

    init(layout: OriginLayout, table: LinkTable, url: WebURL) {
        self.layout = layout
        self.table = table
        self.url = url
        base = table.base.flatMap { WebURL($0, base: url) } ?? url
        localURL = Self.local(url, layout)
        localBase = Self.local(base, layout)
    }

    /// What stands for a reference; nil where it leads to the right place by itself.
    func replacement(_ occurrence: LinkOccurrence, _ reference: Span<UInt8>) -> String? {
        if occurrence.flags.contains(.isFragment) { return nil }
        let namesOrigin = occurrence.flags.contains(.namesOrigin)
        // What may be no address at all is left alone, unless it can be nothing else.
        if occurrence.flags.contains(.isGuess), !namesOrigin { return nil }
        let ignoresBase = occurrence.flags.contains(.ignoresBase)
        let base = ignoresBase ? url : base
        guard let target = WebURL(utf8: reference, base: base, queryEncoding: table.encoding),
            let address = layout.address(of: target)
        else { return nil }
        if namesOrigin { return address }
        // Relative to where `codebase` leads, which is an occurrence of its own.
        if occurrence.flags.contains(.hasCodebase) { return nil }
        let read = WebURL(
            utf8: reference, base: ignoresBase ? localURL : localBase, queryEncoding: table.encoding)
        let wanted = Self.local(target, layout)
        return read?.href == wanted?.href ? nil : address
    }

    /// The host does not matter, as long as it is the same for all.
    private static func local(_ url: WebURL, _ layout: OriginLayout) -> WebURL? {
        layout.address(of: url).flatMap { WebURL($0, base: WebURL("http://\(layout.authority ?? "larder")/")) }
    }
}
