internal import Fetch
internal import Markup
internal import Store
internal import Web

/// Links come in.
extension FrontierCore {
    /// All links of what was read, in one go; what the store is told of them. Of what is not kept it is told
    /// nothing: where its links lead is news for the next who leads there.
    mutating func found(_ result: ScanResult) -> NewLinks? {
        guard !result.isLeftOut else {
            for link in result.links where link.role == .page { _ = found(link, by: result.number) }
            return nil
        }
        var links = NewLinks(from: target(result.number))
        for link in result.links { add(link, by: result.number, to: &links) }
        if !result.told.isEmpty {
            let scanned = Set((links.pages + links.assets + links.guesses).map(\.number))
            for link in result.told { add(link, by: result.number, to: &links, unlessIn: scanned) }
        }
        return links
    }

    /// Further links of what was read before: it leads to all of them, which the store is told once more.
    mutating func found(_ found: LoaderBook.Found) -> NewLinks? {
        guard var links = loaders.takeLinks(of: found.number) else {
            for link in found.links { _ = self.found(link, by: found.number) }
            return nil
        }
        let known = Set((links.pages + links.assets + links.guesses).map(\.number))
        for link in found.links { add(link, by: found.number, to: &links, unlessIn: known) }
        loaders.keep(links, of: found.number)
        return links
    }

