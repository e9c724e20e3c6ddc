/// A response of a test origin, including faults such as a truncated body.
///
/// Create it with an initializer or a static function, and modify it with the functions that return a changed
/// copy.
package struct OriginAnswer: Sendable {
    package var status: Int
    /// The headers, without `Content-Length`, `Transfer-Encoding` and `Connection`, which are added on
    /// sending.
    package var fields: [(String, String)]
    package var body: [UInt8]
    var framing = Framing.length(nil)
    var fault: Fault?
    var headDelay = Duration.zero
    var drip: (pieceSize: Int, pause: Duration)?
    var closesAfterwards = false
    var interim: [(status: Int, fields: [(String, String)])] = []
    var validators: Validators?

    /// The way in which the end of the body is indicated.
    enum Framing {
        /// A `Content-Length`: the given one, or that of the body if nil.
        case length(Int?)
        case chunked(size: Int)
        /// No length. The end of the connection ends the body.
        case untilClose
    }

    /// An error that the origin makes on purpose.
    enum Fault {
        case closeBeforeHead
        case resetBeforeHead
        /// Sends these bytes instead of a response, and closes.
        case garbage([UInt8])
        /// Closes the connection after this many bytes of the body.
        case closeAfter(Int)
        /// Resets the connection after this many bytes of the body.
        case resetAfter(Int)
        /// Sends this many bytes of the body in chunks, then an invalid chunk size.
        case brokenChunkAfter(Int)
        /// Repeats the body until the client closes the connection.
        case endless
    }

    /// The validators for conditional requests.
    struct Validators {
        var entityTag: String?
        var lastModified: String?
        var allowsRanges: Bool
    }

    package init(status: Int = 200, fields: [(String, String)] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    package init(status: Int = 200, fields: [(String, String)] = [], text: String) {
        self.init(status: status, fields: fields, body: Array(text.utf8))
    }

    // MARK: - Plain answers

    package static func page(_ html: String, status: Int = 200) -> OriginAnswer {
        OriginAnswer(status: status, fields: [("Content-Type", "text/html; charset=utf-8")], text: html)
    }

    package static func file(_ bytes: [UInt8], type: String) -> OriginAnswer {
        OriginAnswer(fields: [("Content-Type", type)], body: bytes)
    }

    package static func file(_ text: String, type: String) -> OriginAnswer {
        .file(Array(text.utf8), type: type)
    }

    package static func redirect(to location: String, status: Int = 302) -> OriginAnswer {
        OriginAnswer(status: status, fields: [("Location", location)])
    }

    package static func failure(_ status: Int, fields: [(String, String)] = []) -> OriginAnswer {
        OriginAnswer(status: status, fields: fields + [("Content-Type", "text/plain")], text: "\(status)\n")
    }

    // MARK: - Faults

    /// Closes the connection after the request.
    package static var hangUp: OriginAnswer { OriginAnswer().with { $0.fault = .closeBeforeHead } }

    /// Resets the connection after the request.
    package static var reset: OriginAnswer { OriginAnswer().with { $0.fault = .resetBeforeHead } }

    /// Sends text that is not HTTP, and closes.
    package static func garbage(_ text: String) -> OriginAnswer {
        OriginAnswer().with { $0.fault = .garbage(Array(text.utf8)) }
    }

    /// Sends these bytes as the whole response, and closes.
    package static func raw(_ bytes: [UInt8]) -> OriginAnswer {
        OriginAnswer().with { $0.fault = .garbage(bytes) }
    }

    /// A response with an endless body that repeats `piece`.
    package static func endless(_ piece: String, type: String = "text/html") -> OriginAnswer {
        OriginAnswer.file(piece, type: type).with {
            $0.fault = .endless
            $0.framing = .untilClose
        }
    }

    /// Announces the whole body, sends only its first `count` bytes, and closes.
    package func truncated(after count: Int) -> OriginAnswer { with { $0.fault = .closeAfter(count) } }

    /// Resets the connection after `count` bytes of the body.
    package func reset(after count: Int) -> OriginAnswer { with { $0.fault = .resetAfter(count) } }

    /// Sends the whole body with a different `Content-Length`, and keeps the connection open.
    package func claiming(length: Int) -> OriginAnswer { with { $0.framing = .length(length) } }

    /// Sends `count` bytes of the body in chunks, then an invalid chunk size.
    package func brokenChunk(after count: Int) -> OriginAnswer {
        with { $0.fault = .brokenChunkAfter(count) }
    }

    // MARK: - Pace and framing

    package func delayed(_ delay: Duration) -> OriginAnswer { with { $0.headDelay = delay } }

    /// Pauses between pieces of the body.
    package func dripping(_ pieceSize: Int = 1, every pause: Duration) -> OriginAnswer {
        with { $0.drip = (max(pieceSize, 1), pause) }
    }

    package func chunked(_ size: Int = 4096) -> OriginAnswer {
        with { $0.framing = .chunked(size: max(size, 1)) }
    }

    package func untilClose() -> OriginAnswer { with { $0.framing = .untilClose } }

    /// Sends an interim response, such as 103, before this one.
    package func preceded(by status: Int, _ fields: [(String, String)] = []) -> OriginAnswer {
        with { $0.interim.append((status, fields)) }
    }

    /// Sends `Connection: close`, and closes the connection after the response.
    package func closing() -> OriginAnswer { with { $0.closesAfterwards = true } }

    package func adding(_ name: String, _ value: String) -> OriginAnswer {
        with { $0.fields.append((name, value)) }
    }

    /// Adds validators, and evaluates `If-None-Match` and `If-Modified-Since`; with `ranges`, also `Range`
    /// and `If-Range`.
    package func validated(entityTag: String?, lastModified: String? = nil, ranges: Bool = true)
        -> OriginAnswer
    {
        with {
            $0.validators = Validators(entityTag: entityTag, lastModified: lastModified, allowsRanges: ranges)
        }
    }

    private func with(_ change: (inout OriginAnswer) -> Void) -> OriginAnswer {
        var answer = self
        change(&answer)
        return answer
    }
}
