internal import Fetch
internal import Markup
internal import Store
internal import Web

/// Handling of discovered links.
extension Frontier {
    /// Adds all links of a scanned body, and returns them for the store. Returns nil if the page says
    /// `noindex`: its links to pages are followed, but nothing is stored, so that a later link to it is
    /// treated like the first.
    mutating func addLinks(from result: ScanResult) -> NewLinks? {
        guard !result.isLeftOut else {
            for link in result.links where link.role == .page { _ = addLink(link, by: result.number) }
            return nil
        }
        var links = NewLinks(from: linkTarget(result.number))
        for link in result.links where !isBeyondLimit(result) {
            add(link, by: result.number, to: &links)
        }
        if !result.linksOfLastRendering.isEmpty {
            let scanned = Set((links.pages + links.assets + links.guesses).map(\.number))
            for link in result.linksOfLastRendering {
                add(link, by: result.number, to: &links, unlessIn: scanned)
            }
        }
        return links
    }

    /// Whether a body lists the search results for more pages than the crawl fetches.
    private func isBeyondLimit(_ result: ScanResult) -> Bool {
        guard result.format == .pagefindIndex, let maxPages = options.limits.pages else { return false }
        return result.links.count > maxPages
    }

    /// Adds further links of a body that was scanned before. Returns all of its links for the store, or nil
    /// if the earlier ones were not kept.
    mutating func addModuleLinks(_ found: ModuleLoaders.ModuleLinks) -> NewLinks? {
        guard var links = loaders.takeLinks(of: found.number) else {
            for link in found.links { _ = addLink(link, by: found.number) }
            return nil
        }
        let known = Set((links.pages + links.assets + links.guesses).map(\.number))
        for link in found.links { add(link, by: found.number, to: &links, unlessIn: known) }
        loaders.keepLinks(links, of: found.number)
        return links
    }

    private mutating func add(
        _ link: FoundLink, by number: UInt32, to links: inout NewLinks, unlessIn known: Set<UInt32> = []
    ) {
        let number = addLink(link, by: number)
        // A mirror need not have what an action would return.
        guard !known.contains(number), !link.isAction || state(number) != .skipped(.action) else { return }
        // Nor does it need links that are left out. A video is kept as a guess: a later run may choose it, although the page with
        // the link is unchanged.
        // A placeholder of a template is no URL.
        guard link.leftOut == nil || link.isGuess && link.leftOut != .guess else { return }
        let target = linkTarget(number)
        if link.isGuess {
            links.guesses.append(target)
        } else {
            switch link.role {
            case .page: links.pages.append(target)
            case .asset: links.assets.append(target)
            case .guide: break
            }
        }
    }

    /// The store is given the URL of each target once, and from then on only its number.
    mutating func linkTarget(_ number: UInt32) -> NewLinks.Target {
        let isNew = records[Int(number)].flags.insert(.hasStoredNumber).inserted
        return NewLinks.Target(href: isNew ? urls.href(number) : nil, number: number)
    }

    /// Adds the links of a stored response. Returns the numbers of the `new` ones, in the same order.
    mutating func addLinks(of number: UInt32, known: [Frontier.KnownLink], new: [FoundLink]) -> [UInt32] {
        for link in known {
            discoverAgain(
                link.number, by: number, role: link.role, isGuess: link.isGuess,
                nearestZone: zone(of: number))
            renderScheduler.noteScanned(link.number)
        }
        return new.map { addLink($0, by: number) }
    }

