package import Store

/// What came of a walk over everything that a site's pages need, as `larder check --offline` makes it, but
/// for the digests of bodies.
package struct SiteNeeds: Sendable, Equatable {
    package struct Lack: Sendable, Equatable {
        package let href: String
        /// Why it counts as missing.
        package let reason: String
        /// What led there first; nil for a start.
        package let asker: String?

        package init(href: String, reason: String, asker: String?) {
            self.href = href
            self.reason = reason
            self.asker = asker
        }
    }

    package var missing: [Lack] = []
    /// What the user's own settings kept out.
    package var leftOut = 0
    /// How many addresses the walk came to.
    package var walked = 0

    package init() {}

    /// Makes the walk; nil where it comes to more addresses than `limit`, and where nobody can make it.
    package typealias Walk =
        @Sendable (_ reader: StoreReader, _ site: Site, _ limit: Int) throws(StoreError) ->
        SiteNeeds?
}
