internal import HTTPServer
internal import Origins
internal import Portal
internal import Store
internal import Web

/// The part of an exchange that handles a URL without a stored response. It records a miss, so that the next prefetch fetches
/// the URL, and answers with a `MissPage`.
struct MissExchange {
    private let exchange: MirrorExchange

    private var context: MirrorContext { exchange.context }
    private var layout: OriginLayout { exchange.layout }
    private var request: Request { exchange.request }
    private var fields: HTTPFields { exchange.fields }
    private var requestContext: RequestContext { exchange.requestContext }

    init(_ exchange: MirrorExchange) { self.exchange = exchange }

    /// Records a miss and answers it.
    func answer(to address: String) throws(StoreError) -> Answer {
        let url = WebURL(address)?.href ?? address
        let view = try exchange.view()
        let referrer = try exchange.referrer()
        let isRecorded = try record(url)
        exchange.hasMissed = true
        exchange.responder.counts.increase(.misses)
        if context.layout.isTransparent {
            return .explanation(
                504, "\(url) is not stored, and was not requested from the network.\n", to: fields,
                fields: [("Larder", "miss"), ("Cache-Control", "no-store")])
        }
        var page = MissPage(url: url, isNoted: context.notes != nil && isRecorded)
        if fields.isNavigation {
            page.language =
                context.services?.bar.language
                ?? PortalLanguage(accepting: fields.joinedValues("Accept-Language"))
            page.snapshot = layout.snapshot
            page.hasOrders = context.services?.accessGuard.acceptsCommands ?? false
            if layout.snapshot != nil { page.present = try addressInLiveSnapshot(of: url) }
        }
        // Other machines see only one site of the store.
        if fields.isNavigation, !layout.sharesOrigin {
            page.site = try exchange.rules().site(fetching: url, requestedBy: referrer, isPage: true)
            page.referrers = try view.reader.sampleReferrers(of: url)
            if let referrer, !page.referrers.contains(referrer) { page.referrers.insert(referrer, at: 0) }
            page.now = view.time
            let isHidden = try view.reader.hidesPrivate ? !view.reader.canReveal(url) : false
            if !isHidden {
                let sites = try view.reader.sites()
                page.failure = LastFailure(of: url, in: sites)
                if let isExcluded = context.isExcluded, let missed = WebURL(url),
                    let site = sites.first(where: { $0.name == page.site }), isExcluded(missed, site, true)
                {
                    page.excludingSite = (site.name, site.id)
                }
            }
            page.neighbours = try neighbours(of: url, view.reader)
            page.removedSite = context.services?.jobRunner.removedSite(
                of: url, hidesPrivate: context.layout.isExposed)
            if let missed = WebURL(url), let search = try FormSearch.find(missed, from: referrer, view.reader)
            {
                page.search = search
                if isInOwnWindow { exchange.searchableMiss = page }
            }
        }
        return page.answer(to: fields, layout: layout)
    }

    /// Whether the answer is shown in a window that no page outside the mirror has opened, since other pages must not
    /// cause searches.
    private var isInOwnWindow: Bool {
        fields.fetchDestination ?? "document" == "document" && !requestContext.isForeignWindow
    }

    /// Searches the stored pages of the site for the words that a form sent to it, on another thread, since that may take
    /// long. The reply comes later.
    ///
    /// - Parameters:
    ///   - miss: the page to complete.
    ///   - plain: the reply without results.
    /// - Returns: the reply without results if the search cannot be made; nil if the reply comes later.
    func search(
        for miss: MissPage, _ plain: Reply, orDefer later: DeferredReply
    ) throws(StoreError) -> Reply? {
        guard let searches = context.searches, plain.answer.status == 504, let search = miss.search else {
            return plain
        }
        // The site of the page with the form: several sites may start on the host, and forms often lead to another host.
        let (referrer, rules) = (try exchange.referrer(), try exchange.rules())
        let siteOfPage = referrer.flatMap { rules.site(fetching: $0, requestedBy: nil, isPage: true) }
        guard let site = siteOfPage ?? miss.site else { return plain }
        let (fields, layout, snapshot) = (fields, layout, layout.snapshot)
        let slot = later.makeSlot()
        let isQueued = searches.add(
            request.targetText,
            { (portal, reader) throws(StoreError) in
                var page = miss
                page.results = try SiteSearchResults(
                    for: search.words, site: site, snapshot: snapshot, portal, reader)
                return page.answer(to: fields, layout: layout)
            },
            { found in
                // The search may also have failed, or ended with the server.
                guard case .success(let answer) = found, answer.status == plain.answer.status else {
                    return slot.send(plain)
                }
                slot.send(
                    Reply(
                        answer: answer, clientFields: plain.clientFields, role: plain.role,
                        source: plain.source))
            })
        if !isQueued { slot.send(plain) }
        return nil
    }

    /// The address of a URL in the live snapshot; nil if the live snapshot has no page or file for it.
    private func addressInLiveSnapshot(of url: String) throws(StoreError) -> String? {
        let (view, rules) = (try exchange.view(), try exchange.rules())
        let live = try view.reader.asOf(nil) { () throws(StoreError) in
            try exchange.finder(view).find(
                [url], request: .get, requestFields: exchange.originalFields, rules: rules)
        }
        guard let live, live.response.status < 400 else { return nil }
        return WebURL(url).flatMap(context.layout.address)
    }

    /// Records a miss, unless the requester may not cause a request. Returns whether it did.
    @discardableResult
    func record(_ url: String) throws(StoreError) -> Bool {
        let view = try exchange.view()
        let referrer = try exchange.referrer()
        // A miss in an earlier snapshot is not recorded, since a later run cannot fill it. An update requests
        // recorded URLs with the user's credentials, so that misses of other machines are recorded only for the
        // site at the root.
        let isRecorded =
            requestContext.canCauseRequests && layout.snapshot == nil
            && (!layout.sharesOrigin || WebURL(url).map(layout.isPublished) ?? false)
        if isRecorded {
            let zone = try exchange.networkRights.nearestZone(to: WebURL(url))
            context.notes?.addMiss(
                url, method: request.head.method == .other ? request.method : "GET", referrer: referrer,
                isPage: fields.isNavigation, from: ResponseFlags(zone: zone),
                origin: fields.contains("Origin") && !requestContext.hasOpaqueOrigin
                    ? requestContext.origins.first : nil,
                at: view.time)
        }
        return isRecorded
    }

    /// Stored URLs in the same folder, else on the same origin.
    private func neighbours(of url: String, _ reader: StoreReader) throws(StoreError) -> [String] {
        guard let slash = url.lastIndex(of: "/"), let origin = WebURL(url)?.origin else { return [] }
        let close = try reader.neighbours(of: url, below: String(url[...slash]), count: 4)
        return try close.isEmpty ? reader.neighbours(of: url, below: origin + "/", count: 4) : close
    }
}
