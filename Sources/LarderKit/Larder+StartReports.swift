internal import Check
internal import Crawl
internal import Fetch
internal import Portal
internal import Reports
internal import Store
internal import System
internal import Web

extension Larder {
    /// Reports to the update server whether a release has started, if the site's manifest comes from `larder serve --updates`:
    /// after `confirmStart` that it is installed, and after a start that fell back that the release before failed.
    ///
    /// Each device counts once, so that an app may report each start, also again after an error.
    ///
    /// ```swift
    /// try await larder.confirmStart(start)
    /// try await larder.reportStart(start)
    /// ```
    ///
    /// - Returns: whether something was reported. False if the release does not come from an update server, if the URL of its
    ///   manifest names no device, or if the start was not confirmed.
    /// - Throws: `LarderError` of kind `.machine` if the server does not accept the report, and as `beginStart`.
    @discardableResult
    public func reportStart(_ start: StartReport) async throws(LarderError) -> Bool {
        let reports = try await readStore("larder-start") { (reader) throws(StoreError) in
            try Self.reports(of: start, reader)
        }
        guard !reports.isEmpty else { return false }
        let interruption = Interruption()
        return try await Self.runOnThread("larder-start", onCancel: interruption.request) {
            () throws(LarderError) in
            for report in reports { try report.send(interruption) }
            return true
        }
    }

    private static func reports(
        of start: StartReport, _ reader: StoreReader
    ) throws(StoreError) -> [ReleaseStateReport] {
        let site = try SiteName.site(start.site, in: reader.sites())
        let plan = SitePlan(text: site.settings)
        guard let manifest = plan.manifest.flatMap({ WebURL($0.place) }), manifest.isHTTP,
            let device = PortalRequest(target: manifest.target)["device"],
            let address = WebURL("report", base: manifest)
        else { return [] }
        var reports: [ReleaseStateReport] = []
        for (number, state) in [(start.failed, "failed"), (start.snapshot, "installed")] {
            guard let number, state == "failed" || plan.starts.confirmed == number,
                let snapshot = site.snapshots.first(where: { $0.number == number }),
                let response = try reader.response(for: manifest.key.href, ofSnapshot: snapshot.id),
                let update = HTTPFields(block: response.fields.utf8.span)["Larder-Update"]
            else { continue }
            reports.append(ReleaseStateReport(address: address, device: device, update: update, state: state))
        }
        return reports
    }
}

/// A report about one release, as an update server reads it.
private struct ReleaseStateReport: Sendable {
    let address: WebURL
    let device: String
    let update: String
    /// `installed` or `failed`.
    let state: String

    func send(_ interruption: Interruption) throws(LarderError) {
        let members: JSONMembers = ["device": device, "update": update, "state": state]
        var request = FetchRequest(
            number: 0, url: address, nearestZone: .thisMachine, fields: ["Content-Type": "application/json"])
        request.method = "POST"
        request.body = Array(members.text(.compact).utf8)
        request.isAnonymous = true
        var next: FetchRequest? = request
        var failure: FetchFailure?
        var isDone = false
        do throws(FetchFailure) {
            try FetchBatch.run(
                options: .forReading, interruption: interruption, next: { next.take() },
                each: {
                    isDone = true
                    if case .failure(let error) = $1 { failure = error }
                })
        } catch {
            failure = error
        }
        if let failure { throw LarderError(failure, fetching: address) }
        guard isDone else { throw .interrupted }
    }
}
