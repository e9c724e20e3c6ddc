internal import CLinux
internal import Glibc
internal import System
internal import TLS
internal import Web

/// Parses the requests of the clients of one event loop, gets them answered, and queues the answers. Only the
/// loop's thread uses it.
final class RequestHandler {
    let limits: ServerLimits
    var now: Int64
    /// Whether the server is stopping, so that each connection ends after its answer.
    var isStopping = false
    private let responder: any Responder
    private let mailbox: ReplyMailbox
    private let buffer: UnsafeMutableBufferPointer<UInt8>
    /// The buffer for decrypted bytes of TLS clients.
    private let clearBuffer: UnsafeMutableBufferPointer<UInt8>
    let isProxy: Bool
    private let uploads = UploadRoom()
    private var dateLine: (second: Int64, bytes: [UInt8]) = (0, [])

    init(_ responder: any Responder, mailbox: ReplyMailbox, limits: ServerLimits, now: Int64) {
        self.responder = responder
        self.mailbox = mailbox
        self.limits = limits
        self.now = now
        isProxy = responder.isProxy
        buffer = .allocate(capacity: limits.readSize)
        clearBuffer = .allocate(capacity: limits.readSize)
    }

    deinit {
        buffer.deallocate()
        clearBuffer.deallocate()
    }

    /// Reads once, and answers the complete requests. Returns false if the connection is unusable.
    func receive(from client: ClientConnection) -> Bool {
        let count = recv(client.descriptor, buffer.baseAddress, buffer.count, 0)
        guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
        client.hasSent = true
        client.patience.progressed(by: count, now: now)
        let bytes = UnsafeBufferPointer(rebasing: buffer[..<count])
        guard let session = client.session else {
            return take(more: bytes, of: client) && mayBeginTunnel(client)
        }
        if !session.hasHeard, client.tunnel == nil, let first = bytes.first, (0x41...0x5a).contains(first) {
            tellOfTLS(client, bytes)
            return false
        }
        session.take(bytes)
        return readOn(client, session)
    }

