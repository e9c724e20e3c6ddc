public import Archives
internal import Check
internal import Crawl
internal import Glibc
public import Reports
internal import Store
internal import System
internal import Web

/// What of a site is exported, and how.
public struct ExportOptions: Sendable {
    /// As of which visit; nil for what is served, with what servers loaded on top of it.
    public var visit: Int64?
    /// Nil for what the name of the file says.
    public var form: ArchiveForm?
    /// Patterns of URLs, written as for a prefetch: with any, only what matches one, and what that needs.
    public var include: [String] = []
    /// What matches one of these stays out, whatever needs it.
    public var exclude: [String] = []
    /// What was fetched with credentials goes too, and so do fields that set cookies.
    public var hasPrivate = false
    /// How large a WARC becomes before the next one is begun.
    public var split: ByteSize?
    /// Of a ZIM, the language in which its readers look for words: `de`, `eng`, `eng,fra`. Nil for what
    /// its first page says, else most pages.
    public var language: String?
    /// Of a page in one file: its scripts are in it, and run.
    public var keepsScripts = true
    /// Of a page in one file: what is larger is left out, and reported. Nil for 32 MB.
    public var largestPart: ByteSize?
    /// Of a page that a browser shows, for PDF and PNG: the program, nil for the first that is found.
    public var browser: String?
    /// In which window it is shown: `1280x900`, `390x844@3`. Nil for the first of these.
    public var viewport: String?
    /// It is shown in dark colours.
    public var prefersDark = false
    /// What was written is read back, and compared with what is held.
    public var isVerified = false
    /// A WACZ is signed with the store's key, which is made where there is none yet. Signed again, the file
    /// is another one.
    public var isSigned = false
    /// Told how far it is, now and then, on a thread of the export's.
    public var progress: (@Sendable (WorkProgress) -> Void)?

    public init() {}

    /// What a form cannot do is refused: nobody should take it for done.
    func check(against form: ArchiveForm) throws(LarderError) {
        let shown = "\(ArchiveForm.png.suffix) or \(ArchiveForm.pdf.suffix)"
        let mistakes: [(isAsked: Bool, isPossible: Bool, what: String, name: String)] = [
            (split != nil, form == .warc, "WARC is split into several files", ArchiveForm.warc.suffix),
            (language != nil, form == .zim, "a ZIM has a language", ArchiveForm.zim.suffix),
            (isSigned, form == .wacz, "WACZ is signed", ArchiveForm.wacz.suffix),
            (viewport != nil, form.isShown, "PNG and PDF are shown in a window", shown),
            (prefersDark, form.isShown, "PNG and PDF are shown in dark colours", shown),
            (
                !(include + exclude).isEmpty, !form.isShown, "what no browser makes is chosen by patterns",
                "\(ArchiveForm.html.suffix) or \(ArchiveForm.mhtml.suffix)"
            ),
            (!keepsScripts, form == .html, "HTML has its scripts left out", ArchiveForm.html.suffix),
        ]
        for mistake in mistakes where mistake.isAsked && !mistake.isPossible {
            throw LarderError(.input, "only \(mistake.what): name a \(mistake.name)")
        }
        if let language, ZIMMetadata.codes(language) == nil {
            throw LarderError(
                .input, "\(language) names no language: name one by its code, such as en, deu or eng,fra")
        }
    }

    func fill(_ plan: inout ExportPlan) {
        plan.visit = visit
        plan.hasPrivate = hasPrivate
        plan.split = split?.byteCount
        plan.isVerified = isVerified
        plan.language = language.flatMap(ZIMMetadata.codes)
        plan.keepsScripts = keepsScripts
        if let largestPart { plan.pageLimits.body = Int(clamping: largestPart.byteCount) }
        plan.progress = Self.counting(progress)
    }

    static func counting(
        _ progress: (@Sendable (WorkProgress) -> Void)?
    ) -> (@Sendable (_ done: Int, _ byteCount: Int64) -> Void)? {
        guard let progress else { return nil }
        return { done, byteCount in
            progress(WorkProgress(.responses, done: done, of: nil, byteCount: byteCount))
        }
    }

    typealias Wish = @Sendable (WebURL) -> Bool

    /// Which addresses are wanted, and which go along where that needs them.
    func choice() throws(LarderError) -> (isWanted: Wish, mayGoAlong: Wish?) {
        do throws(PatternMistake) {
            var (included, excluded): ([URLPattern], [URLPattern]) = ([], [])
            for text in include { included.append(try URLPattern(text)) }
            for text in exclude { excluded.append(try URLPattern(text)) }
            let mayGo: Wish = { [excluded] url in !excluded.contains { $0.matches(url) } }
            guard !included.isEmpty else { return (mayGo, nil) }
            return ({ [included] url in included.contains { $0.matches(url) } && mayGo(url) }, mayGo)
        } catch {
            throw LarderError(.input, error.description)
        }
    }
}

