internal import Bundles
internal import Digest
internal import Glibc
internal import Markup
internal import Store
internal import System
internal import Web

/// Exports one page of a site as one file: as HTML, in which ``SinglePage`` inserts the assets as `data:` URLs, or as
/// MHTML, in which ``MHTMLWriter`` writes each asset as a part of its own.
///
/// Create it for one export and call `run()` once, on any thread. (PNG and PDF files come from `RenderedPageExport` in
/// LarderKit, because they need a browser.)
final class PageExport {
    private let plan: ExportPlan
    private let resources: ResourceLookup
    private let interruption: Interruption
    private var report: ExportReport

    init(_ plan: ExportPlan, _ reader: StoreReader, _ interruption: Interruption) {
        (self.plan, self.interruption) = (plan, interruption)
        resources = ResourceLookup(plan, reader)
        report = ExportReport(
            site: plan.site.name, snapshot: plan.site.name(ofSnapshot: plan.snapshot), format: plan.format)
    }

    /// Writes the file and, if the plan says so, reads it back to verify it. Blocks. The file gets its final name
    /// only when it is complete; if verification fails, the file stays and `isVerified` in the report is false.
    func run() throws(ArchiveError) -> ExportReport {
        let page = try findPage()
        if plan.format == .mhtml { try writeMHTML(page) } else { try writeHTML(page) }
        return report
    }

    private func writeHTML(_ page: ExportedResource) throws(ArchiveError) {
        let writer = SinglePage(resources, plan.pageLimits, keepsScripts: plan.keepsScripts, interruption)
        let bytes = try writer.document(page)
        try recordResults(ArchiveFiles.write(bytes, to: plan.path), writer.assets, page)
        guard plan.shouldVerify else { return }
        report.isVerified = try ExportedPageFile(plan.path).matches(bytes, .html)
    }

    // MARK: - MHTML

    /// The maximum number of parts of an MHTML file. Further assets are left out.
    private static let maxParts = 20_000

    private func writeMHTML(_ page: ExportedResource) throws(ArchiveError) {
        guard page.format.isHTML else {
            throw ArchiveError(
                .input, "\(page.url.href) is not HTML but \(page.response.type ?? "of no type"); name a page")
        }
        let needed = try resources.neededURLs(of: page.url, maxCount: Self.maxParts)
        var assets = needed.assets
        // The bodies that fit into the limits, some of which may turn out to be damaged.
        var selected = PageAssets()
        var parts: [(url: WebURL, resource: ExportedResource)] = []
        // The sum of the digests of all parts, from which the writer derives the boundary between the parts.
        var sum = DigestStream(.sha256)
        for url in needed.urls {
            try checkInterruption()
            guard let resource = try resources.resource(at: url) else { continue }
            guard resource.body.byteCount <= plan.pageLimits.maxBodyBytes,
                selected.byteCount + Int64(resource.body.byteCount) <= Int64(plan.pageLimits.maxTotalBytes)
            else {
                assets.tooLarge[url.href] = resource.body.byteCount
                continue
            }
            selected.addIncluded(resource)
            parts.append((url, resource))
            sum.update(resource.body.sha256.span)
        }
        let output = try ArchiveOutput(plan.path)
        let writer = try MHTMLWriter(output, page: page, sum: sum.finish())
        var written = PartDigests()
        for (url, resource) in parts {
            try checkInterruption()
            // Nil for a damaged body, which the report lists.
            guard let (bytes, type) = try part(resource, at: url) else {
                guard resource.url != page.url else {
                    throw ArchiveError(.machine, "\(page.url.href) is damaged; prefetch it again")
                }
                continue
            }
            assets.addIncluded(resource)
            written.add(url.href, DigestStream.digest(.sha256, of: bytes.span))
            try writer.add(bytes, type, at: url)
        }
        let file = try writer.finish()
        recordResults(file, assets, page)
        if plan.shouldVerify { report.isVerified = try file.isAsWritten() ? written == readParts() : false }
    }

