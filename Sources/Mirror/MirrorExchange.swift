internal import Bundles
internal import HTTPServer
internal import Origins
internal import Portal
internal import Store
internal import System
internal import Web

/// One request to the mirror or the proxy, from its headers to its reply.
///
/// `reply` takes these steps, each of which may end with a reply:
///
/// 1. Refuses requests of foreign pages before any lookup, so that the response time reveals nothing.
/// 2. Passes commands and searches to the portal.
/// 3. Lets a `CacheExchange` answer, if the policy may ask the origin.
/// 4. Otherwise resolves the host and the target (`requestTarget`), finds the stored response in one transaction
///    (`storedAnswer`), checks whether this requester may have it (`Sharing`), and renders it.
/// 5. Records a miss if nothing is stored.
///
/// Properties are computed lazily, once. The exchange belongs to a server thread, and lives as long as the call
/// that received the request: closures for a deferred reply copy the values that they need.
final class MirrorExchange {
    let request: Request
    let responder: MirrorResponder
    /// The duration of each step.
    var timing = ServerTiming()
    /// Whether the response was not stored and not requested from an origin.
    var hasMissed = false
    /// The page for a URL that is not stored, if results of a search can complete it; nil for other answers.
    var searchableMiss: MissPage?
    /// The state of the store that this exchange reads; nil until it is needed.
    private var currentView: MirrorResponder.StoreView?
    /// The result of `requestTarget`, once it is known.
    private var knownTarget: RequestTarget?
    /// The layout as the client sees it.
    private(set) lazy var layout = seenLayout
    private(set) lazy var fields = request.fields
    /// The sender and the purpose of the request.
    private(set) lazy var requestContext =
        isTransparent
        ? RequestContext(ofProxy: fields, requesting: proxied, isShared: context.layout.isShared)
        : RequestContext(
            fields, authority: request.authority, layout: layout, isExpected: isExpectedNavigation)

    /// Whether a service worker repeats a navigation to which this server has just redirected a person. Such a request has no
    /// `Sec-Fetch-User`, by which the person's click would be recognised otherwise.
    private var isExpectedNavigation: Bool {
        guard fields["Sec-Fetch-Mode"] == "navigate", fields["Sec-Fetch-Dest"] == "empty" else {
            return false
        }
        return context.expected.remove("\(layout.scheme)://\(request.authority)\(request.targetText)")
    }

    /// For a proxy: the absolute URL of the request.
    private(set) lazy var proxied = request.proxied

    /// For a proxy: the nearest network zone that its client may connect to. If other machines use the proxy,
    /// this is the zone of the client. The sender of a request that another proxy forwarded is unknown.
    private(set) lazy var clientZone: NetworkZone = {
        guard context.layout.isShared else { return .thisMachine }
        let isForwarded = request.head.isForwarded || request.tunnel?.isForwarded ?? false
        let client = isForwarded ? nil : LoginClient(socket: request.socket)
        return max(client?.zone ?? .publicNetwork, context.mayReachPrivate ? .privateNetwork : .publicNetwork)
    }()

    init(_ request: Request, _ responder: MirrorResponder) {
        self.request = request
        self.responder = responder
    }

    /// Makes an exchange whose URL the proxy has already parsed.
    convenience init(_ request: Request, _ responder: MirrorResponder, proxied: WebURL?) {
        self.init(request, responder)
        if let proxied { self.proxied = proxied }
    }

    var context: MirrorContext { responder.context }

    /// The part of the exchange that belongs to the portal.
    var portal: PortalExchange { PortalExchange(self) }

    /// The part of the exchange that handles URLs without a stored response.
    var misses: MissExchange { MissExchange(self) }

    /// The rights of the requester to cause requests to origins.
    var networkRights: NetworkRights { NetworkRights(self) }

    /// The layout for the host name and seal of this request, with the page bar if the user has switched it on.
    private var seenLayout: OriginLayout {
        var layout = context.layout.forClient(request.authority, target: request.targetText)
        if let bar = context.services?.bar, bar.isOn, layout.portal != nil {
            layout.hasBar = fields.fetchDestination == "document"
        }
        return layout
    }

    /// Whether this is a proxy. Read from the shared layout, so that the requester need not be determined.
    private var isTransparent: Bool { responder.context.layout.isTransparent }

