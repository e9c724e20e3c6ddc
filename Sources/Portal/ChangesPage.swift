internal import Reports
internal import Store
internal import Web

/// The page of the differences between two snapshots of a site, which the visitor selects.
struct ChangesPage: PortalPage {
    /// A kind of change, each with a list of its own. The raw value is the field `kind` of the request.
    enum Kind: String, CaseIterable {
        case added
        case changed
        case gone
        case moved
    }

    let site: Site
    /// The snapshot to compare with, usually an older one; nil if there is only one.
    let from: Snapshot?
    let to: Snapshot?
    /// The differences; nil if there is only one snapshot, or if the site is too large to compare here.
    let difference: DiffReport?
    let hasScreenshots: Bool
    /// The list to show; nil shows the beginning of every list.
    let kind: Kind?
    /// The number of the page of that list, from 0.
    let page: Int
    /// The titles of the listed pages by their URLs.
    private var titles: [String: String] = [:]
    let section = PortalSection.sites

    /// Compares the snapshots with these names. By default compares the live snapshot with the one before it.
    init(
        _ site: Site, from first: SnapshotName?, to second: SnapshotName?, kind: Kind?, page: Int,
        _ reader: StoreReader
    ) throws(StoreError) {
        self.site = site
        self.kind = kind
        self.page = max(0, min(page, 1_000_000))
        (from, to) = site.snapshotsToDisplay(from: first, to: second)
        guard let from, let to, from != to, site.isComparable else {
            (difference, hasScreenshots) = (nil, false)
            return
        }
        let difference = try DiffReport(of: site, from: from, to: to, reader)
        self.difference = difference
        hasScreenshots = try reader.hasScreenshots(of: site)
        for kind in Kind.allCases where self.kind == nil || self.kind == kind {
            for index in listedIndices(of: difference.count(kind)) {
                let (href, _) = difference.change(kind, at: index)
                if let title = try reader.response(for: href)?.body?.title, !title.isEmpty {
                    titles[href] = title
                }
            }
        }
    }

    /// The part of a list that the page shows: its beginning if all lists are shown, else the current page of it.
    private func listedIndices(of count: Int) -> Range<Int> {
        let length = kind == nil ? PortalLimits.maxListItems : PortalLimits.maxListItems * 4
        let start = kind == nil ? 0 : min(page * length, count)
        return start..<min(start + length, count)
    }

    let title = "Changes between snapshots"
    var heading: Sentence? { .changesTitle }

