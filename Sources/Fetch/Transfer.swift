internal import CCurl
internal import Codings
internal import Glibc
internal import System
internal import Web

/// A libcurl easy handle and the state of the request that it runs. libcurl calls back on the loop's thread,
/// the only one that uses a transfer.
///
/// A request passes through these states, in this order:
///
/// 1. It waits for a name lookup, or for a connection that another transfer is making (`isWaiting`).
/// 2. It connects (`hasSocket`). A request on a reused connection skips this state.
/// 3. It is sent (`isSent`). The time limits apply from here on.
/// 4. The header of the response is complete (`fields` is not nil), and the body arrives.
/// 5. It ends in `finish`, which resets the state for the next request.
///
/// It may be paused in states 3 and 4 (`pauseNumber`). If Larder ends it, at any time, `stopReason` has the
/// reason.
///
/// The received bytes pass through `decoder` to `sink`, which stores them, and to the request's stream and the
/// loop's receiver, if there are any.
///
/// Handles are reused. `hasOnlyCommonOptions` is false if a request set more options than every request needs;
/// these are reset before the next request. Connections belong to the loop and stay open.
final class Transfer {
    let handle: UnsafeMutableRawPointer
    let setup: TransferSetup
    private(set) var request: FetchRequest?

    /// Whether the handle has the options that every request needs, and no others. If not, it is reset.
    var hasOnlyCommonOptions = false
    /// Whether the handle is set up for anonymous requests.
    var isAnonymous = false
    /// Whether the handle has `FetchOptions.hostAddresses`.
    var hasHostAddresses = false
    /// Whether `CURLOPT_PIPEWAIT` is set: a request then waits to share a connection that is being made.
    var waitsForSharedConnection = false
    var sentFields = FieldList()
    /// The header fields of the request without `Authorization`, `Cookie` and `Proxy-Authorization`. The result
    /// reports them, since a stored response may vary by them.
    var nonSecretFields = HTTPFields()
    /// Whether the request identifies the user.
    var usesCredentials = false
    /// The buffer into which libcurl writes the message of an error.
    let errorBuffer: UnsafeMutablePointer<CChar>

    /// Decides which addresses the request may connect to. Nil if it may connect to any, or uses a proxy, whose address is
    /// always allowed.
    var networkGuard: NetworkGuard?
    /// The reason why the network guard refused the last address that was tried.
    var guardRefusal: String?
    var usesProxy = false
    /// Whether a new connection was opened for this request.
    var hasSocket = false
    /// Whether the request has a connection. libcurl sends the request next, unless `canSend` refuses.
    var isSent = false
    /// The address that the request was sent to.
    var peer: IPAddress?

    var head = HeadReader()
    /// The header fields of the response, once its header is complete. For the rest of a body they are those
    /// of the whole body.
    var fields: HTTPFields?
    var status = 0
    /// The dictionary that the request offers.
    var offeredDictionary: CompressionDictionary?
    /// Removes the content coding; nil if the body has none or is delivered with it.
    var decoder: BodyDecoder?
    var sink = BodySink()
    /// The kind of a body without a declared length, which may turn out to be endless.
    var unboundedBody: UnboundedBody?
    /// Whether the loop's receiver, if it has one, wants this body.
    var isBodyWanted = false
    /// Whether the request's stream wants this body.
    var isStreamed = false
    /// Whether the length of a streamed body is known.
    var hasKnownEnd = false
    /// The reason why the body that the stream receives is not stored; nil if it is.
    var storageFailure: FetchFailure?
    /// Whether the transfer was ended at `FetchRequest.maxBytes`. The response then has only the part of the body
    /// that was received.
    var isCut = false
    /// The part that the request is to resume; nil once a response has continued or replaced it.
    var resumedPart: PartialBody?
    /// The size of the whole body, if the response continues a stored part.
    var resumedTotalBytes: Int?
    /// Whether libcurl was told to report bytes beyond the length of the response.
    var detectsExcessBytes = false
    /// Whether the server sent more bytes than the response's length declares.
    var hasExcessBytes = false
    /// The reason why Larder stopped the transfer. libcurl itself would report only that a callback failed.
    var stopReason: FetchFailure?

