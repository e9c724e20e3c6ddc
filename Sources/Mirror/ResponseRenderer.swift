internal import Bundles
internal import HTTPServer
internal import Markup
internal import Origins
internal import Portal
internal import Store
internal import System
internal import Web

/// Renders a stored or loaded response: rewrites its links to mirror addresses, and leaves every other byte unchanged.
///
/// The link table of a body has the byte ranges of its links, so that rendering only splices: it copies the bytes
/// between the links. A body without links to rewrite is sent from its file. A large one is spliced while it is sent
/// (`minStreamedSpliceBytes`). A verified bundle is sent without any change (`isSentUnmodified`).
final class ResponseRenderer {
    let finder: ResponseFinder
    let layout: OriginLayout
    /// Nil if pages get no shim.
    let shim: Shim?
    let verifier: BodyVerifier
    /// Whether a browser shows the copy in a window or frame, rather than inserting it into a document.
    private let isShown: Bool
    /// Whether the copy becomes a service worker.
    private let isWorker: Bool
    /// Whether the copy becomes a worker of any kind, which a page's shim does not reach.
    private let isAnyWorker: Bool
    /// Whether a page applies the copy as a style sheet.
    private let isStyle: Bool
    /// The language of the page bar.
    private let language: PortalLanguage
    private lazy var scanner = LinkScanner()
    /// Whether the result is only for this kind of use.
    private(set) var dependsOnUse = false
    /// The start of the fixed clock that pages of this site have; nil for other sites.
    private var steadySince: Int?
    /// A statement before the script (``FoundResponse/callbackAlias``).
    private var callbackAlias = ""
    /// A notice at the end of the document.
    var notice: [UInt8] = []
    /// The keys of the entries of `localStorage` without which a document starts (`ScriptCopies`).
    var scriptCopyKeys: [String] = []
    /// The script element that replays live messages (`SocketReplay`), for an HTML document.
    var replay: [UInt8] = []

    init(
        finder: ResponseFinder, layout: OriginLayout, shim: Shim?, verifier: BodyVerifier,
        requestFields: HTTPFields, barLanguage: PortalLanguage? = nil
    ) {
        self.finder = finder
        self.layout = layout
        self.shim = shim
        self.verifier = verifier
        isShown =
            requestFields.isNavigation || ["object", "embed"].contains(requestFields["Sec-Fetch-Dest"] ?? "")
        // Scripts that a service worker imports are requested without `Service-Worker`, and run before the
        // script itself.
        isWorker =
            requestFields["Service-Worker"] == "script" || requestFields["Sec-Fetch-Dest"] == "serviceworker"
        isAnyWorker = FetchUse(requestFields).isWorker
        isStyle = requestFields["Sec-Fetch-Dest"] == "style"
        language =
            barLanguage
            ?? PortalLanguage(
                accepting: layout.hasBar ? requestFields.joinedValues("Accept-Language") : nil)
        fields = finder.fields
    }

    /// Makes the header fields of the answer.
    private var fields: AnswerFields

