public import Archives
internal import Check
internal import Crawl
internal import Glibc
internal import Prefetch
public import Reports
public import Store
internal import System
internal import Web

/// The content and format of an export.
public struct ExportOptions: Sendable {
    /// The snapshot to export; nil for the live snapshot with its overlay.
    public var snapshot: SnapshotName?
    /// The archive format; nil derives it from the extension of the file name.
    public var format: ArchiveFormat?
    /// URL patterns, as for a prefetch. If there are any, only matching URLs are exported, with everything that they
    /// need.
    public var include: [String] = []
    /// URL patterns that are never exported, even if other content needs them.
    public var exclude: [String] = []
    /// Replaces an existing file. A folder that is not empty is never replaced.
    public var replacesFile = false
    /// Includes responses that were fetched with credentials, and header fields that set cookies.
    public var includesPrivate = false
    /// For WARC: the size after which a file ends and the next one begins; nil for one file of any size. A response is
    /// never divided, so that a file may be larger.
    public var maxFileSize: ByteSize?
    /// For ZIM: the language in which its readers search, such as `de`, `eng` or `eng,fra`. Nil uses the language of
    /// the main page, or the one of most pages.
    public var language: String?
    /// For a page in one HTML file: includes its scripts, which run when the file is opened.
    public var includesScripts = true
    /// For a page in one file: the maximum size of an asset. Larger ones are left out and reported. Nil for 32 MB.
    public var maxAssetSize: ByteSize?
    /// For a program: the path of the `larder` command. A site in it is left out.
    public var program: String?
    /// For PDF and PNG: the path of the browser; nil for the first one that is found.
    public var browser: String?
    /// For PDF and PNG: the size of the window, with an optional pixel ratio, such as `1280x900` or `390x844@3`. Nil
    /// for `1280x900`.
    public var viewport: String?
    /// For PDF and PNG: the page is shown with the dark colour scheme.
    public var prefersDark = false
    /// Reads the file back, and compares it with the stored content.
    public var isVerified = false
    /// For WACZ: signs the file with the store's key, which is created if there is none. Signing makes the file
    /// differ from one export to the next.
    public var isSigned = false
    /// Receives the progress now and then, on a thread of the export.
    public var progress: (@Sendable (WorkProgress) -> Void)?

    /// Creates options for the live snapshot, in the format that the file name implies.
    public init() {}

    /// Throws if an option has no effect on this format, so that no caller believes it was applied.
    func check(against form: ArchiveFormat) throws(LarderError) {
        let shown = "\(ArchiveFormat.png.suffix) or \(ArchiveFormat.pdf.suffix)"
        let rules: [(isSet: Bool, isSupported: Bool, fact: String, suffix: String)] = [
            (
                maxFileSize != nil, form == .warc, "WARC can be split into several files",
                ArchiveFormat.warc.suffix
            ),
            (language != nil, form == .zim, "ZIM has a language", ArchiveFormat.zim.suffix),
            (isSigned, form == .wacz, "WACZ can be signed", ArchiveFormat.wacz.suffix),
            (viewport != nil, form.isRendered, "PNG and PDF have a window size", shown),
            (prefersDark, form.isRendered, "PNG and PDF can have dark colours", shown),
            (
                !(include + exclude).isEmpty, !form.isRendered,
                "formats other than PNG and PDF take URL patterns",
                "\(ArchiveFormat.html.suffix) or \(ArchiveFormat.mhtml.suffix)"
            ),
            (!includesScripts, form == .html, "HTML can leave out its scripts", ArchiveFormat.html.suffix),
        ]
        for rule in rules where rule.isSet && !rule.isSupported {
            throw LarderError(.input, "only \(rule.fact); name a file that ends in \(rule.suffix)")
        }
        if let language, ZIMMetadata.languageCodes(language) == nil {
            throw LarderError(
                .input, "unknown language \"\(language)\"; write a language code, such as en, deu or eng,fra")
        }
    }

    /// Copies the options that need no checks to a plan.
    func apply(to plan: inout ExportPlan) {
        plan.hasPrivate = includesPrivate
        plan.maxFileBytes = maxFileSize?.byteCount
        plan.shouldVerify = isVerified
        plan.language = language.flatMap(ZIMMetadata.languageCodes)
        plan.keepsScripts = includesScripts
        plan.program = program
        if let maxAssetSize { plan.pageLimits.maxBodyBytes = Int(clamping: maxAssetSize.byteCount) }
        plan.progress = Self.responseProgress(progress)
    }

