internal import Store
internal import Web

/// Which of a stored response's fields go out again, and how.
struct AnswerFields {
    let layout: OriginLayout
    /// Clients may keep what they get, by the server's own word.
    let isProxy: Bool
    /// What one answer says beside what all do.
    var added: [(String, String)] = []

    init(layout: OriginLayout, isProxy: Bool = false) {
        self.layout = layout
        self.isProxy = isProxy || layout.isTransparent
    }

    /// The fields of an answer that stands for a stored response. Only one with a body has a tag.
    func fields(
        of stored: HTTPFields, base: WebURL, source: AnswerSource, sharing: Sharing, entityTag: String? = nil
    ) -> [(String, String)] {
        var fields = led(stored, base: base)
        if let entityTag { fields.append(("ETag", entityTag)) }
        return fields + ownFields(source, base, sharing)
    }

    /// What a proxy's client gets of what has just come, or is held in memory alone.
    ///
    /// - Parameter body: nil for the answer to a HEAD.
    func asItCame(_ status: Int, _ stored: HTTPFields, _ url: WebURL, _ body: [UInt8]?) -> Answer {
        // Nobody holds back from a proxy's client what its server gives.
        let sharing = Sharing(missing: url)
        var outgoing = fields(of: stored, base: url, source: .loaded, sharing: sharing)
        if status == 206 || status == 416, let range = stored["Content-Range"] {
            outgoing.append(("Content-Range", range))
        }
        guard let body else {
            return Answer(headOf: status, fields: outgoing, byteCount: stored.contentLength, sharing: sharing)
        }
        return Answer(status: status, fields: outgoing, body: body, sharing: sharing)
    }

    /// How old an answer is by now, as a line.
    static func age(_ freshness: Freshness, at now: HTTPDate) -> [UInt8] {
        Array("Age: \(freshness.age(at: now))\r\n".utf8)
    }

    /// What a server said before its answer, as it goes on to a client.
    func interim(_ status: Int, _ said: HTTPFields, base: WebURL) -> [UInt8] {
        let lines = led(said, base: base).map { "\($0): \($1)\r\n" }
        return HTTPGrammar.bytes(of: "HTTP/1.1 \(status) \(StatusPhrase.of(status))\r\n\(lines.joined())\r\n")
    }

    private func led(_ stored: HTTPFields, base: WebURL) -> [(String, String)] {
        var fields: [(String, String)] = []
        if layout.isTransparent {
            // Of the body's length and part speaks who sends it.
            fields.reserveCapacity(stored.list.count + 1)
            for field in stored.withoutConnectionFields.list
            where !Self.unsaid.contains(field.name) && !Self.isOurs(field.name) {
                fields.append((field.name, field.value))
            }
            fields.append(("Via", ProxyHop.via))
            return fields
        }
        for field in stored.list {
            switch treatment(of: field.name, base) {
            case .cache: if isProxy { fields.append((field.name, field.value)) }
            case .lifetime: break
            case .keep: fields.append((field.name, field.value))
            case .address: fields.append((field.name, led(field.value, base: base)))
            case .links: fields.append((field.name, ledLinks(field.value, base: base)))
            case .refresh: fields.append((field.name, ledRefresh(field.value, base: base)))
            case .origins: fields.append((field.name, ledOrigins(field.value)))
            case .policy: fields += policies(field.value, of: base).map { (field.name, $0) }
            case .framing: fields.append((field.name, layout.keepsPaths(of: base) ? field.value : "DENY"))
            case .drop: break
            }
        }
        return fields
    }

    private static let unsaid: FieldNames = ["content-length", "content-range", "set-cookie"]

    /// What only we say of what we give: that a bundle is verified, say. Whoever is asked for it says no such thing.
    private static func isOurs(_ name: String) -> Bool {
        let word = name.utf8.prefix(6)
        return word.count == 6 && HTTPGrammar.matches(String(Substring(word)), "larder")
            && (name.utf8.count == 6 || name.utf8.dropFirst(6).first == UInt8(ascii: "-"))
    }

