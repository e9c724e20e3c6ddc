internal import Reports
internal import Store
internal import Web

/// The pages of a site, sorted by title.
struct TitlesPage: PortalPage {
    let site: Site
    /// The pages; nil if there are too many to sort while a client waits.
    let pages: [TitledPage]?
    let next: TitledPage?
    let title: String
    let section = PortalSection.sites

    /// - Parameter place: a title and a URL, separated by a line break.
    init(_ site: Site, after place: String?, _ reader: StoreReader) throws(StoreError) {
        self.site = site
        title = site.name
        guard site.isComparable else {
            (pages, next) = (nil, nil)
            return
        }
        let start = place.flatMap { text -> TitledPage? in
            guard let end = text.lastIndex(of: "\n") else { return nil }
            return TitledPage(title: String(text[..<end]), href: String(text[text.index(after: end)...]))
        }
        let limit = PortalLimits.maxTitles
        let found = try reader.titledPages(ofSite: site.id, after: start, limit: limit + 1)
        pages = Array(found.prefix(limit))
        next = found.count > limit ? found[limit - 1] : nil
    }

    var heading: Sentence? { .pagesByTitle }

    func trail(_ context: PortalContext) -> [(text: String, address: String)] {
        [(context.words(.sites), context.links.home), (site.name, context.links.site(site.id))]
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        guard let pages else { return html.element("p", say: .tooManyTitles) }
        html.element("p", ["class": "lead"], say: pages.isEmpty ? .noTitles : .titlesLead)
        html.element("ul", ["class": "list"]) { html in
            for page in pages {
                html.element("li") { html in
                    html.link(
                        context.mirrorAddress(of: page.href) ?? context.links.details(page.href),
                        ["class": "name"]
                    ) { $0.isolatedText(Wording.cut(page.title, to: 200)) }
                    html.link(context.links.details(page.href), ["class": "url soft"]) {
                        $0.url(page.href)
                    }
                }
            }
        }
        if let next {
            let place = "\(next.title)\n\(next.href)"
            html.next(context.links.titles(of: site.id, after: place), html.words(.more))
        }
    }

    func members(_ context: PortalContext) -> JSONMembers {
        [
            "site": site.name,
            "pages": (pages ?? []).map { ["title": $0.title, "url": $0.href] as JSONMembers },
            "after": next.map { "\($0.title)\n\($0.href)" },
        ]
    }
}

/// The form with the settings of a site.
struct SettingsPage: PortalPage {
    let site: Site
    let plan: SiteSettingsForm
    let title: String
    let section = PortalSection.sites

    init(_ site: Site) {
        self.site = site
        title = site.name
        plan = SiteSettingsForm(settings: site.settings)
    }

    var heading: Sentence? { .settings }

    func trail(_ context: PortalContext) -> [(text: String, address: String)] {
        [(context.words(.sites), context.links.home), (site.name, context.links.site(site.id))]
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "lead"], say: .settingsLead)
        html.explainReadOnly(context)
        html.idleScheduleNotice(context, isScheduled: site.schedule != nil)
        html.commandForm("settings", context, style: "order sheetlike", fields: [("site", site.name)]) {
            html in
            plan.write(to: &html, isNew: false)
            html.element("button", ["type": "submit"], say: .doSaveSettings)
        }
    }

    func members(_ context: PortalContext) -> JSONMembers {
        [
            "site": site.name, "scope": plan.scope, "render": plan.render, "robots": plan.robots,
            "depth": plan.depth, "maxPages": plan.maxPages, "perHost": plan.connectionsPerHost,
            "schedule": plan.updateInterval == SiteSettingsForm.never ? nil : plan.updateInterval,
            "include": plan.include,
            "exclude": plan.exclude,
        ]
    }
}

/// The disk space that sites use, as a map and a table, and the form for a cleanup.
struct StoragePage: PortalPage {
    /// The disk space of a site by media type.
    struct Plot {
        let site: SiteReport
        let types: [TypeTally]
        var byteCount: Int64 { types.reduce(0) { $0 + Int64($1.byteCount) } }
    }

    let plots: [Plot]
    /// The size of the whole store; nil if private responses are hidden.
    let byteCount: Int64?
    let title = "Storage"
    var heading: Sentence? { .storage }
    let section = PortalSection.storage

