internal import Origins
internal import Reports
internal import Web

/// The frame of every page of the portal: head, banner, breadcrumb and footer.
enum PortalFrame {
    /// Writes a page with its frame, as a complete HTML document.
    static func html(_ page: some PortalPage, _ context: PortalContext) -> [UInt8] {
        var html = HTMLWriter()
        html.language = context.language
        html.literal("<!doctype html>\n")
        html.element("html", ["lang": context.language.tag]) { html in
            html.element("head") { writeHead(page, to: &$0) }
            html.element("body", ["class": page.isWide ? "wide" : nil]) { html in
                html.link("\(context.address)#content", ["class": "skip"], say: .skipToContent)
                writeBanner(page, to: &html, context)
                html.element("main", ["id": "content", "tabindex": "-1"]) { html in
                    writeBreadcrumb(page, to: &html, context)
                    html.element("h1") { html in
                        if let heading = page.heading, page.headingParts.isEmpty {
                            html.say(heading)
                        } else {
                            html.isolatedText(Self.title(of: page, html.language))
                        }
                    }
                    if let job = context.noticedJob { writeNotice(job, to: &html, context) }
                    page.write(to: &html, context)
                }
                writeFooter(to: &html, context)
            }
        }
        html.literal("\n")
        return html.bytes
    }

    /// The title of a page, for the tab and the heading.
    private static func title(of page: some PortalPage, _ language: PortalLanguage) -> String {
        Wording.cut(page.heading?.text(in: language, page.headingParts) ?? page.title)
    }

