internal import Origins
internal import Reports
internal import Store
internal import Web

/// The page about a site: its state, problems, snapshots, stored pages and size, and the commands for it.
struct SitePage: PortalPage {
    let site: SiteReport
    /// The tags by which the user groups sites.
    let tags: [String]
    /// The user's note; empty if there is none.
    let note: String
    let hosts: FolderListing
    /// The beginning of the folder that contains the start page.
    let folder: FolderListing
    /// The media types of the shown snapshot; empty if there is none.
    let types: [TypeTally]
    let timeline: SnapshotTimeline
    let isPinned: Bool
    /// The result of the last check of the site's links; nil if there is none.
    let linkCheck: LinkCheckSummary?
    let section = PortalSection.sites

    var title: String { site.title }

    init(_ site: Site, _ reader: StoreReader, _ cache: PortalCache) throws(StoreError) {
        isPinned = try reader.pins().contains(Pin(.site, site.name))
        linkCheck = try reader.lastLinkCheck(of: site)
        let labels = SiteSettingsForm(settings: site.settings)
        (tags, note) = (labels.tags, labels.note)
        self.site = try cache.report(on: site, reader)
        timeline = SnapshotTimeline(
            site: self.site, tallies: try cache.tallies(of: site, reader),
            changes: try cache.changeCounts(of: site, reader),
            hasScreenshots: try reader.hasScreenshots(of: site))
        hosts = try FolderListing.list("", site: site.id, from: nil, limit: PortalLimits.maxListItems, reader)
        folder = try FolderListing.list(
            Self.folder(of: self.site.start), site: site.id, from: nil, limit: Self.maxFolderItems, reader)
        types = try cache.types(of: site, reader)
    }

    /// The maximum number of items of the folder. The page of the folder shows all.
    private static let maxFolderItems = 12

    /// The URL up to the last slash of its path; empty if the URL is invalid.
    static func folder(of href: String) -> String {
        guard let url = WebURL(href), let slash = url.path.utf8.lastIndex(of: UInt8(ascii: "/")) else {
            return ""
        }
        return url.origin + url.path[...slash]
    }

    func trail(_ context: PortalContext) -> [(text: String, address: String)] {
        [(context.words(.sites), context.links.home)]
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        for start in site.site.start {
            html.element("p", ["class": "url soft"]) { $0.url(start) }
        }
        site.writeState(to: &html, context)
        if !note.isEmpty { html.element("p", ["class": "note"]) { $0.isolatedText(note) } }
        html.tagLinks(tags)
        html.idleScheduleNotice(context, isScheduled: site.site.schedule != nil)
        html.explainReadOnly(context)
        writeActions(to: &html, context)
        site.writeCounts(to: &html, context)
        html.searchForm(
            "\(context.links.site(site.id))/search", label: html.words(.searchSite))
        ProblemsSection(site: site).write(to: &html, context)
        timeline.write(to: &html, context)
        writeStartFolder(to: &html, context)
        if !types.isEmpty {
            html.element("h2", ["id": "kinds"], say: .storage)
            StorageByKind(types).write(labelledBy: "kinds", to: &html)
        }
        LinkCheckSection(site: site, summary: linkCheck).write(to: &html, context)
        writeAdvanced(to: &html, context)
    }

    /// Writes the first row: open, update, check, export, and the settings.
    private func writeActions(to html: inout HTMLWriter, _ context: PortalContext) {
        let fields = [("site", site.site.name)]
        html.element("div", ["class": "orders"]) { html in
            if let address = context.mirrorAddress(of: site.start) {
                html.link(address, ["class": "button"], say: .doOpen)
            }
            guard context.token != nil else { return }
            html.commandButton("update", .doUpdate, about: title, context, fields: fields)
            html.commandButton("check", .doCheck, about: title, context, fields: fields)
            if context.hasFiles {
                html.link(context.links.export(of: site.id), ["class": "button quiet"], say: .exportTitle)
            }
            html.link(context.links.settings(of: site.id), ["class": "button quiet"], say: .settings)
        }
    }