    /// The state of the store, the same for the whole exchange.
    func view() throws(StoreError) -> MirrorResponder.StoreView {
        if let currentView { return currentView }
        let view = try responder.view()
        currentView = view
        return view
    }

    /// Runs `body` in one read transaction. From then on, `view` has the generation of that transaction.
    func atOneStoreState<Result>(
        _ body: (MirrorResponder.StoreView) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        let (view, result) = try responder.atOneStoreState { (view) throws(StoreError) in
            currentView = view
            return try body(view)
        }
        currentView = view
        return result
    }

    /// The meaning of the request's host and target.
    func requestTarget() throws(StoreError) -> RequestTarget {
        if let knownTarget { return knownTarget }
        if isTransparent {
            let target = proxied.map { RequestTarget.stored([$0.href]) } ?? .refused
            knownTarget = target
            return target
        }
        var target = try responder.resolve(
            authority: request.authority, target: request.targetText, try view())
        if target == .portal, isFromBrowser, context.names.redirectsToPortal(request.authority),
            let portal = layout.portal
        {
            target = .portalRedirect(to: portal.dropLast() + request.targetText)
        }
        knownTarget = target
        return target
    }

    /// The cache rules and names of all sites.
    func rules() throws(StoreError) -> SiteRules { try responder.rules(try view()) }

    /// Whether the request may be for another origin that shares the name of the site at the root.
    private var canBeBesideRoot: Bool { responder.context.canBeBesideRoot(request) }

    /// Whether the headers are those of a browser: programs send none of the fields that identify the
    /// requester.
    private var isFromBrowser: Bool {
        ["Sec-Fetch-Site", "Origin", "Referer"].contains { fields.contains($0) }
            || fields["User-Agent"]?.hasPrefix("Mozilla/") ?? false
    }

    // MARK: - Reply

    /// Nil if an origin is asked first; then `later` gets the reply.
    func reply(orDefer later: DeferredReply) throws(StoreError) -> Reply? {
        if isRefusedBeforeLookup { return Reply(answer: .refusal(to: requestContext)) }
        if context.canHaveEarlierState(request), let ending = endEarlierState() { return ending }
        if portal.isCommand, case .portal = try requestTarget() {
            return try portal.runCommand(orDefer: later)
        }
        // Before the lookup: the document must have its own seal whether it is stored or not.
        if canBeBesideRoot, let sealed = try redirectToSealedAddress() { return reply(sealed) }
        if portal.isSearch, let searches = context.searches, case .portal = try requestTarget() {
            return try portal.search(by: searches, orDefer: later)
        }
        if let loader = context.loader, let cached = try CacheExchange(self, by: loader) {
            return try cached.reply(orDefer: later)
        }
        return try reply(try answer(), orDefer: later)
    }

    /// The reply with an answer. Nil if a search completes the page of a miss; then `later` gets the reply.
    func reply(_ answer: Answer, orDefer later: DeferredReply) throws(StoreError) -> Reply? {
        let reply = reply(answer)
        guard let searchableMiss else { return reply }
        return try misses.search(for: searchableMiss, reply, orDefer: later)
    }

    // MARK: - Checks before the lookup

    /// Whether a foreign page requests a URL that it never gets, stored or not. Such requests are refused before
    /// the lookup, so that their timing reveals nothing.
    var isRefusedBeforeLookup: Bool {
        guard !isTransparent, request.isCrossOrigin || canBeBesideRoot || isAtPlainName, !shouldRemoveWorker,
            requestContext.kind == .foreignPage, requestContext.use.access != .window
        else { return false }
        switch context.names.resolve(authority: request.authority, target: request.targetText) {
        case .shim, .originName, .redirectToStored, .refused: return false
        case .portal where Portal.isExtensionRequest(request.targetText, origin: request.origin): return false
        case .portal, .portalRedirect: return !request.target.starts(with: PortalLinks.barFrame.utf8)
        case .stored(let addresses):
            return addresses.first.flatMap { WebURL($0) }.map { !layout.isPublished($0) } ?? true
        case .inSnapshot, .moved, .unknownOrigin: return true
        }
    }

