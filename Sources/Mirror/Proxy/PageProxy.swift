internal import Glibc
package import HTTPServer
package import Store
internal import Synchronization
package import TLS
package import Web

/// The proxy of one browser tab. Answers requests of the page from a snapshot, and passes others to the
/// fetcher.
///
/// A crawl renders its pages through such proxies, so that the browser itself sends nothing to the network: each request is
/// either answered from the snapshot that the crawl is making, or decided by the crawl's scope and limits, as for links
/// that it found by itself. A tab shows one page after the other; `begin` and `end` mark each. Any thread may call the
/// methods; the server has one thread.
package final class PageProxy: Sendable {
    /// Requests a URL that is not in the snapshot, for the page with this number. Called on the server's thread,
    /// which must not block. The answer may come from any thread, or never if the page was closed.
    package typealias SendRequest =
        @Sendable (_ page: UInt32, PageRequest, _ answer: @escaping @Sendable (PageRequestResult) -> Void) ->
        Void

    private let server: HTTPServer
    private let tab: PageTab

    /// - Parameter connect: Connects sockets of pages with their origins; nil if pages get no sockets.
    package init(
        _ folder: StoreFolder, snapshot: Int64, security: TLSServer, connect: Connect? = nil,
        sendRequest: @escaping SendRequest
    ) throws(ServerError) {
        let tab: PageTab
        do throws(StoreError) {
            tab = try PageTab(folder, snapshot: snapshot, sendRequest: sendRequest)
        } catch {
            throw ServerError(error)
        }
        self.tab = tab
        server = try HTTPServer(port: 0, threadCount: 1, limits: .proxy) { _ throws(ServerError) in
            PageResponder(tab, security, connect)
        }
    }

    /// `http://127.0.0.1:PORT`
    package var address: String { "http://127.0.0.1:\(server.port)" }

    /// Attributes all requests from now on to this page.
    package func begin(_ page: UInt32, at url: WebURL) { tab.begin(page, at: url) }

    /// From now on, the page's requests may be consequences of its controls being used: those that could
    /// change something on a server are refused.
    package func refuseChanges() { tab.refuseChanges() }

    /// Ends the current page.
    package func end() -> PageTraffic { tab.end() }

    package func stop() { server.stopAndWait() }
}

/// The traffic between a page and its proxy.
package struct PageTraffic: Sendable {
    /// URLs that were answered from the snapshot.
    package var urlsFromSnapshot: [String] = []
    /// Names of cookies that responses set.
    package var servedCookies: Set<String> = []
    /// The number of requests that were refused because they could change something.
    package var refusedChanges = 0

    package init() {}

    /// The traffic of both.
    package func adding(_ other: PageTraffic) -> PageTraffic {
        var sum = PageTraffic()
        sum.urlsFromSnapshot = urlsFromSnapshot + other.urlsFromSnapshot
        sum.servedCookies = servedCookies.union(other.servedCookies)
        sum.refusedChanges = refusedChanges + other.refusedChanges
        return sum
    }
}

/// The state of a tab and its current page. Any thread may use it.
private final class PageTab: Sendable {
    private struct Page {
        let number: UInt32
        /// URLs that the tab may navigate to: the page and its redirects.
        var documents: Set<String>
        /// The URLs in `documents` that the page has requested.
        var requestedDocuments: Set<String> = []
        var urlsFromSnapshot: Set<String> = []
        /// Names of cookies that responses set; all others were set by scripts.
        var servedCookies: Set<String> = []
        var refusesChanges = false
        /// The connections of its sockets with origins.
        var sockets: Set<Int32> = []
        var refusedChanges = 0
    }

    private let snapshot: Int64
    /// Used by the server's thread, and by the threads that answer `sendRequest`.
    private let reader: Mutex<StoreReader>
    private let page = Mutex<Page?>(nil)
    let sendRequest: PageProxy.SendRequest

    init(_ folder: StoreFolder, snapshot: Int64, sendRequest: @escaping PageProxy.SendRequest)
        throws(StoreError)
    {
        self.snapshot = snapshot
        self.sendRequest = sendRequest
        reader = Mutex(try StoreReader(folder))
    }

    var number: UInt32? { page.withLock { $0?.number } }

