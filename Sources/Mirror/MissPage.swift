internal import HTTPServer
internal import Origins
internal import Portal
internal import Reports
internal import Store
internal import Web

/// The answer to a request for a URL that is not stored: a 504, since the mirror is a gateway that could not get a response.
///
/// The page tells a user why the response is missing, and how to get it: by the next prefetch, by the command shown, or by
/// the portal. It also links to pages near the URL, so that the user is not stuck.
struct MissPage: Sendable {
    let url: String
    /// Whether the miss is recorded, so that the next prefetch fetches the URL.
    let isNoted: Bool
    /// The words that a page's search form sent to the site with the URL; nil if the URL is not known as that of a form.
    var search: FormSearch?
    /// The stored pages of the site with these words; nil if they were not searched.
    var results: SiteSearchResults?
    /// Original URLs of the pages that link to it.
    var referrers: [String] = []
    /// Stored URLs of the same folder or host.
    var neighbours: [String] = []
    /// The site whose next prefetch fetches the URL; nil if there is none.
    var site: String?
    /// Why the last update of a site could not fetch the URL; nil if none tried.
    var failure: LastFailure?
    /// The time of the request, in seconds since 1970.
    var now: Int64 = 0
    /// The earlier snapshot that lacks the URL; nil for a miss in the live snapshot.
    var snapshot: Int64?
    /// The address of the URL in the live snapshot; nil if that lacks it, too.
    var present: String?
    /// The removed site that the URL belonged to, as long as the removal can be undone; nil if there is none.
    var removedSite: String?
    /// The site whose settings exclude the URL, so that no update fetches it; nil if there is none.
    var excludingSite: (name: String, id: Int64)?
    /// Whether the portal accepts commands.
    var hasOrders = false
    /// The language of the page.
    var language = PortalLanguage.english

    /// Answers navigations with a page, subresources of pages without a body, and other requests with one
    /// line.
    func answer(to request: HTTPFields, layout: OriginLayout) -> Answer {
        let fields =
            [("Larder", AnswerSource.miss.text), ("Cache-Control", "no-store")] + layout.commonFields
        // The list of linking pages is for people; scripts of the origin must not read it.
        let policy = ("Content-Security-Policy", OriginLayout.sandbox)
        let sharing = WebURL(url).map { Sharing(missing: $0) } ?? .portal
        guard request.isNavigation else {
            return .explanation(
                504, "Not stored: \(url)\n", to: request, fields: fields, sharing: sharing)
        }
        var html = HTMLWriter()
        html.language = language
        html.element("h1", say: .notStoredBadge)
        html.element("p", ["class": "url"], text: url)
        results?.write(to: &html) { WebURL($0).flatMap(layout.address) }
        writeReason(to: &html, layout)
        writeSearch(to: &html, layout)
        writeList(.linkedFrom, referrers, to: &html, layout)
        writeList(.similarStoredURLs, neighbours, to: &html, layout)
        html.element("p") { html in
            html.link(url, ["rel": "noreferrer"], say: .openOrigin)
            html.say(.sendsRequest)
        }
        if let portal = layout.portal { html.element("p") { $0.link(portal, say: .allSites) } }
        let page = HTMLPage(
            title: html.words(.notStoredBadge), body: String(decoding: html.bytes, as: UTF8.self),
            language: language)
        let varying = ("Vary", "Accept-Language")
        return .html(504, page.text, fields: fields + [policy, varying], sharing: sharing)
    }

    /// Writes why the response is missing, and the link and the command that fetch it.
    private func writeReason(to html: inout HTMLWriter, _ layout: OriginLayout) {
        if let removedSite, snapshot == nil, let portal = layout.portal {
            html.element("p") { $0.isolatedText($0.words(.removedSite, Wording.cut(removedSite))) }
            html.element("p") { $0.link(portal.dropLast() + PortalLinks.jobs, say: .undoInPortal) }
            return writeFetchNow(to: &html, layout)
        }
        if snapshot != nil {
            html.element("p") { html in
                html.say(.missInSnapshot)
                guard let present else { return }
                html.text(" ")
                html.link(present, say: .openInLive)
                html.say(.fullStop)
            }
            return
        }
        html.element("p", say: .missReason)
        if let excludingSite {
            html.element("p") { html in
                html.isolatedText(html.words(.excludedBySettings, Wording.cut(excludingSite.name)))
                guard let portal = layout.portal else { return }
                html.text(" ")
                let address = portal.dropLast() + PortalLinks().settings(of: excludingSite.id)
                html.link(String(address), say: .changeSettings)
                html.say(.fullStop)
            }
        } else if let failure {
            html.element("p") { html in
                let phrase = FailureText.phrase(for: failure, now: now, in: language)
                html.isolatedText(Wording.cut(phrase.text(in: language)))
                html.text(" ")
                html.say(.nextUpdateRetries)
            }
        } else if isNoted, site != nil {
            html.element("p", say: .missNoted)
        }
        // Readers can click the link. The command is for those without it, and for administrators.
        writeFetchNow(to: &html, layout)
        let updatedSite = excludingSite == nil ? failure?.site ?? (isNoted ? site : nil) : nil
        let command = DetailsPage.command(for: url, site: updatedSite, isOfStoredHost: site != nil)
        guard let command else { return }
        html.element("p", say: hasFetchLink(layout) ? .orInTerminal : .toFetchRun)
        html.element("pre", text: command)
    }

    private func hasFetchLink(_ layout: OriginLayout) -> Bool {
        hasOrders && snapshot == nil && layout.portal != nil
    }

    /// Writes a link to the details of the URL, since only pages of the portal can send commands.
    private func writeFetchNow(to html: inout HTMLWriter, _ layout: OriginLayout) {
        guard hasFetchLink(layout), let portal = layout.portal else { return }
        let address = portal.dropLast() + PortalLinks().details(url)
        html.element("p") { $0.link(String(address), say: .fetchInPortal) }
    }

    /// Writes a link that searches the stored pages for the words of a site's own search.
    private func writeSearch(to html: inout HTMLWriter, _ layout: OriginLayout) {
        guard let portal = layout.portal,
            let words = search?.words ?? WebURL(url).flatMap(FormSearch.usualWords)
        else { return }
        let address = portal.dropLast() + PortalLinks().search(words, in: nil)
        html.element("p") { html in
            html.link(String(address)) {
                $0.isolatedText(
                    $0.words(.searchInPortal, Wording.cut(words, to: PortalLimits.maxSearchTextBytes)))
            }
        }
    }

    /// Writes a list of links to mirrored pages; nothing if there are none.
    private func writeList(
        _ title: Sentence, _ urls: [String], to html: inout HTMLWriter, _ layout: OriginLayout
    ) {
        guard !urls.isEmpty else { return }
        html.element("h2", say: title)
        html.element("ul") { html in
            for url in urls {
                let address = WebURL(url).flatMap(layout.address) ?? url
                html.element("li", ["class": "url"]) { $0.link(address, text: url) }
            }
        }
    }
}
