internal import CLinux
internal import Glibc
internal import System
internal import TLS
internal import Web

/// Parses the requests of the clients of one event loop, passes them to the responder, and queues the answers.
/// Only the loop's thread uses it.
///
/// The path of a request: `receive` reads from the socket, decrypts where the client uses TLS (`readTLS`), and
/// passes the bytes to `processRequests`, which parses heads and collects bodies. `respond` asks the responder.
/// The reply is queued at once, or, if the responder deferred it, by `deliver` when another thread has given it.
/// Functions that return false report that the connection is unusable; the loop then drops it.
final class RequestHandler {
    let limits: ServerLimits
    /// The time of the event loop's current turn, in milliseconds of `SystemClock.milliseconds()`. The loop sets it.
    var now: Int64
    /// Whether the server is stopping, so that each connection ends after its answer.
    var isStopping = false
    private let responder: any Responder
    private let mailbox: ReplyMailbox
    private let buffer: UnsafeMutableBufferPointer<UInt8>
    /// The buffer for decrypted bytes of TLS clients.
    private let clearBuffer: UnsafeMutableBufferPointer<UInt8>
    /// Whether CONNECT requests and absolute URLs are accepted.
    let isProxy: Bool
    private let uploads = UploadMemory()
    /// The `Date` line of the current second: formatting a date for each answer would cost more than sending it.
    private var dateLine: (second: Int64, bytes: [UInt8]) = (0, [])

    init(_ responder: any Responder, mailbox: ReplyMailbox, limits: ServerLimits, now: Int64) {
        self.responder = responder
        self.mailbox = mailbox
        self.limits = limits
        self.now = now
        isProxy = responder.isProxy
        buffer = .allocate(capacity: limits.maxBytesPerRead)
        clearBuffer = .allocate(capacity: limits.maxBytesPerRead)
    }

    deinit {
        buffer.deallocate()
        clearBuffer.deallocate()
    }

