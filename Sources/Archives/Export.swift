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
    /// The file or folder to write.
    package var path: String
    package var format: ArchiveFormat
    /// Whether the user's URL patterns select the URL.
    package var isWanted: @Sendable (WebURL) -> Bool = { _ in true }
    /// Whether a URL that is not wanted may be exported because a wanted page needs it. Nil if only wanted URLs are
    /// exported.
    package var canIncludeIfNeeded: (@Sendable (WebURL) -> Bool)?
    /// Whether responses that were fetched with credentials are exported too.
    package var hasPrivate = false
    /// The size in bytes at which the next file is begun; nil for one file.
    package var maxFileBytes: Int64?
    /// Whether the archive is read back and compared with the written responses.
    package var shouldVerify = true
    /// The key that signs the archive; nil for no signature.
    package var signingKey: SigningKey?
    /// The only page to export, with its assets; nil for the whole site.
    package var page: WebURL?
    /// For a program: the path of the `larder` command.
    package var program: String?
    /// The language of a ZIM file as a code of three letters; nil to use the language that its pages declare.
    package var language: String?
    /// Whether the scripts of a page that is exported as one file can run.
    package var keepsScripts = true
    /// The URLs of pages that the mirror serves as frozen copies: the rendered document without its scripts.
    package var frozenPages: Set<String> = []
    package var pageLimits = PageLimits()
    /// Receives the number of exported responses and of their bytes after each response, on the thread of the
    /// export.
    package var progress: (@Sendable (_ done: Int, _ byteCount: Int64) -> Void)?

    package init(site: Site, path: String, format: ArchiveFormat) {
        self.site = site
        self.path = path
        self.format = format
    }

    /// Whether the access rules allow a response in the archive.
    ///
    /// - Parameter isPrivate: Whether the response was fetched with credentials.
    func canContain(_ url: WebURL, isPrivate: Bool) -> Bool {
        let resource = ProtectedResource.response(url, isPrivate: isPrivate, isPublished: false)
        let archive = Requester(.export, canReceivePrivate: hasPrivate)
        return access(to: resource, by: archive, for: .part) { $0 == $1 } == .granted
    }
}

extension ExportPlan {
    /// Returns the frozen copy that the mirror serves in place of a page. Returns nil if it serves the page itself,
    /// or if the copy is damaged.
    func frozenCopy(
        of response: StoredResponse, _ reader: StoreReader
    ) throws(StoreError) -> StoredResponse? {
        guard response.request == .get, frozenPages.contains(response.href),
            let copy = try reader.frozenCopy(of: response), let body = copy.body,
            let content = try reader.content(of: body), try body.isIntact(content)
        else { return nil }
        return copy
    }

    /// Returns the response as it is exported: with the body of its frozen copy if the mirror serves that copy and
    /// the format uses frozen copies.
    func responseToExport(
        _ response: StoredResponse, _ reader: StoreReader
    ) throws(StoreError) -> StoredResponse {
        guard format.usesFrozenCopies, let copy = try frozenCopy(of: response, reader) else {
            return response
        }
        return response.withContent(of: copy)
    }
}

