public import Store
package import Web

/// The URLs of a site that differ between two snapshots.
public struct DiffReport: Sendable, Equatable {
    /// The name of the site.
    public let site: String
    /// The earlier snapshot.
    public let from: SnapshotName
    /// The later snapshot.
    public let to: SnapshotName
    /// URLs that only the later snapshot has.
    public let added: [String]
    /// URLs whose body differs.
    public let changed: [String]
    /// URLs that the origin reports as gone.
    public let gone: [String]
    /// Pages and assets whose URL changed.
    public let moved: [Move]
    /// The number of pages of the earlier snapshot that the run of the later one did not fetch, for example because of a limit
    /// of pages. They are still served, so that they are in none of the lists.
    public let unfetchedPages: Int

    /// A body that is unchanged, byte for byte, but has another URL.
    public struct Move: Sendable, Equatable {
        /// The URL in the earlier snapshot.
        public let from: String
        /// The URL in the later snapshot.
        public let to: String
    }

    /// Whether the snapshots do not differ.
    public var isEmpty: Bool { added.isEmpty && changed.isEmpty && gone.isEmpty && moved.isEmpty }

    package init(of site: Site, from: Snapshot, to: Snapshot, _ reader: StoreReader) throws(StoreError) {
        let difference = try reader.difference(from: from.id, to: to.id)
        self.site = site.name
        self.from = from.name
        self.to = to.name
        added = difference.added
        changed = difference.changed
        gone = difference.gone
        moved = difference.moved.map { Move(from: $0.from, to: $0.to) }
        let isRun = from.base == nil && to.base == nil
        unfetchedPages = isRun ? try reader.unfetchedPageCount(from: from.id, to: to.id) : 0
    }

    /// The report as JSON.
    public var json: String { members.text() }
}

extension DiffReport: JSONObject {
    package var members: JSONMembers {
        [
            "site": site, "from": from.number, "fromOverlay": IfAny(from.isOverlay ? true : nil),
            "to": to.number, "toOverlay": IfAny(to.isOverlay ? true : nil), "added": added,
            "changed": changed,
            "gone": gone, "moved": moved, "unfetchedPages": IfAny(unfetchedPages > 0 ? unfetchedPages : nil),
        ]
    }
}

extension DiffReport.Move: JSONObject {
    package var members: JSONMembers { ["from": from, "to": to] }
}

/// A comparison of the screenshots of a site's pages in two snapshots.
public struct ScreenshotReport: Sendable, Equatable {
    /// The name of the site.
    public let site: String
    /// The earlier snapshot.
    public let from: SnapshotName
    /// The later snapshot.
    public let to: SnapshotName
    /// The pages in the order of their URLs.
    public let pages: [Page]

    /// A page with a screenshot in at least one of the snapshots.
    public struct Page: Sendable, Equatable {
        /// The URL of the page.
        public let url: String
        /// The result of comparing its screenshots.
        public let state: Comparison
        /// The snapshot in which the earlier screenshot was taken; nil if there is none.
        public let from: SnapshotName?
        /// The snapshot in which the later screenshot was taken; nil if there is none.
        public let to: SnapshotName?
    }

    /// The result of comparing two screenshots.
    public enum Comparison: String, Sendable, CaseIterable {
        /// The screenshots differ.
        case changed
        /// Only the later snapshot has a screenshot.
        case added
        /// The page is gone, or the later snapshot has no screenshot of it.
        case gone
        /// A new screenshot was taken, which is the same byte for byte.
        case same
        /// No new screenshot was taken; both snapshots share one.
        case reused = "kept"
    }

    package init(of site: Site, from: Snapshot, to: Snapshot, _ reader: StoreReader) throws(StoreError) {
        self.site = site.name
        (self.from, self.to) = (from.name, to.name)
        let (before, after) = (try reader.screenshots(asOf: from.id), try reader.screenshots(asOf: to.id))
        pages = Set(before.keys).union(after.keys).sorted().map { url in
            let (old, new) = (before[url], after[url])
            let state: Comparison =
                switch (old, new) {
                case (nil, _): .added
                case (_, nil): .gone
                case (let old?, let new?) where old.snapshot == new.snapshot: .reused
                case (let old?, let new?): old.body?.id == new.body?.id ? .same : .changed
                }
            return Page(
                url: url, state: state, from: site.name(ofSnapshot: old?.snapshot),
                to: site.name(ofSnapshot: new?.snapshot))
        }
    }

    /// The number of pages in a state.
    public func count(_ state: Comparison) -> Int { pages.count { $0.state == state } }

    /// Pages whose screenshots differ, or that have a screenshot in only one of the snapshots.
    public var differing: [Page] { pages.filter { $0.state != .same && $0.state != .reused } }

    /// The report as JSON.
    public var json: String { members.text() }
}

extension ScreenshotReport: JSONObject {
    package var members: JSONMembers {
        [
            "site": site, "from": from.number, "fromOverlay": IfAny(from.isOverlay ? true : nil),
            "to": to.number, "toOverlay": IfAny(to.isOverlay ? true : nil), "pages": pages,
        ]
    }
}

extension ScreenshotReport.Page: JSONObject {
    package var members: JSONMembers {
        ["url": url, "state": state.rawValue, "from": from?.number, "to": to?.number]
    }
}

extension Site {
    /// The two snapshots to compare: by default the live snapshot with its overlay, and the complete snapshot before
    /// it.
    ///
    /// - Throws: `StoreError` for the reason `.request` if the site has no such snapshot.
    package func snapshotsToCompare(
        from first: SnapshotName? = nil, to second: SnapshotName? = nil
    ) throws(StoreError) -> (from: Snapshot, to: Snapshot) {
        let live = name(ofSnapshot: overlay ?? published ?? snapshots.last?.id)
        let to = try snapshot(second ?? live ?? 1)
        let from = if let first { try snapshot(first) } else { try snapshot(before: to.id) }
        return (from, to)
    }

    /// The last complete snapshot before the one with this `id` that is neither an overlay nor rejected.
    package func snapshot(before id: Int64) throws(StoreError) -> Snapshot {
        guard
            let before = snapshots.last(where: {
                $0.id < id && $0.finished != nil && !$0.isRejected && $0.base == nil
            })
        else {
            throw StoreError(
                .request, doing: "find an earlier snapshot of", path: name,
                detail: name(ofSnapshot: id).map { "there is no complete one before snapshot \($0)" }
                    ?? "it has no complete snapshot",
                advice: "list its snapshots with: larder snapshots")
        }
        return before
    }
}
