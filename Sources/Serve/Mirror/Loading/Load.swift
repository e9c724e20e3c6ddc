package import Store
package import Web

/// What a server is to be asked in a client's stead.
package struct LoadRequest: Sendable {
    package let method: String
    package let url: WebURL
    package let fields: HTTPFields
    package let body: [UInt8]
    /// How near to this machine the server may be, as an answer from there would be marked.
    package let mayReach: ResponseFlags
    /// Nothing that is kept of the user's goes along: another site's page asks.
    package let isAnonymous: Bool
    /// To be told what comes before the answer, such as 103 Early Hints; nil where nobody wants to know.
    package var interim: (@Sendable (_ status: Int, _ fields: HTTPFields) -> Void)?
}

/// A server's whole answer, without its content coding.
package struct LoadedResponse: Sendable {
    package let status: Int
    package let fields: HTTPFields
    /// A file belongs to whoever gets the response.
    package let body: BodyContent
    package let requestTime: HTTPDate
    package let responseTime: HTTPDate
    /// From where it came, and whether somebody's credentials were used.
    package let flags: ResponseFlags

    package init(
        status: Int, fields: HTTPFields, body: BodyContent, requestTime: HTTPDate, responseTime: HTTPDate,
        flags: ResponseFlags = []
    ) {
        self.flags = flags
        self.status = status
        self.fields = fields
        self.body = body
        self.requestTime = requestTime
        self.responseTime = responseTime
    }
}

package enum LoadOutcome: Sendable {
    case response(LoadedResponse)
    /// Nothing whole came, and why.
    case failure(String)
}

/// Asks a server, without making the caller wait, and completes once, on whichever thread.
package typealias Load = @Sendable (LoadRequest, @escaping @Sendable (LoadOutcome) -> Void) -> Void
