package import Bundles
package import Check
internal import Crawl
internal import Digest
public import Fetch
internal import Glibc
internal import Markup
package import Store
package import System
public import Web

/// Options for loading a URL.
public struct LoadOptions: Sendable {
    /// The options of the network.
    public var network = NetworkOptions()
    /// Cache rules that override response headers. They precede the rules of the URL's sites; see `larder
    /// help rules`.
    public var rules: [String] = []
    /// Called before a response is stored; can change it, or prevent that it is stored.
    public var willStore: WillStore?

    /// Creates options without rules.
    public init() {}
}

/// A response, and how it was obtained.
public struct LoadReport: Sendable, Equatable {
    /// How a response was obtained.
    public enum Source: String, Sendable, CaseIterable {
        /// A stored response. No request was made.
        case stored
        /// A stale stored response. Its server was not contacted, did not answer, or is being contacted in
        /// the background.
        case stale
        /// A stored response that its server confirmed.
        case confirmed
        /// A new response from the server.
        case loaded
    }

    /// The response, with the URL at the end of its redirects.
    public let response: WebResponse
    /// How the response was obtained.
    public let source: Source
    /// Why a loaded response was not stored; nil if it was.
    public package(set) var reasonNotStored: String?

    /// The body of the response.
    public var body: [UInt8] { response.body }
}

