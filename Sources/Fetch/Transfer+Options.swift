internal import CCurl
internal import Codings
internal import Web

/// The options of libcurl for a request.
///
/// The header fields of a request come from these sources:
///
/// 1. `FetchOptions.hostFields` for every host, then those for the URL's host and origin, which override them.
/// 2. `FetchRequest.fields`, which override fields of the same name.
/// 3. `Referer` and the login, unless the fields contain them already.
/// 4. The fields that resume a stored part, which override fields of the same name.
/// 5. Fields that describe the message, such as `Content-Length`. Only libcurl writes these.
///
/// An anonymous request has nothing of the first source, and neither login nor cookies.
extension Transfer {
    /// Sets the handle up for a request. Throws if the request is invalid, or cannot be resumed.
    func configure(_ request: FetchRequest) throws(FetchFailure) {
        guard request.url.isHTTP else { throw FetchFailure(.refused, "only http and https are fetched") }
        let href = request.url.withoutFragment.href
        guard href.utf8.count <= options.maxURLBytes else {
            throw FetchFailure(.tooLarge, "the URL is over \(options.maxURLBytes) bytes")
        }
        if !hasOnlyCommonOptions || isAnonymous != request.isAnonymous {
            curl_easy_reset(handle)
            isAnonymous = request.isAnonymous
            try setCommonOptions()
        }
        try set(CURLOPT_URL, href)
        try setRoute(request)
        if request.needsNewConnection {
            hasOnlyCommonOptions = false
            try set(CURLOPT_FRESH_CONNECT, 1)
        }
        var fields = request.fields
        var hasSecret = setup.hasSession && RequestSecrets.canOccur(in: request.fields)
        if !options.hostFields.isEmpty, !isAnonymous {
            fields = options.hostFields.fields(for: request.url)
            hasSecret = hasSecret || RequestSecrets.canOccur(in: fields)
            fields.override(with: request.fields)
        }
        if let page = request.referrer, !fields.contains("Referer"),
            let value = Referrer.value(from: page, to: request.url)
        {
            fields.append("Referer", value)
        }
        if !isAnonymous { try addCredentials(request, &fields) }
        nonSecretFields = fields
        for name in ["Authorization", "Cookie", "Proxy-Authorization"] { nonSecretFields.remove(name) }
        hasSecret = hasSecret || nonSecretFields.list.count < fields.list.count
        usesCredentials = usesCredentials || !isAnonymous && hasSecret
        if isAnonymous { fields = nonSecretFields }
        try setPageCookies(request.cookies, for: request.url)
        try addRangeFields(for: request, &fields)
        let canOffer =
            !isAnonymous && request.method == "GET" && request.codings == nil && !request.keepsCoding
            && request.stream == nil && setup.receiver == nil && request.url.canUseDictionaries
            && !fields.contains("Accept-Encoding")
        offeredDictionary = canOffer ? request.dictionary : nil
        try setHeader(request, fields)
    }

