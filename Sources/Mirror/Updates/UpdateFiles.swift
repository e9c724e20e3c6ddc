internal import Bundles
internal import Codings
internal import Digest
internal import HTTPServer
internal import Rollouts
internal import Store
internal import Web

/// Serves the files of the releases that a channel announces or announced: `/-/updates/APP/files/RELEASE/PATH`. The bytes of
/// such a URL never change.
struct UpdateFiles {
    /// The path segment of the files.
    static let service = "files"

    private let service: UpdateService
    private let desk: UpdateDesk
    private let context: MirrorContext
    private let view: () throws(StoreError) -> MirrorResponder.StoreView

    init(
        _ service: UpdateService, _ desk: UpdateDesk, _ context: MirrorContext,
        _ view: @escaping () throws(StoreError) -> MirrorResponder.StoreView
    ) {
        (self.service, self.desk, self.context, self.view) = (service, desk, context, view)
    }

    /// Answers a request for a file.
    ///
    /// - Parameter record: counts the answer.
    func reply(
        to update: UpdateRequest, _ request: Request, record: (UpdateAnswer.Outcome) -> Void
    ) throws(StoreError) -> Reply {
        let answer = try answer(to: update, request)
        record(answer.outcome)
        var reply = Reply(answer: answer.answer)
        guard answer.outcome == .file else { return reply }
        if Self.canBecomeDocument(update.fields) { reply.clientFields = Self.sandbox }
        let dictionary = try dictionary(for: answer.answer, update, request)
        let byteCount = answer.answer.bodyByteCount
        let saved = dictionary?.body.map { byteCount - $0.bytes.count } ?? 0
        service.counts.addFile(byteCount: byteCount, savedByteCount: saved)
        reply.coded =
            dictionary?.body == nil
            ? compressedReply(answer.answer, request, dictionary) ?? dictionary : dictionary
        return reply
    }

    // MARK: - Compression

    /// The changes in a reply by which the client gets the body in zstd or gzip; nil if it gets the whole body.
    ///
    /// - Parameter reply: the changes so far.
    private func compressedReply(_ answer: Answer, _ request: Request, _ reply: CodedReply?) -> CodedReply? {
        guard Self.canCompress(answer.value(of: "content-type"), answer.bodyByteCount),
            request.head.method == .get || request.head.method == .head, !request.head.isConditional,
            let encoder: ContentEncoder =
                request.head.acceptsZstd ? .zstd : request.head.acceptsGzip ? .gzip : nil,
            // The store may have compressed the body already.
            encoder != .zstd || answer.zstdBody == nil, let body = encoded(answer, encoder)
        else { return nil }
        // RFC 9530, section 3: `Repr-Digest` would be the digest of the coded body.
        return CodedReply(
            replacedFields: (reply?.replacedFields ?? []) + ["repr-digest"], lines: reply?.lines ?? [],
            body: (body, encoder.rawValue))
    }

    /// The body of a file in a coding; nil if that saves too little, or while another thread compresses it.
    private func encoded(_ answer: Answer, _ encoder: ContentEncoder) -> [UInt8]? {
        // The tag names the body, which several releases may have.
        let key = DeltaCache.Key(
            dictionarySHA256: [], href: "", storedSHA256: [],
            rendering: "\(encoder.rawValue) \(answer.entityTag ?? "")")
        switch context.deltas.find(key, generation: 0, isStored: { _ in true }) {
        case .known(let body): return body
        case .pending: return nil
        case .missing: break
        }
        let whole = answer.wholeBody(maxBytes: DictionaryEncoder.maxBodyBytes)
        let body = whole.flatMap { whole -> [UInt8]? in
            guard let body = encoder.encode(whole, maxBytes: whole.count / 8 * 7) else { return nil }
            // Larder's own clients, for example, refuse a body that becomes 200 times as large.
            let isExceeded = ExpansionLimit().isExceeded(
                byteCount: whole.count, encodedByteCount: body.count)
            return isExceeded ? nil : body
        }
        context.deltas.finish(key, delta: body, source: nil, generation: 0)
        return body
    }

    /// Whether a file of this type and size may be compressed: it is not compressed already, does not fit into a packet, and is
    /// not so large that others would have to wait.
    private static func canCompress(_ type: String?, _ byteCount: Int) -> Bool {
        let fields: HTTPFields = ["Content-Type": type ?? ""]
        guard (1024...DictionaryEncoder.maxBodyBytes).contains(byteCount),
            let type = fields.contentType?.essence
        else { return false }
        return type == "image/svg+xml"
            || !["image/", "audio/", "video/", "font/", "application/zip"].contains { type.hasPrefix($0) }
    }

