package import HTTPServer
internal import Synchronization
internal import System
package import Web

/// The log of requests through a proxy: the newest requests one by one, and totals since the start. It exists only in
/// memory. Any thread may use it; a mutex protects the state.
package final class ProxyLog: Sendable {
    package typealias Source = Reply.Source

    /// One request in the log.
    package struct LoggedRequest: Sendable {
        /// The position of the request since the start, from 1.
        package let number: Int
        /// The time of the reply, in seconds since 1970.
        package let date: Int64
        package let method: String
        package let url: String
        package let status: Int
        package let source: Source
        /// The size of the body, as far as it is known.
        package let byteCount: Int
        /// The time between the request and its reply.
        package let duration: Duration
        /// Whether the response was stored.
        package let isStored: Bool
    }

    /// The totals since the proxy was started.
    package struct ProxyTotals: Sendable {
        /// One count for each source, in their order.
        fileprivate var bySource = [Int](repeating: 0, count: Source.allCases.count)
        /// The number of stored responses.
        package fileprivate(set) var storedCount = 0
        package fileprivate(set) var byteCount = 0
        /// The number of responses that could not be stored.
        package fileprivate(set) var notStoredCount = 0
        /// The URL of the last of them, and the reason.
        package fileprivate(set) var reasonNotStored: String?
        /// Missed URLs without duplicates, in order of arrival, up to a limit.
        package fileprivate(set) var missedURLs: [String] = []

        /// The number of requests whose response came from a source.
        package subscript(source: Source) -> Int { bySource[source.index] }
    }

    private struct LogState {
        var recent: [LoggedRequest] = []
        /// The number of all requests, which is the number of the last one.
        var count = 0
        var counts = ProxyTotals()
        /// The URLs in `counts.missedURLs`, to find duplicates.
        var missed: Set<String> = []
    }

    private let state = Mutex(LogState())

    /// The minimum number of recent requests that are remembered. Old ones are removed at twice this number, so that
    /// removing them is cheap.
    private static let minRecentRequests = 1000
    /// The maximum number of missed URLs in the totals. Further ones are counted, but not listed.
    private static let maxMissedURLs = 10_000

    package init() {}

    /// The totals up to now.
    package var counts: ProxyTotals { state.withLock(\.counts) }

    /// Remembered requests with a higher number, the newest first.
    package func recent(after number: Int = 0) -> [LoggedRequest] {
        state.withLock { $0.recent.reversed().filter { $0.number > number } }
    }

    /// Records a request and its reply.
    package func record(_ method: String, _ url: String, _ reply: Reply, since start: ContinuousClock.Instant)
    {
        let (status, byteCount) = reply.streamed ?? (reply.answer.status, reply.answer.bodyByteCount)
        let source = reply.streamed == nil ? reply.source : .network
        // Parts (206) are collected in memory and stored when the response is complete.
        let isPart = status == 206 && source == .network
        append(method, url, status, source, byteCount, isStored: reply.isStored && !isPart, since: start)
        if isPart { recordStoreFailure("only a part of it was requested", of: url, wasCounted: false) }
        if let failure = reply.failure { recordStoreFailure(failure, of: url, wasCounted: false) }
    }

    /// Records that a response which the client received could not be stored.
    ///
    /// - Parameters:
    ///   - reason: the reason, which the portal and the command show.
    ///   - wasCounted: whether the response was counted as stored.
    package func recordStoreFailure(_ reason: String, of url: String, wasCounted: Bool = true) {
        state.withLock { state in
            if wasCounted { state.counts.storedCount -= 1 }
            state.counts.notStoredCount += 1
            state.counts.reasonNotStored = "\(url): \(reason)"
        }
    }

    /// Records a request that the proxy could not answer.
    package func recordMiss(_ method: String, _ url: String, since start: ContinuousClock.Instant) {
        append(method, url, 504, .missed, 0, isStored: false, since: start)
    }

    /// Records a tunnel or a relayed request, whose bytes the proxy did not read.
    package func recordTunnel(
        _ method: String, _ url: String, _ byteCount: Int, since start: ContinuousClock.Instant
    ) {
        append(method, url, 200, .tunnel, byteCount, isStored: false, since: start)
    }

    /// Adds a request to the log and to the totals. The other functions call it.
    package func append(
        _ method: String, _ url: String, _ status: Int, _ source: Source, _ byteCount: Int, isStored: Bool,
        since start: ContinuousClock.Instant
    ) {
        let (date, duration) = (SystemClock.secondsSinceEpoch(), ContinuousClock.now - start)
        state.withLock { state in
            state.count += 1
            if state.recent.count >= Self.minRecentRequests * 2 {
                state.recent.removeFirst(Self.minRecentRequests)
            }
            state.recent.append(
                LoggedRequest(
                    number: state.count, date: date, method: method, url: url, status: status, source: source,
                    byteCount: byteCount, duration: duration, isStored: isStored))
            state.counts.bySource[source.index] += 1
            state.counts.byteCount += byteCount
            if isStored { state.counts.storedCount += 1 }
            guard source == .missed, state.missed.count < Self.maxMissedURLs else { return }
            let name = method == "GET" ? url : "\(method) \(url)"
            if state.missed.insert(name).inserted { state.counts.missedURLs.append(name) }
        }
    }
}

extension ProxyLog.Source {
    /// The index among all sources.
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
