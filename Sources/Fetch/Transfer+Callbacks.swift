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
                    transfer.mayTake() ? transfer.take(body: bytes) : nil
                }
            },
            larder_curl_on_data(handle, CURLOPT_HEADERFUNCTION) { data, size, count, context in
                Transfer.receive(data, size * count, context) { transfer, bytes in
                    transfer.take(header: bytes)
                }
            },
            larder_curl_on_open_socket(handle) { context, _, address in
                guard let context, let address else { return CURL_SOCKET_BAD }
                return Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue().open(address)
            },
            larder_curl_on_request(handle) { context, peer, _, _, _ in
                guard let context else { return CURL_PREREQFUNC_ABORT }
                let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
                return transfer.maySend(to: peer) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
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
            case CURLINFO_HEADER_OUT: if Transfer.tellsWho(bytes) { transfer.usesCredentials = true }
            case CURLINFO_TEXT: transfer.noteBytesBeyondLength(in: bytes)
            default: break
            }
            return 0
        }.check()
    }

    /// Reads libcurl's message about bytes beyond the declared length, which it drops.
    private func noteBytesBeyondLength(in text: UnsafeRawBufferPointer) {
        guard text.starts(with: "Excess found".utf8),
            let count = String(decoding: text, as: UTF8.self).split(separator: "excess = ").last.flatMap({
                Int($0.prefix { $0.isNumber })
            })
        else { return }
        noteBytesBeyondLength(count)
    }

    func noteBytesBeyondLength(_ count: Int) {
        if count > Self.maxEmptyLineBytes { hasBytesBeyondLength = true }
    }

    /// Some servers end a response with an empty line that its length does not count.
    private static let maxEmptyLineBytes = 2

    /// Looks in the socket for bytes beyond the length. Call it when the transfer is done and libcurl still
    /// has the connection. With TLS, these bytes could not be told from TLS records, so it looks only for
    /// plain http.
    func lookForBytesBeyondLength() {
        guard watchesLength, request?.url.scheme == "http" else { return }
        var socket = CURL_SOCKET_BAD
        guard larder_curl_get_socket(handle, CURLINFO_ACTIVESOCKET, &socket) == CURLE_OK,
            socket != CURL_SOCKET_BAD
        else { return }
        let answer = "HTTP/1."
        var bytes = [UInt8](repeating: 0, count: answer.utf8.count)
        let count = recv(socket, &bytes, bytes.count, Int32(MSG_PEEK | MSG_DONTWAIT))
        // These bytes may be the response to the next request.
        guard count > 0, !bytes.prefix(count).elementsEqual(answer.utf8.prefix(count)) else { return }
        noteBytesBeyondLength(count)
    }

    /// Makes libcurl report bytes beyond the length of an HTTP/1 response.
    private func watchLength() {
        guard status == 200, contentLength >= 0, request?.method == "GET",
            version == .http11 || version == .http10
        else { return }
        watchesLength = larder_curl_set_long(handle, CURLOPT_VERBOSE, 1) == CURLE_OK
    }

    /// Whether a request header has a `Cookie` or `Authorization` field.
    private static func tellsWho(_ header: UnsafeRawBufferPointer) -> Bool {
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
    private func open(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        if let networkGuard {
            guard let target = IPAddress(larder_curl_address(address)) else { return CURL_SOCKET_BAD }
            refusal = networkGuard.refusal(of: target)
            if refusal != nil { return CURL_SOCKET_BAD }
        }
        hasSocket = true
        let type = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
        return socket(address.pointee.family, type, address.pointee.protocol)
    }

    /// Whether the request may be sent over its connection. Another request may have opened it to an address
    /// that this one may not connect to.
    private func maySend(to peer: UnsafePointer<CChar>?) -> Bool {
        isSent = true
        self.peer = peer.flatMap { IPAddress(numeric: $0) }
        guard let networkGuard else { return true }
        let refusal =
            self.peer.map { networkGuard.refusal(of: $0) } ?? "the address of the connection is unknown"
        guard let refusal else { return true }
        stop = FetchFailure(.refused, refusal)
        return false
    }

    // MARK: - The answer

    private func take(header line: UnsafeRawBufferPointer) -> Bool {
        switch head.take(line, limit: options.maxHeader) {
        case .inside:
            return true
        case .beyondLimit:
            stop = FetchFailure(.tooLarge, "the headers are over \(options.maxHeader) bytes")
            return false
        case .last:
            do throws(FetchFailure) {
                try takeHead()
                return true
            } catch {
                stop = error
                return false
            }
        }
    }

    private func takeHead() throws(FetchFailure) {
        guard larder_curl_get_long(handle, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK else { return }
        guard status >= 200 else {
            if status > 101 { request?.interim?(Int(status), head.fields) }
            return
        }
        var fields = head.fields
        if let held {
            switch held.meaning(status: status, fields: fields) {
            case .rest(let whole):
                sink = try BodySink(continuing: held)
                self.held = nil
                expected = whole.contentLength
                fields = whole
                status = 200
            case .anew:
                held.discard()
                self.held = nil
            case .mismatch(let why):
                throw FetchFailure(.mismatch, why)
            case .unrelated:
                break
            }
        }
        if status == 206, sink.byteCount == 0, request?.fields.contains("Range") == false {
            // Some servers answer a request for the whole body with a part that has all of it.
            guard expected == nil, fields["Content-Range"].flatMap({ ContentRange($0) })?.isWhole == true
            else {
                throw FetchFailure(.nonsense, "the server sent a part, although the whole was requested")
            }
            fields.remove("Content-Range")
            status = 200
        }
        // RFC 9112, section 6.3: with two lengths, the end of the body is unknown.
        let lengths = fields.elements("Content-Length")
        guard lengths.count < 2 || Set(lengths).count < 2 else {
            throw FetchFailure(
                .nonsense, "the response has two lengths: \(fields.combined("Content-Length") ?? "")")
        }
        let keepsCoding =
            request?.keepsCoding ?? false
            || !ContentCoding.canDecode(fields, forClientAccepting: request?.codings)
        decoder = keepsCoding ? nil : try FetchFailure.decoder(of: fields)
        self.fields = fields
        watchLength()
        let length = expected ?? contentLength
        if let request, let stream = request.stream, request.method != "HEAD" {
            let byteCount = decoder == nil && length >= 0 ? length : nil
            hasKnownEnd = length >= 0
            isStreamed = stream.begin(
                status: status, fields: fields, isCoded: decoder == nil && fields.isCoded,
                byteCount: byteCount)
        }
        guard
            length <= options.maxBody || isStreamed || request?.method == "HEAD" || request?.maxBytes != nil
        else { throw tooLargeBody }
        if isStreamed, length > options.maxBody { unkept = unkeptBody }
        if status == 200, !isStreamed, request?.method != "HEAD" {
            openStream = try OpenStream(fields, length: length >= 0 ? length : nil)
        }
        if let receiver = setup.receiver, let request {
            isWanted = receiver.begin(request.number, status: status, fields: fields)
            return
        }
        // If the length is declared, one allocation is enough. It is limited to the size that stays in memory
        // anyway.
        if length > 0, expected == nil, decoder == nil {
            sink.reserve(min(length, options.spoolThreshold, request?.maxBytes ?? .max))
        }
    }

    func take(body bytes: UnsafeRawBufferPointer) -> Bool {
        do throws(FetchFailure) {
            guard let decoder else {
                try take(content: bytes)
                return true
            }
            try decoder.decode(bytes) { content throws(FetchFailure) in
                try take(content: content)
                let (made, coded) = (sink.byteCount, decoder.encodedByteCount)
                guard options.expansion.isExceeded(byteCount: made, encodedByteCount: coded) else { return }
                throw FetchFailure(
                    .tooLarge,
                    "the decoded body is over \(options.expansion.factor) times the size of what was sent")
            } wrapping: {
                FetchFailure($0)
            }
            return true
        } catch {
            if !isCut { stop = error }
            return false
        }
    }

    private func take(content bytes: UnsafeRawBufferPointer) throws(FetchFailure) {
        guard let maxBytes = request?.maxBytes, bytes.count > maxBytes - sink.byteCount else {
            return try keep(content: bytes)
        }
        try keep(content: UnsafeRawBufferPointer(rebasing: bytes.prefix(max(0, maxBytes - sink.byteCount))))
        isCut = true
        throw FetchFailure(.tooLarge, "the rest of the body is not needed")
    }

    private func keep(content bytes: UnsafeRawBufferPointer) throws(FetchFailure) {
        if isStreamed { request?.stream?.take(bytes) }
        if isStreamed, unkept == nil, sink.byteCount + bytes.count > options.maxBody {
            sink = BodySink()
            unkept = unkeptBody
        }
        if unkept != nil { return sink.pass(bytes.count) }
        guard sink.byteCount + bytes.count <= options.maxBody else { throw tooLargeBody }
        if let receiver = setup.receiver {
            guard hand(bytes, to: receiver) else {
                throw FetchFailure(.tooLarge, "the rest of it is not needed")
            }
        } else {
            let length = contentLength
            let whole = expected ?? (decoder == nil && length >= 0 ? length : nil)
            do throws(FetchFailure) {
                try sink.take(bytes, of: whole, options)
                if options.describesParts, sink.lacksHead, let request,
                    let fields = held?.fields ?? fieldsWorthKeeping
                {
                    sink.describe(request.url.href, fields)
                }
            } catch  where isStreamed {
                // The stream can still receive the whole body. Only storing it failed.
                sink = BodySink()
                unkept = error
                return sink.pass(bytes.count)
            }
        }
        if let expected, sink.byteCount > expected {
            throw FetchFailure(.mismatch, "more than the rest was sent")
        }
    }

    private func hand(_ bytes: UnsafeRawBufferPointer, to receiver: any BodyReceiver) -> Bool {
        sink.pass(bytes.count)
        guard isWanted, let request else { return true }
        return receiver.take(request.number, Span(_unsafeElements: bytes.assumingMemoryBound(to: UInt8.self)))
    }

    private var tooLargeBody: FetchFailure {
        FetchFailure(.tooLarge, "the body is over \(options.maxBody) bytes")
    }

    private var unkeptBody: FetchFailure {
        FetchFailure(.tooLarge, "the body is over \(options.maxBody) bytes, and is not stored")
    }
}

/// Collects the header of a response from the lines that libcurl passes on.
///
/// A status line starts a new block of fields, and an empty line completes it. Lines after that, up to the
/// next status line, are trailers, which are counted but ignored.
struct HeadReader {
    /// The effect of a line.
    enum Line {
        /// The header is not complete yet, or the line is a trailer.
        case inside
        /// The empty line that completes a header.
        case last
        /// The lines together exceed the limit.
        case beyondLimit
    }

    private var block: [UInt8] = []
    /// Whether an empty line has completed the header. Lines after it belong to the next response or are
    /// trailers.
    private(set) var isComplete = false
    /// The size of all lines so far, with those of interim responses and of trailers.
    private(set) var byteCount = 0

    var fields: HTTPFields { HTTPFields(block: block.span, isReceived: true) }

    mutating func take(_ line: UnsafeRawBufferPointer, limit: Int) -> Line {
        byteCount += line.count
        guard byteCount <= limit else { return .beyondLimit }
        // A status line starts a new block. This drops the fields of interim responses (100, 103).
        if line.starts(with: "HTTP/".utf8) {
            block.removeAll(keepingCapacity: true)
            isComplete = false
        }
        // RFC 9110, 6.5.1: trailers may not be merged into the header unless their definition allows it.
        if isComplete { return .inside }
        block.append(contentsOf: line)
        guard line.count <= 2, line.elementsEqual("\r\n".utf8) || line.elementsEqual("\n".utf8) else {
            return .inside
        }
        isComplete = true
        return .last
    }

    mutating func removeAll() {
        block.removeAll(keepingCapacity: true)
        isComplete = false
        byteCount = 0
    }
}
