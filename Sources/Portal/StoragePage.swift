internal import Reports
internal import Store
internal import Web

/// The page of the disk space that sites use, as a map and a table, with the form for the preview of a cleanup.
///
/// The map and the table have the sizes of the shown snapshots. A store contains other snapshots and the search index, too,
/// so that these sizes do not add up to the size of the store. The first lines of the page name the difference.
struct StoragePage: PortalPage {
    /// The disk space that the shown snapshot of a site uses, by media type.
    struct SiteUsage {
        let site: SiteReport
        /// The media types, those with the most responses first.
        let types: [TypeTally]
        /// The same by kind, the largest first.
        let kinds: StorageByKind
        /// The size that all pages of the portal show.
        var byteCount: Int64 { site.tally.byteCount }

        init(_ site: SiteReport, _ types: [TypeTally]) {
            (self.site, self.types, kinds) = (site, types, StorageByKind(types))
        }
    }

    /// The sites, the largest first.
    let usages: [SiteUsage]
    /// The size of the whole store. Nil if private responses are hidden from the visitor, since the size includes them.
    let byteCount: Int64?
    /// The parts of that size. Nil if they are not known, as for a store whose content is in S3.
    private let parts: Parts?
    /// Whether the last removal can be undone until the next cleanup.
    private let canUndoRemoval: Bool
    /// The limit of a cleanup, as the user typed it.
    private let limit: String?
    let title = "Storage"
    var heading: Sentence? { .storage }
    let section = PortalSection.storage

    /// - Parameter limit: the limit that the form contains at first.
    init(_ reader: StoreReader, _ cache: PortalCache, limit: String?) throws(StoreError) {
        byteCount = reader.hidesPrivate ? nil : reader.folder.byteCount
        self.limit = limit
        var usages: [SiteUsage] = []
        for site in try cache.sites(reader) {
            let report = try cache.report(on: site, limit: 0, reader)
            usages.append(SiteUsage(report, try cache.types(of: site, reader)))
        }
        self.usages = usages.sorted { ($0.byteCount, $1.site.id) > ($1.byteCount, $0.site.id) }
        parts = try byteCount.flatMap { (byteCount) throws(StoreError) in
            Parts(
                of: byteCount, sites: usages.reduce(0) { $0 + $1.byteCount },
                content: try reader.bodyByteCount(), removed: try reader.removedByteCount(),
                index: reader.folder.searchIndexByteCount)
        }
        canUndoRemoval = try reader.canUndoRemoval()
    }

    /// The parts of the size of a store.
    struct Parts {
        /// The parts in the order of the list. Their sizes add up to the size of the store.
        let list: [(sentence: Sentence, byteCount: Int64)]
        /// Whether the sizes of the sites add up to more than the stored content, since each file is stored once.
        let areFilesShared: Bool

        /// Returns nil if the store is smaller than its content, which is then elsewhere.
        ///
        /// - Parameters:
        ///   - byteCount: The size of the store.
        ///   - sites: The sum of the sizes of all sites in their current state.
        ///   - content: The size of all stored content, each file counted once.
        ///   - removed: The size of the content that the next cleanup removes, because nothing uses it any more.
        ///   - index: The size of the search index.
        init?(of byteCount: Int64, sites: Int64, content: Int64, removed: Int64 = 0, index: Int64) {
            let rest = byteCount - content - index
            guard rest >= 0 else { return nil }
            let used = max(0, content - removed)
            areFilesShared = sites > used
            let earlier = used - min(sites, used)
            list =
                [(.storageSites, used - earlier)] + (earlier > 0 ? [(.storageEarlier, earlier)] : [])
                + (removed > 0 ? [(.storageRemoved, removed)] : [])
                + [(.storageIndex, index), (.storageRest, rest)]
        }
    }

