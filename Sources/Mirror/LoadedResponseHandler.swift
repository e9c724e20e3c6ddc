internal import Bundles
internal import Digest
internal import Glibc
internal import HTTPServer
internal import Markup
internal import Origins
internal import Store
internal import Web

/// Verifies an origin's response, stores it, and renders the client's answer. It belongs to the thread `larder-load`.
///
/// `conclude` handles one response in these steps:
///
/// 1. `LoadJob.conclusion` decides by RFC 9111 how the cache changes, and which response the client gets.
/// 2. `read` scans the body for links.
/// 3. `refusal` compares the body with the digest that a manifest requires. A mismatch counts as a failed load.
/// 4. `assemble` combines a loaded part with stored ones. A complete body is stored like a whole response.
/// 5. `change` stores the response, unless rules, its type or `replaces` (captive portals) forbid it.
/// 6. `reply` renders the answer.
///
/// Changes become visible with `commit`, which `OriginLoader` calls for a batch of responses. Stored responses go into the
/// overlay of their site; live snapshots never change.
///
/// A failed write never costs the client its response: the response is served all the same, and the reply says that it
/// was not stored. The exceptions are responses that must match a digest or complete a stored part.
final class LoadedResponseHandler {
    let profile: CacheProfile
    let memoryCache: MemoryResponseCache
    private let uncommitted: UncommittedResponses
    private let folder: StoreFolder
    private let scanner = LinkScanner()
    /// Opened when first needed, and again after an error or after another store has replaced this one.
    private var reader: StoreReader?
    private var writer: StoreWriter?
    /// The error of the last failed write, until `takeFailure`.
    private var failure: StoreError?
    private let recording: RecordingHealth
    private let rejectedResponses: RejectedResponses
    /// Whether a response was written since the last commit.
    private var hasPut = false
    /// Files with bodies, which are removed after the commit.
    private var spooled: [String] = []
    /// URLs whose stored responses have changed.
    private var changed: [String] = []

    private var replacements = LoadedReplacements()
    /// Why the last response did not replace the stored one.
    private var rejected: ReplacementCheck.Reason?
    /// The maximum size of the store in bytes; nil for none. Above it, responses are evicted.
    private let sizeLimit: Int64?
    private let requirements: @Sendable (StoreReader) throws(StoreError) -> Requirements
    /// The maximum size of a streamed body that is read into memory and scanned for links.
    private static let maxScannedBytes = 32 * 1024 * 1024
    /// Bytes that were stored since the size of the store was last checked.
    private var keptByteCount: Int64 = 0

    /// The site that all responses go to; nil for the sites of the requesting pages.
    private let site: String?

    init(
        _ folder: StoreFolder, profile: CacheProfile, memoryCache: MemoryResponseCache,
        uncommitted: UncommittedResponses,
        site: String? = nil, sizeLimit: Int64? = nil, recording: RecordingHealth,
        rejectedResponses: RejectedResponses,
        requirements: @escaping @Sendable (StoreReader) throws(StoreError) -> Requirements
    ) {
        self.requirements = requirements
        self.recording = recording
        self.rejectedResponses = rejectedResponses
        self.uncommitted = uncommitted
        self.site = site
        self.sizeLimit = sizeLimit
        self.folder = folder
        self.profile = profile
        self.memoryCache = memoryCache
    }

    /// Opens the store before the first load: opening it for writing removes temporary files that no other
    /// process is writing.
    func open() {
        do throws(StoreError) { _ = try openedWriter() } catch { recording.note(error) }
    }

