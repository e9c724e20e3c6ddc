internal import HTTPServer
internal import Origins
internal import Store
internal import Web

/// Decides which header fields of a response are sent, rewrites the URLs in them, and adds Larder's own fields.
///
/// A proxy sends nearly all fields unchanged, as RFC 9110 requires of an intermediary. A mirror is the origin server of its
/// own host names: `treatment(of:)` decides about each field. In both cases, fields named `Larder` or `Larder-…` come only
/// from Larder itself.
struct AnswerFields {
    let layout: OriginLayout
    /// Whether clients may cache responses as the origin allows.
    let isProxy: Bool
    /// Fields that are added to one answer only.
    var added: [(String, String)] = []

    init(layout: OriginLayout, isProxy: Bool = false) {
        self.layout = layout
        self.isProxy = isProxy || layout.isTransparent
    }

    /// The fields of an answer for a stored response. Pass an entity tag only if the answer has a body.
    func fields(
        of stored: HTTPFields, base: WebURL, source: AnswerSource, sharing: Sharing, entityTag: String? = nil
    ) -> [(String, String)] {
        var fields = rewrite(stored, base: base)
        if let entityTag { fields.append(("ETag", entityTag)) }
        return fields
            + mirrorFields(source, base, sharing, isPrivate: CacheDirectives(stored).isPrivate != nil)
    }