    /// Returns the bytes and the media type of a part. Nil if the body is damaged.
    ///
    /// In documents and other bodies with links, it renames the attributes that would block other parts
    /// (`neutralizingPolicies`) and declares the encoding in the text, because browsers ignore the charset in the
    /// header of a part. If the URL redirects to the body, links become absolute, because browsers resolve them
    /// against the URL of the part.
    ///
    /// - Parameter url: The URL of the part; `resource.url` is the URL after redirects.
    private func part(
        _ resource: ExportedResource, at url: WebURL
    ) throws(ArchiveError) -> (bytes: [UInt8], type: String)? {
        let type = DataURL.type(resource.type, else: DataURL.type(of: resource.format))
        guard let bytes = try resources.bytes(of: resource) else { return nil }
        guard let table = try resources.table(of: resource) else { return (bytes, type) }
        let source = table.source(of: bytes.span) ?? bytes
        let declarations = EncodingDeclaration.changes(in: source, resource.type, table, resource.format)
        let base = table.base.flatMap { WebURL($0, base: resource.url) } ?? resource.url
        let isRedirected = resource.url.key != url.key
        let policyChanges = try Patch.Change.neutralizingPolicies(table) { (mark) throws(ArchiveError) in
            try table.hasBrokenIntegrity(mark, in: source, base: base, resources.checkedBody(at:))
        }
        let changes = (declarations + policyChanges).sorted {
            $0.range.lowerBound < $1.range.lowerBound
        }
        // A body in UTF-16 or ISO-2022-JP is converted to UTF-8 only if it changes.
        guard !table.isTranscoded || !changes.isEmpty || isRedirected else { return (bytes, type) }
        let patch = Patch(source.span, table, changes: changes) { occurrence, reference in
            guard isRedirected, occurrence.flags.isDisjoint(with: [.isGuess, .isFragment, .hasCodebase])
            else {
                return nil
            }
            return WebURL(utf8: reference, base: base, queryEncoding: table.encoding)?.href
        }
        let text = patch.apply(to: source)
        guard table.isTranscoded else { return (text, type) }
        // The byte order mark of the original body named its encoding, if nothing else did.
        let needsMark = declarations.isEmpty && text.contains { $0 >= 0x80 }
        return (
            (needsMark ? [0xEF, 0xBB, 0xBF] : []) + text,
            type.prefix { $0 != ";" } + DataURL.charset("utf-8")
        )
    }

    private func checkInterruption() throws(ArchiveError) {
        guard !interruption.isRequested else {
            throw ArchiveError(.interrupted, "interrupted; run the same command again")
        }
    }

    /// Returns the digests of the parts in the written file. Returns nil if one of them cannot be read.
    private func readParts() throws(ArchiveError) -> PartDigests? {
        var digests = PartDigests()
        let reader = try ArchiveFiles.reader(of: plan.path, .measuredOnly, .own)
        while let item = try reader.next() {
            guard case .response(let response) = item, let body = response.body else { return nil }
            digests.add(response.url, body.sha256)
        }
        return digests
    }

    // MARK: - Page and report

    /// Returns the page that the user named, or else the first start page of the site. Throws if it is not stored, or
    /// if the plan leaves it out.
    private func findPage() throws(ArchiveError) -> ExportedResource {
        guard let url = plan.page ?? WebURL(plan.site.start.first ?? plan.site.name), url.isHTTP else {
            throw ArchiveError(.input, "\(plan.site.name) has no start page: name the URL of a page")
        }
        if let resource = try resources.resource(at: url) { return resource }
        let isPrivate = !resources.leftOutPrivate.isEmpty
        let reason =
            isPrivate
            ? "it was fetched with your login or cookies; export it anyway"
            : resources.leftOutByPattern.isEmpty
                ? "it is not stored; prefetch it" : "the patterns exclude it; name others"
        throw ArchiveError(
            .input, "cannot export \(url.href): \(reason)", remedy: isPrivate ? .includePrivate : nil)
    }

    /// Fills the report. `assets` may or may not include the page itself.
    private func recordResults(_ file: ArchiveFile, _ assets: PageAssets, _ page: ExportedResource) {
        report.files = [ExportReport.File(path: file.path, byteCount: file.byteCount)]
        var exported = assets
        exported.addIncluded(page)
        report.responses = exported.included.count
        report.pages = 1
        report.frozenPages = resources.frozenPages.contains(page.url.href) ? 1 : 0
        report.byteCount = exported.byteCount
        report.missing = ExportReport.missing(exported.missing)
        report.tooLarge = exported.tooLarge.sorted { $0.key < $1.key }.map {
            ExportReport.OversizedAsset(url: $0.key, byteCount: Int64($0.value))
        }
        report.damaged = resources.damaged.sorted()
        report.leftOutPrivate = resources.leftOutPrivate.count
        report.leftOutByPattern = resources.leftOutByPattern.count
    }
}

