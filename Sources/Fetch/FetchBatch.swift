package import System
package import Web

/// Fetches several URLs at once and follows their redirects, for callers that need bodies but no crawl.
package struct FetchBatch {
    /// A request and the number of redirects that led to it.
    private struct PendingRequest {
        let request: FetchRequest
        var redirectCount = 0
    }

    private let loop: FetchLoop
    /// The requests that have no outcome yet, by their numbers.
    private var pending: [UInt32: PendingRequest] = [:]

    /// The default number of requests that run at once.
    private static let defaultConcurrentRequests = 16
    /// The maximum number of redirects for one URL. One more is a failure.
    private static let maxRedirects = 20

    /// Fetches the URLs. Blocks until all are done.
    ///
    /// Calls `each` once for every URL, in the order in which they are done: with its index, and the response
    /// or the failure. A status other than 2xx is a failure. `each` owns the file of a body. If the run is
    /// interrupted, the remaining URLs get no call.
    package static func run(
        _ urls: [WebURL], nearestZone: NetworkZone, options: FetchOptions, interruption: Interruption,
        each: (Int, Result<FetchedResponse, FetchFailure>) -> Void
    ) throws(FetchFailure) {
        var requests = urls.enumerated().map {
            FetchRequest(number: UInt32($0), url: $1, nearestZone: nearestZone)
        }.makeIterator()
        try run(options: options, interruption: interruption, next: { requests.next() }, each: each)
    }

    /// Does the same for requests that `next` returns one by one, until it returns nil. No two requests that
    /// run at the same time may have the same number.
    ///
    /// - Parameters:
    ///   - running: the maximum number of requests that run at once.
    ///   - receiver: receives the bodies of all responses, with those of redirects.
    package static func run(
        options: FetchOptions, running: Int = defaultConcurrentRequests, receiver: (any BodyReceiver)? = nil,
        interruption: Interruption, next: () -> FetchRequest?,
        each: (Int, Result<FetchedResponse, FetchFailure>) -> Void
    ) throws(FetchFailure) {
        var batch = FetchBatch(loop: try FetchLoop(options, receiver: receiver))
        interruption.addWaker(batch.loop.waker)
        defer { interruption.removeWaker(batch.loop.waker) }
        var hasMore = true
        while !interruption.isRequested {
            while hasMore, batch.pending.count < running {
                if let request = next() {
                    batch.start(PendingRequest(request: request))
                } else {
                    hasMore = false
                }
            }
            guard !batch.pending.isEmpty else { break }
            for result in try batch.loop.turn(waitingAtMost: .seconds(60)) {
                guard let outcome = batch.outcome(of: result) else { continue }
                batch.pending[result.number] = nil
                each(Int(result.number), outcome)
            }
        }
        try batch.loop.saveCookies()
    }

    private mutating func start(_ request: PendingRequest) {
        pending[request.request.number] = request
        loop.start(request.request)
    }

    /// Returns the outcome of a request; nil if a redirect was followed.
    private mutating func outcome(of result: FetchResult) -> Result<FetchedResponse, FetchFailure>? {
        // A batch never retries, so no later request resumes a partial body.
        result.partial?.discard()
        var response: FetchedResponse
        switch result.outcome {
        case .failure(let failure): return .failure(failure)
        case .response(let received): response = received
        }
        response.zone = result.exchange?.zone
        if (200..<300).contains(response.status) { return .success(response) }
        response.body.discard()
        // 304 is the answer to the caller's own condition, and no redirect.
        guard (300..<400).contains(response.status), response.status != 304 else {
            return .failure(
                FetchFailure(
                    .refused, "the server answered \(response.status)", status: response.status))
        }
        guard let redirected = pending[result.number], redirected.redirectCount < Self.maxRedirects,
            let location = response.fields["Location"], let target = WebURL(location, base: result.url),
            target.isHTTP
        else { return .failure(FetchFailure(.refused, "its redirect cannot be followed")) }
        var request = redirected.request
        request.url = target
        // The caller chose the first URL. The server chose this one, so it may be no nearer than the server's
        // own zone.
        if let exchange = result.exchange { request.nearestZone = exchange.zone }
        start(PendingRequest(request: request, redirectCount: redirected.redirectCount + 1))
        return nil
    }
}
