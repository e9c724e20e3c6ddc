internal import Digest
internal import Fetch
internal import Glibc
internal import Store
internal import System
internal import Web

/// Bodies in a bucket of Amazon S3 or of a compatible server. Belongs to one thread, and runs several requests at a
/// time.
///
/// A body up to 16 MiB is uploaded in one request, whose signature includes its SHA-256, so that the server rejects
/// altered bytes. A larger one is a multipart upload. Temporary failures (5xx, 429, `SlowDown`) are retried for some
/// seconds.
final class S3BodyDepot: ExternalBodyStorage {
    let name: String
    private let prefix: String
    private let origin: S3Origin
    private let keys: S3Keys
    private let options: FetchOptions
    /// The loop that sends the requests; created by the first one.
    private var loop: FetchLoop?
    /// The difference between the server's clock and ours, in seconds.
    private var clockOffset: Int64 = 0

    /// The maximum size of a body that is uploaded in one request. Larger ones are uploaded in parts.
    private static let maxSingleUploadBytes = 16 * 1024 * 1024
    /// The maximum number of concurrent requests. Others wait.
    private static let maxConcurrentRequests = 12
    /// The maximum number of attempts per request; with the pauses between them, about five seconds.
    var maxAttempts = 7

    /// Opens buckets with the keys in the environment: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`,
    /// `AWS_SESSION_TOKEN`, and, if the address does not contain them, `AWS_REGION` and `AWS_ENDPOINT_URL`.
    static let opener = BucketOpener { place, folder throws(StoreError) in
        func variable(_ names: String...) -> String? {
            names.lazy.compactMap { getenv($0).map { String(cString: $0) } }.first { !$0.isEmpty }
        }
        return try S3BodyDepot(place, folder, variable: { variable($0) })
    }