/// The file of an exported page, for verification: compares it with the bytes that were written.
package struct ExportedPageFile {
    private let path: String

    package init(_ path: String) { self.path = path }

    /// Whether the file contains exactly these bytes, and a PDF or PNG is complete.
    package func matches(_ bytes: [UInt8], _ format: ArchiveFormat) throws(ArchiveError) -> Bool {
        let path = path
        let hasBytes = try ArchiveError.wrapping { () throws(SystemError) in
            // One byte more, to notice a longer file.
            try WholeFile.beginning(of: path, bytes.count + 1) == bytes
        }
        return hasBytes && Self.isComplete(bytes, format)
    }

    /// Whether the bytes begin and end as the format requires. A PDF ends with a marker that a few lines may follow
    /// (ISO 32000-1, section 7.5.5). A PNG ends with an `IEND` chunk: its name and 4 bytes of checksum. Other formats
    /// have no such end, or Larder writes them itself.
    private static func isComplete(_ bytes: [UInt8], _ format: ArchiveFormat) -> Bool {
        switch format {
        case .pdf:
            bytes.starts(with: "%PDF-".utf8) && bytes.suffix(1024).firstRange(of: Array("%%EOF".utf8)) != nil
        case .png:
            bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
                && bytes.suffix(8).starts(with: "IEND".utf8)
        case .warc, .wacz, .har, .folder, .zip, .tar, .html, .mhtml, .zim, .program: true
        }
    }
}

/// The digests of the parts of an MHTML file, by URL. Two values are equal if the parts are, in any order.
private struct PartDigests: Equatable {
    private var digests: [String: Digest] = [:]

    mutating func add(_ url: String, _ digest: Digest) { digests[url] = digest }
}

extension Patch.Change {
    /// Returns changes that make browsers ignore two kinds of attributes that would block assets of an exported page:
    /// content security policies, which allow only the origins of the live site, and `integrity` digests, which no
    /// longer match bodies with rewritten links, with the keys beside them: the header fields with the signatures do
    /// not exist in an exported file. Each change overwrites a word with another one of the same length: the
    /// `content-security-policy` in an `http-equiv`, and the name of the attribute `integrity`.
    ///
    /// - Parameter isBroken: Whether a digest does not match even the original body, or no demanded key has signed it.
    ///   Browsers block that body on the live site too, so the attribute stays.
    static func neutralizingPolicies<Failure: Error>(
        _ table: LinkTable, unless isBroken: (DocumentMark) throws(Failure) -> Bool
    ) throws(Failure) -> [Patch.Change] {
        var changes: [Patch.Change] = []
        for mark in table.marks {
            switch mark.kind {
            case .policy: changes.append(Patch.Change(at: mark.offset, "original-content-policy"))
            case .integrity:
                if try !isBroken(mark) { changes.append(Patch.Change(at: mark.offset, "data-hash")) }
            case .referrer, .referrerPolicy, .start, .startOfFragment: break
            }
        }
        return changes
    }
}

extension LinkTable {
    /// Whether the stored response does not satisfy an `integrity` attribute. False if the body is not stored.
    ///
    /// - Parameters:
    ///   - mark: A mark of kind `integrity`.
    ///   - source: The text of the document.
    ///   - base: The base URL of the document.
    ///   - stored: Returns the stored body for a URL, or nil for a miss.
    func hasBrokenIntegrity(
        _ mark: DocumentMark, in source: [UInt8], base: WebURL,
        _ stored: (WebURL) throws(ArchiveError) -> CheckedBody?
    ) throws(ArchiveError) -> Bool {
        let value = IntegrityScanner.value(of: mark, in: source.span)
        let integrity = Integrity(String(decoding: value, as: UTF8.self))
        let reference = reference(occurrences[mark.occurrence], in: source.span)
        guard let target = WebURL(utf8: reference.span, base: base, queryEncoding: encoding) else {
            return false
        }
        return try stored(target).map { !integrity.isMet(by: $0.bytes.span, $0.stated) } ?? false
    }
}

/// A stored body, and the integrity that the header fields of its response state.
struct CheckedBody {
    let bytes: [UInt8]
    let stated: ResponseIntegrity?

    init(_ bytes: [UInt8], of response: StoredResponse) {
        self.bytes = bytes
        stated = WebURL(response.href).map {
            let fields = HTTPFields(block: response.fields.utf8.span)
            // A signature may have expired since.
            return ResponseIntegrity(
                of: SignedMessage(url: $0, status: response.status, fields: fields), at: response.fetched)
        }
    }
}
