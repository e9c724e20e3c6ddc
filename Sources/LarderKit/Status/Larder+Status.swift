internal import Store

extension Larder {
    /// What the larder holds.
    ///
    /// - Throws: `LarderError` of kind `.machine` when there is no larder at the path, or it cannot be read.
    public func status() async throws(LarderError) -> StatusReport {
        let folder = folder
        let path = path
        return try await Self.onThread("larder-status") { () throws(LarderError) in
            do throws(StoreError) {
                let reader = try StoreReader(folder)
                let summary = try reader.summary()
                let sites = try reader.sites().map { site in
                    StatusReport.Site(
                        name: site.name, start: site.start,
                        visits: site.visits.map { visit in
                            StatusReport.Visit(
                                number: visit.id, started: visit.started, finished: visit.finished,
                                responses: visit.responseCount)
                        }, published: site.published)
                }
                return StatusReport(
                    path: path, sites: sites, responses: summary.responses, pages: summary.pages,
                    requisites: summary.requisites, tombstones: summary.tombstones, bodies: summary.bodies,
                    byteCount: summary.bytes)
            } catch {
                throw LarderError(error)
            }
        }
    }
}
