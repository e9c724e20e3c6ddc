internal import Reports
internal import Store
internal import Web

/// What a site should have and has not, and who asks for it.
struct MissingPage: PortalPage {
    let site: Site
    /// Nil where nobody looked at all that its pages need.
    let needs: SiteNeeds?
    /// Which links are gone through instead, or beside that; nil where the walk tells all.
    let list: LinkList?
    let targets: UnheldTargets
    /// What was asked of the server, of this site's hosts or by their pages.
    let misses: [MissedURL]
    let tombstones: [(href: String, status: Int, referrer: String?)]
    /// It goes on with a list that was begun.
    let isContinued: Bool
    let section = PortalSection.sites

    init(
        _ site: Site, _ kind: LinkList?, after place: Int64?, _ reader: StoreReader, _ memory: PortalMemory
    ) throws(StoreError) {
        self.site = site
        needs = try memory.needs(of: site, limit: PortalLimits.neededURLs, reader)
        let list = kind ?? (needs == nil ? .requisites : nil)
        self.list = list
        isContinued = place != nil
        targets =
            try list.map { (list) throws(StoreError) in
                try reader.unheld(
                    list, site: site.id, after: place ?? 0, count: PortalLimits.linkers,
                    limit: PortalLimits.lines * 4)
            } ?? UnheldTargets()
        guard !isContinued else {
            (misses, tombstones) = ([], [])
            return
        }
        let hosts = Set(site.start.compactMap { WebURL($0)?.host })
        func isThere(_ href: String) -> Bool { WebURL(href).map { hosts.contains($0.host) } ?? false }
        let notes = try reader.notedMisses().filter {
            isThere($0.href) || $0.referrer.map(isThere) ?? false
        }
        misses = try MissesReport.report(on: notes, reader).missing.misses
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
        if list == nil { writeNeeds(to: &html, context) } else { writeTargets(to: &html, context) }
        writeTombstones(to: &html, context)
    }

    private func writeMisses(to html: inout HTMLWriter, _ context: PortalContext) {
        guard !isContinued else { return }
        html.element("h2", text: "Asked for here and not held")
        guard !misses.isEmpty else {
            html.element("p", ["class": "soft"], text: "Nothing that was asked of this larder was missing.")
            return
        }
        html.element(
            "p", text: "The next prefetch of the site fetches them, unless they were sent something.")
        html.element("ul", ["class": "list"]) { html in
            for miss in misses.sorted(by: { $0.last > $1.last }).prefix(PortalLimits.lines) {
                html.element("li") { html in
                    html.link(context.links.details(miss.url), ["class": "name url"]) { html in
                        html.address(miss.url)
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

    /// What the walk found, as `larder check --offline` would.
    private func writeNeeds(to html: inout HTMLWriter, _ context: PortalContext) {
        guard let needs else { return }
        html.element("h2", text: "Needed and not held")
        let walked = Wording.count(needs.walked, "address", plural: "addresses")
        html.element("p", ["class": "soft"], text: "By a walk from the start over \(walked).")
        if needs.missing.isEmpty {
            html.element("p", text: "Nothing is missing.")
        } else {
            let shown = PortalLimits.lines * 4
            html.element("ul", ["class": "list"]) { html in
                for lack in needs.missing.prefix(shown) {
                    html.element("li") { html in
                        html.link(context.links.details(lack.href), ["class": "name url"]) {
                            $0.address(lack.href)
                        }
                        html.element("span", ["class": "soft"]) { $0.foreign(Wording.cut(lack.reason)) }
                        if let asker = lack.asker { html.asker(asker, "Needed by ", context) }
                    }
                }
            }
            html.remainder(of: needs.missing.count, shown: shown)
        }
        if needs.leftOut > 0 {
            let count = Wording.count(needs.leftOut, "page")
            html.element(
                "p", ["class": "soft"],
                text: "\(count) more were left out by settings: limits, robots.txt, traps.")
        }
        writeOthers([.pages], to: &html, context)
    }

    private func writeOthers(_ lists: [LinkList], to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "actions"]) { html in
            if let list, let next = targets.next {
                let address = context.links.missing(of: site.id, kind: list.rawValue, after: next)
                html.link(address, ["class": "button quiet", "rel": "next"], text: "Look further")
            }
            for other in lists {
                html.link(
                    context.links.missing(of: site.id, kind: other.rawValue), ["class": "button quiet"],
                    text: Self.heading(other))
            }
        }
    }

    private static func heading(_ list: LinkList) -> String {
        switch list {
        case .pages: "Linked to and not held"
        case .requisites: "Needed by pages and not held"
        }
    }

    private func writeTargets(to html: inout HTMLWriter, _ context: PortalContext) {
        guard let list else { return }
        html.element("h2", text: Self.heading(list))
        let bodies = Wording.count(targets.lookedThrough, "page and file", plural: "pages and files")
        let isWhole = targets.next == nil && !isContinued
        html.element("p", ["class": "soft"]) { html in
            html.text(
                "By the links of \(isWhole ? "all " : "")\(bodies)\(isWhole ? "" : " that were looked through")."
            )
        }
        if targets.targets.isEmpty {
            html.element(
                "p",
                text: isWhole
                    ? "Nothing is missing." : "Nothing is missing by these; others were not looked at.")
        } else {
            html.element("ul", ["class": "list"]) { html in
                for target in targets.targets {
                    html.element("li") { html in
                        html.link(context.links.details(target.href), ["class": "name url"]) { html in
                            html.address(target.href)
                        }
                        let others = target.askers - 1
                        let more = others == 0 ? "" : " and \(Wording.count(others, "other"))"
                        html.asker(
                            target.asker, list == .pages ? "Linked from " : "Needed by ", context, more: more)
                    }
                }
            }
            html.remainder(of: targets.count, shown: targets.targets.count)
        }
        writeOthers([list == .pages ? .requisites : .pages], to: &html, context)
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

    func members(_ context: PortalContext) -> JSONMembers {
        let found: JSONMembers = [
            "site": site.name, "misses": misses, "missing": needs?.missing, "leftOut": needs?.leftOut,
        ]
        let gone: JSONMembers = [
            "gone": tombstones.map { stone -> JSONMembers in
                ["url": stone.href, "status": stone.status, "referrer": stone.referrer]
            }
        ]
        guard let list else { return found + gone }
        return found + [
            "kind": list.rawValue, "unheldCount": targets.count,
            "unheld": targets.targets.map { target -> JSONMembers in
                ["url": target.href, "askers": target.askers, "asker": target.asker]
            },
            "lookedThrough": targets.lookedThrough, "after": targets.next,
        ] + gone
    }
}

extension HTMLWriter {
    fileprivate mutating func asker(
        _ href: String, _ words: String, _ context: PortalContext, more: String = ""
    ) {
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
