package import Digest
internal import Glibc
package import Store
package import System
package import Web

/// The content, format and options of an export.
package struct ExportPlan: Sendable {
    package var site: Site
    /// `Snapshot.id` of the snapshot; nil for the live snapshot with its overlay.
    package var snapshot: Int64?
    package var path: String
    package var form: ArchiveForm
    /// Whether the user wants the URL in the archive.
    package var isWanted: @Sendable (WebURL) -> Bool = { _ in true }
    /// Whether an unwanted URL may be exported if a wanted page needs it. Nil if no asset is added this way.
    package var mayGoAlong: (@Sendable (WebURL) -> Bool)?
    /// Whether responses that were fetched with credentials are exported too.
    package var hasPrivate = false
    /// The size in bytes at which the next file is begun; nil for one file.
    package var split: Int64?
    package var isVerified = true
    /// The key that signs the archive; nil for no signature.
    package var key: SigningKey?
    /// The only page to export, with its assets; nil for the whole site.
    package var page: WebURL?
    /// For a program: the path of the `larder` command.
    package var program: String?
    /// The language of a ZIM file as a code of three letters; nil to use the language that its pages declare.
    package var language: String?
    /// Whether the scripts of a page that is exported as one file can run.
    package var keepsScripts = true
    /// The URLs of pages that the mirror serves as frozen copies.
    package var frozen: Set<String> = []
    package var pageLimits = PageLimits()
    /// Receives the number of responses and bytes from time to time.
    package var progress: (@Sendable (_ done: Int, _ byteCount: Int64) -> Void)?

    package init(site: Site, path: String, form: ArchiveForm) {
        self.site = site
        self.path = path
        self.form = form
    }

    /// Whether a response may go into the archive.
    ///
    /// - Parameter isPrivate: Whether the response was fetched with credentials.
    func mayContain(_ url: WebURL, isPrivate: Bool) -> Bool {
        let resource = ProtectedResource.response(url, isPrivate: isPrivate, isPublished: false)
        let archive = Requester(.export, mayHavePrivate: hasPrivate)
        return access(to: resource, by: archive, for: .part) { $0 == $1 } == .granted
    }
}

extension ExportPlan {
    /// The undamaged frozen copy with which the mirror serves a page; nil if it serves the page itself.
    func frozenCopy(
        of response: StoredResponse, _ reader: StoreReader
    ) throws(StoreError) -> StoredResponse? {
        guard response.request == .get, frozen.contains(response.href),
            let copy = try reader.frozenCopy(of: response), let body = copy.body,
            let content = try reader.content(of: body), try body.isWhole(content)
        else { return nil }
        return copy
    }

    /// The response as it is exported: with its frozen copy, if the mirror serves that and the form shows it.
    func exported(_ response: StoredResponse, _ reader: StoreReader) throws(StoreError) -> StoredResponse {
        guard form.showsFrozenCopies, let copy = try frozenCopy(of: response, reader) else {
            return response
        }
        return response.withContent(of: copy)
    }
}

