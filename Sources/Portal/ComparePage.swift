internal import Origins
internal import Reports
internal import Search
internal import Store
internal import Web

/// The page that compares one page in two snapshots: its pictures side by side, and the differences of its text.
struct ComparePage: PortalPage {
    let site: Site
    let href: String
    let from: Snapshot
    let to: Snapshot
    let report: PageDiffReport
    /// Whether both snapshots have a screenshot of the page.
    let hasPictures: Bool
    let section = PortalSection.sites
    let title = "Compare a page"
    var heading: Sentence? { .compareTitle }

    /// The maximum number of lines of the differences that are shown.
    private static let maxShownLines = 400

    /// Returns nil if a snapshot does not exist, or none of the two has the page.
    init?(
        _ site: Site, _ href: String, from first: SnapshotName?, to second: SnapshotName?,
        _ reader: StoreReader
    ) throws(StoreError) {
        let snapshots = site.snapshotsToDisplay(from: first, to: second)
        guard let from = snapshots.from, let to = snapshots.to else { return nil }
        (self.site, self.href, self.from, self.to) = (site, href, from, to)
        guard let report = try PageDiffReport(of: href, site, from: from, to: to, reader) else {
            return nil
        }
        self.report = report
        let hasOldPicture = try reader.screenshot(of: href, in: from.id) != nil
        let hasNewPicture = try reader.screenshot(of: href, in: to.id) != nil
        hasPictures = hasOldPicture && hasNewPicture
    }

    func trail(_ context: PortalContext) -> [(text: String, address: String)] {
        [
            (context.words(.sites), context.links.home), (site.name, context.links.site(site.id)),
            (context.words(.changesTitle), context.links.changes(of: site.id, from: from.name, to: to.name)),
        ]
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "url"]) { html in
            html.link(context.links.details(href)) { $0.url(href) }
        }
        html.element("div", ["class": "pictures"]) { html in
            for snapshot in [from, to] { writeSide(snapshot, to: &html, context) }
        }
        html.element("h2", say: .textDifferences)
        guard let difference = report.difference else {
            html.element("p", ["class": "soft"], say: .textNotComparable)
            return
        }
        guard !difference.isEmpty else {
            html.element("p", ["class": "soft"], say: .textUnchanged)
            return
        }
        html.element("p", ["class": "soft"], say: .comparedText)
        html.element("div", ["class": "diff"]) { html in
            for line in difference.lines.prefix(Self.maxShownLines) {
                switch line {
                case .same(let text): html.element("p") { $0.isolatedText(Wording.cut(text, to: 600)) }
                case .removed(let text): html.element("p") { $0.change("del", .removedLine, text) }
                case .added(let text): html.element("p") { $0.change("ins", .addedLine, text) }
                case .gap(let count):
                    html.element("p", ["class": "soft"], say: Phrase(.equalLines, Wording.number(count)))
                }
            }
        }
        html.leftOutNote(of: difference.lines.count, shown: Self.maxShownLines)
    }

    /// Writes the name, the date and the picture of the page in one snapshot, with a link to the copy.
    private func writeSide(_ snapshot: Snapshot, to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("figure") { html in
            html.element("figcaption") { html in
                let name = html.words(.snapshotCaption, "\(snapshot.name)")
                let url = WebURL(href)
                let address =
                    snapshot.id == site.published
                    ? context.mirrorAddress(of: href)
                    : url.flatMap { context.layout.address(of: $0, in: snapshot.id) }
                if let address { html.link(address, text: name) } else { html.text(name) }
                html.say(.comma)
                html.moment(snapshot.started)
            }
            guard hasPictures else { return }
            let picture = context.links.picture(of: href, in: snapshot.name, of: site.id)
            html.void("img", ["src": picture, "alt": html.words(.screenshotInSnapshot, "\(snapshot.name)")])
        }
    }

    func members(_ context: PortalContext) -> JSONMembers { report.members }
}

extension HTMLWriter {
    /// Writes a changed line. Screen readers do not announce `del` and `ins`, so that the kind is also written.
    fileprivate mutating func change(_ name: StaticString, _ kind: Sentence, _ text: String) {
        element(name) { html in
            html.element("span", ["class": "hidden"]) { html in
                html.say(kind)
                html.text(" ")
            }
            html.isolatedText(Wording.cut(text, to: 600))
        }
    }
}
