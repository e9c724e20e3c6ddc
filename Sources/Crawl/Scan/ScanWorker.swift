internal import Bundles
internal import Digest
internal import Fetch
internal import Markup
internal import Store
internal import System
internal import Web

/// Scans and stores responses: checks them against rules and digests, finds their links, and passes them to
/// the write queue.
///
/// Each worker belongs to one thread of the `ScanPool`, and has a link scanner and a store reader of its own. Two paths
/// lead through it: `processFetched` for a response from the network, which may be rejected, and `processStored` for one
/// that the store already has, of which only the links are needed.
final class ScanWorker {
    private let scanner = LinkScanner()
    private var references: ReferenceList
    /// The maximum number of links of each role that are followed from one document.
    private let maxLinks: Int
    private let folder: StoreFolder
    private let secrets: SecretHasher
    /// Opened by `openReader()`.
    private var reader: StoreReader?
    private let writes: WriteQueue
    private let rules: CacheRules
    private let directivePolicy: DirectivePolicy
    /// The frontier's numbers of URLs that were linked before; nil to pass all links on as URLs.
    private let linkNumbers: LinkNumberCache?
    /// The name of the crawler in directives to crawlers; empty if it has none.
    private let productToken: String
    /// Whether links that may change something are looked for, because requests have the user's session.
    private let findsActions: Bool
    /// Which renditions of videos and sounds are followed.
    private let media: MediaChoice
    /// The app's hook, which may edit or reject a response before it is stored; nil if there is none.
    private let willStore: WillStore?
    /// The fixed time for the scripts of steady documents (`SteadyTime`), in seconds since 1970; nil if
    /// documents are not steady.
    private let steadySince: Int64?
    /// Nil if every response replaces the stored one.
    private let replacements: ReplacementGuard?

    init(
        _ folder: StoreFolder, writes: WriteQueue, rules: CacheRules, directivePolicy: DirectivePolicy,
        memory linkNumbers: LinkNumberCache?, productToken: String?, findsActions: Bool,
        media: MediaChoice, willStore: WillStore?,
        steadySince: Int64?,
        maxLinks: Int, replacements: ReplacementGuard? = nil
    ) {
        self.folder = folder
        self.replacements = replacements
        secrets = folder.secretHasher(createsKey: true)
        self.writes = writes
        self.rules = rules
        self.directivePolicy = directivePolicy
        self.linkNumbers = linkNumbers
        self.productToken = productToken ?? ""
        self.findsActions = findsActions
        self.media = media
        self.willStore = willStore
        self.steadySince = steadySince
        self.maxLinks = maxLinks
        references = ReferenceList(maxLinks: maxLinks, leavesMedia: media == .none)
    }

    /// Scans and stores one response. An error of the store is returned in `ScanResult.storeError`.
    func run(_ job: ScanJob) -> ScanResult {
        var result = ScanResult(number: job.number, byteCount: job.byteCount)
        if case .stored = job.source { result.isReused = true }
        do throws(StoreError) {
            switch job.source {
            case .fetched(let response): try processFetched(response, of: job, into: &result)
            case .stored(let response): try processStored(response, of: job, into: &result)
            }
        } catch {
            result.storeError = error
        }
        return result
    }

