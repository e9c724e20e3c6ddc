internal import Crawl
internal import Markup
package import Store
internal import Web

/// The pages of a snapshot that may depend on scripts, in kinds: the pages of one host with the same scripts.
///
/// Inline scripts that differ only in data count as the same.
package struct PageKinds {
    /// A page that may depend on scripts.
    package struct Page {
        package let href: String
        /// Whether it was rendered when it was stored, so that its text is known.
        package let isRendered: Bool
        fileprivate let pattern: String
    }

    /// The pages of one kind, in the order in which they are opened: rendered pages first, URL patterns by
    /// turns.
    package struct Kind {
        package let pages: [Page]
    }

    /// The kinds, that of the start page first, then by the number of pages.
    package let kinds: [Kind]

    /// - Parameters:
    ///   - pages: the pages of the snapshot.
    ///   - scripts: the IDs of the URLs of all scripts of the snapshot.
    ///   - rendered: the IDs of the URLs of pages that the snapshot has rendered.
    ///   - start: the start URLs of the site.
    package init(
        of pages: [StoredResponse], scripts: Set<Int64>, rendered: Set<Int64>, start: [String],
        _ reader: StoreReader
    ) throws(StoreError) {
        var found: [(key: PageKindKey, page: Page)] = []
        for response in pages {
            if let page = try Self.page(response, scripts, rendered, reader) { found.append(page) }
        }
        Self.joinRareInlineScripts(&found)
        var groups: [PageKindKey: [Page]] = [:]
        var renderedPages: [(key: PageKindKey, page: Page)] = []
        for (key, page) in found {
            if page.isRendered {
                renderedPages.append((key, page))
            } else {
                groups[key, default: []].append(page)
            }
        }
        Self.join(renderedPages, to: &groups)
        let start = Set(start)
        kinds = groups.values.map { Kind(pages: Self.sortForOpening($0)) }.sorted { first, second in
            func rank(_ kind: Kind) -> (Int, Int, String) {
                (
                    kind.pages.contains { start.contains($0.href) } ? 0 : 1, -kind.pages.count,
                    kind.pages.first?.href ?? ""
                )
            }
            return rank(first) < rank(second)
        }
    }

    /// Returns the page with the key of its kind; nil if it does not depend on scripts.
    private static func page(
        _ response: StoredResponse, _ scripts: Set<Int64>, _ rendered: Set<Int64>, _ reader: StoreReader
    ) throws(StoreError) -> (key: PageKindKey, page: Page)? {
        guard let url = WebURL(response.href), let links = try reader.linkSummary(of: response) else {
            return nil
        }
        let scriptIDs = (links.ids.assets + links.ids.guesses).filter(scripts.contains)
        let table = LinkTable.readSummary(fromEnds: links.tableEnds)
        let reasons = table?.renderReasons ?? []
        // An update does not render unchanged pages again.
        var isRendered = rendered.contains(response.url)
        if !isRendered {
            isRendered = try reader.response(for: response.href, request: .renderedText)?.body != nil
        }
        guard !scriptIDs.isEmpty || !reasons.isEmpty || isRendered else { return nil }
        let pattern = PagePattern.text(of: url)
        let key = PageKindKey(
            origin: url.origin, pattern: scriptIDs.isEmpty ? pattern : nil,
            scripts: Array(Set(scriptIDs)).sorted(), inlineScripts: table?.inlineScripts ?? 0)
        return (key, Page(href: response.href, isRendered: isRendered, pattern: pattern))
    }

    /// The maximum number of kinds whose pages have the same script files, or the same URL pattern and no script file.
    /// Pages with the other inline scripts are one further kind.
    private static let maxInlineKinds = 40

    /// Makes one kind of pages whose inline scripts are rare.
    private static func joinRareInlineScripts(_ found: inout [(key: PageKindKey, page: Page)]) {
        var counts: [PageKindKey: [UInt32: Int]] = [:]
        for (key, _) in found {
            counts[key.withoutInlineScripts, default: [:]][key.inlineScripts, default: 0] += 1
        }
        let frequent = counts.compactMapValues { counts in
            counts.count <= maxInlineKinds
                ? nil
                : Set(
                    counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(maxInlineKinds).map(
                        \.key))
        }
        for place in found.indices {
            let key = found[place].key
            if let known = frequent[key.withoutInlineScripts], !known.contains(key.inlineScripts) {
                found[place].key = key.withoutInlineScripts
            }
        }
    }

    /// Adds rendered pages to the groups of their kinds.
    ///
    /// Rendering finds more scripts of a page. Other pages of its kind need them too, but the store does not know
    /// that. So a rendered page joins the group with most scripts of which it has all.
    private static func join(
        _ rendered: [(key: PageKindKey, page: Page)], to groups: inout [PageKindKey: [Page]]
    ) {
        var keys = groups.keys.sorted { ($0.origin, $0.scripts.count) < ($1.origin, $1.scripts.count) }
        for (key, page) in rendered {
            let scripts = Set(key.scripts)
            let group =
                groups[key] != nil
                ? key
                : keys.lazy.filter {
                    $0.origin == key.origin && $0.pattern == nil && $0.inlineScripts == key.inlineScripts
                        && scripts.isSuperset(of: $0.scripts)
                }
                .max { ($0.scripts.count, $1.scripts.first ?? 0) < ($1.scripts.count, $0.scripts.first ?? 0) }
                    ?? key
            if groups[group] == nil { keys.append(group) }
            groups[group, default: []].append(page)
        }
    }

    private struct PageKindKey: Hashable {
        let origin: String
        /// The URL pattern of pages whose scripts are all in the pages themselves; nil for other pages.
        let pattern: String?
        let scripts: [Int64]
        /// The hash of the names in the inline scripts.
        var inlineScripts: UInt32

        var withoutInlineScripts: PageKindKey {
            var key = self
            key.inlineScripts = 0
            return key
        }
    }

    private static func sortForOpening(_ pages: [Page]) -> [Page] {
        typealias Rank = (isUnrendered: Int, round: Int, href: String)
        var rounds: [String: Int] = [:]
        var ranked: [(rank: Rank, page: Page)] = []
        for page in pages.sorted(by: { ($0.isRendered ? 0 : 1, $0.href) < ($1.isRendered ? 0 : 1, $1.href) })
        {
            // The first page of each pattern, then the second of each.
            let round = rounds[page.pattern, default: 0]
            rounds[page.pattern] = round + 1
            ranked.append(((page.isRendered ? 0 : 1, round, page.href), page))
        }
        return ranked.sorted { $0.rank < $1.rank }.map(\.page)
    }

    /// The pages to open, as indices of a kind and of a page in it: one of each kind, then another of each.
    ///
    /// - Parameters:
    ///   - count: the maximum number of pages; nil for all.
    ///   - perKind: the maximum number of pages of one kind, unless all are opened.
    package func sample(atMost count: Int?, perKind: Int) -> [(kind: Int, page: Int)] {
        var sample: [(kind: Int, page: Int)] = []
        let turns = kinds.map(\.pages.count).max() ?? 0
        for turn in 0..<(count == nil ? turns : min(turns, perKind)) {
            for (place, kind) in kinds.enumerated() where turn < kind.pages.count {
                if let count, sample.count >= count { return sample }
                sample.append((place, turn))
            }
        }
        return sample
    }
}

extension StoredResponse {
    /// Whether the response is a page that a browser shows.
    package var isPage: Bool {
        request == .get && role == 0 && hasPageStatus
            && (type == "text/html" || type == "application/xhtml+xml")
    }
}
