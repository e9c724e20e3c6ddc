internal import Origins
internal import Reports
internal import Search
internal import Store
internal import Web

/// The page of search results. The index finds pages with the words, the best first. Without an index, for a URL, and if
/// the index finds nothing, the page lists URLs whose titles contain the words, and then URLs that contain them.
struct SearchPage: PortalPage {
    /// The words of the query, trimmed and cut.
    let words: String
    /// The site to search; nil to search all sites.
    let site: Site?
    /// The filters that the visitor chose.
    let facets: SearchFacets
    /// The names of all sites by their ids.
    let siteNames: [Int64: String]
    /// The snapshots of the searched site that can be searched beside the live one, the newest first; empty for all sites.
    let snapshots: [Snapshot]
    /// The one of them that is searched; nil for live snapshots.
    let snapshot: Snapshot?
    /// Whether any site has an earlier snapshot to search.
    let hasEarlierSnapshots: Bool
    /// The hits of the index; nil if it was not used or found nothing.
    let report: SearchReport?
    /// The error in the query; nil if it is valid.
    let queryError: String?
    /// The URLs whose titles or URLs match; empty if the index found something.
    let entries: [VisibleEntry]
    /// The position where the next page of results starts; nil if the search is complete.
    let next: SearchPosition?
    /// Whether the page continues a search.
    let isContinued: Bool
    let section = PortalSection.search
    let scripts = [SearchScript.path]

    init(
        _ words: String, in site: Site?, _ facets: SearchFacets = SearchFacets(),
        from position: SearchPosition?, now: Int64, _ reader: StoreReader, _ cache: PortalCache
    ) throws(StoreError) {
        self.words = Wording.cut(Self.trimmed(words), to: PortalLimits.maxSearchTextBytes)
        self.site = site
        let sites = try cache.sites(reader)
        let siteNames = Dictionary(uniqueKeysWithValues: sites.map { ($0.id, $0.name) })
        self.siteNames = siteNames
        let searchedSite = site ?? facets.site.flatMap { id in sites.first { $0.id == id } }
        let snapshots = searchedSite.map(Self.searchableSnapshots) ?? []
        self.snapshots = snapshots
        let snapshot = facets.snapshot.flatMap { name in snapshots.first { $0.name == name } }
        self.snapshot = snapshot
        hasEarlierSnapshots = sites.contains { !Self.searchableSnapshots(of: $0).isEmpty }
        var facets = facets
        facets.snapshot = snapshot?.name
        self.facets = facets
        isContinued = position != nil
        guard !self.words.isEmpty else {
            (report, queryError, entries, next) = (nil, nil, [], nil)
            return
        }
        var answer: SearchReport?
        var queryError: String?
        // Titles and URLs are searched in live snapshots only.
        if snapshot != nil || WebURL(self.words)?.isHTTP != true, position?.isInIndex ?? true {
            do throws(SearchQueryError) {
                let query = try SearchQuery(self.words)
                var options = SearchOptions()
                options.site = searchedSite?.name
                options.snapshot = snapshot?.name
                options.type = facets.type?.filter
                options.fetchedSince = facets.age.map { Timestamp(secondsSinceEpoch: now - $0.seconds) }
                answer = try Self.searchIndex(query, options, position, cache.searcher(reader))
            } catch {
                queryError = error.description
            }
        }
        self.queryError = queryError
        report = answer
        if let answer, !answer.hits.isEmpty || position != nil || snapshot != nil {
            entries = []
            next = answer.hasMore ? .hits((position?.offset ?? 0) + answer.hits.count) : nil
            return
        }
        guard snapshot == nil else {
            (entries, next) = ([], nil)
            return
        }
        let found: [VisibleEntry]
        (found, next) = try Self.searchTitlesAndURLs(
            self.words, site?.id ?? facets.site, from: position ?? .start, reader)
        entries = found.filter { entry in
            facets.type?.filter?.matches(entry.type) ?? true
                && entry.fetched >= facets.age.map { now - $0.seconds } ?? .min
        }
    }

