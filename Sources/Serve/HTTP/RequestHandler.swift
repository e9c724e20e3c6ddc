internal import CLinux
internal import Glibc
internal import System
internal import Web

/// Takes requests out of what clients send, has them answered, and queues the answers: for one event loop.
final class RequestHandler {
    let limits: ServerLimits
    var now: Int64
    /// No client is kept any more.
    var isStopping = false
    private let responder: any Responder
    private let mailbox: ReplyMailbox
    private let buffer: UnsafeMutableBufferPointer<UInt8>
    private var dateLine: (second: Int64, bytes: [UInt8]) = (0, [])

    init(_ responder: any Responder, mailbox: ReplyMailbox, limits: ServerLimits, now: Int64) {
        self.responder = responder
        self.mailbox = mailbox
        self.limits = limits
        self.now = now
        buffer = .allocate(capacity: limits.readSize)
    }

    deinit {
        buffer.deallocate()
    }

    /// Reads once and answers what is complete. False when the connection is of no more use.
    func receive(from client: ClientConnection) -> Bool {
        let count = recv(client.descriptor, buffer.baseAddress, buffer.count, 0)
        guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
        client.patience.progressed(by: count, now: now)
        let bytes = UnsafeBufferPointer(rebasing: buffer[..<count])
        guard client.received.isEmpty else {
            client.received.append(contentsOf: bytes)
            return resume(client)
        }
        guard let used = take(bytes, from: client) else { return false }
        client.received.append(contentsOf: bytes[used...])
        return true
    }

    /// Answers what is complete of what was kept. False when the connection is of no more use.
    func resume(_ client: ClientConnection) -> Bool {
        guard !client.received.isEmpty else { return true }
        let received = client.received
        guard let used = received.withUnsafeBufferPointer({ take($0, from: client) }) else { return false }
        client.received.removeFirst(min(used, client.received.count))
        return true
    }

    /// The reply that a client waits for has come. False when the connection is of no more use.
    func deliver(_ reply: Reply, to client: ClientConnection) -> Bool {
        guard let awaited = client.awaited else { return true }
        client.awaited = nil
        queue(reply, to: awaited, client)
        return resume(client)
    }

    /// What comes before the reply that a client waits for. False when the connection is of no more use.
    func deliver(interim head: [UInt8], to client: ClientConnection) -> Bool {
        if client.awaited != nil { client.append(head) }
        return true
    }

    /// The connection cannot go on, and is told why.
    func refuse(_ client: ClientConnection, _ status: Int) {
        let answer = Answer.text(
            status, "\(StatusPhrase.of(status)).\n", fields: [("Cache-Control", "no-store")])
        client.isClosing = true
        (client.received, client.upload) = ([], nil)
        _ = client.append(Outgoing(answer, ownFields: ownFields(answer, isClosing: true), withBody: true))
    }

    func throwAway(from client: ClientConnection) -> Bool {
        client.discard(by: buffer, limits)
    }

    /// Takes the requests in `bytes`, and says how many bytes they took; nil when the connection is of no
    /// more use.
    private func take(_ bytes: UnsafeBufferPointer<UInt8>, from client: ClientConnection) -> Int? {
        var used = 0
        while used < bytes.count, !client.isBlocked, !client.isClosing, client.awaited == nil {
            if client.upload != nil {
                takeUpload(bytes, from: &used, client)
            } else {
                let rest = UnsafeBufferPointer(rebasing: bytes[used...])
                guard mayBeComplete(rest, client) else { return used }
                switch RequestHead.parse(rest, limits: limits) {
                case .incomplete:
                    client.searchedCount = rest.count
                    return used
                case .refused(let status):
                    refuse(client, status)
                case .head(let head):
                    used += head.end
                    client.searchedCount = 0
                    if head.body == .none {
                        respond(to: Request(head: head, bytes: rest), client, isLast: used == bytes.count)
                    } else {
                        begin(head, rest, client, isLast: used == bytes.count)
                    }
                }
            }
            if client.queue.itemCount >= limits.queuedAnswerCount, !client.flush(now: now, limits) {
                return nil
            }
        }
        return client.isClosing ? bytes.count : used
    }

    /// A head that comes byte by byte is not read anew for each.
    private func mayBeComplete(_ bytes: UnsafeBufferPointer<UInt8>, _ client: ClientConnection) -> Bool {
        let searched = client.searchedCount
        guard searched > 0, bytes.count <= limits.headByteCount else { return true }
        client.searchedCount = bytes.count
        return RequestHead.mayEnd(bytes, behind: searched)
    }

