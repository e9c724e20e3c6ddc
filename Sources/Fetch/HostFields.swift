package import Web

/// The fields that requests carry beside their own: some everywhere, some to one host only.
package struct HostFields: Sendable {
    private var everywhere = HTTPFields()
    private var byHost: [String: HTTPFields] = [:]

    package init() {}

    /// Whether any of the fields may be a secret (`RequestSecrets`), for whichever host it is.
    var hasSecrets: Bool {
        RequestSecrets.areIn(everywhere) || byHost.values.contains(where: RequestSecrets.areIn)
    }

    package var isEmpty: Bool { everywhere.isEmpty && byHost.isEmpty }

    /// For every host. Throws for what tells who one is: a page may name any host at all.
    package mutating func add(_ name: String, _ value: String) throws(FetchFailure) {
        let field = try Self.checked(name, value)
        guard !["authorization", "cookie", "proxy-authorization"].contains(name.lowercased()) else {
            throw FetchFailure(
                .refused,
                "\(name) would be sent to every host that a page names: name the host that it is for")
        }
        everywhere.append(field.name, field.value)
    }

    /// For one host on all its ports, `example.com` or `[::1]`, or for one origin,
    /// `https://example.com:8443`.
    package mutating func add(_ name: String, _ value: String, host: String) throws(FetchFailure) {
        let field = try Self.checked(name, value)
        let key = host.contains("://") ? WebURL(host)?.origin : WebURL("http://\(host)/")?.host
        guard let key, !key.isEmpty, key != "null" else {
            throw FetchFailure(.refused, "'\(host)' is not a host")
        }
        byHost[key, default: HTTPFields()].append(field.name, field.value)
    }

    /// All that a request to `url` carries: an origin's win over its host's, and those over what everybody
    /// gets.
    package func fields(for url: WebURL) -> HTTPFields {
        guard !byHost.isEmpty else { return everywhere }
        var fields = everywhere
        for key in [url.host, url.origin] {
            if let own = byHost[key] { fields.override(with: own) }
        }
        return fields
    }

    private static func checked(_ name: String, _ value: String) throws(FetchFailure) -> HTTPFields.Field {
        let field = HTTPFields.Field(name: name, value: value)
        guard field.isSendable else {
            throw FetchFailure(.refused, "'\(name)' cannot be sent as a header")
        }
        return field
    }
}

extension HostFields: Concealed {
    package var description: String { "headers for \(byHost.count) hosts" }
}

extension HTTPFields {
    /// Replaces what has the same names.
    mutating func override(with others: HTTPFields) {
        for field in others.list { remove(field.name) }
        for field in others.list { append(field.name, field.value) }
    }
}

extension HTTPFields.Field {
    /// Whether it stays on its line: the name is one word, and the value has no line end.
    var isSendable: Bool {
        name.isHTTPWord && !value.utf8.contains { $0 == 0x0A || $0 == 0x0D || $0 == 0 }
    }
}

extension String {
    /// A token of RFC 9110, section 5.6.2.
    var isHTTPWord: Bool {
        !isEmpty && utf8.allSatisfy { $0.isASCIIAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains($0) }
    }
}

/// What a Referer says, by the policy that browsers have when a page names none:
/// strict-origin-when-cross-origin.
enum Referrer {
    /// The whole address within its origin, the origin alone beyond, and nothing from https to http.
    static func value(from page: WebURL, to target: WebURL) -> String? {
        guard page.isHTTP else { return nil }
        if page.origin == target.origin { return page.key.href }
        return page.scheme == "https" && target.scheme == "http" ? nil : page.origin + "/"
    }
}
