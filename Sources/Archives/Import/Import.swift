package import Bundles
internal import Digest
internal import Glibc
internal import Markup
package import Store
package import System
package import Web

/// The archives to import, the target site and the limits.
package struct ImportPlan: Sendable {
    /// The store that receives the snapshot.
    package var folder: StoreFolder
    /// The paths of the archives. They are imported one after the other into one snapshot.
    package var paths: [String]
    /// The name of the site that receives all responses. If it is nil, the first page found names the site.
    package var site: String?
    /// The URLs that a new site starts with. If there are none, it is the first page.
    package var start: [String] = []
    /// The base URL of folders that do not state their own.
    package var base: WebURL?
    /// Whether the archive is a page that the user has saved in a browser of this machine. It becomes the start page of
    /// a site of its own. Responses of its own site, and documents, are private.
    package var isSavedPage = false
    package var limits = ArchiveLimits()
    /// Returns the reason for refusing the response at a URL, or nil to accept it. The content is nil unless it is
    /// the whole body of a successful response. The closure is called on several threads at once.
    package var refusal: (@Sendable (WebURL, BodyContent?, ResponseIntegrity) throws(StoreError) -> String?)?
    /// The minimum free disk space in bytes. The import stops below it.
    package var minFreeBytes: Int64 = 64 << 20
    /// Receives the number of imported responses and of their bytes after each response, on the thread of the
    /// import.
    package var progress: (@Sendable (_ done: Int, _ byteCount: Int64) -> Void)?

    package init(_ folder: StoreFolder, paths: [String]) {
        self.folder = folder
        self.paths = paths
    }
}