    /// Scans a response from the network and stores it, unless one of these checks rejects it, in this order: the
    /// inspection rules, the storage rules, the required digest, the app (`willStore`), the page's `noindex`, the
    /// login-page and challenge detection, and the comparison with the stored response.
    private func processFetched(
        _ response: FetchedResponse, of job: ScanJob, into result: inout ScanResult
    ) throws(StoreError) {
        if let refusal = try refusal(of: response, job) {
            response.body.discard()
            result.refusal = refusal
            return
        }
        if job.role != .guide, let rule = rules.storageBan(for: job.url, response.fields.contentType) {
            response.body.discard()
            result.storageBan = rule.text
            return
        }
        var measured: Measurement.Body?
        if let bundle = job.required {
            let stated = ResponseIntegrity(
                of: SignedMessage(url: job.url, status: response.status, fields: response.fields),
                at: job.time)
            let measurement = try response.body.content.measurement(for: bundle, stated)
            if case .mismatch(let mismatch) = bundle.finding(on: measurement).verdict {
                response.body.discard()
                result.refusal = .digestMismatch(mismatch.description)
                return
            }
            measured = measurement.decoded
        }
        var response = response
        if job.role != .guide, let willStore {
            if let refusal = try edit(&response, &measured, job, willStore) {
                response.body.discard()
                result.refusal = refusal
                return
            }
        }
        let resultBeforeScan = result
        guard var body = try scanBody(of: response, job, measured, into: &result) else {
            return response.body.discard()
        }
        if let stored = try storedBody(equivalentTo: body, response, job, result) {
            response.body.discard()
            // The stored body takes the place of the new one. It is scanned instead, from the result before the scan.
            (response.body, result) = (.bytes(stored), resultBeforeScan)
            guard let rescanned = try scanBody(of: response, job, nil, into: &result) else { return }
            body = rescanned
        }
        if let reason = try reasonToKeepStored(body, response, job, into: &result) {
            response.body.discard()
            if case .file(let path) = body.content { FetchedBody.file(path: path, byteCount: 0).discard() }
            (result.refusal, result.keptResponse) = (.rejected(reason), job.storedBefore)
            return
        }
        body.md5 = measured?.digest(.md5)
        if let stored = job.storedBefore, stored.body?.sha256 == body.sha256.bytes {
            (result.storedWithSameBody, result.isReused) = (stored, true)
        }
        // Only the crawler may set this field: a value from the server would control the clock of served pages.
        response.fields.remove(SteadyTime.fieldName)
        // Scripts are included because they may run in a worker, which has its own clock.
        if let steadySince, let type = response.fields.contentType, type.isHTML || type.isJavaScript {
            response.fields.set(SteadyTime.fieldName, String(steadySince))
        }
        var new = NewResponse(
            href: job.url.href, referrer: job.referrer, status: response.status, role: job.role.rawValue,
            fields: response.fields.block, fetched: job.time, body: .new(body))
        if case .entry(let number) = RequestPurpose(number: job.number) { new.number = number }
        new.referrerNumber = job.referrerNumber
        new.request = job.request
        new.flags = job.flags.union(ResponseFlags(result.directives))
        new.type = response.fields.contentType?.essence
        var varying = response.fields
        // If a script of the page set request headers, the response may depend on them. A request without
        // them must not receive it.
        if !job.scriptFields.isEmpty { varying.append("Vary", job.scriptFields.joined(separator: ", ")) }
        // A response to a script's Authorization header is private to that login, and the key does not
        // identify the login.
        let isOfLogin = job.scriptFields.contains { $0.lowercased() == "authorization" }
        new.variant =
            isOfLogin
            ? VaryKey.never
            : VaryKey(
                decoded: varying, request: job.sentFields,
                secrets: job.flags.contains(.isPrivate) ? secrets : secrets.withOpenValues)?.text
                ?? VaryKey.never
        try writes.add(new)
    }

    /// The stored body of a page, if the new one differs from it only in values that the server makes anew for every
    /// request.
    private func storedBody(
        equivalentTo body: NewBody, _ response: FetchedResponse, _ job: ScanJob, _ result: ScanResult
    ) throws(StoreError) -> [UInt8]? {
        guard job.request == .get, job.role != .guide, job.required == nil, willStore == nil,
            case .entry = RequestPurpose(number: job.number), let storedBefore = job.storedBefore,
            storedBefore.status == response.status,
            let storedBody = storedBefore.body, storedBody.sha256 != body.sha256.bytes,
            result.format == .html, body.form == storedBody.form,
            max(body.byteCount, storedBody.byteCount) <= Limits.maxPackedBodyBytes
        else { return nil }
        let storedFields = HTTPFields(block: storedBefore.fields.utf8.span)
        guard let stored = try openReader().content(of: storedBody)?.load(),
            PerRequestValues.areOnlyDifference(
                between: .init(body: stored, time: Self.time(of: storedFields) ?? storedBefore.fetched),
                and: .init(
                    body: try body.content.load(), time: Self.time(of: response.fields) ?? job.time))
        else { return nil }
        return stored
    }

    /// When the server made a response, in seconds since 1970.
    private static func time(of fields: HTTPFields) -> Int64? {
        fields["Date"].flatMap { HTTPDate($0) }?.secondsSinceEpoch
    }

