internal import CCurl
internal import Codings
internal import Glibc
internal import System
internal import Web

/// One easy handle and what it has received so far. libcurl calls back on the loop's thread, where everything
/// here lives.
///
/// Handles are used again: what a request sets beyond the plain is reset before the next one, while the
/// connections stay with the loop.
final class Transfer {
    let handle: UnsafeMutableRawPointer
    let setup: TransferSetup
    private(set) var request: FetchRequest?

    /// Whether the handle has what every request needs, and nothing else.
    var isPlain = false
    /// Whether what it has is for requests that are nobody's.
    var isAnonymous = false
    var knowsAddresses = false
    var isWaitingForStreams = false
    var sentFields = FieldList()
    /// Those that are no secret.
    var openFields = HTTPFields()
    /// What goes out says who larder is.
    var usesCredentials = false
    /// Where libcurl says why it failed.
    let complaint: UnsafeMutablePointer<CChar>

    /// Nil where the address that is connected to says nothing, or does not matter.
    var networkGuard: NetworkGuard?
    /// Why the network guard refused the last address that was tried.
    var refusal: String?
    var usesProxy = false
    /// A connection was begun for it.
    var hasSocket = false
    /// The connection stands, and the request goes out.
    var isSent = false
    var peer: IPAddress?

    var head = HeadReader()
    /// Of the answer, once its header is whole; of the whole body when the rest of it comes.
    var fields: HTTPFields?
    var status = 0
    /// Content coding is undone on the way.
    var decoder: BodyDecoder?
    var sink = BodySink()
    /// Whether nobody told how long the body is.
    var openStream: OpenStream?
    /// Where there is a receiver: whether it wants this body.
    var isWanted = false
    /// Whether the request's stream wants this body; whether that is known to end.
    var isStreamed = false
    var hasKnownEnd = false
    /// Why what the stream gets is not kept beside.
    var unkept: FetchFailure?
    /// The transfer was ended at `FetchRequest.maxBytes`: the response is what came until then.
    var isCut = false
    /// What the request is to resume, until an answer says how it goes on.
    var held: PartialBody?
    /// How long the body is when it was resumed.
    var expected: Int?
    /// libcurl was told to report bytes beyond the length of the response.
    var watchesLength = false
    /// More bytes came than the response's length declares.
    var hasBytesBeyondLength = false
    /// Set by whoever stopped the transfer; libcurl would only say that a callback failed.
    var stop: FetchFailure?

    private var watch: TransferWatch?
    /// What the rate has paid for.
    private var counted = 0
    /// Greater for who was paused later; nil while it reads.
    private(set) var pauseNumber: Int?

    init(_ setup: TransferSetup) throws(FetchFailure) {
        guard let handle = curl_easy_init() else { throw FetchFailure(.machine, "out of memory") }
        self.handle = handle
        self.setup = setup
        complaint = .allocate(capacity: Int(CURL_ERROR_SIZE))
        complaint.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        curl_easy_cleanup(handle)
        complaint.deallocate()
    }

    var options: FetchOptions { setup.options }

    /// Another one's connection may become its own, or a name is looked up.
    var isWaiting: Bool { !hasSocket && !isSent }

    func start(_ request: FetchRequest) throws(FetchFailure) {
        self.request = request
        held = request.resume
        try configure(request)
    }

    /// Takes the result and makes the transfer ready for the next request.
    func finish(_ code: CURLcode) -> FetchResult? {
        guard let request else { return nil }
        let code = isCut ? CURLE_OK : code
        if isStreamed {
            request.stream?.end(isWhole: code == CURLE_OK && stop == nil && decoder?.flaw == nil)
        }
        let isPassedOn = unkept != nil && stop == nil && code == CURLE_OK && decoder?.flaw == nil
        if let unkept { stop = stop ?? unkept }
        let isShortPart = code == CURLE_OK && stop == nil && expected.map { sink.byteCount < $0 } ?? false
        var outcome = outcome(code)
        let partial = remainder(&outcome)
        var result = FetchResult(
            number: request.number, url: request.url, outcome: outcome,
            wireByteCount: receivedByteCount, exchange: exchange,
            sentFields: isSent ? openFields : HTTPFields(), partial: partial)
        result.isShortPart = isShortPart
        result.isPassedOn = isPassedOn
        clear()
        return result
    }

