internal import Markup
internal import Store
internal import Web

/// Pages for rendering, and the requests of pages that are being rendered.
extension Frontier {
    mutating func noteForRendering(
        _ number: UInt32, _ reasons: RenderReasons, assets: [UInt32], scripts: UInt64 = 0,
        inlineScripts: UInt32 = 0, isNofollow: Bool, isUnchanged: Bool = false
    ) {
        if isNofollow { records[Int(number)].flags.insert(.isNofollow) }
        let record = records[Int(number)]
        // HTML that the user or a manifest names as an asset to start from is rendered as well.
        if record.role == .page || record.flags.contains(.isStart), record.flags.contains(.isDocument) {
            renderScheduler.addPage(
                number, url(number), reasons, assets: assets, scripts: scripts, inlineScripts: inlineScripts,
                isUnchanged: isUnchanged)
        } else if record.role == .asset {
            renderScheduler.addPart(number, reasons, assets: assets, isUnchanged: isUnchanged)
        }
    }

    /// Adds a request of a page that is being rendered. Because the page waits for the response, the entry
    /// is queued with the assets, before other pages.
    mutating func addPageRequest(
        _ url: WebURL, by page: UInt32, isPage: Bool, isCORS: Bool, readsStatus: Bool
    ) {
        let url = url.key
        // Browsers request this icon for every page, whether it exists or not.
        var flags: EntryRecord.Flags = url.path == "/favicon.ico" ? .isGuess : []
        if isCORS { flags.insert(.isCORS) }
        let number: UInt32
        if let known = urls.find(url), !mayBeWanted(known, isPage: isPage) {
            number = known
        } else {
            // A navigation by script counts like a refresh, so that pages cannot redirect endlessly.
            let chain = isPage ? min(records[Int(page)].chain, .max - 1) + 1 : 0
            number = discover(
                url, role: isPage ? .page : .asset, from: page, redirects: 0, flags: flags,
                nearestZone: zone(of: page), chain: chain)
            if rareStates[number]?.firstRequester == nil {
                rareStates[number, default: RareState()].firstRequester = page
            }
            if renderScheduler.isEarly(page) { renderScheduler.noteFound(number, byEarly: page) }
        }
        releaseParked(number)
        admitAgain(ifRefusedToCrawl: number, readsStatus: readsStatus)
        takeTurn(number)
        if records[Int(number)].state == .queued {
            hosts[Int(records[Int(number)].host)].queue.appendAtOnce(number)
        }
    }

    /// Requests an entry once more as a page requests it, if the server refused the request of the crawl: that lacked the
    /// header fields and cookies of the page's scripts. For a script that reads the status, this includes all errors: the
    /// answer is then stored for it.
    private mutating func admitAgain(ifRefusedToCrawl number: UInt32, readsStatus: Bool) {
        guard sharing == nil, case .status(let status)? = failure(of: number),
            readsStatus && Failure.status(status).isAnswerForScripts || Self.refusalStatuses.contains(status),
            records[Int(number)].flags.insert(.wasRequestedAgain).inserted
        else { return }
        setFailure(nil, of: number)
        admit(number, url(number))
    }

    /// Requests a stored page once more, because the crawl has cookies now that the page's scripts set. Returns whether it
    /// does. With a page limit, the order of pages is fixed, and a page has only one turn.
    private mutating func requestAgain(_ page: UInt32) -> Bool {
        guard sharing == nil, !order.isOn, records[Int(page)].state == .done,
            records[Int(page)].flags.insert(.wasRequestedAgain).inserted
        else { return false }
        records[Int(page)].state = .waiting
        admit(page, url(page))
        return records[Int(page)].state == .queued
    }

    /// The statuses with which servers refuse requests that lack a header field or a cookie.
    private static let refusalStatuses: Set<Int> = [400, 401, 403, 405, 406, 412, 415, 422]

    /// Whether the entry was skipped, or only looked like a link in a script, and now a page is known to need
    /// it.
    private func mayBeWanted(_ number: UInt32, isPage: Bool) -> Bool {
        let record = records[Int(number)]
        return record.state == .skipped && !isPage || record.flags.contains(.isGuess)
    }

