import Fetch
import TestOrigin
import Testing
import Web

/// Sends requests with options of its own and a temporary folder for bodies.
struct TestFetcher {
    let scratch: TemporaryFolder
    var options: FetchOptions

    /// Uses the default options, but no proxy from the environment.
    init(_ change: (inout FetchOptions) throws -> Void = { _ in }) throws {
        scratch = try TemporaryFolder()
        options = FetchOptions(userAgent: "larder-test", spoolFolder: scratch.path)
        options.proxies = ProxyRules()
        try change(&options)
    }

    func loop() throws -> FetchLoop { try FetchLoop(options) }

    /// Runs the loop until every request has its result.
    static func results(of requests: [FetchRequest], in loop: FetchLoop) throws -> [UInt32: FetchResult] {
        for request in requests { loop.start(request) }
        var results: [UInt32: FetchResult] = [:]
        while results.count < requests.count {
            for result in try loop.turn(waitingAtMost: .seconds(20)) { results[result.number] = result }
        }
        return results
    }

    static func request(_ url: String, _ change: (inout FetchRequest) -> Void = { _ in }) throws
        -> FetchRequest
    {
        var request = FetchRequest(
            number: 0, url: try #require(WebURL(url)), nearestZone: .thisMachine)
        change(&request)
        return request
    }

    /// Sends requests with a time limit. On a busy machine, a server without faults may be slower than a short limit; then the
    /// requests are repeated with a limit that is five times as long.
    ///
    /// - Parameter send: returns the numbers of the requests that reached the limit although their server has no fault.
    static func withLimits(from first: Duration, _ send: (Duration) throws -> [UInt32]) rethrows {
        var limit = first
        while case let ended = try send(limit), !ended.isEmpty {
            guard limit < .seconds(60) else {
                Issue.record("a limit of \(limit) ended \(ended)")
                return
            }
            limit *= 5
        }
    }

    func result(of request: FetchRequest, in loop: FetchLoop? = nil) throws -> FetchResult {
        try #require(try Self.results(of: [request], in: loop ?? FetchLoop(options))[request.number])
    }

    func result(_ url: String, in loop: FetchLoop? = nil) throws -> FetchResult {
        try result(of: try Self.request(url), in: loop)
    }

    func response(_ url: String, in loop: FetchLoop? = nil) throws -> FetchedResponse {
        try result(url, in: loop).response()
    }

    func failure(_ url: String, in loop: FetchLoop? = nil) throws -> FetchFailure {
        try result(url, in: loop).failure()
    }
}

extension FetchResult {
    func response() throws -> FetchedResponse {
        switch outcome {
        case .response(let response): return response
        case .failure(let failure): throw failure
        }
    }

    func failure() throws -> FetchFailure {
        guard case .failure(let failure) = outcome else {
            throw FetchFailure(.invalidResponse, "it was answered")
        }
        return failure
    }
}

extension FetchedResponse {
    /// The text of a body in memory.
    func text() throws -> String {
        guard case .bytes(let bytes) = body else {
            throw FetchFailure(.invalidResponse, "the body is a file")
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
