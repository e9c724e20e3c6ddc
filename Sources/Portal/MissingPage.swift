internal import Reports
internal import Store
internal import Web

/// The page of the missing URLs of a site and the pages that link to them.
///
/// The page shows the recorded misses, and the result of a walk from the start pages, as `larder check --offline` does.
/// If the site is too large to walk while a client waits, and on request, it searches the stored links instead.
struct MissingPage: PortalPage {
    let site: Site
    /// The numbers of missing URLs; nil if they are not known.
    let counts: MissingURLCounts?
    /// The result of the walk; nil if the site was too large to walk.
    let needs: SiteNeeds?
    /// The list of links to search for URLs that are not stored; nil if the result of the walk is shown.
    let list: LinkList?
    /// The URLs of `list` that are not stored.
    let targets: MissingTargets
    /// Recorded misses at the site's hosts, and of their pages at other hosts.
    let misses: [MissedURL]
    /// The URLs of misses that the settings of the site exclude.
    let excludedMisses: Set<String>
    /// URLs that the origin reported as gone. They are shown if there is no result of the walk.
    let tombstones: [(href: String, status: Int, referrer: String?)]
    /// Whether the page continues a list.
    let isContinued: Bool
    let section = PortalSection.sites

    /// - Parameters:
    ///   - kind: the list of links to search; nil to show the result of the walk if there is one.
    ///   - position: where the list continues: `MissingTargets.next` of the page before; nil for the first page.
    init(
        _ site: Site, _ kind: LinkList?, after position: Int64?, _ reader: StoreReader, _ cache: PortalCache
    ) throws(StoreError) {
        self.site = site
        needs = try cache.needs(of: site, limit: PortalLimits.maxMissingWalkURLs, reader)
        counts = .current(of: site, byStoredLinks: needs?.counts)
        let list = kind ?? (needs == nil ? .assets : nil)
        self.list = list
        isContinued = position != nil
        targets =
            try list.map { (list) throws(StoreError) in
                try reader.missingTargets(
                    list, site: site.id, after: position ?? 0, count: PortalLimits.maxLinkingBodies,
                    limit: PortalLimits.maxListItems * 4)
            } ?? MissingTargets()
        guard !isContinued else {
            (misses, tombstones, excludedMisses) = ([], [], [])
            return
        }
        let hosts = Set(site.start.compactMap { WebURL($0)?.host })
        func isOnSiteHost(_ href: String) -> Bool { WebURL(href).map { hosts.contains($0.host) } ?? false }
        var visibleMisses: [Miss] = []
        for miss in try reader.recordedMisses()
        where isOnSiteHost(miss.href) || miss.referrer.map(isOnSiteHost) ?? false {
            if try Self.canReveal(miss, reader) { visibleMisses.append(miss) }
        }
        let misses = try MissesReport.report(on: visibleMisses, reader).missing.misses
        self.misses = misses
        excludedMisses = Set(
            misses.filter { cache.excludes($0.url, site, isPage: $0.isPage) }.map(\.url))
        let shown = site.published ?? site.snapshots.last?.id
        tombstones =
            try shown.map { (snapshot) throws(StoreError) in
                try reader.tombstones(ofSnapshot: snapshot, limit: PortalLimits.maxListItems)
            } ?? []
    }

    /// Whether the reader may see a miss and the page that requested the URL. Misses of private pages are recorded, too.
    static func canReveal(_ miss: Miss, _ reader: StoreReader) throws(StoreError) -> Bool {
        guard reader.hidesPrivate else { return true }
        guard let referrer = miss.referrer else { return try reader.canReveal(miss.href) }
        guard try reader.response(for: referrer) != nil else { return false }
        for href in [referrer, miss.href] where try reader.hidesResponse(for: href) { return false }
        return true
    }

    let title = "Missing URLs"
    var heading: Sentence? { .missingURLs }