    /// Whatever became of the request.
    func clear() {
        request = nil
        openFields = HTTPFields()
        usesCredentials = false
        refusal = nil
        hasSocket = false
        isSent = false
        peer = nil
        head.removeAll()
        fields = nil
        status = 0
        decoder = nil
        openStream = nil
        sink = BodySink()
        isWanted = false
        (isStreamed, hasKnownEnd, unkept) = (false, false, nil)
        isCut = false
        held = nil
        expected = nil
        if watchesLength, !setup.hasSecrets || isAnonymous {
            larder_curl_set_long(handle, CURLOPT_VERBOSE, 0)
        }
        (watchesLength, hasBytesBeyondLength) = (false, false)
        stop = nil
        watch = nil
        counted = 0
        pauseNumber = nil
    }

    /// The length of the body before content coding is undone; negative if the response does not declare it.
    var contentLength: Int { amount(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T) }

    private var bodyByteCount: Int { amount(CURLINFO_SIZE_DOWNLOAD_T) }

    /// The size of the response so far, as it was transferred.
    private var receivedByteCount: Int { bodyByteCount + head.byteCount }

    private func amount(_ info: CURLINFO) -> Int {
        var value: curl_off_t = 0
        guard larder_curl_get_large(handle, info, &value) == CURLE_OK else { return 0 }
        return Int(value)
    }
}

extension Transfer {
    /// Why it is to be given up; nil while there is hope, or while it waits for a connection.
    func verdict(now: Duration, _ limits: TransferWatch.Limits) -> FetchFailure? {
        if request?.stream?.isGone == true, !isNearlyWhole {
            return FetchFailure(.interrupted, "its client is gone")
        }
        guard isSent else { return nil }
        // It may be silent as long as its server likes.
        if isStreamed, !hasKnownEnd { return nil }
        let moved = receivedByteCount + amount(CURLINFO_SIZE_UPLOAD_T)
        guard watch != nil, pauseNumber == nil else {
            if watch == nil {
                watch = TransferWatch(now: now, byteCount: moved)
            } else {
                watch?.wasHeldBack(now: now, byteCount: moved)
            }
            return nil
        }
        if let openStream, let watch,
            let failure = openStream.failure(
                moved, in: now - watch.sent, isThrottled: setup.rate != nil, options.streams)
        {
            return failure
        }
        return watch?.verdict(now: now, byteCount: moved, headerIsComplete: fields != nil, limits)
    }

    /// So little is missing that it is worth more than another request.
    private var isNearlyWhole: Bool {
        let length = contentLength
        guard fields != nil, length >= 0 else { return false }
        let rest = length - bodyByteCount
        return rest <= Self.smallRest || rest <= length / 8
    }

    private static let smallRest = 64 * 1024

    /// What came since the last time, off the wire.
    func uncounted() -> Int {
        let received = receivedByteCount
        defer { counted = received }
        return max(0, received - counted)
    }

    /// Whether the rate lets it take what libcurl has just read; if not, libcurl keeps that until it may go
    /// on.
    func mayTake() -> Bool {
        if isStreamed, !mayStream {
            pauseNumber = setup.nextPauseNumber()
            return false
        }
        guard let rate = setup.rate else { return true }
        if rate.isOpen {
            rate.take(uncounted())
            return true
        }
        pauseNumber = setup.nextPauseNumber()
        return false
    }

    /// Whether the stream, if there is one, takes more.
    var mayStream: Bool { !isStreamed || request?.stream?.hasRoom ?? true }

    /// Continues a paused transfer. libcurl delivers at once what it has received meanwhile.
    func resume() throws(FetchFailure) {
        pauseNumber = nil
        let code = curl_easy_pause(handle, CURLPAUSE_RECV_CONT)
        // A callback that stops the transfer says so itself, and libcurl again when it ends.
        if stop == nil { try code.check() }
    }
}

