internal import Bundles
internal import Codings
internal import Digest
internal import HTTPServer
internal import Origins
internal import Store
internal import System
internal import Web

/// Offers scripts and bundles to a client as compression dictionaries, and sends it later versions as the difference to
/// the version that it has (RFC 9842).
///
/// Example: a browser has `app.js` of the last snapshot. It offers the SHA-256 of that body, and gets the new one in
/// the coding `dcz`: some hundred bytes in place of a megabyte. A client that offers no dictionary, or one that the
/// store does not have, gets the whole body.
///
/// The dictionary is a body of the same origin and the same site of the store, and never a private one. The page must
/// be able to read the response (`DictionaryReadability`).
struct DictionaryExchange {
    private let exchange: MirrorExchange
    private var request: Request { exchange.request }
    private var context: MirrorContext { exchange.context }

    init(_ exchange: MirrorExchange) { self.exchange = exchange }

    /// Whether dictionaries can change the reply to a request. A client without a dictionary does not name the coding
    /// yet, but one that knows dictionaries knows zstd.
    static func canApply(to request: Request) -> Bool {
        let head = request.head
        return head.method != .other && (head.isForScriptOrStyle || head.acceptsDCZ || head.acceptsZstd)
    }

    /// Returns the reply as it is sent to this client.
    func apply(to reply: Reply) -> Reply {
        let (answer, fields) = (reply.answer, exchange.fields)
        guard let terms = answer.dictionary, answer.status == 200, Self.canApply(to: request),
            url?.canUseDictionaries ?? false,
            DictionaryReadability.isReadable(fields, allowedOrigin: allowedOrigin(in: reply))
        else { return reply }
        let delta = delta(of: answer, terms, fields)
        let isProxy = context.layout.isTransparent
        // In a page, only scripts and style sheets that an element loads are offered. The offer needs `Vary: *` there,
        // and `Cache.put` fails for responses with it.
        let isOffered = request.head.isForScriptOrStyle || !fields.contains("Sec-Fetch-Dest")
        guard isOffered || delta != nil else { return reply }
        var lines = ""
        var replaced: [StaticString] = []
        if isOffered, !terms.rule.isEmpty { lines += "Use-As-Dictionary: \(terms.rule)\r\n" }
        if isOffered, !isProxy {
            // Section 2.2.1: a dictionary must be fresh, or allowed to be served stale. It must still be validated at
            // each use. Programs know that by `max-age=0`. Chromium serves a stale response once, unless `Vary` is a
            // star and nothing else.
            let scope = terms.isPrivate ? "private, " : ""
            lines += "Cache-Control: \(scope)max-age=0, stale-while-revalidate=\(secondsOfUse(answer))\r\n"
            replaced = request.head.isForScriptOrStyle ? ["cache-control", "vary"] : ["cache-control"]
        }
        if delta != nil, let digest = answer.value(of: "repr-digest") {
            // RFC 9530, section 3: it would be the digest of the coded body.
            replaced.append("repr-digest")
            if answer.value(of: "unencoded-digest") == nil { lines += "Unencoded-Digest: \(digest)\r\n" }
        }
        let isForPage = isOffered && !isProxy && request.head.isForScriptOrStyle
        lines += isForPage ? "Vary: *\r\n" : "Vary: Accept-Encoding, Available-Dictionary\r\n"
        var reply = reply
        reply.coded = CodedReply(
            replacedFields: replaced, lines: Array(lines.utf8), body: delta.map { ($0, "dcz") })
        return reply
    }

    /// The URL that the client requested.
    private var url: WebURL? {
        context.layout.isTransparent
            ? exchange.proxied : WebURL("\(exchange.layout.scheme)://\(request.authority)/")
    }

    /// How long a client may use the response as a dictionary: 30 days from now. The response has the date of its
    /// origin, so that its age counts as well.
    private func secondsOfUse(_ answer: Answer) -> Int64 {
        let date = answer.date?.secondsSinceEpoch ?? 0
        return Self.secondsOfUse + max(0, date > 0 ? SystemClock.secondsSinceEpoch() - date : 0)
    }

    private static let secondsOfUse: Int64 = 30 * 86_400

    /// The `Access-Control-Allow-Origin` of the reply. A mirror adds it for each client.
    private func allowedOrigin(in reply: Reply) -> String? {
        if context.layout.isTransparent { return reply.answer.value(of: "access-control-allow-origin") }
        return HTTPFields(block: reply.clientFields.span)["Access-Control-Allow-Origin"]
    }

