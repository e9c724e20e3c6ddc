internal import Glibc
internal import Markup
internal import Store
internal import Web

/// Works out what a server's answer means, changes the store by it, and makes the client's answer. It belongs to one thread.
final class LoadedKeeper {
    private let folder: StoreFolder
    private let profile: CacheProfile
    private let scanner = LinkScanner()
    private var opened: (reader: StoreReader, writer: StoreWriter)?

    /// Larger bodies are kept, and not looked into.
    private static let largestScan = 64 * 1024 * 1024

    init(_ folder: StoreFolder, profile: CacheProfile) {
        self.folder = folder
        self.profile = profile
    }

    /// Nil when the server has to be asked once more, without conditions.
    func conclude(_ job: LoadJob, _ outcome: LoadOutcome, now: HTTPDate) -> Answer? {
        let conclusion = job.policy.conclusion(
            of: Self.cacheOutcome(outcome), for: job.request, entry: job.entry, wasConditional: job.wasConditional,
            profile: profile, rules: job.rules, now: now)
        var loaded: LoadedBody?
        do throws(StoreError) {
            if case .response(let response) = outcome { loaded = try read(response, job) }
            defer { loaded?.discard() }
            try change(conclusion, job, outcome, loaded, now)
            return try answer(conclusion.reply, job, outcome, loaded, now)
        } catch {
            opened = nil
            return .text(500, "\(error)\n", fields: job.layout.commonFields)
        }
    }

    private static func cacheOutcome(_ outcome: LoadOutcome) -> CacheOutcome {
        guard case .response(let response) = outcome else { return .unreachable }
        return .answered(
            CacheAnswer(
                status: response.status, fields: response.fields, requestTime: response.requestTime,
                responseTime: response.responseTime))
    }

    private func read(_ response: LoadedResponse, _ job: LoadJob) throws(StoreError) -> LoadedBody {
        guard response.status != 304, job.method != "HEAD" else { return LoadedBody(content: response.body, bytes: []) }
        let bytes = try response.body.load()
        let type = response.fields.contentType
        let format =
            bytes.count > Self.largestScan
            ? .opaque : BodyFormat(mediaType: type, url: job.request.url, body: bytes.span)
        let table = scanner.scan(bytes.span, as: format, charset: type?.charset) { _, _ in }
        return LoadedBody(content: response.body, bytes: bytes, format: format, table: table)
    }

    // MARK: - The store

    private func change(
        _ conclusion: CacheConclusion, _ job: LoadJob, _ outcome: LoadOutcome, _ loaded: LoadedBody?, _ now: HTTPDate
    ) throws(StoreError) {
        switch conclusion.change {
        case .none, .extend: break
        case .store(let entry, let policy):
            // What may not outlive the program is not kept at all: the browser has it.
            guard policy == .allowed, let loaded, case .response(let response) = outcome,
                job.rules.inspection.accepts(subject(response, job, loaded))
            else { break }
            let body: NewResponse.Body = loaded.bytes.isEmpty ? .none : .new(try loaded.newBody(in: folder))
            try keep(entry, job, body, response, now)
        case .update(let entry):
            guard let held = job.held else { break }
            guard case .response(let response) = outcome else { break }
            try keep(entry, job, held.body.map { .held($0) } ?? .none, response, now)
        }
        guard !conclusion.invalidated.isEmpty else { return }
        try store().writer.invalidate(conclusion.invalidated.map(\.href))
    }

    private func keep(
        _ entry: CacheEntry, _ job: LoadJob, _ body: NewResponse.Body, _ response: LoadedResponse, _ now: HTTPDate
    ) throws(StoreError) {
        var new = NewResponse(
            href: job.request.url.withoutFragment.href, referrer: nil, status: entry.status,
            role: job.held?.role ?? (job.isNavigation ? 0 : 1), fields: entry.fields.block,
            fetched: response.responseTime.secondsSinceEpoch, body: body)
        new.requested = response.requestTime.secondsSinceEpoch
        new.request = job.key
        new.type = entry.fields.contentType?.essence
        new.variant = VaryKey(decoded: entry.fields, request: job.request.fields)?.text ?? VaryKey.never
        new.flags = job.held?.flags ?? []
        if entry.isInvalidated { new.flags.insert(.isInvalidated) } else { new.flags.remove(.isInvalidated) }
        try store().writer.add(
            loaded: new, over: job.held, origin: job.request.url.origin, host: job.request.url.host,
            now: now.secondsSinceEpoch)
    }

    private func subject(
        _ response: LoadedResponse, _ job: LoadJob, _ loaded: LoadedBody
    ) -> ResponseInspection.Subject {
        ResponseInspection.Subject(
            url: job.request.url, status: response.status, fields: response.fields,
            beginning: Array(loaded.bytes.prefix(4096)))
    }

    private func store() throws(StoreError) -> (reader: StoreReader, writer: StoreWriter) {
        if let opened { return opened }
        let writer = try StoreWriter(folder)
        let new = (reader: try StoreReader(folder), writer: writer)
        opened = new
        return new
    }

    // MARK: - The answer

    private func answer(
        _ reply: CacheConclusion.Reply, _ job: LoadJob, _ outcome: LoadOutcome, _ loaded: LoadedBody?, _ now: HTTPDate
    ) throws(StoreError) -> Answer? {
        let fields = AnswerFields(layout: job.layout, isProxy: true)
        let renderer = CopyRenderer(
            finder: CopyFinder(reader: try store().reader, fields: fields), layout: job.layout, shim: job.shim)
        switch reply {
        case .loadAgain: return nil
        case .gatewayTimeout:
            let why = if case .failure(let why) = outcome { why } else { "its server did not answer" }
            let text = "\(job.request.url.href) could not be loaded: \(why)\n"
            return .text(504, text, fields: [("Larder", AnswerSource.miss.text)] + job.layout.commonFields)
        case .stored(let entry, let hit):
            guard let held = job.held else { return nil }
            let copy = FoundCopy(
                response: held, fields: entry.servedFields(at: now), url: job.request.url, isVariant: false)
            return try renderer.answer(copy, source: AnswerSource(hit, []))
        case .received:
            guard case .response(let response) = outcome, let loaded else { return nil }
            return try renderer.answer(
                status: response.status, response.fields, job.request.url, loaded, isHead: job.method == "HEAD")
        }
    }
}