    /// The reason why the stored response is kept instead of the new one; nil if it is replaced.
    private func reasonToKeepStored(
        _ body: NewBody, _ response: FetchedResponse, _ job: ScanJob, into result: inout ScanResult
    ) throws(StoreError) -> ReplacementCheck.Reason? {
        guard let replacements, job.role != .guide, job.request == .get, job.required == nil,
            case .entry = RequestPurpose(number: job.number)
        else { return nil }
        let stored = job.storedBefore?.replacementSummary
        var bytes: [UInt8] = []
        if body.byteCount <= Limits.maxPackedBodyBytes { bytes = try body.content.load() }
        // The app may store different edits of the same version, so that validators say nothing.
        let fields = willStore == nil ? response.fields : response.fields.removing(["etag", "last-modified"])
        let new = ResponseSummary(
            job.url, status: response.status, fields: fields,
            digest: body.byteCount == 0 ? 0 : body.fingerprint, byteCount: body.byteCount, title: body.title,
            ending: response.ending, asksForLogin: ResponseSummary.asksForLogin(bytes, titled: body.title))
        var comparison: BodyComparison?
        // Loading two bodies is expensive, so that they are compared only if the summaries cannot decide.
        if let stored, ReplacementCheck.needsComparison(new, with: stored),
            let storedBody = job.storedBefore?.body
        {
            let storedBytes = try openReader().content(of: storedBody)?.load() ?? []
            let newBytes = try body.content.load()
            comparison = BodyComparison(stored: storedBytes.span, new: newBytes.span)
        }
        let verdict = replacements.judge(job.url, stored: stored, new: new, comparison: comparison)
        result.restored = verdict.restored
        return verdict.rejected
    }

    /// Lets the app edit the response. Returns the failure if the app, or the digest of the edited body,
    /// rejects it. `measured` becomes nil if the body changed.
    private func edit(
        _ response: inout FetchedResponse, _ measured: inout Measurement.Body?, _ job: ScanJob,
        _ willStore: WillStore
    ) throws(StoreError) -> Failure? {
        let original = WebResponse(
            job.url.href, response.status, response.fields, try response.body.content.load())
        guard let edited = willStore(original) else { return .declinedByApp }
        let now = HTTPDate(secondsSinceEpoch: SystemClock.secondsSinceEpoch())
        response.fields = edited.storedFields(now: now)
        guard edited.body != original.body else { return nil }
        if case .mismatch(let mismatch)? = job.required.map({
            BundleMeter.verdict(on: $0, bytes: edited.body)
        }) {
            return .digestMismatch("\(mismatch), after willStore edited it")
        }
        response.body.discard()
        response.body = .bytes(edited.body)
        measured = nil
        return nil
    }

    /// Scans a body and returns it for the store; nil if it must not be stored.
    ///
    /// A body in memory, or in a small file, is scanned in memory and stored in a pack. A larger file stays a file: an
    /// image or video is not scanned at all, and neither is a document above `BodyReading.maxBytes`.
    private func scanBody(
        of response: FetchedResponse, _ job: ScanJob, _ measured: Measurement.Body?,
        into result: inout ScanResult
    ) throws(StoreError) -> NewBody? {
        let known = measured?.digest(.sha256).map { (sha256: $0, byteCount: measured?.byteCount ?? 0) }
        switch response.body {
        case .bytes(let bytes):
            return try makeBody(bytes, .bytes(bytes), response.fields, job, known, into: &result)
        case .file(let path, let byteCount) where byteCount <= Limits.maxPackedBodyBytes:
            let bytes = try BodyContent.file(path: path).load()
            response.body.discard()
            return try makeBody(bytes, .bytes(bytes), response.fields, job, known, into: &result)
        case .file(let path, let byteCount):
            let content = BodyContent.file(path: path)
            let isOpaque = job.role != .guide && BodyFormat.isOpaque(response.fields.contentType)
            guard isOpaque || byteCount > BodyReading.maxBytes else {
                return try makeBody(try content.load(), content, response.fields, job, known, into: &result)
            }
            references.removeAll()
            result.isTooLarge = !isOpaque && BodyFormat.linksToAssets(response.fields.contentType)
            resolveLinks(response.fields, LinkTable(), of: job, [], .opaque, into: &result)
            guard !result.isLeftOut else { return nil }
            let body = try NewBody(
                content, form: BodyFormat.opaque.name, links: LinkTable().encoded(), measured: known,
                in: folder)
            if job.role == .page {
                result.print = ContentPrint(digest: body.fingerprint, byteCount: byteCount)
            }
            return body
        }
    }

