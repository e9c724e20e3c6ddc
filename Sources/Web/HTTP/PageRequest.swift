/// A request that a page sends while a browser renders it.
package struct PageRequest: Sendable {
    /// The use of the response in the browser, from `Sec-Fetch-Dest`. Without that field, a request is for a
    /// document if it has `Upgrade-Insecure-Requests`, which browsers send only for documents.
    package enum Use: Sendable {
        /// The response becomes a document of the browser: the page itself or one that it navigates to.
        case document
        /// The response is shown in a frame or used by the page.
        case part
    }

    /// A pseudo-method: the page wants to open a WebSocket.
    package static let socketMethod = "SOCKET"

    package let url: WebURL
    package let method: String
    package let fields: HTTPFields
    package let body: [UInt8]
    package let use: Use
    /// Whether the stored responses for this URL cannot be used because they were requested from another
    /// origin or without one, so that the page needs a response of its own.
    package var wantsOwnAnswer = false
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
            case nil: fields.contains("Upgrade-Insecure-Requests") ? .document : .part
            default: .part
            }
    }

    /// The header fields that the page's scripts set and a crawler would not send by itself, such as
    /// `Authorization`, API keys and, for requests by scripts, `Accept`. Leaves out fields about the
    /// connection, the browser and its cache.
    package var scriptFields: HTTPFields {
        var fields = fields.withoutConnectionFields
        let isScript = fields["Sec-Fetch-Dest"].map { $0 == "empty" } ?? fields.contains("Origin")
        let names = fields.list.map { $0.name.lowercased() }
        for name in names where Self.isBrowsers(name) || name == "accept" && !isScript { fields.remove(name) }
        return fields
    }

    /// Whether a script may have set a stored request header field of this name. False for `Origin`, which
    /// the browser sets for each request, and for `Authorization`, which is stored only as a hash.
    package static func mayBeScripts(_ name: String) -> Bool {
        let name = name.lowercased()
        return !isBrowsers(name) && name != "origin" && name != "authorization"
    }

    private static func isBrowsers(_ name: String) -> Bool {
        browsersFields.contains(name) || name.hasPrefix("sec-")
    }

    private static let browsersFields: Set<String> = [
        "host", "user-agent", "accept-encoding", "accept-language", "cookie", "referer", "range", "if-range",
        "if-none-match", "if-modified-since", "cache-control", "pragma", "content-length", "dnt", "priority",
        "upgrade-insecure-requests", "purpose", "proxy-connection", "proxy-authorization", "expect",
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

    /// The cookies of all `Cookie` fields. Ignores those after the first 8192 bytes: servers limit the field
    /// to about that.
    package static func all(in fields: HTTPFields) -> [PageCookie] {
        var rest = mostBytes
        return fields.all("Cookie").flatMap { $0.split(separator: ";") }.compactMap { part in
            let cookie = PageCookie(part)
            rest -= cookie.text.utf8.count
            return rest >= 0 && !cookie.text.isEmpty ? cookie : nil
        }
    }

    private static let mostBytes = 8192
}

/// The reply of the crawl to a request that a page sent.
package enum PageAnswer: Sendable {
    /// The response is stored now.
    case held
    /// The response itself. It need not be stored.
    case given(status: Int, fields: HTTPFields, body: [UInt8])
    /// The page may connect a socket to the origin, in this network zone or a more public one.
    case connect(NetworkZone)
    /// The request was not sent, for this reason.
    case refused(String)
    /// The request was sent, and failed for this reason.
    case failed(String)
}
