/// The head of a request as ranges of the bytes it came in. A pure value: bytes in, what they say out.
package struct RequestHead: Equatable {
    package enum Method: Equatable {
        case get
        case head
        case other
    }

    /// How the end of the body is found (RFC 9112 §6.3).
    package enum Body: Equatable {
        case none
        case length(Int)
        case chunked
    }

    package enum Parsing: Equatable {
        /// More bytes are needed.
        case incomplete
        case head(RequestHead)
        /// The status that refuses it; the connection cannot go on.
        case refused(Int)
    }

    package var method: Method
    package var methodName: Range<Int>
    /// The path and query; empty when an absolute target ends with its authority; `*` of the method OPTIONS.
    package var target: Range<Int>
    /// The value of `Host`, or the authority of an absolute target. Empty for HTTP/1.0 without either.
    package var host: Range<Int>
    var accept: Range<Int>?
    var ifNoneMatch: Range<Int>?
    var origin: Range<Int>?
    /// `Sec-Fetch-Site`: a browser's word on who asks.
    var fetchSite: Range<Int>?
    /// The field lines, each with its end.
    package var fields: Range<Int>
    /// Whether there is a condition or a range among the fields.
    var isConditional = false
    /// HTTP/1.0, whose clients take the end of the connection for the end of the answer unless they are told otherwise.
    var isOld: Bool
    var isKeptAlive: Bool
    var expectsContinue = false
    package var body: Body
    /// Where the body begins.
    package var end: Int

    /// Whether its answer goes out as it is, and nothing is added to it.
    var isPlain: Bool { isKeptAlive && !isConditional && !isOld && method != .head }

    /// The length of the body where it is known from the start.
    var bodyCount: Int {
        if case .length(let count) = body { count } else { 0 }
    }

    /// Reads the head at the start of `bytes` by RFC 9112, strictly: what two readers could take differently is refused.
    package static func parse(
        _ bytes: UnsafeBufferPointer<UInt8>, limits: ServerLimits = .standard
    ) -> Parsing {
        var reader = HeadReader(bytes, limits)
        return reader.read()
    }

    /// Whether a head that was incomplete may be complete now that bytes came in behind the first `count`: the empty line
    /// that ends it is there. Without it, reading again would find nothing new.
    static func mayEnd(_ bytes: UnsafeBufferPointer<UInt8>, behind count: Int) -> Bool {
        var last: UInt8 = 0
        for index in max(0, count - 2)..<bytes.count where bytes[index] != 0x0d {
            if bytes[index] == 0x0a, last == 0x0a { return true }
            last = bytes[index]
        }
        return false
    }
}