    /// Scans a body in linkNumbers and returns it for the store; nil if it must not be stored.
    private func makeBody(
        _ bytes: [UInt8], _ content: BodyContent, _ fields: HTTPFields, _ job: ScanJob,
        _ known: (sha256: Digest, byteCount: Int)?, into result: inout ScanResult
    ) throws(StoreError) -> NewBody? {
        let mediaType = fields.contentType
        if job.role == .guide {
            (result.links, result.isOverlong) = references.readSitemap(
                bytes, mediaType, at: job.url, by: scanner)
            return try NewBody(
                content, form: BodyFormat.opaque.name, links: LinkTable().encoded(), in: folder)
        }
        references.removeAll()
        var scripts = ScriptNames()
        let reading = scanner.read(bytes.span, of: job.url, as: mediaType) {
            references.append($0, $1)
            if job.role == .page { scripts.add($0, $1) }
        }
        result.scripts = scripts.hash
        if job.role == .page { result.inlineScripts = reading.table.inlineScripts }
        let (format, table) = (reading.format, reading.table)
        result.format = format
        resolveLinks(fields, table, of: job, bytes, format, into: &result)
        if format.isDocument, job.role == .page {
            result.acceptSignatures = SignatureRequests.entries(ofPage: bytes, table, at: job.url)
        }
        if findsActions, format == .html { markActions(bytes, table.encoding, &result, job.url) }
        guard !result.isLeftOut else { return nil }
        if let check = job.login, format == .html {
            detectLogin(check, bytes, table, job.url, into: &result)
        }
        guard result.login != .inPlaceOfPage else { return nil }
        if job.role == .page, format == .html, job.required == nil,
            let challenge = challenge(bytes, fields, result)
        {
            (result.refusal, result.keptResponse) = (.challenged(challenge), job.storedBefore)
            return nil
        }
        if job.required != nil, format == .javaScript { addNamedFiles(bytes, job.url, to: &result) }
        let body = try NewBody(
            content, form: reading.form, title: table.title, links: table.encoded(),
            measured: known, in: folder)
        if job.role == .asset, ListPlaces.areIn(format), bytes.count <= ListPlaces.maxBytes {
            result.listPlaces = ListPlaces(
                bytes.span,
                fingerprint: format == .json
                    ? body.fingerprint : ListPlaces.fingerprint(of: bytes.span, at: job.url),
                isJSON: format == .json)
        }
        if job.role == .page {
            result.saysNotFound = table.title.map(NotFoundWords.areSaid) ?? false
            result.print =
                job.wantsWords || result.saysNotFound
                ? ContentPrint(text: bytes.span)
                : ContentPrint(digest: body.fingerprint, byteCount: bytes.count)
            if job.wantsPieces { result.bodyDigest = body.fingerprint }
            if job.wantsPieces, format.affectsScripts,
                job.hasKnownQueries || hasQueries(job.url, result)
            {
                result.pieces = TextPieces(bytes.span)
            }
        }
        return body
    }

    /// Whether the page, or a link of the page to itself, has a query.
    private func hasQueries(_ url: WebURL, _ result: ScanResult) -> Bool {
        url.query != nil
            || result.links.contains { link in
                guard link.role == .page, let target = link.url, target.query != nil else { return false }
                return target.path == url.path
            }
    }

    /// The bot challenge that was sent with a status of success in place of a page; nil for a page.
    ///
    /// Only short pages with few links are searched for the signs of a challenge: counting links is fast, and the
    /// search is not.
    private func challenge(
        _ bytes: [UInt8], _ fields: HTTPFields, _ result: ScanResult
    ) -> BotChallenge? {
        if let announced = BotChallenge(status: 200, fields: fields) { return announced }
        guard bytes.count <= BotChallenge.maxBodyBytes,
            result.links.count(where: { $0.role == .page }) <= Self.maxLoginPageLinks
        else { return nil }
        return BotChallenge(status: 200, body: bytes.span)
    }

