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
        types = try facts.shown.map { (visit) throws(StoreError) in try memory.types(ofVisit: visit.id, reader) } ?? []
    }

    private static let shownLines = 25

    /// Up to the last slash of the path.
    static func folder(of href: String) -> String {
        guard let url = WebURL(href), let slash = url.path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
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
            html.link(context.links.missing(of: facts.site.id), ["class": "button quiet"], text: "What is missing")
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
        html.element("div", ["class": "scroll", "role": "region", "aria-labelledby": "types", "tabindex": "0"]) {
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
        html.element("div", ["class": "scroll", "role": "region", "aria-labelledby": "visits", "tabindex": "0"]) {
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
                    if visit.id == facts.site.overlay { html.element("span", ["class": "badge"], text: "Served") }
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
        json.member("hosts") { $0.array { array in for item in hosts.items { item.write(to: &array, context) } } }
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
