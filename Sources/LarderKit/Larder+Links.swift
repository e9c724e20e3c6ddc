internal import Archives
internal import Browser
public import Check
internal import Crawl
internal import Fetch
internal import HTTPServer
internal import Markup
internal import Mirror
internal import Prefetch
internal import Reports
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
    /// A text that is in no file, such as one from standard input. It is read as HTML if it begins with `<`, else as Markdown.
    /// `name` is its name in the report; `root` is that of files.
    case text([UInt8], name: String, root: String? = nil)
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
        case .site(let name): return try await checkLinks(ofSite: name, options, hidesPrivate: false)
        case .folder(let path):
            let interruption = Interruption()
            return try await Self.runOnThread("larder-links", onCancel: interruption.request) {
                () throws(LarderError) in
                try LinkCheck.report(
                    onFolder: path, options, in: folder,
                    rendering: larder.fragmentRenderer(options, interruption), interruption)
            }
        case .files(let files, let root):
            let interruption = Interruption()
            return try await Self.runOnThread("larder-links", onCancel: interruption.request) {
                () throws(LarderError) in
                try LinkCheck.report(
                    onFiles: files, root: root, options, in: folder,
                    rendering: larder.fragmentRenderer(options, interruption), interruption)
            }
        case .text(let text, let name, let root):
            let interruption = Interruption()
            return try await Self.runOnThread("larder-links", onCancel: interruption.request) {
                () throws(LarderError) in
                try LinkCheck.report(
                    onText: text, name: name, root: root, options, in: folder, interruption)
            }
        }
    }

    /// Checks the links of a stored site, and stores a summary of the result for the portal.
    ///
    /// - Parameter hidesPrivate: whether private responses are left out.
    func checkLinks(
        ofSite name: String, _ options: LinkCheckOptions, hidesPrivate: Bool
    ) async throws(LarderError) -> LinkCheckReport {
        let (larder, folder) = (self, folder)
        let interruption = Interruption()
        return try await Self.runOnThread("larder-links", onCancel: interruption.request) {
            () throws(LarderError) in
            try LinkCheck.report(
                onSite: name, options, in: folder, hidesPrivate: hidesPrivate,
                rendering: larder.fragmentRenderer(options, interruption), interruption)
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
        var result = try await Self.runOnThread("larder-links", onCancel: interruption.request) {
            () throws(LarderError) in
            try LinkCheck.report(
                onSite: url.href, options, in: stored.folder, cache: folder,
                rendering: stored.fragmentRenderer(options, interruption), interruption)
        }
        if let limit = report.limit {
            result.notes.append("links of further pages were not checked: \(limit)")
        }
        return result
    }

    /// A function that finds the fragments that scripts add to pages of this store or of a folder. It opens each page in a
    /// browser that reaches only this store or folder. Nil if the options use no browser, or none is found.
    private func fragmentRenderer(_ options: LinkCheckOptions, _ interruption: Interruption) -> LinkCheck
        .RenderedFragments?
    {
        guard options.usesBrowser, BrowserProgram.isAvailable(options.browser) else { return nil }
        return { missing, files throws(LarderError) in
            let program = try BrowserProgram.resolve(options.browser)
            let pages = missing.filter { page, _ in files.map { $0.address(of: page) != nil } ?? true }
            if let files {
                return try FolderRendering(files, program, interruption).fragments(of: pages)
            }
            return try withBrowserAndServer(by: program) { (browser, service) throws(LarderError) in
                try Self.fragments(of: pages, interruption) { page in
                    guard let address = service.address(of: page) else { return nil }
                    var visit = PageVisit(url: address)
                    visit.wantsDocument = true
                    return browser.render(visit).document
                }
            }
        }
    }

    /// The fragments that pages have in a browser.
    ///
    /// - Parameter render: opens a page, and returns its HTML; nil if that fails.
    fileprivate static func fragments(
        of pages: [String: Set<String>], _ interruption: Interruption, _ render: (String) -> String?
    ) throws(LarderError) -> [String: Set<String>] {
        var found: [String: Set<String>] = [:]
        for page in pages.keys.sorted().prefix(LinkCheckOptions.maxRenderedPages) {
            guard !interruption.isRequested else { throw .interrupted }
            guard let document = render(page), let fragments = pages[page] else { continue }
            let anchors = PageAnchors(of: document.utf8.span, as: .html, charset: "utf-8")
            found[page] = fragments.filter { anchors.contains($0) }
        }
        return found
    }
}

/// Opens the pages of a folder in a browser.
///
/// The pages of a pull request may have been written by anyone. A server on this machine that has only the files of the folder
/// is therefore the proxy of the browser: all requests go there, so that scripts reach neither the network nor other servers
/// on this machine.
private struct FolderRendering {
    private let files: LinkedFiles
    private let program: String
    private let interruption: Interruption

    init(_ files: LinkedFiles, _ program: String, _ interruption: Interruption) {
        (self.files, self.program, self.interruption) = (files, program, interruption)
    }

    func fragments(of pages: [String: Set<String>]) throws(LarderError) -> [String: Set<String>] {
        let files = files
        let server: FilesServer
        do throws(ServerError) {
            server = try FilesServer(port: 0) { path in
                files.file(atPath: path).map { file in
                    (
                        FileTypes.type(of: file.url, file: nil, beginning: Array(file.body.prefix(512))),
                        file.body
                    )
                }
            }
        } catch {
            throw LarderError(error)
        }
        defer { server.stop() }
        let browser: Browser
        do throws(BrowserError) {
            browser = try Browser(BrowserOptions(executable: program))
        } catch {
            throw LarderError(
                .machine, "cannot start the browser: \(error); name another one", remedy: .browser)
        }
        defer { browser.close() }
        return try Larder.fragments(of: pages, interruption) { page in
            guard let address = files.address(of: page) else { return nil }
            var visit = PageVisit(url: address)
            visit.proxy = "http://127.0.0.1:\(server.port)"
            visit.wantsDocument = true
            return browser.render(visit).document
        }
    }
}