    /// Processes the outcome of a job and returns the reply. Nil if the whole response must be requested from
    /// the origin again, without conditions.
    func conclude(_ job: LoadJob, _ outcome: LoadOutcome, now: HTTPDate) -> LoadedReply? {
        let conclusion = job.conclusion(of: outcome, profile, now)
        do throws(StoreError) {
            guard case .response(let response) = outcome else {
                return try reply(to: job, conclusion, outcome, nil, now)
            }
            let loaded = try read(response, job)
            // The store takes the file over with the next commit.
            if case .file(let path) = loaded.content { spooled.append(path) }
            let bundle = self.bundle(response, job, loaded)
            if job.required != nil, response.status == 206, job.isCompletion { return nil }
            if let why = refusal(response, job, bundle) {
                // A refused response replaces nothing.
                let failure = LoadOutcome.failure(why)
                return try reply(to: job, job.conclusion(of: failure, profile, now), failure, nil, now)
            }
            // A body that is rewritten cannot be assembled from rendered parts.
            if response.status == 206, job.keepsRange, !loaded.reading.format.isShownAsItIs { return nil }
            let assembled = assemble(conclusion, response, loaded, job)
            if job.isCompletion, response.status == 206, assembled == nil { return nil }
            if let assembled { return try reply(to: job, assembled, now) }
            do throws(StoreError) {
                try change(conclusion, job, response, loaded, now)
            } catch {
                // The client gets the response all the same.
                fail(error)
                return try reply(to: job, conclusion, outcome, loaded, now, bundle)?.notStored(error)
            }
            var reply = try reply(to: job, conclusion, outcome, loaded, now, bundle)
            if let rejected {
                rejectedResponses.note(rejected, at: job.request.url, now: now.secondsSinceEpoch)
                reply?.failure = "\(rejected.text); the stored copy is kept"
                // It is not stored, so that the next client needs a request of its own.
                reply?.isShared = false
            }
            return reply
        } catch {
            fail(error)
            return notStored(job, conclusion, outcome, error)
        }
    }

    /// The reply if storing failed. Clients of a proxy get the response all the same, unless it must match a
    /// digest or complete a stored part.
    private func notStored(
        _ job: LoadJob, _ conclusion: CacheConclusion, _ outcome: LoadOutcome, _ error: StoreError
    ) -> LoadedReply {
        guard job.layout.isTransparent, job.required == nil, !job.isCompletion,
            conclusion.reply == .received, case .response(let response) = outcome,
            case .bytes(let bytes) = response.body
        else { return .storeFailure(job, error) }
        let answer = AnswerFields(layout: job.layout).proxyAnswer(
            response.status, response.fields, job.request.url, job.method == "HEAD" ? nil : bytes)
        return LoadedReply(
            answer: answer, clientFields: response.fields.cookieLines, isShared: false, failure: "\(error)")
    }

    /// Stores a response that its client has already received. Returns the error if that fails.
    func keep(_ early: EarlyReply, of job: LoadJob, now: HTTPDate) -> StoreError? {
        do throws(StoreError) {
            // `OriginLoader` removed the answers in memory when the response arrived, so this URL is not reported again.
            let known = changed.count
            try change(early.conclusion, job, early.response, try read(early.response, job), now)
            changed.removeLast(changed.count - known)
            return nil
        } catch {
            fail(error)
            return error
        }
    }

    // MARK: - Commits

    /// Why changes since the last `commit` were lost; reported once.
    func takeFailure() -> StoreError? { failure.take() }

    /// The URLs whose stored responses changed since the last call.
    func takeChanged() -> [String] {
        defer { changed.removeAll() }
        return changed
    }

    /// Commits all changes.
    func commit() {
        do throws(StoreError) {
            try writer?.commit()
            if hasPut { recording.note(nil) }
            hasPut = false
        } catch {
            fail(error)
        }
        // The store has moved the files that it took over.
        for path in spooled { unlink(path) }
        spooled.removeAll()
    }

    /// Handles a failed write. The connections are closed, which rolls back the changes since the last commit; the next
    /// write opens new ones.
    private func fail(_ error: StoreError) {
        (reader, writer, hasPut) = (nil, nil, false)
        failure = error
        recording.note(error)
    }

    /// The bundle that a manifest requires; nil if none is required or the response is not complete.
    private func bundle(_ response: LoadedResponse, _ job: LoadJob, _ loaded: LoadedBody) -> BundleComparison?
    {
        guard let required = job.required, job.method == "GET", response.status == 200 else { return nil }
        let stated = ResponseIntegrity(
            of: SignedMessage(url: job.request.url, status: response.status, fields: response.fields),
            at: response.responseTime.secondsSinceEpoch)
        return BundleComparison(required, loaded.bytes, stated)
    }

