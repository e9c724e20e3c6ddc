internal import Reports
internal import Store
internal import Web

/// A site on the home page: its report, the user's tags and note, its images, and its unfinished job.
struct SiteCard {
    let report: SiteReport
    /// The tags by which the user groups sites.
    let tags: [String]
    /// The user's note; empty if there is none.
    let note: String
    private(set) var hasIcon = false
    /// The newest snapshot with a screenshot of the start page; nil if there is none.
    private(set) var picture: SnapshotName?
    /// The waiting or running prefetch or update of the site; nil if there is none.
    let job: PortalJob?

    /// - Parameter jobs: the jobs that the visitor may see.
    init(
        _ site: Site, _ report: SiteReport, jobs: [PortalJob]
    ) {
        self.report = report
        let labels = SiteSettingsForm(settings: site.settings)
        (tags, note) = (labels.tags, labels.note)
        job = jobs.last {
            guard !$0.isOver, $0.command.lane == .network else { return false }
            return $0.command.wantedSite == site.name || $0.progress?.site == site.name
        }
    }

    /// Looks up the images of the site. Only the cards that are shown need them.
    mutating func findImages(of site: Site, _ reader: StoreReader, _ cache: PortalCache) throws(StoreError) {
        hasIcon = try cache.icon(of: site, reader) != nil
        picture = try cache.picture(of: site, start: report.start, reader)
    }

    /// The state of a site in one word. The raw value is in the JSON of the home page and in the address of a filter.
    enum State: String, CaseIterable {
        case queued, updating, empty, incomplete, live, complete
    }

    var state: State {
        if let job { return job.state == .running || job.state == .stopping ? .updating : .queued }
        guard report.shown != nil else { return .empty }
        guard report.site.live != nil else { return .incomplete }
        return switch report.isComplete {
        case true?: .complete
        case false?: .incomplete
        case nil: .live
        }
    }

    /// When the content was last fetched or confirmed, in seconds since 1970; nil before the first snapshot.
    var freshAt: Int64? { report.shown.map { $0.age.checked ?? $0.age.fetched } }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        let name = Wording.cut(report.title, to: 80)
        html.element("li", ["class": "card site", "data-job": job.map { "\($0.number)" }]) { html in
            writeTile(to: &html, context)
            html.element("div") { html in
                html.element("h2") { html in
                    if hasIcon, picture != nil { writeIcon(16, to: &html, context) }
                    html.link(context.links.site(report.id)) { $0.isolatedText(Wording.cut(report.title)) }
                }
                html.element("p", ["class": "url soft"]) { $0.url(report.site.name) }
                writeState(to: &html, context)
                if !note.isEmpty { html.element("p", ["class": "note"]) { $0.isolatedText(note) } }
                html.tagLinks(tags)
                html.element("div", ["class": "orders"]) { html in
                    if let address = context.mirrorAddress(of: report.start) {
                        html.link(address, ["class": "button"]) { html in
                            html.say(.doOpen)
                            // The name tells the links of the cards apart in a screen reader's list of links.
                            html.element("span", ["class": "hidden"], text: " \(name)")
                        }
                    }
                    if let job {
                        html.commandButton(
                            "stop", job.state == .waiting ? .doCancel : .doStop, about: name, context,
                            fields: [("job", "\(job.number)")])
                    } else {
                        html.commandButton(
                            "update", .doUpdate, about: name, context, fields: [("site", report.site.name)])
                    }
                }
            }
        }
    }

    /// Writes the screenshot of the start page, else the icon of the site, else its first letter.
    private func writeTile(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("div", ["class": picture == nil ? "tile" : "tile shot", "aria-hidden": "true"]) { html in
            if let picture {
                let address = context.links.picture(of: report.start, in: picture, of: report.id)
                html.void("img", ["src": address, "alt": "", "loading": "lazy"])
            } else if hasIcon {
                writeIcon(40, to: &html, context)
            } else {
                html.text(report.title.first.map { String($0).uppercased() } ?? "")
            }
        }
    }

    private func writeIcon(_ size: Int, to html: inout HTMLWriter, _ context: PortalContext) {
        html.void(
            "img",
            [
                "src": context.links.icon(of: report.id, in: report.shown?.name), "alt": "",
                "width": "\(size)",
                "height": "\(size)", "loading": "lazy",
            ])
    }

    /// Writes the state, the age, the size, and the number of problems; while a job runs, its progress.
    private func writeState(to html: inout HTMLWriter, _ context: PortalContext) {
        let warns = state == .incomplete || state == .empty
        html.element("p", ["class": "line"]) { html in
            html.element(
                "span", ["class": warns ? "badge warn" : "badge"],
                say: state == .complete ? report.completenessSentence : Self.word(for: state))
            if let shown = report.shown {
                html.element("span") { html in
                    html.say(.cardFetched)
                    html.time(shown.age.fetched, now: context.now)
                }
                if let checked = shown.age.checked {
                    html.element("span") { html in
                        html.say(.cardChecked)
                        html.time(checked, now: context.now)
                    }
                }
            }
            if report.shown != nil {
                let pages =
                    report.tally.pages == PortalLimits.maxCountedResponses
                    ? html.words(.orMore, html.words(.manyPages, Wording.number(report.tally.pages)))
                    : html.count(report.tally.pages, .onePage, .manyPages)
                html.element("span", text: pages)
                html.element("span", text: html.language.bytes(report.tally.byteCount))
            }
            if let failed = report.missing?.failed, failed > 0 {
                html.link(
                    context.links.missing(of: report.id),
                    text: html.words(.failedCount, Wording.number(failed)))
            }
            report.linkToUnfetched(to: &html, context)
            if let next = report.site.next {
                html.element("span") { html in
                    html.say(.cardNextUpdate)
                    html.moment(next)
                }
            }
        }
        guard let job, let progress = job.progress, job.state == .running else { return }
        html.progressBar(progress)
    }

    static func word(for state: State) -> Sentence {
        switch state {
        case .queued: .stateWaiting
        case .updating: .stateUpdating
        case .empty: .empty
        case .incomplete: .incomplete
        case .live: .storedState
        case .complete: .complete
        }
    }
}