    /// The complete snapshots of a site that are not live, the newest first.
    private static func searchableSnapshots(of site: Site) -> [Snapshot] {
        site.snapshots.filter {
            $0.finished != nil && $0.base == nil && !$0.isRejected && $0.id != site.published
        }.suffix(PortalLimits.maxListItems * 4).reversed()
    }

    /// Searches the index. Returns nil if there is none, or the store cannot be read.
    private static func searchIndex(
        _ query: SearchQuery, _ options: SearchOptions, _ position: SearchPosition?, _ searcher: Searcher
    ) throws(SearchQueryError) -> SearchReport? {
        var options = options
        options.limit = PortalLimits.maxSearchHits
        options.offset = position?.offset ?? 0
        do throws(StoreError) {
            guard try searcher.isReady else { return nil }
            return try searcher.search(query, options)
        } catch {
            // Falls back to titles and URLs.
            return nil
        }
    }

    /// Searches titles from `position` on, and URLs when the titles are done. Each step examines a limited number of
    /// bodies or URLs, so that it may return nothing although a later one does.
    private static func searchTitlesAndURLs(
        _ words: String, _ site: Int64?, from position: SearchPosition, _ reader: StoreReader
    ) throws(StoreError) -> ([VisibleEntry], SearchPosition?) {
        var entries: [VisibleEntry] = []
        let start: String
        switch position {
        case .urls(let place):
            start = place
        case .hits: start = ""
        case .titles(let place):
            let found = try reader.findByBody(
                .title(words), site: site, after: place, bodyCount: PortalLimits.maxSearchedBodies,
                limit: PortalLimits.maxListItems)
            entries = found.entries
            if let next = found.next { return (entries, .titles(next)) }
            start = ""
        }
        let limit = PortalLimits.maxListItems - entries.count
        guard limit > 0 else { return (entries, .urls(start)) }
        let found = try reader.findByURL(
            containing: urlText(words), notTitled: words, site: site, after: start,
            urlCount: PortalLimits.maxSearchedURLs,
            limit: limit)
        return (entries + found.entries, found.next.map { .urls($0) })
    }

    /// Returns the words as a part of a URL, percent-encoded, without the fragment if they are a whole URL.
    private static func urlText(_ words: String) -> String {
        if let url = WebURL(words), url.isHTTP { return url.key.href }
        return String(percentEncoding: words.utf8) { $0 > 0x20 && $0 < 0x7f }
    }

