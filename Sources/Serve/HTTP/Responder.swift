/// Answers requests. Each server thread has one of its own, which nobody else touches.
protocol Responder: AnyObject {
    func respond(to request: Request) -> Answer
}

/// A request as a responder sees it; good only while it responds.
struct Request {
    let head: RequestHead
    let bytes: UnsafeBufferPointer<UInt8>

    var host: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(rebasing: bytes[head.host]) }
    var target: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(rebasing: bytes[head.target]) }
    var ifNoneMatch: String? { text(head.ifNoneMatch) }
    var accept: String? { text(head.accept) }

    private func text(_ range: Range<Int>?) -> String? {
        range.map { String(decoding: bytes[$0], as: UTF8.self) }
    }
}