    private func answer(to update: UpdateRequest, _ request: Request) throws(StoreError) -> UpdateAnswer {
        guard request.head.method != .other else {
            return .refusal(405, "A file has only GET and HEAD.", fields: [("Allow", "GET, HEAD")])
        }
        // As a document or a worker it would have the rights of the portal, which has the same origin.
        let use = FetchUse(update.fields)
        guard !use.makesDocument, !use.isWorker, !update.fields.contains("Service-Worker") else {
            return .refusal(
                403, "Files of releases are for apps, and are not shown as pages or run as workers here.")
        }
        let parts = update.path.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, try desk.hasRelease(String(parts[0]), of: update.app),
            let url = WebURL(update.app.storedBase + update.path)?.key,
            url.href.hasPrefix("\(update.app.storedBase)\(parts[0])/")
        else { return Self.missing }
        let view = try view()
        let (host, name) = (Array(Self.tierHost.utf8), Array(url.href.utf8))
        if let known = context.tier.value(for: host.span, name.span, now: view.time), known.isCurrent {
            return UpdateAnswer(known, .file)
        }
        guard let response = try desk.file(url.href), let body = response.body else { return Self.missing }
        guard case .whole(let content, let stamp) = try context.verifier.content(of: body, in: view.reader)
        else {
            context.notes?.addDamaged(body.sha256)
            return UpdateAnswer(
                .text(
                    500, "The stored file is damaged.\n", fields: [("Cache-Control", "no-store")],
                    sharing: .common),
                .failed)
        }
        let frame = try view.reader.bodies.frame(of: body)
        let digest = Base64.encode(body.sha256)
        var fields: [(name: String, value: String)] = [
            (
                "Content-Type",
                HTTPFields(block: response.fields.utf8.span)["Content-Type"] ?? "application/octet-stream"
            ),
            ("Cache-Control", "public, max-age=31536000, immutable"),
            ("ETag", "\"\(Hex.encode(body.sha256).prefix(32))\""), ("Repr-Digest", "sha-256=:\(digest):"),
        ]
        let isCoded = frame != nil || Self.canCompress(fields[0].value, body.byteCount)
        fields.append(("Vary", isCoded ? "Accept-Encoding, Sec-Fetch-Dest" : "Sec-Fetch-Dest"))
        fields += UpdateAnswer.sharedFields
        let answer: Answer
        let terms = dictionaryTerms(of: response, body, url, update.app)
        switch content {
        case .file(let path):
            let file = Answer.FileBody(path: path, byteCount: body.byteCount, stamp: stamp)
            answer = Answer(status: 200, fields: fields, file: file, sharing: .common, dictionary: terms)
        case .bytes(let bytes):
            answer = Answer(
                status: 200, fields: fields, body: bytes, zstdBody: frame, sharing: .common, dictionary: terms
            )
        }
        if context.verifier.allowsKeeping {
            context.tier.insert(
                answer, byteCount: answer.memoryByteCount, id: response.url, for: host.span, name.span,
                derivedIn: view.generation, now: view.time)
        }
        return UpdateAnswer(answer, .file)
    }

    /// Whether the client is a browser whose request does not name the purpose of the file (`Sec-Fetch-Dest`), so that the file
    /// may become a document. Browsers name it only for https and for addresses of this machine.
    private static func canBecomeDocument(_ fields: HTTPFields) -> Bool {
        !fields.contains("Sec-Fetch-Dest") && fields["User-Agent"]?.hasPrefix("Mozilla/") ?? false
    }

    /// The header that makes a browser give a document an origin of its own and run no scripts in it, also from its cache.
    /// Browsers ignore it for files that are not documents. Other clients do not get it, because they may store it and
    /// serve it with the file.
    private static let sandbox = Array("Content-Security-Policy: sandbox\r\n".utf8)

    /// The first part of the keys of files in memory. No `Host` has a space.
    private static let tierHost = "update files"

    // MARK: - Earlier versions

