internal import Digest
internal import Synchronization
internal import System
internal import Web

/// Who may change something by way of the portal: whoever has the token that its pages carry, and beyond
/// loopback only after the password.
///
/// A page of the mirror is of another origin, so that it can read no page of the portal's; whatever it sends
/// by a form lacks the token, and comes with an `Origin` that is not the portal's. Any thread may use it.
package final class PortalGuard: Sendable {
    /// Where the server is, and what it is for.
    struct Circumstances: Sendable {
        /// Other machines come here.
        var isExposed = false
        /// Nothing is to be changed, or nothing can be.
        var isReadOnly = false
        /// What is kept of the password; nil where none is set.
        var password: @Sendable () -> PasswordHash? = { nil }
    }

    private let circumstances: Circumstances
    private let token = PortalGuard.secret()
    private let sessions = Mutex(PortalSessions())
    private let pace = Monitor(LoginPace())

    init(_ circumstances: Circumstances) { self.circumstances = circumstances }

    /// What whoever asks may do.
    enum Standing: Equatable, Sendable {
        /// The token that the pages carry.
        case owner(token: String)
        /// May look, and why nothing more.
        case reader(Sentence)
        /// Has to say the password first.
        case stranger
        /// There is none to be said.
        case nobody
    }

    /// - Parameter now: in seconds of a clock that nobody sets.
    func standing(of visitor: PortalVisitor, now: Int64) -> Standing {
        guard circumstances.isExposed else {
            // Other machines may do nothing on a server that does not listen for them.
            if visitor.isForwarded { return .nobody }
            return circumstances.isReadOnly ? .reader(.refusedReadOnly) : .owner(token: token)
        }
        guard let password = circumstances.password() else { return .nobody }
        guard let session = visitor.session,
            let token = sessions.withLock({ $0.token(of: session, saying: password, now: now) })
        else { return .stranger }
        return circumstances.isReadOnly ? .reader(.refusedReadOnly) : .owner(token: token)
    }

    /// Why what somebody sends changes nothing; nil where it may.
    func refusal(of visitor: PortalVisitor, token given: String?, now: Int64) -> Sentence? {
        if let refusal = visitor.foreignness { return refusal }
        switch standing(of: visitor, now: now) {
        case .owner(let token):
            guard let given, PasswordHash.isSame(Array(given.utf8), Array(token.utf8)) else {
                return .refusedToken
            }
            return nil
        case .reader(let reason): return reason
        case .stranger: return .refusedLogin
        case .nobody: return .refusedPassword
        }
    }

    /// Who a visitor is to a job that they begin. On a server that other machines can connect to, only a client
    /// on a loopback address is the user of this machine. A reverse proxy on this machine passes on requests of
    /// anybody: its fields give it away.
    func principal(of visitor: PortalVisitor) -> Principal {
        guard !visitor.isForwarded else { return .remoteUser }
        guard circumstances.isExposed else { return .localUser }
        return visitor.client?.isHere == true ? .localUser : .remoteUser
    }

    // MARK: - The password

    enum Login: Equatable, Sendable {
        /// The session's secret, for a cookie.
        case entered(session: String)
        case wrong
        /// So many seconds have to pass first.
        case tooFast(seconds: Int64)
        case impossible
    }

    /// Takes a tenth of a second and 32 MiB, and longer where many try: on a thread where nobody else waits.
    ///
    /// - Parameters:
    ///   - client: who tries; nil where that is not known.
    ///   - clock: in seconds of a clock that nobody sets.
    func enter(
        _ password: String, from client: LoginClient? = nil,
        clock: () -> Int64 = { SystemClock.seconds() }
    ) -> Login {
        guard circumstances.isExposed, let hash = circumstances.password() else { return .impossible }
        let number: Int
        switch pace.change({ $0.arrive(from: client, now: clock()) }) {
        case .tooFast(let seconds): return .tooFast(seconds: seconds)
        case .waits(let given): number = given
        }
        guard isTurn(number, clock) else { return .tooFast(seconds: 2) }
        let isRight = hash.matches(password)
        pace.change { $0.end(number, isRight: isRight, now: clock()) }
        guard isRight else { return .wrong }
        let session = Self.secret()
        sessions.withLock { $0.add(session, saying: hash, token: Self.secret(), now: clock()) }
        return .entered(session: session)
    }

    /// Waits for it, as long as others come first.
    private func isTurn(_ number: Int, _ clock: () -> Int64) -> Bool {
        let end = ContinuousClock.now + Self.mostWait
        while ContinuousClock.now < end {
            let turn: LoginPace.Turn? = pace.wait(atMost: .milliseconds(200)) { pace in
                let turn = pace.turn(of: number, now: clock())
                return turn == .later ? nil : turn
            }
            if let turn { return turn == .now }
        }
        pace.change { $0.leave(number) }
        return false
    }

    private static let mostWait = Duration.seconds(20)

    /// Somebody may give orders, if not everybody.
    var takesOrders: Bool { !circumstances.isReadOnly }

    /// There are passwords to be said here.
    var hasSessions: Bool { circumstances.isExposed }

    func leave(_ session: String?) {
        if let session { sessions.withLock { $0.remove(session) } }
    }

    /// 256 bits that nobody can guess.
    private static func secret() -> String {
        var source = SystemRandomNumberGenerator()
        return (0..<4).map { _ in
            let word = String(UInt64.random(in: 0 ... .max, using: &source), radix: 16)
            return String(repeating: "0", count: 16 - word.utf8.count) + word
        }.joined()
    }
}