    init(
        _ place: BodyStorageLocation, _ folder: StoreFolder, variable: (String) -> String?
    ) throws(StoreError) {
        guard case .bucket(let bucket, let prefix) = place.kind else {
            throw StoreError(.request, doing: "open", path: place.text, detail: "it is not a bucket")
        }
        guard let id = variable("AWS_ACCESS_KEY_ID"), let secret = variable("AWS_SECRET_ACCESS_KEY"),
            !id.isEmpty
        else {
            throw StoreError(
                .denied, doing: "open", path: place.text, detail: "there is no access key",
                advice: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment")
        }
        let endpoint = place.endpoint ?? variable("AWS_ENDPOINT_URL_S3") ?? variable("AWS_ENDPOINT_URL")
        let region = place.region ?? variable("AWS_REGION") ?? variable("AWS_DEFAULT_REGION") ?? "us-east-1"
        guard let url = WebURL(endpoint ?? "https://s3.\(region).amazonaws.com"), url.isHTTP,
            !url.hasCredentials
        else {
            throw StoreError(
                .request, doing: "open", path: place.text,
                detail: "its endpoint is not an http or https URL",
                advice: "write it like https://minio.example.com:9000, without a user name")
        }
        name = place.text
        self.prefix = prefix
        origin = S3Origin(url: url, bucket: bucket, region: region)
        keys = S3Keys(id: id, secret: secret, token: variable("AWS_SESSION_TOKEN"))
        var options = FetchOptions(userAgent: Product.userAgent, spoolFolder: folder.incoming)
        options.strictTransport = nil
        options.maxIdleConnections = Self.maxConcurrentRequests
        options.maxBodyBytes = .max
        options.minBytesPerSecond = 1024
        self.options = options
    }

    /// Does nothing: its owner creates the bucket.
    func create() throws(StoreError) {}

    func byteCounts(_ names: [String]) throws(StoreError) -> [Int?] {
        let answers = try answers(to: names.map { call("HEAD", $0) }, doing: "look into")
        return try answers.map { answer throws(StoreError) in
            if answer.status == 404 { return nil }
            try check(answer, doing: "look into")
            return answer.fields["Content-Length"].flatMap(Int.init)
        }
    }

    func put(_ bodies: [BodyUpload]) throws(StoreError) {
        var calls: [S3Request] = []
        var byteCount = 0
        func send() throws(StoreError) {
            for answer in try answers(to: calls, doing: "write to") { try check(answer, doing: "write to") }
            calls = []
            byteCount = 0
        }
        for body in bodies {
            guard body.byteCount <= Self.maxSingleUploadBytes else {
                try putMultipart(body)
                continue
            }
            if byteCount + body.byteCount > 2 * Self.maxSingleUploadBytes { try send() }
            var call = call("PUT", body.name)
            call.body = try body.content.load()
            call.sha256 = body.sha256.map(Hex.encode)
            calls.append(call)
            byteCount += body.byteCount
        }
        if !calls.isEmpty { try send() }
    }

    /// Uploads a large body in parts. A failed upload is aborted, so that the bucket does not keep its parts.
    private func putMultipart(_ body: BodyUpload) throws(StoreError) {
        let begun = try answer(to: call("POST", body.name, ["uploads": ""]), doing: "write to")
        guard let upload = S3XMLText(begun.body)["UploadId"] else { throw unexpectedResponse("no upload ID") }
        do throws(StoreError) {
            let tags = try putParts(of: body, upload)
            var list = "<CompleteMultipartUpload>"
            for (place, tag) in tags.enumerated() {
                list += "<Part><PartNumber>\(place + 1)</PartNumber><ETag>\(tag)</ETag></Part>"
            }
            var end = call("POST", body.name, ["uploadId": upload])
            end.body = Array((list + "</CompleteMultipartUpload>").utf8)
            let ended = try answer(to: end, doing: "write to")
            // S3 may send status 200 first, and an error in the body.
            if let code = S3XMLText(ended.body)["Code"] {
                throw error(500, code, S3XMLText(ended.body)["Message"], doing: "write to")
            }
        } catch {
            _ = try? answers(to: [call("DELETE", body.name, ["uploadId": upload])], doing: "write to")
            throw error
        }
    }

    /// Uploads the parts of a body, four at a time. Returns their ETags, with which S3 joins them.
    private func putParts(of body: BodyUpload, _ upload: String) throws(StoreError) -> [String] {
        // S3 allows at most 10,000 parts, of at least 5 MiB each.
        let size = max(Self.maxSingleUploadBytes / 2, (body.byteCount + 9_999) / 10_000)
        guard case .file(let path) = body.content else {
            throw unexpectedResponse("a large body that is not a file")
        }
        let file = try mapSystemError { () throws(SystemError) in try File(path, O_RDONLY) }
        var tags: [String] = []
        var start = 0
        while start < body.byteCount {
            var calls: [S3Request] = []
            while start < body.byteCount, calls.count < 4 {
                var part = call(
                    "PUT", body.name, ["partNumber": "\(tags.count + calls.count + 1)", "uploadId": upload])
                let from = Int64(start)
                part.body = try mapSystemError { () throws(SystemError) in
                    try file.read(from: from, byteCount: size)
                }
                guard let bytes = part.body, !bytes.isEmpty else {
                    throw StoreError(
                        .failed, doing: "read", path: path, detail: "it became shorter meanwhile")
                }
                start += bytes.count
                calls.append(part)
            }
            for answer in try answers(to: calls, doing: "write to") {
                try check(answer, doing: "write to")
                guard let tag = answer.fields["ETag"] else { throw unexpectedResponse("no ETag for a part") }
                tags.append(tag)
            }
        }
        return tags
    }

    private func mapSystemError<Value: ~Copyable>(
        _ body: () throws(SystemError) -> Value
    ) throws(StoreError) -> Value {
        do throws(SystemError) { return try body() } catch { throw StoreError(error) }
    }

    func read(_ name: String, from start: Int, byteCount: Int) throws(StoreError) -> [UInt8]? {
        var call = call("GET", name)
        call.fields = ["Range": "bytes=\(start)-\(start + max(1, byteCount) - 1)"]
        guard let answer = try fetchIfExists(call) else { return nil }
        // 416: the body ends before the range. A server without range support sends the whole body.
        if answer.status == 416 { return [] }
        let bytes = answer.status == 206 ? answer.body[...] : answer.body.dropFirst(start)
        return Array(bytes.prefix(byteCount))
    }

    func file(_ name: String, in folder: String) throws(StoreError) -> BodyStorageFile? {
        guard let answer = try fetchIfExists(call("GET", name)) else { return nil }
        if let path = answer.path { return .copy(path: path) }
        do throws(SystemError) {
            return .copy(path: try WholeFile.makeTemporary(in: folder, named: "body", answer.body))
        } catch {
            throw StoreError(error)
        }
    }

    /// Sends a request for an object; nil if there is no such object.
    private func fetchIfExists(_ call: S3Request) throws(StoreError) -> S3Response? {
        let answer = try answers(to: [call], doing: "read from")[0]
        if answer.status == 404, S3XMLText(answer.body)["Code"] != "NoSuchBucket" { return nil }
        if answer.status != 416 { try check(answer, doing: "read from") }
        return answer
    }

    func list(after name: String) throws(StoreError) -> [BodyStorageEntry] {
        var after = name
        while true {
            var words = ["list-type": "2", "prefix": prefix]
            if !after.isEmpty { words["start-after"] = prefix + after }
            let answer = try answer(to: S3Request(method: "GET", key: "", words: words), doing: "list")
            let list = S3XMLText(answer.body)
            let now = answer.fields.date("Date")?.secondsSinceEpoch ?? SystemClock.secondsSinceEpoch()
            var entries: [BodyStorageEntry] = []
            for object in list.all("Contents") {
                guard let key = object["Key"], key.hasPrefix(prefix),
                    let size = object["Size"].flatMap(Int.init),
                    let date = object["LastModified"].flatMap({ HTTPDate(iso8601: $0) })
                else { continue }
                after = String(key.dropFirst(prefix.count))
                entries.append(
                    BodyStorageEntry(name: after, byteCount: size, ageSeconds: now - date.secondsSinceEpoch))
            }
            guard entries.isEmpty, list["IsTruncated"] == "true", after > name else { return entries }
        }
    }

    func remove(_ names: [String]) throws(StoreError) {
        for answer in try answers(to: names.map { call("DELETE", $0) }, doing: "remove from")
        where answer.status != 404 {
            try check(answer, doing: "remove from")
        }
    }

    private func call(_ method: String, _ name: String, _ words: [String: String] = [:]) -> S3Request {
        S3Request(method: method, key: prefix + name, words: words)
    }

    // MARK: Requests

    private func answer(to call: S3Request, doing: String) throws(StoreError) -> S3Response {
        let answer = try answers(to: [call], doing: doing)[0]
        try check(answer, doing: doing)
        return answer
    }

    /// Sends requests, several at a time, and retries those that failed temporarily, with growing pauses.
    ///
    /// - Returns: The responses in the order of the requests, also those with an error status.
    /// - Throws: `StoreError` if the server cannot be reached.
    private func answers(to calls: [S3Request], doing: String) throws(StoreError) -> [S3Response] {
        var answers: [S3Response?] = Array(repeating: nil, count: calls.count)
        var open = Array(calls.indices)
        for attempt in 1... {
            var failure: FetchFailure?
            try send(open.map { ($0, calls[$0]) }) { place, result in
                switch result {
                case .success(let answer): answers[place] = answer
                case .failure(let reason):
                    answers[place] = nil
                    failure = reason
                }
            }
            open = open.filter { answers[$0].map(canRetry) ?? true }
            guard !open.isEmpty else { break }
            if let failure, !failure.canRetry || attempt == maxAttempts {
                throw unreachableError(failure, doing: doing)
            }
            guard attempt < maxAttempts else { break }
            // The random pause keeps clients that were throttled together from returning together.
            usleep(UInt32.random(in: 25_000...50_000) << UInt32(attempt))
        }
        return answers.compactMap { $0 }
    }

    /// Whether a retry may succeed. A request that was rejected for the clock of this machine is signed again with
    /// the time of the server.
    private func canRetry(_ answer: S3Response) -> Bool {
        if answer.status >= 500 || answer.status == 429 {
            return answer.status != 501 && answer.status != 507
        }
        guard answer.status == 403, S3XMLText(answer.body)["Code"] == "RequestTimeTooSkewed",
            let date = answer.fields.date("Date")?.secondsSinceEpoch
        else { return false }
        let offset = date - SystemClock.secondsSinceEpoch()
        guard abs(offset - clockOffset) > 60 else { return false }
        clockOffset = offset
        return true
    }

    /// Sends requests once, and passes each result on when it arrives.
    private func send(
        _ calls: [(place: Int, call: S3Request)], take: (Int, Result<S3Response, FetchFailure>) -> Void
    ) throws(StoreError) {
        do throws(FetchFailure) {
            let loop = if let loop { loop } else { try FetchLoop(options) }
            self.loop = loop
            var next = 0
            while next < calls.count || loop.runningCount > 0 {
                while next < calls.count, loop.runningCount < Self.maxConcurrentRequests {
                    loop.start(request(calls[next].call, number: UInt32(next)))
                    next += 1
                }
                for result in try loop.turn(waitingAtMost: .seconds(60)) {
                    result.partial?.discard()
                    take(calls[Int(result.number)].place, S3Response.of(result))
                }
            }
        } catch {
            loop = nil
            throw unreachableError(error, doing: "open")
        }
    }

    /// The signed request for the fetch loop.
    private func request(_ call: S3Request, number: UInt32) -> FetchRequest {
        let now = HTTPDate(secondsSinceEpoch: SystemClock.secondsSinceEpoch() + clockOffset)
        var request = FetchRequest(
            number: number, url: origin.url(of: call), nearestZone: .thisMachine,
            fields: S3Signature.fields(of: call, to: origin, keys, now: now))
        request.method = call.method
        request.body = call.body
        request.keepsCoding = true
        return request
    }

    // MARK: Errors

    /// Throws an error for a response that is not a success.
    private func check(_ answer: S3Response, doing: String) throws(StoreError) {
        guard !(200..<300).contains(answer.status) else { return }
        let words = S3XMLText(answer.body)
        // A response to HEAD has no body.
        var code = words["Code"] ?? ""
        if code.isEmpty, answer.status == 301 || answer.status == 307 { code = "PermanentRedirect" }
        let region = answer.fields["x-amz-bucket-region"] ?? words["Region"]
        if let region, region != origin.region, !(500..<600).contains(answer.status) {
            throw StoreError(
                .request, doing: doing, path: name,
                detail: "the bucket is in the region \(region), not in \(origin.region)",
                advice: "add s3-region=\(region) to the address, or set AWS_REGION")
        }
        throw error(answer.status, code, words["Message"], doing: doing)
    }

    private func error(_ status: Int, _ code: String, _ message: String?, doing: String) -> StoreError {
        let said = [code, message ?? ""].filter { !$0.isEmpty }.joined(separator: ": ")
        let detail = said.isEmpty ? "the server answered \(status)" : "\(said) (\(status))"
        let (reason, advice): (StoreError.Reason, String) =
            switch (code, status) {
            case ("NoSuchBucket", _):
                (.missing, "create the bucket, or name another one; the server is \(origin.name)")
            case ("RequestTimeTooSkewed", _): (.failed, "set the clock of this machine")
            case ("InvalidAccessKeyId", _), ("SignatureDoesNotMatch", _), ("InvalidToken", _),
                ("ExpiredToken", _):
                (
                    .denied,
                    "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, and the region \(origin.region)"
                )
            case (_, 401), (_, 403):
                (
                    .denied,
                    "allow this key s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket there"
                )
            case ("QuotaExceeded", _), ("XMinioStorageFull", _), (_, 507):
                (.full, "free some space in the bucket, then run the same command again")
            case (_, 429), (_, 500...):
                (.unreachable, "check the state of \(origin.name), then run the same command again")
            default: (.failed, "check that \(origin.name) is an S3 endpoint, then run the same command again")
            }
        return StoreError(reason, doing: doing, path: name, detail: detail, advice: advice)
    }

    private func unreachableError(_ failure: FetchFailure, doing: String) -> StoreError {
        let isFull = failure.kind == .diskFull
        return StoreError(
            isFull ? .full : .unreachable, doing: doing, path: name, detail: "\(origin.name): \(failure)",
            advice: isFull
                ? "free some space, then run the same command again"
                : "check that the server is running and can be reached, then run the same command again")
    }

    private func unexpectedResponse(_ what: String) -> StoreError {
        StoreError(
            .failed, doing: "write to", path: name, detail: "\(origin.name) sent \(what)",
            advice: "check that it is an S3 endpoint, then run the same command again")
    }
}

extension Larder {
    /// The store at a path or address. Its bodies may be in a bucket.
    static func folder(at place: String) -> StoreFolder {
        var folder = StoreFolder(place)
        folder.buckets = S3BodyDepot.opener
        return folder
    }
}

// MARK: - Requests and answers

/// The server and name of a bucket. The name is the first part of the path, which every S3 server supports.
struct S3Origin: Sendable {
    let url: WebURL
    let bucket: String
    let region: String

