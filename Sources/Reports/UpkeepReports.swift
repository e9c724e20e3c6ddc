public import Store
package import Web

/// What came of pinning something, or of taking a pin away.
public struct PinChange: Sendable, Equatable {
    public let pin: HeldPin
    /// False when it was so before.
    public let isNew: Bool
    /// The word names a site, which was taken, and also a URL that is held.
    public let alsoNamesURL: Bool

    package init(_ pin: Pin, isNew: Bool, alsoNamesURL: Bool = false, _ reader: StoreReader)
        throws(StoreError)
    {
        self.pin = try HeldPin.all([pin], reader)[0]
        self.isNew = isNew
        self.alsoNamesURL = alsoNamesURL
    }

    /// The report for programs.
    public var json: String { members.text() }
}

/// What is pinned, and how much that is.
public struct PinsReport: Sendable, Equatable {
    public let pins: [HeldPin]

    package init(_ reader: StoreReader) throws(StoreError) {
        pins = try HeldPin.all(reader.pins(), reader)
    }

    /// The report for programs.
    public var json: String { members.text() }
}

/// A pin, and what it covers of what is held now.
public struct HeldPin: Sendable, Equatable {
    public let kind: PinKind
    /// A URL, a pattern, or the name of a site.
    public let value: String
    /// Held URLs that it keeps, those included that others need.
    public let urls: Int
    /// Their bodies' bytes, each body counted once.
    public let byteCount: Int64

    fileprivate static func all(_ pins: [Pin], _ reader: StoreReader) throws(StoreError) -> [HeldPin] {
        zip(pins, try reader.covers(of: pins.map { [$0] })).map { pin, cover in
            HeldPin(kind: pin.kind, value: pin.value, urls: cover.urlCount, byteCount: cover.byteCount)
        }
    }
}

extension PinChange: JSONObject {
    package var members: JSONMembers { ["pin": pin, "new": isNew] }
}

extension PinsReport: JSONObject {
    package var members: JSONMembers { ["pins": pins] }
}

extension HeldPin: JSONObject {
    package var members: JSONMembers {
        ["kind": kind.rawValue, "value": value, "urls": urls, "bytes": byteCount]
    }
}

/// What a collection took away, and what is left.
public struct CollectionReport: Sendable, Equatable {
    /// Nil when there was none.
    public let limit: ByteSize?
    public let droppedVisits: Int
    /// URLs of which a response is gone that a server had loaded. What snapshots have of them stays.
    public let removedOverlayURLs: Int
    /// URLs of live snapshots that are missing now.
    public let evictedURLs: Int
    /// These URLs; of more than 10,000 only the first.
    public let evicted: [String]
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
        /// Only live snapshots are left, and evicting from them was not allowed.
        case live
        /// What could go has gone, and its room was not free yet, as when another program reads the larder.
        case again
    }

    /// It is as small as was wanted. Of a larder that was to be emptied the empty database may stay.
    public var isWithinLimit: Bool { obstacle == nil || obstacle == .empty && limit?.byteCount == 0 }

    /// By how much it is beyond the limit; 0 when it is not.
    public var excess: Int64 { obstacle == nil ? 0 : byteCountAfter - (limit?.byteCount ?? byteCountAfter) }

    /// The report for programs.
    public var json: String { members.text() }
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

    /// - Parameter reader: of the copy in which it was tried.
    package init(
        _ forecast: Store.CollectionForecast, limit: ByteSize?, allowsIncomplete: Bool, _ reader: StoreReader
    ) throws(StoreError) {
        report = try CollectionReport(
            forecast.result, limit: limit, allowsIncomplete: allowsIncomplete, reader)
        visits = forecast.visits.map { Visit(site: $0.site, number: $0.id) }
        urls = forecast.urls
    }

    /// The forecast for programs: that of the collection, and what it would take.
    public var json: String { members.text() }
}

extension CollectionReport {
    /// - Parameter reader: of the larder as it is now.
    package init(
        _ result: CollectionResult, limit: ByteSize?, allowsIncomplete: Bool, _ reader: StoreReader
    ) throws(StoreError) {
        let everything = try reader.sites().map { Pin(.site, $0.name) }
        let covers = try reader.covers(of: [reader.pins(), everything])
        let (pinned, held) = (covers[0], covers[1])
        self.limit = limit
        droppedVisits = result.droppedVisits
        removedOverlayURLs = result.removedOverlayURLs
        evicted = result.evicted
        evictedURLs = result.evictedURLs
        removedBodies = result.removedBodies
        byteCountBefore = result.byteCountBefore
        byteCountAfter = result.byteCountAfter
        heldURLs = held.urlCount
        pinnedURLs = pinned.urlCount
        pinnedByteCount = pinned.byteCount
        shrinkFailure = result.shrinkFailure?.description
        let isBeyond = limit.map { result.byteCountAfter > $0.byteCount } ?? false
        obstacle =
            if !isBeyond {
                nil
            } else if result.shrinkFailure != nil {
                .disk
            } else if held.urlCount == 0 {
                .empty
            } else if held.urlCount == pinned.urlCount {
                .pins
            } else if !allowsIncomplete {
                .live
            } else {
                .again
            }
    }
}

