internal import Fetch
package import Store
package import Web

/// Responses that the caller of a crawl has, such as those of an update file. The crawl sends no requests for their URLs.
package struct SuppliedResponses: Sendable {
    /// A supplied response, which the caller has verified.
    package struct Response: Sendable {
        package var status: Int
        package var fields: HTTPFields
        /// The body; the crawl moves its file into the store. Nil if the response has none.
        package var body: BodyContent?
        /// Whether it is stored as a page, although the crawl gets it as an asset.
        package var isPage: Bool

        package init(status: Int, fields: HTTPFields, body: BodyContent?, isPage: Bool) {
            (self.status, self.fields, self.body, self.isPage) = (status, fields, body, isPage)
        }
    }

    /// The responses by the hrefs of their URLs.
    private let responses: [String: Response]
    /// Whether the crawl sends no requests at all, so that a URL without a supplied response fails.
    package let isComplete: Bool
    /// A smaller body is read into memory, as the fetch loop does it.
    private static let maxBytesInMemory = 1 << 20

    package init(_ responses: [String: Response], isComplete: Bool = true) {
        (self.responses, self.isComplete) = (responses, isComplete)
    }

    func isPage(_ url: WebURL) -> Bool { responses[url.key.href]?.isPage ?? false }

    /// The result of a request for a URL; nil if the request is to be sent.
    func result(_ number: UInt32, _ url: WebURL) throws(StoreError) -> FetchResult? {
        guard let response = responses[url.key.href] else {
            guard isComplete else { return nil }
            let failure = FetchFailure(.refused, "it is not in the update, and an update makes no requests")
            return FetchResult(number: number, url: url, outcome: .failure(failure))
        }
        let body: FetchedBody
        switch response.body {
        case nil: body = .bytes([])
        case .bytes(let bytes): body = .bytes(bytes)
        case .file(let path):
            let byteCount = response.body?.byteCount ?? 0
            if byteCount <= Self.maxBytesInMemory {
                body = .bytes(try response.body?.load() ?? [])
            } else {
                body = .file(path: path, byteCount: byteCount)
            }
        }
        return FetchResult(
            number: number, url: url,
            outcome: .response(FetchedResponse(status: response.status, fields: response.fields, body: body)))
    }
}
