package import Digest
internal import Synchronization
internal import System
package import Web

/// Decides who may read the portal and who may change something through it. Any thread may use it.
///
/// A command needs the token that the portal's pages contain. Mirrored pages have other origins, so they cannot read
/// the portal's pages; a form that they send lacks the token, and its `Origin` differs. On a server that other machines
/// can reach, visitors must log in with a password first; each session has a token of its own.
///
/// A mutex protects the sessions, a monitor the login attempts. Passwords are hashed outside both, so that requests of
/// other visitors need not wait.
package final class PortalGuard: Sendable {
    /// The settings of the server that decide about access.
    package struct Configuration: Sendable {
        /// Whether the server listens on an address that other machines can reach.
        package var isExposed = false
        /// Whether commands are refused, because an option of the server says so or the store is not writable.
        package var isReadOnly = false
        /// Returns the hash of the password; nil if none is set. It is read for each request, so that a new password applies
        /// at once.
        package var password: @Sendable () -> PasswordHash? = { nil }

        package init(
            isExposed: Bool = false, isReadOnly: Bool = false,
            password: @escaping @Sendable () -> PasswordHash? = { nil }
        ) {
            (self.isExposed, self.isReadOnly, self.password) = (isExposed, isReadOnly, password)
        }
    }

    private let configuration: Configuration
    /// The token for commands on a server that only this machine can reach. It is valid until the server stops.
    private let token = PortalGuard.makeSecret()
    private let sessions = Mutex(PortalSessions())
    private let rateLimiter = Monitor(LoginRateLimiter())

    package init(_ configuration: Configuration) { self.configuration = configuration }

    /// The rights of a visitor.
    enum AccessLevel: Equatable, Sendable {
        /// The visitor may give commands with this token.
        case full(token: String)
        /// The visitor may only read, for this reason.
        case readOnly(Sentence)
        /// The visitor must log in first.
        case loginRequired
        /// The visitor has no access: no password is set, or a proxy forwarded the request to a server that
        /// only serves this machine.
        case denied
    }

    /// Returns the rights of a visitor. A request with a valid session extends the session.
    ///
    /// - Parameter now: seconds of the monotonic clock.
    func access(of visitor: PortalVisitor, now: Int64) -> AccessLevel {
        guard configuration.isExposed else {
            // A server that does not listen for other machines refuses forwarded requests.
            if visitor.isForwarded { return .denied }
            return configuration.isReadOnly ? .readOnly(.refusedReadOnly) : .full(token: token)
        }
        guard let password = configuration.password() else { return .denied }
        guard let session = visitor.session,
            let token = sessions.withLock({ $0.token(of: session, for: password, now: now) })
        else { return .loginRequired }
        return configuration.isReadOnly ? .readOnly(.refusedReadOnly) : .full(token: token)
    }

    /// Returns why a command is refused; nil if it is allowed.
    ///
    /// - Parameters:
    ///   - given: the token in the form; nil if there is none.
    ///   - now: seconds of the monotonic clock.
    package func refusal(of visitor: PortalVisitor, token given: String?, now: Int64) -> Sentence? {
        if let refusal = visitor.foreignOriginReason { return refusal }
        switch access(of: visitor, now: now) {
        case .full(let token):
            guard let given, PasswordHash.isEqualInConstantTime(Array(given.utf8), Array(token.utf8)) else {
                return .refusedToken
            }
            return nil
        case .readOnly(let reason): return reason
        case .loginRequired: return .refusedLogin
        case .denied: return .refusedPassword
        }
    }

    /// The principal of the jobs that a visitor starts. It decides which network zones the jobs may connect to.
    ///
    /// On a server that other machines can reach, only a client on a loopback address is the local user. Forwarded requests
    /// never count as local, because a reverse proxy on this machine forwards requests of any client.
    package func principal(of visitor: PortalVisitor) -> Principal {
        guard !visitor.isForwarded else { return .remoteUser }
        guard configuration.isExposed else { return .localUser }
        return visitor.client?.isHere == true ? .localUser : .remoteUser
    }

    // MARK: - The password

    /// The result of a login attempt.
    enum LoginResult: Equatable, Sendable {
        /// The password was right. The session's secret is the value of a cookie.
        case success(session: String)
        case wrong
        /// The client must wait this many seconds.
        case tooFast(seconds: Int64)
        /// The server has no password, or other machines cannot reach it.
        case impossible
    }

    /// Checks a password. This takes a tenth of a second and 32 MiB, and longer if many clients try: call it
    /// on a thread of its own.
    ///
    /// - Parameters:
    ///   - client: the client that tries to log in; nil if unknown.
    ///   - clock: seconds of the monotonic clock.
    func logIn(
        _ password: String, from client: LoginClient? = nil,
        clock: () -> Int64 = { SystemClock.seconds() }
    ) -> LoginResult {
        guard configuration.isExposed, let hash = configuration.password() else { return .impossible }
        let number: Int
        switch rateLimiter.change({ $0.register(from: client, now: clock()) }) {
        case .tooFast(let seconds): return .tooFast(seconds: seconds)
        case .waits(let given): number = given
        }
        guard waitForTurn(number, clock) else { return .tooFast(seconds: 2) }
        let isRight = hash.matches(password)
        rateLimiter.change { $0.finish(number, isRight: isRight, now: clock()) }
        guard isRight else { return .wrong }
        let session = Self.makeSecret()
        sessions.withLock { $0.add(session, for: hash, token: Self.makeSecret(), now: clock()) }
        return .success(session: session)
    }

    /// Waits until the attempt may run. Returns false if that takes too long, or if clients of a higher rank
    /// took its place.
    private func waitForTurn(_ number: Int, _ clock: () -> Int64) -> Bool {
        let end = ContinuousClock.now + Self.maxLoginWait
        while ContinuousClock.now < end {
            let turn: LoginRateLimiter.AttemptTurn? = rateLimiter.wait(atMost: .milliseconds(200)) {
                rateLimiter in
                let turn = rateLimiter.turn(of: number, now: clock())
                return turn == .later ? nil : turn
            }
            if let turn { return turn == .now }
        }
        rateLimiter.change { $0.cancel(number) }
        return false
    }

    /// The maximum time that a login waits for its turn. Then the client must try again later.
    private static let maxLoginWait = Duration.seconds(20)

    /// Whether some visitor may give commands.
    package var acceptsCommands: Bool { !configuration.isReadOnly }

    /// Whether there are logins.
    var hasSessions: Bool { configuration.isExposed }

    /// Ends a session. Does nothing for nil or an unknown session.
    func logOut(_ session: String?) {
        if let session { sessions.withLock { $0.remove(session) } }
    }

    /// 256 random bits.
    private static func makeSecret() -> String {
        var source = SystemRandomNumberGenerator()
        return (0..<4).map { _ in
            let word = String(UInt64.random(in: 0 ... .max, using: &source), radix: 16)
            return String(repeating: "0", count: 16 - word.utf8.count) + word
        }.joined()
    }
}

