internal import HTTPServer
internal import Origins
internal import Store
internal import Web

/// The exchange for a CORS preflight: a browser asks whether a page of another origin may send a request.
///
/// If the origin of the URL may be asked, there is no reply here, and the exchange handles the request like any other.
/// Otherwise the stored response decides.
struct PreflightExchange {
    private let exchange: MirrorExchange
    /// The method of the request that the page wants to send.
    private let method: String

    private var context: MirrorContext { exchange.context }
    private var layout: OriginLayout { exchange.layout }

    /// Nil if the request is no preflight.
    init?(_ exchange: MirrorExchange) {
        guard exchange.request.origin != nil,
            let method = exchange.fields["Access-Control-Request-Method"]
        else { return nil }
        self.exchange = exchange
        self.method = method
    }

    /// The reply; nil if the exchange handles the request like any other.
    func reply() throws(StoreError) -> Reply? {
        if exchange.isRefusedBeforeLookup {
            return Reply(answer: .refusal(to: exchange.requestContext))
        }
        if context.canHaveEarlierState(exchange.request), let ending = exchange.endEarlierState() {
            return ending
        }
        let addresses: [String]
        let snapshot: Int64?
        switch try exchange.requestTarget() {
        case .stored(let urls): (addresses, snapshot) = (urls, nil)
        case .inSnapshot(let past, let urls): (addresses, snapshot) = (urls, past)
        case .portal, .portalRedirect, .shim, .originName, .redirectToStored, .moved, .unknownOrigin,
            .refused:
            return nil
        }
        guard !addresses.isEmpty, let url = WebURL(try exchange.likeliestURL(addresses)) else { return nil }
        if snapshot == nil, try mayAskOrigin(of: url) { return nil }
        guard let copy = try storedResponse(for: addresses, in: snapshot) else {
            // The browser does not send the request itself after a failed preflight, so that its miss is recorded here.
            if method == "GET" { _ = try exchange.misses.answer(to: url.href) }
            return exchange.reply(
                exchange.plain(504, "Not stored: \(url.href)", sharing: Sharing(missing: url)))
        }
        var answered = layout.commonFields + [("Access-Control-Allow-Methods", method)]
        if let names = exchange.fields.joinedValues("Access-Control-Request-Headers") {
            answered.append(("Access-Control-Allow-Headers", names))
        }
        return exchange.reply(Answer(status: 204, fields: answered, body: [], sharing: copy.sharing))
    }

    private func mayAskOrigin(of url: WebURL) throws(StoreError) -> Bool {
        guard let loader = context.loader else { return false }
        return try exchange.networkRights.policy(at: url, loader).allowsNetwork
            && !loader.reachability.isSilent(url.origin, now: loader.now)
    }

    /// The stored response that decides.
    ///
    /// - Parameter snapshot: the earlier snapshot that the address names; nil for the live one.
    private func storedResponse(
        for addresses: [String], in snapshot: Int64?
    ) throws(StoreError) -> FoundResponse? {
        let reader = try exchange.view().reader
        let finder = ResponseFinder(
            reader: reader, fields: AnswerFields(layout: layout), context: exchange.requestContext)
        func findResponse() throws(StoreError) -> FoundResponse? {
            try finder.find(
                addresses, request: .get, requestFields: exchange.originalFields, rules: try exchange.rules())
        }
        guard let snapshot else { return try findResponse() }
        return try reader.isComplete(snapshot: snapshot) ? try reader.asOf(snapshot, findResponse) : nil
    }
}
