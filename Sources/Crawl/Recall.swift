internal import Bundles
package import Fetch
internal import Glibc
internal import Markup
package import Store
internal import Web

/// What the store has of what a crawl comes to, and whether its server has to be asked. It belongs to the
/// crawl's thread.
final class Recall {
    enum Answer {
        /// Nothing of use is held, or nothing that a server could be asked about.
        case load(adding: HTTPFields, inPlaceOf: StoredResponse? = nil)
        /// This snapshot has it already: an earlier run of it was interrupted.
        case done(StoredResponse)
        /// Another worker of this snapshot was told so.
        case gone(status: Int)
        /// Good enough as it is, by the policy.
        case reuse(StoredResponse)
        /// The server is asked whether it still holds.
        case validate(Copy, with: HTTPFields)
    }

    /// What is held, and as the policy sees it.
    struct Copy {
        let response: StoredResponse
        let entry: CacheEntry
    }

    private let reader: StoreReader
    private let shelf: BundleShelf
    private let hasWholePacks: Bool
    private let snapshot: OpenSnapshot
    private let isShared: Bool
    private let isServed: Bool
    /// Another snapshot is served until this one is complete.
    private let isUpdate: Bool
    private let policy: CachePolicy
    private let rules: CacheRules
    /// What each number of the store's URLs is to the frontier; by the store's number.
    private var numbers: [UInt32?] = []
    /// The store's numbers of the links that were given last as new.
    private var unnumbered: [Int] = []
    /// What was looked for ahead.
    private var ahead = Ahead()

    /// What was asked for at once, of what is come to next.
    private struct Ahead {
        var hrefs: Set<String> = []
        var walked: [String: WalkedResponse] = [:]
        /// Of links that have no number yet.
        var addresses: [Int64: String] = [:]
    }

    private static let profile = CacheProfile.private

    /// What an update that was interrupted got longer ago than that is asked about once more.
    private static let secondsOfOwn: Int64 = 15 * 60

    /// Nil when there is nothing to recall: it is the first snapshot, and nobody has begun it.
    ///
    /// - Parameter isShared: others write to the snapshot.
    init?(
        _ folder: StoreFolder, snapshot: OpenSnapshot, policy: CachePolicy, rules: CacheRules,
        isShared: Bool = false
    ) throws(StoreError) {
        let reader = try StoreReader(folder)
        if !isShared, try !reader.holdsAnything() { return nil }
        try reader.keepMoreInMemory()
        self.reader = reader
        // Who loads everything again does not believe what is held without a look.
        let provesBytes = policy == .reload || policy == .reloadEndToEnd
        shelf = try BundleShelf(reader, folder, provesBytes: provesBytes)
        hasWholePacks = try reader.hasWholePacks()
        self.snapshot = snapshot
        self.isShared = isShared
        isServed = folder.server != nil
        isUpdate = try reader.sites().contains {
            $0.id == snapshot.site && $0.published != nil && $0.published != snapshot.id
        }
        self.policy = policy
        self.rules = rules
    }

    /// Whether it is worth a question for several at once: each takes a way to a PostgreSQL and back.
    var looksAhead: Bool { isServed && snapshot.isContinued }

    /// What this snapshot has of what is come to next is looked for at once.
    func lookAhead(_ hrefs: [String]) throws(StoreError) {
        ahead = Ahead()
        guard !hrefs.isEmpty else { return }
        var unknown: Set<Int64> = []
        for walked in try reader.walk(hrefs, ofSnapshot: snapshot.id) {
            ahead.walked[walked.response.href] = walked
            for link in walked.links?.numbers.all ?? [] where number(of: link) == nil { unknown.insert(link) }
        }
        ahead.hrefs = Set(hrefs)
        if !unknown.isEmpty { ahead.addresses = try reader.addresses(of: Array(unknown)) }
    }

    private func own(_ href: String) throws(StoreError) -> StoredResponse? {
        // Once: by the next time it may have been stored.
        if ahead.hrefs.remove(href) != nil { return ahead.walked[href]?.response }
        return try reader.response(for: href, ofSnapshot: snapshot.id)
    }

    private func toldLinks(of held: StoredResponse) throws(StoreError) -> ToldLinks? {
        if let walked = ahead.walked[held.href], walked.response == held { return walked.links }
        return try reader.toldLinks(of: held)
    }

    private func addresses(of numbers: [Int64]) throws(StoreError) -> [Int64: String] {
        guard numbers.contains(where: { ahead.addresses[$0] == nil }) else { return ahead.addresses }
        return try reader.addresses(of: numbers)
    }