    /// Why a response must not be served, if a manifest requires something else.
    private func refusal(_ response: LoadedResponse, _ job: LoadJob, _ bundle: BundleComparison?) -> String? {
        guard job.required?.canBeVerified == true, job.method == "GET" else { return nil }
        if let mismatch = bundle?.mismatch {
            return "the response does not match its manifest: \(mismatch)"
        }
        switch response.status {
        case 200, 304: return nil
        // The same redirect as when the bundle was verified.
        case 300..<400 where job.stored?.status == response.status && job.redirectsLikeStored(response):
            return nil
        default: return "the origin answered \(response.status) for a URL that a manifest requires"
        }
    }

    /// The body of a response with its links.
    private func read(_ response: LoadedResponse, _ job: LoadJob) throws(StoreError) -> LoadedBody {
        guard response.status != 304, job.method != "HEAD" else {
            return LoadedBody(content: response.body, bytes: [])
        }
        // A large streamed body is not read into memory.
        if job.stream?.hasBegun == true, case .file = response.body,
            response.body.byteCount ?? 0 > Self.maxScannedBytes
        {
            return LoadedBody(content: response.body, bytes: [])
        }
        // Links in coded bodies are not scanned.
        if response.isCoded { return LoadedBody(content: response.body, bytes: try response.body.load()) }
        return scan(response.body, try response.body.load(), response.fields, job)
    }

    private func scan(_ content: BodyContent, _ bytes: [UInt8], _ fields: HTTPFields, _ job: LoadJob)
        -> LoadedBody
    {
        LoadedBody(
            content: content, bytes: bytes,
            reading: scanner.read(bytes.span, of: job.request.url, as: fields.contentType))
    }

    // MARK: - Parts

    /// A complete response, assembled from parts.
    private struct AssembledResponse {
        let entry: CacheEntry
        let body: LoadedBody
        let response: LoadedResponse
    }

    /// Adds a loaded part to the stored parts of the body. Returns the response if it is complete now; nil otherwise.
    /// Incomplete parts stay in memory, since the store contains only whole bodies.
    private func assemble(
        _ conclusion: CacheConclusion, _ response: LoadedResponse, _ loaded: LoadedBody, _ job: LoadJob
    ) -> AssembledResponse? {
        guard case .extend(let entry) = conclusion.change, var copy = job.memoryResponse,
            let stored = copy.parts,
            let newer = BodyParts(partial: response.fields, bytes: loaded.bytes),
            let parts = stored.merging(newer)
        else { return nil }
        if let bytes = parts.whole {
            let whole = entry.completing(byteCount: bytes.count)
            return AssembledResponse(
                entry: whole, body: scan(.bytes(bytes), bytes, whole.fields, job), response: response)
        }
        copy.entry = entry
        copy.body = .parts(parts)
        memoryCache.keep(copy)
        return nil
    }

    /// Stores a response that was assembled from parts, and returns its reply.
    private func reply(to job: LoadJob, _ assembled: AssembledResponse, _ now: HTTPDate) throws(StoreError)
        -> LoadedReply
    {
        var failure: StoreError?
        do throws(StoreError) {
            try keep(
                assembled.entry, job, .new(try assembled.body.newBody(in: folder)), assembled.response, now)
        } catch {
            fail(error)
            failure = error
        }
        let answer = try renderer(job).loadedAnswer(
            assembled.entry.status, assembled.entry.servedFields(at: now), job.request.url, assembled.body,
            .loaded,
            sharing(assembled.response, job))
        let reply = LoadedReply(answer: answer)
        return failure.map(reply.notStored) ?? reply
    }

    // MARK: - The store

