internal import Crawl
internal import Web

/// Which pages a visit did not ask for although its scope has them.
struct LeftOut: Sendable, Equatable {
    /// Which limit kept pages out.
    var limit: String?
    /// Why pages like these were stopped, by what their URLs have in common.
    var traps: [String: String] = [:]
    /// Pages that were asked for and did not come: no limit is to blame for them.
    var failed: Set<String> = []

    /// With more failures than these, nothing is put down to a limit.
    private static let mostFailures = 1000

    /// Nil when the visit asked for everything.
    init?(_ report: CrawlReport) {
        limit = report.limit?.description
        for trap in report.traps { traps[trap.pattern] = trap.description }
        guard limit != nil || !traps.isEmpty else { return nil }
        failed = Set(report.missing.filter { !$0.isRequisite && !$0.failure.isGone }.map(\.url.href))
        if failed.count > Self.mostFailures {
            limit = nil
            failed = []
        }
    }

    init(_ json: JSONValue) {
        limit = json["limit"]?.string
        for trap in json["traps"]?.members ?? [] { traps[trap.key] = trap.value.string ?? "a trap" }
        failed = Set(json["failed"]?.array?.compactMap(\.string) ?? [])
    }

    func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.memberIfPresent("limit", limit)
            object.member("traps") { traps in
                traps.object { object in
                    for (pattern, reason) in self.traps.sorted(by: { $0.key < $1.key }) {
                        object.member(pattern, reason)
                    }
                }
            }
            object.member("failed", failed.sorted())
        }
    }

    /// Why a page was not asked for; nil when it was, or ought to have been.
    func reason(for page: WebURL) -> String? {
        if let trap = traps[TrapReason.pattern(of: page)] { return trap }
        return failed.contains(page.href) ? nil : limit
    }
}
