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
    /// Why something is not let in at an address; the content is nil where it is no whole body of success. Any thread
    /// may ask.
    package var refusal: (@Sendable (WebURL, BodyContent?) throws(StoreError) -> String?)?
    /// What is left of the disk to others.
    package var leastRoom: Int64 = 64 << 20
    /// Told of responses and bytes, now and then.
    package var progress: (@Sendable (_ done: Int, _ byteCount: Int64) -> Void)?

    package init(_ folder: StoreFolder, paths: [String]) {
        self.folder = folder
        self.paths = paths
    }
}

/// Takes archives into the store, as a snapshot of a site: read one response after the other, scanned for links
/// as a crawl does, and published when all of it is there. All responses are marked as imported. It belongs to one
/// thread.
package final class Import {
    private let plan: ImportPlan
    private let secrets: SecretHasher
    private let interruption: Interruption
    /// Scans bodies while others are read; what comes of them is written in the order in which they came.
    private let pool: PartPool<LinkScanner, Scanned>
    private var report: ImportReport
    private let snapshot: OpenSnapshot
    private let writes: WriteQueue
    /// What was read to find out which site it is.
    private var first: [ArchivedItem]
    private var readers: [any ArchiveReader]
    private var newest = NewestAnswers()
    /// Other sites of the larder, by the hosts on which they start: an archive does not speak for them.
    private let others: [String: String]
    /// The hosts of the site itself, and the sites that have pages on other hosts.
    private let own: Set<String>
    private var owners: [String: String?] = [:]
    /// The user named a stored site. On its own host, imported responses replace stored ones.
    private let isOfNamedSite: Bool
    /// By the payload's digest, the address that has it.
    private var originals: [Digest: String] = [:]
    /// Of revisits, whose bodies are there already.
    private let scanner = LinkScanner()
    /// Of what was held before; nil until somebody asks.
    private var before: StoreReader?
    /// Wait until what they refer to is committed.
    private var revisits: [(response: ArchivedResponse, original: ArchivedOriginal)] = []

    /// What is known of a response when its body was looked into.
    fileprivate struct Scanned: Sendable {
        let response: ArchivedResponse
        let url: WebURL
        let found: Result<Found, StoreError>
    }

    fileprivate struct Found: Sendable {
        var body: NewResponse.Body
        var links: NewLinks?
        var isPage: Bool
        /// It is not let in.
        var refusal: String?
    }

    /// Bodies since the disk was looked at.
    private var unseenBytes = Int.max / 2

    private static let mostUnseen = 32 << 20
    private static let mostOriginals = 200_000
    private static let mostRevisits = 4096
    private static let mostFirst = 64

    /// Opens the archives and the store, and begins a snapshot. Fails with `.input` where the archives begin at a
    /// stored site that the user did not name, unless that site consists of earlier imports of the same files.
    package init(_ plan: ImportPlan, _ interruption: Interruption, now: Int64) throws(ArchiveError) {
        self.plan = plan
        secrets = plan.folder.secretHasher(createsKey: true)
        self.interruption = interruption
        pool = try PartPool(threads: Machine.coreCount, named: "larder-scan") { LinkScanner() }
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
            if plan.site == nil, let site = Self.site(of: sites, startingNear: name) {
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
            let begin = held?.start ?? [start ?? name]
            // An archive does not speak for the sites that are there already. The user does, by naming one.
            let mayHave = held != nil ? begin : plan.site == nil ? [] : [name] + begin
            others = Self.others(of: sites, besides: name, at: mayHave)
            own = Set(mayHave.compactMap { WebURL($0)?.host })
            isOfNamedSite = held != nil && plan.site != nil
            snapshot = try writer.begin(site: name, start: begin, now: now, importing: archives)
            writes = try WriteQueue(writer, snapshot: snapshot)
        } catch {
            throw refusal ?? ArchiveError(error)
        }
        report = ImportReport(site: name, snapshot: snapshot.number)
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

    /// Whether an origin has sent nothing of the site, and a snapshot of it was imported from the same files.
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

    /// Blocks. When it throws, the site is as it was.
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

    /// The other site that begins on the host, or has pages there.
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

    /// A disk that is full stops whoever else writes there too.
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

    /// Writes the oldest that waits; false where none does.
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

    /// What is held there already, where it is the same but for the way in which links are written: nothing has
    /// changed then. Large ones are taken as they are.
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

    /// With every link as the whole address, and without what an export takes away.
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

    /// It is as with a crawl: bodies of what succeeded, redirects, and what is said to be gone; and all that a
    /// larder wrote.
    private func isKept(_ response: ArchivedResponse) -> Bool {
        switch response.status {
        case 200..<300: response.status != 206 || response.notes != nil
        case 301, 302, 303, 307, 308, 404, 410: true
        default: response.notes != nil
        }
    }

    /// On a thread of the pool.
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
            // A failure that a larder has kept is no page.
            let isOfCrawls = [301, 302, 303, 307, 308, 404, 410].contains(response.status)
            return Found(body: .none, links: nil, isPage: isOfCrawls && isPage(response))
        }
        guard let body = response.body, let content = body.content else {
            return Found(body: .none, links: nil, isPage: false)
        }
        return try scanned(response, url, body, content, scanner, folder)
    }

    /// Nil for a failure, a redirect or a part, and for what is kept in a coding.
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
        // As a crawl does it: the same body gets the same form, whoever brings it.
        let isSmall = body.byteCount <= Limits.packedBody
        let isLookedAt =
            !isCoded && (isSmall || body.byteCount <= BodyReading.byteLimit && !BodyFormat.isOpaque(type))
        let known = (body.sha256, body.byteCount)
        guard isLookedAt else {
            let new = try NewBody(
                content, form: BodyFormat.opaque.name, links: LinkTable().encoded(), measured: known,
                in: folder)
            // It is known that it needs nothing, but of what is kept in a coding nobody knows.
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
        // As with a crawl: of what is a redirect or gone nobody keeps what it was written in.
        if bodyBytes != nil || (200..<300).contains(response.status) {
            new.type = response.fields.contentType?.essence
        }
        let variant = variant(of: response)
        new.variant = variant.text
        if variant.hadSecret { new.flags.insert(.isPrivate) }
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

    /// Nil where there is none.
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
            let text = VaryKey.withholdingSecrets(of: known, secrets, hadSecret: &hadSecret)
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
        if RequestSecrets.makePrivate(response.fields, to: request) { return .isPrivate }
        let caching = response.fields.elements("Cache-Control").map { $0.lowercased() }
        let isOfCookies = response.requestFields.contains("Cookie")
        return isOfCookies && (caching.contains("private") || caching.contains("no-store")) ? .isPrivate : []
    }

    // MARK: - Revisits

    /// Their bodies are those of responses that were taken before, once those are committed.
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
            // By name, by digest, or its own address as it was before.
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
        // What still waits comes once more in the end.
        revisits = later
    }

    /// Where the body of another address leads from this one.
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
        // The queue says why where it has failed.
        while isDone.wait(atMost: .milliseconds(200), { $0 ? true : nil }) == nil {
            try ArchiveError.storing { () throws(StoreError) in try writes.afterCommit {} }
        }
    }
}

extension Import.Scanned {
    /// Nobody takes over what stands in a file.
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
