internal import Glibc
internal import HTTPServer
package import Portal
internal import Store
internal import System
package import TLS
internal import Web

/// The options of a proxy.
package struct ProxySettings: Sendable {
    /// TLS with certificates for the hosts of https URLs.
    package let security: TLSServer
    /// The authority's certificate in PEM, served by the proxy itself.
    package let certificate: String
    /// The required login, as `user:password`; nil for no login.
    package var login: String?
    /// Ports that clients may connect to; nil for any.
    package var ports: Set<Int>? = [80, 443, 8000, 8080, 8443, 9443]
    /// Hosts that are tunnelled without decryption, such as those of apps that pin certificates. Written as `example.com` or
    /// `*.example.com`.
    package var untouched: [String] = []
    /// Whether pages of the public network may request private addresses.
    package var mayReachPrivate = false
    /// Connects to a host; nil if the policy allows no network requests.
    package var connect: Connect?
    package let log: ProxyLog

    package init(security: TLSServer, certificate: String, log: ProxyLog) {
        self.security = security
        self.certificate = certificate
        self.log = log
    }

    /// Whether a host is tunnelled without decryption. `*.example.com` does not include `example.com` itself.
    func isTunnelledUnread(_ host: String) -> Bool {
        untouched.contains { name in
            name.hasPrefix("*.") ? host.hasSuffix(name.dropFirst()) : host == name
        }
    }
}

/// Answers proxy requests: those with absolute URLs and those in tunnels. It belongs to one server thread.
///
/// A request passes these checks in order: the proxy's own pages, the login, a repeated answer from memory, loops and
/// `Max-Forwards`, and upgrades to other protocols. What remains is looked up and loaded like a request to the mirror
/// (`MirrorResponder.respond`), except that the URL is the requested one and links are not rewritten.
///
/// `connect` decides about tunnels. Most are decrypted with a certificate of the proxy's authority, so that their requests
/// can be answered from the store. Hosts in `ProxySettings.untouched` are connected unread (`Relay`). Requests in a decrypted
/// tunnel need no login, since their `CONNECT` has passed it.
final class ProxyResponder: Responder {
    private let mirror: MirrorResponder
    private let options: ProxySettings
    private let port: UInt16
    /// The port suffix of the proxy's own addresses.
    private let ending: [UInt8]

    init(_ mirror: MirrorResponder, _ options: ProxySettings, port: UInt16) {
        ending = Array(":\(port)".utf8)
        self.mirror = mirror
        self.options = options
        self.port = port
    }

    var isProxy: Bool { true }
    var sideWork: (any SideWork)? { mirror.threadLoader }

    func respond(to request: Request, orDefer later: DeferredReply) -> Reply? {
        let start = ContinuousClock.now
        if request.tunnel == nil {
            // The proxy's own pages, requested in origin form or absolute form.
            if let page = ownPage(for: request) { return Reply(answer: page) }
            if let refusal = refusal(of: request) { return Reply(answer: refusal) }
            if request.head.scheme == nil, request.isServerWide {
                return Reply(answer: ProxyHop.supportedMethodsAnswer)
            }
        }
        let (method, log) = (request.method, options.log)
        guard var origin = request.proxiedOrigin else { return Reply(answer: misdirectedAnswer(request)) }
        if let reply = mirror.memoryAnswer(for: request, at: &origin) {
            log.record(method, origin + request.targetText, reply, since: start)
            return reply
        }
        guard let url = request.absoluteURL(at: origin) else {
            return Reply(answer: misdirectedAnswer(request))
        }
        if let answer = ProxyHop.answer(request) { return Reply(answer: answer) }
        if UpgradeRequest.isUpgrade(request) {
            if request.tunnel == nil, let refusal = refusal(ofPort: url.effectivePort) {
                return Reply(answer: refusal)
            }
            return UpgradeRequest(request, url).reply(
                nearestZone: mirror.nearestZone(of: request, to: url), options, start)
        }
        let reply = mirror.respond(
            to: request, proxied: url,
            orDefer: later.observing { log.record(method, url.href, $0, since: start) })
        if let reply { log.record(method, url.href, reply, since: start) }
        return reply
    }