/// Loads one URL for an app, from the store or from its server. Blocks; belongs to one thread.
///
/// For each URL of a chain of redirects, `step` returns one response:
/// 1. If a manifest requires a digest of the URL, only a body with that digest counts: a stored one, else a loaded one.
/// 2. Otherwise the policy decides (`CachePolicy.action`): serve the stored response, validate it, load a new one, or fail.
///
/// Loaded responses are collected and stored only when the whole chain has succeeded, so that a failed load changes nothing.
package final class URLLoader {
    private let folder: StoreFolder
    private let policy: CachePolicy?
    private let options: LoadOptions
    private let ownRules: CacheRules
    private let interruption: Interruption
    /// The reader of the store; nil if there is no store yet.
    private let reader: StoreReader?
    /// The digests that manifests require.
    private let required: Requirements
    private var loop: FetchLoop?
    private var replacements = ReplacementCheck(.serving)
    /// The received responses, including redirects. They are stored at the end, if the load succeeds.
    private var receivedResponses: [ReceivedResponse] = []

    /// Whether new HTML documents are stored as pages of their site. Responses that apps load are assets.
    package var storesPages = false

    /// The zone that every request may connect to, whatever response names its URL.
    private var allowedZone = NetworkZone.publicNetwork

    /// The maximum number of redirects. A longer chain is an error.
    private static let maxRedirects = 20
    private static let profile = CacheProfile.private

    /// - Parameter policy: nil uses the policy of a rule, or `protocol` if there is none.
    package init(
        _ folder: StoreFolder, _ policy: CachePolicy?, _ options: LoadOptions, _ interruption: Interruption
    ) throws(LarderError) {
        self.folder = folder
        self.policy = policy
        self.options = options
        self.interruption = interruption
        ownRules = try CacheRules(texts: options.rules)
        required = try mapStoreError { () throws(StoreError) in try CurrentRequirements.all(in: folder) }
        reader = try mapStoreError { () throws(StoreError) -> StoreReader? in
            do throws(StoreError) {
                return try StoreReader(folder)
            } catch {
                guard error.reason == .missing else { throw error }
                return nil
            }
        }
    }

    /// - Parameters:
    ///   - bundle: the digests that the body must have, in place of those of a manifest.
    ///   - principal: the user who loads the URL.
    package func load(
        _ start: WebURL, requiring bundle: Bundle? = nil, by principal: Principal
    ) throws(LarderError) -> LoadReport {
        allowedZone = options.network.allowedZone(principal.nearestZone)
        if !principal.actsForLocalUser { replacements = ReplacementCheck(.serving, keepsPrivate: true) }
        return try load(start, requiring: bundle, max(allowedZone, principal.nearestZone))
    }

    private func load(
        _ start: WebURL, requiring bundle: Bundle? = nil, _ nearestZone: NetworkZone
    ) throws(LarderError) -> LoadReport {
        var (url, bundle, nearestZone) = (start, bundle, nearestZone)
        for _ in 0...Self.maxRedirects {
            // A digest that is required of a URL is required of the target of its redirects.
            bundle = bundle ?? required[url]
            let step = try step(url, bundle, nearestZone)
            guard let redirect = Redirect(step.status, step.fields, from: url) else {
                let response = WebResponse(url.href, step.status, step.fields, step.body)
                return LoadReport(
                    response: response, source: step.source, reasonNotStored: storeReceivedResponses())
            }
            guard let target = redirect.url, target.isHTTP else {
                throw LarderError(.machine, "\(url.href): a redirect without a usable Location")
            }
            (url, nearestZone) = (target, max(allowedZone, step.zone))
        }
        throw LarderError(.machine, "\(start.href): too many redirects")
    }

    /// Stores a response that the app provides, unless a manifest requires another digest.
    package func store(_ response: WebResponse, at url: WebURL) throws(LarderError) {
        if let mismatch = required[url]?.mismatch(of: response.body) {
            throw LarderError(
                .input, "\(url.href) does not match the manifest: \(mismatch); provide the required body")
        }
        let now = Self.now
        var received = ReceivedResponse(url: url, response: response, requested: now, responded: now)
        try mapStoreError { () throws(StoreError) in
            received.replaced = try reader?.response(for: url.href)
            try store(received, StoreWriter(folder))
        }
    }

    // MARK: - Deciding

    /// The response for one URL of the chain, and how it was obtained.
    private struct LoadStep {
        var status: Int
        var fields: HTTPFields
        var body: [UInt8]
        var source: LoadReport.Source
        /// The nearest network zone that its redirect targets may be in.
        var zone: NetworkZone

        init(_ answer: FetchedAnswer) {
            (status, fields, body) = (answer.head.status, answer.head.fields, answer.body)
            (source, zone) = (.loaded, answer.flags.zone)
        }

        init(_ copy: StoredCopy, _ entry: CacheEntry, _ hit: CacheHit) {
            (status, fields, body) = (entry.status, entry.servedFields(at: URLLoader.now), copy.bytes)
            zone = copy.response.flags.zone
            source =
                switch hit {
                case .fresh: .stored
                case .stale: .stale
                case .validated: .confirmed
                }
        }
    }

    /// Returns the response for one URL of the chain.
    ///
    /// - Parameter nearestZone: the nearest network zone that a request may connect to.
    private func step(
        _ url: WebURL, _ bundle: Bundle?, _ nearestZone: NetworkZone
    ) throws(LarderError) -> LoadStep {
        let rules = try rules(for: url)
        let policy = policy ?? rules.policy(for: url) ?? .protocol
        if let bundle {
            if let copy = try verifiedBundle(at: url, as: bundle, rules) { return copy }
            guard policy.allowsNetwork else { throw Self.notStoredError(url, " with the required content") }
            return try requestBundle(url, nearestZone, bundle)
        }
        let copy = try liveCopy(of: url, policy, rules)
        let entry = copy?.response.cacheEntry(profile: Self.profile, rules: rules)
        let action = policy.action(for: CacheRequest(url: url), entry: entry, now: Self.now)
        switch action {
        case .serve(let hit), .serveAndRefresh(let hit, _):
            guard let copy, let entry else { throw Self.notStoredError(url) }
            if case .serveAndRefresh = action { refresh(url, nearestZone) }
            return LoadStep(copy, entry, hit)
        case .validate(let fields):
            return try request(url, nearestZone, fields, policy, rules, copy, entry, isConditional: true)
        case .load(let fields):
            return try request(url, nearestZone, fields, policy, rules, copy, entry)
        case .miss:
            throw Self.notStoredError(url)
        }
    }

    private static func notStoredError(_ url: WebURL, _ how: String = "") -> LarderError {
        LarderError(
            .machine,
            "\(url.href) is not stored\(how), and the policy offline makes no requests: prefetch it, or choose another policy"
        )
    }

    /// Returns the rules for a URL: the app's own, then those of the sites that start on its host.
    private func rules(for url: WebURL) throws(LarderError) -> CacheRules {
        var rules = ownRules
        rules.inspection = .rejectingHTMLStandIns
        let sites = try mapStoreError { () throws(StoreError) in try reader?.siteSettings() ?? [] }
        for site in sites where site.start.contains(where: { WebURL($0)?.host == url.host }) {
            rules.rules += try CacheRules(texts: SitePlan(text: site.settings).rules).rules
        }
        return rules
    }

    /// Refreshes a response in the background, for the next request.
    private func refresh(_ url: WebURL, _ nearestZone: NetworkZone) {
        let (folder, options, allowedZone) = (folder, options, allowedZone)
        _ = try? NamedThread.start("larder-refresh") {
            guard let load = try? URLLoader(folder, .revalidate, options, Interruption()) else { return }
            load.allowedZone = allowedZone
            _ = try? load.load(url, nearestZone)
        }
    }

    // MARK: - Stored responses

    /// A stored response with its body.
    private struct StoredCopy {
        let response: StoredResponse
        let bytes: [UInt8]
    }

    /// Returns the stored body with the required digest, after computing its digest again; nil if there is
    /// none.
    private func verifiedBundle(at url: WebURL, as bundle: Bundle, _ rules: CacheRules) throws(LarderError)
        -> LoadStep?
    {
        guard let reader else { return nil }
        return try mapStoreError { () throws(StoreError) in
            let finder = try BundleFinder(reader, folder, provesBytes: true)
            guard let response = try finder.response(for: url, as: bundle) else { return nil }
            let content = try response.body.flatMap { (body) throws(StoreError) in
                try reader.content(of: body)
            }
            let entry = response.cacheEntry(profile: Self.profile, rules: rules)
            return LoadStep(StoredCopy(response: response, bytes: try content?.load() ?? []), entry, .fresh)
        }
    }

    /// Returns the live response with its body. A damaged body is marked, and counts as missing.
    private func liveCopy(of url: WebURL, _ policy: CachePolicy, _ rules: CacheRules) throws(LarderError)
        -> StoredCopy?
    {
        guard let reader else { return nil }
        return try mapStoreError { () throws(StoreError) in
            let found =
                policy.acceptsAnyAge
                ? try reader.lookUp(url, rules: rules)?.response : try reader.response(for: url.href)
            guard let found else { return nil }
            guard let body = found.body else { return StoredCopy(response: found, bytes: []) }
            if let content = try reader.content(of: body), try body.isIntact(content) {
                return StoredCopy(response: found, bytes: try content.load())
            }
            try ActivityDatabase.markDamagedIfWritable([body.sha256], in: folder)
            return nil
        }
    }

    // MARK: - Requests

    /// A response from a server, with its decoded body.
    fileprivate struct FetchedAnswer {
        let head: OriginResponse
        let body: [UInt8]
        let sentFields: HTTPFields
        let flags: ResponseFlags
        let ending: ResponseSummary.Ending
    }

    /// Loads a bundle. Only a body that verifies, and the redirects to it, replace stored responses.
    private func requestBundle(
        _ url: WebURL, _ nearestZone: NetworkZone, _ bundle: Bundle
    ) throws(LarderError) -> LoadStep {
        let answer = try exchange(url, nearestZone, [:]).get(asking: url)
        let stays = "the stored copy is unchanged"
        var received = ReceivedResponse(url, answer, answer.head.fields.storable(in: Self.profile))
        if Redirect(answer.head.status, answer.head.fields, from: url) == nil {
            guard (200..<300).contains(answer.head.status) else {
                throw LarderError(
                    .machine, "\(url.href): the server answered \(answer.head.status); \(stays)")
            }
            if let mismatch = bundle.mismatch(of: answer.body) {
                throw LarderError(
                    .machine, "\(url.href): the response is not the required bundle: \(mismatch); \(stays)")
            }
            received.bundle = bundle
        }
        receivedResponses.append(received)
        return LoadStep(answer)
    }

    /// Requests a URL, and returns the new response or the stored one, as the policy concludes from the answer.
    ///
    /// - Parameter fields: the header fields of the request, such as the conditions of a validation.
    private func request(
        _ url: WebURL, _ nearestZone: NetworkZone, _ fields: HTTPFields, _ policy: CachePolicy,
        _ rules: CacheRules,
        _ copy: StoredCopy?,
        _ entry: CacheEntry?, isConditional: Bool = false
    ) throws(LarderError) -> LoadStep {
        let outcome = try exchange(url, nearestZone, fields)
        let conclusion = policy.conclusion(
            of: outcome.cacheOutcome, for: CacheRequest(url: url), entry: entry,
            wasConditional: isConditional,
            profile: Self.profile, rules: rules, now: Self.now)
        switch conclusion.reply {
        case .stored(let entry, let hit):
            guard let copy else { break }
            if case .update(let updated) = conclusion.change, case .success(let answer) = outcome {
                var received = ReceivedResponse(url, answer, updated.fields)
                (received.replaced, received.isConfirmed) = (copy.response, true)
                receivedResponses.append(received)
            }
            return LoadStep(copy, entry, hit)
        case .loadAgain:
            return try request(url, nearestZone, [:], policy, rules, nil, nil)
        case .received, .gatewayTimeout: break
        }
        let answer = try outcome.get(asking: url)
        // 412: the server rejects the conditions, so the request is repeated without them.
        if answer.head.status == 412, isConditional {
            return try request(url, nearestZone, [:], policy, rules, nil, nil)
        }
        var received = ReceivedResponse(url, answer, answer.head.fields)
        if case .store(let entry, .allowed) = conclusion.change {
            received.response = WebResponse(url.href, entry.status, entry.fields, answer.body)
            received.refusal = refusal(of: answer, url, rules)
            if received.refusal == nil { received.refusal = try reasonToKeepStored(answer, url, over: copy) }
        } else {
            received.refusal =
                answer.head.status >= 500
                ? "its server could not answer; try again later" : "its server or a rule forbids storing it"
        }
        received.replaced = copy?.response
        receivedResponses.append(received)
        return LoadStep(answer)
    }

    /// Returns why rules or the inspection forbid storing a response that its server allows to be stored; nil
    /// if they do not.
    private func refusal(of answer: FetchedAnswer, _ url: WebURL, _ rules: CacheRules) -> String? {
        let subject = ResponseInspection.Subject(
            url: url, status: answer.head.status, fields: answer.head.fields,
            beginning: Array(answer.body.prefix(4096))
        )
        if let rule = rules.rejection(of: subject, byteCount: answer.body.count) {
            return Failure.rejectedByRule(rule.text).description
        }
        return rules.inspection.accepts(subject) ? nil : Failure.htmlInstead.description
    }

    /// Returns why the response does not replace the stored one, although its server and the rules allow
    /// storing it; nil if it does.
    private func reasonToKeepStored(
        _ answer: FetchedAnswer, _ url: WebURL, over copy: StoredCopy?
    ) throws(LarderError) -> String? {
        guard let copy, let stored = copy.response.replacementSummary else { return nil }
        let sha256 = try mapStoreError { () throws(StoreError) in
            try BodyContent.bytes(answer.body).measure().sha256
        }
        let new = ResponseSummary(
            url, status: answer.head.status, fields: answer.head.fields,
            digest: answer.body.isEmpty ? 0 : NewBody.fingerprint(of: sha256), byteCount: answer.body.count,
            ending: answer.ending)
        let comparison =
            ReplacementCheck.needsComparison(new, with: stored)
            ? BodyComparison(stored: copy.bytes.span, new: answer.body.span) : nil
        let verdict = replacements.judge(
            url, stored: stored, new: new, comparison: comparison, now: Self.now.secondsSinceEpoch)
        return verdict.rejected.map { "\($0.text); the stored copy is kept" }
    }

    /// Sends a request and waits for its response.
    private func exchange(
        _ url: WebURL, _ nearestZone: NetworkZone, _ fields: HTTPFields
    ) throws(LarderError) -> Result<FetchedAnswer, FetchFailure> {
        let start = Self.now
        let request = FetchRequest(number: 0, url: url, nearestZone: nearestZone, fields: fields)
        let fetch = try options.network.options(for: [url], spoolFolder: FetchOptions.forReading.spoolFolder)
        let result: FetchResult?
        do throws(FetchFailure) {
            let loop = try openLoop(fetch)
            result = try loop.result(of: request, interruption)
            try loop.saveCookies()
        } catch {
            throw LarderError(error, fetching: url)
        }
        guard let result else { throw .interrupted }
        switch result.outcome {
        case .failure(let failure): return .failure(failure)
        case .response(let response):
            defer { response.body.discard() }
            let body = try mapStoreError { () throws(StoreError) in try BodyContent(response.body).load() }
            return .success(FetchedAnswer(result, response, body, requested: start, responded: Self.now))
        }
    }

    /// The loop for requests, created for the first URL: only its origin receives credentials.
    private func openLoop(_ options: FetchOptions) throws(FetchFailure) -> FetchLoop {
        if let loop { return loop }
        let opened = try FetchLoop(options)
        loop = opened
        return opened
    }

    // MARK: - Storing

    /// A response to store.
    fileprivate struct ReceivedResponse {
        let url: WebURL
        var response: WebResponse
        let requested: HTTPDate
        let responded: HTTPDate
        var sentFields = HTTPFields()
        var flags: ResponseFlags = []
        /// The live response that it replaces.
        var replaced: StoredResponse?
        /// Whether the live response has the same body.
        var isConfirmed = false
        var bundle: Bundle?
        /// Why it is not stored; nil if it is.
        var refusal: String?
    }

    /// Stores the received responses. Returns why the last one was not stored; nil if it was, or if there is
    /// none.
    private func storeReceivedResponses() -> String? {
        guard !receivedResponses.isEmpty else { return nil }
        do throws(StoreError) {
            let writer = try StoreWriter(folder)
            var refusal: String?
            for received in receivedResponses {
                var received = received
                refusal = received.refusal ?? edit(&received)
                if refusal == nil { try store(received, writer) }
            }
            return refusal
        } catch {
            return error.description
        }
    }

    /// Calls `willStore`, and compares the result with required digests. Returns why the response is not
    /// stored; nil if it is.
    private func edit(_ received: inout ReceivedResponse) -> String? {
        if let willStore = options.willStore, !received.isConfirmed {
            guard let edited = willStore(received.response) else { return Failure.declinedByApp.description }
            let wasEdited = edited.body != received.response.body
            received.response = edited
            if wasEdited, let mismatch = received.bundle?.mismatch(of: edited.body) {
                return Failure.digestMismatch("\(mismatch), after willStore edited it").description
            }
        }
        guard !received.isConfirmed, (200..<300).contains(received.response.status) else { return nil }
        return required[received.url]?.mismatch(of: received.response.body).map {
            "it does not match the manifest: \($0)"
        }
    }

    private func store(_ received: ReceivedResponse, _ writer: StoreWriter) throws(StoreError) {
        var fields = received.response.storedFields(now: received.responded)
        // Cookies belong to one client.
        fields.remove("Set-Cookie")
        let body: NewResponse.Body
        if received.isConfirmed {
            body = received.replaced?.body.map { .stored($0) } ?? .none
        } else if received.response.body.isEmpty, received.response.status >= 300 {
            body = .none
        } else {
            body = .new(try NewBody(scanning: received.response.body, fields, received.url, in: folder))
        }
        var new = NewResponse(
            href: received.url.href, referrer: nil, status: received.response.status,
            role: role(of: received, fields),
            fields: fields.block, fetched: received.responded.secondsSinceEpoch, body: body)
        new.requested = received.requested.secondsSinceEpoch
        new.type = fields.contentType?.essence
        new.variant =
            VaryKey(
                decoded: fields, request: received.sentFields,
                secrets: folder.secretHasher(createsKey: true))?.text ?? VaryKey.never
        new.flags = received.flags
        if received.isConfirmed, let copy = received.replaced {
            new.flags.formUnion(
                copy.flags.intersection(.bodyFlags).subtracting([.isPrivate, .hadOriginHeader]))
        }
        try writer.addToOverlay(
            new, replacing: received.replaced, origin: received.url.origin, host: received.url.host,
            now: received.responded.secondsSinceEpoch)
    }

    /// The role of a response: that of the stored one that it replaces. A new one is an asset, unless it is stored as a page.
    private func role(of received: ReceivedResponse, _ fields: HTTPFields) -> UInt8 {
        let isDocument = ["text/html", "application/xhtml+xml"].contains(fields.contentType?.essence)
        return received.replaced?.role ?? (storesPages && isDocument ? 0 : 1)
    }

    private static var now: HTTPDate { HTTPDate(secondsSinceEpoch: SystemClock.secondsSinceEpoch()) }
}

