internal import Reports
internal import Store
internal import Web

/// A site: what is held of it, its pages, its media types, its visits.
struct SitePage: PortalPage {
    let facts: SiteFacts
    let hosts: FolderWalk
    let folder: FolderWalk
    let types: [TypeTally]
    let section = PortalSection.sites

    var title: String { facts.heading }

    init(_ site: Site, _ reader: StoreReader, _ memory: PortalMemory) throws(StoreError) {
        facts = try SiteFacts(site, reader, memory)
        hosts = try FolderWalk.list("", site: site.id, from: nil, limit: PortalLimits.lines, reader)
        let start = site.start.first ?? site.name
        folder = try FolderWalk.list(
            Self.folder(of: start), site: site.id, from: nil, limit: Self.shownLines, reader)
        types =
            try facts.shown.map { (visit) throws(StoreError) in try memory.types(ofVisit: visit.id, reader) }
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
        for start in facts.site.start {
            html.element("p", ["class": "url soft"]) { $0.address(start) }
        }
        facts.writeState(to: &html, context)
        writeActions(to: &html, context)
        facts.writeFacts(to: &html)
        html.searchForm(
            "\(context.links.site(facts.site.id))/search", label: "Search this site’s titles and addresses")
        writePages(to: &html, context)
        writeTypes(to: &html)
        writeVisits(to: &html, context)
    }

    private func writeActions(to html: inout HTMLWriter, _ context: PortalContext) {
        let start = facts.site.start.first ?? facts.site.name
        html.element("p", ["class": "actions"]) { html in
            if let address = context.mirrored(start) {
                html.link(address, ["class": "button"], text: "Open the copy")
            }
            html.link(
                context.links.missing(of: facts.site.id), ["class": "button quiet"], text: "What is missing")
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
            for item in folder.items { html.item(item, context, of: facts.site.id, below: folder.prefix) }
        }
        if folder.rest != nil {
            let address = context.links.folder(folder.prefix, of: facts.site.id, after: folder.rest)
            html.next(address, "More of this folder")
        }
        writeHosts(to: &html, context)
    }