    private mutating func add(
        _ link: FoundLink, by number: UInt32, to links: inout NewLinks, unlessIn known: Set<UInt32> = []
    ) {
        let number = found(link, by: number)
        guard !known.contains(number) else { return }
        let target = target(number)
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

    /// The text goes along once: from then on the store knows the number.
    private mutating func target(_ number: UInt32) -> NewLinks.Target {
        let isNews = records[Int(number)].flags.insert(.isStored).inserted
        return NewLinks.Target(href: isNews ? urls.href(number) : nil, number: number)
    }

    /// The links of what is held. Gives the numbers of the new ones, in their order.
    mutating func linked(_ number: UInt32, known: [Frontier.KnownLink], new: [FoundLink]) -> [UInt32] {
        for link in known {
            discoverAgain(
                link.number, by: number, role: link.role, isGuess: link.isGuess,
                nearestZone: zone(of: number))
            renders.isScanned(link.number)
        }
        return new.map { found($0, by: number) }
    }

    /// The number of what the link leads to. A page is the same whatever session its link names.
    private mutating func found(_ link: FoundLink, by number: UInt32) -> UInt32 {
        let target: UInt32
        switch link.target {
        case .number(let known):
            discoverAgain(
                known, by: number, role: link.role, isGuess: link.isGuess, isCORS: link.isCORS,
                nearestZone: zone(of: number))
            target = known
        case .url(let url, let key):
            target = discover(link, to: url, by: number)
            options.memory?.keep(target, as: key)
        }
        renders.isScanned(target)
        return target
    }

    private mutating func discover(_ link: FoundLink, to url: WebURL, by number: UInt32) -> UInt32 {
        if link.isNofollow { return discoverUnfollowed(url, by: number) }
        var flags: Record.Flags = link.isGuess ? .isGuess : []
        if link.isCORS { flags.insert(.isCORS) }
        guard link.role == .page, let stripped = SessionParameters.stripped(url) else {
            let chain = chain(to: link, from: number)
            return discover(
                url, role: link.role, from: number, redirects: 0, flags: flags,
                nearestZone: zone(of: number), chain: chain)
        }
        let count = urls.count
        let target = discover(
            stripped, role: .page, from: number, redirects: 0, flags: flags, nearestZone: zone(of: number))
        if urls.count > count { unstripped[target] = url }
        return target
    }

    /// How many of what is needed, or of refreshes, lead on to the next.
    private func chain(to link: FoundLink, from finder: UInt32) -> UInt8 {
        let record = records[Int(finder)]
        let goesOn = link.role == .asset ? record.role == .asset : link.isRefresh
        return goesOn ? min(record.chain, .max - 1) + 1 : 0
    }

    /// The network zone that the response came from: the limit for what it names.
    private func zone(of number: UInt32) -> NetworkZone { records[Int(number)].zone }

    /// Another link to what has a number.
    mutating func discoverAgain(
        _ number: UInt32, by finder: UInt32?, role: Role, isGuess: Bool, isCORS: Bool = false,
        nearestZone: NetworkZone
    ) {
        if finder != nil, role == .page, records[Int(number)].state == .skipped {
            followAfterAll(number, by: finder, nearestZone: nearestZone)
        }
        widen(number, to: nearestZone)
        if let finder {
            shortenWay(from: finder, to: number, distance: role == .page ? 1 : 0)
        }
        if isCORS { becomeCORS(number) }
        if role == .asset { becomeAsset(number) }
        if !isGuess { becomeCertain(number) }
        if records[Int(number)].state == .elsewhere, !hosts[Int(records[Int(number)].host)].isElsewhere {
            admit(number, url(number))
        }
    }

    /// The number of an URL, which is queued when it is new and wanted.
    ///
    /// - Parameter nearestZone: the nearest network zone that a request for the URL may connect to: the zone of
    ///   the response that names it, or what the user allows.
    @discardableResult
    mutating func discover(
        _ url: WebURL, role: Role, from referrer: UInt32?, redirects: UInt8, flags: Record.Flags = [],
        nearestZone: NetworkZone, chain: UInt8? = nil
    ) -> UInt32 {
        let (number, isNew) = urls.number(of: url)
        guard isNew || records[Int(number)].flags.contains(.isNamed) else {
            if role == .page, redirects > 0 || referrer == nil, records[Int(number)].state == .skipped {
                followAfterAll(number, by: referrer, nearestZone: nearestZone)
            }
            discoverAgain(
                number, by: redirects == 0 ? referrer : nil, role: role, isGuess: flags.contains(.isGuess),
                isCORS: flags.contains(.isCORS), nearestZone: nearestZone)
            if redirects > 0, let referrer { shortenWay(from: referrer, to: number, distance: 0) }
            return number
        }
        let parent = referrer.map { records[Int($0)] }
        // A redirect, and what a page needs, are as far away as what led there.
        let distance: UInt16 = parent != nil && redirects == 0 && role == .page ? 1 : 0
        let host = hostNumber(of: url)
        if flags.contains(.isStart) { hosts[host].isOwn = true }
        let record = Record(
            host: UInt32(host), referrer: referrer ?? Record.nobody,
            depth: min(parent?.depth ?? 0, .max - 1) + distance, flags: flags, role: role,
            nearestZone: nearestZone,
            redirects: redirects)
        if isNew { records.append(record) } else { replace(named: number, by: record) }
        records[Int(number)].chain = chain ?? parent?.chain ?? 0
        noteZone(nearestZone, of: host)
        if scope.limitsDepth, let referrer { ways.add(from: referrer, to: number, distance: distance) }
        if let reason = boundReason(number) { skip(number, reason) } else { admit(number, url) }
        return number
    }

    /// Why what is new is not asked for, whoever leads there.
    private mutating func boundReason(_ number: UInt32) -> SkipReason? {
        let record = records[Int(number)]
        switch record.role {
        case .page: return record.chain > Frontier.mostRedirects ? .bound(.refreshes) : nil
        case .asset where record.referrer != Record.nobody && record.redirects == 0:
            return bounds.reason(record.referrer, chain: record.chain)
        case .asset, .guide: return nil
        }
    }

    /// Whether something may be asked of its host, which may be one of too many.
    private mutating func isOfTooManyHosts(_ record: Record, _ url: WebURL) -> Bool {
        let host = Int(record.host)
        let isTooMany = hosts[host].isTooMany ?? (bounds.reason(newHost: url.host) != nil)
        hosts[host].isTooMany = isTooMany
        return isTooMany && !record.flags.contains(.isStart)
    }

    /// Another response names the URL; it may come from a nearer zone than those before.
    private mutating func widen(_ number: UInt32, to zone: NetworkZone) {
        guard zone > records[Int(number)].nearestZone else { return }
        records[Int(number)].nearestZone = zone
        noteZone(zone, of: Int(records[Int(number)].host))
        sendAgain(number)
        admitAgain(ifRefused: number)
    }

    mutating func noteZone(_ zone: NetworkZone, of host: Int) {
        if zone > hosts[host].nearestZone { hosts[host].nearestZone = zone }
    }

    /// Queues an entry, has it wait at the gate, or skips it.
    mutating func admit(_ number: UInt32, _ url: WebURL) {
        let record = records[Int(number)]
        if record.flags.contains(.isGuess) {
            let isInVain = record.referrer != Record.nobody && hosts[Int(record.host)].isGuessedInVain
            if !options.followsGuesses || isInVain { return skip(number, .guess) }
        }
        switch verdict(on: url, record) {
        case .skipped(let reason): return skip(number, reason)
        case .followed: if isOfTooManyHosts(record, url) { return skip(number, .bound(.hosts)) }
        }
        if hosts[Int(record.host)].isElsewhere { return send(number) }
        guard record.role == .page, !record.flags.contains(.isStart) else {
            // The site's robots.txt is asked for along with its start.
            if record.flags.contains(.isStart), record.role == .page { approachGate(of: Int(record.host)) }
            return enqueue(number)
        }
        switch traps.isQuiet ? .fine : traps.verdict(on: url) {
        case .fine: break
        case .slowed: records[Int(number)].flags.insert(.isSlow)
        case .stopped(let reason): return skip(number, .trap(reason))
        }
        switch hosts[Int(record.host)].gate?.verdict(on: url) {
        case .allowed?, nil:
            enqueue(number)
        case .waits?:
            records[Int(number)].state = .waiting
            hosts[Int(record.host)].atGate.append(number)
            approachGate(of: Int(record.host))
            hurryGate(of: Int(record.host))
        case .refused(let reason)?:
            skip(number, reason)
        }
    }

    private mutating func verdict(on url: WebURL, _ record: Record) -> ScopeVerdict {
        if record.flags.contains(.isStart) { return scope.verdict(on: url, as: .start) }
        if options.hasSession, SessionEnd.isAt(url) { return .skipped(.sessionEnd) }
        switch record.role {
        case .page: return scope.verdict(on: url, as: .page(depth: Int(record.depth)))
        case .guide: if let reason = guideReason(url, record) { return .skipped(reason) }
        case .asset: break
        }
        return scope.verdict(on: url, as: .asset)
    }

    /// Why a sitemap is not read that another one leads to. By sitemaps.org an index lists up to 50,000
    /// sitemaps, of its own host, and no other index; one level more is common, and forgiven to so many.
    private mutating func guideReason(_ url: WebURL, _ record: Record) -> SkipReason? {
        var (level, next) = (0, record)
        while next.referrer != Record.nobody, records[Int(next.referrer)].role == .guide {
            if next.redirects == 0 { level += 1 }
            next = records[Int(next.referrer)]
        }
        guard level > 0, record.redirects == 0 else { return nil }
        if scope.deepest == 0 { return .tooDeep(0) }
        if url.host != self.url(record.referrer).host,
            case .skipped(let reason) = scope.verdict(onPage: url, depth: 0)
        {
            return reason
        }
        guard level <= Self.mostSitemaps.count, sitemaps[level, default: 0] < Self.mostSitemaps[level - 1]
        else {
            return .nestedSitemap
        }
        sitemaps[level, default: 0] += 1
        return nil
    }

    /// By how many levels of sitemaps lead there.
    private static let mostSitemaps = [50_000, 1000]

    mutating func skip(_ number: UInt32, _ reason: SkipReason) {
        records[Int(number)].state = .skipped
        records[Int(number)].reason = reasons.place(of: reason, for: number)
        if sharing != nil, reason.isFoundOut { sharing?.outcomes.append(number) }
    }

    /// Something needs it, and so wherever it leads.
    private mutating func becomeAsset(_ number: UInt32) {
        var next = number
        while next != Record.nobody, records[Int(next)].role == .page {
            records[Int(next)].role = .asset
            switch records[Int(next)].state {
            case .skipped: admit(next, url(next))
            // Before a gate, which holds back pages alone.
            case .waiting where records[Int(next)].attempts == 0: admit(next, url(next))
            case .queued: enqueue(next)
            case .done, .redirected: doneAssetCount += 1
            case .elsewhere: sendAgain(next)
            case .running, .waiting, .failed: break
            }
            next = records[Int(next)].target
        }
    }

    private mutating func becomeCertain(_ number: UInt32) {
        var next = number
        while next != Record.nobody, records[Int(next)].flags.contains(.isGuess) {
            records[Int(next)].flags.remove(.isGuess)
            sendAgain(next)
            if records[Int(next)].state == .skipped { admit(next, url(next)) }
            next = records[Int(next)].target
        }
    }

    /// Another way to an entry, perhaps a shorter one: then what it leads to is nearer as well.
    private mutating func shortenWay(from source: UInt32, to number: UInt32, distance: UInt16) {
        guard scope.limitsDepth else { return shorten(number, to: depth(distance, beyond: source)) }
        ways.add(from: source, to: number, distance: distance)
        var nearer = [(number, depth(distance, beyond: source))]
        while let (number, depth) = nearer.popLast() {
            guard depth < records[Int(number)].depth else { continue }
            shorten(number, to: depth)
            for target in ways.targets(of: number) {
                nearer.append((target.number, self.depth(target.distance, beyond: number)))
            }
        }
    }

    private func depth(_ distance: UInt16, beyond source: UInt32) -> UInt16 {
        min(records[Int(source)].depth, .max - distance) + distance
    }

    private mutating func shorten(_ number: UInt32, to depth: UInt16) {
        guard depth < records[Int(number)].depth else { return }
        records[Int(number)].depth = depth
        if scope.limitsDepth { sendAgain(number) }
        guard records[Int(number)].state == .skipped, case .skipped(.tooDeep) = state(number) else { return }
        admit(number, url(number))
    }
}

/// What browsers show.
extension FrontierCore {
    mutating func noteForRendering(
        _ number: UInt32, _ reasons: RenderReasons, needs: [UInt32], isNofollow: Bool,
        isRecalled: Bool = false
    ) {
        if isNofollow { unfollowed.insert(number) }
        let record = records[Int(number)]
        // What a manifest names may be where the site starts, too.
        if record.role == .page || record.flags.contains(.isStart), record.flags.contains(.isDocument) {
            renders.addPage(number, url(number), reasons, needs: needs, isRecalled: isRecalled)
        } else if record.role == .asset {
            renders.addPart(number, reasons, needs: needs, isRecalled: isRecalled)
        }
    }

