package import Database
package import Web

/// A stored site: its start URLs and its snapshots.
package struct Site: Sendable, Equatable {
    package let id: Int64
    /// The name that users give it: by default, the first start URL.
    package let name: String
    package let start: [String]
    package let snapshots: [Snapshot]
    /// The id of the live snapshot; nil until one is complete.
    package let published: Int64?
    /// The id of the overlay: responses that servers loaded on top of the live snapshot. Nil if there are none.
    package let overlay: Int64?
    /// The settings with which the site is prefetched and served, as JSON; empty if none were stored.
    package let settings: String
    /// The snapshots that updates found unchanged, and when they last did. Parsed once, because the settings may be long.
    private let confirmations: [SnapshotConfirmation]

    /// When an update last found that a snapshot is unchanged, in seconds since 1970; nil if none did.
    package func confirmationDate(of snapshot: Snapshot) -> Int64? {
        guard snapshot.base == nil else { return nil }
        return confirmations.last { $0.snapshot == snapshot.number }?.date
    }

    package init(
        id: Int64, name: String, start: [String], snapshots: [Snapshot], published: Int64?,
        settings: String = "",
        overlay: Int64? = nil
    ) {
        self.id = id
        self.name = name
        self.start = start
        self.snapshots = snapshots
        self.published = published
        self.overlay = overlay
        self.settings = settings
        confirmations =
            settings.utf8.contains("\"confirmed\"".utf8)
            ? SnapshotConfirmation.list((try? JSONValue.parse(settings.utf8.span))?["confirmed"]) : []
    }
}

extension Site {
    /// The last snapshot of the name.
    ///
    /// - Throws: `StoreError` for the reason `.request` when the site has none.
    package func snapshot(_ name: SnapshotName) throws(StoreError) -> Snapshot {
        guard let snapshot = snapshots.last(where: { $0.name == name }) else {
            throw StoreError(
                .request, doing: "find a snapshot of", path: self.name, detail: "it has no snapshot \(name)",
                advice: "list its snapshots with: larder snapshots")
        }
        return snapshot
    }

    /// Returns the name of the snapshot with this id; nil if the site has none.
    package func name(ofSnapshot id: Int64?) -> SnapshotName? { snapshots.first { $0.id == id }?.name }
}

extension Site {
    /// The id of the snapshot from which the site is served: the live one, or else the one of the first run, if that was
    /// interrupted. Nil if nothing is served.
    package var servedSnapshot: Int64? {
        published ?? snapshots.last { $0.finished == nil && $0.base == nil }?.id
    }

    /// The error for a request to remove the live snapshot.
    ///
    /// - Parameter live: The id of the live snapshot.
    package func liveSnapshotRemovalError(live: Int64) -> StoreError {
        StoreError(
            .request, doing: "remove a snapshot of", path: name,
            detail: "snapshot \(name(ofSnapshot: live)?.description ?? "") is live",
            advice: snapshots.contains { $0.finished != nil && $0.id != live && $0.base == nil }
                ? "make another snapshot live first with: larder rollback"
                : "it is the only one; to remove the whole site: larder remove \(name)")
    }
}

/// An update that found a snapshot unchanged.
package struct SnapshotConfirmation: Sendable, Equatable {
    /// The number of the snapshot.
    package let snapshot: Int64
    /// Seconds since 1970.
    package let date: Int64

    package init(snapshot: Int64, date: Int64) {
        (self.snapshot, self.date) = (snapshot, date)
    }

    private init?(_ json: JSONValue) {
        guard let snapshot = json["snapshot"]?.int, let date = json["date"]?.int else { return nil }
        self.init(snapshot: Int64(snapshot), date: Int64(date))
    }

    /// Reads them from the settings of a site.
    package static func list(_ json: JSONValue?) -> [SnapshotConfirmation] {
        json?.array?.compactMap { SnapshotConfirmation($0) } ?? []
    }
}

extension SnapshotConfirmation: JSONObject {
    package var members: JSONMembers { ["snapshot": snapshot, "date": date] }
}
