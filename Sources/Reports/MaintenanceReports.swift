public import Store
public import Web

/// The result of adding or removing a pin.
public struct PinChange: Sendable, Equatable {
    /// The pin that was added or removed.
    public let pin: PinReport
    /// Whether anything changed. False if the pin existed already, or did not exist.
    public let isNew: Bool
    /// Whether the text names a site, which was pinned, and also a stored URL.
    public let alsoNamesURL: Bool

    package init(_ pin: Pin, isNew: Bool, alsoNamesURL: Bool = false, _ reader: StoreReader)
        throws(StoreError)
    {
        self.pin = try PinReport.all([pin], reader)[0]
        self.isNew = isNew
        self.alsoNamesURL = alsoNamesURL
    }

    /// The report as JSON.
    public var json: String { members.text() }
}

/// The pins of a store.
public struct PinsReport: Sendable, Equatable {
    /// The pins.
    public let pins: [PinReport]

    package init(_ reader: StoreReader) throws(StoreError) {
        pins = try PinReport.all(reader.pins(), reader)
    }

    /// The report as JSON.
    public var json: String { members.text() }
}

/// A pin with the content that it protects.
public struct PinReport: Sendable, Equatable {
    /// The kind of content that the value names.
    public let kind: PinKind
    /// The URL, the pattern, or the name of the site.
    public let value: String
    /// The number of stored URLs that it protects, including those that the pinned pages need.
    public let urls: Int
    /// The total size of their bodies, each counted once.
    public let byteCount: Int64

    fileprivate static func all(_ pins: [Pin], _ reader: StoreReader) throws(StoreError) -> [PinReport] {
        zip(pins, try reader.covers(of: pins.map { [$0] })).map { pin, cover in
            PinReport(kind: pin.kind, value: pin.value, urls: cover.urlCount, byteCount: cover.byteCount)
        }
    }
}

extension PinChange: JSONObject {
    package var members: JSONMembers { ["pin": pin, "new": isNew] }
}

extension PinsReport: JSONObject {
    package var members: JSONMembers { ["pins": pins] }
}

extension PinReport: JSONObject {
    package var members: JSONMembers {
        ["kind": kind.rawValue, "value": value, "urls": urls, "bytes": byteCount]
    }
}

/// The result of pruning a store.
public struct PruningReport: Sendable, Equatable {
    /// The limit of the size; nil for none.
    public let limit: ByteSize?
    /// The number of removed snapshots.
    public let droppedSnapshots: Int
    /// The number of URLs whose response in an overlay was removed. Their responses in snapshots stay.
    public let removedOverlayURLs: Int
    /// The number of URLs of live snapshots that are missing now.
    public let evictedURLs: Int
    /// The first 10,000 of these URLs.
    public let evicted: [String]
    /// The number of removed bodies.
    public let removedBodies: Int
    /// The size of the store on the disk before the pruning.
    public let byteCountBefore: Int64
    /// The size of the store on the disk after the pruning.
    public let byteCountAfter: Int64
    /// The number of bytes by which the search index became smaller. They are part of the difference between
    /// `byteCountBefore` and `byteCountAfter`.
    public let freedIndexByteCount: Int64
    /// Why the store is still larger than the limit; nil if it is not.
    public let obstacle: Obstacle?
    /// The number of URLs that have stored responses.
    public let storedURLs: Int
    /// The number of stored URLs that pins protect.
    public let pinnedURLs: Int
    /// The total size of the bodies that pins protect.
    public let pinnedByteCount: Int64
    /// Why the database file could not be made smaller, although it has unused space.
    public let shrinkFailure: String?
    /// The approximate size of the store without the content that stays because the limit cannot be reached; nil if none
    /// stays for this reason.
    public let attainableByteCount: Int64?

