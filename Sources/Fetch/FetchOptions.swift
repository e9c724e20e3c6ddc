package import Codings

/// The options of a fetch loop, with the limits on the responses of servers.
package struct FetchOptions: Sendable {
    package var userAgent: String
    /// The folder for the files of bodies that are larger than `spoolThreshold`.
    package var spoolFolder: String
    /// The maximum size of a body in memory, in bytes.
    package var spoolThreshold = 512 * 1024

    // MARK: - Sizes

    /// Returns the free space of the file system that contains an open file, in bytes; nil if unknown.
    var freeSpace: @Sendable (_ file: Int32) -> Int? = Spool.freeSpace
    /// The maximum size of a body in bytes. A larger one fails as too large. It is counted after decoding, since
    /// a small download can decode to an endless body.
    package var maxBodyBytes = 8 * 1024 * 1024 * 1024
    /// The maximum size of a response's headers in bytes, with those of interim responses and the trailers. A
    /// response with more of them fails as too large.
    var maxHeaderBytes = 256 * 1024
    /// The maximum length of a URL in bytes. A request for a longer one fails as too large.
    package var maxURLBytes = 64 * 1024
    /// Limits how much a body may grow when it is decoded.
    package var expansion = ExpansionLimit()
    /// The beginning of a body that broke off is kept, to be resumed, if it has at least this many bytes.
    var minPartialBytes = 256 * 1024
    /// Writes a description beside the file of a large body while it is received. If this process is killed,
    /// the next one can then resume the body.
    package var describesParts = false

    // MARK: - Times

    package var connectTimeout: Duration = .seconds(20)
    /// A transfer fails if it moves no bytes for this long.
    package var stallTimeout: Duration = .seconds(30)
    /// The maximum time from the request to the end of the response's header. A later one is a timeout.
    package var headerTimeout: Duration = .seconds(120)
    /// The maximum time from the request to the end of the response, which is then a timeout; nil for no limit.
    package var totalTimeout: Duration?
    /// The minimum average rate over a `speedWindow`. A slower transfer is a timeout: some servers send just
    /// enough to avoid `stallTimeout`.
    package var minBytesPerSecond = 64
    package var speedWindow: Duration = .seconds(60)
    /// Audio or video without a declared length fails as endless after this time, if its average rate is
    /// below `UnboundedBody.Limits.minMediaBytesPerSecond` and there is no limit by `bytesPerSecond`.
    var slowMediaTimeout: Duration = .seconds(30)
    /// The same for other bodies without a declared length, below `UnboundedBody.Limits.minOtherBytesPerSecond`.
    var slowBodyTimeout: Duration = .seconds(120)
    /// Any body without a declared length fails as endless after this time, at whatever rate it arrives.
    var unboundedBodyTimeout: Duration = .seconds(900)
    /// The maximum rate at which all transfers together receive; nil for no limit.
    package var bytesPerSecond: Int?

    // MARK: - Connections

    /// The maximum number of connections that stay open for later requests. Beyond it, the oldest is closed.
    package var maxIdleConnections = 64
    /// The maximum number of connections to one host. Further requests wait for one of them; over HTTP/2 many
    /// requests share one.
    package var maxConnectionsPerHost = 64
    package var family = AddressFamily.any
    package var hostAddresses: [HostAddress] = []
    package var proxies = ProxyRules.ofEnvironment
    /// The hosts whose http URLs are upgraded to https, with those that ask for it later; nil upgrades none.
    package var strictTransport: StrictTransport? = StrictTransport()

    // MARK: - Trust

    /// The path of a PEM file with certificates that are trusted in addition to the system's.
    package var authorities: String?
    /// Accepts any certificate. `Exchange.security` of the responses is then `unverified`.
    package var isInsecure = false

    // MARK: - Identity

    package var credentials = Credentials()
    package var hostFields = HostFields()
    package var cookies: CookieOptions?

    package init(userAgent: String, spoolFolder: String) {
        self.userAgent = userAgent
        self.spoolFolder = spoolFolder
    }
}

/// The address family that connections use.
package enum AddressFamily: Sendable {
    case any, ipv4, ipv6
}

extension FetchOptions {
    /// Whether requests may identify the user: by the user's cookies, a login, a client certificate or a
    /// header field that may be secret.
    package var hasSession: Bool {
        hasUserCookies || !credentials.isEmpty || hostFields.hasSecrets
    }

    /// Whether requests may contain cookies of the user. Those of a snapshot do not identify the user.
    var hasUserCookies: Bool { cookies.map { !$0.belongToSnapshot } ?? false }

    var timeLimits: TransferTimer.Limits {
        TransferTimer.Limits(
            stall: stallTimeout, header: headerTimeout, total: totalTimeout,
            minBytesPerSecond: minBytesPerSecond,
            rateWindow: speedWindow)
    }

    var unboundedBodyLimits: UnboundedBody.Limits {
        UnboundedBody.Limits(
            slowMediaTime: slowMediaTimeout, slowOtherTime: slowBodyTimeout, maxTime: unboundedBodyTimeout)
    }

    /// The size of libcurl's receive buffer in bytes. It is small under a low rate limit, which cannot delay
    /// bytes that have been read.
    var bufferSize: Int { bytesPerSecond.map { min(65_536, max(1024, $0 / 16)) } ?? 65_536 }
}
