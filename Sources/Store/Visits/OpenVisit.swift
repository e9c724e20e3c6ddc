/// A visit that is being written.
package struct OpenVisit: Sendable, Equatable {
    package let site: Int64
    package let id: Int64
    /// An earlier run was interrupted; what it stored counts.
    package let isContinued: Bool
}

/// What becomes of a visit when a run ends.
package enum VisitEnding: Sendable, Equatable {
    /// It is complete: from here on readers see it instead of the one before.
    case publish(now: Int64)
    /// Readers see what it has, and the next run of the site goes on with it.
    case publishSoFar
    /// The next run of the site goes on with it.
    case keepOpen
    /// It is complete, and not as it must be: readers go on seeing the one before.
    case holdBack(now: Int64)
    /// Not even the start was reached: what was learnt on the way says nothing about the site.
    case forget

    package var isPublishing: Bool {
        switch self {
        case .publish, .publishSoFar: true
        case .keepOpen, .holdBack, .forget: false
        }
    }
}
