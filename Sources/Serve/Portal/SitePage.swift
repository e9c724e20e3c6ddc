internal import Reports
internal import Store
internal import Web

/// A site: what is held of it, its pages, its media types, its visits.
struct SitePage: PortalPage {
    let site: SiteReport
    let hosts: FolderWalk
    let folder: FolderWalk
    let types: [TypeTally]
    let hasPictures: Bool
    let section = PortalSection.sites

    var title: String { site.title }

    init(_ site: Site, _ reader: StoreReader, _ memory: PortalMemory) throws(StoreError) {
        hasPictures = try reader.hasPictures(of: site)
        self.site = try memory.report(on: site, reader)
        hosts = try FolderWalk.list("", site: site.id, from: nil, limit: PortalLimits.lines, reader)
        folder = try FolderWalk.list(
            Self.folder(of: self.site.start), site: site.id, from: nil, limit: Self.shownLines, reader)
        types =
            try self.site.shown.map { (visit) throws(StoreError) in
                try memory.types(ofVisit: visit.number, reader)
            }
            ?? []
    }

    private static let shownLines = 25

    /// Up to the last slash of the path.
    static func folder(of href: String) -> String {
        guard let url = WebURL(href), let slash = url.path.utf8.lastIndex(of: UInt8(ascii: "/")) else {
            return ""
        }
        return url.origin + url.path[...slash]
    }

    func trail(_ context: PortalContext) -> [(text: String, address: String)] {
        [("Sites", context.links.home)]
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        for start in site.site.start {
            html.element("p", ["class": "url soft"]) { $0.address(start) }
        }
        site.writeState(to: &html, context)
        writeActions(to: &html, context)
        site.writeCounts(to: &html)
        html.searchForm(
            "\(context.links.site(site.id))/search", label: "Search this site")
        writePages(to: &html, context)
        writeTypes(to: &html)
        writeVisits(to: &html, context)
    }

    private func writeActions(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "actions"]) { html in
            if let address = context.mirrored(site.start) {
                html.link(address, ["class": "button"], text: "Open the copy")
            }
            html.link(
                context.links.missing(of: site.id), ["class": "button quiet"], text: "What is missing")
        }
    }

    private func writePages(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("h2", text: "Pages and files")
        guard !folder.items.isEmpty else {
            html.element("p", ["class": "soft"], text: "Nothing is held below the start address.")
            return writeHosts(to: &html, context)
        }
        html.element("p", ["class": "url soft"]) { $0.address(folder.prefix) }
        html.element("ul", ["class": "list"]) { html in
            for item in folder.items { html.item(item, context, of: site.id, below: folder.prefix) }
        }
        if folder.rest != nil {
            let address = context.links.folder(folder.prefix, of: site.id, after: folder.rest)
            html.next(address, "More of this folder")
        }
        writeHosts(to: &html, context)
    }

    private func writeHosts(to html: inout HTMLWriter, _ context: PortalContext) {
        guard hosts.items.count > 1 else { return }
        html.element("h3", text: "By host")
        html.element("ul", ["class": "list"]) { html in
            for item in hosts.items { html.item(item, context, of: site.id, below: "") }
        }
        if hosts.rest != nil {
            html.next(context.links.folder("", of: site.id, after: hosts.rest), "More hosts")
        }
    }

    private func writeTypes(to html: inout HTMLWriter) {
        guard !types.isEmpty else { return }
        html.element("h2", ["id": "types"], text: "Media types")
        html.element(
            "div", ["class": "scroll", "role": "region", "aria-labelledby": "types", "tabindex": "0"]
        ) {
            html in
            html.element("table") { html in
                if typesAreCut {
                    let number = Wording.grouped(PortalLimits.counted)
                    html.element("caption", text: "Of the first \(number) responses of the visit.")
                }
                html.head([("Type", false), ("Responses", true), ("Size", true)])
                html.element("tbody") { html in
                    for type in types {
                        html.element("tr") { html in
                            html.element("th", ["scope": "row"]) { $0.foreign(type.type ?? "none given") }
                            html.element("td", ["class": "number"], text: Wording.grouped(type.count))
                            html.element("td", ["class": "number"], text: Wording.bytes(type.byteCount))
                        }
                    }
                }
            }
        }
    }

    private var typesAreCut: Bool { types.reduce(0) { $0 + $1.count } == PortalLimits.counted }

    private func writeVisits(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("h2", ["id": "visits"], text: "Visits")
        html.element(
            "div", ["class": "scroll", "role": "region", "aria-labelledby": "visits", "tabindex": "0"]
        ) {
            html in
            html.element("table") { html in
                html.head([("Visit", false), ("Begun", false), ("Responses", true), ("State", false)])
                html.element("tbody") { html in
                    for visit in site.site.visits.suffix(PortalLimits.lines).reversed() {
                        write(visit, to: &html, context)
                    }
                }
            }
        }
        if site.site.visits.count > 1 {
            html.next(context.links.changes(of: site.id), "Compare two visits")
        }
        if hasPictures { html.next(context.links.pictures(of: site.id), "How its pages looked") }
    }

    private func write(_ visit: StatusReport.Visit, to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("tr") { html in
            html.element("th", ["scope": "row"]) { html in
                if let address = site.address(of: visit, context) {
                    html.link(address, text: "\(visit.number)")
                } else {
                    html.text("\(visit.number)")
                }
            }
            html.element("td") { $0.moment(visit.started) }
            html.element("td", ["class": "number"], text: Wording.grouped(visit.responses))
            html.element("td") { html in
                switch site.site.state(of: visit) {
                case .served:
                    html.element("span", ["class": "badge"], text: "Served")
                case .loaded(let base, let isServed):
                    if isServed { html.element("span", ["class": "badge"], text: "Served") }
                    html.text(" Loaded by a server, over visit \(base)")
                case .unfinished:
                    html.element("span", ["class": "badge warn"], text: "Not finished")
                case .kept:
                    html.text("Kept")
                }
            }
        }
    }

    func members(_ context: PortalContext) -> JSONMembers {
        site.members(context) + [
            "types": types.map { type -> JSONMembers in
                ["type": type.type, "responses": type.count, "bytes": type.byteCount]
            },
            "hosts": hosts.items.map { $0.members(context) }, "folder": folder.members(context),
        ]
    }
}