    /// Changes stored responses as the conclusion says.
    private func change(
        _ conclusion: CacheConclusion, _ job: LoadJob, _ response: LoadedResponse, _ loaded: LoadedBody,
        _ now: HTTPDate
    ) throws(StoreError) {
        rejected = nil
        // First: the response that is stored next is newer than the invalidation.
        if !conclusion.invalidated.isEmpty { try invalidate(conclusion.invalidated.map(\.href)) }
        if conclusion.change != .none { changed.append(job.request.url.href) }
        switch conclusion.change {
        case .none, .extend: break
        // A manifest never requires the response to an unsafe request.
        case .store where job.required?.canBeVerified == true && !job.request.method.isRead: break
        case .store(let entry, let policy):
            guard job.canStore(response.fields),
                job.accepts(response, loaded.bytes, byteCount: loaded.byteCount)
            else { break }
            if entry.isPart {
                guard let parts = BodyParts(partial: response.fields, bytes: loaded.bytes) else { break }
                memoryCache.keep(job.memoryResponse(entry, .parts(parts), response.flags))
                break
            }
            let measured = try loaded.content.measure()
            guard try replaces(job, response, entry, loaded, measured.sha256, now) else { break }
            switch policy {
            case .memoryOnly:
                memoryCache.keep(job.memoryResponse(entry, .whole(loaded.inMemory), response.flags))
            case .allowed:
                let body: NewResponse.Body =
                    loaded.byteCount == 0 ? .none : .new(try loaded.newBody(in: folder, measured))
                try keep(entry, job, body, response, now)
            case .notAllowed: break
            }
        // The request lacked the user's credentials: its 304 must not change the user's private response.
        case .update where job.isStoredForUser: break
        case .update(let entry):
            if response.status == 304 { replacements.confirm(job.request.url, now: now.secondsSinceEpoch) }
            if var copy = job.memoryResponse {
                copy.entry = entry
                memoryCache.keep(copy)
            } else if let stored = job.stored {
                try keep(entry, job, stored.body.map { .stored($0) } ?? .none, response, now)
            }
        }
    }

    /// Whether the response replaces the stored one. Restores earlier copies if the response shows that their
    /// replacements were wrong.
    private func replaces(
        _ job: LoadJob, _ response: LoadedResponse, _ entry: CacheEntry, _ loaded: LoadedBody,
        _ sha256: Digest, _ now: HTTPDate
    ) throws(StoreError) -> Bool {
        guard job.method == "GET", job.key == .get, job.required == nil else { return true }
        let verdict = try replacements.judge(
            response, entry.status, loaded, sha256, at: job.request.url.withoutFragment, over: job.stored,
            now: now
        ) { (body) throws(StoreError) in
            try openedReader().content(of: body)?.load()
        }
        for restored in verdict.restored {
            guard let stored = replacements.takeReplaced(restored.href), let url = WebURL(stored.href) else {
                continue
            }
            changed.append(stored.href)
            try openedWriter().putIntoOverlay(
                NewResponse(restoring: stored), replacing: stored, origin: url.origin, host: url.host,
                site: site, now: now.secondsSinceEpoch)
            hasPut = true
        }
        rejected = verdict.rejected
        return rejected == nil
    }

    /// Marks stored responses of the URL as outdated by a change.
    func invalidate(_ url: WebURL) {
        do throws(StoreError) { try invalidate([url.withoutFragment.href]) } catch { fail(error) }
    }

    private func invalidate(_ hrefs: [String]) throws(StoreError) {
        // Pending changes are committed first, so that the invalidation applies to them too.
        changed += hrefs
        memoryCache.invalidate(hrefs)
        uncommitted.invalidate(hrefs)
        let writer = try openedWriter()
        try writer.commit()
        try writer.invalidate(hrefs)
    }

