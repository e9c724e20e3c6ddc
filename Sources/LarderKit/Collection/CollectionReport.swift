internal import Web

/// What a collection took away, and what is left.
public struct CollectionReport: Sendable, Equatable {
    /// Nil when there was none.
    public let limit: ByteSize?
    public let droppedVisits: Int
    public let evictedURLs: Int
    public let removedBodies: Int
    /// What database and bodies took on the disk.
    public let byteCountBefore: Int64
    public let byteCountAfter: Int64
    /// Why what it takes now is more than the limit; nil when it is not.
    public let obstacle: Obstacle?
    /// URLs that something is still held of.
    public let heldURLs: Int
    /// What pins keep of what is held.
    public let pinnedURLs: Int
    public let pinnedByteCount: Int64
    /// Why the database file did not become smaller, though it has room.
    public let shrinkFailure: String?

    public enum Obstacle: String, Sendable, CaseIterable {
        /// What is left is pinned, or needed by what is.
        case pins
        /// Nothing is left but the database without a row.
        case empty
        /// The database file did not become smaller.
        case disk
        /// What could go has gone, and its room was not free yet, as when another program reads the larder.
        case again
    }

    /// It is as small as was wanted. Of a larder that was to be emptied the empty database may stay.
    public var isWithinLimit: Bool { obstacle == nil || obstacle == .empty && limit?.byteCount == 0 }

    /// By how much it is beyond the limit; 0 when it is not.
    public var excess: Int64 { obstacle == nil ? 0 : byteCountAfter - (limit?.byteCount ?? byteCountAfter) }

    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { write(to: &$0) }
        return writer.text
    }

    fileprivate func write(to object: inout JSONWriter) {
        object.member("limit", limit?.byteCount)
        object.member("withinLimit", isWithinLimit)
        object.member("droppedVisits", droppedVisits)
        object.member("evictedURLs", evictedURLs)
        object.member("removedBodies", removedBodies)
        object.member("bytesBefore", byteCountBefore)
        object.member("bytesAfter", byteCountAfter)
        object.member("excess", excess)
        object.memberIfPresent("obstacle", obstacle?.rawValue)
        object.member("heldURLs", heldURLs)
        object.member("pinnedURLs", pinnedURLs)
        object.member("pinnedBytes", pinnedByteCount)
        object.memberIfPresent("shrinkFailure", shrinkFailure)
    }
}

/// What a collection would take, if it were done now.
public struct CollectionForecast: Sendable, Equatable {
    /// As it would be then.
    public let report: CollectionReport
    /// Would be dropped, the oldest first.
    public let visits: [Visit]
    /// Of these nothing would be held any more; by address.
    public let urls: [String]

    public struct Visit: Sendable, Equatable {
        public let site: String
        public let number: Int64
    }

    /// The forecast for programs: that of the collection, and what it would take.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { object in
            report.write(to: &object)
            object.member("dryRun", true)
            object.member("visits") { list in
                list.array { array in
                    for visit in visits {
                        array.object { object in
                            object.member("site", visit.site)
                            object.member("visit", visit.number)
                        }
                    }
                }
            }
            object.member("urls", urls)
        }
        return writer.text
    }
}
