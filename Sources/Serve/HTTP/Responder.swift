/// Answers requests. Each server thread has one of its own, which nobody else touches.
protocol Responder: AnyObject {
    func respond(to request: Request) -> Reply
}

/// A request as a responder sees it; good only while it responds.
struct Request {
    let head: RequestHead
    let bytes: UnsafeBufferPointer<UInt8>

    var host: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(rebasing: bytes[head.host]) }
    var ifNoneMatch: String? { text(head.ifNoneMatch) }
    var accept: String? { text(head.accept) }
    var origin: String? { text(head.origin) }

    /// An absolute target may end with its authority, which asks for "/" (RFC 9112 §3.2.1).
    var target: UnsafeBufferPointer<UInt8> {
        let root: StaticString = "/"
        return head.target.isEmpty
            ? UnsafeBufferPointer(start: root.utf8Start, count: 1) : UnsafeBufferPointer(rebasing: bytes[head.target])
    }

    private func text(_ range: Range<Int>?) -> String? {
        range.map { String(decoding: bytes[$0], as: UTF8.self) }
    }
}