    /// A page that is shown asks for it, and waits: what is queued comes first.
    mutating func need(_ url: WebURL, by page: UInt32, isPage: Bool, isCORS: Bool) {
        let url = url.key
        // A browser asks for an icon whether a page has one or not.
        var flags: Record.Flags = url.path == "/favicon.ico" ? .isGuess : []
        if isCORS { flags.insert(.isCORS) }
        let number: UInt32
        if let known = urls.find(url), !mayBeWanted(known, isPage: isPage) {
            number = known
        } else {
            // That a script leads on there is as a refresh that does.
            let chain = isPage ? min(records[Int(page)].chain, .max - 1) + 1 : 0
            number = discover(
                url, role: isPage ? .page : .asset, from: page, redirects: 0, flags: flags,
                nearestZone: zone(of: page), chain: chain)
            neededBy[number] = neededBy[number] ?? page
            if renders.isEarly(page) { renders.isFound(number, byEarly: page) }
        }
        if records[Int(number)].state == .queued {
            hosts[Int(records[Int(number)].host)].appendAtOnce(number)
        }
    }

    /// It was not asked for, or as what looked like a link in a script: now something is known to need it.
    private func mayBeWanted(_ number: UInt32, isPage: Bool) -> Bool {
        let record = records[Int(number)]
        return record.state == .skipped && !isPage || record.flags.contains(.isGuess)
    }