    private static func writeHead(_ page: some PortalPage, to html: inout HTMLWriter) {
        html.void("meta", ["charset": "utf-8"])
        html.void("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
        html.void("meta", ["name": "color-scheme", "content": "light dark"])
        let title = Self.title(of: page, html.language)
        html.element("title", text: title == "Larder" ? title : "\(title) · Larder")
        if let seconds = page.refresh {
            html.void("meta", ["http-equiv": "refresh", "content": "\(seconds)"])
        }
        if let seconds = page.refreshWithoutScript {
            html.element("noscript") {
                $0.void("meta", ["http-equiv": "refresh", "content": "\(seconds)"])
            }
        }
        html.void("link", ["rel": "stylesheet", "href": PortalStyle.path])
        for script in page.scripts { html.element("script", ["src": script, "defer": ""]) { _ in } }
        html.void("link", ["rel": "manifest", "href": PortalManifest.path])
        html.void("meta", ["name": "theme-color", "content": "#2f7d5b"])
        html.void("link", ["rel": "icon", "type": "image/svg+xml", "href": PortalIcon.path])
        // iOS takes the icon of an installed page from here, and shows no SVG.
        html.void("link", ["rel": "apple-touch-icon", "href": PortalIcon.PNG.small.path])
    }

    private static func writeBanner(
        _ page: some PortalPage, to html: inout HTMLWriter, _ context: PortalContext
    ) {
        html.element("header", ["class": "banner"]) { html in
            html.element("div", ["class": "bar"]) { html in
                html.link(context.links.home, ["class": "brand"]) { html in
                    html.void("img", ["src": PortalIcon.path, "alt": "", "width": "28", "height": "28"])
                    html.text("Larder")
                }
                html.element("nav", ["aria-label": "Larder"]) { html in
                    html.element("ul") { html in
                        writeNavigationEntry(.sites, context.links.home, page.section == .sites, to: &html)
                        writeNavigationEntry(.search, PortalLinks.search, page.section == .search, to: &html)
                        writeNavigationEntry(
                            .storage, PortalLinks.storage,
                            page.section == .storage || page.section == .scripts,
                            to: &html)
                        if context.hasChannels {
                            writeNavigationEntry(
                                .channelsTitle, PortalLinks.channels, page.section == .channels, to: &html)
                        }
                        if context.hasJobs {
                            writeNavigationEntry(
                                .activity, PortalLinks.jobs, page.section == .jobs, to: &html)
                        }
                        if context.hasProxy {
                            writeNavigationEntry(
                                .proxy, PortalLinks.traffic, page.section == .traffic, to: &html)
                        }
                    }
                }
            }
        }
    }

    /// Writes a link of the banner.
    ///
    /// - Parameter isCurrent: whether the current page belongs to this part of the portal.
    private static func writeNavigationEntry(
        _ sentence: Sentence, _ address: String, _ isCurrent: Bool, to html: inout HTMLWriter
    ) {
        html.element("li") { $0.link(address, ["aria-current": isCurrent ? "true" : nil], say: sentence) }
    }

    /// Writes the outcome of the command that led to this page, with a button to stop it.
    static func writeNotice(
        _ job: PortalJob, to html: inout HTMLWriter, _ context: PortalContext
    ) {
        html.element(
            "div", ["class": job.isOver && !job.isGood ? "notice warn" : "notice", "role": "status"]
        ) {
            html in
            // The outcome of a successful job already names the job.
            if job.isPlanned, case .remove(let site) = job.command {
                html.isolatedText(html.words(.removalPlanned, Wording.cut(site)))
            } else if job.state != .ended(.done) || job.outcome.isEmpty {
                html.isolatedText(Wording.cut(job.command.title.text(in: context.language)))
                html.text(" – ")
                html.say(job.stateSentence)
            }
            for line in job.outcome.prefix(6) {
                html.element("div") { $0.isolatedText(Wording.cut(line.text(in: context.language))) }
            }
            if job.command.isRemoval, job.state == .ended(.done) {
                html.commandButton(
                    "undo", .doUndo, about: job.command.title.text(in: context.language), context)
            }
            if case .changeSettings(let site, _) = job.command, job.isGood, job.isOver, context.token != nil {
                html.commandButton("update", .doUpdate, about: site, context, fields: [("site", site)])
            }
            guard !job.isOver else { return }
            html.commandButton(
                "stop", job.isPlanned ? .doCancel : .doStop,
                about: job.command.title.text(in: context.language),
                context, fields: [("job", "\(job.number)")])
        }
    }

    private static func writeBreadcrumb(
        _ page: some PortalPage, to html: inout HTMLWriter, _ context: PortalContext
    ) {
        let trail = page.trail(context)
        guard !trail.isEmpty else { return }
        html.element("nav", ["class": "trail", "aria-label": html.words(.breadcrumb)]) { html in
            html.element("ol") { html in
                for step in trail {
                    html.element("li") {
                        $0.link(step.address) { $0.isolatedText(Wording.cut(step.text, to: 80)) }
                    }
                }
            }
        }
    }

    private static func writeFooter(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("footer") { html in
            html.element("p") { html in
                html.say(.footer)
                html.link(context.jsonAddress, ["type": "application/json"], say: .asJSON)
                html.say(.fullStop)
            }
            html.element("p") { html in
                html.say(.language)
                for language in PortalLanguage.allCases {
                    html.text(" ")
                    let address = PortalLinks.path(
                        PortalLinks.language, [("to", language.rawValue), ("back", context.address)])
                    html.link(
                        address,
                        [
                            "lang": language.tag, "hreflang": language.tag, "rel": "nofollow",
                            "aria-current": language == html.language ? "true" : nil,
                        ], text: language.ownName)
                }
            }
            if context.hasSession, let token = context.token {
                html.element("form", ["class": "order", "method": "post", "action": PortalLinks.logout]) {
                    html in
                    html.void("input", ["type": "hidden", "name": "token", "value": token])
                    html.element("button", ["type": "submit", "class": "quiet"], say: .logout)
                }
            }
        }
    }
}

/// A page of the portal, written as HTML and as JSON.
///
/// A page reads everything that it shows from the store when it is created, and then needs only a `PortalContext`. So
/// both formats show the same facts.
protocol PortalPage {
    /// The status code of the answer.
    var status: Int { get }
    /// The title in English; `heading` replaces it if it is set.
    var title: String { get }
    /// The part of the portal that the page belongs to.
    var section: PortalSection { get }
    /// The number of seconds after which the browser reloads the page; nil for never.
    var refresh: Int? { get }
    /// The same number for browsers without scripts.
    var refreshWithoutScript: Int? { get }
    /// The paths of scripts that enhance the page; the page works without them.
    var scripts: [String] { get }
    /// The heading, if it is a text of the portal; nil if `title` is the heading.
    var heading: Sentence? { get }
    /// The values for the placeholders of the heading.
    var headingParts: [String] { get }
    /// Whether the page uses the whole width of a large window.
    var isWide: Bool { get }
    /// The breadcrumb, from the home page down.
    func trail(_ context: PortalContext) -> [(text: String, address: String)]
    /// Writes the content below the heading.
    func write(to html: inout HTMLWriter, _ context: PortalContext)
    /// The JSON object for programs.
    func members(_ context: PortalContext) -> JSONMembers
}

extension PortalPage {
    var status: Int { 200 }
    var refresh: Int? { nil }
    var refreshWithoutScript: Int? { nil }
    var scripts: [String] { [] }
    var heading: Sentence? { nil }
    var headingParts: [String] { [] }
    var isWide: Bool { false }
    func trail(_ context: PortalContext) -> [(text: String, address: String)] { [] }
}

/// A part of the portal, which the banner highlights.
enum PortalSection {
    case sites
    case search
    case scripts
    case traffic
    case jobs
    case channels
    case storage
    case none
}

/// The values that a page needs besides its content: addresses, the visitor's language and rights, and the outcome of the
/// last command.
package struct PortalContext {
    let layout: OriginLayout
    let links: PortalLinks
    /// Whether the banner links to the traffic of the proxy. It does not if the visitor may not see the traffic.
    let hasProxy: Bool
    /// The time of the request, in seconds since 1970.
    let now: Int64
    /// The path and query of this page, as HTML and as JSON.
    let address: String
    let jsonAddress: String
    var language = PortalLanguage.english
    /// The token for commands; nil if the visitor may give none.
    var token: String?
    /// The reason why the visitor may give no commands; nil if there is none.
    var readOnlyReason: Sentence?
    /// Whether the page of the updates of apps is shown.
    var hasChannels = false
    /// Whether the page of jobs is shown.
    var hasJobs = false
    /// Whether the page bar is available.
    var hasBar = false
    /// Whether import and export are available.
    var hasFiles = false
    /// Whether the visitor has logged in with a password, and so can log out.
    var hasSession = false
    /// The job whose outcome the page shows at its top; nil if there is none.
    var noticedJob: PortalJob?
    /// Whether something runs the scheduled updates.
    var isScheduled: @Sendable () -> Bool = { true }
    /// Whether the visitor can install a timer that does.
    var canInstallTimer = false

    /// A sentence in the visitor's language.
    func words(_ sentence: Sentence) -> String { sentence.text(in: language) }

    /// The address of the mirrored copy; nil if the mirror does not serve the URL.
    func mirrorAddress(of href: String) -> String? {
        // On other machines, names below localhost refer to themselves.
        guard layout.root != nil || !layout.isExposed else { return nil }
        return WebURL(href).flatMap(layout.address)
    }
}

/// A page outside the portal, such as a miss: plain HTML with an inline style, light and dark, without
/// scripts.
package struct HTMLPage {
    package let title: String
    /// The markup, in which input from outside is already escaped.
    package let body: String
    package var style = PortalStyle.base
    /// The number of seconds after which the browser reloads the page; nil for never.
    package var refresh: Int?
    package var language = PortalLanguage.english

    package init(
        title: String, body: String, style: String = PortalStyle.base, refresh: Int? = nil,
        language: PortalLanguage = .english
    ) {
        (self.title, self.body, self.style) = (title, body, style)
        (self.refresh, self.language) = (refresh, language)
    }

    /// The whole document.
    package var text: String {
        """
        <!doctype html>
        <html lang="\(language.tag)">
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>\(Self.escape(title))</title>
        \(refresh.map { "<meta http-equiv=\"refresh\" content=\"\($0)\">" } ?? "")
        <style>\(style)</style>
        <main>
        \(body)
        </main>
        </html>

        """
    }

    /// Escapes text from outside for markup, as `HTMLWriter` does.
    package static func escape(_ text: String) -> String {
        var escaped: [UInt8] = []
        escaped.append(escaping: text.withVisibleControls)
        return String(decoding: escaped, as: UTF8.self)
    }
}

/// The answer for a path that does not exist.
struct NotFoundPage: PortalPage {
    let target: String
    let status = 404
    /// The reason; nil if there is just no such page.
    var reason: Phrase?
    /// The original URL in the address, whose page lists its snapshots; nil if there is none.
    var url: WebURL?
    let title = "Not found"
    var heading: Sentence? { .notFoundTitle }
    let section = PortalSection.none

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        if let reason { html.element("p", ["class": "notice warn", "role": "alert"], say: reason) }
        if let url {
            html.element("p") { html in
                html.link(context.links.details(url.key.href)) { html in
                    html.say(.nameAndCount, html.words(.history), Wording.cut(url.href, to: 160))
                }
            }
        }
        html.element("p") { html in
            html.say(.noPageAt)
            html.element("span", ["class": "url"]) { $0.url(target) }
            html.say(.openByFullURL)
        }
        html.element("pre", text: "\(context.layout.home)https://example.com/")
        html.searchForm(PortalLinks.search, label: html.words(.searchStoredPages))
        html.element("p") { $0.link(context.links.home, say: .allSites) }
    }

    func members(_ context: PortalContext) -> JSONMembers { ["error": "not found", "target": target] }
}