    /// Answers a client that speaks plain http on a TLS port with a redirect to https, or with an error text.
    /// No TLS record begins with a letter.
    private func tellOfTLS(_ client: ClientConnection, _ bytes: UnsafeBufferPointer<UInt8>) {
        let words = "This port speaks TLS: ask for https in the place of http.\n"
        var answer = Answer.text(
            400, words, fields: [("Cache-Control", "no-store"), ("Connection", "close")])
        if case .head(let head) = RequestHead.parse(bytes, limits: limits), head.method != .other {
            let request = Request(head: head, bytes: bytes)
            if let url = WebURL("https://\(request.authority)"), !url.hasCredentials {
                answer = .redirect(
                    to: url.origin + request.targetText,
                    fields: [("Cache-Control", "no-store"), ("Connection", "close")], keepsMethod: true)
            }
        }
        _ = answer.bytes.withUnsafeBytes {
            send(client.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
        }
        shutdown(client.descriptor, Int32(SHUT_WR))
    }

    /// Answers the complete requests among the bytes received earlier. Returns false if the connection is
    /// unusable.
    func resume(_ client: ClientConnection) -> Bool {
        guard takeKept(of: client) else { return false }
        guard let session = client.session else { return mayBeginTunnel(client) }
        return readOn(client, session)
    }

    /// Answers the requests that are complete with these bytes, and keeps the rest. Returns false if the
    /// connection is unusable.
    private func take(more bytes: UnsafeBufferPointer<UInt8>, of client: ClientConnection) -> Bool {
        guard client.received.isEmpty else {
            client.received.append(contentsOf: bytes)
            return takeKept(of: client)
        }
        guard let used = take(bytes, from: client) else { return false }
        if used < bytes.count { client.received.append(contentsOf: bytes[used...]) }
        return true
    }

    private func takeKept(of client: ClientConnection) -> Bool {
        guard !client.received.isEmpty else { return true }
        let received = client.received
        guard let used = received.withUnsafeBufferPointer({ take($0, from: client) }) else { return false }
        client.received.removeFirst(min(used, client.received.count))
        return true
    }

    /// Sends the pending reply to its client. Returns false if the connection is unusable.
    func deliver(_ reply: Reply, to client: ClientConnection) -> Bool {
        guard let awaited = client.awaited else { return true }
        client.awaited = nil
        if let takeover = reply.takeover {
            client.takeover = takeover
            return true
        }
        queue(reply, to: awaited, client)
        return resume(client)
    }

    /// Sends an interim response before the pending reply. Returns false if the connection is unusable.
    func deliver(interim head: [UInt8], to client: ClientConnection) -> Bool {
        if client.awaited != nil { client.append(head) }
        return true
    }

    /// Queues an error answer, after which the connection ends.
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

    /// Processes the requests in `bytes`, and returns the number of bytes processed; nil if the connection is
    /// unusable.
    private func take(_ bytes: UnsafeBufferPointer<UInt8>, from client: ClientConnection) -> Int? {
        var used = 0
        while used < bytes.count, !client.isBlocked, !client.isClosing, client.awaited == nil,
            client.takeover == nil
        {
            if client.upload != nil {
                takeUpload(bytes, from: &used, client)
            } else if client.tunnel?.isUndecided == true {
                guard bytes[used] != TLSSession.firstByte else { return used }
                client.tunnel?.isUndecided = false
            } else {
                let rest = UnsafeBufferPointer(rebasing: bytes[used...])
                guard mayBeComplete(rest, client) else { return used }
                switch RequestHead.parse(rest, limits: limits, isForProxy: isProxy && client.tunnel == nil) {
                case .incomplete:
                    client.searchedCount = rest.count
                    return used
                case .refused(let status):
                    refuse(client, status)
                case .head(let head):
                    used += head.end
                    client.searchedCount = 0
                    if head.isConnect {
                        connect(Request(head: head, bytes: rest, socket: client.descriptor), client)
                    } else if head.body == .none {
                        let request = Request(
                            head: head, bytes: rest, tunnel: client.tunnel, socket: client.descriptor)
                        respond(to: request, client, isLast: used == bytes.count)
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

    /// Whether the bytes may contain a complete head. Avoids parsing a head again for each byte that arrives.
    private func mayBeComplete(_ bytes: UnsafeBufferPointer<UInt8>, _ client: ClientConnection) -> Bool {
        let searched = client.searchedCount
        guard searched > 0, bytes.count <= limits.headByteCount else { return true }
        client.searchedCount = bytes.count
        return RequestHead.mayEnd(bytes, behind: searched)
    }

    private func begin(
        _ head: RequestHead, _ bytes: UnsafeBufferPointer<UInt8>, _ client: ClientConnection, isLast: Bool
    ) {
        let reader = BodyReader(head.body, limits: limits)
        client.patience.restart(now: now)
        guard head.bodyCount <= limits.bodyByteCount else {
            let request = Request(
                head: head, bytes: bytes, tunnel: client.tunnel, socket: client.descriptor)
            return pass(LongUpload(reader: reader), of: request, client, isLast: isLast)
        }
        client.upload = ClientConnection.Upload(
            head: head, bytes: Array(bytes[..<head.end]), reader: reader, share: UploadRoom.Share(of: uploads)
        )
        // RFC 9110 §10.1.1: a client that has already begun to send the body needs no 100.
        if head.expectsContinue, isLast { client.append("HTTP/1.1 100 Continue\r\n\r\n") }
    }

    private func takeUpload(
        _ bytes: UnsafeBufferPointer<UInt8>, from used: inout Int, _ client: ClientConnection
    ) {
        // Moved out of the client, so that its array grows without being copied.
        guard var upload = client.upload.take() else { return }
        switch upload.reader.read(bytes, from: &used, into: &upload.body) {
        case .incomplete:
            client.upload = upload
            if !upload.share.grow(to: upload.body.count, limits.uploadsByteCount) { refuse(client, 503) }
        case .refused(413) where limits.passedByteCount > 0:
            var beginning: [UInt8] = []
            if !upload.body.isEmpty {
                beginning += "\(String(upload.body.count, radix: 16))\r\n".utf8
                beginning += upload.body
                beginning += "\r\n".utf8
            }
            beginning += upload.reader.continueReading(upTo: limits.passedByteCount)
            upload.bytes.withUnsafeBufferPointer { head in
                pass(
                    LongUpload(reader: upload.reader, beginning: beginning),
                    of: Request(
                        head: upload.head, bytes: head, tunnel: client.tunnel, socket: client.descriptor),
                    client, isLast: false)
            }
        case .refused(let status): refuse(client, status)
        case .complete:
            upload.bytes.withUnsafeBufferPointer { head in
                upload.body.withUnsafeBufferPointer { body in
                    let request = Request(
                        head: upload.head, bytes: head, body: body, tunnel: client.tunnel,
                        socket: client.descriptor)
                    respond(to: request, client, isLast: used == bytes.count)
                }
            }
        }
    }

    /// Lets the responder handle a body that is too long to be buffered: it usually takes the client over.
    private func pass(_ upload: LongUpload, of request: Request, _ client: ClientConnection, isLast: Bool) {
        guard let reply = responder.pass(upload, of: request) else { return refuse(client, 413) }
        guard let takeover = reply.takeover else {
            client.isClosing = true
            client.received = []
            let own = reply.ownFields + ownFields(reply.answer, isClosing: true)
            if !client.append(Outgoing(reply.answer, ownFields: own, withBody: true)) { refuse(client, 500) }
            return
        }
        if request.head.expectsContinue, isLast { client.append("HTTP/1.1 100 Continue\r\n\r\n") }
        client.takeover = takeover
    }

    private func respond(to request: Request, _ client: ClientConnection, isLast: Bool) {
        client.patience.restart(now: now)
        let later = Later(mailbox, token: client.token, client.departure)
        guard let reply = ownReply(to: request) ?? responder.respond(to: request, orLater: later) else {
            client.awaited = ClientConnection.Awaited(request)
            return
        }
        if let takeover = reply.takeover {
            client.takeover = takeover
            return
        }
        // The common case: nothing to add, and nothing queued before it.
        if isLast, !isStopping, reply.ownFields.isEmpty, request.head.isPlain, reply.answer.isPlain {
            client.sendAtOnce(reply.answer, now: now)
        } else {
            queue(reply, to: ClientConnection.Awaited(request), client)
        }
    }

    /// The reply to OPTIONS requests for the whole server, and to CORS preflights; nil for all other
    /// requests.
    private func ownReply(to request: Request) -> Reply? {
        guard !isProxy, request.head.method == .other, request.method == "OPTIONS" else { return nil }
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
                reply.answer, selection, ownFields: own, withBody: withBody, takesZstd: asked.head.takesZstd,
                boundary: Self.boundary())
        } else {
            outgoing = Outgoing(
                reply.answer, .whole, ownFields: own, withBody: withBody, takesZstd: asked.head.takesZstd,
                boundary: "")
        }
        if client.append(outgoing) { return }
        refuse(client, 500)
    }

    private func ownFields(_ answer: Answer, isClosing: Bool) -> [UInt8] {
        (answer.hasDate ? [] : date()) + (isClosing ? Array("Connection: close\r\n".utf8) : [])
    }

    /// The `Date` line. RFC 9110 §6.6.1: a server with a clock must send it.
    private func date() -> [UInt8] {
        let second = SystemClock.secondsSinceEpoch()
        if dateLine.second != second {
            dateLine = (second, Array("Date: \(HTTPDate(secondsSinceEpoch: second).text)\r\n".utf8))
        }
        return dateLine.bytes
    }

    /// A boundary between parts. It is random, so that the author of the body cannot predict it.
    private static func boundary() -> String {
        String(UInt64.random(in: 0 ... .max), radix: 36) + String(UInt64.random(in: 0 ... .max), radix: 36)
    }
}

// MARK: - Tunnels

extension RequestHandler {
    /// Answers a CONNECT request.
    private func connect(_ request: Request, _ client: ClientConnection) {
        client.patience.restart(now: now)
        switch responder.connect(request) {
        case .refused(let reply): queue(reply, to: ClientConnection.Awaited(request), client)
        case .answered(let tunnel):
            client.append("HTTP/1.1 200 Connection established\r\n\r\n")
            client.tunnel = tunnel
        case .passed(let takeover): client.takeover = takeover
        }
    }

    /// Starts the TLS handshake if the client has begun to speak TLS in its tunnel. Returns false if the
    /// connection is unusable.
    private func mayBeginTunnel(_ client: ClientConnection) -> Bool {
        guard let tunnel = client.tunnel, tunnel.isUndecided, let first = client.received.first,
            first == TLSSession.firstByte
        else { return true }
        do throws(TLSError) { try client.secure(tunnel) } catch { return false }
        client.tunnel?.isUndecided = false
        guard let session = client.session else { return false }
        client.received.withUnsafeBufferPointer(session.take)
        client.received = []
        return readOn(client, session)
    }

    /// Decrypts the received bytes of a TLS client and answers the complete requests. Returns false if the
    /// connection is unusable.
    private func readOn(_ client: ClientConnection, _ session: TLSSession) -> Bool {
        if !session.hasShakenHands {
            // The answer to CONNECT must be sent before the handshake.
            guard client.queue.isEmpty || client.flush(now: now, limits) else { return false }
            switch session.shakeHands() {
            case .done: break
            case .wantsMore: return true
            case .wantsRoom:
                client.waitForRoom()
                return true
            case .failed: return false
            }
        }
        if client.tunnel?.isSecure == false {
            client.tunnel?.isSecure = true
            client.tunnel?.serverName = session.serverName
        }
        while !client.isBlocked, !client.isClosing, client.awaited == nil, client.takeover == nil {
            switch session.read(into: clearBuffer) {
            case .nothing: return true
            case .ended: return !client.isIdle && client.flush(now: now, limits) && client.isBlocked
            case .bytes(let count):
                let bytes = UnsafeBufferPointer(rebasing: clearBuffer[..<count])
                guard take(more: bytes, of: client) else { return false }
            }
        }
        return true
    }
}

// MARK: - Streams

extension RequestHandler {
    /// Sends the head of a streamed response. This and the next two functions return false if the connection
    /// is unusable.
    func start(_ stream: ReplyStream, _ head: [UInt8], closes: Bool, to client: ClientConnection) -> Bool {
        guard let awaited = client.awaited else {
            stream.leave()
            return true
        }
        client.stream = stream
        client.endsWithStream = closes || !awaited.head.isKeptAlive
        var lines = head
        if client.endsWithStream, !closes { lines += "Connection: close\r\n".utf8 }
        if awaited.head.isOld, !client.endsWithStream { lines += "Connection: keep-alive\r\n".utf8 }
        client.append(lines + [0x0d, 0x0a])
        return true
    }

    func deliver(part: [UInt8], _ byteCount: Int, to client: ClientConnection) -> Bool {
        guard let stream = client.stream else { return true }
        stream.taken(byteCount)
        client.append(part)
        stream.queued(client.queue.byteCount)
        return true
    }

    /// Ends a streamed response. If it was cut off, the connection is closed, so that the client does not
    /// mistake it for a complete one.
    func end(_ last: [UInt8], isWhole: Bool, to client: ClientConnection) -> Bool {
        guard client.stream != nil else { return true }
        client.stream = nil
        client.awaited = nil
        guard isWhole else {
            client.isCut = true
            return client.flush(now: now, limits) && client.isBlocked
        }
        client.append(last)
        client.isClosing = client.endsWithStream || isStopping
        return client.isClosing || resume(client)
    }
}

/// Counts the memory that incomplete request bodies use in one event loop.
final class UploadRoom {
    private var byteCount = 0

    /// The memory of one body, which is given back when the share is released.
    final class Share {
        private let room: UploadRoom
        private var byteCount = 0

        init(of room: UploadRoom) { self.room = room }

        deinit { room.byteCount -= byteCount }

        /// Sets the size of this body. Returns false if the sum of all bodies is above the limit.
        func grow(to byteCount: Int, _ limit: Int) -> Bool {
            room.byteCount += byteCount - self.byteCount
            self.byteCount = byteCount
            return room.byteCount <= limit
        }
    }
}