    /// What every copy says, beside what was stored.
    func ownFields(_ source: AnswerSource, _ url: WebURL, _ sharing: Sharing) -> [(String, String)] {
        if layout.isTransparent { return [] }
        // The browser asks each time, whatever the origin said: so a newer snapshot shows at once, and nothing
        // outlives the site that is at the root now. The answer is a 304 from memory.
        return [("Cache-Control", sharing.isForOne ? "no-store" : "no-cache"), ("Larder", source.text)]
            + layout.fields(of: url)
            + (sharing.varies(in: layout) ? [("Vary", "Origin")] : [])
            // Pages on other ports share the browser's cache, and could find mirrored responses there.
            + (layout.isExposed ? [] : [("Vary", "Sec-Fetch-Site")]) + added
    }

    /// Whether a redirect leads to where it was asked for: from http to https, say, where one local name
    /// stands for both.
    func isLed(_ stored: HTTPFields, from base: WebURL, to asked: WebURL) -> Bool {
        guard let location = stored["Location"].flatMap({ WebURL($0, base: base) }) else { return false }
        return layout.address(of: location.withoutFragment) == layout.address(of: asked.withoutFragment)
    }

    private func led(_ value: String, base: WebURL) -> String {
        // A reference without an origin leads where it should by itself, as the body's do.
        if layout.keepsPaths(of: base), WebURL(value) == nil, !Self.namesHost(value) { return value }
        guard let url = WebURL(value, base: base), let local = layout.address(of: url) else { return value }
        return local
    }