    /// The time limits; nil until the request was sent.
    private var timer: TransferTimer?

    /// The number of received bytes that the rate limit has already counted.
    private var countedByteCount = 0
    /// The number of the current pause, which is greater for transfers that paused later; nil if not paused.
    private(set) var pauseNumber: Int?
    /// Whether the transfer was paused at any time since the last check of its time limits.
    private var hasPaused = false

    init(_ setup: TransferSetup) throws(FetchFailure) {
        guard let handle = curl_easy_init() else { throw FetchFailure(.machine, "out of memory") }
        self.handle = handle
        self.setup = setup
        errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        curl_easy_cleanup(handle)
        errorBuffer.deallocate()
    }

    var options: FetchOptions { setup.options }

    /// Whether the transfer waits for a name lookup, or for a connection that another transfer is making.
    var isWaiting: Bool { !hasSocket && !isSent }

    func start(_ request: FetchRequest) throws(FetchFailure) {
        self.request = request
        resumedPart = request.resume
        try configure(request)
    }

    /// Returns the result and makes the transfer ready for the next request. Nil if no request is running.
    func finish(_ code: CURLcode) -> FetchResult? {
        guard let request else { return nil }
        let code = isCut ? CURLE_OK : code
        if isStreamed {
            request.stream?.end(isWhole: code == CURLE_OK && stopReason == nil && decoder?.truncation == nil)
        }
        let isStreamedOnly =
            storageFailure != nil && stopReason == nil && code == CURLE_OK && decoder?.truncation == nil
        if let storageFailure { stopReason = stopReason ?? storageFailure }
        let hasOnlyPartOfRest =
            code == CURLE_OK && stopReason == nil && resumedTotalBytes.map { sink.byteCount < $0 } ?? false
        var outcome = outcome(code)
        let partial = resumablePart(&outcome)
        var result = FetchResult(
            number: request.number, url: request.url, outcome: outcome,
            wireByteCount: receivedByteCount, exchange: exchange,
            sentFields: isSent ? nonSecretFields : HTTPFields(), partial: partial)
        result.hasOnlyPartOfRest = hasOnlyPartOfRest
        result.isStreamedOnly = isStreamedOnly
        clear()
        return result
    }

    /// Resets all state of the request. The handle keeps its options, which the next request can use.
    func clear() {
        request = nil
        nonSecretFields = HTTPFields()
        usesCredentials = false
        guardRefusal = nil
        hasSocket = false
        isSent = false
        peer = nil
        head.removeAll()
        fields = nil
        status = 0
        (decoder, offeredDictionary) = (nil, nil)
        unboundedBody = nil
        sink = BodySink()
        isBodyWanted = false
        (isStreamed, hasKnownEnd, storageFailure) = (false, false, nil)
        isCut = false
        resumedPart = nil
        resumedTotalBytes = nil
        if detectsExcessBytes, !setup.libcurlAddsSecrets || isAnonymous {
            larder_curl_set_long(handle, CURLOPT_VERBOSE, 0)
        }
        (detectsExcessBytes, hasExcessBytes) = (false, false)
        stopReason = nil
        timer = nil
        countedByteCount = 0
        (pauseNumber, hasPaused) = (nil, false)
    }

    /// The length of the body before content coding is undone; negative if the response does not declare it.
    var contentLength: Int { amount(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T) }

    private var bodyByteCount: Int { amount(CURLINFO_SIZE_DOWNLOAD_T) }

    /// The bytes of the response as it was transferred so far.
    private var receivedByteCount: Int { bodyByteCount + head.byteCount }