extension URLLoader.FetchedAnswer {
    fileprivate init(
        _ result: FetchResult, _ response: FetchedResponse, _ body: [UInt8], requested: HTTPDate,
        responded: HTTPDate
    ) {
        var fields = response.fields
        // Content-Length was the length of the encoded body.
        if fields.contains("Content-Encoding") { fields.remove("Content-Length") }
        fields.remove("Content-Encoding")
        head = OriginResponse(
            status: response.status, fields: fields, requestTime: requested, responseTime: responded)
        self.body = body
        sentFields = result.sentFields
        flags = result.exchange.map(ResponseFlags.init) ?? []
        ending = response.ending
    }
}

extension URLLoader.ReceivedResponse {
    fileprivate init(_ url: WebURL, _ answer: URLLoader.FetchedAnswer, _ fields: HTTPFields) {
        self.url = url
        response = WebResponse(url.href, answer.head.status, fields, answer.body)
        (requested, responded) = (answer.head.requestTime, answer.head.responseTime)
        (sentFields, flags) = (answer.sentFields, answer.flags)
    }
}

extension Result<URLLoader.FetchedAnswer, FetchFailure> {
    fileprivate func get(asking url: WebURL) throws(LarderError) -> URLLoader.FetchedAnswer {
        do throws(FetchFailure) {
            return try get()
        } catch {
            throw LarderError(error, fetching: url)
        }
    }