    func begin(_ number: UInt32, at url: WebURL) {
        page.withLock { $0 = Page(number: number, documents: [url.key.href]) }
    }

    func end() -> PageTraffic {
        endSockets()
        return page.withLock { page in
            defer { page = nil }
            var traffic = PageTraffic()
            traffic.urlsFromSnapshot = page?.urlsFromSnapshot.sorted() ?? []
            traffic.servedCookies = page?.servedCookies ?? []
            traffic.refusedChanges = page?.refusedChanges ?? 0
            return traffic
        }
    }

    /// Also ends the sockets of the page, by which its controls could change something.
    func refuseChanges() {
        page.withLock { $0?.refusesChanges = true }
        endSockets()
    }

    /// Remembers a socket of the current page. Returns false if it must not be opened any more.
    func addSocket(_ descriptor: Int32) -> Bool {
        page.withLock { page in
            guard page?.refusesChanges == false else { return false }
            page?.sockets.insert(descriptor)
            return true
        }
    }

    /// Forgets a socket before it is closed.
    func removeSocket(_ descriptor: Int32) { page.withLock { _ = $0?.sockets.remove(descriptor) } }

    /// Shuts down the sockets of the page. Their relays then close them.
    private func endSockets() {
        page.withLock { page in
            for descriptor in page?.sockets ?? [] { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    /// Whether a request with this method is refused, which is counted.
    func refuseIfUnsafe(_ method: String) -> Bool {
        guard !["GET", "HEAD", "OPTIONS"].contains(method) else { return false }
        return page.withLock { page in
            guard page?.refusesChanges == true else { return false }
            page?.refusedChanges += 1
            return true
        }
    }

    /// The cookies of a request that scripts of the page set.
    func scriptCookies(of fields: HTTPFields) -> [PageCookie] {
        let cookies = PageCookie.all(in: fields)
        guard !cookies.isEmpty else { return [] }
        let served = page.withLock { $0?.servedCookies ?? [] }
        return cookies.filter { !served.contains($0.name) }
    }

    /// Notes a request for a document. Returns whether the page has requested this document of its own before.
    func isReload(_ url: WebURL) -> Bool {
        let href = url.key.href
        return page.withLock { page in
            guard page?.documents.contains(href) == true else { return false }
            return page?.requestedDocuments.insert(href).inserted == false
        }
    }

    /// The result of a lookup in the snapshot.
    enum SnapshotLookup {
        case answer(Answer)
        /// The stored response is a page, as a navigation gets it. A script may want another form of it.
        case page(Answer)
        /// A response is stored, but for another origin, so that this page may not read it.
        case foreign
        case nothing
    }

    /// Looks up a request in the snapshot.
    ///
    /// - Parameter origin: the origin of a cross-origin request; nil for others.
    func lookUp(_ url: WebURL, _ request: RequestKey, by origin: String?) throws(StoreError) -> SnapshotLookup
    {
        let href = url.key.href
        var (isForeign, isPage) = (false, false)
        let (answer, redirect) = try reader.withLock { (reader) throws(StoreError) -> (Answer?, WebURL?) in
            let all = try reader.responses(for: href, ofSnapshot: snapshot, request: request).filter {
                request == .errorAnswer || $0.status < 400 || $0.hasPageStatus
            }
            guard let stored = all.first(where: { $0.isMade(for: origin) }) else {
                isForeign = !all.isEmpty
                return (nil, nil)
            }
            let fields = HTTPFields(block: stored.fields.utf8.span)
            isPage = stored.role == 0 && stored.body != nil
            guard let body = stored.body else {
                let target = fields["Location"].flatMap { WebURL($0, base: url) }
                return (Answer(status: stored.status, fields: outgoing(fields), body: []), target)
            }
            switch try reader.content(of: body) {
            case nil: return (nil, nil)
            case .file(let path)?:
                let file = Answer.FileBody(path: path, byteCount: body.byteCount)
                return (Answer(status: stored.status, fields: outgoing(fields), file: file), nil)
            case let content?:
                let bytes = try content.load()
                return (Answer(status: stored.status, fields: outgoing(fields), body: bytes), nil)
            }
        }
        guard let answer else { return isForeign ? .foreign : .nothing }
        guard request == .get else { return .answer(answer) }
        page.withLock { page in
            guard page?.urlsFromSnapshot.count ?? .max < Self.maxRecordedURLs else { return }
            page?.urlsFromSnapshot.insert(href)
            if let redirect, page?.documents.contains(href) == true {
                page?.documents.insert(redirect.key.href)
            }
        }
        return isPage ? .page(answer) : .answer(answer)
    }

    /// The maximum number of recorded URLs. Further ones are served, and not recorded.
    private static let maxRecordedURLs = 20_000

    func answer(
        _ answer: PageRequestResult, to url: WebURL, _ request: RequestKey, _ fields: HTTPFields,
        by origin: String?
    ) -> Answer {
        switch answer {
        case .stored:
            do throws(StoreError) {
                // If the response is for another origin, the browser blocks it and reports that to the page.
                for (request, origin) in [(request, origin), (request, nil), (.errorAnswer, nil)] {
                    switch try lookUp(url, request, by: origin) {
                    case .answer(let answer), .page(let answer): return answer
                    case .foreign, .nothing: break
                    }
                }
                return .explanation(504, "\(url.href) is not stored.\n", to: fields)
            } catch {
                return .text(500, "\(error)\n")
            }
        case .response(let status, let fields, let body):
            return Answer(status: status, fields: outgoing(fields), body: body)
        case .connect: return .explanation(502, "\(url.href): no socket was requested\n", to: fields)
        case .blocked(let why):
            return .explanation(403, "\(url.href) was not requested: \(why)\n", to: fields)
        case .failed(let why): return .explanation(502, "\(url.href): \(why)\n", to: fields)
        }
    }

    /// The fields of an answer. Some are removed: the server sets lengths, bodies are stored decoded, and
    /// fields about later requests or other servers would have effects outside the tab.
    private func outgoing(_ fields: HTTPFields) -> [(String, String)] {
        let names = fields.all("Set-Cookie").map { PageCookie(setBy: $0).name }
        if !names.isEmpty { page.withLock { $0?.servedCookies.formUnion(names) } }
        return fields.withoutConnectionFields.list.filter {
            !Self.omittedFields.contains($0.name.lowercased())
        }
        .map { ($0.name, $0.value) }
    }

    /// Names of header fields that are not sent to the browser.
    private static let omittedFields: Set<String> = [
        "content-length", "content-range", "content-encoding", "strict-transport-security", "alt-svc", "nel",
        "larder-steady", "report-to", "reporting-endpoints", "clear-site-data",
        "content-security-policy-report-only",
    ]
}

extension StoredResponse {
    /// Whether the response may answer a request with this origin: not if it varies by origin, and not if it
    /// was requested without one and allows none.
    fileprivate func isMade(for origin: String?) -> Bool {
        guard let origin else { return true }
        if self.origin == origin { return true }
        let fields = HTTPFields(block: self.fields.utf8.span)
        if fields.all("Vary").contains(where: { $0.lowercased().contains("origin") }) { return false }
        return flags.contains(.hadOriginHeader) || fields.contains("Access-Control-Allow-Origin")
    }
}

/// Answers the requests of the tab. It belongs to one server thread.
private final class PageResponder: Responder {
    private let tab: PageTab
    private let security: TLSServer
    private let connect: Connect?

    init(_ tab: PageTab, _ security: TLSServer, _ connect: Connect?) {
        self.tab = tab
        self.security = security
        self.connect = connect
    }

    var isProxy: Bool { true }

    // Every tunnel is decrypted: all requests of the page must be decided by the crawl.
    func connect(_ request: Request) -> ConnectDecision {
        guard let (host, port) = request.tunnelTarget else {
            return .refuse(Reply(answer: .text(400, "\(request.authority) is not a host with a port.\n")))
        }
        return .intercept(Tunnel(host: host, port: port, security: security))
    }

    func respond(to request: Request, orDefer later: DeferredReply) -> Reply? {
        guard let url = request.proxied else {
            return Reply(answer: .text(400, "This is a proxy; requests need an absolute URL.\n"))
        }
        guard let number = tab.number else {
            return Reply(answer: .text(503, "The page was closed.\n"))
        }
        if UpgradeRequest.isUpgrade(request) { return openSocket(request, url, number, later) }
        // Such a response has no end, so the page gets it from the origin while it is sent.
        if UpgradeRequest.isForEventStream(request) { return openSocket(request, url, number, later) }
        let origin = request.fields["Origin"].flatMap { $0 == url.origin ? nil : $0 }
        let key = RequestKey(
            method: request.method, body: request.body.span, type: request.fields.contentType)
        var (isForeign, form) = (false, nil as String?)
        let cookies = tab.scriptCookies(of: request.fields)
        let isDocument =
            request.method == "GET" && PageRequest(url: url, fields: request.fields).use == .document
        let reloadsWithCookies = isDocument && tab.isReload(url) && !cookies.isEmpty
        do throws(StoreError) {
            switch try tab.lookUp(url, key, by: origin) {
            case .answer(let answer): return Reply(answer: answer)
            case .page where reloadsWithCookies: break
            case .page(let answer):
                form = request.method == "GET" ? request.fields.requestedForm : nil
                guard let own = RequestKey(form: form) else { return Reply(answer: answer) }
                if case .answer(let answer) = try tab.lookUp(url, own, by: origin) {
                    return Reply(answer: answer)
                }
            case .foreign: isForeign = true
            case .nothing: break
            }
        } catch {
            return Reply(answer: .text(500, "\(error)\n"))
        }
        if tab.refuseIfUnsafe(request.method) {
            return Reply(
                answer: .explanation(
                    403, "\(request.method) would change data on the server.\n", to: request.fields))
        }
        // The crawl decides, and may load the response first. The page may be closed meanwhile: then nothing is sent.
        let slot = later.makeSlot()
        var pageRequest = PageRequest(
            url: url, method: request.method, fields: request.fields, body: Array(request.body))
        pageRequest.needsOwnResponse = isForeign || form != nil
        pageRequest.requestedForm = form
        pageRequest.reloadsWithCookies = reloadsWithCookies
        pageRequest.cookies = cookies
        tab.sendRequest(number, pageRequest) { [tab, fields = request.fields] answer in
            slot.send(Reply(answer: tab.answer(answer, to: url, key, fields, by: origin)))
        }
        return nil
    }

    /// Connects a socket or event stream of the page with its origin, if the crawl allows it. The browser reports its
    /// messages, which fill the page before its frozen copy is made.
    private func openSocket(_ request: Request, _ url: WebURL, _ number: UInt32, _ later: DeferredReply)
        -> Reply?
    {
        guard let connect, request.method == "GET", !tab.refuseIfUnsafe(PageRequest.socketMethod) else {
            return Reply(answer: .text(501, "Protocol upgrades are not supported.\n"))
        }
        let (upgrade, slot) = (UpgradeRequest(request, url), later.makeSlot())
        let pageRequest = PageRequest(url: url, method: PageRequest.socketMethod, fields: request.fields)
        tab.sendRequest(number, pageRequest) { [tab] answer in
            guard case .connect(let zone) = answer else {
                return slot.send(Reply(answer: .text(403, "\(url.href) was not requested.\n")))
            }
            let watched: Connect = { [tab] url, zone in
                guard let channel = connect(url, zone) else { return nil }
                return PageSocket(channel, of: tab)
            }
            slot.send(upgrade.relay(by: watched, nearestZone: zone) { _ in })
        }
        return nil
    }
}

/// The connection of a page's socket with its origin, which ends with the page, or at `maxBytes`.
private final class PageSocket: ByteChannel {
    private let channel: any ByteChannel
    private let tab: PageTab
    private var receivedCount = 0
    /// The maximum number of bytes from the origin. Then the connection ends, so that the browser and its reports of
    /// messages need little memory.
    private static let maxBytes = 16 << 20

    /// Returns nil if the page must not open sockets any more.
    init?(_ channel: any ByteChannel, of tab: PageTab) {
        guard tab.addSocket(channel.descriptor) else { return nil }
        (self.channel, self.tab) = (channel, tab)
    }

    deinit { tab.removeSocket(channel.descriptor) }

    var descriptor: Int32 { channel.descriptor }
    func send(_ bytes: UnsafeRawBufferPointer) -> Int { channel.send(bytes) }
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard receivedCount < Self.maxBytes else { return 0 }
        let count = channel.receive(into: buffer)
        receivedCount += max(0, count)
        return count
    }
}