    // MARK: - Deltas

    /// The body in the coding `dcz`; nil if the client gets the whole body.
    private func delta(of answer: Answer, _ terms: DictionaryTerms, _ fields: HTTPFields) -> [UInt8]? {
        guard request.head.acceptsDCZ, request.head.method == .get, !fields.contains("Range"),
            let offer = DictionaryOffer(fields), !isCurrent(fields, answer)
        else { return nil }
        // If the store cannot be read, the whole body is already there.
        do throws(StoreError) { return try findDelta(of: answer, terms, offer) } catch { return nil }
    }

    /// Whether the client has the body already, so that it will get a 304.
    private func isCurrent(_ fields: HTTPFields, _ answer: Answer) -> Bool {
        guard let tag = answer.entityTag, let known = fields.joinedValues("If-None-Match") else {
            return false
        }
        let opaque = tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...]
        return known.utf8.contains(opaque.utf8)
    }

    private func findDelta(
        of answer: Answer, _ terms: DictionaryTerms, _ offer: DictionaryOffer
    ) throws(StoreError) -> [UInt8]? {
        let view = try exchange.view()
        let generation = view.generation.number
        let key = DeltaCache.Key(
            dictionarySHA256: offer.sha256, href: terms.href, storedSHA256: terms.storedSHA256,
            rendering: "\(request.authority) \(answer.entityTag ?? "") \(terms.isPrivate)")
        let finding = try context.deltas.find(key, generation: generation) { (source) throws(StoreError) in
            let found = try view.reader.earlierVersions(
                withBody: source, inSiteOfSnapshot: terms.snapshot, atMost: 1)
            return !found.isEmpty
        }
        switch finding {
        case .known(let delta): return delta
        case .pending: return nil
        case .missing: break
        }
        do throws(StoreError) {
            let made = try makeDelta(of: answer, terms, offer, view)
            context.deltas.finish(key, delta: made?.delta, source: made?.source, generation: generation)
            return made?.delta
        } catch {
            context.deltas.abandon(key)
            throw error
        }
    }

    /// A delta that saves a fourth of the body, and the SHA-256 of the stored body that the dictionary renders.
    private func makeDelta(
        of answer: Answer, _ terms: DictionaryTerms, _ offer: DictionaryOffer,
        _ view: MirrorResponder.StoreView
    ) throws(StoreError) -> (delta: [UInt8], source: [UInt8])? {
        guard let body = answer.wholeBody(maxBytes: DictionaryEncoder.maxBodyBytes),
            let (bytes, source) = try findDictionary(offer, answer, terms, view),
            let dictionary = CompressionDictionary(bytes, sha256: offer.sha256)
        else { return nil }
        let alternative = min(body.count, answer.zstdBody?.count ?? .max)
        guard let delta = DictionaryEncoder.dcz(body, with: dictionary, maxBytes: alternative / 4 * 3) else {
            return nil
        }
        return (delta, source)
    }

    /// The body that the client offers, and the SHA-256 of the stored body that it renders; nil if the store has none.
    private func findDictionary(
        _ offer: DictionaryOffer, _ answer: Answer, _ terms: DictionaryTerms,
        _ view: MirrorResponder.StoreView
    ) throws(StoreError) -> (bytes: [UInt8], source: [UInt8])? {
        guard let target = WebURL(terms.href), let pattern = DictionaryPattern(terms.match, base: target)
        else {
            return nil
        }
        // The id is the digest of the stored body. Bodies that are sent as they are stored need none.
        var candidates: [StoredResponse] = []
        for digest in [Hex.decode(offer.id), offer.sha256].compactMap(\.self) where digest.count == 32 {
            candidates += try view.reader.earlierVersions(
                withBody: digest, inSiteOfSnapshot: terms.snapshot, atMost: Self.maxCandidates)
        }
        candidates += try view.reader.earlierVersions(
            of: terms.href, inSiteOfSnapshot: terms.snapshot, atMost: Self.maxCandidates)
        let finder = exchange.finder(view)
        for candidate in candidates {
            guard let url = WebURL(candidate.href), url.origin == target.origin, pattern.matches(url),
                let body = candidate.body, body.byteCount <= DictionaryEncoder.maxBodyBytes,
                canBeDictionary(candidate, for: terms)
            else { continue }
            if body.sha256 == offer.sha256, let bytes = try view.reader.content(of: body)?.load(),
                Self.sha256(bytes) == offer.sha256
            {
                return (bytes, body.sha256)
            }
            // A proxy renders nothing.
            if context.layout.isTransparent { continue }
            let key = RenderedDigests.Key(
                storedSHA256: body.sha256, href: candidate.href,
                rendering: request.authority + (answer.entityTag ?? "").drop { $0 != "-" })
            if let known = context.renderedDigests[key], known != offer.sha256 { continue }
            let renderer = try exchange.renderer(of: url, finder, requestFields: exchange.fields)
            let earlier = try renderer.storedAnswer(
                try finder.makeFoundResponse(candidate, at: url), source: .hit([]))
            guard earlier.status == 200,
                let bytes = earlier.wholeBody(maxBytes: DictionaryEncoder.maxBodyBytes)
            else { continue }
            let digest = Self.sha256(bytes)
            context.renderedDigests.add(digest, for: key)
            if digest == offer.sha256 { return (bytes, body.sha256) }
        }
        return nil
    }

    /// Whether a difference to a stored version may be sent. A shared cache may store the difference if the answer is
    /// not private, and must not have a part of a private version by that.
    private func canBeDictionary(_ candidate: StoredResponse, for terms: DictionaryTerms) -> Bool {
        let directives = CacheDirectives(HTTPFields(block: candidate.fields.utf8.span))
        return !directives.noStore && (directives.isPrivate == nil || terms.isPrivate)
    }

    /// The maximum number of stored versions that are compared with an offered dictionary.
    private static let maxCandidates = 4

    private static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        DigestStream.digest(.sha256, of: bytes.span).bytes
    }
}

