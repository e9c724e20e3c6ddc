internal import Origins
internal import Reports
internal import Store
internal import System
internal import Web

/// The page with the form that saves one page. The bookmarklet opens it with the URL of the page. Any web page can link
/// to it as well, and so it changes nothing: the visitor has to press the button.
struct AddPage: PortalPage {
    /// The values of the fields of the form.
    private let form: PortalRequest

    let title = "Save a page"
    var heading: Sentence? { .addTitle }
    let section = PortalSection.sites

    /// - Parameter request: the request, with the URL of the page as its field `url`.
    init(_ request: PortalRequest) {
        form = PortalRequest(
            path: "/", fields: [("url", request["url"] ?? ""), ("what", SiteSettingsForm.pageOnly)])
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "lead"], say: .addLead)
        html.explainReadOnly(context)
        html.prefetchForm(context, form)
    }

    func members(_ context: PortalContext) -> JSONMembers { ["url": form["url"]] }
}

/// The answer to the form that saves a page or adds a site, if another site has that page or pages of that site already:
/// where they are, how old they are, and how to save them all the same.
struct StoredPageNotice: PortalPage {
    private let href: String
    /// The site that has the pages.
    private let site: Site
    /// Whether the form saves one page.
    private let isOnePage: Bool
    /// Whether the page itself is stored.
    private let isStored: Bool
    /// The title of the site's start page, or the site's name.
    private let siteTitle: String
    private let age: CopyAge
    /// The fields of the form that was sent.
    private let fields: [(name: String, value: String)]

    var title: String { isOnePage ? "Stored already" : "Partly stored already" }
    var heading: Sentence? { isOnePage ? .alreadyStoredTitle : .partlyStoredTitle }
    let section = PortalSection.sites
    /// 409 Conflict: the page is stored already, and the form was not carried out.
    let status = 409

    /// Nil if no other site has the page or, for the form that adds a site, a page where that site starts. A site that starts
    /// at the page is updated.
    ///
    /// - Parameters:
    ///   - address: the URL as the user typed it.
    ///   - settings: the settings in the form.
    init?(
        of address: String, _ settings: SiteSettingsForm, _ fields: [(name: String, value: String)],
        _ reader: StoreReader
    ) throws(StoreError) {
        guard let url = (try? WebURL.parseUserInput(address))?.key else { return nil }
        let href = url.href
        let sites = try reader.sites()
        guard !sites.contains(where: { $0.name == href && $0.published != nil }) else { return nil }
        let row = try reader.versions(of: href).first {
            $0.isVisible && $0.response.request == .get && $0.response.status == 200
        }
        let site: Site
        if let row, let owner = sites.first(where: { $0.name == row.site }) {
            (site, age) = (owner, row.age)
        } else if !settings.isOnlyPage,
            let inside = Self.site(startingInScopeOf: url, settings, among: sites),
            let live = inside.snapshots.first(where: { $0.id == inside.published })
        {
            (site, age) = (inside, CopyAge(of: live, in: inside))
        } else {
            return nil
        }
        (isOnePage, isStored) = (settings.isOnlyPage, row != nil)
        let siteTitle = try site.start.first.flatMap { (start) throws(StoreError) in
            try reader.response(for: start)?.body?.title
        }
        self.siteTitle = siteTitle.flatMap { $0.isEmpty ? nil : $0 } ?? site.name
        (self.href, self.site, self.fields) = (href, site, fields)
    }

    /// A complete site that starts at a page of the site that would be added. http and https are one host.
    private static func site(
        startingInScopeOf url: WebURL, _ settings: SiteSettingsForm, among sites: [Site]
    ) -> Site? {
        let folder = url.path[...(url.path.lastIndex(of: "/") ?? url.path.startIndex)]
        return sites.first { site in
            guard site.published != nil, let start = site.start.first.flatMap({ WebURL($0) }),
                start.host == url.host, start.port == url.port
            else { return false }
            return settings.scope != "path" || start.path.hasPrefix(folder)
        }
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "url soft"]) { $0.url(href) }
        html.element("div", ["class": "notice"]) { html in
            html.element("p") { html in
                html.say(isOnePage ? .alreadyStored : .partlyStored)
                html.link(context.links.site(site.id)) { $0.isolatedText(Wording.cut(siteTitle, to: 120)) }
                html.say(.alreadyStoredFetched)
                html.time(age.fetched, now: context.now)
                if let checked = age.checked {
                    html.say(.checkedLater)
                    html.time(checked, now: context.now)
                }
                html.say(.fullStop)
            }
            if !isOnePage { html.element("p", say: .partlyStoredHint) }
        }
        html.element("div", ["class": "orders"]) { html in
            if isStored, let address = context.mirrorAddress(of: href) {
                html.link(address, ["class": "button"], say: .doOpen)
            }
            html.commandButton(
                "update", .doUpdateThatSite, about: siteTitle, context, fields: [("site", site.name)])
            html.commandButton(
                "prefetch", isOnePage ? .doSaveAnyway : .doAddSeparateSite, about: href, context,
                fields: fields + [("again", "1")])
        }
    }

    func members(_ context: PortalContext) -> JSONMembers {
        ["error": "stored", "url": href, "site": site.name, "fetched": Wording.date(age.fetched)]
    }
}