    /// At a name where another site was at the root before, a browser may still have that site's service
    /// worker, storage and stored responses. The first page that is requested there makes the browser clear
    /// them all. Until then, pages and workers of that site get nothing. Nil for requests from pages of other
    /// origins.
    func endEarlierState() -> Reply? {
        if fields["Service-Worker"] == "script" { return Reply(answer: WorkerRemoval.answer) }
        guard requestContext.use.isWindow else {
            return fields["Sec-Fetch-Site"] == "same-origin"
                ? Reply(answer: .refusal(to: requestContext)) : nil
        }
        context.rootHistory?.noteCleared(at: request.authority)
        return Reply(
            answer: .redirect(
                to: request.targetText.hasPrefix("//") ? "/." + request.targetText : request.targetText,
                fields: layout.commonFields + WorkerRemoval.clearing, keepsMethod: true))
    }

    /// Whether the request is for a service worker's script at a name that several sites have one after
    /// another: a worker whose script is not there is an earlier site's.
    var shouldRemoveWorker: Bool {
        !isTransparent && fields["Service-Worker"] == "script" && !canBeBesideRoot
            && (layout.isExposed || isAtPlainName || context.names.isLocalRoot(request.authority))
    }

    /// Whether the name is one at which browsers are redirected to the portal.
    private var isAtPlainName: Bool { context.names.redirectsToPortal(request.authority) }

    /// The reply to a requester who may not have a stored response. It is checked before the response is
    /// rendered, so that neither the reply nor its timing reveals that there is one. Nil if the requester may
    /// have it.
    func refusal(of sharing: Sharing) -> Reply? {
        guard needsAccessCheck else { return nil }
        switch sharing.verdict(for: requestContext, origin: request.origin, in: layout) {
        case .given: return nil
        case .refused: return Reply(answer: .refusal(to: requestContext))
        case .withheld: return Reply(answer: .withheld)
        }
    }

    /// The answer from memory or from the store.
    private func answer() throws(StoreError) -> Answer {
        // First: if the store cannot be read, answers in memory may be outdated.
        let view = try view()
        guard request.head.method != .other else { return try answerFromStore().answer }
        // A service worker's script gets a guard in front, so that it differs from the same script in a page.
        let isForWorker =
            context.layout.sharesOrigin
            && (fields.contains("Service-Worker") || fields["Sec-Fetch-Dest"] == "serviceworker")
        if !isTransparent, !isForWorker, !layout.hasBar, !fields.isPageOpening,
            let known = context.tier.value(for: request.host.span, request.target.span, now: view.time),
            known.isCurrent
        {
            return known
        }
        let (answer, url) = try answerFromStore()
        // The answer may come from a newer snapshot than the view above.
        if let url { keepInMemory(answer, for: url, try self.view()) }
        return answer
    }

    /// Adds an answer to the memory tier, for later requests.
    private func keepInMemory(_ answer: Answer, for url: Int64, _ view: MirrorResponder.StoreView) {
        // The key has the host as the client sent it, so that a repeated request needs no URL parsing.
        func add(for host: UnsafeBufferPointer<UInt8>) {
            let isInserted = context.tier.insert(
                answer, byteCount: answer.memoryByteCount, id: url, for: host.span, request.target.span,
                derivedIn: view.generation, now: view.time)
            if isInserted { responder.didKeep(answer.memoryByteCount) }
        }
        guard isTransparent else { return add(for: request.host) }
        var origin = request.proxiedOrigin ?? ""
        origin.withUTF8(add)
    }

    /// Redirects a document beside a site at the root to its address with its own seal, so that its requests
    /// prove which page sent them.
    private func redirectToSealedAddress() throws(StoreError) -> Answer? {
        guard requestContext.use.makesDocument, case .stored(let addresses) = try requestTarget(),
            let url = addresses.first.flatMap({ WebURL($0) }),
            let address = layout.addressWithOwnSeal(of: url)
        else { return nil }
        return .redirect(
            to: address, fields: layout.commonFields, keepsMethod: true, sharing: Sharing(missing: url))
    }

