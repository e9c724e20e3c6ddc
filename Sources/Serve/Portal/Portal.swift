internal import Glibc
internal import Store
internal import Web

/// The pages at `http://localhost:PORT/`: what is held, and the way from an original URL to its copy. It belongs to one
/// thread.
struct Portal {
    private let layout: OriginLayout
    private let links = PortalLinks()
    private let memory = PortalMemory()
    private let verdicts: ScriptsPage.Verdicts?
    private let now: () -> Int64

    /// - Parameter verdicts: what a check found of bundles, if anybody knows.
    init(
        layout: OriginLayout, verdicts: ScriptsPage.Verdicts? = nil,
        now: @escaping () -> Int64 = { Int64(time(nil)) }
    ) {
        self.layout = layout
        self.verdicts = verdicts
        self.now = now
    }

    /// - Parameter accept: what the request said; JSON where it is asked for by name.
    func answer(_ target: String, accept: String? = nil, reader: StoreReader) throws(StoreError) -> Answer {
        if let file = file(target) { return file }
        // An original URL, pasted behind the address.
        let pasted = target.hasPrefix("/-/") ? target.dropFirst(3) : target.dropFirst()
        if let url = WebURL(String(pasted)), let address = layout.address(of: url) {
            return .redirect(to: address, fields: fields)
        }
        let request = PortalRequest(target: target)
        try memory.look(at: reader)
        let page = try page(request, reader) ?? NotFoundPage(target: target)
        let isJSON = request["format"] == "json" || Self.asksForJSON(accept)
        return isJSON ? json(page, target) : html(page, target)
    }

    private func page(_ request: PortalRequest, _ reader: StoreReader) throws(StoreError) -> (any PortalPage)? {
        let place = request["after"].flatMap(SearchPlace.init)
        switch request.path {
        case "/", "/-/":
            return try HomePage(reader, memory)
        case PortalLinks.search:
            return try SearchPage(request["q"] ?? "", in: nil, from: place, reader, memory)
        case PortalLinks.scripts:
            return try ScriptsPage(from: place, reader, verdicts)
        case PortalLinks.page:
            // Other schemes are never held, and never linked to.
            guard let url = request["url"].flatMap({ WebURL($0) }), url.isHTTP else { return nil }
            return try DetailsPage(
                url.key.href, allOf: request["links"].flatMap(LinkList.init), after: request.number("after"), reader,
                memory)
        default:
            return try sitePage(request, place, reader)
        }
    }

    private func sitePage(
        _ request: PortalRequest, _ place: SearchPlace?, _ reader: StoreReader
    ) throws(StoreError) -> (any PortalPage)? {
        guard request.path.hasPrefix(PortalLinks.sites) else { return nil }
        let parts = request.path.dropFirst(PortalLinks.sites.utf8.count).split(
            separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let id = parts.first.flatMap({ Int64($0) }),
            let site = try memory.sites(reader).first(where: { $0.id == id })
        else { return nil }
        switch parts.dropFirst().first {
        case nil:
            return try SitePage(site, reader, memory)
        case "pages":
            return try FolderPage(site, under: request["under"] ?? "", from: request["after"], reader)
        case "search":
            return try SearchPage(request["q"] ?? "", in: site, from: place, reader, memory)
        case "missing":
            let list = request["kind"].flatMap(LinkList.init) ?? .requisites
            return try MissingPage(site, list, after: request.number("after"), reader)
        case "changes":
            return try ChangesPage(
                site, from: request.number("from"), to: request.number("to"),
                kind: request["kind"].flatMap(ChangesPage.Kind.init), page: Int(request.number("page") ?? 0), reader)
        default:
            return nil
        }
    }

    // MARK: - Answers

    /// These pages need nothing but their style, and nobody but themselves gets at them.
    private var fields: [(name: String, value: String)] {
        let policy =
            "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        return [
            ("Content-Security-Policy", policy), ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"), ("X-Frame-Options", "DENY"),
            ("X-DNS-Prefetch-Control", "off"),
        ]
    }

    private func html(_ page: some PortalPage, _ target: String) -> Answer {
        let separator = target.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        let context = PortalContext(
            layout: layout, links: links, now: now(), address: target,
            jsonAddress: "\(target)\(separator)format=json")
        return Answer(
            status: page.status, fields: [("Content-Type", "text/html; charset=utf-8")] + pageFields,
            body: PortalFrame.html(page, context))
    }

    private func json(_ page: some PortalPage, _ target: String) -> Answer {
        let context = PortalContext(layout: layout, links: links, now: now(), address: target, jsonAddress: target)
        var writer = JSONWriter(.pretty)
        writer.object { page.write(to: &$0, context) }
        writer.endText()
        return Answer(
            status: page.status, fields: [("Content-Type", "application/json")] + pageFields, body: writer.bytes)
    }

    private var pageFields: [(name: String, value: String)] {
        [("Cache-Control", "no-store"), ("Vary", "Accept")] + fields
    }

    /// Style and icon; nil for all else.
    private func file(_ target: String) -> Answer? {
        let (type, text): (String, String)
        switch target {
        case PortalStyle.path: (type, text) = ("text/css; charset=utf-8", PortalStyle.text)
        case PortalIcon.path: (type, text) = ("image/svg+xml", PortalIcon.text)
        default: return nil
        }
        // Their names change with them.
        let lasting = ("Cache-Control", "public, max-age=31536000, immutable")
        return Answer(status: 200, fields: [("Content-Type", type), lasting] + fields, body: Array(text.utf8))
    }

    /// Browsers accept anything, and HTML by name.
    private static func asksForJSON(_ accept: String?) -> Bool {
        guard let accept = accept?.lowercased() else { return false }
        return accept.utf8.contains("application/json".utf8) && !accept.utf8.contains("text/html".utf8)
    }
}
