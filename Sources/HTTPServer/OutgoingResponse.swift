package import Web

/// The response to one request as it is sent to one client.
///
/// An `Answer` is shared by all clients and never changes. What differs by client is decided here: added
/// header lines, the status (304, 206, 412, 416), the ranges of the body, and its compression. The body is
/// not copied: `pieces` refers to ranges of the answer's memory or file. Section numbers refer to RFC 9110.
struct OutgoingResponse {
    /// A part of the body as it is sent.
    enum Piece {
        case bytes([UInt8])
        /// A range of the answer's body, which is in memory or in a file.
        case body(Range<Int>)
    }

    let answer: Answer
    /// The bytes up to the body; nil for the answer's own head, unchanged.
    let head: [UInt8]?
    /// The parts of the body; nil for the answer's own whole body.
    let pieces: [Piece]?

    /// Creates the whole response, with header lines for this client at the end of the answer's head.
    ///
    /// - Parameter withBody: False for HEAD requests.
    init(_ answer: Answer, clientFields: [UInt8], withBody: Bool) {
        self.answer = answer
        head =
            clientFields.isEmpty
            ? nil : answer.bytes[..<(answer.headByteCount - 2)] + clientFields + Self.endOfHead
        pieces = withBody ? nil : []
    }

    /// Creates the response that contains the selected part of an answer.
    ///
    /// - Parameters:
    ///   - acceptsZstd: Whether the client accepts the answer's zstd-compressed body as the body.
    ///   - coded: The changes for a client that accepts other codings than those of the answer.
    ///   - boundary: The separator of several parts, which must not occur in the body.
    init(
        _ answer: Answer, _ selection: ResponseSelection, clientFields: [UInt8], withBody: Bool,
        acceptsZstd: Bool = false, coded: CodedReply? = nil,
        boundary: @autoclosure () -> String
    ) {
        // A part is no dictionary, and neither is an error.
        let replaced = coded?.replacedFields ?? []
        let allFields = clientFields + (coded?.lines ?? [])
        let contentRangeLine: (ContentRange) -> String = { "Content-Range: \($0.text)\r\n" }
        let total = answer.bodyByteCount
        switch selection {
        case .whole:
            let body =
                coded?.body
                ?? (acceptsZstd ? answer.zstdBody : nil).map { (bytes: $0, coding: "zstd") }
            guard let (body, coding) = body else {
                guard !replaced.isEmpty else {
                    self.init(answer, clientFields: allFields, withBody: withBody)
                    return
                }
                self.init(
                    answer, answer.status, without: replaced, allFields, pieces: withBody ? nil : [])
                return
            }
            let lines =
                Self.weakTag(of: answer)
                + "Content-Encoding: \(coding)\r\nContent-Length: \(body.count)\r\n"
            self.init(
                answer, answer.status, without: Self.lengthFields + ["accept-ranges", "etag"] + replaced,
                allFields + lines.utf8,
                pieces: withBody ? [.bytes(body)] : [])
        case .notModified:
            // §15.4.5: a 304 omits the fields that describe the body, because the client has them. Without a
            // tag, Last-Modified is the only validator and is repeated.
            var omitted: [StaticString] =
                replaced + (answer.entityTag == nil ? Self.bodyFields : Self.bodyFields + ["last-modified"])
            let isCoded = acceptsZstd && answer.zstdBody != nil
            if isCoded { omitted.append("etag") }
            self.init(
                answer, 304, without: omitted, allFields + (isCoded ? Self.weakTag(of: answer) : "").utf8,
                pieces: [])
        case .failed:
            self.init(
                answer, 412, without: Self.bodyFields + Self.validatorFields,
                clientFields + Self.emptyBodyLength, pieces: [])
        case .unsatisfiable:
            let line = contentRangeLine(ContentRange(range: nil, total: total))
            self.init(
                answer, 416, without: Self.bodyFields + Self.validatorFields,
                clientFields + line.utf8 + Self.emptyBodyLength,
                pieces: [])
        case .parts(let parts):
            if parts.count == 1 {
                let lines =
                    contentRangeLine(ContentRange(range: parts[0], total: total))
                    + "Content-Length: \(parts[0].count)\r\n"
                self.init(
                    answer, 206, without: Self.lengthFields, clientFields + lines.utf8,
                    pieces: [.body(parts[0])])
            } else {
                self.init(answer, parts, clientFields, boundary: boundary())
            }
        }
    }

    /// Creates a multipart message, in which each part has a head of its own (§14.6).
    private init(_ answer: Answer, _ parts: [Range<Int>], _ clientFields: [UInt8], boundary: String) {
        let type = HeadLines(answer).first { HeadLines.isNamed($0, ["content-type"]) } ?? []
        var pieces: [Piece] = []
        var byteCount = 0
        for (number, part) in parts.enumerated() {
            let content = ContentRange(range: part, total: answer.bodyByteCount)
            let start = "\(number == 0 ? "" : "\r\n")--\(boundary)\r\n"
            let head = Array(start.utf8) + type + "Content-Range: \(content.text)\r\n\r\n".utf8
            pieces += [.bytes(head), .body(part)]
            byteCount += head.count + part.count
        }
        let end = Array("\r\n--\(boundary)--\r\n".utf8)
        pieces.append(.bytes(end))
        let lines = """
            Content-Type: multipart/byteranges; boundary=\(boundary)\r
            Content-Length: \(byteCount + end.count)\r\n
            """
        self.init(
            answer, 206, without: Self.lengthFields + ["content-type"], clientFields + lines.utf8,
            pieces: pieces)
    }

