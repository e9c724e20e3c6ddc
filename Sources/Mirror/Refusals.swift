internal import HTTPServer
internal import Origins
internal import Store
internal import Web

/// Answers that contain nothing of the store.
extension Answer {
    /// The answer if the store cannot be read; most reasons are temporary.
    static func storeFailure(_ error: StoreError, in layout: OriginLayout) -> Answer {
        switch error.reason {
        case .unreachable, .busy, .missing, .full, .denied, .unusable, .failed:
            // Does not tell other machines the path of the store.
            let text = layout.isExposed ? "The store cannot be read; try again later." : "\(error)"
            return .text(
                503, text + "\n",
                fields: layout.commonFields + [
                    ("Cache-Control", "no-store"), ("Retry-After", "\(secondsToRetry)"),
                ], sharing: .portal)
        case .request:
            return .text(500, "\(error)\n", fields: layout.commonFields, sharing: .portal)
        }
    }

    /// The time after which clients may retry. The server checks the store again after one second.
    private static let secondsToRetry = 2

    /// The answer to a requester who may not have a response that was fetched with credentials.
    static let withheld = text(
        403,
        "This response was fetched with credentials and is not served to this client; see: larder help serve\n",
        fields: [("Cache-Control", "no-store")])

    /// The answer to a requester who may not have a response. It is the same whether the URL is stored or not, so that the
    /// requester learns nothing. A foreign page does not even learn that there is an answer.
    static func refusal(to context: RequestContext) -> Answer {
        let policy = context.kind == .foreignPage ? [("Cross-Origin-Resource-Policy", "same-origin")] : []
        return .text(
            403, "Pages of other sites may not request this URL.\n",
            fields: policy + [("Cache-Control", "no-store")])
    }
}