    /// Returns the number of a link's target. For links to pages, session parameters are removed from the
    /// URL.
    private mutating func addLink(_ link: FoundLink, by number: UInt32) -> UInt32 {
        let target: UInt32
        switch link.target {
        case .number(let known) where !options.requestsLinks:
            target = known
        case .url(let url, _) where !options.requestsLinks:
            target = discoverUnfollowed(url, by: number, for: .notSupplied)
        case .number(let known):
            discoverAgain(
                known, by: number, role: link.role, isGuess: link.isGuess, isCORS: link.isCORS,
                nearestZone: zone(of: number))
            admitIfOnlyOfOtherRendition(known, link)
            target = known
        case .url(let url, let key):
            target = discover(link, to: url, by: number)
            admitIfOnlyOfOtherRendition(target, link)
            options.memory?.keep(target, as: key)
        }
        renderScheduler.noteScanned(target)
        return target
    }

    private mutating func discover(_ link: FoundLink, to url: WebURL, by number: UInt32) -> UInt32 {
        if link.isNofollow { return discoverUnfollowed(url, by: number) }
        if link.isAction, !scope.allowsAction(url) {
            return discoverUnfollowed(url, by: number, for: LogoutLinks.contain(url) ? .sessionEnd : .action)
        }
        if let reason = link.leftOut {
            // Another link to the URL, without a placeholder, confirms a guess.
            let isTemplate = reason == .guess
            return discoverUnfollowed(
                url, by: number, role: isTemplate ? link.role : .asset, flags: isTemplate ? .isGuess : [],
                for: reason)
        }
        var flags: EntryRecord.Flags = link.isGuess ? .isGuess : []
        if link.isCORS { flags.insert(.isCORS) }
        guard link.role == .page, let stripped = SessionParameters.removing(from: url) else {
            let chain = chain(to: link, from: number)
            return discover(
                url, role: link.role, from: number, redirects: 0, flags: flags,
                nearestZone: zone(of: number), chain: chain)
        }
        let count = urls.count
        let target = discover(
            stripped, role: .page, from: number, redirects: 0, flags: flags, nearestZone: zone(of: number))
        if urls.count > count { rareStates[target, default: RareState()].unstripped = url.href }
        return target
    }

    /// The length of the chain of assets that need each other, or of refreshes, up to the link's target.
    private func chain(to link: FoundLink, from finder: UInt32) -> UInt8 {
        let record = records[Int(finder)]
        let continues = link.role == .asset ? record.role == .asset : link.isRefresh
        return continues ? min(record.chain, .max - 1) + 1 : 0
    }

    /// The network zone that the response came from, which limits the requests for its links.
    func zone(of number: UInt32) -> NetworkZone { records[Int(number)].zone }

    /// Handles another link to a known entry.
    mutating func discoverAgain(
        _ number: UInt32, by finder: UInt32?, role: Role, isGuess: Bool, isCORS: Bool = false,
        nearestZone: NetworkZone
    ) {
        if finder != nil, role == .page, records[Int(number)].state == .skipped {
            admitIfOnlyNofollowed(number, by: finder, nearestZone: nearestZone)
        }
        widen(number, to: nearestZone)
        if let finder {
            addPath(from: finder, to: number, distance: role == .page ? 1 : 0)
        }
        if isCORS { markAsCORS(number) }
        if role == .page, !order.isAddingSecondary { promoteSecondary(number) }
        if role == .asset { convertToAsset(number) }
        if !isGuess { confirmGuess(number) }
        if records[Int(number)].state == .elsewhere, !hosts[Int(records[Int(number)].host)].isElsewhere {
            admit(number, url(number))
        }
    }