    /// Writes what few users need: media types, bundles and their manifest, missing URLs, the pin, and the removal.
    private func writeAdvanced(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("h2", say: .advanced)
        html.element("p", ["class": "actions"]) { html in
            html.link(context.links.missing(of: site.id), ["class": "button quiet"], say: .missingURLs)
            html.link(PortalLinks.scripts, ["class": "button quiet"], say: .scripts)
        }
        // The manifest may be a file of this machine.
        if let manifest = site.site.manifest, !context.layout.isExposed {
            html.element("dl", ["class": "sheet"]) { html in
                html.sheetRow(.manifest, manifest)
                if let trust = site.site.trustText { html.sheetRow(.trustedKeys, trust) }
            }
        }
        writeTypes(to: &html)
        guard context.token != nil else { return }
        let fields = [("site", site.site.name)]
        html.element("div", ["class": "orders"]) { html in
            html.commandButton(
                isPinned ? "unpin" : "pin", isPinned ? .doUnpin : .doPin, about: title, context,
                fields: fields)
            html.commandButton("remove", .doRemoveSite, about: title, context, fields: fields, warns: true)
        }
    }

    /// Writes the items of the folder with the start page, and the hosts if there are several.
    private func writeStartFolder(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("h2", say: .pagesAndAssets)
        html.element("p") { $0.link(context.links.titles(of: site.id), say: .pagesByTitle) }
        guard !folder.items.isEmpty else {
            html.element("p", ["class": "soft"], say: .nothingBelowStart)
            return writeHosts(to: &html, context)
        }
        html.element("p", ["class": "url soft"]) { $0.url(folder.prefix) }
        html.element("ul", ["class": "list"]) { html in
            for item in folder.items { html.folderItem(item, context, of: site.id, below: folder.prefix) }
        }
        if folder.next != nil {
            let address = context.links.folder(folder.prefix, of: site.id, after: folder.next)
            html.nextLink(address, html.words(.moreOfFolder))
        }
        writeHosts(to: &html, context)
    }

    private func writeHosts(to html: inout HTMLWriter, _ context: PortalContext) {
        guard hosts.items.count > 1 else { return }
        html.element("h3", say: .byHost)
        html.element("ul", ["class": "list"]) { html in
            for item in hosts.items { html.folderItem(item, context, of: site.id, below: "") }
        }
        if hosts.next != nil {
            html.nextLink(
                context.links.folder("", of: site.id, after: hosts.next), html.words(.moreHosts))
        }
    }

    /// Writes the number of responses and the size of each media type as a table.
    private func writeTypes(to html: inout HTMLWriter) {
        guard !types.isEmpty else { return }
        html.element("details") { html in
            html.element("summary", ["id": "types"], say: .mediaTypes)
            writeTypeTable(to: &html)
        }
    }

    private func writeTypeTable(to html: inout HTMLWriter) {
        html.scrollRegion(labelledBy: "types") { html in
            html.element("table") { html in
                if areTypesCut {
                    html.element(
                        "caption",
                        say: Phrase(.basedOnFirstResponses, Wording.number(PortalLimits.maxCountedResponses)))
                }
                html.tableHead([
                    (html.words(.mediaType), false), (html.words(.responses), true),
                    (html.words(.figureSize), true),
                ])
                html.element("tbody") { html in
                    for type in types where type.count > 0 {
                        html.element("tr") { html in
                            html.element("th", ["scope": "row"]) { html in
                                html.isolatedText(type.type ?? html.words(.notSpecified))
                            }
                            html.element("td", ["class": "number"], text: html.language.number(type.count))
                            html.element("td", ["class": "number"], text: html.language.bytes(type.byteCount))
                        }
                    }
                    let additional = types.additionalByteCount
                    guard additional > 0 else { return }
                    html.element("tr") { html in
                        html.element("th", ["scope": "row"], say: .kindAdditional)
                        html.element("td", ["class": "number"], text: "")
                        html.element("td", ["class": "number"], text: html.language.bytes(additional))
                    }
                }
            }
        }
    }

    /// Whether only the first responses of the snapshot were counted.
    private var areTypesCut: Bool { types.reduce(0) { $0 + $1.count } == PortalLimits.maxCountedResponses }

    func members(_ context: PortalContext) -> JSONMembers {
        site.members(context) + types.typeMembers + [
            "hosts": hosts.items.map { $0.members(context) }, "folder": folder.members(context),
            "linkCheck": linkCheck.map { summary in
                let number = site.site.snapshots.first { $0.id == summary.snapshot }?.name.number
                return ["at": Wording.date(summary.at), "snapshot": number] + summary.members
            },
        ]
    }
}

