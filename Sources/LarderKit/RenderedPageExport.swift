internal import Archives
internal import Browser
internal import Mirror
internal import Store
internal import System
internal import Web

extension Larder {
    /// Runs a closure with a browser, and a server of the store for it.
    ///
    /// - Parameter shared: the browser of a prefetch, which stays open; nil to start one for this call.
    func withBrowserAndServer<Result>(
        by program: String, in shared: SharedBrowser? = nil, _ options: ServeOptions = ServeOptions(),
        _ body: (Browser, MirrorService) throws(LarderError) -> Result
    ) throws(LarderError) -> Result {
        var options = options
        // Only a person reads pages; a browser that checks or prints them does not.
        options.recordsUses = false
        let service = try serve(port: 0, threads: 1, options: options)
        defer { service.stop() }
        let browser: Browser
        do throws(BrowserError) {
            if let shared {
                browser = try shared.browser()
            } else {
                browser = try Browser(BrowserOptions(executable: program))
            }
        } catch {
            throw LarderError(
                .machine, "cannot start the browser: \(error); name another one", remedy: .browser)
        }
        defer { if shared == nil { browser.close() } }
        return try body(browser, service)
    }
}

/// Opens one page of a stored site in a browser that reaches only this store's server, and exports it as PNG or PDF.
struct RenderedPageExport {
    private let larder: Larder
    private let plan: ExportPlan
    private let program: String
    private let page: String
    private let viewport: Viewport
    private let prefersDark: Bool

    /// - Throws: `LarderError` of kind `.input` if there is no browser, no page, or the size of the window is
    ///   invalid.
    init(_ larder: Larder, _ plan: ExportPlan, _ options: ExportOptions) throws(LarderError) {
        (self.larder, self.plan, prefersDark) = (larder, plan, options.prefersDark)
        program = try BrowserProgram.resolve(options.browser)
        guard let page = plan.page?.href ?? plan.site.start.first else {
            throw LarderError(.input, "\(plan.site.name) has no start page; name the URL of a page")
        }
        self.page = page
        guard let viewport = Viewport(options.viewport ?? "1280x900") else {
            let text = options.viewport ?? ""
            throw LarderError(
                .input, "\"\(text)\" is not a window size; write it like 390x844 or 390x844@3")
        }
        self.viewport = viewport
    }

    /// Starts a server and a browser, opens the page, and writes the file. Blocks.
    func run(_ interruption: Interruption) throws(LarderError) -> ExportReport {
        var serving = ServeOptions()
        serving.showsPrivate = plan.hasPrivate
        return try larder.withBrowserAndServer(by: program, serving) {
            (browser, service) throws(LarderError) in
            try show(browser, service, interruption)
        }
    }

    /// Opens the page and waits for its picture.
    private func show(
        _ browser: Browser, _ service: MirrorService, _ interruption: Interruption
    ) throws(LarderError) -> ExportReport {
        var visit = PageVisit(url: address(at: service))
        visit.viewports = [viewport]
        visit.prefersDark = prefersDark
        visit.consent = .reject
        visit.limit = .seconds(60)
        // Web apps pause while they load, and there is only one screenshot.
        visit.quiet = .milliseconds(1500)
        visit.wantsPDF = plan.format == .pdf
        visit.wantsPicture = plan.format == .png
        visit.wantsWholePicture = plan.format == .png
        let outcome = Monitor<PageOutcome?>(nil)
        browser.open(visit) { result in outcome.change { $0 = result } }
        while true {
            guard !interruption.isRequested else { throw .interrupted }
            if let outcome = outcome.wait(atMost: .milliseconds(200), { $0 }) {
                return try report(outcome, service)
            }
        }
    }

    /// The URL under which the server serves the page in the chosen snapshot.
    private func address(at service: MirrorService) -> String {
        let address =
            if let snapshot = plan.snapshot {
                service.address(of: page, inSnapshot: snapshot)
            } else {
                service.address(of: page)
            }
        return address ?? page
    }

