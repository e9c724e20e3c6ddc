package import Codings
internal import Glibc
package import Web

/// A request for the fetch loop to send.
package struct FetchRequest: Sendable {
    /// Identifies the request in its result.
    package var number: UInt32
    package var url: WebURL
    /// Header fields, which override those that `FetchOptions.hostFields` has for the host.
    package var fields: HTTPFields
    package var method = "GET"
    /// Cookies that a page's scripts set for this URL. Sent only if the loop has a cookie jar, and without
    /// those whose names the jar already sends.
    package var cookies: [PageCookie] = []
    /// The body of the request, which any method but HEAD may have.
    package var body: [UInt8]?
    /// Whether to leave the response's body in its content coding.
    package var keepsCoding = false
    /// The `Accept-Encoding` of the client that the request is sent for. Larder requests those of its codings
    /// that it can decode itself, and leaves a body in any other coding as it is. It adds neither
    /// `User-Agent` nor `Accept`.
    package var codings: String?
    /// A stored response with which the server may compress the body (RFC 9842). It must be of the same origin. It is
    /// not offered by anonymous requests, since its digest identifies the user like a cookie, by plain http to other
    /// machines, with codings of the caller, nor for bodies that are streamed or left in their coding. If the
    /// body cannot be decoded with it, the loop requests the whole.
    package var dictionary: CompressionDictionary?
    /// The server's name for the dictionary; empty if it gave none.
    package var dictionaryID = ""
    /// Whether to open a new connection, rather than use one that earlier requests have used.
    var needsNewConnection = false
    /// The page that links to this URL. Sent as `Referer`, by the default policy of browsers.
    package var referrer: WebURL?
    /// Whether to send nothing that identifies the user: no cookies, logins, client certificate or
    /// `FetchOptions.hostFields`. Cookies of the response are not stored.
    package var isAnonymous = false
    /// Whether to send `*` in place of the URL's path, to ask for the capabilities of the whole server (RFC 9112,
    /// section 3.2.4).
    package var isServerWide = false
    /// The nearest network zone that this request may connect to: the zone of the response whose link or
    /// redirect is followed.
    package var nearestZone: NetworkZone
    /// The maximum number of body bytes, counted after decoding. The transfer ends there, and the response
    /// has the beginning of the body. Nil fetches the whole body, up to `FetchOptions.maxBodyBytes`.
    package var maxBytes: Int?
    /// The stored beginning of the body, to request only the rest. The loop owns its file from now on.
    /// `FetchResult.partial` returns it if the body was not completed and the part is still of use.
    package var resume: PartialBody?
    /// Called with interim responses such as 103 Early Hints, on the loop's thread. Not called for 100 and 101,
    /// which concern only the connection.
    package var interim: (@Sendable (_ status: Int, _ fields: HTTPFields) -> Void)?
    /// Receives the response as it arrives.
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

/// A receiver of a response as it arrives, in addition to the `FetchResult`. Called on the loop's thread.
package protocol BodyStream: AnyObject, Sendable {
    /// Called when the header is complete.
    ///
    /// - Parameters:
    ///   - isCoded: whether the body is delivered in the coding that the fields name. If not, it is decoded.
    ///   - byteCount: the size of the body as it is delivered; nil if unknown.
    /// - Returns: whether the stream wants the body.
    func begin(status: Int, fields: HTTPFields, isCoded: Bool, byteCount: Int?) -> Bool
    /// Whether the stream can take more bytes. If not, the transfer pauses until it can and the loop is
    /// woken.
    var hasRoom: Bool { get }
    /// Whether the client of the stream is gone. The transfer then ends, unless nearly the whole body has
    /// been received.
    var isGone: Bool { get }
    /// Called with the next bytes of the body, which are valid only during the call.
    func take(_ bytes: UnsafeRawBufferPointer)
    /// Called once, at the end of the transfer, if `begin` returned true.
    func end(isWhole: Bool)
}

/// The result of a request.
package struct FetchResult: Sendable {
    package var number: UInt32
    package var url: WebURL
    package var outcome: Outcome
    /// The bytes of the response as it was transferred: the headers, and the body before decoding.
    package var wireByteCount: Int
    /// Nil when no request was sent.
    package var exchange: Exchange?
    /// The header fields of the request, with those that the options add for its host, but without
    /// `Authorization`, `Cookie` and `Proxy-Authorization`. Requests with other values may get another
    /// response if it varies by these fields. Empty if no request was sent.
    package var sentFields: HTTPFields
    /// The part of the body that a later request can resume: the beginning of a body that broke off, or
    /// `FetchRequest.resume` if the response did not continue it. The receiver of the result owns the file.
    package var partial: PartialBody?
    /// Whether the response to a resumed request was complete, but had only a part of the missing bytes.
    package var hasOnlyPartOfRest = false
    /// Whether the request's stream received the whole body although it could not be stored. The outcome is
    /// then a failure.
    package var isStreamedOnly = false

    /// The network zone that the response came from; the public network if no request was sent.
    package var zone: NetworkZone { exchange?.zone ?? .publicNetwork }

    package enum Outcome: Sendable {
        case response(FetchedResponse)
        case failure(FetchFailure)
    }
}

extension FetchResult {
    /// Creates the result of a request that was not sent.
    package init(number: UInt32, url: WebURL, outcome: Outcome) {
        self.init(
            number: number, url: url, outcome: outcome, wireByteCount: 0, exchange: nil,
            sentFields: HTTPFields())
    }
}

extension FetchedResponse {
    /// Creates a response that no server has sent, such as one from an archive. Its body is decoded.
    package init(status: Int, fields: HTTPFields, body: FetchedBody) {
        self.init(status: status, fields: fields, body: body, isCoded: false)
    }
}

/// A response of a server.
package struct FetchedResponse: Sendable {
    package var status: Int
    package var fields: HTTPFields
    package var body: FetchedBody
    /// Whether the body is still in the coding that the header fields name.
    package var isCoded = false
    /// Whether the body was cut off at `FetchRequest.maxBytes`.
    package var isCut = false
    /// How the end of the body was indicated.
    package var ending = ResponseSummary.Ending.declared
    /// The network zone that the response came from, if known. Its links may be requested only from there or
    /// from a more public zone.
    package var zone: NetworkZone?
}

/// The body of a response, in memory or in a file.
package enum FetchedBody: Sendable {
    case bytes([UInt8])
    /// A body that was larger than `FetchOptions.spoolThreshold`, or resumed. The receiver owns the file.
    case file(path: String, byteCount: Int)

    package var byteCount: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .file(_, let byteCount): byteCount
        }
    }

    /// Removes the file of a body that is not needed.
    package func discard() {
        if case .file(let path, _) = self { unlink(path) }
    }
}