    /// A reason why a limit could not be reached.
    public enum Obstacle: String, Sendable, CaseIterable {
        /// All remaining content is pinned, or needed by pinned content.
        case pins
        /// The database is empty, and larger than the limit by itself.
        case empty
        /// The database file could not be made smaller.
        case disk
        /// Only live snapshots are left, and evicting from them was not allowed.
        case live
        /// Earlier snapshots, or responses that servers loaded, stay, because the limit could not be reached without them
        /// either.
        case unreachable
        /// Content was removed, but its space is not free yet, for example because another program is reading the
        /// store.
        case again
    }

    /// Whether the limit was reached. With limit 0, an empty database counts as reached.
    public var isWithinLimit: Bool { obstacle == nil || obstacle == .empty && limit?.byteCount == 0 }

    /// The number of bytes beyond the limit; 0 if it was reached.
    public var excess: Int64 { obstacle == nil ? 0 : byteCountAfter - (limit?.byteCount ?? byteCountAfter) }

    /// The report as JSON.
    public var json: String { members.text() }
}

/// The content that pruning a store would remove.
public struct PruningPreview: Sendable, Equatable {
    /// The report of the pruning.
    public let report: PruningReport
    /// The snapshots that would be removed, the oldest first.
    public let snapshots: [Snapshot]
    /// The URLs of which no response would be left, in alphabetical order.
    public let urls: [String]

    /// A snapshot that would be removed.
    public struct Snapshot: Sendable, Equatable {
        /// The name of the site.
        public let site: String
        /// The name of the snapshot.
        public let name: SnapshotName
        /// When the snapshot began.
        public let started: Timestamp
        /// The size of the bodies that no other snapshot has.
        public let byteCount: Int64
        /// Whether it is the last earlier snapshot of its site, so that no earlier version of its pages is left.
        public let isLastEarlier: Bool
    }

    /// - Parameter reader: a reader of the copy on which the pruning was tried.
    package init(
        _ forecast: CollectionForecast, limit: ByteSize?, allowsIncomplete: Bool, _ reader: StoreReader
    ) throws(StoreError) {
        report = try PruningReport(
            forecast.result, limit: limit, allowsIncomplete: allowsIncomplete, reader)
        snapshots = forecast.snapshots.map {
            Snapshot(
                site: $0.site, name: $0.name, started: Timestamp(secondsSinceEpoch: $0.started),
                byteCount: $0.byteCount,
                isLastEarlier: $0.isLastEarlier)
        }
        urls = forecast.urls
    }

    /// The preview as JSON: the members of the report, and the snapshots and URLs.
    public var json: String { members.text() }
}

extension PruningReport {
    /// - Parameter reader: a reader of the store after the pruning.
    package init(
        _ result: CollectionResult, limit: ByteSize?, allowsIncomplete: Bool, _ reader: StoreReader
    ) throws(StoreError) {
        let pinned = try reader.covers(of: [reader.pins()])[0]
        self.limit = limit
        droppedSnapshots = result.droppedSnapshots
        removedOverlayURLs = result.removedOverlayURLs
        evicted = result.evicted
        evictedURLs = result.evictedURLs
        removedBodies = result.removedBodies
        byteCountBefore = result.byteCountBefore
        byteCountAfter = result.byteCountAfter
        freedIndexByteCount = result.freedIndexByteCount
        storedURLs = try reader.storedURLCount()
        pinnedURLs = pinned.urlCount
        pinnedByteCount = pinned.byteCount
        shrinkFailure = result.shrinkFailure?.description
        attainableByteCount = result.attainableByteCount
        let isBeyond = limit.map { result.byteCountAfter > $0.byteCount } ?? false
        obstacle =
            if !isBeyond {
                nil
            } else if result.shrinkFailure != nil {
                .disk
            } else if storedURLs == 0 {
                .empty
            } else if storedURLs == pinnedURLs {
                .pins
            } else if attainableByteCount != nil {
                .unreachable
            } else if !allowsIncomplete {
                .live
            } else {
                .again
            }
    }
}

