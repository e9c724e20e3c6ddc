internal import Bundles
internal import Digest
internal import Glibc
internal import Markup
internal import Store
internal import System
internal import Web

/// Writes one page of a site to one file. An export is used by one thread.
final class PageExport {
    private let plan: ExportPlan
    private let copies: ShownCopies
    private let interruption: Interruption
    private var report: ExportReport

    init(_ plan: ExportPlan, _ reader: StoreReader, _ interruption: Interruption) {
        (self.plan, self.interruption) = (plan, interruption)
        copies = ShownCopies(plan, reader)
        report = ExportReport(
            site: plan.site.name, snapshot: plan.site.name(ofSnapshot: plan.snapshot), form: plan.form)
    }

    /// Writes the file and verifies it if the plan says so. Blocks. If it throws before the file is complete,
    /// no file has the final name.
    func run() throws(ArchiveError) -> ExportReport {
        let page = try page()
        if plan.form == .mhtml { try writeParts(page) } else { try writeDocument(page) }
        return report
    }

    private func writeDocument(_ page: ShownCopies.Copy) throws(ArchiveError) {
        let writer = SinglePage(copies, plan.pageLimits, keepsScripts: plan.keepsScripts, interruption)
        let bytes = try writer.document(page)
        try finish(ArchiveFiles.write(bytes, to: plan.path), writer.told, page)
        guard plan.isVerified else { return }
        report.isVerified = try ShownFile(plan.path).holds(bytes, .html)
    }

    private func finish(_ file: ArchiveFile, _ needs: PageNeeds, _ page: ShownCopies.Copy) {
        report.files = [ExportReport.File(path: file.path, byteCount: file.byteCount)]
        tell(needs, page)
    }

    // MARK: - Parts

    private static let mostParts = 20_000

    private func writeParts(_ page: ShownCopies.Copy) throws(ArchiveError) {
        guard page.format == .html || page.format == .xhtml else {
            throw ArchiveError(
                .input, "\(page.url.href) is not HTML but \(page.response.type ?? "of no type"); name a page")
        }
        var (addresses, needs) = try copies.needs(of: page.url, atMost: Self.mostParts)
        var parts: [(url: WebURL, copy: ShownCopies.Copy)] = []
        var stream = DigestStream(.sha256)
        for url in addresses {
            try check()
            guard let copy = try copies.copy(at: url) else { continue }
            guard copy.body.byteCount <= plan.pageLimits.body,
                needs.byteCount + Int64(copy.body.byteCount) <= Int64(plan.pageLimits.whole)
            else {
                needs.tooLarge[url.href] = copy.body.byteCount
                continue
            }
            needs.add(copy)
            parts.append((url, copy))
            stream.update(copy.body.sha256.span)
        }
        addresses = []
        let output = try ArchiveOutput(plan.path)
        let writer = try MHTMLWriter(output, page: page, sum: stream.finish())
        var tally = PartTally()
        for (url, copy) in parts {
            try check()
            guard let (bytes, type) = try part(copy, at: url) else { continue }
            tally.add(url.href, DigestStream.digest(.sha256, of: bytes.span))
            try writer.add(bytes, type, at: url)
        }
        let file = try writer.finish()
        finish(file, needs, page)
        if plan.isVerified { report.isVerified = try file.isAsWritten() ? tally == read() : false }
    }

    /// Returns the body for a part. Policies and digests that would block other parts are overwritten, and
    /// the page declares its encoding, because browsers ignore the header of the part. A body that was
    /// reached by a redirect gets absolute links.
    private func part(
        _ copy: ShownCopies.Copy, at url: WebURL
    ) throws(ArchiveError) -> (bytes: [UInt8], type: String)? {
        let type = DataURL.type(copy.type, else: DataURL.type(of: copy.format))
        guard let bytes = try copies.bytes(of: copy) else { return nil }
        guard let table = try copies.table(of: copy) else { return (bytes, type) }
        let source = table.source(of: bytes.span) ?? bytes
        let marks = EncodingMark.changes(in: source, copy.type, table, copy.format)
        guard !table.isTranscoded || !marks.isEmpty else { return (bytes, type) }
        let base = table.base.flatMap { WebURL($0, base: copy.url) } ?? copy.url
        let isMoved = copy.url.key != url.key
        let freed = try Patch.Change.freeing(table) { (mark) throws(ArchiveError) in
            try table.isBroken(mark, in: source, base: base, copies.bytes(at:))
        }
        let changes = (marks + freed).sorted {
            $0.range.lowerBound < $1.range.lowerBound
        }
        let patch = Patch(source.span, table, changes: changes) { occurrence, reference in
            guard isMoved, occurrence.flags.isDisjoint(with: [.isGuess, .isFragment, .hasCodebase]) else {
                return nil
            }
            return WebURL(utf8: reference, base: base, queryEncoding: table.encoding)?.href
        }
        let whole = table.isTranscoded ? type.prefix { $0 != ";" } + DataURL.charset("utf-8") : type
        return (patch.applied(to: source), whole)
    }