    /// Returns a callback for counts of responses that reports them as `WorkProgress`.
    static func responseProgress(
        _ progress: (@Sendable (WorkProgress) -> Void)?
    ) -> (@Sendable (_ done: Int, _ byteCount: Int64) -> Void)? {
        guard let progress else { return nil }
        return { done, byteCount in
            progress(WorkProgress(.responses, done: done, of: nil, byteCount: byteCount))
        }
    }

    typealias URLFilter = @Sendable (WebURL) -> Bool

    /// Returns the filter for URLs to export, and the filter for URLs that are exported only because other content needs
    /// them. The latter is nil if `include` is empty: then the first filter decides about all URLs.
    func urlFilters() throws(LarderError) -> (isWanted: URLFilter, canIncludeIfNeeded: URLFilter?) {
        do throws(PatternMistake) {
            var (included, excluded): ([URLPattern], [URLPattern]) = ([], [])
            for text in include { included.append(try URLPattern(text)) }
            for text in exclude { excluded.append(try URLPattern(text)) }
            let isAllowed: URLFilter = { [excluded] url in !excluded.contains { $0.matches(url) } }
            guard !included.isEmpty else { return (isAllowed, nil) }
            return ({ [included] url in included.contains { $0.matches(url) } && isAllowed(url) }, isAllowed)
        } catch {
            throw LarderError(.input, error.description)
        }
    }
}

extension Larder {
    /// Exports a site, or one page with everything that it needs, into an archive for other programs or into files
    /// that a browser opens.
    ///
    /// The same snapshot gives the same file, byte for byte. The file appears under its name only when it is
    /// complete.
    ///
    /// ```swift
    /// let report = try await larder.export("https://example.com/", to: "example.warc.gz")
    /// print(report.responses)
    /// ```
    ///
    /// - Parameters:
    ///   - site: the name of a site, or the URL of a stored page. For a format of one page, a site's name means its
    ///     start page.
    ///   - path: the file or folder to write.
    /// - Returns: A report on the written file and the content that was left out, including damaged bodies.
    /// - Throws: `LarderError` of kind `.input` if there is no such site, snapshot or format, or nothing to export, or
    ///   if the file exists and the options do not replace it;
    ///   `.machine` if the file cannot be written; `.interrupted` if the task is cancelled. No file is left behind
    ///   then.
    public func export(
        _ site: String, to path: String, options: ExportOptions = ExportOptions()
    ) async throws(LarderError) -> ExportReport {
        guard let form = options.format ?? ArchiveFormat(path: path) else {
            let name = path.split(separator: "/").last ?? ""
            guard name.contains(".") else {
                throw LarderError(
                    .input,
                    "\(path) does not name a format; to write a folder, end its name with a slash: \(path)/")
            }
            let forms = ArchiveFormat.allCases.map { "\($0.rawValue) (\($0.suffix))" }.joined(separator: ", ")
            throw LarderError(
                .input, "\(path) does not name a format; end it like one of these: \(forms)")
        }
        try options.check(against: form)
        try checkIsOutsideStore(path)
        try requireNotLocked(path, form, options)
        let (folder, interruption, filters) = (folder, Interruption(), try options.urlFilters())
        return try await Self.runOnThread("larder-export", onCancel: interruption.request) {
            () throws(LarderError) -> ExportReport in
            let reader = try mapStoreError { () throws(StoreError) -> StoreReader in try StoreReader(folder) }
            let (storedSite, page) = try Self.siteAndPage(site, reader)
            var plan = ExportPlan(site: storedSite, path: path, format: form)
            plan.page = page
            if let name = options.snapshot {
                plan.snapshot = try mapStoreError { () throws(StoreError) in try storedSite.snapshot(name).id
                }
            }
            // Frozen copies replace pages only in the live snapshot. An earlier one is served with its scripts.
            if plan.snapshot == nil { plan.frozenPages = Set(SitePlan(text: storedSite.settings).frozen) }
            (plan.isWanted, plan.canIncludeIfNeeded) = filters
            options.apply(to: &plan)
            if options.isSigned {
                plan.signingKey = try mapArchiveError { () throws(ArchiveError) in
                    try ArchiveSigningKey.open(in: folder)
                }
            }
            let wanted = plan
            if form.isRendered {
                var report = try RenderedPageExport(self, wanted, options).run(interruption)
                try mapArchiveError { () throws(ArchiveError) in try report.countOtherPages(wanted, reader) }
                return report
            }
            return try mapArchiveError { () throws(ArchiveError) -> ExportReport in
                try Export(wanted, reader, interruption).run()
            }
        }
    }