extension PruningReport: JSONObject {
    package var members: JSONMembers {
        [
            "limit": limit?.byteCount, "withinLimit": isWithinLimit, "droppedSnapshots": droppedSnapshots,
            "removedOverlayURLs": removedOverlayURLs, "evictedURLs": evictedURLs, "evicted": evicted,
            "removedBodies": removedBodies, "bytesBefore": byteCountBefore,
            "bytesAfter": byteCountAfter, "freedIndexBytes": freedIndexByteCount, "excess": excess,
            "obstacle": IfAny(obstacle?.rawValue), "attainableBytes": IfAny(attainableByteCount),
            "storedURLs": storedURLs, "pinnedURLs": pinnedURLs, "pinnedBytes": pinnedByteCount,
            "shrinkFailure": IfAny(shrinkFailure),
        ]
    }
}

extension PruningPreview: JSONObject {
    package var members: JSONMembers {
        report.members + ["dryRun": true, "snapshots": snapshots, "urls": urls]
    }
}

extension PruningPreview.Snapshot: JSONObject {
    package var members: JSONMembers {
        [
            "site": site, "snapshot": name.number, "overlay": IfAny(name.isOverlay ? true : nil),
            "started": Wording.date(started), "bytes": byteCount,
            "lastEarlier": IfAny(isLastEarlier ? true : nil),
        ]
    }
}

/// The result of inspecting a store.
public struct InspectionReport: Sendable, Equatable {
    /// The number of bodies that were read.
    public let bodiesChecked: Int
    /// The size of the bodies that were read.
    public let bytesChecked: Int64
    /// Bodies that differ from their digests, or are gone.
    public let damaged: [Damage]
    /// The number of bodies that no response has, which is harmless. The next collection removes them.
    public let orphanBodies: Int
    /// Files of bodies that the database does not name.
    public let orphanFiles: [String]
    /// Faults of the database that SQLite reports.
    public let databaseFaults: [String]
    /// URLs of bodies whose link table is damaged. They are served nevertheless: their links are scanned again.
    public let damagedLinkTables: [String]
    /// Rows that the journal lacks. A lost database is rebuilt from the journal.
    public let journalFaults: [String]
    /// Whether the search index is intact. A damaged one loses no content: a repair removes it, and the next indexing
    /// rebuilds it.
    public package(set) var isIndexSound = true
    /// Whether damaged bodies were removed from service, and unreferenced content was removed.
    public let isRepaired: Bool
    /// The content that a rebuilt database has; nil if it was not rebuilt.
    public let rebuilt: Rebuilt?

    /// The content of a rebuilt database.
    public struct Rebuilt: Sendable, Equatable {
        /// The number of recovered URLs.
        public let addresses: Int
        /// The number of recovered bodies.
        public let bodies: Int
        /// The number of bodies that are gone or damaged. The responses that had them are missing.
        public let lostBodies: Int
    }

    /// A damaged body.
    public struct Damage: Sendable, Equatable {
        /// The digest that the body should have, in hexadecimal.
        public let sha256: String
        /// The kind of the damage.
        public let fault: String
        /// The URLs that have the body. After a repair they are missing, and the next prefetch fetches them.
        public let addresses: [String]
    }

    /// Whether no damage was found.
    public var isSound: Bool {
        damaged.isEmpty && databaseFaults.isEmpty && damagedLinkTables.isEmpty && journalFaults.isEmpty
    }

    package init(_ findings: StoreFindings, isRepaired: Bool, _ rebuilt: StoreRebuild? = nil) {
        self.rebuilt = rebuilt.map {
            Rebuilt(addresses: $0.addresses, bodies: $0.bodies, lostBodies: $0.lostBodies)
        }
        bodiesChecked = findings.bodiesChecked
        bytesChecked = findings.bytesChecked
        damaged = findings.damagedBodies.map(Damage.init)
        orphanBodies = findings.orphanBodyCount
        orphanFiles = findings.orphanFiles
        databaseFaults = findings.databaseFaults
        damagedLinkTables = findings.hrefsWithDamagedLinks
        journalFaults = findings.journalFaults
        self.isRepaired = isRepaired
    }

    /// The report as JSON.
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
        self.init(sha256: body.sha256, fault: body.fault, addresses: body.hrefs)
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
