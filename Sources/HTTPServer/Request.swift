internal import Glibc
package import Web

/// A request as a responder sees it. It borrows the receive buffer, so it is valid only during the call that gets
/// it.
package struct Request {
    package let head: RequestHead
    /// The bytes that the ranges of the head refer to.
    package let bytes: UnsafeBufferPointer<UInt8>
    /// The complete body without chunk framing. At most `ServerLimits.maxBufferedBodyBytes` bytes.
    package let body: UnsafeBufferPointer<UInt8>
    /// The tunnel that the request was sent in; nil if the request is for this server itself.
    package let tunnel: Tunnel?
    /// The descriptor of the client's socket; -1 if there is none.
    package let socket: Int32

    package init(
        head: RequestHead, bytes: UnsafeBufferPointer<UInt8>,
        body: UnsafeBufferPointer<UInt8> = UnsafeBufferPointer(start: nil, count: 0), tunnel: Tunnel? = nil,
        socket: Int32 = -1
    ) {
        self.socket = socket
        self.head = head
        self.bytes = bytes
        self.body = body
        self.tunnel = tunnel
    }

    package var authority: String { String(decoding: host, as: UTF8.self) }

    /// The target of a CONNECT request; nil if it is not a host with a port.
    package var tunnelTarget: (host: String, port: Int)? {
        guard let url = WebURL("http://\(authority)/"), !url.hasCredentials, url.path == "/",
            !url.host.utf8.contains(UInt8(ascii: "*")),
            let port = authority.split(separator: ":").last.flatMap({ Int($0) }), (1...65_535).contains(port)
        else { return nil }
        return (url.host, port)
    }

    package var host: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(rebasing: bytes[head.host]) }
    package var origin: String? { text(head.origin) }

    /// Whether the headers say that another origin's page may have sent the request.
    package var isCrossOrigin: Bool {
        if head.origin != nil { return true }
        // To plain http on other hosts than localhost, browsers send `Referer` alone.
        guard let site = head.fetchSite else { return head.referrer.map { !isOwnPage($0) } ?? false }
        return !HeadSyntax.matches(bytes, site, "same-origin") && !HeadSyntax.matches(bytes, site, "none")
    }

    /// Whether the URL is of a page at the host that the request names. Addresses below `/-/` do not count: they
    /// are Larder's own, and may show a page of another origin.
    private func isOwnPage(_ referrer: Range<Int>) -> Bool {
        let url = bytes[referrer]
        for scheme: StaticString in ["http://", "https://"] {
            let start = UnsafeBufferPointer(start: scheme.utf8Start, count: scheme.utf8CodeUnitCount)
            guard url.starts(with: start), url.dropFirst(start.count).starts(with: host) else { continue }
            let path = url.dropFirst(start.count + host.count)
            return path.isEmpty || path.first == UInt8(ascii: "/") && !path.starts(with: "/-/".utf8)
        }
        return false
    }

    /// The method as it was sent: methods are case-sensitive.
    package var method: String { String(decoding: bytes[head.methodName], as: UTF8.self) }

    /// The request target. An absolute target that ends with its authority means "/" (RFC 9112 §3.2.1).
    package var target: UnsafeBufferPointer<UInt8> {
        let root: StaticString = "/"
        return head.target.isEmpty
            ? UnsafeBufferPointer(start: root.utf8Start, count: 1)
            : UnsafeBufferPointer(rebasing: bytes[head.target])
    }

    package var targetText: String { String(decoding: target, as: UTF8.self) }

    /// All header fields. They are parsed at each call.
    package var fields: HTTPFields {
        HTTPFields(block: UnsafeBufferPointer(rebasing: bytes[head.fields]).span)
    }

    private func text(_ range: Range<Int>?) -> String? {
        range.map { String(decoding: bytes[$0], as: UTF8.self) }
    }
}