    init(_ reader: StoreReader, _ cache: PortalCache) throws(StoreError) {
        byteCount = reader.hidesPrivate ? nil : reader.folder.byteCount
        var plots: [Plot] = []
        for site in try cache.sites(reader) {
            let report = try cache.report(on: site, limit: 0, reader)
            let types =
                try report.shown.map { (snapshot) throws(StoreError) in
                    try cache.types(ofSnapshot: snapshot.id, reader)
                } ?? []
            plots.append(Plot(site: report, types: types))
        }
        self.plots = plots.sorted { ($0.byteCount, $1.site.id) > ($1.byteCount, $0.site.id) }
    }

    private static let size = Treemap.Box(x: 0, y: 0, width: 720, height: 420)
    private static let gap = 22.0

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        if let byteCount {
            html.element("p", ["class": "lead"], say: Phrase(.storageLead, Wording.bytes(byteCount)))
        }
        if plots.contains(where: { $0.byteCount > 0 }) {
            writeMap(to: &html, context)
            writeTable(to: &html, context)
        }
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

    private func writeMap(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("figure", ["class": "map"]) { html in
            html.element("figcaption", ["class": "hidden"], say: .storageMap)
            // The table below contains the same figures.
            html.element(
                "svg",
                [
                    "viewBox": "0 0 \(Int(Self.size.width)) \(Int(Self.size.height))", "role": "img",
                    "aria-label": html.words(.storageMap),
                ]
            ) { html in
                let boxes = Treemap.boxes(plots.map { Double($0.byteCount) }, in: Self.size)
                for (plot, box) in zip(plots, boxes) where box.width >= 2 && box.height >= 2 {
                    write(plot, in: box, to: &html)
                }
            }
        }
    }

    private func write(_ plot: Plot, in box: Treemap.Box, to html: inout HTMLWriter) {
        let hasName = box.width > 90 && box.height > 60
        html.rectangle(box.inset(1), "plot")
        if hasName {
            html.element("text", ["x": Treemap.text(box.x + 8), "y": Treemap.text(box.y + 17)]) { html in
                html.text(Wording.cut(plot.site.title, to: Int(box.width / 9)))
            }
        }
        var inside = box.inset(3)
        if hasName {
            inside.y += Self.gap
            inside.height -= Self.gap
        }
        let boxes = Treemap.boxes(plot.types.map { Double($0.byteCount) }, in: inside)
        for (type, part) in zip(plot.types, boxes) where part.width >= 1.5 && part.height >= 1.5 {
            html.element("g") { html in
                html.element(
                    "title",
                    text:
                        "\(Wording.cut(plot.site.title, to: 80)): \(type.type ?? "–"), \(Wording.bytes(type.byteCount))"
                )
                html.rectangle(part.inset(0.75), "type \(Self.family(of: type.type))")
                guard part.width > 96, part.height > 30 else { return }
                html.element("text", ["x": Treemap.text(part.x + 7), "y": Treemap.text(part.y + 19)]) {
                    html in
                    html.text(Wording.cut(type.type ?? "–", to: Int(part.width / 9)))
                }
            }
        }
    }

