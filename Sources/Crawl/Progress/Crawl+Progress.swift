internal import Fetch
internal import Web

/// What those hear who watch. Nothing of it is computed when nobody does.
extension Crawl {
    static let progressInterval: Duration = .milliseconds(100)

    func tellProgress(isEnding: Bool = false) {
        guard let progress = plan.progress else { return }
        let now = now
        guard isEnding || now - lastProgress > Self.progressInterval else { return }
        lastProgress = now
        var figures = frontier.progress(now: now)
        figures.isEnding = isEnding
        figures.scanning = scanning
        figures.requests = report.requests
        figures.confirmed = report.confirmed
        figures.savedByteCount = report.savedByteCount
        figures.byteCount = report.wireByteCount
        for place in figures.hosts.indices {
            figures.hosts[place].requests = report.hosts[figures.hosts[place].name]?.requests ?? 0
        }
        progress(figures)
    }

    func tell(_ result: FetchResult) {
        guard let answered = plan.answered else { return }
        var status: Int?
        var failure: String?
        switch result.outcome {
        case .response(let response): status = response.status
        case .failure(let reason): failure = reason.description
        }
        answered(
            CrawlAnswer(
                url: result.url.href, kind: kind(of: result.number), status: status, failure: failure,
                byteCount: result.wireByteCount, elapsed: result.exchange?.timings.done ?? .zero))
    }

    private func kind(of number: UInt32) -> CrawlAnswer.Kind {
        if number & Self.robotsBit != 0 { return .robots }
        if number & Self.probeBit != 0 { return .probe }
        if number & Self.witnessBit != 0 { return .page }
        return switch frontier.role(of: number) {
        case .page: .page
        case .requisite: .requisite
        case .guide: .guide
        }
    }
}