    /// Writes the picture to the file, and reports the requests that the server could not answer.
    ///
    /// - Throws: `LarderError` if the page is not stored, or the browser could not show it.
    private func report(_ outcome: PageOutcome, _ service: MirrorService) throws(LarderError) -> ExportReport
    {
        // The first one is the page's own; documents of frames follow.
        let document = outcome.requests.first {
            $0.type == "Document" && !(300..<400).contains($0.status ?? 0)
        }
        if let status = document?.status, status >= 400 {
            let advice = plan.hasPrivate ? "prefetch it" : "prefetch it, or include private responses"
            throw LarderError(
                .input, "cannot export \(page): it is not stored, or private; \(advice)",
                remedy: plan.hasPrivate ? nil : .includePrivate)
        }
        if let elsewhere = unstoredRedirectTarget(outcome) {
            throw LarderError(
                .input,
                "cannot export \(page): a script redirects to \(original(of: elsewhere, service)), which is not stored; prefetch that, or export the page as HTML"
            )
        }
        guard let bytes = plan.format == .pdf ? outcome.pdf : outcome.picture else {
            throw LarderError(.machine, "cannot export \(page): \(words(outcome.ending))")
        }
        let (plan, missing) = (plan, missing(outcome, service))
        return try mapArchiveError { () throws(ArchiveError) -> ExportReport in
            var report = ExportReport(
                site: plan.site.name, snapshot: plan.site.name(ofSnapshot: plan.snapshot), format: plan.format
            )
            let file = try ArchiveFiles.write(bytes, to: plan.path)
            let isVerified =
                plan.shouldVerify ? try ExportedPageFile(plan.path).matches(bytes, plan.format) : nil
            report.recordRendering(
                file, missing: missing, isVerified: isVerified,
                isTruncated: plan.format == .png && Self.height(of: bytes) >= PageVisit.maxPictureHeight - 8)
            return report
        }
    }

    /// The height of a PNG in pixels (PNG specification, section 11.2.1).
    private static func height(of picture: [UInt8]) -> Int {
        picture.count < 24 ? 0 : picture[20..<24].reduce(0) { $0 << 8 | Int($1) }
    }

    /// The URL to which a script redirected the tab, if it is not stored.
    private func unstoredRedirectTarget(_ outcome: PageOutcome) -> String? {
        guard let end = WebURL(outcome.address)?.key.href else { return nil }
        let last = outcome.requests.last { $0.type == "Document" && WebURL($0.url)?.key.href == end }
        return (last?.status ?? 0) >= 400 ? end : nil
    }

    /// The requested URLs that are not stored, under their original names if these are known, each with the page.
    private func missing(_ outcome: PageOutcome, _ service: MirrorService) -> [String: String] {
        var missing: [String: String] = [:]
        for request in outcome.requests
        where request.status ?? 0 >= 400 && !request.url.hasSuffix("/favicon.ico") {
            missing[original(of: request.url, service)] = page
        }
        return missing
    }

    /// The original URL of one of the server's URLs; the URL itself if it is unknown.
    private func original(of address: String, _ service: MirrorService) -> String {
        let origin = WebURL(page)?.origin
        return service.original(of: address) { $0.origin == origin }?.href ?? address
    }

    /// The reason why there is no picture, with advice, for messages.
    private func words(_ ending: PageOutcome.Ending) -> String {
        switch ending {
        case .complete: "the browser made no screenshot; try again, or export a smaller page"
        case .outOfTime where plan.format == .pdf:
            "it keeps loading, or is endless; export it as PNG, or as HTML without its scripts"
        case .outOfTime: "it keeps loading; export it as HTML without its scripts"
        case .hung: "its scripts do not end; export it as HTML without its scripts"
        case .crashed: "it crashes the browser; try another browser"
        case .download: "it is a download, not a page; name a page"
        case .failed(let why): "\(why); try again"
        }
    }
}