    /// The answer. If it stays valid until the store changes, also the number of its URL.
    private func answerFromStore() throws(StoreError) -> (answer: Answer, url: Int64?) {
        let isRead = request.head.method != .other
        let (target, reader) = (try requestTarget(), try view().reader)
        switch target {
        case .portal:
            guard isRead else { return (refusal, nil) }
            let answer = try responder.portal.answer(request.targetText, for: portal.visitor, reader: reader)
            if answer.status == 302, let address = responder.portal.address(pastedInto: request.targetText) {
                expectNavigation(to: address)
            }
            return (answer, nil)
        case .shim:
            return (isRead ? context.shim?.answer ?? plain(404, "The shim is switched off.") : refusal, nil)
        case .originName(let origin):
            let name = WebURL(origin).flatMap(layout.name)
            return (name.map(Shim.nameAnswer) ?? plain(404, "Only http and https origins have names."), nil)
        case .stored(let addresses) where !addresses.isEmpty: return try storedAnswer(for: addresses)
        case .inSnapshot(let snapshot, let addresses) where !addresses.isEmpty:
            guard try reader.isComplete(snapshot: snapshot) else {
                return (
                    plain(
                        404,
                        "There is no such snapshot; it may have been removed. Open the site from the portal again."
                    ), nil
                )
            }
            return try reader.asOf(snapshot) { () throws(StoreError) in try storedAnswer(for: addresses) }
        case .stored, .inSnapshot, .redirectToStored, .moved, .portalRedirect, .unknownOrigin, .refused:
            return (answerWithoutResponse(for: target), nil)
        }
    }

    /// Notes that a person will be redirected to an address, if a person caused this request.
    private func expectNavigation(to address: String) {
        guard requestContext.use.isFollowedLink || requestContext.kind == .user else { return }
        context.expected.expect(address)
    }

    /// The answer for a target without a stored response: a redirect or an error.
    private func answerWithoutResponse(for target: RequestTarget) -> Answer {
        switch target {
        case .redirectToStored(let url):
            guard let address = layout.address(of: url) else {
                return plain(404, "Only http and https URLs are mirrored.")
            }
            expectNavigation(to: address)
            return .redirect(
                to: address, fields: layout.commonFields, keepsMethod: true, sharing: .common)
        case .moved(let address):
            return .redirect(to: address, fields: layout.commonFields, keepsMethod: true)
        case .portalRedirect(let address):
            // Clearing takes a browser time. Once per page is enough, so only windows get the field.
            let fields =
                requestContext.use.isWindow ? WorkerRemoval.clearing : WorkerRemoval.clearing.dropLast()
            return .redirect(to: address, fields: layout.commonFields + fields)
        case .unknownOrigin:
            return plain(404, "\(request.authority) names an origin that is not stored.")
        case .refused:
            return plain(421, "\(request.authority) is not served here. The portal is at \(layout.home)")
        case .stored, .inSnapshot, .portal, .shim, .originName:
            if layout.sharesOrigin, request.targetText.hasPrefix(RootOrigin.prefix) {
                return plain(
                    403,
                    "This address is not valid on the running server. Follow the links from \(layout.home)")
            }
            // Below `/-/`, on a server with a site at the root.
            guard let portal = layout.portal else { return plain(404, "Not found.") }
            return .redirect(to: portal.dropLast() + request.targetText, fields: layout.commonFields)
        }
    }

    /// Records that a stored response is served, and that a person reads it if the request opens a page.
    func recordUse(of response: StoredResponse, at now: Int64) {
        context.notes?.didRender(response.url, at: now)
        guard request.method == "GET", fields.isPageOpening else { return }
        context.notes?.didRead(response.url, snapshot: layout.snapshot, at: now)
    }

