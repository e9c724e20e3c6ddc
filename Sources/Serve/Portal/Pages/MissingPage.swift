internal import Store
internal import Web

/// What a site should have and has not, and who asks for it.
struct MissingPage: PortalPage {
    let site: Site
    let list: LinkList
    let targets: UnheldTargets
    /// What was asked of the server, of this site's hosts or by their pages.
    let misses: [Miss]
    let tombstones: [(href: String, status: Int, referrer: String?)]
    /// It goes on with a list that was begun.
    let isContinued: Bool
    let section = PortalSection.sites

    init(_ site: Site, _ list: LinkList, after place: Int64?, _ reader: StoreReader) throws(StoreError) {
        self.site = site
        self.list = list
        isContinued = place != nil
        targets = try reader.unheld(
            list, site: site.id, after: place ?? 0, count: PortalLimits.linkers,
            limit: PortalLimits.lines * 4)
        guard !isContinued else {
            (misses, tombstones) = ([], [])
            return
        }
        let hosts = Set(site.start.compactMap { WebURL($0)?.host })
        func isThere(_ href: String) -> Bool { WebURL(href).map { hosts.contains($0.host) } ?? false }
        misses = try reader.notedMisses().filter { isThere($0.href) || $0.referrer.map(isThere) ?? false }
        let shown = site.published ?? site.visits.last?.id
        tombstones =
            try shown.map { (visit) throws(StoreError) in
                try reader.tombstones(ofVisit: visit, limit: PortalLimits.lines)
            } ?? []
    }

    let title = "What is missing"

    func trail(_ context: PortalContext) -> [(text: String, address: String)] {
        [("Sites", context.links.home), (site.name, context.links.site(site.id))]
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        writeMisses(to: &html, context)
        writeTargets(to: &html, context)
        writeTombstones(to: &html, context)
    }

    private func writeMisses(to html: inout HTMLWriter, _ context: PortalContext) {
        guard !isContinued else { return }
        html.element("h2", text: "Asked for here and not held")
        guard !misses.isEmpty else {
            html.element("p", ["class": "soft"], text: "Nothing that was asked of this larder was missing.")
            return
        }
        html.element("p", text: "The next prefetch of the site fetches them, unless they were sent something.")
        html.element("ul", ["class": "list"]) { html in
            for miss in misses.sorted(by: { $0.last > $1.last }).prefix(PortalLimits.lines) {
                html.element("li") { html in
                    html.link(context.links.details(miss.href), ["class": "name url"]) { html in
                        html.address(miss.href)
                    }
                    let method = miss.method == "GET" ? "" : "\(Wording.cut(miss.method, to: 20)), "
                    let times = Wording.count(miss.count, "time")
                    html.element("span", ["class": "soft"]) { html in
                        html.text("\(method)\(miss.isPage ? "page" : "file"), \(times), last ")
                        html.time(miss.last, now: context.now)
                    }
                    if let referrer = miss.referrer { html.asker(referrer, "Asked for by ", context) }
                }
            }
        }
        html.remainder(of: misses.count)
    }

    private func writeTargets(to html: inout HTMLWriter, _ context: PortalContext) {
        let other: LinkList = list == .pages ? .requisites : .pages
        let heading: (LinkList) -> String = { list in
            list == .pages ? "Linked to and not held" : "Needed by pages and not held"
        }
        html.element("h2", text: heading(list))
        let bodies = Wording.count(targets.lookedThrough, "page and file", plural: "pages and files")
        let isWhole = targets.next == nil && !isContinued
        html.element("p", ["class": "soft"]) { html in
            html.text("By the links of \(isWhole ? "all " : "")\(bodies)\(isWhole ? "" : " that were looked through").")
        }
        if targets.targets.isEmpty {
            html.element("p", text: "Nothing is missing.")
        } else {
            html.element("ul", ["class": "list"]) { html in
                for target in targets.targets {
                    html.element("li") { html in
                        html.link(context.links.details(target.href), ["class": "name url"]) { html in
                            html.address(target.href)
                        }
                        let others = target.askers - 1
                        let more = others == 0 ? "" : " and \(Wording.count(others, "other"))"
                        html.asker(target.asker, list == .pages ? "Linked from " : "Needed by ", context, more: more)
                    }
                }
            }
            html.remainder(of: targets.count, shown: targets.targets.count)
        }
        html.element("p", ["class": "actions"]) { html in
            if let next = targets.next {
                let address = context.links.missing(of: site.id, kind: list.rawValue, after: next)
                html.link(address, ["class": "button quiet", "rel": "next"], text: "Look further")
            }
            html.link(
                context.links.missing(of: site.id, kind: other.rawValue), ["class": "button quiet"],
                text: heading(other))
        }
    }

    private func writeTombstones(to html: inout HTMLWriter, _ context: PortalContext) {
        guard !tombstones.isEmpty else { return }
        html.element("h2", text: "Gone at the origin")
        html.element("p", ["class": "soft"], text: "The origin itself said so in the visit that is served.")
        html.element("ul", ["class": "list"]) { html in
            for stone in tombstones {
                html.element("li") { html in
                    html.link(context.links.details(stone.href), ["class": "name url"]) { html in
                        html.address(stone.href)
                    }
                    html.element("span", ["class": "soft"], text: "status \(stone.status)")
                    if let referrer = stone.referrer { html.asker(referrer, "Asked for by ", context) }
                }
            }
        }
        if tombstones.count == PortalLimits.lines {
            html.element("p", ["class": "soft"], text: "There may be more.")
        }
    }

    func write(to json: inout JSONWriter, _ context: PortalContext) {
        json.member("site", site.name)
        json.member("misses") { list in
            list.array { array in
                for miss in misses {
                    array.object { object in
                        object.member("url", miss.href)
                        object.member("method", miss.method)
                        object.member("page", miss.isPage)
                        object.member("count", miss.count)
                        object.member("last", miss.last)
                        object.member("referrer", miss.referrer)
                    }
                }
            }
        }
        json.member("kind", list.rawValue)
        json.member("unheldCount", targets.count)
        json.member("unheld") { list in
            list.array { array in
                for target in targets.targets {
                    array.object { object in
                        object.member("url", target.href)
                        object.member("askers", target.askers)
                        object.member("asker", target.asker)
                    }
                }
            }
        }
        json.member("lookedThrough", targets.lookedThrough)
        json.member("after", targets.next)
        json.member("gone") { list in
            list.array { array in
                for stone in tombstones {
                    array.object { object in
                        object.member("url", stone.href)
                        object.member("status", stone.status)
                        object.member("referrer", stone.referrer)
                    }
                }
            }
        }
    }
}

extension HTMLWriter {
    fileprivate mutating func asker(_ href: String, _ words: String, _ context: PortalContext, more: String = "") {
        element("span", ["class": "soft"]) { html in
            html.text(words)
            html.link(context.links.details(href)) { $0.address(href) }
            html.text(more)
        }
    }

    /// Says that a list is longer than what is shown of it.
    mutating func remainder(of count: Int, shown: Int = PortalLimits.lines) {
        guard count > shown else { return }
        element(
            "p", ["class": "soft"], text: "And \(Wording.grouped(count - shown)) more.")
    }
}