    /// The site with a name; else the stored page with that URL, and its site.
    private static func siteAndPage(
        _ name: String, _ reader: StoreReader
    ) throws(LarderError) -> (site: Site, page: WebURL?) {
        try mapStoreError { () throws(StoreError) -> (site: Site, page: WebURL?) in
            let sites = try reader.sites()
            let names = sites.map(\.name)
            if let index = SiteName.index(of: name, among: names) { return (sites[index], nil) }
            if let page = (try? WebURL.parseUserInput(name))?.key,
                let response = try reader.response(for: page.href),
                let site = sites.first(where: { $0.snapshots.contains { $0.id == response.snapshot } })
            {
                return (site, page)
            }
            if let index = SiteName.index(of: name, among: names, acceptsOrigin: true) {
                return (sites[index], nil)
            }
            let origin = (try? WebURL.parseUserInput(name))?.origin
            guard let site = names.first(where: { WebURL($0)?.origin == origin }) else {
                throw SiteName.unknownSiteError(name, among: names)
            }
            throw StoreError(
                .request, doing: "export", path: name, detail: "it is not stored",
                advice: "list the stored URLs with: larder list \(site)")
        }
    }

    /// Imports a WARC, ARC, WACZ or HAR archive of another program, or a folder of files, as a snapshot of a site.
    /// Does the same as `importArchives` with one path.
    ///
    /// ```swift
    /// let imported = try await larder.importArchive("crawl.warc.gz")
    /// for fault in imported.refused { print(fault.place, fault.reason) }
    /// ```
    ///
    /// - Parameters:
    ///   - path: the archive or folder.
    ///   - site: the name of the site that gets the snapshot; nil for the URL of the first page in the archive.
    ///   - base: the URL that a folder was copied from, or of a saved page, if the file does not name it.
    ///   - sizeAllowance: the number of unpacked bytes that are allowed on top of 200 times the size of the archive.
    ///   - progress: receives the progress now and then, on a thread of the import.
    /// - Throws: The same errors as `importArchives`.
    public func importArchive(
        _ path: String, into site: String? = nil, at base: String? = nil, sizeAllowance: ByteSize? = nil,
        progress: (@Sendable (WorkProgress) -> Void)? = nil
    ) async throws(LarderError) -> ImportReport {
        try await importArchives(
            [path], into: site, at: base, sizeAllowance: sizeAllowance, progress: progress)
    }

    /// Imports WARC, ARC, WACZ or HAR archives of other programs, or folders of files, as one snapshot of a site.
    ///
    /// The imported responses keep their dates, are scanned for links like fetched ones, and are served when the
    /// import ends. Records whose digests or lengths do not match are rejected.
    ///
    /// ```swift
    /// let report = try await larder.importArchives(["part-1.warc.gz", "part-2.warc.gz"])
    /// print(report.responses)
    /// ```
    ///
    /// - Parameters:
    ///   - paths: the archives, which are imported one after the other.
    ///   - site: the name of the site that gets the snapshot; nil for the URL of the first page in the archives.
    ///   - base: the URL that a folder was copied from, or of a saved page, if the files do not name it.
    ///   - sizeAllowance: the number of unpacked bytes that are allowed on top of 200 times the size of the archives.
    ///     The import ends above that, because such archives are usually made to fill disks. Nil for 512 MiB, or a
    ///     quarter of the free disk space if that is less.
    ///   - progress: receives the progress now and then, on a thread of the import.
    /// - Returns: A report on imported, rejected and doubtful responses.
    /// - Throws: `LarderError` of kind `.input` if a file is not an archive or has no response, `.machine` if the
    ///   store fails; `.interrupted` if the task is cancelled. The site is unchanged then.
    public func importArchives(
        _ paths: [String], into site: String? = nil, at base: String? = nil, sizeAllowance: ByteSize? = nil,
        progress: (@Sendable (WorkProgress) -> Void)? = nil
    ) async throws(LarderError) -> ImportReport {
        try await importArchives(
            paths, into: site, at: base, sizeAllowance: sizeAllowance, isSavedPage: false, progress: progress)
    }

