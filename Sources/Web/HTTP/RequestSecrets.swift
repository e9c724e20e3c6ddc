/// Which request header fields may carry a secret: a login, a session, an API key.
///
/// An allow-list decides. Servers give any name to the field of an API key, so a field counts as a secret
/// unless it is known to be harmless: what browsers, curl, wget and Larder send by themselves, what HTTP says
/// of the connection and of caching, and what well-known script libraries send to select a representation.
/// Fields by which servers let clients in (`X-Forwarded-For`, `X-Real-IP`) are left out on purpose.
package enum RequestSecrets {
    /// Whether a field of this name says nothing that only its client may know.
    package static func isHarmless(_ name: String) -> Bool {
        let name = HTTPGrammar.lowercased(name.utf8)
        // HTTP/2 has the request line in fields such as `:authority`; HAR files have them too.
        return harmless.contains(name) || prefixes.contains { name.hasPrefix($0) }
    }

    /// Whether any of the fields may carry a secret.
    package static func areIn(_ fields: HTTPFields) -> Bool { fields.list.contains { !isHarmless($0.name) } }

    /// Whether a response to a request with these fields belongs to the client that sent it.
    ///
    /// RFC 9111, section 3.5, lets caches give a response with `Cache-Control: public` to everybody although
    /// the request carried `Authorization`; Larder does the same for cookies. A server says that of the
    /// logins that HTTP knows. Whether it thought of a field of its own, nobody can tell, so that no other
    /// secret is excused.
    ///
    /// - Parameter response: the header fields of the response.
    package static func makePrivate(_ response: HTTPFields, to request: HTTPFields) -> Bool {
        var hasLogin = false
        for field in request.list where !isHarmless(field.name) {
            guard logins.contains(field.name) else { return true }
            hasLogin = true
        }
        return hasLogin && !response.elements("Cache-Control").contains { HTTPGrammar.matches($0, "public") }
    }

    /// The fields in which HTTP itself carries logins and sessions.
    static let logins: FieldNames = ["authorization", "cookie"]

    private static let prefixes = [":", "sec-ch-", "sec-fetch-"]

    private static let harmless: Set<String> = [
        // Content negotiation.
        "accept", "accept-charset", "accept-datetime", "accept-encoding", "accept-language", "accept-query",
        "available-dictionary", "dictionary-id", "prefer", "want-content-digest", "want-digest",
        "want-repr-digest",
        // Conditions and ranges.
        "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "range",
        // Caching.
        "cache-control", "pragma",
        // The message and its connection.
        "connection", "content-digest", "content-encoding", "content-language", "content-length",
        "content-location", "content-md5", "content-range", "content-type", "date", "digest", "early-data",
        "expect", "host", "http2-settings", "keep-alive", "max-forwards", "mime-version", "priority",
        "proxy-connection", "repr-digest", "te", "trailer", "transfer-encoding", "upgrade", "via",
        // The client, and where it comes from.
        "alt-used", "dnt", "from", "origin", "referer", "user-agent", "x-client-data",
        "x-forwarded-host", "x-forwarded-port", "x-forwarded-proto",
        // The device and the network, as older hints say it.
        "device-memory", "downlink", "dpr", "ect", "rtt", "save-data", "viewport-width", "width",
        // What the request is for.
        "access-control-request-headers", "access-control-request-local-network",
        "access-control-request-method", "access-control-request-private-network", "last-event-id",
        "ping-from", "ping-to", "purpose", "sec-gpc", "sec-purpose", "service-worker",
        "service-worker-navigation-preload", "upgrade-insecure-requests", "x-moz", "x-purpose",
        // Script libraries that have servers give a part of a page, or data in its place.
        "apollo-require-preflight", "hx-boosted", "hx-current-url", "hx-history-restore-request",
        "hx-request", "hx-target", "hx-trigger", "hx-trigger-name", "next-router-prefetch",
        "next-router-segment-prefetch", "next-router-state-tree", "next-url", "rsc", "turbo-frame",
        "turbo-visit", "x-inertia", "x-inertia-partial-component", "x-inertia-partial-data",
        "x-inertia-version", "x-nextjs-data", "x-pjax", "x-pjax-container", "x-requested-with",
        // Traces through a server's parts.
        "sentry-trace", "traceparent", "tracestate",
        // Larder's own.
        "larder-policy",
    ]
}

/// Makes keyed hashes of secret header values, by which equal ones are recognized and nothing else is known.
package struct SecretHasher: Sendable {
    /// Begins a hash, so that it is never taken for a value that a request had.
    static let prefix = "hmac-sha256:"

    /// Begins a value that is stored as it is.
    static let openPrefix = "open:"

    /// Gives the keyed hash of a message; nil where there is no key.
    private let hash: @Sendable (_ message: [UInt8]) -> [UInt8]?
    /// The values are no secrets.
    private let isOpen: Bool

    package init(_ hash: @escaping @Sendable (_ message: [UInt8]) -> [UInt8]?) {
        self.hash = hash
        isOpen = false
    }

    private init(openBeside other: SecretHasher) {
        hash = other.hash
        isOpen = true
    }

    /// The same for requests without credentials of the user: what a public page's script adds to its requests
    /// is as public as the page. The values are stored, so that an update can send them again. Cookies and
    /// logins stay secrets.
    package var open: SecretHasher { SecretHasher(openBeside: self) }

    /// Has no key: no response that varies by a secret is matched or stored for another request.
    package static let none = SecretHasher { _ in nil }

    /// Stands for the value of a field in the store, in 128 bits; nil where there is no key.
    func tag(of value: String, in name: String) -> String? {
        if isOpen, !RequestSecrets.logins.contains(name) { return Self.openPrefix + value }
        guard let hash = hash(Array("vary \(name): \(value)".utf8)) else { return nil }
        return Self.prefix
            + hash.prefix(16).map { byte in
                let digits = String(byte, radix: 16)
                return byte < 16 ? "0" + digits : digits
            }.joined()
    }
}