    func connect(_ request: Request) -> ConnectDecision {
        let start = ContinuousClock.now
        if let refusal = refusal(of: request) { return .refuse(Reply(answer: refusal)) }
        guard let (host, port) = request.tunnelTarget else {
            return .refuse(Reply(answer: .text(400, "\(request.authority) is not a host with a port.\n")))
        }
        if let refusal = refusal(ofPort: port) { return .refuse(Reply(answer: refusal)) }
        guard options.isTunnelledUnread(host) else {
            return .intercept(
                Tunnel(
                    host: host, port: port, security: options.security,
                    isForwarded: request.head.isForwarded))
        }
        guard let connect = options.connect, let target = WebURL("http://\(host):\(port)/") else {
            options.log.recordMiss("CONNECT", request.authority, since: start)
            let text = "\(request.authority) is tunnelled, and the policy allows no network requests.\n"
            return .refuse(Reply(answer: .text(504, text, fields: [("Larder", "miss")])))
        }
        // The client itself named the host.
        let (log, authority, nearestZone) = (options.log, request.authority, mirror.clientZone(of: request))
        return .relay { client in
            Relay.start(client, to: target, nearestZone: nearestZone, by: connect, opening: .tunnel) {
                outcome in
                log.recordTunnel("CONNECT", authority, outcome.byteCount, since: start)
            }
        }
    }

    /// Answers a request whose body is too long for memory: it is streamed to the origin, and neither looked up nor stored.
    ///
    func answer(_ upload: LongUpload, of request: Request) -> Reply? {
        let start = ContinuousClock.now
        if request.tunnel == nil, let refusal = refusal(of: request) { return Reply(answer: refusal) }
        guard let url = request.proxied else { return Reply(answer: misdirectedAnswer(request)) }
        if let answer = ProxyHop.answer(request) { return Reply(answer: answer) }
        guard let connect = options.connect, let nearestZone = mirror.zoneOfMiss(of: request, to: url) else {
            options.log.recordMiss(request.method, url.href, since: start)
            let text =
                "\(url.href): the body is too long to look up, and the policy allows no network requests.\n"
            let fields = [("Larder", "miss"), ("Cache-Control", "no-store")]
            return Reply(answer: .text(504, text, fields: fields))
        }
        var reply = Reply(answer: .text(502, ""))
        reply.takeover = StreamedUpload(request, upload, to: url).takeover(
            by: connect, nearestZone: nearestZone, options.log, since: start
        ) { [loader = mirror.context.loader] url in loader?.invalidate(url) }
        return reply
    }

    // MARK: - Access

    /// The answer to a connection to a port that is not allowed; nil if it is.
    private func refusal(ofPort port: Int) -> Answer? {
        guard let ports = options.ports, !ports.contains(port) else { return nil }
        return .text(
            403, "Connections to port \(port) are not allowed; to allow them, see: larder help proxy\n")
    }

    /// The answer to a request without the required login (RFC 9110 §11.7); nil if it has the login or none is required.
    private func refusal(of request: Request) -> Answer? {
        guard options.login != nil, !isKnown(by: request.fields["Proxy-Authorization"]) else { return nil }
        return .text(
            407, "This proxy requires a login.\n",
            fields: [("Proxy-Authenticate", "Basic realm=\"larder\"")])
    }