    /// Reads from the socket once, and answers the complete requests. Returns false if the connection is
    /// unusable.
    func receive(from client: ClientConnection) -> Bool {
        let count = recv(client.descriptor, buffer.baseAddress, buffer.count, 0)
        guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
        client.hasSent = true
        client.timer.addProgress(byteCount: count, now: now)
        let bytes = UnsafeBufferPointer(rebasing: buffer[..<count])
        guard let session = client.session else {
            return process(new: bytes, from: client) && beginTunnelTLS(client)
        }
        // Methods begin with a capital letter, and TLS records do not.
        if !session.hasReceivedBytes, client.tunnel == nil, let first = bytes.first,
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first)
        {
            answerPlainHTTP(client, bytes)
            return false
        }
        session.receive(bytes)
        return readTLS(client, session)
    }

    /// Answers a client that speaks plain http on a TLS port with a redirect to https, or with an error text.
    private func answerPlainHTTP(_ client: ClientConnection, _ bytes: UnsafeBufferPointer<UInt8>) {
        let text = "This port requires TLS: use https instead of http.\n"
        var answer = Answer.text(
            400, text, fields: [("Cache-Control", "no-store"), ("Connection", "close")])
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

    /// Continues after a reply or after room in the socket: answers the complete requests among the bytes that were
    /// received earlier. Returns false if the connection is unusable.
    func resume(_ client: ClientConnection) -> Bool {
        guard processReceived(from: client) else { return false }
        guard let session = client.session else { return beginTunnelTLS(client) }
        return readTLS(client, session)
    }

    /// Answers the requests that are complete with these bytes, and keeps the rest. Returns false if the
    /// connection is unusable.
    private func process(new bytes: UnsafeBufferPointer<UInt8>, from client: ClientConnection) -> Bool {
        guard client.received.isEmpty else {
            client.received.append(contentsOf: bytes)
            return processReceived(from: client)
        }
        guard let used = processRequests(in: bytes, from: client) else { return false }
        if used < bytes.count { client.received.append(contentsOf: bytes[used...]) }
        return true
    }

    private func processReceived(from client: ClientConnection) -> Bool {
        guard !client.received.isEmpty else { return true }
        let received = client.received
        guard let used = received.withUnsafeBufferPointer({ processRequests(in: $0, from: client) }) else {
            return false
        }
        client.received.removeFirst(min(used, client.received.count))
        return true
    }

    /// Sends the pending reply to its client. Returns false if the connection is unusable.
    func deliver(_ reply: Reply, to client: ClientConnection) -> Bool {
        guard let pendingRequest = client.pendingRequest else { return true }
        client.pendingRequest = nil
        client.disconnectFlag.setHandler(nil)
        if let takeover = reply.takeover {
            client.takeover = takeover
            return true
        }
        queueReply(reply, to: pendingRequest, client)
        return resume(client)
    }

    /// Queues an interim response before the pending reply.
    func deliverInterim(_ head: [UInt8], to client: ClientConnection) {
        if client.pendingRequest != nil { client.queueBytes(head) }
    }

    /// Queues an error answer, after which the connection ends.
    func refuse(_ client: ClientConnection, _ status: Int) {
        let answer = Answer.text(
            status, "\(StatusPhrase.of(status)).\n", fields: [("Cache-Control", "no-store")])
        client.isClosing = true
        (client.received, client.upload) = ([], nil)
        _ = client.queueAnswer(
            OutgoingResponse(answer, clientFields: connectionFields(answer, isClosing: true), withBody: true))
    }

    func discardInput(from client: ClientConnection) -> Bool {
        client.discardInput(using: buffer, limits)
    }

    /// Processes the requests in `bytes` until one is incomplete or has to wait. Returns the number of bytes
    /// processed; nil if the connection is unusable.
    private func processRequests(in bytes: UnsafeBufferPointer<UInt8>, from client: ClientConnection) -> Int?
    {
        var used = 0
        while used < bytes.count, !client.isBlocked, !client.isClosing, client.pendingRequest == nil,
            client.takeover == nil
        {
            if client.upload != nil {
                continueUpload(bytes, from: &used, client)
            } else if client.tunnel?.isUndecided == true {
                // The first byte in the tunnel shows whether the client speaks TLS there. If so, all bytes stay
                // unprocessed until `beginTunnelTLS` has started the session.
                guard bytes[used] != TLSSession.firstByte else { return used }
                client.tunnel?.isUndecided = false
            } else {
                let rest = UnsafeBufferPointer(rebasing: bytes[used...])
                guard canBeComplete(rest, client) else { return used }
                switch RequestHead.parse(rest, limits: limits, isForProxy: isProxy && client.tunnel == nil) {
                case .incomplete:
                    client.scannedCount = rest.count
                    return used
                case .refused(let status):
                    refuse(client, status)
                case .head(let head):
                    used += head.end
                    client.scannedCount = 0
                    if head.isConnect {
                        connect(Request(head: head, bytes: rest, socket: client.descriptor), client)
                    } else if head.body == .none {
                        let request = Request(
                            head: head, bytes: rest, tunnel: client.tunnel, socket: client.descriptor)
                        respond(to: request, client, isLast: used == bytes.count)
                    } else {
                        beginUpload(head, rest, client, isLast: used == bytes.count)
                    }
                }
            }
            if client.queue.itemCount >= limits.maxQueuedAnswers, !client.flush(now: now, limits) {
                return nil
            }
        }
        // Further requests on a connection that will be closed are ignored.
        return client.isClosing ? bytes.count : used
    }

    /// Whether the bytes may contain a complete head. Avoids parsing a head again for each byte that arrives.
    private func canBeComplete(_ bytes: UnsafeBufferPointer<UInt8>, _ client: ClientConnection) -> Bool {
        let searched = client.scannedCount
        guard searched > 0, bytes.count <= limits.maxHeadBytes else { return true }
        client.scannedCount = bytes.count
        return RequestHead.canContainEnd(bytes, after: searched)
    }

    /// Starts to receive a request body. If its declared length is above the limit for buffered bodies, passes it to the
    /// responder instead. A chunked body has no declared length; `continueUpload` notices when it becomes too long.
    private func beginUpload(
        _ head: RequestHead, _ bytes: UnsafeBufferPointer<UInt8>, _ client: ClientConnection, isLast: Bool
    ) {
        let reader = BodyReader(head.body, limits: limits)
        client.timer.restart(now: now)
        guard head.bodyCount <= limits.maxBufferedBodyBytes else {
            let request = Request(
                head: head, bytes: bytes, tunnel: client.tunnel, socket: client.descriptor)
            return answerLongUpload(LongUpload(reader: reader), of: request, client, isLast: isLast)
        }
        client.upload = ClientConnection.Upload(
            head: head, bytes: Array(bytes[..<head.end]), reader: reader,
            share: UploadMemory.Share(of: uploads)
        )
        // RFC 9110 §10.1.1: a client that has already begun to send the body needs no 100.
        if head.expectsContinue, isLast { client.queueBytes(Self.continueResponse) }
    }

    private static let continueResponse = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    /// Adds received bytes to a request body, and answers the request when the body is complete.
    private func continueUpload(
        _ bytes: UnsafeBufferPointer<UInt8>, from used: inout Int, _ client: ClientConnection
    ) {
        // Moved out of the client, so that its array grows without being copied.
        guard var upload = client.upload.take() else { return }
        switch upload.reader.read(bytes, from: &used, into: &upload.body) {
        case .incomplete:
            client.upload = upload
            if !upload.share.setByteCount(upload.body.count, limit: limits.maxBufferedUploadBytes) {
                refuse(client, 503)
            }
        case .refused(413) where limits.maxStreamedBodyBytes > 0:
            // A chunked body has no declared length. Only now it is known to be too long to be buffered, so the
            // bytes so far are put back into a chunk for the responder.
            var beginning: [UInt8] = []
            if !upload.body.isEmpty {
                beginning += "\(String(upload.body.count, radix: 16))\r\n".utf8
                beginning += upload.body
                beginning += "\r\n".utf8
            }
            beginning += upload.reader.continueRefusedChunk(maxBodyBytes: limits.maxStreamedBodyBytes)
            upload.bytes.withUnsafeBufferPointer { head in
                answerLongUpload(
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

    /// Lets the responder handle a body that is too long to be buffered. It usually takes over the connection
    /// and receives the body on a thread of its own.
    private func answerLongUpload(
        _ upload: LongUpload, of request: Request, _ client: ClientConnection, isLast: Bool
    ) {
        guard let reply = responder.answer(upload, of: request) else { return refuse(client, 413) }
        guard let takeover = reply.takeover else {
            client.isClosing = true
            client.received = []
            let own = reply.clientFields + connectionFields(reply.answer, isClosing: true)
            if !client.queueAnswer(OutgoingResponse(reply.answer, clientFields: own, withBody: true)) {
                refuse(client, 500)
            }
            return
        }
        if request.head.expectsContinue, isLast { client.queueBytes(Self.continueResponse) }
        client.takeover = takeover
    }

    /// Passes a complete request to the responder, and queues the reply unless it is deferred.
    private func respond(to request: Request, _ client: ClientConnection, isLast: Bool) {
        client.timer.restart(now: now)
        let later = DeferredReply(mailbox, token: client.token, client.disconnectFlag)
        guard let reply = builtInReply(to: request) ?? responder.respond(to: request, orDefer: later) else {
            client.pendingRequest = ClientConnection.PendingRequest(request)
            return
        }
        if let takeover = reply.takeover {
            client.takeover = takeover
            return
        }
        // The common case: the answer needs no additional header lines, and no further request was received with this
        // one. `sendImmediately` queues it if earlier answers are still unsent.
        if isLast, !isStopping, reply.clientFields.isEmpty, reply.coded == nil,
            request.head.canSendUnchanged, reply.answer.canSendUnchanged
        {
            client.sendImmediately(reply.answer, now: now)
        } else {
            queueReply(reply, to: ClientConnection.PendingRequest(request), client)
        }
    }

    /// The reply to OPTIONS requests for the whole server, and to CORS preflights that the responder decides;
    /// nil for all other requests.
    private func builtInReply(to request: Request) -> Reply? {
        guard !isProxy, request.head.method == .other, request.method == "OPTIONS" else { return nil }
        if request.target.count == 1, request.target[0] == UInt8(ascii: "*") {
            return Reply(answer: Answer(status: 204, fields: [("Allow", "GET, HEAD, OPTIONS")], body: []))
        }
        guard request.origin != nil, request.fields.contains("Access-Control-Request-Method") else {
            return nil
        }
        return responder.preflight(request)
    }

    /// Queues a reply in the form that the request needs: its ranges and preconditions are applied, and the
    /// header lines of the connection are added.
    private func queueReply(
        _ reply: Reply, to pending: ClientConnection.PendingRequest, _ client: ClientConnection
    ) {
        client.isClosing = !pending.head.isKeptAlive || isStopping
        var own = reply.clientFields + connectionFields(reply.answer, isClosing: client.isClosing)
        if pending.head.isHTTP10, !client.isClosing { own += "Connection: keep-alive\r\n".utf8 }
        let withBody = pending.head.method != .head
        let outgoing: OutgoingResponse
        if let fields = pending.fields {
            let date = HTTPDate(secondsSinceEpoch: SystemClock.secondsSinceEpoch())
            let selection = ResponseSelection(
                of: reply.answer, method: pending.method, fields: fields, now: date, as: reply.role)
            outgoing = OutgoingResponse(
                reply.answer, selection, clientFields: own, withBody: withBody,
                acceptsZstd: pending.head.acceptsZstd, coded: reply.coded,
                boundary: Self.makeBoundary())
        } else {
            outgoing = OutgoingResponse(
                reply.answer, .whole, clientFields: own, withBody: withBody,
                acceptsZstd: pending.head.acceptsZstd, coded: reply.coded,
                boundary: "")
        }
        if client.queueAnswer(outgoing) { return }
        refuse(client, 500)
    }

    /// The header lines that depend on the time and the connection.
    private func connectionFields(_ answer: Answer, isClosing: Bool) -> [UInt8] {
        (answer.hasDate ? [] : dateField()) + (isClosing ? Array("Connection: close\r\n".utf8) : [])
    }

    /// The `Date` line. RFC 9110 §6.6.1: a server with a clock must send it.
    private func dateField() -> [UInt8] {
        let second = SystemClock.secondsSinceEpoch()
        if dateLine.second != second {
            dateLine = (second, Array("Date: \(HTTPDate(secondsSinceEpoch: second).text)\r\n".utf8))
        }
        return dateLine.bytes
    }

    /// Returns a boundary for a multipart message. It is random, so that the author of the body cannot predict it.
    private static func makeBoundary() -> String {
        String(UInt64.random(in: 0 ... .max), radix: 36) + String(UInt64.random(in: 0 ... .max), radix: 36)
    }
}

// MARK: - Tunnels

extension RequestHandler {
    /// Answers a CONNECT request: refuses it, answers further requests in the tunnel itself, or lets the
    /// responder relay all further bytes.
    private func connect(_ request: Request, _ client: ClientConnection) {
        client.timer.restart(now: now)
        switch responder.connect(request) {
        case .refuse(let reply): queueReply(reply, to: ClientConnection.PendingRequest(request), client)
        case .intercept(let tunnel):
            client.queueBytes(Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8))
            client.tunnel = tunnel
        case .relay(let takeover): client.takeover = takeover
        }
    }

    /// Starts the TLS handshake if the client has begun to speak TLS in its tunnel. Returns false if the
    /// connection is unusable.
    private func beginTunnelTLS(_ client: ClientConnection) -> Bool {
        guard let tunnel = client.tunnel, tunnel.isUndecided, let first = client.received.first,
            first == TLSSession.firstByte
        else { return true }
        do throws(TLSError) { try client.secure(tunnel) } catch { return false }
        client.tunnel?.isUndecided = false
        guard let session = client.session else { return false }
        client.received.withUnsafeBufferPointer(session.receive)
        client.received = []
        return readTLS(client, session)
    }

    /// Sends the queued bytes of a connection that ends. Returns whether the connection must stay open for a rest, which the
    /// socket did not accept yet.
    private func sendRest(to client: ClientConnection) -> Bool {
        client.flush(now: now, limits) && client.isBlocked
    }

    /// Decrypts the received bytes of a TLS client and answers the complete requests. Returns false if the
    /// connection is unusable.
    private func readTLS(_ client: ClientConnection, _ session: TLSSession) -> Bool {
        if !session.isHandshakeComplete {
            // The answer to CONNECT must be sent before the handshake.
            guard client.queue.isEmpty || client.flush(now: now, limits) else { return false }
            switch session.continueHandshake() {
            case .done: break
            case .needsInput: return true
            case .needsOutput:
                client.markBlocked()
                return true
            case .failed: return false
            }
        }
        if client.tunnel?.isSecure == false {
            client.tunnel?.isSecure = true
            client.tunnel?.serverName = session.serverName
        }
        while !client.isBlocked, !client.isClosing, client.pendingRequest == nil, client.takeover == nil {
            switch session.read(into: clearBuffer) {
            case .needsInput: return true
            case .ended: return !client.isIdle && sendRest(to: client)
            case .bytes(let count):
                let bytes = UnsafeBufferPointer(rebasing: clearBuffer[..<count])
                guard process(new: bytes, from: client) else { return false }
            }
        }
        return true
    }
}

// MARK: - Streams

extension RequestHandler {
    /// Queues the head of a streamed response.
    ///
    /// - Parameter closes: whether the connection ends with the stream; `head` then already says so.
    func startStream(_ stream: ReplyStream, _ head: [UInt8], closes: Bool, to client: ClientConnection) {
        guard let pendingRequest = client.pendingRequest else { return stream.didDisconnect() }
        client.stream = stream
        client.closesAfterStream = closes || !pendingRequest.head.isKeptAlive
        var lines = head
        if client.closesAfterStream, !closes { lines += "Connection: close\r\n".utf8 }
        if pendingRequest.head.isHTTP10, !client.closesAfterStream {
            lines += "Connection: keep-alive\r\n".utf8
        }
        client.queueBytes(lines + [0x0d, 0x0a])
    }

    /// Queues a part of a streamed body, and reports to the stream how much is unsent.
    ///
    /// - Parameter byteCount: the size of the part without its chunk framing, as the stream counts it.
    func deliverPart(_ part: [UInt8], _ byteCount: Int, to client: ClientConnection) {
        guard let stream = client.stream else { return }
        stream.didDequeue(byteCount)
        client.queueBytes(part)
        stream.setQueuedBytes(client.queue.byteCount)
    }

    /// Ends a streamed response. If it was cut off, the connection is closed, so that the client does not
    /// mistake it for a complete one. Returns false if the connection is unusable.
    func endStream(_ last: [UInt8], isWhole: Bool, to client: ClientConnection) -> Bool {
        guard client.stream != nil else { return true }
        client.stream = nil
        client.pendingRequest = nil
        guard isWhole else {
            client.isTruncated = true
            return sendRest(to: client)
        }
        client.queueBytes(last)
        client.isClosing = client.closesAfterStream || isStopping
        return client.isClosing || resume(client)
    }
}

/// Counts the memory that incomplete request bodies use in one event loop. Only the loop's thread uses it.
final class UploadMemory {
    private var byteCount = 0

    /// The memory of one body. It is subtracted from the sum when the share is released.
    final class Share {
        private let memory: UploadMemory
        private var byteCount = 0

        init(of memory: UploadMemory) { self.memory = memory }

        deinit { memory.byteCount -= byteCount }

        /// Sets the size of this body. Returns false if the sum of all bodies is above the limit.
        func setByteCount(_ byteCount: Int, limit: Int) -> Bool {
            memory.byteCount += byteCount - self.byteCount
            self.byteCount = byteCount
            return memory.byteCount <= limit
        }
    }
}
