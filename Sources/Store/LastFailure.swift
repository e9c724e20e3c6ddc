/// The failure of a URL in the last run of a site that went live, from the facts that the run stored with the site.
package struct LastFailure: Sendable, Equatable {
    /// The name of the site, whose next update tries again.
    package let site: String
    /// Why the URL could not be fetched, in English, such as `the server answered 503`.
    package let reason: String
    /// The time of the run, in seconds since 1970: when the live snapshot was last checked, or else when it was complete.
    package let at: Int64

    package init(site: String, reason: String, at: Int64) {
        (self.site, self.reason, self.at) = (site, reason, at)
    }

    /// Looks for the URL in the stored failures of the sites; nil if none of them has it.
    package init?(of href: String, in sites: [Site]) {
        for site in sites {
            guard let live = site.snapshots.first(where: { $0.id == site.published }),
                let reason = StoredFailures(of: site).reason(for: href)
            else { continue }
            self.init(
                site: site.name, reason: reason,
                at: site.confirmationDate(of: live) ?? live.finished ?? live.started)
            return
        }
        return nil
    }
}