    /// The answer with the stored response for one of these URLs, or a miss. If it stays valid until the store
    /// changes, also the number of its URL.
    private func storedAnswer(for requested: [String]) throws(StoreError) -> (answer: Answer, url: Int64?) {
        var (addresses, wantsScripts) = (requested, false)
        if fields.isNavigation, !isTransparent {
            let stripped = requested.compactMap { WebURL($0).flatMap(FrozenCopy.withScripts)?.href }
            if stripped.count == requested.count { (addresses, wantsScripts) = (stripped, true) }
        }
        let body = request.body
        let key = RequestKey(method: request.method, body: body.span, type: fields.contentType)
        var required: Bundle?
        var copy: FoundResponse?
        try atOneStoreState { (view) throws(StoreError) in
            let rules = try rules()
            // Today's manifests do not apply to earlier snapshots.
            required =
                key == .get && layout.snapshot == nil
                ? try responder.requiredBundle(for: addresses, view) : nil
            copy = try timing.measure("lookup") { () throws(StoreError) in
                let finder = finder(view)
                let form =
                    key == .get && request.method == "GET" && !fields.isNavigation
                    ? RequestKey(form: fields.requestedForm) : nil
                if let form,
                    let found = try finder.find(
                        addresses, request: form, requestFields: originalFields, rules: nil)
                {
                    return found
                }
                var found = try finder.find(
                    addresses, request: key, requestFields: originalFields, rules: rules)
                // The shim opens the page if the script wanted the form because a link was followed.
                if form != nil, let response = found?.response, response.role == 0, response.body != nil,
                    HTTPFields(block: response.fields.utf8.span).contentType?.isHTML ?? false
                {
                    found?.change.insert(.form)
                }
                if key == .get, !fields.isNavigation,
                    let answer = try finder.errorAnswer(
                        addresses.compactMap { WebURL($0) }, replacing: found, requestFields: originalFields)
                {
                    return answer
                }
                guard found == nil, key == .get, fields.isNavigation, !isTransparent else { return found }
                let shell = try finder.shell(for: addresses)
                // The next update requests the page itself.
                if shell != nil { try misses.record(likeliestURL(addresses)) }
                return shell
            }
        }
        let view = try view()
        // The decision is made from the store alone, without a request to the origin.
        if let found = copy, isTransparent,
            !canAccess(found.response.flags, of: found.url)
                || (layout.isShared || found.response.flags.contains(.isPrivate))
                    && !found.response.matches(originalFields, view.reader.secrets)
        {
            copy = nil
        }
        let bundle = try copy.flatMap { (copy) throws(StoreError) in try compare(copy, with: required) }
        if let found = copy, !found.change.isEmpty, required != nil, bundle?.isVerified != true { copy = nil }
        guard let copy else {
            if let pastedURLAnswer { return (pastedURLAnswer, nil) }
            return (try misses.answer(to: try likeliestURL(addresses)), nil)
        }
        // `reply` makes the real refusal from the sharing; the body is not even rendered.
        if refusal(of: copy.sharing) != nil {
            return (Answer(status: 403, fields: [], body: [], sharing: copy.sharing), nil)
        }
        _ = try isDamaged(copy, isRequired: bundle != nil)
        recordUse(of: copy.response, at: view.time)
        let renderer = try renderer(of: copy.url, finder(view), requestFields: fields)
        // A page that does not work offline is served with its recorded messages or as its frozen copy, unless the
        // user asks for its scripts alone.
        let mayBeFrozen = try rules().frozen.contains(copy.url.href)
        if mayBeFrozen, !wantsScripts, key == .get, fields.isNavigation, layout.snapshot == nil,
            !isTransparent,
            bundle == nil, copy.change.isDisjoint(with: [.shell, .query, .search])
        {
            if try rules().replayed.contains(copy.url.href),
                let messages = try view.reader.liveMessages(of: copy.response, fields: originalFields)
            {
                renderer.replay = SocketReplay.element(messages, of: copy.url)
                return (try renderer.storedAnswer(copy, source: .hit(copy.change)), nil)
            }
            if let frozen = try finder(view).frozen(copy, originalFields),
                try !isDamaged(frozen, isRequired: false), let address = layout.address(of: copy.url)
            {
                let language =
                    context.services?.bar.language
                    ?? PortalLanguage(accepting: fields.joinedValues("Accept-Language"))
                renderer.notice = FrozenCopy.notice(address, in: language)
                let answer = try renderer.storedAnswer(frozen, source: .hit(copy.change))
                return (answer.adding(FrozenCopy.policy), nil)
            }
        }
        let answer = try timing.measure("splice") { () throws(StoreError) in
            try renderer.storedAnswer(copy, source: .hit(copy.change), bundle: bundle)
        }
        // Another page may not get an archive's response.
        var isForAll = copy.response.isForAllClients(in: layout)
        if view.reader.yieldsToOrigin(copy.response), try !view.reader.hasImportsOnly() { isForAll = false }
        // A URL with a cache buster, or with a query that varies, is requested only once.
        let isKept =
            isForAll && context.verifier.allowsKeeping && key == .get && answer.status != 500
            && copy.response.request == key && !copy.isVariant && !mayBeFrozen && !wantsScripts
            && !renderer.dependsOnUse
            && copy.change.isDisjoint(with: [
                .busters, .query, .search, .time, .shell, .callback, .device, .form,
            ])
        // The memory tier does not distinguish requests for other forms of a page, or by scripts.
        if isKept, copy.response.isTombstone || copy.response.role == 0,
            try view.reader.hasOtherForms(copy.response)
        {
            return (answer, nil)
        }
        return (answer, isKept ? copy.response.url : nil)
    }

