internal import Store
internal import Web

/// Everything that is known of one URL.
struct DetailsPage: PortalPage {
    struct Links {
        let list: LinkList
        let targets: [(href: String, isHeld: Bool)]
        let count: Int
    }

    let href: String
    /// The newest visit first.
    let rows: [HeldRow]
    /// What readers get; nil when nothing is shown.
    let shown: HeldRow?
    /// Where the shown body's bytes are; nil without a body, and when they are gone.
    /// From the store's folder on; nil when the bytes are not whole.
    let keptIn: String?
    /// Of the shown body, as far as it is known or quickly had.
    let md5: [UInt8]?
    let links: [Links]
    /// Those that have it.
    let sites: [Site]
    /// By its name, the one that fetches what was missed there.
    let bringer: String?
    let linkers: (hrefs: [String], next: Int64?)
    let isContinued: Bool
    let neighbours: [String]
    let section = PortalSection.none

    init(
        _ href: String, allOf wanted: LinkList?, after place: Int64?, _ reader: StoreReader,
        _ memory: PortalMemory
    )
        throws(StoreError)
    {
        self.href = href
        rows = try reader.rows(of: href)
        shown =
            rows.first { $0.isShown && $0.response.request == .get } ?? rows.first { $0.isShown }
            ?? rows.first
        keptIn =
            try shown?.response.body.flatMap { (body) throws(StoreError) in
                try reader.content(of: body) == nil ? nil : try reader.placeName(of: body)
            }
        md5 =
            try keptIn == nil
            ? nil
            : shown?.response.body.flatMap { (body) throws(StoreError) in
                try reader.md5(of: body, upTo: PortalLimits.digestedBytes)
            }
        let known = try memory.sites(reader).map { ($0.name, $0.start, $0.settings) }
        bringer = SiteRules(known).site(bringing: href, askedBy: nil, isPage: true)
        let names = Set(rows.map(\.site))
        sites = try memory.sites(reader).filter { names.contains($0.name) }
        var links: [Links] = []
        if let shown, let numbers = try reader.linkNumbers(of: shown.response) {
            for list in LinkList.allCases {
                let all = Self.unique(list == .pages ? numbers.pages : numbers.requisites)
                let limit = wanted == list ? Self.mostLinks : PortalLimits.lines
                links.append(
                    Links(list: list, targets: try reader.targets(all, limit: limit), count: all.count))
            }
        }
        self.links = links
        isContinued = place != nil
        linkers = try reader.linkers(
            to: href, after: place ?? 0, count: PortalLimits.linkers, limit: PortalLimits.lines)
        neighbours = try rows.isEmpty ? Self.neighbours(of: href, reader) : []
    }

    private static let mostLinks = 2_000

    /// A page may link to another more than once.
    private static func unique(_ numbers: [Int64]) -> [Int64] {
        var seen: Set<Int64> = []
        return numbers.filter { seen.insert($0).inserted }
    }

    private static func neighbours(of href: String, _ reader: StoreReader) throws(StoreError) -> [String] {
        guard let url = WebURL(href), url.isHTTP else { return [] }
        for prefix in [SitePage.folder(of: href), url.origin + "/"] {
            let found = try reader.neighbours(of: href, below: prefix, count: 5)
            if !found.isEmpty { return found }
        }
        return []
    }

    var status: Int { rows.isEmpty ? 404 : 200 }

    var title: String {
        let title = shown?.response.body?.title
        return title.flatMap { $0.isEmpty ? nil : $0 } ?? href
    }

    func trail(_ context: PortalContext) -> [(text: String, address: String)] {
        let site = sites.first { $0.name == shown?.site }
        return [("Sites", context.links.home)] + (site.map { [($0.name, context.links.site($0.id))] } ?? [])
    }