    private func check() throws(ArchiveError) {
        guard !interruption.isRequested else {
            throw ArchiveError(.interrupted, "interrupted; run the same command again")
        }
    }

    private func read() throws(ArchiveError) -> PartTally? {
        var tally = PartTally()
        let reader = try ArchiveFiles.reader(of: plan.path, .measured, .own)
        while let item = try reader.next() {
            guard case .response(let response) = item, let body = response.body else { return nil }
            tally.add(response.url, body.sha256)
        }
        return tally
    }

    // MARK: - The report

    /// Returns the page that the user named, or else the start page of the site.
    private func page() throws(ArchiveError) -> ShownCopies.Copy {
        guard let url = plan.page ?? WebURL(plan.site.start.first ?? plan.site.name), url.isHTTP else {
            throw ArchiveError(.input, "\(plan.site.name) has no start page: name the URL of a page")
        }
        if let copy = try copies.copy(at: url) { return copy }
        let isPrivate = !copies.leftOutPrivate.isEmpty
        let reason =
            isPrivate
            ? "it was fetched with your login or cookies; export it anyway"
            : copies.leftOutByPattern.isEmpty
                ? "it is not stored; prefetch it" : "the patterns exclude it; name others"
        throw ArchiveError(
            .input, "cannot export \(url.href): \(reason)", remedy: isPrivate ? .includePrivate : nil)
    }

    private func tell(_ needs: PageNeeds, _ page: ShownCopies.Copy) {
        var parts = needs
        parts.add(page)
        report.responses = parts.parts.count
        report.pages = 1
        report.frozenPages = copies.frozen.contains(page.url.href) ? 1 : 0
        report.byteCount = parts.byteCount
        report.missing = ExportReport.missing(parts.missing)
        report.tooLarge = parts.tooLarge.sorted { $0.key < $1.key }.map {
            ExportReport.Large(url: $0.key, byteCount: Int64($0.value))
        }
        report.damaged = copies.damaged.sorted()
        report.leftOutPrivate = copies.leftOutPrivate.count
        report.leftOutByPattern = copies.leftOutByPattern.count
    }
}

/// An exported file of one page on the disk.
package struct ShownFile {
    private let path: String

    package init(_ path: String) { self.path = path }

    /// Whether the file has exactly these bytes, and they are a complete file of the format.
    package func holds(_ bytes: [UInt8], _ form: ArchiveForm) throws(ArchiveError) -> Bool {
        let path = path
        let isThere = try ArchiveError.wrapping { () throws(SystemError) in
            try WholeFile.beginning(of: path, bytes.count + 1) == bytes
        }
        return isThere && Self.isWhole(bytes, form)
    }

    /// A PDF ends with a marker that a few lines may follow (ISO 32000-1, section 7.5.5), and a PNG with an
    /// `IEND` chunk.
    private static func isWhole(_ bytes: [UInt8], _ form: ArchiveForm) -> Bool {
        switch form {
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
    /// Overwrites attributes that would keep a browser from showing an exported page, without changing the
    /// length: policies that name the origins of the site, and digests of bodies whose links have changed.
    ///
    /// - Parameter isBroken: Whether a digest did not match the original body. Browsers already blocked that
    ///   body on the live site, so the digest stays.
    static func freeing<Failure: Error>(
        _ table: LinkTable, unless isBroken: (DocumentMark) throws(Failure) -> Bool
    ) throws(Failure) -> [Patch.Change] {
        var changes: [Patch.Change] = []
        for mark in table.marks {
            switch mark.kind {
            case .policy: changes.append(Patch.Change(at: mark.place, "original-content-policy"))
            case .integrity:
                if try !isBroken(mark) { changes.append(Patch.Change(at: mark.place, "data-hash")) }
            case .referrer, .referrerPolicy, .start, .startIfShown: break
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
        let reference = reference(occurrences[mark.link], in: source.span)
        guard let target = WebURL(utf8: reference.span, base: base, queryEncoding: encoding) else {
            return false
        }
        return try bytes(target).map { !integrity.isMet(by: $0.span) } ?? false
    }
}