    /// The server's origin, for messages.
    var name: String { url.origin }

    func path(of key: String) -> String {
        let base = url.path == "/" ? "" : url.path
        return base + "/" + bucket + (key.isEmpty ? "" : "/" + key)
    }

    /// The URL of a request. Keys contain only characters that need no escaping in a URL.
    func url(of call: S3Request) -> WebURL {
        let query = call.query.isEmpty ? "" : "?" + call.query
        return WebURL(path(of: call.key) + query, base: url) ?? url
    }
}

/// An access key with its secret.
struct S3Keys: Sendable {
    let id: String
    let secret: String
    var token: String?
}

/// A request to a bucket.
struct S3Request: Sendable {
    var method: String
    /// The key of the object; empty for the bucket itself.
    var key: String
    /// The parameters of the query.
    var words: [String: String] = [:]
    var fields: HTTPFields = [:]
    var body: [UInt8]?
    /// The SHA-256 of the body in hexadecimal, if it is known already.
    var sha256: String?

    /// The query in the order in which it is signed.
    var query: String {
        words.map { (S3Signature.encoded($0), S3Signature.encoded($1)) }.sorted { $0 < $1 }
            .map { "\($0)=\($1)" }.joined(separator: "&")
    }
}

/// A response of the server.
struct S3Response: Sendable {
    let status: Int
    let fields: HTTPFields
    /// The body; empty if it is in a file.
    let body: [UInt8]
    /// The file with the body, which the caller removes; nil if the body is in memory.
    var path: String?