extension DictionaryTerms {
    /// The terms for a stored response; nil for one that is not compressed with earlier versions: it is no script,
    /// style sheet or bundle, it is for one requester only, its size is not worth it, or its server forbids changes.
    init?(of copy: FoundResponse, _ body: StoredBody, isBundle: Bool, isTransparent: Bool) {
        let type = copy.fields.contentType
        let isScript = type?.isJavaScript ?? false || type?.essence == "text/css"
        guard isBundle || isScript, type?.isHTML != true, copy.response.status == 200,
            // A pattern with two slashes would name a host.
            copy.response.request == .get, !copy.url.path.hasPrefix("//"),
            Self.byteCounts.contains(body.byteCount), !copy.sharing.isForOneRequester,
            copy.response.flags.isDisjoint(with: [.isPrivate, .isPart, .isCoded]),
            // RFC 9110, section 7.7: adding a coding is a transformation.
            !copy.fields.elements("Cache-Control").contains(where: { HTTPGrammar.matches($0, "no-transform") }
            ),
            // A proxy passes these fields on, which are about the bytes of the body.
            !isTransparent || !Self.digestFields.contains(where: { copy.fields.contains($0) })
        else { return nil }
        let match = Self.match(copy.url)
        // The clients of a proxy may use the dictionaries of the origin.
        let hasRule = isTransparent && copy.fields.contains("Use-As-Dictionary")
        self.init(
            rule: hasRule ? "" : DictionaryRule.value(match: match, id: Hex.encode(body.sha256)),
            href: copy.url.href, storedSHA256: body.sha256, snapshot: copy.response.snapshot, match: match,
            isPrivate: CacheDirectives(copy.fields).isPrivate != nil)
    }

    private static let digestFields = ["Content-Digest", "Repr-Digest", "Digest", "Content-MD5"]

    /// Smaller bodies fit into a few packets anyway.
    private static let byteCounts = 4096...DictionaryEncoder.maxBodyBytes

    /// The pattern of the URLs that have versions of the same content: `/assets/app.*.js` for a name with a hash. The
    /// query of a file is its version, and that of any other path selects the content.
    private static func match(_ url: WebURL) -> String {
        let path = DictionaryPattern.escaping(HashedName(url.path)?.family ?? url.path)
        let isFile = url.path.utf8.reversed().prefix { $0 != UInt8(ascii: "/") }.contains(UInt8(ascii: "."))
        guard !isFile, let query = url.query else { return path }
        return path + "\\?" + DictionaryPattern.escaping(query)
    }
}