    /// Gives what the store is told of the page: what it asked for and its own links do not tell, and where
    /// it leads.
    mutating func rendered(_ number: UInt32, _ rendered: Frontier.Rendered) -> [Action] {
        var found = RenderBook.Found()
        let isEarly = renders.isEarly(number)
        let known = UInt32(records.count)
        var links = NewLinks(from: target(number))
        links.areFurther = true
        for asked in rendered.asked.sorted() {
            let record = records[Int(asked)]
            guard let finder = neededBy[asked], record.role == .asset else { continue }
            let isHad = record.state == .done || record.state == .redirected
            // What could not be had, or is still awaited, the page needs all the same: the next snapshot asks for it.
            guard isHad || record.state != .skipped && !record.flags.contains(.isGuess) else { continue }
            links.assets.append(target(asked))
            if isHad, finder == number, !isEarly { found.assets += 1 }
        }
        for url in rendered.links.prefix(AssetBounds.mostOfOne) where url.isHTTP {
            let count = records.count
            let page =
                unfollowed.contains(number)
                ? discoverUnfollowed(url.key, by: number)
                : discover(
                    url.key, role: .page, from: number, redirects: 0, nearestZone: zone(of: number))
            links.pages.append(target(page))
            guard records.count > count, records[Int(page)].state != .skipped else { continue }
            if isEarly { renders.isFound(page, byEarly: number) } else { found.pages += 1 }
        }
        if let print = rendered.print { read(number, print, newFrom: known, saysNotFound: false) }
        renders.rendered(
            number, found, isWhole: rendered.isWhole, waitsFor: rendered.waitsFor)
        return links.pages.isEmpty && links.assets.isEmpty ? [] : [.record(links)]
    }
}

/// What pages ask of crawlers.
extension FrontierCore {
    /// A link that is not to be followed from where it stands: the URL has a number from then on, and is
    /// skipped until somebody else leads there.
    mutating func discoverUnfollowed(_ url: WebURL, by finder: UInt32) -> UInt32 {
        let (number, isNew) = urls.number(of: url)
        guard isNew else { return number }
        let (depth, zone) = (records[Int(finder)].depth, records[Int(finder)].zone)
        records.append(
            Record(
                host: UInt32(hostNumber(of: url)), referrer: finder, depth: min(depth, .max - 1) + 1,
                flags: [],
                role: .page, nearestZone: zone, redirects: 0))
        switch scope.verdict(onPage: url, depth: Int(records[Int(number)].depth)) {
        // What is no page of the site is none by whatever link.
        case .skipped(let reason) where !reason.isOfDepth: skip(number, reason)
        case .skipped, .followed: skip(number, .nofollow)
        }
        return number
    }

