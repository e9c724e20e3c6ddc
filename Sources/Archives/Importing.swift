internal import Digest
internal import Glibc
internal import Markup
package import Store
package import System
package import Web

/// Which archives are taken in, and where to.
package struct ImportPlan: Sendable {
    package var folder: StoreFolder
    package var paths: [String]
    /// The site that takes all in; nil for the first page that is found.
    package var site: String?
    /// Where folders stood that do not say so themselves.
    package var base: WebURL?
    package var limits = ArchiveLimits()
    /// Told of responses and bytes, now and then.
    package var progress: (@Sendable (_ done: Int, _ byteCount: Int64) -> Void)?

    package init(_ folder: StoreFolder, paths: [String]) {
        self.folder = folder
        self.paths = paths
    }
}

/// Takes archives into the store, as a visit of a site: read one response after the other, scanned for links as a crawl does,
/// and published when all of it is there. It belongs to one thread.
package final class Import {
    private let plan: ImportPlan
    private let interruption: Interruption
    private let scanner = LinkScanner()
    private var report: ImportReport
    private let visit: OpenVisit
    private let writes: WriteQueue
    /// What was read to find out which site it is.
    private var first: [ArchivedItem]
    private var readers: [any ArchiveReader]
    /// By the hash of what tells a response apart, when it was fetched.
    private var times: [Int: Int64] = [:]
    /// By the payload's digest, the address that has it.
    private var originals: [Digest: String] = [:]
    /// Wait until what they refer to is committed.
    private var revisits: [(response: ArchivedResponse, original: ArchivedOriginal)] = []

    private static let mostTimes = 1_000_000
    private static let mostOriginals = 200_000
    private static let mostRevisits = 4096
    private static let mostFirst = 64

    /// Opens the archives and the store, and begins a visit. An open one of the same site is gone on with.
    package init(_ plan: ImportPlan, _ interruption: Interruption, now: Int64) throws(ArchiveError) {
        self.plan = plan
        self.interruption = interruption
        // Before anything is read: it removes what an earlier one has left of bodies that were on their way.
        let writer: StoreWriter
        do throws(StoreError) {
            try plan.folder.create()
            writer = try StoreWriter(plan.folder)
        } catch {
            throw ArchiveError(error)
        }
        readers = []
        for path in plan.paths {
            readers.append(
                try ArchiveFiles.reader(
                    of: path, .inFiles(folder: plan.folder.incoming), plan.limits, base: plan.base, interruption))
        }
        first = []
        var name = plan.site
        var start: String?
        var signers: [String] = []
        while start == nil, first.count < Self.mostFirst, let reader = readers.first {
            guard let item = try reader.next() else {
                if let signer = reader.signer { signers.append(signer) }
                readers.removeFirst()
                continue
            }
            start = reader.start.flatMap { WebURL($0) }.flatMap { $0.isHTTP ? $0.key.href : nil }
            if start == nil, case .response(let response) = item, let url = WebURL(response.url), url.isHTTP {
                if Self.isPage(response) { start = url.key.href }
            }
            first.append(item)
        }
        if start == nil {
            for case .response(let response) in first where start == nil {
                start = WebURL(response.url).flatMap { $0.isHTTP ? $0.origin + "/" : nil }
            }
        }
        name = name ?? start
        guard let name else {
            throw ArchiveError(
                .input, "nothing in \(plan.paths.joined(separator: ", ")) answers a request: \(Self.reason(first))")
        }
        do throws(StoreError) {
            let held = try StoreReader(plan.folder).sites().first { $0.name == name }?.start
            visit = try writer.begin(site: name, start: held ?? [start ?? name], now: now)
            writes = try WriteQueue(writer, visit: visit)
        } catch {
            throw ArchiveError(error)
        }
        report = ImportReport(site: name, visit: visit.id)
        report.signers = signers
    }

    private static func reason(_ items: [ArchivedItem]) -> String {
        for case .fault(let fault) in items { return "\(fault.place): \(fault.reason)" }
        return "it has no response over http or https"
    }

    private static func isPage(_ response: ArchivedResponse) -> Bool {
        if let notes = response.notes { return notes.role == 0 && response.status == 200 }
        let type = response.fields.contentType?.essence
        return response.status == 200 && (type == "text/html" || type == "application/xhtml+xml")
    }

    /// Blocks. When it throws, the site is as it was.
    package func run(now: Int64) throws(ArchiveError) -> ImportReport {
        var failure: ArchiveError?
        do throws(ArchiveError) {
            for item in first { try take(item) }
            first = []
            while let reader = readers.first {
                guard !interruption.isRequested else {
                    throw ArchiveError(
                        .interrupted, "interrupted; nothing of it is kept: the same command does it again")
                }
                if let item = try reader.next() {
                    try take(item)
                } else {
                    if let signer = reader.signer { report.signers.append(signer) }
                    readers.removeFirst()
                }
            }
            try takeRevisits(areLast: true)
        } catch {
            failure = error
        }
        readers = []
        let isGood = failure == nil && report.responses > 0
        do throws(ArchiveError) {
            let ending: VisitEnding = isGood ? .publish(now: now) : visit.isContinued ? .keepOpen : .forget
            try ArchiveError.storing { () throws(StoreError) in try writes.finish(ending) }
        } catch {
            failure = failure ?? error
        }
        if let failure { throw failure }
        report.isPublished = isGood
        return report
    }

    private func take(_ item: ArchivedItem) throws(ArchiveError) {
        switch item {
        case .response(let response): try take(response)
        case .revisit(let response, let original):
            revisits.append((response, original))
            if revisits.count >= Self.mostRevisits { try takeRevisits(areLast: false) }
        case .other: report.other += 1
        case .fault(let fault): report.add(fault)
        }
    }

    // MARK: - Responses

    private func take(_ response: ArchivedResponse) throws(ArchiveError) {
        guard let url = WebURL(response.url)?.key else {
            response.body?.discard()
            return report.add(ArchiveFault("its address is none", url: response.url, at: "a record"))
        }
        guard url.isHTTP else {
            response.body?.discard()
            report.other += 1
            return
        }
        guard isNewest(response, url) else {
            response.body?.discard()
            report.superseded += 1
            return
        }
        guard let body = try kept(response, url) else { return }
        try add(response, url, body.body, links: body.links, isPage: body.isPage)
    }

    private func isNewest(_ response: ArchivedResponse, _ url: WebURL) -> Bool {
        var hasher = Hasher()
        hasher.combine(url.href)
        hasher.combine(response.request)
        hasher.combine(response.notes?.variant ?? "")
        let key = hasher.finalize()
        if let before = times[key], before > response.fetched { return false }
        if times.count < Self.mostTimes { times[key] = response.fetched }
        return true
    }

    /// What becomes of a response; nil where it is not kept, which is counted. It is as with a crawl: bodies of what
    /// succeeded, redirects, and what is said to be gone; and all that a larder wrote.
    private func kept(
        _ response: ArchivedResponse, _ url: WebURL
    ) throws(ArchiveError) -> (body: NewResponse.Body, links: NewLinks?, isPage: Bool)? {
        let isHeld = response.notes != nil
        let hasBody = response.body.map { $0.byteCount > 0 } ?? false
        switch response.status {
        case 200..<300 where response.status != 206 || isHeld: break
        case 301, 302, 303, 307, 308:
            guard !isHeld || !hasBody else { break }
            response.body?.discard()
            return (.none, nil, Self.isPage(response))
        case 404, 410:
            guard !isHeld || !hasBody else { break }
            response.body?.discard()
            return (.none, nil, Self.isPage(response))
        default:
            guard isHeld else {
                response.body?.discard()
                report.unkept[response.status, default: 0] += 1
                return nil
            }
            if !hasBody { return (.none, nil, false) }
        }
        guard let body = response.body, let content = body.content else { return (.none, nil, false) }
        return try scanned(response, url, body, content)
    }

    private func scanned(
        _ response: ArchivedResponse, _ url: WebURL, _ body: ArchivedBody, _ content: BodyContent
    ) throws(ArchiveError) -> (body: NewResponse.Body, links: NewLinks?, isPage: Bool) {
        let type = response.fields.contentType
        let isCoded = response.notes?.flags.contains(.isCoded) ?? false
        let isLookedAt = !isCoded && body.byteCount <= BodyReading.byteLimit && !BodyFormat.isOpaque(type)
        let (folder, known) = (plan.folder, (body.sha256, body.byteCount))
        return try ArchiveError.storing { () throws(StoreError) in
            guard isLookedAt else {
                let new = try NewBody(
                    content, form: BodyFormat.opaque.name, links: LinkTable().encoded(), measured: known, in: folder)
                // It is known that it needs nothing, but of what is kept in a coding nobody knows.
                return (.new(new), isCoded ? nil : NewLinks(from: .init(href: url.href)), response.notes?.role == 0)
            }
            var links = ArchivedLinks()
            let bytes = try content.load()
            let reading = scanner.read(bytes.span, of: url, as: type) { links.add($0, $1) }
            let new = try NewBody(
                content, form: reading.form, title: reading.table.title, links: reading.table.encoded(),
                measured: known, in: folder)
            let isPage = response.notes.map { $0.role == 0 } ?? (reading.format == .html || reading.format == .xhtml)
            return (.new(new), links.resolve(at: url, reading.table), isPage)
        }
    }

    private func add(
        _ response: ArchivedResponse, _ url: WebURL, _ body: NewResponse.Body, links: NewLinks?, isPage: Bool
    ) throws(ArchiveError) {
        var new = NewResponse(
            href: url.href, referrer: response.notes?.referrer, status: response.status,
            role: response.notes?.role ?? (isPage ? 0 : 1), fields: response.fields.block,
            fetched: response.fetched, body: body)
        new.request = response.request
        new.flags = response.notes?.flags ?? Self.flags(response)
        new.type = response.fields.contentType?.essence
        new.variant = response.notes?.variant ?? Self.variant(response)
        let ready = new
        try ArchiveError.storing { () throws(StoreError) in
            try writes.add(ready)
            if let links { try writes.addWithoutWaiting(links) }
        }
        report.responses += 1
        if new.role == 0, case .new = body { report.pages += 1 }
        if let body = response.body {
            report.byteCount += Int64(body.byteCount)
            if originals.count < Self.mostOriginals { originals[body.sha256] = url.href }
            if let stated = response.payloadDigest, originals.count < Self.mostOriginals {
                originals[stated] = url.href
            }
        }
        plan.progress?(report.responses, report.byteCount)
    }

    /// Where nobody knows what was asked, it suits whoever asks.
    private static func variant(_ response: ArchivedResponse) -> String {
        guard !response.requestFields.isEmpty else { return "" }
        return VaryKey(decoded: response.fields, request: response.requestFields)?.text ?? VaryKey.never
    }

    /// What a login brought is that one's.
    private static func flags(_ response: ArchivedResponse) -> ResponseFlags {
        let caching = response.fields.elements("Cache-Control").map { $0.lowercased() }
        if response.requestFields.contains("Authorization"), !caching.contains("public") { return .isPrivate }
        let isOfCookies = response.requestFields.contains("Cookie")
        return isOfCookies && (caching.contains("private") || caching.contains("no-store")) ? .isPrivate : []
    }

    // MARK: - Revisits

    /// Their bodies are those of responses that were taken before, once those are committed.
    private func takeRevisits(areLast: Bool) throws(ArchiveError) {
        guard !revisits.isEmpty else { return }
        try commit()
        let reader = try ArchiveError.storing { () throws(StoreError) in try StoreReader(plan.folder) }
        var later: [(response: ArchivedResponse, original: ArchivedOriginal)] = []
        for (response, original) in revisits {
            guard let url = WebURL(response.url)?.key, url.isHTTP else {
                report.other += 1
                continue
            }
            // By name, by digest, or its own address as it was before.
            let named = original.url.flatMap { WebURL($0)?.key.href }
            let digested = original.payloadDigest.flatMap { originals[$0] }
            let body = try ArchiveError.storing { () throws(StoreError) -> StoredBody? in
                for href in [digested, named, url.href] {
                    guard let href else { continue }
                    if let body = try reader.response(for: href, ofVisit: visit.id)?.body { return body }
                }
                return nil
            }
            guard let body else {
                if areLast || later.count >= Self.mostRevisits / 2 {
                    report.add(
                        ArchiveFault(
                            "the response that has its body is not in the archive", url: response.url,
                            at: original.url ?? "a revisit"))
                } else {
                    later.append((response, original))
                }
                continue
            }
            guard isNewest(response, url) else {
                report.superseded += 1
                continue
            }
            let isPage =
                body.form.hasPrefix("\(BodyFormat.html.name);") || body.form.hasPrefix("\(BodyFormat.xhtml.name);")
            try add(response, url, .held(body), links: nil, isPage: isPage)
            report.revisits += 1
        }
        // What still waits comes once more in the end.
        revisits = later
    }

    private func commit() throws(ArchiveError) {
        let isDone = Monitor(false)
        try ArchiveError.storing { () throws(StoreError) in try writes.afterCommit { isDone.change { $0 = true } } }
        // The queue says why where it has failed.
        while isDone.wait(atMost: .milliseconds(200), { $0 ? true : nil }) == nil {
            try ArchiveError.storing { () throws(StoreError) in try writes.afterCommit {} }
        }
    }
}
