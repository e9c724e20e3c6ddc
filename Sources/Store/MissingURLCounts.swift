package import Web

/// The numbers of URLs that a snapshot links to and does not contain, in three classes: broken, failed and not fetched.
///
/// The run that makes a snapshot counts its missing URLs and stores the counts in the settings of the site. The
/// command, the JSON reports, the portal and `larder check` show them. Code that shows the counts of a site calls
/// `current(of:byStoredLinks:)`.
public struct MissingURLCounts: Sendable, Equatable {
    /// The number of URLs that do not exist on the live site: the server answers 404 or 410, the page says "not
    /// found", or the host of another site has no address.
    public package(set) var broken = 0
    /// The number of URLs that could not be loaded. The next run tries them again.
    public package(set) var failed = 0
    /// The number of URLs that were not requested, because of the scope, a limit, robots.txt or other settings.
    public package(set) var notFetched = 0
    /// Hosts of other sites that have no address. Their URLs count as broken.
    package var unknownHosts: Set<String>
    /// The number of the snapshot within its site; 0 if the counts belong to no snapshot.
    package var snapshot: Int64
    /// Whether a limit of time or bytes ended the run, or any limit left out an asset of a stored page. A limit of
    /// pages that leaves out only pages does not count, because the user chose the size of the site by it.
    package var isCutShort: Bool

    package init(
        broken: Int, failed: Int, notFetched: Int, unknownHosts: Set<String> = [], snapshot: Int64 = 0,
        isCutShort: Bool = false
    ) {
        (self.broken, self.failed, self.notFetched) = (broken, failed, notFetched)
        (self.unknownHosts, self.snapshot, self.isCutShort) = (unknownHosts, snapshot, isCutShort)
    }

    /// Whether nothing failed and no limit cut the run short. Broken URLs do not matter, since no run can fetch them.
    public var isComplete: Bool { failed == 0 && !isCutShort }

    /// The stored counts of a site's live snapshot. Nil if the settings have no counts for it, as for a
    /// snapshot that was imported.
    package init?(of site: Site) {
        let history = try? JSONValue.parse(site.settings.utf8.span)["missing"]?.array?.map {
            MissingURLCounts($0)
        }
        let liveNumber = site.name(ofSnapshot: site.published)?.number
        guard let counts = history?.last(where: { $0.snapshot == liveNumber }) else { return nil }
        self = counts
    }

    /// Returns the counts to show for a site. Nil if there are neither stored counts nor counts by links.
    ///
    /// The stored counts may be outdated: since the run, a server may have loaded missing URLs, and bodies may have
    /// been removed. The counts by links are up to date, but do not include URLs outside the scope of the site.
    /// Therefore `broken` and `failed` come from the links, and the rest from the stored counts.
    ///
    /// - Parameter linkCounts: The counts by the stored links, from an `OfflineWalk`; nil if there was no walk.
    package static func current(of site: Site, byStoredLinks linkCounts: MissingURLCounts?)
        -> MissingURLCounts?
    {
        guard var counts = MissingURLCounts(of: site) else { return linkCounts }
        if let linkCounts { (counts.broken, counts.failed) = (linkCounts.broken, linkCounts.failed) }
        return counts
    }

    /// Reads counts that `storedMembers` wrote. Missing members have their default values.
    package init(_ stored: JSONValue) {
        self.init(
            broken: stored["broken"]?.int ?? 0, failed: stored["failed"]?.int ?? 0,
            notFetched: stored["notFetched"]?.int ?? 0,
            unknownHosts: Set(stored["hosts"]?.array?.compactMap(\.string) ?? []),
            snapshot: Int64(stored["snapshot"]?.int ?? 0), isCutShort: stored["cutShort"]?.bool ?? false)
    }
}

extension MissingURLCounts: JSONObject {
    /// The members for reports.
    package var members: JSONMembers { ["broken": broken, "failed": failed, "notFetched": notFetched] }

    /// The members for the settings of a site, which are more than those for reports.
    package var storedMembers: JSONMembers {
        ["snapshot": snapshot] + members + [
            "hosts": IfAny(unknownHosts.sorted()), "cutShort": IfAny(isCutShort ? true : nil),
        ]
    }
}

/// The failed URLs of a snapshot with their reasons, as the run that made it recorded them in the settings of the site.
/// `larder check` and the reports use them to say why a URL is missing.
package struct StoredFailures: Sendable, Equatable {
    /// The number of the snapshot within its site.
    private var snapshot: Int64 = 0
    /// The reasons by URL.
    private var reasons: [String: String] = [:]

    /// Creates an empty value.
    package init() {}

    /// - Parameter failures: The URLs with their reasons. Those after the first 1000 are dropped.
    package init(snapshot: Int64, _ failures: some Sequence<(url: String, reason: String)>) {
        self.snapshot = snapshot
        for failure in failures.prefix(Self.maxCount) { reasons[failure.url] = failure.reason }
    }

    /// Reads failures that `members` wrote. They are grouped by reason, because many URLs fail for the same one.
    package init(_ stored: JSONValue) {
        snapshot = Int64(stored["snapshot"]?.int ?? 0)
        for group in stored["reasons"]?.members ?? [] {
            for url in group.value.array?.compactMap(\.string) ?? [] { reasons[url] = group.key }
        }
    }

    /// The failures of a site's live snapshot; empty if those of another snapshot are stored.
    package init(of site: Site) {
        let stored = (try? JSONValue.parse(site.settings.utf8.span))?["failures"].map { StoredFailures($0) }
        if let stored, stored.snapshot == site.name(ofSnapshot: site.published)?.number { self = stored }
    }

    /// Returns why a URL failed; nil if it did not fail, or if its failure was dropped.
    package func reason(for url: String) -> String? { reasons[url] }

    package var isEmpty: Bool { reasons.isEmpty }

    /// The URLs that failed, in alphabetical order.
    package var urls: [String] { reasons.keys.sorted() }

    /// Gives the snapshot another number.
    package mutating func renumberSnapshot(_ number: Int64, as new: Int64) {
        if snapshot == number { snapshot = new }
    }

    /// The maximum number of stored failures. Each use of a site parses all of its settings, so they must stay small.
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