extension SiteReport {
    /// The state of a complete site in words: the user's choices may leave out links.
    var completenessSentence: Sentence {
        switch completeness {
        case .withinLimits: .completeWithinLimits
        case .onlyStartPages: .completeOnlyStartPages
        case .complete, .incomplete, nil: .complete
        }
    }

    /// The number of links that were not fetched; 0 for a site that is one page because the user chose that.
    var countOfUnfetched: Int { completeness == .onlyStartPages ? 0 : missing?.notFetched ?? 0 }

    /// Writes the number of links that were not fetched, as a link to their list; nothing if there are none.
    func linkToUnfetched(to html: inout HTMLWriter, _ context: PortalContext) {
        let count = countOfUnfetched
        guard count > 0 else { return }
        html.link(
            context.links.missing(of: id, kind: LinkList.pages.rawValue),
            text: html.count(count, .oneLinkNotFetched, .linksNotFetched))
    }
}

extension HTMLWriter {
    /// Writes the tags of a site as links to the sites that have them; nothing if there are none.
    mutating func tagLinks(_ tags: [String]) {
        guard !tags.isEmpty else { return }
        element("p", ["class": "tags"]) { html in
            for tag in tags {
                html.link(PortalLinks.path("/", [("tag", tag)]), ["class": "tag"]) { $0.isolatedText(tag) }
            }
        }
    }
}

/// The filter and the order of the sites on the home page, from the fields of its form.
struct SiteFilter: Equatable {
    /// Only sites whose title, URL, tags or note contain this text; nil for all.
    var text: String?
    /// Only sites with this tag; nil for all.
    var tag: String?
    var order = Order.name

    /// The raw value is the field `sort` of the request.
    enum Order: String, CaseIterable {
        case name, newest, oldest, largest, state
    }

    init(_ request: PortalRequest) {
        text = request["find"].map { Wording.cut($0, to: PortalLimits.maxSearchTextBytes) }
        tag = request["tag"]
        order = request["sort"].flatMap(Order.init) ?? .name
    }

    /// Whether some sites are not shown.
    var isFiltering: Bool { text != nil || tag != nil }

    /// The address of a page of the list, from 0.
    func address(page: Int) -> String {
        PortalLinks.path(
            "/", [("find", text), ("tag", tag), ("sort", order.rawValue), ("page", "\(page)")])
    }

    /// The sites that match, in order.
    func apply(to cards: [SiteCard]) -> [SiteCard] {
        let wanted = text?.lowercased()
        let matching = cards.filter { card in
            if let tag, !card.tags.contains(tag) { return false }
            guard let wanted else { return true }
            return ([card.report.title, card.report.site.name, card.note] + card.tags).contains {
                $0.lowercased().utf8.contains(wanted.utf8)
            }
        }
        /// Sites without a time or size come last.
        func sorted(by key: (SiteCard) -> Int64) -> [SiteCard] {
            matching.enumerated().sorted { (key($0.element), $0.offset) < (key($1.element), $1.offset) }
                .map(\.element)
        }
        return switch order {
        case .name: matching.sorted { $0.report.title.lowercased() < $1.report.title.lowercased() }
        case .newest: sorted { -($0.freshAt ?? 0) }
        case .oldest: sorted { $0.freshAt ?? .max }
        case .largest: sorted { -$0.report.tally.byteCount }
        case .state: sorted { Int64(SiteCard.State.allCases.firstIndex(of: $0.state) ?? 0) }
        }
    }
}