    /// Decides whether the page is a login page, and of which kind.
    ///
    /// At a URL such as `/login`, any input field is enough. At other URLs many content pages have a small login form,
    /// so that a password field must come with a login title, or with a form to a login URL on a page of few links.
    private func detectLogin(
        _ check: ScanJob.LoginCheck, _ bytes: [UInt8], _ table: LinkTable, _ url: WebURL,
        into result: inout ScanResult
    ) {
        result.asksForPassword = LoginPageSigns.hasPasswordField(bytes.span)
        let isLoginURL = LoginPageSigns.isLoginURL(url)
        let isLogin =
            isLoginURL
            ? LoginPageSigns.hasInputField(bytes.span)
            : result.asksForPassword
                && (table.title.map(LoginPageSigns.isLoginTitle) ?? false
                    || LoginPageSigns.hasLoginForm(bytes.span)
                        && result.links.count { $0.role == .page } <= Self.maxLoginPageLinks)
        guard isLogin else { return }
        result.login = isLoginURL && check == .mayReplacePage ? .atLoginURL : .inPlaceOfPage
    }

    /// The maximum number of links to pages on a login page or a challenge, which links to little else than help, terms
    /// and languages. A page with more is taken for content.
    private static let maxLoginPageLinks = 10

    /// Adds the absolute URLs in a bundle's script as possible links, because it may load them.
    private func addNamedFiles(_ bytes: [UInt8], _ url: WebURL, to result: inout ScanResult) {
        var known = Set(result.links.compactMap(\.url?.href))
        for address in NamedFiles.addresses(in: bytes.span) {
            guard let target = WebURL(String(decoding: address, as: UTF8.self), base: url)?.key,
                known.insert(target.href).inserted
            else { continue }
            result.links.append(FoundLink(url: target, role: .asset, isGuess: true))
        }
    }

    /// Resolves the links of a body, according to the page's directives to crawlers.
    private func resolveLinks(
        _ fields: HTTPFields, _ table: LinkTable, of job: ScanJob, _ bytes: [UInt8], _ format: BodyFormat,
        into result: inout ScanResult
    ) {
        result.directives = PageDirectives(fields, metaContent: table.robots, productToken: productToken)
        result.isLeftOut =
            job.mayBeLeftOut && directivePolicy.noindex == .obey && result.directives.contains(.noindex)
        let isPlaylist = format.isPlaylist
        // `addNamedFiles` compares URLs, and so a bundle's links must not be resolved to numbers.
        result.links = references.resolve(
            against: job.url, table: table, directivePolicy, result.directives,
            memory: job.required == nil && !findsActions && !isPlaylist ? linkNumbers : nil)
        if isPlaylist, !table.isTranscoded, let list = RenditionList(bytes.span, format: format) {
            leaveOutRenditions(
                list, base: table.base.flatMap { WebURL($0, base: job.url) } ?? job.url, &result)
        }
        result.isOverlong = references.isCut
        addHeadLinks(fields, of: job, to: &result)
        result.notes = table.notes
        result.base = table.base.flatMap { WebURL($0, base: job.url) }
        result.renderReasons = table.renderReasons
        result.isNofollow = directivePolicy.skipsLink(isMarked: false, on: result.directives)
    }

    /// Marks the links of a playlist to renditions that were not chosen, and all links of a live stream, whose segments
    /// are gone after a few seconds.
    private func leaveOutRenditions(_ list: RenditionList, base: WebURL, _ result: inout ScanResult) {
        if list.isLive {
            for index in result.links.indices { result.links[index].leftOut = .endless("a live stream") }
            return
        }
        let leftOut = Set(list.leftOut(by: media).compactMap { WebURL($0, base: base)?.key })
        guard !leftOut.isEmpty else { return }
        for index in result.links.indices {
            if let url = result.links[index].url, leftOut.contains(url) {
                result.links[index].leftOut = .rendition
            }
        }
    }

    /// Marks the links that may change something.
    private func markActions(
        _ bytes: [UInt8], _ encoding: TextEncoding, _ result: inout ScanResult, _ url: WebURL
    ) {
        let actions = ActionLinkScanner.links(
            in: bytes.span, isUTF8: encoding == .utf8, base: result.base ?? url)
        guard !actions.isEmpty else { return }
        for index in result.links.indices where result.links[index].role == .page {
            if let url = result.links[index].url, actions.contains(url) {
                result.links[index].isAction = true
            }
        }
    }

    /// Adds the links in the response headers. Few responses have any.
    private func addHeadLinks(_ fields: HTTPFields, of job: ScanJob, to result: inout ScanResult) {
        guard job.role == .page || fields.contentType?.isHTML ?? false else { return }
        for (reference, kind, isCORS) in HeadLinks.all(of: fields) {
            guard let role = Frontier.Role(kind), let url = WebURL(reference, base: job.url)?.key, url.isHTTP
            else { continue }
            let isNofollow =
                role == .page && directivePolicy.skipsLink(isMarked: false, on: result.directives)
            result.links.append(
                FoundLink(
                    isRefresh: kind == .refresh, url: url, role: role, isNofollow: isNofollow,
                    isCORS: isCORS))
        }
    }

