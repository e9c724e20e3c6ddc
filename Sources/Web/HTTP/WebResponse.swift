/// A response for an app: one that it loads, changes before it is stored, or stores itself.
public struct WebResponse: Sendable, Equatable {
    /// A header field.
    public struct Field: Sendable, Hashable {
        public var name: String
        public var value: String

        /// Creates a header field.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The URL of the response.
    public let url: String
    /// The HTTP status.
    public let status: Int
    /// The header fields in the order, case and repetition in which they were received.
    public var fields: [Field]
    /// The body, without content coding.
    public var body: [UInt8]
    /// The time for which the response is fresh after it was stored, regardless of its header fields; nil
    /// uses the header fields.
    public var lifetime: Duration?

    /// Creates a response.
    public init(url: String, status: Int = 200, fields: KeyValuePairs<String, String> = [:], body: [UInt8]) {
        self.init(url, status, HTTPFields(fields.map { HTTPFields.Field(name: $0, value: $1) }), body)
    }

    package init(_ url: String, _ status: Int, _ fields: HTTPFields, _ body: [UInt8]) {
        self.url = url
        self.status = status
        self.fields = fields.list.map { Field(name: $0.name, value: $0.value) }
        self.body = body
    }

    /// The value of the first header field with a name; the case of the name does not matter. Setting it
    /// replaces all fields with that name, and nil removes them.
    public subscript(name: String) -> String? {
        get { httpFields[name] }
        set {
            var changed = httpFields
            if let newValue { changed.set(name, newValue) } else { changed.remove(name) }
            fields = changed.list.map { Field(name: $0.name, value: $0.value) }
        }
    }

    private var httpFields: HTTPFields {
        HTTPFields(fields.map { HTTPFields.Field(name: $0.name, value: $0.value) })
    }

    /// The header fields to store. The lifetime becomes `Cache-Control: max-age`, so that every HTTP client
    /// applies it.
    package func storedFields(now: HTTPDate) -> HTTPFields {
        guard let lifetime else { return httpFields }
        var fields = httpFields
        for name in ["Age", "Expires", "Pragma"] { fields.remove(name) }
        fields.set("Date", now.text)
        fields.set("Cache-Control", "max-age=\(max(0, lifetime.components.seconds))")
        return fields
    }
}

/// A function that is called before a response is stored, on a thread of Larder. It returns the response to
/// store, which may have other header fields, another body or another lifetime; or nil if nothing may be
/// stored. A body whose digest a manifest requires cannot be changed: it is rejected then.
public typealias WillStore = @Sendable (WebResponse) -> WebResponse?