    /// Renders a stored response.
    ///
    /// - Parameter bundle: the bundle that a manifest requires here.
    func storedAnswer(
        _ copy: FoundResponse, source: AnswerSource, bundle: BundleComparison? = nil
    ) throws(StoreError) -> Answer {
        steadySince = SteadyTime.since(copy.fields)
        // Such an answer has other header fields, and a document has the bar.
        if layout.hasBar { dependsOnUse = true }
        callbackAlias = copy.callbackAlias
        var copy = copy
        // A page with other messages or none has the same validators.
        if !replay.isEmpty { copy.fields.remove("Last-Modified") }
        if steadySince != nil, copy.fields.contentType?.isJavaScript == true { dependsOnUse = true }
        // At the requested URL, relative links would resolve differently.
        if copy.change.contains(.slash) { return leading(to: copy, source) }
        guard let body = copy.response.body else { return answerWithoutBody(copy, source) }
        let isRequired = bundle != nil
        if layout.isTransparent { return try proxyAnswer(copy, body, bundle) }
        guard
            case .whole(let content, let stamp) = try verifier.content(
                of: body, in: finder.reader, isRequired: isRequired),
            let table = try links(of: body)
        else {
            let text = "The stored body of \(copy.url.href) is damaged; prefetch it again.\n"
            return .text(500, text, fields: layout.fields(of: copy.url), sharing: Sharing(missing: copy.url))
        }
        let format = BodyFormat(form: body.form) ?? .opaque
        let tag =
            hasPrefix(copy.url) || format.isPlaylist || !replay.isEmpty
            ? nil
            : body.entityTag(
                type: copy.fields["Content-Type"], layout: layout, shim: shim.map { _ in isShown },
                steadySince: steadySince, scriptCopyKeys: format.isDocument ? scriptCopyKeys : [])
        let sharing = copy.sharing
        if let bundle {
            if bundle.isVerified, isSentUnmodified(format, copy.fields, copy.url) {
                return try unmodifiedAnswer(copy, (content, stamp), body, source, bundle)
            }
            if !bundle.isVerified { fields.added = bundle.differingFields }
        }
        let terms = dictionaryTerms(of: copy, body, isBundle: false)
        // Nothing in the body changes: it is sent from its file without being read.
        if case .file(let path) = content, table.marks.isEmpty, !isRewritten(table, of: copy.url),
            !hasPrefix(copy.url), !hasBar(format), !format.isPlaylist
        {
            let file = Answer.FileBody(path: path, byteCount: body.byteCount, stamp: stamp)
            let ownTag = finder.fields.isProxy ? copy.fields["ETag"] : tag
            var outgoing = fields.fields(
                of: copy.fields, base: copy.url, source: source, sharing: sharing, entityTag: ownTag)
            addSignatures(of: copy, source, to: &outgoing)
            return Answer(
                status: copy.response.status, fields: outgoing, file: file, sharing: sharing,
                dictionary: terms)
        }
        let bytes = try content.load()
        // A large body is spliced while it is sent. The patch has only the changed ranges.
        if case .file(let path) = content, bytes.count >= Self.minStreamedSpliceBytes, !table.isTranscoded,
            !hasPrefix(copy.url)
        {
            let patch = try patch(for: bytes, table, copy.url, format)
            let file = Answer.FileBody(
                path: path, byteCount: patch.byteCount, patch: patch.isEmpty ? nil : patch.compactCopy(),
                stamp: stamp)
            let ownTag = finder.fields.isProxy && patch.isEmpty ? copy.fields["ETag"] : tag
            var outgoing = fields.fields(
                of: copy.fields, base: copy.url, source: source, sharing: sharing, entityTag: ownTag)
            if patch.isEmpty { addSignatures(of: copy, source, to: &outgoing) }
            return Answer(
                status: copy.response.status, fields: outgoing, file: file, sharing: sharing,
                dictionary: terms)
        }
        return try rewrittenAnswer(
            status: copy.response.status, copy.fields, copy.url, (bytes, table, format), source, sharing,
            tag: tag, storedBody: body, received: copy.response.fetched, dictionary: terms)
    }

    /// A proxy answers with the response as it is stored.
    private func proxyAnswer(
        _ copy: FoundResponse, _ body: StoredBody, _ bundle: BundleComparison?
    ) throws(StoreError) -> Answer {
        let stored = bundle?.allowedFields(of: copy.fields, at: copy.url) ?? copy.fields
        let outgoing = fields.fields(of: stored, base: copy.url, source: .hit([]), sharing: copy.sharing)
        guard
            case .whole(let content, let stamp) = try verifier.content(
                of: body, in: finder.reader, isRequired: bundle != nil)
        else {
            let text = "The stored body of \(copy.url.href) is damaged; fetch it again.\n"
            return .text(500, text, fields: [("Larder", "damaged")], sharing: copy.sharing)
        }
        let terms = dictionaryTerms(of: copy, body, isBundle: bundle?.isVerified ?? false)
        if case .file(let path) = content {
            let file = Answer.FileBody(path: path, byteCount: body.byteCount, stamp: stamp)
            return Answer(
                status: copy.response.status, fields: outgoing, file: file, sharing: copy.sharing,
                freshness: copy.freshness, variant: copy.response.variant, dictionary: terms)
        }
        return Answer(
            status: copy.response.status, fields: outgoing, body: try content.load(), sharing: copy.sharing,
            freshness: copy.freshness, variant: copy.response.variant, dictionary: terms)
    }

