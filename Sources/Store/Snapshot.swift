/// The result of one prefetch or update of a site, or an overlay: responses that servers loaded on top of a
/// snapshot.
package struct Snapshot: Sendable, Equatable {
    /// The id of its row. Ids increase in the order in which snapshots of all sites began.
    package let id: Int64
    /// The number among the snapshots of its site, from 1, as users see it. An overlay has the number of its base.
    package let number: Int64
    /// Seconds since 1970.
    package let started: Int64
    /// Seconds since 1970. Nil while its run is in progress or was interrupted: the next run of the site continues
    /// it.
    package let finished: Int64?
    /// Whether it is complete and was not published. The database stores the time of its end as a negative number.
    package let isRejected: Bool
    /// The id of the snapshot that an overlay is on top of; nil for other snapshots.
    package let base: Int64?
    package let responseCount: Int

    package var name: SnapshotName { SnapshotName(number, isOverlay: base != nil) }

    package init(
        id: Int64, number: Int64, started: Int64, finished: Int64?, base: Int64? = nil, responseCount: Int
    ) {
        self.id = id
        self.number = number
        self.started = started
        self.finished = finished.map { abs($0) }
        isRejected = finished.map { $0 < 0 } ?? false
        self.base = base
        self.responseCount = responseCount
    }
}

/// A snapshot that is being written.
package struct OpenSnapshot: Sendable, Equatable {
    package let site: Int64
    package let id: Int64
    /// The number among the snapshots of its site.
    package let number: Int64
    /// Whether an earlier run began it and was interrupted. The responses of that run belong to it.
    package let isContinued: Bool
    /// If not nil, the run requests only a part of the site: when the snapshot goes live, it takes over the other responses
    /// of the snapshot that was live before, except those of these URLs.
    package var urlsNotTakenOver: Set<String>?
}

/// The decision about a snapshot at the end of its run.
package enum SnapshotEnding: Sendable, Equatable {
    /// The snapshot is complete and becomes the live one.
    case publish(now: Int64)
    /// The snapshot is complete. If it shows the same as the live one, the live one stays and takes its place; else it becomes
    /// the live one.
    case publishIfChanged(now: Int64)
    /// The incomplete snapshot becomes the live one, and the next run of the site continues it.
    case publishSoFar
    /// The snapshot stays unfinished, and the next run of the site continues it.
    case keepOpen
    /// The snapshot is complete and rejected; the live snapshot stays.
    case reject(now: Int64)
    /// The snapshot is deleted, because the run did not reach any start URL.
    case forget

    package var isPublishing: Bool {
        switch self {
        case .publish, .publishIfChanged, .publishSoFar: true
        case .keepOpen, .reject, .forget: false
        }
    }
}