/// The sender of a request to the portal, as far as the request shows. All values come from the client, except its
/// address: none of them proves anything without the token, the session or the password.
package struct PortalVisitor: Equatable, Sendable {
    /// The host and port of the request.
    package var authority = ""
    /// The value of `Origin`: the origin of the page that sent the request.
    package var origin: String?
    /// The value of `Sec-Fetch-Site`: how that page's origin relates to the portal's.
    package var fetchSite: String?
    /// The secret of a session, from the cookie.
    var session: String?
    /// The token of a browser extension (`Authorization: Bearer`).
    var bearerToken: String?
    /// The value of `Accept`.
    package var accept: String?
    /// The language that the user chose in the portal, else the one that the browser prefers.
    package var language = PortalLanguage.english
    /// The address of the client; nil if unknown.
    package var client: LoginClient?
    /// Whether a proxy forwarded the request. The address of the client is then that of the proxy.
    package var isForwarded = false

    package init() {}

    /// Reads the header fields of a request.
    ///
    /// - Parameters:
    ///   - authority: the host and port that the request was sent to.
    ///   - port: the port of the server, which is a part of the cookie's name.
    package init(_ fields: HTTPFields, authority: String, port: UInt16, client: LoginClient? = nil) {
        (self.authority, self.client) = (authority, client)
        (origin, fetchSite, accept) = (fields["Origin"], fields["Sec-Fetch-Site"], fields["Accept"])
        let scheme = "Bearer "
        bearerToken = fields["Authorization"].flatMap {
            $0.hasPrefix(scheme) ? String($0.dropFirst(scheme.utf8.count)) : nil
        }
        isForwarded = fields.list.contains { Self.isAddedByProxies($0.name) }
        let cookies = fields.joinedValues("Cookie")
        func cookie(_ name: String) -> String? {
            cookies.flatMap { text in
                text.utf8.split(separator: UInt8(ascii: ";")).lazy
                    .map { String(decoding: $0.drop { $0 == 0x20 }, as: UTF8.self) }
                    .first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.utf8.count + 1)) }
            }
        }
        session = cookie(Self.cookieName(port: port))
        language =
            cookie(PortalLanguage.cookieName).flatMap(PortalLanguage.init(rawValue:))
            ?? PortalLanguage(accepting: fields.joinedValues("Accept-Language"))
    }

    /// Whether proxies add this field to requests that they forward.
    private static func isAddedByProxies(_ name: String) -> Bool {
        let name = HTTPGrammar.lowercased(name.utf8)
        return ["forwarded", "via", "x-real-ip"].contains(name) || name.hasPrefix("x-forwarded")
    }

    /// Cookies are shared by all ports of a host, so the name contains the port.
    static func cookieName(port: UInt16) -> String { "larder-\(port)" }

    /// Why the request did not come from the portal's own pages; nil if it did. Browsers send `Origin` and
    /// `Sec-Fetch-Site`; other programs send neither, but still need the token.
    var foreignOriginReason: Sentence? {
        if let origin, origin != "http://\(authority)", origin != "https://\(authority)" {
            return .refusedOrigin
        }
        if let fetchSite, fetchSite != "same-origin" { return .refusedOrigin }
        return nil
    }
}