extension [TypeTally] {
    /// The size of the bodies of other responses than pages and assets.
    var additionalByteCount: Int64 { reduce(0) { $0 + ($1.count == 0 ? $1.byteCount : 0) } }

    /// The types of pages and assets as JSON, and the size of the other bodies.
    var typeMembers: JSONMembers {
        [
            "types": filter { $0.count > 0 }.map { type -> JSONMembers in
                ["type": type.type, "responses": type.count, "bytes": type.byteCount]
            }, "additionalBytes": additionalByteCount,
        ]
    }
}

extension HTMLWriter {
    /// Writes the three counts of missing URLs, or that they are not checked yet.
    ///
    /// - Parameter showsUnfetched: whether to write the number of links that were not fetched.
    mutating func writeCounts(of missing: MissingURLCounts?, showsUnfetched: Bool = true) {
        let counts: [(Sentence, Int?)] =
            [(.brokenOnLiveSite, missing?.broken), (.failed, missing?.failed)]
            + (showsUnfetched ? [(.notFetched, missing?.notFetched)] : [])
        for (name, count) in counts { fact(words(name), count.map(language.number) ?? words(.notCheckedYet)) }
    }
}

/// The parts of a site that its own page and the home page show.
extension SiteReport {
    /// Writes one line about the shown snapshot: whether it is complete, its number and its age.
    func writeState(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p") { html in
            if let shown, site.live != nil {
                if isComplete == false {
                    html.element("span", ["class": "badge warn"], say: .incomplete)
                } else {
                    html.element(
                        "span", ["class": "badge"], say: missing == nil ? .storedState : completenessSentence)
                }
                if let missing, missing.failed > 0 {
                    html.text(" ")
                    html.link(
                        context.links.missing(of: id),
                        text: html.words(.failedCount, Wording.number(missing.failed)))
                    html.say(.fullStop)
                }
                html.say(.siteFetched, "\(shown.name)")
                html.time(shown.age.fetched, now: context.now)
                if let checked = shown.age.checked {
                    html.say(.checkedLater)
                    html.time(checked, now: context.now)
                }
                html.say(needs == nil ? .siteNotChecked : .siteChecked)
            } else if let shown {
                html.element("span", ["class": "badge warn"], say: .incomplete)
                html.say(.siteStarted, "\(shown.name)")
                html.time(shown.started, now: context.now)
                html.say(.siteUnfinished)
            } else {
                html.element("span", ["class": "badge warn"], say: .empty)
                html.say(.siteNeverPrefetched)
            }
        }
    }

    /// Writes the numbers of pages, assets, bytes and missing URLs, and the time of the next update.
    func writeCounts(to html: inout HTMLWriter, _ context: PortalContext) {
        /// A count that reached the limit is a lower bound.
        func number(_ count: Int) -> String {
            count == PortalLimits.maxCountedResponses
                ? html.words(.orMore, Wording.number(count)) : html.language.number(count)
        }
        let (pages, files) = (number(tally.pages), number(tally.assets))
        html.element("dl", ["class": "facts"]) { html in
            html.fact(html.words(.figurePages), pages)
            html.fact(html.words(.figureAssets), files)
            let size = Wording.bytes(tally.byteCount)
            html.fact(
                html.words(.figureSize),
                tally.isEstimate ? html.words(.approximately, size) : html.language.figure(size))
            html.writeCounts(of: missing, showsUnfetched: completeness != .onlyStartPages)
            if let next = site.next { html.fact(html.words(.nextUpdate), html.language.moment(next)) }
        }
        guard countOfUnfetched > 0 else { return }
        html.element("p", ["class": "soft"]) { html in
            html.say(.notFetchedHint)
            html.link(context.links.missing(of: id, kind: LinkList.pages.rawValue), say: .linkedNotStored)
        }
    }

    /// The address of the start page in a snapshot; nil if the snapshot cannot be shown.
    func address(of snapshot: StatusReport.Snapshot, _ context: PortalContext) -> String? {
        guard snapshot.finished != nil, !snapshot.name.isOverlay, let url = WebURL(start) else { return nil }
        return snapshot.isLive
            ? context.layout.address(of: url) : context.layout.address(of: url, in: snapshot.id)
    }

    func members(_ context: PortalContext) -> JSONMembers {
        site.nameMembers + countMembers + [
            "mirror": context.mirrorAddress(of: start),
            "snapshots": site.snapshots.map { $0.members + ["mirror": address(of: $0, context)] },
        ]
    }
}