    /// Removes spaces and control characters from both ends.
    private static func trimmed(_ words: String) -> String {
        var bytes = Array(words.utf8)[...]
        while let first = bytes.first, first <= 0x20 { bytes.removeFirst() }
        while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    let title = "Search"
    var heading: Sentence? { words.isEmpty ? .search : .searchFor }
    var headingParts: [String] { words.isEmpty ? [] : [words] }

    func trail(_ context: PortalContext) -> [(text: String, address: String)] {
        site.map { [(context.words(.sites), context.links.home), ($0.name, context.links.site($0.id))] } ?? []
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        let action = site.map { "\(context.links.site($0.id))/search" } ?? PortalLinks.search
        let label =
            html.words(site == nil ? .searchLabel : .searchLabelSite)
        html.searchForm(action, label: label, words: words) { html in
            guard !siteNames.isEmpty else { return }
            html.element("div", ["class": "facets"]) { writeFacets(to: &$0) }
        }
        // `SearchScript` replaces the content of this element. The data attributes have its texts.
        html.element(
            "div",
            [
                "id": "found", "data-search": action, "data-mean": html.words(.didYouMean),
                "data-mark": html.words(.questionMark), "data-more": html.words(.moreResults),
            ]
        ) { writeResults(to: &$0, context) }
        if site != nil {
            html.element("p") { $0.link(context.links.search(words, in: nil), say: .searchAll) }
        }
        // Users of speech input must be able to turn off keys that act without a modifier.
        html.element("p", ["class": "small"]) { html in
            html.element(
                "button",
                [
                    "id": "slash", "type": "button", "class": "quiet", "hidden": "",
                    "data-on": html.words(.slashOn),
                ], say: .slashOff)
        }
    }

    /// Writes the fields that filter by site, snapshot, type and time.
    private func writeFacets(to html: inout HTMLWriter) {
        if site == nil, siteNames.count > 1 {
            let sites = siteNames.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
            html.selectField(
                "site", .site, [("", html.words(.anySite))] + sites.map { ("\($0.key)", $0.value) },
                facets.site.map { "\($0)" })
        }
        // `SearchScript` shows the field when the visitor chooses a site that has earlier snapshots.
        if hasEarlierSnapshots {
            html.selectField(
                "snapshot", .snapshot,
                [("", html.words(.liveSnapshot))]
                    + snapshots.map { ("\($0.name)", label(of: $0, in: html.language)) },
                snapshot.map { "\($0.name)" }, isHidden: snapshots.isEmpty)
        }
        html.selectField(
            "type", .facetType,
            [("", html.words(.anyType))]
                + SearchFacets.Kind.allCases.map { ($0.rawValue, html.words($0.sentence)) },
            facets.type?.rawValue)
        html.selectField(
            "age", .facetAge,
            [("", html.words(.anyAge))]
                + SearchFacets.Age.allCases.map { ($0.rawValue, html.words($0.sentence)) },
            facets.age?.rawValue)
    }

    /// The number and the time of a snapshot in the list of snapshots.
    private func label(of snapshot: Snapshot, in language: PortalLanguage) -> String {
        "\(snapshot.name)" + Sentence.comma.text(in: language) + language.moment(snapshot.started)
    }

    /// Writes the summary, the proposals, the results of either search, and the link to the next page.
    private func writeResults(to html: inout HTMLWriter, _ context: PortalContext) {
        guard !words.isEmpty else { return }
        html.element("p", ["role": "status"], text: summary(in: context.language))
        if let report { writeHits(report, to: &html, context) }
        for note in notes(in: context.language) { html.element("p", ["class": "soft"], text: note) }
        if !entries.isEmpty {
            html.element("h2", ["class": "hidden"], say: .results)
            html.element("ul", ["class": "list"]) { html in
                for entry in entries {
                    html.urlItem(
                        entry, context, site: site == nil && siteNames.count > 1 ? siteNames[entry.site] : nil
                    )
                }
            }
        }
        if let next {
            let address = context.links.search(
                words, in: site?.id, filters: facets.fields, after: next.text)
            html.nextLink(
                address,
                html.words(entries.count < PortalLimits.maxListItems ? .continueSearching : .moreResults))
        }
    }

    /// Writes the pages that the index found, each with the heading of the matching section and a snippet.
    private func writeHits(_ report: SearchReport, to html: inout HTMLWriter, _ context: PortalContext) {
        for proposal in report.proposals {
            html.element("p") { html in
                html.say(.didYouMean)
                html.link(
                    context.links.search(proposal, in: site?.id, filters: facets.fields), text: proposal)
                html.say(.questionMark)
            }
        }
        guard !report.hits.isEmpty else { return }
        html.element("h2", ["class": "hidden"], say: .results)
        html.element("ol", ["class": "list hits"]) { html in
            for hit in report.hits {
                html.element("li") { html in
                    html.hit(hit, address: address(of: hit, context))
                    html.link(context.links.details(hit.url), ["class": "url soft"]) { $0.url(hit.url) }
                    html.element("span", ["class": "soft"]) { $0.time(hit.fetched, now: context.now) }
                }
            }
        }
    }

    /// Sentences about pages that are not in the index yet, and about earlier snapshots.
    private func notes(in language: PortalLanguage) -> [String] {
        let earlier = snapshots.isEmpty && hasEarlierSnapshots ? Sentence.searchEarlierHint : nil
        return [unindexedNote(in: language), earlier?.text(in: language)].compactMap { $0 }
    }

    /// Says how many pages are not in the index yet; nil if all are.
    private func unindexedNote(in language: PortalLanguage) -> String? {
        // Without an index, live snapshots are searched by titles and URLs.
        if snapshot != nil, queryError == nil, report == nil {
            return Sentence.nothingIndexed.text(in: language)
        }
        guard let unread = report?.unread, unread > 0 else { return nil }
        let start = (unread == 1 ? Sentence.unindexedOne : .unindexedMany).text(
            in: language, [Wording.number(unread)])
        return start + "larder index" + Sentence.unindexedEnd.text(in: language)
    }

    /// Returns the URL of the mirrored page in the searched snapshot, at the section with the words.
    private func address(of hit: SearchReport.Hit, _ context: PortalContext) -> String {
        let mirrored =
            if let snapshot {
                WebURL(hit.address).flatMap { context.layout.address(of: $0, in: snapshot.id) }
            } else {
                context.mirrorAddress(of: hit.address)
            }
        return mirrored.map(hit.addingTextFragment) ?? context.links.details(hit.url)
    }

    /// One sentence about the result: the error in the query, or the number of results and whether there are more.
    private func summary(in language: PortalLanguage) -> String {
        if let queryError { return queryError.prefix(1).uppercased() + queryError.dropFirst() + "." }
        func say(_ sentence: Sentence, _ count: Int) -> String {
            let number = (count == 1 ? Sentence.oneResult : .manyResults).text(
                in: language, [Wording.number(count)])
            return sentence.text(in: language, [number])
        }
        if let report, !report.hits.isEmpty {
            let count = report.hits.count
            if report.isRelaxed { return say(.someWordsOnly, count) }
            let summary = say(report.hasMore ? .topResults : .allResults, count)
            guard let completeCount = report.completeHitCount, completeCount > 0 else { return summary }
            let sentence: Sentence = completeCount == 1 ? .completeResultFirst : .completeResultsFirst
            return summary + " " + sentence.text(in: language, [Wording.number(completeCount)])
        }
        switch (entries.isEmpty, next == nil) {
        case (true, true): return (isContinued ? Sentence.noMoreResults : .noResults).text(in: language)
        case (true, false): return Sentence.noResultsSoFar.text(in: language)
        case (false, true): return say(isContinued ? .lastResults : .allResults, entries.count)
        case (false, false): return say(.resultsSoFar, entries.count)
        }
    }

    func members(_ context: PortalContext) -> JSONMembers {
        [
            "words": words, "site": site?.name ?? facets.site.flatMap { siteNames[$0] },
            "type": facets.type?.rawValue, "age": facets.age?.rawValue,
            "snapshot": snapshot.map { "\($0.name)" },
            "snapshots": snapshots.map { snapshot -> JSONMembers in
                ["name": "\(snapshot.name)", "label": label(of: snapshot, in: context.language)]
            },
            "notes": words.isEmpty ? [] : notes(in: context.language),
            "outcome": words.isEmpty ? "" : summary(in: context.language),
            "hits": (report?.hits ?? []).map { hit -> JSONMembers in
                hit.members + ["address": address(of: hit, context)]
            },
            "proposals": report?.proposals ?? [], "results": entries.map { $0.members(context) },
            "after": next?.text,
        ]
    }
}

extension SearchReport.Hit {
    /// Adds the words to the address of the page. Browsers scroll to such a text fragment and mark it
    /// (https://wicg.github.io/scroll-to-text-fragment/).
    func addingTextFragment(to address: String) -> String {
        guard let quote = snippet.quote else { return address }
        let text = String(percentEncoding: quote.utf8) { $0.isASCIIAlpha || $0.isASCIIDigit }
        return address + (anchor.isEmpty ? "#" : "") + ":~:text=" + text
    }
}

extension HTMLWriter {
    /// Writes a page that the index found: its title as a link, the heading of the matching section, and the snippet.
    mutating func hit(_ hit: SearchReport.Hit, address: String) {
        link(address, ["class": "name"]) {
            $0.isolatedText(Wording.cut(hit.title.isEmpty ? hit.url : hit.title))
        }
        let heading = hit.headingAfterTitle
        if !heading.isEmpty {
            element("span", ["class": "part"]) { $0.isolatedText(Wording.cut(heading)) }
        }
        // Snippets come from pages: `bdi` keeps their direction from affecting the rest.
        element("p", ["class": "snippet"]) { html in
            html.element("bdi") { html in
                for part in hit.snippet.parts {
                    if part.isMarked {
                        html.element("mark", text: part.text)
                    } else {
                        html.text(part.text)
                    }
                }
            }
        }
    }
}

/// The filters of a search: the site and its snapshot, the kind of content, and the time of the response.
struct SearchFacets: Equatable {
    /// The id of the site; nil for all, and on the page that searches one site.
    var site: Int64?
    /// An earlier snapshot of the site; nil for the live one.
    var snapshot: SnapshotName?
    var type: Kind?
    var age: Age?

