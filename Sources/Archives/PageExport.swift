internal import Bundles
internal import Digest
internal import Glibc
internal import Markup
internal import Store
internal import System
internal import Web

/// Writes one page of a site to one file: HTML with inserted assets (``SinglePage``), or MHTML, in which each asset is a
/// part of its own (``MHTMLWriter``). An export is used by one thread.
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

    /// Writes the file and verifies it if the plan says so. Blocks. If it throws before the file is complete,
    /// no file has the final name.
    func run() throws(ArchiveError) -> ExportReport {
        let page = try page()
        if plan.format == .mhtml { try writeParts(page) } else { try writeDocument(page) }
        return report
    }

    private func writeDocument(_ page: ExportedResource) throws(ArchiveError) {
        let writer = SinglePage(resources, plan.pageLimits, keepsScripts: plan.keepsScripts, interruption)
        let bytes = try writer.document(page)
        try recordResults(ArchiveFiles.write(bytes, to: plan.path), writer.assets, page)
        guard plan.shouldVerify else { return }
        report.isVerified = try ExportedPageFile(plan.path).matches(bytes, .html)
    }

    // MARK: - Parts

    /// The maximum number of parts of an MHTML file. Further assets are left out.
    private static let maxParts = 20_000

    private func writeParts(_ page: ExportedResource) throws(ArchiveError) {
        guard page.format == .html || page.format == .xhtml else {
            throw ArchiveError(
                .input, "\(page.url.href) is not HTML but \(page.response.type ?? "of no type"); name a page")
        }
        var (urls, assets) = try resources.neededURLs(of: page.url, maxCount: Self.maxParts)
        var parts: [(url: WebURL, resource: ExportedResource)] = []
        var stream = DigestStream(.sha256)
        for url in urls {
            try checkInterruption()
            guard let resource = try resources.resource(at: url) else { continue }
            guard resource.body.byteCount <= plan.pageLimits.maxBodyBytes,
                assets.byteCount + Int64(resource.body.byteCount) <= Int64(plan.pageLimits.maxTotalBytes)
            else {
                assets.tooLarge[url.href] = resource.body.byteCount
                continue
            }
            assets.addIncluded(resource)
            parts.append((url, resource))
            stream.update(resource.body.sha256.span)
        }
        urls = []
        let output = try ArchiveOutput(plan.path)
        let writer = try MHTMLWriter(output, page: page, sum: stream.finish())
        var tally = PartTally()
        for (url, resource) in parts {
            try checkInterruption()
            guard let (bytes, type) = try part(resource, at: url) else { continue }
            tally.add(url.href, DigestStream.digest(.sha256, of: bytes.span))
            try writer.add(bytes, type, at: url)
        }
        let file = try writer.finish()
        recordResults(file, assets, page)
        if plan.shouldVerify { report.isVerified = try file.isAsWritten() ? tally == readParts() : false }
    }

    /// Returns the body for a part. Policies and digests that would block other parts are overwritten, and
    /// the page declares its encoding, because browsers ignore the header of the part. A body that was
    /// reached by a redirect gets absolute links.
    private func part(
        _ resource: ExportedResource, at url: WebURL
    ) throws(ArchiveError) -> (bytes: [UInt8], type: String)? {
        let type = DataURL.type(resource.type, else: DataURL.type(of: resource.format))
        guard let bytes = try resources.bytes(of: resource) else { return nil }
        guard let table = try resources.table(of: resource) else { return (bytes, type) }
        let source = table.source(of: bytes.span) ?? bytes
        let declarations = EncodingDeclaration.changes(in: source, resource.type, table, resource.format)
        guard !table.isTranscoded || !declarations.isEmpty else { return (bytes, type) }
        let base = table.base.flatMap { WebURL($0, base: resource.url) } ?? resource.url
        let isMoved = resource.url.key != url.key
        let policyChanges = try Patch.Change.neutralizingPolicies(table) { (mark) throws(ArchiveError) in
            try table.isBroken(mark, in: source, base: base, resources.bytes(at:))
        }
        let changes = (declarations + policyChanges).sorted {
            $0.range.lowerBound < $1.range.lowerBound
        }
        let patch = Patch(source.span, table, changes: changes) { occurrence, reference in
            guard isMoved, occurrence.flags.isDisjoint(with: [.isGuess, .isFragment, .hasCodebase]) else {
                return nil
            }
            return WebURL(utf8: reference, base: base, queryEncoding: table.encoding)?.href
        }
        let whole = table.isTranscoded ? type.prefix { $0 != ";" } + DataURL.charset("utf-8") : type
        return (patch.apply(to: source), whole)
    }

    private func checkInterruption() throws(ArchiveError) {
        guard !interruption.isRequested else {
            throw ArchiveError(.interrupted, "interrupted; run the same command again")
        }
    }

    /// Returns the parts in the written file. Returns nil if one of them cannot be read.
    private func readParts() throws(ArchiveError) -> PartTally? {
        var tally = PartTally()
        let reader = try ArchiveFiles.reader(of: plan.path, .measuredOnly, .own)
        while let item = try reader.next() {
            guard case .response(let response) = item, let body = response.body else { return nil }
            tally.add(response.url, body.sha256)
        }
        return tally
    }

    // MARK: - The report

    /// Returns the page that the user named, or else the start page of the site.
    private func page() throws(ArchiveError) -> ExportedResource {
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

    private func recordResults(_ file: ArchiveFile, _ assets: PageAssets, _ page: ExportedResource) {
        report.files = [ExportReport.File(path: file.path, byteCount: file.byteCount)]
        var parts = assets
        parts.addIncluded(page)
        report.responses = parts.included.count
        report.pages = 1
        report.frozenPages = resources.frozenPages.contains(page.url.href) ? 1 : 0
        report.byteCount = parts.byteCount
        report.missing = ExportReport.missing(parts.missing)
        report.tooLarge = parts.tooLarge.sorted { $0.key < $1.key }.map {
            ExportReport.OversizedAsset(url: $0.key, byteCount: Int64($0.value))
        }
        report.damaged = resources.damaged.sorted()
        report.leftOutPrivate = resources.leftOutPrivate.count
        report.leftOutByPattern = resources.leftOutByPattern.count
    }
}

