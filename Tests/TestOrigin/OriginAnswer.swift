/// What an origin sends back, and how it misbehaves while it does.
///
/// Made by an initializer or one of the static functions, then bent by the functions that return another
/// answer.
package struct OriginAnswer: Sendable {
    package var status: Int
    /// `Content-Length`, `Transfer-Encoding` and `Connection` are added by the way of sending.
    package var fields: [(String, String)]
    package var body: [UInt8]
    var framing = Framing.length(nil)
    var fault: Fault?
    var headDelay = Duration.zero
    var drip: (pieceSize: Int, pause: Duration)?
    var closesAfterwards = false
    var interim: [(status: Int, fields: [(String, String)])] = []
    var validators: Validators?

    enum Framing {
        /// `Content-Length`, the body's own unless another one is claimed.
        case length(Int?)
        case chunked(size: Int)
        /// No length: the body ends with the connection.
        case untilClose
    }

    enum Fault {
        case closeBeforeHead
        case resetBeforeHead
        /// These bytes in place of a head, then the end.
        case garbage([UInt8])
        /// So many bytes of the body, then an orderly end.
        case closeAfter(Int)
        /// So many bytes of the body, then a reset.
        case resetAfter(Int)
        /// So many bytes of the body in chunks, then a chunk whose size is no number.
        case brokenChunkAfter(Int)
        /// The body again and again, until the client goes.
        case endless
    }

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

    /// Takes the request and hangs up.
    package static var hangUp: OriginAnswer { OriginAnswer().with { $0.fault = .closeBeforeHead } }

    /// Takes the request and resets the connection.
    package static var reset: OriginAnswer { OriginAnswer().with { $0.fault = .resetBeforeHead } }

    /// Sends what is no HTTP, and hangs up.
    package static func garbage(_ text: String) -> OriginAnswer {
        OriginAnswer().with { $0.fault = .garbage(Array(text.utf8)) }
    }

    /// Sends these bytes, head and all, and hangs up.
    package static func raw(_ bytes: [UInt8]) -> OriginAnswer {
        OriginAnswer().with { $0.fault = .garbage(bytes) }
    }

    /// A body that never ends, made of `piece`.
    package static func endless(_ piece: String, type: String = "text/html") -> OriginAnswer {
        OriginAnswer.file(piece, type: type).with {
            $0.fault = .endless
            $0.framing = .untilClose
        }
    }

    /// Promises the whole body, sends only its start, and hangs up.
    package func truncated(after count: Int) -> OriginAnswer { with { $0.fault = .closeAfter(count) } }

    /// Resets the connection in the middle of the body.
    package func reset(after count: Int) -> OriginAnswer { with { $0.fault = .resetAfter(count) } }

    /// Sends the body whole under another `Content-Length`, and keeps the connection.
    package func claiming(length: Int) -> OriginAnswer { with { $0.framing = .length(length) } }

    /// Chunks that break off with a size which is no number.
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

    /// Sends an interim answer, such as 103, before this one.
    package func preceded(by status: Int, _ fields: [(String, String)] = []) -> OriginAnswer {
        with { $0.interim.append((status, fields)) }
    }

    /// Says `Connection: close`, and does.
    package func closing() -> OriginAnswer { with { $0.closesAfterwards = true } }

    package func adding(_ name: String, _ value: String) -> OriginAnswer {
        with { $0.fields.append((name, value)) }
    }

    /// Answers `If-None-Match`, `If-Modified-Since`, and with `ranges` also `Range` and `If-Range`.
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