    /// Whether a field contains the required login, or none is required.
    private func isKnown(by field: String?) -> Bool {
        guard let login = options.login else { return true }
        let given = field ?? ""
        let wanted = "Basic " + Base64.encode(Array(login.utf8).span)
        // Constant time, so that it does not reveal how many bytes match.
        return given.utf8.count == wanted.utf8.count
            && zip(given.utf8, wanted.utf8).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// The answer to a request whose URL this proxy cannot determine.
    private func misdirectedAnswer(_ request: Request) -> Answer {
        if let tunnel = request.tunnel {
            return .text(
                421, "The tunnel is to \(tunnel.host), but the request is for \(request.authority).\n")
        }
        return .text(400, "This is a proxy; requests need an absolute URL.\n")
    }

    // MARK: - Own pages

    /// A page of the proxy itself; nil for other requests.
    private func ownPage(for request: Request) -> Answer? {
        guard request.head.scheme != .https,
            port == 80 || request.host.suffix(ending.count).elementsEqual(ending),
            let url = WebURL("http://\(request.authority)/"),
            ["localhost", "127.0.0.1", "[::1]"].contains(url.host), url.effectivePort == Int(port)
        else { return nil }
        // The Host field proves nothing, so a login is required. Browsers ask their user for it.
        guard isKnown(by: request.fields["Proxy-Authorization"] ?? request.fields["Authorization"]) else {
            return .text(
                401, "The pages of this proxy require its login.\n",
                fields: [("WWW-Authenticate", "Basic realm=\"larder\""), ("Cache-Control", "no-store")])
        }
        guard request.head.method != .other else {
            return .text(
                405, "This page allows only GET and HEAD.\n", fields: [("Allow", "GET, HEAD")])
        }
        return ProxyPage.answer(
            request, options, port: port, showsTraffic: mirror.clientZone(of: request) == .thisMachine)
    }
}

/// This proxy as a hop in the path of a message.
enum ProxyHop {
    /// The value of `Via` (RFC 9110 §7.6.3). It is random for each process, so that the proxy recognises only itself.
    static let via = "1.1 larder-" + String(UInt32.random(in: 1 << 28 ... .max), radix: 16)

    /// The answer to a request that is not forwarded: a loop, or Max-Forwards is 0 (§7.6.2).
    static func answer(_ request: Request) -> Answer? {
        guard request.head.hasRoutingFields else { return nil }
        let fields = request.fields
        if fields.elements("Via").contains(via) {
            return .text(
                508, "Request loop: this proxy has already forwarded the request.\n", fields: own)
        }
        guard limited.contains(request.method), fields["Max-Forwards"].flatMap({ Int($0) }) == 0 else {
            return nil
        }
        guard request.method == "TRACE" else {
            return supportedMethodsAnswer
        }
        // §9.3.8: fields that may contain secrets are not sent back.
        let lines = fields.list.filter { RequestSecrets.isHarmless($0.name) }
            .map { "\($0.name): \($0.value)\r\n" }
        let text = "TRACE \(request.proxied?.href ?? request.targetText) HTTP/1.1\r\n\(lines.joined())\r\n"
        return Answer(
            status: 200, fields: [("Content-Type", "message/http")] + own, body: HTTPGrammar.bytes(of: text))
    }

    /// The fields of a request when it is forwarded.
    static func forwardedFields(_ fields: HTTPFields, method: String) -> HTTPFields {
        var fields = fields
        fields.append("Via", via)
        if limited.contains(method), let left = fields["Max-Forwards"].flatMap({ Int($0) }), left > 0 {
            fields.set("Max-Forwards", String(left - 1))
        }
        return fields
    }

    /// The methods that the proxy supports.
    static var supportedMethodsAnswer: Answer {
        let methods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE, CONNECT"
        return Answer(status: 204, fields: [("Allow", methods)] + own, body: [])
    }

    /// The methods for which `Max-Forwards` counts (RFC 9110 §7.6.2).
    private static let limited = ["TRACE", "OPTIONS"]
    /// The header fields of answers that the proxy itself makes.
    private static let own = [("Cache-Control", "no-store")]
}

extension Request {
    /// The scheme and authority of a proxied URL, as the client wrote them; nil for requests to the proxy
    /// itself, and for requests in a tunnel to another host.
    var proxiedOrigin: String? {
        guard let tunnel else {
            return switch head.scheme {
            case .http: "http://" + authority
            case .https: "https://" + authority
            case nil: nil
            }
        }
        let scheme = tunnel.isSecure ? "https" : "http"
        let port = tunnel.port == (tunnel.isSecure ? 443 : 80) ? "" : ":\(tunnel.port)"
        if authority == tunnel.host { return "\(scheme)://\(authority)\(port)" }
        guard let url = WebURL("\(scheme)://\(authority)/"),
            url.host == tunnel.host || url.host == tunnel.serverName
        else { return nil }
        // Without a port, the request is for the port of the tunnel.
        return url.port == nil ? "\(scheme)://\(url.host)\(port)" : url.origin
    }

    /// Whether the request asks for the abilities of the whole server (RFC 9110 §9.3.7).
    var isServerWide: Bool {
        guard head.method == .other, method == "OPTIONS" else { return false }
        return head.target.isEmpty || target.count == 1 && target[0] == UInt8(ascii: "*")
    }

