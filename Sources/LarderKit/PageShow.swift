internal import Archives
internal import Browser
internal import Serve
internal import Store
internal import System
internal import Web

extension Larder {
    /// Runs the body with a browser, and a server of what the larder holds for it.
    func showing<Result>(
        by program: String, _ options: ServeOptions = ServeOptions(),
        _ body: (Browser, MirrorService) throws(LarderError) -> Result
    ) throws(LarderError) -> Result {
        let service = try serve(port: 0, threads: 1, options: options)
        defer { service.stop() }
        let browser: Browser
        do throws(BrowserError) {
            browser = try Browser(BrowserOptions(executable: program))
        } catch {
            throw LarderError(
                .machine, "the browser does not start: \(error); name another", remedy: .browser)
        }
        defer { browser.close() }
        return try body(browser, service)
    }
}

/// Shows one page of a held site in a browser that reaches nothing but the larder, and keeps what that makes
/// of it: a picture, or a PDF.
struct PageShow {
    private let larder: Larder
    private let plan: ExportPlan
    private let program: String
    private let page: String
    private let viewport: Viewport
    private let prefersDark: Bool

    /// - Throws: `LarderError` of kind `.input` where what is wanted cannot be.
    init(_ larder: Larder, _ plan: ExportPlan, _ options: ExportOptions) throws(LarderError) {
        (self.larder, self.plan, prefersDark) = (larder, plan, options.prefersDark)
        program = try BrowserProgram.needed(options.browser)
        guard let page = plan.page?.href ?? plan.site.start.first else {
            throw LarderError(.input, "\(plan.site.name) has no page to begin at: name the URL of one")
        }
        self.page = page
        guard let viewport = Viewport(options.viewport ?? "1280x900") else {
            let text = options.viewport ?? ""
            throw LarderError(
                .input, "\"\(text)\" is no size of a window: write it like 390x844 or 390x844@3")
        }
        self.viewport = viewport
    }

    /// Blocks.
    func run(_ interruption: Interruption) throws(LarderError) -> ExportReport {
        var serving = ServeOptions()
        serving.showsPrivate = plan.hasPrivate
        return try larder.showing(by: program, serving) { (browser, service) throws(LarderError) in
            try show(browser, service, interruption)
        }
    }

    private func show(
        _ browser: Browser, _ service: MirrorService, _ interruption: Interruption
    ) throws(LarderError) -> ExportReport {
        var visit = PageVisit(url: address(at: service))
        visit.viewports = [viewport]
        visit.prefersDark = prefersDark
        visit.limit = .seconds(60)
        // Apps make pauses while they load, and the picture is taken once.
        visit.quiet = .milliseconds(1500)
        visit.wantsPaper = plan.form == .pdf
        visit.wantsPicture = plan.form == .png
        visit.wantsWholePicture = plan.form == .png
        let outcome = Monitor<PageOutcome?>(nil)
        browser.open(visit) { result in outcome.change { $0 = result } }
        while true {
            guard !interruption.isRequested else { throw .interrupted }
            if let outcome = outcome.wait(atMost: .milliseconds(200), { $0 }) {
                return try report(outcome, service)
            }
        }
    }

    /// Where it is served, as of the visit that is wanted.
    private func address(at service: MirrorService) -> String {
        if let visit = plan.visit { return "http://localhost:\(service.port)/@\(visit)/\(page)" }
        return service.address(of: page) ?? page
    }

    private func report(_ outcome: PageOutcome, _ service: MirrorService) throws(LarderError) -> ExportReport
    {
        // The page's own comes before those of its frames.
        let document = outcome.requests.first {
            $0.type == "Document" && !(300..<400).contains($0.status ?? 0)
        }
        if let status = document?.status, status >= 400 {
            throw LarderError(
                .input, "cannot show \(page): the larder does not hold it, or may not show it; prefetch it",
                remedy: plan.hasPrivate ? nil : .privateToo)
        }
        if let elsewhere = ledTo(outcome) {
            throw LarderError(
                .input,
                "a script of \(page) leads on to \(original(of: elsewhere, service)), which the larder does not hold; prefetch that, or export the page as HTML"
            )
        }
        guard let bytes = plan.form == .pdf ? outcome.paper : outcome.picture else {
            throw LarderError(.machine, "the browser made nothing of \(page): \(words(outcome.ending))")
        }
        let (plan, missing) = (plan, missing(outcome, service))
        return try archiving { () throws(ArchiveError) -> ExportReport in
            var report = ExportReport(site: plan.site.name, visit: plan.visit, form: plan.form)
            let file = try ArchiveFiles.write(bytes, to: plan.path)
            let isVerified = plan.isVerified ? try ShownFile(plan.path).holds(bytes, plan.form) : nil
            report.tell(
                file, missing: missing, isVerified: isVerified,
                isCut: plan.form == .png && Self.height(of: bytes) >= PageVisit.pictureHeight - 8)
            return report
        }
    }

    /// Of a PNG, in pixels (section 11.2.1 of its standard).
    private static func height(of picture: [UInt8]) -> Int {
        picture.count < 24 ? 0 : picture[20..<24].reduce(0) { $0 << 8 | Int($1) }
    }

    /// Where scripts led the tab, and nothing is held.
    private func ledTo(_ outcome: PageOutcome) -> String? {
        guard let end = WebURL(outcome.address)?.key.href else { return nil }
        let last = outcome.requests.last { $0.type == "Document" && WebURL($0.url)?.key.href == end }
        return (last?.status ?? 0) >= 400 ? end : nil
    }

    /// What it asked for and is not held, under the name that it has in the web, as far as that is known.
    private func missing(_ outcome: PageOutcome, _ service: MirrorService) -> [String: String] {
        var missing: [String: String] = [:]
        for request in outcome.requests
        where request.status ?? 0 >= 400 && !request.url.hasSuffix("/favicon.ico") {
            missing[original(of: request.url, service)] = page
        }
        return missing
    }

    private func original(of address: String, _ service: MirrorService) -> String {
        let origin = WebURL(page)?.origin
        return service.original(of: address) { $0.origin == origin }?.href ?? address
    }

    private func words(_ ending: PageOutcome.Ending) -> String {
        switch ending {
        case .complete: "it gave no picture; try again, or a smaller page"
        case .outOfTime where plan.form == .pdf:
            "it does not come to rest, or has no end; export it as PNG, or as HTML with its scripts left out"
        case .outOfTime: "it does not come to rest; export it as HTML with its scripts left out"
        case .hung: "its scripts never pause; export it as HTML with its scripts left out"
        case .crashed: "it crashes the browser; try another one"
        case .download: "it is a file, and no page; name a page"
        case .failed(let why): "\(why); try again"
        }
    }
}