/// An exported file of one page on the disk.
package struct ExportedPageFile {
    private let path: String

    package init(_ path: String) { self.path = path }

    /// Whether the file has exactly these bytes, and they are a complete file of the format.
    package func matches(_ bytes: [UInt8], _ format: ArchiveFormat) throws(ArchiveError) -> Bool {
        let path = path
        let hasBytes = try ArchiveError.wrapping { () throws(SystemError) in
            try WholeFile.beginning(of: path, bytes.count + 1) == bytes
        }
        return hasBytes && Self.isComplete(bytes, format)
    }

    /// Whether the bytes have the beginning and end of the format. A PDF ends with a marker that a few lines may follow
    /// (ISO 32000-1, section 7.5.5), and a PNG with an `IEND` chunk.
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

/// The digests of the parts by URL, in any order.
private struct PartTally: Equatable {
    private var parts: [String: Digest] = [:]

    mutating func add(_ address: String, _ digest: Digest) { parts[address] = digest }
}

extension Patch.Change {
    /// Returns changes that overwrite the names of attributes that would keep a browser from showing an exported page:
    /// content security policies, which name the origins of the site, and `integrity` digests of bodies whose links have
    /// changed. The new names have the same length.
    ///
    /// - Parameter isBroken: Whether a digest did not match the original body. Browsers already blocked that
    ///   body on the live site, so the digest stays.
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
    /// Whether an `integrity` attribute does not match the stored body.
    ///
    /// - Parameter bytes: Returns the stored body for a URL, or nil for a miss.
    func isBroken(
        _ mark: DocumentMark, in source: [UInt8], base: WebURL,
        _ bytes: (WebURL) throws(ArchiveError) -> [UInt8]?
    ) throws(ArchiveError) -> Bool {
        let value = IntegrityScanner.value(of: mark, in: source.span)
        let integrity = Integrity(String(decoding: value, as: UTF8.self))
        let reference = reference(occurrences[mark.occurrence], in: source.span)
        guard let target = WebURL(utf8: reference.span, base: base, queryEncoding: encoding) else {
            return false
        }
        return try bytes(target).map { !integrity.isMet(by: $0.span) } ?? false
    }
}
