internal import Web

/// What one client is sent for one request.
struct Outgoing {
    enum Piece {
        case bytes([UInt8])
        /// A part of the answer's body, wherever it is.
        case body(Range<Int>)
    }

    let answer: Answer
    /// Everything up to the body; nil for the answer's own head, unchanged.
    let head: [UInt8]?
    /// Nil for the answer's own body, whole.
    let pieces: [Piece]?

    /// The answer as it is, with lines of this client's own before the empty line of its head.
    init(_ answer: Answer, ownFields: [UInt8], withBody: Bool) {
        self.answer = answer
        head = ownFields.isEmpty ? nil : answer.bytes[..<(answer.headCount - 2)] + ownFields + Self.end
        pieces = withBody ? nil : []
    }

    /// What was selected of the answer.
    ///
    /// - Parameter boundary: stands between parts, and in none of them.
    init(
        _ answer: Answer, _ selection: Selection, ownFields: [UInt8], withBody: Bool,
        boundary: @autoclosure () -> String
    ) {
        let range: (ContentRange) -> String = { "Content-Range: \($0.text)\r\n" }
        let total = answer.bodyByteCount
        switch selection {
        case .whole:
            self.init(answer, ownFields: ownFields, withBody: withBody)
        case .notModified:
            // §15.4.5: what speaks of the body is known to the client already.
            let known: [StaticString] = answer.entityTag == nil ? Self.ofBody : Self.ofBody + ["last-modified"]
            self.init(answer, 304, without: known, ownFields, pieces: [])
        case .failed:
            self.init(answer, 412, without: Self.ofBody + Self.validators, ownFields + Self.empty, pieces: [])
        case .unsatisfiable:
            let line = range(ContentRange(range: nil, total: total))
            self.init(
                answer, 416, without: Self.ofBody + Self.validators, ownFields + line.utf8 + Self.empty, pieces: [])
        case .parts(let parts):
            if parts.count == 1 {
                let lines = range(ContentRange(range: parts[0], total: total)) + "Content-Length: \(parts[0].count)\r\n"
                self.init(
                    answer, 206, without: Self.ofLength, ownFields + lines.utf8, pieces: [.body(parts[0])])
            } else {
                self.init(answer, parts, ownFields, boundary: boundary())
            }
        }
    }

    /// Several parts: a message with a head for each (§14.6).
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
        self.init(answer, 206, without: Self.ofLength + ["content-type"], ownFields + lines.utf8, pieces: pieces)
    }

    /// The answer's head with another status, without some of its lines and with others.
    private init(
        _ answer: Answer, _ status: Int, without names: [StaticString], _ lines: some Sequence<UInt8>, pieces: [Piece]
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

    private static let end: [UInt8] = [0x0d, 0x0a]
    private static let empty = Array("Content-Length: 0\r\n".utf8)
    private static let ofLength: [StaticString] = ["content-length"]
    private static let ofBody: [StaticString] = [
        "content-length", "content-type", "content-encoding", "content-language", "content-range", "accept-ranges",
    ]
    private static let validators: [StaticString] = ["etag", "last-modified"]
}
