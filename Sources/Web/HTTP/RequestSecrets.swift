/// Decides which header fields of a request may carry a secret: a login, a session or an API key.
///
/// Servers can give the field of an API key any name. Therefore an allowlist decides: a field may carry a secret
/// unless it is on the list of harmless fields. These are the fields that browsers, curl, wget or Larder send by
/// themselves, that HTTP defines for the connection or for caching, and that well-known script libraries send to
/// select a representation. Fields by which some servers grant access, such as `X-Forwarded-For` and `X-Real-IP`, are
/// deliberately not on the list.
package enum RequestSecrets {
    /// Whether a field with this name cannot carry a secret.
    package static func isHarmless(_ name: String) -> Bool {
        let name = HTTPGrammar.lowercased(name.utf8)
        return harmlessNames.contains(name) || harmlessPrefixes.contains { name.hasPrefix($0) }
    }

    /// Whether at least one of the fields may carry a secret.
    package static func canOccur(in fields: HTTPFields) -> Bool {
        fields.list.contains { !isHarmless($0.name) }
    }

    /// Whether a response may be meant only for the client that sent the request, because of a secret in the request.
    ///
    /// RFC 9111, section 3.5, lets caches share a response with `Cache-Control: public` although the request
    /// had `Authorization`. Larder does the same for cookies. A secret in any other field always makes the response
    /// private: caches do not know such a field, so `public` does not mean that the server has considered it.
    ///
    /// - Parameters:
    ///   - response: The header fields of the response.
    ///   - request: The header fields of the request.
    package static func isPrivate(_ response: HTTPFields, to request: HTTPFields) -> Bool {
        var hasLogin = false
        for field in request.list where !isHarmless(field.name) {
            guard loginFields.contains(field.name) else { return true }
            hasLogin = true
        }
        return hasLogin && !response.elements("Cache-Control").contains { HTTPGrammar.matches($0, "public") }
    }

    /// The fields in which HTTP itself carries logins and sessions. `Proxy-Authorization` is not included, because it
    /// is for a proxy and not for the server.
    static let loginFields: FieldNames = ["authorization", "cookie"]

    /// HTTP/2 puts the request line into fields such as `:authority`, and HAR files contain them. The other prefixes
    /// are those of client hints and of fetch metadata.
    private static let harmlessPrefixes = [":", "sec-ch-", "sec-fetch-"]

    /// In lower case.
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

/// Replaces the values of secret header fields by keyed hashes, so that a `VaryKey` can be stored.
///
/// Equal values of the same field have equal hashes. Without the key, a guessed value cannot be tested against a
/// hash. A hasher has *open values* if it hashes only `Authorization` and `Cookie` and keeps the values of all other
/// fields.
package struct SecretHasher: Sendable {
    /// The prefix of a stored hash. It distinguishes hashes from values.
    static let hashPrefix = "hmac-sha256:"

    /// The prefix of an open value.
    static let openPrefix = "open:"

    private let hash: @Sendable (_ message: [UInt8]) -> [UInt8]?
    private let hasOpenValues: Bool

    /// Creates a hasher without open values.
    ///
    /// - Parameter hash: Returns the keyed hash of a message, of at least 16 bytes; nil if there is no key. It is called on
    ///   the thread that uses the hasher.
    package init(_ hash: @escaping @Sendable (_ message: [UInt8]) -> [UInt8]?) {
        self.hash = hash
        hasOpenValues = false
    }

    private init(withOpenValuesOf other: SecretHasher) {
        hash = other.hash
        hasOpenValues = true
    }

    /// The same hasher, but with open values. Use it for requests without the user's credentials: a field that a script
    /// of a public page adds to a request is as public as the page. Since its value is kept, an update can send the
    /// field again.
    package var withOpenValues: SecretHasher { SecretHasher(withOpenValuesOf: self) }

    /// A hasher without a key. There is no `VaryKey` for a response that varies by a secret, so no other request
    /// selects the response.
    package static let none = SecretHasher { _ in nil }

    /// Returns the text to store in place of the value of a field: `hmac-sha256:` with the first 128 bits of the hash
    /// in hexadecimal, or `open:` with the value itself. Nil if the value must be hashed and there is no key.
    ///
    /// - Parameter name: The name of the field in lower case, as in a `VaryKey`. The hash depends on it.
    func storedText(of value: String, in name: String) -> String? {
        if hasOpenValues, !RequestSecrets.loginFields.contains(name) { return Self.openPrefix + value }
        guard let hash = hash(Array("vary \(name): \(value)".utf8)) else { return nil }
        return Self.hashPrefix
            + hash.prefix(16).map { byte in
                let digits = String(byte, radix: 16)
                return byte < 16 ? "0" + digits : digits
            }.joined()
    }
}