    /// Returns the group that a media type shares its colour with. Four colours are enough to tell types
    /// apart.
    private static func family(of type: String?) -> String {
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

    private func writeTable(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element(
            "div",
            ["class": "scroll", "role": "region", "tabindex": "0", "aria-label": html.words(.storageTable)]
        ) { html in
            html.element("table") { html in
                html.head([
                    (html.words(.site), false), (html.words(.responses), true),
                    (html.words(.figureSize), true),
                ])
                html.element("tbody") { html in
                    for plot in plots {
                        html.element("tr") { html in
                            html.element("th", ["scope": "row"]) { html in
                                html.link(context.links.site(plot.site.id)) {
                                    $0.isolatedText(Wording.cut(plot.site.title, to: 120))
                                }
                            }
                            let count = plot.types.reduce(0) { $0 + $1.count }
                            html.element("td", ["class": "number"], text: Wording.number(count))
                            html.element("td", ["class": "number"], text: Wording.bytes(plot.byteCount))
                        }
                    }
                }
            }
        }
    }

    func members(_ context: PortalContext) -> JSONMembers {
        [
            "bytes": byteCount,
            "sites": plots.map { plot -> JSONMembers in
                [
                    "site": plot.site.site.name, "bytes": plot.byteCount,
                    "types": plot.types.map { type -> JSONMembers in
                        ["type": type.type, "responses": type.count, "bytes": type.byteCount]
                    },
                ]
            },
        ]
    }
}

extension HTMLWriter {
    fileprivate mutating func rectangle(_ box: Treemap.Box, _ kind: String) {
        element(
            "rect",
            [
                "class": kind, "x": Treemap.text(box.x), "y": Treemap.text(box.y),
                "width": Treemap.text(max(0, box.width)), "height": Treemap.text(max(0, box.height)),
                "rx": "3",
            ]
        ) { _ in }
    }
}

/// Divides a box into boxes with areas in proportion to numbers, as square as possible (Bruls, Huizing, van
/// Wijk: Squarified Treemaps, 2000).
enum Treemap {
    /// A rectangle.
    struct Box: Equatable {
        var x, y, width, height: Double

        func inset(_ edge: Double) -> Box {
            Box(x: x + edge, y: y + edge, width: max(0, width - 2 * edge), height: max(0, height - 2 * edge))
        }
    }

    /// Returns one box for each number, which must be sorted in descending order; empty boxes for numbers
    /// that are not positive.
    static func boxes(_ numbers: [Double], in whole: Box) -> [Box] {
        let numbers = numbers.map { $0.isFinite && $0 > 0 ? $0 : 0 }
        let sum = numbers.reduce(0, +)
        var boxes = numbers.map { _ in Box(x: whole.x, y: whole.y, width: 0, height: 0) }
        guard sum > 0, whole.width > 0, whole.height > 0 else { return boxes }
        let scale = whole.width * whole.height / sum
        let areas = numbers.map { $0 * scale }
        var (rest, start) = (whole, 0)
        while start < areas.count, areas[start] > 0 {
            let side = min(rest.width, rest.height)
            var end = start + 1
            while end < areas.count, areas[end] > 0,
                worst(areas[start...end], side) <= worst(areas[start..<end], side)
            {
                end += 1
            }
            let row = areas[start..<end].reduce(0, +)
            let isBeside = rest.width >= rest.height
            let thickness = side > 0 ? row / side : 0
            var place = isBeside ? rest.y : rest.x
            for index in start..<end {
                let length = thickness > 0 ? areas[index] / thickness : 0
                boxes[index] =
                    isBeside
                    ? Box(x: rest.x, y: place, width: thickness, height: length)
                    : Box(x: place, y: rest.y, width: length, height: thickness)
                place += length
            }
            if isBeside {
                rest.x += thickness
                rest.width = max(0, rest.width - thickness)
            } else {
                rest.y += thickness
                rest.height = max(0, rest.height - thickness)
            }
            start = end
        }
        return boxes
    }

    /// The worst aspect ratio in a row.
    private static func worst(_ row: ArraySlice<Double>, _ side: Double) -> Double {
        let sum = row.reduce(0, +)
        guard let least = row.min(), let most = row.max(), sum > 0, least > 0, side > 0 else {
            return .infinity
        }
        return max(side * side * most / (sum * sum), sum * sum / (side * side * least))
    }

    /// Formats a number with at most one decimal.
    static func text(_ number: Double) -> String {
        let tenths = Int((number * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(abs(tenths % 10))"
    }
}

/// The page that switches the page bar on and off.
struct BarPage: PortalPage {
    let isOn: Bool

    let title = "Page bar"
    var heading: Sentence? { .barTitle }
    let section = PortalSection.none

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "lead"], say: .barLead)
        html.element("p") { html in
            html.element("span", ["class": "badge"], say: isOn ? .barIsOn : .barIsOff)
        }
        html.explainReadOnly(context)
        html.commandButton(
            "bar", isOn ? .doHideBar : .doShowBar, context, fields: [("on", isOn ? "0" : "1")], isQuiet: isOn)
    }

    func members(_ context: PortalContext) -> JSONMembers { ["bar": isOn] }
}