    // MARK: - HTML

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "url soft"]) { $0.address(href) }
        guard let shown else {
            writeAbsence(to: &html, context)
            return writeLinkers(to: &html, context)
        }
        writeActions(to: &html, context)
        writeSheet(shown, to: &html, context)
        writeRows(to: &html, context)
        writeHeaders(shown.response, to: &html)
        for links in links { write(links, to: &html, context) }
        writeLinkers(to: &html, context)
    }

    private func writeAbsence(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p") { html in
            html.element("span", ["class": "badge warn"], text: "Not held")
            html.text(" The larder has nothing of this address. To have it")
            if bringer != nil, let address = context.mirrored(href) {
                html.text(", ")
                html.link(address, text: "ask for it once")
                html.text(", so that it is noted, and run")
            }
            html.text(":")
        }
        html.element("pre", text: MissPage.command(for: href, site: bringer))
        guard !neighbours.isEmpty else { return }
        html.element("h2", text: "Held nearby")
        html.element("ul", ["class": "links"]) { html in
            for neighbour in neighbours { html.element("li") { $0.target(neighbour, context) } }
        }
    }

    private func writeActions(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "actions"]) { html in
            if let address = context.mirrored(href) {
                html.link(address, ["class": "button"], text: "Open the copy")
            }
            html.link(
                href, ["class": "button quiet", "rel": "noreferrer external"], text: "Open at the origin")
        }
    }

    private func writeSheet(_ row: HeldRow, to html: inout HTMLWriter, _ context: PortalContext) {
        let response = row.response
        html.element("dl", ["class": "sheet"]) { html in
            html.line("Status", "\(response.status)\(response.isRedirect ? ", a redirect" : "")")
            html.line("Kind", response.role == 0 ? "page" : "file that pages need")
            html.line("Media type", response.type ?? "none given")
            html.line("Fetched") { html in
                html.moment(response.fetched)
                html.text(" (\(Wording.age(context.now - response.fetched))), visit \(response.visit) of ")
                html.foreign(row.site)
            }
            if let referrer = row.referrer {
                html.line("First asked for by") { $0.target(referrer, context) }
            }
            if response.flags.contains(.isInvalidated) {
                html.line("State", "to be asked about before it is used again")
            }
            if response.flags.contains(.isPart) { html.line("State", "only a part is held") }
            if let body = response.body { writeBody(body, to: &html) }
        }
    }

    private func writeBody(_ body: StoredBody, to html: inout HTMLWriter) {
        html.line("Size", Self.size(body.byteCount))
        html.line("Read as", body.form.replacing(";", with: ", "))
        html.line("SHA-256") { $0.element("code", text: Hex.encode(body.sha256)) }
        html.line("MD5") { html in
            if let md5 {
                html.element("code", text: Hex.encode(md5))
            } else {
                html.element("span", ["class": "soft"], text: "not computed for so large a body: ")
                html.element("code", text: "larder show")
                html.element("span", ["class": "soft"], text: " does it")
            }
        }
        html.line("Kept in") { html in
            if let keptIn {
                html.element("code", text: keptIn)
            } else {
                html.element("span", ["class": "badge warn"], text: "Damaged")
                html.text(" Its bytes are gone or cut short; prefetch it again.")
            }
        }
    }

    private static func size(_ count: Int) -> String {
        let bytes = Wording.count(count, "byte")
        return count < 1000 ? bytes : "\(Wording.bytes(Int64(count))) (\(bytes))"
    }

    private func writeRows(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("h2", ["id": "rows"], text: "Over the visits")
        html.element(
            "div", ["class": "scroll", "role": "region", "aria-labelledby": "rows", "tabindex": "0"]
        ) { html in
            html.element("table") { html in
                html.head([
                    ("Visit", false), ("Fetched", false), ("Status", true), ("Size", true),
                    ("SHA-256", false),
                    ("State", false),
                ])
                html.element("tbody") { html in
                    for row in rows.prefix(PortalLimits.lines) { write(row, to: &html) }
                }
            }
        }
        html.remainder(of: rows.count)
    }

    private func write(_ row: HeldRow, to html: inout HTMLWriter) {
        let response = row.response
        html.element("tr") { html in
            html.element("th", ["scope": "row"], text: "\(response.visit)")
            html.element("td") { $0.moment(response.fetched) }
            html.element("td", ["class": "number"], text: "\(response.status)")
            html.element(
                "td", ["class": "number"],
                text: response.body.map { Wording.bytes(Int64($0.byteCount)) } ?? "none")
            html.element("td") { html in
                if let body = response.body {
                    html.element("code", text: String(Hex.encode(body.sha256).prefix(12)))
                }
            }
            html.element("td") { html in
                if row.isShown { html.element("span", ["class": "badge"], text: "Served") }
                if response.request != .get { html.text(" \(Wording.cut(response.request.text, to: 60))") }
                if !response.variant.isEmpty { html.text(" for ") }
                html.foreign(Wording.cut(response.variant.replacing("\n", with: "; "), to: 120))
            }
        }
    }

    private func writeHeaders(_ response: StoredResponse, to html: inout HTMLWriter) {
        let fields = HTTPFields(block: response.fields.utf8.span).list
        guard !fields.isEmpty else { return }
        html.element("h2", text: "Headers")
        html.element("dl", ["class": "sheet"]) { html in
            for field in fields {
                html.element("dt") { $0.foreign(field.name) }
                html.element("dd", ["class": "url"]) { $0.foreign(field.value) }
            }
        }
    }

    private func write(_ links: Links, to html: inout HTMLWriter, _ context: PortalContext) {
        let name = links.list == .pages ? "Links to" : "Needs"
        html.element("h2", text: "\(name): \(Wording.grouped(links.count))")
        guard links.count > 0 else { return }
        html.element("ul", ["class": "links"]) { html in
            for link in links.targets {
                html.element("li") { html in
                    html.target(link.href, context, from: WebURL(href)?.origin)
                    guard !link.isHeld else { return }
                    html.text(" ")
                    html.element("span", ["class": "badge warn"], text: "not held")
                }
            }
        }
        guard links.targets.count < links.count else { return }
        if links.targets.count <= PortalLimits.lines {
            html.next(context.links.details(href, links: links.list.rawValue), "More of them")
        } else {
            html.remainder(of: links.count, shown: links.targets.count)
        }
    }

    private func writeLinkers(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("h2", text: "Linked from")
        if linkers.hrefs.isEmpty {
            let words = isContinued ? "Nothing more was found" : "Nothing that is held links here"
            html.element(
                "p", ["class": "soft"], text: linkers.next == nil ? "\(words)." : "\(words), so far.")
        }
        html.element("ul", ["class": "links"]) { html in
            for linker in linkers.hrefs {
                html.element("li") { $0.target(linker, context, from: WebURL(href)?.origin) }
            }
        }
        if let next = linkers.next { html.next(context.links.details(href, after: next), "Look further") }
    }
}