    func trail(_ context: PortalContext) -> [(text: String, address: String)] {
        [(context.words(.sites), context.links.home), (site.name, context.links.site(site.id))]
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        if !isContinued { html.element("dl", ["class": "facts"]) { $0.writeCounts(of: counts) } }
        if list == nil { writeWalkResult(to: &html, context) } else { writeTargets(to: &html, context) }
        writeTombstones(to: &html, context)
        writeMisses(to: &html, context)
    }

    /// Writes the requests that servers and proxies could not answer: first those of pages, then those that only a browser
    /// made, such as for the icon of a site; the latest first. They are the last section, because a missing icon matters less
    /// than a URL that the site failed to fetch.
    private func writeMisses(to html: inout HTMLWriter, _ context: PortalContext) {
        guard !isContinued else { return }
        html.element("h2", say: .requestedNotStored)
        guard !misses.isEmpty else {
            html.element("p", ["class": "soft"], say: .noMisses)
            return
        }
        let fetched = misses.filter { !excludedMisses.contains($0.url) }
        let hasOtherMethods = fetched.contains { $0.method != "GET" }
        if !fetched.isEmpty {
            html.element("p", say: hasOtherMethods ? .nextPrefetchHintForGET : .nextPrefetchHint)
        }
        /// Requests of pages come first.
        func rank(_ miss: MissedURL) -> (Int, Int64) {
            (miss.referrer == nil ? 1 : 0, -miss.last.secondsSinceEpoch)
        }
        html.element("ul", ["class": "list"]) { html in
            for miss in misses.sorted(by: { rank($0) < rank($1) }).prefix(PortalLimits.maxListItems) {
                html.element("li") { html in
                    html.link(context.links.details(miss.url), ["class": "name url"]) { html in
                        html.url(miss.url)
                    }
                    let comma = html.words(.comma)
                    let method = miss.method == "GET" ? "" : "\(Wording.cut(miss.method, to: 20))\(comma)"
                    let times = html.count(miss.count, .oneTime, .manyTimes)
                    html.element("span", ["class": "soft"]) { html in
                        html.say(.missDetails, method, html.words(miss.isPage ? .kindPage : .asset), times)
                        html.time(miss.last, now: context.now)
                    }
                    if excludedMisses.contains(miss.url) {
                        html.element("span", ["class": "soft"], say: .missExcluded)
                    }
                    if let referrer = miss.referrer {
                        html.referrerLine(referrer, .requestedBy, context)
                    } else {
                        html.element(
                            "span", ["class": "soft"], say: miss.isPage ? .openedDirectly : .requestedByNoPage
                        )
                    }
                }
            }
        }
        html.leftOutNote(of: misses.count)
    }

    /// Writes the same result as `larder check --offline`.
    private func writeWalkResult(to html: inout HTMLWriter, _ context: PortalContext) {
        guard let needs else { return }
        html.element("h2", say: needs.missing.isEmpty ? .checkResult : .failed)
        let walked = html.count(needs.checkedCount, .oneAddress, .manyAddresses)
        html.element("p", ["class": "soft"], say: Phrase(.checkedFromStart, walked))
        if needs.missing.isEmpty {
            html.element("p") { html in
                html.isolatedText(
                    Phrase.nothingMissing(
                        broken: needs.broken.count, lacksAssets: needs.lacksAssets, in: html.language
                    ).text(in: html.language))
            }
        } else {
            writeUnmetNeeds(
                needs.missing, limit: PortalLimits.maxListItems * 4, canRetry: true, to: &html, context)
            if context.token != nil { html.element("p", ["class": "soft"], say: .excludeHint) }
            html.element("div", ["class": "orders"]) { html in
                html.commandButton(
                    "update", .doRetryAll, about: site.name, context, fields: [("site", site.name)])
            }
        }
        writeLinksToLists([.pages], to: &html, context)
    }

