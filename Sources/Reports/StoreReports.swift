package import Store
public import Web

/// The location, version, size and current writers of a store.
public struct StoreReport: Sendable, Equatable {
    /// The path of the store, or its address without a password.
    public let path: String
    /// The version of the PostgreSQL server; nil for a folder.
    public let serverVersion: String?
    /// Whether the PostgreSQL server is a standby, from which the store can only be read.
    public let isStandby: Bool
    /// The version of the tables that the store has now.
    public let version: Int64
    /// The version of the tables to which this version of Larder migrates them.
    public let newestVersion: Int64
    /// Whether the store is the destination of a copy that has not completed.
    public let isCopying: Bool
    /// The number of sites.
    public let sites: Int
    /// The number of snapshots.
    public let snapshots: Int
    /// All files and folders of the store, or its tables, with their sizes.
    public let parts: [Part]
    /// The processes that have the store open for writing. For a folder, they are reported as one writer.
    public let writers: [Writer]

    /// A file, a folder, or a table with its indexes.
    public struct Part: Sendable, Equatable {
        /// The name of the file, folder or table.
        public let name: String
        /// The size on the disk in bytes.
        public let byteCount: Int64
    }

    /// A process that has the store open for writing; for a folder, all of them together.
    public struct Writer: Sendable, Equatable {
        /// The URLs of the sites that it has locked, for example to prefetch or remove them.
        public let sites: [String]
        /// Whether it keeps all other processes from writing, as `Larder.prune` does.
        public let isExclusive: Bool
        /// The process ID of its PostgreSQL session; nil for a folder.
        public let session: Int64?
        /// The network address of the PostgreSQL client; nil for a folder, or a client on the same machine.
        public let address: String?
        /// The start of the PostgreSQL session; nil for a folder.
        public let since: Timestamp?
    }

    /// Whether the tables have an earlier version; `Larder.migrateStore()` migrates them.
    public var needsMigration: Bool { version < newestVersion }
    /// The total size of the parts in bytes.
    public var byteCount: Int64 { parts.reduce(0) { $0 + $1.byteCount } }

    /// Creates a report from the state of a store.
    ///
    /// - Parameter path: the path of the store, or its address without a password.
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
                sites: $0.sites, isExclusive: $0.isExclusive, session: $0.session, address: $0.address,
                since: $0.since.map(Timestamp.init(secondsSinceEpoch:)))
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
            "sites": sites, "alone": isExclusive, "session": session, "address": address,
            "since": since.map(Wording.date),
        ]
    }
}

/// The result of copying a store.
public struct CopyReport: Sendable, Equatable {
    /// The path of the original store, or its address without a password.
    public let from: String
    /// The path of the copy, or its address without a password.
    public let to: String
    /// Whether this run continued an earlier one that was interrupted.
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
    /// The size in bytes of the bodies that this run copied.
    public let copiedByteCount: Int64
    /// Bodies of the original that are missing or do not match their digests. They are not copied, nor are the
    /// responses with these bodies.
    public let damaged: [InspectionReport.Damage]
    /// The number of responses that were not copied because their body is damaged.
    public let leftOutResponses: Int
    /// The number of bodies that were read back from the copy and match their digests; nil if the copy was not
    /// verified.
    public let verifiedBodies: Int?
    /// Bodies that were read back from the copy and are missing or do not match their digests.
    public let mismatched: [InspectionReport.Damage]

    /// Whether everything was copied, and no damage was found in either store. Damage in the copy is only found if it
    /// was verified.
    public var isWhole: Bool { damaged.isEmpty && mismatched.isEmpty }

    /// Creates a report from the result of a copy.
    ///
    /// - Parameter isVerified: whether all bodies were read back.
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
        mismatched = result.mismatched.map(InspectionReport.Damage.init)
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
            "leftOutResponses": leftOutResponses, "verifiedBodies": verifiedBodies, "unlike": mismatched,
        ]
    }
}

/// The result of migrating a store.
public struct MigrationReport: Sendable, Equatable {
    /// The path of the store, or its address without a password.
    public let path: String
    /// The names of the migration steps of this run, in order; empty if the store was up to date.
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
