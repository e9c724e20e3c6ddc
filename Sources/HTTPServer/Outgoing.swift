package import Web

/// The response to one request as it is sent to one client.
struct Outgoing {
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

    /// The unchanged answer, with header lines for this client at the end of its head.
    init(_ answer: Answer, ownFields: [UInt8], withBody: Bool) {
        self.answer = answer
        head = ownFields.isEmpty ? nil : answer.bytes[..<(answer.headCount - 2)] + ownFields + Self.end
        pieces = withBody ? nil : []
    }

    /// The selected part of an answer.
    ///
    /// - Parameters:
    ///   - takesZstd: Whether the client accepts the answer's zstd frame as the body.
    ///   - boundary: The separator of several parts, which must not occur in the body.
    init(
        _ answer: Answer, _ selection: Selection, ownFields: [UInt8], withBody: Bool, takesZstd: Bool = false,
        boundary: @autoclosure () -> String
    ) {
        let range: (ContentRange) -> String = { "Content-Range: \($0.text)\r\n" }
        let total = answer.bodyByteCount
        switch selection {
        case .whole:
            guard takesZstd, let frame = answer.frame else {
                self.init(answer, ownFields: ownFields, withBody: withBody)
                return
            }
            let lines =
                Self.weakTag(of: answer) + "Content-Encoding: zstd\r\nContent-Length: \(frame.count)\r\n"
            self.init(
                answer, answer.status, without: Self.ofLength + ["accept-ranges", "etag"],
                ownFields + lines.utf8,
                pieces: withBody ? [.bytes(frame)] : [])
        case .notModified:
            // §15.4.5: the client already has the fields that describe the body.
            var known: [StaticString] =
                answer.entityTag == nil ? Self.ofBody : Self.ofBody + ["last-modified"]
            let isCoded = takesZstd && answer.frame != nil
            if isCoded { known.append("etag") }
            self.init(
                answer, 304, without: known, ownFields + (isCoded ? Self.weakTag(of: answer) : "").utf8,
                pieces: [])
        case .failed:
            self.init(answer, 412, without: Self.ofBody + Self.validators, ownFields + Self.empty, pieces: [])
        case .unsatisfiable:
            let line = range(ContentRange(range: nil, total: total))
            self.init(
                answer, 416, without: Self.ofBody + Self.validators, ownFields + line.utf8 + Self.empty,
                pieces: [])
        case .parts(let parts):
            if parts.count == 1 {
                let lines =
                    range(ContentRange(range: parts[0], total: total))
                    + "Content-Length: \(parts[0].count)\r\n"
                self.init(
                    answer, 206, without: Self.ofLength, ownFields + lines.utf8, pieces: [.body(parts[0])])
            } else {
                self.init(answer, parts, ownFields, boundary: boundary())
            }
        }
    }

    /// Several parts: a multipart message with a head for each part (§14.6).
    private init(_ answer: Answer, _ parts: [Range<Int>], _ ownFields: [UInt8], boundary: String) {
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
            answer, 206, without: Self.ofLength + ["content-type"], ownFields + lines.utf8, pieces: pieces)
    }

    /// The answer's head with another status, without some of its lines and with additional ones.
    private init(
        _ answer: Answer, _ status: Int, without names: [StaticString], _ lines: some Sequence<UInt8>,
        pieces: [Piece]
    ) {
        self.answer = answer
        var head = Array("HTTP/1.1 \(status) \(StatusPhrase.of(status))\r\n".utf8)
        head.reserveCapacity(answer.headCount + 256)
        for line in HeadLines(answer) where !HeadLines.isNamed(line, names) { head += line }
        head += lines
        head += Self.end
        self.head = head
        self.pieces = pieces
    }

    /// §8.8.3.3: a strong tag identifies the bytes of one coding, so the other coding gets a weak tag.
    /// Clients must not combine parts of both.
    private static func weakTag(of answer: Answer) -> String {
        guard let tag = answer.entityTag else { return "" }
        return "ETag: \(tag.hasPrefix("W/") ? "" : "W/")\(tag)\r\n"
    }

    private static let end: [UInt8] = [0x0d, 0x0a]
    private static let empty = Array("Content-Length: 0\r\n".utf8)
    private static let ofLength: [StaticString] = ["content-length"]
    private static let ofBody: [StaticString] = [
        "content-length", "content-type", "content-encoding", "content-language", "content-range",
        "accept-ranges",
    ]
    private static let validators: [StaticString] = ["etag", "last-modified"]
}

/// The part of an answer that a request gets, by its conditions and ranges (RFC 9110 §13 and §14.2). A pure
/// value.
enum Selection: Equatable {
    case whole
    /// 304
    case notModified
    /// 412
    case failed
    /// 416
    case unsatisfiable
    /// 206 with one part, or with several in a multipart message.
    case parts([Range<Int>])

    /// The estimated size of the head of each of several parts, in bytes.
    private static let partCost = 120

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
        var known = HTTPFields()
        if let tag = answer.entityTag { known.append("ETag", tag) }
        if let date = answer.lastModified { known.append("Last-Modified", date) }
        let validator = Validator(known)
        let conditions = Preconditions(fields)
        if role == .cache, answer.lastModified == nil, let date = answer.date {
            known.append("Last-Modified", date.text)
        }
        switch conditions.evaluate(Validator(known), method: CacheRequest.Method(method), as: role) {
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
            self = Self.parts(of: ranges, in: answer.bodyByteCount)
        }
    }

    private static func parts(of ranges: ByteRanges, in byteCount: Int) -> Selection {
        var parts = ranges.resolved(in: byteCount)
        // An empty body is sent whole.
        guard !parts.isEmpty else { return byteCount == 0 ? .whole : .unsatisfiable }
        if parts.count > 1 {
            let joined = joiningNear(parts)
            if joined.count < parts.count { parts = joined }
        }
        // §15.3.7.2: several parts must not be larger than the whole body.
        let cost = parts.lazy.map { $0.count + Self.partCost }.reduce(0, +)
        return parts.count > 1 && cost >= byteCount ? .whole : .parts(parts)
    }

    /// Sorts the ranges, and joins those whose distance is at most `partCost`.
    private static func joiningNear(_ parts: [Range<Int>]) -> [Range<Int>] {
        var joined: [Range<Int>] = []
        for part in parts.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = joined.last, part.lowerBound - last.upperBound <= partCost {
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
