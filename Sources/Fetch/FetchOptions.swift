package import Codings

/// How the loop fetches. Every limit on what a server may send is here.
package struct FetchOptions: Sendable {
    package var userAgent: String
    /// Bodies that grow past `spoolThreshold` go to files in this folder.
    package var spoolFolder: String
    package var spoolThreshold = 512 * 1024

    // MARK: - Sizes

    /// How much room the file system of an open file has; nil where nobody knows.
    var room: @Sendable (_ file: Int32) -> Int? = Spool.room
    /// After content coding is undone, so that a small download cannot become an endless body.
    package var maxBody = 8 * 1024 * 1024 * 1024
    package var maxHeader = 256 * 1024
    package var maxURL = 64 * 1024
    package var expansion = ExpansionLimit()
    /// What is left of a broken transfer is worth keeping from so many bytes on.
    package var minPartial = 256 * 1024
    /// Large bodies on their way are described beside their files, for those who find them there.
    package var describesParts = false

    // MARK: - Times

    package var connectTimeout: Duration = .seconds(20)
    /// A transfer that gets nothing for so long is given up.
    package var stallTimeout: Duration = .seconds(30)
    /// From the request to the end of the answer's header.
    package var headerTimeout: Duration = .seconds(120)
    /// From the request to the end of the answer; nil for as long as it takes.
    package var totalTimeout: Duration?
    /// A transfer that gets less for the whole of `speedWindow` is given up: the server lets it drip.
    package var minBytesPerSecond = 64
    package var speedWindow: Duration = .seconds(60)
    /// Sound and film without a length, which come as slowly as they are heard, are cut after this, and what
    /// else trickles without one after that; anything without a length is after the last.
    package var liveTimeout: Duration = .seconds(30)
    package var trickleTimeout: Duration = .seconds(120)
    package var openTimeout: Duration = .seconds(900)
    /// What all transfers together may take off the wire; nil for all that comes.
    package var bytesPerSecond: Int?

    // MARK: - Connections

    /// Connections that stay open for the next request.
    package var keptConnections = 64
    /// Further requests to a host wait for one of these; over HTTP/2 many share one.
    package var connectionsPerHost = 64
    package var family = AddressFamily.any
    package var hostAddresses: [HostAddress] = []
    package var proxies = ProxyRules.ofEnvironment
    /// Upgrades http URLs of hosts that ask for it; nil never does.
    package var strictTransport: StrictTransport? = StrictTransport()

    // MARK: - Trust

    /// A file of certificates in PEM that are trusted beside the system's.
    package var authorities: String?
    /// Takes any certificate. `Exchange.security` says so of each answer.
    package var isInsecure = false

    // MARK: - Identity

    package var credentials = Credentials()
    package var hostFields = HostFields()
    package var cookies: CookieOptions?
    package var sendsReferrer = false

    package init(userAgent: String, spoolFolder: String) {
        self.userAgent = userAgent
        self.spoolFolder = spoolFolder
    }
}

/// Which addresses of a host are tried.
package enum AddressFamily: Sendable {
    case any, ipv4, ipv6
}

extension FetchOptions {
    /// The user is known to a server: by cookies of theirs, a login, or a header field that may be a secret.
    package var hasSession: Bool {
        cookies?.areNobodys == false || !credentials.isEmpty || hostFields.hasSecrets
    }

    var watch: TransferWatch.Limits {
        TransferWatch.Limits(
            stall: stallTimeout, header: headerTimeout, total: totalTimeout,
            bytesPerSecond: minBytesPerSecond,
            window: speedWindow)
    }

    var streams: OpenStream.Limits {
        OpenStream.Limits(mediaTime: liveTimeout, otherTime: trickleTimeout, longest: openTimeout)
    }

    /// A slow line is drunk in small gulps: what was read cannot be held back any more.
    var bufferSize: Int { bytesPerSecond.map { min(65_536, max(1024, $0 / 16)) } ?? 65_536 }
}