    /// Whether a relative reference begins with two slashes, of either kind.
    private static func namesHost(_ value: String) -> Bool {
        // Those who read URLs leave tabs and ends of lines out, wherever they stand.
        let start = value.utf8.drop { $0 <= 0x20 }.lazy.filter { ![0x09, 0x0A, 0x0D].contains($0) }.prefix(2)
        return start.count == 2 && start.allSatisfy { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
    }

    /// RFC 8288: what stands between angle brackets.
    private func ledLinks(_ value: String, base: WebURL) -> String {
        var bytes = Array(value.utf8)
        for link in LinkField.parse(value).reversed() {
            bytes.replaceSubrange(link.targetRange, with: led(link.target, base: base).utf8)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func ledRefresh(_ value: String, base: WebURL) -> String {
        guard let refresh = RefreshDirective(value), let range = refresh.urlRange, let url = refresh.url
        else {
            return value
        }
        var bytes = Array(value.utf8)
        bytes.replaceSubrange(range, with: led(url, base: base).utf8)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func ledOrigins(_ value: String) -> String {
        guard value != "*" else { return value }
        let origins = value.utf8.split(separator: UInt8(ascii: ",")).compactMap { part -> String? in
            let origin = String(decoding: HTTPGrammar.trimmed(part), as: UTF8.self)
            return origin == "*" ? origin : WebURL(origin).flatMap(layout.localOrigin)
        }
        return origins.joined(separator: ", ")
    }

    /// Of a Content-Security-Policy what keeps its document away from others: who may show it in a frame, and
    /// that it gets no origin. What it lets the document load names the network's addresses; the larder's own
    /// policy takes the place of that.
    private func policies(_ value: String, of url: WebURL) -> [String] {
        value.utf8.split(separator: UInt8(ascii: ",")).compactMap { policy in
            let directives = policy.split(separator: UInt8(ascii: ";")).compactMap { directive -> String? in
                let words = directive.split(whereSeparator: { HTTPGrammar.isSpace($0) }).map {
                    String(decoding: $0, as: UTF8.self)
                }
                switch words.first?.lowercased() {
                case "sandbox": return words.joined(separator: " ")
                case "frame-ancestors":
                    let sources = words.dropFirst().compactMap { layout.localSource($0, of: url) }
                    return "frame-ancestors " + (sources.isEmpty ? "'none'" : sources.joined(separator: " "))
                default: return nil
                }
            }
            return directives.isEmpty ? nil : directives.joined(separator: "; ")
        }
    }

    private enum Treatment {
        case keep
        /// An address that must lead to the larder, and those of `Link` and `Refresh`; origins that it names
        /// otherwise.
        case address, links, refresh, origins
        /// A policy, of which a part is kept, and one that speaks of the page's own origin.
        case policy, framing
        /// Directives for caches; and the lifetime of the response, which only Larder itself may use.
        case cache, lifetime
        case drop
    }

    private func treatment(of name: String, _ url: WebURL) -> Treatment {
        let name = HTTPGrammar.lowercased(name.utf8)
        // Beside a site at the root a worker would be that site's.
        if name == "service-worker-allowed", !layout.keepsPaths(of: url) { return .drop }
        return Self.isOurs(name) ? .drop : Self.treatment(of: name)
    }

    /// Dropped is what speaks of the connection, of a coding that is undone, of addresses on the network, or
    /// has a browser ask or tell something there; and what is answered to each page by itself.
    private static func treatment(of name: String) -> Treatment {
        switch name {
        case "location", "content-location": .address
        case "link": .links
        case "refresh": .refresh
        case "timing-allow-origin": .origins
        case "content-security-policy": .policy
        case "x-frame-options": .framing
        case "age", "vary": .cache
        case "cache-control", "expires", "pragma": .lifetime
        case "connection", "keep-alive", "proxy-authenticate", "proxy-connection", "te", "trailer",
            "transfer-encoding",
            "upgrade", "content-length", "content-md5", "content-digest", "repr-digest",
            "digest",
            "etag", "accept-ranges", "content-range",
            "strict-transport-security", "content-security-policy-report-only", "access-control-allow-origin",
            "access-control-allow-credentials", "referrer-policy", "cross-origin-opener-policy-report-only",
            "cross-origin-embedder-policy-report-only", "permissions-policy-report-only",
            "document-policy-report-only",
            "expect-ct", "public-key-pins", "report-to", "reporting-endpoints", "nel",
            "speculation-rules",
            "attribution-reporting-register-source", "attribution-reporting-register-trigger",
            "onion-location",
            "alt-svc", "clear-site-data", "set-cookie", "server-timing", "sourcemap", "x-sourcemap",
            "x-dns-prefetch-control", "origin-agent-cluster":
            .drop
        default:
            .keep
        }
    }
}

/// Where an answer came from, as its `Larder` field says.
enum AnswerSource {
    case hit(LookupCandidate.Change)
    case stale(LookupCandidate.Change)
    /// The server has just confirmed it.
    case validated
    case loaded
    case miss

    init(_ hit: CacheHit, _ change: LookupCandidate.Change) {
        switch hit {
        case .fresh: self = .hit(change)
        case .stale: self = .stale(change)
        case .validated: self = .validated
        }
    }

    var text: String {
        switch self {
        case .hit([]): "hit"
        case .hit(let change): "hit; by=\(change)"
        case .stale([]): "stale"
        case .stale(let change): "stale; by=\(change)"
        case .validated: "validated"
        case .loaded: "loaded"
        case .miss: "miss"
        }
    }
}

extension StoredBody {
    /// Raised when the same body is shown in other bytes than before.
    private static let showingVersion = 5

    /// Another one when other bytes are shown, whichever store and snapshot they come from: by the body itself,
    /// and by what its splice and its reading depend on.
    ///
    /// - Parameter shim: nil where pages do without; else whether a browser shows it.
    func entityTag(type: String?, layout: OriginLayout, shim: Bool?, steadySince: Int? = nil) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let digest = sha256.prefix(8).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        let place = layout.root.map { "\n\(layout.authority ?? "") \($0.origins[0]) \(layout.folder)" } ?? ""
        // FNV-1a tells the few types and manners that one body may have apart.
        let steady = steadySince.map { "\n\($0)" } ?? ""
        let bar = layout.bar == .here ? "\nbar" : ""
        let reading = "\(form)\n\(type ?? "")\n\(shim.map(String.init) ?? "")\(place)\(steady)\(bar)".utf8
            .reduce(
                0x811c_9dc5 as UInt32
            ) {
                ($0 ^ UInt32($1)) &* 0x0100_0193
            }
        return
            "\"\(String(decoding: digest, as: UTF8.self))-\(reading)-\(layout.port)-\(Self.showingVersion)\""
    }
}

extension StoredResponse {
    /// It was confirmed not to be there.
    var isTombstone: Bool { status == 404 || status == 410 }
}

extension [(String, String)] {
    /// The body goes out in UTF-8, whatever it was stored in.
    mutating func sayUTF8() {
        for index in indices where self[index].0.lowercased() == "content-type" {
            let essence = self[index].1.utf8.prefix { $0 != UInt8(ascii: ";") }
            self[index].1 = "\(Substring(essence)); charset=utf-8"
        }
    }
}