/// The head of a request, as ranges of its bytes. A pure value.
///
/// It has the fields that are needed for every request. `Request.fields` parses the others when they are used.
package struct RequestHead: Equatable {
    package enum Method: Equatable {
        case get
        case head
        case other
    }

    package typealias Body = BodyFraming

    package enum Scheme: Equatable {
        case http, https
    }

    package enum ParseResult: Equatable {
        /// More bytes are needed.
        case incomplete
        case head(RequestHead)
        /// The head is refused with this status; the connection must be closed.
        case refused(Int)
    }

    package var method: Method
    package var methodName: Range<Int>
    /// The path and query. Empty if an absolute target ends with its authority; `*` for OPTIONS of the
    /// server.
    package var target: Range<Int>
    /// The value of `Host`, or the authority of an absolute target. Empty for HTTP/1.0 without either.
    package var host: Range<Int>
    package var accept: Range<Int>?
    package var origin: Range<Int>?
    /// The value of `Sec-Fetch-Site`, by which browsers describe the requester.
    package var fetchSite: Range<Int>?
    /// The value of `Referer`.
    package var referrer: Range<Int>?
    /// The header lines, each with its line end.
    package var fields: Range<Int>
    /// Whether there is a precondition or a `Range` field.
    package var isConditional = false
    /// Whether the version is HTTP/1.0. Its clients treat the end of the connection as the end of the
    /// response, unless the response says otherwise.
    package var isHTTP10: Bool
    var isKeptAlive: Bool
    var expectsContinue = false
    /// Whether the method is CONNECT, which names only a host (RFC 9110 §9.3.6).
    package var isConnect = false
    /// Whether there is an `Upgrade` field.
    package var hasUpgrade = false
    /// Whether `Accept-Encoding` contains zstd without a weight.
    package var acceptsZstd = false
    /// Whether `Accept-Encoding` contains gzip without a weight.
    package var acceptsGzip = false
    /// Whether `Accept-Encoding` contains dcz without a weight (RFC 9842).
    package var acceptsDCZ = false
    /// Whether a browser requests a script or a style sheet for a document, by `Sec-Fetch-Dest`.
    package var isForScriptOrStyle = false
    /// Whether a field describes or limits the route of the message (`Via`, `Max-Forwards`).
    package var hasRoutingFields = false
    /// Whether a proxy forwarded the request. Then the client may not be its sender.
    package var isForwarded = false
    /// Whether a field may make the response differ from the one for other requests: cache directives,
    /// credentials, or the requesting page. Requests without such fields are answered from memory.
    package var affectsResponse = false
    /// The scheme of the target, if the target is an absolute URL.
    package var scheme: Scheme?
    package var body: Body
    /// The offset of the body.
    package var end: Int

    /// Whether an answer can be sent as it is, without additional header lines or changes. The answer must allow
    /// that too (`Answer.canSendUnchanged`).
    var canSendUnchanged: Bool { isKeptAlive && !isConditional && !isHTTP10 && method != .head }

    /// The declared length of the body; 0 for a chunked body or none.
    package var bodyCount: Int {
        if case .length(let count) = body { count } else { 0 }
    }

    /// Parses the head at the start of `bytes` strictly by RFC 9112. Refuses everything that two parsers could
    /// interpret differently, because such differences allow request smuggling through a proxy in front of
    /// this server.
    ///
    /// - Parameter isForProxy: Whether CONNECT and absolute https URLs are also accepted.
    package static func parse(
        _ bytes: UnsafeBufferPointer<UInt8>, limits: ServerLimits = .standard, isForProxy: Bool = false
    ) -> ParseResult {
        var parser = RequestHeadParser(bytes, limits, isForProxy: isForProxy)
        return parser.parse()
    }

    /// Whether a head that was incomplete may be complete now that bytes were received after the first
    /// `count`: whether there is an empty line. Only then is it parsed again, so that a client that sends
    /// single bytes does not cause quadratic work.
    static func canContainEnd(_ bytes: UnsafeBufferPointer<UInt8>, after count: Int) -> Bool {
        var last: UInt8 = 0
        for index in max(0, count - 2)..<bytes.count where bytes[index] != 0x0d {
            if bytes[index] == 0x0a, last == 0x0a { return true }
            last = bytes[index]
        }
        return false
    }
}

