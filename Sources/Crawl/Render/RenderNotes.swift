internal import Fetch
internal import Markup
internal import Store
package import Web

/// Notes about a rendered page that later snapshots need. They are stored as header fields of the response with
/// the page's text (`RequestKey.renderedText`). An update applies them when it finds the page unchanged.
package struct RenderNotes: Sendable, Equatable {
    /// Whether the page sent requests (such as POST), whose responses may differ each time.
    var hasSent = false
    /// The cookies that scripts of the page set, as lines of a Netscape cookie file.
    var cookies: [String] = []

    /// Whether the page was still loading when its text was read, so that the page may show more.
    package var isTextPartial = false

    private static let partialField = "Larder-Partial"
    private static let sentField = "Larder-Sent"
    private static let cookieField = "Larder-Cookie"
    private static let maxCookies = 100

    init() {}

    package init(_ fields: HTTPFields) {
        isTextPartial = fields.contains(Self.partialField)
        hasSent = fields.contains(Self.sentField)
        cookies = fields.all(Self.cookieField)
    }

    var fields: [HTTPFields.Field] {
        let partial = isTextPartial ? [HTTPFields.Field(name: Self.partialField, value: "yes")] : []
        let sent = hasSent ? [HTTPFields.Field(name: Self.sentField, value: "yes")] : []
        return partial + sent + cookies.map { HTTPFields.Field(name: Self.cookieField, value: $0) }
    }

    /// Keeps cookies as session cookies. They last as long as the run, since the script would set them again
    /// each time.
    mutating func setCookies(from lines: [String]) {
        cookies = lines.prefix(Self.maxCookies).map { line in
            var columns = line.split(separator: "\t", omittingEmptySubsequences: false)
            if columns.count > 4 { columns[4] = "0" }
            return columns.joined(separator: "\t")
        }
    }
}

extension RenderedPage {
    fileprivate var showsWords: Bool { text?.unicodeScalars.contains { $0.properties.isAlphabetic } ?? false }
}

extension Crawl {
    /// Stores the text, the screenshot, the frozen copy and the live messages of a rendered page, with which an offline
    /// check compares the page, and the notes for the next snapshot.
    func storeRendering(_ rendered: RenderedPage, hasSent: Bool, of page: UInt32) throws(CrawlError) {
        var memory = RenderNotes()
        memory.hasSent = hasSent
        // Cookies of a logged-in user may identify the user.
        if !plan.fetch.hasSession { memory.setCookies(from: rendered.cookies) }
        let isWhole = rendered.ending == .complete
        // A page that never becomes quiet has shown something when its time was over.
        let isShown = isWhole || rendered.ending == .outOfTime && rendered.showsWords
        if let text = isShown ? rendered.text : nil {
            memory.isTextPartial = rendered.isTextPartial
            try storeRenderArtifact(
                Array(text.utf8), "text/plain; charset=utf-8", memory.fields, as: .renderedText, of: page)
        } else if memory != RenderNotes() {
            try storeRenderArtifact(nil, nil, memory.fields, as: .renderedText, of: page)
        }
        if isWhole, let picture = rendered.picture {
            try storeRenderArtifact(picture, "image/png", as: .renderedPicture, of: page)
        }
        if isShown, let frozen = rendered.frozen {
            try storeRenderArtifact(Array(frozen.utf8), "text/html; charset=utf-8", as: .frozen, of: page)
        }
        if isShown, let messages = rendered.liveMessages {
            try storeRenderArtifact(messages, "application/json", as: .liveMessages, of: page)
        }
    }

    private func storeRenderArtifact(
        _ bytes: [UInt8]?, _ type: String?, _ further: [HTTPFields.Field] = [], as key: RequestKey,
        of page: UInt32
    ) throws(CrawlError) {
        let fields = HTTPFields((type.map { [.init(name: "Content-Type", value: $0)] } ?? []) + further)
        try storing { () throws(StoreError) in
            var new = NewResponse(
                href: frontier.url(page).href, referrer: nil, status: bytes == nil ? 204 : 200,
                role: Frontier.Role.guide.rawValue, fields: fields.block, fetched: Self.secondsSinceEpoch(),
                body: .none)
            if let bytes, key == .frozen {
                // Its links are rewritten when it is served.
                let form = BodyFormat.html.name + ";utf-8"
                let table = LinkScanner().table(of: bytes.span, form: form) ?? LinkTable()
                let body = try NewBody(
                    .bytes(bytes), form: form, links: table.encoded(), in: plan.folder)
                new.body = .new(body)
            } else if let bytes {
                let body = try NewBody(
                    .bytes(bytes), form: BodyFormat.opaque.name, links: LinkTable().encoded(),
                    in: plan.folder)
                new.body = .new(body)
            }
            new.number = page
            new.request = key
            // A browser shows the page as the logged-in user sees it.
            if plan.fetch.hasSession { new.flags.insert(.isPrivate) }
            new.type = fields.contentType?.essence
            try writes.addWithoutWaiting(new)
        }
    }

    /// The stored response of a URL that is being refetched, if the new one is to be compared with it; nil if it has no
    /// body or is a sitemap.
    func replaceable(_ stored: StoredResponse?, _ number: UInt32) -> StoredResponse? {
        stored?.body != nil && frontier.role(of: number) != .guide ? stored : nil
    }

    /// Adds the links that an earlier rendering found, if a server sent the same bytes again without
    /// confirming them (304).
    func addLinksOfLastRendering(_ result: inout ScanResult) throws(CrawlError) {
        guard let stored = result.storedWithSameBody, !result.isLeftOut, let cacheLookup,
            frontier.role(of: result.number) == .page
        else { return }
        try applyRenderNotes(of: result.number)
        // The lists do not say which links are marked with nofollow.
        guard plan.sitePlan.directivePolicy.nofollow != .obey else { return }
        let isNofollow = result.isNofollow
        let links = try storing { () throws(StoreError) in
            try cacheLookup.links(of: stored, isNofollow: isNofollow, leavesAssets: false, leavesMedia: false)
        }
        guard let links else { return }
        result.linksOfLastRendering =
            links.known.map {
                FoundLink(target: .number($0.number), role: $0.role, isGuess: $0.isGuess)
            } + links.new
    }

    /// Applies the notes of an earlier rendering to a page that has not changed since.
    func applyRenderNotes(of number: UInt32) throws(CrawlError) {
        guard let cacheLookup, !plan.sitePlan.rendered.isEmpty || !plan.sitePlan.renderedPatterns.isEmpty
        else {
            return
        }
        let url = frontier.url(number)
        let stored = try storing { () throws(StoreError) in try cacheLookup.renderNotes(of: url) }
        guard let memory = stored else { return }
        if memory.hasSent { try apply(.sentRequestsBefore(number)) }
        do throws(FetchFailure) {
            try loop.addCookies(fromScripts: memory.cookies)
        } catch {
            throw .fetch(error)
        }
    }
}