    /// Whether a bundle is sent unchanged, as apps need it. Documents that a person opens, and their style
    /// sheets, are rewritten all the same.
    private func isSentUnmodified(_ format: BodyFormat, _ stored: HTTPFields, _ url: WebURL) -> Bool {
        let isForPages = format.isDocument || stored.contentType?.essence == "text/css"
        if isForPages { dependsOnUse = true }
        return !hasPrefix(url) && (format.isDocument ? !isShown : !isStyle)
    }

    /// The answer with a verified bundle, byte for byte, and with its digests.
    private func unmodifiedAnswer(
        _ copy: FoundResponse, _ found: (content: BodyContent, stamp: FileStamp?), _ body: StoredBody,
        _ source: AnswerSource,
        _ bundle: BundleComparison
    ) throws(StoreError) -> Answer {
        let sharing = copy.sharing
        var outgoing =
            fields.fields(
                of: bundle.allowedFields(of: copy.fields, at: copy.url), base: copy.url, source: source,
                sharing: sharing,
                entityTag: bundle.tag)
            + bundle.fields
        addSignatures(of: copy, source, to: &outgoing)
        let terms = dictionaryTerms(of: copy, body, isBundle: true)
        if case .file(let path) = found.content {
            let file = Answer.FileBody(path: path, byteCount: body.byteCount, stamp: found.stamp)
            return Answer(
                status: copy.response.status, fields: outgoing, file: file, sharing: sharing,
                dictionary: terms)
        }
        return Answer(
            status: copy.response.status, fields: outgoing, body: try found.content.load(), sharing: sharing,
            dictionary: terms)
    }

    /// The size from which on bodies are spliced while they are sent, and not in memory.
    private static let minStreamedSpliceBytes = 1024 * 1024

    /// Renders a response that was just loaded or is stored only in memory.
    func loadedAnswer(
        _ status: Int, _ stored: HTTPFields, _ url: WebURL, _ loaded: LoadedBody, _ source: AnswerSource,
        _ sharing: Sharing, bundle: BundleComparison? = nil
    ) throws(StoreError) -> Answer {
        let (format, table) = (loaded.reading.format, loaded.reading.table)
        if layout.isTransparent {
            let allowed = bundle?.allowedFields(of: stored, at: url) ?? stored
            return fields.proxyAnswer(status, allowed, url, loaded.bytes)
        }
        if let bundle, bundle.isVerified, isSentUnmodified(format, stored, url) {
            var outgoing =
                fields.fields(
                    of: bundle.allowedFields(of: stored, at: url), base: url, source: source,
                    sharing: sharing,
                    entityTag: bundle.tag)
                + bundle.fields
            outgoing += ServedSignatures(layout: layout).fields(
                of: stored, beside: outgoing, status: status, url, source,
                received: SystemClock.secondsSinceEpoch())
            return Answer(status: status, fields: outgoing, body: loaded.bytes, sharing: sharing)
        }
        return try rewrittenAnswer(
            status: status, stored, url, (loaded.bytes, table, format), source, sharing, tag: nil)
    }

    /// Renders a response that is stored only in memory; nil if it lacks the requested part.
    func memoryAnswer(
        _ copy: MemoryResponse, _ entry: CacheEntry, _ request: CacheRequest, _ source: AnswerSource,
        _ now: HTTPDate
    ) throws(StoreError) -> Answer? {
        let stored = entry.servedFields(at: now)
        let sharing = Sharing(loaded: stored, request.url, withCredentials: copy.isPrivate)
        switch copy.body {
        case .whole(let body):
            return try loadedAnswer(entry.status, stored, request.url, body, source, sharing)
        case .parts(let parts):
            guard let wanted = request.fields["Range"].flatMap({ ByteRanges($0) }),
                let part = parts.part(wanted)
            else { return nil }
            var outgoing = fields.fields(
                of: stored, base: request.url, source: source, sharing: sharing, entityTag: ownTag(stored))
            outgoing.append(("Content-Range", part.range.text))
            return Answer(status: 206, fields: outgoing, body: part.bytes, sharing: sharing)
        }
    }