    /// Sets the options that all requests of the loop have in common.
    private func setCommonOptions() throws(FetchFailure) {
        let me = Unmanaged.passUnretained(self).toOpaque()
        waitsForSharedConnection = false
        let share = isAnonymous ? setup.anonymousShare : setup.share
        try larder_curl_set_pointer(handle, CURLOPT_SHARE, share.pointer).check()
        // An empty name reads no file, but makes libcurl use the shared cookies.
        if options.cookies != nil, !isAnonymous { try set(CURLOPT_COOKIEFILE, "") }
        // The verbose output shows whether the request contained secrets, such as cookies from the jar.
        if setup.libcurlAddsSecrets, !isAnonymous { try set(CURLOPT_VERBOSE, 1) }
        try watchVerboseOutput(me)
        try set(CURLOPT_NOSIGNAL, 1)
        try set(CURLOPT_PATH_AS_IS, 1)
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        // Without this libcurl would take a proxy from the environment, and the network guard would check the
        // address of that proxy instead of the server's.
        try set(CURLOPT_PROXY, "")
        try set(CURLOPT_NOPROXY, "")
        try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        try set(CURLOPT_USERAGENT, options.userAgent)
        try set(CURLOPT_BUFFERSIZE, options.bufferSize)
        try set(CURLOPT_CONNECTTIMEOUT_MS, max(1, options.connectTimeout.milliseconds))
        switch options.family {
        case .any: break
        case .ipv4: try set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V4))
        case .ipv6: try set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V6))
        }
        if let certificates = setup.certificates {
            try set(CURLOPT_CAINFO, certificates)
            try set(CURLOPT_PROXY_CAINFO, certificates)
        }
        if options.isInsecure {
            try set(CURLOPT_SSL_VERIFYPEER, 0)
            try set(CURLOPT_SSL_VERIFYHOST, 0)
        }
        try larder_curl_set_pointer(handle, CURLOPT_ERRORBUFFER, errorBuffer).check()
        if !hasHostAddresses, let addresses = setup.addressList {
            // The loop's DNS cache keeps the addresses. Each handle still has to set them, since libcurl
            // stores per handle whether one is for all hosts (`*`).
            try larder_curl_set_list(handle, CURLOPT_RESOLVE, addresses).check()
            hasHostAddresses = true
        }
        try setCallbacks(me)
        hasOnlyCommonOptions = true
    }

    /// Sets the network guard, the proxy, and whether to wait for a shared connection.
    private func setRoute(_ request: FetchRequest) throws(FetchFailure) {
        networkGuard = request.nearestZone == .thisMachine ? nil : NetworkGuard(request.nearestZone)
        usesProxy = false
        if !options.proxies.isEmpty {
            let proxy = options.proxies.proxy(for: request.url)
            if proxy != nil {
                // The proxy looks names up itself, so that only an address in the URL can be checked.
                if let networkGuard, let address = IPAddress(request.url.host),
                    let refusal = networkGuard.refusal(of: address)
                {
                    throw FetchFailure(.refused, refusal)
                }
                networkGuard = nil
                usesProxy = true
            }
            try set(CURLOPT_PROXY, proxy?.text ?? "")
        }
        // With TLS it pays to wait for the handshake, which shows whether the server takes many requests on
        // one connection. Without TLS there is only HTTP/1.1, and libcurl would wait for a whole response to
        // learn that.
        let isSecure = request.url.scheme == "https"
        if isSecure != waitsForSharedConnection {
            try set(CURLOPT_PIPEWAIT, isSecure ? 1 : 0)
            waitsForSharedConnection = isSecure
        }
    }

    /// Adds the login and the client certificate for the URL's origin, if there are any.
    private func addCredentials(_ request: FetchRequest, _ fields: inout HTTPFields) throws(FetchFailure) {
        if options.credentials.isEmpty { return }
        if !fields.contains("Authorization"), let login = options.credentials.login(for: request.url) {
            switch login {
            case .basic(let user, let password):
                fields.append("Authorization", "Basic " + Base64.encode(Array("\(user):\(password)".utf8)))
            case .bearer(let token):
                fields.append("Authorization", "Bearer \(token)")
            case .digest(let user, let password):
                try setChallengeLogin(user, password, LARDER_CURL_AUTH_DIGEST)
            case .digestOrBasic(let user, let password):
                try setChallengeLogin(user, password, LARDER_CURL_AUTH_BASIC | LARDER_CURL_AUTH_DIGEST)
            }
        }
        if let certificate = options.credentials.certificate(for: request.url) {
            hasOnlyCommonOptions = false
            usesCredentials = true
            try set(CURLOPT_SSLCERT, certificate.certificate)
            try set(CURLOPT_SSLKEY, certificate.key ?? certificate.certificate)
            if let passphrase = certificate.passphrase { try set(CURLOPT_KEYPASSWD, passphrase) }
        }
    }

    /// Adds cookies that the page's scripts set to those that libcurl sends from the jar.
    private func setPageCookies(_ cookies: [PageCookie], for url: WebURL) throws(FetchFailure) {
        guard !isAnonymous, let additional = try setup.cookies?.additionalCookies(cookies, for: url),
            !additional.isEmpty
        else {
            return
        }
        hasOnlyCommonOptions = false
        try set(CURLOPT_COOKIE, additional)
    }

    /// Lets libcurl answer the server's 401 response, by one of the authentication schemes.
    private func setChallengeLogin(_ user: String, _ password: String, _ schemes: Int) throws(FetchFailure) {
        hasOnlyCommonOptions = false
        try set(CURLOPT_USERNAME, user)
        try set(CURLOPT_PASSWORD, password)
        try set(CURLOPT_HTTPAUTH, schemes)
    }

    /// Adds the fields that request the rest of a stored part. Throws `.mismatch` if a server could not tell
    /// whether its body is still the same.
    private func addRangeFields(for request: FetchRequest, _ fields: inout HTTPFields) throws(FetchFailure) {
        guard let resumedPart = request.resume else { return }
        guard request.method == "GET", request.body == nil, resumedPart.byteCount > 0,
            let condition = resumedPart.ifRangeValidator,
            PartialBody.canResume(with: resumedPart.fields)
        else {
            throw FetchFailure(
                .mismatch, "the server cannot confirm that the rest belongs to the stored part")
        }
        fields.set("Range", "bytes=\(resumedPart.byteCount)-")
        fields.set("If-Range", condition)
        // The stored part is decoded, so the rest must not be coded either.
        fields.set("Accept-Encoding", "identity")
    }

    /// Sets the header fields, the method and the body.
    private func setHeader(_ request: FetchRequest, _ fields: HTTPFields) throws(FetchFailure) {
        sentFields.removeAll()
        for field in fields.list where !Self.framingFields.contains(field.name) {
            try sentFields.append(field)
        }
        // `CURLOPT_ACCEPT_ENCODING` is not used: libcurl would decode the body and not report where it breaks
        // off.
        if !fields.contains("Accept-Encoding") {
            var codings =
                request.codings.map(ContentCoding.acceptEncoding(forClient:)) ?? ContentCoding.acceptEncoding
            if let dictionary = offeredDictionary {
                codings += DictionaryCoding.available.map { ", " + $0.rawValue }.joined()
                let offer = DictionaryOffer(sha256: dictionary.sha256, id: request.dictionaryID)
                for field in offer.fields.list { try sentFields.append(field) }
            }
            try sentFields.appendLine("Accept-Encoding: \(codings)")
        }
        if request.codings != nil {
            for name in ["User-Agent", "Accept"] where !fields.contains(name) {
                try sentFields.suppress(name)
            }
        }
        if request.isServerWide {
            hasOnlyCommonOptions = false
            try set(CURLOPT_REQUEST_TARGET, "*")
        }
        if request.method != "GET" || request.body != nil { try setMethodAndBody(request, fields) }
        try larder_curl_set_list(handle, CURLOPT_HTTPHEADER, sentFields.list).check()
    }

    private func setMethodAndBody(_ request: FetchRequest, _ fields: HTTPFields) throws(FetchFailure) {
        guard HTTPGrammar.isToken(request.method.utf8) else {
            throw FetchFailure(.refused, "'\(request.method)' is not a method")
        }
        hasOnlyCommonOptions = false
        if let body = request.body ?? (request.method == "POST" ? [] : nil) {
            guard request.method != "HEAD" else {
                throw FetchFailure(.refused, "a HEAD request cannot have a body")
            }
            try larder_curl_set_large(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count)).check()
            // An empty array may have no address. Without one, libcurl would read the body by a callback.
            try body.withUnsafeBytes {
                larder_curl_set_pointer(
                    handle, CURLOPT_COPYPOSTFIELDS, $0.baseAddress ?? UnsafeRawPointer(errorBuffer))
            }.check()
            if !fields.contains("Content-Type") { try sentFields.suppress("Content-Type") }
            // libcurl would wait up to a second for a 100 response, which few servers send.
            try sentFields.suppress("Expect")
        }
        switch request.method {
        case "HEAD": try set(CURLOPT_NOBODY, 1)
        case "POST": break
        default: try set(CURLOPT_CUSTOMREQUEST, request.method)
        }
    }

    /// Fields that only libcurl writes. A second statement about where a message ends would allow request
    /// smuggling.
    private static let framingFields: FieldNames = [
        "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer",
        "expect",
    ]

    private func set(_ option: CURLoption, _ value: Int) throws(FetchFailure) {
        try larder_curl_set_long(handle, option, value).check()
    }

    private func set(_ option: CURLoption, _ value: String) throws(FetchFailure) {
        try larder_curl_set_text(handle, option, value).check()
    }
}