extension Larder {
    /// Writes what a site shows, or one page of it with what that needs, into an archive that other programs
    /// read, or into files that a browser opens. The same visit gives the same file, byte for byte. Until it
    /// is whole nothing stands under its name.
    ///
    /// ```swift
    /// let report = try await larder.export("https://example.com/", to: "example.warc.gz")
    /// print(report.responses)
    /// ```
    ///
    /// - Parameter site: the name of a site, or the URL of a page that is held; where the form has one page,
    ///   the name stands for the page that the site begins with.
    /// - Returns: What was written, and what was left out. That bodies are damaged is no error; they are in
    ///   the report.
    /// - Throws: `LarderError` of kind `.input` when there is no such site, visit or form, or nothing to
    ///   export; `.machine` when the file cannot be written; `.interrupted` when the task is cancelled, and
    ///   then there is no file.
    public func export(
        _ site: String, to path: String, options: ExportOptions = ExportOptions()
    ) async throws(LarderError) -> ExportReport {
        guard let form = options.form ?? ArchiveForm(path: path) else {
            let forms = ArchiveForm.allCases.map { "\($0.rawValue) (\($0.suffix))" }.joined(separator: ", ")
            throw LarderError(
                .input, "\(path) does not say which form of archive it is to be: there are \(forms)")
        }
        try options.check(against: form)
        try checkPlace(path)
        let (folder, interruption, choice) = (folder, Interruption(), try options.choice())
        return try await Self.onThread("larder-export", onCancel: interruption.request) {
            () throws(LarderError) -> ExportReport in
            let reader = try storing { () throws(StoreError) -> StoreReader in try StoreReader(folder) }
            let (held, page) = try Self.siteAndPage(site, options.visit, reader)
            var plan = ExportPlan(site: held, path: path, form: form)
            plan.page = page
            (plan.isWanted, plan.mayGoAlong) = choice
            options.fill(&plan)
            if options.isSigned {
                plan.key = try archiving { () throws(ArchiveError) in try ArchiveKey.open(in: folder) }
            }
            let wanted = plan
            if form.isShown { return try PageShow(self, wanted, options).run(interruption) }
            return try archiving { () throws(ArchiveError) -> ExportReport in
                try Export(wanted, reader, interruption).run()
            }
        }
    }

    /// The site of that name, else the page of that URL and the site that shows it.
    private static func siteAndPage(
        _ name: String, _ visit: Int64?, _ reader: StoreReader
    ) throws(LarderError) -> (site: Site, page: WebURL?) {
        try storing { () throws(StoreError) -> (site: Site, page: WebURL?) in
            let sites = try reader.sites()
            let names = sites.map(\.name)
            let held = SiteName.place(of: name, among: names).map { sites[$0] }
            if let held {
                if let visit { _ = try held.visit(visit) }
                return (held, nil)
            }
            guard let page = (try? WebURL.typed(name))?.key, let shown = try reader.response(for: page.href),
                let site = sites.first(where: { $0.visits.contains { $0.id == shown.visit } })
            else { throw SiteName.unknown(name, among: names) }
            if let visit { _ = try site.visit(visit) }
            return (site, page)
        }
    }

    /// Takes archives of others in, WARC, ARC, WACZ or HAR, and folders of files, as a visit of a site: their
    /// responses with their dates, scanned for links as if they had just come, and served from then on. What
    /// an archive says is believed as far as its digests and lengths hold.
    ///
    /// ```swift
    /// let report = try await larder.takeIn(["crawl.warc.gz"])
    /// for fault in report.refused { print(fault.place, fault.reason) }
    /// ```
    ///
    /// - Parameters:
    ///   - paths: of the archives, one after the other.
    ///   - site: the name of the site that gets the visit; nil for the first page in them.
    ///   - base: where folders stood, or the page that was saved, where they do not say so themselves.
    ///   - growth: how much more than 200 times their own size they may become in the larder; nil for 512 MiB, or
    ///     a quarter of what the disk has left where that is less.
    /// - Returns: What was taken, refused and doubtful.
    /// - Throws: `LarderError` of kind `.input` for a file that is no archive or has no response, `.machine`
    ///   when the store fails; `.interrupted` when the task is cancelled. Then the site is as it was.
    public func takeIn(
        _ paths: [String], into site: String? = nil, at base: String? = nil, growth: ByteSize? = nil,
        progress: (@Sendable (WorkProgress) -> Void)? = nil
    ) async throws(LarderError) -> ImportReport {
        let (folder, interruption) = (folder, Interruption())
        let url = base.flatMap { WebURL($0)?.key }
        if let base, url?.isHTTP != true {
            throw LarderError(.input, "\(base) is no address over http or https: name that of the folder")
        }
        return try await Self.onThread("larder-import", onCancel: interruption.request) {
            () throws(LarderError) -> ImportReport in
            var plan = ImportPlan(folder, paths: paths)
            plan.site = site
            plan.base = url
            plan.limits = ArchiveLimits(
                allowing: growth?.byteCount, room: DiskRoom.bytes(in: Self.existing(folder.path)))
            let required = try storing { () throws(StoreError) in try RequirementsInForce.all(in: folder) }
            plan.refusal = { (url, content) throws(StoreError) in try required.refusal(of: content, at: url) }
            plan.progress = ExportOptions.counting(progress)
            let wanted = plan
            return try archiving { () throws(ArchiveError) -> ImportReport in
                let now = SystemClock.secondsSinceEpoch()
                return try Import(wanted, interruption, now: now).run(now: now)
            }
        }
    }
}

extension Larder {
    /// Nothing is written between the larder's own files, or over one of them, but what the portal keeps there.
    private func checkPlace(_ path: String) throws(LarderError) {
        let whole = path.hasPrefix("/") ? path : "\(Folder.resolved("."))/\(path)"
        let place = Folder.resolved(Self.existing(whole)) + "/"
        func isBelow(_ folder: String) -> Bool { place.hasPrefix(Folder.resolved(folder) + "/") }
        guard isBelow(folder.path), !isBelow(folder.portalFiles) else { return }
        throw LarderError(.input, "\(path) is in the larder itself: name a place outside of \(folder.path)")
    }

    /// The nearest folder that is there already, of one that may be made yet.
    private static func existing(_ path: String) -> String {
        var path = path
        while access(path, F_OK) != 0, let slash = path.lastIndex(of: "/"), slash > path.startIndex {
            path = String(path[..<slash])
        }
        return path
    }
}

/// What stops an archive goes on as what stopped the call.
func archiving<Value>(_ body: () throws(ArchiveError) -> Value) throws(LarderError) -> Value {
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