    /// Returns the number of a URL. A new one is queued, waits for robots.txt, or is skipped.
    ///
    /// - Parameter nearestZone: the nearest network zone that a request for the URL may connect to: that of
    ///   the response with the link, or the one that the user allows.
    @discardableResult
    mutating func discover(
        _ url: WebURL, role: Role, from referrer: UInt32?, redirects: UInt8, flags: EntryRecord.Flags = [],
        nearestZone: NetworkZone, chain: UInt8? = nil
    ) -> UInt32 {
        let (number, isNew) = urls.insert(url)
        guard isNew || records[Int(number)].flags.contains(.isReferrerOnly) else {
            if role == .page, redirects > 0 || referrer == nil, records[Int(number)].state == .skipped {
                admitIfOnlyNofollowed(number, by: referrer, nearestZone: nearestZone)
            }
            discoverAgain(
                number, by: redirects == 0 ? referrer : nil, role: role, isGuess: flags.contains(.isGuess),
                isCORS: flags.contains(.isCORS), nearestZone: nearestZone)
            if redirects > 0, let referrer { addPath(from: referrer, to: number, distance: 0) }
            return number
        }
        let parent = referrer.map { records[Int($0)] }
        // Redirect targets and assets have the same depth as the entry that led to them.
        let distance: UInt16 = parent != nil && redirects == 0 && role == .page ? 1 : 0
        let host = hostNumber(of: url)
        if flags.contains(.isStart) { hosts[host].isStartHost = true }
        var flags = flags
        if order.isAddingSecondary, role == .page { flags.insert(.isSecondary) }
        let record = EntryRecord(
            host: UInt32(host), referrer: referrer ?? EntryRecord.noEntry,
            depth: min(parent?.depth ?? 0, .max - 1) + distance, flags: flags, role: role,
            nearestZone: nearestZone,
            redirects: redirects)
        if isNew { records.append(record) } else { replaceReferrer(number, by: record) }
        records[Int(number)].chain = chain ?? parent?.chain ?? 0
        noteZone(nearestZone, of: host)
        if scope.limitsDepth, let referrer { depthLinks.add(from: referrer, to: number, distance: distance) }
        if let reason = boundReason(number) { skip(number, reason) } else { admit(number, url) }
        return number
    }

    /// The reason why a new entry is skipped because of a bound, if one is exceeded.
    private mutating func boundReason(_ number: UInt32) -> SkipReason? {
        let record = records[Int(number)]
        switch record.role {
        case .page: return record.chain > Frontier.maxRedirects ? .bound(.refreshes) : nil
        case .asset where record.referrer != EntryRecord.noEntry && record.redirects == 0:
            return bounds.reason(record.referrer, chain: record.chain)
        case .asset, .guide: return nil
        }
    }

    /// Whether the entry's host is beyond the maximum number of hosts of its domain. Start URLs are exempt.
    private mutating func isOfTooManyHosts(_ record: EntryRecord, _ url: WebURL) -> Bool {
        let host = Int(record.host)
        let exceedsDomainLimit = hosts[host].exceedsDomainLimit ?? (bounds.reason(newHost: url.host) != nil)
        hosts[host].exceedsDomainLimit = exceedsDomainLimit
        return exceedsDomainLimit && !record.flags.contains(.isStart)
    }

    /// Handles a link from a response whose zone may be nearer than those before.
    private mutating func widen(_ number: UInt32, to zone: NetworkZone) {
        guard zone > records[Int(number)].nearestZone else { return }
        records[Int(number)].nearestZone = zone
        noteZone(zone, of: Int(records[Int(number)].host))
        resend(number)
        admitAgain(ifRefused: number)
    }

    mutating func noteZone(_ zone: NetworkZone, of host: Int) {
        if zone > hosts[host].nearestZone { hosts[host].nearestZone = zone }
    }

