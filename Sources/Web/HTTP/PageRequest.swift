/// What a page asks for while a browser shows it.
package struct PageRequest: Sendable {
    /// What becomes of the answer, by `Sec-Fetch-Dest` or, where a browser does not say that, by what it asks
    /// of documents alone.
    package enum Use: Sendable {
        /// It takes the page's place.
        case document
        /// It stands in a frame, or is a part of the page.
        case part
    }

    package let url: WebURL
    package let method: String
    package let fields: HTTPFields
    package let body: [UInt8]
    package let use: Use
    /// What the snapshot has was made for another origin, or for none.
    package var wantsOwnAnswer = false
    /// What goes along of what scripts set for this address.
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

    /// What the page's scripts say, and no crawler would say by itself: logins, the type that is wanted,
    /// fields of their own. What is said of the connection, the browser and its cache stays out.
    package var scriptFields: HTTPFields {
        var fields = fields.withoutConnectionFields
        let isScript = fields["Sec-Fetch-Dest"].map { $0 == "empty" } ?? fields.contains("Origin")
        let names = fields.list.map { $0.name.lowercased() }
        for name in names where Self.isBrowsers(name) || name == "accept" && !isScript { fields.remove(name) }
        return fields
    }

    /// Whether a script may have said it of a request that it made before. Origins are named as each request
    /// needs it, and of a login nothing is kept.
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

/// A cookie as a request has it.
package struct PageCookie: Sendable, Equatable {
    package let name: String
    /// `name=value`, or a value alone.
    package let text: String

    /// As an answer's `Set-Cookie` has it.
    package init(setBy field: String) { self.init(field.prefix { $0 != ";" }) }

    private init(_ pair: Substring) {
        text = String(Substring(HTTPGrammar.trimmed(pair.utf8)))
        let name = text.contains("=") ? text.prefix { $0 != "=" } : ""
        self.name = String(Substring(HTTPGrammar.trimmed(name.utf8)))
    }

    /// Those of the fields, up to so many bytes that servers take.
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

/// What a page is told that asks.
package enum PageAnswer: Sendable {
    /// The store has it by now.
    case held
    case given(status: Int, fields: HTTPFields, body: [UInt8])
    /// Nobody asks for it, and why.
    case refused(String)
    /// It was asked for, and no answer came.
    case failed(String)
}
