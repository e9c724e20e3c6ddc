internal import Markup
internal import Store
internal import Web

/// Answers from the larder and from nowhere else. It belongs to one server thread, as its reader does; the tier is
/// everybody's.
final class MirrorResponder: Responder {
    private let layout: OriginLayout
    private let fields: AnswerFields
    private let portal: Portal
    private var store: WatchedStore
    private let tier: MemoryTier<Answer>

    init(_ store: WatchedStore, port: UInt16, tier: MemoryTier<Answer>) {
        self.store = store
        layout = OriginLayout(port: port)
        fields = AnswerFields(layout: layout)
        portal = Portal(layout: layout)
        self.tier = tier
    }

    func respond(to request: Request) -> Reply {
        let answer = conditional(answer(to: request), request)
        return Reply(answer: answer, ownFields: request.origin.map(layout.crossOriginFields) ?? [])
    }

    private func answer(to request: Request) -> Answer {
        guard request.head.method != .other else {
            return plain(405, "The larder answers GET and HEAD.", fields: [("Allow", "GET, HEAD")])
        }
        let now = CoarseClock.seconds()
        let generation = store.generation(in: tier, at: now)
        do throws(StoreError) {
            // First: when it cannot be read, what was read before is not so any more.
            let reader = try store.reader
            if let known = tier.value(for: request.host.span, request.target.span, now: now) { return known }
            let (answer, url) = try find(request, in: reader)
            if let url {
                tier.keep(
                    answer, byteCount: answer.bytes.capacity, id: url, for: request.host.span, request.target.span,
                    madeIn: generation, now: now)
            }
            return answer
        } catch {
            return plain(500, "\(error)")
        }
    }

    /// The answer, and the number of the URL that it shows when it stays true until the store changes.
    private func find(_ request: Request, in reader: StoreReader) throws(StoreError) -> (Answer, url: Int64?) {
        let authority = String(decoding: request.host, as: UTF8.self)
        let target = String(decoding: request.target, as: UTF8.self)
        guard let name = hostName(of: authority) else { return (refusal(authority), nil) }
        if Portal.isName(name) { return (try portal.answer(target, reader: reader), nil) }
        let origins = OriginNames.origins(of: name)
        guard !origins.isEmpty else { return (refusal(authority), nil) }
        for address in Self.spellings(of: target).flatMap({ target in origins.map { $0 + target } }) {
            guard let url = WebURL(address), let response = try reader.response(for: url.href) else { continue }
            let stored = HTTPFields(block: response.fields.utf8.span)
            // What it leads to is held under the other scheme, or not at all.
            if response.isRedirect, fields.leadToThemselves(stored, base: url) { continue }
            return try show(response, stored, url, reader)
        }
        return (MissPage.answer(origins[0] + target, accept: request.accept, layout: layout), nil)
    }

    /// As it was asked for, and as the URL standard would have written it: Chromium sends the `|` of a path as `%7C`.
    private static func spellings(of target: String) -> [String] {
        target.utf8.contains("%7C".utf8) ? [target, target.replacing("%7C", with: "|")] : [target]
    }

    private func show(
        _ response: StoredResponse, _ stored: HTTPFields, _ url: WebURL, _ reader: StoreReader
    ) throws(StoreError) -> (Answer, url: Int64?) {
        guard let body = response.body else { return (showBodiless(response, stored, url), response.url) }
        guard let content = try reader.content(of: body) else {
            return (plain(500, "The body of \(url.href) is damaged; prefetch it again."), nil)
        }
        let encoded = try reader.links(of: body)
        guard let table = try? LinkTable(decoding: encoded.span) else {
            return (plain(500, "The links of \(url.href) are damaged; prefetch it again."), nil)
        }
        let tag = body.entityTag(type: stored["Content-Type"], port: layout.port)
        var outgoing = fields.fields(of: stored, base: url, entityTag: tag)
        if table.isTranscoded { outgoing.sayUTF8() }
        let needsSplicing = table.isTranscoded || table.occurrences.contains { $0.flags.contains(.namesOrigin) }
        if case .file(let path) = content, !needsSplicing {
            let file = Answer.FileBody(path: path, byteCount: body.byteCount)
            return (Answer(status: response.status, fields: outgoing, file: file), response.url)
        }
        let bytes = try content.load()
        let shown = needsSplicing ? splice(bytes, table, url) : bytes
        return (Answer(status: response.status, fields: outgoing, body: shown), response.url)
    }

    /// A redirect, or what was confirmed not to be there.
    private func showBodiless(_ response: StoredResponse, _ stored: HTTPFields, _ url: WebURL) -> Answer {
        let outgoing = fields.fields(of: stored, base: url)
        if response.isRedirect { return Answer(status: response.status, fields: outgoing, body: []) }
        let text = "\(url.href) answered \(response.status) when it was fetched.\n"
        return Answer(
            status: response.status, fields: outgoing.filter { $0.0 != "Content-Type" }, body: Array(text.utf8))
    }

    /// Only references that name an origin leave their own: all others already lead where they should.
    private func splice(_ bytes: [UInt8], _ table: LinkTable, _ url: WebURL) -> [UInt8] {
        var output: [UInt8] = []
        Splicer.splice(bytes.span, table, only: .namesOrigin, into: &output) { _, reference in
            WebURL(utf8: reference, base: url, queryEncoding: table.encoding).flatMap(layout.address)
        }
        return output
    }

    /// RFC 9110 §13.2.1: a condition counts only where the answer would be a success without it. A tag is looked for with
    /// its quotes, so that finding it in the list is finding it as a member.
    private func conditional(_ answer: Answer, _ request: Request) -> Answer {
        guard request.head.ifNoneMatch != nil, let tag = answer.entityTag, (200..<300).contains(answer.status),
            let asked = request.ifNoneMatch, asked == "*" || asked.utf8.contains(tag.utf8)
        else { return answer }
        return Answer(
            status: 304, fields: [("ETag", tag), ("Cache-Control", "no-cache"), ("Vary", "Origin")], body: [])
    }

    /// The host without the port, in lower case. Nil when the port is another one: then the name is not ours.
    private func hostName(of authority: String) -> String? {
        WebURL("http://\(authority)/").flatMap { url in
            url.hasCredentials || url.path != "/" || url.effectivePort != Int(layout.port) ? nil : url.host
        }
    }

    private func refusal(_ authority: String) -> Answer {
        plain(421, "\(authority) is not served here. The larder is at \(layout.portal)")
    }

    private func plain(_ status: Int, _ text: String, fields: [(name: String, value: String)] = []) -> Answer {
        .text(status, text + "\n", fields: fields + layout.commonFields)
    }
}
