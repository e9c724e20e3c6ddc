internal import Store

extension Larder {
    /// Hands over every URL that the larder shows, in order, and takes the same memory for ten of them as for a million.
    ///
    /// - Parameter take: called on a thread of the listing's; false ends it.
    /// - Throws: `LarderError` of kind `.input` when there is no such site, `.machine` when there is no larder, or it cannot
    ///   be read.
    @discardableResult
    public func list(
        _ options: ListOptions = ListOptions(), take: @escaping @Sendable (ListedURL) -> Bool
    ) async throws(LarderError) -> ListReport {
        let folder = folder
        return try await Self.onThread("larder-list") { () throws(LarderError) in
            do throws(StoreError) {
                let reader = try StoreReader(folder)
                let site = try options.site.map { (name) throws(StoreError) in
                    try Self.site(named: name, in: reader.sites()).id
                }
                var report = ListReport()
                try reader.eachListed(site: site) { row in
                    let url = ListedURL(row)
                    guard options.wants(url) else { return true }
                    report.urls += 1
                    report.byteCount += Int64(url.byteCount ?? 0)
                    report.isCut = !take(url)
                    return !report.isCut
                }
                return report
            } catch {
                throw LarderError(lookingUp: error)
            }
        }
    }
}
