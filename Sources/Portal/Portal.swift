internal import Glibc
package import HTTPServer
package import Origins
package import Reports
package import Store
internal import System
internal import Web

/// The web interface at `http://localhost:PORT/`: pages about the store, and redirects from original URLs to their
/// copies.
///
/// `answer` handles GET requests: it finds the `PortalPage` for the path, and writes it as HTML in the visitor's
/// language, or as JSON. `handleCommand` (Portal+Commands.swift) handles POST requests, which change something.
///
/// Not thread-safe: each server thread has a portal of its own. The portals share the objects in `services`.
package struct Portal {
    /// The addresses of the server: its scheme, port and host names.
    package let layout: OriginLayout
    /// The objects that carry out commands; nil if the portal is read-only.
    package let services: PortalServices?
    let links = PortalLinks()
    /// Counts and reports that this thread's store reader computed.
    package let cache: PortalCache
    /// The results of bundle checks; nil if there are none to show.
    private let verdicts: ScriptsPage.VerdictLookup?
    /// The log of the proxy beside the mirror; nil if there is no proxy.
    package let traffic: ProxyLogSource?
    /// The measurements of the server, for `/-/metrics`.
    package let serverMetrics: ServerMetrics?
    /// Returns the time in seconds since 1970. Tests inject it.
    private let now: () -> Int64

    /// Creates the portal of one server thread.
    ///
    /// - Parameters:
    ///   - verdicts: the results of bundle checks.
    ///   - walk: finds the missing URLs of sites.
    ///   - isExcluded: whether the settings of a site exclude a URL.
    ///   - traffic: the traffic of the proxy beside the mirror.
    package init(
        layout: OriginLayout, verdicts: ScriptsPage.VerdictLookup? = nil, walk: SiteNeeds.Walk? = nil,
        isExcluded: URLExclusion? = nil, traffic: ProxyLogSource? = nil, services: PortalServices? = nil,
        serverMetrics: ServerMetrics? = nil,
        now: @escaping () -> Int64 = { SystemClock.secondsSinceEpoch() }
    ) {
        self.layout = layout
        self.verdicts = verdicts
        self.traffic = traffic
        self.services = services
        self.serverMetrics = serverMetrics
        cache = PortalCache(walk: walk, isExcluded: isExcluded)
        self.now = now
    }

    /// Answers a GET request.
    ///
    /// Style sheets, scripts, icons and the language need no login, because the login page itself uses them. Every other
    /// answer follows the login check.
    ///
    /// - Parameters:
    ///   - target: the path and query of the request.
    ///   - visitor: the requester; gets JSON if its Accept field names it.
    ///   - reader: the store reader of the thread.
    package func answer(
        _ target: String, for visitor: PortalVisitor = PortalVisitor(), reader: StoreReader
    ) throws(StoreError) -> Answer {
        if let file = staticFile(target) { return file }
        if let answer = setLanguage(PortalRequest(target: target), visitor) { return answer }
        let isMetrics = PortalRequest(target: target).path == PortalLinks.metrics
        if let loginPage = loginPage(for: visitor) {
            // Programs that collect metrics cannot use a login form.
            guard isMetrics else { return html(loginPage, "/", visitor) }
            return .text(403, "Log in to the portal first.\n", fields: pageFields(hasScript: false))
        }
        if isMetrics {
            try cache.update(from: reader)
            return try metrics(reader)
        }
        if let address = address(pastedInto: target) { return .redirect(to: address, fields: securityFields) }
        let request = PortalRequest(target: target)
        try cache.update(from: reader)
        if request.path == PortalLinks.barOff, let answer = turnOffBar(request, visitor) { return answer }
        if request.path == PortalLinks.barFrame { return try barFrame(request, visitor, reader) }
        if let answer = try redirectToSnapshot(Self.pastedURL(target), visitor, reader) { return answer }
        if let screenshot = try screenshot(request, reader) { return screenshot }
        if let icon = try icon(request, reader) { return icon }
        if request.path == PortalLinks.open, let answer = try copy(of: request, visitor, reader) {
            return answer
        }
        if request.path == PortalLinks.random, let answer = try randomPage(visitor, reader) { return answer }
        if let file = resultFile(request, visitor) ?? extensionFile(request) { return file }
        let page = try page(request, visitor, reader) ?? NotFoundPage(target: target)
        cache.saveFigures()
        let isJSON = request["format"] == "json" || Self.prefersJSON(visitor.accept)
        return isJSON ? json(page, target, visitor) : html(page, target, visitor)
    }

    /// The address of the copy of an original URL that was appended to the portal's address; nil for other
    /// targets.
    package func address(pastedInto target: String) -> String? {
        WebURL(Self.pastedURL(target)).flatMap(layout.address)
    }

    /// The part of a target behind the portal's address: `https://a.test/` in `/https://a.test/` and in
    /// `/-/https://a.test/`.
    private static func pastedURL(_ target: String) -> String {
        String(target.hasPrefix("/-/") ? target.dropFirst(3) : target.dropFirst())
    }

    /// All sites of the store. They are read again only after the store has changed.
    package func sites(_ reader: StoreReader) throws(StoreError) -> [Site] {
        try cache.update(from: reader)
        return try cache.sites(reader)
    }

    /// The login page for visitors who must log in first; nil for others.
    private func loginPage(for visitor: PortalVisitor) -> LoginPage? {
        switch services?.accessGuard.access(of: visitor, now: SystemClock.seconds()) {
        case .loginRequired: LoginPage()
        case .denied: LoginPage(hasPassword: false)
        case .full, .readOnly, nil: nil
        }
    }

    /// Redirects an original URL with a snapshot number or date before it: `@7/https://example.com/`,
    /// `@2026-11-20/https://example.com/`.
    private func redirectToSnapshot(
        _ target: String, _ visitor: PortalVisitor, _ reader: StoreReader
    ) throws(StoreError) -> Answer? {
        guard target.hasPrefix("@") else { return nil }
        let slash = target.firstIndex(of: "/") ?? target.endIndex
        let word = String(target[..<slash].dropFirst())
        let wanted = WebURL(String(target[slash...].dropFirst())).flatMap { $0.isHTTP ? $0 : nil }
        func notFound(_ reason: Phrase) -> Answer {
            html(NotFoundPage(target: "/" + target, reason: reason, url: wanted), "/" + target, visitor)
        }
        guard SnapshotName(word) != nil || HTTPDate(iso8601: word) != nil else {
            return notFound(Phrase(.snapshotWordInvalid, Wording.cut(word, to: 80)))
        }
        guard let url = wanted else { return notFound(Phrase(.snapshotURLMissing)) }
        guard let snapshot = try snapshot(word, of: url, reader) else {
            return notFound(Phrase(.snapshotNotFound, word, url.href))
        }
        guard let address = layout.address(of: url, in: snapshot) else {
            return notFound(Phrase(.snapshotsNotAtRoot))
        }
        return .redirect(to: address, fields: securityFields)
    }

    /// The complete snapshot with the number, or the last one that was started by the end of the day, in local time, and not rejected.
    private func snapshot(_ word: String, of url: WebURL, _ reader: StoreReader) throws(StoreError) -> Int64?
    {
        let sites = try cache.sites(reader)
        var owners = try owners(of: url, among: sites, reader)
        func complete() -> [Snapshot] {
            owners.flatMap(\.snapshots).filter { $0.finished != nil && $0.base == nil }
        }
        if let name = SnapshotName(word) {
            // If there is only one site, a URL that was never stored is shown as missing in its snapshot.
            if owners.isEmpty, sites.count == 1 { owners = sites }
            return complete().last { $0.name == name }?.id
        }
        guard let date = HTTPDate(iso8601: word) else { return nil }
        let isDay = !word.utf8.contains(UInt8(ascii: "T"))
        let end = isDay ? SystemClock.endOfDay(from: date.secondsSinceEpoch) : date.secondsSinceEpoch
        return complete().filter { $0.started <= end && !$0.isRejected }.max {
            ($0.started, $0.id) < ($1.started, $1.id)
        }?.id
    }

    /// The sites to which a URL belongs: those that start on its host, or else those that have stored it. Of several sites on
    /// the host, only those that have stored the URL count, if there are any, and of these only those with the deepest start
    /// folder that contains the URL.
    private func owners(
        of url: WebURL, among sites: [Site], _ reader: StoreReader
    ) throws(StoreError) -> [Site] {
        let names = Set(try reader.versions(of: url.key.href).map(\.site))
        let stored = sites.filter { names.contains($0.name) }
        let onHost = sites.filter { $0.start.contains { WebURL($0)?.host == url.host } }
        guard onHost.count > 1 else { return onHost.isEmpty ? stored : onHost }
        let storedOnHost = onHost.filter { names.contains($0.name) }
        /// The length of the start URL's folder that contains the URL; 0 if none does.
        func folderLength(_ site: Site) -> Int {
            let folders = site.start.map { $0.prefix(through: $0.lastIndex(of: "/") ?? $0.startIndex) }
            return folders.filter(url.href.hasPrefix).map(\.utf8.count).max() ?? 0
        }
        let candidates = storedOnHost.isEmpty ? onHost : storedOnHost
        let maximum = candidates.map(folderLength).max()
        return candidates.filter { folderLength($0) == maximum }
    }

    /// The jobs that the visitor may see.
    package func jobs(for visitor: PortalVisitor, _ services: PortalServices) -> [PortalJob] {
        services.jobRunner.jobs(hidesPrivate: hidesPrivate(from: visitor))
    }

    /// Whether jobs and proxy traffic hide private responses from the visitor. The local user sees them all.
    package func hidesPrivate(from visitor: PortalVisitor) -> Bool {
        layout.withholdsPrivate && services?.accessGuard.principal(of: visitor) != .localUser
    }

    /// The page for a path. Nil if no page has the path, or the visitor may not see it.
    private func page(
        _ request: PortalRequest, _ visitor: PortalVisitor, _ reader: StoreReader
    ) throws(StoreError) -> (any PortalPage)? {
        let place = request["after"].flatMap(SearchPosition.init)
        switch request.path {
        case "/", "/-/":
            let isLocal = services.map { $0.accessGuard.principal(of: visitor) == .localUser }
            return try HomePage(
                reader, cache, request, jobs: services.map { jobs(for: visitor, $0) } ?? [],
                showsReading: isLocal ?? !layout.isExposed, now: now())
        case PortalLinks.search:
            return try SearchPage(
                request["q"] ?? "", in: nil, SearchFacets(request), from: place, now: now(), reader, cache)
        case PortalLinks.scripts:
            return try ScriptsPage(from: place, reader, verdicts)
        case PortalLinks.storage:
            return try StoragePage(reader, cache, limit: request["limit"])
        case PortalLinks.jobs:
            guard let services else { return nil }
            return JobsPage(
                jobs(for: visitor, services), files: services.jobRunner.files, sites: try cache.sites(reader),
                now: now())
        case PortalLinks.channels:
            guard !hidesPrivate(from: visitor) else { return nil }
            let time = HTTPDate(secondsSinceEpoch: now())
            return ChannelsPage(
                try cache.channels(reader, at: time), serverMetrics?.updates?(),
                try request[ChannelsPage.deviceField].map { (device) throws(StoreError) in
                    let isID = device.utf8.count <= DeviceUpdateReport.maxDeviceBytes
                    return ChannelsPage.DeviceUpdates(
                        device: device,
                        channels: isID ? try cache.updates(ofDevice: device, reader, at: time) : nil)
                })
        case PortalLinks.importForm:
            return services?.jobRunner.files == nil ? nil : ImportPage(try cache.sites(reader))
        case PortalLinks.add:
            return services == nil ? nil : AddPage(request)
        case PortalLinks.save:
            return services.map {
                SaveFromBrowserPage(
                    $0.extensions, canPair: $0.accessGuard.principal(of: visitor) == .localUser,
                    hasFile: $0.extensionFile != nil)
            }
        case PortalLinks.barSwitch:
            return services.flatMap {
                layout.isExposed
                    ? nil : BarPage(isOn: $0.bar.isOn, origin: mirroredPage(of: request))
            }
        case PortalLinks.traffic:
            return hidesPrivate(from: visitor)
                ? nil
                : traffic.map {
                    TrafficPage(
                        $0, at: PortalLinks.traffic, titled: "Proxy", request, in: visitor.language)
                }
        case PortalLinks.page:
            // Other schemes are never stored.
            guard let url = request["url"].flatMap({ WebURL($0) }), url.isHTTP else { return nil }
            return try DetailsPage(
                url.key.href, allOf: request["links"].flatMap(LinkList.init), after: request.number("after"),
                reader,
                cache)
        default:
            return try sitePage(request, place, reader)
        }
    }

    /// The page about one site, for `/-/sites/ID` and `/-/sites/ID/NAME`. Nil if the site or page does not exist.
    private func sitePage(
        _ request: PortalRequest, _ place: SearchPosition?, _ reader: StoreReader
    ) throws(StoreError) -> (any PortalPage)? {
        guard request.path.hasPrefix(PortalLinks.sites) else { return nil }
        let parts = request.path.dropFirst(PortalLinks.sites.utf8.count).split(
            separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let id = parts.first.flatMap({ Int64($0) }),
            let site = try cache.sites(reader).first(where: { $0.id == id })
        else { return nil }
        switch parts.dropFirst().first {
        case nil:
            return try SitePage(site, reader, cache)
        case "pages":
            return try FolderPage(site, under: request["under"] ?? "", from: request["after"], reader)
        case "titles":
            return try TitlesPage(site, after: request["after"], reader)
        case "settings":
            return SettingsPage(site, excluding: request["exclude"])
        case "export":
            return services.flatMap {
                $0.jobRunner.files == nil ? nil : ExportPage(site, formats: $0.exportForms)
            }
        case "search":
            var facets = SearchFacets(request)
            facets.site = nil
            return try SearchPage(
                request["q"] ?? "", in: site, facets, from: place, now: now(), reader, cache)
        case "missing":
            return try MissingPage(
                site, request["kind"].flatMap(LinkList.init), after: request.number("after"), reader, cache)
        case "changes":
            return try ChangesPage(
                site, from: request.snapshot("from"), to: request.snapshot("to"),
                kind: request["kind"].flatMap(ChangesPage.Kind.init), page: Int(request.number("page") ?? 0),
                reader)
        case "compare":
            guard let href = request["url"] else { return nil }
            return try ComparePage(
                site, href, from: request.snapshot("from"), to: request.snapshot("to"), reader)
        case "pictures":
            return try ScreenshotsPage(
                site, from: request.snapshot("from"), to: request.snapshot("to"),
                page: Int(request.number("page") ?? 0),
                reader)
        default:
            return nil
        }
    }

    // MARK: - Answers

    /// The content of the page bar, for frames in mirrored pages only.
    private func barFrame(
        _ request: PortalRequest, _ visitor: PortalVisitor, _ reader: StoreReader
    ) throws(StoreError) -> Answer {
        guard services?.bar.isOn == true, let url = request["url"].flatMap({ WebURL($0) }), url.isHTTP else {
            return html(NotFoundPage(target: request.path), request.path, visitor)
        }
        let frame = try BarFrame(
            url, in: request.number("snapshot"), canTurnOff: hasFullAccess(visitor), now: now(),
            layout, cache.sites(reader), reader)
        let port = layout.port
        // A policy cannot name an IPv6 address: browsers report it as an error of each page. No mirrored page has one.
        let hosts = ["*.localhost", "localhost", "127.0.0.1"].map { "\(layout.scheme)://\($0):\(port)" }
        let policy =
            "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors \(hosts.joined(separator: " "))"
        return Answer(
            status: 200,
            fields: [
                ("Content-Type", "text/html; charset=utf-8"), ("Cache-Control", "no-store"),
                ("Vary", "Accept-Language"), ("Content-Security-Policy", policy),
                // Mirrored pages are opened for the portal: Chromium sends no `Sec-Fetch-User` if a link in a frame of
                // another process navigates the window.
                ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "origin"),
                // Pages with Cross-Origin-Embedder-Policy embed only frames that allow it.
                ("Cross-Origin-Resource-Policy", "cross-origin"),
                ("Cross-Origin-Embedder-Policy", "require-corp"), ("X-DNS-Prefetch-Control", "off"),
            ],
            body: frame.html(services?.bar.language ?? visitor.language), sharing: .portalBar)
    }

    /// Stores the language that the user chose in the footer; nil for other requests. A page elsewhere cannot choose it.
    private func setLanguage(_ request: PortalRequest, _ visitor: PortalVisitor) -> Answer? {
        guard request.path == PortalLinks.language,
            let language = request["to"].flatMap(PortalLanguage.init(rawValue:))
        else { return nil }
        let isChosen = [nil, "same-origin", "none"].contains(visitor.fetchSite)
        if isChosen, hasFullAccess(visitor) { services?.bar.choose(language) }
        let cookie = language.cookie + (layout.scheme == "https" ? "; Secure" : "")
        return .redirect(
            to: Self.returnPath(request["back"]),
            fields: [("Cache-Control", "no-store")] + (isChosen ? [("Set-Cookie", cookie)] : [])
                + securityFields)
    }

    private func hasFullAccess(_ visitor: PortalVisitor) -> Bool {
        switch services?.accessGuard.access(of: visitor, now: SystemClock.seconds()) {
        case .full: true
        case .readOnly, .loginRequired, .denied, nil: false
        }
    }

    /// Switches the bar off by the link in its frame, and redirects to the page that switches it on again. Nil if the request is not from the frame, or
    /// the visitor may not do that. Only pages of the portal have its origin, so no other page can link here.
    private func turnOffBar(_ request: PortalRequest, _ visitor: PortalVisitor) -> Answer? {
        guard let services, visitor.fetchSite == "same-origin", hasFullAccess(visitor),
            let url = request["url"].flatMap({ WebURL($0) }), url.isHTTP
        else { return nil }
        services.bar.turn(on: false)
        return .redirect(
            to: PortalLinks.barSwitch(from: url.href, snapshot: request.number("snapshot")),
            fields: [("Cache-Control", "no-store")] + securityFields)
    }

    /// The address of the mirrored page from which the visitor came to the page of the bar; nil if there is none.
    private func mirroredPage(of request: PortalRequest) -> String? {
        guard let url = request["url"].flatMap({ WebURL($0) }), url.isHTTP else { return nil }
        return request.number("snapshot").flatMap { layout.address(of: url, in: $0) }
            ?? layout.address(of: url)
    }

    /// Returns the file that a job made. Nil for other requests, if there is no file, or if the visitor may not see the
    /// job.
    private func resultFile(_ request: PortalRequest, _ visitor: PortalVisitor) -> Answer? {
        guard request.path.hasPrefix(PortalLinks.files), let services else { return nil }
        let number = request.path.dropFirst(PortalLinks.files.utf8.count).prefix { $0 != "/" }
        guard let job = Int(number), jobs(for: visitor, services).contains(where: { $0.number == job }),
            let file = services.jobRunner.files?.resultFile(ofJob: job),
            PortalLinks.file(of: job, named: file.name) == request.path
        else { return nil }
        // RFC 6266: clients that do not know `filename*` use `filename`.
        let plain = String(
            decoding: file.name.utf8.map {
                (0x20..<0x7f).contains($0) && $0 != 0x22 && $0 != 0x5c ? $0 : 0x5f
            },
            as: UTF8.self)
        return Answer(
            status: 200,
            fields: [
                ("Content-Type", "application/octet-stream"), ("Cache-Control", "no-store"),
                (
                    "Content-Disposition",
                    "attachment; filename=\"\(plain)\"; filename*=UTF-8''\(PortalLinks.percentEncoded(file.name))"
                ),
            ] + securityFields,
            file: Answer.FileBody(path: file.path, byteCount: Int(file.byteCount)))
    }

    /// Returns the browser extension as a zip file; nil for other requests, or if it is not installed.
    private func extensionFile(_ request: PortalRequest) -> Answer? {
        guard request.path == PortalLinks.extensionFile, let bytes = services?.extensionFile?() else {
            return nil
        }
        return Answer(
            status: 200,
            fields: [
                ("Content-Type", "application/zip"), ("Cache-Control", "no-store"),
                ("Content-Disposition", "attachment; filename=\"larder-extension.zip\""),
            ] + securityFields, body: bytes)
    }

    /// Header fields of every answer: the pages load only their own style and images, and no other origin may read or
    /// frame them.
    var securityFields: [(name: String, value: String)] { securityFields(hasScript: false) }

    /// - Parameter hasScript: whether the page may run the portal's scripts, and connect to the portal from them.
    private func securityFields(hasScript: Bool) -> [(name: String, value: String)] {
        let scripts = hasScript ? " script-src 'self'; connect-src 'self';" : ""
        let policy =
            "default-src 'none';\(scripts) style-src 'self'; img-src 'self'; form-action \(layout.portalFormSources); base-uri 'none'; frame-ancestors 'none'; manifest-src 'self'"
        return [
            ("Content-Security-Policy", policy), ("X-Content-Type-Options", "nosniff"),
            // Mirrored pages are opened for the portal even if a service worker passes the navigation on.
            ("Referrer-Policy", "origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"), ("X-Frame-Options", "DENY"),
            ("X-DNS-Prefetch-Control", "off"),
        ]
    }

    /// Writes a page as HTML.
    func html(_ page: some PortalPage, _ target: String, _ visitor: PortalVisitor) -> Answer {
        Answer(
            status: page.status,
            fields: [("Content-Type", "text/html; charset=utf-8")]
                + pageFields(hasScript: !page.scripts.isEmpty),
            body: PortalFrame.html(page, context(target, visitor)))
    }

    /// The values that a page needs beyond its content: language, token, rights, and the outcome of the last command.
    ///
    /// Only a visitor with full access gets the token. Without it, the pages contain no forms that send commands.
    package func context(_ target: String, _ visitor: PortalVisitor) -> PortalContext {
        let separator = target.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        var context = readOnlyContext(target, json: "\(target)\(separator)format=json", visitor)
        context.hasChannels = cache.hasChannels && !hidesPrivate(from: visitor)
        guard let services else { return context }
        context.isScheduled = services.isScheduled
        context.canInstallTimer =
            services.canInstallTimer && services.accessGuard.principal(of: visitor) == .localUser
        context.hasBar = !layout.isExposed
        context.hasFiles = services.jobRunner.files != nil
        switch services.accessGuard.access(of: visitor, now: SystemClock.seconds()) {
        case .full(let token):
            context.token = token
            context.hasJobs = true
        case .readOnly(let reason): context.readOnlyReason = reason
        case .loginRequired, .denied: return context
        }
        context.hasSession = visitor.session != nil && services.accessGuard.hasSessions
        // Set by `returnPath(_:noticeOfJob:)` after a command.
        if let number = PortalRequest(target: target).number("did") {
            context.noticedJob = jobs(for: visitor, services).first { $0.number == number }
        }
        return context
    }

    /// Writes a page as JSON. Its context has no token, since JSON contains no forms.
    private func json(
        _ page: some PortalPage, _ target: String, _ visitor: PortalVisitor
    ) -> Answer {
        let context = readOnlyContext(target, json: target, visitor)
        return Answer(
            status: page.status,
            fields: [("Content-Type", "application/json")] + pageFields(hasScript: false),
            body: Array("\(page.members(context).text())\n".utf8))
    }

    /// The context of a page without forms.
    ///
    /// - Parameter jsonAddress: the address of the page as JSON.
    private func readOnlyContext(
        _ target: String, json jsonAddress: String, _ visitor: PortalVisitor
    ) -> PortalContext {
        var context = PortalContext(
            layout: layout, links: links, hasProxy: traffic != nil && !hidesPrivate(from: visitor),
            now: now(), address: target, jsonAddress: jsonAddress)
        context.language = visitor.language
        return context
    }

    /// Header fields of a page. The same URL has different answers for each language, format and session.
    ///
    /// - Parameter hasScript: whether the page may run the portal's scripts.
    func pageFields(hasScript: Bool) -> [(name: String, value: String)] {
        [("Cache-Control", "no-store"), ("Vary", "Accept, Accept-Language, Cookie")]
            + securityFields(hasScript: hasScript)
    }

    /// Returns a style sheet, script, manifest or icon; nil for other paths.
    private func staticFile(_ target: String) -> Answer? {
        // The names of these files change with their content.
        let cachedForever = ("Cache-Control", "public, max-age=31536000, immutable")
        if let icon = PortalIcon.PNG(path: target) {
            return Answer(
                status: 200, fields: [("Content-Type", "image/png"), cachedForever] + securityFields,
                body: icon.bytes)
        }
        let (type, text): (String, String)
        switch target {
        case PortalStyle.path: (type, text) = ("text/css; charset=utf-8", PortalStyle.text)
        case BarFrame.stylePath: (type, text) = ("text/css; charset=utf-8", BarFrame.style)
        case SearchScript.path: (type, text) = ("text/javascript; charset=utf-8", SearchScript.text)
        case JobsScript.path: (type, text) = ("text/javascript; charset=utf-8", JobsScript.text)
        case OfflineWorker.Registration.path:
            (type, text) = ("text/javascript; charset=utf-8", OfflineWorker.Registration.text)
        case OfflineWorker.path: return OfflineWorker.answer(securityFields)
        case PortalManifest.path: (type, text) = ("application/manifest+json", PortalManifest.text)
        case PortalIcon.path: (type, text) = ("image/svg+xml", PortalIcon.text)
        default: return nil
        }
        return Answer(
            status: 200, fields: [("Content-Type", type), cachedForever] + securityFields,
            body: Array(text.utf8))
    }

    /// Whether the client prefers JSON. Browsers accept everything, but name HTML.
    private static func prefersJSON(_ accept: String?) -> Bool {
        guard let accept = accept?.lowercased() else { return false }
        return accept.utf8.contains("application/json".utf8) && !accept.utf8.contains("text/html".utf8)
    }
}
