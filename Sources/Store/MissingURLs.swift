public import Web

/// How many URLs a snapshot refers to and does not contain, by class. The run that makes the snapshot counts them and
/// stores the counts with the site. The command, JSON, the portal and `larder check` show these three counts.
public struct MissingURLs: Sendable, Equatable {
    /// URLs that do not exist on the live site: the server answers 404 or 410, the page says "not found", or the host of
    /// another site has no address.
    public package(set) var broken = 0
    /// URLs that could not be loaded. The next run tries them again.
    public package(set) var failed = 0
    /// URLs that were not requested: because of the scope, a limit, robots.txt or other settings.
    public package(set) var notFetched = 0
    /// Hosts without an address. Their URLs are broken.
    package var unknownHosts: Set<String>
    /// The number of the snapshot.
    package var snapshot: Int64

    package init(
        broken: Int, failed: Int, notFetched: Int, unknownHosts: Set<String> = [], snapshot: Int64 = 0
    ) {
        (self.broken, self.failed, self.notFetched) = (broken, failed, notFetched)
        (self.unknownHosts, self.snapshot) = (unknownHosts, snapshot)
    }

    /// The stored counts of a site's live snapshot; nil if none are stored.
    package init?(of site: Site) {
        let stored = try? JSONValue.parse(site.settings.utf8.span)["missing"]?.array?.map { MissingURLs($0) }
        let live = site.name(ofSnapshot: site.published)?.number
        guard let counts = stored?.last(where: { $0.snapshot == live }) else { return nil }
        self = counts
    }

    /// The counts of a site now: those of the run that made the live snapshot, and for broken and failed URLs those by the
    /// stored links, which may have changed since; nil if nothing is known.
    ///
    /// - Parameter walked: the counts by the stored links; nil if they were not followed. They do not include URLs outside
    ///   the scope of the site.
    package static func now(of site: Site, walked: MissingURLs?) -> MissingURLs? {
        guard var counts = MissingURLs(of: site) else { return walked }
        if let walked { (counts.broken, counts.failed) = (walked.broken, walked.failed) }
        return counts
    }

    /// Reads the counts from the settings of a site.
    package init(_ stored: JSONValue) {
        self.init(
            broken: stored["broken"]?.int ?? 0, failed: stored["failed"]?.int ?? 0,
            notFetched: stored["notFetched"]?.int ?? 0,
            unknownHosts: Set(stored["hosts"]?.array?.compactMap(\.string) ?? []),
            snapshot: Int64(stored["snapshot"]?.int ?? 0))
    }
}

extension MissingURLs: JSONObject, CustomStringConvertible {
    public var description: String {
        "\(broken) broken on the live site, \(failed) failed, \(notFetched) not fetched"
    }

    package var members: JSONMembers { ["broken": broken, "failed": failed, "notFetched": notFetched] }

    /// The members for the settings of a site.
    package var storedMembers: JSONMembers {
        ["snapshot": snapshot] + members + ["hosts": IfAny(unknownHosts.sorted())]
    }
}
