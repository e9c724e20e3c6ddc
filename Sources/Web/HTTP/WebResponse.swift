/// A server's answer as an app sees it: what it brings itself, what it got, and what it may change before it
/// is stored.
public struct WebResponse: Sendable, Equatable {
    public struct Field: Sendable, Hashable {
        public var name: String
        public var value: String

        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    public let url: String
    public let status: Int
    /// In their order, with the case and the repetition in which they came.
    public var fields: [Field]
    /// Without any content coding.
    public var body: [UInt8]
    /// How long it counts as fresh from when it is stored, whatever its fields say; nil for what they say.
    public var lifetime: Duration?

    public init(url: String, status: Int = 200, fields: KeyValuePairs<String, String> = [:], body: [UInt8]) {
        self.init(url, status, HTTPFields(fields.map { HTTPFields.Field(name: $0, value: $1) }), body)
    }

    package init(_ url: String, _ status: Int, _ fields: HTTPFields, _ body: [UInt8]) {
        self.url = url
        self.status = status
        self.fields = fields.list.map { Field(name: $0.name, value: $0.value) }
        self.body = body
    }

    /// The first value of a name, compared without regard to case. Setting leaves one field of the name, or
    /// none.
    public subscript(name: String) -> String? {
        get { httpFields[name] }
        set {
            var changed = httpFields
            if let newValue { changed.set(name, newValue) } else { changed.remove(name) }
            fields = changed.list.map { Field(name: $0.name, value: $0.value) }
        }
    }

    package var httpFields: HTTPFields {
        HTTPFields(fields.map { HTTPFields.Field(name: $0.name, value: $0.value) })
    }

    /// As they are stored: a lifetime is told in the words of HTTP, so that everybody reads it who reads the
    /// fields.
    package func storedFields(now: HTTPDate) -> HTTPFields {
        guard let lifetime else { return httpFields }
        var fields = httpFields
        for name in ["Age", "Expires", "Pragma"] { fields.remove(name) }
        fields.set("Date", now.text)
        fields.set("Cache-Control", "max-age=\(max(0, lifetime.components.seconds))")
        return fields
    }
}

/// Asked before a response is stored, on a thread of larder's: returns it as it is to be stored, with other
/// fields, another body or another lifetime, or nil to have it not stored. What a digest is required of
/// cannot be edited out of it: that is refused.
public typealias WillStore = @Sendable (WebResponse) -> WebResponse?
