internal import Markup
internal import Store
internal import Web

/// Answers from the larder and from nowhere else. It belongs to one server thread, as its reader does.
final class MirrorResponder: Responder {
    private let reader: StoreReader
    private let layout: OriginLayout
    private let fields: AnswerFields
    private let portal: Portal
    private var cache: AnswerCache
    private var dataVersion: Int64 = -1
    private var lastLook: Int64 = 0

    init(_ folder: StoreFolder, port: UInt16, memoryLimit: Int) throws(StoreError) {
        reader = try StoreReader(folder)
        layout = OriginLayout(port: port)
        fields = AnswerFields(layout: layout)
        portal = Portal(layout: layout)
        cache = AnswerCache(byteLimit: memoryLimit)
    }

    func respond(to request: Request) -> Answer {
        guard request.head.method != .other else {
            return .text(405, "The larder answers GET and HEAD.\n", fields: [("Allow", "GET, HEAD")])
        }
        forgetWhatIsOutdated()
        if let known = cache.answer(host: request.host, target: request.target) {
            return Self.conditional(known, request)
        }
        do throws(StoreError) {
            let (answer, isLasting) = try answer(request)
            if isLasting { cache.keep(answer, host: request.host, target: request.target) }
            return Self.conditional(answer, request)
        } catch {
            return .text(500, "\(error)\n")
        }
    }

    /// The answer, and whether it stays true until the store changes.
    private func answer(_ request: Request) throws(StoreError) -> (Answer, Bool) {
        let authority = String(decoding: request.host, as: UTF8.self)
        let target = String(decoding: request.target, as: UTF8.self)
        guard let name = hostName(of: authority) else { return (refusal(authority), false) }
        if Portal.isName(name) { return (try portal.answer(target, reader: reader), false) }
        let origins = OriginNames.origins(of: name)
        guard !origins.isEmpty else { return (refusal(authority), false) }
        for origin in origins {
            guard let url = WebURL(origin + target), let response = try reader.response(for: url.href) else { continue }
            return try answer(url, response)
        }
        return (MissPage.answer(origins[0] + target, accept: request.accept, layout: layout), false)
    }

    private func answer(_ url: WebURL, _ response: StoredResponse) throws(StoreError) -> (Answer, Bool) {
        let stored = HTTPFields(block: response.fields.utf8.span)
        guard let body = response.body else {
            let outgoing = fields.fields(of: stored, base: url, entityTag: "\"gone\"", isDocument: false)
            let text = "\(url.href) answered \(response.status) when it was fetched.\n"
            let isRedirect = (300..<400).contains(response.status)
            let answer = Answer(
                status: response.status, fields: outgoing.filter { isRedirect || $0.0 != "Content-Type" },
                body: isRedirect ? [] : Array(text.utf8))
            return (answer, true)
        }
        guard let content = try reader.content(of: body) else {
            return (.text(500, "The body of \(url.href) is damaged; prefetch it again.\n"), false)
        }
        let encoded = try reader.links(of: body)
        guard let table = try? LinkTable(decoding: encoded.span) else {
            return (.text(500, "The links of \(url.href) are damaged; prefetch it again.\n"), false)
        }
        var outgoing = fields.fields(
            of: stored, base: url, entityTag: entityTag(of: body, response), isDocument: body.isDocument)
        if table.isTranscoded { outgoing.sayUTF8() }
        let needsSplicing = table.isTranscoded || table.occurrences.contains { $0.flags.contains(.namesOrigin) }
        if case .file(let path) = content, !needsSplicing {
            let file = Answer.FileBody(path: path, byteCount: body.byteCount)
            return (Answer(status: response.status, fields: outgoing, file: file), true)
        }
        let bytes = try content.load()
        let shown = needsSplicing ? splice(bytes, table, url) : bytes
        return (Answer(status: response.status, fields: outgoing, body: shown), true)
    }

    /// Only references that name an origin leave their own: all others already lead where they should.
    private func splice(_ bytes: [UInt8], _ table: LinkTable, _ url: WebURL) -> [UInt8] {
        var output: [UInt8] = []
        Splicer.splice(bytes.span, table, only: .namesOrigin, into: &output) { _, reference in
            WebURL(utf8: reference, base: url, queryEncoding: table.encoding).flatMap(layout.address)
        }
        return output
    }

    /// Changes when the body does, and when the same body is shown by another server port.
    private func entityTag(of body: StoredBody, _ response: StoredResponse) -> String {
        "\"\(response.visit)-\(body.id)-\(layout.port)\""
    }

    /// A tag is looked for with its quotes, so that finding it in the list is finding it as a member.
    private static func conditional(_ answer: Answer, _ request: Request) -> Answer {
        guard let tag = answer.entityTag, let asked = request.ifNoneMatch,
            asked == "*" || asked.utf8.contains(tag.utf8)
        else { return answer }
        return Answer(status: 304, fields: [("ETag", tag), ("Cache-Control", "no-cache")], body: [])
    }

    /// The host without the port, in lower case. Nil when the port is another one: then the name is not ours.
    private func hostName(of authority: String) -> String? {
        WebURL("http://\(authority)/").flatMap { url in
            url.hasCredentials || url.path != "/" || url.effectivePort != Int(layout.port) ? nil : url.host
        }
    }

    private func refusal(_ authority: String) -> Answer {
        .text(421, "\(authority) is not served here. The larder is at \(layout.portal)\n")
    }

    /// Looks once a second whether another process has changed the store since.
    private func forgetWhatIsOutdated() {
        let now = CoarseClock.seconds()
        guard now != lastLook else { return }
        lastLook = now
        let version = (try? reader.dataVersion()) ?? -1
        if version != dataVersion { cache.removeAll() }
        dataVersion = version
    }
}
