extension Frontier {
    private static let maxReportedHosts = 32

    /// The current progress. Takes time in proportion to the number of hosts, not of entries.
    func progress(now: Duration) -> CrawlProgress {
        var figures = CrawlProgress(elapsed: now)
        figures.done = doneCount
        figures.doneAssets = doneAssetCount
        figures.failed = failedCount
        figures.known = urls.count
        figures.running = runningCount
        figures.toRetry = retries.count
        figures.queuedPages = order.queue.pageCount
        var busy: [String: CrawlProgress.Host] = [:]
        for (origin, number) in hostNumbers {
            figures.awaitingRobots += hosts[number].awaitingRobots.count
            figures.queuedAssets += hosts[number].queuedAssetCount
            figures.queuedPages += hosts[number].queuedCount - hosts[number].queuedAssetCount
            guard hosts[number].queuedCount > 0 || hosts[number].pace.runningCount > 0 else { continue }
            let name = Self.host(of: origin)
            var figure = busy[name] ?? CrawlProgress.Host(name: name)
            figure.running += hosts[number].pace.runningCount
            figure.queued += hosts[number].queuedCount
            figure.limit += hosts[number].pace.limit
            // A pause does not count as waiting while requests are running.
            if hosts[number].pace.runningCount == 0, let start = hosts[number].pace.nextStart, start > now {
                figure.pause = max(figure.pause ?? .zero, start - now)
            }
            busy[name] = figure
        }
        figures.hostCount = busy.count
        figures.hosts = busy.values.sorted { left, right in
            let (one, two) = (left.running + left.queued, right.running + right.queued)
            return one != two ? one > two : left.name < right.name
        }
        if figures.hosts.count > Self.maxReportedHosts {
            figures.hosts.removeLast(figures.hosts.count - Self.maxReportedHosts)
        }
        return figures
    }

    /// The host of an origin such as `https://example.com:8080`, without scheme and port.
    private static func host(of origin: String) -> String {
        let bytes = Array(origin.utf8)
        let start = bytes.firstRange(of: Array("://".utf8))?.upperBound ?? 0
        var end = bytes.count
        if let colon = bytes.lastIndex(of: UInt8(ascii: ":")), colon > start,
            bytes[colon...].allSatisfy({ $0 != UInt8(ascii: "]") })
        {
            end = colon
        }
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }
}
