package import HTTPServer
internal import Synchronization
internal import System
package import Web

/// The log of requests through a proxy: the newest requests one by one, and totals since the start. It exists only in
/// memory. Requests are added when they are answered. Any thread may use it; a mutex protects the state.
package final class ProxyLog: Sendable {
    package typealias Source = Reply.Source

    /// One request in the log.
    package struct LoggedRequest: Sendable {
        /// The number of the request, counted from 1 in the order of the replies.
        package let number: Int
        /// The time of the reply, in seconds since 1970.
        package let date: Int64
        package let method: String
        /// The absolute URL; for `CONNECT`, the host and port.
        package let url: String
        package let status: Int
        package let source: Source
        /// The size of the response's body; for a tunnel, the number of bytes relayed to the client.
        package let byteCount: Int
        /// The time between the request and its reply.
        package let duration: Duration
        /// Whether the response was stored.
        package let isStored: Bool
    }

    /// The totals since the proxy was started.
    package struct ProxyTotals: Sendable {
        /// The number of requests for each source, by its `index`.
        fileprivate var requestCounts = [Int](repeating: 0, count: Source.allCases.count)
        /// The number of stored responses.
        package fileprivate(set) var storedCount = 0
        package fileprivate(set) var byteCount = 0
        /// The number of responses that could not be stored.
        package fileprivate(set) var notStoredCount = 0
        /// The URL of the last response that could not be stored, and the reason: `http://a.test/: the disk is full`.
        package fileprivate(set) var lastStoreFailure: String?
        /// The URLs of missed requests without duplicates, the oldest first, up to `maxMissedURLs`. The method precedes
        /// the URL if it is not GET: `POST http://a.test/`.
        package fileprivate(set) var missedURLs: [String] = []

        /// The number of requests whose response came from a source.
        package subscript(source: Source) -> Int { requestCounts[source.index] }
    }

    private struct LogState {
        var recent: [LoggedRequest] = []
        /// The number of all requests, which is also `number` of the last one.
        var requestCount = 0
        var totals = ProxyTotals()
        /// The elements of `totals.missedURLs`, to find duplicates.
        var missedURLs: Set<String> = []
    }

    private let state = Mutex(LogState())

    /// The number of recent requests that stay in memory when old ones are removed. They are removed in one step when
    /// there are twice as many, since removing one for each new request would move the whole array each time.
    private static let minRecentRequests = 1000
    /// The maximum number of missed URLs in the totals. Requests for further ones are counted, but not listed.
    private static let maxMissedURLs = 10_000

    package init() {}

    /// The totals up to now.
    package var totals: ProxyTotals { state.withLock(\.totals) }

    /// The recent requests with a number higher than `number`, the newest first.
    package func recent(after number: Int = 0) -> [LoggedRequest] {
        state.withLock { $0.recent.reversed().filter { $0.number > number } }
    }

    /// Records a request and its reply.
    package func record(_ method: String, _ url: String, _ reply: Reply, since start: ContinuousClock.Instant)
    {
        let (status, byteCount) = reply.streamed ?? (reply.answer.status, reply.answer.bodyByteCount)
        let source = reply.streamed == nil ? reply.source : .network
        // Parts of a body (206) stay in memory until the last one completes the body. Each of them counts as not stored.
        let isPart = status == 206 && source == .network
        append(method, url, status, source, byteCount, isStored: reply.isStored && !isPart, since: start)
        if isPart { recordStoreFailure("only a part of it was requested", of: url, wasCounted: false) }
        if let failure = reply.failure { recordStoreFailure(failure, of: url, wasCounted: false) }
    }

    /// Records that a response could not be stored, although the client received it.
    ///
    /// - Parameters:
    ///   - reason: the reason, as the API and the commands show it.
    ///   - wasCounted: whether `record` counted the response as stored, because storing it failed only after the reply.
    package func recordStoreFailure(_ reason: String, of url: String, wasCounted: Bool = true) {
        state.withLock { state in
            if wasCounted { state.totals.storedCount -= 1 }
            state.totals.notStoredCount += 1
            state.totals.lastStoreFailure = "\(url): \(reason)"
        }
    }

    /// Records a request that the proxy refused with a 504, because it may not use the network.
    package func recordMiss(_ method: String, _ url: String, since start: ContinuousClock.Instant) {
        append(method, url, 504, .missed, 0, isStored: false, since: start)
    }

    /// Records a tunnel or an upgraded connection that has ended. The proxy relayed its bytes without interpreting them.
    ///
    /// - Parameter byteCount: the number of bytes relayed to the client.
    package func recordTunnel(
        _ method: String, _ url: String, _ byteCount: Int, since start: ContinuousClock.Instant
    ) {
        append(method, url, 200, .tunnel, byteCount, isStored: false, since: start)
    }

    /// Adds a request with any status and source to the log and to the totals.
    package func append(
        _ method: String, _ url: String, _ status: Int, _ source: Source, _ byteCount: Int, isStored: Bool,
        since start: ContinuousClock.Instant
    ) {
        let (date, duration) = (SystemClock.secondsSinceEpoch(), ContinuousClock.now - start)
        state.withLock { state in
            state.requestCount += 1
            if state.recent.count >= Self.minRecentRequests * 2 {
                state.recent.removeFirst(Self.minRecentRequests)
            }
            state.recent.append(
                LoggedRequest(
                    number: state.requestCount, date: date, method: method, url: url, status: status,
                    source: source,
                    byteCount: byteCount, duration: duration, isStored: isStored))
            state.totals.requestCounts[source.index] += 1
            state.totals.byteCount += byteCount
            if isStored { state.totals.storedCount += 1 }
            guard source == .missed, state.missedURLs.count < Self.maxMissedURLs else { return }
            let entry = method == "GET" ? url : "\(method) \(url)"
            if state.missedURLs.insert(entry).inserted { state.totals.missedURLs.append(entry) }
        }
    }
}

extension ProxyLog.Source {
    /// The index in `ProxyTotals.requestCounts`.
    fileprivate var index: Int {
        switch self {
        case .store: 0
        case .validated: 1
        case .network: 2
        case .missed: 3
        case .tunnel: 4
        }
    }
}

extension ProxyLog.LoggedRequest: JSONObject {
    package var members: JSONMembers {
        [
            "number": number, "date": HTTPDate(secondsSinceEpoch: date).iso8601, "method": method, "url": url,
            "status": status, "source": source.rawValue, "bytes": byteCount,
            "milliseconds": Int(duration / .milliseconds(1)), "kept": isStored,
        ]
    }
}
