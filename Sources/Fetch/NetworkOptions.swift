package import Web

/// How to reach servers, and as whom. Nothing of it is kept in a larder, and nothing secret is ever in a
/// report.
public struct NetworkOptions: Sendable {
    /// Nil for larder's own.
    public var userAgent: String?
    /// `Name: value` for every host, or `example.com Name: value` for one host or origin.
    public var headers: [String] = []
    public var login: Login?
    /// A file with logins by host.
    public var netrc: String?
    /// Files of cookies in Netscape's format. A visit takes and sends cookies of its own in any case, and
    /// forgets them when it ends; what is answered to those of a file is private.
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
    /// Sends nothing by which servers know the user, not even the cookies of a login that the store has.
    package private(set) var isAnonymous = false

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

extension NetworkOptions {
    /// The same options without everything by which servers know the user: header fields, logins, cookies and
    /// client certificates. Credentials for the proxy stay, since it is the way to every server.
    package var withoutIdentity: NetworkOptions {
        var options = self
        options.isAnonymous = true
        options.headers = []
        (options.login, options.netrc) = (nil, nil)
        (options.cookies, options.saveCookies) = ([], nil)
        (options.certificate, options.certificateKey) = (nil, nil)
        return options
    }

    /// The zone that every request of a job may connect to, whatever response names its URL. `mayReachPrivate`
    /// is an option of the user of this machine: for their own jobs it allows everything, for jobs of other
    /// users only private networks.
    ///
    /// - Parameter nearestZone: the nearest zone that the job itself may name.
    package func allowedZone(_ nearestZone: NetworkZone) -> NetworkZone {
        mayReachPrivate ? max(.privateNetwork, nearestZone) : .publicNetwork
    }

    /// What the loop that fetches is told.
    ///
    /// - Parameter start: what is asked for first: its origins are shown the login.
    package func fetchOptions(
        for start: [WebURL], spoolFolder: String
    ) throws(NetworkMistake) -> FetchOptions {
        var options = FetchOptions(userAgent: userAgent ?? Product.userAgent, spoolFolder: spoolFolder)
        for header in headers { try add(header, to: &options.hostFields) }
        options.credentials = try credentials(for: start)
        if !cookies.isEmpty || saveCookies != nil {
            options.cookies = CookieOptions(load: cookies, save: saveCookies)
        }
        if let proxy {
            guard let known = Proxy(proxy) else {
                throw NetworkMistake("the proxy cannot be used: write it like http://localhost:3128")
            }
            options.proxies = ProxyRules(http: known, https: known, direct: options.proxies.direct)
        }
        options.authorities = authorities
        for text in resolve {
            guard let address = HostAddress(text) else {
                throw NetworkMistake("\"\(text)\" is no address: write it like example.com:443:127.0.0.1")
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
        if let maxBody { options.maxBody = maxBody }
        return options
    }

    /// Where names lead, as Chromium's `--host-resolver-rules` has it.
    package func browserHostRules() throws(NetworkMistake) -> [String] {
        try resolve.map { (text) throws(NetworkMistake) in
            guard let address = HostAddress(text) else {
                throw NetworkMistake("\"\(text)\" is no address: write it like example.com:443:127.0.0.1")
            }
            return address.browserRule
        }
    }

    /// `Name: value`, with a host or an origin before it where it is for one alone.
    private func add(_ header: String, to fields: inout HostFields) throws(NetworkMistake) {
        let words = header.split(separator: " ", maxSplits: 1)
        let hasPlace =
            words.count == 2 && !words[0].hasSuffix(":") && words[1].split(separator: " ")[0].contains(":")
            && (!words[0].contains(":") || words[0].contains("://") || words[0].last?.isNumber == true)
        let field = hasPlace ? words[1] : header[...]
        guard let colon = field.firstIndex(of: ":") else {
            throw NetworkMistake("\"\(header)\" is no header: write it like \"Accept-Language: en\"")
        }
        let name = String(field[..<colon])
        let value = String(field[field.index(after: colon)...].drop { $0 == " " })
        do throws(FetchFailure) {
            if hasPlace {
                try fields.add(name, value, host: String(words[0]))
            } else {
                try fields.add(name, value)
            }
        } catch {
            throw NetworkMistake(error.description)
        }
    }

    private func credentials(for start: [WebURL]) throws(NetworkMistake) -> Credentials {
        var credentials = Credentials()
        if let netrc {
            do throws(FetchFailure) {
                credentials.add(try Netrc(file: netrc))
            } catch {
                throw NetworkMistake(error.description)
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

/// Which of the options cannot be used, and how to write it.
package struct NetworkMistake: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