/// Parses a head line by line. All methods that return a status return the one that refuses the request.
struct RequestHeadParser {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let limits: ServerLimits
    private let isForProxy: Bool
    private var position = 0
    private var fieldCount = 0
    private var hostCount = 0
    private var lengthCount = 0
    private var codingCount = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>, _ limits: ServerLimits, isForProxy: Bool) {
        self.bytes = bytes
        self.limits = limits
        self.isForProxy = isForProxy
    }

    /// Parses the request line and the fields.
    mutating func parse() -> RequestHead.ParseResult {
        // RFC 9112, section 2.2: empty lines before a request are ignored.
        while position + 1 < bytes.count, bytes[position] == cr, bytes[position + 1] == lf { position += 2 }
        let start = position
        let line: Range<Int>
        switch readLine() {
        case .whole(let range): line = range
        case .bareLineFeed: return .refused(400)
        case .incomplete:
            // The method and the version take at most 64 bytes more than the target.
            return bytes.count - start > limits.maxTargetBytes + 64 ? .refused(414) : incomplete()
        }
        var head: RequestHead
        switch RequestLineParser(bytes, isForProxy: isForProxy).parse(line) {
        case .head(let read): head = read
        case .refused(let status): return .refused(status)
        case .incomplete: return .incomplete
        }
        if head.target.count > limits.maxTargetBytes { return .refused(414) }
        let fieldsStart = position
        while true {
            let line: Range<Int>
            switch readLine() {
            case .whole(let range): line = range
            case .bareLineFeed: return .refused(400)
            case .incomplete: return incomplete()
            }
            if line.isEmpty {
                head.fields = fieldsStart..<line.lowerBound
                break
            }
            fieldCount += 1
            guard fieldCount <= limits.maxFields else { return .refused(431) }
            if let status = parseField(line, into: &head) { return .refused(status) }
        }
        head.end = position
        return checkHead(head)
    }

    /// Checks the whole head after its last field. Returns the head, or the status code of the refusal.
    private func checkHead(_ head: RequestHead) -> RequestHead.ParseResult {
        guard position <= limits.maxHeadBytes else { return .refused(431) }
        // Only HTTP/1.0 has no `Host`; browsers always send it.
        guard hostCount == 1 || hostCount == 0 && (head.isHTTP10 || head.isConnect) else {
            return .refused(400)
        }
        // RFC 9110 §9.3.6: the bytes after the head belong to the tunnel.
        if head.isConnect, head.body != .none || codingCount > 0 { return .refused(400) }
        if codingCount > 0 {
            // RFC 9112 §6.1 and §6.3: both lengths together, or chunks with HTTP/1.0, are request smuggling.
            guard codingCount == 1, lengthCount == 0, !head.isHTTP10 else { return .refused(400) }
        }
        return .head(head)
    }

    /// The result for a head without an end: an error if it is already too long.
    private func incomplete() -> RequestHead.ParseResult {
        bytes.count > limits.maxHeadBytes ? .refused(431) : .incomplete
    }

    /// The result of reading a line.
    private enum LineResult {
        /// The range of the line without its end.
        case whole(Range<Int>)
        /// The line ends with a line feed only. RFC 9112, section 2.2, lets a server accept that as a line
        /// end. A proxy in front of this one may not, and would see another request, so it is refused.
        case bareLineFeed
        case incomplete
    }

    /// Reads a line and its end.
    private mutating func readLine() -> LineResult {
        guard position < bytes.count, let base = bytes.baseAddress,
            let lineFeed = memchr(base + position, Int32(lf), bytes.count - position)
        else { return .incomplete }
        let end = UnsafeRawPointer(lineFeed) - UnsafeRawPointer(base)
        let start = position
        guard end > start, bytes[end - 1] == cr else { return .bareLineFeed }
        position = end + 1
        return .whole(start..<end - 1)
    }

    /// Processes a field. Returns the status that refuses it, or nil if it is valid.
    private mutating func parseField(_ line: Range<Int>, into head: inout RequestHead) -> Int? {
        guard let separator = line.first(where: { bytes[$0] == colon }), separator > line.lowerBound,
            (line.lowerBound..<separator).allSatisfy({ HeadSyntax.isToken(bytes[$0]) })
        else { return 400 }
        let name = line.lowerBound..<separator
        var value = separator + 1..<line.upperBound
        while let first = value.first, isBlank(bytes[first]) { value = first + 1..<value.upperBound }
        while let last = value.last, isBlank(bytes[last]) { value = value.lowerBound..<last }
        guard value.allSatisfy({ bytes[$0] >= 0x20 && bytes[$0] != 0x7f || bytes[$0] == tab }) else {
            return 400
        }
        // Comparing lengths first keeps the common fields cheap.
        switch name.count {
        case 3 where matches(name, "via"): (head.hasRoutingFields, head.isForwarded) = (true, true)
        case 4 where matches(name, "host"):
            guard HeadSyntax.isAuthority(bytes, value) else { return 400 }
            hostCount += 1
            if head.host.isEmpty { head.host = value }
        case 5 where matches(name, "range"): head.isConditional = true
        case 6 where matches(name, "pragma"): head.affectsResponse = true
        case 6 where matches(name, "accept"): head.accept = value
        case 6 where matches(name, "origin"): (head.origin, head.affectsResponse) = (value, true)
        case 6 where matches(name, "expect"):
            guard matches(value, "100-continue") else { return 417 }
            // RFC 9110 §10.1.1: an HTTP/1.0 client would mistake the interim response for the final one.
            head.expectsContinue = !head.isHTTP10
        case 7 where matches(name, "upgrade"): head.hasUpgrade = true
        case 7 where matches(name, "referer"): (head.referrer, head.affectsResponse) = (value, true)
        case 8...19 where matches(name.prefix(3), "if-"):
            head.isConditional = true
        case 10 where matches(name, "connection"):
            if listContains(value, "close") {
                head.isKeptAlive = false
            } else if head.isHTTP10, listContains(value, "keep-alive") {
                head.isKeptAlive = true
            }
        case 12 where matches(name, "max-forwards"): head.hasRoutingFields = true
        case 13
        where matches(name, "cache-control") || matches(name, "larder-policy")
            || matches(name, "authorization"):
            head.affectsResponse = true
        case 14 where matches(name, "content-length"): return parseContentLength(value, into: &head)
        case 14 where matches(name, "sec-fetch-site"): (head.fetchSite, head.affectsResponse) = (value, true)
        case 14 where matches(name, "sec-fetch-dest"):
            head.isForScriptOrStyle = matches(value, "script") || matches(value, "style")
        case 15 where matches(name, "accept-encoding"):
            if listContains(value, "zstd") { head.acceptsZstd = true }
            if listContains(value, "gzip") { head.acceptsGzip = true }
            if listContains(value, "dcz") { head.acceptsDCZ = true }
        case 17 where matches(name, "transfer-encoding"): return parseTransferEncoding(value, into: &head)
        case 9 where matches(name, "forwarded") || matches(name, "x-real-ip"): head.isForwarded = true
        case 11... where matches(name.prefix(11), "x-forwarded"): head.isForwarded = true
        default: break
        }
        return nil
    }

    /// Parses `Content-Length`. Only one number of up to 18 digits is accepted, which fits into an `Int`. RFC 9110
    /// also allows a list of equal numbers, which no client needs.
    private mutating func parseContentLength(_ value: Range<Int>, into head: inout RequestHead) -> Int? {
        lengthCount += 1
        guard lengthCount == 1, (1...18).contains(value.count) else { return 400 }
        var count = 0
        for index in value {
            guard (0x30...0x39).contains(bytes[index]) else { return 400 }
            count = count * 10 + Int(bytes[index] - 0x30)
        }
        guard count <= max(limits.maxBufferedBodyBytes, limits.maxStreamedBodyBytes) else { return 413 }
        if codingCount == 0 { head.body = count == 0 ? .none : .length(count) }
        return nil
    }

    /// Parses `Transfer-Encoding`. RFC 9112 §6.1 requires only chunked; clients send no other coding.
    private mutating func parseTransferEncoding(_ value: Range<Int>, into head: inout RequestHead) -> Int? {
        codingCount += 1
        guard matches(value, "chunked") else {
            // RFC 9112 §6.1: 501 for an unknown coding. Without chunked as the last one, the length is unknown.
            let last = value.suffix(7)
            return value.count > 7 && matches(last, "chunked")
                && !HeadSyntax.isToken(bytes[last.lowerBound - 1])
                ? 501 : 400
        }
        head.body = .chunked
        return nil
    }

    private func matches(_ range: Range<Int>, _ text: StaticString) -> Bool {
        HeadSyntax.matches(bytes, range, text)
    }

    /// Whether a comma-separated list contains the member.
    private func listContains(_ range: Range<Int>, _ text: StaticString) -> Bool {
        var rest = range
        while !rest.isEmpty {
            let end = rest.first { bytes[$0] == 0x2c } ?? rest.upperBound
            var member = rest.lowerBound..<end
            while let first = member.first, isBlank(bytes[first]) { member = first + 1..<end }
            while let last = member.last, isBlank(bytes[last]) { member = member.lowerBound..<last }
            if matches(member, text) { return true }
            rest = min(end + 1, rest.upperBound)..<rest.upperBound
        }
        return false
    }

    private func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == tab }

    private var cr: UInt8 { 0x0d }
    private var lf: UInt8 { 0x0a }
    private var tab: UInt8 { 0x09 }
    private var colon: UInt8 { 0x3a }
}