    /// A kind of documents that have texts. The raw value is the field `type`.
    enum Kind: String, CaseIterable {
        case html, pdf, text

        var filter: TypeFilter? {
            switch self {
            case .html: TypeFilter("html")
            case .pdf: TypeFilter("application/pdf")
            case .text: TypeFilter("text/plain")
            }
        }

        var sentence: Sentence {
            switch self {
            case .html: .typePages
            case .pdf: .typePDF
            case .text: .typeText
            }
        }
    }

    /// The longest time since the response was fetched. The raw value is the field `age`.
    enum Age: String, CaseIterable {
        case day, week, month, year

        var seconds: Int64 {
            switch self {
            case .day: 86_400
            case .week: 7 * 86_400
            case .month: 30 * 86_400
            case .year: 365 * 86_400
            }
        }

        var sentence: Sentence {
            switch self {
            case .day: .ageDay
            case .week: .ageWeek
            case .month: .ageMonth
            case .year: .ageYear
            }
        }
    }

    init() {}

    /// Unknown values count as missing.
    init(_ request: PortalRequest) {
        site = request.number("site")
        snapshot = request.snapshot("snapshot")
        type = request["type"].flatMap(Kind.init)
        age = request["age"].flatMap(Age.init)
    }

    /// The fields of the form, for the addresses of links.
    var fields: [(name: String, value: String?)] {
        [
            ("site", site.map { "\($0)" }), ("snapshot", snapshot.map { "\($0)" }), ("type", type?.rawValue),
            ("age", age?.rawValue),
        ]
    }
}

/// A position where a search continues, and its text in the link to the next page: `h.20`, `t.7.9`, `a.https://x.test/`.
enum SearchPosition: Equatable {
    /// After this number of hits of the index.
    case hits(Int)
    /// After this position in the list of titles. The list of URLs follows it.
    case titles(BodyCursor)
    /// After this URL in the list of URLs.
    case urls(String)

