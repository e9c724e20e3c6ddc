/// How to reach servers, and as whom. Nothing of it is kept in a larder, and nothing secret is ever in a report.
public struct NetworkOptions: Sendable {
    /// Nil for larder's own.
    public var userAgent: String?
    /// `Name: value` for every host, or `example.com Name: value` for one host or origin.
    public var headers: [String] = []
    public var login: Login?
    /// A file with logins by host.
    public var netrc: String?
    /// Files of cookies in Netscape's format. A visit takes and sends cookies of its own in any case, and forgets them when
    /// it ends; what is answered to those of a file is private.
    public var cookies: [String] = []
    public var saveCookies: String?
    /// `http://`, `https://`, `socks4a://`, `socks5h://`…; nil for what the environment says.
    public var proxy: String?
    /// A file of certificates in PEM that are trusted beside the system's.
    public var authorities: String?
    public var certificate: String?
    public var certificateKey: String?
    /// `host:port:address`.
    public var resolve: [String] = []
    /// Takes any certificate. The report says so.
    public var isInsecure = false
    public var family: Family?
    /// Over all transfers, in bytes a second.
    public var rate: Int?
    /// The longest that one transfer may take.
    public var timeout: Duration?
    /// Larger bodies are skipped.
    public var maxBody: Int?
    /// Lets pages of public servers lead to private addresses.
    public var mayReachPrivate = false

    /// Shown to the origins of the start URLs, and to nobody else.
    public enum Login: Sendable {
        case basic(user: String, password: String)
        case digest(user: String, password: String)
        case bearer(token: String)
    }

    public enum Family: Sendable {
        case ipv4, ipv6
    }

    public init() {}
}
