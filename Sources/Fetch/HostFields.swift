package import Web

/// Header fields that are added to requests: some to every host, others only to one host or origin.
package struct HostFields: Sendable {
    /// The fields for every host.
    private var forEveryHost = HTTPFields()
    /// The fields by host or origin.
    private var byHost: [String: HTTPFields] = [:]

    package init() {}

    /// Whether any field, for whatever host, may be a secret (`RequestSecrets`).
    var hasSecrets: Bool {
        RequestSecrets.canOccur(in: forEveryHost) || byHost.values.contains(where: RequestSecrets.canOccur)
    }

    package var isEmpty: Bool { forEveryHost.isEmpty && byHost.isEmpty }

    /// Adds a field for every host. Throws for `Authorization`, `Cookie` and `Proxy-Authorization`, since a
    /// page may name any host.
    package mutating func add(_ name: String, _ value: String) throws(FetchFailure) {
        let field = try Self.validate(name, value)
        guard !["authorization", "cookie", "proxy-authorization"].contains(name.lowercased()) else {
            throw FetchFailure(
                .refused,
                "\(name) would be sent to every host that a page names: name the host that it is for")
        }
        forEveryHost.append(field.name, field.value)
    }

    /// Adds a field for a host on all its ports, such as `example.com` or `[::1]`, or for an origin, such as
    /// `https://example.com:8443`.
    package mutating func add(_ name: String, _ value: String, host: String) throws(FetchFailure) {
        let field = try Self.validate(name, value)
        let key = host.contains("://") ? WebURL(host)?.origin : WebURL("http://\(host)/")?.host
        guard let key, !key.isEmpty, key != "null" else {
            throw FetchFailure(.refused, "'\(host)' is not a host")
        }
        byHost[key, default: HTTPFields()].append(field.name, field.value)
    }

    /// The fields for a URL. Those of its origin override those of its host, which override those for every
    /// host.
    package func fields(for url: WebURL) -> HTTPFields {
        guard !byHost.isEmpty else { return forEveryHost }
        var fields = forEveryHost
        for key in [url.host, url.origin] {
            if let own = byHost[key] { fields.override(with: own) }
        }
        return fields
    }

    /// Returns the field. Throws if it would not stay on one line.
    private static func validate(_ name: String, _ value: String) throws(FetchFailure) -> HTTPFields.Field {
        let field = HTTPFields.Field(name: name, value: value)
        guard field.isSendable else {
            throw FetchFailure(.refused, "'\(name)' cannot be sent as a header")
        }
        return field
    }
}

extension HostFields: Redacted {
    package var description: String { "headers for \(byHost.count) hosts" }
}

extension HTTPFields {
    /// Replaces the fields that have the same names, and adds the others.
    mutating func override(with others: HTTPFields) {
        for field in others.list { remove(field.name) }
        for field in others.list { append(field.name, field.value) }
    }
}

extension HTTPFields.Field {
    /// Whether the field stays on one line: the name is a token, and the value has no line break and no zero
    /// byte.
    var isSendable: Bool {
        HTTPGrammar.isToken(name.utf8) && !value.utf8.contains { $0 == 0x0A || $0 == 0x0D || $0 == 0 }
    }
}

/// The value of `Referer` by the default policy of browsers, strict-origin-when-cross-origin.
package enum Referrer {
    /// The URL of the page for a target of the same origin, else only its origin; nil from https to http.
    package static func value(from page: WebURL, to target: WebURL) -> String? {
        guard page.isHTTP else { return nil }
        if page.origin == target.origin { return page.key.href }
        return page.scheme == "https" && target.scheme == "http" ? nil : page.origin + "/"
    }
}