    /// Queues an entry, lets it wait for robots.txt, or skips it.
    mutating func admit(_ number: UInt32, _ url: WebURL) {
        let record = records[Int(number)]
        if record.flags.contains(.isGuess) {
            let isInVain = record.referrer != EntryRecord.noEntry && hosts[Int(record.host)].ignoresGuesses
            if !options.followsGuesses || isInVain { return skip(number, .guess) }
        }
        switch verdict(on: url, record) {
        case .skipped(let reason): return skip(number, reason)
        case .followed: if isOfTooManyHosts(record, url) { return skip(number, .bound(.hosts)) }
        }
        if hosts[Int(record.host)].isElsewhere { return send(number) }
        guard record.role == .page, !record.flags.contains(.isStart) else {
            // Fetches robots.txt together with the start URL, since other pages will wait for it.
            if record.flags.contains(.isStart), record.role == .page {
                branches.noteStart(url)
                scheduleRobots(of: Int(record.host))
            }
            return enqueue(number)
        }
        switch traps.isQuiet ? .fine : traps.verdict(on: url) {
        case .fine: break
        case .slowed: records[Int(number)].flags.insert(.isPossibleTrap)
        case .stopped(let reason): return skip(number, .trap(reason))
        }
        switch hosts[Int(record.host)].robots?.verdict(on: url) {
        case .allowed?, nil:
            enqueueOrPark(number)
        case .waits?:
            records[Int(number)].state = .waiting
            hosts[Int(record.host)].awaitingRobots.append(number)
            scheduleRobots(of: Int(record.host))
            expediteRobots(of: Int(record.host))
        case .refused(let reason)?:
            skip(number, reason)
        }
    }

    private mutating func verdict(on url: WebURL, _ record: EntryRecord) -> ScopeVerdict {
        if record.flags.contains(.isStart) { return scope.verdict(on: url, as: .start) }
        if options.hasSession {
            if LogoutLinks.contain(url) { return .skipped(.sessionEnd) }
            // Requests for scripts, pictures and style sheets change nothing; a URL in the text of a script may.
            let mayAct = record.role == .page || record.flags.contains(.isGuess)
            if mayAct, ActionLink.isActionURL(url), !scope.allowsAction(url) { return .skipped(.action) }
        }
        switch record.role {
        case .page: return scope.verdict(on: url, as: .page(depth: Int(record.depth)))
        case .guide: if let reason = guideReason(url, record) { return .skipped(reason) }
        case .asset: break
        }
        return scope.verdict(on: url, as: .asset)
    }

    /// The reason why a sitemap that another one lists is not read. If there is none, counts the sitemap.
    ///
    /// By sitemaps.org, an index lists up to 50,000 sitemaps of its own host, and no other index. A second level is
    /// common, and is accepted with a lower maximum.
    private mutating func guideReason(_ url: WebURL, _ record: EntryRecord) -> SkipReason? {
        var (level, next) = (0, record)
        while next.referrer != EntryRecord.noEntry, records[Int(next.referrer)].role == .guide {
            if next.redirects == 0 { level += 1 }
            next = records[Int(next.referrer)]
        }
        guard level > 0, record.redirects == 0 else { return nil }
        if scope.maxDepth == 0 { return .tooDeep(0) }
        if url.host != self.url(record.referrer).host,
            case .skipped(let reason) = scope.pageVerdict(on: url, depth: 0)
        {
            return reason
        }
        guard level <= Self.maxSitemapsByLevel.count,
            sitemaps[level, default: 0] < Self.maxSitemapsByLevel[level - 1]
        else {
            return .nestedSitemap
        }
        sitemaps[level, default: 0] += 1
        return nil
    }

    /// The maximum number of sitemaps for each nesting level.
    private static let maxSitemapsByLevel = [50_000, 1000]

    mutating func skip(_ number: UInt32, _ reason: SkipReason) {
        records[Int(number)].state = .skipped
        records[Int(number)].reason = skipReasons.insert(reason, for: number)
        if sharing != nil, reason.needsRequest { sharing?.outcomes.append(number) }
    }

    /// Turns a page into an asset, and the targets of its redirects too.
    private mutating func convertToAsset(_ number: UInt32) {
        var next = number
        while next != EntryRecord.noEntry, records[Int(next)].role == .page {
            records[Int(next)].role = .asset
            switch records[Int(next)].state {
            case .skipped where state(next) == .skipped(.action): break
            case .skipped: admit(next, url(next))
            // Entries that wait for robots.txt: it applies only to pages.
            case .waiting where records[Int(next)].attempts == 0: admit(next, url(next))
            case .queued: enqueue(next)
            case .done, .redirected:
                records[Int(next)].flags.insert(.isStoredAsPage)
                doneAssetCount += 1
            case .elsewhere: resend(next)
            case .running, .waiting, .failed: break
            }
            next = records[Int(next)].target
        }
    }