    /// The answer to a HEAD request.
    func headAnswer(_ status: Int, _ stored: HTTPFields, _ url: WebURL, _ sharing: Sharing) -> Answer {
        let outgoing = fields.fields(
            of: stored, base: url, source: .loaded, sharing: sharing, entityTag: ownTag(stored))
        return Answer(headOf: status, fields: outgoing, byteCount: stored.contentLength, sharing: sharing)
    }

    /// The origin's entity tag, unless it is among the fields that are sent anyway.
    private func ownTag(_ stored: HTTPFields) -> String? { layout.isTransparent ? nil : stored["ETag"] }

    /// The bytes of a body, its links, and its format.
    private typealias Body = (bytes: [UInt8], table: LinkTable, format: BodyFormat)

    /// The answer with the rewritten body.
    private func rewrittenAnswer(
        status: Int, _ stored: HTTPFields, _ url: WebURL, _ body: Body, _ source: AnswerSource,
        _ sharing: Sharing,
        tag: String?, storedBody: StoredBody? = nil, received: Int64 = SystemClock.secondsSinceEpoch(),
        dictionary: DictionaryTerms? = nil
    ) throws(StoreError) -> Answer {
        let bytes = body.table.source(of: body.bytes.span) ?? body.bytes
        let patch = try patch(for: bytes, body.table, url, body.format)
        var shown = patch.apply(to: bytes)
        if hasPrefix(url) { shown = prefix(of: body.bytes, url) + shown }
        // The origin's entity tag identifies only the origin's bytes.
        let isSame = finder.fields.isProxy && shown == body.bytes
        var outgoing = fields.fields(
            of: stored, base: url, source: source, sharing: sharing, entityTag: isSame ? stored["ETag"] : tag)
        if body.table.isTranscoded { outgoing.setUTF8() }
        // Else a browser could use its cached copy of the script without the prefix, or of a playlist from before other
        // renditions were stored.
        if hasPrefix(url) || body.format.isPlaylist {
            outgoing.removeAll { ["last-modified", "etag"].contains($0.0.lowercased()) }
        }
        // A part, or the refusal of one, that was requested from the origin.
        if status == 206 || status == 416, let range = stored["Content-Range"] {
            outgoing.append(("Content-Range", range))
        } else if shown == body.bytes {
            outgoing += ServedSignatures(layout: layout).fields(
                of: stored, beside: outgoing, status: status, url, source, received: received)
        }
        var frame: [UInt8]?
        if let storedBody, patch.isEmpty, !hasPrefix(url), !body.table.isTranscoded,
            canSendStoredFrame(status, stored)
        {
            frame = try finder.reader.bodies.frame(of: storedBody)
            if frame != nil { outgoing.append(("Vary", "Accept-Encoding")) }
        }
        return Answer(
            status: status, fields: outgoing, body: shown, zstdBody: frame, sharing: sharing,
            dictionary: dictionary)
    }

    /// How a stored response may be compressed with its earlier versions; nil if it may not.
    private func dictionaryTerms(
        of copy: FoundResponse, _ body: StoredBody, isBundle: Bool
    ) -> DictionaryTerms? {
        guard layout.snapshot == nil, layout.keepsRelativeLinks(of: copy.url), copy.change.isEmpty,
            // Such scripts differ by their use.
            steadySince == nil, !hasPrefix(copy.url), replay.isEmpty
        else { return nil }
        return DictionaryTerms(of: copy, body, isBundle: isBundle, isTransparent: layout.isTransparent)
    }