/// Imports archives into the store as a snapshot of a site. Responses are read one after the other, scanned
/// for links as in a crawl, and marked as imported. The snapshot is published when all responses are stored.
///
/// Each item of an archive takes one of these paths through `process(_:)`:
///
/// - A response is checked on the import's thread (`importResponse(_:)`): URL, owner of the host, status, age.
/// - Accepted responses go to `scanPool`, whose threads compute links and compress bodies (`ImportScanner`).
/// - `storeNextScanned()` writes the results, in the order of the archive.
/// - A revisit has no body of its own. It waits in `pendingRevisits` until the responses before it are committed;
///   then `resolveRevisits(isFinal:)` looks up the body that it refers to.
///
/// Archives are untrusted. An archive can add responses only for hosts that belong to the target site, or to no
/// stored site at all (`StoreBeforeImport`); it cannot change what other stored sites show.
///
/// An import is used by one thread, except for the work in `scanPool`.
package final class Import {
    private let plan: ImportPlan
    private let secrets: SecretHasher
    private let interruption: Interruption
    /// Scans bodies while others are read. It returns the results in the order of the responses.
    private let scanPool: OrderedWorkPool<LinkScanner, ScannedResponse>
    private var report: ImportReport
    private let snapshot: OpenSnapshot
    private let writes: WriteQueue
    /// The items that `init` read to determine the site. `run` imports them first.
    private var probedItems: [ArchivedItem]
    /// The readers of the archives that are not completely read. The first one is current.
    private var readers: [any ArchiveReader]
    private var newestResponses = NewestResponses()
    private let target: ImportTarget
    private var storeBefore: StoreBeforeImport
    /// URLs of imported responses by the digests of their bodies. Revisits refer to bodies by digest.
    private var originals: [Digest: String] = [:]
    /// The scanner for the bodies of revisits.
    private let scanner = LinkScanner()
    /// Revisits that wait until the responses that they refer to are committed.
    private var pendingRevisits: [(response: ArchivedResponse, original: ArchivedOriginal)] = []

    /// The bytes of bodies since the free disk space was last checked. The initial value causes a check before
    /// the first body.
    private var bytesSinceSpaceCheck = Int.max / 2

    /// The free disk space is checked again after this many bytes of bodies.
    private static let maxUncheckedBytes = 32 << 20
    /// The maximum size of `originals`. Digests beyond it are not recorded; a revisit of such a body must name the
    /// URL of its original.
    private static let maxOriginals = 200_000
    /// Pending revisits are resolved when there are this many.
    private static let maxPendingRevisits = 4096
    /// The maximum number of items that are read to find the start URL of the archives. If none of them is a page,
    /// the site is named after the origin of the first response.
    private static let maxProbedItems = 64

    /// Opens the archives and the store, and begins a snapshot. Throws an error of the kind `.input` if the
    /// archives start at a stored site that the user did not name, unless that site consists of earlier
    /// imports of the same files.
    package init(_ plan: ImportPlan, _ interruption: Interruption, now: Int64) throws(ArchiveError) {
        self.plan = plan
        secrets = plan.folder.secretHasher(createsKey: true)
        self.interruption = interruption
        scanPool = try OrderedWorkPool(threads: Machine.coreCount, named: "larder-scan") { LinkScanner() }
        // The writer is opened before anything is read, because it removes the unfinished body files of
        // earlier imports.
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
                    of: path, .inFiles(folder: plan.folder.incoming), plan.limits, base: plan.base,
                    interruption))
        }
        // Reads items until the start URL is known: the one that the archive names, else the first page.
        probedItems = []
        var start: String?
        var signers: [String] = []
        while start == nil, probedItems.count < Self.maxProbedItems, let reader = readers.first {
            guard let item = try reader.next() else {
                if let signer = reader.signer { signers.append(signer) }
                readers.removeFirst()
                continue
            }
            start = reader.start.flatMap { WebURL($0) }.flatMap { $0.isHTTP ? $0.key.href : nil }
            if start == nil, case .response(let response) = item, let url = WebURL(response.url), url.isHTTP {
                if response.isPage { start = url.key.href }
            }
            probedItems.append(item)
        }
        // Without a page, the site starts at the origin of the first response.
        if start == nil {
            for case .response(let response) in probedItems where start == nil {
                start = WebURL(response.url).flatMap { $0.isHTTP ? $0.origin + "/" : nil }
            }
        }
        guard let name = plan.site ?? start else {
            throw ArchiveError(
                .input,
                "\(plan.paths.joined(separator: ", ")) contains nothing to import: \(Self.reason(probedItems))"
            )
        }
        let archives = plan.paths.map { Folder.resolved($0) }
        let target = try ImportTarget(plan, name: name, start: start, archives: archives)
        self.target = target
        storeBefore = StoreBeforeImport(plan.folder, target)
        do throws(StoreError) {
            snapshot = try writer.begin(
                site: target.name, start: target.start, now: now, importing: archives)
            writes = try WriteQueue(writer, snapshot: snapshot)
        } catch {
            throw ArchiveError(error)
        }
        report = ImportReport(site: target.name, snapshot: snapshot.number)
        report.start = start
        report.signers = signers
    }

    private static let unknownFile = """
        it is not a WARC, WACZ, HAR, MHTML, ZIM, ZIP or TAR file, nor a saved page that contains its original URL
        """

    /// Returns the reason why none of the items is a response, for an error message.
    private static func reason(_ items: [ArchivedItem]) -> String {
        for case .fault(let fault) in items {
            let isUnknown = fault.reason == WARCReader.notWARCReason
            return "\(fault.place): \(isUnknown ? unknownFile : fault.reason)"
        }
        return "it has no response over http or https; name an archive or an exported folder"
    }

    /// Imports the archives. Blocks until the snapshot is published. If it throws, the site is unchanged.
    package func run(now: Int64) throws(ArchiveError) -> ImportReport {
        var failure: ArchiveError?
        do throws(ArchiveError) {
            for item in probedItems { try process(item) }
            probedItems = []
            while let reader = readers.first {
                guard !interruption.isRequested else {
                    throw ArchiveError(
                        .interrupted, "interrupted; nothing was imported: run the same command again")
                }
                if let item = try reader.next() {
                    try process(item)
                } else {
                    if let signer = reader.signer { report.signers.append(signer) }
                    readers.removeFirst()
                }
            }
            try resolveRevisits(isFinal: true)
            while try storeNextScanned() {}
        } catch {
            failure = error
        }
        while let scanned = scanPool.next() { scanned.discard() }
        readers = []
        let canPublish = failure == nil && report.responses > 0
        do throws(ArchiveError) {
            let ending: SnapshotEnding = canPublish ? .publish(now: now) : .forget
            _ = try ArchiveError.storing { () throws(StoreError) in try writes.finish(ending) }
        } catch {
            failure = failure ?? error
        }
        if let failure { throw failure }
        report.isPublished = canPublish
        return report
    }

    private func process(_ item: ArchivedItem) throws(ArchiveError) {
        switch item {
        case .response(let response): try importResponse(response)
        case .revisit(let response, let original):
            pendingRevisits.append((response, original))
            if pendingRevisits.count >= Self.maxPendingRevisits { try resolveRevisits(isFinal: false) }
        case .other: report.other += 1
        case .fault(let fault): report.add(fault)
        }
    }

    // MARK: - Responses

    /// Passes the response to `scanPool` if it is to be stored. Otherwise deletes its body file and counts it in
    /// the report.
    private func importResponse(_ response: ArchivedResponse) throws(ArchiveError) {
        guard let url = WebURL(response.url)?.key else {
            response.body?.discard()
            return report.add(ArchiveFault("its URL is not valid", url: response.url, at: "a record"))
        }
        guard url.isHTTP else {
            response.body?.discard()
            report.other += 1
            return
        }
        if let fault = try refusalFault(for: response, url) {
            response.body?.discard()
            return report.add(fault)
        }
        guard isStorable(response) else {
            response.body?.discard()
            report.skippedByStatus[response.status, default: 0] += 1
            return
        }
        guard isNewest(response, url) else {
            response.body?.discard()
            report.superseded += 1
            return
        }
        try checkFreeSpace(adding: response.body?.byteCount ?? 0)
        while scanPool.isFull, try storeNextScanned() {}
        let importScanner = ImportScanner(folder: plan.folder, refusal: plan.refusal)
        scanPool.add(response.body?.byteCount ?? 0) { scanner in
            ScannedResponse(
                response: response, url: url,
                result: Result { () throws(StoreError) in
                    try importScanner.scan(response, url, scanner)
                })
        }
    }

    /// Returns a fault if the response must not be imported: it is not a response to a request (but, for example, a
    /// rendering), or its URL belongs to another stored site.
    private func refusalFault(
        for response: ArchivedResponse, _ url: WebURL
    ) throws(ArchiveError) -> ArchiveFault? {
        if !response.request.isRealRequest {
            return ArchiveFault("it is not the response to a request", url: url.href, at: "a record")
        }
        guard let site = try storeBefore.owner(of: url) else { return nil }
        var fault = ArchiveFault(
            "it belongs to the stored site \(site), which this archive is not imported for", url: url.href,
            at: "the archive",
            .leftOut)
        fault.site = site
        return fault
    }

    /// Throws if the disk is nearly full, because a full disk affects every other program.
    private func checkFreeSpace(adding byteCount: Int) throws(ArchiveError) {
        bytesSinceSpaceCheck += byteCount
        guard bytesSinceSpaceCheck >= Self.maxUncheckedBytes else { return }
        bytesSinceSpaceCheck = 0
        guard let freeBytes = Folder.freeBytes(in: plan.folder.incoming), freeBytes < plan.minFreeBytes
        else { return }
        throw ArchiveError(
            .machine,
            "the disk of \(plan.folder.path) has \(freeBytes) bytes left, and \(plan.minFreeBytes) must stay free; free some space, then import again: nothing was imported"
        )
    }

    /// Writes the oldest scanned response. Returns false if there is none.
    private func storeNextScanned() throws(ArchiveError) -> Bool {
        guard let scanned = scanPool.next() else { return false }
        let scan = try ArchiveError.storing { () throws(StoreError) in try scanned.result.get() }
        if let refusal = scan.refusal {
            report.add(ArchiveFault(refusal, url: scanned.url.href, at: "a record"))
            return true
        }
        let storedBody = try ArchiveError.storing { () throws(StoreError) in
            try storeBefore.equivalentBody(for: scanned.response, scanned.url).map(NewResponse.Body.stored)
        }
        try store(
            scanned.response, scanned.url, storedBody ?? scan.body, links: scan.links, isPage: scan.isPage)
        return true
    }

    private func key(of response: ArchivedResponse, _ url: WebURL) -> NewestResponses.Key {
        NewestResponses.Key(url.href, response.request, variant(of: response).text)
    }

    /// Whether no newer response for the same URL, request and variant was read before.
    private func isNewest(_ response: ArchivedResponse, _ url: WebURL) -> Bool {
        newestResponses.isNewest(key(of: response, url), fetched: response.fetched)
    }

    /// Whether the response has a status that is stored. As in a crawl, these are successful responses, redirects,
    /// 404 and 410. Partial responses and other errors are stored only if Larder wrote the archive.
    private func isStorable(_ response: ArchivedResponse) -> Bool {
        switch response.status {
        case 200..<300: response.status != 206 || response.notes != nil
        case 301, 302, 303, 307, 308, 404, 410: true
        default: response.notes != nil
        }
    }

    /// Queues the response with its links for writing, and counts it in the report. If it replaces an older response
    /// with the same key, that one is no longer counted.
    private func store(
        _ response: ArchivedResponse, _ url: WebURL, _ body: NewResponse.Body, links: NewLinks?, isPage: Bool,
        isRevisit: Bool = false
    ) throws(ArchiveError) {
        var new = NewResponse(
            href: url.href, referrer: response.notes?.referrer, status: response.status,
            role: response.notes?.role ?? (isPage ? 0 : 1), fields: response.fields.block,
            fetched: response.fetched, body: body)
        new.request = response.request
        new.flags = (response.notes?.flags ?? Self.flags(response)).subtracting(.provenanceFlags)
        new.flags.insert(.isImported)
        if target.replacesStored(url) { new.flags.insert(.isOfNamedSite) }
        let bodyBytes = Self.byteCount(of: body)
        // As in a crawl, redirects and error responses without a body have no type.
        if bodyBytes != nil || (200..<300).contains(response.status) {
            new.type = response.fields.contentType?.essence
        }
        let variant = variant(of: response)
        new.variant = variant.text
        if variant.hadSecret || target.isPartOfSavedPage(url, isPage: isPage) { new.flags.insert(.isPrivate) }
        let ready = new
        try ArchiveError.storing { () throws(StoreError) in
            try writes.add(ready)
            if let links { try writes.addWithoutWaiting(links) }
        }
        let counted = NewestResponses.CountedResponse(
            byteCount: bodyBytes ?? 0, isPage: new.role == 0 && response.status == 200 && bodyBytes != nil,
            isRevisit: isRevisit)
        if let replaced = newestResponses.record(counted, for: key(of: response, url)) {
            report.superseded += 1
            report.count(replaced, by: -1)
        }
        report.count(counted, by: 1)
        if let body = response.body {
            if originals.count < Self.maxOriginals { originals[body.sha256] = url.href }
            if let stated = response.payloadDigest, originals.count < Self.maxOriginals {
                originals[stated] = url.href
            }
        }
        plan.progress?(report.responses, report.byteCount)
    }

    /// Returns the size of the body, or nil if there is none.
    private static func byteCount(of body: NewResponse.Body) -> Int? {
        switch body {
        case .new(let new): new.byteCount
        case .stored(let stored): stored.byteCount
        case .none: nil
        }
    }

    /// Returns the text of the response's `VaryKey`. If the archive does not have the request, every request
    /// selects the response.
    ///
    /// `hadSecret` is true if an earlier version of Larder wrote a secret into the archive. The response is then
    /// private.
    private func variant(of response: ArchivedResponse) -> (text: String, hadSecret: Bool) {
        if let known = response.notes?.variant {
            var hadSecret = false
            let text = VaryKey.hashingSecrets(of: known, secrets, hadSecret: &hadSecret)
            return (text ?? VaryKey.never, hadSecret)
        }
        guard !response.requestFields.isEmpty else { return ("", false) }
        let key = VaryKey(decoded: response.fields, request: response.requestFields, secrets: secrets)
        return (key?.text ?? VaryKey.never, false)
    }

    /// Marks a response as private if its request carried a secret. Browsers send cookies with most requests,
    /// so that a response to one with cookies is private only if the server says so.
    private static func flags(_ response: ArchivedResponse) -> ResponseFlags {
        var request = response.requestFields
        request.remove("Cookie")
        if RequestSecrets.isPrivate(response.fields, to: request) { return .isPrivate }
        let caching = response.fields.elements("Cache-Control").map { $0.lowercased() }
        let isOfCookies = response.requestFields.contains("Cookie")
        return isOfCookies && (caching.contains("private") || caching.contains("no-store")) ? .isPrivate : []
    }

    // MARK: - Revisits

    /// Adds the pending revisits with the bodies of the responses that they refer to, after committing those.
    ///
    /// - Parameter areLast: Whether a revisit without its response is reported. Otherwise it is tried again
    ///   later.
    private func resolveRevisits(isFinal: Bool) throws(ArchiveError) {
        guard !pendingRevisits.isEmpty else { return }
        while try storeNextScanned() {}
        try commit()
        let reader = try ArchiveError.storing { () throws(StoreError) in try StoreReader(plan.folder) }
        var later: [(response: ArchivedResponse, original: ArchivedOriginal)] = []
        for (response, original) in pendingRevisits {
            guard let url = WebURL(response.url)?.key, url.isHTTP else {
                report.other += 1
                continue
            }
            // The candidates are the URL with the stated digest, the stated URL, and the revisit's own URL.
            let named = original.url.flatMap { WebURL($0)?.key.href }
            let digested = original.payloadDigest.flatMap { originals[$0] }
            let body = try ArchiveError.storing { () throws(StoreError) -> StoredBody? in
                for href in [digested, named, url.href] {
                    guard let href else { continue }
                    if let body = try reader.response(for: href, ofSnapshot: snapshot.id)?.body {
                        return body
                    }
                }
                return nil
            }
            guard let body else {
                if isFinal || later.count >= Self.maxPendingRevisits / 2 {
                    report.add(
                        ArchiveFault(
                            "the response that has its body is not in the archive", url: response.url,
                            at: original.url ?? "a revisit"))
                } else {
                    later.append((response, original))
                }
                continue
            }
            if let fault = try refusalFault(for: response, url) {
                report.add(fault)
                continue
            }
            let refusal = try ArchiveError.storing { () throws(StoreError) -> String? in
                guard response.request == .get, let refusal = plan.refusal else { return nil }
                return try refusal(
                    url, response.status == 200 ? reader.content(of: body) : nil,
                    response.statedIntegrity(at: url))
            }
            if let refusal {
                report.add(ArchiveFault(refusal, url: url.href, at: "a revisit"))
                continue
            }
            guard isNewest(response, url) else {
                report.superseded += 1
                continue
            }
            let isPage =
                body.form.hasPrefix("\(BodyFormat.html.name);")
                || body.form.hasPrefix("\(BodyFormat.xhtml.name);")
            let links = try ArchiveError.storing { () throws(StoreError) -> NewLinks? in
                try resolvedLinks(of: body, at: url, response, reader)
            }
            try store(response, url, .stored(body), links: links, isPage: isPage, isRevisit: true)
        }
        // The remaining revisits are tried again at the end.
        pendingRevisits = later
    }

    /// Returns the links of a body that was stored for another URL, resolved against this one.
    private func resolvedLinks(
        of body: StoredBody, at url: WebURL, _ response: ArchivedResponse, _ reader: StoreReader
    ) throws(StoreError) -> NewLinks? {
        if response.notes?.flags.contains(.isCoded) ?? false { return nil }
        guard body.form != BodyFormat.opaque.name, body.byteCount <= BodyReading.maxBytes,
            let bytes = try reader.content(of: body)?.load()
        else { return NewLinks(from: .init(href: url.href)) }
        var links = ImportedLinks()
        let reading = scanner.read(bytes.span, of: url, as: response.fields.contentType) { links.add($0, $1) }
        return links.resolve(at: url, reading.table)
    }

    /// Waits until all queued responses are committed, so that they can be read.
    private func commit() throws(ArchiveError) {
        let isDone = Monitor(false)
        try ArchiveError.storing { () throws(StoreError) in
            try writes.commitSoon { isDone.change { $0 = true } }
        }
        // If the queue has failed, the callback is never called, but this call throws the reason.
        while isDone.wait(atMost: .milliseconds(200), { $0 ? true : nil }) == nil {
            try ArchiveError.storing { () throws(StoreError) in try writes.commitSoon {} }
        }
    }
}