    /// Somebody leads to what so far was only linked with the wish not to be followed: as if it were
    /// discovered now.
    mutating func followAfterAll(_ number: UInt32, by finder: UInt32?, nearestZone: NetworkZone) {
        guard state(number) == .skipped(.nofollow) else { return }
        let place = Int(number)
        records[place].referrer = finder ?? Record.nobody
        records[place].nearestZone = nearestZone
        records[place].depth = finder.map { min(records[Int($0)].depth, .max - 1) + 1 } ?? 0
        noteZone(records[place].nearestZone, of: Int(records[place].host))
        admit(number, url(number))
    }

    /// Whether a page goes if it asks not to be kept: a person asked for a start.
    func mayBeLeftOut(_ number: UInt32) -> Bool {
        records[Int(number)].role == .page && !records[Int(number)].flags.contains(.isStart)
    }

    /// It came, and asks not to be kept.
    mutating func leaveOut(_ number: UInt32) {
        doneCount -= 1
        guard records[Int(number)].role == .page else {
            // Meanwhile another page needs it.
            records[Int(number)].state = .waiting
            return enqueue(number)
        }
        skip(number, .noindex)
    }

    /// It was done with, and is not to be stored.
    mutating func drop(_ number: UInt32, for reason: SkipReason) {
        doneCount -= 1
        if records[Int(number)].role == .asset { doneAssetCount -= 1 }
        skip(number, reason)
    }