    private func begin(
        _ head: RequestHead, _ bytes: UnsafeBufferPointer<UInt8>, _ client: ClientConnection, isLast: Bool
    ) {
        client.upload = ClientConnection.Upload(
            head: head, bytes: Array(bytes[..<head.end]), reader: BodyReader(head.body, limits: limits))
        client.patience.restart(now: now)
        // RFC 9110 §10.1.1: whoever sends the body already need not be told to.
        if head.expectsContinue, isLast { client.append("HTTP/1.1 100 Continue\r\n\r\n") }
    }

    private func takeUpload(
        _ bytes: UnsafeBufferPointer<UInt8>, from used: inout Int, _ client: ClientConnection
    ) {
        // Taken out, so that its body grows in place.
        guard var upload = client.upload.take() else { return }
        switch upload.reader.read(bytes, from: &used, into: &upload.body) {
        case .incomplete: client.upload = upload
        case .refused(let status): refuse(client, status)
        case .complete:
            upload.bytes.withUnsafeBufferPointer { head in
                upload.body.withUnsafeBufferPointer { body in
                    let request = Request(head: upload.head, bytes: head, body: body)
                    respond(to: request, client, isLast: used == bytes.count)
                }
            }
        }
    }

    private func respond(to request: Request, _ client: ClientConnection, isLast: Bool) {
        client.patience.restart(now: now)
        let later = Later(mailbox, token: client.token)
        guard let reply = ownReply(to: request) ?? responder.respond(to: request, orLater: later) else {
            client.awaited = ClientConnection.Awaited(request)
            return
        }
        // By far the most: nothing is to be added, and nothing waits before it.
        if isLast, !isStopping, reply.ownFields.isEmpty, request.head.isPlain, reply.answer.isPlain {
            client.sendAtOnce(reply.answer, now: now)
        } else {
            queue(reply, to: ClientConnection.Awaited(request), client)
        }
    }

    /// What is not for the responder alone to decide: the server as a whole, and preflights.
    private func ownReply(to request: Request) -> Reply? {
        guard request.head.method == .other, request.method == "OPTIONS" else { return nil }
        if request.target.count == 1, request.target[0] == UInt8(ascii: "*") {
            return Reply(answer: Answer(status: 204, fields: [("Allow", "GET, HEAD, OPTIONS")], body: []))
        }
        guard request.origin != nil, request.fields.contains("Access-Control-Request-Method") else {
            return nil
        }
        return responder.preflight(request)
    }

    private func queue(_ reply: Reply, to asked: ClientConnection.Awaited, _ client: ClientConnection) {
        client.isClosing = !asked.head.isKeptAlive || isStopping
        var own = reply.ownFields + ownFields(reply.answer, isClosing: client.isClosing)
        if asked.head.isOld, !client.isClosing { own += "Connection: keep-alive\r\n".utf8 }
        let withBody = asked.head.method != .head
        let outgoing: Outgoing
        if let fields = asked.fields {
            let date = HTTPDate(secondsSinceEpoch: SystemClock.secondsSinceEpoch())
            let selection = Selection(
                of: reply.answer, method: asked.method, fields: fields, now: date, as: reply.role)
            outgoing = Outgoing(
                reply.answer, selection, ownFields: own, withBody: withBody, boundary: Self.boundary())
        } else {
            outgoing = Outgoing(reply.answer, ownFields: own, withBody: withBody)
        }
        if client.append(outgoing) { return }
        refuse(client, 500)
    }

    private func ownFields(_ answer: Answer, isClosing: Bool) -> [UInt8] {
        (answer.hasDate ? [] : date()) + (isClosing ? Array("Connection: close\r\n".utf8) : [])
    }

    /// RFC 9110 §6.6.1: who has a clock tells the time.
    private func date() -> [UInt8] {
        let second = SystemClock.secondsSinceEpoch()
        if dateLine.second != second {
            dateLine = (second, Array("Date: \(HTTPDate(secondsSinceEpoch: second).text)\r\n".utf8))
        }
        return dateLine.bytes
    }

    /// Drawn anew each time: whoever made the body cannot have known it.
    private static func boundary() -> String {
        String(UInt64.random(in: 0 ... .max), radix: 36) + String(UInt64.random(in: 0 ... .max), radix: 36)
    }
}
