internal import CCurl
internal import Codings
internal import Glibc
internal import Web

/// The callbacks of libcurl. A data callback returns the number of bytes that it took, or
/// `CURL_WRITEFUNC_PAUSE`. Any other number stops the transfer.
extension Transfer {
    func setCallbacks(_ me: UnsafeMutableRawPointer) throws(FetchFailure) {
        for option in [CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_OPENSOCKETDATA, CURLOPT_PREREQDATA] {
            try larder_curl_set_pointer(handle, option, me).check()
        }
        let codes = [
            larder_curl_on_data(handle, CURLOPT_WRITEFUNCTION) { data, size, count, context in
                Transfer.receive(data, size * count, context) { transfer, bytes in
                    transfer.takeOrPause() ? transfer.didReceive(body: bytes) : nil
                }
            },
            larder_curl_on_data(handle, CURLOPT_HEADERFUNCTION) { data, size, count, context in
                Transfer.receive(data, size * count, context) { transfer, bytes in
                    transfer.didReceive(headerLine: bytes)
                }
            },
            larder_curl_on_open_socket(handle) { context, _, address in
                guard let context, let address else { return CURL_SOCKET_BAD }
                return Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue().openSocket(to: address)
            },
            larder_curl_on_request(handle) { context, peer, _, _, _ in
                guard let context else { return CURL_PREREQFUNC_ABORT }
                let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
                return transfer.canSend(to: peer) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
            },
        ]
        for code in codes { try code.check() }
    }

    /// Sets the callback for the output of `CURLOPT_VERBOSE`. Only there does libcurl show whether it added
    /// cookies or a login to a request, and whether a response had bytes beyond its length.
    func watchVerboseOutput(_ me: UnsafeMutableRawPointer) throws(FetchFailure) {
        try larder_curl_set_pointer(handle, CURLOPT_DEBUGDATA, me).check()
        try larder_curl_on_debug(handle) { _, kind, data, size, context in
            guard let context else { return 0 }
            let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
            let bytes = UnsafeRawBufferPointer(start: data, count: size)
            switch kind {
            case CURLINFO_DATA_OUT:
                // Without a request body this is the rest of a header that was too long for one write. It is
                // not searched, and counts as containing credentials.
                if transfer.request?.body == nil { transfer.usesCredentials = true }
            case CURLINFO_HEADER_OUT:
                if Transfer.hasCredentialFields(bytes) { transfer.usesCredentials = true }
            case CURLINFO_TEXT: transfer.readExcessMessage(bytes)
            default: break
            }
            return 0
        }.check()
    }

    /// Reads libcurl's message about bytes beyond the declared length, which it drops.
    private func readExcessMessage(_ text: UnsafeRawBufferPointer) {
        guard text.starts(with: "Excess found".utf8),
            let count = String(decoding: text, as: UTF8.self).split(separator: "excess = ").last.flatMap({
                Int($0.prefix { $0.isNumber })
            })
        else { return }
        didReadExcessBytes(count)
    }

    private func didReadExcessBytes(_ count: Int) {
        if count > Self.maxEmptyLineBytes { hasExcessBytes = true }
    }

    /// The number of bytes beyond the length that are ignored: some servers end a response with an empty line
    /// that its length does not count.
    private static let maxEmptyLineBytes = 2

    /// Looks in the socket for bytes beyond the length. Call it when the transfer is done and libcurl still
    /// has the connection. With TLS, these bytes could not be told from TLS records, so it looks only for
    /// plain http.
    func checkForExcessBytes() {
        guard detectsExcessBytes, request?.url.scheme == "http" else { return }
        var socket = CURL_SOCKET_BAD
        guard larder_curl_get_socket(handle, CURLINFO_ACTIVESOCKET, &socket) == CURLE_OK,
            socket != CURL_SOCKET_BAD
        else { return }
        let nextResponse = "HTTP/1."
        var bytes = [UInt8](repeating: 0, count: nextResponse.utf8.count)
        let count = recv(socket, &bytes, bytes.count, Int32(MSG_PEEK | MSG_DONTWAIT))
        // These bytes may be the response to the next request.
        guard count > 0, !bytes.prefix(count).elementsEqual(nextResponse.utf8.prefix(count)) else { return }
        didReadExcessBytes(count)
    }

