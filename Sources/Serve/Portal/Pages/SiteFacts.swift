internal import Store
internal import Web

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
            try shown.map { (visit) throws(StoreError) in try memory.tally(ofVisit: visit.id, reader) } ?? VisitTally()
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
                        "span", ["class": "badge warn"], text: "\(Wording.grouped(needs.missing.count)) missing")
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
            if let needs, needs.leftOut > 0 { html.fact("Left out by settings", Wording.grouped(needs.leftOut)) }
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
