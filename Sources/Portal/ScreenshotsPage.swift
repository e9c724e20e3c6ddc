internal import Reports
internal import Store
internal import Web

/// The page of screenshots in two snapshots, side by side, with their differences.
struct ScreenshotsPage: PortalPage {
    let site: Site
    let from: Snapshot?
    let to: Snapshot?
    /// The comparison; nil if there is nothing to compare, or if the site is too large to compare here.
    let report: ScreenshotReport?
    /// The number of the page of this list, from 0.
    let page: Int
    let section = PortalSection.sites
    let title = "Screenshots"
    var heading: Sentence? { .screenshotsTitle }

    /// - Parameters:
    ///   - first: the snapshot to compare with; nil for the one before the live one.
    ///   - second: the snapshot to show; nil for the live one.
    ///   - page: the number of the page of the list, from 0.
    init(
        _ site: Site, from first: SnapshotName?, to second: SnapshotName?, page: Int, _ reader: StoreReader
    ) throws(StoreError) {
        self.site = site
        self.page = max(0, min(page, 1_000_000))
        let snapshots = site.snapshotsToDisplay(from: first, to: second)
        // With a single snapshot, shows its screenshots alone.
        (from, to) = (snapshots.from ?? snapshots.to, snapshots.to)
        guard let from, let to, site.isComparable else {
            report = nil
            return
        }
        report = try ScreenshotReport(of: site, from: from, to: to, reader)
    }

    func trail(_ context: PortalContext) -> [(text: String, address: String)] {
        [(context.words(.sites), context.links.home), (site.name, context.links.site(site.id))]
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        guard let from, let to else {
            html.element("p", say: .noSnapshot)
            return
        }
        html.snapshotsForm(of: site, from, to, at: context.links.pictures(of: site.id))
        guard let report else {
            html.element(
                "p",
                say: .tooLargeToCompareScreenshots)
            html.element("pre", text: "larder help diff")
            return
        }
        guard !report.pages.isEmpty else {
            html.element("p", say: .noScreenshots)
            html.element("pre", text: "larder help rendering")
            return
        }
        html.element("dl", ["class": "facts"]) { html in
            for state in ScreenshotReport.Comparison.allCases where report.count(state) > 0 {
                html.fact(html.words(Self.sentence(for: state)), html.language.number(report.count(state)))
            }
        }
        // Changed pages first.
        let pages = ScreenshotReport.Comparison.allCases.flatMap { state in
            report.pages.filter { $0.state == state }
        }
        let start = min(page * PortalLimits.maxScreenshotPages, pages.count)
        for page in pages[start..<min(start + PortalLimits.maxScreenshotPages, pages.count)] {
            writePage(page, to: &html, context)
        }
        guard start + PortalLimits.maxScreenshotPages < pages.count else { return }
        html.nextLink(
            context.links.pictures(of: site.id, from: from.name, to: to.name, page: page + 1),
            html.words(.more))
    }

    /// Writes the screenshots of one page: of both snapshots, or one if both have the same.
    private func writePage(_ page: ScreenshotReport.Page, to html: inout HTMLWriter, _ context: PortalContext)
    {
        html.element("h2", ["class": "url"]) { html in
            html.link(context.links.details(page.url)) { $0.url(page.url) }
        }
        let isChanged = page.state == .changed
        html.element("p", ["class": isChanged ? "badge warn" : "badge"], say: Self.sentence(for: page.state))
        html.element("div", ["class": "pictures"]) { html in
            let shown = page.from == page.to ? [page.to] : [page.from, page.to]
            let addresses = shown.compactMap(\.self).map {
                (snapshot: $0, address: context.links.picture(of: page.url, in: $0, of: site.id))
            }
            for (snapshot, address) in addresses {
                writeFigure(html.words(.snapshotCaption, "\(snapshot)"), to: &html) { html in
                    html.link(address) { html in
                        html.image(address, html.words(.screenshotInSnapshot, "\(snapshot)"))
                    }
                }
            }
            guard isChanged, addresses.count == 2 else { return }
            writeFigure(html.words(.differences), to: &html) { html in
                // The style blends the second image with the first by `difference`. Only the first has a text for screen
                // readers, since the two show one picture.
                html.element("div", ["class": "overlay"]) { html in
                    html.image(addresses[0].address, html.words(.differencesAlt))
                    html.image(addresses[1].address, "")
                }
            }
        }
    }

    private func writeFigure(
        _ caption: String, to html: inout HTMLWriter, _ content: (inout HTMLWriter) -> Void
    ) {
        html.element("figure") { html in
            html.element("figcaption", text: caption)
            content(&html)
        }
    }

    private static func sentence(for state: ScreenshotReport.Comparison) -> Sentence {
        switch state {
        case .changed: .changed
        case .added: .newScreenshot
        case .gone: .gone
        case .same: .unchanged
        case .reused: .screenshotReused
        }
    }

    func members(_ context: PortalContext) -> JSONMembers {
        (report?.members ?? ["site": site.name, "from": from?.number, "to": to?.number])
            + ["compared": report != nil]
    }
}

extension HTMLWriter {
    /// Writes an image that is loaded when it scrolls into view. `words` is its text for screen readers.
    fileprivate mutating func image(_ address: String, _ words: String) {
        void("img", ["src": address, "alt": words, "loading": "lazy"])
    }
}
