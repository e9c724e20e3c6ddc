internal import Reports
internal import Store
internal import Web

/// The page of the disk space that sites use, as a map and a table, with the form for a cleanup.
///
/// The map and the table have the sizes of the shown snapshots. Sites share bodies, and a store contains other snapshots
/// too, so that these sizes do not add up to the size of the store.
struct StoragePage: PortalPage {
    /// The disk space that the shown snapshot of a site uses, by media type.
    struct SiteUsage {
        let site: SiteReport
        /// The media types, those with the most responses first.
        let types: [TypeTally]
        var byteCount: Int64 { types.reduce(0) { $0 + Int64($1.byteCount) } }
    }

    /// The sites, the largest first.
    let usages: [SiteUsage]
    /// The size of the whole store. Nil if private responses are hidden from the visitor, since the size includes them.
    let byteCount: Int64?
    let title = "Storage"
    var heading: Sentence? { .storage }
    let section = PortalSection.storage

    init(_ reader: StoreReader, _ cache: PortalCache) throws(StoreError) {
        byteCount = reader.hidesPrivate ? nil : reader.folder.byteCount
        var usages: [SiteUsage] = []
        for site in try cache.sites(reader) {
            let report = try cache.report(on: site, limit: 0, reader)
            usages.append(SiteUsage(site: report, types: try cache.types(of: site, reader)))
        }
        self.usages = usages.sorted { ($0.byteCount, $1.site.id) > ($1.byteCount, $0.site.id) }
    }

    /// The coordinates of the map. The style scales it to the width of the page.
    private static let mapBox = Treemap.Box(x: 0, y: 0, width: 720, height: 420)
    /// The height of the line with the name of a site, above its media types.
    private static let nameHeight = 22.0

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        if let byteCount {
            html.element("p", ["class": "lead"], say: Phrase(.storageLead, Wording.bytes(byteCount)))
        }
        if usages.contains(where: { $0.byteCount > 0 }) {
            writeMap(to: &html, context)
            writeTable(to: &html, context)
        }
        html.element("p") { $0.link(PortalLinks.scripts, say: .scripts) }
        html.element("h2", say: .cleanup)
        html.element("p", say: .cleanupLead)
        html.explainReadOnly(context)
        html.commandForm("forecast", context, style: "order sheetlike") { html in
            html.inputField("limit", .cleanupLimit, hint: .cleanupLimitHint)
            html.element("div", ["class": "orders"]) { html in
                html.element("button", ["type": "submit"], say: .doPreviewCleanup)
                html.element(
                    "button",
                    ["type": "submit", "class": "warn", "formaction": PortalLinks.commands + "collect"],
                    say: .doCleanUp)
            }
        }
    }

    /// Writes the treemap as SVG: a box for each site, divided by media type.
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

    /// Writes the box of a site with a box for each of its media types. Boxes that are too small for a text have none;
    /// those of media types have a tooltip.
    private func writeBox(of usage: SiteUsage, in box: Treemap.Box, to html: inout HTMLWriter) {
        let hasName = box.width > 90 && box.height > 60
        html.rectangle(box.inset(1), "plot")
        if hasName {
            html.element("text", ["x": Treemap.text(box.x + 8), "y": Treemap.text(box.y + 17)]) { html in
                html.text(Wording.cut(usage.site.title, to: Int(box.width / 9)))
            }
        }
        var inside = box.inset(3)
        if hasName {
            inside.y += Self.nameHeight
            inside.height -= Self.nameHeight
        }
        let boxes = Treemap.boxes(usage.types.map { Double($0.byteCount) }, in: inside)
        for (type, part) in zip(usage.types, boxes) where part.width >= 1.5 && part.height >= 1.5 {
            html.element("g") { html in
                html.element(
                    "title",
                    text:
                        "\(Wording.cut(usage.site.title, to: 80)): \(type.type ?? "–"), \(html.language.bytes(type.byteCount))"
                )
                html.rectangle(part.inset(0.75), "type \(Self.colorClass(of: type.type))")
                guard part.width > 96, part.height > 30 else { return }
                html.element("text", ["x": Treemap.text(part.x + 7), "y": Treemap.text(part.y + 19)]) {
                    html in
                    html.text(Wording.cut(type.type ?? "–", to: Int(part.width / 9)))
                }
            }
        }
    }

    /// Returns the CSS class that gives a media type its colour. Four colours are enough to tell types apart.
    private static func colorClass(of type: String?) -> String {
        guard let type else { return "other" }
        if type.hasPrefix("image/") || type.hasPrefix("video/") || type.hasPrefix("audio/") { return "media" }
        if type.utf8.contains("html".utf8) { return "html" }
        if type.utf8.contains("script".utf8) || type.utf8.contains("css".utf8)
            || type.utf8.contains("json".utf8)
        {
            return "code"
        }
        return "other"
    }

    /// Writes the number of responses and the size of each site as a table.
    private func writeTable(to html: inout HTMLWriter, _ context: PortalContext) {
        html.scrollRegion(label: html.words(.storageTable)) { html in
            html.element("table") { html in
                html.tableHead([
                    (html.words(.site), false), (html.words(.responses), true),
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
                            let count = usage.types.reduce(0) { $0 + $1.count }
                            html.element("td", ["class": "number"], text: html.language.number(count))
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
                    "types": usage.types.map { type -> JSONMembers in
                        ["type": type.type, "responses": type.count, "bytes": type.byteCount]
                    },
                ]
            },
        ]
    }
}

extension HTMLWriter {
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
