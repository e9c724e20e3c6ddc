internal import CCurl
internal import Glibc
internal import Web

/// One easy handle and what it has received so far. libcurl calls back on the loop's thread, where everything here lives.
///
/// Handles are used again: a reset one keeps nothing of the request before, while the connections stay with the loop.
final class Transfer {
    let handle: UnsafeMutableRawPointer
    private let options: FetchOptions
    private(set) var request: FetchRequest?
    private var header: [UInt8] = []
    /// An empty line ended the header: what comes after it belongs to another answer, or is a trailer.
    private var headerIsComplete = false
    /// Of the answer, of the interim ones before it and of its trailers.
    private var headerByteCount = 0
    private var body: [UInt8] = []
    private var bodyByteCount = 0
    private var spool: Spool?
    /// Set by a callback that stopped the transfer; libcurl would only say that a callback failed.
    private var stop: FetchFailure?
    private var sentFields: UnsafeMutablePointer<curl_slist>?

    /// Nil when libcurl has no memory left.
    init?(_ options: FetchOptions) {
        guard let handle = curl_easy_init() else { return nil }
        self.handle = handle
        self.options = options
    }

    deinit {
        curl_easy_cleanup(handle)
        curl_slist_free_all(sentFields)
    }

    func start(_ request: FetchRequest) throws(FetchFailure) {
        self.request = request
        curl_easy_reset(handle)
        try configure(request)
    }

    /// Takes the result and makes the transfer ready for the next request.
    func finish(_ code: CURLcode) -> FetchResult? {
        guard let request else { return nil }
        var wireByteCount: curl_off_t = 0
        larder_curl_get_large(handle, CURLINFO_SIZE_DOWNLOAD_T, &wireByteCount)
        let result = FetchResult(
            number: request.number, url: request.url, outcome: outcome(code),
            wireByteCount: Int(wireByteCount) + headerByteCount)
        self.request = nil
        header.removeAll(keepingCapacity: true)
        headerIsComplete = false
        headerByteCount = 0
        body = []
        bodyByteCount = 0
        spool = nil
        stop = nil
        return result
    }

    private func outcome(_ code: CURLcode) -> FetchResult.Outcome {
        if let stop { return .failure(stop) }
        guard code == CURLE_OK else {
            return .failure(FetchFailure(Self.kind(of: code), String(cString: curl_easy_strerror(code))))
        }
        var status = 0
        guard larder_curl_get_long(handle, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK, status > 0 else {
            return .failure(FetchFailure(.nonsense, "the answer has no status"))
        }
        let content: FetchedBody
        if let spool {
            do throws(FetchFailure) {
                content = .file(path: try spool.finish(), byteCount: bodyByteCount)
            } catch {
                return .failure(error)
            }
        } else {
            content = .bytes(body)
        }
        let block = header
        return .response(FetchedResponse(status: status, fields: HTTPFields(block: block.span), body: content))
    }

    private static func kind(of code: CURLcode) -> FetchFailure.Kind {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .unknownHost
        case CURLE_COULDNT_CONNECT: .unreachable
        case CURLE_OPERATION_TIMEDOUT: .timeout
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
            .insecure
        case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2,
            CURLE_HTTP2_STREAM:
            .broken
        case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT: .machine
        default: .nonsense
        }
    }
}

