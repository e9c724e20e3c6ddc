internal import Digest
internal import Glibc
internal import Markup
package import Store
package import System
package import Web

/// The archives to import, the target site and the limits.
package struct ImportPlan: Sendable {
    package var folder: StoreFolder
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
    /// Returns the reason for refusing the response at a URL, or nil. The content is nil unless it is the
    /// whole body of a successful response. It is called from several threads.
    package var refusal: (@Sendable (WebURL, BodyContent?) throws(StoreError) -> String?)?
    /// The minimum free disk space in bytes. The import stops below it.
    package var leastRoom: Int64 = 64 << 20
    /// Receives the number of responses and bytes from time to time.
    package var progress: (@Sendable (_ done: Int, _ byteCount: Int64) -> Void)?

    package init(_ folder: StoreFolder, paths: [String]) {
        self.folder = folder
        self.paths = paths
    }
}

/// Imports archives into the store as a snapshot of a site. Responses are read one after the other, scanned
/// for links as in a crawl, and marked as imported. The snapshot is published when all responses are stored.
/// An import is used by one thread.
package final class Import {
    private let plan: ImportPlan
    private let secrets: SecretHasher
    private let interruption: Interruption
    /// Scans bodies while others are read. The results are written in the order of the responses.
    private let pool: PartPool<LinkScanner, Scanned>
    private var report: ImportReport
    private let snapshot: OpenSnapshot
    private let writes: WriteQueue
    /// The items that were read to determine the site. `run` imports them first.
    private var first: [ArchivedItem]
    private var readers: [any ArchiveReader]
    private var newest = NewestAnswers()
    /// The names of other stored sites by the hosts of their start URLs. An archive must not add responses
    /// for these hosts.
    private let others: [String: String]
    /// The hosts of the site itself.
    private let own: Set<String>
    /// The other site that has pages on a host, as a cache for ``owner(of:)``.
    private var owners: [String: String?] = [:]
    /// The user named a stored site. On its own host, imported responses replace stored ones.
    private let isOfNamedSite: Bool
    /// The page that the user has saved in a browser; nil for other imports.
    private let page: WebURL?
    /// URLs by the digests of the bodies that they have.
    private var originals: [Digest: String] = [:]
    /// The scanner for the bodies of revisits.
    private let scanner = LinkScanner()
    /// A reader for the store as it was before the import, opened when it is first needed.
    private var before: StoreReader?
    /// Revisits that wait until the responses that they refer to are committed.
    private var revisits: [(response: ArchivedResponse, original: ArchivedOriginal)] = []

    /// The result of scanning a response.
    fileprivate struct Scanned: Sendable {
        let response: ArchivedResponse
        let url: WebURL
        let found: Result<Found, StoreError>
    }

    fileprivate struct Found: Sendable {
        var body: NewResponse.Body
        var links: NewLinks?
        var isPage: Bool
        /// The reason for refusing the response.
        var refusal: String?
    }

    /// The bytes of bodies since the free disk space was last checked.
    private var unseenBytes = Int.max / 2

    private static let mostUnseen = 32 << 20
    private static let mostOriginals = 200_000
    private static let mostRevisits = 4096
    private static let mostFirst = 64

    /// Opens the archives and the store, and begins a snapshot. Throws an error of the kind `.input` if the
    /// archives start at a stored site that the user did not name, unless that site consists of earlier
    /// imports of the same files.
    package init(_ plan: ImportPlan, _ interruption: Interruption, now: Int64) throws(ArchiveError) {
        self.plan = plan
        secrets = plan.folder.secretHasher(createsKey: true)
        self.interruption = interruption
        pool = try PartPool(threads: Machine.coreCount, named: "larder-scan") { LinkScanner() }
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
        guard var name else {
            throw ArchiveError(
                .input,
                "\(plan.paths.joined(separator: ", ")) contains no response: \(Self.reason(first))")
        }
        var refusal: ArchiveError?
        do throws(StoreError) {
            let reader = try StoreReader(plan.folder)
            let sites = try reader.sites()
            let archives = plan.paths.map { Folder.resolved($0) }
            if plan.isSavedPage {
                // A site with responses from its origin is not replaced by one page.
                if let held = sites.first(where: { $0.name == name }),
                    try reader.hasAnythingFromOrigin(site: held.id)
                {
                    name += " (saved)"
                }
            } else if plan.site == nil, let site = Self.site(of: sites, startingNear: name) {
                guard try Self.consists(site, ofImportsOf: archives, reader) else {
                    refusal = ArchiveError(
                        .input,
                        "\(plan.paths.joined(separator: ", ")) starts at \(name), which belongs to the stored site \(site.name); import it as a snapshot of that site",
                        remedy: .siteName(site.name)
                    )
                    throw StoreError(.request, doing: "import into", path: site.name, detail: "not named")
                }
                name = site.name
            }
            let held = sites.first { $0.name == name }
            let begin =
                plan.isSavedPage
                ? [start ?? name] : held?.start ?? (plan.start.isEmpty ? [start ?? name] : plan.start)
            // An archive must not add responses for existing sites unless the user names one of them.
            let mayHave =
                plan.isSavedPage
                ? [start ?? name] : held != nil ? begin : plan.site == nil ? [] : [name] + begin
            others = Self.others(of: sites, besides: name, at: mayHave)
            own = Set(mayHave.compactMap { WebURL($0)?.host })
            isOfNamedSite = plan.isSavedPage || held != nil && plan.site != nil
            page = plan.isSavedPage ? start.flatMap { WebURL($0) } : nil
            snapshot = try writer.begin(site: name, start: begin, now: now, importing: archives)
            writes = try WriteQueue(writer, snapshot: snapshot)
        } catch {
            throw refusal ?? ArchiveError(error)
        }
        report = ImportReport(site: name, snapshot: snapshot.number)
        report.start = start
        report.signers = signers
    }

    /// By host alone: cookies do not tell ports apart, and pages on other ports of a host are same-site.
    private static func others(
        of sites: [Site], besides name: String, at own: [String]
    ) -> [String: String] {
        var others: [String: String] = [:]
        for site in sites where site.name != name {
            for place in site.start.compactMap({ WebURL($0) }) { others[place.host] = site.name }
        }
        for place in own.compactMap({ WebURL($0) }) { others[place.host] = nil }
        return others
    }

    /// The stored site that has the page as its name or among its first pages, else one that starts on the
    /// same host.
    private static func site(of sites: [Site], startingNear page: String) -> Site? {
        let host = WebURL(page)?.host
        return sites.first { $0.name == page }
            ?? sites.first { $0.start.contains { WebURL($0)?.key.href == page } }
            ?? sites.first { site in host != nil && site.start.contains { WebURL($0)?.host == host } }
    }

    /// Whether no response of the site came from its origin, and a snapshot of it was imported from the same
    /// files.
    private static func consists(
        _ site: Site, ofImportsOf archives: [String], _ reader: StoreReader
    ) throws(StoreError) -> Bool {
        guard try !reader.hasAnythingFromOrigin(site: site.id) else { return false }
        for snapshot in site.snapshots where try reader.archives(ofSnapshot: snapshot.id) == archives {
            return true
        }
        return false
    }

    private static let unknownFile = """
        it is not a WARC, WACZ, HAR, MHTML, ZIM, ZIP or TAR file, nor a saved page that contains its original URL
        """

    private static func reason(_ items: [ArchivedItem]) -> String {
        for case .fault(let fault) in items {
            let isUnknown = fault.reason == WARCReader.isNone
            return "\(fault.place): \(isUnknown ? unknownFile : fault.reason)"
        }
        return "it has no response over http or https"
    }

    private static func isPage(_ response: ArchivedResponse) -> Bool {
        if let notes = response.notes { return notes.role == 0 && response.status == 200 }
        let type = response.fields.contentType?.essence
        return response.status == 200 && (type == "text/html" || type == "application/xhtml+xml")
    }

    /// Imports the archives. Blocks until the snapshot is published. If it throws, the site is unchanged.
    package func run(now: Int64) throws(ArchiveError) -> ImportReport {
        var failure: ArchiveError?
        do throws(ArchiveError) {
            for item in first { try take(item) }
            first = []
            while let reader = readers.first {
                guard !interruption.isRequested else {
                    throw ArchiveError(
                        .interrupted, "interrupted; nothing was imported: run the same command again")
                }
                if let item = try reader.next() {
                    try take(item)
                } else {
                    if let signer = reader.signer { report.signers.append(signer) }
                    readers.removeFirst()
                }
            }
            try takeRevisits(areLast: true)
            while try addNext() {}
        } catch {
            failure = error
        }
        while let scanned = pool.next() { scanned.discard() }
        readers = []
        let isGood = failure == nil && report.responses > 0
        do throws(ArchiveError) {
            let ending: SnapshotEnding = isGood ? .publish(now: now) : .forget
            _ = try ArchiveError.storing { () throws(StoreError) in try writes.finish(ending) }
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
            return report.add(ArchiveFault("its URL is not valid", url: response.url, at: "a record"))
        }
        guard url.isHTTP else {
            response.body?.discard()
            report.other += 1
            return
        }
        if let fault = try fault(in: response, url) {
            response.body?.discard()
            return report.add(fault)
        }
        guard isKept(response) else {
            response.body?.discard()
            report.unkept[response.status, default: 0] += 1
            return
        }
        guard isNewest(response, url) else {
            response.body?.discard()
            report.superseded += 1
            return
        }
        try look(forRoomBeside: response.body?.byteCount ?? 0)
        while pool.isFull, try addNext() {}
        let (folder, refusal) = (plan.folder, plan.refusal)
        pool.add(response.body?.byteCount ?? 0) { scanner in
            Scanned(
                response: response, url: url,
                found: Result { () throws(StoreError) in
                    try Self.look(at: response, url, scanner, folder, refusal)
                })
        }
    }

    private func fault(in response: ArchivedResponse, _ url: WebURL) throws(ArchiveError) -> ArchiveFault? {
        if !response.request.isOfRequest {
            return ArchiveFault("it is not the response to a request", url: url.href, at: "a record")
        }
        guard let site = try owner(of: url) else { return nil }
        var fault = ArchiveFault(
            "it belongs to the stored site \(site), which this archive is not imported for", url: url.href,
            at: "the archive",
            .leftOut)
        fault.site = site
        return fault
    }

    /// Returns another site that starts on the host or has pages there.
    private func owner(of url: WebURL) throws(ArchiveError) -> String? {
        if let site = others[url.host] { return site }
        if let known = owners[url.host] { return known }
        let owner =
            own.contains(url.host)
            ? nil
            : try ArchiveError.storing { () throws(StoreError) -> String? in
                let reader = if let before { before } else { try StoreReader(plan.folder) }
                before = reader
                return try reader.site(withPagesOn: url.host, besides: report.site)
            }
        if owners.count < Self.mostOwners { owners[url.host] = .some(owner) }
        return owner
    }

    private static let mostOwners = 10_000

    /// Throws if the disk is nearly full, because a full disk affects every other program.
    private func look(forRoomBeside byteCount: Int) throws(ArchiveError) {
        unseenBytes += byteCount
        guard unseenBytes >= Self.mostUnseen else { return }
        unseenBytes = 0
        guard let room = DiskRoom.bytes(in: plan.folder.incoming), room < plan.leastRoom else { return }
        throw ArchiveError(
            .machine,
            "the disk of \(plan.folder.path) has \(room) bytes left, and \(plan.leastRoom) must stay free; free some space, then import again: nothing was imported"
        )
    }

    /// Writes the oldest scanned response. Returns false if there is none.
    private func addNext() throws(ArchiveError) -> Bool {
        guard let scanned = pool.next() else { return false }
        let found = try ArchiveError.storing { () throws(StoreError) in try scanned.found.get() }
        if let refusal = found.refusal {
            report.add(ArchiveFault(refusal, url: scanned.url.href, at: "a record"))
            return true
        }
        let alike = try ArchiveError.storing { () throws(StoreError) in
            try heldAlike(scanned.response, scanned.url).map(NewResponse.Body.held)
        }
        try add(
            scanned.response, scanned.url, alike ?? found.body, links: found.links, isPage: found.isPage)
        return true
    }

    /// Returns the stored body for the URL if it differs from the imported one only in how links are spelled.
    /// The page is then unchanged. Large bodies are not compared.
    private func heldAlike(_ response: ArchivedResponse, _ url: WebURL) throws(StoreError) -> StoredBody? {
        guard response.isLedBack, case .bytes(let bytes)? = response.body?.content,
            bytes.count <= Limits.packedBody
        else { return nil }
        let reader = if let before { before } else { try StoreReader(plan.folder) }
        before = reader
        guard let held = try reader.response(for: url.href), held.status == response.status,
            let body = held.body, body.byteCount <= Limits.packedBody,
            let known = try reader.content(of: body)?.load(), known != bytes,
            spelledOut(known, url, HTTPFields(block: held.fields.utf8.span).contentType)
                == spelledOut(bytes, url, response.fields.contentType)
        else { return nil }
        return body
    }

    /// Returns the body with every link as an absolute URL, and without the attributes that an export
    /// removes.
    private func spelledOut(_ bytes: [UInt8], _ url: WebURL, _ type: MediaType?) -> [UInt8] {
        let table = scanner.read(bytes.span, of: url, as: type).table
        let base = table.base.flatMap { WebURL($0, base: url) } ?? url
        let source = table.source(of: bytes.span) ?? bytes
        let changes = Patch.Change.freeing(table, unless: { _ in false }).sorted {
            $0.range.lowerBound < $1.range.lowerBound
        }
        let patch = Patch(source.span, table, changes: changes) { occurrence, reference in
            let flags = occurrence.flags
            if occurrence.kind == .base { return "" }
            guard !flags.contains(.isGuess), !flags.contains(.hasCodebase), occurrence.kind != .name else {
                return nil
            }
            return WebURL(
                utf8: reference, base: flags.contains(.ignoresBase) ? url : base,
                queryEncoding: table.encoding)?.href
        }
        let text = patch.applied(to: source)
        return text.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(text.dropFirst(3)) : text
    }

    private func key(of response: ArchivedResponse, _ url: WebURL) -> NewestAnswers.Key {
        NewestAnswers.Key(url.href, response.request, variant(of: response).text)
    }

    private func isNewest(_ response: ArchivedResponse, _ url: WebURL) -> Bool {
        newest.admits(key(of: response, url), fetched: response.fetched)
    }

    /// Whether the response is imported. As in a crawl, these are successful responses, redirects, and
    /// responses that say that a page is gone. All responses that Larder wrote are imported.
    private func isKept(_ response: ArchivedResponse) -> Bool {
        switch response.status {
        case 200..<300: response.status != 206 || response.notes != nil
        case 301, 302, 303, 307, 308, 404, 410: true
        default: response.notes != nil
        }
    }

    /// Checks and scans a response, on a thread of the pool.
    private static func look(
        at response: ArchivedResponse, _ url: WebURL, _ scanner: LinkScanner, _ folder: StoreFolder,
        _ refusal: (@Sendable (WebURL, BodyContent?) throws(StoreError) -> String?)?
    ) throws(StoreError) -> Found {
        if response.request == .get, let refusal = try refusal?(url, wholeBody(of: response)) {
            response.body?.discard()
            return Found(body: .none, isPage: false, refusal: refusal)
        }
        let hasBody = response.body.map { $0.byteCount > 0 } ?? false
        let isHeld = response.notes != nil
        if !(200..<300).contains(response.status), !isHeld || !hasBody {
            response.body?.discard()
            // A stored error response is not a page.
            let isOfCrawls = [301, 302, 303, 307, 308, 404, 410].contains(response.status)
            return Found(body: .none, links: nil, isPage: isOfCrawls && isPage(response))
        }
        guard let body = response.body, let content = body.content else {
            return Found(body: .none, links: nil, isPage: false)
        }
        return try scanned(response, url, body, content, scanner, folder)
    }

    /// Returns the body if it is the whole body of a successful response, and not stored in a content coding.
    private static func wholeBody(of response: ArchivedResponse) -> BodyContent? {
        let isWhole = (200..<300).contains(response.status) && response.status != 206
        let isCoded = response.notes?.flags.contains(.isCoded) ?? false
        return isWhole && !isCoded ? response.body?.content : nil
    }

    private static func scanned(
        _ response: ArchivedResponse, _ url: WebURL, _ body: ArchivedBody, _ content: BodyContent,
        _ scanner: LinkScanner, _ folder: StoreFolder
    ) throws(StoreError) -> Found {
        let type = response.fields.contentType
        let isCoded = response.notes?.flags.contains(.isCoded) ?? false
        // The same condition as in a crawl, so that equal bodies always get the same form.
        let isSmall = body.byteCount <= Limits.packedBody
        let isLookedAt =
            !isCoded && (isSmall || body.byteCount <= BodyReading.byteLimit && !BodyFormat.isOpaque(type))
        let known = (body.sha256, body.byteCount)
        guard isLookedAt else {
            let new = try NewBody(
                content, form: BodyFormat.opaque.name, links: LinkTable().encoded(), measured: known,
                in: folder)
            // The body is known to have no links, unless it is stored in a content coding and could not be
            // read.
            return Found(
                body: .new(new), links: isCoded ? nil : NewLinks(from: .init(href: url.href)),
                isPage: response.notes?.role == 0)
        }
        var links = ArchivedLinks()
        let bytes = try content.load()
        let reading = scanner.read(bytes.span, of: url, as: type) { links.add($0, $1) }
        let new = try NewBody(
            content, form: reading.form, title: reading.table.title, links: reading.table.encoded(),
            measured: known, in: folder)
        let isPage =
            response.notes.map { $0.role == 0 } ?? (reading.format == .html || reading.format == .xhtml)
        return Found(body: .new(new), links: links.resolve(at: url, reading.table), isPage: isPage)
    }

    /// Whether the browser may have used the user's logins for the response.
    private func isPartOfSavedPage(_ url: WebURL, isPage: Bool) -> Bool {
        guard let page else { return false }
        func site(_ host: String) -> String { PublicSuffixes.system.registrableDomain(of: host) ?? host }
        return isPage || site(url.host) == site(page.host)
    }

    private func add(
        _ response: ArchivedResponse, _ url: WebURL, _ body: NewResponse.Body, links: NewLinks?, isPage: Bool,
        isRevisit: Bool = false
    ) throws(ArchiveError) {
        var new = NewResponse(
            href: url.href, referrer: response.notes?.referrer, status: response.status,
            role: response.notes?.role ?? (isPage ? 0 : 1), fields: response.fields.block,
            fetched: response.fetched, body: body)
        new.request = response.request
        new.flags = (response.notes?.flags ?? Self.flags(response)).subtracting(.ofProvenance)
        new.flags.insert(.isImported)
        if isOfNamedSite, own.contains(url.host) { new.flags.insert(.isOfNamedSite) }
        let bodyBytes = Self.byteCount(of: body)
        // As in a crawl, redirects and error responses without a body have no type.
        if bodyBytes != nil || (200..<300).contains(response.status) {
            new.type = response.fields.contentType?.essence
        }
        let variant = variant(of: response)
        new.variant = variant.text
        if variant.hadSecret || isPartOfSavedPage(url, isPage: isPage) { new.flags.insert(.isPrivate) }
        let ready = new
        try ArchiveError.storing { () throws(StoreError) in
            try writes.add(ready)
            if let links { try writes.addWithoutWaiting(links) }
        }
        let answer = NewestAnswers.Answer(
            byteCount: bodyBytes ?? 0, isPage: new.role == 0 && response.status == 200 && bodyBytes != nil,
            isRevisit: isRevisit)
        if let replaced = newest.put(answer, key(of: response, url)) {
            report.superseded += 1
            report.count(replaced, by: -1)
        }
        report.count(answer, by: 1)
        if let body = response.body {
            if originals.count < Self.mostOriginals { originals[body.sha256] = url.href }
            if let stated = response.payloadDigest, originals.count < Self.mostOriginals {
                originals[stated] = url.href
            }
        }
        plan.progress?(report.responses, report.byteCount)
    }

    /// Returns nil if there is no body.
    private static func byteCount(of body: NewResponse.Body) -> Int? {
        switch body {
        case .new(let new): new.byteCount
        case .held(let held): held.byteCount
        case .none: nil
        }
    }

    /// The text of the response's `VaryKey`. If the archive does not have the request, every request selects
    /// the response.
    ///
    /// `hadSecret`: an earlier version wrote a secret into the archive.
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
        if RequestSecrets.makesPrivate(response.fields, to: request) { return .isPrivate }
        let caching = response.fields.elements("Cache-Control").map { $0.lowercased() }
        let isOfCookies = response.requestFields.contains("Cookie")
        return isOfCookies && (caching.contains("private") || caching.contains("no-store")) ? .isPrivate : []
    }

    // MARK: - Revisits

    /// Adds the pending revisits with the bodies of the responses that they refer to, after committing those.
    ///
    /// - Parameter areLast: Whether a revisit without its response is reported. Otherwise it is tried again
    ///   later.
    private func takeRevisits(areLast: Bool) throws(ArchiveError) {
        guard !revisits.isEmpty else { return }
        while try addNext() {}
        try commit()
        let reader = try ArchiveError.storing { () throws(StoreError) in try StoreReader(plan.folder) }
        var later: [(response: ArchivedResponse, original: ArchivedOriginal)] = []
        for (response, original) in revisits {
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
            if let fault = try fault(in: response, url) {
                report.add(fault)
                continue
            }
            let refusal = try ArchiveError.storing { () throws(StoreError) -> String? in
                guard response.request == .get, let refusal = plan.refusal else { return nil }
                return try refusal(url, response.status == 200 ? reader.content(of: body) : nil)
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
                try linksElsewhere(of: body, at: url, response, reader)
            }
            try add(response, url, .held(body), links: links, isPage: isPage, isRevisit: true)
        }
        // The remaining revisits are tried again at the end.
        revisits = later
    }

    /// Returns the links of a body that was stored for another URL, resolved against this one.
    private func linksElsewhere(
        of body: StoredBody, at url: WebURL, _ response: ArchivedResponse, _ reader: StoreReader
    ) throws(StoreError) -> NewLinks? {
        if response.notes?.flags.contains(.isCoded) ?? false { return nil }
        guard body.form != BodyFormat.opaque.name, body.byteCount <= BodyReading.byteLimit,
            let bytes = try reader.content(of: body)?.load()
        else { return NewLinks(from: .init(href: url.href)) }
        var links = ArchivedLinks()
        let reading = scanner.read(bytes.span, of: url, as: response.fields.contentType) { links.add($0, $1) }
        return links.resolve(at: url, reading.table)
    }

    private func commit() throws(ArchiveError) {
        let isDone = Monitor(false)
        try ArchiveError.storing { () throws(StoreError) in
            try writes.afterCommit { isDone.change { $0 = true } }
        }
        // If the queue has failed, this call throws the reason.
        while isDone.wait(atMost: .milliseconds(200), { $0 ? true : nil }) == nil {
            try ArchiveError.storing { () throws(StoreError) in try writes.afterCommit {} }
        }
    }
}

extension Import.Scanned {
    /// Deletes the body file, because the response will not be stored.
    fileprivate func discard() {
        if case .success(let found) = found, case .new(let new) = found.body,
            case .file(let path) = new.content
        {
            unlink(path)
        } else {
            response.body?.discard()
        }
    }
}
