internal import Reports
internal import Store
internal import Web

/// The differences between two snapshots of a site.
struct ChangesPage: PortalPage {
    /// A list of changed URLs.
    enum Kind: String, CaseIterable {
        case added
        case changed
        case gone
        case moved
    }

    let site: Site
    let from: Snapshot?
    let to: Snapshot?
    /// The differences; nil if there is only one snapshot, or if the site is too large to compare here.
    let difference: DifferenceReport?
    let hasPictures: Bool
    /// The list to show; nil shows the beginning of every list.
    let kind: Kind?
    let page: Int
    let section = PortalSection.sites

    /// Compares the snapshots with these names. By default compares the live snapshot with the one before it.
    init(
        _ site: Site, from first: SnapshotName?, to second: SnapshotName?, kind: Kind?, page: Int,
        _ reader: StoreReader
    ) throws(StoreError) {
        self.site = site
        self.kind = kind
        self.page = max(0, min(page, 1_000_000))
        (from, to) = site.snapshotsToShow(from: first, to: second)
        guard let from, let to, from != to, site.isComparable else {
            (difference, hasPictures) = (nil, false)
            return
        }
        difference = try DifferenceReport(of: site, from: from, to: to, reader)
        hasPictures = try reader.hasScreenshots(of: site)
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
        if hasPictures {
            html.nextLink(
                context.links.pictures(of: site.id, from: from.name, to: to.name), html.words(.screenshots))
        }
        guard !difference.isEmpty else {
            html.element("p", say: Phrase(.noDifference, "\(to.name)", "\(from.name)"))
            return
        }
        html.element("dl", ["class": "facts"]) { html in
            for kind in Kind.allCases {
                html.fact(html.words(Self.name(kind)), Wording.number(difference.count(kind)))
            }
        }
        for kind in Kind.allCases where self.kind == nil || self.kind == kind {
            write(kind, difference, to: &html, context)
        }
    }

    private static func name(_ kind: Kind) -> Sentence {
        switch kind {
        case .added: .added
        case .changed: .changed
        case .gone: .gone
        case .moved: .moved
        }
    }

    private func write(
        _ kind: Kind, _ difference: DifferenceReport, to html: inout HTMLWriter, _ context: PortalContext
    ) {
        let count = difference.count(kind)
        guard count > 0 else { return }
        html.element(
            "h2", say: Phrase(.nameAndCount, html.words(Self.name(kind)), Wording.number(count)))
        let length = self.kind == nil ? PortalLimits.maxListItems : PortalLimits.maxListItems * 4
        let start = self.kind == nil ? 0 : min(page * length, count)
        html.element("ul", ["class": "list"]) { html in
            for place in start..<min(start + length, count) {
                html.element("li") { html in
                    let (href, target) = difference.line(kind, place)
                    html.link(context.links.details(href), ["class": "url"]) { $0.url(href) }
                    guard let target else { return }
                    html.say(.movedTo)
                    html.link(context.links.details(target), ["class": "url"]) { $0.url(target) }
                }
            }
        }
        guard start + length < count else { return }
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
    func snapshotsToShow(from first: SnapshotName?, to second: SnapshotName?) -> (
        from: Snapshot?, to: Snapshot?
    ) {
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
            html.choice("from", .fromSnapshot, of: site, from)
            html.choice("to", .toSnapshot, of: site, to)
            html.element("button", ["type": "submit"], say: .compareButton)
        }
    }

    private mutating func choice(_ name: String, _ label: Sentence, of site: Site, _ chosen: Snapshot?) {
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

extension DifferenceReport {
    fileprivate func count(_ kind: ChangesPage.Kind) -> Int {
        switch kind {
        case .added: added.count
        case .changed: changed.count
        case .gone: gone.count
        case .moved: moved.count
        }
    }

    fileprivate func line(_ kind: ChangesPage.Kind, _ place: Int) -> (href: String, target: String?) {
        switch kind {
        case .added: (added[place], nil)
        case .changed: (changed[place], nil)
        case .gone: (gone[place], nil)
        case .moved: (moved[place].from, moved[place].to)
        }
    }
}