/// Parses a request line such as `GET /path HTTP/1.1`.
struct RequestLineParser {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let isForProxy: Bool

    init(_ bytes: UnsafeBufferPointer<UInt8>, isForProxy: Bool) {
        self.bytes = bytes
        self.isForProxy = isForProxy
    }

    /// Returns a head without its fields, or the status that refuses the line.
    func parse(_ line: Range<Int>) -> RequestHead.ParseResult {
        guard let first = line.first(where: { bytes[$0] == space }),
            let last = line.last(where: { bytes[$0] == space }), first > line.lowerBound, first < last,
            (line.lowerBound..<first).allSatisfy({ HeadSyntax.isToken(bytes[$0]) })
        else { return .refused(400) }
        let method = line.lowerBound..<first
        var target = first + 1..<last
        guard !target.isEmpty, target.allSatisfy({ bytes[$0] > space && bytes[$0] < 0x7f }) else {
            return .refused(400)
        }
        let isHTTP10: Bool
        switch parseVersion(last + 1..<line.upperBound) {
        case .known(let minor): isHTTP10 = minor == 0
        case .unknown: return .refused(505)
        case .malformed: return .refused(400)
        }
        var host = 0..<0
        var scheme: RequestHead.Scheme?
        let isConnect = isExactly(method, "CONNECT")
        if isConnect {
            // A request in a tunnel cannot open another tunnel.
            guard isForProxy else { return .refused(501) }
            guard isConnectable(target) else { return .refused(400) }
            host = target
            target = target.upperBound..<target.upperBound
        } else if bytes[target.lowerBound] != slash {
            if HeadSyntax.matches(bytes, method, "connect") { return .refused(501) }
            // RFC 9112 §3.2.4: `*` is the server as a whole, and only OPTIONS may use it.
            let isWholeServer = target.count == 1 && bytes[target.lowerBound] == 0x2a
            if !(isWholeServer && HeadSyntax.matches(bytes, method, "options")) {
                guard let (urlScheme, authority) = parseAuthority(of: target) else { return .refused(400) }
                (scheme, host) = (urlScheme, authority)
                target = authority.upperBound..<target.upperBound
            }
        }
        return .head(
            RequestHead(
                method: methodKind(of: method), methodName: method, target: target, host: host, fields: 0..<0,
                isHTTP10: isHTTP10, isKeptAlive: !isHTTP10, isConnect: isConnect, scheme: scheme, body: .none,
                end: 0))
    }