    /// Makes libcurl report bytes beyond the length of an HTTP/1 response.
    private func detectExcessBytes() {
        guard status == 200, contentLength >= 0, request?.method == "GET",
            version == .http11 || version == .http10
        else { return }
        detectsExcessBytes = larder_curl_set_long(handle, CURLOPT_VERBOSE, 1) == CURLE_OK
    }

    /// Whether a request header has a `Cookie` or `Authorization` field.
    private static func hasCredentialFields(_ header: UnsafeRawBufferPointer) -> Bool {
        header.split(separator: 0x0A).contains { line in
            ["cookie:", "authorization:"].contains { name in
                line.prefix(name.utf8.count).elementsEqual(name.utf8) { $0 | 0x20 == $1 | 0x20 }
            }
        }
    }

    /// Passes the bytes of a data callback to `take`, which returns nil to pause the transfer and false to
    /// stop it.
    private static func receive(
        _ data: UnsafeMutablePointer<CChar>?, _ count: Int, _ context: UnsafeMutableRawPointer?,
        _ take: (Transfer, UnsafeRawBufferPointer) -> Bool?
    ) -> Int {
        guard let context else { return 0 }
        let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
        guard let isTaken = take(transfer, UnsafeRawBufferPointer(start: data, count: count)) else {
            return Int(CURL_WRITEFUNC_PAUSE)
        }
        return isTaken ? count : 0
    }

    // MARK: - The network guard

    /// Opens the socket of a new connection, if the network guard allows its address.
    private func openSocket(to address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        if let networkGuard {
            guard let target = IPAddress(larder_curl_address(address)) else { return CURL_SOCKET_BAD }
            guardRefusal = networkGuard.refusal(of: target)
            if guardRefusal != nil { return CURL_SOCKET_BAD }
        }
        hasSocket = true
        let type = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
        return socket(address.pointee.family, type, address.pointee.protocol)
    }

    /// Whether the request may be sent over its connection. Another request may have opened it to an address
    /// that this one may not connect to.
    ///
    /// This check makes the guard hold for reused connections, for which no socket is opened.
    private func canSend(to peer: UnsafePointer<CChar>?) -> Bool {
        isSent = true
        self.peer = peer.flatMap { IPAddress(numeric: $0) }
        guard let networkGuard else { return true }
        let refusal =
            self.peer.map { networkGuard.refusal(of: $0) } ?? "the address of the connection is unknown"
        guard let refusal else { return true }
        stopReason = FetchFailure(.refused, refusal)
        return false
    }

    // MARK: - The response

    private func didReceive(headerLine line: UnsafeRawBufferPointer) -> Bool {
        switch head.append(line, maxBytes: options.maxHeaderBytes) {
        case .needsMore:
            return true
        case .limitExceeded:
            stopReason = FetchFailure(.tooLarge, "the headers are over \(options.maxHeaderBytes) bytes")
            return false
        case .complete:
            do throws(FetchFailure) {
                try didCompleteHeader()
                return true
            } catch {
                stopReason = error
                return false
            }
        }
    }

