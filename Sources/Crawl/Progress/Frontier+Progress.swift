extension Frontier {
    private static let mostHosts = 32

    /// Costs as much as there are hosts, and nothing for what is known of them.
    func progress(now: Duration) -> CrawlProgress {
        var figures = CrawlProgress(elapsed: now)
        figures.done = doneCount
        figures.doneRequisites = doneRequisiteCount
        figures.failed = max(0, failures.count - wrongGuessCount)
        figures.known = urls.count
        figures.running = runningCount
        figures.toRetry = retries.count
        var busy: [String: CrawlProgress.Host] = [:]
        for (origin, number) in hostNumbers {
            figures.atGate += hosts[number].atGate.count
            figures.queuedRequisites += hosts[number].queuedRequisiteCount
            figures.queuedPages += hosts[number].queuedCount - hosts[number].queuedRequisiteCount
            guard hosts[number].queuedCount > 0 || hosts[number].pace.runningCount > 0 else { continue }
            let name = Self.host(of: origin)
            var told = busy[name] ?? CrawlProgress.Host(name: name)
            told.running += hosts[number].pace.runningCount
            told.queued += hosts[number].queuedCount
            told.limit += hosts[number].pace.limit
            // A pause that something runs through is no wait.
            if hosts[number].pace.runningCount == 0, let start = hosts[number].pace.nextStart, start > now {
                told.pause = max(told.pause ?? .zero, start - now)
            }
            busy[name] = told
        }
        figures.hostCount = busy.count
        figures.hosts = busy.values.sorted { left, right in
            let (one, two) = (left.running + left.queued, right.running + right.queued)
            return one != two ? one > two : left.name < right.name
        }
        if figures.hosts.count > Self.mostHosts { figures.hosts.removeLast(figures.hosts.count - Self.mostHosts) }
        return figures
    }

    /// `https://example.com:8080` without its scheme and port.
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