    static func of(_ result: FetchResult) -> Result<S3Response, FetchFailure> {
        switch result.outcome {
        case .failure(let failure): return .failure(failure)
        case .response(let response):
            switch response.body {
            case .bytes(let bytes):
                return .success(S3Response(status: response.status, fields: response.fields, body: bytes))
            case .file(let path, _):
                guard response.status == 200 else {
                    response.body.discard()
                    return .success(S3Response(status: response.status, fields: response.fields, body: []))
                }
                return .success(S3Response(status: 200, fields: response.fields, body: [], path: path))
            }
        }
    }
}

/// The text of the elements of an S3 response in XML. This is no general parser: S3 responses have no attributes, and
/// element names are unique except in lists.
struct S3XMLText {
    private let text: String

    init(_ bytes: [UInt8]) { text = String(decoding: bytes, as: UTF8.self) }

    private init(_ text: Substring) { self.text = String(text) }

    subscript(_ name: String) -> String? {
        all(name).first.map {
            $0.text.replacing("&quot;", with: "\"").replacing("&lt;", with: "<").replacing("&gt;", with: ">")
                .replacing("&#34;", with: "\"").replacing("&amp;", with: "&")
        }
    }

    func all(_ name: String) -> [S3XMLText] {
        var found: [S3XMLText] = []
        var rest = text[...]
        while let start = rest.firstRange(of: "<\(name)>") {
            rest = rest[start.upperBound...]
            guard let end = rest.firstRange(of: "</\(name)>") else { break }
            found.append(S3XMLText(rest[..<end.lowerBound]))
            rest = rest[end.upperBound...]
        }
        return found
    }
}

// MARK: - S3Signature

/// Signs requests with AWS Signature Version 4: a chain of HMACs of the secret key, the day, the region and the
/// service, over the request.
enum S3Signature {
    /// The header fields of a signed request.
    static func fields(of call: S3Request, to origin: S3Origin, _ keys: S3Keys, now: HTTPDate) -> HTTPFields {
        let time = now.iso8601.filter { $0 != "-" && $0 != ":" }
        let bytes = call.body ?? []
        let body = call.sha256 ?? DigestStream.digest(.sha256, of: bytes.span).hex
        var signed = [("host", origin.host), ("x-amz-content-sha256", body), ("x-amz-date", time)]
        if let range = call.fields["Range"] { signed.append(("range", range)) }
        if let token = keys.token { signed.append(("x-amz-security-token", token)) }
        signed.sort { $0.0 < $1.0 }
        let authorization = authorization(
            method: call.method, path: origin.path(of: call.key), query: call.query, signed: signed,
            body: body,
            keys, time: time, region: origin.region, service: "s3")
        var fields = call.fields
        for (name, value) in signed where name != "host" && name != "range" { fields.set(name, value) }
        fields.set("Authorization", authorization)
        fields.set("Accept-Encoding", "identity")
        return fields
    }