    /// Writes the link that continues this list, and links to other lists.
    private func writeLinksToLists(_ lists: [LinkList], to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "actions"]) { html in
            if let list, let next = targets.next {
                let address = context.links.missing(of: site.id, kind: list.rawValue, after: next)
                html.link(address, ["class": "button quiet", "rel": "next"], say: .continueSearching)
            }
            for other in lists {
                html.link(
                    context.links.missing(of: site.id, kind: other.rawValue), ["class": "button quiet"],
                    say: Self.heading(of: other))
            }
        }
    }

    private static func heading(of list: LinkList) -> Sentence {
        switch list {
        case .pages: .linkedNotStored
        case .assets: .assetsNotStored
        }
    }

    /// Writes the URLs of a list of links that are not stored, those with the most links first. One page examines a
    /// limited number of bodies, and says how many.
    private func writeTargets(to html: inout HTMLWriter, _ context: PortalContext) {
        guard let list else { return }
        html.element("h2", say: Self.heading(of: list))
        let isWhole = targets.next == nil && !isContinued
        html.element(
            "p", ["class": "soft"],
            say: Phrase(isWhole ? .basedOnAllLinks : .basedOnSomeLinks, Wording.number(targets.examinedCount))
        )
        if targets.targets.isEmpty {
            html.element("p", say: isWhole ? .nothingMissing : .nothingMissingSoFar)
        } else {
            html.element("ul", ["class": "list"]) { html in
                for target in targets.targets {
                    html.element("li") { html in
                        html.link(context.links.details(target.href), ["class": "name url"]) { html in
                            html.url(target.href)
                        }
                        let others = target.referrerCount - 1
                        let more = others == 0 ? "" : html.count(others, .andOneOther, .andManyOthers)
                        html.referrerLine(
                            target.firstReferrer, list == .pages ? .linkedBy : .neededBy, context, more: more)
                    }
                }
            }
            html.leftOutNote(of: targets.count, shown: targets.targets.count)
        }
        writeLinksToLists([list == .pages ? .assets : .pages], to: &html, context)
    }

    /// Writes the URLs that the walk found to be gone on the live site.
    private func writeBroken(_ needs: SiteNeeds, to html: inout HTMLWriter, _ context: PortalContext) {
        guard !isContinued, !needs.broken.isEmpty else { return }
        html.element("h2", say: .brokenOnLiveSite)
        writeUnmetNeeds(needs.broken, limit: PortalLimits.maxListItems, to: &html, context)
    }

    /// The number of URLs with a button of their own, so that the page stays small.
    private static let maxRetryButtons = 20

    /// Writes URLs that are missing or broken, each with the reason and the first URL that links to it.
    ///
    /// - Parameter canRetry: whether the first ones have a button that fetches them.
    private func writeUnmetNeeds(
        _ needs: [SiteNeeds.UnmetNeed], limit: Int, canRetry: Bool = false, to html: inout HTMLWriter,
        _ context: PortalContext
    ) {
        html.element("ul", ["class": "list"]) { html in
            for (index, need) in needs.prefix(limit).enumerated() {
                html.element("li") { html in
                    html.link(context.links.details(need.href), ["class": "name url"]) {
                        $0.url(need.href)
                    }
                    html.element("span", ["class": "soft"]) { html in
                        html.isolatedText(
                            Wording.cut(FailureText.text(for: need.reason, in: html.language)))
                    }
                    if let referrer = need.referrer {
                        html.referrerLine(referrer, need.isAsset ? .neededBy : .linkedBy, context)
                    }
                    if canRetry, context.token != nil, index < Self.maxRetryButtons {
                        html.element("div", ["class": "orders small"]) { html in
                            html.commandButton(
                                "fetch", .doRetry, about: need.href, context, fields: [("url", need.href)])
                            html.link(
                                context.links.settings(of: site.id, excluding: need.href),
                                ["class": "button quiet"]
                            ) { html in
                                html.say(.doExclude)
                                html.element(
                                    "span", ["class": "hidden"], text: " \(Wording.cut(need.href, to: 80))")
                            }
                        }
                    }
                }
            }
        }
        html.leftOutNote(of: needs.count, shown: limit)
    }

    /// Writes the URLs that the walk found to be broken on the live site. If there was no walk, writes those with the status
    /// 404 or 410 in the shown snapshot.
    private func writeTombstones(to html: inout HTMLWriter, _ context: PortalContext) {
        if let needs { return writeBroken(needs, to: &html, context) }
        guard !tombstones.isEmpty else { return }
        // Guesses among them do not count as broken, so that the list may be longer than the count.
        html.element("h2", say: .tombstones)
        html.element("p", ["class": "soft"], say: .tombstonesLead)
        html.element("ul", ["class": "list"]) { html in
            for tombstone in tombstones {
                html.element("li") { html in
                    html.link(context.links.details(tombstone.href), ["class": "name url"]) { html in
                        html.url(tombstone.href)
                    }
                    html.element("span", ["class": "soft"], say: Phrase(.statusIs, "\(tombstone.status)"))
                    if let referrer = tombstone.referrer {
                        html.referrerLine(referrer, .requestedBy, context)
                    }
                }
            }
        }
        if tombstones.count == PortalLimits.maxListItems {
            html.element("p", ["class": "soft"], say: .maybeMore)
        }
    }

    func members(_ context: PortalContext) -> JSONMembers {
        let found: JSONMembers = [
            "site": site.name, "broken": counts?.broken, "failed": counts?.failed,
            "notFetched": counts?.notFetched, "misses": misses, "failedURLs": needs?.missing,
        ]
        let gone: JSONMembers = [
            "brokenURLs": needs?.broken.map(\.members),
            "notFoundURLs": IfAny(
                needs == nil
                    ? tombstones.map { tombstone -> JSONMembers in
                        [
                            "url": tombstone.href, "reason": "the server answered \(tombstone.status)",
                            "asker": tombstone.referrer,
                        ]
                    } : nil),
        ]
        guard let list else { return found + gone }
        return found + [
            "kind": list.rawValue, "unheldCount": targets.count,
            "unheld": targets.targets.map { target -> JSONMembers in
                ["url": target.href, "askers": target.referrerCount, "asker": target.firstReferrer]
            },
            "lookedThrough": targets.examinedCount, "after": targets.next,
        ] + gone
    }
}

