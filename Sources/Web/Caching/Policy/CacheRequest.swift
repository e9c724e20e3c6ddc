/// A request as a cache looks at it.
package struct CacheRequest: Sendable {
    /// What a method means to a cache (RFC 9110, section 9.2).
    package enum Method: Sendable, Equatable {
        case get, head, post
        /// Any other that changes nothing.
        case safe
        /// Any other, those that we do not know included.
        case unsafe

        package init(_ name: String) {
            switch name {
            case "GET": self = .get
            case "HEAD": self = .head
            case "POST": self = .post
            case "OPTIONS", "TRACE", "PROPFIND", "REPORT", "SEARCH", "QUERY": self = .safe
            default: self = .unsafe
            }
        }

        /// Whether an answer to GET that is stored may answer it.
        package var isAnsweredByStored: Bool { self == .get || self == .head }

        package var isUnsafe: Bool { self == .post || self == .unsafe }
    }

    package let method: Method
    package let url: WebURL
    package let fields: HTTPFields
    package let directives: CacheDirectives
    /// Whether the caller keeps its answer under a key of its own, which tells it from others of the same URL: a recorded
    /// API call. Then its method does not stand against storing.
    package let isRecorded: Bool

    package init(
        method: String = "GET", url: WebURL, fields: HTTPFields = HTTPFields(), isRecorded: Bool = false
    ) {
        self.method = Method(method)
        self.url = url
        self.fields = fields
        let saysAnything = fields.contains("Cache-Control") || fields.contains("Pragma")
        directives = saysAnything ? CacheDirectives(fields) : CacheDirectives()
        self.isRecorded = isRecorded
    }

    private static let conditions: Set<String> = [
        "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range",
    ]

    /// What goes to the server in the request's stead: without the fields of the connection and, for GET and HEAD, without
    /// the client's conditions and range, which are evaluated against what comes; with the fields that the action asks for.
    ///
    /// - Parameters:
    ///   - keepingRange: asks for the client's part alone, by its condition.
    ///   - keepingConditions: has the server tell whether what the client holds is still so.
    package func upstreamFields(
        _ additional: HTTPFields, keepingRange: Bool = false, keepingConditions: Bool = false
    ) -> HTTPFields {
        var result = fields.withoutConnectionFields
        if method.isAnsweredByStored {
            var dropped = keepingConditions ? [] : Self.conditions
            if keepingRange { dropped.remove("if-range") } else { dropped.formUnion(["range", "if-range"]) }
            result = result.removing(dropped)
        }
        for field in additional.list { result.set(field.name, field.value) }
        return result
    }
}
