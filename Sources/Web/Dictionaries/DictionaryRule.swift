/// The permission of a server to use a response as a dictionary for later requests to its origin: the value of
/// `Use-As-Dictionary` (RFC 9842, section 2.1).
///
/// `match-dest` is checked but not applied: Larder has no request destinations, and section 2.1.2 lets such clients
/// match all of them.
package struct DictionaryRule: Sendable {
    package let pattern: DictionaryPattern
    /// The server's name for the dictionary; empty if it gave none.
    package let id: String

    /// The maximum length of a name (section 2.1.3). A rule with a longer one is invalid.
    static let maxIDCharacters = 1024

    /// Returns nil if the response is not to be used as a dictionary, or if its rule is invalid.
    package init?(_ fields: HTTPFields, of url: WebURL) {
        guard let value = fields.joinedValues("Use-As-Dictionary"), let members = StructuredDictionary(value),
            case .item(.string(let match))? = members["match"],
            let pattern = DictionaryPattern(match, base: url)
        else { return nil }
        switch members["type"] {
        case nil, .item(.token("raw"))?: break
        default: return nil
        }
        switch members["match-dest"] {
        case nil: break
        case .list(let items)?:
            for item in items { guard case .string = item else { return nil } }
        case .item?: return nil
        }
        switch members["id"] {
        case nil: id = ""
        case .item(.string(let text))? where text.utf8.count <= Self.maxIDCharacters: id = text
        default: return nil
        }
        self.pattern = pattern
    }

    /// The value of `Use-As-Dictionary` for a response.
    ///
    /// - Parameters:
    ///   - match: the text of a pattern.
    ///   - id: the name of the dictionary, in printable ASCII.
    package static func value(match: String, id: String) -> String {
        let (match, id) = (StructuredDictionary.Item.string(match), StructuredDictionary.Item.string(id))
        return "match=\(match.text), id=\(id.text)"
    }
}

/// A stored response that a client may use as a dictionary.
package struct DictionaryEntry: Sendable {
    package let url: WebURL
    package let rule: DictionaryRule
    package let sha256: [UInt8]
    /// When the response was received, in seconds since 1970.
    package let fetched: Int64
    /// The time for which the response may be used.
    private let freshness: Freshness

    package init(url: WebURL, rule: DictionaryRule, sha256: [UInt8], fetched: Int64, freshness: Freshness) {
        (self.url, self.rule, self.sha256) = (url, rule, sha256)
        (self.fetched, self.freshness) = (fetched, freshness)
    }

    /// Chooses the dictionary for a request (RFC 9842, sections 2.2.1 to 2.2.3): of the same origin and fresh, or
    /// allowed to be served stale. The longest pattern that matches comes first, then the response that was fetched
    /// last.
    package static func best(for url: WebURL, among entries: [DictionaryEntry], now: HTTPDate)
        -> DictionaryEntry?
    {
        guard url.canUseDictionaries else { return nil }
        return entries.filter { entry in
            entry.url.origin == url.origin && entry.rule.pattern.matches(url)
                && entry.freshness.allowsDictionary(at: now)
        }.max { first, second in
            let lengths = (first.rule.pattern.text.utf8.count, second.rule.pattern.text.utf8.count)
            return lengths.0 == lengths.1 ? first.fetched < second.fetched : lengths.0 < lengths.1
        }
    }
}

extension Freshness {
    /// Whether a dictionary may be used: it is fresh, or `stale-while-revalidate` covers its age.
    fileprivate func allowsDictionary(at now: HTTPDate) -> Bool {
        if needsValidation { return false }
        return isFresh(at: now)
            || staleUse != .forbidden && staleness(at: now) <= staleWhileRevalidate ?? -1
    }
}

extension WebURL {
    /// Whether dictionaries may be used for the URL. RFC 9842, section 8: only with https, since proxies of plain http
    /// may not know the codings. Like browsers, Larder makes an exception for names and addresses of this machine.
    package var canUseDictionaries: Bool {
        scheme == "https" || scheme == "http" && Self.isOfThisMachine(host)
    }

    /// Whether a host is a name or an address of this machine that browsers treat as a secure context.
    private static func isOfThisMachine(_ host: String) -> Bool {
        host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]"
            || host.hasPrefix("127.") && !host.utf8.contains(where: \.isASCIIAlpha)
    }
}

/// Decides on the server's side whether the page that sent a request can read the response, and may thus get it in a
/// coding with a dictionary, and use it as one (RFC 9842, section 9.3). Otherwise the size would tell a page about
/// content that it must not read.
package enum DictionaryReadability {
    /// - Parameters:
    ///   - request: the header fields of the request.
    ///   - allowedOrigin: the value of `Access-Control-Allow-Origin` in the response.
    package static func isReadable(_ request: HTTPFields, allowedOrigin: String?) -> Bool {
        if request["Sec-Fetch-Site"] == "same-origin" { return true }
        switch request["Sec-Fetch-Mode"] {
        case nil:
            // Only browsers send these fields. Other programs can read every response.
            return !request.contains("Sec-Fetch-Site")
        case "navigate", "same-origin": return true
        case "cors":
            guard let origin = request["Origin"], let allowedOrigin else { return false }
            return allowedOrigin == "*" || allowedOrigin == origin
        default: return false
        }
    }
}