extension Transfer {
    private func configure(_ request: FetchRequest) throws(FetchFailure) {
        let me = Unmanaged.passUnretained(self).toOpaque()
        curl_slist_free_all(sentFields)
        sentFields = nil
        for field in request.fields.list {
            guard let list = curl_slist_append(sentFields, "\(field.name): \(field.value)") else {
                throw FetchFailure(.machine, "no memory is left")
            }
            sentFields = list
        }
        let codes = [
            larder_curl_set_text(handle, CURLOPT_URL, request.url.withoutFragment.href),
            larder_curl_set_long(handle, CURLOPT_PATH_AS_IS, 1),
            larder_curl_set_text(handle, CURLOPT_PROTOCOLS_STR, "http,https"),
            larder_curl_set_text(handle, CURLOPT_NOPROXY, options.directHosts),
            larder_curl_set_text(handle, CURLOPT_ACCEPT_ENCODING, ""),
            larder_curl_set_text(handle, CURLOPT_USERAGENT, options.userAgent),
            larder_curl_set_list(handle, CURLOPT_HTTPHEADER, sentFields),
            larder_curl_set_long(handle, CURLOPT_NOSIGNAL, 1),
            larder_curl_set_long(handle, CURLOPT_BUFFERSIZE, 64 * 1024),
            larder_curl_set_long(handle, CURLOPT_CONNECTTIMEOUT_MS, options.connectTimeout.milliseconds),
            larder_curl_set_long(handle, CURLOPT_LOW_SPEED_LIMIT, 1),
            larder_curl_set_long(handle, CURLOPT_LOW_SPEED_TIME, max(1, options.stallTimeout.milliseconds / 1000)),
            larder_curl_set_pointer(handle, CURLOPT_WRITEDATA, me),
            larder_curl_set_pointer(handle, CURLOPT_HEADERDATA, me),
            larder_curl_set_pointer(handle, CURLOPT_PRIVATE, me),
            larder_curl_on_data(handle, CURLOPT_WRITEFUNCTION) { data, size, count, context in
                Transfer.receive(data, size * count, context) { transfer, bytes in transfer.take(body: bytes) }
            },
            larder_curl_on_data(handle, CURLOPT_HEADERFUNCTION) { data, size, count, context in
                Transfer.receive(data, size * count, context) { transfer, bytes in transfer.take(header: bytes) }
            },
        ]
        if let failed = codes.first(where: { $0 != CURLE_OK }) {
            throw FetchFailure(.machine, String(cString: curl_easy_strerror(failed)))
        }
    }

    /// What a callback answers: the count it took, anything else stops the transfer.
    private static func receive(
        _ data: UnsafeMutablePointer<CChar>?, _ count: Int, _ context: UnsafeMutableRawPointer?,
        _ take: (Transfer, UnsafeRawBufferPointer) -> Bool
    ) -> Int {
        guard let context else { return 0 }
        let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
        return take(transfer, UnsafeRawBufferPointer(start: data, count: count)) ? count : 0
    }

    private func take(header line: UnsafeRawBufferPointer) -> Bool {
        headerByteCount += line.count
        guard headerByteCount <= options.maxHeader else {
            stop = FetchFailure(.tooLarge, "the header is over \(options.maxHeader) bytes")
            return false
        }
        // A status line begins a block; the blocks of interim answers (100, 103) do not count.
        if line.starts(with: "HTTP/".utf8) {
            header.removeAll(keepingCapacity: true)
            headerIsComplete = false
        }
        // RFC 9110, 6.5.1: trailers may not be merged into the header unless their definition allows it.
        if !headerIsComplete { header.append(contentsOf: line) }
        if line.elementsEqual("\r\n".utf8) || line.elementsEqual("\n".utf8) { headerIsComplete = true }
        return true
    }

    private func take(body bytes: UnsafeRawBufferPointer) -> Bool {
        if bodyByteCount == 0 { reserve() }
        bodyByteCount += bytes.count
        guard bodyByteCount <= options.maxBody else {
            stop = FetchFailure(.tooLarge, "the body is over \(options.maxBody) bytes")
            return false
        }
        do throws(FetchFailure) {
            if let spool {
                try spool.write(bytes)
            } else if bodyByteCount <= options.spoolThreshold {
                body.append(contentsOf: bytes)
            } else {
                let spool = try Spool(in: options.spoolFolder)
                self.spool = spool
                try spool.write(body)
                body = []
                try spool.write(bytes)
            }
            return true
        } catch {
            stop = error
            return false
        }
    }

    /// One allocation where the length is told; never more than would stay in memory anyway.
    private func reserve() {
        var length: curl_off_t = -1
        guard larder_curl_get_large(handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length) == CURLE_OK, length > 0 else {
            return
        }
        body.reserveCapacity(min(Int(length), options.spoolThreshold))
    }
}

extension Duration {
    fileprivate var milliseconds: Int {
        Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000)
    }
}