    fileprivate var cacheOutcome: CacheOutcome {
        switch self {
        case .success(let answer): .answered(answer.head)
        case .failure: .unreachable
        }
    }
}

extension NewBody {
    /// Creates a body with its links, so that it is served and checked like the body of a prefetch.
    fileprivate init(
        scanning bytes: [UInt8], _ fields: HTTPFields, _ url: WebURL, in folder: StoreFolder
    ) throws(StoreError) {
        let type = fields.contentType
        let format =
            bytes.count > Self.maxScannedBytes
            ? .opaque : BodyFormat(mediaType: type, url: url, body: bytes.span)
        let table = LinkScanner().scan(bytes.span, as: format, charset: type?.charset) { _, _ in }
        try self.init(
            .bytes(bytes), form: "\(format.name);\(table.encoding.name)", title: table.title,
            links: table.encoded(),
            in: folder)
    }

    /// The maximum size of a body that is scanned for links. A larger one is stored without links.
    private static let maxScannedBytes = 64 * 1024 * 1024
}

extension Bundle {
    /// Returns how the body differs from the required digest; nil if it matches.
    fileprivate func mismatch(of body: [UInt8]) -> Mismatch? {
        if case .mismatch(let mismatch) = BundleMeter.verdict(on: self, bytes: body) { mismatch } else { nil }
    }
}