    /// - Parameter isSavedPage: whether the file is a page that the user has saved in a browser of this machine.
    func importArchives(
        _ paths: [String], into site: String?, at base: String?, sizeAllowance: ByteSize?, isSavedPage: Bool,
        progress: (@Sendable (WorkProgress) -> Void)?
    ) async throws(LarderError) -> ImportReport {
        let (folder, interruption) = (folder, Interruption())
        let url = base.flatMap { WebURL($0)?.key }
        if let base, url?.isHTTP != true {
            throw LarderError(
                .input,
                "\"\(base)\" is not an http or https URL; name the URL that the folder was copied from")
        }
        return try await Self.runOnThread("larder-import", onCancel: interruption.request) {
            () throws(LarderError) -> ImportReport in
            var plan = ImportPlan(folder, paths: paths)
            (plan.site, plan.isSavedPage) = (site, isSavedPage)
            plan.base = url
            plan.limits = ArchiveLimits(
                allowanceBytes: sizeAllowance?.byteCount,
                freeBytes: Folder.freeBytes(in: Self.existingAncestor(folder.path)))
            let required = try mapStoreError { () throws(StoreError) in
                try CurrentRequirements.all(in: folder)
            }
            plan.refusal = { (url, content, stated) throws(StoreError) in
                try required.refusal(of: content, at: url, stated)
            }
            plan.progress = ExportOptions.responseProgress(progress)
            let wanted = plan
            return try mapArchiveError { () throws(ArchiveError) -> ImportReport in
                let now = SystemClock.secondsSinceEpoch()
                return try Import(wanted, interruption, now: now).run(now: now)
            }
        }
    }
}

extension Larder {
    /// Throws if the path is inside the store's own folder, except in the portal's folder for exported files.
    private func checkIsOutsideStore(_ path: String) throws(LarderError) {
        let whole = path.hasPrefix("/") ? path : "\(Folder.resolved("."))/\(path)"
        let folderOfFile = Folder.resolved(Self.existingAncestor(whole)) + "/"
        func isBelow(_ folder: String) -> Bool { folderOfFile.hasPrefix(Folder.resolved(folder) + "/") }
        guard isBelow(folder.path), !isBelow(folder.portalFiles) else { return }
        throw LarderError(.input, "\(path) is inside the store; name a path outside of \(folder.path)")
    }

    /// Throws if the file exists, unless the options replace it.
    private func requireNotLocked(
        _ path: String, _ form: ArchiveFormat, _ options: ExportOptions
    ) throws(LarderError) {
        // The writer of each format reports other obstacles, such as a folder with this name.
        let firstFile = options.maxFileSize == nil ? path : WARCWriter.partPath(path, 0)
        guard form != .folder, !options.replacesFile, WholeFile.exists(firstFile) else { return }
        throw LarderError(
            .input, "\(firstFile) already exists; name another file, or replace this one",
            remedy: .replaceFile)
    }

    /// The path itself, or its nearest ancestor that exists.
    private static func existingAncestor(_ path: String) -> String {
        var path = path
        while access(path, F_OK) != 0, let slash = path.lastIndex(of: "/"), slash > path.startIndex {
            path = String(path[..<slash])
        }
        return path
    }
}

/// Converts an `ArchiveError` into a `LarderError`.
func mapArchiveError<Value>(_ body: () throws(ArchiveError) -> Value) throws(LarderError) -> Value {
    do throws(ArchiveError) {
        return try body()
    } catch {
        let kind: LarderError.Kind =
            switch error.kind {
            case .input: .input
            case .machine: .machine
            case .interrupted: .interrupted
            }
        throw LarderError(kind, error.description, remedy: error.remedy)
    }
}
