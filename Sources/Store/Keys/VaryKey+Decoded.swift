package import Web

extension VaryKey {
    /// The key under which a body is kept without its content coding: what the request accepted as coding tells nothing
    /// apart. Nil for an answer that no other request selects.
    package init?(decoded response: HTTPFields, request: HTTPFields) {
        self.init(response: response, request: request.withoutAcceptedCodings)
    }

    /// Kept for an answer that no other request selects.
    package static let never = "*"
}

extension HTTPFields {
    var withoutAcceptedCodings: HTTPFields {
        guard contains("Accept-Encoding") else { return self }
        var fields = self
        fields.remove("Accept-Encoding")
        return fields
    }
}
