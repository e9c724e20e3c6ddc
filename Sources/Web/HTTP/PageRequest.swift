/// A request that a page sends while a browser renders it.
package struct PageRequest: Sendable {
    /// The use of the response in the browser, from `Sec-Fetch-Dest`. Browsers omit that field for origins that are
    /// not trustworthy, such as http URLs. Then a request is for a document if it has `Upgrade-Insecure-Requests`,
    /// which browsers send only for documents.
    package enum Use: Sendable {
        /// The response becomes a document of the browser: the page itself or one that it navigates to.
        case document
        /// The response is shown in a frame or used by the page.
        case subresource
    }

    /// A pseudo-method for a request to open a WebSocket.
    package static let socketMethod = "SOCKET"

    package let url: WebURL
    package let method: String
    package let fields: HTTPFields
    package let body: [UInt8]
    package let use: Use
    /// Whether the page needs a response of its own, because the stored responses for this URL were requested from
    /// another origin or without one, so that CORS would block them, or because it asks for another form of a page.
    package var needsOwnResponse = false
    /// The header fields by which a script asks for another form of a page (`HTTPFields.requestedForm`), if the response
    /// is stored under them; nil for other requests.
    package var requestedForm: String?
    /// Whether the page loads itself again, with cookies that its scripts set: the server may answer it with content that it
    /// withheld before.
    package var reloadsWithCookies = false
    /// Cookies of the request that the page's scripts set, in addition to those in the cookie jar.
    package var cookies: [PageCookie] = []

    package init(url: WebURL, method: String = "GET", fields: HTTPFields = HTTPFields(), body: [UInt8] = []) {
        self.url = url
        self.method = method
        self.fields = fields
        self.body = body
        use =
            switch fields["Sec-Fetch-Dest"] {
            case "document": .document
            case nil: fields.contains("Upgrade-Insecure-Requests") ? .document : .subresource
            default: .subresource
            }
    }

    /// Whether a script of the page can read the status of the response: it was sent by `fetch` or an `XMLHttpRequest`.
    /// Without `Sec-Fetch-Dest`, requests for scripts count as well, because they have the same header fields.
    package var isReadByScript: Bool {
        if let destination = fields["Sec-Fetch-Dest"] { return destination == "empty" }
        guard let accepted = fields["Accept"] else { return false }
        return use == .subresource && !["image/", "text/css"].contains(where: accepted.hasPrefix)
    }

    /// The header fields that the page's scripts set and a crawler would not send by itself, such as
    /// `Authorization`, API keys and, for requests by scripts, `Accept`. Leaves out fields about the
    /// connection, the browser and its cache.
    package var scriptFields: HTTPFields { Self.scriptFields(of: fields) }

    /// The fields among these that scripts set.
    fileprivate static func scriptFields(of all: HTTPFields) -> HTTPFields {
        var fields = all.withoutConnectionFields
        let isFromScript = all["Sec-Fetch-Dest"].map { $0 == "empty" } ?? all.contains("Origin")
        let names = all.list.map { $0.name.lowercased() }
        for name in names where isSetByBrowser(name) || name == "accept" && !isFromScript {
            fields.remove(name)
        }
        return fields
    }

    /// Whether a script may have set a stored request header field of this name. False for `Origin`, which
    /// the browser sets for each request, and for `Authorization`, which is stored only as a hash.
    package static func canBeSetByScript(_ name: String) -> Bool {
        let name = name.lowercased()
        return !isSetByBrowser(name) && name != "origin" && name != "authorization"
    }

    /// Whether browsers set the field themselves, not scripts. The name must be in lower case.
    private static func isSetByBrowser(_ name: String) -> Bool {
        browserFields.contains(name) || name.hasPrefix("sec-")
    }

    private static let browserFields: Set<String> = [
        "host", "user-agent", "accept-encoding", "accept-language", "cookie", "referer", "range", "if-range",
        "if-none-match", "if-modified-since", "cache-control", "pragma", "content-length", "dnt", "priority",
        "upgrade-insecure-requests", "purpose", "proxy-connection", "proxy-authorization", "expect",
    ]
}

extension HTTPFields {
    /// The header fields by which a script asks a server for another form of a page, such as JSON or a part of its HTML;
    /// nil if the request has none. Frameworks request the page's own URL with `Accept: application/json`,
    /// `X-Requested-With`, `HX-Request` or `Turbo-Frame`.
    ///
    /// The text has the sorted names, and those values that are the same each time.
    package var requestedForm: String? {
        guard self["Sec-Fetch-Dest"].map({ $0 == "empty" }) ?? !contains("Upgrade-Insecure-Requests") else {
            return nil
        }
        var parts: Set<String> = []
        for field in PageRequest.scriptFields(of: self).list {
            let name = field.name.lowercased()
            if name == "accept" {
                let isForAnything = ["*/*", "text/html"].contains(where: field.value.hasPrefix)
                if !isForAnything { parts.insert("\(name): \(field.value)") }
            } else if Self.formFields.contains(name) {
                parts.insert("\(name): \(field.value)")
            } else if Self.formFieldPrefixes.contains(where: name.hasPrefix),
                !Self.otherFieldWords.contains(where: name.contains)
            {
                parts.insert(name)
            }
        }
        return parts.isEmpty ? nil : parts.sorted().joined(separator: "\n")
    }

    /// The names of fields whose value selects a form.
    private static let formFields: Set<String> = [
        "x-requested-with", "turbo-frame", "hx-target", "x-pjax-container", "x-inertia-partial-data",
        "x-up-target",
    ]
    private static let formFieldPrefixes = ["x-", "hx-", "turbo-"]
    /// Words in the names of fields that do not select a form: tokens, identifiers, purposes.
    private static let otherFieldWords = [
        "token", "csrf", "xsrf", "-id", "purpose", "key", "auth", "trace", "url", "client", "device",
        "session",
    ]
}

/// A cookie in a request or a `Set-Cookie` field.
package struct PageCookie: Sendable, Equatable {
    package let name: String
    /// `name=value`, or only the value of a cookie without a name.
    package let text: String

    /// Creates the cookie that a `Set-Cookie` field sets. Ignores its attributes.
    package init(setBy field: String) { self.init(field.prefix { $0 != ";" }) }

    private init(_ pair: Substring) {
        text = String(Substring(HTTPGrammar.trimmed(pair.utf8)))
        let name = text.contains("=") ? text.prefix { $0 != "=" } : ""
        self.name = String(Substring(HTTPGrammar.trimmed(name.utf8)))
    }

    /// The cookies of all `Cookie` fields. Ignores those after the first `maxBytes`.
    package static func all(in fields: HTTPFields) -> [PageCookie] {
        var rest = maxBytes
        return fields.all("Cookie").flatMap { $0.split(separator: ";") }.compactMap { part in
            let cookie = PageCookie(part)
            rest -= cookie.text.utf8.count
            return rest >= 0 && !cookie.text.isEmpty ? cookie : nil
        }
    }

    /// The usual limit of servers for the field.
    private static let maxBytes = 8192
}

/// The result of a request that a page sent while the crawl rendered it.
package enum PageRequestResult: Sendable {
    /// The response is stored now.
    case stored
    /// The response itself, which may not be stored.
    case response(status: Int, fields: HTTPFields, body: [UInt8])
    /// The page may connect a socket to the origin, in this network zone or a more public one.
    case connect(NetworkZone)
    /// Larder did not send the request, for this reason.
    case blocked(String)
    /// The request was sent, and failed for this reason.
    case failed(String)
}