    /// - Parameters:
    ///   - signed: header fields in the order of their names, which are in lower case.
    ///   - body: the SHA-256 of the body, in hexadecimal.
    ///   - time: the time as in `20130524T000000Z`.
    static func authorization(
        method: String, path: String, query: String, signed: [(String, String)], body: String, _ keys: S3Keys,
        time: String, region: String, service: String
    ) -> String {
        let names = signed.map(\.0).joined(separator: ";")
        let canonical =
            "\(method)\n\(path)\n\(query)\n" + signed.map { "\($0):\($1)\n" }.joined() + "\n\(names)\n\(body)"
        let day = String(time.prefix(8))
        let scope = "\(day)/\(region)/\(service)/aws4_request"
        let digest = DigestStream.digest(.sha256, of: canonical.utf8.span).hex
        var key = Array("AWS4\(keys.secret)".utf8)
        for word in [day, region, service, "aws4_request"] {
            key = DigestStream.hmac(key, word.utf8.span).bytes
        }
        let signature = DigestStream.hmac(key, "AWS4-HMAC-SHA256\n\(time)\n\(scope)\n\(digest)".utf8.span).hex
        return
            "AWS4-HMAC-SHA256 Credential=\(keys.id)/\(scope), SignedHeaders=\(names), Signature=\(signature)"
    }

    /// The URI encoding of AWS: escapes everything except letters, digits and `-._~`.
    static func encoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default: encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }
}

extension S3Origin {
    /// The value of the `Host` header.
    var host: String { String(name.drop { $0 != "/" }.dropFirst(2)) }
}
