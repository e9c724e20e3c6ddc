internal import HTTPServer
internal import Origins
internal import Reports
internal import Store
internal import Web

/// Answers that are no pages: the images of sites, and redirects to stored pages.
extension Portal {
    /// Returns a stored screenshot; nil for other requests, or if there is none.
    func screenshot(_ request: PortalRequest, _ reader: StoreReader) throws(StoreError) -> Answer? {
        guard request.path.hasPrefix(PortalLinks.sites), request.path.hasSuffix("/picture"),
            let id = Int64(
                request.path.dropFirst(PortalLinks.sites.utf8.count).dropLast("/picture".utf8.count)),
            let name = request.snapshot("snapshot"), let href = request["url"],
            let site = try cache.sites(reader).first(where: { $0.id == id }),
            let snapshot = site.snapshots.last(where: { $0.name == name }),
            let body = try reader.screenshot(of: href, in: snapshot.id)?.body,
            let bytes = try reader.content(of: body)?.load(),
            // Only PNG data is served under the portal's origin, whatever the row says: another type could run scripts
            // that read the portal's token.
            bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        else { return nil }
        return Answer(
            status: 200,
            fields: [("Content-Type", "image/png"), ("Cache-Control", "no-store")] + securityFields,
            body: bytes)
    }

    /// Returns the icon of a site; nil for other requests, or if there is none.
    func icon(_ request: PortalRequest, _ reader: StoreReader) throws(StoreError) -> Answer? {
        guard request.path.hasPrefix(PortalLinks.sites), request.path.hasSuffix("/icon"),
            let id = Int64(request.path.dropFirst(PortalLinks.sites.utf8.count).dropLast("/icon".utf8.count)),
            let site = try cache.sites(reader).first(where: { $0.id == id }),
            let href = try cache.icon(of: site, reader), let body = try reader.response(for: href)?.body,
            let bytes = try reader.content(of: body)?.load(), let type = SiteIcon.type(of: bytes)
        else { return nil }
        // An SVG image can contain scripts. As a document of its own it has no origin, and runs none of them.
        let policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
        return Answer(
            status: 200,
            fields: [
                ("Content-Type", type), ("Cache-Control", "private, max-age=3600"),
                ("Content-Security-Policy", policy),
            ] + securityFields.filter { $0.name != "Content-Security-Policy" },
            body: bytes)
    }

    /// Redirects to the copy of a URL that a user typed, or to the page about the URL if it is not stored. If only the URL
    /// with the other scheme is stored, that one is opened. Nil if the field is empty.
    func copy(
        of request: PortalRequest, _ visitor: PortalVisitor, _ reader: StoreReader
    ) throws(StoreError) -> Answer? {
        guard let text = request["url"] else { return nil }
        guard let url = try? WebURL.parseUserInput(text), url.isHTTP else {
            return html(NotFoundPage(target: text, reason: Phrase(.mistakeURL, text)), "/", visitor)
        }
        func isStored(_ url: WebURL) throws(StoreError) -> Bool {
            try reader.response(for: url.key.href) != nil
        }
        var stored = try isStored(url) ? url : nil
        if stored == nil, let other = url.otherScheme, try isStored(other) { stored = other }
        let copy = stored.flatMap { context("/", visitor).mirrorAddress(of: $0.href) }
        return .redirect(
            to: copy ?? links.details((stored ?? url).key.href),
            fields: [("Cache-Control", "no-store")] + securityFields)
    }

    /// Redirects to a stored page by chance; nil if there is none.
    func randomPage(_ visitor: PortalVisitor, _ reader: StoreReader) throws(StoreError) -> Answer? {
        let last = try reader.lastURL()
        guard last > 0 else { return nil }
        var page = try reader.firstPage(fromURL: Int64.random(in: 1...last))
        // Only assets may follow.
        if page == nil { page = try reader.firstPage(fromURL: 1) }
        guard let page else { return nil }
        let address = context("/", visitor).mirrorAddress(of: page.href) ?? links.details(page.href)
        return .redirect(to: address, fields: [("Cache-Control", "no-store")] + securityFields)
    }
}
