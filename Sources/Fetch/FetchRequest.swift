internal import Glibc
package import Web

/// One request that the loop is to make. The number comes back with the result.
package struct FetchRequest: Sendable {
    package var number: UInt32
    package var url: WebURL
    /// They win over what `FetchOptions` has for the host.
    package var fields: HTTPFields
    package var method = "GET"
    /// What a page's scripts set for this address, beside what the jar has; where there is a jar.
    package var cookies: [PageCookie] = []
    /// Sent along, whatever the method.
    package var body: [UInt8]?
    /// The body stays as it was sent, with its content coding.
    package var keepsCoding = false
    /// The codings that somebody else takes (`Accept-Encoding`), for whom this is asked: the server is asked
    /// for those among them that can be undone, and what it codes in another way stays so. Nothing that names
    /// larder is added to the request's fields.
    package var codings: String?
    /// The page that led here. Only `FetchOptions.sendsReferrer` makes a Referer of it.
    package var referrer: WebURL?
    /// Tells nobody who larder is: neither cookies nor logins, no client certificate, and no fields that are
    /// for its host. Cookies that come with its answer are not kept.
    package var isAnonymous = false
    /// Asks the server for what it can do: in the URL's place stands `*` (RFC 9112, section 3.2.4).
    package var asksWholeServer = false
    /// The nearest network zone that this request may connect to: the zone of the response whose link or
    /// redirect is followed.
    package var nearestZone: NetworkZone
    /// The most bytes of the body, without its content coding, that are fetched. The transfer ends there, and the
    /// response has the beginning of the body. Nil fetches all of it, up to `FetchOptions.maxBody`.
    package var maxBytes: Int?
    /// Asks for the rest of this body only. Its file is the loop's until the result tells what became of it.
    package var resume: PartialBody?
    /// Told what comes before the answer, such as 103 Early Hints, on the thread of the loop. A 100 and a 101
    /// are between neighbours alone.
    package var interim: (@Sendable (_ status: Int, _ fields: HTTPFields) -> Void)?
    /// Gets the answer while it comes.
    package var stream: (any BodyStream)?

    package init(
        number: UInt32, url: WebURL, nearestZone: NetworkZone, fields: HTTPFields = HTTPFields()
    ) {
        self.number = number
        self.url = url
        self.nearestZone = nearestZone
        self.fields = fields
    }
}

/// Somebody who gets an answer while it comes, beside whoever gets the result. It is called on the loop's
/// thread.
package protocol BodyStream: AnyObject, Sendable {
    /// The header is whole.
    ///
    /// - Parameters:
    ///   - isCoded: the body comes in the coding that the fields name; else that is undone.
    ///   - byteCount: of the body as it comes; nil where nobody knows.
    /// - Returns: whether the body is wanted.
    func begin(status: Int, fields: HTTPFields, isCoded: Bool, byteCount: Int?) -> Bool
    /// Whether more can be taken. When it cannot, the server waits until the loop is woken and it can.
    var hasRoom: Bool { get }
    /// Nobody takes it any more: unless nearly all of it is there, it is given up.
    var isGone: Bool { get }
    func take(_ bytes: UnsafeRawBufferPointer)
    /// Once, where the body was wanted.
    func end(isWhole: Bool)
}

/// What became of a request.
package struct FetchResult: Sendable {
    package var number: UInt32
    package var url: WebURL
    package var outcome: Outcome
    /// What came over the wire, before any content coding was undone.
    package var wireByteCount: Int
    /// Nil when no request was sent.
    package var exchange: Exchange?
    /// What the request said of itself and by the options for its host, but for what is secret. Other
    /// requests may be answered otherwise where the answer varies by these.
    package var sentFields: HTTPFields
    /// What a later request can go on with: the beginning of a body that broke off, or, unchanged, what the
    /// request was to resume and did not get to. Whoever gets it owns the file.
    package var partial: PartialBody?
    /// The rest was asked for, and the server sent a part of it, whole.
    package var isShortPart = false
    /// The request's stream got all of the body, which failed to be kept beside.
    package var isPassedOn = false

    /// The network zone that the response came from; the public network if no request was sent.
    package var zone: NetworkZone { exchange?.zone ?? .publicNetwork }

    package enum Outcome: Sendable {
        case response(FetchedResponse)
        case failure(FetchFailure)
    }
}

package struct FetchedResponse: Sendable {
    package var status: Int
    package var fields: HTTPFields
    package var body: FetchedBody
    /// The body is in the coding that its fields name.
    package var isCoded = false
    /// The body is only the beginning of what the server sent: `FetchRequest.maxBytes`.
    package var isCut = false
    /// How the end of the body was told.
    package var ending = JudgedResponse.Ending.declared
    /// The network zone that the response came from, if known. Its links may be requested only from there or
    /// from a more public zone.
    package var zone: NetworkZone?
}

/// A body without its content coding.
package enum FetchedBody: Sendable {
    case bytes([UInt8])
    /// Larger than `FetchOptions.spoolThreshold`, or resumed; whoever gets it owns the file.
    case file(path: String, byteCount: Int)

    package var byteCount: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .file(_, let byteCount): byteCount
        }
    }

    /// Removes the file of a body that nobody wants.
    package func discard() {
        if case .file(let path, _) = self { unlink(path) }
    }
}

/// How a request and its answer travelled.
package struct Exchange: Sendable, Equatable {
    package enum Version: String, Sendable, Equatable {
        case http10 = "HTTP/1.0"
        case http11 = "HTTP/1.1"
        case http2 = "HTTP/2"
    }

    package enum Security: Sendable, Equatable {
        case plain
        case verified
        /// TLS, with nobody asked who is at the other end: `FetchOptions.isInsecure`.
        case unverified
    }

    /// Nil when no answer came.
    package var version: Version?
    package var security: Security
    /// Whom the connection led to: the proxy where there is one.
    package var peer: IPAddress?
    package var usesProxy: Bool
    /// On a connection that was open already: no name was looked up, and no hands were shaken.
    package var isReused: Bool
    /// The request told who larder is: by cookies, a login or a client certificate. Once it has, whatever
    /// came is private.
    package var usedCredentials: Bool
    package var timings: Timings
    /// Whether one connection carries many requests at once.
    package var multiplexes: Bool { version == .http2 }

    /// The network zone that the response came from. Through a proxy it is the public network.
    package var zone: NetworkZone { usesProxy ? .publicNetwork : peer?.kind.zone ?? .publicNetwork }

    /// Moments since the start of the transfer; zero for what did not happen.
    package struct Timings: Sendable, Equatable {
        package var nameFound: Duration
        package var connected: Duration
        package var secured: Duration
        package var requestSent: Duration
        package var firstByte: Duration
        package var done: Duration

        /// From the request to the first byte of its answer: what a server's load shows in.
        package var latency: Duration { max(.zero, firstByte - requestSent) }
    }
}

/// Takes bodies while they come: they are then neither in memory nor in a file, and the responses have empty
/// ones. It is called on the loop's thread, for each request in the order of its bytes.
package protocol BodyReceiver: AnyObject {
    /// The header of an answer is whole. A body that is not wanted is dropped as it comes.
    ///
    /// - Returns: whether the body is wanted.
    func begin(_ number: UInt32, status: Int, fields: HTTPFields) -> Bool
    /// The next bytes, without their content coding unless the request keeps it.
    ///
    /// - Returns: whether there is a use for more; if not, the request fails as too large.
    func take(_ number: UInt32, _ bytes: Span<UInt8>) -> Bool
}