extension HTMLWriter {
    /// The heading row of a table.
    mutating func head(_ columns: [(name: String, isNumber: Bool)]) {
        element("thead") { html in
            html.element("tr") { html in
                for column in columns {
                    html.element(
                        "th", ["scope": "col", "class": column.isNumber ? "number" : nil], text: column.name)
                }
            }
        }
    }
}

extension SiteReport {
    func writeState(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p") { html in
            if let shown, site.published != nil {
                if let needs, !needs.missing.isEmpty {
                    html.element(
                        "span", ["class": "badge warn"],
                        text: "\(Wording.grouped(needs.missing.count)) missing")
                } else {
                    html.element("span", ["class": "badge"], text: needs == nil ? "Served" : "Complete")
                }
                html.text(" Visit \(shown.number) is served, fetched ")
                html.time(shown.started, now: context.now)
                html.text(needs == nil ? ". Whether anything is missing was not looked at." : ".")
            } else if let shown {
                html.element("span", ["class": "badge warn"], text: "Not complete")
                html.text(" Visit \(shown.number), begun ")
                html.time(shown.started, now: context.now)
                html.text(", is not finished. What it has so far is served.")
            } else {
                html.element("span", ["class": "badge warn"], text: "Empty")
                html.text(" It was never visited.")
            }
        }
    }

    func writeCounts(to html: inout HTMLWriter) {
        func number(_ count: Int) -> String {
            count == PortalLimits.counted ? "\(Wording.grouped(count)) or more" : Wording.grouped(count)
        }
        html.element("dl", ["class": "facts"]) { html in
            html.fact("Pages", number(tally.pages))
            html.fact("Files they need", number(tally.requisites))
            let size = Wording.bytes(tally.byteCount)
            html.fact("Size", tally.isEstimate ? "about \(size)" : size)
            html.fact("Gone at the origin", number(tally.tombstones))
            html.fact("Missing", needs.map { Wording.grouped($0.missing.count) } ?? "not looked at")
            if let needs, needs.leftOut > 0 {
                html.fact("Left out by settings", Wording.grouped(needs.leftOut))
            }
        }
    }

    /// Where an earlier visit can be looked at; nil for one that cannot be shown.
    func address(of visit: StatusReport.Visit, _ context: PortalContext) -> String? {
        guard visit.finished != nil, visit.base == nil, let url = WebURL(start) else { return nil }
        return visit.number == site.published
            ? context.layout.address(of: url) : context.layout.address(of: url, in: visit.number)
    }

    func members(_ context: PortalContext) -> JSONMembers {
        site.nameMembers + countMembers + [
            "mirror": context.mirrored(start),
            "visits": site.visits.map { $0.members + ["mirror": address(of: $0, context)] },
        ]
    }
}