    /// Whether an unchanged body may be sent as its stored compressed frame: no field refers to its bytes,
    /// and no-transform is not set (RFC 9111 §5.2.2.6).
    private func canSendStoredFrame(_ status: Int, _ stored: HTTPFields) -> Bool {
        status == 200 && !finder.fields.isProxy && !Self.ofBytes.contains { stored.contains($0) }
            && !stored.elements("Cache-Control").contains { HTTPGrammar.matches($0, "no-transform") }
    }

    /// Header fields whose values refer to the exact bytes of the body.
    private static let ofBytes = [
        "Content-Encoding", "Content-Digest", "Repr-Digest", "Digest", "Content-MD5",
    ]

    // MARK: - Bodies

    /// The link table of a stored body; nil if it cannot be decoded.
    private func links(of body: StoredBody) throws(StoreError) -> LinkTable? {
        let encoded = try finder.reader.links(of: body)
        // An invalid link table is treated as damaged.
        return try scanner.table(stored: encoded, form: body.form) { () throws(StoreError) in
            try finder.reader.content(of: body)?.load()
        }
    }

    /// Whether rendering changes the body. If paths are kept, only links that name an origin change.
    private func isRewritten(_ table: LinkTable, of url: WebURL) -> Bool {
        if table.isTranscoded { return true }
        return layout.keepsRelativeLinks(of: url)
            ? table.occurrences.contains { $0.flags.contains(.namesOrigin) } : !table.occurrences.isEmpty
    }

    /// Adds the origin's signatures to an answer with the unchanged body, if they hold here.
    private func addSignatures(
        of copy: FoundResponse, _ source: AnswerSource, to outgoing: inout [(String, String)]
    ) {
        outgoing += ServedSignatures(layout: layout).fields(
            of: copy.fields, beside: outgoing, status: copy.response.status, copy.url, source,
            received: copy.response.fetched)
    }

    /// The changes to an `integrity` attribute that the body would no longer satisfy here, although the origin's
    /// response does: the body is rewritten, or its signatures do not hold in a mirror. An attribute that the original
    /// response does not satisfy is kept, so that the browser still refuses the body.
    private func changes(
        toIntegrity mark: DocumentMark, of url: WebURL, in source: [UInt8]
    ) throws(StoreError) -> [Patch.Change] {
        let integrity = Integrity(
            String(decoding: IntegrityScanner.value(of: mark, in: source.span), as: UTF8.self))
        let candidates = [url.withoutFragment.href]
        let copy = try finder.find(candidates, request: .get, requestFields: [:], rules: nil)
        guard let copy, let body = copy.response.body, let table = try links(of: body) else { return [] }
        let isRewritten = isRewritten(table, of: copy.url)
        guard isRewritten || integrity.requiresSignature,
            let bytes = try finder.reader.content(of: body)?.load()
        else { return [] }
        let stated = copy.statedIntegrity
        guard integrity.isMet(by: bytes.span, stated) else { return [] }
        let renamed = [Patch.Change(at: mark.offset, "data-hash")]
        if isRewritten { return renamed }
        let served = AnswerSource.hit(copy.change)
        let outgoing = fields.fields(of: copy.fields, base: copy.url, source: served, sharing: copy.sharing)
        let areValid = ServedSignatures(layout: layout).areValid(
            stated, ServedSignatures.fields(in: copy.fields), beside: outgoing, status: copy.response.status,
            copy.url, isOfRequestedURL: served.isOfRequestedURL, received: copy.response.fetched)
        if areValid { return [] }
        // The digest still holds, so only the keys must go. Browsers ignore words with unknown names.
        let names = IntegrityScanner.ranges(ofName: "ed25519", in: mark, source.span)
        guard integrity.algorithm != nil, !names.isEmpty, names.count == integrity.keys.count else {
            return renamed
        }
        return names.map { Patch.Change(at: $0.lowerBound, "ignored") }
    }

    /// The patch for the links of a body and the marks of a document.
    ///
    /// - Parameter source: the bytes that the ranges of the table refer to.
    private func patch(
        for source: [UInt8], _ table: LinkTable, _ url: WebURL, _ format: BodyFormat
    ) throws(StoreError) -> Patch {
        let changes = try changes(of: source, table, url, format)
        if layout.keepsRelativeLinks(of: url) {
            return Patch(source.span, table, only: .namesOrigin, changes: changes) { _, reference in
                address(reference, url, table)
            }
        }
        let mapping = LinkRelocator(layout: layout, table: table, url: url)
        return Patch(source.span, table, changes: changes, replacement: mapping.replacement)
    }

