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
    /// The request told who larder is: by cookies, a login or a client certificate. Once it has, whatever came is private.
    package var usedCredentials: Bool
    package var timings: Timings

    /// Where the links of the answer may lead.
    package var reach: Reach { usesProxy ? .publicNetwork : peer?.kind.reach ?? .publicNetwork }

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
