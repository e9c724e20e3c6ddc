package import Web

/// Fetches a list of URLs side by side and follows their redirects: for whoever wants bodies and keeps no frontier.
package struct FetchBatch {
    private let loop: FetchLoop
    private let urls: [WebURL]
    private var redirects: [Int]
    private var next = 0

    private static let mostRunning = 16
    private static let mostRedirects = 20

    /// Calls `each` once for every URL, as they come: with its body, or with why there is none. A body in a file
    /// belongs to `each`. An interruption ends it early: the URLs that are left get no call. Blocks.
    package static func run(
        _ urls: [WebURL], options: FetchOptions, interruption: Interruption,
        each: (Int, Result<FetchedBody, FetchFailure>) -> Void
    ) throws(FetchFailure) {
        var batch = FetchBatch(
            loop: try FetchLoop(options), urls: urls, redirects: Array(repeating: 0, count: urls.count))
        interruption.wakes(batch.loop.waker)
        defer { interruption.wakes(nil) }
        while !interruption.isRequested, batch.next < urls.count || batch.loop.runningCount > 0 {
            batch.startWhatMayStart()
            for result in try batch.loop.turn(waitingAtMost: .seconds(60)) {
                if let outcome = batch.outcome(of: result) { each(Int(result.number), outcome) }
            }
        }
        try batch.loop.saveCookies()
    }

    private mutating func startWhatMayStart() {
        while next < urls.count, loop.runningCount < Self.mostRunning {
            loop.start(FetchRequest(number: UInt32(next), url: urls[next]))
            next += 1
        }
    }

    /// Nil when a redirect was followed.
    private mutating func outcome(of result: FetchResult) -> Result<FetchedBody, FetchFailure>? {
        // Nobody comes back for it.
        result.partial?.discard()
        let response: FetchedResponse
        switch result.outcome {
        case .failure(let failure): return .failure(failure)
        case .response(let answered): response = answered
        }
        if (200..<300).contains(response.status) { return .success(response.body) }
        response.body.discard()
        guard (300..<400).contains(response.status) else {
            return .failure(FetchFailure(.refused, "the server answered \(response.status)"))
        }
        let number = Int(result.number)
        guard redirects[number] < Self.mostRedirects, let location = response.fields["Location"],
            let target = WebURL(location, base: result.url), target.isHTTP
        else { return .failure(FetchFailure(.refused, "its redirect leads nowhere")) }
        redirects[number] += 1
        var request = FetchRequest(number: result.number, url: target)
        // The first address is one that somebody meant; where a server then leads is up to the server.
        if let exchange = result.exchange { request.reach = exchange.reach }
        loop.start(request)
        return nil
    }
}
