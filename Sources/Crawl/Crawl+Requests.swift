internal import Bundles
internal import Fetch
internal import Store
internal import Web

extension Crawl {
    /// Numbers of robots.txt files: those of hosts, with this bit.
    static let robotsBit: UInt32 = 1 << 31
    /// Numbers of probes: those of hosts, with this bit.
    static let probeBit: UInt32 = 1 << 30
    /// Numbers of pages that are asked for once more: those of hosts, with this bit.
    static let witnessBit: UInt32 = 1 << 29

    func start(_ task: Frontier.Task) throws(CrawlError) {
        switch task {
        case .fetch(let number): try start(number)
        case .robots(let host, let url, let reach): ask(UInt32(host) | Self.robotsBit, url, reach)
        case .probe(let host, let url, let reach): ask(UInt32(host) | Self.probeBit, url, reach)
        case .witness(let host, let url, let reach): ask(UInt32(host) | Self.witnessBit, url, reach)
        }
    }

    /// Fetches what is due, unless it is held and need not be.
    private func start(_ number: UInt32) throws(CrawlError) {
        let url = frontier.url(number)
        if let rule = plan.rules.storageBan(for: url, nil) {
            frontier.recalled(number)
            return frontier.drop(number, for: .unstored(rule.text))
        }
        let isCORS = frontier.isCORS(number)
        let answer = try storing { () throws(StoreError) in
            try recall?.answer(
                for: url, requiring: required[url], origin: frontier.origin(askingFor: number), isCORS: isCORS,
                now: Self.httpNow())
        }
        switch answer {
        case nil:
            fetch(number, url, HTTPFields().naming(origin: isCORS ? frontier.origin(askingFor: number) : nil))
        case .load(let fields)?:
            fetch(number, url, fields)
        case .validate(let held, let fields)?:
            asked[number] = held
            // What is there of a newer version is gone on with: its own conditions tell whether it still fits.
            if let part = partials.take(url.href) {
                fetch(
                    number, url, HTTPFields().naming(origin: fields["Origin"]), resume: PartialBody(part))
            } else {
                fetch(number, url, fields)
            }
        case .done(let held)?:
            try recalled(number, url, held)
        case .reuse(let held)?:
            if try recalled(number, url, held) { try keep(number, held, fields: held.fields, fetched: held.fetched) }
        }
    }

    /// What is required of an address is required of what it leads to.
    func passOn(_ url: WebURL, to target: WebURL?) {
        if let target, let bundle = required[url], required[target] == nil { required.require(bundle, at: target) }
    }

    func fetch(_ number: UInt32, _ url: WebURL, _ fields: HTTPFields = HTTPFields(), resume: PartialBody? = nil) {
        var request = FetchRequest(number: number, url: url, fields: fields)
        // To where it is redirected too.
        if fields.contains("Origin") { frontier.becomeCORS(number) }
        request.referrer = frontier.referrer(of: number)
        request.reach = plan.mayReachPrivate ? .thisMachine : frontier.mayReach(number)
        // What is asked for by conditions is held whole.
        request.resume = resume ?? (asked[number] == nil ? partials.take(url.href).map(PartialBody.init) : nil)
        if let part = request.resume { resumed[number] = part.byteCount }
        loop.start(request)
    }

    /// For what is no entry.
    func ask(_ number: UInt32, _ url: WebURL, _ reach: Reach) {
        var request = FetchRequest(number: number, url: url)
        request.reach = plan.mayReachPrivate ? .thisMachine : reach
        loop.start(request)
    }

    /// Goes on from what is held without asking for it. False for what is not to be kept, and for a redirect that leads
    /// nowhere.
    @discardableResult
    private func recalled(_ number: UInt32, _ url: WebURL, _ held: StoredResponse) throws(CrawlError) -> Bool {
        frontier.came(number, from: held.flags.reach)
        if let redirect = Redirect(held.status, HTTPFields(block: held.fields.utf8.span), from: url) {
            passOn(url, to: redirect.url)
            return frontier.redirected(number, to: redirect.url, isRecalled: true)
        }
        frontier.recalled(number)
        return try follow(number, held)
    }

    /// The links of what is held, out of their lists: its body is looked into only where there are none. False when it is
    /// not to be kept.
    @discardableResult
    func follow(_ number: UInt32, _ held: StoredResponse, mayLeaveOut: Bool = true) throws(CrawlError) -> Bool {
        guard let recall else { return true }
        let isLeftOut =
            mayLeaveOut && plan.sitePlan.manners.noindex == .obey && held.flags.contains(.saysNoindex)
            && frontier.mayBeLeftOut(number)
        if held.flags.contains(.isSoftNotFound) { frontier.knowAsMissing(number) }
        frontier.came(number, as: held.body?.format)
        // Lists do not tell which of a sitemap's links is another sitemap, nor which link is marked.
        guard frontier.role(of: number) != .guide, plan.sitePlan.manners.nofollow != .links else {
            scan(number, frontier.url(number), .held(held))
            return !isLeftOut
        }
        let isLeft = plan.sitePlan.manners.nofollow == .pages && held.flags.contains(.saysNofollow)
        let isListed = try storing { () throws(StoreError) in
            try recall.eachLink(of: held) { heard, kind in
                if kind.role == .page ? isLeft : isLeftOut { return }
                frontier.foundAgain(heard, by: number, role: kind.role, isGuess: kind == .guess)
            } new: { link in
                var link = link
                link.isNofollow = isLeft && link.role == .page
                return isLeftOut && link.role != .page ? nil : frontier.found(link, by: number)
            }
        }
        if !isListed {
            scan(number, frontier.url(number), .held(held))
        } else if isLeftOut {
            frontier.leaveOut(number)
        }
        return !isLeftOut
    }

    /// Keeps in this visit what an earlier one has; `flags` are those of the request that confirmed it.
    func keep(
        _ number: UInt32, _ held: StoredResponse, fields: String, fetched: Int64, flags: ResponseFlags = []
    ) throws(CrawlError) {
        var new = NewResponse(
            href: held.href, referrer: frontier.referrer(of: number)?.href, status: held.status,
            role: frontier.role(of: number).rawValue, fields: fields, fetched: fetched,
            body: held.body.map(NewResponse.Body.held) ?? .none)
        new.number = number
        new.variant = held.variant
        new.type = held.type
        new.flags = ResponseFlags(frontier.reach(of: number)).union(held.flags.intersection(.ofBody)).union(flags)
        try storing { () throws(StoreError) in try writes.addWithoutWaiting(new) }
    }
}