/// Who asks the portal, as far as the request says.
struct PortalVisitor: Equatable, Sendable {
    /// By which the larder is asked.
    var authority = ""
    var origin: String?
    /// `Sec-Fetch-Site`
    var site: String?
    var session: String?
    /// `Accept`
    var accept: String?
    var language = PortalLanguage.english
    /// From where it comes; nil where that is not known.
    var client: LoginClient?
    /// A proxy passed the request on.
    var isForwarded = false

    init() {}

    init(_ fields: HTTPFields, authority: String, port: UInt16, client: LoginClient? = nil) {
        (self.authority, self.client) = (authority, client)
        (origin, site, accept) = (fields["Origin"], fields["Sec-Fetch-Site"], fields["Accept"])
        language = PortalLanguage(accepting: fields.combined("Accept-Language"))
        isForwarded = fields.list.contains { Self.isOfProxies($0.name) }
        let name = Self.cookieName(port: port)
        session = fields.combined("Cookie").flatMap { text in
            text.utf8.split(separator: UInt8(ascii: ";")).lazy
                .map { String(decoding: $0.drop { $0 == 0x20 }, as: UTF8.self) }
                .first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.utf8.count + 1)) }
        }
    }

    /// Fields by which a proxy says for whom it asks.
    private static func isOfProxies(_ name: String) -> Bool {
        let name = HTTPGrammar.lowercased(name.utf8)
        return ["forwarded", "via", "x-real-ip"].contains(name) || name.hasPrefix("x-forwarded")
    }

    /// Servers on other ports of the same host see each other's cookies.
    static func cookieName(port: UInt16) -> String { "larder-\(port)" }

    /// Nil where it comes from the portal's own pages. Browsers tell in two ways; a program that is none says
    /// nothing, and needs the token all the same.
    var foreignness: Sentence? {
        if let origin, origin != "http://\(authority)", origin != "https://\(authority)" {
            return .refusedOrigin
        }
        if let site, site != "same-origin" { return .refusedOrigin }
        return nil
    }
}

/// Those who said the password. A value; the time goes in.
struct PortalSessions {
    private var sessions: [String: (token: String, until: Int64)] = [:]
    /// What they said: with another password all of them are over.
    private var password: PasswordHash?

    /// Of the last request.
    static let lifetime: Int64 = 12 * 3600
    private static let most = 64

    mutating func add(_ session: String, saying password: PasswordHash, token: String, now: Int64) {
        endOthers(password)
        sessions = sessions.filter { $0.value.until > now }
        if sessions.count >= Self.most, let oldest = sessions.min(by: { $0.value.until < $1.value.until }) {
            sessions[oldest.key] = nil
        }
        sessions[session] = (token, now + Self.lifetime)
    }

    mutating func token(of session: String, saying password: PasswordHash, now: Int64) -> String? {
        endOthers(password)
        guard let known = sessions[session], known.until > now else { return nil }
        sessions[session]?.until = now + Self.lifetime
        return known.token
    }

    private mutating func endOthers(_ password: PasswordHash) {
        guard self.password != password else { return }
        (self.password, sessions) = (password, [:])
    }

    mutating func remove(_ session: String) { sessions[session] = nil }
}

extension PortalGuard {
    /// Whether it is the cookie of a portal's session, on whichever port.
    static func isSession(cookie name: some StringProtocol) -> Bool {
        name.hasPrefix("larder-") && UInt16(name.dropFirst("larder-".utf8.count)) != nil
    }
}