    /// Decides what happens with the body, once the header is complete: whether it continues the stored part,
    /// how it is decoded, and who receives it. Throws if the body is not acceptable.
    private func didCompleteHeader() throws(FetchFailure) {
        guard larder_curl_get_long(handle, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK else { return }
        guard status >= 200 else {
            // 100 and 101 concern only the connection.
            if status > 101 { request?.interim?(Int(status), head.fields) }
            return
        }
        var fields = head.fields
        try continueResumedPart(&fields)
        try acceptWholePart(&fields)
        // RFC 9112, section 6.3: with two lengths, the end of the body is unknown.
        let lengths = fields.elements("Content-Length")
        guard lengths.count < 2 || Set(lengths).count < 2 else {
            throw FetchFailure(
                .invalidResponse,
                "the response has two lengths: \(fields.joinedValues("Content-Length") ?? "")")
        }
        let keepsCoding =
            request?.keepsCoding ?? false
            || !ContentCoding.canDecode(fields, forClientAccepting: request?.codings)
        decoder = keepsCoding ? nil : try FetchFailure.decoder(of: fields, offeredDictionary)
        self.fields = fields
        detectExcessBytes()
        let length = resumedTotalBytes ?? contentLength
        if let request, let stream = request.stream, request.method != "HEAD" {
            let byteCount = decoder == nil && length >= 0 ? length : nil
            hasKnownEnd = length >= 0
            isStreamed = stream.begin(
                status: status, fields: fields, isCoded: decoder == nil && fields.isCoded,
                byteCount: byteCount)
        }
        guard
            length <= options.maxBodyBytes || isStreamed || request?.method == "HEAD"
                || request?.maxBytes != nil
        else { throw bodyTooLarge }
        if isStreamed, length > options.maxBodyBytes { storageFailure = bodyTooLargeToStore }
        if status == 200, !isStreamed, request?.method != "HEAD" {
            unboundedBody = try UnboundedBody(fields, length: length >= 0 ? length : nil)
        }
        if let receiver = setup.receiver, let request {
            isBodyWanted = receiver.begin(request.number, status: status, fields: fields)
            return
        }
        // If the length is declared, one allocation is enough. It is limited to the size that stays in memory
        // anyway.
        if length > 0, resumedTotalBytes == nil, decoder == nil {
            sink.reserve(min(length, options.spoolThreshold, request?.maxBytes ?? .max))
        }
    }

    /// If the rest of a stored part was requested, continues the part, or discards it if the response is a whole body.
    /// The fields and the status then become those of the whole body.
    private func continueResumedPart(_ fields: inout HTTPFields) throws(FetchFailure) {
        if let resumedPart {
            switch resumedPart.classify(status: status, fields: fields) {
            case .rest(let whole):
                sink = try BodySink(continuing: resumedPart)
                self.resumedPart = nil
                resumedTotalBytes = whole.contentLength
                fields = whole
                status = 200
            case .wholeBody:
                resumedPart.discard()
                self.resumedPart = nil
            case .mismatch(let why):
                throw FetchFailure(.mismatch, why)
            case .unrelated:
                break
            }
        }
    }

    /// Accepts a 206 in place of a 200 if the part is the whole body. Throws for any other part that was not requested.
    private func acceptWholePart(_ fields: inout HTTPFields) throws(FetchFailure) {
        if status == 206, sink.byteCount == 0, request?.fields.contains("Range") == false {
            // Some servers answer a request for the whole body with a part that has all of it.
            guard resumedTotalBytes == nil,
                fields["Content-Range"].flatMap({ ContentRange($0) })?.isWhole == true
            else {
                throw FetchFailure(
                    .invalidResponse, "the server sent a part, although the whole was requested")
            }
            fields.remove("Content-Range")
            status = 200
        }
    }

    func didReceive(body bytes: UnsafeRawBufferPointer) -> Bool {
        do throws(FetchFailure) {
            guard let decoder else {
                try deliver(bytes)
                return true
            }
            try decoder.decode(bytes) { content throws(FetchFailure) in
                try deliver(content)
                let (decodedCount, codedCount) = (sink.byteCount, decoder.encodedByteCount)
                let isExceeded = options.expansion.isExceeded(
                    byteCount: decodedCount, encodedByteCount: codedCount,
                    dictionaryByteCount: decoder.dictionaryByteCount)
                guard isExceeded else { return }
                throw FetchFailure(
                    .tooLarge,
                    "the decoded body is over \(options.expansion.factor) times the size of the encoded one")
            } wrapping: {
                FetchFailure($0)
            }
            return true
        } catch {
            if !isCut { stopReason = error }
            return false
        }
    }

    /// Delivers decoded bytes up to `FetchRequest.maxBytes`, and throws to end the transfer there.
    private func deliver(_ bytes: UnsafeRawBufferPointer) throws(FetchFailure) {
        guard let maxBytes = request?.maxBytes, bytes.count > maxBytes - sink.byteCount else {
            return try store(bytes)
        }
        try store(UnsafeRawBufferPointer(rebasing: bytes.prefix(max(0, maxBytes - sink.byteCount))))
        isCut = true
        throw FetchFailure(.tooLarge, "the rest of the body is not needed")
    }

    /// Passes decoded bytes to the request's stream, and stores them or passes them to the loop's receiver. If
    /// a streamed body turns out to be too large, or the disk to be full, only storing stops.
    private func store(_ bytes: UnsafeRawBufferPointer) throws(FetchFailure) {
        if isStreamed { request?.stream?.take(bytes) }
        if isStreamed, storageFailure == nil, sink.byteCount + bytes.count > options.maxBodyBytes {
            sink = BodySink()
            storageFailure = bodyTooLargeToStore
        }
        if storageFailure != nil { return sink.countUnstored(bytes.count) }
        guard sink.byteCount + bytes.count <= options.maxBodyBytes else { throw bodyTooLarge }
        if let receiver = setup.receiver {
            guard pass(bytes, to: receiver) else {
                throw FetchFailure(.tooLarge, "the rest of it is not needed")
            }
        } else {
            let length = contentLength
            let whole = resumedTotalBytes ?? (decoder == nil && length >= 0 ? length : nil)
            do throws(FetchFailure) {
                try sink.take(bytes, of: whole, options)
                if options.describesParts, sink.needsDescription, let request,
                    let fields = resumedPart?.fields ?? fieldsForResuming
                {
                    sink.describe(request.url.href, fields)
                }
            } catch  where isStreamed {
                // The stream can still receive the whole body. Only storing it failed.
                sink = BodySink()
                storageFailure = error
                return sink.countUnstored(bytes.count)
            }
        }
        if let resumedTotalBytes, sink.byteCount > resumedTotalBytes {
            throw FetchFailure(.mismatch, "more than the rest was sent")
        }
    }

    private func pass(_ bytes: UnsafeRawBufferPointer, to receiver: any BodyReceiver) -> Bool {
        sink.countUnstored(bytes.count)
        guard isBodyWanted, let request else { return true }
        return receiver.take(request.number, Span(_unsafeElements: bytes.assumingMemoryBound(to: UInt8.self)))
    }

    private var bodyTooLarge: FetchFailure {
        FetchFailure(.tooLarge, "the body is over \(options.maxBodyBytes) bytes")
    }

    private var bodyTooLargeToStore: FetchFailure {
        FetchFailure(.tooLarge, "the body is over \(options.maxBodyBytes) bytes, and is not stored")
    }
}

/// Collects the header of a response from the lines that libcurl passes on.
///
/// A status line starts a new block of fields, and an empty line completes it. Lines after that, up to the
/// next status line, are trailers, which are counted but ignored.
struct HeadReader {
    /// The effect of a line.
    enum Step {
        /// The header is not complete yet, or the line is a trailer.
        case needsMore
        /// The line was the empty one that completes a header.
        case complete
        /// The lines together exceed the limit.
        case limitExceeded
    }

    private var block: [UInt8] = []
    /// Whether an empty line has completed the header. Lines after it belong to the next response or are
    /// trailers.
    private(set) var isComplete = false
    /// The size of all lines so far, with those of interim responses and of trailers.
    private(set) var byteCount = 0

    var fields: HTTPFields { HTTPFields(block: block.span, isReceived: true) }

    /// Adds a line, with its line break.
    mutating func append(_ line: UnsafeRawBufferPointer, maxBytes: Int) -> Step {
        byteCount += line.count
        guard byteCount <= maxBytes else { return .limitExceeded }
        // A status line starts a new block. This drops the fields of interim responses (100, 103).
        if line.starts(with: "HTTP/".utf8) {
            block.removeAll(keepingCapacity: true)
            isComplete = false
        }
        // RFC 9110, 6.5.1: trailers may not be merged into the header unless their definition allows it.
        if isComplete { return .needsMore }
        block.append(contentsOf: line)
        guard line.count <= 2, line.elementsEqual("\r\n".utf8) || line.elementsEqual("\n".utf8) else {
            return .needsMore
        }
        isComplete = true
        return .complete
    }

    mutating func removeAll() {
        block.removeAll(keepingCapacity: true)
        isComplete = false
        byteCount = 0
    }
}
