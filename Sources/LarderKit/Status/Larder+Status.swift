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
                return StatusReport(
                    path: path, sites: try reader.sites().map(StatusReport.Site.init), responses: summary.responses,
                    pages: summary.pages,
                    requisites: summary.requisites, tombstones: summary.tombstones, bodies: summary.bodies,
                    byteCount: summary.bytes)
            } catch {
                throw LarderError(error)
            }
        }
    }
}
