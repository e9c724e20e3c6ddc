internal import Bundles
internal import Fetch
internal import Store
internal import Web

/// The state of a running request of an entry, which the handling of its result needs.
struct OpenRequest {
    /// The stored copy that the request validates; nil if it is not conditional.
    var validatedCopy: CacheLookup.StoredCopy?
    /// The stored response of the URL, which is being refetched. `ReplacementGuard` compares the new response with it.
    var storedBefore: StoredResponse?
    /// The response with cookies, if this request is sent without them for comparison.
    var responseWithCookies: FetchResult?
    /// The size in bytes of the partial body that the request resumes.
    var resumedByteCount: Int?
    /// Whether a dictionary may be offered: not after a body that was made with one did not verify.
    var mayOfferDictionary = true

    /// The state of a request that repeats this one without conditions.
    var withoutConditions: OpenRequest {
        OpenRequest(storedBefore: storedBefore, mayOfferDictionary: mayOfferDictionary)
    }
}

/// The requests of the crawl.
extension Crawl {
    /// Repeats the header fields that a page's script added to the request for the stored response, if no
    /// page of this run has set its own. Fields that the user sets for this host are left to the user.
    func repeatFields(of stored: StoredResponse?, _ number: UInt32) {
        guard let stored, !stored.variant.isEmpty, scriptFields[number] == nil else { return }
        let own = plan.fetch.hostFields.fields(for: frontier.url(number))
        let fields = stored.scriptFields.list.filter { !own.contains($0.name) }
        if !fields.isEmpty { scriptFields[number] = HTTPFields(fields) }
    }

    /// Applies the required digest of a URL, and the signatures that a page demands, to the target of its redirect.
    func propagateDigest(from url: WebURL, to target: WebURL?) {
        guard let target else { return }
        if let bundle = required[url], required[target] == nil { required.require(bundle, at: target) }
        signatureRequests.add(from: url, to: target)
    }

    /// Requests an entry.
    ///
    /// - Parameters:
    ///   - open: the state that the handling of the result needs.
    ///   - isAnonymous: whether no cookies are sent; nil to let `CookieTraces` decide.
    ///   - sendsReferrer: whether to send a `Referer`, also if `ReferrerHosts` does not know that the host needs it.
    func sendRequest(
        _ number: UInt32, _ url: WebURL, _ fields: HTTPFields, _ open: OpenRequest = OpenRequest(),
        resume: PartialBody? = nil, isAnonymous: Bool? = nil, sendsReferrer: Bool = false
    ) throws(CrawlError) {
        openRequests[number] = open
        let supplied = try storing { () throws(StoreError) in try plan.supplied?.result(number, url) }
        if let supplied { return try didFetch(supplied) }
        if let mediaCommand {
            if let file = mediaCommand.fileResult(number, url) { return try didFetch(file) }
            if mediaCommand.handles(url) { return mediaCommand.start(number, url) }
        }
        var request = FetchRequest(
            number: number, url: url, nearestZone: max(plan.allowedZone, frontier.nearestZone(number)),
            fields: fields)
        if let said = scriptFields[number] {
            for field in said.list where !request.fields.contains(field.name) {
                request.fields.append(field.name, field.value)
            }
        }
        if !request.fields.contains("Accept-Signature"),
            let wanted = required[url]?.acceptSignature
                ?? signatureRequests.value(for: url, open.storedBefore)
        {
            request.fields.append("Accept-Signature", wanted)
        }
        // Servers of single-page apps send the app to clients that accept HTML, and 404 to others; some
        // servers send JSON to these.
        if frontier.role(of: number) == .page, !request.fields.contains("Accept"),
            !plan.fetch.hostFields.fields(for: url).contains("Accept")
        {
            request.fields.append("Accept", Self.acceptOfPages)
        }
        request.cookies = rendering?.cookies[number] ?? []
        if plan.hasOnlyOwnCookies, request.cookies.isEmpty, frontier.role(of: number) == .page {
            request.isAnonymous = isAnonymous ?? cookieTraces.noteRequest(number, url)
        }
        // The redirect target is requested by CORS, too.
        if request.fields.contains("Origin") { try apply(.requestedWithCORS(number)) }
        if sendsReferrer || plan.sendsReferrer || referrerHosts.needReferrer(url) {
            request.referrer = frontier.referrer(of: number)
        }
        // A conditional request has the whole body in the store, so there is nothing to resume.
        request.resume =
            resume ?? (open.validatedCopy == nil ? partials.remove(url.href).map(PartialBody.init) : nil)
        openRequests[number]?.resumedByteCount = request.resume?.byteCount
        if request.resume == nil, !request.isAnonymous, open.mayOfferDictionary {
            try offerDictionary(in: &request)
        }
        loop.start(request)
    }

    /// The value that browsers send.
    private static let acceptOfPages = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

    /// Sends a request that belongs to no entry.
    func request(_ purpose: RequestPurpose, _ url: WebURL, _ nearestZone: NetworkZone) {
        var request = FetchRequest(
            number: purpose.number, url: url, nearestZone: max(plan.allowedZone, nearestZone))
        request.maxBytes = purpose.maxBytes
        loop.start(request)
    }
}