    /// What is to be done about an URL that is due.
    ///
    /// - Parameters:
    ///   - bundle: what it has to be.
    ///   - origin: of the document that asks for it by CORS; nil where a request names none.
    ///   - isCORS: whether that is known. Lists of links do not tell: what was asked for by an origin is so
    ///     again, by the same if the answer varies by it.
    func answer(
        for url: WebURL, requiring bundle: Bundle? = nil, origin: @autoclosure () -> String?, isCORS: Bool,
        now: HTTPDate
    ) throws(StoreError) -> Answer {
        try reader.holdMoment()
        if let bundle {
            guard let held = try shelf.response(for: url, as: bundle) else {
                return .load(adding: HTTPFields().naming(origin: isCORS ? origin() : nil))
            }
            return held.snapshot == snapshot.id ? .done(held) : .reuse(held)
        }
        var own: StoredResponse?
        if snapshot.isContinued, let mine = try self.own(url.href), !mine.isImported {
            let isOld = isUpdate && !isShared && now.secondsSinceEpoch - mine.fetched > Self.secondsOfOwn
            if mine.status < 400 {
                guard isOld else { return .done(mine) }
                own = mine
            } else if isShared {
                return .gone(status: mine.status)
            }
            // Else what was gone is asked for again: it may be there by now.
        }
        var asking = isCORS ? origin() : nil
        let held =
            if let own {
                own
            } else {
                try reader.response(for: url.href, fields: asking.map { ["Origin": $0] })
            }
        let isAsked = held?.flags.contains(.askedByOrigin) ?? false
        if isAsked, !isCORS { asking = held?.origin ?? origin() }
        // An imported response is fetched again under every policy: a crawl stores what the origin sends.
        var usable = held.flatMap { held in
            held.status < 400 && (held.body != nil || held.isRedirect) && !held.isImported ? held : nil
        }
        // Asked whether it still holds, a server would have damage confirmed.
        if let body = usable?.body {
            if try shelf.isDamaged(body) { usable = nil } else if try isGone(body) { usable = nil }
        }
        let request = CacheRequest(url: url)
        let entry = usable?.cacheEntry(profile: Self.profile, rules: rules)
        switch policy.action(for: request, entry: entry, now: now) {
        case .serve, .serveAndRefresh:
            if let usable { return .reuse(usable) }
        case .validate(let fields):
            // What is held of a redirect is its target alone, which costs as much as asking.
            if let usable, let entry, !usable.isRedirect {
                // A confirmation need not repeat what the server says of an origin: the first time it is
                // loaded.
                let isNews = asking != nil && !isAsked
                return .validate(
                    Copy(response: usable, entry: entry),
                    with: (isNews ? HTTPFields() : fields).naming(origin: asking))
            }
        case .load(let fields):
            return .load(adding: fields.naming(origin: asking), inPlaceOf: usable)
        case .miss:
            break
        }
        return .load(adding: HTTPFields().naming(origin: asking), inPlaceOf: usable)
    }

    /// Others want to be waited for: what comes next is looked up as it is then.
    func rest() throws(StoreError) { try reader.letGoOfMoment() }

    /// What an earlier snapshot saw of the page; nil where none showed it. That of an archive is not used: cookies
    /// that it names would be sent to the origin.
    func memory(of page: WebURL) throws(StoreError) -> PageMemory? {
        guard let held = try reader.response(for: page.href, request: .shown), !held.isImported else {
            return nil
        }
        return PageMemory(HTTPFields(block: held.fields.utf8.span))
    }

    /// A larger one has a file of its own; what is in packs is looked for where one of those is not whole.
    private func isGone(_ body: StoredBody) throws(StoreError) -> Bool {
        guard !hasWholePacks || body.byteCount > Limits.packedBody else { return false }
        return try !reader.isThere(body)
    }

    /// The recorded answer to a request that sends something, where the policy does not have it sent once
    /// more. Answers from archives are not used.
    func recorded(
        _ key: RequestKey, at url: WebURL, now: HTTPDate
    ) throws(StoreError) -> (status: Int, fields: String, body: [UInt8])? {
        guard let held = try reader.response(for: url.key.href, request: key), !held.isImported,
            held.status < 300, let body = held.body, body.byteCount <= Rendering.mostGivenBytes,
            try !shelf.isDamaged(body),
            let bytes = try reader.content(of: body)?.load()
        else { return nil }
        let request = CacheRequest(method: key.method, url: url)
        switch policy.action(
            for: request, entry: held.cacheEntry(profile: Self.profile, rules: rules), now: now)
        {
        case .serve, .serveAndRefresh: return (held.status, held.fields, bytes)
        case .validate, .load, .miss: return nil
        }
    }

    /// The response of an earlier snapshot for a URL that this snapshot has fetched again.
    func stored(_ url: WebURL) throws(StoreError) -> StoredResponse? {
        try reader.letGoOfMoment()
        guard let held = try reader.response(for: url.href), held.status < 400, held.snapshot != snapshot.id
        else {
            return nil
        }
        return held
    }

    func holds(_ url: WebURL) throws(StoreError) -> Bool {
        try reader.response(for: url.href).map { $0.status < 400 && !$0.isImported } ?? false
    }