/// The sessions of logged-in visitors. This is a pure value: the caller passes the time, in seconds of the monotonic
/// clock. Sessions exist only in memory, so that stopping the server ends all of them.
struct PortalSessions {
    /// The token and the end of each session, by its secret.
    private var sessions: [String: (token: String, until: Int64)] = [:]
    /// The password of the sessions: changing it ends all of them.
    private var password: PasswordHash?

    /// The lifetime of a session after its last request, in seconds.
    static let lifetime: Int64 = 12 * 3600
    /// The maximum number of sessions. Beyond it, the one that was unused for longest ends.
    private static let maxSessions = 64

    /// Adds a session with its token.
    mutating func add(_ session: String, for password: PasswordHash, token: String, now: Int64) {
        endSessionsOfOtherPasswords(password)
        sessions = sessions.filter { $0.value.until > now }
        if sessions.count >= Self.maxSessions,
            let oldest = sessions.min(by: { $0.value.until < $1.value.until })
        {
            sessions[oldest.key] = nil
        }
        sessions[session] = (token, now + Self.lifetime)
    }

    /// Returns the token of a session and extends the session; nil if the session is unknown or has ended.
    mutating func token(of session: String, for password: PasswordHash, now: Int64) -> String? {
        endSessionsOfOtherPasswords(password)
        guard let known = sessions[session], known.until > now else { return nil }
        sessions[session]?.until = now + Self.lifetime
        return known.token
    }

    private mutating func endSessionsOfOtherPasswords(_ password: PasswordHash) {
        guard self.password != password else { return }
        (self.password, sessions) = (password, [:])
    }

    mutating func remove(_ session: String) { sessions[session] = nil }
}

extension PortalGuard {
    /// Whether this is the name of a portal's cookie: of its language, or of a session on any port. Such cookies are never
    /// sent to an origin.
    package static func isPortal(cookie name: some StringProtocol) -> Bool {
        name == PortalLanguage.cookieName
            || name.hasPrefix("larder-") && UInt16(name.dropFirst("larder-".utf8.count)) != nil
    }
}