    /// The result of parsing a version.
    private enum VersionResult {
        case known(minor: UInt8)
        /// A major version other than 1.
        case unknown
        case malformed
    }

    /// Parses the version. RFC 9110 §2.5: a later minor version can be processed as an earlier one.
    private func parseVersion(_ range: Range<Int>) -> VersionResult {
        let (major, minor) = (range.lowerBound + 5, range.lowerBound + 7)
        // RFC 9112 §2.3: the name is case-sensitive, but other servers accept any case.
        guard range.count == 8, HeadSyntax.matches(bytes, range.prefix(5), "http/"), bytes[major + 1] == 0x2e,
            HeadSyntax.isDigit(bytes[major]), HeadSyntax.isDigit(bytes[minor])
        else { return .malformed }
        return bytes[major] == 0x31 ? .known(minor: bytes[minor] - 0x30) : .unknown
    }

    /// Returns the host of an absolute target. RFC 9112 §3.2.2: it overrides `Host`.
    private func parseAuthority(of target: Range<Int>) -> (scheme: RequestHead.Scheme, host: Range<Int>)? {
        guard let (scheme, start) = parseScheme(of: target),
            case let end = (start..<target.upperBound).first(where: { isAuthorityEnd(bytes[$0]) })
                ?? target.upperBound,
            end > start, HeadSyntax.isAuthority(bytes, start..<end)
        else { return nil }
        return (scheme, start..<end)
    }