    private func amount(_ info: CURLINFO) -> Int {
        var value: curl_off_t = 0
        guard larder_curl_get_large(handle, info, &value) == CURLE_OK else { return 0 }
        return Int(value)
    }
}

extension Transfer {
    /// The reason why the transfer must end; nil if it may continue: its client is gone, or it exceeds a time
    /// limit. The time limits apply once the request is sent.
    func limitFailure(now: Duration, _ limits: TransferTimer.Limits) -> FetchFailure? {
        if request?.stream?.isGone == true, !isNearlyWhole {
            return FetchFailure(.interrupted, "its client is gone")
        }
        guard isSent else { return nil }
        // The server decides how long such a stream may be silent.
        if isStreamed, !hasKnownEnd { return nil }
        let moved = receivedByteCount + amount(CURLINFO_SIZE_UPLOAD_T)
        guard timer != nil else {
            timer = TransferTimer(now: now, byteCount: moved)
            return nil
        }
        if hasPaused {
            hasPaused = pauseNumber != nil
            timer?.restartAfterPause(now: now, byteCount: moved)
        }
        if let unboundedBody, let timer,
            let failure = unboundedBody.failure(
                moved, in: now - timer.sent, isThrottled: setup.rate != nil, options.unboundedBodyLimits)
        {
            return failure
        }
        return timer?.limitFailure(now: now, byteCount: moved, headerIsComplete: fields != nil, limits)
    }

    /// Whether so little of the body is missing that it costs less than another request.
    private var isNearlyWhole: Bool {
        let length = contentLength
        guard fields != nil, length >= 0 else { return false }
        let rest = length - bodyByteCount
        return rest <= Self.maxCheapRestBytes || rest <= length / 8
    }

    /// A rest of at most this size is received although its client is gone.
    private static let maxCheapRestBytes = 64 * 1024

    /// Returns the number of bytes that were received since the last call.
    func takeUncountedBytes() -> Int {
        let received = receivedByteCount
        defer { countedByteCount = received }
        return max(0, received - countedByteCount)
    }

    /// Whether bytes that libcurl has just read may be taken. If not, marks the transfer as paused, and libcurl
    /// keeps the bytes until `resume`. The caller then has to return `CURL_WRITEFUNC_PAUSE`.
    func takeOrPause() -> Bool {
        if isStreamed, !canStream {
            pause()
            return false
        }
        guard let rate = setup.rate else { return true }
        if rate.isOpen {
            rate.take(takeUncountedBytes())
            return true
        }
        pause()
        return false
    }

    private func pause() {
        pauseNumber = setup.nextPauseNumber()
        hasPaused = true
    }

    /// Whether the request's stream can take more bytes; true if there is none.
    var canStream: Bool { !isStreamed || request?.stream?.hasRoom ?? true }

    /// Continues a paused transfer. libcurl delivers the bytes that it kept before this returns.
    func resume() throws(FetchFailure) {
        pauseNumber = nil
        let code = curl_easy_pause(handle, CURLPAUSE_RECV_CONT)
        // If a callback stops the transfer during this call, `stopReason` has the reason, and libcurl reports the
        // end later.
        if stopReason == nil { try code.check() }
    }
}

extension Transfer {
    /// The request to send again without its dictionary, because the response was compressed with another dictionary or
    /// is damaged. Nil if the transfer ended in another way.
    func retryWithoutDictionary(_ code: CURLcode) -> FetchRequest? {
        guard offeredDictionary != nil, var request, let codings = receivedCodings,
            codings.contains(where: { DictionaryCoding(rawValue: $0.lowercased()) != nil })
        else { return nil }
        switch stopReason?.kind {
        case .invalidResponse, .tooLarge: if isCut { return nil }
        case nil: guard code == CURLE_OK, decoder?.truncation != nil else { return nil }
        default: return nil
        }
        request.dictionary = nil
        return request
    }