/// How a request and its response were transferred.
package struct Exchange: Sendable, Equatable {
    package enum Version: String, Sendable, Equatable {
        case http10 = "HTTP/1.0"
        case http11 = "HTTP/1.1"
        case http2 = "HTTP/2"
    }

    package enum Security: Sendable, Equatable {
        /// No TLS.
        case plain
        /// TLS with a certificate that was verified.
        case verified
        /// TLS without a check of the server's certificate: `FetchOptions.isInsecure`.
        case unverified
    }

    /// The HTTP version of the response; nil if there was none.
    package var version: Version?
    package var security: Security
    /// The address of the server or, if there is one, of the proxy.
    package var peer: IPAddress?
    package var usesProxy: Bool
    /// Whether an open connection was used, without a name lookup and a handshake.
    package var isReused: Bool
    /// Whether the request identified the user, by cookies, a login, a secret header field or a client
    /// certificate. Its response is private.
    package var usedCredentials: Bool
    package var timings: Timings
    /// Whether one connection can carry several requests at once.
    package var multiplexes: Bool { version == .http2 }

    /// The network zone that the response came from. Through a proxy it is the public network.
    package var zone: NetworkZone { usesProxy ? .publicNetwork : peer?.kind.zone ?? .publicNetwork }

    /// Times since the start of the transfer; zero for steps that did not take place.
    package struct Timings: Sendable, Equatable {
        /// The end of the TCP handshake.
        package var connected: Duration
        /// The end of the TLS handshake.
        package var secured: Duration
        package var requestSent: Duration
        /// The arrival of the first byte of the response.
        package var firstByte: Duration
        package var done: Duration

        /// The time from the request to the first byte of the response, which grows with the server's load.
        package var latency: Duration { max(.zero, firstByte - requestSent) }
    }
}

/// A receiver of the bodies of all requests of a loop as they arrive. They are then stored neither in memory nor in files,
/// and the responses have empty bodies. Called on the loop's thread.
package protocol BodyReceiver: AnyObject {
    /// Called when the header of a response is complete. An unwanted body is discarded as it arrives.
    ///
    /// - Returns: whether the body is wanted.
    func begin(_ number: UInt32, status: Int, fields: HTTPFields) -> Bool
    /// Called with the next bytes, decoded unless the request keeps the content coding.
    ///
    /// - Returns: whether more bytes are wanted. If not, the request fails as too large.
    func take(_ number: UInt32, _ bytes: Span<UInt8>) -> Bool
}
