internal import Store
internal import Web

extension MirrorResponder {
    /// Notes what is not held, and says so.
    func miss(
        _ address: String, _ request: Request, _ fields: HTTPFields, _ look: Look
    ) throws(StoreError) -> Answer {
        let url = WebURL(address)?.href ?? address
        let referrer =
            try fields["Referer"].flatMap { WebURL($0) }.map { (local) throws(StoreError) in
                try original(of: local, look.reader)
            } ?? nil
        let layout = layout(for: request)
        let asker = Asker(fields, authority: request.authority, layout: layout)
        // What an earlier visit lacks no later one brings.
        let isNoted = asker.mayHaveAsked && layout.visit == nil
        if isNoted {
            context.notes?.missed(
                url, method: request.head.method == .other ? request.method : "GET", referrer: referrer,
                isPage: fields.isNavigation, from: try reach(of: asker, look.reader),
                origin: fields.contains("Origin") && !asker.isOpaque ? asker.origins.first : nil, at: look.time)
        }
        var page = MissPage(url: url, isNoted: context.notes != nil && isNoted)
        if fields.isNavigation {
            page.visit = layout.visit
            page.present = WebURL(url).flatMap(context.layout.address)
            page.site = try rules(look).site(bringing: url, askedBy: referrer, isPage: true)
            page.referrers = try look.reader.fewReferrers(of: url)
            if let referrer, !page.referrers.contains(referrer) { page.referrers.insert(referrer, at: 0) }
            page.neighbours = try neighbours(of: url, look.reader)
        }
        return page.answer(isNavigation: fields.isNavigation, layout: layout)
    }

    /// Where an asker's own answers came from, which is as far as it may lead: whoever fetches what it names, and whenever.
    func reach(of asker: Asker, _ reader: StoreReader) throws(StoreError) -> ResponseFlags {
        switch asker.kind {
        case .person, .portal: return .fromThisMachine
        case .led, .outside: return []
        case .page(let origins):
            for origin in origins {
                if let flags = try reader.leastReach(ofOrigin: origin) { return flags }
            }
            return []
        }
    }

    /// The original URL that one of the larder's addresses shows; nil for one that it does not hold.
    func original(of local: WebURL, _ reader: StoreReader) throws(StoreError) -> String? {
        for address in context.names.originals(of: local) {
            guard let url = WebURL(address) else { continue }
            if try reader.response(for: url.href) != nil { return url.href }
        }
        return nil
    }

    /// In the same folder, else on the same origin.
    private func neighbours(of url: String, _ reader: StoreReader) throws(StoreError) -> [String] {
        guard let slash = url.lastIndex(of: "/"), let origin = WebURL(url)?.origin else { return [] }
        let close = try reader.neighbours(of: url, below: String(url[...slash]), count: 4)
        return try close.isEmpty ? reader.neighbours(of: url, below: origin + "/", count: 4) : close
    }
}