    /// Marks a guess as a link, and the targets of its redirects too.
    private mutating func confirmGuess(_ number: UInt32) {
        var next = number
        while next != EntryRecord.noEntry, records[Int(next)].flags.contains(.isGuess) {
            records[Int(next)].flags.remove(.isGuess)
            if countsAsFailed(next) { failedCount += 1 }
            resend(next)
            if records[Int(next)].state == .skipped { admit(next, url(next)) }
            next = records[Int(next)].target
        }
    }

    /// Handles another way to an entry. If it is shorter than those before, the depth of the entry and of all
    /// that it links to is reduced.
    private mutating func addPath(from source: UInt32, to number: UInt32, distance: UInt16) {
        guard scope.limitsDepth else { return lowerDepth(of: number, to: depth(distance, beyond: source)) }
        depthLinks.add(from: source, to: number, distance: distance)
        var nearer = [(number, depth(distance, beyond: source))]
        while let (number, depth) = nearer.popLast() {
            guard depth < records[Int(number)].depth else { continue }
            lowerDepth(of: number, to: depth)
            for target in depthLinks.targets(of: number) {
                nearer.append((target.number, self.depth(target.distance, beyond: number)))
            }
        }
    }

    private func depth(_ distance: UInt16, beyond source: UInt32) -> UInt16 {
        min(records[Int(source)].depth, .max - distance) + distance
    }

    private mutating func lowerDepth(of number: UInt32, to depth: UInt16) {
        guard depth < records[Int(number)].depth else { return }
        records[Int(number)].depth = depth
        if scope.limitsDepth { resend(number) }
        guard records[Int(number)].state == .skipped, case .skipped(.tooDeep) = state(number) else { return }
        admit(number, url(number))
    }
}

/// Directives of pages to crawlers: `nofollow` and `noindex`.
extension Frontier {
    /// Adds the target of a link that is not followed. A new entry gets a number, and is skipped; if the link is
    /// marked `nofollow` or has a placeholder, until another link leads to it.
    mutating func discoverUnfollowed(
        _ url: WebURL, by finder: UInt32, role: Role = .page, flags: EntryRecord.Flags = [],
        for reason: SkipReason = .nofollow
    ) -> UInt32 {
        let (number, isNew) = urls.insert(url)
        guard isNew else { return number }
        let (finderDepth, zone) = (records[Int(finder)].depth, records[Int(finder)].zone)
        records.append(
            EntryRecord(
                host: UInt32(hostNumber(of: url)), referrer: finder,
                depth: min(finderDepth, .max - 1) + (role == .page ? 1 : 0),
                flags: flags,
                role: role, nearestZone: zone, redirects: 0))
        let depth = Int(records[Int(number)].depth)
        switch role == .page ? scope.pageVerdict(on: url, depth: depth) : scope.verdict(on: url, as: .asset) {
        // With `--include-forms` a link that deletes something would still not be requested.
        case .skipped(.sidePage) where reason == .action: skip(number, reason)
        // A page outside the scope is skipped for that reason, which no other link can change.
        case .skipped(let other) where !other.isOfDepth && reason != .notSupplied: skip(number, other)
        case .skipped, .followed: skip(number, reason)
        }
        return number
    }

    /// Admits an entry that so far belonged only to renditions that were left out, if this link needs it.
    mutating func admitIfOnlyOfOtherRendition(_ number: UInt32, _ link: FoundLink) {
        guard link.role == .asset, !link.isGuess, link.leftOut == nil, state(number) == .skipped(.rendition)
        else { return }
        admit(number, url(number))
    }