/// A list of header fields in libcurl's form. libcurl does not copy it, so it must not change while the
/// request runs.
struct FieldList: ~Copyable {
    private(set) var list: UnsafeMutablePointer<curl_slist>?

    init() {}

    deinit { curl_slist_free_all(list) }

    mutating func removeAll() {
        curl_slist_free_all(list)
        list = nil
    }

    /// Adds a field. Throws if its name or value would not stay on one line, which may happen with recorded
    /// requests.
    mutating func append(_ field: HTTPFields.Field) throws(FetchFailure) {
        guard field.isSendable else {
            throw FetchFailure(.refused, "'\(field.name)' cannot be sent as a header")
        }
        // libcurl omits a header that ends with the colon, and sends an empty one that ends with a semicolon.
        let isEmpty = !field.value.utf8.contains { $0 != 0x20 && $0 != 0x09 }
        var line = Array(field.name.utf8)
        line += (isEmpty ? ";" : ": ").utf8
        // A value that was received as bytes is sent as the same bytes.
        if !isEmpty { HTTPGrammar.append(field.value, to: &line) }
        try appendToList(&line)
    }

    /// Keeps libcurl from adding this header by itself.
    mutating func suppress(_ name: String) throws(FetchFailure) {
        try appendLine("\(name):")
    }

    /// Adds a line in libcurl's form.
    mutating func appendLine(_ line: String) throws(FetchFailure) {
        var bytes = HTTPGrammar.bytes(of: line)
        try appendToList(&bytes)
    }

    private mutating func appendToList(_ bytes: inout [UInt8]) throws(FetchFailure) {
        bytes.append(0)
        let longer = bytes.withUnsafeBytes {
            curl_slist_append(list, $0.baseAddress?.assumingMemoryBound(to: CChar.self))
        }
        guard let longer else { throw FetchFailure(.machine, "out of memory") }
        list = longer
    }
}
