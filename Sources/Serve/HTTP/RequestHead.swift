/// The head of a request as ranges of the bytes it came in. A pure value: bytes in, what they say out.
struct RequestHead: Equatable {
    enum Method: Equatable {
        case get
        case head
        case other
    }

    enum Parsing: Equatable {
        /// More bytes are needed.
        case incomplete
        case head(RequestHead)
        /// The status that refuses it; the connection cannot go on.
        case refused(Int)
    }

    var method: Method
    /// The path and query; empty when an absolute target ends with its authority.
    var target: Range<Int>
    /// The value of `Host`, or the authority of an absolute target.
    var host: Range<Int>
    var accept: Range<Int>?
    var ifNoneMatch: Range<Int>?
    var origin: Range<Int>?
    var isKeptAlive: Bool
    var bodyCount: Int
    /// Where the body begins.
    var end: Int

    /// Reads the head at the start of `bytes` by RFC 9112, strictly: what two readers could take differently is refused.
    static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> Parsing {
        var reader = HeadReader(bytes)
        return reader.read()
    }
}