    /// Whether the byte ends an authority. Only proxies get absolute targets with a query but no path.
    private func isAuthorityEnd(_ byte: UInt8) -> Bool { byte == slash || isForProxy && byte == 0x3f }

    /// Returns the scheme of an absolute target, and where its authority starts.
    private func parseScheme(of target: Range<Int>) -> (RequestHead.Scheme, start: Int)? {
        let schemes: [(RequestHead.Scheme, StaticString)] = [(.http, "http://"), (.https, "https://")]
        for (scheme, text) in schemes where isForProxy || scheme == .http {
            let start = target.lowerBound + text.utf8CodeUnitCount
            if start < target.upperBound, HeadSyntax.matches(bytes, target.lowerBound..<start, text) {
                return (scheme, start)
            }
        }
        return nil
    }

    /// Whether the target is a host with a port.
    private func isConnectable(_ target: Range<Int>) -> Bool {
        guard HeadSyntax.isAuthority(bytes, target), let last = target.last(where: { bytes[$0] == 0x3a })
        else { return false }
        return last > target.lowerBound && (1...5).contains(target.upperBound - last - 1)
            && bytes[target.upperBound - 1] != 0x5d
    }

    /// The kind of a method. Method names are case-sensitive (RFC 9110 §9.1).
    private func methodKind(of range: Range<Int>) -> RequestHead.Method {
        switch range.count {
        case 3 where isExactly(range, "GET"): .get
        case 4 where isExactly(range, "HEAD"): .head
        default: .other
        }
    }

    private func isExactly(_ range: Range<Int>, _ text: StaticString) -> Bool {
        range.count == text.utf8CodeUnitCount
            && range.enumerated().allSatisfy { offset, index in bytes[index] == text.utf8Start[offset] }
    }

    private var space: UInt8 { 0x20 }
    private var slash: UInt8 { 0x2f }
}

/// Character classes and comparisons of the HTTP syntax.
enum HeadSyntax {
    /// Compares without regard to ASCII case. `text` must be in lower case.
    static func matches(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>, _ text: StaticString)
        -> Bool
    {
        guard range.count == text.utf8CodeUnitCount else { return false }
        for (offset, index) in range.enumerated() where lowercased(bytes[index]) != text.utf8Start[offset] {
            return false
        }
        return true
    }

    /// Whether a byte may be in a token (RFC 9110 §5.6.2).
    static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x21, 0x23...0x27, 0x2a, 0x2b, 0x2d, 0x2e, 0x5e...0x60,
            0x7c, 0x7e:
            true
        default: false
        }
    }

    /// Whether the range is `name`, `name:port` or `[address]:port`, without anything that a URL parser would
    /// take for a user, a path or a query.
    static func isAuthority(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Bool {
        var index = range.lowerBound
        if index < range.upperBound, bytes[index] == 0x5b {
            repeat { index += 1 } while index < range.upperBound && isAddressByte(bytes[index])
            guard index < range.upperBound, bytes[index] == 0x5d else { return false }
            index += 1
        } else {
            while index < range.upperBound, isNameByte(bytes[index]) { index += 1 }
        }
        guard index < range.upperBound else { return true }
        guard bytes[index] == 0x3a else { return false }
        repeat { index += 1 } while index < range.upperBound && isDigit(bytes[index])
        return index == range.upperBound
    }

    private static func isAddressByte(_ byte: UInt8) -> Bool {
        isHexDigit(byte) || byte == 0x3a || byte == 0x2e
    }

    static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    static func isHexDigit(_ byte: UInt8) -> Bool {
        isDigit(byte) || (0x61...0x66).contains(lowercased(byte))
    }

    static func lowercased(_ byte: UInt8) -> UInt8 { (0x41...0x5a).contains(byte) ? byte | 0x20 : byte }

    /// Whether a byte may be in a registered name (RFC 3986 §3.2.2).
    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x21, 0x24...0x2e, 0x3b, 0x3d, 0x5f, 0x7e: true
        default: false
        }
    }
}

extension BodyReader {
    /// Creates a reader with the limits of a server.
    package init(_ framing: BodyFraming, limits: ServerLimits = .standard) {
        self.init(
            framing, maxBodyBytes: limits.maxBufferedBodyBytes, maxOverheadBytes: limits.maxTrailerBytes)
    }
}
