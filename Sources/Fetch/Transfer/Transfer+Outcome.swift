internal import CCurl
internal import Glibc
internal import System
internal import Web

/// What became of a transfer.
extension Transfer {
    func outcome(_ code: CURLcode) -> FetchResult.Outcome {
        if let stop { return .failure(stop) }
        guard code == CURLE_OK else { return .failure(failure(code)) }
        guard let fields else { return .failure(FetchFailure(.nonsense, "the answer has no status")) }
        if let flaw = decoder?.flaw { return .failure(flaw) }
        if let expected, sink.byteCount < expected {
            return .failure(FetchFailure(.broken, "\(expected - sink.byteCount) bytes of the rest did not come"))
        }
        do throws(FetchFailure) {
            return .response(FetchedResponse(status: status, fields: fields, body: try sink.finish()))
        } catch {
            return .failure(error)
        }
    }

    /// What a later request can go on with.
    func remainder(_ outcome: inout FetchResult.Outcome) -> PartialBody? {
        guard case .failure(let failure) = outcome else { return held }
        switch failure.kind {
        case .mismatch:
            held?.discard()
            return nil
        case .timeout, .broken, .interrupted:
            break
        case .unknownHost, .unreachable, .insecure, .nonsense, .tooLarge, .refused, .endless, .noRoom, .machine:
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
    private var fieldsWorthKeeping: HTTPFields? {
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

    private var version: Exchange.Version? {
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
            return FetchFailure(.tooLarge, "a line of the header is too long")
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
        case .unknownHost, .unreachable, .tooLarge, .refused, .endless, .noRoom, .mismatch, .interrupted, .machine:
            return FetchFailure(kind, general)
        }
    }

    /// libcurl's own words about this one, without what they begin with each time.
    private var reason: String? {
        var text = String(cString: complaint)
        for start in ["SSL certificate problem: ", "SSL: ", "TLS connect error: "] where text.hasPrefix(start) {
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
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT:
            .insecure
        case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2,
            CURLE_HTTP2_STREAM:
            .broken
        case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT: .machine
        default: .nonsense
        }
    }
}