    /// The request to send again on a new connection, because what followed on a reused one is no response: some servers
    /// send bytes beyond the length of the response before it, which arrive after libcurl has looked for them. Nil if
    /// the transfer ended in another way, or if the request cannot be repeated.
    func retryOnNewConnection(_ code: CURLcode) -> FetchRequest? {
        guard code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY, stopReason == nil,
            isSent, !head.isComplete, exchange?.isReused == true, var request,
            request.method == "GET" || request.method == "HEAD", !request.needsNewConnection
        else { return nil }
        request.needsNewConnection = true
        return request
    }

    /// The content codings of the response, also if it was refused for them.
    private var receivedCodings: [String]? {
        head.isComplete ? head.fields.elements("Content-Encoding") : nil
    }
}

/// The result of a transfer.
extension Transfer {
    /// The outcome of a transfer that libcurl ended with this code. A reason of Larder's comes before libcurl's,
    /// which would report only that a callback failed.
    func outcome(_ code: CURLcode) -> FetchResult.Outcome {
        if var stopReason {
            // The page of an error may be longer than the file that was wanted. The error comes first.
            if stopReason.kind == .tooLarge, status >= 400 { stopReason.status = status }
            return .failure(stopReason)
        }
        guard code == CURLE_OK else { return .failure(failure(code)) }
        guard let fields else {
            return .failure(FetchFailure(.invalidResponse, "the response has no status"))
        }
        if let flaw = decoder?.truncation, !isCut { return .failure(FetchFailure(flaw)) }
        if let resumedTotalBytes, sink.byteCount < resumedTotalBytes {
            return .failure(
                FetchFailure(.broken, "\(resumedTotalBytes - sink.byteCount) bytes of the rest are missing"))
        }
        do throws(FetchFailure) {
            let isCoded = decoder == nil && fields.isCoded
            var response = FetchedResponse(
                status: status, fields: fields, body: try sink.finish(), isCoded: isCoded)
            response.isCut = isCut
            response.ending = ending(fields)
            return .response(response)
        } catch {
            return .failure(error)
        }
    }

    /// How the end of the body was indicated. A body that ends with its connection may be incomplete without a
    /// sign of it (RFC 9112, section 8).
    private func ending(_ fields: HTTPFields) -> ResponseSummary.Ending {
        guard resumedTotalBytes == nil, request?.method == "GET" else { return .declared }
        if hasExcessBytes { return .bytesBeyondLength }
        let isOfHTTP1 = version == .http11 || version == .http10
        return isOfHTTP1 && contentLength < 0 && !fields.contains("Transfer-Encoding")
            ? .connection : .declared
    }

    /// Returns the part of the body that a later request can resume. If it cannot be written, the outcome
    /// becomes that failure.
    private func resumablePart(_ outcome: inout FetchResult.Outcome) -> PartialBody? {
        guard case .failure(let failure) = outcome else { return resumedPart }
        switch failure.kind {
        case .mismatch:
            resumedPart?.discard()
            return nil
        case .timeout, .broken, .interrupted:
            break
        case .unknownHost, .unreachable, .insecure, .invalidResponse, .tooLarge, .refused, .endless,
            .diskFull,
            .machine:
            return resumedPart
        }
        guard resumedPart == nil, let fields = fieldsForResuming else { return resumedPart }
        do throws(FetchFailure) {
            return try sink.finishPart(fields, in: options.spoolFolder)
        } catch {
            outcome = .failure(error)
            return nil
        }
    }

    /// The header fields to keep with the beginning of the body; nil if it is too small or cannot be resumed.
    var fieldsForResuming: HTTPFields? {
        guard var fields, let request, request.method == "GET", request.body == nil, status == 200,
            resumedTotalBytes != nil || sink.byteCount >= options.minPartialBytes,
            PartialBody.canResume(with: fields)
        else { return nil }
        // RFC 9110, section 6.6.1: a recipient that keeps a response without a date adds the time of receipt.
        if !fields.contains("Date") {
            fields.append("Date", HTTPDate(secondsSinceEpoch: SystemClock.secondsSinceEpoch()).text)
        }
        return PartialBody(path: "", byteCount: 0, fields: fields).ifRangeValidator == nil ? nil : fields
    }