    /// Writes a response to the overlay of its site, and removes its copy in memory.
    private func keep(
        _ entry: CacheEntry, _ job: LoadJob, _ body: NewResponse.Body, _ response: LoadedResponse,
        _ now: HTTPDate
    ) throws(StoreError) {
        var fields = entry.fields
        guard try !hidesPrivate(job) else { return }
        // Cookies belong to one client; only their names are stored.
        let cookies = fields.all("Set-Cookie")
        fields.remove("Set-Cookie")
        for cookie in cookies {
            fields.append("Set-Cookie", "\(cookie.prefix { $0 != "=" && $0 != ";" })=(withheld)")
        }
        var new = NewResponse(
            href: job.request.url.withoutFragment.href, referrer: nil, status: entry.status,
            role: job.stored?.role ?? (job.request.fields.isNavigation ? 0 : 1), fields: fields.block,
            fetched: response.responseTime.secondsSinceEpoch, body: body)
        new.requested = response.requestTime.secondsSinceEpoch
        new.request = job.key
        new.type = entry.fields.contentType?.essence
        new.variant = job.variant(of: entry)
        new.flags = (job.stored?.flags ?? []).intersection(.bodyFlags).subtracting([
            .isPrivate, .hadOriginHeader,
        ])
        .union(flags(of: response, job))
        if case .new = body, !response.isCoded { new.flags.remove(.isCoded) }
        if entry.isInvalidated { new.flags.insert(.isInvalidated) } else { new.flags.remove(.isInvalidated) }
        try openedWriter().putIntoOverlay(
            new, replacing: job.stored, origin: job.request.url.origin, host: job.request.url.host,
            site: site, now: now.secondsSinceEpoch)
        hasPut = true
        memoryCache.remove(new.href, new.request, variant: new.variant)
        if case .new(let body) = body { try makeRoom(for: Int64(body.byteCount)) }
    }

    /// Whether a private response of the user is stored at the URL and hidden from this client. The server's
    /// response without credentials, such as a login page, does not replace it.
    private func hidesPrivate(_ job: LoadJob) throws(StoreError) -> Bool {
        guard job.layout.hidesPrivate else { return false }
        let stored = try openedReader().response(for: job.request.url.withoutFragment.href, request: job.key)
        return stored.map { $0.flags.contains(.isPrivate) && $0.provenance.kind != .loaded } ?? false
    }

    /// Removes earlier snapshots and responses in overlays, like `larder gc`, if the store is larger than its limit. Live
    /// snapshots stay. Checks only each time that a twentieth of the limit was stored. Does nothing while another process writes.
    private func makeRoom(for byteCount: Int64) throws(StoreError) {
        keptByteCount += byteCount
        guard let sizeLimit, keptByteCount > sizeLimit / 20 else { return }
        keptByteCount = 0
        guard folder.byteCount > sizeLimit else { return }
        guard let writer else { return }
        try writer.commit()
        // Bundles that manifests require are not evicted.
        guard let required = try? requirements(openedReader()) else { return }
        // A tenth below the limit, so that the next cleanup is not due at once. Where that cannot be reached, the limit may be.
        for limit in [sizeLimit / 10 * 9, sizeLimit] where folder.byteCount > limit {
            var options = CollectionOptions(limit: limit, enforcesLimit: true)
            options.requiredBundles = required.hrefs
            _ = try? writer.collect(options)
        }
    }

    /// The flags under which a response is stored: its network zone, and whether it is private.
    private func flags(of response: LoadedResponse, _ job: LoadJob) -> ResponseFlags {
        var flags = response.flags
        if flags.contains(.isPrivate) || job.hasCredentials {
            flags.remove(.isPrivate)
            if job.isPrivate(response.fields, hasCredentials: true) { flags.insert(.isPrivate) }
        }
        if job.request.fields.contains("Origin") { flags.insert(.hadOriginHeader) }
        return flags
    }

    /// The sharing for the client that sent the request.
    private func sharing(_ response: LoadedResponse, _ job: LoadJob) -> Sharing {
        Sharing(
            loaded: response.fields, job.request.url, withCredentials: false,
            isPersonal: flags(of: response, job).contains(.isPrivate))
    }

    private func openedWriter() throws(StoreError) -> StoreWriter {
        if let writer { return writer }
        let new = try StoreWriter(folder)
        writer = new
        return new
    }

    /// Works on a full or read-only disk too, where stored responses are still served.
    private func openedReader() throws(StoreError) -> StoreReader {
        if let reader, !reader.isOutdated { return reader }
        let new = try StoreReader(folder)
        reader = new
        return new
    }

    // MARK: - Answers

    /// A renderer for the client that sent the request of the job.
    private func renderer(_ job: LoadJob) throws(StoreError) -> ResponseRenderer {
        let fields = AnswerFields(layout: job.layout, isProxy: true)
        return ResponseRenderer(
            finder: ResponseFinder(reader: try openedReader(), fields: fields), layout: job.layout,
            shim: job.shim,
            verifier: job.verifier, requestFields: job.request.fields)
    }