/// Writes the served responses of a site to an archive, and reads the archive back to verify it. An export is
/// used by one thread.
package final class Export {
    private let plan: ExportPlan
    private let reader: StoreReader
    private let interruption: Interruption
    private var report: ExportReport
    private var tally = ArchiveTally()
    /// The URLs of `plan.page` and its assets; nil for all URLs.
    private var needed: Set<String>?
    /// URLs that wanted pages need.
    private var along: Set<String> = []
    /// A cache that tells whether pages were fetched with credentials.
    private var privatePages: [String: Bool] = [:]

    package init(_ plan: ExportPlan, _ reader: StoreReader, _ interruption: Interruption) {
        self.plan = plan
        self.reader = reader
        self.interruption = interruption
        report = ExportReport(
            site: plan.site.name, snapshot: plan.site.name(ofSnapshot: plan.snapshot), form: plan.form)
    }

    /// Writes the archive. Blocks until it is complete and verified. If it throws before the archive is
    /// complete, no file has its final name.
    package func run() throws(ArchiveError) -> ExportReport {
        if plan.form.isOfPage {
            var report = try PageExport(plan, reader, interruption).run()
            try report.countOtherPages(plan, reader)
            return report
        }
        if let page = plan.page {
            let needs = try ShownCopies(plan, reader).needs(of: page, atMost: Self.mostNeeds)
            needed = Set(needs.addresses.map(\.href))
            report.missing = ExportReport.missing(needs.missing.missing)
        } else if let mayGoAlong = plan.mayGoAlong {
            try findAlong(mayGoAlong)
        }
        let writer = try writer()
        var failure: ArchiveError?
        try ArchiveError.storing { () throws(StoreError) in
            try reader.eachShown(ofSite: plan.site.id, asOf: plan.snapshot) { row in
                do throws(ArchiveError) {
                    guard !interruption.isRequested else {
                        throw ArchiveError(.interrupted, "interrupted; run the same command again")
                    }
                    try write(row, to: writer)
                } catch {
                    failure = error
                }
                return failure == nil
            }
        }
        if let failure { throw failure }
        guard report.responses > 0 else { throw nothing }
        report.signer = plan.key.map { DigestStream.digest(.sha256, of: $0.publicKey.span).hex }
        let written = try writer.finish()
        report.files = written.map { ExportReport.File(path: $0.path, byteCount: $0.byteCount) }
        if let warc = writer as? WARCWriter { report.removed = warc.removed }
        if let program = writer as? ProgramWriter { report.libraries = program.libraries }
        if let zim = writer as? ZIMWriter { report.missing = ExportReport.missing(zim.missing) }
        if let files = writer as? FolderWriter { report.wantServer = files.wantServer }
        if plan.isVerified { report.isVerified = try verify(writer, written) }
        return report
    }

    private static let mostNeeds = 100_000

    private func findAlong(_ mayGoAlong: @escaping @Sendable (WebURL) -> Bool) throws(ArchiveError) {
        var all = plan
        all.isWanted = mayGoAlong
        let copies = ShownCopies(all, reader)
        var failure: ArchiveError?
        try ArchiveError.storing { () throws(StoreError) in
            try reader.eachShown(ofSite: plan.site.id, asOf: plan.snapshot) { row in
                guard let url = WebURL(row.response.href), url.isHTTP, plan.isWanted(url) else { return true }
                do throws(ArchiveError) { try copies.addNeeds(of: url, to: &along) } catch { failure = error }
                return failure == nil && !interruption.isRequested
            }
        }
        if let failure { throw failure }
    }

    /// Whether the URL is wanted, or needed by a wanted page.
    private static func isChosen(_ url: WebURL, _ plan: ExportPlan, _ along: Set<String>) -> Bool {
        plan.isWanted(url) || along.contains(url.key.href) && plan.mayGoAlong?(url) ?? false
    }

    private func isNeeded(_ url: WebURL) -> Bool { needed?.contains(url.key.href) ?? true }

    private var nothing: ArchiveError {
        let reason =
            report.leftOutPrivate > 0
            ? "all of it was fetched with your login or cookies; export it anyway"
            : report.leftOutByPattern > 0
                ? "the patterns exclude all of it; name others" : "nothing of it is stored; prefetch it"
        return ArchiveError(
            .input, "cannot export \(plan.site.name): \(reason)",
            remedy: report.leftOutPrivate > 0 ? .includePrivate : nil)
    }

    private func writer() throws(ArchiveError) -> any ArchiveWriter {
        let snapshot = plan.site.snapshots.last { $0.id == plan.snapshot ?? plan.site.published }
        let info = ArchiveInfo(
            software: Product.userAgent, site: plan.site.name, snapshot: snapshot?.number,
            date: snapshot?.started ?? 0)
        switch plan.form {
        case .warc: return try WARCWriter(plan.path, info, split: plan.split)
        case .wacz:
            return try WACZWriter(
                plan.path, info, start: plan.page?.href ?? plan.site.start.first, key: plan.key)
        case .har: return try HARWriter(plan.path, info)
        case .folder: return try files(FolderTree(plan.path), info)
        case .zip: return try files(ZipTree(plan.path, date: info.date), info)
        case .tar: return try files(TarTree(plan.path, date: info.date), info)
        case .zim:
            let about = try ZIMMetadata(
                site: plan.site, page: plan.page, language: plan.language, ShownCopies(plan, reader))
            return try ZIMWriter(plan.path, about, interruption) { (tree) throws(ArchiveError) in
                try files(tree, info, isClosed: true)
            }
        case .program:
            guard let program = plan.program else {
                throw ArchiveError(
                    .input,
                    "a program needs the path of the larder command; name it, or export another format")
            }
            let start = plan.page.map { [$0.href] } ?? plan.site.start
            return try ProgramWriter(
                plan.path, program, info, start: start.isEmpty ? [plan.site.name] : start)
        case .html, .mhtml, .pdf, .png: preconditionFailure("a page is written by itself")
        }
    }

    private func files(
        _ tree: any FileTree, _ info: ArchiveInfo, isClosed: Bool = false
    ) throws(ArchiveError) -> FolderWriter {
        let (plan, reader, needed, along) = (plan, reader, needed, along)
        func isExported(_ row: ShownRow) -> Bool {
            // ZIM files cannot contain empty entries.
            if isClosed, row.response.body?.byteCount == 0 { return false }
            guard let url = WebURL(row.response.href), url.isHTTP, Self.isChosen(url, plan, along) else {
                return false
            }
            guard needed?.contains(url.key.href) ?? true else { return false }
            return plan.mayContain(url, isPrivate: row.response.flags.contains(.isPrivate))
        }
        return try FolderWriter(
            tree, reader, plan.site, asOf: plan.snapshot, info, start: plan.page, isClosed: isClosed,
            content: { (response) throws(StoreError) in try plan.exported(response, reader) },
            isExported: isExported)
    }

    private func write(_ row: ShownRow, to writer: any ArchiveWriter) throws(ArchiveError) {
        let response = try ArchiveError.storing { () throws(StoreError) in
            try plan.exported(row.response, reader)
        }
        guard let url = WebURL(response.href), url.isHTTP, isNeeded(url) else { return }
        guard Self.isChosen(url, plan, along) else {
            report.leftOutByPattern += 1
            return
        }
        guard try plan.mayContain(url, isPrivate: isPrivate(response)) else {
            report.leftOutPrivate += 1
            return
        }
        var archived = ArchivedResponse(ShownRow(response: response, referrer: row.referrer))
        let cookies = plan.hasPrivate ? 0 : archived.fields.removeCookies()
        if let referrer = row.referrer,
            try !plan.mayContain(WebURL(referrer) ?? url, isPrivate: isPrivate(page: referrer))
        {
            archived.notes?.referrer = nil
        }
        if let body = response.body {
            guard let content = try whole(body), let sha256 = Digest(.sha256, bytes: body.sha256) else {
                report.damaged.append(response.href)
                return
            }
            archived.body = ArchivedBody(content: content, byteCount: body.byteCount, sha256: sha256)
            archived.title = body.title
        }
        guard try writer.write(archived) else {
            report.leftOutByForm += 1
            return
        }
        tally.add(archived, sha256: archived.body?.sha256)
        report.responses += 1
        // ZIM files do not contain headers.
        if plan.form != .zim { report.leftOutCookies += cookies }
        if response.role == 0, response.body != nil { report.pages += 1 }
        if response.body != row.response.body {
            report.frozenPages += 1
        } else if try isServedFrozen(response) {
            report.pagesWithScripts += 1
        }
        report.byteCount += Int64(response.body?.byteCount ?? 0)
        plan.progress?(report.responses, report.byteCount)
    }

    private func isServedFrozen(_ response: StoredResponse) throws(ArchiveError) -> Bool {
        try ArchiveError.storing { () throws(StoreError) in
            try plan.frozenCopy(of: response, reader) != nil
        }
    }

    /// Earlier versions did not mark screenshots and other renderings as private. They are as private as
    /// their page.
    private func isPrivate(_ response: StoredResponse) throws(ArchiveError) -> Bool {
        if response.flags.contains(.isPrivate) { return true }
        if response.request.isOfRequest { return false }
        return try isPrivate(page: response.href)
    }

    /// Whether the page was fetched with credentials. Then its URL may be a secret too.
    private func isPrivate(page href: String) throws(ArchiveError) -> Bool {
        if let known = privatePages[href] { return known }
        let rows = try ArchiveError.storing { () throws(StoreError) in try reader.rows(of: href) }
        let isPrivate = rows.contains { $0.response.flags.contains(.isPrivate) }
        if privatePages.count >= Self.maxPrivatePages { privatePages.removeAll() }
        privatePages[href] = isPrivate
        return isPrivate
    }

    /// The number of entries above which the cache is emptied.
    private static let maxPrivatePages = 10_000

    /// Returns the body's content, or nil if it is damaged.
    private func whole(_ body: StoredBody) throws(ArchiveError) -> BodyContent? {
        try ArchiveError.storing { () throws(StoreError) in
            guard let content = try reader.content(of: body), try body.isWhole(content) else { return nil }
            return content
        }
    }

    private func verify(
        _ writer: any ArchiveWriter, _ written: [ArchiveFile]
    ) throws(ArchiveError) -> Bool? {
        for file in written {
            guard try file.isAsWritten() else { return false }
        }
        if let files = writer as? FolderWriter { return try files.verify() }
        if let zim = writer as? ZIMWriter { return try zim.verify() }
        if let program = writer as? ProgramWriter { return try program.read(holds) }
        return try verify()
    }

    /// Whether reading the archive gives the responses that were written.
    private func verify() throws(ArchiveError) -> Bool {
        var read = ArchiveTally()
        for file in report.files {
            let archive = try ArchiveFiles.reader(of: file.path, .measured, .own)
            guard try add(archive, to: &read) else { return false }
        }
        return read == tally
    }

    private func holds(_ archive: any ArchiveReader) throws(ArchiveError) -> Bool {
        var read = ArchiveTally()
        return try add(archive, to: &read) && read == tally
    }

    /// Returns false if a part of the archive cannot be read.
    private func add(
        _ archive: any ArchiveReader, to read: inout ArchiveTally
    ) throws(ArchiveError) -> Bool {
        while let item = try archive.next() {
            switch item {
            case .response(let response): read.add(response, sha256: response.body?.sha256)
            case .revisit(let response, let original): read.add(response, sha256: original.payloadDigest)
            case .other: break
            case .fault: return false
            }
        }
        return true
    }
}

