internal import HTTPServer
internal import Origins
internal import Portal
internal import Store
internal import Web

/// The part of an exchange that belongs to the portal: its commands, searches, live updates and uploads.
struct PortalExchange {
    private let exchange: MirrorExchange

    private var request: Request { exchange.request }
    private var layout: OriginLayout { exchange.layout }
    private var fields: HTTPFields { exchange.fields }
    private var isTransparent: Bool { exchange.context.layout.isTransparent }

    init(_ exchange: MirrorExchange) { self.exchange = exchange }

    /// Whether the request may be a portal command or the request for its live updates.
    var isCommand: Bool {
        guard !isTransparent else { return false }
        return request.head.method == .other
            ? request.method == "POST" : request.target.elementsEqual(PortalLinks.live.utf8)
    }

    /// Whether the request is a search, which runs on a thread of its own since it may take long.
    var isSearch: Bool {
        !isTransparent && request.head.method != .other
            && request.target.starts(with: PortalLinks.prefix.utf8)
            && PortalSearchQueue.SearchRequest.isSearch(request.targetText)
    }

    /// Answers a search on another thread, since it may take long; nil if the reply comes later.
    func search(by searches: PortalSearchQueue, orDefer later: DeferredReply) throws(StoreError)
        -> Reply?
    {
        let verdict =
            exchange.needsAccessCheck
            ? Sharing.portal.verdict(for: exchange.requestContext, origin: request.origin, in: layout)
            : .given([])
        let lines: [UInt8]
        switch verdict {
        case .given(let own): lines = own
        case .refused: return Reply(answer: .refusal(to: exchange.requestContext))
        case .withheld: return Reply(answer: .withheld)
        }
        let layout = layout
        let slot = later.makeSlot()
        let isTaken = searches.add(PortalSearchQueue.SearchRequest(request.targetText, visitor)) { found in
            switch found {
            case .success(let answer): slot.send(Reply(answer: answer, clientFields: lines))
            case .failure(let error):
                slot.send(Reply(answer: .storeFailure(error, in: layout), clientFields: lines))
            }
        }
        if !isTaken { slot.send(Reply(answer: PortalSearchQueue.tooManyAnswer, clientFields: lines)) }
        return nil
    }

    /// The sender of the request as the portal's access rules see it.
    var visitor: PortalVisitor {
        PortalVisitor(
            fields, authority: request.authority, port: layout.port,
            client: layout.isExposed ? LoginClient(socket: request.socket) : nil)
    }

    /// Passes a command, or the request for live updates, to the portal.
    func runCommand(orDefer later: DeferredReply) throws(StoreError) -> Reply? {
        let answer =
            request.head.method == .other
            ? try exchange.responder.portal.handleCommand(
                request.targetText, type: fields["Content-Type"], body: Array(request.body), from: visitor,
                reader: try exchange.view().reader, slot: later.makeSlot)
            : exchange.responder.portal.streamJobEvents(for: visitor, slot: later.makeSlot)
        return answer.map { Reply(answer: $0) }
    }

    /// Takes over a long body; nil if it is not accepted here.
    func pass(_ upload: LongUpload) throws(StoreError) -> Reply? {
        guard !isTransparent, case .portal = try exchange.requestTarget() else { return nil }
        let head = request.head
        return exchange.responder.portal.handleLongUpload(
            upload, to: request.targetText, method: request.method, type: fields["Content-Type"],
            isChunked: head.body == .chunked, byteCount: Int64(head.bodyCount), from: visitor)
    }
}
