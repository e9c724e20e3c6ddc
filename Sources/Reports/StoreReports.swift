package import Store
package import Web

/// The location, version, size and current writers of a store.
public struct StoreReport: Sendable, Equatable {
    /// The path or address of the store.
    public let path: String
    /// The version of the PostgreSQL server; nil for a folder.
    public let serverVersion: String?
    /// Whether the PostgreSQL server is a standby, from which the store can only be read.
    public let isStandby: Bool
    /// The version of its tables.
    public let version: Int64
    /// The version that this version of Larder uses.
    public let newestVersion: Int64
    /// Whether a copy into this store is not finished.
    public let isCopying: Bool
    /// The number of sites.
    public let sites: Int
    /// The number of snapshots.
    public let snapshots: Int
    /// The files, folders or tables that take space.
    public let parts: [Part]
    /// The processes that may write to the store now.
    public let writers: [Writer]

    /// A file, a folder, or a table with its indexes.
    public struct Part: Sendable, Equatable {
        /// The name of the file, folder or table.
        public let name: String
        /// The size on the disk in bytes.
        public let byteCount: Int64
    }

    /// A process that may write. For a folder, all processes are reported as one writer.
    public struct Writer: Sendable, Equatable {
        /// The sites that it is prefetching.
        public let sites: [String]
        /// Whether no other process may write meanwhile, for example during a collection.
        public let isAlone: Bool
        /// The process ID of its PostgreSQL session; nil for a folder.
        public let session: Int64?
        /// The address of the PostgreSQL client.
        public let address: String?
        /// The time at which the session began, in seconds since 1970.
        public let since: Int64?
    }

    /// Whether the tables have an older version; see `Larder.migrateStore()`.
    public var needsMigration: Bool { version < newestVersion }
    /// The total size of the parts.
    public var byteCount: Int64 { parts.reduce(0) { $0 + $1.byteCount } }

    /// - Parameter path: the path or address that the user gave.
    package init(_ condition: StoreCondition, path: String) {
        self.path = path
        serverVersion = condition.serverVersion
        isStandby = condition.isStandby
        version = condition.version
        newestVersion = condition.newestVersion
        isCopying = condition.isCopying
        sites = condition.sites
        snapshots = condition.snapshots
        parts = condition.parts.map { Part(name: $0.name, byteCount: $0.byteCount) }
        writers = condition.writers.map {
            Writer(
                sites: $0.sites, isAlone: $0.isExclusive, session: $0.session, address: $0.address,
                since: $0.since)
        }
    }

    /// The report as JSON.
    public var json: String { members.text() }
}

extension StoreReport: JSONObject {
    package var members: JSONMembers {
        [
            "path": path, "kind": serverVersion == nil ? "folder" : "postgresql", "server": serverVersion,
            "standby": isStandby, "version": version, "newestVersion": newestVersion,
            "needsMigration": needsMigration, "copying": isCopying, "sites": sites, "snapshots": snapshots,
            "bytes": byteCount, "parts": parts, "writers": writers,
        ]
    }
}

extension StoreReport.Part: JSONObject {
    package var members: JSONMembers { ["name": name, "bytes": byteCount] }
}

extension StoreReport.Writer: JSONObject {
    package var members: JSONMembers {
        [
            "sites": sites, "alone": isAlone, "session": session, "address": address,
            "since": since.map(Wording.date),
        ]
    }
}

/// The result of copying a store.
public struct CopyReport: Sendable, Equatable {
    /// The path or address of the original.
    public let from: String
    /// The path or address of the copy.
    public let to: String
    /// Whether this run continued an interrupted copy.
    public let isContinued: Bool
    /// The number of sites in the copy.
    public let sites: Int
    /// The number of snapshots in the copy.
    public let snapshots: Int
    /// The number of URLs in the copy.
    public let addresses: Int
    /// The number of responses in the copy.
    public let responses: Int
    /// The number of bodies in the copy.
    public let bodies: Int
    /// The number of bodies that this run copied.
    public let copiedBodies: Int
    /// The size of the bodies that this run copied.
    public let copiedByteCount: Int64
    /// Bodies that differ from their digests, or are gone. They are not copied, nor are the responses that have them.
    public let damaged: [InspectionReport.Damage]
    /// The number of responses that were not copied because their body is damaged.
    public let leftOutResponses: Int
    /// The number of bodies that were read back and are correct; nil if the copy was not verified.
    public let verifiedBodies: Int?
    /// Bodies that were read back and differ from the original.
    public let unlike: [InspectionReport.Damage]

    /// Whether the copy has everything that the original has, undamaged.
    public var isWhole: Bool { damaged.isEmpty && unlike.isEmpty }

    package init(_ result: StoreCopyResult, from: String, to: String, isVerified: Bool) {
        self.from = from
        self.to = to
        isContinued = result.isContinued
        sites = result.sites
        snapshots = result.snapshots
        addresses = result.addresses
        responses = result.responses
        bodies = result.bodies
        copiedBodies = result.copiedBodies
        copiedByteCount = result.copiedBytes
        damaged = result.damaged.map(InspectionReport.Damage.init)
        leftOutResponses = result.leftOutResponses
        verifiedBodies = isVerified ? result.verifiedBodies : nil
        unlike = result.unlike.map(InspectionReport.Damage.init)
    }

    /// The report as JSON.
    public var json: String { members.text() }
}

extension CopyReport: JSONObject {
    package var members: JSONMembers {
        [
            "from": from, "to": to, "whole": isWhole, "continued": isContinued, "sites": sites,
            "snapshots": snapshots, "addresses": addresses, "responses": responses, "bodies": bodies,
            "copiedBodies": copiedBodies, "copiedBytes": copiedByteCount, "damaged": damaged,
            "leftOutResponses": leftOutResponses, "verifiedBodies": verifiedBodies, "unlike": unlike,
        ]
    }
}

/// The result of migrating a store.
public struct MigrationReport: Sendable, Equatable {
    /// The path or address of the store.
    public let path: String
    /// The steps that were made; empty if the store was up to date.
    public let steps: [String]

    package init(path: String, steps: [String]) {
        self.path = path
        self.steps = steps
    }

    /// The report as JSON.
    public var json: String { members.text() }
}

extension MigrationReport: JSONObject {
    package var members: JSONMembers { ["path": path, "steps": steps] }
}