    /// Handles a rendered page. Returns the assets that it requested and no scan had found, and its links,
    /// for the store.
    mutating func didRender(_ number: UInt32, _ rendered: Frontier.RenderResult) -> [Action] {
        var found = RenderScheduler.RenderYield()
        let isEarly = renderScheduler.isEarly(number)
        let firstNew = UInt32(records.count)
        var links = NewLinks(from: linkTarget(number))
        links.extendsStoredLinks = true
        for requested in rendered.requested.sorted() {
            let record = records[Int(requested)]
            guard let finder = rareStates[requested]?.firstRequester, record.role == .asset else { continue }
            let isHad = record.state == .done || record.state == .redirected
            // An asset that failed or is still loading is listed too, so that the next snapshot requests it.
            guard isHad || record.state != .skipped && !record.flags.contains(.isGuess) else { continue }
            links.assets.append(linkTarget(requested))
            if isHad, finder == number, !isEarly { found.assets += 1 }
        }
        order.isAddingSecondary = order.isOn
        defer { order.isAddingSecondary = false }
        for url in rendered.links.prefix(AssetBounds.maxAssetsPerDocument) where url.isHTTP {
            let count = records.count
            let page =
                records[Int(number)].flags.contains(.isNofollow)
                ? discoverUnfollowed(url.key, by: number)
                : discover(
                    url.key, role: .page, from: number, redirects: 0, nearestZone: zone(of: number))
            if state(page) != .skipped(.action) { links.pages.append(linkTarget(page)) }
            guard records.count > count, records[Int(page)].state != .skipped else { continue }
            if isEarly {
                renderScheduler.noteFound(page, byEarly: number)
            } else if mayBeOwnView(page, of: number) {
                renderScheduler.noteUndecided(page, by: number)
            } else {
                found.pages += 1
            }
        }
        if rendered.saysNotFound { markSoftNotFound(number) }
        if let print = rendered.print {
            compareText(of: number, print, newFrom: firstNew, saysNotFound: false)
        }
        // Only a browser sends such requests: a page of which none was rendered has nothing offline.
        found.responses = rendered.newPostCount
        var missing = rendered.missingEntries
        if rendered.wasReloaded, requestAgain(number) { missing.append(number) }
        renderScheduler.didRender(number, found, isWhole: rendered.isWhole, missing: missing)
        let own: [Action] = links.pages.isEmpty && links.assets.isEmpty ? [] : [.storeLinks(links)]
        let requests = rendered.requested.filter {
            records[Int($0)].state == .done && records[Int($0)].role == .asset
        }
        let known = requests.sorted().map { (number: $0, url: url($0)) }
        let noted = templates.note(url(number), requests: known.map(\.url))
        var trials: [Action] = []
        for template in noted.new where templates.canTry(noted.pattern) {
            let actions = tryTemplate(template, noted.pattern)
            if !actions.isEmpty { templates.noteTried(noted.pattern) }
            trials += actions
        }
        let continuations = series.note(known) ? continueAllLists() : []
        return own + trials + useTemplates(for: number) + continuations
    }

    /// Whether an entry waits because it may only show this page in another way, such as the link to share it.
    private func mayBeOwnView(_ entry: UInt32, of page: UInt32) -> Bool {
        records[Int(entry)].flags.contains(.isParked) && urls.numberWithoutQuery(of: entry) == page
            && !views.hasContent(url(entry))
    }

    /// Discovers the requests that continue the lists that are known so far.
    private mutating func continueAllLists() -> [Action] {
        var actions: [Action] = []
        for number in numbers
        where records[Int(number)].role == .asset && records[Int(number)].state == .done {
            actions += continueList(after: number)
        }
        return actions
    }

    /// Discovers, as guesses, the request that continues the list of which the response is a piece, and those for more about
    /// its elements.
    mutating func continueList(after number: UInt32) -> [Action] {
        guard !series.isEmpty else { return [] }
        let url = url(number)
        let next = series.next(after: number, url).map { [$0] } ?? []
        let new = (next + series.elementRequests(after: number, url)).map(\.key).filter {
            urls.find($0) == nil
        }
        return new.isEmpty ? [] : [.storeLinks(guess(new, by: number).1)]
    }

    /// Discovers what two other pages request by a template that one page has shown.
    private mutating func tryTemplate(_ template: PageTemplates.Template, _ pattern: String) -> [Action] {
        var actions: [Action] = []
        for number in numbers where isStoredPage(number) {
            let page = url(number)
            guard PagePattern.text(of: page) == pattern, let request = template.url(for: page)?.key,
                urls.find(request) == nil
            else { continue }
            let (guess, links) = guess([request], by: number)
            templates.noteTrial(guess[0], template, of: page, pattern: pattern)
            actions.append(.storeLinks(links))
            if actions.count == 2 { break }
        }
        return actions
    }

    private func isStoredPage(_ number: UInt32) -> Bool {
        records[Int(number)].role == .page && records[Int(number)].state == .done
    }

    /// Discovers requests of a page as guesses. Returns the entries, and the links for the store.
    private mutating func guess(_ requests: [WebURL], by number: UInt32) -> (entries: [UInt32], NewLinks) {
        var links = NewLinks(from: linkTarget(number))
        links.extendsStoredLinks = true
        var entries: [UInt32] = []
        for request in requests {
            let entry = discover(
                request, role: .asset, from: number, redirects: 0, flags: .isGuess,
                nearestZone: zone(of: number))
            entries.append(entry)
            links.guesses.append(linkTarget(entry))
        }
        return (entries, links)
    }

    /// Discovers the requests of pages that follow from the templates of their kind, as guesses: those of one page, or
    /// those of all pages after a template was confirmed. Returns the links for the store.
    mutating func useTemplates(for number: UInt32) -> [Action] {
        guard !templates.isEmpty else { return [] }
        let numbers = templates.takeHasNewTemplates() ? self.numbers : number..<number + 1
        var actions: [Action] = []
        for number in numbers where isStoredPage(number) {
            let requests = templates.requests(of: url(number)).map(\.key).filter { urls.find($0) == nil }
            if !requests.isEmpty { actions.append(.storeLinks(guess(requests, by: number).1)) }
        }
        return actions
    }
}