    /// Creates a response from the answer's head with another status, without the fields `names`, and with
    /// the additional `lines`.
    private init(
        _ answer: Answer, _ status: Int, without names: [StaticString], _ lines: some Sequence<UInt8>,
        pieces: [Piece]?
    ) {
        self.answer = answer
        var head = Array("HTTP/1.1 \(status) \(StatusPhrase.of(status))\r\n".utf8)
        head.reserveCapacity(answer.headByteCount + 256)
        for line in HeadLines(answer) where !HeadLines.isNamed(line, names) { head += line }
        head += lines
        head += Self.endOfHead
        self.head = head
        self.pieces = pieces
    }

    /// §8.8.3.3: a strong tag identifies the bytes of one coding, so the other coding gets a weak tag.
    /// Clients must not combine parts of both.
    private static func weakTag(of answer: Answer) -> String {
        guard let tag = answer.entityTag else { return "" }
        return "ETag: \(tag.hasPrefix("W/") ? "" : "W/")\(tag)\r\n"
    }

    /// The empty line after the header fields.
    private static let endOfHead: [UInt8] = [0x0d, 0x0a]
    private static let emptyBodyLength = Array("Content-Length: 0\r\n".utf8)
    private static let lengthFields: [StaticString] = ["content-length"]
    /// The fields that describe the body, which a response without it must not repeat.
    private static let bodyFields: [StaticString] = [
        "content-length", "content-type", "content-encoding", "content-language", "content-range",
        "accept-ranges",
    ]
    private static let validatorFields: [StaticString] = ["etag", "last-modified"]
}

/// The part of an answer that a request gets, by its preconditions and ranges (RFC 9110 §13 and §14.2). A
/// pure value: the decision needs no I/O.
enum ResponseSelection: Equatable {
    /// The whole answer, with its own status.
    case whole
    /// 304: the client's copy is current.
    case notModified
    /// 412: a precondition is false.
    case failed
    /// 416: the body has none of the requested bytes.
    case unsatisfiable
    /// 206 with one part, or with several in a multipart message.
    case parts([Range<Int>])

    /// The estimated size of the head of each of several parts. Ranges that are nearer to each other than
    /// this are sent as one.
    private static let partHeadBytes = 120

    /// - Parameters:
    ///   - fields: The header fields of the request.
    ///   - now: The time of the answer, used if the answer has no date.
    ///   - role: A cache uses the date of an answer without `Last-Modified` (RFC 9111, section 4.3.2).
    init(
        of answer: Answer, method: String, fields: HTTPFields, now: HTTPDate,
        as role: Preconditions.Role = .origin
    ) {
        // §13.2.1: conditions apply only if the answer would be successful without them. A 206 was already
        // made for the requested range.
        guard (200..<300).contains(answer.status), answer.status != 206 else {
            self = .whole
            return
        }
        var validatorFields = HTTPFields()
        if let tag = answer.entityTag { validatorFields.append("ETag", tag) }
        if let date = answer.lastModified { validatorFields.append("Last-Modified", date) }
        // `If-Range` is compared with the answer's real validators, without the date that a cache adds below.
        let validator = Validator(validatorFields)
        let conditions = Preconditions(fields)
        if role == .cache, answer.lastModified == nil, let date = answer.date {
            validatorFields.append("Last-Modified", date.text)
        }
        switch conditions.evaluate(Validator(validatorFields), method: CacheRequest.Method(method), as: role)
        {
        case .notModified: self = .notModified
        case .failed: self = .failed
        case .proceed:
            // §14.2: only GET supports ranges.
            guard method == "GET", answer.status == 200, let text = fields["Range"],
                let ranges = ByteRanges(text),
                conditions.allowsRange(of: validator, date: answer.date ?? now)
            else {
                self = .whole
                return
            }
            self = Self.resolve(ranges, in: answer.bodyByteCount)
        }
    }

    /// Converts requested ranges to parts of a body. Joins near ones, and sends the whole body if parts would
    /// be no shorter.
    private static func resolve(_ ranges: ByteRanges, in byteCount: Int) -> ResponseSelection {
        var parts = ranges.resolved(in: byteCount)
        // An empty body is sent whole.
        guard !parts.isEmpty else { return byteCount == 0 ? .whole : .unsatisfiable }
        if parts.count > 1 {
            let joined = joinNearParts(parts)
            if joined.count < parts.count { parts = joined }
        }
        // §15.3.7.2: several parts must not be larger than the whole body.
        let cost = parts.lazy.map { $0.count + Self.partHeadBytes }.reduce(0, +)
        return parts.count > 1 && cost >= byteCount ? .whole : .parts(parts)
    }

    /// Sorts the ranges, and joins those whose distance is at most `partHeadBytes`.
    private static func joinNearParts(_ parts: [Range<Int>]) -> [Range<Int>] {
        var joined: [Range<Int>] = []
        for part in parts.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = joined.last, part.lowerBound - last.upperBound <= partHeadBytes {
                joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, part.upperBound)
            } else {
                joined.append(part)
            }
        }
        return joined
    }
}

extension Answer {
    /// The value of the answer's `Date` field.
    package var date: HTTPDate? {
        guard hasDate, let line = HeadLines(self).first(where: { HeadLines.isNamed($0, ["date"]) }) else {
            return nil
        }
        return HTTPDate(String(decoding: HeadLines.value(line), as: UTF8.self))
    }
}
