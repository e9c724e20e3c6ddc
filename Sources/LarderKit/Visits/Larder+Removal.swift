internal import Store

extension Larder {
    /// Removes a site with all its visits. The room comes back with the next collection.
    ///
    /// - Returns: The site's name.
    /// - Throws: `LarderError` of kind `.input` when there is no such site, `.machine` when the store fails or the site is
    ///   being prefetched.
    @discardableResult
    public func remove(_ site: String) async throws(LarderError) -> String {
        let folder = folder
        return try await Self.onThread("larder-remove") { () throws(LarderError) in
            do throws(StoreError) {
                let sites = try StoreReader(folder).sites()
                let names = sites.map(\.name)
                guard let place = SiteName.place(of: site, among: names) else {
                    throw SiteName.unknown(site, among: names)
                }
                try StoreWriter(folder).remove(sites[place])
                return names[place]
            } catch {
                throw LarderError(lookingUp: error)
            }
        }
    }
}