    /// The absolute URL of a proxy request.
    var proxied: WebURL? { proxiedOrigin.flatMap(absoluteURL) }

    /// The absolute URL, given its origin.
    func absoluteURL(at origin: String) -> WebURL? {
        let path = isServerWide ? "/" : String(decoding: bytes[head.target], as: UTF8.self)
        guard let url = WebURL(origin + path), url.isHTTP, !url.hasCredentials else { return nil }
        return url
    }
}

extension RequestContext {
    /// The sender of a request to a proxy: one of the user's programs, or a page in the user's browser.
    ///
    /// - Parameter isShared: whether several people use the proxy.
    init(ofProxy fields: HTTPFields, requesting url: WebURL?, isShared: Bool) {
        let page = [fields["Origin"], fields["Referer"]].lazy.compactMap { $0.flatMap { WebURL($0) } }.first
        let kind: Requester.Kind
        switch (fields["Sec-Fetch-Site"], page) {
        // For hosts of plain http, browsers send no Sec-Fetch fields, and pages can suppress the Referer.
        // Upgrade-Insecure-Requests marks pages that a person opens.
        case (nil, nil) where fields["Origin"] == "null" || fields.isFromBrowser && !fields.isOpenedByUser:
            kind = .foreignPage
        case ("none", _), (nil, nil): kind = .user
        // `Origin` and `Referer` name the page itself, since a proxy does not change URLs.
        case (_, let page?): kind = .page([page.origin])
        case ("same-origin", nil): kind = url.map { .page([$0.origin]) } ?? .foreignPage
        case (_, nil): kind = .foreignPage
        }
        self.init(
            requester: Requester(kind, canReceivePrivate: !isShared),
            hasOpaqueOrigin: fields["Origin"] == "null",
            use: FetchUse(fields))
    }
}

extension HTTPFields {
    /// Whether a browser sent the request. Browsers of today all begin `User-Agent` with `Mozilla/`.
    fileprivate var isFromBrowser: Bool { self["User-Agent"]?.hasPrefix("Mozilla/") ?? false }

    /// Whether the request is a navigation, which browsers mark for hosts of plain http.
    fileprivate var isOpenedByUser: Bool { self["Upgrade-Insecure-Requests"] == "1" }
}

extension MirrorExchange {
    /// The nearest network zone that a request through the proxy may connect to. The user's own programs may
    /// connect to any zone, a page to its own host and its own zone. No zone is nearer than that of the
    /// client.
    func nearestProxiedZone(to url: WebURL) throws(StoreError) -> NetworkZone {
        min(clientZone, try requesterZone(to: url))
    }

    private func requesterZone(to url: WebURL) throws(StoreError) -> NetworkZone {
        switch requestContext.kind {
        case .user, .portal:
            // A certificate or an IP address identifies the host. Another name that answered from a farther
            // zone before may resolve to a nearer one now, so that a page could pose as the user.
            guard url.scheme == "http", !url.isLocalByName, !context.mayReachPrivate else {
                return .thisMachine
            }
            if let noted = context.loader?.reachability.zone(of: url.origin) { return noted }
            guard let known = try view().reader.mostPublicZone(ofOrigin: url.origin) else {
                return .thisMachine
            }
            context.loader?.reachability.recordZone(of: url.origin, known)
            return known
        case .page(let origins):
            if context.mayReachPrivate { return .thisMachine }
            // An IP address cannot resolve to another host; a name can.
            if url.isLocalByName, origins.contains(where: { WebURL($0)?.host == url.host }) {
                return .thisMachine
            }
            for origin in origins {
                if let noted = context.loader?.reachability.zone(of: origin) { return noted }
            }
            return try networkRights.nearestZone(to: nil)
        case .unknownPage, .foreignPage, .export:
            return context.mayReachPrivate ? .thisMachine : .publicNetwork
        }
    }
}

extension WebURL {
    /// An IP address, or a name that is not resolved by DNS.
    var isLocalByName: Bool {
        host.hasPrefix("[") || host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }
            || host == "localhost" || host.hasSuffix(".localhost")
    }
}
