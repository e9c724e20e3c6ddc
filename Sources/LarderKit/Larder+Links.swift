internal import Browser
public import Check
internal import Fetch
internal import Markup
internal import Mirror
internal import Prefetch
internal import Store
internal import System
internal import Web

/// The subject of a check of links.
public enum LinkTarget: Sendable, Equatable {
    /// A stored site, by its name, URL or host.
    case site(String)
    /// The output folder of a build.
    case folder(String)
    /// HTML, Markdown, CSS or sitemap files. Links that begin with a slash refer to the folder `root`; nil stands for the folder of
    /// the repository, else the current folder.
    case files([String], root: String? = nil)
    /// The URL of a site or a sitemap, which is fetched into a temporary store.
    case url(String)
}

extension Larder {
    /// Checks the links of a site, a folder or files: links between their pages with their fragments, assets, redirects, and
    /// links to other sites.
    ///
    /// ```swift
    /// let report = try await Larder.default.checkLinks(.folder("dist"))
    /// for finding in report.findings where report.fails(finding) { print(finding.target, finding.detail) }
    /// ```
    ///
    /// - Throws: `LarderError` of kind `.input` if the target does not exist or has no pages, `.machine` if the store, the
    ///   network of a URL or this machine fails, `.interrupted` if the task is cancelled. Faulty links are results.
    public func checkLinks(
        _ target: LinkTarget, options: LinkCheckOptions = LinkCheckOptions()
    ) async throws(LarderError) -> LinkCheckReport {
        let (larder, folder) = (self, folder)
        switch target {
        case .url(let text): return try await checkLinks(ofURL: text, options)
        case .site(let name):
            let interruption = Interruption()
            return try await Self.runOnThread("larder-links", onCancel: interruption.request) {
                () throws(LarderError) in
                try LinkCheck.report(
                    onSite: name, options, in: folder,
                    rendering: larder.fragmentRenderer(options, interruption),
                    interruption)
            }
        case .folder(let path):
            let interruption = Interruption()
            return try await Self.runOnThread("larder-links", onCancel: interruption.request) {
                () throws(LarderError) in
                try LinkCheck.report(onFolder: path, options, in: folder, interruption)
            }
        case .files(let files, let root):
            let interruption = Interruption()
            return try await Self.runOnThread("larder-links", onCancel: interruption.request) {
                () throws(LarderError) in
                try LinkCheck.report(onFiles: files, root: root, options, in: folder, interruption)
            }
        }
    }

    /// Fetches a site into a temporary store and checks its links.
    private func checkLinks(ofURL text: String, _ options: LinkCheckOptions) async throws(LarderError)
        -> LinkCheckReport
    {
        let url = try WebURL.start(text)
        let temporary = try TemporaryStore()
        defer { temporary.remove() }
        var prefetch = PrefetchOptions()
        prefetch.indexes = false
        if let network = options.network { prefetch.network = network }
        if let maxPages = options.maxPages { prefetch.plan.maxPages = maxPages }
        let report = try await temporary.larder.prefetch([url.href], options: prefetch)
        guard !report.isInterrupted else { throw .interrupted }
        guard report.isPublished else {
            let reason = report.missing.first.map { "\($0.url): \($0.reason)" } ?? "no page could be loaded"
            throw LarderError(
                .machine, "cannot check \(url.href): \(reason); check the address and the network")
        }
        let (folder, stored) = (folder, temporary.larder)
        let interruption = Interruption()
        return try await Self.runOnThread("larder-links", onCancel: interruption.request) {
            () throws(LarderError) in
            try LinkCheck.report(
                onSite: url.href, options, in: stored.folder, cache: folder,
                rendering: stored.fragmentRenderer(options, interruption), interruption)
        }
    }

    /// A function that finds the fragments that scripts add to stored pages. It opens each page in a browser that reaches only
    /// this store. Nil if the options use no browser, or none is found.
    private func fragmentRenderer(_ options: LinkCheckOptions, _ interruption: Interruption) -> LinkCheck
        .RenderedFragments?
    {
        guard options.usesBrowser, BrowserProgram.isAvailable(options.browser) else { return nil }
        return { missing throws(LarderError) in
            let program = try BrowserProgram.resolve(options.browser)
            let pages = missing.keys.sorted().prefix(LinkCheckOptions.maxRenderedPages)
            return try withBrowserAndServer(by: program) { (browser, service) throws(LarderError) in
                var found: [String: Set<String>] = [:]
                for page in pages {
                    guard !interruption.isRequested else { throw .interrupted }
                    guard let address = service.address(of: page), let fragments = missing[page] else {
                        continue
                    }
                    var visit = PageVisit(url: address)
                    visit.wantsDocument = true
                    guard let document = browser.render(visit).document else { continue }
                    let anchors = PageAnchors(of: document.utf8.span, as: .html, charset: "utf-8")
                    found[page] = fragments.filter { anchors.contains($0) }
                }
                return found
            }
        }
    }
}