    /// Handles a link without `nofollow` to an entry that so far had only links with it, as if it were
    /// discovered now.
    mutating func admitIfOnlyNofollowed(_ number: UInt32, by finder: UInt32?, nearestZone: NetworkZone) {
        guard state(number) == .skipped(.nofollow) else { return }
        let place = Int(number)
        records[place].referrer = finder ?? EntryRecord.noEntry
        records[place].nearestZone = nearestZone
        records[place].depth = finder.map { min(records[Int($0)].depth, .max - 1) + 1 } ?? 0
        noteZone(records[place].nearestZone, of: Int(records[place].host))
        admit(number, url(number))
    }

    /// Whether the page is skipped if it says `noindex`. A start URL is stored regardless.
    func mayBeLeftOut(_ number: UInt32) -> Bool {
        records[Int(number)].role == .page && !records[Int(number)].flags.contains(.isStart)
    }

    /// Skips a fetched page that says `noindex`.
    mutating func leaveOut(_ number: UInt32) {
        doneCount -= 1
        guard records[Int(number)].role == .page else {
            // Meanwhile another page needs it as an asset.
            records[Int(number)].state = .waiting
            return enqueue(number)
        }
        skip(number, .noindex)
    }

    /// Skips an entry that is already `done`, because its response is not stored.
    mutating func drop(_ number: UInt32, for reason: SkipReason) {
        doneCount -= 1
        if records[Int(number)].role == .asset { doneAssetCount -= 1 }
        skip(number, reason)
    }

    /// Marks a page as a soft 404, as an earlier snapshot found for the same response.
    mutating func markAsSoftNotFound(_ number: UInt32) {
        if mayBeLeftOut(number) { records[Int(number)].flags.insert(.isSoftNotFound) }
    }
}

/// The origins on whose behalf assets are requested.
extension Frontier {
    /// Marks an entry, and the targets of its redirects, to be requested with CORS. Responses that were
    /// fetched before stay as they are.
    mutating func markAsCORS(_ number: UInt32) {
        var next = number
        while next != EntryRecord.noEntry, !records[Int(next)].flags.contains(.isCORS) {
            records[Int(next)].flags.insert(.isCORS)
            resend(next)
            next = records[Int(next)].target
        }
    }

    /// Notes the format of a response. HTML, whatever its role, is a document, on whose behalf its assets are
    /// requested, and so are SVG and XML that a person navigates to. The assets of style sheets and scripts
    /// are requested on behalf of the document that needs them.
    mutating func noteFormat(_ format: BodyFormat?, of number: UInt32) {
        let isShown = records[Int(number)].role == .page && (format == .svg || format == .xml)
        if format?.isHTML == true || isShown { records[Int(number)].flags.insert(.isDocument) }
    }

    /// The value for the `Origin` header of a CORS request. Nil within one origin, and for redirects for
    /// which browsers send `null` (Fetch, section 4.4: a redirect from an origin other than the document's to
    /// yet another one taints the request).
    func corsOrigin(of number: UInt32) -> String? {
        var (first, origins) = (number, [url(number).origin])
        while records[Int(first)].redirects > 0, records[Int(first)].referrer != EntryRecord.noEntry {
            first = records[Int(first)].referrer
            origins.append(url(first).origin)
        }
        guard let requester = documentOrigin(of: first), requester != origins[0] else { return nil }
        let isTainted = zip(origins.dropFirst(), origins).contains { from, to in
            from != to && from != requester
        }
        return isTainted ? nil : requester
    }

    /// The origin of the nearest document in the referrers of an entry, or else of the first referrer.
    private func documentOrigin(of number: UInt32) -> String? {
        var next = number
        repeat {
            if let origin = rareStates[next]?.missOrigin { return origin }
            next = records[Int(next)].referrer
            guard next != EntryRecord.noEntry else { return nil }
        } while !records[Int(next)].flags.contains(.isDocument)
            && (records[Int(next)].referrer != EntryRecord.noEntry || rareStates[next]?.missOrigin != nil)
        let document = url(next)
        return document.isHTTP ? document.origin : nil
    }
}
