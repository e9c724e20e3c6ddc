internal import Web

/// A request as a responder sees it; good only while it responds.
struct Request {
    let head: RequestHead
    let bytes: UnsafeBufferPointer<UInt8>
    /// Whole, and without its chunks; within `ServerLimits.bodyByteCount`.
    let body: UnsafeBufferPointer<UInt8>

    init(
        head: RequestHead, bytes: UnsafeBufferPointer<UInt8>,
        body: UnsafeBufferPointer<UInt8> = UnsafeBufferPointer(start: nil, count: 0)
    ) {
        self.head = head
        self.bytes = bytes
        self.body = body
    }

    var authority: String { String(decoding: host, as: UTF8.self) }
    var host: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(rebasing: bytes[head.host]) }
    var ifNoneMatch: String? { text(head.ifNoneMatch) }
    var accept: String? { text(head.accept) }
    var origin: String? { text(head.origin) }

    /// Whether a browser says that another origin's page asks.
    var isCrossOrigin: Bool {
        guard let site = head.fetchSite else { return head.origin != nil }
        return !HeadBytes.matches(bytes, site, "same-origin") && !HeadBytes.matches(bytes, site, "none")
            || head.origin != nil
    }

    /// As it was sent: methods are told apart by case.
    var method: String { String(decoding: bytes[head.methodName], as: UTF8.self) }

    /// An absolute target may end with its authority, which asks for "/" (RFC 9112 §3.2.1).
    var target: UnsafeBufferPointer<UInt8> {
        let root: StaticString = "/"
        return head.target.isEmpty
            ? UnsafeBufferPointer(start: root.utf8Start, count: 1) : UnsafeBufferPointer(rebasing: bytes[head.target])
    }

    var targetText: String { String(decoding: target, as: UTF8.self) }

    /// All of them; read anew each time.
    var fields: HTTPFields {
        HTTPFields(block: UnsafeBufferPointer(rebasing: bytes[head.fields]).span)
    }

    private func text(_ range: Range<Int>?) -> String? {
        range.map { String(decoding: bytes[$0], as: UTF8.self) }
    }
}
