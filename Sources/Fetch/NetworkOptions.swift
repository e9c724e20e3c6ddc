package import Web

/// The options for requests to servers, with credentials. They are not stored, and no report contains secrets
/// from them.
public struct NetworkOptions: Sendable {
    /// The `User-Agent` header; nil for that of Larder.
    public var userAgent: String?
    /// Additional header fields: `Name: value` for every host, or `example.com Name: value` for one host or
    /// origin.
    public var headers: [String] = []
    /// The login for the origins of the start URLs.
    public var login: Login?
    /// The path of a netrc file with logins by host.
    public var netrc: String?
    /// The paths of cookie files in Netscape's format. A snapshot also accepts and sends cookies of its own,
    /// and forgets them when it ends. Responses to requests with cookies of a file are private.
    public var cookies: [String] = []
    /// The path of a file in which cookies are saved at the end.
    public var saveCookies: String?
    /// The URL of a proxy (`http://`, `https://`, `socks4a://`, `socks5h://`, …); nil for the proxy of the
    /// environment.
    public var proxy: String?
    /// The path of a PEM file with certificates that are trusted in addition to those of the system.
    public var authorities: String?
    /// The path of a client certificate, which is sent only to the origins of the start URLs.
    public var certificate: String?
    /// The path of the key of the client certificate.
    public var certificateKey: String?
    /// Addresses to use for host names without a lookup, as in curl's `--resolve`: `host:port:address`.
    public var resolve: [String] = []
    /// Accepts any certificate. The report says so.
    public var isInsecure = false
    /// The address family; nil for both.
    public var family: Family?
    /// The maximum rate of all transfers together, in bytes per second.
    public var rate: Int?
    /// The maximum time of one transfer.
    public var timeout: Duration?
    /// The maximum size of a body in bytes. Larger ones are skipped.
    public var maxBodyBytes: Int?
    /// Allows requests to private networks, and for the user's own jobs to this machine, also for URLs that public
    /// servers named (`allowedZone(_:)`).
    public var mayReachPrivate = false
    /// Whether the job leaves out the cookies of stored logins. `withoutIdentity` sets it, and removes everything else
    /// that identifies the user.
    package private(set) var isAnonymous = false

    /// A login, which only the origins of the start URLs receive.
    public enum Login: Sendable {
        case basic(user: String, password: String)
        case digest(user: String, password: String)
        case bearer(token: String)
    }

    /// An address family.
    public enum Family: Sendable {
        case ipv4, ipv6
    }

    /// Creates the default options.
    public init() {}
}

extension NetworkOptions {
    /// The options without everything that identifies the user: header fields, logins, cookies and client
    /// certificates. Credentials of the proxy stay, since every request passes through it.
    package var withoutIdentity: NetworkOptions {
        var options = self
        options.isAnonymous = true
        options.headers = []
        (options.login, options.netrc) = (nil, nil)
        (options.cookies, options.saveCookies) = ([], nil)
        (options.certificate, options.certificateKey) = (nil, nil)
        return options
    }

    /// The nearest zone that every request of a job may connect to, even if a public server named its URL.
    /// `mayReachPrivate` is an option of the user of this machine. It allows everything for this user's own
    /// jobs, but only private networks for jobs of other users.
    ///
    /// - Parameter nearestZone: the nearest zone of the URLs that the owner of the job may name.
    package func allowedZone(_ nearestZone: NetworkZone) -> NetworkZone {
        mayReachPrivate ? max(.privateNetwork, nearestZone) : .publicNetwork
    }

    /// The options of the fetch loop.
    ///
    /// - Parameter start: The start URLs. The login is sent only to their origins.
    package func fetchOptions(
        for start: [WebURL], spoolFolder: String
    ) throws(NetworkOptionError) -> FetchOptions {
        var options = FetchOptions(userAgent: userAgent ?? Product.userAgent, spoolFolder: spoolFolder)
        for header in headers { try add(header, to: &options.hostFields) }
        options.credentials = try credentials(for: start)
        if !cookies.isEmpty || saveCookies != nil {
            options.cookies = CookieOptions(load: cookies, save: saveCookies)
        }
        if let proxy {
            guard let known = Proxy(proxy) else {
                // The message does not name the value, which may contain a password.
                throw NetworkOptionError("the proxy cannot be used: write it like http://localhost:3128")
            }
            options.proxies = ProxyRules(http: known, https: known, direct: options.proxies.direct)
        }
        options.authorities = authorities
        for text in resolve {
            guard let address = HostAddress(text) else {
                throw NetworkOptionError(
                    "\"\(text)\" is not an address: write it like example.com:443:127.0.0.1")
            }
            options.hostAddresses.append(address)
        }
        options.isInsecure = isInsecure
        options.family =
            switch family {
            case .ipv4: .ipv4
            case .ipv6: .ipv6
            case nil: .any
            }
        options.bytesPerSecond = rate
        options.totalTimeout = timeout
        if let maxBodyBytes { options.maxBodyBytes = maxBodyBytes }
        return options
    }

    /// The addresses of host names, for Chromium's `--host-resolver-rules`.
    package func browserHostRules() throws(NetworkOptionError) -> [String] {
        try resolve.map { (text) throws(NetworkOptionError) in
            guard let address = HostAddress(text) else {
                throw NetworkOptionError(
                    "\"\(text)\" is not an address: write it like example.com:443:127.0.0.1")
            }
            return address.browserRule
        }
    }

    /// Adds a header written as `Name: value`, or with a host or an origin before it.
    private func add(_ header: String, to fields: inout HostFields) throws(NetworkOptionError) {
        guard let argument = HeaderArgument(header) else {
            throw NetworkOptionError("\"\(header)\" is not a header: write it like \"Accept-Language: en\"")
        }
        do throws(FetchFailure) {
            if let host = argument.host {
                try fields.add(argument.name, argument.value, host: host)
            } else {
                try fields.add(argument.name, argument.value)
            }
        } catch {
            throw NetworkOptionError(error.description)
        }
    }

    /// The credentials for the origins of the start URLs, and those of the netrc file.
    private func credentials(for start: [WebURL]) throws(NetworkOptionError) -> Credentials {
        var credentials = Credentials()
        if let netrc {
            do throws(FetchFailure) {
                credentials.addLogins(of: try Netrc(file: netrc))
            } catch {
                throw NetworkOptionError(error.description)
            }
        }
        for url in start {
            switch login {
            case .basic(let user, let password)?:
                credentials.add(.basic(user: user, password: password), for: url)
            case .digest(let user, let password)?:
                credentials.add(.digest(user: user, password: password), for: url)
            case .bearer(let token)?: credentials.add(.bearer(token: token), for: url)
            case nil: break
            }
            if let certificate {
                credentials.add(
                    Credentials.Certificate(certificate: certificate, key: certificateKey), for: url)
            }
        }
        return credentials
    }
}

/// An invalid option, with how to write it.
package struct NetworkOptionError: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