extension HTMLWriter {
    /// Writes the URL that requests or links to another one.
    ///
    /// - Parameters:
    ///   - words: the text before the URL.
    ///   - more: the text after it, about further such URLs.
    fileprivate mutating func referrerLine(
        _ href: String, _ words: Sentence, _ context: PortalContext, more: String = ""
    ) {
        element("span", ["class": "soft"]) { html in
            html.say(words)
            html.link(context.links.details(href)) { $0.url(href) }
            html.text(more)
        }
    }
}

extension Phrase {
    /// The sentence about a site of which no URL failed: everything that its pages need is stored, except URLs that are broken,
    /// and what its settings leave out.
    ///
    /// - Parameters:
    ///   - broken: the number of URLs that are broken on the live site.
    ///   - lacksAssets: whether a limit or the settings left out an asset.
    static func nothingMissing(broken: Int, lacksAssets: Bool, in language: PortalLanguage) -> Phrase {
        let urls = (broken == 1 ? Sentence.oneAddress : .manyAddresses).text(
            in: language, [Wording.number(broken)])
        let exceptions = [
            broken > 0 ? Sentence.exceptBroken.text(in: language, [urls]) : nil,
            lacksAssets ? Sentence.exceptLeftOut.text(in: language) : nil,
        ].compactMap { $0 }
        guard !exceptions.isEmpty else { return Phrase(.nothingMissing) }
        return Phrase(
            .nothingMissingExcept, exceptions.joined(separator: Sentence.and.text(in: language)))
    }
}
