/// Classifies request header fields that may carry a secret: a login, a session, an API key.
///
/// An allowlist decides, since servers can give the field of an API key any name. A field counts as a secret
/// unless it is known to be harmlessNames: browsers, curl, wget or Larder send it by themselves, HTTP defines it
/// for the connection or for caching, or a well-known script library sends it to select a representation.
/// Fields by which servers grant access (`X-Forwarded-For`, `X-Real-IP`) are deliberately not on the list.
package enum RequestSecrets {
    /// Whether a field with this name cannot carry a secret.
    package static func isHarmless(_ name: String) -> Bool {
        let name = HTTPGrammar.lowercased(name.utf8)
        // HTTP/2 puts the request line into fields such as `:authority`, and HAR files contain them.
        return harmlessNames.contains(name) || harmlessPrefixes.contains { name.hasPrefix($0) }
    }

    /// Whether at least one of the fields may carry a secret.
    package static func mayBeIn(_ fields: HTTPFields) -> Bool {
        fields.list.contains { !isHarmless($0.name) }
    }

    /// Whether a response to a request with these fields belongs to the client that sent it.
    ///
    /// RFC 9111, section 3.5, lets caches share a response with `Cache-Control: public` although the request
    /// had `Authorization`; Larder does the same for cookies. `public` says nothing about credentials in
    /// other fields, since the server may not have considered them, so such a response is always private.
    ///
    /// - Parameter response: the header fields of the response.
    package static func makesPrivate(_ response: HTTPFields, to request: HTTPFields) -> Bool {
        var hasLogin = false
        for field in request.list where !isHarmless(field.name) {
            guard loginFields.contains(field.name) else { return true }
            hasLogin = true
        }
        return hasLogin && !response.elements("Cache-Control").contains { HTTPGrammar.matches($0, "public") }
    }

    /// The fields in which HTTP itself carries loginFields and sessions.
    static let loginFields: FieldNames = ["authorization", "cookie"]

    private static let harmlessPrefixes = [":", "sec-ch-", "sec-fetch-"]

    private static let harmlessNames: Set<String> = [
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
        // The client and its origin.
        "alt-used", "dnt", "from", "origin", "referer", "user-agent", "x-client-data",
        "x-forwarded-host", "x-forwarded-port", "x-forwarded-proto",
        // The device and the network, in older client hints.
        "device-memory", "downlink", "dpr", "ect", "rtt", "save-data", "viewport-width", "width",
        // The purpose of the request.
        "access-control-request-headers", "access-control-request-local-network",
        "access-control-request-method", "access-control-request-private-network", "last-event-id",
        "ping-from", "ping-to", "purpose", "sec-gpc", "sec-purpose", "service-worker",
        "service-worker-navigation-preload", "upgrade-insecure-requests", "x-moz", "x-purpose",
        // Script libraries that request a part of a page, or data in place of a page.
        "apollo-require-preflight", "hx-boosted", "hx-current-url", "hx-history-restore-request",
        "hx-request", "hx-target", "hx-trigger", "hx-trigger-name", "next-router-prefetch",
        "next-router-segment-prefetch", "next-router-state-tree", "next-url", "rsc", "turbo-frame",
        "turbo-visit", "x-inertia", "x-inertia-partial-component", "x-inertia-partial-data",
        "x-inertia-version", "x-nextjs-data", "x-pjax", "x-pjax-container", "x-requested-with",
        // Tracing across the parts of a server.
        "sentry-trace", "traceparent", "tracestate",
        // Larder's own.
        "larder-policy",
    ]
}

/// Makes keyed hashes of secret header values. Equal values have equal hashes; the hashes reveal nothing
/// else.
package struct SecretHasher: Sendable {
    /// The prefix of a hash. It distinguishes hashes from values.
    static let prefix = "hmac-sha256:"

    /// The prefix of a value that is stored unchanged.
    static let openPrefix = "open:"

    /// Returns the keyed hash of a message; nil without a key.
    private let hash: @Sendable (_ message: [UInt8]) -> [UInt8]?
    /// Whether values are stored unchanged, except those of loginFields and cookies.
    private let isOpen: Bool

    package init(_ hash: @escaping @Sendable (_ message: [UInt8]) -> [UInt8]?) {
        self.hash = hash
        isOpen = false
    }

    private init(openBeside other: SecretHasher) {
        hash = other.hash
        isOpen = true
    }

    /// The hasher for requests without the user's credentials. A field that a public page's script adds to a
    /// request is as public as the page, so its value is stored unchanged and an update can send it again.
    /// Cookies and loginFields are still hashed.
    package var open: SecretHasher { SecretHasher(openBeside: self) }

    /// A hasher without a key: a response that varies by a secret is never stored for, or matched by, another
    /// request.
    package static let none = SecretHasher { _ in nil }

    /// The text that is stored in place of the value of a field: a hash of 128 bits, or the value itself for an
    /// `open` hasher. Nil without a key.
    func tag(of value: String, in name: String) -> String? {
        if isOpen, !RequestSecrets.loginFields.contains(name) { return Self.openPrefix + value }
        guard let hash = hash(Array("vary \(name): \(value)".utf8)) else { return nil }
        return Self.prefix
            + hash.prefix(16).map { byte in
                let digits = String(byte, radix: 16)
                return byte < 16 ? "0" + digits : digits
            }.joined()
    }
}
