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
        }
        return page.answer(to: fields, layout: layout)
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