    private func writeHosts(to html: inout HTMLWriter, _ context: PortalContext) {
        guard hosts.items.count > 1 else { return }
        html.element("h3", text: "By host")
        html.element("ul", ["class": "list"]) { html in
            for item in hosts.items { html.item(item, context, of: facts.site.id, below: "") }
        }
        if hosts.rest != nil {
            html.next(context.links.folder("", of: facts.site.id, after: hosts.rest), "More hosts")
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
                    for visit in facts.site.visits.suffix(PortalLimits.lines).reversed() {
                        write(visit, to: &html, context)
                    }
                }
            }
        }
        if facts.site.visits.count > 1 {
            html.next(context.links.changes(of: facts.site.id), "Compare two visits")
        }
    }

    private func write(_ visit: Visit, to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("tr") { html in
            html.element("th", ["scope": "row"]) { html in
                if let address = facts.address(of: visit, context) {
                    html.link(address, text: "\(visit.id)")
                } else {
                    html.text("\(visit.id)")
                }
            }
            html.element("td") { $0.moment(visit.started) }
            html.element("td", ["class": "number"], text: Wording.grouped(visit.responseCount))
            html.element("td") { html in
                if visit.id == facts.site.published {
                    html.element("span", ["class": "badge"], text: "Served")
                } else if let base = visit.base {
                    if visit.id == facts.site.overlay {
                        html.element("span", ["class": "badge"], text: "Served")
                    }
                    html.text(" Loaded by a server, over visit \(base)")
                } else if visit.finished == nil {
                    html.element("span", ["class": "badge warn"], text: "Not finished")
                } else {
                    html.text("Kept")
                }
            }
        }
    }

    func write(to json: inout JSONWriter, _ context: PortalContext) {
        facts.members(of: &json, context)
        json.member("types") { list in
            list.array { array in
                for type in types {
                    array.object { object in
                        object.member("type", type.type)
                        object.member("responses", type.count)
                        object.member("bytes", type.byteCount)
                    }
                }
            }
        }
        json.member("hosts") {
            $0.array { array in for item in hosts.items { item.write(to: &array, context) } }
        }
        json.member("folder") { folder.write(to: &$0, context) }
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

extension FolderWalk {
    func write(to writer: inout JSONWriter, _ context: PortalContext) {
        writer.object { object in
            object.member("under", prefix)
            object.member("items") { list in
                list.array { array in for item in items { item.write(to: &array, context) } }
            }
            object.member("after", rest)
        }
    }
}

extension FolderWalk.Item {
    func write(to writer: inout JSONWriter, _ context: PortalContext) {
        switch self {
        case .entry(let entry):
            entry.write(to: &writer, context)
        case .folder(let prefix, let count, let isMore):
            writer.object { object in
                object.member("folder", prefix)
                object.member("addresses", count)
                object.member("more", isMore)
            }
        }
    }
}

/// A site as the portal tells of it in short.
struct SiteFacts {
    let site: Site
    /// The start page's, where it has one.
    let heading: String
    /// The visit that readers see; nil when there is none yet.
    let shown: Visit?
    let tally: VisitTally
    /// Nil where nobody looked whether all that its pages need is there.
    let needs: SiteNeeds?

    /// - Parameter limit: how many addresses may be walked over.
    init(
        _ site: Site, _ reader: StoreReader, _ memory: PortalMemory, limit: Int = PortalLimits.neededURLs
    ) throws(StoreError) {
        self.site = site
        shown = site.visits.first { $0.id == site.published } ?? site.visits.last { $0.base == nil }
        tally =
            try shown.map { (visit) throws(StoreError) in try memory.tally(ofVisit: visit.id, reader) }
            ?? VisitTally()
        needs = try memory.needs(of: site, limit: limit, reader)
        let start = site.start.first ?? site.name
        let title = try reader.response(for: start)?.body?.title
        heading = title.flatMap { $0.isEmpty ? nil : $0 } ?? Self.name(of: start)
    }

    /// The host, where it is an address.
    private static func name(of start: String) -> String {
        guard let url = WebURL(start), !url.host.isEmpty else { return start }
        return url.host
    }

    /// Whether its visit ended and everything that its pages need is held; nil where nobody looked.
    var isComplete: Bool? {
        site.published == nil ? false : needs.map(\.missing.isEmpty)
    }

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
                html.text(" Visit \(shown.id) is served, fetched ")
                html.time(shown.started, now: context.now)
                html.text(needs == nil ? ". Whether anything is missing was not looked at." : ".")
            } else if let shown {
                html.element("span", ["class": "badge warn"], text: "Not complete")
                html.text(" Visit \(shown.id), begun ")
                html.time(shown.started, now: context.now)
                html.text(", is not finished. What it has so far is served.")
            } else {
                html.element("span", ["class": "badge warn"], text: "Empty")
                html.text(" It was never visited.")
            }
        }
    }

    func writeFacts(to html: inout HTMLWriter) {
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
    func address(of visit: Visit, _ context: PortalContext) -> String? {
        guard visit.finished != nil, visit.base == nil, let url = WebURL(site.start.first ?? site.name) else {
            return nil
        }
        return visit.id == site.published
            ? context.layout.address(of: url) : context.layout.address(of: url, in: visit.id)
    }

    func write(to writer: inout JSONWriter, _ context: PortalContext) {
        writer.object { object in
            members(of: &object, context)
        }
    }

    func members(of object: inout JSONWriter, _ context: PortalContext) {
        object.member("id", site.id)
        object.member("name", site.name)
        object.member("title", heading)
        object.member("start", site.start)
        object.member("mirror", context.mirrored(site.start.first ?? site.name))
        object.member("published", site.published)
        object.member("overlay", site.overlay)
        object.member("complete", isComplete)
        object.member("pages", tally.pages)
        object.member("requisites", tally.requisites)
        object.member("redirects", tally.redirects)
        object.member("tombstones", tally.tombstones)
        object.member("countsAreCapped", tally.isCapped)
        object.member("bytes", tally.byteCount)
        object.member("bytesAreEstimated", tally.isEstimate)
        object.member("missing", needs?.missing.count)
        object.member("leftOut", needs?.leftOut)
        object.member("visits") { list in
            list.array { array in
                for visit in site.visits {
                    array.object { object in
                        object.member("number", visit.id)
                        object.member("started", visit.started)
                        object.member("finished", visit.finished)
                        object.member("base", visit.base)
                        object.member("responses", visit.responseCount)
                        object.member("mirror", address(of: visit, context))
                    }
                }
            }
        }
    }
}