    /// The start of a search without the index.
    static let start = SearchPosition.titles(.start)

    /// Parses the text, which comes from a request. Nil if it is invalid.
    init?(text: String) {
        let rest = text.dropFirst(2)
        if text.hasPrefix("a.") {
            self = .urls(String(rest))
            return
        }
        if text.hasPrefix("h."), let offset = Int(rest), (0...Self.maxOffset).contains(offset) {
            self = .hits(offset)
            return
        }
        let numbers = rest.split(separator: ".").compactMap { Int64($0) }
        guard text.hasPrefix("t."), numbers.count == 2, numbers.allSatisfy({ $0 >= 0 && $0 < Int64.max / 2 })
        else {
            return nil
        }
        self = .titles(BodyCursor(body: numbers[0], url: numbers[1]))
    }

    /// The maximum number of hits after which a search can be continued; a larger offset is invalid. Later pages are slow,
    /// and few users read them.
    private static let maxOffset = 1000

    /// Whether the index continues the search.
    var isInIndex: Bool { if case .hits = self { true } else { false } }
    /// The number of hits to skip; 0 for a search without the index.
    var offset: Int { if case .hits(let offset) = self { offset } else { 0 } }

    /// The text that `init(text:)` parses.
    var text: String {
        switch self {
        case .hits(let offset): "h.\(offset)"
        case .titles(let place): "t.\(place.body).\(place.url)"
        case .urls(let place): "a.\(place)"
        }
    }
}