    /// The changes to a document. They overwrite, with the same length, everything that would keep a browser
    /// from showing it here: policies that name original origins, integrity values of rewritten bodies, and
    /// referrer policies that would hide the requesting page. They insert the shim before all scripts.
    private func changes(
        of source: [UInt8], _ table: LinkTable, _ url: WebURL, _ format: BodyFormat
    ) throws(StoreError) -> [Patch.Change] {
        var changes = try renditionChanges(of: source, table, url, format)
        // The policy of a page with a notice allows no scripts.
        var lacksBar = hasBar(format) && notice.isEmpty
        let bar = lacksBar ? PageBar.tag(of: url, layout, language) : []
        for mark in table.marks {
            switch mark.kind {
            case .policy: changes.append(Patch.Change(at: mark.offset, "original-content-policy"))
            case .referrer: changes.append(Patch.Change(at: mark.offset, "original"))
            case .referrerPolicy: changes.append(Patch.Change(at: mark.offset, "data-refpolicy"))
            case .integrity:
                // If the body is unchanged, the browser goes on checking it.
                let reference = table.reference(table.occurrences[mark.occurrence], in: source.span)
                let base = table.base.flatMap { WebURL($0, base: url) } ?? url
                if let target = WebURL(utf8: reference.span, base: base, queryEncoding: table.encoding) {
                    changes += try self.changes(toIntegrity: mark, of: target, in: source)
                }
            case .start, .startOfFragment:
                if lacksBar {
                    changes.append(Patch.Change(mark.offset..<mark.offset, bar))
                    lacksBar = false
                }
                guard let shim, notice.isEmpty else { continue }
                if mark.kind == .startOfFragment { dependsOnUse = true }
                guard mark.kind == .start || isShown else { continue }
                if !scriptCopyKeys.isEmpty { dependsOnUse = true }
                let tag = shim.tag(
                    format, layout, steadySince: steadySince, scriptCopyKeys: scriptCopyKeys)
                changes.append(Patch.Change(mark.offset..<mark.offset, format == .html ? tag + replay : tag))
            }
        }
        // A document without scripts has no such mark: the bar goes to its end.
        if lacksBar { changes.append(Patch.Change(source.count..<source.count, bar)) }
        if !notice.isEmpty { changes.append(Patch.Change(source.count..<source.count, notice)) }
        return changes
    }

    /// The changes that remove the renditions of a playlist that are not stored, so that a player never chooses one.
    private func renditionChanges(
        of source: [UInt8], _ table: LinkTable, _ url: WebURL, _ format: BodyFormat
    ) throws(StoreError) -> [Patch.Change] {
        guard format.isPlaylist, !table.isTranscoded, let list = RenditionList(source.span, format: format)
        else { return [] }
        let base = table.base.flatMap { WebURL($0, base: url) } ?? url
        return try list.unstoredRanges { (reference) throws(StoreError) in
            guard let target = WebURL(reference, base: base) else { return false }
            return try finder.find([target.key], request: .get, requestFields: [:], rules: nil) != nil
        }.map { Patch.Change($0, []) }
    }

    private func hasBar(_ format: BodyFormat) -> Bool { format == .html && layout.hasBar }

    private func isRootsWorker(_ url: WebURL) -> Bool { isWorker && layout.isPublished(url) }

    /// Whether code is inserted before a script.
    private func hasPrefix(_ url: WebURL) -> Bool {
        isRootsWorker(url) || isAnyWorker && steadySince != nil || !callbackAlias.isEmpty
    }

    /// The code before a script. It makes a script call the requested function. A worker of the root must not intercept
    /// other sites; a worker of a steady site gets the time of its pages.
    private func prefix(of script: [UInt8], _ url: WebURL) -> [UInt8] {
        dependsOnUse = true
        if !callbackAlias.isEmpty { return Array(callbackAlias.utf8) }
        return ShimScript.prefix(
            of: script, isGuarded: isRootsWorker(url), steadySince: isAnyWorker ? steadySince : nil)
    }