    /// How the request and its response were transferred; nil if the request was not sent.
    var exchange: Exchange? {
        guard isSent, let request else { return nil }
        var connections = 0
        larder_curl_get_long(handle, CURLINFO_NUM_CONNECTS, &connections)
        let isSecure = request.url.scheme == "https"
        return Exchange(
            version: fields == nil ? nil : version,
            security: isSecure ? (options.isInsecure ? .unverified : .verified) : .plain,
            peer: peer, usesProxy: usesProxy, isReused: connections == 0,
            usedCredentials: usesCredentials,
            timings: Exchange.Timings(
                connected: time(CURLINFO_CONNECT_TIME_T), secured: time(CURLINFO_APPCONNECT_TIME_T),
                requestSent: time(CURLINFO_PRETRANSFER_TIME_T),
                firstByte: time(CURLINFO_STARTTRANSFER_TIME_T), done: time(CURLINFO_TOTAL_TIME_T)))
    }

    var version: Exchange.Version? {
        var version = 0
        larder_curl_get_long(handle, CURLINFO_HTTP_VERSION, &version)
        return switch version {
        case CURL_HTTP_VERSION_1_0: .http10
        case CURL_HTTP_VERSION_1_1: .http11
        case CURL_HTTP_VERSION_2_0: .http2
        default: nil
        }
    }

    private func time(_ info: CURLINFO) -> Duration { .microseconds(amount(info)) }
}

extension Transfer {
    /// The failure for an error code of libcurl.
    private func failure(_ code: CURLcode) -> FetchFailure {
        if let guardRefusal, code == CURLE_COULDNT_CONNECT { return FetchFailure(.refused, guardRefusal) }
        // libcurl limits the size of a header line, and reports a longer one as out of memory.
        if code == CURLE_OUT_OF_MEMORY, isSent, fields == nil {
            return FetchFailure(.tooLarge, "a header line is too long")
        }
        let kind = Self.kind(of: code)
        let general = String(cString: curl_easy_strerror(code))
        switch kind {
        case .insecure:
            return FetchFailure(kind, "\(request?.url.host ?? ""): \(reason ?? general)")
        case .broken, .invalidResponse:
            return FetchFailure(kind, reason ?? general)
        case .timeout:
            return FetchFailure(kind, "no connection within \(options.connectTimeout.seconds)")
        case .unknownHost:
            return FetchFailure(kind, "")
        case .unreachable:
            return FetchFailure(kind, osReason ?? "")
        case .tooLarge, .refused, .endless, .diskFull, .mismatch, .interrupted,
            .machine:
            return FetchFailure(kind, general)
        }
    }

    /// libcurl's message about this failure, without its constant beginnings.
    private var reason: String? {
        var text = String(cString: errorBuffer)
        for start in ["SSL certificate problem: ", "SSL: ", "TLS connect error: "] where text.hasPrefix(start)
        {
            text.removeFirst(start.count)
        }
        return text.isEmpty ? nil : text
    }

    /// The operating system's reason why no connection was made, such as "connection refused"; nil if there is none.
    private var osReason: String? {
        var number: Int = 0
        guard (try? larder_curl_get_long(handle, CURLINFO_OS_ERRNO, &number).check()) != nil, number != 0
        else { return nil }
        return FetchFailure.reason(Int32(number))
    }

    private static func kind(of code: CURLcode) -> FetchFailure.Kind {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .unknownHost
        case CURLE_COULDNT_CONNECT, CURLE_PROXY: .unreachable
        case CURLE_OPERATION_TIMEDOUT: .timeout
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_CLIENTCERT:
            .insecure
        case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2,
            CURLE_HTTP2_STREAM:
            .broken
        case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT: .machine
        default: .invalidResponse
        }
    }
}