/// What became of a transfer.
extension Transfer {
    func outcome(_ code: CURLcode) -> FetchResult.Outcome {
        if let stop { return .failure(stop) }
        guard code == CURLE_OK else { return .failure(failure(code)) }
        guard let fields else { return .failure(FetchFailure(.nonsense, "the response has no status")) }
        if let flaw = decoder?.flaw, !isCut { return .failure(FetchFailure(flaw)) }
        if let expected, sink.byteCount < expected {
            return .failure(
                FetchFailure(.broken, "\(expected - sink.byteCount) bytes of the rest are missing"))
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

    private func ending(_ fields: HTTPFields) -> JudgedResponse.Ending {
        guard expected == nil, request?.method == "GET" else { return .declared }
        if hasBytesBeyondLength { return .bytesBeyondLength }
        let isOfHTTP1 = version == .http11 || version == .http10
        return isOfHTTP1 && contentLength < 0 && !fields.contains("Transfer-Encoding")
            ? .connection : .declared
    }

    /// What a later request can go on with.
    private func remainder(_ outcome: inout FetchResult.Outcome) -> PartialBody? {
        guard case .failure(let failure) = outcome else { return held }
        switch failure.kind {
        case .mismatch:
            held?.discard()
            return nil
        case .timeout, .broken, .interrupted:
            break
        case .unknownHost, .unreachable, .insecure, .nonsense, .tooLarge, .refused, .endless, .noRoom,
            .machine:
            return held
        }
        guard held == nil, let fields = fieldsWorthKeeping else { return held }
        do throws(FetchFailure) {
            return try sink.keep(fields, in: options.spoolFolder)
        } catch {
            outcome = .failure(error)
            return nil
        }
    }

    /// Those of an answer that was to be whole and can be gone on with; nil when there is none.
    var fieldsWorthKeeping: HTTPFields? {
        guard var fields, let request, request.method == "GET", request.body == nil, status == 200,
            expected != nil || sink.byteCount >= options.minPartial, PartialBody.isPossible(with: fields)
        else { return nil }
        // RFC 9110, section 6.6.1: whoever keeps an answer without a date notes when it came.
        if !fields.contains("Date") {
            fields.append("Date", HTTPDate(secondsSinceEpoch: SystemClock.secondsSinceEpoch()).text)
        }
        return PartialBody(path: "", byteCount: 0, fields: fields).condition == nil ? nil : fields
    }

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
                nameFound: moment(CURLINFO_NAMELOOKUP_TIME_T), connected: moment(CURLINFO_CONNECT_TIME_T),
                secured: moment(CURLINFO_APPCONNECT_TIME_T), requestSent: moment(CURLINFO_PRETRANSFER_TIME_T),
                firstByte: moment(CURLINFO_STARTTRANSFER_TIME_T), done: moment(CURLINFO_TOTAL_TIME_T)))
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

    private func moment(_ info: CURLINFO) -> Duration { .microseconds(amount(info)) }
}

extension Transfer {
    private func failure(_ code: CURLcode) -> FetchFailure {
        if let refusal, code == CURLE_COULDNT_CONNECT { return FetchFailure(.refused, refusal) }
        // What memory a server can use up is what libcurl gives a line of the header.
        if code == CURLE_OUT_OF_MEMORY, isSent, fields == nil {
            return FetchFailure(.tooLarge, "a header line is too long")
        }
        let kind = Self.kind(of: code)
        let general = String(cString: curl_easy_strerror(code))
        switch kind {
        case .insecure:
            return FetchFailure(kind, "\(request?.url.host ?? ""): \(reason ?? general)")
        case .broken, .nonsense:
            return FetchFailure(kind, reason ?? general)
        case .timeout:
            return FetchFailure(kind, "no connection within \(options.connectTimeout.seconds)")
        case .unknownHost, .unreachable, .tooLarge, .refused, .endless, .noRoom, .mismatch, .interrupted,
            .machine:
            return FetchFailure(kind, general)
        }
    }

    /// libcurl's own words about this one, without what they begin with each time.
    private var reason: String? {
        var text = String(cString: complaint)
        for start in ["SSL certificate problem: ", "SSL: ", "TLS connect error: "] where text.hasPrefix(start)
        {
            text.removeFirst(start.count)
        }
        return text.isEmpty ? nil : text
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
        default: .nonsense
        }
    }
}