extension CollectionReport: JSONObject {
    package var members: JSONMembers {
        [
            "limit": limit?.byteCount, "withinLimit": isWithinLimit, "droppedVisits": droppedVisits,
            "removedOverlayURLs": removedOverlayURLs, "evictedURLs": evictedURLs, "evicted": evicted,
            "removedBodies": removedBodies, "bytesBefore": byteCountBefore,
            "bytesAfter": byteCountAfter, "excess": excess, "obstacle": IfAny(obstacle?.rawValue),
            "heldURLs": heldURLs, "pinnedURLs": pinnedURLs, "pinnedBytes": pinnedByteCount,
            "shrinkFailure": IfAny(shrinkFailure),
        ]
    }
}

extension CollectionForecast: JSONObject {
    package var members: JSONMembers {
        report.members + ["dryRun": true, "visits": visits, "urls": urls]
    }
}

extension CollectionForecast.Visit: JSONObject {
    package var members: JSONMembers { ["site": site, "visit": number] }
}

/// What an inspection of a larder found.
public struct InspectionReport: Sendable, Equatable {
    public let bodiesChecked: Int
    public let bytesChecked: Int64
    /// Bodies that are not what their digest says, or are gone.
    public let damaged: [Damage]
    /// Bodies that no response has: kept by nothing, harmless.
    public let orphanBodies: Int
    public let orphanFiles: [String]
    /// What SQLite says of the database itself.
    public let databaseFaults: [String]
    /// Addresses of bodies whose link table was damaged. They were served all the same: their links were read anew.
    public let damagedLinkTables: [String]
    /// Rows that the journal lacks. A lost database is rebuilt from the journal.
    public let journalFaults: [String]
    /// The index of words is what was written. Nothing is lost with one that is not: a repair removes it, and
    /// the next indexing makes it anew.
    public package(set) var isIndexSound = true
    /// The damaged bodies were taken out of service, and what nothing refers to was removed.
    public let isRepaired: Bool
    /// What came back where the database had to be made anew; nil where it had not.
    public let rebuilt: Rebuilt?

    public struct Rebuilt: Sendable, Equatable {
        /// Addresses and bodies that are held again.
        public let addresses: Int
        public let bodies: Int
        /// Bodies that are not there any more, or are not what they were: what had them is missing.
        public let lostBodies: Int
    }

    public struct Damage: Sendable, Equatable {
        public let sha256: String
        public let fault: String
        /// The addresses that have it; after a repair they are missing, and fetched at the next prefetch.
        public let addresses: [String]
    }

    /// Everything that is held is what was fetched.
    public var isSound: Bool {
        damaged.isEmpty && databaseFaults.isEmpty && damagedLinkTables.isEmpty && journalFaults.isEmpty
    }

    package init(_ findings: StoreFindings, isRepaired: Bool, _ rebuilt: StoreRebuild? = nil) {
        self.rebuilt = rebuilt.map {
            Rebuilt(addresses: $0.addresses, bodies: $0.bodies, lostBodies: $0.lostBodies)
        }
        bodiesChecked = findings.bodiesChecked
        bytesChecked = findings.bytesChecked
        damaged = findings.damaged.map(Damage.init)
        orphanBodies = findings.orphanBodies
        orphanFiles = findings.orphanFiles
        databaseFaults = findings.databaseFaults
        damagedLinkTables = findings.damagedLinkTables
        journalFaults = findings.journalFaults
        self.isRepaired = isRepaired
    }

    /// The report for programs.
    public var json: String { members.text() }
}

extension InspectionReport: JSONObject {
    package var members: JSONMembers {
        [
            "sound": isSound, "repaired": isRepaired, "bodies": bodiesChecked, "bytes": bytesChecked,
            "damaged": damaged, "orphanBodies": orphanBodies, "orphanFiles": orphanFiles,
            "databaseFaults": databaseFaults, "damagedLinkTables": damagedLinkTables,
            "journalFaults": journalFaults, "indexSound": isIndexSound, "rebuilt": IfAny(rebuilt),
        ]
    }
}

extension InspectionReport.Damage {
    package init(_ body: DamagedBody) {
        self.init(sha256: body.sha256, fault: body.fault, addresses: body.addresses)
    }
}

extension InspectionReport.Damage: JSONObject {
    package var members: JSONMembers { ["sha256": sha256, "fault": fault, "addresses": addresses] }
}

extension InspectionReport.Rebuilt: JSONObject {
    package var members: JSONMembers {
        ["addresses": addresses, "bodies": bodies, "lostBodies": lostBodies]
    }
}