    func trail(_ context: PortalContext) -> [(text: String, address: String)] {
        [(context.words(.sites), context.links.home), (site.name, context.links.site(site.id))]
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        guard let from, let to, from != to else {
            html.element(
                "p", say: .onlyOneSnapshot)
            return
        }
        html.snapshotsForm(of: site, from, to, at: context.links.changes(of: site.id))
        guard let difference else {
            html.element("p", say: .tooLargeToCompare)
            html.element(
                "pre", text: "larder diff '\(site.name.replacing("'", with: "%27"))' \(from.name) \(to.name)")
            return
        }
        if hasScreenshots {
            html.nextLink(
                context.links.pictures(of: site.id, from: from.name, to: to.name), html.words(.screenshots))
        }
        guard !difference.isEmpty else {
            html.element("p", say: Phrase(.noDifference, "\(to.name)", "\(from.name)"))
            return
        }
        html.element("dl", ["class": "facts"]) { html in
            for kind in Kind.allCases {
                html.fact(html.words(Self.sentence(for: kind)), html.language.number(difference.count(kind)))
            }
        }
        for kind in Kind.allCases where self.kind == nil || self.kind == kind {
            writeChangedURLs(kind, difference, to: &html, context)
        }
    }

    /// The heading of a list.
    private static func sentence(for kind: Kind) -> Sentence {
        switch kind {
        case .added: .added
        case .changed: .changed
        case .gone: .gone
        case .moved: .moved
        }
    }

    /// Writes one list of changed URLs, each with the title of its page if it has one.
    private func writeChangedURLs(
        _ kind: Kind, _ difference: DiffReport, to html: inout HTMLWriter, _ context: PortalContext
    ) {
        let count = difference.count(kind)
        guard count > 0 else { return }
        html.element(
            "h2", say: Phrase(.nameAndCount, html.words(Self.sentence(for: kind)), Wording.number(count)))
        let indices = listedIndices(of: count)
        html.element("ul", ["class": "list"]) { html in
            for index in indices {
                html.element("li") { html in
                    let (href, target) = difference.change(kind, at: index)
                    if let title = titles[href] {
                        html.element("span", ["class": "name"]) {
                            $0.isolatedText(Wording.cut(title, to: 120))
                        }
                    }
                    html.link(context.links.details(href), ["class": "url"]) { $0.url(href) }
                    if kind == .changed, let from, let to {
                        html.text(" ")
                        let address = context.links.compare(href, of: site.id, from: from.name, to: to.name)
                        html.link(address) { html in
                            html.say(.compareButton)
                            html.element("span", ["class": "hidden"], text: " \(Wording.cut(href, to: 80))")
                        }
                    }
                    guard let target else { return }
                    html.say(.movedTo)
                    html.link(context.links.details(target), ["class": "url"]) { $0.url(target) }
                }
            }
        }
        guard indices.upperBound < count else { return }
        let next = self.kind == nil ? 0 : page + 1
        let address = context.links.changes(
            of: site.id, from: from?.name, to: to?.name, kind: kind.rawValue, page: next)
        html.nextLink(
            address, self.kind == nil ? html.words(.allOf, Wording.number(count)) : html.words(.more))
    }

    func members(_ context: PortalContext) -> JSONMembers {
        (difference?.members ?? ["site": site.name, "from": from?.number, "to": to?.number])
            + ["compared": difference != nil]
    }
}

extension Site {
    /// The snapshots with these names; by default the live snapshot and the one before it. `from` is nil if
    /// there is no other snapshot to compare with.
    func snapshotsToDisplay(from first: SnapshotName?, to second: SnapshotName?) -> (
        from: Snapshot?, to: Snapshot?
    ) {
        // A name from a request that no snapshot has is ignored.
        func existing(_ name: SnapshotName?) -> SnapshotName? {
            snapshots.contains { $0.name == name } ? name : nil
        }
        do throws(StoreError) {
            let (from, to) = try snapshotsToCompare(from: existing(first), to: existing(second))
            return (from, to)
        } catch {
            return (nil, SiteReport.shownSnapshot(of: self))
        }
    }

    /// Whether the snapshots are small enough to compare them while a client waits for the page.
    package var isComparable: Bool {
        snapshots.reduce(0) { $0 + $1.responseCount } <= PortalLimits.maxComparedResponses
    }
}

extension HTMLWriter {
    /// Writes the form that selects the two snapshots to compare.
    mutating func snapshotsForm(of site: Site, _ from: Snapshot?, _ to: Snapshot?, at address: String) {
        element("form", ["class": "find compare", "method": "get", "action": address]) { html in
            html.snapshotField("from", .fromSnapshot, of: site, from)
            html.snapshotField("to", .toSnapshot, of: site, to)
            html.element("button", ["type": "submit"], say: .compareButton)
        }
    }

    /// Writes a field that selects one of the latest snapshots.
    private mutating func snapshotField(_ name: String, _ label: Sentence, of site: Site, _ chosen: Snapshot?)
    {
        element("div", ["class": "field"]) { html in
            html.element("label", ["for": name], say: label)
            html.element("select", ["id": name, "name": name]) { html in
                for snapshot in site.snapshots.suffix(PortalLimits.maxListItems * 4).reversed() {
                    let words =
                        "\(snapshot.name)" + html.words(.comma) + html.language.moment(snapshot.started)
                    html.element(
                        "option", ["value": "\(snapshot.name)", "selected": snapshot == chosen ? "" : nil],
                        text: words)
                }
            }
        }
    }
}

extension DiffReport {
    /// The number of changes of a kind.
    fileprivate func count(_ kind: ChangesPage.Kind) -> Int {
        switch kind {
        case .added: added.count
        case .changed: changed.count
        case .gone: gone.count
        case .moved: moved.count
        }
    }

    /// The changed URL at an index of a list, and for a moved one its new URL.
    fileprivate func change(_ kind: ChangesPage.Kind, at index: Int) -> (href: String, target: String?) {
        switch kind {
        case .added: (added[index], nil)
        case .changed: (changed[index], nil)
        case .gone: (gone[index], nil)
        case .moved: (moved[index].from, moved[index].to)
        }
    }
}