    /// What a server's answer to our conditions makes of what is held: the fields that it has from now on.
    /// Nil when the answer is about another version, and the body has to be loaded.
    func confirmed(_ held: Copy, by fields: HTTPFields, now: HTTPDate) -> HTTPFields? {
        let answer = CacheAnswer(status: 304, fields: fields, requestTime: now, responseTime: now)
        guard !held.response.isImported else { return nil }
        guard held.entry.isConfirmed(by: answer) else { return nil }
        return held.entry.fields(updatedBy: answer, in: Self.profile)
    }

    /// What a held body links to, as the frontier takes it.
    struct Links {
        fileprivate(set) var known: [Frontier.KnownLink] = []
        fileprivate(set) var new: [FoundLink] = []
        /// Why running the body's scripts may bring more than reading them.
        fileprivate(set) var renderReasons: RenderReasons = []
    }

    /// What the held body links to; nil when that was never kept, or by a larder that looked for other links:
    /// then the body has to be looked into. Of the new links the numbers are to be told by `number(_:)`, at
    /// once.
    ///
    /// - Parameters:
    ///   - isNofollow: pages are not followed from there.
    ///   - leavesAssets: what it needs is not asked for.
    func links(
        of held: StoredResponse, isNofollow: Bool, leavesAssets: Bool
    ) throws(StoreError) -> Links? {
        unnumbered.removeAll(keepingCapacity: true)
        var links = Links()
        guard let body = held.body else { return links }
        try reader.holdMoment()
        guard let told = try toldLinks(of: held) else { return nil }
        if body.format != .opaque, let table = LinkTable.told(byEnds: told.ends) {
            guard table.isCurrent else { return nil }
            links.renderReasons = table.renderReasons
        }
        let lists = told.numbers
        links.known.reserveCapacity(lists.pages.count + lists.assets.count + lists.guesses.count)
        var unknown: [(number: Int64, kind: LinkClass)] = []
        func add(_ numbers: [Int64], _ kind: LinkClass) {
            if leavesAssets, kind.role != .page { return }
            for number in numbers {
                if let known = self.number(of: number) {
                    if isNofollow, kind.role == .page { continue }
                    links.known.append(
                        Frontier.KnownLink(number: known, role: kind.role, isGuess: kind == .guess))
                } else {
                    unknown.append((number, kind))
                }
            }
        }
        add(lists.pages, .page)
        add(lists.assets, .asset)
        add(lists.guesses, .guess)
        guard !unknown.isEmpty else { return links }
        let addresses = try addresses(of: unknown.map(\.number))
        for (number, kind) in unknown {
            guard let href = addresses[number], let url = WebURL(href) else { continue }
            unnumbered.append(Int(number))
            links.new.append(
                FoundLink(
                    url: url, role: kind.role, isGuess: kind == .guess,
                    isNofollow: isNofollow && kind.role == .page))
        }
        return links
    }

    /// The frontier's numbers of the new links that were given last, in their order.
    func number(_ new: [UInt32]) {
        for (place, number) in zip(unnumbered, new) {
            if place >= numbers.count {
                numbers.append(contentsOf: repeatElement(nil, count: place + 1 - numbers.count))
            }
            numbers[place] = number
        }
        unnumbered.removeAll(keepingCapacity: true)
    }

    /// The frontier's number for one of the store's; nil when it has none yet.
    private func number(of number: Int64) -> UInt32? {
        let place = Int(number)
        return place < numbers.count ? numbers[place] : nil
    }

    /// How a link was listed.
    enum LinkClass {
        case page, asset, guess

        var role: Frontier.Role { self == .page ? .page : .asset }
    }
}

extension HTTPFields {
    func naming(origin: String?) -> HTTPFields {
        guard let origin else { return self }
        var fields = self
        fields.set("Origin", origin)
        return fields
    }
}

extension ResponseFlags {
    /// The flags of a response that was just received.
    package init(_ exchange: Exchange) {
        self.init(zone: exchange.zone)
        if exchange.usedCredentials { insert(.isPrivate) }
    }
}

extension ResponseFlags {
    /// In whose name it was asked for.
    init(_ result: FetchResult) {
        self = []
        if result.sentFields.contains("Origin") { insert(.askedByOrigin) }
        if result.exchange?.usedCredentials == true { insert(.isPrivate) }
    }
}

extension StoredResponse {
    /// The header fields that a page's script added to the request, without those that may be secrets: the
    /// store has only hashes of these.
    var scriptFields: HTTPFields {
        HTTPFields(VaryKey(stored: variant).openFields.list.filter { PageRequest.mayBeScripts($0.name) })
    }
}

extension StoredBody {
    /// Nil for one of which this larder knows nothing.
    var format: BodyFormat? { BodyFormat(form: form) }
}

extension PartialBody {
    init(_ part: HeldPart) {
        self.init(
            path: part.path, byteCount: part.byteCount, fields: HTTPFields(block: part.fields.utf8.span))
    }
}

extension ResponseFlags {
    init(_ directives: PageDirectives) {
        self = []
        if directives.contains(.nofollow) { insert(.saysNofollow) }
        if directives.contains(.noindex) { insert(.saysNoindex) }
    }
}
