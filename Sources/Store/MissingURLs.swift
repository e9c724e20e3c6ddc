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
    /// Whether a limit of time or bytes ended the run, or a limit left out what a stored page needs. A limit of pages alone
    /// defines the site, so that it cuts nothing short.
    package var isCutShort: Bool

    package init(
        broken: Int, failed: Int, notFetched: Int, unknownHosts: Set<String> = [], snapshot: Int64 = 0,
        isCutShort: Bool = false
    ) {
        (self.broken, self.failed, self.notFetched) = (broken, failed, notFetched)
        (self.unknownHosts, self.snapshot, self.isCutShort) = (unknownHosts, snapshot, isCutShort)
    }

    /// Whether the snapshot has everything that it should: nothing failed, and no limit cut the run short.
    public var isComplete: Bool { failed == 0 && !isCutShort }

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
            snapshot: Int64(stored["snapshot"]?.int ?? 0), isCutShort: stored["cutShort"]?.bool ?? false)
    }
}

extension MissingURLs: JSONObject, CustomStringConvertible {
    public var description: String {
        "\(broken) broken on the live site, \(failed) failed, \(notFetched) not fetched"
            + (isCutShort ? "; a limit ended the run before the site was complete" : "")
    }

    package var members: JSONMembers { ["broken": broken, "failed": failed, "notFetched": notFetched] }

    /// The members for the settings of a site.
    package var storedMembers: JSONMembers {
        ["snapshot": snapshot] + members + [
            "hosts": IfAny(unknownHosts.sorted()), "cutShort": IfAny(isCutShort ? true : nil),
        ]
    }
}

/// Why URLs could not be loaded, as the run that made the live snapshot found.
package struct StoredFailures: Sendable, Equatable {
    /// The number of the snapshot.
    private var snapshot: Int64 = 0
    /// The reasons by URL.
    private var reasons: [String: String] = [:]

    package init() {}

    /// - Parameter failures: the URLs with their reasons. A store keeps those of the first 1000.
    package init(snapshot: Int64, _ failures: some Sequence<(url: String, reason: String)>) {
        self.snapshot = snapshot
        for failure in failures.prefix(Self.maxCount) { reasons[failure.url] = failure.reason }
    }

    /// Reads the failures from the settings of a site.
    package init(_ stored: JSONValue) {
        snapshot = Int64(stored["snapshot"]?.int ?? 0)
        for group in stored["reasons"]?.members ?? [] {
            for url in group.value.array?.compactMap(\.string) ?? [] { reasons[url] = group.key }
        }
    }

    /// The failures of a site's live snapshot.
    package init(of site: Site) {
        let stored = (try? JSONValue.parse(site.settings.utf8.span))?["failures"].map { StoredFailures($0) }
        if let stored, stored.snapshot == site.name(ofSnapshot: site.published)?.number { self = stored }
    }

    package func reason(for url: String) -> String? { reasons[url] }

    package var isEmpty: Bool { reasons.isEmpty }

    /// Settings are read whole, so they must not become large.
    private static let maxCount = 1000
}

extension StoredFailures: JSONObject {
    package var members: JSONMembers {
        let groups = Dictionary(grouping: reasons.keys.sorted()) { reasons[$0] ?? "" }
        return [
            "snapshot": snapshot,
            "reasons": groups.sorted { $0.key < $1.key }.reduce(JSONMembers()) { $0 + [$1.key: $1.value] },
        ]
    }
}