extension HTTPFields {
    /// Removes cookies, because they belong to one user and may contain a login. Returns the number of
    /// removed fields.
    fileprivate mutating func removeCookies() -> Int {
        let before = list.count
        for name in ["Set-Cookie", "Set-Cookie2"] { remove(name) }
        return before - list.count
    }
}

extension ArchivedResponse {
    /// Creates an archived response from a stored one, without its body.
    init(_ row: ShownRow) {
        let held = row.response
        self.init(
            url: held.href, status: held.status, fields: HTTPFields(block: held.fields.utf8.span), body: nil,
            fetched: held.fetched)
        method = held.request.method
        // Only the request headers that the response varies by are stored. Secrets stay in the store.
        requestFields = VaryKey(stored: held.variant).harmlessFields
        var notes = ArchiveNotes()
        notes.role = held.role
        notes.request = held.request
        // Earlier versions stored secrets as they are, until the store is next written to.
        var hadSecret = false
        notes.variant =
            VaryKey.hashingSecrets(of: held.variant, .none, hadSecret: &hadSecret) ?? VaryKey.never
        notes.flags = held.flags
        notes.referrer = row.referrer
        self.notes = notes
    }
}

/// A digest of the responses in an archive: their number and the sum of their digests. It does not depend on
/// the order of the responses.
struct ArchiveTally: Equatable {
    private(set) var count = 0
    private var sum: [UInt64] = [0, 0, 0, 0]

    /// - Parameter sha256: The digest of the body; nil if there is none.
    mutating func add(_ response: ArchivedResponse, sha256: Digest?) {
        count += 1
        // Archives do not distinguish a response without a body from one with an empty body.
        let isEmpty = response.body.map { $0.byteCount == 0 } ?? false
        let text =
            "\(response.url)\n\(response.request.text)\n\(response.notes?.variant ?? "")\n\(response.status)\n"
            + "\(response.fetched)\n\(response.fields.block)\n\(isEmpty ? "" : sha256?.hex ?? "")"
        let digest = DigestStream.digest(.sha256, of: Array(text.utf8).span)
        for (place, byte) in digest.bytes.enumerated() {
            let part = UInt64(byte) << UInt64(place % 8 * 8)
            sum[place / 8] = sum[place / 8] &+ part
        }
    }
}