    /// An earlier snapshot found that it says that there is nothing, and it is as it was.
    mutating func knowAsMissing(_ number: UInt32) {
        if mayBeLeftOut(number) { records[Int(number)].flags.insert(.isSoftNotFound) }
    }
}

/// In whose name things are asked for.
extension FrontierCore {
    /// Something asks for it by CORS. What came before that was known stays as it came.
    mutating func becomeCORS(_ number: UInt32) {
        var next = number
        while next != Record.nobody, !records[Int(next)].flags.contains(.isCORS) {
            records[Int(next)].flags.insert(.isCORS)
            sendAgain(next)
            next = records[Int(next)].target
        }
    }

    /// It came in this format. Whatever led there: what is HTML asks for what it needs in its own name, and a
    /// style sheet or a script in that of the document that needs it. What else a person goes to is a
    /// document too.
    mutating func note(_ format: BodyFormat?, of number: UInt32) {
        let isShown = records[Int(number)].role == .page && (format == .svg || format == .xml)
        if format == .html || format == .xhtml || isShown { records[Int(number)].flags.insert(.isDocument) }
    }

    /// The origin that a request by CORS names. Nil where it names none: within one origin, and where
    /// redirects have led over so many that browsers would say `null` (Fetch, section 4.4: a redirect from
    /// another origin than the document's to yet another one taints it).
    func origin(askingFor number: UInt32) -> String? {
        var (first, ways) = (number, [url(number).origin])
        while records[Int(first)].redirects > 0, records[Int(first)].referrer != Record.nobody {
            first = records[Int(first)].referrer
            ways.append(url(first).origin)
        }
        guard let asking = origin(ofWhoNeeds: first), asking != ways[0] else { return nil }
        let isTainted = zip(ways.dropFirst(), ways).contains { from, to in from != to && from != asking }
        return isTainted ? nil : asking
    }

    /// Of the nearest document on the way there, else of where the way begins.
    private func origin(ofWhoNeeds number: UInt32) -> String? {
        var next = number
        repeat {
            if let origin = origins[next] { return origin }
            next = records[Int(next)].referrer
            guard next != Record.nobody else { return nil }
        } while !records[Int(next)].flags.contains(.isDocument)
            && (records[Int(next)].referrer != Record.nobody || origins[next] != nil)
        let document = url(next)
        return document.isHTTP ? document.origin : nil
    }
}

/// How much pages may need: whoever needs more has lost its way, or wants to keep others busy.
struct AssetBounds: Sendable {
    /// What one document is the first to need.
    static let mostOfOne = 20_000
    /// From a page to what it needs, what that needs, and so on: style sheets that import each other.
    static let longestChain: UInt8 = 100
    /// Hosts below one domain of two labels.
    static let mostHosts = 1000

    private var finder = UInt32.max
    private var count = 0
    private var hosts: [Substring: Int] = [:]

    /// Why what `finder` needs is not asked for; all that one finds comes in a row.
    mutating func reason(_ finder: UInt32, chain: UInt8) -> SkipReason? {
        if finder != self.finder { (self.finder, count) = (finder, 0) }
        count += 1
        if count > Self.mostOfOne { return .bound(.assets) }
        return chain >= Self.longestChain ? .bound(.chain) : nil
    }

    /// Why nothing is asked of a host that was not discovered before. An address has no domain.
    mutating func reason(newHost host: String) -> SkipReason? {
        let labels = host.split(separator: ".")
        guard labels.count > 2, labels.last?.utf8.first?.isASCIIDigit != true else { return nil }
        let start = labels[labels.count - 2].startIndex
        hosts[host[start...], default: 0] += 1
        return hosts[host[start...], default: 0] > Self.mostHosts ? .bound(.hosts) : nil
    }
}

/// A bound of the crawl that was exceeded.
package enum CrawlBound: Sendable, Hashable, CustomStringConvertible {
    case assets, chain, hosts, refreshes

    package var description: String {
        switch self {
        case .assets: "one document needs more than \(AssetBounds.mostOfOne) assets"
        case .chain: "at the end of a chain of more than \(AssetBounds.longestChain) assets"
        case .hosts: "on one of more than \(AssetBounds.mostHosts) hosts of one domain"
        case .refreshes: "behind \(Frontier.mostRedirects) pages that only redirect to the next (refresh)"
        }
    }
}