    /// The reason why a response must not be stored; nil if it may be.
    private func refusal(of response: FetchedResponse, _ job: ScanJob) throws(StoreError) -> Failure? {
        guard job.role != .guide, !rules.acceptsEverything else { return nil }
        let subject = ResponseInspection.Subject(
            url: job.url, status: response.status, fields: response.fields,
            beginning: try response.body.beginning(Self.inspectedByteCount))
        if let rule = rules.rejection(of: subject, byteCount: response.body.byteCount) {
            return .rejectedByRule(rule.text)
        }
        // An HTML response to a request for an asset is an error page or similar. For pages, the file
        // extension says nothing, and if there is a digest, it decides.
        return job.role == .asset && job.required == nil && !rules.inspection.accepts(subject)
            ? .htmlInstead : nil
    }

    /// The number of bytes at the beginning of a body that the inspection rules see. The signatures of formats and the
    /// first tags of HTML are there.
    private static let inspectedByteCount = 4096

    /// Reads the links of a stored response from its link table, and scans the body again only if the table
    /// cannot be used.
    private func processStored(
        _ response: StoredResponse, of job: ScanJob, into result: inout ScanResult
    ) throws(StoreError) {
        guard let body = response.body else { return }
        let reader = try openReader()
        if job.role == .guide {
            let bytes = try reader.content(of: body)?.load()
            if let bytes {
                (result.links, result.isOverlong) = references.readSitemap(
                    bytes, nil, at: job.url, by: scanner)
            }
            return
        }
        let encoded = try reader.links(of: body)
        var wasRescanned = false
        let format = body.format ?? .opaque
        var table = try scanner.table(stored: encoded, form: body.form) { () throws(StoreError) in
            wasRescanned = true
            return try reader.content(of: body)?.load()
        }
        var playlist: [UInt8] = []
        if format.isPlaylist, body.byteCount <= BodyReading.maxBytes {
            playlist = try reader.content(of: body)?.load() ?? []
            // Tables of earlier versions lack the segments of DASH templates.
            let scanned = scanner.table(of: playlist.span, form: body.form)
            wasRescanned = wasRescanned || scanned != table
            table = scanned
        }
        guard let table else { return }
        if wasRescanned { try writes.replaceLinkTable(table.encoded(), of: body) }
        references.removeAll()
        if !table.occurrences.isEmpty, let bytes = try reader.content(of: body)?.load() {
            let source = table.source(of: bytes.span) ?? bytes
            for occurrence in table.occurrences {
                references.append(occurrence, table.reference(occurrence, in: source.span).span)
            }
        }
        let fields = HTTPFields(block: response.fields.utf8.span)
        resolveLinks(fields, table, of: job, playlist, format, into: &result)
        if findsActions, body.format == .html, let bytes = try reader.content(of: body)?.load() {
            markActions(bytes, table.encoding, &result, job.url)
        }
        if job.required != nil, body.form.hasPrefix("\(BodyFormat.javaScript.name);"),
            let bytes = try reader.content(of: body)?.load()
        {
            addNamedFiles(bytes, job.url, to: &result)
        }
    }

    /// Returns the reader, which is opened on first use because most runs do not need it.
    private func openReader() throws(StoreError) -> StoreReader {
        if let reader { return reader }
        let opened = try StoreReader(folder)
        reader = opened
        return opened
    }
}

/// The names of the scripts of a page, without their folders and queries, which differ from page to page.
///
/// Pages with the same scripts probably come from the same template, and need rendering for the same reasons.
struct ScriptNames {
    private var names: Set<UInt64> = []

    /// A hash that does not depend on the order of the scripts, since it adds the hashes of their names; 0 for none.
    var hash: UInt64 { names.reduce(0, &+) }

    mutating func add(_ link: LinkOccurrence, _ reference: Span<UInt8>) {
        guard link.kind == .script || link.kind == .module else { return }
        reference.withUnsafeBufferPointer { bytes in
            let path = bytes.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
            let name = path.lastIndex(of: UInt8(ascii: "/")).map { path[($0 + 1)...] } ?? path
            names.insert(SeededHash.of(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: name)), 0))
        }
    }
}
