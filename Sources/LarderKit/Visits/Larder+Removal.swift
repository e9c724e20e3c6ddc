internal import Store
internal import Web

extension Larder {
    /// What was removed.
    public enum Removal: Sendable, Equatable {
        /// A site with all its visits: its name.
        case site(String)
        /// So many URLs, out of all visits.
        case urls(Int)
    }

    /// Removes a site with all its visits, or what is held under a URL, or under those that a pattern matches. The room comes
    /// back with the next collection; what a site's pages lead to is fetched again at its next prefetch.
    ///
    /// - Parameter what: what names a site is that site; what contains a star is a pattern of URLs, as rules have them.
    /// - Throws: `LarderError` of kind `.input` when nothing of it is held, `.machine` when the store fails or somebody writes to
    ///   it.
    @discardableResult
    public func remove(_ what: String) async throws(LarderError) -> Removal {
        let folder = folder
        return try await Self.onThread("larder-remove") { () throws(LarderError) in
            do throws(StoreError) {
                let sites = try StoreReader(folder).sites()
                let names = sites.map(\.name)
                if let place = SiteName.place(of: what, among: names) {
                    try StoreWriter(folder).remove(sites[place])
                    return .site(names[place])
                }
                let count: Int
                if what.utf8.contains(UInt8(ascii: "*")), let pattern = URLGlob(what) {
                    count = try StoreWriter(folder).remove { WebURL($0).map(pattern.matches) ?? false }
                } else if let url = try? Self.startURL(what) {
                    count = try StoreWriter(folder).remove { $0 == url.href }
                } else {
                    throw SiteName.unknown(what, among: names)
                }
                guard count > 0 else { throw SiteName.unknown(what, among: names) }
                return .urls(count)
            } catch {
                throw LarderError(lookingUp: error)
            }
        }
    }
}