    /// The facts for sending only the difference to a client that has the same file of an earlier release (RFC 9842), also
    /// under a name with another hash. They also make the client offer this file later. Nil for files that are always sent
    /// whole: HTML, formats that are compressed already, and small or very large files.
    private func dictionaryTerms(
        of response: StoredResponse, _ body: StoredBody, _ url: WebURL, _ app: AppName
    ) -> DictionaryTerms? {
        let type = HTTPFields(block: response.fields.utf8.span).contentType
        let isCompressed = ["image", "audio", "video", "font"].contains {
            type?.essence.hasPrefix($0 + "/") ?? false
        }
        guard type?.isHTML != true, !isCompressed || type?.essence == "image/svg+xml",
            Self.dictionaryByteCounts.contains(body.byteCount)
        else { return nil }
        // A bundler gives a changed file another name: `main.*.js` stands for all names that differ only in a hash.
        let path = String(url.path.drop { $0 == "/" }.drop { $0 != "/" }.dropFirst())
        let match =
            UpdatePaths.files(app.text, "*") + DictionaryPattern.escaping(HashedName(path)?.family ?? path)
        return DictionaryTerms(
            rule: DictionaryRule.value(match: match, id: Hex.encode(body.sha256)), href: url.href,
            storedSHA256: body.sha256, snapshot: response.snapshot, match: match, isPrivate: false)
    }

    /// The sizes of files for which differences are sent. Smaller ones fit into a few packets anyway.
    private static let dictionaryByteCounts = 4096...DictionaryEncoder.maxBodyBytes

    /// The fields, and the difference if there is one, that replace parts of the answer for a client that knows dictionaries;
    /// nil for other clients.
    private func dictionary(
        for answer: Answer, _ update: UpdateRequest, _ request: Request
    ) throws(StoreError) -> CodedReply? {
        guard let terms = answer.dictionary, DictionaryExchange.canApply(to: request),
            WebURL(update.origin + "/")?.canUseDictionaries ?? false,
            DictionaryReadability.isReadable(update.fields, allowedOrigin: "*")
        else { return nil }
        let delta = try delta(of: answer, terms, update, request)
        let lines =
            "Use-As-Dictionary: \(terms.rule)\r\nVary: Accept-Encoding, Available-Dictionary, Sec-Fetch-Dest\r\n"
        // RFC 9530, section 3: with the difference, `Repr-Digest` would be the digest of the coded body.
        return CodedReply(
            replacedFields: delta == nil ? ["vary"] : ["vary", "repr-digest"], lines: Array(lines.utf8),
            body: delta.map { ($0, "dcz") })
    }

    /// The body in the coding `dcz`; nil if the client gets the whole body.
    private func delta(
        of answer: Answer, _ terms: DictionaryTerms, _ update: UpdateRequest, _ request: Request
    ) throws(StoreError) -> [UInt8]? {
        guard request.head.acceptsDCZ, request.head.method == .get, !request.head.isConditional,
            let offer = DictionaryOffer(update.fields)
        else { return nil }
        let view = try view()
        let key = DeltaCache.Key(
            dictionarySHA256: offer.sha256, href: terms.href, storedSHA256: terms.storedSHA256,
            rendering: Self.service)
        let generation = view.generation.number
        func earlier(_ sha256: [UInt8]) throws(StoreError) -> StoredBody? {
            try view.reader.earlierVersions(withBody: sha256, inSiteOfSnapshot: terms.snapshot, atMost: 1)
                .first?.body
        }
        switch try context.deltas.find(
            key, generation: generation,
            isStored: { (source) throws(StoreError) in
                try earlier(source) != nil
            })
        {
        case .known(let delta): return delta
        case .pending: return nil
        case .missing: break
        }
        do throws(StoreError) {
            var delta: [UInt8]?
            if let source = try earlier(offer.sha256), source.byteCount <= DictionaryEncoder.maxBodyBytes,
                let content = try view.reader.content(of: source), try source.isIntact(content),
                let dictionary = CompressionDictionary(try content.load(), sha256: offer.sha256),
                let body = answer.wholeBody(maxBytes: DictionaryEncoder.maxBodyBytes)
            {
                // A difference is sent only if it saves a fourth.
                let alternative = min(body.count, answer.zstdBody?.count ?? .max)
                delta = DictionaryEncoder.dcz(body, with: dictionary, maxBytes: alternative / 4 * 3)
            }
            context.deltas.finish(
                key, delta: delta, source: delta == nil ? nil : offer.sha256, generation: generation)
            return delta
        } catch {
            context.deltas.abandon(key)
            throw error
        }
    }

    private static var missing: UpdateAnswer { .refusal(404, "There is no such file of a release.") }
}