/// The page that explains how to save the page that a browser shows: by a bookmarklet, or by the extension. It pairs
/// extensions and lists the paired ones.
struct SaveFromBrowserPage: PortalPage {
    private let pairedExtensions: [ExtensionPairings.PairedExtension]
    /// The pairing code that is valid now; nil if none is.
    private let code: String?
    private let canPair: Bool
    /// Whether the portal has the extension as a file.
    private let hasFile: Bool
    let title = "Save from the browser"
    var heading: Sentence? { .saveTitle }
    let section = PortalSection.sites

    /// - Parameters:
    ///   - pairings: the paired extensions; nil if none may be paired.
    ///   - canPair: whether the visitor is the user of this machine. Others see neither the code nor the extensions.
    ///   - hasFile: whether the portal has the extension as a file.
    init(_ pairings: ExtensionPairings?, canPair: Bool, hasFile: Bool) {
        self.hasFile = hasFile
        self.canPair = canPair && pairings != nil
        pairedExtensions = canPair ? pairings?.paired ?? [] : []
        code = canPair ? pairings?.currentCode(now: SystemClock.seconds()) : nil
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "lead"], say: .saveLead)
        html.explainReadOnly(context)
        html.element("p", say: .saveBookmarkHint)
        html.element("p") { html in
            html.element(
                "a", ["class": "button", "href": Self.bookmarklet(context.layout)], say: .saveBookmark)
        }
        if canPair, context.token != nil { writeExtension(to: &html, context) }
    }

    /// Writes how to install and pair the extension, the pairing code, and the paired extensions.
    private func writeExtension(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("h2", say: .extensionTitle)
        html.element("p", say: .extensionLead)
        if hasFile {
            html.element("p") { html in
                html.link(
                    PortalLinks.extensionFile, ["class": "button quiet", "download": ""],
                    say: .doDownloadExtension)
            }
        }
        html.element("p", say: hasFile ? .extensionUnpack : .extensionInstall)
        if let code {
            html.element("p", ["class": "notice", "role": "status"]) { html in
                html.say(.pairCode)
                html.element("code", text: code)
                html.say(.pairCodeHint)
            }
        }
        html.commandButton("pair", .doPair, context)
        guard !pairedExtensions.isEmpty else { return }
        html.element("h3", say: .pairedTitle)
        html.element("ul", ["class": "list"]) { html in
            for pairing in pairedExtensions {
                html.element("li") { html in
                    html.isolatedText(pairing.name.isEmpty ? pairing.origin : pairing.name)
                    html.text(" ")
                    html.time(pairing.since, now: context.now)
                    html.text(" ")
                    html.commandButton(
                        "unpair", .doUnpair, about: pairing.name, context,
                        fields: [("number", "\(pairing.number)")],
                        warns: true)
                }
            }
        }
    }

    /// The `javascript:` URL of the bookmarklet, which opens the form of `AddPage`. In the portal itself the link does
    /// nothing, since the portal's Content-Security-Policy blocks it: it has to be dragged to the bookmarks bar.
    private static func bookmarklet(_ layout: OriginLayout) -> String {
        "javascript:void(open('\(layout.home.dropLast())\(PortalLinks.add)?url='+encodeURIComponent(location.href)))"
    }

    /// The paired extensions. The pairing code is only in the HTML.
    func members(_ context: PortalContext) -> JSONMembers {
        [
            "extensions": pairedExtensions.map { pairing -> JSONMembers in
                ["name": pairing.name, "origin": pairing.origin, "since": Wording.date(pairing.since)]
            }
        ]
    }
}
