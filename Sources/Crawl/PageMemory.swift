internal import Fetch
internal import Markup
internal import Store
internal import Web

/// What a browser saw of a page and later snapshots want to know, kept beside the page: what a crawl finds in its
/// order when the page is shown, an update knows from the beginning, and is to ask for as the page did.
struct PageMemory: Sendable, Equatable {
    /// It sent something, whose answer may be another each time.
    var hasSent = false
    /// Cookies that its scripts set, as lines of Netscape's file.
    var cookies: [String] = []

    private static let sentField = "Larder-Sent"
    private static let cookieField = "Larder-Cookie"
    private static let mostCookies = 100

    init() {}

    init(_ fields: HTTPFields) {
        hasSent = fields.contains(Self.sentField)
        cookies = fields.all(Self.cookieField)
    }

    var fields: [HTTPFields.Field] {
        let sent = hasSent ? [HTTPFields.Field(name: Self.sentField, value: "yes")] : []
        return sent + cookies.map { HTTPFields.Field(name: Self.cookieField, value: $0) }
    }

    /// They go along until their snapshot ends, for as long as one of their scripts would set them anew.
    mutating func keep(cookies lines: [String]) {
        cookies = lines.prefix(Self.mostCookies).map { line in
            var columns = line.split(separator: "\t", omittingEmptySubsequences: false)
            if columns.count > 4 { columns[4] = "0" }
            return columns.joined(separator: "\t")
        }
    }
}

extension Crawl {
    /// What a person reads and sees on the page, to be compared with when it is shown offline, and what the
    /// next snapshot has to know of it.
    func keep(_ rendered: RenderedPage, hasSent: Bool, of page: UInt32) throws(CrawlError) {
        var memory = PageMemory()
        memory.hasSent = hasSent
        // Of somebody who is known they may say who that is.
        if !plan.fetch.hasSession { memory.keep(cookies: rendered.cookies) }
        let isWhole = rendered.ending == .complete
        if let text = isWhole ? rendered.text : nil {
            try keep(Array(text.utf8), "text/plain; charset=utf-8", memory.fields, as: .shown, of: page)
        } else if memory != PageMemory() {
            try keep(nil, nil, memory.fields, as: .shown, of: page)
        }
        if isWhole, let picture = rendered.picture { try keep(picture, "image/png", as: .pictured, of: page) }
    }

    private func keep(
        _ bytes: [UInt8]?, _ type: String?, _ further: [HTTPFields.Field] = [], as key: RequestKey,
        of page: UInt32
    ) throws(CrawlError) {
        let fields = HTTPFields((type.map { [.init(name: "Content-Type", value: $0)] } ?? []) + further)
        try storing { () throws(StoreError) in
            var new = NewResponse(
                href: frontier.url(page).href, referrer: nil, status: bytes == nil ? 204 : 200,
                role: Frontier.Role.guide.rawValue, fields: fields.block, fetched: Self.secondsSinceEpoch(),
                body: .none)
            if let bytes {
                let body = try NewBody(
                    .bytes(bytes), form: BodyFormat.opaque.name, links: LinkTable().encoded(),
                    in: plan.folder)
                new.body = .new(body)
            }
            new.number = page
            new.request = key
            // A browser shows a page as the user who is signed in sees it.
            if plan.fetch.hasSession { new.flags.insert(.isPrivate) }
            new.type = fields.contentType?.essence
            try writes.addWithoutWaiting(new)
        }
    }

    func noteHeld(_ held: StoredResponse?, _ number: UInt32) {
        if let held, held.body != nil, frontier.role(of: number) != .guide { heldBefore[number] = held }
    }

    /// A server that confirms nothing sent once more what is held: what was seen of that holds still.
    func recallWhatWasShown(_ result: inout ScanResult) throws(CrawlError) {
        guard let held = result.same, !result.isLeftOut, let recall,
            frontier.role(of: result.number) == .page
        else { return }
        try remember(result.number)
        // Lists do not say which link is marked.
        guard plan.sitePlan.manners.nofollow != .links else { return }
        let isNofollow = result.isNofollow
        let links = try storing { () throws(StoreError) in
            try recall.links(of: held, isNofollow: isNofollow, leavesAssets: false)
        }
        guard let links else { return }
        result.told =
            links.known.map {
                FoundLink(target: .number($0.number), role: $0.role, isGuess: $0.isGuess)
            } + links.new
    }

    /// A page is as an earlier snapshot has it: what that saw of it holds still.
    func remember(_ number: UInt32) throws(CrawlError) {
        guard let recall, !plan.sitePlan.rendered.isEmpty || !plan.sitePlan.lookedAt.isEmpty else { return }
        let url = frontier.url(number)
        let held = try storing { () throws(StoreError) in try recall.memory(of: url) }
        guard let memory = held else { return }
        if memory.hasSent { try apply(.knownAsSender(number)) }
        do throws(FetchFailure) {
            try loop.keep(cookiesOfScripts: memory.cookies)
        } catch {
            throw .fetch(error)
        }
    }
}
