internal import Crawl
internal import Markup
package import Store
internal import Web

/// The pages of a snapshot that have scripts or were rendered, in kinds: the pages of one host with the same
/// scripts.
package struct PageKinds {
    /// A page with scripts.
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
        var groups: [Key: [Page]] = [:]
        var later: [(key: Key, page: Page)] = []
        for response in pages {
            guard let url = WebURL(response.href), let told = try reader.toldLinks(of: response) else {
                continue
            }
            let own = (told.numbers.assets + told.numbers.guesses).filter(scripts.contains)
            let reasons = LinkTable.told(byEnds: told.ends)?.renderReasons ?? []
            // An update does not render unchanged pages again.
            var isRendered = rendered.contains(response.url)
            if !isRendered {
                isRendered = try reader.response(for: response.href, request: .shown)?.body != nil
            }
            guard !own.isEmpty || !reasons.isEmpty || isRendered else { continue }
            let pattern = RenderBook.pattern(of: url)
            let key = Key(
                origin: url.origin, pattern: own.isEmpty ? pattern : nil, scripts: Array(Set(own)).sorted())
            let page = Page(
                href: response.href, isRendered: isRendered, pattern: pattern)
            // Rendering finds more scripts of a page. Other pages of its kind need them too, but the store does
            // not know that.
            if page.isRendered { later.append((key, page)) } else { groups[key, default: []].append(page) }
        }
        var plain = Array(groups.keys)
        for (key, page) in later {
            let own = Set(key.scripts)
            let place =
                groups[key] != nil
                ? key
                : plain.lazy.filter {
                    $0.origin == key.origin && $0.pattern == nil && own.isSuperset(of: $0.scripts)
                }
                .max { $0.scripts.count < $1.scripts.count } ?? key
            if groups[place] == nil { plain.append(place) }
            groups[place, default: []].append(page)
        }
        let start = Set(start)
        kinds = groups.values.map { Kind(pages: Self.ordered($0)) }.sorted { first, second in
            func rank(_ kind: Kind) -> (Int, Int, String) {
                (
                    kind.pages.contains { start.contains($0.href) } ? 0 : 1, -kind.pages.count,
                    kind.pages.first?.href ?? ""
                )
            }
            return rank(first) < rank(second)
        }
    }

    private struct Key: Hashable {
        let origin: String
        /// The URL pattern of pages whose scripts are all in the pages themselves; nil for other pages.
        let pattern: String?
        let scripts: [Int64]
    }

    private static func ordered(_ pages: [Page]) -> [Page] {
        var turns: [String: Int] = [:]
        let ranked = pages.sorted { ($0.isRendered ? 0 : 1, $0.href) < ($1.isRendered ? 0 : 1, $1.href) }
            .map { page -> (turn: Int, page: Page) in
                let turn = turns[page.pattern, default: 0]
                turns[page.pattern] = turn + 1
                return (turn, page)
            }
        return ranked.sorted {
            ($0.page.isRendered ? 0 : 1, $0.turn, $0.page.href) < (
                $1.page.isRendered ? 0 : 1, $1.turn, $1.page.href
            )
        }.map(\.page)
    }

    /// The pages to open, as indices of a kind and of a page in it: one of each kind, then another of each.
    ///
    /// - Parameters:
    ///   - count: the maximum number of pages; nil for all.
    ///   - perKind: the maximum number of pages of one kind, unless all are opened.
    package func sample(_ count: Int?, perKind: Int) -> [(kind: Int, page: Int)] {
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
        request == .get && role == 0 && status == 200
            && (type == "text/html" || type == "application/xhtml+xml")
    }
}