/// Writes the responses that a snapshot serves to an archive, and reads the archive back to verify it.
///
/// `run()` makes one pass over the responses in the order of their URLs. Each one is left out, with a count in the
/// report, unless it is selected by the plan's patterns, allowed by the access rules, undamaged, and possible in the
/// format. The others go to an ``ArchiveWriter`` for the format. Formats of one page are written by ``PageExport``
/// instead.
///
/// To verify, `ArchiveTally` sums up the written responses, and reading the archive must give the same sum.
///
/// An export is used by one thread.
package final class Export {
    private let plan: ExportPlan
    private let reader: StoreReader
    private let interruption: Interruption
    private var report: ExportReport
    /// The sum of the written responses.
    private var tally = ArchiveTally()
    /// The URLs of `plan.page` and its assets; nil for all URLs.
    private var neededURLs: Set<String>?
    /// URLs that wanted pages need, whether they are wanted themselves or not.
    private var dependencyURLs: Set<String> = []
    /// The URLs of responses with status 404 or 410 that the format cannot contain.
    private var notFoundURLs: Set<String> = []
    /// Whether pages were fetched with credentials, as a cache by URL.
    private var privatePages: [String: Bool] = [:]

    package init(_ plan: ExportPlan, _ reader: StoreReader, _ interruption: Interruption) {
        self.plan = plan
        self.reader = reader
        self.interruption = interruption
        report = ExportReport(
            site: plan.site.name, snapshot: plan.site.name(ofSnapshot: plan.snapshot), format: plan.format)
    }

    /// Writes the archive. Blocks until it is complete and verified. If it throws before the archive is
    /// complete, no file has its final name.
    package func run() throws(ArchiveError) -> ExportReport {
        if plan.format.isSinglePage {
            var report = try PageExport(plan, reader, interruption).run()
            try report.countOtherPages(plan, reader)
            try markBrokenAssets(in: &report)
            return report
        }
        if let page = plan.page {
            let (urls, assets) = try ResourceLookup(plan, reader)
                .neededURLs(of: page, maxCount: Self.maxNeededURLs)
            neededURLs = Set(urls.map(\.href))
            report.missing = ExportReport.missing(assets.missing)
        } else if let canIncludeIfNeeded = plan.canIncludeIfNeeded {
            try findDependencies(canIncludeIfNeeded)
        }
        if plan.page == nil { report.failed = try failedURLs() }
        let writer = try makeWriter()
        (writer as? FolderWriter)?.failed = report.failed
        var failure: ArchiveError?
        try ArchiveError.storing { () throws(StoreError) in
            try reader.eachVisibleResponse(ofSite: plan.site.id, asOf: plan.snapshot) { row in
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
        guard report.responses > 0 else { throw nothingToExport }
        report.signer = plan.signingKey.map { DigestStream.digest(.sha256, of: $0.publicKey.span).hex }
        let written = try writer.finish()
        report.files = written.map { ExportReport.File(path: $0.path, byteCount: $0.byteCount) }
        if let warc = writer as? WARCWriter { report.removedFiles = warc.removedFiles }
        if let program = writer as? ProgramWriter { report.libraries = program.libraries }
        if let zim = writer as? ZIMWriter { report.missing = ExportReport.missing(zim.missing) }
        if let files = writer as? FolderWriter {
            report.urlsNeedingServer = files.urlsNeedingServer
            if plan.page == nil {
                let failed = Set(report.failed.map(\.url))
                report.missing = ExportReport.missing(files.missing.filter { !failed.contains($0.key) })
            }
        }
        try markBrokenAssets(in: &report)
        let listed = report.missing.count { $0.isBroken && notFoundURLs.contains($0.url) }
        report.leftOutByFormat -= listed
        report.leftOutNotFound -= listed
        if plan.shouldVerify { report.isVerified = try verify(writer, written) }
        return report
    }

    /// Marks the missing assets that the original site does not have.
    private func markBrokenAssets(in report: inout ExportReport) throws(ArchiveError) {
        guard !report.missing.isEmpty else { return }
        let responses = ResourceLookup(plan, reader)
        for (index, asset) in report.missing.enumerated() {
            guard let url = WebURL(asset.url), let last = try responses.redirectChain(from: url).last else {
                continue
            }
            report.missing[index].isBroken = last.status == 404 || last.status == 410
        }
    }

    /// The maximum number of URLs that are exported for one page. Further assets are left out.
    private static let maxNeededURLs = 100_000

    /// Returns the wanted URLs of the live snapshot that could not be fetched. Without private responses, only those to
    /// which a public document links.
    private func failedURLs() throws(ArchiveError) -> [ExportReport.FailedURL] {
        guard plan.snapshot == nil || plan.snapshot == plan.site.published else { return [] }
        let failures = StoredFailures(of: plan.site)
        guard !failures.isEmpty else { return [] }
        return try ArchiveError.storing { () throws(StoreError) in
            let visible = plan.hasPrivate ? reader : try StoreReader(reader.folder, hidesPrivate: true)
            var failed: [ExportReport.FailedURL] = []
            for href in failures.urls {
                guard let url = WebURL(href), plan.isWanted(url), let reason = failures.reason(for: href),
                    // A URL that was fetched later is in the export.
                    try reader.response(for: href) == nil, try visible.canReveal(href)
                else { continue }
                failed.append(ExportReport.FailedURL(url: href, reason: reason))
            }
            return failed
        }
    }

    /// Fills `dependencyURLs` with the assets of all wanted pages.
    private func findDependencies(
        _ canIncludeIfNeeded: @escaping @Sendable (WebURL) -> Bool
    ) throws(ArchiveError) {
        var permissivePlan = plan
        permissivePlan.isWanted = canIncludeIfNeeded
        let resources = ResourceLookup(permissivePlan, reader)
        var failure: ArchiveError?
        try ArchiveError.storing { () throws(StoreError) in
            try reader.eachVisibleResponse(ofSite: plan.site.id, asOf: plan.snapshot) { row in
                guard let url = WebURL(row.response.href), url.isHTTP, plan.isWanted(url) else { return true }
                do throws(ArchiveError) {
                    try resources.addNeededURLs(of: url, to: &dependencyURLs)
                } catch {
                    failure = error
                }
                return failure == nil && !interruption.isRequested
            }
        }
        if let failure { throw failure }
    }

    /// Whether the URL is wanted, or needed by a wanted page.
    private static func isSelected(_ url: WebURL, _ plan: ExportPlan, _ dependencyURLs: Set<String>) -> Bool {
        plan.isWanted(url) || dependencyURLs.contains(url.key.href) && plan.canIncludeIfNeeded?(url) ?? false
    }

    private func isNeeded(_ url: WebURL) -> Bool { neededURLs?.contains(url.key.href) ?? true }

    /// The error for an export without a single response, with the most likely reason.
    private var nothingToExport: ArchiveError {
        let reason =
            report.leftOutPrivate > 0
            ? "all of it was fetched with your login or cookies; export it anyway"
            : report.leftOutByPattern > 0
                ? "the patterns exclude all of it; name others" : "nothing of it is stored; prefetch it"
        return ArchiveError(
            .input, "cannot export \(plan.site.name): \(reason)",
            remedy: report.leftOutPrivate > 0 ? .includePrivate : nil)
    }

    private func makeWriter() throws(ArchiveError) -> any ArchiveWriter {
        let snapshot = plan.site.snapshots.last { $0.id == plan.snapshot ?? plan.site.published }
        let info = ArchiveInfo(
            software: Product.userAgent, site: plan.site.name, snapshot: snapshot?.number,
            date: snapshot?.started ?? 0)
        switch plan.format {
        case .warc: return try WARCWriter(plan.path, info, maxFileBytes: plan.maxFileBytes)
        case .wacz:
            return try WACZWriter(
                plan.path, info, start: plan.page?.href ?? plan.site.start.first, key: plan.signingKey)
        case .har: return try HARWriter(plan.path, info)
        case .folder: return try makeFolderWriter(FolderTree(plan.path), info)
        case .zip:
            let folder = FolderNames.enclosingFolder(ofSite: plan.site.name)
            return try makeFolderWriter(ZipTree(plan.path, folder: folder, date: info.date), info)
        case .tar: return try makeFolderWriter(TarTree(plan.path, date: info.date), info)
        case .zim:
            let metadata = try ZIMMetadata(
                site: plan.site, page: plan.page, language: plan.language, ResourceLookup(plan, reader))
            return try ZIMWriter(plan.path, metadata, interruption) { (tree) throws(ArchiveError) in
                try makeFolderWriter(tree, info, isForZIM: true)
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

    /// - Parameter isForZIM: Whether the files become a ZIM file.
    private func makeFolderWriter(
        _ tree: any FileTree, _ info: ArchiveInfo, isForZIM: Bool = false
    ) throws(ArchiveError) -> FolderWriter {
        let (plan, reader, neededURLs, dependencyURLs) = (plan, reader, neededURLs, dependencyURLs)
        // Repeats the conditions of `write(_:to:)` for the targets of links, which the folder writer looks up.
        func isExported(_ row: VisibleResponse) -> Bool {
            // ZIM files cannot contain empty entries.
            if isForZIM, row.response.body?.byteCount == 0 { return false }
            guard let url = WebURL(row.response.href), url.isHTTP, Self.isSelected(url, plan, dependencyURLs)
            else {
                return false
            }
            guard neededURLs?.contains(url.key.href) ?? true else { return false }
            return plan.canContain(url, isPrivate: row.response.flags.contains(.isPrivate))
        }
        return try FolderWriter(
            tree, reader, plan.site, asOf: plan.snapshot, info, start: plan.page, isForZIM: isForZIM,
            content: { (response) throws(StoreError) in try plan.responseToExport(response, reader) },
            isExported: isExported)
    }

    /// Writes a response, or counts in the report why it was left out.
    private func write(_ row: VisibleResponse, to writer: any ArchiveWriter) throws(ArchiveError) {
        let response = try ArchiveError.storing { () throws(StoreError) in
            try plan.responseToExport(row.response, reader)
        }
        guard let url = WebURL(response.href), url.isHTTP, isNeeded(url) else { return }
        guard Self.isSelected(url, plan, dependencyURLs) else {
            report.leftOutByPattern += 1
            return
        }
        guard try plan.canContain(url, isPrivate: isPrivate(response)) else {
            report.leftOutPrivate += 1
            return
        }
        var archived = ArchivedResponse(VisibleResponse(response: response, referrer: row.referrer))
        let cookies = plan.hasPrivate ? 0 : archived.fields.removeCookies()
        // The URL of a private page may be a secret, even as a referrer.
        if let referrer = row.referrer,
            try !plan.canContain(WebURL(referrer) ?? url, isPrivate: isPrivate(page: referrer))
        {
            archived.notes?.referrer = nil
        }
        if let body = response.body {
            guard let content = try undamagedContent(of: body),
                let sha256 = Digest(.sha256, bytes: body.sha256)
            else {
                report.damaged.append(response.href)
                return
            }
            archived.body = ArchivedBody(content: content, byteCount: body.byteCount, sha256: sha256)
            archived.title = body.title
        }
        guard try writer.write(archived) else {
            report.leftOutByFormat += 1
            if response.isRedirect { report.leftOutRedirects += 1 }
            if [404, 410].contains(response.status) {
                report.leftOutNotFound += 1
                notFoundURLs.insert(response.href)
            }
            return
        }
        tally.add(archived, sha256: archived.body?.sha256)
        report.responses += 1
        // ZIM files do not contain headers.
        if plan.format != .zim { report.leftOutCookies += cookies }
        if response.role == 0, response.body != nil { report.pages += 1 }
        if response.body != row.response.body {
            report.frozenPages += 1
        } else if try isServedFrozen(response) {
            report.pagesWithScripts += 1
        }
        report.byteCount += Int64(response.body?.byteCount ?? 0)
        plan.progress?(report.responses, report.byteCount)
    }

    /// Whether the mirror serves a frozen copy of the page, although the format contains the page itself.
    private func isServedFrozen(_ response: StoredResponse) throws(ArchiveError) -> Bool {
        try ArchiveError.storing { () throws(StoreError) in
            try plan.frozenCopy(of: response, reader) != nil
        }
    }

    /// Whether the response was fetched with credentials. Earlier versions of Larder did not mark screenshots and
    /// other renderings as private, so these are as private as their page.
    private func isPrivate(_ response: StoredResponse) throws(ArchiveError) -> Bool {
        if response.flags.contains(.isPrivate) { return true }
        if response.request.isRealRequest { return false }
        return try isPrivate(page: response.href)
    }

    /// Whether the page was fetched with credentials. Then its URL may be a secret too.
    private func isPrivate(page href: String) throws(ArchiveError) -> Bool {
        if let known = privatePages[href] { return known }
        let rows = try ArchiveError.storing { () throws(StoreError) in try reader.versions(of: href) }
        let isPrivate = rows.contains { $0.response.flags.contains(.isPrivate) }
        if privatePages.count >= Self.maxPrivatePages { privatePages.removeAll() }
        privatePages[href] = isPrivate
        return isPrivate
    }

    /// The number of entries above which the cache is emptied.
    private static let maxPrivatePages = 10_000

    /// Returns the content of the body, or nil if it does not match its digest.
    private func undamagedContent(of body: StoredBody) throws(ArchiveError) -> BodyContent? {
        try ArchiveError.storing { () throws(StoreError) in
            guard let content = try reader.content(of: body), try body.isIntact(content) else { return nil }
            return content
        }
    }

    /// Whether the files on the disk are those that were written, and contain the responses that were written. Nil if
    /// the tool that checks the format is not installed.
    private func verify(
        _ writer: any ArchiveWriter, _ written: [ArchiveFile]
    ) throws(ArchiveError) -> Bool? {
        for file in written {
            guard try file.isAsWritten() else { return false }
        }
        if let files = writer as? FolderWriter { return try files.verify() }
        if let zim = writer as? ZIMWriter { return try zim.verify() }
        if let program = writer as? ProgramWriter { return try program.readBack(hasWrittenResponses) }
        var readTally = ArchiveTally()
        for file in report.files {
            let archive = try ArchiveFiles.reader(of: file.path, .measuredOnly, .own)
            guard try addResponses(of: archive, to: &readTally) else { return false }
        }
        return readTally == tally
    }

    /// Whether reading the archive gives the responses that were written.
    private func hasWrittenResponses(_ archive: any ArchiveReader) throws(ArchiveError) -> Bool {
        var readTally = ArchiveTally()
        return try addResponses(of: archive, to: &readTally) && readTally == tally
    }

    /// Reads the archive to its end. Returns false if a part of it cannot be read.
    private func addResponses(
        of archive: any ArchiveReader, to tally: inout ArchiveTally
    ) throws(ArchiveError) -> Bool {
        while let item = try archive.next() {
            switch item {
            case .response(let response): tally.add(response, sha256: response.body?.sha256)
            case .revisit(let response, let original): tally.add(response, sha256: original.payloadDigest)
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
        let count = list.count
        for name in ["Set-Cookie", "Set-Cookie2"] { remove(name) }
        return count - list.count
    }
}

extension ArchivedResponse {
    /// Creates an archived response from a stored one, without its body.
    init(_ row: VisibleResponse) {
        let stored = row.response
        self.init(
            url: stored.href, status: stored.status, fields: HTTPFields(block: stored.fields.utf8.span),
            body: nil, fetched: stored.fetched)
        method = stored.request.method
        // Only the request headers that the response varies by are stored. Secrets stay in the store.
        requestFields = VaryKey(stored: stored.variant).harmlessFields
        var notes = ArchiveNotes()
        notes.role = stored.role
        notes.request = stored.request
        // Earlier versions stored secrets unhashed. They are still there if the store was not written to since.
        var hadSecret = false
        notes.variant =
            VaryKey.hashingSecrets(of: stored.variant, .none, hadSecret: &hadSecret) ?? VaryKey.never
        notes.flags = stored.flags
        notes.referrer = row.referrer
        self.notes = notes
    }
}

/// A digest of the responses in an archive: their number and the sum of their digests. It does not depend on
/// the order of the responses. A sum is enough, because it detects errors of the writer, the reader and the disk, not
/// forgeries.
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
        // Adds the 32 bytes as four little-endian numbers, each modulo 2^64.
        for (index, byte) in digest.bytes.enumerated() {
            let part = UInt64(byte) << UInt64(index % 8 * 8)
            sum[index / 8] = sum[index / 8] &+ part
        }
    }
}