    // MARK: - Copies

    /// Whether a client of the proxy may have a stored response. Site isolation is up to the client's
    /// browser, which knows the original names.
    func canAccess(_ flags: ResponseFlags, of url: WebURL) -> Bool {
        guard flags.zone <= clientZone else { return false }
        let client = Requester(.user, canReceivePrivate: requestContext.requester.canReceivePrivate)
        let resource = ProtectedResource.response(
            url, isPrivate: flags.contains(.isPrivate), isPublished: false)
        return access(
            to: resource, by: client, for: requestContext.use.access, isSameSite: layout.names.isSameSite)
            == .granted
    }

    /// The time for ``ResponseFinder``. Nil for navigations: a person who opens a page does not want the page of
    /// another day.
    var timeOfAsking: Int64? {
        request.method == "GET" && fields.isNavigation ? nil : SystemClock.secondsSinceEpoch()
    }

    /// Finds stored responses in this state of the store, for this requester.
    func finder(_ view: MirrorResponder.StoreView) -> ResponseFinder {
        ResponseFinder(
            reader: view.reader, fields: AnswerFields(layout: layout), now: timeOfAsking,
            context: requestContext)
    }

    /// Renders responses for this requester.
    func renderer(
        of url: WebURL, _ finder: ResponseFinder, requestFields: HTTPFields
    ) throws(StoreError) -> ResponseRenderer {
        let renderer = ResponseRenderer(
            finder: finder, layout: layout, shim: context.shim, verifier: context.verifier,
            requestFields: requestFields, barLanguage: context.services?.bar.language)
        renderer.scriptCopyKeys = try rules().scriptCopyKeys(ofOrigin: url.origin)
        return renderer
    }

    /// Whether the stored body is damaged, where the options require it to be hashed before it is served.
    /// Damage is noted, so that the next prefetch repairs it.
    func isDamaged(_ copy: FoundResponse?, isRequired: Bool) throws(StoreError) -> Bool {
        guard let body = copy?.response.body,
            case .damaged = try context.verifier.content(of: body, in: view().reader, isRequired: isRequired)
        else { return false }
        context.notes?.addDamaged(body.sha256)
        return true
    }

    /// The result of comparing the stored body with the required bundle. Nil if there is no such requirement
    /// or no body.
    func compare(_ copy: FoundResponse, with required: Bundle?) throws(StoreError) -> BundleComparison? {
        guard let required, let body = copy.response.body, let content = try view().reader.content(of: body)
        else {
            return nil
        }
        return try BundleComparison(required, body, content, copy.statedIntegrity)
    }

    // MARK: - Addresses

    /// The header fields as the page would have sent them on the web. They select the variant of a response.
    var originalFields: HTTPFields {
        guard fields.contains("Origin"), !requestContext.hasOpaqueOrigin,
            let origin = requestContext.origins.first
        else {
            return fields
        }
        var original = fields
        original.set("Origin", origin)
        return original
    }

    /// Returns the address that is most likely meant. One mirror name stands for the http and the https
    /// origin. The choice is made by whether either origin has stored responses, then by whether a link to
    /// the URL is known, then by the scheme of the requesting page.
    ///
    /// - Parameter addresses: Not empty.
    func likeliestURL(_ addresses: [String]) throws(StoreError) -> String {
        guard !context.layout.sharesOrigin, addresses.count > 1, let first = WebURL(addresses[0]),
            first.scheme == "https", layout.root.map({ !$0.isRoot(first) }) ?? true,
            let other = addresses.first(where: { $0.hasPrefix("http:") }),
            let httpOrigin = WebURL(other)?.origin
        else { return addresses[0] }
        let view = try view()
        if let isPlain = try responder.isStoredOverHTTPOnly(first.origin, httpOrigin, view) {
            return isPlain ? other : addresses[0]
        }
        if try view.reader.isKnown(first.href) { return addresses[0] }
        if let url = WebURL(other), try view.reader.isKnown(url.href) { return other }
        // The host is unknown. A page of plain http has its own site by http; for other hosts, the stored
        // origins decide.
        guard let page = try referrer().flatMap({ WebURL($0) }), page.scheme == "http" else {
            return addresses[0]
        }
        if layout.names.isSameSite(page.host, first.host) { return other }
        return try view.reader.isKnown(origin: httpOrigin) ? other : addresses[0]
    }