    /// The coordinates of the map. The style scales it to the width of the page.
    private static let mapBox = Treemap.Box(x: 0, y: 0, width: 720, height: 420)
    /// The height of the line with the name of a site, above its media types.
    private static let nameHeight = 22.0

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        if let byteCount { writeParts(of: byteCount, to: &html) }
        if usages.contains(where: { $0.byteCount > 0 }) {
            writeMap(to: &html, context)
            writeTable(to: &html, context)
        }
        html.element("p") { $0.link(PortalLinks.scripts, say: .scriptsAndDigests) }
        html.element("h2", say: .cleanup)
        html.element("p", say: .cleanupLead)
        html.explainReadOnly(context)
        html.cleanupForm(context, limit: limit)
    }

    /// Writes what the size of the store consists of. `parts` is nil where that is unknown.
    private func writeParts(of byteCount: Int64, to html: inout HTMLWriter) {
        html.element("p", ["class": "lead"], say: Phrase(.storageLead, Wording.bytes(byteCount)))
        guard let parts else { return }
        html.element("ul") { html in
            for part in parts.list {
                html.element("li", say: Phrase(part.sentence, Wording.bytes(part.byteCount)))
            }
        }
        if canUndoRemoval { html.element("p", say: .storageUndo) }
        if parts.areFilesShared { html.element("p", say: .storageShared) }
    }

    /// Writes the treemap as SVG: a box for each site, divided by kind of content.
    private func writeMap(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("figure", ["class": "map"]) { html in
            html.element("figcaption", ["class": "hidden"], say: .storageMap)
            // For a screen reader the map is one picture with a name: the table below contains the same figures.
            html.element(
                "svg",
                [
                    "viewBox": "0 0 \(Int(Self.mapBox.width)) \(Int(Self.mapBox.height))", "role": "img",
                    "aria-label": html.words(.storageMap),
                ]
            ) { html in
                let boxes = Treemap.boxes(usages.map { Double($0.byteCount) }, in: Self.mapBox)
                for (usage, box) in zip(usages, boxes) where box.width >= 2 && box.height >= 2 {
                    writeBox(of: usage, in: box, to: &html)
                }
            }
        }
    }

    /// Writes the box of a site with a box for each kind of content. Boxes that are too small for a text have none; those
    /// of kinds have a tooltip.
    private func writeBox(of usage: SiteUsage, in box: Treemap.Box, to html: inout HTMLWriter) {
        let hasName = box.width > 90 && box.height > 60
        html.rectangle(box.inset(1), "plot")
        if hasName {
            html.element("text", ["x": Treemap.text(box.x + 8), "y": Treemap.text(box.y + 17)]) { html in
                html.text(Wording.cut(usage.site.title, to: Int((box.width - 16) / 10)))
            }
        }
        var inside = box.inset(3)
        if hasName {
            inside.y += Self.nameHeight
            inside.height -= Self.nameHeight
        }
        let boxes = Treemap.boxes(usage.kinds.kinds.map { Double($0.byteCount) }, in: inside)
        for (part, box) in zip(usage.kinds.kinds, boxes) where box.width >= 1.5 && box.height >= 1.5 {
            let (name, size) = (html.words(part.kind.sentence), html.language.bytes(part.byteCount))
            html.element("g") { html in
                html.element("title", text: "\(Wording.cut(usage.site.title, to: 80)): \(name), \(size)")
                html.rectangle(box.inset(0.75), "type \(Self.colorClass(of: part.kind))")
                guard box.width > 60, box.height > 24 else { return }
                let isWide = box.width > Double((name + size).count) * 8 + 30
                html.element("text", ["x": Treemap.text(box.x + 7), "y": Treemap.text(box.y + 19)]) { html in
                    html.text(isWide ? "\(name), \(size)" : Wording.cut(name, to: Int(box.width / 9)))
                }
            }
        }
    }

    /// Returns the CSS class that gives a kind its colour. Four colours are enough to tell kinds apart.
    private static func colorClass(of kind: StorageByKind.Kind) -> String {
        switch kind {
        case .pages: "html"
        case .images, .media: "media"
        case .scripts, .styles, .data: "code"
        case .fonts, .documents, .other, .additional: "other"
        }
    }

    /// Writes the largest kind of content and the size of each site as a table.
    private func writeTable(to html: inout HTMLWriter, _ context: PortalContext) {
        html.scrollRegion(label: html.words(.storageTable)) { html in
            html.element("table") { html in
                html.tableHead([
                    (html.words(.site), false), (html.words(.largestPart), false),
                    (html.words(.figureSize), true),
                ])
                html.element("tbody") { html in
                    for usage in usages {
                        html.element("tr") { html in
                            html.element("th", ["scope": "row"]) { html in
                                html.link(context.links.site(usage.site.id)) {
                                    $0.isolatedText(Wording.cut(usage.site.title, to: 120))
                                }
                            }
                            html.element("td") { html in
                                guard let largest = usage.kinds.kinds.first else { return }
                                html.say(largest.kind.sentence)
                                html.say(.comma)
                                html.text(html.language.bytes(largest.byteCount))
                            }
                            html.element(
                                "td", ["class": "number"], text: html.language.bytes(usage.byteCount))
                        }
                    }
                }
            }
        }
    }

    func members(_ context: PortalContext) -> JSONMembers {
        [
            "bytes": byteCount,
            "sites": usages.map { usage -> JSONMembers in
                [
                    "site": usage.site.site.name, "bytes": usage.byteCount,
                ] + usage.types.typeMembers
            },
        ]
    }
}

extension HTMLWriter {
    /// Writes the form for the preview of a cleanup.
    ///
    /// - Parameters:
    ///   - limit: the limit that the field contains at first.
    ///   - mistake: the id of the element that describes the mistake in it; nil if it is valid.
    mutating func cleanupForm(_ context: PortalContext, limit: String?, mistake: String? = nil) {
        commandForm("forecast", context, style: "order sheetlike") { html in
            html.inputField(
                "limit", .cleanupLimit, value: limit ?? "", hint: .cleanupLimitHint, mistake: mistake)
            html.element("div", ["class": "orders"]) { html in
                html.element("button", ["type": "submit"], say: .doPreviewCleanup)
            }
        }
    }

    /// Writes an SVG rectangle with a CSS class.
    fileprivate mutating func rectangle(_ box: Treemap.Box, _ cssClass: String) {
        element(
            "rect",
            [
                "class": cssClass, "x": Treemap.text(box.x), "y": Treemap.text(box.y),
                "width": Treemap.text(max(0, box.width)), "height": Treemap.text(max(0, box.height)),
                "rx": "3",
            ]
        ) { _ in }
    }
}