extension HTMLWriter {
    fileprivate mutating func line(_ name: String, _ value: String) {
        line(name) { $0.foreign(value) }
    }

    fileprivate mutating func line(_ name: String, _ value: (inout HTMLWriter) -> Void) {
        element("dt", text: name)
        element("dd") { value(&$0) }
    }

    /// The details of another address; of one that has the origin only its path is shown.
    fileprivate mutating func target(_ href: String, _ context: PortalContext, from origin: String? = nil) {
        guard WebURL(href)?.isHTTP == true else {
            return element("span", ["class": "url"]) { $0.address(href) }
        }
        link(context.links.details(href), ["class": "url"]) { html in
            let isBelow = origin.map { href.hasPrefix("\($0)/") } ?? false
            html.address(isBelow ? String(href.dropFirst(origin?.utf8.count ?? 0)) : href)
        }
    }
}

// MARK: - JSON

extension DetailsPage {
    func write(to json: inout JSONWriter, _ context: PortalContext) {
        json.member("url", href)
        json.member("held", !rows.isEmpty)
        json.member("mirror", context.mirrored(href))
        json.member("rows") { list in
            list.array { array in for row in rows { row.write(to: &array) } }
        }
        json.member("links") { list in
            list.object { object in
                for links in links {
                    object.member(links.list.rawValue) { list in
                        list.object { object in
                            object.member("count", links.count)
                            object.member("targets") { list in
                                list.array { array in
                                    for target in links.targets {
                                        array.object { object in
                                            object.member("url", target.href)
                                            object.member("held", target.isHeld)
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        json.member("linkedFrom", linkers.hrefs)
        json.member("after", linkers.next)
        json.member("nearby", neighbours)
    }
}

extension HeldRow {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("site", site)
            object.member("visit", response.visit)
            object.member("shown", isShown)
            object.member("status", response.status)
            object.member("role", response.role == 0 ? "page" : "requisite")
            object.member("type", response.type)
            object.member("request", response.request == .get ? nil : response.request.text)
            object.member("variant", response.variant.isEmpty ? nil : response.variant)
            object.member("fetched", response.fetched)
            object.member("referrer", referrer)
            object.member("headers") { list in
                list.array { array in
                    for field in HTTPFields(block: response.fields.utf8.span).list {
                        array.object { object in
                            object.member("name", field.name)
                            object.member("value", field.value)
                        }
                    }
                }
            }
            object.member("bytes", response.body?.byteCount)
            object.member("sha256", response.body.map { Hex.encode($0.sha256) })
            object.member("md5", response.body.flatMap { $0.md5.map(Hex.encode) })
            object.member("title", response.body?.title)
        }
    }
}