    /// The original URL of the requesting page, if the page is stored.
    func referrer() throws(StoreError) -> String? {
        guard let local = fields["Referer"].flatMap({ WebURL($0) }) else { return nil }
        if isTransparent { return try view().reader.response(for: local.href) == nil ? nil : local.href }
        for address in context.names.originals(of: local) {
            guard let url = WebURL(address) else { continue }
            if try view().reader.response(for: url.href) != nil { return url.href }
        }
        return nil
    }

    /// Redirects to the copy of an original URL that a person pasted behind the address of a site at the
    /// root.
    ///
    /// If other origins share the root's name, the redirect contains a seal, which foreign pages must not
    /// learn. If a foreign page may have sent the request, a window gets a page with a link, and other
    /// requests are refused.
    var pastedURLAnswer: Answer? {
        guard layout.root != nil,
            let url = WebURL(String(decoding: request.target.dropFirst(), as: UTF8.self)),
            let address = layout.address(of: url)
        else { return nil }
        guard layout.sharesOrigin, requestContext.kind == .foreignPage || RequestContext.isSilent(fields)
        else {
            return .redirect(to: address, fields: layout.commonFields, sharing: Sharing(missing: url))
        }
        guard fields.isNavigation, request.origin == nil else {
            return plain(
                403, "A page may not load the copy of \(url.href) by this address. Open it in a window.")
        }
        let page = HTMLPage(
            title: "Open the copy",
            body: """
                <h1>Open the copy</h1>
                <p><a href="\(HTMLPage.escape(address))">\(HTMLPage.escape(url.href))</a></p>
                """)
        return .html(
            200, page.text, fields: [("Cache-Control", "no-store")] + layout.commonFields, sharing: .common)
    }

    // MARK: - Replies

    /// The reply with an answer, as far as the requesting page may have it.
    func reply(_ answer: Answer, role: Preconditions.Role = .origin) -> Reply {
        if shouldRemoveWorker, answer.status >= 300 { return Reply(answer: WorkerRemoval.answer) }
        guard needsAccessCheck else {
            return Reply(
                answer: answer, clientFields: isTransparent ? [] : timing.line, role: role,
                source: hasMissed ? .missed : .store)
        }
        switch answer.sharing.verdict(for: requestContext, origin: request.origin, in: layout) {
        case .given(let lines):
            let isSevered = requestContext.isForeignWindow && !layout.sharesOrigin
            return Reply(
                answer: isSevered ? answer.withoutOpenerPolicy : answer, clientFields: lines + timing.line,
                role: role)
        case .refused: return Reply(answer: .refusal(to: requestContext))
        case .withheld: return Reply(answer: .withheld)
        }
    }

    /// Whether the answer depends on the requester.
    var needsAccessCheck: Bool {
        !isTransparent && (request.isCrossOrigin || canBeBesideRoot || context.layout.isExposed)
    }

    /// The reply if the store cannot be read.
    func failure(_ error: StoreError) -> Reply { reply(.storeFailure(error, in: layout)) }

    /// The answer to a method that a page of the mirror itself does not support.
    private var refusal: Answer {
        plain(405, "This page allows only GET and HEAD.", fields: [("Allow", "GET, HEAD")])
    }

    /// An answer of one line.
    func plain(
        _ status: Int, _ text: String, fields: [(name: String, value: String)] = [],
        sharing: Sharing = .portal
    ) -> Answer {
        .text(status, text + "\n", fields: fields + context.layout.commonFields, sharing: sharing)
    }
}

extension StoredResponse {
    /// Whether an answer made of this response may be kept in memory for every client. Clients of a shared
    /// proxy may be in different network zones.
    func isForAllClients(in layout: OriginLayout) -> Bool {
        !layout.isShared || flags.zone == .publicNetwork
    }
}