    /// An origin without a trailing slash stays without: scripts compare it with `event.origin`.
    private func address(_ reference: Span<UInt8>, _ base: WebURL, _ table: LinkTable) -> String? {
        guard let target = WebURL(utf8: reference, base: base, queryEncoding: table.encoding),
            let address = layout.address(of: target)
        else { return nil }
        let isBare =
            target.target == "/" && target.fragment == nil && reference.count > 0
            && reference[reference.count - 1] != UInt8(ascii: "/")
        return isBare ? String(address.dropLast()) : address
    }

    // MARK: - Answers without a body

    /// A redirect, or a confirmed 404 or 410.
    private func answerWithoutBody(_ copy: FoundResponse, _ source: AnswerSource) -> Answer {
        let sharing = copy.sharing
        let outgoing = fields.fields(of: copy.fields, base: copy.url, source: source, sharing: sharing)
        // Bodies of tombstones are not stored, so a text takes their place; other responses had none.
        if !copy.response.isTombstone || fields.isProxy {
            return Answer(status: copy.response.status, fields: outgoing, body: [], sharing: sharing)
        }
        let text = "The origin answered \(copy.response.status) for \(copy.url.href) when it was fetched.\n"
        return Answer(
            status: copy.response.status, fields: outgoing.filter { $0.0 != "Content-Type" },
            body: Array(text.utf8),
            sharing: sharing)
    }

    /// A redirect to the URL with or without the trailing slash, under which the response is stored.
    private func leading(to copy: FoundResponse, _ source: AnswerSource) -> Answer {
        let sharing = copy.sharing
        return .redirect(
            to: layout.address(of: copy.url) ?? layout.home,
            fields: fields.mirrorFields(source, copy.url, sharing),
            sharing: sharing)
    }
}

/// Rewrites the links of a body that is served below another path.
struct LinkRelocator {
    private let layout: OriginLayout
    private let table: LinkTable
    private let url: WebURL
    private let base: WebURL
    /// The mirror addresses of `url` and `base`.
    private let localURL: WebURL?
    private let localBase: WebURL?

    init(layout: OriginLayout, table: LinkTable, url: WebURL) {
        self.layout = layout
        self.table = table
        self.url = url
        base = table.base.flatMap { WebURL($0, base: url) } ?? url
        localURL = Self.local(url, layout)
        localBase = Self.local(base, layout)
    }

    /// The new link; nil if the link already resolves correctly.
    func replacement(_ occurrence: LinkOccurrence, _ reference: Span<UInt8>) -> String? {
        if occurrence.flags.contains(.isFragment) { return nil }
        let namesOrigin = occurrence.flags.contains(.namesOrigin)
        // A guessed link may not be a URL at all, so it stays unless it names an origin.
        if occurrence.flags.contains(.isGuess), !namesOrigin { return nil }
        let ignoresBase = occurrence.flags.contains(.ignoresBase)
        let base = ignoresBase ? url : base
        guard let target = WebURL(utf8: reference, base: base, queryEncoding: table.encoding),
            let address = layout.address(of: target)
        else { return nil }
        if namesOrigin { return address }
        // Relative to `codebase`, which is a link of its own.
        if occurrence.flags.contains(.hasCodebase) { return nil }
        let read = WebURL(
            utf8: reference, base: ignoresBase ? localURL : localBase, queryEncoding: table.encoding)
        let wanted = Self.local(target, layout)
        return read?.href == wanted?.href ? nil : address
    }

    /// The mirror address of a URL, as a URL against which links are resolved.
    ///
    /// Any host will do if the address has none, as long as it is the same for all.
    private static func local(_ url: WebURL, _ layout: OriginLayout) -> WebURL? {
        layout.address(of: url).flatMap {
            WebURL($0, base: WebURL("\(layout.scheme)://\(layout.authority ?? "larder")/"))
        }
    }
}