    /// The answer of a proxy for a response that was just received, or that is stored only in memory.
    ///
    /// - Parameter body: Nil for the answer to a HEAD request.
    func proxyAnswer(_ status: Int, _ stored: HTTPFields, _ url: WebURL, _ body: [UInt8]?) -> Answer {
        // A proxy's client may have any response that the origin sent it.
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

    /// The `Age` header line of an answer.
    static func age(_ freshness: Freshness, at now: HTTPDate) -> [UInt8] {
        Array("Age: \(freshness.age(at: now))\r\n".utf8)
    }

    /// The head of an origin's interim response, as it is sent to a client.
    func interim(_ status: Int, _ said: HTTPFields, base: WebURL) -> [UInt8] {
        let lines = rewrite(said, base: base).map { "\($0): \($1)\r\n" }
        return HTTPGrammar.bytes(of: "HTTP/1.1 \(status) \(StatusPhrase.of(status))\r\n\(lines.joined())\r\n")
    }

    /// The fields of a response as its client gets them.
    private func rewrite(_ stored: HTTPFields, base: WebURL) -> [(String, String)] {
        var fields: [(String, String)] = []
        if layout.isTransparent {
            // The length, the range and the cookies are added by the code that sends the body.
            fields.reserveCapacity(stored.list.count + 1)
            for field in stored.withoutConnectionFields.list
            where !Self.omittedFields.contains(field.name) && !Self.isReserved(field.name) {
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
            case .address: fields.append((field.name, rewriteURL(field.value, base: base)))
            case .links: fields.append((field.name, rewriteLinks(field.value, base: base)))
            case .refresh: fields.append((field.name, rewriteRefresh(field.value, base: base)))
            case .origins: fields.append((field.name, rewriteOrigins(field.value)))
            case .policy: fields += policies(field.value, of: base).map { (field.name, $0) }
            case .framing:
                fields.append((field.name, layout.keepsRelativeLinks(of: base) ? field.value : "DENY"))
            case .drop: break
            }
        }
        return fields
    }

    /// Fields that a proxy does not forward here, in lowercase.
    private static let omittedFields: FieldNames = ["content-length", "content-range", "set-cookie"]

    /// Whether only Larder itself may send the field, such as the one that says that a bundle is verified.
    /// Origins must not set it.
    private static func isReserved(_ name: String) -> Bool {
        let word = name.utf8.prefix(6)
        return word.count == 6 && HTTPGrammar.matches(String(Substring(word)), "larder")
            && (name.utf8.count == 6 || name.utf8.dropFirst(6).first == UInt8(ascii: "-"))
    }

    /// The fields that every stored response gets in addition to its own.
    ///
    /// - Parameter isPrivate: Whether the origin forbids shared caches to store it.
    func mirrorFields(
        _ source: AnswerSource, _ url: WebURL, _ sharing: Sharing, isPrivate: Bool = false
    ) -> [(String, String)] {
        if layout.isTransparent { return [] }
        // The browser must validate at each use, whatever the origin said: a newer snapshot is then visible
        // at once, and nothing stays in the browser's cache after the site at the root changes. The answer is
        // a 304 from memory.
        let directive = isPrivate ? "private, no-cache" : "no-cache"
        return [
            ("Cache-Control", sharing.isForOneRequester ? "no-store" : directive), ("Larder", source.text),
        ]
            + layout.fields(of: url)
            + (sharing.varies(in: layout) ? [("Vary", "Origin")] : [])
            // Pages on other ports share the browser's cache, and could find mirrored responses there.
            + (layout.isExposed ? [] : [("Vary", "Sec-Fetch-Site")]) + added
    }

    /// Whether a response redirects to the same mirror address that was requested: for instance from http to
    /// https, if one mirror name stands for both.
    func redirectsToSame(_ stored: HTTPFields, from base: WebURL, to requested: WebURL) -> Bool {
        guard let location = stored["Location"].flatMap({ WebURL($0, base: base) }) else { return false }
        return layout.address(of: location.withoutFragment) == layout.address(of: requested.withoutFragment)
    }

    /// The mirror address of a URL in a field; unchanged if it is relative or not mirrored.
    private func rewriteURL(_ value: String, base: WebURL) -> String {
        // A relative reference resolves correctly without rewriting, as in the body.
        if layout.keepsRelativeLinks(of: base), WebURL(value) == nil, !Self.namesHost(value) { return value }
        guard let url = WebURL(value, base: base), let local = layout.address(of: url) else { return value }
        return local
    }

    /// Whether a relative reference begins with two slashes, of either kind.
    private static func namesHost(_ value: String) -> Bool {
        // URL parsers remove tabs and line ends anywhere in a URL.
        let start = value.utf8.drop { $0 <= 0x20 }.lazy.filter { ![0x09, 0x0A, 0x0D].contains($0) }.prefix(2)
        return start.count == 2 && start.allSatisfy { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
    }

    /// Rewrites the link targets in a `Link` field, which are between angle brackets (RFC 8288).
    private func rewriteLinks(_ value: String, base: WebURL) -> String {
        var bytes = Array(value.utf8)
        for link in LinkField.parse(value).reversed() {
            bytes.replaceSubrange(link.targetRange, with: rewriteURL(link.target, base: base).utf8)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Rewrites the URL in a `Refresh` field, if it has one.
    private func rewriteRefresh(_ value: String, base: WebURL) -> String {
        guard let refresh = RefreshDirective(value), let range = refresh.urlRange, let url = refresh.url
        else {
            return value
        }
        var bytes = Array(value.utf8)
        bytes.replaceSubrange(range, with: rewriteURL(url, base: base).utf8)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Rewrites a list of origins. Origins that have no mirror name are left out.
    private func rewriteOrigins(_ value: String) -> String {
        guard value != "*" else { return value }
        let origins = value.utf8.split(separator: UInt8(ascii: ",")).compactMap { part -> String? in
            let origin = String(decoding: HTTPGrammar.trimmed(part), as: UTF8.self)
            return origin == "*" ? origin : WebURL(origin).flatMap(layout.localOrigin)
        }
        return origins.joined(separator: ", ")
    }

    /// The directives of a Content-Security-Policy that isolate its document from others: which pages may
    /// frame it, and whether it has an opaque origin. The directives that limit the loads of the document contain the
    /// origins of the web; Larder's own policy replaces them.
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

    /// The way in which a field is sent.
    private enum Treatment {
        case keep
        /// A URL that is rewritten (`address`), the URLs of `Link` and `Refresh`, and a list of origins.
        case address, links, refresh, origins
        /// A policy that is kept in part, and one that refers to the page's own origin.
        case policy, framing
        /// Directives for caches; and the lifetime of the response, which only Larder itself may use.
        case cache, lifetime
        case drop
    }

    /// The treatment of a field of the response of a URL.
    private func treatment(of name: String, _ url: WebURL) -> Treatment {
        let name = HTTPGrammar.lowercased(name.utf8)
        // Beside a site at the root, the worker would be that site's worker.
        if name == "service-worker-allowed", !layout.keepsRelativeLinks(of: url) { return .drop }
        return Self.isReserved(name) ? .drop : Self.treatment(of: name)
    }

    /// The treatment of a field by its name. Dropped are fields that describe the connection or a removed
    /// content coding, that contain URLs on the web, that make a browser send requests or reports there, or
    /// that are generated for each requester.
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
        // Dropped. First, fields about the connection (RFC 9110 7.6.1).
        case "connection", "keep-alive", "proxy-authenticate", "proxy-connection", "te", "trailer",
            "transfer-encoding",
            "upgrade",
            // About the exact bytes of the body, which may be rewritten or decoded.
            "content-length", "content-md5", "content-digest", "repr-digest",
            "digest",
            // The same; added again where they hold (`ServedSignatures`).
            "unencoded-digest", "signature", "signature-input",
            "etag", "accept-ranges", "content-range",
            // Larder sends its own for each requester or page.
            "access-control-allow-origin", "access-control-allow-credentials", "referrer-policy",
            "set-cookie", "server-timing", "x-dns-prefetch-control", "origin-agent-cluster",
            // Make a browser send requests or reports to the live site, or change how it reaches a host.
            "strict-transport-security", "content-security-policy-report-only",
            "cross-origin-opener-policy-report-only",
            "cross-origin-embedder-policy-report-only", "permissions-policy-report-only",
            "document-policy-report-only",
            "expect-ct", "public-key-pins", "report-to", "reporting-endpoints", "nel",
            "speculation-rules",
            "attribution-reporting-register-source", "attribution-reporting-register-trigger",
            "onion-location",
            "alt-svc", "clear-site-data", "sourcemap", "x-sourcemap",
            // Larder is the server of the dictionaries of a mirror (`DictionaryExchange`).
            "use-as-dictionary":
            .drop
        default:
            .keep
        }
    }
}

/// The source of an answer, as its `Larder` field says.
enum AnswerSource {
    case hit(LookupCandidate.Change)
    case stale(LookupCandidate.Change)
    /// The origin has just confirmed the stored response.
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

    /// The value of the `Larder` field.
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
    /// Must be increased when the same body is rendered differently than before.
    private static let renderingVersion = 6

    /// An entity tag that changes if the rendered bytes change, independently of the store and the snapshot.
    /// It is made from the body's digest and everything that the rewriting depends on.
    ///
    /// - Parameters:
    ///   - shim: Nil if pages get no shim; otherwise, whether the response is rendered by a browser.
    ///   - steadySince: As for `Shim.tag`.
    ///   - scriptCopyKeys: As for `Shim.tag`.
    func entityTag(
        type: String?, layout: OriginLayout, shim: Bool?, steadySince: Int? = nil,
        scriptCopyKeys: [String] = []
    ) -> String {
        let digest = Hex.encode(sha256.prefix(8))
        let rootPart =
            layout.root.map { "\n\(layout.authority ?? "") \($0.origins[0]) \(layout.folder)" } ?? ""
        // FNV-1a is sufficient to distinguish the few types and renderings of one body.
        let start = (steadySince.map { "\n\($0)" } ?? "") + scriptCopyKeys.map { "\n\($0)" }.joined()
        let bar = layout.hasBar ? "\nbar" : ""
        let reading = "\(form)\n\(type ?? "")\n\(shim.map(String.init) ?? "")\(rootPart)\(start)\(bar)".utf8
            .reduce(
                0x811c_9dc5 as UInt32
            ) {
                ($0 ^ UInt32($1)) &* 0x0100_0193
            }
        return
            "\"\(digest)-\(reading)-\(layout.port)-\(Self.renderingVersion)\""
    }
}

extension AnswerSource {
    /// Whether the answer is the response of the requested URL itself, and not of a similar one.
    var isOfRequestedURL: Bool {
        switch self {
        case .hit(let change), .stale(let change): change.isEmpty
        case .validated, .loaded: true
        case .miss: false
        }
    }
}

extension StoredResponse {
    /// Whether the response confirms that the resource does not exist.
    var isTombstone: Bool { status == 404 || status == 410 }
}

extension [(String, String)] {
    /// Sets the charset to UTF-8, in which bodies are sent even if they are stored in another one.
    mutating func setUTF8() {
        for index in indices where self[index].0.lowercased() == "content-type" {
            let essence = self[index].1.utf8.prefix { $0 != UInt8(ascii: ";") }
            self[index].1 = "\(Substring(essence)); charset=utf-8"
        }
    }
}