    /// The reply that the conclusion calls for. Nil if the response must be loaded again without conditions.
    private func reply(
        to job: LoadJob, _ conclusion: CacheConclusion, _ outcome: LoadOutcome, _ loaded: LoadedBody?,
        _ now: HTTPDate,
        _ bundle: BundleComparison? = nil
    ) throws(StoreError) -> LoadedReply? {
        switch conclusion.reply {
        case .loadAgain: return nil
        case .gatewayTimeout:
            let why = if case .failure(let why) = outcome { why } else { "the origin did not answer" }
            // The reason may name addresses of the server's network.
            let reason = job.layout.isExposed ? "" : ": \(why)"
            let text = "\(job.request.url.href) could not be loaded\(reason)\n"
            let status = job.layout.isTransparent ? 502 : 504
            let fields = [("Larder", AnswerSource.miss.text)] + job.layout.fields(of: job.request.url)
            return LoadedReply(
                answer: .explanation(
                    status, text, to: job.request.fields, fields: fields,
                    sharing: Sharing(missing: job.request.url)),
                source: .missed)
        case .stored(let entry, let hit):
            let source = AnswerSource(hit, [])
            // Cookies in a 304 belong to the client.
            var own: [UInt8] = []
            if case .response(let response) = outcome, hit == .validated, job.layout.isTransparent {
                own = cookies(response.fields, job)
            }
            if let memoryResponse = job.memoryResponse {
                return try renderer(job).memoryAnswer(memoryResponse, entry, job.request, source, now).map {
                    LoadedReply(
                        answer: $0, clientFields: own, source: hit == .validated ? .validated : .store)
                }
            }
            guard let stored = job.stored else { return nil }
            let copy = FoundResponse(
                response: stored, fields: entry.servedFields(at: now), url: job.request.url, isVariant: false)
            return LoadedReply(
                answer: try renderer(job).storedAnswer(copy, source: source), clientFields: own,
                source: hit == .validated ? .validated : .store)
        case .received:
            guard case .response(let response) = outcome, let loaded else { return nil }
            let renderer = try renderer(job)
            let answer =
                job.method == "HEAD"
                ? renderer.headAnswer(
                    response.status, response.fields, job.request.url, sharing(response, job))
                : try renderer.loadedAnswer(
                    response.status, response.fields, job.request.url, loaded, .loaded,
                    sharing(response, job),
                    bundle: bundle)
            return LoadedReply(
                answer: answer, clientFields: cookies(response.fields, job),
                isShared: conclusion.change != .none
            )
        }
    }

    /// The cookies of a response for its client, as header lines. If several origins share a name, only those of the site at
    /// the root are passed on.
    private func cookies(_ fields: HTTPFields, _ job: LoadJob) -> [UInt8] {
        if job.layout.isTransparent { return fields.cookieLines }
        guard !job.layout.sharesRootHost(job.request.url) else { return [] }
        var lines = HTTPFields()
        for cookie in fields.all("Set-Cookie") {
            guard let line = SetCookieLine.rewrite(cookie, of: job.request.url, layout: job.layout) else {
                continue
            }
            lines.append("Set-Cookie", line)
        }
        return Array(lines.block.utf8)
    }
}

/// A loaded body with its links.
struct LoadedBody {
    let content: BodyContent
    let bytes: [UInt8]
    var reading = BodyReading()

    var byteCount: Int { bytes.isEmpty ? content.byteCount ?? 0 : bytes.count }

    /// - Parameter measured: digest and length of the content, if known.
    func newBody(
        in folder: StoreFolder, _ measured: (sha256: Digest, byteCount: Int)? = nil
    ) throws(StoreError) -> NewBody {
        try NewBody(
            content, form: reading.form, title: reading.table.title, links: reading.table.encoded(),
            measured: measured, in: folder)
    }

    /// The same without its temporary file.
    var inMemory: LoadedBody { LoadedBody(content: .bytes([]), bytes: bytes, reading: reading) }
}

extension BodyFormat {
    /// Whether rendering never changes such bodies.
    var isShownAsItIs: Bool { self == .opaque || self == .plainText }
}
